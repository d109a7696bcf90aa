/** What is counted about pull sources, and how it is told on /metrics. A message touches plain numbers only. */

export type SourceKind = 'mqtt' | 'rosbridge' | 'tail';

/** Why a message of a source was given up before it reached a feed. */
export const SOURCE_REJECTS = ['payload_too_large', 'message_invalid'] as const;
export type SourceReject = (typeof SOURCE_REJECTS)[number];

/** One source. */
export interface SourceMeter {
  source: string;
  kind: SourceKind;
  connected: boolean;
  /** a feed of it was refused for good: the log says why */
  refused: boolean;
  messages: number;
  bytes: number;
  /** connections that were lost or could not be made */
  faults: number;
  rejects: Record<SourceReject, number>;
  lastMs: number;
  /** messages taken and not stored yet */
  waiting: () => number;
}

export const newSourceMeter = (source: string, kind: SourceKind): SourceMeter => ({
  source,
  kind,
  connected: false,
  refused: false,
  messages: 0,
  bytes: 0,
  faults: 0,
  rejects: { payload_too_large: 0, message_invalid: 0 },
  lastMs: 0,
  waiting: () => 0,
});

type Sample = [labels: Record<string, string>, value: number];

interface SourceSpec {
  name: string;
  type: 'gauge' | 'counter';
  labels: string[];
  help: string;
  read: (meters: Iterable<SourceMeter>) => Sample[];
}

const each =
  (value: (meter: SourceMeter) => number | undefined) =>
  (meters: Iterable<SourceMeter>): Sample[] =>
    [...meters].flatMap((meter): Sample[] => {
      const number = value(meter);
      return number === undefined ? [] : [[{ source: meter.source, kind: meter.kind }, number]];
    });

const LABELS = ['source', 'kind'];

export const SOURCE_METRICS: readonly SourceSpec[] = [
  {
    name: 'tgospa_source_connected',
    type: 'gauge',
    labels: LABELS,
    help: '1 while a pull source is connected: to its broker, its robot, or its file.',
    read: each((meter) => Number(meter.connected)),
  },
  {
    name: 'tgospa_source_refused',
    type: 'gauge',
    labels: LABELS,
    help: '1 when a feed of a pull source was refused for good; the log says why.',
    read: each((meter) => Number(meter.refused)),
  },
  {
    name: 'tgospa_source_messages_total',
    type: 'counter',
    labels: LABELS,
    help: 'Messages taken from a pull source.',
    read: each((meter) => meter.messages),
  },
  {
    name: 'tgospa_source_bytes_total',
    type: 'counter',
    labels: LABELS,
    help: 'Bytes of the messages taken from a pull source.',
    read: each((meter) => meter.bytes),
  },
  {
    name: 'tgospa_source_waiting_messages',
    type: 'gauge',
    labels: LABELS,
    help: 'Messages of a pull source that are taken and not stored yet.',
    read: each((meter) => meter.waiting()),
  },
  {
    name: 'tgospa_source_faults_total',
    type: 'counter',
    labels: LABELS,
    help: 'Connections of a pull source that were lost or could not be made.',
    read: each((meter) => meter.faults),
  },
  {
    name: 'tgospa_source_rejected_total',
    type: 'counter',
    labels: [...LABELS, 'reason'],
    help: 'Messages of a pull source given up before they reached a feed, by reason (payload_too_large, message_invalid); what a feed refuses is in tgospa_frames_rejected_total.',
    read: (meters) =>
      [...meters].flatMap(({ source, kind, rejects }) =>
        SOURCE_REJECTS.map((reason): Sample => [{ source, kind, reason }, rejects[reason]]),
      ),
  },
  {
    name: 'tgospa_source_last_message_timestamp_seconds',
    type: 'gauge',
    labels: LABELS,
    help: 'When the last message of a pull source came, in seconds since 1970; absent before the first one.',
    read: each((meter) => meter.lastMs / 1000 || undefined),
  },
];
