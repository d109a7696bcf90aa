/**
 * Frame numbers, or times, as places on the one axis of a lane. A feed whose number falls back by more than
 * restartFrames (restartMs by time) begins a new numbering, an epoch: it is put behind everything so far, and meets the
 * other feed there when that restarts too, whichever comes first. A smaller step back is a late part. A tracker that
 * jumps, in either direction, to where the reference is joins it there; a reference that jumps back to where the
 * tracker is brings the tracker with it, and one that has come back to where the tracker is finds it again.
 *
 * A number that jumps, in either direction, is doubted until the next one of its feed, unless the other feed says the
 * same. So one wrong number costs one frame.
 */
import type { Role } from '../../wire/feed.js';
import { type LaneSide, type LaneState, LOWEST, resetPlaces } from './lane-state.js';

/** between two numberings; no feed runs further ahead than this */
const EPOCH_GAP = { frame: 1e6, time: 1e9 };
/** numberings by which a tracker may be behind the reference */
const EPOCHS_MAX = 4;
/** places beyond this lose precision: the lane begins again */
const PLACE_MAX = 2 ** 50;

/** Whether a number should be doubted: it jumps, and the other feed does not say the same. */
export function isDoubtful(state: LaneState, role: Role, raw: number, jump: number, tolerance: number): boolean {
  const side = state[role];
  if (!side.delivered || side.reopened || Math.abs(raw - side.raw) <= jump) return false;
  const other = state[otherOf(role)];
  if (other.delivered && other.epoch !== side.epoch && Math.abs(raw - other.raw) <= jump) return false;
  const x = raw + state.offsets[side.epoch];
  return !other.pending.some((placed) => Math.abs(placed.x - x) <= tolerance);
}

/** Whether the other feed doubts a number near this one: then both have jumped. */
export function agreesWithDoubted(state: LaneState, role: Role, raw: number, jump: number): boolean {
  const { suspect } = state[otherOf(role)];
  return suspect !== null && Math.abs(suspect.raw - raw) <= jump;
}

/** Whether a number continues from the one before the doubted one: then that was wrong. */
export const refutesDoubted = ({ raw: before }: LaneSide, raw: number, jump: number) => Math.abs(raw - before) <= jump;

const otherOf = (role: Role): Role => (role === 'reference' ? 'tracker' : 'reference');

/**
 * The place of the next number of a feed. `jump` is how far a number may fall back; `restarted` is told of a new
 * numbering, before it takes effect, with the highest number of the old one.
 */
export function placeOf(
  state: LaneState,
  role: Role,
  raw: number,
  jump: number,
  restarted: (before: number) => void,
): number {
  const side = state[role];
  const other = state[otherOf(role)];
  if (!side.delivered) {
    side.epoch = other.epoch;
  } else if (side.reopened ? raw <= side.raw : raw < side.raw - jump) {
    restarted(side.raw);
    if (role === 'tracker') restartTracker(state, raw, jump);
    else restartReference(state, raw, jump);
  } else if (role === 'tracker' && side.epoch !== other.epoch) {
    const isBack = raw > side.raw + jump ? isNear(state, raw, jump) : isLeftBehind(state, raw, jump);
    if (isBack) join(state, side, other.epoch, raw);
  }
  // a lane that began again has new sides
  const now = state[role];
  now.reopened = false;
  now.raw = Math.max(now.raw, raw);
  return raw + state.offsets[now.epoch];
}

/** Whether a tracker's number is where the reference is. */
function isNear({ reference, offsets }: LaneState, raw: number, jump: number): boolean {
  return reference.delivered && Math.abs(raw + offsets[reference.epoch] - reference.high) <= jump;
}

/** Whether a tracker goes along with the reference in a numbering that only the tracker is still in. */
function isLeftBehind(
  { reference, tracker, offsets, sampled, history }: LaneState,
  raw: number,
  jump: number,
): boolean {
  if (tracker.epoch > reference.epoch || Math.abs(raw - reference.raw) > jump) return false;
  const x = raw + offsets[tracker.epoch];
  const waiting = sampled === 'reference' ? history : reference.pending;
  return !waiting.some((r) => r.epoch === tracker.epoch && r.x >= x);
}

function restartTracker(state: LaneState, raw: number, jump: number): void {
  const { reference, tracker } = state;
  if (isNear(state, raw, jump)) join(state, tracker, reference.epoch, raw);
  else if (tracker.epoch < reference.epoch) join(state, tracker, tracker.epoch + 1, raw);
  else enter(state, tracker, reference.epoch + 1, raw);
}

function restartReference(state: LaneState, raw: number, jump: number): void {
  const { reference, tracker } = state;
  const together = tracker.delivered && tracker.epoch === reference.epoch && Math.abs(tracker.raw - raw) <= jump;
  const bringsTracker = together && !reference.reopened;
  enter(state, reference, reference.epoch + 1, raw);
  if (bringsTracker && reference.epoch in state.offsets) join(state, tracker, reference.epoch, tracker.raw);
  dropEpochs(state);
}

/** Drops the offsets of numberings that nobody is in; a tracker too far behind is moved on. */
function dropEpochs({ reference, tracker, offsets, givenUpTo }: LaneState): void {
  tracker.epoch = Math.max(tracker.epoch, reference.epoch - EPOCHS_MAX);
  for (const epoch of Object.keys(offsets).map(Number)) {
    if (epoch >= Math.min(reference.epoch, tracker.epoch)) continue;
    delete offsets[epoch];
    delete givenUpTo[epoch];
  }
}

/** Enters a numbering that the other feed may already be in. */
function enter(state: LaneState, side: LaneSide, epoch: number, raw: number): void {
  const { reference, tracker } = state;
  const other = side === reference ? tracker : reference;
  if (!(epoch in state.offsets) || other.epoch !== epoch) {
    const above = Math.max(reference.high, tracker.high, 0) + EPOCH_GAP[state.by!];
    if (above > PLACE_MAX) {
      resetPlaces(state);
      return;
    }
    state.offsets[epoch] = above - raw;
  }
  join(state, side, epoch, raw);
}

function join(state: LaneState, side: LaneSide, epoch: number, raw: number): void {
  side.epoch = epoch;
  side.raw = raw;
  side.high = raw + state.offsets[epoch];
  side.horizon = LOWEST;
  side.ahead = [];
  // what a wrong number gave up is to come
  if (side === state.tracker && state.givenUpTo[epoch] >= side.high) state.givenUpTo[epoch] = side.closedUpTo;
}
