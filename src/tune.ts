/**
 * `tgospa tune`: reads the files (or builds the scene), chooses the parameters of a profile from them, and prints a summary,
 * the profile as YAML, an HTML report, or everything as JSON.
 * Invariant: standard output carries the result only; notes, warnings and progress go to standard error.
 */

import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Writable } from 'node:stream';
import { alignMotChallenge } from '../adapters/motchallenge.js';
import { type Console, readFeeds, referenceNotes, shortNames } from './eval.js';
import { InputError, type Tuning, type TuningSample, tune } from './index.js';
import { Progress } from './progress.js';
import { crossingScene } from './scene.js';
import { inOptionNames, parseTuneJob, type TuneGroup, type TuneJob, tuneHelp } from './tune-options.js';
import { drawReport } from './tune-report.js';
import { drawSummary, profileYaml } from './tune-summary.js';

/** Runs the command; throws UsageError, InputError, or what the file system says. */
export async function runTune(args: string[], console: Console): Promise<void> {
  const job = parseTuneJob(args);
  if (job.help) return write(console.out, `${tuneHelp()}\n`);
  const { samples, notes } = job.groups ? readSamples(job, job.groups) : sceneSamples();
  for (const note of notes) await write(console.err, `${note}\n`);
  const tuning = await tuneWatched(samples, job, console);
  await write(console.out, outputOf(tuning, job, console));
  if (job.html !== null) {
    writeFileSync(job.html, drawReport(tuning, commandOf(args)));
    await write(console.err, `wrote the report to ${job.html}\n`);
  }
  if (!tuning.candidate)
    throw new InputError([{ path: 'plateau', value: null, message: inOptionNames(tuning.warnings.join(' ')) }]);
  if (job.yaml !== null && job.yaml !== '-') {
    writeFileSync(job.yaml, profileYaml(tuning));
    await write(console.err, `wrote the profile to ${job.yaml}\n`);
  }
}

function readSamples(job: TuneJob, groups: TuneGroup[]): { samples: TuningSample[]; notes: string[] } {
  const { classes, allRows, preprocess } = job;
  // all files are read before any is complained about; each file once
  const wanted = new Map<string, Parameters<typeof readFeeds>[0][number]>();
  for (const { reference, trackers } of groups) {
    wanted.set(`reference ${reference}`, { kind: 'reference', file: reference, classes, allRows });
    for (const file of trackers) wanted.set(`tracker ${file}`, { kind: 'tracker', file });
  }
  const feeds = readFeeds([...wanted.values()]);
  const feedOf = new Map([...wanted.keys()].map((key, index) => [key, feeds[index]]));
  const names = namesOf(groups);
  const sequences = sequenceNames(groups);
  const notes: string[] = [];
  const samples = groups.flatMap(({ reference, trackers }, group) => {
    const truth = feedOf.get(`reference ${reference}`)!;
    notes.push(...referenceNotes(truth));
    return trackers.map((file) => {
      const frames = alignMotChallenge(truth, feedOf.get(`tracker ${file}`)!, preprocess);
      return { tracker: names.get(file)!, ...(sequences && { sequence: sequences[group] }), frames };
    });
  });
  return { samples, notes };
}

/**
 * A tracker on several sequences is one tracker: when each reference has one file in each of the same folders, the folders are
 * the trackers; otherwise each file is one.
 */
function namesOf(groups: TuneGroup[]): Map<string, string> {
  const files = [...new Set(groups.flatMap(({ trackers }) => trackers))];
  const folders = [...new Set(files.map((file) => dirname(file)))];
  const eachOnce = groups.every(
    ({ trackers }) => new Set(trackers.map((file) => dirname(file))).size === trackers.length,
  );
  if (groups.length === 1 || !eachOnce || folders.length === files.length) {
    const names = shortNames(files);
    return new Map(files.map((file, index) => [file, names[index]]));
  }
  const names = folders.length === 1 ? [basename(folders[0])] : shortNames(folders);
  return new Map(files.map((file) => [file, names[folders.indexOf(dirname(file))]]));
}

function sequenceNames(groups: TuneGroup[]): string[] | null {
  return groups.length > 1 ? shortNames(groups.map(({ reference }) => reference)) : null;
}

function sceneSamples(): { samples: TuningSample[]; notes: string[] } {
  const { trackers } = crossingScene();
  return { samples: trackers.map(({ name, frames }) => ({ tracker: name, frames })), notes: [] };
}

async function tuneWatched(samples: TuningSample[], { tuning }: TuneJob, console: Console): Promise<Tuning> {
  const progress = new Progress(console.progress);
  try {
    return tune(samples, { ...tuning, watch: progress });
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new InputError(
      error.problems.map((problem) => ({
        ...problem,
        path: inOptionNames(problem.path),
        message: inOptionNames(problem.message),
      })),
    );
  } finally {
    await progress.stop();
  }
}

function outputOf(tuning: Tuning, { json, yaml }: TuneJob, { screen }: Console): string {
  if (json) return `${JSON.stringify(tuning)}\n`;
  return yaml === '-' ? profileYaml(tuning) : drawSummary(tuning, screen);
}

/** The command as it was given, for the report. */
function commandOf(args: string[]): string {
  const quoted = args.map((arg) => (/^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`));
  return ['tgospa tune', ...quoted].join(' ');
}

/** Writes, and waits when the other end is slow. */
async function write(stream: Writable, text: string): Promise<void> {
  if (text !== '' && !stream.write(text)) await once(stream, 'drain');
}
