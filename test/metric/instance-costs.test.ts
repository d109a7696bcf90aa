/**
 * Costs of its own for every object that is missed or false (phi and psi): the judges of it agree with each other and with the kernel where they are
 * constant, and the triangle inequality holds for ramps, which it does not for hard masks.
 */

import assert from 'node:assert/strict';
import { evaluate, type Frame, type Obj, type Params } from '../../src/index.js';
import { toNumber } from '../kit/exact-oracle.js';
import { admissibleError, exactCost, type Judgement, mask, ramp, relaxedCost } from '../kit/instance-costs.js';
import { pick, type Random, randomFrom } from '../kit/random.js';
import { close } from '../kit/verifier.js';

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
    for (let seed = 1; seed <= 40; seed++) {
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

  it('obey the triangle inequality where they are ramps, moving or not', () => {
    assert.equal(violations(250, judgementOf), 0);
  });

  it('obey it where false objects are never judged, or by a ramp of their own', () => {
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
