/** The search for close pairs finds what looking at all of them finds, in the same order, whatever it searched before. */

import assert from 'node:assert/strict';
import { distances, PairFinder } from '../../src/metric/distance.js';
import { DISTANCES } from '../../src/metric/params.js';
import { randomFrom } from '../kit/random.js';

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
      const finder = new PairFinder(name, CUTOFF[name]);
      let close = 0;
      for (let round = 0; round < 120; round++) {
        // few and many, the same number again and another one
        const reference = feed(1 + Math.floor(next() * 120), round % 2 === 0);
        const tracker = feed(round % 3 === 0 ? 1 + Math.floor(next() * 200) : 100, round % 2 === 0);
        const shifts = round % 5 === 0 ? 1 : 3;
        for (let shift = 0; shift < shifts; shift++) {
          for (let n = 0; n < tracker.coordinates.length; n += stride) tracker.coordinates[n] += next() - 0.5;
          finder.find({ reference, tracker, stride });
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
