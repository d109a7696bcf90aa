/**
 * The edge of the evaluator, put together: feeds come in at the desk, events of the pipeline go out to subscribers,
 * trends and meters, and everything is served on the sockets it is given.
 */
import type { Config } from '../config/config.js';
import { Exposition } from '../telemetry/exposition.js';
import type { Logger } from '../telemetry/logger.js';
import type { Meters } from '../telemetry/meters.js';
import type { Surroundings } from '../telemetry/spec.js';
import type { LiveEvent, ReportEvent } from '../wire/events.js';
import type { FindingEvent } from '../wire/findings.js';
import type { IncidentEvent } from '../wire/incidents.js';
import type { Access } from './access.js';
import { FeedDesk } from './feed-desk.js';
import { Http } from './http.js';
import type { Health, IncidentPort, LivePort } from './live-port.js';
import { builtPage } from './page-files.js';
import { Session } from './session.js';
import { type Endpoint, type Sockets, within } from './sockets.js';
import { readFilter, Subscribers } from './subscribers.js';
import { Trends } from './trend.js';

export interface EdgeParts {
  config: Config;
  live: LivePort;
  sockets: Sockets;
  access: Access;
  meters: Meters;
  logger: Logger;
  build: { version: string; node: string };
  notifications: Surroundings['notifications'];
  /** nobody may say anything about incidents without it */
  desk?: IncidentPort;
  /** metrics of the process itself besides; true unless given */
  processMetrics?: boolean;
}

export class Edge {
  readonly desk: FeedDesk;
  readonly subscribers: Subscribers;
  readonly trends: Trends;
  readonly #parts: EdgeParts;
  readonly #http: Http;

  constructor(parts: EdgeParts) {
    const { config, live, access, meters, logger, build, processMetrics } = parts;
    const { limits } = config;
    this.#parts = parts;
    this.desk = new FeedDesk(config, live, meters, logger);
    for (const { stream, dimensions } of live.streams()) this.desk.rules.restore(stream, dimensions);
    this.subscribers = new Subscribers(limits, meters.counts);
    this.trends = new Trends(limits.trendFrames, limits.series);
    this.#http = new Http({
      config,
      access,
      live,
      meters,
      faults: this.desk.faults,
      trends: this.trends,
      desk: parts.desk,
      exposition: new Exposition({ meters, surroundings: this.#surroundings(), build }, { processMetrics }),
      page: builtPage(),
      version: build.version,
      health: () => this.#health(),
    });
    this.#restore(live.reports());
    live.restored$.subscribe((stream) => {
      const { stream: name, dimensions } = stream.info();
      this.desk.rules.restore(name, dimensions);
      this.#restore(stream.reports());
    });
    live.events$.subscribe((event) => {
      try {
        this.#publish(event);
      } catch (error) {
        this.desk.faults.report('event', error, { type: event.type, stream: event.stream });
      }
    });
  }

  /** Series as they were before a restart. */
  #restore(reports: readonly ReportEvent[]): void {
    for (const report of reports) {
      this.#parts.meters.restore(report);
      this.subscribers.restore(report);
      this.trends.observe(report);
    }
  }

  /** Opens the port; resolves with its URL. */
  listen(): Promise<string> {
    const endpoints = new Map<string, Endpoint>([
      ['/v1/ingest', this.#ingest()],
      ['/v1/live', this.#live()],
    ]);
    const answer: Http['answer'] = (request, response) => this.#http.answer(request, response);
    return this.#parts.sockets.listen({ endpoints, answer, faults: this.desk.faults });
  }

  /** Stops accepting, stores and acks what has come, and closes the feeds. */
  async quiesce(): Promise<void> {
    const { sockets, config } = this.#parts;
    sockets.refuseMore();
    this.desk.freeze();
    // what a stuck disk does not take in time was not acked, and is sent again after the next start
    await within(config.limits.stopMs, this.desk.drain());
    this.desk.stop(1001, 'stopping');
  }

  #ingest(): Endpoint {
    const open: Endpoint['open'] = (_query, identity) => (peer) => new Session(this.desk, peer, identity);
    return { name: 'ingest', role: 'ingest', open };
  }

  #live(): Endpoint {
    const open: Endpoint['open'] = (query, identity) => {
      const filter = readFilter(query, identity);
      return 'code' in filter ? filter : (peer) => this.subscribers.subscribe(peer, filter);
    };
    return { name: 'live', role: 'read', open };
  }

  #publish(event: LiveEvent): void {
    this.#parts.meters.observe(event, this.#parts.live.now());
    this.subscribers.publish(event);
    this.trends.observe(event);
    if (event.type === 'retired') this.#retired(event.stream);
    else if (event.type === 'finding') this.#logFinding(event);
    else if (event.type === 'incident') this.#logIncident(event);
  }

  /** A stream that is gone may come back with other objects. */
  #retired(name: string): void {
    if (!this.#parts.live.streams().some(({ stream }) => stream === name)) this.desk.rules.forget(name);
  }

  /** Whoever reads the log and nothing else hears of it too. */
  #logFinding({ stream, tracker, finding, phase, message, remedy, evidence }: FindingEvent): void {
    const { logger } = this.#parts;
    if (phase === 'start') logger.warn('finding', { stream, tracker, finding, message, remedy, evidence });
    else logger.info('finding_over', { stream, tracker, finding });
  }

  #logIncident({ stream, tracker, profile, phase, reason, cause, message, severity, k, sinceMs }: IncidentEvent): void {
    const since = new Date(sinceMs).toISOString();
    const fields = { stream, tracker, profile, phase, reason, cause, message, severity, k, since };
    if (phase === 'end') this.#parts.logger.info('incident_over', fields);
    else this.#parts.logger.warn('incident', fields);
  }

  #health(): Health {
    const health = this.#parts.live.health();
    if (!this.#parts.sockets.stopping) return health;
    return { ...health, ready: false, reasons: [...health.reasons, 'the server is stopping'] };
  }

  #surroundings(): Surroundings {
    const { live, sockets, notifications } = this.#parts;
    return {
      connections: () => sockets.counts(),
      pausedConnections: () => this.desk.pausedSessions,
      waitingFrames: () => this.desk.waitingFrames,
      ready: () => this.#health().ready,
      streams: () => live.streams().map(({ stream }) => stream),
      suspended: () => live.streams().flatMap(({ stream, suspended }) => (suspended === undefined ? [] : [stream])),
      resuming: () => live.streams().flatMap(({ stream, resuming }) => (resuming ? [stream] : [])),
      findings: () => live.streams().flatMap(({ stream, findings }) => findings.map((one) => ({ stream, ...one }))),
      incidents: () => live.streams().flatMap(({ incidents }) => incidents),
      objectives: () => live.streams().flatMap(objectivesOf),
      storage: () => live.storage(),
      notifications,
    };
  }
}

/** In the words of /metrics, without those that promise nothing. */
function objectivesOf({ stream, objective = {} }: ReturnType<LivePort['streams']>[number]) {
  return Object.entries(objective).flatMap(([key, value]) => {
    const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return value === null ? [] : [{ stream, objective: name, value }];
  });
}
