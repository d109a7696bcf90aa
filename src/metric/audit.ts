/**
 * The second opinion: a window solved again with the other engine. Each opinion says between which costs the exact
 * metric lies, an exact one leaves no room; two that exclude each other are a disagreement.
 */

import type { Audit, Evaluation } from './evaluation.js';
import type { PackedFrame } from './frame.js';
import type { Params } from './params.js';
import type { SolveOptions } from './solve-options.js';

const TOLERANCE = 1e-9;

type Solve = (frames: PackedFrame[], params: Params, options: SolveOptions) => Evaluation;

type Opinion = Pick<Evaluation, 'cost' | 'exact' | 'lowerBound' | 'gap'>;

/** Solves `frames` by simplex (or, checking that, by the default engines) and adds the outcome to `audit`. */
export function auditWindow(
  audit: Audit,
  claim: Opinion,
  frames: PackedFrame[],
  params: Params,
  options: SolveOptions,
  solve: Solve,
): void {
  const other = solve(frames, params, { solver: options.solver === 'lp' ? 'auto' : 'lp', exactness: 'lp' });
  const scale = Math.max(claim.cost.total, other.cost.total, Number.MIN_VALUE);
  const apart = Math.max(lowest(claim) - highest(other), lowest(other) - highest(claim), 0);
  const difference = apart / scale;
  audit.checked++;
  audit.worstDifference = Math.max(audit.worstDifference, difference);
  if (difference > TOLERANCE) audit.disagreements++;
}

const lowest = ({ cost, exact, lowerBound }: Opinion): number => (exact ? cost.total : lowerBound);

/** Cost of the best assignment known; the LP metric may lie below it. */
const highest = ({ cost, exact, lowerBound, gap }: Opinion): number =>
  exact ? cost.total : Math.max(cost.total, gap < 1 ? lowerBound / (1 - gap) : 0);
