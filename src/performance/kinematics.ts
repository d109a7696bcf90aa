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
    const { count, v, e, vv, ve } = this.#state;
    const spread = vv - dot(v, v) / count;
    if (this.#truths.size < TRUTHS_MIN || !(spread > 1e-9 * vv)) return null;
    const latency = -(ve - dot(v, e) / count) / spread;
    const bias = e.map((sum, d) => (sum + latency * v[d]) / count);
    return { latency, bias, pairs: count, truths: this.#truths.size, ...this.#errors(latency, bias, spread) };
  }

  /** By what each truth contributes as a whole. */
  #errors(latency: number, bias: number[], spread: number): Pick<Fit, 'latencyError' | 'biasError'> {
    const { count, v } = this.#state;
    const D = v.length;
    const mean = v.map((sum) => sum / count);
    let squares = 0;
    const biasSquares = new Array<number>(D).fill(0);
    for (const own of this.#truths.values()) {
      const ownV = own.slice(3, 3 + D);
      const rest = bias.map((one, d) => own[3 + D + d] - own[0] * one + latency * ownV[d]);
      // sum of (v - mean) . residual
      const score = own[2] + latency * own[1] - dot(bias, ownV) - dot(mean, rest);
      squares += score * score;
      rest.forEach((one, d) => {
        biasSquares[d] += one * one;
      });
    }
    const n = this.#truths.size;
    const correction = n / (n - 1);
    const latencyError = Math.sqrt(squares * correction) / spread;
    const biasError = biasSquares.map((sum, d) =>
      Math.hypot(Math.sqrt(sum * correction) / count, latencyError * mean[d]),
    );
    return { latencyError, biasError };
  }

  toJSON(): FitState {
    return { ...this.#state, truths: [...this.#truths] };
  }
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
