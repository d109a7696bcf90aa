/**
 * The cheapest matching of rows and columns where only some pairs are possible: shortest augmenting paths over a sparse
 * table, after Jonker and Volgenant (1987). Rows may stay alone at a price, columns for nothing. Most rows find their
 * column in a first pass of bids; for the others a path is searched, with a heap and without recursion, so that a crowd
 * costs what its conflicts do. Columns have prices <= 0, and 0 unless matched; a row's pair is its cheapest at these
 * prices, which proves the matching optimal. Small costs keep all their digits: nothing large is added to them.
 */

const NONE = -1;
/** in place of a place in the heap: a column whose distance is final, and one that nobody has */
const DONE = -2;
const FREE = -3;
/** bids per row in the first pass; rows that are still outbid then search for a path */
const BIDS_PER_ROW = 4;

/** A table by rows: the pairs of row i are those from `start[i]` to `start[i + 1]`. */
export interface SparseTable {
  rows: number;
  columns: number;
  start: ArrayLike<number>;
  /** of each pair its column and its cost */
  column: ArrayLike<number>;
  cost: ArrayLike<number>;
  /** what a row costs that stays alone; a pair that costs as much or more is never matched */
  alone: number;
}

/** Of each row the pair of the cheapest matching, or -1; good until the next call. */
export function cheapestMatching(table: SparseTable): Int32Array {
  return matcher.match(table);
}

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
  const pairOf = cheapestMatching({ rows, columns, start, column, cost, alone: 0 });
  return pairOf.slice(0, rows).map((pair) => (pair === NONE ? NONE : column[pair]));
}

/** Working space, kept from one matching to the next. */
class Matcher {
  private pairOf = new Int32Array(64);
  /** rows that were outbid */
  private left = new Int32Array(64);
  private rowOf = new Int32Array(64);
  private price = new Float64Array(64);
  /** of each column during one search: how far it is, by which pair of which row, and where it stands in the heap */
  private distance = new Float64Array(64);
  private via = new Int32Array(64);
  private from = new Int32Array(64);
  private place = new Int32Array(64);
  private heap = new Int32Array(64);
  private heapSize = 0;
  /** columns with a place */
  private reached = new Int32Array(64);
  private reachedCount = 0;

  match(table: SparseTable): Int32Array {
    this.reset(table);
    for (let leftCount = this.bid(table); leftCount > 0; leftCount--) this.augment(table, this.left[leftCount - 1]);
    return this.pairOf;
  }

  private reset({ rows, columns }: SparseTable): void {
    if (this.pairOf.length < rows) {
      this.pairOf = new Int32Array(2 * rows);
      this.left = new Int32Array(2 * rows);
    }
    if (this.rowOf.length < columns) {
      const size = 2 * columns;
      this.price = new Float64Array(size);
      this.distance = new Float64Array(size);
      this.rowOf = new Int32Array(size);
      this.via = new Int32Array(size);
      this.from = new Int32Array(size);
      this.place = new Int32Array(size);
      this.heap = new Int32Array(size);
      this.reached = new Int32Array(size);
    }
    this.pairOf.fill(NONE, 0, rows);
    this.rowOf.fill(NONE, 0, columns);
    this.price.fill(0, 0, columns);
    this.place.fill(NONE, 0, columns);
  }

  /** Rows bid for their cheapest column; whoever is outbid bids again. Returns how many are left without an answer. */
  private bid(table: SparseTable): number {
    const { pairOf, rowOf, price, left } = this;
    const { rows, column } = table;
    let leftCount = 0;
    let bids = BIDS_PER_ROW * rows;
    for (let first = 0; first < rows; first++) {
      for (let row = first; row !== NONE; ) {
        const pair = this.cheapestPair(table, row);
        if (pair === NONE) break;
        const chosen = column[pair];
        const other = rowOf[chosen];
        if (other !== NONE) {
          if (this.margin === 0 || bids-- <= 0) {
            left[leftCount++] = row;
            break;
          }
          // now the second best is as good
          price[chosen] -= this.margin;
          pairOf[other] = NONE;
        }
        rowOf[chosen] = row;
        pairOf[row] = pair;
        row = other;
      }
    }
    return leftCount;
  }

  /** how much cheaper than the second best the pair was that `cheapestPair` returned */
  private margin = 0;

  /**
   * The cheapest pair of a row at these prices, among equals one whose column is free; NONE when the row had better
   * stay alone.
   */
  private cheapestPair({ start, column, cost, alone }: SparseTable, row: number): number {
    const { price, rowOf } = this;
    let best = NONE;
    let least = alone;
    let second = alone;
    for (let pair = start[row]; pair < start[row + 1]; pair++) {
      const reduced = cost[pair] - price[column[pair]];
      if (reduced > second) continue;
      if (reduced < least) {
        second = least;
        least = reduced;
        best = pair;
      } else if (best !== NONE) {
        second = reduced;
        if (reduced === least && rowOf[column[best]] !== NONE && rowOf[column[pair]] === NONE) best = pair;
      }
    }
    this.margin = second - least;
    return best;
  }

  /**
   * The cheapest way to place a row: along a path of rows that move on, to a free column or to a row that stays alone
   * instead.
   */
  private augment(table: SparseTable, row: number): void {
    const { pairOf, rowOf, price, distance } = this;
    const { cost, column, alone } = table;
    let end = NONE;
    let lonely = row;
    let length = alone;
    let at = row;
    // what the row at hand pays at these prices, less the way to it
    let base = 0;
    for (;;) {
      const free = this.scan(table, at, base, length);
      if (free !== NONE) {
        end = free;
        length = distance[free];
      }
      if (this.heapSize === 0 || distance[this.heap[0]] >= length) break;
      const next = this.pop();
      at = rowOf[next];
      base = cost[pairOf[at]] - price[next] - distance[next];
      if (alone - base >= length) continue;
      length = alone - base;
      lonely = at;
      end = NONE;
    }
    this.reprice(length);
    if (end === NONE) {
      if (lonely === row) return;
      end = column[pairOf[lonely]];
      pairOf[lonely] = NONE;
    }
    for (let j = end; ; ) {
      const mover = this.from[j];
      const before = pairOf[mover];
      pairOf[mover] = this.via[j];
      rowOf[j] = mover;
      if (mover === row) return;
      j = column[before];
    }
  }

  /** Looks at the pairs of a row; returns the nearest free column, if one is nearer than `limit`. */
  private scan({ start, column, cost }: SparseTable, row: number, base: number, limit: number): number {
    const { distance, price, place, rowOf, via, from } = this;
    let nearest = NONE;
    let least = limit;
    for (let pair = start[row]; pair < start[row + 1]; pair++) {
      const j = column[pair];
      const length = cost[pair] - price[j] - base;
      if (length >= least || place[j] === DONE) continue;
      if (place[j] === NONE) this.reached[this.reachedCount++] = j;
      else if (length >= distance[j]) continue;
      distance[j] = length;
      via[j] = pair;
      from[j] = row;
      if (rowOf[j] === NONE) {
        place[j] = FREE;
        nearest = j;
        least = length;
      } else this.push(j);
    }
    return nearest;
  }

  /** Lowers the prices of the columns that are nearer than the end of the path, and forgets the search. */
  private reprice(length: number): void {
    const { reached, place, price, distance } = this;
    for (let n = 0; n < this.reachedCount; n++) {
      const j = reached[n];
      if (place[j] === DONE) price[j] += distance[j] - length;
      place[j] = NONE;
    }
    this.reachedCount = 0;
    this.heapSize = 0;
  }

  /** Puts a column into the heap, or moves it up there. */
  private push(j: number): void {
    const { heap, place, distance } = this;
    let n = place[j] === NONE ? this.heapSize++ : place[j];
    for (; n > 0; ) {
      const parent = (n - 1) >> 1;
      if (distance[heap[parent]] <= distance[j]) break;
      heap[n] = heap[parent];
      place[heap[n]] = n;
      n = parent;
    }
    heap[n] = j;
    place[j] = n;
  }

  /** Takes the nearest column out of the heap. */
  private pop(): number {
    const { heap, place, distance } = this;
    const top = heap[0];
    place[top] = DONE;
    const last = heap[--this.heapSize];
    if (last === top) return top;
    let n = 0;
    for (let child = 1; child < this.heapSize; child = 2 * n + 1) {
      if (child + 1 < this.heapSize && distance[heap[child + 1]] < distance[heap[child]]) child++;
      if (distance[heap[child]] >= distance[last]) break;
      heap[n] = heap[child];
      place[heap[n]] = n;
      n = child;
    }
    heap[n] = last;
    place[last] = n;
    return top;
  }
}

const matcher = new Matcher();
