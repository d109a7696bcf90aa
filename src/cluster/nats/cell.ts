/**
 * A cell of a JetStream stream: the last message of one subject, replaced by compare-and-set on its sequence number.
 * Chains of events, snapshots and leases are cells, and a write that somebody else came before is refused: that is the
 * fence. A write whose answer is lost is repeated under the same id, so it is known whether it took place.
 * Reads go to the leader of the stream; followers may lag behind.
 */
import { randomUUID } from 'node:crypto';
import { JetStreamApiError, type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { type NatsConnection, noticeUnanswered, payloadMaxOf } from './connection.js';

/** Somebody else has written since: whoever gets this is no longer the owner. */
export class FencedError extends Error {
  constructor(subject: string) {
    super(`${subject} has been written by somebody else`);
    this.name = 'FencedError';
  }
}

/** A value that the broker takes in no message; asking again would change nothing. */
export class TooLargeError extends Error {
  constructor(subject: string, bytes: number, most: number) {
    super(
      `${subject} would have ${bytes} bytes, but a message of the brokers has at most ${most}; raise max_payload there`,
    );
    this.name = 'TooLargeError';
  }
}

export interface CellValue {
  /** sequence number in the stream; 0 when there is none */
  revision: number;
  bytes: Uint8Array;
}

export interface CellSettings {
  stream: string;
  subject: string;
  /** an answer that has not come within this time is asked for again */
  timeoutMs: number;
  /** wait between two attempts */
  retryMs: number;
}

const ID_HEADER = 'Tgospa-Write';
/** of a message: its headers */
const HEADER_BYTES_MAX = 1024;
const WRONG_LAST_SEQUENCE = 10071;
const NO_MESSAGE = 10037;

export class Cell {
  private constructor(
    readonly settings: CellSettings,
    readonly manager: JetStreamManager,
    readonly connection: NatsConnection,
  ) {}

  static async open(connection: NatsConnection, settings: CellSettings): Promise<Cell> {
    const timeout = settings.timeoutMs;
    return new Cell(settings, await jetstreamManager(connection, { checkAPI: false, timeout }), connection);
  }

  /** Repeats until the leader answers, or `signal` says that nobody waits. */
  async read(signal?: AbortSignal): Promise<CellValue> {
    const { revision, bytes } = await this.#last(signal);
    return { revision, bytes };
  }

  /**
   * Replaces the value with this revision; resolves with the new one's. Throws a FencedError when there is another by
   * now, a TooLargeError when no message holds it, and repeats through any other fault while the connection lives.
   */
  async write(revision: number, bytes: Uint8Array, signal?: AbortSignal): Promise<number> {
    const most = payloadMaxOf(this.connection) - HEADER_BYTES_MAX;
    if (bytes.length > most) throw new TooLargeError(this.settings.subject, bytes.length, most);
    const id = randomUUID();
    const sinceMs = performance.now();
    for (;;) {
      const written = await this.#attempt(revision, bytes, id);
      if (written !== null) return written;
      await this.#pause(sinceMs, signal);
    }
  }

  /** Removes the value, whoever wrote it. */
  async clear(): Promise<void> {
    await this.manager.streams.purge(this.settings.stream, { filter: this.settings.subject });
  }

  /** The new revision; null when it must be tried again. */
  async #attempt(revision: number, bytes: Uint8Array, id: string): Promise<number | null> {
    const { subject, timeoutMs } = this.settings;
    const head = headers();
    head.set(ID_HEADER, id);
    const expect = { lastSubjectSequence: revision };
    try {
      const options = { headers: head, expect, timeout: timeoutMs };
      return (await this.manager.jetstream().publish(subject, bytes, options)).seq;
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || error.code !== WRONG_LAST_SEQUENCE) return null;
    }
    // an attempt before this one may have got through without our hearing of it
    const last = await this.#last();
    if (last.id === id) return last.revision;
    if (last.revision === revision) return null;
    throw new FencedError(subject);
  }

  async #last(signal?: AbortSignal): Promise<CellValue & { id: string }> {
    const { stream, subject } = this.settings;
    const sinceMs = performance.now();
    for (;;) {
      try {
        const message = await this.manager.streams.getMessage(stream, { last_by_subj: subject });
        return message
          ? { revision: message.seq, bytes: message.data, id: message.header.get(ID_HEADER) }
          : { revision: 0, bytes: new Uint8Array(0), id: '' };
      } catch (error) {
        if (error instanceof JetStreamApiError && error.code === NO_MESSAGE)
          return { revision: 0, bytes: new Uint8Array(0), id: '' };
      }
      await this.#pause(sinceMs, signal);
    }
  }

  async #pause(sinceMs: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    noticeUnanswered(this.connection, sinceMs, this.settings.timeoutMs);
    if (this.connection.isClosed()) throw new Error('the connection to the brokers is closed');
    await new Promise((resolve) => setTimeout(resolve, this.settings.retryMs));
  }
}
