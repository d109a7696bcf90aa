/** The whole evaluator in one process: real sockets, real store, real windows. */
import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import WebSocket from 'ws';
import { type App, startApp } from '../src/app.js';
import { type ClientFrame, connect } from '../src/client.js';
import { readConfig } from '../src/config/config.js';
import { evaluate, type Frame, presets } from '../src/index.js';
import { createLogger } from '../src/telemetry/logger.js';
import { hello, Probe } from './kit/edge.js';

const quiet = createLogger({ level: 'silent' });

/** Two objects that pass each other, and a tracker that exchanges them half way and misses one now and then. */
function sceneOf(frameCount: number): Frame[] {
  return Array.from({ length: frameCount }, (_, n) => {
    const boxes = [
      [n * 3, 10, 40, 80],
      [300 - n * 3, 14, 40, 80],
    ] as Array<[number, number, number, number]>;
    const swapped = n > frameCount / 2;
    const tracker = boxes.map((box, i) => ({
      id: `t${swapped ? 1 - i : i}`,
      box: [box[0] + (n % 3), box[1], box[2], box[3]] as [number, number, number, number],
    }));
    return {
      reference: boxes.map((box, i) => ({ id: `r${i}`, box })),
      tracker: n % 7 === 3 ? tracker.slice(1) : tracker,
    };
  });
}

const partOf = (objects: Frame['reference'], n: number): ClientFrame => ({
  k: n + 1,
  objects: objects as ClientFrame['objects'],
});

describe('app', () => {
  let folder: string;
  let app: App | null = null;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-app-'));
  });
  afterEach(async () => {
    await app?.stop();
    app = null;
    rmSync(folder, { recursive: true, force: true });
  });

  const start = async (text = '') => {
    const { config } = readConfig({
      text,
      overrides: { listen: { port: 0 }, data: { dir: join(folder, 'data') } },
      env: {},
    });
    app = await startApp(config, { logger: quiet, env: {} });
    return app;
  };

  const feed = (role: 'reference' | 'tracker') =>
    connect({
      url: app!.urls.ingest,
      stream: 'gate-7',
      role,
      tracker: role === 'tracker' ? 'sort' : undefined,
      WebSocket,
      backoffMs: 5,
    });

  /** Sends frames over both feeds; resolves when all are stored. */
  async function send(frames: Frame[], from: number, to: number): Promise<void> {
    const feeds = [feed('reference'), feed('tracker')];
    for (let n = from; n < to; n++) {
      await feeds[0].send(partOf(frames[n].reference, n));
      await feeds[1].send(partOf(frames[n].tracker, n));
    }
    await Promise.all(feeds.map((one) => one.close()));
  }

  const close = (a: number, b: number) =>
    assert.ok(Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b)), `${a} is not ${b}`);

  it('reports over /v1/live what evaluate says about the same frames', async () => {
    await start();
    const frames = sceneOf(100);
    const reader = await Probe.open(`${app!.urls.live}?stream=gate-7&tracker=sort`);
    await send(frames, 0, 100);
    for (let k = 0; k < 100; ) {
      const report = await reader.nextOf('report');
      k = report.k as number;
      const expected = evaluate(frames.slice(Math.max(0, k - 60), k), presets['online-surveillance']);
      const window = report.window as { distance: number; count: object };
      close(window.distance, expected.distance);
      assert.deepEqual(window.count, expected.count);
    }
    await reader.close();
  });

  it('serves the window with assignments, the streams, and metrics that agree with it', async () => {
    await start();
    const frames = sceneOf(80);
    await send(frames, 0, 80);
    const get = async (path: string) => (await fetch(`${app!.urls.http}${path}`)).text();
    const expected = evaluate(frames.slice(20), presets['online-surveillance']);
    let window: { evaluation?: object; distance?: number };
    do window = JSON.parse(await get('/v1/window?stream=gate-7&tracker=sort&profile=online-surveillance'));
    while (Math.abs(distanceOf(window) - expected.distance) > 1e-9);
    assert.match(JSON.stringify(window), /"truth":"r0","track":"t1"/);
    assert.match(await get('/v1/streams'), /"gate-7"/);
    const line = (await get('/metrics')).split('\n').find((text) => text.startsWith('tgospa_window_distance{'))!;
    close(Number(line.split(' ')[1]), expected.distance);
    assert.equal((await fetch(`${app!.urls.http}/readyz`)).status, 200);
  });

  it('goes on after a restart with windows, counters and metrics as if there had been none', async () => {
    await start();
    const frames = sceneOf(100);
    await send(frames, 0, 70);
    await app!.stop();
    await start();
    const before = await (await fetch(app!.urls.metrics)).text();
    assert.match(before, /tgospa_frames_total\{[^}]*\} \d+/, 'the series is there before any new frame');
    await send(frames, 70, 100);
    const expected = evaluate(frames.slice(40), presets['online-surveillance']);
    for (;;) {
      const line = (await (await fetch(app!.urls.metrics)).text())
        .split('\n')
        .find((text) => text.startsWith('tgospa_window_distance{'));
      if (line && Math.abs(Number(line.split(' ')[1]) - expected.distance) < 1e-9) break;
    }
  });

  it('settles everything when both feeds have ended', async () => {
    await start();
    const frames = sceneOf(50);
    const feeds = [feed('reference'), feed('tracker')];
    for (const [n, frame] of frames.entries()) {
      await feeds[0].send(partOf(frame.reference, n));
      await feeds[1].send(partOf(frame.tracker, n));
    }
    await Promise.all(feeds.map((one) => one.end()));
    const expected = evaluate(frames, presets['online-surveillance']);
    for (;;) {
      const text = await (await fetch(app!.urls.metrics)).text();
      const total = (name: string) =>
        Number(
          text
            .split('\n')
            .find((line) => line.startsWith(`${name}{`))
            ?.split(' ')[1],
        );
      if (total('tgospa_frames_total') !== 50) continue;
      assert.deepEqual(
        ['proper', 'missed', 'false', 'switches'].map((kind) => total(`tgospa_${kind}_total`)),
        [expected.count.proper, expected.count.missed, expected.count.false, expected.count.switches],
      );
      break;
    }
    await Promise.all(feeds.map((one) => one.close()));
  });

  const refusal = async (changes: object) => {
    const probe = await Probe.open(app!.urls.ingest);
    probe.send(hello(changes));
    const { code, path, message } = await probe.nextOf('reject');
    return { code, path, message: message as string, closed: (await probe.closed).code };
  };

  it('refuses points without a profile, with the lines to add, and takes them once these are added', async () => {
    await start();
    const { code, message, closed } = await refusal({ shape: 'point' });
    assert.deepEqual([code, closed], ['profile_missing', 4400]);
    const lines = message.split('\n').slice(1).join('\n');
    assert.match(lines, /profiles:/);
    await app!.stop();
    await start(lines);
    const probe = await Probe.open(app!.urls.ingest);
    probe.send(hello({ shape: 'point' }));
    assert.equal((await probe.nextOf('welcome')).shape, 'point');
    probe.send({ type: 'frame', seq: 1, k: 1, objects: [{ id: 'a', point: [1, 2, 3] }] });
    assert.equal((await probe.nextOf('ack')).seq, 1);
    probe.socket.terminate();
    await app!.stop();
    await start(lines);
    const later = await Probe.open(app!.urls.ingest);
    later.send(hello());
    await later.nextOf('welcome');
    later.send({ type: 'frame', seq: 2, k: 2, objects: [{ id: 'a', point: [1, 2] }] });
    assert.equal((await later.nextOf('reject')).code, 'shape_mismatch', 'the dimension is known after a restart');
  });

  it('refuses settings that contradict each other or those of the running stream, and streams above the cap', async () => {
    await start('limits: { streams: 1, trackersPerStream: 1 }');
    const contradiction = await refusal({ settings: { windowFrames: 10, settleFrames: 20 } });
    assert.deepEqual([contradiction.code, contradiction.path], ['settings_invalid', 'settings.settleFrames']);
    const probe = await Probe.open(app!.urls.ingest);
    probe.send(hello({ settings: { windowFrames: 30 } }));
    assert.equal((await probe.nextOf('welcome')).windowFrames, 30);
    const other = await refusal({ role: 'reference', tracker: undefined, settings: { windowFrames: 40 } });
    assert.deepEqual([other.code, other.path], ['settings_invalid', 'settings.windowFrames']);
    const reference = await Probe.open(app!.urls.ingest);
    reference.send(hello({ role: 'reference', tracker: undefined }));
    assert.equal((await reference.nextOf('welcome')).windowFrames, 30, 'who comes later is told what holds');
    assert.deepEqual((await refusal({ tracker: 'second' })).code, 'trackers_exceeded');
    assert.deepEqual(await refusal({ stream: 'second' }).then(({ code, closed }) => [code, closed]), [
      'streams_exceeded',
      4429,
    ]);
    assert.match(
      await (await fetch(app!.urls.metrics)).text(),
      /tgospa_connections_refused_total\{reason="streams_exceeded"\} 1/,
    );
  });

  it('stores everything in order when the disk falls behind', async () => {
    await start('data: { queueMaxBytes: 1, groupCommitMs: 5, storageRetryMs: 5 }');
    const frames = sceneOf(20);
    await send(frames, 0, 20);
    const { streams } = JSON.parse(await (await fetch(`${app!.urls.http}/v1/streams`)).text());
    assert.deepEqual(
      streams[0].feeds.map((one: { seq: number }) => one.seq),
      [20, 20],
    );
  });

  it('leaves nothing behind when the port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const { config } = readConfig({ overrides: { listen: { port }, data: { dir: join(folder, 'data') } }, env: {} });
    await assert.rejects(startApp(config, { logger: quiet, env: {} }), { code: 'EADDRINUSE' });
    other.close();
    // the store was closed again, so it can be opened
    await start();
  });
});

const distanceOf = (window: { evaluation?: object; distance?: number }): number =>
  window.distance ?? (window.evaluation as { distance: number }).distance;
