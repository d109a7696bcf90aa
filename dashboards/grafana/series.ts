/** One tracker on one stream under one profile: what got worse, when, and whose fault it is. */
import { COLOURS, type Dashboard } from './grafana.js';
import { falseShare, missedShare, ONE, quantile, switchesPerMinute } from './queries.js';

const FEEDS = 'stream="$stream",tracker=~"$tracker|"';

export const series: Dashboard = {
  uid: 'tgospa-series',
  title: 'TGOSPA series',
  description: 'One tracker on one stream under one profile.',
  variables: [
    { name: 'stream', title: 'stream', from: 'tgospa_window_distance', label: 'stream' },
    { name: 'tracker', title: 'tracker', from: 'tgospa_window_distance{stream="$stream"}', label: 'tracker' },
    {
      name: 'profile',
      title: 'profile',
      from: 'tgospa_window_distance{stream="$stream",tracker="$tracker"}',
      label: 'profile',
    },
  ],
  annotations: [
    {
      name: 'Switches',
      expr: `increase(tgospa_switches_total{${ONE}}[$__rate_interval]) > 0`,
      title: 'switch',
      text: '{{tracker}}: objects changed their track; which ones is in /v1/events',
      colour: COLOURS.switch,
    },
    {
      name: 'Spikes',
      expr: `tgospa_spike_active{${ONE}} == 1`,
      title: 'spike: {{signal}}',
      text: 'more than usual, as the spike detection of the evaluator found',
      colour: 'orange',
    },
    {
      name: 'Alerts',
      expr: 'ALERTS{alertstate="firing",stream="$stream",tracker=~"$tracker|"}',
      title: '{{alertname}}',
      text: '{{severity}} {{by}}',
      colour: 'red',
    },
  ],
  guide:
    'Read from the top: **Cost by component** says *what* got worse, **Newest frame** how it is right now, **Feeds** whether frames come at all. ' +
    'If everything broke at once, suspect the feeds or the evaluator before the tracker.',
  rows: [
    {
      title: 'How good',
      panels: [
        number('Distance', 'TGOSPA of the sliding window: 0 is perfect.', `tgospa_window_distance{${ONE}}`),
        number('Missed', 'Share of the objects that have no track.', missedShare(ONE), 'percentunit'),
        number('False', 'Share of the tracks that have no object.', falseShare(ONE), 'percentunit'),
        number(
          'Switches per minute',
          'Identities exchanged or broken; halves are changes to or from no track.',
          switchesPerMinute(ONE),
        ),
        number(
          'Localization error',
          'Mean distance between an object and its track, in the unit of the profile.',
          `tgospa_window_localization_error{${ONE}}`,
        ),
        number('Frames in the window', 'Grows until the window is full.', `tgospa_window_frames{${ONE}}`),
        {
          title: 'Cost by component',
          description: 'What the distance consists of, to the power p, so that it adds up.',
          kind: 'stacked',
          queries: [{ expr: `tgospa_window_cost{${ONE}}`, legend: '{{component}}' }],
          width: 12,
        },
        {
          title: 'Counts in the window',
          description: 'Instances missed and false, and switches, in the sliding window.',
          kind: 'lines',
          queries: [
            { expr: `tgospa_window_instances{${ONE},kind=~"missed|false"}`, legend: '{{kind}}' },
            { expr: `tgospa_window_switches{${ONE}}`, legend: 'switches' },
          ],
          width: 12,
        },
        {
          title: 'Newest frame',
          description: 'Objects found, objects missed and false tracks at this moment: the fastest sign of trouble.',
          kind: 'stacked',
          queries: [{ expr: `tgospa_frame_instances{${ONE}}`, legend: '{{kind}}' }],
        },
        {
          title: 'Shares',
          description: 'Missed of all objects, and false of all tracks, in settled frames.',
          kind: 'lines',
          queries: [
            { expr: missedShare(ONE), legend: 'missed' },
            { expr: falseShare(ONE), legend: 'false' },
          ],
          unit: 'percentunit',
        },
        {
          title: 'Switches',
          description: 'Switches per minute in settled frames. Which objects: /v1/events.',
          kind: 'bars',
          queries: [{ expr: switchesPerMinute(ONE), legend: 'switches' }],
        },
        {
          title: 'Localization error',
          description:
            'Mean distance between an object and its track. A step: something was moved. A slope: something drifts.',
          kind: 'lines',
          queries: [{ expr: `tgospa_window_localization_error{${ONE}}`, legend: 'localization' }],
        },
        {
          title: 'Distance',
          description: 'TGOSPA of the sliding window.',
          kind: 'lines',
          queries: [{ expr: `tgospa_window_distance{${ONE}}`, legend: 'distance' }],
        },
        {
          title: 'Whole stream',
          description: 'Bounds of the cost of the stream since its beginning, to the power p.',
          kind: 'lines',
          queries: [{ expr: `tgospa_lifetime_cost{${ONE}}`, legend: '{{bound}}' }],
        },
      ],
    },
    {
      title: 'Spikes',
      panels: [
        {
          title: 'Spikes',
          description:
            'Red while a signal is worse than usual. Without curves: spike detection is off for this stream.',
          kind: 'states',
          queries: [{ expr: `tgospa_spike_active{${ONE}}`, legend: '{{signal}}' }],
          warnAt: [0.5, 0.9],
        },
        {
          title: 'Evidence',
          description: 'How sure the detection is that a signal has got worse; a spike begins at 1.',
          kind: 'lines',
          queries: [{ expr: `tgospa_spike_score{${ONE}}`, legend: '{{signal}}' }],
        },
        {
          title: 'Observed against usual',
          description:
            'Per frame: missed objects, false tracks, switches; for localization the mean error. Above 0 is worse than usual.',
          kind: 'lines',
          queries: [
            {
              expr: `tgospa_spike_observed_rate{${ONE}} - tgospa_spike_expected_rate{${ONE}}`,
              legend: '{{signal}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Performance',
      panels: [
        {
          title: 'Detection and SIAP',
          description:
            'Over the last settled frames: share of the objects that had a track (with one standard error), of tracks without an object, of time with one track. Without curves: performance is off for this stream.',
          kind: 'lines',
          queries: [
            { expr: `tgospa_detection_probability{${ONE}}`, legend: 'PD' },
            {
              expr: `tgospa_detection_probability{${ONE}} - tgospa_detection_probability_standard_error{${ONE}}`,
              legend: 'PD - error',
            },
            {
              expr: `tgospa_detection_probability{${ONE}} + tgospa_detection_probability_standard_error{${ONE}}`,
              legend: 'PD + error',
            },
            { expr: `tgospa_siap_ratio{${ONE},measure=~"spuriousness|longest_segment"}`, legend: '{{measure}}' },
          ],
          unit: 'percentunit',
        },
        {
          title: 'Feed latency',
          description:
            'How late the tracks lie behind the reference, with one standard error: a clock that is off, or a slow filter. Shown, never corrected.',
          kind: 'lines',
          queries: [
            { expr: `tgospa_feed_latency_seconds{${ONE}}`, legend: 'latency' },
            {
              expr: `tgospa_feed_latency_seconds{${ONE}} - tgospa_feed_latency_standard_error_seconds{${ONE}}`,
              legend: 'latency - error',
            },
            {
              expr: `tgospa_feed_latency_seconds{${ONE}} + tgospa_feed_latency_standard_error_seconds{${ONE}}`,
              legend: 'latency + error',
            },
          ],
          unit: 's',
        },
        {
          title: 'Position error',
          description:
            'RMS and 95 %, along the way of the object and across it, and what is the same for everybody (bias, by axis).',
          kind: 'lines',
          queries: [
            { expr: `tgospa_position_error{${ONE}}`, legend: '{{statistic}}' },
            { expr: `tgospa_feed_bias{${ONE}}`, legend: 'bias {{axis}}' },
          ],
        },
        {
          title: 'Gaps',
          description: 'Share of the time of objects that they are in gaps.',
          kind: 'lines',
          queries: [{ expr: `tgospa_gap_time_ratio{${ONE}}`, legend: 'in gaps' }],
          unit: 'percentunit',
        },
        {
          title: 'Continuity',
          description: 'Changes of track per hour of an object, and ambiguity: tracks per tracked object.',
          kind: 'lines',
          queries: [
            { expr: `tgospa_track_changes_per_object_hour{${ONE}}`, legend: 'changes per hour' },
            { expr: `tgospa_siap_ratio{${ONE},measure="ambiguity"}`, legend: 'ambiguity' },
          ],
        },
        {
          title: 'Longest gap, first track',
          description: 'Longest time without a track, and how long new objects wait for their first.',
          kind: 'lines',
          queries: [
            { expr: `tgospa_longest_gap_seconds{${ONE}}`, legend: 'longest gap' },
            { expr: `tgospa_first_pair_delay_seconds{${ONE}}`, legend: 'first track, {{statistic}}' },
          ],
          unit: 's',
        },
      ],
    },
    {
      title: 'Feeds',
      panels: [
        {
          title: 'Feed',
          description:
            'Frames per second of the reference and of the tracker. They should be equal, unless the reference is resampled.',
          kind: 'lines',
          queries: [
            { expr: `rate(tgospa_feed_frames_total{${FEEDS}}[$__rate_interval])`, legend: '{{role}} {{tracker}}' },
          ],
          unit: 'ops',
        },
        {
          title: 'Objects per frame',
          description: 'How busy the scene is, as each feed sees it.',
          kind: 'lines',
          queries: [
            {
              expr: `rate(tgospa_feed_objects_total{${FEEDS}}[$__rate_interval]) / (rate(tgospa_feed_frames_total{${FEEDS}}[$__rate_interval]) > 0)`,
              legend: '{{role}} {{tracker}}',
            },
          ],
        },
        {
          title: 'Lost on the way',
          description: 'Frames that came too late, twice, or not at all.',
          kind: 'bars',
          queries: [
            {
              expr: `rate(tgospa_frames_late_total{${FEEDS}}[$__rate_interval])`,
              legend: 'late: {{role}} {{tracker}}',
            },
            {
              expr: `rate(tgospa_frames_missing_total{${FEEDS}}[$__rate_interval])`,
              legend: 'missing: {{role}} {{tracker}}',
            },
            {
              expr: `rate(tgospa_frames_duplicate_total{${FEEDS}}[$__rate_interval])`,
              legend: 'twice: {{role}} {{tracker}}',
            },
            {
              expr: `rate(tgospa_frames_gap_total{${FEEDS}}[$__rate_interval])`,
              legend: 'sent by nobody: {{role}} {{tracker}}',
            },
          ],
          unit: 'ops',
        },
        {
          title: 'Refused',
          description:
            'Frames that were refused, and objects that were left out of frames, by reason. The full reason with an example: Setup on the page, or /v1/events.',
          kind: 'bars',
          queries: [
            {
              expr: `rate(tgospa_frames_rejected_total{${FEEDS}}[$__rate_interval])`,
              legend: 'frames, {{reason}}: {{role}} {{tracker}}',
            },
            {
              expr: `rate(tgospa_objects_skipped_total{${FEEDS}}[$__rate_interval])`,
              legend: 'objects, {{reason}}: {{role}} {{tracker}}',
            },
          ],
          unit: 'ops',
        },
        {
          title: 'Wiring',
          description:
            'Red while something is wrong with how the feeds are wired: boxes in another order, frame numbers that differ. Setup on the page has the remedy.',
          kind: 'states',
          queries: [{ expr: `tgospa_stream_finding{${FEEDS}}`, legend: '{{finding}} {{tracker}}' }],
          warnAt: [0.5, 0.9],
        },
        {
          title: 'Silent',
          description: 'Red while a feed is silent.',
          kind: 'states',
          queries: [{ expr: `tgospa_feed_silent{${FEEDS}}`, legend: '{{role}} {{tracker}}' }],
          warnAt: [0.5, 0.9],
        },
        {
          title: 'Age of the newest frame',
          description: 'Seconds since each feed was last heard.',
          kind: 'lines',
          queries: [
            { expr: `time() - tgospa_feed_last_frame_timestamp_seconds{${FEEDS}}`, legend: '{{role}} {{tracker}}' },
          ],
          unit: 's',
        },
      ],
    },
    {
      title: 'Evaluator',
      panels: [
        {
          title: 'Report latency',
          description: 'From the arrival of the last part of a frame to its report, over all series.',
          kind: 'lines',
          queries: [
            { expr: quantile(0.5, 'tgospa_frame_latency_seconds'), legend: 'median' },
            { expr: quantile(0.99, 'tgospa_frame_latency_seconds'), legend: '99 %' },
          ],
          unit: 's',
        },
        {
          title: 'Solver',
          description: 'Time of one window update, over all series.',
          kind: 'lines',
          queries: [
            { expr: quantile(0.5, 'tgospa_solve_duration_seconds'), legend: 'median' },
            { expr: quantile(0.99, 'tgospa_solve_duration_seconds'), legend: '99 %' },
          ],
          unit: 's',
        },
        {
          title: 'Gap',
          description:
            'How far a reported cost may be from the exact one, and the share of reports not proven exact. 0 is exact.',
          kind: 'lines',
          queries: [
            { expr: `tgospa_window_gap_ratio{${ONE}}`, legend: 'gap' },
            {
              expr: `rate(tgospa_solves_uncertified_total{${ONE}}[$__rate_interval]) / (rate(tgospa_solves_total{${ONE}}[$__rate_interval]) > 0)`,
              legend: 'uncertified',
            },
          ],
          unit: 'percentunit',
        },
      ],
    },
  ],
};

function number(title: string, description: string, expr: string, unit = 'short') {
  return { title, description, kind: 'number' as const, queries: [{ expr, legend: title }], unit, width: 4, height: 4 };
}
