/**
 * A log that several owners share, in memory: it has gaps between positions, stores what it is told to store twice, and
 * fences whoever is not its last owner. What an engine on other machines has to do is here in its shortest form.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { packSnapshot, unpackSnapshot } from '../../src/store/formats.js';
import type { DurableLog, LogOwner, SetAside, Snapshot, Stored } from '../../src/store/log-port.js';
import { type LogRecord, RecordReader, RecordWriter } from '../../src/store/record.js';
import type { LiveEvent } from '../../src/wire/events.js';

/** Positions of a batch are consecutive, and far from those of the next one. */
const BATCH_RECORDS = 65_536;

interface StoredSnapshot {
  position: number;
  packed: Uint8Array | null;
}

export class SharedPartition {
  readonly batches: Array<{ first: number; records: LogRecord[] }> = [];
  /** events in the order in which they were published */
  readonly chain: LiveEvent[] = [];
  upTo = 0;
  owners = 0;
  readonly snapshots = new Map<string, StoredSnapshot>();
  readonly history = new Map<string, unknown>();
  readonly setAside: SetAside[] = [];
  /** position: how often a process has ended there */
  readonly deaths = new Map<number, number>();
  readonly #followers = new Set<() => void>();

  get records(): Stored[] {
    return this.batches.flatMap(({ first, records }) => records.map((record, n) => ({ position: first + n, record })));
  }

  get lastPosition(): number {
    const last = this.batches.at(-1);
    return last ? last.first + last.records.length - 1 : 0;
  }

  /** Stores a batch, whoever sends it, as it comes over a wire. */
  append(records: readonly LogRecord[]): void {
    const writer = new RecordWriter();
    for (const record of records) writer.write(record);
    const reader = new RecordReader(Buffer.from(writer.bytes()));
    const read: LogRecord[] = [];
    while (!reader.done) read.push(reader.read());
    this.batches.push({ first: (this.batches.length + 1) * BATCH_RECORDS, records: read });
    for (const tell of this.#followers) tell();
  }

  follow(tell: () => void): () => void {
    this.#followers.add(tell);
    return () => void this.#followers.delete(tell);
  }

  /** The engine of a new owner, which fences the one before; for `Machine.openLog`. */
  readonly openLog = async (_settings: unknown, owner: LogOwner): Promise<DurableLog> => new SharedLog(this, owner);
}

class SharedLog implements DurableLog {
  readonly shared = true;
  readonly fault = null;
  readonly damage = [];
  readonly publishedUpTo: number;
  readonly #epoch: number;
  #delivered: number;
  #delivering = false;
  #closed = false;
  #waiting: Array<{ stream: string; position: number; packed: Uint8Array | null }> = [];
  #unfollow = () => {};

  constructor(
    readonly partition: SharedPartition,
    readonly owner: LogOwner,
  ) {
    this.#epoch = ++partition.owners;
    this.publishedUpTo = partition.upTo;
    this.#delivered = partition.batches.length;
  }

  get lastPosition(): number {
    const last = this.partition.batches[this.#delivered - 1];
    return last ? last.first + last.records.length - 1 : 0;
  }

  readonly gauges = {
    bytes: 0,
    commits: 0,
    queuedRecords: 0,
    queuedBytes: 0,
    faults: 0,
    damagedPlaces: 0,
    commitMs: 0,
    oldestMs: 0,
    freeBytes: 1,
    neededBytes: 0,
  };

  async append(record: LogRecord): Promise<void> {
    const before = this.partition.batches.length;
    this.partition.append([record]);
    while (!this.#closed && this.#delivered <= before) await turn();
  }

  follow(): void {
    this.#unfollow = this.partition.follow(() => void this.#deliver());
    void this.#deliver();
  }

  async #deliver(): Promise<void> {
    if (this.#delivering) return;
    this.#delivering = true;
    await turn();
    while (!this.#closed && this.#delivered < this.partition.batches.length) {
      const { first, records } = this.partition.batches[this.#delivered++];
      this.owner.committed(first, records);
    }
    this.#delivering = false;
  }

  /** Whoever is not the last owner writes nothing. */
  #check(): void {
    if (this.partition.owners === this.#epoch) return;
    this.owner.fenced?.('another owner has it');
    throw new Error('another owner has it');
  }

  async publish(upTo: number, events: readonly unknown[]): Promise<void> {
    await turn();
    this.#check();
    this.partition.upTo = upTo;
    this.partition.chain.push(...(events as LiveEvent[]));
    const ready = this.#waiting.filter(({ position }) => position <= upTo);
    this.#waiting = this.#waiting.filter(({ position }) => position > upTo);
    for (const { stream, ...snapshot } of ready) this.partition.snapshots.set(stream, snapshot);
  }

  get setAside(): readonly SetAside[] {
    return this.partition.setAside;
  }

  get deaths(): ReadonlyMap<number, number> {
    return this.partition.deaths;
  }

  saveSetAside(one: SetAside): void {
    this.partition.setAside.push(one);
  }

  saveSnapshot(stream: string, position: number, state: unknown): void {
    const packed = state === null ? null : state instanceof Uint8Array ? state : packSnapshot(state);
    this.#waiting.push({ stream, position, packed: packed && Uint8Array.from(packed) });
  }

  saveEvent(key: string, event: unknown): void {
    if (event === null) this.partition.history.delete(key);
    else this.partition.history.set(key, event);
  }

  async events(): Promise<Array<{ key: string; event: unknown }>> {
    return [...this.partition.history].sort().map(([key, event]) => ({ key, event }));
  }

  async *snapshots(): AsyncGenerator<Snapshot> {
    for (const [stream, snapshot] of this.partition.snapshots) yield unpacked(stream, snapshot);
  }

  async snapshotOf(stream: string): Promise<Snapshot | undefined> {
    const snapshot = this.partition.snapshots.get(stream);
    return snapshot && unpacked(stream, snapshot);
  }

  async *recordsOf(stream: string, after: number, upTo: number): AsyncGenerator<Stored> {
    for (const stored of this.partition.records)
      if (stored.record.stream === stream && stored.position > after && stored.position <= upTo) yield stored;
  }

  async *records(): AsyncGenerator<Stored> {
    const last = this.lastPosition;
    for (const stored of this.partition.records)
      if (
        stored.position <= last &&
        stored.position > (this.partition.snapshots.get(stored.record.stream)?.position ?? 0)
      )
        yield stored;
  }

  async flush(): Promise<void> {}

  async close(): Promise<void> {
    await this.kill();
  }

  async kill(): Promise<void> {
    this.#closed = true;
    this.#unfollow();
  }
}

const unpacked = (stream: string, { position, packed }: StoredSnapshot): Snapshot => ({
  stream,
  position,
  state: packed && unpackSnapshot(Buffer.from(packed), stream),
});
