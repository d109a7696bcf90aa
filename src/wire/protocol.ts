/**
 * The wire contract of `tgospa.v1`: messages, error codes and close codes. PROTOCOL.md is its page for people, and a
 * test holds the two together. Everything that leaves the checks of this file is typed, finite and within its limits;
 * nothing behind the edge checks it again. Frames, the hot path, are checked by hand; hello by a schema.
 */

import type { Evaluation, Report } from '../metric/evaluation.js';
import type { SpikeNews } from '../spikes/watch.js';
import { listed, type ObjectList, type WireObject } from './objects.js';

export const SUBPROTOCOL = 'tgospa.v1';
/** A browser cannot send an Authorization header, so it offers its token as a second subprotocol. */
export const BEARER_PREFIX = 'bearer.';

/** Names of streams, trackers, profiles and tokens: may stand in a URL, a label and a log line without quoting. */
export const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}$/;
export const NAME_RULE = 'must be 1 to 64 letters, digits or . _ : / - and begin with a letter or digit';

export type Role = 'reference' | 'tracker';

/** One source of frames; `tracker` is null for the reference. */
export interface FeedId {
  stream: string;
  role: Role;
  tracker: string | null;
}

export type { WireObject } from './objects.js';

/** One feed's objects at one step, validated; at least one of `k` (frame number) and `t` (epoch seconds). */
export interface FramePart {
  /** whole for native frames; frames of a foreign message have fractions before the message's own number */
  seq: number;
  k?: number;
  t?: number;
  objects: WireObject[];
}

/** A part as it travels from the edge on: its objects may be packed. */
export interface FeedPart extends Omit<FramePart, 'objects'> {
  objects: ObjectList;
}

/** Whether the objects of a stream are boxes or points. */
export type Shape = 'box' | 'point';

/** Close codes, with whether a client should come back. 1002, 1007, 1008 and 1009 come from the WebSocket library. */
export const CLOSE_CODES = {
  1000: { retry: false, meaning: 'normal: the client closed, or the feed ended' },
  1001: { retry: true, meaning: 'the server is stopping; everything acked is kept' },
  1002: { retry: false, meaning: 'not the WebSocket protocol' },
  1007: { retry: false, meaning: 'text that is not UTF-8' },
  1008: { retry: false, meaning: 'more fragments than limits.fragments, or more pieces than limits.bufferedChunks' },
  1009: { retry: false, meaning: 'message larger than limits.payloadBytes' },
  1011: { retry: true, meaning: 'a fault of the server; everything acked is kept' },
  4008: { retry: true, meaning: 'the peer reads too slowly what it is sent' },
  4400: { retry: false, meaning: 'the hello was wrong, or something else came first; a reject before it says what' },
  4403: { retry: false, meaning: 'the token is not good for this stream' },
  4408: { retry: true, meaning: 'no hello within limits.helloTimeoutMs' },
  4409: { retry: true, meaning: 'another client holds this feed' },
  4410: { retry: false, meaning: 'another connection resumed this session' },
  4429: { retry: true, meaning: 'too many streams, trackers or rejects' },
} as const satisfies Record<number, { retry: boolean; meaning: string }>;

export type CloseCode = keyof typeof CLOSE_CODES;

/** Codes of `reject`; `close` is the close code that follows it, null when the connection goes on. */
export const REJECT_CODES = {
  json_invalid: { close: null, meaning: 'the message is not JSON' },
  message_invalid: { close: null, meaning: 'no object, no known type, binary, or a field that does not belong there' },
  hello_expected: { close: 4400, meaning: 'the first message was not a hello' },
  hello_invalid: { close: 4400, meaning: 'a field of the hello is missing, unknown or wrong' },
  hello_repeated: { close: null, meaning: 'a second hello on one connection' },
  hello_timeout: { close: 4408, meaning: 'no hello in time' },
  format_unknown: { close: 4400, meaning: 'no adapter and no configured format has this name' },
  options_invalid: { close: 4400, meaning: 'an option of the format is missing, unknown or wrong' },
  settings_invalid: {
    close: 4400,
    meaning: 'the stream settings of the hello contradict each other, or those of the running stream',
  },
  profile_missing: { close: 4400, meaning: 'points without a configured profile; the message holds the lines to add' },
  stream_forbidden: { close: 4403, meaning: 'the token is not good for this stream' },
  feed_taken: { close: 4409, meaning: 'another client holds this feed' },
  streams_exceeded: { close: 4429, meaning: 'limits.streams is reached' },
  trackers_exceeded: { close: 4429, meaning: 'limits.trackersPerStream is reached' },
  rejects_exceeded: { close: 4429, meaning: 'more rejects than limits.rejectsPerMinute' },
  frame_invalid: {
    close: null,
    meaning: 'a field of the frame is missing, unknown, of the wrong type or out of range',
  },
  id_duplicate: { close: null, meaning: 'an id stands twice in one frame' },
  objects_exceeded: { close: null, meaning: 'more objects than limits.objects' },
  shape_mismatch: {
    close: null,
    meaning: 'points where the stream has boxes, boxes where it has points, or another dimension',
  },
  frame_unfinished: { close: null, meaning: 'a frame spread over more messages than limits.creditFrames' },
  feed_ended: { close: null, meaning: 'a frame after end; say hello on a new connection to go on' },
} as const satisfies Record<string, { close: CloseCode | null; meaning: string }>;

export type RejectCode = keyof typeof REJECT_CODES;

/** Codes of refused HTTP requests and upgrades; the body is `{"code","message"}`. */
export const HTTP_CODES = {
  request_invalid: { status: 400, meaning: 'a query parameter is missing or wrong' },
  subprotocol_unknown: { status: 400, meaning: 'subprotocols are offered, but tgospa.v1 is not among them' },
  token_missing: { status: 401, meaning: 'tokens are configured and none came' },
  token_unknown: { status: 401, meaning: 'the token is none of the configured ones' },
  role_forbidden: { status: 403, meaning: 'the token lacks the role ingest or read' },
  stream_forbidden: { status: 403, meaning: 'the token is not good for this stream, or not for all of them' },
  origin_forbidden: { status: 403, meaning: 'a page of another origin, which is not in origins' },
  host_forbidden: { status: 403, meaning: 'a loopback server was addressed by a foreign name' },
  not_found: { status: 404, meaning: 'no such address, stream, tracker or profile' },
  method_forbidden: { status: 405, meaning: 'only GET and HEAD' },
  upgrade_expected: { status: 426, meaning: 'this address speaks WebSocket' },
  address_exceeded: { status: 429, meaning: 'limits.connectionsPerAddress is reached' },
  fault: { status: 500, meaning: 'a fault of the server' },
  connections_exceeded: { status: 503, meaning: 'limits.connections is reached' },
  stopping: { status: 503, meaning: 'the server is stopping' },
} as const satisfies Record<string, { status: number; meaning: string }>;

export type HttpCode = keyof typeof HTTP_CODES;

/** A peer's mistake: what came, where, and the remedy. */
export class Fault {
  constructor(
    readonly code: RejectCode,
    /** place within the message: `objects[3].box[2]`, `frames[1].seq`; empty for the message as a whole */
    readonly path: string,
    readonly message: string,
    /** the offending value, shortened; absent when nothing came */
    readonly value?: string,
    readonly seq?: number,
  ) {}

  /** The same fault seen from an enclosing message. */
  within(prefix: string): Fault {
    return new Fault(this.code, this.path ? `${prefix}.${this.path}` : prefix, this.message, this.value, this.seq);
  }

  toMessage(): RejectMessage {
    const { seq, code, path, message, value } = this;
    return {
      type: 'reject',
      ...(seq === undefined ? {} : { seq }),
      code,
      path,
      message,
      ...(value === undefined ? {} : { value }),
    };
  }
}

/** Shows any value in about 60 characters, without walking into it. */
export function show(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value);
  if (Array.isArray(value))
    return value.length <= 4 && value.every((v) => typeof v === 'number')
      ? `[${value.join(',')}]`
      : `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}

/** A fault whose sentence begins with the place and what stands there. */
export const fault = (code: RejectCode, path: string, value: unknown, remedy: string): Fault => {
  const shown = show(value);
  return new Fault(
    code,
    path,
    `${path || 'the message'} ${shown === undefined ? 'is missing' : `is ${shown}`}; ${remedy}`,
    shown,
  );
};

/** What a frame of a session must satisfy. */
export interface FrameRules {
  objectsMax: number;
  idLengthMax: number;
  shape: Shape;
  /** coordinates of a point; 0 until the first point of the stream */
  dimensions: number;
  /** points are latitude and longitude in degrees */
  geodesic: boolean;
  /** what a sender of points on a stream of boxes should do */
  pointRemedy: string;
}

/** Coordinates beyond this lose their meaning in double precision. */
export const COORDINATE_MAX = 1e12;
/** A box side below this makes areas that vanish. */
export const BOX_SIDE_MIN = 1e-9;
/** Later than the year 5138: certainly milliseconds. */
export const TIME_MAX_SECONDS = 1e11;
export const POINT_DIMENSIONS_MAX = 8;

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Checks one frame, or says what is wrong with it first. The objects are kept as they are, not copied. */
export function checkFrame(raw: unknown, rules: FrameRules): FramePart | Fault {
  if (!isPlainObject(raw))
    return fault('frame_invalid', '', raw, 'a frame is an object with seq, k and/or t, and objects');
  const { seq, k, t, objects } = raw;
  const wrong = frameFault(raw) ?? objectsFault(objects, rules);
  if (wrong)
    return Number.isSafeInteger(seq)
      ? new Fault(wrong.code, wrong.path, wrong.message, wrong.value, seq as number)
      : wrong;
  const part: FramePart = { seq: seq as number, objects: objects as WireObject[] };
  if (k !== undefined) part.k = k as number;
  if (t !== undefined) part.t = t as number;
  return part;
}

function frameFault(raw: Record<string, unknown>): Fault | undefined {
  const { type, seq, k, t } = raw;
  if (!Number.isSafeInteger(seq) || (seq as number) < 1)
    return fault('frame_invalid', 'seq', seq, 'number your frames 1, 2, 3, ... from nextSeq of the welcome');
  if (k !== undefined && (!Number.isSafeInteger(k) || (k as number) < 0))
    return fault('frame_invalid', 'k', k, 'a frame number is a whole number from 0');
  if (t !== undefined && !(typeof t === 'number' && t >= 0 && t <= TIME_MAX_SECONDS))
    return fault('frame_invalid', 't', t, 'a time is in seconds (not milliseconds), from 0');
  if (k === undefined && t === undefined)
    return fault('frame_invalid', 'k', undefined, 'give the frame number k or the time t in seconds, or both');
  if (type !== undefined && type !== 'frame')
    return fault('frame_invalid', 'type', type, 'leave it out, or say "frame"');
  for (const key in raw) {
    if (key !== 'type' && key !== 'seq' && key !== 'k' && key !== 't' && key !== 'objects') {
      return fault('frame_invalid', key.slice(0, 60), raw[key], 'a frame has only the fields type, seq, k, t, objects');
    }
  }
  return undefined;
}

const seen = new Set<string>();

function objectsFault(objects: unknown, rules: FrameRules): Fault | undefined {
  if (!Array.isArray(objects))
    return fault('frame_invalid', 'objects', objects, 'give an array; [] when nothing is there');
  if (objects.length > rules.objectsMax)
    return fault(
      'objects_exceeded',
      'objects',
      objects,
      `at most ${rules.objectsMax} objects per frame; raise limits.objects or filter before sending`,
    );
  seen.clear();
  let dimensions = rules.dimensions;
  for (let n = 0; n < objects.length; n++) {
    const object = objects[n];
    const wrong = rules.shape === 'box' ? boxFault(object, n, rules) : pointFault(object, n, rules, dimensions);
    if (wrong) return wrong;
    if (rules.shape === 'point') dimensions ||= object.point.length;
    seen.add(object.id);
    if (seen.size <= n)
      return fault('id_duplicate', `objects[${n}].id`, object.id, 'ids must be unique within a frame');
  }
  return undefined;
}

function boxFault(object: unknown, n: number, rules: FrameRules): Fault | undefined {
  const wrong = fieldsFault(object, n, rules);
  if (wrong) return wrong;
  const { box, point } = object as WireObject;
  if (point !== undefined)
    return fault(
      'shape_mismatch',
      `objects[${n}].point`,
      point,
      `this stream compares boxes; send "box":[left,top,width,height], or ${rules.pointRemedy}`,
    );
  if (!Array.isArray(box) || box.length !== 4)
    return fault('frame_invalid', `objects[${n}].box`, box, 'expected [left,top,width,height]');
  for (let d = 0; d < 4; d++) {
    const value = box[d];
    if (typeof value !== 'number' || !(value <= COORDINATE_MAX && value >= -COORDINATE_MAX))
      return coordinateFault(`objects[${n}].box[${d}]`, value);
    if (d >= 2 && value < BOX_SIDE_MIN)
      return fault(
        'frame_invalid',
        `objects[${n}].box[${d}]`,
        value,
        `the ${d === 2 ? 'width' : 'height'} of a box must be above 0; leave the object out or repair it`,
      );
  }
  return undefined;
}

function pointFault(object: unknown, n: number, rules: FrameRules, dimensions: number): Fault | undefined {
  const wrong = fieldsFault(object, n, rules);
  if (wrong) return wrong;
  const { box, point } = object as WireObject;
  if (box !== undefined)
    return fault(
      'shape_mismatch',
      `objects[${n}].box`,
      box,
      'this stream compares points; send "point":[...], or configure a profile for boxes',
    );
  if (!Array.isArray(point) || point.length === 0 || point.length > POINT_DIMENSIONS_MAX)
    return fault('frame_invalid', `objects[${n}].point`, point, `expected 1 to ${POINT_DIMENSIONS_MAX} coordinates`);
  for (let d = 0; d < point.length; d++) {
    const value = point[d];
    if (typeof value !== 'number' || !(value <= COORDINATE_MAX && value >= -COORDINATE_MAX))
      return coordinateFault(`objects[${n}].point[${d}]`, value);
  }
  if (dimensions > 0 && point.length !== dimensions)
    return fault(
      'shape_mismatch',
      `objects[${n}].point`,
      point,
      `the points of this stream have ${dimensions} coordinates`,
    );
  if (rules.geodesic && !(Math.abs(point[0]) <= 90 && Math.abs(point[1]) <= 360))
    return fault(
      'frame_invalid',
      `objects[${n}].point`,
      point,
      'expected [latitude,longitude] in degrees, latitude within -90 and 90',
    );
  return undefined;
}

const coordinateFault = (path: string, value: unknown) =>
  fault('frame_invalid', path, value, `expected a finite number between ${-COORDINATE_MAX} and ${COORDINATE_MAX}`);

/** The fields boxes and points have in common, and that there are no others. */
function fieldsFault(object: unknown, n: number, rules: FrameRules): Fault | undefined {
  if (!isPlainObject(object))
    return fault('frame_invalid', `objects[${n}]`, object, 'an object has an id and a box or a point');
  for (const key in object) {
    if (key !== 'id' && key !== 'box' && key !== 'point' && key !== 'class' && key !== 'confidence') {
      return fault(
        'frame_invalid',
        `objects[${n}].${key.slice(0, 60)}`,
        object[key],
        'an object has only the fields id, box, point, class, confidence',
      );
    }
  }
  const { id, class: kind, confidence } = object;
  if (typeof id !== 'string' || id.length === 0 || id.length > rules.idLengthMax)
    return fault(
      'frame_invalid',
      `objects[${n}].id`,
      id,
      `expected a string of 1 to ${rules.idLengthMax} characters, such as "7"`,
    );
  if (kind !== undefined && (typeof kind !== 'string' || kind.length > rules.idLengthMax))
    return fault(
      'frame_invalid',
      `objects[${n}].class`,
      kind,
      `expected a string of at most ${rules.idLengthMax} characters`,
    );
  if (confidence !== undefined && (typeof confidence !== 'number' || !Number.isFinite(confidence)))
    return fault('frame_invalid', `objects[${n}].confidence`, confidence, 'expected a finite number');
  return undefined;
}

/** A message as it came, with its type known; frames are still to be checked against the rules of their session. */
export type Incoming =
  | { type: 'hello'; raw: Record<string, unknown> }
  | { type: 'frame'; raw: Record<string, unknown> }
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
    case 'message':
    case 'hello':
      return { type: raw.type, raw };
    case 'frames':
    case 'messages': {
      const items = raw[raw.type];
      return Array.isArray(items) && items.length > 0
        ? (strangerFault(raw, raw.type) ?? { type: raw.type, raw: items })
        : fault('message_invalid', raw.type, items, 'give an array with at least one element');
    }
    case 'end':
    case 'ping':
      return strangerFault(raw, 'type') ?? { type: raw.type };
    default:
      return fault(
        'message_invalid',
        'type',
        raw.type,
        'known types are hello, frame, frames, message, messages, end, ping',
      );
  }
}

function strangerFault(raw: Record<string, unknown>, allowed: string): Fault | undefined {
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
  format: string;
  options?: Record<string, unknown>;
  shape?: Shape;
  settings?: Settings;
  resume?: { session: string; seq?: number };
}

/** Reads the fields of a hello, or says which of them is wrong first. The schema is that of config.ts. */
export type HelloReader<Settings = unknown> = (
  raw: Record<string, unknown>,
) => { fields: HelloFields<Settings> } | { path: string; value: unknown; message: string };

/** Checks a hello, or says what is wrong with it first. */
export function checkHello<S>(raw: Record<string, unknown>, read: HelloReader<S>): Hello<S> | Fault {
  const result = read(raw);
  if (!('fields' in result)) return fault('hello_invalid', result.path, result.value, result.message);
  const { stream, role, tracker, format, options, shape, settings, resume } = result.fields;
  if (role === 'tracker' && !tracker)
    return fault('hello_invalid', 'tracker', undefined, 'role tracker needs a name, such as "tracker":"sort-v2"');
  if (role === 'reference' && tracker)
    return fault(
      'hello_invalid',
      'tracker',
      tracker,
      'role reference has no tracker name; leave it out, or use role tracker',
    );
  return { feed: { stream, role, tracker: tracker ?? null }, format, options, shape, settings, resume };
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
}

export interface RejectMessage {
  type: 'reject';
  seq?: number;
  code: RejectCode;
  path: string;
  message: string;
  value?: string;
}

export type Outgoing = WelcomeMessage | AckMessage | RejectMessage | { type: 'ended' } | { type: 'pong' };

/** A report without the frames of its window but the newest. */
export type PublishedReport = Omit<Report, 'perFrame'>;

/** A report as the pipeline publishes it; `receivedMs` is when the newest part of the frame came in. */
export interface ReportEvent {
  type: 'report';
  stream: string;
  tracker: string;
  profile: string;
  k: number;
  t?: number;
  receivedMs: number;
  report: PublishedReport;
  solveMs: number;
  /** what both feeds saw at this frame; absent from a report that was recovered, and after the end of a feed */
  objects?: { reference: ObjectList; tracker: ObjectList };
  /** the series' spike detector, read when somebody asks; absent while detection is off */
  spikes?: SpikeReading;
  /** the companion scores, in the reports in which they were worked out; absent while they are off */
  scores?: ScoreReading;
}

/** Scores of the window that ended with frame `k`, by name: HOTA, MOTA, IDF1 and their parts. */
export interface ScoreReading {
  readonly k: number;
  readonly frames: number;
  readonly values: Readonly<Record<string, number>>;
}

/** A spike that begins or ends; `t` is the time of frame `at`, epoch seconds, `atMs` when it took effect, epoch milliseconds. */
export type SpikeEvent = {
  type: 'spike';
  stream: string;
  tracker: string;
  profile: string;
  t?: number;
  n?: number;
  atMs?: number;
} & SpikeNews;

/** The state of a spike detector, by signal. */
export interface SpikeReading {
  readonly signals: readonly string[];
  gauge(signal: string): { active: boolean; score: number; expected: number; observed: number; count: number };
}

/** An evaluation without its frames. */
export type WindowSummary = Omit<Evaluation, 'perFrame'>;

export function summarize(evaluation: WindowSummary): WindowSummary {
  const { frames, distance, cost, count, meanLocalizationError, exact, lowerBound, gap, solver, audit } = evaluation;
  const summary = { frames, distance, cost, count, meanLocalizationError, exact, lowerBound, gap, solver };
  return audit ? { ...summary, audit } : summary;
}

/** A report as subscribers of /v1/live see it; those who draw ask for the objects too. */
export function reportMessage(event: ReportEvent, withObjects = false): Record<string, unknown> {
  const { type, stream, tracker, profile, k, t, receivedMs, report, solveMs, objects, scores } = event;
  const { newest, settled, lifetime, frame } = report;
  return {
    type,
    stream,
    tracker,
    profile,
    k,
    ...(t === undefined ? {} : { t }),
    frame,
    receivedMs,
    solveMs,
    window: summarize(report),
    newest,
    settled,
    lifetime,
    ...(scores ? { scores } : {}),
    ...(withObjects && objects
      ? { objects: { reference: listed(objects.reference), tracker: listed(objects.tracker) } }
      : {}),
  };
}
