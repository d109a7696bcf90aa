import { strict as assert } from 'node:assert';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { PageFiles } from '../../src/edge/page-files.js';
import { pack } from '../../src/wire/objects.js';
import { Probe, type RunningEdge, startEdge } from '../kit/edge.js';
import { fakeReportEvent } from '../kit/fake-live.js';

const SCRIPT = 'console.log(1);'.repeat(50);

interface Got {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

describe('page files', () => {
  let folder: string;
  let server: Server;
  let url: string;

  /** fetch would decompress. */
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    new Promise<Got>((resolve, reject) => {
      const outgoing = request(`${url}${path}`, { headers, method, agent: false }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk));
        const { headers: got, statusCode } = response;
        response.on('end', () =>
          resolve({ status: statusCode!, headers: got as Record<string, string>, body: Buffer.concat(chunks) }),
        );
      });
      outgoing.on('error', reject).end();
    });

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-page-'));
    for (const [name, text] of [
      ['index.html', '<!doctype html><title>page</title>'],
      ['main-ABCDEF12.js', SCRIPT],
    ]) {
      writeFileSync(join(folder, name), text);
      writeFileSync(join(folder, `${name}.gz`), gzipSync(text));
      writeFileSync(join(folder, `${name}.br`), brotliCompressSync(text));
    }
    const files = new PageFiles(pathToFileURL(`${folder}/`));
    server = createServer((incoming, response) => {
      if (!files.serve(incoming, response, incoming.url ?? '/')) response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    rmSync(folder, { recursive: true });
  });

  it('serves what was compressed at build time, as the browser can take it', async () => {
    const ask = (encoding: string) => get('/main-ABCDEF12.js', { 'accept-encoding': encoding });
    const brotli = await ask('gzip, deflate, br');
    assert.equal(brotli.headers['content-encoding'], 'br');
    assert.equal(brotliDecompressSync(brotli.body).toString(), SCRIPT);
    const gzip = await ask('gzip, br;q=0');
    assert.equal(gzip.headers['content-encoding'], 'gzip');
    assert.equal(gunzipSync(gzip.body).toString(), SCRIPT);
    const plain = await ask('');
    assert.equal(plain.headers['content-encoding'], undefined);
    assert.equal(plain.body.toString(), SCRIPT);
    assert.equal(plain.headers['content-type'], 'text/javascript; charset=utf-8');
  });

  it('lets browsers keep scripts for ever, and ask for the document each time', async () => {
    assert.match((await get('/main-ABCDEF12.js')).headers['cache-control'], /immutable/);
    const { headers } = await get('/');
    assert.equal(headers['cache-control'], 'no-cache');
    const again = await get('/', { 'if-none-match': headers.etag });
    assert.equal(again.status, 304);
    assert.equal(again.body.length, 0);
  });

  it('allows nothing from elsewhere and nothing inline', async () => {
    const policy = (await get('/')).headers['content-security-policy'];
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /script-src 'self'(;|$)/);
    assert.doesNotMatch(policy, /unsafe|\*/);
  });

  it('serves only the files of the page', async () => {
    for (const path of [
      '/index.html.gz',
      '/main-ABCDEF12.js.br',
      '/../package.json',
      '/%2e%2e/package.json',
      '/nothing',
    ])
      assert.equal((await get(path)).status, 404, path);
    assert.equal((await get('/', {}, 'POST')).status, 404);
    const head = await get('/', {}, 'HEAD');
    assert.deepEqual([head.status, head.body.length], [200, 0]);
  });

  it('lists the addresses where no page was built', () => {
    const files = new PageFiles(pathToFileURL(`${folder}/absent/`));
    let body = '';
    const response = { setHeader() {}, writeHead() {}, end: (text: Buffer) => (body = String(text)) };
    assert.ok(files.serve({ method: 'GET', headers: {} } as never, response as never, '/'));
    assert.match(body, /npm run build[\s\S]*\/v1\/streams/);
  });
});

describe('what the page reads', () => {
  let edge: RunningEdge;
  before(async () => {
    edge = await startEdge('limits: { trendFrames: 100 }');
  });
  after(() => edge.stop());

  it('gives the objects of a frame to those who ask for them', async () => {
    const objects = { reference: [{ id: 'p', box: [1, 2, 3, 4] as [number, number, number, number] }], tracker: [] };
    const drawing = await Probe.open(`${edge.ws}/v1/live?objects=1`);
    const reading = await Probe.open(`${edge.ws}/v1/live`);
    const packed = { reference: pack(objects.reference), tracker: pack(objects.tracker) };
    edge.live.emit(fakeReportEvent({ k: 7, objects: packed }));
    assert.deepEqual((await drawing.next()).objects, objects);
    assert.equal('objects' in (await reading.next()), false);
    await Promise.all([drawing.close(), reading.close()]);
  });

  it('sends one report of a series in the time a reader asks for, the newest, and every event at once', async () => {
    const stream = { stream: 'paced', tracker: 'a' };
    const slow = await Probe.open(`${edge.ws}/v1/live?everyMs=200&stream=paced`);
    for (let k = 1; k <= 50; k++) edge.live.emit({ ...fakeReportEvent({ k }), ...stream } as never);
    edge.live.emit({ type: 'switch', ...stream, profile: 'online-surveillance' } as never);
    assert.equal((await slow.next()).type, 'switch');
    const report = await slow.next();
    assert.deepEqual([report.k, report.skipped], [50, 49]);
    const before = edge.meters.counts.coalesced;
    assert.equal(before, 0, 'a chosen pace is not slowness');
    await slow.close();
  });

  it('puts reports that wait into few messages for those who ask for that, each report once', async () => {
    const reader = await Probe.open(`${edge.ws}/v1/live?everyMs=200&batch=1&tracker=crowd`);
    const names = Array.from({ length: 100 }, (_, n) => `batched-${n}`);
    for (const k of [1, 2])
      for (const stream of names) edge.live.emit({ ...fakeReportEvent({ k }), stream, tracker: 'crowd' } as never);
    const counted = new Map<string, { newest: number; reports: number }>();
    let messages = 0;
    // where a reader's time comes in between, some series have both of their reports
    const isComplete = () => names.every((stream) => counted.get(stream)?.newest === 2);
    for (; !isComplete(); messages++) {
      const { type, reports } = (await reader.next()) as unknown as {
        type: string;
        reports: Array<{ stream: string; k: number; skipped?: number }>;
      };
      assert.equal(type, 'reports');
      for (const { stream, k, skipped = 0 } of reports)
        counted.set(stream, { newest: k, reports: (counted.get(stream)?.reports ?? 0) + skipped + 1 });
    }
    assert.deepEqual(
      names.filter((stream) => counted.get(stream)!.reports !== 2),
      [],
      'every report is there or counted as skipped',
    );
    assert.ok(messages < names.length / 5, `${messages} messages`);
    await reader.close();
  });

  it('refuses a pace or a wish that makes no sense', async () => {
    for (const query of ['everyMs=1', 'everyMs=x', 'everyMs=1e9', 'objects=yes', 'batch=all']) {
      const { status, body } = await Probe.refused(`${edge.ws}/v1/live?${query}`);
      assert.deepEqual([status, body.code], [400, 'request_invalid'], query);
    }
  });

  it('gives the trend of what matches', async () => {
    for (let k = 1; k <= 30; k++)
      edge.live.emit({ ...fakeReportEvent({ k }), stream: 'trendy', tracker: 'a' } as never);
    const ask = async (query: string): Promise<{ code?: string; series: Record<'k' | 'distance', number[]>[] }> =>
      JSON.parse(await (await fetch(`${edge.url}/v1/trend?${query}`)).text());
    const { series } = await ask('stream=trendy&points=10');
    assert.deepEqual(series[0].k, [3, 6, 9, 12, 15, 18, 21, 24, 27, 30]);
    assert.deepEqual(series[0].distance.length, 10);
    assert.deepEqual((await ask('stream=nothing')).series, []);
    assert.equal((await ask('points=0')).code, 'request_invalid');
  });

  it('tells its time, so that ages can be told', async () => {
    const { nowMs, streams } = (await (await fetch(`${edge.url}/v1/streams`)).json()) as Record<string, unknown>;
    assert.equal(typeof nowMs, 'number');
    assert.ok(Array.isArray(streams));
  });
});
