/**
 * The events of one stream: numbered without gaps, and entered into the event history, where those that repeat each
 * other share one entry. Numbers and keys follow from the records alone, so that a replay gives the same ones.
 */
import { eventKey } from '../store/commit.js';
import { type LiveEvent, mergeEvents } from '../wire/events.js';

/** An entry of the event history; one with a key that is already there replaces it. */
export interface HistoryEntry {
  key: string;
  event: LiveEvent;
}

/** What has come of a record, or of a step of it. */
export interface Applied {
  events: LiveEvent[];
  history: HistoryEntry[];
}

/** Nothing has come yet, and there is more to do: others may have their turn. */
export const UNFINISHED: Applied = { events: [], history: [] };

/** Plain data. */
export interface StreamEventsState {
  eventCount: number;
  lastEntry: HistoryEntry | null;
}

export class StreamEvents {
  #count: number;
  #lastEntry: HistoryEntry | null;
  #applied: Applied = { events: [], history: [] };
  // of the record that is being applied
  #position = 0;
  #atMs = 0;
  #entriesOfRecord = 0;

  constructor({ eventCount, lastEntry }: StreamEventsState = { eventCount: 0, lastEntry: null }) {
    this.#count = eventCount;
    this.#lastEntry = lastEntry;
  }

  /** What is emitted from now on comes of the record at this position. */
  openRecord(position: number, atMs: number): void {
    this.#position = position;
    this.#atMs = atMs;
    this.#entriesOfRecord = 0;
  }

  /** When the record took effect, epoch milliseconds. */
  get atMs(): number {
    return this.#atMs;
  }

  emit(event: LiveEvent): void {
    event.n = ++this.#count;
    event.atMs = this.#atMs;
    this.#applied.events.push(event);
    if (event.type !== 'report') this.#applied.history.push(this.#entryFor(event));
  }

  #entryFor(event: LiveEvent): HistoryEntry {
    const last = this.#lastEntry;
    const merged = last && mergeEvents(last.event, event);
    const key = merged ? last.key : eventKey(this.#position, this.#entriesOfRecord++);
    this.#lastEntry = { key, event: merged ?? event };
    return this.#lastEntry;
  }

  get isEmpty(): boolean {
    return this.#applied.events.length === 0;
  }

  /** What was emitted since the last call. */
  drain(): Applied {
    const applied = this.#applied;
    this.#applied = { events: [], history: [] };
    return applied;
  }

  toJSON(): StreamEventsState {
    return { eventCount: this.#count, lastEntry: this.#lastEntry };
  }
}
