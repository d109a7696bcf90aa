/** The numbers of a finished sequence, from its evaluation, and what of a frame they are made of. */

import { distances } from '../metric/distance.js';
import type { Assigned, Frame, FrameEvaluation, Obj } from '../metric/evaluation.js';
import type { Params } from '../metric/params.js';
import type { Located, PerformanceFrame } from './frame.js';
import type { SearchTerms } from './latency.js';
import { Performance, type PerformanceNumbers } from './performance.js';
import { type Plane, placeOf } from './place.js';

/** A truth that is missed in more steps than this in a row has a gap. */
const GAP_STEPS = 3;

export const planeOf = ({ distance }: Pick<Params, 'distance'>): Plane => (distance === 'geodesic' ? 'earth' : 'flat');

/** of a box, as a share of its size: centres this far apart are no pair */
const BOX_GATE = 0.5;

/** How a latency is looked for that is too large for the metric's pairs, in so many frames. */
export const searchOf = ({ distance, cutoff }: Pick<Params, 'distance' | 'cutoff'>, framesMax: number): SearchTerms =>
  distance === 'iou' ? { gate: BOX_GATE, bySize: true, framesMax } : { gate: cutoff, bySize: false, framesMax };

/** `times` of the frames, in seconds, or their numbers. */
export function performanceOf(
  frames: readonly Frame[],
  perFrame: readonly FrameEvaluation[],
  times: readonly number[],
  params: Params,
  gapSteps = GAP_STEPS,
): PerformanceNumbers {
  const performance = new Performance({
    plane: planeOf(params),
    gapSteps,
    truthsMax: Number.POSITIVE_INFINITY,
    search: searchOf(params, Number.POSITIVE_INFINITY),
  });
  for (const frame of performanceFrames(frames, perFrame, times, params)) performance.update(frame);
  return performance.get();
}

/** The frames of an evaluation as the numbers want them. */
export function* performanceFrames(
  frames: readonly Frame[],
  perFrame: readonly FrameEvaluation[],
  times: readonly number[],
  params: Params,
): Generator<PerformanceFrame> {
  for (const [n, frame] of frames.entries())
    yield performanceFrame(frame, perFrame[n].assignment.filter(isProper), times[n], params);
}

/** One frame and its proper pairs as the numbers want them. */
export function performanceFrame(
  { reference, tracker }: Frame,
  pairs: readonly ProperPair[],
  t: number,
  params: Params,
): PerformanceFrame {
  const tracked = new Set(pairs.map(({ truth }) => truth));
  const assigned = new Set(pairs.map(({ track }) => track));
  const truths = reference.filter(({ id }) => tracked.has(id));
  const extras = tracker
    .filter(({ id, alone }) => !assigned.has(id) && alone !== 0)
    .map((track) => toNearest(track, truths, params))
    .filter((distance) => distance < params.cutoff);
  return { t, truths: reference.map(located), tracks: tracker.map(located), pairs, extras };
}

type ProperPair = Assigned & { distance: number };

const isProper = (pair: Assigned): pair is ProperPair => pair.distance !== null;

const located = (object: Obj): Located => {
  const { id, alone } = object;
  const one: Located = { id, place: placeOf(object) };
  if ('box' in object) one.size = (object.box[2] + object.box[3]) / 2;
  if (alone === 0) one.judged = false;
  return one;
};

const coordinatesOf = (object: Obj): readonly number[] => ('box' in object ? object.box : object.point);

function toNearest(track: Obj, truths: readonly Obj[], { distance }: Params): number {
  const own = coordinatesOf(track);
  return truths.reduce(
    (least, truth) => Math.min(least, distances[distance](coordinatesOf(truth), 0, own, 0, own.length)),
    Number.POSITIVE_INFINITY,
  );
}
