/**
 * How far a change reaches within one frame: from the changed trajectories to their pairs, from these to the groups that were worked with them, and on
 * to everybody in those. One serves a frontier, frame after frame, without memory of its own for each.
 */

import type { FrameRecord } from '../window/frame-record.js';
import type { Trajectory } from '../window/trajectory.js';
import type { Group } from './part.js';

export class Reach {
  /** the pairs that are reached, in the frame's order; the first `pairCount` */
  pairs = new Int32Array(32);
  pairCount = 0;
  /** the groups that are reached; the first `groupCount` */
  readonly groups: (Group | null)[] = [];
  groupCount = 0;
  private readonly members: (Trajectory | null)[] = [];
  private memberCount = 0;
  /** by pair: the stamp of the last search that met it */
  private seen = new Float64Array(32);

  /** Begins with a frame of which nothing is reached. */
  begin(frame: FrameRecord): void {
    stamp++;
    this.pairCount = 0;
    if (frame.pairCount <= this.seen.length) return;
    this.seen = new Float64Array(2 * frame.pairCount);
    this.pairs = new Int32Array(2 * frame.pairCount);
  }

  /** Says of a pair that it is not to be reached. */
  exclude(pair: number): void {
    this.seen[pair] = stamp;
  }

  /** Whether a pair is excluded, or reached already. */
  knows(pair: number): boolean {
    return this.seen[pair] === stamp;
  }

  /** A pair is reached, unless it is solved otherwise. */
  addPair(frame: FrameRecord, pair: number): void {
    if (this.seen[pair] === stamp) return;
    const edge = frame.edges[pair];
    if (edge.component !== null || edge.alone) return;
    this.seen[pair] = stamp;
    this.pairs[this.pairCount++] = pair;
  }

  addGroup(group: Group): void {
    if (group.reachStamp === stamp) return;
    group.reachStamp = stamp;
    this.groups[this.groupCount++] = group;
  }

  private addMember(member: Trajectory): void {
    if (member.reachStamp === stamp) return;
    member.reachStamp = stamp;
    this.members[this.memberCount++] = member;
  }

  /** Goes on from what was added until nothing more is reached. */
  spread(frame: FrameRecord): void {
    const { groups, members } = this;
    let pairsDone = 0;
    let groupsDone = 0;
    let membersDone = 0;
    for (;;) {
      if (pairsDone < this.pairCount) {
        const pair = this.pairs[pairsDone++];
        const group = frame.pairGroup[pair];
        if (group) this.addGroup(group);
        this.addMember(frame.truthAt(pair));
        this.addMember(frame.trackAt(pair));
      } else if (groupsDone < this.groupCount) {
        const { pairs, truths, tracks } = groups[groupsDone++]!;
        for (let n = 0; n < pairs.length; n++) this.addPair(frame, pairs[n]);
        for (let n = 0; n < truths.length; n++) this.addMember(truths[n]);
        for (let n = 0; n < tracks.length; n++) this.addMember(tracks[n]);
      } else if (membersDone < this.memberCount) this.addPairsOf(frame, members[membersDone++]!);
      else break;
    }
    while (this.memberCount > 0) members[--this.memberCount] = null;
    sortUp(this.pairs, this.pairCount);
  }

  private addPairsOf(frame: FrameRecord, member: Trajectory): void {
    const { edges, number } = frame;
    if (member.edges.length > edges.length) {
      for (let pair = 0; pair < edges.length; pair++)
        if (edges[pair].truth === member || edges[pair].track === member) this.addPair(frame, pair);
      return;
    }
    for (let n = 0; n < member.edges.length; n++) {
      const pair = member.edges[n].pairIn(number);
      if (pair >= 0) this.addPair(frame, pair);
    }
  }

  /** Keeps nothing of what was found. */
  end(): void {
    while (this.groupCount > 0) this.groups[--this.groupCount] = null;
  }
}

let stamp = 0;

/** up to so many are sorted without the cost of a general sort */
const SORTED_BY_HAND_MAX = 24;

/** Sorts the first of some numbers in place. */
export function sortUp(list: Int32Array, count: number): void {
  if (count > SORTED_BY_HAND_MAX) {
    list.subarray(0, count).sort();
    return;
  }
  for (let n = 1; n < count; n++) {
    const each = list[n];
    let m = n - 1;
    for (; m >= 0 && list[m] > each; m--) list[m + 1] = list[m];
    list[m + 1] = each;
  }
}
