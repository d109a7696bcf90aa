/**
 * The numbers of surveillance of a series, over its last settled frames; absent unless streams.*.performance.enabled.
 * What is a time is absent while frames have none. At most three axes of a bias are shown, however many points have.
 */
import type { PerformanceReading } from '../wire/events.js';
import type { Sample, Sampled, Scrape } from './spec.js';

const SERIES = ['stream', 'tracker', 'profile'];
const AXES = ['0', '1', '2'] as const;
const UNIT = 'in the unit of the coordinates, metres for latitude and longitude';

type Read = (reading: PerformanceReading) => number | null | undefined;

const perReading = (value: Read) =>
  function* ({ meters }: Scrape): Iterable<Sample> {
    for (const { labels, performance } of meters.series.values()) {
      const sample = performance && value(performance);
      if (typeof sample === 'number') yield [labels, sample];
    }
  };

const perReadingAnd = (label: string, reads: Readonly<Record<string, Read>>) =>
  function* (scrape: Scrape): Iterable<Sample> {
    for (const [key, value] of Object.entries(reads))
      for (const [labels, sample] of perReading(value)(scrape)) yield [{ ...labels, [label]: key }, sample];
  };

/** Only where times are seconds. */
const timed =
  (value: Read): Read =>
  (reading) =>
    reading.timed ? value(reading) : null;

const perAxis = (value: (latency: NonNullable<PerformanceReading['latency']>) => number[]) =>
  perReadingAnd(
    'axis',
    Object.fromEntries(AXES.map((axis, d) => [axis, (one) => one.latency && value(one.latency)[d]])),
  );

export const PERFORMANCE_METRICS: readonly Sampled[] = [
  {
    name: 'tgospa_detection_probability',
    type: 'gauge',
    labels: SERIES,
    help: 'Probability of detection (PD) or update (PU): share of judged truths that had a track, over the last settled frames (performance.spanFrames). This and the following metrics are absent unless performance.enabled is set.',
    read: perReading((one) => one.detectionProbability),
  },
  {
    name: 'tgospa_detection_probability_standard_error',
    type: 'gauge',
    labels: SERIES,
    help: 'Standard error of the detection probability, taking objects as independent; absent with fewer than three objects.',
    read: perReading((one) => one.detectionProbabilityError),
  },
  {
    name: 'tgospa_siap_ratio',
    type: 'gauge',
    labels: [...SERIES, 'measure'],
    help: 'SIAP measures: completeness and spuriousness (0 to 1), ambiguity (1 or more), longest_segment (time on the longest track, as a share of the time of objects).',
    read: perReadingAnd('measure', {
      completeness: ({ siap }) => siap.completeness,
      spuriousness: ({ siap }) => siap.spuriousness,
      ambiguity: ({ siap }) => siap.ambiguity,
      longest_segment: ({ siap }) => siap.longestSegmentShare,
    }),
  },
  {
    name: 'tgospa_siap_number_changes_per_second',
    type: 'gauge',
    labels: SERIES,
    help: 'SIAP rate of number changes: track changes per second of tracked time; absent when frames have no times.',
    read: perReading(timed(({ siap }) => siap.numberChangeRate)),
  },
  {
    name: 'tgospa_position_error',
    type: 'gauge',
    labels: [...SERIES, 'statistic'],
    help: `Position error of pairs, by statistic: rms and p95; along the path of the truth (positive: ahead) along_mean and along_rms; across it across_mean and across_rms; ${UNIT}.`,
    read: perReadingAnd('statistic', {
      rms: ({ error }) => error?.rms,
      p95: ({ error }) => error?.p95,
      along_mean: ({ error }) => error?.along?.mean,
      along_rms: ({ error }) => error?.along?.rms,
      across_mean: ({ error }) => error?.across?.mean,
      across_rms: ({ error }) => error?.across?.rms,
    }),
  },
  {
    name: 'tgospa_longest_gap_seconds',
    type: 'gauge',
    labels: SERIES,
    help: 'Longest time for which a present object had no track; absent when frames have no times.',
    read: perReading(timed(({ continuity }) => continuity.longestGap)),
  },
  {
    name: 'tgospa_gap_time_ratio',
    type: 'gauge',
    labels: SERIES,
    help: 'Share of the time of objects that was spent in gaps of more than performance.gapSteps frames.',
    read: perReading(({ continuity }) => continuity.gapShare),
  },
  {
    name: 'tgospa_track_changes_per_object_hour',
    type: 'gauge',
    labels: SERIES,
    help: 'Track changes per object and hour; absent when frames have no times.',
    read: perReading(timed(({ continuity }) => continuity.changesPerObjectHour)),
  },
  {
    name: 'tgospa_first_pair_delay_seconds',
    type: 'gauge',
    labels: [...SERIES, 'statistic'],
    help: 'Time from the first frame of an object to its first track, by statistic (mean, max); absent when frames have no times.',
    read: perReadingAnd('statistic', {
      mean: timed(({ continuity }) => continuity.firstPair?.mean),
      max: timed(({ continuity }) => continuity.firstPair?.max),
    }),
  },
  {
    name: 'tgospa_feed_latency_seconds',
    type: 'gauge',
    labels: SERIES,
    help: 'How late the tracks are, estimated from how far they trail moving objects; the cause may be a wrong clock or a slow filter. Negative when they are ahead. Only reported, never corrected; absent when frames have no times or too few objects move.',
    read: perReading(timed(({ latency }) => latency?.latency)),
  },
  {
    name: 'tgospa_feed_latency_standard_error_seconds',
    type: 'gauge',
    labels: SERIES,
    help: 'Standard error of the feed latency, taking objects as independent.',
    read: perReading(timed(({ latency }) => latency?.latencyError)),
  },
  {
    name: 'tgospa_feed_bias',
    type: 'gauge',
    labels: [...SERIES, 'axis'],
    help: `Position error common to all objects once latency is removed, by axis (0 to 2; north, east, up for latitude and longitude); ${UNIT}.`,
    read: perAxis((latency) => latency.bias),
  },
  {
    name: 'tgospa_feed_bias_standard_error',
    type: 'gauge',
    labels: [...SERIES, 'axis'],
    help: 'Standard error of the feed bias, taking objects as independent.',
    read: perAxis((latency) => latency.biasError),
  },
];
