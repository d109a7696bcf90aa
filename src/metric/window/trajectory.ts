/**
 * Trajectories and edges: who is in the window, and which pairs come closer than the cut-off in it.
 */

import type { Component } from '../component/component.js';
import type { Part } from '../frontier/part.js';
import { type Watch, WatchList } from '../frontier/watch.js';

/** a power of two */
const FIRST_ROWS = 4;
/** far from what a row can hold */
const REBASE_AT = 2 ** 30;
/** far from the largest whole number that is exact */
const SUM_MAX = 2 ** 51;

const NO_EDGES: readonly Edge[] = Object.freeze([]);

/** A truth or a track, as long as the window has a frame with it. */
export class Trajectory {
  presence = 0;
  edges: readonly Edge[] = NO_EDGES;
  /** of a truth: the edge that had a pair last */
  latest: Edge | null = null;
  /** settled: the other end of the pair held now, or the id of one that left the window */
  partner: Trajectory | null = null;
  partnerGone: string | null = null;
  /** settled: was ever assigned */
  used = false;
  /** solver 'lp': its price in quanta, by frame number modulo the window's length */
  price: Float64Array | null = null;
  /** what the frontier knows about it; null while it is fresh or not the frontier's */
  part: Part | null = null;
  /** decisions about it that more benefits to come could overthrow */
  watches: WatchList | null = null;
  /** quanta that the newest frame adds, while it is looked at */
  gain = 0;
  /** quanta its edges can still earn after the frame that is being worked, or was looked from */
  remaining = 0;
  /** the edges that can still earn most, and next to most; as long as `ranked` */
  most: Edge | null = null;
  second: Edge | null = null;
  ranked = false;
  /** its past is worked again by the frontier, from this part on; `place` is that in the list of all such, or -1 */
  changedPart: Part | null = null;
  place = -1;
  /** no pair of it lies between the frame that is worked again and this one */
  nextNumber = 0;
  /** no frame after this has a group with it in which it has no pair */
  hiddenUntil = -1;
  /** its past is worked again, but no later frame can tell */
  parked = false;
  /** scratch of the frontier: what it is in now; while a frame is reworked, what it was in before and after it */
  reworkStamp = 0;
  before: Part | null = null;
  after: Part | null | undefined = null;
  now: Part | null = null;
  /** scratch of the frontier: membership and index in a knot, whether an end is taken, and whether a change reaches it */
  knotStamp = 0;
  endStamp = 0;
  knot = 0;
  taken = false;
  reachStamp = 0;
  private own: readonly Trajectory[] | null = null;
  /** the part of its own after a release, made once */
  released: Part | null = null;

  constructor(
    readonly id: string,
    /** number of this trajectory among all that ever came */
    readonly serial: number,
  ) {}

  /** A list of itself only, shared by all who need one. */
  get self(): readonly Trajectory[] {
    this.own ??= [this];
    return this.own;
  }

  addEdge(edge: Edge): void {
    // most have one: a list that grows takes room for many
    if (this.edges.length === 0) this.edges = [edge];
    else (this.edges as Edge[]).push(edge);
  }

  removeEdge(edge: Edge): void {
    (this.edges as Edge[]).splice(this.edges.indexOf(edge), 1);
  }

  /** Its past is worked again. */
  get changed(): boolean {
    return this.place >= 0;
  }

  /** It has left the window: whoever still knows it keeps nothing else alive by that. */
  leave(): void {
    this.part = this.before = this.after = this.now = this.changedPart = this.released = null;
    this.partner = this.latest = this.watches = null;
  }

  /** Its edge with a track, if there is one. */
  edgeWith(track: Trajectory): Edge | undefined {
    const { latest, edges } = this;
    if (latest !== null && latest.track === track) return latest;
    for (let n = 0; n < edges.length; n++) if (edges[n].track === track) return edges[n];
    return undefined;
  }

  /** Finds out what its edges can still earn after a frame. */
  look(number: number): void {
    const { edges } = this;
    let sum = 0;
    for (let n = 0; n < edges.length; n++) {
      const edge = edges[n];
      edge.remaining = edge.after(number);
      sum += edge.remaining;
    }
    this.remaining = sum;
    this.ranked = false;
  }

  watch(watch: Watch): void {
    this.watches ??= new WatchList();
    this.watches.add(watch);
  }

  /** Finds its best edges again, where an earlier answer no longer holds. */
  rank(): void {
    if (this.ranked) return;
    this.ranked = true;
    let most: Edge | null = null;
    let second: Edge | null = null;
    for (const edge of this.edges) {
      if (edge.remaining === 0) continue;
      if (most === null || edge.remaining > most.remaining) {
        second = most;
        most = edge;
      } else if (second === null || edge.remaining > second.remaining) second = edge;
    }
    this.most = most;
    this.second = second;
  }

  /** Quanta that its best edge can still earn, but for that with a partner. */
  mostBut(partner: Trajectory | null): number {
    this.rank();
    const { most } = this;
    if (most === null) return 0;
    if (most.truth !== partner && most.track !== partner) return most.remaining;
    return this.second === null ? 0 : this.second.remaining;
  }
}

/** A truth and a track that are closer than the cut-off in at least one frame of the window. */
export class Edge {
  /** set when it is solved in a component, not at the frontier */
  component: Component | null = null;
  /** index in the component */
  local = 0;
  /** quanta it earns in the whole window, after the frame that was looked from, and in the newest frame while that is looked at */
  total = 0;
  remaining = 0;
  gain = 0;
  /** neither end has another edge: always assigned */
  alone = false;
  /** the part of its ends when they are decided to be held, made once */
  held: Part | null = null;
  /**
   * A ring, as long as a power of two, because a crowd has many edges: of each frame in which it is a pair, oldest first, the frame's number less
   * `base`, then the pair.
   */
  private rows = new Int32Array(2 * FIRST_ROWS);
  private mask = FIRST_ROWS - 1;
  private base = 0;
  private head = 0;
  size = 0;
  /** by row: quanta it has earned up to its frame since some frame or other; kept by those who look ahead */
  private sums: Float64Array | null = null;
  private sum = 0;

  constructor(
    readonly truth: Trajectory,
    readonly track: Trajectory,
  ) {}

  /** Its n-th frame in the window. */
  frameAt(n: number): number {
    return this.base + this.rows[2 * ((this.head + n) & this.mask)];
  }

  /** Its pair in that. */
  pairAt(n: number): number {
    return this.rows[2 * ((this.head + n) & this.mask) + 1];
  }

  /** The edge's pair in a frame, or -1. */
  pairIn(number: number): number {
    const n = this.seek(number);
    return n >= 0 && this.frameAt(n) === number ? this.pairAt(n) : -1;
  }

  /** The first of its frames that is not before a number: which one it is, or -1. */
  seek(number: number): number {
    const { size } = this;
    if (size === 0 || this.frameAt(size - 1) < number) return -1;
    // without gaps it is where it would be; otherwise before that
    let low = 0;
    let high = Math.min(size - 1, Math.max(0, number - this.frameAt(0)));
    if (this.frameAt(high) === number) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.frameAt(middle) < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  add(number: number, pair: number): void {
    if (this.size === 0) this.base = number;
    else if (this.size > this.mask) this.grow();
    if (number - this.base >= REBASE_AT) this.rebase();
    const at = 2 * ((this.head + this.size++) & this.mask);
    this.rows[at] = number - this.base;
    this.rows[at + 1] = pair;
  }

  dropFirst(): void {
    this.head = (this.head + 1) & this.mask;
    this.size--;
  }

  private grow(): void {
    const { rows, head } = this;
    this.rows = new Int32Array(2 * rows.length);
    this.rows.set(rows.subarray(2 * head));
    this.rows.set(rows.subarray(0, 2 * head), rows.length - 2 * head);
    if (this.sums) {
      const sums = new Float64Array(2 * this.sums.length);
      sums.set(this.sums.subarray(head));
      sums.set(this.sums.subarray(0, head), this.sums.length - head);
      this.sums = sums;
    }
    this.mask = 2 * this.mask + 1;
    this.head = 0;
  }

  /** Keeps sums from now on, given what it earns in its frames. */
  keepSums(benefit: (number: number, pair: number) => number): void {
    this.sums = new Float64Array(this.mask + 1);
    this.sum = 0;
    for (let n = 0; n < this.size; n++) this.sumUp(n, benefit(this.frameAt(n), this.pairAt(n)));
  }

  /** Adds what it earns in the frame that was added last. */
  addSum(quanta: number): void {
    this.sums ??= new Float64Array(this.mask + 1);
    if (this.sum > SUM_MAX) {
      const first = this.sums[this.head];
      for (let n = 0; n < this.size - 1; n++) this.sums[(this.head + n) & this.mask] -= first;
      this.sum -= first;
    }
    this.sumUp(this.size - 1, quanta);
  }

  private sumUp(n: number, quanta: number): void {
    this.sum += quanta;
    this.sums![(this.head + n) & this.mask] = this.sum;
  }

  /** Moves on to a later frame: what it earns now is no longer to come. */
  earn(quanta: number): void {
    this.remaining -= quanta;
    this.truth.remaining -= quanta;
    this.track.remaining -= quanta;
    // an edge that was not among the best and earns less is not among them now
    if (quanta < 0 || this.truth.most === this || this.truth.second === this) this.truth.ranked = false;
    if (quanta < 0 || this.track.most === this || this.track.second === this) this.track.ranked = false;
  }

  /** Quanta it earns after a frame. */
  after(number: number): number {
    const n = this.seek(number + 1);
    if (n < 0) return 0;
    return n === 0 ? this.total : this.sum - this.sums![(this.head + n - 1) & this.mask];
  }

  private rebase(): void {
    const first = this.frameAt(0) - this.base;
    for (let n = 0; n < this.size; n++) this.rows[2 * ((this.head + n) & this.mask)] -= first;
    this.base += first;
  }
}
