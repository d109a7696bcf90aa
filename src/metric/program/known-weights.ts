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
 * F_(b+1) = G_(b+1) = s after; rivals that earn nothing and are not known before, or after, ask for 0 instead; and at
 * the window's ends s is 0. So one pass along an edge, begun with the worst, shares out what each frame earns among F,
 * G and N = -f, which must not fall below -s: where all have come to s, the frames so far are known. Where one falls
 * below, the run begins anew behind that frame. What is known of one edge leaves others with fewer rivals: the passes
 * are repeated while that helps.
 *
 * The prices hold the rivals off and no more. What e earns above them, and what the outside asks less than the worst,
 * is e's own: the bound is the sum of all prices and of what each edge alone can earn above them, changes paid, so it
 * comes out the same.
 */

/** a weight that is not known */
export const OPEN = -1;
/** passes over all edges; hardly anything is found after the third */
const ROUNDS_MAX = 6;

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
  /** frames of each edge */
  #openCount = new Int32Array(0);
  /** 1 where an edge of the object is known to be assigned */
  #taken = new Uint8Array(0);
  /** 1 for an object with edges that were displaced since all were ranked, and before that since the last time */
  #relieved = new Uint8Array(0);
  #relievedBefore = new Uint8Array(0);
  // along one edge: what its rivals earn, the first and last frames in which they earn something or are assigned, and
  // its ends' prices
  #truthRival = new Float64Array(0);
  #trackRival = new Float64Array(0);
  #truthFirst = 0;
  #truthLast = 0;
  #trackFirst = 0;
  #trackLast = 0;
  #truthPrice = new Float64Array(0);
  #trackPrice = new Float64Array(0);

  /** Makes room for a window. The caller writes `truth`, `track`, `benefit` and `cost`. */
  begin(edgeCount: number, objectCount: number, frameCount: number): void {
    this.edgeCount = edgeCount;
    this.objectCount = objectCount;
    this.frameCount = frameCount;
    if (this.truth.length < edgeCount) {
      const size = Math.max(edgeCount, 2 * this.truth.length);
      this.truth = new Int32Array(size);
      this.track = new Int32Array(size);
      this.#openCount = new Int32Array(size);
    }
    if (this.#relieved.length < objectCount) {
      const size = Math.max(objectCount, 2 * this.#relieved.length);
      this.#relieved = new Uint8Array(size);
      this.#relievedBefore = new Uint8Array(size);
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
    this.#openCount.fill(frameCount, 0, edgeCount);
    this.#relieved.fill(1, 0, objectCount);
    let found = true;
    for (let round = 0; found && round < ROUNDS_MAX; round++) {
      this.#rank();
      const relieved = this.#relieved;
      this.#relieved = this.#relievedBefore.fill(0, 0, objectCount);
      this.#relievedBefore = relieved;
      found = false;
      for (let edge = 0; edge < edgeCount; edge++) {
        if (this.#openCount[edge] === 0 || (relieved[this.truth[edge]] | relieved[this.track[edge]]) === 0) continue;
        if (this.#follow(edge)) found = true;
      }
    }
    if (found) this.#rank();
  }

  /** Takes rivals of assigned edges for known too, and ranks the others. */
  #rank(): void {
    const { edgeCount, objectCount, frameCount, truth, track, benefit, weight, best, second } = this;
    best.fill(0, 0, objectCount * frameCount);
    second.fill(0, 0, objectCount * frameCount);
    for (let edge = 0; edge < edgeCount; edge++) {
      if (this.#openCount[edge] === 0) continue;
      this.#displace(edge);
      const row = edge * frameCount;
      const truthRow = truth[edge] * frameCount;
      const trackRow = track[edge] * frameCount;
      for (let k = 0; k < frameCount; k++) {
        const earns = benefit[row + k];
        if (earns === 0 || weight[row + k] !== OPEN) continue;
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

  #displace(edge: number): void {
    const { frameCount, weight } = this;
    const taken = this.#taken;
    const row = edge * frameCount;
    const truthRow = this.truth[edge] * frameCount;
    const trackRow = this.track[edge] * frameCount;
    for (let k = 0; k < frameCount; k++) {
      if (weight[row + k] !== OPEN || (taken[truthRow + k] | taken[trackRow + k]) === 0) continue;
      weight[row + k] = 0;
      this.#openCount[edge]--;
      this.#relieved[this.truth[edge]] = 1;
      this.#relieved[this.track[edge]] = 1;
    }
  }

  /** Looks at the rivals of an edge. Some may have been ranked before they were displaced: that asks too much only. */
  #meetRivals(edge: number): void {
    const { frameCount, benefit, weight, best, second } = this;
    const taken = this.#taken;
    const row = edge * frameCount;
    const truthRow = this.truth[edge] * frameCount;
    const trackRow = this.track[edge] * frameCount;
    this.#truthFirst = this.#trackFirst = frameCount;
    this.#truthLast = this.#trackLast = -1;
    for (let k = 0; k < frameCount; k++) {
      if (weight[row + k] === 1) continue;
      const own = weight[row + k] === OPEN ? benefit[row + k] : -1;
      const m = own === best[truthRow + k] ? second[truthRow + k] : best[truthRow + k];
      const n = own === best[trackRow + k] ? second[trackRow + k] : best[trackRow + k];
      this.#truthRival[k] = m;
      this.#trackRival[k] = n;
      if (m > 0 || taken[truthRow + k] === 1) {
        this.#truthLast = k;
        if (this.#truthFirst === frameCount) this.#truthFirst = k;
      }
      if (n > 0 || taken[trackRow + k] === 1) {
        this.#trackLast = k;
        if (this.#trackFirst === frameCount) this.#trackFirst = k;
      }
    }
  }

  /** Follows an edge through the window; says whether anything was found. */
  #follow(edge: number): boolean {
    this.#displace(edge);
    this.#meetRivals(edge);
    const { frameCount, benefit, weight, cost } = this;
    const truthRival = this.#truthRival;
    const trackRival = this.#trackRival;
    const truthPrice = this.#truthPrice;
    const trackPrice = this.#trackPrice;
    const truthLast = this.#truthLast;
    const trackLast = this.#trackLast;
    const row = edge * frameCount;
    let found = false;
    let running = false;
    let isAfterKnown = false;
    // of the run at hand: its first frame, and the last up to which it is known
    let first = 0;
    let last = -1;
    let F = 0;
    let G = 0;
    let N = 0;
    for (let k = 0; k < frameCount; k++) {
      const known = weight[row + k];
      if (known !== OPEN) {
        // a run that reaches one known before is known to its end: that one has taken the worst for its beginning
        if (known === 1 && running) last = k - 1;
        if (last >= first) found = this.#keep(edge, first, last);
        running = false;
        isAfterKnown = known === 1;
        last = -1;
        continue;
      }
      if (!running) {
        const s = cost[k];
        F = isAfterKnown ? s : this.#truthFirst < k ? -s : 0;
        G = isAfterKnown ? s : this.#trackFirst < k ? -s : 0;
        N = isAfterKnown ? s : -s;
        first = k;
        last = -1;
        running = true;
        isAfterKnown = false;
      }
      const s = cost[k + 1];
      const truthNeed = k < truthLast ? s : 0;
      const trackNeed = k < trackLast ? s : 0;
      // what must be paid so that no rival falls below -s
      const lowF = F - truthRival[k];
      const lowG = G - trackRival[k];
      const earned = N + benefit[row + k];
      F = lowF < -s ? -s : lowF;
      G = lowG < -s ? -s : lowG;
      N = earned - (F - lowF) - (G - lowG);
      if (F > truthNeed) F = truthNeed;
      if (G > trackNeed) G = trackNeed;
      // the rest is shared so that the lowest of the three comes out as high as it can
      let level = (F + G + N) / 3;
      if (F >= level) level = (G + N) / 2;
      else if (G >= level) level = (F + N) / 2;
      const raisedF = Math.max(F, Math.min(truthNeed, level));
      const raisedG = Math.max(G, Math.min(trackNeed, level));
      N -= raisedF - F + raisedG - G;
      F = raisedF;
      G = raisedG;
      if (N > s) {
        const moreF = Math.min(N - s, truthNeed - F);
        F += moreF;
        G += Math.min(N - s - moreF, trackNeed - G);
        N = s;
      }
      if (N < -s) {
        if (last >= first) found = this.#keep(edge, first, last);
        running = false;
        last = -1;
        continue;
      }
      truthPrice[k] = Math.max(0, F - lowF);
      trackPrice[k] = Math.max(0, G - lowG);
      if (F >= truthNeed && G >= trackNeed && N >= s) last = k;
    }
    if (running && last >= first) found = this.#keep(edge, first, last);
    return found;
  }

  #keep(edge: number, first: number, last: number): true {
    const { frameCount, weight, price } = this;
    const truthRow = this.truth[edge] * frameCount;
    const trackRow = this.track[edge] * frameCount;
    for (let k = first; k <= last; k++) {
      weight[edge * frameCount + k] = 1;
      price[truthRow + k] = this.#truthPrice[k];
      price[trackRow + k] = this.#trackPrice[k];
      this.#taken[truthRow + k] = 1;
      this.#taken[trackRow + k] = 1;
    }
    this.#openCount[edge] -= last - first + 1;
    return true;
  }
}
