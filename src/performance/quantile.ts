/**
 * Quantiles of errors in bounded memory: how many fell into each of a row of bins, each a hundredth wider than the one
 * before. A quantile is therefore right to half a percent of itself.
 */

const GROWTH = Math.log(1.01);

/** Counts by number of the bin; zeros apart. Plain data. */
export interface QuantileState {
  zeros: number;
  bins: Array<[number, number]>;
}

/** Bins reach from the smallest to the largest number there is: 1.5e5 at most, in practice some hundreds. */
export class Quantiles {
  #zeros: number;
  readonly #bins: Map<number, number>;

  constructor({ zeros, bins }: QuantileState = { zeros: 0, bins: [] }) {
    this.#zeros = zeros;
    this.#bins = new Map(bins);
  }

  add(value: number): void {
    if (!(value > 0)) {
      this.#zeros++;
      return;
    }
    const bin = Math.floor(Math.log(value) / GROWTH);
    this.#bins.set(bin, (this.#bins.get(bin) ?? 0) + 1);
  }

  /** The value that this share of all is not above; NaN when there are none. */
  quantile(share: number): number {
    const sorted = [...this.#bins].sort(([a], [b]) => a - b);
    const total = sorted.reduce((sum, [, count]) => sum + count, this.#zeros);
    if (total === 0) return Number.NaN;
    let left = Math.ceil(share * total) - this.#zeros;
    if (left <= 0) return 0;
    for (const [bin, count] of sorted) {
      left -= count;
      if (left <= 0) return Math.exp((bin + 0.5) * GROWTH);
    }
    return Number.NaN;
  }

  toJSON(): QuantileState {
    return { zeros: this.#zeros, bins: [...this.#bins] };
  }
}
