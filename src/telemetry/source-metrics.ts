/** The metrics of pull sources. */
import { SOURCE_REJECTS, type SourceMeter } from './source-meters.js';
import type { Sample, Sampled, Scrape } from './spec.js';

const LABELS = ['source', 'kind'];

const perSource = (value: (meter: SourceMeter) => number | undefined) =>
  function* ({ meters }: Scrape): Iterable<Sample> {
    for (const meter of meters.sources.values()) {
      const sample = value(meter);
      if (sample !== undefined) yield [{ source: meter.source, kind: meter.kind }, sample];
    }
  };

export const SOURCE_METRICS: readonly Sampled[] = [
  {
    name: 'tgospa_source_connected',
    type: 'gauge',
    labels: LABELS,
    help: '1 while a pull source is connected to its broker, robot or file.',
    read: perSource((meter) => Number(meter.connected)),
  },
  {
    name: 'tgospa_source_refused',
    type: 'gauge',
    labels: LABELS,
    help: '1 when a feed of a pull source was permanently refused; the log says why.',
    read: perSource((meter) => Number(meter.refused)),
  },
  {
    name: 'tgospa_source_messages_total',
    type: 'counter',
    labels: LABELS,
    help: 'Messages received from a pull source.',
    read: perSource((meter) => meter.messages),
  },
  {
    name: 'tgospa_source_bytes_total',
    type: 'counter',
    labels: LABELS,
    help: 'Bytes of the messages received from a pull source.',
    read: perSource((meter) => meter.bytes),
  },
  {
    name: 'tgospa_source_waiting_messages',
    type: 'gauge',
    labels: LABELS,
    help: 'Messages of a pull source that are received but not stored yet.',
    read: perSource((meter) => meter.waiting()),
  },
  {
    name: 'tgospa_source_faults_total',
    type: 'counter',
    labels: LABELS,
    help: 'Connections of a pull source that failed or were lost.',
    read: perSource((meter) => meter.faults),
  },
  {
    name: 'tgospa_source_rejected_total',
    type: 'counter',
    labels: [...LABELS, 'reason'],
    help: `Messages of a pull source discarded before they reached a feed, by reason (${SOURCE_REJECTS.join(', ')}); messages that a feed rejects are counted in tgospa_frames_rejected_total.`,
    read: ({ meters }) =>
      [...meters.sources.values()].flatMap(({ source, kind, rejects }) =>
        SOURCE_REJECTS.map((reason): Sample => [{ source, kind, reason }, rejects[reason]]),
      ),
  },
  {
    name: 'tgospa_source_last_message_timestamp_seconds',
    type: 'gauge',
    labels: LABELS,
    help: 'When the last message of a pull source arrived, in seconds since 1970; absent before the first one.',
    read: perSource((meter) => meter.lastMs / 1000 || undefined),
  },
];
