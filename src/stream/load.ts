/**
 * How long the solves of one stream take, and whether that makes it heavy: too slow for the thread that serves the
 * sockets. Once heavy, always heavy. A pause of the machine now and then makes no stream heavy; a part with so many
 * objects that already looking at all pairs takes long does, before it is applied. Where a stream runs changes nothing
 * about what comes of it.
 */

/** the share of long solves is that of about so many; with few, a busy machine would make light streams heavy */
const LOAD_SOLVES = 256;
/** with a larger share of long solves than this a stream is heavy */
const LONG_SHARE = 0.1;
/** so is one with so many of them in a row */
const LONG_IN_A_ROW = 4;
/** objects of a part: 2,000 of each feed on one spot kept the sockets waiting for 5.8 s, 200 of them for 0.7 s */
const LARGE_OBJECTS = 128;

export class Load {
  #longShare = 0;
  #longInARow = 0;
  #heavy: boolean;

  constructor(
    /** milliseconds: a solve is long from here on; absent: nothing makes the stream heavy */
    readonly longMs: number | undefined,
    heavy = false,
  ) {
    this.#heavy = heavy;
  }

  get heavy(): boolean {
    return this.#heavy;
  }

  /** A part with so many objects is about to be applied. */
  expect(objects: number): void {
    if (this.longMs !== undefined && objects >= LARGE_OBJECTS) this.#heavy = true;
  }

  /** A solve took so long, and so much work; one with too much work makes the stream heavy at once. */
  add(solveMs: number, workMs: number): void {
    if (this.longMs === undefined || this.#heavy) return;
    const long = solveMs >= this.longMs ? 1 : 0;
    this.#longShare += (long - this.#longShare) / LOAD_SOLVES;
    this.#longInARow = long * (this.#longInARow + 1);
    this.#heavy = workMs > this.longMs || this.#longInARow >= LONG_IN_A_ROW || this.#longShare > LONG_SHARE;
  }
}
