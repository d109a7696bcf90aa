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
/** of a row the first columns are whole numbers, told from a base in four bytes each */
const WHOLE = 2;
const WHOLE_MAX = 2 ** 31;
/** the others are told as they are: the page shows them beside /metrics; the sign of a distance says if it is proven */
const FIGURES = 2;
/** costs that are counts times a price, mostly: a few values come again and again, and a row tells which ones */
const COUNTED = COLUMNS.length - WHOLE - FIGURES - 1;
/** so many values are looked through, the newest first; and so many that no row has any more are no trouble */
const VALUES_SOUGHT = 96;
const VALUES_SPARE = 64;

class Trend implements SeriesEntry {
  #room = 0;
  #whole = new Int32Array(0);
  #figures = new Float64Array(0);
  #counted: Uint16Array | Uint32Array;
  #values: number[] = [];
  /** with so many, those are dropped that no row has */
  #valuesMax = VALUES_SPARE;
  /** what the whole numbers of a row are told from */
  readonly #base: [k: number, atMs: number] = [0, 0];
  /** rows written so far */
  #count = 0;

  constructor(
    readonly series: SeriesId,
    readonly framesMax: number,
  ) {
    this.#counted = new (withSpare(COUNTED * framesMax) < 2 ** 16 ? Uint16Array : Uint32Array)(0);
  }

  push({ k, receivedMs, report }: ReportEvent): void {
    const { cost, distance, exact } = report;
    const last = this.#count > 0 ? this.#wholeAt(this.#count - 1, 0) : Number.NEGATIVE_INFINITY;
    // at its end a series reports its last frame once more; one that starts again has a new trend
    if (k < last) this.#count = 0;
    else if (k === last) this.#count--;
    if (this.#count === 0) this.#setBase(k, receivedMs);
    else if (!this.#isNear(k, receivedMs)) this.#rebase(k, receivedMs);
    if (this.#count === this.#room && this.#room < this.framesMax) this.#grow();
    const row = this.#count % this.#room;
    this.#whole[row * WHOLE] = k - this.#base[0];
    this.#whole[row * WHOLE + 1] = receivedMs - this.#base[1];
    this.#figures[row * FIGURES] = exact ? distance : -distance;
    this.#figures[row * FIGURES + 1] = cost.localization;
    const at = row * COUNTED;
    // in the order of COLUMNS
    this.#counted[at] = this.#valueAt(cost.missed);
    this.#counted[at + 1] = this.#valueAt(cost.false);
    this.#counted[at + 2] = this.#valueAt(cost.switch);
    this.#count++;
    if (this.#values.length > this.#valuesMax) this.#dropValues();
  }

  /** The place of a value, which may have several. */
  #valueAt(value: number): number {
    const values = this.#values;
    const end = Math.max(0, values.length - VALUES_SOUGHT);
    for (let n = values.length - 1; n >= end; n--) if (values[n] === value) return n;
    return values.push(value) - 1;
  }

  /** Values of rows that are gone go as well. */
  #dropValues(): void {
    const [values, counted] = [this.#values, this.#counted];
    const places = new Map<number, number>();
    const used = Math.min(this.#count, this.#room) * COUNTED;
    for (let at = 0; at < used; at++) {
      const value = values[counted[at]];
      if (!places.has(value)) places.set(value, places.size);
      counted[at] = places.get(value)!;
    }
    this.#values = [...places.keys()];
    this.#valuesMax = withSpare(this.#values.length);
  }

  #wholeAt(row: number, column: number): number {
    return this.#base[column] + this.#whole[(row % this.#room) * WHOLE + column];
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
      const at = (row % this.#room) * WHOLE;
      this.#whole[at] += moved;
      this.#whole[at + 1] += movedMs;
    }
  }

  #grow(): void {
    this.#room = Math.min(this.#room + ROOM, this.framesMax);
    this.#whole = grown(this.#whole, new Int32Array(this.#room * WHOLE));
    this.#figures = grown(this.#figures, new Float64Array(this.#room * FIGURES));
    const Counted = this.#counted.constructor as Uint32ArrayConstructor;
    this.#counted = grown(this.#counted, new Counted(this.#room * COUNTED));
  }

  /** At most so many points, evenly apart, the newest among them. */
  view(points: number): TrendView {
    const size = Math.min(this.#count, this.#room);
    const stride = Math.max(1, Math.ceil(size / points));
    const view = Object.fromEntries(COLUMNS.map((column) => [column, [] as number[]])) as Record<Column, number[]>;
    for (let row = this.#count - size + ((size - 1) % stride); row < this.#count; row += stride) {
      const at = row % this.#room;
      for (let c = 0; c < WHOLE; c++) view[COLUMNS[c]].push(this.#wholeAt(row, c));
      for (let c = 0; c < COUNTED; c++)
        view[COLUMNS[WHOLE + FIGURES + c]].push(this.#values[this.#counted[at * COUNTED + c]]);
      const distance = this.#figures[at * FIGURES];
      view.localization.push(this.#figures[at * FIGURES + 1]);
      view.distance.push(Math.abs(distance));
      view.exact.push(distance < 0 || Object.is(distance, -0) ? 0 : 1);
    }
    return { ...this.series, ...view };
  }
}

/** How many values there may be where rows had so many. */
const withSpare = (values: number) => 2 * values + VALUES_SPARE;

function grown<T extends Int32Array | Float64Array | Uint16Array | Uint32Array>(from: T, to: T): T {
  to.set(from);
  return to;
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
