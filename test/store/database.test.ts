import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { EVENTS, openDatabase } from '../../src/store/database.js';
import { asStorageFault } from '../../src/store/storage-fault.js';

const KEYS = 8;

describe('database', () => {
  let dir: string;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'tgospa-database-'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  async function stored(): Promise<string[]> {
    const db = await openDatabase(dir);
    const values: string[] = [];
    for await (const [, value] of db.iterator(EVENTS)) values.push(String(value));
    await db.close();
    return values;
  }

  for (const endsAt of [0, 1, KEYS / 2, KEYS - 1])
    it(`has nothing of a batch whose thread is ended before operation ${endsAt} of it`, async () => {
      const workerData = { dir, keys: KEYS, endsAt };
      const writer = new Worker(new URL('../kit/store-writer.js', import.meta.url), { workerData });
      await once(writer, 'exit');
      assert.deepEqual(await stored(), Array(KEYS).fill('before'));
    });

  it('says how to repair what it stumbles over later, and what else is wrong with the disk', () => {
    const told = (message: string) => asStorageFault(new Error(message), '/data').message;
    assert.match(told('Corruption: bad block type'), /damaged \(Corruption: bad block type\); run: tgospa repair/);
    assert.match(told('IO error: No space left on device'), /is full; free some space/);
    assert.match(told('IO error: Input/output error'), /cannot be written: IO error/);
  });
});
