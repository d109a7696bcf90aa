/**
 * A component: truths and tracks connected by pairs that come closer than the cut-off somewhere in the window, solved
 * alone as a linear program that is kept warm. It owns the layers (the frames in which it earns something) and writes
 * the assignment back into the frames.
 *
 * A window is solved when assignment and bound meet. First the last assignment is gone on with, and the last prices are
 * moved until they prove it; if they do not, the optimum is looked for near their bound; and if it is not there, HiGHS
 * is asked, restarted from the last basis. When there is no time for that, the better of going on and of matching each
 * frame alone stands, under the lower of the two bounds.
 */

import type { Budget } from '../window/budget.js';
import type { FramePairs, Prospects } from '../window/choice.js';
import type { WindowContents } from '../window/contents.js';
import type { FrameRecord } from '../window/frame-record.js';
import { QUANTA } from '../window/quanta.js';
import type { Edge } from '../window/trajectory.js';
import { ComponentRows, LP_UNIT, type Places } from './component-rows.js';
import type { Matrix } from './layers.js';
import { type LpSolution, weightsValue } from './linear-program.js';
import { PriceProof } from './price-proof.js';
import type { Simplex } from './simplex.js';
import { TieBreak, type Ties } from './tie-break.js';
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
  readonly places: Places;
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
  readonly chooseAmong: (
    layers: readonly FramePairs[],
    prospects: Prospects,
    budget: Budget,
  ) => readonly Uint8Array[] | null;
  /** null where HiGHS is not loaded */
  readonly simplex: () => Simplex | null;
}

/** work of looking at one edge in one layer, by prices and by the linear program, and of a pivot */
const PROOF_WORK = 1 / 16;
const PROGRAM_WORK = 1;
const PIVOT_WORK = 128;
/** the most that is spent on the choice between optima */
const CHOICE_WORK = 2 ** 20;
/** how far below the bound the best assignment is looked for at first, in quanta */
const FIRST_GAP = QUANTA / 64;
/** up to which gap it is looked for before simplex is asked, and with how much work, for each edge in each layer */
const NEAR_GAP = 2 * QUANTA;
const NEAR_WORK = 4;
const NEAR_WORK_MIN = 1024;
/** of a node of branch and bound */
const NODE_WORK = 1024;
const NODES_MAX = 2 ** 31 - 1;
/** unless exactness is forced: nodes, and edges times layers with which a search would take minutes and gigabytes */
const SEARCHED_NODES_MAX = 500;
const SEARCHED_CELLS_MAX = 2 ** 14;
/** with more edges times frames the program does not fit into memory */
const CELLS_MAX = 2 ** 25;

export class Component extends ComponentRows {
  engine: EngineName = 'isolated';
  /** how much the best assignment known may be below the optimum, in quanta */
  gap = 0;
  /** the LP metric is reported: not the assignment's cost but its lower bound */
  relaxed = false;
  /** of putting it together */
  work = 0;
  /** false once an edge came or went: it must be built anew */
  alive = true;
  /** [row * truthCount + truth]: its edge as it was last written into the frames */
  private readonly applied: Matrix<Int32Array>;
  private readonly appliedHalves: Matrix<Float64Array>;
  private readonly appliedFrame: Matrix<Float64Array>;
  /** rows before this are assigned as they were when the assignment was last written into the frames */
  private changedFrom = 0;
  private readonly proof: PriceProof;
  private readonly ties: TieBreak;
  /** `partner` holds an assignment of all layers but the new ones */
  private known = false;

  constructor(
    private readonly context: ProgramContext,
    given: readonly Edge[],
    /** the frame from which on the frontier could not do it */
    readonly since: number,
    /** so many windows later it may try again */
    readonly patience: number,
  ) {
    super(context.contents, context.places, given);
    this.applied = this.stack.matrix(Int32Array, this.truthCount);
    this.appliedHalves = this.stack.matrix(Float64Array, 1);
    this.appliedFrame = this.stack.matrix(Float64Array, 1);
    this.proof = new PriceProof(this);
    this.ties = new TieBreak(this, this.proof);
    if (!this.isolated) this.build();
  }

  protected override addLayer(number: number): number {
    const row = super.addLayer(number);
    this.applied.values.fill(-2, row * this.truthCount, (row + 1) * this.truthCount);
    this.appliedHalves.values[row] = 0;
    return row;
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
    if (!this.proves(budget) && !this.provesAnew(budget)) return this.isNear(budget);
    this.chooseAmongEqual(this.proof.gap, budget);
    return true;
  }

  /**
   * Whether the optimum is so near to the bound that it is found there with less work than simplex takes; that hardly
   * ever pays where switches are cheap and frequent.
   */
  private isNear(budget: Budget): boolean {
    const { gap } = this.proof;
    const { weighted, prices, unit } = this.contents;
    const isBest = !weighted && this.context.fractional !== 'report' && prices.half >= unit;
    if (!isBest || gap > NEAR_GAP || budget.spent) return false;
    const part = budget.part(NEAR_WORK * this.cellCount + NEAR_WORK_MIN);
    const before = this.partnerWeights();
    const isFound = this.closeIn(gap, part);
    budget.spend(part.done);
    if (isFound) this.conclude('simplex', 0);
    else this.hold(before);
    return isFound;
  }

  private proves(budget: Budget): boolean {
    return this.proof.proves(this.layers(), budget, PROOF_WORK * this.cellCount);
  }

  /**
   * The same with prices that the assignment alone suggests: those at hand may come of windows and components in which
   * it was another, and simplex takes a hundred times as long.
   */
  private provesAnew(budget: Budget): boolean {
    if (this.contents.weighted || budget.spent) return false;
    this.live(this.price).fill(Number.NaN);
    return this.proves(budget);
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

  private conclude(engine: EngineName, gap: number): void {
    this.engine = engine;
    this.gap = gap;
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
    const earned = this.earned();
    this.hold(this.partnerWeights());
    this.gap = Math.max(0, this.gap - (this.earned() - earned));
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
    const simplex = this.affordedSimplex(budget);
    const optimum = simplex && this.optimum(simplex, budget);
    if (simplex === null || optimum === null) {
      this.stale = true;
      this.settleForLess();
    } else this.takeOptimum(simplex, optimum, budget);
  }

  private takeOptimum(simplex: Simplex, { integral, weights }: LpSolution, budget: Budget): void {
    this.known = integral;
    if (integral) {
      this.take(weights);
      this.chooseAmongEqual(Math.max(0, this.bound() - this.earned()), budget);
    } else this.search(simplex, weights, budget);
  }

  /** Work of writing the program down. */
  private get programWork(): number {
    return PROGRAM_WORK * this.cellCount;
  }

  /** HiGHS, if it is there and the program fits into memory and the budget. */
  private affordedSimplex(budget: Budget): Simplex | null {
    const fits = this.cellCount <= CELLS_MAX;
    return fits && budget.affords(this.programWork + PIVOT_WORK) ? this.context.simplex() : null;
  }

  /**
   * The optimum is fractional: looks for the best assignment among those within the gap, then by branch and bound,
   * unless the linear program's value is asked for.
   */
  private search(simplex: Simplex, weights: Float64Array, budget: Budget): void {
    this.take(weights);
    const gap = Math.max(0, this.bound() - this.earned());
    const found = !this.contents.weighted && this.closeIn(gap, budget);
    if (!found) this.take(weights);
    const { fractional } = this.context;
    if (fractional !== 'report') {
      if (found) this.conclude('branch', 0);
      else if (fractional === 'force' || this.cellCount <= SEARCHED_CELLS_MAX) this.branch(simplex, budget);
      else this.conclude('open', gap);
      if (this.engine !== 'open' || fractional === 'force') return;
    }
    this.relax(simplex, budget, found);
  }

  /** Looks for the best assignment nearer and nearer to the bound: the fewer may be it, the sooner they are through. */
  private closeIn(gap: number, budget: Budget): boolean {
    for (let within = FIRST_GAP; ; within *= 16) {
      const most = Math.min(within, gap);
      budget.spend(2 * PROOF_WORK * this.cellCount);
      if (!this.breakTies(most, budget)) return false;
      if (this.bound() - this.earned() <= most) return true;
    }
  }

  /** Puts the one that is always chosen in place of an assignment up to a gap below the bound, if it can. */
  private breakTies(gap: number, budget: Budget): boolean {
    const layers = this.layers();
    this.changedFrom = this.stack.head;
    this.proof.center(layers);
    return !this.ties.hasChoice(layers, gap) || this.chooseAtFrontier(this.ties.ties(layers, gap), budget);
  }

  /** The frontier chooses among the pairs that may be assigned. */
  private chooseAtFrontier(ties: Ties, budget: Budget): boolean {
    const { may: mayBeOn } = ties;
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
    const chosen = this.context.chooseAmong(layers, this.prospects(ties), part);
    budget.spend(part.done);
    if (chosen === null) return false;
    const weights = this.partnerWeights();
    for (let at = 0; at < weights.length; at++)
      if (mayBeOn[at] && this.pair.values[head * E + at] >= 0)
        weights[at] = chosen[Math.floor(at / E)][this.pair.values[head * E + at]];
    this.hold(weights);
    return true;
  }

  private prospects({ held, fresh, spared, slack }: Ties): Prospects {
    const { head, size } = this.stack;
    const E = this.edges.length;
    const X = this.trajectories.length;
    const layerOf = new Map<number, number>();
    for (let k = 0; k < size; k++) layerOf.set(this.frameNumber.values[head + k], k);
    const { edge: places, trajectory: objects } = this.places;
    return {
      slack,
      held: (edge, number) => held[layerOf.get(number)! * E + places[edge.slot]],
      fresh: (edge, number) => fresh[layerOf.get(number)! * E + places[edge.slot]],
      spared: ({ slot }, number) => spared[layerOf.get(number)! * X + objects[slot]],
    };
  }

  /** The LP's optimum, or null when there was no time for it. The prices it leaves are those of its proof. */
  private optimum(simplex: Simplex, budget: Budget): LpSolution | null {
    const work = this.programWork;
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

  /** Quanta that no assignment exceeds, by the prices at hand. */
  private bound(): number {
    return this.proof.boundOf(this.layers());
  }

  /**
   * No time for the optimum: the better of going on as before and of each frame's own matching, and the lower of their
   * bounds.
   */
  private settleForLess(): void {
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
      alone += (contents.frameWeight(frame.number) / this.scale) * this.ceilingIn(row);
    }
    if (contents.weighted) this.tidy();
    else this.hold(this.partnerWeights());
    if (this.earned() < earned) this.partner.values.set(carried, head * n);
    bound = Math.min(bound, Math.ceil(alone));
    const gap = bound - this.earned();
    this.conclude(gap <= 0 ? 'simplex' : 'open', Math.max(0, gap));
  }

  /** What its members are worth in the frame of a row alone; who has no pair there is worth nothing. */
  private ceilingIn(row: number): number {
    const { edgeTruth, edgeTrack, truthCount: n } = this;
    const frame = this.contents.frame(this.frameNumber.values[row]);
    const { truthPrice, trackPrice } = this.context.matchings.of(frame);
    const E = this.edges.length;
    const counted = new Uint8Array(this.trajectories.length);
    let sum = 0;
    for (let e = 0; e < E; e++) {
      const pair = this.pair.values[row * E + e];
      if (pair < 0) continue;
      const [i, j] = [edgeTruth[e], n + edgeTrack[e]];
      if (!counted[i]) sum += truthPrice[frame.truthIndex(pair)];
      if (!counted[j]) sum += trackPrice[frame.trackIndex(pair)];
      counted[i] = counted[j] = 1;
    }
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
  private relax(simplex: Simplex, budget: Budget, isBest: boolean): void {
    const problem = this.linearProblem(false);
    const { status, value, weights } = simplex.solve(problem, { pivotsMax: pivotsIn(budget, 0) });
    if (status === 'optimal' && !isBest) this.take(weights);
    if (status !== 'optimal' || !isBest) this.settleForLess();
    if (status !== 'optimal') {
      this.stale = true;
      return;
    }
    const gap = Math.max(0, value - weightsValue(problem, this.partnerWeights()));
    const isOptimal = gap <= 1e-9 * Math.max(1, value);
    this.conclude(isOptimal ? 'simplex' : 'open', gap * LP_UNIT);
    if (isOptimal) return;
    this.weights = weights;
    this.relaxed = true;
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

/** How many pivots a budget affords after some work; undefined for no end. */
function pivotsIn(budget: Budget, work: number): number | undefined {
  const { leftWork } = budget;
  return leftWork === Number.POSITIVE_INFINITY ? undefined : Math.max(1, Math.floor((leftWork - work) / PIVOT_WORK));
}
