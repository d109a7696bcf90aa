/**
 * The durable log, the snapshots and the event history, in one database.
 *
 * Invariants: `append` resolves only after its record was flushed to disk (one fdatasync per group commit); records
 * have one order, that of `append`; a record is dropped only when a snapshot of its stream covers it. One commit is
 * underway at a time and is atomic. A failed write is a StorageFault for everybody who waits; the store is then
 * reopened until it takes writes again, and a commit that reached the disk after all is found there and counts.
 */
import { Batch, commitKey, HEADER_BYTES, keyBehind, parseKey, readHeader, writeHeader } from './commit.js';
import { Coverage } from './coverage.js';
import {
  COMMITS,
  checkVersion,
  type Database,
  EVENTS,
  type Operation,
  openDatabase,
  SNAPSHOTS,
  writeVersion,
} from './database.js';
import { packSnapshot, unpackSnapshot } from './formats.js';
import { FreeSpace, type Space } from './free-space.js';
import { type LogRecord, RecordReader, type RecordWriter } from './record.js';
import { Retention, type RetentionSettings } from './retention.js';
import { asStorageFault, StorageFault } from './storage-fault.js';

export interface LogSettings extends RetentionSettings {
  /** folder of the store; made when absent */
  dir: string;
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

const SPARE_WRITERS_MAX = 8;

export class Log {
  readonly settings: LogSettings;
  readonly #owner: LogOwner;
  #db: Database;
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
  #publishedUpTo = 0;
  /** the floor of the run before; null once its records have been read */
  #recoveredFloor: number | null = null;
  readonly #coverage = new Coverage();
  readonly #retention: Retention;
  readonly #space: FreeSpace;
  readonly #gauges = { commits: 0, faults: 0, commitMs: 0 };

  private constructor(settings: LogSettings, owner: LogOwner, db: Database) {
    this.settings = settings;
    this.#owner = owner;
    this.#db = db;
    this.#retention = new Retention(settings);
    this.#space = new FreeSpace(settings.dir, settings.minFreeBytes, () => owner.space?.());
  }

  /** Opens or makes a store. Nobody else may have it open. */
  static async open(settings: LogSettings, owner: LogOwner): Promise<Log> {
    const db = await openDatabase(settings.dir);
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
      bytes: this.#bytesBefore - this.#retention.bytesDropped,
      queuedRecords,
      queuedBytes: this.#waitingBytes,
      oldestMs: this.#retention.oldestMs,
      ...this.#gauges,
    };
  }

  /**
   * Accepts a record, or throws a StorageFault at once. Resolves when the record is durable; rejects with a
   * StorageFault when it is not going to be.
   */
  append(record: LogRecord): Promise<void> {
    if (this.#closed) throw new StorageFault('storage_closed', 'the log is closed');
    if (this.#fault) throw this.#fault;
    if (this.#waitingBytes > this.settings.queueMaxBytes) throw this.#behind();
    let batch = this.#waiting.at(-1);
    if (!batch || batch.writer.length > this.settings.commitBytes) {
      batch = new Batch(this.#spareWriters.pop());
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
    this.#coverage.addSnapshot(stream, position, state === null);
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
    for await (const [key, value] of this.#db.iterator(EVENTS))
      found.push({ key: key.slice(1), event: JSON.parse(value.toString()) });
    return found;
  }

  async *snapshots(): AsyncGenerator<Snapshot> {
    for await (const [key, value] of this.#db.iterator(SNAPSHOTS)) yield readSnapshot(key.slice(1), value);
  }

  /** The last snapshot of a stream, whether on disk or on its way there; undefined when there is none. */
  async snapshotOf(stream: string): Promise<Snapshot | undefined> {
    const key = `s${stream}`;
    if (!this.#extras.has(key)) await this.#underwayDone;
    const value = this.#extras.get(key) ?? (await this.#db.get(key));
    return value && readSnapshot(stream, value);
  }

  /** Durable records of one stream behind a position, up to another. */
  async *recordsOf(stream: string, after: number, upTo: number): AsyncGenerator<Stored> {
    const range = { ...COMMITS, gte: await this.#commitAt(after + 1), lt: keyBehind(upTo) };
    for await (const [key, value] of this.#db.iterator(range))
      for (const stored of readRecords(key, value))
        if (stored.record.stream === stream && stored.position > after && stored.position <= upTo) yield stored;
  }

  /** Records after the snapshots of their streams, in order; to be read once, after open. */
  async *records(): AsyncGenerator<Stored> {
    if (this.#recoveredFloor === null) return;
    const start = await this.#commitAt(this.#recoveredFloor);
    for await (const [key, value] of this.#db.iterator({ ...COMMITS, gte: start }))
      for (const stored of readRecords(key, value)) {
        if (this.#coverage.covers(stored.record.stream, stored.position)) continue;
        this.#coverage.addRecord(stored.record.stream, stored.position);
        yield stored;
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
    await this.#retention.idle();
    await this.#db.close().catch(() => {});
  }

  async #load(): Promise<void> {
    await checkVersion(this.#db, this.settings.dir);
    for await (const [key, value] of this.#db.iterator(SNAPSHOTS)) {
      this.#coverage.addSnapshot(key.slice(1), value.readDoubleLE(0), value.length === 8);
    }
    await this.#readEnds();
  }

  /** Where the log begins and ends. */
  async #readEnds(): Promise<void> {
    for await (const [key, value] of this.#db.iterator({ ...COMMITS, reverse: true, limit: 1 })) {
      const { first, count, floor, applied } = readHeader(key, value);
      this.#nextPosition = first + count;
      this.#recoveredFloor = floor;
      this.#publishedUpTo = applied;
      this.#bytesBefore = parseKey(key).bytesBefore + value.length;
    }
    await this.#retention.load(this.#db);
  }

  /** Key of the commit that holds a position, or of the first one. */
  async #commitAt(position: number): Promise<string> {
    const options = { gte: COMMITS.gte, lt: keyBehind(position), reverse: true, limit: 1 };
    for await (const key of this.#db.keys(options)) return key;
    return COMMITS.gte;
  }

  /** Every record before this position is covered by a snapshot. */
  #floor(): number {
    // until the old records have been read, nobody knows whose they are
    return this.#coverage.floor(this.#recoveredFloor ?? this.#nextPosition);
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
      this.#space.check();
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
      operations.push({ type: 'put', key: commitKey(position, bytes, now), value });
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
    if (batches.length > 0 && this.#retention.oldestMs === 0) this.#retention.oldestMs = this.#owner.now();
    for (const batch of batches) {
      this.#nextPosition = batch.first + batch.records.length;
      for (let n = 0; n < batch.records.length; n++) this.#coverage.addRecord(batch.records[n].stream, batch.first + n);
      this.#owner.committed(batch.first, batch.records);
      batch.resolve();
      if (this.#spareWriters.length < SPARE_WRITERS_MAX) this.#spareWriters.push(batch.writer);
    }
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
      this.#space.check(true);
      if (reopen) {
        await this.#db.close();
        this.#db = await openDatabase(this.settings.dir);
      }
      await writeVersion(this.#db);
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

  /** Drops what need not be kept; streams that hold it back are asked for snapshots. */
  async #retain(): Promise<void> {
    const now = this.#owner.now();
    if (!this.#retention.isDue(this.#bytesBefore, now)) return;
    const remove = (key: string) => void this.#extras.set(key, null);
    const held = await this.#retention.drop(this.#db, this.#bytesBefore, now, this.#floor(), remove);
    if (held) this.#owner.heldBack(this.#coverage.oldest());
    for (const stream of this.#coverage.dropRetired(this.#floor())) remove(`s${stream}`);
    this.#retention.reclaimSpace(this.#db);
  }
}

function* readRecords(key: string, value: Buffer): Generator<Stored> {
  let position = readHeader(key, value).first;
  for (const reader = new RecordReader(value, HEADER_BYTES); !reader.done; position++)
    yield { position, record: reader.read() };
}

function readSnapshot(stream: string, value: Buffer): Snapshot {
  const state = value.length === 8 ? null : unpackSnapshot(value.subarray(8), `the snapshot of stream ${stream}`);
  return { stream, position: value.readDoubleLE(0), state };
}
