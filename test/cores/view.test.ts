/**
 * One view of several workers: whoever asks the evaluator over HTTP, reads along, or is limited by it, cannot tell how
 * many threads there are behind it; and what was counted is not forgotten when one of them dies.
 */
import { strict as assert } from 'node:assert';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import WebSocket from 'ws';
import { type App, startApp } from '../../src/app.js';
import { connect } from '../../src/client.js';
import { readConfig } from '../../src/config/config.js';
import type { Host } from '../../src/cores/host.js';
import { slotOf } from '../../src/store/partition.js';
import { createLogger } from '../../src/telemetry/logger.js';
import type { LiveEvent } from '../../src/wire/events.js';
import { hello, Probe } from '../kit/edge.js';
import { isLasting } from '../kit/live.js';
import { UNTIMED_EVALUATION, UNTIMED_PAIRING } from '../kit/settings.js';
import { timeless } from '../kit/system/evaluator-process.js';
import { skipInFastRun, until } from '../kit/system/system.js';

const WORKERS = 2;
const FRAMES = 30;
const PROFILE = 'online-surveillance';
const STREAMS = ['gate', 'yard', 'ramp', 'dock'];
/** what depends on when things were looked at, or on how many stores there are */
const MOMENTARY = /second|bytes|process_|nodejs_|commit|build_info|oldest|backlog|_ms\b|lag|solve|up_time|latency/;

const silent = createLogger({ level: 'silent' });

describe('workers seen from outside', () => {
  let folder: string;
  const open: App[] = [];

  before(function () {
    skipInFastRun(this);
  });

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-view-'));
  });
  afterEach(async () => {
    for (const app of open.splice(0)) await app.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const start = async (workers: number, settings: object = {}): Promise<App> => {
    const text = JSON.stringify({
      streams: { defaults: { windowFrames: 10, pairing: UNTIMED_PAIRING } },
      ...settings,
      evaluation: { ...UNTIMED_EVALUATION, workers },
      data: { dir: join(folder, `data-${open.length}`) },
      listen: { port: 0 },
    });
    const app = await startApp(readConfig({ text, env: {} }).config, { logger: silent, env: {} });
    open.push(app);
    return app;
  };

  const feed = (app: App, stream: string, tracker?: string) =>
    connect({
      url: app.urls.ingest,
      stream,
      role: tracker === undefined ? 'reference' : 'tracker',
      tracker,
      WebSocket,
      backoffMs: 5,
      retryForever: true,
    });

  /** Both feeds of every stream, to the end. */
  async function sendAll(app: App): Promise<void> {
    for (const [at, stream] of STREAMS.entries()) {
      const feeds = [feed(app, stream), feed(app, stream, 't')];
      await Promise.all(feeds.map((one) => new Promise((resolve) => one.on('open', resolve))));
      for (let k = 1; k <= FRAMES; k++)
        for (const [n, one] of feeds.entries())
          await one.send({ k, objects: [{ id: `${(k + at) % 11 === 0}`, box: [k * 3 + n, at, 40, 80] }] });
      await Promise.all(feeds.map((one) => one.end()));
      await Promise.all(feeds.map((one) => one.close()));
    }
  }

  const json = async (app: App, path: string): Promise<unknown> => (await fetch(`${app.urls.http}${path}`)).json();
  const samplesOf = async (app: App): Promise<Map<string, number>> => {
    const text = await (await fetch(app.urls.metrics)).text();
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
  };
  const sorted = (list: unknown): unknown =>
    Array.isArray(list) ? list.map((one) => JSON.stringify(one)).sort() : list;

  /** Everything that can be asked, without times. */
  async function answers(app: App): Promise<Record<string, unknown>> {
    const all: Record<string, unknown> = {};
    for (const path of ['/v1/streams', '/v1/trend?points=8', '/v1/incidents', '/v1/config', '/readyz']) {
      const answer = timeless(
        await json(app, path),
        'workers',
        'dir',
        'solveMs',
        'perSecond',
        'rate',
        'nowMs',
        'seconds',
      ) as object;
      all[path] = Object.fromEntries(Object.entries(answer).map(([key, value]) => [key, sorted(value)]));
    }
    // what settled within a minute depends on when it was
    const { series } = (await json(app, '/v1/rates')) as { series: Array<{ stream: string }> };
    all.rates = sorted(series.map(({ stream }) => stream));
    for (const stream of STREAMS) {
      const path = `/v1/window?stream=${stream}&tracker=t&profile=${PROFILE}`;
      all[path] = timeless(await json(app, path), 'solveMs');
    }
    // a machine that stands still for seconds is told too, and does so for one of them only
    const { events } = (await json(app, '/v1/events?limit=100')) as { events: LiveEvent[] };
    all.events = sorted(events.filter(isLasting).map((event) => timeless(event)));
    const samples = [...(await samplesOf(app))].filter(([name]) => !MOMENTARY.test(name));
    all.metrics = samples.map(([name, value]) => `${name} ${value}`).sort();
    return all;
  }

  it('give the same answers and metrics as one thread', async () => {
    const apps = [await start(0), await start(WORKERS)];
    for (const app of apps) await sendAll(app);
    assert.ok(new Set(STREAMS.map((stream) => slotOf(stream, WORKERS))).size === WORKERS, 'both have streams');
    const views = () => Promise.all(apps.map(answers));
    // connections that were just closed are seen for a moment
    await until('both say the same', async () => isDeepStrictEqual(...((await views()) as [unknown, unknown])), 30_000)
      // what differs, then
      .catch(() => {});
    const [one, other] = await views();
    for (const [path, answer] of Object.entries(one)) assert.deepEqual(other[path], answer, path);
    assert.ok((one.metrics as string[]).length > 100);
  });

  it('bring the reports of all streams to whoever reads along', async () => {
    const app = await start(WORKERS);
    const reader = new WebSocket(app.urls.live);
    const heard = new Map<string, number>();
    reader.on('message', (data) => {
      const message = JSON.parse(String(data));
      if (message.type === 'report') heard.set(message.stream, Math.max(heard.get(message.stream) ?? 0, message.k));
    });
    await new Promise((resolve) => reader.on('open', resolve));
    await sendAll(app);
    await until('everything was heard', () => STREAMS.every((stream) => heard.get(stream) === FRAMES));
    reader.terminate();
  });

  it('judge what sources bring', async () => {
    const lines = Array.from({ length: FRAMES }, (_, n) =>
      JSON.stringify({ type: 'frame', k: n + 1, objects: [{ id: 'a', box: [n, 0, 10, 10] }] }),
    ).join('\n');
    const paths = ['truths', 'tracks'].map((name) => join(folder, `${name}.ndjson`));
    for (const path of paths) writeFileSync(path, `${lines}\n`);
    const tail = STREAMS.flatMap((stream) => [
      { name: `${stream}-truths`, path: paths[0], stream, role: 'reference' },
      { name: `${stream}-tracks`, path: paths[1], stream, tracker: 't' },
    ]);
    const app = await start(WORKERS, { sources: { pollMs: 5, tail } });
    const judged = async () => (await app.live.reports()).filter(({ report }) => report.settled.frames >= FRAMES - 10);
    await until('all are judged', async () => (await judged()).length === STREAMS.length);
  });

  it('go on counting when one of them dies: nothing that was shown is taken back', async () => {
    const app = await start(WORKERS);
    await sendAll(app);
    const before = await samplesOf(app);
    const counters = [...before.keys()].filter((name) => /^tgospa_(feed|frames)\w*_total\{/.test(name));
    assert.ok(counters.length > 2 * STREAMS.length);
    const notLess = async () => {
      const now = await samplesOf(app);
      for (const name of counters) assert.ok((now.get(name) ?? 0) >= before.get(name)!, `${name} ${now.get(name)}`);
    };
    for (const slot of [0, 1, 0]) {
      await (app.live as Host).killWorker(slot);
      await notLess();
      await until('it is back', async () => (await app.live.health()).ready);
      await notLess();
    }
    const [name] = counters.filter((one) => one.startsWith('tgospa_feed_frames_total'));
    const [, stream] = /stream="(\w+)"/.exec(name)!;
    const more = feed(app, stream, name.includes('tracker="t"') ? 't' : undefined);
    await more.send({ k: FRAMES + 1, objects: [] });
    await more.end();
    await more.close();
    assert.ok((await samplesOf(app)).get(name)! > FRAMES, name);
  });

  it('have the limits of one evaluator, and a hello that is refused uses up none of them', async () => {
    const app = await start(WORKERS, { limits: { streams: 2 } });
    const greet = async (stream: string, more: object = {}) => {
      const probe = await Probe.open(app.urls.ingest);
      probe.send({ ...hello({ stream }), ...more });
      const { type, code } = await probe.next();
      return { answer: code ?? type, close: () => probe.close() };
    };
    for (const stream of ['bad-1', 'bad-2', 'bad-3'])
      assert.notEqual((await greet(stream, { settings: { windowFrames: -1 } })).answer, 'welcome');
    const given = [await greet('one'), await greet('two'), await greet('three'), await greet('four')];
    assert.deepEqual(
      given.map(({ answer }) => answer),
      ['welcome', 'welcome', 'streams_exceeded', 'streams_exceeded'],
    );
    for (const { close } of given) close();
  });

  it('keep no stream open for a hello that its worker did not live to answer', async () => {
    const app = await start(WORKERS, { limits: { streams: 1 } });
    const host = app.live as Host;
    assert.equal(host.reserve('somebody', 'never-there'), undefined);
    assert.equal(host.reserve('somebody', 'one-more')?.code, 'streams_exceeded');
    await host.killWorker(slotOf('never-there', WORKERS));
    await until('it is back', async () => (await host.health()).ready);
    assert.deepEqual(host.names(), []);
    assert.equal(host.reserve('somebody', 'one-more'), undefined);
  });
});
