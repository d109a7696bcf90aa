/** A pipeline for tests of the edge: keeps what it is given in memory, and stores when the test lets it. */
import { type ResolvedStream, readConfig, resolveStream, type SettingsPatch } from '../../src/config/config.js';
import type { FeedRefusal, OpenedFeed } from '../../src/edge/feeds/feed-port.js';
import type { PipelinePort, Readiness } from '../../src/edge/live-port.js';
import type { Report } from '../../src/metric/evaluation.js';
import type { LiveEvent, Refused, ReportEvent } from '../../src/wire/events.js';
import type { FeedId } from '../../src/wire/feed.js';
import { type FeedPart, unpack, type WireObject } from '../../src/wire/objects.js';

export class StorageFault extends Error {
  override readonly name = 'StorageFault';
}

export const keyOf = ({ stream, role, tracker }: FeedId) => `${stream}/${role}/${tracker ?? ''}`;

/** A part with its objects one by one. */
export interface StoredPart extends Omit<FeedPart, 'objects'> {
  objects: WireObject[];
}

export class FakeLive implements PipelinePort {
  config = readConfig({ env: {} }).config;
  parts = new Map<string, StoredPart[]>();
  rejected: string[] = [];
  ended: string[] = [];
  cuts: string[] = [];
  unreadFeeds = new Set<string>();
  /** while set, frames wait for it before they are stored */
  gate: Promise<void> | null = null;
  diskFull = false;
  /** how often a frame was to be stored */
  attempts = 0;
  health_: Readiness = { ready: true, reasons: [], degraded: [] };
  streamsMax = 100;
  past: LiveEvent[] = [];
  /** a stream that is being rebuilt */
  restoring: string | null = null;
  recovered: ReportEvent[] = [];
  #listeners = new Set<(event: LiveEvent) => void>();

  readonly events$ = {
    subscribe: (next: (event: LiveEvent) => void) => {
      this.#listeners.add(next);
      return { unsubscribe: () => void this.#listeners.delete(next) };
    },
  };

  readonly restored$ = { subscribe: () => {} };

  emit(event: LiveEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  moment(): Promise<string> {
    return Promise.resolve('nothing is stored');
  }

  hasStream(stream: string): boolean {
    return [...this.parts.keys()].some((key) => key.startsWith(`${stream}/`));
  }

  async openFeed(
    feed: FeedId,
    patch?: SettingsPatch,
    _shape?: unknown,
    ifNew?: FeedRefusal,
  ): Promise<OpenedFeed | FeedRefusal> {
    const streams = new Set([...this.parts.keys()].map((key) => key.split('/')[0]));
    const isNew = !streams.has(feed.stream);
    if (isNew && ifNew) return ifNew;
    if (isNew && streams.size >= this.streamsMax)
      return { code: 'streams_exceeded', path: 'stream', message: 'too many streams' };
    const parts = this.parts.get(keyOf(feed)) ?? [];
    this.parts.set(keyOf(feed), parts);
    return {
      nextSeq: Math.floor(parts.at(-1)?.seq ?? 0) + 1,
      plan: resolveStream(this.config, feed.stream, patch) as ResolvedStream,
      findings: [],
      isNew,
    };
  }

  async ingest(feed: FeedId, part: FeedPart): Promise<void> {
    this.attempts++;
    if (this.diskFull) throw new StorageFault('no space left on device');
    if (this.gate) await this.gate;
    if (this.diskFull) throw new StorageFault('no space left on device');
    const parts = this.parts.get(keyOf(feed))!;
    if (part.seq > (parts.at(-1)?.seq ?? 0)) parts.push({ ...part, objects: unpack(part.objects) });
  }

  async end(feed: FeedId): Promise<void> {
    if (this.diskFull) throw new StorageFault('no space left on device');
    this.ended.push(keyOf(feed));
  }

  unread(feed: FeedId, unread: boolean): void {
    if (unread) this.unreadFeeds.add(keyOf(feed));
    else this.unreadFeeds.delete(keyOf(feed));
  }

  cut(feed: FeedId): void {
    this.cuts.push(keyOf(feed));
  }

  now(): number {
    return Date.now();
  }

  reportRefused(feed: FeedId, type: Refused['type'], what: Pick<Refused, 'code' | 'path' | 'message'>): void {
    if (type === 'rejected') this.rejected.push(what.code);
    this.emit({ type, ...feed, ...what, count: 1 });
  }

  streams() {
    return [...this.parts.keys()].map((key) => ({
      stream: key.split('/')[0],
      dimensions: 0,
      resuming: false,
      ...(this.restoring === key.split('/')[0] ? { restoring: true as const } : {}),
      findings: [],
      incidents: [],
    }));
  }

  window(stream: string, tracker: string, profile: string): unknown {
    return stream === 'gate-7' && tracker === 'sort' && profile === 'online-surveillance' ? { frames: 0 } : undefined;
  }

  reports(): ReportEvent[] {
    return this.recovered;
  }

  storage() {
    return {
      bytes: 0,
      commits: 0,
      faults: 0,
      damagedPlaces: 0,
      queuedRecords: 0,
      backlogRecords: 0,
      heavyStreams: 0,
      commitMs: 0,
      oldestMs: 0,
      freeBytes: 5e9,
      neededBytes: 1e8,
    };
  }

  recentEvents(stream?: string) {
    return this.past.filter((event) => stream === undefined || event.stream === stream);
  }

  health() {
    return this.health_;
  }
}

const count = { proper: 12, missed: 3, false: 2, switches: 1.5 };
const cost = { localization: 0.5, missed: 0.375, false: 0.25, switch: 0.125, total: 1.25 };

/** A report with plausible numbers, changed where the test says so. */
export function fakeReport(changes: Partial<Report> = {}): Report {
  return {
    frames: 60,
    distance: 1.13,
    cost,
    count,
    meanLocalizationError: 0.2,
    exact: true,
    lowerBound: 1.25,
    gap: 0,
    solver: { pairs: 3, isolated: 2, frontier: 1, simplex: 0, branch: 0, open: 0 },
    perFrame: [],
    frame: 99,
    newest: { cost, count: { proper: 5, missed: 1, false: 0, switches: 0 }, assignment: [] },
    settled: { frames: 70, cost, count: { proper: 300, missed: 20, false: 10, switches: 2.5 } },
    lifetime: { lower: 7.5, upper: 8.25 },
    events: [],
    ...changes,
  };
}

export const fakeReportEvent = (changes: Partial<ReportEvent> = {}): ReportEvent => ({
  type: 'report',
  stream: 'gate-7',
  tracker: 'sort',
  profile: 'online-surveillance',
  k: 100,
  receivedMs: 1_763_251_200_000,
  report: fakeReport(),
  solveMs: 0.2,
  ...changes,
});
