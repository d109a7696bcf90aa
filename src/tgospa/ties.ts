/**
 * What ties the pairs of one frame together, for the frontier: which of them form a knot, whether a knot is calm, and how far a change reaches.
 */

import type { FrameRecord } from './frame-record.js';
import type { Group, Part } from './part.js';
import { sortFew } from './state-table.js';
import type { Trajectory } from './trajectory.js';

/** knots with more pairs are worked without asking whether they are calm */
const CALM_PAIRS_MAX = 10;

export type PartOf = (trajectory: Trajectory) => Part | null;

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
function tie(n: number, member: Trajectory, stamp: number, partOf: PartOf): void {
  const key: Trajectory | Part = partOf(member) ?? member;
  if (key.knotStamp === stamp) root[rootOf(n)] = rootOf(key.knot);
  key.knotStamp = stamp;
  key.knot = n;
}

/** Pairs grouped by what ties them together: common trajectories, and parts that hold several. */
export function knots(frame: FrameRecord, pairs: readonly number[], partOf: PartOf): number[][] {
  const stamp = newStamp();
  const { length } = pairs;
  if (length > root.length) {
    root = new Int32Array(2 * length);
    sizes = new Int32Array(2 * length);
    places = new Int32Array(2 * length);
  }
  for (let n = 0; n < length; n++) {
    root[n] = n;
    sizes[n] = 0;
    tie(n, frame.truthAt(pairs[n]), stamp, partOf);
    tie(n, frame.trackAt(pairs[n]), stamp, partOf);
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
export function isCalm(frame: FrameRecord, knot: readonly number[], partOf: PartOf): boolean {
  if (knot.length > CALM_PAIRS_MAX) return false;
  let staying = 0;
  for (const pair of knot) {
    const part = partOf(frame.truthAt(pair));
    const other = partOf(frame.trackAt(pair));
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

/** Whether a group must be worked again: a member has changed, or the time was up. */
export function isChanged({ truths, tracks, loss }: Group): boolean {
  if (loss > 0) return true;
  for (let i = 0; i < truths.length; i++) if (truths[i].changed) return true;
  for (let j = 0; j < tracks.length; j++) if (tracks[j].changed) return true;
  return false;
}

/** Pairs and groups of a frame that changed trajectories reach, besides those done; null when there are none. */
export function affectedPairs(
  frame: FrameRecord,
  done: ReadonlySet<number>,
  changed: readonly number[],
): { pairs: number[]; groups: Set<Group> } | null {
  const groups = new Set<Group>();
  const pairs = new Set<number>();
  const members = new Set<Trajectory>();
  const mine = (pair: number) => frame.edges[pair].component === null && !frame.edges[pair].alone && !done.has(pair);
  for (const group of frame.groups) if (mine(group.pairs[0]) && isChanged(group)) groups.add(group);
  for (const pair of changed) if (mine(pair)) pairs.add(pair);
  if (groups.size === 0 && pairs.size === 0) return null;
  // sets are visited to their end, also what is added on the way
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
    let edgeCount = 0;
    for (const member of members) edgeCount += member.edges.length;
    if (edgeCount > frame.edges.length) {
      for (let pair = 0; pair < frame.edges.length; pair++)
        if ((members.has(frame.truthAt(pair)) || members.has(frame.trackAt(pair))) && mine(pair)) pairs.add(pair);
      continue;
    }
    for (const member of members) {
      for (const edge of member.edges) {
        const pair = edge.pairIn(frame.number);
        if (pair >= 0 && mine(pair)) pairs.add(pair);
      }
    }
  }
  return { pairs: sortFew([...pairs], (a, b) => a - b), groups };
}
