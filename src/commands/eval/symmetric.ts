/**
 * Feeds compared with each other, none of them believed: two trackers without ground truth, or two annotators. TGOSPA
 * is a metric, so the distance is the same both ways; what would be missed and false is what only one of the two has.
 */

import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { InputError } from '../../metric/input-error.js';
import type { Scores } from '../../scores/totals.js';
import { type Console, write, writeNotes } from '../console/console.js';
import { whole } from '../console/numbers.js';
import { withProgress } from '../console/progress.js';
import { type Column, dim, drawTable, type Screen, wrapText } from '../console/table.js';
import { isFolder, type SequenceFiles } from '../files/layout.js';
import { shortNames } from '../files/names.js';
import { type Job, type JobFiles, termsOf } from './options.js';
import type { NamedProfile, Summary } from './sequence/verdict.js';
import { runStudy, type StudyTerms, type StudyWatch } from './study/study.js';

interface Comparison {
  first: string;
  second: string;
  profile: NamedProfile;
  sequences: string[];
  evaluation: Summary;
  scores: Scores | null;
}

interface Feed {
  name: string;
  path: string;
}

export async function runSymmetric(job: Job, files: JobFiles, console: Console): Promise<void> {
  const paths = [...(files.reference ? [files.reference] : []), ...files.trackers];
  const names = shortNames(paths);
  const feeds = paths.map((path, index) => ({ name: names[index], path }));
  const { threads } = job;
  const terms = { ...termsOf(job), reading: files.reading };
  const { comparisons, notes } = await withProgress(console.progress, (progress) =>
    compareFeeds(feeds, terms, threads, progress),
  );
  await writeNotes(console, notes);
  if (!job.json) return write(console.out, `${drawComparisons(comparisons, console.screen)}\n`);
  const entries = comparisons.map(({ profile, evaluation, ...named }) => ({
    ...named,
    ...evaluation,
    profile: profile.name,
    params: profile.params,
  }));
  await write(console.out, `${JSON.stringify(entries)}\n`);
}

/** Compares every two of the feeds: files, or folders with files of the same names. */
async function compareFeeds(
  feeds: Feed[],
  terms: StudyTerms,
  threads: number | null,
  watch: StudyWatch,
): Promise<{ comparisons: Comparison[]; notes: string[] }> {
  const comparisons: Comparison[] = [];
  const notes: string[] = [];
  for (const [index, first] of feeds.entries()) {
    for (const second of feeds.slice(index + 1)) {
      const files = {
        reference: first.path,
        trackers: [second.name],
        sequences: commonFiles(first, second),
        notes: [],
      };
      const study = await runStudy(files, terms, threads, watch);
      notes.push(...study.notes);
      for (const { profile, evaluation, scores } of study.combined)
        comparisons.push({
          first: first.name,
          second: second.name,
          profile,
          sequences: study.common,
          evaluation,
          scores,
        });
    }
  }
  return { comparisons, notes: [...new Set(notes)] };
}

/** The sequences of which both have a file; two files are one sequence, whatever their names. */
function commonFiles(first: Feed, second: Feed): SequenceFiles[] {
  const others = filesOf(second.path);
  const sequences = [...filesOf(first.path)].flatMap(([name, reference]): SequenceFiles[] => {
    const tracker = isFolder(first.path) ? others.get(name) : [...others.values()][0];
    return tracker === undefined ? [] : [{ name, reference, trackers: [tracker] }];
  });
  if (sequences.length > 0) return sequences;
  throw new InputError([
    { path: second.path, value: first.path, message: 'these folders have no file name in common' },
  ]);
}

/** Files by the name of their sequence. */
function filesOf(path: string): Map<string, string> {
  if (!isFolder(path)) return new Map([[basename(path), path]]);
  const found = new Map<string, string>();
  for (const folder of [path, join(path, 'data')]) {
    if (!isFolder(folder)) continue;
    for (const name of readdirSync(folder).sort()) {
      const annotated = [join(folder, name, 'gt', 'gt.txt'), join(folder, name, 'gt.txt')].find(existsSync);
      if (annotated) found.set(name, annotated);
      else if (name.endsWith('.txt')) found.set(name.slice(0, -4), join(folder, name));
    }
  }
  return found;
}

function drawComparisons(comparisons: Comparison[], screen: Screen): string {
  const profiles = [...new Set(comparisons.map(({ profile }) => profile))];
  const room = Math.min(screen.columns, 100);
  return profiles
    .map((profile) => {
      const list = comparisons.filter((one) => one.profile === profile);
      const sentences = list.flatMap((one) => wrapText(sentenceOn(one), room, '  '));
      const title = `${profile.name}, ${dim('no feed is believed: the distance is the same both ways', screen)}`;
      return [title, '', ...drawTable(columnsOf(list), screen), '', ...sentences].join('\n');
    })
    .join('\n\n');
}

function columnsOf(list: Comparison[]): Column[] {
  const number = (title: string, value: (one: Comparison) => number, group?: string): Column => ({
    title,
    align: 'right',
    cells: list.map((one) => String(Number(value(one).toPrecision(5)))),
    ...(group ? { group } : {}),
  });
  const scored = list.every(({ scores }) => scores !== null);
  return [
    { title: 'first', align: 'left', key: true, cells: list.map(({ first }) => first) },
    { title: 'second', align: 'left', key: true, cells: list.map(({ second }) => second) },
    number('distance', ({ evaluation }) => evaluation.distance),
    number('localization', ({ evaluation }) => evaluation.cost.localization, 'cost'),
    number('only first', ({ evaluation }) => evaluation.cost.missed, 'cost'),
    number('only second', ({ evaluation }) => evaluation.cost.false, 'cost'),
    number('switch', ({ evaluation }) => evaluation.cost.switch, 'cost'),
    number('in both', ({ evaluation }) => evaluation.count.proper, 'objects'),
    number('only first', ({ evaluation }) => evaluation.count.missed, 'objects'),
    number('only second', ({ evaluation }) => evaluation.count.false, 'objects'),
    number('switches', ({ evaluation }) => evaluation.count.switches),
    ...(scored
      ? [number('HOTA', ({ scores }) => scores?.HOTA ?? 0), number('IDF1', ({ scores }) => scores?.IDF1 ?? 0)]
      : []),
  ];
}

function sentenceOn({ first, second, evaluation }: Comparison): string {
  const { count, meanLocalizationError, distance } = evaluation;
  if (distance === 0) return `${first} and ${second} are the same.`;
  const near = count.proper > 0 ? `, ${meanLocalizationError.toPrecision(3)} apart on average` : '';
  const names = count.switches === 1 ? 'once' : `${whole(count.switches)} times`;
  const identities = count.switches > 0 ? ` They disagree on identities ${names}.` : '';
  return `${first} and ${second} agree on ${whole(count.proper)} objects${near}; ${whole(count.missed)} are only in ${first}, ${whole(count.false)} only in ${second}.${identities}`;
}
