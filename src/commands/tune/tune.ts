/**
 * `tgospa tune`: reads the files (or builds the scene), chooses the parameters of a profile from them, and prints a
 * summary, the profile as YAML, an HTML report, or everything as JSON.
 */

import { InputError, type Tuning, type TuningSample, type TuningWatch, tune } from '../../index.js';
import { crossingScene } from '../../simulation/walkers.js';
import { type Console, write, writeNotes } from '../console/console.js';
import { asTyped } from '../console/options.js';
import { writeOutputFile } from '../console/output-file.js';
import { withProgress } from '../console/progress.js';
import { formatHelp } from '../files/formats.js';
import { inOptionNames, readTuneJob, type TuneJob, tuneHelp, tuneLine } from './options.js';
import { drawReport } from './report.js';
import { readSamples, type Samples } from './samples.js';
import { drawSummary, profileYaml } from './summary.js';

/** Runs the command; throws UsageError, InputError, or an error of the file system. */
export async function runTune(args: string[], console: Console): Promise<void> {
  const line = tuneLine(args);
  if (line.has('help')) return write(console.out, `${tuneHelp()}\n`);
  if (line.has('formats')) return write(console.out, `${formatHelp()}\n`);
  const job = readTuneJob(line);
  const { samples, notes } = job.files ? readSamples(job.files) : sceneSamples();
  await writeNotes(console, notes);
  const tuning = await withProgress(console.progress, (progress) => tuneSamples(samples, job, progress));
  await write(console.out, outputOf(tuning, job, console));
  if (job.html !== null) {
    writeOutputFile(job.html, drawReport(tuning, asTyped('tune', args)));
    await write(console.err, `wrote the report to ${job.html}\n`);
  }
  if (!tuning.candidate)
    throw new InputError([{ path: 'plateau', value: null, message: inOptionNames(tuning.warnings.join(' ')) }]);
  if (job.yaml !== null && job.yaml !== '-') {
    writeOutputFile(job.yaml, profileYaml(tuning));
    await write(console.err, `wrote the profile to ${job.yaml}\n`);
  }
}

function sceneSamples(): Samples {
  const { trackers } = crossingScene();
  return { samples: trackers.map(({ name, frames }) => ({ tracker: name, frames })), notes: [] };
}

/** Mistakes of the library, in the words of the command line. */
function tuneSamples(samples: TuningSample[], { tuning }: TuneJob, watch: TuningWatch): Tuning {
  try {
    return tune(samples, { ...tuning, watch });
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new InputError(
      error.problems.map((problem) => ({
        ...problem,
        path: inOptionNames(problem.path),
        message: inOptionNames(problem.message),
      })),
    );
  }
}

function outputOf(tuning: Tuning, { json, yaml }: TuneJob, { screen }: Console): string {
  if (json) return `${JSON.stringify(tuning)}\n`;
  return yaml === '-' ? profileYaml(tuning) : drawSummary(tuning, screen);
}
