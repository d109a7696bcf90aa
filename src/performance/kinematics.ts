/**
 * How pairs lie to each other along the way of their truth, and what that tells of the whole feed: error = bias -
 * latency * velocity, over all pairs. Truths jitter, and a velocity from places close by is mostly that at video rate:
 * least squares would find too little. So errors and velocities v are both compared with another velocity w of the same
 * truth, from places farther away, whose jitter has nothing to do with theirs (an instrument): latency = -w.e / w.v.
 * Sums only, so that a pair costs the same however many there were. What is wrong with one object is wrong with it in
 * every frame: the standard errors count objects.
 */

/** Everything a fit knows. Plain data. */
export interface FitState {
  count: number;
  /** sums over pairs: of each coordinate of both velocities and the error, and of their products */
  v: number[];
  w: number[];
  e: number[];
  wv: number;
  we: number;
  vv: number;
  ww: number;
  /** by truth: the same, as [count, w.v, w.e, v..., w..., e...]; of those that were dropped only the number is known */
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

/** How one pair lies: velocities of the truth from places close by and farther away, and where its track lies. */
export interface PairMotion {
  v: readonly number[];
  w: readonly number[];
  e: readonly number[];
}

type Sums = Pick<FitState, 'count' | 'v' | 'w' | 'e' | 'wv' | 'we'>;

/** Truths from which on a standard error means something. */
export const TRUTHS_MIN = 3;

/** how much both velocities must agree, to what they disagree in, for each pair: jitter alone has about 1 */
const AGREEMENT_MIN = 10;

export class LatencyFit {
  #state: FitState;
  readonly #truths: Map<string, number[]>;

  constructor(
    readonly truthsMax: number,
    state: FitState = { count: 0, v: [], w: [], e: [], wv: 0, we: 0, vv: 0, ww: 0, truths: [] },
  ) {
    this.#state = state;
    this.#truths = new Map(state.truths);
  }

  add(truth: string, { v, w, e }: PairMotion): void {
    const state = this.#state;
    const D = v.length;
    let own = this.#truths.get(truth);
    if (!own) {
      own = new Array<number>(3 + 3 * D).fill(0);
      if (this.#truths.size >= this.truthsMax) this.#truths.delete(this.#truths.keys().next().value as string);
      this.#truths.set(truth, own);
    }
    const wv = dot(w, v);
    const we = dot(w, e);
    state.count++;
    state.wv += wv;
    state.we += we;
    state.vv += dot(v, v);
    state.ww += dot(w, w);
    own[0]++;
    own[1] += wv;
    own[2] += we;
    for (let d = 0; d < D; d++) {
      state.v[d] = (state.v[d] ?? 0) + v[d];
      state.w[d] = (state.w[d] ?? 0) + w[d];
      state.e[d] = (state.e[d] ?? 0) + e[d];
      own[3 + d] += v[d];
      own[3 + D + d] += w[d];
      own[3 + 2 * D + d] += e[d];
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
    return this.#truths.size < TRUTHS_MIN || !this.#moves() ? null : lineOf(this.#state);
  }

  /** Whether both velocities agree by more than chance: those of jitter alone do not. */
  #moves(): boolean {
    const { count, v, w, wv, vv, ww } = this.#state;
    const spread = (product: number, a: readonly number[], b: readonly number[]) => product - dot(a, b) / count;
    const agreement = spread(wv, w, v);
    const rest = spread(vv, v, v) * spread(ww, w, w) - agreement ** 2;
    return agreement > 0 && agreement ** 2 * count > AGREEMENT_MIN * rest;
  }

  /**
   * By what becomes of the line without each truth (jackknife): the residuals alone are too small when few truths carry
   * the line. Null when one alone does. Truths that were dropped are taken to be like those that were not.
   */
  #errors({ latency, bias }: Line): Pick<Fit, 'latencyError' | 'biasError'> | null {
    const squares = [0, ...bias.map(() => 0)];
    let known = 0;
    for (const own of this.#truths.values()) {
      const others = lineOf(without(this.#state, own), this.#state.wv);
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

/** Null when nothing moves but by rounding, in sums of such a size. */
function lineOf({ count, v, w, e, wv, we }: Sums, size = wv): Line | null {
  const spread = wv - dot(w, v) / count;
  if (!(spread > 1e-9 * size)) return null;
  const latency = -(we - dot(w, e) / count) / spread;
  return { latency, bias: e.map((sum, d) => (sum + latency * v[d]) / count) };
}

/** Without what one truth contributed. */
function without({ count, v, w, e, wv, we }: Sums, [ownCount, ownWv, ownWe, ...own]: number[]): Sums {
  const D = v.length;
  return {
    count: count - ownCount,
    v: v.map((sum, d) => sum - own[d]),
    w: w.map((sum, d) => sum - own[D + d]),
    e: e.map((sum, d) => sum - own[2 * D + d]),
    wv: wv - ownWv,
    we: we - ownWe,
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
