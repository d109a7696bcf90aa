/** Records that end processes, counted by all of them together, on a real broker. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addDeaths, readDeaths } from '../../src/cluster/death-toll.js';
import { Layout } from '../../src/cluster/layout.js';
import { connectNats } from '../../src/cluster/nats/connection.js';
import { readConfig } from '../../src/config/config.js';
import { ApplyMark } from '../../src/store/apply-mark.js';
import { DataFolder } from '../../src/store/folder.js';
import { NatsServer, skipUnlessNats } from '../kit/system/brokers/nats.js';

const [POISON, LAST] = [65_540, 200_000];

describe('a record that ends processes', () => {
  const broker = new NatsServer();
  const folders: string[] = [];
  before(async function () {
    skipUnlessNats(this);
    await broker.start();
  });
  after(async () => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    await broker.close();
  });

  const newFolder = () => {
    folders.push(mkdtempSync(join(tmpdir(), 'tgospa-deaths-')));
    return new DataFolder(folders.at(-1)!);
  };
  const layoutOf = async () => {
    const cluster = { servers: [broker.url], partitions: 1, logMaxBytes: 1 << 22, stateMaxBytes: 1 << 22 };
    const settings = readConfig({ text: JSON.stringify({ cluster }), env: {} }).config.cluster!;
    const access = { name: 'test', servers: [broker.url], connectTimeoutMs: 5000, heartbeatMs: 5000 };
    const layout = new Layout(await connectNats(access), settings);
    await layout.make();
    return layout;
  };

  it('is to blame when two processes have ended there, and no other is', async () => {
    const layout = await layoutOf();
    try {
      const cell = await layout.deathCell(0);
      const takeOver = async (folder: DataFolder) => new ApplyMark(folder, LAST, await readDeaths(cell));
      const comeBack = async (folder: DataFolder) => addDeaths(cell, ApplyMark.handOver(folder));
      const [one, two] = [newFolder(), newFolder()];
      for (const folder of [one, two]) {
        const mark = await takeOver(folder);
        assert.deepEqual([...mark.culprits], []);
        for (const position of [POISON - 1, POISON]) mark.at(position);
      }
      await comeBack(one);
      assert.deepEqual([...(await takeOver(newFolder())).culprits], [], 'killed from outside once proves nothing');
      await Promise.all([comeBack(two), addDeaths(cell, [POISON + 7])]);
      assert.deepEqual([...(await takeOver(newFolder())).culprits], [POISON]);
      assert.deepEqual(ApplyMark.handOver(one), [], 'told once');
    } finally {
      await layout.connection.close();
    }
  });

  it('is none where the process lived on: it let go of the log, or was between two records', async () => {
    const folder = newFolder();
    const fenced = new ApplyMark(folder, LAST, new Map());
    fenced.at(POISON);
    fenced.close(false);
    assert.deepEqual(ApplyMark.handOver(folder), []);
    const idle = new ApplyMark(folder, LAST, new Map([[POISON, 1]]));
    idle.at(POISON);
    idle.at(0);
    assert.deepEqual(ApplyMark.handOver(folder), []);
  });
});
