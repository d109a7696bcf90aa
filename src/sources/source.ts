/**
 * What all pull sources share: the parts they are made of, the wait before coming back, and the SourceFeed, which
 * brings messages into a feed of a stream and says when each of them is durable.
 * Invariant: `concluded` of a message is called once, in order, when the message is on disk or was refused for good;
 * never for one that a restart would have to fetch again.
 */
import { adapters } from '../../adapters/index.js';
import { ClientError, connect, type FeedClient, type Reject } from '../client.js';
import type { Config } from '../config/config.js';
import type { Logger } from '../telemetry/logger.js';
import type { SourceMeter, SourceReject } from '../telemetry/source-meters.js';
import { type Ingest, type LoopbackPort, loopback } from './loopback.js';

type Sources = Config['sources'];
export type MqttSettings = Sources['mqtt'][number];
export type NatsSettings = Sources['nats'][number];
export type RosbridgeSettings = Sources['rosbridge'][number];
export type TailSettings = Sources['tail'][number];
/** Where messages go: a feed of a stream, in a format. */
export type FeedSettings = Pick<
  MqttSettings['feeds'][number],
  'stream' | 'role' | 'tracker' | 'format' | 'options' | 'stamp'
>;

export interface SourceParts {
  config: Config;
  ingest: Ingest;
  meter: SourceMeter;
  logger: Logger;
  env: NodeJS.ProcessEnv;
}

/** A running source. */
export interface Source {
  /** Reads nothing more, waits until what was fetched is stored and acknowledged, and closes. */
  stop(): Promise<void>;
}

/** Waits that double, between half and all of each, so that many sources do not come back together. */
export class Backoff {
  #attempt = 0;

  constructor(
    readonly firstMs: number,
    readonly mostMs: number,
    readonly random: () => number = Math.random,
  ) {}

  next(): number {
    const longest = Math.min(this.mostMs, this.firstMs * 2 ** Math.min(this.#attempt++, 30));
    return longest * (0.5 + this.random() / 2);
  }

  reset(): void {
    this.#attempt = 0;
  }
}

interface Waiting {
  local: number;
  concluded: () => void;
}

/** how often a source that stops looks whether it may */
const LOOK_MS = 5;
/** log lines about refused messages, for each source */
const REJECT_LINES_EVERY_MS = 10_000;

export class SourceFeed {
  readonly #client: FeedClient;
  readonly #port: LoopbackPort;
  readonly #native: boolean;
  readonly #json: boolean;
  #waiting: Waiting[] = [];
  #closing = false;
  #whenClosing: () => void = () => {};
  readonly #closingSoon = new Promise<void>((resolve) => {
    this.#whenClosing = resolve;
  });
  /** by code of the mistake: when it was told last, and how often it came since */
  readonly #logged = new Map<string, { atMs: number; untold: number }>();
  #lastReject: Reject | null = null;

  constructor(
    readonly name: string,
    readonly settings: FeedSettings,
    readonly parts: SourceParts,
  ) {
    const { config, ingest } = parts;
    const { stream, role, tracker, format, options } = settings;
    const adapter = adapters.get(config.formats[format]?.adapter ?? format);
    this.#native = format === 'native';
    this.#json = adapter?.message === 'json';
    this.#port = loopback(ingest, name);
    this.#client = connect({
      url: 'ws://loopback',
      stream,
      role,
      tracker,
      format,
      ...(this.#native ? {} : { options }),
      bufferFrames: config.sources.queueMessages,
      backoffMs: config.sources.backoffMs,
      backoffMaxMs: config.sources.backoffMaxMs,
      // this process is always there, but may refuse for a while
      retryForever: true,
      WebSocket: this.#port.WebSocket,
    });
    this.#client.on('open', () => this.#conclude());
    this.#client.on('ack', () => this.#conclude());
    this.#client.on('reject', (reject) => this.#rejected(reject));
    this.#client.on('close', () => this.#closed());
  }

  /** Messages enqueued and not stored yet. */
  get waiting(): number {
    return this.#client.pending;
  }

  /** Resolves with the number of the first message that is not stored, as soon as the feed is open. */
  opened(): Promise<number> {
    return new Promise((resolve) => {
      const off = this.#client.on('open', ({ nextSeq }) => {
        off();
        resolve(nextSeq);
      });
    });
  }

  /** Adds a message; resolves when there is room for the next one. */
  async enqueue(text: string, concluded: () => void = () => {}): Promise<void> {
    const sending = this.#send(text);
    if (sending === null) {
      this.refuse('message_invalid', 'is not a JSON object, which a native frame must be', text);
      this.skip();
      concluded();
      return;
    }
    try {
      this.#waiting.push({ local: await sending, concluded });
      this.#conclude();
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      if (error.code === 'payload_too_large') {
        this.refuse('payload_too_large', error.message, text);
        this.skip();
        concluded();
        return;
      }
      // refused for good: nothing is acknowledged, and nothing more is read
      await this.#closingSoon;
    }
  }

  #send(text: string): Promise<number> | null {
    const stamp = this.settings.stamp === 'arrival' ? { t: Date.now() / 1000 } : {};
    if (!this.#native) return this.#client.sendMessage({ ...stamp, message: this.#json ? jsonOrText(text) : text });
    const parsed = jsonOrText(text);
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return null;
    const { type: _type, seq: _seq, ...frame } = { objects: null, ...parsed } as Record<string, unknown>;
    return this.#client.send({ ...stamp, ...frame } as never);
  }

  /** Leaves out the number of a message that is not sent. */
  skip(): void {
    this.#client.skip();
  }

  /** A message that reaches no feed. */
  refuse(reason: SourceReject, message: string, text: string): void {
    this.parts.meter.rejects[reason]++;
    this.#logReject(reason, { message, value: text.slice(0, 200) });
  }

  /** Resolves when everything enqueued is stored or was refused, or the feed is closed. */
  async drained(): Promise<void> {
    await Promise.race([this.#client.flush().catch(() => {}), this.#closingSoon]);
  }

  /**
   * Waits for what was enqueued, as long as a stop may last, and closes. A frame that is not complete is not waited for
   * where its messages come again: it would be stored without its rest.
   */
  async finish({ heldComesAgain }: { heldComesAgain: boolean }): Promise<void> {
    const patience = setTimeout(() => this.#whenClosing(), this.parts.config.limits.stopMs);
    const looking = heldComesAgain ? setInterval(() => this.#onlyHeld() && this.#whenClosing(), LOOK_MS) : undefined;
    await this.drained();
    clearTimeout(patience);
    clearInterval(looking);
    await this.close();
  }

  #onlyHeld(): boolean {
    return this.#client.connected && this.#client.unsent === 0 && this.#port.onlyHeld();
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#whenClosing();
    await this.#client.close({ flush: false });
  }

  #conclude(): void {
    const { settled } = this.#client;
    while (this.#waiting.length > 0 && this.#waiting[0].local <= settled) this.#waiting.shift()!.concluded();
  }

  #rejected(reject: Reject): void {
    const { code, path, message } = reject;
    this.#lastReject = reject;
    this.#logReject(code, { path, message });
    this.#conclude();
  }

  /** A sender that only makes mistakes must not fill the log; each kind of mistake is told all the same. */
  #logReject(code: string, fields: object): void {
    const now = performance.now();
    const { atMs, untold } = this.#logged.get(code) ?? { atMs: Number.NEGATIVE_INFINITY, untold: 0 };
    if (now - atMs < REJECT_LINES_EVERY_MS) {
      this.#logged.set(code, { atMs, untold: untold + 1 });
      return;
    }
    const { stream, role, tracker } = this.settings;
    this.parts.logger.warn('source_rejected', { source: this.name, stream, role, tracker, code, ...fields, untold });
    this.#logged.set(code, { atMs: now, untold: 0 });
  }

  #closed(): void {
    if (this.#closing) return;
    this.parts.meter.refused = true;
    const { stream, role, tracker } = this.settings;
    const { code, path, message } = this.#lastReject ?? { code: 'fault', path: '', message: 'the feed was closed' };
    this.parts.logger.error('source_refused', { source: this.name, stream, role, tracker, code, path, message });
  }
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // the decoder says what is wrong with it
    return text;
  }
}

/** The text of a payload; null when it is not UTF-8. */
export function textOf(payload: Uint8Array): string | null {
  try {
    return UTF8.decode(payload);
  } catch {
    return null;
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });
