/**
 * The search for close pairs finds what looking at all of them finds, in the same order, whatever it searched before.
 */

import assert from 'node:assert/strict';
import { distances, PairFinder } from '../../src/metric/distance.js';
import { DISTANCES } from '../../src/metric/params.js';
import { randomFrom } from '../kit/random.js';
import { drawn } from '../kit/system/system.js';

const CUTOFF = { iou: 0.9, hausdorff: 30, wasserstein: 30, euclidean: 30, geodesic: 3e5 };

describe('the search for close pairs', () => {
  for (const name of DISTANCES) {
    it(`finds all of them, in order: ${name}`, () => {
      const next = randomFrom(7);
      const stride = name === 'geodesic' || name === 'euclidean' ? 2 : 4;
      const feed = (count: number, grid: boolean) => {
        const coordinates = new Float64Array(count * stride);
        for (let n = 0; n < count; n++) {
          const x = next() * (name === 'geodesic' ? 20 : 300);
          coordinates[n * stride] = grid ? Math.floor(x) : x;
          coordinates[n * stride + 1] = next() * (name === 'geodesic' ? 20 : 200);
          if (stride === 2) continue;
          coordinates[n * 4 + 2] = 5 + Math.floor(next() * 40);
          coordinates[n * 4 + 3] = 5 + next() * 60;
        }
        return { ids: Array.from({ length: count }, (_, n) => `${n}`), coordinates };
      };
      const finder = PairFinder.for(name);
      let close = 0;
      for (let round = 0; round < drawn(120); round++) {
        // few and many, the same number again and another one
        const reference = feed(1 + Math.floor(next() * 120), round % 2 === 0);
        const tracker = feed(round % 3 === 0 ? 1 + Math.floor(next() * 200) : 100, round % 2 === 0);
        const shifts = round % 5 === 0 ? 1 : 3;
        for (let shift = 0; shift < shifts; shift++) {
          for (let n = 0; n < tracker.coordinates.length; n += stride) tracker.coordinates[n] += next() - 0.5;
          finder.find({ reference, tracker, stride }, CUTOFF[name]);
          let at = 0;
          for (let i = 0; i < reference.ids.length; i++) {
            for (let j = 0; j < tracker.ids.length; j++) {
              const distance = distances[name](reference.coordinates, i, tracker.coordinates, j, stride);
              if (distance >= CUTOFF[name]) continue;
              assert.deepEqual([finder.truth[at], finder.track[at], finder.distance[at]], [i, j, distance]);
              at++;
            }
          }
          assert.equal(finder.count, at);
          close += at;
        }
      }
      assert.ok(close > 1000);
    });
  }
});

describe('a distance', () => {
  const boxes = (...lists: number[][]) => lists.flat();

  it('of boxes that are tiny, huge or far away is that of the same boxes in reach', () => {
    const near = [boxes([0, 0, 48, 64]), boxes([16, 0, 48, 64])];
    for (const scale of [1e-170, 1e-100, 1, 1e100, 1e150])
      for (const name of ['iou', 'hausdorff', 'wasserstein'] as const) {
        const [a, b] = near.map((list) => list.map((value) => value * scale));
        const expected = distances[name](near[0], 0, near[1], 0, 4) * (name === 'iou' ? 1 : scale);
        const actual = distances[name](a, 0, b, 0, 4);
        assert.ok(Math.abs(actual - expected) <= 1e-12 * expected, `${name} of boxes times ${scale}: ${actual}`);
      }
    const [a, b] = near.map((list) => list.map((value, n) => (n < 2 ? value + 1e17 : value)));
    for (const name of ['iou', 'hausdorff', 'wasserstein'] as const)
      assert.equal(distances[name](a, 0, b, 0, 4), distances[name](near[0], 0, near[1], 0, 4), `${name} at 1e17`);
  });

  it('is a number, and the same there and back, whatever the boxes', () => {
    const sizes = [5e-324, 1e-300, 1e-170, 1e-3, 1, 48, 1e17, 1e160, 1e300, 1.7e308];
    const places = [0, 1e-170, -3, 1e17, -1e17, 1e300, -1.7e308];
    const random = randomFrom(3);
    const one = (list: number[]) => list[Math.floor(random() * list.length)];
    for (let n = 0; n < 5000; n++) {
      const [a, b] = [0, 1].map(() => [one(places), one(places), one(sizes), one(sizes)]);
      for (const name of ['iou', 'hausdorff', 'wasserstein'] as const) {
        const there = distances[name](a, 0, b, 0, 4);
        assert.ok(there >= 0, `${name} of ${a} and ${b}: ${there}`);
        assert.equal(distances[name](b, 0, a, 0, 4), there, `${name} of ${a} and ${b}`);
        assert.equal(distances[name](a, 0, a, 0, 4), 0, `${name} of ${a} to itself`);
      }
    }
  });

  it('of points that are tiny is not lost', () => {
    assert.equal(distances.euclidean([0, 0], 0, [3e-170, 4e-170], 0, 2), 5e-170);
    assert.equal(distances.euclidean([0, 3e-170], 0, [0, 3e-170], 0, 2), 0);
  });
});
