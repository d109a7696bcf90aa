/** What every source promises that reads from a broker, whoever makes the broker: one suite, run over each of them. */
import { strict as assert } from 'node:assert';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WindowView } from '../../src/live/live.js';
import { UNTIMED_PAIRING } from './settings.js';
import { frameText, SourceBench } from './sources.js';
import { Program } from './system/program.js';
import { freePort, skipInFastRun, until } from './system/system.js';

/** A broker of a test, and how to reach it. */
export interface Broker {
  kind: 'mqtt' | 'nats';
  /** with a user, nobody else may connect; started again, it goes on with what it has */
  start(user?: { name: string; password: string }): Promise<void>;
  stop(): Promise<void>;
  /** ends what it has started */
  close(): Promise<void>;
  /** the source under `sources`, but for its name: it reads `truths` of any place and `tracks` of one */
  source(): object;
  /** settings of a source that loses nothing while it is away */
  kept: object;
  /** also for what is kept, once there is a place to keep it in */
  publish(name: 'truths' | 'tracks' | 'other', payload: string | Buffer, kept: boolean): Promise<void>;
  makeKept(): Promise<void>;
  /** of what is kept, as far as the broker tells */
  isAcknowledged(): Promise<boolean>;
}

/** An evaluator and a broker. */
export class BrokerBench extends SourceBench {
  constructor(readonly broker: Broker) {
    super();
  }

  readonly labels = () => `source="site",kind="${this.broker.kind}"`;
  readonly connected = () => until('it is subscribed', () => this.app.meters.sources.get('site')!.connected && true);
  readonly lost = () => until('the loss is seen', () => !this.app.meters.sources.get('site')!.connected);
  readonly duplicates = () => this.metric('tgospa_frames_duplicate_total', 'stream="s",role="tracker",tracker="t"');

  settings(changes: object = {}, common: object = {}) {
    return { sources: { [this.broker.kind]: [{ name: 'site', ...this.broker.source(), ...changes }], ...common } };
  }

  /** Frames of both feeds. */
  async both(from: number, to: number, kept = false): Promise<void> {
    for (let k = from; k <= to; k++)
      for (const name of ['truths', 'tracks'] as const) await this.broker.publish(name, frameText(k), kept);
  }

  override async close(): Promise<void> {
    await super.close();
    await this.broker.close();
  }
}

export function keepsItsPromises(current: () => BrokerBench): void {
  it('feeds what is published, by wildcard too', async () => {
    const bench = current();
    await bench.broker.start();
    await bench.start(bench.settings());
    await bench.connected();
    await bench.both(1, 40);
    await bench.broker.publish('other', 'nobody asked', false);
    await bench.untilFrames('s', 't', 40);
    assert.equal((await bench.app.live.window('s', 't', 'online-surveillance'))!.evaluation.distance, 0);
    assert.equal(await bench.metric('tgospa_source_messages_total', bench.labels()), 80);
    assert.equal(await bench.metric('tgospa_source_waiting_messages', bench.labels()), 0);
  });

  it('comes back after the broker was gone', async () => {
    const bench = current();
    await bench.broker.start();
    await bench.start(bench.settings());
    await bench.connected();
    await bench.both(1, 10);
    await bench.untilFrames('s', 't', 10);
    await bench.broker.stop();
    await bench.lost();
    await bench.broker.start();
    await bench.connected();
    await bench.both(11, 20);
    await bench.untilFrames('s', 't', 20);
    assert.ok((await bench.metric('tgospa_source_faults_total', bench.labels())) >= 1);
  });

  it('fetches what came while it was away, and nothing twice', async () => {
    const bench = current();
    await bench.broker.start();
    await bench.broker.makeKept();
    await bench.start(bench.settings(bench.broker.kept));
    await bench.connected();
    await bench.both(1, 10, true);
    await bench.untilFrames('s', 't', 10);
    await bench.stop();
    // while nobody listens the broker keeps what comes
    await bench.both(11, 30, true);
    await bench.start(bench.settings(bench.broker.kept));
    await bench.untilFrames('s', 't', 30);
    assert.equal(await bench.metric('tgospa_source_messages_total', bench.labels()), 40);
    assert.equal(await bench.duplicates(), 0, 'what was acknowledged before the stop does not come again');
    await until('all is acknowledged', () => bench.broker.isAcknowledged());
  });

  it('refuses what is too large or no text, acknowledges it, and goes on', async () => {
    const bench = current();
    await bench.broker.start();
    await bench.broker.makeKept();
    await bench.start(bench.settings(bench.broker.kept, { payloadBytes: 2048 }));
    await bench.connected();
    for (const payload of [Buffer.from([0xff, 0xfe]), 'x'.repeat(5000), 'no json'])
      await bench.broker.publish('tracks', payload, true);
    await bench.both(1, 3, true);
    await bench.untilFrames('s', 't', 3);
    assert.deepEqual(bench.app.meters.sources.get('site')!.rejects, {
      payload_too_large: 1,
      message_invalid: 2,
      queue_full: 0,
    });
    await until('all is acknowledged', () => bench.broker.isAcknowledged());
  });

  it('loses nothing when the evaluator is killed again and again', async function () {
    skipInFastRun(this);
    const bench = current();
    await bench.broker.start();
    await bench.broker.makeKept();
    const port = await freePort();
    const file = join(bench.folder, 'tgospa.yaml');
    const text = { listen: { port }, data: { dir: join(bench.folder, 'data') }, ...bench.settings(bench.broker.kept) };
    writeFileSync(file, JSON.stringify({ ...text, streams: { s: { windowFrames: 1000, pairing: UNTIMED_PAIRING } } }));
    const ask = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => null);
      return answer?.ok ? answer.text() : null;
    };
    const judged = async () => {
      const answer = await ask('/v1/window?stream=s&tracker=t&profile=online-surveillance');
      return answer === null ? null : (JSON.parse(answer) as WindowView).evaluation;
    };
    const serve = () => Program.tgospa(['serve', '--config', file]);
    let evaluator = serve();
    try {
      // from its first subscription on, the broker keeps what comes for us
      const CONNECTED = /^tgospa_source_connected\{.* 1$/m;
      await until('it is subscribed', async () => CONNECTED.test((await ask('/metrics')) ?? ''));
      for (let k = 0; k < 160; k += 40) {
        await bench.both(k + 1, k + 20, true);
        await evaluator.end('SIGKILL');
        await bench.both(k + 21, k + 40, true);
        evaluator = serve();
        // now and then it gets to work before it is killed again
        if (k % 80 === 0) await until('it works', async () => ((await judged())?.frames ?? 0) > k);
      }
      await until('all is judged', async () => (await judged())?.frames === 160);
      assert.equal((await judged())!.distance, 0);
    } finally {
      await evaluator.end('SIGKILL');
    }
  });

  it('keeps its password to itself, and says when it is wrong', async () => {
    const bench = current();
    const password = 'p4ss-word-of-the-broker';
    await bench.broker.start({ name: 'tgospa', password });
    const settings = bench.settings({ username: 'tgospa', passwordEnv: 'BROKER_PASSWORD' });
    await bench.start(settings, { BROKER_PASSWORD: 'wrong-word-of-the-broker' });
    await until('it is refused', () => bench.logged('source_failed').length > 0 && true);
    assert.match(String(bench.logged('source_failed')[0].error), /authori[sz](ation|ed)/i);
    await bench.stop();
    await bench.start(settings, { BROKER_PASSWORD: password });
    await bench.connected();
    const log = bench.logLines.join('');
    assert.ok(!log.includes(password) && !log.includes('wrong-word'));
    const page = await (await fetch(`${bench.app.urls.http}/v1/config`)).text();
    assert.ok(page.includes('BROKER_PASSWORD') && !page.includes(password));
  });
}
