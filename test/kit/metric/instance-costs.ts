/**
 * The metric with costs of its own for every object that is missed or false: phi(x)^p and psi(y)^p instead of c^p/2, a
 * pair being worth phi^p + psi^p - d^p. By the linear program of the whole scene, and exactly on tiny scenes; for
 * points on a line, judged less the nearer they are to a region that is not judged.
 */

import type { Frame, Params } from '../../../src/index.js';
import { loadSimplexSync } from '../../../src/metric/program/simplex.js';
import { type AloneCosts, dyadic, type ExactOptimum, exactOptimum } from './exact-oracle.js';

/**
 * What a truth or a track at a place costs alone in a frame, before it is raised to the exponent; at most the
 * admissible error.
 */
export interface Judgement {
  truth: (place: number, frame: number) => number;
  track: (place: number, frame: number) => number;
}

/** a = c / 2^(1/p): what everything costs alone in TGOSPA. */
export const admissibleError = ({ cutoff, exponent }: Params): number => cutoff / 2 ** (1 / exponent);

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
  const { cutoff, exponent, switchPenalty } = params;
  const unit = cutoff ** exponent;
  const [truths, tracks] = [new Map<string, number>(), new Map<string, number>()];
  const index = (map: Map<string, number>, id: string) => map.get(id) ?? map.set(id, map.size).size - 1;
  const edges = new Map<string, { truth: number; track: number; benefit: Float64Array }>();
  let alone = 0;
  frames.forEach(({ reference, tracker }, k) => {
    for (const x of reference) alone += truth(placeOf(x), k) ** exponent;
    for (const y of tracker) alone += track(placeOf(y), k) ** exponent;
    for (const x of reference)
      for (const y of tracker) {
        const worth =
          truth(placeOf(x), k) ** exponent +
          track(placeOf(y), k) ** exponent -
          Math.abs(placeOf(x) - placeOf(y)) ** exponent;
        if (worth <= 0) continue;
        const [i, j] = [index(truths, x.id), index(tracks, y.id)];
        const key = `${i} ${j}`;
        if (!edges.has(key)) edges.set(key, { truth: i, track: j, benefit: new Float64Array(frames.length) });
        edges.get(key)!.benefit[k] = worth / unit;
      }
  });
  if (edges.size === 0) return alone;
  const list = [...edges.values()];
  const { value } = loadSimplexSync().solveCold({
    frameCount: frames.length,
    truthCount: truths.size,
    trackCount: tracks.size,
    edgeTruth: Int32Array.from(list, (edge) => edge.truth),
    edgeTrack: Int32Array.from(list, (edge) => edge.track),
    benefit: Float64Array.from(frames.flatMap((_, k) => list.map(({ benefit }) => benefit[k]))),
    switchCost: new Float64Array(frames.length).fill(switchPenalty ** exponent / 2 / unit),
  });
  return Math.max(0, alone - unit * value);
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
