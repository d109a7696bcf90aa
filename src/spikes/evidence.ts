/**
 * The sequential test that all signals share: a CUSUM for each kind of change that is looked for,
 *
 *     S_j(k) = max(S_j(k-1), 0) + log L_j(k)      or log F_j(k), if that is more
 *
 * L_j being the likelihood ratio of frame k when change j was there before, F_j when it begins at k. It is an alarm
 * when S_j reaches its threshold: what the model promises (`least`), or, where the world is rougher than the model, the
 * level that peaks of S_j come to once in `falseAlarmSeconds`, as the largest peaks so far tell. So whatever recurs (an
 * occlusion, a shower of clutter) raises the threshold to just above itself, and what lasts longer still passes it.
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
} as const;
const TAIL = 11;
const KIND = TAIL + CLASSES;
/** the tail is judged by its largest peak, and by this one */
const TOP = 10;
/** how far beyond a peak that the model did not promise the threshold is, when there was only one like it */
const MARGIN = 1;
/** An alarm that lasted longer was no burst: its peak is not learned. */
const BURST_SECONDS = 120;
/** a tail through the tenth peak says no more than so many times the largest */
const BEYOND_TOP = 1.5;
/** the largest peak may be so much larger than expected by chance */
const LUCK = 2.5;
const SUM_MAX = 1e6;
/** peaks are forgotten over this time */
const TAIL_SECONDS = 2 * 86_400;

export const evidenceSize = (kinds: number) => 1 + kinds * KIND;

/** What the test says about a change: its first frame, and the mean level since. */
export interface Finding {
  firstFrame: number;
  observed: number;
}

export class Evidence {
  readonly #kinds: number;

  constructor(
    private readonly state: Float64Array,
    private readonly falseAlarmSeconds: number,
  ) {
    this.#kinds = (state.length - 1) / KIND;
  }

  /** Adds one frame, or block, under change `kind`: `going` and `fresh` are log L and log F. */
  update(kind: number, going: number, fresh: number, k: number, seconds: number, level: number): void {
    const { state } = this;
    const at = 1 + kind * KIND;
    const before = state[at + AT.sum];
    const sum = Math.min(SUM_MAX, Math.max(before + going, fresh));
    if (sum <= 0) {
      if (before > 0) this.#close(at);
      return;
    }
    if (before <= 0) state[at + AT.seconds] = state[at + AT.peak] = 0;
    // it rather begins now than it began before
    if (before <= 0 || fresh > before + going) {
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
  }

  /** The sum is back at 0: its peak is one of those that happen. */
  #close(at: number): void {
    const { state } = this;
    const peak = state[at + AT.peak];
    const burst = state[at + AT.alarmed] === 0 || state[at + AT.peakSeconds] <= BURST_SECONDS;
    state[at + AT.sum] = state[at + AT.alarmed] = 0;
    if (!burst || peak < LOWEST) return;
    const index = Math.min(CLASSES - 1, Math.floor(Math.log(peak / LOWEST) / STEP));
    state[at + TAIL + index]++;
    if (peak > state[at + AT.top]) state[at + AT.top] = peak;
    if (peak > 0.5 * state[at + AT.threshold]) this.#setThreshold(at);
  }

  /** Time has passed; `least` are the thresholds that the model promises, by kind. */
  advance(seconds: number, least: (kind: number) => number): void {
    const { state } = this;
    const kept = Math.exp(-seconds / TAIL_SECONDS);
    state[0] = state[0] * kept + seconds;
    for (let kind = 0; kind < this.#kinds; kind++) {
      const at = 1 + kind * KIND;
      for (let n = at + TAIL; n < at + KIND; n++) if (state[n] > 0) state[n] *= kept;
      state[at + AT.top] *= kept;
      state[at + AT.least] = least(kind);
      this.#setThreshold(at);
    }
  }

  #setThreshold(at: number): void {
    const { state } = this;
    state[at + AT.threshold] = Math.max(state[at + AT.least], this.#returnLevel(at));
  }

  /** The level that peaks reach once in `falseAlarmSeconds`, as far as the largest of them tell. */
  #returnLevel(at: number): number {
    const { state } = this;
    const top = state[at + AT.top];
    if (top === 0) return 0;
    const least = state[at + AT.least];
    let count = 0;
    let alike = 0;
    let tenth = 0;
    for (let n = CLASSES - 1; n >= 0 && count < TOP; n--) {
      const peaks = state[at + TAIL + n];
      if (peaks === 0) continue;
      const middle = LOWEST * Math.exp((n + 0.5) * STEP);
      if (middle > 0.7 * top) alike += peaks;
      count += peaks;
      if (count >= TOP) tenth = middle;
    }
    // what the model leads one to expect of the largest and of the tenth peak in the time so far
    const largest = least - Math.log(Math.max(1, this.falseAlarmSeconds / Math.max(60, state[0])));
    const rough = tenth / Math.max(LOWEST, largest - Math.log(TOP));
    const beyond =
      top > least ? top * (1 + MARGIN / Math.max(1, alike)) : (least * top) / Math.max(LOWEST, largest + LUCK);
    return Math.max(beyond, Math.min(BEYOND_TOP * top, least * rough));
  }

  get alarming(): boolean {
    for (let at = 1; at < this.state.length; at += KIND)
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
    let best = 1;
    for (let at = 1; at < this.state.length; at += KIND) if (this.#score(at) > this.#score(best)) best = at;
    return best;
  }

  finding(): Finding {
    const at = this.#best();
    const { state } = this;
    const frames = state[at + AT.frames];
    return { firstFrame: state[at + AT.firstFrame], observed: frames === 0 ? 0 : state[at + AT.level] / frames };
  }

  /** An alarm is over: what is left of it is a burst that happens, or does not count. */
  reset(): void {
    for (let at = 1; at < this.state.length; at += KIND) if (this.state[at + AT.sum] > 0) this.#close(at);
  }

  sums(): number[] {
    return Array.from({ length: this.#kinds }, (_, kind) => this.state[1 + kind * KIND + AT.sum]);
  }

  thresholds(): number[] {
    return Array.from({ length: this.#kinds }, (_, kind) => this.state[1 + kind * KIND + AT.threshold]);
  }
}
