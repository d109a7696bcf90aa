/**
 * Reads frames straight from the bytes of a message: what `JSON.parse` and `checkFrame` would give, packed, in a
 * fraction of their time, because nothing is built that nobody wants and ids that came before are not made again.
 * Invariant: it answers only for messages that are certainly right. Anything else, a mistake or merely something
 * unusual (an escape, a letter beyond ASCII, a repeated key), is null, and the general way decides and explains.
 */
import {
  BOX_SIDE_MIN,
  COORDINATE_MAX,
  type FrameRules,
  POINT_DIMENSIONS_MAX,
  TIME_MAX_SECONDS,
} from '../../wire/frame-check.js';
import type { FeedPart, PackedList } from '../../wire/objects.js';

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const PLUS = 0x2b;
const ZERO = 0x30;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const EXPONENT = 0x65;
const SPACE = 0x20;
const DELETE = 0x7f;
const LOWER_CASE = 0x20;

/** A whole number of at most 15 digits and a power of ten up to 22 are exact, so their quotient is rounded once. */
const EXACT_DIGITS = 15;
/** as many as the shortest text of a double ever needs, and some */
const LONG_DIGITS = 19;
/** whole numbers of so many digits are exact, and below COORDINATE_MAX */
const PLAIN_DIGITS = 12;
const POWERS = Float64Array.from({ length: 23 }, (_, n) => Number(`1e${n}`));

/** Ids are remembered in a table of this many places, the last one in each; a power of two. */
const PLACES = 1 << 14;
const REMEMBERED_LENGTH = 64;
/** Longer numbers and texts go the general way: all bytes of a slice are arguments of one call. */
const SLICE_MAX = 1024;
const NOWHERE = -1;

/** Thrown inside, one object for all: this message is not for the scanner. */
const UNUSUAL = new Error('unusual');

const bytesOf = (text: string): Uint8Array => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
const KEYS = {
  type: bytesOf('type'),
  frame: bytesOf('frame'),
  frames: bytesOf('frames'),
  seq: bytesOf('seq'),
  k: bytesOf('k'),
  t: bytesOf('t'),
  objects: bytesOf('objects'),
  id: bytesOf('id'),
  box: bytesOf('box'),
  point: bytesOf('point'),
  class: bytesOf('class'),
  confidence: bytesOf('confidence'),
};
const ID_START = bytesOf('"id":');
const BOX_START = bytesOf(',"box":');

export class FrameScanner {
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  #rules!: FrameRules;
  #dimensions = 0;
  readonly #ids: string[] = new Array(PLACES).fill('');
  /** the frame in which an id came last */
  readonly #stamps = new Uint32Array(PLACES);
  #stamp = 0;
  /** an id of this frame was pushed out of the table, so the table does not know whether one came twice */
  #crowded = false;
  readonly #seen = new Set<string>();
  // the objects of the frame being read, behind them those of earlier frames; what is handed on is cut to measure
  readonly #frameIds: string[] = [];
  /** where each of these ids is in the table */
  readonly #framePlaces: number[] = [];
  /** the place at which the next id stood in the frame before, when nothing has changed */
  #expected = 0;
  /** never holds anything but numbers with a fraction at first, so that it and its copies are flat in memory */
  readonly #coordinates: number[] = [0.5];
  #used = 0;
  readonly #classes: Array<string | null> = [];
  readonly #confidences: Array<number | null> = [];

  /** The frames of a message of type frame or frames; null when it must be read the general way. */
  scan(bytes: Uint8Array, rules: FrameRules): FeedPart[] | null {
    this.#bytes = bytes;
    this.#at = 0;
    this.#rules = rules;
    this.#dimensions = rules.dimensions;
    try {
      return this.#message();
    } catch (error) {
      if (error !== UNUSUAL) throw error;
      return null;
    }
  }

  #message(): FeedPart[] {
    this.#expect(OPEN_OBJECT);
    this.#expectKey(KEYS.type);
    this.#expect(QUOTE);
    const single = this.#bytes[this.#at + KEYS.frame.length] === QUOTE;
    this.#word(single ? KEYS.frame : KEYS.frames);
    const frames: FeedPart[] = [];
    if (single) {
      frames.push(this.#frame(true));
    } else {
      this.#expect(COMMA);
      this.#expectKey(KEYS.frames);
      this.#expect(OPEN_ARRAY);
      do {
        this.#expect(OPEN_OBJECT);
        frames.push(this.#frame(false));
      } while (this.#another(CLOSE_ARRAY));
      this.#expect(CLOSE_OBJECT);
    }
    this.#space();
    if (this.#at !== this.#bytes.length) throw UNUSUAL;
    return frames;
  }

  /** The keys of a frame up to its closing brace; `typed`: its type has been read. */
  #frame(typed: boolean): FeedPart {
    let seq = -1;
    let k = -1;
    let t = -1;
    let objects: PackedList | null = null;
    let more = !typed || this.#another(CLOSE_OBJECT);
    while (more) {
      this.#expect(QUOTE);
      switch (this.#bytes[this.#at]) {
        case 0x73: // s
          this.#endKey(KEYS.seq, seq >= 0);
          seq = this.#whole();
          break;
        case 0x6b: // k
          this.#endKey(KEYS.k, k >= 0);
          k = this.#whole();
          break;
        case 0x74: // t
          if (this.#bytes[this.#at + 1] === QUOTE) {
            this.#endKey(KEYS.t, t >= 0);
            t = this.#number();
            if (!(t >= 0 && t <= TIME_MAX_SECONDS)) throw UNUSUAL;
          } else {
            this.#endKey(KEYS.type, typed);
            typed = true;
            this.#expect(QUOTE);
            this.#word(KEYS.frame);
          }
          break;
        case 0x6f: // o
          this.#endKey(KEYS.objects, objects !== null);
          objects = this.#objects();
          break;
        default:
          throw UNUSUAL;
      }
      more = this.#another(CLOSE_OBJECT);
    }
    if (seq < 1 || objects === null || (k < 0 && t < 0)) throw UNUSUAL;
    const part: FeedPart = { seq, objects };
    if (k >= 0) part.k = k;
    if (t >= 0) part.t = t;
    return part;
  }

  #objects(): PackedList {
    this.#stamp = (this.#stamp + 1) >>> 0;
    this.#crowded = false;
    this.#used = 0;
    this.#expected = 0;
    if (this.#classes.length > 0) this.#classes.length = 0;
    if (this.#confidences.length > 0) this.#confidences.length = 0;
    let count = 0;
    this.#expect(OPEN_ARRAY);
    this.#space();
    if (this.#bytes[this.#at] === CLOSE_ARRAY) this.#at++;
    else {
      do {
        if (count === this.#rules.objectsMax) throw UNUSUAL;
        this.#object(count++);
      } while (this.#another(CLOSE_ARRAY));
    }
    const list: PackedList = {
      shape: this.#rules.shape,
      stride: count === 0 ? 0 : this.#used / count,
      ids: this.#frameIds.slice(0, count),
      coordinates: this.#coordinates.slice(0, this.#used),
    };
    if (this.#classes.length > 0) list.classes = filled(this.#classes, count).slice();
    if (this.#confidences.length > 0) list.confidences = filled(this.#confidences, count).slice();
    if (this.#crowded) this.#requireUnique(list.ids);
    return list;
  }

  #object(n: number): void {
    let id: string | null = null;
    let placed = false;
    let classed = false;
    let confident = false;
    const isBox = this.#rules.shape === 'box';
    this.#expect(OPEN_OBJECT);
    // as most write it: the id, the box, and nothing else
    if (this.#accepts(ID_START)) {
      id = this.#id(n);
      if (isBox && this.#accepts(BOX_START)) {
        this.#box();
        placed = true;
      }
    }
    let more = id === null || this.#another(CLOSE_OBJECT);
    for (; more; more = this.#another(CLOSE_OBJECT)) {
      this.#expect(QUOTE);
      switch (this.#bytes[this.#at]) {
        case 0x69: // i
          this.#endKey(KEYS.id, id !== null);
          id = this.#id(n);
          break;
        case 0x62: // b
          this.#endKey(KEYS.box, placed || !isBox);
          placed = true;
          this.#box();
          break;
        case 0x70: // p
          this.#endKey(KEYS.point, placed || isBox);
          placed = true;
          this.#point();
          break;
        case 0x63: // c
          if (this.#bytes[this.#at + 1] === 0x6c) {
            this.#endKey(KEYS.class, classed);
            classed = true;
            filled(this.#classes, n).push(this.#text());
          } else {
            this.#endKey(KEYS.confidence, confident);
            confident = true;
            filled(this.#confidences, n).push(this.#number());
          }
          break;
        default:
          throw UNUSUAL;
      }
    }
    if (id === null || !placed) throw UNUSUAL;
  }

  /** Reads past these bytes, when they are next. */
  #accepts(word: Uint8Array): boolean {
    const bytes = this.#bytes;
    const at = this.#at;
    for (let n = 0; n < word.length; n++) if (bytes[at + n] !== word[n]) return false;
    this.#at = at + word.length;
    return true;
  }

  #box(): void {
    const first = this.#used;
    this.#expect(OPEN_ARRAY);
    this.#coordinate();
    this.#expect(COMMA);
    this.#coordinate();
    this.#expect(COMMA);
    this.#coordinate();
    this.#expect(COMMA);
    this.#coordinate();
    this.#expect(CLOSE_ARRAY);
    if (this.#coordinates[first + 2] < BOX_SIDE_MIN || this.#coordinates[first + 3] < BOX_SIDE_MIN) throw UNUSUAL;
  }

  #point(): void {
    const first = this.#used;
    this.#expect(OPEN_ARRAY);
    do this.#coordinate();
    while (this.#another(CLOSE_ARRAY));
    const length = this.#used - first;
    this.#dimensions ||= length;
    if (length !== this.#dimensions || length > POINT_DIMENSIONS_MAX) throw UNUSUAL;
    const list = this.#coordinates;
    const onEarth = (length === 2 || length === 3) && Math.abs(list[first]) <= 90 && Math.abs(list[first + 1]) <= 360;
    if (this.#rules.geodesic && !onEarth) throw UNUSUAL;
  }

  /** The next coordinate: most are a few digits with a fraction, read here without making a boxed number of them. */
  #coordinate(): void {
    const bytes = this.#bytes;
    if (bytes[this.#at] <= SPACE) this.#space();
    let at = this.#at;
    const negative = bytes[at] === MINUS;
    if (negative) at++;
    const first = at;
    let value = 0;
    let digit = bytes[at] - ZERO;
    for (; digit >= 0 && digit <= 9; digit = bytes[++at] - ZERO) value = value * 10 + digit;
    const whole = at - first;
    let scale = 0;
    if (bytes[at] === DOT) {
      for (digit = bytes[++at] - ZERO; digit >= 0 && digit <= 9; digit = bytes[++at] - ZERO) {
        value = value * 10 + digit;
        scale++;
      }
      if (scale === 0) throw UNUSUAL;
    }
    const usual =
      whole > 0 &&
      whole + scale <= PLAIN_DIGITS &&
      (whole === 1 || bytes[first] !== ZERO) &&
      (bytes[at] | LOWER_CASE) !== EXPONENT;
    if (usual) {
      this.#at = at;
      if (scale > 0) value /= POWERS[scale];
      if (negative) value = -value;
    } else {
      value = this.#number();
      if (!(value <= COORDINATE_MAX && value >= -COORDINATE_MAX)) throw UNUSUAL;
    }
    this.#coordinates[this.#used++] = value;
  }

  #whole(): number {
    const value = this.#number();
    if (!Number.isSafeInteger(value) || value < 0 || Object.is(value, -0)) throw UNUSUAL;
    return value;
  }

  /** A number as JSON writes it, rounded as `Number` rounds. */
  #number(): number {
    this.#space();
    const bytes = this.#bytes;
    const start = this.#at;
    let at = start;
    const negative = bytes[at] === MINUS;
    if (negative) at++;
    let digit = bytes[at] - ZERO;
    if (!(digit >= 0 && digit <= 9)) throw UNUSUAL;
    let value = digit;
    let digits = digit > 0 ? 1 : 0;
    // digits beyond those that `value` holds exactly
    let rest = 0;
    at++;
    // no other digit may follow a leading zero
    if (digit > 0) {
      for (digit = bytes[at] - ZERO; digit >= 0 && digit <= 9; digit = bytes[++at] - ZERO) {
        if (digits++ < EXACT_DIGITS) value = value * 10 + digit;
        else rest = rest * 10 + digit;
      }
    }
    let scale = 0;
    if (bytes[at] === DOT) {
      const point = at;
      for (digit = bytes[++at] - ZERO; digit >= 0 && digit <= 9; digit = bytes[++at] - ZERO) {
        if (digits < EXACT_DIGITS) value = value * 10 + digit;
        else rest = rest * 10 + digit;
        if (digits > 0 || digit > 0) digits++;
      }
      scale = at - point - 1;
      if (scale === 0) throw UNUSUAL;
    }
    let size = digits <= LONG_DIGITS && scale < POWERS.length ? value : Number.NaN;
    if ((bytes[at] | LOWER_CASE) === EXPONENT) {
      size = Number.NaN;
      at++;
      if (bytes[at] === MINUS || bytes[at] === PLUS) at++;
      const first = at;
      for (digit = bytes[at] - ZERO; digit >= 0 && digit <= 9; digit = bytes[++at] - ZERO);
      if (at === first) throw UNUSUAL;
    }
    this.#at = at;
    if (digits > EXACT_DIGITS && !Number.isNaN(size)) size = longQuotient(value, rest, digits - EXACT_DIGITS, scale);
    else if (scale > 0) size /= POWERS[scale];
    if (!Number.isNaN(size)) return negative ? -size : size;
    size = Number(this.#slice(start, at));
    if (!Number.isFinite(size)) throw UNUSUAL;
    return size;
  }

  /** The id of the n-th object: the same string as last time, when it is remembered. */
  #id(n: number): string {
    this.#expect(QUOTE);
    const known = this.#idAsBefore(n);
    if (known !== null) return known;
    const bytes = this.#bytes;
    const start = this.#at;
    let at = start;
    let hash = 0x811c9dc5;
    for (let letter = bytes[at]; letter !== QUOTE; letter = bytes[++at]) {
      if (!isPlain(letter)) throw UNUSUAL;
      hash = Math.imul(hash ^ letter, 0x01000193);
    }
    this.#at = at + 1;
    const length = at - start;
    if (length === 0 || length > this.#rules.idLengthMax) throw UNUSUAL;
    if (length > REMEMBERED_LENGTH) {
      this.#crowded = true;
      return this.#register(n, this.#slice(start, at), NOWHERE);
    }
    const first = (hash ^ (hash >>> 15)) & (PLACES - 1);
    // each id has two places, so that it is rare for a frame to have more ids for them than there is room
    for (let place = first; ; place ^= 1) {
      const id = this.#ids[place];
      if (id.length === length && this.#reads(id, start)) return this.#register(n, id, place);
      if (place !== first) break;
    }
    const place = this.#stamps[first] === this.#stamp ? first ^ 1 : first;
    if (this.#stamps[place] === this.#stamp) {
      this.#crowded = true;
      this.#stamps[place] = 0;
    }
    this.#ids[place] = this.#slice(start, at);
    return this.#register(n, this.#ids[place], place);
  }

  /** Most objects stand where they stood in the frame before, or one further: null when this one does not. */
  #idAsBefore(n: number): string | null {
    const start = this.#at;
    for (let at = this.#expected; at < this.#expected + 2 && at < this.#frameIds.length; at++) {
      const id = this.#frameIds[at];
      const place = this.#framePlaces[at];
      if (!this.#reads(id, start) || this.#bytes[start + id.length] !== QUOTE) continue;
      // it may have had to give its place to another one
      if (place === NOWHERE || this.#ids[place] !== id || id.length > this.#rules.idLengthMax) return null;
      this.#expected = at + 1;
      this.#at = start + id.length + 1;
      return this.#register(n, id, place);
    }
    return null;
  }

  #register(n: number, id: string, place: number): string {
    if (place !== NOWHERE) {
      if (this.#stamps[place] === this.#stamp) throw UNUSUAL; // twice in one frame
      this.#stamps[place] = this.#stamp;
    }
    this.#frameIds[n] = id;
    this.#framePlaces[n] = place;
    return id;
  }

  #reads(text: string, start: number): boolean {
    const bytes = this.#bytes;
    for (let n = 0; n < text.length; n++) if (text.charCodeAt(n) !== bytes[start + n]) return false;
    return true;
  }

  #requireUnique(ids: string[]): void {
    this.#seen.clear();
    for (const id of ids) this.#seen.add(id);
    if (this.#seen.size < ids.length) throw UNUSUAL;
  }

  #text(): string {
    this.#expect(QUOTE);
    const start = this.#at;
    let at = start;
    while (this.#bytes[at] !== QUOTE) if (!isPlain(this.#bytes[at++])) throw UNUSUAL;
    this.#at = at + 1;
    if (at - start > this.#rules.idLengthMax) throw UNUSUAL;
    return this.#slice(start, at);
  }

  #slice(start: number, end: number): string {
    if (end - start > SLICE_MAX) throw UNUSUAL;
    return String.fromCharCode.apply(null, this.#bytes.subarray(start, end) as unknown as number[]);
  }

  /** Past white space and the given byte. */
  #expect(byte: number): void {
    if (this.#bytes[this.#at] !== byte) this.#space();
    if (this.#bytes[this.#at] !== byte) throw UNUSUAL;
    this.#at++;
  }

  /** Past a comma: true; past the closing bracket: false. */
  #another(closing: number): boolean {
    let byte = this.#bytes[this.#at];
    if (byte !== COMMA && byte !== closing) {
      this.#space();
      byte = this.#bytes[this.#at];
    }
    this.#at++;
    if (byte === COMMA) return true;
    if (byte === closing) return false;
    throw UNUSUAL;
  }

  #space(): void {
    const bytes = this.#bytes;
    let byte = bytes[this.#at];
    while (byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = bytes[++this.#at];
  }

  #expectKey(key: Uint8Array): void {
    this.#expect(QUOTE);
    this.#endKey(key, false);
  }

  /** The rest of a key after its opening quote, and the colon; a repeated key is unusual. */
  #endKey(key: Uint8Array, repeated: boolean): void {
    if (repeated) throw UNUSUAL;
    this.#word(key);
    this.#expect(COLON);
  }

  /** The rest of a string after its opening quote. */
  #word(word: Uint8Array): void {
    const bytes = this.#bytes;
    let at = this.#at;
    for (let n = 0; n < word.length; n++) if (bytes[at++] !== word[n]) throw UNUSUAL;
    if (bytes[at++] !== QUOTE) throw UNUSUAL;
    this.#at = at;
  }
}

/** The list with null for everything up to `count` that has nothing. */
function filled<T>(list: Array<T | null>, count: number): Array<T | null> {
  while (list.length < count) list.push(null);
  return list;
}

const isPlain = (letter: number): boolean => letter >= SPACE && letter < DELETE && letter !== BACKSLASH;

/**
 * (value * 10^more + rest) / 10^scale, rounded once: worked out in pairs of doubles (Dekker), to about 100 bits. NaN in
 * the rare case that these do not decide to which side to round.
 */
function longQuotient(value: number, rest: number, more: number, scale: number): number {
  const divisor = POWERS[scale];
  const product = value * POWERS[more];
  const high = product + rest;
  const low = productError(value, POWERS[more], product) + (rest - (high - product));
  const quotient = high / divisor;
  const times = quotient * divisor;
  const correction = (high - times - productError(quotient, divisor, times) + low) / divisor;
  const doubt = Math.abs(correction) * 2 ** -40 + quotient * 2 ** -98;
  const result = quotient + (correction - doubt);
  return result === quotient + (correction + doubt) ? result : Number.NaN;
}

/** What rounding took away: a * b - product, exactly. */
function productError(a: number, b: number, product: number): number {
  const aHigh = a * 134217729 - (a * 134217729 - a);
  const bHigh = b * 134217729 - (b * 134217729 - b);
  const aLow = a - aHigh;
  const bLow = b - bHigh;
  return aHigh * bHigh - product + aHigh * bLow + aLow * bHigh + aLow * bLow;
}
