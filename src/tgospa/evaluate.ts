/**
 * The metric of a finished sequence: all frames enter, then one solve.
 */

import { auditWindow } from './audit.js';
import type { Audit, Evaluation, Frame, FrameEvaluation } from './evaluation.js';
import { type PackedFrame, packFrame } from './frame.js';
import type { FrameAssignment } from './frame-record.js';
import { InputError } from './input-error.js';
import { inspector } from './inspector.js';
import { checkParams, type Params } from './params.js';
import { isFractional, readFrames, readWindow } from './read-out.js';
import { Scene } from './scene.js';
import { budgetOf, type SolveOptions, solveSettings } from './solve-options.js';

/** TGOSPA of `frames`, exact and split into its components. Throws InputError. */
export function evaluate(frames: Iterable<Frame>, params: Params, options: SolveOptions = {}): Evaluation {
  checkParams(params);
  const packed: PackedFrame[] = [];
  let stride = 0;
  for (const frame of frames) {
    const next = packFrame(frame, params.distance, stride, `frames[${packed.length}]`);
    stride ||= next.stride;
    packed.push(next);
  }
  const evaluation = evaluatePacked(packed, params, options);
  if (!options.auditEvery) return evaluation;
  const audit: Audit = { checked: 0, disagreements: 0, worstDifference: 0 };
  auditWindow(audit, evaluation, packed, params, options, evaluatePacked);
  return { ...evaluation, audit };
}

export function evaluatePacked(packed: PackedFrame[], params: Params, options: SolveOptions): Evaluation {
  checkWeights(params, packed.length);
  const scene = new Scene(params, solveSettings(options), null);
  try {
    for (const frame of packed) scene.enter(frame);
    scene.solve(budgetOf(options));
    const perFrame: FrameEvaluation[] = readFrames(scene);
    const evaluation = { ...readWindow(scene), perFrame };
    inspector?.({ evaluation, frames: packed, params, fractional: isFractional(scene) });
    return evaluation;
  } finally {
    scene.dispose();
  }
}

/** The frames of an evaluation that was out of time, as they were assigned then. */
export function readAgain(packed: PackedFrame[], params: Params, assigned: FrameAssignment[]): FrameEvaluation[] {
  const scene = new Scene(params, solveSettings({}), null);
  for (const frame of packed) scene.enter(frame);
  scene.frameList().forEach((frame, n) => {
    frame.reassign(assigned[n]);
  });
  return readFrames(scene);
}

/** Lists of weights must reach as far back as the frames do. */
export function checkWeights(params: Params, frameCount: number): void {
  const { weights } = params;
  if (!weights || 'forgetting' in weights) return;
  for (const [key, needed] of [
    ['frame', frameCount],
    ['switch', frameCount - 1],
  ] as const) {
    if (weights[key].length < needed) {
      throw new InputError([
        {
          path: `weights.${key}`,
          value: weights[key].length,
          message: `has fewer entries than the ${needed} needed for ${frameCount} frames; add weights for older frames at the front`,
        },
      ]);
    }
  }
}
