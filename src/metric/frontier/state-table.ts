/**
 * The states met in one knot: rows of one array, of each truth, then each track, its partner; with the value of each
 * and the way it was arrived at. One table serves one knot after the other, so that a state that cannot win costs no
 * memory of its own.
 */

import { FRESH } from './candidates.js';

/** so many states are looked through one by one */
const SCANNED_MAX = 12;
/** so many are sorted without the cost of a general sort */
const SORTED_BY_HAND_MAX = 24;

/** What one state is worth: see `Worth`. */
export interface StateWorth {
  value: number;
  late: number;
  rank: number;
  lateRank: number;
}

export class StateTable {
  rows = new Int16Array(256);
  /** members of the knot: length of a row */
  size = 0;
  count = 0;
  value = new Float64Array(16);
  /** see `Worth` */
  late = new Float64Array(16);
  rank = new Float64Array(16);
  lateRank = new Float64Array(16);
  /** half-switches of the last move */
  halves = new Int32Array(16);
  private fresh = new Int32Array(16);
  private inputCount = 0;
  /** [row * inputCount + input]: the input's state it follows from */
  private from = new Int32Array(32);
  /** by hash of a state, once there are many: the last with it, and of each the one before */
  private found: Map<number, number> | null = null;
  private sameHash = new Int32Array(16);
  private order = new Int32Array(16);
  private readonly earlier = (a: number, b: number) =>
    compareStates(this.rows, a * this.size, this.rows, b * this.size, this.size);

  begin(size: number, inputCount: number): void {
    this.size = size;
    this.inputCount = inputCount;
    this.clear();
  }

  clear(): void {
    this.count = 0;
    this.found = null;
  }

  /** Of an input the state that a row follows from. */
  origin(row: number, input: number): number {
    return this.from[row * this.inputCount + input];
  }

  /** The row of a state that was met before, or -1. */
  find(state: Int16Array): number {
    const { rows, size } = this;
    if (this.found) {
      let s = this.found.get(hash(state, 0, size)) ?? -1;
      while (s >= 0 && compareStates(rows, s * size, state, 0, size) !== 0) s = this.sameHash[s];
      return s;
    }
    for (let s = 0; s < this.count; s++) if (compareStates(rows, s * size, state, 0, size) === 0) return s;
    return -1;
  }

  add(state: Int16Array, worth: StateWorth, halves: number, from: Int32Array): void {
    const row = this.count++;
    this.reserve();
    const { size, rows } = this;
    let fresh = 0;
    for (let x = 0; x < size; x++) {
      rows[row * size + x] = state[x];
      if (state[x] === FRESH) fresh++;
    }
    this.fresh[row] = fresh;
    this.set(row, worth, halves, from);
    if (this.found) this.list(this.found, row);
    else if (this.count > SCANNED_MAX) {
      this.found = new Map();
      for (let s = 0; s < this.count; s++) this.list(this.found, s);
    }
  }

  /** Another way into a state that was met before. */
  set(row: number, worth: StateWorth, halves: number, from: Int32Array): void {
    const { inputCount } = this;
    this.value[row] = worth.value;
    this.late[row] = worth.late;
    this.rank[row] = worth.rank;
    this.lateRank[row] = worth.lateRank;
    this.halves[row] = halves;
    for (let input = 0; input < inputCount; input++) this.from[row * inputCount + input] = from[input];
  }

  /** Whether the state of row a is worth more than that of row b. */
  isWorthMore(a: number, b: number): boolean {
    const { value, late, rank, lateRank } = this;
    if (value[a] !== value[b]) return value[a] > value[b];
    if (late[a] !== late[b]) return late[a] > late[b];
    return rank[a] !== rank[b] ? rank[a] > rank[b] : lateRank[a] > lateRank[b];
  }

  /** Whether something is worth more than the state of a row. */
  isLess(row: number, { value, late, rank, lateRank }: StateWorth): boolean {
    if (value !== this.value[row]) return value > this.value[row];
    if (late !== this.late[row]) return late > this.late[row];
    return rank !== this.rank[row] ? rank > this.rank[row] : lateRank > this.lateRank[row];
  }

  private reserve(): void {
    const { count, size, inputCount } = this;
    if (count > this.value.length) {
      this.value = grown(this.value, new Float64Array(2 * count));
      this.late = grown(this.late, new Float64Array(2 * count));
      this.rank = grown(this.rank, new Float64Array(2 * count));
      this.lateRank = grown(this.lateRank, new Float64Array(2 * count));
      this.halves = grown(this.halves, new Int32Array(2 * count));
      this.fresh = grown(this.fresh, new Int32Array(2 * count));
      this.sameHash = grown(this.sameHash, new Int32Array(2 * count));
      this.order = new Int32Array(2 * count);
    }
    if (count * size > this.rows.length) this.rows = grown(this.rows, new Int16Array(2 * count * size));
    if (count * inputCount > this.from.length) this.from = grown(this.from, new Int32Array(2 * count * inputCount));
  }

  private list(found: Map<number, number>, s: number): void {
    const key = hash(this.rows, s * this.size, this.size);
    this.sameHash[s] = found.get(key) ?? -1;
    found.set(key, s);
  }

  /**
   * Rows by value, highest first, then by fresh members: the first `count` of the list, good until it is asked again.
   */
  byValue(): Int32Array {
    const { order, value, fresh, count } = this;
    for (let s = 0; s < count; s++) order[s] = s;
    if (count > SORTED_BY_HAND_MAX) {
      order.subarray(0, count).sort((a, b) => value[b] - value[a] || fresh[b] - fresh[a]);
      return order;
    }
    for (let n = 1; n < count; n++) {
      const s = order[n];
      let m = n - 1;
      for (
        ;
        m >= 0 && (value[s] > value[order[m]] || (value[s] === value[order[m]] && fresh[s] > fresh[order[m]]));
        m--
      )
        order[m + 1] = order[m];
      order[m + 1] = s;
    }
    return order;
  }

  /** Sorts the first of some rows by their states. */
  inOrder(rows: Int32Array, count: number): void {
    sortFew(rows, count, this.earlier);
  }
}

function grown<T extends Int16Array | Int32Array | Float64Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

function hash(state: Int16Array, at: number, size: number): number {
  let h = 0x811c9dc5;
  for (let x = at; x < at + size; x++) h = Math.imul(h ^ (state[x] + 2), 0x01000193);
  return h;
}

/** The order of two states, each given by its array and where it begins. */
export function compareStates(a: Int16Array, aAt: number, b: Int16Array, bAt: number, size: number): number {
  for (let x = 0; x < size; x++) if (a[aAt + x] !== b[bAt + x]) return a[aAt + x] - b[bAt + x];
  return 0;
}

/** Sorts the first `count` of a list in place, stably. */
export function sortFew<T>(list: Sortable<T>, count: number, order: (a: T, b: T) => number): void {
  if (count > SORTED_BY_HAND_MAX) {
    const sorted = Array.from({ length: count }, (_, n) => list[n]).sort(order);
    for (let n = 0; n < count; n++) list[n] = sorted[n];
    return;
  }
  for (let n = 1; n < count; n++) {
    const item = list[n];
    let m = n - 1;
    for (; m >= 0 && order(list[m], item) > 0; m--) list[m + 1] = list[m];
    list[m + 1] = item;
  }
}

interface Sortable<T> {
  [n: number]: T;
}
