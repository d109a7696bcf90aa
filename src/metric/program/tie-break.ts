/**
 * Where there is a choice between optima. The one that is chosen has its changes latest, then the higher rank
 * (`FrameRecord.rank`), as at the frontier, which finds it among the pairs that are left: so the same frames have the
 * same assignment, whatever was solved before and by whom.
 *
 * Prices tell which they are. What an edge loses against the best that it alone can earn above the prices, by being
 * assigned in a layer or by not being, is its slack there; the slacks of an optimum add up to the gap between bound and
 * optimum, so what has more is the same in all optima.
 */

import type { PriceProof, ProofGraph, ProofLayers } from './price-proof.js';

/** quanta: prices are not whole, of one edge and of those that hang together */
const NOISE = 1;
const SUM_NOISE = 16;

/** Which edges may be assigned in an optimum, layer by layer, and what prices say of those: see `Prospects`. */
export interface Ties {
  /** [layer * edges + edge]: 1 where an optimum may have an edge, of those that hang together with one with a choice */
  readonly may: Uint8Array;
  /** [layer * edges + edge], [layer * edges + edge], [layer * objects + object] */
  readonly held: Float64Array;
  readonly fresh: Float64Array;
  readonly spared: Float64Array;
  readonly slack: number;
}

// along one edge, work space: the best up to a layer, the edge being assigned there or not, and what it earns there
// above the prices
let onUpTo = new Float64Array(64);
let offUpTo = new Float64Array(64);
let reduced = new Float64Array(64);

export class TieBreak {
  private layers!: ProofLayers;
  private limit = 0;
  /** of the edge looked at last: it may be otherwise in a layer in which it earns something, or be assigned anew */
  private earns = false;
  private comes = false;

  constructor(
    private readonly graph: ProofGraph,
    /** has found the bound of the layers at hand */
    private readonly proof: PriceProof,
  ) {}

  /**
   * Whether there is another assignment that earns as much as one `gap` quanta below the bound of the prices: some edge
   * may be assigned where it is not, and it or one that would have to give way earns something there. When an edge is
   * held where nobody earns follows from the others.
   */
  hasChoice(layers: ProofLayers, gap: number): boolean {
    this.begin(layers, gap);
    const { truthCount, trackCount, edgeTruth, edgeTrack } = this.graph;
    const { best } = this.proof;
    const assigned = this.assignedCounts();
    const rivalled = new Uint8Array(truthCount + trackCount);
    for (let edge = 0; edge < edgeTruth.length; edge++) {
      const isWorthless = assigned[edge] > 0 && this.isWorthless(edge);
      const isEverywhere = assigned[edge] === layers.layerCount && !isWorthless;
      if (assigned[edge] === 0 ? best[edge] < -this.limit : isEverywhere) continue;
      this.lookAt(edge);
      if (!this.comes && !isWorthless) continue;
      if (this.earns) return true;
      rivalled[edgeTruth[edge]] = rivalled[truthCount + edgeTrack[edge]] = 1;
    }
    for (let edge = 0; edge < edgeTruth.length; edge++) {
      if (assigned[edge] === 0 || !(rivalled[edgeTruth[edge]] | rivalled[truthCount + edgeTrack[edge]])) continue;
      this.lookAt(edge);
      if (this.earns) return true;
    }
    return false;
  }

  /** What assignments up to `gap` quanta below the bound have to choose from. */
  ties(layers: ProofLayers, gap: number): Ties {
    this.begin(layers, gap);
    const { truthCount, trackCount, edgeTruth, edgeTrack } = this.graph;
    const E = edgeTruth.length;
    const X = truthCount + trackCount;
    const may = new Uint8Array(layers.layerCount * E);
    const [held, fresh] = [new Float64Array(may.length), new Float64Array(may.length)];
    const ties = { may, held, fresh, spared: new Float64Array(layers.layerCount * X), slack: gap + SUM_NOISE };
    const group = Int32Array.from({ length: X }, (_, x) => x);
    const groupOf = (x: number): number => {
      let at = x;
      while (group[at] !== at) at = group[at] = group[group[at]];
      return at;
    };
    const open = new Uint8Array(X);
    const possible: number[] = [];
    const choosy: number[] = [];
    for (let edge = 0; edge < E; edge++) {
      if (!this.lookAt(edge, ties)) {
        for (let at = edge; at < fresh.length; at += E) fresh[at] = 0;
        continue;
      }
      possible.push(edge);
      group[groupOf(edgeTruth[edge])] = groupOf(truthCount + edgeTrack[edge]);
      if (this.earns) choosy.push(edge);
    }
    for (const edge of choosy) open[groupOf(edgeTruth[edge])] = 1;
    for (let at = 0; at < may.length; at++) may[at] &= open[groupOf(edgeTruth[at % E])];
    this.spare(ties, possible);
    return ties;
  }

  /** Adds up what an object was not paid, and what its edges may earn more while it is fresh. */
  private spare({ fresh, spared }: Ties, edges: readonly number[]): void {
    const { truthCount, trackCount, edgeTruth, edgeTrack } = this.graph;
    const X = truthCount + trackCount;
    const { firstRow, layerCount, price } = this.layers;
    const paid = new Float64Array(X);
    for (let k = 0; k < layerCount; k++) {
      for (let x = 0; x < X; x++) spared[k * X + x] = paid[x] += price[(firstRow + k) * X + x];
      for (const edge of edges) {
        const more = fresh[k * edgeTruth.length + edge];
        spared[k * X + edgeTruth[edge]] += more;
        spared[k * X + truthCount + edgeTrack[edge]] += more;
      }
    }
  }

  private begin(layers: ProofLayers, gap: number): void {
    this.layers = layers;
    this.limit = gap + NOISE;
    const { layerCount } = layers;
    if (onUpTo.length >= layerCount) return;
    onUpTo = new Float64Array(2 * layerCount);
    offUpTo = new Float64Array(2 * layerCount);
    reduced = new Float64Array(2 * layerCount);
  }

  /** Of each edge the layers it is assigned in. */
  private assignedCounts(): Int32Array {
    const { firstRow, layerCount, partner } = this.layers;
    const n = this.graph.truthCount;
    const counts = new Int32Array(this.graph.edgeTruth.length);
    for (let at = firstRow * n; at < (firstRow + layerCount) * n; at++) if (partner[at] >= 0) counts[partner[at]]++;
    return counts;
  }

  /**
   * Whether an edge earns so little that it may as well be nowhere assigned; of others prices say that they would be
   * missed.
   */
  private isWorthless(edge: number): boolean {
    const { firstRow, layerCount, benefit } = this.layers;
    const E = this.graph.edgeTruth.length;
    const enough = 4 * this.limit;
    let earned = 0;
    for (let row = firstRow; row < firstRow + layerCount && earned <= enough; row++) earned += benefit[row * E + edge];
    return earned <= enough;
  }

  /** Finds the layers in which an edge may be otherwise, and tells what may be of it, if anybody asks. */
  private lookAt(edge: number, ties: Ties | null = null): boolean {
    const { firstRow, layerCount, partner, changeCost, benefit, price } = this.layers;
    const { truthCount: n, trackCount, edgeTruth, edgeTrack } = this.graph;
    const E = edgeTruth.length;
    const truth = edgeTruth[edge];
    const track = n + edgeTrack[edge];
    let on = 0;
    let off = 0;
    let always = 0;
    for (let k = 0; k < layerCount; k++) {
      const h = k === 0 ? 0 : changeCost[firstRow + k];
      const joined = Math.max(on, off - h);
      off = Math.max(off, on - h);
      const first = (firstRow + k) * (n + trackCount);
      reduced[k] = benefit[(firstRow + k) * E + edge] - price[first + truth] - price[first + track];
      on = joined + reduced[k];
      always += reduced[k];
      onUpTo[k] = on;
      offUpTo[k] = off;
    }
    const least = Math.max(on, off) - this.limit;
    this.earns = this.comes = false;
    let isSomewhere = false;
    let onAfter = 0;
    let offAfter = 0;
    for (let k = layerCount - 1; k >= 0; k--) {
      const isOn = partner[(firstRow + k) * n + truth] === edge;
      const mayBeOther = isOn ? offUpTo[k] + offAfter >= least : onUpTo[k] + onAfter >= least;
      if (mayBeOther) {
        this.comes ||= !isOn;
        this.earns ||= benefit[(firstRow + k) * E + edge] > 0;
      }
      if (isOn || mayBeOther) {
        isSomewhere = true;
        if (ties) ties.may[k * E + edge] = 1;
      }
      if (ties) {
        ties.held[k * E + edge] = onAfter - offAfter;
        ties.fresh[k * E + edge] = Math.max(0, always + onAfter - offAfter);
        always -= reduced[k];
      }
      if (k === 0) break;
      const h = changeCost[firstRow + k];
      const stays = onAfter + reduced[k];
      onAfter = Math.max(stays, offAfter - h);
      offAfter = Math.max(offAfter, stays - h);
    }
    return isSomewhere;
  }
}
