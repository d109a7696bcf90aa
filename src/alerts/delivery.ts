/**
 * The alerts on their way to one receiver: a bounded queue, sent in batches, tried again with growing waits.
 * Invariant: at most `queueAlerts` wait; the firing alert of a spike goes out before its resolution; an alert is
 * written down as firing before it is sent. Whoever goes on from what was written down sends again what was not known
 * to have arrived: an alert may come twice when its sender is killed at that moment, but is not lost.
 */
import { type Config, matchesPattern, RECEIVER_SIGNALS, type Receiver } from '../config/config.js';
import type { Logger } from '../telemetry/logger.js';
import type { NotificationCounts } from '../telemetry/spec.js';
import type { OpenIncident } from '../wire/incidents.js';
import { type Alert, resolved } from './alert.js';
import type { Wanted } from './announcer.js';
import { RECEIVER_KINDS, type ReceiverKind } from './receiver-kinds.js';

export interface DeliveryParts {
  settings: Config['notify'];
  logger: Pick<Logger, 'info' | 'warn'>;
  /** address of the page, with a slash at its end */
  pageUrl: string;
  /** writes down which alerts receivers know as firing; rejects when that is another process's affair by now */
  save(): Promise<void> | undefined;
}

export class Delivery {
  readonly counts: NotificationCounts = { sent: 0, failed: 0, dropped: 0, waiting: 0 };
  #queue: Alert[] = [];
  /** firing alerts that the receiver knows of, or may know of */
  readonly #firing = new Map<string, Alert>();
  /** when it was last told of what fires, epoch milliseconds */
  readonly #toldMs = new Map<string, number>();
  #failures = 0;
  #retry: NodeJS.Timeout | null = null;
  #sending: Promise<void> | null = null;
  readonly #abort = new AbortController();
  readonly #kind: ReceiverKind;

  constructor(
    readonly receiver: Receiver,
    readonly parts: DeliveryParts,
    firing: Alert[],
  ) {
    this.#kind = RECEIVER_KINDS[receiver.type];
    for (const alert of firing) this.#firing.set(alert.key, alert);
  }

  get firing(): Alert[] {
    return [...this.#firing.values()];
  }

  wants({ stream, signals }: OpenIncident): boolean {
    const chosen: readonly string[] = this.receiver.signals;
    const notChosen: readonly string[] = RECEIVER_SIGNALS.filter((signal) => !chosen.includes(signal));
    const telling = signals.some(({ signal }) => !notChosen.includes(signal));
    return telling && this.receiver.streams.some((pattern) => matchesPattern(pattern, stream));
  }

  /** Tells what is new, and then takes back what is over. */
  reconcile(wanted: readonly Wanted[], nowMs: number): void {
    for (const { alert, quiet, acknowledged } of wanted) {
      const known = this.#latest(alert.key);
      if (quiet && !this.#firing.has(alert.key)) this.#drop(alert.key);
      else if (known && known.endsAt === undefined) this.#renew(known, alert, quiet || acknowledged, nowMs);
      // what finds no room now does so later
      else if (!quiet && this.#queue.length < this.parts.settings.queueAlerts) this.#enqueue(alert);
    }
    const keys = new Set(wanted.map(({ alert }) => alert.key));
    for (const key of new Set([...this.#firing.keys(), ...this.#queue.map((alert) => alert.key)]))
      if (!keys.has(key)) this.#resolve(key, nowMs);
  }

  /** What was not sent yet need not be. */
  #drop(key: string): void {
    this.#queue = this.#queue.filter((alert) => alert.key !== key);
    this.counts.waiting = this.#queue.length;
  }

  /** What is on its way to the receiver, or what it knows. */
  #latest(key: string): Alert | undefined {
    return this.#queue.findLast((alert) => alert.key === key) ?? this.#firing.get(key);
  }

  /** Words that have changed go out with the next repetition; who does not forget is reminded now and then. */
  #renew(known: Alert, alert: Alert, silently: boolean, nowMs: number): void {
    known.annotations = alert.annotations;
    if (known.unsure && !silently && !this.#queue.includes(known)) this.#enqueue(known);
    if (this.#kind.forgets || silently) return;
    const toldMs = this.#toldMs.get(alert.key);
    if (toldMs === undefined) this.#toldMs.set(alert.key, nowMs);
    else if (nowMs - toldMs >= this.parts.settings.remindMs && !this.#queue.includes(known)) {
      this.#toldMs.set(alert.key, nowMs);
      this.#enqueue(known);
    }
  }

  #resolve(key: string, nowMs: number): void {
    const known = this.#latest(key);
    if (known && known.endsAt === undefined) this.#enqueue(resolved(known, nowMs));
    this.#toldMs.delete(key);
  }

  repeat(): void {
    if (!this.#kind.forgets) return;
    const waiting = new Set(this.#queue.map(({ key }) => key));
    for (const [key, alert] of this.#firing) if (!waiting.has(key)) this.#enqueue(alert);
  }

  #enqueue(alert: Alert): void {
    const last = this.#queue.findLast(({ key }) => key === alert.key);
    if (last && (last.endsAt === undefined) === (alert.endsAt === undefined)) return;
    this.#queue.push(alert);
    while (this.#queue.length > this.parts.settings.queueAlerts) {
      // a receiver that knows of an alert must hear of its end, so the oldest that fires is dropped first
      const oldest = this.#queue.findIndex(({ key, endsAt }) => endsAt === undefined || !this.#firing.has(key));
      this.#queue.splice(Math.max(0, oldest), 1);
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
        this.#retryLater(fault.message);
        return;
      }
      this.#concluded(batch, fault?.message);
    }
  }

  /** The oldest alerts that fit into one message; an alert's start and end never share it. */
  #nextBatch(): Alert[] {
    const batch: Alert[] = [];
    const keys = new Set<string>();
    const group = this.#kind.groupOf(this.#queue[0]);
    for (const alert of this.#queue) {
      const { key } = alert;
      const fits = this.#kind.groupOf(alert) === group;
      if (!fits || keys.has(key) || batch.length === this.parts.settings.batchAlerts) break;
      keys.add(key);
      batch.push(alert);
    }
    return batch;
  }

  #concluded(batch: Alert[], fault: string | undefined): void {
    const gone = new Set(batch);
    this.#queue = this.#queue.filter((alert) => !gone.has(alert));
    this.counts.waiting = this.#queue.length;
    this.#failures = 0;
    for (const alert of batch) {
      delete alert.unsure;
      if (alert.endsAt !== undefined) this.#firing.delete(alert.key);
    }
    this.parts.save()?.catch(() => {});
    if (fault === undefined) this.counts.sent += batch.length;
    else {
      this.counts.failed += batch.length;
      this.parts.logger.warn('notification_refused', { receiver: this.receiver.name, message: fault });
    }
  }

  #retryLater(message: string): void {
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
    for (const alert of batch)
      if (alert.endsAt === undefined) {
        if (!this.#firing.has(alert.key)) alert.unsure = true;
        this.#firing.set(alert.key, alert);
      }
    try {
      await this.parts.save();
    } catch (error) {
      return { message: `it cannot be written down: ${(error as Error).message}`, temporary: true };
    }
    const { url, name, token } = this.receiver;
    try {
      const response = await fetch(this.#kind.address(url), {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'tgospa-live',
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify(this.#kind.message(batch, name, this.parts.pageUrl)),
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

  async stop(): Promise<void> {
    if (this.#retry) clearTimeout(this.#retry);
    this.#abort.abort();
    await this.#sending;
  }
}
