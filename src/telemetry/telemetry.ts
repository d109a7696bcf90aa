/**
 * Every Prometheus metric. What happens is counted in plain numbers; a scrape turns them into samples from scratch, so
 * a series that is gone from the state is gone from /metrics, and nothing on the path of a frame touches a label.
 * METRICS.md is the catalogue for people, and a test holds the two together. This file owns the library prom-client.
 */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Audit, Count } from '../metric/evaluation.js';
import { HTTP_CODES, REJECT_CODES } from '../wire/codes.js';
import type { LiveEvent, PublishedReport, ReportEvent, ScoreReading, SpikeReading } from '../wire/events.js';
import type { FeedId } from '../wire/feed.js';
import { seriesKey } from '../wire/series-key.js';
import { newSourceMeter, SOURCE_METRICS, type SourceKind, type SourceMeter } from './source-meters.js';

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
}

interface SeriesMeter {
  labels: { stream: string; tracker: string; profile: string };
  report: PublishedReport;
  spikes: SpikeReading | undefined;
  scores: ScoreReading | undefined;
  solves: number;
  uncertified: number;
}

/** Sizes and times of the store. */
export interface StorageGauges {
  bytes: number;
  commits: number;
  faults: number;
  /** waiting for the next commit */
  queuedRecords: number;
  /** durable and not applied yet */
  backlogRecords: number;
  /** streams that are evaluated in threads */
  threadStreams: number;
  /** duration of the last commit */
  commitMs: number;
  /** epoch milliseconds of the oldest record; 0 when there is none */
  oldestMs: number;
}

/** State outside this file that a scrape looks at. */
export interface Surroundings {
  connections(): { ingest: number; live: number };
  pausedConnections(): number;
  waitingFrames(): number;
  ready(): boolean;
  streams(): string[];
  storage(): StorageGauges;
}

/** Alerts to one receiver. */
export interface NotificationCounts {
  sent: number;
  failed: number;
  dropped: number;
  waiting: number;
}

type Labels = Record<string, string>;
type Sample = [labels: Labels, value: number];

interface Spec {
  name: string;
  type: 'gauge' | 'counter' | 'histogram';
  labels: string[];
  help: string;
  /** the samples of this moment; histograms are observed instead */
  read?: (telemetry: Telemetry) => Iterable<Sample>;
  buckets?: number[];
}

const SERIES = ['stream', 'tracker', 'profile'];
/** what rounding leaves open is far below */
const UNCERTIFIED_GAP = 1e-6;
const FEED = ['stream', 'role', 'tracker'];
const KINDS = ['proper', 'missed', 'false'] as const;
const COMPONENTS = ['localization', 'missed', 'false', 'switch'] as const;

const perSeries = (value: (meter: SeriesMeter) => number) =>
  function* (telemetry: Telemetry): Iterable<Sample> {
    for (const meter of telemetry.series.values()) yield [meter.labels, value(meter)];
  };

const perSeriesAnd = <K extends string>(
  label: string,
  keys: readonly K[],
  value: (meter: SeriesMeter, key: K) => number | undefined,
) =>
  function* (telemetry: Telemetry): Iterable<Sample> {
    for (const meter of telemetry.series.values()) {
      for (const key of keys) {
        const sample = value(meter, key);
        if (sample !== undefined) yield [{ ...meter.labels, [label]: key }, sample];
      }
    }
  };

const perAudit = (value: (audit: Audit) => number) =>
  function* (telemetry: Telemetry): Iterable<Sample> {
    for (const { labels, report } of telemetry.series.values()) if (report.audit) yield [labels, value(report.audit)];
  };

const perSignal = (value: (gauge: ReturnType<SpikeReading['gauge']>) => number) =>
  function* (telemetry: Telemetry): Iterable<Sample> {
    for (const { labels, spikes } of telemetry.series.values())
      for (const signal of spikes?.signals ?? []) yield [{ ...labels, signal }, value(spikes!.gauge(signal))];
  };

/** Scores belong to a tracker, whatever profiles it is judged under. */
function* perScore(telemetry: Telemetry): Iterable<Sample> {
  const told = new Set<string>();
  for (const { labels, scores } of telemetry.series.values()) {
    const { stream, tracker } = labels;
    const key = `${stream}\n${tracker}`;
    if (!scores || told.has(key)) continue;
    told.add(key);
    for (const [score, value] of Object.entries(scores.values)) yield [{ stream, tracker, score }, value];
  }
}

const feedLabels = ({ stream, role, tracker }: FeedId): Labels => ({ stream, role, tracker: tracker ?? '' });

const perFeed = (value: (meter: FeedMeter) => number | undefined) =>
  function* (telemetry: Telemetry): Iterable<Sample> {
    for (const meter of telemetry.feeds.values()) {
      const sample = value(meter);
      if (sample !== undefined) yield [feedLabels(meter.feed), sample];
    }
  };

function* perReason(telemetry: Telemetry): Iterable<Sample> {
  for (const meter of telemetry.feeds.values()) {
    for (const [reason, count] of meter.rejected) yield [{ ...feedLabels(meter.feed), reason }, count];
  }
}

const RESULTS = ['sent', 'failed', 'dropped'] as const;

function* perReceiver(telemetry: Telemetry): Iterable<Sample> {
  for (const [receiver, counts] of telemetry.notifications())
    for (const result of RESULTS) yield [{ receiver, result }, counts[result]];
}

const single =
  (value: (telemetry: Telemetry) => number | undefined) =>
  (telemetry: Telemetry): Iterable<Sample> => {
    const sample = value(telemetry);
    return sample === undefined ? [] : [[{}, sample]];
  };

const settled = (key: keyof Count) => perSeries((meter) => meter.report.settled.count[key]);

/** A mean over no pairs is 0: nothing was off. */
const finite = (value: number) => (Number.isFinite(value) ? value : 0);

/** The catalogue; the order is that of METRICS.md and of /metrics. */
export const METRICS: readonly Spec[] = [
  {
    name: 'tgospa_window_distance',
    type: 'gauge',
    labels: SERIES,
    help: 'TGOSPA of the sliding window: the p-th root of its cost, in the unit of the distance.',
    read: perSeries((m) => m.report.distance),
  },
  {
    name: 'tgospa_window_cost',
    type: 'gauge',
    labels: [...SERIES, 'component'],
    help: 'Cost of the sliding window to the p-th power, by component (localization, missed, false, switch); their sum is the distance to the p-th power.',
    read: perSeriesAnd('component', COMPONENTS, (m, key) => m.report.cost[key]),
  },
  {
    name: 'tgospa_window_instances',
    type: 'gauge',
    labels: [...SERIES, 'kind'],
    help: 'Instances in the sliding window, by kind (proper, missed, false).',
    read: perSeriesAnd('kind', KINDS, (m, key) => m.report.count[key]),
  },
  {
    name: 'tgospa_window_switches',
    type: 'gauge',
    labels: SERIES,
    help: 'Track switches in the sliding window; halves are changes to or from no track.',
    read: perSeries((m) => m.report.count.switches),
  },
  {
    name: 'tgospa_window_localization_error',
    type: 'gauge',
    labels: SERIES,
    help: 'Mean localization error of the proper pairs in the sliding window, in the unit of the distance; 0 without pairs.',
    read: perSeries((m) => finite(m.report.meanLocalizationError)),
  },
  {
    name: 'tgospa_window_frames',
    type: 'gauge',
    labels: SERIES,
    help: 'Frames in the sliding window; grows until the window is full.',
    read: perSeries((m) => m.report.frames),
  },
  {
    name: 'tgospa_window_gap_ratio',
    type: 'gauge',
    labels: SERIES,
    help: 'Distance of the reported cost from its proven lower bound, relative; 0 when it is proven exact.',
    read: perSeries((m) => finite(m.report.gap)),
  },
  {
    name: 'tgospa_frame_instances',
    type: 'gauge',
    labels: [...SERIES, 'kind'],
    help: 'Instances in the newest frame, by kind (proper, missed, false).',
    read: perSeriesAnd('kind', KINDS, (m, key) => m.report.newest.count[key]),
  },
  {
    name: 'tgospa_frames_total',
    type: 'counter',
    labels: SERIES,
    help: 'Settled frames.',
    read: perSeries((m) => m.report.settled.frames),
  },
  {
    name: 'tgospa_proper_total',
    type: 'counter',
    labels: SERIES,
    help: 'Proper pairs in settled frames.',
    read: settled('proper'),
  },
  {
    name: 'tgospa_missed_total',
    type: 'counter',
    labels: SERIES,
    help: 'Missed truths in settled frames.',
    read: settled('missed'),
  },
  {
    name: 'tgospa_false_total',
    type: 'counter',
    labels: SERIES,
    help: 'False tracks in settled frames.',
    read: settled('false'),
  },
  {
    name: 'tgospa_switches_total',
    type: 'counter',
    labels: SERIES,
    help: 'Track switches in settled frames; halves are changes to or from no track.',
    read: settled('switches'),
  },
  {
    name: 'tgospa_lifetime_cost',
    type: 'gauge',
    labels: [...SERIES, 'bound'],
    help: 'Cost of the whole stream so far to the p-th power, by bound (lower, upper); absent under time weights.',
    read: perSeriesAnd('bound', ['lower', 'upper'] as const, (m, key) => m.report.lifetime?.[key]),
  },
  {
    name: 'tgospa_solves_total',
    type: 'counter',
    labels: SERIES,
    help: 'Window reports since the start of the process.',
    read: perSeries((m) => m.solves),
  },
  {
    name: 'tgospa_solves_uncertified_total',
    type: 'counter',
    labels: SERIES,
    help: 'Window reports whose cost was not proven exact to a millionth, since the start of the process.',
    read: perSeries((m) => m.uncertified),
  },
  {
    name: 'tgospa_spike_active',
    type: 'gauge',
    labels: [...SERIES, 'signal'],
    help: '1 while a signal (missed, false, switch, localization) is worse than usual: a spike.',
    read: perSignal((gauge) => Number(gauge.active)),
  },
  {
    name: 'tgospa_spikes_total',
    type: 'counter',
    labels: [...SERIES, 'signal'],
    help: 'Spikes that have begun, by signal.',
    read: perSignal((gauge) => gauge.count),
  },
  {
    name: 'tgospa_spike_score',
    type: 'gauge',
    labels: [...SERIES, 'signal'],
    help: 'Evidence that a signal has got worse, as a share of its threshold; a spike begins at 1.',
    read: perSignal((gauge) => gauge.score),
  },
  {
    name: 'tgospa_spike_expected_rate',
    type: 'gauge',
    labels: [...SERIES, 'signal'],
    help: 'What is usual, as learned: missed truths, false tracks or switches per frame with as many truths as now; for localization the mean error.',
    read: perSignal((gauge) => gauge.expected),
  },
  {
    name: 'tgospa_spike_observed_rate',
    type: 'gauge',
    labels: [...SERIES, 'signal'],
    help: 'What was observed in the last frames, in the same units.',
    read: perSignal((gauge) => gauge.observed),
  },
  {
    name: 'tgospa_window_score',
    type: 'gauge',
    labels: ['stream', 'tracker', 'score'],
    help: 'Companion scores of the sliding window: HOTA, MOTA, IDF1 and their parts (0 to 1), IDSW, Frag, MT, PT, ML (counts); absent unless scores.enabled.',
    read: perScore,
  },
  {
    name: 'tgospa_audits_total',
    type: 'counter',
    labels: SERIES,
    help: 'Windows solved again by the other engine; absent unless evaluation.auditEvery is set.',
    read: perAudit((audit) => audit.checked),
  },
  {
    name: 'tgospa_audit_disagreements_total',
    type: 'counter',
    labels: SERIES,
    help: 'Audited windows on which the engines disagreed; anything but 0 is a fault of this program.',
    read: perAudit((audit) => audit.disagreements),
  },
  {
    name: 'tgospa_feed_frames_total',
    type: 'counter',
    labels: FEED,
    help: 'Frames accepted from a feed since the start of the process; the tracker label of the reference is empty.',
    read: perFeed((m) => m.frames),
  },
  {
    name: 'tgospa_feed_objects_total',
    type: 'counter',
    labels: FEED,
    help: 'Objects in the frames accepted from a feed.',
    read: perFeed((m) => m.objects),
  },
  {
    name: 'tgospa_feed_last_frame_timestamp_seconds',
    type: 'gauge',
    labels: FEED,
    help: 'When the last accepted frame of a feed came in, in seconds since 1970; absent before the first one.',
    read: perFeed((m) => (m.lastReceivedMs > 0 ? m.lastReceivedMs / 1000 : undefined)),
  },
  {
    name: 'tgospa_feed_silent',
    type: 'gauge',
    labels: FEED,
    help: '1 while a feed is silent: a silent tracker misses everything, a silent reference suspends judgement.',
    read: perFeed((m) => Number(m.silent)),
  },
  {
    name: 'tgospa_frames_late_total',
    type: 'counter',
    labels: FEED,
    help: 'Frames that came after their step was closed.',
    read: perFeed((m) => m.late),
  },
  {
    name: 'tgospa_frames_duplicate_total',
    type: 'counter',
    labels: FEED,
    help: 'Frames that came twice: sequence numbers that were stored already, or steps the feed had delivered.',
    read: perFeed((m) => m.duplicates),
  },
  {
    name: 'tgospa_frames_missing_total',
    type: 'counter',
    labels: FEED,
    help: 'Steps that were closed without a part of the feed.',
    read: perFeed((m) => m.missing),
  },
  {
    name: 'tgospa_frames_gap_total',
    type: 'counter',
    labels: FEED,
    help: 'Steps that no feed delivered.',
    read: perFeed((m) => m.gaps),
  },
  {
    name: 'tgospa_frames_rejected_total',
    type: 'counter',
    labels: [...FEED, 'reason'],
    help: 'Messages of a feed answered by a reject, by its code.',
    read: perReason,
  },
  {
    name: 'tgospa_frame_latency_seconds',
    type: 'histogram',
    labels: [],
    help: 'Time from the arrival of the last part of a frame to its report.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  },
  {
    name: 'tgospa_solve_duration_seconds',
    type: 'histogram',
    labels: [],
    help: 'Time of one window update.',
    buckets: [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1],
  },
  {
    name: 'tgospa_streams',
    type: 'gauge',
    labels: [],
    help: 'Streams in memory.',
    read: single((t) => t.surroundings?.streams().length),
  },
  {
    name: 'tgospa_series',
    type: 'gauge',
    labels: [],
    help: 'Exported combinations of stream, tracker and profile.',
    read: single((t) => t.series.size),
  },
  {
    name: 'tgospa_series_overflow_total',
    type: 'counter',
    labels: [],
    help: 'Reports that were not exported because limits.series is reached.',
    read: single((t) => t.counts.overflow),
  },
  {
    name: 'tgospa_connections',
    type: 'gauge',
    labels: ['endpoint'],
    help: 'Open WebSocket connections, by endpoint (ingest, live).',
    read: (t) => Object.entries(t.surroundings?.connections() ?? {}).map(([endpoint, n]): Sample => [{ endpoint }, n]),
  },
  {
    name: 'tgospa_connections_refused_total',
    type: 'counter',
    labels: ['reason'],
    help: 'Requests, connections and hellos that were refused, by code; streams_exceeded and trackers_exceeded are the overflow of the caps.',
    read: (t) => [...t.refusals].map(([reason, n]): Sample => [{ reason }, n]),
  },
  {
    name: 'tgospa_ingest_waiting_frames',
    type: 'gauge',
    labels: [],
    help: 'Frames taken and not stored yet.',
    read: single((t) => t.surroundings?.waitingFrames()),
  },
  {
    name: 'tgospa_ingest_paused_connections',
    type: 'gauge',
    labels: [],
    help: 'Connections that are not read from, because of credit, rate or a full disk.',
    read: single((t) => t.surroundings?.pausedConnections()),
  },
  {
    name: 'tgospa_ingest_pauses_total',
    type: 'counter',
    labels: [],
    help: 'Times a connection was paused.',
    read: single((t) => t.counts.pauses),
  },
  {
    name: 'tgospa_live_reports_coalesced_total',
    type: 'counter',
    labels: [],
    help: 'Reports left out for subscribers that read too slowly.',
    read: single((t) => t.counts.coalesced),
  },
  {
    name: 'tgospa_live_slow_closed_total',
    type: 'counter',
    labels: [],
    help: 'Subscribers closed because they were hopelessly slow.',
    read: single((t) => t.counts.slowClosed),
  },
  {
    name: 'tgospa_notifications_total',
    type: 'counter',
    labels: ['receiver', 'result'],
    help: 'Alerts about spikes to a receiver of the section notify, by result (sent, failed, dropped); a failed delivery is tried again unless it was refused.',
    read: perReceiver,
  },
  {
    name: 'tgospa_notifications_waiting',
    type: 'gauge',
    labels: ['receiver'],
    help: 'Alerts that a receiver has not taken yet.',
    read: (t) => t.notifications().map(([receiver, counts]): Sample => [{ receiver }, counts.waiting]),
  },
  {
    name: 'tgospa_log_bytes',
    type: 'gauge',
    labels: [],
    help: 'Size of the log on disk.',
    read: single((t) => t.surroundings?.storage().bytes),
  },
  {
    name: 'tgospa_log_queued_records',
    type: 'gauge',
    labels: [],
    help: 'Log records waiting for the next group commit.',
    read: single((t) => t.surroundings?.storage().queuedRecords),
  },
  {
    name: 'tgospa_log_commits_total',
    type: 'counter',
    labels: [],
    help: 'Group commits since the start of the process.',
    read: single((t) => t.surroundings?.storage().commits),
  },
  {
    name: 'tgospa_log_faults_total',
    type: 'counter',
    labels: [],
    help: 'Commits that failed, for example because the disk was full.',
    read: single((t) => t.surroundings?.storage().faults),
  },
  {
    name: 'tgospa_log_backlog_records',
    type: 'gauge',
    labels: [],
    help: 'Log records that are durable and not evaluated yet.',
    read: single((t) => t.surroundings?.storage().backlogRecords),
  },
  {
    name: 'tgospa_thread_streams',
    type: 'gauge',
    labels: [],
    help: 'Streams that are evaluated in threads because their solves take longer than evaluation.inlineMs.',
    read: single((t) => t.surroundings?.storage().threadStreams),
  },
  {
    name: 'tgospa_log_last_commit_seconds',
    type: 'gauge',
    labels: [],
    help: 'Duration of the last group commit, with its flush to disk.',
    read: single((t) => (t.surroundings ? t.surroundings.storage().commitMs / 1000 : undefined)),
  },
  {
    name: 'tgospa_log_oldest_record_timestamp_seconds',
    type: 'gauge',
    labels: [],
    help: 'When the oldest record of the log was written, in seconds since 1970; absent when there is none.',
    read: single((t) => (t.surroundings?.storage().oldestMs ?? 0) / 1000 || undefined),
  },
  ...SOURCE_METRICS.map(({ read, ...spec }): Spec => ({ ...spec, read: (t) => read(t.sources.values()) })),
  {
    name: 'tgospa_ready',
    type: 'gauge',
    labels: [],
    help: '1 when /readyz says ready.',
    read: single((t) => (t.surroundings ? Number(t.surroundings.ready()) : undefined)),
  },
  {
    name: 'tgospa_build_info',
    type: 'gauge',
    labels: ['version', 'node'],
    help: 'Always 1; the labels name the version of the program and of Node.',
    read: (t) => [[t.build, 1]],
  },
];

/** A histogram without labels. That of prom-client takes microseconds for each observation, this one nanoseconds. */
class PlainHistogram {
  readonly type = 'histogram';
  readonly name: string;
  readonly help: string;
  readonly #bounds: number[];
  readonly #counts: Float64Array;
  #sum = 0;

  constructor({ name, help, buckets = [] }: Spec) {
    this.name = name;
    this.help = help;
    this.#bounds = buckets;
    this.#counts = new Float64Array(buckets.length + 1);
  }

  observe(value: number): void {
    let at = 0;
    while (at < this.#bounds.length && value > this.#bounds[at]) at++;
    this.#counts[at]++;
    this.#sum += value;
  }

  /** The shape in which prom-client reads a metric. */
  async get() {
    const { name, help, type } = this;
    let count = 0;
    const values: Array<{ metricName: string; labels: Labels; value: number }> = [];
    for (const [n, bound] of [...this.#bounds, '+Inf'].entries()) {
      count += this.#counts[n];
      values.push({ metricName: `${name}_bucket`, labels: { le: String(bound) }, value: count });
    }
    values.push({ metricName: `${name}_sum`, labels: {}, value: this.#sum });
    values.push({ metricName: `${name}_count`, labels: {}, value: count });
    return { name, help, type, values, aggregator: 'sum' };
  }
}

/** These of prom-client are gauges whose names end in _total, which Prometheus' own linter refuses. */
const BADLY_NAMED = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total'];

export interface TelemetryOptions {
  seriesMax?: number;
  version?: string;
  node?: string;
  /** metrics of the process itself besides */
  processMetrics?: boolean;
}

export class Telemetry {
  readonly sources = new Map<string, SourceMeter>();
  readonly series = new Map<string, SeriesMeter>();
  readonly feeds = new Map<string, FeedMeter>();
  readonly refusals = new Map<string, number>();
  readonly counts = { pauses: 0, coalesced: 0, slowClosed: 0, overflow: 0 };
  readonly build: Labels;
  surroundings: Surroundings | null = null;
  /** what became of alerts, by receiver */
  notifications: () => Array<[receiver: string, counts: NotificationCounts]> = () => [];
  #registry = new Registry();
  #openMetrics = new Registry();
  #latency: PlainHistogram;
  #solve: PlainHistogram;
  #seriesMax: number;

  constructor(options: TelemetryOptions = {}) {
    const { seriesMax = 5000, version = '0.0.0', node = process.version, processMetrics = true } = options;
    this.#seriesMax = seriesMax;
    this.build = { version, node };
    this.#openMetrics.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as never);
    for (const spec of METRICS) this.#register(spec);
    this.#latency = this.#registry.getSingleMetric('tgospa_frame_latency_seconds') as unknown as PlainHistogram;
    this.#solve = this.#registry.getSingleMetric('tgospa_solve_duration_seconds') as unknown as PlainHistogram;
    if (processMetrics) {
      collectDefaultMetrics({ register: this.#registry });
      for (const name of BADLY_NAMED) this.#registry.removeSingleMetric(name);
    }
  }

  #register(spec: Spec): void {
    const { name, type, labels, help, read } = spec;
    if (type === 'histogram') {
      this.#registry.registerMetric(new PlainHistogram(spec) as never);
      return;
    }
    const base = { name, help, labelNames: labels, registers: [this.#registry] };
    const telemetry = this;
    if (type === 'gauge') {
      new Gauge({
        ...base,
        collect() {
          this.reset();
          // without labels a reset leaves a 0 behind; what is unknown is left out
          if (labels.length === 0) this.remove();
          for (const [values, value] of read!(telemetry)) this.set(values, value);
        },
      });
    } else {
      new Counter({
        ...base,
        collect() {
          this.reset();
          if (labels.length === 0) this.remove();
          for (const [values, value] of read!(telemetry)) this.inc(values, value);
        },
      });
    }
  }

  /** The meter of a pull source. */
  sourceMeter(source: string, kind: SourceKind): SourceMeter {
    const meter = newSourceMeter(source, kind);
    this.sources.set(source, meter);
    return meter;
  }

  /** The meter of a feed, made when it is new. */
  feedMeter(feed: FeedId): FeedMeter {
    const key = feedKey(feed.stream, feed.tracker);
    let meter = this.feeds.get(key);
    if (!meter) {
      const { stream, role, tracker } = feed;
      meter = {
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
      };
      this.feeds.set(key, meter);
    }
    return meter;
  }

  /** Takes note of an event of the pipeline, published at `nowMs`. */
  observe(event: LiveEvent, nowMs: number): void {
    switch (event.type) {
      case 'report':
        this.#report(event);
        this.#latency.observe(Math.max(0, nowMs - event.receivedMs) / 1000);
        this.#solve.observe(event.solveMs / 1000);
        break;
      case 'retired':
        this.#retire(event);
        break;
      case 'switch':
      case 'spike':
        break;
      default:
        this.#feedEvent(event);
    }
  }

  /** Takes a series over as it was before a restart. */
  restore(event: ReportEvent): SeriesMeter | undefined {
    const { stream, tracker, profile, report } = event;
    const key = seriesKey(stream, tracker, profile);
    let meter = this.series.get(key);
    if (!meter && this.series.size < this.#seriesMax) {
      meter = {
        labels: { stream, tracker, profile },
        report,
        spikes: event.spikes,
        scores: event.scores,
        solves: 0,
        uncertified: 0,
      };
      this.series.set(key, meter);
    }
    return meter;
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
    meter.solves++;
    if (event.report.gap > UNCERTIFIED_GAP) meter.uncertified++;
  }

  /** Counts a refused request, connection or hello by its code. */
  refused(code: string): void {
    add(this.refusals, knownCode(code));
  }

  #feedEvent(event: Exclude<LiveEvent, { type: 'report' | 'retired' | 'switch' | 'spike' }>): void {
    const meter = this.feedMeter(event);
    if (event.type === 'silence') meter.silent = !event.over;
    else if (event.type === 'rejected') add(meter.rejected, knownCode(event.code), event.count);
    else meter[COUNT_OF[event.type]] += event.count;
  }

  /** The last series of a stream takes the feeds of the stream with it. */
  #retire({ stream, tracker, profile }: { stream: string; tracker: string; profile: string }): void {
    this.series.delete(seriesKey(stream, tracker, profile));
    for (const meter of this.series.values()) if (meter.labels.stream === stream) return;
    for (const [key, meter] of this.feeds) if (meter.feed.stream === stream) this.feeds.delete(key);
  }

  /** Feeds of streams that are gone without ever having had a series. */
  #prune(): void {
    if (!this.surroundings) return;
    const streams = new Set(this.surroundings.streams());
    for (const [key, { feed }] of this.feeds) if (!streams.has(feed.stream)) this.feeds.delete(key);
  }

  /** The whole exposition in the format that the Accept header of a scraper prefers. */
  async expose(accept = ''): Promise<{ contentType: string; body: string }> {
    this.#prune();
    const openMetrics = prefersOpenMetrics(accept);
    const writer = (openMetrics ? this.#openMetrics : this.#registry) as Registry & Writer;
    const parts: string[] = [];
    for (const metric of this.#registry.getMetricsAsArray()) {
      // prom-client renames a counter for good when it writes OpenMetrics, so the writer gets a view of it instead
      parts.push(await writer.getMetricsAsString(openMetrics ? viewOf(metric) : metric));
      // thousands of series take a while; sockets are served in between
      await new Promise((resolve) => setImmediate(resolve));
    }
    return {
      contentType: writer.contentType,
      body: openMetrics ? `${parts.join('\n')}\n# EOF\n` : `${parts.join('\n\n')}\n`,
    };
  }
}

const COUNT_OF = { late: 'late', duplicate: 'duplicates', missing: 'missing', gap: 'gaps' } as const;

const feedKey = (stream: string, tracker: string | null) => seriesKey(stream, tracker ?? '', '');

const add = (counts: Map<string, number>, key: string, count = 1) => counts.set(key, (counts.get(key) ?? 0) + count);

/** Label values come from closed lists. */
const knownCode = (code: string) =>
  Object.hasOwn(REJECT_CODES, code) || Object.hasOwn(HTTP_CODES, code) ? code : 'other';

/** A method of prom-client that its types leave out. */
interface Writer {
  getMetricsAsString(metric: object): Promise<string>;
}

interface Readable {
  name: string;
  type: string;
  get(): Promise<{ name: string }>;
  getForPromString?(): Promise<{ name: string }>;
}

/** A metric under the name OpenMetrics wants: that of a counter family has no _total. */
function viewOf(metric: object): object {
  const original = metric as Readable;
  const name = original.type === 'counter' ? original.name.replace(/_total$/, '') : original.name;
  const read = async () => ({
    ...(await (original.getForPromString ? original.getForPromString() : original.get())),
    name,
  });
  return { get: read };
}

/** Content negotiation: the supported type with the highest weight; text 0.0.4 when in doubt. */
export function prefersOpenMetrics(accept: string): boolean {
  let best = { weight: 0, openMetrics: false };
  for (const range of accept.split(',')) {
    const [type, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const values = new Map(
      parameters.map((p) => p.split('=').map((part) => part.trim().replace(/^"|"$/g, '')) as [string, string]),
    );
    const version = values.get('version');
    const openMetrics = type === 'application/openmetrics-text' && (version === undefined || version === '1.0.0');
    const text =
      (type === 'text/plain' && (version === undefined || version === '0.0.4')) || type === 'text/*' || type === '*/*';
    const weight = Number(values.get('q') ?? 1);
    if ((openMetrics || text) && weight > best.weight) best = { weight, openMetrics };
  }
  return best.openMetrics;
}
