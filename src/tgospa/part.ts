/**
 * What the frontier hands from frame to frame. A Part says which matchings of a few trajectories can still win; a Group is the
 * work of one frame that made parts out of earlier ones, with the way back from each state to what it came from.
 */

import type { FrameRecord } from './frame-record.js';
import type { Trajectory } from './trajectory.js';

/** Never assigned so far. */
export const FRESH = -2;
/** Assigned before, not now. */
export const FREE = -1;
export const NOBODY: Trajectory[] = [];
// shapes that all parts of one or two trajectories share
export const HELD: readonly Int16Array[] = [Int16Array.of(0, 0)];
export const FRESH_OR_HELD: readonly Int16Array[] = [Int16Array.of(FRESH, FRESH), Int16Array.of(0, 0)];
const RELEASED: readonly Int16Array[] = [Int16Array.of(FREE)];
const ZERO = [0];
const BOTH = [0, 1];

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
  reworkStamp: number;
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
  /** members still fresh in every state; the others are in parts */
  readonly fresh: Trajectory[];
  parts: Part[];
  /** the state that is part of the optimum now; -1 before it is known */
  choice: number;
  /** quanta that the best assignment may lose by what was left out here for want of time */
  readonly loss: number;
}

/** Visits a group's members with the part each is in afterwards; null for those still fresh. */
export function forEachMember(group: Group, visit: (member: Trajectory, part: Part | null) => void): void {
  for (const member of group.fresh) visit(member, null);
  for (const part of group.parts) {
    for (const member of part.truths) visit(member, part);
    for (const member of part.tracks) visit(member, part);
  }
}

export function bestState(part: Part): number {
  let best = 0;
  for (let s = 1; s < part.value.length; s++) if (part.value[s] > part.value[best]) best = s;
  return best;
}

/** Splits off everything that is the same in all states; what is left stays one part. Fresh trajectories need none. */
export function takeApart(group: Group, states: Int16Array[], value: number[]): Part[] {
  const { truths, tracks } = group;
  const n = truths.length;
  const first = states[0];
  const parts: Part[] = [];
  const openTruths: number[] = [];
  const openTracks: number[] = [];
  for (let i = 0; i < n; i++) {
    const partner = first[i];
    if (!isSettled(states, i)) openTruths.push(i);
    else if (partner >= 0) parts.push(decidedPart([truths[i]], [tracks[partner]], HELD));
    else if (partner === FREE) parts.push(decidedPart([truths[i]], NOBODY, RELEASED));
    else group.fresh.push(truths[i]);
  }
  for (let j = 0; j < tracks.length; j++) {
    const partner = first[n + j];
    if (!isSettled(states, n + j)) openTracks.push(j);
    else if (partner === FREE) parts.push(decidedPart(NOBODY, [tracks[j]], RELEASED));
    else if (partner === FRESH) group.fresh.push(tracks[j]);
  }
  if (openTruths.length + openTracks.length === 0) return parts;
  const restated = states.map((s) => {
    const own = new Int16Array(openTruths.length + openTracks.length);
    openTruths.forEach((i, x) => {
      own[x] = s[i] < 0 ? s[i] : openTracks.indexOf(s[i]);
    });
    openTracks.forEach((j, x) => {
      own[openTruths.length + x] = s[n + j] < 0 ? s[n + j] : openTruths.indexOf(s[n + j]);
    });
    return own;
  });
  const best = Math.max(...value);
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
    reworkStamp: 0,
  });
  return parts;
}

function isSettled(states: readonly Int16Array[], x: number): boolean {
  for (let s = 1; s < states.length; s++) if (states[s][x] !== states[0][x]) return false;
  return true;
}

export function decidedPart(truths: Trajectory[], tracks: Trajectory[], states: readonly Int16Array[]): Part {
  return {
    truths,
    tracks,
    states,
    value: ZERO,
    lone: truths.length + tracks.length === 2,
    group: null,
    index: BOTH,
    taker: null,
    takenAs: 0,
    knotStamp: 0,
    knot: 0,
    reworkStamp: 0,
  };
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

export function samePart(a: Part, b: Part): boolean {
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
