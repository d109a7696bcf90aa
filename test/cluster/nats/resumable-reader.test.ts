/** What a reader gets from JetStream after cuts and crashes: everything, once, in order. Against a real broker. */
import { strict as assert } from 'node:assert';
import { jetstream, jetstreamManager, RetentionPolicy } from '@nats-io/jetstream';
import { connectNats, type NatsConnection } from '../../../src/cluster/nats/connection.js';
import { ReadingProgress, type ReceivedMessage, ResumableReader } from '../../../src/cluster/nats/resumable-reader.js';
import { NatsServer, skipUnlessNats } from '../../kit/system/brokers/nats.js';
import { until } from '../../kit/system/system.js';

describe('a resumable reader', () => {
  const broker = new NatsServer();
  let connections: NatsConnection[] = [];
  let readers: ResumableReader[] = [];
  let stream = '';
  let streamCount = 0;

  before(async function () {
    skipUnlessNats(this);
    await broker.start();
  });
  after(() => broker.close());
  beforeEach(() => {
    stream = `S${++streamCount}`;
  });
  afterEach(async () => {
    await (await jetstreamManager(await connection())).streams.delete(stream);
    for (const reader of readers) reader.stop();
    for (const one of connections) await one.close();
    readers = [];
    connections = [];
  });

  const connection = async () => {
    const access = { name: 'test', servers: [broker.url], connectTimeoutMs: 5000, heartbeatMs: 5000 };
    const one = await connectNats(access);
    connections.push(one);
    return one;
  };
  const makeStream = async (retention: RetentionPolicy = RetentionPolicy.Limits) => {
    const own = await connection();
    await (await jetstreamManager(own)).streams.add({ name: stream, subjects: ['s.*'], retention });
    const context = jetstream(own);
    return async (from: number, to: number, subject = 's.a') => {
      for (let n = from; n <= to; n++) await context.publish(subject, String(n));
    };
  };
  const open = async (progress: ReadingProgress, changes: object = {}) => {
    const own = await connection();
    const settings = { stream, reader: 'r', subject: 's.*', begin: 'oldest' as const, ...changes };
    const reader = await ResumableReader.open(own, { keepMs: 60_000, pendingMax: 100, ...settings }, progress);
    readers.push(reader);
    return { own, reader };
  };
  /** The next `count` messages; those that `concluded` names are concluded. */
  const read = async (reader: ResumableReader, count: number, concluded: (n: number) => boolean) => {
    const read: ReceivedMessage[] = [];
    for await (const delivery of reader) {
      read.push(delivery);
      if (concluded(textOf(delivery))) delivery.conclude();
      if (read.length === count) break;
    }
    return read;
  };
  const textOf = ({ payload }: ReceivedMessage) => Number(new TextDecoder().decode(payload));
  const numbers = (deliveries: ReceivedMessage[]) => deliveries.map(textOf);
  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);

  it('gets what its predecessor did not conclude before anything newer', async () => {
    const publish = await makeStream();
    await publish(1, 5);
    const { own, reader } = await open(new ReadingProgress());
    await read(reader, 5, (n) => n <= 2 || n === 4);
    await own.flush();
    // it is gone without a word
    await own.close();
    await publish(6, 10, 's.b');
    const { reader: next } = await open(new ReadingProgress());
    assert.deepEqual(numbers(await read(next, 8, () => true)), range(3, 10));
  });

  it('is not given twice what it has, after a cut', async () => {
    const publish = await makeStream();
    await publish(1, 5);
    const progress = new ReadingProgress();
    const { own, reader } = await open(progress);
    const first = await read(reader, 5, (n) => n === 1);
    await own.close();
    await publish(6, 8);
    const { own: second, reader: next } = await open(progress);
    assert.deepEqual(numbers(await read(next, 3, () => true)), [6, 7, 8]);
    for (const delivery of first.slice(1)) delivery.conclude();
    const manager = await jetstreamManager(second);
    await until('everything is acknowledged', async () => {
      const infos = await manager.consumers.list(stream).next();
      return infos.length === 1 && infos[0].num_ack_pending === 0 && infos[0].ack_floor.stream_seq === 8;
    });
  });

  it('has another position in another stream of the same name', async () => {
    const publish = await makeStream();
    await publish(1, 5);
    const progress = new ReadingProgress();
    const { own, reader } = await open(progress);
    await read(reader, 5, () => true);
    await (await jetstreamManager(own)).streams.delete(stream);
    await own.close();
    const publishAnew = await makeStream();
    await publishAnew(21, 23);
    const { reader: next } = await open(progress);
    assert.deepEqual(numbers(await read(next, 3, () => true)), [21, 22, 23]);
  });

  it('begins with the next message when told to, and keeps to that', async () => {
    const publish = await makeStream();
    await publish(1, 5);
    const { own } = await open(new ReadingProgress(), { begin: 'new' });
    // gone before it had anything
    await own.close();
    await publish(6, 7);
    const { reader } = await open(new ReadingProgress(), { begin: 'new' });
    assert.deepEqual(numbers(await read(reader, 2, () => true)), [6, 7]);
  });

  it('works through a work queue, whose messages go when they are concluded', async () => {
    const publish = await makeStream(RetentionPolicy.Workqueue);
    await publish(1, 5);
    const { own, reader } = await open(new ReadingProgress());
    await read(reader, 5, (n) => n <= 2);
    await own.flush();
    await own.close();
    await publish(6, 6);
    const { own: second, reader: next } = await open(new ReadingProgress());
    assert.deepEqual(numbers(await read(next, 4, () => true)), [3, 4, 5, 6]);
    const manager = await jetstreamManager(second);
    await until('the queue is empty', async () => (await manager.streams.info(stream)).state.messages === 0);
  });

  it('is given no more than may be pending', async () => {
    const publish = await makeStream();
    await publish(1, 30);
    const { own, reader } = await open(new ReadingProgress(), { pendingMax: 10 });
    await read(reader, 10, () => false);
    const [info] = await (await jetstreamManager(own)).consumers.list(stream).next();
    assert.equal(info.num_ack_pending, 10);
  });
});
