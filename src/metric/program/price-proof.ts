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
import type { Trajectory } from '../window/trajectory.js';

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
  /** [row]: where the prices of this layer are kept is this, modulo their length */
  readonly frameNumber: Float64Array;
  /** [row]: cost of one edge changed on the way into it; that of the first is not used */
  readonly changeCost: Float64Array;
}

/** Prices of trajectories in quanta, by frame number modulo the length of the lists. */
export class PriceBook {
  private readonly lists: (Float64Array | undefined)[] = [];

  /** length: the most frames that the window holds now */
  constructor(private readonly length: () => number) {}

  of(trajectories: readonly Trajectory[]): Float64Array[] {
    return trajectories.map((trajectory) => this.list(trajectory));
  }

  private list({ slot }: Trajectory): Float64Array {
    const length = this.length();
    let list = this.lists[slot];
    if (list === undefined || list.length !== length) {
      list = new Float64Array(length);
      this.lists[slot] = list;
    }
    return list;
  }

  forget({ slot }: Trajectory): void {
    this.lists[slot] = undefined;
  }
}

/** So often each assigned pair of a new layer looks at what its rivals leave it. */
const ROUNDS = 3;
/** Looks that are made even when the budget is spent. */
const SMALL_WORK = 1024;
/** Sweeps over all layers before simplex is asked. */
const SWEEPS_MAX = 4;

// one set of work arrays serves all components
let scratch = new Float64Array(0);

export class PriceProof {
  /** edges of truth x, or of track x - truthCount: `list[start[x]]` to `list[start[x + 1] - 1]` */
  private readonly start: Int32Array;
  private readonly list: Int32Array;
  /** the layers at hand, and of each where its prices are */
  private layers!: ProofLayers;
  slots = new Int32Array(64);
  /** of each object: its assigned edge in the row at hand, or -1 */
  private readonly held: Int32Array;
  /** of each edge, by the last bound: the best it can earn above the prices when it is assigned somewhere */
  readonly best: Float64Array;
  /** what the assignment that was proven earns, and may be below the optimum */
  earned = 0;
  gap = 0;

  constructor(
    private readonly graph: ProofGraph,
    /** of each truth, then of each track, by frame number modulo the length */
    readonly prices: readonly Float64Array[],
  ) {
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
    this.best = new Float64Array(edgeTruth.length);
  }

  /**
   * Whether the assignment of the layers is an optimum; those from row `firstNew` on have no prices yet. Each look
   * costs `work`.
   */
  proves(layers: ProofLayers, firstNew: number, budget: Budget, work: number): boolean {
    this.open(layers);
    const { firstRow, layerCount } = layers;
    for (let row = firstNew; row < firstRow + layerCount; row++) this.priceLayer(row);
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
    this.open(layers);
    return this.bound();
  }

  /**
   * Moves prices without changing their bound, away from where they only just prove it: of what an assigned pair has to
   * spare, a third holds off the rivals at either end, and a third stays its own. What is still a tie then is one.
   */
  center(layers: ProofLayers): void {
    this.open(layers);
    this.sweep(true, true);
    this.bound();
  }

  private open(layers: ProofLayers): void {
    this.layers = layers;
    const { firstRow, layerCount, frameNumber } = layers;
    if (this.slots.length < layerCount) this.slots = new Int32Array(2 * layerCount);
    const { length } = this.prices[0];
    for (let k = 0; k < layerCount; k++) this.slots[k] = frameNumber[firstRow + k] % length;
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
    const { graph, prices, slots, best } = this;
    const { firstRow, layerCount, benefit, changeCost } = this.layers;
    const E = graph.edgeTruth.length;
    let bound = 0;
    for (let x = 0; x < prices.length; x++) {
      const price = prices[x];
      for (let k = 0; k < layerCount; k++) bound += price[slots[k]];
    }
    for (let e = 0; e < E; e++) {
      const truth = prices[graph.edgeTruth[e]];
      const track = prices[graph.truthCount + graph.edgeTrack[e]];
      let at = firstRow * E + e;
      // assigned now, or not any more; not at all is worth 0
      let on = benefit[at] - truth[slots[0]] - track[slots[0]];
      let off = Number.NEGATIVE_INFINITY;
      for (let k = 1; k < layerCount; k++) {
        const slot = slots[k];
        const h = changeCost[firstRow + k];
        at += E;
        const join = off > 0 ? off - h : -h;
        if (on - h > off) off = on - h;
        if (join > on) on = join;
        on += benefit[at] - truth[slot] - track[slot];
      }
      best[e] = on > off ? on : off;
      if (best[e] > 0) bound += best[e];
    }
    return bound;
  }

  /** Prices a layer so that assigned pairs earn just nothing, and their rivals as little as possible. */
  private priceLayer(row: number): void {
    const { prices, start, list } = this;
    const { truthCount, edgeTruth, edgeTrack } = this.graph;
    const { benefit, partner } = this.layers;
    const at = row * edgeTruth.length;
    const slot = this.slot(row);
    for (let x = 0; x < prices.length; x++) prices[x][slot] = 0;
    for (let i = 0; i < truthCount; i++) {
      const m = partner[row * truthCount + i];
      if (m < 0) continue;
      prices[i][slot] = Math.floor(benefit[at + m] / 2);
      prices[truthCount + edgeTrack[m]][slot] = benefit[at + m] - prices[i][slot];
    }
    for (let round = 0; round < ROUNDS; round++) {
      for (let i = 0; i < truthCount; i++) {
        const m = partner[row * truthCount + i];
        if (m < 0 || benefit[at + m] === 0) continue;
        const j = truthCount + edgeTrack[m];
        let truthNeeds = 0;
        for (let n = start[i]; n < start[i + 1]; n++) {
          const e = list[n];
          if (e !== m) truthNeeds = Math.max(truthNeeds, benefit[at + e] - prices[truthCount + edgeTrack[e]][slot]);
        }
        let trackNeeds = 0;
        for (let n = start[j]; n < start[j + 1]; n++) {
          const e = list[n];
          if (e !== m) trackNeeds = Math.max(trackNeeds, benefit[at + e] - prices[edgeTruth[e]][slot]);
        }
        const earns = benefit[at + m];
        const spare = earns - truthNeeds - trackNeeds;
        prices[i][slot] = Math.max(0, Math.min(earns, truthNeeds + Math.floor(spare / 2)));
        prices[j][slot] = earns - prices[i][slot];
      }
    }
  }

  private slot(row: number): number {
    return this.slots[row - this.layers.firstRow];
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
      if (centers) this.share(row, place(row));
      else this.adjust(row, place(row), forward);
      if (row === last) return;
      this.carry(row, 0, 0, forward ? row + 1 : row);
    }
  }

  /** Carries what comes from the layers on one side past a row, over the boundary into row `into`. */
  private carry(row: number, source: number, target: number, into: number): void {
    const { prices } = this;
    const h = this.layers.changeCost[into];
    const { truthCount, edgeTruth, edgeTrack } = this.graph;
    const { benefit } = this.layers;
    const E = edgeTruth.length;
    const slot = this.slot(row);
    for (let e = 0; e < E; e++) {
      const v =
        scratch[source + e] +
        benefit[row * E + e] -
        prices[edgeTruth[e]][slot] -
        prices[truthCount + edgeTrack[e]][slot];
      scratch[target + e] = v > h ? h : v < -h ? -h : v;
    }
  }

  private share(row: number, ahead: number): void {
    const { prices } = this;
    const { truthCount, edgeTrack } = this.graph;
    const { partner } = this.layers;
    const slot = this.slot(row);
    for (let i = 0; i < truthCount; i++) {
      const m = partner[row * truthCount + i];
      if (m < 0) continue;
      const j = truthCount + edgeTrack[m];
      const truthNeeds = this.needOf(i, row, ahead, slot, m);
      const trackNeeds = this.needOf(j, row, ahead, slot, m);
      const spare = this.lead(row, ahead, slot, m) + prices[i][slot] + prices[j][slot] - truthNeeds - trackNeeds;
      if (spare <= 0) continue;
      const third = Math.floor(spare / 3);
      prices[i][slot] = truthNeeds + third;
      prices[j][slot] = trackNeeds + third;
    }
  }

  /** The least price of an object at which none of its edges but one would rather be assigned in a row. */
  private needOf(x: number, row: number, ahead: number, slot: number, m: number): number {
    const { start, list } = this;
    let need = 0;
    for (let n = start[x]; n < start[x + 1]; n++) {
      const e = list[n];
      if (e !== m) need = Math.max(need, this.lead(row, ahead, slot, e) + this.prices[x][slot]);
    }
    return Math.ceil(need);
  }

  private adjust(row: number, ahead: number, forward: boolean): void {
    const { held, prices } = this;
    const { truthCount, edgeTruth, edgeTrack } = this.graph;
    const { partner } = this.layers;
    const E = edgeTruth.length;
    const slot = this.slot(row);
    held.fill(-1);
    for (let i = 0; i < truthCount; i++) {
      const m = partner[row * truthCount + i];
      if (m >= 0) held[i] = held[truthCount + edgeTrack[m]] = m;
    }
    for (let i = 0; i < truthCount; i++)
      if (held[i] >= 0) this.lower(row, ahead, slot, held[i], -this.lead(row, ahead, slot, held[i]));
    // a rival that would rather be assigned is too cheap; an assigned pair can pay more as long as it is ahead
    for (let e = 0; e < E; e++) {
      const i = edgeTruth[e];
      if (held[i] === e) continue;
      let need = this.lead(row, ahead, slot, e);
      if (need <= 0) continue;
      const j = truthCount + edgeTrack[e];
      for (const x of [i, j]) {
        if (held[x] < 0 || need <= 0) continue;
        const room = Math.min(need, this.lead(row, ahead, slot, held[x]));
        if (room <= 0) continue;
        prices[x][slot] += room;
        need -= room;
      }
    }
    // what no rival needs here is handed on: a layer ahead may need it
    const h = this.changeAhead(row, forward);
    for (let i = 0; i < truthCount; i++) {
      const m = held[i];
      if (m >= 0) this.lower(row, ahead, slot, m, h - (this.lead(row, ahead, slot, m) - scratch[ahead + m]));
    }
  }

  /** Cost of a change over the boundary that a sweep crosses next; 0 at its end. */
  private changeAhead(row: number, forward: boolean): number {
    const { firstRow, layerCount, changeCost } = this.layers;
    const into = forward ? row + 1 : row;
    return into > firstRow && into < firstRow + layerCount ? changeCost[into] : 0;
  }

  /** Makes an assigned pair cheaper, at most by `need` and as far as no rival would rather be assigned then. */
  private lower(row: number, ahead: number, slot: number, m: number, need: number): void {
    const { prices, start } = this;
    if (need <= 0) return;
    let left = need;
    for (let end = 0; end < 2; end++) {
      const x = end === 0 ? this.graph.edgeTruth[m] : this.graph.truthCount + this.graph.edgeTrack[m];
      let room = Math.min(left, prices[x][slot]);
      for (let n = start[x]; n < start[x + 1] && room > 0; n++) {
        const e = this.list[n];
        if (e !== m) room = Math.min(room, -this.lead(row, ahead, slot, e));
      }
      if (room <= 0) continue;
      prices[x][slot] -= room;
      left -= room;
    }
  }

  private lead(row: number, ahead: number, slot: number, e: number): number {
    const { truthCount, edgeTruth, edgeTrack } = this.graph;
    return (
      this.layers.benefit[row * edgeTruth.length + e] -
      this.prices[edgeTruth[e]][slot] -
      this.prices[truthCount + edgeTrack[e]][slot] +
      scratch[e] +
      scratch[ahead + e]
    );
  }
}
