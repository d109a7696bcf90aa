/**
 * The weights of a window's linear program that are known beforehand, and prices that prove it.
 *
 * Edge e = (i, j) is assigned at frames a..b, and the other edges of its ends, its rivals, are not, when prices u_ik,
 * v_jk >= 0 and flows exist that satisfy the rows of the dual (see `reduced-program.ts`) there whatever is found
 * outside:
 *
 *   f_k + u_ik + v_jk - f_(k+1)  = b_ek           for e itself
 *   F_k + u_ik        - F_(k+1) >= m_ik           for the rivals at the truth, m being the most that any of them earns
 *   G_k + v_jk        - G_(k+1) >= n_jk           for those at the track
 *
 * with all three between -s_k and s_k. Outside, nothing is worse than f_a = s, F_a = G_a = -s before and f_(b+1) = -s,
 * F_(b+1) = G_(b+1) = s after; and at the window's ends, and where no rival earns before, or after, 0 is asked instead.
 * So one pass along an edge, begun with the worst, keeps what each frame earns in N = -f, which pays what F and G need
 * and must not fall below -s: where all have come to s, the frames so far are known. Where it falls below, the run
 * begins anew behind that frame.
 *
 * The prices hold the rivals off and no more. What e earns above them, and what the outside asks less than the worst,
 * is e's own: the bound is the sum of all prices and of what each edge alone can earn above them, changes paid, so it
 * comes out the same.
 */

import type { LpProblem } from './linear-program.js';

/** a weight that is not known */
export const OPEN = -1;

/** All arrays are edge by edge or object by object, truths first, with a place for each frame, oldest first. */
export class KnownWeights {
  readonly frameCount: number;
  readonly edgeCount: number;
  readonly objectCount: number;
  /** object of each edge */
  readonly truth: Int32Array;
  readonly track: Int32Array;
  readonly benefit: Float64Array;
  /** 0, 1 or OPEN */
  readonly weight: Int8Array;
  /** of the objects; found where an edge is known to be assigned, 0 elsewhere */
  readonly price: Float64Array;
  /** [frame]: of a change before it; 0 at both ends of the window */
  readonly cost: Float64Array;
  /** the most that an open edge of the object earns, and the next */
  readonly #best: Float64Array;
  readonly #second: Float64Array;
  /** 1 where an edge of the object is known to be assigned */
  readonly #taken: Uint8Array;
  /** along one edge: what its rivals earn, and its ends' prices */
  readonly #truthRival: Float64Array;
  readonly #trackRival: Float64Array;
  readonly #truthPrice: Float64Array;
  readonly #trackPrice: Float64Array;

  constructor({ frameCount, truthCount, trackCount, edgeTruth, edgeTrack, benefit, switchCost }: LpProblem) {
    this.frameCount = frameCount;
    this.edgeCount = edgeTruth.length;
    this.objectCount = truthCount + trackCount;
    this.truth = edgeTruth;
    this.track = edgeTrack.map((track) => truthCount + track);
    this.benefit = new Float64Array(this.edgeCount * frameCount);
    for (let edge = 0, at = 0; edge < this.edgeCount; edge++)
      for (let frame = 0; frame < frameCount; frame++) this.benefit[at++] = benefit[frame * this.edgeCount + edge];
    this.cost = new Float64Array(frameCount + 1);
    this.cost.set(switchCost.subarray(1), 1);
    this.weight = new Int8Array(this.edgeCount * frameCount).fill(OPEN);
    const objectFrames = this.objectCount * frameCount;
    this.price = new Float64Array(objectFrames);
    this.#best = new Float64Array(objectFrames);
    this.#second = new Float64Array(objectFrames);
    this.#taken = new Uint8Array(objectFrames);
    this.#truthRival = new Float64Array(frameCount);
    this.#trackRival = new Float64Array(frameCount);
    this.#truthPrice = new Float64Array(frameCount);
    this.#trackPrice = new Float64Array(frameCount);
    this.#rank();
    for (let edge = 0; edge < this.edgeCount; edge++) {
      this.#displace(edge);
      this.#follow(edge);
    }
    for (let edge = 0; edge < this.edgeCount; edge++) this.#displace(edge);
  }

  /** Ranks what edges earn at each of their ends. */
  #rank(): void {
    const { edgeCount, frameCount, truth, track, benefit } = this;
    const best = this.#best;
    const second = this.#second;
    for (let edge = 0, at = 0; edge < edgeCount; edge++) {
      const truthRow = truth[edge] * frameCount;
      const trackRow = track[edge] * frameCount;
      for (let k = 0; k < frameCount; k++, at++) {
        const earns = benefit[at];
        if (earns === 0) continue;
        if (earns > best[truthRow + k]) {
          second[truthRow + k] = best[truthRow + k];
          best[truthRow + k] = earns;
        } else if (earns > second[truthRow + k]) second[truthRow + k] = earns;
        if (earns > best[trackRow + k]) {
          second[trackRow + k] = best[trackRow + k];
          best[trackRow + k] = earns;
        } else if (earns > second[trackRow + k]) second[trackRow + k] = earns;
      }
    }
  }

  /** Takes an edge for known where it is a rival of one that is assigned. */
  #displace(edge: number): void {
    const { frameCount, weight } = this;
    const row = edge * frameCount;
    const truthRow = this.truth[edge] * frameCount;
    const trackRow = this.track[edge] * frameCount;
    for (let k = 0; k < frameCount; k++)
      if (weight[row + k] === OPEN && (this.#taken[truthRow + k] | this.#taken[trackRow + k]) === 1)
        weight[row + k] = 0;
  }

  /** Follows an edge through the window. Rivals displaced since they were ranked count: that asks too much only. */
  #follow(edge: number): void {
    const { frameCount, benefit, weight, cost } = this;
    const truthPrice = this.#truthPrice;
    const trackPrice = this.#trackPrice;
    const row = edge * frameCount;
    const truths = this.#meetRivals(edge, this.truth[edge], this.#truthRival);
    const tracks = this.#meetRivals(edge, this.track[edge], this.#trackRival);
    // of the run at hand: its first frame, or -1, and the last up to which it is known
    let first = -1;
    let last = -1;
    let F = 0;
    let G = 0;
    let N = 0;
    const close = () => {
      if (last >= 0) this.#keep(edge, first, last);
      first = last = -1;
    };
    for (let k = 0; k < frameCount; k++) {
      if (weight[row + k] !== OPEN) {
        close();
        continue;
      }
      if (first < 0) {
        F = truths.first < k ? -cost[k] : 0;
        G = tracks.first < k ? -cost[k] : 0;
        N = -cost[k];
        first = k;
      }
      const s = cost[k + 1];
      const truthNeed = k < truths.last ? s : 0;
      const trackNeed = k < tracks.last ? s : 0;
      // what must be paid so that no rival falls below -s
      const lowF = F - this.#truthRival[k];
      const lowG = G - this.#trackRival[k];
      F = Math.min(truthNeed, Math.max(-s, lowF));
      G = Math.min(trackNeed, Math.max(-s, lowG));
      N += benefit[row + k] - Math.max(0, -s - lowF) - Math.max(0, -s - lowG);
      if (N > s) {
        const moreF = Math.min(N - s, truthNeed - F);
        F += moreF;
        G += Math.min(N - s - moreF, trackNeed - G);
        N = s;
      }
      if (N < -s) {
        close();
        continue;
      }
      truthPrice[k] = Math.max(0, F - lowF);
      trackPrice[k] = Math.max(0, G - lowG);
      if (F >= truthNeed && G >= trackNeed && N >= s) last = k;
    }
    close();
  }

  /** Writes down what an edge's rivals at one end earn; returns the first and last frames in which there are any. */
  #meetRivals(edge: number, object: number, rival: Float64Array): { first: number; last: number } {
    const { frameCount, benefit, weight } = this;
    const best = this.#best;
    const second = this.#second;
    let first = frameCount;
    let last = -1;
    for (let k = 0, at = object * frameCount; k < frameCount; k++, at++) {
      const own = weight[edge * frameCount + k] === OPEN ? benefit[edge * frameCount + k] : -1;
      rival[k] = own === best[at] ? second[at] : best[at];
      if (rival[k] === 0 && this.#taken[at] === 0) continue;
      last = k;
      if (first === frameCount) first = k;
    }
    return { first, last };
  }

  #keep(edge: number, first: number, last: number): void {
    const { frameCount, weight, price } = this;
    const truthRow = this.truth[edge] * frameCount;
    const trackRow = this.track[edge] * frameCount;
    for (let k = first; k <= last; k++) {
      weight[edge * frameCount + k] = 1;
      price[truthRow + k] = this.#truthPrice[k];
      price[trackRow + k] = this.#trackPrice[k];
      this.#taken[truthRow + k] = this.#taken[trackRow + k] = 1;
    }
  }
}
