/** The log of a partition as its owner has it, on a real broker: what it does when it is given up halfway. */
import { strict as assert } from 'node:assert';
import { randomBytes } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { Layout } from '../../src/cluster/layout.js';
import { FencedError } from '../../src/cluster/nats/cell.js';
import { connectNats, type NatsConnection } from '../../src/cluster/nats/connection.js';
import { follow, readNewest } from '../../src/cluster/nats/follow.js';
import { ask, tell } from '../../src/cluster/nats/questions.js';
import { PartitionLog } from '../../src/cluster/partition-log.js';
import { SharedLog } from '../../src/cluster/shared-log.js';
import type { Stored } from '../../src/store/log-port.js';
import type { LogRecord } from '../../src/store/record.js';
import { NatsServer, skipUnlessNats } from '../kit/system/brokers/nats.js';
import { until } from '../kit/system/system.js';

const TIMES = { timeoutMs: 300, retryMs: 20 };
const WRITING = { gatherMs: 2, batchBytes: 4096, queueMaxBytes: 1 << 20, stallMs: 1000, ...TIMES };
const SIZES = { logMaxBytes: 1 << 22, stateMaxBytes: 1 << 22, linksKept: 100 };

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe('the log of a partition on a broker', () => {
  const broker = new NatsServer();
  let connection: NatsConnection;
  let layout: Layout;

  before(async function () {
    skipUnlessNats(this);
    await broker.start();
    const access = { name: 'test', servers: [broker.url], connectTimeoutMs: 2000, heartbeatMs: 1000, reconnectMs: 50 };
    connection = await connectNats(access);
    layout = new Layout(connection, { name: 'test', partitions: 1, replicas: 1, ...SIZES, ...TIMES });
    await layout.make();
  });
  after(async () => {
    await connection?.close();
    await broker.close();
  });

  const open = async (purgeMs = 60_000, gatherMs = WRITING.gatherMs, logKeepBytes = 1 << 20) => {
    const writer = new PartitionLog(await layout.log(0), { ...WRITING, gatherMs });
    const lost: string[] = [];
    const unsaved: string[] = [];
    const delivered: Stored[] = [];
    const owner = {
      now: () => 0,
      applied: () => 0,
      committed: (first: number, records: LogRecord[]) =>
        void delivered.push(...records.map((record, n) => ({ position: first + n, record }))),
      heldBack: () => {},
      faultChanged: () => {},
      unsaved: (stream: string, reason: string) => void unsaved.push(`${stream}: ${reason}`),
      fenced: (reason: string) => void lost.push(reason),
    };
    const settings = { logKeepBytes, purgeMs, heldBatches: 100, configVersion: 0 };
    const log = await SharedLog.open({ layout, partition: 0, owner: 'a', writer, settings }, owner);
    return { log, writer, lost, unsaved, delivered };
  };

  it('gives the next owner what was stored, and lets the owner before publish nothing', async () => {
    const { log, delivered } = await open();
    log.follow();
    for (const atMs of [1, 2]) await log.append({ kind: 'tick', stream: 's', atMs });
    const [first, second] = delivered.map(({ position }) => position);
    await log.publish(first, [{ type: 'spike', n: 1 }]);
    log.saveSnapshot('s', first, { some: 'state' });
    await log.flush();
    const next = await open();
    assert.equal(next.log.publishedUpTo, first);
    const snapshots = await all(next.log.snapshots());
    assert.deepEqual(snapshots, [{ stream: 's', position: first, state: { some: 'state' } }]);
    const records = await all(next.log.records());
    assert.deepEqual(
      records.map(({ position, record }) => [position, record.atMs]),
      [[second, 2]],
    );
    assert.deepEqual(
      (await next.log.events()).map(({ event }) => event),
      [{ type: 'spike', n: 1 }],
    );
    await assert.rejects(log.publish(second, [{ type: 'spike', n: 2 }]), FencedError);
    await next.log.kill();
    await log.kill();
  });

  it('tells the next owner what was set aside, and nobody sets something aside who has been taken over from', async () => {
    const { log, lost } = await open();
    log.follow();
    await log.append({ kind: 'tick', stream: 's', atMs: 5 });
    const aside = (n: number) => ({
      position: log.lastPosition + 65_536 + n,
      stream: 's',
      kind: 'tick' as const,
      atMs: 5,
    });
    log.saveSetAside(aside(0));
    log.saveSetAside(aside(1));
    await log.publish(log.publishedUpTo, [{ type: 'quarantine' }]);
    const next = await open();
    assert.deepEqual(next.log.setAside, [aside(0), aside(1)]);
    log.saveSetAside(aside(2));
    await assert.rejects(log.publish(log.publishedUpTo, [{ type: 'quarantine' }]), FencedError);
    assert.equal(lost.length, 1);
    await next.log.kill();
    const last = await open();
    assert.deepEqual(last.log.setAside, [aside(0), aside(1)]);
    await last.log.kill();
    await log.kill();
  });

  it('is flushed when what was appended here is delivered, also what was still gathered', async () => {
    const { log, delivered } = await open(60_000, 200);
    for await (const _ of log.records());
    log.follow();
    void log.append({ kind: 'tick', stream: 's', atMs: 77 });
    await log.flush();
    assert.deepEqual(
      delivered.map(({ record }) => record.atMs),
      [77],
    );
    await log.kill();
  });

  it('leaves the processor alone when it is closed with snapshots that wait', async () => {
    const { log } = await open();
    for (const stream of ['a', 'b', 'c']) log.saveSnapshot(stream, 0, { some: 'state' });
    await log.kill();
    // it would save for ever, and nothing else would have its turn
    for (let n = 0; n < 10; n++) await turn();
  });

  it('refuses a record at once when nothing is accepted, and fails quietly for those that nobody waits for', async () => {
    const { log, writer } = await open();
    const unhandled: unknown[] = [];
    const hear = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', hear);
    broker.suspend();
    log.append({ kind: 'tick', stream: 's', atMs: 1 });
    await until('it is tried', () => writer.retries > 0);
    await writer.close(0);
    broker.resume();
    assert.throws(() => log.append({ kind: 'tick', stream: 's', atMs: 2 }), { code: 'storage_closed' });
    await turn();
    process.off('unhandledRejection', hear);
    await log.kill();
    assert.deepEqual(unhandled, []);
  });

  it('has waiting for nobody when it is closed: what would be delivered is not', async () => {
    const { log } = await open();
    await log.kill();
    await log.catchUp();
  });

  it('is watched on after its broker was killed, without a change left out', async () => {
    const cell = await layout.leaseCell('watched');
    const heard: string[] = [];
    const over = new AbortController();
    const subject = layout.leaseSubject('watched');
    const settings = { stream: layout.leaseStream, subject, from: 'newest' as const };
    const watching = (async () => {
      for await (const { bytes } of follow(connection, settings, over.signal))
        heard.push(Buffer.from(bytes).toString());
    })();
    let revision = await cell.write(0, Buffer.from('1'));
    await until('it is watched', () => heard.includes('1'));
    await broker.stop('SIGKILL');
    await broker.start();
    revision = await cell.write(revision, Buffer.from('2'));
    await until('the newest is heard', () => heard.includes('2'));
    over.abort();
    await watching;
    const [{ bytes }] = await readNewest(connection, settings.stream, subject, revision);
    assert.equal(Buffer.from(bytes).toString(), '2');
  });

  it('is read up to what its leader has, however far the copy that answers is behind', async () => {
    const one = await layout.leaseCell('one');
    const revision = await one.write(0, Buffer.from('1'));
    let isRead = false;
    const reading = readNewest(connection, layout.leaseStream, layout.leaseSubject('*'), revision + 1).finally(() => {
      isRead = true;
    });
    assert.equal((await one.read()).revision, revision);
    assert.equal(isRead, false, 'the one that is waited for is not there yet');
    await one.write(revision, Buffer.from('2'));
    const [last] = (await reading).filter(({ subject }) => subject === layout.leaseSubject('one'));
    assert.equal(Buffer.from(last.bytes).toString(), '2');
  });

  it('drops the oldest of what is covered when it grew too large, and keeps the rest to be looked back into', async () => {
    const keepBytes = 20_000;
    const { log, delivered } = await open(10, 0, keepBytes);
    log.follow();
    for (let atMs = 1; atMs <= 300; atMs++) {
      const batch = Array.from({ length: 10 }, () => log.append({ kind: 'tick', stream: 's', atMs }));
      await Promise.all(batch);
    }
    const { bytes: before, firstSequence } = await log.stream.state();
    assert.ok(before > 2 * keepBytes, `${before} bytes`);
    const { position } = delivered.at(-1)!;
    await log.publish(position, []);
    log.saveSnapshot('s', position, { some: 'state' });
    const after = await until('the oldest are gone', async () => {
      const state = await log.stream.state();
      return state.firstSequence > firstSequence && state;
    });
    assert.ok(after.bytes <= keepBytes && after.bytes > keepBytes / 2, `${after.bytes} bytes`);
    await log.kill();
  });

  it('does without a snapshot that no message holds, says so once, and saves those of other streams', async () => {
    const { log, unsaved, lost, delivered } = await open();
    log.follow();
    for (const stream of ['huge', 'small']) await log.append({ kind: 'tick', stream, atMs: 1 });
    const [huge, small] = ['huge', 'small'].map(
      (name) => delivered.find(({ record }) => record.stream === name)!.position,
    );
    await log.publish(small, []);
    const state = randomBytes(2 << 20).toString('base64');
    for (let n = 0; n < 2; n++) {
      log.saveSnapshot('huge', huge, { state });
      log.saveSnapshot('small', small, { n });
      await log.flush();
    }
    assert.equal(unsaved.length, 1);
    assert.match(
      unsaved[0],
      /^huge: .* would have \d+ bytes, but a message of the brokers has at most \d+; raise max_payload/,
    );
    assert.deepEqual(lost, []);
    const next = await open();
    const snapshots = (await all(next.log.snapshots())).filter(({ stream }) => stream !== 's');
    assert.deepEqual(
      snapshots.map(({ stream, position }) => [stream, position]),
      [['small', small]],
    );
    const records = await all(next.log.records());
    assert.deepEqual(
      records.map(({ record }) => record.stream).filter((stream) => stream !== 's'),
      ['huge'],
    );
    await next.log.kill();
    await log.kill();
  });

  it('drops nothing any more when another has taken it over', async () => {
    const { log, lost, delivered } = await open(10);
    const { log: next } = await open();
    log.follow();
    for (const atMs of [1, 2]) await log.append({ kind: 'tick', stream: 's', atMs });
    const { position } = delivered.at(-1)!;
    // everything is covered now, and could be dropped
    await log.publish(position, []);
    log.saveSnapshot('s', position, { some: 'state' });
    await until('it hears of it', () => lost.length > 0);
    assert.match(lost[0], /has been written by somebody else/);
    await log.kill();
    await next.kill();
  });

  it('asks and tells nothing over a connection that is closed, and nothing breaks later', async () => {
    const closed = await connectNats({ name: 'x', servers: [broker.url], connectTimeoutMs: 2000, heartbeatMs: 1000 });
    await closed.close();
    await assert.rejects(ask(closed, 'somebody', [], 1));
    assert.equal(tell(closed, 'everybody', []), false);
    // a timer set after that of the question fires after it
    await new Promise((resolve) => setTimeout(resolve, 1));
  });
});
