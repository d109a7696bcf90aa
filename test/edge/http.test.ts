/** What is answered over HTTP, and to whom. */
import { strict as assert } from 'node:assert';
import { gunzipSync } from 'node:zlib';
import type { LiveEvent } from '../../src/wire/events.js';
import { codeOf, get, hello, Probe, type RunningEdge, raw, startEdge } from '../kit/edge.js';
import { metric } from '../kit/exposition.js';
import { FakeLive, fakeReport, fakeReportEvent } from '../kit/fake-live.js';

describe('http', () => {
  let edge: RunningEdge;

  afterEach(async () => {
    await edge?.stop();
  });

  it('serves health, readiness, a page with links, streams, window and events', async () => {
    edge = await startEdge();
    assert.equal(String((await get(`${edge.url}/healthz`)).body), 'ok\n');
    assert.equal((await get(`${edge.url}/-/healthy`)).status, 200);
    assert.equal((await get(`${edge.url}/readyz`)).status, 200);
    edge.live.health_ = { ready: false, reasons: ['the disk is full'], degraded: [] };
    for (const path of ['/readyz', '/-/ready']) {
      const answer = await get(`${edge.url}${path}`);
      assert.equal(answer.status, 503);
      assert.deepEqual(JSON.parse(String(answer.body)), {
        status: 'not_ready',
        ready: false,
        reasons: ['the disk is full'],
      });
    }
    const degraded = [{ stream: 'gate-7', reason: 'suspended: it failed' }];
    edge.live.health_ = { ready: true, reasons: [], degraded };
    const answer = await get(`${edge.url}/readyz`);
    assert.deepEqual(
      [answer.status, JSON.parse(String(answer.body))],
      [200, { status: 'degraded', ready: true, reasons: [], degraded }],
    );
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

  it('says of a stream that is being rebuilt that it is, not that there is none', async () => {
    edge = await startEdge();
    await edge.live.openFeed({ stream: 'yard', role: 'reference', tracker: null });
    const codeAt = async (path: string) => JSON.parse(String((await get(`${edge.url}${path}`)).body)).code;
    const series = 'stream=yard&tracker=sort&profile=online-surveillance';
    const paths = [`/v1/window?${series}`, `/v1/past?${series}&k=1`];
    assert.deepEqual(await Promise.all(paths.map(codeAt)), ['not_found', 'not_found']);
    edge.live.restoring = 'yard';
    assert.deepEqual(await Promise.all(paths.map(codeAt)), ['recovering', 'recovering']);
    assert.equal(await codeAt('/v1/window?stream=a&tracker=b&profile=c'), 'not_found');
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

  it('tells of a series what was true at one moment, though frames are judged while it is told', async () => {
    edge = await startEdge();
    await edge.live.openFeed({ stream: 'gate-7', role: 'reference', tracker: null });
    let judged = 0;
    const judge = () => {
      const settled = { ...fakeReport().settled, frames: ++judged };
      edge.live.emit(fakeReportEvent({ report: fakeReport({ frames: judged, settled }) }));
      if (judged < 10_000) again = setImmediate(judge);
    };
    let again = setImmediate(judge);
    for (let scrapes = 0; scrapes < 2; scrapes++) {
      const texts = await Promise.all([1, 2].map(async () => String((await get(`${edge.url}/metrics`)).body)));
      for (const text of texts)
        assert.equal(metric(text, 'tgospa_frames_total', {}), metric(text, 'tgospa_window_frames', {}));
    }
    clearImmediate(again);
    assert.ok(judged > 100, `only ${judged} frames were judged`);
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

  it('keeps the counters of a feed that is open before its stream is', async () => {
    const live = new FakeLive();
    // its hello is not stored yet
    live.streams = () => [];
    edge = await startEdge('', { live });
    const probe = await Probe.open(`${edge.ws}/v1/ingest`);
    probe.send(hello({ stream: 'gate' }));
    await probe.next();
    probe.send({ type: 'frame', seq: 1, k: 1, objects: [] });
    await probe.next();
    const frames = 'tgospa_feed_frames_total{stream="gate",role="tracker",tracker="sort"} 1';
    for (let scrape = 0; scrape < 2; scrape++)
      assert.ok(String((await get(`${edge.url}/metrics`)).body).includes(frames), `scrape ${scrape}`);
    live.parts.clear();
    assert.ok(!String((await get(`${edge.url}/metrics`)).body).includes('gate'), 'forgotten with its stream');
    probe.close();
  });

  describe('with tokens', () => {
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
      assert.deepEqual(JSON.parse(String(list.body)).streams, [
        { stream: 'gate-7', dimensions: 0, resuming: false, findings: [], incidents: [] },
      ]);
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
  });
});
