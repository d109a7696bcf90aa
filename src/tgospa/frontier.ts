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
 * bounds what it costs to follow from t' what t would do. When switches are dear, many states survive this for long. Then the
 * frontier looks ahead to the window's end: instead of paying h, one may as well forgo what is still to be earned (D', outlook.ts). In good tracking one state is left after a frame or two, and the knot
 * comes apart into pairs that only earn. All values are whole quanta and D obeys the triangle inequality, so what is
 * left does not depend on the order of work: when the oldest frame leaves, the frames after it are worked again only
 * until a part comes out as it was.
 */

import { Basket } from './basket.js';
import type { Budget } from './budget.js';
import type { FrameRecord } from './frame-record.js';
import { Knot } from './knot.js';
import {
  bestState,
  FRESH_OR_HELD,
  forEachMember,
  type Group,
  HELD,
  NOBODY,
  type Part,
  samePart,
  takeApart,
} from './part.js';
import { sortFew } from './state-table.js';
import { affectedPairs, isCalm, isChanged, knots, newStamp, type PartOf } from './ties.js';
import type { Edge, Trajectory } from './trajectory.js';

// shapes that the groups of all lone pairs share
const ON_HELD = [[1]];
const ON_BOTH = [[0], [1]];
const NO_HALVES = [0, 0];
const NOTHING_DONE = new Set<number>();
const NO_PARTS: readonly Part[] = [];
const FROM_FRESH: number[][] = [[], []];
const FROM_HELD = [[1]];
const FROM_BOTH = [[0], [1]];

/** about so often does ascent go through all edges in all frames */
const COMPONENT_PASSES = 20;

export class Frontier {
  /** parts with more than one state that no later frame has taken up: the undecided present */
  private readonly open = new Set<Part>();
  /** trajectories of groups that grew too large; whoever calls solves them otherwise */
  readonly overflow: Trajectory[] = [];
  /** trajectories whose past is worked again, with what is known about them now */
  private readonly changed = new Map<Trajectory, Part | null>();
  /** length of the window that is solved */
  private frameCount = 0;
  /** pairs found to be held and decided since the last `rework` began */
  private readonly quiet: { frame: FrameRecord; pair: number }[] = [];
  /** groups that left something out because the time was up: worked again at the next `rework` */
  private readonly cuts = new Set<Group>();
  /** pairs assigned by `mend`, and the quanta they earn */
  private readonly mended: { frame: FrameRecord; pair: number }[] = [];
  private mendedQuanta = 0;
  private readonly knot: Knot;
  /** of the solve that goes on */
  private budget: Budget | null = null;

  constructor(
    private readonly h: number,
    statesMax: number,
    /** Whether to look ahead: see D'. Then every frame of the window is worked again for each newest one. */
    public lookahead: boolean,
    private readonly touch: (frame: FrameRecord) => void,
  ) {
    this.knot = new Knot(h, statesMax);
  }

  /** Begins all over: `frames` will be entered again from the first on. */
  reset(frames: Iterable<FrameRecord>): void {
    this.open.clear();
    this.cuts.clear();
    for (const frame of frames) {
      for (let pair = 0; pair < frame.edges.length; pair++) {
        this.clearPair(frame, pair);
        const { truth, track } = frame.edges[pair];
        truth.part = track.part = null;
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

  get cutCount(): number {
    return this.cuts.size;
  }

  /** How many edges were not worked to the end. */
  openCount(): number {
    if (this.cuts.size === 0) return 0;
    const edges = new Set<Edge>();
    for (const { frame, pairs } of this.cuts) for (const pair of pairs) edges.add(frame.edges[pair]);
    return edges.size;
  }

  /** Takes in the newest frame's pairs. */
  enter(frame: FrameRecord, pairs: readonly number[]): void {
    frame.openFrontier();
    const tied: number[] = [];
    if (this.lookahead) for (const pair of pairs) frame.edges[pair].earn(frame.benefit(pair));
    for (const pair of pairs) {
      const truth = frame.truthAt(pair);
      const track = frame.trackAt(pair);
      const part = truth.part;
      if (!frame.lone[pair] || part !== track.part || !(part === null || part.lone)) tied.push(pair);
      else if (part !== null && part.states.length === 1) this.hold(frame, pair, part, part);
      else truth.part = track.part = this.workPair(frame, pair, truth, track, part);
    }
    if (tied.length === 0) return;
    for (const group of this.advance(frame, tied, (trajectory) => trajectory.part)) {
      forEachMember(group, (member, part) => {
        member.part = part;
      });
    }
  }

  /** Chooses the best state of everything undecided and follows it back. */
  decide(): void {
    for (const part of this.open) this.choose(part.group!, part.index[bestState(part)]);
  }

  /** Says that what is known about a trajectory no longer holds: it begins fresh at the next `rework`. */
  restart(trajectory: Trajectory): void {
    this.mark(trajectory, null);
  }

  /** Works the window's frames again for trajectories that begin anew, until everything comes out as it was. */
  rework(frames: Iterable<FrameRecord>): void {
    this.quiet.length = 0;
    const cut = new Set<FrameRecord>();
    for (const { frame } of this.cuts) cut.add(frame);
    for (const frame of frames) {
      if (this.changed.size + cut.size === 0) return;
      if (cut.delete(frame) || this.changed.size > 0) this.reworkFrame(frame);
    }
    for (const [trajectory, part] of this.changed) {
      if (trajectory.part && trajectory.part !== part) this.open.delete(trajectory.part);
      trajectory.part = part;
      trajectory.changed = false;
    }
    this.changed.clear();
  }

  private mark(trajectory: Trajectory, part: Part | null): void {
    if (!trajectory.changed) trajectory.nextNumber = 0;
    trajectory.changed = true;
    this.changed.set(trajectory, part);
  }

  private unmark(trajectory: Trajectory): void {
    trajectory.changed = false;
    this.changed.delete(trajectory);
  }

  /** A trajectory has left the window; those it was tied to begin anew. */
  forget(trajectory: Trajectory): void {
    if (trajectory.part) this.open.delete(trajectory.part);
    trajectory.part = null;
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
    let done: Set<number> = NOTHING_DONE;
    let more = false;
    for (const pair of this.changedPairs(frame)) {
      frame.openFrontier();
      if (!this.reworkPair(frame, pair)) more = true;
      else if (done === NOTHING_DONE) done = new Set([pair]);
      else done.add(pair);
    }
    // members may have no pair of their own in this frame
    for (let n = 0; n < frame.groups.length && !more; n++) more = isChanged(frame.groups[n]);
    if (more) this.reworkKnots(frame, done);
  }

  /** Pairs of a frame with a changed end. */
  private changedPairs(frame: FrameRecord): readonly number[] {
    const pairs: number[] = [];
    let edgeCount = 0;
    for (const trajectory of this.changed.keys())
      if (trajectory.nextNumber <= frame.number) edgeCount += trajectory.edges.length;
    if (edgeCount > frame.edges.length) {
      for (let pair = 0; pair < frame.edges.length; pair++)
        if (frame.truthAt(pair).changed || frame.trackAt(pair).changed) pairs.push(pair);
      return pairs;
    }
    // few of many: by their edges, so that a crowd does not cost more for being one
    for (const trajectory of this.changed.keys()) {
      if (trajectory.nextNumber > frame.number) continue;
      let next = Number.POSITIVE_INFINITY;
      for (const edge of trajectory.edges) {
        const number = edge.frameFrom(frame.number);
        if (number < next) next = number;
        if (number === frame.number && (edge.truth === trajectory || !edge.truth.changed))
          pairs.push(edge.pairIn(number));
      }
      trajectory.nextNumber = next;
    }
    return pairs.length > 1 ? sortFew(pairs, (a, b) => a - b) : pairs;
  }

  /** The usual case: a pair alone in its frame, both ends fresh or only waiting for each other, before and now. */
  private reworkPair(frame: FrameRecord, pair: number): boolean {
    const truth = frame.truthAt(pair);
    const track = frame.trackAt(pair);
    if (!frame.lone[pair] || !truth.changed || !track.changed) return false;
    const input = this.changed.get(truth)!;
    if (input !== this.changed.get(track)! || !(input === null || input.lone)) return false;
    const group = frame.pairGroup[pair];
    if (group && (group.truths.length !== 1 || group.tracks.length !== 1)) return false;
    const old = group ? (group.parts[0] ?? null) : frame.pairPart[pair];
    if (old && !old.lone) return false;
    if (group) this.discard(group);
    let part: Part;
    if (input !== null && input.states.length === 1) {
      part = input;
      this.hold(frame, pair, part, part);
      this.quiet.push({ frame, pair });
    } else {
      this.uncalm(frame, pair);
      part = this.workPair(frame, pair, truth, track, input);
    }
    if (old && (old === part || samePart(old, part))) {
      if (old !== part) this.adopt(old, part, frame.pairGroup[pair]?.parts);
      this.unmark(truth);
      this.unmark(track);
      if (old.taker === null && old.states.length > 1) this.open.add(old);
    } else {
      this.mark(truth, part);
      this.mark(track, part);
    }
    return true;
  }

  private reworkKnots(frame: FrameRecord, done: ReadonlySet<number>): void {
    const affected = affectedPairs(frame, done, this.changedPairs(frame));
    if (affected === null) return;
    const { pairs, groups } = affected;
    const members: Trajectory[] = [];
    const stamp = ++reworkStamp;
    const note = (member: Trajectory, before: Part | null, after: Part | null) => {
      if (member.reworkStamp !== stamp) {
        member.reworkStamp = stamp;
        members.push(member);
      }
      member.before = before;
      member.after = after;
    };
    for (const group of groups) {
      forEachMember(group, (member, part) => note(member, null, part));
      for (const input of group.inputs) {
        for (const member of input.truths) member.before = input;
        for (const member of input.tracks) member.before = input;
      }
    }
    for (const pair of pairs) {
      if (!frame.pairCalm[pair]) continue;
      noteCalm(frame.truthAt(pair), frame.pairPart[pair], note);
      noteCalm(frame.trackAt(pair), frame.pairTrackPart[pair], note);
      this.uncalm(frame, pair);
    }
    for (const group of groups) this.discard(group);
    const { changed } = this;
    const input = (member: Trajectory) => {
      if (member.changed) return changed.get(member)!;
      return member.reworkStamp === stamp ? member.before : null;
    };
    // whoever took part before and does not now goes on as it came in
    for (const member of members) member.now = input(member);
    const made = this.advance(frame, pairs, input);
    for (const group of made) {
      forEachMember(group, (member, part) => {
        if (member.reworkStamp !== stamp) {
          member.reworkStamp = stamp;
          members.push(member);
          member.after = undefined;
        }
        member.now = part;
      });
    }
    for (const member of members) this.compareMember(member, stamp, made);
  }

  /** Ends the rework for what came out as it was, and carries on with what did not. */
  private compareMember(member: Trajectory, stamp: number, made: readonly Group[]): void {
    const { now: part, after: old } = member;
    if (part === null) {
      if (old === null) this.unmark(member);
      else this.mark(member, null);
      return;
    }
    if (part.reworkStamp === stamp) return;
    part.reworkStamp = stamp;
    const same = old && (old === part || samePart(old, part)) ? old : null;
    if (same && same !== part) this.adopt(same, part, made.find((group) => group.parts.includes(part))?.parts);
    for (const side of [part.truths, part.tracks]) {
      for (const each of side) {
        if (same) this.unmark(each);
        else this.mark(each, part);
      }
    }
    const present = same ?? part;
    if (present.taker === null && present.states.length > 1) this.open.add(present);
  }

  /** The old part came out again: later frames hold on to it, and it now stems from the new group. */
  private adopt(old: Part, fresh: Part, parts: Part[] | undefined): void {
    this.open.delete(fresh);
    old.group = fresh.group;
    old.index = fresh.index;
    const { taker } = old;
    if (old.group && taker && taker.choice >= 0)
      this.choose(old.group, old.index[taker.from[taker.choice][old.takenAs]]);
    // the group that made it may lie frames back
    const made = fresh.group?.parts ?? parts;
    const at = made ? made.indexOf(fresh) : -1;
    if (at >= 0) made![at] = old;
    for (const { frame, pair } of this.quiet) {
      if (frame.pairPart[pair] === fresh) frame.pairPart[pair] = old;
      if (frame.pairTrackPart[pair] === fresh) frame.pairTrackPart[pair] = old;
    }
  }

  private discard(group: Group): void {
    const { frame } = group;
    this.cuts.delete(group);
    for (const part of group.parts) this.open.delete(part);
    for (const input of group.inputs) if (input.taker === group) input.taker = null;
    if (group.choice >= 0) frame.halves -= group.halves[group.choice];
    for (const pair of group.pairs) frame.pairGroup[pair] = null;
    const at = frame.groups.indexOf(group);
    if (at >= 0) frame.groups.splice(at, 1);
  }

  /** Works some pairs of a frame; returns the groups it made. */
  private advance(frame: FrameRecord, pairs: number[], partOf: PartOf): Group[] {
    const groups: Group[] = [];
    for (const knot of knots(frame, pairs, partOf)) {
      if (isCalm(frame, knot, partOf) || (this.lookahead && knot.length === 1 && this.isIdle(frame, knot[0], partOf))) {
        for (const pair of knot) {
          this.hold(frame, pair, partOf(frame.truthAt(pair)), partOf(frame.trackAt(pair)));
          this.quiet.push({ frame, pair });
        }
      } else groups.push(this.work(frame, knot, partOf));
    }
    return groups;
  }

  /** Whether both ends of a pair that is alone in its knot are decided, and joining them is worse than not, by more than D' at most. */
  private isIdle(frame: FrameRecord, pair: number, partOf: PartOf): boolean {
    const { h } = this;
    const { truth, track, remaining } = frame.edges[pair];
    const part = partOf(truth);
    const other = partOf(track);
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
    frame.pairPart[pair] = truthPart;
    frame.pairTrackPart[pair] = trackPart;
    frame.pairCalm[pair] = 1;
    const on = truthPart !== null && truthPart === trackPart ? 1 : 0;
    if (frame.on(pair) === on) return;
    frame.assign(pair, on);
    this.touch(frame);
  }

  /** A pair alone in the frame whose ends are fresh, or fresh or held together: what it has earned decides. */
  private workPair(frame: FrameRecord, pair: number, truth: Trajectory, track: Trajectory, input: Part | null): Part {
    const earned = frame.benefit(pair) - (input ? input.value[0] : 0);
    const decided = this.leads(frame.edges[pair], earned);
    const group: Group = {
      frame,
      pairs: [pair],
      inputs: input ? [input] : NO_PARTS,
      truths: [truth],
      tracks: [track],
      from: decided ? (input ? FROM_HELD : FROM_FRESH) : input ? FROM_BOTH : FROM_FRESH,
      on: decided ? ON_HELD : ON_BOTH,
      halves: NO_HALVES,
      fresh: NOBODY,
      parts: [],
      choice: -1,
      loss: 0,
    };
    const part: Part = {
      truths: group.truths,
      tracks: group.tracks,
      states: decided ? HELD : FRESH_OR_HELD,
      value: decided ? [0] : [-earned, 0],
      lone: true,
      group: decided ? null : group,
      index: [0, 1],
      taker: null,
      takenAs: 0,
      knotStamp: 0,
      knot: 0,
      reworkStamp: 0,
    };
    group.parts.push(part);
    if (input) {
      this.open.delete(input);
      input.taker = group;
      input.takenAs = 0;
    }
    frame.pairGroup[pair] = group;
    if (decided) this.choose(group, 0);
    else this.open.add(part);
    return part;
  }

  /** Whether a held pair is so far ahead of its ends being fresh that this is pointless: by D between the two, or by more than D'. */
  private leads({ truth, track, remaining }: Edge, earned: number): boolean {
    const { h } = this;
    if (earned >= 3 * h) return true;
    if (!this.lookahead) return false;
    // with all of their other pairs before the best of them: it is quicker
    if (earned > truth.remaining + track.remaining - 2 * remaining) return true;
    const truthElse = truth.mostBut(track);
    const trackElse = track.mostBut(truth);
    return earned > Math.min(truthElse + trackElse, h + Math.min(h, truthElse) + Math.min(h, trackElse));
  }

  /** Whether there is time to solve what overflowed as a component, in which every edge has a place in every frame. */
  private affordsComponent(truths: readonly Trajectory[]): boolean {
    let edges = 0;
    for (const truth of truths) edges += truth.edges.length;
    return this.budget!.affords(edges * this.frameCount * COMPONENT_PASSES);
  }

  /** One knot: joins its inputs, lets every state move, drops what cannot win, and takes the rest apart. */
  private work(frame: FrameRecord, pairs: number[], partOf: PartOf): Group {
    const stamp = newStamp();
    for (let n = 0; n < pairs.length; n++) {
      collect(frame.truthAt(pairs[n]), truthBasket, stamp, partOf);
      collect(frame.trackAt(pairs[n]), trackBasket, stamp, partOf);
    }
    const truths = truthBasket.take();
    const tracks = trackBasket.take();
    const inputs = inputBasket.size === 0 ? NO_PARTS : inputBasket.take();
    number(sortFew(truths, byId));
    number(sortFew(tracks, byId));
    const { knot } = this;
    knot.begin(this.lookahead, this.budget!, frame, pairs, inputs, truths, tracks);
    knot.work();
    if (knot.overflow && this.lookahead && !this.affordsComponent(truths)) knot.hurry();
    if (knot.overflow) this.overflow.push(...truths);
    const { kept, states, loss } = knot;
    const from: (readonly number[])[] = new Array(kept.length);
    const on: (readonly number[])[] = new Array(kept.length);
    const halves: number[] = new Array(kept.length);
    for (let s = 0; s < kept.length; s++) {
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
    };
    if (loss > 0) this.cuts.add(group);
    for (let n = 0; n < pairs.length; n++) frame.pairGroup[pairs[n]] = group;
    if (truths.length + tracks.length > 2) frame.groups.push(group);
    for (let n = 0; n < inputs.length; n++) {
      const input = inputs[n];
      this.open.delete(input);
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
    const groups = [group];
    const states = [state];
    for (let at = 0; at < groups.length; at++) {
      const g = groups[at];
      const s = states[at];
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
        groups.push(input.group);
        states.push(input.index[g.from[s][n]]);
      }
    }
  }
}

const inputBasket = new Basket<Part>();
const truthBasket = new Basket<Trajectory>();
const trackBasket = new Basket<Trajectory>();

/** Takes up a trajectory, with everybody whom its part holds. */
function collect(member: Trajectory, side: Basket<Trajectory>, stamp: number, partOf: PartOf): void {
  if (member.knotStamp === stamp) return;
  member.knotStamp = stamp;
  const part = partOf(member);
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

/** Gives each its index in the knot. */
function number(list: Trajectory[]): void {
  for (let n = 0; n < list.length; n++) list[n].knot = n;
}

const byId = (a: Trajectory, b: Trajectory) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

let reworkStamp = 0;

function noteCalm(
  end: Trajectory,
  part: Part | null,
  note: (member: Trajectory, before: Part | null, after: Part | null) => void,
): void {
  if (part === null) {
    note(end, null, null);
    return;
  }
  for (const member of part.truths) note(member, part, part);
  for (const member of part.tracks) note(member, part, part);
}
