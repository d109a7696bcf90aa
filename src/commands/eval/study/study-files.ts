/** The report and the rows of a study, or of one for every class, in the files that were named for them. */

import type { Console } from '../../console/console.js';
import { writeOutputFile } from '../../console/output-file.js';
import { eventsCsv } from '../sequence/events.js';
import type { Study } from './study.js';
import { drawStudyPage } from './study-page.js';
import { studyCsv } from './study-table.js';

/** Where to; null: not asked for. */
export interface StudyOutputs {
  html: string | null;
  csv: string | null;
  /** which frames and objects, as rows */
  events: string | null;
}

const eventsIn = (studies: readonly Study[]) =>
  studies.flatMap(({ class: kind, results }) =>
    results.map(({ sequence, tracker, profile, events = [] }) => ({
      ...(kind !== undefined && { class: kind }),
      ...{ sequence, tracker, profile: profile.name, events },
    })),
  );

export function writeStudyFiles(
  { html, csv, events }: StudyOutputs,
  studies: Study[],
  command: string,
  { err }: Console,
): void {
  const texts: Array<[file: string | null, text: () => string]> = [
    [html, () => drawStudyPage(studies, command)],
    [csv, () => studyCsv(studies)],
    [events, () => eventsCsv(eventsIn(studies))],
  ];
  for (const [file, text] of texts) {
    if (file === null) continue;
    writeOutputFile(file, text());
    err.write(`wrote ${file}\n`);
  }
}
