/**
 * Whether `budgetMs` holds: pushes of crowds of every size and density under a budget, processor time against what was
 * asked for. The same frames are cut at the same place on any machine; what differs is how long that takes.
 */

import { type Params, presets, SlidingWindow } from '../../../src/index.js';
import type { Frame, Obj } from '../../../src/metric/evaluation.js';
import { type Random, randomFrom } from '../../kit/random.js';
import { crowd } from '../crowd.js';
import { cpuMs, quantile, round } from './engines.js';

const BUDGET_MS = 20;
const WINDOW = 30;
/** pushes that are not counted */
const WARM_UP = 20;
const OBJECTS = [30, 100, 300, 1000, 2000];
/** ground per walker in pixels: a box covers 4,000 */
const DENSITIES = { loose: 40_000, dense: 4000, piled: 600 };

/** Everybody anywhere within one cut-off, or on one spot. */
function cluster(objects: number, frames: number, side: number): Frame[] {
  const random = randomFrom(9);
  const points = (prefix: string): Obj[] =>
    Array.from({ length: objects }, (_, n) => ({ id: `${prefix}${n}`, point: [side * random(), side * random()] }));
  return Array.from({ length: frames }, () => ({ reference: points('t'), tracker: points('k') }));
}

const POINTS: Params = { distance: 'euclidean', cutoff: 10, exponent: 1, switchPenalty: 5 };

interface CrowdKind {
  density: string;
  params: Params;
  frames: (objects: number, count: number, random: Random) => Frame[];
}

const KINDS: CrowdKind[] = [
  ...Object.entries(DENSITIES).map(([density, ground]) => ({
    density,
    params: presets['online-surveillance'],
    frames: (objects: number, count: number) => crowd(objects, count, 11, ground),
  })),
  { density: 'one cut-off', params: POINTS, frames: (objects, count) => cluster(objects, count, 6) },
  { density: 'one spot', params: POINTS, frames: (objects, count) => cluster(objects, count, 0) },
];

function budgetRow({ density, params, frames }: CrowdKind, objects: number, pushes: number) {
  const window = new SlidingWindow({ ...params, windowFrames: WINDOW }, { budgetMs: BUDGET_MS });
  const times: number[] = [];
  let counted = 0;
  let cut = 0;
  for (const frame of frames(objects, pushes, randomFrom(9))) {
    const start = process.cpuUsage();
    const { exact } = window.push(frame);
    times.push(cpuMs(start));
    counted = Math.max(counted, window.workMs);
    if (!exact) cut++;
  }
  window.dispose();
  const sorted = [...times].sort((a, b) => a - b);
  const p90 = quantile(sorted, 0.9);
  return {
    density,
    objects,
    pushes,
    cut,
    'first ms': round(times[0]),
    'median ms': round(quantile(sorted, 0.5)),
    'p90 ms': round(p90),
    'worst ms': round(sorted[sorted.length - 1]),
    'most counted ms': round(counted),
    'p90 to budget': round(p90 / BUDGET_MS),
  };
}

export type BudgetRow = ReturnType<typeof budgetRow>;

export function budgetRows(quick: boolean, tick: (name: string, row: number, rows: number) => void): BudgetRow[] {
  const pushes = quick ? 12 : 45;
  return KINDS.flatMap((kind, k) =>
    OBJECTS.map((objects, n) => {
      tick(
        `budget of ${BUDGET_MS} ms: ${kind.density}, ${objects}`,
        k * OBJECTS.length + n,
        KINDS.length * OBJECTS.length,
      );
      // the compilers settle first; the very first push is told as it was
      const cold = budgetRow(kind, objects, WARM_UP);
      return { ...budgetRow(kind, objects, pushes), 'first ms': cold['first ms'] };
    }),
  );
}
