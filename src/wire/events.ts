/**
 * Everything the pipeline publishes, as one union, and a report as subscribers see it. Whoever counts, shows, stores or
 * passes events on takes its types from here; the fields of a report are written down once, in `summarize`.
 */
import type { NotJudgedReason } from '../coverage/coverage.js';
import type { Count, Evaluation, FrameCost, Report, SwitchEvent } from '../metric/evaluation.js';
import type { PerformanceReading } from '../performance/recent.js';
import type { ScoreReading } from '../scores/companion.js';
import type { SpikeGauge, SpikeNews } from '../spikes/watch.js';
import type { FeedId, Role } from './feed.js';
import type { FindingEvent } from './findings.js';
import type { IncidentEvent } from './incidents.js';
import { type PackedList, unpack } from './objects.js';
import type { SeriesId } from './series-key.js';

export type { PerformanceReading, ScoreReading };

/** `n` counts the events of a stream; events that do not come from the log (a refused message) have none. */
interface Numbered {
  n?: number;
  /** when it took effect, epoch milliseconds */
  atMs?: number;
}

/** When a frame was: its number and, where known, epoch seconds. */
export interface FrameMark {
  k: number;
  t?: number;
}

/** A report without the frames of its window but the newest. */
export type PublishedReport = Omit<Report, 'perFrame'>;

/** A report as the pipeline publishes it; `receivedMs` is when its newest part came in, or was given up. */
export interface ReportEvent extends SeriesId, FrameMark, Numbered {
  type: 'report';
  receivedMs: number;
  report: PublishedReport;
  solveMs: number;
  /** what both feeds saw at this frame; absent from a report that was recovered, and after the end of a feed */
  objects?: { reference: PackedList; tracker: PackedList };
  /** the series' spike detector, read when somebody asks; absent while detection is off */
  spikes?: SpikeReading;
  /** objects that are not judged: of the newest frame, and so far; absent where everything is judged */
  notJudged?: { newest: NotJudgedCounts; totals: NotJudgedCounts };
  /** the companion scores, in the reports in which they were worked out; absent while they are off */
  scores?: ScoreReading;
  /** PD, SIAP, latency and so on, in the reports in which they were worked out; absent while they are off */
  performance?: PerformanceReading;
  /** what each class cost and counted so far, where only objects of one class are pairs */
  classes?: ClassTotals;
}

/** What one class cost and counted in settled frames. */
export interface ClassTotal {
  count: Count;
  cost: FrameCost;
}

/** By class; `none` for objects without one, `other` for the classes beyond `classes.namesMax`. */
export type ClassTotals = Record<string, ClassTotal>;

/** What is known of a series beside its report. */
export type Readings = Pick<ReportEvent, 'spikes' | 'notJudged' | 'scores' | 'performance' | 'classes'>;

/** How many objects of both feeds were not judged, by reason. */
export interface NotJudgedCounts {
  reference: Partial<Record<NotJudgedReason, number>>;
  tracker: Partial<Record<NotJudgedReason, number>>;
}

/** The state of a spike detector, by signal. */
export interface SpikeReading {
  readonly signals: readonly string[];
  gauge(signal: string): SpikeGauge;
}

/** A switch under the number of the frame it happened at. */
export type MarkedSwitch = Omit<SwitchEvent, 'type' | 'frame'> & { k: number };

/** A spike that begins or ends; `t` is the time of frame `at`, epoch seconds. */
export type SpikeEvent = { type: 'spike'; t?: number } & SeriesId & Numbered & SpikeNews;

/** Something about a feed that is counted. `count` is the number of frames concerned. */
export interface Irregularity {
  type: 'late' | 'duplicate' | 'missing' | 'gap';
  role: Role;
  tracker: string | null;
  k?: number;
  count: number;
  message: string;
}

/** A feed fell silent, or is heard again. */
export interface Silence {
  type: 'silence';
  role: Role;
  tracker: string | null;
  /** when the last part arrived, epoch milliseconds */
  since: number;
  over: boolean;
}

/** A record of a stream could not be applied and was set aside; the stream goes on without it, unless suspended. */
export interface QuarantineEvent {
  type: 'quarantine';
  stream: string;
  /** whose record it was; null when it was the reference's, or nobody's */
  tracker: string | null;
  /** of the record: part, tick and so on */
  kind: string;
  /** of the record in the log */
  position: number;
  /** the stream is not evaluated until the next start */
  suspended: boolean;
  message: string;
}

/** Frames stay unjudged because nothing was proven about them in time; with `over`, no longer. */
export interface UncertifiedEvent extends SeriesId {
  type: 'uncertified';
  /** of the first frame; of the last one when it is over */
  k: number;
  /** frames so far */
  count: number;
  over: boolean;
  message: string;
}

/** Feeds that were cut off, or all after a restart, are waited for; with `over`, no longer. */
export interface Resuming {
  type: 'resuming';
  stream: string;
  tracker: null;
  over: boolean;
  message: string;
}

/** Input that was refused, or an object left out of a frame; `path` and `message` are of the newest. */
export interface Refused extends FeedId, Numbered {
  type: 'rejected' | 'skipped';
  code: string;
  count: number;
  path?: string;
  message?: string;
}

export type LiveEvent = Numbered &
  (
    | ReportEvent
    | ({ type: 'switch' } & SeriesId & MarkedSwitch)
    | SpikeEvent
    | ({ stream: string } & Silence)
    | ({ stream: string } & Irregularity)
    | Refused
    | ({ type: 'retired' } & SeriesId)
    | QuarantineEvent
    | Resuming
    | UncertifiedEvent
    | FindingEvent
    | IncidentEvent
  );

/** When it happened, in epoch milliseconds: events of several histories are sorted by it; 0 when it does not say. */
export const timeOf = (event: LiveEvent): number => ('atMs' in event ? (event.atMs ?? 0) : 0);

/** The newest events of several histories, as they happened, by the clock that all go by. */
export const asOneHistory = (histories: LiveEvent[][], most: number): LiveEvent[] =>
  histories
    .flat()
    .sort((a, b) => timeOf(a) - timeOf(b))
    .slice(-most);

const MERGED: readonly string[] = ['late', 'duplicate', 'missing', 'gap', 'rejected', 'skipped'];

/** Two events of the same kind about the same feed as one, or null when they must stay apart. */
export function mergeEvents(first: LiveEvent, next: LiveEvent): LiveEvent | null {
  if (!MERGED.includes(first.type) || first.type !== next.type) return null;
  if (!('role' in first && 'role' in next && 'count' in first && 'count' in next)) return null;
  const code = (event: LiveEvent) => ('code' in event ? event.code : '');
  const same = first.stream === next.stream && first.tracker === next.tracker && code(first) === code(next);
  return same ? { ...next, count: first.count + next.count } : null;
}

/** An evaluation without its frames. */
export type WindowSummary = Omit<Evaluation, 'perFrame'>;

export function summarize(evaluation: WindowSummary): WindowSummary {
  const { frames, distance, cost, count, meanLocalizationError, exact, lowerBound, gap, solver, audit } = evaluation;
  const summary = { frames, distance, cost, count, meanLocalizationError, exact, lowerBound, gap, solver };
  return audit ? { ...summary, audit } : summary;
}

/** The newest report of a series as whoever comes later gets it: nobody waits for it, so it has no times. */
export function newestReport(
  { stream, tracker, profile }: SeriesId,
  { k, t }: FrameMark,
  report: PublishedReport,
  { spikes, notJudged, scores, performance, classes }: Readings,
): ReportEvent {
  const event: ReportEvent = { type: 'report', stream, tracker, profile, k, receivedMs: 0, report, solveMs: 0 };
  if (t !== undefined) event.t = t;
  if (spikes) event.spikes = spikes;
  if (scores) event.scores = scores;
  if (performance) event.performance = performance;
  if (notJudged) event.notJudged = notJudged;
  if (classes) event.classes = classes;
  return event;
}

/** A report as subscribers of /v1/live see it; those who draw ask for the objects too. */
export function reportMessage(event: ReportEvent, withObjects = false): Record<string, unknown> {
  const { type, stream, tracker, profile, k, t, receivedMs, report, solveMs, objects, notJudged } = event;
  const { scores, performance, classes } = event;
  const { newest, settled, lifetime, frame } = report;
  return {
    type,
    stream,
    tracker,
    profile,
    k,
    ...(t === undefined ? {} : { t }),
    frame,
    receivedMs,
    solveMs,
    ...(report.exact ? {} : { uncertified: true }),
    window: summarize(report),
    newest,
    settled,
    lifetime,
    ...(scores ? { scores } : {}),
    ...(performance ? { performance } : {}),
    ...(notJudged ? { notJudged } : {}),
    ...(classes ? { classes } : {}),
    ...(withObjects && objects
      ? { objects: { reference: drawn(objects.reference), tracker: drawn(objects.tracker) } }
      : {}),
  };
}

/** Objects for those who draw them; who costs nothing alone is not judged. */
const drawn = (list: PackedList) =>
  unpack(list).map((object, n) => (list.alone?.[n] === 0 ? { ...object, judged: false } : object));
