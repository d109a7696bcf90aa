/**
 * The sequential test that all signals share: a CUSUM for each kind of change that is looked for,
 *
 *     S_j(k) = max(S_j(k-1), 0) + log L_j(k)      or log F_j(k), if that is more
 *
 * L_j being the likelihood ratio of frame k when change j was there before, F_j when it begins at k. It is an alarm
 * when S_j reaches its threshold: what the model promises (`least`), or, where the world is rougher than the model, the
 * level that peaks of S_j come to once in `falseAlarmSeconds`: the excesses of the largest peaks so far over the least
 * of them have an exponential tail, and how long it is is learned. So whatever recurs (an occlusion, a shower of
 * clutter) raises the threshold to just above itself, and what lasts longer still passes it.
 */

/** Peaks are counted in classes, each a tenth higher than the last. */
const CLASSES = 72;
const LOWEST = 3;
const STEP = Math.log(1.1);
const AT = {
  sum: 0,
  peak: 1,
  firstFrame: 2,
  seconds: 3,
  level: 4,
  frames: 5,
  alarmed: 6,
  threshold: 7,
  top: 8,
  peakSeconds: 9,
  least: 10,
  burst: 11,
} as const;
const KIND = 12;
/** the tail is judged by so many of the largest peaks, and by so many that are as the model says, of mean excess 1 */
const TOP = 30;
const TOP_BELIEVED = 5;
/** what was learned of the tail is not certain: an alarm is expected once in so many times as long */
const HORIZON = 4;
/** a tail says no more than so many times the largest peak */
const BEYOND_TOP = 1.5;
/**
 * How far beyond the largest burst that was an alarm the threshold is, times the bursts like it; when there was but
 * one, just above it: that may have been a fault, and the next one that is worse is told.
 */
const MARGIN = 3;
const MARGIN_ALONE = 1.05;
/** An alarm that took longer to come to its peak was no burst: no more of it is learned than so many thresholds. */
const BURST_SECONDS = 120;
const SLOW_PEAK = 1.3;
const SUM_MAX = 1e6;
/** peaks are forgotten over this time */
const TAIL_SECONDS = 7 * 86_400;

/** before the kinds: seconds that peaks were counted for, and seconds since an alarm began that has not subsided */
const COMMON = { seconds: 0, alarm: 1 } as const;
const KINDS = 2;

const NO_TAIL: number[] = [];

export const evidenceSize = (kinds: number) => KINDS + kinds * KIND;

/** What the test says about a change: its first frame, and the mean level since. */
export interface Change {
  firstFrame: number;
  observed: number;
}

export class SequentialTest {
  readonly #kinds: number;
  /** of each kind: how many peaks there were of each class, up to the highest; most kinds never have any */
  readonly #tails: number[][];

  constructor(
    private readonly state: Float64Array,
    private readonly falseAlarmSeconds: number,
  ) {
    this.#kinds = (state.length - KINDS) / KIND;
    this.#tails = new Array(this.#kinds).fill(NO_TAIL);
  }

  /** All of it, the classes of each kind behind its other numbers, in a list of always the same length. */
  toJSON(): number[] {
    const numbers = Array.from(this.state.subarray(0, KINDS));
    this.#tails.forEach((tail, kind) => {
      const at = KINDS + kind * KIND;
      numbers.push(...this.state.subarray(at, at + KIND));
      for (let n = 0; n < CLASSES; n++) numbers.push(tail[n] ?? 0);
    });
    return numbers;
  }

  /** Goes on where `toJSON` was called; false, and nothing is changed, where these are no such numbers. */
  restore(numbers: readonly number[]): boolean {
    if (numbers.length !== KINDS + this.#kinds * (KIND + CLASSES)) return false;
    this.state.set(numbers.slice(0, KINDS));
    for (let kind = 0; kind < this.#kinds; kind++) {
      const from = KINDS + kind * (KIND + CLASSES);
      const tail = numbers.slice(from + KIND, from + KIND + CLASSES);
      this.state.set(numbers.slice(from, from + KIND), KINDS + kind * KIND);
      while (tail.at(-1) === 0) tail.pop();
      this.#tails[kind] = tail.length > 0 ? tail : NO_TAIL;
    }
    return true;
  }

  /**
   * Adds one frame, or block, under change `kind`: `going` and `fresh` are log L and log F. Says whether the change,
   * if it is there, rather began before.
   */
  update(kind: number, going: number, fresh: number, k: number, seconds: number, level: number): boolean {
    const { state } = this;
    const at = KINDS + kind * KIND;
    const before = state[at + AT.sum];
    const sum = Math.min(SUM_MAX, Math.max(before + going, fresh));
    this.elapse(kind, seconds);
    if (sum <= 0) {
      if (before > 0) this.#close(kind);
      return false;
    }
    const old = before > 0 && fresh <= before + going;
    if (!old) {
      if (before > 0) this.#close(kind);
      state[at + AT.seconds] = state[at + AT.peak] = 0;
      state[at + AT.firstFrame] = k;
      state[at + AT.level] = state[at + AT.frames] = 0;
    }
    state[at + AT.sum] = sum;
    state[at + AT.seconds] += seconds;
    state[at + AT.level] += level;
    state[at + AT.frames]++;
    if (sum > state[at + AT.peak]) {
      state[at + AT.peak] = sum;
      state[at + AT.peakSeconds] = state[at + AT.seconds];
    }
    if (sum >= state[at + AT.threshold]) state[at + AT.alarmed] = 1;
    return old;
  }

  /** There is some evidence of change `kind`. */
  has(kind: number): boolean {
    return this.state[KINDS + kind * KIND + AT.sum] > 0;
  }

  /** Seconds since change `kind` may have begun. */
  secondsSince(kind: number): number {
    return this.state[KINDS + kind * KIND + AT.seconds];
  }

  /** A frame that says nothing of change `kind` has passed. */
  elapse(kind: number, seconds: number): void {
    if (kind === 0 && this.state[COMMON.alarm] > 0) this.state[COMMON.alarm] += seconds;
  }

  /** The sum is back at 0: its peak is one of those that happen. */
  #close(kind: number): void {
    const { state } = this;
    const at = KINDS + kind * KIND;
    const short = state[at + AT.peakSeconds] <= BURST_SECONDS && state[COMMON.alarm] <= BURST_SECONDS;
    const most = state[at + AT.alarmed] === 1 && !short ? SLOW_PEAK * state[at + AT.threshold] : SUM_MAX;
    const peak = Math.min(most, state[at + AT.peak]);
    state[at + AT.sum] = state[at + AT.alarmed] = 0;
    if (peak < LOWEST) return;
    if (short && state[COMMON.alarm] > 0) state[at + AT.burst] = Math.max(state[at + AT.burst], peak);
    const index = Math.min(CLASSES - 1, Math.floor(Math.log(peak / LOWEST) / STEP));
    if (this.#tails[kind] === NO_TAIL) this.#tails[kind] = [];
    const tail = this.#tails[kind];
    while (tail.length <= index) tail.push(0);
    tail[index]++;
    if (peak > state[at + AT.top]) state[at + AT.top] = peak;
    if (peak > 0.5 * state[at + AT.threshold]) this.#setThreshold(kind);
  }

  /** Time has passed; `least` are the thresholds that the model promises, by kind. */
  advance(seconds: number, least: (kind: number) => number): void {
    const { state } = this;
    const kept = Math.exp(-seconds / TAIL_SECONDS);
    state[COMMON.seconds] = state[COMMON.seconds] * kept + seconds;
    for (let kind = 0; kind < this.#kinds; kind++) {
      const at = KINDS + kind * KIND;
      const tail = this.#tails[kind];
      for (let n = 0; n < tail.length; n++) if (tail[n] > 0) tail[n] *= kept;
      state[at + AT.top] *= kept;
      state[at + AT.burst] *= kept;
      state[at + AT.least] = least(kind);
      this.#setThreshold(kind);
    }
  }

  #setThreshold(kind: number): void {
    const { state } = this;
    const at = KINDS + kind * KIND;
    state[at + AT.threshold] = Math.max(state[at + AT.least], this.#returnLevel(kind), this.#beyondBurst(kind));
  }

  /** The level that peaks reach once in `falseAlarmSeconds`, as far as the largest of them tell. */
  #returnLevel(kind: number): number {
    const { state } = this;
    const tail = this.#tails[kind];
    const top = state[KINDS + kind * KIND + AT.top];
    if (top === 0) return 0;
    let count = 0;
    let sum = 0;
    let lowest = top;
    for (let n = tail.length - 1; n >= 0 && count < TOP; n--) {
      const peaks = tail[n];
      if (peaks === 0) continue;
      const middle = Math.min(top, LOWEST * Math.exp((n + 0.5) * STEP));
      count += peaks;
      sum += peaks * middle;
      lowest = middle;
    }
    const known = count + TOP_BELIEVED;
    const excesses = sum - count * lowest + TOP_BELIEVED;
    const times = (count * this.#kinds * HORIZON * this.falseAlarmSeconds) / Math.max(60, state[COMMON.seconds]);
    // the next of n excesses with sum s is above x with the chance (1 + x / s)^-n, the mean of the tail being unknown
    return Math.min(BEYOND_TOP * top, lowest + excesses * Math.expm1(Math.log(Math.max(1, times)) / known));
  }

  /** Just above the largest burst that was an alarm; the fewer there were like it, the further. */
  #beyondBurst(kind: number): number {
    const tail = this.#tails[kind];
    const burst = this.state[KINDS + kind * KIND + AT.burst];
    if (burst === 0) return 0;
    let alike = 0;
    for (let n = tail.length - 1; n >= 0; n--) {
      if (LOWEST * Math.exp((n + 1) * STEP) < 0.7 * burst) break;
      alike += tail[n];
    }
    return burst * (alike < 1.5 ? MARGIN_ALONE : 1 + MARGIN / alike);
  }

  get alarming(): boolean {
    for (let at = KINDS; at < this.state.length; at += KIND)
      if (this.state[at + AT.sum] >= this.state[at + AT.threshold] && this.state[at + AT.threshold] > 0) return true;
    return false;
  }

  /** The largest sum as a share of its threshold: 1 is an alarm. */
  get score(): number {
    return this.#score(this.#best());
  }

  #score(at: number): number {
    const threshold = this.state[at + AT.threshold];
    return threshold > 0 ? this.state[at + AT.sum] / threshold : 0;
  }

  #best(): number {
    let best = KINDS;
    for (let at = KINDS; at < this.state.length; at += KIND) if (this.#score(at) > this.#score(best)) best = at;
    return best;
  }

  /** The kind of change that there is most evidence of. */
  get likeliest(): number {
    return (this.#best() - KINDS) / KIND;
  }

  finding(): Change {
    const at = this.#best();
    const { state } = this;
    const frames = state[at + AT.frames];
    return { firstFrame: state[at + AT.firstFrame], observed: frames === 0 ? 0 : state[at + AT.level] / frames };
  }

  /** A spike starts: until it subsides, peaks belong to it. */
  open(): void {
    this.state[COMMON.alarm] = Number.MIN_VALUE;
  }

  /** A spike is over, as far as is known: if it was short it is a burst that happens, for all kinds of change alike. */
  subside(): void {
    if (this.state[COMMON.alarm] > 0) this.reset();
  }

  /** The test begins anew. */
  reset(): void {
    for (let kind = 0; kind < this.#kinds; kind++) if (this.has(kind)) this.#close(kind);
    this.state[COMMON.alarm] = 0;
  }

  sums(): number[] {
    return Array.from({ length: this.#kinds }, (_, kind) => this.state[KINDS + kind * KIND + AT.sum]);
  }

  thresholds(): number[] {
    return Array.from({ length: this.#kinds }, (_, kind) => this.state[KINDS + kind * KIND + AT.threshold]);
  }
}
