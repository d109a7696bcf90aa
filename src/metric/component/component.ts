/**
 * A component: truths and tracks connected by pairs that come closer than the cut-off somewhere in the window. It is
 * solved alone. It owns the layers (the frames in which it earns something), chooses the engine, and writes the
 * assignment back into the frames.
 */

import { LinearWindow } from '../program/linear-window.js';
import { PriceProof } from '../program/price-proof.js';
import type { LpProblem, LpSolution, Simplex } from '../program/simplex.js';
import type { Budget } from '../window/budget.js';
import type { FrameRecord } from '../window/frame-record.js';
import { LP_SURCHARGE, QUANTA } from '../window/quanta.js';
import type { Scene } from '../window/scene.js';
import type { Edge, Trajectory } from '../window/trajectory.js';
import { type AscentResult, ascend } from './ascent.js';
import { LayerStack, type Matrix } from './layers.js';
import { MatchingProgram, matchingTable } from './matchings.js';

export type EngineName = 'isolated' | 'matchings' | 'ascent' | 'simplex' | 'branch' | 'open';

export interface SolveSettings {
  solver: 'auto' | 'lp';
  exactness: 'lp' | 'force';
  /** states of one knot at the frontier; 0 turns it off */
  frontierMax: number;
  /** components with at most this many matchings are solved over all of them */
  matchingsMax: number;
  statesMax: number;
  sweepsMax: number;
  /** loads simplex and branch and bound when they are first needed; null where there are none */
  simplex: (() => Simplex) | null;
}

export class Component {
  readonly truthCount: number;
  readonly trackCount: number;
  readonly edgeTruth: Int32Array;
  readonly edgeTrack: Int32Array;
  engine: EngineName = 'isolated';
  /** how much the best assignment known may be below the optimum, in quanta */
  gap = 0;
  /** the LP metric is reported: not the assignment's cost but its lower bound */
  relaxed = false;
  /** marks a component whose frames changed since its last solve, or that was out of time then */
  stale = true;
  /** false once an edge came or went: it must be built anew */
  alive = true;

  private readonly stack: LayerStack;
  private readonly frameNumber: Matrix<Float64Array>;
  private readonly pair: Matrix<Int32Array>;
  private readonly benefit: Matrix<Float64Array>;
  private readonly changeCost: Matrix<Float64Array>;
  /** too many matchings to go through them all */
  private readonly large: boolean = false;
  private readonly partner: Matrix<Int32Array>;
  private readonly applied: Matrix<Int32Array>;
  private readonly appliedHalves: Matrix<Float64Array>;
  private readonly appliedFrame: Matrix<Float64Array>;
  private readonly program: MatchingProgram | null = null;
  private newCount = 0;
  /** solver 'lp' in a sliding window: truths, then tracks, and their prices */
  readonly trajectories: readonly Trajectory[];
  readonly prices: Float64Array[] = [];
  private linear: LinearWindow | null = null;
  private proof: PriceProof | null = null;
  /** `partner` holds an assignment of all layers but the new ones */
  private known = false;
  /** fractional or otherwise not read from `partner` */
  private weights: Float64Array | null = null;

  constructor(
    private readonly scene: Scene,
    private readonly settings: SolveSettings,
    readonly edges: Edge[],
  ) {
    const order = <T>(nodes: Iterable<T & { id: string }>) =>
      [...new Set(nodes)].sort((a, b) => (a.id < b.id ? -1 : 1));
    const truths = order(edges.map((e) => e.truth));
    const tracks = order(edges.map((e) => e.track));
    const truthIndex = new Map(truths.map((t, n) => [t, n]));
    const trackIndex = new Map(tracks.map((t, n) => [t, n]));
    edges.sort(
      (a, b) =>
        truthIndex.get(a.truth)! - truthIndex.get(b.truth)! || trackIndex.get(a.track)! - trackIndex.get(b.track)!,
    );
    this.trajectories = [...truths, ...tracks];
    this.truthCount = truths.length;
    this.trackCount = tracks.length;
    this.edgeTruth = Int32Array.from(edges, (e) => truthIndex.get(e.truth)!);
    this.edgeTrack = Int32Array.from(edges, (e) => trackIndex.get(e.track)!);
    const E = edges.length;
    this.stack = new LayerStack(E === 1 ? 0 : edges.reduce((n, e) => Math.max(n, e.size), 0) * 2);
    this.frameNumber = this.stack.matrix(Float64Array, 1);
    this.pair = this.stack.matrix(Int32Array, E);
    this.benefit = this.stack.matrix(Float64Array, E);
    this.changeCost = this.stack.matrix(Float64Array, 1);
    this.partner = this.stack.matrix(Int32Array, this.truthCount);
    this.applied = this.stack.matrix(Int32Array, this.truthCount);
    this.appliedHalves = this.stack.matrix(Float64Array, 1);
    this.appliedFrame = this.stack.matrix(Float64Array, 1);
    if (E > 1 && settings.solver === 'auto') {
      const table = matchingTable(this.edgeTruth, this.edgeTrack, this.truthCount, settings.matchingsMax);
      if (table) this.program = new MatchingProgram(table, this.stack);
      else this.large = true;
    }
  }

  get isolated(): boolean {
    return this.edges.length === 1;
  }

  /** Fills the layers from the edges' own records. */
  build(): void {
    const E = this.edges.length;
    if (E > 1) {
      const next = new Int32Array(E);
      const numbers = new Set<number>();
      for (const edge of this.edges) for (let n = 0; n < edge.size; n++) numbers.add(edge.frameAt(n));
      for (const number of [...numbers].sort((a, b) => a - b)) {
        const row = this.addLayer(this.scene.frame(number));
        for (let e = 0; e < E; e++) {
          const edge = this.edges[e];
          if (next[e] < edge.size && edge.frameAt(next[e]) === number) this.setPair(row, e, edge.pairAt(next[e]++));
        }
      }
    }
    if (this.slidesLinearly) this.inherit();
    this.edges.forEach((edge, e) => {
      edge.component = this;
      edge.local = e;
    });
  }

  private get slidesLinearly(): boolean {
    return this.settings.solver === 'lp' && this.scene.windowFrames !== null && !this.scene.weighted && !this.isolated;
  }

  /** Takes the warm program of the component that most of its edges come from, and the prices of its trajectories. */
  private inherit(): void {
    let best: Component | null = null;
    let most = 0;
    for (const old of new Set(this.edges.map((edge) => edge.component))) {
      const known = old?.linear?.knownOf(this.edges) ?? 0;
      if (known <= most) continue;
      best = old;
      most = known;
    }
    if (best) {
      this.linear = best.linear;
      best.linear = null;
    }
    for (const trajectory of this.trajectories) {
      trajectory.price ??= new Float64Array(this.scene.windowFrames!);
      this.prices.push(trajectory.price);
    }
  }

  /** Begins a layer with no pairs. */
  addLayer(frame: FrameRecord): number {
    const row = this.stack.append();
    const E = this.edges.length;
    this.frameNumber.values[row] = frame.number;
    this.pair.values.fill(-1, row * E, (row + 1) * E);
    this.benefit.values.fill(0, row * E, (row + 1) * E);
    this.changeCost.values[row] = this.scene.changeQuanta;
    this.applied.values.fill(-2, row * this.truthCount, (row + 1) * this.truthCount);
    this.appliedHalves.values[row] = 0;
    this.newCount++;
    this.stale = true;
    return row;
  }

  setPair(row: number, e: number, pair: number): void {
    const at = row * this.edges.length + e;
    this.pair.values[at] = pair;
    this.benefit.values[at] = this.scene.frame(this.frameNumber.values[row]).benefit(pair);
  }

  /** Adds a pair of the newest frame, beginning its layer when it is the first. */
  addPair(frame: FrameRecord, edge: Edge, pair: number): void {
    const last = this.stack.head + this.stack.size - 1;
    const row = this.stack.size > 0 && this.frameNumber.values[last] === frame.number ? last : this.addLayer(frame);
    this.setPair(row, edge.local, pair);
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
    if (this.scene.weighted) this.weigh();
    const newCount = this.scene.weighted ? this.stack.size : this.newCount;
    if (this.program) {
      this.engine = 'matchings';
      this.program.solve(this.benefit, this.changeCost.values, newCount, this.partner);
    } else if (this.large) {
      this.solveLarge(budget);
    } else {
      this.relax(budget);
    }
    this.newCount = 0;
    this.apply();
  }

  private solveLarge(budget: Budget): void {
    const { exact, late } = this.approach(budget);
    if (late) this.stale = true;
    else if (!exact && this.settings.simplex) this.relax(budget);
  }

  /** Takes what the ascent finds: an assignment, and how far it may be from the optimum. */
  private approach(budget: Budget): AscentResult {
    const result = this.ascend(budget);
    this.engine = result.exact ? 'ascent' : 'open';
    this.gap = result.gap;
    if (!result.exact) this.hold();
    return result;
  }

  /** An assignment that is not the best may leave a pair for frames in which nobody else needs its ends: holds it there as well. */
  private hold(): void {
    const before = this.earned();
    if (this.scene.weighted) this.tidy();
    else this.take('open', this.partnerWeights(), this.gap);
    this.gap = Math.max(1, this.gap - (this.earned() - before));
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

  /** Puts changes where they cost least, and gives up what earns nothing: where neither end is present nobody would see it come and go. */
  private tidy(): void {
    this.shed();
    this.move(1);
    this.move(-1);
  }

  private shed(): void {
    const { head, size } = this.stack;
    const E = this.edges.length;
    const n = this.truthCount;
    const partner = this.partner.values;
    for (let i = 0; i < n; i++) {
      for (let row = head, end = head; row < head + size; row = end) {
        const e = partner[row * n + i];
        let earned = 0;
        for (; end < head + size && partner[end * n + i] === e; end++)
          if (e >= 0) earned += this.benefit.values[end * E + e];
        if (earned > 0 || (row === head && end === head + size)) continue;
        for (let at = row; at < end; at++) partner[at * n + i] = -1;
      }
    }
  }

  /** Ends what is assigned, forward (1) or back in time (-1), where that is best: behind the last layer it earns in, or in any after it in which both ends are free. */
  private move(step: 1 | -1): void {
    const { head, size } = this.stack;
    const E = this.edges.length;
    const n = this.truthCount;
    const partner = this.partner.values;
    const within = (row: number) => row >= head && row < head + size;
    const taken = (row: number, track: number) => {
      for (let i = row * n; i < (row + 1) * n; i++)
        if (partner[i] >= 0 && this.edgeTrack[partner[i]] === track) return true;
      return false;
    };
    // of the boundary between a row and the one before it in the direction of `step`
    const changeInto = (row: number) => this.changeCost.values[step === 1 ? row : row + 1];
    for (let i = 0; i < n; i++) {
      let row = step === 1 ? head : head + size - 1;
      while (within(row)) {
        const e = partner[row * n + i];
        let last = row;
        let next = row;
        for (; within(next) && partner[next * n + i] === e; next += step)
          if (e >= 0 && this.benefit.values[next * E + e] > 0) last = next;
        row = next;
        if (e < 0) continue;
        let gain = 0;
        let most = Number.NEGATIVE_INFINITY;
        let best = next;
        let end = last + step;
        for (; ; end += step) {
          const again = within(end) && (end - next) * step >= 0 && partner[end * n + i] === e;
          const worth = within(end) ? gain + (again ? changeInto(end) : -changeInto(end)) : gain;
          if (worth >= most) {
            most = worth;
            best = end;
          }
          if (!within(end) || again) break;
          if ((end - next) * step >= 0 && (partner[end * n + i] >= 0 || taken(end, this.edgeTrack[e]))) break;
          gain += this.benefit.values[end * E + e];
        }
        for (let at = last + step; at !== best; at += step) partner[at * n + i] = e;
        for (let at = best; (next - at) * step > 0; at += step) partner[at * n + i] = -1;
        if ((best - row) * step > 0) row = best;
      }
    }
  }

  /** What the assignment in `partner` earns, in quanta. */
  private earned(): number {
    const { head, size } = this.stack;
    const E = this.edges.length;
    const n = this.truthCount;
    let earned = 0;
    for (let row = head; row < head + size; row++) {
      for (let i = row * n; i < (row + 1) * n; i++)
        if (this.partner.values[i] >= 0) earned += this.benefit.values[row * E + this.partner.values[i]];
      if (row > head) earned -= this.changeCost.values[row] * this.halvesInto(row);
    }
    return earned;
  }

  private ascend(budget: Budget): AscentResult {
    const { head, size } = this.stack;
    const layers = {
      layerCount: size,
      firstRow: head,
      benefit: this.benefit.values,
      changeCost: this.changeCost.values,
      uniform: !this.scene.weighted,
    };
    const { statesMax, sweepsMax } = this.settings;
    const target = this.partner.values.subarray(head * this.truthCount, (head + size) * this.truthCount);
    return ascend(this, layers, { statesMax, sweepsMax, budget }, target);
  }

  /** Linear program; then branch and bound if its optimum is fractional and exactness is forced. */
  private relax(budget: Budget): void {
    const simplex = this.settings.simplex?.();
    if (!simplex) throw new Error("solver 'lp' needs the simplex engine, which is not loaded here; use solver 'auto'");
    if (this.slidesLinearly && this.isProven()) {
      this.engine = 'simplex';
      return;
    }
    const problem = this.linearProblem(0);
    const optimum = this.optimum(simplex, problem, budget);
    this.known = optimum.status === 'optimal' && optimum.integral;
    if (optimum.status !== 'optimal') {
      this.stale = true;
      // of a large component, assignment and bound of the ascent stand
      if (!this.large) this.approach(budget);
      return;
    }
    if (optimum.integral) this.take('simplex', optimum.weights, 0);
    else if (this.settings.exactness === 'force')
      this.branch(simplex, this.linearProblem(LP_SURCHARGE), budget.leftMs());
    else {
      // a good assignment to hold the bound against; of a large component the ascent's is there
      if (!this.large) this.ascend(budget);
      this.takeRelaxed(problem, optimum.value, optimum.weights);
    }
  }

  /**
   * The LP's optimum, with the surcharge first, so that among equal optima the fewest switches win: with `solver: 'lp'` by the window's warm program,
   * otherwise from nothing, so that it depends on the frames alone. A fractional one is the LP metric and is asked for without the surcharge.
   */
  private optimum(simplex: Simplex, problem: LpProblem, budget: Budget): LpSolution {
    const { head, size } = this.stack;
    let optimum: LpSolution;
    if (this.slidesLinearly) {
      this.linear ??= new LinearWindow(this.scene, simplex, this.scene.windowFrames!);
      optimum = this.linear.relax(this, this.frameNumber.values.slice(head, head + size), budget.leftMs());
    } else optimum = simplex.solve(this.linearProblem(LP_SURCHARGE), { timeLimitMs: budget.leftMs() });
    if (optimum.status !== 'optimal' || optimum.integral) return optimum;
    return simplex.solve(problem, { timeLimitMs: budget.leftMs() });
  }

  /** Whether the assignment of the last window, gone on with, is an optimum of this one. */
  private isProven(): boolean {
    const { head, size } = this.stack;
    const firstNew = this.known ? head + size - this.newCount : this.recall();
    for (let row = firstNew; row < head + size; row++) this.goOn(row);
    this.known = true;
    this.proof ??= new PriceProof(this, this.prices, this.scene.changeQuanta);
    return this.proof.proves(
      {
        firstRow: head,
        layerCount: size,
        benefit: this.benefit.values,
        partner: this.partner.values,
        frameNumber: this.frameNumber.values,
      },
      firstNew,
    );
  }

  /** Reads the assignment of the layers that were solved before from the frames; returns the first row that was not. */
  private recall(): number {
    const { head, size } = this.stack;
    const E = this.edges.length;
    const { scene } = this;
    const weights = new Float64Array(size * E);
    let row = head;
    for (; row < head + size && this.frameNumber.values[row] <= scene.solvedNumber; row++) {
      const frame = scene.frame(this.frameNumber.values[row]);
      for (let e = 0; e < E; e++) {
        const pair = this.pair.values[row * E + e];
        if (pair >= 0) weights[(row - head) * E + e] = frame.on(pair);
      }
    }
    this.take('simplex', weights, 0);
    return row;
  }

  /** Goes on with the assignment of the row before; two ends that were never assigned join. */
  private goOn(row: number): void {
    const { truthCount: n, edgeTruth, edgeTrack } = this;
    const { head } = this.stack;
    const E = this.edges.length;
    const partner = this.partner.values;
    for (let i = 0; i < n; i++) partner[row * n + i] = row > head ? partner[(row - 1) * n + i] : -1;
    const used = new Uint8Array(n + this.trackCount);
    for (let at = head * n; at < (row + 1) * n; at++) {
      const e = partner[at];
      if (e >= 0) used[edgeTruth[e]] = used[n + edgeTrack[e]] = 1;
    }
    for (let e = 0; e < E; e++) {
      const i = edgeTruth[e];
      const j = n + edgeTrack[e];
      if (this.benefit.values[row * E + e] === 0 || used[i] || used[j]) continue;
      used[i] = used[j] = 1;
      for (let early = head; early <= row; early++) partner[early * n + i] = e;
    }
  }

  private branch(simplex: Simplex, problem: LpProblem, timeLimitMs: number | undefined): void {
    const { value, bound, weights } = simplex.solveIntegral(problem, { timeLimitMs });
    const gap = Math.max(0, bound - value);
    const proven = gap <= 1e-9 * Math.max(1, Math.abs(value));
    this.take(proven ? 'branch' : 'open', weights, gap * QUANTA);
    this.stale = !proven && timeLimitMs !== undefined;
  }

  /** Writes an assignment of all layers to `partner`. */
  private assign(weights: Float64Array): void {
    const { head, size } = this.stack;
    const E = this.edges.length;
    this.partner.values.fill(-1, head * this.truthCount, (head + size) * this.truthCount);
    weights.forEach((weight, at) => {
      if (weight > 0.5)
        this.partner.values[(head + Math.floor(at / E)) * this.truthCount + this.edgeTruth[at % E]] = at % E;
    });
  }

  /** Takes an assignment over: its proper pairs, each held until one of its ends is needed elsewhere. */
  private take(engine: EngineName, weights: Float64Array, gap: number): void {
    this.engine = engine;
    this.gap = gap;
    if (this.scene.weighted) {
      // when a change happens matters: as the program has it, but for what costs nothing
      this.assign(weights);
      this.tidy();
      return;
    }
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

  /**
   * A fractional optimum: its value is reported, and how far above it the best assignment known lies. Where that is as good, the fractional
   * optimum was one of several, and the assignment is another.
   */
  private takeRelaxed(problem: LpProblem, value: number, weights: Float64Array): void {
    const { head } = this.stack;
    const E = this.edges.length;
    const partner = this.partner.values;
    const ascended = assignmentValue(problem, (at) =>
      partner[(head + Math.floor(at / E)) * this.truthCount + this.edgeTruth[at % E]] === at % E ? 1 : 0,
    );
    if (value - ascended <= 1e-9 * Math.max(1, value)) {
      this.take('simplex', this.partnerWeights(), Math.max(0, value - ascended) * QUANTA);
      return;
    }
    const known = Math.max(
      ascended,
      assignmentValue(problem, (at) => (weights[at] > 0.5 ? 1 : 0)),
    );
    this.engine = 'open';
    this.gap = Math.max(0, value - known) * QUANTA;
    this.weights = weights;
    this.relaxed = true;
  }

  private linearProblem(surcharge: number): LpProblem {
    const { head, size } = this.stack;
    const E = this.edges.length;
    const benefit = this.benefit.values.slice(head * E, (head + size) * E);
    for (let n = 0; n < benefit.length; n++) benefit[n] /= QUANTA;
    const switchCost = new Float64Array(size);
    for (let n = 0; n < size; n++) switchCost[n] = (this.priceInto(head + n) + surcharge) / QUANTA;
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
    const { scene } = this;
    if (!scene.weighted || row === this.stack.head) return scene.priceQuanta;
    const { values } = this.frameNumber;
    return scene.priceQuantaBetween(values[row - 1], values[row]);
  }

  /** Prices all layers anew by age. */
  private weigh(): void {
    const { scene, stack } = this;
    const E = this.edges.length;
    const { head, size } = stack;
    for (let row = head; row < head + size; row++) {
      const frame = scene.frame(this.frameNumber.values[row]);
      const weight = scene.frameWeight(frame.number);
      for (let e = 0; e < E; e++) {
        const pair = this.pair.values[row * E + e];
        if (pair >= 0) this.benefit.values[row * E + e] = Math.floor(weight * frame.benefit(pair));
      }
      if (row > head) this.changeCost.values[row] = scene.surcharged(this.priceInto(row));
    }
  }

  /** Writes what changed since the last solve into the frames. */
  private apply(): void {
    const { stack, truthCount: n, scene, weights } = this;
    const E = this.edges.length;
    const { head, size } = stack;
    const partner = this.partner.values;
    const applied = this.applied.values;
    for (let row = head; row < head + size; row++) {
      let changed = weights !== null;
      for (let i = row * n; i < (row + 1) * n && !changed; i++) changed = partner[i] !== applied[i];
      const number = this.frameNumber.values[row];
      if (changed) {
        const frame = scene.frame(number);
        for (let e = 0; e < E; e++) {
          const pair = this.pair.values[row * E + e];
          if (pair < 0) continue;
          const chosen = partner[row * n + this.edgeTruth[e]] === e ? 1 : 0;
          frame.assign(pair, weights ? weights[(row - head) * E + e] : chosen);
        }
        // a fractional row is never taken as applied
        for (let i = row * n; i < (row + 1) * n; i++) applied[i] = weights ? -2 : partner[i];
        scene.touch(frame);
      }
      const halves = row === head ? 0 : this.halvesInto(row);
      if (halves === this.appliedHalves.values[row] && halves === 0) continue;
      const at = halves === 0 ? number : scene.changeFrame(this.frameNumber.values[row - 1], number);
      this.retractHalves(row);
      scene.frame(at).halves += halves;
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
    if (this.scene.holds(number)) this.scene.frame(number).halves -= halves;
    this.appliedHalves.values[row] = 0;
  }

  /** Takes back what it wrote and frees what it holds; its edges go to other components. */
  dissolve(): void {
    this.alive = false;
    for (let row = this.stack.head; row < this.stack.head + this.stack.size; row++) this.retractHalves(row);
  }

  /** Frees what no other component took over. */
  dispose(): void {
    this.linear?.dispose();
    this.linear = null;
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
    return this.scene.changeFrame(this.frameNumber.values[row - 1], this.frameNumber.values[row]);
  }
}

/** Objective of an assignment in units of c^p. */
function assignmentValue(problem: LpProblem, weight: (at: number) => number): number {
  const E = problem.edgeTruth.length;
  let value = 0;
  for (let at = 0; at < problem.benefit.length; at++) {
    value += problem.benefit[at] * weight(at);
    if (at >= E) value -= problem.switchCost[Math.floor(at / E)] * Math.abs(weight(at) - weight(at - E));
  }
  return value;
}
