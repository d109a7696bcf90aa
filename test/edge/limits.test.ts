/** Shares of addresses, tokens and connections: nobody gets more than the operator allows, and nobody is kept out. */
import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import WebSocket from 'ws';
import { RequestRates } from '../../src/edge/limits/request-rates.js';
import { StreamShares } from '../../src/edge/limits/stream-shares.js';
import { WaitingConnections } from '../../src/edge/limits/waiting-connections.js';
import { codeOf, frame, get, hello, Probe, type RunningEdge, raw, startEdge } from '../kit/edge.js';
import { skipInFastRun, until } from '../kit/system/system.js';

const TOKENS = { A: 'a'.repeat(32), B: 'b'.repeat(32) };
const bearer = (secret: string) => ({ headers: { Authorization: `Bearer ${secret}` } });

describe('limits', () => {
  let edge: RunningEdge;

  afterEach(async () => {
    await edge?.stop();
  });

  const port = () => Number(new URL(edge.url).port);

  /** A connection with half a request. */
  const half = async (localAddress = '127.0.0.1'): Promise<Socket> => {
    const socket = connectTcp({ port: port(), host: '127.0.0.1', localAddress });
    socket.on('error', () => {}).resume();
    await once(socket, 'connect');
    socket.write('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n');
    return socket;
  };

  it('answers everybody while an address holds more half requests open than it may', async () => {
    edge = await startEdge('limits: { httpConnections: 40, httpConnectionsPerAddress: 20 }');
    const closed: number[] = [];
    const halves: Socket[] = [];
    for (let n = 0; n < 60; n++) {
      const socket = await half();
      socket.on('close', () => closed.push(n));
      halves.push(socket);
      if (n % 10 === 0) assert.equal((await get(`${edge.url}/healthz`)).status, 200);
    }
    const other = await half('127.0.0.2');
    assert.equal((await get(`${edge.url}/metrics`)).status, 200);
    const feed = await Probe.open(`${edge.ws}/v1/ingest`);
    feed.send(hello());
    await feed.nextOf('welcome');
    assert.ok(closed.length >= 40, `${closed.length} closed`);
    assert.deepEqual(closed.slice(0, 5), [0, 1, 2, 3, 4], 'who has waited longest goes first');
    assert.equal(other.destroyed, false, 'another address is not touched');
    for (const socket of [...halves, other]) socket.destroy();
  });

  it('gives up half a request after limits.headerTimeoutMs', async () => {
    edge = await startEdge('limits: { headerTimeoutMs: 100 }');
    const socket = await half();
    await once(socket, 'close');
  });

  it('cuts off who sends requests and reads no answer', async () => {
    edge = await startEdge();
    const socket = connectTcp(port(), '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write('GET /v1/config HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.repeat(1000));
    await once(socket.resume(), 'close');
    assert.equal((await get(`${edge.url}/healthz`)).status, 200);
  });

  it('limits requests by address, but for those about health', async () => {
    edge = await startEdge('limits: { requestsPerSecond: 5 }');
    const statuses = await Promise.all(
      Array.from({ length: 12 }, () => get(`${edge.url}/v1/events`).then((a) => a.status)),
    );
    assert.ok(statuses.includes(200) && statuses.includes(429), String(statuses));
    for (let n = 0; n < 12; n++) assert.equal((await get(`${edge.url}/readyz`)).status, 200);
  });

  it('limits requests by token, wherever they come from', () => {
    let nowMs = 0;
    const rates = new RequestRates(2, () => nowMs);
    const asked = (client: string) => [1, 2, 3, 4].map(() => rates.admits(client));
    assert.deepEqual(asked('token a'), [true, true, true, false]);
    assert.deepEqual(asked('token b'), [true, true, true, false]);
    nowMs += 2000;
    assert.equal(rates.admits('token a'), true);
  });

  it('limits connections by token', async () => {
    const tokens = 'tokens: [{ name: a, env: A }, { name: b, env: B }]\nlimits: { connectionsPerToken: 1 }';
    edge = await startEdge(tokens, { env: TOKENS });
    await Probe.open(`${edge.ws}/v1/live`, bearer(TOKENS.A));
    assert.deepEqual(await codeOf(Probe.refused(`${edge.ws}/v1/live`, bearer(TOKENS.A))), [429, 'token_exceeded']);
    await Probe.open(`${edge.ws}/v1/live`, bearer(TOKENS.B));
  });

  it('limits the streams of a client, and leaves the rest to others', async () => {
    const text = 'tokens: [{ name: a, env: A }, { name: b, env: B }]\nlimits: { streamsPerClient: 2 }';
    edge = await startEdge(text, { env: TOKENS });
    const open = async (stream: string, secret: string) => {
      const probe = await Probe.open(`${edge.ws}/v1/ingest`, bearer(secret));
      probe.send(hello({ stream }));
      return probe;
    };
    for (const stream of ['one', 'two']) await (await open(stream, TOKENS.A)).nextOf('welcome');
    const third = await open('three', TOKENS.A);
    const { code, message } = await third.nextOf('reject');
    assert.equal(code, 'streams_exceeded');
    assert.match(String(message), /token a has opened 2 streams; raise limits\.streamsPerClient/);
    assert.equal((await third.closed).code, 4429);
    await (await open('three', TOKENS.B)).nextOf('welcome');
    const known = await Probe.open(`${edge.ws}/v1/ingest`, bearer(TOKENS.A));
    known.send(hello({ stream: 'three', tracker: 'other' }));
    await known.nextOf('welcome');
  });

  it('limits how many streams a client opens in a minute, and forgets those that are gone', () => {
    let nowMs = 0;
    const streams = new Set<string>();
    const limits = { streamsPerClient: 3, newStreamsPerMinute: 2 };
    const shares = new StreamShares(
      limits,
      (stream) => streams.has(stream),
      () => nowMs,
    );
    const open = (stream: string) => {
      const refused = shares.refusal('c');
      if (refused) return refused.message;
      streams.add(stream);
      shares.add('c', stream);
      return null;
    };
    assert.deepEqual(['a', 'b', 'c'].map(open), [null, null, null]);
    assert.match(open('d')!, /has opened 3 streams/);
    streams.delete('a');
    assert.match(open('d')!, /2 streams within a minute; try again in 30 s/);
    nowMs += 31_000;
    assert.equal(open('d'), null);
  });

  for (const endpoint of ['ingest', 'live'])
    for (const kind of ['message', 'frame'])
      it(`cuts off who sends pings as a ${kind} to /v1/${endpoint} and reads nothing`, async function () {
        skipInFastRun(this);
        edge = await startEdge('limits: { backlogBytes: 65536 }');
        const deaf = new WebSocket(`${edge.ws}/v1/${endpoint}`, ['tgospa.v1'], { autoPong: false });
        await once(deaf, 'open');
        deaf.on('error', () => {});
        deaf.pause();
        if (endpoint === 'ingest') deaf.send(JSON.stringify(hello()));
        const ping = '{"type":"ping"}';
        const payload = 'x'.repeat(100);
        const count = () => edge.sockets.counts()[endpoint as 'ingest' | 'live'];
        for (let round = 0; round < 2000 && count() > 0; round++) {
          for (let n = 0; n < 1000; n++)
            if (kind === 'message') deaf.send(ping);
            else deaf.ping(payload);
          while (deaf.bufferedAmount > 0 && count() > 0) await new Promise((resolve) => setTimeout(resolve, 1));
        }
        // a client may have noticed before the server has counted
        await until('it is cut off', () => count() === 0);
        deaf.terminate();
      });

  it('answers the pings of who reads', async () => {
    edge = await startEdge();
    const probe = await Probe.open(`${edge.ws}/v1/live`);
    probe.socket.ping('here');
    const [data] = await once(probe.socket, 'pong');
    assert.equal(String(data), 'here');
  });

  it('answers offers of other protocols as if they had not been made', async () => {
    edge = await startEdge();
    const offer = (path: string) =>
      raw(
        port(),
        `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n`,
      );
    assert.match(await offer('/healthz'), /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nok\n$/);
    assert.match(await offer('/metrics'), /^HTTP\/1\.1 200 OK\r\n[\s\S]*tgospa_build_info/);
    assert.match(await offer('/v1/ingest'), /^HTTP\/1\.1 426 /);
    assert.match(await offer('/nowhere'), /^HTTP\/1\.1 404 /);
  });

  it('sets aside a number that is absurdly far ahead, for frames, rejects and foreign messages', async () => {
    edge = await startEdge();
    const feed = await Probe.open(`${edge.ws}/v1/ingest`);
    feed.send(hello());
    await feed.nextOf('welcome');
    feed.send(frame(1));
    for (const wrong of [frame(2 ** 53 - 1), frame(2 ** 53 - 1, { objects: 7 })]) {
      feed.send(wrong);
      assert.equal((await feed.nextOf('reject')).code, 'frame_invalid');
    }
    feed.send(frame(2));
    while ((await feed.nextOf('ack')).seq !== 2);
    const foreign = await Probe.open(`${edge.ws}/v1/ingest`);
    foreign.send(hello({ tracker: 'm', format: 'motchallenge' }));
    await foreign.nextOf('welcome');
    foreign.send({ type: 'message', seq: 2 ** 53 - 1, message: '1,7,10,20,30,40\n' });
    assert.match(String((await foreign.nextOf('reject')).message), /number your frames 1, 2, 3/);
    foreign.send({ type: 'message', seq: 1, message: '1,7,10,20,30,40\n2,7,10,20,30,40\n' });
    foreign.send({ type: 'end' });
    assert.equal((await foreign.nextOf('ack')).seq, 1);
  });

  it('counts waiting connections, not those that are answered or upgraded', () => {
    const fake = (remotePort: number) => {
      const listeners: Array<() => void> = [];
      const socket = {
        remoteAddress: '::1',
        remotePort,
        destroyed: false,
        once: (_: string, f: () => void) => listeners.push(f),
      };
      return Object.assign(socket, {
        destroy() {
          socket.destroyed = true;
          for (const listener of listeners) listener();
        },
      }) as unknown as Socket;
    };
    const waiting = new WaitingConnections(10, 2);
    const [a, b, c, d] = [1, 2, 3, 4].map(fake);
    waiting.accept(a);
    waiting.requested({ socket: a });
    waiting.accept(b);
    waiting.accept(c);
    waiting.upgraded({ socket: b });
    assert.equal(waiting.size, 1);
    waiting.answered({ socket: a });
    waiting.accept(d);
    assert.deepEqual(
      [a, b, c, d].map(({ destroyed }) => destroyed),
      [false, false, true, false],
    );
    a.destroy();
    d.destroy();
    assert.equal(waiting.size, 0);
  });
});
