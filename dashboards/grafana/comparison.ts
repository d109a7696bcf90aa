/** Tracker against tracker on the same stream under the same profile: which is better, and in what. */
import type { Dashboard, Panel } from './grafana.js';
import { falseShare, missedShare, switchesPerMinute } from './queries.js';

const BOTH = 'stream="$stream",profile="$profile",tracker=~"$tracker|$other"';
const FIRST = 'stream="$stream",profile="$profile",tracker="$tracker"';
const SECOND = 'stream="$stream",profile="$profile",tracker="$other"';

export const comparison: Dashboard = {
  uid: 'tgospa-comparison',
  title: 'TGOSPA comparison',
  description: 'Two trackers on the same stream, under the same profile, against the same reference.',
  variables: [
    { name: 'stream', title: 'stream', from: 'tgospa_window_distance', label: 'stream' },
    { name: 'profile', title: 'profile', from: 'tgospa_window_distance{stream="$stream"}', label: 'profile' },
    {
      name: 'tracker',
      title: 'tracker',
      from: 'tgospa_window_distance{stream="$stream",profile="$profile"}',
      label: 'tracker',
    },
    {
      name: 'other',
      title: 'against',
      from: 'tgospa_window_distance{stream="$stream",profile="$profile"}',
      label: 'tracker',
      reversed: true,
    },
  ],
  annotations: [
    {
      name: 'Alerts',
      expr: 'ALERTS{alertstate="firing",stream="$stream",tracker=~"$tracker|$other|"}',
      title: '{{alertname}}',
      text: '{{tracker}} {{severity}} {{by}}',
      colour: 'red',
    },
  ],
  guide:
    'Both trackers are judged against the same reference at the same frames, so differences are theirs. In **Difference** above 0 means that *$tracker* is worse than *$other* in that component.',
  rows: [
    {
      title: '$tracker against $other',
      panels: [
        {
          title: 'In the shown time',
          description: 'Totals of the time shown above: counts in settled frames, and the mean distance.',
          kind: 'table',
          columns: ['tracker'],
          queries: [
            { expr: `avg_over_time(tgospa_window_distance{${BOTH}}[$__range])`, legend: 'mean distance' },
            { expr: `increase(tgospa_missed_total{${BOTH}}[$__range])`, legend: 'missed' },
            { expr: `increase(tgospa_false_total{${BOTH}}[$__range])`, legend: 'false' },
            { expr: `increase(tgospa_switches_total{${BOTH}}[$__range])`, legend: 'switches' },
            {
              expr: `avg_over_time(tgospa_window_localization_error{${BOTH}}[$__range])`,
              legend: 'localization error',
            },
          ],
          sortBy: 'mean distance',
          width: 24,
          height: 5,
        },
        {
          title: 'Distance',
          description: 'TGOSPA of the sliding window; the lower one is better.',
          kind: 'lines',
          queries: [{ expr: `tgospa_window_distance{${BOTH}}`, legend: '{{tracker}}' }],
          width: 12,
        },
        {
          title: 'Difference: $tracker minus $other',
          description: 'Cost by component, to the power p. Above 0: $tracker is worse in it.',
          kind: 'lines',
          queries: [
            {
              expr: `tgospa_window_cost{${FIRST}} - ignoring (tracker) tgospa_window_cost{${SECOND}}`,
              legend: '{{component}}',
            },
          ],
          width: 12,
        },
        stacked('$tracker', FIRST),
        stacked('$other', SECOND),
        lines('Missed', 'Share of the objects that have no track.', missedShare(BOTH), 'percentunit'),
        lines('False', 'Share of the tracks that have no object.', falseShare(BOTH), 'percentunit'),
        lines('Switches per minute', 'Identities exchanged or broken.', switchesPerMinute(BOTH)),
        lines(
          'Localization error',
          'Mean distance between an object and its track.',
          `tgospa_window_localization_error{${BOTH}}`,
        ),
        lines(
          'Frames per second',
          'A tracker that sends fewer frames misses the rest.',
          'rate(tgospa_feed_frames_total{stream="$stream",tracker=~"$tracker|$other"}[$__rate_interval])',
          'ops',
        ),
      ],
    },
  ],
};

function stacked(tracker: string, matchers: string): Panel {
  return {
    title: `Cost by component: ${tracker}`,
    description: 'What its distance consists of, to the power p.',
    kind: 'stacked',
    queries: [{ expr: `tgospa_window_cost{${matchers}}`, legend: '{{component}}' }],
    width: 12,
  };
}

function lines(title: string, description: string, expr: string, unit = 'short'): Panel {
  return { title, description, kind: 'lines', queries: [{ expr, legend: '{{tracker}}' }], unit, width: 8 };
}
