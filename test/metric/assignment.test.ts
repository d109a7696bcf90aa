/** The best matching of one frame against trying every matching, on seeded random benefits. */

import assert from 'node:assert/strict';
import { bestMatching } from '../../src/metric/assignment.js';
import { randomFrom } from '../kit/random.js';

function most(benefit: Float64Array, rows: number, columns: number, row = 0, used = 0): number {
  if (row === rows) return 0;
  let best = most(benefit, rows, columns, row + 1, used);
  for (let column = 0; column < columns; column++) {
    if (used & (1 << column)) continue;
    best = Math.max(
      best,
      benefit[row * columns + column] + most(benefit, rows, columns, row + 1, used | (1 << column)),
    );
  }
  return best;
}

describe('the best matching of one frame', () => {
  it('is worth as much as the best of all matchings, with ties and missing pairs', () => {
    for (let seed = 1; seed <= 400; seed++) {
      const random = randomFrom(seed);
      const rows = Math.floor(random() * 6);
      const columns = Math.floor(random() * 6);
      const coarse = seed % 2 === 0;
      const benefit = Float64Array.from({ length: rows * columns }, () =>
        coarse ? Math.floor(random() * 4) : Math.max(0, random() - 0.4),
      );
      const pairs = [...bestMatching(benefit, rows, columns)]
        .map((column, row) => ({ row, column }))
        .filter(({ column }) => column >= 0);
      assert.equal(
        new Set(pairs.map(({ column }) => column)).size,
        pairs.length,
        `seed ${seed}: a column is taken twice`,
      );
      const total = pairs.reduce((sum, { row, column }) => sum + benefit[row * columns + column], 0);
      assert.ok(Math.abs(total - most(benefit, rows, columns)) < 1e-12, `seed ${seed}: ${total} is not the most`);
    }
  });
});
