/**
 * The JetStream stream behind the log of a partition: made when absent, appended to one publish at a time, read from a
 * sequence number on, purged below one. It knows bytes only. No `Nats-Msg-Id`: nats-server 2.10.27 answered
 * `duplicate` for messages that it had never committed.
 */
import {
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream';
import { type NatsConnection, PULLS } from './connection.js';

export interface StreamSettings {
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

/** Makes a stream unless it is there. */
export async function makeStream(connection: NatsConnection, settings: StreamSettings): Promise<void> {
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

export interface Batch {
  sequence: number;
  bytes: Uint8Array;
}

export class PartitionStream {
  private constructor(
    readonly name: string,
    readonly subject: string,
    readonly manager: JetStreamManager,
  ) {}

  static async open(connection: NatsConnection, name: string, subject: string): Promise<PartitionStream> {
    return new PartitionStream(name, subject, await jetstreamManager(connection, { checkAPI: false }));
  }

  /** One attempt to append; resolves with the sequence number once a majority has it on disk. */
  async append(bytes: Uint8Array, timeoutMs: number): Promise<number> {
    try {
      return (await this.manager.jetstream().publish(this.subject, bytes, { timeout: timeoutMs })).seq;
    } catch (error) {
      if (error instanceof JetStreamApiError && FULL_CODES.includes(error.code))
        throw new StreamFullError(`stream ${this.name} is full: ${error.message}`);
      throw error;
    }
  }

  async lastSequence(): Promise<number> {
    return (await this.manager.streams.info(this.name)).state.last_seq;
  }

  /** The sequence number of its last batch, and what it holds. */
  async state(): Promise<{ lastSequence: number; bytes: number }> {
    const { last_seq, bytes } = (await this.manager.streams.info(this.name)).state;
    return { lastSequence: last_seq, bytes };
  }

  /** Every batch from a sequence number on, in order, without end; over cuts and elections. */
  async *read(first: number, signal: AbortSignal): AsyncGenerator<Batch> {
    const consumer = await this.manager.jetstream().consumers.get(this.name, {
      filter_subjects: [this.subject],
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: Math.max(1, first),
    });
    const messages = await consumer.consume({ max_messages: 100, ...PULLS });
    const stop = () => void messages.close();
    signal.addEventListener('abort', stop);
    try {
      for await (const message of messages) {
        if (signal.aborted) return;
        yield { sequence: message.seq, bytes: message.data };
      }
    } finally {
      signal.removeEventListener('abort', stop);
      stop();
    }
  }

  /** Drops every batch before this one. */
  async purgeBelow(sequence: number): Promise<void> {
    await this.manager.streams.purge(this.name, { filter: this.subject, seq: sequence });
  }
}

/** Every message of a subject that is kept, oldest first. */
export async function readAll(connection: NatsConnection, stream: string, subject: string): Promise<Uint8Array[]> {
  const manager = await jetstreamManager(connection, { checkAPI: false });
  const consumer = await manager
    .jetstream()
    .consumers.get(stream, { filter_subjects: [subject], deliver_policy: DeliverPolicy.All });
  const { num_pending: pending } = await consumer.info();
  const found: Uint8Array[] = [];
  if (pending === 0) return found;
  const messages = await consumer.consume({ max_messages: 500, ...PULLS });
  for await (const message of messages) {
    found.push(message.data);
    if (found.length >= pending || message.info.pending === 0) break;
  }
  await messages.close();
  return found;
}
