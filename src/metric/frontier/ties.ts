/**
 * What ties the pairs of one frame together, for the frontier: which of them form a knot, and whether a knot is calm.
 */

import type { FrameRecord } from '../window/frame-record.js';
import type { Trajectory } from '../window/trajectory.js';
import type { Group, Part } from './part.js';

/** knots with more pairs are worked without asking whether they are calm */
const CALM_PAIRS_MAX = 10;

let stamps = 0;

/** A number that no trajectory or part carries as its `knotStamp`. */
export function newStamp(): number {
  return ++stamps;
}

// work space of `knots`: of each pair the next towards the root of its knot; of each root how many there are, and which knot it is
let root = new Int32Array(32);
let sizes = new Int32Array(32);
let places = new Int32Array(32);

function rootOf(n: number): number {
  while (root[n] !== n) n = root[n];
  return n;
}

/** Ties the n-th pair to those before it that have one of its ends, or a part of it. */
function tie(n: number, member: Trajectory, stamp: number): void {
  const key: Trajectory | Part = member.now ?? member;
  if (key.knotStamp === stamp) root[rootOf(n)] = rootOf(key.knot);
  key.knotStamp = stamp;
  key.knot = n;
}

/** The first of some pairs grouped by what ties them together: common trajectories, and parts that hold several. */
export function knots(frame: FrameRecord, pairs: Int32Array, length: number): number[][] {
  const stamp = newStamp();
  if (length > root.length) {
    root = new Int32Array(2 * length);
    sizes = new Int32Array(2 * length);
    places = new Int32Array(2 * length);
  }
  for (let n = 0; n < length; n++) {
    root[n] = n;
    sizes[n] = 0;
    tie(n, frame.truthAt(pairs[n]), stamp);
    tie(n, frame.trackAt(pairs[n]), stamp);
  }
  let count = 0;
  for (let n = 0; n < length; n++) {
    sizes[rootOf(n)]++;
    if (root[n] === n) places[n] = count++;
  }
  const lists: number[][] = new Array(count);
  for (let n = 0; n < length; n++) if (root[n] === n) lists[places[n]] = new Array(sizes[n]);
  // from the last on: the sizes count down
  for (let n = length - 1; n >= 0; n--) {
    const top = rootOf(n);
    lists[places[top]][--sizes[top]] = pairs[n];
  }
  return lists;
}

/** Whether everything is decided and no exchange earns more in this frame than staying does. */
export function isCalm(frame: FrameRecord, knot: readonly number[]): boolean {
  if (knot.length > CALM_PAIRS_MAX) return false;
  let staying = 0;
  for (const pair of knot) {
    const part = frame.truthAt(pair).now;
    const other = frame.trackAt(pair).now;
    if ((part && part.states.length > 1) || (other && other.states.length > 1)) return false;
    if (part !== null && part === other) staying += frame.benefit(pair);
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
    best = Math.max(best, frame.benefit(pair) + bestEarning(frame, knot, n + 1));
    truth.taken = track.taken = false;
  }
  return best;
}

/** Whether a group must be worked again: a member has changed, or it is due. */
export function isChanged({ truths, tracks, stale }: Group): boolean {
  if (stale) return true;
  for (let i = 0; i < truths.length; i++) if (truths[i].changed) return true;
  for (let j = 0; j < tracks.length; j++) if (tracks[j].changed) return true;
  return false;
}
