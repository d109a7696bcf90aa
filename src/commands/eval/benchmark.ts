/** `tgospa eval` on folders: a whole benchmark as a study, printed, and written to the files that were named for it. */

import { type Console, write, writeNotes } from '../console/console.js';
import { UsageError } from '../console/options.js';
import { withProgress } from '../console/progress.js';
import { findStudy, isFolder, type LayoutName } from '../files/layout.js';
import type { PairReading } from '../files/pair-reader.js';
import type { Job, JobFiles } from './options.js';
import { runStudy } from './study.js';
import { checkStudyFiles, writeStudyFiles } from './study-files.js';
import { drawStudy, studyEntries } from './study-table.js';

/** A folder of sequences; in some formats a folder is a single recording. */
export function isBenchmark({ reference, formats }: JobFiles): boolean {
  return isFolder(reference) && formats.reference.adapter.frameOfFile === undefined;
}

export async function runBenchmark(job: Job, files: JobFiles, command: string, console: Console): Promise<void> {
  if (job.windowFrames) throw new UsageError('--window needs files, not folders; name one sequence');
  const found = findStudy(files.reference, files.trackers);
  checkStudyFiles(job);
  const { profiles, solve, scores } = job;
  const terms = { profiles, solve, scores, reading: readingIn(files, found.layout) };
  const study = await withProgress(console.progress, (progress) =>
    runStudy({ ...found, reference: files.reference }, terms, job.threads, progress),
  );
  await writeNotes(console, study.notes);
  writeStudyFiles(job, study, command, console);
  const text = job.json ? JSON.stringify(studyEntries(study)) : drawStudy(study, console.screen);
  await write(console.out, `${text}\n`);
}

/** The layout decides the format where none was named. */
function readingIn({ reading, formatGiven }: JobFiles, layout: LayoutName): PairReading {
  if (layout !== 'kitti' || formatGiven) return reading;
  const { preprocess } = reading;
  if (preprocess) throw new UsageError(`--preprocess ${preprocess} is not for KITTI; leave it out`);
  const kitti = { name: 'kitti', options: {} };
  return { ...reading, formats: { reference: kitti, tracker: kitti } };
}
