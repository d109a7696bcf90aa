/**
 * What of two files is judged: regions that a file of its own names, and what a benchmark's reference sets aside, as
 * costs of the objects (coverage/), so that nothing jumps at a border. The benchmarks' own hard rules are --preprocess.
 *
 *   {"knows": "coverage", "regions": [{"polygon": [[x, y], ...]}], "ignore": [{"box": [left, top, width, height]}]}
 */

import {
  Coverage,
  type CoverageRules,
  countReasons,
  KNOWLEDGE,
  type Moving,
  type NotJudgedReason,
  type Side,
  weighAltitudes,
} from '../../../coverage/coverage.js';
import { type Region, regionProblem } from '../../../coverage/region.js';
import { evaluate } from '../../../metric/evaluate.js';
import type { Evaluation, Frame, FrameEvaluation, Obj } from '../../../metric/evaluation.js';
import type { PackedObjects } from '../../../metric/frame.js';
import { InputError, type Problem } from '../../../metric/input-error.js';
import { BOX_DISTANCES, type DistanceName, type Params } from '../../../metric/params.js';
import type { SolveOptions } from '../../../metric/solve-options.js';
import { whole } from '../../console/numbers.js';
import type { Progress } from '../../console/progress.js';
import type { Beside } from '../../files/pair-reader.js';
import { readText } from '../../files/recordings.js';

export type NotJudged = Record<Side, Partial<Record<NotJudgedReason, number>>>;

/** Frames whose objects carry what they cost alone, and of each why it is not judged. */
export interface CoveredFrames {
  frames: Frame[];
  reasons: Array<Record<Side, ReadonlyArray<NotJudgedReason | null>>>;
}

/** What a file of regions may say: also what a unit of altitude counts for. */
export interface EvalCoverage extends CoverageRules {
  verticalWeight: number;
}

const COMPLETE: EvalCoverage & Required<CoverageRules> = {
  knows: 'complete',
  regions: [],
  ignore: [],
  within: [],
  verticalWeight: 1,
};
const KEYS = Object.keys(COMPLETE)
  .join(', ')
  .replace(/, (?=[^,]*$)/, ' and ');

/** Reads a file of regions, or throws one InputError with all that is wrong with it. */
export function readCoverage(file: string, distance: DistanceName): EvalCoverage {
  const given = parsed(file);
  const problems: Problem[] = [];
  const wrong = (path: string, value: unknown, message: string) =>
    problems.push({ path: `${file} ${path}`.trim(), value, message });
  const rules = { ...COMPLETE, ...given };
  for (const key of Object.keys(given))
    if (!(key in COMPLETE)) wrong(key, given[key], `is not known; there are ${KEYS}`);
  if (!KNOWLEDGE.includes(rules.knows)) wrong('knows', rules.knows, `must be one of ${KNOWLEDGE.join(', ')}`);
  if (!(rules.verticalWeight > 0 && rules.verticalWeight <= 1000))
    wrong('verticalWeight', rules.verticalWeight, 'must be a number above 0, up to 1000');
  for (const key of ['regions', 'ignore', 'within'] as const) {
    if (!Array.isArray(rules[key])) wrong(key, rules[key], 'must be a list of regions');
    else
      rules[key].forEach((region, n) => {
        const found = problemOf(region, distance);
        if (found) wrong(`${key}[${n}]${found.path && `.${found.path}`}`, region, found.message);
      });
  }
  if (problems.length === 0 && rules.knows === 'coverage' && rules.regions.length === 0)
    wrong('regions', rules.regions, 'knows: coverage needs the regions inside which objects are judged');
  if (problems.length > 0) throw new InputError(problems);
  return rules;
}

function parsed(file: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(readText(file));
  } catch (error) {
    if (error instanceof InputError) throw error;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new InputError([{ path: file, value: 'no JSON object', message: `must be an object with ${KEYS}` }]);
  return value as Record<string, unknown>;
}

function problemOf(region: Region, distance: DistanceName): { path: string; message: string } | null {
  if (typeof region !== 'object' || region === null)
    return { path: '', message: 'must be {"polygon"}, {"sector"} or {"box"}' };
  try {
    return regionProblem(region, distance === 'geodesic');
  } catch {
    return { path: '', message: 'must be a polygon of places, a sector with at and range, or a box of four numbers' };
  }
}

/** The frames under what is judged in them. `asides`: what the reference sets aside in each of them. */
function coveredFrames(
  frames: readonly Frame[],
  params: Params,
  rules: EvalCoverage | null,
  asides: ReadonlyArray<readonly Beside[]> | null,
): CoveredFrames {
  const { verticalWeight, ...known } = rules ?? COMPLETE;
  const coverage = new Coverage(known, params.distance, verticalWeight);
  const most = params.cutoff / 2 ** (1 / params.exponent);
  const reasons: CoveredFrames['reasons'] = [];
  const covered = frames.map(({ reference, tracker }, n): Frame => {
    const beside = asides?.[n] ?? [];
    const unclear = packed(unclearIn(beside), params.distance);
    const truths = coverage.judge('reference', packed(reference, params.distance), most);
    // who is beside a distractor is not excused from tracking what counts
    const moving = unclear.ids.length > 0 ? { unclear } : movingOf(beside);
    const tracks = coverage.judge('tracker', packed(tracker, params.distance), most, moving);
    reasons.push({ reference: truths.reasons, tracker: tracks.reasons });
    return { reference: priced(reference, truths.alone), tracker: priced(tracker, tracks.alone) };
  });
  return { frames: covered, reasons };
}

/** Truths whose reports leave open where they are. */
const unclearIn = (beside: readonly Beside[]): Obj[] =>
  beside.flatMap((one) => (one.role === 'gap' ? [one.object] : []));

/** Regions that nobody annotated are ignored; distractors are objects that nobody cares about. */
function movingOf(beside: readonly Beside[]): Moving {
  const distractors = beside.flatMap((one) => (one.role === 'distractor' ? [one] : []));
  return {
    ignore: beside.flatMap((one) => (one.role === 'region' ? [{ box: one.box }] : [])),
    dontCare: {
      shape: 'box',
      stride: 4,
      ids: distractors.map((_, n) => `${n}`),
      coordinates: distractors.flatMap(({ box }) => box),
    },
  };
}

function packed(objects: readonly Obj[], distance: DistanceName): PackedObjects {
  const coordinatesOf = (object: Obj): readonly number[] => ('box' in object ? object.box : object.point);
  return {
    shape: BOX_DISTANCES.has(distance) ? 'box' : 'point',
    stride: objects.length === 0 ? 1 : coordinatesOf(objects[0]).length,
    ids: objects.map(({ id }) => id),
    coordinates: objects.flatMap((object) => [...coordinatesOf(object)]),
  };
}

const priced = (objects: Obj[], alone: number[] | undefined): Obj[] =>
  alone ? objects.map((object, n) => ({ ...object, alone: alone[n] })) : objects;

/** An evaluation, and the frames as they were judged. */
export interface CoveredEvaluation {
  evaluation: Evaluation & { notJudged?: NotJudged };
  frames: Frame[];
}

/** Judges frames under what of them is judged; what is not is in no count of misses and false objects. */
export function evaluateCovered(
  frames: Frame[],
  params: Params,
  solve: SolveOptions,
  rules: EvalCoverage | null,
  asides: ReadonlyArray<readonly Beside[]> | undefined,
  progress?: Pick<Progress, 'counting'>,
): CoveredEvaluation {
  const counted = (list: Frame[]) => (progress ? progress.counting(list) : list);
  if (!rules && !asides) return { evaluation: evaluate(counted(frames), params, solve), frames };
  const covered = coveredFrames(frames, params, rules, asides ?? null);
  const weight = rules?.verticalWeight ?? 1;
  const weighed = weight === 1 ? covered.frames : covered.frames.map((frame) => weighedFrame(frame, weight));
  const evaluation = evaluate(counted(weighed), params, solve);
  return {
    evaluation: { ...evaluation, notJudged: notJudgedIn(evaluation, covered, asides ?? []) },
    frames: covered.frames,
  };
}

/** As the metric sees it: altitudes count by their weight. */
function weighedFrame({ reference, tracker }: Frame, weight: number): Frame {
  const weighed = (object: Obj): Obj =>
    'box' in object ? object : { ...object, point: weighAltitudes(object.point, object.point.length, weight) };
  return { reference: reference.map(weighed), tracker: tracker.map(weighed) };
}

/** Who was not judged, by feed and reason; the metric counts them neither as missed nor as false. */
function notJudgedIn(
  { perFrame }: Evaluation,
  covered: CoveredFrames,
  asides: ReadonlyArray<readonly Beside[]>,
): NotJudged {
  const notJudged: NotJudged = { reference: {}, tracker: {} };
  addReasons(
    notJudged.reference,
    asides.flatMap((beside) => unclearIn(beside).map(() => 'gap' as const)),
  );
  perFrame.forEach((frame, n) => {
    for (const side of ['reference', 'tracker'] as const)
      addReasons(notJudged[side], unpaired(covered, frame, n, side));
  });
  return notJudged;
}

/** Why objects of a frame are not judged that are in no pair. */
function unpaired(
  { frames, reasons }: CoveredFrames,
  { assignment }: Pick<FrameEvaluation, 'assignment'>,
  n: number,
  side: Side,
): Array<NotJudgedReason | null> {
  const end = side === 'reference' ? 'truth' : 'track';
  const paired = new Set(assignment.flatMap((one) => (one.distance === null ? [] : [one[end]])));
  return reasons[n][side].filter((_, at) => !paired.has(frames[n][side][at].id));
}

function addReasons(counts: Partial<Record<NotJudgedReason, number>>, reasons: Array<NotJudgedReason | null>): void {
  for (const [reason, count] of Object.entries(countReasons({ reasons })) as Array<[NotJudgedReason, number]>)
    counts[reason] = (counts[reason] ?? 0) + count;
}

const totalOf = (counts: Partial<Record<NotJudgedReason, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** What was not judged in words; nothing when everything was. */
export function describeNotJudged(name: string, notJudged: NotJudged | undefined): string[] {
  if (!notJudged) return [];
  const side = (what: string, counts: Partial<Record<NotJudgedReason, number>>) => {
    const reasons = Object.entries(counts).map(([reason, count]) => `${whole(count)} ${reason.replace('_', ' ')}`);
    return reasons.length === 0 ? [] : [`${whole(totalOf(counts))} ${what} (${reasons.join(', ')})`];
  };
  const parts = [...side('true', notJudged.reference), ...side('tracked', notJudged.tracker)];
  return [`${name}: not judged: ${parts.length > 0 ? parts.join(' and ') : 'nothing'}.`];
}
