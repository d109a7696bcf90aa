/**
 * Topics often carry several cameras, sensors or coordinate frames, and a feed is one of them. With a name given, the
 * others are passed over; without one, a second name is a mistake, because mixing two scenes would be a guess.
 */

import { Mistake } from './adapter.js';

export class OneSource {
  #known: string | null | undefined;

  constructor(
    readonly option: string,
    readonly chosen: string | undefined,
  ) {}

  /** Whether a message of this source belongs to the feed; absent names count as one source. */
  accepts(value: unknown, path: string): boolean {
    if (value !== undefined && value !== null && typeof value !== 'string')
      throw new Mistake(path, value, 'must be text');
    const name = value ?? null;
    if (this.chosen !== undefined) return name === this.chosen;
    if (this.#known === undefined) this.#known = name;
    if (name !== this.#known)
      throw new Mistake(
        path,
        value,
        `differs from ${this.#known ?? 'the messages without one'} before; choose one with option ${this.option}`,
      );
    return true;
  }
}
