/**
 * `tgospa tune`: reads the files (or builds the scene), chooses the parameters of a profile from them, and prints a summary,
 * the profile as YAML, an HTML report, or everything as JSON.
 * Invariant: standard output carries the result only; notes, warnings and progress go to standard error.
 */

import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { InputError, type Tuning, type TuningSample, tune } from '../../index.js';
import { crossingScene } from '../../simulation/walkers.js';
import { Progress } from '../console/progress.js';
import type { Console } from '../eval/eval.js';
import { formatHelp } from '../files/recordings.js';
import { inOptionNames, parseTuneJob, type TuneJob, tuneHelp } from './options.js';
import { drawReport } from './report.js';
import { readSamples, type Samples } from './samples.js';
import { drawSummary, profileYaml } from './summary.js';

/** Runs the command; throws UsageError, InputError, or what the file system says. */
export async function runTune(args: string[], console: Console): Promise<void> {
  const job = parseTuneJob(args);
  if (job.help) return write(console.out, `${tuneHelp()}\n`);
  if (job.listFormats) return write(console.out, `${formatHelp()}\n`);
  const { samples, notes } = job.files ? readSamples(job.files) : sceneSamples();
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

function sceneSamples(): Samples {
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
