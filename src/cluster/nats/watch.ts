/**
 * What the subjects of a stream say now, and from then on every change, in order: the newest message of each first.
 * It goes on over cuts and elections, and may deliver a value twice; it never skips the newest.
 */
import { DeliverPolicy, jetstreamManager } from '@nats-io/jetstream';
import { type NatsConnection, PULLS } from './connection.js';

export interface WatchedValue {
  subject: string;
  revision: number;
  bytes: Uint8Array;
}

export interface WatchSettings {
  stream: string;
  /** may have wildcards */
  subject: string;
  /** newest: what every subject says now, then all changes; new: changes only; or a sequence number to begin with */
  from: 'newest' | 'new' | number;
}

const POLICIES = { newest: DeliverPolicy.LastPerSubject, new: DeliverPolicy.New };

/** milliseconds before a watch that ended by itself is set up again */
const AGAIN_MS = 500;

/**
 * Calls `next` for each until the signal; `caughtUp` once what was there before is told. Rejects when it cannot be set
 * up; a watch that ends later is set up again, for whoever watches would be deaf without knowing.
 */
export async function watch(
  connection: NatsConnection,
  settings: WatchSettings,
  signal: AbortSignal,
  next: (value: WatchedValue) => void,
  caughtUp: () => void = () => {},
): Promise<void> {
  const watched = { ...settings };
  let isSetUp = false;
  while (!signal.aborted) {
    try {
      await watchOnce(connection, watched, signal, next, caughtUp, () => {
        isSetUp = true;
      });
    } catch (error) {
      if (!isSetUp) throw error;
    }
    if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    if (connection.isClosed()) return;
  }
}

async function watchOnce(
  connection: NatsConnection,
  watched: WatchSettings,
  signal: AbortSignal,
  next: (value: WatchedValue) => void,
  caughtUp: () => void,
  setUp: () => void,
): Promise<void> {
  const { stream, subject, from } = watched;
  const manager = await jetstreamManager(connection, { checkAPI: false });
  const consumer = await manager.jetstream().consumers.get(stream, {
    filter_subjects: [subject],
    ...(typeof from === 'number'
      ? { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: Math.max(1, from) }
      : { deliver_policy: POLICIES[from] }),
  });
  const { num_pending: pending, delivered } = await consumer.info();
  // of changes none is left out when this has to be set up again
  if (from === 'new') watched.from = delivered.stream_seq + 1;
  setUp();
  let behind = pending > 0;
  if (!behind) caughtUp();
  if (signal.aborted) return;
  const messages = await consumer.consume({ max_messages: 200, ...PULLS });
  const stop = () => void messages.close();
  signal.addEventListener('abort', stop);
  try {
    for await (const message of messages) {
      if (signal.aborted) return;
      if (watched.from !== 'newest') watched.from = message.seq + 1;
      next({ subject: message.subject, revision: message.seq, bytes: message.data });
      if (!behind || message.info.pending > 0) continue;
      behind = false;
      caughtUp();
    }
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}

/** What every subject says at the moment. */
export async function readNewest(connection: NatsConnection, stream: string, subject: string): Promise<WatchedValue[]> {
  const values = new Map<string, WatchedValue>();
  const over = new AbortController();
  const keep = (value: WatchedValue) => void values.set(value.subject, value);
  await watch(connection, { stream, subject, from: 'newest' }, over.signal, keep, () => over.abort());
  if (!over.signal.aborted) throw new Error(`${subject} was not read to its end: the connection was closed`);
  return [...values.values()];
}
