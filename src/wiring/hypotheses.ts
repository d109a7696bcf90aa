/**
 * Why two feeds that show the same scene do not match. Each hypothesis is another way to read one of the feeds: its
 * frames numbered or timed otherwise, its coordinates in another order or unit. What pairs under that reading, and does
 * not as the feeds are, speaks for it. Pure functions on a few parts of both feeds, as they came; the work is bounded
 * by the constants below, whatever the feeds send.
 */
import type { Role } from '../wire/feed.js';
import type { Evidence, WiringMistake } from '../wire/findings.js';
import type { PackedList } from '../wire/objects.js';
import {
  type Agreement,
  AS_THEY_ARE,
  agreement,
  agreementAsPaired,
  asItIs,
  type FeedSample,
  type Judge,
  median,
  momentsOf,
  type PartPair,
  pairUp,
  placeOf,
  type Reading,
  type ReceivedPart,
  readAll,
  TRACKS_MAX,
  TRUTHS_MAX,
  usualGap,
} from './agreement.js';
import { lagOf } from './lag.js';

/** A hypothesis that explains what the feeds as they are do not. */
export interface Explanation {
  cause: WiringMistake;
  /** the feed to be read otherwise; null when it could be either */
  feed: Role | null;
  agreement: Agreement;
  evidence: Evidence;
}

/** offsets are many: fewer moments for each */
const OFFSET_MOMENTS_MAX = 8;
/** frames, or half intervals, looked at to both sides of a likely offset */
const OFFSETS_MAX = 20;
/** tracks of a part that are looked at for each of them at first, and offsets that are looked at with all */
const ROUGH_TRACKS = 8;
const FINE_SHIFTS = 6;
/** an explanation rests on at least so much */
const MOMENTS_MIN = 4;
const PAIRS_MIN = 8;
const SHARE_MIN = 0.25;
/** and what it explains must not be explained without it */
const IDENTITY_SHARE_MAX = 0.35;
/** milliseconds, microseconds, nanoseconds */
const TIME_FACTORS = [1e3, 1e6, 1e9];
/** one unit in another */
const POINT_FACTORS: ReadonlyArray<readonly [factor: number, from: string, to: string]> = [
  [1000, 'kilometres', 'metres (or metres for millimetres)'],
  [100, 'metres', 'centimetres'],
  [0.3048, 'feet', 'metres'],
  [0.9144, 'yards', 'metres'],
  [1609.344, 'miles', 'metres'],
  [1852, 'nautical miles', 'metres'],
];
const DEGREES = 180 / Math.PI;
/** a reading that has a name explains this share of what a fitted scale does: it is the simpler one */
const NAMED_SHARE = 0.9;
/** a scale nearer to 1 than this is a matter of taste */
const SCALE_MIN = 1.2;
/** what is near enough to tell a scale from: boxes that overlap, points within so many cut-offs */
const NEAR_BOXES = { distance: 'iou', cutoff: 0.95 } as const;
const NEAR_POINTS = 2;
/** cut-offs that a scene must span: in a smaller one everything is close to everything */
const SPAN_MIN = 4;

/**
 * The hypothesis that explains most; null when none explains enough, or the feeds agree as they are by more than a
 * share of what they would.
 */
export const explain = (sample: FeedSample, judge: Judge, identityShareMax = IDENTITY_SHARE_MAX): Explanation | null =>
  best([...explainTiming(sample, judge), ...explainCoordinates(sample, judge)], sample, judge, identityShareMax);

/** The same, of frames that are numbered or timed otherwise: slow scenes agree with themselves a few frames later. */
export const explainByTime = (sample: FeedSample, judge: Judge, identityShareMax: number): Explanation | null =>
  best(explainTiming(sample, judge), sample, judge, identityShareMax);

function best(found: Explanation[], sample: FeedSample, judge: Judge, identityShareMax: number): Explanation | null {
  const paired = agreementAsPaired(sample, judge);
  // a few parts that meet by chance are no agreement
  const identity = paired.moments < MOMENTS_MIN ? 0 : paired.share;
  const enough = found.filter(
    ({ agreement: { moments, pairs, share } }) =>
      moments >= MOMENTS_MIN && pairs >= PAIRS_MIN && share >= SHARE_MIN && identity <= identityShareMax * share,
  );
  // the first of equals is the simplest
  return enough.reduce<Explanation | null>(
    (most, one) => (most && most.agreement.share >= one.agreement.share ? most : one),
    null,
  );
}

function explainTiming(sample: FeedSample, judge: Judge): Explanation[] {
  if (sample.reference.length === 0 || sample.tracker.length === 0) return [];
  if (judge.by === 'frame') return explainFrameOffset(sample, judge);
  const unit = explainTimeUnit(sample, judge);
  return unit ? [unit] : explainClockOffset(sample, judge);
}

/** The number of frames by which the tracker is ahead when the feeds agree best. */
export const bestFrameShift = (sample: FeedSample, judge: Judge): Shifted | null =>
  bestShift(sample, judge, [0, Math.round(apartByArrival(sample, 'frame'))], 1, 1);

function explainFrameOffset(sample: FeedSample, judge: Judge): Explanation[] {
  const best = bestFrameShift(sample, judge);
  if (!best || best.shift === 0) return [];
  const { shift: frames, agreement } = best;
  return [{ cause: 'frame_offset', feed: null, agreement, evidence: { frames } }];
}

function explainClockOffset(sample: FeedSample, judge: Judge): Explanation[] {
  const step = usualGap(sample.reference.map((one) => placeOf(one, 'time'))) / 2;
  const start = (role: Role) => placeOf(sample[role][0], 'time')!;
  const likely = [0, apartByArrival(sample, 'time'), start('tracker') - start('reference')];
  const best = step > 0 ? bestShift(sample, judge, likely, step, 1) : null;
  if (!best) return [];
  const seconds = milli(lagOf(sample, judge, best.shift)?.offset ?? best.shift);
  if (Math.abs(seconds) * 1000 <= judge.toleranceMs) return [];
  return [{ cause: 'clock_offset', feed: null, agreement: best.agreement, evidence: { seconds } }];
}

/** Times whose intervals differ by a thousand, while parts come equally often, or match when that is taken out. */
function explainTimeUnit(sample: FeedSample, judge: Judge): Explanation | null {
  const gap = (role: Role) => usualGap(sample[role].map(({ t }) => t));
  const ratio = gap('tracker') / gap('reference');
  const unit = TIME_FACTORS.find((one) => ratio > one / 2 && ratio < one * 2);
  const inverse = TIME_FACTORS.find((one) => ratio * one > 0.5 && ratio * one < 2);
  if (unit === undefined && inverse === undefined) return null;
  const factor = unit ?? 1 / inverse!;
  const start = (role: Role) => sample[role][0].t ?? 0;
  const likely = [0, start('tracker') / factor - start('reference')];
  const best = bestShift(sample, judge, likely, gap('reference') / 2, factor);
  if (!best) return null;
  const feed = unit === undefined ? 'reference' : 'tracker';
  return { cause: 'time_unit', feed, agreement: best.agreement, evidence: { factor: unit ?? inverse! } };
}

/** By how much the places of the tracker are ahead, as far as the times of arrival tell. */
function apartByArrival({ reference, tracker }: FeedSample, by: Judge['by']): number {
  if (by === 'time') {
    const ahead = (list: readonly ReceivedPart[]) =>
      median(list.map((one) => placeOf(one, by)! - one.receivedMs / 1000));
    return ahead(tracker) - ahead(reference);
  }
  const apart = tracker.map((one) => {
    const beside = reference.findLast(({ receivedMs }) => receivedMs <= one.receivedMs) ?? reference[0];
    return (one.k ?? 0) - (beside?.k ?? 0);
  });
  return median(apart);
}

/**
 * The shift around the likely ones under which the feeds agree best; the smallest of equals. All are looked at with few
 * objects, and only those that do best there with all: the main thread must not stand still for this.
 */
function bestShift(
  sample: FeedSample,
  judge: Judge,
  likely: readonly number[],
  step: number,
  factor: number,
): Shifted | null {
  const at = (shift: number, moments: number, tracks: number): Shifted[] => {
    const found = momentsOf(sample, judge, { shift, factor }, moments);
    if (found.length < MOMENTS_MIN) return [];
    return [{ shift, agreement: agreement(found, judge, asItIs, asItIs, tracks) }];
  };
  const shifts = [...new Set(likely)].flatMap((middle) =>
    Array.from({ length: 2 * OFFSETS_MAX + 1 }, (_, n) => middle + (n % 2 === 0 ? n / 2 : -(n + 1) / 2) * step),
  );
  const rough = shifts.flatMap((shift) => at(shift, MOMENTS_MIN, ROUGH_TRACKS));
  const limit = rough.map((one) => one.agreement.share).sort((a, b) => b - a)[FINE_SHIFTS - 1] ?? 0;
  let best: Shifted | null = null;
  for (const { shift, agreement: roughly } of rough) {
    if (roughly.share < limit || roughly.pairs === 0) continue;
    for (const one of at(shift, OFFSET_MOMENTS_MAX, TRACKS_MAX))
      if (!best || one.agreement.share > best.agreement.share * (1 + 1e-9)) best = one;
  }
  return best;
}

interface Shifted {
  shift: number;
  agreement: Agreement;
}

const xyxy: Reading = (c, at) => sized(c[at], c[at + 1], c[at + 2] - c[at], c[at + 3] - c[at + 1]);
const cxcywh: Reading = (c, at) => sized(c[at] - c[at + 2] / 2, c[at + 1] - c[at + 3] / 2, c[at + 2], c[at + 3]);
const yxyx: Reading = (c, at) => sized(c[at + 1], c[at], c[at + 3] - c[at + 1], c[at + 2] - c[at]);
const yxwh: Reading = (c, at) => [c[at + 1], c[at], c[at + 2], c[at + 3]];
const xyhw: Reading = (c, at) => [c[at], c[at + 1], c[at + 3], c[at + 2]];
const ORDERS = { xyxy, cxcywh, yxyx, yxwh, xyhw };
const swappedBox: Reading = (c, at) => [c[at + 1], c[at], c[at + 3], c[at + 2]];
const swappedPoint: Reading = (c, at, stride) => [c[at + 1], c[at], ...c.slice(at + 2, at + stride)];
const times =
  (x: number, y = x): Reading =>
  (c, at, stride) =>
    c.slice(at, at + stride).map((value, d) => value * (d % 2 === 0 ? x : y));

const sized = (left: number, top: number, width: number, height: number) =>
  width > 0 && height > 0 ? [left, top, width, height] : null;

/** Other readings of the coordinates, with how well the feeds agree under each. */
export function explainCoordinates(sample: FeedSample, judge: Judge): Explanation[] {
  const moments = momentsOf(sample, judge, AS_THEY_ARE);
  if (moments.length < MOMENTS_MIN) return [];
  const { shape, stride } = moments[0].tracker.objects;
  const found: Explanation[] = [];
  const add = (cause: WiringMistake, reading: Reading, evidence: Evidence, feeds: readonly Role[]) => {
    for (const feed of feeds) {
      if (!isWide(moments, judge, reading, feed)) continue;
      const agreed =
        feed === 'tracker' ? agreement(moments, judge, reading) : agreement(moments, judge, asItIs, reading);
      found.push({ cause, feed, agreement: agreed, evidence });
    }
  };
  const both = ['tracker', 'reference'] as const;
  if (shape === 'box') {
    for (const [order, reading] of Object.entries(ORDERS)) add('box_order', reading, { order }, both);
    add('axis_swapped', swappedBox, {}, both);
    const scaled = explainScale(moments, judge);
    return scaled ? [...found, scaled] : found;
  }
  if (stride >= 2) add('axis_swapped', swappedPoint, {}, judge.distance === 'geodesic' ? both : ['tracker']);
  if (judge.distance === 'geodesic')
    add('units', times(DEGREES), { factor: DEGREES, unit: 'radians for degrees' }, both);
  else
    for (const [factor, from, to] of POINT_FACTORS) {
      add('units', times(factor), { factor, unit: `${from} for ${to}` }, both);
      add('units', times(1 / factor), { factor: rounded(1 / factor), unit: `${to} for ${from}` }, both);
    }
  const scaled = judge.distance !== 'geodesic' && stride === 2 ? explainScale(moments, judge) : null;
  const isNamed = found.some(({ agreement: { share } }) => share >= NAMED_SHARE * (scaled?.agreement.share ?? 0));
  return scaled && !isNamed ? [...found, scaled] : found;
}

/** Whether what a reading makes of a feed is larger than a few cut-offs. */
function isWide(moments: readonly PartPair[], { distance, cutoff }: Judge, reading: Reading, feed: Role): boolean {
  if (distance === 'iou' || distance === 'geodesic') return true;
  return [0, 1].some((axis) => {
    const values = moments.flatMap(({ [feed]: { objects } }) =>
      readAll(objects, TRUTHS_MAX, reading).filter((_, n) => n % objects.stride === axis),
    );
    return Math.max(...values) - Math.min(...values) > SPAN_MIN * cutoff;
  });
}

/** Objects of one feed scaled to the other: roughly first, then by where those that pair lie. */
function explainScale(moments: readonly PartPair[], judge: Judge): Explanation | null {
  const { shape } = moments[0].tracker.objects;
  const near = shape === 'box' ? NEAR_BOXES : { distance: judge.distance, cutoff: NEAR_POINTS * judge.cutoff };
  const scaled = roughScales(moments, shape).map(([roughX, roughY]) => {
    let [x, y] = [roughX, roughY];
    for (let round = 0; round < 4; round++) [x, y] = refitted(moments, x, y, near);
    return { x, y, agreed: agreement(moments, judge, times(x, y)) };
  });
  const { x, y, agreed } = scaled.reduce((best, one) => (one.agreed.share > best.agreed.share ? one : best));
  if (!(Number.isFinite(x) && Number.isFinite(y)) || Math.max(farFrom1(x), farFrom1(y)) < SCALE_MIN) return null;
  if (shape === 'point') {
    if (!isWide(moments, judge, times(x, y), 'tracker')) return null;
    return { cause: 'units', feed: 'tracker', agreement: agreed, evidence: { x: rounded(x), y: rounded(y) } };
  }
  const largest = (role: Role) =>
    Math.max(...moments.map(({ [role]: { objects } }) => Math.max(...column(objects, 0), ...column(objects, 1))));
  if (largest('tracker') <= 1.5 && largest('reference') > 2)
    return {
      cause: 'normalized_boxes',
      feed: 'tracker',
      agreement: agreed,
      evidence: { x: rounded(x), y: rounded(y) },
    };
  if (largest('reference') <= 1.5 && largest('tracker') > 2)
    return {
      cause: 'normalized_boxes',
      feed: 'reference',
      // in pixels, where a cut-off in pixels makes sense
      agreement: agreement(moments, judge, asItIs, times(1 / x, 1 / y)),
      evidence: { x: rounded(1 / x), y: rounded(1 / y) },
    };
  return { cause: 'units', feed: 'tracker', agreement: agreed, evidence: { x: rounded(x), y: rounded(y) } };
}

/** By usual sizes, and, for a tracker that sees the large ones only, by how far the scene reaches. */
function roughScales(moments: readonly PartPair[], shape: PackedList['shape']): Array<[x: number, y: number]> {
  const values = (role: Role, axis: number) =>
    moments.flatMap((one) => column(one[role].objects, axis).slice(0, TRUTHS_MAX));
  const reach = (role: Role, axis: number) => quantile(values(role, axis), 0.95) - quantile(values(role, axis), 0.05);
  const ratio = (of: (role: Role, axis: number) => number, axis: number) => of('reference', axis) / of('tracker', axis);
  const size = (role: Role, axis: number) => median(values(role, 2 + axis));
  const edge = (role: Role, axis: number) => quantile(values(role, axis), 0.95);
  return [...(shape === 'box' ? [size] : []), reach, edge].map((of) => [ratio(of, 0), ratio(of, 1)]);
}

const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(share * (values.length - 1))];

const farFrom1 = (factor: number) => Math.max(factor, 1 / factor);

const column = ({ coordinates, stride }: PackedList, d: number): number[] =>
  coordinates.filter((_, n) => n % stride === d);

/** Scales that put the centres of what is near on top of each other. */
function refitted(
  moments: readonly PartPair[],
  x: number,
  y: number,
  near: Pick<Judge, 'distance' | 'cutoff'>,
): [number, number] {
  const sums = [0, 0, 0, 0];
  for (const { reference, tracker } of moments) {
    const a = readAll(reference.objects, TRUTHS_MAX, asItIs);
    const raw = readAll(tracker.objects, TRACKS_MAX, asItIs);
    const b = readAll(tracker.objects, TRACKS_MAX, times(x, y));
    const { stride } = tracker.objects;
    const centreOf = (c: ArrayLike<number>, n: number, axis: number) =>
      c[stride * n + axis] + (stride === 4 ? c[stride * n + 2 + axis] / 2 : 0);
    for (const { i, j } of pairUp(a, b, stride, near))
      for (const axis of [0, 1]) {
        const centre = centreOf(raw, j, axis);
        sums[axis] += centreOf(a, i, axis) * centre;
        sums[2 + axis] += centre * centre;
      }
  }
  return sums[2] > 0 && sums[3] > 0 ? [sums[0] / sums[2], sums[1] / sums[3]] : [x, y];
}

/** To milliseconds. */
export const milli = (seconds: number): number => Math.round(seconds * 1000) / 1000;

/** To four digits: an estimate is not better than that. */
export const rounded = (value: number): number => Number(value.toPrecision(4));
