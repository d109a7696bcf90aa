/** Reading a stream over everything that can happen to a consumer; over dead brokers: `partition.test.ts`. */
import assert from 'node:assert/strict';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connectNats } from '../../../src/cluster/nats/connection.js';
import { type Followed, follow, readNewest } from '../../../src/cluster/nats/follow.js';
import { makeStream } from '../../../src/cluster/nats/partition-stream.js';
import { NatsServer, skipUnlessNats } from '../../kit/system/brokers/nats.js';
import { until } from '../../kit/system/system.js';

describe('following a stream', () => {
  const broker = new NatsServer();
  before(async function () {
    skipUnlessNats(this);
    await broker.start();
  });
  after(() => broker.close());

  it('gives a consumer up that brings nothing although the leader has more, and goes on behind what was read', async () => {
    const connection = await connectNats({
      name: 'test',
      servers: [broker.url],
      connectTimeoutMs: 5000,
      heartbeatMs: 5000,
    });
    const over = new AbortController();
    try {
      await makeStream(connection, { name: 'S', subjects: ['s.*'], replicas: 1, maxBytes: 1 << 20 });
      const read: Followed[] = [];
      const reading = (async () => {
        for await (const one of follow(connection, { stream: 'S', subject: 's.a', from: 1 }, over.signal))
          read.push(one);
      })();
      const manager = await jetstreamManager(connection);
      const consumers = async () => {
        const names: string[] = [];
        for await (const { name } of manager.consumers.list('S')) names.push(name);
        return names;
      };
      const publish = (subject: string) => jetstream(connection).publish(subject, subject);
      await publish('s.a');
      await until('it is read', () => read.length === 1);
      const [first] = await consumers();
      // to who follows s.a, this is a copy of the stream that has stopped
      await publish('s.b');
      await until('another consumer is there', async () => !(await consumers()).includes(first));
      await publish('s.a');
      await until('it goes on', () => read.length > 1);
      assert.deepEqual(
        read.map(({ sequence }) => sequence),
        [1, 3],
      );
      over.abort();
      await reading;
    } finally {
      over.abort();
      await connection.close();
    }
  });

  it('asks for messages one by one while the brokers make no consumer, and goes on with one when they do', async () => {
    // who may not make consumers finds them as impossible as where brokers do not agree on one
    const users = (denied: string) =>
      `authorization { users: [{ user: any, password: p }, { user: some, password: p, permissions: { publish: { deny: ["${denied}"] } } }] }`;
    const strict = new NatsServer();
    await strict.start([users('$JS.API.CONSUMER.CREATE.>')]);
    const settings = {
      servers: [strict.url],
      password: 'p',
      connectTimeoutMs: 5000,
      heartbeatMs: 5000,
      reconnectMs: 50,
    };
    const writer = await connectNats({ name: 'writer', username: 'any', ...settings });
    const reader = await connectNats({ name: 'reader', username: 'some', ...settings });
    const over = new AbortController();
    try {
      await makeStream(writer, { name: 'O', subjects: ['o.*'], replicas: 1, maxBytes: 1 << 20 });
      const publish = (subject: string) => jetstream(writer).publish(subject, subject);
      for (let n = 0; n < 20; n++) await publish(n % 2 === 0 ? 'o.a' : 'o.b');
      const own: number[] = [];
      const newest: Array<[string, number]> = [];
      const read = async () => {
        for await (const one of follow(reader, { stream: 'O', subject: 'o.a', from: 1 }, over.signal))
          own.push(one.sequence);
      };
      const watch = async () => {
        for await (const one of follow(reader, { stream: 'O', subject: 'o.*', from: 'newest' }, over.signal))
          newest.push([one.subject, one.sequence]);
      };
      const reading = Promise.all([read(), watch()]);
      await until('everything is read', () => own.length === 10 && newest.length === 2);
      assert.deepEqual(newest, [
        ['o.a', 19],
        ['o.b', 20],
      ]);
      await publish('o.a');
      await until('what comes is read', () => own.length === 11 && newest.length === 3);
      const manager = await jetstreamManager(writer);
      assert.equal((await manager.streams.info('O')).state.consumer_count, 0);
      await strict.stop('SIGKILL');
      await strict.start([users('nothing')]);
      const consumers = () =>
        manager.streams.info('O').then(
          ({ state }) => state.consumer_count,
          () => 0,
        );
      await until('consumers are made', async () => (await consumers()) === 2);
      await publish('o.a');
      await until('they go on', () => own.length === 12 && newest.some(([, sequence]) => sequence === 22));
      assert.deepEqual(own, Array.from({ length: 10 }, (_, n) => 2 * n + 1).concat([21, 22]));
      over.abort();
      await reading;
    } finally {
      over.abort();
      await reader.close();
      await writer.close();
      await strict.close();
    }
  });

  it('reads what every subject says, though all of them change meanwhile', async () => {
    const settings = { servers: [broker.url], connectTimeoutMs: 5000, heartbeatMs: 5000 };
    const connection = await connectNats({ name: 'reader', ...settings });
    const other = await connectNats({ name: 'writer', ...settings });
    const over = new AbortController();
    try {
      await makeStream(connection, { name: 'N', subjects: ['n.*'], keepPerSubject: 1, replicas: 1, maxBytes: 1 << 26 });
      const subjects = Array.from({ length: 30 }, (_, n) => `n.${n}`);
      const write = (subject: string) => jetstream(other).publish(subject, new Uint8Array(40_000));
      await Promise.all(subjects.map(write));
      const writing = (async () => {
        while (!over.signal.aborted) await Promise.all(subjects.map(write));
      })();
      for (let reads = 0; reads < 10; reads++) {
        const { seq } = await jetstream(connection).publish('n.floor');
        const read = await readNewest(connection, 'N', 'n.*', seq);
        assert.deepEqual(read.map(({ subject }) => subject).sort(), [...subjects, 'n.floor'].sort());
      }
      over.abort();
      await writing;
    } finally {
      over.abort();
      await connection.close();
      await other.close();
    }
  });
});
