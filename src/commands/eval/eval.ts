/**
 * `tgospa eval`: reads the files (or builds the scene), evaluates every tracker under every profile, and prints a ranking,
 * the evaluations as JSON, or the series of a sliding window as CSV. Folders and feeds without a reference are the business of study/.
 * Invariant: standard output carries the result only; notes, warnings and progress go to standard error.
 */

import { once } from 'node:events';
import { closeSync, createWriteStream, openSync, writeFileSync } from 'node:fs';
import { extname, sep } from 'node:path';
import type { Writable } from 'node:stream';
import { alignMotChallenge, type MotFeed } from '../../../adapters/formats/motchallenge.js';
import {
  type Evaluation,
  evaluate,
  type Frame,
  InputError,
  type Params,
  type Report,
  SlidingWindow,
} from '../../index.js';
import { packFrame } from '../../metric/frame.js';
import { ScoreWindow } from '../../scores/score-window.js';
import { SCORE_NAMES, type Scores, scoresOf, type Totals } from '../../scores/totals.js';
import { crossingScene, type Fault } from '../../simulation/walkers.js';
import { UsageError } from '../console/options.js';
import { Progress } from '../console/progress.js';
import { bold, dim, type Screen, wrapText } from '../console/table.js';
import { drawTimeline, timelineLegend } from '../console/timeline.js';
import { isPlainMot } from '../files/file-options.js';
import { findStudy, isFolder } from '../files/layout.js';
import { framesFor, framesOf, readFeeds, referenceNotes, specOf, trackerNotes } from '../files/pair.js';
import { formatHelp, readRecordings } from '../files/recordings.js';
import { drawScores } from './comparison.js';
import { evalHelp, type Job, parseJob } from './options.js';
import { drawRanking } from './ranking.js';
import { combine, resultsOf, runStudy, type Study, type StudyTerms } from './study.js';
import { drawStudyPage } from './study-page.js';
import { csvField, drawStudy, studyCsv, studyEntries } from './study-table.js';
import { compareFeeds, drawComparisons } from './symmetric.js';
import { type NamedProfile, similarityRule, totalsOf, verdictOn } from './verdict.js';

export { readFeeds, referenceNotes };

/** Where the command writes, and what it may assume about the other end. */
export interface Console {
  out: Writable;
  err: Writable;
  screen: Screen;
  /** draw progress: standard error is a terminal */
  progress: boolean;
}

interface Subject {
  name: string;
  /** as given on the command line */
  file: string;
  frames: Frame[];
  faults: Fault[];
}

interface Subjects {
  reference: string;
  trackers: Subject[];
  notes: string[];
}

/** Window of the demonstration, in frames. */
const DEMO_WINDOW_FRAMES = 60;
const SWITCHES_LISTED_MAX = 20;
const CSV_COLUMNS = [
  'tracker,profile,frame,frames,distance,costTotal,costLocalization,costMissed,costFalse,costSwitch',
  'proper,missed,false,switches,meanLocalizationError,newestProper,newestMissed,newestFalse,exact,gap',
].join(',');

/** Runs the command; throws UsageError, InputError, or what the file system says. */
export async function runEval(args: string[], console: Console): Promise<void> {
  const job = parseJob(args);
  if (job.help) return write(console.out, `${evalHelp()}\n`);
  if (job.listFormats) return write(console.out, `${formatHelp()}\n`);
  if (job.symmetric && job.files) return runSymmetric(job, job.files, console);
  if (job.files && isStudy(job.files)) return runFolders(job, job.files, args, console);
  const subjects = job.files ? readSubjects(job, job.files) : sceneSubjects();
  if (job.profiles.some(({ params }) => params.distance === 'euclidean'))
    if (job.files?.formats.tracker.shape !== 'point')
      subjects.notes.push('euclidean: boxes are compared by their centres, in pixels');
  for (const note of subjects.notes) await write(console.err, `${note}\n`);
  checkWritable(job);
  // rows that scroll over the screen are progress enough
  const scrolling = job.windowFrames !== null && job.csv === null && Number.isFinite(console.screen.columns);
  const progress = new Progress(console.progress && !scrolling);
  try {
    if (!job.files && !job.json && !job.windowFrames && !job.html && !job.csv)
      await runDemo(job, subjects, console, progress);
    else if (job.windowFrames) await runWindow(job, job.windowFrames, subjects, console, progress);
    else await runWhole(job, subjects, args, console, progress);
  } finally {
    await progress.stop();
  }
}

type Files = NonNullable<Job['files']>;

/** A folder of sequences; in some formats a folder is a single recording. */
function isStudy({ reference, formats }: Files): boolean {
  return isFolder(reference) && formats.reference.adapter.frameOfFile === undefined;
}

/** Whole benchmarks: folders of sequences and trackers, on all cores. */
async function runFolders(job: Job, files: Files, args: string[], console: Console): Promise<void> {
  if (job.windowFrames) throw new UsageError('--window needs files, not folders; name one sequence');
  const found = findStudy(files.reference, files.trackers);
  checkWritable(job);
  const terms = termsOf(job, files);
  if (found.layout === 'kitti' && !job.formatGiven) {
    if (job.preprocess) throw new UsageError(`--preprocess ${job.preprocess} is not for KITTI; leave it out`);
    const kitti = { name: 'kitti', options: {} };
    terms.formats = { reference: kitti, tracker: kitti };
  }
  const study = await underProgress(console, (onPair) =>
    runStudy({ ...found, reference: files.reference }, terms, job.threads ?? undefined, onPair),
  );
  for (const note of study.notes) await write(console.err, `${note}\n`);
  writeFiles(job, study, args, console);
  if (job.json) return write(console.out, `${JSON.stringify(studyEntries(study))}\n`);
  await write(console.out, `${drawStudy(study, ({ params }) => describe(params), console.screen)}\n`);
}

/** Feeds compared with each other, none of them believed. */
async function runSymmetric(job: Job, files: Files, console: Console): Promise<void> {
  const paths = [...(files.reference ? [files.reference] : []), ...files.trackers];
  const names = shortNames(paths);
  const feeds = paths.map((path, index) => ({ name: names[index], path }));
  const { comparisons, notes } = await underProgress(console, (onPair) =>
    compareFeeds(feeds, termsOf(job, files), job.threads ?? undefined, onPair),
  );
  for (const note of notes) await write(console.err, `${note}\n`);
  if (!job.json) return write(console.out, `${drawComparisons(comparisons, console.screen)}\n`);
  const entries = comparisons.map(({ profile, evaluation, ...names }) => ({
    ...names,
    ...evaluation,
    profile: profile.name,
    params: profile.params,
  }));
  await write(console.out, `${JSON.stringify(entries)}\n`);
}

function termsOf(job: Job, { formats: { reference, tracker }, formats }: Files): StudyTerms {
  const { profiles, solve, scores, classes, allRows, preprocess, symmetric } = job;
  const specs = isPlainMot(formats) ? null : { reference: specOf(reference), tracker: specOf(tracker) };
  return { profiles, solve, scores, formats: specs, classes, allRows, preprocess, symmetric: symmetric ?? undefined };
}

async function underProgress<T>(console: Console, work: (onPair: (done: number, of: number) => void) => Promise<T>) {
  const progress = new Progress(console.progress);
  try {
    return await work((done, total) => {
      if (done === 0) progress.begin({ label: 'tracker on sequence', step: 1, steps: 1, total, unit: 'pairs' });
      else progress.tick();
    });
  } finally {
    await progress.stop();
  }
}

/** The report and the rows, where they were asked for. */
function writeFiles(job: Job, study: Study, args: string[], console: Console): void {
  const command = `tgospa eval ${args.join(' ')}`;
  const texts: Array<[file: string | null, text: () => string]> = [
    [job.html, () => drawStudyPage(study, ({ params }) => describe(params), command)],
    [job.csv, () => studyCsv(study)],
  ];
  for (const [file, text] of texts) {
    if (file === null) continue;
    writing(file, () => writeFileSync(file, text()));
    console.err.write(`wrote ${file}\n`);
  }
}

/** Before the work: whether what it ends in can be written. */
function checkWritable({ html, csv }: Job): void {
  for (const file of [html, csv]) if (file !== null) writing(file, () => closeSync(openSync(file, 'a')));
}

function writing(file: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new InputError([
      { path: file, value: code, message: 'cannot be written; name a file in a folder that exists' },
    ]);
  }
}

function readSubjects(job: Job, files: Files): Subjects {
  return isPlainMot(files.formats) ? readMotSubjects(job, files) : readAnySubjects(files);
}

/** Files of any format; frames in which a feed says nothing are empty. */
function readAnySubjects({ reference, trackers, formats }: Files): Subjects {
  const [believed, ...judged] = readRecordings([
    { file: reference, format: formats.reference, role: 'reference' },
    ...trackers.map((file) => ({ file, format: formats.tracker, role: 'tracker' as const })),
  ]);
  const names = shortNames(trackers);
  const subjects = judged.map((recording, index) => {
    return { name: names[index], file: recording.file, frames: framesOf(believed, recording), faults: [] };
  });
  return { reference, trackers: subjects, notes: [believed, ...judged].flatMap(({ notes }) => notes) };
}

function readMotSubjects(job: Job, files: Files): Subjects {
  const { classes, allRows, preprocess } = job;
  const [reference, ...feeds] = readFeeds([
    { kind: 'reference', file: files.reference, classes, allRows },
    ...files.trackers.map((file) => ({ kind: 'tracker' as const, file })),
  ]);
  const names = shortNames(files.trackers);
  const notes = referenceNotes(reference);
  const trackers = feeds.map((tracker, index) => {
    notes.push(...trackerNotes(tracker, reference));
    const frames = alignMotChallenge(reference, tracker, preprocess);
    if (preprocess) notes.push(preprocessingNote(names[index], tracker, frames));
    return { name: names[index], file: tracker.file, frames, faults: [] };
  });
  return { reference: files.reference, trackers, notes };
}

function preprocessingNote(name: string, { rowCount }: MotFeed, frames: Frame[]): string {
  const left = frames.reduce((sum, frame) => sum + frame.tracker.length, 0);
  return `${name}: preprocessing took out ${rowCount - left} of ${rowCount} rows that match a distractor`;
}

/** What tells the files apart: the file name, or the folders that differ. */
export function shortNames(files: string[]): string[] {
  const parts = files.map((file) => file.slice(0, file.length - extname(file).length).split(sep));
  if (new Set(parts.map((path) => path.at(-1))).size === files.length) return parts.map((path) => path.at(-1) ?? '');
  const shared = (at: (path: string[], offset: number) => string | undefined) => {
    let count = 0;
    while (at(parts[0], count) !== undefined && parts.every((path) => at(path, count) === at(parts[0], count))) count++;
    return count;
  };
  const head = shared((path, offset) => path[offset]);
  const tail = shared((path, offset) => path[path.length - 1 - offset]);
  return parts.map((path) => path.slice(head, path.length - tail).join('/') || path.join('/'));
}

function sceneSubjects(): Subjects {
  const { name, trackers } = crossingScene();
  return { reference: name, trackers: trackers.map((tracker) => ({ ...tracker, file: tracker.name })), notes: [] };
}

async function runWhole(
  job: Job,
  subjects: Subjects,
  args: string[],
  console: Console,
  progress: Progress,
): Promise<void> {
  const entries = [...evaluateAll(job, subjects, progress)];
  await progress.stop();
  if (job.html !== null || job.csv !== null) writeFiles(job, studyOf(job, subjects, entries), args, console);
  if (job.json) return writeJson(subjects.reference, entries, console.out);
  const rankings = job.profiles.map((profile) => rankingOf(profile, entries, console.screen));
  await write(console.out, `${rankings.join('\n\n')}\n`);
}

/** The files of one sequence as a study. */
function studyOf({ profiles }: Job, { reference, trackers, notes }: Subjects, entries: Entry[]): Study {
  const [sequence] = shortNames([reference]);
  const judged = trackers.map((subject) => {
    const own = entries.filter((entry) => entry.subject === subject);
    const verdict = {
      profiles: own.map(({ evaluation }) => verdictOn(evaluation, subject.frames)),
      totals: own[0].totals,
    };
    return { sequence, tracker: subject.name, verdict };
  });
  return {
    reference,
    trackers: trackers.map(({ name }) => name),
    sequences: [sequence],
    common: [sequence],
    profiles,
    results: judged.flatMap((one) => resultsOf(one, profiles)),
    combined: profiles.flatMap((profile, index) =>
      judged.map(({ tracker, verdict }) => combine(tracker, profile, index, [verdict])),
    ),
    notes,
  };
}

async function writeJson(reference: string, entries: Entry[], out: Writable): Promise<void> {
  let separator = '[';
  for (const { subject, profile, evaluation, totals } of entries) {
    const scores = totals ? { scores: scoresOf(totals) } : {};
    const names = { reference, tracker: subject.file, profile: profile.name, params: profile.params };
    const entry = { ...names, ...evaluation, ...scores };
    await write(out, separator + JSON.stringify(entry));
    separator = ',\n';
  }
  await write(out, ']\n');
}

interface Entry {
  subject: Subject;
  profile: NamedProfile;
  evaluation: Evaluation;
  /** of the companion scores; the same under every profile */
  totals: Totals | null;
}

function* evaluateAll({ profiles, solve, scores }: Job, { trackers }: Subjects, progress: Progress): Generator<Entry> {
  const steps = profiles.length * trackers.length;
  let step = 0;
  const totals = trackers.map((subject) => (scores ? totalsOf(subject.frames, profiles) : null));
  for (const profile of profiles) {
    for (const [index, subject] of trackers.entries()) {
      const frames = framesFor(profile.params, subject.frames);
      progress.begin({
        label: `${subject.name}, ${profile.name}`,
        step: ++step,
        steps,
        total: frames.length,
        unit: 'frames',
      });
      const evaluation = evaluate(progress.counting(frames), profile.params, solve);
      yield { subject, profile, evaluation, totals: totals[index] };
    }
  }
}

function rankingOf(profile: NamedProfile, entries: Entry[], screen: Screen): string {
  const chosen = entries.filter((entry) => entry.profile === profile);
  const contenders = chosen.map(({ subject, evaluation }) => ({ name: subject.name, evaluation }));
  const title = `${bold(profile.name, screen)}, ${chosen[0].evaluation.frames} frames`;
  const scored = chosen.flatMap(({ subject, evaluation, totals }) =>
    totals ? [{ name: subject.name, evaluation, scores: scoresOf(totals) }] : [],
  );
  const scores = scored.length > 0 ? ['', ...drawScores(scored, profile.name, screen)] : [];
  return [title, dim(describe(profile.params), screen), '', ...drawRanking(contenders, screen), ...scores].join('\n');
}

function describe({ distance, cutoff, exponent, switchPenalty, missShare }: Params): string {
  const words = [`distance ${distance}`, `cut-off ${short(cutoff)}`, `exponent ${short(exponent)}`];
  words.push(switchPenalty === 0 ? 'no switches' : `switch penalty ${short(switchPenalty)}`);
  if (missShare !== undefined && missShare !== 0.5) words.push(`miss share ${short(missShare)}`);
  return words.join(', ');
}

function short(value: number): string {
  return String(Number(value.toPrecision(4)));
}

async function runWindow(
  job: Job,
  windowFrames: number,
  subjects: Subjects,
  console: Console,
  progress: Progress,
): Promise<void> {
  for (const { name, params } of job.profiles) await warnShortWindow(name, params, windowFrames, console);
  const target = job.csv === null ? console.out : createWriteStream(job.csv);
  if (job.csv !== null) await once(target, 'open');
  await write(target, `${[CSV_COLUMNS, ...(job.scores ? SCORE_NAMES : [])].join(',')}\n`);
  const drawings: string[] = [];
  const steps = job.profiles.length * subjects.trackers.length;
  for (const profile of job.profiles) {
    for (const subject of subjects.trackers) {
      const step = drawings.length + 1;
      const series = slide(job, profile, subject, windowFrames, progress, { step, steps });
      await write(target, rowsOf(subject, profile, series));
      drawings.push(drawingOf(subject, profile, windowFrames, series, console.screen));
    }
  }
  if (job.csv === null) return;
  target.end();
  await once(target, 'finish');
  await progress.stop();
  await write(console.out, `${drawings.join('\n\n')}\n`);
  await write(console.err, `wrote the series to ${job.csv}\n`);
}

/** A long-term switch shows only with more than n frames on both sides of it (DESIGN 2.1). */
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

interface Series {
  samples: Sample[];
  events: Report['events'];
}

function slide(
  { solve, scores, profiles }: Job,
  { name, params }: NamedProfile,
  subject: Subject,
  windowFrames: number,
  progress: Progress,
  position: { step: number; steps: number },
): Series {
  const frames = framesFor(params, subject.frames);
  progress.begin({ label: `${subject.name}, ${name}`, ...position, total: frames.length, unit: 'frames' });
  const window = new SlidingWindow({ ...params, windowFrames }, solve);
  const rule = similarityRule(subject.frames, profiles);
  const companion = scores ? new ScoreWindow(windowFrames, rule) : null;
  try {
    const series: Series = { samples: [], events: [] };
    for (const [index, frame] of frames.entries()) {
      const report = window.push(frame);
      companion?.push(packFrame(subject.frames[index], rule.kind, 0, 'frame'));
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

function rowsOf(subject: Subject, profile: NamedProfile, { samples }: Series): string {
  const prefix = `${csvField(subject.name)},${csvField(profile.name)}`;
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

function drawingOf(
  subject: Subject,
  profile: NamedProfile,
  windowFrames: number,
  series: Series,
  screen: Screen,
): string {
  const { samples, events } = series;
  const head = `${bold(subject.name, screen)}  ${dim(`cost of the last ${windowFrames} frames, ${profile.name}`, screen)}`;
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

async function runDemo(job: Job, subjects: Subjects, console: Console, progress: Progress): Promise<void> {
  const { screen } = console;
  const room = Math.min(screen.columns, 100);
  const entries = [...evaluateAll(job, subjects, progress)];
  const faulty = subjects.trackers.at(-1) as Subject;
  const [profile] = job.profiles;
  const series = slide(job, profile, faulty, DEMO_WINDOW_FRAMES, progress, { step: 1, steps: 1 });
  await progress.stop();
  const sections = [
    wrapText(DEMO_INTRODUCTION, room, '').join('\n'),
    ...job.profiles.map((one) => rankingOf(one, entries, screen)),
    drawingOf(faulty, profile, DEMO_WINDOW_FRAMES, series, screen),
    [`What was built into ${faulty.name}, to compare:`, ...faulty.faults.map(faultLine)].join('\n'),
    DEMO_NEXT.join('\n'),
  ];
  await write(console.out, `${sections.join('\n\n')}\n`);
}

const DEMO_INTRODUCTION =
  'The built-in scene: seven people cross a picture in 300 frames, watched by three simulated trackers. TGOSPA gives each ' +
  'one distance to the truth, the smaller the better, and splits its cost exactly into localization, missed, false and switch.';
const DEMO_NEXT = [
  'Go on with your own files in MOTChallenge format:',
  '  npx tgospa eval --reference gt.txt --tracker a.txt --tracker b.txt',
  '  npx tgospa eval --reference gt.txt --tracker a.txt --window 60 --csv out.csv',
  '  npx tgospa eval --help',
];

function faultLine({ from, to, what }: Fault): string {
  const when = from === to ? `frame ${from}` : `frames ${from} to ${to}`;
  return `  ${when.padEnd(17)}  ${what}`;
}

/** Writes, and waits when the other end is slow. */
async function write(stream: Writable, text: string): Promise<void> {
  if (!stream.write(text)) await once(stream, 'drain');
}
