/**
 * A window of named pairs that slides over frames and is solved by the warm program, from the basis of its last solve,
 * as a component of the kernel does; for tests of the program alone.
 */

import type { LpProblem, LpSolution } from '../../../src/metric/program/linear-program.js';
import { BASIS_UNKNOWN, type LastBasis } from '../../../src/metric/program/reduced-program.js';
import type { WarmOptions, WarmProgram } from '../../../src/metric/program/warm-program.js';

interface RingFrame {
  readonly benefit: Map<number, number>;
  readonly switchCost: number;
}

/** A window as it was solved: where its edges and objects are, and what was found. */
interface Solved {
  readonly first: number;
  readonly edges: Map<number, number>;
  readonly truths: Map<number, number>;
  readonly tracks: Map<number, number>;
  readonly basis: LastBasis;
  readonly prices: Float64Array;
}

/** names are below it */
const NAMES = 2 ** 24;

export class Ring {
  /** rows of the last model */
  rowCount = 0;
  private readonly frames: RingFrame[] = [];
  private first = 0;
  private last: Solved | null = null;

  constructor(
    private readonly program: WarmProgram,
    readonly windowFrames: number,
  ) {}

  get frameCount(): number {
    return this.frames.length;
  }

  get edgeCount(): number {
    return this.edges().size;
  }

  /** Appends a frame, given by its pairs with a benefit; the oldest leaves a full window. */
  slide(truth: readonly number[], track: readonly number[], benefit: readonly number[], switchCost: number): void {
    this.frames.push({ benefit: new Map(truth.map((name, n) => [name * NAMES + track[n], benefit[n]])), switchCost });
    if (this.frames.length <= this.windowFrames) return;
    this.frames.shift();
    this.first++;
  }

  removeEdge(truth: number, track: number): void {
    for (const { benefit } of this.frames) benefit.delete(truth * NAMES + track);
  }

  /** Replaces the window by a problem, its indices being the names; the basis stays, good or not. */
  load({ frameCount, edgeTruth, edgeTrack, benefit, switchCost }: LpProblem): void {
    this.frames.length = this.first = 0;
    for (let frame = 0; frame < frameCount; frame++) {
      const earned = benefit.slice(frame * edgeTruth.length, (frame + 1) * edgeTruth.length);
      this.slide([...edgeTruth], [...edgeTrack], [...earned], switchCost[frame]);
    }
  }

  /** The window in order of time: its edges, and the names of its truths and tracks by index. */
  window(): { problem: LpProblem; truthNames: number[]; trackNames: number[] } {
    const { problem, truths, tracks } = this.read();
    return { problem, truthNames: [...truths.keys()], trackNames: [...tracks.keys()] };
  }

  solve(options: Omit<WarmOptions, 'basis'> = {}): LpSolution {
    const { problem, ...places } = this.read();
    const basis = this.basisOf(problem, places);
    const solution = this.program.solve(problem, { ...options, basis });
    this.rowCount = solution.rows ?? 0;
    if (solution.status === 'optimal')
      this.last = { ...places, basis, first: this.first, prices: solution.prices ?? new Float64Array(0) };
    return solution;
  }

  /** The price of a truth at a frame of the window that was solved last; 0 when there is none. */
  truthPrice(truth: number, frame: number): number {
    return this.priceAt(this.last?.truths.get(truth), frame);
  }

  trackPrice(track: number, frame: number): number {
    const at = this.last?.tracks.get(track);
    return this.priceAt(at === undefined ? at : this.last!.truths.size + at, frame);
  }

  private priceAt(object: number | undefined, frame: number): number {
    if (object === undefined) return 0;
    const { truths, tracks, prices } = this.last!;
    return prices[frame * (truths.size + tracks.size) + object] ?? 0;
  }

  private edges(): Map<number, number> {
    const edges = new Map<number, number>();
    for (const { benefit } of this.frames)
      for (const key of benefit.keys()) if (!edges.has(key)) edges.set(key, edges.size);
    return edges;
  }

  private read() {
    const edges = this.edges();
    const [truths, tracks] = [new Map<number, number>(), new Map<number, number>()];
    const index = (names: Map<number, number>, name: number) => names.get(name) ?? names.set(name, names.size).size - 1;
    const edgeTruth = Int32Array.from(edges.keys(), (key) => index(truths, Math.floor(key / NAMES)));
    const edgeTrack = Int32Array.from(edges.keys(), (key) => index(tracks, key % NAMES));
    const benefit = new Float64Array(this.frames.length * edges.size);
    this.frames.forEach((frame, k) => {
      for (const [key, earned] of frame.benefit) benefit[k * edges.size + edges.get(key)!] = earned;
    });
    const switchCost = Float64Array.from(this.frames, (frame) => frame.switchCost);
    const counts = { frameCount: this.frames.length, truthCount: truths.size, trackCount: tracks.size };
    return { problem: { ...counts, edgeTruth, edgeTrack, benefit, switchCost }, edges, truths, tracks };
  }

  /** The last basis, each thing where it is now. */
  private basisOf({ frameCount }: LpProblem, now: Pick<Solved, 'edges' | 'truths' | 'tracks'>): LastBasis {
    const objects = now.truths.size + now.tracks.size;
    const unknown = (width: number) => new Int8Array(frameCount * width).fill(BASIS_UNKNOWN);
    const basis = { cell: unknown(now.edges.size), flow: unknown(now.edges.size), capacity: unknown(objects) };
    const { last } = this;
    if (!last) return basis;
    const move = (from: Int8Array, width: number, at: number, to: Int8Array, toWidth: number, toAt: number) => {
      for (let k = 0; k < frameCount; k++) {
        const before = k + this.first - last.first;
        if (before >= 0 && before * width < from.length) to[k * toWidth + toAt] = from[before * width + at];
      }
    };
    for (const [key, at] of now.edges) {
      const before = last.edges.get(key);
      if (before === undefined) continue;
      move(last.basis.cell, last.edges.size, before, basis.cell, now.edges.size, at);
      move(last.basis.flow, last.edges.size, before, basis.flow, now.edges.size, at);
    }
    const lastObjects = last.truths.size + last.tracks.size;
    for (const [name, at] of now.truths) {
      const before = last.truths.get(name);
      if (before !== undefined) move(last.basis.capacity, lastObjects, before, basis.capacity, objects, at);
    }
    for (const [name, at] of now.tracks) {
      const before = last.tracks.get(name);
      if (before !== undefined)
        move(
          last.basis.capacity,
          lastObjects,
          last.truths.size + before,
          basis.capacity,
          objects,
          now.truths.size + at,
        );
    }
    return basis;
  }
}
