/**
 * Base distances between objects, every one a true metric, and the search for the pairs closer than the cut-off.
 *
 *   iou          1 - |A ∩ B| / |A ∪ B|                                                        boxes, 0 to 1
 *   hausdorff    of the boxes as sets, under the maximum norm: the side that is farthest off     boxes
 *   wasserstein  2-Wasserstein distance of the uniform distributions on the boxes              boxes
 *   euclidean    of points of any dimension
 *   geodesic     on the ellipsoid WGS84, metres                                   [latitude, longitude], altitude
 *
 * Crowds are pruned by sweeping along the first axis: objects farther apart there than `reach` cannot be close.
 */

import { FARTHEST_M, geodesicLength, LEAST_DEGREE_M, latitudeReach } from './earth.js';
import type { PackedFrame } from './frame.js';
import type { DistanceName } from './params.js';

type Numbers = ArrayLike<number>;
/** Where it is at least `enough`, it need not be told how much more. */
export type PairDistance = (a: Numbers, i: number, b: Numbers, j: number, stride: number, enough?: number) => number;

const TWELVE_ROOT = Math.sqrt(12);
/** up to so many pairs of objects it is faster to look at all of them than to sort */
const SCAN_MAX = 640;
/** so many pairs of one truth are sorted by insertion */
const INSERTION_SORT_MAX = 80;
/** the share of a coordinate that may be lost where a centre is computed */
const ROUNDED = 2 ** -51;
/** times a number of tracks it is a whole number that a double can hold */
const STEPS = 2 ** 32;

/** Products and sums of squares below have lost digits, or underflowed; those above may have overflowed. */
const SMALLEST = 1e-290;
const LARGEST = 1e300;

/**
 * How far two intervals overlap; at most 0 when they do not. From their difference, which keeps its digits however far
 * away they are.
 */
function overlap(start: number, length: number, otherStart: number, otherLength: number): number {
  const shift = otherStart - start;
  return shift >= 0 ? Math.min(otherLength, length - shift) : Math.min(length, otherLength + shift);
}

function iou(a: Numbers, i: number, b: Numbers, j: number): number {
  const ai = i * 4;
  const bj = j * 4;
  const overlapX = overlap(a[ai], a[ai + 2], b[bj], b[bj + 2]);
  if (overlapX <= 0) return 1;
  const overlapY = overlap(a[ai + 1], a[ai + 3], b[bj + 1], b[bj + 3]);
  if (overlapY <= 0) return 1;
  const common = overlapX * overlapY;
  const union = a[ai + 2] * a[ai + 3] + b[bj + 2] * b[bj + 3] - common;
  if (common > SMALLEST && union < LARGEST) return Math.max(0, 1 - common / union);
  return scaledIou(a[ai + 2], a[ai + 3], b[bj + 2], b[bj + 3], overlapX, overlapY);
}

/** The same where areas leave the range of numbers: in units of the larger sides. */
function scaledIou(aw: number, ah: number, bw: number, bh: number, overlapX: number, overlapY: number): number {
  const width = Math.max(aw, bw);
  const height = Math.max(ah, bh);
  const common = (overlapX / width) * (overlapY / height);
  const union = (aw / width) * (ah / height) + (bw / width) * (bh / height) - common;
  // two strips across each other, so thin that next to nothing is common
  return union > 0 ? Math.max(0, 1 - common / union) : 1;
}

function hausdorff(a: Numbers, i: number, b: Numbers, j: number): number {
  const ai = i * 4;
  const bj = j * 4;
  const dx = a[ai] - b[bj];
  const dy = a[ai + 1] - b[bj + 1];
  const right = dx + (a[ai + 2] - b[bj + 2]);
  const bottom = dy + (a[ai + 3] - b[bj + 3]);
  return Math.max(Math.abs(dx), Math.abs(dy), Math.abs(right), Math.abs(bottom));
}

function wasserstein(a: Numbers, i: number, b: Numbers, j: number): number {
  const ai = i * 4;
  const bj = j * 4;
  const dw = a[ai + 2] - b[bj + 2];
  const dh = a[ai + 3] - b[bj + 3];
  const dx = a[ai] - b[bj] + dw / 2;
  const dy = a[ai + 1] - b[bj + 1] + dh / 2;
  const sum = dx * dx + dy * dy + (dw * dw + dh * dh) / 12;
  return sum > SMALLEST ? Math.sqrt(sum) : Math.hypot(dx, dy, dw / TWELVE_ROOT, dh / TWELVE_ROOT);
}

function euclidean(a: Numbers, i: number, b: Numbers, j: number, stride: number): number {
  let sum = 0;
  for (let d = 0; d < stride; d++) {
    const delta = a[i * stride + d] - b[j * stride + d];
    sum += delta * delta;
  }
  return sum > SMALLEST ? Math.sqrt(sum) : tinyEuclidean(a, i, b, j, stride);
}

/** The same where squares underflow. */
function tinyEuclidean(a: Numbers, i: number, b: Numbers, j: number, stride: number): number {
  let length = 0;
  for (let d = 0; d < stride; d++) length = Math.hypot(length, a[i * stride + d] - b[j * stride + d]);
  return length;
}

function geodesic(a: Numbers, i: number, b: Numbers, j: number, stride: number, enough?: number): number {
  const first = i * stride;
  const second = j * stride;
  const across = geodesicLength(a[first], a[first + 1], b[second], b[second + 1], enough);
  if (stride === 2) return across;
  const up = a[first + 2] - b[second + 2];
  return up === 0 ? across : Math.hypot(across, up);
}

export const distances: Record<DistanceName, PairDistance> = { iou, hausdorff, wasserstein, euclidean, geodesic };

const finders: Partial<Record<DistanceName, PairFinder>> = {};

/**
 * Pairs of one frame closer than the cut-off, ordered by truth and then by track. All windows of a thread share one for
 * each distance: what it has found is good until it is asked again.
 */
export class PairFinder {
  count = 0;
  truth = new Int32Array(64);
  track = new Int32Array(64);
  distance = new Float64Array(64);
  private readonly pairDistance: PairDistance;
  /**
   * how far apart along an axis two objects closer than the cut-off may be; a degree of longitude may be next to
   * nothing
   */
  private reach = 0;
  private secondReach = 0;
  private cutoff = 0;
  /** of each track: where it begins and ends along the first axis, and along the second */
  private low = new Float64Array(64);
  private high = new Float64Array(64);
  private top = new Float64Array(64);
  private bottom = new Float64Array(64);
  private widest = 0;
  /** tracks by where they end, and, in this order, their bounds */
  private order = new Int32Array(64);
  private sortedLow = new Float64Array(64);
  private sortedHigh = new Float64Array(64);
  private sortedTop = new Float64Array(64);
  private sortedBottom = new Float64Array(64);
  /** where tracks are that come near the truth at hand: fields, because numbers that are passed on take memory */
  private left = 0.5;
  private right = 0.5;
  private above = 0.5;
  private below = 0.5;
  /** scratch: of each track how far it is from the truth at hand */
  private distanceTo = new Float64Array(64);

  constructor(private readonly name: DistanceName) {
    this.pairDistance = distances[name];
  }

  /** The one of this thread. */
  static for(name: DistanceName): PairFinder {
    finders[name] ??= new PairFinder(name);
    return finders[name];
  }

  /** Whether there are no more than so many pairs; otherwise not all of them were found. */
  find(frame: PackedFrame, cutoff: number, pairsMax = Number.POSITIVE_INFINITY): boolean {
    this.cutoff = cutoff;
    this.reach = reachOf(this.name, cutoff);
    this.secondReach = this.name === 'geodesic' ? Number.POSITIVE_INFINITY : this.reach;
    this.count = 0;
    const { reference, tracker, stride } = frame;
    const truthCount = reference.ids.length;
    const trackCount = tracker.ids.length;
    if (truthCount === 0 || trackCount === 0) return true;
    this.measure(tracker.coordinates, trackCount, stride);
    const few = truthCount * trackCount <= SCAN_MAX;
    if (!few) this.sortTracks(trackCount);
    for (let i = 0; i < truthCount && this.count <= pairsMax; i++) {
      this.aim(reference.coordinates, i, stride);
      if (few) this.scan(frame, i);
      else this.sweep(frame, i);
    }
    return this.count <= pairsMax;
  }

  private measure(c: Float64Array, count: number, stride: number): void {
    if (this.low.length < count) {
      this.low = new Float64Array(count * 2);
      this.high = new Float64Array(count * 2);
      this.top = new Float64Array(count * 2);
      this.bottom = new Float64Array(count * 2);
    }
    const { name, low, high, top, bottom } = this;
    let widest = 0;
    for (let j = 0; j < count; j++) {
      const begin = lowOf(name, c, j, stride, 0);
      const end = highOf(name, c, j, 0, begin);
      low[j] = begin;
      high[j] = end;
      top[j] = lowOf(name, c, j, stride, 1);
      bottom[j] = highOf(name, c, j, 1, top[j]);
      if (end - begin > widest) widest = end - begin;
    }
    // a little more, for what was rounded
    this.widest = widest * (1 + 1e-9);
  }

  /** Says where tracks that come near a truth begin and end. */
  private aim(c: Float64Array, i: number, stride: number): void {
    const { name } = this;
    const low = lowOf(name, c, i, stride, 0);
    const top = lowOf(name, c, i, stride, 1);
    // a little farther, for what was rounded
    const far = this.reach + Math.abs(low) * ROUNDED;
    const farther = this.secondReach + Math.abs(top) * ROUNDED;
    this.left = low - far;
    this.right = highOf(name, c, i, 0, low) + far;
    this.above = top - farther;
    this.below = highOf(name, c, i, 1, top) + farther;
  }

  /** Tests the tracks that come near the truth along both axes. */
  private scan(frame: PackedFrame, i: number): void {
    const { low, high, top, bottom, left, right, above, below } = this;
    const { length } = frame.tracker.ids;
    for (let j = 0; j < length; j++)
      if (low[j] <= right && high[j] >= left && top[j] <= below && bottom[j] >= above) this.test(frame, i, j);
  }

  /** The same without a look at those that are far away; what is found is put in the tracks' own order. */
  private sweep(frame: PackedFrame, i: number): void {
    const from = this.count;
    const { sortedLow, sortedHigh, sortedTop, sortedBottom, order, left, right, above, below } = this;
    const count = frame.tracker.ids.length;
    const last = right + this.widest;
    // skip what ends before the truth begins
    let start = 0;
    let end = count;
    while (start < end) {
      const middle = (start + end) >> 1;
      if (sortedHigh[middle] < left) start = middle + 1;
      else end = middle;
    }
    for (let n = start; n < count && sortedHigh[n] <= last; n++)
      if (sortedTop[n] <= below && sortedBottom[n] >= above && sortedLow[n] <= right) this.test(frame, i, order[n]);
    if (this.count > from + 1) this.sortFound(from);
  }

  /**
   * Sorts tracks by where they end: as numbers up to a tiny fraction of the whole width, which is many times faster
   * than by comparing them, and then by insertion.
   */
  private sortTracks(count: number): void {
    if (this.order.length < count) {
      this.order = new Int32Array(count * 2);
      this.sortedLow = new Float64Array(count * 2);
      this.sortedHigh = new Float64Array(count * 2);
      this.sortedTop = new Float64Array(count * 2);
      this.sortedBottom = new Float64Array(count * 2);
    }
    const { low, high, top, bottom, order, sortedLow, sortedHigh, sortedTop, sortedBottom } = this;
    let least = high[0];
    let most = high[0];
    for (let j = 1; j < count; j++) {
      if (high[j] < least) least = high[j];
      else if (high[j] > most) most = high[j];
    }
    const width = most - least;
    const scale = width > 0 && width < Number.POSITIVE_INFINITY ? STEPS / width : 0;
    for (let j = 0; j < count; j++)
      sortedHigh[j] = (scale === 0 ? 0 : Math.floor((high[j] - least) * scale)) * count + j;
    const keys = sortedHigh.subarray(0, count).sort();
    for (let n = 0; n < count; n++) order[n] = keys[n] - Math.floor(keys[n] / count) * count;
    for (let n = 0; n < count; n++) {
      const j = order[n];
      let m = n - 1;
      for (; m >= 0 && sortedHigh[m] > high[j]; m--) {
        order[m + 1] = order[m];
        sortedHigh[m + 1] = sortedHigh[m];
      }
      order[m + 1] = j;
      sortedHigh[m + 1] = high[j];
    }
    for (let n = 0; n < count; n++) {
      const j = order[n];
      sortedLow[n] = low[j];
      sortedTop[n] = top[j];
      sortedBottom[n] = bottom[j];
    }
  }

  private test({ reference, tracker, stride }: PackedFrame, i: number, j: number): void {
    const a = reference.coordinates;
    const b = tracker.coordinates;
    const d = this.name === 'iou' ? iou(a, i, b, j) : this.pairDistance(a, i, b, j, stride, this.cutoff);
    if (d >= this.cutoff) return;
    if (this.count === this.truth.length) this.grow();
    this.truth[this.count] = i;
    this.track[this.count] = j;
    this.distance[this.count++] = d;
  }

  /** Keeps the pairs, by truth, track and distance, that pass. */
  keep(passes: (truth: number, track: number, distance: number) => boolean): void {
    const { truth, track, distance } = this;
    let kept = 0;
    for (let n = 0; n < this.count; n++) {
      if (!passes(truth[n], track[n], distance[n])) continue;
      truth[kept] = truth[n];
      track[kept] = track[n];
      distance[kept++] = distance[n];
    }
    this.count = kept;
  }

  /** Sorts the pairs found for one truth by track; mostly they are few. */
  private sortFound(from: number): void {
    const { track, distance } = this;
    if (this.count - from > INSERTION_SORT_MAX) {
      this.sortManyFound(from);
      return;
    }
    for (let n = from + 1; n < this.count; n++) {
      const j = track[n];
      const d = distance[n];
      let m = n - 1;
      for (; m >= from && track[m] > j; m--) {
        track[m + 1] = track[m];
        distance[m + 1] = distance[m];
      }
      track[m + 1] = j;
      distance[m + 1] = d;
    }
  }

  private sortManyFound(from: number): void {
    const { track, distance, count } = this;
    if (this.distanceTo.length < this.low.length) this.distanceTo = new Float64Array(this.low.length);
    const { distanceTo } = this;
    for (let n = from; n < count; n++) distanceTo[track[n]] = distance[n];
    track.subarray(from, count).sort();
    for (let n = from; n < count; n++) distance[n] = distanceTo[track[n]];
  }

  private grow(): void {
    const size = this.truth.length * 2;
    const grown = <A extends Int32Array | Float64Array>(old: A, fresh: A): A => {
      fresh.set(old);
      return fresh;
    };
    this.truth = grown(this.truth, new Int32Array(size));
    this.track = grown(this.track, new Int32Array(size));
    this.distance = grown(this.distance, new Float64Array(size));
  }
}

/** How far apart along the first axis two objects closer than the cut-off may be, from end to beginning. */
function reachOf(name: DistanceName, cutoff: number): number {
  switch (name) {
    case 'iou':
      return 0;
    case 'geodesic':
      return latitudeReach(cutoff);
    case 'hausdorff':
    case 'wasserstein':
    case 'euclidean':
      return cutoff;
  }
}

/** Where an object begins along the first or the second axis; 0 where there is no second. */
export function lowOf(name: DistanceName, c: Float64Array, n: number, stride: number, axis: 0 | 1): number {
  switch (name) {
    case 'wasserstein':
      return c[n * 4 + axis] + c[n * 4 + 2 + axis] / 2;
    case 'iou':
    case 'hausdorff':
    case 'euclidean':
    case 'geodesic':
      return axis < stride ? c[n * stride + axis] : 0;
  }
}

/** Where it ends. */
function highOf(name: DistanceName, c: Float64Array, n: number, axis: 0 | 1, low: number): number {
  switch (name) {
    case 'iou':
    case 'hausdorff':
      return low + c[n * 4 + 2 + axis];
    case 'wasserstein':
    case 'euclidean':
    case 'geodesic':
      return low;
  }
}

/**
 * How far an object that begins at a key along the first axis is at least from one that begins at another. Of two boxes
 * no larger share overlaps than of their extents along one axis.
 */
export function axisFloor(name: DistanceName, c: Float64Array, n: number, key: number, other: number): number {
  // a little less, for what was rounded
  const far = Math.max(0, Math.abs(other - key) * (1 - 1e-9) - 4 * ROUNDED * Math.abs(key));
  switch (name) {
    case 'geodesic':
      return Math.min(FARTHEST_M, far * LEAST_DEGREE_M * (1 - 1e-9));
    case 'hausdorff':
    case 'wasserstein':
    case 'euclidean':
      return far;
    case 'iou': {
      const width = c[n * 4 + 2];
      return other > key ? Math.min(1, far / width) : far / (width + far);
    }
  }
}
