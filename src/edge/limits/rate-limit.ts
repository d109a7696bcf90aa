/** A token bucket: refills steadily up to its capacity, and may be overdrawn; whoever overdraws it waits. */
export class RateLimit {
  #level: number;
  #atMs: number;

  constructor(
    readonly perMs: number,
    readonly capacity: number,
    nowMs: number,
  ) {
    this.#level = capacity;
    this.#atMs = nowMs;
  }

  /** Whether nothing was spent lately. */
  full(nowMs: number): boolean {
    this.spend(0, nowMs);
    return this.#level >= this.capacity;
  }

  /** Spends so many tokens; returns for how many milliseconds the spender must wait. */
  spend(count: number, nowMs: number): number {
    this.#level = Math.min(this.capacity, this.#level + (nowMs - this.#atMs) * this.perMs) - count;
    this.#atMs = nowMs;
    return this.#level >= 0 ? 0 : -this.#level / this.perMs;
  }
}
