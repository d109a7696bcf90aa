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

class Trend implements SeriesEntry {
  #room: number;
  #rows: Float64Array;
  /** rows written so far */
  #count = 0;

  constructor(
    readonly series: SeriesId,
    readonly framesMax: number,
  ) {
    this.#room = Math.min(ROOM, framesMax);
    this.#rows = new Float64Array(this.#room * WIDTH);
  }

  push({ k, receivedMs, report }: ReportEvent): void {
    const { cost, distance, exact } = report;
    const last = this.#count > 0 ? this.#rows[((this.#count - 1) % this.#room) * WIDTH] : Number.NEGATIVE_INFINITY;
    // at its end a series reports its last frame once more; one that starts again has a new trend
    if (k < last) this.#count = 0;
    else if (k === last) this.#count--;
    if (this.#count === this.#room && this.#room < this.framesMax) this.#grow();
    const rows = this.#rows;
    // in the order of COLUMNS, but for the last
    let at = (this.#count % this.#room) * WIDTH;
    rows[at++] = k;
    rows[at++] = receivedMs;
    rows[at++] = exact ? distance : -distance;
    rows[at++] = cost.localization;
    rows[at++] = cost.missed;
    rows[at++] = cost.false;
    rows[at] = cost.switch;
    this.#count++;
  }

  #grow(): void {
    this.#room = Math.min(this.#room + ROOM, this.framesMax);
    const rows = new Float64Array(this.#room * WIDTH);
    rows.set(this.#rows);
    this.#rows = rows;
  }

  /** At most so many points, evenly apart, the newest among them. */
  view(points: number): TrendView {
    const size = Math.min(this.#count, this.#room);
    const stride = Math.max(1, Math.ceil(size / points));
    const view = Object.fromEntries(COLUMNS.map((column) => [column, [] as number[]])) as Record<Column, number[]>;
    for (let row = this.#count - size + ((size - 1) % stride); row < this.#count; row += stride) {
      const at = (row % this.#room) * WIDTH;
      for (let c = 0; c < WIDTH; c++) view[COLUMNS[c]].push(this.#rows[at + c]);
      const distance = view.distance.pop()!;
      view.distance.push(Math.abs(distance));
      view.exact.push(distance < 0 || Object.is(distance, -0) ? 0 : 1);
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
