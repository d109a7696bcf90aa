/**
 * The linear program of the metric, and what a solution of it is.
 *
 *   maximise    sum b_ek W_ek - sum s_k |W_ek - W_e(k-1)|
 *   subject to  sum over the edges of an object <= 1 at each frame,  W >= 0
 *
 * b benefit, s switchCost, W weights; e edge, k frame. Invariant: every value handed out is recomputed from the weights
 * handed out with it; an unfinished solve has the value NaN.
 */

/**
 * One component over one window. Benefits and switch costs are in units of cutoff^exponent: HiGHS's tolerances are
 * absolute.
 */
export interface LpProblem {
  frameCount: number;
  truthCount: number;
  trackCount: number;
  /** truth and track of each edge, 0-based; a pair appears at most once */
  edgeTruth: Int32Array;
  edgeTrack: Int32Array;
  /** [frame * edgeCount + edge], >= 0 */
  benefit: Float64Array;
  /** [frame]: cost of one edge's change by 1 at the boundary before the frame, >= 0; index 0 is unused */
  switchCost: Float64Array;
}

export interface LpSolution {
  /** the LP's optimum; NaN unless `status` is 'optimal' */
  value: number;
  /** [frame * edgeCount + edge]; zeros unless `status` is 'optimal' */
  weights: Float64Array;
  /** true: every weight is 0 or 1, so the value is the exact metric's too */
  integral: boolean;
  iterations: number;
  /** of the model that was written for it; a large one takes longer to write down than to solve */
  rows?: number;
  status: 'optimal' | 'limit';
  /** [frame * objects + object], truths first: prices that prove the optimum */
  prices?: Float64Array;
}

/** weights closer to 0, 1/2 or 1 than this are meant to be that */
const ROUNDING = 1e-7;

/** The objective of any weights, feasible or not. */
export function weightsValue(problem: LpProblem, weights: Float64Array): number {
  const edgeCount = problem.edgeTruth.length;
  let value = 0;
  for (let frame = 0; frame < problem.frameCount; frame++) {
    const row = frame * edgeCount;
    let change = 0;
    for (let edge = 0; edge < edgeCount; edge++) {
      value += problem.benefit[row + edge] * weights[row + edge];
      if (frame > 0) change += Math.abs(weights[row + edge] - weights[row - edgeCount + edge]);
    }
    if (change > 0) value -= problem.switchCost[frame] * change;
  }
  return value;
}

/** Whether every weight is 0 or 1 and no object has two partners at a frame. */
export function isAssignment(problem: LpProblem, weights: Float64Array): boolean {
  const edgeCount = problem.edgeTruth.length;
  const truthFrame = new Int32Array(problem.truthCount).fill(-1);
  const trackFrame = new Int32Array(problem.trackCount).fill(-1);
  for (let index = 0; index < weights.length; index++) {
    if (weights[index] === 0) continue;
    const frame = Math.floor(index / edgeCount);
    const truth = problem.edgeTruth[index % edgeCount];
    const track = problem.edgeTrack[index % edgeCount];
    if (weights[index] !== 1 || truthFrame[truth] === frame || trackFrame[track] === frame) return false;
    truthFrame[truth] = frame;
    trackFrame[track] = frame;
  }
  return true;
}

export function readSolution(problem: LpProblem, weights: Float64Array, iterations: number): LpSolution {
  let integral = true;
  for (let index = 0; index < weights.length; index++) {
    if (weights[index] === 0 || weights[index] === 1) continue;
    const near = Math.round(weights[index]);
    if (Math.abs(weights[index] - near) <= ROUNDING) weights[index] = near === 0 ? 0 : near;
    else {
      integral = false;
      // of two halves of one object neither is the greater
      if (Math.abs(weights[index] - 0.5) <= ROUNDING) weights[index] = 0.5;
    }
  }
  return { value: weightsValue(problem, weights), weights, integral, iterations, status: 'optimal' };
}

export function emptySolution(problem: LpProblem): LpSolution {
  const weights = new Float64Array(problem.frameCount * problem.edgeTruth.length);
  return { value: 0, weights, integral: true, iterations: 0, status: 'optimal' };
}

export function unfinished(problem: LpProblem, iterations: number): LpSolution {
  return { ...emptySolution(problem), value: Number.NaN, integral: false, iterations, status: 'limit' };
}
