/**
 * The best matching of one frame alone: per-frame GOSPA, and a floor for what a window's assignment earns. Its prices
 * are a ceiling: u_i + v_j >= b_ij for all pairs, so nothing earns more in this frame. A frame's pairs are ordered by
 * truth, so they are a sparse table as they stand.
 */

import { cheapestMatching, type SparseTable } from './assignment.js';
import type { FrameMatching } from './program/component.js';
import type { Budget } from './window/budget.js';
import type { FrameRecord } from './window/frame-record.js';

/** pairs looked at for one unit of work */
const PAIRS_PER_WORK = 16;
/** frames with at most so many pairs are matched to the end, whatever the budget is: the answer has a floor */
const UNLIMITED_PAIRS = 2 ** 14;

// scratch: where the pairs of each truth begin, and of each pair its track and its cost
let start = new Int32Array(64);
let column = new Int32Array(64);
let cost = new Float64Array(64);

function tableOf(frame: FrameRecord, costOf: (pair: number) => number, alone: number): SparseTable {
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
    cost[pair] = costOf(pair);
  }
  for (; rows <= truths.length; rows++) start[rows] = pairCount;
  return { rows: truths.length, columns: tracks.length, start, column, cost, alone };
}

/** Assigns the pairs of the best matching. */
export function matchFrame(frame: FrameRecord): void {
  const { pairOf } = cheapestMatching(tableOf(frame, (pair) => frame.cost(pair), frame.unit));
  for (let truth = 0; truth < frame.truths.length; truth++) if (pairOf[truth] >= 0) frame.assign(pairOf[truth], 1);
}

/** The matchings of the frames of a window in quanta, each found when it is first asked for. */
export class FrameMatchings {
  private readonly byNumber = new Map<number, FrameMatching>();
  /** of the solve that goes on */
  budget: Budget | null = null;

  of(frame: FrameRecord): FrameMatching {
    let matching = this.byNumber.get(frame.number);
    if (matching === undefined) {
      matching = this.match(frame);
      this.byNumber.set(frame.number, matching);
    }
    return matching;
  }

  dropFrame(number: number): void {
    if (this.byNumber.size > 0) this.byNumber.delete(number);
  }

  private match(frame: FrameRecord): FrameMatching {
    const { truths, tracks, pairCount } = frame;
    const { quanta } = frame.tariff;
    const table = tableOf(frame, (pair) => quanta - frame.benefit(pair), quanta);
    const { pairOf, price } = cheapestMatching(
      table,
      (looks) => this.budget!.spend(looks / PAIRS_PER_WORK) && pairCount > UNLIMITED_PAIRS,
    );
    const trackPrice = price.slice(0, tracks.length).map((each) => -each);
    // what is left to each truth by the best of its pairs
    const truthPrice = new Float64Array(truths.length);
    for (let pair = 0; pair < pairCount; pair++) {
      const truth = frame.truthIndex(pair);
      truthPrice[truth] = Math.max(truthPrice[truth], frame.benefit(pair) - trackPrice[frame.trackIndex(pair)]);
    }
    let ceiling = 0;
    for (const each of truthPrice) ceiling += each;
    for (const each of trackPrice) ceiling += each;
    return { pairOf: pairOf.slice(0, truths.length), truthPrice, trackPrice, ceiling };
  }
}
