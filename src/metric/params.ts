/**
 * The metric's parameters, and the words people use for them (DESIGN 2.1).
 * `profile` turns an admissible error and a notion of switch into exponent and switch penalty; `checkParams`
 * proves a Params object valid or throws one InputError that lists every mistake.
 */

import { InputError, type Problem } from './input-error.js';

/** Every distance, and what it compares. For a new one the compiler asks for its entries in the tables by distance. */
const COMPARED = {
  iou: 'boxes',
  hausdorff: 'boxes',
  wasserstein: 'boxes',
  euclidean: 'points',
  geodesic: 'points',
} as const;

export type DistanceName = keyof typeof COMPARED;
export const DISTANCES = Object.keys(COMPARED) as readonly DistanceName[];
/** Those of boxes; the others are of points. */
export const BOX_DISTANCES: ReadonlySet<DistanceName> = new Set(DISTANCES.filter((name) => COMPARED[name] === 'boxes'));

/**
 * Weights by age. `forgetting`: a frame that is n frames old weighs forgetting^n, and so does the change into it.
 * Or both lists in order of time, ending with the newest frame (`frame`) and the change into it (`switch`).
 */
export type Weights = { forgetting: number } | { frame: number[]; switch: number[] };

export interface Params {
  distance: DistanceName;
  /** c: a pair at this distance or more is not proper */
  cutoff: number;
  /** p >= 1 */
  exponent: number;
  /** gamma >= 0; 0 is per-frame GOSPA */
  switchPenalty: number;
  /** a miss costs missShare * c^p, a false object (1 - missShare) * c^p */
  missShare?: number;
  weights?: Weights;
}

export interface ProfileWords {
  distance?: DistanceName;
  cutoff: number;
  /** an error above this is worse than no estimate at all; c/2 <= a < c */
  admissibleError?: number;
  exponent?: number;
  /** short changes count; two tracks this close are a switch; below the cut-off */
  shortSwitchDistance?: number;
  /** only changes that last longer than this many frames count */
  longSwitchFrames?: number;
  switchPenalty?: number;
  missShare?: number;
  weights?: Weights;
}

const PARAM_KEYS = ['distance', 'cutoff', 'exponent', 'switchPenalty', 'missShare', 'weights'];
const PROFILE_KEYS = [...PARAM_KEYS, 'admissibleError', 'shortSwitchDistance', 'longSwitchFrames'];

const finite = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

/** Turns words into parameters; distance is `iou` unless given. */
export function profile(words: ProfileWords): Params {
  if (typeof words !== 'object' || words === null) {
    throw new InputError([{ path: 'profile', value: words, message: 'must be an object with at least a cutoff' }]);
  }
  const problems: Problem[] = [];
  const { cutoff } = words;
  const exponent = exponentOf(words, problems);
  const switchPenalty = switchPenaltyOf(words, exponent, problems);
  const params: Params = { distance: words.distance ?? 'iou', cutoff, exponent, switchPenalty };
  if (words.missShare !== undefined) params.missShare = words.missShare;
  if (words.weights !== undefined) params.weights = words.weights;
  // a word that could not be turned into a number is reported as that word, not as the number it would have given
  const named = new Set(problems.map((p) => p.path));
  for (const problem of paramProblems(params)) {
    if (named.has(problem.path)) continue;
    if (problem.path === 'exponent' && words.exponent === undefined && Number.isNaN(exponent)) continue;
    if (problem.path === 'switchPenalty' && words.switchPenalty === undefined && problems.length > 0) continue;
    problems.push(problem);
  }
  unknownKeys(words, PROFILE_KEYS, problems);
  if (problems.length > 0) throw new InputError(problems);
  return params;
}

function exponentOf(words: ProfileWords, problems: Problem[]): number {
  const { cutoff, admissibleError, exponent } = words;
  if (exponent !== undefined && admissibleError !== undefined) {
    problems.push({ path: 'exponent', value: exponent, message: 'give either exponent or admissibleError, not both' });
    return exponent;
  }
  if (admissibleError === undefined) {
    if (exponent === undefined)
      problems.push({ path: 'exponent', value: exponent, message: 'give admissibleError or exponent' });
    return exponent ?? Number.NaN;
  }
  // nothing lies in the range of a cut-off that is wrong itself
  if (!(finite(cutoff) && cutoff > 0) && finite(admissibleError)) return Number.NaN;
  if (!finite(admissibleError) || !(admissibleError >= cutoff / 2 && admissibleError < cutoff)) {
    problems.push({
      path: 'admissibleError',
      value: admissibleError,
      message: `must be at least half the cutoff and below it: from ${cutoff / 2} up to, not including, ${cutoff}`,
    });
    return Number.NaN;
  }
  // exactly half the cut-off is exactly exponent 1
  return admissibleError === cutoff / 2 ? 1 : Math.LN2 / (Math.log(cutoff) - Math.log(admissibleError));
}

function switchPenaltyOf(words: ProfileWords, exponent: number, problems: Problem[]): number {
  const { cutoff, shortSwitchDistance: short, longSwitchFrames: long, switchPenalty: penalty } = words;
  const given = [short, long, penalty].filter((value) => value !== undefined);
  if (given.length !== 1) {
    problems.push({
      path: 'switchPenalty',
      value: given.length === 0 ? undefined : given,
      message: 'give exactly one of shortSwitchDistance, longSwitchFrames, switchPenalty (0 for no switches)',
    });
    return Number.NaN;
  }
  if (short !== undefined) {
    // below a cut-off that is wrong itself lies nothing
    if (finite(short) && short >= 0 && (!(cutoff > 0) || short < cutoff))
      return ((cutoff ** exponent - short ** exponent) / 2) ** (1 / exponent);
    problems.push({
      path: 'shortSwitchDistance',
      value: short,
      message: `must be at least 0 and below the cutoff ${cutoff}`,
    });
    return Number.NaN;
  }
  if (long !== undefined) {
    if (finite(long) && long >= 0) return long ** (1 / exponent) * cutoff;
    problems.push({ path: 'longSwitchFrames', value: long, message: 'must be a number of frames, at least 0' });
    return Number.NaN;
  }
  return penalty!;
}

/** DESIGN 2.1: a window of T frames never shows a switch that must last n frames on both sides when T <= 2n + 1. */
export function windowWarning(params: Params, windowFrames: number): string | undefined {
  const lasting = Math.round((params.switchPenalty / params.cutoff) ** params.exponent * 1e9) / 1e9;
  if (lasting < 1 || windowFrames > 2 * lasting + 1) return undefined;
  return `a window of ${windowFrames} frames never shows a switch that must last ${lasting} frames on both sides; use more than ${2 * lasting + 1} frames`;
}

/** The published profiles, for boxes under 1 - IoU. */
export const presets = {
  'detector-training': preset({ distance: 'iou', cutoff: 0.255, admissibleError: 0.17, switchPenalty: 0 }),
  'online-surveillance': preset({ distance: 'iou', cutoff: 0.5, admissibleError: 0.34, shortSwitchDistance: 0.17 }),
  'offline-scene-understanding': preset({ distance: 'iou', cutoff: 0.5, admissibleError: 0.25, longSwitchFrames: 10 }),
} as const satisfies Record<string, Params>;

/** Shared by everybody, so nobody changes it by accident. */
function preset(words: ProfileWords): Readonly<Params> {
  return Object.freeze(profile(words));
}

/** Throws one InputError with every mistake; `extraKeys` are keys the caller knows besides. */
export function checkParams(params: Params, extraKeys: string[] = []): void {
  if (typeof params !== 'object' || params === null) {
    throw new InputError([{ path: 'params', value: params, message: 'must be an object; see presets for examples' }]);
  }
  const problems = paramProblems(params);
  unknownKeys(params, [...PARAM_KEYS, ...extraKeys], problems);
  if (problems.length > 0) throw new InputError(problems);
}

function paramProblems(params: Params): Problem[] {
  const problems: Problem[] = [];
  const expect = (ok: boolean, path: string, value: unknown, message: string) => {
    if (!ok) problems.push({ path, value, message });
  };
  const { distance, cutoff, exponent, switchPenalty, missShare, weights } = params;
  expect(DISTANCES.includes(distance), 'distance', distance, `must be one of ${DISTANCES.join(', ')}`);
  expect(
    finite(cutoff) && cutoff > 0,
    'cutoff',
    cutoff,
    'must be a finite number above 0, in the unit of the distance',
  );
  expect(
    !(distance === 'iou' && finite(cutoff) && cutoff > 1),
    'cutoff',
    cutoff,
    'must be at most 1 for distance iou, which is never larger',
  );
  expect(finite(exponent) && exponent >= 1, 'exponent', exponent, 'must be a finite number, at least 1');
  expect(
    finite(switchPenalty) && switchPenalty >= 0,
    'switchPenalty',
    switchPenalty,
    'must be a finite number, at least 0 (0 for no switches)',
  );
  expect(
    missShare === undefined || (finite(missShare) && missShare > 0 && missShare < 1),
    'missShare',
    missShare,
    'must lie strictly between 0 and 1; 0.5 weighs missed and false alike',
  );
  if (weights !== undefined) weightProblems(weights, problems);
  if (problems.length === 0) {
    expect(
      Number.isFinite(cutoff ** exponent) && cutoff ** exponent > 0,
      'exponent',
      exponent,
      `cutoff ${cutoff} to this power leaves the range of numbers; choose a smaller exponent or another unit`,
    );
    expect(
      Number.isFinite(switchPenalty ** exponent),
      'switchPenalty',
      switchPenalty,
      `to the power ${exponent} it leaves the range of numbers; choose a smaller one`,
    );
  }
  return problems;
}

function weightProblems(weights: Weights, problems: Problem[]): void {
  if (typeof weights !== 'object' || weights === null) {
    problems.push({ path: 'weights', value: weights, message: 'must be { forgetting } or { frame, switch }' });
    return;
  }
  for (const key of Object.keys(weights)) {
    if (key !== 'forgetting' && key !== 'frame' && key !== 'switch')
      problems.push({
        path: `weights.${key}`,
        value: (weights as Record<string, unknown>)[key],
        message: 'is not known; give { forgetting } or { frame, switch }',
      });
  }
  if ('forgetting' in weights) {
    const { forgetting } = weights;
    if ('frame' in weights || 'switch' in weights)
      problems.push({ path: 'weights', value: weights, message: 'give either { forgetting } or { frame, switch }' });
    if (!finite(forgetting) || forgetting <= 0 || forgetting > 1) {
      problems.push({
        path: 'weights.forgetting',
        value: forgetting,
        message: 'must be above 0 and at most 1 (1 forgets nothing)',
      });
    }
    return;
  }
  for (const key of ['frame', 'switch'] as const) {
    const list = weights[key];
    if (!Array.isArray(list)) {
      problems.push({ path: `weights.${key}`, value: list, message: 'must be a list of numbers, oldest first' });
      continue;
    }
    const bad = list.findIndex((w) => !finite(w) || w < 0);
    if (bad >= 0)
      problems.push({
        path: `weights.${key}[${bad}]`,
        value: list[bad],
        message: 'must be a finite number, at least 0',
      });
  }
}

function unknownKeys(object: object, known: string[], problems: Problem[]): void {
  for (const key of Object.keys(object)) {
    if (!known.includes(key)) {
      problems.push({
        path: key,
        value: (object as Record<string, unknown>)[key],
        message: `is not a parameter; known are ${known.join(', ')}`,
      });
    }
  }
}
