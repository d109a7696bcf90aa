/**
 * Trajectories and edges: who is in the window, and which pairs come closer than the cut-off in it. Engines keep what
 * they know of them in records of their own, by slot or as an annex.
 */

import { type EdgeRows, FIRST_ROWS } from './edge-rows.js';

/** edges of a truth that are looked through one by one */
const SCANNED_MAX = 12;

/** edges of a trajectory from which on it is likely to get many more */
const GROWN_FROM = 6;

const NO_EDGES: readonly Edge[] = Object.freeze([]);

/** Small numbers for those in the window; who leaves gives his to the next. */
export class Slots {
  private readonly freed: number[] = [];
  private count = 0;

  take(): number {
    return this.freed.pop() ?? this.count++;
  }

  free(slot: number): void {
    this.freed.push(slot);
  }
}

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
  /** what the engine that solves it knows of it */
  annex: unknown = null;
  /** of a truth with many edges: by track */
  private byTrack: Map<Trajectory, Edge> | null = null;

  constructor(
    readonly id: string,
    /** number of this trajectory among all that ever came */
    readonly serial: number,
    /** no other in the window has it */
    readonly slot: number,
  ) {}

  addEdge(edge: Edge): void {
    // most have one or two: a list that grows takes room for many, and one of a single edge serves both of its ends
    if (this.edges.length === 0) this.edges = edge.alone;
    else if (this.edges.length < GROWN_FROM) this.edges = this.edges.concat(edge);
    else (this.edges as Edge[]).push(edge);
    if (this.byTrack !== null) this.byTrack.set(edge.track, edge);
    else if (edge.truth === this && this.edges.length > SCANNED_MAX)
      this.byTrack = new Map(this.edges.map((each) => [each.track, each]));
  }

  removeEdge(edge: Edge): void {
    if (this.edges.length === 1) this.edges = NO_EDGES;
    else (this.edges as Edge[]).splice(this.edges.indexOf(edge), 1);
    this.byTrack?.delete(edge.track);
  }

  /** Its edge with a track, if there is one. */
  edgeWith(track: Trajectory): Edge | undefined {
    const { latest, edges } = this;
    if (latest !== null && latest.track === track) return latest;
    if (this.byTrack !== null) return this.byTrack.get(track);
    for (let n = 0; n < edges.length; n++) if (edges[n].track === track) return edges[n];
    return undefined;
  }
}

/** A truth and a track that are closer than the cut-off in at least one frame of the window. */
export class Edge {
  /**
   * A ring among the rows of all edges, as long as a power of two, because a crowd has many edges: of each frame in
   * which it is a pair, oldest first.
   */
  private from: number;
  private mask = FIRST_ROWS - 1;
  private head = 0;
  /** its oldest frame */
  private first = 0;
  size = 0;
  /** what the engine that solves it knows of it */
  annex: unknown = null;
  private ownList: readonly Edge[] | null = null;

  constructor(
    readonly truth: Trajectory,
    readonly track: Trajectory,
    /** no other in the window has it */
    readonly slot: number,
    private rows: EdgeRows,
  ) {
    this.from = rows.take(FIRST_ROWS);
  }

  /** A list of itself only. */
  get alone(): readonly Edge[] {
    this.ownList ??= [this];
    return this.ownList;
  }

  private row(n: number): number {
    return this.from + ((this.head + n) & this.mask);
  }

  /** Its n-th frame in the window. */
  frameAt(n: number): number {
    return this.rows.numberAt(this.row(n), this.first);
  }

  /** Its pair in that. */
  pairAt(n: number): number {
    return this.rows.pairs[this.row(n)];
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
    let high = Math.min(size - 1, Math.max(0, number - this.first));
    if (this.frameAt(high) === number) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.frameAt(middle) < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  add(number: number, pair: number): void {
    if (this.size === 0) this.first = number;
    else if (this.size > this.mask) this.moveTo(this.rows, 2 * this.size);
    this.rows.set(this.row(this.size++), number, pair);
  }

  dropFirst(): void {
    if (--this.size > 0) this.first = this.frameAt(1);
    this.head = (this.head + 1) & this.mask;
  }

  /** Moves its frames, to where there is room for so many. */
  moveTo(rows: EdgeRows, room = this.mask + 1): void {
    const { size } = this;
    const from = rows.take(room);
    for (let n = 0; n < size; n++) rows.set(from + n, this.frameAt(n), this.pairAt(n));
    this.free();
    this.rows = rows;
    this.from = from;
    this.mask = room - 1;
    this.head = 0;
  }

  /** It has left the window. */
  free(): void {
    this.rows.free(this.from, this.mask + 1);
  }
}
