/**
 * The participants whose past is worked again, and in which frames that may concern anybody: few of many, so that a
 * crowd does not cost more for being one.
 */

import type { FrameRecord } from '../window/frame-record.js';
import { type Candidates, type Participant, participantOf, trackOf, truthOf } from './candidates.js';
import { Roll } from './roll.js';

export class ChangedMembers {
  /** those that later frames may hear of, and the others */
  private readonly heard = new Roll<Participant>();
  private readonly parked = new Roll<Participant>();

  /** The first frame after one that may have a changed trajectory in it; Infinity when there is none. */
  nextFrame(number: number): number {
    const { heard } = this;
    let next = Number.POSITIVE_INFINITY;
    for (let n = 0; n < heard.size; n++) {
      const { nextNumber, hiddenUntil } = heard.at(n);
      if (nextNumber <= number || hiddenUntil > number) return number + 1;
      if (nextNumber < next) next = nextNumber;
    }
    return next;
  }

  mark(participant: Participant, candidates: Candidates | null): void {
    if (!participant.changed) {
      participant.nextNumber = 0;
      this.heard.add(participant);
    }
    participant.changedTo = candidates;
  }

  unmark(participant: Participant): void {
    (participant.parked ? this.parked : this.heard).delete(participant);
    participant.parked = false;
    participant.changedTo = null;
  }

  private park(participant: Participant): void {
    this.heard.delete(participant);
    this.parked.add(participant);
    participant.parked = true;
  }

  /** Finds the pairs of a frame with a changed end: the first so many of `found`. */
  pairsIn(frame: FrameRecord, found: Int32Array): number {
    const { heard } = this;
    const { number } = frame;
    let count = 0;
    let edgeCount = 0;
    for (let n = 0; n < heard.size; n++) {
      const participant = heard.at(n);
      if (participant.nextNumber <= number) edgeCount += participant.trajectory.edges.length;
    }
    if (edgeCount > frame.edgeCount) {
      for (let pair = 0; pair < frame.edgeCount; pair++)
        if (truthOf(frame, pair).changed || trackOf(frame, pair).changed) found[count++] = pair;
      return count;
    }
    // few of many: by their edges, so that a crowd does not cost more for being one; from the last on, because the last
    // takes the place of one that goes
    for (let n = heard.size - 1; n >= 0; n--) {
      const participant = heard.at(n);
      if (participant.nextNumber > number) continue;
      let next = Number.POSITIVE_INFINITY;
      const { trajectory } = participant;
      const { edges } = trajectory;
      for (let m = 0; m < edges.length; m++) {
        const edge = edges[m];
        const at = edge.seek(number);
        if (at < 0) continue;
        const nextOf = edge.frameAt(at);
        if (nextOf < next) next = nextOf;
        if (nextOf === number && (edge.truth === trajectory || !participantOf(edge.truth).changed))
          found[count++] = edge.pairAt(at);
      }
      participant.nextNumber = next;
      if (next === Number.POSITIVE_INFINITY && participant.hiddenUntil < number) this.park(participant);
    }
    return count;
  }

  /** Takes them out one by one, the last first. */
  forEachOut(visit: (participant: Participant) => void): void {
    for (const roll of [this.heard, this.parked])
      while (roll.size > 0) {
        const participant = roll.at(roll.size - 1);
        visit(participant);
        this.unmark(participant);
      }
  }
}
