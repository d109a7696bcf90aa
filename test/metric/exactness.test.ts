/**
 * `exact` never lies, and a gap is never useless: time weights down to nothing, switch penalties that underflow or
 * overwhelm, large exponents. The judge adds up all assignments of tiny scenes in whole numbers; scenes with a known
 * answer stand for the large ones.
 */

import assert from 'node:assert/strict';
import { type Evaluation, evaluate, type Frame, type Params, SlidingWindow, type Weights } from '../../src/index.js';
import { exactOptimum, toNumber } from '../kit/metric/exact-oracle.js';
import { pick, randomFrom } from '../kit/random.js';
import { drawn, skipInFastRun } from '../kit/system/system.js';

const SOLVERS = ['auto', 'lp'] as const;
const PLAIN = { distance: 'euclidean', cutoff: 2, exponent: 1, switchPenalty: 1 } as const satisfies Params;
/** a gap that nobody would call one */
const SLIGHT = 1e-6;

const at = (id: string, x: number) => ({ id, point: [x] });
const empty: Frame = { reference: [], tracker: [] };
/** two truths and two tracks, all within the cut-off of each other, and each track on its truth */
const together: Frame = { reference: [at('a', 0), at('b', 1)], tracker: [at('A', 0), at('B', 1)] };
const crossed: Frame = { reference: [at('a', 0), at('b', 1)], tracker: [at('A', 1), at('B', 0)] };

/** What is said of the cost is true: it is the least when called exact, and between the bounds otherwise. */
function isTrue(evaluation: Evaluation, least: number, place: string): void {
  const { cost, exact, lowerBound, gap } = evaluation;
  const told = `${place}: cost ${cost.total}, bound ${lowerBound}, gap ${gap}, exact ${exact}; the least cost is ${least}`;
  if (exact) assert.ok(Math.abs(cost.total - least) <= 1e-9 * least, told);
  else assert.ok(lowerBound <= least * (1 + 1e-12) && least <= cost.total * (1 + 1e-12), told);
}

function isTrueEverywhere(frames: Frame[], params: Params, place: string): Evaluation[] {
  const least = toNumber(exactOptimum(frames, params).cost);
  return SOLVERS.map((solver) => {
    const evaluation = evaluate(frames, params, { solver, exactness: 'force' });
    isTrue(evaluation, least, `${place}, ${solver}`);
    return evaluation;
  });
}

/** A few truths and tracks near each other on a line; `scale` is the distance of two places. */
function nearby(random: () => number, frameCount: number, scale: number, places = 4): Frame[] {
  const feed = (ids: string[]) =>
    ids.filter(() => random() < 0.85).map((id) => at(id, scale * Math.floor(random() * places)));
  return Array.from({ length: frameCount }, () => ({ reference: feed(['a', 'b']), tracker: feed(['A', 'B']) }));
}

describe('time weights', () => {
  it('find nothing wrong between a scene and itself, however long ago it was', () => {
    const frames = [together, together, ...new Array<Frame>(45).fill(empty)];
    const params = { ...PLAIN, weights: { forgetting: 0.5 } };
    for (const solver of SOLVERS) {
      const { cost, count, exact } = evaluate(frames, params, { solver });
      assert.deepEqual([cost.total, count.missed, count.false, exact], [0, 0, 0, true], solver);
    }
  });

  it('may all be tiny', () => {
    for (const weight of [1e-6, 1e-13, 1e-100, 1e-300]) {
      const weights = { frame: [weight, weight, weight], switch: [weight, weight] };
      for (const { exact, gap } of isTrueEverywhere(
        [together, crossed, crossed],
        { ...PLAIN, weights },
        `weights of ${weight}`,
      ))
        assert.ok(exact, `weights of ${weight}: gap ${gap}`);
    }
  });

  it('of any sizes side by side are told the truth about', () => {
    const sizes = [0, 1e-300, 1e-30, 1e-13, 1e-9, 1e-3, 0.3, 1, 1, 7, 1e6];
    for (let seed = 1; seed <= drawn(250); seed++) {
      const random = randomFrom(seed);
      const frames = nearby(random, 4, 0.5);
      const weight = () => pick(random, sizes);
      const weights: Weights = { frame: frames.map(weight), switch: frames.slice(1).map(weight) };
      isTrueEverywhere(frames, { ...PLAIN, switchPenalty: pick(random, [0.2, 1, 3]), weights }, `seed ${seed}`);
    }
  });

  it('that forget a tenth with every frame leave nobody missed who was never lost', function () {
    skipInFastRun(this);
    // everybody is replaced every 200 frames; two are always there, and always seen
    const scene = (k: number): Frame => {
      const n = Math.floor(k / 200);
      return { reference: [at(`a${n}`, 0), at(`b${n}`, 1)], tracker: [at(`A${n}`, 0), at(`B${n}`, 1)] };
    };
    for (const solver of SOLVERS) {
      const window = new SlidingWindow({ ...PLAIN, windowFrames: 600, weights: { forgetting: 0.9 } }, { solver });
      for (let k = 0; k < 639; k++) window.push(scene(k));
      const { count, cost, exact } = window.push(scene(639));
      assert.deepEqual([count.missed, count.false, cost.total, exact], [0, 0, 0, true], solver);
      window.dispose();
    }
  });

  it('take next to nobody for missed who was seen so long ago that it counts for nothing, in time or not', function () {
    skipInFastRun(this);
    for (const budgetMs of [0.5, Number.POSITIVE_INFINITY]) {
      const params = { ...PLAIN, windowFrames: 90, weights: { forgetting: 0.5 } };
      const window = new SlidingWindow(params, { budgetMs });
      for (let k = 0; k < 100; k++) {
        const n = Math.floor(k / 10);
        const tracker = [at(`A${n}`, 0), at(`B${n}`, 1)];
        const { count } = window.push({ reference: together.reference, tracker });
        // of a hundred; where a change weighs as much as a miss does, rounding may prefer the miss
        assert.ok(count.missed <= 10, `push ${k}, ${budgetMs} ms: ${count.missed} missed`);
      }
      window.dispose();
    }
  });
});

describe('a switch penalty', () => {
  it('that underflows to nothing is told the truth about', () => {
    const params = { distance: 'euclidean', cutoff: 40, exponent: 10, switchPenalty: 1e-33 } as const;
    const apart: Frame = { reference: [at('a', 0), at('b', 2)], tracker: [at('A', 0), at('B', 2)] };
    const swapped: Frame = { reference: [at('a', 0), at('b', 2)], tracker: [at('B', 0), at('A', 2)] };
    isTrueEverywhere([apart, swapped], params, 'gamma 1e-33');
  });

  it('that underflows to nothing when raised to the exponent is still no reason to switch late or never', () => {
    // changing partners costs about 1e-330; not changing costs 2^11 in the last frame
    const params = { distance: 'euclidean', cutoff: 40, exponent: 10, switchPenalty: 1e-33 } as const;
    const wide = (first: string, second: string): Frame => ({
      reference: [at('a', 0), at('b', 2)],
      tracker: [at(first, 0), at(second, 2)],
    });
    const between: Frame = { reference: [at('a', 0), at('b', 2)], tracker: [at('A', 1), at('B', 1)] };
    const frames = [wide('A', 'B'), between, wide('B', 'A')];
    for (const { cost, exact } of isTrueEverywhere(frames, params, 'gamma 1e-33'))
      assert.deepEqual([cost.total, exact], [2, true]);
  });

  it('above 512 times c^p counts in full', function () {
    skipInFastRun(this);
    // 6,000 misses cost less than a switch that is worth 7,000
    const params = { distance: 'euclidean', cutoff: 1, exponent: 1, switchPenalty: 7000 } as const;
    const seen = (track: string): Frame => ({ reference: [at('a', 0)], tracker: [at(track, 0)] });
    const frames = [...new Array<Frame>(7000).fill(seen('A')), ...new Array<Frame>(6000).fill(seen('B'))];
    for (const solver of SOLVERS) {
      const evaluation = evaluate(frames, params, { solver });
      isTrue(evaluation, 6000, solver);
      assert.ok(evaluation.exact, `${solver}: gap ${evaluation.gap}`);
    }
  });

  it('of any size is told the truth about', () => {
    for (let seed = 1; seed <= drawn(250); seed++) {
      const random = randomFrom(seed);
      const exponent = pick(random, [1, 2, 3]);
      const switchPenalty = 10 ** (40 * random() - 30);
      const params: Params = { distance: 'euclidean', cutoff: 2, exponent, switchPenalty };
      const place = `seed ${seed}, penalty ${switchPenalty}, exponent ${exponent}`;
      for (const { exact, gap } of isTrueEverywhere(nearby(random, 5, 0.5), params, place))
        assert.ok(exact, `${place}: gap ${gap}`);
    }
  });
});

describe('a large exponent', () => {
  it('is told the truth about, and has no useless gap', () => {
    for (let seed = 1; seed <= drawn(200); seed++) {
      const random = randomFrom(seed);
      const params: Params = {
        distance: 'euclidean',
        cutoff: 40,
        exponent: 10,
        switchPenalty: pick(random, [1e-3, 0.5, 1, 2, 5, 20]),
      };
      const frames = nearby(random, 4, pick(random, [0.25, 1, 3]));
      for (const { gap } of isTrueEverywhere(frames, params, `seed ${seed}`))
        assert.ok(gap <= SLIGHT, `seed ${seed}: gap ${gap}`);
    }
  });
});

describe('quanta that are too coarse', () => {
  it('are made finer while sliding as they are from scratch, and leave no trace', () => {
    const params = { distance: 'euclidean', cutoff: 40, exponent: 10, switchPenalty: 2 } as const;
    let tiny = 0;
    for (let seed = 1; seed <= 12; seed++) {
      const random = randomFrom(seed);
      const window = new SlidingWindow({ ...params, windowFrames: 4 });
      // now and then somebody is missing, and quanta are fine enough
      const frames = Array.from({ length: 5 }, () => nearby(random, 4, 1)).flatMap((some, n) =>
        n % 2 ? some : some.map(() => (random() < 0.5 ? together : crossed)),
      );
      frames.forEach((frame, k) => {
        const report = window.push(frame);
        const held = frames.slice(Math.max(0, k - 3), k + 1);
        const batch = evaluate(held, params);
        if (report.cost.total < 1e6) tiny++;
        for (const key of ['cost', 'count', 'exact', 'gap', 'lowerBound', 'perFrame'] as const)
          assert.deepEqual(report[key], batch[key], `seed ${seed}, push ${k}: ${key}`);
        assert.equal(window.glance().localization, report.newest.cost.localization, `seed ${seed}, push ${k}`);
      });
      const { settled } = window.end();
      assert.equal(settled.frames, frames.length);
      window.dispose();
    }
    assert.ok(tiny > 50, `only ${tiny} windows cost next to nothing`);
  });
});

describe('a report read late', () => {
  it('adds up over its frames, under time weights and out of time', () => {
    let cut = 0;
    for (let seed = 1; seed <= 6; seed++) {
      const random = randomFrom(seed);
      const params = { ...PLAIN, weights: { forgetting: 0.9 } };
      // nothing is left while frames come, and there is enough when they are read
      const options = { budgetMs: 0 };
      const window = new SlidingWindow({ ...params, windowFrames: 8 }, options);
      const reports = Array.from({ length: 20 }, () => window.push(crowdOnLine(random, 7)));
      window.dispose();
      options.budgetMs = Number.POSITIVE_INFINITY;
      reports.forEach((report, k) => {
        if (!report.exact) cut++;
        for (const part of ['localization', 'missed', 'false', 'switch'] as const) {
          const sum = report.perFrame.reduce((all, { cost }) => all + cost[part], 0);
          assert.ok(
            Math.abs(sum - report.cost[part]) <= 1e-9 * report.cost.total,
            `seed ${seed}, push ${k}: ${part} ${report.cost[part]}, over the frames ${sum}`,
          );
        }
      });
    }
    assert.ok(cut > 20, `only ${cut} reports were cut`);
  });
});

/** So many truths and tracks on a line, all with somebody to choose from. */
function crowdOnLine(random: () => number, count: number): Frame {
  const feed = (prefix: string) => Array.from({ length: count }, (_, n) => at(`${prefix}${n}`, count * 0.4 * random()));
  return { reference: feed('t'), tracker: feed('k') };
}
