/**
 * The simplex engines, bound to one loaded HiGHS: the door to the linear program.
 */

import { canLoadSync, type Highs, loadHighs, loadHighsSync, type Runtime } from './highs.js';
import type { LpProblem, LpSolution } from './linear-program.js';
import { type ColdOptions, type IntegralOptions, type IntegralSolution, solveCold, solveIntegral } from './one-shot.js';
import { type WarmOptions, WarmProgram } from './warm-program.js';

export { isAssignment, type LpProblem, type LpSolution, weightsValue } from './linear-program.js';
export type { ColdOptions, IntegralOptions, IntegralSolution } from './one-shot.js';

/** The solvers, bound to one loaded HiGHS. */
export interface Simplex {
  /**
   * Solves the LP from the last basis, if one is given, without what is known beforehand (see `reduced-program.ts`);
   * throws `simplex: ...` when HiGHS finds no optimum.
   */
  solve(problem: LpProblem, options?: WarmOptions): LpSolution;
  /** The same written out in full. */
  solveCold(problem: LpProblem, options?: ColdOptions): LpSolution;
  /** Finds the best assignment by branch and bound. */
  solveIntegral(problem: LpProblem, options?: IntegralOptions): IntegralSolution;
  /** capacity of the WebAssembly heap in bytes; it never shrinks */
  readonly memoryBytes: number;
}

let loaded: Simplex | undefined;
let loading: Promise<Simplex> | undefined;
let substitute: (() => Simplex) | null = null;

/** Loads HiGHS once for the process or page. */
export function loadSimplex(): Promise<Simplex> {
  loading ??= loaded ? Promise.resolve(loaded) : loadAsynchronously();
  return loading;
}

async function loadAsynchronously(): Promise<Simplex> {
  try {
    const highs = await loadHighs();
    loaded ??= bind(highs);
    return loaded;
  } catch (error) {
    loading = undefined;
    throw error;
  }
}

/** Loads HiGHS without awaiting, in Node only. */
export function loadSimplexSync(): Simplex {
  loaded ??= bind(loadHighsSync());
  return loaded;
}

/**
 * The solvers, loaded when they are first asked for; in a browser that takes a moment, and there are none until then.
 */
export function simplexNow(): Simplex | null {
  if (substitute) return substitute();
  if (loaded) return loaded;
  if (canLoadSync()) return loadSimplexSync();
  // whoever waits for it hears of its failure; a window shows a gap
  loadSimplex().catch(() => {});
  return null;
}

/** Seats other solvers, for tests; null for HiGHS. */
export function useSimplex(load: (() => Simplex) | null): void {
  substitute = load;
}

function bind(highs: Highs): Simplex {
  const runtime: Runtime = { highs };
  const warm = new WarmProgram(runtime);
  return {
    solve: (problem, options) => warm.solve(problem, options),
    solveCold: (problem, options) => solveCold(runtime, problem, options),
    solveIntegral: (problem, options) => solveIntegral(runtime, problem, options),
    get memoryBytes() {
      return runtime.highs.memoryBytes;
    },
  };
}
