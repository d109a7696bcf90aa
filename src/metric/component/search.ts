/**
 * The exact search under the bound of the dual ascent: enumerates, layer by layer, the matchings reachable within a slack limit. The
 * rules are in ascent.ts.
 */

import type { Budget } from '../window/budget.js';
import type { Chains } from './chains.js';

/** Choices looked at in one layer, per state that may be kept. */
const STEPS_PER_STATE_MAX = 100;

type Outcome = 'found' | 'cut' | 'none' | 'late';

/** Enumerates, layer by layer, the matchings reachable within a slack limit. */
export class Search {
  /** smallest slack beyond the limit that was met: the next limit worth trying */
  nextSlack = 0;
  foundSlack = 0;
  /** what was dropped for want of room may be as good as what was found */
  tied = false;
  statesPeak = 0;
  private readonly n: number;
  private readonly m: number;
  // states of all layers, one after the other
  private edges: Int32Array;
  private slack: Float64Array;
  private previous: Int32Array;
  private layerStart: Int32Array;
  private count = 0;
  private found = -1;
  private table: Int32Array;
  // the state being extended, and the one being built
  private readonly trackEdge: Int32Array;
  private readonly taken: Uint8Array;
  private readonly next: Int32Array;
  private readonly noneSlack: Float64Array;
  private limit = 0;
  private statesMax = 0;
  private staying = false;
  private steps = 0;
  private cut = false;

  constructor(private readonly chains: Chains) {
    this.n = chains.graph.truthCount;
    this.m = chains.graph.trackCount;
    const room = chains.layers.layerCount * 2 + 16;
    this.edges = new Int32Array(room * this.n);
    this.slack = new Float64Array(room);
    this.previous = new Int32Array(room);
    this.layerStart = new Int32Array(chains.layers.layerCount + 2);
    this.table = new Int32Array(64);
    this.trackEdge = new Int32Array(this.m);
    this.taken = new Uint8Array(this.m);
    this.next = new Int32Array(this.n);
    this.noneSlack = new Float64Array(this.m);
  }

  /** found: optimal; cut: an assignment, but states were dropped for want of room; none: nothing within the limit; late: out of time. */
  run(limit: number, statesMax: number, budget: Budget | null): Outcome {
    const { layerCount } = this.chains.layers;
    this.limit = limit;
    this.statesMax = statesMax;
    this.nextSlack = Number.POSITIVE_INFINITY;
    this.cut = false;
    this.count = 0;
    this.found = -1;
    this.layerStart[0] = 0;
    this.steps = 0;
    this.clearTable();
    this.extend(-1, -1);
    if (this.count === 0 && this.cut) this.stay(-1, -1);
    this.layerStart[1] = this.count;
    for (let k = 0; k + 1 < layerCount; k++) {
      const from = this.layerStart[k];
      const to = this.layerStart[k + 1];
      if (from === to) return 'none';
      if (budget?.spend(this.steps + to - from)) return 'late';
      this.statesPeak = Math.max(this.statesPeak, to - from);
      this.clearTable();
      this.steps = 0;
      for (let s = from; s < to; s++) this.extend(k, s);
      if (this.count === to && this.cut) for (let s = from; s < to; s++) this.stay(k, s);
      this.trim(to);
      this.layerStart[k + 2] = this.count;
    }
    return this.pick(this.layerStart[layerCount - 1]);
  }

  /** A state can always stay as it is: when there was no room to look further, there is still an assignment. */
  private stay(k: number, s: number): void {
    const { limit } = this;
    this.limit = Number.POSITIVE_INFINITY;
    this.staying = true;
    this.extend(k, s);
    this.staying = false;
    this.limit = limit;
  }

  private pick(from: number): Outcome {
    for (let s = from; s < this.count; s++) {
      if (
        this.found < 0 ||
        this.slack[s] < this.slack[this.found] ||
        (this.slack[s] === this.slack[this.found] && this.compare(s, this.found) < 0)
      )
        this.found = s;
    }
    if (this.found < 0) return 'none';
    this.foundSlack = this.slack[this.found];
    this.tied = this.cut && this.foundSlack === this.nextSlack;
    // what was dropped had at least nextSlack; an assignment below that is still proven
    return this.cut && this.foundSlack > this.nextSlack ? 'cut' : 'found';
  }

  /** Writes the assignment found, layer by layer. */
  read(partner: Int32Array): void {
    let s = this.found;
    for (let k = this.chains.layers.layerCount - 1; k >= 0; k--) {
      for (let i = 0; i < this.n; i++) partner[k * this.n + i] = this.edges[s * this.n + i];
      s = this.previous[s];
    }
  }

  /** Adds all successors of state s of layer k within the limit; k = -1 stands before the first layer. */
  private extend(k: number, s: number): void {
    const { n, m, trackEdge, taken, noneSlack, chains } = this;
    const { edgeTrack } = chains.graph;
    trackEdge.fill(-1);
    taken.fill(0);
    if (s >= 0) {
      for (let i = 0; i < n; i++) {
        const e = this.edges[s * n + i];
        if (e >= 0) trackEdge[edgeTrack[e]] = e;
      }
    }
    const half = k >= 0 ? chains.half(k + 1) : 0;
    for (let j = 0; j < m; j++) {
      const none = chains.trackNoneAfter[(k + 1) * m + j];
      noneSlack[j] = this.trackBase(k, j) - none + (trackEdge[j] >= 0 ? half : 0);
    }
    this.place(k, s, 0, half, s >= 0 ? this.slack[s] : 0);
  }

  /** What the track's chain still promises from layer k, given its edge there. */
  private trackBase(k: number, j: number): number {
    const { chains, m } = this;
    if (k >= 0) {
      const e = this.trackEdge[j];
      return e >= 0 ? chains.trackAfter[k * chains.edgeCount + e] : chains.trackNoneAfter[k * m + j];
    }
    const { benefit, firstRow } = chains.layers;
    const row = firstRow * chains.edgeCount;
    let best = chains.trackNoneAfter[j];
    for (let x = chains.tracks.start[j]; x < chains.tracks.start[j + 1]; x++) {
      const e = chains.tracks.edges[x];
      best = Math.max(best, benefit[row + e] - chains.alpha[e] + chains.trackAfter[e]);
    }
    return best;
  }

  private truthBase(k: number, i: number, edge: number): number {
    const { chains, n } = this;
    if (k >= 0) return edge >= 0 ? chains.truthAfter[k * chains.edgeCount + edge] : chains.truthNoneAfter[k * n + i];
    let best = chains.truthNoneAfter[i];
    for (let x = chains.truths.start[i]; x < chains.truths.start[i + 1]; x++) {
      const e = chains.truths.edges[x];
      best = Math.max(best, chains.alpha[e] + chains.truthAfter[e]);
    }
    return best;
  }

  /** Chooses the edge of truth i in the new layer, then of those after it. */
  private place(k: number, s: number, i: number, half: number, slack: number): void {
    if (i === this.n) {
      this.complete(k, s, slack);
      return;
    }
    const { chains, n, m, trackEdge, taken, next } = this;
    if (!this.staying) this.steps += 1 + chains.truths.start[i + 1] - chains.truths.start[i];
    if (!this.staying && this.steps > this.statesMax * STEPS_PER_STATE_MAX) {
      this.cut = true;
      this.nextSlack = Math.min(this.nextSlack, slack);
      return;
    }
    const E = chains.edgeCount;
    const old = s >= 0 ? this.edges[s * n + i] : -1;
    const base = this.truthBase(k, i, old);
    const { alpha } = chains;
    const { benefit, firstRow } = chains.layers;
    const row = (firstRow + k + 1) * E;
    const here = (k + 1) * E;
    const noneSlack = slack + base - chains.truthNoneAfter[(k + 1) * n + i] + (old >= 0 ? half : 0);
    if (noneSlack > this.limit) this.nextSlack = Math.min(this.nextSlack, noneSlack);
    else if (!this.staying || old < 0) {
      next[i] = -1;
      this.place(k, s, i + 1, half, noneSlack);
    }
    for (let x = chains.truths.start[i]; x < chains.truths.start[i + 1]; x++) {
      const e = chains.truths.edges[x];
      const j = chains.graph.edgeTrack[e];
      if (this.staying && e !== old) continue;
      // a change that earns nothing now can be put off
      if (taken[j] || (s >= 0 && e !== old && benefit[row + e] === 0 && chains.layers.uniform)) continue;
      let total = slack + base - alpha[here + e] - chains.truthAfter[here + e];
      if (s >= 0 && old !== e) total += old >= 0 ? 2 * half : half;
      if (total > this.limit) {
        if (total < this.nextSlack) this.nextSlack = total;
        continue;
      }
      const was = trackEdge[j];
      // noneSlack[j] = base of the track - value without an edge + its release
      const trackBase = this.noneSlack[j] + chains.trackNoneAfter[(k + 1) * m + j] - (was >= 0 ? half : 0);
      total += trackBase - (benefit[row + e] - alpha[here + e]) - chains.trackAfter[here + e];
      if (s >= 0 && was !== e) total += was >= 0 ? 2 * half : half;
      if (total > this.limit) {
        if (total < this.nextSlack) this.nextSlack = total;
        continue;
      }
      taken[j] = 1;
      next[i] = e;
      this.place(k, s, i + 1, half, total);
      taken[j] = 0;
    }
  }

  private complete(k: number, s: number, slack: number): void {
    const { m, taken, noneSlack } = this;
    let total = slack;
    for (let j = 0; j < m; j++) if (taken[j] === 0) total += noneSlack[j];
    if (total > this.limit) {
      if (total < this.nextSlack) this.nextSlack = total;
      return;
    }
    if (s >= 0 && this.chains.layers.uniform && this.releasesIdly(s)) return;
    this.keep(k + 1, s, total);
  }

  /** Whether the new state gives up a pair although nobody needs its track: that, too, can be put off. */
  private releasesIdly(s: number): boolean {
    const { edgeTrack } = this.chains.graph;
    for (let i = 0; i < this.n; i++) {
      const old = this.edges[s * this.n + i];
      if (old >= 0 && this.next[i] < 0 && this.taken[edgeTrack[old]] === 0) return true;
    }
    return false;
  }

  /** Stores the new state, or improves the same state reached before. */
  private keep(layer: number, s: number, slack: number): void {
    const { n, next } = this;
    const first = this.layerStart[layer];
    if ((this.count - first) * 2 >= this.table.length) this.rehash(first);
    const mask = this.table.length - 1;
    let slot = this.hash(next, 0) & mask;
    for (; this.table[slot] !== 0; slot = (slot + 1) & mask) {
      const t = this.table[slot] - 1;
      if (!this.same(t)) continue;
      if (slack < this.slack[t] || (slack === this.slack[t] && this.prefer(s, this.previous[t], t))) {
        this.slack[t] = slack;
        this.previous[t] = s;
      }
      return;
    }
    this.reserve();
    const t = this.count++;
    this.table[slot] = t + 1;
    for (let i = 0; i < n; i++) this.edges[t * n + i] = next[i];
    this.slack[t] = slack;
    this.previous[t] = s;
  }

  /** Among equal ways into state t: the one that changes most now (later is better), then the first in order. */
  private prefer(s: number, other: number, t: number): boolean {
    const a = this.changes(s, t);
    const b = this.changes(other, t);
    return a > b || (a === b && this.compare(s, other) < 0);
  }

  private changes(s: number, t: number): number {
    let count = 0;
    for (let i = 0; i < this.n; i++) {
      const a = this.edges[s * this.n + i];
      const b = this.edges[t * this.n + i];
      if (a !== b) count += (a >= 0 ? 1 : 0) + (b >= 0 ? 1 : 0);
    }
    return count;
  }

  private compare(s: number, t: number): number {
    for (let i = 0; i < this.n; i++) {
      const d = this.edges[s * this.n + i] - this.edges[t * this.n + i];
      if (d !== 0) return d;
    }
    return 0;
  }

  private same(t: number): boolean {
    for (let i = 0; i < this.n; i++) if (this.edges[t * this.n + i] !== this.next[i]) return false;
    return true;
  }

  private hash(edges: Int32Array, from: number): number {
    let h = 0x811c9dc5;
    for (let i = 0; i < this.n; i++) h = Math.imul(h ^ (edges[from + i] + 1), 0x01000193);
    return (h ^ (h >>> 15)) >>> 0;
  }

  /** Keeps the best states of the layer that begins at `first` when there are too many. */
  private trim(first: number): void {
    const count = this.count - first;
    if (count <= this.statesMax) return;
    const order = Array.from({ length: count }, (_, x) => first + x).sort(
      (a, b) => this.slack[a] - this.slack[b] || this.compare(a, b),
    );
    this.cut = true;
    this.nextSlack = Math.min(this.nextSlack, this.slack[order[this.statesMax]]);
    const kept = order.slice(0, this.statesMax);
    const { n } = this;
    const edges = new Int32Array(kept.length * n);
    kept.forEach((s, x) => {
      edges.set(this.edges.subarray(s * n, (s + 1) * n), x * n);
    });
    const slack = kept.map((s) => this.slack[s]);
    const previous = kept.map((s) => this.previous[s]);
    this.edges.set(edges, first * n);
    this.slack.set(slack, first);
    this.previous.set(previous, first);
    this.count = first + kept.length;
  }

  private clearTable(): void {
    this.table.fill(0);
  }

  private rehash(first: number): void {
    this.table = new Int32Array(this.table.length * 2);
    const mask = this.table.length - 1;
    for (let t = first; t < this.count; t++) {
      let slot = this.hash(this.edges, t * this.n) & mask;
      while (this.table[slot] !== 0) slot = (slot + 1) & mask;
      this.table[slot] = t + 1;
    }
  }

  private reserve(): void {
    if (this.count < this.slack.length) return;
    const size = this.slack.length * 2;
    const edges = new Int32Array(size * this.n);
    edges.set(this.edges);
    this.edges = edges;
    const slack = new Float64Array(size);
    slack.set(this.slack);
    this.slack = slack;
    const previous = new Int32Array(size);
    previous.set(this.previous);
    this.previous = previous;
  }
}
