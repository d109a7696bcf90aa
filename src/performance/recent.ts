/**
 * The numbers of a live series, over its last frames: between `spanFrames` and twice as many that have settled, all
 * while they are fewer. Two sums run side by side, the younger half a life behind; when the older is full, the younger
 * takes its place. So memory and what is told stay bounded, and an hour-old fault is forgotten.
 */

import type { PerformanceFrame } from './frame.js';
import type { SearchTerms } from './latency.js';
import { Performance, type PerformanceNumbers, type PerformanceState } from './performance.js';
import type { Plane } from './place.js';

/** Plain data. */
export interface RecentTerms {
  plane: Plane;
  gapSteps: number;
  truthsMax: number;
  spanFrames: number;
  /** the numbers are worked out once in so many frames */
  strideFrames: number;
  search?: SearchTerms;
}

export interface PerformanceReading extends PerformanceNumbers {
  /** of the newest frame that is in it */
  k: number;
  frames: number;
  /** false: frames have no times, and everything that is a time counts frames */
  timed: boolean;
}

/** Everything a RecentPerformance knows. Plain data. */
export interface RecentState {
  terms: RecentTerms;
  pushed: number;
  /** in the older sum */
  frames: number;
  timed: boolean;
  older: PerformanceState;
  younger: PerformanceState | null;
  reading: PerformanceReading | null;
}

export class RecentPerformance {
  readonly terms: RecentTerms;
  #older: Performance;
  #younger: Performance | null;
  #pushed: number;
  #frames: number;
  #timed: boolean;
  #reading: PerformanceReading | null;

  constructor(terms: RecentTerms, state?: RecentState) {
    this.terms = terms;
    this.#older = new Performance(terms, state?.older);
    this.#younger = state?.younger ? new Performance(terms, state.younger) : null;
    this.#pushed = state?.pushed ?? 0;
    this.#frames = state?.frames ?? 0;
    this.#timed = state?.timed ?? false;
    this.#reading = state?.reading ?? null;
  }

  /** The newest numbers; null before the first. */
  get reading(): PerformanceReading | null {
    return this.#reading;
  }

  /** Adds a frame that has settled; gives the numbers when their time has come. */
  update(frame: PerformanceFrame, k: number, timed: boolean): PerformanceReading | null {
    if (timed !== this.#timed) this.#restart(timed);
    this.#older.update(frame);
    this.#younger?.update(frame);
    this.#frames++;
    this.#pushed++;
    this.#renew();
    return this.#pushed % this.terms.strideFrames === 0 ? this.read(k) : null;
  }

  /** Works the numbers out, whether it is time or not. */
  read(k: number): PerformanceReading {
    this.#reading = { k, frames: this.#frames, timed: this.#timed, ...this.#older.get() };
    return this.#reading;
  }

  #renew(): void {
    const { spanFrames } = this.terms;
    if (this.#frames === 2 * spanFrames) {
      this.#older = this.#younger!;
      this.#frames = spanFrames;
    }
    if (this.#frames === spanFrames) this.#younger = new Performance(this.terms);
  }

  /** Seconds and frames do not add up. */
  #restart(timed: boolean): void {
    this.#timed = timed;
    this.#older = new Performance(this.terms);
    this.#younger = null;
    this.#frames = 0;
  }

  toJSON(): RecentState {
    return {
      terms: this.terms,
      pushed: this.#pushed,
      frames: this.#frames,
      timed: this.#timed,
      older: this.#older.toJSON(),
      younger: this.#younger?.toJSON() ?? null,
      reading: this.#reading,
    };
  }
}
