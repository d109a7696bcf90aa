/**
 * Costs of its own for every object that is missed or false (phi and psi): the judges of it agree with each other and
 * with the kernel where they are constant, and the triangle inequality holds for ramps, which it does not for hard
 * masks.
 */

import assert from 'node:assert/strict';
import { evaluate, type Frame, type Obj, type Params, SlidingWindow } from '../../src/index.js';
import { toNumber } from '../kit/metric/exact-oracle.js';
import { exactCost, type Judgement, mask, ramp, relaxedCost } from '../kit/metric/instance-costs.js';
import { admissibleError } from '../kit/metric/judged-scenes.js';
import { close } from '../kit/metric/verifier.js';
import { pick, type Random, randomFrom } from '../kit/random.js';
import { drawn, skipInFastRun } from '../kit/system/system.js';

type Feed = Obj[];

const WIDTH = 6;

function feeds(random: Random, frameCount: number, prefix: string, count: number): Feed[] {
  const ids = Array.from({ length: count }, (_, n) => `${prefix}${n}`);
  return Array.from({ length: frameCount }, () =>
    ids.filter(() => random() < 0.8).map((id) => ({ id, point: [Math.floor(random() * 8 * WIDTH) / 8] })),
  );
}

const between = (a: Feed[], b: Feed[]): Frame[] => a.map((reference, k) => ({ reference, tracker: b[k] }));

const paramsOf = (random: Random): Params => ({
  distance: 'euclidean',
  cutoff: pick(random, [1, 2, 3]),
  exponent: pick(random, [1, 2]),
  switchPenalty: pick(random, [0.3, 1, 3]),
});

/** A region that moves and is not judged, on one side or on both. */
function judgementOf(random: Random, params: Params): Judgement {
  const [start, speed, width] = [random() * WIDTH, random() - 0.5, 2 * random()];
  const side = ramp(
    params,
    (k) => start + speed * k,
    (k) => start + speed * k + width,
  );
  return { truth: side, track: side };
}

const placeOf = (object: Obj) => (object as { point: number[] }).point[0];

/** The same frames with what every object costs alone. */
const withCosts = (frames: Frame[], { truth, track }: Judgement): Frame[] =>
  frames.map(({ reference, tracker }, k) => ({
    reference: reference.map((object) => ({ ...object, alone: truth(placeOf(object), k) })),
    tracker: tracker.map((object) => ({ ...object, alone: track(placeOf(object), k) })),
  }));

const shifted = (judge: Judgement['truth'], frames: number) => (place: number, k: number) => judge(place, k + frames);

const packedOf = (objects: Obj[]) => ({
  shape: 'point' as const,
  stride: 1,
  ids: objects.map(({ id }) => id),
  coordinates: objects.map(placeOf),
  alone: objects.map(({ alone }) => alone!),
});

/** How often going from a to c costs more than by way of b. */
function violations(triples: number, judge: (random: Random, params: Params) => Judgement): number {
  let found = 0;
  for (let seed = 1; seed <= triples; seed++) {
    const random = randomFrom(seed);
    const params = paramsOf(random);
    const judgement = judge(random, params);
    const [a, b, c] = ['a', 'b', 'c'].map((prefix) => feeds(random, 4, prefix, 3));
    const distance = (x: Feed[], y: Feed[]) => relaxedCost(between(x, y), params, judgement) ** (1 / params.exponent);
    if (distance(a, c) > (distance(a, b) + distance(b, c)) * (1 + 1e-7) + 1e-7) found++;
  }
  return found;
}

describe('costs of being missed or false that differ from object to object', () => {
  it('are those of the metric where they are constant', () => {
    for (let seed = 1; seed <= drawn(40); seed++) {
      const random = randomFrom(seed);
      const params = paramsOf(random);
      const frames = between(feeds(random, 5, 'a', 3), feeds(random, 5, 'b', 3));
      const constant = () => admissibleError(params);
      const cost = relaxedCost(frames, params, { truth: constant, track: constant });
      close(cost, evaluate(frames, params, { solver: 'lp' }).cost.total, 1e-7, `seed ${seed}`);
    }
  });

  it('give the same by the linear program as by all assignments', () => {
    let equal = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const random = randomFrom(seed);
      const params = paramsOf(random);
      const judgement = judgementOf(random, params);
      const frames = between(feeds(random, 4, 'a', 2), feeds(random, 4, 'b', 3));
      const relaxed = relaxedCost(frames, params, judgement);
      const exact = toNumber(exactCost(frames, params, judgement).cost);
      assert.ok(relaxed <= exact * (1 + 1e-7) + 1e-7, `seed ${seed}: ${relaxed} above ${exact}`);
      if (Math.abs(relaxed - exact) <= 1e-6 * Math.max(1, exact)) equal++;
    }
    // a fractional optimum is rare
    assert.ok(equal >= 58, `${equal} of 60`);
  });

  it('are found by every engine, sliding and from scratch, with time weights and without', function () {
    skipInFastRun(this);
    let excused = 0;
    for (let seed = 1; seed <= drawn(120); seed++) {
      const random = randomFrom(seed);
      const params = paramsOf(random);
      const judgement = judgementOf(random, params);
      const frames = between(feeds(random, 8, 'a', 2), feeds(random, 8, 'b', 2));
      const judged = withCosts(frames, judgement);
      const window = new SlidingWindow({ ...params, windowFrames: 5 });
      judged.forEach((frame, k) => {
        const place = `seed ${seed}, push ${k}`;
        const from = Math.max(0, k - 4);
        const report = window.push(frame);
        const own = { truth: shifted(judgement.truth, from), track: shifted(judgement.track, from) };
        const least = toNumber(exactCost(frames.slice(from, k + 1), params, own).cost);
        close(report.cost.total, least, 1e-9, place);
        assert.ok(report.exact, place);
        const held = judged.slice(from, k + 1);
        assert.deepEqual(evaluate(held, params).cost, report.cost, place);
        close(evaluate(held, params, { solver: 'lp', exactness: 'force' }).cost.total, least, 1e-7, `${place}, lp`);
        const weighted = { ...params, weights: { forgetting: 1 } };
        close(evaluate(held, weighted).cost.total, least, 1e-9, `${place}, weighted`);
        if (report.cost.missed < (params.cutoff ** params.exponent / 2) * report.count.missed - 1e-9) excused++;
      });
      window.dispose();
    }
    assert.ok(excused > 100, `only ${excused} reports had less than the full price to pay`);
  });

  it('are kept in snapshots, settled totals, packed frames and reports that are read late', () => {
    const random = randomFrom(4);
    const params = paramsOf(random);
    const judged = withCosts(
      between(feeds(random, 20, 'a', 3), feeds(random, 20, 'b', 3)),
      judgementOf(random, params),
    );
    const window = new SlidingWindow({ ...params, windowFrames: 6 });
    const packed = new SlidingWindow({ ...params, windowFrames: 6 });
    let restored = new SlidingWindow({ ...params, windowFrames: 6 });
    const reports = judged.map((frame) => {
      restored = SlidingWindow.fromJSON(JSON.parse(JSON.stringify(restored.toJSON())));
      const report = window.push(frame);
      assert.deepEqual(restored.push(frame).cost, report.cost);
      const { cost } = packed.push({ reference: packedOf(frame.reference), tracker: packedOf(frame.tracker) });
      assert.deepEqual(cost, report.cost);
      return report;
    });
    reports.forEach((report) => {
      for (const part of ['localization', 'missed', 'false', 'switch'] as const)
        close(
          report.perFrame.reduce((sum, { cost }) => sum + cost[part], 0),
          report.cost[part],
          1e-12,
          part,
        );
    });
    const [end, again] = [window.end(), restored.end()];
    close(again.settled.cost.total, end.settled.cost.total, 1e-12, 'settled');
    const whole = new SlidingWindow({ ...params, windowFrames: judged.length });
    for (const frame of judged) whole.push(frame);
    const { settled, lifetime } = whole.end();
    close(settled.cost.total, evaluate(judged, params).cost.total, 1e-9, 'a window of the whole stream');
    assert.ok(lifetime!.lower <= lifetime!.upper * (1 + 1e-9));
  });

  it('are those of each frame alone where switches cost nothing', () => {
    for (let seed = 1; seed <= drawn(60); seed++) {
      const random = randomFrom(seed);
      const params = { ...paramsOf(random), switchPenalty: 0 };
      const judgement = judgementOf(random, params);
      const frames = between(feeds(random, 3, 'a', 3), feeds(random, 3, 'b', 3));
      const { cost } = evaluate(withCosts(frames, judgement), params);
      close(cost.total, toNumber(exactCost(frames, params, judgement).cost), 1e-9, `seed ${seed}`);
    }
  });

  it('weigh misses and false objects by the miss share as well', () => {
    const params: Params = { distance: 'euclidean', cutoff: 2, exponent: 1, switchPenalty: 1, missShare: 0.75 };
    const frame = { reference: [{ id: 'a', point: [0], alone: 0.5 }], tracker: [{ id: 'b', point: [9], alone: 0.25 }] };
    const { cost } = evaluate([frame], params);
    assert.deepEqual([cost.missed, cost.false], [0.75, 0.125]);
  });

  it('are refused when they are no costs', () => {
    const params: Params = { distance: 'euclidean', cutoff: 2, exponent: 1, switchPenalty: 1 };
    for (const alone of [-1, Number.NaN, '1' as unknown as number])
      assert.throws(
        () => evaluate([{ reference: [{ id: 'a', point: [0], alone }], tracker: [] }], params),
        /frames\[0\]\.reference\[0\]\.alone: must be a number, at least 0/,
      );
  });

  it('obey the triangle inequality where they are ramps, moving or not', function () {
    skipInFastRun(this);
    assert.equal(violations(250, judgementOf), 0);
  });

  it('obey it where false objects are never judged, or by a ramp of their own', function () {
    skipInFastRun(this);
    const never = (random: Random, params: Params): Judgement => ({
      truth: () => admissibleError(params),
      track: () => 0 * random(),
    });
    const own = (random: Random, params: Params): Judgement => ({
      truth: () => admissibleError(params),
      track: judgementOf(random, params).track,
    });
    assert.deepEqual([violations(120, never), violations(120, own)], [0, 0]);
  });

  it('break it where they are hard masks: by way of an object just inside, which costs nothing', () => {
    const params: Params = { distance: 'euclidean', cutoff: 2, exponent: 1, switchPenalty: 1 };
    const outside: Feed[] = [[{ id: 'a', point: [1.9] }]];
    const inside: Feed[] = [[{ id: 'b', point: [2.1] }]];
    const nothing: Feed[] = [[]];
    const detour = (judge: Judgement['truth']) => {
      const distance = (x: Feed[], y: Feed[]) => relaxedCost(between(x, y), params, { truth: judge, track: judge });
      return distance(outside, inside) + distance(inside, nothing) - distance(outside, nothing);
    };
    assert.ok(detour(mask(params, 2, 4)) < -0.5);
    const border = ramp(
      params,
      () => 2,
      () => 4,
    );
    assert.ok(detour(border) >= -1e-12);
  });
});
