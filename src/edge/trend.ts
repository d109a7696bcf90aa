/**
 * The costs of every series over its last frames, for the plots of the page: longer than the window, a fixed number of
 * figures per frame. Invariant: a series holds at most `framesMax` frames.
 */
import type { LiveEvent, ReportEvent } from '../wire/events.js';
import type { SeriesId } from '../wire/series-key.js';
import { SeriesBook, type SeriesEntry } from './series-book.js';
import type { Filter } from './subscribers.js';

const COLUMNS = ['k', 'atMs', 'distance', 'localization', 'missed', 'false', 'switch', 'exact'] as const;
type Column = (typeof COLUMNS)[number];

/**
 * Columns of equal length, oldest first: frame, time of arrival, distance and costs of the window that ends there, and
 * 1 where they are proven.
 */
export type TrendView = SeriesId & Record<Column, number[]>;

/** frames that a trend has room for at first, and by which that grows */
const ROOM = 64;
/** numbers of a row: whether costs are proven is the sign of their distance */
const WIDTH = COLUMNS.length - 1;
/** of these the first are whole numbers, told from a base */
const WHOLE = 2;
const WHOLE_MAX = 2 ** 31;
/** four bytes have hardly as many digits, and a plot needs fewer */
const DIGITS = 7;

class Trend implements SeriesEntry {
  #room = 0;
  /** two views of the same rows */
  #whole = new Int32Array(0);
  #costs = new Float32Array(0);
  /** what the whole numbers of a row are told from */
  readonly #base: [k: number, atMs: number] = [0, 0];
  /** rows written so far */
  #count = 0;

  constructor(
    readonly series: SeriesId,
    readonly framesMax: number,
  ) {}

  push({ k, receivedMs, report }: ReportEvent): void {
    const { cost, distance, exact } = report;
    const last = this.#count > 0 ? this.#wholeAt(this.#count - 1, 0) : Number.NEGATIVE_INFINITY;
    // at its end a series reports its last frame once more; one that starts again has a new trend
    if (k < last) this.#count = 0;
    else if (k === last) this.#count--;
    if (this.#count === 0) this.#setBase(k, receivedMs);
    else if (!this.#isNear(k, receivedMs)) this.#rebase(k, receivedMs);
    if (this.#count === this.#room && this.#room < this.framesMax) this.#grow();
    let at = (this.#count % this.#room) * WIDTH;
    this.#whole[at++] = k - this.#base[0];
    this.#whole[at++] = receivedMs - this.#base[1];
    const costs = this.#costs;
    // in the order of COLUMNS, but for the last
    costs[at++] = exact ? distance : -distance;
    costs[at++] = cost.localization;
    costs[at++] = cost.missed;
    costs[at++] = cost.false;
    costs[at] = cost.switch;
    this.#count++;
  }

  #wholeAt(row: number, column: number): number {
    return this.#base[column] + this.#whole[(row % this.#room) * WIDTH + column];
  }

  #setBase(k: number, atMs: number): void {
    this.#base[0] = k;
    this.#base[1] = atMs;
  }

  #isNear(k: number, atMs: number): boolean {
    return Math.abs(k - this.#base[0]) < WHOLE_MAX && Math.abs(atMs - this.#base[1]) < WHOLE_MAX;
  }

  /** The numbers are far from the base: that is the oldest row now; what is too far from it is another time. */
  #rebase(k: number, atMs: number): void {
    const oldest = Math.max(0, this.#count - this.#room);
    const [before, beforeMs] = this.#base;
    this.#setBase(this.#wholeAt(oldest, 0), this.#wholeAt(oldest, 1));
    if (!this.#isNear(k, atMs)) {
      this.#count = 0;
      this.#setBase(k, atMs);
      return;
    }
    const [moved, movedMs] = [before - this.#base[0], beforeMs - this.#base[1]];
    for (let row = oldest; row < this.#count; row++) {
      const at = (row % this.#room) * WIDTH;
      this.#whole[at] += moved;
      this.#whole[at + 1] += movedMs;
    }
  }

  #grow(): void {
    this.#room = Math.min(this.#room + ROOM, this.framesMax);
    const rows = new Int32Array(this.#room * WIDTH);
    rows.set(this.#whole);
    this.#whole = rows;
    this.#costs = new Float32Array(rows.buffer);
  }

  /** At most so many points, evenly apart, the newest among them. */
  view(points: number): TrendView {
    const size = Math.min(this.#count, this.#room);
    const stride = Math.max(1, Math.ceil(size / points));
    const view = Object.fromEntries(COLUMNS.map((column) => [column, [] as number[]])) as Record<Column, number[]>;
    for (let row = this.#count - size + ((size - 1) % stride); row < this.#count; row += stride) {
      const at = (row % this.#room) * WIDTH;
      for (let c = 0; c < WHOLE; c++) view[COLUMNS[c]].push(this.#wholeAt(row, c));
      for (let c = WHOLE; c < WIDTH; c++) view[COLUMNS[c]].push(Number(this.#costs[at + c].toPrecision(DIGITS)));
      const isProven = !Object.is(this.#costs[at + WHOLE], -0) && this.#costs[at + WHOLE] >= 0;
      view.distance.push(Math.abs(view.distance.pop()!));
      view.exact.push(isProven ? 1 : 0);
    }
    return { ...this.series, ...view };
  }
}

export class Trends {
  readonly #book: SeriesBook<Trend>;

  constructor(framesMax: number, seriesMax: number) {
    this.#book = new SeriesBook(seriesMax, (series) => new Trend(series, framesMax));
  }

  observe(event: LiveEvent): void {
    this.#book.observe(event);
  }

  list(filter: Filter, points: number): TrendView[] {
    return this.#book.list(filter).map((trend) => trend.view(points));
  }
}
