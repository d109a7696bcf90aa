/**
 * The metric of a finished sequence: all frames enter, then one solve.
 */

import { auditWindow } from './audit.js';
import { distances } from './distance.js';
import type { Audit, Evaluation, Frame, FrameEvaluation } from './evaluation.js';
import { FramePacker, type PackedFrame } from './frame.js';
import { InputError, noting, type Problem } from './input-error.js';
import { inspector } from './inspector.js';
import { checkParams, DISTANCES, type Params } from './params.js';
import { isFractional, readFrames, type WindowTotals } from './read-out.js';
import { solveWindow } from './refinement.js';
import { budgetOf, type SolveOptions, solveSettings } from './solve-options.js';
import { Solver } from './solver.js';
import type { FrameAssignment } from './window/frame-record.js';

/** Frames are read until so many mistakes have been found. */
const PROBLEMS_MAX = 100;

/** TGOSPA of `frames`, exact and split into its components. Throws InputError. */
export function evaluate(frames: Iterable<Frame>, params: Params, options: SolveOptions = {}): Evaluation {
  const packed = pack(frames, params, options);
  const evaluation = evaluatePacked(packed, params, options);
  if (!options.auditEvery) return evaluation;
  const audit: Audit = { checked: 0, disagreements: 0, worstDifference: 0 };
  auditWindow(audit, evaluation, packed, params, options, evaluatePacked);
  return { ...evaluation, audit };
}

/**
 * The same of frames that are packed, and without its frames: for whoever needs sums only, or packed frames for
 * something else too. Reading all frames out takes its time.
 */
export function totalsOfPacked(
  packed: PackedFrame[],
  params: Params,
  options: SolveOptions = {},
): Omit<Evaluation, 'perFrame'> {
  if (inspector) {
    const { perFrame: _perFrame, ...totals } = evaluatePacked(packed, params, options);
    return totals;
  }
  checkWeights(params, packed.length);
  return solveAll(new Solver(params, solveSettings(options), packed.length), packed, options);
}

/** All frames; the mistakes in them, in the parameters and in the options are told together. Throws InputError. */
export function pack(frames: Iterable<Frame>, params: Params, options: SolveOptions): PackedFrame[] {
  const problems: Problem[] = [];
  noting(problems, () => checkParams(params));
  noting(problems, () => solveSettings(options));
  const packed: PackedFrame[] = [];
  if (typeof frames?.[Symbol.iterator] !== 'function') {
    const message = 'must be a list of frames, or anything else that can be iterated: [{ reference, tracker }, ...]';
    problems.push({ path: 'frames', value: frames, message });
  } else {
    const packer = new FramePacker();
    let distance = params?.distance;
    let number = 0;
    for (const frame of frames) {
      const place = `frames[${number++}]`;
      // under a distance that is wrong itself, objects are taken for what the first one is
      if (!DISTANCES.includes(distance)) distance = hasBoxes(frame) ? 'iou' : 'euclidean';
      const next = noting(problems, () => packer.pack(frame, distance, place));
      if (next) packed.push(next);
      else if (problems.length >= PROBLEMS_MAX) break;
    }
  }
  if (problems.length > 0) throw new InputError(problems);
  return packed;
}

const hasBoxes = (frame: Frame | undefined) =>
  [frame?.reference, frame?.tracker].some((feed) => Array.isArray(feed) && feed[0] && 'box' in feed[0]);

export function evaluatePacked(packed: PackedFrame[], params: Params, options: SolveOptions): Evaluation {
  checkWeights(params, packed.length);
  const solver = new Solver(params, solveSettings(options), packed.length);
  const window = solveAll(solver, packed, options);
  const evaluation = { ...window, perFrame: readFrames(solver) };
  inspector?.({ evaluation, frames: packed, params, fractional: isFractional(solver) });
  return evaluation;
}

/** All frames enter, each for its share of the budget; then they are solved. */
function solveAll(solver: Solver, packed: readonly PackedFrame[], options: SolveOptions): WindowTotals {
  const { budgetMs = Number.POSITIVE_INFINITY } = options;
  for (const frame of packed) solver.append(frame, budgetOf({ budgetMs: budgetMs / packed.length }));
  return solveWindow(solver, budgetOf(options));
}

/** The frames of an evaluation that was out of time, as they were assigned then. */
export function readAgain(packed: PackedFrame[], params: Params, assigned: FrameAssignment[]): FrameEvaluation[] {
  const solver = new Solver(params, solveSettings({}), packed.length);
  const between = distances[params.distance];
  packed.forEach((frame, n) => {
    const { pairs } = assigned[n];
    if (!pairs) {
      solver.append(frame);
      return;
    }
    const { reference, tracker, stride } = frame;
    const distance = pairs.truth.map((truth, at) =>
      between(reference.coordinates, truth, tracker.coordinates, pairs.track[at], stride),
    );
    solver.appendAssigned(frame, { count: distance.length, ...pairs, distance });
  });
  solver.contents.frameList().forEach((frame, n) => {
    frame.reassign(assigned[n]);
  });
  return readFrames(solver);
}

/** Lists of weights must reach as far back as the frames do. */
export function checkWeights(params: Params, frameCount: number): void {
  const { weights } = params;
  if (!weights || 'forgetting' in weights) return;
  const problems: Problem[] = [];
  for (const [key, needed] of [
    ['frame', frameCount],
    ['switch', frameCount - 1],
  ] as const) {
    if (weights[key].length < needed) {
      problems.push({
        path: `weights.${key}`,
        value: weights[key].length,
        message: `has fewer entries than the ${needed} needed for ${frameCount} frames; add weights for older frames at the front`,
      });
    }
  }
  if (problems.length > 0) throw new InputError(problems);
}
