/** Values for everybody who listens, in the order in which they came to listen. Nothing is kept for those who come. */
import type { Heard } from './live-port.js';

export class Broadcast<T> implements Heard<T> {
  readonly #listeners = new Set<(value: T) => void>();

  subscribe(next: (value: T) => void): { unsubscribe(): void } {
    this.#listeners.add(next);
    return { unsubscribe: () => void this.#listeners.delete(next) };
  }

  tell(value: T): void {
    for (const next of this.#listeners) next(value);
  }
}
