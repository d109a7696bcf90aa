/**
 * Crowds: everybody close to everybody, chains of thousands, thousands on one spot. Nothing recurses over them, one
 * frame alone is an assignment problem whose answer is exact, and what takes longer than the budget comes with an
 * honest bound.
 */

import assert from 'node:assert/strict';
import { evaluate, type Frame, type Params, presets, SlidingWindow } from '../../src/index.js';
import { crowd } from '../bench/crowd.js';
import { bestMatching } from '../kit/metric/best-matching.js';
import { close } from '../kit/metric/verifier.js';
import { type Random, randomFrom } from '../kit/random.js';
import { drawn, skipInFastRun } from '../kit/system/system.js';

const PARAMS = { distance: 'euclidean', cutoff: 10, exponent: 1, switchPenalty: 5 } as const satisfies Params;

const scattered = (prefix: string, count: number, side: number, random: Random) =>
  Array.from({ length: count }, (_, n) => ({ id: `${prefix}${n}`, point: [side * random(), side * random()] }));

const cluster = (count: number, side: number, random: Random): Frame => ({
  reference: scattered('t', count, side, random),
  tracker: scattered('k', count, side, random),
});

/** The least cost of a frame alone, by the dense table. */
function assignmentCost({ reference, tracker }: Frame, { cutoff, exponent }: Params): number {
  const unit = cutoff ** exponent;
  const place = (object: Frame['reference'][number]) => (object as { point: number[] }).point;
  const benefit = new Float64Array(reference.length * tracker.length);
  reference.forEach((x, i) => {
    tracker.forEach((y, j) => {
      const d = Math.hypot(...place(x).map((value, n) => value - place(y)[n]));
      benefit[i * tracker.length + j] = d < cutoff ? unit - d ** exponent : 0;
    });
  });
  const matching = bestMatching(benefit, reference.length, tracker.length);
  const earned = matching.reduce((sum, j, i) => (j < 0 ? sum : sum + benefit[i * tracker.length + j]), 0);
  return (unit / 2) * (reference.length + tracker.length) - earned;
}

describe('a crowd', () => {
  it('of 40 by 40 in one frame is exact, whatever was rounded', function () {
    skipInFastRun(this);
    for (let seed = 1; seed <= drawn(20); seed++)
      for (const exponent of [1, 2]) {
        const frame = cluster(40, 6, randomFrom(seed));
        const params = { ...PARAMS, exponent };
        const { cost, exact, gap } = evaluate([frame], params);
        close(cost.total, assignmentCost(frame, params), 1e-9, `seed ${seed}`);
        assert.deepEqual([exact, gap], [true, 0], `seed ${seed}, exponent ${exponent}`);
      }
  });

  it('of 90 by 90 within one cut-off is solved, and so is every push after it', function () {
    skipInFastRun(this);
    const random = randomFrom(1);
    const frame = cluster(90, 6, random);
    const window = new SlidingWindow({ ...PARAMS, windowFrames: 5 });
    const { cost, exact } = window.push(frame);
    assert.ok(exact);
    close(cost.total, assignmentCost(frame, PARAMS), 1e-9, 'the first frame');
    for (let k = 0; k < 7; k++) {
      const report = window.push({ reference: scattered('t', 2, 6, random), tracker: scattered('k', 2, 6, random) });
      assert.ok(report.exact, `push ${k}`);
    }
    window.dispose();
  });

  it('in a chain of 6,000 neighbours is solved, and so is every push after it', () => {
    // each truth has its own track and the next truth's within reach
    const frame: Frame = {
      reference: Array.from({ length: 6000 }, (_, n) => ({ id: `t${n}`, point: [8 * n, 0] })),
      tracker: Array.from({ length: 6000 }, (_, n) => ({ id: `k${n}`, point: [8 * n + 3, 0] })),
    };
    const window = new SlidingWindow({ ...PARAMS, windowFrames: 3 });
    for (let k = 0; k < 2; k++) {
      const { cost, exact } = window.push(frame);
      assert.deepEqual([cost.total, exact], [3 * 6000 * (k + 1), true], `push ${k}`);
    }
    window.dispose();
  });

  it('of more pairs than the budget pays for is answered without looking for them all, under every distance', function () {
    skipInFastRun(this);
    const box = ([x, y]: number[]) => ({ box: [x, y, 10, 12] as [number, number, number, number] });
    const kinds = {
      iou: { cutoff: 0.9, side: 8, object: box },
      hausdorff: { cutoff: 10, side: 7, object: box },
      wasserstein: { cutoff: 10, side: 7, object: box },
      euclidean: { cutoff: 10, side: 7, object: (point: number[]) => ({ point }) },
      geodesic: { cutoff: 200, side: 0.001, object: (point: number[]) => ({ point }) },
    };
    for (const [distance, { cutoff, side, object }] of Object.entries(kinds)) {
      const random = randomFrom(4);
      const feed = (prefix: string, count: number) =>
        scattered(prefix, count, side, random).map(({ id, point }) => ({ id, ...object(point) }));
      const params = { distance, cutoff, exponent: 1.5, switchPenalty: cutoff / 2 } as Params;
      for (const [truths, tracks] of [
        [70, 60],
        [60, 70],
      ]) {
        const frame = { reference: feed('t', truths), tracker: feed('k', tracks) } as Frame;
        const cut = evaluate([frame], params, { budgetMs: 1 });
        const whole = evaluate([frame], params);
        assert.deepEqual([cut.exact, whole.exact, cut.solver.open > 0], [false, true, true], distance);
        assert.ok(cut.lowerBound <= whole.cost.total, `${distance}: bound ${cut.lowerBound} of ${whole.cost.total}`);
        assert.ok(cut.lowerBound > 0.1 * whole.cost.total, `${distance}: bound ${cut.lowerBound} says little`);
        assert.ok(cut.cost.total <= 2 * whole.cost.total, `${distance}: ${cut.cost.total} for ${whole.cost.total}`);
      }
    }
  });

  it('that comes and goes leaves nobody alone who is close to somebody, and the window exact when it is gone', function () {
    skipInFastRun(this);
    const random = randomFrom(8);
    const calm = (): Frame => cluster(6, 60, random);
    const frames = Array.from({ length: 9 }, (_, k) => (k > 1 && k < 5 ? cluster(46, 6, random) : calm()));
    const alone = frames.map((frame) => assignmentCost(frame, PARAMS));
    const window = new SlidingWindow({ ...PARAMS, windowFrames: 4 }, { budgetMs: 1 });
    frames.forEach((frame, k) => {
      const { exact, cost, perFrame, lowerBound } = window.push(frame);
      const first = Math.max(0, k - 3);
      const held = frames.slice(first, k + 1);
      const crowds = held.filter(({ reference }) => reference.length > 6).length;
      assert.equal(exact, crowds === 0, `push ${k}`);
      const least = alone.slice(first, k + 1).reduce((sum, each) => sum + each, 0);
      // several take seconds to solve
      const optimum = crowds > 1 ? least : evaluate(held, PARAMS).cost.total;
      assert.ok(lowerBound <= optimum * (1 + 1e-9), `push ${k}: bound ${lowerBound} above ${optimum}`);
      assert.ok(cost.total >= least * (1 - 1e-9), `push ${k}: cost ${cost.total} below ${least}`);
      // nobody is left alone who had better be matched
      const { missed, false: falseCount } = perFrame.at(-1)!.count;
      if (frame.reference.length > 6) assert.deepEqual([missed, falseCount], [0, 0], `push ${k}`);
    });
    window.dispose();
  });

  it('that the engines are late with is answered frame by frame meanwhile', function () {
    skipInFastRun(this);
    const params = presets['online-surveillance'];
    const window = new SlidingWindow({ ...params, windowFrames: 12 }, { budgetMs: 1 });
    const frames = crowd(200, 20, 11, 150);
    const alone = frames.map((frame) => evaluate([frame], { ...params, switchPenalty: 0 }).cost.total);
    const pairs = frames.map((frame, k) => {
      const { exact, lowerBound, cost, solver } = window.push(frame);
      const total = alone.slice(Math.max(0, k - 11), k + 1).reduce((sum, each) => sum + each, 0);
      assert.ok(
        lowerBound >= total * (1 - 1e-9),
        `push ${k}: bound ${lowerBound} below that of frames alone, ${total}`,
      );
      assert.ok(exact || cost.total > lowerBound, `push ${k}`);
      return solver.pairs;
    });
    // all pairs of a frame that the engines do not know come on top
    assert.ok(
      pairs.some((count, k) => k > 3 && count > pairs[k - 1] + 1000),
      'the engines were never late',
    );
    window.dispose();
  });

  it('that falls apart faster than there is time for keeps what was assigned, between honest bounds', function () {
    skipInFastRun(this);
    const params = presets['online-surveillance'];
    const window = new SlidingWindow({ ...params, windowFrames: 8 }, { budgetMs: 1 });
    const { solver } = window as unknown as { solver: { looseCount: number } };
    const frames = [...crowd(700, 10, 11, 600), ...crowd(10, 8, 12)];
    const alone = frames.map((frame) => evaluate([frame], { ...params, switchPenalty: 0 }).cost.total);
    let looseMost = 0;
    frames.forEach((frame, k) => {
      const { exact, lowerBound, cost, count, solver: by } = window.push(frame);
      const place = `push ${k}`;
      const total = alone.slice(Math.max(0, k - 7), k + 1).reduce((sum, each) => sum + each, 0);
      assert.ok(lowerBound >= total * (1 - 1e-9), `${place}: bound ${lowerBound} below that of frames alone, ${total}`);
      assert.ok(exact || cost.total > lowerBound, place);
      assert.ok(count.proper > 0, place);
      looseMost = Math.max(looseMost, solver.looseCount);
      if (solver.looseCount > 0) assert.ok(!exact && by.open >= solver.looseCount, place);
    });
    assert.ok(looseMost > 0, 'nothing was ever left loose');
    assert.equal(solver.looseCount, 0);
    const last = frames.slice(-8);
    close(window.push(last[0]).cost.total, evaluate([...last.slice(1), last[0]], params).cost.total, 1e-12, 'the end');
    window.dispose();
  });

  it('of 2,000 within one cut-off takes less work than its budget', () => {
    const random = randomFrom(2);
    const window = new SlidingWindow({ ...PARAMS, windowFrames: 3 }, { budgetMs: 20 });
    for (let k = 0; k < 3; k++) {
      const { exact, gap, count } = window.push(cluster(2000, 6, random));
      assert.deepEqual([exact, gap > 0 && gap < 1, count.proper], [false, true, 2000 * (k + 1)], `push ${k}`);
      assert.ok(window.workMs < 20, `push ${k}: ${window.workMs} ms`);
    }
    window.dispose();
  });

  it('of 2,000 on one spot ends within the budget, with an honest bound', function () {
    skipInFastRun(this);
    const spot = (prefix: string) => Array.from({ length: 2000 }, (_, n) => ({ id: `${prefix}${n}`, point: [0, 0] }));
    const window = new SlidingWindow({ ...PARAMS, windowFrames: 3 }, { budgetMs: 200 });
    for (let k = 0; k < 2; k++) {
      const { cost, lowerBound, exact, gap } = window.push({ reference: spot('t'), tracker: spot('k') });
      assert.ok(lowerBound <= 0, `push ${k}: nothing is wrong, the bound is ${lowerBound}`);
      if (exact) assert.equal(cost.total, 0, `push ${k}`);
      else assert.ok(gap > 0, `push ${k}`);
      assert.ok(window.workMs <= 200, `push ${k}: ${window.workMs} ms`);
    }
    window.dispose();
  });
});
