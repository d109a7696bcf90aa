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
import { Detector } from './detector.js';
import { evidenceSize } from './evidence.js';
import type { SpikeSettings } from './settings.js';
import { usualSize, young } from './usual.js';

/** What a frame says about errors, as logarithms. */
export interface Errors {
  /** sum of the noise over the truths whose level is known, each by how far it is trusted; and how many they are */
  noise: number;
  noisy: number;
  /** sums of that trust, of its squares, and of these over the seconds that a level was learned from */
  trust: number;
  trustSquares: number;
  doubt: number;
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
  trust: 0,
  trustSquares: 0,
  doubt: 0,
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
const SLOW_SHIFT_MAX = 2.5;
/** A small shift takes minutes to be found: it is not learned before. */
const SLOW_HOLD_SECONDS = 900;
const IDLE_SECONDS_MAX = 1200;
/** Noise has longer tails than the model. */
const NOISE_CAUTION = 1.05;
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
const AT = {
  blockSeconds: 0,
  blockSum: 1,
  blockPairs: 2,
  blockFrames: 3,
  /** of each abrupt shift, since it may have begun: the drift after its first frame, and seconds */
  changes: 4,
  /** for which there was no pair */
  idleSeconds: 4 + 2 * SHIFTS.length,
} as const;
const USUAL_AT = AT.idleSeconds + 1;

const EVIDENCE_AT = USUAL_AT + usualSize(SUMS);

export const errorDetectorSize = () => EVIDENCE_AT + evidenceSize(KINDS);

export class ErrorDetector extends Detector {
  // in force
  #persistence = 0;
  #variance = 1;
  #mean = 0;
  #slowVariance = 1;
  #meanError = 0;
  #pace = 1 / 30;

  constructor(state: Float64Array, settings: SpikeSettings) {
    super(state, settings, USUAL_AT, SUMS, EVIDENCE_AT);
    this.usual.holdSeconds = Math.max(settings.holdSeconds, SLOW_HOLD_SECONDS);
    this.resume();
  }

  get persistence(): number {
    return this.#persistence;
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
    this.learned = this.usual.age > this.settings.learnSeconds && this.usual.sums[SUM.noisy] > 0;
    this.#followIdle(errors.pairs, seconds);
    if (!this.learned || errors.pairs === 0) return;
    if (errors.noisy > 0) this.#testNoise(errors, level, k, seconds);
    this.#gatherSlow(errors, level, k, seconds);
  }

  /** After a long time without a pair the usual mean is that of another time of day: it is learned anew. */
  #followIdle(pairs: number, seconds: number): void {
    const { state } = this;
    if (pairs > 0 && state[AT.idleSeconds] > IDLE_SECONDS_MAX) {
      this.usual.drop();
      this.usual.sums[SUM.sum] = this.usual.sums[SUM.pairs] = 0;
      state.fill(0, AT.blockSeconds, AT.changes);
    }
    state[AT.idleSeconds] = pairs > 0 ? 0 : state[AT.idleSeconds] + seconds;
  }

  #testNoise({ noise, trust, trustSquares, doubt }: Errors, level: number, k: number, seconds: number): void {
    const { state } = this;
    const deviation = Math.sqrt(this.#variance * trustSquares) / trust;
    const z = Math.max(-Z_MAX, Math.min(Z_MAX, noise / trust / deviation));
    for (let kind = 0; kind < SHIFTS.length; kind++) {
      const at = AT.changes + 2 * kind;
      const full = SHIFTS[kind] / deviation;
      const shift = Math.min(SHIFT_MAX, full * (1 - this.#persistence));
      const jump = Math.min(JUMP_MAX, full);
      const fresh = jump * z - (jump * jump) / 2;
      const drift = shift * z - (shift * shift) / 2;
      // levels that were learned in w seconds make a drift of t seconds 1 + t / w times as uncertain
      const before = state[at] / (1 + (state[at + 1] * doubt) / trustSquares);
      const after = (state[at] + drift) / (1 + ((state[at + 1] + seconds) * doubt) / trustSquares);
      const old = this.evidence.update(kind, after - before, fresh, k, seconds, level);
      state[at] = old ? state[at] + drift : 0;
      state[at + 1] = old ? state[at + 1] + seconds : 0;
    }
  }

  #gatherSlow({ sum, pairs }: Errors, level: number, k: number, seconds: number): void {
    const { state } = this;
    if (this.usual.sums[SUM.pairs] === 0) return;
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
      const shift = Math.min(SLOW_SHIFT_MAX, slow / deviation);
      const ratio = shift * z - (shift * shift) / 2;
      this.evidence.update(SHIFTS.length + n, ratio, ratio, k, state[AT.blockSeconds], level);
    });
    // the spread of minutes is learned with the next block
    this.usual.block[SUM.slowSquares] += excess * excess * objects;
    this.usual.block[SUM.slowBlocks]++;
    state.fill(0, AT.blockSeconds, AT.changes);
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
    this.setRates();
    this.advanceEvidence(closed);
  }

  protected setRates(): void {
    const { sums } = this.usual;
    const weight = sums[SUM.noisy] + PRIOR.weight;
    const share = sums[SUM.noisy] / weight;
    const persistence = sums[SUM.squares] > 0 ? sums[SUM.products] / sums[SUM.squares] : 0;
    this.#persistence = Math.max(0, Math.min(0.97, share * persistence + (1 - share) * PRIOR.persistence));
    this.#variance = (sums[SUM.noiseSquares] + PRIOR.variance * PRIOR.weight) / weight;
    this.#meanError = sums[SUM.frames] > 0 ? sums[SUM.meanError] / sums[SUM.frames] : 0;
    this.#mean = sums[SUM.pairs] > 0 ? sums[SUM.sum] / sums[SUM.pairs] : Math.log(this.#meanError || 1);
    const slow = sums[SUM.slowBlocks] + SLOW_PRIOR.weight;
    this.#slowVariance = (sums[SUM.slowSquares] + SLOW_PRIOR.variance * SLOW_PRIOR.weight) / slow;
  }

  protected least(kind: number): number {
    const { falseAlarmSeconds } = this.settings;
    const caution = young(this.usual.age);
    if (kind >= SHIFTS.length)
      return caution ** 2 * SLOW_CAUTION * Math.log((SLOW_SHIFTS.length * falseAlarmSeconds) / SLOW_SECONDS);
    return caution ** 0.7 * NOISE_CAUTION * Math.log((SHIFTS.length * falseAlarmSeconds) / this.#pace);
  }
}
