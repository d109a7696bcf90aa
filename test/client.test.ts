import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { connect as connectTcp, createServer, type Socket } from 'node:net';
import WebSocket from 'ws';
import { ClientError, type ClientEvents, type ClientOptions, connect, type FeedClient } from '../src/client.js';
import { type RunningEdge, startEdge } from './kit/edge.js';

/** Stands between client and server and cuts the connection when told, without any goodbye. */
class Wire {
  #sockets = new Set<Socket>();
  #server = createServer((inner) => {
    if (this.refusing) {
      inner.destroy();
      return;
    }
    const outer = connectTcp(this.port, '127.0.0.1');
    for (const [from, to] of [
      [inner, outer],
      [outer, inner],
    ]) {
      this.#sockets.add(from);
      from.on('data', (chunk) => {
        this.bytes += chunk.length;
        if (this.bytes > this.cutAfterBytes) this.cut();
        else if (!this.frozen.has(from)) to.write(chunk);
      });
      from
        .on('error', () => {})
        .on('close', () => {
          if (!this.frozen.has(from)) to.destroy();
        });
    }
  });
  bytes = 0;
  cutAfterBytes = Number.POSITIVE_INFINITY;
  refusing = false;
  readonly frozen = new Set<Socket>();

  constructor(readonly port: number) {}

  async open(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `ws://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  cut(): void {
    this.bytes = 0;
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  /** Lets the connections of this moment hang: nothing comes through, not even an end. */
  freeze(): void {
    for (const socket of this.#sockets) this.frozen.add(socket);
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}

const event = <E extends keyof ClientEvents>(client: FeedClient, name: E): Promise<ClientEvents[E]> =>
  new Promise((resolve) => {
    const off = client.on(name, (value) => {
      off();
      resolve(value);
    });
  });

const boxFrame = (k: number) => ({
  k,
  objects: [{ id: '1', box: [k, 0, 10, 10] as [number, number, number, number] }],
});
const KEY = 'gate-7/tracker/sort';

/** Like those of browsers it does not show what the server said instead of opening. */
class BrowserLikeWebSocket {
  onopen: ((event: never) => void) | null = null;
  onmessage: ((event: never) => void) | null = null;
  onclose: ((event: never) => void) | null = null;
  onerror: ((event: never) => void) | null = null;
  readonly #socket: WebSocket;

  constructor(url: string, protocols: string[]) {
    this.#socket = new WebSocket(url, protocols);
    this.#socket.onopen = (event) => this.onopen?.(event as never);
    this.#socket.onmessage = (event) => this.onmessage?.(event as never);
    this.#socket.onclose = (event) => this.onclose?.(event as never);
    this.#socket.onerror = () => this.onerror?.({} as never);
  }

  get readyState(): number {
    return this.#socket.readyState;
  }

  get bufferedAmount(): number {
    return this.#socket.bufferedAmount;
  }

  send(data: string): void {
    this.#socket.send(data);
  }

  close(code?: number, reason?: string): void {
    this.#socket.close(code, reason);
  }
}

describe('client', () => {
  let edge: RunningEdge;
  let client: FeedClient;
  let wire: Wire | null = null;

  const open = (options: Partial<ClientOptions> = {}) => {
    client = connect({
      url: edge.url,
      stream: 'gate-7',
      role: 'tracker',
      tracker: 'sort',
      WebSocket,
      backoffMs: 5,
      ...options,
    });
    return client;
  };
  const stored = () => edge.live.parts.get(KEY)!.map((part) => part.k);

  afterEach(async () => {
    await client?.close({ flush: false });
    wire?.close();
    wire = null;
    await edge.stop();
  });

  it('sends what it is given, also before it is connected, and flushes', async () => {
    edge = await startEdge();
    open();
    const numbers = await Promise.all([1, 2, 3].map((k) => client.send(boxFrame(k))));
    assert.deepEqual(numbers, [1, 2, 3]);
    await client.flush();
    assert.equal(client.pending, 0);
    assert.deepEqual(stored(), [1, 2, 3]);
  });

  it('sends reports of a named reference, alone and many at once', async () => {
    edge = await startEdge();
    const feed = open({ role: 'reference', tracker: undefined, feed: 'cam' });
    const report = (t: number) => ({ id: '7', t, box: [t, 0, 5, 5] as [number, number, number, number] });
    await feed.sendReports([report(1)]);
    await feed.flush();
    for (const t of [2, 3, 4]) await feed.sendReports([report(t), { id: '8', t, end: true }]);
    await feed.flush();
    const parts = edge.live.parts.get('gate-7/reference/@cam')!;
    assert.deepEqual(
      parts.map(({ seq, reports, objects }) => [seq, reports, objects.map(({ id, t }) => `${id} ${t}`).join()]),
      [[1, true, '7 1'], ...[2, 3, 4].map((t) => [t, true, `7 ${t},8 ${t}`])],
    );
    await feed.close();
  });

  it('ends the feed after everything is stored', async () => {
    edge = await startEdge();
    open();
    for (let k = 1; k <= 500; k++) await client.send(boxFrame(k));
    await client.end();
    assert.equal(stored().length, 500);
    assert.deepEqual(edge.live.ended, [KEY]);
    await assert.rejects(client.send(boxFrame(501)), { code: 'feed_ended' });
  });

  it('stays within the credit', async () => {
    edge = await startEdge('limits: { creditFrames: 4 }');
    let store = () => {};
    edge.live.gate = new Promise((resolve) => {
      store = resolve;
    });
    open({ batchFrames: 3 });
    for (let k = 1; k <= 20; k++) await client.send(boxFrame(k));
    await event(client, 'open');
    while (edge.desk.waitingFrames < 4) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(edge.desk.waitingFrames, 4);
    assert.equal(edge.meters.counts.pauses, 0);
    edge.live.gate = null;
    store();
    await client.flush();
    assert.equal(stored().length, 20);
    assert.equal(edge.meters.counts.pauses, 0);
  });

  it('loses and repeats nothing when the connection is cut again and again', async () => {
    edge = await startEdge('limits: { creditFrames: 32 }');
    wire = new Wire(Number(new URL(edge.url).port));
    wire.cutAfterBytes = 20_000;
    open({ url: await wire.open() });
    let cuts = 0;
    client.on('reconnecting', () => cuts++);
    const total = 3000;
    for (let k = 1; k <= total; k++) await client.send(boxFrame(k));
    await client.flush();
    assert.ok(cuts > 3, `${cuts} cuts`);
    assert.deepEqual(
      stored(),
      Array.from({ length: total }, (_, n) => n + 1),
    );
  });

  it('loses nothing of a foreign format either, when frames are spread over messages', async () => {
    edge = await startEdge('limits: { creditFrames: 32 }');
    wire = new Wire(Number(new URL(edge.url).port));
    wire.cutAfterBytes = 10_000;
    open({ url: await wire.open(), format: 'motchallenge', options: { frameOffset: -1 } });
    let cuts = 0;
    client.on('reconnecting', () => cuts++);
    const total = 800;
    for (let frame = 1; frame <= total; frame++)
      for (const id of [1, 2]) await client.sendMessage({ message: `${frame},${id},${frame},0,10,10` });
    await client.end();
    assert.ok(cuts > 3, `${cuts} cuts`);
    assert.equal(client.pending, 0);
    assert.deepEqual(
      edge.live.parts.get(KEY)!.map(({ k, objects }) => [k, objects.length]),
      Array.from({ length: total }, (_, n) => [n, 2]),
    );
  });

  it('continues a feed that an earlier process left', async () => {
    edge = await startEdge();
    open();
    await client.send(boxFrame(1));
    await client.close();
    open();
    const { nextSeq } = await event(client, 'open');
    assert.equal(nextSeq, 2);
    await client.send(boxFrame(2));
    await client.flush();
    assert.deepEqual(
      edge.live.parts.get(KEY)!.map((part) => part.seq),
      [1, 2],
    );
  });

  it('renumbers what it holds when another client wrote to the feed meanwhile', async () => {
    edge = await startEdge();
    wire = new Wire(Number(new URL(edge.url).port));
    open({ url: await wire.open() });
    await client.send(boxFrame(1));
    await client.flush();
    wire.refusing = true;
    const away = event(client, 'reconnecting');
    wire.cut();
    await away;
    await client.send(boxFrame(4));
    await new Promise<void>((resolve) => {
      const other = connect({
        url: edge.url,
        stream: 'gate-7',
        role: 'tracker',
        tracker: 'sort',
        WebSocket,
        backoffMs: 5,
      });
      void other.send(boxFrame(2));
      void other.send(boxFrame(3));
      void other.close().then(resolve);
    });
    wire.refusing = false;
    await client.flush();
    assert.deepEqual(stored(), [1, 2, 3, 4]);
  });

  it('comes back with exponential waits and jitter, and starts anew after success', async () => {
    edge = await startEdge();
    wire = new Wire(Number(new URL(edge.url).port));
    wire.refusing = true;
    open({ url: await wire.open(), random: () => 0.5, backoffMaxMs: 30 });
    const waits: number[] = [];
    await new Promise<void>((resolve) => {
      client.on('reconnecting', ({ waitMs }) => {
        waits.push(waitMs);
        if (waits.length === 5) resolve();
      });
    });
    assert.deepEqual(waits, [4.375, 8.75, 17.5, 26.25, 26.25]);
    wire.refusing = false;
    await event(client, 'open');
    const again = event(client, 'reconnecting');
    wire.cut();
    assert.equal((await again).attempt, 1);
  });

  /** Opens a feed that loses its server, and lists the waits before its first attempts to come back. */
  async function waitsAfterACut(random: () => number, count: number): Promise<number[]> {
    wire = new Wire(Number(new URL(edge.url).port));
    open({ url: await wire.open(), backoffMs: 25, random });
    await client.ready();
    wire.refusing = true;
    wire.cut();
    const waits: number[] = [];
    while (waits.length < count) waits.push((await event(client, 'reconnecting')).waitMs);
    return waits;
  }

  it('waits no longer than the server asks for, with a jitter below a quarter of it', async () => {
    edge = await startEdge('limits: { reconnectMaxMs: 60 }');
    assert.deepEqual(await waitsAfterACut(() => 0, 4), [18.75, 37.5, 45, 45]);
    await client.close({ flush: false });
    wire?.close();
    const longest = await waitsAfterACut(() => 1 - 2 ** -53, 4);
    assert.deepEqual(longest.map(Math.round), [25, 50, 60, 60]);
  });

  it('tells where it found no server, within the time for a first connection', async () => {
    edge = await startEdge();
    const port = Number(new URL(edge.url).port);
    await edge.stop();
    open({ connectTimeoutMs: 100 });
    const unreachable = (error: ClientError) =>
      error.code === 'unreachable' &&
      error.message.includes(`ws://127.0.0.1:${port}/v1/ingest`) &&
      error.message.includes('ECONNREFUSED');
    await client.send(boxFrame(1));
    await Promise.all([
      assert.rejects(client.flush(), unreachable),
      assert.rejects(client.ready(), unreachable),
      assert.rejects(client.end(), unreachable),
    ]);
    await assert.rejects(client.send(boxFrame(2)), ClientError);
  });

  it('goes on trying for ever when it is asked to', async () => {
    edge = await startEdge();
    wire = new Wire(Number(new URL(edge.url).port));
    wire.refusing = true;
    open({ url: await wire.open(), connectTimeoutMs: 20, retryForever: true, backoffMaxMs: 10 });
    await client.send(boxFrame(1));
    for (let attempt = 0; attempt < 8; attempt++) await event(client, 'reconnecting');
    wire.refusing = false;
    await client.flush();
    assert.deepEqual(stored(), [1]);
  });

  for (const [what, runtime] of [
    ['', WebSocket],
    [', also where the runtime hides it', BrowserLikeWebSocket],
  ] as const)
    it(`fails at once, in the words of the server, over a wrong path or token${what}`, async () => {
      edge = await startEdge('tokens: [{ name: all, env: ALL }]', { env: { ALL: 'token-0123456789abc' } });
      const refusal = async (options: Partial<ClientOptions>) => {
        open({ ...options, WebSocket: runtime });
        return (await client.ready().catch((error) => error)) as ClientError;
      };
      const unknown = await refusal({ token: 'wrong-token-0123456789' });
      assert.equal(unknown.code, 'token_unknown');
      assert.match(
        unknown.message,
        /\/v1\/ingest refused the connection with HTTP 401: .*; check port, path and token/,
      );
      assert.equal((await refusal({})).code, 'token_missing');
      const misspelt = await refusal({ url: `${edge.url}/v1/ingset`, token: 'token-0123456789abc' });
      assert.equal(misspelt.code, 'not_found');
      assert.match(misspelt.message, /\/v1\/ingset .*HTTP 404/);
      await edge.stop();
      assert.equal((await refusal({ connectTimeoutMs: 100 })).code, 'unreachable');
    });

  it('takes no url without a scheme', () => {
    assert.throws(() => connect({ url: 'localhost:9477', stream: 'a', role: 'reference' }), { code: 'url_invalid' });
  });

  it('keeps trying while the server answers that the feed is taken', async () => {
    edge = await startEdge();
    const first = connect({ url: edge.url, stream: 'gate-7', role: 'tracker', tracker: 'sort', WebSocket });
    await first.ready();
    open({ connectTimeoutMs: 50, backoffMaxMs: 10 });
    const rejects: string[] = [];
    client.on('reject', ({ code }) => rejects.push(code));
    await client.send(boxFrame(1));
    while (rejects.length < 8) await event(client, 'reject');
    await first.close();
    await client.flush();
    assert.deepEqual(stored(), [1]);
    assert.deepEqual([...new Set(rejects)], ['feed_taken']);
  });

  describe('without a listener for rejects', () => {
    const original = console.error;
    let lines: string[] = [];
    beforeEach(() => {
      lines = [];
      console.error = (line: string) => lines.push(line);
    });
    afterEach(() => {
      console.error = original;
    });
    const bad = (k: number) => ({ k, objects: [...boxFrame(k).objects, ...boxFrame(k).objects] });

    it('rejects the next flush, once, with what the server said', async () => {
      edge = await startEdge();
      open();
      await client.send(bad(1));
      await client.send(boxFrame(2));
      await client.send(bad(3));
      const error = await client.flush().then(
        () => assert.fail('the flush says nothing'),
        (error: ClientError) => error,
      );
      assert.equal(error.code, 'rejected');
      assert.match(
        error.message,
        /^2 frames were refused, the first: frame 1: objects\[1\]\.id is "1"; ids must be unique/,
      );
      assert.deepEqual(
        error.rejects.map(({ seq }) => seq),
        [1, 3],
      );
      await client.flush();
      await client.send(boxFrame(4));
      await client.flush();
      assert.deepEqual(stored(), [2, 4]);
      assert.equal(lines.length, 1, 'said once');
      assert.match(lines[0], /^tgospa-live: gate-7\/sort: frame 1: /);
    });

    it('rejects end and close as well', async () => {
      edge = await startEdge();
      open();
      await client.send(bad(1));
      await assert.rejects(client.end(), { code: 'rejected' });
      await client.close();
      open({ tracker: 'other' });
      await client.send(bad(1));
      await assert.rejects(client.close(), { code: 'rejected' });
    });

    it('says of a refused hello what the server said', async () => {
      edge = await startEdge();
      open({ stream: 'no good name' });
      await assert.rejects(client.ready(), {
        code: 'hello_invalid',
        message: /4400 hello_invalid \(.*stream is "no good name"; /,
      });
      assert.match(lines.join('\n'), /no good name/);
    });
  });

  it('tells about rejected frames and goes on', async () => {
    edge = await startEdge();
    open();
    const rejects: string[] = [];
    client.on('reject', ({ path }) => rejects.push(path));
    await client.send({ k: 1, objects: [{ id: 'a', box: [0, 0, 0, 1] }] });
    await client.send(boxFrame(2));
    await client.flush();
    assert.deepEqual(stored(), [2]);
    assert.equal(rejects.length, 1);
    assert.match(rejects[0], /objects\[0\]\.box\[2\]$/);
  });

  it('gives up for good when the hello is wrong, and says why', async () => {
    edge = await startEdge();
    open({ stream: 'no good name' });
    const reject = event(client, 'reject');
    const close = event(client, 'close');
    const flushed = client.send(boxFrame(1)).then(() => client.flush());
    assert.equal((await reject).path, 'stream');
    assert.equal((await close).code, 4400);
    await assert.rejects(flushed, ClientError);
    await assert.rejects(client.send(boxFrame(2)), ClientError);
  });

  it('asks for its token again at every connection', async () => {
    edge = await startEdge('tokens: [{ name: all, env: ALL }]', { env: { ALL: 'token-0123456789abc' } });
    const offered = ['wrong-token-0123456789', 'token-0123456789abc'];
    open({ token: async () => offered.shift()! });
    await client.send(boxFrame(1));
    await client.flush();
    assert.deepEqual(stored(), [1]);
    assert.equal(edge.meters.refusals.get('token_unknown'), 1);
  });

  it('refuses a frame that is larger than a message may be', async () => {
    edge = await startEdge('limits: { payloadBytes: 2000 }');
    open();
    const large = {
      k: 1,
      objects: Array.from({ length: 100 }, (_, n) => ({
        id: String(n),
        box: [0, 0, 1, 1] as [number, number, number, number],
      })),
    };
    await client.send(large);
    assert.equal((await event(client, 'reject')).code, 'payload_too_large');
    await assert.rejects(client.send(large), { code: 'payload_too_large' });
    await client.send(boxFrame(2));
    await client.flush();
    assert.deepEqual(stored(), [2]);
  });

  describe('with a full buffer', () => {
    const hold = (whenFull: ClientOptions['whenFull']) => {
      let store = () => {};
      edge.live.gate = new Promise((resolve) => {
        store = resolve;
      });
      open({ bufferFrames: 3, whenFull });
      return () => {
        edge.live.gate = null;
        store();
      };
    };

    it('waits under the policy block', async () => {
      edge = await startEdge();
      const store = hold('block');
      for (let k = 1; k <= 3; k++) await client.send(boxFrame(k));
      let taken = false;
      const fourth = client.send(boxFrame(4)).then(() => {
        taken = true;
      });
      await event(client, 'open');
      assert.equal(taken, false);
      store();
      await fourth;
      await client.flush();
      assert.deepEqual(stored(), [1, 2, 3, 4]);
    });

    it('throws under the policy error', async () => {
      edge = await startEdge();
      const store = hold('error');
      for (let k = 1; k <= 3; k++) await client.send(boxFrame(k));
      await assert.rejects(client.send(boxFrame(4)), { code: 'buffer_full' });
      store();
      await client.flush();
      assert.deepEqual(stored(), [1, 2, 3]);
    });

    it('gives up the oldest frame under the policy drop-oldest, and tells', async () => {
      edge = await startEdge();
      wire = new Wire(Number(new URL(edge.url).port));
      wire.refusing = true;
      open({ url: await wire.open(), bufferFrames: 3, whenFull: 'drop-oldest' });
      const dropped: number[] = [];
      client.on('drop', ({ frame }) => dropped.push(frame));
      for (let k = 1; k <= 5; k++) await client.send(boxFrame(k));
      assert.deepEqual(dropped, [1, 2]);
      wire.refusing = false;
      await client.flush();
      assert.deepEqual(stored(), [3, 4, 5]);
    });
  });

  it('gives up a connection on which the server is silent, and comes back', async () => {
    edge = await startEdge('limits: { heartbeatMs: 30 }');
    wire = new Wire(Number(new URL(edge.url).port));
    open({ url: await wire.open() });
    await event(client, 'open');
    wire.freeze();
    assert.equal((await event(client, 'reconnecting')).reason, 'the server is silent');
    await event(client, 'open');
    await client.send(boxFrame(1));
    await client.flush();
    assert.deepEqual(stored(), [1]);
  });

  it('says what is missing where there is no WebSocket', async function () {
    edge = await startEdge();
    if ('WebSocket' in globalThis) this.skip();
    open({ WebSocket: undefined });
    await assert.rejects(
      client.send(boxFrame(1)).then(() => client.flush()),
      { code: 'no_websocket' },
    );
  });

  it('rejects what waits when it is closed without flushing', async () => {
    edge = await startEdge();
    let store = () => {};
    edge.live.gate = new Promise((resolve) => {
      store = resolve;
    });
    open();
    await client.send(boxFrame(1));
    const flushed = client.flush();
    await client.close({ flush: false });
    await assert.rejects(flushed, { code: 'closed' });
    store();
  });
});
