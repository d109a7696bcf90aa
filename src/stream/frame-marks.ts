/**
 * The numbers and times of the frames in a window, oldest first. Two plain lists of numbers: an object for each of the
 * frames of each series would take four times as much.
 */
import type { FrameMark } from '../wire/events.js';

export class FrameMarks {
  readonly #ks: number[] = [];
  /** NaN for frames without a time; no list while none has one */
  #ts: number[] | null = null;

  constructor(
    /** frames that a window has */
    private readonly most: number,
    marks: readonly FrameMark[] = [],
  ) {
    for (const mark of marks) this.push(mark);
  }

  get length(): number {
    return this.#ks.length;
  }

  /** Adds the newest; the oldest goes where there are too many. */
  push({ k, t }: FrameMark): void {
    if (t !== undefined) this.#ts ??= this.#ks.map(() => Number.NaN);
    this.#ks.push(k);
    this.#ts?.push(t ?? Number.NaN);
    if (this.length <= this.most) return;
    this.#ks.shift();
    this.#ts?.shift();
  }

  at(n: number): FrameMark {
    const k = this.#ks[n];
    const t = this.#ts === null ? Number.NaN : this.#ts[n];
    return Number.isNaN(t) ? { k } : { k, t };
  }

  /** Null while there is none. */
  get newest(): FrameMark | null {
    return this.length === 0 ? null : this.at(this.length - 1);
  }

  toJSON(): FrameMark[] {
    return this.#ks.map((_, n) => this.at(n));
  }
}
