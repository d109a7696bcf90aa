/** The real process after kill -9 with a heavy stream: the port is open at once, and every start gets further. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import WebSocket from 'ws';
import { type ClientFrame, connect, type FeedClient } from '../../src/client.js';
import { slotOf } from '../../src/store/partition.js';
import { Probe } from '../kit/edge.js';
import { POISON } from '../kit/metric/poisoned-kernel.js';
import { Program } from '../kit/system/program.js';
import { freePort, until } from '../kit/system/system.js';

const KERNEL = new URL('../kit/metric/poisoned-kernel.js', import.meta.url).href;
const FRAMES = 160;
const SLOW_LATER_MS = 250;
/** so much work is kept again and again, as live/snapshots.ts says */
const KEPT_WORK_MS = 3000;
const IN_TWO_WORKERS = { workers: 2, budgetMs: 60_000 };
const CONFIG = {
  data: { groupCommitMs: 2, snapshotFrames: 100_000 },
  evaluation: { workers: 0, budgetMs: 60_000 },
  streams: { defaults: { windowFrames: 30, pairing: { latenessMs: 1e7, silenceMs: 1e7 } } },
};

/** A name in this of two slots. */
const nameIn = (slot: number) =>
  ['light', 'lamp', 'lark', 'lane', 'lake', 'leaf'].find((one) => slotOf(one, 2) === slot)!;

describe('recovery after kill -9', () => {
  let folder: string;
  let port: number;
  let evaluator: Program | undefined;
  const clients: FeedClient[] = [];

  beforeEach(async () => {
    port = await freePort();
    folder = mkdtempSync(join(tmpdir(), 'tgospa-recovery-'));
    writeFileSync(join(folder, 'tgospa.yaml'), JSON.stringify(CONFIG));
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close({ flush: false });
    await evaluator?.end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  const url = () => `http://127.0.0.1:${port}`;

  function serve(env: NodeJS.ProcessEnv = {}, preload: string | undefined = KERNEL): Program {
    const args = ['serve', '--port', String(port), '--data', join(folder, 'data')];
    evaluator = Program.tgospa(args, { cwd: folder, preload, env });
    return evaluator;
  }

  const feed = (stream: string, tracker?: string): FeedClient => {
    const role = tracker === undefined ? 'reference' : 'tracker';
    const client = connect({ url: url(), stream, role, tracker, WebSocket, backoffMs: 20, backoffMaxMs: 100 });
    clients.push(client);
    return client;
  };

  const objects = (k: number, id: string): ClientFrame['objects'] => [
    { id, box: [k, 0, 30, 60] },
    { id: `${id}2`, box: [300 - k, 0, 30, 60] },
  ];

  async function send(feeds: FeedClient[], first: number, last: number, id: (k: number) => string): Promise<void> {
    for (let k = first; k <= last; k++) {
      await feeds[0].send({ k, objects: objects(k, 'g') });
      await feeds[1].send({ k, objects: objects(k, id(k)) });
    }
    await Promise.all(feeds.map((one) => one.flush()));
  }

  const ready = async () => {
    const answer = await fetch(`${url()}/readyz`);
    return { status: answer.status, body: (await answer.json()) as { status: string; reasons: string[] } };
  };
  const kOf = async (stream: string): Promise<number | undefined> => {
    const answer = await fetch(`${url()}/v1/window?stream=${stream}&tracker=t&profile=online-surveillance`);
    return ((await answer.json()) as { k?: number }).k;
  };

  it('serves recovered partitions while others recover, and a start that is cut short is no start from scratch', async () => {
    writeFileSync(join(folder, 'tgospa.yaml'), JSON.stringify({ ...CONFIG, evaluation: IN_TWO_WORKERS }));
    const light = nameIn(1 - slotOf('heavy', 2));
    await serve().shows(/tgospa is listening/);
    const feeds = [feed('heavy'), feed('heavy', 't'), feed(light), feed(light, 't')];
    await Promise.all(feeds.map((one) => new Promise((resolve) => one.on('open', resolve))));
    await send(feeds.slice(2), 1, 20, () => 't');
    await send(feeds.slice(0, 2), 1, FRAMES, () => POISON.slowLater);
    await until('all is judged', async () => (await kOf('heavy')) === FRAMES);
    for (const client of clients.splice(0)) await client.close({ flush: false });
    await evaluator!.end('SIGKILL');

    // the heavy stream has forty seconds of work before it
    const second = serve({ TGOSPA_TEST_SLOW_MS: String(SLOW_LATER_MS) });
    await second.shows(/"event":"listening"/);
    assert.equal((await fetch(`${url()}/healthz`)).status, 200);
    const again = [feed(light), feed(light, 't')];
    await send(again, 21, 40, () => 't');
    await until('the light stream is judged', async () => (await kOf(light)) === 40);
    const refused = await Probe.open(`ws://127.0.0.1:${port}/v1/ingest`);
    refused.send({ type: 'hello', stream: 'heavy', role: 'reference' });
    assert.equal((await refused.closed).code, 1013);
    const { status, body } = await ready();
    assert.deepEqual([status, body.status], [503, 'not_ready']);
    assert.match(body.reasons[0], /^recovering: record \d+ of \d+$/);

    // whoever is killed again and again gets there all the same
    // eight times as much as is kept at once: a busy disk may be many seconds behind
    const least = (KEPT_WORK_MS / SLOW_LATER_MS) * 2 * 8 + 20;
    await until('some of the work is kept', async () => {
      const [, record] = /record (\d+) of/.exec((await ready()).body.reasons[0]) ?? [];
      return Number(record) > least;
    });
    await second.end('SIGKILL');
    const third = serve({ TGOSPA_TEST_SLOW_MS: '1' });
    await third.shows(/tgospa is listening/);
    const repeated = await Promise.all([
      third.shows(/"event":"recovered".*"streams":1,"records":(\d{1,2}),/),
      third.shows(/"event":"recovered".*"streams":1,"records":(\d{3,}),/),
    ]);
    assert.ok(Number(repeated[1][1]) < 2 * FRAMES - KEPT_WORK_MS / SLOW_LATER_MS, `${repeated[1][1]} records again`);
    assert.equal((await ready()).body.status, 'ready');
    assert.equal(await kOf('heavy'), FRAMES);
    assert.equal(await kOf(light), 40);
  });

  for (const workers of [0, 1])
    it(`knows a record that ended the process when it came after two more deaths, with ${workers} workers`, async () => {
      writeFileSync(
        join(folder, 'tgospa.yaml'),
        JSON.stringify({ ...CONFIG, evaluation: { ...CONFIG.evaluation, workers } }),
      );
      await serve().shows(/tgospa is listening/);
      const feeds = [feed('light'), feed('light', 't')];
      await Promise.all(feeds.map((one) => new Promise((resolve) => one.on('open', resolve))));
      await send(feeds, 1, 11, () => 't');
      await until('all is judged', async () => (await kOf('light')) === 11);
      void feeds[0].send({ k: 12, objects: objects(12, 'g') });
      void feeds[1].send({ k: 12, objects: objects(12, POISON.kills) });
      assert.equal(await evaluator!.closed, null);
      for (const client of clients.splice(0)) await client.close({ flush: false });
      for (let death = 1; death <= 2; death++) {
        await serve().closed;
        assert.equal(evaluator!.child.signalCode, 'SIGKILL');
      }
      const last = serve();
      await last.shows(/"event":"record_failed".*the process ended twice/);
      await until('the rest is judged', async () => ((await kOf('light').catch(() => 0)) ?? 0) >= 11);
      const [file] = readdirSync(join(folder, 'data', 'quarantine'));
      assert.match(readFileSync(join(folder, 'data', 'quarantine', file), 'utf8'), /"seq":12/);
    });

  it('sets a record aside that has ended the process twice, and keeps it for people to look at', async () => {
    writeFileSync(join(folder, 'tgospa.yaml'), JSON.stringify({ ...CONFIG, evaluation: { workers: 0 } }));
    const harmless = new URL('../kit/system/program.js', import.meta.url).href;
    await serve({}, harmless).shows(/tgospa is listening/);
    const feeds = [feed('light'), feed('light', 't')];
    await Promise.all(feeds.map((one) => new Promise((resolve) => one.on('open', resolve))));
    await send(feeds, 1, 20, (k) => (k === 12 ? POISON.kills : 't'));
    await until('all is judged', async () => (await kOf('light')) === 20);
    for (const client of clients.splice(0)) await client.close({ flush: false });
    await evaluator!.end('SIGKILL');
    for (let death = 1; death <= 2; death++) {
      await serve().closed;
      assert.equal(evaluator!.child.signalCode, 'SIGKILL');
    }
    const third = serve();
    await third.shows(/tgospa is listening/);
    assert.match(third.output, /"event":"record_failed".*the process ended twice/);
    const [file] = readdirSync(join(folder, 'data', 'quarantine'));
    assert.match(readFileSync(join(folder, 'data', 'quarantine', file), 'utf8'), /"seq":12/);
    assert.equal(await kOf('light'), 20);
    assert.equal((await ready()).body.status, 'ready');
    await third.end('SIGKILL');
    // and stays aside
    await serve().shows(/tgospa is listening/);
    assert.equal(await kOf('light'), 20);
  });
});
