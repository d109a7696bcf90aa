/**
 * What ties the pairs of one frame together, for the frontier: which of them form a knot, and whether a knot is calm.
 */

import type { FrameRecord } from '../window/frame-record.js';
import { type Candidates, type Decision, type Member, trackOf, truthOf } from './candidates.js';

/** knots with more pairs are worked without asking whether they are calm */
const CALM_PAIRS_MAX = 10;
// work space of `bestEarning`
const chosen = new Int32Array(CALM_PAIRS_MAX);

let stamps = 0;

/** A number that no member or candidates carry as its `knotStamp`. */
export function newStamp(): number {
  return ++stamps;
}

// work space of `knots`: of each pair the next towards the root of its knot; of each root how many there are, and which
// knot it is
let root = new Int32Array(32);
let sizes = new Int32Array(32);
let places = new Int32Array(32);

function rootOf(n: number): number {
  while (root[n] !== n) {
    root[n] = root[root[n]];
    n = root[n];
  }
  return n;
}

/** Ties the n-th pair to those before it that have one of its ends, or candidates of it. */
function tie(n: number, member: Member, stamp: number): void {
  const key: Member | Candidates = member.now ?? member;
  if (key.knotStamp === stamp) root[rootOf(n)] = rootOf(key.knot);
  key.knotStamp = stamp;
  key.knot = n;
}

/**
 * The first of some pairs grouped by what ties them together: common trajectories, and candidates that hold several.
 */
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
    tie(n, truthOf(frame, pairs[n]), stamp);
    tie(n, trackOf(frame, pairs[n]), stamp);
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
    const own = truthOf(frame, pair).now;
    const other = trackOf(frame, pair).now;
    if ((own && !own.decided) || (other && !other.decided)) return false;
    if (own !== null && own === other) staying += frame.benefit(pair);
  }
  return staying > 0 && bestEarning(frame, knot) <= staying;
}

/** The most that pairs of a knot can earn in this frame without using an end twice: every set of them is tried. */
function bestEarning(frame: FrameRecord, knot: readonly number[]): number {
  let best = 0;
  let earned = 0;
  let count = 0;
  for (let next = 0; ; ) {
    if (next < knot.length) {
      const truth = truthOf(frame, knot[next]);
      const track = trackOf(frame, knot[next]);
      if (!truth.taken && !track.taken) {
        truth.taken = track.taken = true;
        earned += frame.benefit(knot[next]);
        best = Math.max(best, earned);
        chosen[count++] = next;
      }
      next++;
    } else {
      if (count === 0) return best;
      const last = chosen[--count];
      truthOf(frame, knot[last]).taken = trackOf(frame, knot[last]).taken = false;
      earned -= frame.benefit(knot[last]);
      next = last + 1;
    }
  }
}

/** Whether a decision must be made again: a member has changed. */
export function isChanged({ truths, tracks }: Decision): boolean {
  for (let i = 0; i < truths.length; i++) if (truths[i].changed) return true;
  for (let j = 0; j < tracks.length; j++) if (tracks[j].changed) return true;
  return false;
}
