/**
 * By how much one feed is ahead of the other when their objects still pair: a little off in time, everything lies a
 * little off along its own way.
 */
import type { PackedList } from '../wire/objects.js';
import {
  asItIs,
  type FeedSample,
  type Judge,
  momentsOf,
  pairUp,
  placeOf,
  type ReceivedPart,
  readAll,
  TRACKS_MAX,
  TRUTHS_MAX,
  usualGap,
} from './agreement.js';

const PAIRS_MIN = 8;
/** how far the velocity before a place may be from that around it, as a share, squared: what jumps does not move */
const BEND_MAX = 0.25;

/** Pairs: how far each track lies from its truth, and the velocity of the truth; so many numbers for each. */
interface Seen {
  ids: string[];
  dimensions: number;
  r: number[];
  v: number[];
}

/** By how much the tracker is ahead of the reference, as moving objects tell; in units of the axis. */
export interface Lag {
  offset: number;
  /** standard error */
  error: number;
  /** truths that the estimate rests on: those that hardly move count for little */
  tellers: number;
  /** usual distance of two parts of the reference */
  gap: number;
  truths: number;
}

/**
 * What pairs say of a lag, as sums that can be added over samples: of residual times velocity and of squared velocity,
 * by truth, because what is wrong with one object is wrong with it in every frame.
 */
export interface LagSums {
  /** sums of both, of their squares and of their product */
  rv: number;
  vv: number;
  rvSquares: number;
  vvSquares: number;
  products: number;
  truths: number;
  /** how far apart the paired parts are, and how many pairs there are */
  apart: number;
  pairs: number;
}

/**
 * Objects that are found lie behind, or before, where they should along their own way when frames are a little off:
 * the residual over the velocity of each pair, weighted by the velocity. Null when nothing moves. `reach` is how many
 * parts to both sides a velocity is taken from: more make it better where many parts come in a second.
 */
export function lagOf(sample: FeedSample, judge: Judge, shift = 0, reach = 1): Lag | null {
  const sums = lagSums(sample, judge, shift, reach);
  return sums && { ...fitted(sums), gap: gapOf(sample, judge) };
}

/** The usual distance of two parts of the reference. */
export const gapOf = ({ reference }: FeedSample, { by }: Judge): number =>
  usualGap(reference.map((one) => placeOf(one, by)));

/** What the pairs of a sample say; null when they are few, or nothing moves. */
export function lagSums(sample: FeedSample, judge: Judge, shift = 0, reach = 1): LagSums | null {
  const moments = momentsOf(sample, judge, { shift, factor: 1 }, sample.tracker.length);
  const ways = waysOf(sample.reference, judge.by);
  const seen: Seen = { ids: [], dimensions: 0, r: [], v: [] };
  let apart = 0;
  for (const { reference, tracker } of moments) {
    const { objects } = reference;
    const place = placeOf(reference, judge.by)!;
    if (objects.stride !== tracker.objects.stride) continue;
    const pairs = pairUp(
      readAll(objects, TRUTHS_MAX, asItIs),
      readAll(tracker.objects, TRACKS_MAX, asItIs),
      objects.stride,
      judge,
    );
    for (const { i, j } of pairs) {
      if (!addVelocity(ways.get(objects.ids[i])!, place, reach, seen)) continue;
      addResidual(centreOf(objects, i), centreOf(tracker.objects, j), seen);
      seen.ids.push(objects.ids[i]);
      apart += placeOf(tracker, judge.by)! - place;
    }
  }
  return summed(seen, apart);
}

function addResidual(truth: readonly number[], track: readonly number[], seen: Seen): void {
  seen.dimensions = truth.length;
  for (let d = 0; d < truth.length; d++) seen.r.push(track[d] - truth[d]);
}

function summed({ ids, dimensions, r, v }: Seen, apart: number): LagSums | null {
  if (ids.length < PAIRS_MIN) return null;
  centre(r, dimensions);
  centre(v, dimensions);
  const byTruth = new Map<string, { rv: number; vv: number }>();
  for (let n = 0; n < ids.length; n++) {
    const one = byTruth.get(ids[n]) ?? { rv: 0, vv: 0 };
    byTruth.set(ids[n], one);
    one.rv += dot(r, v, n * dimensions, dimensions);
    one.vv += dot(v, v, n * dimensions, dimensions);
  }
  const sums: LagSums = { ...NO_LAG, truths: byTruth.size, apart, pairs: ids.length };
  for (const { rv, vv } of byTruth.values()) {
    sums.rv += rv;
    sums.vv += vv;
    sums.rvSquares += rv * rv;
    sums.vvSquares += vv * vv;
    sums.products += rv * vv;
  }
  return sums.vv > 0 ? sums : null;
}

export const NO_LAG: LagSums = {
  rv: 0,
  vv: 0,
  rvSquares: 0,
  vvSquares: 0,
  products: 0,
  truths: 0,
  apart: 0,
  pairs: 0,
};

/** Both together, of which the first counts only so much. */
export function addLag(first: LagSums, second: LagSums, share = 1): LagSums {
  const keys = Object.keys(NO_LAG) as Array<keyof LagSums>;
  return Object.fromEntries(keys.map((key) => [key, share * first[key] + second[key]])) as unknown as LagSums;
}

/** The offset that explains the sums best. */
export function fitted({ rv, vv, rvSquares, vvSquares, products, truths, apart, pairs }: LagSums): Omit<Lag, 'gap'> {
  const delta = rv / vv;
  const squares = Math.max(0, rvSquares - 2 * delta * products + delta * delta * vvSquares);
  const error = truths > 1 ? Math.sqrt((squares * truths) / (truths - 1)) / vv : Number.POSITIVE_INFINITY;
  return { offset: apart / pairs - delta, error, tellers: (vv * vv) / vvSquares, truths };
}

/** Takes away what all pairs have in common: a tracker that draws everything a little to the right is not ahead. */
function centre(values: number[], dimensions: number): void {
  const count = values.length / dimensions;
  for (let d = 0; d < dimensions; d++) {
    let sum = 0;
    for (let at = d; at < values.length; at += dimensions) sum += values[at];
    for (let at = d; at < values.length; at += dimensions) values[at] -= sum / count;
  }
}

/** Where a truth was, and when, in the order of places. */
interface Way {
  places: number[];
  centres: number[][];
}

/** The ways of all truths, by id. */
function waysOf(reference: readonly ReceivedPart[], by: Judge['by']): Map<string, Way> {
  const ways = new Map<string, Way>();
  const placed = reference.flatMap((part) => {
    const place = placeOf(part, by);
    return place === undefined ? [] : [{ place, objects: part.objects }];
  });
  for (const { place, objects } of placed.sort((a, b) => a.place - b.place))
    for (let n = 0; n < objects.ids.length; n++) {
      const way = ways.get(objects.ids[n]) ?? { places: [], centres: [] };
      if (way.places.length === 0) ways.set(objects.ids[n], way);
      way.places.push(place);
      way.centres.push(centreOf(objects, n));
    }
  return ways;
}

/** From the neighbours on both sides; false at the ends of a way, and where it is not about straight. */
function addVelocity({ places, centres }: Way, place: number, reach: number, { v }: Seen): boolean {
  const n = places.indexOf(place);
  if (n < reach || n + reach >= places.length) return false;
  const [from, at, to] = [centres[n - reach], centres[n], centres[n + reach]];
  const [half, whole] = [place - places[n - reach], places[n + reach] - places[n - reach]];
  let [bends, squares] = [0, 0];
  for (let d = 0; d < at.length; d++) {
    const velocity = (to[d] - from[d]) / whole;
    const bend = (at[d] - from[d]) / half - velocity;
    bends += bend * bend;
    squares += velocity * velocity;
  }
  if (!(bends <= BEND_MAX * squares)) return false;
  for (let d = 0; d < at.length; d++) v.push((to[d] - from[d]) / whole);
  return true;
}

/** Of the vectors of so many numbers that begin at `at` in both lists. */
function dot(a: readonly number[], b: readonly number[], at: number, dimensions: number): number {
  let sum = 0;
  for (let d = at; d < at + dimensions; d++) sum += a[d] * b[d];
  return sum;
}

/** Where the middle of an object is. */
export function centreOf({ shape, stride, coordinates: c }: PackedList, n: number): number[] {
  const at = n * stride;
  return shape === 'box' ? [c[at] + c[at + 2] / 2, c[at + 1] + c[at + 3] / 2] : c.slice(at, at + stride);
}
