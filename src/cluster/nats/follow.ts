/**
 * Reads a stream in order and without end, over cuts, elections and brokers that die. The broker keeps a consumer in
 * memory for it, and dies with it: whenever anything is odd (silence, a hole in the numbering, a consumer that is gone)
 * another one is made that begins behind what was read. The library's ordered consumer is not used: it asks the dead
 * broker for its consumer, and waits until that broker is back.
 *
 * A copy of a stream may lag behind the others, and so may what is read of it; who must have everything that was stored
 * before reads up to a sequence number that the leader gave. A copy may even stop for good, and its consumers with it:
 * one that brings nothing although the leader has more is given up, too.
 *
 * All brokers together must agree on a consumer. While they cannot, messages are asked for one by one: that needs only
 * the leader of the stream.
 */
import { randomUUID } from 'node:crypto';
import {
  AckPolicy,
  type ConsumerMessages,
  DeliverPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  type MsgRequest,
  type NextMsgRequest,
} from '@nats-io/jetstream';
import { Cell } from './cell.js';
import { type NatsConnection, noticeUnanswered } from './connection.js';

export interface FollowSettings {
  stream: string;
  /** may have wildcards */
  subject: string;
  /** newest: what every subject says now, then all changes; or a sequence number to begin with */
  from: 'newest' | number;
  /** a broker that has not made the consumer within this time is asked again */
  timeoutMs?: number;
  /** wait between two attempts */
  retryMs?: number;
  /** messages that may be on their way */
  messagesAhead?: number;
  /** there is a message with this number, or a later one */
  upTo?: number;
}

/** How far somebody is who reads. */
interface Reading extends FollowSettings {
  newest: number;
  patience: number;
  /** for how long messages are asked for one by one, the next time that there is no consumer */
  oneByOneMs: number;
}

export interface Followed {
  subject: string;
  sequence: number;
  bytes: Uint8Array;
  /** who stored it; empty when nobody said so */
  from: string;
}

/** names the process that stores a message */
export const FROM_HEADER = 'Tgospa-From';

const DEFAULTS = { timeoutMs: 2000, retryMs: 100, messagesAhead: 100 };
/** How consumers are asked: one that is gone is noticed after two heartbeats. */
const PULLS = { expires: 4000, idle_heartbeat: 1000 };
/** how often one looks whether a consumer brings something */
const LOOK_MS = 250;
/** looks without anything new, after which the leader is asked what it has */
const ASK_LOOKS = 4;
/**
 * looks after which a consumer is given up that has not brought what is known to be there; on a busy machine even the
 * next one may need longer, so each gets twice the time of the one before, up to a limit
 */
const PATIENCE_LOOKS = { first: 3, most: 24 };
/** a broker forgets a consumer that nobody has asked for so long, in nanoseconds */
const INACTIVE_NS = 30e9;
/** for how long messages are asked for one by one before a consumer is tried again: twice as long each time */
const ONE_BY_ONE_MS = { first: 1000, most: 20_000 };
/** until one asks again where there was none */
const NONE_MS = 50;
/** answers in a row that there is no such stream, after which there is none */
const ABSENT_MAX = 20;
/** what a consumer says of itself that cannot be relied on any more */
const ODD = new Set([
  'heartbeats_missed',
  'consumer_deleted',
  'consumer_not_found',
  'stream_not_found',
  'no_responders',
]);

/** There is no such stream. */
export const isAbsent = (error: unknown): boolean =>
  error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound;

/** Ends with the signal. Throws when the connection is closed, and when there is no such stream. */
export async function* follow(
  connection: NatsConnection,
  settings: FollowSettings,
  signal: AbortSignal,
): AsyncGenerator<Followed> {
  const { timeoutMs, retryMs } = { ...DEFAULTS, ...settings };
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: timeoutMs });
  const newest = settings.from === 'newest' ? 0 : settings.from - 1;
  const reading: Reading = { ...settings, newest, patience: PATIENCE_LOOKS.first, oneByOneMs: ONE_BY_ONE_MS.first };
  let absent = 0;
  while (!signal.aborted) {
    let brought = false;
    try {
      for await (const message of readPass(manager, reading, signal)) {
        absent = 0;
        reading.patience = PATIENCE_LOOKS.first;
        brought = true;
        if (reading.from !== 'newest') reading.from = message.sequence + 1;
        reading.newest = Math.max(reading.newest, message.sequence);
        yield message;
      }
    } catch (error) {
      absent = isAbsent(error) ? absent + 1 : 0;
      if (absent >= ABSENT_MAX) throw error;
    }
    if (signal.aborted) return;
    if (!brought) reading.patience = Math.min(2 * reading.patience, PATIENCE_LOOKS.most);
    if (connection.isClosed()) throw new Error('the connection to the brokers was closed');
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}

/** What one consumer delivers or, when none can be made, what the leader has, for a while. */
async function* readPass(manager: JetStreamManager, reading: Reading, signal: AbortSignal): AsyncGenerator<Followed> {
  const { oneByOneMs } = reading;
  reading.oneByOneMs = Math.min(2 * oneByOneMs, ONE_BY_ONE_MS.most);
  try {
    return yield* readOnce(manager, reading, signal);
  } catch (error) {
    const isMade = reading.oneByOneMs === ONE_BY_ONE_MS.first;
    if (isMade || isAbsent(error)) throw error;
  }
  yield* readOneByOne(manager, reading, oneByOneMs, signal);
}

/** What one consumer delivers, until anything is odd. */
async function* readOnce(manager: JetStreamManager, settings: Reading, signal: AbortSignal): AsyncGenerator<Followed> {
  const { stream, messagesAhead } = { ...DEFAULTS, ...settings };
  const name = `follow-${randomUUID()}`;
  const info = await manager.consumers.add(stream, configOf(name, settings));
  const consumer = manager.jetstream().consumers.getConsumerFromInfo(info);
  const messages = await consumer.consume({ max_messages: messagesAhead, bind: true, ...PULLS });
  settings.oneByOneMs = ONE_BY_ONE_MS.first;
  // whoever reads may have left off, and never come to the end of this
  const stop = () => {
    clearInterval(comparing);
    void messages.close();
  };
  signal.addEventListener('abort', stop);
  void stopWhenOdd(messages, stop);
  const comparing = stopWhenBehind(manager, messages, settings, stop);
  let delivered = 0;
  try {
    for await (const message of messages) {
      if (signal.aborted || message.info.deliverySequence !== ++delivered) return;
      const from = message.headers?.get(FROM_HEADER) ?? '';
      yield { subject: message.subject, sequence: message.seq, bytes: message.data, from };
    }
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
    // a broker that does not hear this forgets it by itself
    manager.consumers.delete(stream, name).catch(() => {});
  }
}

async function* readOneByOne(
  manager: JetStreamManager,
  { stream, subject, from }: Reading,
  forMs: number,
  signal: AbortSignal,
): AsyncGenerator<Followed> {
  const untilMs = performance.now() + forMs;
  let next = from === 'newest' ? 1 : from;
  if (from === 'newest') {
    const { state } = await manager.streams.info(stream, { subjects_filter: subject });
    next = state.last_seq + 1;
    const values: Followed[] = [];
    for (const one of Object.keys(state.subjects ?? {})) {
      const value = await messageOf(manager, stream, { last_by_subj: one });
      if (value) values.push(value);
    }
    yield* values.sort((a, b) => a.sequence - b.sequence);
  }
  while (!signal.aborted && performance.now() < untilMs) {
    // the broker knows this query, the type of the library does not
    const query: NextMsgRequest = { seq: next, next_by_subj: subject };
    const message = await messageOf(manager, stream, query as unknown as MsgRequest);
    if (message) {
      next = message.sequence + 1;
      yield message;
    } else await new Promise((resolve) => setTimeout(resolve, NONE_MS));
  }
}

/** As the leader has it; null when there is none. */
async function messageOf(manager: JetStreamManager, stream: string, query: MsgRequest): Promise<Followed | null> {
  const message = await manager.streams.getMessage(stream, query);
  if (message === null) return null;
  const { subject, seq: sequence, data: bytes, header } = message;
  return { subject, sequence, bytes, from: header.get(FROM_HEADER) };
}

function configOf(name: string, { subject, from }: FollowSettings) {
  return {
    name,
    filter_subject: subject,
    ack_policy: AckPolicy.None,
    inactive_threshold: INACTIVE_NS,
    mem_storage: true,
    num_replicas: 1,
    ...(from === 'newest'
      ? { deliver_policy: DeliverPolicy.LastPerSubject }
      : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: Math.max(1, from) }),
  };
}

async function stopWhenOdd(messages: ConsumerMessages, stop: () => void): Promise<void> {
  for await (const { type } of messages.status()) if (ODD.has(type)) stop();
}

/** What is known to be there must come, or something else in between. */
function stopWhenBehind(
  manager: JetStreamManager,
  messages: ConsumerMessages,
  settings: Reading,
  stop: () => void,
): NodeJS.Timeout {
  let [received, idle] = [0, 0];
  /** it is there, as was known so many looks ago */
  let wanted = { sequence: settings.upTo ?? 0, since: 0 };
  return setInterval(async () => {
    const isIdle = messages.getReceived() === received && messages.getPending() === 0;
    received = messages.getReceived();
    idle = isIdle ? idle + 1 : 0;
    if (!isIdle) wanted.since = 0;
    else if (settings.newest < wanted.sequence) {
      if (idle - wanted.since >= settings.patience) stop();
    } else if (idle % ASK_LOOKS === 0) {
      wanted = { sequence: await lastSequenceOf(manager, settings.stream), since: idle };
    }
  }, LOOK_MS);
}

/** As the leader says; 0 when there is none to ask. */
const lastSequenceOf = (manager: JetStreamManager, stream: string): Promise<number> =>
  manager.streams.info(stream).then(
    ({ state }) => state.last_seq,
    () => 0,
  );

/** Every message of a subject that was stored before this call, oldest first. */
export async function readAll(
  connection: NatsConnection,
  stream: string,
  subject: string,
  signal?: AbortSignal,
): Promise<Followed[]> {
  const manager = await jetstreamManager(connection, { checkAPI: false });
  const last = await manager.streams.getMessage(stream, { last_by_subj: subject });
  return last === null ? [] : readUpTo(connection, { stream, subject, from: 1 }, last.seq, signal);
}

/**
 * What every subject said when this sequence number was stored, or says since. A value that is replaced while this is
 * read is not there any more when its turn comes, and the new one is behind the end: the leader is asked for it.
 */
export async function readNewest(
  connection: NatsConnection,
  stream: string,
  subject: string,
  upTo: number,
): Promise<Followed[]> {
  const read = await readUpTo(connection, { stream, subject, from: 'newest' }, upTo);
  const values = new Map(read.map((value) => [value.subject, value]));
  for (const one of await subjectsOf(connection, stream, subject, upTo)) {
    if (values.has(one)) continue;
    const cell = await Cell.open(connection, { stream, subject: one, ...DEFAULTS });
    const { revision: sequence, bytes } = await cell.read();
    // it may have been removed meanwhile
    if (sequence > 0) values.set(one, { subject: one, sequence, bytes, from: '' });
  }
  return [...values.values()];
}

/** All subjects that have a value, as a leader says who has this sequence number. */
async function subjectsOf(
  connection: NatsConnection,
  stream: string,
  subject: string,
  upTo: number,
): Promise<string[]> {
  const { timeoutMs, retryMs } = DEFAULTS;
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: timeoutMs });
  const sinceMs = performance.now();
  for (;;) {
    const info = await manager.streams.info(stream, { subjects_filter: subject }).catch(() => null);
    if (info && info.state.last_seq >= upTo) return Object.keys(info.state.subjects ?? {});
    noticeUnanswered(connection, sinceMs, timeoutMs);
    if (connection.isClosed()) throw new Error('the connection to the brokers was closed');
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}

/** One of the messages must have this number, or a later one. */
async function readUpTo(
  connection: NatsConnection,
  settings: FollowSettings,
  upTo: number,
  signal = new AbortController().signal,
): Promise<Followed[]> {
  const read: Followed[] = [];
  for await (const message of follow(connection, { messagesAhead: 500, upTo, ...settings }, signal)) {
    read.push(message);
    if (message.sequence >= upTo) break;
  }
  return read;
}
