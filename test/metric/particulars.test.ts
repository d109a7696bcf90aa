/** Particulars of the kernel that are easily got wrong without any other test noticing. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { evaluate, type Frame, presets, profile, SlidingWindow, type SolveOptions } from '../../src/index.js';
import { auditWindow } from '../../src/metric/audit.js';
import { loadSimplexSync, useSimplex } from '../../src/metric/program/simplex.js';
import { randomCase } from '../kit/metric/scenes.js';
import { close } from '../kit/metric/verifier.js';
import { drawn, skipInFastRun } from '../kit/system/system.js';

describe('the particulars of the kernel', () => {
  it('a long-term switch penalty at an exponent other than 1 is n^(1/p) c', () => {
    const { exponent, switchPenalty } = profile({ cutoff: 0.5, exponent: 2, longSwitchFrames: 9 });
    close(switchPenalty ** exponent, 9 * 0.25, 1e-12, 'gamma^p = n c^p');
  });

  it('the lower bound of the lifetime is the sum over disjoint windows', () => {
    const { frames, params } = randomCase(4, { frameCount: 24 });
    const window = new SlidingWindow({ ...params, windowFrames: 8, settleFrames: 0 });
    const reports = frames.map((frame) => window.push(frame));
    const sum = [0, 8, 16].reduce((all, at) => all + evaluate(frames.slice(at, at + 8), params).cost.total, 0);
    close(reports.at(-1)!.lifetime!.lower, sum, 1e-12, 'three windows of 8');
  });

  it('an audit sees a millionth, and not the last digits', () => {
    const at = (total: number) => ({
      ...evaluate([] as Frame[], presets['online-surveillance']),
      cost: { total } as never,
    });
    const audit = { checked: 0, disagreements: 0, worstDifference: 0 };
    const judge = (other: number) => auditWindow(audit, at(1), [], presets['online-surveillance'], {}, () => at(other));
    judge(1 + 1e-11);
    assert.equal(audit.disagreements, 0);
    judge(1 + 1e-6);
    assert.equal(audit.disagreements, 1);
  });

  it('a fractional optimum that is too large for branch and bound has a gap, and is not searched for minutes', function () {
    skipInFastRun(this);
    const { frames, params } = JSON.parse(readFileSync('test/cases/reference/fractional-cases.json', 'utf8'))[1];
    const solveIntegral = () => assert.fail('searched');
    useSimplex(() => ({ ...loadSimplexSync(), solveIntegral }));
    try {
      const long = Array.from({ length: 200 }, () => frames).flat();
      const { exact, gap, lowerBound, cost } = evaluate(long, params, { frontierMax: 0 });
      assert.ok(!exact && gap > 0 && gap < 0.2 && lowerBound <= cost.total, `${exact}, gap ${gap}`);
    } finally {
      useSimplex(null);
    }
  });

  it('branch and bound that left a gap of a ten-thousandth is not called exact', () => {
    const [{ frames, params }] = JSON.parse(readFileSync('test/cases/reference/fractional-cases.json', 'utf8'));
    const simplex = loadSimplexSync();
    useSimplex(() => ({
      ...simplex,
      solveIntegral: (problem, options) => {
        const solution = simplex.solveIntegral(problem, options);
        return { ...solution, bound: solution.value + 1e-4 };
      },
    }));
    try {
      // without weights it is not asked: the search under the prices is enough
      const weights = { forgetting: 1 };
      const { exact, gap } = evaluate(frames, { ...params, weights }, { solver: 'lp', exactness: 'force' });
      assert.ok(!exact && gap > 0, `${exact}, gap ${gap}`);
    } finally {
      useSimplex(null);
    }
  });

  it('a miss costs missShare c^p and a false object the rest', () => {
    const point = (id: string, x: number) => ({ id, point: [x] });
    const frames = [{ reference: [point('1', 0)], tracker: [point('a', 50), point('b', 90)] }];
    const { cost } = evaluate(frames, {
      distance: 'euclidean',
      cutoff: 2,
      exponent: 2,
      switchPenalty: 1,
      missShare: 0.75,
    });
    assert.deepEqual([cost.missed, cost.false], [3, 2]);
  });

  it('settled totals weigh missed and false by the miss share as the window does', () => {
    const point = (id: string, x: number) => ({ id, point: [x] });
    const params = { distance: 'euclidean', cutoff: 2, exponent: 2, switchPenalty: 1, missShare: 0.75 } as const;
    const window = new SlidingWindow({ ...params, windowFrames: 4, settleFrames: 0 });
    const { settled, cost } = window.push({ reference: [point('1', 0)], tracker: [point('a', 50), point('b', 90)] });
    assert.deepEqual(settled.cost, cost);
  });

  it('a change that may fall on several frames of the same weight falls on the latest', () => {
    const at = (id: string, x: number) => ({ id, point: [x] });
    const gap = { reference: [], tracker: [] };
    const other = (id: string) => ({ reference: [at('1', 0), at('2', 9)], tracker: [at(id, 0)] });
    const frames = [other('a'), gap, gap, { ...other('b'), tracker: [at('b', 0), at('a', 9)] }];
    const params = { distance: 'euclidean', cutoff: 1, exponent: 1, switchPenalty: 0.1 } as const;
    const weights = { frame: [1, 1, 1, 1], switch: [1, 1, 1] };
    const switchesOf = (perFrame: { count: { switches: number } }[]) => perFrame.map(({ count }) => count.switches);
    const plain = switchesOf(evaluate(frames, params).perFrame);
    assert.deepEqual(switchesOf(evaluate(frames, { ...params, weights }).perFrame), plain);
    assert.deepEqual(plain.slice(0, 3), [0, 0, 0]);
  });

  it('windows that are left to themselves hold no memory of simplex', function () {
    skipInFastRun(this);
    const simplex = loadSimplexSync();
    let settledBytes = 0;
    for (let round = 0; round < 40; round++) {
      const { frames, params } = randomCase(8500 + (round % 10));
      const window = new SlidingWindow({ ...params, windowFrames: 7 }, { solver: 'lp' });
      for (const frame of frames) window.push(frame);
      if (round === 19) settledBytes = simplex.memoryBytes;
    }
    assert.equal(simplex.memoryBytes, settledBytes);
  });

  it('what settles of a fractional optimum is an assignment, and no cheaper than the best', function () {
    skipInFastRun(this);
    for (const { name, frames, params } of JSON.parse(
      readFileSync('test/cases/reference/fractional-cases.json', 'utf8'),
    )) {
      const window = new SlidingWindow({ ...params, windowFrames: frames.length + 1 }, { solver: 'lp' });
      for (const frame of frames) window.push(frame);
      const { settled, lifetime } = window.end();
      window.dispose();
      const truths = frames.reduce((sum: number, { reference }: Frame) => sum + reference.length, 0);
      assert.ok(Number.isInteger(settled.count.proper), `${name}: ${settled.count.proper} proper`);
      assert.equal(settled.count.proper + settled.count.missed, truths, name);
      const { total } = evaluate(frames, params, { exactness: 'force' }).cost;
      assert.ok(total <= lifetime!.upper * (1 + 1e-9), `${name}: ${total} above ${lifetime!.upper}`);
      assert.ok(lifetime!.lower <= total * (1 + 1e-9), `${name}: ${total} below ${lifetime!.lower}`);
    }
  });

  it('windows without a frontier keep nothing of edges that are gone', () => {
    for (const change of [{ options: { solver: 'lp' } }, { weights: { forgetting: 0.9 } }] as const) {
      const { options, ...weights } = { options: {}, ...change };
      const params = { distance: 'euclidean', cutoff: 2, exponent: 1, switchPenalty: 1, ...weights } as const;
      const window = new SlidingWindow({ ...params, windowFrames: 3 }, options);
      const { solver } = window as unknown as { solver: { perhapsIsolated: unknown[]; loose: Set<unknown> } };
      for (let k = 0; k < 60; k++) {
        const tracks = [0, 1].map((n) => ({ id: `${k}-${n}`, point: [n] }));
        window.push({ reference: [{ id: '1', point: [0] }], tracker: tracks });
      }
      assert.deepEqual([solver.perhapsIsolated.length, solver.loose.size], [0, 0]);
      window.dispose();
    }
  });

  it('what was cut is solved again even when nothing new concerns it', function () {
    skipInFastRun(this);
    let cut = 0;
    for (let seed = 30; seed < 30 + drawn(30); seed++) {
      for (const weights of [undefined, { forgetting: 1 }]) {
        const { frames, params: own } = randomCase(seed, { truthCount: 4, side: 4, frameCount: 8 });
        const params = weights ? { ...own, weights } : own;
        const limits = { frontierMax: 0 };
        const options: SolveOptions = { ...limits, exactness: 'force' };
        const window = new SlidingWindow({ ...params, windowFrames: 12 }, options);
        for (const frame of frames.slice(0, -1)) window.push(frame);
        options.budgetMs = 0;
        if (!window.push(frames.at(-1)!).exact) cut++;
        options.budgetMs = Number.POSITIVE_INFINITY;
        const empty = { reference: [], tracker: [] };
        const { exact, cost } = window.push(empty);
        const all = evaluate([...frames, empty], params, { ...limits, exactness: 'force' });
        assert.ok(exact, `seed ${seed}`);
        close(cost.total, all.cost.total, 1e-9, `seed ${seed}`);
        window.dispose();
      }
    }
    assert.ok(cut > 5, `${cut} cut`);
  });

  it('a scene without cost has the bound 0 where changes are free', () => {
    const at = (id: string, x: number) => ({ id, point: [x] });
    const frame = { reference: [at('a', 0), at('b', 1)], tracker: [at('A', 0), at('B', 1)] };
    const params = { distance: 'euclidean', cutoff: 2, exponent: 1, switchPenalty: 1 } as const;
    const { exact, lowerBound, gap } = evaluate([frame, frame], {
      ...params,
      weights: { frame: [1, 1], switch: [0, 0] },
    });
    assert.deepEqual([exact, lowerBound, gap], [true, 0, 0]);
  });

  it('a report says the same after its window was disposed of', () => {
    const at = (id: string) => ({ id, point: [0] });
    const params = { distance: 'euclidean', cutoff: 2, exponent: 1, switchPenalty: 1 } as const;
    for (const weights of [{}, { weights: { forgetting: 0.9 } }]) {
      const window = new SlidingWindow({ ...params, ...weights, windowFrames: 5 });
      window.push({ reference: [at('x')], tracker: [at('A')] });
      const report = window.push({ reference: [at('x')], tracker: [] });
      window.dispose();
      assert.deepEqual(report.perFrame[1].assignment, [{ truth: 'x', track: 'A', distance: null }]);
    }
  });

  it('a push that fails leaves a window that goes on', () => {
    const real = loadSimplexSync();
    let failed = 0;
    for (const seed of [3, 5, 8, 12]) {
      const { frames, params } = randomCase(seed, { truthCount: 5, frameCount: 16 });
      const window = new SlidingWindow({ ...params, windowFrames: 6 }, { solver: 'lp', exactness: 'force' });
      const taken: Frame[] = [];
      frames.forEach((frame: Frame, k: number) => {
        const broken = { ...real, solve: () => assert.fail('broken'), solveIntegral: () => assert.fail('broken') };
        if (k % 5 === 4) useSimplex(() => broken as never);
        try {
          window.push(frame);
          taken.push(frame);
        } catch (error) {
          assert.match(String(error), /broken/);
          failed++;
        } finally {
          useSimplex(null);
        }
      });
      const report = window.push(frames[0]);
      const held = [...taken, frames[0]].slice(-report.frames);
      const again = evaluate(held, params, { solver: 'lp', exactness: 'force' });
      close(report.cost.total, again.cost.total, 1e-9, `seed ${seed}`);
      window.dispose();
    }
    assert.ok(failed > 0, 'no push failed');
  });
});
