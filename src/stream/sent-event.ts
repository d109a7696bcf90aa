/**
 * Events on their way from one thread to another: a report without its detector, of which only the readings can be
 * sent, and without its frames but the newest.
 */
import { type LiveEvent, type ReportEvent, type SpikeReading, summarize } from '../wire/events.js';

type Gauges = Record<string, ReturnType<SpikeReading['gauge']>>;

/** An event without what cannot leave its thread. */
export type SentEvent = Exclude<LiveEvent, ReportEvent> | SentReport;
export type SentReport = Omit<Extract<LiveEvent, ReportEvent>, 'spikes'> & { gauges?: Gauges };

export const sentEvent = (event: LiveEvent): SentEvent => (event.type === 'report' ? sentReport(event) : event);

export function sentReport({ spikes, report, ...event }: ReportEvent): SentReport {
  const plain = { ...event, report: sentNumbers(report) };
  return spikes ? { ...plain, gauges: gaugesOf(spikes) } : plain;
}

/** What a report says, as plain data. */
export function sentNumbers(report: ReportEvent['report']) {
  const { frame, newest, settled, lifetime, events } = report;
  return { ...summarize(report), frame, newest, settled, lifetime, events };
}

export const gaugesOf = (spikes: SpikeReading): Gauges =>
  Object.fromEntries(spikes.signals.map((signal) => [signal, spikes.gauge(signal)]));

export const readingOf = (gauges: Gauges): SpikeReading => ({
  signals: Object.keys(gauges),
  gauge: (signal) => gauges[signal],
});

export function receivedEvent(event: SentEvent): LiveEvent {
  if (event.type !== 'report' || !event.gauges) return event as LiveEvent;
  const { gauges, ...rest } = event;
  return { ...rest, spikes: readingOf(gauges) };
}
