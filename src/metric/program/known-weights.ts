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

/** a weight that is not known */
export const OPEN = -1;

/**
 * All arrays are edge by edge or object by object, with a place for each frame, oldest first. They are used again for
 * the next window.
 */
export class KnownWeights {
  frameCount = 0;
  edgeCount = 0;
  objectCount = 0;
  /** object of each edge */
  truth = new Int32Array(0);
  track = new Int32Array(0);
  benefit = new Float64Array(0);
  /** 0, 1 or OPEN */
  weight = new Int8Array(0);
  /** the most that an open edge of the object earns, and the next */
  best = new Float64Array(0);
  second = new Float64Array(0);
  /** of the objects; found where an edge is known to be assigned, 0 elsewhere */
  price = new Float64Array(0);
  /** [frame]: of a change before it; 0 at both ends of the window */
  cost = new Float64Array(0);
  /** 1 where an edge of the object is known to be assigned */
  #taken = new Uint8Array(0);
  /** along one edge: what its rivals earn, and its ends' prices */
  #truthRival = new Float64Array(0);
  #trackRival = new Float64Array(0);
  #truthPrice = new Float64Array(0);
  #trackPrice = new Float64Array(0);

  /** Makes room for a window. The caller writes `truth`, `track`, `benefit` and `cost`. */
  begin(edgeCount: number, objectCount: number, frameCount: number): void {
    this.edgeCount = edgeCount;
    this.objectCount = objectCount;
    this.frameCount = frameCount;
    if (this.truth.length < edgeCount) {
      this.truth = new Int32Array(2 * edgeCount);
      this.track = new Int32Array(2 * edgeCount);
    }
    if (this.weight.length < edgeCount * frameCount) {
      const size = Math.max(edgeCount * frameCount, 2 * this.weight.length);
      this.weight = new Int8Array(size);
      this.benefit = new Float64Array(size);
    }
    if (this.best.length < objectCount * frameCount) {
      const size = Math.max(objectCount * frameCount, 2 * this.best.length);
      this.best = new Float64Array(size);
      this.second = new Float64Array(size);
      this.price = new Float64Array(size);
      this.#taken = new Uint8Array(size);
    }
    if (this.cost.length < frameCount + 1) {
      this.cost = new Float64Array(frameCount + 1);
      this.#truthRival = new Float64Array(frameCount);
      this.#trackRival = new Float64Array(frameCount);
      this.#truthPrice = new Float64Array(frameCount);
      this.#trackPrice = new Float64Array(frameCount);
    }
  }

  /** Finds weights and prices; `best` and `second` are those of the edges left open. */
  find(): void {
    const { edgeCount, objectCount, frameCount } = this;
    this.weight.fill(OPEN, 0, edgeCount * frameCount);
    this.price.fill(0, 0, objectCount * frameCount);
    this.#taken.fill(0, 0, objectCount * frameCount);
    this.#rank();
    for (let edge = 0; edge < edgeCount; edge++) {
      this.#displace(edge);
      this.#follow(edge);
    }
    for (let edge = 0; edge < edgeCount; edge++) this.#displace(edge);
    this.#rank();
  }

  /** Ranks what open edges earn at each of their ends. */
  #rank(): void {
    const { edgeCount, objectCount, frameCount, truth, track, benefit, weight, best, second } = this;
    best.fill(0, 0, objectCount * frameCount);
    second.fill(0, 0, objectCount * frameCount);
    for (let edge = 0, at = 0; edge < edgeCount; edge++) {
      const truthRow = truth[edge] * frameCount;
      const trackRow = track[edge] * frameCount;
      for (let k = 0; k < frameCount; k++, at++) {
        const earns = benefit[at];
        if (earns === 0 || weight[at] !== OPEN) continue;
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

  /** Follows an edge through the window. Rivals may have been displaced since they were ranked: that asks too much only. */
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
    const { frameCount, benefit, weight, best, second } = this;
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
