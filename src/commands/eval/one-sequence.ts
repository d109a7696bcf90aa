/**
 * Trackers on one sequence as a whole: every tracker under every profile, as a ranking or as JSON, and as a report or
 * rows where files are named for them.
 */

import type { Writable } from 'node:stream';
import type { Frame } from '../../metric/evaluation.js';
import { framesFor } from '../../metric/frame.js';
import type { PerformanceNumbers } from '../../performance/performance.js';
import { performanceOf } from '../../performance/sequence.js';
import { scoresOf } from '../../scores/totals.js';
import { type Console, write, writeNotes } from '../console/console.js';
import type { Progress } from '../console/progress.js';
import { bold, dim, type Screen } from '../console/table.js';
import type { Job } from './options.js';
import { describeNotJudged, evaluateCovered, readCoverage } from './sequence/coverage.js';
import { neighbourWarnings } from './sequence/neighbours.js';
import { drawNumbers } from './sequence/performance-table.js';
import { drawRanking, drawWarnings } from './sequence/ranking.js';
import type { JudgedSequence, Sequence, SequenceTracker, TrackerEvaluation } from './sequence/sequence.js';
import { describeParams, type NamedProfile, type Summary, totalsOf } from './sequence/verdict.js';
import { drawScores } from './study/comparison.js';

export async function runSequence(
  job: Job,
  /** one, or one for every class */
  sequences: readonly Sequence[],
  command: string,
  console: Console,
  progress: Progress,
): Promise<void> {
  const judged: JudgedSequence[] = sequences.map((sequence) => ({
    sequence,
    evaluations: [...evaluateTrackers(job, sequence, progress)],
  }));
  await progress.stop();
  const compared = judged.flatMap(({ sequence, evaluations }) => compare(sequence, evaluations));
  if (job.json) await writeNotes(console, [...new Set(compared)]);
  if (job.html !== null || job.csv !== null || job.events !== null) {
    // loaded when it is asked for: a short clip is judged sooner than a report is read
    const { writeSequenceFiles } = await import('./sequence-files.js');
    writeSequenceFiles(job, judged, command, console);
  }
  if (job.json) return writeJson(judged, console.out);
  const texts = judged.map(({ sequence, evaluations }) => textOn(job, sequence, evaluations, console.screen));
  const total = judged.length > 1 ? await totalOf(judged) : [];
  for (const profile of total.length > 0 ? job.profiles : []) {
    const chosen = total.filter((one) => one.profile === profile);
    const contenders = chosen.map(({ tracker, evaluation }) => ({ name: tracker.name, evaluation }));
    const title = `${bold(profile.name, console.screen)}, all classes together, pairs within a class only`;
    texts.push([title, '', ...drawRanking(contenders, console.screen)].join('\n'));
  }
  await write(console.out, `${texts.join('\n\n')}\n`);
}

/** Where only objects of one class may be a pair, costs and counts of the classes add up. */
async function totalOf(judged: readonly JudgedSequence[]): Promise<ClassTotal[]> {
  const { sumOf } = await import('./study/study.js');
  return judged[0].evaluations.map(({ tracker, profile }, index) => {
    const parts = judged.map(({ evaluations }) => evaluations[index].evaluation);
    const frames = Math.max(...parts.map((part) => part.frames));
    return { tracker, profile, evaluation: { ...sumOf(parts, profile.params.exponent), frames } };
  });
}

interface ClassTotal {
  tracker: SequenceTracker;
  profile: NamedProfile;
  evaluation: Summary;
}

/** Warns of trackers that match far less than the others; returns what is new. */
function compare({ reference, trackers }: Sequence, evaluations: TrackerEvaluation[]): string[] {
  const matched = trackers.map((tracker) => ({
    sequence: reference,
    tracker: tracker.name,
    count: evaluations.find((one) => one.tracker === tracker)!.evaluation.count,
    warnings: tracker.warnings,
    doubts: tracker.doubts,
  }));
  return neighbourWarnings(matched).flatMap((warnings, index) => {
    trackers[index].warnings.push(...warnings);
    return warnings;
  });
}

/** The rankings under all profiles, and beside them what makes their numbers doubtful. */
function textOn(
  job: Job,
  { class: kind, trackers }: Sequence,
  evaluations: TrackerEvaluation[],
  screen: Screen,
): string {
  const isTimed = trackers.some((one) => one.isTimed) || (job.performance?.frameRate ?? null) !== null;
  const rankings = job.profiles.map((profile) => rankingOf(profile, evaluations, screen, kind, isTimed));
  const warnings = drawWarnings(
    trackers.flatMap((tracker) => tracker.warnings),
    screen,
  );
  return [...rankings, ...warnings].join('\n\n');
}

export function* evaluateTrackers(
  { profiles, solve, scores, performance, coverage }: Job,
  { trackers }: Sequence,
  progress: Progress,
): Generator<TrackerEvaluation> {
  const steps = profiles.length * trackers.length;
  let step = 0;
  const rules = coverage === null ? null : readCoverage(coverage, profiles[0].params.distance);
  const totals = trackers.map(({ frames }) => (scores ? totalsOf(frames, profiles) : null));
  for (const profile of profiles) {
    for (const [index, tracker] of trackers.entries()) {
      const frames = framesFor(profile.params.distance, tracker.frames);
      const label = `${tracker.name}, ${profile.name}`;
      progress.start({ label, step: ++step, steps, total: frames.length, unit: 'frames' });
      const covered = evaluateCovered(frames, profile.params, solve, rules, tracker.asides, progress);
      const judged = { tracker, profile, evaluation: covered.evaluation, totals: totals[index] };
      yield performance ? { ...judged, numbers: numbersOf(judged, covered.frames, performance.frameRate) } : judged;
    }
  }
}

function numbersOf(
  { tracker, evaluation, profile }: TrackerEvaluation,
  frames: Frame[],
  frameRate: number | null,
): PerformanceNumbers {
  const times = tracker.isTimed || frameRate === null ? tracker.places : tracker.places.map((k) => k / frameRate);
  return performanceOf(frames, evaluation.perFrame, times, profile.params);
}

/** The ranking under one profile, with the companion scores where there are any. */
export function rankingOf(
  profile: NamedProfile,
  evaluations: TrackerEvaluation[],
  screen: Screen,
  kind?: string,
  isTimed = false,
): string {
  const chosen = evaluations.filter((one) => one.profile === profile);
  const contenders = chosen.map(({ tracker, evaluation }) => ({ name: tracker.name, evaluation }));
  const title = `${bold(profile.name, screen)}${kind === undefined ? '' : `, class ${kind}`}, ${chosen[0].evaluation.frames} frames`;
  const scored = chosen.flatMap(({ tracker, evaluation, totals }) =>
    totals ? [{ name: tracker.name, evaluation, scores: scoresOf(totals) }] : [],
  );
  const scores = scored.length > 0 ? ['', ...drawScores(scored, profile.name, screen)] : [];
  const measured = chosen.flatMap(({ tracker, numbers }) => (numbers ? [{ name: tracker.name, numbers }] : []));
  const numbers = measured.length > 0 ? ['', ...drawNumbers(measured, profile.params, isTimed, screen)] : [];
  const params = dim(describeParams(profile.params), screen);
  const unjudged = chosen.flatMap(({ tracker, evaluation }) => describeNotJudged(tracker.name, evaluation.notJudged));
  return [title, params, '', ...drawRanking(contenders, screen), ...unjudged, ...scores, ...numbers].join('\n');
}

async function writeJson(judged: readonly JudgedSequence[], out: Writable): Promise<void> {
  let separator = '[';
  for (const { sequence, evaluations } of judged) {
    const { reference, class: kind } = sequence;
    for (const { tracker, profile, evaluation, totals, numbers } of evaluations) {
      const { warnings } = tracker;
      const names = { reference, ...(kind !== undefined && { class: kind }), tracker: tracker.file };
      const terms = { profile: profile.name, params: profile.params };
      const asked = { ...(totals && { scores: scoresOf(totals) }), ...(numbers && { performance: numbers }) };
      const more = { ...asked, ...(warnings.length > 0 && { warnings }) };
      await write(out, separator + JSON.stringify({ ...names, ...terms, ...evaluation, ...more }));
      separator = ',\n';
    }
  }
  await write(out, ']\n');
}
