/**
 * Everybody whom the rework of one frame concerns: what they were in before the frame and after it the last time, and
 * what they come in and go out with now.
 */

import { Basket } from '../window/basket.js';
import type { FrameRecord } from '../window/frame-record.js';
import {
  BEGINS,
  type Candidates,
  type Decision,
  type FrameWork,
  type Participant,
  trackOf,
  truthOf,
} from './candidates.js';

export class Comparison {
  /** those who are concerned; they carry `stamp`, which no other rework of this thread has */
  readonly participants = new Basket<Participant>();
  stamp = 0;

  begin(): void {
    this.stamp++;
    // what failed halfway left somebody
    this.participants.clear();
  }

  /**
   * Notes what is known of the pairs that no decision was made of, and takes it back: of the calm ones, or of those
   * that began. These come last, because an end of theirs may have a calm pair besides, which knows only how it left.
   */
  notePairs(frame: FrameRecord, work: FrameWork, pairs: Int32Array, pairCount: number, begun: boolean): void {
    for (let n = 0; n < pairCount; n++) {
      const pair = pairs[n];
      const calm = work.calm(pair);
      if (calm === 0 || (calm === BEGINS) !== begun) continue;
      if (begun) {
        this.note(truthOf(frame, pair), null, work.truthLeaves(pair));
        this.note(trackOf(frame, pair), null, work.truthLeaves(pair));
      } else {
        this.noteCalm(truthOf(frame, pair), work.truthLeaves(pair));
        this.noteCalm(trackOf(frame, pair), work.trackLeaves(pair));
      }
      work.decide(pair, null);
    }
  }

  /** Notes what a participant was in before and after the frame that is reworked. */
  private note(participant: Participant, before: Candidates | null, after: Candidates | null | undefined): void {
    if (participant.reworkStamp !== this.stamp) {
      participant.reworkStamp = this.stamp;
      this.participants.add(participant);
    }
    participant.before = before;
    participant.after = after;
  }

  noteDecision({ fresh, outcomes, inputs }: Decision): void {
    for (let n = 0; n < fresh.length; n++) this.note(fresh[n], null, null);
    for (let p = 0; p < outcomes.length; p++) {
      const outcome = outcomes[p];
      for (let n = 0; n < outcome.truths.length; n++) this.note(outcome.truths[n], null, outcome);
      for (let n = 0; n < outcome.tracks.length; n++) this.note(outcome.tracks[n], null, outcome);
    }
    for (let p = 0; p < inputs.length; p++) {
      const input = inputs[p];
      for (let n = 0; n < input.truths.length; n++) input.truths[n].before = input;
      for (let n = 0; n < input.tracks.length; n++) input.tracks[n].before = input;
    }
  }

  private noteCalm(end: Participant, leaves: Candidates | null): void {
    if (leaves === null) {
      this.note(end, null, null);
      return;
    }
    for (let n = 0; n < leaves.truths.length; n++) this.note(leaves.truths[n], leaves, leaves);
    for (let n = 0; n < leaves.tracks.length; n++) this.note(leaves.tracks[n], leaves, leaves);
  }

  noteMade(participant: Participant, outcome: Candidates | null): void {
    if (participant.reworkStamp !== this.stamp) this.note(participant, null, undefined);
    participant.now = outcome;
  }

  /** What a participant comes into the frame with that is reworked. */
  comeIn(participant: Participant): void {
    if (participant.changed) participant.now = participant.changedTo;
    else participant.now = participant.reworkStamp === this.stamp ? participant.before : null;
  }

  /** Keeps nothing: what they were in leads back to frames that are long gone. */
  end(): void {
    const { participants } = this;
    for (let n = 0; n < participants.size; n++)
      participants.at(n).now = participants.at(n).before = participants.at(n).after = null;
    participants.clear();
  }
}
