/** NATS as a source, core and JetStream, against a real broker; through the real evaluator. */
import { strict as assert } from 'node:assert';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { WindowView } from '../../src/live/pipeline.js';
import { pipelineOf } from '../kit/live.js';
import { IN_THIS_THREAD, UNTIMED_PAIRING } from '../kit/settings.js';
import { frameText, SourceBench } from '../kit/sources.js';
import { NatsServer, skipUnlessNats } from '../kit/system/nats.js';
import { Program } from '../kit/system/program.js';
import { freePort, skipInFastRun, until } from '../kit/system/system.js';

describe('NATS', () => {
  let broker: NatsServer;
  let bench: SourceBench;
  let publisher: NatsConnection | null = null;

  before(function () {
    skipUnlessNats(this);
  });
  beforeEach(() => {
    broker = new NatsServer();
    bench = new SourceBench();
  });
  afterEach(async () => {
    await publisher?.close();
    publisher = null;
    await bench.close();
    await broker.close();
  });

  const settings = (changes: object = {}, common: object = {}) => ({
    sources: {
      nats: [
        {
          name: 'site',
          servers: [broker.url],
          feeds: [
            { subject: 'site.*.truths', stream: 's', role: 'reference' },
            { subject: 'site.gate.tracks', stream: 's', tracker: 't' },
          ],
          ...changes,
        },
      ],
      ...common,
    },
  });
  const KEPT = { jetstream: 'SITE' };
  const labels = 'source="site",kind="nats"';
  const connected = () => until('it is subscribed', () => bench.app.meters.sources.get('site')!.connected && true);
  const client = async () => {
    if (!publisher || publisher.isClosed()) publisher = await connect({ servers: broker.url, reconnect: false });
    return publisher;
  };
  const makeStream = async () => {
    const manager = await jetstreamManager(await client());
    await manager.streams.add({ name: 'SITE', subjects: ['site.>'] });
  };
  const publish = async (subject: string, payload: string | Uint8Array) =>
    (await client()).publish(subject, payload as never);
  const keep = async (subject: string, payload: string | Uint8Array) => {
    await jetstream(await client()).publish(subject, payload as never);
  };
  const both = async (from: number, to: number, send = publish) => {
    for (let k = from; k <= to; k++) {
      await send('site.gate.truths', frameText(k));
      await send('site.gate.tracks', frameText(k));
    }
  };
  const duplicates = () => bench.metric('tgospa_frames_duplicate_total', 'stream="s",role="tracker",tracker="t"');

  it('feeds what is published on its subjects, wildcards too', async () => {
    await broker.start();
    await bench.start(settings());
    await connected();
    await both(1, 40);
    await publish('site.gate.other', 'nobody asked');
    await bench.untilFrames('s', 't', 40);
    assert.equal((await bench.app.live.window('s', 't', 'online-surveillance'))!.evaluation.distance, 0);
    assert.equal(await bench.metric('tgospa_source_messages_total', labels), 80);
    assert.equal(await bench.metric('tgospa_source_waiting_messages', labels), 0);
  });

  it('comes back after the broker was killed', async () => {
    await broker.start();
    await bench.start(settings());
    await connected();
    await both(1, 10);
    await bench.untilFrames('s', 't', 10);
    await broker.stop('SIGKILL');
    await until('the loss is seen', () => !bench.app.meters.sources.get('site')!.connected);
    await broker.start();
    await connected();
    await both(11, 20);
    await bench.untilFrames('s', 't', 20);
    assert.ok((await bench.metric('tgospa_source_faults_total', labels)) >= 1);
  });

  it('refuses what finds the queue full, for core NATS cannot wait', async () => {
    await broker.start();
    await bench.start({ ...settings({}, { queueMessages: 4 }), evaluation: IN_THIS_THREAD });
    await connected();
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
    await both(1, 10);
    await until('some are refused', async () => {
      const full = await bench.metric('tgospa_source_rejected_total', `${labels},reason="queue_full"`);
      return full === 16;
    });
    release();
    await bench.untilFrames('s', 't', 2);
  });

  it('reads from JetStream what was there before it, and goes on with what comes', async () => {
    await broker.start();
    await makeStream();
    await both(1, 20, keep);
    await bench.start(settings(KEPT));
    await bench.untilFrames('s', 't', 20);
    await both(21, 40, keep);
    await bench.untilFrames('s', 't', 40);
    assert.equal((await bench.app.live.window('s', 't', 'online-surveillance'))!.evaluation.distance, 0);
  });

  it('begins with what comes from now on, when told to', async () => {
    await broker.start();
    await makeStream();
    await both(1, 20, keep);
    await bench.start(settings({ ...KEPT, begin: 'new' }));
    await connected();
    await both(21, 30, keep);
    await bench.untilFrames('s', 't', 10);
    assert.equal(await bench.metric('tgospa_source_messages_total', labels), 20);
  });

  it('fetches from JetStream what came while it was away, and nothing twice', async () => {
    await broker.start();
    await makeStream();
    await bench.start(settings(KEPT));
    await connected();
    await both(1, 10, keep);
    await bench.untilFrames('s', 't', 10);
    await bench.stop();
    await both(11, 30, keep);
    await bench.start(settings(KEPT));
    await bench.untilFrames('s', 't', 30);
    assert.equal(await bench.metric('tgospa_source_messages_total', labels), 40);
    assert.equal(await duplicates(), 0);
    const consumers = (await (await jetstreamManager(await client())).streams.info('SITE')).state.consumer_count;
    assert.equal(consumers, 2, 'the broker keeps nothing of the readers before');
  });

  it('loses nothing and doubles nothing when the broker is killed under it', async () => {
    await broker.start();
    await makeStream();
    await bench.start(settings(KEPT));
    await both(1, 20, keep);
    for (const k of [21, 41]) {
      await broker.stop('SIGKILL');
      await until('the loss is seen', () => !bench.app.meters.sources.get('site')!.connected);
      await broker.start();
      await both(k, k + 19, keep);
    }
    await bench.untilFrames('s', 't', 60);
    assert.equal(await duplicates(), 0);
    assert.equal((await bench.app.live.window('s', 't', 'online-surveillance'))!.evaluation.distance, 0);
  });

  it('loses nothing when the evaluator is killed again and again', async function () {
    skipInFastRun(this);
    await broker.start();
    await makeStream();
    const port = await freePort();
    const file = join(bench.folder, 'tgospa.yaml');
    const text = { listen: { port }, data: { dir: join(bench.folder, 'data') }, ...settings(KEPT) };
    writeFileSync(file, JSON.stringify({ ...text, streams: { s: { windowFrames: 1000, pairing: UNTIMED_PAIRING } } }));
    const judged = async () => {
      const url = `http://127.0.0.1:${port}/v1/window?stream=s&tracker=t&profile=online-surveillance`;
      const answer = await fetch(url).catch(() => null);
      return answer?.ok ? ((await answer.json()) as WindowView).evaluation : null;
    };
    const serve = () => Program.tgospa(['serve', '--config', file]);
    let evaluator = serve();
    try {
      for (let k = 0; k < 120; k += 40) {
        await both(k + 1, k + 20, keep);
        await until('it works', async () => ((await judged())?.frames ?? 0) > k);
        await evaluator.end('SIGKILL');
        await both(k + 21, k + 40, keep);
        evaluator = serve();
      }
      await until('all is judged', async () => (await judged())?.frames === 120);
      assert.equal((await judged())!.distance, 0);
    } finally {
      await evaluator.end('SIGKILL');
    }
  });

  it('says that a stream is not there, and reads it as soon as it is', async () => {
    await broker.start();
    await bench.start(settings(KEPT));
    await until('it complains', () => bench.logged('source_failed').length > 0 && true);
    assert.match(String(bench.logged('source_failed')[0].error), /stream not found/);
    await makeStream();
    await connected();
    await both(1, 3, keep);
    await bench.untilFrames('s', 't', 3);
  });

  it('refuses what is too large or no text, acknowledges it, and goes on', async () => {
    await broker.start();
    await makeStream();
    await bench.start(settings(KEPT, { payloadBytes: 2048 }));
    await keep('site.gate.tracks', new Uint8Array([0xff, 0xfe]));
    await keep('site.gate.tracks', 'x'.repeat(5000));
    await keep('site.gate.tracks', 'no json');
    await both(1, 3, keep);
    await bench.untilFrames('s', 't', 3);
    assert.deepEqual(bench.app.meters.sources.get('site')!.rejects, {
      payload_too_large: 1,
      message_invalid: 2,
      queue_full: 0,
    });
    await until('everything is acknowledged', async () => {
      const manager = await jetstreamManager(await client());
      const consumers = await manager.consumers.list('SITE').next();
      return consumers.every(({ num_ack_pending, num_pending }) => num_ack_pending === 0 && num_pending === 0);
    });
  });

  it('keeps its password to itself, and says when it is wrong', async () => {
    const password = 'p4ss-word-of-the-broker';
    await broker.start([`authorization { user: tgospa, password: "${password}" }`]);
    const secret = { username: 'tgospa', passwordEnv: 'BROKER_PASSWORD' };
    await bench.start(settings(secret), { BROKER_PASSWORD: 'wrong-word-of-the-broker' });
    await until('it is refused', () => bench.logged('source_failed').length > 0 && true);
    assert.match(String(bench.logged('source_failed')[0].error), /authori[sz]ation/i);
    await bench.stop();
    await bench.start(settings(secret), { BROKER_PASSWORD: password });
    await connected();
    const log = bench.logLines.join('');
    assert.ok(!log.includes(password) && !log.includes('wrong-word'));
    const page = await (await fetch(`${bench.app.urls.http}/v1/config`)).text();
    assert.ok(page.includes('BROKER_PASSWORD') && !page.includes(password));
  });
});
