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
    help: 'PD, or PU: share of judged truths that had a track, over the last settled frames (performance.spanFrames); absent unless performance.enabled, as all of these numbers.',
    read: perReading((one) => one.detectionProbability),
  },
  {
    name: 'tgospa_detection_probability_standard_error',
    type: 'gauge',
    labels: SERIES,
    help: 'Standard error of the detection probability, by objects; absent with fewer than three.',
    read: perReading((one) => one.detectionProbabilityError),
  },
  {
    name: 'tgospa_siap_ratio',
    type: 'gauge',
    labels: [...SERIES, 'measure'],
    help: 'SIAP, by measure: completeness, spuriousness (0 to 1), ambiguity (1 and more), longest_segment (share of the time of objects).',
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
    help: 'SIAP rate of number changes: changes of track per second that objects were tracked; absent without times.',
    read: perReading(timed(({ siap }) => siap.numberChangeRate)),
  },
  {
    name: 'tgospa_position_error',
    type: 'gauge',
    labels: [...SERIES, 'statistic'],
    help: `Position error of pairs, by statistic: rms, p95, and along the way of the truth (ahead positive) and across it along_mean, along_rms, across_mean, across_rms; ${UNIT}.`,
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
    help: 'Longest time that an object was there without a track; absent without times.',
    read: perReading(timed(({ continuity }) => continuity.longestGap)),
  },
  {
    name: 'tgospa_gap_time_ratio',
    type: 'gauge',
    labels: SERIES,
    help: 'Share of the time of objects that they were in gaps of more than performance.gapSteps frames.',
    read: perReading(({ continuity }) => continuity.gapShare),
  },
  {
    name: 'tgospa_track_changes_per_object_hour',
    type: 'gauge',
    labels: SERIES,
    help: 'Changes of track per hour of an object; absent without times.',
    read: perReading(timed(({ continuity }) => continuity.changesPerObjectHour)),
  },
  {
    name: 'tgospa_first_pair_delay_seconds',
    type: 'gauge',
    labels: [...SERIES, 'statistic'],
    help: 'Time from the first frame of an object to its first track, by statistic (mean, max); absent without times.',
    read: perReadingAnd('statistic', {
      mean: timed(({ continuity }) => continuity.firstPair?.mean),
      max: timed(({ continuity }) => continuity.firstPair?.max),
    }),
  },
  {
    name: 'tgospa_feed_latency_seconds',
    type: 'gauge',
    labels: SERIES,
    help: 'How late the tracks lie behind the reference, by how far they trail moving objects: a clock that is off, or a slow filter; negative when they are ahead. Shown, never corrected; absent without times, and while too few objects move.',
    read: perReading(timed(({ latency }) => latency?.latency)),
  },
  {
    name: 'tgospa_feed_latency_standard_error_seconds',
    type: 'gauge',
    labels: SERIES,
    help: 'Standard error of the feed latency, by objects.',
    read: perReading(timed(({ latency }) => latency?.latencyError)),
  },
  {
    name: 'tgospa_feed_bias',
    type: 'gauge',
    labels: [...SERIES, 'axis'],
    help: `What of the position error is the same for everybody once latency is taken out, by axis (0 to 2; of latitude and longitude north, east, up); ${UNIT}.`,
    read: perAxis((latency) => latency.bias),
  },
  {
    name: 'tgospa_feed_bias_standard_error',
    type: 'gauge',
    labels: [...SERIES, 'axis'],
    help: 'Standard error of the feed bias, by objects.',
    read: perAxis((latency) => latency.biasError),
  },
];
