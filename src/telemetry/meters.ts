/**
 * What is counted: plain numbers by series, feed and source, and what happens at the edge. Nothing on the path of a
 * frame touches a label; a scrape reads these numbers (exposition.ts).
 * Invariant: at most `seriesMax` series are held; label values that peers could choose come from closed lists.
 */
import { HTTP_CODES, REJECT_CODES, SKIP_RULES } from '../wire/codes.js';
import type {
  ClassTotals,
  LiveEvent,
  NotJudgedCounts,
  PerformanceReading,
  PublishedReport,
  ReportEvent,
  ScoreReading,
  SpikeReading,
} from '../wire/events.js';
import type { FeedId } from '../wire/feed.js';
import { seriesKey } from '../wire/series-key.js';
import type { ClusterMeters } from './cluster-meters.js';
import { Histogram } from './histogram.js';
import { newSourceMeter, type SourceKind, type SourceMeter } from './source-meters.js';

/** What one feed brought, updated by its session. */
export interface FeedMeter {
  readonly feed: FeedId;
  frames: number;
  objects: number;
  /** epoch milliseconds; 0 before the first frame */
  lastReceivedMs: number;
  duplicates: number;
  late: number;
  missing: number;
  gaps: number;
  silent: boolean;
  rejected: Map<string, number>;
  /** objects left out of frames, by rule */
  skipped: Map<string, number>;
}

export interface SeriesMeter {
  labels: { stream: string; tracker: string; profile: string };
  report: PublishedReport;
  spikes: SpikeReading | undefined;
  scores: ScoreReading | undefined;
  performance: PerformanceReading | undefined;
  /** objects that were not judged so far */
  notJudged: NotJudgedCounts | undefined;
  /** what each class cost and counted so far */
  classes: ClassTotals | undefined;
  solves: number;
  uncertified: number;
  /** frames judged since the start of the process */
  judged: number;
}

/** What happens to one feed; all other events are cases of `observe`. */
type FeedEvent = Extract<LiveEvent, FeedId>;

/** Where the edge may fail: on a message, an HTTP request, an upgrade, or while an event is published. */
export type FaultPlace = 'message' | 'request' | 'upgrade' | 'event';

/** what rounding leaves open is far below */
const UNCERTIFIED_GAP = 1e-6;

const LATENCY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const SOLVE_SECONDS = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1];

export class Meters {
  readonly series = new Map<string, SeriesMeter>();
  readonly feeds = new Map<string, FeedMeter>();
  readonly sources = new Map<string, SourceMeter>();
  /** records that were set aside, by stream */
  readonly failedRecords = new Map<string, number>();
  /** refused requests, connections and hellos, by code */
  readonly refusals = new Map<string, number>();
  /** our own mistakes at the edge, by place */
  readonly faults: Record<FaultPlace, number> = { message: 0, request: 0, upgrade: 0, event: 0 };
  readonly counts = { pauses: 0, coalesced: 0, slowClosed: 0, overflow: 0, clockJumps: 0 };
  readonly latency = new Histogram(LATENCY_SECONDS);
  readonly solve = new Histogram(SOLVE_SECONDS);
  /** of a process that is one of a cluster */
  cluster: ClusterMeters | null = null;

  constructor(readonly seriesMax: number) {}

  /** Opens the meter of a pull source. */
  openSource(source: string, kind: SourceKind): SourceMeter {
    const meter = newSourceMeter(source, kind);
    this.sources.set(source, meter);
    return meter;
  }

  /** The meter of a feed, opened when it is new. */
  feedMeter(feed: FeedId): FeedMeter {
    const key = feedKey(feed.stream, feed.tracker);
    let meter = this.feeds.get(key);
    if (!meter) {
      meter = newFeedMeter(feed);
      this.feeds.set(key, meter);
    }
    return meter;
  }

  /** Counts an event of the pipeline, published at `nowMs`. */
  observe(event: LiveEvent, nowMs: number): void {
    switch (event.type) {
      case 'report':
        this.#report(event);
        this.latency.observe(Math.max(0, nowMs - event.receivedMs) / 1000);
        this.solve.observe(event.solveMs / 1000);
        break;
      case 'retired':
        this.#retire(event);
        break;
      case 'switch':
      case 'spike':
      case 'resuming':
      case 'uncertified':
      case 'finding':
      case 'incident':
        break;
      case 'quarantine':
        add(this.failedRecords, event.stream);
        break;
      default:
        this.#feedEvent(event);
    }
  }

  /** Opens a series as it was before a restart; undefined when there are too many. */
  restore(event: ReportEvent): SeriesMeter | undefined {
    const { stream, tracker, profile, report, spikes, scores, performance, notJudged, classes } = event;
    const key = seriesKey(stream, tracker, profile);
    let meter = this.series.get(key);
    if (!meter && this.series.size < this.seriesMax) {
      const labels = { stream, tracker, profile };
      const totals = notJudged?.totals;
      const readings = { report, spikes, scores, performance, notJudged: totals, classes };
      meter = { labels, ...readings, solves: 0, uncertified: 0, judged: 0 };
      this.series.set(key, meter);
    }
    return meter;
  }

  /** As they are now, for whoever reads bit by bit while counting goes on: numbers of a series are of one frame. */
  atOneMoment(): Meters {
    const copies = <T extends object>(meters: Map<string, T>) =>
      new Map([...meters].map(([key, meter]) => [key, { ...meter }]));
    return Object.assign(new Meters(this.seriesMax), this, {
      series: copies(this.series),
      feeds: copies(this.feeds),
    });
  }

  /** Counts a refused request, connection or hello by its code. */
  refused(code: string): void {
    add(this.refusals, knownCode(code));
  }

  /** Forgets feeds of streams that are gone without ever having had a series; one about to be opened is not gone. */
  retain(isThere: (stream: string) => boolean): void {
    for (const [key, { feed }] of this.feeds) if (!isThere(feed.stream)) this.feeds.delete(key);
    for (const stream of this.failedRecords.keys()) if (!isThere(stream)) this.failedRecords.delete(stream);
  }

  #report(event: ReportEvent): void {
    const meter = this.restore(event);
    if (!meter) {
      this.counts.overflow++;
      return;
    }
    meter.report = event.report;
    meter.spikes = event.spikes;
    meter.scores = event.scores ?? meter.scores;
    meter.performance = event.performance ?? meter.performance;
    meter.notJudged = event.notJudged?.totals ?? meter.notJudged;
    meter.classes = event.classes ?? meter.classes;
    meter.solves++;
    // the end of a feed brings a report without a frame
    if (event.objects) meter.judged++;
    if (event.report.gap > UNCERTIFIED_GAP) meter.uncertified++;
  }

  #feedEvent(event: FeedEvent): void {
    const meter = this.feedMeter(event);
    if (event.type === 'silence') meter.silent = !event.over;
    else if (event.type === 'rejected') add(meter.rejected, knownCode(event.code), event.count);
    else if (event.type === 'skipped') add(meter.skipped, knownRule(event.code), event.count);
    else meter[COUNT_OF[event.type]] += event.count;
  }

  /** With the last series of a stream, the meters of its feeds go too. */
  #retire({ stream, tracker, profile }: { stream: string; tracker: string; profile: string }): void {
    this.series.delete(seriesKey(stream, tracker, profile));
    for (const meter of this.series.values()) if (meter.labels.stream === stream) return;
    for (const [key, meter] of this.feeds) if (meter.feed.stream === stream) this.feeds.delete(key);
  }
}

const newFeedMeter = ({ stream, role, tracker }: FeedId): FeedMeter => ({
  feed: { stream, role, tracker },
  frames: 0,
  objects: 0,
  lastReceivedMs: 0,
  duplicates: 0,
  late: 0,
  missing: 0,
  gaps: 0,
  silent: false,
  rejected: new Map(),
  skipped: new Map(),
});

const COUNT_OF = { late: 'late', duplicate: 'duplicates', missing: 'missing', gap: 'gaps' } as const;

const feedKey = (stream: string, tracker: string | null) => seriesKey(stream, tracker ?? '', '');

const add = (counts: Map<string, number>, key: string, count = 1) => counts.set(key, (counts.get(key) ?? 0) + count);

const knownRule = (code: string) => (Object.hasOwn(SKIP_RULES, code) ? code : 'other');

const knownCode = (code: string) =>
  Object.hasOwn(REJECT_CODES, code) || Object.hasOwn(HTTP_CODES, code) ? code : 'other';
