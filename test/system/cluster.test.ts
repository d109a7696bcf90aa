/**
 * Two processes on real brokers as one evaluator: feeds and readers may use either, one is killed, one stands still for
 * longer than its lease, one of three brokers is killed, and what they leave is what one process would have left that
 * nobody interrupted. The longer runs are `npm run chaos`.
 */
import { strict as assert } from 'node:assert';
import { Chaos } from '../kit/system/chaos.js';
import { EvaluatorProcess } from '../kit/system/evaluator-process.js';
import { NatsServer, skipUnlessNats } from '../kit/system/nats.js';

describe('a cluster', () => {
  before(function () {
    skipUnlessNats(this);
  });

  it('leaves, killed and suspended, what a run leaves that nobody interrupts, event by event', async () => {
    const { fenced, events, claims, takeovers, records } = await new Chaos({
      seed: 1,
      evaluators: 2,
      brokers: 1,
      streams: 3,
      fps: 20,
      partitions: 2,
      troubles: ['suspend', 'kill'],
      calmMs: 600,
      renewMs: 300,
      expiryMs: 1200,
    }).run();
    assert.ok(fenced > 0, 'an owner that stood still hears that it is none any more');
    assert.ok(events > 0 && records > 0);
    assert.ok(claims >= 2 + takeovers.length, `${claims} claims, ${takeovers.length} takeovers`);
    assert.ok(takeovers.length > 0);
  });

  it('goes on without one of three brokers, and leaves what a run leaves that nobody interrupts', async () => {
    const { events, claims, records } = await new Chaos({
      seed: 2,
      evaluators: 2,
      brokers: 3,
      streams: 3,
      fps: 20,
      partitions: 2,
      troubles: ['broker'],
      calmMs: 600,
      renewMs: 300,
      expiryMs: 1200,
    }).run();
    assert.ok(events > 0 && records > 0 && claims >= 2);
  });

  it('has one number of partitions: a process with another one does not start', async () => {
    const broker = new NatsServer();
    await broker.start();
    const settings = (partitions: number) => ({
      cluster: { servers: [broker.url], partitions, logMaxBytes: 1 << 24, stateMaxBytes: 1 << 24 },
    });
    const [one, other] = [await EvaluatorProcess.create(settings(1)), await EvaluatorProcess.create(settings(2))];
    try {
      await one.start();
      await assert.rejects(other.start(), /the cluster has 1 partitions, and cluster.partitions is 2/);
    } finally {
      await one.dispose();
      await other.dispose();
      await broker.close();
    }
  });
});
