/**
 * In which frames the edges of a window are pairs, and which. All edges share one piece of memory: a list of its own
 * would take each of them 200 bytes, which is more than what stands in it. It is bounded by what the edges hold: when
 * much of it is free, whoever knows the edges moves them to a new one.
 */

/** rows that an edge has at first; a power of two, as all of its rooms */
export const FIRST_ROWS = 4;
/** rows of a window that is new, and those from which on it is worth moving */
const ROWS_MIN = 32;
const MOVED_MIN = 256;
/** they are moved when there are so many for one in use: edges that have grown leave as many as they have */
const SPARSE = 1.5;

type Bytes = Uint8Array | Uint16Array | Uint32Array;

export class EdgeRows {
  /** of each row the pair in its frame */
  pairs: Bytes;
  /** of each row its frame's number, as many bits of it as the length of the window needs */
  private numbers: Bytes;
  private readonly numberMask: number;
  private used = 0;
  private live = 0;
  /** by the logarithm of their size: rooms that were given back */
  private readonly freed: number[][] = [];

  /** For edges whose frames are always less than `span` apart. */
  constructor(
    private readonly span: number,
    rows = ROWS_MIN,
  ) {
    const List = listFor(span);
    this.pairs = new Uint8Array(rows);
    this.numbers = new List(rows);
    this.numberMask = 2 ** (8 * List.BYTES_PER_ELEMENT) - 1;
  }

  /** The frame of a row, of an edge that begins with frame `first`. */
  numberAt(row: number, first: number): number {
    return first + (((this.numbers[row] - first) & this.numberMask) >>> 0);
  }

  set(row: number, number: number, pair: number): void {
    if (pair > 255) this.widen(pair);
    // typed arrays keep the low bits
    this.numbers[row] = number;
    this.pairs[row] = pair;
  }

  private widen(pair: number): void {
    const { pairs } = this;
    if (pair < 2 ** (8 * pairs.BYTES_PER_ELEMENT)) return;
    this.pairs = new (listFor(pair + 1))(pairs.length);
    this.pairs.set(pairs);
  }

  /** The first of so many rows, a power of two. */
  take(count: number): number {
    this.live += count;
    const room = this.freed[Math.log2(count)]?.pop();
    if (room !== undefined) return room;
    const from = this.used;
    this.used += count;
    if (this.used > this.pairs.length) this.grow();
    return from;
  }

  free(from: number, count: number): void {
    this.live -= count;
    const size = Math.log2(count);
    while (this.freed.length <= size) this.freed.push([]);
    this.freed[size].push(from);
  }

  private grow(): void {
    const { pairs, numbers } = this;
    const length = Math.max(this.used, Math.ceil(1.25 * pairs.length));
    this.pairs = new (pairs.constructor as Uint8ArrayConstructor)(length);
    this.pairs.set(pairs);
    this.numbers = new (numbers.constructor as Uint8ArrayConstructor)(length);
    this.numbers.set(numbers);
  }

  /** Rows to move to, where these are mostly free; null where they are not. */
  smaller(): EdgeRows | null {
    return this.used < MOVED_MIN || this.used < SPARSE * this.live ? null : new EdgeRows(this.span, this.live);
  }
}

const listFor = (span: number) => (span <= 2 ** 8 ? Uint8Array : span <= 2 ** 16 ? Uint16Array : Uint32Array);
