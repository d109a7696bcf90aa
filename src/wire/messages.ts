/**
 * The messages of `tgospa.v1`: what a client may say and what it is answered. PROTOCOL.md is the page for people, and a
 * test holds the two together. Only the outside of a message is read here; frames are checked in frame-check.ts, the
 * fields of a hello by a schema.
 */
import type { SkipRule } from './codes.js';
import { Fault, fault, type RejectMessage, show } from './fault.js';
import { type FeedId, type Role, referenceName } from './feed.js';
import { isPlainObject } from './frame-check.js';
import type { Shape } from './objects.js';

export const SUBPROTOCOL = 'tgospa.v1';
/** A browser cannot send an Authorization header, so it offers its token as a second subprotocol. */
export const BEARER_PREFIX = 'bearer.';

/** A message as it came, with its type known; frames are still to be checked against the rules of their session. */
export type Incoming =
  | { type: 'hello'; raw: Record<string, unknown> }
  | { type: 'frame'; raw: Record<string, unknown> }
  | { type: 'reports'; raw: Record<string, unknown> }
  | { type: 'frames'; raw: unknown[] }
  | { type: 'message'; raw: Record<string, unknown> }
  | { type: 'messages'; raw: unknown[] }
  | { type: 'end' }
  | { type: 'ping' };

/** Reads the outside of a message. */
export function parseMessage(text: string): Incoming | Fault {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    return new Fault(
      'json_invalid',
      '',
      `the message is not JSON: ${(error as Error).message.slice(0, 120)}; send one JSON object per message`,
      show(text),
    );
  }
  if (!isPlainObject(raw)) return fault('message_invalid', '', raw, 'a message is an object with a type');
  switch (raw.type) {
    case 'frame':
    case 'reports':
    case 'message':
    case 'hello':
      return { type: raw.type, raw };
    case 'frames':
    case 'messages': {
      const items = raw[raw.type];
      return Array.isArray(items) && items.length > 0
        ? (unknownFieldFault(raw, raw.type) ?? { type: raw.type, raw: items })
        : fault('message_invalid', raw.type, items, 'give an array with at least one element');
    }
    case 'end':
    case 'ping':
      return unknownFieldFault(raw, 'type') ?? { type: raw.type };
    default:
      return fault(
        'message_invalid',
        'type',
        raw.type,
        'known types are hello, frame, frames, reports, message, messages, end, ping',
      );
  }
}

function unknownFieldFault(raw: Record<string, unknown>, allowed: string): Fault | undefined {
  for (const key in raw)
    if (key !== 'type' && key !== allowed)
      return fault(
        'message_invalid',
        key.slice(0, 60),
        raw[key],
        `does not belong to a message of type ${String(raw.type)}; leave it out`,
      );
  return undefined;
}

/** What opens a session. */
export interface Hello<Settings = unknown> {
  feed: FeedId;
  format: string;
  /** options of the format */
  options?: Record<string, unknown>;
  /** what the client is going to send, when it says so */
  shape?: Shape;
  settings?: Settings;
  /** session of the last welcome: takes the feed over from a connection that is cut but not yet known to be */
  resume?: { session: string; seq?: number };
}

/** A hello whose fields have the right types, but whose role and tracker name are not yet compared. */
export interface HelloFields<Settings = unknown> {
  stream: string;
  role: Role;
  tracker?: string | null;
  /** name of one of several references */
  feed?: string | null;
  format: string;
  options?: Record<string, unknown>;
  shape?: Shape;
  settings?: Settings;
  resume?: { session: string; seq?: number };
}

/** Reads the fields of a hello, or says which of them is wrong first; `helloReader` of config/config.ts is one. */
export type HelloReader<Settings = unknown> = (
  raw: Record<string, unknown>,
) => { fields: HelloFields<Settings> } | { path: string; value: unknown; message: string };

/** Checks a hello, or says what is wrong with it first. */
export function checkHello<S>(raw: Record<string, unknown>, read: HelloReader<S>): Hello<S> | Fault {
  const result = read(raw);
  if (!('fields' in result)) return fault('hello_invalid', result.path, result.value, result.message);
  const { stream, role, tracker, feed, format, options, shape, settings, resume } = result.fields;
  if (role === 'tracker' && !tracker)
    return fault('hello_invalid', 'tracker', undefined, 'role tracker needs a name, such as "tracker":"sort-v2"');
  if (role === 'reference' && tracker)
    return fault(
      'hello_invalid',
      'tracker',
      tracker,
      'role reference has no tracker name; leave it out, or use role tracker',
    );
  if (role === 'tracker' && feed)
    return fault('hello_invalid', 'feed', feed, 'only references are told apart by feed; a tracker has its name');
  const name = feed ? referenceName(feed) : (tracker ?? null);
  return { feed: { stream, role, tracker: name }, format, options, shape, settings, resume };
}

export interface WelcomeMessage {
  type: 'welcome';
  session: string;
  /** number of the first frame that is not stored yet */
  nextSeq: number;
  /** frames that may be sent without an ack */
  credit: number;
  maxPayloadBytes: number;
  maxObjects: number;
  heartbeatMs: number;
  /** longest wait before coming back after a lost connection */
  reconnectMaxMs: number;
  /** settings in force */
  shape: Shape;
  profiles: string[];
  windowFrames: number;
  /** settings that are allowed but hardly wanted; absent when there are none */
  warnings?: string[];
}

export interface AckMessage {
  type: 'ack';
  /** everything up to this number is stored, or was rejected */
  seq: number;
  /** frames since the last ack that had been stored before; absent when none */
  duplicates?: number;
  /** objects left out of frames since the last ack, and the newest of them; absent when none */
  skipped?: { objects: number; seq: number; rule: SkipRule; path: string; message: string };
}

export type Outgoing = WelcomeMessage | AckMessage | RejectMessage | { type: 'ended' } | { type: 'pong' };
