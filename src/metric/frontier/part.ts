/**
 * What the frontier hands from frame to frame. A Part says which matchings of a few trajectories can still win; a Group is the
 * work of one frame that made parts out of earlier ones, with the way back from each state to what it came from.
 */

import { Basket } from '../window/basket.js';
import type { FrameRecord } from '../window/frame-record.js';
import type { Edge, Trajectory } from '../window/trajectory.js';
import type { Knot } from './knot.js';
import type { StateTable } from './state-table.js';
import type { Watch } from './watch.js';

/** Never assigned so far. */
export const FRESH = -2;
/** Assigned before, not now. */
export const FREE = -1;
export const NOBODY: readonly Trajectory[] = [];
// shapes that all parts of one or two trajectories share
const HELD: readonly (readonly number[])[] = [[0, 0]];
export const FRESH_OR_HELD: readonly (readonly number[])[] = [
  [FRESH, FRESH],
  [0, 0],
];
const RELEASED: readonly (readonly number[])[] = [[FREE]];
const ZERO: readonly number[] = [0];
export const BOTH: readonly number[] = [0, 1];

/** What is known about some trajectories after a frame: the matchings that can still win, best value 0. */
export interface Part {
  readonly truths: readonly Trajectory[];
  readonly tracks: readonly Trajectory[];
  /** of each truth, then each track: index of its partner on the other side, FREE or FRESH */
  readonly states: readonly (readonly number[])[];
  readonly value: readonly number[];
  /** one truth and one track, held or at most fresh besides */
  readonly lone: boolean;
  /** where it came from, and for each state the group's state; with one state nothing is left to trace back */
  group: Group | null;
  index: readonly number[];
  /** the group that took it up, and as which input; null while it is the present, and when there is one state only */
  taker: Group | null;
  takenAs: number;
  knotStamp: number;
  knot: number;
  reworkStamp: number;
  /** in the list of open ones, or -1 */
  place: number;
}

/** The work of one frame on trajectories that its pairs tie together. */
export interface Group {
  readonly frame: FrameRecord;
  readonly pairs: readonly number[];
  readonly inputs: readonly Part[];
  readonly truths: readonly Trajectory[];
  readonly tracks: readonly Trajectory[];
  /** [state][input]: the input's state it follows from */
  readonly from: readonly (readonly number[])[];
  /** [state][pair]: 1 where the pair is assigned */
  readonly on: readonly (readonly number[])[];
  readonly halves: readonly number[];
  /** members still fresh in every state; the others are in parts */
  fresh: readonly Trajectory[];
  parts: Part[];
  /** the state that is part of the optimum now; -1 before it is known */
  choice: number;
  /** quanta that the best assignment may lose by what was left out here for want of time */
  readonly loss: number;
  /** to be worked again */
  stale: boolean;
  /** what of it was decided by looking ahead */
  watch: Watch | null;
  reachStamp: number;
}

export function bestState(part: Part): number {
  let best = 0;
  for (let s = 1; s < part.value.length; s++) if (part.value[s] > part.value[best]) best = s;
  return best;
}

const partBasket = new Basket<Part>();
const freshBasket = new Basket<Trajectory>();
const truthBasket = new Basket<number>();
const trackBasket = new Basket<number>();

/** Splits off everything that is the same in all states that a knot keeps; what is left stays one part. Fresh trajectories need none. */
export function takeApart(group: Group, { kept, keptCount, states }: Knot): void {
  const { truths, tracks } = group;
  const { rows, size } = states;
  const n = truths.length;
  const first = kept[0] * size;
  for (let i = 0; i < n; i++) {
    const partner = rows[first + i];
    if (!isSettled(kept, keptCount, states, i)) truthBasket.add(i);
    else if (partner >= 0) partBasket.add(heldPart(truths[i].edgeWith(tracks[partner])!));
    else if (partner === FREE) partBasket.add(releasedPart(truths[i], truths[i].self, NOBODY));
    else freshBasket.add(truths[i]);
  }
  for (let j = 0; j < tracks.length; j++) {
    const partner = rows[first + n + j];
    if (!isSettled(kept, keptCount, states, n + j)) trackBasket.add(j);
    else if (partner === FREE) partBasket.add(releasedPart(tracks[j], NOBODY, tracks[j].self));
    else if (partner === FRESH) freshBasket.add(tracks[j]);
  }
  if (truthBasket.size + trackBasket.size > 0)
    partBasket.add(openPart(group, kept, keptCount, states, truthBasket.take(), trackBasket.take()));
  group.parts = partBasket.take();
  group.fresh = freshBasket.size === 0 ? NOBODY : freshBasket.take();
}

function isSettled(kept: Int32Array, keptCount: number, { rows, size }: StateTable, x: number): boolean {
  const first = rows[kept[0] * size + x];
  for (let s = 1; s < keptCount; s++) if (rows[kept[s] * size + x] !== first) return false;
  return true;
}

/** The part of the members of a knot that are not decided. */
function openPart(
  group: Group,
  kept: Int32Array,
  keptCount: number,
  table: StateTable,
  openTruths: readonly number[],
  openTracks: readonly number[],
): Part {
  const { rows, size } = table;
  const n = group.truths.length;
  const states: number[][] = new Array(keptCount);
  const value: number[] = new Array(keptCount);
  let best = Number.NEGATIVE_INFINITY;
  for (let s = 0; s < keptCount; s++) best = Math.max(best, table.value[kept[s]]);
  for (let s = 0; s < keptCount; s++) {
    const at = kept[s] * size;
    const own: number[] = new Array(openTruths.length + openTracks.length);
    for (let x = 0; x < openTruths.length; x++) {
      const partner = rows[at + openTruths[x]];
      own[x] = partner < 0 ? partner : openTracks.indexOf(partner);
    }
    for (let x = 0; x < openTracks.length; x++) {
      const partner = rows[at + n + openTracks[x]];
      own[openTruths.length + x] = partner < 0 ? partner : openTruths.indexOf(partner);
    }
    states[s] = own;
    value[s] = table.value[kept[s]] - best;
  }
  return {
    truths: openTruths.map((i) => group.truths[i]),
    tracks: openTracks.map((j) => group.tracks[j]),
    states,
    value,
    lone: isLone(openTruths.length, openTracks.length, states),
    group,
    index: upTo(keptCount),
    taker: null,
    takenAs: 0,
    knotStamp: 0,
    knot: 0,
    reworkStamp: 0,
    place: -1,
  };
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

/** The part of two that are decided to be held; there is one for each edge. */
export function heldPart(edge: Edge): Part {
  edge.held ??= decidedPart(edge.truth.self, edge.track.self, HELD);
  return edge.held;
}

function releasedPart(member: Trajectory, truths: readonly Trajectory[], tracks: readonly Trajectory[]): Part {
  member.released ??= decidedPart(truths, tracks, RELEASED);
  return member.released;
}

function decidedPart(truths: readonly Trajectory[], tracks: readonly Trajectory[], states: Part['states']): Part {
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
    place: -1,
  };
}

/** The shape that `workPair` goes on from: fresh, or held. */
function isLone(truthCount: number, trackCount: number, states: Part['states']): boolean {
  return (
    truthCount === 1 &&
    trackCount === 1 &&
    states.length === 2 &&
    states[0].every((x) => x === FRESH) &&
    states[1].every((x) => x >= 0)
  );
}

/** Whether two parts say the same. Decided parts that do are one. */
export function samePart(a: Part, b: Part): boolean {
  if (a === b) return true;
  if (a.states.length === 1) return false;
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
