/**
 * When the changes of an assignment happen, under time weights: each where it costs least, and nothing is held that
 * earns nothing, because where neither end is present nobody would see it come and go.
 */

interface Graph {
  readonly truthCount: number;
  readonly edgeTrack: Int32Array;
  readonly edges: { readonly length: number };
}

/**
 * Rows of a component: [row * edges + edge] benefits, [row] cost of a change into it, [row * truths + truth] its edge,
 * or -1.
 */
export class ChangeTimes {
  private head = 0;
  private end = 0;

  constructor(
    private readonly graph: Graph,
    private readonly benefit: Float64Array,
    private readonly changeCost: Float64Array,
    private readonly partner: Int32Array,
  ) {}

  /** Puts changes of rows `head` to `end - 1` where they cost least. */
  tidy(head: number, end: number): void {
    this.head = head;
    this.end = end;
    this.shed();
    this.move(1);
    this.move(-1);
  }

  private shed(): void {
    const { head, end, benefit, partner } = this;
    const E = this.graph.edges.length;
    const n = this.graph.truthCount;
    for (let i = 0; i < n; i++) {
      for (let row = head, next = head; row < end; row = next) {
        const e = partner[row * n + i];
        let earned = 0;
        for (; next < end && partner[next * n + i] === e; next++) if (e >= 0) earned += benefit[next * E + e];
        if (earned > 0 || (row === head && next === end)) continue;
        for (let at = row; at < next; at++) partner[at * n + i] = -1;
      }
    }
  }

  /**
   * Ends what is assigned, forward (1) or back in time (-1), where that is best: behind the last layer it earns in, or
   * in any after it in which both ends are free.
   */
  private move(step: 1 | -1): void {
    const { head, end, benefit, partner } = this;
    const E = this.graph.edges.length;
    const n = this.graph.truthCount;
    const within = (row: number) => row >= head && row < end;
    for (let i = 0; i < n; i++) {
      let row = step === 1 ? head : end - 1;
      while (within(row)) {
        const e = partner[row * n + i];
        let last = row;
        let next = row;
        for (; within(next) && partner[next * n + i] === e; next += step)
          if (e >= 0 && benefit[next * E + e] > 0) last = next;
        row = next;
        if (e < 0) continue;
        const best = this.bestEnd(i, e, last, next, step);
        for (let at = last + step; at !== best; at += step) partner[at * n + i] = e;
        for (let at = best; (next - at) * step > 0; at += step) partner[at * n + i] = -1;
        if ((best - row) * step > 0) row = best;
      }
    }
  }

  /** The row at which an edge that earns last in row `last`, and is held up to before `next`, is given up best. */
  private bestEnd(i: number, e: number, last: number, next: number, step: 1 | -1): number {
    const { head, end, benefit, partner } = this;
    const E = this.graph.edges.length;
    const n = this.graph.truthCount;
    const within = (row: number) => row >= head && row < end;
    // of the boundary between a row and the one before it in the direction of `step`
    const changeInto = (row: number) => this.changeCost[step === 1 ? row : row + 1];
    let gain = 0;
    let most = Number.NEGATIVE_INFINITY;
    let best = next;
    for (let row = last + step; ; row += step) {
      const again = within(row) && (row - next) * step >= 0 && partner[row * n + i] === e;
      const worth = within(row) ? gain + (again ? changeInto(row) : -changeInto(row)) : gain;
      if (worth >= most) {
        most = worth;
        best = row;
      }
      if (!within(row) || again) return best;
      if ((row - next) * step >= 0 && (partner[row * n + i] >= 0 || this.isTaken(row, e))) return best;
      gain += benefit[row * E + e];
    }
  }

  /** Whether somebody has the track of an edge. */
  private isTaken(row: number, e: number): boolean {
    const { partner } = this;
    const { truthCount: n, edgeTrack } = this.graph;
    for (let i = row * n; i < (row + 1) * n; i++)
      if (partner[i] >= 0 && edgeTrack[partner[i]] === edgeTrack[e]) return true;
    return false;
  }
}
