/** The public door of the library. */

export { ScoreWindow, scoreFrames, scoreTotals } from './scores/score-window.js';
export type { SimilarityRule } from './scores/similarity.js';
export { addTotals, type ScoreName, type Scores, scoresOf, type Totals } from './scores/totals.js';
export { evaluate } from './tgospa/evaluate.js';
export type * from './tgospa/evaluation.js';
export { InputError, type Problem } from './tgospa/input-error.js';
export { type DistanceName, type Params, type ProfileWords, presets, profile, type Weights } from './tgospa/params.js';
export { SlidingWindow, type WindowParams, type WindowSnapshot } from './tgospa/sliding-window.js';
export type { SolveOptions } from './tgospa/solve-options.js';
export {
  type Candidate,
  type Choice,
  type TrackerVerdict,
  type Tuning,
  type TuningOptions,
  tune,
} from './tuning.js';
export type { Histogram, Interval, IntervalName } from './tuning-intervals.js';
export type { ExamplePair, TuningSample, TuningWatch } from './tuning-pairs.js';
export type { TuningScore } from './tuning-scores.js';

import { loadSimplexSync } from './tgospa/simplex.js';
import { useSimplex } from './tgospa/solve-options.js';

useSimplex(loadSimplexSync);
