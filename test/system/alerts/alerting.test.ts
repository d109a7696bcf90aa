/**
 * Alerts and dashboards with the real programs: a real evaluator judges scripted scenes, a real Prometheus scrapes it
 * and evaluates the shipped rules with shortened durations, and a real Alertmanager with the shipped routes tells a
 * webhook. Faults last until they are found and recovery lasts until it is told, so a slow machine only takes longer.
 * The scene, not the clock, decides: lateness and silence are set far above what a busy machine delays.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { files } from '../../../dashboards/grafana/generate.js';
import { CLUSTER_METRICS } from '../../../src/telemetry/cluster-metrics.js';
import { PERFORMANCE_METRICS } from '../../../src/telemetry/performance-metrics.js';
import { RULES_FILE, readRules, shortened } from '../../kit/alert-rules.js';
import { filledIn, queriesOf } from '../../kit/dashboard-queries.js';
import { SCRIPTED_STREAMS, ScriptedScene, UNDETECTED } from '../../kit/scenes/scripted-scene.js';
import { UNTIMED_EVALUATION } from '../../kit/settings.js';
import { describeAlert, Monitoring } from '../../kit/system/monitoring.js';
import { Program } from '../../kit/system/program.js';
import { freePort, hasProgram, skipUnless, until } from '../../kit/system/system.js';

/** An hour of history becomes a minute. */
const FACTOR = 60;
const DEADLINE_MS = 300_000;

const CONFIG = {
  evaluation: UNTIMED_EVALUATION,
  streams: {
    defaults: { windowFrames: 30, pairing: { by: 'frame', latenessMs: 30_000, silenceMs: 6000 } },
    ...Object.fromEntries(UNDETECTED.map((stream) => [stream, { spikes: { signals: [] } }])),
  },
};

/**
 * Scrapes have a second to be answered here. That a machine was too busy to do so is rightly told, and not what is
 * tested.
 */
const OF_A_BUSY_MACHINE = ['EvaluatorDown', 'EvaluatorLagging', 'EvaluatorStorageSlow'];
/** Metrics that have samples only once something wrong has come in. */
const ONLY_WHEN_WRONG = /tgospa_(frames_rejected|objects_skipped)_total|tgospa_stream_finding/;
/** Fires whatever happens. */
const ALWAYS = 'Watchdog';

/** What must fire and reach the webhook; nothing else may. */
const EXPECTED: Array<Record<string, string>> = [
  ...(
    [
      ['TrackerMissSpike', 'miss'],
      ['TrackerFalseSpike', 'ghosts'],
      ['TrackerSwitchSpike', 'swaps'],
      ['TrackerLocalizationDrift', 'drift'],
    ] as const
  ).flatMap(([alertname, fault]) => [
    { alertname, stream: fault, tracker: 'bad', by: 'detector' },
    { alertname, stream: `rate-${fault}`, tracker: 'bad', by: 'rate' },
  ]),
  { alertname: 'TrackerSilent', stream: 'silence', tracker: 'bad' },
  { alertname: 'ReferenceSilent', stream: 'blind', role: 'reference' },
];

describe('alerting, with real Prometheus and Alertmanager', function () {
  this.timeout(1_800_000);
  let folder: string;
  let evaluator: Program | undefined;
  let monitoring: Monitoring | undefined;
  let scene: ScriptedScene | undefined;

  beforeEach(function () {
    skipUnless(this, hasProgram('prometheus'), 'prometheus is needed; Debian: apt-get install prometheus');
    skipUnless(
      this,
      hasProgram('prometheus-alertmanager'),
      'alertmanager is needed; Debian: apt-get install prometheus-alertmanager',
    );
    folder = mkdtempSync(join(tmpdir(), 'tgospa-alerting-'));
  });
  afterEach(async () => {
    await scene?.stop();
    await monitoring?.stop();
    await evaluator?.stop();
    rmSync(folder, { recursive: true, force: true });
    scene = monitoring = evaluator = undefined;
  });

  /** Starts the evaluator with these words; resolves when it serves. */
  async function evaluate(words: string[], port: number): Promise<void> {
    evaluator = Program.tgospa([...words, '--port', String(port), '--data', join(folder, 'data')]);
    await evaluator.ready(`http://127.0.0.1:${port}/readyz`);
  }

  /** Starts Prometheus and Alertmanager with these rules. */
  async function monitor(rules: string, port: number): Promise<void> {
    monitoring = await Monitoring.start(folder, `127.0.0.1:${port}`, rules);
  }

  it('fires the right alerts, tells a webhook, resolves them after recovery, and leaves the healthy trackers alone', async () => {
    const config = join(folder, 'tgospa.yaml');
    writeFileSync(config, stringify(CONFIG));
    const port = await freePort();
    await evaluate(['serve', '--config', config], port);
    await monitor(shortened(readRules(), FACTOR, { waits: 8, ranges: 5 }), port);
    const url = `ws://127.0.0.1:${port}`;
    scene = new ScriptedScene(url);
    const { receiver } = monitoring!;
    const judged = SCRIPTED_STREAMS.length * 2;
    await until(
      'every tracker has a past to be compared with',
      async () => {
        const records = [
          'missed:ratio_avg1h',
          'false:ratio_avg1h',
          'switches:ratio_avg1h',
          'window_localization_error:avg1h',
        ];
        const past = await Promise.all(records.map((record) => monitoring!.query(`count(series:tgospa_${record})`)));
        return past.every(([sample]) => sample?.value === judged);
      },
      DEADLINE_MS,
    );
    const fired = async () =>
      (await monitoring!.fired()).filter((alert) => ![...OF_A_BUSY_MACHINE, ALWAYS].includes(alert));
    // That the detector says nothing of these frames is tested by itself (`spikes/scripted`); a step that is judged
    // without its tracks would be a spike, and is no fault of the tracker.
    const early = await fired();
    const evidence = early.length === 0 ? '' : await whatHappened(monitoring!, url.replace(/^ws/, 'http'));
    assert.deepEqual(early, [], `alerts while everything was well: ${evidence}`);

    scene!.faulty = true;
    for (const labels of EXPECTED)
      await until(
        `the webhook hears of ${JSON.stringify(labels)}; fired so far: ${await fired()}`,
        () => receiver.has('firing', labels),
        DEADLINE_MS,
      );
    await everyQueryAnswers(monitoring!);
    for (const { annotations } of receiver.notices) assert.ok(annotations.summary && annotations.runbook_url);

    scene!.faulty = false;
    for (const labels of EXPECTED)
      await until(
        `the webhook hears that ${JSON.stringify(labels)} is over`,
        () => receiver.has('resolved', labels),
        DEADLINE_MS,
      );
    await until(
      'nothing fires any more',
      async () => (await monitoring!.query(`ALERTS{alertstate="firing",alertname!="${ALWAYS}"}`)).length === 0,
      DEADLINE_MS,
    );
    // a tracker that says nothing also misses everything: whether that is told as well depends on how long it is silent
    const told = (await fired()).filter((alert) => alert !== 'TrackerMissSpike silence/bad');
    assert.deepEqual(told, EXPECTED.map(describeAlert).sort());
    // what the detector has found is not told once more by rates, neither then nor after it; one that waits is not told
    const repeated = await monitoring!.query(
      `max_over_time(ALERTS{alertstate="firing",by="rate",stream!~"rate-.+"}[1h])`,
    );
    assert.deepEqual(
      repeated.map(({ metric }) => describeAlert(metric)),
      [],
    );
  });

  it('has an alert to show in the demo, with the rules as they are', async () => {
    // quicker than in compose.yaml, so that two rounds of the scene, one to learn from and one to be found in, are soon
    // over; what recurs later is usual and told no more, so Prometheus watches from the first
    const port = await freePort();
    await monitor(readFileSync(RULES_FILE, 'utf8'), port);
    await evaluate(['demo', '--fps', '40'], port);
    const labels = { alertname: 'TrackerMissSpike', stream: 'crossing', tracker: 'faulty', by: 'detector' };
    await until('the demo raises an alert', () => monitoring!.receiver.has('firing', labels), DEADLINE_MS);
    const notice = monitoring!.receiver.notices.find(({ labels }) => labels.alertname === 'TrackerMissSpike')!;
    assert.match(notice.annotations.description, /^Missed objects per frame: up to [\d.]+ where [\d.]+ is usual/);
  });
});

async function eventsOf(url: string): Promise<Array<{ type: string; stream: string }>> {
  const answer = await fetch(`${url}/v1/events?limit=10000`);
  return ((await answer.json()) as { events: Array<{ type: string; stream: string }> }).events;
}

/** Of every stream with an alert: the labels, what its rules looked at, second by second, and all of its events. */
async function whatHappened(monitoring: Monitoring, url: string): Promise<string> {
  const alerts = (await monitoring.query(`max_over_time(ALERTS{alertname!="${ALWAYS}"}[1h])`)).map(
    ({ metric }) => metric,
  );
  const events = await eventsOf(url);
  const streams = [...new Set(alerts.flatMap(({ stream }) => stream ?? []))];
  const series = await Promise.all(
    streams.flatMap((stream) =>
      WATCHED.map(async (name) => [stream, name, await monitoring.history(`${name}{stream="${stream}"}`, '2m')]),
    ),
  );
  const own = events.filter(({ stream }) => streams.includes(stream));
  return JSON.stringify({ alerts, series, events: own });
}

/** What the rules about missed objects look at. */
const WATCHED = [
  'tgospa_frames_total',
  'tgospa_missed_total',
  'tgospa_proper_total',
  'tgospa_spikes_total',
  'tgospa_spike_active',
  'tgospa_spike_observed_rate',
  'tgospa_feed_frames_total',
  'tgospa_frames_missing_total',
  'series:tgospa_missed:ratio_rate5m',
  'series:tgospa_missed:ratio_avg1h',
];

/** Every query of every dashboard, as Grafana would send it, is answered with numbers. */
async function everyQueryAnswers(monitoring: Monitoring): Promise<void> {
  const values = {
    stream: 'swaps',
    tracker: 'bad',
    other: 'good',
    profile: 'online-surveillance',
    __rate_interval: '10s',
    __range: '1m',
  };
  for (const [name, text] of Object.entries(files()))
    for (const { where, expr } of queriesOf(JSON.parse(text))) {
      // numbers of frames with times, where somebody wants them: `reports` shows those
      if (PERFORMANCE_METRICS.some(({ name: own }) => expr.includes(own))) continue;
      // nobody sends anything wrong here: `dashboards/instance` has these
      if (ONLY_WHEN_WRONG.test(expr)) continue;
      // there is one process: `cluster` has several
      if (CLUSTER_METRICS.some(({ name: own }) => expr.includes(own))) continue;
      await until(
        `${name}, ${where}: ${expr} is answered`,
        async () => (await monitoring.query(filledIn(expr, values))).some(({ value }) => !Number.isNaN(value)),
        DEADLINE_MS,
      );
    }
}
