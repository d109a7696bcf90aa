/**
 * The main engine: exact dynamic programming that keeps, for every knot of trajectories that is undecided now, only the
 * matchings that can still win (DESIGN 3.4, the frontier).
 *
 * Changes are charged when they happen, as late as possible. A trajectory is fresh until it is first assigned; two fresh ones
 * join for free (they might have been assigned from the beginning), any other join costs h = gamma^p/2; a held pair is
 * released, for h, only when one of its ends is joined elsewhere. A join that earns nothing now can be put off.
 *
 * State t is dropped when some state t' is at least as good for every future: V(t') - D(t', t) >= V(t), where
 *
 *   D(t', t) = h * ( pairs held in t' but not in t  +  pairs held in t but not in t', unless both ends are fresh in t'
 *                    +  trajectories fresh in t but not in t' )
 *
 * bounds what it costs to follow from t' what t would do. In good tracking one state is left after a frame or two, and the knot
 * comes apart into pairs that only earn. All values are whole quanta and D obeys the triangle inequality, so what is
 * left does not depend on the order of work: when the oldest frame leaves, the frames after it are worked again only
 * until a part comes out as it was.
 *
 * When switches are dear, many states survive this for long. Then the frontier looks ahead to the window's end: instead of paying h, one may as
 * well forgo what is still to be earned (D', outlook.ts). A new frame adds to that, so what was dropped for it may have to come back: each
 * group knows how much may be added before (watch.ts), and is worked again when it is. When that is so in most frames, everything is swept from the first frame on.
 */

import { Basket } from '../window/basket.js';
import type { Budget } from '../window/budget.js';
import { BEGINS, CALM, type Calm, type FrameRecord } from '../window/frame-record.js';
import type { Edge, Trajectory } from '../window/trajectory.js';
import { Knot } from './knot.js';
import {
  BOTH,
  bestState,
  FRESH_OR_HELD,
  type Group,
  heldPart,
  NOBODY,
  only,
  type Part,
  samePart,
  takeApart,
} from './part.js';
import { Reach } from './reach.js';
import { Roll } from './roll.js';
import { sortFew } from './state-table.js';
import { isCalm, isChanged, knots, newStamp } from './ties.js';
import { forEachDue } from './watch.js';

// shapes that the groups of all lone pairs share
const ON_HELD = [[1]];
const ON_BOTH = [[0], [1]];
const NO_HALVES = [0, 0];
const NO_PARTS: readonly Part[] = [];
const FROM_FRESH: number[][] = [[], []];
const FROM_HELD = [[1]];
const FROM_BOTH = [[0], [1]];

/** about so often does ascent go through all edges in all frames */
const COMPONENT_PASSES = 20;

export class Frontier {
  /** parts with more than one state that no later frame has taken up: the undecided present */
  private readonly open = new Roll<Part>();
  /** trajectories of groups that grew too large; whoever calls solves them otherwise */
  readonly overflow: Trajectory[] = [];
  /** trajectories whose past is worked again: those that later frames may hear of, and the others */
  private readonly changed = new Roll<Trajectory>();
  private readonly parked = new Roll<Trajectory>();
  /** length of the window that is solved */
  private frameCount = 0;
  /** groups that left something out because the time was up: worked again at the next `rework` */
  private readonly cuts = new Set<Group>();
  /** groups that are to be worked again at the next `rework` */
  private readonly due: Group[] = [];
  /** pairs assigned by `mend`, and the quanta they earn */
  private readonly mended: { frame: FrameRecord; pair: number }[] = [];
  private mendedQuanta = 0;
  private readonly knot: Knot;
  private readonly reach = new Reach();
  /** scratch of `choose` */
  private readonly chosen = new Basket<Group>();
  private readonly chosenStates = new Basket<number>();
  /** scratch: pairs of a frame */
  private found = new Int32Array(32);
  /** those whom the rework of a frame concerns; they carry `stamp` */
  private readonly members = new Basket<Trajectory>();
  private stamp = 0;
  /** of the solve that goes on */
  private budget: Budget | null = null;

  constructor(
    private readonly h: number,
    statesMax: number,
    /** whether to look ahead: see D' */
    public lookahead: boolean,
    /**
     * Whether every frame of the window is worked again for each newest one, because more is due than not: then nothing is watched, and what
     * is still to be earned is kept along the way.
     */
    public sweeping: boolean,
    private readonly touch: (frame: FrameRecord) => void,
  ) {
    // joining or not: a pair that a sweep need not work (see `isIdle`) does not overflow elsewhere
    this.knot = new Knot(h, Math.max(2, statesMax));
  }

  /** Begins all over: `frames` will be entered again from the first on. */
  reset(frames: Iterable<FrameRecord>): void {
    this.open.clear();
    this.cuts.clear();
    this.due.length = 0;
    for (const frame of frames) {
      if (frame.groups.length > 0) frame.groups.length = 0;
      for (let pair = 0; pair < frame.edges.length; pair++) {
        this.clearPair(frame, pair);
        const { truth, track } = frame.edges[pair];
        truth.part = track.part = null;
        truth.watches = track.watches = null;
        truth.remaining = track.remaining = 0;
        truth.ranked = track.ranked = false;
      }
    }
  }

  /** A solve begins: `oldest` is the number of the window's first frame, `frameCount` how many it holds. */
  begin(budget: Budget, oldest: number, frameCount: number): void {
    this.budget = budget;
    this.frameCount = frameCount;
    for (const { frame, pair } of this.mended) {
      frame.assign(pair, 0);
      this.touch(frame);
    }
    this.mended.length = this.mendedQuanta = 0;
    for (const group of this.cuts) if (group.frame.number < oldest) this.cuts.delete(group);
  }

  /** Quanta that the best assignment may be ahead, because the time was up. */
  get loss(): number {
    if (this.cuts.size === 0) return 0;
    let sum = -this.mendedQuanta;
    for (const group of this.cuts) sum += group.loss;
    return Math.max(1, sum);
  }

  /** Two that join for free are assigned from the beginning: where that was not seen in time, they earn before as well. */
  mend(frames: Iterable<FrameRecord>, frameAt: (number: number) => FrameRecord): void {
    if (this.cuts.size === 0) return;
    const stamp = newStamp();
    for (const frame of frames) {
      for (let pair = 0; pair < frame.edges.length; pair++) {
        if (frame.on(pair) === 0) continue;
        const edge = frame.edges[pair];
        const { truth, track } = edge;
        const fresh = truth.knotStamp !== stamp && track.knotStamp !== stamp;
        truth.knotStamp = track.knotStamp = stamp;
        if (!fresh || edge.component) continue;
        for (let n = 0; edge.frameAt(n) < frame.number; n++) {
          const early = frameAt(edge.frameAt(n));
          early.assign(edge.pairAt(n), 1);
          this.touch(early);
          this.mended.push({ frame: early, pair: edge.pairAt(n) });
          this.mendedQuanta += early.benefit(edge.pairAt(n));
        }
      }
    }
  }

  get hasCuts(): boolean {
    return this.cuts.size > 0;
  }

  /** How many edges were not worked to the end. */
  openCount(): number {
    if (this.cuts.size === 0) return 0;
    const edges = new Set<Edge>();
    for (const { frame, pairs } of this.cuts) for (const pair of pairs) edges.add(frame.edges[pair]);
    return edges.size;
  }

  /** Takes in the newest frame's pairs. */
  enter(frame: FrameRecord, pairs: Int32Array, count: number): void {
    frame.openFrontier();
    this.reserve(count);
    const tied = this.found;
    let tiedCount = 0;
    if (this.sweeping) for (let n = 0; n < count; n++) frame.edges[pairs[n]].earn(frame.benefit(pairs[n]));
    for (let n = 0; n < count; n++) {
      const pair = pairs[n];
      const truth = frame.truthAt(pair);
      const track = frame.trackAt(pair);
      const part = truth.part;
      if (!frame.lone[pair] || part !== track.part || !(part === null || part.lone)) {
        tied[tiedCount++] = pair;
        truth.now = part;
        track.now = track.part;
      } else if (part !== null && part.states.length === 1) this.hold(frame, pair, part, part);
      else truth.part = track.part = this.goOn(frame, pair, part);
    }
    if (tiedCount === 0) return;
    for (const { fresh, parts } of this.advance(frame, tied, tiedCount)) {
      for (const member of fresh) member.part = null;
      for (const part of parts) {
        for (const member of part.truths) member.part = part;
        for (const member of part.tracks) member.part = part;
      }
    }
  }

  /** Chooses the best state of everything undecided and follows it back. */
  decide(): void {
    for (let n = 0; n < this.open.size; n++) {
      const part = this.open.at(n);
      this.choose(part.group!, part.index[bestState(part)]);
    }
  }

  /** Says that what is known about a trajectory no longer holds: it begins fresh at the next `rework`. */
  restart(trajectory: Trajectory): void {
    this.mark(trajectory, null);
  }

  /** Works frames again, the window's from `first` to before `end` in a list, for trajectories that begin anew, until everything comes out as it was. */
  rework(frames: readonly FrameRecord[], first: number, end: number): void {
    const { changed, due } = this;
    for (const group of this.cuts) due.push(group);
    if (due.length > 1) due.sort((a, b) => a.frame.number - b.frame.number);
    let dueCount = 0;
    for (let n = first; n < end; n++) {
      const { number } = frames[n];
      let next = this.nextChange(number - 1);
      if (dueCount < due.length) next = Math.min(next, Math.max(number, due[dueCount].frame.number));
      n += next - number;
      if (n >= end) break;
      for (; dueCount < due.length && due[dueCount].frame.number <= next; dueCount++) due[dueCount].stale = true;
      this.reworkFrame(frames[n]);
    }
    if (due.length > 0) due.length = 0;
    this.conclude(changed);
    this.conclude(this.parked);
  }

  /** The first frame after one that may have a changed trajectory in it; Infinity when there is none. */
  private nextChange(number: number): number {
    const { changed } = this;
    let next = Number.POSITIVE_INFINITY;
    for (let n = 0; n < changed.size; n++) {
      const { nextNumber, hiddenUntil } = changed.at(n);
      if (nextNumber <= number || hiddenUntil > number) return number + 1;
      if (nextNumber < next) next = nextNumber;
    }
    return next;
  }

  /** What has changed up to the newest frame holds from now on. */
  private conclude(changed: Roll<Trajectory>): void {
    while (changed.size > 0) {
      const trajectory = changed.at(changed.size - 1);
      const { part, changedPart } = trajectory;
      if (part && part !== changedPart) this.open.delete(part);
      trajectory.part = changedPart;
      this.unmark(trajectory);
    }
  }

  private mark(trajectory: Trajectory, part: Part | null): void {
    if (!trajectory.changed) {
      trajectory.nextNumber = 0;
      this.changed.add(trajectory);
    }
    trajectory.changedPart = part;
  }

  private unmark(trajectory: Trajectory): void {
    (trajectory.parked ? this.parked : this.changed).delete(trajectory);
    trajectory.parked = false;
    trajectory.changedPart = null;
  }

  private park(trajectory: Trajectory): void {
    this.changed.delete(trajectory);
    this.parked.add(trajectory);
    trajectory.parked = true;
  }

  /** A frame leaves the window: what was decided in it is history. */
  dismiss(frame: FrameRecord): void {
    for (const { watch } of frame.groups) if (watch) watch.group = null;
  }

  /** A trajectory has left the window; those it was tied to begin anew. */
  forget(trajectory: Trajectory): void {
    if (trajectory.part) this.open.delete(trajectory.part);
  }

  /** Forgets trajectories that are solved otherwise from now on. */
  release(trajectories: Iterable<Trajectory>): void {
    for (const trajectory of trajectories) {
      if (trajectory.part) this.open.delete(trajectory.part);
      trajectory.part = null;
      this.unmark(trajectory);
    }
  }

  /** Takes back what was decided about a pair. */
  clearPair(frame: FrameRecord, pair: number): void {
    const group = frame.pairGroup[pair];
    if (group) this.discard(group);
    this.uncalm(frame, pair);
  }

  private uncalm(frame: FrameRecord, pair: number): void {
    if (frame.pairCalm.length === 0) return;
    frame.pairPart[pair] = null;
    frame.pairTrackPart[pair] = null;
    frame.pairCalm[pair] = 0;
  }

  private reworkFrame(frame: FrameRecord): void {
    const { reach } = this;
    const count = this.findChanged(frame);
    if (count > 0) frame.openFrontier();
    reach.begin(frame);
    for (let n = 0; n < count; n++) {
      const pair = this.found[n];
      if (this.reworkPair(frame, pair)) reach.exclude(pair);
      else reach.addPair(frame, pair);
    }
    // what is due, and those who have no pair of their own in this frame; the others are found by their pairs, or done
    for (let n = 0; n < frame.groups.length; n++) {
      const group = frame.groups[n];
      if (!reach.knows(group.pairs[0]) && isChanged(group)) reach.addGroup(group);
    }
    if (reach.pairCount + reach.groupCount > 0) this.reworkKnots(frame);
    reach.end();
  }

  /** Finds the pairs of a frame with a changed end: the first so many of `found`. */
  private findChanged(frame: FrameRecord): number {
    const { changed } = this;
    const { number } = frame;
    this.reserve(frame.pairCount);
    const { found } = this;
    let count = 0;
    let edgeCount = 0;
    for (let n = 0; n < changed.size; n++) {
      const trajectory = changed.at(n);
      if (trajectory.nextNumber <= number) edgeCount += trajectory.edges.length;
    }
    if (edgeCount > frame.edges.length) {
      for (let pair = 0; pair < frame.edges.length; pair++)
        if (frame.truthAt(pair).changed || frame.trackAt(pair).changed) found[count++] = pair;
      return count;
    }
    // few of many: by their edges, so that a crowd does not cost more for being one; from the last on, because the last takes the place of one that goes
    for (let n = changed.size - 1; n >= 0; n--) {
      const trajectory = changed.at(n);
      if (trajectory.nextNumber > number) continue;
      let next = Number.POSITIVE_INFINITY;
      const { edges } = trajectory;
      for (let m = 0; m < edges.length; m++) {
        const edge = edges[m];
        const at = edge.seek(number);
        if (at < 0) continue;
        const nextOf = edge.frameAt(at);
        if (nextOf < next) next = nextOf;
        if (nextOf === number && (edge.truth === trajectory || !edge.truth.changed)) found[count++] = edge.pairAt(at);
      }
      trajectory.nextNumber = next;
      if (next === Number.POSITIVE_INFINITY && trajectory.hiddenUntil < number) this.park(trajectory);
    }
    return count;
  }

  private reserve(pairCount: number): void {
    if (pairCount > this.found.length) this.found = new Int32Array(2 * pairCount);
  }

  /** The usual case: a pair alone in its frame, both ends fresh or only waiting for each other, before and now. */
  private reworkPair(frame: FrameRecord, pair: number): boolean {
    const truth = frame.truthAt(pair);
    const track = frame.trackAt(pair);
    if (!frame.lone[pair] || !truth.changed || !track.changed) return false;
    const input = truth.changedPart;
    if (input !== track.changedPart || !(input === null || input.lone)) return false;
    const group = frame.pairGroup[pair];
    if (group && (group.truths.length !== 1 || group.tracks.length !== 1)) return false;
    const old = group ? (group.parts[0] ?? null) : frame.pairPart[pair];
    if (old && !old.lone) return false;
    if (group) this.discard(group);
    let part: Part;
    if (input !== null && input.states.length === 1) {
      part = input;
      this.hold(frame, pair, part, part);
    } else {
      this.uncalm(frame, pair);
      part = this.goOn(frame, pair, input);
    }
    if (old && samePart(old, part)) {
      if (old !== part) this.adopt(old, part);
      this.unmark(truth);
      this.unmark(track);
      if (old.taker === null && old.states.length > 1) this.open.add(old);
    } else {
      this.mark(truth, part);
      this.mark(track, part);
    }
    return true;
  }

  /** Works again what a change reaches. */
  private reworkKnots(frame: FrameRecord): void {
    const { reach, members } = this;
    reach.spread(frame);
    const { pairs, pairCount, groups, groupCount } = reach;
    const stamp = ++this.stamp;
    for (let n = 0; n < groupCount; n++) this.noteGroup(groups[n]!);
    for (let n = 0; n < pairCount; n++) {
      const pair = pairs[n];
      const calm = frame.pairCalm[pair];
      if (calm === 0) continue;
      if (calm === BEGINS) {
        this.note(frame.truthAt(pair), null, frame.pairPart[pair]);
        this.note(frame.trackAt(pair), null, frame.pairPart[pair]);
      } else {
        this.noteCalm(frame.truthAt(pair), frame.pairPart[pair]);
        this.noteCalm(frame.trackAt(pair), frame.pairTrackPart[pair]);
      }
      this.uncalm(frame, pair);
    }
    for (let n = 0; n < groupCount; n++) this.discard(groups[n]!);
    // whoever took part before and does not now goes on as it came in
    for (let n = 0; n < members.size; n++) this.comeIn(members.at(n));
    for (let n = 0; n < pairCount; n++) {
      this.comeIn(frame.truthAt(pairs[n]));
      this.comeIn(frame.trackAt(pairs[n]));
    }
    const made = this.advance(frame, pairs, pairCount);
    for (const { fresh, parts } of made) {
      for (let n = 0; n < fresh.length; n++) this.noteMade(fresh[n], null);
      for (let p = 0; p < parts.length; p++) {
        const part = parts[p];
        for (let n = 0; n < part.truths.length; n++) this.noteMade(part.truths[n], part);
        for (let n = 0; n < part.tracks.length; n++) this.noteMade(part.tracks[n], part);
      }
    }
    for (let n = 0; n < members.size; n++) this.compareMember(members.at(n), stamp);
    members.clear();
  }

  /** Notes what a member was in before and after the frame that is reworked. */
  private note(member: Trajectory, before: Part | null, after: Part | null | undefined): void {
    if (member.reworkStamp !== this.stamp) {
      member.reworkStamp = this.stamp;
      this.members.add(member);
    }
    member.before = before;
    member.after = after;
  }

  private noteGroup({ fresh, parts, inputs }: Group): void {
    for (let n = 0; n < fresh.length; n++) this.note(fresh[n], null, null);
    for (let p = 0; p < parts.length; p++) {
      const part = parts[p];
      for (let n = 0; n < part.truths.length; n++) this.note(part.truths[n], null, part);
      for (let n = 0; n < part.tracks.length; n++) this.note(part.tracks[n], null, part);
    }
    for (let p = 0; p < inputs.length; p++) {
      const input = inputs[p];
      for (let n = 0; n < input.truths.length; n++) input.truths[n].before = input;
      for (let n = 0; n < input.tracks.length; n++) input.tracks[n].before = input;
    }
  }

  private noteCalm(end: Trajectory, part: Part | null): void {
    if (part === null) {
      this.note(end, null, null);
      return;
    }
    for (let n = 0; n < part.truths.length; n++) this.note(part.truths[n], part, part);
    for (let n = 0; n < part.tracks.length; n++) this.note(part.tracks[n], part, part);
  }

  private noteMade(member: Trajectory, part: Part | null): void {
    if (member.reworkStamp !== this.stamp) this.note(member, null, undefined);
    member.now = part;
  }

  /** What a trajectory comes into the frame with that is reworked. */
  private comeIn(member: Trajectory): void {
    if (member.changed) member.now = member.changedPart;
    else member.now = member.reworkStamp === this.stamp ? member.before : null;
  }

  /** Ends the rework for what came out as it was, and carries on with what did not. */
  private compareMember(member: Trajectory, stamp: number): void {
    const { now: part, after: old } = member;
    if (part === null) {
      if (old === null) this.unmark(member);
      else this.mark(member, null);
      return;
    }
    if (part.reworkStamp === stamp) return;
    part.reworkStamp = stamp;
    const same = old && samePart(old, part) ? old : null;
    if (same && same !== part) this.adopt(same, part);
    this.carry(part.truths, part, same !== null);
    this.carry(part.tracks, part, same !== null);
    const present = same ?? part;
    if (present.taker === null && present.states.length > 1) this.open.add(present);
  }

  private carry(members: readonly Trajectory[], part: Part, same: boolean): void {
    for (let n = 0; n < members.length; n++) {
      if (same) this.unmark(members[n]);
      else this.mark(members[n], part);
    }
  }

  /** The old part, undecided, came out again: later frames hold on to it, and it now stems from the new group. */
  private adopt(old: Part, fresh: Part): void {
    this.open.delete(fresh);
    const group = fresh.group!;
    old.group = group;
    old.index = fresh.index;
    const { taker } = old;
    if (taker && taker.choice >= 0) this.choose(group, old.index[taker.from[taker.choice][old.takenAs]]);
    group.parts[group.parts.indexOf(fresh)] = old;
  }

  private discard(group: Group): void {
    const { frame } = group;
    if (group.loss > 0) this.cuts.delete(group);
    if (group.watch) group.watch.group = null;
    for (const part of group.parts) this.open.delete(part);
    for (const input of group.inputs) if (input.taker === group) input.taker = null;
    if (group.choice >= 0) frame.halves -= group.halves[group.choice];
    for (const pair of group.pairs) frame.pairGroup[pair] = null;
    const at = frame.groups.indexOf(group);
    if (at >= 0) frame.groups.splice(at, 1);
  }

  /** Works some pairs of a frame, whose ends come in with `now`; returns the groups it made. */
  private advance(frame: FrameRecord, pairs: Int32Array, count: number): Group[] {
    const groups: Group[] = [];
    for (const knot of knots(frame, pairs, count)) {
      if (isCalm(frame, knot) || (this.sweeping && knot.length === 1 && this.isIdle(frame, knot[0]))) {
        for (const pair of knot) this.hold(frame, pair, frame.truthAt(pair).now, frame.trackAt(pair).now);
      } else groups.push(this.work(frame, knot));
    }
    return groups;
  }

  /** Whether both ends of a pair that is alone in its knot are decided, and joining them is worse than not, by more than D' at most. */
  private isIdle(frame: FrameRecord, pair: number): boolean {
    const { h } = this;
    const { truth, track, remaining } = frame.edges[pair];
    const part = truth.now;
    const other = track.now;
    if ((part && part.states.length > 1) || (other && other.states.length > 1)) return false;
    if ((part === null && other === null) || part === other) return false;
    const held = part !== null && part.tracks.length > 0;
    const taken = other !== null && other.truths.length > 0;
    const lead = h * (1 + (held ? 1 : 0) + (taken ? 1 : 0)) - frame.benefit(pair);
    let cost = Math.min(h, remaining);
    if (held) cost = Math.min(h + cost, remaining + part.tracks[0].remaining);
    if (taken) cost += h;
    return lead > cost;
  }

  /** Nothing changes for a pair whose ends are decided: held, it earns. */
  private hold(frame: FrameRecord, pair: number, truthPart: Part | null, trackPart: Part | null): void {
    this.settle(frame, pair, truthPart, trackPart, CALM);
  }

  private settle(frame: FrameRecord, pair: number, truthPart: Part | null, trackPart: Part | null, calm: Calm): void {
    frame.pairPart[pair] = truthPart;
    frame.pairTrackPart[pair] = trackPart;
    frame.pairCalm[pair] = calm;
    const on = truthPart !== null && truthPart === trackPart ? 1 : 0;
    if (frame.on(pair) === on) return;
    frame.assign(pair, on);
    this.touch(frame);
  }

  /** A pair alone in the frame whose ends are fresh, or fresh or held together: what it has earned decides. */
  private goOn(frame: FrameRecord, pair: number, input: Part | null): Part {
    const edge = frame.edges[pair];
    const earned = frame.benefit(pair) - (input ? input.value[0] : 0);
    const slack = this.leadOf(frame, edge, earned);
    if (slack !== Number.POSITIVE_INFINITY || input !== null) return this.workPair(frame, pair, input, earned, slack);
    // the usual case needs nothing of its own
    const part = heldPart(edge);
    this.settle(frame, pair, part, part, BEGINS);
    return part;
  }

  /** The same, with what can be told of it later. */
  private workPair(frame: FrameRecord, pair: number, input: Part | null, earned: number, slack: number): Part {
    const edge = frame.edges[pair];
    const { truth, track } = edge;
    const decided = slack > 0;
    const part: Part = decided
      ? heldPart(edge)
      : {
          truths: truth.self,
          tracks: track.self,
          states: FRESH_OR_HELD,
          value: [-earned, 0],
          lone: true,
          group: null,
          index: BOTH,
          taker: null,
          takenAs: 0,
          knotStamp: 0,
          knot: 0,
          reworkStamp: 0,
          place: -1,
        };
    const group: Group = {
      frame,
      pairs: only(pair),
      inputs: input ? [input] : NO_PARTS,
      truths: truth.self,
      tracks: track.self,
      from: decided ? (input ? FROM_HELD : FROM_FRESH) : input ? FROM_BOTH : FROM_FRESH,
      on: decided ? ON_HELD : ON_BOTH,
      halves: NO_HALVES,
      fresh: NOBODY,
      parts: [part],
      choice: -1,
      loss: 0,
      stale: false,
      watch: null,
      reachStamp: 0,
    };
    if (input) {
      this.open.delete(input);
      input.taker = group;
      input.takenAs = 0;
    }
    frame.pairGroup[pair] = group;
    if (decided && slack !== Number.POSITIVE_INFINITY) {
      this.keepWatch(group, edge, slack);
      frame.groups.push(group);
    }
    if (decided) this.choose(group, 0);
    else {
      part.group = group;
      this.open.add(part);
    }
    return part;
  }

  /**
   * A held pair may be so far ahead of its ends being fresh that this is pointless: for ever, by D between the two; or by more than D', until so many quanta are
   * added to what its ends can earn otherwise. 0 when it is not.
   */
  private leadOf(frame: FrameRecord, { truth, track }: Edge, earned: number): number {
    const { h } = this;
    if (earned >= 3 * h) return Number.POSITIVE_INFINITY;
    if (!this.lookahead) return 0;
    if (!this.sweeping) {
      truth.look(frame.number);
      track.look(frame.number);
    }
    const truthElse = truth.mostBut(track);
    const trackElse = track.mostBut(truth);
    const cost = Math.min(truthElse + trackElse, h + Math.min(h, truthElse) + Math.min(h, trackElse));
    if (earned <= cost) return 0;
    return this.sweeping ? Number.POSITIVE_INFINITY : earned - cost;
  }

  private keepWatch(group: Group, edge: Edge | null, slack: number): void {
    const watch = { group, edge, slack };
    group.watch = watch;
    for (const truth of group.truths) truth.watch(watch);
    for (const track of group.tracks) track.watch(watch);
  }

  /** A frame has entered the window: what was decided by looking ahead, and is no longer sure, is due to be worked again. */
  expect(frame: FrameRecord): void {
    forEachDue(frame, (group) => this.due.push(group));
  }

  /** In how many frames something is due. */
  dueFrameCount(): number {
    if (this.due.length + this.cuts.size === 0) return 0;
    const frames = new Set<FrameRecord>();
    for (const { frame } of this.due) frames.add(frame);
    for (const { frame } of this.cuts) frames.add(frame);
    return frames.size;
  }

  /** Whether there is time to solve what overflowed as a component, in which every edge has a place in every frame. */
  private affordsComponent(truths: readonly Trajectory[]): boolean {
    let edges = 0;
    for (const truth of truths) edges += truth.edges.length;
    return this.budget!.affords(edges * this.frameCount * COMPONENT_PASSES);
  }

  /** One knot: joins its inputs, lets every state move, drops what cannot win, and takes the rest apart. */
  private work(frame: FrameRecord, pairs: readonly number[]): Group {
    const stamp = newStamp();
    let endCount = 0;
    for (let n = 0; n < pairs.length; n++) {
      const truth = frame.truthAt(pairs[n]);
      const track = frame.trackAt(pairs[n]);
      if (truth.endStamp !== stamp) endCount++;
      if (track.endStamp !== stamp) endCount++;
      truth.endStamp = track.endStamp = stamp;
      collect(truth, truthBasket, stamp);
      collect(track, trackBasket, stamp);
    }
    const truths = truthBasket.take();
    const tracks = trackBasket.take();
    const inputs = inputBasket.size === 0 ? NO_PARTS : inputBasket.take();
    number(truths);
    number(tracks);
    const { knot } = this;
    knot.begin(this.lookahead, this.sweeping, this.budget!, frame, pairs, inputs, truths, tracks);
    knot.work();
    if (knot.overflow && this.lookahead && !this.affordsComponent(truths)) knot.hurry();
    if (knot.overflow) this.overflow.push(...truths);
    const { kept, keptCount, states, loss } = knot;
    const from: (readonly number[])[] = new Array(keptCount);
    const on: (readonly number[])[] = new Array(keptCount);
    const halves: number[] = new Array(keptCount);
    for (let s = 0; s < keptCount; s++) {
      from[s] = knot.fromOf(kept[s]);
      on[s] = knot.onOf(kept[s]);
      halves[s] = states.halves[kept[s]];
    }
    const group: Group = {
      frame,
      pairs,
      inputs,
      truths,
      tracks,
      from,
      on,
      halves,
      fresh: NOBODY,
      parts: [],
      choice: -1,
      loss,
      stale: false,
      watch: null,
      reachStamp: 0,
    };
    if (loss > 0) this.cuts.add(group);
    for (let n = 0; n < pairs.length; n++) frame.pairGroup[pairs[n]] = group;
    const hidden = truths.length + tracks.length > endCount;
    if (hidden) {
      hide(truths, stamp, frame.number);
      hide(tracks, stamp, frame.number);
    }
    const watched = knot.slack !== Number.POSITIVE_INFINITY;
    if (watched) this.keepWatch(group, null, knot.slack);
    // to be found when it is to be worked again
    if (hidden || watched || loss > 0) frame.groups.push(group);
    for (let n = 0; n < inputs.length; n++) {
      const input = inputs[n];
      this.open.delete(input);
      if (input.states.length === 1) continue;
      input.taker = group;
      input.takenAs = n;
    }
    takeApart(group, knot);
    let decided = true;
    for (const part of group.parts) {
      if (part.states.length === 1) continue;
      this.open.add(part);
      decided = false;
    }
    if (decided) this.choose(group, 0);
    return group;
  }

  /** Makes a state the group's choice, and what it follows from the choice of the groups before. */
  private choose(group: Group, state: number): void {
    if (group.choice === state) return;
    const { chosen, chosenStates } = this;
    chosen.add(group);
    chosenStates.add(state);
    for (let at = 0; at < chosen.size; at++) {
      const g = chosen.at(at);
      const s = chosenStates.at(at);
      if (g.choice === s) continue;
      const { frame, pairs, inputs } = g;
      frame.halves += g.halves[s] - (g.choice >= 0 ? g.halves[g.choice] : 0);
      g.choice = s;
      const on = g.on[s];
      for (let n = 0; n < on.length; n++) {
        if (frame.on(pairs[n]) === on[n]) continue;
        frame.assign(pairs[n], on[n]);
        this.touch(frame);
      }
      for (let n = 0; n < inputs.length; n++) {
        const input = inputs[n];
        if (!input.group) continue;
        chosen.add(input.group);
        chosenStates.add(input.index[g.from[s][n]]);
      }
    }
    chosen.clear();
    chosenStates.clear();
  }
}

const inputBasket = new Basket<Part>();
const truthBasket = new Basket<Trajectory>();
const trackBasket = new Basket<Trajectory>();

/** Takes up a trajectory, with everybody whom its part holds. */
function collect(member: Trajectory, side: Basket<Trajectory>, stamp: number): void {
  if (member.knotStamp === stamp) return;
  member.knotStamp = stamp;
  const part = member.now;
  if (part === null) {
    side.add(member);
    return;
  }
  inputBasket.add(part);
  for (const truth of part.truths) {
    truth.knotStamp = stamp;
    truthBasket.add(truth);
  }
  for (const track of part.tracks) {
    track.knotStamp = stamp;
    trackBasket.add(track);
  }
}

/** Notes who has no pair in a frame. */
function hide(members: readonly Trajectory[], endStamp: number, number: number): void {
  for (let n = 0; n < members.length; n++) {
    const member = members[n];
    if (member.endStamp !== endStamp && member.hiddenUntil < number) member.hiddenUntil = number;
  }
}

/** Puts trajectories in order and gives each its index in the knot. */
function number(list: Trajectory[]): void {
  if (list.length > 1) sortFew(list, list.length, byId);
  for (let n = 0; n < list.length; n++) list[n].knot = n;
}

const byId = (a: Trajectory, b: Trajectory) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
