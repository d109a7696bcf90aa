/**
 * `tgospa eval`: which of its modes a command line asks for. Feeds compared with each other (symmetric.ts), folders
 * (benchmark.ts), one sequence as a whole (one-sequence.ts) or by a sliding window (window-series.ts), and the built-in
 * scene (demonstration.ts).
 */
import { shapeOf } from '../../wire/moment.js';
import { type Console, write, writeNotes } from '../console/console.js';
import { asTyped, UsageError } from '../console/options.js';
import { withProgress } from '../console/progress.js';
import { formatHelp } from '../files/formats.js';
import { isFolder } from '../files/layout.js';
import { readingsByClass } from './classes.js';
import { runSequence } from './one-sequence.js';
import { checkOutputs, evalHelp, evalLine, type Job, type JobFiles, readJob } from './options.js';
import { momentSequence, notesBeside, readSequence, type Sequence, simulatedSequence } from './sequence/sequence.js';

const pairsOf = ({ reference, trackers }: JobFiles) => trackers.map((tracker) => ({ reference, tracker }));

/** Runs the command; throws UsageError, InputError, or an error of the file system. */
export async function runEval(args: string[], console: Console): Promise<void> {
  const line = evalLine(args);
  if (line.has('help')) return write(console.out, `${evalHelp()}\n`);
  if (line.has('formats')) return write(console.out, `${formatHelp()}\n`);
  const job = readJob(line);
  const { files } = job;
  const command = asTyped('eval', args);
  // each mode is loaded when it is asked for: a short clip is judged sooner than all of them are read
  if (files?.reading.symmetric) return (await import('./symmetric.js')).runSymmetric(job, files, console);
  if (files && job.performance && isBenchmark(files))
    throw new UsageError('--performance is of one sequence; give files, not folders');
  if (files && isBenchmark(files)) return (await import('./benchmark.js')).runBenchmark(job, files, command, console);
  const sequences = files
    ? readingsByClass(files, pairsOf(files)).map((reading) => readSequence(files.reference, files.trackers, reading))
    : [job.moment ? momentSequence(job.moment, job.windowFrames !== null) : simulatedSequence()];
  if (job.windowFrames && sequences.length > 1)
    throw new UsageError('--window slides over one class; choose it with --classes');
  const notes = sequences.flatMap((sequence) => notesOn(job, sequence));
  await writeNotes(console, notesBeside(notes, !job.json && job.windowFrames === null));
  checkOutputs(job);
  await withProgress(showsProgress(job, console), async (progress) => {
    if (isDemonstration(job))
      await (await import('./demonstration.js')).runDemonstration(job, sequences[0], console, progress);
    else if (job.windowFrames)
      await (await import('./window-series.js')).runWindow(job, job.windowFrames, sequences[0], console, progress);
    else await runSequence(job, sequences, command, console, progress);
  });
}

/** A folder of sequences; in some formats a folder is a single recording. */
const isBenchmark = ({ reference, formats }: JobFiles): boolean =>
  isFolder(reference) && formats.reference.adapter.frameOfFile === undefined;

function notesOn({ profiles, files, moment }: Job, { notes }: Sequence): string[] {
  const shape = moment ? shapeOf(moment) : files?.formats.tracker.shape;
  const byCentres = profiles.some(({ params }) => params.distance === 'euclidean') && shape !== 'point';
  return byCentres ? [...notes, 'euclidean: boxes are compared by their centres, in pixels'] : notes;
}

/** Rows that scroll over the screen are progress enough. */
function showsProgress({ windowFrames, csv }: Job, { progress, scrolls }: Console): boolean {
  const scrolling = windowFrames !== null && csv === null && scrolls === true;
  return progress && !scrolling;
}

/** The built-in scene, and nothing in particular asked about it. */
const isDemonstration = ({ files, moment, json, windowFrames, html, csv, events, performance }: Job): boolean =>
  !files && !moment && !json && !windowFrames && !html && !csv && !events && !performance;
