/**
 * Tells Alertmanagers and webhooks about spikes: at once, again until they have taken it, and when it is over.
 * Each receiver has its own queue, so that one that is down holds up nobody. What a receiver has been told is firing stands in a file
 * beside the log before it is sent; after a crash, what is no longer true is taken back, and what still is goes on.
 * Invariant: at most `queueAlerts` wait for a receiver; the firing alert of a spike goes out before its resolution.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config, Receiver } from '../config/config.js';
import type { Logger } from '../telemetry/logger.js';
import type { NotificationCounts } from '../telemetry/spec.js';
import type { SpikeEvent } from '../wire/events.js';
import { type Alert, alertmanagerMessage, alertOf, keyOf, resolved, webhookMessage } from './alert.js';

export interface NotifierParts {
  settings: Config['notify'];
  receivers: Receiver[];
  /** folder of the file that remembers */
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
    const told = this.#load();
    const parts = { ...this.#parts, pageUrl: settings.pageUrl ?? pageUrl, save: () => this.#save() };
    this.#deliveries = receivers.map((receiver) => new Delivery(receiver, parts, told[receiver.name] ?? []));
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
    const told = Object.fromEntries(this.#deliveries.map((delivery) => [delivery.receiver.name, delivery.told]));
    writeFileSync(`${this.#file}.new`, JSON.stringify({ version: 1, told }));
    renameSync(`${this.#file}.new`, this.#file);
  }
}

interface DeliveryParts extends Pick<NotifierParts, 'settings' | 'logger'> {
  pageUrl: string;
  /** writes down what receivers have been told */
  save(): void;
}

/** Everything that is going to one receiver. */
class Delivery {
  readonly counts: NotificationCounts = { sent: 0, failed: 0, dropped: 0, waiting: 0 };
  #queue: Alert[] = [];
  /** firing alerts that the receiver knows of, or may know of */
  readonly #told = new Map<string, Alert>();
  #failures = 0;
  #retry: NodeJS.Timeout | null = null;
  #sending: Promise<void> | null = null;
  readonly #abort = new AbortController();

  constructor(
    readonly receiver: Receiver,
    readonly parts: DeliveryParts,
    told: Alert[],
  ) {
    for (const alert of told) this.#told.set(alert.key, alert);
  }

  get told(): Alert[] {
    return [...this.#told.values()];
  }

  get #pageUrl(): string {
    const url = this.parts.pageUrl;
    return url.endsWith('/') ? url : `${url}/`;
  }

  #wants({ stream, signal }: SpikeEvent): boolean {
    const { streams, signals } = this.receiver;
    return signals.includes(signal) && streams.some((pattern) => matches(pattern, stream));
  }

  observe(event: SpikeEvent, nowMs: number): void {
    if (!this.#wants(event)) return;
    if (event.phase === 'start') {
      const alert = alertOf(event, this.receiver.labels, this.#pageUrl);
      // events may come again after a crash
      if (this.#told.get(alert.key)?.startsAt !== alert.startsAt) this.#enqueue(alert);
      return;
    }
    const key = keyOf(event);
    const firing =
      this.#queue.findLast((alert) => alert.key === key && alert.endsAt === undefined) ?? this.#told.get(key);
    if (firing) this.#enqueue(resolved(firing, nowMs));
  }

  /** After a start: what goes on is told to who does not know, what is over is taken back. */
  recover(active: SpikeEvent[], nowMs: number): void {
    const going = new Map(active.filter((event) => this.#wants(event)).map((event) => [keyOf(event), event]));
    for (const [key, alert] of this.#told) if (!going.has(key)) this.#enqueue(resolved(alert, nowMs));
    for (const [key, event] of going)
      if (this.receiver.type === 'alertmanager' || !this.#told.has(key))
        this.#enqueue(this.#told.get(key) ?? alertOf(event, this.receiver.labels, this.#pageUrl));
  }

  /** An Alertmanager forgets what it is not told again. */
  repeat(): void {
    if (this.receiver.type !== 'alertmanager') return;
    const waiting = new Set(this.#queue.map(({ key }) => key));
    for (const [key, alert] of this.#told) if (!waiting.has(key)) this.#enqueue(alert);
  }

  #enqueue(alert: Alert): void {
    const last = this.#queue.findLast(({ key }) => key === alert.key);
    if (last && (last.endsAt === undefined) === (alert.endsAt === undefined)) return;
    this.#queue.push(alert);
    while (this.#queue.length > this.parts.settings.queueAlerts) {
      // what is over must be told to who knows that it began: the oldest beginning goes first
      const beginning = this.#queue.findIndex(({ key, endsAt }) => endsAt === undefined || !this.#told.has(key));
      this.#queue.splice(Math.max(0, beginning), 1);
      this.counts.dropped++;
    }
    this.counts.waiting = this.#queue.length;
    if (!this.#retry) this.#start();
  }

  #start(): void {
    if (this.#sending || this.#abort.signal.aborted) return;
    // events of the same moment go out together
    this.#sending = Promise.resolve()
      .then(() => this.#sendAll())
      .finally(() => {
        this.#sending = null;
      });
  }

  async #sendAll(): Promise<void> {
    while (this.#queue.length > 0 && !this.#abort.signal.aborted) {
      const batch = this.#nextBatch();
      const fault = await this.#send(batch);
      if (this.#abort.signal.aborted) return;
      if (fault?.temporary) {
        this.#later(fault.message);
        return;
      }
      this.#done(batch, fault?.message);
    }
  }

  /** The oldest alerts that fit into one message; one spike's beginning and end never share it. */
  #nextBatch(): Alert[] {
    const batch: Alert[] = [];
    const keys = new Set<string>();
    const [{ labels: first }] = this.#queue;
    for (const alert of this.#queue) {
      const { labels, key } = alert;
      const fits =
        this.receiver.type === 'alertmanager' || (labels.stream === first.stream && labels.tracker === first.tracker);
      if (!fits || keys.has(key) || batch.length === this.parts.settings.batchAlerts) break;
      keys.add(key);
      batch.push(alert);
    }
    return batch;
  }

  #done(batch: Alert[], fault: string | undefined): void {
    const gone = new Set(batch);
    this.#queue = this.#queue.filter((alert) => !gone.has(alert));
    this.counts.waiting = this.#queue.length;
    this.#failures = 0;
    for (const { key, endsAt } of batch) if (endsAt !== undefined) this.#told.delete(key);
    this.#remember();
    if (fault === undefined) this.counts.sent += batch.length;
    else {
      this.counts.failed += batch.length;
      this.parts.logger.warn('notification_refused', { receiver: this.receiver.name, message: fault });
    }
  }

  #later(message: string): void {
    const { retryFirstMs, retryMaxMs } = this.parts.settings;
    const waitMs = Math.min(retryMaxMs, retryFirstMs * 2 ** this.#failures++);
    this.counts.failed++;
    this.parts.logger.warn('notification_failed', { receiver: this.receiver.name, message, retryMs: waitMs });
    this.#retry = setTimeout(() => {
      this.#retry = null;
      this.#start();
    }, waitMs);
    this.#retry.unref();
  }

  /** What went wrong; a temporary fault is worth another try. */
  async #send(batch: Alert[]): Promise<{ message: string; temporary: boolean } | null> {
    for (const alert of batch) if (alert.endsAt === undefined) this.#told.set(alert.key, alert);
    this.#remember();
    const { url, type, name, token } = this.receiver;
    const isAlertmanager = type === 'alertmanager';
    const message = isAlertmanager ? alertmanagerMessage(batch) : webhookMessage(name, batch, this.#pageUrl);
    try {
      const response = await fetch(isAlertmanager ? `${url.replace(/\/+$/, '')}/api/v2/alerts` : url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'tgospa-live',
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify(message),
        redirect: 'manual',
        signal: AbortSignal.any([this.#abort.signal, AbortSignal.timeout(this.parts.settings.timeoutMs)]),
      });
      await response.body?.cancel();
      if (response.ok) return null;
      const temporary = response.status >= 500 || response.status === 429 || response.status === 408;
      return { message: `answered ${response.status}`, temporary };
    } catch (error) {
      const { message: text, cause } = error as Error & { cause?: Error };
      return { message: cause?.message ?? text, temporary: true };
    }
  }

  #remember(): void {
    try {
      this.parts.save();
    } catch (error) {
      this.parts.logger.warn('notifications_not_saved', { file: FILE, error });
    }
  }

  async stop(): Promise<void> {
    if (this.#retry) clearTimeout(this.#retry);
    this.#abort.abort();
    await this.#sending;
  }
}

/** `*` stands for any characters. */
function matches(pattern: string, text: string): boolean {
  const escaped = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${escaped.join('.*')}$`).test(text);
}
