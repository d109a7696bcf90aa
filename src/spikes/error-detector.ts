/**
 * Spikes of the localization error. The mean error of the proper pairs of a frame is taken as its logarithm y, so that
 * a rise is a shift d = log(factor), whatever the scene. Errors persist from frame to frame: y is an autoregression
 * around its usual mean,
 *   y(k) - u = a (y(k-1) - u) + noise,   variance of the noise V / pairs
 * A shift shows in full in the noise of its first frame and by (1 - a) d afterwards; the log likelihood ratio of noise
 * z (in standard deviations) under a shift of s of them is s z - s^2 / 2. Both are tested by one mixture, so that a
 * jump is found at once and one that creeps in a little later. u, a, V and the spread of what adds up over a block are
 * learned.
 */
import { BLOCK_FRAMES, keptPerBlock } from './baseline.js';
import { type Finding, Mixture, mixtureSize } from './mixture.js';
import type { DetectorSettings } from './run-detector.js';

/** Rises looked for. */
const CHANGES = [
  { factor: 1.35, weight: 0.3 },
  { factor: 1.6, weight: 0.4 },
  { factor: 2.2, weight: 0.3 },
];

/** A single frame is never believed more than this, in standard deviations: new objects bring errors of their own. */
const JUMP_LIMIT = 6;
const SHIFT_LIMIT = 1.5;
/** Believed before anything was seen: spread of y with one pair, with the weight of so many frames. */
const PRIOR_VARIANCE = 0.3;
const PRIOR_FRAMES = 60;
const SPREAD_PRIOR_BLOCKS = 6;
/** Beyond this it is no spread but a change, and a single block counts no more than its square. */
const SPREAD_MAX = 2;
/** Persistence is believed up to this; what wanders more slowly counts as spread. */
const STIFFEST = 0.85;
/** Noise beyond this counts as this. */
const FARTHEST = 8;
const SHIFTS = CHANGES.map(({ factor }) => Math.log(factor));

/** Where each number of the state stands. */
const AT = {
  frames: 0,
  previous: 1,
  previousPairs: 2,
  // sums with forgetting; `joined` counts frames that follow another
  joined: 3,
  sum: 4,
  pairs: 5,
  squares: 6,
  products: 7,
  spread: 8,
  spreadWeight: 9,
  // the block that is being gathered
  blockFrames: 10,
  blockSum: 11,
  blockPairs: 12,
  blockSquares: 13,
  blockProducts: 14,
  blockScore: 15,
  // in force
  mean: 16,
  persistence: 17,
  variance: 18,
  usualPairs: 19,
  spreading: 20,
  mixture: 21,
} as const;

export const errorDetectorSize = () => AT.mixture + mixtureSize(CHANGES.length);

export class ErrorDetector {
  readonly #mixture: Mixture;
  readonly #kept: number;
  /** of the frame that was taken in last, for `learn` */
  #value = 0;
  #before = 0;
  #z = 0;
  #joined = false;

  constructor(
    private readonly state: Float64Array,
    private readonly settings: DetectorSettings,
  ) {
    const weights = CHANGES.map(({ weight }) => weight);
    this.#mixture = new Mixture(state.subarray(AT.mixture), weights, settings.falseAlarmFrames);
    this.#kept = keptPerBlock(settings.memoryFrames);
    if (state[AT.variance] === 0) this.#setRates();
  }

  get score(): number {
    return this.#mixture.score();
  }

  /** It is one. */
  get alarming(): boolean {
    return this.#mixture.exceeded;
  }

  /** The usual error; 0 before anything was seen. */
  expected(): number {
    return this.state[AT.joined] === 0 ? 0 : Math.exp(this.state[AT.mean]);
  }

  /** Takes in the mean error over `pairs` proper pairs; without any there is nothing to learn. */
  update(error: number, pairs: number, k: number): void {
    const { state } = this;
    const joined = state[AT.previousPairs] > 0;
    this.#joined = joined && pairs > 0;
    state[AT.previousPairs] = pairs;
    if (pairs === 0) return;
    const value = Math.log(error);
    const mean = state[AT.mean];
    const persistence = state[AT.persistence];
    const carry = joined ? persistence : 0;
    const noise = value - mean - carry * (state[AT.previous] - mean);
    // a first frame has all of the variance, not only that of the noise
    const variance = joined ? state[AT.variance] : state[AT.variance] / (1 - persistence * persistence);
    const deviation = Math.sqrt(variance / Math.min(pairs, state[AT.usualPairs]));
    this.#value = value;
    this.#before = state[AT.previous];
    this.#z = clamp(noise / deviation, FARTHEST);
    state[AT.previous] = value;
    if (++state[AT.frames] > this.settings.learnFrames) this.#test(error, deviation, 1 - carry, k);
  }

  #test(error: number, deviation: number, rest: number, k: number): void {
    const z = this.#z;
    const power = 1 / this.state[AT.spreading];
    for (let kind = 0; kind < CHANGES.length; kind++) {
      const full = SHIFTS[kind] / deviation;
      const shift = Math.min(SHIFT_LIMIT, full * rest);
      const jump = Math.min(JUMP_LIMIT, full);
      const going = shift * z - (shift * shift) / 2;
      const fresh = jump * z - (jump * jump) / 2;
      this.#mixture.update(kind, going * power, fresh * power, k, error);
    }
  }

  /** Adds the frame that was taken in last to what is usual. */
  learn(): void {
    if (!this.#joined) return;
    const { state } = this;
    state[AT.blockSum] += this.#value;
    state[AT.blockPairs] += state[AT.previousPairs];
    state[AT.blockSquares] += this.#value * this.#value;
    state[AT.blockProducts] += this.#value * this.#before;
    state[AT.blockScore] += this.#z;
    if (++state[AT.blockFrames] === BLOCK_FRAMES) this.#closeBlock();
  }

  #closeBlock(): void {
    const { state } = this;
    const kept = this.#kept;
    if (state[AT.frames] > this.settings.learnFrames) {
      const spread = Math.min(SPREAD_MAX ** 2, state[AT.blockScore] ** 2 / BLOCK_FRAMES);
      state[AT.spread] = state[AT.spread] * kept + spread;
      state[AT.spreadWeight] = state[AT.spreadWeight] * kept + 1;
    }
    state[AT.joined] = state[AT.joined] * kept + BLOCK_FRAMES;
    state[AT.sum] = state[AT.sum] * kept + state[AT.blockSum];
    state[AT.pairs] = state[AT.pairs] * kept + state[AT.blockPairs];
    state[AT.squares] = state[AT.squares] * kept + state[AT.blockSquares];
    state[AT.products] = state[AT.products] * kept + state[AT.blockProducts];
    this.dropBlock();
    this.#setRates();
  }

  /** What was gathered since the last block does not count. */
  dropBlock(): void {
    this.state.fill(0, AT.blockFrames, AT.blockScore + 1);
  }

  #setRates(): void {
    const { state } = this;
    const count = state[AT.joined];
    const mean = count === 0 ? 0 : state[AT.sum] / count;
    const pairs = count === 0 ? 1 : Math.max(1, state[AT.pairs] / count);
    const spread = count === 0 ? 0 : Math.max(1e-9, state[AT.squares] / count - mean * mean);
    const together = count === 0 ? 0 : state[AT.products] / count - mean * mean;
    const persistence = count === 0 ? 0 : Math.max(0, Math.min(STIFFEST, together / spread));
    state[AT.mean] = mean;
    state[AT.usualPairs] = pairs;
    state[AT.persistence] = persistence;
    const variance = spread * (1 - persistence * persistence) * pairs;
    state[AT.variance] = (variance * count + PRIOR_VARIANCE * PRIOR_FRAMES) / (count + PRIOR_FRAMES);
    const blocks = state[AT.spreadWeight] + SPREAD_PRIOR_BLOCKS;
    state[AT.spreading] = Math.min(SPREAD_MAX, Math.max(1, (state[AT.spread] + SPREAD_PRIOR_BLOCKS) / blocks));
  }

  finding(): Finding {
    return this.#mixture.finding();
  }

  /** A spike is over: the test begins anew. */
  reset(): void {
    this.#mixture.reset();
  }

  /** Forgets what was usual. */
  relearn(): void {
    this.state.fill(0);
    this.#setRates();
  }
}

const clamp = (value: number, limit: number) => Math.max(-limit, Math.min(limit, value));
