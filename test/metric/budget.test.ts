/**
 * Solves that are cut: the report is a valid assignment between valid bounds, says that it is not exact, and the next push that has the time is
 * exact again. Time is a clock that jumps at a chosen look, so nothing here depends on the machine.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type Evaluation, evaluate, type Frame, type Params, presets, SlidingWindow } from '../../src/index.js';
import { loadSimplexSync } from '../../src/metric/program/simplex.js';
import { useSimplex } from '../../src/metric/solve-options.js';
import { crowd } from '../bench/crowd.js';
import { randomFrom } from '../kit/random.js';
import { randomCase } from '../kit/scenes.js';
import { skipInFastRun } from '../kit/system.js';
import { verify } from '../kit/verifier.js';
import { quarry } from './hunt.js';

/** A clock that stands still until the n-th look after `start`, the first of which begins the budget. */
class JumpingClock {
  looks = 0;
  private jumpAt = Number.POSITIVE_INFINITY;

  start(jumpAt: number): void {
    this.looks = 0;
    this.jumpAt = jumpAt;
  }

  readonly read = () => (++this.looks > this.jumpAt + 1 ? 1e9 : 0);
}

const knownCases = (file: string): { frames: Frame[]; params: Params }[] =>
  JSON.parse(readFileSync(new URL(`../../../test/cases/reference/${file}`, import.meta.url), 'utf8'));

/** Looks at the clock all the time. */
const RESTLESS = { budgetMs: 1e6, workPerLook: 1, exactness: 'force' } as const;

/** Whether a report is not called exact only because of what was rounded. */
const isRounding = ({ solver, gap }: Evaluation) => solver.open === 0 && gap < 1e-8;

/** Whether the report keeps what it says; returns the optimum. */
function isBetweenBounds(report: Evaluation, held: Frame[], params: Params, place: string): Evaluation {
  verify(report, held, params, place);
  const optimum = evaluate(held, params, { exactness: 'force' });
  assert.ok(
    report.lowerBound <= optimum.cost.total * (1 + 1e-9) + 1e-12,
    `${place}: bound ${report.lowerBound} above the optimum ${optimum.cost.total}`,
  );
  assert.ok(optimum.cost.total <= report.cost.total * (1 + 1e-9) + 1e-12, `${place}: better than the optimum`);
  if (!report.exact) assert.ok(report.solver.open > 0 || isRounding(report), place);
  else if (report.solver.open > 0) assert.equal(report.cost.total, 0, place);
  return optimum;
}

/** Slides over frames and cuts every push at a random look; returns how many reports were not exact. */
function cutAtRandom(frames: Frame[], params: Params, windowFrames: number, seed: number, looksMax = 400): number {
  const random = randomFrom(seed);
  const clock = new JumpingClock();
  const window = new SlidingWindow({ ...params, windowFrames }, { ...RESTLESS, clock: clock.read });
  let open = 0;
  frames.forEach((frame, k) => {
    const place = `seed ${seed}, window ${windowFrames}, push ${k}`;
    // now and then there is time enough
    const late = random() < 0.7;
    clock.start(late ? Math.floor(random() ** 2 * looksMax) : Number.POSITIVE_INFINITY);
    const report = window.push(frame);
    const held = frames.slice(Math.max(0, k + 1 - windowFrames), k + 1);
    if (!late) assert.ok(report.exact || isRounding(report), `${place}: there was time enough`);
    if (!report.exact) open++;
    const { cost, perFrame } = isBetweenBounds(report, held, params, place);
    if (report.exact && report.solver.open === 0)
      assert.deepEqual([report.cost, report.perFrame], [cost, perFrame], place);
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
    for (let seed = 1; seed <= 40; seed++) {
      const { frames, params } = randomCase(seed, { truthCount: 5, frameCount: 24 });
      open += cutAtRandom(frames, params, [5, 9, 16][seed % 3], seed);
    }
    assert.ok(open > 100, `only ${open} reports were cut`);
  });

  it('does so where everything ties', () => {
    let open = 0;
    for (let seed = 500; seed < 530; seed++) {
      const { frames, params, windowFrames } = quarry(seed);
      open += cutAtRandom(frames.slice(0, 25), params, windowFrames, seed);
    }
    assert.ok(open > 50, `only ${open} reports were cut`);
  });

  it('does so for detections without identities', () => {
    let open = 0;
    for (let seed = 1000; seed < 1012; seed++) {
      const { frames, params } = randomCase(seed, { truthCount: 4, frameCount: 16, side: 4 });
      open += cutAtRandom(detections(frames), params, 8, seed);
    }
    assert.ok(open > 50, `only ${open} reports were cut`);
  });

  it('cuts a knot with too many states when a component would take longer than the budget, and only then', () => {
    let open = 0;
    for (let seed = 1; seed <= 8; seed++) {
      const { frames, params } = randomCase(seed, { truthCount: 4, frameCount: 14, side: 4 });
      // so few states that knots overflow all the time; the clock stands still
      const windowFrames = 8;
      const limits = { frontierMax: 2, clock: () => 0 };
      const short = new SlidingWindow({ ...params, windowFrames }, { ...limits, budgetMs: 0.01 });
      const long = new SlidingWindow({ ...params, windowFrames }, { ...limits, budgetMs: 1e6, exactness: 'force' });
      detections(frames).forEach((frame, k, all) => {
        const held = all.slice(Math.max(0, k + 1 - windowFrames), k + 1);
        const report = short.push(frame);
        isBetweenBounds(report, held, params, `seed ${seed}, push ${k}`);
        assert.equal(report.solver.ascent + report.solver.simplex, 0);
        if (!report.exact) open++;
        assert.equal(long.push(frame).exact, true);
      });
    }
    assert.ok(open > 10, `only ${open} reports were cut`);
  });

  it('loses little where switches are dear', () => {
    const params = presets['offline-scene-understanding'];
    const frames = detections(crowd(12, 45, 3));
    const clock = new JumpingClock();
    const options = { budgetMs: 1, workPerLook: 1, clock: clock.read };
    const window = new SlidingWindow({ ...params, windowFrames: 30 }, options);
    for (const frame of frames) {
      clock.start(0);
      const { exact, gap } = window.push(frame);
      assert.ok(exact || gap < 0.1, `gap ${gap}`);
    }
  });

  it('does so under time weights', () => {
    let open = 0;
    for (let seed = 1; seed <= 20; seed++) {
      const { frames, params } = randomCase(seed, { truthCount: 5, frameCount: 24 });
      open += cutAtRandom(frames, { ...params, weights: { forgetting: 0.9 } }, 9, seed, 10);
    }
    assert.ok(open > 20, `only ${open} reports were cut`);
  });

  describe('by simplex', () => {
    const real = loadSimplexSync();
    /** what has no time at all */
    let hurried: 'linear' | 'integral' | null = null;
    const limited = <T extends { timeLimitMs?: number }>(options: T, what: typeof hurried): T =>
      hurried === what ? { ...options, timeLimitMs: 0 } : options;

    before(() => {
      useSimplex(() => ({
        ...real,
        solve: (problem, options = {}) => real.solve(problem, limited(options, 'linear')),
        solveIntegral: (problem, options = {}) => real.solveIntegral(problem, limited(options, 'integral')),
        createRing: (windowFrames) => {
          const ring = real.createRing(windowFrames);
          const solve = ring.solve.bind(ring);
          ring.solve = (options = {}) => solve(limited(options, 'linear'));
          return ring;
        },
      }));
    });
    after(() => useSimplex(loadSimplexSync));

    it('does so, sliding and from scratch, with time weights and without', () => {
      let open = 0;
      for (let seed = 1; seed <= 12; seed++) {
        const { frames, params } = randomCase(seed, { truthCount: 5, frameCount: 24 });
        const judged = seed % 3 === 0 ? { ...params, weights: { forgetting: 0.9 } } : params;
        const clock = new JumpingClock();
        const options = { ...RESTLESS, clock: clock.read, solver: 'lp' } as const;
        const window = new SlidingWindow({ ...judged, windowFrames: 9 }, options);
        frames.forEach((frame, k) => {
          const place = `seed ${seed}, push ${k}`;
          const patient = k % 3 === 2;
          const held = frames.slice(Math.max(0, k - 8), k + 1);
          hurried = patient ? null : 'linear';
          clock.start(patient ? Number.POSITIVE_INFINITY : 0);
          const report = window.push(frame);
          clock.start(patient ? Number.POSITIVE_INFINITY : 0);
          const whole = evaluate(held, judged, options);
          hurried = null;
          isBetweenBounds(report, held, judged, place);
          isBetweenBounds(whole, held, judged, place);
          if (patient) assert.ok(report.exact && whole.exact, `${place}: there was time enough`);
          else if (!report.exact) open++;
        });
        window.dispose();
      }
      assert.ok(open > 20, `only ${open} reports were cut`);
    });

    it('does so when branch and bound has no time', () => {
      let open = 0;
      for (const { frames, params } of knownCases('fractional-cases.json')) {
        for (const judged of [params, { ...params, weights: { forgetting: 0.95 } }]) {
          hurried = 'integral';
          const whole = evaluate(frames, judged, { solver: 'lp', exactness: 'force' });
          hurried = null;
          isBetweenBounds(whole, frames, judged, 'fractional');
          if (!whole.exact) open++;
        }
      }
      assert.ok(open > 10, `only ${open} were cut`);
    });
  });

  it('gives a report that describes its own assignment, also when it is read late', () => {
    const frames = detections(crowd(20, 40, 5));
    const params = presets['offline-scene-understanding'];
    const clock = new JumpingClock();
    const window = new SlidingWindow(
      { ...params, windowFrames: 12 },
      { budgetMs: 1, workPerLook: 1, clock: clock.read },
    );
    const reports = frames.map((frame) => {
      clock.start(0);
      return window.push(frame);
    });
    clock.start(Number.POSITIVE_INFINITY);
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
  it('is never cut: it does not look at the clock but once', () => {
    const params = presets['online-surveillance'];
    for (const objects of [10, 45]) {
      const clock = new JumpingClock();
      const window = new SlidingWindow({ ...params, windowFrames: 60 }, { budgetMs: 1, clock: clock.read });
      for (const frame of crowd(objects, 200, 7)) {
        clock.start(0);
        assert.ok(window.push(frame).exact);
        assert.equal(clock.looks, 1);
      }
    }
  });
});
