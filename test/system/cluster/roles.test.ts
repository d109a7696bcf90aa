/**
 * What an operator does with a cluster besides breaking it: roles in processes of their own, an owner that is behind, a
 * configuration that changes process by process, brokers that must not be used. Real processes on a real broker; the
 * server that is too old says so itself, and is nothing else.
 */
import { strict as assert } from 'node:assert';
import { createServer } from 'node:net';
import WebSocket from 'ws';
import { type ClientObject, connect, type FeedClient } from '../../../src/client.js';
import type { Moment } from '../../../src/live/moments.js';
import { NatsServer, skipUnlessNats } from '../../kit/system/brokers/nats.js';
import { NatsLine } from '../../kit/system/brokers/nats-line.js';
import { EvaluatorProcess } from '../../kit/system/evaluator-process.js';
import { Receiver } from '../../kit/system/monitoring.js';
import { freePort, until } from '../../kit/system/system.js';

const TIMES = { renewMs: 200, expiryMs: 1000, moveMs: 300 };
const SIZES = { partitions: 2, logMaxBytes: 1 << 24, stateMaxBytes: 1 << 24 };
const FPS = 20;
/** a tracker that sends nothing for so long is an incident */
const STREAMS = { defaults: { windowFrames: 20, pairing: { silenceMs: 300, latenessMs: 200 } } };
const objectsAt = (k: number): ClientObject[] =>
  Array.from({ length: 4 }, (_, n) => ({ id: `${n}`, box: [200 * n + (k % 50), 40 * n, 50, 90] }) as ClientObject);

/** The two feeds of a stream, at a steady rate, until it is stopped. */
class Scene {
  k = 0;
  acked = 0;
  /** the tracker sends nothing any more */
  silent = false;
  readonly #clients: FeedClient[];
  readonly #timer: NodeJS.Timeout;

  /** The tracker may come through another process than the reference. */
  constructor(http: string, stream: string, trackerHttp = http) {
    const common = { stream, WebSocket: WebSocket as never, retryForever: true, backoffMs: 50, backoffMaxMs: 200 };
    const urlOf = (one: string) => `${one.replace('http', 'ws')}/v1/ingest`;
    this.#clients = [
      connect({ ...common, url: urlOf(http), role: 'reference' }),
      connect({ ...common, url: urlOf(trackerHttp), role: 'tracker', tracker: 't' }),
    ];
    this.#clients[1].on('ack', ({ seq }) => {
      this.acked = seq;
    });
    this.#timer = setInterval(() => this.#send(), 1000 / FPS);
  }

  #send(): void {
    const k = ++this.k;
    const senders = this.silent ? this.#clients.slice(0, 1) : this.#clients;
    for (const client of senders) client.send({ k, objects: objectsAt(k) }).catch(() => {});
  }

  /** Something sent after this call is acked. */
  async flows(): Promise<void> {
    const sent = this.k;
    await until('what is sent is acked', () => this.acked > sent);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#clients.map((client) => client.close({ flush: false }).catch(() => {})));
  }
}

describe('a cluster, as it is run', () => {
  const broker = new NatsServer();
  const open: Array<{ close(): Promise<unknown> }> = [];
  let clusters = 0;

  before(async function () {
    skipUnlessNats(this);
    await broker.start();
  });
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close();
  });
  after(() => broker.close());

  /** Makes processes of a cluster of their own. */
  const newCluster = () => {
    const name = `c${++clusters}`;
    return async (roles: string[] | null, more: { cluster?: object; [section: string]: unknown } = {}) => {
      const { cluster, ...others } = more;
      const settings = { servers: [broker.url], name, ...TIMES, ...SIZES, ...(roles ? { roles } : {}), ...cluster };
      const one = await EvaluatorProcess.create({ cluster: settings, streams: STREAMS, ...others });
      open.push({ close: () => one.dispose() });
      await one.start();
      return one;
    };
  };
  const scene = (through: EvaluatorProcess, stream: string, tracker = through) => {
    const made = new Scene(through.http, stream, tracker.http);
    open.push(made);
    return made;
  };

  /** A receiver that hears of everything at once. */
  const newHook = async () => {
    const webhook = await Receiver.start();
    open.push({ close: () => webhook.stop() });
    const receivers = [{ name: 'hook', type: 'webhook', url: webhook.url }];
    return {
      webhook,
      notify: { minimumMs: { missed: 0, silence: 0 }, resolveAfterMs: 0, retryFirstMs: 50, receivers },
    };
  };

  it('has each role in a process of its own, and a notifier that is killed is followed by one that repeats nothing', async () => {
    const { webhook, notify } = await newHook();
    const start = newCluster();
    const [gateway, , reader, first] = await Promise.all([
      start(['gateway']),
      start(['evaluator']),
      start(['reader']),
      start(['notifier'], { notify }),
    ]);
    const refused = new WebSocket(`${reader.http.replace('http', 'ws')}/v1/ingest`);
    const [code, why] = await new Promise<[number, string]>((resolve) =>
      refused.on('close', (closeCode, reason) => resolve([closeCode, reason.toString()])),
    );
    assert.equal(code, 1013);
    assert.match(why, /accepts no feeds \(cluster\.roles leaves out gateway\)/);
    assert.equal((await fetch(`${gateway.http}/v1/streams`)).status, 404, 'a gateway is no reader');

    const frames = scene(gateway, 's');
    const live = new WebSocket(`${reader.http.replace('http', 'ws')}/v1/live`);
    const reports: Array<{ type: string; k: number }> = [];
    live.on('message', (text) => reports.push(JSON.parse(String(text))));
    await until('the reader reports what is looked back to', () =>
      reports.some(({ type, k }) => type === 'report' && k >= 3),
    );
    live.close();
    assert.equal((await fetch(`${reader.http}/`)).status, 200, 'the page');
    const past = await reader.json<Moment>('/v1/past?stream=s&tracker=t&profile=online-surveillance&k=3&frames=4');
    assert.deepEqual(
      past.frames?.find(({ k }) => k === 3),
      { k: 3, atMs: past.frames?.find(({ k }) => k === 3)?.atMs, reference: objectsAt(3), tracker: objectsAt(3) },
      `looking back: ${JSON.stringify(past)}`,
    );
    const unknown = await fetch(`${reader.http}/v1/past?stream=x&tracker=t&profile=online-surveillance&k=3`);
    assert.equal(unknown.status, 404);
    assert.match(await unknown.text(), /no series has stream x/);

    const told = (status: string) => webhook.notices.filter((notice) => notice.status === status).length;
    await frames.flows();
    frames.silent = true;
    await until('the first notifier tells of it', () => told('firing') > 0);
    await start(['notifier'], { notify });
    await first.kill();
    // a new kind of trouble behind it proves that the next one tells, and what it told before is not told again
    const other = scene(gateway, 'other');
    await other.flows();
    other.silent = true;
    const of = (status: string, stream: string) =>
      webhook.notices.filter((notice) => notice.status === status && notice.labels.stream === stream);
    await until('the next notifier tells', () => of('firing', 'other').length > 0);
    assert.equal(of('firing', 's').length, told('firing') - of('firing', 'other').length);
    const alerts = of('firing', 's').map(({ labels }) => labels.alertname);
    assert.equal(new Set(alerts).size, alerts.length, `told once: ${alerts}`);
    assert.equal(told('resolved'), 0, 'nothing is over');
  });

  it('keeps an alert while the partition of its stream has no owner and its notifier is another one', async () => {
    const { webhook, notify } = await newHook();
    const start = newCluster();
    const gateway = await start(['gateway', 'reader']);
    const both = await start(['evaluator', 'notifier'], { notify });
    const frames = scene(gateway, 's');
    await frames.flows();
    frames.silent = true;
    await until('it is told', () => webhook.notices.length > 0);
    // what it told is noted by then
    await scene(gateway, 'third').flows();
    await both.kill();
    // it notifies before anybody owns the stream: the evaluator comes later
    const notifier = await start(['notifier'], { notify });
    await until('it has the lease', () => /"notifier_elected"/.test(notifier.output));
    await start(['evaluator']);
    const other = scene(gateway, 'other');
    await other.flows();
    other.silent = true;
    const of = (stream: string) => webhook.notices.filter(({ labels }) => labels.stream === stream);
    await until('it tells', () => of('other').length > 0);
    assert.ok(
      of('s').every(({ status }) => status === 'firing'),
      'what nobody told of for a while is not over',
    );
    const alerts = of('s').map(({ labels }) => labels.alertname);
    assert.equal(new Set(alerts).size, alerts.length, `told once: ${alerts}`);
  });

  it('knows in every process what people said to one, and still when that one is killed', async () => {
    const { webhook, notify } = await newHook();
    const start = newCluster();
    const [asked, other] = [await start(['gateway', 'reader']), await start(['gateway', 'reader'])];
    const keeper = await start(['evaluator', 'notifier'], { notify });
    const say = async (to: EvaluatorProcess, body: object) => {
      const response = await fetch(`${to.http}/v1/incidents`, { method: 'POST', body: JSON.stringify(body) });
      assert.equal(response.status, 200, await response.clone().text());
      return response.json() as Promise<{ id: number; remark?: object }>;
    };
    const said = (by: EvaluatorProcess) =>
      by.json<{ mutes: object[]; incidents: Array<{ stream: string; remark: object | null }> }>('/v1/incidents');
    const frames = scene(other, 's');
    await frames.flows();
    frames.silent = true;
    const of = (status: string, stream: string) =>
      webhook.notices.filter((notice) => notice.status === status && notice.labels.stream === stream);
    await until('it is told', () => of('firing', 's').length > 0);
    const mute = await say(asked, { action: 'mute', stream: 'quiet*', minutes: 60 });
    const { remark } = await say(asked, { action: 'close', stream: 's', tracker: 't', profile: 'online-surveillance' });
    const saidMs = performance.now();
    await asked.kill();
    await until('another lists the mute', async () => (await said(other)).mutes.length > 0);
    assert.ok(performance.now() - saidMs < 1000 + TIMES.expiryMs, 'soon');
    await until('the notifier, told by nobody, takes back what was closed', () => of('resolved', 's').length > 0);
    const { mutes, incidents } = await said(other);
    assert.deepEqual(mutes, [mute]);
    assert.deepEqual(
      incidents.map((incident) => incident.remark),
      [remark],
    );
    // the muted one is silent first, and not told of: by a notifier that was not there when it was muted
    await start(['evaluator', 'notifier'], { notify });
    await keeper.kill();
    for (const stream of ['quiet', 'loud']) {
      const silent = scene(other, stream);
      await silent.flows();
      silent.silent = true;
      const isOpen = async () => (await said(other)).incidents.some((incident) => incident.stream === stream);
      await until(`${stream} has an incident`, isOpen);
    }
    await until('the loud one is told', () => of('firing', 'loud').length > 0);
    assert.equal(of('firing', 'quiet').length, 0);
    await say(other, { action: 'unmute', id: mute.id });
    await until('the quiet one is told when that is over', () => of('firing', 'quiet').length > 0);
    assert.deepEqual((await said(other)).mutes, []);
  });

  it('holds back the acks of a stream whose owner is behind, and releases them when it is not', async () => {
    const start = newCluster();
    const settings = { cluster: { lagMaxMs: 200, expiryMs: 60_000 }, limits: { creditFrames: 64 } };
    const [gateway, evaluator] = await Promise.all([
      start(['gateway', 'reader'], settings),
      start(['evaluator'], settings),
    ]);
    const frames = scene(gateway, 's');
    await frames.flows();
    evaluator.signal('SIGSTOP');
    let before = -1;
    await until('acks stop', async () => {
      const stopped = frames.acked === before && frames.k > before + 64;
      if (frames.acked !== before) before = frames.acked;
      return stopped;
    });
    const lag = /^tgospa_cluster_partition_lag_seconds\{[^}]*\} (\S+)/gm;
    const text = await (await fetch(`${gateway.http}/metrics`)).text();
    assert.ok(
      [...text.matchAll(lag)].some(([, seconds]) => Number(seconds) > 0.2),
      'the lag is shown',
    );
    evaluator.signal('SIGCONT');
    await frames.flows();
  });

  for (const hears of [true, false])
    it(`calls no tracker silent whose frames wait in a process that cannot store them, while their owner hears ${hears ? 'of it' : 'nobody'}`, async () => {
      const lines = await Promise.all([NatsLine.to(broker.url), NatsLine.to(broker.url)]);
      open.push(...lines);
      const [ofGateway, ofOwner] = lines;
      const start = newCluster();
      // a step waits as long as by default in terms of the time between two signs of life
      const streams = { defaults: { windowFrames: 20, pairing: { silenceMs: 1000, latenessMs: 700 } } };
      const [gateway, far] = await Promise.all([
        start(['gateway', 'reader'], { streams }),
        start(['gateway'], { streams, cluster: { servers: [ofGateway.url] } }),
        start(['evaluator'], { streams, cluster: { servers: [ofOwner.url] } }),
      ]);
      const frames = scene(gateway, 's', far);
      await frames.flows();
      if (!hears) ofOwner.loses = `c${clusters}.member.`;
      ofGateway.loses = `c${clusters}.log.`;
      await new Promise((resolve) => setTimeout(resolve, 4000));
      assert.ok(ofGateway.lost > 0, 'frames were lost on their way to the broker');
      assert.equal(ofOwner.lost > 0, !hears, 'signs of life were lost on their way to the owner');
      for (const line of lines) line.loses = null;
      await frames.flows();
      const { events } = await gateway.json<{ events: Array<{ type: string }> }>('/v1/events?stream=s&limit=1000');
      const complaints = events.filter(({ type }) =>
        ['silence', 'missing', 'late', 'incident', 'spike'].includes(type),
      );
      assert.deepEqual(complaints, []);
    });

  it('judges streams by the newest configuration, and an older one does not bring back the one before', async () => {
    const start = newCluster();
    const configured = (version: number, windowFrames: number) => ({
      cluster: { version },
      streams: { defaults: { ...STREAMS.defaults, windowFrames } },
    });
    const gateway = await start(['gateway', 'reader'], configured(1, 20));
    const windows = async () => {
      const { streams } = await gateway.json<{ streams: Array<{ windowFrames: number }> }>('/v1/streams');
      return streams.map(({ windowFrames }) => windowFrames);
    };
    const judgedBy = (frames: number) =>
      until(`streams have ${frames} frames`, async () => {
        const list = await windows();
        return list.length === 2 && list.every((one) => one === frames);
      });
    const old = await start(['evaluator'], configured(1, 20));
    // of two partitions
    const scenes = [scene(gateway, 'a'), scene(gateway, 'b')];
    for (const one of scenes) await one.flows();
    await judgedBy(20);
    const next = await start(['evaluator'], configured(2, 30));
    await until('partitions are shared', () => /partition_taken/.test(next.output));
    await old.kill();
    await judgedBy(30);
    const late = await start(['evaluator'], configured(1, 20));
    await next.kill();
    await until('the old version has everything', () => late.output.split('partition_taken').length === 3);
    for (const one of scenes) await one.flows();
    await judgedBy(30);
  });

  it('says which brokers may lose what they acknowledged, and not of those that do not', async () => {
    const start = newCluster();
    const forgetful = new NatsServer({ jetstream: [] });
    await forgetful.start();
    open.push({ close: () => forgetful.close() });
    const [unknown, safe, unsafe] = await Promise.all([
      start(['reader']),
      start(['reader'], { cluster: { monitors: [broker.monitor] } }),
      start(['reader'], { cluster: { servers: [forgetful.url], monitors: [forgetful.monitor] } }),
    ]);
    assert.match(unknown.output, /sync_unverified.*may acknowledge what a power cut would lose/);
    assert.doesNotMatch(safe.output, /sync_unverified/);
    assert.match(unsafe.output, /sync_unverified.* acknowledges what a power cut would lose/);
  });

  it('does not join servers that lose what they acknowledged', async () => {
    const port = await freePort();
    const info = {
      server_id: 'old',
      version: '2.10.22',
      proto: 1,
      headers: true,
      max_payload: 1 << 20,
      jetstream: true,
    };
    const old = createServer((socket) => {
      socket.write(`INFO ${JSON.stringify(info)}\r\n`);
      socket.on('data', (bytes) => String(bytes).includes('PING') && socket.write('PONG\r\n'));
      socket.on('error', () => {});
    });
    await new Promise<void>((resolve) => old.listen(port, '127.0.0.1', resolve));
    open.push({ close: () => new Promise((resolve) => old.close(resolve)) });
    const one = await EvaluatorProcess.create({ cluster: { servers: [`nats://127.0.0.1:${port}`] } });
    open.push({ close: () => one.dispose() });
    await assert.rejects(one.start(), /version 2\.10\.22; 2\.10\.23 or newer is needed/);
  });
});
