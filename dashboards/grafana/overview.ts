/** All streams on one page: what fires, who is worst, and whether the evaluator itself is well. */
import type { Dashboard } from './grafana.js';
import { FIRING, falseShare, missedShare, quantile, switchesPerMinute } from './queries.js';

const SHOWN = 'stream=~"$stream",profile=~"$profile"';

export const overview: Dashboard = {
  uid: 'tgospa-overview',
  title: 'TGOSPA overview',
  description: 'All trackers of all streams, worst first, and the health of the evaluator.',
  variables: [
    { name: 'stream', title: 'stream', from: 'tgospa_window_distance', label: 'stream', many: true },
    {
      name: 'profile',
      title: 'profile',
      from: 'tgospa_window_distance{stream=~"$stream"}',
      label: 'profile',
      many: true,
    },
  ],
  annotations: [
    {
      name: 'Alerts',
      expr: FIRING,
      title: '{{alertname}}',
      text: '{{stream}} {{tracker}} {{profile}}',
      colour: 'red',
    },
  ],
  guide:
    'Distances compare trackers of one stream under one profile: 0 is perfect, and the unit is that of the profile. ' +
    'Click a stream in *Worst first* to see why. What to do about an alert is in `dashboards/RUNBOOK.md`, under its name.',
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Alerts firing',
          description: 'Alerts of the rules of this project. 0 when all is well.',
          kind: 'number',
          queries: [{ expr: `count(${FIRING}) or vector(0)`, legend: 'alerts' }],
          warnAt: [1, 3],
          width: 4,
          height: 4,
        },
        {
          title: 'Evaluators up',
          description: 'Evaluators that Prometheus reaches.',
          kind: 'number',
          queries: [{ expr: 'sum(up{job="tgospa"})', legend: 'up' }],
          width: 3,
          height: 4,
        },
        {
          title: 'Spikes now',
          description:
            'Signals of trackers that are worse than usual at this moment. Nothing where spike detection is off.',
          kind: 'number',
          queries: [{ expr: `sum(tgospa_spike_active{${SHOWN}})`, legend: 'spikes' }],
          warnAt: [1, 3],
          width: 4,
          height: 4,
        },
        {
          title: 'Streams',
          description: 'Streams in memory.',
          kind: 'number',
          queries: [{ expr: 'sum(tgospa_streams)', legend: 'streams' }],
          width: 2,
          height: 4,
        },
        {
          title: 'Trackers judged',
          description: 'Combinations of stream, tracker and profile.',
          kind: 'number',
          queries: [{ expr: `count(tgospa_window_distance{${SHOWN}})`, legend: 'series' }],
          width: 2,
          height: 4,
        },
        {
          title: 'Feeds silent',
          description: 'A silent tracker misses everything; a silent reference suspends judgement.',
          kind: 'number',
          queries: [{ expr: 'sum(tgospa_feed_silent{stream=~"$stream"})', legend: 'silent' }],
          warnAt: [1, 2],
          width: 2,
          height: 4,
        },
        {
          title: 'Refused',
          description:
            'Frames per minute that were refused because they are wrong. Which feed and why: *Refused* below, and Setup on the page.',
          kind: 'number',
          queries: [
            {
              expr: '60 * (sum(rate(tgospa_frames_rejected_total{stream=~"$stream"}[$__rate_interval])) or vector(0))',
              legend: 'refused per minute',
            },
          ],
          warnAt: [0.01, 60],
          width: 3,
          height: 4,
        },
        {
          title: 'Report latency, 99 %',
          description: 'From the arrival of the last part of a frame to its report.',
          kind: 'number',
          queries: [{ expr: quantile(0.99, 'tgospa_frame_latency_seconds'), legend: 'latency' }],
          unit: 's',
          warnAt: [0.25, 1],
          width: 4,
          height: 4,
        },
        {
          title: 'Worst first',
          description:
            'Every tracker under every profile, by the distance of its window. Shares and switches are those of the last minutes. Click a stream to see why.',
          kind: 'table',
          columns: ['stream', 'tracker', 'profile'],
          queries: [
            { expr: `tgospa_window_distance{${SHOWN}}`, legend: 'distance' },
            { expr: missedShare(SHOWN), legend: 'missed share' },
            { expr: falseShare(SHOWN), legend: 'false share' },
            { expr: switchesPerMinute(SHOWN), legend: 'switches per minute' },
            { expr: `tgospa_window_localization_error{${SHOWN}}`, legend: 'localization error' },
          ],
          sortBy: 'distance',
          leadsTo: { uid: 'tgospa-series', labels: ['stream', 'tracker', 'profile'] },
          width: 16,
          height: 9,
        },
        {
          title: 'Alerts',
          description: 'What fires now. The name of an alert is also its heading in dashboards/RUNBOOK.md.',
          kind: 'table',
          columns: ['alertname', 'severity', 'stream', 'tracker', 'by'],
          queries: [{ expr: FIRING, legend: 'firing' }],
          width: 8,
          height: 9,
        },
      ],
    },
    {
      title: 'Trackers',
      panels: [
        {
          title: 'Distance',
          description:
            'TGOSPA of the sliding window: 0 is perfect. A step means something happened; its components say what.',
          kind: 'lines',
          queries: [{ expr: `tgospa_window_distance{${SHOWN}}`, legend: '{{stream}} {{tracker}} {{profile}}' }],
          width: 24,
        },
        {
          title: 'Cost by component: $stream',
          description: 'Cost of the windows of all trackers of the stream, to the power p, so that it adds up.',
          kind: 'stacked',
          queries: [
            {
              expr: 'sum by (component) (tgospa_window_cost{stream=~"$stream",profile=~"$profile"})',
              legend: '{{component}}',
            },
          ],
          repeat: 'stream',
        },
      ],
    },
    {
      title: 'Feeds',
      panels: [
        {
          title: 'Refused',
          description:
            'Frames that were refused, by feed and reason. The full reason with an example: Setup on the page, or /v1/events.',
          kind: 'bars',
          queries: [
            {
              expr: 'sum by (stream, role, tracker, reason) (rate(tgospa_frames_rejected_total{stream=~"$stream"}[$__rate_interval]))',
              legend: '{{stream}} {{role}} {{tracker}}: {{reason}}',
            },
          ],
          unit: 'ops',
          width: 12,
        },
        {
          title: 'Late, missing, twice',
          description: 'Frames of all feeds that came too late, not at all, or twice.',
          kind: 'bars',
          queries: [
            { expr: 'sum(rate(tgospa_frames_late_total{stream=~"$stream"}[$__rate_interval]))', legend: 'late' },
            { expr: 'sum(rate(tgospa_frames_missing_total{stream=~"$stream"}[$__rate_interval]))', legend: 'missing' },
            { expr: 'sum(rate(tgospa_frames_duplicate_total{stream=~"$stream"}[$__rate_interval]))', legend: 'twice' },
          ],
          unit: 'ops',
          width: 12,
        },
      ],
    },
    {
      title: 'Evaluator',
      panels: [
        {
          title: 'Latency',
          description:
            'Report: from the arrival of a frame to its report. Solve: one window update. Commit: one flush to disk.',
          kind: 'lines',
          queries: [
            { expr: quantile(0.5, 'tgospa_frame_latency_seconds'), legend: 'report, median' },
            { expr: quantile(0.99, 'tgospa_frame_latency_seconds'), legend: 'report, 99 %' },
            { expr: quantile(0.99, 'tgospa_solve_duration_seconds'), legend: 'solve, 99 %' },
            { expr: 'max(tgospa_log_last_commit_seconds)', legend: 'commit' },
          ],
          unit: 's',
        },
        {
          title: 'Work',
          description: 'Frames that come in, and reports that go out: one for each tracker and profile.',
          kind: 'lines',
          queries: [
            { expr: 'sum(rate(tgospa_feed_frames_total[$__rate_interval]))', legend: 'frames in' },
            { expr: 'sum(rate(tgospa_solves_total[$__rate_interval]))', legend: 'reports' },
          ],
          unit: 'ops',
        },
        {
          title: 'Waiting',
          description: 'Frames on their way. All of them should stay near 0; what grows names the bottleneck.',
          kind: 'lines',
          queries: [
            { expr: 'sum(tgospa_ingest_waiting_frames)', legend: 'taken, not stored' },
            { expr: 'sum(tgospa_log_backlog_records)', legend: 'stored, not evaluated' },
            { expr: 'sum(tgospa_ingest_paused_connections)', legend: 'connections held back' },
          ],
        },
        {
          title: 'Connections',
          description: 'Open WebSocket connections by endpoint.',
          kind: 'lines',
          queries: [{ expr: 'sum by (endpoint) (tgospa_connections)', legend: '{{endpoint}}' }],
        },
        {
          title: 'Disk and memory',
          description: 'The log on disk, and the memory of the process.',
          kind: 'lines',
          queries: [
            { expr: 'sum(tgospa_log_bytes)', legend: 'log' },
            { expr: 'sum(process_resident_memory_bytes{job="tgospa"})', legend: 'memory' },
          ],
          unit: 'bytes',
        },
        {
          title: 'Faults',
          description:
            'Everything here should be 0: failed commits, series left out of /metrics, solves that were not proven exact.',
          kind: 'bars',
          queries: [
            { expr: 'sum(increase(tgospa_log_faults_total[$__rate_interval]))', legend: 'failed commits' },
            { expr: 'sum(increase(tgospa_series_overflow_total[$__rate_interval]))', legend: 'series left out' },
            { expr: 'sum(increase(tgospa_solves_uncertified_total[$__rate_interval]))', legend: 'uncertified solves' },
          ],
        },
      ],
    },
    {
      title: 'Cluster (empty where there is one process)',
      panels: [
        {
          title: 'Partitions by process',
          description:
            'How many partitions each process owns and serves. Equal shares, but for minutes after one came or went.',
          kind: 'lines',
          queries: [
            { expr: 'sum by (instance) (tgospa_cluster_partition_owned)', legend: '{{instance}}' },
            {
              expr: 'count(sum by (partition) (tgospa_cluster_partition_owned) == 0) or vector(0)',
              legend: 'served by nobody',
            },
          ],
        },
        {
          title: 'Lag by partition',
          description:
            'For how long stored frames wait to be evaluated. Seconds during a takeover; what grows is overloaded.',
          kind: 'lines',
          queries: [
            {
              expr: 'topk(5, max by (partition) (tgospa_cluster_partition_lag_seconds))',
              legend: 'partition {{partition}}',
            },
          ],
          unit: 's',
        },
        {
          title: 'Partitions that moved',
          description:
            'Taken: also after a start. Lost: to another process, after a pause. Released: to even out the load.',
          kind: 'bars',
          queries: [
            {
              expr: 'sum by (move) (increase(tgospa_cluster_partitions_moved_total[$__rate_interval]))',
              legend: '{{move}}',
            },
          ],
        },
        {
          title: 'Takeover',
          description: 'From the lease to the last record, without the time to notice that an owner is gone.',
          kind: 'lines',
          queries: [
            { expr: quantile(0.5, 'tgospa_cluster_takeover_duration_seconds'), legend: 'median' },
            { expr: quantile(0.99, 'tgospa_cluster_takeover_duration_seconds'), legend: '99 %' },
          ],
          unit: 's',
        },
        {
          title: 'Work done again',
          description:
            'Records of logs that were read to take partitions over; many of them: snapshots are too rare (data.snapshotFrames). Batches that had to be sent to the brokers once more.',
          kind: 'lines',
          queries: [
            { expr: 'sum(rate(tgospa_cluster_replayed_records_total[$__rate_interval]))', legend: 'records read' },
            { expr: 'sum(rate(tgospa_cluster_publish_retries_total[$__rate_interval]))', legend: 'batches sent' },
          ],
          unit: 'ops',
        },
        {
          title: 'Storing at the brokers',
          description: 'Time until a batch of frames was acknowledged: acks to senders are late by as much.',
          kind: 'lines',
          queries: [
            { expr: quantile(0.5, 'tgospa_cluster_publish_duration_seconds'), legend: 'median' },
            { expr: quantile(0.99, 'tgospa_cluster_publish_duration_seconds'), legend: '99 %' },
          ],
          unit: 's',
        },
      ],
    },
  ],
};
