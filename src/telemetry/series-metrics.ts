/** The metrics of a series (stream, tracker, profile): its window, what is settled, its spikes, scores and audits. */
import { type Audit, COMPONENTS, type Count } from '../metric/evaluation.js';
import type { ClassTotal, SpikeReading } from '../wire/events.js';
import type { IncidentSignal } from '../wire/incidents.js';
import { seriesKey } from '../wire/series-key.js';
import type { SeriesMeter } from './meters.js';
import type { Sample, Sampled, Scrape } from './spec.js';

const SERIES = ['stream', 'tracker', 'profile'];
const KINDS = ['proper', 'missed', 'false'] as const;

const perSeries = (value: (meter: SeriesMeter) => number) =>
  function* ({ meters }: Scrape): Iterable<Sample> {
    for (const meter of meters.series.values()) yield [meter.labels, value(meter)];
  };

const perSeriesAnd = <K extends string>(
  label: string,
  keys: readonly K[],
  value: (meter: SeriesMeter, key: K) => number | undefined,
) =>
  function* ({ meters }: Scrape): Iterable<Sample> {
    for (const meter of meters.series.values()) {
      for (const key of keys) {
        const sample = value(meter, key);
        if (sample !== undefined) yield [{ ...meter.labels, [label]: key }, sample];
      }
    }
  };

const perAudit = (value: (audit: Audit) => number) =>
  function* ({ meters }: Scrape): Iterable<Sample> {
    for (const { labels, report } of meters.series.values()) if (report.audit) yield [labels, value(report.audit)];
  };

const perSignal = (value: (gauge: ReturnType<SpikeReading['gauge']>) => number) =>
  function* ({ meters }: Scrape): Iterable<Sample> {
    for (const { labels, spikes } of meters.series.values())
      for (const signal of spikes?.signals ?? []) yield [{ ...labels, signal }, value(spikes!.gauge(signal))];
  };

function* falseTracks({ meters }: Scrape): Iterable<Sample> {
  for (const { labels, spikes } of meters.series.values())
    if (spikes?.signals.includes('false')) yield [labels, spikes.gauge('false').begun];
}

/** Of every signal, and of those of incidents whose tracker is gone: its spikes are not over. */
const perSpike = (
  value: (gauge: ReturnType<SpikeReading['gauge']>) => boolean,
  retired: (signal: IncidentSignal) => boolean,
) =>
  function* (scrape: Scrape): Iterable<Sample> {
    yield* perSignal((gauge) => Number(value(gauge)))(scrape);
    for (const { stream, tracker, profile, signals } of scrape.surroundings.incidents()) {
      if (scrape.meters.series.has(seriesKey(stream, tracker, profile))) continue;
      for (const one of signals)
        if (COMPONENTS.some((name) => name === one.signal))
          yield [{ stream, tracker, profile, signal: one.signal }, Number(retired(one))];
    }
  };

function* objectives({ surroundings }: Scrape): Iterable<Sample> {
  for (const { stream, objective, value } of surroundings.objectives()) yield [{ stream, objective }, value];
}

function* openIncidents({ surroundings }: Scrape): Iterable<Sample> {
  for (const { stream, tracker, profile, cause, severity, lasting } of surroundings.incidents())
    yield [{ stream, tracker, profile, cause, severity, lasting: lasting ?? '' }, 1];
}

/** Scores belong to a tracker, whatever profiles it is judged under. */
function* perScore({ meters }: Scrape): Iterable<Sample> {
  const seen = new Set<string>();
  for (const { labels, scores } of meters.series.values()) {
    const { stream, tracker } = labels;
    const key = `${stream}\n${tracker}`;
    if (!scores || seen.has(key)) continue;
    seen.add(key);
    for (const [score, value] of Object.entries(scores.values)) yield [{ stream, tracker, score }, value];
  }
}

function* notJudged({ meters }: Scrape): Iterable<Sample> {
  for (const { labels, notJudged: counts } of meters.series.values())
    for (const role of ['reference', 'tracker'] as const)
      for (const [reason, count] of Object.entries(counts?.[role] ?? {})) yield [{ ...labels, role, reason }, count];
}

const perClass = <K extends string>(
  label: string | null,
  keys: readonly K[],
  value: (total: ClassTotal, key: K) => number,
) =>
  function* ({ meters }: Scrape): Iterable<Sample> {
    for (const { labels, classes } of meters.series.values())
      for (const [name, total] of Object.entries(classes ?? {}))
        for (const key of keys)
          yield [{ ...labels, class: name, ...(label === null ? {} : { [label]: key }) }, value(total, key)];
  };

const settled = (key: keyof Count) => perSeries((meter) => meter.report.settled.count[key]);

/** A mean over no pairs is 0: nothing was off. */
const finite = (value: number) => (Number.isFinite(value) ? value : 0);

export const SERIES_METRICS: readonly Sampled[] = [
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
    help: 'Cost of the sliding window, by component (localization, missed, false, switch). Costs are p-th powers; their sum is the p-th power of the distance.',
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
    name: 'tgospa_objects_not_judged_total',
    type: 'counter',
    labels: [...SERIES, 'role', 'reason'],
    help: "Objects that could count neither as missed nor as false, by reason: outside the coverage (outside), in an ignored region (ignored), don't-care (dont_care), unknown to a reference that sees only transponders (unequipped), or in a gap between two reports (gap).",
    read: notJudged,
  },
  {
    name: 'tgospa_window_switches',
    type: 'gauge',
    labels: SERIES,
    help: 'Track switches in the sliding window; gaining or losing a track counts as half a switch.',
    read: perSeries((m) => m.report.count.switches),
  },
  {
    name: 'tgospa_window_localization_error',
    type: 'gauge',
    labels: SERIES,
    help: 'Mean localization error of the proper pairs in the sliding window, in the unit of the distance; 0 when there are no pairs.',
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
    help: 'Relative gap between the reported cost and its proven lower bound; 0 when the cost is proven exact.',
    read: perSeries((m) => finite(m.report.gap)),
  },
  {
    name: 'tgospa_window_certified',
    type: 'gauge',
    labels: SERIES,
    help: '1 when the values of the window and the newest frame are proven; 0 when they are only the best found within the time budget, in which case nothing is settled.',
    read: perSeries((m) => Number(m.report.exact)),
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
    name: 'tgospa_frames_uncertified_total',
    type: 'counter',
    labels: SERIES,
    help: 'Frames that were never judged because their window was not proven when they were due to settle; no other counter includes them.',
    read: perSeries((m) => m.report.settled.uncertified ?? 0),
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
    help: 'Track switches in settled frames; gaining or losing a track counts as half a switch.',
    read: settled('switches'),
  },
  {
    name: 'tgospa_class_instances_total',
    type: 'counter',
    labels: [...SERIES, 'class', 'kind'],
    help: 'Proper pairs, missed truths and false tracks in settled frames, by class and kind. The class is none for objects without one, and other beyond classes.namesMax. All metrics by class are absent unless classes.apart is set.',
    read: perClass('kind', KINDS, ({ count }, key) => count[key]),
  },
  {
    name: 'tgospa_class_switches_total',
    type: 'counter',
    labels: [...SERIES, 'class'],
    help: 'Track switches in settled frames, by the class of the truth.',
    read: perClass(null, ['switches'] as const, ({ count }) => count.switches),
  },
  {
    name: 'tgospa_class_cost_total',
    type: 'counter',
    labels: [...SERIES, 'class', 'component'],
    help: 'Cost of settled frames (a p-th power), by class and component (localization, missed, false, switch).',
    read: perClass('component', COMPONENTS, ({ cost }, key) => cost[key]),
  },
  {
    name: 'tgospa_lifetime_cost',
    type: 'gauge',
    labels: [...SERIES, 'bound'],
    help: 'Lower and upper bound on the cost of the whole stream so far (a p-th power); absent when frames are weighted by age.',
    read: perSeriesAnd('bound', ['lower', 'upper'] as const, (m, key) => m.report.lifetime?.[key]),
  },
  {
    name: 'tgospa_frames_judged_total',
    type: 'counter',
    ofProcess: true,
    labels: SERIES,
    help: 'Frames judged since the process started; compare with tgospa_feed_frames_total of the tracker.',
    read: perSeries((m) => m.judged),
  },
  {
    name: 'tgospa_solves_total',
    type: 'counter',
    ofProcess: true,
    labels: SERIES,
    help: 'Window reports since the process started.',
    read: perSeries((m) => m.solves),
  },
  {
    name: 'tgospa_solves_uncertified_total',
    type: 'counter',
    ofProcess: true,
    labels: SERIES,
    help: 'Window reports since the process started whose cost was not proven to within a millionth.',
    read: perSeries((m) => m.uncertified),
  },
  {
    name: 'tgospa_spike_active',
    type: 'gauge',
    labels: [...SERIES, 'signal'],
    help: '1 during a spike, that is, while a signal (missed, false, switch, localization) is worse than usual.',
    read: perSpike(
      ({ active }) => active,
      ({ over }) => !over,
    ),
  },
  {
    name: 'tgospa_spike_certain',
    type: 'gauge',
    labels: [...SERIES, 'signal'],
    help: '1 during a spike that is beyond doubt: its evidence reached 1.5 times the threshold, or the level is bad regardless of what is usual.',
    read: perSpike(
      ({ certain }) => certain,
      ({ over, certain }) => !over && certain === true,
    ),
  },
  {
    name: 'tgospa_incident_open',
    type: 'gauge',
    labels: [...SERIES, 'cause', 'severity', 'lasting'],
    help: '1 while something is wrong with a series, by likeliest cause and severity. The label lasting is adopted once the bad level has been learned as usual, retired once the tracker is gone, and empty otherwise.',
    read: openIncidents,
  },
  {
    name: 'tgospa_objective',
    type: 'gauge',
    labels: ['stream', 'objective'],
    help: 'The objectives of a stream (miss_ratio, false_per_minute, switches_per_object_hour), where its settings have any.',
    read: objectives,
  },
  {
    name: 'tgospa_spikes_total',
    type: 'counter',
    labels: [...SERIES, 'signal'],
    help: 'Spikes that have started, by signal.',
    read: perSignal((gauge) => gauge.count),
  },
  {
    name: 'tgospa_false_tracks_total',
    type: 'counter',
    labels: SERIES,
    help: 'False tracks that have started, not counting tracks that merely outlive their object for a moment; absent unless the detector watches false tracks.',
    read: falseTracks,
  },
  {
    name: 'tgospa_spike_score',
    type: 'gauge',
    labels: [...SERIES, 'signal'],
    help: 'Evidence that a signal has got worse, relative to its threshold; a spike starts at 1.',
    read: perSignal((gauge) => gauge.score),
  },
  {
    name: 'tgospa_spike_expected_rate',
    type: 'gauge',
    labels: [...SERIES, 'signal'],
    help: 'The usual level, as learned: missed truths, false tracks or switches per frame with the current number of truths; for localization, the mean error.',
    read: perSignal((gauge) => gauge.expected),
  },
  {
    name: 'tgospa_spike_observed_rate',
    type: 'gauge',
    labels: [...SERIES, 'signal'],
    help: 'The level over the last frames, in the same units.',
    read: perSignal((gauge) => gauge.observed),
  },
  {
    name: 'tgospa_window_score',
    type: 'gauge',
    labels: ['stream', 'tracker', 'score'],
    help: 'Companion scores of the sliding window: HOTA, MOTA, IDF1 and their parts (ratios), IDSW, Frag, MT, PT, ML (counts); absent unless scores.enabled is set.',
    read: perScore,
  },
  {
    name: 'tgospa_audits_total',
    type: 'counter',
    labels: SERIES,
    help: 'Windows that were solved a second time by another engine; absent unless evaluation.auditEvery is set.',
    read: perAudit((audit) => audit.checked),
  },
  {
    name: 'tgospa_audit_disagreements_total',
    type: 'counter',
    labels: SERIES,
    help: 'Audited windows on which the engines disagreed; anything but 0 is a bug in this program.',
    read: perAudit((audit) => audit.disagreements),
  },
];
