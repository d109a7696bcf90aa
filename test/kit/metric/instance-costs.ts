/**
 * The metric with costs of its own for every object that is missed or false: phi(x)^p and psi(y)^p instead of c^p/2, a
 * pair being worth phi^p + psi^p - d^p. By the linear program of the whole scene, and exactly on tiny scenes; for
 * points on a line, judged less the nearer they are to a region that is not judged.
 */

import type { Frame, Params } from '../../../src/index.js';
import { type AloneCosts, dyadic, type ExactOptimum, exactOptimum } from './exact-oracle.js';
import { admissibleError, relaxedCostOf } from './judged-scenes.js';

/**
 * What a truth or a track at a place costs alone in a frame, before it is raised to the exponent; at most the
 * admissible error.
 */
export interface Judgement {
  truth: (place: number, frame: number) => number;
  track: (place: number, frame: number) => number;
}

/** A ramp at the border of what is not judged: the distance to it, at most the admissible error. 1-Lipschitz. */
export const ramp =
  (params: Params, from: (frame: number) => number, to: (frame: number) => number) =>
  (place: number, frame: number): number =>
    Math.min(admissibleError(params), Math.max(0, from(frame) - place, place - to(frame)));

/** Nothing inside, everything outside: not Lipschitz, and no metric. */
export const mask =
  (params: Params, from: number, to: number) =>
  (place: number): number =>
    place >= from && place <= to ? 0 : admissibleError(params);

const placeOf = (object: Frame['reference'][number]) => (object as { point: number[] }).point[0];

/** The LP metric to the p-th power, by HiGHS from nothing. */
export function relaxedCost(frames: Frame[], params: Params, { truth, track }: Judgement): number {
  const weighed = frames.map(({ reference, tracker }, k) => ({
    reference: reference.map((object) => ({ ...object, alone: truth(placeOf(object), k) })),
    tracker: tracker.map((object) => ({ ...object, alone: track(placeOf(object), k) })),
  }));
  return relaxedCostOf(weighed, params);
}

/** The exact metric of a tiny scene. */
export function exactCost(frames: Frame[], params: Params, { truth, track }: Judgement): ExactOptimum {
  const power = (value: number) => {
    const { mantissa, exponent } = dyadic(value);
    return { mantissa: mantissa ** BigInt(params.exponent), exponent: exponent * BigInt(params.exponent) };
  };
  const alone: AloneCosts = {
    truth: (place, frame) => power(truth(place, frame)),
    track: (place, frame) => power(track(place, frame)),
  };
  return exactOptimum(frames, params, { alone });
}
