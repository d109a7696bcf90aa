/**
 * How well two feeds agree on a few of their parts: which parts show the same moment, and how much of what could pair
 * there does. Pure functions; the work is bounded by the constants below, whatever the feeds send.
 */
import { distances } from '../metric/distance.js';
import type { DistanceName } from '../metric/params.js';
import type { PackedList } from '../wire/objects.js';

/** A part of a feed as it came. */
export interface ReceivedPart {
  k?: number;
  /** epoch seconds */
  t?: number;
  receivedMs: number;
  objects: PackedList;
}

/** The last parts of both feeds, in the order in which they came. */
export interface FeedSample {
  reference: readonly ReceivedPart[];
  tracker: readonly ReceivedPart[];
}

/** What counts as a pair, and as the same moment. */
export interface Judge {
  distance: DistanceName;
  cutoff: number;
  by: 'frame' | 'time';
  toleranceMs: number;
  /** neither feed is held or interpolated: by time, parts farther apart than the tolerance do not meet */
  exact: boolean;
}

/** How well the feeds agree under one reading of them. */
export interface Agreement {
  moments: number;
  /** pairs there could be: the smaller number of objects, over all moments */
  possible: number;
  pairs: number;
  /** 1 when all that could pair lies on top of each other, 0 when nothing is closer than the cut-off */
  share: number;
}

export type Coordinates = readonly number[];
/** Reads one object otherwise; null when it cannot be read so. */
export type Reading = (c: Coordinates, at: number, stride: number) => number[] | null;

export interface PartPair {
  reference: ReceivedPart;
  tracker: ReceivedPart;
}

/** How the places of the tracker are read: `place / factor - shift` is the place of the reference. */
export interface Alignment {
  shift: number;
  factor: number;
}

export const AS_THEY_ARE: Alignment = { shift: 0, factor: 1 };
const MOMENTS_MAX = 12;
export const TRACKS_MAX = 24;
export const TRUTHS_MAX = 256;

/** The place of a part on the axis: its number, or seconds. */
export function placeOf({ k, t, receivedMs }: ReceivedPart, by: Judge['by']): number | undefined {
  return by === 'frame' ? k : (t ?? receivedMs / 1000);
}

/** The usual distance of two neighbours among places; 0 when it is not known. */
export const usualGap = (places: readonly (number | undefined)[]): number => median(gapsOf(places));

/** The distances of neighbours among places. */
export function gapsOf(places: readonly (number | undefined)[]): number[] {
  const known = places.filter((place) => place !== undefined).sort((a, b) => a - b);
  return known.slice(1).flatMap((place, n) => (place > known[n] ? [place - known[n]] : []));
}

export function median(values: readonly number[]): number {
  if (values.length === 0) return 0;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

/** How well the feeds agree as they are paired. */
export const agreementAsPaired = (sample: FeedSample, judge: Judge): Agreement =>
  agreement(
    momentsOf(sample, judge, AS_THEY_ARE).filter((moment) => meets(moment, judge)),
    judge,
  );

/** How well they agree when the tracker is taken to be ahead by a number of frames or seconds. */
export const agreementAt = (sample: FeedSample, judge: Judge, shift: number): Agreement =>
  agreement(momentsOf(sample, judge, { shift, factor: 1 }), judge);

const meets = ({ reference, tracker }: PartPair, { by, exact, toleranceMs }: Judge) =>
  !exact || by === 'frame' || Math.abs(placeOf(reference, by)! - placeOf(tracker, by)!) * 1000 <= toleranceMs + 1e-3;

/** How well both feeds agree on one step. */
export const agreementOfStep = (reference: PackedList, tracks: PackedList, judge: Judge): Agreement =>
  agreement([{ reference: { objects: reference, receivedMs: 0 }, tracker: { objects: tracks, receivedMs: 0 } }], judge);

/** The parts that belong together, spread over the sample. */
export function momentsOf(
  { reference, tracker }: FeedSample,
  { by, toleranceMs }: Judge,
  { shift, factor }: Alignment,
  most = MOMENTS_MAX,
): PartPair[] {
  const places = reference.map((one) => placeOf(one, by));
  const reach = Math.max(usualGap(places) / 2, by === 'time' ? toleranceMs / 1000 : 0);
  const moments: PartPair[] = [];
  for (const part of tracker) {
    const place = placeOf(part, by);
    if (place === undefined || part.objects.ids.length === 0) continue;
    const near = nearest(places, place / factor - shift, reach);
    if (near >= 0 && reference[near].objects.ids.length > 0)
      moments.push({ reference: reference[near], tracker: part });
  }
  const stride = Math.max(1, moments.length / most);
  return Array.from({ length: Math.min(most, moments.length) }, (_, n) => moments[Math.floor(n * stride)]);
}

function nearest(places: readonly (number | undefined)[], wanted: number, reach: number): number {
  let best = -1;
  let least = reach;
  for (let n = 0; n < places.length; n++) {
    const far = Math.abs((places[n] ?? Number.NaN) - wanted);
    if (far > least || Number.isNaN(far)) continue;
    least = far;
    best = n;
  }
  return best;
}

export const asItIs: Reading = (c, at, stride) => c.slice(at, at + stride);

export function agreement(
  moments: readonly PartPair[],
  judge: Judge,
  tracks = asItIs,
  truths = asItIs,
  tracksMax = TRACKS_MAX,
): Agreement {
  const sum: Agreement = { moments: moments.length, possible: 0, pairs: 0, share: 0 };
  let benefit = 0;
  for (const { reference, tracker } of moments) {
    const a = readAll(reference.objects, TRUTHS_MAX, truths);
    const b = readAll(tracker.objects, tracksMax, tracks);
    sum.possible += Math.min(reference.objects.ids.length, tracker.objects.ids.length, tracksMax);
    if (reference.objects.stride !== tracker.objects.stride) continue;
    for (const { distance } of pairUp(a, b, reference.objects.stride, judge)) {
      sum.pairs++;
      benefit += 1 - distance / judge.cutoff;
    }
  }
  sum.share = sum.possible > 0 ? benefit / sum.possible : 0;
  return sum;
}

/** The objects under a reading, one after the other; those that cannot be read so are left out. */
export function readAll({ ids, stride, coordinates }: PackedList, most: number, reading: Reading): Coordinates {
  if (reading === asItIs) return ids.length <= most ? coordinates : coordinates.slice(0, most * stride);
  const out: number[] = [];
  for (let n = 0; n < Math.min(ids.length, most); n++) {
    const read = reading(coordinates, n * stride, stride);
    if (read) out.push(...read);
  }
  return out;
}

export interface Pair {
  i: number;
  j: number;
  distance: number;
}

/** Pairs closer than the cut-off, the closest first, each object once. */
export function pairUp(
  a: Coordinates,
  b: Coordinates,
  stride: number,
  { distance: name, cutoff }: Pick<Judge, 'distance' | 'cutoff'>,
): Pair[] {
  const close: Pair[] = [];
  const measure = distances[name];
  for (let i = 0; i < a.length / stride; i++)
    for (let j = 0; j < b.length / stride; j++) {
      const distance = measure(a, i, b, j, stride);
      if (distance < cutoff) close.push({ i, j, distance });
    }
  close.sort((one, other) => one.distance - other.distance || one.i - other.i || one.j - other.j);
  const truths = new Set<number>();
  const tracks = new Set<number>();
  return close.filter(({ i, j }) => {
    if (truths.has(i) || tracks.has(j)) return false;
    truths.add(i);
    tracks.add(j);
    return true;
  });
}
