/**
 * What is usual for a series, as distances of its window: what the evaluator's detector expects, from the rates it has
 * learned and the prices of the profile; and around it a band as wide as calm frames vary. Where the detector is off,
 * or has not learned yet, calm frames alone decide. Pure.
 */
import type { Params } from '../../metric/params.js';
import type { RateState } from './api.js';
import type { Trend } from './trend.js';

/** the band holds this share of the calm frames, if there are so many */
const USUAL_SHARE = 0.8;
const USUAL_MIN = 30;

/** A spike: from its first frame to its last. */
export interface Span {
  signal: string;
  from: number;
  to: number;
}

export interface UsualBand {
  low: number;
  high: number;
  /** what the detector expects, within the band; null where calm frames alone decide */
  expected: number | null;
}

/** The distance of a window in which everything happens as often as the detector expects; null when it is not known. */
export function expectedDistance(
  rate: Pick<RateState, 'usual' | 'frames' | 'proper'> | undefined,
  params: (Params & { windowFrames: number }) | undefined,
): number | null {
  if (!rate?.usual || !params || params.weights || rate.frames === 0) return null;
  const { cutoff, exponent: p, switchPenalty, missShare = 0.5, windowFrames } = params;
  const { missed, false: wrong, switch: switches, localization } = rate.usual;
  // a signal that is not watched has no usual
  if ([missed, wrong, switches, localization].some((one) => !Number.isFinite(one))) return null;
  const price = cutoff ** p;
  const pairs = (rate.proper / rate.frames) * localization ** p;
  const perFrame = price * (missShare * missed + (1 - missShare) * wrong) + switchPenalty ** p * switches + pairs;
  return (windowFrames * perFrame) ** (1 / p);
}

/** Null when too few calm frames are known. */
export function usualBand({ k, distance }: Trend, spikes: Span[], expected: number | null): UsualBand | null {
  const calm = distance.filter((_, n) => !spikes.some(({ from, to }) => k[n] >= from && k[n] <= to));
  if (calm.length < USUAL_MIN) return null;
  calm.sort((a, b) => a - b);
  const tail = (1 - USUAL_SHARE) / 2;
  const at = (share: number) => calm[Math.round(share * (calm.length - 1))];
  const [low, middle, high] = [at(tail), at(0.5), at(1 - tail)];
  if (expected === null || !(expected > 0) || !(middle > 0)) return { low, high, expected: null };
  const scale = expected / middle;
  return { low: low * scale, high: high * scale, expected };
}
