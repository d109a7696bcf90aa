/**
 * By how much one feed is ahead of the other when their objects still pair: a little off in time, everything lies a
 * little off along its own way.
 */
import type { PackedList } from '../wire/objects.js';
import {
  asItIs,
  type Judge,
  momentsOf,
  pairUp,
  placeOf,
  type ReceivedPart,
  readAll,
  type Sample,
  TRACKS_MAX,
  TRUTHS_MAX,
  usualGap,
} from './agreement.js';

const PAIRS_MIN = 8;
/** how far the velocity before a place may be from that around it, as a share, squared: what jumps does not move */
const BEND_MAX = 0.25;

/** A pair: how far the track lies from its truth, and the velocity of the truth. */
interface Seen {
  id: string;
  r: number[];
  v: number[];
}

/** By how much the tracker is ahead of the reference, as moving objects tell; in units of the axis. */
export interface Lag {
  offset: number;
  /** standard error */
  error: number;
  /** usual distance of two parts of the reference */
  gap: number;
  truths: number;
}

/**
 * Objects that are found lie behind, or before, where they should along their own way when frames are a little off:
 * the residual over the velocity of each pair, weighted by the velocity. Null when nothing moves. `reach` is how many
 * parts to both sides a velocity is taken from: more make it better where many parts come in a second.
 */
export function lagOf(sample: Sample, judge: Judge, shift = 0, reach = 1): Lag | null {
  const moments = momentsOf(sample, judge, { shift, factor: 1 }, sample.tracker.length);
  const ways = waysOf(sample.reference, judge.by);
  const seen: Seen[] = [];
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
      const v = velocityAt(ways.get(objects.ids[i])!, place, reach);
      if (!v) continue;
      const x = centreOf(objects, i);
      seen.push({ id: objects.ids[i], r: centreOf(tracker.objects, j).map((value, d) => value - x[d]), v });
      apart += placeOf(tracker, judge.by)! - place;
    }
  }
  const fit = fitted(seen, apart / seen.length);
  return fit && { ...fit, gap: usualGap(sample.reference.map((one) => placeOf(one, judge.by))) };
}

function fitted(pairs: readonly Seen[], apart: number): Omit<Lag, 'gap'> | null {
  const seen = centred(pairs);
  const weight = seen.reduce((sum, { v }) => sum + dot(v, v), 0);
  if (seen.length < PAIRS_MIN || !(weight > 0)) return null;
  const delta = seen.reduce((sum, { r, v }) => sum + dot(r, v), 0) / weight;
  // what is wrong with one object is wrong with it in every frame: its residuals count together
  const rests = new Map<string, number>();
  for (const { id, r, v } of seen) rests.set(id, (rests.get(id) ?? 0) + dot(r, v) - delta * dot(v, v));
  const truths = rests.size;
  const squares = [...rests.values()].reduce((sum, rest) => sum + rest * rest, 0);
  const error = truths > 1 ? Math.sqrt((squares * truths) / (truths - 1)) / weight : Number.POSITIVE_INFINITY;
  return { offset: apart - delta, error, truths };
}

/** Without what all pairs have in common: a tracker that draws everything a little to the right is not ahead. */
function centred(pairs: readonly Seen[]): Seen[] {
  const mean = (key: 'r' | 'v') =>
    (pairs[0]?.[key] ?? []).map((_, d) => pairs.reduce((sum, one) => sum + one[key][d], 0) / pairs.length);
  const [r, v] = [mean('r'), mean('v')];
  const less = (from: number[], by: number[]) => from.map((value, d) => value - by[d]);
  return pairs.map((one) => ({ id: one.id, r: less(one.r, r), v: less(one.v, v) }));
}

type Way = Array<{ place: number; objects: PackedList; n: number }>;

/** Where each truth was, by id, in the order of places. */
function waysOf(reference: readonly ReceivedPart[], by: Judge['by']): Map<string, Way> {
  const ways = new Map<string, Way>();
  const placed = reference.flatMap((part) => {
    const place = placeOf(part, by);
    return place === undefined ? [] : [{ place, objects: part.objects }];
  });
  for (const { place, objects } of placed.sort((a, b) => a.place - b.place))
    for (let n = 0; n < objects.ids.length; n++) {
      const way = ways.get(objects.ids[n]);
      if (way) way.push({ place, objects, n });
      else ways.set(objects.ids[n], [{ place, objects, n }]);
    }
  return ways;
}

/** From the neighbours on both sides; null at the ends of a way, and where it is not about straight. */
function velocityAt(way: Way, place: number, reach: number): number[] | null {
  const n = way.findIndex((one) => one.place === place);
  const [before, now, after] = [way[n - reach], way[n], way[n + reach]];
  if (!before || !now || !after) return null;
  const [from, at, to] = [before, now, after].map((one) => centreOf(one.objects, one.n));
  const whole = from.map((value, d) => (to[d] - value) / (after.place - before.place));
  const bend = from.map((value, d) => (at[d] - value) / (now.place - before.place) - whole[d]);
  return dot(bend, bend) <= BEND_MAX * dot(whole, whole) ? whole : null;
}

const dot = (a: readonly number[], b: readonly number[]) => a.reduce((sum, value, d) => sum + value * b[d], 0);

/** Where the middle of an object is. */
export function centreOf({ shape, stride, coordinates: c }: PackedList, n: number): number[] {
  const at = n * stride;
  return shape === 'box' ? [c[at] + c[at + 2] / 2, c[at + 1] + c[at + 3] / 2] : c.slice(at, at + stride);
}
