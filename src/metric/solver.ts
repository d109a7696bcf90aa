/**
 * Solves a window: isolated pairs, the frontier and the program's components, by the rule of engine-rule.ts. Only what
 * a frame touches is solved again.
 */

import { CrowdMatcher, PAIRS_MAX, pairsAfforded, thinPairs } from './crowd.js';
import { PairFinder } from './distance.js';
import { type Account, Accounts, PATIENCE, PATIENCE_MAX, STATES_MAX } from './engine-rule.js';
import type { PackedFrame } from './frame.js';
import { FrameMatchings, matchFrame } from './frame-matching.js';
import { chooseAmong } from './frontier/choice.js';
import { Frontier } from './frontier/frontier.js';
import { LateFrames } from './late-frames.js';
import type { Params } from './params.js';
import { Component, type ProgramContext } from './program/component.js';
import { simplexNow } from './program/simplex.js';
import type { SolveSettings } from './solve-options.js';
import { Budget } from './window/budget.js';
import { WindowContents, type WindowListener } from './window/contents.js';
import type { FoundPairs, FrameAssignment, FrameRecord } from './window/frame-record.js';
import { aloneOf, earnsAnything, kinshipOf } from './window/tariff.js';
import type { Edge, Trajectory } from './window/trajectory.js';

/** Truths that were too much for the frontier, the frame since which, and for how many windows. */
export interface HandedOver {
  since: number;
  /** the least unless given */
  patience?: number;
  truths: string[];
}

/** work of putting components together that any budget pays for */
const PROMPT_WORK = 2 ** 15;
/** pairs that are only found for one unit of work */
const FOUND_PER_WORK = 8;
/** work of finding a pair and putting it where it belongs; of each frame in which a component has it; of each cell */
const PAIR_WORK = 4;
const LAYER_WORK = 2;
const CELL_WORK = 1 / 8;
/** of each cell, when there is no time for the optimum */
const ANSWER_WORK = 1 / 8;

export class Solver implements WindowListener {
  readonly contents: WindowContents;
  readonly components = new Set<Component>();
  /** pairs whose ends have no other */
  isolatedCount = 0;
  private readonly finder: PairFinder;
  /** solves everything that is not weighted, until a knot grows too large; null otherwise */
  private readonly frontier: Frontier | null;
  /** null where the frontier is to work whatever it takes */
  private readonly accounts: Accounts | null;
  private readonly program: ProgramContext;
  private readonly matchings = new FrameMatchings();
  /** by the slot of an edge: the component that solves it, and whether it is isolated */
  private readonly componentOf: (Component | undefined)[] = [];
  private readonly isolated: boolean[] = [];
  /** edges that wait to be put into components */
  private readonly loose = new Set<Edge>();
  /** components that the frontier tries again in this solve */
  private readonly given: Component[] = [];
  /** those that are still to be solved in it */
  private readonly stale: Component[] = [];
  private readonly perhapsIsolated: Edge[] = [];
  /** frames of which the engines do not know all pairs */
  private readonly thinned = new Set<number>();
  private readonly late: LateFrames;
  private readonly crowds: CrowdMatcher;
  /** accounts that stand once the frames that were there before are worked again */
  private restored: readonly Account[] | null = null;
  /** work of taking in frames since the last solve, and of putting edges together while one goes on */
  private entered = 0;
  /** work of putting together what the last solve had no time for, and what is loose */
  private cutWork = 0;
  private looseWork = 0;
  /** first frame the frontier has not seen */
  private nextNumber = 0;
  /** what the engines assigned, while something finer stands in the frames */
  private readonly coarse: FrameAssignment[] = [];
  /** scratch: pairs of a frame that the frontier works */
  private pairs = new Int32Array(32);

  constructor(
    readonly params: Params,
    readonly settings: SolveSettings,
    /** frames that the window holds at most */
    windowFrames: number,
  ) {
    this.contents = new WindowContents(params, windowFrames, this);
    const { contents } = this;
    this.finder = PairFinder.for(params.distance);
    this.crowds = new CrowdMatcher(contents, params.distance);
    this.late = new LateFrames(contents, this.matchings);
    this.program = {
      contents,
      places: { edge: [], trajectory: [] },
      matchings: this.matchings,
      fractional: settings.exactness === 'force' ? 'force' : settings.solver === 'lp' ? 'report' : 'search',
      chooseAmong: (layers, prospects, budget) => chooseAmong(layers, prospects, contents.changeQuanta, budget),
      simplex: simplexNow,
    };
    const byFrontier = settings.solver === 'auto' && !contents.weighted && !contents.framewise;
    const accounts = settings.frontierMax <= STATES_MAX ? new Accounts(contents.prices.half / contents.unit) : null;
    this.accounts = accounts;
    this.frontier =
      byFrontier && settings.frontierMax > 0
        ? new Frontier(
            contents.changeQuanta,
            settings.frontierMax,
            (truths, moves) => accounts?.charge(truths, moves),
            (frame) => contents.touch(frame),
            (edge) => this.isolated[edge.slot] || this.componentOf[edge.slot] !== undefined,
            (number) => contents.frame(number),
          )
        : null;
  }

  /** Numbers the first frame; before any has entered. */
  startAt(number: number): void {
    this.contents.startAt(number);
    this.nextNumber = number;
  }

  /** What the program solves instead of the frontier, by the truths' ids, to go on elsewhere as here. */
  handedOver(): HandedOver[] {
    if (!this.frontier) return [];
    return [...this.components]
      .map(({ since, patience, trajectories, truthCount }) => ({
        since,
        patience,
        truths: trajectories.slice(0, truthCount).map(({ id }) => id),
      }))
      .sort((a, b) => (a.truths[0] < b.truths[0] ? -1 : 1));
  }

  /** What the frontier has worked more than the program would have. */
  accountsOf(): Account[] {
    const { accounts, contents } = this;
    if (!this.frontier || !accounts) return [];
    return [...contents.truths.values()].flatMap((truth) => {
      const account = accounts.read(truth);
      return account ? [account] : [];
    });
  }

  /** Hands the same over, once the frames are there; accounts are as they were after the next solve. */
  restore(handed: readonly HandedOver[], accounts: readonly Account[]): void {
    this.restored = accounts;
    for (const { since, patience, truths } of handed) {
      for (const id of truths) for (const edge of this.contents.truths.get(id)?.edges ?? []) this.loose.add(edge);
      this.regroup(since, patience);
    }
  }

  append(packed: PackedFrame, budget = new Budget(Number.POSITIVE_INFINITY)): void {
    const { contents, finder } = this;
    this.restoreCoarse();
    const afforded = contents.weighted ? null : pairsAfforded(budget, packed);
    if (!finder.find(packed, this.params.cutoff, afforded?.matched)) {
      this.entered += finder.count / FOUND_PER_WORK;
      const { found, least } = this.crowds.match(packed, budget);
      this.appendAssigned(packed, found, least);
      return;
    }
    const areKin = kinshipOf(packed);
    if (areKin) finder.keep(areKin);
    if (packed.reference.alone || packed.tracker.alone) this.dropWorthless(packed);
    if ((afforded && !contents.framewise && finder.count > afforded.solved) || this.isLate(budget)) {
      this.appendEdgeless(packed, budget);
      return;
    }
    const isCrowd = finder.count > PAIRS_MAX;
    const frame = contents.append(packed, isCrowd ? thinPairs(finder, packed, contents) : finder);
    this.entered += PAIR_WORK * finder.count;
    if (contents.framewise) matchFrame(frame);
    else if (isCrowd) {
      frame.thinned = true;
      this.thinned.add(frame.number);
    }
  }

  /** Whether the last solve was cut, and putting together what it left takes long, and a third of what there is. */
  private isLate(budget: Budget): boolean {
    return !this.contents.weighted && isTooMuch(this.cutWork, budget);
  }

  /**
   * Whether edges that came out of components stay out of any for now, and what was assigned of them last stands:
   * while there are frames that engines do not know, putting together the others may take more than solving them does
   * good.
   */
  private leavesLoose(budget: Budget): boolean {
    return this.late.count > 0 && isTooMuch(this.looseWork, budget);
  }

  /** Appends a frame with all pairs that were found, of which the engines know nothing. */
  private appendEdgeless(packed: PackedFrame, budget: Budget): void {
    const frame = this.contents.append(packed, this.finder, false);
    this.late.add(frame.number, null);
    this.entered += PAIR_WORK * frame.pairCount;
    this.matchings.budget = budget;
    this.crowds.assign(frame, this.matchings.of(frame).pairOf);
  }

  /** Appends a frame with the pairs that are assigned in it, of which the engines know nothing. */
  appendAssigned(packed: PackedFrame, pairs: FoundPairs, least = 0): void {
    const frame = this.contents.append(packed, pairs, false);
    frame.thinned = true;
    for (let pair = 0; pair < pairs.count; pair++) frame.assign(pair, 1);
    this.late.add(frame.number, least);
  }

  /** Pairs whose ends cost less alone than together are none. */
  private dropWorthless(packed: PackedFrame): void {
    const { tariff } = this.contents;
    const [truthAlone, trackAlone] = [aloneOf(packed.reference, tariff), aloneOf(packed.tracker, tariff)];
    this.finder.keep((truth, track, distance) => earnsAnything(distance, truthAlone(truth), trackAlone(track), tariff));
  }

  dropOldest(): void {
    const { oldestNumber } = this.contents;
    this.restoreCoarse();
    this.contents.dropOldest();
    this.matchings.dropFrame(oldestNumber);
    if (this.thinned.size > 0) this.thinned.delete(oldestNumber);
    this.late.drop(oldestNumber);
  }

  edgeAppears(edge: Edge): void {
    const { truth, track } = edge;
    const linkedTruth = this.meet(truth);
    const linkedTrack = this.meet(track);
    this.isolated[edge.slot] = false;
    this.componentOf[edge.slot] = undefined;
    if (linkedTruth || linkedTrack || !this.frontier) this.loose.add(edge);
    else if (truth.edges.length + track.edges.length === 0) this.setIsolated(edge, true);
  }

  pairEnters(frame: FrameRecord, edge: Edge, pair: number): void {
    const component = this.componentOf[edge.slot];
    if (component?.alive && !component.isolated) component.addPair(frame, edge, pair);
    else if (component?.alive || this.isolated[edge.slot]) frame.assign(pair, 1);
  }

  pairLeaves(frame: FrameRecord, edge: Edge, pair: number): void {
    const component = this.componentOf[edge.slot];
    if (component) {
      if (component.alive && !component.isolated) component.dropFrame(frame.number);
    } else if (!this.isolated[edge.slot]) this.frontier?.leave(frame, pair);
  }

  edgeVanishes(edge: Edge): void {
    this.setIsolated(edge, false);
    if (this.frontier) {
      this.frontier.forgetEdge(edge);
      for (const other of edge.truth.edges) this.perhapsIsolated.push(other);
      for (const other of edge.track.edges) this.perhapsIsolated.push(other);
    }
    const component = this.componentOf[edge.slot];
    this.componentOf[edge.slot] = undefined;
    if (component) this.loosen(component);
    this.loose.delete(edge);
  }

  trajectoryVanishes(trajectory: Trajectory): void {
    this.frontier?.forget(trajectory);
    this.accounts?.forget(trajectory);
  }

  private setIsolated(edge: Edge, isolated: boolean): void {
    if (this.isolated[edge.slot] === isolated) return;
    this.isolatedCount += isolated ? 1 : this.isolated[edge.slot] ? -1 : 0;
    this.isolated[edge.slot] = isolated;
  }

  /** A trajectory gets another edge: tells whether those it has are in components, which are taken apart. */
  private meet({ edges }: Trajectory): boolean {
    let linked = false;
    for (let n = 0; n < edges.length; n++) {
      const edge = edges[n];
      if (this.isolated[edge.slot]) {
        this.setIsolated(edge, false);
        this.frontier?.takeUp(edge, this.nextNumber);
      }
      const component = this.componentOf[edge.slot];
      if (!component) continue;
      this.loosen(component);
      linked = true;
    }
    return linked;
  }

  /** Takes a component apart: its edges wait to be put into new ones. */
  private loosen(component: Component): void {
    if (!component.alive) return;
    component.dissolve();
    this.components.delete(component);
    this.looseWork += component.work;
    for (const edge of component.edges) this.loose.add(edge);
  }

  /** Brings the assignment of the whole window up to date. */
  solve(budget: Budget): void {
    this.begin(budget);
    while (this.solveNext(budget));
    this.conclude();
  }

  /**
   * The same in three steps, for whoever has something else to do between two components: begins, solves the next
   * component, and whether there may be another one, and concludes. In between the window is not to be read.
   */
  begin(budget: Budget): void {
    const { frontier, contents } = this;
    this.restoreCoarse();
    this.late.remember();
    this.matchings.budget = budget;
    contents.remembers = budget.isLimited;
    budget.spend(this.late.work);
    if (!this.leavesLoose(budget)) this.regroup();
    this.spendEntered(budget);
    if (frontier) {
      frontier.begin(budget);
      if (this.accounts) {
        this.accounts.number = contents.newestNumber;
        this.accounts.windowFrames = contents.size;
      }
      if (this.components.size > 0)
        for (const component of this.components) if (this.isDue(component)) this.giveBack(component);
      this.advance(frontier, budget);
    }
    this.spendEntered(budget);
    this.cutWork = this.looseWork;
    this.collectStale(budget);
  }

  solveNext(budget: Budget): boolean {
    const next = this.stale.pop();
    if (next) next.solve(budget);
    return this.stale.length > 0;
  }

  conclude(): void {
    const { contents } = this;
    for (const { engine, work } of this.components) if (engine === 'open') this.cutWork += work;
    if (this.given.length > 0) this.given.length = 0;
    contents.addUpTouched();
    this.late.conclude();
    if (this.restored) this.accounts?.restore(this.restored, contents.truths);
    this.restored = null;
  }

  /** Puts another assignment into the frames, until the next frame comes or goes. */
  refineTo(assignments: readonly FrameAssignment[]): void {
    const { contents, coarse } = this;
    const frames = contents.frameList();
    if (coarse.length === 0) for (const frame of frames) coarse.push(frame.assignment());
    frames.forEach((frame, n) => {
      frame.reassign(assignments[n]);
    });
  }

  private restoreCoarse(): void {
    const { contents, coarse } = this;
    for (let n = 0; n < coarse.length; n++) contents.frame(contents.oldestNumber + n).reassign(coarse[n]);
    if (coarse.length > 0) coarse.length = 0;
    this.late.restore();
  }

  /** Whether the frontier should try a component again. */
  private isDue({ since, patience, engine }: Component): boolean {
    const { oldestNumber, windowFrames } = this.contents;
    return since + (patience - 1) * windowFrames < oldestNumber && engine !== 'open';
  }

  private spendEntered(budget: Budget): void {
    budget.spend(this.entered);
    this.entered = 0;
  }

  /** What is to be solved, the first of it last. */
  private collectStale(budget: Budget): void {
    if (this.components.size === 0) return;
    this.spendEntered(budget);
    for (const component of this.components) if (component.stale || this.contents.weighted) this.stale.push(component);
    // there is always time for an answer
    for (const { cellCount } of this.stale) budget.spend(ANSWER_WORK * cellCount);
    this.stale.reverse();
  }

  private advance(frontier: Frontier, budget: Budget): void {
    const { contents } = this;
    // at once, not after a whole window was worked again
    frontier.rework(contents.oldestNumber, this.nextNumber, () => this.handOver(frontier, budget));
    if (this.perhapsIsolated.length > 0) {
      for (const edge of this.perhapsIsolated) if (this.isIsolatedNow(edge)) this.isolate(frontier, edge);
      this.perhapsIsolated.length = 0;
    }
    for (let number = Math.max(this.nextNumber, contents.oldestNumber); number <= contents.newestNumber; number++) {
      if (this.accounts) this.accounts.number = number;
      this.enter(frontier, contents.frame(number));
      this.handOver(frontier, budget);
    }
    this.nextNumber = contents.newestNumber + 1;
    frontier.decide();
  }

  private enter(frontier: Frontier, frame: FrameRecord): void {
    if (frame.pairCount > this.pairs.length) this.pairs = new Int32Array(2 * frame.pairCount);
    const { pairs } = this;
    let count = 0;
    for (let pair = 0; pair < frame.edgeCount; pair++) {
      const { slot } = frame.edgeAt(pair);
      if (this.isolated[slot]) frame.assign(pair, 1);
      else if (!this.componentOf[slot]) pairs[count++] = pair;
    }
    if (count > 0) frontier.enter(frame, pairs, count);
  }

  private isIsolatedNow({ slot, size, truth, track }: Edge): boolean {
    if (this.componentOf[slot] || this.isolated[slot] || size === 0) return false;
    return truth.edges.length === 1 && track.edges.length === 1;
  }

  /** A pair that has lost its company needs no frontier. */
  private isolate(frontier: Frontier, edge: Edge): void {
    this.setIsolated(edge, true);
    frontier.release(edge);
    this.assignAlways(edge);
  }

  private assignAlways(edge: Edge): void {
    const { contents } = this;
    for (let n = 0; n < edge.size; n++) {
      const frame = contents.frame(edge.frameAt(n));
      if (frame.on(edge.pairAt(n)) === 1) continue;
      contents.touch(frame);
      frame.assign(edge.pairAt(n), 1);
    }
  }

  /** Gives knots that grew too large to the program. */
  private handOver(frontier: Frontier, budget: Budget): void {
    this.collectDebts(frontier);
    if (frontier.overflow.length === 0) return;
    for (const truth of frontier.overflow)
      for (const edge of truth.edges) {
        if (this.componentOf[edge.slot] || this.loose.has(edge)) continue;
        this.loose.add(edge);
        this.looseWork += PAIR_WORK + LAYER_WORK * edge.size;
      }
    frontier.overflow.length = 0;
    if (!this.leavesLoose(budget)) this.regroup(this.contents.newestNumber);
  }

  /** Gives up what the frontier works on more than the program would. */
  private collectDebts(frontier: Frontier): void {
    if (!this.accounts || this.accounts.overdrawn.length === 0) return;
    for (const truth of this.accounts.overdrawn) {
      if (this.restored) break;
      const start = truth.edges.find(({ slot }) => !this.componentOf[slot]);
      if (start && this.accounts.isDue([...new Set(connectedTo(start).map((edge) => edge.truth))]))
        frontier.overflow.push(truth);
    }
    this.accounts.overdrawn.length = 0;
  }

  /** The frontier tries again, from the window's first frame on. */
  private giveBack(component: Component): void {
    const { contents, frontier } = this;
    component.dissolve();
    this.components.delete(component);
    this.given.push(component);
    for (const edge of component.edges) {
      this.componentOf[edge.slot] = undefined;
      if (component.isolated) {
        this.setIsolated(edge, true);
        continue;
      }
      frontier!.restart(edge.truth);
      frontier!.restart(edge.track);
      this.accounts?.forgive(edge.truth);
      for (let n = 0; n < edge.size; n++) {
        const frame = contents.frame(edge.frameAt(n));
        // the program goes on from there if the frontier fails
        if (frame.number <= contents.solvedNumber) frame.remember();
        contents.touch(frame);
        frame.assign(edge.pairAt(n), 0);
      }
    }
  }

  /** Puts loose edges into new components; `since` is the frame at which the frontier gave them up, if it is now. */
  private regroup(since = -1, patience = PATIENCE): void {
    if (this.loose.size === 0) return;
    const made = new Set<Component>();
    for (const start of this.loose) {
      const component = this.componentOf[start.slot];
      if (start.size === 0 || (component && made.has(component))) continue;
      const edges = connectedTo(start);
      this.loosenTied(edges);
      made.add(this.addComponent(edges, since, patience));
    }
    this.loose.clear();
    this.looseWork = 0;
  }

  /** Edges that nobody had the time to solve. */
  get looseCount(): number {
    return this.loose.size;
  }

  /**
   * Who goes takes the frontier's decisions with him: those whom they tied to him go too, though a pair between them
   * may just have left the window.
   */
  private loosenTied(edges: readonly Edge[]): void {
    // what is in a component has nothing at the frontier
    const own = edges.filter(({ slot }) => !this.componentOf[slot]);
    for (const { edges: others } of this.frontier?.tiedTo(own) ?? [])
      for (const edge of others) if (!this.componentOf[edge.slot]) this.loose.add(edge);
  }

  private addComponent(edges: Edge[], given: number, wanted: number): Component {
    const before = new Set<Component>();
    let since = given;
    let patience = Math.max(wanted, this.patienceFor(edges));
    for (const edge of edges) {
      const component = this.componentOf[edge.slot];
      this.setIsolated(edge, false);
      if (component) {
        if (before.has(component)) continue;
        before.add(component);
        since = Math.max(since, component.since);
        patience = Math.max(patience, component.patience);
      } else this.frontier?.release(edge);
    }
    // components that it swallows whole
    for (const component of before) {
      if (!component.alive) continue;
      component.dissolve();
      this.components.delete(component);
    }
    const component = new Component(this.program, edges, since, patience);
    let work = CELL_WORK * component.cellCount;
    for (const edge of edges) work += PAIR_WORK + LAYER_WORK * edge.size;
    this.entered += work;
    component.work = work;
    component.inherit([...before, ...this.given]);
    for (const edge of edges) this.componentOf[edge.slot] = component;
    this.components.add(component);
    if (!component.isolated) return component;
    component.stale = false;
    this.assignAlways(edges[0]);
    return component;
  }

  /** Whether the totals of the window are those of its frames: engines alone assigned whole pairs at full prices. */
  get isTallied(): boolean {
    const { contents, coarse, late } = this;
    return !contents.weighted && contents.tally.shared === 0 && coarse.length + late.count === 0;
  }

  /** Pairs of frames that no engine knows. */
  get crowdPairs(): number {
    return this.late.pairCount;
  }

  /** Whether there are pairs in the window that no engine knows. */
  get isThinned(): boolean {
    return this.thinned.size + this.late.count > 0;
  }

  /**
   * What the window costs at least where no engine knows all pairs: its frames alone; or those the engines know, by a
   * bound so much below what they assigned, and the others alone.
   */
  leastCost(below: number): number {
    const { contents, late, thinned } = this;
    let alone = 0;
    for (const frame of contents.frameList()) alone += contents.frameWeight(frame.number) * this.leastOf(frame);
    if (thinned.size + this.loose.size > 0 || contents.weighted || contents.framewise) return alone;
    return Math.max(
      alone,
      late.leastCost(below, (frame) => this.leastOf(frame)),
    );
  }

  /** What a frame costs at least, alone. */
  leastOf(frame: FrameRecord): number {
    const { prices, quantum } = this.contents;
    const least = this.late.leastOf(frame.number);
    if (least !== null) return least;
    const { truths, tracks } = frame;
    // each pair may earn almost a quantum more than it says, or two where its ends have costs of their own
    const rounded = (frame.hasShares ? 2 : 1) * Math.min(truths.length, tracks.length);
    const earned = (this.matchings.of(frame).ceiling + rounded) * quantum;
    const units = frame.unitsUnder(() => 0) ?? { missed: truths.length, false: tracks.length };
    const unmatched = units.missed * prices.missed + units.false * prices.false;
    // nor is a difference better than the greater of the two
    return Math.max(0, unmatched * (1 - 2 ** -48) - earned);
  }

  /**
   * How many windows the program keeps edges: twice as many as before when the frontier has just failed with them
   * again.
   */
  private patienceFor(edges: readonly Edge[]): number {
    let patience = PATIENCE;
    for (const component of this.given) {
      const given = new Set(component.edges);
      if (edges.some((edge) => given.has(edge))) patience = Math.max(patience, 2 * component.patience);
    }
    return Math.min(patience, PATIENCE_MAX);
  }
}

/** Whether work is more than any budget pays for, and a third of what is left. */
function isTooMuch(work: number, budget: Budget): boolean {
  return budget.isLimited && work > PROMPT_WORK && 3 * work > budget.leftWork;
}

/** An edge with all that hang together with it. */
function connectedTo(start: Edge): Edge[] {
  const edges: Edge[] = [];
  const known = new Set([start.truth]);
  const ends = [start.truth];
  for (let at = 0; at < ends.length; at++) {
    const end = ends[at];
    for (let n = 0; n < end.edges.length; n++) {
      const edge = end.edges[n];
      if (edge.truth === end) edges.push(edge);
      const other = edge.truth === end ? edge.track : edge.truth;
      if (known.has(other)) continue;
      known.add(other);
      ends.push(other);
    }
  }
  return edges;
}
