/**
 * How much work a solve may do. Work is counted, not time: the same frames are cut at the same place on any machine,
 * however busy it is. One unit is the comparison of two states at the frontier; what else costs is stated in the same
 * unit where it is spent.
 */

/** Units that take about a millisecond on a machine of 2024. */
export const WORK_PER_MS = 4096;

export class Budget {
  /** nothing is begun any more that can be left */
  spent = false;
  /** work so far */
  done = 0;
  private left: number;

  /** Infinity for no end */
  constructor(budgetMs: number) {
    this.left = budgetMs * WORK_PER_MS;
    this.spent = this.left <= 0;
  }

  /** Counts work that was done; whether it was all there is. */
  spend(work: number): boolean {
    this.done += work;
    this.left -= work;
    if (this.left <= 0) this.spent = true;
    return this.spent;
  }

  /** A budget of so much work, or a quarter of what is left; whoever asks spends here what was used of it. */
  part(work: number): Budget {
    return new Budget(Math.min(work, this.left / 4) / WORK_PER_MS);
  }

  /** Whether so much work is left. */
  affords(work: number): boolean {
    return work <= this.left;
  }

  get isLimited(): boolean {
    return this.left !== Number.POSITIVE_INFINITY;
  }

  /** Milliseconds that are left. */
  get leftMs(): number {
    return Math.max(0, this.left / WORK_PER_MS);
  }

  get leftWork(): number {
    return this.left;
  }
}
