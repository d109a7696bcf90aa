/**
 * Keeps busy connections from taking the event loop for themselves: a socket hands over many messages in one turn of
 * it. Once messages have used `sliceMs` of a turn, every connection that still receives is held. Those held are
 * released in later turns, a few at a time, because all of them together would take too long again.
 */

/** A connection that can be held and released. */
export interface Holdable {
  hold(held: boolean): void;
}

/** connections released in the same turn of the event loop; each may have a buffer full of messages */
const RELEASED_AT_ONCE = 2;

export class FairTurns {
  #endsAtMs = 0;
  #open = false;
  readonly #held = new Set<Holdable>();

  constructor(readonly sliceMs: number) {}

  /** A message is about to be handled: the first one opens the turn. */
  enter(): void {
    if (this.#open) return;
    this.#open = true;
    this.#endsAtMs = performance.now() + this.sliceMs;
    setImmediate(() => this.#next());
  }

  /** A message of this connection was handled: it is held when the turn is over. */
  leave(connection: Holdable): void {
    if (performance.now() < this.#endsAtMs || this.#held.has(connection)) return;
    this.#held.add(connection);
    connection.hold(true);
  }

  #next(): void {
    this.#open = false;
    let count = RELEASED_AT_ONCE;
    for (const connection of this.#held) {
      if (count-- === 0) break;
      this.#held.delete(connection);
      connection.hold(false);
    }
    if (this.#held.size > 0) this.enter();
  }
}
