/**
 * The live evaluator: frames in, events out. Every input becomes a log record; once the record is durable it is acked
 * and applied to its stream, in the order of the log, and what comes of it is published. Time is an input too: when
 * something is due, a tick is logged like any frame. So the state after a crash is that of the log.
 *
 * What flows where is said in pipeline.ts; here is who takes part, how they are opened and closed, and what the edge
 * asks of them.
 */
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import type { Config, SettingsPatch } from '../config/config.js';
import { ApplyMark } from '../store/apply-mark.js';
import { DataFolder, type Folder } from '../store/folder.js';
import { Log } from '../store/log.js';
import type { DurableLog, LogGauges, LogOwner } from '../store/log-port.js';
import type { LogRecord } from '../store/record.js';
import { EventHistory } from '../stream/history.js';
import type { RunningStream } from '../stream/running-stream.js';
import type { StreamInfo, WindowView } from '../stream/status.js';
import type { LiveEvent, Refused, ReportEvent, SpikeEvent } from '../wire/events.js';
import type { FeedId } from '../wire/feed.js';
import type { FeedPart, Shape } from '../wire/objects.js';
import type { MomentQuery } from '../wire/series-key.js';
import { Deadlines } from './deadlines.js';
import { HeldAcks } from './held-acks.js';
import type { LiveLogger } from './logger.js';
import { type Moment, Moments } from './moments.js';
import { type Admission, OpenFeeds } from './open-feeds.js';
import { Channels, type Clock, connectPipeline, type Look } from './pipeline.js';
import { Publication } from './publication.js';
import { Quarantine } from './quarantine.js';
import { type Opening, Recovery } from './recovery.js';
import type { Refusal } from './refusal.js';
import { Snapshots } from './snapshots.js';
import { type Published, Streams } from './streams.js';

export type { StreamInfo, WindowView } from '../stream/status.js';
export type { Clock } from './pipeline.js';
export type { Refusal } from './refusal.js';

/** What the pipeline runs on, where it is not the real one, and how it opens a log that was not its own. */
export interface Machine extends Opening {
  folder?: Folder;
  /** opens the log, where it is not the embedded one */
  openLog?: (settings: Config['data'], owner: LogOwner, folder: Folder) => Promise<DurableLog>;
  /** resolves once everything that had come has been read, with the streams for which it has not */
  afterReading?: () => Promise<Iterable<string>>;
}

/** Sockets of this thread are read once a turn. */
async function nextTurn(): Promise<Iterable<string>> {
  await turn();
  return [];
}

/** Everything between the edge and what is published. */
export class Live {
  readonly #history: EventHistory;
  readonly #snapshots: Snapshots;
  readonly #streams: Streams;
  readonly #feeds: OpenFeeds;
  readonly #heldAcks: HeldAcks;
  readonly #deadlines: Deadlines;
  readonly #quarantine: Quarantine;
  readonly #recovery: Recovery;
  /** null where the log cannot be looked back into */
  readonly #moments: Moments | null;
  /** null where events are told at once */
  readonly #publication: Publication | null;
  readonly #channels = new Channels();
  /** null before the streams are recovered, and at the end */
  #pipeline: ReturnType<typeof connectPipeline> | null = null;
  /** undone from the last to the first */
  readonly #cleanUp: Array<() => unknown>;
  /** streams that are resuming, as far as that was published */
  readonly #resuming = new Set<string>();
  #stopping = false;
  /** everything was applied before the end */
  #isClean = false;
  /** streams that are there are served; others may still be rebuilt */
  #serving = false;
  /** resolves when every stream is there */
  recovered: Promise<void> = Promise.resolve();
  #recovering = true;
  /** resolves when the events of before are listed too */
  past: Promise<void> = Promise.resolve();
  #tellFenced!: (reason: string) => void;
  /** resolves, with the reason, when somebody else owns the log; from then on nothing is published, and it is closed */
  readonly fenced = new Promise<string>((resolve) => {
    this.#tellFenced = resolve;
  });

  private constructor(
    readonly config: Config,
    readonly clock: Clock,
    readonly logger: LiveLogger,
    readonly log: DurableLog,
    readonly mark: ApplyMark,
    readonly afterReading: () => Promise<Iterable<string>>,
    readonly opening: Required<Opening>,
  ) {
    const { data, evaluation, limits } = config;
    this.#history = new EventHistory(log, limits.recentEvents);
    const { snapshotFrames: everyRecords, commitBytes: flushBytes } = data;
    const { replayRecords } = opening;
    const turns = { everyRecords, pauseMs: evaluation.sliceMs * 3, flushBytes, replayRecords };
    this.#snapshots = new Snapshots(log, turns, (name) => this.#streams.evaluated(name));
    this.#quarantine = new Quarantine(mark.folder, logger, mark.culprits, log);
    this.#streams = new Streams({
      evaluation,
      log,
      quarantine: this.#quarantine,
      mark,
      history: this.#history,
      snapshots: this.#snapshots,
      logger,
      lastPosition: log.lastPosition,
      onApplied: (record) => this.#applied(record),
      onResult: (published) => this.#channels.results$.next(published),
      onRestored: (stream, recovering) => this.#restored(stream, recovering),
    });
    this.#heldAcks = new HeldAcks(this.#streams);
    this.#feeds = new OpenFeeds(config, log, this.#streams, this.#heldAcks, () => clock.now());
    this.#deadlines = new Deadlines(this.#streams, this.#feeds, log, evaluation);
    this.#recovery = new Recovery(config, log, this.#streams, this.#feeds, this.#deadlines, logger, opening);
    this.#publication = this.#newPublication();
    this.#moments = log.past ? new Moments(log.past, limits) : null;
    this.#cleanUp = [
      () => mark.close(this.#isClean),
      () => log.kill(),
      () => this.#streams.close(),
      () => this.liftBackpressure(),
      () => this.#feeds.close(),
      () => this.#publication?.close(),
      () => this.#unwire(),
    ];
  }

  /** Opens the store; resolves when every stream is recovered. Events not yet published follow at once. */
  static async open(config: Config, clock: Clock, logger: LiveLogger, machine: Machine = {}): Promise<Live> {
    const live = await Live.#create(config, clock, logger, machine);
    live.recovered = live.#recover(true);
    return live.#orKilled();
  }

  /** Opens the store and resolves at once: streams are served as they are recovered, until `recovered` resolves. */
  static async start(config: Config, clock: Clock, logger: LiveLogger, machine: Machine = {}): Promise<Live> {
    const live = await Live.#create(config, clock, logger, machine);
    live.recovered = live.#recover(false);
    // whoever waits for it hears of a failure
    live.recovered.catch(() => {});
    return live;
  }

  async #orKilled(): Promise<this> {
    try {
      await this.recovered;
    } catch (error) {
      await this.kill();
      throw error;
    }
    return this;
  }

  static async #create(config: Config, clock: Clock, logger: LiveLogger, machine: Machine): Promise<Live> {
    const owner: LogOwner = {
      now: () => clock.now(),
      // what recovery repeats is published when it is over
      applied: () => live.appliedPosition,
      committed: (first, records) => live.#channels.committed$.next({ first, records }),
      heldBack: (names) => live.#snapshots.saveHolders(names.flatMap((name) => live.#streams.get(name) ?? [])),
      unsaved: (stream, reason) => logger.warn('snapshot_not_saved', { stream, reason }),
      faultChanged: (fault) => live.#recovery.faultChanged(fault, clock.now()),
      fenced: (reason) => live.#lose(reason),
    };
    const { folder = new DataFolder(config.data.dir), openLog = Log.open } = machine;
    const log: DurableLog = await openLog(config.data, owner, folder);
    const mark = new ApplyMark(folder, log.lastPosition, log.deaths);
    const { afterReading = nextTurn, resumes = true, configures = true } = machine;
    const { replayRecords = Number.POSITIVE_INFINITY } = machine;
    const opening = { resumes, configures, replayRecords };
    const live = new Live(config, clock, logger, log, mark, afterReading, opening);
    return live;
  }

  /** All are served once their records are applied, but for those that must be rebuilt; with `complete`, all. */
  async #recover(complete: boolean): Promise<void> {
    // a log that others wait for is served before its past is read
    if (!this.log.shared) await this.#loadPast();
    const unpublished = await this.#recovery.replay(this.#channels.results$, complete);
    if (this.#stopping) return;
    this.#wire();
    this.log.follow?.();
    this.#serving = true;
    this.#recovery.resume(this.clock.now());
    for (const stream of this.#streams) if (!stream.info().restoring) this.#channels.restored$.next(stream);
    const publish = () => {
      for (const published of unpublished) this.#publish(published);
    };
    // before anything is said to be out that follows them
    if (this.#publication) publish();
    else setImmediate(publish);
    await this.#streams.restored();
    this.#recovering = false;
    this.#snapshots.beginTurns();
    if (this.log.shared) void this.#loadPast();
    this.#publication?.schedule();
    this.#recovery.finish();
  }

  /** The events of before, for whoever asks for them. */
  #loadPast(): Promise<void> {
    this.past = this.#history.load().catch((error) => {
      if (!this.log.shared) throw error;
      if (!this.#stopping) this.logger.warn('past_unread', { error });
    });
    return this.past;
  }

  #newPublication(): Publication | null {
    const { log } = this;
    const publish = log.publish?.bind(log);
    if (!publish) return null;
    const failed = (error: unknown) => this.#lose(String((error as Error).message ?? error));
    const tell = (event: LiveEvent) => this.#channels.told$.next(event);
    return new Publication({ publish, publishedUpTo: log.publishedUpTo }, () => this.appliedPosition, tell, failed);
  }

  #publish({ position, events }: Published): void {
    for (const event of events)
      if (this.#publication) this.#publication.add(position, event);
      else this.#channels.told$.next(event);
  }

  /** Somebody else owns the log. */
  #lose(reason: string): void {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#publication?.close();
    this.logger.warn('log_lost', { reason });
    this.#tellFenced(reason);
    void this.kill();
  }

  /** Everything up to here has been applied; what of it is published is another matter while streams are recovered. */
  get appliedPosition(): number {
    // what recovery repeats is published when it is over
    return this.#recovering ? this.log.publishedUpTo : this.#streams.appliedPosition;
  }

  /** A stream is there again, after a start or a failure. */
  #restored(stream: RunningStream, recovering: boolean): void {
    if (!recovering || !this.#serving || this.#stopping) return;
    this.#recovery.resumeStream(stream, this.clock.now());
    this.#channels.restored$.next(stream);
  }

  /** Streams as they come back after a start, before their next event. */
  get restored$(): Channels['restored$'] {
    return this.#channels.restored$;
  }

  #wire(): void {
    const parts = { feeds: this.#feeds, streams: this.#streams, deadlines: this.#deadlines };
    const publication = this.#publication;
    const { publishedUpTo } = this.log;
    const look = () => this.#look();
    const all = { ...parts, publication, publishedUpTo, look };
    this.#pipeline = connectPipeline(this.#channels, all, this.clock, this.config.evaluation);
  }

  #unwire(): void {
    this.#pipeline?.unsubscribe();
    this.#pipeline = null;
    this.#channels.events$.complete();
  }

  /**
   * This moment, once the event loop has read what had come by then, and the streams for which it has not: timers run
   * before sockets are read, and after a pause of the machine a feed would be late that had sent in time.
   */
  async #look(): Promise<Look | null> {
    this.#noticeStall(true);
    const atMs = this.clock.now();
    const unread = this.#deadlines.watchUnread();
    for (const stream of await this.afterReading()) this.#deadlines.noticeUnread(stream);
    return this.log.fault || this.#stopping ? null : { atMs, unread };
  }

  #applied(record: LogRecord): void {
    this.#deadlines.release(record.stream);
    this.#feeds.applied(record);
    if (this.log.shared) this.#follow(record);
    this.#heldAcks.applied(record.stream);
    this.#publishResuming(record.stream, record.atMs);
  }

  #follow(record: LogRecord): void {
    const stream = this.#streams.get(record.stream);
    if (stream && this.#serving) this.#feeds.follow(record, stream);
    this.#publication?.schedule();
  }

  /**
   * That feeds are waited for is no work of the stream: a run without an interruption has the same events otherwise.
   */
  #publishResuming(stream: string, atMs: number): void {
    const resuming = this.#streams.get(stream)?.resuming ?? false;
    if (resuming === this.#resuming.has(stream) || !this.#pipeline) return;
    if (resuming) this.#resuming.add(stream);
    else this.#resuming.delete(stream);
    const message = resuming
      ? 'is waiting for its feeds to come back; nobody is late or silent meanwhile'
      : 'is no longer waiting for feeds; the usual lateness counts again';
    const event = { type: 'resuming' as const, stream, tracker: null, over: !resuming, message, atMs };
    this.#history.addUnlogged(event, this.#streams.handledPosition);
    this.#channels.told$.next(event);
  }

  /** The process was suspended, or stuck: the time it stood still counts for nobody. */
  #noticeStall(isTick: boolean): void {
    const { clock } = this;
    if (!clock.uptime || !this.opening.resumes) return;
    const awayMs = this.#deadlines.noticeStall(clock.uptime(), isTick);
    if (awayMs === 0) return;
    this.logger.warn('process_stalled', { ms: Math.round(awayMs) });
    this.#recovery.resumeAll(clock.now(), awayMs);
  }

  /** Epoch milliseconds by the clock that everything goes by. */
  now(): number {
    return this.clock.now();
  }

  /** What happens, as it happens; never fails. After a crash the last events may come again, with the same `n`. */
  get events$(): Channels['events$'] {
    return this.#channels.events$;
  }

  hasStream(stream: string): boolean {
    return this.#feeds.has(stream);
  }

  /**
   * Registers a feed; the first hello of a stream may bring settings. `ifNew` is why no stream may be opened that is
   * not there yet.
   */
  async openFeed(id: FeedId, patch?: SettingsPatch, shape?: Shape, ifNew?: Refusal): Promise<Admission | Refusal> {
    if (!this.#serving || (this.#recovering && this.#streams.get(id.stream)?.info().restoring))
      return {
        code: 'not_ready',
        path: 'stream',
        message: 'the evaluator recovers this stream; try again in a moment',
      };
    this.#noticeStall(false);
    return this.#feeds.open(id, patch, shape, ifNew);
  }

  /** Of a feed on a shared log: resolves when its hello is stored. */
  opened(id: FeedId): Promise<void> {
    return this.#feeds.opened(id);
  }

  /** Whether it must be opened again before its next part. */
  hasEnded(id: FeedId): boolean {
    return this.#feeds.hasEnded(id);
  }

  /** Opens a feed again that had ended or was retired; resolves with the epoch of its parts. */
  restart(id: FeedId): Promise<number> {
    return this.#feeds.restart(id);
  }

  /**
   * Resolves once the part is durable; rejects with a StorageFault when it is not going to be, and must come again.
   * Parts of one group commit share their promise.
   */
  ingest(id: FeedId, part: FeedPart, receivedMs: number): Promise<void> {
    try {
      this.#noticeStall(false);
      return this.#feeds.append(id, part, receivedMs);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** The feed is finished. Resolves when that has taken effect; with the last feed everything left is settled. */
  end(id: FeedId): Promise<void> {
    this.#noticeStall(false);
    return this.#feeds.end(id);
  }

  /** The connection of a feed is gone: the stream waits until it is back, for a while. */
  cut(id: FeedId): void {
    this.#noticeStall(false);
    this.#feeds.cut(id);
  }

  /** Frames of a feed may have come that were not read, or no longer: nobody is late meanwhile. */
  unread(id: FeedId, unread: boolean): void {
    this.#deadlines.setUnread(id, unread);
  }

  /** Publishes that input was refused, or an object left out of it, before it came here. */
  reportRefused(feed: FeedId, type: Refused['type'], what: Pick<Refused, 'code' | 'path' | 'message'>): void {
    const event: Refused = { type, ...feed, ...what, count: 1, atMs: this.clock.now() };
    this.#history.addRejected(event, this.#streams.handledPosition);
    this.#channels.told$.next(event);
  }

  streams(): StreamInfo[] {
    return [...this.#streams].map((stream) => stream.info());
  }

  /** The newest report of every series, for those who come late. */
  reports(): ReportEvent[] {
    return [...this.#streams].flatMap((stream) => stream.reports());
  }

  /** The spikes that last, as they began. */
  spikes(): SpikeEvent[] {
    return [...this.#streams].flatMap((stream) => stream.spikes());
  }

  /** The window of a series as it is now; undefined when there is none. */
  async window(stream: string, tracker: string, profile: string): Promise<WindowView | undefined> {
    return this.#streams.get(stream)?.window(tracker, profile);
  }

  /** A stretch of the past of a series, from the log; a text says why there is none. */
  async moment(wanted: MomentQuery): Promise<Moment | string> {
    const plan = this.#streams.get(wanted.stream)?.plan;
    if (!plan || !(wanted.profile in plan.profiles))
      return `no series has stream ${wanted.stream} and profile ${wanted.profile}; /v1/streams lists them`;
    return this.#moments?.read(plan, wanted) ?? 'the log of this evaluator cannot be looked back into';
  }

  /** The event history, oldest first, of one stream or of all. */
  recentEvents(stream?: string): LiveEvent[] {
    return this.#history.list(stream);
  }

  /** Sizes and times of the log, durable records that are not applied yet, and how many streams are heavy. */
  storage(): LogGauges & { backlogRecords: number; heavyStreams: number } {
    const { unapplied: backlogRecords, heavy: heavyStreams } = this.#streams;
    return { ...this.log.gauges, backlogRecords, heavyStreams };
  }

  /** Whether frames are accepted; streams that are not judged are named beside that. */
  health(): { ready: boolean; reasons: string[]; degraded: Array<{ stream: string; reason: string }> } {
    const { fault } = this.log;
    const reasons = [
      ...(fault ? [fault.message] : []),
      ...(this.#stopping ? ['the evaluator is stopping'] : []),
      ...(this.#recovering && !this.#stopping ? [this.#recovery.progress()] : []),
    ];
    const degraded = this.streams().flatMap(({ stream, suspended }) =>
      suspended === undefined ? [] : [{ stream, reason: `suspended: ${suspended}` }],
    );
    for (const { stream = '*', message } of this.log.damage) degraded.push({ stream, reason: `damaged: ${message}` });
    return { ready: reasons.length === 0, reasons, degraded };
  }

  /** Before a stop: from now on acks wait for the disk only, and no longer for the evaluation. */
  liftBackpressure(): void {
    this.#streams.liftLimits();
    this.#heldAcks.lift();
  }

  /** Applies what is durable, snapshots, and closes the store. */
  async stop(): Promise<void> {
    if (this.#stopping) return;
    this.#stopping = true;
    await this.log.flush().catch(() => {});
    const drained = this.#streams.drained().then(() => true);
    const inTime = await Promise.race([drained, delay(this.config.limits.stopMs, false, { ref: false })]);
    // what is left is in the log, and repeated at the next start
    if (!inTime) this.#pipeline?.unsubscribe();
    await this.#publication?.drained();
    await this.#snapshots.saveLast(this.#streams.upToDate);
    await this.log.close();
    this.#isClean = true;
    await this.kill();
  }

  /** Closes everything at once, as a crash would. */
  async kill(): Promise<void> {
    this.#stopping = true;
    for (let undo = this.#cleanUp.pop(); undo; undo = this.#cleanUp.pop()) await undo();
  }
}
