/**
 * Trajectories and edges: who is in the window, and which pairs come closer than the cut-off in it. Engines keep what
 * they know of them in records of their own, by slot or as an annex.
 */

/** a power of two */
const FIRST_ROWS = 4;
/** far from what a row can hold */
const REBASE_AT = 2 ** 30;

/** edges of a truth that are looked through one by one */
const SCANNED_MAX = 12;

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
    // most have one: a list that grows takes room for many
    if (this.edges.length === 0) this.edges = [edge];
    else (this.edges as Edge[]).push(edge);
    if (this.byTrack !== null) this.byTrack.set(edge.track, edge);
    else if (edge.truth === this && this.edges.length > SCANNED_MAX)
      this.byTrack = new Map(this.edges.map((each) => [each.track, each]));
  }

  removeEdge(edge: Edge): void {
    (this.edges as Edge[]).splice(this.edges.indexOf(edge), 1);
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
   * A ring, as long as a power of two, because a crowd has many edges: of each frame in which it is a pair, oldest
   * first, the frame's number less `base`, then the pair.
   */
  private rows = new Int32Array(2 * FIRST_ROWS);
  private mask = FIRST_ROWS - 1;
  private base = 0;
  private head = 0;
  size = 0;
  /** what the engine that solves it knows of it */
  annex: unknown = null;

  constructor(
    readonly truth: Trajectory,
    readonly track: Trajectory,
    /** no other in the window has it */
    readonly slot: number,
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
    const { rows, head, mask, size } = this;
    const longer = new Int32Array(2 * rows.length);
    for (let n = 0; n < size; n++) {
      const at = 2 * ((head + n) & mask);
      longer[2 * n] = rows[at];
      longer[2 * n + 1] = rows[at + 1];
    }
    this.rows = longer;
    this.mask = 2 * mask + 1;
    this.head = 0;
  }

  private rebase(): void {
    const first = this.frameAt(0) - this.base;
    for (let n = 0; n < this.size; n++) this.rows[2 * ((this.head + n) & this.mask)] -= first;
    this.base += first;
  }
}
