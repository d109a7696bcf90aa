/**
 * The streams of one log, by name. Durable records are applied to them, those of a stream in the order of the log, and
 * streams take turns. What has come of a record is yielded by `apply`; that of a stream which is rebuilt first is given
 * to `onResult`.
 *
 * A record that fails is set aside and its stream rebuilt without it, while all others go on; one that fails again and
 * again is suspended.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { Config } from '../config/config.js';
import type { ApplyMark } from '../store/apply-mark.js';
import { eventKey } from '../store/commit.js';
import type { DurableLog, Snapshot, Stored } from '../store/log-port.js';
import type { LogRecord } from '../store/record.js';
import type { EventHistory } from '../stream/history.js';
import type { StreamPlan } from '../stream/plan.js';
import { type RunningStream, reasonOf } from '../stream/running-stream.js';
import { Stream, type StreamOptions } from '../stream/stream.js';
import { type Applied, UNFINISHED } from '../stream/stream-events.js';
import type { LiveEvent } from '../wire/events.js';
import { Backlog } from './backlog.js';
import { DetachedStream, knownIn, knownOf, type LastKnown } from './detached-stream.js';
import type { LiveLogger } from './logger.js';
import { ENDED_TWICE, type Quarantine } from './quarantine.js';
import { isOutdated, isRetirement, RecordFailure, Restoration } from './restoration.js';
import type { Snapshots } from './snapshots.js';
import { Turns } from './turns.js';

/** Of no record: what was said so far is to go out, and what has come is to be read, before more is done. */
export const OTHERS_FIRST: LiveEvent[] = [];

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
  log: Pick<DurableLog, 'snapshotOf' | 'recordsOf' | 'saveSnapshot'>;
  quarantine: Quarantine;
  /** of what is being applied */
  mark: Pick<ApplyMark, 'at'>;
  history: EventHistory;
  snapshots: Snapshots;
  logger: LiveLogger;
  /** position of the newest durable record */
  lastPosition: number;
  /** a record has taken effect */
  onApplied(record: LogRecord): void;
  /** what has come of a record in a stream that was rebuilt */
  onResult(published: Published): void;
  /** a stream that was being rebuilt is there again, or suspended */
  onRestored(stream: RunningStream, recovering: boolean): void;
}

/** Failures of a stream that are not forgiven yet. */
interface Strikes {
  count: number;
  /** applied since the last one */
  records: number;
}

/** a stream with so many failures is suspended */
const STRIKES_MAX = 3;
/** records without a failure after which they are forgiven */
const FORGIVING_RECORDS = 1000;
/** index of the event about a record that was set aside, behind those of the record itself */
const LAST_INDEX = 0xffffff;

interface Entry {
  stream: RunningStream;
  backlog: Backlog;
}

/** A record that is being applied. */
interface Begun {
  stream: RunningStream | null;
  backlog: Backlog;
  /** of its stream, before it */
  workMs: number;
  steps: Iterator<LiveEvent[], boolean>;
}

export class Streams {
  readonly #parts: StreamsParts;
  readonly #options: StreamOptions;
  readonly #restoration: Restoration;
  readonly #entries = new Map<string, Entry>();
  readonly #strikes = new Map<string, Strikes>();
  /** those that are being rebuilt */
  readonly #restoring = new Map<DetachedStream, Promise<void>>();
  #closed = false;
  /** of the streams that are evaluated, and of those that nobody knows */
  readonly #shared: Backlog;
  readonly #turns = new Turns<Queued>();
  /** by stream: records of which a piece was applied */
  readonly #begun = new Map<string, Begun>();
  #backlogMax: number;
  #handledPosition: number;

  constructor(parts: StreamsParts) {
    this.#parts = parts;
    this.#handledPosition = parts.lastPosition;
    const { budgetMs, heavyMs, auditEvery, backlogFrames } = parts.evaluation;
    this.#backlogMax = backlogFrames;
    this.#shared = new Backlog(backlogFrames);
    this.#options = { budgetMs, auditEvery, heavyMs: heavyMs };
    const { log, quarantine } = parts;
    const { sliceMs } = parts.evaluation;
    this.#restoration = new Restoration({ log, quarantine, options: this.#options, sliceMs });
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

  /** A stream that is neither rebuilt nor suspended. */
  evaluated(name: string): RunningStream | undefined {
    const stream = this.get(name);
    return stream?.evaluated ? stream : undefined;
  }

  /** Of the last record that was applied, or waits for its stream. */
  get handledPosition(): number {
    return this.#handledPosition;
  }

  /** Of the record that is being applied. */
  get applyingPosition(): number {
    return this.#turns.currentPosition;
  }

  /** Everything up to here has been applied, and its events given out. */
  get appliedPosition(): number {
    let position = Math.min(this.#handledPosition, this.#turns.firstPosition - 1);
    if (this.#restoring.size === 0) return position;
    for (const { firstPending } of this) position = Math.min(position, firstPending - 1);
    return position;
  }

  /** How many need so much that they share their thread. */
  get heavy(): number {
    let count = 0;
    for (const { share } of this) if (share !== undefined) count++;
    return count;
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

  /** Whether senders of this stream wait for acks because the evaluation is behind. */
  holdsAcks(name: string): boolean {
    return this.#backlogOf(name).holdsAcks;
  }

  /** Records that have become durable, the first of them at this position; gives back all that wait. */
  enqueue(first: number, records: readonly LogRecord[]): Iterable<Queued> {
    for (const [n, record] of records.entries()) {
      const backlog = this.#backlogOf(record.stream);
      backlog.add();
      this.#turns.add({ position: first + n, record, backlog });
    }
    return this.#turns;
  }

  /** All that waits, one stream after the other: what a stream knows is then in the processor's cache. */
  byStream(): Iterable<Queued> {
    return this.#turns.inTurnsOf(Number.POSITIVE_INFINITY);
  }

  /**
   * Applies records, those of a stream in order, and yields the events of each step. Heavy ones are applied in pieces:
   * before each of them others go, and behind it those have their turn who came meanwhile.
   */
  *apply(queue: Iterable<Queued>, givesWay = true): Generator<LiveEvent[]> {
    const { mark, evaluation } = this.#parts;
    for (const { position, record, backlog: counted } of queue) {
      const begun = this.#begun.get(record.stream);
      const isHeavy = this.get(record.stream)?.share !== undefined;
      if (isHeavy) yield OTHERS_FIRST;
      mark.at(position);
      const { stream, backlog, workMs, steps } = begun ?? this.#begin(record, position, counted);
      const end = isHeavy ? performance.now() + evaluation.sliceMs : 0;
      let next = steps.next();
      for (; !next.done; next = steps.next()) {
        if (next.value !== OTHERS_FIRST) yield next.value;
        else if (givesWay && performance.now() >= end) break;
      }
      if (!next.done) {
        if (!begun) this.#begun.set(record.stream, { stream, backlog, workMs, steps });
        yield OTHERS_FIRST;
        this.#turns.again();
        continue;
      }
      if (begun) this.#begun.delete(record.stream);
      if (stream && stream.workMs > workMs) this.#turns.charge(stream.workMs - workMs);
      if (position > this.#handledPosition) this.#handledPosition = position;
      if (next.value) this.#finish(record, backlog);
    }
    mark.at(0);
  }

  #begin(record: LogRecord, position: number, counted: Backlog): Begun {
    const { stream, backlog } = this.#entries.get(record.stream) ?? this.#open(record);
    if (backlog !== counted) recount(counted, backlog);
    return { stream, backlog, workMs: stream?.workMs ?? 0, steps: this.#applyTo(stream, record, position) };
  }

  /** False when what comes of the record is known later, when its stream has been rebuilt. */
  *#applyTo(stream: RunningStream | null, record: LogRecord, position: number): Generator<LiveEvent[], boolean> {
    if (!stream) {
      // behind the retirement of its stream; unless something covers it, it would keep the log from shrinking
      this.#parts.snapshots.retire(record.stream, position);
      return true;
    }
    const retired = isRetirement(record);
    const { quarantine } = this.#parts;
    const wasAside = quarantine.has({ position, record });
    if (quarantine.excludes({ position, record })) {
      if (!wasAside) yield [this.#quarantineEvent({ position, record }, ENDED_TWICE, false)];
      return true;
    }
    if (isOutdated(record, stream)) return true;
    try {
      const steps = stream.apply(record, position);
      if (steps === null) return false;
      // whoever hears of it does not find the stream any more
      if (retired) this.#remove(stream.name, position);
      for (const applied of steps) yield applied === UNFINISHED ? OTHERS_FIRST : this.#publish(applied);
    } catch (error) {
      if (retired) this.#remove(stream.name, position);
      yield this.#fail(stream, { position, record }, reasonOf(error));
      return true;
    }
    if (retired || !stream.evaluated) return true;
    this.#parts.snapshots.count(stream);
    return true;
  }

  #publish({ events, history }: Applied): LiveEvent[] {
    for (const { key, event } of history) this.#parts.history.add(key, event);
    return events;
  }

  #finish(record: LogRecord, backlog: Backlog): void {
    backlog.remove();
    if (this.#strikes.size > 0) this.#forgive(record.stream);
    this.#parts.onApplied(record);
  }

  /** Sets a record aside; its stream, half changed, is rebuilt without it, or suspended. Returns what to tell. */
  #fail(stream: RunningStream, failed: Stored, reason: string): LiveEvent[] {
    this.#parts.quarantine.add(failed, reason);
    const suspended = this.#strike(stream.name) >= STRIKES_MAX;
    if (this.#entries.get(stream.name)?.stream === stream) {
      const detached = this.#detach(stream, failed.position, []);
      if (suspended) this.#suspend(detached, reason);
      else this.#rebuild(detached);
    }
    return [this.#quarantineEvent(failed, reason, suspended)];
  }

  #quarantineEvent({ position, record }: Stored, reason: string, suspended: boolean): LiveEvent {
    const [message] = reason.split('\n');
    const { stream, kind, atMs } = record;
    const tracker = 'tracker' in record ? record.tracker : null;
    const event: LiveEvent = { type: 'quarantine', stream, tracker, kind, position, suspended, message, atMs };
    this.#parts.history.add(eventKey(position, LAST_INDEX), event);
    return event;
  }

  #strike(name: string): number {
    const count = (this.#strikes.get(name)?.count ?? 0) + 1;
    this.#strikes.set(name, { count, records: 0 });
    return count;
  }

  #forgive(name: string): void {
    const strikes = this.#strikes.get(name);
    if (strikes && ++strikes.records >= FORGIVING_RECORDS) this.#strikes.delete(name);
  }

  /** From now on nobody evaluates the stream; records up to `upTo` are in the log, those of the queue come after it. */
  #detach(stream: RunningStream, upTo: number, queue: readonly Stored[], recovering = false): DetachedStream {
    const detached = this.#addDetached(stream.name, knownOf(stream), upTo, queue, recovering);
    try {
      stream.dispose();
    } catch (error) {
      this.#parts.logger.warn('dispose_failed', { stream: stream.name, error });
    }
    return detached;
  }

  #addDetached(
    name: string,
    known: LastKnown,
    upTo: number,
    queue: readonly Stored[],
    recovering: boolean,
  ): DetachedStream {
    const keep = (position: number) => this.#keepSnapshot(name, position);
    const detached = new DetachedStream(name, known, upTo, queue, keep, recovering);
    const own = this.#entries.get(name)?.backlog;
    this.#add(detached, own && own !== this.#shared ? own : new Backlog(this.#backlogMax));
    return detached;
  }

  #rebuild(detached: DetachedStream): void {
    const done = this.#restore(detached).finally(() => {
      // unless it is being rebuilt once more
      if (this.#restoring.get(detached) === done) this.#restoring.delete(detached);
    });
    this.#restoring.set(detached, done);
  }

  /** Rebuilds a stream, applies what has come meanwhile, and puts it in its place again. Never rejects. */
  async #restore(detached: DetachedStream): Promise<void> {
    const { name, readsUpTo, recovering } = detached;
    let records = 0;
    const onApplied = (position: number, steps: Applied[]) => {
      records++;
      if (recovering) this.#parts.onResult({ position, events: steps.flatMap((applied) => this.#publish(applied)) });
    };
    try {
      const rebuilt = await this.#restoration.rebuild(name, readsUpTo, onApplied);
      if (this.#closed) {
        rebuilt?.dispose();
        return;
      }
      this.#parts.logger.info('stream_rebuilt', { stream: name, records });
      if (rebuilt) await this.#attach(detached, rebuilt);
      else this.#retiredMeanwhile(detached);
    } catch (error) {
      if (this.#closed) return;
      if (error instanceof RecordFailure) this.#failedAgain(detached, error);
      else this.#suspend(detached, reasonOf(error));
    }
  }

  /** A rebuilt stream takes over once nothing waits any more. */
  async #attach(detached: DetachedStream, stream: Stream): Promise<void> {
    const { name, queue } = detached;
    for (let end = performance.now() + this.#parts.evaluation.sliceMs; queue.length > 0; ) {
      this.#applyWaiting(detached, stream, queue[0]);
      if (this.get(name) !== detached) return;
      // who was told that all is judged finds the stream in its place
      if (queue.length === 0 || performance.now() < end) continue;
      await turn();
      end = performance.now() + this.#parts.evaluation.sliceMs;
    }
    this.#entries.get(name)!.backlog.lift();
    this.#add(stream, this.#shared);
    this.#parts.onRestored(stream, detached.recovering);
  }

  #applyWaiting(detached: DetachedStream, stream: Stream, stored: Stored): void {
    const { record, position } = stored;
    const { backlog } = this.#entries.get(stream.name)!;
    let events: LiveEvent[] = [];
    try {
      for (const applied of stream.apply(record, position)) events.push(...this.#publish(applied));
      detached.queue.shift();
    } catch (error) {
      stream.dispose();
      events = this.#failWaiting(detached, stored, reasonOf(error));
    }
    this.#finish(record, backlog);
    if (isRetirement(record)) this.#remove(stream.name, position);
    this.#parts.onResult({ position, events });
    if (isRetirement(record)) this.#applyBehind(detached.queue.splice(0), backlog);
  }

  /** What has come behind the retirement of a stream. */
  #applyBehind(queue: Stored[], backlog: Backlog): void {
    for (const stored of queue)
      for (const events of this.apply([{ ...stored, backlog }], false))
        this.#parts.onResult({ position: stored.position, events });
    backlog.lift();
  }

  /** A record that waited for its stream fails too. */
  #failWaiting(detached: DetachedStream, stored: Stored, reason: string): LiveEvent[] {
    detached.queue.splice(0, detached.queue.indexOf(stored) + 1);
    this.#parts.quarantine.add(stored, reason);
    const suspended = this.#strike(detached.name) >= STRIKES_MAX;
    const next = this.#detach(detached, stored.position, detached.queue.splice(0), detached.recovering);
    if (suspended) this.#suspend(next, reason);
    else this.#rebuild(next);
    return [this.#quarantineEvent(stored, reason, suspended)];
  }

  /** A record that is applied again fails: it is left out as well. */
  #failedAgain(detached: DetachedStream, { failed, reason }: RecordFailure): void {
    const { quarantine, onResult } = this.#parts;
    quarantine.add(failed, reason);
    const suspended = this.#strike(detached.name) >= STRIKES_MAX;
    if (suspended) this.#suspend(detached, reason);
    else this.#rebuild(detached);
    onResult({ position: failed.position, events: [this.#quarantineEvent(failed, reason, suspended)] });
  }

  /** Nobody evaluates the stream until the next start; its records are stored. */
  #suspend(detached: DetachedStream, reason: string): void {
    const [message] = reason.split('\n');
    detached.suspended = message;
    this.#parts.logger.error('stream_suspended', { stream: detached.name, reason });
    const { backlog } = this.#entries.get(detached.name)!;
    for (const { record } of detached.queue.splice(0)) this.#finish(record, backlog);
    backlog.lift();
    void this.#followLog(detached).finally(() => this.#parts.onRestored(detached, detached.recovering));
  }

  /** How far the feeds of a suspended stream are, when no evaluation has told. */
  async #followLog(detached: DetachedStream): Promise<void> {
    if (!detached.recovering) return;
    try {
      const { log } = this.#parts;
      for await (const { record } of log.recordsOf(detached.name, 0, detached.readsUpTo)) detached.observe(record);
    } catch (error) {
      this.#parts.logger.error('log_unreadable', { stream: detached.name, error });
    }
  }

  /** The log is to shrink: what a suspended stream has stored meanwhile goes unjudged. */
  async #keepSnapshot(name: string, position: number): Promise<void> {
    const { log, logger } = this.#parts;
    const snapshot = await log.snapshotOf(name);
    logger.warn('suspended_dropped', { stream: name, upTo: position });
    log.saveSnapshot(name, position, snapshot?.state ?? null);
  }

  /** The log says that the stream was retired, or never opened. */
  #retiredMeanwhile(detached: DetachedStream): void {
    const { name, readsUpTo, queue } = detached;
    const { backlog } = this.#entries.get(name)!;
    if (!detached.recovering) {
      this.#suspend(detached, 'the record that opens it was set aside');
      return;
    }
    this.#remove(name, readsUpTo);
    backlog.lift();
    for (const { record } of queue) this.#finish(record, backlog);
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

  /** A stream as a snapshot has it; one that cannot be read is suspended, with its records up to `upTo`. */
  restore({ stream: name, state, position }: Snapshot, upTo: number): void {
    try {
      this.#add(Stream.fromJSON(name, { state, position }, this.#options), this.#shared);
    } catch (error) {
      this.#suspend(this.#addDetached(name, knownIn(name, state), upTo, [], true), reasonOf(error));
    }
  }

  /** Whether a record of the log is read by the stream itself, while it is rebuilt. */
  readsItself(name: string, position: number): boolean {
    return position <= (this.get(name)?.readsUpTo ?? 0);
  }

  /** How many streams are being rebuilt. */
  get restoring(): number {
    return this.#restoring.size;
  }

  /** Resolves when no stream is being rebuilt. */
  async restored(): Promise<void> {
    while (this.#restoring.size > 0) await Promise.all(this.#restoring.values());
  }

  /** Nothing more is rebuilt. */
  close(): void {
    this.#closed = true;
  }

  /** Resolves when a stream is not further behind than acks allow. */
  caughtUp(name: string): Promise<void> {
    return this.#backlogOf(name).shrunk(this.#backlogMax);
  }

  /** Those for which nothing waits to be applied. */
  get upToDate(): RunningStream[] {
    return [...this].filter(({ name }) => !this.#turns.has(name));
  }

  /** Resolves when everything durable is applied. */
  async drained(): Promise<void> {
    while (this.#shared.count > 0) await this.#shared.shrunk(0);
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
