/**
 * Which process last stored something of each feed of a partition. When that process is gone, so is the connection of
 * the feed, and nobody is left to say so; while it is not heard, frames may wait there.
 */
import type { LogRecord, PartHead } from '../store/record.js';

type Part = Extract<LogRecord, { kind: 'part' }>;
export type FeedOrigin = Pick<Part, 'stream' | 'role' | 'tracker'>;

const keyOf = ({ stream, tracker }: { stream: string; tracker?: string | null }) => `${stream}\n${tracker ?? ''}`;

export class FeedOrigins {
  readonly #feeds = new Map<string, { feed: FeedOrigin; process: string }>();

  /** A process has stored these records. */
  record(process: string, records: Iterable<LogRecord | PartHead>): void {
    for (const record of records)
      if (record.kind === 'part') {
        const known = this.#feeds.get(keyOf(record));
        if (known?.process === process) continue;
        const { stream, role, tracker } = record;
        this.#feeds.set(keyOf(record), { feed: { stream, role, tracker }, process });
      } else if (record.kind === 'end' || record.kind === 'cut') this.forget(record);
      else if (record.kind === 'retire') this.#retire(record);
  }

  /** A tracker, or all of a stream. */
  #retire({ stream, tracker }: Extract<LogRecord, { kind: 'retire' }>): void {
    for (const { feed } of this.#feeds.values())
      if (feed.stream === stream && (tracker ?? feed.tracker) === feed.tracker) this.forget(feed);
  }

  forget({ stream, tracker }: { stream: string; tracker?: string | null }): void {
    this.#feeds.delete(keyOf({ stream, tracker }));
  }

  has(feed: { stream: string; tracker: string | null }): boolean {
    return this.#feeds.has(keyOf(feed));
  }

  /** Feeds of processes for which this holds. */
  of(isMeant: (process: string) => boolean): FeedOrigin[] {
    return [...this.#feeds.values()].flatMap(({ feed, process }) => (isMeant(process) ? [feed] : []));
  }
}
