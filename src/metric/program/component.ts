/**
 * A component: truths and tracks connected by pairs that come closer than the cut-off somewhere in the window, solved
 * alone as a linear program that is kept warm. It owns the layers (the frames in which it earns something) and writes
 * the assignment back into the frames.
 *
 * A window is solved when assignment and bound meet. First the last assignment is gone on with, and the last prices are
 * moved until they prove it; if they do not, HiGHS is asked, restarted from the last basis. When there is no time for
 * that, the better of going on and of matching each frame alone stands, under the lower of the two bounds.
 */

import type { Budget } from '../window/budget.js';
import { surcharged, type WindowContents } from '../window/contents.js';
import { CHANGES_PER_PAIR, type FramePairs, type FrameRecord } from '../window/frame-record.js';
import { priceQuanta, QUANTA } from '../window/quanta.js';
import type { Edge, Trajectory } from '../window/trajectory.js';
import { ChangeTimes } from './change-times.js';
import { LayerStack, type Matrix } from './layers.js';
import { type LpProblem, type LpSolution, weightsValue } from './linear-program.js';
import { PriceProof } from './price-proof.js';
import { BASIS_UNKNOWN } from './reduced-program.js';
import type { Simplex } from './simplex.js';
import { TieBreak } from './tie-break.js';
import { ROWS_PER_PIVOT } from './warm-program.js';

export type EngineName = 'isolated' | 'simplex' | 'branch' | 'open';

/** The best matching of one frame alone, in quanta. */
export interface FrameMatching {
  /** of each truth its pair, or -1 */
  readonly pairOf: Int32Array;
  /** prices that prove it: no pair earns more than those of its ends */
  readonly truthPrice: Float64Array;
  readonly trackPrice: Float64Array;
  /** their sum: nobody earns more in this frame */
  readonly ceiling: number;
}

/** What all components of a window share. */
export interface ProgramContext {
  readonly contents: WindowContents;
  readonly matchings: { of(frame: FrameRecord): FrameMatching };
  /**
   * where the linear program's optimum is fractional: report it, look for the best assignment, or look for it as long
   * as it takes
   */
  readonly fractional: 'report' | 'search' | 'force';
  /**
   * Of each layer the pairs that are assigned in the optimum that is always chosen, by pair, where only some may be;
   * null when there are too many ways
   */
  readonly chooseAmong: (layers: readonly FramePairs[], budget: Budget) => readonly Uint8Array[] | null;
  /** null where HiGHS is not loaded */
  readonly simplex: () => Simplex | null;
}

/**
 * Quanta in one unit of the linear program: HiGHS's tolerances are absolute, and what makes the fewest switches win
 * must be above them.
 */
const LP_UNIT = QUANTA / 2 ** 10;
/** work of looking at one edge in one layer, by prices and by the linear program, and of a pivot */
const PROOF_WORK = 1 / 16;
const PROGRAM_WORK = 1;
const PIVOT_WORK = 128;
/** the most that is spent on the choice between optima */
const CHOICE_WORK = 2 ** 18;
/** of a node of branch and bound */
const NODE_WORK = 1024;
const NODES_MAX = 2 ** 31 - 1;
/** unless exactness is forced: nodes, and edges times layers with which a search would take minutes and gigabytes */
const SEARCHED_NODES_MAX = 500;
const SEARCHED_CELLS_MAX = 2 ** 14;
/** with more edges times frames the program does not fit into memory */
const CELLS_MAX = 2 ** 25;

export class Component {
  /** by truth, then track */
  readonly edges: Edge[];
  readonly truthCount: number;
  readonly trackCount: number;
  readonly edgeTruth: Int32Array;
  readonly edgeTrack: Int32Array;
  /** truths, then tracks */
  readonly trajectories: readonly Trajectory[];
  engine: EngineName = 'isolated';
  /** how much the best assignment known may be below the optimum, in quanta */
  gap = 0;
  /** under time weights the greatest weight of its frames, about: quanta are so much smaller */
  scale = 1;
  /** the LP metric is reported: not the assignment's cost but its lower bound */
  relaxed = false;
  /** marks a component whose frames changed since its last solve, or that was out of time then */
  stale = true;
  /** of putting it together */
  work = 0;
  /** false once an edge came or went: it must be built anew */
  alive = true;

  private readonly contents: WindowContents;
  private readonly localOf = new Map<Edge, number>();
  private readonly indexOf: ReadonlyMap<Trajectory, number>;
  private readonly stack: LayerStack;
  private readonly frameNumber: Matrix<Float64Array>;
  private readonly pair: Matrix<Int32Array>;
  private readonly benefit: Matrix<Float64Array>;
  private readonly changeCost: Matrix<Float64Array>;
  /** [row * trajectories + trajectory]: see `ProofLayers` */
  private readonly price: Matrix<Float64Array>;
  /** see `LastBasis` */
  private readonly cellStatus: Matrix<Int8Array>;
  private readonly flowStatus: Matrix<Int8Array>;
  private readonly capacityStatus: Matrix<Int8Array>;
  /** [row * truthCount + truth]: the truth's edge, or -1; and as it was last written into the frames */
  private readonly partner: Matrix<Int32Array>;
  private readonly applied: Matrix<Int32Array>;
  private readonly appliedHalves: Matrix<Float64Array>;
  private readonly appliedFrame: Matrix<Float64Array>;
  private newCount = 0;
  /** rows before this are assigned as they were when the assignment was last written into the frames */
  private changedFrom = 0;
  private readonly proof: PriceProof;
  private readonly ties: TieBreak;
  /** `partner` holds an assignment of all layers but the new ones */
  private known = false;
  /** of a fractional optimum */
  private weights: Float64Array | null = null;

  constructor(
    private readonly context: ProgramContext,
    given: readonly Edge[],
    /** the frame from which on the frontier could not do it */
    readonly since: number,
    /** so many windows later it may try again */
    readonly patience: number,
  ) {
    this.contents = context.contents;
    const order = (nodes: Iterable<Trajectory>) => [...new Set(nodes)].sort((a, b) => (a.id < b.id ? -1 : 1));
    const truths = order(given.map((e) => e.truth));
    const tracks = order(given.map((e) => e.track));
    this.trajectories = [...truths, ...tracks];
    this.indexOf = new Map(this.trajectories.map((t, n) => [t, n]));
    this.truthCount = truths.length;
    this.trackCount = tracks.length;
    const E = given.length;
    this.edges = this.inOrder(given);
    this.edgeTruth = Int32Array.from(this.edges, (e) => this.indexOf.get(e.truth)!);
    this.edgeTrack = Int32Array.from(this.edges, (e) => this.indexOf.get(e.track)! - truths.length);
    for (let e = 0; e < E; e++) this.localOf.set(this.edges[e], e);
    this.stack = new LayerStack(E === 1 ? 0 : given.reduce((n, e) => Math.max(n, e.size), 0) * 2);
    this.frameNumber = this.stack.matrix(Float64Array, 1);
    this.pair = this.stack.matrix(Int32Array, E);
    this.benefit = this.stack.matrix(Float64Array, E);
    this.changeCost = this.stack.matrix(Float64Array, 1);
    this.price = this.stack.matrix(Float64Array, this.trajectories.length);
    this.cellStatus = this.stack.matrix(Int8Array, E);
    this.flowStatus = this.stack.matrix(Int8Array, E);
    this.capacityStatus = this.stack.matrix(Int8Array, this.trajectories.length);
    this.partner = this.stack.matrix(Int32Array, this.truthCount);
    this.applied = this.stack.matrix(Int32Array, this.truthCount);
    this.appliedHalves = this.stack.matrix(Float64Array, 1);
    this.appliedFrame = this.stack.matrix(Float64Array, 1);
    this.proof = new PriceProof(this);
    this.ties = new TieBreak(this, this.proof, (row, e) => this.rankOf(row, e));
    if (E > 1) this.build();
  }

  /** Edges by the indices of their truths, then their tracks: sorted as numbers, for there may be many. */
  private inOrder(edges: readonly Edge[]): Edge[] {
    const { length } = edges;
    const place = ({ truth, track }: Edge) =>
      this.indexOf.get(truth)! * this.trajectories.length + this.indexOf.get(track)!;
    const keys = Float64Array.from(edges, (edge, n) => place(edge) * length + n).sort();
    return Array.from(keys, (key) => edges[key % length]);
  }

  get isolated(): boolean {
    return this.edges.length === 1;
  }

  has(edge: Edge): boolean {
    return this.localOf.has(edge);
  }

  /** Fills the layers from the edges' own records. */
  private build(): void {
    const numbers = new Set<number>();
    for (const edge of this.edges) for (let n = 0; n < edge.size; n++) numbers.add(edge.frameAt(n));
    const sorted = Float64Array.from(numbers).sort();
    for (const number of sorted) this.addLayer(number);
    const { head } = this.stack;
    const rowOf = new Map(Array.from(sorted, (number, n) => [number, head + n]));
    this.edges.forEach((edge, e) => {
      for (let n = 0; n < edge.size; n++) this.setPair(rowOf.get(edge.frameAt(n))!, e, edge.pairAt(n));
    });
  }

  /** Inherits prices and the last basis of a component that some of its edges come from. */
  inherit(other: Component): void {
    if (this.isolated) return;
    const places = other.trajectories.map((trajectory) => this.indexOf.get(trajectory) ?? -1);
    const edgePlaces = other.edges.map((edge) => this.localOf.get(edge) ?? -1);
    const end = this.stack.head + this.stack.size;
    const { price, frameNumber } = this;
    let row = this.stack.head;
    for (let from = other.stack.head; from < other.stack.head + other.stack.size; from++) {
      const number = other.frameNumber.values[from];
      while (row < end && frameNumber.values[row] < number) row++;
      if (row === end) return;
      if (frameNumber.values[row] !== number || Number.isNaN(other.price.values[from * other.price.width])) continue;
      const target = row * price.width;
      if (Number.isNaN(price.values[target])) price.values.fill(0, target, target + price.width);
      copyRow(other.price, from, price, row, places);
      copyRow(other.capacityStatus, from, this.capacityStatus, row, places);
      copyRow(other.cellStatus, from, this.cellStatus, row, edgePlaces);
      copyRow(other.flowStatus, from, this.flowStatus, row, edgePlaces);
    }
  }

  /** Appends a layer with no pairs. */
  private addLayer(number: number): number {
    const row = this.stack.append();
    const E = this.edges.length;
    this.frameNumber.values[row] = number;
    this.pair.values.fill(-1, row * E, (row + 1) * E);
    this.benefit.values.fill(0, row * E, (row + 1) * E);
    this.changeCost.values[row] = this.contents.changeQuanta;
    this.price.values[row * this.price.width] = Number.NaN;
    for (const { values, width } of [this.cellStatus, this.flowStatus, this.capacityStatus])
      values.fill(BASIS_UNKNOWN, row * width, (row + 1) * width);
    this.applied.values.fill(-2, row * this.truthCount, (row + 1) * this.truthCount);
    this.appliedHalves.values[row] = 0;
    this.newCount++;
    this.stale = true;
    return row;
  }

  private setPair(row: number, e: number, pair: number): void {
    const at = row * this.edges.length + e;
    this.pair.values[at] = pair;
    this.benefit.values[at] = this.contents.frame(this.frameNumber.values[row]).benefit(pair);
  }

  /** Adds a pair of the newest frame, with a layer when it is the first. */
  addPair(frame: FrameRecord, edge: Edge, pair: number): void {
    const last = this.stack.head + this.stack.size - 1;
    const isLast = this.stack.size > 0 && this.frameNumber.values[last] === frame.number;
    this.setPair(isLast ? last : this.addLayer(frame.number), this.localOf.get(edge)!, pair);
  }

  /** Drops the layer of a frame that leaves the window. */
  dropFrame(number: number): void {
    if (this.stack.size === 0 || this.frameNumber.values[this.stack.head] !== number) return;
    this.stack.dropFirst();
    this.newCount = Math.min(this.newCount, this.stack.size);
    this.stale = true;
  }

  /** Solves and writes the assignment into the frames. */
  solve(budget: Budget): void {
    this.stale = false;
    this.gap = 0;
    this.weights = null;
    this.relaxed = false;
    if (this.isolated) return;
    if (this.contents.weighted) this.weigh();
    if (!this.isProven(budget)) {
      this.changedFrom = this.stack.head;
      this.optimize(budget);
      if (this.engine === 'open' && !this.weights && !this.contents.weighted) this.joinFreely();
    }
    this.newCount = 0;
    this.apply();
  }

  /** Whether the assignment of the last window, gone on with, is an optimum of this one. */
  private isProven(budget: Budget): boolean {
    const { head, size } = this.stack;
    // what was known before was weighed otherwise
    const firstNew = this.contents.weighted ? head : this.known ? head + size - this.newCount : this.recall();
    this.changedFrom = this.known && !this.contents.weighted ? firstNew : head;
    this.goOn(firstNew);
    this.known = true;
    const proven = this.proof.proves(this.layers(), budget, PROOF_WORK * this.edges.length * size);
    if (proven) this.chooseAmongEqual(this.proof.gap, budget);
    return proven;
  }

  private layers() {
    return {
      firstRow: this.stack.head,
      layerCount: this.stack.size,
      benefit: this.benefit.values,
      partner: this.partner.values,
      frameNumber: this.frameNumber.values,
      price: this.price.values,
      changeCost: this.changeCost.values,
    };
  }

  /** An optimum is known, up to a gap: chooses the one that is always chosen. */
  private chooseAmongEqual(gap: number, budget: Budget): void {
    this.engine = 'simplex';
    this.gap = gap;
    if (this.contents.weighted) return;
    const hasChoice = this.ties.hasChoice(this.layers(), gap);
    const earned = this.earned();
    // what no other assignment comes near to is the optimum, and so is the best of those that do
    if (!hasChoice || this.breakTies(gap, budget)) this.gap = 0;
    else this.gap = Math.max(0, gap - (this.earned() - earned));
  }

  private rankOf(row: number, e: number): number {
    const pair = this.pair.values[row * this.edges.length + e];
    return pair < 0 ? 0 : this.contents.frame(this.frameNumber.values[row]).rank(pair);
  }

  private conclude(engine: EngineName, gap: number): void {
    this.engine = engine;
    this.gap = gap;
  }

  /** Reads the assignment of the layers that were solved before from the frames; returns the first row that was not. */
  private recall(): number {
    const { head, size } = this.stack;
    const E = this.edges.length;
    const { contents } = this;
    const weights = new Float64Array(size * E);
    let row = head;
    for (; row < head + size && this.frameNumber.values[row] <= contents.solvedNumber; row++) {
      const frame = contents.frame(this.frameNumber.values[row]);
      for (let e = 0; e < E; e++) {
        const pair = this.pair.values[row * E + e];
        if (pair >= 0) weights[(row - head) * E + e] = frame.wasOn(pair);
      }
    }
    this.hold(weights);
    return row;
  }

  /**
   * Goes on with the assignment of the row before, from a row on, or begins with a frame's own; two ends that were
   * never assigned join.
   */
  private goOn(firstNew: number): void {
    const { truthCount: n, edgeTruth, edgeTrack } = this;
    const { head, size } = this.stack;
    const E = this.edges.length;
    const partner = this.partner.values;
    for (let row = firstNew; row < head + size; row++) {
      if (row > head) partner.copyWithin(row * n, (row - 1) * n, row * n);
      else {
        partner.fill(-1, row * n, (row + 1) * n);
        this.matchRow(row);
      }
      let used: Uint8Array | null = null;
      for (let e = 0; e < E; e++) {
        const i = edgeTruth[e];
        if (this.benefit.values[row * E + e] === 0 || partner[row * n + i] >= 0) continue;
        used ??= this.usedUpTo(row);
        const j = n + edgeTrack[e];
        if (used[i] || used[j]) continue;
        used[i] = used[j] = 1;
        for (let early = head; early <= row; early++) partner[early * n + i] = e;
        this.changedFrom = head;
      }
    }
  }

  /**
   * An assignment that was carried on may join two ends that nobody else was assigned to before, now that the frames in
   * which somebody was have left the window: they were together from the start, which costs nothing.
   */
  private joinFreely(): void {
    const { truthCount: n, edgeTruth, edgeTrack } = this;
    const { head, size } = this.stack;
    const partner = this.partner.values;
    const earned = this.earned();
    const used = new Uint8Array(this.trajectories.length);
    for (let row = head; row < head + size; row++)
      for (let i = 0; i < n; i++) {
        const e = partner[row * n + i];
        if (e < 0) continue;
        const j = n + edgeTrack[e];
        if (!used[edgeTruth[e]] && !used[j]) for (let early = head; early < row; early++) partner[early * n + i] = e;
        used[edgeTruth[e]] = used[j] = 1;
      }
    this.gap = Math.max(0, this.gap - (this.earned() - earned));
  }

  /** Of each truth, then of each track, whether it is assigned in a row up to one. */
  private usedUpTo(row: number): Uint8Array {
    const { truthCount: n, edgeTruth, edgeTrack } = this;
    const partner = this.partner.values;
    const used = new Uint8Array(this.trajectories.length);
    for (let at = this.stack.head * n; at < (row + 1) * n; at++)
      if (partner[at] >= 0) used[edgeTruth[partner[at]]] = used[n + edgeTrack[partner[at]]] = 1;
    return used;
  }

  /** Assigns in a row what is best in its frame alone. */
  private matchRow(row: number): void {
    const { truthCount: n, edgeTruth } = this;
    const E = this.edges.length;
    const { pairOf } = this.context.matchings.of(this.contents.frame(this.frameNumber.values[row]));
    const frame = this.contents.frame(this.frameNumber.values[row]);
    for (let e = 0; e < E; e++) {
      const pair = this.pair.values[row * E + e];
      if (pair >= 0 && pairOf[frame.truthIndex(pair)] === pair) this.partner.values[row * n + edgeTruth[e]] = e;
    }
  }

  /** Linear program; then branch and bound if its optimum is fractional and exactness is forced. */
  private optimize(budget: Budget): void {
    const cells = this.edges.length * this.stack.size;
    const work = PROGRAM_WORK * cells;
    const simplex = this.context.simplex();
    const fits = cells <= CELLS_MAX && budget.affords(work + PIVOT_WORK);
    const optimum = simplex && fits ? this.optimum(simplex, budget, work) : null;
    if (simplex === null || optimum === null) {
      this.stale = true;
      this.settleForLess(budget);
    } else if (optimum.integral) {
      this.take(optimum.weights);
      this.known = true;
      this.chooseAmongEqual(Math.max(0, this.bound() - this.earned()), budget);
    } else {
      this.known = false;
      if (this.context.fractional === 'report') this.relax(simplex, budget);
      else this.search(simplex, optimum.weights, budget);
    }
  }

  /** The optimum is fractional: looks for the best assignment among those within the gap, then by branch and bound. */
  private search(simplex: Simplex, weights: Float64Array, budget: Budget): void {
    this.take(weights);
    const gap = Math.max(0, this.bound() - this.earned());
    const forced = this.context.fractional === 'force';
    if (!this.contents.weighted && this.breakTies(gap, budget)) this.conclude('branch', 0);
    else if (forced || this.edges.length * this.stack.size <= SEARCHED_CELLS_MAX) this.branch(simplex, budget);
    else this.conclude('open', gap);
    if (this.engine === 'open' && !forced) this.relax(simplex, budget);
  }

  /** Puts the one that is always chosen in place of an assignment up to a gap below the bound, if it can. */
  private breakTies(gap: number, budget: Budget): boolean {
    const layers = this.layers();
    this.changedFrom = this.stack.head;
    this.proof.center(layers);
    return this.ties.choose(layers, gap) || this.chooseAtFrontier(this.ties.mayBeOn(layers, gap), budget);
  }

  /** So much is left to choose from that only the frontier finds its way: it sees the pairs that may be assigned. */
  private chooseAtFrontier(mayBeOn: Uint8Array, budget: Budget): boolean {
    const { head, size } = this.stack;
    const E = this.edges.length;
    const layers = Array.from({ length: size }, (_, k) => {
      const frame = this.contents.frame(this.frameNumber.values[head + k]);
      const pairs: number[] = [];
      for (let e = 0; e < E; e++)
        if (mayBeOn[k * E + e] && this.pair.values[(head + k) * E + e] >= 0)
          pairs.push(this.pair.values[(head + k) * E + e]);
      return { frame, pairs: Int32Array.from(pairs).sort() };
    });
    const part = budget.part(CHOICE_WORK);
    const chosen = this.context.chooseAmong(layers, part);
    budget.spend(part.done);
    if (chosen === null) return false;
    const weights = new Float64Array(size * E);
    for (let at = 0; at < weights.length; at++)
      if (this.pair.values[head * E + at] >= 0)
        weights[at] = chosen[Math.floor(at / E)][this.pair.values[head * E + at]];
    this.hold(weights);
    return true;
  }

  /** The LP's optimum, or null when there was no time for it. The prices it leaves are those of its proof. */
  private optimum(simplex: Simplex, budget: Budget, work: number): LpSolution | null {
    // under time weights nothing chooses between optima but where the search begins
    const basis = this.contents.weighted
      ? undefined
      : {
          cell: this.live(this.cellStatus),
          flow: this.live(this.flowStatus),
          capacity: this.live(this.capacityStatus),
        };
    const optimum = simplex.solve(this.linearProblem(true), { pivotsMax: pivotsIn(budget, work), basis });
    const { prices } = optimum;
    if (prices) {
      const values = this.live(this.price);
      for (let n = 0; n < values.length; n++) values[n] = LP_UNIT * prices[n];
    }
    budget.spend(work + PIVOT_WORK * (optimum.iterations + (optimum.rows ?? 0) / ROWS_PER_PIVOT));
    return optimum.status === 'optimal' ? optimum : null;
  }

  /** The layers' rows of a matrix. */
  private live<V extends Float64Array | Int8Array>({ values, width }: Matrix<V>): V {
    const { head, size } = this.stack;
    return values.subarray(head * width, (head + size) * width) as V;
  }

  /** Quanta that no assignment exceeds, by the prices at hand. */
  private bound(): number {
    return this.proof.boundOf(this.layers());
  }

  /**
   * No time for the optimum: the better of going on as before and of each frame's own matching, and the lower of their
   * bounds.
   */
  private settleForLess(budget: Budget): void {
    const { head, size } = this.stack;
    const n = this.truthCount;
    if (this.contents.weighted) this.tidy();
    const carried = this.partner.values.slice(head * n, (head + size) * n);
    const earned = this.earned();
    let bound = this.bound();
    let alone = 0;
    const { contents } = this;
    this.partner.values.fill(-1, head * n, (head + size) * n);
    for (let row = head; row < head + size; row++) {
      this.matchRow(row);
      const frame = contents.frame(this.frameNumber.values[row]);
      alone += (contents.frameWeight(frame.number) / this.scale) * this.ceilingIn(frame);
    }
    if (contents.weighted) this.tidy();
    else this.hold(this.partnerWeights());
    if (this.earned() < earned) this.partner.values.set(carried, head * n);
    bound = Math.min(bound, Math.ceil(alone));
    budget.spend(size);
    const gap = bound - this.earned();
    this.conclude(gap <= 0 ? 'simplex' : 'open', Math.max(0, gap));
  }

  /** What its members are worth in a frame alone. */
  private ceilingIn(frame: FrameRecord): number {
    const { truthPrice, trackPrice } = this.context.matchings.of(frame);
    let sum = 0;
    frame.truths.forEach((truth, i) => {
      if (truthPrice[i] > 0 && this.indexOf.has(truth)) sum += truthPrice[i];
    });
    frame.tracks.forEach((track, j) => {
      if (trackPrice[j] > 0 && this.indexOf.has(track)) sum += trackPrice[j];
    });
    return sum;
  }

  /** What the assignment in `partner` earns, in quanta. */
  private earned(): number {
    return this.proof.earnedOf(this.layers());
  }

  private branch(simplex: Simplex, budget: Budget): void {
    const afforded = Math.ceil(budget.leftWork / NODE_WORK);
    const nodesMax = Math.min(afforded, this.context.fractional === 'force' ? NODES_MAX : SEARCHED_NODES_MAX);
    const { value, bound, weights } = simplex.solveIntegral(this.linearProblem(true), { nodesMax });
    this.take(weights);
    const gap = Math.max(0, bound - value) * LP_UNIT;
    const proven = Math.max(0, bound - value) <= 1e-9 * Math.max(1, Math.abs(value));
    this.conclude(proven ? 'branch' : 'open', gap);
    this.stale = !proven;
    this.known = true;
    if (proven && !this.contents.weighted) this.breakTies(Math.max(0, this.bound() - this.earned()), budget);
  }

  /**
   * A fractional optimum: its value without the surcharge is reported, and how far above it the best assignment known
   * lies. Where that is as good, the fractional optimum was one of several, and the assignment is another.
   */
  private relax(simplex: Simplex, budget: Budget): void {
    const problem = this.linearProblem(false);
    const { status, value, weights } = simplex.solve(problem, { pivotsMax: pivotsIn(budget, 0) });
    if (status !== 'optimal') {
      this.settleForLess(budget);
      this.stale = true;
      return;
    }
    const rounded = weights.map((weight) => (weight > 0.5 ? 1 : 0));
    if (!this.takeBest(rounded, budget)) this.takeBetter(problem, rounded, budget);
    const best = weightsValue(problem, this.partnerWeights());
    const gap = Math.max(0, value - best);
    if (gap <= 1e-9 * Math.max(1, value)) {
      this.conclude('simplex', gap * LP_UNIT);
      return;
    }
    this.conclude('open', gap * LP_UNIT);
    this.weights = weights;
    this.relaxed = true;
  }

  /** Finds the best assignment, beginning with one; false, and everything as before, when there are too many. */
  private takeBest(weights: Float64Array, budget: Budget): boolean {
    if (this.contents.weighted) return false;
    const before = this.partner.values.slice();
    this.take(weights);
    if (this.breakTies(Math.max(0, this.bound() - this.earned()), budget)) return true;
    this.partner.values.set(before);
    return false;
  }

  /** Takes one assignment, or what is settled for without it. */
  private takeBetter(problem: LpProblem, weights: Float64Array, budget: Budget): void {
    this.settleForLess(budget);
    const settled = this.partnerWeights();
    this.take(weights);
    if (weightsValue(problem, this.partnerWeights()) < weightsValue(problem, settled)) this.take(settled);
  }

  /** The assignment in `partner` as weights. */
  private partnerWeights(): Float64Array {
    const { head, size } = this.stack;
    const E = this.edges.length;
    const n = this.truthCount;
    const weights = new Float64Array(size * E);
    for (let row = head; row < head + size; row++)
      for (let i = row * n; i < (row + 1) * n; i++)
        if (this.partner.values[i] >= 0) weights[(row - head) * E + this.partner.values[i]] = 1;
    return weights;
  }

  /** Takes an assignment over. */
  private take(weights: Float64Array): void {
    if (!this.contents.weighted) {
      this.hold(weights);
      return;
    }
    const { head, size } = this.stack;
    const E = this.edges.length;
    this.partner.values.fill(-1, head * this.truthCount, (head + size) * this.truthCount);
    weights.forEach((weight, at) => {
      if (weight > 0.5)
        this.partner.values[(head + Math.floor(at / E)) * this.truthCount + this.edgeTruth[at % E]] = at % E;
    });
    this.tidy();
  }

  /** When a change happens matters under time weights: as the program has it, but for what costs nothing. */
  private tidy(): void {
    const { head, size } = this.stack;
    new ChangeTimes(this, this.benefit.values, this.changeCost.values, this.partner.values).tidy(head, head + size);
  }

  /** The proper pairs of an assignment, each held until one of its ends is needed elsewhere. */
  private hold(weights: Float64Array): void {
    const { head, size } = this.stack;
    const E = this.edges.length;
    const { truthCount: n, edgeTruth, edgeTrack } = this;
    const partner = this.partner.values;
    const held = new Int32Array(n).fill(-1);
    const holder = new Int32Array(this.trackCount).fill(-1);
    const used = new Uint8Array(n + this.trackCount);
    for (let row = head; row < head + size; row++) {
      for (let e = 0; e < E; e++) {
        if (weights[(row - head) * E + e] < 0.5 || this.pair.values[row * E + e] < 0) continue;
        const i = edgeTruth[e];
        const j = edgeTrack[e];
        if (held[i] === e) continue;
        if (!used[i] && !used[n + j]) for (let early = head; early < row; early++) partner[early * n + i] = e;
        if (held[i] >= 0) holder[edgeTrack[held[i]]] = -1;
        if (holder[j] >= 0) held[holder[j]] = -1;
        held[i] = e;
        holder[j] = i;
        used[i] = used[n + j] = 1;
      }
      for (let i = 0; i < n; i++) partner[row * n + i] = held[i];
    }
  }

  private linearProblem(withSurcharge: boolean): LpProblem {
    const { head, size } = this.stack;
    const E = this.edges.length;
    const benefit = this.benefit.values.slice(head * E, (head + size) * E);
    for (let n = 0; n < benefit.length; n++) benefit[n] /= LP_UNIT;
    const switchCost = new Float64Array(size);
    for (let n = 0; n < size; n++) {
      const price = this.priceInto(head + n);
      switchCost[n] = (withSurcharge ? surcharged(price) : price) / LP_UNIT;
    }
    return {
      frameCount: size,
      truthCount: this.truthCount,
      trackCount: this.trackCount,
      edgeTruth: this.edgeTruth,
      edgeTrack: this.edgeTrack,
      benefit,
      switchCost,
    };
  }

  /** Quanta that half a switch on the way into a row costs. */
  private priceInto(row: number): number {
    const { contents } = this;
    if (!contents.weighted || row === this.stack.head) return contents.priceQuanta;
    const { values } = this.frameNumber;
    return priceQuanta(contents.priceBetween(values[row - 1], values[row]) / this.scale);
  }

  /** Prices all layers anew by age. */
  private weigh(): void {
    const { contents, stack } = this;
    const E = this.edges.length;
    const { head, size } = stack;
    let greatest = 0;
    for (let row = head; row < head + size; row++)
      greatest = Math.max(greatest, contents.frameWeight(this.frameNumber.values[row]));
    this.scale = greatest === 0 ? 1 : 2 ** Math.floor(Math.log2(greatest));
    for (let row = head; row < head + size; row++) {
      const frame = contents.frame(this.frameNumber.values[row]);
      const weight = contents.frameWeight(frame.number) / this.scale;
      for (let e = 0; e < E; e++) {
        const pair = this.pair.values[row * E + e];
        if (pair >= 0) this.benefit.values[row * E + e] = weighed(weight, frame.benefit(pair));
      }
      this.price.values[row * this.price.width] = Number.NaN;
      if (row > head) this.changeCost.values[row] = surcharged(this.priceInto(row));
    }
  }

  /**
   * What the best assignment may gain under time weights by what was rounded, in quanta: by pairs that are not assigned
   * here, but for those that alone cost more than everything does; and by changes, which are `dearer` inside, by
   * `relative` of their price at most.
   */
  rounding(cost: number): { pairs: number; changes: number; relative: number } {
    const { contents, scale, truthCount: n } = this;
    const { head, size } = this.stack;
    let pairs = 0;
    let free = 0;
    let dearer = 0;
    let relative = 0;
    if (this.isolated) return { pairs, changes: 0, relative };
    for (let row = head; row < head + size; row++) {
      const { count, sum, most } = this.roundedIn(row, cost);
      const pairsMax = Math.min(n, this.trackCount);
      free += Math.min(count, pairsMax);
      pairs += Math.min(sum, pairsMax * most);
      if (row === head) continue;
      const price = contents.priceBetween(this.frameNumber.values[row - 1], this.frameNumber.values[row]);
      const more = scale * this.changeCost.values[row] - price;
      if (more < 0) pairs -= more * this.halvesInto(row);
      else if (more > dearer) dearer = more;
      if (more > relative * price) relative = price === 0 ? Number.POSITIVE_INFINITY : more / price;
    }
    return { pairs, changes: dearer * CHANGES_PER_PAIR * free, relative };
  }

  /** What was rounded of the pairs of a row that another assignment may gain by, but for those that cost too much. */
  private roundedIn(row: number, cost: number): { count: number; sum: number; most: number } {
    const { contents, scale } = this;
    const E = this.edges.length;
    const frame = contents.frame(this.frameNumber.values[row]);
    const weight = contents.frameWeight(frame.number);
    const rounded = { count: 0, sum: 0, most: 0 };
    for (let e = 0; e < E; e++) {
      const pair = this.pair.values[row * E + e];
      if (pair < 0 || weight * frame.distanceCost(pair) > cost) continue;
      const isOn = this.partner.values[row * this.truthCount + this.edgeTruth[e]] === e;
      // of those that are assigned, what earns next to nothing was rounded up
      if (isOn && this.benefit.values[row * E + e] > 1) continue;
      const off = Math.abs(weight * frame.earned(pair) - scale * this.benefit.values[row * E + e]);
      rounded.count++;
      rounded.sum += off;
      rounded.most = Math.max(rounded.most, off);
    }
    return rounded;
  }

  /** Writes what changed since the last solve into the frames. */
  private apply(): void {
    const { stack, truthCount: n, contents, weights } = this;
    const E = this.edges.length;
    const { head, size } = stack;
    const partner = this.partner.values;
    const applied = this.applied.values;
    this.retractHalves(head);
    for (let row = this.changedFrom; row < head + size; row++) {
      let changed = weights !== null;
      for (let i = row * n; i < (row + 1) * n && !changed; i++) changed = partner[i] !== applied[i];
      const number = this.frameNumber.values[row];
      if (changed) {
        const frame = contents.frame(number);
        contents.touch(frame);
        for (let e = 0; e < E; e++) {
          const pair = this.pair.values[row * E + e];
          if (pair < 0) continue;
          const chosen = partner[row * n + this.edgeTruth[e]] === e ? 1 : 0;
          frame.assign(pair, weights ? weights[(row - head) * E + e] : chosen);
        }
        // a fractional row is never taken as applied
        for (let i = row * n; i < (row + 1) * n; i++) applied[i] = weights ? -2 : partner[i];
      }
      const halves = row === head ? 0 : this.halvesInto(row);
      if (halves === this.appliedHalves.values[row] && halves === 0) continue;
      const at = halves === 0 ? number : contents.changeFrame(this.frameNumber.values[row - 1], number);
      this.retractHalves(row);
      contents.frame(at).halves += halves;
      this.appliedHalves.values[row] = halves;
      this.appliedFrame.values[row] = at;
    }
  }

  private halvesInto(row: number): number {
    const { weights } = this;
    let count = 0;
    if (weights) {
      const E = this.edges.length;
      const at = (row - this.stack.head) * E;
      for (let e = 0; e < E; e++) count += Math.abs(weights[at + e] - weights[at - E + e]);
      return count;
    }
    const n = this.truthCount;
    const partner = this.partner.values;
    for (let i = row * n; i < (row + 1) * n; i++) {
      const a = partner[i - n];
      const b = partner[i];
      if (a !== b) count += (a >= 0 ? 1 : 0) + (b >= 0 ? 1 : 0);
    }
    return count;
  }

  private retractHalves(row: number): void {
    const halves = this.appliedHalves.values[row];
    if (halves === 0) return;
    const number = this.appliedFrame.values[row];
    if (this.contents.holds(number)) this.contents.frame(number).halves -= halves;
    this.appliedHalves.values[row] = 0;
  }

  /** Takes back what it wrote; its edges go elsewhere. */
  dissolve(): void {
    this.alive = false;
    for (let row = this.stack.head; row < this.stack.head + this.stack.size; row++) this.retractHalves(row);
  }

  /** The edges assigned at a frame: those of the last layer not after it, or of the first layer before any. */
  forEachHeld(number: number, visit: (edge: Edge) => void): void {
    if (this.isolated) {
      visit(this.edges[0]);
      return;
    }
    const { head, size } = this.stack;
    const n = this.truthCount;
    let row = head;
    for (let end = head + size; row + 1 < end; ) {
      const middle = (row + end) >> 1;
      if (this.heldFrom(middle) <= number) row = middle;
      else end = middle;
    }
    if (this.weights) {
      const E = this.edges.length;
      for (let e = 0; e < E; e++) if (this.weights[(row - head) * E + e] > 0.5) visit(this.edges[e]);
      return;
    }
    for (let i = 0; i < n; i++) {
      const e = this.partner.values[row * n + i];
      if (e >= 0) visit(this.edges[e]);
    }
  }

  /** The frame from which on the assignment of a row holds. */
  private heldFrom(row: number): number {
    return this.contents.changeFrame(this.frameNumber.values[row - 1], this.frameNumber.values[row]);
  }
}

/** Copies a row of a matrix into another, each value to its place there, if it has one. */
function copyRow(
  { values: from, width }: Matrix,
  row: number,
  { values: to, width: toWidth }: Matrix,
  toRow: number,
  places: readonly number[],
): void {
  for (let n = 0; n < width; n++) if (places[n] >= 0) to[toRow * toWidth + places[n]] = from[row * width + n];
}

/** A benefit under a weight; at least 1, so that who was seen long ago is not taken for missed. */
function weighed(weight: number, benefit: number): number {
  return weight === 0 ? 0 : Math.max(1, Math.floor(weight * benefit));
}

/** How many pivots a budget affords after some work; undefined for no end. */
function pivotsIn(budget: Budget, work: number): number | undefined {
  const { leftWork } = budget;
  return leftWork === Number.POSITIVE_INFINITY ? undefined : Math.max(1, Math.floor((leftWork - work) / PIVOT_WORK));
}
