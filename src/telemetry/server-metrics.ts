/**
 * The metrics of the program as a whole: how fast it is, its connections, subscribers, notifications, log and build.
 */
import { type Sample, type Scrape, type Spec, type StorageGauges, single } from './spec.js';

const RESULTS = ['sent', 'failed', 'dropped'] as const;

function* perReceiver({ surroundings }: Scrape): Iterable<Sample> {
  for (const [receiver, counts] of surroundings.notifications())
    for (const result of RESULTS) yield [{ receiver, result }, counts[result]];
}

const stored = (value: (storage: StorageGauges) => number | undefined) =>
  single(({ surroundings }) => value(surroundings.storage()));

export const SERVER_METRICS: readonly Spec[] = [
  {
    name: 'tgospa_frame_latency_seconds',
    type: 'histogram',
    labels: [],
    help: 'Time from the arrival of the last data of a frame, or from the end of the wait for it, to its report.',
    histogram: ({ latency }) => latency,
  },
  {
    name: 'tgospa_solve_duration_seconds',
    type: 'histogram',
    labels: [],
    help: 'Time to update one window.',
    histogram: ({ solve }) => solve,
  },
  {
    name: 'tgospa_streams',
    type: 'gauge',
    labels: [],
    help: 'Streams in memory.',
    read: single(({ surroundings }) => surroundings.streams().length),
  },
  {
    name: 'tgospa_records_failed_total',
    type: 'counter',
    labels: ['stream'],
    help: 'Records of a stream that could not be evaluated and were set aside, since the process started.',
    read: ({ meters, surroundings }) =>
      surroundings.streams().map((stream): Sample => [{ stream }, meters.failedRecords.get(stream) ?? 0]),
  },
  {
    name: 'tgospa_stream_suspended',
    type: 'gauge',
    labels: ['stream'],
    help: '1 for a stream that is suspended until the next start because its records failed repeatedly.',
    read: ({ surroundings }) => surroundings.suspended().map((stream): Sample => [{ stream }, 1]),
  },
  {
    name: 'tgospa_stream_resuming',
    type: 'gauge',
    labels: ['stream'],
    help: '1 while a stream waits for feeds to reconnect, after a lost connection or a restart; meanwhile, no feed counts as late or silent.',
    read: ({ surroundings }) => {
      const resuming = surroundings.resuming();
      return surroundings.streams().map((stream): Sample => [{ stream }, resuming.includes(stream) ? 1 : 0]);
    },
  },
  {
    name: 'tgospa_clock_jumps_total',
    type: 'counter',
    labels: [],
    help: 'Times the wall clock of the machine jumped by more than 2 s; durations are not affected.',
    read: single(({ meters }) => meters.counts.clockJumps),
  },
  {
    name: 'tgospa_series',
    type: 'gauge',
    labels: [],
    help: 'Exported combinations of stream, tracker and profile.',
    read: single(({ meters }) => meters.series.size),
  },
  {
    name: 'tgospa_series_overflow_total',
    type: 'counter',
    labels: [],
    help: 'Reports that were not exported because limits.series was reached.',
    read: single(({ meters }) => meters.counts.overflow),
  },
  {
    name: 'tgospa_connections',
    type: 'gauge',
    labels: ['endpoint'],
    help: 'Open WebSocket connections, by endpoint (ingest, live).',
    read: ({ surroundings }) =>
      Object.entries(surroundings.connections()).map(([endpoint, count]): Sample => [{ endpoint }, count]),
  },
  {
    name: 'tgospa_connections_refused_total',
    type: 'counter',
    labels: ['reason'],
    help: 'Refused requests, connections and hellos, by code; streams_exceeded and trackers_exceeded mean that a limit on streams or trackers was reached.',
    read: ({ meters }) => [...meters.refusals].map(([reason, count]): Sample => [{ reason }, count]),
  },
  {
    name: 'tgospa_faults_total',
    type: 'counter',
    labels: ['place'],
    help: 'Internal errors while handling a message, request, upgrade or event, by place; the log has the details.',
    read: ({ meters }) => Object.entries(meters.faults).map(([place, count]): Sample => [{ place }, count]),
  },
  {
    name: 'tgospa_ingest_waiting_frames',
    type: 'gauge',
    labels: [],
    help: 'Frames received but not stored yet.',
    read: single(({ surroundings }) => surroundings.waitingFrames()),
  },
  {
    name: 'tgospa_ingest_paused_connections',
    type: 'gauge',
    labels: [],
    help: 'Connections that are currently not read from, for example because of credit, rate or a full disk.',
    read: single(({ surroundings }) => surroundings.pausedConnections()),
  },
  {
    name: 'tgospa_ingest_pauses_total',
    type: 'counter',
    labels: [],
    help: 'Times a connection was paused.',
    read: single(({ meters }) => meters.counts.pauses),
  },
  {
    name: 'tgospa_live_reports_coalesced_total',
    type: 'counter',
    labels: [],
    help: 'Reports that subscribers did not get because they read too slowly.',
    read: single(({ meters }) => meters.counts.coalesced),
  },
  {
    name: 'tgospa_live_slow_closed_total',
    type: 'counter',
    labels: [],
    help: 'Subscribers that were disconnected because they were far too slow.',
    read: single(({ meters }) => meters.counts.slowClosed),
  },
  {
    name: 'tgospa_notifications_total',
    type: 'counter',
    labels: ['receiver', 'result'],
    help: 'Deliveries of alerts to a receiver of the section notify, by result (sent, failed, dropped); a failed one is retried, unless the receiver refused it.',
    read: perReceiver,
  },
  {
    name: 'tgospa_notifications_waiting',
    type: 'gauge',
    labels: ['receiver'],
    help: 'Alerts that a receiver has not accepted yet.',
    read: ({ surroundings }) =>
      surroundings.notifications().map(([receiver, counts]): Sample => [{ receiver }, counts.waiting]),
  },
];

export const LOG_METRICS: readonly Spec[] = [
  {
    name: 'tgospa_log_bytes',
    type: 'gauge',
    labels: [],
    help: 'Size of the log on disk.',
    read: stored((storage) => storage.bytes),
  },
  {
    name: 'tgospa_log_queued_records',
    type: 'gauge',
    labels: [],
    help: 'Log records waiting for the next group commit.',
    read: stored((storage) => storage.queuedRecords),
  },
  {
    name: 'tgospa_log_commits_total',
    type: 'counter',
    labels: [],
    help: 'Group commits since the process started.',
    read: stored((storage) => storage.commits),
  },
  {
    name: 'tgospa_log_faults_total',
    type: 'counter',
    labels: [],
    help: 'Commits that failed, for example because the disk was full.',
    read: stored((storage) => storage.faults),
  },
  {
    name: 'tgospa_store_damaged_places',
    type: 'gauge',
    labels: [],
    help: 'Damaged places found in the store since the process started; /readyz and the log say what is lost.',
    read: stored((storage) => storage.damagedPlaces),
  },
  {
    name: 'tgospa_log_backlog_records',
    type: 'gauge',
    labels: [],
    help: 'Log records that are on disk but not evaluated yet.',
    read: stored((storage) => storage.backlogRecords),
  },
  {
    name: 'tgospa_heavy_streams',
    type: 'gauge',
    labels: [],
    help: 'Streams whose solves need more work than evaluation.heavyMs; those of one thread share a limited part of its time.',
    read: stored((storage) => storage.heavyStreams),
  },
  {
    name: 'tgospa_log_last_commit_seconds',
    type: 'gauge',
    labels: [],
    help: 'Duration of the last group commit, including the flush to disk.',
    read: stored((storage) => storage.commitMs / 1000),
  },
  {
    name: 'tgospa_log_oldest_record_timestamp_seconds',
    type: 'gauge',
    labels: [],
    help: 'When the oldest record in the log was written, in seconds since 1970; absent when the log is empty.',
    read: stored((storage) => storage.oldestMs / 1000 || undefined),
  },
  {
    name: 'tgospa_disk_free_bytes',
    type: 'gauge',
    labels: [],
    help: 'Free space on the disk that holds the data folder.',
    read: stored((storage) => storage.freeBytes),
  },
  {
    name: 'tgospa_disk_needed_bytes',
    type: 'gauge',
    labels: [],
    help: 'Space that must stay free there; with less, nothing is stored or acknowledged.',
    read: stored((storage) => storage.neededBytes),
  },
];

export const PROGRAM_METRICS: readonly Spec[] = [
  {
    name: 'tgospa_ready',
    type: 'gauge',
    labels: [],
    help: '1 when /readyz says ready.',
    read: single(({ surroundings }) => Number(surroundings.ready())),
  },
  {
    name: 'tgospa_build_info',
    type: 'gauge',
    labels: ['version', 'node'],
    help: 'Always 1; the labels give the versions of the program and of Node.',
    read: ({ build }) => [[build, 1]],
  },
];
