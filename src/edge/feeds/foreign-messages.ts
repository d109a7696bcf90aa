/**
 * Foreign messages of one connection on their way to frames: decoded by the adapter of the feed's format, checked like
 * native frames, and numbered. A message may complete no frame or several, and a frame may need several messages.
 * Invariant: the whole part of a frame's number is a message all of whose data is in frames up to this one. So whatever
 * of it is stored when the power fails, the client sends on with the first message that is not wholly there, a fresh
 * decoder makes the same frames of it, and those that are stored are recognised.
 */
import type { Decoded, Decoder, Format, MessageProblem, Part, Stamp } from '../../../adapters/kit/adapter.js';
import { Fault, fault, show } from '../../wire/fault.js';
import type { Role } from '../../wire/feed.js';
import {
  checkFrame,
  checkReports,
  type FrameRules,
  type SkippedObject,
  TIME_MAX_SECONDS,
} from '../../wire/frame-check.js';
import type { FeedPart } from '../../wire/objects.js';
import { jumpFault, SEQ_JUMP_MAX } from './feed-queue.js';

/** The frames that came of a message. */
export interface ForeignFrames {
  /** frames to be stored, with their numbers */
  parts: FeedPart[];
  /** objects that were left out */
  skipped: SkippedObject[];
  /** first mistake; the message is used up */
  fault: Fault | null;
  /** everything up to this number is emitted, but for what is held */
  upTo: number;
}

export class ForeignMessages {
  #decoder: Decoder;
  /** number of the last frame emitted; a fraction within a message */
  #emittedSeq: number;
  /** number of the last message decoded */
  #lastSeq: number;
  #held = false;

  constructor(
    readonly format: Format,
    readonly role: Role,
    readonly rules: FrameRules,
    /** a frame must need fewer messages than this: or the client would wait for an ack, and the server for the rest */
    readonly creditFrames: number,
    /** number of the last frame that came before this connection */
    lastSeq: number,
  ) {
    this.#decoder = format.decoder(role);
    this.#emittedSeq = lastSeq;
    this.#lastSeq = Math.floor(lastSeq);
  }

  /** Whether a frame waits for more messages. */
  get held(): boolean {
    return this.#held;
  }

  /** Decodes a message in its envelope; null when its number came before. */
  decode(raw: unknown): ForeignFrames | null {
    const envelope = checkEnvelope(raw);
    if (envelope instanceof Fault) return this.#refused(envelope);
    const { seq, message, stamp } = envelope;
    if (seq - this.#lastSeq > SEQ_JUMP_MAX) return this.#refused(jumpFault(seq, this.#lastSeq));
    if (seq <= this.#lastSeq) return null;
    const before = this.#lastSeq;
    this.#lastSeq = seq;
    const decoded = this.#decode(seq, message, stamp);
    this.#held = decoded.held;
    // while nothing comes out, everything since the last frame is held
    const heldFrom = decoded.parts.length > 0 ? before : Math.floor(this.#emittedSeq);
    const frames = this.#number(decoded, decoded.held ? heldFrom : seq);
    if (this.#held && seq - Math.floor(this.#emittedSeq) >= this.creditFrames) return this.#tooLong(seq);
    return frames;
  }

  #decode(seq: number, message: unknown, stamp: Stamp): Decoded {
    try {
      return this.#decoder.decode(message, stamp);
    } catch (error) {
      // nobody knows what it has left behind
      this.#startAfter(seq);
      throw error;
    }
  }

  /** Forgets what is held; the next message starts a frame. */
  #startAfter(seq: number): void {
    this.#decoder = this.format.decoder(this.role);
    this.#held = false;
    this.#emittedSeq = seq;
  }

  /** Emits what is held. */
  flush(): ForeignFrames {
    const decoded = this.#decoder.flush();
    this.#held = decoded.held;
    return this.#number(decoded, this.#lastSeq);
  }

  #number(decoded: Decoded, upTo: number): ForeignFrames {
    const frames: ForeignFrames = { parts: [], skipped: [], fault: null, upTo };
    const good = this.#checked(decoded, frames);
    // what is held keeps the last whole number: the frames before it lie between two of them
    const count = this.#held ? good.length + 1 : good.length;
    const from = this.#held ? Math.max(upTo, this.#emittedSeq) : this.#emittedSeq;
    const room = Math.floor(from) + 1 - from;
    good.forEach((part, n) => {
      part.seq = n + 1 < count ? from + (room * (n + 1)) / count : upTo;
    });
    this.#emittedSeq = Math.max(this.#emittedSeq, good.at(-1)?.seq ?? 0, upTo);
    frames.parts = good;
    return frames;
  }

  #checked(decoded: Decoded, frames: ForeignFrames): FeedPart[] {
    const [problem] = decoded.problems;
    if (problem) frames.fault = this.#faultOf(problem, decoded.problems.length);
    return decoded.parts.flatMap((part) => {
      const checked = this.#check(part, frames.skipped);
      if (!(checked instanceof Fault)) return [checked];
      frames.fault ??= numbered(checked, this.#lastSeq);
      return [];
    });
  }

  #check(part: Part, skipped: SkippedObject[]): FeedPart | Fault {
    if (part.reports) return checkReports({ seq: 1, reports: part.objects }, this.rules, skipped);
    return checkFrame({ ...part, seq: 1 }, this.rules, skipped);
  }

  #faultOf({ path, value, message, code }: MessageProblem, count: number): Fault {
    const place = path === '' ? 'message' : /^\d/.test(path) ? `message:${path}` : `message${dotted(path)}`;
    const more = count > 1 ? ` (and ${count - 1} more mistakes)` : '';
    const text = `${place} ${message}${more}`;
    return new Fault(code ?? 'frame_invalid', place, text, show(value), this.#lastSeq);
  }

  #refused(envelope: Fault): ForeignFrames {
    // with a number of its own it is used up, without one nothing is known to be
    const { seq } = envelope;
    if (seq !== undefined && seq > this.#lastSeq && seq - this.#lastSeq <= SEQ_JUMP_MAX) this.#lastSeq = seq;
    const upTo = seq === undefined || this.#held ? Math.floor(this.#emittedSeq) : this.#lastSeq;
    if (!this.#held) this.#emittedSeq = Math.max(this.#emittedSeq, upTo);
    return { parts: [], skipped: [], fault: envelope, upTo };
  }

  #tooLong(seq: number): ForeignFrames {
    this.#startAfter(seq);
    const message = `a frame is spread over ${this.creditFrames} messages or more; put more of it into one message, or raise limits.creditFrames (now ${this.creditFrames})`;
    const fault = new Fault('frame_unfinished', 'message', message, undefined, seq);
    return { parts: [], skipped: [], fault, upTo: seq };
  }
}

const dotted = (path: string) => (path.startsWith('[') ? path : `.${path}`);
const numbered = ({ code, path, message, value }: Fault, seq: number) => new Fault(code, path, message, value, seq);

interface Envelope {
  seq: number;
  message: unknown;
  stamp: Stamp;
}

function checkEnvelope(raw: unknown): Envelope | Fault {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw))
    return fault('message_invalid', '', raw, 'a message is wrapped in an object with seq and message');
  const { seq, message, k, t } = raw as Record<string, unknown>;
  if (!Number.isSafeInteger(seq) || (seq as number) < 1)
    return fault('message_invalid', 'seq', seq, 'number your messages 1, 2, 3, ... from nextSeq of the welcome');
  const wrong = envelopeFault(raw as Record<string, unknown>);
  return wrong ? numbered(wrong, seq as number) : { seq: seq as number, message, stamp: { k, t } as Stamp };
}

function envelopeFault(raw: Record<string, unknown>): Fault | undefined {
  const { message, k, t } = raw;
  if (message === undefined)
    return fault('message_invalid', 'message', message, 'give the message of the format: JSON, or text');
  if (k !== undefined && (!Number.isSafeInteger(k) || (k as number) < 0))
    return fault('message_invalid', 'k', k, 'a frame number is a whole number from 0');
  if (t !== undefined && !(typeof t === 'number' && t >= 0 && t <= TIME_MAX_SECONDS))
    return fault('message_invalid', 't', t, 'a time is in seconds (not milliseconds), from 0');
  for (const key in raw)
    if (!ENVELOPE.has(key))
      return fault('message_invalid', key.slice(0, 60), raw[key], 'only type, seq, k, t and message belong here');
  return undefined;
}

const ENVELOPE: ReadonlySet<string> = new Set(['type', 'seq', 'k', 't', 'message']);
