/**
 * The log, the chain of events and the lease of a partition, on real brokers that are killed, suspended and started
 * again: what was acknowledged is there, in order, and nobody writes after another's claim.
 */
import { strict as assert } from 'node:assert';
import { decodeLink, EventChain } from '../../src/cluster/event-chain.js';
import { Lease } from '../../src/cluster/lease.js';
import { Cell, FencedError } from '../../src/cluster/nats/cell.js';
import {
  checkServerVersion,
  connectNats,
  type NatsConnection,
  syncWarning,
} from '../../src/cluster/nats/connection.js';
import { makeStream, PartitionStream } from '../../src/cluster/nats/partition-stream.js';
import { BATCH_RECORDS, PartitionLog, positionOf, readRecords, sequenceOf } from '../../src/cluster/partition-log.js';
import { NatsCluster, NatsServer, skipUnlessNats } from '../kit/system/brokers/nats.js';
import { skipInFastRun, until } from '../kit/system/system.js';

const SETTINGS = { gatherMs: 2, batchBytes: 4096, queueMaxBytes: 1 << 24, timeoutMs: 300, retryMs: 20, stallMs: 1000 };
const MAX_BYTES = 1 << 26;
const tick = (n: number) => ({ kind: 'tick' as const, stream: 's', atMs: n });
const connectTo = (servers: string[]) =>
  connectNats({ name: 'test', servers, connectTimeoutMs: 2000, heartbeatMs: 1000, reconnectMs: 50 });

/** The last record of a test. */
const END = -1;

/** What the log holds, by position, up to its last record. */
async function contentOf(stream: PartitionStream): Promise<Map<number, number>> {
  const content = new Map<number, number>();
  for await (const { position, record } of readRecords(stream, 0, new AbortController().signal)) {
    if (record.atMs === END) break;
    content.set(position, record.atMs);
  }
  return content;
}

/** Appends numbered records while `trouble` is done to the brokers; every acknowledged one must be in its place. */
async function appendThrough(
  connection: NatsConnection,
  trouble: (log: PartitionLog) => Promise<unknown>,
): Promise<PartitionLog> {
  const stream = await PartitionStream.open(connection, 'LOG', 'log.0', SETTINGS);
  const log = new PartitionLog(stream, SETTINGS);
  const acked = new Map<number, number>();
  let next = 1;
  let over = false;
  const writing = (async () => {
    while (!over) {
      const some = Array.from({ length: 50 }, () => next++);
      await Promise.all(some.map(async (n) => acked.set(n, await log.append(tick(n)))));
    }
  })();
  await until('it flows', () => acked.size > 500 && true);
  await trouble(log);
  const enough = acked.size + 500;
  await until('it flows again', () => acked.size > enough && true);
  over = true;
  await writing;
  await log.append(tick(END));
  const content = await contentOf(stream);
  for (const [n, position] of acked) assert.equal(content.get(position), n, `record ${n} is at ${position}`);
  // a repeated batch is dropped by whoever is past it; what is left has no holes
  let newest = 0;
  for (const [, n] of [...content].sort(([a], [b]) => a - b))
    if (n > newest) {
      assert.equal(n, newest + 1, `no record between ${newest} and ${n}`);
      newest = n;
    }
  assert.equal(newest, next - 1);
  return log;
}

describe('a partition on one broker', () => {
  let broker: NatsServer;
  let connection: NatsConnection;

  before(function () {
    skipUnlessNats(this);
  });
  beforeEach(async () => {
    broker = new NatsServer();
    await broker.start();
    connection = await connectTo([broker.url]);
    await makeStream(connection, { name: 'LOG', subjects: ['log.*'], replicas: 1, maxBytes: MAX_BYTES });
    await makeStream(connection, { name: 'EV', subjects: ['ev.*'], replicas: 1, maxBytes: MAX_BYTES });
  });
  afterEach(async () => {
    await connection.close();
    await broker.close();
  });
  const cell = (subject = 'ev.0') => Cell.open(connection, { stream: 'EV', subject, timeoutMs: 200, retryMs: 10 });
  const count = async () => {
    const { manager } = await cell();
    return (await manager.streams.info('EV')).state.messages;
  };

  it('has in its log what was acknowledged, in order, after the broker was killed', async () => {
    const log = await appendThrough(connection, async () => {
      await broker.stop('SIGKILL');
      await broker.start();
    });
    assert.ok(log.retries > 0);
    await log.close(1000);
  });

  it('has it after the broker was suspended, and stored nothing out of order', async () => {
    const log = await appendThrough(connection, async (log) => {
      broker.suspend();
      await until('two attempts fail', () => log.retries >= 2);
      broker.resume();
    });
    await log.close(1000);
  });

  it('accepts nothing while its stream is full, and stores what it had accepted when there is room', async () => {
    await makeStream(connection, { name: 'SMALL', subjects: ['small'], replicas: 1, maxBytes: 20_000 });
    const stream = await PartitionStream.open(connection, 'SMALL', 'small', SETTINGS);
    const log = new PartitionLog(stream, SETTINGS);
    const accepted: Promise<number>[] = [];
    for (let n = 1; !log.fault; n++) {
      accepted.push(log.append(tick(n)));
      if (n % 100 === 0) await Promise.race([accepted.at(-1), until('it is full', () => log.fault ?? undefined)]);
    }
    assert.throws(() => log.append(tick(0)), { code: 'storage_full' });
    await stream.purgeBelow((await stream.lastSequence()) + 1);
    await Promise.all(accepted);
    assert.equal(log.fault, null);
    await log.close(1000);
  });

  it('drops what is below a batch and nothing else, also when that is the first', async () => {
    const stream = await PartitionStream.open(connection, 'LOG', 'log.0', SETTINGS);
    for (let n = 0; n < 5; n++) await stream.append(Buffer.from('x'), SETTINGS.timeoutMs);
    const first = async () => (await stream.manager.streams.info('LOG')).state.first_seq;
    for (const [below, left] of [
      [0, 1],
      [1, 1],
      [2, 2],
      [4, 4],
      [3, 4],
    ]) {
      await stream.purgeBelow(below);
      assert.equal(await first(), left, `what is below ${below} is dropped`);
    }
  });

  it('replaces a value only under the revision that was read', async () => {
    const one = await cell();
    assert.deepEqual(await one.read(), { revision: 0, bytes: new Uint8Array(0) });
    const revision = await one.write(0, Buffer.from('a'));
    await assert.rejects(one.write(0, Buffer.from('b')), FencedError);
    await one.write(revision, Buffer.from('c'));
    assert.equal(Buffer.from((await one.read()).bytes).toString(), 'c');
    assert.equal(await count(), 2);
  });

  it('knows whether a write took place whose answers were lost, and makes it once', async () => {
    const one = await cell();
    const first = await one.write(0, Buffer.from('a'));
    broker.suspend();
    const writing = one.write(first, Buffer.from('b'));
    // several attempts lie in the socket of the broker
    const { outMsgs } = connection.stats();
    await until('it is tried again', () => connection.stats().outMsgs >= outMsgs + 2);
    broker.resume();
    const second = await writing;
    assert.deepEqual(await one.read(), { revision: second, bytes: new Uint8Array(Buffer.from('b')) });
    assert.equal(await count(), 2);
  });

  it('lets nobody publish events after the claim of another, who goes on where they end', async () => {
    const former = await EventChain.claim(await cell(), 'a');
    await former.publish(10, [{ n: 1 }]);
    const next = await EventChain.claim(await cell(), 'b');
    assert.equal(next.upTo, 10);
    assert.equal(next.epoch, former.epoch + 1);
    await assert.rejects(former.publish(20, [{ n: 2 }]), FencedError);
    await next.publish(20, [{ n: 2 }]);
    await assert.rejects(next.publish(19, []), /would go back/);
    const last = decodeLink((await (await cell()).read()).bytes);
    assert.deepEqual(last, { epoch: 2, owner: 'b', upTo: 20, events: [{ n: 2 }], config: 0 });
  });

  it('has one claim only of several at once', async () => {
    const claims = await Promise.allSettled(
      ['a', 'b', 'c', 'd'].map(async (owner) => EventChain.claim(await cell(), owner)),
    );
    const won = claims.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    assert.ok(won.length >= 1);
    assert.equal(new Set(won.map(({ epoch }) => epoch)).size, won.length, 'one claim for each epoch');
    const published = await Promise.allSettled(won.map((chain) => chain.publish(5, [])));
    assert.equal(published.filter(({ status }) => status === 'fulfilled').length, 1);
  });

  it('is leased by whoever has seen its holder silent for long enough, on a clock of its own', async () => {
    let nowMs = 0;
    const settings = { renewMs: 600, expiryMs: 2500 };
    const lease = async (owner: string) => new Lease(await cell('ev.lease'), owner, settings, () => nowMs);
    const a = await lease('a');
    const b = await lease('b');
    assert.ok(await a.acquire());
    const look = async (ms: number) => {
      nowMs += ms;
      return b.acquire();
    };
    assert.equal(await look(0), false);
    for (let n = 0; n < 5; n++) {
      assert.ok(await a.renew(n));
      assert.equal(await look(600), false);
    }
    // a has nothing more to say; b looks every 600 ms
    for (let n = 0; n < 4; n++) assert.equal(await look(600), false, `after ${n + 1} looks`);
    assert.equal(await look(600), true);
    assert.equal(await a.renew(9), false);
    assert.equal(a.isHeld, false);
    await b.release(7);
    assert.ok(await a.acquire(), 'what is released is free at once');
  });

  it('is not taken by somebody who has just woken up', async () => {
    let nowMs = 0;
    const settings = { renewMs: 600, expiryMs: 2500 };
    const holder = new Lease(await cell('ev.lease'), 'a', settings, () => nowMs);
    const sleeper = new Lease(await cell('ev.lease'), 'b', settings, () => nowMs);
    await holder.acquire();
    assert.equal(await sleeper.acquire(), false);
    nowMs += 60_000;
    assert.equal(await sleeper.acquire(), false);
  });
});

describe('brokers that do not answer', () => {
  before(function () {
    skipUnlessNats(this);
  });

  it('are left for another one, though their connection lives', async () => {
    const brokers = [new NatsServer(), new NatsServer()];
    for (const broker of brokers) await broker.start();
    const servers = brokers.map(({ url }) => url);
    // pings would say so only after minutes
    const patient = { name: 'test', servers, connectTimeoutMs: 2000, heartbeatMs: 600_000, reconnectMs: 50 };
    const connection = await connectNats(patient);
    const settings = { name: 'EV', subjects: ['ev.*'], replicas: 1, maxBytes: MAX_BYTES };
    const asked = brokers.find(({ port }) => connection.getServer().endsWith(`:${port}`))!;
    const other = brokers.find((broker) => broker !== asked)!;
    const elsewhere = await connectTo([other.url]);
    await makeStream(elsewhere, settings);
    asked.suspend();
    const cell = await Cell.open(connection, { stream: 'EV', subject: 'ev.0', timeoutMs: 50, retryMs: 10 });
    assert.equal(await cell.write(0, Buffer.from('a')), 1);
    assert.ok(connection.getServer().endsWith(`:${other.port}`));
    await connection.close();
    await elsewhere.close();
    for (const broker of brokers) await broker.close();
  });
});

describe('a partition on three brokers', () => {
  const brokers = new NatsCluster();

  before(async function () {
    skipInFastRun(this);
    skipUnlessNats(this);
    await brokers.start();
  });
  after(() => brokers.close());

  /**
   * Makes a stream; right after a start or a kill a broker may count as offline, and evaluators try again then, too.
   */
  const placed = async (connection: NatsConnection, name: string, subject: string) => {
    const settings = { name, subjects: [subject], replicas: 3, maxBytes: MAX_BYTES };
    let fault: unknown;
    const make = () =>
      makeStream(connection, settings).then(
        () => true,
        (error) => {
          fault = error;
          return false;
        },
      );
    await until('the brokers place a stream', make).catch((error) => {
      throw new Error(`${error}: ${fault}`);
    });
  };

  /** The broker that leads; there is none while they elect one, and then nobody may answer either. */
  const leading = (look: () => Promise<{ leader?: string } | undefined>) =>
    until('somebody leads', async () => {
      const group = await look().catch(() => undefined);
      return brokers.servers.find(({ options }) => options.name === group?.leader);
    });

  it('has in its log what was acknowledged, in order, after the one that led was killed', async () => {
    const connection = await connectTo(brokers.urls);
    await placed(connection, 'LOG', 'log.*');
    const { manager } = await PartitionStream.open(connection, 'LOG', 'log.0', SETTINGS);
    const log = await appendThrough(connection, async () => {
      const victim = await leading(async () => (await manager.streams.info('LOG')).cluster);
      await victim.stop('SIGKILL');
      await victim.start();
    });
    await log.close(1000);
    await connection.close();
  });

  it('is read on while the broker that a reader asked is dead, without waiting for it', async () => {
    const connection = await connectTo(brokers.urls);
    await placed(connection, 'READ', 'read.*');
    const stream = await PartitionStream.open(connection, 'READ', 'read.0', SETTINGS);
    const over = new AbortController();
    const heard: number[] = [];
    const reading = (async () => {
      for await (const { sequence } of stream.read(1, over.signal)) heard.push(sequence);
    })();
    const append = async () =>
      until('a batch is stored', () => stream.append(Buffer.from('x'), SETTINGS.timeoutMs).catch(() => false as const));
    await append();
    await until('it is heard', () => heard.length === 1);
    const victim = await leading(async () => (await stream.manager.consumers.list('READ').next())[0]?.cluster);
    await victim.stop('SIGKILL');
    const last = await append();
    await until('what was stored since is heard', () => heard.at(-1) === last);
    assert.deepEqual(
      heard,
      Array.from({ length: last }, (_, n) => n + 1),
    );
    over.abort();
    await reading;
    await victim.start();
    await connection.close();
  });
});

describe('positions and servers', () => {
  it('has positions that sort as batches and their records do', () => {
    assert.equal(sequenceOf(positionOf(7, BATCH_RECORDS - 1)), 7);
    assert.ok(positionOf(7, BATCH_RECORDS - 1) < positionOf(8, 0));
  });

  it('refuses servers that lose what they acknowledged, with a sentence', () => {
    for (const version of ['2.9.10', '2.10.22', '1.4.1', 'unknown'])
      assert.throws(() => checkServerVersion(version), /2\.10\.23 or newer is needed/, version);
    for (const version of ['2.10.23', '2.10.27', '2.11.0', '2.12.0-RC.1', '3.0.0']) checkServerVersion(version);
  });

  it('warns of a server that is not known to flush', () => {
    assert.equal(syncWarning('n', { config: { sync_always: true } }), null);
    assert.match(syncWarning('n', {})!, /^NATS server n acknowledges what a power cut would lose/);
    assert.match(syncWarning('n', null)!, /may acknowledge/);
  });
});
