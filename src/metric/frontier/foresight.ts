/**
 * What is certain in a frame because of the frames after it, where two come in fresh.
 *
 * Let their pair be close in k frames from this one on without a gap, and earn in each of them g > 0 more than the best
 * other pair of the truth and the best other of the track together. Take any assignment that is left, and hold the pair
 * over those frames instead of what its ends do there. Each frame in which it was not held earns g more. To follow the
 * old assignment from there on costs at most 3 h more (D of frontier.ts), and nothing if the pair was ever held: then
 * giving it up was as dear. So when all g together exceed 3 h, every optimum holds the pair.
 */

import type { FrameRecord } from '../window/frame-record.js';
import type { Edge, Trajectory } from '../window/trajectory.js';

export type FrameOf = (number: number) => FrameRecord;

/** frames that are looked at, and other pairs that either end may have in the window */
const FRAMES_MAX = 16;
const RIVALS_MAX = 8;

/**
 * Whether every optimum holds a pair from a frame on, into which both of its ends come fresh; of the frames only those
 * before `end` are looked at.
 */
export function isForegone(edge: Edge, from: number, end: number, frameOf: FrameOf, h: number): boolean {
  const { truth, track } = edge;
  if (truth.edges.length > RIVALS_MAX || track.edges.length > RIVALS_MAX) return false;
  const first = edge.seek(from);
  const last = Math.min(edge.size, first + FRAMES_MAX) - 1;
  let lead = 0;
  for (let n = first; n <= last; n++) {
    const number = edge.frameAt(n);
    if (number !== from + n - first || number >= end) return false;
    const frame = frameOf(number);
    const gain = frame.benefit(edge.pairAt(n)) - bestRival(truth, edge, frame) - bestRival(track, edge, frame);
    if (gain <= 0) return false;
    lead += gain;
    if (lead > 3 * h) return true;
  }
  return false;
}

/** What an end earns at most in a frame by another pair. */
function bestRival({ edges }: Trajectory, edge: Edge, frame: FrameRecord): number {
  let best = 0;
  for (let n = 0; n < edges.length; n++) {
    if (edges[n] === edge) continue;
    const pair = edges[n].pairIn(frame.number);
    if (pair >= 0) best = Math.max(best, frame.benefit(pair));
  }
  return best;
}
