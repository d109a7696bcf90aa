/**
 * Proves that nothing better exists than what was reported. Simplex (a ring and an instance of HiGHS of its own) proposes prices for truths and
 * tracks at each frame; the bound they give is worked out here, from the frames alone:
 *
 *   cost >= what it costs to assign nothing - sum of all prices - sum over pairs of the best a pair alone can earn above them, changes paid
 *
 * That holds for any prices (weak duality), so simplex need not be trusted. A sliding window has a shadow that slides along.
 */

import assert from 'node:assert/strict';
import type { Params } from '../../src/index.js';
import { loadHighsSync, type Runtime } from '../../src/tgospa/highs.js';
import type { Inspected } from '../../src/tgospa/inspector.js';
import { RingSimplex } from '../../src/tgospa/ring.js';
import { type Content, DISTANCE, DISTANCE_TOLERANCE, weightsOf } from './verifier.js';

/** Larger programs are left out: pairs times frames. */
const CELLS_MAX = 30_000;
const SHADOWS_MAX = 64;
/** Longer windows are proven from scratch: a ring has room for all their frames from the beginning. */
const SHADOW_FRAMES_MAX = 500;
/** What the kernel's unit and its surcharge on half-switches may cost, in units of c^p, for each pair and each half-switch. */
const PAIR_SLACK = 2e-11;
const HALF_SLACK = 2e-9;

/** Pairs of one frame that are closer than the cut-off, and their benefit in units of c^p. */
interface Close {
  truth: number[];
  track: number[];
  benefit: number[];
  /** objects: what they cost unassigned, in units of c^p */
  unassigned: number;
}

class Shadow {
  readonly frames: Close[] = [];
  newest = Number.NaN;
  private readonly truths = new Map<string, number>();
  private readonly tracks = new Map<string, number>();

  constructor(private readonly params: Params) {}

  enter({ reference, tracker, stride }: Content): Close {
    const { distance, cutoff, exponent, missShare = 0.5 } = this.params;
    const distanceOf = DISTANCE[distance];
    const [n, m] = [reference.ids.length, tracker.ids.length];
    const close: Close = { truth: [], track: [], benefit: [], unassigned: missShare * n + (1 - missShare) * m };
    for (let i = 0; i < n; i++)
      for (let j = 0; j < m; j++) {
        const d = distanceOf(reference.coordinates, i * stride, tracker.coordinates, j * stride, stride);
        if (!(d < cutoff)) continue;
        close.truth.push(numberOf(this.truths, reference.ids[i]));
        close.track.push(numberOf(this.tracks, tracker.ids[j]));
        close.benefit.push(1 - (d / cutoff) ** exponent);
      }
    this.frames.push(close);
    return close;
  }
}

function numberOf(numbers: Map<string, number>, id: string): number {
  const known = numbers.get(id) ?? numbers.size;
  numbers.set(id, known);
  return known;
}

export class OptimalityCheck {
  /** solves whose cost is the bound; the others are too large, out of time, or have a fractional linear program */
  proven = 0;
  private runtime: Runtime | undefined;
  private readonly shadows = new Map<object, { shadow: Shadow; ring: RingSimplex }>();

  /** Throws when the cost is below the bound, or when it is called exact, is above it, and the linear program has an assignment for its optimum. */
  check(inspected: Inspected, name: string): void {
    const { evaluation, frames, params, fractional, window, report } = inspected;
    if (frames.length === 0) return;
    const slides = window && report && !params.weights && windowFramesOf(window) <= SHADOW_FRAMES_MAX;
    const kept = slides ? this.follow(window, report.frame, inspected) : this.begin(inspected);
    if (!kept) return;
    const { shadow, ring } = kept;
    const { integral } = ring.solve();
    const unit = params.cutoff ** params.exponent;
    const weight = weightsOf(params, frames.length);
    const unassigned = shadow.frames.reduce((sum, frame, k) => sum + weight.frame(k) * frame.unassigned, 0);
    const bound = unit * (unassigned - mostEarned(shadow, ring, params));
    if (!this.isKept(ring)) ring.dispose();
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

  /** The shadow of a window, slid by one frame where that is all that happened. */
  private follow(window: object, frame: number, { frames, params }: Inspected) {
    const known = this.shadows.get(window);
    const first = frame - frames.length + 1;
    if (known) {
      const { shadow, ring } = known;
      if (shadow.newest === frame) return known;
      if (shadow.newest === frame - 1 && frame - shadow.frames.length <= first) {
        slide(ring, shadow.enter(frames[frames.length - 1]), params, 1);
        while (shadow.frames.length > frames.length) shadow.frames.shift();
        shadow.newest = frame;
        if (size(shadow) <= CELLS_MAX) return known;
      }
      this.forget(window);
    }
    const begun = this.begin({ frames, params }, windowFramesOf(window));
    if (!begun) return null;
    begun.shadow.newest = frame;
    this.shadows.set(window, begun);
    if (this.shadows.size > SHADOWS_MAX) this.forget(this.shadows.keys().next().value!);
    return begun;
  }

  private begin({ frames, params }: Pick<Inspected, 'frames' | 'params'>, windowFrames = frames.length) {
    const shadow = new Shadow(params);
    for (const frame of frames) shadow.enter(frame);
    if (size(shadow) > CELLS_MAX) return null;
    this.runtime ??= { highs: loadHighsSync() };
    const ring = new RingSimplex(this.runtime, Math.max(windowFrames, frames.length));
    const weight = weightsOf(params, frames.length);
    shadow.frames.forEach((close, k) => {
      const weighted = { ...close, benefit: close.benefit.map((benefit) => benefit * weight.frame(k)) };
      slide(ring, weighted, params, k === 0 ? 0 : weight.change(k));
    });
    return { shadow, ring };
  }

  private isKept(ring: RingSimplex): boolean {
    for (const kept of this.shadows.values()) if (kept.ring === ring) return true;
    return false;
  }

  private forget(window: object): void {
    this.shadows.get(window)?.ring.dispose();
    this.shadows.delete(window);
  }
}

const windowFramesOf = (window: object) => (window as { windowFrames: number }).windowFrames;

/** Cost of half a switch in units of c^p. */
const halfOf = ({ switchPenalty, cutoff, exponent }: Params) => (switchPenalty / cutoff) ** exponent / 2;

function slide(ring: RingSimplex, { truth, track, benefit }: Close, params: Params, weight: number): void {
  ring.slide(truth, track, benefit, weight * halfOf(params));
}

function edgesOf({ frames }: Shadow): Map<number, number> {
  const edges = new Map<number, number>();
  for (const { truth, track } of frames)
    for (let pair = 0; pair < truth.length; pair++) {
      const key = truth[pair] * 2 ** 26 + track[pair];
      if (!edges.has(key)) edges.set(key, edges.size);
    }
  return edges;
}

const size = (shadow: Shadow) => edgesOf(shadow).size * shadow.frames.length;

/** No weights earn more than this, in units of c^p. */
function mostEarned(shadow: Shadow, ring: RingSimplex, params: Params): number {
  const { frames } = shadow;
  const weight = weightsOf(params, frames.length);
  const half = halfOf(params);
  const edges = edgesOf(shadow);
  const on = new Float64Array(edges.size);
  const off = new Float64Array(edges.size);
  const gain = new Float64Array(edges.size);
  const names = [...edges.keys()].map((key) => [Math.floor(key / 2 ** 26), key % 2 ** 26]);
  const truths = new Set(names.map(([truth]) => truth));
  const tracks = new Set(names.map(([, track]) => track));
  let most = 0;
  frames.forEach(({ truth, track, benefit }, k) => {
    const truthPrice = new Map<number, number>();
    const trackPrice = new Map<number, number>();
    for (const name of truths) truthPrice.set(name, Math.max(0, ring.truthPrice(name, k)));
    for (const name of tracks) trackPrice.set(name, Math.max(0, ring.trackPrice(name, k)));
    for (const price of truthPrice.values()) most += price;
    for (const price of trackPrice.values()) most += price;
    gain.fill(0);
    for (let pair = 0; pair < truth.length; pair++)
      gain[edges.get(truth[pair] * 2 ** 26 + track[pair])!] = weight.frame(k) * benefit[pair];
    const change = k === 0 ? 0 : weight.change(k) * half;
    for (let e = 0; e < names.length; e++) {
      const [before, without] = [on[e], off[e]];
      off[e] = Math.max(without, before - change);
      on[e] =
        Math.max(before, without - change) + gain[e] - truthPrice.get(names[e][0])! - trackPrice.get(names[e][1])!;
    }
  });
  for (let e = 0; e < names.length; e++) most += Math.max(on[e], off[e]);
  return most;
}
