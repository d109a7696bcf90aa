/**
 * A study for people and programs that read text: rankings and tables for the terminal, rows for spreadsheets, entries
 * for JSON.
 */
import { COMPONENTS } from '../../../metric/evaluation.js';
import { SCORE_NAMES } from '../../../scores/totals.js';
import { csvField } from '../../console/output-file.js';
import { bold, type Column, dim, drawTable, type Screen, wrapText } from '../../console/table.js';
import { drawRanking, drawWarnings } from '../sequence/ranking.js';
import { describeParams, type NamedProfile, type Summary } from '../sequence/verdict.js';
import { drawScores, sequenceDisagreements } from './comparison.js';
import type { CombinedResult, Result, Study } from './study.js';

/** Combined ranking under each profile, scores with their disagreements, and the distance of every sequence. */
export function drawStudy(study: Study, screen: Screen): string {
  const warnings = study.results.flatMap((result) => result.warnings);
  const profiles = study.profiles.map((profile) => drawProfile(study, profile, screen));
  return [...profiles, ...drawWarnings(warnings, screen)].join('\n\n');
}

function drawProfile(study: Study, profile: NamedProfile, screen: Screen): string {
  const combined = study.combined.filter((one) => one.profile === profile);
  const frames = combined[0]?.evaluation.frames ?? 0;
  const kind = study.class === undefined ? '' : `, class ${study.class}`;
  const title = `${bold(profile.name, screen)}${kind}, ${study.common.length} sequences combined, ${frames} frames`;
  const lines = [title, dim(describeParams(profile.params), screen), ''];
  if (combined.length > 0) lines.push(...drawRanking(combined.map(namedRow), screen));
  const scored = combined.flatMap((one) => (one.scores ? [{ ...namedRow(one), scores: one.scores }] : []));
  if (scored.length > 0) lines.push('', ...drawScores(scored, profile.name, screen));
  if (study.sequences.length > 1) {
    lines.push('', dim('distance by sequence', screen), ...drawTable(sequenceColumns(study, profile), screen));
    if (scored.length > 0) {
      lines.push('', dim('HOTA by sequence', screen), ...drawTable(sequenceColumns(study, profile, 'HOTA'), screen));
      const room = Math.min(screen.columns, 100);
      const sentences = sequenceDisagreements(study, profile).flatMap((sentence) => wrapText(sentence, room, '  '));
      if (sentences.length > 0) lines.push('', ...sentences);
    }
  }
  return lines.join('\n');
}

const namedRow = ({ tracker, evaluation }: CombinedResult) => ({ name: tracker, evaluation });

function sequenceColumns(study: Study, profile: NamedProfile, score?: 'HOTA'): Column[] {
  const cellOf = (sequence: string, tracker: string) => {
    const result = study.results.find(
      (one) => one.sequence === sequence && one.tracker === tracker && one.profile === profile,
    );
    return score ? result?.scores?.[score] : result?.evaluation.distance;
  };
  return [
    { title: 'sequence', align: 'left', key: true, cells: study.sequences },
    ...study.trackers.map((tracker): Column => {
      const values = study.sequences.map((sequence) => cellOf(sequence, tracker));
      return {
        title: tracker,
        align: 'right',
        cells: values.map((value) => (value === undefined ? '-' : value.toFixed(3))),
      };
    }),
  ];
}

const CSV_HEAD =
  'sequence,tracker,profile,frames,distance,costTotal,costLocalization,costMissed,costFalse,costSwitch,' +
  'proper,missed,false,switches,meanLocalizationError,exact,gap';

/**
 * One row for every sequence, tracker and profile, and, of several sequences, one `combined` for every tracker and
 * profile.
 */
export function studyCsv(studies: readonly Study[]): string {
  const scored = studies.some(({ results }) => results.some(({ scores }) => scores !== null));
  const byClass = studies.some((study) => study.class !== undefined);
  const rows = studies.flatMap((study) => {
    // one sequence combined is that sequence
    const combined = study.sequences.length > 1 ? study.combined : [];
    const list = [...study.results, ...combined.map((one) => ({ ...one, sequence: 'combined' }))];
    return list.map((row) => (byClass ? `${csvField(study.class ?? '')},` : '') + csvRow(row, scored));
  });
  const head = `${byClass ? 'class,' : ''}${CSV_HEAD}${scored ? `,${SCORE_NAMES.join(',')}` : ''}`;
  return `${[head, ...rows].join('\n')}\n`;
}

function csvRow({ sequence, tracker, profile, evaluation, scores }: Result, scored: boolean): string {
  const { cost, count } = evaluation;
  const costs = [cost.total, ...COMPONENTS.map((name) => cost[name])];
  const counts = [count.proper, count.missed, count.false, count.switches];
  const fields = [sequence, tracker, profile.name].map(csvField);
  const numbers = [evaluation.frames, evaluation.distance, ...costs, ...counts, evaluation.meanLocalizationError];
  const values = scored ? SCORE_NAMES.map((name) => scores?.[name] ?? '') : [];
  return [...fields, ...numbers, evaluation.exact, evaluation.gap, ...values].join(',');
}

/** An evaluation, and what it is of. */
interface StudyEntry extends Summary {
  reference: string;
  class?: string;
  /** null: all common sequences combined */
  sequence: string | null;
  tracker: string;
  profile: string;
  params: NamedProfile['params'];
  scores?: Result['scores'];
  warnings?: string[];
}

/** The results as plain values for JSON, the combined ones last. */
export function studyEntries(study: Study): StudyEntry[] {
  const entry = (
    sequence: string | null,
    { tracker, profile, evaluation, scores, warnings }: CombinedResult,
  ): StudyEntry => ({
    reference: study.reference,
    ...(study.class !== undefined && { class: study.class }),
    sequence,
    tracker,
    profile: profile.name,
    params: profile.params,
    ...evaluation,
    ...(scores ? { scores } : {}),
    ...(warnings.length > 0 && { warnings }),
  });
  return [
    ...study.results.map((result) => entry(result.sequence, result)),
    ...study.combined.map((result) => entry(null, result)),
  ];
}
