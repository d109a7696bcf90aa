/** The best matching of a full table, by the kernel's own method for sparse ones. */

import { cheapestMatching } from '../../../src/metric/assignment.js';

/**
 * The matching of the greatest total benefit. `benefit[row * columns + column]` >= 0, where 0 means no pair. Returns
 * for each row its column, or -1.
 */
export function bestMatching(benefit: Float64Array, rows: number, columns: number): Int32Array {
  const start = new Int32Array(rows + 1);
  const column = new Int32Array(rows * columns);
  const cost = new Float64Array(rows * columns);
  let pairs = 0;
  for (let row = 0; row < rows; row++) {
    for (let j = 0; j < columns; j++) {
      if (!(benefit[row * columns + j] > 0)) continue;
      column[pairs] = j;
      cost[pairs++] = -benefit[row * columns + j];
    }
    start[row + 1] = pairs;
  }
  const { pairOf } = cheapestMatching({ rows, columns, start, column, cost, alone: 0 });
  return pairOf.slice(0, rows).map((pair) => (pair === -1 ? -1 : column[pair]));
}
