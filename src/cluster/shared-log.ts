/**
 * The log of a partition as its owner sees it (`store/log-port.ts`): records that gateways and owners append to
 * JetStream, delivered in order; events in a chain that only the last owner can add to; snapshots in cells.
 *
 * Invariants: whoever opens it claims the chain first, so what it then reads of the log and publishes follows what the
 * owner before could publish. A snapshot is written after the events of its records. Reports are values, not events:
 * they are not in the chain, and a link is written only when there is an event to store.
 */
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { eventKey } from '../store/commit.js';
import type { DurableLog, LogGauges, LogOwner, SetAside, Snapshot, Stored } from '../store/log-port.js';
import { type LogRecord, RecordReader } from '../store/record.js';
import { StorageFault } from '../store/storage-fault.js';
import { readDeaths } from './death-toll.js';
import { decodeLink, EventChain } from './event-chain.js';
import { FeedOrigins } from './feed-origins.js';
import type { Layout } from './layout.js';
import { LogFloor } from './log-floor.js';
import { type Cell, FencedError, TooLargeError } from './nats/cell.js';
import { readAll } from './nats/follow.js';
import type { PartitionStream, StoredBatch } from './nats/partition-stream.js';
import { type PartitionLog, positionOf, sequenceOf } from './partition-log.js';
import { SharedPast } from './shared-past.js';
import { type OutgoingSnapshot, packed, SnapshotCells } from './snapshot-cells.js';

export interface SharedLogSettings {
  /** covered records are kept while the log is not larger than this */
  logKeepBytes: number;
  /** how often covered records are looked for */
  purgeMs: number;
  /** a stream that holds back more batches than this is snapshotted */
  heldBatches: number;
  configVersion: number;
}

export interface SharedLogParts {
  layout: Layout;
  partition: number;
  /** who opens it */
  owner: string;
  /** of this process, for the partition */
  writer: PartitionLog;
  settings: SharedLogSettings;
}

/** What is published of an event: no report, and only what can leave the process. */
interface StoredEvent {
  key: string | null;
  event: unknown;
}

/** of `logKeepBytes`: what a log that grew larger is cut down to */
const KEPT_SHARE = 0.75;

const isReport = (event: unknown): boolean => (event as { type?: string }).type === 'report';
/** Position of the last record that a batch could have. */
const endOf = (sequence: number): number => (sequence === 0 ? 0 : positionOf(sequence + 1, 0) - 1);

export class SharedLog implements DurableLog {
  readonly shared = true;
  readonly damage = [];
  readonly publishedUpTo: number;
  readonly lastPosition: number;
  readonly origins = new FeedOrigins();
  readonly past: SharedPast;
  readonly #floor = new LogFloor();
  readonly #over = new AbortController();
  readonly #batches: AsyncGenerator<StoredBatch>;
  /** everything up to this batch was handed over */
  #delivered: number;
  #deliveryWaiters: Array<{ sequence: number; resolve: () => void }> = [];
  #snapshots: OutgoingSnapshot[] = [];
  #saving: Promise<void> | null = null;
  /** streams whose last snapshot was too large */
  readonly #unsaved = new Set<string>();
  #publishedUpTo: number;
  /** the key that the history has an event under */
  readonly #keys = new WeakMap<object, string>();
  #purge: NodeJS.Timeout | null = null;
  /** one write of the floor at a time */
  #floorWrites: Promise<void> = Promise.resolve();
  /** the owner has been told that it is none any more */
  #isLost = false;
  #bytes = 0;
  #links = 0;
  /** records that were repeated to take the partition over */
  replayed = 0;
  /** milliseconds to claim it and to read its snapshots */
  openMs = 0;

  private constructor(
    readonly parts: SharedLogParts,
    readonly tellOwner: LogOwner,
    readonly stream: PartitionStream,
    readonly chain: EventChain,
    readonly cells: SnapshotCells,
    readonly stored: Snapshot[],
    readonly floorCell: Cell,
    private base: Base,
    private baseRevision: number,
    readonly deaths: ReadonlyMap<number, number>,
    last: number,
  ) {
    const { floor: first } = base;
    this.publishedUpTo = this.#publishedUpTo = chain.upTo;
    this.lastPosition = endOf(last);
    this.#delivered = Math.max(first - 1, 0);
    this.#batches = stream.read(first, this.#over.signal, last);
    this.past = new SharedPast(stream, () => this.#delivered, this.#over.signal);
  }

  /** Claims the partition: from now on the owner before can publish nothing. */
  static async open(parts: SharedLogParts, tellOwner: LogOwner): Promise<SharedLog> {
    const { layout, partition, owner } = parts;
    const began = performance.now();
    const chain = await EventChain.claim(await layout.chainCell(partition), owner);
    const stream = await layout.log(partition);
    const cells = new SnapshotCells(layout, partition);
    const floorCell = await layout.floorCell(partition);
    const { base, revision } = await claimBase(floorCell);
    const stored = await cells.load(revision);
    const deaths = await readDeaths(await layout.deathCell(partition));
    const last = await stream.lastSequence();
    const log = new SharedLog(parts, tellOwner, stream, chain, cells, stored, floorCell, base, revision, deaths, last);
    log.openMs = performance.now() - began;
    return log;
  }

  get fault(): StorageFault | null {
    return this.parts.writer.fault;
  }

  get gauges(): LogGauges {
    const { writer } = this.parts;
    const waiting = this.#snapshots.reduce((sum, { packed }) => sum + packed.length, 0);
    return {
      bytes: this.#bytes,
      commits: writer.batches,
      // enough to see that something waits
      queuedRecords: writer.queuedBytes > 0 ? 1 : 0,
      queuedBytes: writer.queuedBytes + waiting,
      faults: writer.retries,
      damagedPlaces: 0,
      commitMs: writer.publishMs,
      oldestMs: 0,
      freeBytes: 1,
      neededBytes: 0,
    };
  }

  /** Everything that a takeover would read is behind this batch. */
  get deliveredSequence(): number {
    return this.#delivered;
  }

  /** Throws a StorageFault at once when nothing is accepted, as the embedded log does. */
  append(record: LogRecord): Promise<void> {
    const stored = this.parts.writer.append(record).then((position) => this.#delivery(sequenceOf(position)));
    // a record nobody waits for may fail quietly
    stored.catch(() => {});
    return stored;
  }

  #delivery(sequence: number): Promise<void> {
    if (this.#delivered >= sequence || this.#isLost || this.#over.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => this.#deliveryWaiters.push({ sequence, resolve }));
  }

  /** Resolves when everything is delivered that is in the log by now. */
  async catchUp(): Promise<void> {
    await this.#delivery(await this.stream.lastSequence());
  }

  async *records(): AsyncGenerator<Stored> {
    const last = sequenceOf(this.lastPosition);
    while (this.#delivered < last) {
      const batch = await this.#batches.next();
      if (batch.done) throw new StorageFault('storage_closed', 'the log was closed while it was read');
      this.#delivered = batch.value.sequence;
      yield* this.#uncovered(batch.value);
    }
  }

  /** Records that no snapshot covers; of the others only who brought them matters. */
  *#uncovered({ sequence, bytes, from }: StoredBatch): Generator<Stored> {
    const reader = readerOf(bytes);
    for (let index = 0; !reader.done; index++) {
      const head = reader.head();
      const position = positionOf(sequence, index);
      const isCovered = position <= this.cells.positionOf(head.stream);
      if (isCovered && head.kind === 'part') {
        this.origins.record(from, [head]);
        reader.skip();
        continue;
      }
      const record = reader.read();
      this.origins.record(from, [record]);
      if (isCovered) continue;
      this.replayed++;
      this.#floor.add(record.stream, position);
      yield { position, record };
    }
  }

  follow(): void {
    void this.#deliver().catch((error) => this.#lose(error));
    this.#purge = setInterval(() => void this.#purgeCovered().catch(() => {}), this.parts.settings.purgeMs);
    this.#purge.unref();
  }

  async #deliver(): Promise<void> {
    for await (const batch of this.#batches) {
      if (this.#over.signal.aborted) return;
      if (batch.sequence <= this.#delivered) continue;
      const stored = [...recordsIn(batch)];
      for (const { position, record } of stored) this.#floor.add(record.stream, position);
      const records = stored.map(({ record }) => record);
      this.origins.record(batch.from, records);
      this.tellOwner.committed(positionOf(batch.sequence, 0), records);
      this.#delivered = batch.sequence;
      const waiting = this.#deliveryWaiters;
      this.#deliveryWaiters = waiting.filter(({ sequence }) => sequence > this.#delivered);
      for (const { sequence, resolve } of waiting) if (sequence <= this.#delivered) resolve();
    }
    if (!this.#over.signal.aborted) throw new Error('the connection to the brokers was closed');
  }

  #lose(error: unknown): void {
    if (this.#over.signal.aborted || this.#isLost) return;
    this.#isLost = true;
    this.#releaseWaiting();
    this.tellOwner.fenced?.(String((error as Error).message ?? error));
  }

  async publish(upTo: number, events: readonly unknown[]): Promise<void> {
    const { configVersion } = this.parts.settings;
    const stored = events.flatMap((event): StoredEvent[] =>
      isReport(event) ? [] : [{ key: this.#keys.get(event as object) ?? null, event }],
    );
    // what is published follows from what was set aside
    await this.#floorWrites;
    const isConfigured = configVersion > this.chain.configVersion;
    this.chain.configured(configVersion);
    if (stored.length > 0 || isConfigured) {
      await this.chain.publish(upTo, stored, this.#over.signal);
      this.#links++;
    }
    this.#publishedUpTo = upTo;
    this.#saveReady();
  }

  /** Links of the chain that were added here. */
  get links(): number {
    return this.#links;
  }

  saveSnapshot(stream: string, position: number, state: unknown): void {
    const snapshot = packed(stream, position, state);
    this.#snapshots = this.#snapshots.filter((waiting) => waiting.stream !== stream);
    this.#snapshots.push(snapshot);
    this.#saveReady();
  }

  #saveReady(): void {
    this.#saving ??= this.#save().finally(() => {
      this.#saving = null;
      // one that is closed saves nothing more: it would come back here for ever, without a pause
      if (this.#over.signal.aborted || this.#isLost) return;
      if (this.#snapshots.some(({ position }) => position <= this.#publishedUpTo)) this.#saveReady();
    });
  }

  async #save(): Promise<void> {
    for (;;) {
      const at = this.#snapshots.findIndex(({ position }) => position <= this.#publishedUpTo);
      if (at < 0 || this.#over.signal.aborted || this.#isLost) return;
      const [snapshot] = this.#snapshots.splice(at, 1);
      try {
        await this.cells.save(snapshot, this.#over.signal);
        this.#floor.covered(snapshot.stream, snapshot.position);
        this.#unsaved.delete(snapshot.stream);
      } catch (error) {
        if (error instanceof TooLargeError) this.#doWithout(snapshot.stream, error);
        else {
          if (!this.#over.signal.aborted) this.#lose(error);
          return;
        }
      }
    }
  }

  /** A stream without a snapshot goes on: its records stay in the log. */
  #doWithout(stream: string, { message }: TooLargeError): void {
    if (this.#unsaved.has(stream)) return;
    this.#unsaved.add(stream);
    this.tellOwner.unsaved?.(stream, message);
  }

  /** Where the next owner begins to read is written before anything is dropped. */
  async #purgeCovered(): Promise<void> {
    const { logKeepBytes, heldBatches } = this.parts.settings;
    const floor = this.#floor.floor(this.#delivered + 1);
    if (this.#delivered - floor > heldBatches)
      this.tellOwner.heldBack(this.#floor.holders(this.#delivered - heldBatches));
    if (floor === this.base.floor) return;
    await this.#writeBase(() => ({ floor, setAside: this.setAside }));
    const { firstSequence, lastSequence, bytes } = await this.stream.state();
    this.#bytes = bytes;
    if (bytes <= logKeepBytes) return;
    // batches are about as large as each other; what stays can be looked back into
    const kept = ((lastSequence - firstSequence) * KEPT_SHARE * logKeepBytes) / bytes;
    await this.stream.purgeBelow(Math.min(floor, Math.ceil(lastSequence - kept)));
  }

  /** Whoever takes a partition over writes this first: an owner before it drops nothing, and sets nothing aside. */
  #writeBase(next: () => Base): Promise<void> {
    this.#floorWrites = this.#floorWrites.then(async () => {
      const base = next();
      const setAside = base.setAside.filter(({ position }) => sequenceOf(position) >= base.floor).slice(-SET_ASIDE_MAX);
      try {
        const bytes = encodeBase({ ...base, setAside });
        this.baseRevision = await this.floorCell.write(this.baseRevision, bytes, this.#over.signal);
        this.base = { ...base, setAside };
      } catch (error) {
        if (error instanceof FencedError) this.#lose(error);
        throw error;
      }
    });
    this.#floorWrites.catch(() => {});
    return this.#floorWrites;
  }

  get setAside(): readonly SetAside[] {
    return this.base.setAside;
  }

  saveSetAside(one: SetAside): void {
    void this.#writeBase(() => ({ ...this.base, setAside: [...this.setAside, one] }));
  }

  saveEvent(key: string, event: unknown): void {
    if (event !== null) this.#keys.set(event as object, key);
  }

  /** Of the chain, as far as it is kept. Streams are rebuilt meanwhile: it takes no more than its turns. */
  async events(): Promise<Array<{ key: string; event: unknown }>> {
    const { layout, partition } = this.parts;
    const found: Array<{ key: string; event: unknown }> = [];
    const [stream, subject] = [layout.eventStream, layout.eventSubject(partition)];
    for (const { bytes } of await readAll(layout.connection, stream, subject, this.#over.signal)) {
      if (this.#over.signal.aborted) return [];
      const { upTo, events } = decodeLink(bytes);
      for (const [n, { key, event }] of (events as StoredEvent[]).entries())
        found.push({ key: key ?? eventKey(upTo, n), event });
      await turn();
    }
    return found;
  }

  async *snapshots(): AsyncGenerator<Snapshot> {
    yield* this.stored.splice(0);
  }

  snapshotOf(stream: string): Promise<Snapshot | undefined> {
    return this.cells.of(stream);
  }

  async *recordsOf(stream: string, after: number, upTo: number): AsyncGenerator<Stored> {
    const last = Math.min(sequenceOf(upTo), await this.stream.lastSequence());
    const first = sequenceOf(after);
    if (first > last || last === 0) return;
    for await (const batch of this.stream.read(first, this.#over.signal)) {
      for (const stored of recordsIn(batch))
        if (stored.record.stream === stream && stored.position > after && stored.position <= upTo) yield stored;
      if (batch.sequence >= last) return;
    }
  }

  /** What was appended here is stored and delivered, and snapshots whose events are out are stored. */
  async flush(): Promise<void> {
    await this.parts.writer.settled();
    await this.catchUp();
    while (this.#saving) await this.#saving;
  }

  async close(): Promise<void> {
    await Promise.race([this.flush(), once(this.#over.signal, 'abort')]);
    await this.kill();
  }

  async kill(): Promise<void> {
    if (this.#purge) clearInterval(this.#purge);
    this.#over.abort();
    this.#releaseWaiting();
  }

  /** Nothing is delivered any more: nobody waits for it. */
  #releaseWaiting(): void {
    for (const { resolve } of this.#deliveryWaiters.splice(0)) resolve();
  }
}

/** What a takeover begins with, in the cell of the floor. */
interface Base {
  /** the first batch that is to be read */
  floor: number;
  /** records behind it that are left out */
  setAside: readonly SetAside[];
}

/** the oldest are forgotten when there are more */
const SET_ASIDE_MAX = 1000;

/** A number alone where nothing is set aside. */
const encodeBase = ({ floor, setAside }: Base): Uint8Array =>
  Buffer.from(JSON.stringify(setAside.length === 0 ? floor : { floor, setAside }));

function decodeBase(bytes: Uint8Array): Base {
  const base: Base | number = bytes.length === 0 ? 1 : JSON.parse(Buffer.from(bytes).toString());
  return typeof base === 'number' ? { floor: base, setAside: [] } : base;
}

/**
 * Where the log is to be read from. It is written again as it was: what was stored before that is then read whatever
 * copy of the snapshots answers, and the owner before can drop nothing any more.
 */
async function claimBase(cell: Cell): Promise<{ base: Base; revision: number }> {
  for (;;) {
    const { revision, bytes } = await cell.read();
    const base = decodeBase(bytes);
    try {
      return { base, revision: await cell.write(revision, encodeBase(base)) };
    } catch (error) {
      // the owner before has written it meanwhile
      if (!(error instanceof FencedError)) throw error;
    }
  }
}

const readerOf = (bytes: Uint8Array) => new RecordReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));

function* recordsIn({ sequence, bytes }: StoredBatch): Generator<Stored> {
  const reader = readerOf(bytes);
  for (let index = 0; !reader.done; index++) yield { position: positionOf(sequence, index), record: reader.read() };
}
