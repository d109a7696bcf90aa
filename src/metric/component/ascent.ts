/**
 * Large components: dual ascent for a bound, and an exact search under it (DESIGN 3.5).
 *
 *   b_e        benefit of edge e at a layer          alpha_e  the part given to the truth's chain; the track's gets b - alpha
 *   h          cost of one edge changed               each chain pays h/2
 *   F, B       best value of a chain before / after a layer, given its edge there (or none)
 *   bound      sum of all chains' optima >= optimum of the linear program >= exact optimum
 *
 * A sweep visits the layers in order and sets each alpha so that its edge has the same max-marginal in both chains; no
 * step can raise the bound. The search then walks forward over matchings. `slack` is what a partial assignment has
 * already lost against the bound: the chains tell it exactly, so all assignments within a slack limit are enumerated
 * without looking at any other. The first one found at the smallest limit is optimal, whatever alpha is. Each solve begins with
 * alpha = b/2: what the search finds in the room it has then depends on the frames alone. All numbers are whole quanta.
 */

import type { Budget } from '../window/budget.js';
import { type AscentGraph, type AscentLayers, Chains } from './chains.js';
import { Search } from './search.js';

export type { AscentGraph, AscentLayers } from './chains.js';

export interface AscentLimits {
  /** states kept per layer by the search */
  statesMax: number;
  sweepsMax: number;
  budget: Budget;
}

export interface AscentResult {
  /** optimal, proven */
  exact: boolean;
  /** what the assignment found may be below the optimum, at most; 0 when exact */
  gap: number;
  sweeps: number;
  statesPeak: number;
  /** out of time before the work was done */
  late: boolean;
}

/** Slack the search begins with, in quanta: about 0.4 % of c^p. */
const FIRST_LIMIT = 2 ** 28;
/** So often may the search run out of room before it is left to simplex. */
const CUTS_MAX = 2;
/** Width of the search once the time is up. */
const LATE_STATES_MAX = 4;

/** Solves one component; the assignment goes to partner[layer * truthCount + truth], an edge or -1. */
export function ascend(
  graph: AscentGraph,
  layers: AscentLayers,
  limits: AscentLimits,
  partner: Int32Array,
): AscentResult {
  const chains = new Chains(graph, layers);
  chains.backward(false);
  const search = new Search(chains);
  let limit = FIRST_LIMIT;
  let sweeps = 0;
  let cuts = 0;
  for (;;) {
    const late = limits.budget.spend(graph.edgeTruth.length * layers.layerCount);
    const width = late ? Math.min(LATE_STATES_MAX, limits.statesMax) : limits.statesMax;
    const outcome = search.run(limit, width, late ? null : limits.budget);
    if (outcome === 'late') continue;
    if (outcome === 'cut') cuts++;
    const done = late || sweeps >= limits.sweepsMax || cuts >= CUTS_MAX;
    if (outcome === 'found' || (outcome === 'cut' && done)) {
      search.read(partner);
      // with more time another tie might be right: it counts as lost by a quantum
      const exact = outcome === 'found' && !(late && search.tied);
      const gap = exact ? 0 : outcome === 'found' ? 1 : search.foundSlack;
      return { exact, gap, sweeps, statesPeak: search.statesPeak, late: late && !exact };
    }
    // too narrow: widen; too many states: only a better bound helps
    if (outcome === 'none') limit = Math.max(limit * 4, search.nextSlack);
    if (done) continue;
    sweeps++;
    chains.forward();
    chains.backward(true);
  }
}
