/**
 * How far a change reaches within one frame: from the changed trajectories to their pairs, from these to the decisions
 * that were made with them, and on to everybody in those. One serves all frontiers of a thread, frame after frame,
 * without memory of its own for each.
 */

import type { FrameRecord } from '../window/frame-record.js';
import type { Edge } from '../window/trajectory.js';
import { type Decision, type FrameWork, type Participant, trackOf, truthOf } from './candidates.js';

const NOT_FOREIGN = () => false;

export class Reach {
  /** the pairs that are reached, in the frame's order; the first `pairCount` */
  pairs = new Int32Array(32);
  pairCount = 0;
  /** the decisions that are reached; the first `decisionCount` */
  readonly decisions: (Decision | null)[] = [];
  decisionCount = 0;
  private readonly participants: (Participant | null)[] = [];
  private memberCount = 0;
  /** by pair: the stamp of the last search that met it */
  private seen = new Float64Array(32);

  private isForeign: (edge: Edge) => boolean = NOT_FOREIGN;

  /** Begins with a frame of which nothing is reached; is told which edges are solved otherwise. */
  begin(frame: FrameRecord, isForeign: (edge: Edge) => boolean): void {
    stamp++;
    this.isForeign = isForeign;
    this.pairCount = this.decisionCount = this.memberCount = 0;
    if (frame.pairCount <= this.seen.length) return;
    this.seen = new Float64Array(2 * frame.pairCount);
    this.pairs = new Int32Array(2 * frame.pairCount);
  }

  /** Whether a pair is reached already. */
  knows(pair: number): boolean {
    return this.seen[pair] === stamp;
  }

  /** A pair is reached, unless it is solved otherwise. */
  addPair(frame: FrameRecord, pair: number): void {
    if (this.seen[pair] === stamp) return;
    const edge = frame.edgeAt(pair);
    if (this.isForeign(edge)) return;
    this.seen[pair] = stamp;
    this.pairs[this.pairCount++] = pair;
  }

  addDecision(decision: Decision): void {
    if (decision.reachStamp === stamp) return;
    decision.reachStamp = stamp;
    this.decisions[this.decisionCount++] = decision;
  }

  private addParticipant(participant: Participant): void {
    if (participant.reachStamp === stamp) return;
    participant.reachStamp = stamp;
    this.participants[this.memberCount++] = participant;
  }

  /** Goes on from what was added until nothing more is reached. */
  spread(frame: FrameRecord, work: FrameWork): void {
    const { decisions, participants } = this;
    let pairsDone = 0;
    let decisionsDone = 0;
    let membersDone = 0;
    for (;;) {
      if (pairsDone < this.pairCount) {
        const pair = this.pairs[pairsDone++];
        const decision = work.decision(pair);
        if (decision) this.addDecision(decision);
        const truth = truthOf(frame, pair);
        const track = trackOf(frame, pair);
        // they have no other pair to be looked for
        if (work.isLone(pair)) truth.reachStamp = track.reachStamp = stamp;
        else {
          this.addParticipant(truth);
          this.addParticipant(track);
        }
      } else if (decisionsDone < this.decisionCount) {
        const { pairs, truths, tracks } = decisions[decisionsDone++]!;
        for (let n = 0; n < pairs.length; n++) this.addPair(frame, pairs[n]);
        for (let n = 0; n < truths.length; n++) this.addParticipant(truths[n]);
        for (let n = 0; n < tracks.length; n++) this.addParticipant(tracks[n]);
      } else if (membersDone < this.memberCount) this.addPairsOf(frame, participants[membersDone++]!);
      else break;
    }
    while (this.memberCount > 0) participants[--this.memberCount] = null;
    this.pairs.subarray(0, this.pairCount).sort();
  }

  private addPairsOf(frame: FrameRecord, { trajectory }: Participant): void {
    const { edgeCount, number } = frame;
    if (trajectory.edges.length > edgeCount) {
      for (let pair = 0; pair < edgeCount; pair++) {
        const { truth, track } = frame.edgeAt(pair);
        if (truth === trajectory || track === trajectory) this.addPair(frame, pair);
      }
      return;
    }
    for (let n = 0; n < trajectory.edges.length; n++) {
      const pair = trajectory.edges[n].pairIn(number);
      if (pair >= 0) this.addPair(frame, pair);
    }
  }

  /** Keeps nothing of what was found. */
  end(): void {
    while (this.decisionCount > 0) this.decisions[--this.decisionCount] = null;
    this.isForeign = NOT_FOREIGN;
  }
}

let stamp = 0;
