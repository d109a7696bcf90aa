/**
 * Spikes of the localization error. Errors are taken as logarithms, so that a rise is a shift d = log(factor), whatever
 * the scene, and against each truth's own level, so that it does not matter who is there. An error persists from frame
 * to frame: the residual of a truth is an autoregression,
 *   r(k) = a r(k-1) + noise
 * A shift shows in full in the noise of its first frame and by (1 - a) d afterwards. The noise of all truths together,
 * z in standard deviations, adds s z - s^2 / 2 for a shift of s of them: an abrupt change is found at once. A small
 * common shift, or one that every newcomer brings along, shows in the mean over all truths and a minute: a slow second
 * test, in standard deviations of minutes.
 */
import { Evidence, evidenceSize, type Finding } from './evidence.js';
import type { SpikeSettings } from './settings.js';
import { Usual, usualSize, young } from './usual.js';

/** What a frame says about errors, as logarithms. */
export interface Errors {
  /** sum of the noise over the truths whose level is known; how many they are */
  noise: number;
  noisy: number;
  /** sums of squares and products of residuals, for what is learned */
  products: number;
  squares: number;
  noiseSquares: number;
  /** sum of log errors over all pairs */
  sum: number;
  pairs: number;
}

export const noErrors = (): Errors => ({
  noise: 0,
  noisy: 0,
  products: 0,
  squares: 0,
  noiseSquares: 0,
  sum: 0,
  pairs: 0,
});

/** Rises looked for, abrupt and slow. */
const SHIFTS = [1.2, 1.5, 2.2].map(Math.log);
const SLOW_SHIFTS = [1.2, 1.5].map(Math.log);
const KINDS = SHIFTS.length + SLOW_SHIFTS.length;
/** Evidence of one frame is limited, in standard deviations. */
const JUMP_MAX = 6;
const SHIFT_MAX = 1.5;
const Z_MAX = 8;
const SLOW_SECONDS = 60;
/** Noise has longer tails than the model. */
const NOISE_CAUTION = 1.1;
/** Minutes share their objects: more is asked of them. */
const SLOW_CAUTION = 1.6;
/** Believed before anything was seen: variance of the noise of one truth, with the weight of so many. */
const PRIOR = { variance: 0.15, persistence: 0.5, weight: 100 };
/** of the means of blocks of a minute: variance with one truth, with the weight of so many blocks */
const SLOW_PRIOR = { variance: 0.5, weight: 6 };

const SUM = {
  products: 0,
  squares: 1,
  noiseSquares: 2,
  noisy: 3,
  /** log errors, of so many pairs */
  sum: 4,
  pairs: 5,
  meanError: 6,
  frames: 7,
  slowSquares: 8,
  slowBlocks: 9,
} as const;
const SUMS = 10;
const AT = { blockSeconds: 0, blockSum: 1, blockPairs: 2, blockFrames: 3, own: 4 } as const;

export const errorDetectorSize = () => AT.own + usualSize(SUMS) + evidenceSize(KINDS);

export class ErrorDetector {
  readonly usual: Usual;
  readonly #evidence: Evidence;
  #learned = false;
  // in force
  #persistence = 0;
  #variance = 1;
  #mean = 0;
  #slowVariance = 1;
  #meanError = 0;
  #pace = 1 / 30;

  constructor(
    private readonly state: Float64Array,
    private readonly settings: SpikeSettings,
  ) {
    const evidence = AT.own + usualSize(SUMS);
    this.usual = new Usual(state.subarray(AT.own, evidence), SUMS, settings.memorySeconds, settings.holdSeconds);
    this.#evidence = new Evidence(state.subarray(evidence), settings.falseAlarmSeconds);
    this.#setRates();
    if (this.#evidence.thresholds()[0] === 0) this.#evidence.advance(0, (kind) => this.#least(kind));
  }

  get persistence(): number {
    return this.#persistence;
  }

  get score(): number {
    return this.#learned ? this.#evidence.score : 0;
  }

  get alarming(): boolean {
    return this.#learned && this.#evidence.alarming;
  }

  /** The usual error; 0 before anything was seen. */
  expected(): number {
    return this.#meanError;
  }

  /** The usual log error of a pair. */
  get mean(): number {
    return this.#mean;
  }

  /** Adds a frame with the mean error `level`. */
  update(errors: Errors, level: number, k: number, seconds: number): void {
    this.#pace = seconds;
    this.#learned = this.usual.age > this.settings.learnSeconds && this.usual.sums[SUM.noisy] > 0;
    if (!this.#learned || errors.pairs === 0) return;
    if (errors.noisy > 0) this.#testNoise(errors, level, k, seconds);
    this.#gatherSlow(errors, level, k, seconds);
  }

  #testNoise({ noise, noisy }: Errors, level: number, k: number, seconds: number): void {
    const deviation = Math.sqrt(this.#variance / noisy);
    const z = Math.max(-Z_MAX, Math.min(Z_MAX, noise / noisy / deviation));
    for (let kind = 0; kind < SHIFTS.length; kind++) {
      const full = SHIFTS[kind] / deviation;
      const shift = Math.min(SHIFT_MAX, full * (1 - this.#persistence));
      const jump = Math.min(JUMP_MAX, full);
      this.#evidence.update(kind, shift * z - (shift * shift) / 2, jump * z - (jump * jump) / 2, k, seconds, level);
    }
  }

  #gatherSlow({ sum, pairs }: Errors, level: number, k: number, seconds: number): void {
    const { state } = this;
    state[AT.blockSeconds] += seconds;
    state[AT.blockSum] += sum;
    state[AT.blockPairs] += pairs;
    state[AT.blockFrames]++;
    if (state[AT.blockSeconds] < SLOW_SECONDS) return;
    const excess = state[AT.blockSum] / state[AT.blockPairs] - this.#mean;
    const objects = state[AT.blockPairs] / state[AT.blockFrames];
    const deviation = Math.sqrt(this.#slowVariance / objects);
    const z = Math.max(-Z_MAX, Math.min(Z_MAX, excess / deviation));
    SLOW_SHIFTS.forEach((slow, n) => {
      const shift = Math.min(SHIFT_MAX, slow / deviation);
      const ratio = shift * z - (shift * shift) / 2;
      this.#evidence.update(SHIFTS.length + n, ratio, ratio, k, state[AT.blockSeconds], level);
    });
    // the spread of minutes is learned with the next block
    this.usual.block[SUM.slowSquares] += excess * excess * objects;
    this.usual.block[SUM.slowBlocks]++;
    state.fill(0, AT.blockSeconds, AT.own);
  }

  /** Adds a frame to what will be usual. */
  learn({ noisy, products, squares, noiseSquares, sum, pairs }: Errors, level: number, seconds: number): void {
    if (pairs === 0) return;
    const { block } = this.usual;
    block[SUM.products] += products;
    block[SUM.squares] += squares;
    block[SUM.noiseSquares] += noiseSquares;
    block[SUM.noisy] += noisy;
    block[SUM.sum] += sum;
    block[SUM.pairs] += pairs;
    block[SUM.meanError] += level;
    block[SUM.frames]++;
    const closed = this.usual.advance(seconds);
    if (closed === 0) return;
    this.#setRates();
    this.#evidence.advance(closed, (kind) => this.#least(kind));
  }

  /** What is held back was part of an alarm. */
  drop(): void {
    this.usual.drop();
  }

  #setRates(): void {
    const { sums } = this.usual;
    const weight = sums[SUM.noisy] + PRIOR.weight;
    const share = sums[SUM.noisy] / weight;
    const persistence = sums[SUM.squares] > 0 ? sums[SUM.products] / sums[SUM.squares] : 0;
    this.#persistence = Math.max(0, Math.min(0.97, share * persistence + (1 - share) * PRIOR.persistence));
    this.#variance = (sums[SUM.noiseSquares] + PRIOR.variance * PRIOR.weight) / weight;
    this.#mean = sums[SUM.pairs] > 0 ? sums[SUM.sum] / sums[SUM.pairs] : 0;
    this.#meanError = sums[SUM.frames] > 0 ? sums[SUM.meanError] / sums[SUM.frames] : 0;
    const slow = sums[SUM.slowBlocks] + SLOW_PRIOR.weight;
    this.#slowVariance = (sums[SUM.slowSquares] + SLOW_PRIOR.variance * SLOW_PRIOR.weight) / slow;
  }

  #least(kind: number): number {
    const { falseAlarmSeconds } = this.settings;
    const caution = young(this.usual.age);
    if (kind >= SHIFTS.length)
      return caution ** 2 * SLOW_CAUTION * Math.log((SLOW_SHIFTS.length * falseAlarmSeconds) / SLOW_SECONDS);
    return caution * NOISE_CAUTION * Math.log((SHIFTS.length * falseAlarmSeconds) / this.#pace);
  }

  finding(): Finding {
    return this.#evidence.finding();
  }

  reset(): void {
    this.#evidence.reset();
  }

  evidenceSums(): number[] {
    return this.#evidence.sums();
  }

  thresholds(): number[] {
    return this.#evidence.thresholds();
  }

  relearn(): void {
    this.usual.relearn();
    this.#evidence.reset();
    this.#setRates();
  }

  restore(): void {
    this.usual.restore();
    this.#setRates();
  }
}
