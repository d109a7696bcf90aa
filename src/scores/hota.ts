/**
 * HOTA (Luiten et al. 2021, as in TrackEval). Two passes over the frames: the first adds up how well each truth goes
 * together with each track over all frames; the second matches every frame by similarity times that. The matching does
 * not depend on the threshold; a pair counts at the thresholds its similarity reaches.
 */

import { Matcher } from './matching.js';
import type { Roster, ScoredFrame } from './roster.js';
import { THRESHOLDS, type Totals } from './totals.js';

const COUNT = THRESHOLDS.length;

export class Hota {
  readonly #matcher = new Matcher();
  #alignment = new Float64Array(64);
  /** by pair of trajectories: frames matched whose highest threshold is the n-th */
  #matches = new Int32Array(64 * COUNT);
  #weight = new Float64Array(64);
  /** by threshold, as in Totals */
  readonly #matched = new Float64Array(COUNT);
  readonly #similarities = new Float64Array(COUNT);

  /** Writes the sums of HOTA into `totals`. */
  score(frames: Iterable<ScoredFrame>, roster: Roster, totals: Totals): void {
    this.#align(frames, roster);
    this.#matchFrames(frames, roster, totals);
    this.#associate(roster, totals);
  }

  #align(frames: Iterable<ScoredFrame>, roster: Roster): void {
    const size = roster.pairSize;
    if (this.#alignment.length < size) {
      this.#alignment = new Float64Array(size * 2);
      this.#matches = new Int32Array(size * 2 * COUNT);
    }
    const alignment = this.#alignment.fill(0, 0, size);
    for (const { pairCount, pair, share } of frames) for (let n = 0; n < pairCount; n++) alignment[pair[n]] += share[n];
    for (let n = 0; n < size; n++) {
      if (roster.pairFrames[n] === 0) continue;
      const present = roster.truths.presence[roster.pairTruth[n]] + roster.tracks.presence[roster.pairTrack[n]];
      alignment[n] /= present - alignment[n];
    }
  }

  #matchFrames(frames: Iterable<ScoredFrame>, roster: Roster, totals: Totals): void {
    const alignment = this.#alignment;
    const matches = this.#matches.fill(0, 0, roster.pairSize * COUNT);
    const matcher = this.#matcher;
    const matched = this.#matched.fill(0);
    const similarities = this.#similarities.fill(0);
    for (const frame of frames) {
      const { pairCount, truthCount, trackCount, truthAt, trackAt, pair, similarity } = frame;
      if (pairCount === 0) continue;
      if (this.#weight.length < pairCount) this.#weight = new Float64Array(pairCount * 2);
      const weight = this.#weight;
      for (let n = 0; n < pairCount; n++) weight[n] = alignment[pair[n]] * similarity[n];
      matcher.match(pairCount, truthAt, trackAt, weight, truthCount, trackCount);
      for (let row = 0; row < truthCount; row++) {
        const n = matcher.pairOfRow[row];
        if (n < 0) continue;
        const reached = thresholdsReached(similarity[n]);
        if (reached === 0) continue;
        matches[pair[n] * COUNT + reached - 1]++;
        matched[reached - 1]++;
        similarities[reached - 1] += similarity[n];
      }
    }
    // what counts at a threshold counts at all lower ones
    for (let n = COUNT - 2; n >= 0; n--) {
      matched[n] += matched[n + 1];
      similarities[n] += similarities[n + 1];
    }
    totals.hotaMatched = [...matched];
    totals.hotaSimilarity = [...similarities];
  }

  #associate(roster: Roster, { association }: Totals): void {
    const matches = this.#matches;
    for (let pair = 0; pair < roster.pairSize; pair++) {
      if (roster.pairFrames[pair] === 0) continue;
      const present = roster.truths.presence[roster.pairTruth[pair]] + roster.tracks.presence[roster.pairTrack[pair]];
      let count = 0;
      for (let n = COUNT - 1; n >= 0; n--) {
        count += matches[pair * COUNT + n];
        if (count > 0) association[n] += (count * count) / Math.max(1, present - count);
      }
    }
  }
}

/** How many thresholds a similarity reaches. */
function thresholdsReached(similarity: number): number {
  let count = Math.min(COUNT, Math.max(0, Math.floor(similarity * 20)));
  while (count < COUNT && similarity >= THRESHOLDS[count] - Number.EPSILON) count++;
  while (count > 0 && similarity < THRESHOLDS[count - 1] - Number.EPSILON) count--;
  return count;
}
