/**
 * What is inside the window: frames, trajectories, edges (pairs that come closer than the cut-off) and the components they
 * form. Frames enter and leave; only components that a frame touches are solved again. Memory is bounded by the
 * window's content: a trajectory or edge without a frame in the window is forgotten.
 *
 * Costs are read from the frames' own sums, always added up in the same order, so that a window that slid here and one
 * that was built from scratch give the same digits.
 */

import { Component, type SolveSettings } from '../component/component.js';
import { PairFinder } from '../distance.js';
import { type PackedFrame, placeOf } from '../frame.js';
import { matchFrame } from '../frame-matching.js';
import { Frontier } from '../frontier/frontier.js';
import type { Params } from '../params.js';
import type { Budget } from './budget.js';
import { addUp, FrameRecord } from './frame-record.js';
import { LP_SURCHARGE, priceQuanta, QUANTA, surcharge } from './quanta.js';
import { Edge, Trajectory } from './trajectory.js';

/** Everything is worked from the beginning when something is due in more than one in so many frames. */
const DUE_SHARE = 2;
/** So many times before it is tried again to do with less. */
const SWEEPS = 30;

/** Prices of one miss, one false object and half a switch. */
export interface Prices {
  readonly missed: number;
  readonly false: number;
  readonly half: number;
}

export class Scene {
  readonly truths = new Map<string, Trajectory>();
  readonly tracks = new Map<string, Trajectory>();
  readonly components = new Set<Component>();
  /** price of half a switch in quanta, without and with the surcharge */
  readonly priceQuanta: number;
  readonly changeQuanta: number;
  readonly weighted: boolean;
  /** solved as a linear program only */
  readonly byLp: boolean;
  /** c^p */
  readonly unit: number;
  readonly prices: Prices;
  private frames: FrameRecord[] = [];
  private first = 0;
  private firstNumber = 0;
  private readonly finder: PairFinder;
  private readonly loose: Edge[] = [];
  /** components whose edges are loose */
  private readonly dissolved: Component[] = [];
  private readonly touchedFrames: FrameRecord[] = [];
  /** per-frame GOSPA: no components, each frame is solved when it enters */
  private readonly framewise: boolean;
  /** solves everything that is not weighted, until a knot grows too large; null otherwise */
  private readonly frontier: Frontier | null;
  /** frame number up to which the frontier looks ahead */
  private aheadUntil = Number.POSITIVE_INFINITY;
  /** how many more times everything is worked from the beginning */
  private sweepCount = 0;
  /** edges went back to the frontier, which has to begin anew */
  private softened = false;
  /** first frame the frontier has not seen */
  private nextNumber = 0;
  private readonly perhapsAlone: Edge[] = [];
  /** scratch: pairs of a frame that the frontier works */
  private pairs = new Int32Array(32);
  edgeCount = 0;
  aloneCount = 0;
  private serial = 0;
  /** lists of ids of the newest frame */
  private newestIds: { reference: string[]; tracker: string[] } | null = null;
  /** frames up to this number have an assignment */
  solvedNumber = -1;

  constructor(
    readonly params: Params,
    private readonly settings: SolveSettings,
    /** length of the window; null when all frames stay */
    readonly windowFrames: number | null,
  ) {
    this.unit = params.cutoff ** params.exponent;
    this.finder = new PairFinder(params.distance, params.cutoff);
    const { missShare = 0.5 } = params;
    const half = params.switchPenalty ** params.exponent / 2;
    this.prices = { missed: missShare * this.unit, false: (1 - missShare) * this.unit, half };
    this.byLp = settings.solver === 'lp';
    this.priceQuanta = priceQuanta(half / this.unit);
    this.changeQuanta = this.surcharged(this.priceQuanta);
    this.weighted = params.weights !== undefined;
    this.framewise = params.switchPenalty === 0;
    const frontier = settings.solver === 'auto' && !this.weighted && !this.framewise && settings.frontierMax > 0;
    const lookahead = this.changeQuanta > QUANTA / 2;
    this.frontier = frontier
      ? new Frontier(this.changeQuanta, settings.frontierMax, lookahead, lookahead && windowFrames === null, (frame) =>
          this.touch(frame),
        )
      : null;
  }

  get size(): number {
    return this.frames.length - this.first;
  }

  /** Numbers the first frame; before any has entered. */
  startAt(number: number): void {
    this.firstNumber = number;
    this.nextNumber = number;
  }

  get newestNumber(): number {
    return this.firstNumber + this.size - 1;
  }

  get oldestNumber(): number {
    return this.firstNumber;
  }

  holds(number: number): boolean {
    return number >= this.firstNumber && number <= this.newestNumber;
  }

  frame(number: number): FrameRecord {
    return this.frames[this.first + number - this.firstNumber];
  }

  /** The window's frames, oldest first. */
  frameList(): FrameRecord[] {
    return this.frames.slice(this.first);
  }

  /** Takes a frame in; its number follows the newest. */
  enter(packed: PackedFrame): void {
    this.soften();
    this.finder.find(packed);
    const { count, truth, track } = this.finder;
    const newest = this.size > 0 ? this.frame(this.newestNumber) : null;
    const truths = this.appearAll(this.truths, packed.reference.ids, this.newestIds?.reference, newest?.truths);
    const tracks = this.appearAll(this.tracks, packed.tracker.ids, this.newestIds?.tracker, newest?.tracks);
    this.newestIds = { reference: packed.reference.ids, tracker: packed.tracker.ids };
    const edges: Edge[] = this.framewise ? [] : new Array(count);
    const { exponent } = this.params;
    const number = this.firstNumber + this.size;
    const frame = new FrameRecord(number, packed, truths, tracks, edges, this.finder, exponent, this.unit);
    this.frames.push(frame);
    this.touch(frame);
    if (this.framewise) matchFrame(frame);
    else for (let pair = 0; pair < count; pair++) this.enterPair(frame, pair, truths[truth[pair]], tracks[track[pair]]);
    // in a calm scene one list is that of many frames
    if (newest && sameEdges(edges, newest.edges)) frame.edges = newest.edges;
  }

  /** The trajectories of a feed; those of the newest frame once more, when it has the same list of ids. */
  private appearAll(
    side: Map<string, Trajectory>,
    ids: string[],
    newestIds: string[] | undefined,
    newest: Trajectory[] | undefined,
  ): Trajectory[] {
    if (newest && ids === newestIds) {
      for (const trajectory of newest) trajectory.presence++;
      return newest;
    }
    const list: Trajectory[] = new Array(ids.length);
    // most of them follow each other as in the newest frame: they are found there sooner than by their id
    let next = 0;
    for (let n = 0; n < ids.length; n++) {
      const at = newest && newestIds ? placeOf(ids[n], newestIds, next) : -1;
      if (at >= 0) {
        list[n] = newest![at];
        list[n].presence++;
        next = at + 1;
      } else list[n] = this.appear(side, ids[n]);
    }
    return list;
  }

  private appear(side: Map<string, Trajectory>, id: string): Trajectory {
    let trajectory = side.get(id);
    if (trajectory === undefined) {
      trajectory = new Trajectory(id, this.serial++);
      side.set(id, trajectory);
    }
    trajectory.presence++;
    return trajectory;
  }

  private enterPair(frame: FrameRecord, pair: number, truth: Trajectory, track: Trajectory): void {
    const edge = truth.edgeWith(track) ?? this.addEdge(truth, track);
    truth.latest = edge;
    frame.edges[pair] = edge;
    edge.add(frame.number, pair);
    const benefit = frame.benefit(pair);
    edge.total += benefit;
    if (this.frontier?.lookahead) edge.addSum(benefit);
    if (edge.component?.alive) {
      if (edge.component.isolated) frame.assign(pair, 1);
      else edge.component.addPair(frame, edge, pair);
    } else if (edge.alone) frame.assign(pair, 1);
  }

  private setAlone(edge: Edge, alone: boolean): void {
    if (edge.alone === alone) return;
    edge.alone = alone;
    this.aloneCount += alone ? 1 : -1;
  }

  private addEdge(truth: Trajectory, track: Trajectory): Edge {
    const edge = new Edge(truth, track);
    this.edgeCount++;
    const linkedTruth = this.meet(truth);
    const linkedTrack = this.meet(track);
    if (linkedTruth || linkedTrack || !this.frontier) this.loose.push(edge);
    else if (truth.edges.length + track.edges.length === 0) this.setAlone(edge, true);
    truth.addEdge(edge);
    track.addEdge(edge);
    return edge;
  }

  /** A trajectory gets another edge: tells whether those it has are in components, which are taken apart. */
  private meet({ edges }: Trajectory): boolean {
    let linked = false;
    for (let n = 0; n < edges.length; n++) {
      const edge = edges[n];
      if (edge.alone) this.contest(edge);
      if (!edge.component) continue;
      this.loosen(edge.component);
      linked = true;
    }
    return linked;
  }

  /** A pair that was alone has got company: the frontier must work through its frames. */
  private contest(edge: Edge): void {
    this.setAlone(edge, false);
    this.frontier?.restart(edge.truth);
    this.frontier?.restart(edge.track);
  }

  /** Lets the oldest frame go. */
  leave(): void {
    this.soften();
    const frame = this.frames[this.first];
    for (let pair = 0; pair < frame.edges.length; pair++) {
      const edge = frame.edges[pair];
      edge.dropFirst();
      edge.total -= frame.benefit(pair);
      if (edge.component?.alive && !edge.component.isolated) edge.component.dropFrame(frame.number);
      else if (!edge.component && !edge.alone) {
        this.frontier?.restart(edge.truth);
        this.frontier?.restart(edge.track);
      }
      if (edge.size === 0) this.removeEdge(edge);
    }
    for (const truth of frame.truths) if (--truth.presence === 0) this.forget(this.truths, truth);
    for (const track of frame.tracks) if (--track.presence === 0) this.forget(this.tracks, track);
    this.frontier?.dismiss(frame);
    this.frames[this.first++] = undefined as unknown as FrameRecord;
    this.firstNumber++;
    if (this.first > 64 && this.first * 2 > this.frames.length) {
      this.frames = this.frames.slice(this.first);
      this.first = 0;
    }
  }

  private removeEdge(edge: Edge): void {
    const { truth, track } = edge;
    truth.removeEdge(edge);
    if (truth.latest === edge) truth.latest = null;
    track.removeEdge(edge);
    this.edgeCount--;
    this.setAlone(edge, false);
    // only the frontier asks for them, and forgets them then
    if (this.frontier) {
      for (const other of truth.edges) this.perhapsAlone.push(other);
      for (const other of track.edges) this.perhapsAlone.push(other);
    }
    const at = this.loose.indexOf(edge);
    if (at >= 0) this.loose.splice(at, 1);
    if (edge.component) this.loosen(edge.component);
  }

  private forget(side: Map<string, Trajectory>, trajectory: Trajectory): void {
    side.delete(trajectory.id);
    this.frontier?.forget(trajectory);
    const { partner } = trajectory;
    if (partner) {
      partner.partner = null;
      partner.partnerGone = trajectory.id;
    }
    trajectory.leave();
  }

  /** Takes a component apart: its edges wait to be put into new ones. */
  private loosen(component: Component): void {
    if (!component.alive) return;
    component.dissolve();
    this.dissolved.push(component);
    this.components.delete(component);
    for (const edge of component.edges) this.loose.push(edge);
  }

  /** Marks a frame whose assignment changed. */
  touch(frame: FrameRecord): void {
    if (frame.touched) return;
    frame.touched = true;
    this.touchedFrames.push(frame);
  }

  /** Brings the assignment of the whole window up to date. */
  solve(budget: Budget): void {
    this.frontier?.begin(budget, this.oldestNumber, this.size);
    if (this.frontier) this.advanceFrontier(this.frontier);
    else this.regroup();
    for (const component of this.components) {
      if (component.stale || this.weighted) component.solve(budget);
    }
    for (const frame of this.touchedFrames) addUp(frame);
    this.touchedFrames.length = 0;
    this.solvedNumber = this.newestNumber;
  }

  private advanceFrontier(frontier: Frontier): void {
    this.regroup();
    const over = frontier.lookahead && this.newestNumber >= this.aheadUntil;
    if (over) frontier.lookahead = false;
    if (over || this.softened || frontier.sweeping) this.beginAnew(frontier);
    else this.rework(frontier);
    this.softened = false;
    for (const edge of this.perhapsAlone) if (this.isAloneNow(edge)) this.isolate(frontier, edge);
    this.perhapsAlone.length = 0;
    this.enterFrames(frontier);
    if (frontier.overflow.length > 0 && !frontier.lookahead) {
      // more states than it should keep: with a look ahead there are fewer
      frontier.overflow.length = 0;
      frontier.lookahead = true;
      this.aheadUntil = this.newestNumber + (this.windowFrames ?? 0);
      for (const truth of this.truths.values())
        for (const edge of truth.edges) edge.keepSums((number, pair) => this.frame(number).benefit(pair));
      this.beginAnew(frontier);
      this.enterFrames(frontier);
    }
    frontier.decide();
    if (frontier.hasCuts) frontier.mend(this.frameList(), (number) => this.frame(number));
  }

  private rework(frontier: Frontier): void {
    const end = this.first + this.nextNumber - this.firstNumber;
    if (frontier.lookahead) for (let n = end; n < this.frames.length; n++) frontier.expect(this.frames[n]);
    // a frame that is worked again costs several times one that enters
    const much = frontier.dueFrameCount() * DUE_SHARE > this.size;
    if (much) this.sweepCount = SWEEPS;
    else frontier.rework(this.frames, this.first, end);
    // what overflows is handed over on the way from the first frame to the last
    if (much || (frontier.lookahead && frontier.overflow.length > 0)) this.beginAnew(frontier);
  }

  private enterFrames(frontier: Frontier): void {
    for (let number = Math.max(this.nextNumber, this.firstNumber); number <= this.newestNumber; number++) {
      const frame = this.frame(number);
      if (frame.pairCount > this.pairs.length) this.pairs = new Int32Array(2 * frame.pairCount);
      const { pairs } = this;
      let count = 0;
      for (let pair = 0; pair < frame.edges.length; pair++) {
        const edge = frame.edges[pair];
        if (edge.alone) frame.assign(pair, 1);
        else if (!edge.component) pairs[count++] = pair;
      }
      if (count > 0) frontier.enter(frame, pairs, count);
      if (frontier.overflow.length === 0) continue;
      if (!frontier.lookahead) return;
      this.handOver(frontier);
    }
    this.nextNumber = this.newestNumber + 1;
  }

  private isAloneNow(edge: Edge): boolean {
    return (
      !edge.component && !edge.alone && edge.size > 0 && edge.truth.edges.length === 1 && edge.track.edges.length === 1
    );
  }

  private beginAnew(frontier: Frontier): void {
    frontier.overflow.length = 0;
    frontier.rework(this.frames, 0, 0);
    frontier.reset(this.frameList());
    // now and then it is tried again whether there is less to do
    frontier.sweeping = frontier.lookahead && (this.windowFrames === null || this.sweepCount-- > 0);
    if (frontier.sweeping)
      for (const truth of this.truths.values()) {
        for (const edge of truth.edges) {
          edge.remaining = edge.total;
          truth.remaining += edge.total;
          edge.track.remaining += edge.total;
        }
      }
    this.nextNumber = this.firstNumber;
  }

  /** A pair that has lost its company needs no frontier. */
  private isolate(frontier: Frontier, edge: Edge): void {
    this.setAlone(edge, true);
    frontier.release([edge.truth, edge.track]);
    for (let n = 0; n < edge.size; n++) {
      const frame = this.frame(edge.frameAt(n));
      const pair = edge.pairAt(n);
      frontier.clearPair(frame, pair);
      frame.assign(pair, 1);
      this.touch(frame);
    }
  }

  /** Gives knots that grew too large to components. */
  private handOver(frontier: Frontier): void {
    for (const truth of frontier.overflow) {
      for (const edge of truth.edges) {
        if (edge.component) continue;
        this.loose.push(edge);
      }
    }
    frontier.overflow.length = 0;
    this.regroup();
  }

  /** Puts loose edges into new components. */
  private regroup(): void {
    if (this.loose.length === 0) return;
    const grouped = new Set<Edge>();
    for (const start of this.loose) {
      if (start.size === 0 || grouped.has(start)) continue;
      const edges = [start];
      grouped.add(start);
      for (let n = 0; n < edges.length; n++) {
        for (const next of [...edges[n].truth.edges, ...edges[n].track.edges]) {
          if (grouped.has(next)) continue;
          grouped.add(next);
          edges.push(next);
        }
      }
      this.addComponent(edges);
    }
    this.loose.length = 0;
    for (const component of this.dissolved) component.dispose();
    this.dissolved.length = 0;
  }

  /**
   * Before the window changes, what was too hard for the frontier goes back to it: which engine solves a window depends on
   * its frames alone.
   */
  private soften(): void {
    if (!this.frontier || this.components.size === 0) return;
    this.softened = true;
    for (const component of this.components) {
      component.dissolve();
      for (const edge of component.edges) {
        edge.component = null;
        for (let n = 0; n < edge.size; n++) {
          const frame = this.frame(edge.frameAt(n));
          frame.assign(edge.pairAt(n), 0);
          this.touch(frame);
        }
      }
    }
    this.components.clear();
  }

  private addComponent(edges: Edge[]): void {
    if (this.frontier) {
      for (const edge of edges) {
        this.setAlone(edge, false);
        if (edge.component) continue;
        for (let n = 0; n < edge.size; n++) this.frontier.clearPair(this.frame(edge.frameAt(n)), edge.pairAt(n));
        this.frontier.release([edge.truth, edge.track]);
      }
    }
    const component = new Component(this, this.settings, edges);
    component.build();
    this.components.add(component);
    if (!component.isolated) return;
    component.stale = false;
    const edge = edges[0];
    for (let n = 0; n < edge.size; n++) {
      const frame = this.frame(edge.frameAt(n));
      if (frame.on(edge.pairAt(n)) === 1) continue;
      frame.assign(edge.pairAt(n), 1);
      this.touch(frame);
    }
  }

  /** What the frontier left out because the time was up: quanta that the best assignment may be ahead, and edges. */
  get cut(): { loss: number; edges: number } {
    return { loss: this.frontier?.loss ?? 0, edges: this.frontier?.openCount() ?? 0 };
  }

  /** Weight of a frame by its age. */
  frameWeight(number: number): number {
    const { weights } = this.params;
    if (!weights) return 1;
    const age = this.newestNumber - number;
    if ('forgetting' in weights) return weights.forgetting ** age;
    return weights.frame[weights.frame.length - 1 - age];
  }

  /** Weight of the change into a frame. */
  switchWeight(number: number): number {
    const { weights } = this.params;
    if (!weights) return 1;
    const age = this.newestNumber - number;
    if ('forgetting' in weights) return weights.forgetting ** age;
    return weights.switch[weights.switch.length - 1 - age];
  }

  /** Between two layers a change falls on the cheapest frame, the latest among equals. */
  changeFrame(after: number, upTo: number): number {
    if (!this.weighted) return upTo;
    let best = upTo;
    for (let number = upTo - 1; number > after; number--) {
      if (this.switchWeight(number) < this.switchWeight(best)) best = number;
    }
    return best;
  }

  priceQuantaBetween(after: number, upTo: number): number {
    const weight = this.switchWeight(this.changeFrame(after, upTo));
    return priceQuanta((weight * this.prices.half) / this.unit);
  }

  surcharged(price: number): number {
    return price + (this.byLp ? LP_SURCHARGE : surcharge(price));
  }

  dispose(): void {
    // a report that is read later still asks them who is held
    for (const component of [...this.components, ...this.dissolved]) component.dispose();
  }
}

function sameEdges(edges: readonly Edge[], others: readonly Edge[]): boolean {
  if (edges.length !== others.length) return false;
  for (let n = 0; n < edges.length; n++) if (edges[n] !== others[n]) return false;
  return true;
}
