/**
 * The companion scores of a live window, worked out from its frames once in `strideFrames` frames. They depend on the
 * frames alone, not on a profile, so a tracker has one companion however many profiles it is judged under.
 */

import type { FrameView } from '../metric/window/frame-view.js';
import { sharedWindow } from './score-window.js';
import type { SimilarityRule } from './similarity.js';
import type { Scores } from './totals.js';

/** Scores of the window that ended with frame `k`, by name: HOTA, MOTA, IDF1 and their parts. */
export interface ScoreReading {
  readonly k: number;
  /** frames in that window */
  readonly frames: number;
  readonly values: Readonly<Record<string, number>>;
}

/** Everything a Companion knows. Plain data. */
export interface CompanionState {
  pushed: number;
  reading: ScoreReading | null;
}

export class Companion {
  #state: CompanionState;

  constructor(
    readonly rule: SimilarityRule,
    readonly strideFrames: number,
    /** frames that came before it, or all that another companion knew */
    before: number | CompanionState,
  ) {
    this.#state = typeof before === 'number' ? { pushed: before, reading: null } : before;
  }

  /** The newest scores; null before the first. */
  get reading(): ScoreReading | null {
    return this.#state.reading;
  }

  /** Counts a frame; gives the scores of the window that ends with it when their time has come. */
  push(k: number, window: () => FrameView[]): ScoreReading | null {
    const pushed = this.#state.pushed + 1;
    if (pushed % this.strideFrames !== 0) {
      this.#state.pushed = pushed;
      return null;
    }
    const frames = window();
    const reading = { k, frames: frames.length, values: scoresOfWindow(frames, this.rule) };
    this.#state = { pushed, reading };
    return reading;
  }

  toJSON(): CompanionState {
    return { ...this.#state };
  }
}

function scoresOfWindow(frames: readonly FrameView[], rule: SimilarityRule): Scores {
  const window = sharedWindow(frames.length, rule);
  for (const frame of frames) window.push(frame);
  const scores = window.scores();
  window.clear();
  return scores;
}
