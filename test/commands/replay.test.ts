/** Recorded files sent to a real evaluator, through a connection that is cut on the way. */
import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect as connectTcp, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, startApp } from '../../src/app.js';
import { UsageError } from '../../src/commands/console/options.js';
import { runReplay } from '../../src/commands/replay.js';
import { readConfig } from '../../src/config/config.js';
import { evaluate, type Frame, InputError, presets } from '../../src/index.js';
import { crossingScene } from '../../src/simulation/walkers.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { metric } from '../kit/exposition.js';
import { UNTIMED_EVALUATION, UNTIMED_PAIRING } from '../kit/settings.js';
import { outputOf } from '../kit/system/command-line.js';
import { skipInFastRun } from '../kit/system/system.js';

/** Passes bytes on, and cuts each of its first connections after so many of them. */
class CuttingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  cuts = 0;

  private constructor(target: number, cutAfterBytes: number[]) {
    this.#server = createServer((client) => {
      let left = cutAfterBytes.shift() ?? Number.POSITIVE_INFINITY;
      const upstream = connectTcp(target, '127.0.0.1');
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket);
        socket.on('error', () => {}).on('close', () => [client, upstream].map((one) => one.destroy()));
      }
      upstream.pipe(client);
      client.on('data', (chunk) => {
        upstream.write(chunk);
        left -= chunk.length;
        if (left > 0) return;
        this.cuts++;
        client.destroy();
      });
    });
  }

  static async to(url: string, cutAfterBytes: number[]): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(Number(new URL(url).port), cutAfterBytes);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

/** Frames of the built-in scene as MOTChallenge text, with numbers as ids. */
function textOf(frames: Frame[], feed: 'reference' | 'tracker'): string {
  const numbers = new Map<string, number>();
  const lines = frames.flatMap((frame, index) =>
    frame[feed].map((object) => {
      const number = numbers.get(object.id) ?? numbers.size + 1;
      numbers.set(object.id, number);
      return [index + 1, number, ...(object as { box: number[] }).box, 1].join(',');
    }),
  );
  return `${lines.join('\n')}\n`;
}

describe('replay', () => {
  let folder: string;
  let app: App;
  let proxy: CuttingProxy | null = null;
  const frames = new Map(crossingScene().trackers.map((tracker) => [tracker.name, tracker.frames]));
  const file = (name: string) => join(folder, `${name}.txt`);
  const writeScene = (length = Number.POSITIVE_INFINITY): void => {
    const ofTracker = (name: string) => frames.get(name)!.slice(0, length);
    writeFileSync(file('crossing'), textOf(ofTracker('steady'), 'reference'));
    for (const name of ['steady', 'faulty']) writeFileSync(file(name), textOf(ofTracker(name), 'tracker'));
  };

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-replay-'));
    writeScene();
    const overrides = { listen: { port: 0 }, data: { dir: join(folder, 'data') } };
    const text = JSON.stringify({
      evaluation: UNTIMED_EVALUATION,
      streams: { defaults: { pairing: UNTIMED_PAIRING } },
    });
    app = await startApp(readConfig({ text, overrides, env: {} }).config, {
      env: {},
      logger: createLogger({ level: 'silent' }),
    });
  });
  afterEach(async () => {
    proxy?.close();
    proxy = null;
    await app.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  function replay(args: string[], signal = new AbortController().signal) {
    return outputOf((words, console) => runReplay(words, console, signal), args);
  }

  const files = () => ['--reference', file('crossing'), '--tracker', file('steady'), '--tracker', file('faulty')];
  const metrics = async () => (await fetch(app.urls.metrics)).text();

  it('sends every frame of every feed once, also when connections are cut, and settles them', async function () {
    skipInFastRun(this);
    proxy = await CuttingProxy.to(app.urls.http, [2000, 30_000, 9000]);
    const { out } = await replay([...files(), '--url', proxy.url, '--fps', 'max']);
    assert.equal(proxy.cuts, 3);
    assert.match(out, /stream crossing, trackers steady, faulty: stored and settled 300 frames in /);
    const text = await metrics();
    for (const tracker of ['steady', 'faulty']) {
      const series = { stream: 'crossing', tracker, profile: 'online-surveillance' };
      const { count } = evaluate(frames.get(tracker)!, presets['online-surveillance']);
      assert.equal(metric(text, 'tgospa_frames_total', series), 300);
      assert.equal(metric(text, 'tgospa_proper_total', series), count.proper);
      assert.equal(metric(text, 'tgospa_missed_total', series), count.missed);
      assert.equal(metric(text, 'tgospa_false_total', series), count.false);
      assert.equal(
        metric(text, 'tgospa_frames_missing_total', { stream: 'crossing', role: 'tracker', tracker }) || 0,
        0,
      );
    }
  });

  it('keeps the pace it is told', async function () {
    skipInFastRun(this);
    const began = performance.now();
    const { out } = await replay([...files(), '--url', app.urls.ingest, '--fps', '250']);
    const seconds = (performance.now() - began) / 1000;
    // 300 frames at 250 per second
    assert.ok(seconds >= 1.19, `${seconds} s`);
    assert.match(out, /300 frames in /);
  });

  it('goes round until it is stopped, with new ids and ever higher frame numbers', async function () {
    skipInFastRun(this);
    writeScene(100);
    const controller = new AbortController();
    app.live.readReports(true);
    const stopped = app.live.events$.subscribe((event) => {
      if (event.type === 'report' && event.tracker === 'steady' && event.k > 250) controller.abort();
    });
    const args = [...files(), '--url', app.urls.ingest, '--fps', 'max', '--loop', '--stream', 'rounds'];
    const { out } = await replay(args, controller.signal);
    stopped.unsubscribe();
    assert.match(out, /stream rounds, .*: stopped after \d+ frames/);
    const window = (await app.live.window('rounds', 'steady', 'online-surveillance'))!;
    assert.ok(window.frames.at(-1)!.reference.every(({ id }) => /~([3-9]|\d\d+)$/.test(id)));
  });

  it('judges under the profiles it is told', async function () {
    skipInFastRun(this);
    const args = [...files(), '--url', app.urls.ingest, '--fps', 'max', '--profile', 'detector-training'];
    await replay(args);
    assert.deepEqual((await app.live.streams())[0].profiles, ['detector-training']);
  });

  it('repeats the refusal of the evaluator in its own words', async () => {
    const args = [...files(), '--url', app.urls.ingest, '--profile', 'nobody-knows'];
    await assert.rejects(replay(args), (error) => {
      assert.ok(error instanceof InputError);
      assert.match(error.message, /nobody-knows/);
      return true;
    });
  });

  it('tells every mistake of the command line together', async () => {
    await assert.rejects(
      replay(['--fps', '0', '--url', 'nowhere', '--stream', ' ', '--loup', 'x.txt', '--stream', 'b']),
      (error) => {
        assert.ok(error instanceof UsageError);
        for (const option of ['--loup; did you mean --loop?', '--stream is given twice'])
          assert.ok(error.message.includes(option), `${option} is not in ${error.message}`);
        for (const option of ['--reference', '--tracker', '--fps', '--url', '--stream must'])
          assert.ok(error.message.includes(option), `${option} is not in ${error.message}`);
        return true;
      },
    );
    assert.match((await replay(['--help'])).out, /Usage: tgospa replay/);
  });
});
