/**
 * A data folder looked at, or put in order, while no evaluator has it open. Looking changes nothing: LevelDB writes
 * when it opens a folder, so what is opened is a copy. Repairing keeps the folder as it was beside the new one.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { headerOf } from './commit.js';
import {
  COMMITS,
  checkVersion,
  type Database,
  EVENTS,
  INVENTORY_KEY,
  openDatabase,
  POSITIONS,
  positionOperation,
  SNAPSHOTS,
  salvage,
  sealInventory,
  writeVersion,
} from './database.js';
import { type Damage, Inventory, seal, unseal } from './integrity.js';
import { Log } from './log.js';
import type { LogOwner } from './log-port.js';
import { StorageFault } from './storage-fault.js';

export interface Inspection {
  damage: Damage[];
  /** position of the last record */
  lastPosition: number;
  /** streams that have a snapshot */
  streams: string[];
  events: number;
}

const NOBODY: LogOwner = { now: () => Date.now(), committed() {}, applied: () => 0, heldBack() {}, faultChanged() {} };
const SETTINGS = {
  maxBytes: Number.MAX_SAFE_INTEGER,
  maxAgeHours: Number.MAX_SAFE_INTEGER,
  groupCommitMs: 0,
  commitBytes: 1 << 20,
  queueMaxBytes: Number.MAX_SAFE_INTEGER,
  minFreeBytes: 0,
  storageRetryMs: 1000,
};

/** Whether there is a store in this folder at all. */
export const hasStore = (dir: string): boolean => existsSync(join(dir, 'store', 'CURRENT'));

/**
 * Whether a running evaluator has the store open: it holds a lock on a file there. Opening the store itself would write
 * to it, so an empty one that shares this file is opened instead.
 */
export async function isInUse(dir: string): Promise<boolean> {
  const lock = resolve(dir, 'store', 'LOCK');
  if (!existsSync(lock)) return false;
  const empty = mkdtempSync(join(tmpdir(), 'tgospa-lock-'));
  try {
    mkdirSync(join(empty, 'store'));
    symlinkSync(lock, join(empty, 'store', 'LOCK'));
    await (await openDatabase(empty)).close();
    return false;
  } catch (error) {
    return error instanceof StorageFault && /in use by another process/.test(error.message);
  } finally {
    rmSync(empty, { recursive: true, force: true });
  }
}

/** What a start would find. */
export async function inspect(dir: string): Promise<Inspection> {
  const copy = mkdtempSync(join(tmpdir(), 'tgospa-check-'));
  try {
    cpSync(join(dir, 'store'), join(copy, 'store'), { recursive: true });
    if (existsSync(join(dir, 'acked'))) cpSync(join(dir, 'acked'), join(copy, 'acked'));
    return await inspectCopy(copy);
  } catch (error) {
    const damage = [{ message: (error as Error).message.replaceAll(copy, dir) }];
    return { damage, lastPosition: 0, streams: [], events: 0 };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** A log that nobody writes to; opening it writes to its folder. */
export const openForReading = (dir: string): Promise<Log> => Log.open({ ...SETTINGS, dir }, NOBODY);

async function inspectCopy(dir: string): Promise<Inspection> {
  const log = await openForReading(dir);
  try {
    const events = (await log.events()).length;
    const streams: string[] = [];
    for await (const { stream, state } of log.snapshots()) if (state !== null) streams.push(stream);
    for await (const _ of log.records());
    return { damage: log.damage, lastPosition: log.lastPosition, streams, events };
  } finally {
    await log.kill();
  }
}

/** Builds the store anew from everything in it that is sound; returns where the old one is kept. */
export async function repair(dir: string, nowMs: number): Promise<string> {
  const aside = join(dir, `damaged-${new Date(nowMs).toISOString().replace(/[:.]/g, '-')}`);
  mkdirSync(aside);
  renameSync(join(dir, 'store'), join(aside, 'store'));
  const work = join(aside, 'work');
  cpSync(join(aside, 'store'), join(work, 'store'), { recursive: true });
  try {
    const from = await openDamaged(work);
    const to = await openDatabase(dir);
    try {
      await copySound(from, to);
    } finally {
      await Promise.all([from.close(), to.close()]);
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return aside;
}

async function openDamaged(dir: string): Promise<Database> {
  let db: Database;
  try {
    db = await openDatabase(dir);
  } catch {
    await salvage(dir);
    db = await openDatabase(dir);
  }
  await checkVersion(db, dir).catch(() => {});
  return db;
}

async function copySound(from: Database, to: Database): Promise<void> {
  const inventories = { snapshots: new Inventory(), events: new Inventory() };
  let last = 0;
  for await (const [key, value] of readable(from, COMMITS)) {
    const header = headerOf(key, value);
    if (!header) continue;
    last = header.first + header.count - 1;
    await to.put(key, value);
  }
  for await (const [key, value] of readable(from, EVENTS)) {
    if (!unseal(key, value)) continue;
    inventories.events.set(key, value);
    await to.put(key, value);
  }
  for (const [stream, sealed] of await soundSnapshots(from, last)) {
    const key = `s${stream}`;
    inventories.snapshots.set(key, sealed);
    await to.put(key, sealed);
    const twin = positionOperation(stream, unseal(key, sealed)!.readDoubleLE(0));
    await to.put(twin.key, twin.value);
  }
  await to.put(INVENTORY_KEY, sealInventory(inventories));
  await writeVersion(to);
}

/** Snapshots by stream; a stream whose last one is damaged or lost has the mark of a retired one. */
async function soundSnapshots(db: Database, last: number): Promise<Map<string, Buffer>> {
  const sound = new Map<string, Buffer>();
  const positions = new Map<string, number>();
  const names = new Set<string>();
  for await (const [key, value] of readable(db, SNAPSHOTS)) {
    names.add(key.slice(1));
    if (unseal(key, value)) sound.set(key.slice(1), value);
  }
  for await (const [key, sealed] of readable(db, POSITIONS)) {
    const value = unseal(key, sealed);
    if (value) positions.set(key.slice(1), value.readDoubleLE(0));
  }
  const mark = Buffer.alloc(8);
  mark.writeDoubleLE(Math.max(last, 0, ...positions.values()));
  for (const stream of new Set([...names, ...positions.keys()])) {
    const sealed = sound.get(stream);
    const position = sealed ? unseal(`s${stream}`, sealed)!.readDoubleLE(0) : -1;
    if (position < (positions.get(stream) ?? 0)) sound.set(stream, seal(`s${stream}`, mark));
  }
  return sound;
}

/** As far as LevelDB can read. */
async function* readable(db: Database, range: { gte: string; lt: string }): AsyncGenerator<[string, Buffer]> {
  try {
    for await (const entry of db.iterator(range)) yield entry as [string, Buffer];
  } catch {
    // the rest of the range is lost
  }
}
