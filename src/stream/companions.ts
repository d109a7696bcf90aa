/**
 * The other scores of a stream (HOTA, CLEAR, Identity), one companion for each tracker: the same frames give the same
 * scores under every profile. Empty while scores are off.
 */
import { Companion, type CompanionState, type ScoreReading } from '../scores/companion.js';
import type { SimilarityRule } from '../scores/similarity.js';
import type { StreamPlan } from './plan.js';

export type CompanionStates = Array<[tracker: string, state: CompanionState]>;

export class Companions {
  #plan: StreamPlan;
  readonly #byTracker = new Map<string, Companion>();

  constructor(plan: StreamPlan, states: CompanionStates = []) {
    this.#plan = plan;
    for (const [tracker, state] of states) this.#start(tracker, state);
  }

  /** The companion of a tracker, whose window has `framesBefore` when it starts; undefined while scores are off. */
  of(tracker: string, framesBefore: () => number): Companion | undefined {
    // settings of an older snapshot have none
    if (!this.#plan.settings.scores?.enabled) return undefined;
    return this.#byTracker.get(tracker) ?? this.#start(tracker, framesBefore());
  }

  #start(tracker: string, before: number | CompanionState): Companion {
    const companion = new Companion(similarityRule(this.#plan), this.#plan.settings.scores.strideFrames, before);
    this.#byTracker.set(tracker, companion);
    return companion;
  }

  /** The last scores of a tracker. */
  reading(tracker: string): ScoreReading | null | undefined {
    return this.#byTracker.get(tracker)?.reading;
  }

  /** Companions start anew when what they depend on has changed. */
  configure(plan: StreamPlan): void {
    if (termsOf(plan) !== termsOf(this.#plan)) this.#byTracker.clear();
    this.#plan = plan;
  }

  /** Drops the companion of a tracker, or with null all. */
  drop(tracker: string | null): void {
    if (tracker === null) this.#byTracker.clear();
    else this.#byTracker.delete(tracker);
  }

  toJSON(): CompanionStates {
    return [...this.#byTracker].map(([tracker, companion]) => [tracker, companion.toJSON()]);
  }
}

/** Boxes by IoU; points by the distance of the first profile, at most as far as configured. */
function similarityRule({ shape, settings, profiles }: StreamPlan): SimilarityRule {
  if (shape === 'box') return { kind: 'iou' };
  const [{ distance, cutoff }] = Object.values(profiles);
  const kind = distance === 'geodesic' ? 'geodesic' : 'euclidean';
  return { kind, zeroDistance: settings.scores.zeroDistance ?? 2 * cutoff };
}

const termsOf = (plan: StreamPlan) =>
  JSON.stringify([plan.settings.scores, plan.settings.windowFrames, similarityRule(plan)]);
