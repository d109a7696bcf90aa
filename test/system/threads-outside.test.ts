/** Streams in threads, seen from outside: sockets, pages' questions, metrics, signals, and a thread that dies. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import WebSocket from 'ws';
import { startApp } from '../../src/app.js';
import { type ClientFrame, connect, type FeedClient } from '../../src/client.js';
import { readConfig } from '../../src/config/config.js';
import { evaluate, type Frame, presets } from '../../src/index.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { crowd } from '../bench/crowd.js';
import { Probe } from '../kit/edge.js';
import { POISON } from '../kit/metric/poisoned-kernel.js';
import { randomFrom } from '../kit/random.js';
import { Program } from '../kit/system/program.js';
import { freePort, until } from '../kit/system/system.js';

const POISONED = new URL('../kit/metric/poisoned-kernel.js', import.meta.url).href;
const PROFILE = 'online-surveillance';
const WINDOW_FRAMES = 30;
const IN_THREAD = { budgetMs: 60_000, inlineMs: 0, workers: 0, threads: 1 };
const IN_WORKER = { budgetMs: 60_000, workers: 1 };
const configure = (evaluation: Record<string, number>) =>
  JSON.stringify({
    evaluation,
    data: { groupCommitMs: 2, snapshotFrames: 50 },
    streams: {
      defaults: {
        windowFrames: WINDOW_FRAMES,
        scores: { enabled: true, strideFrames: 5 },
        performance: { enabled: true, strideFrames: 5 },
        pairing: { latenessMs: 1e7, silenceMs: 1e7 },
      },
    },
  });
const TIMES = ['atMs', 'receivedMs', 'lastReceivedMs', 'solveMs', 'nowMs', 'since', 'skipped'];

const timeless = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, inner) => (TIMES.includes(key) ? undefined : inner)));

describe('streams in threads, seen from outside', () => {
  let folder: string;
  const clients: FeedClient[] = [];
  let evaluator: Program | undefined;
  let port: number;

  beforeEach(async () => {
    port = await freePort();
    folder = mkdtempSync(join(tmpdir(), 'tgospa-outside-'));
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close({ flush: false });
    await evaluator?.end('SIGKILL');
    evaluator = undefined;
    rmSync(folder, { recursive: true, force: true });
  });

  const feed = (url: string, role: 'reference' | 'tracker', bufferFrames = 1024, stream = 'gate'): FeedClient => {
    const tracker = role === 'tracker' ? 't' : undefined;
    const options = { stream, role, tracker, WebSocket, backoffMs: 20, backoffMaxMs: 200, bufferFrames };
    const client = connect({ url, ...options });
    clients.push(client);
    return client;
  };

  const part = (frame: Frame, role: 'reference' | 'tracker', k: number): ClientFrame => ({
    k,
    objects: frame[role] as ClientFrame['objects'],
  });

  /** Sends all frames on both feeds; every promise is that of an ack or of the room for it. */
  async function send(feeds: FeedClient[], frames: Frame[], first = 1): Promise<void> {
    for (const [n, frame] of frames.entries()) {
      await feeds[0].send(part(frame, 'reference', first + n));
      await feeds[1].send(part(frame, 'tracker', first + n));
    }
  }

  describe('the same is told', () => {
    async function tell(evaluation: Record<string, number>, frames: Frame[]) {
      const dir = mkdtempSync(join(folder, 'data-'));
      const overrides = { listen: { port: 0 }, data: { dir } };
      const { config } = readConfig({ text: configure(evaluation), overrides, env: {} });
      const app = await startApp(config, { logger: createLogger({ level: 'silent' }), env: {} });
      try {
        const reader = await Probe.open(`${app.urls.live}?stream=gate&objects=1`);
        const feeds = [feed(app.urls.ingest, 'reference'), feed(app.urls.ingest, 'tracker')];
        // a tracker is judged from the moment it is there
        await Promise.all(feeds.map((one) => new Promise((resolve) => one.on('open', resolve))));
        await send(feeds, frames);
        await Promise.all(feeds.map((one) => one.end()));
        const json = async (path: string) => timeless(await (await fetch(`${app.urls.http}${path}`)).json());
        const series = `stream=gate&tracker=t&profile=${PROFILE}`;
        const metrics = (await (await fetch(app.urls.metrics)).text()).split('\n');
        const reports = new Map<string, unknown>();
        for (let last = false; !last; ) {
          const message = await reader.nextOf('report');
          const { settled, k } = message as unknown as { settled: { frames: number }; k: number };
          reports.set(`${k} ${settled.frames}`, timeless(message));
          last = settled.frames === frames.length;
        }
        const newcomer = await Probe.open(`${app.urls.live}?stream=gate`);
        const greeting = timeless(await newcomer.nextOf('report'));
        await Promise.all([reader.close(), newcomer.close()]);
        return {
          threadStreams: (await app.live.storage()).threadStreams,
          answers: {
            window: await json(`/v1/window?${series}`),
            trend: await json(`/v1/trend?${series}`),
            events: await json('/v1/events?limit=1000'),
            streams: await json('/v1/streams'),
            metrics: metrics.filter(
              (line) => /(stream|feed)="gate"|tracker="t"/.test(line) && !/seconds|_ms/.test(line),
            ),
            greeting,
          },
          reports,
        };
      } finally {
        await app.stop();
      }
    }

    it('by /v1/live, /v1/window, /v1/trend, /v1/events, /v1/streams and /metrics', async () => {
      const frames = crowd(6, 90, 3);
      const here = await tell({ budgetMs: 60_000, workers: 0, threads: 0 }, frames);
      const away = await tell(IN_THREAD, frames);
      assert.deepEqual([here.threadStreams, away.threadStreams], [0, 1]);
      assert.deepEqual(away.answers, here.answers);
      assert.ok(here.answers.metrics.length > 20, here.answers.metrics.join('\n'));
      // a slow reader gets fewer reports, but no others
      const common = [...away.reports.keys()].filter((key) => here.reports.has(key));
      assert.ok(common.length > 1);
      for (const key of common) assert.deepEqual(away.reports.get(key), here.reports.get(key), key);
    });
  });

  /** `tgospa serve` in a process of its own, on a port that stays the same. */
  async function serve(evaluation: Record<string, number>, preload?: string, env = {}): Promise<string> {
    writeFileSync(join(folder, 'tgospa.yaml'), configure(evaluation));
    const args = ['serve', '--port', String(port), '--data', join(folder, 'data')];
    evaluator = Program.tgospa(args, { cwd: folder, preload, env });
    const [, url] = await evaluator.shows(/listening on (http:\/\/\S+)/);
    return url;
  }

  const windowOf = async (url: string, stream = 'gate') => {
    const answer = await fetch(`${url}/v1/window?stream=${stream}&tracker=t&profile=${PROFILE}`);
    if (!answer.ok) assert.fail(`${answer.status} ${await answer.text()}\n${evaluator!.output}`);
    return (await answer.json()) as {
      k: number;
      evaluation: { cost: { total: number }; count: object };
      settled: { frames: number; uncertified?: number };
    };
  };

  async function quarantined(url: string) {
    const answer = await fetch(`${url}/v1/events?stream=gate&limit=1000`);
    const { events = [] } = (await answer.json()) as {
      events?: Array<{ type: string; kind?: string; suspended?: boolean }>;
    };
    return events.filter(({ type }) => type === 'quarantine');
  }

  async function finish(url: string, feeds: FeedClient[], frames: Frame[], stream: string): Promise<void> {
    await Promise.all(feeds.map((one) => one.end()));
    const { k, evaluation } = await windowOf(url, stream);
    const expected = evaluate(frames.slice(-WINDOW_FRAMES), presets[PROFILE]);
    assert.equal(k, frames.length);
    assert.deepEqual(evaluation.count, expected.count);
    assert.ok(Math.abs(evaluation.cost.total - expected.cost.total) < 1e-9);
  }

  it('a backlog in a thread does not keep the process from stopping on SIGTERM, and nothing acked is lost', async () => {
    const url = await serve(IN_THREAD);
    const frames = detections(100);
    const reader = await Probe.open(`${url.replace('http', 'ws')}/v1/live?stream=gate`);
    const feeds = [feed(url, 'reference'), feed(url, 'tracker')];
    await Promise.all(feeds.map((one) => new Promise((resolve) => one.on('open', resolve))));
    await send(feeds, frames);
    await Promise.all(feeds.map((one) => one.flush()));
    assert.equal(await evaluator!.end('SIGTERM'), 0, evaluator!.output);
    await reader.closed;
    const judged = reader.received.filter(({ type }) => type === 'report').at(-1)?.k as number;
    assert.ok(judged < 100, `it waited for ${judged} frames`);
    // what is left would take a minute: it is cut short
    await serve({ ...IN_THREAD, budgetMs: 1 });
    await until('the clients are back', () => feeds.every((one) => one.connected));
    await Promise.all(feeds.map((one) => one.end()));
    const { k, settled } = await windowOf(url);
    assert.deepEqual([k, settled.frames + (settled.uncertified ?? 0)], [100, 100]);
  });

  for (const [what, how, poison, evaluation] of [
    ['thread', 'fails on a frame', POISON.throws, IN_THREAD],
    ['thread', 'ends', POISON.exits, IN_THREAD],
    ['thread', 'runs out of memory', POISON.devours, IN_THREAD],
    ['worker', 'fails on a frame', POISON.throws, IN_WORKER],
    ['worker', 'ends', POISON.exits, IN_WORKER],
  ] as const)
    it(`a ${what} that ${how} costs one frame: the process lives, and all its streams go on`, async () => {
      const url = await serve(evaluation, POISONED, { NODE_OPTIONS: '--max-old-space-size=160' });
      const frames = crowd(6, 120, 3);
      const streams = ['gate', 'well'];
      const feeds = streams.map((stream) => [feed(url, 'reference', 64, stream), feed(url, 'tracker', 64, stream)]);
      await Promise.all(feeds.flat().map((one) => new Promise((resolve) => one.on('open', resolve))));
      const poisoned = frames.map((frame, n) => (n === 59 ? poisonedBy(poison, frame) : frame));
      await Promise.all([send(feeds[0], poisoned), send(feeds[1], frames)]);
      // acks do not wait for the evaluation
      await until('the frame is set aside', async () => (await quarantined(url)).length > 0);
      await until('it is ready', async () => {
        const answers = (await (await fetch(`${url}/readyz`)).json()) as { reasons: string[] };
        return isDeepStrictEqual(answers, { status: 'ready', ready: true, reasons: [] });
      });
      await finish(url, feeds[0], frames, 'gate');
      await finish(url, feeds[1], frames, 'well');
      assert.deepEqual(
        (await quarantined(url)).map(({ kind, suspended }) => [kind, suspended]),
        [['part', false]],
      );
      const metrics = await (await fetch(`${url}/metrics`)).text();
      const value = (name: string) =>
        Number(
          metrics
            .split('\n')
            .find((line) => line.startsWith(name))
            ?.split(' ')[1],
        );
      const series = (stream: string) => `{stream="${stream}",tracker="t",profile="${PROFILE}"}`;
      assert.equal(value('tgospa_records_failed_total{stream="gate"}'), 1);
      assert.equal(value('tgospa_records_failed_total{stream="well"}'), 0);
      // whichever half of the frame came last was set aside: the other is judged when it is the reference
      assert.ok([119, 120].includes(value(`tgospa_frames_total${series('gate')}`)));
      assert.equal(value(`tgospa_frames_total${series('well')}`), 120);
      assert.equal(value('tgospa_thread_streams'), what === 'thread' ? 2 : 0);
      assert.equal(evaluator!.ended, false);
    });
});

/** A frame with one more track, which the kernel of the test fails on. */
const poisonedBy = (id: string, { reference, tracker }: Frame): Frame => ({
  reference,
  tracker: [...tracker, { id, box: [9000, 9000, 5, 5] }],
});

/** Detections without identities, twenty objects upon each other: each solve takes a good part of a second. */
function detections(frames: number): Frame[] {
  const next = randomFrom(5);
  const boxes = Array.from({ length: 20 }, () => ({ x: 100 * next(), y: 60 * next(), dx: 4 * next() - 2 }));
  return Array.from({ length: frames }, (_, k) => {
    for (const box of boxes) box.x += box.dx;
    const reference = boxes.map(({ x, y }, n) => ({ id: `g${n}`, box: [x, y, 40, 80] }));
    const tracker = boxes.map(({ x, y }, n) => ({ id: `d${k}-${n}`, box: [x + 8 * next(), y + 8 * next(), 40, 80] }));
    return { reference, tracker } as Frame;
  });
}
