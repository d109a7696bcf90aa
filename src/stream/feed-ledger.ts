/**
 * The feeds of a stream as the log has them: the number of the last part of each, and the epoch of its last hello. A
 * log that several processes append to may hold a record twice, and late; what a feed is already past is told here, and
 * changes nothing. That is exactly once, however long a repetition takes.
 */
import type { LogRecord } from '../store/record.js';
import type { Role } from '../wire/feed.js';

export interface FeedState {
  role: Role;
  tracker: string | null;
  /** of the last part */
  seq: number;
  /** of the last `open`; absent where nobody else appends */
  epoch?: number;
}

type FeedRecord = Extract<LogRecord, { role: Role }>;

export class FeedLedger implements Iterable<FeedState> {
  readonly #feeds = new Map<string, FeedState>();

  constructor(feeds: readonly FeedState[] = []) {
    for (const feed of feeds) this.#feeds.set(feed.tracker ?? '', feed);
  }

  [Symbol.iterator](): Iterator<FeedState> {
    return this.#feeds.values();
  }

  /** Whether a record says what its feed is already past, or is of a feed that is not there any more. */
  isRepeated(record: LogRecord): boolean {
    if (!('epoch' in record) || record.epoch === undefined) return false;
    const feed = this.#feeds.get(record.tracker ?? '');
    if (record.kind === 'open') return (feed?.epoch ?? Number.NEGATIVE_INFINITY) >= record.epoch;
    if (feed?.epoch !== record.epoch) return true;
    if (record.kind === 'part') return record.part.seq <= feed.seq;
    return record.kind === 'cut' && feed.seq > (record.seq ?? feed.seq);
  }

  open(record: FeedRecord): void {
    const feed = this.#of(record);
    if (record.epoch !== undefined) feed.epoch = record.epoch;
  }

  /** A part of a feed; one that was never opened is there from now on. */
  part(record: Extract<LogRecord, { kind: 'part' }>): void {
    this.#of(record).seq = record.part.seq;
  }

  delete(tracker: string): void {
    this.#feeds.delete(tracker);
  }

  #of({ role, tracker }: FeedRecord): FeedState {
    const key = tracker ?? '';
    let feed = this.#feeds.get(key);
    if (!feed) {
      feed = { role, tracker, seq: 0 };
      this.#feeds.set(key, feed);
    }
    return feed;
  }
}
