/**
 * What ties the pairs of one frame together, for the frontier: which of them form a knot, who is in it, and
 * whether it is calm.
 */

import { Basket } from '../window/basket.js';
import type { FrameRecord } from '../window/frame-record.js';
import { type Candidates, type Decision, NO_INPUTS, type Participant, trackOf, truthOf } from './candidates.js';
import { sortFew } from './state-table.js';

/** knots with more pairs are worked without asking whether they are calm */
const CALM_PAIRS_MAX = 10;
// work space of `isCalm`, by place in the knot
const chosen = new Int32Array(CALM_PAIRS_MAX);
const benefit = new Float64Array(CALM_PAIRS_MAX);

let stamps = 0;

/** A number that no participant or candidates carry as its `knotStamp`. */
function newStamp(): number {
  return ++stamps;
}

// work space of `tieUp`: of each pair the next towards the root of its knot; of each root how many there are, and where
// the next of them goes
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
function tie(n: number, participant: Participant, stamp: number): void {
  const key: Participant | Candidates = participant.now ?? participant;
  if (key.knotStamp === stamp) root[rootOf(n)] = rootOf(key.knot);
  key.knotStamp = stamp;
  key.knot = n;
}

/** The pairs of one frame, knot by knot, and where each knot begins: good until `tieUp` is called again. */
export let tied = new Int32Array(32);
export let knotStart = new Int32Array(33);

/**
 * Groups the first of some pairs by what ties them together: common trajectories, and candidates that hold several.
 * Returns the number of knots.
 */
export function tieUp(frame: FrameRecord, pairs: Int32Array, length: number): number {
  const stamp = newStamp();
  if (length > root.length) {
    root = new Int32Array(2 * length);
    sizes = new Int32Array(2 * length);
    places = new Int32Array(2 * length);
    tied = new Int32Array(2 * length);
    knotStart = new Int32Array(2 * length + 1);
  }
  for (let n = 0; n < length; n++) {
    root[n] = n;
    sizes[n] = 0;
    tie(n, truthOf(frame, pairs[n]), stamp);
    tie(n, trackOf(frame, pairs[n]), stamp);
  }
  for (let n = 0; n < length; n++) sizes[rootOf(n)]++;
  let count = 0;
  knotStart[0] = 0;
  for (let n = 0; n < length; n++) {
    if (root[n] !== n) continue;
    places[n] = knotStart[count];
    knotStart[count + 1] = knotStart[count] + sizes[n];
    count++;
  }
  for (let n = 0; n < length; n++) tied[places[rootOf(n)]++] = pairs[n];
  return count;
}

/** The pairs of a knot, as a list of its own. */
export function pairsOf(knot: number): number[] {
  const pairs: number[] = [];
  for (let at = knotStart[knot]; at < knotStart[knot + 1]; at++) pairs.push(tied[at]);
  return pairs;
}

/** Everybody whom a knot concerns: its participants, each with its index, and the candidates that they come in with. */
export interface Gathered {
  readonly truths: Participant[];
  readonly tracks: Participant[];
  readonly inputs: readonly Candidates[];
  /** participants that have a pair in the frame, who carry the stamp as their `endStamp` */
  readonly endCount: number;
  readonly stamp: number;
}

/** Finds the participants of a knot. */
export function gather(frame: FrameRecord, pairs: readonly number[]): Gathered {
  const stamp = newStamp();
  let endCount = 0;
  for (let n = 0; n < pairs.length; n++) {
    const truth = truthOf(frame, pairs[n]);
    const track = trackOf(frame, pairs[n]);
    if (truth.endStamp !== stamp) endCount++;
    if (track.endStamp !== stamp) endCount++;
    truth.endStamp = track.endStamp = stamp;
    collect(truth, truthBasket, stamp);
    collect(track, trackBasket, stamp);
  }
  const truths = truthBasket.take();
  const tracks = trackBasket.take();
  const inputs = inputBasket.size === 0 ? NO_INPUTS : inputBasket.take();
  number(truths);
  number(tracks);
  return { truths, tracks, inputs, endCount, stamp };
}

const inputBasket = new Basket<Candidates>();
const truthBasket = new Basket<Participant>();
const trackBasket = new Basket<Participant>();

/** Takes up a participant, with everybody whom its candidates hold. */
function collect(participant: Participant, side: Basket<Participant>, stamp: number): void {
  if (participant.knotStamp === stamp) return;
  participant.knotStamp = stamp;
  const { now } = participant;
  if (now === null) {
    side.add(participant);
    return;
  }
  inputBasket.add(now);
  for (const truth of now.truths) {
    truth.knotStamp = stamp;
    truthBasket.add(truth);
  }
  for (const track of now.tracks) {
    track.knotStamp = stamp;
    trackBasket.add(track);
  }
}

/** Puts participants in order and gives each its index in the knot. */
function number(list: Participant[]): void {
  if (list.length > 1) sortFew(list, list.length, byId);
  for (let n = 0; n < list.length; n++) list[n].knot = n;
}

const byId = ({ trajectory: a }: Participant, { trajectory: b }: Participant) =>
  a.id < b.id ? -1 : a.id > b.id ? 1 : 0;

/** Whether everything is decided and no exchange earns more in this frame than staying does. */
export function isCalm(frame: FrameRecord, knot: number): boolean {
  const first = knotStart[knot];
  const count = knotStart[knot + 1] - first;
  if (count > CALM_PAIRS_MAX) return false;
  let staying = 0;
  for (let n = 0; n < count; n++) {
    const pair = tied[first + n];
    const own = truthOf(frame, pair).now;
    const other = trackOf(frame, pair).now;
    if ((own !== null && !own.decided) || (other !== null && !other.decided)) return false;
    benefit[n] = frame.benefit(pair);
    if (own !== null && own === other) staying += benefit[n];
  }
  return staying > 0 && bestEarning(frame, first, count) <= staying;
}

/** The most that pairs of a knot can earn in this frame without using an end twice: every set of them is tried. */
function bestEarning(frame: FrameRecord, first: number, length: number): number {
  let best = 0;
  let earned = 0;
  let count = 0;
  for (let next = 0; ; ) {
    if (next < length) {
      const truth = truthOf(frame, tied[first + next]);
      const track = trackOf(frame, tied[first + next]);
      if (!truth.taken && !track.taken) {
        truth.taken = track.taken = true;
        earned += benefit[next];
        best = Math.max(best, earned);
        chosen[count++] = next;
      }
      next++;
    } else {
      if (count === 0) return best;
      const last = chosen[--count];
      truthOf(frame, tied[first + last]).taken = trackOf(frame, tied[first + last]).taken = false;
      earned -= benefit[last];
      next = last + 1;
    }
  }
}

/** Whether a decision must be made again: a participant has changed. */
export function isChanged({ truths, tracks }: Decision): boolean {
  for (let i = 0; i < truths.length; i++) if (truths[i].changed) return true;
  for (let j = 0; j < tracks.length; j++) if (tracks[j].changed) return true;
  return false;
}
