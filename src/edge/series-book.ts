/**
 * What is kept of every series beside its pipeline, made of its reports and in memory only. Invariant: there are at
 * most `seriesMax` entries; the one that came first goes. An entry goes with its series.
 */
import type { LiveEvent, ReportEvent } from '../wire/events.js';
import { type SeriesId, seriesKey } from '../wire/series-key.js';
import type { Filter } from './subscribers.js';

/** What is kept of one series. */
export interface SeriesEntry {
  readonly series: SeriesId;
  push(event: ReportEvent): void;
}

export class SeriesBook<T extends SeriesEntry> {
  readonly #entries = new Map<string, T>();

  constructor(
    readonly seriesMax: number,
    readonly open: (series: SeriesId) => T,
  ) {}

  observe(event: LiveEvent): void {
    if (event.type === 'report') this.#entryOf(event).push(event);
    else if (event.type === 'retired') this.#entries.delete(seriesKey(event.stream, event.tracker, event.profile));
  }

  #entryOf({ stream, tracker, profile }: ReportEvent): T {
    const key = seriesKey(stream, tracker, profile);
    const known = this.#entries.get(key);
    if (known) return known;
    const entry = this.open({ stream, tracker, profile });
    this.#entries.set(key, entry);
    if (this.#entries.size > this.seriesMax) this.#entries.delete(this.#entries.keys().next().value!);
    return entry;
  }

  /** Those that a reader asks for, and may see. */
  list({ stream, tracker, profile, covers }: Filter): T[] {
    return [...this.#entries.values()].filter(
      ({ series }) =>
        covers(series.stream) &&
        (stream === undefined || series.stream === stream) &&
        (tracker === undefined || series.tracker === tracker) &&
        (profile === undefined || series.profile === profile),
    );
  }
}
