/**
 * The JetStream stream behind the log of a partition: made when absent, appended to one publish at a time, read from a
 * sequence number on, purged below one. It knows bytes only. No `Nats-Msg-Id`: nats-server 2.10.27 answered
 * `duplicate` for messages that it had never committed.
 */
import {
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  type MsgRequest,
  type NextMsgRequest,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { type NatsConnection, noticeUnanswered, payloadMaxOf } from './connection.js';
import { FROM_HEADER, follow, isAbsent } from './follow.js';

export interface JetStreamSettings {
  name: string;
  subjects: string[];
  /** brokers that keep a copy */
  replicas: number;
  /** more than this is refused */
  maxBytes: number;
  /** only so many messages of a subject are kept, the newest */
  keepPerSubject?: number;
}

/** There is no room: nothing is stored until something is purged, or the brokers have more. */
export class StreamFullError extends Error {}

/** limit of messages or bytes, storage of the account, resources of the server */
const FULL_CODES = [10077, 10047, 10023];

/** of a question that somebody waits for: brokers choose a leader meanwhile */
const ATTEMPTS_MAX = 5;

/** Makes a stream unless it is there. */
export async function makeStream(connection: NatsConnection, settings: JetStreamSettings): Promise<void> {
  const manager = await jetstreamManager(connection, { checkAPI: false });
  const { name, subjects, replicas, maxBytes, keepPerSubject } = settings;
  try {
    await manager.streams.add({
      name,
      subjects,
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      discard: DiscardPolicy.New,
      num_replicas: replicas,
      max_bytes: maxBytes,
      ...(keepPerSubject ? { max_msgs_per_subject: keepPerSubject } : {}),
    });
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || !FULL_CODES.includes(error.code)) throw error;
    throw new StreamFullError(
      `stream ${name} would reserve ${maxBytes} bytes, which the brokers have not: ${error.message}`,
    );
  }
}

/** Names of the streams that are there. */
export async function streamNames(connection: NatsConnection): Promise<Set<string>> {
  const manager = await jetstreamManager(connection, { checkAPI: false });
  const names = new Set<string>();
  for await (const { config } of manager.streams.list()) names.add(config.name);
  return names;
}

/** Subjects of a stream that have a message; the filter may have wildcards. */
export async function subjectsOf(connection: NatsConnection, stream: string, filter: string): Promise<string[]> {
  const manager = await jetstreamManager(connection, { checkAPI: false });
  const { state } = await manager.streams.info(stream, { subjects_filter: filter });
  return Object.keys(state.subjects ?? {}).sort();
}

export interface StoredBatch {
  sequence: number;
  bytes: Uint8Array;
  /** the process that stored it */
  from: string;
}

/** With when it was stored, epoch milliseconds. */
export interface TimedBatch extends Pick<StoredBatch, 'sequence' | 'bytes'> {
  timeMs: number;
}

export interface Patience {
  /** an answer that has not come within this time is asked for again */
  timeoutMs: number;
  /** wait between two attempts */
  retryMs: number;
}

export class PartitionStream {
  /** when the first of the attempts to append failed that have all failed since; by our monotonic clock */
  #unansweredMs: number | null = null;

  private constructor(
    readonly connection: NatsConnection,
    readonly name: string,
    readonly subject: string,
    readonly patience: Patience,
    readonly manager: JetStreamManager,
  ) {}

  static async open(
    connection: NatsConnection,
    name: string,
    subject: string,
    patience: Patience,
  ): Promise<PartitionStream> {
    const manager = await jetstreamManager(connection, { checkAPI: false, timeout: patience.timeoutMs });
    return new PartitionStream(connection, name, subject, patience, manager);
  }

  /** bytes that the broker accepts in one message */
  get payloadMax(): number {
    return payloadMaxOf(this.connection);
  }

  /** One attempt to append; resolves with the sequence number once a majority has it on disk. */
  async append(bytes: Uint8Array, timeoutMs: number, from = ''): Promise<number> {
    const head = headers();
    head.set(FROM_HEADER, from);
    try {
      const { seq } = await this.manager
        .jetstream()
        .publish(this.subject, bytes, { timeout: timeoutMs, headers: head });
      this.#unansweredMs = null;
      return seq;
    } catch (error) {
      this.#unansweredMs ??= performance.now();
      noticeUnanswered(this.connection, this.#unansweredMs, this.patience.timeoutMs);
      if (error instanceof JetStreamApiError && FULL_CODES.includes(error.code))
        throw new StreamFullError(`stream ${this.name} is full: ${error.message}`);
      throw error;
    }
  }

  async lastSequence(): Promise<number> {
    return (await this.state()).lastSequence;
  }

  /** The sequence number of its last batch, and what it holds; repeats until the leader answers. */
  async state(): Promise<{ firstSequence: number; lastSequence: number; bytes: number }> {
    for (;;) {
      try {
        const { first_seq, last_seq, bytes } = (await this.manager.streams.info(this.name)).state;
        return { firstSequence: first_seq, lastSequence: last_seq, bytes };
      } catch (error) {
        if (isAbsent(error) || this.connection.isClosed()) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, this.patience.retryMs));
    }
  }

  /** Every batch from a sequence number on, in order, without end; over cuts and elections. `last` is there by now. */
  read(first: number, signal: AbortSignal, last?: number): AsyncGenerator<StoredBatch> {
    const { name, subject, patience } = this;
    const from = Math.max(1, first);
    return follow(this.connection, { stream: name, subject, from, upTo: last, ...patience }, signal);
  }

  /**
   * The batch with this sequence number, or the first one behind it, as the leader has it; null when there is none.
   * Rejects when the leader has not answered several times, and with the signal.
   */
  async batchFrom(sequence: number, signal: AbortSignal): Promise<TimedBatch | null> {
    const query: NextMsgRequest = { seq: sequence, next_by_subj: this.subject };
    const sinceMs = performance.now();
    for (let attempts = 1; ; attempts++) {
      signal.throwIfAborted();
      try {
        // the broker knows this query, the type of the library does not
        const message = await this.manager.streams.getMessage(this.name, query as unknown as MsgRequest);
        return message && { sequence: message.seq, bytes: message.data, timeMs: message.time.getTime() };
      } catch (error) {
        if (attempts === ATTEMPTS_MAX || isAbsent(error) || this.connection.isClosed()) throw error;
        noticeUnanswered(this.connection, sinceMs, this.patience.timeoutMs);
      }
      await new Promise((resolve) => setTimeout(resolve, this.patience.retryMs));
    }
  }

  /** Drops every batch before this one. Asked for what is before the first, nats-server drops everything. */
  async purgeBelow(sequence: number): Promise<void> {
    if (sequence <= 1) return;
    await this.manager.streams.purge(this.name, { filter: this.subject, seq: sequence });
  }
}
