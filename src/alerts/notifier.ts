/**
 * Tells Alertmanagers and webhooks about incidents: once they have lasted for a while, again until it is accepted, and
 * when they are over. Each receiver has a delivery of its own, so that one that is down holds up nobody. Which alerts a
 * receiver knows as firing is written down before they are sent, in a file beside the log or where `memory` says; after
 * a crash, those whose incident is over are resolved.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config, Receiver } from '../config/config.js';
import { FORMATS } from '../store/formats.js';
import type { Logger } from '../telemetry/logger.js';
import type { NotificationCounts } from '../telemetry/spec.js';
import type { IncidentEvent, OpenIncident } from '../wire/incidents.js';
import type { Alert, Links } from './alert.js';
import { Announcer } from './announcer.js';
import { Delivery } from './delivery.js';
import type { IncidentDesk } from './incident-desk.js';

export interface NotifierParts {
  settings: Config['notify'];
  receivers: Receiver[];
  /** folder of the file with the alerts that receivers know as firing */
  dir: string;
  /** where that is kept instead */
  memory?: NotifierMemory;
  desk: IncidentDesk;
  logger: Pick<Logger, 'info' | 'warn'>;
  now?: () => number;
}

/** What is kept of a notifier before this one; what is saved is stored when it resolves. */
export interface NotifierMemory {
  readonly text: string;
  save(text: string): Promise<void>;
}

const FILE = 'notifications.json';
/** milliseconds between two looks at what has become due */
const LOOK_MS = 500;

export class Notifier {
  readonly #parts: NotifierParts;
  readonly #file: string;
  readonly #now: () => number;
  /** incidents observed before the start; null once it has started */
  #early: IncidentEvent[] | null = [];
  #announcer: Announcer | null = null;
  #links: Links = { page: '', runbook: '', dashboard: null };
  #deliveries: Delivery[] = [];
  readonly #timers: NodeJS.Timeout[] = [];

  /** Sends nothing yet: alerts say where the page is, which is known once the port is open. */
  constructor(parts: NotifierParts) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
    this.#file = join(parts.dir, FILE);
  }

  /**
   * `pageUrl` is the address of the page where the configuration has none, `active` the incidents that are open,
   * `streams` all there are.
   */
  start(pageUrl: string, active: readonly OpenIncident[], streams: () => readonly string[] = () => []): void {
    const { settings, receivers, desk } = this.#parts;
    const firing = this.#load();
    const page = (settings.pageUrl ?? pageUrl).replace(/\/*$/, '/');
    this.#links = { page, runbook: settings.runbookUrl, dashboard: settings.dashboardUrl };
    this.#announcer = new Announcer(settings, desk, streams);
    for (const incident of active) this.#announcer.restore(incident);
    const parts = { ...this.#parts, pageUrl: page, save: () => this.#save() };
    this.#deliveries = receivers.map((receiver) => new Delivery(receiver, parts, firing[receiver.name] ?? []));
    for (const event of this.#early ?? []) this.#announcer.observe(event, this.#now());
    this.#early = null;
    this.look();
    if (receivers.length === 0) return;
    this.#repeatAll();
    this.#timers.push(setInterval(() => this.look(), LOOK_MS).unref());
    this.#timers.push(setInterval(() => this.#repeatAll(), settings.repeatMs).unref());
  }

  get desk(): IncidentDesk {
    return this.#parts.desk;
  }

  /** An incident has started, changed or ended. */
  observe(event: IncidentEvent): void {
    if (this.#early) this.#early.push(event);
    else {
      this.#announcer!.observe(event, this.#now());
      this.look();
    }
  }

  /** Compares what receivers should know by now with what they know. */
  look(): void {
    const nowMs = this.#now();
    for (const delivery of this.#deliveries) {
      const { labels } = delivery.receiver;
      const wants = (incident: OpenIncident) => delivery.wants(incident);
      delivery.reconcile(this.#announcer!.wanted(wants, labels, this.#links, nowMs), nowMs);
    }
  }

  /** By receiver. */
  counts(): Array<[receiver: string, counts: NotificationCounts]> {
    return this.#deliveries.map((delivery) => [delivery.receiver.name, delivery.counts]);
  }

  /** What waits is dropped: it is made up for after the next start. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all(this.#deliveries.map((delivery) => delivery.stop()));
  }

  #repeatAll(): void {
    for (const delivery of this.#deliveries) delivery.repeat();
  }

  #load(): Record<string, Alert[]> {
    try {
      const text = this.#parts.memory?.text ?? readFileSync(this.#file, 'utf8');
      if (text === '') return {};
      const { version, told } = JSON.parse(text);
      if (version !== FORMATS.notifications.version) throw new Error(`it is of version ${version}`);
      return told;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#parts.logger.warn('notifications_unreadable', { file: FILE, error });
      return {};
    }
  }

  #save(): Promise<void> | undefined {
    const told = Object.fromEntries(this.#deliveries.map((delivery) => [delivery.receiver.name, delivery.firing]));
    const text = JSON.stringify({ version: FORMATS.notifications.version, told });
    if (this.#parts.memory) return this.#parts.memory.save(text);
    try {
      writeFileSync(`${this.#file}.new`, text);
      renameSync(`${this.#file}.new`, this.#file);
    } catch (error) {
      this.#parts.logger.warn('notifications_not_saved', { file: FILE, error });
    }
  }
}
