/**
 * `tgospa check` and `tgospa repair` on real folders: sound, damaged in a commit, and damaged beyond what LevelDB
 * opens.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { ClassicLevel } from 'classic-level';
import { runCheck, runRepair } from '../../src/commands/data-folder.js';
import { readConfig } from '../../src/config/config.js';
import { Live } from '../../src/live/live.js';
import { pack } from '../../src/wire/objects.js';
import { feed, quiet, START_MS, TestClock } from '../kit/live.js';
import { Program } from '../kit/system/program.js';
import { freePort, skipInFastRun } from '../kit/system/system.js';

describe('check and repair', () => {
  let dir: string;

  const open = () => {
    const text = JSON.stringify({ data: { dir, groupCommitMs: 0, snapshotFrames: 10 }, evaluation: {} });
    return Live.open(readConfig({ text, env: {} }).config, new TestClock(), quiet);
  };

  /** What a command prints, behind its exit code. */
  async function run(command: typeof runCheck): Promise<string> {
    let text = '';
    const out = new Writable({
      write: (chunk, _encoding, done) => {
        text += chunk;
        done();
      },
    });
    const code = await command(['--data', dir], { out });
    return `${code} ${text}`;
  }

  const fingerprint = () =>
    readdirSync(join(dir, 'store'))
      .map(
        (name) =>
          `${name} ${createHash('sha1')
            .update(readFileSync(join(dir, 'store', name)))
            .digest('hex')}`,
      )
      .join('\n');

  async function damageCommit(): Promise<void> {
    const raw = new ClassicLevel<string, Buffer>(join(dir, 'store'), { valueEncoding: 'buffer' });
    const keys: string[] = [];
    for await (const key of raw.keys({ gte: 'b', lt: 'c' })) keys.push(key);
    const key = keys.at(-2)!;
    const value = (await raw.get(key))!;
    value[60] ^= 1;
    await raw.put(key, value);
    await raw.close();
  }

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'tgospa-folder-'));
    const live = await open();
    for (const stream of ['a', 'b']) for (const id of [feed(stream), feed(stream, 't')]) live.openFeed(id);
    for (let k = 1; k <= 24; k++)
      for (const stream of ['a', 'b'])
        for (const id of [feed(stream), feed(stream, 't')])
          await live.ingest(id, { seq: k, k, objects: pack([{ id: 'x', box: [k, 0, 30, 60] }]) }, START_MS + k);
    await live.kill();
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  it('find a sound folder sound, and change nothing', async () => {
    const before = fingerprint();
    assert.match(await run(runCheck), /^0 .* is sound: 1\d\d records, 2 snapshots/);
    assert.match(await run(runRepair), /^0 .* is sound; nothing to repair/);
    assert.equal(fingerprint(), before);
  });

  it('name a damaged commit, and leave it out of the repaired folder, which starts', async () => {
    await damageCommit();
    const before = fingerprint();
    const report = await run(runCheck);
    assert.match(report, /^1 damaged: the log lacks record \d+/);
    assert.match(report, /tgospa repair --data/);
    assert.equal(fingerprint(), before);
    assert.match(
      await run(runRepair),
      /^0 damaged: the log lacks.*is repaired, with 2 snapshots; the old store is in/s,
    );
    const [aside] = readdirSync(dir).filter((name) => name.startsWith('damaged-'));
    assert.ok(readdirSync(join(dir, aside, 'store')).length > 2);
    const live = await open();
    assert.deepEqual(
      live.streams().map(({ stream }) => stream),
      ['a', 'b'],
    );
    await live.kill();
  });

  it('save a folder that cannot even be opened', async () => {
    const manifest = readdirSync(join(dir, 'store')).find((name) => name.startsWith('MANIFEST'))!;
    writeFileSync(join(dir, 'store', manifest), 'nothing');
    await assert.rejects(open(), /is damaged .*; run: tgospa repair --data/);
    assert.match(await run(runCheck), /^1 damaged: the store in .* is damaged/);
    assert.match(await run(runRepair), /is repaired, with 2 snapshots/);
    const live = await open();
    assert.equal(live.streams().length, 2);
    await live.kill();
  });

  it('say that an evaluator runs on the folder, and touch nothing', async function () {
    skipInFastRun(this);
    const port = String(await freePort());
    const evaluator = Program.tgospa(['serve', '--port', port, '--data', dir], { cwd: dir });
    try {
      await evaluator.shows(/listening on http/);
      assert.match(await run(runCheck), /^2 .* is in use by a running evaluator: ask it at \/readyz/);
      assert.match(await run(runRepair), /^2 .* is in use by a running evaluator; stop it before you repair/);
      assert.deepEqual(
        readdirSync(dir).filter((name) => name.startsWith('damaged-')),
        [],
      );
    } finally {
      await evaluator.end('SIGKILL');
    }
    assert.match(await run(runCheck), /^0 .* is sound/);
  });
});
