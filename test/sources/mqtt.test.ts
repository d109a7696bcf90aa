/** MQTT as a source, against a real broker; through the real evaluator. */
import { strict as assert } from 'node:assert';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectAsync, type MqttClient } from 'mqtt';
import type { WindowView } from '../../src/live/pipeline.js';
import { matches } from '../../src/sources/mqtt.js';
import { pipelineOf } from '../kit/live.js';
import { IN_THIS_THREAD, UNTIMED_PAIRING } from '../kit/settings.js';
import { frameText, SourceBench } from '../kit/sources.js';
import { hasMosquitto, Mosquitto } from '../kit/system/mosquitto.js';
import { Program } from '../kit/system/program.js';
import { freePort, skipInFastRun, skipUnless, until } from '../kit/system/system.js';

describe('MQTT', () => {
  let broker: Mosquitto;
  let bench: SourceBench;
  let publisher: MqttClient | null = null;

  before(function () {
    skipUnless(this, hasMosquitto, 'mosquitto is not here; install the Debian package mosquitto');
  });
  beforeEach(() => {
    broker = new Mosquitto();
    bench = new SourceBench();
  });
  afterEach(async () => {
    await publisher?.endAsync(true);
    publisher = null;
    await bench.close();
    await broker.close();
  });

  const settings = (changes: object = {}, common: object = {}) => ({
    sources: {
      mqtt: [
        {
          name: 'site',
          url: broker.url,
          feeds: [
            { topic: 'site/+/truths', stream: 's', role: 'reference' },
            { topic: 'site/gate/tracks', stream: 's', tracker: 't' },
          ],
          ...changes,
        },
      ],
      ...common,
    },
  });
  const labels = 'source="site",kind="mqtt"';
  const connected = () => until('it is subscribed', () => bench.app.meters.sources.get('site')!.connected && true);
  const publish = async (topic: string, payload: string | Buffer, qos: 0 | 1 = 1) => {
    publisher ??= await connectAsync(broker.url, { reconnectPeriod: 20 });
    await publisher.publishAsync(topic, payload, { qos });
  };
  const both = async (from: number, to: number) => {
    for (let k = from; k <= to; k++) {
      await publish('site/gate/truths', frameText(k));
      await publish('site/gate/tracks', frameText(k));
    }
  };
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

  it('feeds what is published on its topics, wildcards too', async () => {
    await broker.start();
    await bench.start(settings());
    await connected();
    await both(1, 40);
    await publish('site/gate/other', 'nobody asked');
    await bench.untilFrames('s', 't', 40);
    assert.equal((await bench.app.live.window('s', 't', 'online-surveillance'))!.evaluation.distance, 0);
    assert.equal(await bench.metric('tgospa_source_messages_total', labels), 80);
    assert.equal(await bench.metric('tgospa_source_waiting_messages', labels), 0);
  });

  it('acknowledges what is durable, and only that', async () => {
    // the broker sends a fourth message when one of three is acknowledged
    await broker.start(undefined, ['max_inflight_messages 3']);
    await bench.start({ ...settings({ protocol: 4 }), evaluation: IN_THIS_THREAD });
    await connected();
    const { arrived, release } = blockStorage();
    await both(1, 5);
    // one without acknowledgement overtakes those held back, and comes behind all that were sent
    await publish('site/gate/truths', frameText(99), 0);
    await until('it has come', () => arrived.includes(99));
    assert.deepEqual([...arrived].sort(), [1, 1, 2, 99]);
    release();
    await until(
      'all is stored',
      async () => (await bench.storedSeq('s', 't')) === 5 && (await bench.storedSeq('s', null)) === 6,
    );
    await bench.stop();
    await bench.start(settings({ protocol: 4 }));
    await connected();
    await both(100, 100);
    await until('the new one is stored', async () => (await bench.storedSeq('s', 't')) === 6);
    assert.equal(await bench.metric('tgospa_source_messages_total', labels), 2, 'nothing came again');
  });

  it('fetches from the broker what came while it was away, and nothing twice', async () => {
    await broker.start();
    await bench.start(settings());
    await connected();
    await both(1, 10);
    await bench.untilFrames('s', 't', 10);
    await bench.stop();
    // while nobody listens the broker keeps what comes
    await both(11, 30);
    await bench.start(settings());
    await bench.untilFrames('s', 't', 30);
    const duplicates = await bench.metric('tgospa_frames_duplicate_total', 'stream="s",role="tracker",tracker="t"');
    assert.equal(duplicates, 0, 'what was acknowledged before the stop does not come again');
  });

  it('loses nothing when the evaluator is killed again and again', async function () {
    skipInFastRun(this);
    await broker.start(undefined, ['max_queued_messages 0']);
    const port = await freePort();
    const file = join(bench.folder, 'tgospa.yaml');
    const text = { listen: { port }, data: { dir: join(bench.folder, 'data') }, ...settings() };
    writeFileSync(file, JSON.stringify({ ...text, streams: { s: { windowFrames: 1000, pairing: UNTIMED_PAIRING } } }));
    const ask = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => null);
      return answer?.ok ? answer.text() : null;
    };
    const judged = async () => {
      const text = await ask('/v1/window?stream=s&tracker=t&profile=online-surveillance');
      return text === null ? null : (JSON.parse(text) as WindowView).evaluation;
    };
    const serve = () => Program.tgospa(['serve', '--config', file]);
    let evaluator = serve();
    try {
      // from its first subscription on, the broker keeps what comes for us
      await until('it is subscribed', async () =>
        /^tgospa_source_connected\{.* 1$/m.test((await ask('/metrics')) ?? ''),
      );
      for (let k = 0; k < 200; k += 50) {
        await both(k + 1, k + 25);
        await evaluator.end('SIGKILL');
        await both(k + 26, k + 50);
        evaluator = serve();
        // now and then it gets to work before it is killed again
        if (k % 100 === 0) await until('it works', async () => ((await judged())?.frames ?? 0) > k);
      }
      await until('all is judged', async () => (await judged())?.frames === 200);
      assert.equal((await judged())!.distance, 0);
    } finally {
      await evaluator.end('SIGKILL');
    }
  });

  it('comes back after the broker was killed, and takes nothing twice that it has', async () => {
    await broker.start(undefined, ['autosave_interval 1', 'autosave_on_changes true']);
    await bench.start(settings());
    await connected();
    await both(1, 10);
    await bench.untilFrames('s', 't', 10);
    await broker.stop('SIGTERM');
    await until('the loss is seen', () => !bench.app.meters.sources.get('site')!.connected);
    await broker.start();
    await connected();
    await both(11, 20);
    await bench.untilFrames('s', 't', 20);
    assert.ok((await bench.metric('tgospa_source_faults_total', labels)) >= 1);
  });

  it('acknowledges a redelivered message that is on its way without taking it twice', async () => {
    await broker.start();
    await bench.start({ ...settings(), evaluation: IN_THIS_THREAD });
    await connected();
    const { arrived, release } = blockStorage();
    await both(1, 3);
    await until('all have come', () => arrived.length === 6 && true);
    await broker.stop();
    await until('the loss is seen', () => !bench.app.meters.sources.get('site')!.connected);
    await broker.start();
    await connected();
    release();
    await both(4, 6);
    await bench.untilFrames('s', 't', 6);
    assert.equal(await bench.metric('tgospa_source_messages_total', labels), 12);
    assert.equal(await bench.metric('tgospa_frames_duplicate_total', 'stream="s",role="tracker",tracker="t"'), 0);
  });

  it('keeps its password to itself, and says when it is wrong', async () => {
    const password = 'p4ss-word-of-the-broker';
    await broker.start({ name: 'tgospa', password });
    const secret = { username: 'tgospa', passwordEnv: 'BROKER_PASSWORD' };
    await bench.start(settings(secret), { BROKER_PASSWORD: 'wrong-word-of-the-broker' });
    await until('it is refused', () => bench.logged('source_failed').length > 0 && true);
    assert.match(String(bench.logged('source_failed')[0].error), /authori[sz]ed/i);
    await bench.stop();
    await bench.start(settings(secret), { BROKER_PASSWORD: password });
    await connected();
    const log = bench.logLines.join('');
    assert.ok(!log.includes(password) && !log.includes('wrong-word'));
    const page = await (await fetch(`${bench.app.urls.http}/v1/config`)).text();
    assert.ok(page.includes('BROKER_PASSWORD') && !page.includes(password));
  });

  it('refuses what is too large or no text, acknowledges it, and goes on', async () => {
    await broker.start();
    await bench.start(settings({ protocol: 4 }, { payloadBytes: 2048 }));
    await connected();
    await publish('site/gate/tracks', Buffer.from([0xff, 0xfe]));
    await publish('site/gate/tracks', 'x'.repeat(5000));
    await publish('site/gate/tracks', 'no json');
    await both(1, 3);
    await bench.untilFrames('s', 't', 3);
    const rejected = (reason: string) => bench.metric('tgospa_source_rejected_total', `${labels},reason="${reason}"`);
    assert.deepEqual([await rejected('payload_too_large'), await rejected('message_invalid')], [1, 2]);
  });

  it('is not even sent what is too large, by a broker of version 5', async () => {
    await broker.start();
    await bench.start(settings({}, { payloadBytes: 2048 }));
    await connected();
    await publish('site/gate/tracks', 'x'.repeat(100_000));
    await both(1, 3);
    await bench.untilFrames('s', 't', 3);
    assert.equal(await bench.metric('tgospa_source_messages_total', labels), 6);
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
      await bench.start({ ...settings({ feeds, ...changes }), limits: { unfinishedMs: 600_000, stopMs: 100 } });
      await connected();
      // an older broker has 20 messages underway at a time
      for (let k = 1; k <= 3; k++)
        for (const topic of ['truths', 'tracks']) for (let n = 1; n <= 50; n++) await publish(topic, line(k, n));
      // the fourth frame completes the third
      for (const topic of ['truths', 'tracks']) await publish(topic, line(4, 1));
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
