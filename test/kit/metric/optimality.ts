/**
 * Proves that nothing better exists than what was reported. Simplex (a ring and an instance of HiGHS of its own)
 * proposes prices for truths and tracks at each frame; the bound they give is worked out here, from the frames alone:
 *
 *   cost >= what it costs to assign nothing - sum of all prices - sum over pairs of the best a pair alone can earn above them, changes paid
 *
 * That holds for any prices (weak duality), so simplex need not be trusted. A sliding window has a shadow that slides
 * along; where it is large, only every eighth push is proven.
 */

import assert from 'node:assert/strict';
import type { Params } from '../../../src/index.js';
import type { Inspected } from '../../../src/metric/inspector.js';
import { loadHighsSync } from '../../../src/metric/program/highs.js';
import { WarmProgram } from '../../../src/metric/program/warm-program.js';
import { Ring } from './ring.js';
import {
  type Content,
  DISTANCE_TOLERANCE,
  distanceIn,
  priceShare,
  weightsOf,
  windowFramesOf,
  worthOf,
} from './verifier.js';

/**
 * Larger programs, in pairs times frames, are solved at every eighth push of a window only; and much larger ones never.
 */
const CELLS_ALWAYS_MAX = 2000;
const CELLS_MAX = 30_000;
const PUSHES_BETWEEN = 8;
const SHADOWS_MAX = 64;
/** Longer windows are proven from scratch. */
const SHADOW_FRAMES_MAX = 500;
/**
 * What the kernel's unit and its surcharge on half-switches may cost, in units of c^p, for each pair and each
 * half-switch.
 */
const PAIR_SLACK = 2e-11;
const HALF_SLACK = 2e-9;

/** A pair that is closer than the cut-off somewhere. */
interface Edge {
  truth: End;
  track: End;
  /** frames in which it is */
  frameCount: number;
}

interface End {
  id: string;
  name: number;
  edgeCount: number;
}

/** The close pairs of one frame, and their benefit in units of c^p. */
interface Close {
  edges: Edge[];
  benefit: number[];
  /** what its objects cost unassigned, in units of c^p */
  unassigned: number;
}

class Shadow {
  readonly frames: Close[] = [];
  newest = Number.NaN;
  /** by truth, then by track */
  private readonly edges = new Map<string, Map<string, Edge>>();
  edgeCount = 0;
  private readonly truths = new Map<string, End>();
  private readonly tracks = new Map<string, End>();
  private nameCount = 0;

  constructor(private readonly params: Params) {}

  /** Null, and the shadow is of no use any more, once a frame alone makes a window of so many too large. */
  enter(content: Content, windowFrames: number): Close | null {
    const { reference, tracker } = content;
    const { distance, cutoff, missShare = 0.5 } = this.params;
    const [n, m] = [reference.ids.length, tracker.ids.length];
    const shares = {
      truths: reference.ids.map((_, i) => priceShare(reference, i, this.params)),
      tracks: tracker.ids.map((_, j) => priceShare(tracker, j, this.params)),
    };
    const sum = (list: number[]) => list.reduce((all, share) => all + share, 0);
    const unassigned = missShare * sum(shares.truths) + (1 - missShare) * sum(shares.tracks);
    const close: Close = { edges: [], benefit: [], unassigned };
    for (let i = 0; i < n; i++)
      for (let j = 0; j < m; j++) {
        const d = distanceIn(content, distance, i, j);
        const worth = worthOf(d, shares.truths[i], shares.tracks[j], this.params);
        if (!(d < cutoff && worth > 0)) continue;
        const edge = this.edge(reference.ids[i], tracker.ids[j]);
        if (edge.frameCount++ === 0) this.count(edge, 1);
        close.edges.push(edge);
        close.benefit.push(worth);
        if (close.edges.length * windowFrames > CELLS_MAX) return null;
      }
    this.frames.push(close);
    return close;
  }

  leave(): void {
    for (const edge of this.frames.shift()!.edges) {
      if (--edge.frameCount > 0) continue;
      this.count(edge, -1);
      const { truth, track } = edge;
      this.edges.get(truth.id)!.delete(track.id);
      if (track.edgeCount === 0) this.tracks.delete(track.id);
      if (truth.edgeCount > 0) continue;
      this.truths.delete(truth.id);
      this.edges.delete(truth.id);
    }
  }

  private count(edge: Edge, change: number): void {
    this.edgeCount += change;
    edge.truth.edgeCount += change;
    edge.track.edgeCount += change;
  }

  private edge(truth: string, track: string): Edge {
    let edges = this.edges.get(truth);
    if (!edges) {
      edges = new Map();
      this.edges.set(truth, edges);
    }
    let edge = edges.get(track);
    if (!edge) {
      edge = { truth: this.end(this.truths, truth), track: this.end(this.tracks, track), frameCount: 0 };
      edges.set(track, edge);
    }
    return edge;
  }

  private end(ends: Map<string, End>, id: string): End {
    const end = ends.get(id) ?? { id, name: this.nameCount++, edgeCount: 0 };
    ends.set(id, end);
    return end;
  }
}

export class OptimalityCheck {
  /** solves whose cost is the bound; the others are large, out of time, or have a fractional linear program */
  proven = 0;
  private program: WarmProgram | undefined;
  private readonly shadows = new Map<object, { shadow: Shadow; ring: Ring }>();

  /**
   * Throws when the cost is below the bound, or when it is called exact, is above it, and the linear program has an
   * assignment for its optimum.
   */
  check(inspected: Inspected, name: string): void {
    const { evaluation, frames, params, fractional, window, report } = inspected;
    if (frames.length === 0) return;
    const slides = window && report && !params.weights && windowFramesOf(window) <= SHADOW_FRAMES_MAX;
    const kept = slides ? this.follow(window, report.frame, inspected) : this.open(inspected);
    if (!kept) return;
    const { shadow, ring } = kept;
    const { integral } = ring.solve();
    const unit = params.cutoff ** params.exponent;
    const weight = weightsOf(params, frames.length);
    const unassigned = shadow.frames.reduce((sum, frame, k) => sum + weight.frame(k) * frame.unassigned, 0);
    const bound = unit * (unassigned - mostEarned(shadow, ring, params));
    const { cost, count, exact } = evaluation;
    const distanceSlack =
      params.exponent *
      params.cutoff ** (params.exponent - 1) *
      DISTANCE_TOLERANCE[params.distance] *
      Math.max(1, params.cutoff);
    const slack =
      unit * HALF_SLACK * (1 + 2 * count.switches) +
      count.proper * (distanceSlack + unit * PAIR_SLACK) +
      1e-9 * cost.total;
    assert.ok(cost.total >= bound - slack, `${name}: cost ${cost.total} below the bound ${bound}`);
    const best = cost.total <= bound + slack;
    if (best) this.proven++;
    if (fractional) assert.ok(best, `${name}: ${cost.total} is not the LP metric, which is ${bound}`);
    else if (exact && integral)
      assert.ok(best, `${name}: cost ${cost.total} is called exact, but ${bound} is possible`);
  }

  /** The shadow of a window, slid by the frames that came since. */
  private follow(window: object, frame: number, { frames, params }: Inspected) {
    const known = this.shadows.get(window);
    const first = frame - frames.length + 1;
    if (known) {
      const { shadow, ring } = known;
      if (shadow.newest === frame) return known;
      const since = frame - shadow.newest;
      if (since > 0 && since < frames.length && shadow.newest - shadow.frames.length < first) {
        const entered = frames.slice(-since).every((next) => {
          const close = shadow.enter(next, frames.length);
          if (close) slide(ring, close, params, 1);
          return close !== null;
        });
        while (shadow.frames.length > frames.length) shadow.leave();
        shadow.newest = frame;
        if (entered && size(shadow) <= CELLS_ALWAYS_MAX) return known;
        if (entered && size(shadow) <= CELLS_MAX) return frame % PUSHES_BETWEEN === 0 ? known : null;
      }
      this.shadows.delete(window);
    }
    const opened = this.open({ frames, params }, windowFramesOf(window));
    if (!opened) return null;
    opened.shadow.newest = frame;
    this.shadows.set(window, opened);
    if (this.shadows.size > SHADOWS_MAX) this.shadows.delete(this.shadows.keys().next().value!);
    return opened;
  }

  private open({ frames, params }: Pick<Inspected, 'frames' | 'params'>, windowFrames = frames.length) {
    const shadow = new Shadow(params);
    for (const frame of frames) if (!shadow.enter(frame, frames.length) || size(shadow) > CELLS_MAX) return null;
    this.program ??= new WarmProgram({ highs: loadHighsSync() });
    const ring = new Ring(this.program, Math.max(windowFrames, frames.length));
    const weight = weightsOf(params, frames.length);
    shadow.frames.forEach((close, k) => {
      const weighted = { ...close, benefit: close.benefit.map((benefit) => benefit * weight.frame(k)) };
      slide(ring, weighted, params, k === 0 ? 0 : weight.change(k));
    });
    return { shadow, ring };
  }
}

/** Cost of half a switch in units of c^p. */
const halfOf = ({ switchPenalty, cutoff, exponent }: Params) => (switchPenalty / cutoff) ** exponent / 2;

function slide(ring: Ring, { edges, benefit }: Close, params: Params, weight: number): void {
  const [truths, tracks] = [edges.map((edge) => edge.truth.name), edges.map((edge) => edge.track.name)];
  ring.slide(truths, tracks, benefit, weight * halfOf(params));
}

const size = ({ edgeCount, frames }: Shadow) => edgeCount * frames.length;

/**
 * No weights earn more than this, in units of c^p. Pairs whose ends have no other need no prices: they earn what there
 * is.
 */
function mostEarned({ frames }: Shadow, ring: Ring, params: Params): number {
  const weight = weightsOf(params, frames.length);
  const half = halfOf(params);
  const gains = new Map<Edge, Float64Array>();
  let most = 0;
  frames.forEach(({ edges, benefit }, k) => {
    edges.forEach((edge, pair) => {
      const gain = weight.frame(k) * benefit[pair];
      if (edge.truth.edgeCount === 1 && edge.track.edgeCount === 1) {
        most += gain;
        return;
      }
      let list = gains.get(edge);
      if (!list) {
        list = new Float64Array(frames.length);
        gains.set(edge, list);
      }
      list[k] = gain;
    });
  });
  const prices = new Map<End, Float64Array>();
  const pricesOf = (end: End, read: (frame: number) => number): Float64Array => {
    let list = prices.get(end);
    if (!list) {
      list = Float64Array.from(frames, (_, k) => Math.max(0, read(k)));
      prices.set(end, list);
      for (const price of list) most += price;
    }
    return list;
  };
  for (const [{ truth, track }, gain] of gains) {
    const u = pricesOf(truth, (k) => ring.truthPrice(truth.name, k));
    const v = pricesOf(track, (k) => ring.trackPrice(track.name, k));
    let [on, off] = [gain[0] - u[0] - v[0], 0];
    for (let k = 1; k < gain.length; k++) {
      const change = weight.change(k) * half;
      const before = on;
      on = Math.max(on, off - change) + gain[k] - u[k] - v[k];
      off = Math.max(off, before - change);
    }
    most += Math.max(on, off);
  }
  return most;
}
