/**
 * A proof that an assignment is an optimum of the linear program, without solving it (DESIGN 3.5).
 *
 *   optimum <= sum of all prices + sum over edges of the best that edge alone can earn at b - u - v, changes paid
 *
 * for any prices u, v >= 0 of truths and tracks at each layer: that is the program's dual. When an assignment earns as
 * much as the right side says, both are optimal. Simplex leaves prices for the window it has solved. Most frames only
 * go on with what is assigned already: then prices for the new frame, and those of the others moved a little, prove
 * that nothing has changed. All values are quanta.
 */

import type { Budget } from '../window/budget.js';
import { surcharge } from '../window/quanta.js';

export interface ProofGraph {
  readonly truthCount: number;
  readonly trackCount: number;
  readonly edgeTruth: Int32Array;
  readonly edgeTrack: Int32Array;
}

/** A component's layers: rows `firstRow` to `firstRow + layerCount - 1`. */
export interface ProofLayers {
  readonly firstRow: number;
  readonly layerCount: number;
  /** [row * edgeCount + edge] */
  readonly benefit: Float64Array;
  /** [row * truthCount + truth]: its edge, or -1 */
  readonly partner: Int32Array;
  /** [row * objectCount + object]: prices of truths, then of tracks; a row that begins with NaN has none yet */
  readonly price: Float64Array;
  /** [row]: cost of one edge changed on the way into it; that of the first is not used */
  readonly changeCost: Float64Array;
}

/** So often each assigned pair of a new layer looks at what its rivals leave it. */
const ROUNDS = 3;
/** Looks that are made even when the budget is spent. */
const SMALL_WORK = 1024;
/** Sweeps over all layers before simplex is asked: what two do not prove, more hardly ever do. */
const SWEEPS_MAX = 2;

// one set of work arrays serves all components
let scratch = new Float64Array(0);

export class PriceProof {
  /** edges of truth x, or of track x - truthCount: `list[start[x]]` to `list[start[x + 1] - 1]` */
  private readonly start: Int32Array;
  private readonly list: Int32Array;
  /** the layers at hand */
  private layers!: ProofLayers;
  private readonly objectCount: number;
  /** in the row at hand: where its prices begin, and the leads of its edges */
  private first = 0;
  private readonly lead: Float64Array;
  /** of each object: its assigned edge in the row at hand, or -1 */
  private readonly held: Int32Array;
  /** of each edge, by the last bound: the best it can earn above the prices when it is assigned somewhere */
  readonly best: Float64Array;
  /** what the assignment that was proven earns, and may be below the optimum */
  earned = 0;
  gap = 0;

  constructor(private readonly graph: ProofGraph) {
    const { truthCount, trackCount, edgeTruth, edgeTrack } = graph;
    this.start = new Int32Array(truthCount + trackCount + 1);
    for (let e = 0; e < edgeTruth.length; e++) {
      this.start[edgeTruth[e] + 1]++;
      this.start[truthCount + edgeTrack[e] + 1]++;
    }
    for (let x = 0; x < truthCount + trackCount; x++) this.start[x + 1] += this.start[x];
    const next = this.start.slice();
    this.list = new Int32Array(2 * edgeTruth.length);
    for (let e = 0; e < edgeTruth.length; e++) {
      this.list[next[edgeTruth[e]]++] = e;
      this.list[next[truthCount + edgeTrack[e]]++] = e;
    }
    this.held = new Int32Array(truthCount + trackCount);
    this.objectCount = truthCount + trackCount;
    this.best = new Float64Array(edgeTruth.length);
    this.lead = new Float64Array(edgeTruth.length);
  }

  /** Whether the assignment of the layers is an optimum. Each look costs `work`. */
  proves(layers: ProofLayers, budget: Budget, work: number): boolean {
    this.layers = layers;
    const { firstRow, layerCount, price } = layers;
    for (let row = firstRow; row < firstRow + layerCount; row++)
      if (Number.isNaN(price[row * this.objectCount])) this.priceLayer(row);
    this.earned = this.earnedOf(layers);
    const slack = this.slack();
    budget.spend(work);
    if (this.meets(slack)) return true;
    for (let sweep = 0; sweep < SWEEPS_MAX; sweep++) {
      if (budget.spend(2 * work) && work > SMALL_WORK) return false;
      this.sweep(sweep % 2 === 0, false);
      if (this.meets(slack)) return true;
    }
    return false;
  }

  /** What the linear program cannot exceed, by the prices as they are. */
  boundOf(layers: ProofLayers): number {
    this.layers = layers;
    return this.bound();
  }

  /**
   * Moves prices without changing their bound, away from where they only just prove it: of what an assigned pair has to
   * spare, a third holds off the rivals at either end, and a third stays its own. What is still a tie then is one.
   */
  center(layers: ProofLayers): void {
    this.layers = layers;
    this.sweep(true, true);
    this.bound();
  }

  private meets(slack: number): boolean {
    this.gap = Math.max(0, this.bound() - this.earned);
    return this.gap <= slack;
  }

  /**
   * What the assignment may be below the bound: less than a change is surcharged by, or the fewest changes would not
   * win.
   */
  private slack(): number {
    const { firstRow, layerCount, changeCost } = this.layers;
    let least = Number.POSITIVE_INFINITY;
    for (let row = firstRow + 1; row < firstRow + layerCount; row++) least = Math.min(least, changeCost[row]);
    return least === Number.POSITIVE_INFINITY ? 0 : surcharge(least) / 2;
  }

  /** What the assignment of some layers earns. */
  earnedOf({ firstRow, layerCount, benefit, partner, changeCost }: ProofLayers): number {
    const n = this.graph.truthCount;
    const E = this.graph.edgeTruth.length;
    let earned = 0;
    for (let row = firstRow; row < firstRow + layerCount; row++) {
      const at = row * n;
      for (let i = 0; i < n; i++) {
        const e = partner[at + i];
        if (e >= 0) earned += benefit[row * E + e];
        if (row === firstRow) continue;
        const before = partner[at - n + i];
        if (before !== e) earned -= changeCost[row] * ((before >= 0 ? 1 : 0) + (e >= 0 ? 1 : 0));
      }
    }
    return earned;
  }

  /** What the linear program cannot exceed. */
  private bound(): number {
    const { objectCount: X, best } = this;
    const { truthCount, edgeTruth, edgeTrack } = this.graph;
    const { firstRow, layerCount, benefit, changeCost, price } = this.layers;
    const E = edgeTruth.length;
    let bound = 0;
    for (let at = firstRow * X; at < (firstRow + layerCount) * X; at++) bound += price[at];
    for (let e = 0; e < E; e++) {
      let at = firstRow * E + e;
      let truth = firstRow * X + edgeTruth[e];
      const toTrack = truthCount + edgeTrack[e] - edgeTruth[e];
      // assigned now, or not any more; not at all is worth 0
      let on = benefit[at] - price[truth] - price[truth + toTrack];
      let off = Number.NEGATIVE_INFINITY;
      for (let row = firstRow + 1; row < firstRow + layerCount; row++) {
        const h = changeCost[row];
        at += E;
        truth += X;
        const join = off > 0 ? off - h : -h;
        if (on - h > off) off = on - h;
        if (join > on) on = join;
        on += benefit[at] - price[truth] - price[truth + toTrack];
      }
      best[e] = on > off ? on : off;
      if (best[e] > 0) bound += best[e];
    }
    return bound;
  }

  /** Prices a layer so that assigned pairs earn just nothing, and their rivals as little as possible. */
  private priceLayer(row: number): void {
    const { start, list, objectCount: X } = this;
    const { truthCount, edgeTruth, edgeTrack } = this.graph;
    const { benefit, partner, price } = this.layers;
    const at = row * edgeTruth.length;
    const first = row * X;
    price.fill(0, first, first + X);
    for (let i = 0; i < truthCount; i++) {
      const m = partner[row * truthCount + i];
      if (m < 0) continue;
      price[first + i] = Math.floor(benefit[at + m] / 2);
      price[first + truthCount + edgeTrack[m]] = benefit[at + m] - price[first + i];
    }
    for (let round = 0; round < ROUNDS; round++) {
      for (let i = 0; i < truthCount; i++) {
        const m = partner[row * truthCount + i];
        if (m < 0 || benefit[at + m] === 0) continue;
        const j = truthCount + edgeTrack[m];
        let truthNeeds = 0;
        for (let n = start[i]; n < start[i + 1]; n++) {
          const e = list[n];
          if (e !== m) truthNeeds = Math.max(truthNeeds, benefit[at + e] - price[first + truthCount + edgeTrack[e]]);
        }
        let trackNeeds = 0;
        for (let n = start[j]; n < start[j + 1]; n++) {
          const e = list[n];
          if (e !== m) trackNeeds = Math.max(trackNeeds, benefit[at + e] - price[first + edgeTruth[e]]);
        }
        const earns = benefit[at + m];
        const spare = earns - truthNeeds - trackNeeds;
        price[first + i] = Math.max(0, Math.min(earns, truthNeeds + Math.floor(spare / 2)));
        price[first + j] = earns - price[first + i];
      }
    }
  }

  /**
   * Moves prices, layer by layer. An edge's lead at a layer is what it earns more by being assigned there than by not
   * being, the other layers being free: its reduced benefit, and what comes from before and after, each within what a
   * change costs there.
   */
  private sweep(forward: boolean, centers: boolean): void {
    const { firstRow, layerCount } = this.layers;
    const E = this.graph.edgeTruth.length;
    const room = (layerCount + 1) * E;
    if (scratch.length < room) scratch = new Float64Array(2 * room);
    const first = forward ? firstRow : firstRow + layerCount - 1;
    const last = forward ? firstRow + layerCount - 1 : firstRow;
    const step = forward ? 1 : -1;
    // scratch[(row - firstRow + 1) * E + e]: what comes from the layers that the sweep has still before it; the first
    // E: from those behind it
    const place = (row: number) => (row - firstRow + 1) * E;
    scratch.fill(0, place(last), place(last) + E);
    for (let row = last; row !== first; row -= step)
      this.carry(row, place(row), place(row - step), forward ? row : row + 1);
    scratch.fill(0, 0, E);
    for (let row = first; ; row += step) {
      this.openRow(row, place(row));
      if (centers) this.share(row);
      else this.adjust(row, place(row), forward);
      if (row === last) return;
      this.carry(row, 0, 0, forward ? row + 1 : row);
    }
  }

  /** Carries what comes from the layers on one side past a row, over the boundary into row `into`. */
  private carry(row: number, source: number, target: number, into: number): void {
    const { truthCount, edgeTruth, edgeTrack } = this.graph;
    const { benefit, price, changeCost } = this.layers;
    const h = changeCost[into];
    const E = edgeTruth.length;
    const truths = row * this.objectCount;
    const tracks = truths + truthCount;
    for (let e = 0; e < E; e++) {
      const v =
        scratch[source + e] + benefit[row * E + e] - price[truths + edgeTruth[e]] - price[tracks + edgeTrack[e]];
      scratch[target + e] = v > h ? h : v < -h ? -h : v;
    }
  }

  /** Finds the leads of all edges in a row. */
  private openRow(row: number, ahead: number): void {
    const { lead } = this;
    const { truthCount, edgeTruth, edgeTrack } = this.graph;
    const { benefit, price } = this.layers;
    const E = edgeTruth.length;
    this.first = row * this.objectCount;
    const tracks = this.first + truthCount;
    for (let e = 0; e < E; e++) {
      const own = benefit[row * E + e] - price[this.first + edgeTruth[e]] - price[tracks + edgeTrack[e]];
      lead[e] = own + scratch[e] + scratch[ahead + e];
    }
  }

  /** Makes an object dearer in the row at hand. */
  private raise(x: number, by: number): void {
    const { start, list, lead } = this;
    this.layers.price[this.first + x] += by;
    for (let n = start[x]; n < start[x + 1]; n++) lead[list[n]] -= by;
  }

  private share(row: number): void {
    const { lead, first } = this;
    const { truthCount, edgeTrack } = this.graph;
    const { partner, price } = this.layers;
    for (let i = 0; i < truthCount; i++) {
      const m = partner[row * truthCount + i];
      if (m < 0) continue;
      const j = truthCount + edgeTrack[m];
      const truthNeeds = Math.ceil(Math.max(0, this.leadOfRivals(i, m) + price[first + i]));
      const trackNeeds = Math.ceil(Math.max(0, this.leadOfRivals(j, m) + price[first + j]));
      const spare = lead[m] + price[first + i] + price[first + j] - truthNeeds - trackNeeds;
      if (spare <= 0) continue;
      const third = Math.floor(spare / 3);
      this.raise(i, truthNeeds + third - price[first + i]);
      this.raise(j, trackNeeds + third - price[first + j]);
    }
  }

  /** The most by which an edge of an object is ahead, but for one. */
  private leadOfRivals(x: number, m: number): number {
    const { start, list, lead } = this;
    let most = Number.NEGATIVE_INFINITY;
    for (let n = start[x]; n < start[x + 1]; n++) if (list[n] !== m && lead[list[n]] > most) most = lead[list[n]];
    return most;
  }

  private adjust(row: number, ahead: number, forward: boolean): void {
    const { held, lead } = this;
    const { truthCount, edgeTruth, edgeTrack } = this.graph;
    const { partner } = this.layers;
    const E = edgeTruth.length;
    held.fill(-1);
    for (let i = 0; i < truthCount; i++) {
      const m = partner[row * truthCount + i];
      if (m >= 0) held[i] = held[truthCount + edgeTrack[m]] = m;
    }
    for (let i = 0; i < truthCount; i++) if (held[i] >= 0) this.lower(held[i], -lead[held[i]]);
    // a rival that would rather be assigned is too cheap; an assigned pair can pay more as long as it is ahead
    for (let e = 0; e < E; e++) {
      if (lead[e] <= 0 || held[edgeTruth[e]] === e) continue;
      this.holdOff(e, edgeTruth[e]);
      this.holdOff(e, truthCount + edgeTrack[e]);
    }
    // what no rival needs here is handed on: a layer ahead may need it
    const h = this.changeAhead(row, forward);
    for (let i = 0; i < truthCount; i++) {
      const m = held[i];
      if (m >= 0) this.lower(m, h - (lead[m] - scratch[ahead + m]));
    }
  }

  /** Makes one end of an edge dearer by what it is ahead, as far as who is assigned there can pay. */
  private holdOff(e: number, x: number): void {
    const { held, lead } = this;
    if (held[x] >= 0 && lead[e] > 0 && lead[held[x]] > 0) this.raise(x, Math.min(lead[e], lead[held[x]]));
  }

  /** Cost of a change over the boundary that a sweep crosses next; 0 at its end. */
  private changeAhead(row: number, forward: boolean): number {
    const { firstRow, layerCount, changeCost } = this.layers;
    const into = forward ? row + 1 : row;
    return into > firstRow && into < firstRow + layerCount ? changeCost[into] : 0;
  }

  /** Makes an assigned pair cheaper, at most by `need` and as far as no rival would rather be assigned then. */
  private lower(m: number, need: number): void {
    const { truthCount, edgeTruth, edgeTrack } = this.graph;
    if (need <= 0) return;
    const left = need - this.lowerEnd(edgeTruth[m], m, need);
    if (left > 0) this.lowerEnd(truthCount + edgeTrack[m], m, left);
  }

  private lowerEnd(x: number, m: number, need: number): number {
    const room = Math.min(need, this.layers.price[this.first + x], -this.leadOfRivals(x, m));
    if (room <= 0) return 0;
    this.raise(x, -room);
    return room;
  }
}
