/**
 * The linear program solved from the basis of the last solve, without what is known beforehand (`reduced-program.ts`).
 * One model of HiGHS serves all windows: it is written anew for each solve.
 */

import {
  check,
  createModel,
  discard,
  failure,
  iterationsOf,
  NO_LIMIT,
  type RawModelApi,
  type Runtime,
  recover,
  setOptions,
  solutionOf,
  statusOf,
} from './highs.js';
import { KnownWeights } from './known-weights.js';
import { emptySolution, type LpProblem, type LpSolution, readSolution, unfinished } from './linear-program.js';
import { solveCold } from './one-shot.js';
import {
  BASIS_UNKNOWN,
  keepBasis,
  keepPrices,
  knownValue,
  type LastBasis,
  openCells,
  writeModel,
} from './reduced-program.js';

const DUAL_SIMPLEX = 1;
/** Rows that take as long to write down as a pivot. */
export const ROWS_PER_PIVOT = 16;

export interface WarmOptions {
  /** pivots after which the solve is left unfinished, `ROWS_PER_PIVOT` rows counting as one; default none */
  pivotsMax?: number;
  /** is read and written */
  basis?: LastBasis;
}

export class WarmProgram {
  /** solves that failed and were repeated cold */
  fallbackCount = 0;
  private model: RawModelApi | null = null;
  /** the model's last solve had a limit, which it keeps */
  private isLimited = true;

  constructor(private readonly runtime: Runtime) {}

  /** Throws `simplex: ...` when a solve without a basis fails too. */
  solve(problem: LpProblem, { pivotsMax, basis = unknownBasis(problem) }: WarmOptions = {}): LpSolution {
    if (problem.benefit.length === 0) return emptySolution(problem);
    try {
      return this.solveWarm(problem, basis, pivotsMax);
    } catch (error) {
      this.fallbackCount++;
      for (const statuses of [basis.cell, basis.flow, basis.capacity]) statuses.fill(BASIS_UNKNOWN);
      if (this.model) discard(this.model);
      this.model = null;
      this.isLimited = true;
      recover(this.runtime, error);
      return solveCold(this.runtime, problem, { pivotsMax });
    }
  }

  private solveWarm(problem: LpProblem, basis: LastBasis, pivotsMax: number | undefined): LpSolution {
    const known = new KnownWeights(problem);
    const program = { basis, known };
    const cells = openCells(program);
    const rows = cells.length;
    const left = pivotsMax && pivotsMax - Math.floor(rows / ROWS_PER_PIVOT);
    if (left !== undefined && left < 0) return unfinished(problem, 0);
    const { edgeCount, frameCount } = known;
    const weights = new Float64Array(frameCount * edgeCount);
    let bound = knownValue(program);
    let iterations = 0;
    if (rows > 0) {
      const reduced = writeModel(program, cells);
      const model = this.run(left, reduced);
      iterations = iterationsOf(model);
      if (statusOf(model) === 'limit') return { ...unfinished(problem, iterations), rows };
      bound += model.getObjectiveValue();
      const { rowDual, colValue } = solutionOf(model);
      const found = model.getBasis().value;
      if (!found) throw failure('HiGHS returned no basis');
      keepBasis(program, reduced, found);
      keepPrices(program, reduced, colValue);
      cells.forEach(({ edge, first, last }, row) => {
        for (let frame = first; frame <= last; frame++) weights[frame * edgeCount + edge] = rowDual[row];
      });
    }
    for (let edge = 0, at = 0; edge < edgeCount; edge++)
      for (let frame = 0; frame < frameCount; frame++)
        if (known.weight[at++] === 1) weights[frame * edgeCount + edge] = 1;
    const solution = readSolution(problem, weights, iterations);
    // they meet at the optimum only
    if (!(Math.abs(solution.value - bound) <= 1e-9 * Math.max(1, bound)))
      throw failure(`value ${solution.value} and bound ${bound} differ`);
    return { ...solution, rows, prices: pricesOf(known) };
  }

  private run(pivotsMax: number | undefined, { data, basis }: ReturnType<typeof writeModel>): RawModelApi {
    this.model ??= this.open();
    const { model } = this;
    if (pivotsMax !== undefined || this.isLimited)
      setOptions(model, { simplex_iteration_limit: pivotsMax ?? NO_LIMIT });
    this.isLimited = pivotsMax !== undefined;
    check(model.passModel(data), 'HiGHS refused the model');
    check(model.setBasis(basis), 'HiGHS refused the basis');
    check(model.run(), 'HiGHS failed');
    return model;
  }

  private open(): RawModelApi {
    const model = createModel(this.runtime.highs);
    setOptions(model, {
      presolve: 'off',
      solver: 'simplex',
      simplex_strategy: DUAL_SIMPLEX,
      simplex_scale_strategy: 0,
    });
    return model;
  }
}

function unknownBasis({ frameCount, truthCount, trackCount, edgeTruth }: LpProblem): LastBasis {
  const unknown = (width: number) => new Int8Array(frameCount * width).fill(BASIS_UNKNOWN);
  return {
    cell: unknown(edgeTruth.length),
    flow: unknown(edgeTruth.length),
    capacity: unknown(truthCount + trackCount),
  };
}

/** [frame * objects + object] */
function pricesOf({ objectCount, frameCount, price }: KnownWeights): Float64Array {
  const prices = new Float64Array(frameCount * objectCount);
  for (let object = 0, at = 0; object < objectCount; object++)
    for (let frame = 0; frame < frameCount; frame++) prices[frame * objectCount + object] = price[at++];
  return prices;
}
