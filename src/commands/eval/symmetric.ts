/**
 * Feeds compared with each other, none of them believed: two trackers without ground truth, or two annotators. TGOSPA is a metric, so the
 * distance is the same both ways; what would be missed and false is simply what only one of the two has.
 */

import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { InputError } from '../../metric/input-error.js';
import type { Scores } from '../../scores/totals.js';
import { type Column, dim, drawTable, type Screen, wrapText } from '../console/table.js';
import { isFolder } from '../files/layout.js';
import { runStudy, type StudyTerms } from './study.js';
import type { NamedProfile, Summary } from './verdict.js';

export interface Comparison {
  first: string;
  second: string;
  profile: NamedProfile;
  sequences: string[];
  evaluation: Summary;
  scores: Scores | null;
}

/** Compares every two of the feeds: files, or folders with files of the same names. */
export async function compareFeeds(
  feeds: Array<{ name: string; path: string }>,
  terms: StudyTerms,
  threads: number | undefined,
  onPair: (done: number, of: number) => void,
): Promise<{ comparisons: Comparison[]; notes: string[] }> {
  const files = feeds.map(({ path }) => filesOf(path));
  const comparisons: Comparison[] = [];
  const notes: string[] = [];
  for (let i = 0; i < feeds.length; i++) {
    for (let j = i + 1; j < feeds.length; j++) {
      const sequences = [...files[i]].flatMap(([name, reference]) => {
        const tracker = isFolder(feeds[i].path) ? files[j].get(name) : [...files[j].values()][0];
        return tracker === undefined ? [] : [{ name, reference, trackers: [tracker] }];
      });
      if (sequences.length === 0)
        throw new InputError([
          { path: feeds[j].path, value: feeds[i].path, message: 'these folders have no file name in common' },
        ]);
      const study = await runStudy(
        { reference: feeds[i].path, trackers: [feeds[j].name], sequences, notes: [] },
        terms,
        threads,
        onPair,
      );
      notes.push(...study.notes);
      for (const { profile, evaluation, scores } of study.combined)
        comparisons.push({
          first: feeds[i].name,
          second: feeds[j].name,
          profile,
          sequences: study.common,
          evaluation,
          scores,
        });
    }
  }
  return { comparisons, notes: [...new Set(notes)] };
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

export function drawComparisons(comparisons: Comparison[], screen: Screen): string {
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
  const whole = (value: number) => value.toLocaleString('en-US');
  if (distance === 0) return `${first} and ${second} are the same.`;
  const near = count.proper > 0 ? `, ${meanLocalizationError.toPrecision(3)} apart on average` : '';
  const names = count.switches === 1 ? 'once' : `${whole(count.switches)} times`;
  const identities = count.switches > 0 ? ` They disagree on identities ${names}.` : '';
  return `${first} and ${second} agree on ${whole(count.proper)} objects${near}; ${whole(count.missed)} are only in ${first}, ${whole(count.false)} only in ${second}.${identities}`;
}
