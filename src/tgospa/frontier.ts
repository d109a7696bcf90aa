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
 * frontier looks ahead to the window's end: instead of paying h, one may as well forgo what is still to be earned, so no
 * term of D counts more than that (D'). In good tracking one state is left after a frame or two, and the knot
 * comes apart into pairs that only earn. All values are whole quanta and D obeys the triangle inequality, so what is
 * left does not depend on the order of work: when the oldest frame leaves, the frames after it are worked again only
 * until a part comes out as it was.
 */

import type { Edge, FrameRecord, Trajectory } from './scene.js';

const FRESH = -2;
const FREE = -1;
// shapes that every pair of two trajectories shares
const HELD = [Int16Array.of(0, 0)];
const FRESH_OR_HELD = [Int16Array.of(FRESH, FRESH), Int16Array.of(0, 0)];
const ZERO = [0];
const BOTH = [0, 1];
const ON_HELD = [Uint8Array.of(1)];
const ON_BOTH = [Uint8Array.of(0), Uint8Array.of(1)];
const NO_HALVES = [0, 0];
const NO_PARTS: readonly Part[] = [];
const FROM_FRESH = [new Int32Array(0), new Int32Array(0)];
const FROM_HELD = [Int32Array.of(1)];
const FROM_BOTH = [Int32Array.of(0), Int32Array.of(1)];
/** knots with more pairs are worked without asking whether they are calm */
const CALM_PAIRS_MAX = 10;
/** moves tried in one knot, per state that may be kept */
const MOVES_PER_STATE_MAX = 16;

/** What is known about some trajectories after a frame: the matchings that can still win, best value 0. */
export interface Part {
  readonly truths: readonly Trajectory[];
  readonly tracks: readonly Trajectory[];
  /** of each truth, then each track: index of its partner on the other side, FREE or FRESH */
  readonly states: readonly Int16Array[];
  readonly value: readonly number[];
  /** one truth and one track, held or at most fresh besides */
  readonly lone: boolean;
  /** where it came from, and for each state the group's state; with one state nothing is left to trace back */
  group: Group | null;
  index: readonly number[];
  /** the group that took it up, and as which input; null while it is the present */
  taker: Group | null;
  takenAs: number;
  knotStamp: number;
  knot: number;
}

/** The work of one frame on trajectories that its pairs tie together. */
export interface Group {
  readonly frame: FrameRecord;
  readonly pairs: readonly number[];
  readonly inputs: readonly Part[];
  readonly truths: readonly Trajectory[];
  readonly tracks: readonly Trajectory[];
  /** [state][input]: the input's state it follows from */
  readonly from: readonly Int32Array[];
  /** [state][pair]: 1 where the pair is assigned */
  readonly on: readonly Uint8Array[];
  readonly halves: readonly number[];
  parts: Part[];
  /** the state that is part of the optimum now; -1 before it is known */
  choice: number;
}

/** States of a group while it is worked on. */
interface Draft {
  states: Int16Array[];
  value: number[];
  from: Int32Array[];
  halves: number[];
}

export class Frontier {
  /** parts with more than one state that no later frame has taken up: the undecided present */
  private readonly open = new Set<Part>();
  /** trajectories of groups that grew too large; whoever calls solves them otherwise */
  readonly overflow: Trajectory[] = [];
  /** trajectories whose past is worked again, with what is known about them now */
  private readonly changed = new Map<Trajectory, Part | null>();
  /** pairs found to be held and decided since the last `rework` began */
  private readonly quiet: { frame: FrameRecord; pair: number }[] = [];

  constructor(
    private readonly h: number,
    private readonly statesMax: number,
    /** Whether to look ahead: see D'. Then every frame of the window is worked again for each newest one. */
    readonly lookahead: boolean,
    private readonly touch: (frame: FrameRecord) => void,
  ) {}

  /** Begins all over: `frames` will be entered again from the first on. */
  reset(frames: Iterable<FrameRecord>): void {
    this.open.clear();
    for (const frame of frames) {
      for (let n = frame.groups.length - 1; n >= 0; n--) this.discard(frame.groups[n]);
      for (let pair = 0; pair < frame.edges.length; pair++) {
        this.uncalm(frame, pair);
        const { truth, track } = frame.edges[pair];
        truth.part = track.part = null;
        truth.remaining = track.remaining = 0;
      }
    }
  }

  /** Takes in the newest frame's pairs. */
  enter(frame: FrameRecord, pairs: readonly number[]): void {
    const tied: number[] = [];
    if (this.lookahead) for (const pair of pairs) frame.edges[pair].earn(frame.benefit[pair]);
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
    for (const frame of frames) {
      if (this.changed.size === 0) return;
      this.reworkFrame(frame);
    }
    for (const [trajectory, part] of this.changed) {
      if (trajectory.part && trajectory.part !== part) this.open.delete(trajectory.part);
      trajectory.part = part;
      trajectory.changed = false;
    }
    this.changed.clear();
  }

  private mark(trajectory: Trajectory, part: Part | null): void {
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
    frame.pairPart[pair] = null;
    frame.pairTrackPart[pair] = null;
    frame.pairCalm[pair] = 0;
  }

  private reworkFrame(frame: FrameRecord): void {
    const done = new Set<number>();
    let more = false;
    for (let pair = 0; pair < frame.edges.length; pair++) {
      if (!frame.truthAt(pair).changed && !frame.trackAt(pair).changed) continue;
      if (this.reworkPair(frame, pair)) done.add(pair);
      else more = true;
    }
    if (!more)
      more = frame.groups.some((group) => isChanged(group) && !(group.pairs.length === 1 && done.has(group.pairs[0])));
    if (more) this.reworkKnots(frame, done);
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
    const { changed } = this;
    const affected = affectedPairs(frame, done);
    if (affected === null) return;
    const { pairs, groups } = affected;
    const before = new Map<Trajectory, Part | null>();
    const after = new Map<Trajectory, Part | null>();
    for (const group of groups) {
      forEachMember(group, (member, part) => {
        before.set(member, null);
        after.set(member, part);
      });
      for (const input of group.inputs)
        for (const member of [...input.truths, ...input.tracks]) before.set(member, input);
    }
    for (const pair of pairs) {
      if (!frame.pairCalm[pair]) continue;
      for (const [end, part] of [
        [frame.truthAt(pair), frame.pairPart[pair]],
        [frame.trackAt(pair), frame.pairTrackPart[pair]],
      ] as const) {
        for (const member of part ? [...part.truths, ...part.tracks] : [end]) {
          before.set(member, part);
          after.set(member, part);
        }
      }
      this.uncalm(frame, pair);
    }
    for (const group of groups) this.discard(group);
    const input = (trajectory: Trajectory) =>
      changed.has(trajectory) ? changed.get(trajectory)! : (before.get(trajectory) ?? null);
    // whoever took part before and does not now goes on as it came in
    const now = new Map<Trajectory, Part | null>();
    for (const member of after.keys()) now.set(member, input(member));
    const made = new Map<Part, Part[]>();
    for (const group of this.advance(frame, pairs, input)) {
      for (const part of group.parts) made.set(part, group.parts);
      forEachMember(group, (member, part) => now.set(member, part));
    }
    const seen = new Set<Part>();
    for (const [member, part] of now) {
      const old = after.get(member);
      if (part === null) {
        if (old === null) this.unmark(member);
        else this.mark(member, null);
      } else if (!seen.has(part)) {
        seen.add(part);
        const same = old && (old === part || samePart(old, part)) ? old : null;
        if (same && same !== part) this.adopt(same, part, made.get(part));
        for (const each of [...part.truths, ...part.tracks]) {
          if (same) this.unmark(each);
          else this.mark(each, part);
        }
        const present = same ?? part;
        if (present.taker === null && present.states.length > 1) this.open.add(present);
      }
    }
  }

  /** The old part came out again: later frames hold on to it, and it now stems from the new group. */
  private adopt(old: Part, fresh: Part, parts: Part[] | undefined): void {
    this.open.delete(fresh);
    old.group = fresh.group;
    old.index = fresh.index;
    const { taker } = old;
    if (old.group && taker && taker.choice >= 0)
      this.choose(old.group, old.index[taker.from[taker.choice][old.takenAs]]);
    // the group that made it may lie some frames back, when the part has passed through untouched
    const list = fresh.group?.parts ?? parts;
    const at = list ? list.indexOf(fresh) : -1;
    if (at >= 0) list![at] = old;
    for (const { frame, pair } of this.quiet) {
      if (frame.pairPart[pair] === fresh) frame.pairPart[pair] = old;
      if (frame.pairTrackPart[pair] === fresh) frame.pairTrackPart[pair] = old;
    }
  }

  private discard(group: Group): void {
    const { frame } = group;
    for (const part of group.parts) this.open.delete(part);
    for (const input of group.inputs) if (input.taker === group) input.taker = null;
    if (group.choice >= 0) frame.halves -= group.halves[group.choice];
    for (const pair of group.pairs) frame.pairGroup[pair] = null;
    const at = frame.groups.indexOf(group);
    if (at >= 0) frame.groups.splice(at, 1);
  }

  /** Works some pairs of a frame; returns the groups it made. */
  private advance(frame: FrameRecord, pairs: number[], partOf: (trajectory: Trajectory) => Part | null): Group[] {
    const groups: Group[] = [];
    for (const knot of knots(frame, pairs, partOf)) {
      if (isCalm(frame, knot, partOf)) {
        for (const pair of knot) {
          this.hold(frame, pair, partOf(frame.truthAt(pair)), partOf(frame.trackAt(pair)));
          this.quiet.push({ frame, pair });
        }
      } else groups.push(this.work(frame, knot, partOf));
    }
    return groups;
  }

  /** Nothing changes for a pair whose ends are decided: held, it earns. */
  private hold(frame: FrameRecord, pair: number, truthPart: Part | null, trackPart: Part | null): void {
    frame.pairPart[pair] = truthPart;
    frame.pairTrackPart[pair] = trackPart;
    frame.pairCalm[pair] = 1;
    const on = truthPart !== null && truthPart === trackPart ? 1 : 0;
    if (frame.on[pair] === on) return;
    frame.on[pair] = on;
    this.touch(frame);
  }

  /** A pair alone in the frame whose ends are fresh, or fresh or held together: what it has earned decides. */
  private workPair(frame: FrameRecord, pair: number, truth: Trajectory, track: Trajectory, input: Part | null): Part {
    const earned = frame.benefit[pair] - (input ? input.value[0] : 0);
    const decided = earned >= this.loneLead(frame.edges[pair]);
    const group: Group = {
      frame,
      pairs: [pair],
      inputs: input ? [input] : NO_PARTS,
      truths: [truth],
      tracks: [track],
      from: decided ? (input ? FROM_HELD : FROM_FRESH) : input ? FROM_BOTH : FROM_FRESH,
      on: decided ? ON_HELD : ON_BOTH,
      halves: NO_HALVES,
      parts: [],
      choice: -1,
    };
    const part: Part = {
      truths: group.truths,
      tracks: group.tracks,
      states: decided ? HELD : FRESH_OR_HELD,
      value: decided ? ZERO : [-earned, 0],
      lone: true,
      group: decided ? null : group,
      index: BOTH,
      taker: null,
      takenAs: 0,
      knotStamp: 0,
      knot: 0,
    };
    group.parts.push(part);
    if (input) {
      this.open.delete(input);
      input.taker = group;
      input.takenAs = 0;
    }
    frame.pairGroup[pair] = group;
    frame.groups.push(group);
    if (decided) this.choose(group, 0);
    else this.open.add(part);
    return part;
  }

  /** What a held pair must be ahead of its ends being fresh for that to be pointless: D between the two. */
  private loneLead({ truth, track, remaining }: Edge): number {
    const { h } = this;
    if (!this.lookahead) return 3 * h;
    const truthElse = truth.remaining - remaining;
    const trackElse = track.remaining - remaining;
    return Math.min(h, truthElse + trackElse) + Math.min(h, truthElse) + Math.min(h, trackElse);
  }

  /** One knot: joins its inputs, lets every state move, drops what cannot win, and takes the rest apart. */
  private work(frame: FrameRecord, pairs: number[], partOf: (trajectory: Trajectory) => Part | null): Group {
    const inputList: Part[] = [];
    const truths: Trajectory[] = [];
    const tracks: Trajectory[] = [];
    const stamp = ++knotStamp;
    const collect = (member: Trajectory, side: Trajectory[]) => {
      if (member.knotStamp === stamp) return;
      member.knotStamp = stamp;
      const part = partOf(member);
      if (part === null) {
        side.push(member);
        return;
      }
      inputList.push(part);
      for (const truth of part.truths) {
        truth.knotStamp = stamp;
        truths.push(truth);
      }
      for (const track of part.tracks) {
        track.knotStamp = stamp;
        tracks.push(track);
      }
    };
    for (const pair of pairs) {
      collect(frame.truthAt(pair), truths);
      collect(frame.trackAt(pair), tracks);
    }
    number(truths.sort(byId));
    number(tracks.sort(byId));
    const { states, value, from, halves } = this.move(frame, pairs, inputList, truths, tracks);
    const on = states.map((state) => {
      const flags = new Uint8Array(pairs.length);
      for (let n = 0; n < flags.length; n++)
        if (state[frame.truthAt(pairs[n]).knot] === frame.trackAt(pairs[n]).knot) flags[n] = 1;
      return flags;
    });
    const group: Group = { frame, pairs, inputs: inputList, truths, tracks, from, on, halves, parts: [], choice: -1 };
    for (const pair of pairs) frame.pairGroup[pair] = group;
    frame.groups.push(group);
    inputList.forEach((input, n) => {
      this.open.delete(input);
      input.taker = group;
      input.takenAs = n;
    });
    group.parts = takeApart(group, states, value);
    let decided = true;
    for (const part of group.parts) {
      if (part.states.length === 1) continue;
      this.open.add(part);
      decided = false;
    }
    if (decided) this.choose(group, 0);
    return group;
  }

  /** All states that can still win after this frame. */
  private move(
    frame: FrameRecord,
    pairs: readonly number[],
    inputs: readonly Part[],
    truths: Trajectory[],
    tracks: Trajectory[],
  ): Draft {
    const mover = new Mover(this.h, this.statesMax, this.lookahead, frame, pairs, truths, tracks);
    mover.combine(inputs);
    if (mover.overflow) this.overflow.push(...truths);
    return mover.best();
  }

  /** Makes a state the group's choice, and what it follows from the choice of the groups before. */
  private choose(group: Group, state: number): void {
    const pending: [Group, number][] = [[group, state]];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const [g, s] = next;
      if (g.choice === s) continue;
      const { frame } = g;
      frame.halves += g.halves[s] - (g.choice >= 0 ? g.halves[g.choice] : 0);
      g.choice = s;
      const on = g.on[s];
      for (let n = 0; n < on.length; n++) {
        if (frame.on[g.pairs[n]] === on[n]) continue;
        frame.on[g.pairs[n]] = on[n];
        this.touch(frame);
      }
      g.inputs.forEach((input, n) => {
        if (input.group) pending.push([input.group, input.index[g.from[s][n]]]);
      });
    }
  }
}

/** Visits a group's members with the part each is in afterwards; null for those still fresh. */
function forEachMember(group: Group, visit: (member: Trajectory, part: Part | null) => void): void {
  const partOf = new Map<Trajectory, Part>();
  for (const part of group.parts) for (const member of [...part.truths, ...part.tracks]) partOf.set(member, part);
  for (const member of group.truths) visit(member, partOf.get(member) ?? null);
  for (const member of group.tracks) visit(member, partOf.get(member) ?? null);
}

/** Gives each its index in the knot. */
function number(list: Trajectory[]): void {
  for (let n = 0; n < list.length; n++) list[n].knot = n;
}

const byId = (a: Trajectory, b: Trajectory) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

function bestState(part: Part): number {
  let best = 0;
  for (let s = 1; s < part.value.length; s++) if (part.value[s] > part.value[best]) best = s;
  return best;
}

let knotStamp = 0;

/** Pairs grouped by what ties them together: common trajectories, and parts that hold several. */
function knots(
  frame: FrameRecord,
  pairs: readonly number[],
  partOf: (trajectory: Trajectory) => Part | null,
): number[][] {
  const stamp = ++knotStamp;
  const root: number[] = [];
  const find = (n: number) => {
    while (root[n] !== n) n = root[n];
    return n;
  };
  const tie = (n: number, member: Trajectory) => {
    const key: Trajectory | Part = partOf(member) ?? member;
    if (key.knotStamp === stamp) root[find(n)] = find(key.knot);
    key.knotStamp = stamp;
    key.knot = n;
  };
  for (let n = 0; n < pairs.length; n++) {
    root.push(n);
    tie(n, frame.truthAt(pairs[n]));
    tie(n, frame.trackAt(pairs[n]));
  }
  const lists: number[][] = [];
  for (let n = 0; n < pairs.length; n++) {
    const top = find(n);
    lists[top] ??= [];
    lists[top].push(pairs[n]);
  }
  return lists.filter((list) => list !== undefined);
}

/** Whether everything is decided and no exchange earns more in this frame than staying does. */
function isCalm(frame: FrameRecord, knot: readonly number[], partOf: (trajectory: Trajectory) => Part | null): boolean {
  if (knot.length > CALM_PAIRS_MAX) return false;
  let staying = 0;
  for (const pair of knot) {
    const part = partOf(frame.truthAt(pair));
    const other = partOf(frame.trackAt(pair));
    if ((part && part.states.length > 1) || (other && other.states.length > 1)) return false;
    if (part !== null && part === other) staying += frame.benefit[pair];
  }
  return staying > 0 && bestEarning(frame, knot, 0) <= staying;
}

/** The most that pairs of a knot, from the n-th on, can earn in this frame without using an end twice. */
function bestEarning(frame: FrameRecord, knot: readonly number[], n: number): number {
  if (n === knot.length) return 0;
  let best = bestEarning(frame, knot, n + 1);
  const pair = knot[n];
  const truth = frame.truthAt(pair);
  const track = frame.trackAt(pair);
  if (!truth.taken && !track.taken) {
    truth.taken = track.taken = true;
    best = Math.max(best, frame.benefit[pair] + bestEarning(frame, knot, n + 1));
    truth.taken = track.taken = false;
  }
  return best;
}

/** Splits off everything that is the same in all states; what is left stays one part. Fresh trajectories need none. */
function takeApart(group: Group, states: Int16Array[], value: number[]): Part[] {
  const { truths, tracks } = group;
  const n = truths.length;
  const first = states[0];
  const settled = (x: number) => states.every((s) => s[x] === first[x]);
  const parts: Part[] = [];
  const openTruths: number[] = [];
  const openTracks: number[] = [];
  const single = (t: Trajectory[], k: Trajectory[], state: number[]) =>
    parts.push({
      truths: t,
      tracks: k,
      states: [Int16Array.from(state)],
      value: ZERO,
      lone: t.length + k.length === 2,
      group: null,
      index: [0],
      taker: null,
      takenAs: 0,
      knotStamp: 0,
      knot: 0,
    });
  for (let i = 0; i < n; i++) {
    const partner = first[i];
    if (!settled(i)) openTruths.push(i);
    else if (partner >= 0) single([truths[i]], [tracks[partner]], [0, 0]);
    else if (partner === FREE) single([truths[i]], [], [FREE]);
  }
  for (let j = 0; j < tracks.length; j++) {
    if (!settled(n + j)) openTracks.push(j);
    else if (first[n + j] === FREE) single([], [tracks[j]], [FREE]);
  }
  if (openTruths.length + openTracks.length === 0) return parts;
  const restate = (s: Int16Array) =>
    Int16Array.from([
      ...openTruths.map((i) => (s[i] < 0 ? s[i] : openTracks.indexOf(s[i]))),
      ...openTracks.map((j) => (s[n + j] < 0 ? s[n + j] : openTruths.indexOf(s[n + j]))),
    ]);
  const best = Math.max(...value);
  const restated = states.map(restate);
  parts.push({
    truths: openTruths.map((i) => truths[i]),
    tracks: openTracks.map((j) => tracks[j]),
    states: restated,
    value: value.map((v) => v - best),
    lone: isLone(openTruths.length, openTracks.length, restated),
    group,
    index: states.map((_, s) => s),
    taker: null,
    takenAs: 0,
    knotStamp: 0,
    knot: 0,
  });
  return parts;
}

/** The shape that `workPair` goes on from: fresh, or held. */
function isLone(truthCount: number, trackCount: number, states: Int16Array[]): boolean {
  return (
    truthCount === 1 &&
    trackCount === 1 &&
    states.length === 2 &&
    states[0].every((x) => x === FRESH) &&
    states[1].every((x) => x >= 0)
  );
}

function isChanged(group: Group): boolean {
  return group.truths.some((t) => t.changed) || group.tracks.some((t) => t.changed);
}

function samePart(a: Part, b: Part): boolean {
  if (a.states.length !== b.states.length || a.truths.length !== b.truths.length || a.tracks.length !== b.tracks.length)
    return false;
  for (let n = 0; n < a.truths.length; n++) if (a.truths[n] !== b.truths[n]) return false;
  for (let n = 0; n < a.tracks.length; n++) if (a.tracks[n] !== b.tracks[n]) return false;
  for (let s = 0; s < a.states.length; s++) {
    if (a.value[s] !== b.value[s]) return false;
    for (let x = 0; x < a.states[s].length; x++) if (a.states[s][x] !== b.states[s][x]) return false;
  }
  return true;
}

/** Pairs and groups of a frame that changed trajectories reach, besides those done; null when there are none. */
function affectedPairs(frame: FrameRecord, done: ReadonlySet<number>): { pairs: number[]; groups: Set<Group> } | null {
  const groups = new Set<Group>();
  const pairs = new Set<number>();
  const members = new Set<Trajectory>();
  const mine = (pair: number) => frame.edges[pair].component === null && !frame.edges[pair].alone && !done.has(pair);
  for (const group of frame.groups) if (mine(group.pairs[0]) && isChanged(group)) groups.add(group);
  for (let pair = 0; pair < frame.edges.length; pair++) {
    if ((frame.truthAt(pair).changed || frame.trackAt(pair).changed) && mine(pair)) pairs.add(pair);
  }
  if (groups.size === 0 && pairs.size === 0) return null;
  for (let size = -1; size !== groups.size + pairs.size; ) {
    size = groups.size + pairs.size;
    for (const pair of pairs) {
      const group = frame.pairGroup[pair];
      if (group) groups.add(group);
      members.add(frame.truthAt(pair));
      members.add(frame.trackAt(pair));
    }
    for (const group of groups) {
      for (const pair of group.pairs) pairs.add(pair);
      for (const member of group.truths) members.add(member);
      for (const member of group.tracks) members.add(member);
    }
    for (let pair = 0; pair < frame.edges.length; pair++) {
      if ((members.has(frame.truthAt(pair)) || members.has(frame.trackAt(pair))) && mine(pair)) pairs.add(pair);
    }
  }
  return { pairs: [...pairs].sort((a, b) => a - b), groups };
}

/** Moves the states of one knot through one frame. */
class Mover {
  overflow = false;
  private moves = 0;
  private readonly states: Int16Array[] = [];
  private readonly value: number[] = [];
  private readonly from: Int32Array[] = [];
  private readonly halves: number[] = [];
  private readonly found = new Map<string, number>();
  private readonly n: number;
  /** of each pair: truth, track, benefit */
  private readonly pairTruth: number[];
  private readonly pairTrack: number[];
  private readonly benefit: number[];

  constructor(
    private readonly h: number,
    private readonly statesMax: number,
    private readonly lookahead: boolean,
    frame: FrameRecord,
    pairs: readonly number[],
    private readonly truths: Trajectory[],
    private readonly tracks: Trajectory[],
  ) {
    this.n = truths.length;
    this.pairTruth = pairs.map((pair) => frame.truthAt(pair).knot);
    this.pairTrack = pairs.map((pair) => frame.trackAt(pair).knot);
    this.benefit = pairs.map((pair) => frame.benefit[pair]);
  }

  /** Every combination of the inputs' states, moved. */
  combine(inputs: readonly Part[]): void {
    const places = inputs.map((part) => ({
      truth: part.truths.map((t) => t.knot),
      track: part.tracks.map((t) => t.knot),
    }));
    const state = new Int16Array(this.n + this.tracks.length).fill(FRESH);
    const from = new Int32Array(inputs.length);
    const visit = (at: number, value: number) => {
      if (at === inputs.length) {
        this.moveFrom(state, value, from);
        return;
      }
      const part = inputs[at];
      const { truth, track } = places[at];
      for (let s = 0; s < part.states.length; s++) {
        const own = part.states[s];
        truth.forEach((i, x) => {
          state[i] = own[x] < 0 ? own[x] : track[own[x]];
        });
        track.forEach((j, x) => {
          const partner = own[truth.length + x];
          state[this.n + j] = partner < 0 ? partner : truth[partner];
        });
        from[at] = s;
        visit(at + 1, value + part.value[s]);
        if (this.overflow) return;
      }
    };
    visit(0, 0);
  }

  /** All sets of joins out of one state that earn more than they break. */
  private moveFrom(state: Int16Array, value: number, from: Int32Array): void {
    const { pairTruth, pairTrack, benefit } = this;
    const joins: number[] = [];
    const joinedTruth = new Set<number>();
    const joinedTrack = new Set<number>();
    let staying = 0;
    for (let p = 0; p < benefit.length; p++) if (state[pairTruth[p]] === pairTrack[p]) staying += benefit[p];
    const visit = (at: number) => {
      if (this.overflow) return;
      if (at === benefit.length) {
        if (++this.moves > this.statesMax * MOVES_PER_STATE_MAX) this.overflow = true;
        this.arrive(state, value, staying, from, joins);
        return;
      }
      visit(at + 1);
      const i = pairTruth[at];
      const j = pairTrack[at];
      if (state[i] === j || joinedTruth.has(i) || joinedTrack.has(j)) return;
      joins.push(at);
      joinedTruth.add(i);
      joinedTrack.add(j);
      visit(at + 1);
      joins.pop();
      joinedTruth.delete(i);
      joinedTrack.delete(j);
    };
    visit(0);
  }

  private arrive(state: Int16Array, value: number, staying: number, from: Int32Array, joins: number[]): void {
    const { n, pairTruth, pairTrack, benefit } = this;
    const next = state.slice();
    let halves = 0;
    for (const p of joins) {
      const i = pairTruth[p];
      const j = pairTrack[p];
      if (next[i] >= 0) {
        halves++;
        next[n + next[i]] = FREE;
        next[i] = FREE;
      }
      if (next[n + j] >= 0) {
        halves++;
        next[next[n + j]] = FREE;
        next[n + j] = FREE;
      }
    }
    for (const p of joins) {
      const i = pairTruth[p];
      const j = pairTrack[p];
      if (next[i] !== FRESH || next[n + j] !== FRESH) halves++;
      next[i] = j;
      next[n + j] = i;
    }
    let earned = 0;
    for (let p = 0; p < benefit.length; p++) if (next[pairTruth[p]] === pairTrack[p]) earned += benefit[p];
    // a change that earns no more than staying can be put off
    if (joins.length > 0 && earned <= staying) return;
    this.keep(next, value + earned - halves * this.h, from, halves);
  }

  private keep(state: Int16Array, value: number, from: Int32Array, halves: number): void {
    const key = state.join();
    const known = this.found.get(key);
    if (known === undefined) {
      if (this.states.length >= this.statesMax) {
        this.overflow = true;
        return;
      }
      this.found.set(key, this.states.length);
      this.states.push(state);
      this.value.push(value);
      this.from.push(from.slice());
      this.halves.push(halves);
      return;
    }
    // among equal ways here the one that changes most now, because later is better, then the first found
    if (value > this.value[known] || (value === this.value[known] && halves > this.halves[known])) {
      this.value[known] = value;
      this.from[known] = from.slice();
      this.halves[known] = halves;
    }
  }

  /** What can still win, in a fixed order. */
  best(): Draft {
    const { states, value } = this;
    const order = states
      .map((_, s) => s)
      .sort((a, b) => value[b] - value[a] || freshCount(states[b]) - freshCount(states[a]));
    const kept: number[] = [];
    for (const s of order) {
      if (!kept.some((t) => value[t] - value[s] >= this.follow(states[t], states[s]))) kept.push(s);
    }
    kept.sort((a, b) => compare(states[a], states[b]));
    return {
      states: kept.map((s) => states[s]),
      value: kept.map((s) => value[s]),
      from: kept.map((s) => this.from[s]),
      halves: kept.map((s) => this.halves[s]),
    };
  }

  /** D(t', t). */
  private follow(t1: Int16Array, t: Int16Array): number {
    if (this.lookahead) return this.followAhead(t1, t);
    const { n } = this;
    let count = 0;
    for (let i = 0; i < n; i++) {
      const a = t1[i];
      const b = t[i];
      if (a === b) continue;
      if (a >= 0) count++;
      if (b >= 0 && !(a === FRESH && t1[n + b] === FRESH)) count++;
      if (b === FRESH) count++;
    }
    for (let x = n; x < t.length; x++) if (t[x] === FRESH && t1[x] !== FRESH) count++;
    return count * this.h;
  }

  /** D'(t', t): no term counts more than what is still to be earned by it. */
  private followAhead(t1: Int16Array, t: Int16Array): number {
    const { n, h, truths, tracks } = this;
    let sum = 0;
    for (let i = 0; i < n; i++) {
      const a = t1[i];
      const b = t[i];
      if (a === b) continue;
      if (a >= 0) sum += Math.min(h, truths[i].remaining + tracks[a].remaining - 2 * remaining(truths[i], tracks[a]));
      if (b >= 0 && !(a === FRESH && t1[n + b] === FRESH)) sum += Math.min(h, remaining(truths[i], tracks[b]));
      if (b === FRESH) sum += Math.min(h, truths[i].remaining);
    }
    for (let x = n; x < t.length; x++)
      if (t[x] === FRESH && t1[x] !== FRESH) sum += Math.min(h, tracks[x - n].remaining);
    return sum;
  }
}

/** What a pair can still earn. */
function remaining(truth: Trajectory, track: Trajectory): number {
  for (const edge of truth.edges) if (edge.track === track) return edge.remaining;
  return 0;
}

function freshCount(state: Int16Array): number {
  let count = 0;
  for (let x = 0; x < state.length; x++) if (state[x] === FRESH) count++;
  return count;
}

function compare(a: Int16Array, b: Int16Array): number {
  for (let x = 0; x < a.length; x++) if (a[x] !== b[x]) return a[x] - b[x];
  return 0;
}
