/**
 * The best matching of one frame: maximum total benefit, each row and column used at most once (Hungarian method with
 * potentials, O(rows^2 * columns)). Rows may stay unmatched.
 */

/**
 * `benefit[row * columns + column]` >= 0, where 0 means no pair. Returns for each row its column, or -1.
 */
export function bestMatching(benefit: Float64Array, rows: number, columns: number): Int32Array {
  const width = columns + rows; // one private dummy column per row: staying unmatched earns 0
  const rowOf = new Int32Array(width + 1).fill(-1);
  const rowPotential = new Float64Array(rows);
  const columnPotential = new Float64Array(width + 1);
  const reach = new Float64Array(width);
  const via = new Int32Array(width);
  const done = new Uint8Array(width + 1);
  const cost = (row: number, column: number) =>
    column < columns ? -benefit[row * columns + column] : column - columns === row ? 0 : Number.POSITIVE_INFINITY;
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
  for (let c = 0; c < columns; c++) if (rowOf[c] >= 0 && benefit[rowOf[c] * columns + c] > 0) result[rowOf[c]] = c;
  return result;
}
