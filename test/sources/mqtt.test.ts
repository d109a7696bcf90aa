/** MQTT as a source, against a real broker; through the real evaluator. */
import { strict as assert } from 'node:assert';
import { connectAsync, type MqttClient } from 'mqtt';
import { matches } from '../../src/sources/mqtt.js';
import { type Broker, BrokerBench, keepsItsPromises } from '../kit/broker-source.js';
import { pipelineOf } from '../kit/live.js';
import { IN_THIS_THREAD } from '../kit/settings.js';
import { frameText } from '../kit/sources.js';
import { hasMosquitto, Mosquitto } from '../kit/system/brokers/mosquitto.js';
import { skipInFastRun, skipUnless, until } from '../kit/system/system.js';

/** What is published is acknowledged to us, and kept for a source that was here before. */
class MqttBroker implements Broker {
  readonly kind = 'mqtt';
  readonly #server = new Mosquitto();
  #publisher: MqttClient | null = null;
  /** the broker does not hold back what is too large */
  readonly kept = { protocol: 4 };
  /** lines of its configuration */
  lines = ['max_queued_messages 0', 'autosave_interval 1', 'autosave_on_changes true'];

  start(user?: { name: string; password: string }): Promise<void> {
    return this.#server.start(user, this.lines);
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  async close(): Promise<void> {
    await this.#publisher?.endAsync(true);
    await this.#server.close();
  }

  source(): object {
    return {
      url: this.#server.url,
      feeds: [
        { topic: 'site/+/truths', stream: 's', role: 'reference' },
        { topic: 'site/gate/tracks', stream: 's', tracker: 't' },
      ],
    };
  }

  async makeKept(): Promise<void> {}

  /** The broker does not tell. */
  async isAcknowledged(): Promise<boolean> {
    return true;
  }

  publish(name: string, payload: string | Buffer): Promise<void> {
    return this.send(`site/gate/${name}`, payload);
  }

  async send(topic: string, payload: string | Buffer, qos: 0 | 1 = 1): Promise<void> {
    this.#publisher ??= await connectAsync(this.#server.url, { reconnectPeriod: 20 });
    await this.#publisher.publishAsync(topic, payload, { qos });
  }
}

describe('MQTT', () => {
  let broker: MqttBroker;
  let bench: BrokerBench;

  before(function () {
    skipInFastRun(this);
    skipUnless(this, hasMosquitto, 'mosquitto is not here; install the Debian package mosquitto');
  });
  beforeEach(() => {
    broker = new MqttBroker();
    bench = new BrokerBench(broker);
  });
  afterEach(() => bench.close());

  keepsItsPromises(() => bench);

  /** From now on nothing becomes durable; `arrived` lists the frames that wait, `release` lets them go. */
  const blockStorage = () => {
    const live = pipelineOf(bench.app);
    const ingest = live.ingest.bind(live);
    const waiting: Array<() => void> = [];
    const arrived: number[] = [];
    let blocked = true;
    live.ingest = async (id, part, receivedMs) => {
      if (blocked) {
        arrived.push(part.k!);
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
      return ingest(id, part, receivedMs);
    };
    const release = () => {
      blocked = false;
      for (const go of waiting) go();
    };
    return { arrived, release };
  };

  it('acknowledges what is durable, and only that', async () => {
    // the broker sends a fourth message when one of three is acknowledged
    broker.lines = ['max_inflight_messages 3'];
    await broker.start();
    await bench.start({ ...bench.settings({ protocol: 4 }), evaluation: IN_THIS_THREAD });
    await bench.connected();
    const { arrived, release } = blockStorage();
    await bench.both(1, 5);
    // one without acknowledgement overtakes those held back, and comes behind all that were sent
    await broker.send('site/gate/truths', frameText(99), 0);
    await until('it has come', () => arrived.includes(99));
    assert.deepEqual([...arrived].sort(), [1, 1, 2, 99]);
    release();
    await until(
      'all is stored',
      async () => (await bench.storedSeq('s', 't')) === 5 && (await bench.storedSeq('s', null)) === 6,
    );
    await bench.stop();
    await bench.start(bench.settings({ protocol: 4 }));
    await bench.connected();
    await bench.both(100, 100);
    await until('the new one is stored', async () => (await bench.storedSeq('s', 't')) === 6);
    assert.equal(await bench.metric('tgospa_source_messages_total', bench.labels()), 2, 'nothing came again');
  });

  it('acknowledges a redelivered message that is on its way without taking it twice', async () => {
    await broker.start();
    await bench.start({ ...bench.settings(), evaluation: IN_THIS_THREAD });
    await bench.connected();
    const { arrived, release } = blockStorage();
    await bench.both(1, 3);
    await until('all have come', () => arrived.length === 6 && true);
    await broker.stop();
    await bench.lost();
    await broker.start();
    await bench.connected();
    release();
    await bench.both(4, 6);
    await bench.untilFrames('s', 't', 6);
    assert.equal(await bench.metric('tgospa_source_messages_total', bench.labels()), 12);
    assert.equal(await bench.duplicates(), 0);
  });

  it('is not even sent what is too large, by a broker of version 5', async () => {
    await broker.start();
    await bench.start(bench.settings({}, { payloadBytes: 2048 }));
    await bench.connected();
    await broker.publish('tracks', 'x'.repeat(100_000));
    await bench.both(1, 3);
    await bench.untilFrames('s', 't', 3);
    assert.equal(await bench.metric('tgospa_source_messages_total', bench.labels()), 6);
  });

  for (const [title, changes] of [
    ['is sent all messages of a frame by a broker of version 5 before it acknowledges any', {}],
    ['is so by an older broker when told to acknowledge what is received', { protocol: 4, acknowledge: 'received' }],
  ] as const)
    it(title, async () => {
      await broker.start();
      const line = (k: number, n: number) => `${k},${n},${n * 30},10,20,40,1`;
      const feeds = ['truths', 'tracks'].map((topic) => ({
        topic,
        stream: 's',
        ...(topic === 'truths' ? { role: 'reference' } : { tracker: 't' }),
        format: 'motchallenge',
      }));
      await bench.start({ ...bench.settings({ feeds, ...changes }), limits: { unfinishedMs: 600_000, stopMs: 100 } });
      await bench.connected();
      // an older broker has 20 messages underway at a time
      for (let k = 1; k <= 3; k++)
        for (const topic of ['truths', 'tracks']) for (let n = 1; n <= 50; n++) await broker.send(topic, line(k, n));
      // the fourth frame completes the third
      for (const topic of ['truths', 'tracks']) await broker.send(topic, line(4, 1));
      await bench.untilFrames('s', 't', 3);
      const { count } = (await bench.app.live.window('s', 't', 'online-surveillance'))!.evaluation;
      assert.deepEqual(count, { proper: 150, missed: 0, false: 0, switches: 0 });
    });
});

describe('MQTT topics', () => {
  it('are matched with filters as the standard says', () => {
    const cases: Array<[string, string, boolean]> = [
      ['a/b', 'a/b', true],
      ['a/b', 'a/c', false],
      ['a/+', 'a/b', true],
      ['a/+', 'a/b/c', false],
      ['a/+/c', 'a/b/c', true],
      ['a/#', 'a', true],
      ['a/#', 'a/b/c', true],
      ['#', 'a/b', true],
      ['+', 'a/b', false],
      ['+/+', '/b', true],
      ['#', '$SYS/uptime', false],
      ['$SYS/#', '$SYS/uptime', true],
      ['a/b/c', 'a/b', false],
    ];
    for (const [filter, topic, expected] of cases) assert.equal(matches(filter, topic), expected, `${filter} ${topic}`);
  });
});
