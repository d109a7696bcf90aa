/**
 * Spikes of the localization error. Errors are taken as logarithms, so that a rise is a shift d = log(factor), whatever
 * the scene, and against each truth's own level, so that it does not matter who is there. An error persists from frame
 * to frame: the residual of a truth is an autoregression,
 *   r(k) = a r(k-1) + noise
 * A shift shows in full in the noise of its first frame and by (1 - a) d afterwards. The noise of all truths together,
 * z in standard deviations, adds s z - s^2 / 2 for a shift of s of them: an abrupt change is found at once. Two slow
 * tests find small common shifts: the levels of newcomers, each once, against those of newcomers before; and the mean
 * over all truths and a minute, against other minutes. Minutes share their truths: with a correlation r of neighbours
 * their sum varies (1 + r) / (1 - r) times as much.
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
  /** truths whose level has just become known; sums of their levels and of the squares */
  newcomers: number;
  newLevels: number;
  newSquares: number;
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
  newcomers: 0,
  newLevels: 0,
  newSquares: 0,
});

/** Rises looked for, abrupt and slow. */
const SHIFTS = [1.2, 1.5, 2.2].map(Math.log);
const SLOW_SHIFTS = [1.2, 1.5].map(Math.log);
/** kinds of change: abrupt, in minutes, in newcomers */
const MINUTES = SHIFTS.length;
const NEWCOMERS = MINUTES + SLOW_SHIFTS.length;
const KINDS = NEWCOMERS + SLOW_SHIFTS.length;
/** Evidence of one frame is limited, in standard deviations. */
const JUMP_MAX = 6;
const SHIFT_MAX = 1.5;
const Z_MAX = 8;
/** Frames whose distance differs by less come at the same pace. */
const SAME_PACE = 0.1;
const SLOW_SECONDS = 60;
const SLOW_SHIFT_MAX = 2.5;
/** A small shift takes minutes to be found: it is not learned before. */
const SLOW_HOLD_SECONDS = 900;
const IDLE_SECONDS_MAX = 1200;
/** Noise has longer tails than the model. */
const NOISE_CAUTION = 1.05;
/** The abrupt test comes to a new peak about so often. */
const NOISE_SECONDS = 1;
const SLOW_CAUTION = 1.2;
const NEWCOMER_CAUTION = 1.1;
/** How minutes correlate is believed as that, with the weight of so many blocks; and no more than this. */
const CORRELATION_PRIOR = 0.3;
const CORRELATION_MAX = 0.85;
/** Believed before anything was seen: variance of the noise of one truth, with the weight of so many. */
const PRIOR = { variance: 0.15, persistence: 0.5, weight: 100 };
/** of the means of blocks of a minute: variance with one truth, with the weight of so many blocks */
const SLOW_PRIOR = { variance: 0.5, weight: 6 };
/** of the levels of newcomers */
const NEWCOMER_PRIOR = { variance: 0.3, weight: 5 };
/** newcomers that must be known before others are compared with them */
const NEWCOMERS_MIN = 5;

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
  /** of a minute and the one before */
  slowProducts: 10,
  newcomers: 11,
  newLevels: 12,
  newSquares: 13,
  /** of the frames */
  seconds: 14,
} as const;
const SUMS = 15;
const AT = {
  blockSeconds: 0,
  blockSum: 1,
  blockPairs: 2,
  blockFrames: 3,
  /** of each abrupt shift, since it may have begun: the drift after its first frame, and seconds */
  changes: 4,
  /** for which there was no pair */
  idleSeconds: 4 + 2 * SHIFTS.length,
  /** by how much the minute before was off, times the root of its objects */
  excess: 5 + 2 * SHIFTS.length,
  /** seconds since the last newcomer; of each shift, since it may have begun: evidence of newcomers, and how many */
  newSeconds: 6 + 2 * SHIFTS.length,
  newChanges: 7 + 2 * SHIFTS.length,
} as const;
const USUAL_AT = AT.newChanges + 2 * SLOW_SHIFTS.length;

const EVIDENCE_AT = USUAL_AT + usualSize(SUMS);

export const errorDetectorSize = () => EVIDENCE_AT + evidenceSize(KINDS);

export class ErrorDetector extends Detector {
  // in force
  #persistence = 0;
  #variance = 1;
  /** seconds between the frames that both were learned from; 0 when that is not known */
  #interval = 0;
  #mean = 0;
  #slowVariance = 1;
  #meanError = 0;
  #newMean = 0;
  #newVariance = 1;

  constructor(state: Float64Array, settings: SpikeSettings) {
    super(state, settings, USUAL_AT, SUMS, EVIDENCE_AT);
    this.usual.holdSeconds = Math.max(settings.holdSeconds, SLOW_HOLD_SECONDS);
    this.resume();
  }

  /** What is kept of a residual from a frame to the next, so many seconds later: a camera may change its frame rate. */
  persistence(seconds: number): number {
    const apart = this.#interval > 0 ? seconds / this.#interval : 1;
    return Math.abs(apart - 1) < SAME_PACE ? this.#persistence : this.#persistence ** apart;
  }

  /** Variance of the noise of one truth in a frame: of what the residuals vary by, what was not kept. */
  #noiseVariance(persistence: number): number {
    if (persistence === this.#persistence) return this.#variance;
    return (this.#variance * (1 - persistence ** 2)) / (1 - this.#persistence ** 2);
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
    this.learned = this.usual.age > this.settings.learnSeconds && this.usual.sums[SUM.noisy] > 0;
    this.#followIdle(errors.pairs, seconds);
    if (!this.learned || errors.pairs === 0) return;
    if (errors.noisy > 0) this.#testNoise(errors, level, k, seconds);
    this.#gatherSlow(errors, level, k, seconds);
    this.state[AT.newSeconds] += seconds;
    if (errors.newcomers > 0) this.#testNewcomers(errors, level, k);
  }

  /** After a long time without a pair the usual mean is that of another time of day: it is learned anew. */
  #followIdle(pairs: number, seconds: number): void {
    const { state } = this;
    if (pairs > 0 && state[AT.idleSeconds] > IDLE_SECONDS_MAX) {
      this.usual.drop();
      this.usual.sums[SUM.sum] = this.usual.sums[SUM.pairs] = 0;
      this.usual.sums.fill(0, SUM.newcomers, SUM.newSquares + 1);
      state.fill(0, AT.blockSeconds, AT.changes);
    }
    state[AT.idleSeconds] = pairs > 0 ? 0 : state[AT.idleSeconds] + seconds;
  }

  #testNoise({ noise, trust, trustSquares, doubt }: Errors, level: number, k: number, seconds: number): void {
    const { state } = this;
    const persistence = this.persistence(seconds);
    const deviation = Math.sqrt(this.#noiseVariance(persistence) * trustSquares) / trust;
    const z = Math.max(-Z_MAX, Math.min(Z_MAX, noise / trust / deviation));
    for (let kind = 0; kind < SHIFTS.length; kind++) {
      const at = AT.changes + 2 * kind;
      const full = SHIFTS[kind] / deviation;
      const shift = Math.min(SHIFT_MAX, full * (1 - persistence));
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
      this.evidence.update(MINUTES + n, ratio, ratio, k, state[AT.blockSeconds], level);
    });
    // the spread of minutes is learned with the next block
    const weighted = excess * Math.sqrt(objects);
    const { block } = this.usual;
    block[SUM.slowSquares] += weighted * weighted;
    block[SUM.slowProducts] += weighted * state[AT.excess];
    block[SUM.slowBlocks]++;
    state[AT.excess] = weighted;
    state.fill(0, AT.blockSeconds, AT.changes);
  }

  /** Newcomers that are all off by the same; what is usual of them is known from so many, and no better. */
  #testNewcomers({ newcomers, newLevels }: Errors, level: number, k: number): void {
    const { state } = this;
    const known = this.usual.sums[SUM.newcomers];
    const seconds = state[AT.newSeconds];
    state[AT.newSeconds] = 0;
    if (known < NEWCOMERS_MIN) return;
    const deviation = Math.sqrt(this.#newVariance);
    const limit = Z_MAX * newcomers;
    const z = Math.max(-limit, Math.min(limit, (newLevels - newcomers * this.#newMean) / deviation));
    SLOW_SHIFTS.forEach((slow, n) => {
      const at = AT.newChanges + 2 * n;
      const shift = Math.min(SLOW_SHIFT_MAX, slow / deviation);
      const ratio = shift * z - (newcomers * shift * shift) / 2;
      const before = state[at] / (1 + state[at + 1] / known);
      const after = (state[at] + ratio) / (1 + (state[at + 1] + newcomers) / known);
      const fresh = ratio / (1 + newcomers / known);
      const old = this.evidence.update(NEWCOMERS + n, after - before, fresh, k, seconds, level);
      state[at] = old ? state[at] + ratio : ratio;
      state[at + 1] = old ? state[at + 1] + newcomers : newcomers;
    });
  }

  /** Adds a frame to what will be usual. */
  learn(errors: Errors, level: number, seconds: number): void {
    const { noisy, products, squares, noiseSquares, sum, pairs } = errors;
    if (pairs === 0) return;
    const { block } = this.usual;
    if (errors.newcomers > 0) {
      block[SUM.newcomers] += errors.newcomers;
      block[SUM.newLevels] += errors.newLevels;
      block[SUM.newSquares] += errors.newSquares;
    }
    block[SUM.products] += products;
    block[SUM.squares] += squares;
    block[SUM.noiseSquares] += noiseSquares;
    block[SUM.noisy] += noisy;
    block[SUM.sum] += sum;
    block[SUM.pairs] += pairs;
    block[SUM.meanError] += level;
    block[SUM.frames]++;
    block[SUM.seconds] += seconds;
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
    this.#interval = sums[SUM.frames] > 0 ? sums[SUM.seconds] / sums[SUM.frames] : 0;
    this.#meanError = sums[SUM.frames] > 0 ? sums[SUM.meanError] / sums[SUM.frames] : 0;
    this.#mean = sums[SUM.pairs] > 0 ? sums[SUM.sum] / sums[SUM.pairs] : Math.log(this.#meanError || 1);
    const slow = sums[SUM.slowBlocks] + SLOW_PRIOR.weight;
    const spread = SLOW_PRIOR.variance * SLOW_PRIOR.weight;
    const correlation = Math.max(
      0,
      Math.min(
        CORRELATION_MAX,
        (sums[SUM.slowProducts] + CORRELATION_PRIOR * spread) / (sums[SUM.slowSquares] + spread),
      ),
    );
    this.#slowVariance = (((sums[SUM.slowSquares] + spread) / slow) * (1 + correlation)) / (1 - correlation);
    this.#setNewcomers();
  }

  #setNewcomers(): void {
    const { sums } = this.usual;
    const count = sums[SUM.newcomers];
    this.#newMean = count > 0 ? sums[SUM.newLevels] / count : 0;
    const squares = Math.max(0, sums[SUM.newSquares] - count * this.#newMean ** 2);
    const { variance, weight } = NEWCOMER_PRIOR;
    this.#newVariance = (squares + variance * weight) / (count + weight);
  }

  protected least(kind: number): number {
    const { falseAlarmSeconds } = this.settings;
    const caution = young(this.usual.age);
    const slowly = caution ** 2 * Math.log((2 * SLOW_SHIFTS.length * falseAlarmSeconds) / SLOW_SECONDS);
    if (kind >= NEWCOMERS) return NEWCOMER_CAUTION * slowly;
    if (kind >= MINUTES) return SLOW_CAUTION * slowly;
    return caution ** 0.7 * NOISE_CAUTION * Math.log((SHIFTS.length * falseAlarmSeconds) / NOISE_SECONDS);
  }
}
