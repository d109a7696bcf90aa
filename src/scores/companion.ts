/**
 * The companion scores of a live window: running sums at every frame, the scores themselves every `strideFrames` frames. They depend on the
 * frames alone, not on a profile, so a tracker has one companion however many profiles it is judged under.
 */

import type { PackedFrame } from '../tgospa/frame.js';
import { ScoreWindow } from './score-window.js';
import type { SimilarityRule } from './similarity.js';
import type { Scores } from './totals.js';

/** Scores of the window that ended with frame `k`. */
export interface ScoreReading {
  k: number;
  /** frames in that window */
  frames: number;
  values: Scores;
}

/** What cannot be worked out again from the frames of the window. Plain JSON. */
export interface CompanionState {
  pushed: number;
  reading: ScoreReading | null;
}

export class Companion {
  #window: ScoreWindow;
  #pushed = 0;
  #reading: ScoreReading | null = null;

  constructor(
    rule: SimilarityRule,
    windowFrames: number,
    readonly strideFrames: number,
  ) {
    this.#window = new ScoreWindow(windowFrames, rule);
  }

  /** The newest scores; null before the first. */
  get reading(): ScoreReading | null {
    return this.#reading;
  }

  /** Takes a frame in; gives scores when their time has come. */
  push(frame: PackedFrame, k: number): ScoreReading | null {
    this.#window.push(frame);
    if (++this.#pushed % this.strideFrames !== 0) return null;
    this.#reading = { k, frames: this.#window.frames, values: this.#window.scores() };
    return this.#reading;
  }

  toJSON(): CompanionState {
    return { pushed: this.#pushed, reading: this.#reading };
  }

  /** Takes over frames that were in the window before, oldest first, and goes on as a companion that saw them come. */
  restore(frames: Iterable<PackedFrame>, state: CompanionState | undefined): void {
    let count = 0;
    for (const frame of frames) {
      this.#window.push(frame);
      count++;
    }
    this.#pushed = state?.pushed ?? count;
    this.#reading = state?.reading ?? null;
  }
}
