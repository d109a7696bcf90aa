/**
 * What the log holds: every input that changes the state of a stream, in the order in which it took effect. The state
 * of a stream is a function of its records and of nothing else. Frame parts, the hot path, are binary (about 3
 * microseconds for 20 boxes, a seventh of JSON): strings are two bytes of length and UTF-8, numbers are doubles,
 * little-endian, or hundredths in four bytes where that is the very same number. The rare kinds are JSON. What is read
 * equals what was written.
 */

import type { Role } from '../wire/feed.js';
import { type FeedPart, NO_OBJECTS, type PackedList, putExtra } from '../wire/objects.js';

interface Common {
  stream: string;
  /** when it took effect, epoch milliseconds */
  atMs: number;
}

/**
 * Something a feed did. `epoch` is that of its last `open`, in logs that several processes append to: such a record may
 * be stored twice, and late.
 */
interface OfFeed extends Common {
  role: Role;
  tracker: string | null;
  epoch?: number;
}

/** One feed's objects at one step, as they came; `atMs` is the time of arrival. */
export interface PartRecord extends OfFeed {
  kind: 'part';
  part: FeedPart;
}

/** Whose part it is. */
export type PartHead = Pick<PartRecord, 'kind' | 'stream' | 'role' | 'tracker'>;

/** A feed said hello. `settings` come with the first feed of a stream. */
export interface OpenRecord extends OfFeed {
  kind: 'open';
  settings?: unknown;
}

/** The configuration of a stream changed while the evaluator was down. */
export interface ConfigureRecord extends Common {
  kind: 'configure';
  settings: unknown;
}

/** A feed is finished. */
export interface EndRecord extends OfFeed {
  kind: 'end';
}

/** The connection of a feed is gone, and it did not say that this was the end. */
export interface CutRecord extends OfFeed {
  kind: 'cut';
  /** with `epoch`: the last part before it; a feed that is past it has come back since */
  seq?: number;
}

/** Time passed without input, and something was due; or the stream has another share of a thread from now on. */
export interface TickRecord extends Common {
  kind: 'tick';
  share?: number;
}

/** The evaluator came back; the time it was away counts for nobody. It was away since the last record unless said. */
export interface ResumeRecord extends Common {
  kind: 'resume';
  awayMs?: number;
}

/** A tracker, or with null the whole stream, was idle for too long and is forgotten. */
export interface RetireRecord extends Common {
  kind: 'retire';
  tracker: string | null;
  /** whether it is still idle is looked at again when this is applied: others append too */
  ifIdle?: true;
}

export type LogRecord =
  | PartRecord
  | OpenRecord
  | ConfigureRecord
  | EndRecord
  | TickRecord
  | ResumeRecord
  | RetireRecord
  | CutRecord;

const KINDS = ['part', 'open', 'configure', 'end', 'tick', 'resume', 'retire', 'cut'] as const;

const HAS_K = 1;
const HAS_T = 2;
const IS_REFERENCE = 4;
const IS_REPORTS = 8;
const HAS_IGNORE = 16;
const HAS_EPOCH = 32;

const HAS_BOX = 1;
const HAS_CLASS = 2;
const HAS_CONFIDENCE = 4;
/** coordinates are in hundredths, four bytes each */
const IS_COMPACT = 8;
const HAS_TIME = 16;
const HAS_VELOCITY = 32;
const IS_ENDED = 64;
const IS_IGNORED = 128;
const HUNDREDTHS_MAX = 2 ** 31 - 1;

/** half a surrogate pair */
const LONE_SURROGATE = /\p{Surrogate}/u;
/** set in the length of a string */
const IS_UTF16 = 0x8000;

/** Appends records to a buffer that grows as needed. */
export class RecordWriter {
  #bytes: Buffer;
  #view: DataView;
  #length = 0;

  constructor(capacityBytes = 1 << 16) {
    this.#bytes = Buffer.allocUnsafeSlow(capacityBytes);
    this.#view = viewOf(this.#bytes);
  }

  get length(): number {
    return this.#length;
  }

  /** Bytes that it has room for. */
  get capacity(): number {
    return this.#bytes.length;
  }

  /** Forgets everything after the first `length` bytes. */
  truncate(length: number): void {
    this.#reserve(length - this.#length);
    this.#length = length;
  }

  /** What was written; valid until the next call. */
  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Appends one record, preceded by its length in four bytes. */
  write(record: LogRecord): void {
    const start = this.#length;
    this.#reserve(4 + 1 + 8);
    this.#bytes[start + 4] = KINDS.indexOf(record.kind);
    this.#length = this.#bytes.writeDoubleLE(record.atMs, start + 5);
    this.#string(record.stream);
    if (record.kind === 'part') this.#part(record);
    else this.#json(record);
    this.#bytes.writeUInt32LE(this.#length - start - 4, start);
  }

  #part({ role, tracker, part, epoch }: PartRecord): void {
    const { seq, k, t, objects, reports, ignore } = part;
    this.#string(tracker ?? '');
    this.#reserve(1 + 8 * 3 + 4);
    let at = this.#length;
    this.#bytes[at++] =
      (k === undefined ? 0 : HAS_K) |
      (t === undefined ? 0 : HAS_T) |
      (role === 'reference' ? IS_REFERENCE : 0) |
      (reports ? IS_REPORTS : 0) |
      (ignore ? HAS_IGNORE : 0) |
      (epoch === undefined ? 0 : HAS_EPOCH);
    at = this.#bytes.writeDoubleLE(seq, at);
    at = this.#bytes.writeDoubleLE(k ?? 0, at);
    at = this.#bytes.writeDoubleLE(t ?? 0, at);
    this.#length = this.#bytes.writeUInt32LE(objects.ids.length, at);
    this.#objects(objects);
    if (ignore) this.#longText(JSON.stringify(ignore));
    if (epoch !== undefined) this.#number(epoch);
  }

  /** Its length in four bytes, and UTF-8. */
  #longText(text: string): void {
    this.#reserve(4 + Buffer.byteLength(text));
    const size = this.#bytes.write(text, this.#length + 4, 'utf8');
    this.#length = this.#bytes.writeUInt32LE(size, this.#length) + size;
  }

  #objects({ shape, stride, ids, coordinates, classes, confidences, ...extras }: PackedList): void {
    const { times, velocities, ignored, ended } = extras;
    for (let n = 0; n < ids.length; n++) {
      const kind = classes?.[n] ?? null;
      const confidence = confidences?.[n] ?? null;
      const t = times?.[n] ?? null;
      const velocity = velocities?.[n] ?? null;
      const flags =
        (shape === 'box' ? HAS_BOX : 0) |
        (kind === null ? 0 : HAS_CLASS) |
        (confidence === null ? 0 : HAS_CONFIDENCE) |
        (t === null ? 0 : HAS_TIME) |
        (velocity === null ? 0 : HAS_VELOCITY) |
        (ended?.[n] ? IS_ENDED : 0) |
        (ignored?.[n] ? IS_IGNORED : 0);
      this.#string(ids[n]);
      this.#coordinates(coordinates, n * stride, stride, flags);
      if (confidence !== null) this.#number(confidence);
      if (kind !== null) this.#string(kind);
      if (t !== null) this.#number(t);
      if (velocity !== null) this.#numbers(velocity);
    }
  }

  /** Their count in one byte, and the numbers. */
  #numbers(list: readonly number[]): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = list.length;
    for (const value of list) this.#number(value);
  }

  /** Flags, count, and the numbers from `first` on. */
  #coordinates(list: readonly number[], first: number, count: number, flags: number): void {
    this.#reserve(2 + count * 8);
    const view = this.#view;
    const start = this.#length;
    let at = start + 2;
    let compact = IS_COMPACT;
    for (let n = first; n < first + count; n++, at += 4) {
      const value = list[n];
      const hundredths = Math.round(value * 100);
      if (hundredths / 100 !== value || Math.abs(hundredths) > HUNDREDTHS_MAX || Object.is(value, -0)) {
        compact = 0;
        break;
      }
      view.setInt32(at, hundredths, true);
    }
    if (compact === 0) {
      at = start + 2;
      for (let n = first; n < first + count; n++, at += 8) view.setFloat64(at, list[n], true);
    }
    this.#bytes[start] = flags | compact;
    this.#bytes[start + 1] = count;
    this.#length = at;
  }

  #number(value: number): void {
    this.#reserve(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
  }

  #json({ kind: _kind, atMs: _atMs, stream: _stream, ...rest }: Exclude<LogRecord, PartRecord>): void {
    const text = JSON.stringify(rest);
    const size = Buffer.byteLength(text);
    this.#reserve(size);
    this.#length += this.#bytes.write(text, this.#length, 'utf8');
  }

  #string(text: string): void {
    this.#reserve(2 + text.length * 3);
    const bytes = this.#bytes;
    const start = this.#length;
    let at = start + 2;
    for (let n = 0; n < text.length; n++) {
      const code = text.charCodeAt(n);
      if (code > 127) {
        this.#wideString(text);
        return;
      }
      bytes[at++] = code;
    }
    bytes.writeUInt16LE(at - start - 2, start);
    this.#length = at;
  }

  /** UTF-8, or UTF-16 for what UTF-8 cannot hold: half a surrogate pair must come back as it was. */
  #wideString(text: string): void {
    const encoding = LONE_SURROGATE.test(text) ? 'utf16le' : 'utf8';
    const size = this.#bytes.write(text, this.#length + 2, encoding);
    this.#bytes.writeUInt16LE(encoding === 'utf8' ? size : size | IS_UTF16, this.#length);
    this.#length += 2 + size;
  }

  #reserve(size: number): void {
    if (this.#length + size <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#length + size));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
    this.#view = viewOf(larger);
  }
}

const viewOf = (bytes: Buffer) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

/** Reads records one after the other; copies what it returns. */
export class RecordReader {
  #at: number;

  constructor(
    readonly bytes: Buffer,
    start = 0,
  ) {
    this.#at = start;
  }

  get done(): boolean {
    return this.#at >= this.bytes.length;
  }

  read(): LogRecord {
    const size = this.bytes.readUInt32LE(this.#at);
    const end = this.#at + 4 + size;
    const kind = KINDS[this.bytes[this.#at + 4]];
    const atMs = this.bytes.readDoubleLE(this.#at + 5);
    this.#at += 13;
    const stream = this.#string();
    if (kind === 'part') return { kind, stream, atMs, ...this.#part() };
    const rest = JSON.parse(this.bytes.toString('utf8', this.#at, end));
    this.#at = end;
    return { kind, stream, atMs, ...rest };
  }

  /** The next record when it is of this stream; null otherwise, at the cost of a glance. */
  readOf(stream: string): LogRecord | null {
    if (this.head().stream === stream) return this.read();
    this.skip();
    return null;
  }

  /** Whom the next record is about, at the cost of a glance; it is still to be read, or skipped. */
  head(): PartHead | { kind: Exclude<LogRecord['kind'], 'part'>; stream: string } {
    const start = this.#at;
    const kind = KINDS[this.bytes[start + 4]];
    this.#at += 13;
    const stream = this.#string();
    const tracker = kind === 'part' ? this.#string() : '';
    const isReference = (this.bytes[this.#at] & IS_REFERENCE) !== 0;
    this.#at = start;
    if (kind !== 'part') return { kind, stream };
    return isReference
      ? { kind, stream, role: 'reference', tracker: tracker || null }
      : { kind, stream, role: 'tracker', tracker };
  }

  skip(): void {
    this.#at += 4 + this.bytes.readUInt32LE(this.#at);
  }

  #part(): Omit<PartRecord, 'kind' | 'stream' | 'atMs'> {
    const tracker = this.#string();
    const flags = this.bytes[this.#at++];
    const seq = this.#number();
    const k = this.#number();
    const t = this.#number();
    const part: FeedPart = { seq, objects: this.#objects() };
    if (flags & HAS_K) part.k = k;
    if (flags & HAS_T) part.t = t;
    if (flags & IS_REPORTS) part.reports = true;
    if (flags & HAS_IGNORE) part.ignore = JSON.parse(this.#longText());
    const own: Omit<PartRecord, 'kind' | 'stream' | 'atMs'> =
      flags & IS_REFERENCE ? { role: 'reference', tracker: tracker || null, part } : { role: 'tracker', tracker, part };
    if (flags & HAS_EPOCH) own.epoch = this.#number();
    return own;
  }

  #objects(): PackedList {
    const count = this.bytes.readUInt32LE(this.#at);
    this.#at += 4;
    if (count === 0) return NO_OBJECTS;
    const ids: string[] = new Array(count);
    const coordinates: number[] = [];
    const list: PackedList = { shape: 'point', stride: 0, ids, coordinates };
    for (let n = 0; n < count; n++) {
      ids[n] = this.#string();
      const flags = this.bytes[this.#at++];
      // the same for all objects of a part
      list.shape = flags & HAS_BOX ? 'box' : 'point';
      list.stride = this.bytes[this.#at++];
      if (flags & IS_COMPACT) for (let d = 0; d < list.stride; d++) coordinates.push(this.#hundredths());
      else for (let d = 0; d < list.stride; d++) coordinates.push(this.#number());
      if (flags & HAS_CONFIDENCE) {
        list.confidences ??= new Array<null>(count).fill(null);
        list.confidences[n] = this.#number();
      }
      if (flags & HAS_CLASS) {
        list.classes ??= new Array<null>(count).fill(null);
        list.classes[n] = this.#string();
      }
      if (flags & (HAS_TIME | HAS_VELOCITY | IS_ENDED | IS_IGNORED)) this.#extras(list, n, flags);
    }
    return list;
  }

  #extras(list: PackedList, n: number, flags: number): void {
    if (flags & HAS_TIME) putExtra(list, 'times', n, this.#number());
    if (flags & HAS_VELOCITY) {
      const axes = this.bytes[this.#at++];
      putExtra(
        list,
        'velocities',
        n,
        Array.from({ length: axes }, () => this.#number()),
      );
    }
    if (flags & IS_ENDED) putExtra(list, 'ended', n, true);
    if (flags & IS_IGNORED) putExtra(list, 'ignored', n, true);
  }

  #longText(): string {
    const size = this.bytes.readUInt32LE(this.#at);
    this.#at += 4 + size;
    return this.bytes.toString('utf8', this.#at - size, this.#at);
  }

  #hundredths(): number {
    this.#at += 4;
    return this.bytes.readInt32LE(this.#at - 4) / 100;
  }

  #number(): number {
    const value = this.bytes.readDoubleLE(this.#at);
    this.#at += 8;
    return value;
  }

  #string(): string {
    const head = this.bytes.readUInt16LE(this.#at);
    const size = head & ~IS_UTF16;
    this.#at += 2 + size;
    return this.bytes.toString(head & IS_UTF16 ? 'utf16le' : 'utf8', this.#at - size, this.#at);
  }
}
