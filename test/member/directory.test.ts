/** What a process has heard of the others, on a real broker. */
import { strict as assert } from 'node:assert';
import { setTimeout as delay } from 'node:timers/promises';
import { Layout } from '../../src/cluster/layout.js';
import { connectNats, type NatsConnection } from '../../src/cluster/nats/connection.js';
import { readConfig } from '../../src/config/config.js';
import { Directory } from '../../src/member/directory.js';
import { NatsServer, skipUnlessNats } from '../kit/system/brokers/nats.js';
import { until } from '../kit/system/system.js';

const SILENCE_MS = 200;

describe('what is heard of a process', () => {
  const broker = new NatsServer();
  let connection: NatsConnection;

  before(async function () {
    skipUnlessNats(this);
    await broker.start();
    const access = { name: 'test', servers: [broker.url], connectTimeoutMs: 2000, heartbeatMs: 60_000 };
    connection = await connectNats({ ...access, reconnectMs: 50 });
  });
  after(async () => {
    await connection?.close();
    await broker.close();
  });

  it('counts its silence for others from when they could hear again, and what it may hold until it was heard twice', async () => {
    const sizes = { logMaxBytes: 1 << 22, stateMaxBytes: 1 << 22, timeoutMs: 300, retryMs: 20 };
    const { cluster } = readConfig({
      text: JSON.stringify({ cluster: { servers: [broker.url], partitions: 1, ...sizes } }),
      env: {},
    }).config;
    const layout = new Layout(connection, cluster!);
    await layout.make();
    const cell = await layout.memberCell('a');
    let revision = 0;
    const directory = new Directory(layout, 60_000);
    /** Says that it lives, and waits until that is heard. */
    const live = async (stuck: number[]) => {
      const info = { id: 'a', roles: ['gateway'], url: '', readsReports: false, stuck };
      revision = await cell.write(revision, Buffer.from(JSON.stringify(info)));
      if (revision > 1) await until('it is heard', () => directory.isStuck('a', 0) === stuck.includes(0));
    };
    assert.equal(directory.unheardMs('a'), Number.POSITIVE_INFINITY);
    await live([]);
    await directory.start(revision, (error) => assert.fail(String(error)));
    await delay(SILENCE_MS);
    directory.lookAnew('b');
    assert.ok(directory.silenceMs('a') < SILENCE_MS, 'nobody could hear it');
    assert.ok(directory.unheardMs('a') >= SILENCE_MS - 1, 'it was not heard');
    await live([0]);
    assert.ok(directory.silenceMs('a') < SILENCE_MS, 'it was heard');
    assert.ok(directory.unheardMs('a') >= SILENCE_MS - 1, 'what it said may be old');
    for (let n = 0; directory.unheardMs('a') >= SILENCE_MS; n++) await live(n % 2 === 0 ? [] : [0]);
    directory.close();
  });
});
