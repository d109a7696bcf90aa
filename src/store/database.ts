/**
 * The LevelDB folder under data.dir. This file owns the library classic-level.
 *
 * Keys: `b<position><bytes before it><time>` group commits, `s<stream>` snapshots, `e<position><index>` events, `m`
 * version.
 */
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { FORMATS, requireReadable } from './formats.js';
import { asStorageFault, StorageFault } from './storage-fault.js';

export type Database = ClassicLevel<string, Buffer>;

export type Operation = { type: 'put'; key: string; value: Buffer } | { type: 'del'; key: string };

/** The keys of each kind. */
export const COMMITS = { gte: 'b', lt: 'c' };
export const SNAPSHOTS = { gte: 's', lt: 't' };
export const EVENTS = { gte: 'e', lt: 'f' };
const VERSION_KEY = 'm';

/** memory that LevelDB fills before it writes a table; also what reopening has to read again */
const WRITE_BUFFER_BYTES = 8 * 1024 ** 2;
const TABLE_BYTES = 16 * 1024 ** 2;
const CACHE_BYTES = 1024 ** 2;

/** Opens or makes the folder. Nobody else may have it open. */
export async function openDatabase(dir: string): Promise<Database> {
  const db: Database = new ClassicLevel(join(dir, 'store'), {
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
    throw asStorageFault(error, dir);
  }
  return db;
}

/** Refuses a folder of another version; a new one gets that of today. */
export async function checkVersion(db: Database, dir: string): Promise<void> {
  const version = await db.get(VERSION_KEY);
  if (version === undefined) await writeVersion(db);
  else requireReadable('database', Number(version.toString()), dir);
}

/** Also shows whether the store takes writes. */
export async function writeVersion(db: Database): Promise<void> {
  await db.put(VERSION_KEY, Buffer.from(String(FORMATS.database.version)), { sync: true });
}
