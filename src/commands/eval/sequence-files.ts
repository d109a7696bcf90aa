/** The report, the rows and the events of one sequence: a study of one, or of one for every class. */

import type { Console } from '../console/console.js';
import { shortNames } from '../files/names.js';
import type { Job } from './options.js';
import type { JudgedSequence, Sequence, TrackerEvaluation } from './sequence/sequence.js';
import { verdictOn } from './sequence/verdict.js';
import { combine, resultsOf, type Study } from './study/study.js';
import { writeStudyFiles } from './study/study-files.js';

export function writeSequenceFiles(
  job: Job,
  judged: readonly JudgedSequence[],
  command: string,
  console: Console,
): void {
  const studies = judged.map(({ sequence, evaluations }) => studyOf(job, sequence, evaluations));
  writeStudyFiles(job, studies, command, console);
}

/** The sequence as a study of one. */
function studyOf({ profiles, events, html }: Job, sequence: Sequence, evaluations: TrackerEvaluation[]): Study {
  const { reference, trackers, notes, class: kind } = sequence;
  const [name] = shortNames([reference]);
  const judged = trackers.map((tracker) => {
    const own = evaluations.filter((one) => one.tracker === tracker);
    const verdict = {
      profiles: own.map(({ evaluation }) =>
        verdictOn(evaluation, tracker.frames, {
          details: html !== null,
          places: events === null ? null : tracker.places,
        }),
      ),
      totals: own[0].totals,
    };
    return { sequence: name, tracker: tracker.name, verdict, warnings: tracker.warnings };
  });
  return {
    reference,
    ...(kind !== undefined && { class: kind }),
    trackers: trackers.map((tracker) => tracker.name),
    sequences: [name],
    common: [name],
    profiles,
    results: judged.flatMap((one) => resultsOf(one, profiles)),
    combined: profiles.flatMap((profile, index) =>
      judged.map(({ tracker, verdict, warnings }) => combine(tracker, profile, index, [{ verdict, warnings }])),
    ),
    notes,
  };
}
