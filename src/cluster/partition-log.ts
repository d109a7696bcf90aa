/**
 * The log of a partition on JetStream, with the discipline of the embedded one: records gather for a few milliseconds,
 * one batch is underway at a time, and a record is durable when its batch is acknowledged.
 *
 * Invariants: batches are stored in the order of `append`; one that is not acknowledged is repeated until it is, and
 * nothing behind it is sent before. A batch may therefore be stored twice: whoever applies the log drops records that
 * a feed is already past. Two batches underway would be worse: the first may fail while the second is stored.
 */
import { type LogRecord, RecordReader, RecordWriter } from '../store/record.js';
import { StorageFault } from '../store/storage-fault.js';
import { type PartitionStream, StreamFullError } from './nats/partition-stream.js';

export interface PartitionLogSettings {
  /** records that come within this time share a batch */
  gatherMs: number;
  /** a batch of this size does not wait; while another is underway, it may become three times as large */
  batchBytes: number;
  /** more than this waiting is refused */
  queueMaxBytes: number;
  /** an acknowledgement that has not come within this time is asked for again */
  timeoutMs: number;
  /** wait between two attempts */
  retryMs: number;
  /** the process that appends */
  from?: string;
  /** a batch that took longer was a stall: what waited behind it was late through no fault of its sender */
  stallMs: number;
}

/** A record with its position. */
export interface Positioned {
  position: number;
  record: LogRecord;
}

/** Batches have at most so many records: a position is sequence x this + index. */
export const BATCH_RECORDS = 65_536;

export const positionOf = (sequence: number, index: number): number => sequence * BATCH_RECORDS + index;
export const sequenceOf = (position: number): number => Math.floor(position / BATCH_RECORDS);

/** in terms of `batchBytes`: so much may go at once while the one before is underway */
const GROWTH = 3;
/** of what a broker accepts in one message: headers need room, too */
const PAYLOAD_SHARE = 0.9;
const SPARE_WRITERS_MAX = 4;

class Batch {
  count = 0;
  readonly sinceMs = performance.now();
  readonly durable: Promise<number>;
  resolve!: (sequence: number) => void;
  reject!: (fault: StorageFault) => void;

  /** `writer` may be one of a former batch. */
  constructor(readonly writer = new RecordWriter()) {
    writer.truncate(0);
    this.durable = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // a record nobody waits for may fail quietly
    this.durable.catch(() => {});
  }
}

export class PartitionLog {
  #waiting: Batch[] = [];
  /** buffers of former batches, to be filled again */
  readonly #spareWriters: RecordWriter[] = [];
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | null = null;
  #underway: Promise<void> | null = null;
  /** when the batch underway was first sent, by our monotonic clock; after a stall, the first of those behind it */
  #sentMs = 0;
  /** what is underway waited behind a stall */
  #catchesUp = false;
  #closed = false;
  #fault: StorageFault | null = null;
  /** attempts that failed, since the start */
  retries = 0;
  /** milliseconds from the first attempt of the last batch to its acknowledgement */
  publishMs = 0;
  /** batches so far */
  batches = 0;
  /** told of every attempt that failed, and of every batch that is stored, with its seconds */
  failed: (() => void) | null = null;
  published: ((seconds: number) => void) | null = null;
  /** told after a stall, with its milliseconds */
  stalled: ((ms: number) => void) | null = null;

  constructor(
    readonly stream: Pick<PartitionStream, 'append' | 'payloadMax'>,
    readonly settings: PartitionLogSettings,
  ) {}

  /** Why nothing is accepted; null while it is. What was accepted before is stored once the fault is over. */
  get fault(): StorageFault | null {
    return this.#fault;
  }

  /** Accepts a record, or throws a StorageFault at once; resolves with its position when it is durable. */
  append(record: LogRecord): Promise<number> {
    const { durable, index } = this.#add(record);
    return durable.then((sequence) => positionOf(sequence, index));
  }

  /** The same, with the sequence number; records of one batch share their promise. */
  appendBatched(record: LogRecord): Promise<number> {
    return this.#add(record).durable;
  }

  #add(record: LogRecord): { durable: Promise<number>; index: number } {
    if (this.#closed) throw new StorageFault('storage_closed', 'the log is closed');
    if (this.#fault) throw this.#fault;
    if (this.#waitingBytes > this.settings.queueMaxBytes)
      throw new StorageFault(
        'storage_behind',
        `${this.#waitingBytes} bytes wait for the broker; it is slow or out of reach`,
      );
    const last = this.#waiting.at(-1);
    const batch = (last && this.#fill(last, record)) ?? this.#newBatch(record);
    const index = batch.count++;
    this.#arm(batch);
    return { durable: batch.durable, index };
  }

  /** Resolves when everything is stored that was accepted by now, or is not going to be. */
  async settled(): Promise<void> {
    const last: Promise<unknown> | null = this.#waiting.at(-1)?.durable ?? this.#underway;
    await last?.catch(() => {});
  }

  get queuedBytes(): number {
    return this.#waitingBytes;
  }

  /**
   * Milliseconds since the first attempt of the batch underway or, after a stall, of the one that stalled, until what
   * waited behind it is stored as well; 0 when there is none.
   */
  get unacknowledgedMs(): number {
    return this.#underway ? performance.now() - this.#sentMs : 0;
  }

  /** Adds a record to a batch, unless it would become larger than one may be: a broker would never take it. */
  #fill(batch: Batch, record: LogRecord): Batch | null {
    const most = Math.min(GROWTH * this.settings.batchBytes, PAYLOAD_SHARE * this.stream.payloadMax);
    if (batch.count === BATCH_RECORDS || batch.writer.length >= most) return null;
    const before = batch.writer.length;
    batch.writer.write(record);
    if (batch.writer.length > most) {
      batch.writer.truncate(before);
      return null;
    }
    this.#waitingBytes += batch.writer.length - before;
    return batch;
  }

  #newBatch(record: LogRecord): Batch {
    const batch = new Batch(this.#spareWriters.pop());
    batch.writer.write(record);
    this.#waitingBytes += batch.writer.length;
    this.#waiting.push(batch);
    return batch;
  }

  #arm(batch: Batch): void {
    if (this.#underway) return;
    if (batch.writer.length >= this.settings.batchBytes) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), this.#restMs(batch));
  }

  /** What came while the last batch was underway has waited already. */
  #restMs({ sinceMs }: Batch): number {
    return Math.max(0, this.settings.gatherMs - (performance.now() - sinceMs));
  }

  #send(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const batch = this.#underway ? undefined : this.#waiting.shift();
    if (!batch) return;
    this.#underway = this.#publish(batch).finally(() => {
      this.#underway = null;
      const next = this.#waiting[0];
      if (next) this.#arm(next);
    });
  }

  async #publish(batch: Batch): Promise<void> {
    const bytes = batch.writer.bytes();
    const startMs = performance.now();
    if (!this.#catchesUp) this.#sentMs = startMs;
    while (!this.#closed) {
      try {
        const sequence = await this.stream.append(bytes, this.settings.timeoutMs, this.settings.from);
        this.publishMs = performance.now() - startMs;
        this.batches++;
        this.published?.(this.publishMs / 1000);
        this.#waitingBytes -= bytes.length;
        this.#fault = null;
        batch.resolve(sequence);
        if (this.#spareWriters.length < SPARE_WRITERS_MAX) this.#spareWriters.push(batch.writer);
        this.#catchesUp = this.publishMs > this.settings.stallMs;
        if (this.#catchesUp) this.stalled?.(this.publishMs);
        return;
      } catch (error) {
        // whatever it was, nobody knows whether the batch is stored: only an acknowledgement says so
        this.retries++;
        this.failed?.();
        if (error instanceof StreamFullError) this.#fault = new StorageFault('storage_full', error.message);
        await new Promise((resolve) => setTimeout(resolve, this.settings.retryMs));
      }
    }
    batch.reject(new StorageFault('storage_closed', 'the log was closed before this was stored'));
  }

  /** Waits for what is underway or, after `patienceMs`, gives it up. */
  async close(patienceMs: number): Promise<void> {
    const deadline = performance.now() + patienceMs;
    const patience = setTimeout(() => {
      this.#closed = true;
    }, patienceMs);
    while (this.#waiting.length > 0 || this.#underway) {
      this.#send();
      await this.#underway;
      if (performance.now() > deadline) break;
    }
    clearTimeout(patience);
    this.#closed = true;
    for (const batch of this.#waiting) batch.reject(new StorageFault('storage_closed', 'the log is closed'));
  }
}

/** Every record from a position on, in order, without end. */
export async function* readRecords(
  stream: PartitionStream,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<Positioned> {
  for await (const { sequence, bytes } of stream.read(sequenceOf(from), signal)) {
    const reader = new RecordReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    for (let index = 0; !reader.done; index++) {
      const record = reader.read();
      const position = positionOf(sequence, index);
      if (position >= from) yield { position, record };
    }
  }
}
