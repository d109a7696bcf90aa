/**
 * How pairs lie to each other along the way of their truth, and what that tells of the whole feed: error = bias -
 * latency * velocity, fitted by least squares over all pairs. Sums only, so that a pair costs the same however many
 * there were. What is wrong with one object is wrong with it in every frame: the standard errors count objects.
 */

/** Everything a fit knows. Plain data. */
export interface FitState {
  count: number;
  /** sums over pairs: of each coordinate of velocity and error, of v.v and v.e */
  v: number[];
  e: number[];
  vv: number;
  ve: number;
  ee: number;
  /** by truth: the same, as [count, v.v, v.e, v..., e...]; of those that were dropped only the number is known */
  truths: Array<[string, number[]]>;
}

export interface Fit {
  /** how late the tracker is, in the unit of time; negative: early */
  latency: number;
  latencyError: number;
  /** what remains, per coordinate */
  bias: number[];
  biasError: number[];
  pairs: number;
  truths: number;
}

export type Line = Pick<Fit, 'latency' | 'bias'>;

type Sums = Pick<FitState, 'count' | 'v' | 'e' | 'vv' | 've'>;

/** Truths from which on a standard error means something. */
export const TRUTHS_MIN = 3;

export class LatencyFit {
  #state: FitState;
  readonly #truths: Map<string, number[]>;

  constructor(
    readonly truthsMax: number,
    state: FitState = { count: 0, v: [], e: [], vv: 0, ve: 0, ee: 0, truths: [] },
  ) {
    this.#state = state;
    this.#truths = new Map(state.truths);
  }

  /** Adds a pair: the velocity of the truth and where its track lies from it. */
  add(truth: string, v: readonly number[], e: readonly number[]): void {
    const state = this.#state;
    const D = v.length;
    let own = this.#truths.get(truth);
    if (!own) {
      own = new Array<number>(3 + 2 * D).fill(0);
      if (this.#truths.size >= this.truthsMax) this.#truths.delete(this.#truths.keys().next().value as string);
      this.#truths.set(truth, own);
    }
    const vv = dot(v, v);
    const ve = dot(v, e);
    state.count++;
    state.vv += vv;
    state.ve += ve;
    state.ee += dot(e, e);
    own[0]++;
    own[1] += vv;
    own[2] += ve;
    for (let d = 0; d < D; d++) {
      state.v[d] = (state.v[d] ?? 0) + v[d];
      state.e[d] = (state.e[d] ?? 0) + e[d];
      own[3 + d] += v[d];
      own[3 + D + d] += e[d];
    }
  }

  /** Null when nothing moves, or too few do to tell. */
  fit(): Fit | null {
    const line = this.line();
    const errors = line && this.#errors(line);
    return errors && { ...line, ...errors, pairs: this.#state.count, truths: this.#truths.size };
  }

  /** Latency and bias without their errors. */
  line(): Line | null {
    return this.#truths.size < TRUTHS_MIN ? null : lineOf(this.#state);
  }

  /**
   * By what becomes of the line without each truth (jackknife): the residuals alone are too small when few truths carry
   * the line. Null when one alone does. Truths that were dropped are taken to be like those that were not.
   */
  #errors({ latency, bias }: Line): Pick<Fit, 'latencyError' | 'biasError'> | null {
    const squares = [0, ...bias.map(() => 0)];
    let known = 0;
    for (const own of this.#truths.values()) {
      const others = lineOf(without(this.#state, own), this.#state.vv);
      if (!others) return null;
      squares[0] += (others.latency - latency) ** 2;
      others.bias.forEach((one, d) => {
        squares[1 + d] += (one - bias[d]) ** 2;
      });
      known += own[0];
    }
    const n = this.#truths.size;
    const scale = ((n - 1) / n) * (this.#state.count / known);
    const [latencyError, ...biasError] = squares.map((sum) => Math.sqrt(scale * sum));
    return { latencyError, biasError };
  }

  toJSON(): FitState {
    return { ...this.#state, truths: [...this.#truths] };
  }
}

/** Least squares; null when nothing moves but by rounding, in sums of such a size. */
function lineOf({ count, v, e, vv, ve }: Sums, size = vv): Line | null {
  const spread = vv - dot(v, v) / count;
  if (!(spread > 1e-9 * size)) return null;
  const latency = -(ve - dot(v, e) / count) / spread;
  return { latency, bias: e.map((sum, d) => (sum + latency * v[d]) / count) };
}

/** Without what one truth contributed. */
function without({ count, v, e, vv, ve }: Sums, [ownCount, ownVv, ownVe, ...own]: number[]): Sums {
  const D = v.length;
  return {
    count: count - ownCount,
    v: v.map((sum, d) => sum - own[d]),
    e: e.map((sum, d) => sum - own[D + d]),
    vv: vv - ownVv,
    ve: ve - ownVe,
  };
}

/** The part of an error along a velocity, ahead positive, and the rest of it across; null when nothing moves. */
export function alongAcross(v: readonly number[], e: readonly number[]): { along: number; across: number } | null {
  const speed = Math.sqrt(dot(v, v));
  if (!(speed > 0)) return null;
  const along = dot(v, e) / speed;
  // in a plane with its sign, to the left of the way positive
  const across =
    v.length === 2 ? (v[0] * e[1] - v[1] * e[0]) / speed : Math.sqrt(Math.max(0, dot(e, e) - along * along));
  return { along, across };
}

export function dot(a: readonly number[], b: readonly number[]): number {
  let sum = 0;
  for (let d = 0; d < a.length; d++) sum += a[d] * b[d];
  return sum;
}
