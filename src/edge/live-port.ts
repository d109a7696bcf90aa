/**
 * What the edge needs of the pipeline. A core has one beside it, in the same thread (`PipelinePort`); the sockets see
 * one or several cores, here or in threads (`LivePort`), so every answer of those may take a while.
 */
import type { Meters } from '../telemetry/meters.js';
import type { StorageGauges } from '../telemetry/spec.js';
import type { LiveEvent, ReportEvent } from '../wire/events.js';
import type { Finding } from '../wire/findings.js';
import type { Mute, OpenIncident, Remark } from '../wire/incidents.js';
import type { MomentQuery, SeriesId } from '../wire/series-key.js';
import type { FeedConversation, FeedPort } from './feeds/feed-port.js';
import type { Identity } from './peers/access.js';
import type { Peer } from './peers/peer.js';
import type { RateView } from './rates.js';
import type { Filter } from './subscribers.js';
import type { TrendView } from './trend.js';

/** Where it is written down what people say about incidents. */
export interface IncidentPort {
  remarkOn(incident: SeriesId & { id: number }): Remark | undefined;
  remark(incident: SeriesId & { id: number }, remark: Remark): Promise<void>;
  mutes(nowMs: number): Mute[];
  /** null when there are too many */
  mute(mute: Omit<Mute, 'id'>, nowMs: number): Promise<Mute | null>;
  unmute(id: number): Promise<boolean>;
}

/** Whether frames are accepted and judged. */
export interface Readiness {
  ready: boolean;
  /** why not */
  reasons: string[];
  /** streams that are not judged, or have lost something, while all others are well */
  degraded: Array<{ stream: string; reason: string }>;
}

/** A stream that is there again after a start. */
export interface RestoredStream {
  info(): { stream: string; dimensions: number };
  reports(): ReportEvent[];
}

/** Somebody who hears of something as it happens. */
export interface Heard<T> {
  subscribe(next: (one: T) => void): unknown;
}

/** The newest report of a series that was there before; `unseen`: whoever reads reports did not get it. */
export interface RestoredReport {
  report: ReportEvent;
  unseen: boolean;
}

/** A stream as far as the edge looks at it; readers get all of it. */
export interface StreamView {
  stream: string;
  dimensions: number;
  resuming: boolean;
  suspended?: string;
  restoring?: true;
  findings: readonly Finding[];
  incidents: readonly OpenIncident[];
  objective?: Readonly<Record<string, number | null>>;
}

/** What a pipeline in the same thread offers to readers besides. */
export interface PipelinePort extends FeedPort {
  readonly events$: Heard<LiveEvent>;
  /** streams that were recovered after the edge was there */
  readonly restored$: Heard<RestoredStream>;
  streams(): StreamView[];
  /** the newest report of every series */
  reports(): ReportEvent[];
  storage(): StorageGauges;
  window(stream: string, tracker: string, profile: string): unknown;
  /** a stretch of the past around a moment; a text says why there is none */
  moment(wanted: MomentQuery): Promise<object | string>;
  recentEvents(stream?: string): LiveEvent[];
  health(): Readiness;
}

/** What feeds have on their way, and everything that is counted. */
export interface FeedReadings {
  pausedConnections: number;
  waitingFrames: number;
  meters: Meters;
}

type Awaitable<T> = T | Promise<T>;

/** What the sockets see of all cores together. */
export interface LivePort {
  /** what happens; reports only where they are made in this thread, or while somebody reads them */
  readonly events$: Heard<LiveEvent>;
  readonly restored$: Heard<RestoredReport>;
  /** epoch milliseconds, by the clock that everything goes by */
  now(): number;
  /** Somebody reads reports, or nobody any longer. */
  readReports(wanted: boolean): void;
  /** A feed connects. */
  converse(peer: Peer, identity: Identity): FeedConversation;
  /** Reads nothing more; resolves when everything accepted is stored and acked, as far as the disk takes it. */
  quiesce(): Promise<void>;
  /** Closes every connection of a feed, and tries nothing again. */
  closeFeeds(): void;
  streams(): Awaitable<StreamView[]>;
  /** those of this process, where others have streams too */
  ownStreams?(): Awaitable<StreamView[]>;
  window(stream: string, tracker: string, profile: string): Awaitable<unknown>;
  /** a stretch of the past around a moment; a text says why there is none */
  moment(wanted: MomentQuery): Awaitable<object | string>;
  recentEvents(stream?: string): Awaitable<LiveEvent[]>;
  trends(filter: Filter, points: number): Awaitable<TrendView[]>;
  rates(filter: Filter): Awaitable<RateView[]>;
  storage(): Awaitable<StorageGauges>;
  health(): Awaitable<Readiness>;
  readings(): Awaitable<FeedReadings>;
}
