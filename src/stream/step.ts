/**
 * What comes of pairing: steps to be judged, and everything that is said about the feeds on the way.
 */
import type { Irregularity, Silence } from '../wire/events.js';
import type { PackedList } from '../wire/objects.js';

/** What both feeds say about one moment. */
export interface Step {
  type: 'step';
  tracker: string;
  /** frame number; by time, when no feed has numbers, the number of the step, from 1 */
  k: number;
  /** epoch seconds */
  t?: number;
  reference: PackedList;
  tracks: PackedList;
  /** when its last part arrived, or was no longer waited for; epoch milliseconds */
  receivedMs: number;
}

/** A tracker has ended and nothing of it is left to judge. */
export interface Finished {
  type: 'finished';
  tracker: string;
}

export type Outcome = Step | Irregularity | Silence | Finished;
