/** Looking back into the log of a partition, on a real broker: what an embedded log of the same records says. */
import { strict as assert } from 'node:assert';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Layout } from '../../src/cluster/layout.js';
import { connectNats, type NatsConnection } from '../../src/cluster/nats/connection.js';
import type { PartitionStream } from '../../src/cluster/nats/partition-stream.js';
import { PartitionLog } from '../../src/cluster/partition-log.js';
import { SharedLog } from '../../src/cluster/shared-log.js';
import { SharedPast } from '../../src/cluster/shared-past.js';
import { type ResolvedStream, readConfig, resolveStream } from '../../src/config/config.js';
import { type Moment, Moments } from '../../src/live/moments.js';
import { crossingScene } from '../../src/simulation/walkers.js';
import { Log } from '../../src/store/log.js';
import type { PastBatch, PastLog } from '../../src/store/past.js';
import type { PartRecord } from '../../src/store/record.js';
import type { StreamPlan } from '../../src/stream/plan.js';
import { pack } from '../../src/wire/objects.js';
import { logSettings } from '../kit/settings.js';
import { NatsServer, skipUnlessNats } from '../kit/system/brokers/nats.js';

const TIMES = { timeoutMs: 300, retryMs: 20 };
const WRITING = { gatherMs: 1, batchBytes: 4096, queueMaxBytes: 1 << 24, stallMs: 1000, ...TIMES };
const SIZES = { logMaxBytes: 1 << 24, stateMaxBytes: 1 << 22, linksKept: 100 };
const FRAMES = 300;
const EPOCH = 7;
const { config } = readConfig({ env: {} });
const plan = { ...(resolveStream(config, 'gate') as ResolvedStream), patch: {} } as StreamPlan;
const { frames } = crossingScene().trackers.find(({ name }) => name === 'faulty')!;
const owner = { now: Date.now, applied: () => 0, committed() {}, heldBack() {}, faultChanged() {} };

const partOf = (stream: string, k: number, role: 'reference' | 'tracker'): PartRecord => {
  const feed = role === 'reference' ? { role, tracker: null } : { role, tracker: 'sort' };
  const part = { seq: k, k, objects: pack(frames[k - 1][role] as never) };
  return { kind: 'part', stream, atMs: Date.now(), ...feed, part, epoch: EPOCH };
};

describe('the past of a partition on a broker', () => {
  const broker = new NatsServer();
  const dir = mkdtempSync(join(tmpdir(), 'tgospa-shared-past-'));
  let connection: NatsConnection;
  let stream: PartitionStream;
  let shared: SharedLog;
  let embedded: Log;

  before(async function () {
    skipUnlessNats(this);
    await broker.start();
    const access = { name: 'test', servers: [broker.url], connectTimeoutMs: 2000, heartbeatMs: 1000, reconnectMs: 50 };
    connection = await connectNats(access);
    const layout = new Layout(connection, { name: 'test', partitions: 1, replicas: 1, ...SIZES, ...TIMES });
    await layout.make();
    stream = await layout.log(0);
    const writer = new PartitionLog(stream, WRITING);
    const settings = { logKeepBytes: 1 << 20, purgeMs: 60_000, heldBatches: 1e6, configVersion: 0 };
    shared = await SharedLog.open({ layout, partition: 0, owner: 'a', writer, settings }, owner);
    for await (const _ of shared.records());
    shared.follow();
    embedded = await Log.open(logSettings({ dir, groupCommitMs: 1 }), owner);
    let batch: PartRecord[] = [];
    for (let k = 1; k <= FRAMES; k++) {
      const parts = ['noise', 'gate'].flatMap((name) => [partOf(name, k, 'reference'), partOf(name, k, 'tracker')]);
      for (const part of parts) void embedded.append(part);
      for (const part of parts) void shared.append(part);
      batch.push(...parts);
      if (k % 3 > 0) continue;
      await Promise.all([embedded.flush(), shared.flush()]);
      // a batch whose acknowledgement was lost is stored twice
      if (k % 2 > 0) for (const part of batch) void shared.append(part);
      batch = [];
      // and late by a process that the feed has left since
      if (k === 150) void shared.append({ ...partOf('gate', 100, 'tracker'), epoch: EPOCH - 1 });
    }
    await shared.flush();
  });
  after(async () => {
    await shared?.kill();
    await embedded?.kill();
    await connection?.close();
    await broker.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const read = (log: PastLog, wanted: { k: number } | { atMs: number }, pastBytes = config.limits.pastBytes) =>
    new Moments(log, { pastReads: 4, pastBytes }).read(plan, {
      stream: 'gate',
      tracker: 'sort',
      profile: 'online-surveillance',
      frames: 40,
      ...wanted,
    });
  const readBoth = async (wanted: { k: number } | { atMs: number }) => {
    const moment = (await read(shared.past, wanted)) as Moment;
    assert.equal(typeof moment, 'object', String(moment));
    assert.deepEqual(moment, await read(embedded, wanted));
    return moment;
  };

  for (const k of [1, 2, 61, 137, 250, FRAMES])
    it(`has frame ${k}, and those around it`, async () => {
      const moment = await readBoth({ k });
      assert.equal(moment.k, k);
      assert.ok(moment.frames.length >= Math.min(20, k), `${moment.frames.length} frames`);
    });

  it('has a moment by its time', async () => {
    const { frames: found } = await readBoth({ k: 180 });
    const { atMs } = found.find((frame) => frame.k === 180)!;
    const [moment, same] = [await read(shared.past, { atMs }), await read(embedded, { atMs })] as Moment[];
    assert.ok(moment.k >= 180 && moment.k < 183, `frame ${moment.k}`);
    assert.equal(moment.k, same.k);
    // how far it goes on depends on where batches end
    const last = Math.min(moment.frames.at(-1)!.k, same.frames.at(-1)!.k);
    assert.ok(last >= moment.k + 10, `up to frame ${last}`);
    const upToLast = (all: Moment) => all.frames.filter((frame) => frame.k <= last);
    assert.deepEqual(upToLast(moment), upToLast(same));
  });

  it('reads no more than is allowed, and little more ahead', async () => {
    let bytes = 0;
    let asked = 0;
    const { past } = shared;
    const counted = {
      batchFrom: (sequence: number, signal: AbortSignal) => {
        asked++;
        return stream.batchFrom(sequence, signal);
      },
    };
    const log = new SharedPast(counted, () => past.lastPosition, new AbortController().signal);
    const limit = 16_384;
    for await (const batch of log.batches(1, false)) {
      bytes += batch.bytes;
      if (bytes > limit) break;
    }
    assert.ok(bytes > limit && bytes < 2 * limit, `${bytes} bytes`);
    let yielded = 0;
    for await (const _ of past.batches(1, false)) yielded++;
    assert.ok(yielded > 100, `${yielded} batches`);
    assert.ok(asked < 40, `${asked} batches were asked for`);
  });

  it('goes on over a batch that is not there, both ways', async () => {
    const gone = 50;
    await stream.manager.streams.deleteMessage(stream.name, gone);
    const all = async (from: number, reverse: boolean) => {
      const found: PastBatch[] = [];
      for await (const batch of shared.past.batches(from, reverse)) found.push(batch);
      return found.map(({ records }) => records.toString('base64'));
    };
    const ahead = await all(1, false);
    assert.equal(ahead.length, shared.past.lastPosition - 1);
    assert.deepEqual((await all(shared.past.lastPosition, true)).reverse(), ahead);
    assert.equal((await shared.past.placeOf(gone))?.position, gone + 1);
    assert.equal(await shared.past.placeOf(shared.past.lastPosition + 1), null);
  });

  it('says how far back it reaches, and has what is behind that', async () => {
    const middle = Math.floor(shared.past.lastPosition / 2);
    await stream.purgeBelow(middle);
    const { timeMs } = (await shared.past.placeOf(1))!;
    const since = new Date(timeMs).toISOString();
    assert.equal(
      await read(shared.past, { k: 10 }),
      `frame 10 of gate / sort is not stored; the log reaches back to ${since}`,
    );
    await readBoth({ k: 290 });
    // its window begins before what is left
    const cut = (await read(shared.past, { k: 170 })) as Moment;
    assert.equal(cut.k, 170);
    assert.ok(cut.frames[0].k > 120, `frame ${cut.frames[0].k}`);
  });

  it('says so when the brokers do not answer, and when it is closed', async () => {
    broker.suspend();
    const unanswered = await read(shared.past, { k: 290 });
    broker.resume();
    assert.match(String(unanswered), /^the brokers do not answer \(.+\); ask again in a moment$/);
    await shared.kill();
    assert.equal(
      await read(shared.past, { k: 290 }),
      'the partition has moved to another process; ask again in a moment',
    );
  });
});
