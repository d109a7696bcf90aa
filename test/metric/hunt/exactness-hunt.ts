/**
 * Hunts for a report that is called exact and is not, at the edges of what parameters may be: `node
 * dist/test/metric/hunt/exactness-hunt.js [seconds] [first seed]`. Exponents up to 20, cut-offs and penalties of any
 * size, time weights that are next to nothing, shares, costs of their own, distances that differ by less than a
 * quantum, budgets; by both engines, sliding and from scratch. The judge adds up all assignments in whole numbers.
 */

import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
import {
  type Evaluation,
  evaluate,
  type Frame,
  InputError,
  type Obj,
  type Params,
  SlidingWindow,
  type SolveOptions,
} from '../../../src/index.js';
import { type AloneCosts, type Dyadic, dyadic, exactOptimum, toNumber } from '../../kit/metric/exact-oracle.js';
import { pick, type Random, randomFrom } from '../../kit/random.js';

const KEYS = ['cost', 'count', 'exact', 'gap', 'lowerBound', 'perFrame'] as const;
const PARTS = ['localization', 'missed', 'false', 'switch'] as const;
/** what is left of a digit after sums and powers of doubles */
const ROUNDING = 1e-11;
/** nor is anything finer than this, whatever is added up */
const FINEST = 8 * Number.MIN_VALUE;

export interface Edge {
  place: string;
  frames: Frame[];
  params: Params;
  windowFrames: number;
  options: SolveOptions;
}

const power10 = (random: Random, low: number, high: number) => 10 ** (low + (high - low) * random());

function paramsOf(random: Random, frameCount: number): Params {
  const exponent = pick(random, [1, 1, 2, 2, 3, 5, 10, 20]);
  const cutoff = pick(random, [1, 2, 40, power10(random, -3, 3), power10(random, -12, 12)]);
  const half = pick(random, [0, 0.125, 0.25, 0.5, 1, 1.5, 3, power10(random, -14, -6), power10(random, -6, 6), 1e12]);
  const params: Params = {
    distance: 'euclidean',
    cutoff,
    exponent,
    switchPenalty: cutoff * (2 * half) ** (1 / exponent),
  };
  if (random() < 0.3) params.missShare = pick(random, [0, 1e-9, 0.1, 0.25, 0.7, 1]);
  if (random() < 0.3) params.weights = weightsOf(random, frameCount);
  return params;
}

function weightsOf(random: Random, count: number): Params['weights'] {
  if (random() < 0.5) return { forgetting: pick(random, [1e-6, 0.1, 0.5, 0.9, 0.999]) };
  const sizes = [0, 1e-200, 1e-30, 1e-13, 1e-9, 1e-3, 0.3, 1, 1, 1, 7, 1e6];
  return {
    frame: Array.from({ length: count }, () => pick(random, sizes)),
    switch: Array.from({ length: count - 1 }, () => pick(random, sizes)),
  };
}

/** Points on a line, some of them apart by less than engines can tell. */
function framesOf(random: Random, count: number, { cutoff }: Params): Frame[] {
  const scale = cutoff * pick(random, [1e-12, 1e-6, 1e-3, 0.03, 0.125, 0.25, 0.3, 0.5]);
  const shift = pick(random, [0, 0, 1e-15, 1e-12, 1e-9, 1e-6]) * cutoff;
  const offset = pick(random, [0, 0, 0, 1e3, -1e6]) * cutoff;
  const places = pick(random, [2, 4, 6]);
  const own = random() < 0.2;
  const truths = ['a', 'b', 'c'].slice(0, 1 + Math.floor(random() * 3));
  const tracks = ['A', 'B', 'C'].slice(0, 1 + Math.floor(random() * 3));
  const feed = (ids: string[]): Obj[] =>
    ids
      .filter(() => random() < 0.85)
      .map((id) => {
        const x = scale * Math.floor(random() * places) + shift * Math.floor(random() * 3) + offset;
        const alone = own && random() < 0.5 ? { alone: cutoff * pick(random, [0, 1e-12, 0.1, 0.5, 0.4]) } : {};
        return { id, point: [x], ...alone };
      });
  return Array.from({ length: count }, () => ({ reference: feed(truths), tracker: feed(tracks) }));
}

/** The scene of a seed. */
export function edgeOf(seed: number): Edge {
  const random = randomFrom(seed);
  const count = 1 + Math.floor(random() * 6);
  const windowFrames = 1 + Math.floor(random() * count);
  const params = paramsOf(random, windowFrames);
  const options: SolveOptions = {
    solver: pick(random, ['auto', 'lp'] as const),
    exactness: pick(random, ['force', 'force', 'lp'] as const),
    frontierMax: pick(random, [0, 2, 128, 128]),
  };
  if (random() < 0.25) options.budgetMs = pick(random, [0, 1e-3, 1e-2, 0.1]);
  return { place: `seed ${seed}`, frames: framesOf(random, count, params), params, windowFrames, options };
}

/** What objects of a window cost alone, for the judge, who knows them by their frame and place. */
function aloneIn(frames: Frame[], { cutoff, exponent, missShare = 0.5 }: Params): AloneCosts {
  const unit = cutoff ** exponent;
  const own =
    (side: 'reference' | 'tracker', share: number) =>
    (x: number, k: number): Dyadic => {
      const costs = frames[k][side].flatMap((object) =>
        (object as { point: number[] }).point[0] === x
          ? [Math.min(2 * (share * (object.alone ?? cutoff) ** exponent), share * unit)]
          : [],
      );
      return dyadic(costs[0]);
    };
  return { truth: own('reference', missShare), track: own('tracker', 1 - missShare) };
}

/** Whether everybody at one place of a feed costs the same alone: the judge cannot tell them apart otherwise. */
const isJudged = (frames: Frame[]) =>
  frames.every(({ reference, tracker }) =>
    [reference, tracker].every((objects) => {
      const costs = new Map<number, number | undefined>();
      return objects.every((object) => {
        const { point } = object as { point: number[] };
        if (costs.has(point[0]) && costs.get(point[0]) !== object.alone) return false;
        costs.set(point[0], object.alone);
        return true;
      });
    }),
  );

/** What is said of the cost is true, and its parts add up. */
function isTrue(evaluation: Evaluation, frames: Frame[], params: Params, place: string): void {
  const { cost, exact, lowerBound, gap, perFrame } = evaluation;
  const least = toNumber(exactOptimum(frames, params, { alone: aloneIn(frames, params) }).cost);
  const told = `${place}: cost ${cost.total}, bound ${lowerBound}, gap ${gap}, exact ${exact}; the least is ${least}`;
  assert.ok(lowerBound <= cost.total, `bound above the cost: ${told}`);
  if (exact) assert.ok(cost.total <= least * (1 + 1e-9 + ROUNDING) + FINEST, `called exact: ${told}`);
  else assert.ok(lowerBound <= least * (1 + ROUNDING) + FINEST, `bound too high: ${told}`);
  // a fractional optimum may cost less than any assignment; its gap says by how much
  assert.ok(cost.total >= least * (1 - gap - ROUNDING) - FINEST, `below the least: ${told}`);
  assert.ok(Number.isFinite(gap) && gap >= 0 && gap <= 1, `gap: ${told}`);
  for (const part of PARTS) {
    const sum = perFrame.reduce((all, each) => all + each.cost[part], 0);
    assert.ok(
      Math.abs(sum - cost[part]) <= 1e-9 * cost.total + FINEST,
      `${part} ${cost[part]}, over the frames ${sum}: ${told}`,
    );
  }
}

/**
 * Slides over a scene and judges every report, and the same from scratch; returns what was judged and was not exact.
 */
export function isTrueAtEdge({ place, frames, params, windowFrames, options }: Edge): { judged: number; open: number } {
  const window = new SlidingWindow({ ...params, windowFrames }, options);
  let open = 0;
  frames.forEach((frame, k) => {
    const held = frames.slice(Math.max(0, k + 1 - windowFrames), k + 1);
    const own = `${place}, push ${k}`;
    const report = window.push(frame);
    isTrue(report, held, params, own);
    const batch = evaluate(held, params, options);
    isTrue(batch, held, params, `${own}, from scratch`);
    if (options.budgetMs === undefined) {
      for (const key of KEYS) assert.deepEqual(report[key], batch[key], `${own}: ${key}`);
      if (!report.exact && report.gap > 1e-6) open++;
    }
  });
  window.dispose();
  return { judged: 2 * frames.length, open };
}

/** Judges the scenes of some seeds while `goesOn`; those that parameters are refused for count for nothing. */
export function huntEdges(
  first: number,
  goesOn: (seed: number) => boolean,
  found: (message: string, edge: Edge) => void,
) {
  const counts = { scenes: 0, judged: 0, open: 0, refused: 0 };
  for (let seed = first; goesOn(seed); seed++) {
    const edge = edgeOf(seed);
    if (!isJudged(edge.frames)) continue;
    try {
      const { judged, open } = isTrueAtEdge(edge);
      counts.scenes++;
      counts.judged += judged;
      counts.open += open;
    } catch (error) {
      if (error instanceof InputError) counts.refused++;
      else found((error as Error).message.split('\n')[0], edge);
    }
  }
  return counts;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const end = performance.now() + 1000 * Number(process.argv[2] ?? 60);
  let found = 0;
  const counts = huntEdges(
    Number(process.argv[3] ?? 1),
    () => performance.now() < end,
    (message, { params, options }) => {
      found++;
      console.log(message, JSON.stringify({ ...params, ...options }));
    },
  );
  console.log(`${JSON.stringify(counts)}: ${found} scenes with something untrue`);
  if (found > 0) process.exitCode = 1;
}
