/**
 * What an incident is, and what can be behind one, by name: a closed list, because the names are labels of /metrics.
 * An incident gathers everything that is wrong with one series at a time.
 */
import type { INCIDENT_SIGNALS } from '../spikes/signals.js';
import type { Evidence } from './findings.js';
import type { SeriesId } from './series-key.js';

/** Every cause and what it says. */
export const CAUSES = {
  silent: 'the tracker reports no objects at all',
  frozen: 'the tracks stand still while the objects move',
  late: 'the tracks are where the objects were some frames earlier',
  early: 'the tracks are where the objects will be: its frame numbers are behind, or the reference is late',
  frames_skipped: 'the tracker answers only some of the frames',
  box_order: 'the four numbers of the boxes are in another order or mean something else',
  axis_swapped: 'the two axes are exchanged',
  scaled: 'the coordinates are in another unit or scale, as from a picture of another size',
  shifted: 'everything is off by the same distance',
  region_lost: 'objects are missed in one part of the scene only',
  class_lost: 'objects of one class are missed',
  identities_reset: 'many objects got new track ids at once',
  identities_permuted: 'tracks have exchanged their ids',
  duplicated: 'objects have more than one track',
  ghost: 'tracks that persist where there is no object',
  clutter: 'short-lived tracks where there is no object',
  reference_frozen: 'the reference stands still while the tracks move: do not believe it',
  reference_duplicated: 'the reference has some objects twice: do not believe it',
  miswired: 'the feeds do not fit together; the finding says why',
  unknown: 'no single cause explains it',
} as const satisfies Record<string, string>;

export type CauseName = keyof typeof CAUSES;

/** The likeliest cause, in one sentence with the figures it rests on. */
export interface Diagnosis {
  cause: CauseName;
  message: string;
  evidence: Evidence;
}

/** What an incident gathers: spikes by signal; nothing comes; the feeds do not fit together; the tracks are late. */
export type IncidentSignalName = (typeof INCIDENT_SIGNALS)[number];

/** What an incident says of one signal. */
export interface IncidentSignal {
  signal: IncidentSignalName;
  /** per frame: missed truths, false tracks, switches; or the mean error: usual when it began, and the newest */
  expected: number;
  observed: number;
  /** what is usual by now, of a signal that has been bad for so long that it was learned */
  expectedNow?: number;
  /** how many truths (tracks, for false) are concerned, out of how many */
  concerned?: number;
  of?: number;
  /** of the truths or tracks that were concerned when it began */
  objects: string[];
  /** of a spike, whether it is beyond doubt: while it is not, it wakes nobody */
  certain?: boolean;
  /** of a finding, its name */
  finding?: string;
  /** it is as usual again */
  over: boolean;
}

export type Severity = 'critical' | 'warning' | 'info';

/** Everything that is wrong with one series at a time. */
export interface Incident extends Diagnosis {
  /** counts the incidents of the series, from 1; one that came back within minutes has the same number again */
  id: number;
  /** how often it came, from 1 */
  times: number;
  /** frame it began with, as far as can be told, and the frame of the newest news */
  k: number;
  at: number;
  /** when it began, epoch milliseconds; as frames say, or else as they came */
  sinceMs: number;
  severity: Severity;
  /** it is learned as the new normal by now, or its tracker is gone: still bad, less urgent */
  lasting: 'adopted' | 'retired' | null;
  signals: IncidentSignal[];
}

/** Why an incident is told of: what joined, a better diagnosis, what lasts, and how it ended. */
export type IncidentReason = 'signals' | 'diagnosis' | 'adopted' | 'retired' | 'worse' | 'recovered' | 'closed';

export interface IncidentNews extends Incident {
  phase: 'start' | 'update' | 'end';
  reason: IncidentReason;
}

/** An incident that is open. */
export type OpenIncident = SeriesId & Incident;

/** An incident that starts, changes or ends. */
export type IncidentEvent = { type: 'incident'; t?: number; n?: number; atMs?: number } & SeriesId & IncidentNews;

/** What somebody said of one incident. */
export interface Remark {
  action: 'acknowledge' | 'close';
  by: string;
  atMs: number;
  note?: string;
}

/** Nobody is told of new incidents of these streams until then. */
export interface Mute {
  id: number;
  /** stream and tracker; * stands for any characters */
  stream: string;
  tracker: string;
  untilMs: number;
  by: string;
  note?: string;
}
