/**
 * The benchmarks' own cleaning, before anything is counted: in every frame the tracks are matched with all that the
 * reference has there, for the greatest total overlap among pairs with IoU >= 0.5. A track that matches a distractor is
 * taken out; a track that matches nothing is taken out when it is too small or lies mostly within a region that nobody
 * annotated. The rules, and which rows are what, differ by benchmark; the steps are those of TrackEval.
 */

import { cheapestMatching } from '../../src/metric/assignment.js';
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
  const { regions, others, distractors } = sorted(aside);
  const isAnyAside = regions.length > 0 || heightMax > 0 || findOverlaps(distractors, tracks) > 0;
  if (!isAnyAside) return tracks as Track[];
  const all = [...truths, ...others];
  const partners = matchByOverlap(all, tracks);
  return tracks.filter((track, index) => {
    const partner = partners[index];
    if (partner >= truths.length) return others[partner - truths.length].role !== 'distractor';
    if (partner >= 0) return true;
    return track.box[3] > heightMax + Number.EPSILON && !regions.some(({ box }) => isInside(track.box, box));
  });
}

interface SortedAside {
  regions: Aside[];
  /** distractors and neutral rows, in the order in which they came */
  others: Aside[];
  distractors: Aside[];
}

/** Several trackers are compared with one reference: its rows are told apart once. */
const known = new WeakMap<readonly Aside[], SortedAside>();

function sorted(aside: readonly Aside[]): SortedAside {
  let found = known.get(aside);
  if (!found) {
    const others = aside.filter(({ role }) => role !== 'region');
    const distractors = others.filter(({ role }) => role === 'distractor');
    found = { regions: aside.filter(({ role }) => role === 'region'), others, distractors };
    known.set(aside, found);
  }
  return found;
}

/** Pairs that overlap enough, by track: where each track's begin, the truth of each and minus its IoU. */
const starts: number[] = [];
const columns: number[] = [];
const costs: number[] = [];

/** For each track the index of its truth, or -1, in the matching of the greatest total overlap. */
function matchByOverlap(truths: readonly Boxed[], tracks: readonly Boxed[]): Int32Array {
  findOverlaps(truths, tracks);
  const table = { rows: tracks.length, columns: truths.length, start: starts, column: columns, cost: costs, alone: 0 };
  return cheapestMatching(table)
    .pairOf.slice(0, tracks.length)
    .map((pair) => (pair < 0 ? -1 : columns[pair]));
}

/** Finds the pairs with IoU >= 0.5, and says how many there are. */
function findOverlaps(truths: readonly Boxed[], tracks: readonly Boxed[]): number {
  let count = 0;
  starts[0] = 0;
  for (let row = 0; row < tracks.length; row++) {
    const a = tracks[row].box;
    const right = a[0] + a[2];
    const bottom = a[1] + a[3];
    for (let column = 0; column < truths.length; column++) {
      const b = truths[column].box;
      // half of the union cannot be common to what overlaps in less than half of a side
      const across = (right < b[0] + b[2] ? right : b[0] + b[2]) - (a[0] > b[0] ? a[0] : b[0]);
      if (across * 2 < a[2] - 1e-6) continue;
      const down = (bottom < b[1] + b[3] ? bottom : b[1] + b[3]) - (a[1] > b[1] ? a[1] : b[1]);
      if (across <= 0 || down <= 0) continue;
      const overlap = 1 - distances.iou(a, 0, b, 0, 4);
      if (overlap < IOU_MATCH_MIN) continue;
      columns[count] = column;
      costs[count++] = -overlap;
    }
    starts[row + 1] = count;
  }
  return count;
}

/** Whether more than half of a box lies within a region. */
function isInside([left, top, width, height]: Box, region: Box): boolean {
  const across = Math.min(left + width, region[0] + region[2]) - Math.max(left, region[0]);
  const down = Math.min(top + height, region[1] + region[3]) - Math.max(top, region[1]);
  return across > 0 && down > 0 && across * down > INSIDE_MIN * width * height;
}
