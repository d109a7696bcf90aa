/**
 * Acks that wait because their feed is too far ahead of one that is coming back: the sender runs out of credit and
 * stops, and nothing has to be given up for want of room. They go out when the other feed has caught up, or its time is
 * over.
 */
import type { FeedId } from '../wire/feed.js';
import type { Streams } from './streams.js';

interface Waiter {
  tracker: string | null;
  resolve(): void;
}

export class HeldAcks {
  /** by stream */
  readonly #waiters = new Map<string, Waiter[]>();
  /** by feed: its newest ack, and what it waits for besides; parts of one commit share it */
  readonly #newest = new Map<string, { admitted: Promise<void>; released: Promise<void> }>();
  #lifted = false;

  constructor(readonly streams: Pick<Streams, 'get'>) {}

  /** The ack of a part, given that of everybody. */
  admit({ stream, tracker }: FeedId, admitted: Promise<void>): Promise<void> {
    if (this.#lifted || !this.streams.get(stream)?.resuming) return admitted;
    const key = `${stream}\n${tracker ?? ''}`;
    const known = this.#newest.get(key);
    if (known?.admitted === admitted) return known.released;
    const released = admitted.then(() => this.#released(stream, tracker));
    // whoever waits for it hears of a fault; nobody has to wait
    released.catch(() => {});
    this.#newest.set(key, { admitted, released });
    return released;
  }

  #released(stream: string, tracker: string | null): Promise<void> | undefined {
    if (this.#lifted || !this.streams.get(stream)?.isAhead(tracker)) return undefined;
    return new Promise((resolve) => {
      const waiters = this.#waiters.get(stream) ?? [];
      this.#waiters.set(stream, waiters);
      waiters.push({ tracker, resolve });
    });
  }

  /** A record of this stream has taken effect. */
  applied(stream: string): void {
    const waiters = this.#waiters.get(stream);
    if (!waiters) return;
    const running = this.streams.get(stream);
    const held = waiters.filter(({ tracker }) => running?.isAhead(tracker));
    for (const waiter of waiters) if (!held.includes(waiter)) waiter.resolve();
    if (held.length > 0) this.#waiters.set(stream, held);
    else this.#waiters.delete(stream);
    if (running?.resuming) return;
    for (const key of this.#newest.keys()) if (key.startsWith(`${stream}\n`)) this.#newest.delete(key);
  }

  /** Nothing is held any longer. */
  lift(): void {
    this.#lifted = true;
    for (const waiters of this.#waiters.values()) for (const { resolve } of waiters) resolve();
    this.#waiters.clear();
  }
}
