/**
 * The linear program of a window as HiGHS gets it: its dual, without what is known beforehand.
 *
 *   minimise    sum u_ik + sum v_jk
 *   subject to  u_ik + v_jk + f_ek - f_e(k+1) >= b_ek,   u, v >= 0,   -s_k <= f_ek <= s_k
 *
 * with truth i and track j of edge e; the rows' multipliers are the weights. Most of them are known:
 *
 * - Frames at which an edge is worth more than anything that its ends could have instead are found by
 *   `known-weights.ts`. Such a weight w leaves the boundaries next to it: there the flow costs what w turns it into,
 *   -w where the open frames end and w where they begin.
 *
 * And where all changes cost the same:
 *
 * - Over frames without a benefit a weight may as well stay at its least value among them: that costs no change more.
 *   Such frames are one cell: one row. Next to a weight of 0 they have that weight.
 *
 * Capacities of frames in which the same cells meet are one column; where an object has one cell only its partner's
 * capacity says as much.
 *
 * What is left is a few rows for each encounter that could go either way. It is written down anew for each solve; rows
 * and columns find their places in the last basis by edge, object and frame.
 */

import type { Basis, BasisInput, ModelData } from './highs.js';
import { type KnownWeights, OPEN } from './known-weights.js';

const BASIS_LOWER = 0;
const BASIS_BASIC = 1;
/** not in the last model */
export const BASIS_UNKNOWN = -1;

/** Where rows and columns stood in the basis of the last solve, to begin the next with; each may be unknown. */
export interface LastBasis {
  /** [frame * edges + edge]: of an edge's cell, and of the boundary before it */
  readonly cell: Int8Array;
  readonly flow: Int8Array;
  /** [frame * objects + object]: of an object's capacity, truths first */
  readonly capacity: Int8Array;
}

/** What is to be solved; `known` has the problem's edges and, truths first, its objects. */
export interface Program {
  readonly basis: LastBasis;
  readonly known: KnownWeights;
}

/** Open frames of one edge over which its weight is constant in some optimum. */
interface Cell {
  edge: number;
  /** frames, 0 being the oldest */
  first: number;
  last: number;
  benefit: number;
  /** columns of the boundaries before and after it, -1 at the window's ends */
  before: number;
  after: number;
}

/** Frames of one object in which the same cells meet: one capacity. */
interface Capacity {
  object: number;
  first: number;
  last: number;
}

/** A boundary of an edge, named by the frame after it. */
interface Flow {
  edge: number;
  frame: number;
}

export interface ReducedModel {
  data: ModelData;
  basis: BasisInput;
  /** in the order of their rows: edge by edge, oldest first */
  cells: Cell[];
  /** in the order of their columns */
  capacities: Capacity[];
  /** in the order of their columns, which follow those of the capacities */
  flows: Flow[];
}

/** What the known weights earn. */
export function knownValue({ known }: Program): number {
  const { edgeCount, frameCount, weight, benefit, cost } = known;
  let value = 0;
  for (let edge = 0; edge < edgeCount; edge++) {
    const row = edge * frameCount;
    for (let k = 0; k < frameCount; k++) {
      if (weight[row + k] === 1) value += benefit[row + k];
      // a 0 next to a 1
      if (k > 0 && weight[row + k] + weight[row + k - 1] === 1) value -= cost[k];
    }
  }
  return value;
}

/** Cuts the open frames of each edge into cells. */
export function openCells({ known }: Program): Cell[] {
  const { edgeCount, frameCount, benefit, weight, cost } = known;
  const cells: Cell[] = [];
  const merges = cost.subarray(1, frameCount).every((s) => s === cost[1]);
  for (let edge = 0; edge < edgeCount; edge++) {
    const row = edge * frameCount;
    if (merges) closeGaps(known, edge);
    let inGap = false;
    for (let k = 0; k < frameCount; k++) {
      const isOpen = weight[row + k] === OPEN;
      const isGap = isOpen && benefit[row + k] === 0;
      if (merges && inGap && isGap) cells[cells.length - 1].last = k;
      else if (isOpen) cells.push({ edge, first: k, last: k, benefit: benefit[row + k], before: -1, after: -1 });
      inGap = isGap;
    }
  }
  return cells;
}

/** Takes open frames without a benefit for 0 where they are next to a weight of 0. */
function closeGaps({ frameCount, benefit, weight }: KnownWeights, edge: number): void {
  const row = edge * frameCount;
  const close = (at: number, next: number) => {
    if (weight[at] === OPEN && benefit[at] === 0 && weight[next] === 0) weight[at] = 0;
  };
  for (let at = row + 1; at < row + frameCount; at++) close(at, at - 1);
  for (let at = row + frameCount - 2; at >= row; at--) close(at, at + 1);
}

/** Writes the model down, with the last basis as far as it is known. */
export function writeModel(program: Program, cells: Cell[]): ReducedModel {
  const { basis, known } = program;
  const { frameCount, edgeCount: E, objectCount: X, truth, track, weight, cost } = known;
  const { capacities, columnOf } = layCapacities(program, cells);
  const flows: Flow[] = [];
  const flowCost: number[] = [];
  const addFlow = (edge: number, frame: number, price: number): number => {
    flowCost.push(price);
    return capacities.length + flows.push({ edge, frame }) - 1;
  };
  cells.forEach((cell, row) => {
    const { edge, first, last } = cell;
    const at = edge * frameCount;
    if (first > 0) {
      const neighbour = weight[at + first - 1];
      cell.before = neighbour === OPEN ? cells[row - 1].after : addFlow(edge, first, neighbour);
    }
    if (last + 1 < frameCount) {
      const neighbour = weight[at + last + 1];
      cell.after = addFlow(edge, last + 1, neighbour === 1 ? -1 : 0);
    }
  });
  const columns = capacities.length + flows.length;
  const colCost = new Float64Array(columns).fill(1, 0, capacities.length);
  const colLower = new Float64Array(columns);
  const colUpper = new Float64Array(columns).fill(Infinity);
  const colStatus = new Int32Array(columns);
  capacities.forEach(({ object, first, last }, column) => {
    colStatus[column] = statusIn(basis.capacity, first * X + object, last * X + object, BASIS_LOWER);
  });
  flows.forEach(({ edge, frame }, n) => {
    const column = capacities.length + n;
    colCost[column] = flowCost[n];
    colUpper[column] = cost[frame];
    colLower[column] = -cost[frame];
    colStatus[column] = statusIn(basis.flow, frame * E + edge, frame * E + edge, BASIS_LOWER);
  });
  const rowLower = new Float64Array(cells.length);
  const rowStatus = new Int32Array(cells.length);
  const starts = new Int32Array(cells.length + 1);
  const indices: number[] = [];
  const values: number[] = [];
  cells.forEach(({ edge, first, last, benefit, before, after }, row) => {
    rowLower[row] = benefit;
    rowStatus[row] = statusIn(basis.cell, first * E + edge, last * E + edge, BASIS_BASIC);
    for (const object of [truth[edge], track[edge]]) {
      let previous = -1;
      for (let at = object * frameCount + first; at <= object * frameCount + last; at++) {
        const column = columnOf[at];
        if (column === previous) continue;
        previous = column;
        if (column < 0) continue;
        indices.push(column);
        values.push(1);
      }
    }
    if (before >= 0) {
      indices.push(before);
      values.push(1);
    }
    if (after >= 0) {
      indices.push(after);
      values.push(-1);
    }
    starts[row + 1] = indices.length;
  });
  const size = { numRows: cells.length, numCols: columns };
  const entries = { indices: Int32Array.from(indices), values: Float64Array.from(values) };
  const matrix = { format: 'csr' as const, ...size, starts, ...entries };
  const rowUpper = new Float64Array(cells.length).fill(Infinity);
  return {
    data: { ...size, colCost, colLower, colUpper, rowLower, rowUpper, matrix },
    basis: { colStatus, rowStatus },
    cells,
    capacities,
    flows,
  };
}

/**
 * Finds the capacities that the cells share. A truth has one where two cells meet; a track too, and where its only cell
 * is also its truth's.
 */
function layCapacities({ known }: Program, cells: Cell[]): { capacities: Capacity[]; columnOf: Int32Array } {
  const { frameCount, objectCount, truth, track } = known;
  const cellCount = new Int32Array(objectCount * frameCount);
  const begins = new Uint8Array(objectCount * frameCount + 1);
  for (const { edge, first, last } of cells)
    for (const object of [truth[edge], track[edge]]) {
      const row = object * frameCount;
      begins[row + first] = 1;
      begins[row + last + 1] = 1;
      for (let k = first; k <= last; k++) cellCount[row + k]++;
    }
  const needed = new Uint8Array(cellCount.length);
  for (const { edge, first, last } of cells) {
    const truthRow = truth[edge] * frameCount;
    const trackRow = track[edge] * frameCount;
    for (let k = first; k <= last; k++) {
      if (cellCount[truthRow + k] > 1) needed[truthRow + k] = 1;
      if (cellCount[trackRow + k] > 1 || cellCount[truthRow + k] === 1) needed[trackRow + k] = 1;
    }
  }
  const columnOf = new Int32Array(cellCount.length).fill(-1);
  const capacities: Capacity[] = [];
  for (let at = 0; at < columnOf.length; at++) {
    if (needed[at] === 0) continue;
    const frame = at % frameCount;
    if (frame > 0 && begins[at] === 0 && columnOf[at - 1] >= 0) capacities[capacities.length - 1].last = frame;
    else capacities.push({ object: (at - frame) / frameCount, first: frame, last: frame });
    columnOf[at] = capacities.length - 1;
  }
  return { capacities, columnOf };
}

/** Where something that covers frames, from a place to another, was in the last basis; new frames are the last ones. */
function statusIn(statuses: Int8Array, first: number, last: number, otherwise: number): number {
  const status = statuses[first];
  if (status !== BASIS_UNKNOWN) return status;
  const newer = statuses[last];
  return newer === BASIS_UNKNOWN ? otherwise : newer;
}

/** Keeps the basis for the next solve. */
export function keepBasis({ known, basis }: Program, model: ReducedModel, { colStatus, rowStatus }: Basis): void {
  const { edgeCount: E, objectCount: X } = known;
  const { cells, capacities, flows } = model;
  capacities.forEach(({ object, first, last }, column) => {
    for (let k = first; k <= last; k++) basis.capacity[k * X + object] = colStatus[column];
  });
  cells.forEach(({ edge, first, last }, row) => {
    for (let k = first; k <= last; k++) {
      basis.cell[k * E + edge] = rowStatus[row];
      basis.flow[k * E + edge] = BASIS_UNKNOWN;
    }
  });
  flows.forEach(({ edge, frame }, n) => {
    basis.flow[frame * E + edge] = colStatus[capacities.length + n];
  });
}

/** Gives the objects their prices; frames that share a capacity have one at the last of them. */
export function keepPrices({ known }: Program, { capacities }: ReducedModel, colValue: Float64Array): void {
  capacities.forEach(({ object, last }, column) => {
    known.price[object * known.frameCount + last] = Math.max(0, colValue[column]);
  });
}
