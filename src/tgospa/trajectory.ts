/**
 * Trajectories and edges: who is in the window, and which pairs come closer than the cut-off in it.
 */

import type { Component } from './component.js';
import { LayerStack, type Matrix } from './layers.js';
import type { Part } from './part.js';

/** A truth or a track, as long as the window has a frame with it. */
export class Trajectory {
  presence = 0;
  readonly edges: Edge[] = [];
  /** settled: the other end of the pair held now, or the id of one that left the window */
  partner: Trajectory | null = null;
  partnerGone: string | null = null;
  /** settled: was ever assigned */
  used = false;
  /** solver 'lp': its price in quanta, by frame number modulo the window's length */
  price: Float64Array | null = null;
  /** what the frontier knows about it; null while it is fresh or not the frontier's */
  part: Part | null = null;
  /** quanta its edges can still earn after the frame that is being worked; kept when the frontier looks ahead */
  remaining = 0;
  /** its past is worked again by the frontier */
  changed = false;
  /** no pair of it lies between the frame that is worked again and this one */
  nextNumber = 0;
  /** scratch of the frontier: what it was in before and after a frame, and is in now, while that frame is reworked */
  reworkStamp = 0;
  before: Part | null = null;
  after: Part | null | undefined = null;
  now: Part | null = null;
  /** scratch of the frontier: membership and index in a knot, and whether an end is taken */
  knotStamp = 0;
  knot = 0;
  taken = false;

  constructor(
    readonly id: string,
    /** number of this trajectory among all that ever came */
    readonly serial: number,
  ) {}
}

/** A truth and a track that are closer than the cut-off in at least one frame of the window. */
export class Edge {
  /** set when it is solved in a component, not at the frontier */
  component: Component | null = null;
  /** index in the component */
  local = 0;
  /** quanta it earns in the whole window, and after the frame that is being worked */
  total = 0;
  remaining = 0;
  /** neither end has another edge: always assigned */
  alone = false;
  private readonly stack = new LayerStack(8);
  private readonly frameNumber: Matrix<Float64Array> = this.stack.matrix(Float64Array, 1);
  private readonly pair: Matrix<Int32Array> = this.stack.matrix(Int32Array, 1);

  constructor(
    readonly truth: Trajectory,
    readonly track: Trajectory,
  ) {}

  get size(): number {
    return this.stack.size;
  }

  frameAt(n: number): number {
    return this.frameNumber.values[this.stack.head + n];
  }

  pairAt(n: number): number {
    return this.pair.values[this.stack.head + n];
  }

  /** The edge's pair in a frame, or -1. */
  pairIn(number: number): number {
    const row = this.rowFrom(number);
    return row >= 0 && this.frameNumber.values[row] === number ? this.pair.values[row] : -1;
  }

  /** The first of its frames that is not before a number. */
  frameFrom(number: number): number {
    const row = this.rowFrom(number);
    return row >= 0 ? this.frameNumber.values[row] : Number.POSITIVE_INFINITY;
  }

  private rowFrom(number: number): number {
    const { head, size } = this.stack;
    const numbers = this.frameNumber.values;
    if (size === 0 || numbers[head + size - 1] < number) return -1;
    // without gaps it is where it would be; otherwise before that
    let low = head;
    let high = Math.min(head + size - 1, Math.max(head, head + number - numbers[head]));
    if (numbers[high] === number) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (numbers[middle] < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  add(number: number, pair: number): void {
    const row = this.stack.append();
    this.frameNumber.values[row] = number;
    this.pair.values[row] = pair;
  }

  dropFirst(): void {
    this.stack.dropFirst();
  }

  /** Moves on to a later frame: what it earns now is no longer to come. */
  earn(quanta: number): void {
    this.remaining -= quanta;
    this.truth.remaining -= quanta;
    this.track.remaining -= quanta;
  }
}
