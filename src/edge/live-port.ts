/** What the edge needs of the pipeline: the half that feeds write to, and the half that readers look at. */
import type { ResolvedStream, SettingsPatch } from '../config/config.js';
import type { StorageGauges } from '../telemetry/spec.js';
import type { LiveEvent, Refused, ReportEvent } from '../wire/events.js';
import type { FeedId } from '../wire/feed.js';
import type { Finding } from '../wire/findings.js';
import type { Mute, OpenIncident, Remark } from '../wire/incidents.js';
import type { FeedPart, Shape } from '../wire/objects.js';
import type { SeriesId } from '../wire/series-key.js';

/** What the pipeline offers to feeds. */
export interface FeedPort {
  /** whether a stream is open, or about to be */
  hasStream(stream: string): boolean;
  /**
   * `plan` is how the stream is judged, whoever decided it first; `nextSeq` counts what is accepted, durable or not;
   * `findings` is what is wrong with how the feed is wired
   */
  openFeed(
    feed: FeedId,
    settings?: SettingsPatch,
    shape?: Shape,
  ):
    | { nextSeq: number; plan: ResolvedStream; findings: readonly Finding[] }
    | { code: string; path: string; message: string };
  /**
   * Resolves once the part is durable, also when its number came before; rejects with a StorageFault when it is not
   * going to be. Parts that become durable together get the same promise.
   */
  ingest(feed: FeedId, part: FeedPart, receivedMs: number): Promise<void>;
  end(feed: FeedId): Promise<void>;
  /** its connection is gone, and it did not say that this was the end */
  cut(feed: FeedId): void;
  /** it may have sent frames that are not read yet, by the server's choice; or has not any longer */
  unread(feed: FeedId, unread: boolean): void;
  /** epoch milliseconds, by the clock that everything goes by */
  now(): number;
  reportRefused(feed: FeedId, type: Refused['type'], what: Pick<Refused, 'code' | 'path' | 'message'>): void;
}

/** Where it is written down what people say about incidents. */
export interface IncidentPort {
  remarkOn(incident: SeriesId & { id: number }): Remark | undefined;
  remark(incident: SeriesId & { id: number }, remark: Remark): void;
  mutes(nowMs: number): Mute[];
  mute(mute: Omit<Mute, 'id'>): Mute;
  unmute(id: number): boolean;
}

/** Whether frames are accepted and judged. */
export interface Health {
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

/** What the pipeline offers to readers besides. */
export interface LivePort extends FeedPort {
  readonly events$: { subscribe(next: (event: LiveEvent) => void): unknown };
  /** streams that were recovered after the edge was there */
  readonly restored$: { subscribe(next: (stream: RestoredStream) => void): unknown };
  streams(): Array<{
    stream: string;
    dimensions: number;
    resuming: boolean;
    suspended?: string;
    findings: readonly Finding[];
    incidents: readonly OpenIncident[];
    objective?: Readonly<Record<string, number | null>>;
  }>;
  /** the newest report of every series */
  reports(): ReportEvent[];
  storage(): StorageGauges;
  window(stream: string, tracker: string, profile: string): unknown;
  recentEvents(stream?: string): LiveEvent[];
  health(): Health;
}
