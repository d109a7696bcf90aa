/**
 * The linear program of a window as the ring has it solved: its dual, without what is known beforehand.
 *
 *   minimise sum u_ik + sum v_jk   subject to   u_ik + v_jk + f_ek - f_e(k+1) >= b_ek,   u, v >= 0,   -s_k <= f_ek <= s_k
 *
 * with truth i and track j of edge e; the rows' multipliers are the weights. Where all changes cost the same, most of it is known:
 *
 * - An edge whose ends have no other is assigned always.
 * - Over frames without a benefit a weight may as well stay at its least value among them; and over frames in which the edge is the only one of its ends
 *   with a benefit, at its greatest: neither costs a change more. Such frames are one cell: one row, their benefits added.
 * - Capacities of frames in which the same cells meet are one column; an object with one edge needs none, for its partner's says as much.
 *
 * What is left is a few rows for each encounter. It is written down anew for each solve; rows and columns find their places in the last basis by edge,
 * object and slot.
 */

import type { Basis, BasisInput, ModelData } from './highs.js';

/** The frames at hand. */
export interface Span {
  /** slot of each, oldest first */
  slots: Int32Array;
  /** by slot: cost of a change since the frame before */
  switchCost: Float64Array;
}

const BASIS_LOWER = 0;
const BASIS_BASIC = 1;
/** not in the last model */
export const BASIS_UNKNOWN = -1;

/** A truth or track. Everything is by slot. */
export interface RingObject {
  /** its pairs in the window; closed form when it has one only */
  edgeCount: number;
  /** its pairs with a benefit */
  priced: Int32Array;
  /** place of its capacity in the last basis */
  status: Int8Array;
  /** multiplier of its capacity in the last optimum */
  price: Float64Array;
  /** number among the model's objects, or -1 */
  index: number;
}

/** A pair with a benefit in the window. Everything is by slot. */
export interface RingEdge {
  truthName: number;
  trackName: number;
  truth: RingObject;
  track: RingObject;
  benefit: Float64Array;
  /** slots with a benefit */
  pricedSlots: number;
  /** places in the last basis: of its cell, and of the boundary before it */
  rowStatus: Int8Array;
  flowStatus: Int8Array;
}

/** Frames of one edge over which its weight is constant in some optimum. */
interface Cell {
  edge: RingEdge;
  /** place of the edge in the list */
  order: number;
  /** frames, 0 being the oldest */
  first: number;
  last: number;
  benefit: number;
  /** the only edge of its ends with a benefit in them */
  only: boolean;
  /** column of the boundary before it, -1 for the first of an edge */
  flow: number;
}

/** Frames of one object in which the same cells meet: one capacity. */
interface Capacity {
  object: RingObject;
  first: number;
  last: number;
}

/** What an edge is at a frame: without a benefit, the only one of its ends with one, or neither. */
const Kind = { gap: 0, only: 1, contested: 2 } as const;
type Kind = (typeof Kind)[keyof typeof Kind];

interface Layout {
  /** edge by edge, oldest first */
  cells: Cell[];
  /** [object * frameCount + frame]: 1 where a cell of the object begins */
  begins: Uint8Array;
  /** what the edges earn whose ends have no other */
  aside: number;
}

export interface RingModel extends Layout {
  data: ModelData;
  basis: BasisInput;
  /** in the order of their columns */
  capacities: Capacity[];
  /** [object * frameCount + frame]: column of its capacity there */
  columnOf: Int32Array;
}

/** Writes the model down, with the last basis as far as it is known. */
export function writeModel(span: Span, living: RingEdge[]): RingModel {
  const { slots, switchCost } = span;
  const objects = contestedObjects(living);
  const layout = layOut(span, living, objects.length);
  const { cells, begins } = layout;
  const frames = slots.length;
  const columnOf = new Int32Array(begins.length);
  const capacities: Capacity[] = [];
  const colStatus: number[] = [];
  for (let at = 0; at < begins.length; at++) {
    if (begins[at] === 1) {
      const frame = at % frames;
      capacities.push({ object: objects[(at - frame) / frames], first: frame, last: frame });
    } else capacities[capacities.length - 1].last++;
    columnOf[at] = capacities.length - 1;
  }
  for (const { object, first, last } of capacities)
    colStatus.push(statusIn(object.status, slots[first], slots[last], BASIS_LOWER));
  let columns = capacities.length;
  for (const cell of cells) {
    if (cell.first === 0) continue;
    cell.flow = columns++;
    colStatus.push(statusIn(cell.edge.flowStatus, slots[cell.first], slots[cell.first], BASIS_LOWER));
  }
  const colCost = new Float64Array(columns).fill(1, 0, capacities.length);
  const colLower = new Float64Array(columns);
  const colUpper = new Float64Array(columns).fill(Infinity);
  const rowLower = new Float64Array(cells.length);
  const rowStatus = new Int32Array(cells.length);
  const starts = new Int32Array(cells.length + 1);
  const indices: number[] = [];
  const falling: number[] = [];
  cells.forEach(({ edge, first, last, benefit, flow }, row) => {
    rowLower[row] = benefit;
    rowStatus[row] = statusIn(edge.rowStatus, slots[first], slots[last], BASIS_BASIC);
    for (const { index } of [edge.truth, edge.track]) {
      if (index < 0) continue;
      const end = columnOf[index * frames + last];
      for (let column = columnOf[index * frames + first]; column <= end; column++) indices.push(column);
    }
    if (flow >= 0) {
      colUpper[flow] = switchCost[slots[first]];
      colLower[flow] = -colUpper[flow];
      indices.push(flow);
    }
    if (last + 1 < frames) falling.push(indices.push(cells[row + 1].flow) - 1);
    starts[row + 1] = indices.length;
  });
  const values = new Float64Array(indices.length).fill(1);
  for (const at of falling) values[at] = -1;
  const size = { numRows: cells.length, numCols: columns };
  const matrix = { format: 'csr' as const, ...size, starts, indices: Int32Array.from(indices), values };
  const rowUpper = new Float64Array(cells.length).fill(Infinity);
  return {
    data: { ...size, colCost, colLower, colUpper, rowLower, rowUpper, matrix },
    basis: { colStatus: Int32Array.from(colStatus), rowStatus },
    capacities,
    columnOf,
    ...layout,
  };
}

/** Cuts the frames of each edge into cells; `begins` says in which frames those of an object begin. */
function layOut({ slots, switchCost }: Span, living: RingEdge[], objectCount: number): Layout {
  const frames = slots.length;
  const merges = slots.every((slot, frame) => frame === 0 || switchCost[slot] === switchCost[slots[1]]);
  const begins = new Uint8Array(objectCount * frames);
  const cells: Cell[] = [];
  let aside = 0;
  living.forEach((edge, order) => {
    const { truth, track, benefit } = edge;
    if (isAlone(edge)) {
      for (const slot of slots) aside += benefit[slot];
      return;
    }
    let before: Kind = Kind.contested;
    for (let frame = 0; frame < frames; frame++) {
      const slot = slots[frame];
      const earns = benefit[slot];
      const only = truth.priced[slot] === 1 && track.priced[slot] === 1;
      const kind = earns === 0 ? Kind.gap : only ? Kind.only : Kind.contested;
      if (merges && kind === before && kind !== Kind.contested) {
        const cell = cells[cells.length - 1];
        cell.last = frame;
        cell.benefit += earns;
      } else {
        cells.push({ edge, order, first: frame, last: frame, benefit: earns, only: kind === Kind.only, flow: -1 });
        if (truth.index >= 0) begins[truth.index * frames + frame] = 1;
        if (track.index >= 0) begins[track.index * frames + frame] = 1;
      }
      before = kind;
    }
  });
  return { cells, begins, aside };
}

/** Where something that covers frames, given by the slots of the first and the last, was in the last basis; new frames are the last ones. */
function statusIn(statuses: Int8Array, first: number, last: number, otherwise: number): number {
  const status = statuses[first];
  if (status !== BASIS_UNKNOWN) return status;
  const newer = statuses[last];
  return newer === BASIS_UNKNOWN ? otherwise : newer;
}

/** Keeps the basis for the next solve. */
export function keepBasis({ slots }: Span, { cells, capacities }: RingModel, basis: Basis): void {
  capacities.forEach(({ object, first, last }, column) => {
    for (let frame = first; frame <= last; frame++) object.status[slots[frame]] = basis.colStatus[column];
  });
  cells.forEach(({ edge, first, last, flow }, row) => {
    for (let frame = first; frame <= last; frame++) {
      const slot = slots[frame];
      edge.rowStatus[slot] = basis.rowStatus[row];
      edge.flowStatus[slot] = BASIS_UNKNOWN;
    }
    if (flow >= 0) edge.flowStatus[slots[first]] = basis.colStatus[flow];
  });
}

/**
 * Gives every frame its price. Frames that share a capacity share its price: each gets what its pair earns, as long as that lasts. What is over or
 * missing falls on the frame farthest from the window's end, or from its beginning, so that the prices stay good when frames enter and leave.
 */
export function keepPrices({ slots }: Span, { cells, capacities, columnOf }: RingModel, colValue: Float64Array): void {
  const newest = slots.length - 1;
  const isLast = (first: number, last: number) => last === newest && first > 0;
  capacities.forEach(({ object, first, last }, column) => {
    for (let frame = first; frame <= last; frame++) object.price[slots[frame]] = 0;
    object.price[slots[isLast(first, last) ? first : last]] = Math.max(0, colValue[column]);
  });
  const shared = ({ index }: RingObject, frame: number) =>
    index < 0 ? 0 : Math.max(0, colValue[columnOf[index * slots.length + frame]]);
  for (const { edge, first, last, only } of cells) {
    if (!only || first === last) continue;
    const truthShare = shared(edge.truth, first);
    const sum = truthShare + shared(edge.track, first);
    const backwards = isLast(first, last);
    let left = sum;
    for (let n = 0; n <= last - first; n++) {
      const slot = slots[backwards ? last - n : first + n];
      const paid = n === last - first ? left : Math.min(left, edge.benefit[slot]);
      left -= paid;
      edge.truth.price[slot] = sum > 0 ? (paid * truthShare) / sum : 0;
      edge.track.price[slot] = paid - edge.truth.price[slot];
    }
  }
}

/** Neither end has another edge. */
export function isAlone(edge: RingEdge): boolean {
  return edge.truth.edgeCount === 1 && edge.track.edgeCount === 1;
}

/** Numbers the objects that have more than one edge; the others have no price. */
function contestedObjects(living: RingEdge[]): RingObject[] {
  const objects: RingObject[] = [];
  for (const { truth, track } of living) truth.index = track.index = -1;
  for (const { truth, track } of living)
    for (const end of [truth, track]) {
      if (end.edgeCount === 1) end.price.fill(0);
      else if (end.index < 0) end.index = objects.push(end) - 1;
    }
  return objects;
}
