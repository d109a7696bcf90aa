/**
 * Processes on real brokers as one evaluator: feeds and readers may use any, some are killed, stand still for longer
 * than their lease, or are cut off from the network, brokers are killed or cut off or lose their power, and what is
 * left is what one process would have left that nobody interrupted. The longer runs are `npm run chaos`.
 */
import { strict as assert } from 'node:assert';
import { NatsServer, skipUnlessNats } from '../../kit/system/brokers/nats.js';
import { Chaos } from '../../kit/system/chaos.js';
import { EvaluatorProcess } from '../../kit/system/evaluator-process.js';
import { skipUnlessNetworks } from '../../kit/system/network.js';
import { skipUnlessPower } from '../../kit/system/power.js';

describe('a cluster', () => {
  before(function () {
    skipUnlessNats(this);
  });

  it('leaves, killed, suspended and after a power cut, what a run leaves that nobody interrupts, event by event', async function () {
    skipUnlessPower(this);
    const { fenced, events, claims, takeovers, records } = await new Chaos({
      seed: 1,
      evaluators: 2,
      gateways: 1,
      brokers: 1,
      streams: 3,
      fps: 20,
      partitions: 2,
      troubles: ['suspend', 'kill', 'gateway', 'power'],
      calmMs: 600,
      renewMs: 300,
      expiryMs: 1200,
      cutMs: 2000,
    }).run();
    assert.ok(fenced > 0, 'an owner that stood still hears that it is none any more');
    assert.ok(events > 0 && records > 0);
    assert.ok(claims >= 2 + takeovers.length, `${claims} claims, ${takeovers.length} takeovers`);
    assert.ok(takeovers.length > 0);
  });

  it('goes on without one of three brokers, killed or cut off, and fences an owner that is cut off', async function () {
    skipUnlessNetworks(this);
    const { events, claims, records, cuts, fenced, snapshots } = await new Chaos({
      seed: 2,
      evaluators: 2,
      gateways: 1,
      brokers: 3,
      streams: 3,
      fps: 20,
      partitions: 2,
      troubles: ['broker', 'isolate', 'split'],
      calmMs: 600,
      renewMs: 300,
      expiryMs: 1200,
      cutMs: 2000,
    }).run();
    assert.ok(events > 0 && records > 0 && claims >= 2);
    assert.ok(cuts > 0 && fenced > 0 && snapshots > 0, `${cuts} cuts, ${fenced} fenced, ${snapshots} snapshots`);
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
