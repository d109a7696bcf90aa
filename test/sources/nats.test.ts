/** NATS as a source, core and JetStream, against a real broker; through the real evaluator. */
import { strict as assert } from 'node:assert';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { type Broker, BrokerBench, keepsItsPromises } from '../kit/broker-source.js';
import { pipelineOf } from '../kit/live.js';
import { IN_THIS_THREAD } from '../kit/settings.js';
import { NatsServer, skipUnlessNats } from '../kit/system/brokers/nats.js';
import { skipInFastRun, until } from '../kit/system/system.js';

/** Core NATS keeps nothing; JetStream does, in the stream SITE. */
class NatsBroker implements Broker {
  readonly kind = 'nats';
  readonly #server = new NatsServer();
  #publisher: NatsConnection | null = null;
  readonly kept = { jetstream: 'SITE' };

  start(user?: { name: string; password: string }): Promise<void> {
    return this.#server.start(user && [`authorization { user: ${user.name}, password: "${user.password}" }`]);
  }

  stop(): Promise<void> {
    return this.#server.stop('SIGKILL');
  }

  async close(): Promise<void> {
    await this.#publisher?.close();
    await this.#server.close();
  }

  source(): object {
    return {
      servers: [this.#server.url],
      feeds: [
        { subject: 'site.*.truths', stream: 's', role: 'reference' },
        { subject: 'site.gate.tracks', stream: 's', tracker: 't' },
      ],
    };
  }

  async #client(): Promise<NatsConnection> {
    if (!this.#publisher || this.#publisher.isClosed())
      this.#publisher = await connect({ servers: this.#server.url, reconnect: false });
    return this.#publisher;
  }

  async #manager() {
    return jetstreamManager(await this.#client());
  }

  async makeKept(): Promise<void> {
    await (await this.#manager()).streams.add({ name: 'SITE', subjects: ['site.>'] });
  }

  /** Both readers of now, and none of those before, have nothing left to acknowledge. */
  async isAcknowledged(): Promise<boolean> {
    const consumers = await (await this.#manager()).consumers.list('SITE').next();
    const isDone = consumers.every(({ num_ack_pending, num_pending }) => num_ack_pending === 0 && num_pending === 0);
    return consumers.length === 2 && isDone;
  }

  async publish(name: string, payload: string | Buffer, kept: boolean): Promise<void> {
    const client = await this.#client();
    if (kept) await jetstream(client).publish(`site.gate.${name}`, payload as never);
    else client.publish(`site.gate.${name}`, payload as never);
  }
}

describe('NATS', () => {
  let broker: NatsBroker;
  let bench: BrokerBench;

  before(function () {
    skipInFastRun(this);
    skipUnlessNats(this);
  });
  beforeEach(() => {
    broker = new NatsBroker();
    bench = new BrokerBench(broker);
  });
  afterEach(() => bench.close());

  keepsItsPromises(() => bench);

  it('refuses what finds the queue full, for core NATS cannot wait', async () => {
    await broker.start();
    await bench.start({ ...bench.settings({}, { queueMessages: 4 }), evaluation: IN_THIS_THREAD });
    await bench.connected();
    const live = pipelineOf(bench.app);
    const ingest = live.ingest.bind(live);
    let release = () => {};
    const blocked = new Promise<void>((resolve) => {
      release = resolve;
    });
    live.ingest = async (id, part, receivedMs) => {
      await blocked;
      return ingest(id, part, receivedMs);
    };
    await bench.both(1, 10);
    await until('some are refused', async () => {
      const full = await bench.metric('tgospa_source_rejected_total', `${bench.labels()},reason="queue_full"`);
      return full === 16;
    });
    release();
    await bench.untilFrames('s', 't', 2);
  });

  it('reads from JetStream what was there before it, and goes on with what comes', async () => {
    await broker.start();
    await broker.makeKept();
    await bench.both(1, 20, true);
    await bench.start(bench.settings(broker.kept));
    await bench.untilFrames('s', 't', 20);
    await bench.both(21, 40, true);
    await bench.untilFrames('s', 't', 40);
    assert.equal((await bench.app.live.window('s', 't', 'online-surveillance'))!.evaluation.distance, 0);
  });

  it('begins with what comes from now on, when told to', async () => {
    await broker.start();
    await broker.makeKept();
    await bench.both(1, 20, true);
    await bench.start(bench.settings({ ...broker.kept, begin: 'new' }));
    await bench.connected();
    await bench.both(21, 30, true);
    await bench.untilFrames('s', 't', 10);
    assert.equal(await bench.metric('tgospa_source_messages_total', bench.labels()), 20);
  });

  it('loses nothing and doubles nothing when the broker is killed under it', async () => {
    await broker.start();
    await broker.makeKept();
    await bench.start(bench.settings(broker.kept));
    await bench.both(1, 20, true);
    for (const k of [21, 41]) {
      await broker.stop();
      await bench.lost();
      await broker.start();
      await bench.both(k, k + 19, true);
    }
    await bench.untilFrames('s', 't', 60);
    assert.equal(await bench.duplicates(), 0);
    assert.equal((await bench.app.live.window('s', 't', 'online-surveillance'))!.evaluation.distance, 0);
  });

  it('says that a stream is not there, and reads it as soon as it is', async () => {
    await broker.start();
    await bench.start(bench.settings(broker.kept));
    await until('it complains', () => bench.logged('source_failed').length > 0 && true);
    assert.match(String(bench.logged('source_failed')[0].error), /stream not found/);
    await broker.makeKept();
    await bench.connected();
    await bench.both(1, 3, true);
    await bench.untilFrames('s', 't', 3);
  });
});
