/**
 * A process of a cluster, seen by the rest of the program as the cores of an evaluator: feeds go into the logs of their
 * partitions, streams are evaluated where their partition is owned, and whoever reads gets an answer from any process.
 * Stored events come to every process in the order of their chains; reports come from their owners while somebody
 * reads them.
 */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { addDeaths } from '../cluster/death-toll.js';
import { decodeLink } from '../cluster/event-chain.js';
import { Layout } from '../cluster/layout.js';
import { type NatsConnection, onReconnect } from '../cluster/nats/connection.js';
import { AbsentError, answer, ask, hear, tell, UnansweredError } from '../cluster/nats/questions.js';
import { sequenceOf } from '../cluster/partition-log.js';
import type { ClusterRole } from '../config/cluster.js';
import type { Config } from '../config/config.js';
import type { Cores } from '../cores/cores.js';
import { Broadcast } from '../edge/broadcast.js';
import { FeedDesk } from '../edge/feeds/feed-desk.js';
import type { FeedConversation } from '../edge/feeds/feed-port.js';
import { Session } from '../edge/feeds/session.js';
import type { FeedReadings, Readiness, RestoredReport } from '../edge/live-port.js';
import type { Identity } from '../edge/peers/access.js';
import type { Peer } from '../edge/peers/peer.js';
import type { RateView } from '../edge/rates.js';
import { within } from '../edge/sockets.js';
import type { Filter } from '../edge/subscribers.js';
import type { TrendView } from '../edge/trend.js';
import type { SteadyClock } from '../live/clock.js';
import { ApplyMark } from '../store/apply-mark.js';
import { slotOf } from '../store/partition.js';
import { receivedEvent, type SentEvent, sentEvent, sentReport } from '../stream/sent-event.js';
import type { StreamInfo, WindowView } from '../stream/status.js';
import { ClusterMeters, type PartitionReading } from '../telemetry/cluster-meters.js';
import type { Logger } from '../telemetry/logger.js';
import type { Meters } from '../telemetry/meters.js';
import type { StorageGauges } from '../telemetry/spec.js';
import { asOneHistory, type LiveEvent, type ReportEvent } from '../wire/events.js';
import type { OpenIncident } from '../wire/incidents.js';
import type { MomentQuery } from '../wire/series-key.js';
import { checkBrokers, connectBrokers, untilServed } from './brokers.js';
import { Directory, type MemberInfo } from './directory.js';
import { Election } from './election.js';
import { type AskOwner, Gateway } from './gateway.js';
import { Membership } from './membership.js';
import { OwnedPartition } from './owned-partition.js';
import type { OwnedText } from './owned-text.js';
import { Ownership } from './ownership.js';
import { PartitionLag } from './partition-lag.js';
import { SharedText } from './shared-text.js';
import { warmUp } from './warm-up.js';
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

/** What is wrong with the streams of the partitions that a process owns. */
interface OwnIncidents {
  partitions: number[];
  incidents: OpenIncident[];
}

/** Told and not stored: what is lost of it is made up for by the next one. */
const UNSTORED = new Set<LiveEvent['type']>(['report', 'resuming', 'rejected', 'skipped']);
const NO_GATEWAY = 'this process accepts no feeds (cluster.roles leaves out gateway); connect to one that does';
/** in terms of the time after which an owner is gone: so long a notifier waits for partitions without one */
const SERVED_PATIENCE = 12;
/** milliseconds between two looks at which streams there are, of a process that notifies */
const NAMES_MS = 10_000;
/** an owner may read much for an answer about the past, and for others first */
const LOOKING_BACK_MS = 30_000;

export class Member implements Cores {
  readonly #parts: MemberParts;
  readonly #layout: Layout;
  readonly #directory: Directory;
  readonly #writers: Writers;
  readonly #lag: PartitionLag;
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
  #allNames: readonly string[] = [];

  readonly events$ = new Broadcast<LiveEvent>();
  readonly restored$ = new Broadcast<RestoredReport>();
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
    this.#directory = new Directory(layout, expiryMs);
    this.#lag = new PartitionLag(this.#directory, lagMaxMs);
    this.#gateway = new Gateway({
      config,
      writers,
      directory: this.#directory,
      lag: this.#lag,
      askOwner: this.#askOwner,
      partitionOf: (stream) => this.#partitionOf(stream),
      now: () => this.now(),
      restore: (stream, dimensions) => this.#desk.rules.restore(stream, dimensions),
    });
    this.#meters = new ClusterMeters(
      () => this.#partitionReadings(),
      () => this.#directory.members().length,
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
    const connection = await connectBrokers(settings, env);
    try {
      await checkBrokers(connection, settings, logger);
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
    const membership = new Membership(layout, this.#directory, this.#parts.config.cluster!, () => this.#info);
    const revision = await membership.start(this.#over.signal);
    this.#cleanUp.push(() => membership.stop());
    await this.#directory.start(revision, (error) => this.#failed('directory', error));
    this.#cleanUp.push(
      answer(this.connection, layout.processSubject(this.id), (asked) => this.#answer(asked)),
      hear(this.connection, layout.newsSubject('events'), (news) => this.#hearNews(news)),
    );
    const chains = await layout.chains();
    const next = (await chains.lastSequence()) + 1;
    this.#hearLinks(chains.read(next, this.#over.signal)).catch((error) => this.#failed('events', error));
    if (this.#has('evaluator')) {
      await this.#tellDeaths();
      this.#ownership = await this.#own();
    }
    // without brokers nothing can be given up in order
    this.#cleanUp.push(() => within(this.#parts.config.limits.stopMs, this.#ownership?.stop() ?? Promise.resolve()));
  }

  /** Before anything is taken over: records that the process before this one did not survive. */
  async #tellDeaths(): Promise<void> {
    const { config, logger } = this.#parts;
    for (let partition = 0; partition < config.cluster!.partitions; partition++) {
      const positions = ApplyMark.handOver(OwnedPartition.folder(config, partition));
      if (positions.length === 0) continue;
      logger.warn('ended_at_record', { partition, positions });
      await addDeaths(await this.#layout.deathCell(partition), positions, this.#over.signal);
    }
  }

  #has(role: ClusterRole): boolean {
    return this.#parts.config.cluster!.roles.includes(role);
  }

  get #info(): MemberInfo {
    const { roles, renewMs } = this.#parts.config.cluster!;
    const stuck = this.#writers.stuck(renewMs);
    return { id: this.id, roles, url: this.#url, readsReports: this.#readsReports, stuck };
  }

  #own(): Promise<Ownership> {
    const { config, clock, logger, meters } = this.#parts;
    const [layout, writers, id] = [this.#layout, this.#writers, this.id];
    const onEvent = (event: LiveEvent) => this.#ownEvent(event);
    const silenceMs = (process: string) => (process === id ? 0 : this.#directory.silenceMs(process));
    const mayHoldFrames = (process: string, partition: number, ms: number) =>
      process === id
        ? writers.of(partition).unacknowledgedMs > config.cluster!.renewMs
        : this.#directory.unheardMs(process) > ms || this.#directory.isStuck(process, partition);
    const idle = new AbortController();
    this.#cleanUp.push(() => idle.abort());
    void this.#warmUp(idle.signal);
    return Ownership.start({
      id,
      settings: config.cluster!,
      layout,
      directory: this.#directory,
      logger,
      meters: this.#meters,
      open: (partition) => {
        idle.abort();
        const parts = { config, clock, logger, meters, layout, writers, id, onEvent, silenceMs, mayHoldFrames };
        return OwnedPartition.open(partition, parts);
      },
      gained: (owned) => this.#gained(owned),
      lost: ({ partition }) => this.#lost(partition),
    });
  }

  /** While it owns nothing. */
  async #warmUp(signal: AbortSignal): Promise<void> {
    const { config, logger } = this.#parts;
    const began = performance.now();
    try {
      const frames = await warmUp(config, config.cluster!.warmUpFrames, signal);
      if (!signal.aborted) logger.info('evaluator_warm', { frames, ms: Math.round(performance.now() - began) });
    } catch (error) {
      // it is only slower
      logger.warn('evaluator_cold', { error });
    }
  }

  #gained({ live }: OwnedPartition): void {
    for (const report of live.reports()) this.restored$.tell({ report, unseen: this.#readsReports });
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
      event.type !== 'report' ||
      this.#directory.members().some(({ id, readsReports }) => readsReports && id !== this.id);
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
    this.events$.tell(event);
  }

  now(): number {
    return this.#parts.clock.now();
  }

  /** A text that every process may change. */
  async sharedText(name: string): Promise<SharedText> {
    return new SharedText(await this.#layout.leaseCell(name), () => this.#directory.lease(name));
  }

  /**
   * One process of the cluster notifies: this one is told when it is to, with what the one before it has told, and when
   * it is not any longer. One that stood still can note nothing any more, and so tells nothing.
   */
  async electNotifier(elected: (memory: OwnedText | null) => void): Promise<void> {
    if (!this.#has('notifier')) return;
    const election = new Election(this.#layout, this.id, this.#parts.config.cluster!, (note) => {
      if (note) void this.#learnNames();
      if (note) this.#parts.logger.info('notifier_elected', { process: this.id });
      elected(note);
    });
    this.#cleanUp.push(() => election.stop());
    const names = setInterval(() => election.isOurs && void this.#learnNames(), NAMES_MS).unref();
    this.#cleanUp.push(() => clearInterval(names));
    await election.start(this.#over.signal);
  }

  async #learnNames(): Promise<void> {
    this.#allNames = (await this.#askAll<string[]>('names')).flat();
  }

  /** Names of all streams of the cluster, as a process that notifies has lately heard. */
  allNames(): readonly string[] {
    return this.#allNames;
  }

  /**
   * What is wrong with all streams. Waits for partitions that have no owner at the moment: whoever takes an incident
   * for over because nobody tells of it would take its alert back, and never tell of it again.
   */
  async incidents(): Promise<OpenIncident[]> {
    const { partitions, expiryMs, renewMs } = this.#parts.config.cluster!;
    const deadline = performance.now() + SERVED_PATIENCE * expiryMs;
    for (;;) {
      const answers = await this.#askAll<OwnIncidents>('incidents');
      const served = new Set(answers.flatMap((own) => own.partitions));
      if (served.size === partitions || performance.now() > deadline || this.#over.signal.aborted)
        return answers.flatMap((own) => own.incidents);
      await delay(renewMs);
    }
  }

  /** Tells the others where the page of this process is, for people, now that its port is open. */
  announce(url: string): void {
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
      for (const report of reports) this.restored$.tell({ report, unseen: true });
    });
  }

  converse(peer: Peer, identity: Identity): FeedConversation {
    const session = new Session(this.#desk, peer, identity);
    if (!this.acceptsFeeds) setImmediate(() => session.close(1013, NO_GATEWAY));
    return session;
  }

  get acceptsFeeds(): boolean {
    return this.#has('gateway');
  }

  readonly #askOwner: AskOwner = (partition, question, ...about) => {
    const { timeoutMs } = this.#parts.config.cluster!;
    return ask(this.connection, this.#layout.ownerSubject(partition), [question, ...about], timeoutMs);
  };

  /** What every owner answers, put together; one that does not answer is left out. */
  async #askAll<T>(question: string, ...about: unknown[]): Promise<T[]> {
    const { timeoutMs } = this.#parts.config.cluster!;
    const others = this.#directory.members('evaluator').filter(({ id }) => id !== this.id);
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
      case 'present':
        return true;
      case 'streams':
        return this.ownStreams();
      case 'reports':
        return this.#owned.flatMap(({ live }) => live.reports()).map(sentReport);
      case 'names':
        return this.names();
      case 'incidents':
        return {
          partitions: this.#owned.map(({ partition }) => partition),
          incidents: this.ownStreams().flatMap(({ incidents }) => incidents),
        } satisfies OwnIncidents;
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

  async moment(wanted: MomentQuery): Promise<object | string> {
    const subject = this.#layout.ownerSubject(this.#partitionOf(wanted.stream));
    try {
      return await ask<object | string>(this.connection, subject, ['moment', wanted], LOOKING_BACK_MS);
    } catch (error) {
      if (error instanceof AbsentError)
        return 'the partition of this stream has no owner at the moment; try again soon';
      if (!(error instanceof UnansweredError)) throw error;
      return `the owner of this stream has not looked back within ${LOOKING_BACK_MS / 1000} s; ask again in a moment`;
    }
  }

  async recentEvents(stream?: string): Promise<LiveEvent[]> {
    if (stream !== undefined) return this.#ofOwner<LiveEvent[]>(stream, [], 'recentEvents', stream);
    const histories = await this.#askAll<LiveEvent[]>('recentEvents');
    return asOneHistory(histories, this.#parts.config.limits.recentEvents);
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
      heavyStreams: 0,
      commitMs,
      oldestMs: 0,
      freeBytes: 1,
      neededBytes: 0,
    };
  }

  health(): Readiness {
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
    const free = Array.from({ length: partitions }, (_, p) => p).filter((p) => this.#directory.ownerOf(p) === null);
    return free.length === 0 ? [] : [`${free.length} of ${partitions} partitions have no owner yet`];
  }

  readings(): FeedReadings {
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
      owner: this.#directory.ownerOf(partition),
      appliedSequence: sequenceOf(this.#directory.applied(partition)),
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
    this.#directory.close();
    await this.connection.close();
  }
}
