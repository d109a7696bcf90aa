/** A text that one process at a time may write, on a real broker. */
import assert from 'node:assert/strict';
import { Layout } from '../../src/cluster/layout.js';
import { connectNats } from '../../src/cluster/nats/connection.js';
import { readConfig } from '../../src/config/config.js';
import { OwnedText } from '../../src/member/owned-text.js';
import { NatsServer, skipUnlessNats } from '../kit/system/brokers/nats.js';

describe('an owned text', () => {
  const broker = new NatsServer();
  before(async function () {
    skipUnlessNats(this);
    await broker.start();
  });
  after(() => broker.close());

  it('is read by whoever claims it, and from then on the one before writes nothing', async () => {
    const cluster = { servers: [broker.url], partitions: 1, logMaxBytes: 1 << 22, stateMaxBytes: 1 << 22 };
    const settings = readConfig({ text: JSON.stringify({ cluster }), env: {} }).config.cluster!;
    const access = { name: 'test', servers: [broker.url], connectTimeoutMs: 5000, heartbeatMs: 5000 };
    const connection = await connectNats(access);
    try {
      const layout = new Layout(connection, settings);
      await layout.make();
      const claim = async () => OwnedText.claim(await layout.leaseCell('notified'), new AbortController().signal);
      const first = await claim();
      assert.equal(first.text, '');
      await Promise.all([first.save('one'), first.save('two')]);
      const second = await claim();
      assert.equal(second.text, 'two');
      await assert.rejects(first.save('three'), { name: 'FencedError' });
      await assert.rejects(first.save('four'), 'and nothing after that');
      await second.save('five');
      assert.equal((await claim()).text, 'five');
    } finally {
      await connection.close();
    }
  });
});
