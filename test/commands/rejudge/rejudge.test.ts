/**
 * What an evaluator has stored, judged once more: the same settings give the very same numbers, a reference that comes
 * late those of one that came in time, and Prometheus takes what is written for it.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, startApp } from '../../../src/app.js';
import { openFeed } from '../../../src/commands/player.js';
import { runRejudge } from '../../../src/commands/rejudge/rejudge.js';
import { readConfig } from '../../../src/config/config.js';
import { createLogger } from '../../../src/telemetry/logger.js';
import type { WireObject } from '../../../src/wire/objects.js';
import { randomFrom } from '../../kit/random.js';
import { UNTIMED_EVALUATION, UNTIMED_PAIRING } from '../../kit/settings.js';
import { outputOf } from '../../kit/system/command-line.js';
import { hasProgram, skipInFastRun, skipUnless } from '../../kit/system/system.js';

const FRAMES = 90;
const KINDS = ['car', 'person'];

const config = {
  listen: { port: 0 },
  evaluation: UNTIMED_EVALUATION,
  profiles: {
    near: { distance: 'euclidean', cutoff: 4, exponent: 2, switchPenalty: 2 },
    far: { distance: 'euclidean', cutoff: 12, exponent: 2, switchPenalty: 2 },
  },
  streams: {
    defaults: {
      profiles: ['near'],
      windowFrames: 20,
      pairing: UNTIMED_PAIRING,
      classes: { apart: true },
      performance: { enabled: true },
    },
  },
};

const truthsAt = (k: number): WireObject[] =>
  [0, 1, 2, 3].map((n) => ({ id: `t${n}`, class: KINDS[n % 2], point: [(k * (n + 1)) % 40, 9 * n] }));

function tracksAt(k: number, random: () => number, loss: number): WireObject[] {
  const tracks = truthsAt(k).map((one) => ({ ...one, id: `k${one.id}`, point: one.point!.map((x) => x + random()) }));
  if (k % 25 < 5) tracks.push({ id: `ghost-${Math.floor(k / 25)}`, class: 'car', point: [k % 40, 60] });
  return tracks.filter(() => random() >= loss);
}

type Settled = { frames: number; count: object; cost: object };

describe('tgospa rejudge', () => {
  let folder: string;
  let data: string;
  /** what was said live, by stream and tracker */
  const live = new Map<string, Settled>();

  const rejudge = async (...args: string[]) => JSON.parse((await run(...args, '--json')).out);
  const run = (...args: string[]) => outputOf(runRejudge as never, ['--data', data, ...args]);

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-rejudge-'));
    data = join(folder, 'data');
    const text = JSON.stringify({ ...config, data: { dir: data } });
    writeFileSync(join(folder, 'tgospa.yaml'), text);
    const app = await startApp(readConfig({ text, env: {} }).config, {
      env: {},
      logger: createLogger({ level: 'silent' }),
    });
    try {
      await sendScene(app, 'gate', true);
      await sendScene(app, 'late', false);
    } finally {
      await app.stop();
    }
    const rows = Array.from({ length: FRAMES }, (_, k) => JSON.stringify({ k, objects: truthsAt(k) }));
    writeFileSync(
      join(folder, 'truth.jsonl'),
      [...rows, JSON.stringify({ k: FRAMES, objects: truthsAt(FRAMES) })].join('\n'),
    );
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** Two trackers, one of which leaves frames out; with or without a reference. */
  async function sendScene(app: App, stream: string, hasReference: boolean): Promise<void> {
    const url = app.urls.ingest;
    const random = randomFrom(3);
    const clients = [
      ...(hasReference ? [openFeed({ url, stream, role: 'reference', shape: 'point' })] : []),
      openFeed({ url, stream, role: 'tracker', tracker: 'good', shape: 'point' }),
      openFeed({ url, stream, role: 'tracker', tracker: 'poor', shape: 'point' }),
    ];
    for (const client of clients) await client.ready();
    for (let k = 0; k < FRAMES; k++) {
      const feeds = [...(hasReference ? [truthsAt(k)] : []), tracksAt(k, random, 0.02), tracksAt(k, random, 0.3)];
      await Promise.all(clients.map((client, n) => client.send({ k, objects: feeds[n] as never })));
    }
    await Promise.all(clients.map((client) => client.end()));
    for (const { tracker, report } of await app.live.reports()) {
      const { frames, cost, count } = report.settled;
      const { total: _total, ...parts } = cost;
      live.set(`${stream} ${tracker}`, { frames, count, cost: parts });
    }
    await Promise.all(clients.map((client) => client.close()));
  }

  const settledOf = ({ frames, count, cost }: Settled) => ({ frames, count, cost });

  it('says of the same frames what was said live, and leaves the folder as it was', async () => {
    const before = readFileSync(join(data, 'store', 'CURRENT'), 'utf8');
    const rows = await rejudge('--stream', 'gate');
    assert.deepEqual(rows.map(({ tracker }: { tracker: string }) => tracker).sort(), ['good', 'poor']);
    for (const row of rows) assert.deepEqual(settledOf(row), live.get(`gate ${row.tracker}`), row.tracker);
    assert.deepEqual(Object.keys(rows[0].classes).sort(), KINDS);
    assert.equal(rows[0].performance.frames, FRAMES);
    assert.equal(readFileSync(join(data, 'store', 'CURRENT'), 'utf8'), before);
  });

  it('judges against truth that came late, frames that are not stored excepted', async function () {
    skipInFastRun(this);
    const truth = ['--reference', join(folder, 'truth.jsonl'), '--option', 'shape=point', '--format', 'native'];
    const rows = await rejudge('--stream', 'late', ...truth);
    for (const row of rows) assert.deepEqual(settledOf(row), live.get(`gate ${row.tracker}`), row.tracker);
    const { out } = await run('--stream', 'late', ...truth);
    assert.match(out, /near, 90 settled frames/);
    assert.match(out, /1 {2}good /);
  });

  it('judges by other settings, and a stretch of it', async () => {
    const settings = join(folder, 'tgospa.yaml');
    const [good] = (await rejudge('--stream', 'gate', '--config', settings, '--profile', 'far')).filter(
      ({ tracker }: { tracker: string }) => tracker === 'good',
    );
    assert.equal(good.profile, 'far');
    assert.equal(good.params.cutoff, 12);
    assert.equal(good.frames, FRAMES);
    await assert.rejects(run('--stream', 'gate', '--to', '2001-01-01T00:00:00Z'), /nothing is stored .*gate, late/);
    await assert.rejects(run('--stream', 'gate', '--from', 'noon'), /--from must be a time such as/);
    await assert.rejects(
      run('--stream', 'gate', '--config', settings, '--profile', 'nearer'),
      /nearer.*is no profile|is no profile.*nearer/s,
    );
  });

  it('writes what promtool makes blocks of, with the numbers that were told', async function () {
    skipInFastRun(this);
    skipUnless(this, hasProgram('promtool'), 'promtool is absent (Debian package prometheus)');
    const file = join(folder, 'past.om');
    const name = 'second "look"';
    await run('--stream', 'gate', '--openmetrics', file, '--every', '0.05', '--judgement', name);
    const blocks = join(folder, 'blocks');
    const made = spawnSync('promtool', ['tsdb', 'create-blocks-from', 'openmetrics', file, blocks], {
      encoding: 'utf8',
    });
    assert.equal(made.status, 0, made.stderr);
    mkdirSync(join(blocks, 'wal'));
    const dumped = spawnSync('promtool', ['tsdb', 'dump', blocks], { encoding: 'utf8', maxBuffer: 1 << 26 });
    assert.equal(dumped.status, 0, dumped.stderr);
    const last = dumped.stdout
      .split('\n')
      .filter((line) => line.includes('__name__="tgospa_proper_total"') && line.includes('tracker="good"'))
      .at(-1)!;
    assert.match(last, /judgement="second \\"look\\""/);
    assert.equal(Number(last.split(' ').at(-2)), (live.get('gate good')!.count as { proper: number }).proper);
    assert.ok(dumped.stdout.includes('tgospa_class_instances_total'));
  });
});
