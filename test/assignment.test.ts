/** The assignment against trying every matching, on seeded random costs. */

import assert from 'node:assert/strict';
import { assign } from '../adapters/assignment.js';
import { randomFrom } from '../src/scene.js';

function cheapest(cost: Float64Array, rows: number, columns: number, row = 0, used = 0): number {
  if (row === rows) return 0;
  let best = Number.POSITIVE_INFINITY;
  for (let column = 0; column < columns; column++) {
    if (used & (1 << column)) continue;
    best = Math.min(best, cost[row * columns + column] + cheapest(cost, rows, columns, row + 1, used | (1 << column)));
  }
  return best;
}

describe('the assignment', () => {
  it('costs as little as the best of all matchings, with ties, zeros and negative costs', () => {
    for (let seed = 1; seed <= 400; seed++) {
      const random = randomFrom(seed);
      const rows = Math.floor(random() * 6);
      const columns = rows + Math.floor(random() * 3);
      const coarse = seed % 2 === 0;
      const cost = Float64Array.from({ length: rows * columns }, () =>
        coarse ? Math.floor(random() * 4) - 2 : random() - 0.5,
      );
      const chosen = assign(cost, rows, columns);
      assert.equal(new Set(chosen).size, rows, `seed ${seed}: a column is taken twice`);
      const total = chosen.reduce((sum, column, row) => sum + cost[row * columns + column], 0);
      assert.ok(Math.abs(total - cheapest(cost, rows, columns)) < 1e-12, `seed ${seed}: ${total} is not the least`);
    }
  });
});
