/**
 * Solves a window, and again where its quanta are too coarse to tell what is best.
 *
 * Quanta are 2^-40 of c^p: under a large exponent, errors far below the cut-off are nothing in them. But where an
 * assignment costs less than a single miss, no optimum misses anybody, whatever a miss costs as long as it is more than
 * that. So the same frames under a cut-off that is only just so high have the same optima, in quanta that are as much
 * finer. What is found replaces the assignment in the frames; the window's engines never learn of it.
 */

import { isFractional, readWindow, type WindowTotals } from './read-out.js';
import { Solver } from './solver.js';
import type { Budget } from './window/budget.js';
import type { FrameAssignment, FrameRecord } from './window/frame-record.js';

/** a lower cut-off must make quanta so much finer, or it is not worth it */
const FINER = 1.25;

/** Brings the assignment of the whole window up to date and says what it costs. */
export function solveWindow(solver: Solver, budget: Budget): WindowTotals {
  solver.solve(budget);
  return refineWindow(solver, budget);
}

/** What a window costs that is solved, with an assignment told apart from others as finely as it takes. */
export function refineWindow(solver: Solver, budget: Budget): WindowTotals {
  let window = readWindow(solver);
  if (!isBlurred(solver, window)) return window;
  let { unit } = solver.contents;
  for (;;) {
    const finer = unitFor(solver, window.cost.total);
    const refined = finer * FINER <= unit ? refine(solver, finer, budget) : null;
    if (!refined) return window;
    unit = finer;
    const { exact, gap } = refined;
    const found = readWindow(solver);
    // the last digits of both may differ
    window = {
      ...found,
      exact,
      gap,
      lowerBound: exact ? found.cost.total : Math.min(refined.lowerBound, found.cost.total),
    };
    if (window.exact) return window;
  }
}

/** Whether nothing but rounding stands between the cost and its bound. */
function isBlurred(solver: Solver, { exact, solver: counts }: WindowTotals): boolean {
  const { weighted, framewise } = solver.contents;
  return !(exact || weighted || framewise || solver.isThinned || counts.open > 0 || isFractional(solver));
}

/** c^p of a cut-off at which one miss, or one false object, costs a quarter more than everything. */
function unitFor({ params: { missShare = 0.5 } }: Solver, cost: number): number {
  return (1.25 * cost) / Math.min(missShare, 1 - missShare);
}

/** Solves the window's frames under a lower cut-off and adopts what is assigned; null when the budget is too small. */
function refine(solver: Solver, unit: number, budget: Budget): WindowTotals | null {
  const { contents, params, settings } = solver;
  const frames = contents.frameList();
  const work = frames.reduce((sum, { truths, tracks }) => sum + truths.length + tracks.length, 0);
  if (!budget.affords(work)) return null;
  budget.spend(work);
  const fine = new Solver({ ...params, cutoff: unit ** (1 / params.exponent) }, settings, contents.windowFrames);
  for (const frame of frames) fine.append(frame.packed());
  fine.solve(budget);
  const window = readWindow(fine);
  if (window.solver.open > 0 || isFractional(fine)) return null;
  solver.refineTo(fine.contents.frameList().map((frame, n) => assignmentFor(frames[n], frame)));
  return window;
}

/** What is assigned in one frame, for another with the same objects and all of its pairs. */
function assignmentFor(frame: FrameRecord, fine: FrameRecord): FrameAssignment {
  const on = new Array<number>(frame.pairCount).fill(0);
  let at = 0;
  for (let pair = 0; pair < fine.pairCount; pair++) {
    if (fine.on(pair) === 0) continue;
    while (frame.truthIndex(at) !== fine.truthIndex(pair) || frame.trackIndex(at) !== fine.trackIndex(pair)) at++;
    on[at] = 1;
  }
  return { on, halves: fine.halves };
}
