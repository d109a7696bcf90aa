/**
 * Which engine solves what: the one rule.
 *
 * A pair whose ends have no other pair in the window is always assigned. Everything else begins at the frontier. Two
 * things hand it to the warm program, with everybody who hangs together with it in the window, within the same push: a
 * knot that meets more than `STATES_MAX` states in one frame or when the budget is spent; or that the frontier takes
 * more work than the program would. Of that every truth has an account. What its knots take is charged to it, what the
 * program would take is taken off with every frame, and who owes more than some frames of the program's work is handed
 * over. Work is counted, so the same frames are solved by the same engine on any machine.
 *
 * After `PATIENCE` windows the frontier tries again; each time it fails at once, the program keeps them for twice as
 * many windows, up to `PATIENCE_MAX`. Under time weights there is no frontier. The answer does not depend on the
 * engine: both choose the same of several optima.
 */

import type { Trajectory } from './window/trajectory.js';

/** States that one knot at the frontier may meet. */
export const STATES_MAX = 128;

/** Windows that the program keeps what was handed over, at first and at most. */
export const PATIENCE = 4;
export const PATIENCE_MAX = 64;

// work, in moves of the frontier, about 0.2 microseconds each on a machine of 2024
const KNOT_WORK = 48;
const CELL_WORK = 0.2;
/**
 * What the program takes for a truth besides its cells, and how many frames of its work may be owed: cheap switches are
 * frequent, and each makes the program ask simplex; dear ones are rare, and make the frontier work a whole window again
 * with every frame.
 */
const CHEAP = { truthWork: 64, framesOwed: 32 };
const DEAR = { truthWork: 32, framesOwed: 4 };
/** what may be owed after a second try, in windows: the frontier has all frames to work again */
const RETRY_WINDOWS = 0.25;

/** Of a truth what it owed and at which frame. */
export type Account = [truth: string, debt: number, frame: number];

/** What the frontier has worked on each truth beyond what the program would have. */
export class Accounts {
  /** truths that owe too much, told again when they owe as much more */
  readonly overdrawn: Trajectory[] = [];
  /** the frame that is worked for, and the length of the window */
  number = 0;
  windowFrames = 0;
  private readonly truthWork: number;
  private readonly framesOwed: number;
  /** by slot: what is owed, less than 0 for what is allowed besides; and at which frame */
  private readonly debt: number[] = [];
  private readonly at: number[] = [];

  /** price of half a switch in units of c^p */
  constructor(price: number) {
    const { truthWork, framesOwed } = price < 1 ? CHEAP : DEAR;
    this.truthWork = truthWork;
    this.framesOwed = framesOwed;
  }

  /** Charges truths that were in one knot for its moves. */
  charge(truths: readonly { trajectory: Trajectory }[], moves: number): void {
    const work = (KNOT_WORK + moves) / truths.length;
    for (let n = 0; n < truths.length; n++) {
      const { trajectory: truth } = truths[n];
      const { slot } = truth;
      const before = this.owed(truth);
      this.debt[slot] = before + work;
      this.at[slot] = this.number;
      const most = this.framesOwed * this.allowance(truth);
      if (Math.floor(before / most) < Math.floor((before + work) / most)) this.overdrawn.push(truth);
    }
  }

  /** Whether truths that hang together owe too much, all in all. */
  isDue(truths: readonly Trajectory[]): boolean {
    let sum = 0;
    for (const truth of truths) sum += this.owed(truth) - this.framesOwed * this.allowance(truth);
    return sum > 0;
  }

  /** The frontier tries a truth again. */
  forgive(truth: Trajectory): void {
    this.debt[truth.slot] = -RETRY_WINDOWS * this.windowFrames * this.allowance(truth);
    this.at[truth.slot] = this.number;
  }

  /** The account of a truth, to go on elsewhere as here; null where there is nothing in it. */
  read(truth: Trajectory): Account | null {
    const debt = this.debt[truth.slot] ?? 0;
    return debt === 0 ? null : [truth.id, debt, this.at[truth.slot]];
  }

  /** Puts all accounts as they were elsewhere. */
  restore(accounts: readonly Account[], truths: ReadonlyMap<string, Trajectory>): void {
    this.debt.fill(0);
    for (const [id, debt, at] of accounts) {
      const slot = truths.get(id)?.slot;
      if (slot === undefined) continue;
      this.debt[slot] = debt;
      this.at[slot] = at;
    }
  }

  forget({ slot }: Trajectory): void {
    this.debt[slot] = 0;
  }

  private owed(truth: Trajectory): number {
    const debt = this.debt[truth.slot] ?? 0;
    if (debt <= 0) return debt;
    return Math.max(0, debt - (this.number - this.at[truth.slot]) * this.allowance(truth));
  }

  /** What the program takes for a truth in one push. */
  private allowance({ edges }: Trajectory): number {
    return this.truthWork + CELL_WORK * edges.length * this.windowFrames;
  }
}
