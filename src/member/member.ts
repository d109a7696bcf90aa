/**
 * A process of a cluster, seen by the rest of the program as the cores of an evaluator: feeds go into the logs of their
 * partitions, streams are evaluated where their partition is owned, and whoever reads gets an answer from any process.
 * Stored events come to every process in the order of their chains; reports come from their owners while somebody
 * reads them.
 */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { decodeLink } from '../cluster/event-chain.js';
import { Layout } from '../cluster/layout.js';
import { Lease } from '../cluster/lease.js';
import { FencedError } from '../cluster/nats/cell.js';
import {
  checkServerVersion,
  connectNats,
  type JetStreamFacts,
  type NatsConnection,
  onReconnect,
  syncWarning,
} from '../cluster/nats/connection.js';
import { StreamFullError } from '../cluster/nats/partition-stream.js';
import { answer, ask, hear, tell, UnansweredError } from '../cluster/nats/questions.js';
import { sequenceOf } from '../cluster/partition-log.js';
import { type ClusterRole, clusterPassword } from '../config/cluster.js';
import type { Config } from '../config/config.js';
import type { Cores } from '../cores/cores.js';
import { FeedDesk } from '../edge/feeds/feed-desk.js';
import type { FeedConversation } from '../edge/feeds/feed-port.js';
import { Session } from '../edge/feeds/session.js';
import type { Health, MomentQuery, Readings } from '../edge/live-port.js';
import type { Identity } from '../edge/peers/access.js';
import type { Peer } from '../edge/peers/peer.js';
import type { RateView } from '../edge/rates.js';
import { within } from '../edge/sockets.js';
import type { Filter } from '../edge/subscribers.js';
import type { TrendView } from '../edge/trend.js';
import type { SteadyClock } from '../live/clock.js';
import { slotOf } from '../store/partition.js';
import { receivedEvent, type SentEvent, sentEvent, sentReport } from '../stream/sent-event.js';
import type { StreamInfo, WindowView } from '../stream/status.js';
import { ClusterMeters, type PartitionReading } from '../telemetry/cluster-meters.js';
import type { Logger } from '../telemetry/logger.js';
import type { Meters } from '../telemetry/meters.js';
import type { StorageGauges } from '../telemetry/spec.js';
import type { LiveEvent, ReportEvent } from '../wire/events.js';
import { Board, type MemberInfo } from './board.js';
import { type AskOwner, Gateway } from './gateway.js';
import { Lag } from './lag.js';
import { OwnedPartition } from './owned-partition.js';
import { Ownership } from './ownership.js';
import { SharedNote } from './shared-note.js';
import { Writers } from './writers.js';

export interface MemberParts {
  config: Config;
  clock: SteadyClock;
  meters: Meters;
  logger: Logger;
  env: NodeJS.ProcessEnv;
}

/** Why this process cannot join. */
class ClusterError extends Error {
  override readonly name = 'ClusterError';
}

/** Told and not stored: what is lost of it is made up for by the next one. */
const UNSTORED = new Set<LiveEvent['type']>(['report', 'resuming', 'rejected', 'skipped']);
/** milliseconds after which a process that has said nothing is no longer listed */
const FORGOTTEN_MS = 60_000;

export class Member implements Cores {
  readonly #parts: MemberParts;
  readonly #layout: Layout;
  readonly #board: Board;
  readonly #writers: Writers;
  readonly #lag: Lag;
  readonly #meters: ClusterMeters;
  readonly #gateway: Gateway;
  readonly #desk: FeedDesk;
  readonly #over = new AbortController();
  readonly #cleanUp: Array<() => unknown> = [];
  #ownership: Ownership | null = null;
  #readsReports = false;
  #url = '';
  #news: SentEvent[] = [];
  #newsTimer: NodeJS.Immediate | null = null;
  #fault: string | null = null;
  readonly #listeners = new Set<(event: LiveEvent) => void>();
  readonly #restoredListeners: Array<(restored: { report: ReportEvent; unseen: boolean }) => void> = [];

  readonly events$ = {
    subscribe: (next: (event: LiveEvent) => void) => {
      this.#listeners.add(next);
      return { unsubscribe: () => void this.#listeners.delete(next) };
    },
  };
  readonly restored$ = {
    subscribe: (next: (restored: { report: ReportEvent; unseen: boolean }) => void) =>
      void this.#restoredListeners.push(next),
  };
  readonly recovered = Promise.resolve();

  private constructor(
    parts: MemberParts,
    readonly connection: NatsConnection,
    layout: Layout,
    writers: Writers,
    readonly id: string,
  ) {
    this.#parts = parts;
    this.#layout = layout;
    this.#writers = writers;
    const { config, meters, logger } = parts;
    const { name, expiryMs, lagMaxMs } = config.cluster!;
    this.#board = new Board(layout, expiryMs);
    this.#lag = new Lag(this.#board, lagMaxMs);
    this.#gateway = new Gateway({
      config,
      writers,
      board: this.#board,
      lag: this.#lag,
      askOwner: this.#askOwner,
      partitionOf: (stream) => this.#partitionOf(stream),
      now: () => this.now(),
      restore: (stream, dimensions) => this.#desk.rules.restore(stream, dimensions),
    });
    this.#meters = new ClusterMeters(
      () => this.#partitionReadings(),
      () => this.#board.members().length,
    );
    meters.cluster = this.#meters;
    for (const writer of writers) {
      writer.published = (seconds) => this.#meters.publish.observe(seconds);
      writer.failed = () => void this.#meters.counts.retries++;
    }
    this.#desk = new FeedDesk(config, this.#gateway, meters, logger);
    logger.info('cluster_joined', { cluster: name, process: this.id, server: connection.getServer() });
  }

  /** Resolves when this process has joined; partitions are taken from then on. */
  static async start(parts: MemberParts): Promise<Member> {
    const { config, env, logger } = parts;
    const settings = config.cluster!;
    logger.info('cluster_connecting', { servers: settings.servers });
    const connection = await connectNats({
      ...settings,
      name: `tgospa ${settings.name}`,
      password: clusterPassword(settings, env),
      connectTimeoutMs: 5000,
      heartbeatMs: 2000,
      reconnectMs: 200,
    });
    try {
      checkServerVersion(connection.info?.version ?? '0');
      await warnOfSync(settings.monitors, settings.servers, logger);
      const layout = new Layout(connection, settings);
      await untilServed(() => layout.make(), settings.retryMs, logger);
      const { data } = config;
      const { timeoutMs, retryMs, stallMs } = settings;
      const id = `${hostname().replace(/[^A-Za-z0-9_-]/g, '-')}-${randomBytes(4).toString('hex')}`;
      const writers = await Writers.open(layout, {
        from: id,
        gatherMs: data.groupCommitMs,
        batchBytes: data.commitBytes,
        queueMaxBytes: data.queueMaxBytes,
        timeoutMs,
        retryMs,
        stallMs,
      });
      const member = new Member(parts, connection, layout, writers, id);
      await member.#join();
      return member;
    } catch (error) {
      await connection.close();
      throw new ClusterError(String((error as Error).message ?? error), { cause: error });
    }
  }

  async #join(): Promise<void> {
    const layout = this.#layout;
    onReconnect(this.connection, () => this.#ownership?.lookAnew());
    await this.#agree();
    const revision = await this.#heartbeat();
    await this.#board.start(revision, (error) => this.#failed('board', error));
    this.#cleanUp.push(
      answer(this.connection, layout.processSubject(this.id), (asked) => this.#answer(asked)),
      hear(this.connection, layout.newsSubject('events'), (news) => this.#hearNews(news)),
    );
    const chains = await layout.chains();
    const next = (await chains.lastSequence()) + 1;
    this.#hearLinks(chains.read(next, this.#over.signal)).catch((error) => this.#failed('events', error));
    const looks = setInterval(() => this.#forgetSilent(), FORGOTTEN_MS);
    this.#cleanUp.push(() => clearInterval(looks));
    if (this.#has('evaluator')) this.#ownership = await this.#own();
    // without brokers nothing can be given up in order
    this.#cleanUp.push(() => within(this.#parts.config.limits.stopMs, this.#ownership?.stop() ?? Promise.resolve()));
  }

  #has(role: ClusterRole): boolean {
    return this.#parts.config.cluster!.roles.includes(role);
  }

  /** All processes must have the same number of partitions: streams would be in two places. */
  async #agree(): Promise<void> {
    const { partitions } = this.#parts.config.cluster!;
    const cell = await this.#layout.leaseCell('partitions');
    for (;;) {
      const { revision, bytes } = await cell.read();
      const known = bytes.length === 0 ? partitions : Number(Buffer.from(bytes).toString());
      if (known !== partitions)
        throw new Error(
          `the cluster has ${known} partitions, and cluster.partitions is ${partitions}; they must be equal`,
        );
      if (revision > 0) return;
      try {
        await cell.write(0, Buffer.from(String(partitions)));
      } catch (error) {
        if (!(error instanceof FencedError)) throw error;
      }
    }
  }

  /** Says that this process lives, again and again; resolves with the revision of the first time. */
  async #heartbeat(): Promise<number> {
    const { renewMs } = this.#parts.config.cluster!;
    const cell = await this.#layout.memberCell(this.id);
    const first = await cell.write(0, this.#info(false), this.#over.signal);
    let revision = first;
    let busy = false;
    const beat = async () => {
      if (busy) return;
      busy = true;
      try {
        revision = await cell.write(revision, this.#info(false), this.#over.signal);
      } catch (error) {
        // after a long silence others have cleared it
        if (error instanceof FencedError)
          revision = await cell.read(this.#over.signal).then(
            (value) => value.revision,
            () => revision,
          );
      }
      busy = false;
    };
    const timer = setInterval(() => void beat(), renewMs);
    this.#cleanUp.push(async () => {
      clearInterval(timer);
      // one that is underway holds the revision; without brokers that is for ever
      const patience = performance.now() + renewMs;
      while (busy && performance.now() < patience) await new Promise((resolve) => setTimeout(resolve, 10));
      if (busy) return;
      await within(
        renewMs,
        cell.write(revision, this.#info(true)).then(
          () => {},
          () => {},
        ),
      );
    });
    return first;
  }

  #info(gone: boolean): Uint8Array {
    const { roles } = this.#parts.config.cluster!;
    const info: MemberInfo = { id: this.id, roles, url: this.#url, readsReports: this.#readsReports };
    return Buffer.from(JSON.stringify(gone ? { ...info, gone } : info));
  }

  /** A process that has said nothing for long leaves no trace. */
  #forgetSilent(): void {
    for (const id of this.#board.silentSince(FORGOTTEN_MS)) {
      this.#board.forget(id);
      void this.#layout.memberCell(id).then((cell) => cell.clear().catch(() => {}));
    }
  }

  #own(): Promise<Ownership> {
    const { config, clock, logger, meters } = this.#parts;
    const [layout, writers, id] = [this.#layout, this.#writers, this.id];
    const onEvent = (event: LiveEvent) => this.#ownEvent(event);
    const silenceMs = (process: string) => (process === id ? 0 : this.#board.silenceMs(process));
    return Ownership.start({
      id,
      settings: config.cluster!,
      layout,
      board: this.#board,
      logger,
      meters: this.#meters,
      open: (partition) =>
        OwnedPartition.open(partition, { config, clock, logger, meters, layout, writers, id, onEvent, silenceMs }),
      gained: (owned) => this.#gained(owned),
      lost: ({ partition }) => this.#lost(partition),
    });
  }

  #gained({ live }: OwnedPartition): void {
    for (const report of live.reports())
      for (const next of this.#restoredListeners) next({ report, unseen: this.#readsReports });
  }

  /** Its series are another process's from now on. */
  #lost(partition: number): void {
    const { series } = this.#parts.meters;
    for (const [key, { labels }] of series) if (this.#partitionOf(labels.stream) === partition) series.delete(key);
  }

  #failed(what: string, error: unknown): void {
    if (this.#over.signal.aborted) return;
    this.#fault = `the cluster cannot be heard any more (${what}); restart this process`;
    this.#parts.logger.error('cluster_unheard', { what, error });
  }

  #partitionOf(stream: string): number {
    return slotOf(stream, this.#parts.config.cluster!.partitions);
  }

  /** Something that has come of a partition of ours; what is stored comes back with its chain. */
  #ownEvent(event: LiveEvent): void {
    if (!UNSTORED.has(event.type)) return;
    this.#publish(event);
    const wanted =
      event.type !== 'report' || this.#board.members().some(({ id, readsReports }) => readsReports && id !== this.id);
    if (!wanted) return;
    this.#news.push(sentEvent(event));
    this.#newsTimer ??= setImmediate(() => {
      this.#newsTimer = null;
      this.#tellNews(this.#news.splice(0));
    });
  }

  /** After a takeover there may be more than fits into one message. */
  #tellNews(events: SentEvent[]): void {
    const told = tell(this.connection, this.#layout.newsSubject('events'), { from: this.id, events });
    if (told || events.length < 2 || this.connection.isClosed()) return;
    const half = events.length >> 1;
    this.#tellNews(events.slice(0, half));
    this.#tellNews(events.slice(half));
  }

  #hearNews(news: unknown): void {
    const { from, events } = news as { from: string; events: SentEvent[] };
    if (from === this.id) return;
    for (const event of events) if (event.type !== 'report' || this.#readsReports) this.#publish(receivedEvent(event));
  }

  async #hearLinks(links: AsyncIterable<{ bytes: Uint8Array }>): Promise<void> {
    for await (const { bytes } of links) this.#hearLink(bytes);
  }

  #hearLink(bytes: Uint8Array): void {
    for (const { event } of decodeLink(bytes).events as Array<{ event: LiveEvent }>) {
      if (event.type === 'retired') this.#gateway.retired(event.stream);
      this.#publish(event);
    }
  }

  #publish(event: LiveEvent): void {
    for (const next of this.#listeners) next(event);
  }

  now(): number {
    return this.#parts.clock.now();
  }

  /**
   * One process of the cluster notifies: this one is told when it is to, with what the one before it has told, and when
   * it is not any longer. One that stood still can note nothing any more, and so tells nothing.
   */
  async electNotifier(elected: (memory: SharedNote | null) => void): Promise<void> {
    if (!this.#has('notifier')) return;
    const settings = this.#parts.config.cluster!;
    const lease = new Lease(await this.#layout.leaseCell('notifier'), this.id, settings);
    const note = await this.#layout.leaseCell('notified');
    let wasOurs = false;
    let busy = false;
    const look = async () => {
      if (busy) return;
      busy = true;
      try {
        const isOurs = lease.isHeld ? await lease.renew(0) : await lease.acquire();
        if (isOurs !== wasOurs) elected(isOurs ? await SharedNote.claim(note, this.#over.signal) : null);
        wasOurs = isOurs;
      } finally {
        busy = false;
      }
    };
    const timer = setInterval(() => void look().catch(() => {}), settings.renewMs);
    this.#cleanUp.push(async () => {
      clearInterval(timer);
      await within(
        settings.renewMs,
        lease.release(0).catch(() => {}),
      );
    });
  }

  /** Where the page of this process is, for people. */
  set url(url: string) {
    this.#url = url;
  }

  names(): string[] {
    return this.#owned.flatMap(({ live }) => live.streams().map(({ stream }) => stream));
  }

  get #owned(): OwnedPartition[] {
    return this.#ownership?.owned ?? [];
  }

  readReports(wanted: boolean): void {
    this.#readsReports = wanted;
    if (!wanted) return;
    void this.reports().then((reports) => {
      for (const report of reports) for (const next of this.#restoredListeners) next({ report, unseen: true });
    });
  }

  converse(peer: Peer, identity: Identity): FeedConversation {
    if (!this.#has('gateway')) {
      setImmediate(() => peer.close(1013, 'this process accepts no feeds; its roles leave out gateway'));
    }
    return new Session(this.#desk, peer, identity);
  }

  readonly #askOwner: AskOwner = (partition, question, ...about) => {
    const { timeoutMs } = this.#parts.config.cluster!;
    return ask(this.connection, this.#layout.ownerSubject(partition), [question, ...about], timeoutMs);
  };

  /** What every owner answers, put together; one that does not answer is left out. */
  async #askAll<T>(question: string, ...about: unknown[]): Promise<T[]> {
    const { timeoutMs } = this.#parts.config.cluster!;
    const others = this.#board.members('evaluator').filter(({ id }) => id !== this.id);
    const asks = others.map(({ id }) =>
      ask<T>(this.connection, this.#layout.processSubject(id), [question, ...about], timeoutMs),
    );
    const answers = await Promise.allSettled([this.#answer([question, ...about]) as Promise<T>, ...asks]);
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  }

  /** What is asked of a process about everything it owns. */
  async #answer(asked: unknown): Promise<unknown> {
    const [question, ...about] = asked as [string, ...unknown[]];
    switch (question) {
      case 'streams':
        return this.ownStreams();
      case 'reports':
        return this.#owned.flatMap(({ live }) => live.reports()).map(sentReport);
      case 'recentEvents':
        return (await Promise.all(this.#owned.map((owned) => owned.recentEvents()))).flat();
      case 'trends': {
        const [series, points] = about as [Partial<Filter>, number];
        return this.#owned.flatMap(({ core }) => core.trends({ ...series, covers: () => true }, points));
      }
      case 'rates':
        return this.#owned.flatMap(({ core }) => core.rates({ ...(about[0] as Partial<Filter>), covers: () => true }));
      default:
        throw new Error(`nobody here knows the question ${question}`);
    }
  }

  /** Streams of the partitions that are owned here: what /metrics shows. */
  ownStreams(): StreamInfo[] {
    return this.#owned.flatMap(({ live }) => live.streams());
  }

  async streams(): Promise<StreamInfo[]> {
    return (await this.#askAll<StreamInfo[]>('streams')).flat();
  }

  async reports(): Promise<ReportEvent[]> {
    const sent = (await this.#askAll<SentEvent[]>('reports')).flat();
    return sent.map((one) => receivedEvent(one) as ReportEvent);
  }

  async #ofOwner<T>(stream: string, otherwise: T, question: string, ...about: unknown[]): Promise<T> {
    try {
      return await this.#askOwner<T>(this.#partitionOf(stream), question, ...about);
    } catch (error) {
      if (error instanceof UnansweredError) return otherwise;
      throw error;
    }
  }

  window(stream: string, tracker: string, profile: string): Promise<WindowView | undefined> {
    return this.#ofOwner<WindowView | undefined>(stream, undefined, 'window', stream, tracker, profile);
  }

  moment(wanted: MomentQuery): Promise<object | string> {
    const away = 'the partition of this stream has no owner at the moment; try again soon';
    return this.#ofOwner<object | string>(wanted.stream, away, 'moment', wanted);
  }

  async recentEvents(stream?: string): Promise<LiveEvent[]> {
    if (stream !== undefined) return this.#ofOwner<LiveEvent[]>(stream, [], 'recentEvents', stream);
    const all = (await this.#askAll<LiveEvent[]>('recentEvents')).flat();
    all.sort((a, b) => timeOf(a) - timeOf(b));
    return all.slice(-this.#parts.config.limits.recentEvents);
  }

  async trends({ covers, stream, tracker, profile }: Filter, points: number): Promise<TrendView[]> {
    const all = (await this.#askAll<TrendView[]>('trends', { stream, tracker, profile }, points)).flat();
    return all.filter((trend) => covers(trend.stream));
  }

  async rates({ covers, stream, tracker, profile }: Filter): Promise<RateView[]> {
    const all = (await this.#askAll<RateView[]>('rates', { stream, tracker, profile })).flat();
    return all.filter((rate) => covers(rate.stream));
  }

  storage(): StorageGauges {
    const each = this.#owned.map(({ live }) => live.storage());
    const sum = (key: keyof StorageGauges) => each.reduce((total, gauges) => total + gauges[key], 0);
    let [commits, faults, commitMs] = [0, 0, 0];
    for (const { batches, retries, publishMs } of this.#writers) {
      commits += batches;
      faults += retries;
      commitMs = Math.max(commitMs, publishMs);
    }
    return {
      bytes: sum('bytes'),
      commits,
      faults,
      damagedPlaces: 0,
      queuedRecords: 0,
      backlogRecords: sum('backlogRecords'),
      threadStreams: 0,
      commitMs,
      oldestMs: 0,
      freeBytes: 1,
      neededBytes: 0,
    };
  }

  health(): Health {
    const reasons = [
      ...(this.#fault ? [this.#fault] : []),
      ...(this.connection.isClosed() ? ['the connection to the brokers is closed'] : []),
      ...this.#unowned(),
    ];
    const degraded = this.#owned.flatMap(({ live }) => live.health().degraded);
    return { ready: reasons.length === 0, reasons, degraded };
  }

  #unowned(): string[] {
    const { partitions } = this.#parts.config.cluster!;
    const free = Array.from({ length: partitions }, (_, p) => p).filter((p) => this.#board.ownerOf(p) === null);
    return free.length === 0 ? [] : [`${free.length} of ${partitions} partitions have no owner yet`];
  }

  readings(): Readings {
    const { meters } = this.#parts;
    const streams = new Set([...this.names(), ...this.#gateway.streams()]);
    meters.retain((stream) => streams.has(stream));
    return { pausedConnections: this.#desk.pausedSessions, waitingFrames: this.#desk.waitingFrames, meters };
  }

  /** What there is to say about the cluster, by partition. */
  partitions(): Array<{ partition: number; owner: string | null; appliedSequence: number; lagSeconds: number }> {
    const { partitions } = this.#parts.config.cluster!;
    return Array.from({ length: partitions }, (_, partition) => ({
      partition,
      owner: this.#board.ownerOf(partition),
      appliedSequence: sequenceOf(this.#board.applied(partition)),
      lagSeconds: this.#lag.seconds(partition),
    }));
  }

  #partitionReadings(): PartitionReading[] {
    const served = new Set(this.#owned.map(({ partition }) => partition));
    return this.partitions().map(({ partition, owner, lagSeconds }) => ({
      partition,
      hasOwner: owner !== null,
      isOurs: served.has(partition),
      lagSeconds,
    }));
  }

  async quiesce(): Promise<void> {
    this.#desk.freeze();
    await within(this.#parts.config.limits.stopMs, this.#desk.drain());
  }

  closeFeeds(): void {
    this.#desk.stop(1001, 'stopping');
  }

  liftBackpressure(): void {
    for (const { live } of this.#owned) live.liftBackpressure();
  }

  async stop(): Promise<void> {
    for (let undo = this.#cleanUp.pop(); undo; undo = this.#cleanUp.pop()) await undo();
    await this.#writers.close(this.#parts.config.limits.stopMs);
    this.#over.abort();
    this.#board.close();
    await this.connection.close();
  }
}

const timeOf = (event: LiveEvent): number => ('atMs' in event ? (event.atMs ?? 0) : 0);

/** Right after they were started, brokers choose their leaders. */
async function untilServed(action: () => Promise<void>, retryMs: number, logger: Logger): Promise<void> {
  for (let n = 1; ; n++) {
    try {
      return await action();
    } catch (error) {
      if (error instanceof StreamFullError || n >= 60) throw error;
      if (n % 10 === 1) logger.warn('brokers_not_ready', { error });
      await new Promise((resolve) => setTimeout(resolve, retryMs * 5));
    }
  }
}

/** Whether the brokers flush before they acknowledge can be known from their monitoring ports only. */
async function warnOfSync(monitors: readonly string[], servers: readonly string[], logger: Logger): Promise<void> {
  const factsOf = async (monitor: string): Promise<JetStreamFacts | null> => {
    try {
      return (await (await fetch(new URL('/jsz?config=true', monitor))).json()) as JetStreamFacts;
    } catch {
      return null;
    }
  };
  const asked = monitors.length > 0 ? monitors : [null];
  for (const monitor of asked) {
    const message = syncWarning(monitor ?? servers.join(', '), monitor === null ? null : await factsOf(monitor));
    if (message) logger.warn('sync_unverified', { message });
  }
}
