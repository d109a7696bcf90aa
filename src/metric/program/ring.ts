/**
 * The linear program of a sliding window, solved again from its last basis.
 */

import {
  check,
  createModel,
  discard,
  failure,
  iterationsOf,
  NO_LIMIT,
  type RawModelApi,
  type Runtime,
  recover,
  setOptions,
  solutionOf,
  statusOf,
} from './highs.js';
import { KnownWeights } from './known-weights.js';
import { emptySolution, type LpProblem, type LpSolution, readSolution, unfinished } from './linear-program.js';
import { solveCold } from './one-shot.js';
import {
  BASIS_UNKNOWN,
  isAlone,
  keepBasis,
  keepPrices,
  knownValue,
  openCells,
  type Program,
  type RingEdge,
  type RingObject,
  writeModel,
} from './reduced-program.js';

const DUAL_SIMPLEX = 1;

export interface WarmOptions {
  /** pivots after which the solve is left unfinished, `ROWS_PER_PIVOT` rows counting as one; default none */
  pivotsMax?: number;
}

/** Rows that take as long to write down as a pivot. */
export const ROWS_PER_PIVOT = 16;

/**
 * The LP of a sliding window in a ring of slots. Truths and tracks are named by numbers of the caller's choice.
 */
export class RingSimplex {
  readonly windowFrames: number;
  readonly #runtime: Runtime;
  readonly #edges = new Map<number, Map<number, RingEdge>>();
  readonly #truths = new Map<number, RingObject>();
  readonly #tracks = new Map<number, RingObject>();
  readonly #switchCost: Float64Array;
  readonly #known = new KnownWeights();
  #highs: RawModelApi | undefined;
  #newest = -1;
  #frameCount = 0;
  #fallbackCount = 0;
  #rowCount = 0;
  #disposed = false;
  #isLimited = true;

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

  /**
   * Appends a frame, given by its pairs with a benefit; the oldest leaves a full window. `switchCost` is for changes
   * since the frame before.
   */
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

  /**
   * The price of a truth at a frame in the last optimum, 0 when there is none. All prices, and what each edge alone can
   * earn above those of its ends, add up to the optimum.
   */
  truthPrice(truth: number, frame: number): number {
    return this.#truths.get(truth)?.price[this.#slot(frame)] ?? 0;
  }

  /** The same for a track. */
  trackPrice(track: number, frame: number): number {
    return this.#tracks.get(track)?.price[this.#slot(frame)] ?? 0;
  }

  /**
   * Replaces the window by a problem of at most `windowFrames` frames, its indices being the names; known edges keep
   * their place in the basis.
   */
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

  /**
   * The window in chronological order: the edges with a benefit in it, and the names of its truths and tracks by index.
   */
  window(): { problem: LpProblem; truthNames: number[]; trackNames: number[] } {
    return this.#window(this.#living());
  }

  /**
   * Solves the window; weights are in the order of `window()`. A failed warm solve is repeated cold, and the next one
   * starts afresh; throws `simplex: ...` when that fails too.
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
      return solveCold(this.#runtime, problem, { pivotsMax: options.pivotsMax });
    }
  }

  /** Frees the model's memory; may be called again. */
  dispose(): void {
    this.#release();
    this.#disposed = true;
  }

  #solveWarm(problem: LpProblem, living: RingEdge[], options: WarmOptions): LpSolution {
    const program = this.#program(living);
    const { edges, known } = program;
    known.find();
    const cells = openCells(program);
    this.#rowCount = cells.length;
    const count = living.length;
    const weights = new Float64Array(this.#frameCount * count);
    let bound = knownValue(program);
    let iterations = 0;
    const pivotsMax = options.pivotsMax && options.pivotsMax - Math.floor(cells.length / ROWS_PER_PIVOT);
    if (pivotsMax !== undefined && pivotsMax < 0) return unfinished(problem, 0);
    if (cells.length > 0) {
      const model = writeModel(program, cells);
      this.#highs ??= this.#open();
      const highs = this.#highs;
      this.#limit(highs, pivotsMax);
      check(highs.passModel(model.data), 'HiGHS refused the model');
      check(highs.setBasis(model.basis), 'HiGHS refused the basis');
      check(highs.run(), 'HiGHS failed');
      iterations = iterationsOf(highs);
      if (statusOf(highs) === 'limit') return { ...unfinished(problem, iterations), rows: cells.length };
      bound += highs.getObjectiveValue();
      const { rowDual, colValue } = solutionOf(highs);
      const basis = highs.getBasis().value;
      if (!basis) throw failure('HiGHS returned no basis');
      keepBasis(program, model, basis);
      keepPrices(program, model, colValue);
      cells.forEach(({ edge, first, last }, row) => {
        for (let frame = first; frame <= last; frame++) weights[frame * count + edges[edge].order] = rowDual[row];
      });
    }
    for (const edge of living) {
      if (!isAlone(edge)) continue;
      for (let at = edge.order; at < weights.length; at += count) {
        weights[at] = 1;
        bound += problem.benefit[at];
      }
      edge.truth.price.fill(0);
      edge.track.price.fill(0);
    }
    writeKnown(program, weights, count);
    const solution = readSolution(problem, weights, iterations);
    // they meet at the optimum only
    if (!(Math.abs(solution.value - bound) <= 1e-9 * Math.max(1, bound)))
      throw failure(`value ${solution.value} and bound ${bound} differ`);
    return { ...solution, rows: cells.length };
  }

  /** What is to be solved: all edges but those whose ends have no other. */
  #program(living: RingEdge[]): Program {
    const known = this.#known;
    const slots = Int32Array.from({ length: this.#frameCount }, (_, frame) => this.#slot(frame));
    const edges = living.filter((edge) => !isAlone(edge));
    const objects: RingObject[] = [];
    for (const { truth, track } of edges) truth.index = track.index = -1;
    for (const { truth, track } of edges)
      for (const end of [truth, track]) if (end.index < 0) end.index = objects.push(end) - 1;
    known.begin(edges.length, objects.length, slots.length);
    for (let edge = 0, at = 0; edge < edges.length; edge++) {
      const { truth, track, benefit } = edges[edge];
      known.truth[edge] = truth.index;
      known.track[edge] = track.index;
      for (let frame = 0; frame < slots.length; frame++) known.benefit[at++] = benefit[slots[frame]];
    }
    for (let frame = 1; frame < slots.length; frame++) known.cost[frame] = this.#switchCost[slots[frame]];
    known.cost[0] = known.cost[slots.length] = 0;
    return { edges, objects, slots, known };
  }

  /** Tells HiGHS its limits; those of the last solve that said none still hold. */
  #limit(highs: RawModelApi, pivotsMax: number | undefined): void {
    if (pivotsMax !== undefined || this.#isLimited)
      setOptions(highs, { simplex_iteration_limit: pivotsMax ?? NO_LIMIT });
    this.#isLimited = pivotsMax !== undefined;
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

  #window(living: RingEdge[]): { problem: LpProblem; truthNames: number[]; trackNames: number[] } {
    const truthNames: number[] = [];
    const trackNames: number[] = [];
    const frames = this.#frameCount;
    const edgeTruth = new Int32Array(living.length);
    const edgeTrack = new Int32Array(living.length);
    for (const { truth, track } of living) truth.index = track.index = -1;
    for (const { truth, track, truthName, trackName, order } of living) {
      if (truth.index < 0) truth.index = truthNames.push(truthName) - 1;
      if (track.index < 0) track.index = trackNames.push(trackName) - 1;
      edgeTruth[order] = truth.index;
      edgeTrack[order] = track.index;
    }
    const switchCost = new Float64Array(frames);
    const benefit = new Float64Array(frames * living.length);
    let end = 0;
    for (let frame = 0; frame < frames; frame++) {
      const slot = this.#slot(frame);
      if (frame > 0) switchCost[frame] = this.#switchCost[slot];
      for (let edge = 0; edge < living.length; edge++) benefit[end++] = living[edge].benefit[slot];
    }
    const counts = { frameCount: frames, truthCount: truthNames.length, trackCount: trackNames.length };
    return { problem: { ...counts, edgeTruth, edgeTrack, benefit, switchCost }, truthNames, trackNames };
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
        if (edge.pricedSlots > 0) edge.order = living.push(edge) - 1;
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
        order: -1,
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
    this.#isLimited = true;
  }
}

/** Solves one program from nothing. */
export function solveReduced(runtime: Runtime, problem: LpProblem, options: WarmOptions = {}): LpSolution {
  if (problem.frameCount === 0) return emptySolution(problem);
  const ring = new RingSimplex(runtime, problem.frameCount);
  try {
    ring.load(problem);
    const solution = ring.solve(options);
    const prices = solution.status === 'optimal' ? pricesOf(problem, ring) : undefined;
    return { ...solution, weights: inOrderOf(problem, ring, solution.weights), prices };
  } finally {
    ring.dispose();
  }
}

/** A ring's prices in the order of the problem that it was loaded with. */
function pricesOf({ frameCount, truthCount, trackCount }: LpProblem, ring: RingSimplex): Float64Array {
  const prices = new Float64Array((truthCount + trackCount) * frameCount);
  for (let at = 0; at < prices.length; at++) {
    const object = Math.floor(at / frameCount);
    prices[at] =
      object < truthCount
        ? ring.truthPrice(object, at % frameCount)
        : ring.trackPrice(object - truthCount, at % frameCount);
  }
  return prices;
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

/** Writes the weights that are known, and all prices, to where they are looked for. */
function writeKnown({ edges, objects, slots, known }: Program, weights: Float64Array, stride: number): void {
  const { frameCount, weight, price } = known;
  for (let edge = 0; edge < edges.length; edge++) {
    const row = edge * frameCount;
    for (let k = 0, at = edges[edge].order; k < frameCount; k++, at += stride)
      if (weight[row + k] === 1) weights[at] = 1;
  }
  for (let object = 0; object < objects.length; object++) {
    const target = objects[object].price;
    const row = object * frameCount;
    for (let k = 0; k < frameCount; k++) target[slots[k]] = price[row + k];
  }
}

function price(edge: RingEdge, slot: number, benefit: number): void {
  const change = Number(benefit !== 0) - Number(edge.benefit[slot] !== 0);
  edge.benefit[slot] = benefit;
  if (change === 0) return;
  const before = edge.pricedSlots;
  edge.pricedSlots += change;
  const living = Number(edge.pricedSlots > 0) - Number(before > 0);
  edge.truth.edgeCount += living;
  edge.track.edgeCount += living;
}

function clearEdge(edge: RingEdge): void {
  for (let slot = 0; slot < edge.benefit.length; slot++) price(edge, slot, 0);
}
