/**
 * Transponders against a radar, through `tgospa serve` in a process of its own: aircraft report themselves one by one
 * with the TypeScript client or the one in Python, a radar that is late sees most of them every four seconds. What was
 * simulated is what comes out, in /v1/streams and /metrics.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import WebSocket from 'ws';
import { connect } from '../../src/client.js';
import { PERFORMANCE_METRICS } from '../../src/telemetry/performance-metrics.js';
import { metric } from '../kit/exposition.js';
import { UNTIMED_EVALUATION, UNTIMED_PAIRING } from '../kit/settings.js';
import { hasWebsockets, Program, PYTHON, runPython } from '../kit/system/program.js';
import { freePort, skipUnless, until } from '../kit/system/system.js';

const START_S = 1_763_251_200;
const SCANS = 40;
const SCAN_S = 4;
const REPORT_S = 10;
const LATE_S = 1;
const LABELS = { stream: 'airspace', tracker: 'radar', profile: 'plane' };

const CONFIG = {
  evaluation: UNTIMED_EVALUATION,
  profiles: { plane: { distance: 'euclidean', cutoff: 1000, admissibleError: 700, shortSwitchDistance: 300 } },
  streams: {
    defaults: {
      profiles: ['plane'],
      windowFrames: 10,
      pairing: UNTIMED_PAIRING,
      reports: { greatestGapMs: 60_000 },
      performance: { enabled: true },
    },
  },
};

const craft = Array.from({ length: 10 }, (_, n) => ({ n, v: [150 * Math.cos(n), 150 * Math.sin(n)] }));
const at = ({ n, v }: (typeof craft)[number], s: number) => [n * 100_000 + v[0] * s, v[1] * s];

/** Each aircraft at a time of its own, from before the first scan until after the last. */
const reports = craft
  .flatMap((one) =>
    Array.from({ length: Math.ceil((SCANS * SCAN_S) / REPORT_S) + 2 }, (_, n) => {
      const s = (n - 1) * REPORT_S + one.n;
      return { id: `a${one.n}`, t: START_S + s, point: at(one, s) };
    }),
  )
  .sort((a, b) => a.t - b.t);

/** One in ten is not seen, everybody in turn. */
const scans = Array.from({ length: SCANS }, (_, k) => ({
  t: START_S + k * SCAN_S,
  objects: craft
    .filter(({ n }) => (k + n) % 10 !== 0)
    .map((one) => ({ id: `t${one.n}`, point: at(one, k * SCAN_S - LATE_S) })),
}));

describe('reports through the whole evaluator', () => {
  let folder: string;
  let evaluator: Program | undefined;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-reports-'));
  });
  afterEach(async () => {
    await evaluator?.end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  async function serve(): Promise<string> {
    const port = await freePort();
    const http = `http://127.0.0.1:${port}`;
    const file = join(folder, 'tgospa.json');
    writeFileSync(file, JSON.stringify(CONFIG));
    evaluator = Program.tgospa(['serve', '--config', file, '--port', `${port}`, '--data', join(folder, 'data')]);
    await evaluator.ready(`${http}/readyz`);
    return http;
  }

  it('are judged at the scans of a radar, whose detection probability and latency are found', async () => {
    const http = await serve();
    const reference = connect({ url: http, stream: 'airspace', role: 'reference', shape: 'point', WebSocket });
    const radar = connect({ url: http, stream: 'airspace', role: 'tracker', tracker: 'radar', WebSocket });
    await Promise.all([reference, radar].map((feed) => feed.ready()));
    for (const report of reports) await reference.sendReports([report]);
    for (const scan of scans) await radar.send(scan);
    await Promise.all([reference, radar].map((feed) => feed.end()));
    // nobody comes back once the evaluator is gone
    await Promise.all([reference, radar].map((feed) => feed.close()));
    await assertFound(http);
  });

  it('come from Python as well', async function () {
    skipUnless(this, hasWebsockets(), `${PYTHON} lacks websockets; install python3-websockets`);
    const http = await serve();
    const scene = JSON.stringify({ stream: 'airspace', reports, scans });
    const { status, stderr } = await runPython(['send_reports.py'], http, scene);
    assert.equal(status, 0, stderr);
    await assertFound(http);
  });

  /** What was simulated is what is told. */
  async function assertFound(http: string): Promise<void> {
    let text = '';
    await until('everything has settled', async () => {
      text = await (await fetch(`${http}/metrics`)).text();
      return metric(text, 'tgospa_frames_total', LABELS) === SCANS;
    });
    const all = SCANS * craft.length;
    assert.equal(metric(text, 'tgospa_missed_total', LABELS), all / 10);
    assert.equal(metric(text, 'tgospa_proper_total', LABELS), (all * 9) / 10);
    assert.equal(metric(text, 'tgospa_false_total', LABELS), 0);
    assert.equal(metric(text, 'tgospa_detection_probability', LABELS), 0.9);
    assert.ok(Math.abs(metric(text, 'tgospa_feed_latency_seconds', LABELS) - LATE_S) < 0.03 * LATE_S);

    for (const { name } of PERFORMANCE_METRICS) assert.match(text, new RegExp(`^${name}\\{`, 'm'), 'for the dashboard');

    const { streams } = (await (await fetch(`${http}/v1/streams`)).json()) as {
      streams: Array<{ series: Array<{ performance: { detectionProbability: number; timed: boolean } }> }>;
    };
    const { detectionProbability, timed } = streams[0].series[0].performance;
    assert.deepEqual({ detectionProbability, timed }, { detectionProbability: 0.9, timed: true });
  }
});
