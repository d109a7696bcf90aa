/** How many observations each bucket has, and their sum. */
export interface ObservedCounts {
  counts: number[];
  sum: number;
}

/** A histogram without labels. An observation takes nanoseconds; with that of prom-client it takes microseconds. */
export class Histogram {
  readonly #counts: Float64Array;
  #sum = 0;

  /** `bounds` are the upper ends of the buckets, ascending; one more takes the rest. */
  constructor(readonly bounds: readonly number[]) {
    this.#counts = new Float64Array(bounds.length + 1);
  }

  get sum(): number {
    return this.#sum;
  }

  /** Adds what another one has observed. */
  add({ counts, sum }: ObservedCounts): void {
    for (const [n, count] of counts.entries()) this.#counts[n] += count;
    this.#sum += sum;
  }

  /** Everything it has observed, as plain data. */
  observed(): ObservedCounts {
    return { counts: [...this.#counts], sum: this.#sum };
  }

  observe(value: number): void {
    let at = 0;
    while (at < this.bounds.length && value > this.bounds[at]) at++;
    this.#counts[at]++;
    this.#sum += value;
  }

  /** How many observations were at most each bound, and at last how many there were. */
  cumulative(): number[] {
    let count = 0;
    return Array.from(this.#counts, (more) => {
      count += more;
      return count;
    });
  }
}
