/**
 * The best matching of one frame alone: per-frame GOSPA. A frame's pairs are ordered by truth, so they are a sparse
 * table as they stand.
 */

import { cheapestMatching } from './assignment.js';
import type { FrameRecord } from './window/frame-record.js';

// scratch: where the pairs of each truth begin, and of each pair its track and its cost
let start = new Int32Array(64);
let column = new Int32Array(64);
let cost = new Float64Array(64);

/** Assigns the pairs of the best matching. */
export function matchFrame(frame: FrameRecord): void {
  const { pairCount, truths, tracks } = frame;
  if (start.length <= truths.length) start = new Int32Array(2 * truths.length);
  if (column.length < pairCount) {
    column = new Int32Array(2 * pairCount);
    cost = new Float64Array(2 * pairCount);
  }
  let rows = 0;
  for (let pair = 0; pair < pairCount; pair++) {
    for (const truth = frame.truthIndex(pair); rows <= truth; rows++) start[rows] = pair;
    column[pair] = frame.trackIndex(pair);
    cost[pair] = frame.cost(pair);
  }
  for (; rows <= truths.length; rows++) start[rows] = pairCount;
  const table = { rows: truths.length, columns: tracks.length, start, column, cost, alone: frame.unit };
  const pairOf = cheapestMatching(table);
  for (let truth = 0; truth < truths.length; truth++) if (pairOf[truth] >= 0) frame.assign(pairOf[truth], 1);
}
