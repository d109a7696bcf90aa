/**
 * A MOT17 sequence through the whole evaluator: two clients that know nothing of each other, one of which is cut off
 * again and again, at full speed over real sockets. What comes out over /v1/live and /metrics must be what `evaluate`
 * says.
 */
import { strict as assert } from 'node:assert';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import WebSocket from 'ws';
import { type App, startApp } from '../../src/app.js';
import { type ClientFrame, connect, type FeedClient, type WebSocketConstructor } from '../../src/client.js';
import { readConfig } from '../../src/config/config.js';
import { type Evaluation, evaluate, type Frame, presets, type Report, SlidingWindow } from '../../src/index.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { Probe } from '../kit/edge.js';
import { metric } from '../kit/exposition.js';
import { mot17 } from '../kit/metric/mot17.js';
import { UNTIMED_EVALUATION, UNTIMED_PAIRING } from '../kit/settings.js';

const SEQUENCE = 'MOT17-09';
const TRACKER = 'BoT-SORT-ReTrack-Botsort_baseline';
const PROFILES = ['online-surveillance', 'offline-scene-understanding'] as const;
/** Solving windows from nothing takes its time where switches are dear. */
const COMPARED_EVERY = { 'online-surveillance': 1, 'offline-scene-understanding': 15 };
const WINDOW_FRAMES = 60;
const CUTS = [40, 130, 131, 250];
const FRAMES = 320;

type LiveReport = { k: number; profile: (typeof PROFILES)[number]; window: Evaluation } & Pick<
  Report,
  'newest' | 'settled' | 'lifetime'
>;

/** Remembers its sockets, so that they can be cut without a word. */
class CutWebSocket extends WebSocket {
  static newest: CutWebSocket | null = null;
  constructor(url: string, protocols: string[]) {
    super(url, protocols);
    CutWebSocket.newest = this;
  }
}

describe('the whole evaluator', () => {
  let folder: string;
  let app: App;
  let frames: Frame[];

  before(function () {
    const found = mot17(SEQUENCE, TRACKER);
    if (found === null) {
      console.log(`      ${SEQUENCE} is not in ../shared/data/MOT17: these tests are skipped`);
      this.skip();
    }
    frames = found!.slice(0, FRAMES);
  });
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-end-to-end-'));
    const { config } = readConfig({
      text: JSON.stringify({
        evaluation: UNTIMED_EVALUATION,
        limits: { liveShare: 1 },
        streams: { defaults: { profiles: PROFILES, windowFrames: WINDOW_FRAMES, pairing: UNTIMED_PAIRING } },
      }),
      overrides: { listen: { port: 0 }, data: { dir: join(folder, 'data') } },
      env: {},
    });
    app = await startApp(config, { env: {}, logger: createLogger({ level: 'silent' }) });
  });
  afterEach(async () => {
    await app?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = (role: 'reference' | 'tracker', socket: WebSocketConstructor) =>
    connect({
      url: app.urls.ingest,
      stream: SEQUENCE,
      role,
      tracker: role === 'tracker' ? 'bot-sort' : undefined,
      WebSocket: socket,
      backoffMs: 5,
    });

  /** Sends one feed as fast as it is taken; cuts the connection after the frames named. */
  async function send(client: FeedClient, role: 'reference' | 'tracker', cuts: number[]): Promise<void> {
    for (const [n, frame] of frames.entries()) {
      await client.send({ k: n + 1, objects: frame[role] as ClientFrame['objects'] });
      if (!cuts.includes(n + 1)) continue;
      // frames are on their way, some stored and some not
      await new Promise((resolve) => client.on('ack', resolve));
      CutWebSocket.newest!.terminate();
    }
    await client.end();
  }

  const close = (actual: number, expected: number, what: string) =>
    assert.ok(Math.abs(actual - expected) <= 1e-9 * Math.max(1, Math.abs(expected)), `${what}: ${actual}, ${expected}`);

  /** Everything in an evaluation that is a number. */
  function same(actual: Evaluation, expected: Evaluation, what: string): void {
    close(actual.distance, expected.distance, `${what} distance`);
    for (const component of ['localization', 'missed', 'false', 'switch', 'total'] as const)
      close(actual.cost[component], expected.cost[component], `${what} cost ${component}`);
    assert.deepEqual(actual.count, expected.count, what);
    close(actual.meanLocalizationError, expected.meanLocalizationError, `${what} error`);
    assert.equal(actual.frames, expected.frames, what);
  }

  it('reports over /v1/live and /metrics what evaluate says about the same frames, whatever the connections go through', async () => {
    const reader = await Probe.open(`${app.urls.live}?stream=${SEQUENCE}`);
    const reference = open('reference', WebSocket);
    const tracker = open('tracker', CutWebSocket);
    let cuts = 0;
    tracker.on('reconnecting', () => cuts++);
    await Promise.all([send(reference, 'reference', []), send(tracker, 'tracker', CUTS)]);
    await Promise.all([reference.close(), tracker.close()]);
    assert.equal(cuts, CUTS.length);
    const text = await (await fetch(app.urls.metrics)).text();
    const reports = await readAll(reader);
    for (const profile of PROFILES) {
      const params = presets[profile];
      const ofProfile = reports.filter((report) => report.profile === profile);
      for (const { k, window } of ofProfile.filter((report) => report.k % COMPARED_EVERY[profile] === 0))
        same(window, evaluate(frames.slice(Math.max(0, k - WINDOW_FRAMES), k), params), `${profile} at frame ${k}`);
      // every frame has its report; the end of the feeds brings one more
      const numbers = ofProfile.map(({ k }) => k);
      assert.deepEqual(
        [...new Set(numbers)],
        Array.from(frames, (_, n) => n + 1),
      );
      checkMetrics(text, profile, ofProfile.at(-1)!);
      checkSettled(profile, ofProfile.at(-1)!);
    }
  });

  /** The reports up to those that the end of both feeds brings. */
  async function readAll(reader: Probe): Promise<LiveReport[]> {
    const reports: LiveReport[] = [];
    for (let ends = 0; ends < PROFILES.length; ) {
      const report = (await reader.nextOf('report')) as unknown as LiveReport & { skipped?: number };
      assert.equal(report.skipped, undefined, 'this reader keeps up');
      reports.push(report);
      if (report.settled.frames === frames.length) ends++;
    }
    await reader.close();
    return reports;
  }

  function checkMetrics(text: string, profile: (typeof PROFILES)[number], { settled, lifetime, newest }: LiveReport) {
    const expected = evaluate(frames.slice(-WINDOW_FRAMES), presets[profile]);
    const labels = { stream: SEQUENCE, tracker: 'bot-sort', profile };
    const is = (name: string, value: number, more: Record<string, string> = {}) =>
      close(metric(text, name, { ...labels, ...more }), value, `${name} ${JSON.stringify(more)}`);
    is('tgospa_window_distance', expected.distance);
    for (const component of ['localization', 'missed', 'false', 'switch'] as const)
      is('tgospa_window_cost', expected.cost[component], { component });
    for (const kind of ['proper', 'missed', 'false'] as const) {
      is('tgospa_window_instances', expected.count[kind], { kind });
      is('tgospa_frame_instances', newest.count[kind], { kind });
      is(`tgospa_${kind}_total`, settled.count[kind]);
    }
    is('tgospa_window_switches', expected.count.switches);
    is('tgospa_window_localization_error', expected.meanLocalizationError);
    is('tgospa_frames_total', frames.length);
    is('tgospa_switches_total', settled.count.switches);
    for (const bound of ['lower', 'upper'] as const) is('tgospa_lifetime_cost', lifetime![bound], { bound });
    for (const role of ['reference', 'tracker'])
      close(metric(text, 'tgospa_feed_frames_total', { stream: SEQUENCE, role }), frames.length, role);
  }

  /** What is settled must be what a window settles that has never seen a socket; its bounds hold the true cost. */
  function checkSettled(profile: (typeof PROFILES)[number], { settled, lifetime }: LiveReport): void {
    const window = new SlidingWindow({ ...presets[profile], windowFrames: WINDOW_FRAMES });
    for (const frame of frames) window.push(frame);
    const expected = window.end();
    window.dispose();
    assert.deepEqual(settled.count, expected.settled.count);
    for (const component of ['localization', 'missed', 'false', 'switch'] as const)
      close(settled.cost[component], expected.settled.cost[component], `settled ${component}`);
    const { total } = evaluate(frames, presets[profile]).cost;
    assert.ok(lifetime!.lower <= total * (1 + 1e-9) && total <= lifetime!.upper * (1 + 1e-9));
  }
});
