/**
 * The sequential test that all signals share: a mixture of Shiryaev-Roberts statistics, one for each kind of change
 * looked for.
 *
 *     R_j(k) = R_j(k-1) * L_j(k) + F_j(k)          alarm when  sum of w_j R_j(k)  >=  A,   sum of w_j = 1
 *
 * L_j is the likelihood ratio of frame k when change j was there before, F_j when it begins at k. Before any change
 * both have the mean 1, so sum of w_j R_j(k) - k is a martingale: the mean number of frames to a false alarm is at
 * least A, whatever changes are looked for. The threshold needs no calibration; it is the setting `falseAlarmFrames`
 * itself.
 *
 * Beside each R_j run its moments: R_j weighs every possible beginning by its likelihood, so the weighted mean of
 * beginnings is the estimated first frame, and the weighted mean of what was observed since is the observed rate.
 */

/** Numbers of state for each kind of change: R, and R times first frame, sum observed, frames observed. */
const MOMENTS = 4;
/** A statistic this far above its threshold says no more; it stays finite. */
const OVERSHOOT = 1e6;

export const mixtureSize = (kinds: number) => kinds * MOMENTS;

/** What the mixture says about a change: its first frame, and what was observed since. */
export interface Finding {
  firstFrame: number;
  observed: number;
}

export class Mixture {
  constructor(
    private readonly state: Float64Array,
    private readonly weights: readonly number[],
    /** A */
    private readonly threshold: number,
  ) {}

  /** Takes in one frame under change `kind`: `going` and `fresh` are log L and log F, `value` is what was observed. */
  update(kind: number, going: number, fresh: number, frame: number, value: number): void {
    const { state } = this;
    const at = kind * MOMENTS;
    const limit = this.threshold * OVERSHOOT;
    const keep = Math.exp(going);
    const add = fresh === going ? keep : Math.exp(fresh);
    let begun = state[at] * keep;
    let first = state[at + 1] * keep;
    let sum = (state[at + 2] + state[at] * value) * keep;
    let frames = (state[at + 3] + state[at]) * keep;
    begun += add;
    first += add * frame;
    sum += add * value;
    frames += add;
    if (begun > limit) {
      const scale = limit / begun;
      begun *= scale;
      first *= scale;
      sum *= scale;
      frames *= scale;
    }
    state[at] = begun;
    state[at + 1] = first;
    state[at + 2] = sum;
    state[at + 3] = frames;
  }

  /** The threshold is reached. */
  get exceeded(): boolean {
    return this.#total() >= this.threshold;
  }

  #total(): number {
    const { state, weights } = this;
    let total = 0;
    for (let kind = 0; kind < weights.length; kind++) total += weights[kind] * state[kind * MOMENTS];
    return total;
  }

  /** log of the mixture as a share of the log of its threshold: 1 is an alarm. */
  score(): number {
    const total = this.#total();
    return total <= 1 ? 0 : Math.log(total) / Math.log(this.threshold);
  }

  finding(): Finding {
    const { state, weights } = this;
    let best = 0;
    for (let kind = 1; kind < weights.length; kind++)
      if (weights[kind] * state[kind * MOMENTS] > weights[best] * state[best * MOMENTS]) best = kind;
    const [begun, first, sum, frames] = state.subarray(best * MOMENTS, (best + 1) * MOMENTS);
    return begun === 0
      ? { firstFrame: 0, observed: 0 }
      : { firstFrame: Math.round(first / begun), observed: sum / frames };
  }

  reset(): void {
    this.state.fill(0, 0, this.weights.length * MOMENTS);
  }
}
