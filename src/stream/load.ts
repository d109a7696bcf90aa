/**
 * How much work the solves of one stream need, and whether that makes it heavy: too much for the thread that serves the
 * sockets. Once heavy, always heavy. Work is counted, not timed, so a busy machine makes no stream heavy, and a replay
 * decides as the first run did. A part with so many objects that already looking at all pairs takes long makes it heavy
 * before it is applied. Where a stream runs changes nothing about what comes of it.
 */

/** objects of a part: 2,000 of each feed on one spot kept the sockets waiting for 5.8 s, 200 of them for 0.7 s */
const LARGE_OBJECTS = 128;

export class Load {
  #heavy: boolean;

  constructor(
    /** milliseconds of work: a solve that needs as much makes the stream heavy; absent: nothing does */
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

  /** A solve needed so much work. */
  add(workMs: number): void {
    if (this.longMs !== undefined && workMs >= this.longMs) this.#heavy = true;
  }
}
