/**
 * Meters on their way from one thread to another, and added up: what every core has counted, as if one had. Series and
 * feeds belong to one core each; everything else is a sum.
 */
import { gaugesOf, readingOf, sentNumbers } from '../stream/sent-event.js';
import type { ObservedCounts } from '../telemetry/histogram.js';
import { type FeedMeter, Meters, type SeriesMeter } from '../telemetry/meters.js';

type SentSeries = Omit<SeriesMeter, 'spikes'> & { gauges: ReturnType<typeof gaugesOf> | null };

/** Everything of a Meters but its sources, which are where the sockets are. */
export interface MeterReadings extends MeterSums {
  series: Array<[string, SentSeries]>;
  feeds: Array<[string, FeedMeter]>;
  failedRecords: Map<string, number>;
}

/** What is counted for a whole core. */
export interface MeterSums {
  refusals: Map<string, number>;
  faults: Meters['faults'];
  counts: Meters['counts'];
  latency: ObservedCounts;
  solve: ObservedCounts;
}

export function readMeters(meters: Meters): MeterReadings {
  const series = [...meters.series].map(([key, { spikes, report, ...rest }]): [string, SentSeries] => [
    key,
    { ...rest, report: countedOf(report), gauges: spikes ? gaugesOf(spikes) : null },
  ]);
  return { ...sumsOf(meters), series, feeds: [...meters.feeds], failedRecords: meters.failedRecords };
}

/** What is counted of a report: who was assigned to whom is worked out for those who ask for it. */
function countedOf(report: SeriesMeter['report']): SeriesMeter['report'] {
  const { cost, count } = report.newest;
  return { ...sentNumbers(report), newest: { cost, count, assignment: [] } };
}

function sumsOf({ refusals, faults, counts, latency, solve }: Meters): MeterSums {
  return { refusals, faults, counts, latency: latency.observed(), solve: solve.observed() };
}

export function addMeters(meters: Meters, readings: MeterReadings): void {
  addSums(meters, readings);
  for (const [key, { gauges, ...rest }] of readings.series)
    if (meters.series.size < meters.seriesMax)
      meters.series.set(key, { ...rest, spikes: gauges ? readingOf(gauges) : undefined });
    else meters.counts.overflow += rest.solves;
  for (const [key, feed] of readings.feeds) meters.feeds.set(key, feed);
  for (const [stream, count] of readings.failedRecords) meters.failedRecords.set(stream, count);
}

export function addSums(meters: Meters, { refusals, faults, counts, latency, solve }: MeterSums): void {
  for (const [code, count] of refusals) meters.refusals.set(code, (meters.refusals.get(code) ?? 0) + count);
  addEach(meters.faults, faults);
  addEach(meters.counts, counts);
  meters.latency.add(latency);
  meters.solve.add(solve);
}

/** Nothing was counted. */
export const NO_SUMS: MeterSums = sumsOf(new Meters(0));

/** What a worker has counted of its feeds and series, behind what those before it had. */
export function goOn(
  now: MeterReadings,
  before: MeterReadings | undefined,
  isThere: (stream: string) => boolean,
): MeterReadings {
  if (!before) return now;
  const series = new Map(before.series);
  const feeds = new Map(before.feeds.filter(([, { feed }]) => isThere(feed.stream)));
  for (const [key, feed] of now.feeds) feeds.set(key, addFeed(feed, feeds.get(key)));
  return { ...now, feeds: [...feeds], series: now.series.map(([key, own]) => [key, addSeries(own, series.get(key))]) };
}

/** Without what was counted of a stream that is gone: it may come back as another one. */
export function withoutStream(readings: MeterReadings, stream: string): MeterReadings {
  const failedRecords = new Map(readings.failedRecords);
  failedRecords.delete(stream);
  return {
    ...readings,
    failedRecords,
    feeds: readings.feeds.filter(([, { feed }]) => feed.stream !== stream),
    series: readings.series.filter(([, { labels }]) => labels.stream !== stream),
  };
}

function addSeries(now: SentSeries, before?: SentSeries): SentSeries {
  if (!before) return now;
  const { solves, uncertified, judged } = before;
  return {
    ...now,
    solves: now.solves + solves,
    uncertified: now.uncertified + uncertified,
    judged: now.judged + judged,
  };
}

function addFeed(now: FeedMeter, before?: FeedMeter): FeedMeter {
  if (!before) return now;
  const sum = { ...now, lastReceivedMs: Math.max(now.lastReceivedMs, before.lastReceivedMs) };
  for (const key of ['frames', 'objects', 'duplicates', 'late', 'missing', 'gaps'] as const) sum[key] += before[key];
  for (const key of ['rejected', 'skipped'] as const) {
    sum[key] = new Map(before[key]);
    for (const [code, count] of now[key]) sum[key].set(code, (sum[key].get(code) ?? 0) + count);
  }
  return sum;
}

function addEach<K extends string>(sums: Record<K, number>, more: Record<K, number>): void {
  for (const [key, count] of Object.entries(more) as Array<[K, number]>) sums[key] += count;
}
