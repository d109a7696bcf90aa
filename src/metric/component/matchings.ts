/**
 * Exact dynamic programming over all matchings of a small component (DESIGN 3.4).
 *
 *   B_l(s) = b_l(s) + max over t of [ B_{l+1}(t) - h * |s Δ t| ]        s, t matchings; l a layer
 *
 * The maximum over t is a pass that removes edges and a pass that adds them. Values are whole numbers of quanta, so every
 * comparison is exact. Each row is stored minus its maximum; when a new frame arrives the rows are recomputed from the
 * end until one comes out as it was: all rows before it stand. The assignment is read forward, staying as long as
 * staying is optimal, so a switch falls as late as possible.
 */

import type { LayerStack, Matrix } from './layers.js';

/** All matchings of a bipartite graph, small ones first. Depends on the graph's shape only and is shared. */
export interface MatchingTable {
  readonly stateCount: number;
  readonly truthCount: number;
  /** [state * truthCount + truth]: the truth's edge, or -1 */
  readonly edgeOf: Int16Array;
  /** links between matchings that differ by one edge, ordered by size */
  readonly larger: Int32Array;
  readonly smaller: Int32Array;
  /** a matching is its parent plus one edge */
  readonly parent: Int32Array;
  readonly parentEdge: Int16Array;
}

const TABLES_KEPT_MAX = 512;
const tables = new Map<string, MatchingTable | null>();

/** The table of a graph, or null when it has more than `stateMax` matchings. */
export function matchingTable(
  edgeTruth: Int32Array,
  edgeTrack: Int32Array,
  truthCount: number,
  stateMax: number,
): MatchingTable | null {
  let key = `${stateMax}:`;
  for (let e = 0; e < edgeTruth.length; e++) key += `${edgeTruth[e]}-${edgeTrack[e]},`;
  let table = tables.get(key);
  if (table === undefined) {
    table = buildTable(edgeTruth, edgeTrack, truthCount, stateMax);
    if (tables.size >= TABLES_KEPT_MAX) tables.delete(tables.keys().next().value!);
    tables.set(key, table);
  }
  return table;
}

function buildTable(
  edgeTruth: Int32Array,
  edgeTrack: Int32Array,
  truthCount: number,
  stateMax: number,
): MatchingTable | null {
  const states = enumerate(edgeTruth, edgeTrack, truthCount, stateMax);
  if (states === null) return null;
  const size = (s: number[]) => s.reduce((n, e) => n + (e >= 0 ? 1 : 0), 0);
  states.sort((a, b) => size(a) - size(b));
  const index = new Map<string, number>(states.map((s, n) => [s.join(), n]));
  const edgeOf = new Int16Array(states.length * truthCount);
  const parent = new Int32Array(states.length);
  const parentEdge = new Int16Array(states.length);
  const larger: number[] = [];
  const smaller: number[] = [];
  states.forEach((state, n) => {
    edgeOf.set(state, n * truthCount);
    for (let i = 0; i < truthCount; i++) {
      if (state[i] < 0) continue;
      const without = index.get(state.with(i, -1).join())!;
      larger.push(n);
      smaller.push(without);
      parent[n] = without;
      parentEdge[n] = state[i];
    }
  });
  return {
    stateCount: states.length,
    truthCount,
    edgeOf,
    larger: Int32Array.from(larger),
    smaller: Int32Array.from(smaller),
    parent,
    parentEdge,
  };
}

function enumerate(
  edgeTruth: Int32Array,
  edgeTrack: Int32Array,
  truthCount: number,
  stateMax: number,
): number[][] | null {
  let states: number[][] = [new Array(truthCount).fill(-1)];
  for (let i = 0; i < truthCount; i++) {
    const extended: number[][] = [];
    for (const state of states) {
      extended.push(state);
      for (let e = 0; e < edgeTruth.length; e++) {
        if (edgeTruth[e] !== i || state.some((other) => other >= 0 && edgeTrack[other] === edgeTrack[e])) continue;
        extended.push(state.with(i, e));
      }
      if (extended.length > stateMax) return null;
    }
    states = extended;
  }
  return states;
}

const scratch = { closed: new Float64Array(0), earned: new Float64Array(0) };

/** Optimal matchings of a component's layers, kept up to date as layers come and go. */
export class MatchingProgram {
  private readonly value: Matrix<Float64Array>;
  private readonly stays: Matrix<Uint8Array>;

  constructor(
    private readonly table: MatchingTable,
    private readonly stack: LayerStack,
  ) {
    this.value = stack.matrix(Float64Array, table.stateCount);
    this.stays = stack.matrix(Uint8Array, table.stateCount);
  }

  /**
   * Solves for all live layers and writes each truth's edge (or -1) to `partner`. `benefit` has one row per layer of the
   * stack, `changeCost[row]` is the price of one edge changed on the way into that row. The last `newCount` layers are new
   * since the solve before; pass the stack's size when everything is.
   */
  solve(benefit: Matrix<Float64Array>, changeCost: Float64Array, newCount: number, partner: Matrix<Int32Array>): void {
    const { stack, table } = this;
    if (scratch.closed.length < table.stateCount) {
      scratch.closed = new Float64Array(table.stateCount * 2);
      scratch.earned = new Float64Array(table.stateCount * 2);
    }
    const end = stack.head + stack.size;
    const known = end - newCount;
    for (let row = end - 1; row >= stack.head; row--) {
      this.close(row, row + 1 < end, changeCost);
      if (!this.earn(row, benefit, row < known)) break;
    }
    this.trace(changeCost, partner);
  }

  /** closed(s) = best value of the rows after `row` when leaving it in s. */
  private close(row: number, hasNext: boolean, changeCost: Float64Array): void {
    const { stateCount, larger, smaller } = this.table;
    const { closed } = scratch;
    const stays = this.stays.values;
    const here = row * stateCount;
    if (!hasNext) {
      closed.fill(0, 0, stateCount);
      stays.fill(1, here, here + stateCount);
      return;
    }
    const value = this.value.values;
    const next = here + stateCount;
    const h = changeCost[row + 1];
    for (let s = 0; s < stateCount; s++) closed[s] = value[next + s];
    for (let n = larger.length - 1; n >= 0; n--) {
      const v = closed[larger[n]] - h;
      if (v > closed[smaller[n]]) closed[smaller[n]] = v;
    }
    for (let n = 0; n < larger.length; n++) {
      const v = closed[smaller[n]] - h;
      if (v > closed[larger[n]]) closed[larger[n]] = v;
    }
    for (let s = 0; s < stateCount; s++) stays[here + s] = closed[s] === value[next + s] ? 1 : 0;
  }

  /** Adds the row's benefits and stores the row; false when it came out as it was. */
  private earn(row: number, benefit: Matrix<Float64Array>, wasKnown: boolean): boolean {
    const { stateCount, parent, parentEdge } = this.table;
    const { closed, earned } = scratch;
    const from = row * benefit.width;
    let best = closed[0];
    earned[0] = 0;
    for (let s = 1; s < stateCount; s++) {
      earned[s] = earned[parent[s]] + benefit.values[from + parentEdge[s]];
      closed[s] += earned[s];
      if (closed[s] > best) best = closed[s];
    }
    const value = this.value.values;
    const here = row * stateCount;
    let changed = !wasKnown;
    for (let s = 0; s < stateCount; s++) {
      const v = closed[s] - best;
      if (v !== value[here + s]) {
        value[here + s] = v;
        changed = true;
      }
    }
    return changed;
  }

  private trace(changeCost: Float64Array, partner: Matrix<Int32Array>): void {
    const { stack, table } = this;
    const { stateCount, truthCount, edgeOf } = table;
    const value = this.value.values;
    let state = 0;
    for (let s = 1, first = stack.head * stateCount; s < stateCount; s++)
      if (value[first + s] > value[first + state]) state = s;
    for (let row = stack.head; row < stack.head + stack.size; row++) {
      if (row > stack.head && this.stays.values[(row - 1) * stateCount + state] === 0)
        state = this.leave(state, row, changeCost[row]);
      for (let i = 0; i < truthCount; i++) partner.values[row * truthCount + i] = edgeOf[state * truthCount + i];
    }
  }

  /** The best matching to move to when staying is not optimal; among equals the fewest changes. */
  private leave(state: number, row: number, h: number): number {
    const { stateCount } = this.table;
    const value = this.value.values;
    let best = -1;
    let bestValue = Number.NEGATIVE_INFINITY;
    let bestChanges = 0;
    for (let t = 0; t < stateCount; t++) {
      const changes = this.changes(state, t);
      const v = value[row * stateCount + t] - h * changes;
      if (v > bestValue || (v === bestValue && changes < bestChanges)) {
        best = t;
        bestValue = v;
        bestChanges = changes;
      }
    }
    return best;
  }

  private changes(s: number, t: number): number {
    const { truthCount, edgeOf } = this.table;
    let count = 0;
    for (let i = 0; i < truthCount; i++) {
      const a = edgeOf[s * truthCount + i];
      const b = edgeOf[t * truthCount + i];
      if (a !== b) count += (a >= 0 ? 1 : 0) + (b >= 0 ? 1 : 0);
    }
    return count;
  }
}
