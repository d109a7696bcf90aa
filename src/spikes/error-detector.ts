/**
 * Spikes of the localization error. Errors are taken as logarithms, so that a rise is a shift d = log(factor), whatever
 * the scene, and against each truth's own level, so that it does not matter who is there. Two tests:
 * - abrupt: an error persists from frame to frame, r(k) = a r(k-1) + noise, r being the residual of a truth. A shift
 *   shows in full in the noise of its first frame and by (1 - a) d afterwards. The noise of all truths together, z in
 *   standard deviations, adds s z - s^2 / 2 for a shift of s of them.
 * - slow: every few seconds the mean error of a truth is compared with its own level (own-level.ts), that of a newcomer
 *   with those of newcomers before. It adds s z - s^2 / 2, s being what its level has not taken up of the shift. What
 *   truths have in common, or keep for long, shows in sums over minutes: if these vary more than by chance, evidence
 *   counts less.
 */
import { Detector } from './detector.js';
import { evidenceSize } from './evidence.js';
import { OWN, type OwnLevel, SHIFTS_WATCHED, showing, takeUp } from './own-level.js';
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
  pairs: number;
  /** truths that have a mean over some seconds, and whether levels may take it up */
  due: OwnLevel[];
  learns: boolean;
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
  pairs: 0,
  due: [],
  learns: true,
});

/** Rises looked for, abrupt and slow. */
const SHIFTS = [1.2, 1.5, 2.2].map(Math.log);
const SLOW_SHIFTS = [1.2, 1.5].map(Math.log);
const KINDS = SHIFTS.length + SHIFTS_WATCHED;
/** Evidence of one frame is limited, in standard deviations. */
const JUMP_MAX = 6;
const SHIFT_MAX = 1.5;
const Z_MAX = 8;
/** Frames whose distance differs by less come at the same pace. */
const SAME_PACE = 0.1;
const MINUTE_SECONDS = 60;
const SLOW_Z_MAX = 4;
/** A small shift takes minutes to be found: it is not learned before. */
const SLOW_HOLD_SECONDS = 1200;
const SLOW_HOLD_SECONDS_MAX = 3600;
const HOLD_NEWCOMERS = 100;
const MEMORY_NEWCOMERS = 400;
const MEMORY_SECONDS_MAX = 7200;
const IDLE_SECONDS_MAX = 1200;
/** Noise has longer tails than the model. */
const NOISE_CAUTION = 1.05;
const SLOW_CAUTION = 1.1;
/** The tests come to a new peak about so often. */
const NOISE_SECONDS = 1;
const SLOW_SECONDS = 10;
/** Believed before anything was seen: variance of the noise of one truth, with the weight of so many. */
const PRIOR = { variance: 0.15, persistence: 0.5, weight: 100 };
/** of the mean error over a second; of the first mean of newcomers */
const MEAN_PRIOR = { variance: 0.2, weight: 10 };
const NEWCOMER_PRIOR = { variance: 0.3, weight: 5 };
/** of the sum of a minute, where chance alone makes 1 */
const MINUTE_PRIOR = { variance: 1.5, weight: 10 };
const CORRELATION_MAX = 0.7;
/** Newcomers differ by so much at least, and a level is never known better than from so many seconds: it wanders. */
const SPREAD_MIN = 0.01;
const LEVEL_SECONDS_MAX = 60;
/** newcomers that must be known before others are compared with them */
const NEWCOMERS_MIN = 5;

const SUM = {
  products: 0,
  squares: 1,
  noiseSquares: 2,
  noisy: 3,
  meanError: 4,
  logError: 5,
  frames: 6,
  seconds: 7,
  /** squares of the sums of minutes, in standard deviations; minutes */
  minuteSquares: 8,
  minutes: 9,
  /** the first means of newcomers */
  newcomers: 10,
  newMeans: 11,
  newSquares: 12,
  /** from a mean to the next one, and to the one after: how many, and half their squares as if over a second each */
  steps: 13,
  stepSquares: 14,
  leaps: 15,
  leapSquares: 16,
} as const;
const SUMS = 17;
const AT = {
  /** the minute that is gathered: seconds, means, and their sum in standard deviations */
  minuteSeconds: 0,
  minuteMeans: 1,
  minuteSum: 2,
  /** for which there was no pair; since means were compared */
  idleSeconds: 3,
  slowSeconds: 4,
  /** of each abrupt shift, since it may have begun: the drift after its first frame, and seconds */
  changes: 5,
  /** of each slow shift, since it may have begun: evidence, newcomers; and how often it may have begun */
  slow: 5 + 2 * SHIFTS.length,
} as const;
const SLOW = { evidence: 0, newcomers: 1, began: 2 } as const;
const SLOW_SIZE = 3;
const USUAL_AT = AT.slow + SLOW_SIZE * SHIFTS_WATCHED;

const EVIDENCE_AT = USUAL_AT + usualSize(SUMS);

export const errorDetectorSize = () => EVIDENCE_AT + evidenceSize(KINDS);

// scratch: what the means that are due say of each small shift, if it was there before, and if it begins
const whereGoing = new Float64Array(SHIFTS_WATCHED);
const whereFresh = new Float64Array(SHIFTS_WATCHED);

export class ErrorDetector extends Detector {
  // in force
  #persistence = 0;
  #variance = 1;
  /** seconds between the frames that both were learned from; 0 when that is not known */
  #interval = 0;
  #logError = 0;
  #meanError = 0;
  /** of a mean over a second; of the first mean of newcomers */
  #meanVariance = 1;
  #newMean = 0;
  #newVariance = 1;
  /** how much slow evidence counts */
  #slowScale = 1;

  constructor(state: Float64Array, settings: SpikeSettings, numbers?: readonly number[]) {
    super(state, settings, USUAL_AT, SUMS, EVIDENCE_AT, numbers);
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

  /** The usual logarithm of that. */
  get mean(): number {
    return this.#logError;
  }

  /** Adds a frame with the mean error `level`. */
  update(errors: Errors, level: number, k: number, seconds: number): void {
    this.learned = this.usual.age > this.settings.learnSeconds && this.usual.sums[SUM.noisy] > 0;
    this.#followIdle(errors.pairs, seconds);
    if (errors.pairs === 0) return;
    if (this.learned && errors.noisy > 0) this.#testNoise(errors, level, k, seconds);
    this.state[AT.slowSeconds] += seconds;
    if (errors.due.length > 0) this.#testLevels(errors, level, k);
    this.#gatherMinute(seconds, errors.learns);
  }

  /** After a long time without a pair the usual mean is that of another time of day: it is learned anew. */
  #followIdle(pairs: number, seconds: number): void {
    const { state } = this;
    if (pairs > 0 && state[AT.idleSeconds] > IDLE_SECONDS_MAX) {
      this.usual.drop();
      this.usual.sums.fill(0, SUM.newcomers, SUM.newSquares + 1);
      state.fill(0, AT.minuteSeconds, AT.idleSeconds);
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

  /** Means that are due; what is usual of newcomers is known from so many, and no better. */
  #testLevels({ due, learns }: Errors, level: number, k: number): void {
    const { state } = this;
    const known = this.usual.sums[SUM.newcomers];
    whereGoing.fill(0);
    whereFresh.fill(0);
    let newcomers = 0;
    for (const own of due) {
      if (own[OWN.means] === 0) newcomers += this.#welcome(own, known, learns);
      if (own[OWN.doubt] > 0) this.#weigh(own);
    }
    const scale = this.learned ? this.#slowScale : 0;
    const doubt = (count: number) => 1 + count / Math.max(1, known);
    for (let n = 0; n < SHIFTS_WATCHED; n++) {
      const at = AT.slow + SLOW_SIZE * n;
      const [sum, since] = [state[at + SLOW.evidence], state[at + SLOW.newcomers]];
      const going = (sum + whereGoing[n]) / doubt(since + newcomers) - sum / doubt(since);
      const fresh = whereFresh[n] / doubt(newcomers);
      const kind = SHIFTS.length + n;
      const old = this.evidence.update(kind, scale * going, scale * fresh, k, state[AT.slowSeconds], level);
      state[at + SLOW.evidence] = old ? sum + whereGoing[n] : Math.max(0, whereFresh[n]);
      state[at + SLOW.newcomers] = old ? since + newcomers : newcomers;
      if (!old) state[at + SLOW.began]++;
    }
    state[AT.slowSeconds] = 0;
    for (const own of due) this.#takeUp(own, learns);
  }

  /** A truth that is new is believed to be as others were; how many it adds to those that are compared. */
  #welcome(own: OwnLevel, known: number, learns: boolean): number {
    const { block } = this.usual;
    const mean = own[OWN.sum] / own[OWN.seconds];
    if (learns) {
      block[SUM.newcomers]++;
      block[SUM.newMeans] += mean;
      block[SUM.newSquares] += mean * mean;
    }
    if (known < NEWCOMERS_MIN) return 0;
    own[OWN.believed] = this.#newMean;
    own[OWN.doubt] = Math.max(SPREAD_MIN, this.#newVariance - this.#meanVariance / own[OWN.seconds]);
    return 1;
  }

  #weigh(own: OwnLevel): void {
    const { state } = this;
    const mean = own[OWN.sum] / own[OWN.seconds];
    const deviation = Math.sqrt(own[OWN.doubt] + this.#meanVariance / own[OWN.seconds]);
    const z = Math.max(-SLOW_Z_MAX, Math.min(SLOW_Z_MAX, (mean - own[OWN.believed]) / deviation));
    state[AT.minuteMeans]++;
    state[AT.minuteSum] += z;
    for (let n = 0; n < SHIFTS_WATCHED; n++) {
      const full = SLOW_SHIFTS[n] / deviation;
      const shift = full * showing(own, n, state[AT.slow + SLOW_SIZE * n + SLOW.began]);
      whereGoing[n] += shift * z - (shift * shift) / 2;
      whereFresh[n] += full * z - (full * full) / 2;
    }
  }

  #takeUp(own: OwnLevel, learns: boolean): void {
    const { state } = this;
    const { block } = this.usual;
    const noise = this.#meanVariance / own[OWN.seconds];
    if (own[OWN.means] > 0 && learns) {
      const step = own[OWN.sum] / own[OWN.seconds] - own[OWN.lastMean];
      block[SUM.steps]++;
      block[SUM.stepSquares] += (step * step * own[OWN.seconds]) / 2;
    }
    if (own[OWN.means] > 1 && learns) {
      const leap = own[OWN.sum] / own[OWN.seconds] - own[OWN.meanBefore];
      block[SUM.leaps]++;
      block[SUM.leapSquares] += (leap * leap * own[OWN.seconds]) / 2;
    }
    const gain =
      own[OWN.doubt] === 0 ? 1 : learns || own[OWN.means] === 0 ? own[OWN.doubt] / (own[OWN.doubt] + noise) : 0;
    const seconds = own[OWN.seconds];
    takeUp(own, gain, state[AT.slow + SLOW.began], state[AT.slow + SLOW_SIZE + SLOW.began]);
    own[OWN.doubt] = Math.max(
      gain === 1 ? noise : own[OWN.doubt],
      this.#meanVariance / Math.max(seconds, LEVEL_SECONDS_MAX),
    );
  }

  #gatherMinute(seconds: number, learns: boolean): void {
    const { state } = this;
    state[AT.minuteSeconds] += seconds;
    if (state[AT.minuteSeconds] < MINUTE_SECONDS) return;
    if (state[AT.minuteMeans] > 0 && learns) {
      const { block } = this.usual;
      block[SUM.minuteSquares] += state[AT.minuteSum] ** 2 / state[AT.minuteMeans];
      block[SUM.minutes]++;
    }
    state.fill(0, AT.minuteSeconds, AT.idleSeconds);
  }

  /** Adds a frame to what will be usual. */
  learn(errors: Errors, level: number, seconds: number): void {
    const { noisy, products, squares, noiseSquares, pairs } = errors;
    if (pairs === 0) return;
    const { block } = this.usual;
    block[SUM.products] += products;
    block[SUM.squares] += squares;
    block[SUM.noiseSquares] += noiseSquares;
    block[SUM.noisy] += noisy;
    block[SUM.meanError] += level;
    block[SUM.logError] += Math.log(level);
    block[SUM.frames]++;
    block[SUM.seconds] += seconds;
    const closed = this.usual.advance(seconds, this.doubted);
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
    this.#logError = sums[SUM.frames] > 0 ? sums[SUM.logError] / sums[SUM.frames] : 0;
    const minutes = sums[SUM.minutes] + MINUTE_PRIOR.weight;
    const spread = (sums[SUM.minuteSquares] + MINUTE_PRIOR.variance * MINUTE_PRIOR.weight) / minutes;
    this.#slowScale = 1 / Math.max(1, spread);
    this.#setMeans();
    this.#setNewcomers();
    this.#setMemory();
  }

  /** Where newcomers are rare, a small shift takes as many of them to be found, and longer. */
  #setMemory(): void {
    const { sums } = this.usual;
    const { memorySeconds, holdSeconds } = this.settings;
    const often = (sums[SUM.newcomers] + NEWCOMERS_MIN) / (sums[SUM.seconds] + MINUTE_SECONDS);
    const hold = Math.max(SLOW_HOLD_SECONDS, Math.min(SLOW_HOLD_SECONDS_MAX, HOLD_NEWCOMERS / often));
    this.usual.holdSeconds = Math.max(holdSeconds, hold);
    this.usual.memorySeconds = Math.max(memorySeconds, Math.min(MEMORY_SECONDS_MAX, MEMORY_NEWCOMERS / often));
  }

  /**
   * Means of one truth correlate by r: steps have the variance v (1 - r), leaps v (1 - r^2), and what a long mean is
   * off by is that of independent ones with v (1 + r) / (1 - r).
   */
  #setMeans(): void {
    const { sums } = this.usual;
    const { variance, weight } = MEAN_PRIOR;
    const step = (sums[SUM.stepSquares] + variance * weight) / (sums[SUM.steps] + weight);
    const leap = (sums[SUM.leapSquares] + variance * weight) / (sums[SUM.leaps] + weight);
    const correlation = Math.max(0, Math.min(CORRELATION_MAX, leap / step - 1));
    this.#meanVariance = (step * (1 + correlation)) / (1 - correlation) ** 2;
  }

  #setNewcomers(): void {
    const { sums } = this.usual;
    const count = sums[SUM.newcomers];
    this.#newMean = count > 0 ? sums[SUM.newMeans] / count : 0;
    const squares = Math.max(0, sums[SUM.newSquares] - count * this.#newMean ** 2);
    const { variance, weight } = NEWCOMER_PRIOR;
    this.#newVariance = (squares + variance * weight) / (count + weight);
  }

  protected least(kind: number): number {
    const { falseAlarmSeconds } = this.settings;
    const caution = young(this.usual.age);
    if (kind >= SHIFTS.length)
      return caution ** 2 * SLOW_CAUTION * Math.log((SHIFTS_WATCHED * falseAlarmSeconds) / SLOW_SECONDS);
    return caution * NOISE_CAUTION * Math.log((SHIFTS.length * falseAlarmSeconds) / NOISE_SECONDS);
  }
}
