/**
 * What the frontier hands from frame to frame. Candidates say which matchings of a few trajectories can still win; a
 * Decision is the work of one frame that made candidates out of earlier ones, with the way back from each state to what
 * it came from. A Participant is what the frontier knows of a trajectory, a FrameWork what it has done on a frame: the
 * window itself knows nothing of them.
 */

import type { FrameRecord } from '../window/frame-record.js';
import type { Edge, Trajectory } from '../window/trajectory.js';

/** Never assigned so far. */
export const FRESH = -2;
/** Assigned before, not now. */
export const FREE = -1;
export const NOBODY: readonly Participant[] = [];
// what all decided candidates of one or two trajectories share
const HELD: readonly number[] = [0, 0];
const RELEASED: readonly number[] = [FREE];
const NOTHING: readonly number[] = [0, 0, 0, 0];

/**
 * Numbers that say what a state is worth: quanta; then how late its changes were, the sum of their frames; then the sum
 * of its pairs' ranks, and the same with each rank times its frame. Of two states with as many changes, or the same sum
 * of ranks, the next difference does not depend on how frames are numbered. They are compared in this order.
 */
export const WORTH = 4;

/** The matchings of some trajectories that can still win after a frame; the best is worth 0. */
export class Candidates {
  /**
   * the decision that they went into, and as which input; null while they are the present, and when there is one state
   * only
   */
  taker: Decision | null = null;
  takenAs = 0;
  knotStamp = 0;
  knot = 0;
  reworkStamp = 0;
  /** in the list of open ones, or -1 */
  place = -1;
  readonly count: number;
  /** what the edge of its ends has for both of them, as long as that is in the window: see heldBy */
  ofEdge = false;

  constructor(
    readonly truths: readonly Participant[],
    readonly tracks: readonly Participant[],
    /** state by state, of each truth, then each track: index of its partner on the other side, FREE or FRESH */
    readonly states: readonly number[],
    /** state by state, its worth */
    readonly worth: readonly number[],
    /** where they came from, whose states they are; with one state nothing is left to trace back */
    public decision: Decision | null,
  ) {
    this.count = worth.length / WORTH;
  }

  get decided(): boolean {
    return this.count === 1;
  }
}

/** Of what begins fresh. */
export const NO_INPUTS: readonly Candidates[] = [];

/** The work of one frame on trajectories that its pairs tie together. */
export interface Decision {
  readonly frame: FrameRecord;
  readonly pairs: readonly number[];
  readonly inputs: readonly Candidates[];
  readonly truths: readonly Participant[];
  readonly tracks: readonly Participant[];
  /**
   * state by state: its half-switches; of each input the state it follows from; of each pair 1 where it is assigned
   */
  readonly ways: readonly number[];
  /** participants still fresh in every state; the others are in candidates */
  fresh: readonly Participant[];
  outcomes: Candidates[];
  /** the state that is part of the optimum now; -1 before it is known */
  choice: number;
  reachStamp: number;
}

/** What the frontier knows of a trajectory. */
export class Participant {
  /** its candidates; null while it is fresh or not the frontier's */
  candidates: Candidates | null = null;
  /** its past is worked again, from these candidates on; `place` is that in the list of all such, or -1 */
  changedTo: Candidates | null = null;
  place = -1;
  /** no pair of it lies between the frame that is worked again and this one */
  nextNumber = 0;
  /** no frame after this has a decision with it in which it has no pair */
  hiddenUntil = -1;
  /** its past is worked again, but no later frame can tell */
  parked = false;
  /** what it is in now; while a frame is worked again, what it was in before and after it */
  now: Candidates | null = null;
  before: Candidates | null = null;
  after: Candidates | null | undefined = null;
  reworkStamp = 0;
  /** the rework in which it was seen to be held for certain, or to have a pair with one who is undecided */
  foreseenStamp = 0;
  besideStamp = 0;
  /** membership and index in a knot, whether an end is taken, and whether a change reaches it */
  knotStamp = 0;
  endStamp = 0;
  knot = 0;
  taken = false;
  reachStamp = 0;
  /** a list of itself only, shared by all who need one */
  readonly self: readonly Participant[] = [this];
  /** its own candidates after a release, made once */
  private released: Candidates | null = null;

  constructor(readonly trajectory: Trajectory) {}

  /** Its past is worked again. */
  get changed(): boolean {
    return this.place >= 0;
  }

  releasedAs(truths: readonly Participant[], tracks: readonly Participant[]): Candidates {
    this.released ??= new Candidates(truths, tracks, RELEASED, NOTHING, null);
    return this.released;
  }
}

/**
 * Whether a pair is calm, as its ends come in with the candidates they leave with, which are the same or not; or
 * begins, as they come in fresh and leave held.
 */
export type Calm = 0 | 2 | 4 | 6;
export const CALM = 2;
export const BEGINS = 4;
const APART = 6;

/** what is known of a pair takes so many bits: whether it is lone, how calm it is, whether there is more to keep */
const PAIR_BITS = 4;
const LONE = 1;
const KEPT = 8;
const PAIR_MASK = 15;
/** so many of them are in one number: pairs by 2 ** 3 */
const TOGETHER_BITS = 3;
const TOGETHER = 2 ** TOGETHER_BITS;
/** a frame with more pairs lists what was done by pair; with fewer, what is unusual is looked for */
const SOUGHT_MAX = 64;

/** its decision, the candidates of both ends, or those of either */
type Done = Decision | Candidates | readonly [Candidates | null, Candidates | null];

const NO_DECISIONS: Decision[] = [];
const EMPTY: (number | Done | null)[] = [];
const shiftOf = (pair: number): number => (pair & (TOGETHER - 1)) * PAIR_BITS;
/** cut to length they are new lists, faster than by filling them */
const zeros: number[] = [];
const nothing: null[] = [];

/**
 * What was done on a frame, by pair: its decision or, calm, the decided candidates that its ends leave it with. Most
 * often these are the ones that its edge has for both, and a few bits say so.
 */
export class FrameWork {
  private readonly bits: number[];
  /** pairs of which more is to be kept, with it behind each; in large frames what is to be kept, by pair */
  private kept: (number | Done | null)[] | null = null;
  /** decisions that a change may reach by participants without a pair in this frame */
  hidden: Decision[] = NO_DECISIONS;

  constructor(
    private readonly frame: FrameRecord,
    /** of each pair 1 where neither end has another in this frame */
    lone: readonly (0 | 1)[],
  ) {
    const count = (lone.length + TOGETHER - 1) >> TOGETHER_BITS;
    while (zeros.length < count) zeros.push(0);
    this.bits = zeros.slice(0, count);
    for (let pair = 0; pair < lone.length; pair++) this.bits[pair >> TOGETHER_BITS] |= lone[pair] << shiftOf(pair);
  }

  private bitsOf(pair: number): number {
    return (this.bits[pair >> TOGETHER_BITS] >> shiftOf(pair)) & PAIR_MASK;
  }

  isLone(pair: number): boolean {
    return (this.bitsOf(pair) & LONE) !== 0;
  }

  calm(pair: number): Calm {
    return (this.bitsOf(pair) & APART) as Calm;
  }

  decision(pair: number): Decision | null {
    return this.calm(pair) === 0 ? (this.done(pair) as Decision | null) : null;
  }

  decide(pair: number, decision: Decision | null): void {
    this.note(pair, 0, decision);
  }

  hide(decision: Decision): void {
    if (this.hidden === NO_DECISIONS) this.hidden = [decision];
    else this.hidden.push(decision);
  }

  truthLeaves(pair: number): Candidates | null {
    return this.leaves(pair, 0);
  }

  trackLeaves(pair: number): Candidates | null {
    return this.leaves(pair, 1);
  }

  /** What an end of a pair leaves with; undefined where nothing was done. */
  leavesWith(pair: number, end: Participant, side: 0 | 1): Candidates | null | undefined {
    if (this.calm(pair) !== 0) return this.leaves(pair, side);
    const decision = this.decision(pair);
    if (decision?.fresh.includes(end)) return null;
    return decision?.outcomes.find((outcome) => (side === 0 ? outcome.truths : outcome.tracks).includes(end));
  }

  private leaves(pair: number, side: 0 | 1): Candidates | null {
    const calm = this.calm(pair);
    if (calm === APART) return (this.done(pair) as readonly (Candidates | null)[])[side];
    return calm === 0 ? null : (this.done(pair) as Candidates | null);
  }

  settle(pair: number, truthLeaves: Candidates | null, trackLeaves: Candidates | null, calm: Calm): void {
    if (truthLeaves !== trackLeaves) this.note(pair, APART, [truthLeaves, trackLeaves]);
    else this.note(pair, calm, truthLeaves);
  }

  private done(pair: number): Done | null {
    const bits = this.bitsOf(pair);
    if ((bits & KEPT) !== 0) return this.kept![this.placeOf(this.kept!, pair)] as Done | null;
    return (bits & APART) === 0 ? null : (this.frame.edgeAt(pair).annex as Candidates);
  }

  private note(pair: number, calm: Calm, done: Done | null): void {
    const before = this.bitsOf(pair);
    // both ends leave with what some edge has: that is theirs
    const isKept = calm === 0 ? done !== null : calm === APART || done === null || !(done as Candidates).ofEdge;
    if (isKept) this.keep(pair, done);
    else if ((before & KEPT) !== 0) this.drop(pair);
    const bits = (before & LONE) | calm | (isKept ? KEPT : 0);
    if (bits !== before) this.bits[pair >> TOGETHER_BITS] ^= (bits ^ before) << shiftOf(pair);
  }

  /** Where in a list what is kept of a pair is, or -1. */
  private placeOf(kept: readonly unknown[], pair: number): number {
    if (this.frame.pairCount > SOUGHT_MAX) return pair;
    for (let at = 0; at < kept.length; at += 2) if (kept[at] === pair) return at + 1;
    return -1;
  }

  private keep(pair: number, done: Done | null): void {
    this.kept ??= this.newList();
    const at = this.placeOf(this.kept, pair);
    if (at < 0) this.kept = this.kept.concat([pair, done]);
    else this.kept[at] = done;
  }

  private newList(): (number | Done | null)[] {
    const { pairCount } = this.frame;
    if (pairCount <= SOUGHT_MAX) return EMPTY;
    while (nothing.length < pairCount) nothing.push(null);
    return nothing.slice(0, pairCount);
  }

  private drop(pair: number): void {
    const kept = this.kept!;
    const at = this.placeOf(kept, pair);
    if (this.frame.pairCount > SOUGHT_MAX) kept[at] = null;
    else if (kept.length === 2) this.kept = null;
    else kept.splice(at - 1, 2);
  }
}

/** What the frontier knows of a trajectory. */
export function participantOf(trajectory: Trajectory): Participant {
  trajectory.annex ??= new Participant(trajectory);
  return trajectory.annex as Participant;
}

export function truthOf(frame: FrameRecord, pair: number): Participant {
  return participantOf(frame.edgeAt(pair).truth);
}

export function trackOf(frame: FrameRecord, pair: number): Participant {
  return participantOf(frame.edgeAt(pair).track);
}

/** The candidates of two that are decided to be held; there is one for each edge. */
export function heldBy(edge: Edge): Candidates {
  if (edge.annex !== null) return edge.annex as Candidates;
  const held = new Candidates(participantOf(edge.truth).self, participantOf(edge.track).self, HELD, NOTHING, null);
  held.ofEdge = true;
  edge.annex = held;
  return held;
}

export function bestState({ worth, count }: Candidates): number {
  let best = 0;
  for (let s = 1; s < count; s++) if (isWorthMore(worth, s, best)) best = s;
  return best;
}

/** Whether state a is worth more than b. */
export function isWorthMore(worth: ArrayLike<number>, a: number, b: number): boolean {
  let n = 0;
  while (n < WORTH - 1 && worth[a * WORTH + n] === worth[b * WORTH + n]) n++;
  return worth[a * WORTH + n] > worth[b * WORTH + n];
}

/** How many half-switches a decision's state takes. */
export function halvesOf({ ways, inputs, pairs }: Decision, state: number): number {
  return ways[state * (1 + inputs.length + pairs.length)];
}

/** The state of an input that a decision's state follows from. */
export function originOf({ ways, inputs, pairs }: Decision, state: number, input: number): number {
  return ways[state * (1 + inputs.length + pairs.length) + 1 + input];
}

/** Whether two say the same. Decided ones that do are one. */
export function sameCandidates(a: Candidates, b: Candidates): boolean {
  if (a === b) return true;
  if (a.decided) return false;
  return (
    sameList(a.states, b.states) &&
    sameList(a.worth, b.worth) &&
    sameList(a.truths, b.truths) &&
    sameList(a.tracks, b.tracks)
  );
}

function sameList<T>(a: readonly T[], b: readonly T[]): boolean {
  if (a.length !== b.length) return false;
  for (let n = 0; n < a.length; n++) if (a[n] !== b[n]) return false;
  return true;
}
