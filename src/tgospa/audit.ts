/**
 * The second opinion: a window solved again with the other engine. The LP metric never exceeds the exact one, and
 * equals it when its optimum is integral; anything else is a disagreement.
 */

import type { Audit, Evaluation } from './evaluation.js';
import type { PackedFrame } from './frame.js';
import type { Params } from './params.js';
import type { SolveOptions } from './solve-options.js';

const TOLERANCE = 1e-9;

type Solve = (frames: PackedFrame[], params: Params, options: SolveOptions) => Evaluation;

/** Solves `frames` by simplex (or, checking that, by the default engines) and adds the outcome to `audit`. */
export function auditWindow(
  audit: Audit,
  claim: Pick<Evaluation, 'cost' | 'exact' | 'lowerBound'>,
  frames: PackedFrame[],
  params: Params,
  options: SolveOptions,
  solve: Solve,
): void {
  const byLp = options.solver === 'lp';
  const other = solve(frames, params, { solver: byLp ? 'auto' : 'lp', exactness: 'lp' });
  const scale = Math.max(claim.cost.total, other.cost.total, Number.MIN_VALUE);
  const both = claim.exact && other.exact;
  const lower = byLp ? claim.lowerBound : other.lowerBound;
  const upper = byLp ? other.cost.total : claim.cost.total;
  const difference = (both ? Math.abs(claim.cost.total - other.cost.total) : Math.max(0, lower - upper)) / scale;
  audit.checked++;
  audit.worstDifference = Math.max(audit.worstDifference, difference);
  if (difference > TOLERANCE) audit.disagreements++;
}
