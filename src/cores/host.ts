/**
 * The partitions of this process in several workers, and one view of all of them. A connection goes to the worker that
 * owns the partition of its stream; questions are asked of all, and their answers put together. A worker that is being
 * started again is left out of answers, and `/readyz` says so.
 */
import type { Config } from '../config/config.js';
import { Broadcast } from '../edge/broadcast.js';
import type { FeedConversation, FeedRefusal } from '../edge/feeds/feed-port.js';
import { StreamShares } from '../edge/limits/stream-shares.js';
import type { FeedReadings, Readiness, RestoredReport } from '../edge/live-port.js';
import type { Identity } from '../edge/peers/access.js';
import type { Peer } from '../edge/peers/peer.js';
import type { RateView } from '../edge/rates.js';
import type { Filter } from '../edge/subscribers.js';
import type { TrendView } from '../edge/trend.js';
import type { SteadyClock } from '../live/clock.js';
import { arrangeSlots } from '../live/rearrangement.js';
import { exceeded } from '../live/refusal.js';
import { slotOf } from '../store/partition.js';
import { receivedEvent, type SentEvent, type SentReport } from '../stream/sent-event.js';
import type { StreamInfo, WindowView } from '../stream/status.js';
import type { Logger } from '../telemetry/logger.js';
import { Meters } from '../telemetry/meters.js';
import type { StorageGauges } from '../telemetry/spec.js';
import { asOneHistory, type LiveEvent, type ReportEvent } from '../wire/events.js';
import type { MomentQuery } from '../wire/series-key.js';
import type { Cores } from './cores.js';
import type { Questions } from './messages.js';
import { addMeters, addSums, goOn, type MeterReadings, NO_SUMS, readMeters, withoutStream } from './meter-readings.js';
import { type HelloDesk, RoutedConversation } from './routed-conversation.js';
import { shareOf } from './share.js';
import { type StreamChanges, WorkerCore } from './worker-core.js';

type SentReadings = Omit<FeedReadings, 'meters'> & { meters: MeterReadings };

/** milliseconds: what a worker has counted since may be lost with it */
const LOOK_MS = 1000;

export interface HostParts {
  config: Config;
  clock: SteadyClock;
  logger: Logger;
  /** what is counted in this thread */
  meters: Meters;
}

export class Host implements Cores, HelloDesk {
  readonly #parts: HostParts;
  readonly #workers: WorkerCore[];
  readonly #shares: StreamShares;
  /** streams that are open, or about to be, by name: in which slot */
  readonly #streams = new Map<string, number>();
  /** those of them that a hello asks for and no worker has yet */
  readonly #reserved = new Set<string>();
  /** by slot: what its worker had counted when it was asked last, and those before it */
  readonly #lastReadings: Array<MeterReadings | undefined> = [];
  /** by slot: its streams when it was asked last */
  readonly #lastStreams: StreamInfo[][] = [];
  /** by slot: what workers that died had counted of feeds and series */
  readonly #before: Array<MeterReadings | undefined> = [];
  readonly #look: NodeJS.Timeout;

  readonly events$ = new Broadcast<LiveEvent>();
  readonly restored$ = new Broadcast<RestoredReport>();

  private constructor(parts: HostParts, folders: string[]) {
    this.#parts = parts;
    const { config, clock, logger } = parts;
    this.#shares = new StreamShares(config.limits, (stream) => this.#streams.has(stream));
    this.#workers = folders.map((dir, slot) => {
      const own = shareOf(config, dir, folders.length);
      return new WorkerCore({ slot, config: own, clock, logger, listener: this.#listenerOf(slot) });
    });
    this.#look = setInterval(() => void this.#lookAll(), LOOK_MS).unref();
  }

  /** Resolves when the stores of all workers are open; streams are recovered from then on. */
  static async start(parts: HostParts, workers: number): Promise<Host> {
    const { config, logger } = parts;
    const folders = await arrangeSlots(config.data, workers, logger);
    const host = new Host(parts, folders);
    try {
      await Promise.all(host.#workers.map((worker) => worker.start()));
    } catch (error) {
      await host.stop();
      throw error;
    }
    return host;
  }

  get recovered(): Promise<void> {
    return Promise.all(this.#workers.map((worker) => worker.recovered)).then(() => {});
  }

  #listenerOf(slot: number) {
    return {
      events: (events: SentEvent[]) => this.#publish(events),
      restored: (reports: SentReport[], unseen: boolean) => this.#restored(reports, unseen),
      streams: (changes: StreamChanges) => this.#changed(slot, changes),
      recovered: () => void this.#reconcile(slot),
      died: () => this.#died(slot),
    };
  }

  #changed(slot: number, { opened, gone, released }: StreamChanges): void {
    for (const stream of opened) {
      this.#streams.set(stream, slot);
      this.#reserved.delete(stream);
    }
    for (const stream of gone) this.#forget(slot, stream);
    // one that is not recovered yet was there before, and will be there again
    for (const stream of released) if (this.#reserved.has(stream)) this.#forget(slot, stream);
  }

  #forget(slot: number, stream: string): void {
    this.#streams.delete(stream);
    this.#reserved.delete(stream);
    const before = this.#before[slot];
    if (before) this.#before[slot] = withoutStream(before, stream);
  }

  #namesIn(slot: number): string[] {
    return [...this.#streams].flatMap(([stream, at]) => (at === slot ? [stream] : []));
  }

  /** A worker that died may not have been able to say that a stream is gone. */
  async #reconcile(slot: number): Promise<void> {
    const known = this.#namesIn(slot).filter((stream) => !this.#reserved.has(stream));
    // one that dies again is asked again
    const unknown = await this.#workers[slot].ask<string[]>('unknown', known).catch(() => []);
    for (const stream of unknown) if (!this.#reserved.has(stream)) this.#forget(slot, stream);
  }

  #publish(events: readonly SentEvent[]): void {
    for (const sent of events) {
      this.events$.tell(receivedEvent(sent));
    }
  }

  #restored(reports: readonly SentReport[], unseen: boolean): void {
    for (const sent of reports) {
      const report = receivedEvent(sent) as ReportEvent;
      this.restored$.tell({ report, unseen });
    }
  }

  /** What it had counted goes on from where it was seen last. */
  #died(slot: number): void {
    // whoever asked for them comes back
    for (const stream of this.#namesIn(slot)) if (this.#reserved.has(stream)) this.#forget(slot, stream);
    const last = this.#lastReadings[slot];
    this.#lastReadings[slot] = undefined;
    if (!last) return;
    addSums(this.#parts.meters, last);
    this.#before[slot] = last;
  }

  /** Nobody may scrape for long: what a worker counts is looked at all the same, should it die. */
  async #lookAll(): Promise<void> {
    await Promise.allSettled(this.#workers.map((worker, slot) => this.#readingsOf(worker, slot)));
  }

  /** The feeds and series of a worker that is away. */
  #seenLast(slot: number): SentReadings | undefined {
    const before = this.#before[slot];
    return before && { meters: { ...before, ...NO_SUMS }, pausedConnections: 0, waitingFrames: 0 };
  }

  async #readingsOf(worker: WorkerCore, slot: number): Promise<SentReadings> {
    const { meters, ...counts } = await worker.ask<SentReadings>('readings');
    const whole = goOn(meters, this.#before[slot], (stream) => this.#streams.has(stream));
    this.#lastReadings[slot] = whole;
    return { ...counts, meters: whole };
  }

  now(): number {
    return this.#parts.clock.now();
  }

  names(): string[] {
    return [...this.#streams.keys()];
  }

  readReports(wanted: boolean): void {
    for (const worker of this.#workers) worker.readReports(wanted);
  }

  converse(peer: Peer, identity: Identity): FeedConversation {
    return new RoutedConversation(this, peer, identity, this.#parts);
  }

  workerOf(stream: string): WorkerCore {
    return this.#workers[slotOf(stream, this.#workers.length)];
  }

  /** A client asks for a stream: why it may not be a new one. A new one counts as open until it is told otherwise. */
  reserve(client: string, stream: string): FeedRefusal | undefined {
    if (this.#streams.has(stream)) return undefined;
    const { streams } = this.#parts.config.limits;
    const refusal = this.#shares.refusal(client);
    if (refusal) return { code: refusal.code, path: refusal.path, message: refusal.message };
    if (this.#streams.size >= streams) return exceeded('streams', 'stream', `${streams} streams are open`, streams);
    this.#streams.set(stream, slotOf(stream, this.#workers.length));
    this.#reserved.add(stream);
    this.#shares.add(client, stream);
    return undefined;
  }

  /** Answers of all workers that are there. */
  async #askAll<T>(question: keyof Questions, ...about: unknown[]): Promise<T[]> {
    const ask = (worker: WorkerCore) => worker.ask<T>(question, ...(about as never));
    const answers = await Promise.allSettled(this.#workers.map(ask));
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  }

  /** Those of a worker that is away are being rebuilt. */
  async streams(): Promise<StreamInfo[]> {
    const ask = async (worker: WorkerCore, slot: number) => {
      try {
        this.#lastStreams[slot] = await worker.ask<StreamInfo[]>('streams');
        return this.#lastStreams[slot];
      } catch {
        return (this.#lastStreams[slot] ?? []).map((stream): StreamInfo => ({ ...stream, restoring: true }));
      }
    };
    return (await Promise.all(this.#workers.map(ask))).flat();
  }

  async reports(): Promise<ReportEvent[]> {
    const sent = (await this.#askAll<SentReport[]>('reports')).flat();
    return sent.map((one) => receivedEvent(one) as ReportEvent);
  }

  window(stream: string, tracker: string, profile: string): Promise<WindowView | undefined> {
    return this.workerOf(stream).ask('window', stream, tracker, profile);
  }

  moment(wanted: MomentQuery): Promise<object | string> {
    return this.workerOf(wanted.stream).ask('moment', wanted);
  }

  async recentEvents(stream?: string): Promise<LiveEvent[]> {
    if (stream !== undefined) return this.workerOf(stream).ask<LiveEvent[]>('recentEvents', stream);
    const histories = await this.#askAll<LiveEvent[]>('recentEvents', undefined);
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

  async storage(): Promise<StorageGauges> {
    return addGauges(await this.#askAll<StorageGauges>('storage'));
  }

  async health(): Promise<Readiness> {
    const each = await Promise.all(this.#workers.map((worker) => worker.health()));
    return {
      ready: each.every(({ ready }) => ready),
      reasons: [...new Set(each.flatMap(({ reasons }) => reasons))],
      degraded: each.flatMap(({ degraded }) => degraded),
    };
  }

  async readings(): Promise<FeedReadings> {
    const { meters: own } = this.#parts;
    const meters = new Meters(own.seriesMax);
    for (const [name, source] of own.sources) meters.sources.set(name, source);
    meters.cluster = own.cluster;
    addMeters(meters, readMeters(own));
    const sums = { pausedConnections: 0, waitingFrames: 0 };
    const ask = async (worker: WorkerCore, slot: number) => {
      const readings = await this.#readingsOf(worker, slot).catch(() => this.#seenLast(slot));
      if (!readings) return;
      addMeters(meters, readings.meters);
      sums.pausedConnections += readings.pausedConnections;
      sums.waitingFrames += readings.waitingFrames;
    };
    await Promise.all(this.#workers.map(ask));
    return { ...sums, meters };
  }

  async quiesce(): Promise<void> {
    await this.#askAll('quiesce');
  }

  closeFeeds(): void {
    for (const worker of this.#workers) worker.closeFeeds();
  }

  liftBackpressure(): void {
    for (const worker of this.#workers) worker.liftBackpressure();
  }

  /** Ends the worker of a slot at once, as a crash would. */
  killWorker(slot: number): Promise<void> {
    return this.#workers[slot].kill();
  }

  async stop(): Promise<void> {
    clearInterval(this.#look);
    await Promise.all(this.#workers.map((worker) => worker.stop()));
  }
}

/** Sizes add up; of times and of the disk that all share, what matters most. */
function addGauges(each: StorageGauges[]): StorageGauges {
  const of = (key: keyof StorageGauges) => each.map((gauges) => gauges[key]);
  const sum = (key: keyof StorageGauges) => of(key).reduce((a, b) => a + b, 0);
  return {
    bytes: sum('bytes'),
    commits: sum('commits'),
    faults: sum('faults'),
    damagedPlaces: sum('damagedPlaces'),
    queuedRecords: sum('queuedRecords'),
    backlogRecords: sum('backlogRecords'),
    heavyStreams: sum('heavyStreams'),
    commitMs: Math.max(0, ...of('commitMs')),
    oldestMs:
      Math.min(...of('oldestMs').filter((ms) => ms > 0), Number.POSITIVE_INFINITY) % Number.POSITIVE_INFINITY || 0,
    freeBytes: Math.min(...of('freeBytes')),
    neededBytes: Math.max(0, ...of('neededBytes')),
  };
}
