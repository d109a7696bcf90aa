/**
 * A reader of /v1/live in a simulated world. Whatever the evaluator has published while the reader was there comes, in
 * order: every event once, and of the reports of a series the newest, with the number of those left out.
 */
import type { EdgeServer } from '../../src/edge/edge.js';
import type { LiveEvent } from '../../src/wire/events.js';
import type { Process, World } from './world.js';

interface Message {
  type: string;
  stream: string;
  tracker?: string | null;
  profile?: string;
  k?: number;
  n?: number;
  skipped?: number;
}

const keyOf = ({ stream, tracker, profile }: Message) => `${stream} ${tracker} ${profile}`;

export class Reader {
  /** published since it was there: events by their words, reports by series */
  readonly #events: string[] = [];
  readonly #reports = new Map<string, number>();
  #eventsRead = 0;
  readonly #reportsRead = new Map<string, number>();
  #unsentBytes = 0;
  readonly violations: string[] = [];

  constructor(world: World, process: Process, edge: EdgeServer) {
    let lastMs = 0;
    let isGreeting = true;
    const peer = {
      address: 'reader',
      send: (text: string | Buffer, sent?: () => void) => {
        const counts = !isGreeting;
        this.#unsentBytes += text.length;
        lastMs = Math.max(lastMs, world.nowMs + world.between(0.1, 30));
        const arrive = () => {
          this.#unsentBytes -= text.length;
          if (counts) this.#read(JSON.parse(String(text)) as Message);
          sent?.();
        };
        world.push(lastMs, process, arrive, null);
      },
      close: (code: number) => this.violations.push(`a reader was closed with ${code}`),
      pause() {},
      resume() {},
      backlogBytes: () => this.#unsentBytes,
    };
    edge.subscribers.subscribe(peer, { covers: () => true });
    isGreeting = false;
  }

  /** The evaluator publishes this. */
  published(event: LiveEvent): void {
    if (event.type === 'report') this.#reports.set(keyOf(event), (this.#reports.get(keyOf(event)) ?? 0) + 1);
    else this.#events.push(wordsOf(event as Message));
  }

  #read(message: Message): void {
    if (message.type === 'report') {
      const read = (this.#reportsRead.get(keyOf(message)) ?? 0) + 1 + (message.skipped ?? 0);
      this.#reportsRead.set(keyOf(message), read);
      return;
    }
    const expected = this.#events[this.#eventsRead++];
    if (wordsOf(message) !== expected) this.violations.push(`a reader got ${wordsOf(message)} instead of ${expected}`);
  }

  /** What has not come although it had the time. */
  finish(): void {
    if (this.#eventsRead < this.#events.length)
      this.violations.push(`a reader got ${this.#eventsRead} of ${this.#events.length} events`);
    for (const [key, count] of this.#reports)
      if (this.#reportsRead.get(key) !== count)
        this.violations.push(`a reader heard of ${this.#reportsRead.get(key)} of ${count} reports of ${key}`);
  }
}

const wordsOf = ({ type, stream, n, k }: Message) => `${type} ${stream} ${n} ${k}`;
