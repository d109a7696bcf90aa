/**
 * What a study keeps of one tracker on one sequence: per profile the evaluation without its frames, its cost over time
 * and the assignment ribbon; and what the companion scores are made of. Small and plain, so that threads can send it.
 */
import { pack, totalsOfPacked } from '../../../metric/evaluate.js';
import {
  COMPONENTS,
  type Evaluation,
  type Frame,
  type FrameCost,
  type FrameEvaluation,
} from '../../../metric/evaluation.js';
import { framesFor, type PackedFrame } from '../../../metric/frame.js';
import type { Params } from '../../../metric/params.js';
import type { SolveOptions } from '../../../metric/solve-options.js';
import type { RibbonRow } from '../../../report/ribbon.js';
import { scorePacked, scoreTotals } from '../../../scores/score-window.js';
import type { SimilarityRule } from '../../../scores/similarity.js';
import type { Totals } from '../../../scores/totals.js';
import { short } from '../../console/numbers.js';
import type { Beside } from '../../files/pair-reader.js';
import type { EvalCoverage } from './coverage.js';
import { evaluateCovered } from './coverage.js';
import { eventsOf, type JudgedEvent } from './events.js';

export interface NamedProfile {
  name: string;
  params: Params;
}

/** The parameters in words. */
export function describeParams({ distance, cutoff, exponent, switchPenalty, missShare }: Params): string {
  const words = [`distance ${distance}`, `cut-off ${short(cutoff)}`, `exponent ${short(exponent)}`];
  words.push(switchPenalty === 0 ? 'no switches' : `switch penalty ${short(switchPenalty)}`);
  if (missShare !== undefined && missShare !== 0.5) words.push(`miss share ${short(missShare)}`);
  return words.join(', ');
}

/** An evaluation without its frames. */
export type Summary = Omit<Evaluation, 'perFrame' | 'audit'>;

/** Cost over time: sums over `binFrames` frames at a time. */
export interface CostTimeline {
  frames: number;
  binFrames: number;
  cost: Record<keyof FrameCost, number[]>;
}

export interface SequenceRibbon {
  rows: RibbonRow[];
  /** truths in all; `rows` are those with most changes */
  truthCount: number;
}

/** A stretch of frames around one that cost much. */
export interface WorstMoment {
  /** 0-based: the first frame of the stretch, and the worst one */
  first: number;
  worst: number;
  /** mean cost of the frames around the worst one */
  cost: number;
  frames: Frame[];
  judged: FrameEvaluation[];
}

export interface ProfileVerdict {
  evaluation: Summary;
  /** where details are asked for */
  timeline?: CostTimeline;
  ribbon?: SequenceRibbon;
  worst?: WorstMoment[];
  /** where they are asked for */
  events?: JudgedEvent[];
}

export interface Verdict {
  /** in the order of the profiles */
  profiles: ProfileVerdict[];
  /** null unless scores were asked for */
  totals: Totals | null;
}

const BINS_MAX = 240;
const RIBBON_ROWS_MAX = 12;
const WORST_MAX = 2;
/** frames before and after the worst one that are shown, and over which cost is summed to find it */
const AROUND = 20;
const NEAR = 5;

/** How everything is judged. */
export interface JudgingTerms {
  profiles: NamedProfile[];
  solve: SolveOptions;
  /** the companion scores too */
  scores: boolean;
  /** which frames and objects, too */
  events: boolean;
  /** cost over time and ribbons, for a report */
  details: boolean;
  /** what of the scene is judged; null: everything */
  coverage: EvalCoverage | null;
}

/** Judges one sequence under all profiles. */
export function judge(
  { frames, places, asides }: { frames: Frame[]; places: number[]; asides?: Beside[][] },
  { profiles, solve, scores, events, details, coverage }: JudgingTerms,
): Verdict {
  // packed once for all who compare boxes by their overlap: the scores, and most profiles
  let packed: PackedFrame[] | null = null;
  const packedFor = (params: Params) => {
    if (params.distance !== 'iou') return pack(framesFor(params.distance, frames), params, solve);
    packed ??= pack(frames, params, solve);
    return packed;
  };
  const verdicts = profiles.map(({ params }): ProfileVerdict => {
    if (!details && !events && !coverage && !asides && !solve.auditEvery)
      return { evaluation: withoutAudit(totalsOfPacked(packedFor(params), params, solve)) };
    const { evaluation } = evaluateCovered(framesFor(params.distance, frames), params, solve, coverage, asides);
    return verdictOn(evaluation, frames, { details, places: events ? places : null });
  });
  if (!scores) return { profiles: verdicts, totals: null };
  return { profiles: verdicts, totals: packed ? scorePacked(packed, { kind: 'iou' }) : totalsOf(frames, profiles) };
}

/** What the companion scores of one tracker on one sequence are made of. */
export function totalsOf(frames: Frame[], profiles: NamedProfile[]): Totals {
  return scoreTotals(frames, similarityRule(frames, profiles));
}

/** Boxes by IoU, as the benchmarks do. Points: similar down to twice the cut-off, so that 0.5 is the cut-off itself. */
export function similarityRule(frames: Frame[], [{ params }]: NamedProfile[]): SimilarityRule {
  const first = frames.flatMap(({ reference, tracker }) => [reference[0] ?? tracker[0]]).find((object) => object);
  if (!first || 'box' in first) return { kind: 'iou' };
  return { kind: params.distance === 'geodesic' ? 'geodesic' : 'euclidean', zeroDistance: 2 * params.cutoff };
}

function withoutAudit({ audit: _audit, ...summary }: Omit<Evaluation, 'perFrame'>): Summary {
  return summary;
}

/** `places`: numbers of the frames, where events are asked for. */
export function verdictOn(
  evaluation: Evaluation,
  frames: Frame[],
  { details, places }: { details: boolean; places: number[] | null },
): ProfileVerdict {
  const { perFrame, ...totals } = evaluation;
  const verdict: ProfileVerdict = { evaluation: withoutAudit(totals) };
  if (details)
    Object.assign(verdict, {
      timeline: timelineOf(perFrame),
      ribbon: ribbonOf(perFrame, frames),
      worst: worstOf(perFrame, frames),
    });
  if (places) verdict.events = eventsOf(perFrame, frames, places);
  return verdict;
}

function timelineOf(perFrame: Evaluation['perFrame']): CostTimeline {
  const binFrames = Math.max(1, Math.ceil(perFrame.length / BINS_MAX));
  const bins = Math.ceil(perFrame.length / binFrames);
  const cost = Object.fromEntries(COMPONENTS.map((name) => [name, new Array<number>(bins).fill(0)]));
  perFrame.forEach((frame, index) => {
    for (const name of COMPONENTS) cost[name][Math.floor(index / binFrames)] += frame.cost[name];
  });
  return { frames: perFrame.length, binFrames, cost: cost as CostTimeline['cost'] };
}

/** The moments that cost most, the worst first; none overlaps another. */
function worstOf(perFrame: Evaluation['perFrame'], frames: Frame[]): WorstMoment[] {
  const costs = perFrame.map(({ cost }) => COMPONENTS.reduce((sum, name) => sum + cost[name], 0));
  const sums = new Float64Array(costs.length + 1);
  costs.forEach((cost, n) => {
    sums[n + 1] = sums[n] + cost;
  });
  const near = costs.map((_, n) => {
    const [from, to] = [Math.max(0, n - NEAR), Math.min(costs.length, n + NEAR + 1)];
    return (sums[to] - sums[from]) / (to - from);
  });
  const order = [...near.keys()].filter((n) => near[n] > 0).sort((a, b) => near[b] - near[a]);
  const chosen: number[] = [];
  for (const n of order) {
    if (chosen.length === WORST_MAX) break;
    if (chosen.every((other) => Math.abs(other - n) > 2 * AROUND)) chosen.push(n);
  }
  return chosen.map((worst) => {
    const first = Math.max(0, Math.min(worst - AROUND, costs.length - 2 * AROUND - 1));
    const last = Math.min(costs.length, first + 2 * AROUND + 1);
    return { first, worst, cost: near[worst], frames: frames.slice(first, last), judged: perFrame.slice(first, last) };
  });
}

function ribbonOf(perFrame: Evaluation['perFrame'], frames: Frame[]): SequenceRibbon {
  const rows = new Map<string, RibbonRow>();
  const held = new Map<string, string>();
  const partners = new Map<string, string>();
  perFrame.forEach(({ assignment }, k) => {
    partners.clear();
    for (const { truth, track, distance } of assignment) if (distance !== null) partners.set(truth, track);
    for (const { id } of frames[k].reference) {
      let row = rows.get(id);
      if (!row) {
        row = { truth: id, tracks: [], segments: [], changes: 0 };
        rows.set(id, row);
      }
      const track = partners.get(id);
      if (track !== undefined) {
        const before = held.get(id);
        if (before !== undefined && before !== track) row.changes++;
        held.set(id, track);
      }
      extend(row, k, track);
    }
  });
  const busiest = [...rows.values()].sort((a, b) => b.changes - a.changes || b.segments.length - a.segments.length);
  return { rows: busiest.slice(0, RIBBON_ROWS_MAX), truthCount: rows.size };
}

function extend(row: RibbonRow, k: number, track: string | undefined): void {
  const { segments, tracks } = row;
  let index = -1;
  if (track !== undefined) {
    index = tracks.indexOf(track);
    if (index < 0) index = tracks.push(track) - 1;
  }
  const end = segments.length;
  if (end > 0 && segments[end - 1] === index && segments[end - 2] === k - 1) segments[end - 2] = k;
  else segments.push(k, k, index);
}
