/**
 * The best matching of one frame alone, with prices that prove it: u_i + v_j >= b_ij for all pairs, and what is matched
 * earns all prices. It is a floor for what a window's assignment earns, and its prices are a ceiling: nothing earns
 * more in this frame.
 *
 * Truths are added one after the other, each along the shortest augmenting path over the reduced costs u_i + v_j -
 * b_ij; a truth that is better left alone stays so. When the budget is spent, in a crowd those not yet added get the
 * least prices that are valid: the ceiling is higher, but holds. All values are quanta; work is counted in pairs looked
 * at.
 */

import type { Budget } from '../window/budget.js';
import type { FrameRecord } from '../window/frame-record.js';

const NONE = -1;
/** pairs looked at for one unit of work */
const PAIRS_PER_WORK = 16;
/** frames with at most so many pairs are matched to the end, whatever the budget is: the answer has a floor */
const UNLIMITED_PAIRS = 2 ** 14;

export class FrameMatching {
  /** of each truth and track of the frame: its price in quanta */
  readonly truthPrice: Float64Array;
  readonly trackPrice: Float64Array;
  /** their sum: quanta that nobody can earn more of */
  readonly ceiling: number;
  /** of each truth: its pair, or -1 */
  readonly pairOf: Int32Array;
  /** of each track: its pair, or -1 */
  private readonly holder: Int32Array;
  /** pairs of truth i: `start[i]` to `start[i + 1] - 1`, because pairs are ordered by truth */
  private readonly start: Int32Array;
  /** of each track on the way: its distance from the truth that is added, and the pair by which it is reached */
  private readonly reach: Float64Array;
  private readonly via: Int32Array;
  private readonly done: Uint8Array;
  /** tracks that are reached, those done first */
  private readonly reached: Int32Array;
  /** truths on the way with their distances */
  private readonly tree: Int32Array;
  private readonly treeReach: Float64Array;
  /** it may be left when the budget is spent */
  private readonly limited: boolean;

  constructor(
    private readonly frame: FrameRecord,
    private readonly budget: Budget,
  ) {
    const n = frame.truths.length;
    const m = frame.tracks.length;
    this.truthPrice = new Float64Array(n);
    this.trackPrice = new Float64Array(m);
    this.pairOf = new Int32Array(n).fill(NONE);
    this.holder = new Int32Array(m).fill(NONE);
    this.start = new Int32Array(n + 1);
    for (let pair = 0; pair < frame.pairCount; pair++) this.start[frame.truthIndex(pair) + 1]++;
    for (let i = 0; i < n; i++) this.start[i + 1] += this.start[i];
    this.reach = new Float64Array(m);
    this.via = new Int32Array(m);
    this.done = new Uint8Array(m);
    this.reached = new Int32Array(m);
    this.tree = new Int32Array(n + 1);
    this.treeReach = new Float64Array(n + 1);
    this.limited = frame.pairCount > UNLIMITED_PAIRS;
    for (let i = 0; i < n; i++) this.addTruth(i);
    let ceiling = 0;
    for (let i = 0; i < n; i++) ceiling += this.truthPrice[i];
    for (let j = 0; j < m; j++) ceiling += this.trackPrice[j];
    this.ceiling = ceiling;
  }

  private addTruth(i: number): void {
    const { frame, start, trackPrice } = this;
    let price = 0;
    for (let pair = start[i]; pair < start[i + 1]; pair++)
      price = Math.max(price, frame.benefit(pair) - trackPrice[frame.trackIndex(pair)]);
    this.truthPrice[i] = price;
    if (price === 0) return;
    if (this.limited && this.budget.spent) this.joinBestFree(i);
    else this.augment(i);
  }

  private joinBestFree(i: number): void {
    const { frame, start, holder } = this;
    let best = NONE;
    for (let pair = start[i]; pair < start[i + 1]; pair++)
      if (holder[frame.trackIndex(pair)] === NONE && (best === NONE || frame.cost(pair) < frame.cost(best)))
        best = pair;
    if (best === NONE) return;
    this.pairOf[i] = best;
    holder[frame.trackIndex(best)] = best;
  }

  /**
   * Grows the tree of shortest ways from a truth until it reaches a free track, or somebody who may as well be left
   * alone.
   */
  private augment(from: number): void {
    const { frame, start, truthPrice, trackPrice, reach, via, done, reached, tree, treeReach, holder } = this;
    let reachedCount = 0;
    let doneCount = 0;
    let treeCount = 0;
    tree[0] = from;
    treeReach[0] = 0;
    treeCount = 1;
    let least = truthPrice[from];
    let leftAlone = from;
    let free = NONE;
    for (let at = 0; ; ) {
      const i = tree[at];
      const base = treeReach[at];
      this.budget.spend((1 + start[i + 1] - start[i] + reachedCount - doneCount) / PAIRS_PER_WORK);
      for (let pair = start[i]; pair < start[i + 1]; pair++) {
        const j = frame.trackIndex(pair);
        if (done[j] === 2 || pair === this.pairOf[i]) continue;
        const distance = base + truthPrice[i] + trackPrice[j] - frame.benefit(pair);
        if (distance >= least || (done[j] === 1 && distance >= reach[j])) continue;
        if (done[j] === 0) {
          done[j] = 1;
          reached[reachedCount++] = j;
        }
        reach[j] = distance;
        via[j] = pair;
      }
      let nearest = NONE;
      for (let n = doneCount; n < reachedCount; n++)
        if (nearest === NONE || this.isNearer(reached[n], reached[nearest])) nearest = n;
      if (nearest === NONE || reach[reached[nearest]] >= least) break;
      const j = reached[nearest];
      reached[nearest] = reached[doneCount];
      reached[doneCount++] = j;
      done[j] = 2;
      if (holder[j] === NONE) {
        free = j;
        least = reach[j];
        break;
      }
      const next = frame.truthIndex(holder[j]);
      at = treeCount;
      tree[treeCount] = next;
      treeReach[treeCount++] = reach[j];
      if (reach[j] + truthPrice[next] < least) {
        least = reach[j] + truthPrice[next];
        leftAlone = next;
      }
    }
    for (let n = 0; n < treeCount; n++) if (treeReach[n] < least) truthPrice[tree[n]] -= least - treeReach[n];
    for (let n = 0; n < doneCount; n++)
      if (reach[reached[n]] < least) trackPrice[reached[n]] += least - reach[reached[n]];
    for (let n = 0; n < reachedCount; n++) done[reached[n]] = 0;
    if (free !== NONE) this.flip(free, from);
    else if (leftAlone !== from) {
      const j = frame.trackIndex(this.pairOf[leftAlone]);
      this.pairOf[leftAlone] = NONE;
      this.flip(j, from);
    }
  }

  /** Of tracks that are equally far, one that nobody has ends the search. */
  private isNearer(j: number, than: number): boolean {
    const { reach, holder } = this;
    return reach[j] < reach[than] || (reach[j] === reach[than] && holder[j] === NONE && holder[than] !== NONE);
  }

  /** Gives a track to the truth it was reached from, that one's track to the truth before, and so on. */
  private flip(track: number, from: number): void {
    const { frame, via, pairOf, holder } = this;
    for (let j = track; ; ) {
      const pair = via[j];
      const i = frame.truthIndex(pair);
      const before = pairOf[i];
      pairOf[i] = pair;
      holder[j] = pair;
      if (i === from) return;
      j = frame.trackIndex(before);
    }
  }
}

/** The matchings of the frames of a window, each found when it is first asked for. */
export class FrameMatchings {
  private readonly byNumber = new Map<number, FrameMatching>();
  /** of the solve that goes on */
  budget: Budget | null = null;

  of(frame: FrameRecord): FrameMatching {
    let matching = this.byNumber.get(frame.number);
    if (matching === undefined) {
      matching = new FrameMatching(frame, this.budget!);
      this.byNumber.set(frame.number, matching);
    }
    return matching;
  }

  dropFrame(number: number): void {
    this.byNumber.delete(number);
  }
}
