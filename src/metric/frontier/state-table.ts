/**
 * The states met in one knot: rows of one array, of each truth, then each track, its partner; with the value of each
 * and the way it was arrived at. One table serves one knot after the other, so that a state that cannot win costs no
 * memory of its own.
 */

import { FRESH, isWorthMore, WORTH } from './candidates.js';

/** so many states are looked through one by one */
const SCANNED_MAX = 12;
/** so many are sorted without the cost of a general sort */
const SORTED_BY_HAND_MAX = 24;

export class StateTable {
  rows = new Int16Array(256);
  /** participants of the knot: length of a row */
  size = 0;
  count = 0;
  /** row by row: see `WORTH` */
  worth = new Float64Array(16 * WORTH);
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

  private readonly higher = (a: number, b: number) => {
    const [own, other] = [this.worth[a * WORTH], this.worth[b * WORTH]];
    return own === other ? this.fresh[b] - this.fresh[a] : own > other ? -1 : 1;
  };

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

  add(state: Int16Array, worth: Float64Array, halves: number, from: Int32Array): void {
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
  set(row: number, worth: Float64Array, halves: number, from: Int32Array): void {
    const { inputCount } = this;
    for (let n = 0; n < WORTH; n++) this.worth[row * WORTH + n] = worth[n];
    this.halves[row] = halves;
    for (let input = 0; input < inputCount; input++) this.from[row * inputCount + input] = from[input];
  }

  /** Whether the state of row a is worth more than that of row b. */
  isWorthMore(a: number, b: number): boolean {
    return isWorthMore(this.worth, a, b);
  }

  /** Whether something is worth more than the state of a row. */
  isLess(row: number, worth: Float64Array): boolean {
    let n = 0;
    while (n < WORTH - 1 && worth[n] === this.worth[row * WORTH + n]) n++;
    return worth[n] > this.worth[row * WORTH + n];
  }

  private reserve(): void {
    const { count, size, inputCount } = this;
    if (count > this.halves.length) {
      this.worth = grown(this.worth, new Float64Array(2 * count * WORTH));
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
   * Rows by value, highest first, then by fresh participants: the first `count` of the list, good until it is asked
   * again.
   */
  byValue(): Int32Array {
    const { order, count } = this;
    for (let s = 0; s < count; s++) order[s] = s;
    sortFew(order, count, this.higher);
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
function compareStates(a: Int16Array, aAt: number, b: Int16Array, bAt: number, size: number): number {
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
