/**
 * The window slid over one sequence: one CSV row per frame for every tracker under every profile, and a drawing of them
 * when the rows go to a file.
 */

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { type Params, type Report, SlidingWindow } from '../../index.js';
import { framesFor, packFrame } from '../../metric/frame.js';
import { ScoreWindow } from '../../scores/score-window.js';
import { SCORE_NAMES, type Scores } from '../../scores/totals.js';
import { type Console, write } from '../console/console.js';
import { short } from '../console/numbers.js';
import { csvField } from '../console/output-file.js';
import type { Progress } from '../console/progress.js';
import { bold, dim, type Screen } from '../console/table.js';
import { drawTimeline, timelineLegend } from '../console/timeline.js';
import type { Job } from './options.js';
import type { Sequence, SequenceTracker } from './sequence/sequence.js';
import { type NamedProfile, similarityRule } from './sequence/verdict.js';

const SWITCHES_LISTED_MAX = 20;
const CSV_COLUMNS = [
  'tracker,profile,frame,frames,distance,costTotal,costLocalization,costMissed,costFalse,costSwitch',
  'proper,missed,false,switches,meanLocalizationError,newestProper,newestMissed,newestFalse,exact,gap',
].join(',');

export async function runWindow(
  job: Job,
  windowFrames: number,
  { trackers }: Sequence,
  console: Console,
  progress: Progress,
): Promise<void> {
  for (const { name, params } of job.profiles) await warnShortWindow(name, params, windowFrames, console);
  const target = job.csv === null ? console.out : createWriteStream(job.csv);
  if (job.csv !== null) await once(target, 'open');
  await write(target, `${[CSV_COLUMNS, ...(job.scores ? SCORE_NAMES : [])].join(',')}\n`);
  const drawings: string[] = [];
  const steps = job.profiles.length * trackers.length;
  for (const profile of job.profiles) {
    for (const tracker of trackers) {
      const step = drawings.length + 1;
      const series = slideWindow(job, profile, tracker, windowFrames, progress, { step, steps });
      await write(target, csvRows(tracker, profile, series));
      drawings.push(drawSeries(tracker, profile, windowFrames, series, console.screen));
    }
  }
  if (job.csv === null) return;
  target.end();
  await once(target, 'finish');
  await progress.stop();
  await write(console.out, `${drawings.join('\n\n')}\n`);
  await write(console.err, `wrote the series to ${job.csv}\n`);
}

/** A long-term switch shows only with more than n frames on both sides of it. */
async function warnShortWindow(name: string, params: Params, windowFrames: number, console: Console): Promise<void> {
  const frames = (params.switchPenalty / params.cutoff) ** params.exponent;
  if (frames < 1 || windowFrames > 2 * frames + 1) return;
  const needed = Math.floor(2 * frames + 1) + 1;
  await write(
    console.err,
    `warning: under ${name} only changes longer than ${short(frames)} frames are switches, and a window of ${windowFrames} frames can never show one; use --window ${needed} or more\n`,
  );
}

/** What is kept of each report; the rest would hold every window's assignments. */
type Sample = Pick<Report, 'frames' | 'distance' | 'cost' | 'count' | 'meanLocalizationError' | 'exact' | 'gap'> & {
  newest: Report['newest']['count'];
  scores: Scores | null;
};

export interface WindowSeries {
  samples: Sample[];
  events: Report['events'];
}

/** Slides the window over one tracker under one profile. */
export function slideWindow(
  { solve, scores, profiles }: Job,
  { name, params }: NamedProfile,
  tracker: SequenceTracker,
  windowFrames: number,
  progress: Progress,
  position: { step: number; steps: number },
): WindowSeries {
  const frames = framesFor(params.distance, tracker.frames);
  progress.start({ label: `${tracker.name}, ${name}`, ...position, total: frames.length, unit: 'frames' });
  const window = new SlidingWindow({ ...params, windowFrames }, solve);
  const rule = similarityRule(tracker.frames, profiles);
  const companion = scores ? new ScoreWindow(windowFrames, rule) : null;
  try {
    const series: WindowSeries = { samples: [], events: [] };
    for (const [index, frame] of frames.entries()) {
      const report = window.push(frame);
      companion?.push(packFrame(tracker.frames[index], rule.kind, 0, 'frame'));
      const { distance, cost, count, meanLocalizationError, exact, gap } = report;
      series.samples.push({
        frames: report.frames,
        distance,
        cost,
        count,
        meanLocalizationError,
        exact,
        gap,
        newest: report.newest.count,
        scores: companion?.scores() ?? null,
      });
      series.events.push(...report.events);
      progress.tick();
    }
    if (frames.length > 0) series.events.push(...window.end().events);
    return series;
  } finally {
    window.dispose();
  }
}

function csvRows(tracker: SequenceTracker, profile: NamedProfile, { samples }: WindowSeries): string {
  const prefix = `${csvField(tracker.name)},${csvField(profile.name)}`;
  let text = '';
  samples.forEach(({ frames, distance, cost, count, meanLocalizationError, newest, exact, gap, scores }, index) => {
    const costs = [cost.total, cost.localization, cost.missed, cost.false, cost.switch];
    const counts = [count.proper, count.missed, count.false, count.switches];
    const values = [index + 1, frames, distance, ...costs, ...counts, meanLocalizationError];
    const companions = scores ? SCORE_NAMES.map((one) => scores[one]) : [];
    text += `${prefix},${[...values, newest.proper, newest.missed, newest.false, exact, gap, ...companions].join(',')}\n`;
  });
  return text;
}

/** The series as a drawing, with the switches found. */
export function drawSeries(
  tracker: SequenceTracker,
  profile: NamedProfile,
  windowFrames: number,
  series: WindowSeries,
  screen: Screen,
): string {
  const { samples, events } = series;
  const head = `${bold(tracker.name, screen)}  ${dim(`cost of the last ${windowFrames} frames, ${profile.name}`, screen)}`;
  if (samples.length === 0) return `${head}\n  (no frames)`;
  const marks = events.map(({ frame }) => frame + 1);
  const costs = samples.map(({ cost }) => cost);
  const drawing = drawTimeline(costs, marks, { ...screen, columns: Math.min(screen.columns, 130) });
  return [head, timelineLegend(screen), ...drawing, ...switchLines(events)].join('\n');
}

function switchLines(events: Report['events']): string[] {
  if (events.length === 0) return ['no switches'];
  const lines = events.slice(0, SWITCHES_LISTED_MAX).map(switchLine);
  const more = events.length - lines.length;
  return [`${events.length} changes of identity (▲):`, ...lines, ...(more > 0 ? [`  and ${more} more`] : [])];
}

function switchLine({ frame, truth, from, to, switches }: Report['events'][number]): string {
  const size = switches === 1 ? 'switch' : 'half  ';
  return `  frame ${String(frame + 1).padStart(5)}  ${size}  truth ${truth}: ${from ?? 'no track'} → ${to ?? 'no track'}`;
}
