/**
 * The benchmarks' own cleaning, before anything is counted: in every frame the tracks are matched with all that the
 * reference has there, for the greatest total overlap among pairs with IoU >= 0.5. A track that matches a distractor is
 * taken out; a track that matches nothing is taken out when it is too small or lies mostly within a region that nobody
 * annotated. The rules, and which rows are what, differ by benchmark; the steps are those of TrackEval.
 */

import { bestMatching } from '../../src/metric/assignment.js';
import { distances } from '../../src/metric/distance.js';
import type { Box } from '../../src/metric/evaluation.js';

/**
 * A row of the reference that does not count. `distractor`: whoever tracks it is neither rewarded nor punished;
 * `neutral`: takes part in the matching, and tracking it is false; `region`: what is tracked there is not judged.
 */
export interface Aside {
  box: Box;
  role: 'distractor' | 'neutral' | 'region';
  class?: string;
}

/** Benchmarks whose preprocessing is known. */
export const RULES = ['motchallenge', 'mot20', 'kitti', 'visdrone', 'ua-detrac'] as const;
export type Rules = (typeof RULES)[number];

interface Boxed {
  box: Box;
}

const IOU_MATCH_MIN = 0.5 - Number.EPSILON;
const INSIDE_MIN = 0.5 + Number.EPSILON;

/** The tracks that are judged. `heightMax`: tracks that match nothing are taken out up to this height, in pixels. */
export function judgedTracks<Track extends Boxed>(
  truths: readonly Boxed[],
  aside: readonly Aside[],
  tracks: readonly Track[],
  heightMax = 0,
): Track[] {
  const regions = aside.filter(({ role }) => role === 'region');
  const others = aside.filter(({ role }) => role !== 'region');
  if (others.length === 0 && regions.length === 0 && heightMax === 0) return [...tracks];
  const partners = matchByOverlap([...truths, ...others], tracks);
  return tracks.filter((track, index) => {
    const partner = partners[index];
    if (partner >= truths.length) return others[partner - truths.length].role !== 'distractor';
    if (partner >= 0) return true;
    return track.box[3] > heightMax + Number.EPSILON && !regions.some(({ box }) => isInside(track.box, box));
  });
}

/** For each track the index of its truth, or -1, in the matching of the greatest total overlap. */
function matchByOverlap(truths: readonly Boxed[], tracks: readonly Boxed[]): Int32Array {
  const truthBoxes = packBoxes(truths);
  const trackBoxes = packBoxes(tracks);
  const overlaps = new Float64Array(tracks.length * truths.length);
  for (let track = 0; track < tracks.length; track++) {
    for (let truth = 0; truth < truths.length; truth++) {
      const overlap = 1 - distances.iou(trackBoxes, track, truthBoxes, truth, 4);
      if (overlap >= IOU_MATCH_MIN) overlaps[track * truths.length + truth] = overlap;
    }
  }
  return bestMatching(overlaps, tracks.length, truths.length);
}

function packBoxes(list: readonly Boxed[]): Float64Array {
  const boxes = new Float64Array(list.length * 4);
  list.forEach(({ box }, index) => {
    boxes.set(box, index * 4);
  });
  return boxes;
}

/** Whether more than half of a box lies within a region. */
function isInside([left, top, width, height]: Box, region: Box): boolean {
  const across = Math.min(left + width, region[0] + region[2]) - Math.max(left, region[0]);
  const down = Math.min(top + height, region[1] + region[3]) - Math.max(top, region[1]);
  return across > 0 && down > 0 && across * down > INSIDE_MIN * width * height;
}
