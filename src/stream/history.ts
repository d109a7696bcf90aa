/**
 * The event history: the last events of all streams but their reports, oldest first, bounded, and stored in the log
 * under keys that sort as the events happened. Adding a key again replaces its event.
 */
import { eventKey } from '../store/commit.js';
import type { Log } from '../store/log.js';
import { type LiveEvent, mergeEvents } from '../wire/events.js';

type Rejected = Extract<LiveEvent, { type: 'rejected' }>;

export class EventHistory {
  #events = new Map<string, LiveEvent>();
  /** the greatest key; events of a worker may come later than they happened */
  #last = '';
  #sorted = true;
  /** feed: key of its last refused input */
  readonly #rejected = new Map<string, string>();
  #rejectedCount = 0;

  constructor(
    readonly log: Log,
    readonly eventsMax: number,
  ) {}

  async load(): Promise<void> {
    for (const { key, event } of await this.log.events()) {
      this.#events.set(key, event as LiveEvent);
      this.#last = key;
    }
  }

  add(key: string, event: LiveEvent): void {
    this.#put(key, event);
    this.log.saveEvent(key, event);
    this.#trim();
  }

  /** Refused input is not in the log: it is remembered, the same mistake of a feed as one event, but not stored. */
  addRejected(event: Rejected, position: number): void {
    const feed = `${event.stream}\n${event.tracker ?? ''}`;
    const known = this.#rejected.get(feed);
    const last = known === undefined ? undefined : this.#events.get(known);
    const merged = last ? mergeEvents(last, event) : null;
    const key = merged ? known! : `${eventKey(position, 0xffffff)}.${hex(++this.#rejectedCount)}`;
    this.#put(key, merged ?? event);
    this.#rejected.set(feed, key);
    this.#trim();
  }

  #put(key: string, event: LiveEvent): void {
    if (key >= this.#last) this.#last = key;
    else this.#sorted = false;
    this.#events.set(key, event);
  }

  #sort(): void {
    if (this.#sorted) return;
    this.#events = new Map([...this.#events].sort(([a], [b]) => (a < b ? -1 : 1)));
    this.#sorted = true;
  }

  list(stream?: string): LiveEvent[] {
    this.#sort();
    const all = [...this.#events.values()];
    return stream === undefined ? all : all.filter((event) => event.stream === stream);
  }

  #trim(): void {
    if (this.#events.size > this.eventsMax) this.#sort();
    while (this.#events.size > this.eventsMax) {
      const [oldest] = this.#events.keys();
      this.#events.delete(oldest);
      this.log.saveEvent(oldest, null);
    }
    if (this.#rejected.size > this.eventsMax) this.#rejected.clear();
  }
}

const hex = (count: number) => count.toString(16).padStart(14, '0');
