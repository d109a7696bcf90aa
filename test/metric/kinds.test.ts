/**
 * Kinds: only objects of the same kind are pairs. Where trajectories keep their kind, a scene is then as many scenes as
 * there are kinds: their costs and counts add up to its own, in every window, from scratch and over a snapshot.
 */

import assert from 'node:assert/strict';
import { evaluate, type Frame, type Obj, type Params, SlidingWindow } from '../../src/index.js';
import { close } from '../kit/metric/verifier.js';
import { pick, type Random, randomFrom } from '../kit/random.js';
import { skipInFastRun } from '../kit/system/system.js';

const KINDS = ['car', 'person', undefined] as const;
type Kind = (typeof KINDS)[number];

const COMPONENTS = ['localization', 'missed', 'false', 'switch', 'total'] as const;
const COUNTS = ['proper', 'missed', 'false', 'switches'] as const;

const paramsOf = (random: Random): Params => ({
  distance: 'euclidean',
  cutoff: 3,
  exponent: pick(random, [1, 2]),
  switchPenalty: pick(random, [0.5, 2]),
});

/** Objects that keep their kind and are here and there, close to many others. */
function sceneOf(random: Random, frames: number, count: number, width: number): Frame[] {
  const kinds = new Map<string, Kind>();
  const feed = (prefix: string): Obj[] =>
    Array.from({ length: count }, (_, n) => `${prefix}${n}`)
      .filter(() => random() < 0.8)
      .map((id) => {
        if (!kinds.has(id)) kinds.set(id, pick(random, KINDS));
        const kind = kinds.get(id);
        const alone = random() < 0.2 ? { alone: random() } : {};
        return { id, point: [random() * width, random() * width], ...alone, ...(kind === undefined ? {} : { kind }) };
      });
  return Array.from({ length: frames }, () => ({ reference: feed('t'), tracker: feed('k') }));
}

const only = (kind: Kind, frames: Frame[]): Frame[] =>
  frames.map(({ reference, tracker }) => ({
    reference: reference.filter((object) => object.kind === kind),
    tracker: tracker.filter((object) => object.kind === kind),
  }));

const packedOf = (objects: Obj[]) => ({
  shape: 'point' as const,
  stride: 2,
  ids: objects.map(({ id }) => id),
  coordinates: objects.flatMap((object) => (object as { point: number[] }).point),
  alone: objects.map(({ alone }) => alone ?? Number.POSITIVE_INFINITY),
  kinds: objects.map(({ kind }) => kind ?? null),
});

describe('kinds of objects', () => {
  it('add up to the whole, window by window, packed or not, and over a snapshot', function () {
    skipInFastRun(this);
    let crossed = 0;
    for (let seed = 1; seed <= 8; seed++) {
      const random = randomFrom(seed);
      const params = paramsOf(random);
      const frames = sceneOf(random, 12, 5, 5);
      let window = new SlidingWindow({ ...params, windowFrames: 6 });
      frames.forEach((frame, k) => {
        const place = `seed ${seed}, push ${k}`;
        if (k % 5 === 4) window = SlidingWindow.fromJSON(JSON.parse(JSON.stringify(window)));
        const loose = k % 2 ? frame : { reference: packedOf(frame.reference), tracker: packedOf(frame.tracker) };
        const report = window.push(loose);
        const held = frames.slice(Math.max(0, k - 5), k + 1);
        const parts = KINDS.map((kind) => evaluate(only(kind, held), params));
        for (const key of COMPONENTS)
          close(report.cost[key], sum(parts.map(({ cost }) => cost[key])), 1e-9, `${place}, ${key}`);
        for (const key of COUNTS)
          close(report.count[key], sum(parts.map(({ count }) => count[key])), 1e-9, `${place}, count of ${key}`);
        assert.ok(report.exact, place);
        assert.deepEqual(evaluate(held, params).cost, report.cost, place);
        if (evaluate(withoutKinds(held), params).cost.total < report.cost.total - 1e-6) crossed++;
      });
    }
    assert.ok(crossed > 30, `${crossed} windows would be cheaper with pairs of two kinds`);
  });

  it('are kept apart in a crowd that there is no time for', () => {
    const random = randomFrom(7);
    const params: Params = { distance: 'euclidean', cutoff: 10, exponent: 1, switchPenalty: 5 };
    const crowd = sceneOf(random, 2, 300, 5);
    const window = new SlidingWindow({ ...params, windowFrames: 5 }, { budgetMs: 0.01 });
    for (const frame of crowd) {
      const kindOf = new Map([...frame.reference, ...frame.tracker].map(({ id, kind }) => [id, kind]));
      const { newest, lowerBound, cost } = window.push(frame);
      const proper = newest.assignment.filter(({ distance }) => distance !== null);
      assert.ok(proper.length > 50, `${proper.length} pairs`);
      for (const { truth, track } of proper) assert.equal(kindOf.get(truth), kindOf.get(track));
      assert.ok(lowerBound <= cost.total);
    }
  });

  it('are strings', () => {
    const objects = [{ id: 'a', point: [0], kind: 3 }] as unknown as Obj[];
    assert.throws(
      () => evaluate([{ reference: objects, tracker: [] }], paramsOf(randomFrom(1))),
      /reference\[0\]\.kind.*must be a string/s,
    );
  });
});

const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0);

const withoutKinds = (frames: Frame[]): Frame[] => {
  const bare = ({ kind: _kind, ...object }: Obj) => object as Obj;
  return frames.map(({ reference, tracker }) => ({ reference: reference.map(bare), tracker: tracker.map(bare) }));
};
