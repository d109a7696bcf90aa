/**
 * The companion scores of a live window, worked out from its frames once in `strideFrames` frames. They depend on the
 * frames alone, not on a profile, so a tracker has one companion however many profiles it is judged under.
 */

import type { FrameView } from '../metric/window/frame-record.js';
import { ScoreWindow } from './score-window.js';
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

/** windows up to this length are scored in memory that is kept for the next one */
const KEPT_FRAMES = 1000;
let kept: { window: ScoreWindow; rule: SimilarityRule } | null = null;

function scoresOfWindow(frames: readonly FrameView[], rule: SimilarityRule): Scores {
  const window = windowFor(frames.length, rule);
  for (const frame of frames) window.push(frame);
  const scores = window.scores();
  window.clear();
  return scores;
}

/** All companions take turns with one window. */
function windowFor(length: number, rule: SimilarityRule): ScoreWindow {
  if (kept && kept.window.windowFrames >= length && isSame(kept.rule, rule)) return kept.window;
  const window = new ScoreWindow(Math.max(1, length), rule);
  if (length <= KEPT_FRAMES) kept = { window, rule };
  return window;
}

const isSame = (one: SimilarityRule, other: SimilarityRule): boolean =>
  one.kind === other.kind && (one.kind === 'iou' || (other.kind !== 'iou' && one.zeroDistance === other.zeroDistance));
