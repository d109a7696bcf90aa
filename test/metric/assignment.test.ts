/** The best matching of one frame against trying every matching, on seeded random benefits. */

import assert from 'node:assert/strict';
import { bestMatching } from '../kit/metric/best-matching.js';
import { randomFrom } from '../kit/random.js';
import { skipInFastRun } from '../kit/system/system.js';

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

/** The most by another method: the Hungarian with a private column for every row, O(rows^2 columns). */
function mostByTable(benefit: Float64Array, rows: number, columns: number): number {
  const width = columns + rows;
  const cost = (row: number, column: number) => {
    if (column >= columns) return column - columns === row ? 0 : Number.POSITIVE_INFINITY;
    return benefit[row * columns + column] > 0 ? -benefit[row * columns + column] : Number.POSITIVE_INFINITY;
  };
  const rowOf = new Array<number>(width + 1).fill(-1);
  const rowPrice = new Array<number>(rows).fill(0);
  const columnPrice = new Array<number>(width + 1).fill(0);
  for (let row = 0; row < rows; row++) {
    const reach = new Array<number>(width).fill(Number.POSITIVE_INFINITY);
    const via = new Array<number>(width).fill(width);
    const done = new Set<number>();
    rowOf[width] = row;
    let column = width;
    do {
      done.add(column);
      const at = rowOf[column];
      let nearest = -1;
      for (let c = 0; c < width; c++) {
        if (done.has(c)) continue;
        const reduced = cost(at, c) - rowPrice[at] - columnPrice[c];
        if (reduced < reach[c]) [reach[c], via[c]] = [reduced, column];
        if (nearest < 0 || reach[c] < reach[nearest]) nearest = c;
      }
      const step = reach[nearest];
      for (const c of done) {
        rowPrice[rowOf[c]] += step;
        columnPrice[c] -= step;
      }
      for (let c = 0; c < width; c++) if (!done.has(c)) reach[c] -= step;
      column = nearest;
    } while (rowOf[column] >= 0);
    for (; column !== width; column = via[column]) rowOf[column] = rowOf[via[column]];
  }
  let total = 0;
  for (let c = 0; c < columns; c++) if (rowOf[c] >= 0) total += benefit[rowOf[c] * columns + c];
  return total;
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
  it('is that of another method in crowds, sparse and dense, with ties and without', () => {
    for (let seed = 1; seed <= 60; seed++) {
      const random = randomFrom(seed);
      const rows = 1 + Math.floor(random() * 60);
      const columns = 1 + Math.floor(random() * 60);
      const density = random();
      const benefit = Float64Array.from({ length: rows * columns }, () => {
        if (random() > density) return 0;
        return seed % 3 === 0 ? Math.floor(random() * 4) : random();
      });
      const matching = bestMatching(benefit, rows, columns);
      const taken = [...matching].filter((column) => column >= 0);
      assert.equal(new Set(taken).size, taken.length, `seed ${seed}: a column is taken twice`);
      const total = matching.reduce(
        (sum, column, row) => (column < 0 ? sum : sum + benefit[row * columns + column]),
        0,
      );
      const best = mostByTable(benefit, rows, columns);
      assert.ok(Math.abs(total - best) < 1e-10, `seed ${seed}: ${total} instead of ${best}`);
    }
  });

  it('of 2,000 rows and columns that are all alike, or on a line, is found without trying much', function () {
    skipInFastRun(this);
    const count = 2000;
    const alike = new Float64Array(count * count).fill(1);
    const onLine = alike.map((_, n) => 2 - Math.abs(Math.floor(n / count) - (n % count)) / count);
    const before = process.cpuUsage();
    for (const benefit of [alike, onLine]) {
      const matching = bestMatching(benefit, count, count);
      assert.deepEqual(
        [...matching].sort((a, b) => a - b),
        Array.from({ length: count }, (_, n) => n),
      );
    }
    const { user } = process.cpuUsage(before);
    // a tenth of a second; trying one by one takes minutes
    assert.ok(user < 20e6, `${user / 1e6} s of processor time`);
  });
});
