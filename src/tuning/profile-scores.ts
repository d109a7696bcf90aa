/**
 * What each tracker would score under some profiles: TGOSPA of each of its samples, added up over them. A score that
 * was not proven within its time carries the bound and the gap, and says so.
 */

import { evaluate } from '../metric/evaluate.js';
import type { Cost, Count, Frame } from '../metric/evaluation.js';
import { framesFor } from '../metric/frame.js';
import type { Params } from '../metric/params.js';
import type { SolveOptions } from '../metric/solve-options.js';
import { areDetections, counting, labelOf, type TuningSample, type TuningWatch } from './pairs.js';

export interface NamedParams {
  name: string;
  params: Params;
}

/** One tracker under one profile, over all its samples. Costs are to the power of the profile's exponent. */
export interface TuningScore {
  tracker: string;
  profile: string;
  frames: number;
  distance: number;
  cost: Cost;
  count: Count;
  meanLocalizationError: number;
  exact: boolean;
  /** (cost of the best known assignments - proven lower bound) / that cost; 0 when exact */
  gap: number;
}

/** Scores in the order of profiles, then trackers. */
export function scoreSamples(
  samples: readonly TuningSample[],
  profiles: readonly NamedParams[],
  budgetMs: number,
  watch: TuningWatch | undefined,
  position: { step: number; steps: number },
): TuningScore[] {
  const scores: TuningScore[] = [];
  const trackers = [...new Set(samples.map(({ tracker }) => tracker))];
  for (const { name, params } of profiles) {
    for (const tracker of trackers) {
      const score = emptyScore(tracker, name);
      // of the exact metric's cost: what is proven, and what the best known assignment costs
      let lower = 0;
      let upper = 0;
      for (const sample of samples) {
        if (sample.tracker !== tracker) continue;
        const frames = framesFor(params.distance, sample.frames);
        watch?.start({
          label: `${labelOf(sample)}, ${name}`,
          step: ++position.step,
          steps: position.steps,
          total: frames.length,
          unit: 'frames',
        });
        const evaluation = evaluate(counting(frames, watch), params, solveOptions(frames, params, budgetMs));
        add(score.cost, evaluation.cost);
        add(score.count, evaluation.count);
        score.frames += evaluation.frames;
        score.exact &&= evaluation.exact;
        lower += evaluation.exact ? evaluation.cost.total : evaluation.lowerBound;
        upper += evaluation.exact ? evaluation.cost.total : evaluation.lowerBound / (1 - evaluation.gap);
      }
      scores.push(finish(score, lower, upper, params.exponent));
    }
  }
  return scores;
}

/**
 * Detections under a profile in which only lasting changes count leave so much undecided that the frontier overflows at
 * every frame: they go to the program from the start.
 */
function solveOptions(frames: Frame[], { cutoff, switchPenalty }: Params, budgetMs: number): SolveOptions {
  return switchPenalty > cutoff && areDetections(frames) ? { budgetMs, frontierMax: 0 } : { budgetMs };
}

function emptyScore(tracker: string, profile: string): TuningScore {
  return {
    tracker,
    profile,
    frames: 0,
    distance: 0,
    cost: { total: 0, localization: 0, missed: 0, false: 0, switch: 0 },
    count: { proper: 0, missed: 0, false: 0, switches: 0 },
    meanLocalizationError: 0,
    exact: true,
    gap: 0,
  };
}

function add<Sum extends Cost | Count>(sum: Sum, more: Sum): void {
  for (const key of Object.keys(sum) as Array<keyof Sum>) (sum[key] as number) += more[key] as number;
}

function finish(score: TuningScore, lower: number, upper: number, exponent: number): TuningScore {
  const { cost, count, exact } = score;
  return {
    ...score,
    distance: cost.total ** (1 / exponent),
    meanLocalizationError: count.proper > 0 ? (cost.localization / count.proper) ** (1 / exponent) : 0,
    gap: exact || !(upper > 0) ? 0 : Math.max(0, (upper - lower) / upper),
  };
}
