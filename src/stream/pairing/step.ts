/**
 * What comes of pairing: steps to be judged, and everything that is said about the feeds on the way.
 */
import type { Region } from '../../coverage/region.js';
import type { SkipRule } from '../../wire/codes.js';
import type { Irregularity, Silence } from '../../wire/events.js';
import type { Role } from '../../wire/feed.js';
import type { PackedList } from '../../wire/objects.js';

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
  /** truths that are there, perhaps: neither they nor what is close to them is judged */
  unclear?: PackedList;
  /** regions in which nothing is judged at this moment */
  ignore?: Region[];
}

/** Reports of a feed that were not taken, and the rule they break. */
export interface UntakenReports {
  type: 'untaken';
  role: Role;
  tracker: string | null;
  rule: SkipRule;
  count: number;
}

/** A tracker has ended and nothing of it is left to judge. */
export interface Finished {
  type: 'finished';
  tracker: string;
}

export type Outcome = Step | Irregularity | Silence | Finished | UntakenReports;
