/**
 * The streams of one log, by name, wherever they run. Durable records are applied to them in the order of the log; a
 * heavy stream moves to a worker and a retired one goes. What has come of a record is published in order: that of this
 * thread is yielded by `apply`, that of a worker is given to `onResult`.
 */
import type { Config } from '../config/config.js';
import { packSnapshot } from '../store/formats.js';
import type { Snapshot, Stored } from '../store/log.js';
import type { LogRecord } from '../store/record.js';
import type { EventHistory } from '../stream/history.js';
import type { StreamPlan } from '../stream/plan.js';
import type { RunningStream } from '../stream/running-stream.js';
import { Stream, type StreamOptions } from '../stream/stream.js';
import type { Applied } from '../stream/stream-events.js';
import type { PackedSnapshot, WorkerResult, WorkerStream, Workers } from '../stream/workers.js';
import type { LiveEvent } from '../wire/events.js';
import { Backlog } from './backlog.js';
import type { Snapshots } from './snapshots.js';

export interface Logger {
  info(event: string, fields?: Record<string, unknown>): void;
  warn(event: string, fields?: Record<string, unknown>): void;
  error(event: string, fields?: Record<string, unknown>): void;
}

/** Events of the record at this position. */
export interface Published {
  position: number;
  events: LiveEvent[];
}

/** A durable record that is to be applied, and the backlog that counts it. */
export interface Queued extends Stored {
  backlog: Backlog;
}

interface StreamsParts {
  evaluation: Config['evaluation'];
  workers: Workers;
  history: EventHistory;
  snapshots: Snapshots;
  logger: Logger;
  /** position of the newest durable record */
  lastPosition: number;
  /** a record has taken effect */
  onApplied(record: LogRecord): void;
  /** what has come of a record in a worker */
  onResult(published: Published): void;
}

interface Entry {
  stream: RunningStream;
  backlog: Backlog;
}

export class Streams {
  readonly #parts: StreamsParts;
  readonly #options: StreamOptions;
  readonly #entries = new Map<string, Entry>();
  /** of the streams in this thread, and of those that nobody knows */
  readonly #shared: Backlog;
  #backlogMax: number;
  #handledPosition: number;

  constructor(parts: StreamsParts) {
    this.#parts = parts;
    this.#handledPosition = parts.lastPosition;
    const { budgetMs, inlineMs, auditEvery, backlogFrames } = parts.evaluation;
    this.#backlogMax = backlogFrames;
    this.#shared = new Backlog(backlogFrames);
    this.#options =
      parts.workers.count === 0
        ? { budgetMs, auditEvery }
        : { budgetMs: Math.min(inlineMs, budgetMs), auditEvery, heavyMs: inlineMs };
  }

  *[Symbol.iterator](): Generator<RunningStream> {
    for (const { stream } of this.#entries.values()) yield stream;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(name: string): RunningStream | undefined {
    return this.#entries.get(name)?.stream;
  }

  /** Of the last record that was applied, or sent to a worker. */
  get handledPosition(): number {
    return this.#handledPosition;
  }

  /** Everything up to here has been applied and published. */
  get appliedPosition(): number {
    let position = this.#handledPosition;
    if (this.#parts.workers.pending === 0) return position;
    for (const { firstPending } of this) position = Math.min(position, firstPending - 1);
    return position;
  }

  /** Durable records that are not applied yet. */
  get unapplied(): number {
    let count = 0;
    for (const backlog of this.#backlogs()) count += backlog.count;
    return count;
  }

  /** The ack of a part of this stream that becomes durable with the given promise. */
  admit(name: string, durable: Promise<void>): Promise<void> {
    return this.#backlogOf(name).admit(durable);
  }

  /** Records that have become durable, the first of them at this position. */
  enqueue(first: number, records: readonly LogRecord[]): Queued[] {
    return records.map((record, n) => {
      const backlog = this.#backlogOf(record.stream);
      backlog.add();
      return { position: first + n, record, backlog };
    });
  }

  /** Applies records in order and yields the events of each step. */
  *apply(queue: readonly Queued[]): Generator<LiveEvent[]> {
    for (const { position, record, backlog: counted } of queue) {
      const { stream, backlog } = this.#entries.get(record.stream) ?? this.#open(record);
      if (backlog !== counted) recount(counted, backlog);
      const applied = stream ? yield* this.#applyTo(stream, record, position) : this.#skip(record, position);
      if (position > this.#handledPosition) this.#handledPosition = position;
      if (applied) this.#finish(record, backlog);
    }
  }

  /** False when the record was sent to a worker. */
  *#applyTo(stream: RunningStream, record: LogRecord, position: number): Generator<LiveEvent[], boolean> {
    const retired = record.kind === 'retire' && record.tracker === null;
    try {
      const steps = stream.apply(record, position);
      if (steps === null) return false;
      // whoever hears of it does not find the stream any more
      if (retired) this.#remove(stream.name, position);
      for (const applied of steps) yield this.#publish(applied);
    } catch (error) {
      this.#fail(record, position, error);
    }
    if (retired) return true;
    this.#parts.snapshots.count(stream);
    if (stream.heavy && this.#parts.workers.count > 0) this.#moveToWorker(stream);
    return true;
  }

  /** A record behind the retirement of its stream; unless something covers it, it would keep the log from shrinking. */
  #skip({ stream }: LogRecord, position: number): boolean {
    this.#parts.snapshots.retire(stream, position);
    return true;
  }

  /** What follows a record that a worker has applied. */
  #receive({ stream, position, record, steps, gone, error }: WorkerResult): void {
    const backlog = this.#backlogOf(stream.name);
    if (error) this.#fail(record, position, error);
    const events = steps.flatMap((applied) => this.#publish(applied));
    if (!gone) this.#parts.snapshots.count(stream);
    else if (stream.pending > 0) this.#parts.snapshots.retire(stream.name, position);
    else {
      stream.dispose();
      backlog.lift();
      this.#remove(stream.name, position);
    }
    this.#finish(record, backlog);
    this.#parts.onResult({ position, events });
  }

  #publish({ events, history }: Applied): LiveEvent[] {
    for (const { key, event } of history) this.#parts.history.add(key, event);
    return events;
  }

  #finish(record: LogRecord, backlog: Backlog): void {
    backlog.remove();
    this.#parts.onApplied(record);
  }

  /** A fault of ours must not stop other streams, nor come back at every start. */
  #fail({ stream, kind }: LogRecord, position: number, error: unknown): void {
    this.#parts.logger.error('record_failed', { position, stream, kind, error });
  }

  /** The stream that a record opens; none when it opens nothing. */
  #open(record: LogRecord): Entry | { stream: null; backlog: Backlog } {
    if (record.kind !== 'open' || !record.settings) return { stream: null, backlog: this.#shared };
    return this.#add(new Stream(record.stream, record.settings as StreamPlan, this.#options), this.#shared);
  }

  #add<S extends RunningStream>(stream: S, backlog: Backlog): Entry & { stream: S } {
    const entry = { stream, backlog };
    this.#entries.set(stream.name, entry);
    return entry;
  }

  #remove(name: string, position: number): void {
    this.#entries.delete(name);
    this.#parts.snapshots.retire(name, position);
  }

  /** From now on, and after a restart, the stream runs in a worker. */
  #moveToWorker(stream: RunningStream): void {
    stream.snapshot(({ state, position }) => {
      const snapshot = { state: packSnapshot(state), position };
      this.#parts.snapshots.store(stream.name, snapshot);
      this.#adopt(stream.name, snapshot, stream);
    });
    stream.dispose();
    const { inlineMs } = this.#parts.evaluation;
    this.#parts.logger.info('stream_in_thread', { stream: stream.name, inlineMs });
  }

  #adopt(name: string, snapshot: PackedSnapshot, known?: RunningStream): WorkerStream {
    const stream = this.#parts.workers.adopt(name, snapshot, (result) => this.#receive(result), known);
    return this.#add(stream, new Backlog(this.#backlogMax)).stream;
  }

  /** A stream as a snapshot has it. */
  async restore({ stream: name, state, position }: Snapshot): Promise<void> {
    if (this.#parts.workers.count > 0 && Stream.isHeavy(state))
      await this.#adopt(name, { state: packSnapshot(state), position }).ready;
    else this.#add(Stream.fromJSON(name, { state, position }, this.#options), this.#shared);
  }

  /** Resolves when a stream is not further behind than acks allow. */
  caughtUp(name: string): Promise<void> {
    return this.#backlogOf(name).shrunk(this.#backlogMax);
  }

  /** Resolves when this thread has nothing left to apply. */
  async drainedHere(): Promise<void> {
    while (this.#shared.count > 0) await this.#shared.shrunk(0);
  }

  /** Resolves when everything durable is applied, in workers too. */
  async drained(): Promise<void> {
    for (const backlog of this.#backlogs()) await backlog.shrunk(0);
  }

  /** Acks wait for the disk only from now on. */
  liftLimits(): void {
    this.#backlogMax = Number.POSITIVE_INFINITY;
    for (const backlog of this.#backlogs()) backlog.lift();
  }

  #backlogOf(name: string): Backlog {
    return this.#entries.get(name)?.backlog ?? this.#shared;
  }

  #backlogs(): Set<Backlog> {
    return new Set([this.#shared, ...[...this.#entries.values()].map(({ backlog }) => backlog)]);
  }
}

/** Its stream has moved, or come back, since the record was counted. */
function recount(from: Backlog, to: Backlog): void {
  to.add();
  from.remove();
}
