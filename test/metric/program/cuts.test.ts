/**
 * When time is short: a report that was cut is no worse than carrying the last assignment on, nor than matching each
 * frame alone, its bound no worse than that of the frames alone, and the same frames are cut at the same place whenever
 * and wherever they are pushed.
 */

import assert from 'node:assert/strict';
import {
  evaluate,
  type Frame,
  type FrameEvaluation,
  type Params,
  type Report,
  SlidingWindow,
} from '../../../src/index.js';
import { assignmentCost, type ProperPairs } from '../../kit/metric/assignment-cost.js';
import { baseDistance } from '../../kit/metric/verifier.js';
import { type Random, randomFrom } from '../../kit/random.js';
import { skipInFastRun } from '../../kit/system/system.js';

const WINDOW = 12;
const SLACK = 1 + 1e-9;
const PARAMS = { distance: 'euclidean', cutoff: 10, exponent: 1.8, switchPenalty: 6 } as const satisfies Params;
const BUDGETS_MS = [0.001, 0.3, 2];

/**
 * Moored ships: nobody moves, everybody is near several others, positions are noisy, a tenth is not seen, ids break now
 * and then.
 */
function moorings(count: number, frameCount: number, seed: number): Frame[] {
  const random = randomFrom(seed);
  const side = 4.5 * Math.sqrt(count);
  const ships = Array.from({ length: count }, () => [side * random(), side * random()]);
  const names = ships.map((_, n) => `${n}`);
  let next = count;
  return Array.from({ length: frameCount }, () => ({
    reference: ships.map((point, n) => ({ id: `t${n}`, point })),
    tracker: ships.flatMap((point, n) => {
      if (random() < 0.02) names[n] = `${next++}`;
      return random() < 0.1 ? [] : [{ id: `k${names[n]}`, point: noisy(point, random) }];
    }),
  }));
}

const noisy = (point: number[], random: Random) => point.map((x) => x + 5 * (random() + random() - 1));

const proper = ({ assignment }: FrameEvaluation): ProperPairs => assignment.filter(({ distance }) => distance !== null);

/** The pairs of a report and, in the new frame, those of them that are still held and close. */
function carriedOn({ perFrame }: Report, frame: Frame, params: Params): ProperPairs[] {
  const held = perFrame.at(-1)!.assignment.filter(({ truth, track }) => {
    const x = frame.reference.find(({ id }) => id === truth);
    const y = frame.tracker.find(({ id }) => id === track);
    return x && y && baseDistance(params.distance, x, y) < params.cutoff;
  });
  return [...perFrame.map(proper), held];
}

/** Budgets for so many ships: next to no time, a little, and a little more; and so many that the engines are late. */
const SHORTAGES = [
  ...BUDGETS_MS.map((budgetMs) => ({ ships: 40, budgetMs })),
  { ships: 300, budgetMs: 5 },
  { ships: 300, budgetMs: 20 },
];

describe('a push with too little time', () => {
  for (const { ships, budgetMs } of SHORTAGES)
    it(`of ${budgetMs} ms for ${ships} is no worse than simple answers, and its bound no worse than a simple bound`, function () {
      skipInFastRun(this);
      const frames = moorings(ships, ships > 100 ? 16 : 30, 3);
      const each = frames.map((frame) => evaluate([frame], { ...PARAMS, switchPenalty: 0 }));
      const window = new SlidingWindow({ ...PARAMS, windowFrames: WINDOW }, { budgetMs });
      let cut = 0;
      let before: Report | null = null;
      frames.forEach((frame, k) => {
        const first = Math.max(0, k + 1 - WINDOW);
        const held = frames.slice(first, k + 1);
        const carried = before && carriedOn(before, frame, PARAMS).slice(-held.length);
        const report = window.push(frame);
        // read now: it is what the next push goes on from
        assert.equal(report.perFrame.length, held.length);
        const alone = each.slice(first, k + 1);
        const least = alone.reduce((sum, { cost }) => sum + cost.total, 0);
        const { cost, lowerBound, exact } = report;
        const place = `push ${k}, ${exact ? 'exact' : 'cut'}`;
        if (!exact) cut++;
        const matched = assignmentCost(
          held,
          alone.map(({ perFrame }) => proper(perFrame[0])),
          PARAMS,
        );
        assert.ok(cost.total <= matched * SLACK, `${place}: ${cost.total}, each frame matched alone ${matched}`);
        if (carried) {
          const kept = assignmentCost(held, carried, PARAMS);
          assert.ok(cost.total <= kept * SLACK, `${place}: ${cost.total}, carried on ${kept}`);
        }
        assert.ok(lowerBound * SLACK >= least, `${place}: bound ${lowerBound}, frames alone ${least}`);
        before = report;
      });
      window.dispose();
      if (budgetMs === BUDGETS_MS[0] || ships > 100) assert.ok(cut > 10, `only ${cut} reports were cut`);
    });

  for (const budgetMs of BUDGETS_MS) {
    it(`of ${budgetMs} ms says the same whenever it is pushed`, () => {
      const frames = moorings(25, 24, 4);
      const slide = () => {
        const window = new SlidingWindow({ ...PARAMS, windowFrames: WINDOW }, { budgetMs });
        const reports = frames.map((frame) => JSON.stringify(window.push(frame)));
        window.dispose();
        return reports;
      };
      const first = slide();
      slide().forEach((report, k) => {
        assert.ok(report === first[k], `push ${k} differs`);
      });
    });
  }
});
