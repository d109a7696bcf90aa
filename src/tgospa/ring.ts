/**
 * The linear program of a sliding window, kept in one HiGHS model and solved again from its last basis.
 */

import {
  type Basis,
  type BasisInput,
  type ColumnInput,
  check,
  createModel,
  discard,
  failure,
  type Highs,
  iterationsOf,
  NO_ITERATION_LIMIT,
  type RawModelApi,
  type RowInput,
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

/** dead edges are cleared away when they are at least so many, and more than this share of the model */
const DEAD_EDGES_MIN = 8;
const DEAD_EDGES_SHARE = 0.25;
const BASIS_LOWER = 0;
const BASIS_BASIC = 1;
const DUAL_SIMPLEX = 1;

/** A pair of the ring. Without a benefit in the window it is dead. */
interface RingEdge {
  truth: number;
  track: number;
  /** by slot */
  benefit: Float64Array;
  /** slots with a benefit */
  pricedSlots: number;
  /** index among the model's edges, -1 outside the model */
  index: number;
}

/** What a ring's model holds: edges in the order of their rows, and the first column of every edge and object. */
interface RingModel {
  highs: RawModelApi;
  edges: RingEdge[];
  edgeColumn: number[];
  truthColumn: Map<number, number>;
  trackColumn: Map<number, number>;
  columnCount: number;
  /** benefits by row and switch costs by slot as the model has them */
  benefit: Float64Array;
  switchCost: Float64Array;
}

/**
 * The LP of a sliding window, kept in one HiGHS model and solved again from its last basis. The model is the LP's dual, laid out as a ring of slots:
 *
 *   minimise sum u_ik + sum v_jk   subject to   u_ik + v_jk + f_ek - f_e(k+1) >= b_ek,   u, v >= 0,   -s_k <= f_ek <= s_k
 *
 * with truth i and track j of edge e; the rows' multipliers are the weights. Sliding changes only right-hand sides and the bounds of f,
 * so the last basis stays dual feasible and dual simplex goes on from it. Boundaries next to an empty slot and between the newest and the oldest
 * frame have s = 0: they tie nothing together. Truths and tracks are named by numbers of the caller's choice.
 */
export class RingSimplex {
  readonly windowFrames: number;
  readonly #runtime: Runtime;
  readonly #edges = new Map<number, Map<number, RingEdge>>();
  readonly #switchCost: Float64Array;
  #model: RingModel | undefined;
  #newest = -1;
  #frameCount = 0;
  #fallbackCount = 0;
  /** the model's columns at its last optimum */
  #prices: Float64Array = new Float64Array(0);
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

  /** edges in the model, dead ones included */
  get modelEdgeCount(): number {
    return this.#model?.edges.length ?? 0;
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
    for (const edge of this.#all()) price(edge, slot, 0);
    const pairs = Array.from(truth, (name, pair) => this.#edge(name, track[pair]));
    pairs.forEach((edge, pair) => {
      price(edge, slot, benefit[pair]);
    });
    this.#forgetDead();
    this.#switchCost[slot] = this.#frameCount === 0 ? 0 : switchCost;
    this.#switchCost[(slot + 1) % this.windowFrames] = 0;
    this.#newest = slot;
    this.#frameCount = Math.min(this.#frameCount + 1, this.windowFrames);
  }

  /** Prices a pair at one frame of the window, 0 being the oldest. */
  setBenefit(truth: number, track: number, frame: number, benefit: number): void {
    price(this.#edge(truth, track), this.#slot(frame), benefit);
  }

  /** The price of a truth at a frame in the last optimum: the multiplier of its capacity. 0 when it is not in the model. */
  truthPrice(truth: number, frame: number): number {
    return this.#priceAt(this.#model?.truthColumn.get(truth), frame);
  }

  /** The same for a track. */
  trackPrice(track: number, frame: number): number {
    return this.#priceAt(this.#model?.trackColumn.get(track), frame);
  }

  #priceAt(column: number | undefined, frame: number): number {
    return column === undefined ? 0 : Math.max(0, this.#prices[column + this.#slot(frame)] ?? 0);
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
      this.#release();
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
    const model = this.#update(living);
    setTimeLimit(model.highs, options.timeLimitMs);
    setOptions(model.highs, { simplex_iteration_limit: options.iterationLimit ?? NO_ITERATION_LIMIT });
    check(model.highs.run(), 'HiGHS failed');
    const iterations = iterationsOf(model.highs);
    if (statusOf(model.highs) === 'time-limit') return unfinished(problem, iterations);
    const { rowDual, colValue } = solutionOf(model.highs);
    this.#prices = colValue;
    return this.#read(problem, living, rowDual, iterations, model.highs.getObjectiveValue());
  }

  /** Reads the weights off the rows and holds their value against the model's: they meet at the optimum only. */
  #read(problem: LpProblem, living: RingEdge[], rowDual: Float64Array, iterations: number, bound: number): LpSolution {
    const weights = this.#chronological(living, (edge, slot) => rowDual[edge.index * this.windowFrames + slot]);
    const solution = readSolution(problem, weights, iterations);
    if (!(Math.abs(solution.value - bound) <= 1e-9 * Math.max(1, bound)))
      throw failure(`value ${solution.value} and bound ${bound} differ`);
    return solution;
  }

  /** Brings the model up to date with the window. */
  #update(living: RingEdge[]): RingModel {
    const old = this.#model;
    const deadCount = old ? old.edges.filter((edge) => edge.pricedSlots === 0).length : 0;
    if (!old || (deadCount >= DEAD_EDGES_MIN && deadCount > DEAD_EDGES_SHARE * old.edges.length))
      return this.#rebuild(living);
    const fresh = living.filter((edge) => edge.index < 0);
    this.#append(old, fresh);
    this.#reprice(old);
    return old;
  }

  /** Makes a new model of the living edges and carries the old basis over. */
  #rebuild(living: RingEdge[]): RingModel {
    const old = this.#model;
    const basis = old?.highs.getBasis().value;
    const indices = living.map((edge) => edge.index);
    this.#release();
    const model = createRingModel(this.#runtime.highs, this.#switchCost);
    this.#model = model;
    this.#append(model, living);
    if (old && basis)
      check(model.highs.setBasis(carryBasis(basis, old, model, indices, this.windowFrames)), 'HiGHS refused the basis');
    this.#forgetDead();
    return model;
  }

  /** Adds edges, and their objects when they are new: columns nonbasic and rows basic, as HiGHS does by itself, so that the basis stays valid. */
  #append(model: RingModel, edges: RingEdge[]): void {
    if (edges.length === 0) return;
    const slots = this.windowFrames;
    check(model.highs.addCols(addRingColumns(model, edges, slots)), 'HiGHS refused columns');
    check(model.highs.addRows(ringRows(model, edges, slots)), 'HiGHS refused rows');
    const benefit = new Float64Array((model.edges.length + edges.length) * slots);
    benefit.set(model.benefit);
    for (const edge of edges) {
      edge.index = model.edges.push(edge) - 1;
      benefit.set(edge.benefit, edge.index * slots);
    }
    model.benefit = benefit;
  }

  /** Tells the model which benefits and switch costs have changed. */
  #reprice(model: RingModel): void {
    const slots = this.windowFrames;
    const indices: number[] = [];
    for (const edge of model.edges)
      for (let slot = 0, row = edge.index * slots; slot < slots; slot++, row++)
        if (model.benefit[row] !== edge.benefit[slot]) {
          model.benefit[row] = edge.benefit[slot];
          indices.push(row);
        }
    const lower = Float64Array.from(indices, (row) => model.benefit[row]);
    const upper = new Float64Array(indices.length).fill(Infinity);
    if (indices.length > 0) check(model.highs.changeRowsBounds({ kind: 'set', indices }, lower, upper), 'bad benefits');
    this.#repriceSwitches(model);
  }

  #repriceSwitches(model: RingModel): void {
    const slots = [...this.#switchCost.keys()].filter((slot) => this.#switchCost[slot] !== model.switchCost[slot]);
    model.switchCost.set(this.#switchCost);
    const indices = model.edgeColumn.flatMap((column) => slots.map((slot) => column + slot));
    if (indices.length === 0) return;
    const upper = Float64Array.from(indices, (_, index) => this.#switchCost[slots[index % slots.length]]);
    const lower = upper.map((cost) => -cost);
    check(model.highs.changeColsBounds({ kind: 'set', indices }, lower, upper), 'HiGHS refused switch costs');
  }

  #window(living: RingEdge[]): { problem: LpProblem; truthNames: number[]; trackNames: number[] } {
    const truthNames: number[] = [];
    const trackNames: number[] = [];
    const problem: LpProblem = {
      frameCount: this.#frameCount,
      edgeTruth: numbered(
        living.map((edge) => edge.truth),
        truthNames,
      ),
      edgeTrack: numbered(
        living.map((edge) => edge.track),
        trackNames,
      ),
      truthCount: truthNames.length,
      trackCount: trackNames.length,
      benefit: this.#chronological(living, (edge, slot) => edge.benefit[slot]),
      switchCost: new Float64Array(this.#frameCount),
    };
    for (let frame = 1; frame < this.#frameCount; frame++)
      problem.switchCost[frame] = this.#switchCost[this.#slot(frame)];
    return { problem, truthNames, trackNames };
  }

  #chronological(edges: RingEdge[], read: (edge: RingEdge, slot: number) => number): Float64Array {
    const values = new Float64Array(this.#frameCount * edges.length);
    let end = 0;
    for (let frame = 0; frame < this.#frameCount; frame++) {
      const slot = this.#slot(frame);
      for (const edge of edges) values[end++] = read(edge, slot);
    }
    return values;
  }

  #slot(frame: number): number {
    return (this.#newest - this.#frameCount + 1 + frame + this.windowFrames) % this.windowFrames;
  }

  *#all(): Generator<RingEdge> {
    for (const edges of this.#edges.values()) yield* edges.values();
  }

  #living(): RingEdge[] {
    return [...this.#all()].filter((edge) => edge.pricedSlots > 0);
  }

  #edge(truth: number, track: number): RingEdge {
    const known = this.#edges.get(truth)?.get(track);
    if (known) return known;
    const benefit = new Float64Array(this.windowFrames);
    const edge = { truth, track, benefit, pricedSlots: 0, index: -1 };
    if (!this.#edges.has(truth)) this.#edges.set(truth, new Map());
    this.#edges.get(truth)!.set(track, edge);
    return edge;
  }

  /** Drops the dead edges outside the model; those inside stay until it is rebuilt. */
  #forgetDead(): void {
    for (const [truth, edges] of this.#edges) {
      for (const [track, edge] of edges) if (edge.pricedSlots === 0 && edge.index < 0) edges.delete(track);
      if (edges.size === 0) this.#edges.delete(truth);
    }
  }

  #release(): void {
    if (!this.#model) return;
    discard(this.#model.highs);
    for (const edge of this.#model.edges) edge.index = -1;
    this.#model = undefined;
  }
}

function price(edge: RingEdge, slot: number, benefit: number): void {
  edge.pricedSlots += Number(benefit !== 0) - Number(edge.benefit[slot] !== 0);
  edge.benefit[slot] = benefit;
}

function clearEdge(edge: RingEdge): void {
  edge.benefit.fill(0);
  edge.pricedSlots = 0;
}

/** Replaces names by indices into `names`, which it fills. */
function numbered(values: number[], names: number[]): Int32Array {
  const indices = new Map<number, number>();
  return Int32Array.from(values, (name) => {
    if (!indices.has(name)) indices.set(name, names.push(name) - 1);
    return indices.get(name)!;
  });
}

function createRingModel(highs: Highs, switchCost: Float64Array): RingModel {
  const model = createModel(highs);
  setOptions(model, { presolve: 'off', solver: 'simplex', simplex_strategy: DUAL_SIMPLEX, simplex_scale_strategy: 0 });
  return {
    highs: model,
    edges: [],
    edgeColumn: [],
    truthColumn: new Map(),
    trackColumn: new Map(),
    columnCount: 0,
    benefit: new Float64Array(0),
    switchCost: switchCost.slice(),
  };
}

/** Reserves columns for edges and their new objects: f, free of cost within its bounds, and prices, of cost 1. */
function addRingColumns(model: RingModel, edges: RingEdge[], slots: number): ColumnInput {
  const from = model.columnCount;
  const isEdge: boolean[] = [];
  const reserve = (edge: boolean): number => {
    isEdge.push(edge);
    model.columnCount += slots;
    return model.columnCount - slots;
  };
  for (const { truth, track } of edges) {
    model.edgeColumn.push(reserve(true));
    if (!model.truthColumn.has(truth)) model.truthColumn.set(truth, reserve(false));
    if (!model.trackColumn.has(track)) model.trackColumn.set(track, reserve(false));
  }
  const count = model.columnCount - from;
  const columns = {
    cost: new Float64Array(count),
    lower: new Float64Array(count),
    upper: new Float64Array(count).fill(Infinity),
  };
  isEdge.forEach((edge, block) => {
    if (!edge) columns.cost.fill(1, block * slots, (block + 1) * slots);
    else
      for (let slot = 0; slot < slots; slot++) {
        columns.lower[block * slots + slot] = -model.switchCost[slot];
        columns.upper[block * slots + slot] = model.switchCost[slot];
      }
  });
  const starts = new Int32Array(count + 1);
  const numRows = model.edges.length * slots;
  return {
    ...columns,
    matrix: { format: 'csc', numRows, numCols: count, starts, indices: new Int32Array(0), values: new Float64Array(0) },
  };
}

/** The rows of edges whose columns are reserved; in a ring of one slot, f would cancel itself and is left out. */
function ringRows(model: RingModel, edges: RingEdge[], slots: number): RowInput {
  const width = slots > 1 ? 4 : 2;
  const numRows = edges.length * slots;
  const starts = Int32Array.from({ length: numRows + 1 }, (_, row) => row * width);
  const indices = new Int32Array(numRows * width);
  const values = new Float64Array(numRows * width).fill(1);
  const lower = new Float64Array(numRows);
  edges.forEach((edge, order) => {
    const column = model.edgeColumn[model.edges.length + order];
    lower.set(edge.benefit, order * slots);
    for (let slot = 0; slot < slots; slot++) {
      const at = (order * slots + slot) * width;
      indices[at] = model.truthColumn.get(edge.truth)! + slot;
      indices[at + 1] = model.trackColumn.get(edge.track)! + slot;
      if (slots === 1) continue;
      indices[at + 2] = column + slot;
      indices[at + 3] = column + ((slot + 1) % slots);
      values[at + 3] = -1;
    }
  });
  const upper = new Float64Array(numRows).fill(Infinity);
  return { lower, upper, matrix: { format: 'csr', numRows, numCols: model.columnCount, starts, indices, values } };
}

/** The old model's basis for what is left of it in the new one, `indices` being the old places of the new edges; HiGHS completes it with slacks. */
function carryBasis(basis: Basis, old: RingModel, model: RingModel, indices: number[], slots: number): BasisInput {
  const colStatus = new Int32Array(model.columnCount).fill(BASIS_LOWER);
  const rowStatus = new Int32Array(indices.length * slots).fill(BASIS_BASIC);
  const carry = (to: number, from: number | undefined): void => {
    if (from !== undefined) colStatus.set(basis.colStatus.subarray(from, from + slots), to);
  };
  indices.forEach((from, to) => {
    if (from < 0) return;
    carry(model.edgeColumn[to], old.edgeColumn[from]);
    rowStatus.set(basis.rowStatus.subarray(from * slots, (from + 1) * slots), to * slots);
  });
  for (const [name, column] of model.truthColumn) carry(column, old.truthColumn.get(name));
  for (const [name, column] of model.trackColumn) carry(column, old.trackColumn.get(name));
  return { colStatus, rowStatus };
}
