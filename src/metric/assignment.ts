/**
 * The cheapest matching of rows and columns where only some pairs are possible: shortest augmenting paths over a sparse
 * table, after Jonker and Volgenant (1987). Rows may stay alone at a price, columns for nothing. A path is searched
 * with a heap and without recursion, and ends at the first free column, so that a crowd costs what its conflicts do.
 * Columns have prices <= 0, and 0 unless matched; a row's pair is its cheapest at these prices, which proves the
 * matching optimal. Small costs keep all their digits: nothing large is added to them.
 */

const NONE = -1;
/** in place of a place in the heap: a column whose distance is final, and one that nobody has */
const DONE = -2;
const FREE = -3;
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

/** Good until the next call. */
export interface Matching {
  /** of each row its pair, or -1 */
  readonly pairOf: Int32Array;
  /** of each column its price, at most 0 */
  readonly price: Float64Array;
}

/**
 * The cheapest matching. Whoever is told how many pairs were looked at may stop the search: rows that have no answer
 * then take what is left, and prices are those of the others.
 */
export function cheapestMatching(table: SparseTable, isOver: (looks: number) => boolean = () => false): Matching {
  return matcher.match(table, isOver);
}

/** Working space, kept from one matching to the next. */
class Matcher {
  pairOf = new Int32Array(64);
  /** pairs looked at since somebody was told */
  private looks = 0;
  private rowOf = new Int32Array(64);
  price = new Float64Array(64);
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

  match(table: SparseTable, isOver: (looks: number) => boolean): Matching {
    this.reset(table);
    this.looks = 0;
    for (let row = 0; row < table.rows; row++) {
      if (isOver(this.looks)) this.takeFree(table, row);
      else {
        this.looks = 0;
        this.augment(table, row);
      }
    }
    return this;
  }

  /** Gives a row the cheapest column that nobody has. */
  private takeFree({ start, column, cost }: SparseTable, row: number): void {
    const { pairOf, rowOf } = this;
    for (let pair = start[row]; pair < start[row + 1]; pair++)
      if (rowOf[column[pair]] === NONE && (pairOf[row] === NONE || cost[pair] < cost[pairOf[row]])) pairOf[row] = pair;
    if (pairOf[row] !== NONE) rowOf[column[pairOf[row]]] = row;
  }

  private reset({ rows, columns }: SparseTable): void {
    if (this.pairOf.length < rows) this.pairOf = new Int32Array(2 * rows);
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
    this.looks += start[row + 1] - start[row];
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
