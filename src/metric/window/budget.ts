/**
 * How long a solve may take. The clock is looked at only after so much work, counted in moves and comparisons of states: a small solve is
 * never cut, however busy the machine is, and what is cut does not depend on when the collector of garbage runs.
 */

/** Work between two looks at the clock, unless said otherwise: about a millisecond. */
export const WORK_PER_LOOK = 4096;

export class Budget {
  /** the time is up; nothing is begun that can be left */
  spent = false;
  private readonly endMs: number;
  private work = 0;

  constructor(
    /** Infinity for no end */
    private readonly budgetMs: number,
    private readonly workPerLook: number,
    private readonly clock: () => number,
  ) {
    this.endMs = budgetMs === Number.POSITIVE_INFINITY ? budgetMs : clock() + budgetMs;
  }

  /** Counts work that was done; whether the time is up. */
  spend(work: number): boolean {
    this.work += work;
    if (this.work >= this.workPerLook) this.look();
    return this.spent;
  }

  private look(): void {
    this.work = 0;
    if (!this.spent && this.endMs !== Number.POSITIVE_INFINITY) this.spent = this.clock() > this.endMs;
  }

  /** Whether so much work fits in at all, whatever the clock says: the answer depends on the frames alone. */
  affords(work: number): boolean {
    return work <= this.budgetMs * WORK_PER_LOOK;
  }

  /** What is left for an engine that looks at the clock itself: at least a millisecond; undefined for no end. */
  leftMs(): number | undefined {
    return this.endMs === Number.POSITIVE_INFINITY ? undefined : Math.max(1, this.endMs - this.clock());
  }
}
