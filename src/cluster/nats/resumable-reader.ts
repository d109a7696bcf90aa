/**
 * Reads a JetStream stream in order, and resumes behind what was concluded, in this process or the next one.
 *
 * A durable consumer alone cannot do that: what it delivered and nobody acknowledged comes again after its `ack_wait`,
 * behind newer messages. So every reader has a consumer of its own that begins where the last one's acknowledgements
 * end, and the last one is deleted afterwards. Its position, `max(start - 1, ack floor)`, is never lost: a crash
 * between the two leaves both, and the higher position counts. Nothing is delivered twice by one consumer; a hole in
 * its numbering ends the reader, and the next one resumes.
 */
import { createHash, randomUUID } from 'node:crypto';
import {
  AckPolicy,
  type ConsumerInfo,
  type ConsumerMessages,
  DeliverPolicy,
  type JetStreamManager,
  type JsMsg,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
} from '@nats-io/jetstream';
import type { NatsConnection } from './connection.js';

export interface ResumableSettings {
  stream: string;
  /** who reads: nobody else may read the same subject of the stream under it */
  reader: string;
  /** may have wildcards. One only: with several filters, 2.10.27 skipped messages of one of them */
  subject: string;
  /** where somebody begins who has never read */
  begin: 'oldest' | 'new';
  /** how long the broker remembers a reader that is away */
  keepMs: number;
  /** messages that may be delivered and not concluded */
  pendingMax: number;
}

export interface ReceivedMessage {
  payload: Uint8Array;
  /** Tells the broker that it need not come again. */
  conclude(): void;
}

interface Open {
  concluded: boolean;
  acknowledge: () => void;
}

/** What outlives a connection: which messages are with us already. */
export class ReadingProgress {
  /** when the stream was made: another one under its name has other numbers */
  #created = '';
  #newest = 0;
  #floor = 0;
  /** delivered and above the floor, in order */
  readonly #open = new Map<number, Open>();

  /** Every message up to this number is concluded. */
  floorOf(created: string): number {
    if (created !== this.#created) {
      this.#created = created;
      this.#newest = 0;
      this.#floor = 0;
      this.#open.clear();
    }
    return this.#floor;
  }

  /** Registers a message; null when it is with us already. */
  add(sequence: number, acknowledge: () => void): (() => void) | null {
    if (sequence <= this.#newest) {
      this.#again(sequence, acknowledge);
      return null;
    }
    this.#newest = sequence;
    const open = { concluded: false, acknowledge };
    this.#open.set(sequence, open);
    return () => this.#conclude(open);
  }

  #again(sequence: number, acknowledge: () => void): void {
    const open = this.#open.get(sequence);
    if (open && !open.concluded) open.acknowledge = acknowledge;
    else acknowledge();
  }

  #conclude(open: Open): void {
    open.concluded = true;
    open.acknowledge();
    for (const [sequence, { concluded }] of this.#open) {
      if (!concluded) return;
      this.#open.delete(sequence);
      this.#floor = sequence;
    }
  }
}

export class ResumableReader implements AsyncIterable<ReceivedMessage> {
  #delivered = 0;

  private constructor(
    readonly settings: ResumableSettings,
    readonly progress: ReadingProgress,
    readonly messages: ConsumerMessages,
  ) {}

  static async open(
    connection: NatsConnection,
    settings: ResumableSettings,
    progress: ReadingProgress,
  ): Promise<ResumableReader> {
    const manager = await jetstreamManager(connection, { checkAPI: false });
    const name = await renewConsumer(manager, settings, progress);
    const consumer = await jetstream(connection).consumers.get(settings.stream, name);
    const max_messages = Math.min(settings.pendingMax, MESSAGES_UNDERWAY);
    const messages = await consumer.consume({ max_messages, abort_on_missing_resource: true });
    return new ResumableReader(settings, progress, messages);
  }

  /** Ends with an error when the broker has lost the consumer or something on the way. */
  async *[Symbol.asyncIterator](): AsyncIterator<ReceivedMessage> {
    for await (const message of this.messages) {
      const { deliverySequence, streamSequence } = message.info;
      if (deliverySequence !== ++this.#delivered)
        throw new Error(`message ${this.#delivered} of ${this.settings.stream} was lost on its way`);
      const conclude = this.progress.add(streamSequence, () => acknowledge(message));
      if (conclude) yield { payload: message.data, conclude };
    }
  }

  /** Fetches nothing more; what is concluded later is still acknowledged, as long as the connection lasts. */
  stop(): void {
    // resolves only for somebody who reads to the end
    void this.messages.close();
  }
}

/** at most so many are on their way to us at a time */
const MESSAGES_UNDERWAY = 100;

/** On a connection that is gone nothing can be acknowledged: the next consumer delivers it again. */
function acknowledge(message: JsMsg): void {
  try {
    message.ack();
  } catch {}
}

async function renewConsumer(
  manager: JetStreamManager,
  settings: ResumableSettings,
  progress: ReadingProgress,
): Promise<string> {
  const { stream, subject, begin, keepMs, pendingMax } = settings;
  const prefix = prefixOf(settings);
  const { config, state, created } = await manager.streams.info(stream);
  const former = await consumersOf(manager, stream, prefix);
  const start = Math.max(progress.floorOf(created), ...former.map(positionOf)) + 1;
  const isNewcomer = start === 1 && former.length === 0;
  // a work queue has one consumer at a time, and keeps nothing that was acknowledged
  const isQueue = config.retention === RetentionPolicy.Workqueue;
  if (isQueue) await deleteAll(manager, stream, former);
  const name = `${prefix}${randomUUID().slice(0, 8)}`;
  await manager.consumers.add(stream, {
    durable_name: name,
    ack_policy: AckPolicy.Explicit,
    ...(isQueue
      ? { deliver_policy: DeliverPolicy.All }
      : {
          deliver_policy: DeliverPolicy.StartSequence,
          opt_start_seq: isNewcomer && begin === 'new' ? state.last_seq + 1 : start,
        }),
    filter_subject: subject,
    max_ack_pending: pendingMax,
    // never delivered again by the same consumer, which would be out of order
    ack_wait: keepMs * 1e6,
    inactive_threshold: keepMs * 1e6,
  });
  if (!isQueue) await deleteAll(manager, stream, former);
  return name;
}

/** Of the names of all consumers that this reader ever had for its subject. */
const prefixOf = ({ reader, subject }: ResumableSettings): string =>
  `${reader}-${createHash('sha256').update(subject).digest('hex').slice(0, 8)}-`;

async function consumersOf(manager: JetStreamManager, stream: string, prefix: string): Promise<ConsumerInfo[]> {
  const found: ConsumerInfo[] = [];
  for await (const info of manager.consumers.list(stream)) if (info.name.startsWith(prefix)) found.push(info);
  return found;
}

const positionOf = ({ config, ack_floor }: ConsumerInfo): number =>
  Math.max((config.opt_start_seq ?? 1) - 1, ack_floor.stream_seq);

async function deleteAll(manager: JetStreamManager, stream: string, consumers: ConsumerInfo[]): Promise<void> {
  for (const { name } of consumers) await manager.consumers.delete(stream, name);
}
