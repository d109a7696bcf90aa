/**
 * Whether feeds that were read from trajectories agree when one is taken to be late: sampled at the same times, they
 * say where everybody was at any time in between, so that clocks are told apart by much less than an interval.
 */

import type { Located } from '../../performance/frame.js';
import { findDelay } from '../../performance/latency.js';
import { planeOf, searchOf } from '../../performance/sequence.js';
import type { PackedList } from '../../wire/objects.js';
import { type FeedSample, type Judge, TRACKS_MAX, TRUTHS_MAX } from '../../wiring/agreement.js';
import { type Explanation, milli } from '../../wiring/hypotheses.js';
import { centreOf } from '../../wiring/lag.js';

/** Parts of both feeds with the same times. */
export function explainByDelay({ reference, tracker }: FeedSample, judge: Judge): Explanation | null {
  const truthsAt = new Map(reference.map(({ t, objects }) => [t, objects]));
  const frames = tracker.flatMap(({ t, objects }) => {
    const truths = truthsAt.get(t);
    if (t === undefined || !truths) return [];
    return [{ t, truths: located(truths, TRUTHS_MAX), tracks: located(objects, TRACKS_MAX), pairs: [] }];
  });
  const terms = { plane: planeOf(judge), truthsMax: TRUTHS_MAX, ...searchOf(judge, frames.length) };
  const found = findDelay(frames, terms);
  if (!found || Math.abs(found.latency) * 1000 <= judge.toleranceMs) return null;
  const { latency, score: share, pairs, possible } = found;
  const agreement = { moments: frames.length, pairs, possible, share };
  return { cause: 'clock_offset', feed: null, agreement, evidence: { seconds: milli(latency) } };
}

function located(objects: PackedList, most: number): Located[] {
  const { ids, shape, stride, coordinates: c } = objects;
  return ids.slice(0, most).map((id, n) => {
    const one: Located = { id, place: centreOf(objects, n) };
    if (shape === 'box') one.size = (c[n * stride + 2] + c[n * stride + 3]) / 2;
    return one;
  });
}
