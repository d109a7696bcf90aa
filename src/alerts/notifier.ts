/**
 * Sends spikes to Alertmanagers and webhooks: at once, again until they are accepted, and when they are over. Each
 * receiver has a delivery of its own, so that one that is down holds up nobody. Which alerts a receiver knows as firing
 * is written to a file beside the log before they are sent; after a crash, those whose spike is over are resolved.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config, Receiver } from '../config/config.js';
import type { Logger } from '../telemetry/logger.js';
import type { NotificationCounts } from '../telemetry/spec.js';
import type { SpikeEvent } from '../wire/events.js';
import type { Alert } from './alert.js';
import { Delivery } from './delivery.js';

export interface NotifierParts {
  settings: Config['notify'];
  receivers: Receiver[];
  /** folder of the file with the alerts that receivers know as firing */
  dir: string;
  logger: Pick<Logger, 'info' | 'warn'>;
  now?: () => number;
}

const FILE = 'notifications.json';

export class Notifier {
  readonly #parts: NotifierParts;
  readonly #file: string;
  readonly #now: () => number;
  /** spikes observed before the start; null once it has started */
  #early: SpikeEvent[] | null = [];
  #deliveries: Delivery[] = [];
  #repeat: NodeJS.Timeout | null = null;

  /** Sends nothing yet: alerts say where the page is, which is known once the port is open. */
  constructor(parts: NotifierParts) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
    this.#file = join(parts.dir, FILE);
  }

  /** `pageUrl` is the address of the page where the configuration has none, `active` the spikes that last. */
  start(pageUrl: string, active: SpikeEvent[]): void {
    const { settings, receivers } = this.#parts;
    const firing = this.#load();
    const parts = { ...this.#parts, pageUrl: settings.pageUrl ?? pageUrl, save: () => this.#save() };
    this.#deliveries = receivers.map((receiver) => new Delivery(receiver, parts, firing[receiver.name] ?? []));
    for (const delivery of this.#deliveries) delivery.recover(active, this.#now());
    if (receivers.some(({ type }) => type === 'alertmanager'))
      this.#repeat = setInterval(() => this.#repeatAll(), settings.repeatMs).unref();
    const early = this.#early ?? [];
    this.#early = null;
    for (const event of early) this.observe(event);
  }

  /** A spike has begun or is over. */
  observe(event: SpikeEvent): void {
    if (this.#early) this.#early.push(event);
    else for (const delivery of this.#deliveries) delivery.observe(event, event.atMs ?? this.#now());
  }

  /** By receiver. */
  counts(): Array<[receiver: string, counts: NotificationCounts]> {
    return this.#deliveries.map((delivery) => [delivery.receiver.name, delivery.counts]);
  }

  /** What waits is dropped: it is made up for after the next start. */
  async stop(): Promise<void> {
    if (this.#repeat) clearInterval(this.#repeat);
    await Promise.all(this.#deliveries.map((delivery) => delivery.stop()));
  }

  #repeatAll(): void {
    for (const delivery of this.#deliveries) delivery.repeat();
  }

  #load(): Record<string, Alert[]> {
    try {
      const { version, told } = JSON.parse(readFileSync(this.#file, 'utf8'));
      return version === 1 ? told : {};
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#parts.logger.warn('notifications_unreadable', { file: FILE, error });
      return {};
    }
  }

  #save(): void {
    const told = Object.fromEntries(this.#deliveries.map((delivery) => [delivery.receiver.name, delivery.firing]));
    try {
      writeFileSync(`${this.#file}.new`, JSON.stringify({ version: 1, told }));
      renameSync(`${this.#file}.new`, this.#file);
    } catch (error) {
      this.#parts.logger.warn('notifications_not_saved', { file: FILE, error });
    }
  }
}
