/**
 * What the frontier hands from frame to frame. Candidates say which matchings of a few trajectories can still win; a
 * Decision is the work of one frame that made candidates out of earlier ones, with the way back from each state to what
 * it came from. A Member is what the frontier knows of a trajectory, a FrameWork what it has done on a frame: the
 * window itself knows nothing of them.
 */

import type { FrameRecord } from '../window/frame-record.js';
import type { Edge, Trajectory } from '../window/trajectory.js';

/** Never assigned so far. */
export const FRESH = -2;
/** Assigned before, not now. */
export const FREE = -1;
export const NOBODY: readonly Member[] = [];
// shapes that all candidates of one or two trajectories share
const HELD: readonly (readonly number[])[] = [[0, 0]];
export const FRESH_OR_HELD: readonly (readonly number[])[] = [
  [FRESH, FRESH],
  [0, 0],
];
const RELEASED: readonly (readonly number[])[] = [[FREE]];
const ZERO: readonly number[] = [0];
const BOTH: readonly number[] = [0, 1];

/**
 * What each of some states is worth: quanta; then how late its changes were, the sum of their frames; then the sum of
 * its pairs' ranks, and the same with each rank times its frame. Of two states with as many changes, or the same sum of
 * ranks, the next difference does not depend on how frames are numbered.
 */
export interface Worth {
  readonly value: readonly number[];
  readonly late: readonly number[];
  readonly rank: readonly number[];
  readonly lateRank: readonly number[];
}

/** Whether state a is worth more than b. */
export function isWorthMore({ value, late, rank, lateRank }: Worth, a: number, b: number): boolean {
  if (value[a] !== value[b]) return value[a] > value[b];
  if (late[a] !== late[b]) return late[a] > late[b];
  return rank[a] !== rank[b] ? rank[a] > rank[b] : lateRank[a] > lateRank[b];
}

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
  /** one truth and one track, held or at most fresh besides */
  readonly lone: boolean;

  constructor(
    readonly truths: readonly Member[],
    readonly tracks: readonly Member[],
    /** of each truth, then each track: index of its partner on the other side, FREE or FRESH */
    readonly states: readonly (readonly number[])[],
    readonly value: readonly number[],
    readonly late: readonly number[],
    readonly rank: readonly number[],
    readonly lateRank: readonly number[],
    /** where they came from, and for each state the decision's state; with one state nothing is left to trace back */
    public decision: Decision | null,
    public index: readonly number[],
  ) {
    this.lone = truths.length === 1 && tracks.length === 1 && isFreshOrHeld(states);
  }

  get decided(): boolean {
    return this.states.length === 1;
  }
}

/** The shapes that a pair alone in its frame goes on from: held, or fresh and held. */
function isFreshOrHeld(states: Candidates['states']): boolean {
  if (states.length === 1) return states[0][0] >= 0;
  return states.length === 2 && states[0][0] === FRESH && states[0][1] === FRESH && states[1][0] >= 0;
}

/** The work of one frame on trajectories that its pairs tie together. */
export interface Decision {
  readonly frame: FrameRecord;
  readonly pairs: readonly number[];
  readonly inputs: readonly Candidates[];
  readonly truths: readonly Member[];
  readonly tracks: readonly Member[];
  /** [state][input]: the input's state it follows from */
  readonly from: readonly (readonly number[])[];
  /** [state][pair]: 1 where the pair is assigned */
  readonly on: readonly (readonly number[])[];
  readonly halves: readonly number[];
  /** members still fresh in every state; the others are in candidates */
  fresh: readonly Member[];
  outcomes: Candidates[];
  /** the state that is part of the optimum now; -1 before it is known */
  choice: number;
  reachStamp: number;
}

/** What the frontier knows of a trajectory. */
export class Member {
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
  /** membership and index in a knot, whether an end is taken, and whether a change reaches it */
  knotStamp = 0;
  endStamp = 0;
  knot = 0;
  taken = false;
  reachStamp = 0;
  /** a list of itself only, shared by all who need one */
  readonly self: readonly Member[] = [this];
  /** its own candidates after a release, made once */
  private released: Candidates | null = null;

  constructor(readonly trajectory: Trajectory) {}

  /** Its past is worked again. */
  get changed(): boolean {
    return this.place >= 0;
  }

  releasedAs(truths: readonly Member[], tracks: readonly Member[]): Candidates {
    this.released ??= new Candidates(truths, tracks, RELEASED, ZERO, ZERO, ZERO, ZERO, null, BOTH);
    return this.released;
  }
}

/**
 * Whether a pair is calm, as its ends come in with the candidates they leave with; or begins, as they come in fresh and
 * leave held.
 */
export type Calm = 0 | 1 | 2;
export const CALM = 1;
export const BEGINS = 2;

/** What was done on a frame, by pair: its decision or, calm, the decided candidates that its ends leave it with. */
export class FrameWork {
  readonly decision: (Decision | null)[];
  readonly truthLeaves: (Candidates | null)[];
  readonly trackLeaves: (Candidates | null)[];
  readonly calm: Calm[];
  /** decisions that a change may reach by members without a pair in this frame */
  readonly hidden: Decision[] = [];

  constructor(
    pairCount: number,
    /** 1 where neither end has another pair in this frame */
    readonly lone: (0 | 1)[],
  ) {
    while (nothing.length < pairCount) nothing.push(null);
    while (zeros.length < pairCount) zeros.push(0);
    this.decision = nothing.slice(0, pairCount);
    this.truthLeaves = nothing.slice(0, pairCount);
    this.trackLeaves = nothing.slice(0, pairCount);
    this.calm = zeros.slice(0, pairCount);
  }

  settle(pair: number, truthLeaves: Candidates | null, trackLeaves: Candidates | null, calm: Calm): void {
    this.truthLeaves[pair] = truthLeaves;
    this.trackLeaves[pair] = trackLeaves;
    this.calm[pair] = calm;
  }
}

/** cut to length they are new lists, faster than by filling these */
const nothing: null[] = [];
const zeros: 0[] = [];

/** What the frontier knows of a trajectory. */
export function memberOf(trajectory: Trajectory): Member {
  trajectory.annex ??= new Member(trajectory);
  return trajectory.annex as Member;
}

export function truthOf(frame: FrameRecord, pair: number): Member {
  return memberOf(frame.edges[pair].truth);
}

export function trackOf(frame: FrameRecord, pair: number): Member {
  return memberOf(frame.edges[pair].track);
}

/** The candidates of two that are decided to be held; there is one for each edge. */
export function heldBy(edge: Edge): Candidates {
  edge.annex ??= new Candidates(
    memberOf(edge.truth).self,
    memberOf(edge.track).self,
    HELD,
    ZERO,
    ZERO,
    ZERO,
    ZERO,
    null,
    BOTH,
  );
  return edge.annex as Candidates;
}

export function bestState(candidates: Candidates): number {
  let best = 0;
  for (let s = 1; s < candidates.states.length; s++) if (isWorthMore(candidates, s, best)) best = s;
  return best;
}

// lists that come again and again are shared
const counts: (readonly number[])[] = [];
const singles: (readonly number[])[] = [];
const flags: (readonly number[])[] = [];

/** The list of one number; not to be changed. */
export function only(number: number): readonly number[] {
  singles[number] ??= [number];
  return singles[number];
}

/** The lowest bits of a number, lowest first, at most 8; not to be changed. */
export function bitsOf(bits: number, length: number): readonly number[] {
  const at = (1 << length) + bits;
  flags[at] ??= Array.from({ length }, (_, n) => (bits >> n) & 1);
  return flags[at];
}

/** 0, 1, ... below a number; not to be changed. */
export function upTo(length: number): readonly number[] {
  counts[length] ??= Array.from({ length }, (_, n) => n);
  return counts[length];
}

/** Whether two say the same. Decided ones that do are one. */
export function sameCandidates(a: Candidates, b: Candidates): boolean {
  if (a === b) return true;
  if (a.decided) return false;
  if (a.states.length !== b.states.length || a.truths.length !== b.truths.length || a.tracks.length !== b.tracks.length)
    return false;
  for (let n = 0; n < a.truths.length; n++) if (a.truths[n] !== b.truths[n]) return false;
  for (let n = 0; n < a.tracks.length; n++) if (a.tracks[n] !== b.tracks[n]) return false;
  for (let s = 0; s < a.states.length; s++) {
    if (a.value[s] !== b.value[s] || a.late[s] !== b.late[s]) return false;
    if (a.rank[s] !== b.rank[s] || a.lateRank[s] !== b.lateRank[s]) return false;
    for (let x = 0; x < a.states[s].length; x++) if (a.states[s][x] !== b.states[s][x]) return false;
  }
  return true;
}
