/**
 * One-shot solves of the linear program: frames in a chain.
 *
 * A rise P_ek >= W_ek - W_e(k-1), P >= 0 turns the switch cost of a boundary into s (2 P_ek - W_ek + W_e(k-1)): one
 * column and one row for each edge and boundary, and the fall is the row's slack.
 */

import {
  check,
  failure,
  type Highs,
  iterationsOf,
  type ModelData,
  NO_LIMIT,
  type RawModelApi,
  type Runtime,
  type SparseMatrix,
  setOptions,
  solutionOf,
  statusOf,
  TOLERANCE,
  withModel,
} from './highs.js';
import {
  emptySolution,
  isAssignment,
  type LpProblem,
  type LpSolution,
  readSolution,
  unfinished,
  weightsValue,
} from './linear-program.js';

export interface IntegralSolution {
  /** exact value of `weights`, recomputed; with 'optimal' the maximum over all assignments */
  value: number;
  /** an assignment, 0 or 1, [frame * edgeCount + edge] */
  weights: Float64Array;
  /** no assignment has a greater value; Infinity when it was stopped before a bound was known */
  bound: number;
  status: 'optimal' | 'limit';
}

export interface ColdOptions {
  pivotsMax?: number;
}

export interface IntegralOptions {
  /** nodes of the search */
  nodesMax?: number;
}

/** HiGHS's primal solution status */
const FEASIBLE = 2;

/**
 * Columns: for each edge a weight for each frame, then a rise for each boundary, which is named by the frame after it.
 * Rows: one for each truth and frame, one for each track and frame, one for each edge and boundary.
 */
function chainModel(highs: Highs, problem: LpProblem): ModelData {
  const { frameCount, truthCount, trackCount, edgeTruth } = problem;
  const numCols = edgeTruth.length * (2 * frameCount - 1);
  const objectRows = (truthCount + trackCount) * frameCount;
  const numRows = objectRows + edgeTruth.length * (frameCount - 1);
  return {
    numCols,
    numRows,
    sense: highs.constants.objectiveSense.maximize,
    colCost: chainCost(problem),
    colLower: new Float64Array(numCols),
    colUpper: new Float64Array(numCols).fill(Infinity),
    rowLower: new Float64Array(numRows).fill(-Infinity, 0, objectRows),
    rowUpper: new Float64Array(numRows).fill(1, 0, objectRows).fill(Infinity, objectRows),
    matrix: chainMatrix(problem, numRows, numCols),
  };
}

function chainCost({ frameCount, edgeTruth, benefit, switchCost }: LpProblem): Float64Array {
  const edgeCount = edgeTruth.length;
  const cost = new Float64Array(edgeCount * (2 * frameCount - 1));
  let column = 0;
  for (let edge = 0; edge < edgeCount; edge++) {
    for (let frame = 0; frame < frameCount; frame++) {
      const before = frame > 0 ? switchCost[frame] : 0;
      const after = frame + 1 < frameCount ? switchCost[frame + 1] : 0;
      cost[column++] = benefit[frame * edgeCount + edge] + before - after;
    }
    for (let frame = 1; frame < frameCount; frame++) cost[column++] = -2 * switchCost[frame];
  }
  return cost;
}

function chainMatrix(problem: LpProblem, numRows: number, numCols: number): SparseMatrix {
  const { frameCount, truthCount, trackCount, edgeTruth, edgeTrack } = problem;
  const starts = new Int32Array(numCols + 1);
  const indices = new Int32Array(edgeTruth.length * (5 * frameCount - 3));
  const values = new Float64Array(indices.length);
  let column = 0;
  let end = 0;
  const put = (row: number, value: number): void => {
    indices[end] = row;
    values[end++] = value;
  };
  for (let edge = 0; edge < edgeTruth.length; edge++) {
    const riseRow = (truthCount + trackCount) * frameCount + edge * (frameCount - 1) - 1;
    for (let frame = 0; frame < frameCount; frame++) {
      put(edgeTruth[edge] * frameCount + frame, 1);
      put((truthCount + edgeTrack[edge]) * frameCount + frame, 1);
      if (frame > 0) put(riseRow + frame, -1);
      if (frame + 1 < frameCount) put(riseRow + frame + 1, 1);
      starts[++column] = end;
    }
    for (let frame = 1; frame < frameCount; frame++) {
      put(riseRow + frame, 1);
      starts[++column] = end;
    }
  }
  return { format: 'csc', numRows, numCols, starts, indices, values };
}

export function solveCold(runtime: Runtime, problem: LpProblem, options: ColdOptions = {}): LpSolution {
  if (problem.benefit.length === 0) return emptySolution(problem);
  return withModel(runtime, (model) => {
    setOptions(model, { presolve: 'off', simplex_iteration_limit: options.pivotsMax ?? NO_LIMIT });
    check(model.passLp(chainModel(runtime.highs, problem)), 'HiGHS refused the model');
    check(model.run(), 'HiGHS failed');
    if (statusOf(model) === 'limit') return unfinished(problem, iterationsOf(model));
    return readSolution(problem, chainWeights(model, problem), iterationsOf(model));
  });
}

export function solveIntegral(runtime: Runtime, problem: LpProblem, options: IntegralOptions = {}): IntegralSolution {
  if (problem.benefit.length === 0) return { value: 0, weights: new Float64Array(0), bound: 0, status: 'optimal' };
  return withModel(runtime, (model) => {
    const { highs } = runtime;
    setOptions(model, { mip_rel_gap: 0, mip_abs_gap: 0, mip_feasibility_tolerance: TOLERANCE });
    setOptions(model, { mip_max_nodes: options.nodesMax ?? NO_LIMIT });
    const data = chainModel(highs, problem);
    const integrality = new Int32Array(data.numCols);
    const colUpper = new Float64Array(data.numCols).fill(1);
    const { integer } = highs.constants.variableType;
    for (let column = 0; column < data.numCols; column += 2 * problem.frameCount - 1)
      integrality.fill(integer, column, column + problem.frameCount);
    check(model.passMip({ ...data, colUpper, integrality }), 'HiGHS refused the model');
    check(model.run(), 'HiGHS failed');
    return readIntegral(model, problem);
  });
}

function readIntegral(model: RawModelApi, problem: LpProblem): IntegralSolution {
  const status = statusOf(model);
  const found = model.getInfoValue('primal_solution_status').value === FEASIBLE;
  const weights = found ? chainWeights(model, problem).map(Math.round) : new Float64Array(problem.benefit.length);
  if (!isAssignment(problem, weights)) throw failure('branch and bound returned no assignment');
  const value = weightsValue(problem, weights);
  return { value, weights, bound: Math.max(value, Number(model.getInfoValue('mip_dual_bound').value)), status };
}

function chainWeights(model: RawModelApi, { frameCount, edgeTruth }: LpProblem): Float64Array {
  const stride = 2 * frameCount - 1;
  const columns = solutionOf(model).colValue;
  const edgeCount = edgeTruth.length;
  const weights = new Float64Array(frameCount * edgeCount);
  for (let edge = 0; edge < edgeCount; edge++)
    for (let frame = 0; frame < frameCount; frame++) weights[frame * edgeCount + edge] = columns[edge * stride + frame];
  return weights;
}
