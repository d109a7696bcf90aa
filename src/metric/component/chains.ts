/**
 * The two families of chains of the dual ascent, one for each truth and one for each track, and the sweeps that balance them. The
 * words are in ascent.ts.
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

/** The two families of chains under the current alpha. */
export class Chains {
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
