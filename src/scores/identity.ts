/**
 * Identity (Ristani et al. 2016): each truth gets at most one track for the whole time, so that as many objects as
 * possible agree from similarity 0.5 on. The counts of agreeing frames are kept by the roster; what is left is one
 * matching of trajectories.
 */

import { Matcher } from './matching.js';
import type { Roster } from './roster.js';

export class IdentityScores {
  readonly #matcher = new Matcher();
  #row = new Int32Array(64);
  #column = new Int32Array(64);
  #weight = new Float64Array(64);

  /** Objects whose truth and track belong together under the best pairing of trajectories. */
  matched(roster: Roster): number {
    if (this.#row.length < roster.pairSize) {
      this.#row = new Int32Array(roster.pairSize * 2);
      this.#column = new Int32Array(roster.pairSize * 2);
      this.#weight = new Float64Array(roster.pairSize * 2);
    }
    let count = 0;
    for (let truth = 0; truth < roster.truths.size; truth++) {
      if (roster.truths.presence[truth] === 0) continue;
      for (const pair of roster.pairsOf(truth) ?? []) {
        if (roster.pairMatches[pair] === 0) continue;
        this.#row[count] = truth;
        this.#column[count] = roster.pairTrack[pair];
        this.#weight[count++] = roster.pairMatches[pair];
      }
    }
    const { truths, tracks } = roster;
    this.#matcher.match(count, this.#row, this.#column, this.#weight, truths.size, tracks.size);
    let sum = 0;
    for (let truth = 0; truth < truths.size; truth++) {
      const chosen = this.#matcher.pairOfRow[truth];
      if (chosen >= 0) sum += this.#weight[chosen];
    }
    return sum;
  }
}
