/**
 * What is usual, learned: sums over the past with exponential forgetting. What is new is held back in blocks for a
 * while, and dropped when an alarm turns out to begin in it, so that a fault is not learned before it is found. A young
 * series holds back a third of its age, and learns nothing that is in doubt.
 */

const BLOCKS = 12;
/** A young series is learned from in blocks of at most this. */
const YOUNG_BLOCK_SECONDS = 2;

const AT = { age: 0, blockSeconds: 1, waiting: 2, sums: 3 } as const;

export const usualSize = (values: number) => AT.sums + values * (3 + BLOCKS) + BLOCKS;

export class Usual {
  readonly sums: Float64Array;
  /** the block that is gathered */
  readonly block: Float64Array;
  /** where the sums are that were usual before a worse level was adopted */
  readonly #beforeAt: number;
  /** blocks held back, the oldest first, and how long each is */
  readonly #heldAt: number;
  readonly #secondsAt: number;

  constructor(
    private readonly state: Float64Array,
    private readonly values: number,
    /** both are longer for what is rare */
    public memorySeconds: number,
    public holdSeconds: number,
  ) {
    this.sums = state.subarray(AT.sums, AT.sums + values);
    this.block = state.subarray(AT.sums + values, AT.sums + 2 * values);
    this.#beforeAt = AT.sums + 2 * values;
    this.#heldAt = AT.sums + 3 * values;
    this.#secondsAt = this.#heldAt + values * BLOCKS;
  }

  /** Seconds it was learned from, or is held back for. */
  get age(): number {
    return this.state[AT.age];
  }

  /** Closes the block when it is long enough: its seconds, or 0 while it is gathered. What is `doubted` stays back. */
  advance(seconds: number, doubted: boolean): number {
    const { state } = this;
    state[AT.age] += seconds;
    state[AT.blockSeconds] += seconds;
    const length = this.holdSeconds / BLOCKS;
    if (state[AT.blockSeconds] < (state[AT.age] < 4 * length ? Math.min(YOUNG_BLOCK_SECONDS, length) : length))
      return 0;
    const closed = state[AT.blockSeconds];
    if (state[AT.waiting] === BLOCKS) this.#release(doubted);
    const at = state[AT.waiting]++;
    state.set(this.block, this.#heldAt + at * this.values);
    state[this.#secondsAt + at] = closed;
    this.block.fill(0);
    state[AT.blockSeconds] = 0;
    while (!doubted && this.#waitingSeconds() > state[AT.age] / 3 + 1e-9) this.#release(false);
    return closed;
  }

  #waitingSeconds(): number {
    let sum = 0;
    for (let n = 0; n < this.state[AT.waiting]; n++) sum += this.state[this.#secondsAt + n];
    return sum;
  }

  /** The oldest block that is held back becomes part of what is usual, or is given up. */
  #release(doubted: boolean): void {
    const { state, sums, values } = this;
    const [heldAt, secondsAt] = [this.#heldAt, this.#secondsAt];
    const kept = Math.exp(-state[secondsAt] / this.memorySeconds);
    if (!doubted) for (let n = 0; n < values; n++) sums[n] = sums[n] * kept + state[heldAt + n];
    state.copyWithin(heldAt, heldAt + values, secondsAt);
    state.copyWithin(secondsAt, secondsAt + 1, secondsAt + BLOCKS);
    state[AT.waiting]--;
  }

  /** What is held back was part of an alarm. */
  drop(): void {
    this.block.fill(0);
    this.state.fill(0, this.#heldAt, this.#secondsAt);
    this.state[AT.blockSeconds] = this.state[AT.waiting] = 0;
  }

  /** Forgets what was usual, but for a copy. */
  relearn(): void {
    this.drop();
    this.state.set(this.sums, this.#beforeAt);
    this.sums.fill(0);
    this.state[AT.age] = 0;
  }

  /** What was usual before is so again. */
  restore(): void {
    this.drop();
    this.state.copyWithin(AT.sums, this.#beforeAt, this.#heldAt);
  }
}

/** Events and exposure before anything was seen: so much is believed, and so strongly. */
export interface Prior {
  rate: number;
  /** in units of exposure */
  weight: number;
  /** rates below this are not told apart */
  least: number;
}

/** Standard errors by which a rate is read too high: a baseline that is too low cries wolf. */
const CAUTION = 0.7;

/** The rate of events per exposure, a little high. */
export function upperRate(events: number, exposure: number, { rate, weight, least }: Prior): number {
  const counted = events + rate * weight;
  return Math.max(least, (counted + CAUTION * Math.sqrt(counted)) / (exposure + weight));
}

/** The rate itself. */
export const plainRate = (events: number, exposure: number, { rate, weight, least }: Prior): number =>
  Math.max(least, (events + rate * weight) / (exposure + weight));

/** Thresholds are higher for a series that is young: its bursts are not known yet. */
const YOUNG_SECONDS = 30;
export const young = (ageSeconds: number): number => 1 + YOUNG_SECONDS / (ageSeconds + YOUNG_SECONDS);
