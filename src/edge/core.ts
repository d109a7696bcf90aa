/**
 * A core: one pipeline, the desk where its feeds come in, and what is counted and plotted of it, all in one thread. The
 * sockets may be in the same thread, or in another one with several cores behind it: this is where the two meet.
 */
import type { Config } from '../config/config.js';
import type { Logger } from '../telemetry/logger.js';
import type { Meters } from '../telemetry/meters.js';
import type { LiveEvent, ReportEvent } from '../wire/events.js';
import type { MomentQuery } from '../wire/series-key.js';
import { Broadcast } from './broadcast.js';
import { FeedDesk, type Shares } from './feeds/feed-desk.js';
import { Session } from './feeds/session.js';
import type { FeedReadings, LivePort, PipelinePort, RestoredReport, RestoredStream } from './live-port.js';
import type { Identity } from './peers/access.js';
import type { Peer } from './peers/peer.js';
import { Rates, type RateView } from './rates.js';
import { within } from './sockets.js';
import type { Filter } from './subscribers.js';
import { Trends, type TrendView } from './trend.js';

export interface CoreParts<P extends PipelinePort> {
  config: Config;
  live: P;
  meters: Meters;
  logger: Logger;
  /** of the streams that clients may open; those of this core unless given */
  shares?: Shares;
  /** milliseconds of messages after which connections wait for their turn; that of the configuration unless given */
  sliceMs?: number;
}

export class Core<P extends PipelinePort = PipelinePort> implements LivePort {
  readonly desk: FeedDesk;
  readonly #parts: CoreParts<P>;
  readonly #trends: Trends;
  readonly #rates: Rates;
  readonly #restoredReports = new Broadcast<RestoredReport>();

  readonly events$ = new Broadcast<LiveEvent>();
  /** what was there before is told at once */
  readonly restored$ = {
    subscribe: (next: (restored: RestoredReport) => void) => {
      for (const report of this.#parts.live.reports()) next({ report, unseen: false });
      return this.#restoredReports.subscribe(next);
    },
  };

  constructor(parts: CoreParts<P>) {
    const { config, live, meters, logger, shares, sliceMs } = parts;
    this.#parts = parts;
    this.desk = new FeedDesk(config, live, meters, logger, shares, sliceMs);
    this.#rates = new Rates(config.limits.series);
    this.#trends = new Trends(config.limits.trendFrames, config.limits.series);
    for (const { stream, dimensions } of live.streams()) this.desk.rules.restore(stream, dimensions);
    for (const report of live.reports()) this.#restore(report);
    live.restored$.subscribe((stream) => this.#restored(stream));
    live.events$.subscribe((event) => {
      try {
        this.#publish(event);
      } catch (error) {
        this.desk.faults.report('event', error, { type: event.type, stream: event.stream });
      }
    });
  }

  #restored(stream: RestoredStream): void {
    const { stream: name, dimensions } = stream.info();
    this.desk.rules.restore(name, dimensions);
    for (const report of stream.reports()) {
      this.#restore(report);
      this.#restoredReports.tell({ report, unseen: false });
    }
  }

  /** A series as it was before a restart. */
  #restore(report: ReportEvent): void {
    this.#parts.meters.restore(report);
    this.#trends.observe(report);
    this.#rates.observe(report);
  }

  #publish(event: LiveEvent): void {
    this.#parts.meters.observe(event, this.now());
    this.events$.tell(event);
    this.#trends.observe(event);
    this.#rates.observe(event);
    if (event.type === 'retired') this.#retired(event.stream);
  }

  /** A stream that is gone may come back with other objects. */
  #retired(name: string): void {
    if (!this.#parts.live.streams().some(({ stream }) => stream === name)) this.desk.rules.forget(name);
  }

  now(): number {
    return this.#parts.live.now();
  }

  /** They are made here, and cost nothing more. */
  readReports(): void {}

  converse(peer: Peer, identity: Identity): Session {
    return new Session(this.desk, peer, identity);
  }

  async quiesce(): Promise<void> {
    this.desk.freeze();
    // what a stuck disk does not take in time was not acked, and is sent again after the next start
    await within(this.#parts.config.limits.stopMs, this.desk.drain());
  }

  closeFeeds(): void {
    this.desk.stop(1001, 'stopping');
  }

  streams(): ReturnType<P['streams']> {
    return this.#parts.live.streams() as ReturnType<P['streams']>;
  }

  moment(wanted: MomentQuery): Promise<object | string> {
    return this.#parts.live.moment(wanted);
  }

  window(stream: string, tracker: string, profile: string): ReturnType<P['window']> {
    return this.#parts.live.window(stream, tracker, profile) as ReturnType<P['window']>;
  }

  reports(): ReportEvent[] {
    return this.#parts.live.reports();
  }

  recentEvents(stream?: string): LiveEvent[] {
    return this.#parts.live.recentEvents(stream);
  }

  trends(filter: Filter, points: number): TrendView[] {
    return this.#trends.list(filter, points);
  }

  rates(filter: Filter): RateView[] {
    return this.#rates.list(filter);
  }

  storage() {
    return this.#parts.live.storage();
  }

  health() {
    return this.#parts.live.health();
  }

  readings(): FeedReadings {
    const { desk } = this;
    const { meters, live } = this.#parts;
    const applied = new Set(live.streams().map(({ stream }) => stream));
    meters.retain((stream) => applied.has(stream) || live.hasStream(stream));
    const { pausedSessions, waitingFrames } = desk;
    return { pausedConnections: pausedSessions, waitingFrames, meters };
  }
}
