/**
 * The matching of greatest total weight between rows and columns when only few pairs have a weight. Rows and columns
 * may stay unmatched. Shortest augmenting paths over the pairs that exist, with duals
 *
 *   rowDual[i] + columnDual[j] >= weight[i, j],  both >= 0,  equality on matched pairs,
 *
 * started from the rows' best columns: in most frames no two rows want the same column, and nothing is left to do.
 * Arrays are kept from call to call and only grow.
 */

const FREE = -1;

export class Matcher {
  /** after `match`: for each row its pair, or -1 */
  pairOfRow = new Int32Array(64);
  #rowStart = new Int32Array(65);
  /** rows whose best column was taken */
  #waiting = new Int32Array(64);
  #rowDual = new Float64Array(64);
  #rowReach = new Float64Array(64);
  #columnDual = new Float64Array(64);
  #columnReach = new Float64Array(64);
  /** matched row, or FREE */
  #rowOf = new Int32Array(64).fill(FREE);
  /** pair by which a column was reached */
  #via = new Int32Array(64);
  /** columns reached from the current row; the first #scanned of them are done */
  #reached = new Int32Array(64);
  #reachedCount = 0;
  #scanned = 0;
  /** 1 for those first ones: rounding must not find a way to them a second time */
  #done = new Uint8Array(64);

  /**
   * Pairs are ordered by row; weights are above 0. `rows` and `columns` bound what `row` and `column` hold; only the
   * first `count` entries are read.
   */
  match(count: number, row: Int32Array, column: Int32Array, weight: Float64Array, rows: number, columns: number): void {
    this.#reserve(rows, columns);
    const { pairOfRow } = this;
    const rowStart = this.#rowStart;
    const rowDual = this.#rowDual;
    const columnDual = this.#columnDual;
    const rowOf = this.#rowOf;
    columnDual.fill(0, 0, columns);
    rowOf.fill(FREE, 0, columns);
    let waiting = 0;
    let pair = 0;
    for (let i = 0; i < rows; i++) {
      rowStart[i] = pair;
      let best = 0;
      let bestPair = FREE;
      for (; pair < count && row[pair] === i; pair++) {
        if (weight[pair] > best) {
          best = weight[pair];
          bestPair = pair;
        }
      }
      rowDual[i] = best;
      if (bestPair !== FREE && rowOf[column[bestPair]] === FREE) rowOf[column[bestPair]] = i;
      else {
        if (bestPair !== FREE) this.#waiting[waiting++] = i;
        bestPair = FREE;
      }
      pairOfRow[i] = bestPair;
    }
    rowStart[rows] = pair;
    if (waiting === 0) return;
    this.#columnReach.fill(Number.POSITIVE_INFINITY, 0, columns);
    for (let n = 0; n < waiting; n++) this.#augment(this.#waiting[n], row, column, weight);
  }

  /** Finds the cheapest way to give a row a column, or to leave one row of the path without, and takes it. */
  #augment(start: number, row: Int32Array, column: Int32Array, weight: Float64Array): void {
    const rowReach = this.#rowReach;
    const columnReach = this.#columnReach;
    const reached = this.#reached;
    this.#reachedCount = 0;
    this.#scanned = 0;
    rowReach[start] = 0;
    let length = this.#rowDual[start];
    // the row that gives up, unless a free column ends the path
    let endRow = start;
    let endColumn = FREE;
    let at = start;
    for (;;) {
      this.#reach(at, column, weight);
      const next = this.#nearest();
      if (next === FREE || columnReach[next] >= length) break;
      if (this.#rowOf[next] === FREE) {
        length = columnReach[next];
        endColumn = next;
        break;
      }
      at = this.#rowOf[next];
      rowReach[at] = columnReach[next];
      const withdrawn = rowReach[at] + this.#rowDual[at];
      if (withdrawn < length) {
        length = withdrawn;
        endRow = at;
      }
    }
    this.#raise(start, length);
    this.#flip(start, endColumn === FREE ? endRow : FREE, endColumn, row, column);
    for (let n = 0; n < this.#reachedCount; n++) {
      columnReach[reached[n]] = Number.POSITIVE_INFINITY;
      this.#done[reached[n]] = 0;
    }
  }

  /** Looks from a row at all its columns. */
  #reach(at: number, column: Int32Array, weight: Float64Array): void {
    const columnReach = this.#columnReach;
    const base = this.#rowReach[at] + this.#rowDual[at];
    for (let pair = this.#rowStart[at]; pair < this.#rowStart[at + 1]; pair++) {
      const j = column[pair];
      if (this.#done[j] === 1) continue;
      const length = base + this.#columnDual[j] - weight[pair];
      if (length >= columnReach[j]) continue;
      if (columnReach[j] === Number.POSITIVE_INFINITY) this.#reached[this.#reachedCount++] = j;
      columnReach[j] = length;
      this.#via[j] = pair;
    }
  }

  /** The nearest column that was not looked at yet, moved to those that were. */
  #nearest(): number {
    const reached = this.#reached;
    const columnReach = this.#columnReach;
    let best = FREE;
    for (let n = this.#scanned; n < this.#reachedCount; n++)
      if (best === FREE || columnReach[reached[n]] < columnReach[reached[best]]) best = n;
    if (best === FREE) return FREE;
    const chosen = reached[best];
    reached[best] = reached[this.#scanned];
    reached[this.#scanned++] = chosen;
    this.#done[chosen] = 1;
    return chosen;
  }

  #raise(start: number, length: number): void {
    this.#rowDual[start] -= length;
    for (let n = 0; n < this.#scanned; n++) {
      const j = this.#reached[n];
      const slack = length - this.#columnReach[j];
      if (slack <= 0) continue;
      this.#columnDual[j] += slack;
      if (this.#rowOf[j] !== FREE) this.#rowDual[this.#rowOf[j]] -= slack;
    }
  }

  /** Changes partners along the path that ends at a free column, or at a row that stays without. */
  #flip(start: number, endRow: number, endColumn: number, row: Int32Array, column: Int32Array): void {
    const { pairOfRow } = this;
    let j = endColumn;
    if (j === FREE) {
      if (endRow === start) return;
      j = column[pairOfRow[endRow]];
      pairOfRow[endRow] = FREE;
    }
    for (;;) {
      const pair = this.#via[j];
      const i = row[pair];
      const before = pairOfRow[i];
      pairOfRow[i] = pair;
      this.#rowOf[j] = i;
      if (i === start) return;
      j = column[before];
    }
  }

  #reserve(rows: number, columns: number): void {
    if (rows > this.pairOfRow.length) {
      const size = rows * 2;
      this.pairOfRow = new Int32Array(size);
      this.#rowStart = new Int32Array(size + 1);
      this.#waiting = new Int32Array(size);
      this.#rowDual = new Float64Array(size);
      this.#rowReach = new Float64Array(size);
    }
    if (columns > this.#rowOf.length) {
      const size = columns * 2;
      this.#rowOf = new Int32Array(size);
      this.#columnDual = new Float64Array(size);
      this.#columnReach = new Float64Array(size);
      this.#via = new Int32Array(size);
      this.#reached = new Int32Array(size);
      this.#done = new Uint8Array(size);
    }
  }
}
