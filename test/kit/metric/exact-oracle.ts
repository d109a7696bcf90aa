/**
 * The metric of tiny scenes in whole numbers: points on a line, a whole exponent, every sequence of matchings. Doubles
 * are dyadic fractions, so costs, prices and weights are BigInts of one common unit, and nothing is rounded, underflows
 * or ties by accident. It shares no line with the kernel.
 *
 *   cost = sum of weight * d^p over proper pairs + alone(x) per truth and alone(y) per track without one + weight * gamma^p / 2 per half-switch
 */

import type { Frame, Params } from '../../../src/index.js';

/** A value is a whole number of 2^-SHIFT. */
const SHIFT = 6000n;

/** mantissa * 2^exponent */
export interface Dyadic {
  mantissa: bigint;
  exponent: bigint;
}

export function dyadic(value: number): Dyadic {
  let exponent = 0n;
  let rest = value;
  while (!Number.isInteger(rest)) {
    rest *= 2;
    exponent--;
  }
  return { mantissa: BigInt(rest), exponent };
}

const times = (a: Dyadic, b: Dyadic): Dyadic => ({
  mantissa: a.mantissa * b.mantissa,
  exponent: a.exponent + b.exponent,
});

function power(base: Dyadic, exponent: number): Dyadic {
  if (!Number.isInteger(exponent)) throw new Error(`the oracle knows whole exponents only, not ${exponent}`);
  return { mantissa: base.mantissa ** BigInt(exponent), exponent: base.exponent * BigInt(exponent) };
}

function fixed({ mantissa, exponent }: Dyadic): bigint {
  const shift = exponent + SHIFT;
  if (shift < 0n) throw new Error('a value is too small for the oracle');
  return mantissa << shift;
}

/** Double nearest to a value, or about so. */
export function toNumber(value: bigint): number {
  if (value < 0n) return -toNumber(-value);
  const bits = BigInt(value.toString(16).length * 4);
  const drop = bits > 64n ? bits - 64n : 0n;
  const high = Number(value >> drop);
  const exponent = Number(drop - SHIFT);
  // in two steps, for 2 ** exponent may underflow where the product does not
  return high * 2 ** Math.max(exponent, -1000) * 2 ** Math.min(0, exponent + 1000);
}

export interface ExactOptimum {
  /** least cost, in units of 2^-SHIFT; `toNumber` gives a double */
  cost: bigint;
  /** fewest half-switches among the assignments of least cost */
  halves: number;
  /** of those, the half-switches of each frame in every way there is */
  changes: number[][];
}

/** What a truth at a place, and a track at a place, costs alone in a frame, instead of c^p/2. */
export interface AloneCosts {
  truth: (position: number, frame: number) => Dyadic;
  track: (position: number, frame: number) => Dyadic;
}

const half = (value: Dyadic): Dyadic => ({ mantissa: value.mantissa, exponent: value.exponent - 1n });
const placeOf = (frame: Frame['reference'], id: string): number | undefined => {
  const object = frame.find((each) => each.id === id);
  return object && 'point' in object ? object.point[0] : undefined;
};

/** Every way to match tracks, by index, to truths; -1 for none. */
function matchings(truthCount: number, trackCount: number): number[][] {
  let all: number[][] = [[]];
  for (let i = 0; i < truthCount; i++)
    all = all.flatMap((partial) =>
      Array.from({ length: trackCount + 1 }, (_, j) => j - 1)
        .filter((j) => j < 0 || !partial.includes(j))
        .map((j) => [...partial, j]),
    );
  return all;
}

const halvesBetween = (a: number[], b: number[]): number =>
  a.reduce((sum, j, i) => sum + (j === b[i] ? 0 : (j >= 0 ? 1 : 0) + (b[i] >= 0 ? 1 : 0)), 0);

interface Best {
  cost: bigint;
  halves: number;
  changes: Map<string, number[]>;
}

/** The least cost of frames, exactly; `withChanges` keeps every optimum's half-switches too. */
export function exactOptimum(
  frames: Frame[],
  params: Params,
  { withChanges = false, alone }: { withChanges?: boolean; alone?: AloneCosts } = {},
): ExactOptimum {
  const truths = [...new Set(frames.flatMap(({ reference }) => reference.map(({ id }) => id)))];
  const tracks = [...new Set(frames.flatMap(({ tracker }) => tracker.map(({ id }) => id)))];
  const all = matchings(truths.length, tracks.length);
  const prices = pricesOf(frames.length, params);
  const pairs = frames.map((frame, k) => pairCosts(frame, k, truths, tracks, params, prices, alone));
  const frameCost = (k: number, matching: number[]) =>
    matching.reduce((sum, j, i) => (j < 0 ? sum : sum + pairs[k].gain[i][j]), pairs[k].constant);
  let best: Best[] = all.map((matching) => ({
    cost: frameCost(0, matching),
    halves: 0,
    changes: new Map([['0', [0]]]),
  }));
  for (let k = 1; k < frames.length; k++) {
    const before = best;
    best = all.map((matching) => {
      const own = frameCost(k, matching);
      let least: Best = { cost: -1n, halves: 0, changes: new Map() };
      before.forEach((from, s) => {
        const changed = halvesBetween(all[s], matching);
        const cost = from.cost + own + prices.half[k] * BigInt(changed);
        const halves = from.halves + changed;
        const order = least.cost < 0n ? -1 : cost !== least.cost ? (cost < least.cost ? -1 : 1) : halves - least.halves;
        if (order > 0) return;
        if (order < 0) least = { cost, halves, changes: new Map() };
        if (withChanges)
          for (const list of from.changes.values()) least.changes.set([...list, changed].join(), [...list, changed]);
      });
      return least;
    });
  }
  return finish(best);
}

function finish(best: Best[]): ExactOptimum {
  const cost = best.reduce((least, each) => (each.cost < least ? each.cost : least), best[0].cost);
  const optimal = best.filter((each) => each.cost === cost);
  const halves = Math.min(...optimal.map((each) => each.halves));
  const changes = new Map(optimal.filter((each) => each.halves === halves).flatMap((each) => [...each.changes]));
  return { cost, halves, changes: [...changes.values()] };
}

function pricesOf(count: number, { weights, switchPenalty, exponent }: Params) {
  const weight = (list: 'frame' | 'switch', k: number): Dyadic => {
    if (!weights) return dyadic(1);
    if ('forgetting' in weights) return dyadic(weights.forgetting ** (count - 1 - k));
    return dyadic(weights[list][weights[list].length - count + k] ?? 0);
  };
  const price = half(power(dyadic(switchPenalty), exponent));
  const frames = Array.from({ length: count }, (_, k) => k);
  return {
    frame: frames.map((k) => weight('frame', k)),
    half: frames.map((k) => (k === 0 ? 0n : fixed(times(weight('switch', k), price)))),
  };
}

/** What each pair gains, at most 0, against both ends alone; and what all alone cost. */
function pairCosts(
  frame: Frame,
  k: number,
  truths: string[],
  tracks: string[],
  { cutoff, exponent }: Params,
  prices: { frame: Dyadic[] },
  alone: AloneCosts | undefined,
) {
  const weight = prices.frame[k];
  const unitHalf = half(power(dyadic(cutoff), exponent));
  const aloneTruth = (x: number) => alone?.truth(x, k) ?? unitHalf;
  const aloneTrack = (y: number) => alone?.track(y, k) ?? unitHalf;
  const xs = truths.map((id) => placeOf(frame.reference, id));
  const ys = tracks.map((id) => placeOf(frame.tracker, id));
  let constant = 0n;
  for (const x of xs) if (x !== undefined) constant += fixed(times(weight, aloneTruth(x)));
  for (const y of ys) if (y !== undefined) constant += fixed(times(weight, aloneTrack(y)));
  const gain = xs.map((x) =>
    ys.map((y) => {
      if (x === undefined || y === undefined) return 0n;
      const cost = power(distanceOf(x, y), exponent);
      const apart = fixed(aloneTruth(x)) + fixed(aloneTrack(y));
      if (fixed(cost) >= apart) return 0n;
      return fixed(times(weight, cost)) - fixed(times(weight, aloneTruth(x))) - fixed(times(weight, aloneTrack(y)));
    }),
  );
  return { constant, gain };
}

/** |x - y|, not rounded. */
function distanceOf(x: number, y: number): Dyadic {
  const a = dyadic(x);
  const b = dyadic(y);
  const exponent = a.exponent < b.exponent ? a.exponent : b.exponent;
  const difference = (a.mantissa << (a.exponent - exponent)) - (b.mantissa << (b.exponent - exponent));
  return { mantissa: difference < 0n ? -difference : difference, exponent };
}

/** Whether one list of half-switches by frame has the same number of them, and each as late or later, and one later. */
export function isLater(changes: readonly number[], than: readonly number[]): boolean {
  let left = 0;
  let later = false;
  // counted from the end: at no point fewer
  for (let k = changes.length - 1; k >= 0; k--) {
    left += changes[k] - than[k];
    if (left < 0) return false;
    if (left > 0) later = true;
  }
  return later;
}
