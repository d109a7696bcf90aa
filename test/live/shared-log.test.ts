/**
 * The pipeline on a log that others append to and another owner may take over: what is delivered is applied, once, and
 * what comes of it is published by one owner only.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { readConfig } from '../../src/config/config.js';
import { Live } from '../../src/live/live.js';
import { SlidingWindow } from '../../src/metric/sliding-window.js';
import { DataFolder } from '../../src/store/folder.js';
import type { LogRecord } from '../../src/store/record.js';
import type { LiveEvent, ReportEvent } from '../../src/wire/events.js';
import { pack } from '../../src/wire/objects.js';
import { feed, lastingEvents, quiet, START_MS, TestClock } from '../kit/live.js';
import { UNTIMED_EVALUATION, UNTIMED_PAIRING } from '../kit/settings.js';
import { SharedPartition } from '../kit/shared-log.js';
import { timeless } from '../kit/system/evaluator-process.js';
import { skipInFastRun } from '../kit/system/system.js';

const STREAMS = ['gate', 'yard', 'ramp'];
const FRAMES = 40;

describe('a log that others append to', () => {
  let dir: string;
  let clock: TestClock;
  const open: Live[] = [];

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'tgospa-shared-'));
    clock = new TestClock();
  });
  afterEach(async () => {
    for (const live of open.splice(0)) await live.kill();
    rmSync(dir, { recursive: true, force: true });
  });

  let owners = 0;
  const own = async (partition: SharedPartition, streams: object = {}) => {
    const settings = {
      data: { dir: join(dir, String(owners++)), snapshotFrames: 9 },
      evaluation: { ...UNTIMED_EVALUATION },
      streams: { defaults: { windowFrames: 10, pairing: UNTIMED_PAIRING, ...streams } },
    };
    const { config } = readConfig({ text: JSON.stringify(settings), env: {} });
    mkdirSync(config.data.dir);
    const live = await Live.open(config, clock, quiet, {
      openLog: partition.openLog,
      resumes: false,
      configures: false,
      folder: new DataFolder(config.data.dir),
    });
    open.push(live);
    return live;
  };

  /** The epochs of both feeds of every stream, as the owner gives them out. */
  const hello = async (live: Live) => {
    const epochs = new Map<string, number>();
    for (const stream of STREAMS)
      for (const tracker of [null, 't']) {
        const admitted = await live.openFeed(feed(stream, tracker));
        assert.ok('epoch' in admitted);
        epochs.set(`${stream}/${tracker}`, admitted.epoch!);
      }
    return epochs;
  };

  /** What a gateway appends for a frame of every stream. */
  const frameOf = (epochs: Map<string, number>, k: number): LogRecord[] =>
    STREAMS.flatMap((stream, n) =>
      [null, 't'].map((tracker): LogRecord => {
        const { role } = feed(stream, tracker);
        const x = 10 * k + n + (tracker === null ? 0 : 1 + ((k * 7) % 5));
        const objects = pack([{ id: k % 13 === 0 ? `new${k}` : 'a', box: [x, 5, 20, 40] }]);
        const epoch = epochs.get(`${stream}/${tracker}`)!;
        return { kind: 'part', stream, atMs: START_MS + 40 * k, role, tracker, epoch, part: { seq: k, k, objects } };
      }),
    );

  const plain = (events: readonly LiveEvent[]) =>
    events.map((event) => {
      const { solveMs: _solveMs, spikes: _spikes, objects: _objects, ...rest } = event as ReportEvent;
      return JSON.parse(JSON.stringify(rest));
    });

  const publishedUpTo = async (partition: SharedPartition, position: number) => {
    while (partition.upTo < position) await turn();
  };

  it('gives what it would give if every record had been stored once', async () => {
    const chains: unknown[] = [];
    for (const repeats of [false, true]) {
      const partition = new SharedPartition();
      const live = await own(partition);
      const heard: LiveEvent[] = [];
      lastingEvents(live).subscribe((event) => heard.push(event));
      const epochs = await hello(live);
      const sent: LogRecord[][] = [partition.records.map(({ record }) => record)];
      for (let k = 1; k <= FRAMES; k++) {
        sent.push(frameOf(epochs, k));
        partition.append(sent[k]);
        if (repeats) partition.append(sent[k]);
        if (repeats && k % 3 === 0) partition.append(sent[Math.floor(k / 3) - 1]);
      }
      await publishedUpTo(partition, partition.lastPosition);
      assert.deepEqual(
        heard.map(({ type }) => type),
        partition.chain.map(({ type }) => type),
      );
      chains.push(plain(partition.chain));
    }
    assert.ok((chains[0] as unknown[]).length >= STREAMS.length * FRAMES);
    assert.deepEqual(chains[1], chains[0]);
  });

  it('is taken over where its owner was: no event is left out or told twice, and the former owner tells nothing', async function () {
    skipInFastRun(this);
    const whole = new SharedPartition();
    const one = await own(whole);
    const epochs = await hello(one);
    for (let k = 1; k <= FRAMES; k++) whole.append(frameOf(epochs, k));
    await publishedUpTo(whole, whole.lastPosition);

    const partition = new SharedPartition();
    let live = await own(partition);
    const handed = await hello(live);
    for (let k = 1; k <= FRAMES; k++) {
      partition.append(frameOf(handed, k));
      if (k % 7 === 0) await publishedUpTo(partition, partition.lastPosition - 65_536);
      if (k % 11 !== 0) continue;
      const former = live;
      const records = partition.records.length;
      live = await own(partition);
      const told: LiveEvent[] = [];
      former.events$.subscribe((event) => told.push(event));
      partition.append(frameOf(handed, ++k));
      assert.match(await former.fenced, /another owner/);
      assert.deepEqual(told, []);
      assert.equal(partition.records.length, records + 2 * STREAMS.length, 'a new owner appends nothing of its own');
    }
    await publishedUpTo(partition, partition.lastPosition);
    assert.deepEqual(plain(partition.chain), plain(whole.chain));
    assert.ok(partition.snapshots.size > 0);
    for (const { position } of partition.snapshots.values()) assert.ok(position <= partition.upTo);
  });

  it('says that records are done with only together with the events that came of them in recovery', async () => {
    const partition = new SharedPartition();
    const epochs = await hello(await own(partition));
    await publishedUpTo(partition, partition.lastPosition);
    for (let frames = 1; frames <= 5; frames++) {
      const first = partition.chain.length;
      const k = [...Array(frames).keys()].map((n) => 10 * frames + n);
      for (const one of k) partition.append(frameOf(epochs, one));
      // the owner before has not applied them
      await own(partition);
      await publishedUpTo(partition, partition.lastPosition);
      const reports = partition.chain.slice(first).filter((event): event is ReportEvent => event.type === 'report');
      assert.deepEqual(
        reports.map((report) => `${report.k} ${report.stream}`),
        k.flatMap((one) => STREAMS.map((stream) => `${one} ${stream}`)),
      );
    }
  });

  it('opens feeds that the owner before had opened, and goes on with their numbers', async () => {
    const partition = new SharedPartition();
    const epochs = await hello(await own(partition));
    for (let k = 1; k <= 5; k++) partition.append(frameOf(epochs, k));
    const live = await own(partition);
    const admitted = await live.openFeed(feed('gate', 't'));
    assert.ok('nextSeq' in admitted);
    assert.deepEqual([admitted.nextSeq, admitted.epoch, admitted.isNew], [6, epochs.get('gate/t'), false]);
  });

  it('retires nothing that somebody has sent to meanwhile', async () => {
    const partition = new SharedPartition();
    const live = await own(partition, { idleMinutes: 1 });
    const epochs = await hello(live);
    partition.append(frameOf(epochs, 1));
    await publishedUpTo(partition, partition.lastPosition);
    const late = frameOf(epochs, 2).map((record) => ({ ...record, atMs: START_MS + 59_000 }));
    const retirement = { kind: 'retire', stream: 'gate', tracker: null, ifIdle: true } as const;
    partition.append([...late, { ...retirement, atMs: START_MS + 61_000 }]);
    await publishedUpTo(partition, partition.lastPosition);
    assert.ok(live.hasStream('gate'));
    assert.equal(live.streams().find(({ stream }) => stream === 'gate')?.feeds[0].seq, 2);
    partition.append([{ ...retirement, atMs: START_MS + 130_000 }]);
    await publishedUpTo(partition, partition.lastPosition);
    assert.equal(
      live.streams().some(({ stream }) => stream === 'gate'),
      false,
    );
  });

  it('leaves out a record that has ended other processes, and tells of it once', async () => {
    const partition = new SharedPartition();
    const first = await own(partition);
    const epochs = await hello(first);
    for (let k = 1; k <= 5; k++) partition.append(frameOf(epochs, k));
    await publishedUpTo(partition, partition.lastPosition);
    await first.kill();
    partition.append(frameOf(epochs, 6));
    // one has ended at its first record, which proves nothing; several at its second
    partition.deaths.set(partition.lastPosition - 5, 1).set(partition.lastPosition - 4, 2);
    for (let owner = 0; owner < 2; owner++) {
      await own(partition);
      partition.append(frameOf(epochs, 7 + owner));
      await publishedUpTo(partition, partition.lastPosition);
      assert.deepEqual(
        partition.setAside.map(({ position }) => position),
        [...partition.deaths.keys()].slice(1),
      );
    }
    assert.equal(partition.chain.filter(({ type }) => type === 'quarantine').length, 1);
  });

  it('leaves out for every owner what one of them has set aside, also what would not fail again', async () => {
    const partition = new SharedPartition();
    const first = await own(partition);
    const epochs = await hello(first);
    const { push } = SlidingWindow.prototype;
    for (let k = 1; k <= 30; k++) {
      // one machine fails, once
      if (k === 25)
        SlidingWindow.prototype.push = () => {
          SlidingWindow.prototype.push = push;
          throw new RangeError('Maximum call stack size exceeded');
        };
      partition.append(frameOf(epochs, k));
      await publishedUpTo(partition, partition.lastPosition);
    }
    const [failed] = partition.chain.filter(({ type }) => type === 'quarantine') as Array<{ stream: string }>;
    assert.equal(partition.setAside.length, 1);
    // everything is repeated
    partition.snapshots.clear();
    const second = await own(partition);
    for (const stream of STREAMS) {
      const windows = await Promise.all([first, second].map((live) => live.window(stream, 't', 'online-surveillance')));
      const [one, other] = windows.map((window) => timeless(window));
      assert.deepEqual(other, one, stream);
    }
    assert.equal(partition.chain.filter(({ type }) => type === 'quarantine').length, 1);
    assert.deepEqual(
      partition.setAside.map(({ stream }) => stream),
      [failed.stream],
    );
  });
});
