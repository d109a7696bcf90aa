/**
 * Solves that are cut: the report is a valid assignment between valid bounds, says that it is not exact, and the next
 * push that has the budget is exact again. Budgets are counted work, so nothing here depends on the machine. A window
 * reads its options at every push.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type Evaluation, evaluate, type Frame, type Params, presets, SlidingWindow } from '../../src/index.js';
import { loadSimplexSync, useSimplex } from '../../src/metric/program/simplex.js';
import type { SolveOptions } from '../../src/metric/solve-options.js';
import { WORK_PER_MS } from '../../src/metric/window/budget.js';
import { crowd } from '../bench/crowd.js';
import { randomCase } from '../kit/metric/scenes.js';
import { close, verify } from '../kit/metric/verifier.js';
import { randomFrom } from '../kit/random.js';
import { drawn, skipInFastRun } from '../kit/system/system.js';
import { quarry } from './hunt/hunt.js';

const knownCases = (file: string): { frames: Frame[]; params: Params }[] =>
  JSON.parse(readFileSync(new URL(`../../../test/cases/reference/${file}`, import.meta.url), 'utf8'));

const ENDLESS = Number.POSITIVE_INFINITY;

/** Whether a report is not called exact only because of what was rounded. */
const isRounding = ({ solver, gap }: Evaluation) => solver.open === 0 && gap < 1e-8;

/** Whether the report keeps what it says; returns the optimum. */
function isBetweenBounds(
  report: Evaluation,
  held: Frame[],
  params: Params,
  place: string,
  optimum = evaluate(held, params, { exactness: 'force' }),
): Evaluation {
  verify(report, held, params, place);
  assert.ok(
    report.lowerBound <= optimum.cost.total * (1 + 1e-9) + 1e-12,
    `${place}: bound ${report.lowerBound} above the optimum ${optimum.cost.total}`,
  );
  assert.ok(optimum.cost.total <= report.cost.total * (1 + 1e-9) + 1e-12, `${place}: better than the optimum`);
  if (!report.exact) assert.ok(report.solver.open > 0 || isRounding(report), place);
  else if (report.solver.open > 0) assert.equal(report.cost.total, 0, place);
  return optimum;
}

/** Slides over frames and cuts every push after some random work; returns how many reports were not exact. */
function cutAtRandom(frames: Frame[], params: Params, windowFrames: number, seed: number, workMax = 400): number {
  const random = randomFrom(seed);
  const options: SolveOptions = { budgetMs: ENDLESS, exactness: 'force' };
  const window = new SlidingWindow({ ...params, windowFrames }, options);
  let open = 0;
  frames.forEach((frame, k) => {
    const place = `seed ${seed}, window ${windowFrames}, push ${k}`;
    // now and then there is enough
    const late = random() < 0.7;
    options.budgetMs = late ? (random() ** 2 * workMax) / WORK_PER_MS : ENDLESS;
    const report = window.push(frame);
    const held = frames.slice(Math.max(0, k + 1 - windowFrames), k + 1);
    if (!late) assert.ok(report.exact || isRounding(report), `${place}: there was enough`);
    if (!report.exact) open++;
    const { cost, perFrame } = isBetweenBounds(report, held, params, place);
    if (!report.exact || report.solver.open > 0) return;
    // out of time, and under time weights, nothing decides between optima
    if (late || params.weights) close(report.cost.total, cost.total, 1e-9, place);
    else assert.deepEqual([report.cost, report.perFrame], [cost, perFrame], place);
  });
  window.dispose();
  return open;
}

/** As a detector would see it: every track lives for one frame. */
const detections = (frames: Frame[]): Frame[] =>
  frames.map(({ reference, tracker }, k) => ({
    reference,
    tracker: tracker.map((object) => ({ ...object, id: `${k}-${object.id}` })),
  }));

describe('a push that is out of time', () => {
  before(function () {
    skipInFastRun(this);
  });
  it('reports an assignment, a bound below the optimum and a gap, and recovers', () => {
    let open = 0;
    for (let seed = 1; seed <= drawn(40); seed++) {
      const { frames, params } = randomCase(seed, { truthCount: 5, frameCount: 24 });
      open += cutAtRandom(frames, params, [5, 9, 16][seed % 3], seed);
    }
    assert.ok(open > drawn(100), `only ${open} reports were cut`);
  });

  it('does so where everything ties', () => {
    let open = 0;
    for (let seed = 500; seed < 500 + drawn(40); seed++) {
      const { frames, params, windowFrames } = quarry(seed);
      open += cutAtRandom(frames.slice(0, 25), params, windowFrames, seed);
    }
    assert.ok(open > drawn(50), `only ${open} reports were cut`);
  });

  it('does so for detections without identities', () => {
    let open = 0;
    for (let seed = 1000; seed < 1012; seed++) {
      const { frames, params } = randomCase(seed, { truthCount: 4, frameCount: 16, side: 4 });
      open += cutAtRandom(detections(frames), params, 8, seed);
    }
    assert.ok(open > 50, `only ${open} reports were cut`);
  });

  it('loses little where switches are dear', () => {
    const params = presets['offline-scene-understanding'];
    const frames = detections(crowd(12, 45, 3));
    const window = new SlidingWindow({ ...params, windowFrames: 30 }, { budgetMs: 0 });
    for (const frame of frames) {
      const { exact, gap } = window.push(frame);
      assert.ok(exact || gap < 0.1, `gap ${gap}`);
    }
  });

  it('does so under time weights', () => {
    let open = 0;
    for (let seed = 1; seed <= drawn(20); seed++) {
      const { frames, params } = randomCase(seed, { truthCount: 5, frameCount: 24 });
      open += cutAtRandom(frames, { ...params, weights: { forgetting: 0.9 } }, 9, seed, 10);
    }
    assert.ok(open > drawn(20), `only ${open} reports were cut`);
  });

  it('does so by the program alone, sliding and from scratch, with time weights and without', () => {
    let open = 0;
    for (let seed = 1; seed <= drawn(12); seed++) {
      const { frames, params } = randomCase(seed, { truthCount: 5, frameCount: 24 });
      const judged = seed % 3 === 0 ? { ...params, weights: { forgetting: 0.9 } } : params;
      const options: SolveOptions = { exactness: 'force', solver: 'lp' };
      const window = new SlidingWindow({ ...judged, windowFrames: 9 }, options);
      frames.forEach((frame, k) => {
        const place = `seed ${seed}, push ${k}`;
        const patient = k % 3 === 2;
        const held = frames.slice(Math.max(0, k - 8), k + 1);
        options.budgetMs = patient ? ENDLESS : (k % 7) / 50;
        const report = window.push(frame);
        const whole = evaluate(held, judged, options);
        const optimum = isBetweenBounds(report, held, judged, place);
        isBetweenBounds(whole, held, judged, place, optimum);
        if (patient) assert.ok(report.exact && whole.exact, `${place}: there was enough`);
        else if (!report.exact) open++;
      });
      window.dispose();
    }
    assert.ok(open > drawn(20), `only ${open} reports were cut`);
  });

  it('does so when branch and bound has no nodes', () => {
    const real = loadSimplexSync();
    const hurried = {
      ...real,
      solveIntegral: ((problem, options = {}) =>
        real.solveIntegral(problem, { ...options, nodesMax: 0 })) as typeof real.solveIntegral,
    };
    let open = 0;
    try {
      for (const { frames, params } of knownCases('fractional-cases.json')) {
        for (const judged of [params, { ...params, weights: { forgetting: 0.95 } }]) {
          useSimplex(() => hurried);
          const whole = evaluate(frames, judged, { solver: 'lp', exactness: 'force' });
          useSimplex(null);
          isBetweenBounds(whole, frames, judged, 'fractional');
          if (!whole.exact) open++;
        }
      }
    } finally {
      useSimplex(null);
    }
    assert.ok(open > 0, `only ${open} were cut`);
  });

  it('gives a report that describes its own assignment, also when it is read late', () => {
    const frames = detections(crowd(20, 40, 5));
    const params = presets['offline-scene-understanding'];
    const window = new SlidingWindow({ ...params, windowFrames: 12 }, { budgetMs: 0 });
    const reports = frames.map((frame) => window.push(frame));
    let worse = 0;
    reports.forEach((report, k) => {
      const held = frames.slice(Math.max(0, k - 11), k + 1);
      verify(report, held, params, `push ${k}`);
      if (report.cost.total > evaluate(held, params).cost.total * (1 + 1e-9)) worse++;
    });
    assert.ok(worse > 0, 'no report is worse than its optimum');
  });
});

describe('a small push', () => {
  it('is never cut: it takes less than a millisecond of work', function () {
    skipInFastRun(this);
    const params = presets['online-surveillance'];
    for (const objects of [10, 45]) {
      const window = new SlidingWindow({ ...params, windowFrames: 60 }, { budgetMs: 1 });
      for (const frame of crowd(objects, 200, 7)) assert.ok(window.push(frame).exact);
    }
  });
});
