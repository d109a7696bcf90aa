/**
 * What is certain in a frame because of the frames after it, where two come in fresh, or held by each other.
 *
 * Let g be what their pair earns in a frame, nothing where it is not close, less the best other pair of the truth and
 * the best other of the track. Let the sums of g from this frame on all be above 0 until one exceeds 3 h. Take any
 * assignment, and hold the pair over those frames instead of what its ends do there. Every frame in which it was not
 * held earns at least g more. If it was never held, that is more than 3 h, the most it costs to follow the old
 * assignment from there on (D of frontier.ts). If it was, it is enough to hold it up to then: the frames before earn
 * more than nothing, and no change costs more. So every optimum holds the pair in this frame.
 *
 * Held in the first frame, a pair costs the same whether it came in fresh or held; so the optima are the same, too. Who
 * comes out of the frame before as half of such a pair need not begin anew when that frame leaves the window.
 */

import type { FrameRecord } from '../window/frame-record.js';
import type { Edge, Trajectory } from '../window/trajectory.js';
import type { FrameWork } from './candidates.js';

export type FrameOf = (number: number) => FrameRecord;

/** frames that are looked at, and other pairs that either end may have in the window */
const FRAMES_MAX = 64;
const RIVALS_MAX = 8;

/**
 * Whether every optimum holds a pair from a frame on, into which both of its ends come fresh, or held by each other; of
 * the frames only those before `end` are looked at.
 */
export function isForegone(edge: Edge, from: number, end: number, frameOf: FrameOf, h: number): boolean {
  const { truth, track } = edge;
  if (truth.edges.length > RIVALS_MAX || track.edges.length > RIVALS_MAX) return false;
  const last = Math.min(end - 1, from + FRAMES_MAX - 1, edge.frameAt(edge.size - 1));
  let lead = 0;
  let next = Math.max(0, edge.seek(from));
  for (let number = from; number <= last; number++) {
    const frame = frameOf(number);
    const pair = edge.frameAt(next) === number ? edge.pairAt(next++) : -1;
    if (pair >= 0) lead += frame.benefit(pair);
    if (pair < 0 || !(frame.annex as FrameWork | null)?.isLone(pair))
      lead -= bestRival(truth, edge, frame) + bestRival(track, edge, frame);
    if (lead <= 0) return false;
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
