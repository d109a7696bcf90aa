/**
 * What must hold for any scene: incremental equals batch, the axioms of a metric, agreement of all engines and of brute
 * force. Scenes are seeded and a failing seed is in the message. Every evaluation goes through the verifier by itself
 * (`verify-solves.ts`); here it is also held against the frames as they were given.
 */

import assert from 'node:assert/strict';
import {
  evaluate,
  type Frame,
  type Glance,
  type Obj,
  type Params,
  type Report,
  SlidingWindow,
  type SolveOptions,
} from '../../src/index.js';
import { randomCase, shuffled } from '../kit/metric/scenes.js';
import { baseDistance, close, verify, verifyBounds } from '../kit/metric/verifier.js';
import { randomFrom } from '../kit/random.js';
import { drawn, skipInFastRun } from '../kit/system/system.js';

const seeds = (count: number, first: number) => Array.from({ length: drawn(count) }, (_, n) => first + n);
const swapped = (frames: Frame[]): Frame[] =>
  frames.map(({ reference, tracker }) => ({ reference: tracker, tracker: reference }));

/** Pushes all frames and compares the report after each with the same frames solved from scratch. */
function slidesLikeBatch(
  seed: number,
  windowFrames: number,
  change: Partial<Params> = {},
  options: SolveOptions = {},
): void {
  const { frames, params: base } = randomCase(seed);
  const params = { ...base, ...change };
  const window = new SlidingWindow({ ...params, windowFrames }, options);
  frames.forEach((frame, k) => {
    const place = `seed ${seed}, window ${windowFrames}, push ${k}`;
    const report = window.push(frame);
    const held = frames.slice(Math.max(0, k + 1 - windowFrames), k + 1);
    const batch = evaluate(held, params, options);
    assert.deepEqual(report.cost, batch.cost, place);
    assert.deepEqual(report.count, batch.count, place);
    assert.deepEqual(report.perFrame, batch.perFrame, place);
    assert.deepEqual([report.exact, report.gap, report.frames], [batch.exact, batch.gap, held.length], place);
    // by weights, costs become so small that rounding is a larger share of them
    if (params.weights) assert.ok(report.gap < 1e-8, place);
    else assert.ok(report.exact && report.gap === 0, place);
    assert.deepEqual({ ...report.newest, assignment: report.newest.assignment }, report.perFrame.at(-1), place);
    verify(report, held, params, place);
    sameGlance(window.glance(), report, frame, params, place);
  });
  window.dispose();
}

/** A glance says of the newest frame what the report says of it. */
function sameGlance(glance: Glance, report: Report, frame: Frame, params: Params, place: string): void {
  const { assignment, cost, count } = report.newest;
  const proper = assignment.filter((pair) => pair.distance !== null);
  assert.deepEqual(
    [glance.properTruths, glance.properTracks],
    [proper.map((p) => p.truth), proper.map((p) => p.track)],
  );
  proper.forEach((pair, n) => {
    close(glance.errors[n], pair.distance! ** params.exponent, 1e-12, place);
  });
  assert.equal(glance.errors.length, proper.length, place);
  const without = (objects: Obj[], ids: string[]) => objects.map(({ id }) => id).filter((id) => !ids.includes(id));
  assert.deepEqual(glance.missed, without(frame.reference, glance.properTruths), place);
  assert.deepEqual(glance.false, without(frame.tracker, glance.properTracks), place);
  assert.deepEqual([glance.frame, glance.halves / 2], [report.frame, count.switches], place);
  const pending = report.perFrame.slice(report.settled.frames - report.frame - 1);
  const halves =
    report.settled.frames > report.frame ? 0 : pending.reduce((sum, one) => sum + 2 * one.count.switches, 0);
  assert.equal(glance.pendingHalves, halves, place);
  close(glance.localization, cost.localization, 1e-12, place);
}

/** The least cost over all sequences of matchings. */
function bruteForce(frames: Frame[], params: Params): number {
  const truths = [...new Set(frames.flatMap((f) => f.reference.map((o) => o.id)))];
  const tracks = [...new Set(frames.flatMap((f) => f.tracker.map((o) => o.id)))];
  const matchings: number[][] = [];
  const extend = (partial: number[]) => {
    if (partial.length === truths.length) {
      matchings.push(partial);
      return;
    }
    for (let j = -1; j < tracks.length; j++) if (j < 0 || !partial.includes(j)) extend([...partial, j]);
  };
  extend([]);
  const unit = params.cutoff ** params.exponent;
  const half = params.switchPenalty ** params.exponent / 2;
  const frameCost = ({ reference, tracker }: Frame, matching: number[]) => {
    let alone = reference.length + tracker.length;
    let cost = 0;
    matching.forEach((j, i) => {
      const x = reference.find((o) => o.id === truths[i]);
      const y = tracker.find((o) => o.id === tracks[j]);
      if (!x || !y) return;
      const d = baseDistance(params.distance, x, y);
      if (d >= params.cutoff) return;
      cost += d ** params.exponent;
      alone -= 2;
    });
    return cost + (unit / 2) * alone;
  };
  const changes = (a: number[], b: number[]) =>
    a.reduce((n, j, i) => n + (j === b[i] ? 0 : (j >= 0 ? 1 : 0) + (b[i] >= 0 ? 1 : 0)), 0);
  let best = matchings.map((m) => frameCost(frames[0], m));
  for (const frame of frames.slice(1)) {
    best = matchings.map(
      (m) => frameCost(frame, m) + Math.min(...matchings.map((before, s) => best[s] + half * changes(before, m))),
    );
  }
  return Math.min(...best);
}

describe('a sliding window', () => {
  for (const windowFrames of [1, 2, 5, 16, 60]) {
    it(`of ${windowFrames} reports after every push what its frames give from scratch`, () => {
      for (const seed of seeds(windowFrames > 10 ? 16 : 40, 100 * windowFrames)) slidesLikeBatch(seed, windowFrames);
    });
  }

  it('does so when the frontier may keep next to nothing', () => {
    for (const frontierMax of [1, 2])
      for (const seed of seeds(12, 7100)) {
        const { cutoff, exponent } = randomCase(seed).params;
        const switchPenalty = (3 * cutoff ** exponent) ** (1 / exponent);
        slidesLikeBatch(seed, 7, { switchPenalty }, { frontierMax, exactness: 'force' });
      }
  });

  it('does so without switches and under time weights', () => {
    for (const seed of seeds(12, 7000)) {
      slidesLikeBatch(seed, 6, { switchPenalty: 0 });
      slidesLikeBatch(seed, 6, { weights: { forgetting: 0.9 } });
      slidesLikeBatch(seed, 4, { weights: { frame: [0.2, 0.5, 0.8, 1], switch: [0.3, 0.9, 0.6] } });
    }
  });

  it('gives the same report when knots are handed over to components and back', function () {
    skipInFastRun(this);
    for (const seed of seeds(40, 8000)) {
      slidesLikeBatch(seed, 12, {}, { frontierMax: 2 + (seed % 6) });
      const { frames, params } = randomCase(seed);
      const window = new SlidingWindow({ ...params, windowFrames: 12 }, { frontierMax: 2 + (seed % 6) });
      frames.forEach((frame, k) => {
        const held = frames.slice(Math.max(0, k - 11), k + 1);
        const report = window.push(frame);
        close(report.cost.total, evaluate(held, params).cost.total, 1e-9, `seed ${seed}, push ${k}`);
      });
      window.dispose();
    }
  });

  it('gives the LP metric of its frames by warm-started simplex', () => {
    for (const seed of seeds(45, 8500)) {
      const { frames, params } = randomCase(seed);
      const windowFrames = [3, 7, 16][seed % 3];
      const window = new SlidingWindow({ ...params, windowFrames }, { solver: 'lp' });
      frames.forEach((frame, k) => {
        const place = `seed ${seed}, window ${windowFrames}, push ${k}`;
        const held = frames.slice(Math.max(0, k + 1 - windowFrames), k + 1);
        const report = window.push(frame);
        const batch = evaluate(held, params, { solver: 'lp' });
        if (report.exact) verify(report, held, params, place);
        else verifyBounds(report, params, place);
        assert.equal(report.exact, batch.exact, place);
        close(report.cost.total, batch.cost.total, 1e-9, place);
      });
      window.dispose();
    }
  });

  it('goes on from a snapshot as if nothing had happened', () => {
    for (const seed of seeds(30, 9000)) {
      const { frames, params } = randomCase(seed);
      const window = new SlidingWindow({ ...params, windowFrames: 8 });
      let other = new SlidingWindow({ ...params, windowFrames: 8 });
      const random = randomFrom(seed);
      for (const frame of frames) {
        if (random() < 0.3) other = SlidingWindow.fromJSON(JSON.parse(JSON.stringify(other.toJSON())));
        assert.deepEqual(plain(other.push(frame)), plain(window.push(frame)), `seed ${seed}`);
      }
      assert.deepEqual(plain(other.end()), plain(window.end()), `seed ${seed}`);
    }
  });
});

const plain = (report: Report) => JSON.parse(JSON.stringify(report));

describe('the metric', () => {
  it('is zero from a scene to itself and symmetric, with missed and false exchanged', () => {
    for (const seed of seeds(60, 1)) {
      const { frames, params } = randomCase(seed);
      const same = frames.map(({ reference }) => ({ reference, tracker: reference }));
      assert.equal(evaluate(same, params).distance, 0, `seed ${seed}`);
      const there = evaluate(frames, params);
      const back = evaluate(swapped(frames), params);
      verify(back, swapped(frames), params, `seed ${seed}`);
      close(back.cost.total, there.cost.total, 1e-9, `seed ${seed}`);
      const matched = there.count.missed - back.count.false;
      if (Math.abs(there.cost.switch - back.cost.switch) < 1e-12)
        assert.equal(matched, 0, `seed ${seed}: missed and false`);
    }
  });

  it('obeys the triangle inequality', () => {
    for (const seed of seeds(60, 200)) {
      const { frames, params, shape } = randomCase(seed);
      const third = randomCase(seed + 5000, {
        distance: shape.distance,
        frameCount: frames.length,
        side: shape.side,
      }).frames;
      const between = (a: 'reference' | 'tracker', b: 'reference' | 'tracker' | 'third') =>
        evaluate(
          frames.map((frame, k) => ({ reference: frame[a], tracker: b === 'third' ? third[k].reference : frame[b] })),
          params,
        ).distance;
      const direct = between('reference', 'tracker');
      const detour = between('reference', 'third') + between('tracker', 'third');
      assert.ok(direct <= detour * (1 + 1e-9) + 1e-12, `seed ${seed}: ${direct} > ${detour}`);
    }
  });

  it('does not depend on names and order', () => {
    for (const seed of seeds(60, 400)) {
      const { frames, params } = randomCase(seed);
      const other = shuffled(frames, randomFrom(seed));
      const evaluation = evaluate(other, params);
      verify(evaluation, other, params, `seed ${seed}`);
      close(evaluation.cost.total, evaluate(frames, params).cost.total, 1e-9, `seed ${seed}`);
    }
  });

  it('equals brute force on tiny scenes', () => {
    for (const seed of seeds(80, 600)) {
      const { frames, params } = randomCase(seed, { truthCount: 2, frameCount: 4, side: 4 });
      const objects =
        new Set(frames.flatMap((f) => f.reference.map((o) => o.id))).size *
        new Set(frames.flatMap((f) => f.tracker.map((o) => o.id))).size;
      if (objects > 20) continue;
      close(evaluate(frames, params).cost.total, bruteForce(frames, params), 1e-9, `seed ${seed}`);
    }
  });

  it('is exact where differences are lost in c^p, and bounded where there is no time to look closer', () => {
    let cut = 0;
    for (const exponent of [1, 2, 4, 6, 10])
      for (const seed of seeds(40, 650)) {
        const random = randomFrom(seed);
        const side = 10 ** (-3 * random());
        const feed = (name: string) =>
          [0, 1, 2].map((n) => ({ id: `${name}${n}`, point: [side * random(), side * random()] }));
        const frames = [0, 1, 2, 3].map(() => ({ reference: feed('t'), tracker: feed('k') }));
        const params = { distance: 'euclidean', cutoff: 1, exponent, switchPenalty: random() ** 8 } as const;
        const least = bruteForce(frames, params);
        const place = `exponent ${exponent}, seed ${seed}`;
        const whole = evaluate(frames, params);
        assert.ok(whole.exact, place);
        close(whole.cost.total, least, 1e-9, place);
        const { cost, exact, lowerBound, gap } = evaluate(frames, params, { budgetMs: 1e-3 });
        if (exact) close(cost.total, least, 1e-9, place);
        else {
          cut++;
          assert.ok(lowerBound <= least * (1 + 1e-12) && least <= cost.total * (1 + 1e-12), place);
          close(gap, 1 - lowerBound / cost.total, 1e-9, place);
        }
      }
    assert.ok(cut > 40, `only ${cut} of 200`);
  });

  it('is 0 between a scene and itself under other names, whatever the exponent', () => {
    for (const exponent of [1, 2, 4, 10, 20])
      for (const apart of [0.1, 0.05, 0.01, 1e-4]) {
        const at = (id: string, x: number) => ({ id, point: [x] });
        const frame = { reference: [at('1', 0), at('2', apart)], tracker: [at('a', apart), at('b', 0)] };
        for (const switchPenalty of [0, 1e-9, 1]) {
          const { distance, exact } = evaluate([frame, frame], {
            distance: 'euclidean',
            cutoff: 1,
            exponent,
            switchPenalty,
          });
          assert.deepEqual([distance, exact], [0, true], `exponent ${exponent}, ${apart} apart`);
        }
      }
  });

  it('is the best matching of each frame alone when switches cost nothing', () => {
    for (const seed of seeds(60, 700)) {
      const { frames, params: base } = randomCase(seed, { truthCount: 3 });
      const params = { ...base, switchPenalty: 0 };
      const evaluation = evaluate(frames, params);
      verify(evaluation, frames, params, `seed ${seed}`);
      frames.forEach((frame, k) => {
        const { localization, missed, false: falseCost } = evaluation.perFrame[k].cost;
        const alone = bruteForce([frame], params);
        close(localization + missed + falseCost, alone, 1e-9, `seed ${seed}, frame ${k}`);
      });
    }
  });

  it('comes out the same from every engine', () => {
    const engines: SolveOptions[] = [
      { frontierMax: 0 },
      { frontierMax: 2 },
      { frontierMax: 3 },
      { solver: 'lp', exactness: 'force' },
    ];
    for (const seed of seeds(40, 800)) {
      const { frames, params } = randomCase(seed, { frameCount: 14 });
      const expected = evaluate(frames, params).cost.total;
      for (const options of engines) {
        const place = `seed ${seed}, ${JSON.stringify(options)}`;
        const evaluation = evaluate(frames, params, options);
        verify(evaluation, frames, params, place);
        assert.ok(evaluation.exact, place);
        close(evaluation.cost.total, expected, 1e-9, place);
      }
    }
  });

  it('is never claimed exact when the time was up, and the bounds hold', () => {
    let open = 0;
    for (const seed of seeds(40, 900)) {
      const { frames, params } = randomCase(seed, { truthCount: 5 });
      const optimum = evaluate(frames, params).cost.total;
      const evaluation = evaluate(frames, params, { frontierMax: 0, budgetMs: 0 });
      const { exact, gap, lowerBound, cost } = evaluation;
      assert.ok(
        lowerBound <= optimum * (1 + 1e-9) && optimum <= cost.total * (1 + 1e-9),
        `seed ${seed}: ${lowerBound} ${optimum} ${cost.total}`,
      );
      assert.equal(exact, gap === 0, `seed ${seed}`);
      if (!exact) open++;
      else close(cost.total, optimum, 1e-9, `seed ${seed}`);
    }
    assert.ok(open > 0, 'the budget never cut a solve');
  });

  it('is audited by the other engine without disagreement', () => {
    const { frames, params } = randomCase(4, { frameCount: 40, truthCount: 4 });
    const window = new SlidingWindow({ ...params, windowFrames: 10 }, { auditEvery: 3 });
    const { audit } = frames.map((frame) => window.push(frame)).at(-1)!;
    assert.deepEqual([audit!.checked, audit!.disagreements], [13, 0]);
    assert.ok(audit!.worstDifference <= 1e-9);
    assert.equal(evaluate(frames, params, { solver: 'lp', auditEvery: 1 }).audit!.disagreements, 0);
  });
});
