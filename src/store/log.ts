/**
 * The durable log, the snapshots and the event history, in one LevelDB folder. This file owns the library classic-level.
 *
 * Invariants: `append` resolves only after its record was flushed to disk (one fdatasync per group commit); records have
 * one order, that of `append`; a record is dropped only when a snapshot of its stream covers it. One commit is underway
 * at a time and is atomic. A failed write is a StorageFault for everybody who waits; the store is then reopened until it
 * takes writes again, and a commit that reached the disk after all is found there and counts.
 *
 * Keys: `b<position><bytes before it><time>` group commits, `s<stream>` snapshots, `e<position><index>` events, `m` version.
 */
import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { crc32 } from 'node:zlib';
import { ClassicLevel } from 'classic-level';
import { type LogRecord, RecordReader, RecordWriter } from './record.js';

export interface LogSettings {
  /** folder of the store; made when absent */
  dir: string;
  /** bytes: the log keeps at most this much, as far as snapshots allow */
  maxBytes: number;
  /** hours: records older than this go, as far as snapshots allow */
  maxAgeHours: number;
  /** milliseconds: records that arrive within this time share one flush */
  groupCommitMs: number;
  /** bytes: a commit does not wait for its time when this much has gathered */
  commitBytes: number;
  /** bytes: more than this waiting for the disk is refused */
  queueMaxBytes: number;
  /** bytes: with less free space than this, or than a twentieth of a small disk, nothing is accepted */
  minFreeBytes: number;
  /** milliseconds between attempts to write again after a fault */
  storageRetryMs: number;
}

export type StorageFaultCode = 'storage_full' | 'storage_failed' | 'storage_behind' | 'storage_closed';

/** The disk does not take any more for now. What was acked is safe; what waits must be sent again later. */
export class StorageFault extends Error {
  override readonly name = 'StorageFault';

  constructor(
    readonly code: StorageFaultCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** A record with its place in the log; positions count from 1. */
export interface Stored {
  position: number;
  record: LogRecord;
}

export interface Snapshot {
  stream: string;
  /** the state includes every record of the stream up to this position */
  position: number;
  /** null: the stream was retired */
  state: unknown;
}

/** What the log tells its owner. */
export interface LogOwner {
  now(): number;
  /** records that have just become durable, in order; called before anybody who waits for them */
  committed(first: number, records: LogRecord[]): void;
  /** records up to this position have been applied and their events published */
  applied(): number;
  /** these streams need a snapshot before the log may shrink */
  heldBack(streams: string[]): void;
  /** a fault began (or, with null, is over) */
  faultChanged(fault: StorageFault | null): void;
  /** the room on the disk, when not that of data.dir */
  space?(): Space;
}

export interface Space {
  freeBytes: number;
  totalBytes: number;
}

export interface LogGauges {
  bytes: number;
  commits: number;
  queuedRecords: number;
  queuedBytes: number;
  faults: number;
  /** milliseconds of the last commit, flush included */
  commitMs: number;
  /** epoch milliseconds of the oldest record kept; 0 when there is none */
  oldestMs: number;
}

const VERSION = '2';
const HEADER_BYTES = 48;
const MAGIC = 0x314c4754;
/** memory that LevelDB fills before it writes a table; also what reopening has to read again */
const WRITE_BUFFER_BYTES = 8 * 1024 ** 2;
const TABLE_BYTES = 16 * 1024 ** 2;
const CACHE_BYTES = 1024 ** 2;
const SPARE_WRITERS_MAX = 8;
const SPACE_CHECK_MS = 100;
const RETENTION_CHECK_MS = 1000;
/** one retention pass looks at no more commits than this */
const RETENTION_COMMITS = 4096;
/** streams asked for a snapshot at a time */
const HELD_BACK_MAX = 64;
/** shrinking goes this far below the limit, so that it happens rarely */
const SHRINK_TO = 0.9;
/** dropped bytes that make reclaiming the space worthwhile */
const RECLAIM_BYTES = 32 * 1024 ** 2;

/** A state as the store holds it. */
export const packSnapshot = (state: unknown): Uint8Array => serialize(state);

/** Records that become durable together. */
class Batch {
  readonly records: LogRecord[] = [];
  readonly durable: Promise<void>;
  resolve!: () => void;
  reject!: (fault: StorageFault) => void;
  first = 0;

  constructor(readonly writer: RecordWriter) {
    writer.truncate(HEADER_BYTES);
    this.durable = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // a record nobody waits for may fail quietly: its fault is told by faultChanged
    this.durable.catch(() => {});
  }
}

interface Header {
  first: number;
  count: number;
  /** every record before this position is covered by a snapshot */
  floor: number;
  /** events of records up to this position have been published */
  applied: number;
}

export class Log {
  readonly settings: LogSettings;
  readonly #owner: LogOwner;
  #db: ClassicLevel<string, Buffer>;
  #waiting: Batch[] = [];
  #waitingBytes = 0;
  #underway: Batch[] = [];
  #underwayDone: Promise<void> | null = null;
  /** buffers of former commits, to be filled again */
  readonly #spareWriters: RecordWriter[] = [];
  /** puts and, with null, deletions that go with the next commit */
  #extras = new Map<string, Buffer | null>();
  #timer: NodeJS.Timeout | null = null;
  #fault: StorageFault | null = null;
  #closed = false;
  #nextPosition = 1;
  #bytesBefore = 0;
  #bytesDropped = 0;
  #oldestMs = 0;
  #publishedUpTo = 0;
  /** the floor of the run before; null once its records have been read */
  #recoveredFloor: number | null = null;
  /** stream: its first record that no snapshot covers */
  readonly #uncovered = new Map<string, number>();
  /** stream: its newest record, when no snapshot covers it */
  readonly #lastOf = new Map<string, number>();
  readonly #snapshotAt = new Map<string, number>();
  readonly #retired = new Map<string, number>();
  #spaceCheckedMs = 0;
  #retentionCheckedMs = 0;
  #reclaim = { bytes: 0, from: '', to: '', underway: null as Promise<void> | null };
  readonly #gauges = { commits: 0, faults: 0, commitMs: 0 };

  private constructor(settings: LogSettings, owner: LogOwner, db: ClassicLevel<string, Buffer>) {
    this.settings = settings;
    this.#owner = owner;
    this.#db = db;
  }

  /** Opens or makes a store. Nobody else may have it open. */
  static async open(settings: LogSettings, owner: LogOwner): Promise<Log> {
    const db = await openStore(settings.dir);
    const log = new Log(settings, owner, db);
    try {
      await log.#load();
    } catch (error) {
      await db.close();
      throw error;
    }
    return log;
  }

  get fault(): StorageFault | null {
    return this.#fault;
  }

  /** Position of the newest durable record; 0 when there is none. */
  get lastPosition(): number {
    return this.#nextPosition - 1;
  }

  get gauges(): LogGauges {
    let queuedRecords = 0;
    for (const batch of [...this.#underway, ...this.#waiting]) queuedRecords += batch.records.length;
    return {
      bytes: this.#bytesBefore - this.#bytesDropped,
      queuedRecords,
      queuedBytes: this.#waitingBytes,
      oldestMs: this.#oldestMs,
      ...this.#gauges,
    };
  }

  /**
   * Takes a record, or throws a StorageFault at once. Resolves when the record is durable; rejects with a StorageFault
   * when it is not going to be.
   */
  append(record: LogRecord): Promise<void> {
    if (this.#closed) throw new StorageFault('storage_closed', 'the log is closed');
    if (this.#fault) throw this.#fault;
    if (this.#waitingBytes > this.settings.queueMaxBytes) throw this.#behind();
    let batch = this.#waiting.at(-1);
    if (!batch || batch.writer.length > this.settings.commitBytes) {
      batch = new Batch(this.#spareWriters.pop() ?? new RecordWriter());
      this.#waiting.push(batch);
    }
    const before = batch.writer.length;
    batch.writer.write(record);
    batch.records.push(record);
    this.#waitingBytes += batch.writer.length - before;
    this.#arm();
    return batch.durable;
  }

  /** Stores the state of a stream, plain data, with the next commit; null when the stream is retired. */
  saveSnapshot(stream: string, position: number, state: unknown): void {
    const body = state === null ? new Uint8Array(0) : state instanceof Uint8Array ? state : packSnapshot(state);
    const value = Buffer.allocUnsafe(8 + body.length);
    value.writeDoubleLE(position, 0);
    value.set(body, 8);
    this.#setExtra(`s${stream}`, value);
    this.#cover(stream, position);
    if (state === null) this.#retired.set(stream, position);
    else this.#retired.delete(stream);
  }

  /** Stores an event of the history with the next commit, or with null removes it; the key decides its place. */
  saveEvent(key: string, event: unknown): void {
    this.#setExtra(`e${key}`, event === null ? null : Buffer.from(JSON.stringify(event)));
  }

  #setExtra(key: string, value: Buffer | null): void {
    this.#waitingBytes += (value?.length ?? 0) - (this.#extras.get(key)?.length ?? 0);
    this.#extras.set(key, value);
    this.#arm();
  }

  /** The event history, oldest first. */
  async events(): Promise<Array<{ key: string; event: unknown }>> {
    const found: Array<{ key: string; event: unknown }> = [];
    for await (const [key, value] of this.#db.iterator({ gte: 'e', lt: 'f' }))
      found.push({ key: key.slice(1), event: JSON.parse(value.toString()) });
    return found;
  }

  async *snapshots(): AsyncGenerator<Snapshot> {
    for await (const [key, value] of this.#db.iterator({ gte: 's', lt: 't' })) {
      const state = value.length === 8 ? null : deserialize(value.subarray(8));
      yield { stream: key.slice(1), position: value.readDoubleLE(0), state };
    }
  }

  /** Records after the snapshots of their streams, in order; to be read once, after open. */
  async *records(): AsyncGenerator<Stored> {
    if (this.#recoveredFloor === null) return;
    const start = await this.#commitAt(this.#recoveredFloor);
    for await (const [key, value] of this.#db.iterator({ gte: start, lt: 'c' })) {
      const { first } = checkBatch(key, value);
      let position = first;
      for (const reader = new RecordReader(value, HEADER_BYTES); !reader.done; position++) {
        const record = reader.read();
        if (position <= (this.#snapshotAt.get(record.stream) ?? 0)) continue;
        this.#note(record.stream, position);
        yield { position, record };
      }
    }
    this.#recoveredFloor = null;
  }

  /** Events of records up to this position were published before the store was opened. */
  get publishedUpTo(): number {
    return this.#publishedUpTo;
  }

  /** Resolves when everything handed over so far is on disk, or throws the fault that prevents it. */
  async flush(): Promise<void> {
    while (!this.#fault && (this.#underwayDone || this.#waiting.length > 0 || this.#extras.size > 0))
      await (this.#underwayDone ?? this.#commit());
    if (this.#fault) throw this.#fault;
  }

  /** Flushes and closes. */
  async close(): Promise<void> {
    if (this.#closed) return;
    await this.flush().catch(() => {});
    await this.kill();
  }

  /** Closes at once, as a crash would: what waits is not written. */
  async kill(): Promise<void> {
    this.#closed = true;
    this.#disarm();
    this.#rejectAll(this.#waiting.splice(0), new StorageFault('storage_closed', 'the log is closed'));
    await this.#underwayDone;
    await this.#reclaim.underway;
    await this.#db.close().catch(() => {});
  }

  async #load(): Promise<void> {
    const version = await this.#db.get('m');
    if (version === undefined) await this.#db.put('m', Buffer.from(VERSION), { sync: true });
    else if (version.toString() !== VERSION)
      throw new Error(
        `${this.settings.dir} was written by format ${version} and this program reads format ${VERSION}; use another data.dir, or the program that wrote it`,
      );
    for await (const [key, value] of this.#db.iterator({ gte: 's', lt: 't' })) {
      this.#snapshotAt.set(key.slice(1), value.readDoubleLE(0));
      if (value.length === 8) this.#retired.set(key.slice(1), value.readDoubleLE(0));
    }
    await this.#readEnds();
  }

  /** Where the log begins and ends. */
  async #readEnds(): Promise<void> {
    for await (const [key, value] of this.#db.iterator({ gte: 'b', lt: 'c', reverse: true, limit: 1 })) {
      const { first, count, floor, applied } = checkBatch(key, value);
      this.#nextPosition = first + count;
      this.#recoveredFloor = floor;
      this.#publishedUpTo = applied;
      this.#bytesBefore = parseKey(key).bytesBefore + value.length;
    }
    for await (const key of this.#db.keys({ gte: 'b', lt: 'c', limit: 1 })) {
      const oldest = parseKey(key);
      this.#bytesDropped = oldest.bytesBefore;
      this.#oldestMs = oldest.timeMs;
    }
  }

  /** Key of the commit that holds a position, or of the first one. */
  async #commitAt(position: number): Promise<string> {
    const options = { gte: 'b', lt: `b${hex(position + 1, 14)}`, reverse: true, limit: 1 };
    for await (const key of this.#db.keys(options)) return key;
    return 'b';
  }

  #note(stream: string, position: number): void {
    if (!this.#uncovered.has(stream)) this.#uncovered.set(stream, position);
    this.#lastOf.set(stream, position);
  }

  #cover(stream: string, position: number): void {
    this.#snapshotAt.set(stream, position);
    if ((this.#lastOf.get(stream) ?? 0) > position) this.#uncovered.set(stream, position + 1);
    else {
      this.#uncovered.delete(stream);
      this.#lastOf.delete(stream);
    }
  }

  /** Every record before this position is covered by a snapshot. */
  #floor(): number {
    // until the old records have been read, nobody knows whose they are
    let floor = this.#recoveredFloor ?? this.#nextPosition;
    for (const position of this.#uncovered.values()) floor = Math.min(floor, position);
    return floor;
  }

  #behind(): StorageFault {
    return new StorageFault(
      'storage_behind',
      `${this.#waitingBytes} bytes wait for the disk; it is too slow, or raise data.queueMaxBytes (now ${this.settings.queueMaxBytes})`,
    );
  }

  #arm(): void {
    if (this.#underwayDone || this.#fault || this.#closed) return;
    if (this.#waitingBytes >= this.settings.commitBytes) {
      void this.#commit();
      return;
    }
    this.#timer ??= setTimeout(() => void this.#commit(), this.settings.groupCommitMs);
  }

  #disarm(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** Writes everything that waits. Never rejects. */
  #commit(): Promise<void> {
    this.#disarm();
    const batches = this.#waiting;
    const extras = this.#extras;
    if (this.#underwayDone || this.#fault || (batches.length === 0 && extras.size === 0)) return Promise.resolve();
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#extras = new Map();
    this.#underway = batches;
    this.#underwayDone = this.#write(batches, extras).finally(() => {
      this.#underway = [];
      this.#underwayDone = null;
      if (this.#waiting.length > 0 || this.#extras.size > 0) this.#arm();
    });
    return this.#underwayDone;
  }

  async #write(batches: Batch[], extras: Map<string, Buffer | null>): Promise<void> {
    const began = performance.now();
    const { operations, first, bytes } = this.#operations(batches, extras);
    try {
      this.#checkSpace();
      await this.#db.batch(operations, { sync: true });
    } catch (error) {
      this.#failed(error, batches, extras, first);
      return;
    }
    this.#gauges.commitMs = performance.now() - began;
    this.#committed(batches, bytes);
    // a failure here shows again at the next write
    if (!this.#closed) await this.#retain().catch(() => {});
  }

  #operations(batches: Batch[], extras: Map<string, Buffer | null>) {
    const now = this.#owner.now();
    const floor = this.#floor();
    const applied = this.#owner.applied();
    const operations: Operation[] = [];
    let position = this.#nextPosition;
    let bytes = this.#bytesBefore;
    for (const batch of batches) {
      batch.first = position;
      const value = batch.writer.bytes();
      writeHeader(value, { first: position, count: batch.records.length, floor, applied });
      operations.push({ type: 'put', key: batchKey(position, bytes, now), value });
      position += batch.records.length;
      bytes += value.length;
    }
    for (const [key, value] of extras)
      operations.push(value === null ? { type: 'del', key } : { type: 'put', key, value });
    return { operations, first: operations[0].key, bytes };
  }

  #committed(batches: Batch[], bytes: number): void {
    this.#gauges.commits++;
    this.#underway = [];
    this.#bytesBefore = bytes;
    if (batches.length > 0 && this.#oldestMs === 0) this.#oldestMs = this.#owner.now();
    for (const batch of batches) {
      this.#nextPosition = batch.first + batch.records.length;
      for (let n = 0; n < batch.records.length; n++) this.#note(batch.records[n].stream, batch.first + n);
      this.#owner.committed(batch.first, batch.records);
      batch.resolve();
      if (this.#spareWriters.length < SPARE_WRITERS_MAX) this.#spareWriters.push(batch.writer);
    }
  }

  /** Throws when there is too little room to go on safely. */
  #checkSpace(): void {
    const now = performance.now();
    if (now - this.#spaceCheckedMs < SPACE_CHECK_MS) return;
    const { freeBytes, totalBytes } = this.#owner.space?.() ?? spaceOf(this.settings.dir);
    const least = Math.min(this.settings.minFreeBytes, Math.floor(totalBytes / 20));
    if (freeBytes < least)
      throw new StorageFault(
        'storage_full',
        `${freeBytes} bytes are free at ${this.settings.dir} and ${least} are needed; free some space, or lower data.minFreeBytes (now ${this.settings.minFreeBytes})`,
      );
    this.#spaceCheckedMs = now;
  }

  #failed(error: unknown, batches: Batch[], extras: Map<string, Buffer | null>, first: string): void {
    const fault = asStorageFault(error, this.settings.dir);
    // what was overtaken by a newer value in the meantime stays overtaken
    for (const [key, value] of extras) if (!this.#extras.has(key)) this.#extras.set(key, value);
    this.#fault = fault;
    this.#gauges.faults++;
    this.#rejectAll([...batches, ...this.#waiting.splice(0)], fault);
    this.#waitingBytes = [...this.#extras.values()].reduce((sum, value) => sum + (value?.length ?? 0), 0);
    this.#owner.faultChanged(fault);
    const written = !(error instanceof StorageFault);
    if (!this.#closed) this.#retryLater(written ? { batches, first } : null, written);
  }

  #rejectAll(batches: Batch[], fault: StorageFault): void {
    for (const batch of batches) batch.reject(fault);
  }

  #retryLater(doubt: { batches: Batch[]; first: string } | null, reopen: boolean): void {
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#underwayDone = this.#retry(doubt, reopen).finally(() => {
        this.#underwayDone = null;
        if (!this.#fault) this.#arm();
      });
    }, this.settings.storageRetryMs);
  }

  /** Tries to write again; a commit whose failure left in doubt whether it is on disk is looked up first. */
  async #retry(doubt: { batches: Batch[]; first: string } | null, reopen: boolean): Promise<void> {
    try {
      this.#spaceCheckedMs = 0;
      this.#checkSpace();
      if (reopen) {
        await this.#db.close();
        this.#db = await openStore(this.settings.dir);
      }
      await this.#db.put('m', Buffer.from(VERSION), { sync: true });
      if (doubt && doubt.batches.length > 0 && (await this.#db.has(doubt.first))) {
        const bytes = doubt.batches.reduce((sum, batch) => sum + batch.writer.length, this.#bytesBefore);
        this.#committed(doubt.batches, bytes);
      }
    } catch (error) {
      if (!this.#closed) this.#retryLater(doubt, reopen || !(error instanceof StorageFault));
      return;
    }
    this.#fault = null;
    this.#owner.faultChanged(null);
  }

  /** Drops the oldest commits when the log is too large or too old, as far as snapshots cover them. */
  async #retain(): Promise<void> {
    const now = this.#owner.now();
    if (now - this.#retentionCheckedMs < RETENTION_CHECK_MS) return;
    this.#retentionCheckedMs = now;
    const { maxBytes, maxAgeHours } = this.settings;
    const oldest = now - maxAgeHours * 3_600_000;
    const tooLarge = this.#bytesBefore - this.#bytesDropped > maxBytes;
    if (!tooLarge && (this.#oldestMs === 0 || this.#oldestMs >= oldest)) return;
    const bytesGone = tooLarge ? this.#bytesBefore - maxBytes * SHRINK_TO : 0;
    const floor = this.#floor();
    let held = false;
    let last: string | null = null;
    for await (const key of this.#db.keys({ gte: 'b', lt: 'c', limit: RETENTION_COMMITS })) {
      const next = parseKey(key);
      if (last !== null) {
        held = next.position > floor;
        if (held) break;
        this.#drop(last, next);
      }
      if (next.bytesBefore >= bytesGone && next.timeMs >= oldest) break;
      last = key;
    }
    if (held) this.#owner.heldBack(this.#holders());
    this.#forgetRetired();
    this.#reclaimSpace();
  }

  /** The streams whose snapshots are oldest. */
  #holders(): string[] {
    const oldestFirst = [...this.#uncovered].sort(([, a], [, b]) => a - b);
    return oldestFirst.slice(0, HELD_BACK_MAX).map(([stream]) => stream);
  }

  #drop(key: string, next: ParsedKey): void {
    this.#extras.set(key, null);
    this.#reclaim.from ||= key;
    this.#reclaim.to = key;
    this.#reclaim.bytes += next.bytesBefore - this.#bytesDropped;
    this.#bytesDropped = next.bytesBefore;
    this.#oldestMs = next.timeMs;
  }

  /** The mark of a retired stream goes when the log holds nothing of the stream any more. */
  #forgetRetired(): void {
    const floor = this.#floor();
    for (const [stream, position] of this.#retired) {
      if (position >= floor || this.#uncovered.has(stream)) continue;
      this.#extras.set(`s${stream}`, null);
      this.#retired.delete(stream);
      this.#snapshotAt.delete(stream);
    }
  }

  /** Deleted values leave the disk when LevelDB compacts their range. */
  #reclaimSpace(): void {
    const { bytes, from, to, underway } = this.#reclaim;
    if (bytes < Math.min(RECLAIM_BYTES, this.settings.maxBytes / 4) || underway) return;
    const compacted = this.#db.compactRange(from, to).catch(() => {});
    this.#reclaim = { bytes: 0, from: '', to: '', underway: compacted };
    void compacted.then(() => {
      this.#reclaim.underway = null;
    });
  }
}

function spaceOf(dir: string): Space {
  const { bavail, blocks, bsize } = statfsSync(dir);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}

type Operation = { type: 'put'; key: string; value: Buffer } | { type: 'del'; key: string };

async function openStore(dir: string): Promise<ClassicLevel<string, Buffer>> {
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
    throw asStorageFault(error, dir);
  }
  return db;
}

function asStorageFault(error: unknown, dir: string): StorageFault {
  if (error instanceof StorageFault) return error;
  const cause = (error as Error).cause ?? error;
  const text = (cause as Error).message;
  return /no space|ENOSPC|quota/i.test(text)
    ? new StorageFault('storage_full', `the disk of ${dir} is full; free some space (${text})`, { cause })
    : new StorageFault('storage_failed', `${dir} cannot be written: ${text}`, { cause });
}

const hex = (value: number, digits: number) => Math.max(0, Math.floor(value)).toString(16).padStart(digits, '0');

/** Key of the event with this index among those of the record at this position: keys sort as events happened. */
export const eventKey = (position: number, index: number) => `${hex(position, 14)}${hex(index, 6)}`;

const batchKey = (position: number, bytesBefore: number, timeMs: number) =>
  `b${hex(position, 14)}${hex(bytesBefore, 14)}${hex(timeMs, 12)}`;

interface ParsedKey {
  position: number;
  bytesBefore: number;
  timeMs: number;
}

const parseKey = (key: string): ParsedKey => ({
  position: Number.parseInt(key.slice(1, 15), 16),
  bytesBefore: Number.parseInt(key.slice(15, 29), 16),
  timeMs: Number.parseInt(key.slice(29), 16),
});

// magic, checksum, first, count, floor, applied, reserved
function writeHeader(value: Buffer, header: Header): void {
  value.writeUInt32LE(MAGIC, 0);
  value.writeDoubleLE(header.first, 8);
  value.writeDoubleLE(header.count, 16);
  value.writeDoubleLE(header.floor, 24);
  value.writeDoubleLE(header.applied, 32);
  value.writeDoubleLE(0, 40);
  value.writeUInt32LE(crc32(value.subarray(8)), 4);
}

function checkBatch(key: string, value: Buffer): Header {
  if (
    value.length < HEADER_BYTES ||
    value.readUInt32LE(0) !== MAGIC ||
    value.readUInt32LE(4) !== crc32(value.subarray(8))
  )
    throw new StorageFault(
      'storage_failed',
      `the log is damaged at record ${parseKey(key).position}; restore data.dir from a copy, or begin with an empty one`,
    );
  return {
    first: value.readDoubleLE(8),
    count: value.readDoubleLE(16),
    floor: value.readDoubleLE(24),
    applied: value.readDoubleLE(32),
  };
}
