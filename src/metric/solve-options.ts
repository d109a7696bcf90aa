/**
 * How to solve, as the caller says it and as the engines read it. Every limit has its default here.
 */

import { STATES_MAX } from './engine-rule.js';
import { InputError, type Problem } from './input-error.js';
import { Budget } from './window/budget.js';

export interface SolveOptions {
  /** `auto`: the fastest exact way. `lp`: everything by warm-started simplex, reporting the LP metric */
  solver?: 'auto' | 'lp';
  /** what to do where the LP optimum is fractional: report the LP metric (`lp`) or branch and bound (`force`) */
  exactness?: 'lp' | 'force';
  /**
   * milliseconds of work for one solve, counted, not measured; when they are spent, the report carries bound and gap
   */
  budgetMs?: number;
  /** solves every n-th window again with the other engine and reports disagreements; 0 or nothing for never */
  auditEvery?: number;
  /**
   * states kept for one knot of undecided trajectories, before the program solves it; 0 gives everything to the program
   */
  frontierMax?: number;
}

/** The options as the engines read them. */
export interface SolveSettings {
  solver: 'auto' | 'lp';
  exactness: 'lp' | 'force';
  frontierMax: number;
}

const OPTION_KEYS = ['solver', 'exactness', 'budgetMs', 'auditEvery', 'frontierMax'] satisfies (keyof SolveOptions)[];
/** of earlier versions, accepted and without effect: budgets count work, and there are two engines */
const FORMER_KEYS = ['clock', 'workPerLook', 'matchingsMax', 'statesMax', 'sweepsMax'];

/** The options as the engines read them; throws one InputError with every mistake. */
export function solveSettings(options: SolveOptions): SolveSettings {
  if (typeof options !== 'object' || options === null)
    throw new InputError([{ path: 'options', value: options, message: "must be an object, such as { solver: 'lp' }" }]);
  const { solver = 'auto', exactness = 'lp', budgetMs = 0, auditEvery = 0, frontierMax = STATES_MAX } = options;
  const problems: Problem[] = [];
  if (solver !== 'auto' && solver !== 'lp')
    problems.push({ path: 'options.solver', value: solver, message: "must be 'auto' or 'lp'" });
  if (exactness !== 'lp' && exactness !== 'force')
    problems.push({ path: 'options.exactness', value: exactness, message: "must be 'lp' or 'force'" });
  for (const [path, value] of Object.entries({ budgetMs, auditEvery, frontierMax })) {
    if (typeof value !== 'number' || !(value >= 0))
      problems.push({ path: `options.${path}`, value, message: 'must be a number, at least 0' });
  }
  for (const [key, value] of Object.entries(options)) {
    if (!(OPTION_KEYS as string[]).includes(key) && !FORMER_KEYS.includes(key))
      problems.push({
        path: `options.${key}`,
        value,
        message: `is not an option; known are ${OPTION_KEYS.join(', ')}`,
      });
  }
  if (problems.length > 0) throw new InputError(problems);
  return { solver, exactness, frontierMax };
}

/** The budget of a solve that begins now. */
export function budgetOf({ budgetMs = Number.POSITIVE_INFINITY }: SolveOptions): Budget {
  return new Budget(budgetMs);
}
