/**
 * The LevelDB folder under data.dir. This file owns the library classic-level.
 *
 * Keys: `b<position><bytes before it><time>` group commits, `s<stream>` snapshots, `p<stream>` their positions once
 * more, `e<position><index>` events, `i` the inventory of snapshots and events, `m` the version.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { FORMATS, requireReadable } from './formats.js';
import { Inventory, seal, unseal } from './integrity.js';
import { asStorageFault, damaged, StorageFault } from './storage-fault.js';

/** A store of keys. What is written with `sync` is on the disk when it resolves, a batch as a whole or not at all. */
export interface Database {
  get(key: string): Promise<Buffer | undefined>;
  has(key: string): Promise<boolean>;
  put(key: string, value: Buffer, options?: { sync?: boolean }): Promise<void>;
  batch(operations: Operation[], options: { sync: boolean }): Promise<void>;
  iterator(range: Range): AsyncIterable<[string, Buffer]>;
  keys(range: Range): AsyncIterable<string>;
  /** gives the space of deleted values back */
  compactRange(from: string, to: string): Promise<void>;
  close(): Promise<void>;
}

export interface Range {
  gte: string;
  lt: string;
  reverse?: boolean;
  limit?: number;
}

export type Operation = { type: 'put'; key: string; value: Buffer } | { type: 'del'; key: string };

/** The keys of each kind. */
export const COMMITS = { gte: 'b', lt: 'c' };
export const SNAPSHOTS = { gte: 's', lt: 't' };
export const EVENTS = { gte: 'e', lt: 'f' };
export const POSITIONS = { gte: 'p', lt: 'q' };
export const INVENTORY_KEY = 'i';
const VERSION_KEY = 'm';
/** values that are written at a time when a folder is migrated */
const MIGRATED_AT_ONCE = 64;

/** memory that LevelDB fills before it writes a table; also what reopening has to read again */
const WRITE_BUFFER_BYTES = 8 * 1024 ** 2;
const TABLE_BYTES = 16 * 1024 ** 2;
const CACHE_BYTES = 1024 ** 2;

/** Opens or makes the folder. Nobody else may have it open. */
export async function openDatabase(dir: string): Promise<Database> {
  try {
    makeFolder(join(dir, 'store'));
  } catch (error) {
    throw asStorageFault(error, dir);
  }
  const db = new ClassicLevel<string, Buffer>(join(dir, 'store'), {
    keyEncoding: 'utf8',
    valueEncoding: 'buffer',
    compression: false,
    writeBufferSize: WRITE_BUFFER_BYTES,
    maxFileSize: TABLE_BYTES,
    cacheSize: CACHE_BYTES,
  });
  try {
    await db.open();
  } catch (error) {
    const cause = (error as Error).cause as (Error & { code?: string }) | undefined;
    if (cause?.code === 'LEVEL_LOCKED')
      throw new StorageFault(
        'storage_failed',
        `${dir} is in use by another process; stop it, or choose another data.dir`,
        { cause: error },
      );
    if (/corrupt|invalid|missing files|no such file/i.test(String(cause?.message)))
      throw damaged(dir, cause?.message, error);
    throw asStorageFault(error, dir);
  }
  return new LevelDatabase(db);
}

/**
 * LevelDB as a store of keys. A batch is put together one operation at a time: handed over as a list, it is read by
 * native code that skips what it cannot read any more once its thread is being ended, and writes the rest.
 */
class LevelDatabase implements Database {
  constructor(readonly level: ClassicLevel<string, Buffer>) {}

  get(key: string): Promise<Buffer | undefined> {
    return this.level.get(key);
  }

  has(key: string): Promise<boolean> {
    return this.level.has(key);
  }

  put(key: string, value: Buffer, options: { sync?: boolean } = {}): Promise<void> {
    return this.level.put(key, value, options);
  }

  async batch(operations: Operation[], options: { sync: boolean }): Promise<void> {
    const batch = this.level.batch();
    for (const operation of operations)
      if (operation.type === 'put') batch.put(operation.key, operation.value);
      else batch.del(operation.key);
    await batch.write(options);
  }

  iterator(range: Range): AsyncIterable<[string, Buffer]> {
    return this.level.iterator(range);
  }

  keys(range: Range): AsyncIterable<string> {
    return this.level.keys(range);
  }

  compactRange(from: string, to: string): Promise<void> {
    return this.level.compactRange(from, to);
  }

  close(): Promise<void> {
    return this.level.close();
  }
}

/** One folder after the other: asked for all at once, Node never returns from where none can be made, as in /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path);
}

/** Refuses a folder of another version; a new one gets that of today. */
export async function checkVersion(db: Database, dir: string): Promise<void> {
  const version = await db.get(VERSION_KEY);
  if (version === undefined) await writeVersion(db);
  else requireReadable('database', Number(version.toString()), dir);
  if (version?.toString() === '2') await addChecksums(db);
}

/** Version 3 has checksums on snapshots and events. What has one already was written before a crash. */
async function addChecksums(db: Database): Promise<void> {
  let operations: Operation[] = [];
  const flush = async () => {
    await db.batch(operations, { sync: true });
    operations = [];
  };
  for (const range of [SNAPSHOTS, EVENTS])
    for await (const [key, value] of db.iterator(range)) {
      if (unseal(key, value)) continue;
      operations.push({ type: 'put', key, value: seal(key, value) });
      if (range === SNAPSHOTS) operations.push(positionOperation(key.slice(1), value.readDoubleLE(0)));
      if (operations.length >= MIGRATED_AT_ONCE) await flush();
    }
  await flush();
  const inventory = await listInventory(db);
  operations.push({ type: 'put', key: INVENTORY_KEY, value: sealInventory(inventory) });
  await flush();
  await writeVersion(db);
}

/** The position of a snapshot, kept once more. */
export function positionOperation(stream: string, position: number): { type: 'put'; key: string; value: Buffer } {
  const value = Buffer.alloc(8);
  value.writeDoubleLE(position);
  const key = `p${stream}`;
  return { type: 'put', key, value: seal(key, value) };
}

export interface Inventories {
  snapshots: Inventory;
  events: Inventory;
}

async function listInventory(db: Database): Promise<Inventories> {
  const inventories = { snapshots: new Inventory(), events: new Inventory() };
  for await (const [key, value] of db.iterator(SNAPSHOTS)) inventories.snapshots.set(key, value);
  for await (const [key, value] of db.iterator(EVENTS)) inventories.events.set(key, value);
  return inventories;
}

export const sealInventory = ({ snapshots, events }: Inventories): Buffer =>
  seal(INVENTORY_KEY, Buffer.from(JSON.stringify([...snapshots.value, ...events.value])));

/** Also shows whether the store takes writes. */
export async function writeVersion(db: Database): Promise<void> {
  await db.put(VERSION_KEY, Buffer.from(String(FORMATS.database.version)), { sync: true });
}

/** Has LevelDB make the best of a folder that it cannot open. */
export const salvage = (dir: string): Promise<void> => ClassicLevel.repair(join(dir, 'store'));
