/** What can happen to the machine of a real evaluator: its clock is set, and its disk flips bits. */
import { strict as assert } from 'node:assert';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { frame, get, hello, Probe } from '../kit/edge.js';
import { randomFrom } from '../kit/random.js';
import { Program } from '../kit/system/program.js';
import { freePort, until } from '../kit/system/system.js';

const SEED = 16;
const FLIPS = 6;
/** the wall clock is ahead by an hour and a minute after one SIGUSR2, and right again after the next */
const MOVING_CLOCK = `data:text/javascript,${encodeURIComponent(`
  const now = Date.now;
  let aheadMs = 0;
  Date.now = () => now() + aheadMs;
  process.on('SIGUSR2', () => { aheadMs = aheadMs === 0 ? 3660000 : 0; });
`)}`;

describe('a machine in trouble', () => {
  let folder: string;
  let program: Program | undefined;
  let url: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-trouble-'));
  });
  afterEach(async () => {
    await program?.end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  async function serve(data: string, settings: object = {}, preload?: string): Promise<Program> {
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    writeFileSync(join(folder, 'tgospa.yaml'), JSON.stringify(settings));
    const args = ['serve', '--config', join(folder, 'tgospa.yaml'), '--port', String(port), '--data', data];
    program = Program.tgospa(args, { cwd: folder, preload });
    return program;
  }

  const open = async (changes: object): Promise<Probe> => {
    const probe = await Probe.open(`${url.replace('http', 'ws')}/v1/ingest`);
    probe.send(hello(changes));
    await probe.nextOf('welcome');
    return probe;
  };
  const textOf = async (path: string) => String((await get(`${url}${path}`)).body);

  it('whose clock is set forth and back notices a dead tracker all the same, and keeps its streams', async () => {
    const pairing = { latenessMs: 300, silenceMs: 600 };
    const { child } = await serve(join(folder, 'data'), { streams: { defaults: { pairing } } }, MOVING_CLOCK);
    await program!.ready(`${url}/readyz`);
    const reference = await open({ role: 'reference', tracker: null });
    const tracker = await open({});
    let k = 0;
    const step = (withTracker: boolean) => {
      k++;
      reference.send(frame(k));
      if (withTracker) tracker.send(frame(k));
      return new Promise((resolve) => setTimeout(resolve, 20));
    };
    const silences = async () => {
      const { events } = JSON.parse(await textOf('/v1/events?stream=gate-7')) as {
        events: Array<{ type: string; over?: boolean }>;
      };
      return events.filter(({ type, over }) => type === 'silence' && !over).length;
    };
    for (let n = 0; n < 20; n++) await step(true);
    for (const [turn, jumps] of [
      ['forth', 1],
      ['back', 2],
    ] as const) {
      child.kill('SIGUSR2');
      await until(`the clock was set ${turn}`, async () =>
        new RegExp(`^tgospa_clock_jumps_total ${jumps}$`, 'm').test(await textOf('/metrics')),
      );
      // the tracker is dead, and heard again
      while ((await silences()) < jumps) await step(false);
      for (let n = 0; n < 10; n++) await step(true);
    }
    assert.match(program!.output, /"event":"clock_jumped"/);
    const { streams } = JSON.parse(await textOf('/v1/streams')) as { streams: Array<{ stream: string }> };
    assert.deepEqual(
      streams.map(({ stream }) => stream),
      ['gate-7'],
    );
    for (const probe of [reference, tracker]) probe.socket.terminate();
  });

  it(`whose disk flips bits starts as it was, or says what is damaged, or what to do (seed ${SEED})`, async () => {
    const original = join(folder, 'original');
    await serve(original, { data: { snapshotFrames: 10, groupCommitMs: 0 } });
    await program!.ready(`${url}/readyz`);
    const streams = ['a', 'b', 'c'];
    for (const stream of streams) {
      const feeds = [await open({ stream, role: 'reference', tracker: null }), await open({ stream })];
      for (let seq = 1; seq <= 25; seq++) for (const feed of feeds) feed.send(frame(seq));
      for (const feed of feeds) {
        while ((await feed.nextOf('ack')).seq !== 25);
        feed.socket.terminate();
      }
    }
    const windows = async () => {
      const all = [];
      for (const stream of streams)
        all.push(await textOf(`/v1/window?stream=${stream}&tracker=sort&profile=online-surveillance`));
      return all.join('\n');
    };
    await program!.end('SIGKILL');
    // what a start without damage gives
    cpSync(original, join(folder, 'whole'), { recursive: true });
    await serve(join(folder, 'whole'));
    await program!.ready(`${url}/readyz`);
    const expected = await windows();
    await program!.end('SIGKILL');

    const random = randomFrom(SEED);
    for (let flip = 0; flip < FLIPS; flip++) {
      const data = join(folder, `flipped-${flip}`);
      cpSync(original, data, { recursive: true });
      const files = readdirSync(join(data, 'store')).filter((name) => /\.(log|ldb)$/.test(name));
      const path = join(data, 'store', files[Math.floor(random() * files.length)]);
      if (statSync(path).size === 0) continue;
      const bytes = readFileSync(path);
      bytes[Math.floor(random() * bytes.length)] ^= 1 << Math.floor(random() * 8);
      writeFileSync(path, bytes);
      await serve(data);
      const started = await Promise.race([
        program!.ready(`${url}/readyz`).then(
          () => true,
          () => false,
        ),
        program!.closed.then(() => false),
      ]);
      if (!started) assert.match(program!.output, /damaged|repair|format/, `flip ${flip}`);
      else if ((await windows()) !== expected) {
        const { status, degraded } = JSON.parse(await textOf('/readyz')) as { status: string; degraded: unknown[] };
        assert.equal(status, 'degraded', `flip ${flip}: silently other than it was`);
        assert.ok(degraded.length > 0);
        assert.match(await textOf('/metrics'), /^tgospa_store_damaged_places [1-9]/m);
      }
      await program!.end('SIGKILL');
    }
  });
});
