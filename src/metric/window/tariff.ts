/**
 * What the metric charges for a pair, a missed and a false object, where some cost less than the full price alone, and
 * who may be a pair at all.
 */

import type { PackedFeed, PackedFrame } from './packed-frame.js';

/** What the metric charges. */
export interface Tariff {
  readonly exponent: number;
  /** c^p */
  readonly unit: number;
  /** quanta per c^p */
  readonly quanta: number;
  /** c / 2^(1/p): what a missed or false object costs at most, before it is raised to the exponent */
  readonly admissibleError: number;
  /** a full miss, and a full false object */
  readonly missed: number;
  readonly false: number;
}

/** What is missed and false, in prices of a full one, and how many of it. */
export interface Units {
  missed: number;
  false: number;
  missedJudged: number;
  falseJudged: number;
}

/** The share of the full price that an object pays alone. */
export function priceShare(alone: number, { admissibleError, exponent }: Tariff): number {
  return alone >= admissibleError ? 1 : power(alone / admissibleError, exponent);
}

/** What the n-th object of a feed costs alone, before it is raised to the exponent. */
export function aloneOf({ alone }: PackedFeed, { admissibleError }: Tariff): (n: number) => number {
  return alone ? (n) => Math.min(alone[n], admissibleError) : () => admissibleError;
}

/** Whether the i-th truth and the j-th track may be a pair; null where everybody may. */
export function kinshipOf({ reference, tracker }: PackedFrame): ((i: number, j: number) => boolean) | null {
  const truths = reference.kinds;
  const tracks = tracker.kinds;
  if (!truths && !tracks) return null;
  return (i, j) => (truths?.[i] ?? null) === (tracks?.[j] ?? null);
}

/** Whether a pair costs less than its ends alone; not told by `pairCost`, which rounds away what is next to nothing. */
export function earnsAnything(distance: number, truthAlone: number, trackAlone: number, tariff: Tariff): boolean {
  const alone = tariff.missed * priceShare(truthAlone, tariff) + tariff.false * priceShare(trackAlone, tariff);
  return power(distance, tariff.exponent) < alone;
}

/** What a pair costs whose ends cost so much alone: c^p and more where it earns nothing. */
export function pairCost(distance: number, truthAlone: number, trackAlone: number, tariff: Tariff): number {
  const missed = tariff.missed * (1 - priceShare(truthAlone, tariff));
  return power(distance, tariff.exponent) + missed + tariff.false * (1 - priceShare(trackAlone, tariff));
}

/** distance^p, in half the time of `**`; the digits agree but for the last one or two. */
export function power(distance: number, exponent: number): number {
  if (exponent === 1) return distance;
  return exponent === 2 ? distance * distance : Math.exp(exponent * Math.log(distance));
}
