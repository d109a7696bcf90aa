/**
 * The LP metric of frames whose objects carry what they cost alone, under any base distance, by HiGHS from nothing: the
 * judge of coverage. Pairs are worth phi^p + psi^p - d^p, everybody else costs phi^p or psi^p.
 */
import type { Frame, Obj, Params } from '../../../src/index.js';
import { distances } from '../../../src/metric/distance.js';
import { loadSimplexSync } from '../../../src/metric/program/simplex.js';

/** a = c / 2^(1/p): what everything costs alone in TGOSPA. */
export const admissibleError = ({ cutoff, exponent }: Params): number => cutoff / 2 ** (1 / exponent);

export const coordinatesOf = (object: Obj): number[] => ('box' in object ? object.box : object.point);

function distanceBetween(params: Params, x: Obj, y: Obj): number {
  const [a, b] = [coordinatesOf(x), coordinatesOf(y)];
  return distances[params.distance](a, 0, b, 0, a.length);
}

export function relaxedCostOf(frames: Frame[], params: Params): number {
  const { cutoff, exponent, switchPenalty } = params;
  const unit = cutoff ** exponent;
  const most = admissibleError(params);
  const price = ({ alone }: Obj) => Math.min(most, alone ?? most) ** exponent;
  const [truths, tracks] = [new Map<string, number>(), new Map<string, number>()];
  const index = (map: Map<string, number>, id: string) => map.get(id) ?? map.set(id, map.size).size - 1;
  const edges = new Map<string, { truth: number; track: number; benefit: Float64Array }>();
  let alone = 0;
  frames.forEach(({ reference, tracker }, k) => {
    for (const object of [...reference, ...tracker]) alone += price(object);
    for (const x of reference)
      for (const y of tracker) {
        const worth = price(x) + price(y) - distanceBetween(params, x, y) ** exponent;
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
