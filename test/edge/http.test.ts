import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { request } from 'node:http';
import { request as requestTls } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import WebSocket from 'ws';
import { pointProfileLines } from '../../src/config/config.js';
import type { Report } from '../../src/index.js';
import type { LiveEvent } from '../../src/wire/events.js';
import { frame, hello, Probe, type RunningEdge, startEdge } from '../kit/edge-harness.js';
import { FakeLive, fakeReportEvent } from '../kit/fake-live.js';

/** GET with a name of the caller's choice in the Host header, which fetch does not allow. */
function get(
  url: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<{ status: number; headers: IncomingHttpHeaders; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { headers, method, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    outgoing.on('error', reject).end();
  });
}

const gateOf = (live: FakeLive): (() => void) => {
  let open = () => {};
  live.gate = new Promise((resolve) => {
    open = resolve;
  });
  return () => {
    live.gate = null;
    open();
  };
};

const KEY = 'gate-7/tracker/sort';

describe('server', () => {
  let edge: RunningEdge;

  afterEach(async () => {
    await edge?.stop();
  });

  const openFeed = async (changes: object = {}) => {
    const probe = await Probe.open(`${edge.ws}/v1/ingest`);
    probe.send(hello(changes));
    return { probe, welcome: await probe.nextOf('welcome') };
  };

  describe('/v1/ingest', () => {
    it('answers hello with session, next sequence number, credit, limits and heartbeat', async () => {
      edge = await startEdge('limits: { creditFrames: 17, payloadBytes: 5000, heartbeatMs: 9000 }');
      const { welcome } = await openFeed();
      const { session, ...rest } = welcome;
      assert.equal(typeof session, 'string');
      assert.deepEqual(rest, {
        type: 'welcome',
        nextSeq: 1,
        credit: 17,
        maxPayloadBytes: 5000,
        maxObjects: 2000,
        heartbeatMs: 9000,
        shape: 'box',
        profiles: ['online-surveillance'],
        windowFrames: 60,
      });
    });

    it('warns in the welcome when the window can never show a long switch', async () => {
      edge = await startEdge();
      const { welcome } = await openFeed({ settings: { profiles: ['offline-scene-understanding'], windowFrames: 20 } });
      assert.match(
        (welcome.warnings as string[])[0],
        /^profile offline-scene-understanding: a window of 20 frames never shows/,
      );
    });

    it('acks frames only once they are stored, cumulatively', async () => {
      edge = await startEdge();
      const store = gateOf(edge.live);
      const { probe } = await openFeed();
      probe.send(frame(1));
      probe.send({ type: 'frames', frames: [frame(2), frame(3)] });
      probe.send({ type: 'ping' });
      // the answer to the ping comes after everything before it was read
      assert.equal((await probe.next()).type, 'pong');
      assert.equal(edge.edge.desk.waitingFrames, 3);
      store();
      assert.deepEqual(await probe.next(), { type: 'ack', seq: 3 });
      assert.deepEqual(
        edge.live.parts.get(KEY)!.map((part) => part.seq),
        [1, 2, 3],
      );
      assert.deepEqual(edge.live.parts.get(KEY)![0], { seq: 1, k: 1, objects: [{ id: '7', box: [10, 20, 30, 40] }] });
    });

    it('continues after a cut where the stored frames end, and recognises what is sent twice', async () => {
      edge = await startEdge();
      const first = await openFeed();
      for (const seq of [1, 2, 3]) first.probe.send(frame(seq));
      while ((await first.probe.nextOf('ack')).seq !== 3);
      first.probe.socket.terminate();
      await first.probe.closed;
      const second = await openFeed({ resume: { session: first.welcome.session, seq: 2 } });
      assert.equal(second.welcome.nextSeq, 4);
      for (const seq of [2, 3]) second.probe.send(frame(seq));
      let duplicates = 0;
      while (duplicates < 2) {
        const ack = await second.probe.nextOf('ack');
        assert.equal(ack.seq, 3);
        duplicates += ack.duplicates as number;
      }
      second.probe.send(frame(4));
      assert.deepEqual(await second.probe.next(), { type: 'ack', seq: 4 });
      assert.deepEqual(
        edge.live.parts.get(KEY)!.map((part) => part.seq),
        [1, 2, 3, 4],
      );
      assert.equal(edge.meters.feedMeter({ stream: 'gate-7', role: 'tracker', tracker: 'sort' }).duplicates, 2);
    });

    it('recognises frames that are resent while their first copies are still being stored', async () => {
      edge = await startEdge();
      const store = gateOf(edge.live);
      const first = await openFeed();
      first.probe.send({ type: 'frames', frames: [frame(1), frame(2)] });
      first.probe.send({ type: 'ping' });
      await first.probe.nextOf('pong');
      first.probe.socket.terminate();
      const second = await openFeed({ resume: { session: first.welcome.session } });
      assert.equal(second.welcome.nextSeq, 1, 'what is not stored is not promised');
      second.probe.send({ type: 'frames', frames: [frame(1), frame(2), frame(3)] });
      second.probe.send({ type: 'ping' });
      await second.probe.nextOf('pong');
      store();
      assert.equal((await second.probe.nextOf('ack')).seq, 3);
      assert.deepEqual(
        edge.live.parts.get(KEY)!.map((part) => part.seq),
        [1, 2, 3],
      );
    });

    it('rejects a bad frame by code, path, value and remedy, and goes on with the next', async () => {
      edge = await startEdge();
      const { probe } = await openFeed();
      probe.send(frame(1));
      probe.send(
        frame(2, {
          objects: [
            { id: '1', box: [0, 0, 1, 1] },
            { id: '2', box: [0, 0, -3, 1] },
          ],
        }),
      );
      probe.send(frame(3));
      const reject = await probe.nextOf('reject');
      assert.equal(reject.seq, 2);
      assert.equal(reject.code, 'frame_invalid');
      assert.equal(reject.path, 'objects[1].box[2]');
      assert.equal(reject.value, '-3');
      assert.match(reject.message as string, /width of a box must be above 0/);
      while ((await probe.nextOf('ack')).seq !== 3);
      assert.deepEqual(
        edge.live.parts.get(KEY)!.map((part) => part.seq),
        [1, 3],
      );
      assert.deepEqual(edge.live.rejected, ['frame_invalid']);
    });

    it('acks past a rejected frame even when nothing follows it', async () => {
      edge = await startEdge();
      const { probe } = await openFeed();
      probe.send(frame(1, { objects: 'none' }));
      assert.equal((await probe.nextOf('reject')).seq, 1);
      assert.deepEqual(await probe.next(), { type: 'ack', seq: 1 });
    });

    it('names the place of a bad frame within a batch and keeps the others', async () => {
      edge = await startEdge();
      const { probe } = await openFeed();
      probe.send({ type: 'frames', frames: [frame(1), frame(2, { k: -1 }), frame(3)] });
      const reject = await probe.nextOf('reject');
      assert.deepEqual([reject.seq, reject.path], [2, 'frames[1].k']);
      while ((await probe.nextOf('ack')).seq !== 3);
      assert.deepEqual(
        edge.live.parts.get(KEY)!.map((part) => part.seq),
        [1, 3],
      );
    });

    it('does not read from a client that ignores its credit, and loses nothing', async () => {
      edge = await startEdge('limits: { creditFrames: 8 }');
      const store = gateOf(edge.live);
      const { probe } = await openFeed();
      const objects = Array.from({ length: 60 }, (_, n) => ({
        id: String(n),
        box: [n, n, 10, 10],
        class: 'c'.repeat(128),
      }));
      const total = 1500;
      for (let seq = 1; seq <= total; seq++) probe.send(frame(seq, { objects }));
      // 16 MB do not fit into the buffers of a loopback connection: the rest stays with the sender
      await until(() => [...edge.edge.desk.sessions].some((session) => session.paused));
      await new Promise((resolve) => setImmediate(resolve));
      assert.ok(edge.edge.desk.waitingFrames < 200, `${edge.edge.desk.waitingFrames} frames are buffered`);
      assert.ok(probe.socket.bufferedAmount > 1_000_000);
      store();
      while ((await probe.nextOf('ack')).seq !== total);
      assert.equal(edge.live.parts.get(KEY)!.length, total);
      assert.ok(edge.meters.counts.pauses > 0);
    });

    it('gives the event loop back after a slice, whatever has come', async () => {
      edge = await startEdge('limits: { creditFrames: 100000 }\nevaluation: { sliceMs: 0.001 }');
      const { probe } = await openFeed();
      const objects = Array.from({ length: 60 }, (_, n) => ({
        id: String(n),
        box: [n, n, 10, 10],
        class: 'c'.repeat(128),
      }));
      const perTurn: number[] = [0];
      const ingest = edge.live.ingest.bind(edge.live);
      edge.live.ingest = (feed, part) => {
        if (perTurn[perTurn.length - 1]++ === 0) setImmediate(() => perTurn.push(0));
        return ingest(feed, part);
      };
      for (let seq = 1; seq <= 500; seq++) probe.send(frame(seq, { objects }));
      while ((await probe.nextOf('ack')).seq !== 500);
      // one read of a socket is 64 kB, six of these frames; without the slice thirty-two reads come together
      assert.ok(Math.max(...perTurn) <= 20, `${Math.max(...perTurn)} frames in one turn`);
      assert.equal(edge.meters.counts.pauses, 0);
    });

    it('slows a client down that exceeds limits.framesPerSecond', async () => {
      edge = await startEdge('limits: { framesPerSecond: 100 }');
      const { probe } = await openFeed();
      const started = performance.now();
      for (let seq = 1; seq <= 120; seq++) probe.send(frame(seq));
      while ((await probe.nextOf('ack')).seq !== 120);
      probe.send(frame(121));
      while ((await probe.nextOf('ack')).seq !== 121);
      assert.ok(performance.now() - started > 150, 'the 21 frames above the burst take 10 ms each');
    });

    it('stops acking while the disk is full and goes on when there is room, in order', async () => {
      edge = await startEdge('data: { storageRetryMs: 5 }');
      const { probe } = await openFeed();
      probe.send(frame(1));
      await probe.nextOf('ack');
      edge.live.diskFull = true;
      probe.send({ type: 'frames', frames: [frame(2), frame(3)] });
      probe.send(frame(4));
      await until(() => edge.logLines.some((line) => line.includes('storage_stalled')));
      const tries = edge.live.attempts;
      await until(() => edge.live.attempts > tries + 3);
      assert.equal(probe.received.filter((message) => message.type === 'ack').length, 1);
      assert.equal(edge.logLines.filter((line) => line.includes('storage_')).length, 1, 'said once, not at every try');
      edge.live.diskFull = false;
      while ((await probe.nextOf('ack')).seq !== 4);
      assert.deepEqual(
        edge.live.parts.get(KEY)!.map((part) => part.seq),
        [1, 2, 3, 4],
      );
      assert.ok(edge.logLines.some((line) => line.includes('storage_resumed')));
    });

    it('ends a feed after everything is stored, then takes no more frames', async () => {
      edge = await startEdge();
      const store = gateOf(edge.live);
      const { probe } = await openFeed();
      probe.send(frame(1));
      probe.send({ type: 'end' });
      probe.send(frame(2));
      assert.equal((await probe.nextOf('reject')).code, 'feed_ended');
      assert.deepEqual(edge.live.ended, []);
      store();
      assert.deepEqual(await probe.next(), { type: 'ack', seq: 1 });
      assert.deepEqual(await probe.next(), { type: 'ended' });
      assert.deepEqual(edge.live.ended, [KEY]);
    });

    it('refuses a second client for one feed, unless it resumes the session of the first', async () => {
      edge = await startEdge();
      const first = await openFeed();
      const second = await Probe.open(`${edge.ws}/v1/ingest`);
      second.send(hello());
      assert.equal((await second.nextOf('reject')).code, 'feed_taken');
      assert.equal((await second.closed).code, 4409);
      const reference = await openFeed({ role: 'reference', tracker: undefined });
      assert.equal(reference.welcome.nextSeq, 1, 'the reference of the same stream is another feed');
      const third = await openFeed({ resume: { session: first.welcome.session } });
      assert.equal((await first.probe.closed).code, 4410);
      third.probe.send(frame(1));
      assert.equal((await third.probe.nextOf('ack')).seq, 1);
    });

    it('closes a connection without hello in time', async () => {
      edge = await startEdge('limits: { helloTimeoutMs: 20 }');
      const probe = await Probe.open(`${edge.ws}/v1/ingest`);
      assert.equal((await probe.nextOf('reject')).code, 'hello_timeout');
      assert.equal((await probe.closed).code, 4408);
    });

    it('closes a connection whose first message is no hello', async () => {
      edge = await startEdge();
      const probe = await Probe.open(`${edge.ws}/v1/ingest`);
      probe.send(frame(1));
      assert.equal((await probe.nextOf('reject')).code, 'hello_expected');
      assert.equal((await probe.closed).code, 4400);
    });

    for (const [what, changes, path, code] of [
      ['an unknown role', { role: 'judge' }, 'role', 'hello_invalid'],
      ['a tracker without a name', { tracker: undefined }, 'tracker', 'hello_invalid'],
      ['a reference with a tracker name', { role: 'reference' }, 'tracker', 'hello_invalid'],
      ['an unknown field', { colour: 'red' }, 'colour', 'hello_invalid'],
      ['an unknown format', { format: 'morse' }, 'format', 'format_unknown'],
      ['unknown stream settings', { settings: { windowSize: 3 } }, 'settings.windowSize', 'hello_invalid'],
      [
        'stream settings out of range',
        { settings: { pairing: { by: 'luck' } } },
        'settings.pairing.by',
        'hello_invalid',
      ],
      ['an unknown profile', { settings: { profiles: ['nope'] } }, 'settings.profiles[0]', 'hello_invalid'],
      ['a bad stream name', { stream: 'a b' }, 'stream', 'hello_invalid'],
    ] as const) {
      it(`refuses a hello with ${what}`, async () => {
        edge = await startEdge();
        const probe = await Probe.open(`${edge.ws}/v1/ingest`);
        probe.send(hello(changes));
        const reject = await probe.nextOf('reject');
        assert.deepEqual([reject.code, reject.path], [code, path]);
        assert.deepEqual(await probe.closed, { code: 4400, reason: code });
      });
    }

    it('keeps the points of a stream in the dimension of the first one, over all its feeds', async () => {
      edge = await startEdge(pointProfileLines('gate-7'));
      const { probe: tracker, welcome } = await openFeed();
      assert.equal(welcome.shape, 'point');
      const { probe: reference } = await openFeed({ role: 'reference', tracker: undefined });
      tracker.send(frame(1, { objects: [{ id: 'a', point: [1, 2, 3] }] }));
      assert.equal((await tracker.nextOf('ack')).seq, 1);
      reference.send(frame(1, { objects: [{ id: 'a', point: [1, 2] }] }));
      assert.equal((await reference.nextOf('reject')).code, 'shape_mismatch');
    });

    it('tells a sender of points on a stream of boxes which lines to add', async () => {
      edge = await startEdge();
      const { probe } = await openFeed();
      probe.send(frame(1, { objects: [{ id: 'a', point: [1, 2] }] }));
      const reject = await probe.nextOf('reject');
      assert.equal(reject.code, 'shape_mismatch');
      assert.match(reject.message as string, /profiles:\n {2}points: \{ distance: euclidean/);
    });

    it('refuses a stream above the cap and counts it', async () => {
      edge = await startEdge();
      edge.live.streamsMax = 1;
      await openFeed();
      const probe = await Probe.open(`${edge.ws}/v1/ingest`);
      probe.send(hello({ stream: 'gate-8' }));
      assert.equal((await probe.nextOf('reject')).code, 'streams_exceeded');
      assert.equal((await probe.closed).code, 4429);
      assert.equal(edge.meters.refusals.get('streams_exceeded'), 1);
    });

    it('rejects broken JSON, binary messages and unknown types without closing', async () => {
      edge = await startEdge();
      const { probe } = await openFeed();
      probe.send('{"type":');
      assert.equal((await probe.nextOf('reject')).code, 'json_invalid');
      probe.socket.send(Buffer.from([1, 2, 3]));
      assert.equal((await probe.nextOf('reject')).code, 'message_invalid');
      probe.send({ type: 'dance' });
      assert.equal((await probe.nextOf('reject')).path, 'type');
      probe.send(hello());
      assert.equal((await probe.nextOf('reject')).code, 'hello_repeated');
      probe.send(frame(1));
      assert.equal((await probe.nextOf('ack')).seq, 1);
    });

    it('closes with 1009 above limits.payloadBytes and with 1008 above limits.fragments', async () => {
      edge = await startEdge('limits: { payloadBytes: 2000, fragments: 4 }');
      const { probe } = await openFeed();
      probe.send(' '.repeat(3000));
      assert.equal((await probe.closed).code, 1009);
      const { probe: other } = await openFeed();
      for (let n = 0; n < 6; n++) other.socket.send('[', { fin: false });
      assert.equal((await other.closed).code, 1008);
    });

    it('closes a client that sends rubbish without end', async () => {
      edge = await startEdge('limits: { rejectsPerMinute: 5 }');
      const { probe } = await openFeed();
      for (let n = 0; n < 10; n++) probe.send('rubbish');
      assert.deepEqual(await probe.closed, { code: 4429, reason: 'rejects_exceeded' });
    });

    it('cuts off a peer that answers no ping, and only that one', async () => {
      edge = await startEdge('limits: { heartbeatMs: 20 }');
      const { probe } = await openFeed();
      const mute = new WebSocket(`${edge.ws}/v1/ingest`, ['tgospa.v1'], { autoPong: false });
      await once(mute, 'open');
      mute.send(JSON.stringify(hello({ tracker: 'mute' })));
      const [code] = await once(mute, 'close');
      assert.equal(code, 1006);
      probe.send(frame(1));
      assert.equal((await probe.nextOf('ack')).seq, 1);
    });

    it('cuts off who does not answer its goodbye within limits.stopMs', async () => {
      edge = await startEdge('limits: { stopMs: 50 }');
      const { probe } = await openFeed();
      const deaf = await Probe.open(`${edge.ws}/v1/live`);
      deaf.socket.pause();
      await edge.stop();
      assert.equal((await probe.closed).code, 1001);
      await until(() => edge.sockets.counts().live === 0);
      deaf.socket.terminate();
    });

    it('stores, acks and closes with 1001 when it stops', async () => {
      edge = await startEdge();
      const store = gateOf(edge.live);
      const { probe } = await openFeed();
      probe.send(frame(1));
      probe.send({ type: 'ping' });
      await probe.nextOf('pong');
      const stopped = edge.stop();
      store();
      assert.equal((await probe.nextOf('ack')).seq, 1);
      assert.equal((await probe.closed).code, 1001);
      await stopped;
      assert.equal(edge.live.parts.get(KEY)!.length, 1);
    });
  });

  describe('access', () => {
    const TOKENS = `
tokens:
  - { name: cameras, env: CAMERAS, roles: [ingest], streams: ['gate-*'] }
  - { name: grafana, env: GRAFANA, roles: [read] }
  - { name: guard, env: GUARD, roles: [read], streams: [gate-7] }
`;
    const env = { CAMERAS: 'cameras-0123456789', GRAFANA: 'grafana-0123456789', GUARD: 'guard-0123456789abc' };
    const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

    it('admits a token by header or by subprotocol, and never echoes the token', async () => {
      edge = await startEdge(TOKENS, { env });
      const byHeader = await Probe.open(`${edge.ws}/v1/ingest`, bearer(env.CAMERAS));
      byHeader.send(hello());
      await byHeader.nextOf('welcome');
      const bySubprotocol = await Probe.open(`${edge.ws}/v1/live`, {
        protocols: ['tgospa.v1', `bearer.${env.GRAFANA}`],
      });
      assert.equal(bySubprotocol.socket.protocol, 'tgospa.v1');
      assert.ok(!edge.logLines.some((line) => Object.values(env).some((secret) => line.includes(secret))));
    });

    it('refuses an upgrade without token, with an unknown one, with the wrong role or from elsewhere', async () => {
      edge = await startEdge(TOKENS, { env });
      const ingest = `${edge.ws}/v1/ingest`;
      assert.deepEqual(await codeOf(Probe.refused(ingest)), [401, 'token_missing']);
      assert.deepEqual(await codeOf(Probe.refused(ingest, bearer('wrong'))), [401, 'token_unknown']);
      assert.deepEqual(await codeOf(Probe.refused(ingest, bearer(env.GRAFANA))), [403, 'role_forbidden']);
      assert.deepEqual(
        await codeOf(
          Probe.refused(ingest, { headers: { origin: 'https://evil.example', ...bearer(env.CAMERAS).headers } }),
        ),
        [403, 'origin_forbidden'],
      );
      assert.deepEqual(await codeOf(Probe.refused(ingest, { protocols: ['chat'] })), [400, 'subprotocol_unknown']);
      assert.deepEqual(await codeOf(Probe.refused(`${edge.ws}/v2/ingest`)), [404, 'not_found']);
      assert.equal(edge.meters.refusals.get('token_missing'), 1);
    });

    it('closes a hello for a stream that the token is not good for', async () => {
      edge = await startEdge(TOKENS, { env });
      const probe = await Probe.open(`${edge.ws}/v1/ingest`, bearer(env.CAMERAS));
      probe.send(hello({ stream: 'yard' }));
      assert.equal((await probe.nextOf('reject')).code, 'stream_forbidden');
      assert.equal((await probe.closed).code, 4403);
    });

    it('shows a reader only its streams, and needs no token for health', async () => {
      edge = await startEdge(TOKENS, { env });
      edge.live.openFeed({ stream: 'gate-7', role: 'reference', tracker: null });
      edge.live.openFeed({ stream: 'yard', role: 'reference', tracker: null });
      const { headers } = bearer(env.GUARD);
      const list = await get(`${edge.url}/v1/streams`, headers);
      assert.deepEqual(JSON.parse(String(list.body)).streams, [{ stream: 'gate-7', dimensions: 0 }]);
      assert.equal((await get(`${edge.url}/v1/streams`)).status, 401);
      assert.equal((await get(`${edge.url}/metrics`, headers)).status, 403);
      assert.equal((await get(`${edge.url}/metrics`, bearer(env.GRAFANA).headers)).status, 200);
      assert.equal((await get(`${edge.url}/v1/window?stream=yard&tracker=a&profile=b`, headers)).status, 403);
      assert.equal((await get(`${edge.url}/healthz`)).status, 200);
      const reader = await Probe.open(`${edge.ws}/v1/live`, bearer(env.GUARD));
      edge.live.emit(fakeReportEvent({ stream: 'yard' }));
      edge.live.emit(fakeReportEvent({ stream: 'gate-7' }));
      assert.equal((await reader.next()).stream, 'gate-7');
    });

    it('shows the configuration in force without secrets', async () => {
      edge = await startEdge(TOKENS, { env });
      const { body } = await get(`${edge.url}/v1/config`, bearer(env.GRAFANA).headers);
      const shown = JSON.parse(String(body));
      assert.deepEqual(shown.config.tokens[0], { name: 'cameras', roles: ['ingest'], streams: ['gate-*'] });
      assert.equal(shown.config.limits.objects, 2000);
      assert.equal(shown.params['online-surveillance'].distance, 'iou');
      for (const secret of Object.values(env)) assert.ok(!String(body).includes(secret));
    });

    it('lets pages of this server and of allowed origins in, and answers to no foreign name', async () => {
      edge = await startEdge('origins: [https://board.example]');
      const { host } = new URL(edge.url);
      for (const origin of ['https://board.example', `http://${host}`]) {
        await (await Probe.open(`${edge.ws}/v1/live`, { headers: { origin } })).close();
        assert.equal((await get(`${edge.url}/v1/streams`, { origin })).headers['access-control-allow-origin'], origin);
      }
      const asked = await get(`${edge.url}/v1/streams`, { origin: 'https://board.example' }, 'OPTIONS');
      assert.deepEqual([asked.status, asked.headers['access-control-allow-headers']], [204, 'Authorization']);
      assert.equal((await get(`${edge.url}/v1/streams`, { origin: 'https://evil.example' }, 'OPTIONS')).status, 405);
      assert.equal((await get(`${edge.url}/v1/streams`, { origin: 'https://evil.example' })).status, 403);
      assert.equal((await get(`${edge.url}/v1/streams`, { host: 'evil.example' })).status, 403);
      assert.equal((await get(`${edge.url}/v1/streams`, { host: `localhost:${new URL(edge.url).port}` })).status, 200);
    });

    it('limits connections altogether and by address', async () => {
      edge = await startEdge('limits: { connections: 2 }');
      const [first] = await Promise.all([Probe.open(`${edge.ws}/v1/live`), Probe.open(`${edge.ws}/v1/live`)]);
      assert.deepEqual(await codeOf(Probe.refused(`${edge.ws}/v1/live`)), [503, 'connections_exceeded']);
      await first.close();
      await until(() => edge.sockets.counts().live === 1);
      await Probe.open(`${edge.ws}/v1/live`);
      await edge.stop();
      edge = await startEdge('limits: { connectionsPerAddress: 1 }');
      await Probe.open(`${edge.ws}/v1/live`);
      assert.deepEqual(await codeOf(Probe.refused(`${edge.ws}/v1/live`)), [429, 'address_exceeded']);
    });
  });

  it('serves wss and https with a certificate', async () => {
    const [certFile, keyFile] = ['pem', 'key'].map((end) =>
      fileURLToPath(new URL(`../../../test/cases/tls/test-only.${end}`, import.meta.url)),
    );
    edge = await startEdge(`tls: { certFile: ${certFile}, keyFile: ${keyFile} }`);
    assert.match(edge.url, /^https:/);
    const socket = new WebSocket(`${edge.ws}/v1/ingest`, ['tgospa.v1'], { ca: readFileSync(certFile) });
    await once(socket, 'open');
    socket.send(JSON.stringify(hello()));
    const [data] = await once(socket, 'message');
    assert.equal(JSON.parse(String(data)).type, 'welcome');
    socket.terminate();
    const shown = await new Promise<{ config: { tls: object } }>((resolve, reject) => {
      requestTls(`${edge.url}/v1/config`, { ca: readFileSync(certFile), agent: false }, async (response) =>
        resolve(JSON.parse(String(Buffer.concat(await response.toArray())))),
      )
        .on('error', reject)
        .end();
    });
    assert.deepEqual(Object.keys(shown.config.tls), ['certFile']);
  });

  describe('/v1/live', () => {
    it('sends reports without their frames, and events as they are', async () => {
      edge = await startEdge();
      const reader = await Probe.open(`${edge.ws}/v1/live`);
      const event = fakeReportEvent();
      edge.live.emit(event);
      const report = await reader.next();
      const { perFrame, newest, settled, lifetime, frame: at, events, ...window } = event.report as Report;
      assert.deepEqual(report, {
        type: 'report',
        stream: 'gate-7',
        tracker: 'sort',
        profile: 'online-surveillance',
        k: 100,
        frame: at,
        receivedMs: event.receivedMs,
        solveMs: 0.2,
        window,
        newest,
        settled,
        lifetime,
      });
      assert.deepEqual([perFrame, events], [[], []]);
      const change: LiveEvent = {
        type: 'switch',
        stream: 'gate-7',
        tracker: 'sort',
        profile: 'online-surveillance',
        k: 70,
        truth: '6',
        from: '25',
        to: '28',
        switches: 1,
      };
      edge.live.emit(change);
      assert.deepEqual(await reader.next(), change);
    });

    it('filters by stream, tracker and profile', async () => {
      edge = await startEdge();
      const reader = await Probe.open(`${edge.ws}/v1/live?stream=gate-7&tracker=sort&profile=fine`);
      for (const changes of [
        { stream: 'yard', profile: 'fine' },
        { tracker: 'other', profile: 'fine' },
        { profile: 'coarse' },
        { profile: 'fine' },
      ])
        edge.live.emit(fakeReportEvent(changes));
      edge.live.emit({
        type: 'silence',
        stream: 'gate-7',
        role: 'reference',
        tracker: null,
        since: 1,
        over: false,
      } as LiveEvent);
      const first = await reader.next();
      assert.deepEqual([first.stream, first.tracker, first.profile], ['gate-7', 'sort', 'fine']);
      assert.equal((await reader.next()).type, 'silence', 'a silent reference concerns every tracker');
    });

    it('greets a newcomer with the newest report of each series, and forgets retired ones', async () => {
      edge = await startEdge();
      edge.live.emit(fakeReportEvent({ k: 1 }));
      edge.live.emit(fakeReportEvent({ k: 2 }));
      edge.live.emit(fakeReportEvent({ tracker: 'gone', k: 9 }));
      edge.live.emit({ type: 'retired', stream: 'gate-7', tracker: 'gone', profile: 'online-surveillance' });
      const reader = await Probe.open(`${edge.ws}/v1/live`);
      edge.live.emit(fakeReportEvent({ k: 3 }));
      assert.deepEqual([(await reader.next()).k, (await reader.next()).k], [2, 3]);
    });

    it('greets a newcomer with what was reported before a restart', async () => {
      const live = new FakeLive();
      live.recovered = [fakeReportEvent({ k: 41 })];
      edge = await startEdge('', { live });
      assert.equal((await (await Probe.open(`${edge.ws}/v1/live`)).next()).k, 41);
      assert.match(String((await get(`${edge.url}/metrics`)).body), /tgospa_frames_total\{stream="gate-7"[^}]*\} 70/);
    });

    it('coalesces reports for a slow reader, keeps every event, and says how many reports are left out', async () => {
      edge = await startEdge('limits: { liveBufferBytes: 1000 }');
      const reader = await Probe.open(`${edge.ws}/v1/live`);
      reader.socket.pause();
      const total = 20_000;
      for (let k = 1; k <= total; k++) edge.live.emit(fakeReportEvent({ k }));
      for (let k = 1; k <= 50; k++)
        edge.live.emit({
          type: 'switch',
          stream: 'gate-7',
          tracker: 'sort',
          profile: 'online-surveillance',
          k,
        } as LiveEvent);
      assert.ok(edge.meters.counts.coalesced > 1000);
      reader.socket.resume();
      let skipped = 0;
      let reports = 0;
      let switches = 0;
      for (let last = 0; last < total; ) {
        const message = await reader.next();
        if (message.type === 'switch') switches++;
        else {
          reports++;
          skipped += (message.skipped as number) ?? 0;
          last = message.k as number;
        }
      }
      assert.equal(reports + skipped, total);
      assert.equal(switches, 50);
      assert.equal(edge.meters.counts.coalesced, skipped);
    });

    it('closes a reader that takes nothing for limits.liveStallMs', async () => {
      edge = await startEdge('limits: { liveBufferBytes: 1000, liveStallMs: 20 }');
      const reader = await Probe.open(`${edge.ws}/v1/live`);
      reader.socket.pause();
      await until(() => {
        for (let k = 1; k <= 100; k++) edge.live.emit(fakeReportEvent({ k }));
        return edge.meters.counts.slowClosed === 1;
      });
      reader.socket.resume();
      assert.equal((await reader.closed).code, 4008);
    });

    it('closes a reader that is hopelessly slow with 4008', async () => {
      edge = await startEdge('limits: { liveBufferBytes: 1000, liveEvents: 100 }');
      const reader = await Probe.open(`${edge.ws}/v1/live`);
      reader.socket.pause();
      const padding = 'x'.repeat(1000);
      for (let k = 1; k <= 20_000 && edge.meters.counts.slowClosed === 0; k++)
        edge.live.emit({ type: 'switch', stream: 'gate-7', k, padding } as unknown as LiveEvent);
      assert.equal(edge.meters.counts.slowClosed, 1);
      reader.socket.resume();
      assert.equal((await reader.closed).code, 4008);
    });
  });

  describe('http', () => {
    it('serves health, readiness, a page with links, streams, window and events', async () => {
      edge = await startEdge();
      assert.equal(String((await get(`${edge.url}/healthz`)).body), 'ok\n');
      assert.equal((await get(`${edge.url}/-/healthy`)).status, 200);
      assert.equal((await get(`${edge.url}/readyz`)).status, 200);
      edge.live.health_ = { ready: false, reasons: ['the disk is full'] };
      for (const path of ['/readyz', '/-/ready']) {
        const answer = await get(`${edge.url}${path}`);
        assert.equal(answer.status, 503);
        assert.deepEqual(JSON.parse(String(answer.body)), { ready: false, reasons: ['the disk is full'] });
      }
      assert.match(String((await get(`${edge.url}/`)).body), /href="\/metrics"/);
      edge.live.past = [1, 2, 3].map((k) => ({ type: 'switch', stream: k === 2 ? 'yard' : 'gate-7', k }) as LiveEvent);
      const events = async (query: string) =>
        JSON.parse(String((await get(`${edge.url}/v1/events${query}`)).body)).events.map(
          (event: { k: number }) => event.k,
        );
      assert.deepEqual(await events(''), [1, 2, 3]);
      assert.deepEqual(await events('?stream=gate-7'), [1, 3]);
      assert.deepEqual(await events('?limit=1'), [3]);
      assert.deepEqual(
        JSON.parse(
          String((await get(`${edge.url}/v1/window?stream=gate-7&tracker=sort&profile=online-surveillance`)).body),
        ),
        { frames: 0 },
      );
    });

    for (const [what, path, method, status, code] of [
      ['an unknown address', '/nothing', 'GET', 404, 'not_found'],
      ['no address at all', '//', 'GET', 404, 'not_found'],
      ['an unknown series', '/v1/window?stream=a&tracker=b&profile=c', 'GET', 404, 'not_found'],
      ['a window without its tracker', '/v1/window?stream=a', 'GET', 400, 'request_invalid'],
      ['a limit that is no number', '/v1/events?limit=many', 'GET', 400, 'request_invalid'],
      ['a POST', '/v1/streams', 'POST', 405, 'method_forbidden'],
      ['ingest without an upgrade', '/v1/ingest', 'GET', 426, 'upgrade_expected'],
    ] as const) {
      it(`refuses ${what} with ${status} ${code}`, async () => {
        edge = await startEdge();
        const { port } = new URL(edge.url);
        const answer = await raw(
          Number(port),
          `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`,
        );
        assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `));
        assert.equal(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)).code, code);
      });
    }

    it('survives an upgrade to no address at all', async () => {
      edge = await startEdge();
      const { port } = new URL(edge.url);
      assert.match(
        await raw(
          Number(port),
          'GET // HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
        ),
        /^HTTP\/1.1 404/,
      );
    });

    it('serves metrics as text or OpenMetrics, compressed when asked', async () => {
      edge = await startEdge();
      edge.live.emit(fakeReportEvent());
      const text = await get(`${edge.url}/metrics`);
      assert.equal(text.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
      const open = await get(`${edge.url}/metrics`, {
        accept: 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5',
        'accept-encoding': 'gzip',
      });
      assert.equal(open.headers['content-type'], 'application/openmetrics-text; version=1.0.0; charset=utf-8');
      assert.equal(open.headers['content-encoding'], 'gzip');
      assert.match(String(gunzipSync(open.body)), /\n# EOF\n$/);
      assert.deepEqual(
        String((await get(`${edge.url}/metrics`)).body),
        String(text.body),
        'one format does not change the other',
      );
      const head = await get(`${edge.url}/metrics`, {}, 'HEAD');
      assert.deepEqual([head.status, head.body.length], [200, 0]);
    });
  });
});

const codeOf = async (answer: Promise<{ status: number; body: { code: string } }>) => {
  const { status, body } = await answer;
  return [status, body.code];
};

/** Waits for a condition that no event announces, turn by turn of the event loop. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}

function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connectTcp(port, '127.0.0.1', () => socket.write(text));
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    socket.on('end', () => resolve(answer));
    socket.on('error', reject);
  });
}
