/**
 * The linear program of a sliding window, solved again from its last basis.
 */

import {
  type BasisInput,
  check,
  createModel,
  discard,
  failure,
  iterationsOf,
  type ModelData,
  NO_ITERATION_LIMIT,
  type RawModelApi,
  type Runtime,
  recover,
  setOptions,
  setTimeLimit,
  solutionOf,
  statusOf,
} from './highs.js';
import { emptySolution, type LpProblem, type LpSolution, readSolution, unfinished } from './linear-program.js';
import { solveCold } from './one-shot.js';

export interface WarmOptions {
  timeLimitMs?: number;
  /** simplex iterations after which the warm solve counts as failed and a cold one takes over; default none */
  iterationLimit?: number;
}

const BASIS_LOWER = 0;
const BASIS_BASIC = 1;
/** not in the last model */
const BASIS_UNKNOWN = -1;
const DUAL_SIMPLEX = 1;

/** A truth or track. Everything is by slot. */
interface RingObject {
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
interface RingEdge {
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

interface RingModel extends Layout {
  data: ModelData;
  basis: BasisInput;
  /** in the order of their columns */
  capacities: Capacity[];
  /** [object * frameCount + frame]: column of its capacity there */
  columnOf: Int32Array;
}

/**
 * The LP of a sliding window, laid out as a ring of slots and solved again from its last basis. The model is the LP's dual:
 *
 *   minimise sum u_ik + sum v_jk   subject to   u_ik + v_jk + f_ek - f_e(k+1) >= b_ek,   u, v >= 0,   -s_k <= f_ek <= s_k
 *
 * with truth i and track j of edge e; the rows' multipliers are the weights. Most of it is known beforehand, where all changes cost the same:
 *
 * - An edge whose ends have no other is assigned always.
 * - Over frames without a benefit a weight may as well stay at its least value among them; and over frames in which the edge is the only one of its ends
 *   with a benefit, at its greatest: neither costs a change more. Such frames are one cell: one row, their benefits added.
 * - Capacities of frames in which the same cells meet are one column; an object with one edge needs none, for its partner's says as much.
 *
 * What is left is a few rows for each encounter. Each solve writes it down anew; rows and columns find their places in the last basis by edge, object and
 * slot. Truths and tracks are named by numbers of the caller's choice.
 */
export class RingSimplex {
  readonly windowFrames: number;
  readonly #runtime: Runtime;
  readonly #edges = new Map<number, Map<number, RingEdge>>();
  readonly #truths = new Map<number, RingObject>();
  readonly #tracks = new Map<number, RingObject>();
  readonly #switchCost: Float64Array;
  #highs: RawModelApi | undefined;
  #newest = -1;
  #frameCount = 0;
  #fallbackCount = 0;
  #rowCount = 0;
  #disposed = false;

  constructor(runtime: Runtime, windowFrames: number) {
    if (!Number.isInteger(windowFrames) || windowFrames < 1)
      throw new Error(`simplex: windowFrames must be a whole number of at least 1, got ${windowFrames}`);
    this.#runtime = runtime;
    this.windowFrames = windowFrames;
    this.#switchCost = new Float64Array(windowFrames);
  }

  /** frames in the window, at most `windowFrames` */
  get frameCount(): number {
    return this.#frameCount;
  }

  /** edges it holds */
  get edgeCount(): number {
    let count = 0;
    for (const edges of this.#edges.values()) count += edges.size;
    return count;
  }

  /** rows of the last model */
  get rowCount(): number {
    return this.#rowCount;
  }

  /** warm solves that failed and were repeated cold */
  get fallbackCount(): number {
    return this.#fallbackCount;
  }

  /** Takes away the pair's benefits at every frame of the window. */
  removeEdge(truth: number, track: number): void {
    const edge = this.#edges.get(truth)?.get(track);
    if (edge) clearEdge(edge);
  }

  /** Appends a frame, given by its pairs with a benefit; the oldest leaves a full window. `switchCost` is for changes since the frame before. */
  slide(truth: ArrayLike<number>, track: ArrayLike<number>, benefit: ArrayLike<number>, switchCost: number): void {
    const slot = (this.#newest + 1) % this.windowFrames;
    for (const edge of this.#all()) {
      price(edge, slot, 0);
      edge.rowStatus[slot] = edge.flowStatus[slot] = BASIS_UNKNOWN;
    }
    for (const side of [this.#truths, this.#tracks])
      for (const object of side.values()) object.status[slot] = BASIS_UNKNOWN;
    for (let pair = 0; pair < truth.length; pair++) price(this.#edge(truth[pair], track[pair]), slot, benefit[pair]);
    this.#switchCost[slot] = this.#frameCount === 0 ? 0 : switchCost;
    this.#switchCost[(slot + 1) % this.windowFrames] = 0;
    this.#newest = slot;
    this.#frameCount = Math.min(this.#frameCount + 1, this.windowFrames);
  }

  /** Prices a pair at one frame of the window, 0 being the oldest. */
  setBenefit(truth: number, track: number, frame: number, benefit: number): void {
    price(this.#edge(truth, track), this.#slot(frame), benefit);
  }

  /** The price of a truth at a frame in the last optimum: the multiplier of its capacity. 0 when it is not known. */
  truthPrice(truth: number, frame: number): number {
    return this.#truths.get(truth)?.price[this.#slot(frame)] ?? 0;
  }

  /** The same for a track. */
  trackPrice(track: number, frame: number): number {
    return this.#tracks.get(track)?.price[this.#slot(frame)] ?? 0;
  }

  /** Replaces the window by a problem of at most `windowFrames` frames, its indices being the names; known edges keep their place in the basis. */
  load(problem: LpProblem): void {
    const { frameCount } = problem;
    if (frameCount > this.windowFrames)
      throw new Error(`simplex: ${frameCount} frames do not fit a window of ${this.windowFrames}`);
    for (const edge of this.#all()) clearEdge(edge);
    const pairs = Array.from(problem.edgeTruth, (truth, index) => this.#edge(truth, problem.edgeTrack[index]));
    for (let frame = 0; frame < frameCount; frame++) {
      pairs.forEach((edge, index) => {
        price(edge, frame, problem.benefit[frame * pairs.length + index]);
      });
    }
    this.#switchCost.fill(0);
    for (let frame = 1; frame < frameCount; frame++) this.#switchCost[frame] = problem.switchCost[frame];
    this.#newest = frameCount - 1;
    this.#frameCount = frameCount;
  }

  /** Multiplies every benefit and switch cost of the window: exponential forgetting, before the next slide. */
  scale(factor: number): void {
    for (const { benefit } of this.#all()) for (let slot = 0; slot < benefit.length; slot++) benefit[slot] *= factor;
    for (let slot = 0; slot < this.windowFrames; slot++) this.#switchCost[slot] *= factor;
  }

  /** The window in chronological order: the edges with a benefit in it, and the names of its truths and tracks by index. */
  window(): { problem: LpProblem; truthNames: number[]; trackNames: number[] } {
    return this.#window(this.#living());
  }

  /**
   * Solves the window; weights are in the order of `window()`. A failed warm solve is repeated cold, and the next one starts afresh;
   * throws `simplex: ...` when that fails too.
   */
  solve(options: WarmOptions = {}): LpSolution {
    if (this.#disposed) throw new Error('simplex: this ring was disposed; create a new one');
    const living = this.#living();
    const { problem } = this.#window(living);
    if (living.length === 0) return emptySolution(problem);
    try {
      return this.#solveWarm(problem, living, options);
    } catch (error) {
      this.#fallbackCount++;
      this.#forgetBasis();
      recover(this.#runtime, error);
      return solveCold(this.#runtime, problem, { timeLimitMs: options.timeLimitMs });
    }
  }

  /** Frees the model's memory; may be called again. */
  dispose(): void {
    this.#release();
    this.#disposed = true;
  }

  #solveWarm(problem: LpProblem, living: RingEdge[], options: WarmOptions): LpSolution {
    const model = this.#write(living);
    const weights = new Float64Array(this.#frameCount * living.length);
    const { cells, aside } = model;
    this.#rowCount = cells.length;
    let bound = aside;
    let iterations = 0;
    if (cells.length > 0) {
      this.#highs ??= this.#open();
      const highs = this.#highs;
      setTimeLimit(highs, options.timeLimitMs);
      setOptions(highs, { simplex_iteration_limit: options.iterationLimit ?? NO_ITERATION_LIMIT });
      check(highs.passModel(model.data), 'HiGHS refused the model');
      check(highs.setBasis(model.basis), 'HiGHS refused the basis');
      check(highs.run(), 'HiGHS failed');
      iterations = iterationsOf(highs);
      if (statusOf(highs) === 'time-limit') return unfinished(problem, iterations);
      bound += highs.getObjectiveValue();
      const { rowDual, colValue } = solutionOf(highs);
      this.#keepBasis(model, highs);
      this.#keepPrices(model, colValue);
      cells.forEach(({ order, first, last }, row) => {
        for (let frame = first; frame <= last; frame++) weights[frame * living.length + order] = rowDual[row];
      });
    }
    living.forEach((edge, n) => {
      if (isAlone(edge)) for (let at = n; at < weights.length; at += living.length) weights[at] = 1;
    });
    const solution = readSolution(problem, weights, iterations);
    // they meet at the optimum only
    if (!(Math.abs(solution.value - bound) <= 1e-9 * Math.max(1, bound)))
      throw failure(`value ${solution.value} and bound ${bound} differ`);
    return solution;
  }

  #open(): RawModelApi {
    const highs = createModel(this.#runtime.highs);
    setOptions(highs, {
      presolve: 'off',
      solver: 'simplex',
      simplex_strategy: DUAL_SIMPLEX,
      simplex_scale_strategy: 0,
    });
    return highs;
  }

  /** Writes the model down, with the last basis as far as it is known. */
  #write(living: RingEdge[]): RingModel {
    const objects = contestedObjects(living);
    const layout = this.#layOut(living, objects.length);
    const { cells, begins } = layout;
    const frames = this.#frameCount;
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
      colStatus.push(this.#status(object.status, first, last, BASIS_LOWER));
    let columns = capacities.length;
    for (const cell of cells) {
      if (cell.first === 0) continue;
      cell.flow = columns++;
      colStatus.push(this.#status(cell.edge.flowStatus, cell.first, cell.first, BASIS_LOWER));
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
      rowStatus[row] = this.#status(edge.rowStatus, first, last, BASIS_BASIC);
      for (const { index } of [edge.truth, edge.track]) {
        if (index < 0) continue;
        const end = columnOf[index * frames + last];
        for (let column = columnOf[index * frames + first]; column <= end; column++) indices.push(column);
      }
      if (flow >= 0) {
        colUpper[flow] = this.#switchCost[this.#slot(first)];
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
  #layOut(living: RingEdge[], objectCount: number): Layout {
    const frames = this.#frameCount;
    const merges = this.#changesCostTheSame();
    const slots = Int32Array.from({ length: frames }, (_, frame) => this.#slot(frame));
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

  #changesCostTheSame(): boolean {
    const cost = this.#switchCost[this.#newest];
    for (let frame = 1; frame < this.#frameCount; frame++)
      if (this.#switchCost[this.#slot(frame)] !== cost) return false;
    return true;
  }

  /** Where something that covers frames was in the last basis; new frames are the last ones. */
  #status(statuses: Int8Array, first: number, last: number, otherwise: number): number {
    const status = statuses[this.#slot(first)];
    if (status !== BASIS_UNKNOWN) return status;
    const newer = statuses[this.#slot(last)];
    return newer === BASIS_UNKNOWN ? otherwise : newer;
  }

  /** Keeps the basis for the next solve. */
  #keepBasis({ cells, capacities }: RingModel, highs: RawModelApi): void {
    const basis = highs.getBasis().value;
    if (!basis) throw failure('HiGHS returned no basis');
    capacities.forEach(({ object, first, last }, column) => {
      for (let frame = first; frame <= last; frame++) object.status[this.#slot(frame)] = basis.colStatus[column];
    });
    cells.forEach(({ edge, first, last, flow }, row) => {
      for (let frame = first; frame <= last; frame++) {
        const slot = this.#slot(frame);
        edge.rowStatus[slot] = basis.rowStatus[row];
        edge.flowStatus[slot] = BASIS_UNKNOWN;
      }
      if (flow >= 0) edge.flowStatus[this.#slot(first)] = basis.colStatus[flow];
    });
  }

  /**
   * Gives every frame its price. Frames that share a capacity share its price: each gets what its pair earns, as long as that lasts. What is over or
   * missing falls on the frame farthest from the window's end, or from its beginning, so that the prices stay good when frames enter and leave.
   */
  #keepPrices({ cells, capacities, columnOf }: RingModel, colValue: Float64Array): void {
    const newest = this.#frameCount - 1;
    const isLast = (first: number, last: number) => last === newest && first > 0;
    capacities.forEach(({ object, first, last }, column) => {
      for (let frame = first; frame <= last; frame++) object.price[this.#slot(frame)] = 0;
      object.price[this.#slot(isLast(first, last) ? first : last)] = Math.max(0, colValue[column]);
    });
    const shared = ({ index }: RingObject, frame: number) =>
      index < 0 ? 0 : Math.max(0, colValue[columnOf[index * this.#frameCount + frame]]);
    for (const { edge, first, last, only } of cells) {
      if (!only || first === last) continue;
      const truthShare = shared(edge.truth, first);
      const sum = truthShare + shared(edge.track, first);
      const backwards = isLast(first, last);
      let left = sum;
      for (let n = 0; n <= last - first; n++) {
        const slot = this.#slot(backwards ? last - n : first + n);
        const paid = n === last - first ? left : Math.min(left, edge.benefit[slot]);
        left -= paid;
        edge.truth.price[slot] = sum > 0 ? (paid * truthShare) / sum : 0;
        edge.track.price[slot] = paid - edge.truth.price[slot];
      }
    }
  }

  #window(living: RingEdge[]): { problem: LpProblem; truthNames: number[]; trackNames: number[] } {
    const truthNames: number[] = [];
    const trackNames: number[] = [];
    const frames = this.#frameCount;
    const problem: LpProblem = {
      frameCount: frames,
      edgeTruth: numbered(
        living.map((edge) => edge.truthName),
        truthNames,
      ),
      edgeTrack: numbered(
        living.map((edge) => edge.trackName),
        trackNames,
      ),
      truthCount: truthNames.length,
      trackCount: trackNames.length,
      benefit: new Float64Array(frames * living.length),
      switchCost: new Float64Array(frames),
    };
    let end = 0;
    for (let frame = 0; frame < frames; frame++) {
      const slot = this.#slot(frame);
      if (frame > 0) problem.switchCost[frame] = this.#switchCost[slot];
      for (const edge of living) problem.benefit[end++] = edge.benefit[slot];
    }
    return { problem, truthNames, trackNames };
  }

  #slot(frame: number): number {
    return (this.#newest - this.#frameCount + 1 + frame + this.windowFrames) % this.windowFrames;
  }

  *#all(): Generator<RingEdge> {
    for (const edges of this.#edges.values()) yield* edges.values();
  }

  /** The edges with a benefit; the others, and objects that have no more, are forgotten. */
  #living(): RingEdge[] {
    const living: RingEdge[] = [];
    for (const [truth, edges] of this.#edges) {
      for (const [track, edge] of edges) {
        if (edge.pricedSlots > 0) living.push(edge);
        else edges.delete(track);
      }
      if (edges.size === 0) this.#edges.delete(truth);
    }
    for (const side of [this.#truths, this.#tracks])
      for (const [name, object] of side) if (object.edgeCount === 0) side.delete(name);
    return living;
  }

  #edge(truthName: number, trackName: number): RingEdge {
    let edges = this.#edges.get(truthName);
    if (!edges) {
      edges = new Map();
      this.#edges.set(truthName, edges);
    }
    let edge = edges.get(trackName);
    if (!edge) {
      const slots = this.windowFrames;
      edge = {
        truthName,
        trackName,
        truth: this.#object(this.#truths, truthName),
        track: this.#object(this.#tracks, trackName),
        benefit: new Float64Array(slots),
        pricedSlots: 0,
        rowStatus: new Int8Array(slots).fill(BASIS_UNKNOWN),
        flowStatus: new Int8Array(slots).fill(BASIS_UNKNOWN),
      };
      edges.set(trackName, edge);
    }
    return edge;
  }

  #object(side: Map<number, RingObject>, name: number): RingObject {
    let object = side.get(name);
    if (!object) {
      const slots = this.windowFrames;
      object = {
        edgeCount: 0,
        priced: new Int32Array(slots),
        status: new Int8Array(slots).fill(BASIS_UNKNOWN),
        price: new Float64Array(slots),
        index: -1,
      };
      side.set(name, object);
    }
    return object;
  }

  #forgetBasis(): void {
    this.#release();
    for (const edge of this.#all()) {
      edge.rowStatus.fill(BASIS_UNKNOWN);
      edge.flowStatus.fill(BASIS_UNKNOWN);
    }
    for (const side of [this.#truths, this.#tracks])
      for (const object of side.values()) object.status.fill(BASIS_UNKNOWN);
  }

  #release(): void {
    if (this.#highs) discard(this.#highs);
    this.#highs = undefined;
  }
}

/** Solves one program from nothing. Where changes cost differently hardly anything is known beforehand, and HiGHS's presolve does better. */
export function solveReduced(runtime: Runtime, problem: LpProblem, options: WarmOptions = {}): LpSolution {
  const { frameCount, switchCost } = problem;
  const costs = switchCost.subarray(1, frameCount);
  if (frameCount === 0 || costs.some((cost) => cost !== costs[0]))
    return solveCold(runtime, problem, { timeLimitMs: options.timeLimitMs });
  const ring = new RingSimplex(runtime, frameCount);
  try {
    ring.load(problem);
    const solution = ring.solve(options);
    return { ...solution, weights: inOrderOf(problem, ring, solution.weights) };
  } finally {
    ring.dispose();
  }
}

/** A ring's weights in the order of the problem that it was loaded with; it leaves out edges without a benefit. */
function inOrderOf(problem: LpProblem, ring: RingSimplex, weights: Float64Array): Float64Array {
  const { problem: window, truthNames, trackNames } = ring.window();
  const { frameCount, trackCount, edgeTruth, edgeTrack } = problem;
  const places = new Map<number, number>();
  edgeTruth.forEach((truth, edge) => {
    places.set(truth * trackCount + edgeTrack[edge], edge);
  });
  const ordered = new Float64Array(frameCount * edgeTruth.length);
  const count = window.edgeTruth.length;
  window.edgeTruth.forEach((truth, edge) => {
    const place = places.get(truthNames[truth] * trackCount + trackNames[window.edgeTrack[edge]])!;
    for (let frame = 0; frame < frameCount; frame++)
      ordered[frame * edgeTruth.length + place] = weights[frame * count + edge];
  });
  return ordered;
}

function price(edge: RingEdge, slot: number, benefit: number): void {
  const change = Number(benefit !== 0) - Number(edge.benefit[slot] !== 0);
  edge.benefit[slot] = benefit;
  if (change === 0) return;
  const before = edge.pricedSlots;
  edge.pricedSlots += change;
  const living = Number(edge.pricedSlots > 0) - Number(before > 0);
  for (const end of [edge.truth, edge.track]) {
    end.priced[slot] += change;
    end.edgeCount += living;
  }
}

function clearEdge(edge: RingEdge): void {
  for (let slot = 0; slot < edge.benefit.length; slot++) price(edge, slot, 0);
}

/** Neither end has another edge. */
function isAlone(edge: RingEdge): boolean {
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

/** Replaces names by indices into `names`, which it fills. */
function numbered(values: number[], names: number[]): Int32Array {
  const indices = new Map<number, number>();
  return Int32Array.from(values, (name) => {
    if (!indices.has(name)) indices.set(name, names.push(name) - 1);
    return indices.get(name)!;
  });
}
