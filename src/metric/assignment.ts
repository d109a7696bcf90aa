/**
 * The best matching of a table: each row and column used at most once (Hungarian method with potentials,
 * O(rows^2 * columns)). Rows may stay unmatched.
 */

/**
 * The matching of the greatest total benefit. `benefit[row * columns + column]` >= 0, where 0 means no pair. Returns for each row its column, or -1.
 */
export function bestMatching(benefit: Float64Array, rows: number, columns: number): Int32Array {
  const costs = benefit.map((earned) => (earned > 0 ? -earned : Number.POSITIVE_INFINITY));
  return cheapestMatching(costs, 0, rows, columns);
}

/**
 * The matching of the least total cost. `costs[row * columns + column]`, Infinity for no pair; a row that stays alone costs `alone`.
 * Small costs keep all their digits: nothing large is added to them.
 */
export function cheapestMatching(costs: Float64Array, alone: number, rows: number, columns: number): Int32Array {
  const width = columns + rows; // one private dummy column per row: staying unmatched
  const rowOf = new Int32Array(width + 1).fill(-1);
  const rowPotential = new Float64Array(rows);
  const columnPotential = new Float64Array(width + 1);
  const reach = new Float64Array(width);
  const via = new Int32Array(width);
  const done = new Uint8Array(width + 1);
  const cost = (row: number, column: number) =>
    column < columns ? costs[row * columns + column] : column - columns === row ? alone : Number.POSITIVE_INFINITY;
  for (let row = 0; row < rows; row++) {
    // shortest augmenting path from this row; column `width` stands for its beginning
    reach.fill(Number.POSITIVE_INFINITY);
    done.fill(0);
    rowOf[width] = row;
    let column = width;
    do {
      done[column] = 1;
      const at = rowOf[column];
      let step = Number.POSITIVE_INFINITY;
      let nearest = -1;
      for (let c = 0; c < width; c++) {
        if (done[c]) continue;
        const reduced = cost(at, c) - rowPotential[at] - columnPotential[c];
        if (reduced < reach[c]) {
          reach[c] = reduced;
          via[c] = column;
        }
        if (reach[c] < step) {
          step = reach[c];
          nearest = c;
        }
      }
      for (let c = 0; c <= width; c++) {
        if (done[c]) {
          rowPotential[rowOf[c]] += step;
          columnPotential[c] -= step;
        } else if (c < width) reach[c] -= step;
      }
      column = nearest;
    } while (rowOf[column] >= 0);
    while (column !== width) {
      rowOf[column] = rowOf[via[column]];
      column = via[column];
    }
  }
  const result = new Int32Array(rows).fill(-1);
  for (let c = 0; c < columns; c++) if (rowOf[c] >= 0 && costs[rowOf[c] * columns + c] < alone) result[rowOf[c]] = c;
  return result;
}
