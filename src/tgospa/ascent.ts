/**
 * Large components: dual ascent for a bound, and an exact search under it (DESIGN 3.5).
 *
 *   b_e        benefit of edge e at a layer          alpha_e  the part given to the truth's chain; the track's gets b - alpha
 *   h          cost of one edge changed               each chain pays h/2
 *   F, B       best value of a chain before / after a layer, given its edge there (or none)
 *   bound      sum of all chains' optima >= optimum of the linear program >= exact optimum
 *
 * A sweep visits the layers in order and sets each alpha so that its edge has the same max-marginal in both chains; no
 * step can raise the bound. The search then walks forward over matchings. `slack` is what a partial assignment has
 * already lost against the bound: the chains tell it exactly, so all assignments within a slack limit are enumerated
 * without looking at any other. The first one found at the smallest limit is optimal, whatever alpha is. Each solve begins with
 * alpha = b/2: what the search finds in the room it has then depends on the frames alone. All numbers are whole quanta.
 */

export interface AscentGraph {
  readonly truthCount: number;
  readonly trackCount: number;
  readonly edgeTruth: Int32Array;
  readonly edgeTrack: Int32Array;
}

export interface AscentLayers {
  readonly layerCount: number;
  /** row of the first layer in `benefit` and `changeCost` */
  readonly firstRow: number;
  /** [row * edgeCount + edge] */
  readonly benefit: Float64Array;
  /** [row]: cost of one edge changed on the way into this row; even */
  readonly changeCost: Float64Array;
  /** all changes cost the same: then it never hurts to put one off */
  readonly uniform: boolean;
}

export interface AscentLimits {
  /** states kept per layer by the search */
  statesMax: number;
  sweepsMax: number;
  /** absolute time, as performance.now() */
  deadlineMs: number;
}

export interface AscentResult {
  /** optimal, proven */
  exact: boolean;
  /** what the assignment found may be below the optimum, at most; 0 when exact */
  gap: number;
  sweeps: number;
  statesPeak: number;
  /** out of time before the work was done */
  late: boolean;
}

/** Adjacency in compressed rows: edges of node n are edges[start[n]] to edges[start[n + 1] - 1]. */
function adjacency(node: Int32Array, count: number): { start: Int32Array; edges: Int32Array } {
  const start = new Int32Array(count + 1);
  for (const n of node) start[n + 1]++;
  for (let n = 0; n < count; n++) start[n + 1] += start[n];
  const next = start.slice(0, count);
  const edges = new Int32Array(node.length);
  for (let e = 0; e < node.length; e++) edges[next[node[e]]++] = e;
  return { start, edges };
}

// One set of work arrays serves all components.
let pool = new Float64Array(0);

function take(sizes: number[]): Float64Array[] {
  const total = sizes.reduce((a, b) => a + b, 0);
  if (pool.length < total) pool = new Float64Array(Math.ceil(total * 1.5));
  let offset = 0;
  return sizes.map((size) => {
    offset += size;
    return pool.subarray(offset - size, offset);
  });
}

/** Solves one component; the assignment goes to partner[layer * truthCount + truth], an edge or -1. */
export function ascend(
  graph: AscentGraph,
  layers: AscentLayers,
  limits: AscentLimits,
  partner: Int32Array,
): AscentResult {
  const chains = new Chains(graph, layers);
  chains.backward(false);
  const search = new Search(chains);
  let limit = FIRST_LIMIT;
  let sweeps = 0;
  let cuts = 0;
  for (;;) {
    const late = performance.now() > limits.deadlineMs;
    const outcome = search.run(
      limit,
      late ? LATE_STATES_MAX : limits.statesMax,
      late ? Number.POSITIVE_INFINITY : limits.deadlineMs,
    );
    if (outcome === 'late') continue;
    if (outcome === 'cut') cuts++;
    const done = late || sweeps >= limits.sweepsMax || cuts >= CUTS_MAX;
    if (outcome === 'found' || (outcome === 'cut' && done)) {
      search.read(partner);
      const exact = outcome === 'found';
      return { exact, gap: exact ? 0 : search.foundSlack, sweeps, statesPeak: search.statesPeak, late: late && !exact };
    }
    // too narrow: widen; too many states: only a better bound helps
    if (outcome === 'none') limit = Math.max(limit * 4, search.nextSlack);
    if (done) continue;
    sweeps++;
    chains.forward();
    chains.backward(true);
  }
}

/** Slack the search begins with, in quanta: about 0.4 % of c^p. */
const FIRST_LIMIT = 2 ** 28;
/** So often may the search run out of room before it is left to simplex. */
const CUTS_MAX = 2;
/** Choices tried in one layer, per state that may be kept. */
const STEPS_PER_STATE_MAX = 100;
/** Width of the search once the time is up. */
const LATE_STATES_MAX = 4;

/** The two families of chains under the current alpha. */
class Chains {
  readonly edgeCount: number;
  readonly truths: { start: Int32Array; edges: Int32Array };
  readonly tracks: { start: Int32Array; edges: Int32Array };
  /** best value before / after a layer, by edge of the truth's and of the track's chain, and without an edge */
  readonly truthBefore: Float64Array;
  readonly truthAfter: Float64Array;
  readonly trackBefore: Float64Array;
  readonly trackAfter: Float64Array;
  readonly truthNoneBefore: Float64Array;
  readonly truthNoneAfter: Float64Array;
  readonly trackNoneBefore: Float64Array;
  readonly trackNoneAfter: Float64Array;
  /** [layer * edgeCount + edge] */
  readonly alpha: Float64Array;

  constructor(
    readonly graph: AscentGraph,
    readonly layers: AscentLayers,
  ) {
    const edges = graph.edgeTruth.length;
    this.edgeCount = edges;
    this.truths = adjacency(graph.edgeTruth, graph.truthCount);
    this.tracks = adjacency(graph.edgeTrack, graph.trackCount);
    const k = layers.layerCount;
    const { truthCount: n, trackCount: m } = graph;
    [
      this.truthBefore,
      this.truthAfter,
      this.trackBefore,
      this.trackAfter,
      this.truthNoneBefore,
      this.truthNoneAfter,
      this.trackNoneBefore,
      this.trackNoneAfter,
      this.alpha,
    ] = take([k * edges, k * edges, k * edges, k * edges, k * n, k * n, k * m, k * m, k * edges]);
    const { benefit, firstRow } = layers;
    for (let at = 0; at < k * edges; at++) this.alpha[at] = Math.floor(benefit[firstRow * edges + at] / 2);
  }

  /** Half the change cost on the way into a layer: each chain's share. */
  half(layer: number): number {
    return this.layers.changeCost[this.layers.firstRow + layer] / 2;
  }

  /** Computes the values after each layer; with `update`, also sets alpha on the way. */
  backward(update: boolean): void {
    const { layerCount } = this.layers;
    for (let k = layerCount - 1; k >= 0; k--) {
      if (k === layerCount - 1)
        this.clear(this.truthAfter, this.trackAfter, this.truthNoneAfter, this.trackNoneAfter, k);
      else
        this.pass(
          this.truthAfter,
          this.trackAfter,
          this.truthNoneAfter,
          this.trackNoneAfter,
          k + 1,
          k,
          this.half(k + 1),
        );
      if (update) this.balance(k);
    }
  }

  /** Computes the values before each layer, setting alpha on the way. */
  forward(): void {
    const { layerCount } = this.layers;
    for (let k = 0; k < layerCount; k++) {
      if (k === 0) this.clear(this.truthBefore, this.trackBefore, this.truthNoneBefore, this.trackNoneBefore, k);
      else
        this.pass(
          this.truthBefore,
          this.trackBefore,
          this.truthNoneBefore,
          this.trackNoneBefore,
          k - 1,
          k,
          this.half(k),
        );
      this.balance(k);
    }
  }

  private clear(
    truth: Float64Array,
    track: Float64Array,
    truthNone: Float64Array,
    trackNone: Float64Array,
    k: number,
  ): void {
    truth.fill(0, k * this.edgeCount, (k + 1) * this.edgeCount);
    track.fill(0, k * this.edgeCount, (k + 1) * this.edgeCount);
    truthNone.fill(0, k * this.graph.truthCount, (k + 1) * this.graph.truthCount);
    trackNone.fill(0, k * this.graph.trackCount, (k + 1) * this.graph.trackCount);
  }

  /** Carries all chains' values from one layer to its neighbour. */
  private pass(
    truth: Float64Array,
    track: Float64Array,
    truthNone: Float64Array,
    trackNone: Float64Array,
    from: number,
    to: number,
    half: number,
  ): void {
    const { alpha } = this;
    const { benefit, firstRow } = this.layers;
    const E = this.edgeCount;
    const row = (firstRow + from) * E;
    const source = from * E;
    const target = to * E;
    const { truthCount, trackCount } = this.graph;
    for (let i = 0; i < truthCount; i++) {
      const start = this.truths.start[i];
      const end = this.truths.start[i + 1];
      const none = truthNone[from * truthCount + i];
      let best = Number.NEGATIVE_INFINITY;
      for (let n = start; n < end; n++) {
        const e = this.truths.edges[n];
        const v = truth[source + e] + alpha[source + e];
        truth[target + e] = v;
        if (v > best) best = v;
      }
      const leave = Math.max(none - half, best - 2 * half);
      for (let n = start; n < end; n++) {
        const e = target + this.truths.edges[n];
        if (truth[e] < leave) truth[e] = leave;
      }
      truthNone[to * truthCount + i] = Math.max(none, best - half);
    }
    for (let j = 0; j < trackCount; j++) {
      const start = this.tracks.start[j];
      const end = this.tracks.start[j + 1];
      const none = trackNone[from * trackCount + j];
      let best = Number.NEGATIVE_INFINITY;
      for (let n = start; n < end; n++) {
        const e = this.tracks.edges[n];
        const v = track[source + e] + benefit[row + e] - alpha[source + e];
        track[target + e] = v;
        if (v > best) best = v;
      }
      const leave = Math.max(none - half, best - 2 * half);
      for (let n = start; n < end; n++) {
        const e = target + this.tracks.edges[n];
        if (track[e] < leave) track[e] = leave;
      }
      trackNone[to * trackCount + j] = Math.max(none, best - half);
    }
  }

  /** Gives each edge of a layer the same advantage over its rivals in both chains. */
  private balance(k: number): void {
    const { alpha } = this;
    const { benefit, firstRow } = this.layers;
    const { edgeTruth, edgeTrack, truthCount, trackCount } = this.graph;
    const E = this.edgeCount;
    const row = (firstRow + k) * E;
    const here = k * E;
    const { truthBefore, truthAfter, trackBefore, trackAfter } = this;
    for (let e = 0; e < E; e++) {
      const i = edgeTruth[e];
      const j = edgeTrack[e];
      let rival = this.truthNoneBefore[k * truthCount + i] + this.truthNoneAfter[k * truthCount + i];
      for (let n = this.truths.start[i]; n < this.truths.start[i + 1]; n++) {
        const f = this.truths.edges[n];
        if (f === e) continue;
        const v = truthBefore[here + f] + alpha[here + f] + truthAfter[here + f];
        if (v > rival) rival = v;
      }
      const truthLead = truthBefore[here + e] + alpha[here + e] + truthAfter[here + e] - rival;
      rival = this.trackNoneBefore[k * trackCount + j] + this.trackNoneAfter[k * trackCount + j];
      for (let n = this.tracks.start[j]; n < this.tracks.start[j + 1]; n++) {
        const f = this.tracks.edges[n];
        if (f === e) continue;
        const v = trackBefore[here + f] + benefit[row + f] - alpha[here + f] + trackAfter[here + f];
        if (v > rival) rival = v;
      }
      const trackLead = trackBefore[here + e] + benefit[row + e] - alpha[here + e] + trackAfter[here + e] - rival;
      alpha[here + e] += Math.floor((truthLead + trackLead) / 2) - truthLead;
    }
  }
}

type Outcome = 'found' | 'cut' | 'none' | 'late';

/** Enumerates, layer by layer, the matchings reachable within a slack limit. */
class Search {
  /** smallest slack beyond the limit that was met: the next limit worth trying */
  nextSlack = 0;
  foundSlack = 0;
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
  run(limit: number, statesMax: number, deadlineMs: number): Outcome {
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
      if (performance.now() > deadlineMs) return 'late';
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
    if (!this.staying && ++this.steps > this.statesMax * STEPS_PER_STATE_MAX) {
      this.cut = true;
      this.nextSlack = Math.min(this.nextSlack, slack);
      return;
    }
    const { chains, n, m, trackEdge, taken, next } = this;
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
