/** The demo as people run it: the real command in a process of its own, read over its own addresses. */
import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Probe } from '../kit/edge.js';
import { MAIN, Program } from '../kit/system/program.js';
import { skipInFastRun } from '../kit/system/system.js';

interface Event {
  type: string;
  tracker?: string;
  [key: string]: unknown;
}

describe('demo', () => {
  let folder: string;
  let demo: Program | undefined;

  before(function () {
    skipInFastRun(this);
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-demo-test-'));
  });
  afterEach(async () => {
    await demo?.end('SIGKILL');
    demo = undefined;
    rmSync(folder, { recursive: true, force: true });
  });

  function start(args: string[]): void {
    // its temporary folder is made inside ours, so that what it leaves behind can be seen
    demo = Program.tgospa(['demo', ...args], { env: { TMPDIR: folder, TGOSPA_TOKEN: 'belongs-to-another-evaluator' } });
  }

  const shown = (pattern: RegExp) => demo!.shows(pattern);

  async function stop(signal: NodeJS.Signals): Promise<number> {
    const began = performance.now();
    assert.equal(await demo!.end(signal), 0, demo!.output);
    return performance.now() - began;
  }

  it('prints addresses that work, shows both trackers in one line, and stops quickly on Ctrl-C, leaving nothing', async () => {
    const started = performance.now();
    start(['--port', '0']);
    const [, live] = await shown(/live +(ws:\S+)/);
    const startMs = performance.now() - started;
    const [, metrics] = await shown(/metrics +(http:\S+)/);
    const [, page] = await shown(/page +(http:\S+)/);
    assert.equal((await fetch(page)).status, 200);
    const reader = await Probe.open(live);
    assert.equal((await reader.nextOf('report')).stream, 'crossing');
    await shown(/frame \d+ \| steady [\d.]+: \d+ missed, .* \| faulty [\d.]+: \d+ missed/);
    const text = await (await fetch(metrics)).text();
    for (const tracker of ['steady', 'faulty'])
      assert.ok(text.includes(`tgospa_window_distance{stream="crossing",tracker="${tracker}"`), tracker);
    // on a machine where a start takes seconds, as many times longer
    const stopMs = await stop('SIGINT');
    assert.ok(stopMs < Math.max(3000, 3 * startMs), `${stopMs} ms, after a start of ${startMs} ms`);
    assert.equal((await reader.closed).code, 1001);
    assert.deepEqual(readdirSync(folder), [], 'the temporary folder is gone');
  });

  it('shows a spike of the faulty tracker in its second round, and none of the good one', async () => {
    start(['--port', '0', '--fps', '40']);
    const [, live] = await shown(/live +(ws:\S+)/);
    const reader = await Probe.open(live);
    const spikes: Event[] = [];
    let last: Event;
    do {
      last = await reader.next();
      if (last.type === 'spike') spikes.push(last);
    } while (!(last.type === 'report' && (last.k as number) >= 600 && last.tracker === 'faulty'));
    const [first] = spikes;
    assert.deepEqual([first.tracker, first.signal, first.phase], ['faulty', 'missed', 'start']);
    // silent from frame 60 of the second round
    assert.ok((first.k as number) >= 355 && (first.at as number) <= 460, JSON.stringify(first));
    assert.ok((first.objects as string[]).length > 0);
    assert.deepEqual(
      spikes.filter(({ tracker }) => tracker !== 'faulty'),
      [],
    );
    await shown(/SPIKE faulty \w+: [\d.e-]+, usual [\d.e-]+, since frame \d+/);
    await shown(/INCIDENT faulty, silent: /);
    await stop('SIGTERM');
  });

  it('takes a free port, and says so, when its own is taken; goes on in a folder it is given', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const data = join(folder, 'kept');
    try {
      start(['--port', String(port), '--data', data]);
      await shown(new RegExp(`port ${port} is taken.*using a free one instead`));
      const [, metrics] = await shown(/metrics +(http:\S+)/);
      assert.ok(!metrics.includes(`:${port}/`));
      await shown(/frame \d+ \|/);
      await stop('SIGINT');
    } finally {
      other.close();
    }
    const [, frame] = await shown(/frame (\d+) \|/);
    assert.ok(existsSync(data));
    start(['--port', '0', '--data', data]);
    const [, again] = await shown(/frame (\d+) \|/);
    assert.ok(Number(again) > Number(frame), `frame ${again} after frame ${frame}`);
    await stop('SIGINT');
  });

  it('explains itself, and refuses what it does not know', () => {
    const once_ = (...args: string[]) => spawnSync(process.execPath, [MAIN, 'demo', ...args], { encoding: 'utf8' });
    assert.match(once_('--help').stdout, /Usage: tgospa demo/);
    const { status, stderr } = once_('--port', 'x', '--fps', '0');
    assert.equal(status, 2);
    assert.match(stderr, /--port must be a whole number.*\n.*--fps must be a number from 1 to 100, not 0/);
  });
});
