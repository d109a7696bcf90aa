/**
 * How to solve, as the caller says it and as the engines read it. Every limit has its default here.
 */

import type { SolveSettings } from './component/component.js';
import { InputError, type Problem } from './input-error.js';
import type { Simplex } from './program/simplex.js';
import { Budget, WORK_PER_LOOK } from './window/budget.js';

export interface SolveOptions {
  /** `auto`: the fastest exact way. `lp`: everything by warm-started simplex, reporting the LP metric */
  solver?: 'auto' | 'lp';
  /** what to do where the LP optimum is fractional: report the LP metric (`lp`) or branch and bound (`force`) */
  exactness?: 'lp' | 'force';
  /** time for one solve in milliseconds; when it is up, the report carries bound and gap */
  budgetMs?: number;
  /** moves and comparisons of states between two looks at the clock: a solve with less work is never cut */
  workPerLook?: number;
  /** the clock of the budget, in milliseconds; performance.now unless given */
  clock?: () => number;
  /** solves every n-th window again with the other engine and reports disagreements; 0 or nothing for never */
  auditEvery?: number;
  /** states kept for one knot of undecided trajectories, before it is solved as a component; 0 solves everything so */
  frontierMax?: number;
  /** components with at most this many matchings are solved by dynamic programming over all of them */
  matchingsMax?: number;
  /** width of the exact search in large components */
  statesMax?: number;
  /** dual ascent sweeps before the search widens */
  sweepsMax?: number;
}

const OPTION_KEYS = [
  'solver',
  'exactness',
  'budgetMs',
  'workPerLook',
  'clock',
  'auditEvery',
  'frontierMax',
  'matchingsMax',
  'statesMax',
  'sweepsMax',
] satisfies (keyof SolveOptions)[];

let simplex: (() => Simplex) | null = null;

/** Makes simplex and branch and bound available to all solves from now on; loaded when one needs them. */
export function useSimplex(load: () => Simplex): void {
  simplex = load;
}

/** The options as the engines read them; throws one InputError with every mistake. */
export function solveSettings(options: SolveOptions): SolveSettings {
  if (typeof options !== 'object' || options === null)
    throw new InputError([{ path: 'options', value: options, message: "must be an object, such as { solver: 'lp' }" }]);
  const {
    solver = 'auto',
    exactness = 'lp',
    budgetMs = 0,
    workPerLook = WORK_PER_LOOK,
    auditEvery = 0,
    frontierMax = 512,
    matchingsMax = 300,
    statesMax = 500,
    sweepsMax = 20,
  } = options;
  const problems: Problem[] = [];
  if (solver !== 'auto' && solver !== 'lp')
    problems.push({ path: 'options.solver', value: solver, message: "must be 'auto' or 'lp'" });
  if (exactness !== 'lp' && exactness !== 'force')
    problems.push({ path: 'options.exactness', value: exactness, message: "must be 'lp' or 'force'" });
  if (options.clock !== undefined && typeof options.clock !== 'function')
    problems.push({
      path: 'options.clock',
      value: options.clock,
      message: 'must be a function that tells milliseconds',
    });
  for (const [path, value] of Object.entries({
    budgetMs,
    workPerLook,
    auditEvery,
    frontierMax,
    matchingsMax,
    statesMax,
    sweepsMax,
  })) {
    // a search of no width would never end
    const least = path === 'statesMax' ? 1 : 0;
    if (typeof value !== 'number' || !(value >= least))
      problems.push({ path: `options.${path}`, value, message: `must be a number, at least ${least}` });
  }
  for (const [key, value] of Object.entries(options)) {
    if (!(OPTION_KEYS as string[]).includes(key))
      problems.push({
        path: `options.${key}`,
        value,
        message: `is not an option; known are ${OPTION_KEYS.join(', ')}`,
      });
  }
  if (problems.length > 0) throw new InputError(problems);
  return { solver, exactness, frontierMax, matchingsMax, statesMax, sweepsMax, simplex };
}

/** The budget of a solve that begins now. */
export function budgetOf(options: SolveOptions): Budget {
  const { budgetMs = Number.POSITIVE_INFINITY, workPerLook = WORK_PER_LOOK } = options;
  return new Budget(budgetMs, workPerLook, options.clock ?? (() => performance.now()));
}
