/** `tgospa eval` on folders: a whole benchmark as a study, printed, and written to the files that were named for it. */

import { type Console, write, writeNotes } from '../console/console.js';
import { UsageError } from '../console/options.js';
import { withProgress } from '../console/progress.js';
import { findStudy } from '../files/layout.js';
import { readingsByClass } from './classes.js';
import { checkOutputs, type Job, type JobFiles, termsOf } from './options.js';
import { notesBeside } from './sequence/sequence.js';
import { runStudy, type Study } from './study/study.js';
import { writeStudyFiles } from './study/study-files.js';
import { drawStudy, studyEntries } from './study/study-table.js';

export async function runBenchmark(job: Job, files: JobFiles, command: string, console: Console): Promise<void> {
  if (job.windowFrames) throw new UsageError('--window needs files, not folders; name one sequence');
  const found = findStudy(files.reference, files.trackers);
  checkOutputs(job);
  const pairs = found.sequences.flatMap(({ reference, trackers }) =>
    trackers.flatMap((tracker) => (tracker === null ? [] : [{ reference, tracker }])),
  );
  const studies: Study[] = [];
  for (const reading of readingsByClass(files, pairs)) {
    const terms = { ...termsOf(job), reading };
    studies.push(
      await withProgress(console.progress, (progress) =>
        runStudy({ ...found, reference: files.reference }, terms, job.threads, progress),
      ),
    );
  }
  const notes = studies.flatMap((study) => study.notes);
  await writeNotes(console, notesBeside(notes, !job.json));
  writeStudyFiles(job, studies, command, console);
  const text = job.json
    ? JSON.stringify(studies.flatMap(studyEntries))
    : studies.map((study) => drawStudy(study, console.screen)).join('\n\n');
  await write(console.out, `${text}\n`);
}
