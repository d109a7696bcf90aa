/**
 * The edge of the evaluator, put together: feeds go to the cores, events come from them for subscribers and the log,
 * and everything is served on the sockets it is given.
 */
import type { Config } from '../config/config.js';
import { Exposition } from '../telemetry/exposition.js';
import type { Logger } from '../telemetry/logger.js';
import type { Meters } from '../telemetry/meters.js';
import type { ProgramFacts, Scrape } from '../telemetry/spec.js';
import type { LiveEvent } from '../wire/events.js';
import type { FindingEvent } from '../wire/findings.js';
import type { IncidentEvent } from '../wire/incidents.js';
import { Http } from './http.js';
import type { IncidentPort, LivePort, Readiness, StreamView } from './live-port.js';
import { PageFiles } from './page-files.js';
import { type Access, readerRefusal } from './peers/access.js';
import { ServerFaults } from './peers/server-faults.js';
import type { Endpoint, Sockets } from './sockets.js';
import { readFilter, Subscribers } from './subscribers.js';

export interface EdgeParts {
  config: Config;
  live: LivePort;
  sockets: Sockets;
  access: Access;
  meters: Meters;
  logger: Logger;
  build: { version: string; node: string };
  /** of the files of the page */
  pageFolder: URL;
  notifications: ProgramFacts['notifications'];
  /** nobody may say anything about incidents without it */
  desk?: IncidentPort;
  /** metrics of the process itself besides; true unless given */
  processMetrics?: boolean;
}

export class EdgeServer {
  readonly subscribers: Subscribers;
  readonly faults: ServerFaults;
  readonly #parts: EdgeParts;
  readonly #http: Http;

  constructor(parts: EdgeParts) {
    const { config, live, access, meters, logger, build, pageFolder, processMetrics } = parts;
    this.#parts = parts;
    this.faults = new ServerFaults(meters, logger);
    this.subscribers = new Subscribers(config.limits, meters.counts, (wanted) => live.readReports(wanted));
    this.#http = new Http({
      config,
      access,
      live,
      meters,
      faults: this.faults,
      desk: parts.desk,
      exposition: new Exposition(() => this.#scrape(), { processMetrics }),
      page: new PageFiles(pageFolder, config.pictureOrigins),
      version: build.version,
      health: () => this.#health(),
    });
    live.restored$.subscribe(({ report, unseen }) => this.subscribers.restore(report, unseen));
    live.events$.subscribe((event) => {
      try {
        this.#publish(event);
      } catch (error) {
        this.faults.report('event', error, { type: event.type, stream: event.stream });
      }
    });
  }

  /** Opens the port; resolves with its URL. */
  listen(): Promise<string> {
    const endpoints = new Map<string, Endpoint>([
      ['/v1/ingest', this.#ingest()],
      ['/v1/live', this.#live()],
    ]);
    const answer: Http['answer'] = (request, response) => this.#http.answer(request, response);
    return this.#parts.sockets.listen({ endpoints, answer, faults: this.faults });
  }

  /** Stops accepting, stores and acks what has come, and closes the feeds. */
  async quiesce(): Promise<void> {
    const { sockets, live } = this.#parts;
    sockets.refuseMore();
    await live.quiesce();
    live.closeFeeds();
  }

  #ingest(): Endpoint {
    const open: Endpoint['open'] = (_query, identity) => (peer) => this.#parts.live.converse(peer, identity);
    return { name: 'ingest', role: 'ingest', open };
  }

  #live(): Endpoint {
    const open: Endpoint['open'] = (query, identity) => {
      const filter = readerRefusal(this.#parts.config) ?? readFilter(query, identity);
      return 'code' in filter ? filter : (peer) => this.subscribers.subscribe(peer, filter);
    };
    return { name: 'live', role: 'read', open };
  }

  #publish(event: LiveEvent): void {
    this.subscribers.publish(event);
    if (event.type === 'finding') this.#logFinding(event);
    else if (event.type === 'incident') this.#logIncident(event);
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

  async #health(): Promise<Readiness> {
    const health = await this.#parts.live.health();
    if (!this.#parts.sockets.stopping) return health;
    return { ...health, ready: false, reasons: [...health.reasons, 'the server is stopping'] };
  }

  /** Everything /metrics is made of, as it is now. */
  async #scrape(): Promise<Scrape> {
    const { live, sockets, notifications, build } = this.#parts;
    const [streams, storage, { ready }, readings] = await Promise.all([
      live.ownStreams?.() ?? live.streams(),
      live.storage(),
      this.#health(),
      live.readings(),
    ]);
    const surroundings: ProgramFacts = {
      connections: () => sockets.counts(),
      pausedConnections: () => readings.pausedConnections,
      waitingFrames: () => readings.waitingFrames,
      ready: () => ready,
      streams: () => streams.map(({ stream }) => stream),
      suspended: () => streams.flatMap(({ stream, suspended }) => (suspended === undefined ? [] : [stream])),
      resuming: () => streams.flatMap(({ stream, resuming }) => (resuming ? [stream] : [])),
      findings: () => streams.flatMap(({ stream, findings }) => findings.map((one) => ({ stream, ...one }))),
      incidents: () => streams.flatMap(({ incidents }) => incidents),
      objectives: () => streams.flatMap(objectivesOf),
      storage: () => storage,
      notifications,
    };
    // it is written bit by bit, and meanwhile frames are judged
    return { meters: readings.meters.atOneMoment(), surroundings, build };
  }
}

/** In the words of /metrics, without those that promise nothing. */
function objectivesOf({ stream, objective = {} }: StreamView) {
  return Object.entries(objective).flatMap(([key, value]) => {
    const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return value === null ? [] : [{ stream, objective: name, value }];
  });
}
