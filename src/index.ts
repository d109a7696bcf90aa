/** The public door of the library. */

export {
  Coverage,
  type CoverageRules,
  type CoverageVerdict,
  countReasons,
  type Knowledge,
  type Moving,
  type NotJudgedReason,
} from './coverage/coverage.js';
export type { Place, Region, Sector } from './coverage/region.js';
export {
  type DetectorNews,
  type DetectorParams,
  type DetectorSource,
  type DetectorState,
  type DiagnosisNews,
  SpikeDetector,
} from './incidents/detector.js';
export { IncidentWatch, type IncidentWatchState } from './incidents/incident.js';
export { evaluate } from './metric/evaluate.js';
export type * from './metric/evaluation.js';
export { InputError, type Problem } from './metric/input-error.js';
export { type DistanceName, type Params, type ProfileWords, presets, profile, type Weights } from './metric/params.js';
export { SlidingWindow, type WindowParams, type WindowSnapshot } from './metric/sliding-window.js';
export type { SolveOptions } from './metric/solve-options.js';
export { ScoreWindow, scoreFrames, scoreTotals } from './scores/score-window.js';
export type { SimilarityRule } from './scores/similarity.js';
export { addTotals, type ScoreName, type Scores, scoresOf, type Totals } from './scores/totals.js';
export type { Objective, SpikeKeys, SpikeSettings } from './spikes/settings.js';
export type { Signal } from './spikes/signals.js';
export type { FrameTime, SpikeGauge, SpikeNews, SpikeState } from './spikes/watch.js';
export type { IncrementHistogram, Interval, IntervalName } from './tuning/intervals.js';
export type { ExamplePair, TuningSample, TuningWatch } from './tuning/pairs.js';
export type { TuningScore } from './tuning/profile-scores.js';
export {
  type Candidate,
  type Choice,
  type TrackerVerdict,
  type Tuning,
  type TuningOptions,
  tune,
} from './tuning/tuning.js';
export type { CauseName, Diagnosis, Incident, IncidentNews, IncidentSignal } from './wire/incidents.js';
