/** How many HTTP requests each address and each token may make in a second; with bursts of one second. */
import { RateLimit } from './rate-limit.js';

/** More clients than this at once are forgotten and start afresh: their buckets fill within a second anyway. */
const CLIENTS_MAX = 10_000;

export class RequestRates {
  readonly #rates = new Map<string, RateLimit>();

  constructor(
    readonly perSecond: number,
    readonly now: () => number = () => performance.now(),
  ) {}

  /** Whether this client may make one more request now. */
  admits(client: string): boolean {
    let rate = this.#rates.get(client);
    if (!rate) {
      if (this.#rates.size >= CLIENTS_MAX) this.#rates.clear();
      rate = new RateLimit(this.perSecond / 1000, this.perSecond, this.now());
      this.#rates.set(client, rate);
    }
    if (rate.spend(0, this.now()) > 0) return false;
    rate.spend(1, this.now());
    return true;
  }
}
