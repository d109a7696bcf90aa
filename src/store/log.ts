/**
 * The embedded engine of the log (log-port.ts): records, snapshots and the event history in one database.
 *
 * Invariants: `append` resolves only after its record was flushed to disk (one fdatasync per group commit); records
 * have one order, that of `append`; a record is dropped only when a snapshot of its stream covers it. One commit is
 * underway at a time and is atomic. A failed write is a StorageFault for everybody who waits; the store is then
 * reopened until it takes writes again, and a commit that reached the disk after all is found there and counts.
 */
import { AckedMark } from './acked-mark.js';
import {
  Batch,
  commitKey,
  HEADER_BYTES,
  headerOf,
  keyBehind,
  type ParsedKey,
  parseKey,
  readHeader,
  writeHeader,
} from './commit.js';
import { CoveredRecords } from './covered-records.js';
import {
  COMMITS,
  checkVersion,
  type Database,
  EVENTS,
  INVENTORY_KEY,
  type Operation,
  POSITIONS,
  positionOperation,
  SNAPSHOTS,
  sealInventory,
  writeVersion,
} from './database.js';
import { DataFolder, type Folder } from './folder.js';
import { FormatError, packSnapshot, unpackSnapshot } from './formats.js';
import { FreeSpace } from './free-space.js';
import { Continuity, type Damage, Inventory, seal, unseal } from './integrity.js';
import type { DurableLog, LogGauges, LogOwner, Snapshot, Stored } from './log-port.js';
import type { PastBatch, PastLog } from './past.js';
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

/** buffers that are kept, and their bytes: a burst makes many, which nobody needs once it is over */
const SPARE_WRITERS_MAX = 8;
const SPARE_BYTES_MAX = 1 << 20;

export class Log implements DurableLog, PastLog {
  readonly settings: LogSettings;
  readonly past = this;
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
  /** since when the oldest of what waits does so, by our monotonic clock */
  #sinceMs: number | null = null;
  #fault: StorageFault | null = null;
  #closed = false;
  #nextPosition = 1;
  #bytesBefore = 0;
  #publishedUpTo = 0;
  /** the floor of the run before; null once its records have been read */
  #recoveredFloor: number | null = null;
  readonly #covered = new CoveredRecords();
  readonly #inventory = { snapshots: new Inventory(), events: new Inventory() };
  readonly #acked: AckedMark;
  /** what was found damaged; complete once the records have been read */
  readonly damage: Damage[] = [];
  readonly #retention: Retention;
  readonly #space: FreeSpace;
  readonly #gauges = { commits: 0, faults: 0, commitMs: 0 };

  private constructor(
    settings: LogSettings,
    owner: LogOwner,
    readonly folder: Folder,
    db: Database,
  ) {
    this.settings = settings;
    this.#owner = owner;
    this.#db = db;
    this.#acked = new AckedMark(folder);
    this.#retention = new Retention(settings);
    this.#space = new FreeSpace(folder, settings.minFreeBytes);
  }

  /** Opens or makes a store. Nobody else may have it open. */
  static async open(
    settings: LogSettings,
    owner: LogOwner,
    folder: Folder = new DataFolder(settings.dir),
  ): Promise<Log> {
    const db = await folder.openDatabase();
    const log = new Log(settings, owner, folder, db);
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
      damagedPlaces: this.damage.length,
      ...this.#space.room(),
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
    this.#setExtra(`s${stream}`, seal(`s${stream}`, value));
    const twin = positionOperation(stream, position);
    this.#setExtra(twin.key, twin.value);
    this.#covered.addSnapshot(stream, position, state === null);
  }

  /** Stores an event of the history with the next commit, or with null removes it; the key decides its place. */
  saveEvent(key: string, event: unknown): void {
    this.#setExtra(`e${key}`, event === null ? null : seal(`e${key}`, Buffer.from(JSON.stringify(event))));
  }

  #setExtra(key: string, value: Buffer | null): void {
    if (key.startsWith('s')) this.#inventory.snapshots.set(key, value);
    else if (key.startsWith('e')) this.#inventory.events.set(key, value);
    this.#waitingBytes += (value?.length ?? 0) - (this.#extras.get(key)?.length ?? 0);
    this.#extras.set(key, value);
    this.#arm();
  }

  /** The event history, oldest first. */
  async events(): Promise<Array<{ key: string; event: unknown }>> {
    const found: Array<{ key: string; event: unknown }> = [];
    for await (const [key, sealed] of this.#readable(EVENTS, 'the event history')) {
      const value = unseal(key, sealed);
      if (value) found.push({ key: key.slice(1), event: JSON.parse(value.toString()) });
      else {
        this.damage.push({ message: `an event of the history is damaged (${key.slice(1)})` });
        this.#setExtra(key, null);
      }
    }
    return found;
  }

  async *snapshots(): AsyncGenerator<Snapshot> {
    for await (const [key, sealed] of this.#readable(SNAPSHOTS, 'the snapshots')) {
      const snapshot = this.#readSnapshot(key, sealed);
      if (snapshot) yield snapshot;
    }
  }

  /** A snapshot, or undefined when it is damaged: the stream starts anew when its feeds come back. */
  #readSnapshot(key: string, sealed: Buffer): Snapshot | undefined {
    const stream = key.slice(1);
    const value = unseal(key, sealed);
    try {
      if (value) return readSnapshot(stream, value);
    } catch (error) {
      if (error instanceof FormatError) throw error;
    }
    this.#loseStream(stream, 'its snapshot is damaged');
    return undefined;
  }

  /** What cannot be rebuilt begins anew behind everything there is. */
  #loseStream(stream: string, reason: string): void {
    const message = `stream ${stream} is lost: ${reason}; it begins anew when its feeds come back`;
    this.damage.push({ stream, message });
    this.saveSnapshot(stream, this.lastPosition, null);
  }

  /** Reads a range as far as LevelDB can. */
  async *#readable(range: { gte: string; lt: string }, what: string): AsyncGenerator<[string, Buffer]> {
    try {
      for await (const entry of this.#db.iterator(range)) yield entry as [string, Buffer];
    } catch (error) {
      if (error instanceof FormatError || this.#closed) throw error;
      const { message } = ((error as Error).cause ?? error) as Error;
      this.damage.push({ message: `${what} cannot be read to the end: ${message}; run: tgospa repair` });
    }
  }

  /** The last snapshot of a stream, whether on disk or on its way there; undefined when there is none. */
  async snapshotOf(stream: string): Promise<Snapshot | undefined> {
    const key = `s${stream}`;
    if (!this.#extras.has(key)) await this.#underwayDone;
    const value = this.#extras.get(key) ?? (await this.#db.get(key));
    return value && this.#readSnapshot(key, value);
  }

  /** Durable records of one stream behind a position, up to another; what is damaged is left out, and named. */
  async *recordsOf(stream: string, after: number, upTo: number): AsyncGenerator<Stored> {
    let continuity: Continuity | null = null;
    const range = { ...COMMITS, gte: await this.#commitAt(after + 1), lt: keyBehind(upTo) };
    for await (const [key, value] of this.#readable(range, 'the log')) {
      // what comes before was dropped, because nobody needs it
      continuity ??= new Continuity(Math.max(after + 1, parseKey(key).position));
      for (const stored of this.#readCommit(key, value, continuity))
        if (stored.record.stream === stream && stored.position > after && stored.position <= upTo) yield stored;
    }
    continuity?.end(upTo);
    this.#addDamage(continuity?.damage ?? []);
  }

  /** What the same place has been named for is not named again. */
  #addDamage(found: readonly Damage[]): void {
    for (const one of found) if (!this.damage.some(({ message }) => message === one.message)) this.damage.push(one);
  }

  /** Records after the snapshots of their streams, in order; to be read once, after open. */
  async *records(): AsyncGenerator<Stored> {
    if (this.#recoveredFloor === null) return;
    const floor = this.#recoveredFloor;
    const continuity = new Continuity(Math.min(floor, this.lastPosition));
    const last = this.lastPosition;
    const range = { ...COMMITS, gte: await this.#commitAt(floor), lt: keyBehind(last) };
    for await (const [key, value] of this.#readable(range, 'the log'))
      for (const stored of this.#readCommit(key, value, continuity)) {
        const { position, record } = stored;
        if (record.kind === 'part') continuity.part(record.stream, record.tracker, record.part.seq);
        if (this.#covered.covers(record.stream, position)) continue;
        this.#covered.addRecord(record.stream, position);
        yield stored;
      }
    continuity.end(last);
    this.#addDamage([...continuity.damage, ...continuity.suspects(this.#covered.snapshots())]);
    this.#recoveredFloor = null;
  }

  /** The records of a commit; none when it is damaged, which shows as a gap. */
  #readCommit(key: string, value: Buffer, continuity: Continuity): Stored[] {
    try {
      const { first, count } = readHeader(key, value);
      const records = [...readRecords(key, value)];
      if (first !== parseKey(key).position || records.length !== count) return [];
      continuity.commit(first, count);
      return records;
    } catch {
      return [];
    }
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
    this.#acked.close();
  }

  async #load(): Promise<void> {
    await checkVersion(this.#db, this.settings.dir);
    const positions = await this.#loadSnapshots();
    await this.#readEnds(Math.max(this.#acked.read(), 0, ...positions.values()));
    for (const [stream, position] of positions)
      if (!this.#covered.covers(stream, position)) this.#loseStream(stream, 'its last snapshot is lost');
    await this.#checkInventory();
  }

  /** Which records snapshots cover; returns the positions as they are kept once more. */
  async #loadSnapshots(): Promise<Map<string, number>> {
    for await (const [key, sealed] of this.#readable(SNAPSHOTS, 'the snapshots')) {
      this.#inventory.snapshots.set(key, sealed);
      const value = unseal(key, sealed);
      if (value) this.#covered.addSnapshot(key.slice(1), value.readDoubleLE(0), value.length === 8);
    }
    const positions = new Map<string, number>();
    for await (const [key, sealed] of this.#readable(POSITIONS, 'the positions of snapshots')) {
      const value = unseal(key, sealed);
      if (value) positions.set(key.slice(1), value.readDoubleLE(0));
    }
    return positions;
  }

  /** Whether all snapshots and events are there that were stored. */
  async #checkInventory(): Promise<void> {
    for await (const [key, sealed] of this.#readable(EVENTS, 'the event history'))
      this.#inventory.events.set(key, sealed);
    const expected = await this.#db.get(INVENTORY_KEY);
    const empty = this.#inventory.snapshots.value[0] + this.#inventory.events.value[0] === 0;
    if (expected === undefined ? empty : expected.equals(sealInventory(this.#inventory))) return;
    this.damage.push({ message: 'snapshots or events are missing, or older than they were' });
  }

  /** Where the log begins and ends; it once went up to `expected` at least. */
  async #readEnds(expected: number): Promise<void> {
    let last = 0;
    for await (const [key, value] of this.#db.iterator({ ...COMMITS, reverse: true })) {
      last ||= parseKey(key).position;
      const header = headerOf(key, value);
      if (!header) continue;
      const { first, count, floor, applied } = header;
      last = Math.max(last, first + count - 1);
      this.#recoveredFloor = floor;
      this.#publishedUpTo = applied;
      this.#bytesBefore = parseKey(key).bytesBefore + value.length;
      break;
    }
    // no position is ever used twice: what is lost leaves a gap
    this.#nextPosition = Math.max(last, expected) + 1;
    if (this.#recoveredFloor === null && this.lastPosition > 0)
      this.damage.push({ message: `the log is lost, up to record ${this.lastPosition}` });
    await this.#retention.load(this.#db, this.#owner.now());
  }

  /** Key of the commit that holds a position, or of the first one. */
  async #commitAt(position: number): Promise<string> {
    const options = { gte: COMMITS.gte, lt: keyBehind(position), reverse: true, limit: 1 };
    for await (const key of this.#db.keys(options)) return key;
    return COMMITS.gte;
  }

  /** Where the commit stands that holds a position, or the oldest one behind it; null when there is none. */
  async placeOf(position: number): Promise<ParsedKey | null> {
    const key = await this.#commitAt(position);
    const range = { ...COMMITS, gte: key, limit: 1 };
    for await (const found of this.#db.keys(range)) return parseKey(found);
    return null;
  }

  /** For whoever looks back. */
  async *batches(position: number, reverse: boolean): AsyncGenerator<PastBatch> {
    const range = reverse
      ? { gte: COMMITS.gte, lt: keyBehind(position), reverse }
      : { ...COMMITS, gte: await this.#commitAt(position) };
    for await (const [key, value] of this.#db.iterator(range)) {
      const end = headerOf(key, value) ? value.length : HEADER_BYTES;
      yield { bytes: value.length, records: value.subarray(HEADER_BYTES, end) };
    }
  }

  /** Every record before this position is covered by a snapshot. */
  #floor(): number {
    // until the old records have been read, nobody knows whose they are
    return this.#covered.floor(this.#recoveredFloor ?? this.#nextPosition);
  }

  #behind(): StorageFault {
    return new StorageFault(
      'storage_behind',
      `${this.#waitingBytes} bytes wait for the disk; it is too slow, or raise data.queueMaxBytes (now ${this.settings.queueMaxBytes})`,
    );
  }

  #arm(): void {
    this.#sinceMs ??= performance.now();
    if (this.#underwayDone || this.#fault || this.#closed) return;
    if (this.#waitingBytes >= this.settings.commitBytes) {
      void this.#commit();
      return;
    }
    if (this.#timer) return;
    // what came while the last commit was underway has waited already
    const restMs = this.settings.groupCommitMs - (performance.now() - this.#sinceMs);
    this.#timer = setTimeout(() => void this.#commit(), Math.max(0, restMs));
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
    this.#sinceMs = null;
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
    if (extras.size > 0) operations.push({ type: 'put', key: INVENTORY_KEY, value: sealInventory(this.#inventory) });
    return { operations, first: operations[0].key, bytes };
  }

  #committed(batches: Batch[], bytes: number): void {
    this.#gauges.commits++;
    this.#underway = [];
    this.#bytesBefore = bytes;
    if (batches.length > 0 && this.#retention.oldestMs === 0) this.#retention.oldestMs = this.#owner.now();
    for (const batch of batches) {
      this.#nextPosition = batch.first + batch.records.length;
      for (let n = 0; n < batch.records.length; n++) this.#covered.addRecord(batch.records[n].stream, batch.first + n);
      this.#owner.committed(batch.first, batch.records);
      batch.resolve();
      this.#spare(batch.writer);
    }
    if (batches.length > 0) this.#markAcked();
  }

  #spare(writer: RecordWriter): void {
    let bytes = writer.capacity;
    for (const { capacity } of this.#spareWriters) bytes += capacity;
    if (this.#spareWriters.length < SPARE_WRITERS_MAX && bytes <= SPARE_BYTES_MAX) this.#spareWriters.push(writer);
  }

  #markAcked(): void {
    try {
      this.#acked.write(this.lastPosition);
    } catch {
      // a disk that is full; an older mark says less, but nothing wrong
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
        this.#db = await this.folder.openDatabase();
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
    if (held) this.#owner.heldBack(this.#covered.oldest());
    for (const stream of this.#covered.dropRetired(this.#floor()))
      for (const key of [`s${stream}`, `p${stream}`]) this.#setExtra(key, null);
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
