/** A worker that fails, ends or runs out of memory, seen from outside: it costs one frame, and everybody goes on. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import WebSocket from 'ws';
import { type ClientFrame, connect, type FeedClient } from '../../src/client.js';
import { evaluate, type Frame, presets } from '../../src/index.js';
import { crowd } from '../bench/crowd.js';
import { Probe } from '../kit/edge.js';
import { POISON } from '../kit/metric/poisoned-kernel.js';
import { randomFrom } from '../kit/random.js';
import { Program } from '../kit/system/program.js';
import { freePort, until } from '../kit/system/system.js';

const POISONED = new URL('../kit/metric/poisoned-kernel.js', import.meta.url).href;
const PROFILE = 'online-surveillance';
const WINDOW_FRAMES = 30;
const IN_WORKER = { budgetMs: 60_000, workers: 1 };
const configure = (evaluation: Record<string, number>) =>
  JSON.stringify({
    evaluation,
    limits: { stopMs: 1000 },
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
describe('a worker that dies', () => {
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

  for (const [how, poison] of [
    ['fails on a frame', POISON.throws],
    ['ends', POISON.exits],
    ['runs out of memory', POISON.devours],
  ] as const)
    it(`a worker that ${how} costs one frame: the process lives, and all its streams go on`, async () => {
      const url = await serve(IN_WORKER, POISONED, { NODE_OPTIONS: '--max-old-space-size=160' });
      const frames = crowd(6, 120, 3);
      const streams = ['gate', 'well'];
      const feeds = streams.map((stream) => [feed(url, 'reference', 64, stream), feed(url, 'tracker', 64, stream)]);
      await Promise.all(feeds.flat().map((one) => new Promise((resolve) => one.on('open', resolve))));
      const poisoned = frames.map((frame, n) => (n === 59 ? poisonedBy(poison, frame) : frame));
      await Promise.all([send(feeds[0], poisoned), send(feeds[1], frames)]);
      // acks do not wait for the evaluation
      await until('the frame is set aside', async () => (await quarantined(url)).length > 0);
      await until('it is ready', async () => {
        const { ready, reasons } = (await (await fetch(`${url}/readyz`)).json()) as {
          ready: boolean;
          reasons: string[];
        };
        return ready && reasons.length === 0;
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
      assert.equal(evaluator!.ended, false);
    });

  for (const workers of [0, 1])
    it(`a backlog does not keep a process with ${workers} workers from stopping on SIGTERM, and nothing acked is lost`, async () => {
      const evaluation = { budgetMs: 60_000, workers };
      const url = await serve(evaluation);
      const frames = detections(100);
      const reader = await Probe.open(`${url.replace('http', 'ws')}/v1/live?stream=gate`);
      const feeds = [feed(url, 'reference'), feed(url, 'tracker')];
      await Promise.all(feeds.map((one) => new Promise((resolve) => one.on('open', resolve))));
      await send(feeds, frames);
      await Promise.all(feeds.map((one) => one.flush()));
      assert.equal(await evaluator!.end('SIGTERM'), 0, evaluator!.output);
      await reader.closed;
      const judged = (reader.received.filter(({ type }) => type === 'report').at(-1)?.k ?? 0) as number;
      assert.ok(judged < 100, `it waited for ${judged} frames`);
      // what is left would take a minute: it is cut short
      await serve({ ...evaluation, budgetMs: 1 });
      await until('the clients are back', () => feeds.every((one) => one.connected));
      await Promise.all(feeds.map((one) => one.end()));
      const { k, settled } = await windowOf(url);
      assert.deepEqual([k, settled.frames + (settled.uncertified ?? 0)], [100, 100]);
    });
});

/** Twenty objects in each other's reach, and a detector that knows no identities: a solve takes its time. */
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

/** A frame with one more track, which the kernel of the test fails on. */
const poisonedBy = (id: string, { reference, tracker }: Frame): Frame => ({
  reference,
  tracker: [...tracker, { id, box: [9000, 9000, 5, 5] }],
});
