/**
 * The event history: the last events of all streams but their reports, oldest first, bounded, and stored in the log
 * under keys that sort as the events happened. Adding a key again replaces its event. When there are too many, the
 * stream with the most of them loses its oldest, so that one that is rejected all the time hides nobody else's.
 */
import { eventKey } from '../store/commit.js';
import type { DurableLog } from '../store/log-port.js';
import { type LiveEvent, mergeEvents, type Refused } from '../wire/events.js';

/** findings of a stream that are kept longer than its other events */
const FINDINGS_KEPT = 16;

/** The events of one stream by key. */
class StreamEventList {
  #events = new Map<string, LiveEvent>();
  /** the greatest key; events of another thread may come later than they happened */
  #last = '';
  #sorted = true;

  get size(): number {
    return this.#events.size;
  }

  get(key: string): LiveEvent | undefined {
    return this.#events.get(key);
  }

  put(key: string, event: LiveEvent): void {
    if (key >= this.#last) this.#last = key;
    else if (!this.#events.has(key)) this.#sorted = false;
    this.#events.set(key, event);
  }

  entries(): Iterable<[string, LiveEvent]> {
    this.#sort();
    return this.#events;
  }

  /**
   * Takes the oldest out and returns its key; a few findings, which are said once, outlast what is said all the time.
   */
  removeOldest(): string {
    this.#sort();
    const oldest = this.#oldest();
    this.#events.delete(oldest);
    return oldest;
  }

  #oldest(): string {
    let passed = 0;
    for (const [key, { type }] of this.#events) {
      if (type !== 'finding') return key;
      if (++passed === FINDINGS_KEPT) break;
    }
    const [first] = this.#events.keys();
    return first;
  }

  #sort(): void {
    if (this.#sorted) return;
    this.#events = new Map([...this.#events].sort(byKey));
    this.#sorted = true;
  }
}

export class EventHistory {
  readonly #streams = new Map<string, StreamEventList>();
  #size = 0;
  /** feed: key of its last refused input */
  readonly #rejected = new Map<string, string>();
  #unloggedCount = 0;

  constructor(
    readonly log: DurableLog,
    readonly eventsMax: number,
  ) {}

  async load(): Promise<void> {
    for (const { key, event } of await this.log.events()) this.#put(key, event as LiveEvent);
  }

  add(key: string, event: LiveEvent): void {
    this.#put(key, event);
    this.log.saveEvent(key, event);
    this.#trim(event.stream);
  }

  /** Refused input is not in the log: it is remembered, the same mistake of a feed as one event, but not stored. */
  addRejected(event: Refused, position: number): void {
    const feed = `${event.type}\n${event.stream}\n${event.tracker ?? ''}`;
    const known = this.#rejected.get(feed);
    const last = known === undefined ? undefined : this.#streams.get(event.stream)?.get(known);
    const merged = last ? mergeEvents(last, event) : null;
    const key = merged ? known! : `${eventKey(position, 0xffffff)}.${hex(++this.#unloggedCount)}`;
    this.#put(key, merged ?? event);
    this.#rejected.set(feed, key);
    this.#trim(event.stream);
  }

  /** An event that is not in the log; it is remembered, but not stored. */
  addUnlogged(event: LiveEvent, position: number): void {
    this.#put(`${eventKey(position, 0xffffff)}.${hex(++this.#unloggedCount)}`, event);
    this.#trim(event.stream);
  }

  list(stream?: string): LiveEvent[] {
    if (stream !== undefined) return [...(this.#streams.get(stream)?.entries() ?? [])].map(([, event]) => event);
    const all = [...this.#streams.values()].flatMap((events) => [...events.entries()]);
    return all.sort(byKey).map(([, event]) => event);
  }

  #put(key: string, event: LiveEvent): void {
    let events = this.#streams.get(event.stream);
    if (!events) {
      events = new StreamEventList();
      this.#streams.set(event.stream, events);
    }
    const before = events.size;
    events.put(key, event);
    this.#size += events.size - before;
  }

  #trim(stream: string): void {
    while (this.#size > this.eventsMax) this.#dropFrom(this.#largest(stream));
    if (this.#rejected.size > this.eventsMax) this.#rejected.clear();
  }

  #dropFrom(stream: string): void {
    const events = this.#streams.get(stream)!;
    this.log.saveEvent(events.removeOldest(), null);
    this.#size--;
    if (events.size === 0) this.#streams.delete(stream);
  }

  /** The stream with the most events; the one at hand, when it has more than an equal share. */
  #largest(atHand: string): string {
    const share = this.eventsMax / this.#streams.size;
    if ((this.#streams.get(atHand)?.size ?? 0) > share) return atHand;
    let largest = atHand;
    for (const [stream, { size }] of this.#streams)
      if (size > (this.#streams.get(largest)?.size ?? 0)) largest = stream;
    return largest;
  }
}

const byKey = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : 1);
const hex = (count: number) => count.toString(16).padStart(14, '0');
