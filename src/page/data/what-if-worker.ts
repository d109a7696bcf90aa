/**
 * The kernel in a worker of the browser: judges the frames it was given last under other parameters, or a stretch of
 * the past frame by frame, as the evaluator did when it was new.
 */
import { evaluate } from '../../metric/evaluate.js';
import type { Evaluation, Frame, FrameEvaluation } from '../../metric/evaluation.js';
import type { Params } from '../../metric/params.js';
import { SlidingWindow } from '../../metric/sliding-window.js';

export type WhatIfQuestion =
  | { frames: Frame[] }
  | { number: number; params: Params }
  | { past: Frame[]; params: Params & { windowFrames: number } };
export type PastAnswer = { past: JudgedFrame[] } | { mistake: string };

/** A frame and the window that ends with it. */
export interface JudgedFrame {
  evaluation: Omit<Evaluation, 'perFrame'>;
  newest: FrameEvaluation;
}
export type WhatIfAnswer =
  | { number: number; evaluation: Omit<Evaluation, 'perFrame'>; ms: number }
  | { number: number; mistake: string };

/** A solve that takes longer is cut short and reported with its gap. */
const BUDGET_MS = 5000;
const PUSH_BUDGET_MS = 100;

let frames: Frame[] = [];

function answer({ number, params }: { number: number; params: Params }): WhatIfAnswer {
  const startMs = performance.now();
  try {
    const { perFrame: _, ...evaluation } = evaluate(frames, params, { budgetMs: BUDGET_MS });
    return { number, evaluation, ms: performance.now() - startMs };
  } catch (error) {
    return { number, mistake: (error as Error).message };
  }
}

function judgePast(past: Frame[], params: Params & { windowFrames: number }): PastAnswer {
  try {
    const window = new SlidingWindow(params, { budgetMs: PUSH_BUDGET_MS });
    const judged = past.map((frame) => {
      const { frames, distance, cost, count, meanLocalizationError, newest, ...proof } = window.push(frame);
      const { exact, lowerBound, gap, solver } = proof;
      const evaluation = { frames, distance, cost, count, meanLocalizationError, exact, lowerBound, gap, solver };
      return { evaluation, newest };
    });
    return { past: judged };
  } catch (error) {
    return { mistake: (error as Error).message };
  }
}

self.addEventListener('message', ({ data }: MessageEvent<WhatIfQuestion>) => {
  if ('frames' in data) frames = data.frames;
  else if ('past' in data) self.postMessage(judgePast(data.past, data.params));
  else self.postMessage(answer(data));
});
