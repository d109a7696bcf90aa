import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { METRICS } from '../../src/telemetry/catalogue.js';
import { ClusterMeters } from '../../src/telemetry/cluster-meters.js';
import { Exposition, prefersOpenMetrics } from '../../src/telemetry/exposition.js';
import { Meters } from '../../src/telemetry/meters.js';
import type { ProgramFacts } from '../../src/telemetry/spec.js';
import type { LiveEvent, PerformanceReading } from '../../src/wire/events.js';
import { fakeReport, fakeReportEvent } from '../kit/fake-live.js';
import { skipInFastRun } from '../kit/system/system.js';

const OPENMETRICS = 'application/openmetrics-text;version=1.0.0';

const CLASSES = {
  car: {
    count: { proper: 60, missed: 4, false: 0, switches: 1.5 },
    cost: { localization: 2.5, missed: 2, false: 0, switch: 0.75 },
  },
  'a "tram"': {
    count: { proper: 0, missed: 0, false: 3, switches: 0 },
    cost: { localization: 0, missed: 0, false: 1.5, switch: 0 },
  },
};

/** Compares with a golden file; TGOSPA_UPDATE_GOLDEN=1 writes it anew, to be read before it is committed. */
function assertGolden(text: string, name: string): void {
  const file = new URL(`../../../test/cases/exposition/${name}`, import.meta.url);
  if (process.env.TGOSPA_UPDATE_GOLDEN === '1') writeFileSync(file, text);
  assert.equal(text, readFileSync(file, 'utf8'));
}

const SURROUNDINGS: ProgramFacts = {
  connections: () => ({ ingest: 2, live: 1 }),
  pausedConnections: () => 1,
  waitingFrames: () => 12,
  ready: () => true,
  streams: () => ['gate-7'],
  suspended: () => ['gate-7'],
  resuming: () => ['gate-7'],
  findings: () => [{ stream: 'dock', tracker: null, finding: 'tracker_never_came' }],
  // of a tracker that is gone: its spike is not over
  incidents: () => [
    {
      ...{
        stream: 'gate-7',
        tracker: 'gone',
        profile: 'online-surveillance',
        id: 1,
        times: 1,
        k: 5,
        at: 90,
        sinceMs: 0,
      },
      ...{ severity: 'warning', lasting: 'retired', cause: 'silent', message: 'nothing comes from it', evidence: {} },
      signals: [
        { signal: 'missed', expected: 0, observed: 4, objects: [], certain: true, over: false },
        { signal: 'silence', expected: 0, observed: 1, objects: [], over: false },
      ],
    },
  ],
  objectives: () => [{ stream: 'gate-7', objective: 'miss_ratio', value: 0.2 }],
  storage: () => ({
    freeBytes: 5e9,
    neededBytes: 1e8,
    bytes: 4096,
    queuedRecords: 3,
    backlogRecords: 4,
    heavyStreams: 1,
    commits: 77,
    faults: 0,
    damagedPlaces: 0,
    commitMs: 2.5,
    oldestMs: 1_763_250_000_000,
  }),
  notifications: () => [['oncall', { sent: 4, failed: 2, dropped: 0, waiting: 1 }]],
};

const exposed = (meters: Meters, processMetrics = false, surroundings = SURROUNDINGS) =>
  new Exposition(() => ({ meters, surroundings, build: { version: '1.2.3', node: 'v20' } }), { processMetrics });

const MEASURED: PerformanceReading = {
  ...{ k: 69, frames: 70, timed: true, truthInstances: 700, trackInstances: 650, notJudged: { truths: 3, tracks: 9 } },
  ...{ detectionProbability: 0.875, detectionProbabilityError: 0.01 },
  siap: {
    ...{ completeness: 0.875, spuriousness: 0.0625, ambiguity: 1.25 },
    ...{ positionalAccuracy: 40, numberChangeRate: 0.002, longestSegmentShare: 0.75 },
  },
  error: { rms: 50, p95: 90, along: { mean: -30, rms: 45 }, across: { mean: 1, rms: 20 } },
  continuity: {
    ...{ longestGap: 12, gapShare: 0.125, changesPerObjectHour: 6.5, firstPair: { mean: 2, max: 8 } },
    neverPaired: 1,
  },
  // of four axes, as points may have them
  latency: {
    ...{ latency: 0.35, latencyError: 0.004, bias: [3, -1, 0.5, 7], biasError: [0.2, 0.1, 0.3, 0.4] },
    ...{ pairs: 600, truths: 12 },
  },
};

/** Meters of a program in which everything has happened once. */
function eventful(): Meters {
  const meters = new Meters(5000);
  const tracker = { stream: 'gate-7', role: 'tracker' as const, tracker: 'sort' };
  const reference = { stream: 'gate-7', role: 'reference' as const, tracker: null };
  Object.assign(meters.feedMeter(tracker), { frames: 100, objects: 1234, lastReceivedMs: 1_763_251_200_500 });
  Object.assign(meters.feedMeter(reference), {
    frames: 101,
    objects: 1300,
    lastReceivedMs: 1_763_251_200_250,
    duplicates: 1,
  });
  const { receivedMs } = fakeReportEvent();
  const gauge = (signal: string) =>
    signal === 'missed'
      ? { active: true, certain: true, score: 1.25, expected: 0.4, observed: 6.2, count: 3, begun: 17 }
      : { active: false, certain: false, score: 0.1, expected: 0.02, observed: 0, count: 0, begun: 0 };
  const spikes = { signals: ['missed', 'switch'], gauge };
  const scores = { k: 99, frames: 60, values: { HOTA: 0.625, IDSW: 3 } };
  meters.observe(fakeReportEvent({ spikes, scores, performance: MEASURED, classes: CLASSES }), receivedMs + 4);
  meters.observe(
    fakeReportEvent({
      profile: 'weighted',
      // too little to tell more, and no times
      performance: { ...MEASURED, timed: false, detectionProbabilityError: null, error: null, latency: null },
      report: fakeReport({
        exact: false,
        gap: 0.01,
        lifetime: null,
        meanLocalizationError: Number.NaN,
        audit: { checked: 9, disagreements: 1, worstDifference: 0.5 },
      }),
      solveMs: 21,
    }),
    receivedMs + 700,
  );
  const message = '';
  meters.observe(
    {
      type: 'quarantine',
      stream: 'gate-7',
      tracker: 'sort',
      kind: 'part',
      position: 9,
      suspended: true,
      message: 'it failed',
    },
    0,
  );
  meters.observe({ type: 'late', ...tracker, count: 2, message }, 0);
  meters.observe({ type: 'missing', ...tracker, count: 3, message }, 0);
  meters.observe({ type: 'gap', ...reference, count: 4, message }, 0);
  meters.observe({ type: 'duplicate', ...reference, count: 1, message }, 0);
  meters.observe({ type: 'silence', ...reference, since: 0, over: false }, 0);
  meters.observe({ type: 'rejected', ...tracker, code: 'frame_invalid', count: 2 }, 0);
  meters.observe({ type: 'rejected', ...tracker, code: 'made up by a peer', count: 1 }, 0);
  meters.observe({ type: 'switch' } as LiveEvent, 0);
  meters.refused('token_missing');
  meters.refused('streams_exceeded');
  Object.assign(meters.counts, { pauses: 5, coalesced: 6, slowClosed: 1, overflow: 0 });
  const source = meters.openSource('gate-cameras', 'mqtt');
  Object.assign(source, { connected: true, messages: 9, bytes: 900, faults: 1, lastMs: 1_763_251_200_000 });
  source.rejects.payload_too_large = 2;
  meters.cluster = new ClusterMeters(
    () => [
      { partition: 0, hasOwner: true, isOurs: true, lagSeconds: 0.25 },
      { partition: 1, hasOwner: false, isOurs: false, lagSeconds: 3 },
    ],
    () => 2,
  );
  Object.assign(meters.cluster.counts, { taken: 3, lost: 1, released: 1, replayed: 700, retries: 2 });
  meters.cluster.publish.observe(0.004);
  meters.cluster.takeover.observe(0.6);
  return meters;
}

const samples = (text: string, name: string) =>
  text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));

describe('exposition', () => {
  it('writes the golden text', async () => {
    const { contentType, body } = await exposed(eventful()).write('text/plain');
    assert.equal(contentType, 'text/plain; version=0.0.4; charset=utf-8');
    assertGolden(body, 'metrics.txt');
  });

  it('writes the golden OpenMetrics', async () => {
    const { contentType, body } = await exposed(eventful()).write(OPENMETRICS);
    assert.equal(contentType, 'application/openmetrics-text; version=1.0.0; charset=utf-8');
    assertGolden(body, 'metrics.openmetrics');
  });

  it('writes the same text before, after and during an OpenMetrics scrape', async () => {
    const exposition = exposed(eventful(), true);
    const ours = (text: string) => text.split('\n').filter((line) => /^(# (HELP|TYPE) )?tgospa_/.test(line));
    const before = ours((await exposition.write()).body);
    const [during] = await Promise.all([exposition.write(), exposition.write(OPENMETRICS)]);
    assert.deepEqual(ours(during.body), before);
    assert.deepEqual(ours((await exposition.write()).body), before);
    assert.ok(before.some((line) => line.startsWith('tgospa_switches_total{')));
  });

  it('has the names and labels that stay', async () => {
    const { body } = await exposed(eventful()).write();
    const series = 'stream="gate-7",tracker="sort",profile="online-surveillance"';
    for (const line of [
      `tgospa_window_distance{${series}} 1.13`,
      `tgospa_window_cost{${series},component="switch"} 0.125`,
      `tgospa_window_instances{${series},kind="false"} 2`,
      `tgospa_window_switches{${series}} 1.5`,
      `tgospa_window_localization_error{${series}} 0.2`,
      `tgospa_frame_instances{${series},kind="proper"} 5`,
      `tgospa_frames_total{${series}} 70`,
      `tgospa_proper_total{${series}} 300`,
      `tgospa_missed_total{${series}} 20`,
      `tgospa_false_total{${series}} 10`,
      `tgospa_switches_total{${series}} 2.5`,
      `tgospa_lifetime_cost{${series},bound="lower"} 7.5`,
    ])
      assert.ok(body.split('\n').includes(line), line);
  });

  it('matches the catalogue of METRICS.md', () => {
    const page = readFileSync(new URL('../../../src/telemetry/METRICS.md', import.meta.url), 'utf8');
    const rows = page
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      );
    assert.deepEqual(
      rows,
      METRICS.map(({ name, type, labels, help }) => [
        `\`${name}\``,
        type,
        labels.map((label) => `\`${label}\``).join(', '),
        help,
      ]),
    );
  });

  it('removes the series of a retired stream, and its feeds with the last of them', async () => {
    const meters = eventful();
    const streams = ['gate-7', 'yard'];
    const exposition = exposed(meters, false, {
      ...SURROUNDINGS,
      streams: () => streams,
      suspended: () => [],
      resuming: () => [],
      incidents: () => [],
      objectives: () => [],
    });
    meters.observe(fakeReportEvent({ stream: 'yard' }), 0);
    const retire = (profile: string) =>
      meters.observe({ type: 'retired', stream: 'gate-7', tracker: 'sort', profile }, 0);
    retire('weighted');
    assert.equal(samples((await exposition.write()).body, 'tgospa_window_distance').length, 2);
    assert.equal(samples((await exposition.write()).body, 'tgospa_feed_frames_total').length, 2);
    retire('online-surveillance');
    streams.shift();
    const { body } = await exposition.write();
    assert.ok(!body.includes('gate-7'));
    assert.equal(samples(body, 'tgospa_window_distance').length, 1);
  });

  it('forgets the feeds of a stream that is gone without ever having had a series', async () => {
    const meters = eventful();
    const exposition = exposed(meters);
    meters.feedMeter({ stream: 'lonely', role: 'reference', tracker: null });
    assert.ok((await exposition.write()).body.includes('lonely'));
    meters.retain((stream) => stream === 'gate-7');
    assert.ok(!(await exposition.write()).body.includes('lonely'));
  });

  it('leaves out series above the cap and counts their reports', async () => {
    const meters = new Meters(2);
    const exposition = exposed(meters);
    for (let n = 0; n < 10; n++) meters.observe(fakeReportEvent({ stream: `s${n % 5}` }), 0);
    const { body } = await exposition.write();
    assert.equal(samples(body, 'tgospa_frames_total').length, 2);
    assert.deepEqual(samples(body, 'tgospa_series_overflow_total'), ['tgospa_series_overflow_total 6']);
  });

  it('never puts an object id or any other text of a peer into a label', async () => {
    const meters = eventful();
    const exposition = exposed(meters);
    const report = fakeReport({
      newest: {
        ...fakeReport().newest,
        assignment: [{ truth: 'id-of-a-truth', track: 'id-of-a-track', distance: 0.1 }],
      },
    });
    meters.observe(fakeReportEvent({ report }), 0);
    const { body } = await exposition.write();
    assert.ok(!body.includes('id-of-a') && !body.includes('made up'));
    assert.equal(
      samples(body, 'tgospa_frames_rejected_total').filter((line) => line.includes('reason="other"')).length,
      1,
    );
  });

  it('serves other work between metrics when there are thousands of series', async function () {
    skipInFastRun(this);
    const meters = new Meters(5000);
    const exposition = exposed(meters);
    for (let n = 0; n < 2000; n++) meters.observe(fakeReportEvent({ stream: `s${n}` }), 0);
    let turns = 0;
    const count = setInterval(() => turns++, 0);
    const { body } = await exposition.write();
    clearInterval(count);
    assert.equal(samples(body, 'tgospa_frames_total').length, 2000);
    assert.ok(turns > 5, `${turns} turns of the event loop`);
  });

  describe('content negotiation', () => {
    for (const [accept, expected] of [
      ['', false],
      ['*/*', false],
      ['text/plain', false],
      [OPENMETRICS, true],
      ['application/openmetrics-text', true],
      ['application/openmetrics-text; version="1.0.0"; charset=utf-8', true],
      ['application/openmetrics-text;version=0.0.1', false],
      // Prometheus 2.42
      [
        'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
        true,
      ],
      // the same with native histograms: protobuf first, which is not served
      [
        'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.4',
        true,
      ],
      ['text/plain;version=0.0.4;q=0.9,application/openmetrics-text;version=1.0.0;q=0.8', false],
      ['application/openmetrics-text;q=0,*/*;q=0.1', false],
      ['text/html,application/xhtml+xml;q=0.9,*/*;q=0.8', false],
    ] as const) {
      it(`chooses ${expected ? 'OpenMetrics' : 'text'} for "${accept.slice(0, 60)}"`, () =>
        assert.equal(prefersOpenMetrics(accept), expected));
    }
  });

  it('passes promtool check metrics, with the metrics of the process', async function () {
    const { body } = await exposed(eventful(), true).write();
    const result = spawnSync('promtool', ['check', 'metrics'], { input: body, encoding: 'utf8' });
    if (result.error) {
      if (process.env.TGOSPA_REQUIRE_SYSTEM === '1')
        throw new Error('promtool is needed and absent; Debian: apt-get install prometheus');
      console.log('      promtool is absent (Debian package prometheus), so the metrics are not linted');
      this.skip();
    }
    assert.equal(result.stderr + result.stdout, '');
    assert.equal(result.status, 0);
  });
});
