/**
 * The linear program of the metric, solved by HiGHS (WebAssembly). Only this file knows `highs`; the rest of the kernel runs without it.
 *
 *   maximise  sum b_ek W_ek - sum s_k |W_ek - W_e(k-1)|    subject to  sum over the edges of an object <= 1 at each frame,  W >= 0
 *
 * b benefit, s switchCost, W weights; e edge, k frame. A rise P_ek >= W_ek - W_e(k-1), P >= 0 turns the switch cost of a boundary into
 * s (2 P_ek - W_ek + W_e(k-1)): one column and one row for each edge and boundary, and the fall is the row's slack.
 * Invariant: every value handed out is recomputed from the weights handed out with it; an unfinished solve has the value NaN.
 */

import type { Basis, BasisInput, Highs, ModelData, RawModelApi, SparseMatrix } from 'highs';

/** One component over one window. Benefits and switch costs are in units of cutoff^exponent: HiGHS's tolerances are absolute. */
export interface LpProblem {
  frameCount: number;
  truthCount: number;
  trackCount: number;
  /** truth and track of each edge, 0-based; a pair appears at most once */
  edgeTruth: Int32Array;
  edgeTrack: Int32Array;
  /** [frame * edgeCount + edge], >= 0 */
  benefit: Float64Array;
  /** [frame]: cost of one edge's change by 1 at the boundary before the frame, >= 0; index 0 is unused */
  switchCost: Float64Array;
}

export interface LpSolution {
  /** the LP's optimum; NaN unless `status` is 'optimal' */
  value: number;
  /** [frame * edgeCount + edge]; zeros unless `status` is 'optimal' */
  weights: Float64Array;
  /** true: every weight is 0 or 1, so the value is the exact metric's too */
  integral: boolean;
  iterations: number;
  status: 'optimal' | 'time-limit';
}

export interface IntegralSolution {
  /** exact value of `weights`, recomputed; with 'optimal' the maximum over all assignments */
  value: number;
  /** an assignment, 0 or 1, [frame * edgeCount + edge] */
  weights: Float64Array;
  /** no assignment has a greater value; Infinity when the time was up before a bound was known */
  bound: number;
  status: 'optimal' | 'time-limit';
}

export interface ColdOptions {
  /** default true */
  presolve?: boolean;
  timeLimitMs?: number;
}

export interface IntegralOptions {
  timeLimitMs?: number;
  /** a feasible assignment to begin with, shaped as `weights` */
  start?: Float64Array;
}

export interface WarmOptions {
  timeLimitMs?: number;
  /** simplex iterations after which the warm solve counts as failed and a cold one takes over; default none */
  iterationLimit?: number;
}

/** The solvers, bound to one loaded HiGHS. */
export interface Simplex {
  /** Solves the LP from nothing; throws `simplex: ...` when HiGHS finds no optimum. */
  solveCold(problem: LpProblem, options?: ColdOptions): LpSolution;
  /** Finds the best assignment by branch and bound. */
  solveIntegral(problem: LpProblem, options?: IntegralOptions): IntegralSolution;
  /** Makes a warm-started sliding window; the caller owns it and disposes it. */
  createRing(windowFrames: number): RingSimplex;
  /** capacity of the WebAssembly heap in bytes; it never shrinks */
  readonly memoryBytes: number;
}

const TOLERANCE = 1e-10;
/** weights closer to 0 or 1 than this are meant to be 0 or 1 */
const ROUNDING = 1e-7;
/** dead edges are cleared away when they are more than the living and more than this */
const DEAD_EDGES_MIN = 8;
/** HiGHS accepts only finite numbers from JavaScript */
const NO_TIME_LIMIT_MS = 1e12;
const NO_ITERATION_LIMIT = 2 ** 31 - 1;
const MODEL_STATUS_OPTIMAL = 7;
const MODEL_STATUS_TIME_LIMIT = 13;
const BASIS_LOWER = 0;
const BASIS_BASIC = 1;
const PRIMAL_SIMPLEX = 4;

// Loading

let loaded: Simplex | undefined;
let loading: Promise<Simplex> | undefined;

/** Loads HiGHS once for the process or page. */
export function loadSimplex(): Promise<Simplex> {
  loading ??= loaded ? Promise.resolve(loaded) : loadAsynchronously();
  return loading;
}

async function loadAsynchronously(): Promise<Simplex> {
  try {
    // the types describe the CommonJS build, but import() yields the module build
    const { default: load } = (await import('highs')) as unknown as { default: () => Promise<Highs> };
    loaded ??= bind(await load());
    return loaded;
  } catch (error) {
    loading = undefined;
    throw failure('HiGHS did not load', error);
  }
}

/**
 * Loads HiGHS without awaiting, in Node only. Its loader is an async function that, given an instance, waits for nothing but microtasks;
 * a context with its own microtask queue runs them before the script returns.
 */
export function loadSimplexSync(): Simplex {
  loaded ??= bind(loadHighsSync());
  return loaded;
}

/** The part of WebAssembly used here; the project's types have no browser library. */
interface WasmCompiler {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: object) => object;
}

function loadHighsSync(): Highs {
  if (typeof process === 'undefined' || typeof process.getBuiltinModule !== 'function')
    throw new Error('simplex: HiGHS loads synchronously only in Node 20.16 or later; await loadSimplex() instead');
  const { createRequire } = process.getBuiltinModule('node:module');
  const { readFileSync } = process.getBuiltinModule('node:fs');
  const vm = process.getBuiltinModule('node:vm');
  const { WebAssembly } = globalThis as unknown as { WebAssembly: WasmCompiler };
  const require = createRequire(import.meta.url);
  const file = require.resolve('highs');
  const wasm = new WebAssembly.Module(readFileSync(require.resolve('highs/runtime')));
  const silent = { log() {}, warn() {}, error() {} };
  const scope = {
    module: { exports: {} },
    exports: {},
    require,
    __filename: file,
    __dirname: file.replace(/[^\\/]*$/, ''),
    process: { versions: process.versions, argv: [], on() {} },
    console: silent,
    performance,
    TextDecoder,
    WebAssembly,
    options: {
      instantiateWasm(imports: object, done: (instance: object) => void) {
        done(new WebAssembly.Instance(wasm, imports));
      },
    },
    outcome: { highs: undefined as Highs | undefined, error: undefined as unknown },
  };
  const source = `${readFileSync(file, 'utf8')}
;module.exports(options).then((highs) => { outcome.highs = highs; }, (error) => { outcome.error = error; });`;
  vm.runInContext(source, vm.createContext(scope, { microtaskMode: 'afterEvaluate' }), { filename: file });
  if (!scope.outcome.highs) throw failure('HiGHS did not load synchronously', scope.outcome.error);
  return scope.outcome.highs;
}

function bind(highs: Highs): Simplex {
  return {
    solveCold: (problem, options) => solveCold(highs, problem, options),
    solveIntegral: (problem, options) => solveIntegral(highs, problem, options),
    createRing: (windowFrames) => new RingSimplex(highs, windowFrames),
    get memoryBytes() {
      return highs.memoryBytes;
    },
  };
}

/** One short line, whatever was thrown: WebAssembly throws numbers, traps and strings as well as errors. */
function failure(what: string, cause?: unknown): Error {
  const detail = cause instanceof Error || (cause as Error)?.message ? (cause as Error).message : cause;
  const line = detail === undefined ? '' : `: ${String(detail).split('\n')[0].slice(0, 120)}`;
  return new Error(`simplex: ${what}${line}`);
}

// The matrix: blocks of columns and rows

/**
 * Where columns and rows lie. A block of an edge has a weight column for each slot, then a rise column for each boundary; an object has one row for
 * each slot, an edge one row for each boundary. Boundary k lies before slot k; a chain has none before slot 0, a ring has.
 */
interface Layout {
  slots: number;
  /** first boundary: 0 in a ring, 1 in a chain */
  first: number;
  /** columns of an edge */
  width: number;
  /** first rows of each edge's truth, track and boundaries */
  truthRow: number[];
  trackRow: number[];
  riseRow: number[];
  rowCount: number;
}

function createLayout(slots: number, ring: boolean): Layout {
  const first = ring && slots > 1 ? 0 : 1;
  return { slots, first, width: 2 * slots - first, truthRow: [], trackRow: [], riseRow: [], rowCount: 0 };
}

/** Reserves the rows of an object. */
function addObject(layout: Layout): number {
  layout.rowCount += layout.slots;
  return layout.rowCount - layout.slots;
}

function addEdge(layout: Layout, truthRow: number, trackRow: number): void {
  layout.truthRow.push(truthRow);
  layout.trackRow.push(trackRow);
  layout.riseRow.push(layout.rowCount);
  layout.rowCount += layout.slots - layout.first;
}

/** Bounds of the rows from `fromRow` on, the edges from `fromEdge` on among them. */
function rowBounds(layout: Layout, fromRow: number, fromEdge: number): { lower: Float64Array; upper: Float64Array } {
  const lower = new Float64Array(layout.rowCount - fromRow).fill(-Infinity);
  const upper = new Float64Array(layout.rowCount - fromRow).fill(1);
  for (let edge = fromEdge; edge < layout.riseRow.length; edge++) {
    const start = layout.riseRow[edge] - fromRow;
    lower.fill(0, start, start + layout.slots - layout.first);
    upper.fill(Infinity, start, start + layout.slots - layout.first);
  }
  return { lower, upper };
}

/** The columns of the edges from `fromEdge` on, compressed by column. */
function columnMatrix(layout: Layout, fromEdge: number): SparseMatrix {
  const { slots, first, width } = layout;
  const edgeCount = layout.riseRow.length - fromEdge;
  const starts = new Int32Array(edgeCount * width + 1);
  const indices = new Int32Array(edgeCount * (2 * slots + 3 * (slots - first)));
  const values = new Float64Array(indices.length);
  let column = 0;
  let end = 0;
  const put = (row: number, value: number): void => {
    indices[end] = row;
    values[end++] = value;
  };
  for (let edge = fromEdge; edge < layout.riseRow.length; edge++) {
    const riseRow = layout.riseRow[edge] - first;
    for (let slot = 0; slot < slots; slot++) {
      const next = first === 0 ? (slot + 1) % slots : slot + 1;
      put(layout.truthRow[edge] + slot, 1);
      put(layout.trackRow[edge] + slot, 1);
      if (slot >= first) put(riseRow + slot, -1);
      if (next < slots) put(riseRow + next, 1);
      starts[++column] = end;
    }
    for (let slot = first; slot < slots; slot++) {
      put(riseRow + slot, 1);
      starts[++column] = end;
    }
  }
  return { format: 'csc', numRows: layout.rowCount, numCols: edgeCount * width, starts, indices, values };
}

/** Writes the objective's coefficients of one edge into `cost` from `offset` on; `benefit` is read by slot from `from` on, by `step`. */
function priceEdge(
  layout: Layout,
  benefit: Float64Array,
  from: number,
  step: number,
  switchCost: Float64Array,
  cost: Float64Array,
  offset: number,
): void {
  const { slots, first } = layout;
  for (let slot = 0; slot < slots; slot++) {
    const next = first === 0 ? (slot + 1) % slots : slot + 1;
    const before = slot >= first ? switchCost[slot] : 0;
    const after = next < slots ? switchCost[next] : 0;
    cost[offset + slot] = benefit[from + slot * step] + before - after;
  }
  for (let slot = first; slot < slots; slot++) cost[offset + slots - first + slot] = -2 * switchCost[slot];
}

// One-shot solves

function chainLayout(problem: LpProblem): Layout {
  const layout = createLayout(problem.frameCount, false);
  const truthRow = Array.from({ length: problem.truthCount }, () => addObject(layout));
  const trackRow = Array.from({ length: problem.trackCount }, () => addObject(layout));
  for (let edge = 0; edge < problem.edgeTruth.length; edge++)
    addEdge(layout, truthRow[problem.edgeTruth[edge]], trackRow[problem.edgeTrack[edge]]);
  return layout;
}

function chainModel(highs: Highs, problem: LpProblem, layout: Layout, integral: boolean): ModelData {
  const edgeCount = problem.edgeTruth.length;
  const numCols = edgeCount * layout.width;
  const colCost = new Float64Array(numCols);
  for (let edge = 0; edge < edgeCount; edge++)
    priceEdge(layout, problem.benefit, edge, edgeCount, problem.switchCost, colCost, edge * layout.width);
  const { lower, upper } = rowBounds(layout, 0, 0);
  return {
    numCols,
    numRows: layout.rowCount,
    sense: highs.constants.objectiveSense.maximize,
    colCost,
    colLower: new Float64Array(numCols),
    colUpper: new Float64Array(numCols).fill(integral ? 1 : Infinity),
    rowLower: lower,
    rowUpper: upper,
    matrix: columnMatrix(layout, 0),
  };
}

function solveCold(highs: Highs, problem: LpProblem, options: ColdOptions = {}): LpSolution {
  if (problem.edgeTruth.length === 0 || problem.frameCount === 0) return emptySolution(problem);
  const layout = chainLayout(problem);
  return withModel(highs, (model) => {
    setOptions(model, { presolve: options.presolve === false ? 'off' : 'on', solver: 'choose' });
    setTimeLimit(model, options.timeLimitMs);
    check(model.passLp(chainModel(highs, problem, layout, false)), 'HiGHS refused the model');
    check(model.run(), 'HiGHS failed');
    if (statusOf(model) === 'time-limit') return unfinished(problem, iterationsOf(model));
    return readSolution(problem, chainWeights(model, problem, layout), iterationsOf(model));
  });
}

function solveIntegral(highs: Highs, problem: LpProblem, options: IntegralOptions = {}): IntegralSolution {
  if (problem.edgeTruth.length === 0 || problem.frameCount === 0)
    return { value: 0, weights: emptySolution(problem).weights, bound: 0, status: 'optimal' };
  const layout = chainLayout(problem);
  return withModel(highs, (model) => {
    setOptions(model, { mip_rel_gap: 0, mip_abs_gap: 0, mip_feasibility_tolerance: TOLERANCE });
    setTimeLimit(model, options.timeLimitMs);
    const data = chainModel(highs, problem, layout, true);
    const integrality = new Int32Array(data.numCols);
    for (let column = 0; column < data.numCols; column += layout.width)
      integrality.fill(highs.constants.variableType.integer, column, column + layout.slots);
    check(model.passMip({ ...data, integrality }), 'HiGHS refused the model');
    if (options.start) check(model.setSolution({ colValue: columnsOf(problem, layout, options.start) }), 'bad start');
    check(model.run(), 'HiGHS failed');
    return readIntegral(model, problem, layout, options.start);
  });
}

function readIntegral(model: RawModelApi, problem: LpProblem, layout: Layout, start?: Float64Array): IntegralSolution {
  const status = statusOf(model);
  const found = model.getInfoValue('primal_solution_status').value === 2;
  let weights = found ? chainWeights(model, problem, layout).map(Math.round) : emptySolution(problem).weights;
  if (start && !(weightsValue(problem, weights) >= weightsValue(problem, start))) weights = start.slice();
  const value = weightsValue(problem, weights);
  if (!isAssignment(problem, weights)) throw failure('branch and bound returned no assignment');
  const proven = Number(model.getInfoValue('mip_dual_bound').value);
  return { value, weights, bound: status === 'optimal' ? Math.max(value, proven) : proven, status };
}

/** The columns that belong to given weights: the rises follow from them. */
function columnsOf(problem: LpProblem, layout: Layout, weights: Float64Array): Float64Array {
  const edgeCount = problem.edgeTruth.length;
  const columns = new Float64Array(edgeCount * layout.width);
  for (let edge = 0; edge < edgeCount; edge++)
    for (let frame = 0; frame < problem.frameCount; frame++) {
      const weight = weights[frame * edgeCount + edge];
      columns[edge * layout.width + frame] = weight;
      if (frame > 0)
        columns[edge * layout.width + layout.slots - layout.first + frame] = Math.max(
          0,
          weight - weights[(frame - 1) * edgeCount + edge],
        );
    }
  return columns;
}

function chainWeights(model: RawModelApi, problem: LpProblem, layout: Layout): Float64Array {
  const columns = columnValues(model);
  const edgeCount = problem.edgeTruth.length;
  const weights = new Float64Array(problem.frameCount * edgeCount);
  for (let edge = 0; edge < edgeCount; edge++)
    for (let frame = 0; frame < problem.frameCount; frame++)
      weights[frame * edgeCount + edge] = columns[edge * layout.width + frame];
  return weights;
}

// Reading results

/** The objective of any weights, feasible or not. */
export function weightsValue(problem: LpProblem, weights: Float64Array): number {
  const edgeCount = problem.edgeTruth.length;
  let value = 0;
  for (let frame = 0; frame < problem.frameCount; frame++) {
    const row = frame * edgeCount;
    let change = 0;
    for (let edge = 0; edge < edgeCount; edge++) {
      value += problem.benefit[row + edge] * weights[row + edge];
      if (frame > 0) change += Math.abs(weights[row + edge] - weights[row - edgeCount + edge]);
    }
    if (change > 0) value -= problem.switchCost[frame] * change;
  }
  return value;
}

/** Whether every weight is 0 or 1 and no object has two partners at a frame. */
export function isAssignment(problem: LpProblem, weights: Float64Array): boolean {
  const edgeCount = problem.edgeTruth.length;
  const truthFrame = new Int32Array(problem.truthCount).fill(-1);
  const trackFrame = new Int32Array(problem.trackCount).fill(-1);
  for (let index = 0; index < weights.length; index++) {
    if (weights[index] === 0) continue;
    const frame = Math.floor(index / edgeCount);
    const truth = problem.edgeTruth[index % edgeCount];
    const track = problem.edgeTrack[index % edgeCount];
    if (weights[index] !== 1 || truthFrame[truth] === frame || trackFrame[track] === frame) return false;
    truthFrame[truth] = frame;
    trackFrame[track] = frame;
  }
  return true;
}

function readSolution(problem: LpProblem, weights: Float64Array, iterations: number): LpSolution {
  let integral = true;
  for (let index = 0; index < weights.length; index++) {
    const near = Math.round(weights[index]);
    if (Math.abs(weights[index] - near) <= ROUNDING) weights[index] = near === 0 ? 0 : near;
    else integral = false;
  }
  return { value: weightsValue(problem, weights), weights, integral, iterations, status: 'optimal' };
}

function emptySolution(problem: LpProblem): LpSolution {
  const weights = new Float64Array(problem.frameCount * problem.edgeTruth.length);
  return { value: 0, weights, integral: true, iterations: 0, status: 'optimal' };
}

function unfinished(problem: LpProblem, iterations: number): LpSolution {
  return { ...emptySolution(problem), value: Number.NaN, integral: false, iterations, status: 'time-limit' };
}

// Talking to HiGHS

/** Runs `operation` on a fresh, silent model and frees it; anything thrown becomes one short error. */
function withModel<Result>(highs: Highs, operation: (model: RawModelApi) => Result): Result {
  const model = createModel(highs);
  try {
    return operation(model);
  } catch (error) {
    throw shortError(error);
  } finally {
    discard(model);
  }
}

function createModel(highs: Highs): RawModelApi {
  try {
    const model = highs.raw.createModel();
    setOptions(model, {
      output_flag: false,
      primal_feasibility_tolerance: TOLERANCE,
      dual_feasibility_tolerance: TOLERANCE,
    });
    return model;
  } catch (error) {
    throw failure('no model', error);
  }
}

/** A model whose WebAssembly has trapped may trap again when freed. */
function discard(model: RawModelApi): void {
  try {
    model.dispose();
  } catch {}
}

function shortError(error: unknown): Error {
  return error instanceof Error && error.message.startsWith('simplex: ') ? error : failure('HiGHS failed', error);
}

function setOptions(model: RawModelApi, options: Record<string, string | number | boolean>): void {
  for (const [name, value] of Object.entries(options)) check(model.setOptionValue(name, value), `bad option ${name}`);
}

/** HiGHS counts the time of all runs of a model against its limit, so the clocks go back to zero first. */
function setTimeLimit(model: RawModelApi, timeLimitMs = NO_TIME_LIMIT_MS): void {
  check(model.zeroAllClocks(), 'clocks');
  check(model.setOptionValue('time_limit', timeLimitMs / 1000), `bad time limit ${timeLimitMs} ms`);
}

function check(result: { status: number }, what: string): void {
  if (result.status < 0) throw failure(what);
}

function statusOf(model: RawModelApi): 'optimal' | 'time-limit' {
  const status: number = model.getModelStatus();
  if (status === MODEL_STATUS_OPTIMAL) return 'optimal';
  if (status === MODEL_STATUS_TIME_LIMIT) return 'time-limit';
  throw failure(`HiGHS ended with model status ${status}, not with an optimum`);
}

function iterationsOf(model: RawModelApi): number {
  return Number(model.getInfoValue('simplex_iteration_count').value ?? 0);
}

function columnValues(model: RawModelApi): Float64Array {
  const values = model.getSolution().value?.colValue;
  if (!values) throw failure('HiGHS returned no solution');
  return values as Float64Array;
}

// The sliding window

interface RingEdge {
  truth: number;
  track: number;
  /** by slot */
  benefit: Float64Array;
  /** slots with a benefit; an edge without any is dead */
  pricedSlots: number;
}

/** What a ring's model is made of; edges have the same index in `layout` and `edges`. */
interface RingContent {
  layout: Layout;
  edges: RingEdge[];
  edgeIndex: Map<number, Map<number, number>>;
  /** first row by name */
  truthRow: Map<number, number>;
  trackRow: Map<number, number>;
}

/**
 * The LP of a sliding window, kept in one HiGHS model laid out as a ring of slots: the matrix stays as it is while frames slide by, only prices
 * change, so the last basis stays primal feasible and primal simplex goes on from it. Boundaries next to an empty slot and between the newest
 * and the oldest frame (the cut) cost nothing, hence tie nothing together. Truths and tracks are named by numbers of the caller's choice.
 */
export class RingSimplex {
  readonly windowFrames: number;
  readonly #highs: Highs;
  readonly #switchCost: Float64Array;
  #content: RingContent;
  #model: RawModelApi | undefined;
  /** the objective as the model has it */
  #cost = new Float64Array(0);
  #modelRowCount = 0;
  #newest = -1;
  #frameCount = 0;
  #fallbackCount = 0;
  #disposed = false;

  constructor(highs: Highs, windowFrames: number) {
    if (!Number.isInteger(windowFrames) || windowFrames < 1)
      throw new Error(`simplex: windowFrames must be a whole number of at least 1, got ${windowFrames}`);
    this.#highs = highs;
    this.windowFrames = windowFrames;
    this.#content = createContent(windowFrames);
    this.#switchCost = new Float64Array(windowFrames);
  }

  /** frames in the window, at most `windowFrames` */
  get frameCount(): number {
    return this.#frameCount;
  }

  /** edges held, dead ones included */
  get edgeCount(): number {
    return this.#content.edges.length;
  }

  /** warm solves that failed and were repeated cold */
  get fallbackCount(): number {
    return this.#fallbackCount;
  }

  /** Makes sure the pair has columns and its objects have rows; the basis stays valid. */
  addEdge(truth: number, track: number): void {
    edgeOf(this.#content, truth, track);
  }

  /** Takes away the pair's benefits at every frame of the window. */
  removeEdge(truth: number, track: number): void {
    const index = this.#content.edgeIndex.get(truth)?.get(track);
    if (index !== undefined) clearEdge(this.#content.edges[index]);
  }

  /** Appends a frame, given by its pairs with a benefit; the oldest leaves a full window. `switchCost` is for changes since the frame before. */
  slide(truth: ArrayLike<number>, track: ArrayLike<number>, benefit: ArrayLike<number>, switchCost: number): void {
    const slot = (this.#newest + 1) % this.windowFrames;
    for (const edge of this.#content.edges) price(edge, slot, 0);
    for (let pair = 0; pair < truth.length; pair++)
      price(edgeOf(this.#content, truth[pair], track[pair]), slot, benefit[pair]);
    this.#switchCost[slot] = this.#frameCount === 0 ? 0 : switchCost;
    this.#switchCost[(slot + 1) % this.windowFrames] = 0;
    this.#newest = slot;
    this.#frameCount = Math.min(this.#frameCount + 1, this.windowFrames);
  }

  /** Replaces the window by a problem of at most `windowFrames` frames, its indices being the names; known edges keep their place in the basis. */
  load(problem: LpProblem): void {
    const { frameCount } = problem;
    if (frameCount > this.windowFrames)
      throw new Error(`simplex: ${frameCount} frames do not fit a window of ${this.windowFrames}`);
    const edgeCount = problem.edgeTruth.length;
    for (const edge of this.#content.edges) clearEdge(edge);
    for (let index = 0; index < edgeCount; index++) {
      const edge = edgeOf(this.#content, problem.edgeTruth[index], problem.edgeTrack[index]);
      for (let frame = 0; frame < frameCount; frame++) price(edge, frame, problem.benefit[frame * edgeCount + index]);
    }
    this.#switchCost.fill(0);
    for (let frame = 1; frame < frameCount; frame++) this.#switchCost[frame] = problem.switchCost[frame];
    this.#newest = frameCount - 1;
    this.#frameCount = frameCount;
  }

  /** Multiplies every benefit and switch cost of the window: exponential forgetting, before the next slide. */
  scale(factor: number): void {
    for (const { benefit } of this.#content.edges)
      for (let slot = 0; slot < benefit.length; slot++) benefit[slot] *= factor;
    for (let slot = 0; slot < this.windowFrames; slot++) this.#switchCost[slot] *= factor;
  }

  /** The window in chronological order: the edges with a benefit in it, and the names of its truths and tracks by index. */
  window(): { problem: LpProblem; truthNames: number[]; trackNames: number[] } {
    const living = this.#living();
    const truthNames: number[] = [];
    const trackNames: number[] = [];
    const edges = living.map((index) => this.#content.edges[index]);
    const problem: LpProblem = {
      frameCount: this.#frameCount,
      edgeTruth: numbered(
        edges.map((edge) => edge.truth),
        truthNames,
      ),
      edgeTrack: numbered(
        edges.map((edge) => edge.track),
        trackNames,
      ),
      truthCount: truthNames.length,
      trackCount: trackNames.length,
      benefit: this.#chronological(living, (index, slot) => this.#content.edges[index].benefit[slot]),
      switchCost: new Float64Array(this.#frameCount),
    };
    for (let frame = 1; frame < this.#frameCount; frame++)
      problem.switchCost[frame] = this.#switchCost[this.#slot(frame)];
    return { problem, truthNames, trackNames };
  }

  /**
   * Solves the window; weights are in the order of `window()`. A failed warm solve is repeated cold, and the next one starts afresh;
   * throws `simplex: ...` when that fails too.
   */
  solve(options: WarmOptions = {}): LpSolution {
    if (this.#disposed) throw new Error('simplex: this ring was disposed; create a new one');
    const { problem } = this.window();
    if (problem.edgeTruth.length === 0) return emptySolution(problem);
    try {
      return this.#solveWarm(problem, options);
    } catch {
      this.#fallbackCount++;
      this.#release();
      return solveCold(this.#highs, problem, { timeLimitMs: options.timeLimitMs });
    }
  }

  /** Frees the model's memory; may be called again. */
  dispose(): void {
    this.#release();
    this.#disposed = true;
  }

  #solveWarm(problem: LpProblem, options: WarmOptions): LpSolution {
    const model = this.#update();
    setTimeLimit(model, options.timeLimitMs);
    setOptions(model, { simplex_iteration_limit: options.iterationLimit ?? NO_ITERATION_LIMIT });
    check(model.run(), 'HiGHS failed');
    if (statusOf(model) === 'time-limit') return unfinished(problem, iterationsOf(model));
    const columns = columnValues(model);
    const { width } = this.#content.layout;
    const weights = this.#chronological(this.#living(), (index, slot) => columns[index * width + slot]);
    return readSolution(problem, weights, iterationsOf(model));
  }

  /** Brings the model up to date with the window. */
  #update(): RawModelApi {
    const deadCount = this.edgeCount - this.#living().length;
    const crowded = deadCount >= DEAD_EDGES_MIN && 2 * deadCount > this.edgeCount;
    if (!this.#model || crowded) return this.#rebuild();
    this.#append(this.#model);
    this.#reprice(this.#model);
    return this.#model;
  }

  /** Makes a new model of the living edges and carries the old basis over. */
  #rebuild(): RawModelApi {
    const old = this.#content;
    const basis = this.#model?.getBasis().value;
    const content = createContent(this.windowFrames);
    const living = this.#living();
    for (const index of living)
      Object.assign(edgeOf(content, old.edges[index].truth, old.edges[index].track), old.edges[index]);
    this.#release();
    this.#content = content;
    const model = createModel(this.#highs);
    this.#model = model;
    setOptions(model, {
      presolve: 'off',
      solver: 'simplex',
      simplex_strategy: PRIMAL_SIMPLEX,
      simplex_scale_strategy: 0,
    });
    check(model.changeObjectiveSense(this.#highs.constants.objectiveSense.maximize), 'HiGHS refused the model');
    this.#append(model);
    if (basis) check(model.setBasis(carryBasis(basis, old, content, living)), 'HiGHS refused the basis');
    return model;
  }

  /** Adds what the content has more than the model: rows basic, columns nonbasic, as HiGHS does by itself. */
  #append(model: RawModelApi): void {
    const { layout, edges } = this.#content;
    const from = this.#cost.length / layout.width;
    if (from === edges.length) return;
    const count = (edges.length - from) * layout.width;
    const cost = new Float64Array(edges.length * layout.width);
    for (let index = from; index < edges.length; index++) this.#priceInto(cost, index);
    const rows = rowBounds(layout, this.#modelRowCount, from);
    const none = emptyRows(rows.lower.length, this.#cost.length);
    check(model.addRows({ ...rows, matrix: none }), 'HiGHS refused rows');
    const bounds = { lower: new Float64Array(count), upper: new Float64Array(count).fill(Infinity) };
    const matrix = columnMatrix(layout, from);
    check(model.addCols({ cost: cost.subarray(this.#cost.length), ...bounds, matrix }), 'HiGHS refused columns');
    cost.set(this.#cost);
    this.#cost = cost;
    this.#modelRowCount = layout.rowCount;
  }

  /** Tells the model the prices that have changed. */
  #reprice(model: RawModelApi): void {
    const cost = new Float64Array(this.#cost.length);
    for (let index = 0; index < this.#content.edges.length; index++) this.#priceInto(cost, index);
    const changed: number[] = [];
    for (let column = 0; column < cost.length; column++) if (cost[column] !== this.#cost[column]) changed.push(column);
    if (changed.length === 0) return;
    const costs = changed.map((column) => cost[column]);
    check(model.changeColsCost({ kind: 'set', indices: changed }, costs), 'HiGHS refused prices');
    this.#cost = cost;
  }

  #priceInto(cost: Float64Array, index: number): void {
    const { layout, edges } = this.#content;
    priceEdge(layout, edges[index].benefit, 0, 1, this.#switchCost, cost, index * layout.width);
  }

  #living(): number[] {
    const living: number[] = [];
    this.#content.edges.forEach((edge, index) => {
      if (edge.pricedSlots > 0) living.push(index);
    });
    return living;
  }

  #chronological(edges: number[], read: (index: number, slot: number) => number): Float64Array {
    const values = new Float64Array(this.#frameCount * edges.length);
    let end = 0;
    for (let frame = 0; frame < this.#frameCount; frame++) {
      const slot = this.#slot(frame);
      for (const index of edges) values[end++] = read(index, slot);
    }
    return values;
  }

  #slot(frame: number): number {
    return (this.#newest - this.#frameCount + 1 + frame + this.windowFrames) % this.windowFrames;
  }

  #release(): void {
    if (this.#model) discard(this.#model);
    this.#model = undefined;
    this.#cost = new Float64Array(0);
    this.#modelRowCount = 0;
  }
}

function createContent(windowFrames: number): RingContent {
  const layout = createLayout(windowFrames, true);
  return { layout, edges: [], edgeIndex: new Map(), truthRow: new Map(), trackRow: new Map() };
}

/** The pair's edge, made with its rows when it is new. */
function edgeOf(content: RingContent, truth: number, track: number): RingEdge {
  const known = content.edgeIndex.get(truth)?.get(track);
  if (known !== undefined) return content.edges[known];
  const { layout } = content;
  if (!content.truthRow.has(truth)) content.truthRow.set(truth, addObject(layout));
  if (!content.trackRow.has(track)) content.trackRow.set(track, addObject(layout));
  addEdge(layout, content.truthRow.get(truth)!, content.trackRow.get(track)!);
  if (!content.edgeIndex.has(truth)) content.edgeIndex.set(truth, new Map());
  content.edgeIndex.get(truth)!.set(track, content.edges.length);
  const edge = { truth, track, benefit: new Float64Array(layout.slots), pricedSlots: 0 };
  content.edges.push(edge);
  return edge;
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

function emptyRows(numRows: number, numCols: number): SparseMatrix {
  const starts = new Int32Array(numRows + 1);
  return { format: 'csr', numRows, numCols, starts, indices: new Int32Array(0), values: new Float64Array(0) };
}

/**
 * The basis of the old model for what survives in the new one. Edges without a benefit may hold weight only for nothing, so the point stays
 * feasible; where basic columns are lost, HiGHS completes the basis with slacks.
 */
function carryBasis(basis: Basis, old: RingContent, content: RingContent, living: number[]): BasisInput {
  const { width, slots, first } = content.layout;
  const colStatus = new Int32Array(content.edges.length * width).fill(BASIS_LOWER);
  const rowStatus = new Int32Array(content.layout.rowCount).fill(BASIS_BASIC);
  const carryRows = (from: number | undefined, to: number, count: number): void => {
    if (from !== undefined && from < basis.rowStatus.length)
      rowStatus.set(basis.rowStatus.subarray(from, from + count), to);
  };
  living.forEach((from, to) => {
    if (from * width < basis.colStatus.length)
      colStatus.set(basis.colStatus.subarray(from * width, (from + 1) * width), to * width);
    carryRows(old.layout.riseRow[from], content.layout.riseRow[to], slots - first);
  });
  for (const [name, row] of content.truthRow) carryRows(old.truthRow.get(name), row, slots);
  for (const [name, row] of content.trackRow) carryRows(old.trackRow.get(name), row, slots);
  return { colStatus, rowStatus };
}
