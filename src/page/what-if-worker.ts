/** The kernel in a worker of the browser: judges the frames it was given last under other parameters. */
import { evaluate } from '../metric/evaluate.js';
import type { Evaluation, Frame } from '../metric/evaluation.js';
import type { Params } from '../metric/params.js';

export type Question = { frames: Frame[] } | { number: number; params: Params };
export type Answer =
  | { number: number; evaluation: Omit<Evaluation, 'perFrame'>; ms: number }
  | { number: number; mistake: string };

/** A solve that takes longer is cut short and reported with its gap. */
const BUDGET_MS = 5000;

let frames: Frame[] = [];

function answer({ number, params }: { number: number; params: Params }): Answer {
  const startMs = performance.now();
  try {
    const { perFrame: _, ...evaluation } = evaluate(frames, params, { budgetMs: BUDGET_MS });
    return { number, evaluation, ms: performance.now() - startMs };
  } catch (error) {
    return { number, mistake: (error as Error).message };
  }
}

self.addEventListener('message', ({ data }: MessageEvent<Question>) => {
  if ('frames' in data) frames = data.frames;
  else self.postMessage(answer(data));
});
