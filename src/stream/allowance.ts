/**
 * How much work a solve of this stream may do, before its report is published without a proof. It follows from how
 * often frames come and from how many heavy streams share a thread: solves may take half of what there is.
 *
 * Invariant: a function of the stream's records, like everything else about it. Frames have their own times, or those
 * of their arrival, which the log holds; work is counted; the share of a thread comes in a record. The same records are
 * cut at the same place on any machine, however busy it is.
 */
import type { Step } from './pairing/step.js';

/** of the time between two frames, what solves may take */
const SOLVE_SHARE = 0.5;
/** frames whose times give one period, and how many periods are remembered: feeds that catch up come in bursts */
const BLOCK_FRAMES = 16;
const PERIODS_MAX = 8;
/** milliseconds, while nobody knows how often frames come, and for feeds that may be faster than life */
const USUAL_MS = 20;
/** milliseconds that every solve may take, and that none may: others wait in the same thread */
const LEAST_MS = 4;
const MOST_MS = 1000;

/** The times between the frames of one tracker. */
interface Pace {
  /** frames have times of their own */
  timed: boolean;
  firstMs: number;
  /** frames since then */
  frames: number;
  /** milliseconds between two frames, by block, the newest last */
  periodsMs: number[];
}

/** Everything an Allowance knows. Plain data. */
export interface AllowanceState {
  share: number;
  demanding: boolean;
  paces: Record<string, Pace>;
}

export class Allowance {
  readonly #paces = new Map<string, Pace>();
  /** of a thread */
  #share: number;
  /** some solve has needed more than a light one does */
  #demanding: boolean;

  constructor(
    /** milliseconds, whatever comes how often; null: as said above */
    readonly fixedMs: number | null,
    /** milliseconds of work that solves take which disturb nobody; until one has needed more, none gets much more */
    readonly lightMs: number | undefined,
    state?: AllowanceState,
  ) {
    this.#share = state?.share ?? 1;
    this.#demanding = state?.demanding ?? lightMs === undefined;
    for (const [tracker, pace] of Object.entries(state?.paces ?? {})) this.#paces.set(tracker, pace);
  }

  get share(): number {
    return this.#share;
  }

  set share(share: number) {
    this.#share = share;
  }

  /** A solve has done so much work. */
  add(workMs: number): void {
    if (this.lightMs !== undefined && workMs > this.lightMs) this.#demanding = true;
  }

  get demanding(): boolean {
    return this.#demanding;
  }

  /** A frame is about to be judged. */
  observe({ tracker, t, receivedMs }: Pick<Step, 'tracker' | 't' | 'receivedMs'>): void {
    const atMs = t === undefined ? receivedMs : t * 1000;
    const pace = this.#paces.get(tracker);
    if (pace?.timed !== (t !== undefined)) {
      this.#paces.set(tracker, { timed: t !== undefined, firstMs: atMs, frames: 0, periodsMs: [] });
      return;
    }
    if (++pace.frames < BLOCK_FRAMES) return;
    pace.periodsMs.push(Math.max(0, atMs - pace.firstMs) / pace.frames);
    if (pace.periodsMs.length > PERIODS_MAX) pace.periodsMs.shift();
    Object.assign(pace, { firstMs: atMs, frames: 0 });
  }

  /** Milliseconds of work for one of `solves` solves of a tracker's frame and of those beside it. */
  budgetMs(tracker: string, solves: number): number {
    if (this.fixedMs !== null) return this.fixedMs;
    const { timed = false, periodsMs = [] } = this.#paces.get(tracker) ?? {};
    if (!this.#demanding || periodsMs.length === 0) return USUAL_MS;
    const fairMs = (SOLVE_SHARE * this.#share * Math.max(...periodsMs)) / solves;
    return Math.min(MOST_MS, Math.max(timed ? LEAST_MS : USUAL_MS, fairMs));
  }

  drop(tracker: string | null): void {
    if (tracker === null) this.#paces.clear();
    else this.#paces.delete(tracker);
  }

  toJSON(): AllowanceState {
    return { share: this.#share, demanding: this.#demanding, paces: Object.fromEntries(this.#paces) };
  }
}
