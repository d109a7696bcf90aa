/**
 * How alike a truth and a track are, from 0 to 1: IoU for boxes (as TrackEval computes it, digit by digit), 1 -
 * distance / zeroDistance for points; objects of different kinds, where they have one, are not alike. Pairs with
 * similarity 0 are never listed. Found once per frame and shared by all scores.
 */

import { distances } from '../metric/distance.js';
import { latitudeReach } from '../metric/earth.js';
import { InputError } from '../metric/input-error.js';
import type { FeedView, FrameView } from '../metric/window/frame-view.js';

/** What is compared, and for points the distance at which nothing is left of the similarity. */
export type SimilarityRule = { kind: 'iou' } | { kind: 'euclidean' | 'geodesic'; zeroDistance: number };

/** up to so many tracks the sweep needs no sorting */
const SCAN_MAX = 12;

/**
 * Pairs of one frame, ordered by truth. Arrays are reused from frame to frame; only the first `count` entries count.
 */
export class SimilarityFinder {
  count = 0;
  truth = new Int32Array(64);
  track = new Int32Array(64);
  similarity = new Float64Array(64);
  /** how far apart on the first axis two objects may be and still be alike */
  readonly #reach: number;
  #order = new Int32Array(64);
  #low = new Float64Array(64);
  #widest = 0;
  /** tracks whose order is in #order */
  #sorted = 0;

  constructor(readonly rule: SimilarityRule) {
    if (rule.kind !== 'iou' && !(rule.zeroDistance > 0 && Number.isFinite(rule.zeroDistance)))
      throw new InputError([
        {
          path: 'zeroDistance',
          value: rule.zeroDistance,
          message: 'must be a number above 0, in the unit of the points',
        },
      ]);
    if (rule.kind === 'iou') this.#reach = 0;
    else this.#reach = rule.kind === 'euclidean' ? rule.zeroDistance : latitudeReach(rule.zeroDistance);
  }

  find(frame: FrameView): void {
    this.count = 0;
    const truthCount = frame.reference.ids.length;
    const trackCount = frame.tracker.ids.length;
    if (truthCount === 0 || trackCount === 0) return;
    this.#sort(frame.tracker, frame.stride);
    const { stride } = frame;
    const a = frame.reference.coordinates;
    const b = frame.tracker.coordinates;
    const { kinds: truthKinds } = frame.reference;
    const { kinds: trackKinds } = frame.tracker;
    const kinds = truthKinds || trackKinds;
    const boxes = this.rule.kind === 'iou';
    const low = this.#low;
    const order = this.#order;
    const reach = this.#reach;
    for (let i = 0; i < truthCount; i++) {
      const left = a[i * stride] - reach;
      const right = left + 2 * reach + (boxes ? a[i * 4 + 2] : 0);
      for (let n = this.#firstFrom(left - this.#widest, trackCount); n < trackCount && low[n] <= right; n++) {
        const j = order[n];
        if (kinds && (truthKinds?.[i] ?? null) !== (trackKinds?.[j] ?? null)) continue;
        const value = boxes ? iou(a, i, b, j) : this.#closeness(frame, i, j);
        if (value > 0) this.#add(i, j, value);
      }
    }
  }

  /** Forgets the order of the frame before: what is found does not depend on it, but the order of equals does. */
  clear(): void {
    this.#sorted = 0;
  }

  /** Tracks by where they begin on the first axis. */
  #sort(tracker: FeedView, stride: number): void {
    const count = tracker.ids.length;
    if (count > this.#order.length) {
      this.#order = new Int32Array(count * 2);
      this.#low = new Float64Array(count * 2);
    }
    const order = this.#order;
    const low = this.#low;
    const { coordinates } = tracker;
    const boxes = this.rule.kind === 'iou';
    let widest = 0;
    // the order of the frame before is nearly right, when there are as many as then
    if (count !== this.#sorted) for (let j = 0; j < count; j++) order[j] = j;
    this.#sorted = count;
    for (let m = 0; m < count; m++) {
      const j = order[m];
      const value = coordinates[j * stride];
      if (boxes && coordinates[j * 4 + 2] > widest) widest = coordinates[j * 4 + 2];
      let n = m;
      for (; n > 0 && low[n - 1] > value; n--) {
        low[n] = low[n - 1];
        order[n] = order[n - 1];
      }
      low[n] = value;
      order[n] = j;
    }
    this.#widest = widest;
  }

  #firstFrom(value: number, count: number): number {
    if (count <= SCAN_MAX) return 0;
    let start = 0;
    let end = count;
    while (start < end) {
      const middle = (start + end) >> 1;
      if (this.#low[middle] < value) start = middle + 1;
      else end = middle;
    }
    return start;
  }

  #closeness(frame: FrameView, i: number, j: number): number {
    const { rule } = this;
    if (rule.kind === 'iou') return 0;
    const distance = distances[rule.kind](frame.reference.coordinates, i, frame.tracker.coordinates, j, frame.stride);
    return 1 - distance / rule.zeroDistance;
  }

  #add(i: number, j: number, value: number): void {
    if (this.count === this.truth.length) {
      const size = this.count * 2;
      const { truth, track, similarity } = this;
      this.truth = new Int32Array(size);
      this.truth.set(truth);
      this.track = new Int32Array(size);
      this.track.set(track);
      this.similarity = new Float64Array(size);
      this.similarity.set(similarity);
    }
    this.truth[this.count] = i;
    this.track[this.count] = j;
    this.similarity[this.count++] = value;
  }
}

function iou(a: ArrayLike<number>, i: number, b: ArrayLike<number>, j: number): number {
  const ai = i * 4;
  const bj = j * 4;
  const aRight = a[ai] + a[ai + 2];
  const bRight = b[bj] + b[bj + 2];
  const overlapX = (aRight < bRight ? aRight : bRight) - (a[ai] > b[bj] ? a[ai] : b[bj]);
  if (overlapX <= 0) return 0;
  const aBottom = a[ai + 1] + a[ai + 3];
  const bBottom = b[bj + 1] + b[bj + 3];
  const overlapY = (aBottom < bBottom ? aBottom : bBottom) - (a[ai + 1] > b[bj + 1] ? a[ai + 1] : b[bj + 1]);
  if (overlapY <= 0) return 0;
  const common = overlapX * overlapY;
  const areaA = (aRight - a[ai]) * (aBottom - a[ai + 1]);
  const areaB = (bRight - b[bj]) * (bBottom - b[bj + 1]);
  return common / (areaA + areaB - common);
}
