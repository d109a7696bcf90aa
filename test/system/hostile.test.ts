/**
 * Attacks on a real evaluator, each of which once ended it, blinded it or filled its memory. Beside every one of them a
 * right feed goes on, and the program says that it is well because it is. All on loopback, with bounds of count and
 * time.
 */
import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectTcp, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import WebSocket from 'ws';
import { frame, get, hello, Probe } from '../kit/edge.js';
import { Program, processorMs } from '../kit/system/program.js';
import { freePort, until } from '../kit/system/system.js';

/**
 * Of the program's own time, whatever else the machine does: far above what any answer takes, far below the 9 to 60
 * seconds that these attacks took.
 */
const PATIENCE_MS = 5000;
/** by the clock */
const LATE_MS = 120_000;
const MEGABYTE = 2 ** 20;

describe('a hostile peer', () => {
  let folder: string;
  let program: Program;
  let port: number;
  let url: string;
  let good: Probe;
  let goodSeq = 0;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-hostile-'));
    await start({});
  });

  async function start(config: object): Promise<void> {
    port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const file = join(folder, 'tgospa.json');
    writeFileSync(file, JSON.stringify(config));
    program = Program.tgospa(['serve', '--config', file, '--port', String(port), '--data', join(folder, 'data')]);
    await program.ready(`${url}/readyz`);
    good = await Probe.open(`ws://127.0.0.1:${port}/v1/ingest`);
    good.send(hello({ stream: 'good' }));
    goodSeq = ((await good.nextOf('welcome')).nextSeq as number) - 1;
  }

  after(async () => {
    await program.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = async (changes: object): Promise<Probe> => {
    const probe = await Probe.open(`ws://127.0.0.1:${port}/v1/ingest`);
    probe.send(hello(changes));
    return probe;
  };

  const withinPatience = async <T>(what: string, promise: Promise<T>): Promise<T> => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${what} took more than ${LATE_MS} ms`)), LATE_MS);
    });
    const beforeMs = processorMs(program.child.pid!);
    const answer = await Promise.race([promise, late]).finally(() => clearTimeout(timer));
    const tookMs = processorMs(program.child.pid!) - beforeMs;
    assert.ok(tookMs < PATIENCE_MS, `${what} took ${tookMs} ms of the program's time`);
    return answer;
  };

  /** The program answers, a right feed is acked, and nothing went wrong inside. */
  const isWell = async () => {
    assert.equal((await withinPatience('/healthz', get(`${url}/healthz`))).status, 200);
    good.send(frame(++goodSeq));
    await withinPatience(
      'an ack',
      (async () => {
        while ((await good.nextOf('ack')).seq !== goodSeq);
      })(),
    );
    const metrics = String((await withinPatience('/metrics', get(`${url}/metrics`))).body);
    assert.match(metrics, /^tgospa_faults_total\{place="message"\} 0$/m);
  };

  const residentMegabytes = () => {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${program.child.pid}/status`, 'utf8'))!;
    return Number(kilobytes) / 1024;
  };

  it('cannot end it with a number of 123,000 digits', async () => {
    const probe = await open({ stream: 'digits' });
    await probe.nextOf('welcome');
    probe.send(`{"type":"frame","seq":1,"k":1,"objects":[{"id":"7","box":[${'1'.repeat(123_000)},0,1,1]}]}`);
    assert.equal((await withinPatience('a reject', probe.nextOf('reject'))).code, 'frame_invalid');
    probe.send(frame(2));
    while ((await probe.nextOf('ack')).seq !== 2);
    await isWell();
  });

  it('cannot block it with digits that are no number', async () => {
    const digits = `${'1'.repeat(100_000)}x`;
    const mapping = {
      objects: 'tracks',
      id: 'tid',
      box: ['bbox'],
      boxConvention: 'ltwh',
      coordinates: 'pixels',
      frame: 'frame',
    };
    const attacks: Array<[string, object | undefined, unknown]> = [
      ['kitti', undefined, `0 7 Car 0 0 ${digits} 10 20 40 60 1 1 1 1 1 1 1\n`],
      ['mapping', mapping, { frame: 4, tracks: [{ tid: 7, bbox: [digits, 20, 30, 40] }] }],
      [
        'cvat',
        undefined,
        `<annotations><track id="0" label="car"><box frame="0" outside="0" occluded="0" keyframe="1" xtl="${digits}" ytl="2" xbr="4" ybr="6"/></track></annotations>`,
      ],
    ];
    for (const [format, options, message] of attacks) {
      const probe = await open({ stream: `long-${format}`, format, options });
      await probe.nextOf('welcome');
      probe.send({ type: 'message', seq: 1, message });
      await withinPatience(format, probe.nextOf('reject'));
      await probe.close();
    }
    await isWell();
  });

  it('is cut off when it pings and never reads, before it costs memory', async () => {
    for (const endpoint of ['live', 'ingest']) {
      const before = residentMegabytes();
      const deaf = new WebSocket(`ws://127.0.0.1:${port}/v1/${endpoint}`, ['tgospa.v1'], { autoPong: false });
      deaf.on('error', () => {});
      await once(deaf, 'open');
      let closed = false;
      deaf.on('close', () => (closed = true));
      if (endpoint === 'ingest') deaf.send(JSON.stringify(hello({ stream: 'deaf' })));
      deaf.pause();
      const payload = Buffer.alloc(125);
      const deadline = Date.now() + 60_000;
      while (!closed && Date.now() < deadline && deaf.readyState === WebSocket.OPEN) {
        for (let n = 0; n < 2000; n++) deaf.ping(payload);
        await until(
          'the pings are taken or refused',
          () => deaf.bufferedAmount < MEGABYTE || deaf.readyState !== WebSocket.OPEN,
          60_000,
        );
        if (!(await connected(endpoint))) break;
      }
      assert.equal(await connected(endpoint), false, `${endpoint}: still connected`);
      deaf.terminate();
      assert.ok(residentMegabytes() - before < 150, `${before} MB before, ${residentMegabytes()} MB after`);
      await isWell();
    }
  });

  /** Whether anybody besides the right feed is connected to this endpoint. */
  const connected = async (endpoint: string): Promise<boolean> => {
    const metrics = String((await get(`${url}/metrics`)).body);
    const [, count] = new RegExp(`^tgospa_connections\\{endpoint="${endpoint}"\\} (\\d+)$`, 'm').exec(metrics)!;
    // the feeds of the tests before this one are still open
    return Number(count) > (endpoint === 'live' ? 0 : 2);
  };

  it('gets no window, buffer or life beyond what the operator allows', async () => {
    for (const settings of [{ windowFrames: 100_000 }, { pairing: { bufferFrames: 1e9 } }, { idleMinutes: 1e9 }]) {
      const probe = await open({ stream: 'greedy', settings });
      const { code, message } = await probe.nextOf('reject');
      assert.equal(code, 'settings_invalid');
      assert.match(String(message), /limits\.hello\.\w+ allows only \d+; ask for less, or raise the limit/);
    }
    await isWell();
  });

  /** Opens both feeds of a stream. */
  const openBoth = async (stream: string): Promise<[reference: Probe, tracker: Probe]> => {
    const feeds: [Probe, Probe] = [await open({ stream, role: 'reference', tracker: null }), await open({ stream })];
    for (const feed of feeds) await feed.nextOf('welcome');
    return feeds;
  };

  const boxesAt = (k: number) => [0, 1, 2].map((n) => ({ id: `${n}`, box: [k + 200 * n, 0, 40, 80] }));

  interface Window {
    k: number;
    newest: { count: { proper: number; missed: number } };
    settled: { count: { missed: number } };
  }
  const windowOf = async (stream: string): Promise<Window | null> => {
    const answer = await get(`${url}/v1/window?stream=${stream}&tracker=sort&profile=online-surveillance`);
    return answer.status === 200 ? (JSON.parse(String(answer.body)) as Window) : null;
  };

  it('blinds nothing with 100 objects of each feed on one spot: all frames are judged, also those after them', async () => {
    const feeds = await openBoth('crowd');
    const crowd = Array.from({ length: 100 }, (_, n) => ({ id: `${n}`, box: [10, 10, 50, 50] }));
    const last = 12;
    for (let k = 1; k <= last; k++)
      for (const feed of feeds) feed.send({ type: 'frame', seq: k, k, objects: k === 3 ? crowd : boxesAt(k) });
    await until('all frames are judged', async () => (await windowOf('crowd'))?.k === last);
    const metrics = String((await get(`${url}/metrics`)).body);
    assert.match(metrics, new RegExp(`^tgospa_frames_judged_total\\{stream="crowd"[^}]*\\} ${last}$`, 'm'));
    assert.match(metrics, /^tgospa_records_failed_total\{stream="crowd"\} 0$/m);
    for (const feed of feeds) feed.socket.terminate();
    await isWell();
  });

  for (const [what, stamp, wrong] of [
    ['k 0', (k: number) => ({ k: 5000 + k }), { k: 0 }],
    ['t 0', (k: number) => ({ t: 1_763_251_200 + k / 10 }), { t: 0 }],
    ['a time 60 s ago', (k: number) => ({ t: 1_763_251_200 + k / 10 }), { t: 1_763_251_140 }],
  ] as const)
    it(`makes no tracker miss everything with one reference part of ${what}`, async () => {
      const stream = `odd-${what.replaceAll(' ', '-')}`;
      const [reference, tracker] = await openBoth(stream);
      const last = 40;
      for (let k = 1; k <= last; k++) {
        if (k === 20) reference.send({ type: 'frame', seq: k, ...wrong, objects: boxesAt(k) });
        else reference.send({ type: 'frame', seq: k, ...stamp(k), objects: boxesAt(k) });
        tracker.send({ type: 'frame', seq: k, ...stamp(k), objects: boxesAt(k) });
      }
      for (const feed of [reference, tracker]) feed.send({ type: 'end' });
      await tracker.nextOf('ended');
      await reference.nextOf('ended');
      const window = (await windowOf(stream))!;
      assert.deepEqual([window.newest.count.proper, window.newest.count.missed], [3, 0]);
      assert.ok(window.settled.count.missed <= 3, `${window.settled.count.missed} missed`);
      for (const feed of [reference, tracker]) feed.socket.terminate();
    });

  it('ends no feed with seq 2^53-1, gets no 404 for an offer of h2c, and empties nobody else of events', async () => {
    const probe = await open({ stream: 'numbers' });
    await probe.nextOf('welcome');
    probe.send({ type: 'frame', seq: 2 ** 53 - 1, k: 1, objects: [] });
    assert.equal((await probe.nextOf('reject')).code, 'frame_invalid');
    probe.send(frame(1));
    while ((await probe.nextOf('ack')).seq !== 1);
    const eventsOf = async (stream: string) =>
      (JSON.parse(String((await get(`${url}/v1/events?stream=${stream}`)).body)) as { events: unknown[] }).events
        .length;
    const before = await eventsOf('odd-k-0');
    assert.ok(before > 0);
    for (let n = 0; n < 300; n++) probe.send({ type: 'frame', seq: 2 + n, k: n, objects: 'none' });
    while (((await probe.nextOf('reject')).seq as number) < 301);
    assert.equal(await eventsOf('odd-k-0'), before);
    probe.socket.terminate();
    const offer = await get(`${url}/healthz`, { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c' });
    assert.equal(offer.status, 200);
  });

  const CROWDS = [
    [30, 20],
    [200, 8],
    [500, 4],
    [2000, 2],
  ] as const;
  for (const [count, frames] of CROWDS)
    it(`keeps nobody waiting with ${count} objects of each feed on one spot`, () => crowd(count, frames));

  async function crowd(count: number, frames: number): Promise<void> {
    const stream = `dense-${count}-${port}`;
    const boxes = (k: number) =>
      Array.from({ length: count }, (_, n) => ({ id: `${n}`, box: [(n * 7 + k) % 10, (n * 3 + k) % 10, 100, 100] }));
    const feeds = await openBoth(stream);
    for (let k = 1; k <= frames; k++)
      for (const feed of feeds) feed.send({ type: 'frame', seq: k, k, objects: boxes(k) });
    // what is due is judged beside this
    for (let look = 0; look < 20; look++) await isWell();
    for (const feed of feeds) {
      while ((await feed.nextOf('ack')).seq !== frames);
      feed.socket.terminate();
    }
  }

  it('keeps nobody out with 4,350 half requests', async () => {
    const sockets: Socket[] = [];
    for (let n = 0; n < 4350; n++) {
      const socket = connectTcp(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n');
      sockets.push(socket);
      if (n % 200 === 0) await withinPatience('a connection', once(socket, 'connect'));
    }
    await isWell();
    const probe = await withinPatience('a new feed', open({ stream: 'newcomer' }));
    await withinPatience('its welcome', probe.nextOf('welcome'));
    for (const socket of sockets) socket.destroy();
  });

  it('cannot take all streams', async () => {
    let opened = 0;
    let refused: Record<string, unknown> | null = null;
    while (refused === null && opened < 1000) {
      const probe = await open({ stream: `slot-${opened}` });
      const answer = await probe.next();
      if (answer.type === 'reject') refused = answer;
      else opened++;
      probe.socket.terminate();
    }
    assert.equal(refused?.code, 'streams_exceeded');
    assert.ok(opened <= 800, `${opened} streams`);
    await isWell();
  });

  describe('where everything runs in the main thread', () => {
    before(async () => {
      await program.stop();
      await start({ evaluation: { workers: 0 } });
    });

    for (const [count, frames] of CROWDS)
      it(`keeps nobody waiting with ${count} objects of each feed on one spot`, () => crowd(count, frames));
  });
});
