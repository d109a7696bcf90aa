/**
 * Choosing the metric's parameters from sample data, by the published method: assign every frame at a large cut-off,
 * look at the increments of pairs and localization along the cut-off, find the plateau, and put cut-off and admissible
 * error into it; the exponent follows from them. The switch penalty is a matter of what shall count, so it is asked for
 * in those words.
 *
 * Unless told otherwise the cut-off is the middle of the plateau and the admissible error its beginning (but from half
 * to three quarters of the cut-off: below, the exponent would fall below 1, above, it explodes). From the published
 * plateaus this gives the published choices.
 */

import { InputError, type Problem } from '../metric/input-error.js';
import { DISTANCES, type DistanceName, type Params, type ProfileWords, presets, profile } from '../metric/params.js';
import {
  type Boundaries,
  countBelow,
  type IncrementHistogram,
  type Interval,
  intervalsBetween,
  lastEdge,
  proposeBoundaries,
} from './intervals.js';
import {
  type ExamplePair,
  findPairs,
  kindOf,
  medianOf,
  type Pairs,
  reachOf,
  spacingOf,
  type TrackerPairs,
  type TuningSample,
  type TuningWatch,
} from './pairs.js';
import { type NamedParams, scoreSamples, type TuningScore } from './profile-scores.js';
import { warningsOn } from './warnings.js';
import { explain } from './words.js';

export interface TuningOptions {
  /** `iou` for boxes and `euclidean` for points unless given */
  distance?: DistanceName;
  /**
   * the large cut-off, up to which pairs are looked for; 1 for `iou`, else ten times the usual distance unless given
   */
  reach?: number;
  /** steps of the histogram between 0 and the reach */
  steps?: number;
  /** growth ends where increments fall below this share of the highest */
  growthShare?: number;
  /** the plateau ends where they fall below this share */
  distantShare?: number;
  /** the plateau itself, instead of the one that is found */
  plateau?: [from: number, to: number];
  /** name of the candidate */
  name?: string;
  cutoff?: number;
  admissibleError?: number;
  exponent?: number;
  /**
   * one of these three; without any, no switches for detections, and otherwise half the admissible error as short
   * distance
   */
  shortSwitchDistance?: number;
  longSwitchFrames?: number;
  switchPenalty?: number;
  missShare?: number;
  /** length of the sliding window that the parameters are meant for */
  windowFrames?: number;
  /** false: no scores, which take most of the time */
  scores?: boolean;
  /** time for each score, milliseconds */
  budgetMs?: number;
  watch?: TuningWatch;
}

/** A choice of cut-off and admissible error, and the exponent that follows. */
export interface Choice {
  cutoff: number;
  admissibleError: number;
  exponent: number;
}

export interface Candidate {
  name: string;
  /** as it is written into a configuration */
  words: ProfileWords;
  params: Params;
  /** what will and will not count */
  explanation: string[];
}

/** What a tracker's own pairs say. */
export interface TrackerVerdict {
  tracker: string;
  truths: number;
  tracks: number;
  pairs: number;
  medianDistance: number;
  /** share of its pairs beyond the cut-off of the candidate, or null without one */
  beyondShare: number | null;
  /** detections: tracks live for a single frame */
  detector: boolean;
  /** too loose to tell anything: its increments never fall, right pairs cannot be told from wrong ones */
  loose: boolean;
}

export interface Tuning {
  distance: DistanceName;
  kind: 'box' | 'point';
  reach: number;
  pairs: number;
  histogram: IncrementHistogram;
  /** growth, plateau, distant, none: from 0 to the reach */
  intervals: Interval[];
  /** null when there is none; then nothing is proposed unless a cut-off was given */
  plateau: { from: number; to: number; given: boolean } | null;
  candidate: Candidate | null;
  /** other choices inside the plateau, e.g. the cut-off at its end */
  alternatives: Choice[];
  trackers: TrackerVerdict[];
  /** pairs to look at, nearest first */
  examples: ExamplePair[];
  /** by profile, then tracker: the candidate and, for boxes, the presets */
  scores: TuningScore[];
  /** everything a reader should know before trusting the proposal */
  warnings: string[];
}

export const TUNING_DEFAULTS = {
  steps: 40,
  growthShare: 0.05,
  distantShare: 0.01,
  name: 'tuned',
  windowFrames: 60,
  budgetMs: 5000,
} as const;

const STEPS_MIN = 8;
const STEPS_MAX = 1000;
const EXPONENT_WORDS = ['admissibleError', 'exponent'] as const;
const SWITCH_WORDS = ['shortSwitchDistance', 'longSwitchFrames', 'switchPenalty'] as const;
/**
 * A cut-off given without a plateau gets this share of it as admissible error, as the published detector profile has
 * it.
 */
const ADMISSIBLE_SHARE = 2 / 3;
/** The largest share of the cut-off that is proposed, the largest that was published: exponent 2.41. */
export const ADMISSIBLE_SHARE_MAX = 0.75;

/** Proposes parameters for `samples`. Throws one InputError that lists every mistake in options and frames. */
export function tune(samples: readonly TuningSample[], options: TuningOptions = {}): Tuning {
  const kind = kindOf(samples);
  const distance = options.distance ?? (kind === 'point' ? 'euclidean' : 'iou');
  checkOptions(samples, kind, distance, options);
  const { steps = TUNING_DEFAULTS.steps, name = TUNING_DEFAULTS.name, scores = true, watch } = options;
  const profiles: NamedParams[] =
    kind === 'box' ? Object.entries(presets).map(([preset, params]) => ({ name: preset, params })) : [];
  const position = { step: 0, steps: samples.length * (scores ? 2 + profiles.length : 1) };
  const reach = options.reach ?? reachOf(samples, distance);
  checkPlateau(options.plateau, reach);
  const pairs = findPairs(samples, distance, reach, steps, watch, position);
  const boundaries = boundariesOf(pairs, options);
  const detectors = pairs.trackers.every(({ detector }) => detector);
  const choice = chooseInside(boundaries, options);
  const candidate = choice && candidateOf(name, distance, choice, detectors, options, pairs);
  if (scores && candidate) profiles.unshift({ name, params: candidate.params });
  const budgetMs = options.budgetMs ?? TUNING_DEFAULTS.budgetMs;
  const trackers = pairs.trackers.map((one) => verdictOn(one, options, candidate));
  const spacing = distance === 'iou' ? null : spacingOf(samples, distance);
  return {
    distance,
    kind: kind ?? 'box',
    reach,
    pairs: pairs.distances.length,
    histogram: pairs.histogram,
    intervals: intervalsBetween(reach, boundaries, pairs.distances),
    plateau: boundaries && {
      from: boundaries.plateauFrom,
      to: boundaries.plateauTo,
      given: options.plateau !== undefined,
    },
    candidate,
    alternatives: boundaries ? alternativesOf(boundaries, candidate) : [],
    trackers,
    examples: pairs.examples,
    scores: scores ? scoreSamples(samples, profiles, budgetMs, watch, position) : [],
    warnings: warningsOn(
      { distance, reach, pairs, boundaries, cutoff: candidate?.params.cutoff, spacing },
      trackers.flatMap(({ tracker, loose }) => (loose ? tracker : [])),
    ),
  };
}

function checkOptions(
  samples: readonly TuningSample[],
  kind: 'box' | 'point' | null,
  distance: DistanceName,
  options: TuningOptions,
): void {
  const problems = tuningProblems({ ...options, distance });
  if (samples.length === 0)
    problems.push({ path: 'samples', value: 0, message: 'give at least one sample: a tracker and its frames' });
  else if (kind === null)
    problems.push({
      path: 'samples',
      value: samples.length,
      message: 'have no object in any frame; there is nothing to look at',
    });
  if (problems.length > 0) throw new InputError(problems);
}

/** What is wrong with options, as far as it can be said without samples. */
export function tuningProblems(options: TuningOptions): Problem[] {
  const problems: Problem[] = [];
  const expect = (ok: boolean, path: keyof TuningOptions, message: string) => {
    if (!ok) problems.push({ path, value: options[path], message });
  };
  const between = (value: number, low: number, high: number) => value > low && value < high;
  const known = { ...TUNING_DEFAULTS, ...options };
  const { distance = 'iou', steps, growthShare, distantShare, reach = 1, windowFrames, budgetMs, plateau } = known;
  expect(DISTANCES.includes(distance), 'distance', `must be one of ${DISTANCES.join(', ')}`);
  expect(
    between(reach, 0, Number.POSITIVE_INFINITY) && !(distance === 'iou' && reach > 1),
    'reach',
    `must be above 0 and ${distance === 'iou' ? 'at most 1, the largest distance of iou' : 'finite'}`,
  );
  expect(
    Number.isInteger(steps) && steps >= STEPS_MIN && steps <= STEPS_MAX,
    'steps',
    `must be a whole number from ${STEPS_MIN} to ${STEPS_MAX}`,
  );
  expect(between(growthShare, 0, 1), 'growthShare', 'must lie between 0 and 1');
  expect(
    between(distantShare, 0, growthShare),
    'distantShare',
    `must lie between 0 and the growthShare of ${growthShare}`,
  );
  expect(
    plateau === undefined || (plateau[0] > 0 && between(plateau[1], plateau[0], Number.POSITIVE_INFINITY)),
    'plateau',
    'must be two distances, the first above 0 and below the second',
  );
  expect(
    Number.isInteger(windowFrames) && windowFrames >= 1,
    'windowFrames',
    'must be a whole number of frames, at least 1',
  );
  expect(budgetMs > 0, 'budgetMs', 'must be a number of milliseconds above 0');
  for (const keys of [EXPONENT_WORDS, SWITCH_WORDS] as const) {
    const given = keys.filter((key) => options[key] !== undefined);
    if (given.length > 1) expect(false, given[1], `excludes ${given[0]}; give one of them`);
  }
  return problems;
}

function checkPlateau(plateau: TuningOptions['plateau'], reach: number): void {
  if (plateau === undefined || plateau[1] <= reach) return;
  throw new InputError([
    { path: 'plateau', value: plateau, message: `must end at the reach of ${reach} or before it; or raise the reach` },
  ]);
}

function boundariesOf({ histogram }: Pairs, options: TuningOptions): Boundaries | null {
  const { plateau, growthShare, distantShare } = { ...TUNING_DEFAULTS, ...options };
  if (!plateau) return proposeBoundaries(histogram, { growthShare, distantShare });
  return { plateauFrom: plateau[0], plateauTo: plateau[1], lastPair: lastEdge(histogram) };
}

/** Cut-off and admissible error, or exponent, as told or inside the plateau; null when there is nothing to go by. */
function chooseInside(
  boundaries: Boundaries | null,
  { cutoff, admissibleError, exponent }: TuningOptions,
): Omit<ProfileWords, 'distance'> | null {
  const middle = boundaries && tidy((boundaries.plateauFrom + boundaries.plateauTo) / 2);
  const chosen = cutoff ?? middle;
  if (chosen === null) return null;
  if (exponent !== undefined) return { cutoff: chosen, exponent };
  if (admissibleError !== undefined) return { cutoff: chosen, admissibleError };
  return { cutoff: chosen, admissibleError: admissibleFor(chosen, boundaries) };
}

function admissibleFor(cutoff: number, boundaries: Boundaries | null): number {
  if (boundaries === null || boundaries.plateauFrom >= cutoff) return tidy(cutoff * ADMISSIBLE_SHARE);
  return withinReason(boundaries.plateauFrom, cutoff);
}

/** Below half the cut-off there is no exponent; close to the cut-off it explodes, and errors no longer count. */
function withinReason(admissibleError: number, cutoff: number): number {
  const most = cutoff * ADMISSIBLE_SHARE_MAX;
  return Math.max(cutoff / 2, admissibleError > most * (1 + 1e-9) ? tidy(most) : admissibleError);
}

/** Four digits are enough for a choice. */
function tidy(value: number): number {
  return Number(value.toPrecision(4));
}

function candidateOf(
  name: string,
  distance: DistanceName,
  choice: Omit<ProfileWords, 'distance'>,
  detectors: boolean,
  options: TuningOptions,
  { distances }: Pairs,
): Candidate {
  const { shortSwitchDistance, longSwitchFrames, switchPenalty, missShare } = options;
  const words: ProfileWords = { distance, ...choice };
  if (shortSwitchDistance !== undefined) words.shortSwitchDistance = shortSwitchDistance;
  else if (longSwitchFrames !== undefined) words.longSwitchFrames = longSwitchFrames;
  else if (switchPenalty !== undefined) words.switchPenalty = switchPenalty;
  else if (detectors) words.switchPenalty = 0;
  else words.shortSwitchDistance = tidy((choice.admissibleError ?? choice.cutoff * ADMISSIBLE_SHARE) / 2);
  if (missShare !== undefined) words.missShare = missShare;
  const params = profile(words);
  const windowFrames = options.windowFrames ?? TUNING_DEFAULTS.windowFrames;
  const usualError = medianOf(distances.subarray(0, countBelow(distances, params.cutoff)));
  return { name, words, params, explanation: explain(params, { windowFrames, usualError }) };
}

/**
 * The published three: strict, and the cut-off at the end of the plateau with the admissible error at its beginning or
 * middle.
 */
function alternativesOf({ plateauFrom, plateauTo }: Boundaries, candidate: Candidate | null): Choice[] {
  const middle = tidy((plateauFrom + plateauTo) / 2);
  const choices = [
    [middle, plateauFrom],
    [plateauTo, plateauFrom],
    [plateauTo, middle],
  ].map(([cutoff, error]): Choice => {
    const admissibleError = withinReason(error, cutoff);
    const { exponent } = profile({ cutoff, admissibleError, distance: 'euclidean', switchPenalty: 0 });
    return { cutoff, admissibleError, exponent };
  });
  return choices.filter(
    ({ cutoff, exponent }, index) =>
      !(cutoff === candidate?.params.cutoff && exponent === candidate.params.exponent) &&
      choices.findIndex((other) => other.cutoff === cutoff && other.exponent === exponent) === index,
  );
}

function verdictOn(own: TrackerPairs, options: TuningOptions, candidate: Candidate | null): TrackerVerdict {
  const { tracker, distances, truths, tracks } = own;
  const beyond =
    candidate && distances.length > 0 ? 1 - countBelow(distances, candidate.params.cutoff) / distances.length : null;
  return {
    tracker,
    truths,
    tracks,
    pairs: distances.length,
    medianDistance: medianOf(distances),
    beyondShare: beyond,
    detector: own.detector,
    loose: isLoose(own, options),
  };
}

function isLoose({ histogram, distances }: TrackerPairs, options: TuningOptions): boolean {
  const { growthShare, distantShare } = { ...TUNING_DEFAULTS, ...options };
  return distances.length > 0 && proposeBoundaries(histogram, { growthShare, distantShare }) === null;
}
