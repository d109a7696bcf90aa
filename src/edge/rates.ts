/**
 * How every series did over the last minute, in counts: what settled between two moments, how long that was, and what
 * is usual. Invariant: a series holds at most SAMPLES samples.
 */
import type { LiveEvent, ReportEvent, SpikeReading } from '../wire/events.js';
import type { SeriesId } from '../wire/series-key.js';
import { SeriesBook, type SeriesEntry } from './series-book.js';
import type { Filter } from './subscribers.js';

const SAMPLES = 13;
const SAMPLE_MS = 5000;

/** What settled within `seconds`; `usual` is per frame, by signal, and the mean error for localization. */
export interface RateView extends SeriesId {
  seconds: number;
  frames: number;
  proper: number;
  missed: number;
  false: number;
  switches: number;
  usual: Record<string, number> | null;
  /** mean error of the window, in the unit of its distance */
  error: number;
}

interface Sample {
  atMs: number;
  frames: number;
  proper: number;
  missed: number;
  false: number;
  switches: number;
}

class Rate implements SeriesEntry {
  #samples: Sample[] = [];
  #newest: Sample | null = null;
  #spikes: SpikeReading | undefined;
  #error = 0;

  constructor(readonly series: SeriesId) {}

  push({ t, receivedMs, report, spikes }: ReportEvent): void {
    this.#spikes = spikes;
    this.#error = report.meanLocalizationError;
    // a report that was recovered has no time of its own
    const atMs = t === undefined ? receivedMs : t * 1000;
    if (atMs === 0) return;
    const { frames, count } = report.settled;
    const { proper, missed, false: wrong, switches } = count;
    const sample = { atMs, frames, proper, missed, false: wrong, switches };
    const last = this.#samples.at(-1);
    // a series that starts again, or a clock that was set back
    if (last && (atMs < last.atMs || frames < last.frames)) this.#samples = [];
    this.#newest = sample;
    if (this.#samples.length > 0 && atMs - this.#samples.at(-1)!.atMs < SAMPLE_MS) return;
    this.#samples.push(sample);
    if (this.#samples.length > SAMPLES) this.#samples.shift();
  }

  view(): RateView {
    const newest = this.#newest;
    const first = this.#samples[0] ?? newest;
    const grown = (key: keyof Sample) => (newest && first ? newest[key] - first[key] : 0);
    return {
      ...this.series,
      seconds: grown('atMs') / 1000,
      frames: grown('frames'),
      proper: grown('proper'),
      missed: grown('missed'),
      false: grown('false'),
      switches: grown('switches'),
      usual: this.#usual(),
      error: this.#error,
    };
  }

  #usual(): RateView['usual'] {
    const spikes = this.#spikes;
    if (!spikes) return null;
    return Object.fromEntries(spikes.signals.map((signal) => [signal, spikes.gauge(signal).expected]));
  }
}

export class Rates {
  readonly #book: SeriesBook<Rate>;

  constructor(seriesMax: number) {
    this.#book = new SeriesBook(seriesMax, (series) => new Rate(series));
  }

  observe(event: LiveEvent): void {
    this.#book.observe(event);
  }

  list(filter: Filter): RateView[] {
    return this.#book.list(filter).map((rate) => rate.view());
  }
}
