/**
 * Durable records that are not applied yet, and the acks that wait until there are fewer of them: that is how a slow
 * evaluation slows its senders down. All streams share one backlog but for those that
 * are being rebuilt: such a one holds up nobody but itself.
 */

/** acks released for each record that is applied: senders must not come back all at once */
const RELEASED_PER_RECORD = 2;

interface Waiter {
  max: number;
  resolve(): void;
}

export class Backlog {
  #count = 0;
  #limit: number;
  readonly #waiters = new Set<Waiter>();
  /** of the newest group commit, whose parts share their ack */
  #newest = { durable: Promise.resolve(), admitted: Promise.resolve() };
  #heldAcks = 0;

  /** With more records than `limit`, acks wait. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Records that are not applied yet. */
  get count(): number {
    return this.#count;
  }

  /** Whether senders wait for an ack because of it. */
  get holdsAcks(): boolean {
    return this.#heldAcks > 0;
  }

  add(): void {
    this.#count++;
  }

  remove(): void {
    this.#count--;
    if (this.#waiters.size > 0) this.#release(this.#count === 0 ? this.#waiters.size : RELEASED_PER_RECORD);
  }

  #release(most: number): void {
    let left = most;
    for (const waiter of this.#waiters) {
      if (left === 0) return;
      if (this.#count > waiter.max) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
      left--;
    }
  }

  /** The ack of what becomes durable with this promise: the evaluation is not too far behind either. */
  admit(durable: Promise<void>): Promise<void> {
    if (durable === this.#newest.durable) return this.#newest.admitted;
    const admitted = durable.then(() => (this.#count > this.#limit ? this.#hold() : undefined));
    // whoever waits for it hears of a fault; nobody has to wait
    admitted.catch(() => {});
    this.#newest = { durable, admitted };
    return admitted;
  }

  async #hold(): Promise<void> {
    this.#heldAcks++;
    await this.shrunk(this.#limit);
    this.#heldAcks--;
  }

  /** Resolves when at most `max` records are left, or the limit is lifted. */
  shrunk(max: number): Promise<void> {
    if (this.#count <= max) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiters.add({ max, resolve });
    });
  }

  /** Nobody waits any longer; acks wait for the disk only from now on. */
  lift(): void {
    this.#limit = Number.POSITIVE_INFINITY;
    for (const { resolve } of this.#waiters) resolve();
    this.#waiters.clear();
  }
}
