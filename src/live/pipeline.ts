/**
 * The pipeline: frames in, events out (DESIGN 5). Every input becomes a log record; once the record is durable it is
 * acked and applied to its stream, in the order of the log, and what comes of it is published. Time is an input too:
 * when something is due, a tick is logged like any frame. So the state after a crash is that of the log.
 *
 * The wiring is `#topology`, the first method; this file owns the library rxjs. State lives in plain classes: Entrance
 * (accepted), Log (durable), Stream (applied), EventHistory.
 */
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import {
  concatMap,
  filter,
  interval,
  map,
  merge,
  mergeAll,
  mergeMap,
  Observable,
  Subject,
  type Subscription,
} from 'rxjs';
import { type Config, completePairing, resolveStream, type SettingsPatch } from '../config/config.js';
import {
  Log,
  type LogGauges,
  type LogOwner,
  packSnapshot,
  type Snapshot,
  StorageFault,
  type Stored,
} from '../store/log.js';
import type { LogRecord } from '../store/record.js';
import { EventHistory } from '../stream/history.js';
import {
  type Applied,
  Stream,
  type StreamInfo,
  type StreamOptions,
  type StreamPlan,
  type WindowView,
} from '../stream/stream.js';
import { type Back, RemoteStream, Threads } from '../stream/workers.js';
import type { LiveEvent, ReportEvent, SpikeEvent } from '../wire/events.js';
import type { FeedId } from '../wire/feed.js';
import type { FeedPart, Shape } from '../wire/objects.js';
import { Entrance, type OpenFeed, type Refusal } from './open-feeds.js';

export type { StreamInfo, WindowView } from '../stream/stream.js';
export type { Refusal } from './open-feeds.js';

/** Where time comes from. */
export interface Clock {
  /** epoch milliseconds */
  now(): number;
  /** fires regularly; real time unless given */
  ticks?(everyMs: number): Observable<unknown>;
}

interface Logger {
  info(event: string, fields?: Record<string, unknown>): void;
  warn(event: string, fields?: Record<string, unknown>): void;
  error(event: string, fields?: Record<string, unknown>): void;
}

/** unless told otherwise */
const THREADS_MAX = 8;
/** milliseconds: at the end threads get this long to finish; what is left is in the log */
const THREADS_STOP_MS = 2000;

/** Everything between the edge and what is published. */
export class Live {
  readonly #evaluation: Config['evaluation'];
  readonly #streams = new Map<string, Stream | RemoteStream>();
  readonly #threads: Threads;
  readonly #entrance: Entrance;
  #log!: Log;
  #history!: EventHistory;
  readonly #committed$ = new Subject<Stored[]>();
  readonly #direct$ = new Subject<LiveEvent>();
  readonly #back$ = new Subject<Back>();
  readonly #events$ = new Subject<LiveEvent>();
  #subscription: Subscription | null = null;
  /** streams with a tick or a retirement on its way through the log */
  readonly #ticking = new Set<string>();
  readonly #sinceSnapshot = new Map<string, number>();
  #snapshotMs = Number.NEGATIVE_INFINITY;
  /** who waits for the end of a feed to take effect */
  readonly #ends = new Map<LogRecord, { resolve(): void; reject(fault: StorageFault): void }>();
  /** the stream whose record is being applied */
  #busy: string | null = null;
  #backlog = 0;
  #newestCommit = { durable: Promise.resolve(), taken: Promise.resolve() };
  readonly #backlogWaiters = new Set<() => void>();
  /** of the last record that was applied, or sent to a thread */
  #handledPosition = 0;
  #idleCheckedMs = 0;
  #stopping = false;
  /** acks wait for the disk only */
  #hasty = false;

  private constructor(
    readonly config: Config,
    readonly clock: Clock,
    readonly logger: Logger,
  ) {
    this.#evaluation = config.evaluation;
    this.#entrance = new Entrance(config);
    const { budgetMs, auditEvery, threads } = this.#evaluation;
    this.#threads = new Threads(
      threads ?? Math.min(THREADS_MAX, Math.max(1, availableParallelism() - 1)),
      { budgetMs, auditEvery },
      (back) => this.#back$.next(back),
      (error) => this.#threadFailed(error),
    );
  }

  /**
   * The whole wiring: durable records, in order and in slices, become events; those of heavy streams come back from
   * their threads; what is due becomes records.
   */
  #topology(): Subscription {
    const { sliceMs, tickMs } = this.#evaluation;
    const applied$ = this.#committed$.pipe(concatMap((records) => inSlices(this.#applyAll(records), sliceMs)));
    const due$ = (this.clock.ticks?.(tickMs) ?? interval(tickMs)).pipe(
      filter(() => this.health().ready),
      map(() => this.#due(this.clock.now())),
      mergeAll(),
    );
    const back$ = this.#back$.pipe(mergeMap((back) => this.#backFrom(back)));
    const wiring = merge(applied$, back$, this.#direct$).subscribe(this.#events$);
    wiring.add(due$.subscribe((record) => this.#append(record)));
    return wiring;
  }

  /** Opens the store and recovers: snapshots, then the records after them. Events not yet published follow at once. */
  static async open(config: Config, clock: Clock, logger: Logger): Promise<Live> {
    const live = new Live(config, clock, logger);
    live.#log = await Log.open(config.data, live.#logOwner());
    live.#history = new EventHistory(live.#log, config.limits.recentEvents);
    try {
      await live.#recover();
    } catch (error) {
      await live.kill();
      throw error;
    }
    return live;
  }

  /** What happens, as it happens; never fails. After a crash the last events may come again, with the same `n`. */
  get events$(): Observable<LiveEvent> {
    return this.#events$;
  }

  /** Registers a feed; the first hello of a stream may bring settings. `plan` is how the stream is judged. */
  openFeed(id: FeedId, patch?: SettingsPatch, shape?: Shape): { nextSeq: number; plan: StreamPlan } | Refusal {
    const feed = this.#entrance.admit(id, patch, shape);
    if ('code' in feed) return feed;
    try {
      this.#ensureOpen(feed);
    } catch (error) {
      // while the disk takes nothing, the feed is opened with its first part
      if (!(error instanceof StorageFault)) throw error;
    }
    return { nextSeq: Math.floor(feed.acceptedSeq) + 1, plan: this.#entrance.planOf(id.stream) };
  }

  /**
   * Resolves once the part is durable; rejects with a StorageFault when it is not going to be, and must come again.
   * Parts of one group commit share their promise.
   */
  ingest(id: FeedId, part: FeedPart, receivedMs: number): Promise<void> {
    try {
      const feed = this.#entrance.find(id) ?? this.#reopen(id);
      if (part.seq <= feed.acceptedSeq) return feed.stored;
      for (const back of this.#entrance.goOn(feed)) this.#ensureOpen(back);
      this.#ensureOpen(feed);
      const { stream, role, tracker } = id;
      feed.stored = this.#taken(
        this.#log.append({ kind: 'part', stream, atMs: receivedMs, role, tracker, part }),
        this.#streams.get(stream),
      );
      feed.acceptedSeq = part.seq;
      return feed.stored;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Durable, and not too far ahead of the evaluation; a heavy stream holds up nobody but itself. */
  #taken(durable: Promise<void>, stream: Stream | RemoteStream | undefined): Promise<void> {
    if (stream instanceof RemoteStream) {
      const shrunk = durable.then(() => (this.#hasty ? undefined : stream.shrunk(this.#evaluation.backlogFrames)));
      shrunk.catch(() => {});
      return shrunk;
    }
    if (durable === this.#newestCommit.durable) return this.#newestCommit.taken;
    const taken = durable.then(() =>
      this.#backlog > this.#evaluation.backlogFrames && !this.#hasty ? this.#backlogShrunk() : undefined,
    );
    // who waits for it hears of a fault; that nobody waits is none
    taken.catch(() => {});
    this.#newestCommit = { durable, taken };
    return taken;
  }

  /** The feed is finished. Resolves when that has taken effect; with the last feed everything left is settled. */
  async end(id: FeedId): Promise<void> {
    const feed = this.#entrance.find(id);
    if (!feed) return;
    if (feed.ended) {
      this.#entrance.stayAway(feed);
      return feed.over;
    }
    this.#ensureOpen(feed);
    const { stream, role, tracker } = id;
    const record: LogRecord = { kind: 'end', stream, atMs: this.clock.now(), role, tracker };
    const applied = new Promise<void>((resolve, reject) => {
      this.#ends.set(record, { resolve, reject });
    });
    // who waits for it hears of a fault; that nobody waits is none
    applied.catch(() => {});
    feed.over = applied;
    try {
      await this.#log.append(record);
      await applied;
    } finally {
      this.#ends.delete(record);
    }
  }

  /** Tells about input that was refused before it came here. */
  reportRejected(feed: FeedId, code: string): void {
    const event = { type: 'rejected' as const, ...feed, code, count: 1, atMs: this.clock.now() };
    this.#history.addRejected(event, this.#handledPosition);
    this.#direct$.next(event);
  }

  streams(): StreamInfo[] {
    return [...this.#streams.values()].map((stream) => stream.info());
  }

  /** The newest report of every series, for those who come late. */
  reports(): ReportEvent[] {
    return [...this.#streams.values()].flatMap((stream) => stream.reports());
  }

  /** The spikes that last, as they began. */
  spikes(): SpikeEvent[] {
    return [...this.#streams.values()].flatMap((stream) => stream.spikes());
  }

  /** The window of a series as it is now; undefined when there is none. */
  async window(stream: string, tracker: string, profile: string): Promise<WindowView | undefined> {
    return this.#streams.get(stream)?.window(tracker, profile);
  }

  /** The event history, oldest first, of one stream or of all. */
  recentEvents(stream?: string): LiveEvent[] {
    return this.#history.list(stream);
  }

  /** Sizes and times of the log, how many durable records are not applied yet, and how many streams are in threads. */
  storage(): LogGauges & { backlogRecords: number; threadStreams: number } {
    const { pending, streams } = this.#threads;
    return { ...this.#log.gauges, backlogRecords: this.#backlog + pending, threadStreams: streams };
  }

  health(): { ready: boolean; reasons: string[] } {
    const { fault } = this.#log;
    const reasons = [...(fault ? [fault.message] : []), ...(this.#stopping ? ['the evaluator is stopping'] : [])];
    return { ready: reasons.length === 0, reasons };
  }

  /** Soon nobody sends any more: acks wait for the disk from now on, and no longer for the evaluation. */
  hasten(): void {
    this.#hasty = true;
    this.#releaseAll();
    for (const stream of this.#streams.values()) if (stream instanceof RemoteStream) stream.letGo();
  }

  /** Applies what is durable, snapshots, and closes the store. */
  async stop(): Promise<void> {
    if (this.#stopping) return;
    this.#stopping = true;
    await this.#log.flush().catch(() => {});
    while (this.#backlog > 0) await this.#backlogShrunk();
    await Promise.race([this.#threadsDone(), delay(THREADS_STOP_MS, undefined, { ref: false })]);
    for (const name of this.#streams.keys()) await this.#snapshotAtLast(name);
    await this.#log.close();
    this.#shut();
    await this.#threads.stop();
  }

  async #threadsDone(): Promise<void> {
    for (const stream of this.#streams.values()) if (stream instanceof RemoteStream) await stream.shrunk(0);
  }

  /** One after the other: the snapshots of a thousand streams are a hundred megabytes. */
  async #snapshotAtLast(name: string): Promise<void> {
    const stream = this.#streams.get(name);
    // whatever is asked of a busy thread waits for its work
    const unfinished = stream instanceof RemoteStream && stream.thread.pending > 0;
    if (unfinished || this.#sinceSnapshot.get(name) === 0) return;
    await this.#snapshot(name);
    if (this.#log.gauges.queuedBytes > this.#log.settings.commitBytes) await this.#log.flush().catch(() => {});
  }

  /** Lets go of everything at once, as a crash would. */
  async kill(): Promise<void> {
    this.#stopping = true;
    this.#shut();
    await Promise.all([this.#threads.stop(), this.#log.kill()]);
  }

  /** What was in the thread is nowhere else; the log has it, and a restart finds it there. */
  #threadFailed(error: unknown): void {
    const message =
      'a thread of the evaluation failed; nothing acked is lost: start again, and should it repeat, set evaluation.threads to 0';
    this.logger.error('thread_failed', { message, error });
    throw error;
  }

  #shut(): void {
    this.#subscription?.unsubscribe();
    this.#subscription = null;
    this.#events$.complete();
    const closed = new StorageFault(
      'storage_closed',
      'the evaluator stopped; what was stored takes effect at its next start',
    );
    for (const { reject } of this.#ends.values()) reject(closed);
    this.#releaseAll();
  }

  #releaseAll(): void {
    for (const resolve of this.#backlogWaiters) resolve();
    this.#backlogWaiters.clear();
  }

  #ensureOpen(feed: OpenFeed): void {
    if (feed.opened) return;
    feed.stored = this.#log.append(this.#entrance.openRecord(feed, this.clock.now()));
    feed.opened = true;
  }

  /** A feed that was retired while its client was connected. */
  #reopen(id: FeedId): OpenFeed {
    const feed = this.#entrance.admit(id);
    if ('code' in feed) throw new Error(feed.message);
    return feed;
  }

  /** Logs something that nobody waits for; what the disk does not take now is due again later. */
  #append(record: LogRecord): void {
    try {
      this.#log.append(record).catch(() => {});
    } catch (error) {
      if (!(error instanceof StorageFault)) throw error;
      this.#ticking.delete(record.stream);
      return;
    }
    // who sends from now on opens what is about to be forgotten anew, behind this record
    if (record.kind === 'retire') this.#entrance.forget(record.stream, record.tracker);
  }

  /** What time has brought: deadlines that have passed, and what nobody uses any more. */
  #due(nowMs: number): LogRecord[] {
    const idleToo = nowMs - this.#idleCheckedMs >= this.#evaluation.idleCheckMs;
    if (idleToo) this.#idleCheckedMs = nowMs;
    const records: LogRecord[] = [];
    for (const [name, stream] of this.#streams) {
      if (this.#ticking.has(name)) continue;
      const idle = idleToo ? stream.idle(nowMs) : undefined;
      if (idle !== undefined) records.push({ kind: 'retire', stream: name, atMs: nowMs, tracker: idle });
      else if (stream.deadline() <= nowMs) records.push({ kind: 'tick', stream: name, atMs: nowMs });
      else continue;
      this.#ticking.add(name);
    }
    return records;
  }

  #logOwner(): LogOwner {
    return {
      now: () => this.clock.now(),
      // what recovery repeats is published when it is over
      applied: () => (this.#subscription ? this.#appliedPosition : this.#log.publishedUpTo),
      committed: (first, records) => this.#commit(first, records),
      heldBack: (names) => {
        // a stream in the middle of a record is asked again
        for (const name of names) if (name !== this.#busy) this.#snapshot(name);
      },
      faultChanged: (fault) => this.#faultChanged(fault),
    };
  }

  #faultChanged(fault: StorageFault | null): void {
    this.#ticking.clear();
    if (fault) {
      this.logger.error('storage_fault', { code: fault.code, message: fault.message });
      this.#entrance.fallBack();
      return;
    }
    this.logger.info('storage_recovered', { dir: this.config.data.dir });
    for (const name of this.#streams.keys()) this.#append({ kind: 'resume', stream: name, atMs: this.clock.now() });
  }

  #commit(first: number, records: LogRecord[]): void {
    if (!this.#subscription) return;
    for (const record of records) {
      this.#entrance.note(record);
      const stream = this.#streams.get(record.stream);
      if (stream instanceof RemoteStream) stream.expect();
    }
    this.#backlog += records.length;
    this.#committed$.next(records.map((record, n) => ({ position: first + n, record })));
  }

  *#applyAll(records: Stored[]): Generator<LiveEvent[]> {
    for (const { position, record } of records) {
      const stream = this.#streams.get(record.stream) ?? this.#newStream(record);
      if (stream instanceof RemoteStream) stream.apply(record, position);
      else if (stream) {
        this.#busy = record.stream;
        yield* this.#apply(stream, position, record);
        this.#busy = null;
      } else this.#nobodys(record, position);
      this.#handledPosition = position;
      this.#backlog--;
      if (!(stream instanceof RemoteStream)) this.#done(record);
      this.#releaseWaiters();
    }
  }

  /** A record has taken effect. */
  #done(record: LogRecord): void {
    this.#ticking.delete(record.stream);
    this.#ends.get(record)?.resolve();
  }

  /** Applies a record and yields its events. A fault of ours must not stop other streams, nor come back at every start. */
  *#apply(stream: Stream, position: number, record: LogRecord): Generator<LiveEvent[]> {
    const retired = record.kind === 'retire' && record.tracker === null;
    // who hears of it does not find the stream any more
    if (retired) this.#retire(record.stream, position);
    try {
      for (const applied of stream.apply(record, position)) yield this.#published(applied);
    } catch (error) {
      this.logger.error('record_failed', { position, stream: record.stream, kind: record.kind, error });
    }
    if (!retired) this.#countToSnapshot(record.stream, position);
    if (stream.heavy && this.#threads.count > 0 && this.#streams.get(stream.name) === stream)
      this.#sendAway(stream, position);
  }

  /** What follows a record that a thread has applied. */
  #backFrom({ stream, position, record, steps, gone, error }: Back): LiveEvent[] {
    if (error) this.logger.error('record_failed', { position, stream: record.stream, kind: record.kind, error });
    const events = steps.flatMap((applied) => this.#published(applied));
    if (!gone) this.#countToSnapshot(stream.name, position);
    else if (stream.pending > 0) this.#log.saveSnapshot(stream.name, position, null);
    else {
      stream.drop();
      this.#retire(stream.name, position);
    }
    this.#done(record);
    return events;
  }

  #published({ events, history }: Applied): LiveEvent[] {
    for (const { key, event } of history) this.#history.add(key, event);
    return events;
  }

  /** A stream whose solves are heavy goes on in a thread, and from there after a restart. */
  #sendAway(stream: Stream, position: number): void {
    const { name } = stream;
    const state = packSnapshot(stream.toJSON());
    this.#log.saveSnapshot(name, position, state);
    this.#sinceSnapshot.set(name, 0);
    const remote = this.#threads.take(name, { state, position });
    remote.remember(stream.standing(), stream.reports());
    this.#streams.set(name, remote);
    stream.dispose();
    this.logger.info('stream_in_thread', { stream: name, inlineMs: this.#evaluation.inlineMs });
  }

  /** Everything up to here has been applied and published. */
  get #appliedPosition(): number {
    let position = this.#handledPosition;
    if (this.#threads.pending === 0) return position;
    for (const stream of this.#streams.values())
      if (stream instanceof RemoteStream) position = Math.min(position, stream.firstPending - 1);
    return position;
  }

  #newStream(record: LogRecord): Stream | null {
    if (record.kind !== 'open' || !record.settings) return null;
    const stream = new Stream(record.stream, record.settings as StreamPlan, this.#streamOptions);
    this.#streams.set(record.stream, stream);
    return stream;
  }

  get #streamOptions(): StreamOptions {
    const { budgetMs, inlineMs, auditEvery } = this.#evaluation;
    if (this.#threads.count === 0) return { budgetMs, auditEvery };
    return { budgetMs: Math.min(inlineMs, budgetMs), auditEvery, heavyMs: inlineMs };
  }

  /** A record behind the retirement of its stream; as long as nothing covers it, it would keep the log from shrinking. */
  #nobodys({ stream }: LogRecord, position: number): void {
    this.#log.saveSnapshot(stream, position, null);
  }

  #retire(name: string, position: number): void {
    this.#streams.delete(name);
    this.#sinceSnapshot.delete(name);
    this.#log.saveSnapshot(name, position, null);
  }

  #countToSnapshot(name: string, position: number): void {
    const count = (this.#sinceSnapshot.get(name) ?? 0) + 1;
    this.#sinceSnapshot.set(name, count);
    const { snapshotFrames } = this.config.data;
    if (count < snapshotFrames) return;
    // streams of the same age take turns: a snapshot takes milliseconds
    const soon = performance.now() < this.#snapshotMs + this.#evaluation.sliceMs * 3;
    if (!soon || count >= 2 * snapshotFrames) this.#snapshot(name, position);
  }

  /** Resolves when the log has it; at once unless the stream is in a thread. */
  #snapshot(name: string, position = this.#handledPosition): Promise<void> | void {
    const stream = this.#streams.get(name);
    if (!stream) return;
    this.#sinceSnapshot.set(name, 0);
    if (stream instanceof RemoteStream) return this.#snapshotFrom(stream);
    this.#log.saveSnapshot(name, position, stream.toJSON());
    this.#snapshotMs = performance.now();
  }

  async #snapshotFrom(stream: RemoteStream): Promise<void> {
    const snapshot = await stream.snapshot();
    if (snapshot && this.#streams.get(stream.name) === stream)
      this.#log.saveSnapshot(stream.name, snapshot.position, snapshot.state);
  }

  /** Lets those who wait go on two by two, so that they do not come back all at once. */
  #releaseWaiters(): void {
    if (this.#backlogWaiters.size === 0 || this.#backlog >= this.#evaluation.backlogFrames) return;
    let count = this.#backlog === 0 ? this.#backlogWaiters.size : 2;
    for (const resolve of this.#backlogWaiters) {
      if (count-- === 0) return;
      this.#backlogWaiters.delete(resolve);
      resolve();
    }
  }

  #backlogShrunk(): Promise<void> {
    return new Promise((resolve) => {
      this.#backlogWaiters.add(resolve);
    });
  }

  async #recover(): Promise<void> {
    const began = performance.now();
    for await (const snapshot of this.#log.snapshots()) if (snapshot.state !== null) await this.#restore(snapshot);
    await this.#history.load();
    const unpublished = await this.#replay();
    this.#subscription = this.#topology();
    for (const stream of this.#streams.values()) this.#resume(stream);
    setImmediate(() => {
      for (const event of unpublished) this.#direct$.next(event);
    });
    const ms = Math.round(performance.now() - began);
    if (this.#streams.size > 0) this.logger.info('recovered', { streams: this.#streams.size, ms });
  }

  async #restore({ stream: name, state: stored, position }: Snapshot): Promise<void> {
    const state = { ...(stored as object), plan: completePlan((stored as { plan: StreamPlan }).plan) };
    if (this.#threads.count === 0 || !Stream.isHeavy(state)) {
      this.#streams.set(name, Stream.fromJSON(name, state, this.#streamOptions));
      return;
    }
    const remote = this.#threads.take(name, { state: packSnapshot(state), position });
    this.#streams.set(name, remote);
    await remote.ready;
  }

  /** Applies the records after the snapshots; returns the events that had not been published. */
  async #replay(): Promise<LiveEvent[]> {
    const { publishedUpTo } = this.#log;
    const unpublished: LiveEvent[] = [];
    const publish = (position: number, events: LiveEvent[]) => {
      if (position > publishedUpTo) unpublished.push(...events);
    };
    const back = this.#back$.subscribe((one) => publish(one.position, this.#backFrom(one)));
    for await (const { position, record } of this.#log.records()) {
      if ('settings' in record && record.settings) record.settings = completePlan(record.settings as StreamPlan);
      const stream = this.#streams.get(record.stream) ?? this.#newStream(record);
      this.#handledPosition = position;
      if (stream instanceof RemoteStream) {
        stream.apply(record, position);
        await stream.shrunk(this.#evaluation.backlogFrames);
      } else if (stream) {
        for (const events of this.#apply(stream, position, record)) publish(position, events);
      } else this.#nobodys(record, position);
    }
    await this.#threadsDone();
    back.unsubscribe();
    this.#handledPosition = this.#log.lastPosition;
    return unpublished;
  }

  /** A recovered stream goes on; the time away counts for nobody, and a changed configuration is taken over. */
  #resume(stream: Stream | RemoteStream): void {
    const { name, plan } = stream;
    const atMs = this.clock.now();
    const resolved = resolveStream(this.config, name, plan.patch);
    if ('message' in resolved) this.logger.warn('settings_kept', { stream: name, ...resolved });
    const next: StreamPlan = 'message' in resolved ? plan : { ...resolved, patch: plan.patch };
    this.#entrance.restore(stream, next);
    this.#append({ kind: 'resume', stream: name, atMs });
    if (!isDeepStrictEqual(plan, JSON.parse(JSON.stringify(next))))
      this.#append({ kind: 'configure', stream: name, atMs, settings: next });
  }
}

/** A plan as this version would have stored it. */
const completePlan = ({ settings, ...plan }: StreamPlan): StreamPlan => ({
  ...plan,
  settings: { ...settings, pairing: completePairing(settings.pairing) },
});

/** Emits one by one, beginning with the next turn of the event loop, and leaves it to others after each slice. */
function inSlices<T>(groups: Iterable<T[]>, sliceMs: number): Observable<T> {
  return new Observable((subscriber) => {
    const iterator = groups[Symbol.iterator]();
    const run = () => {
      const end = performance.now() + sliceMs;
      for (let group = iterator.next(); !group.done; group = iterator.next()) {
        for (const item of group.value) subscriber.next(item);
        if (performance.now() < end) continue;
        turn = setImmediate(run);
        return;
      }
      subscriber.complete();
    };
    let turn = setImmediate(run);
    return () => clearImmediate(turn);
  });
}
