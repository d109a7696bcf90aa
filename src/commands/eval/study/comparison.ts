/**
 * TGOSPA beside the other scores: the place of each tracker by each of them, and, in sentences, where they disagree and
 * what TGOSPA sees there.
 */
import { COMPONENTS } from '../../../metric/evaluation.js';
import { SCORE_KINDS, SCORE_NAMES, type ScoreName, type Scores } from '../../../scores/totals.js';
import { short } from '../../console/numbers.js';
import { type Column, drawTable, type Screen, wrapText } from '../../console/table.js';
import type { NamedProfile, Summary } from '../sequence/verdict.js';
import type { Study } from './study.js';

export interface Compared {
  name: string;
  evaluation: Pick<Summary, 'distance' | 'cost'>;
  scores: Scores;
}

/** The scores that are used to rank trackers. */
export const RANKING_SCORES = ['HOTA', 'MOTA', 'IDF1'] as const satisfies readonly ScoreName[];
const SENTENCES_MAX = 12;

const isCount = (name: ScoreName): boolean => SCORE_KINDS[name].unit === 'count';

/** A score as it is printed: three decimals, or a whole number. */
export function printed(name: ScoreName, value: number): string {
  return isCount(name) ? String(value) : value.toFixed(3);
}

/** Places from 1 on; equal values share one. */
export function placesOf(values: readonly number[], best: 'low' | 'high'): number[] {
  return values.map((value) => 1 + values.filter((other) => (best === 'low' ? other < value : other > value)).length);
}

/** Table of scores in the order of the distance, the places by each ranking score, and the sentences. */
export function drawScores(compared: Compared[], profile: string, screen: Screen): string[] {
  const ranked = [...compared].sort((a, b) => a.evaluation.distance - b.evaluation.distance);
  const room = Math.min(screen.columns, 100);
  const sentences = disagreements(ranked, profile).flatMap((sentence) => wrapText(sentence, room, '  '));
  return [...drawTable(columnsOf(ranked), screen), '', ...sentences];
}

function columnsOf(ranked: Compared[]): Column[] {
  const values = (name: ScoreName) => ranked.map(({ scores }) => scores[name]);
  const place = (title: string, list: number[], best: 'low' | 'high'): Column => {
    const places = placesOf(list, best);
    const heat = { values: places, best: 'low' as const };
    return { group: 'place by', title, align: 'right', cells: places.map(String), heat };
  };
  return [
    { title: 'tracker', align: 'left', key: true, cells: ranked.map(({ name }) => name) },
    place(
      'TGOSPA',
      ranked.map(({ evaluation }) => evaluation.distance),
      'low',
    ),
    ...RANKING_SCORES.map((name) => place(name, values(name), 'high')),
    ...SCORE_NAMES.map(
      (name): Column => ({
        group: 'scores',
        title: name,
        align: 'right',
        cells: values(name).map((value) => printed(name, value)),
        heat: { values: values(name), best: SCORE_KINDS[name].best },
      }),
    ),
  ];
}

/** Every pair of trackers that TGOSPA and another score put in opposite order, and why TGOSPA does. */
export function disagreements(compared: Compared[], profile: string): string[] {
  if (compared.length < 2) return [];
  const sentences = opposites(compared, profile);
  if (sentences.length === 0)
    return [`TGOSPA (${profile}), ${list(RANKING_SCORES)} agree on the order of the trackers.`];
  return shortened(sentences, 'pairs on which they disagree');
}

function opposites(compared: Compared[], profile: string): string[] {
  const ranked = [...compared].sort((a, b) => a.evaluation.distance - b.evaluation.distance);
  const sentences: string[] = [];
  ranked.forEach((better, index) => {
    for (const worse of ranked.slice(index + 1)) {
      if (!(better.evaluation.distance < worse.evaluation.distance)) continue;
      const against = RANKING_SCORES.filter((name) => worse.scores[name] > better.scores[name]);
      if (against.length > 0) sentences.push(sentenceOn(better, worse, against, profile));
    }
  });
  return sentences;
}

function shortened(sentences: string[], what: string): string[] {
  const more = sentences.length - SENTENCES_MAX;
  return more > 0 ? [...sentences.slice(0, SENTENCES_MAX), `And ${more} more ${what}.`] : sentences;
}

/**
 * The same for single sequences, each sentence with the name of its own; sequences on which all agree are passed over.
 */
export function sequenceDisagreements({ results, sequences }: Study, profile: NamedProfile): string[] {
  const found = sequences.flatMap((sequence) => {
    const compared = results.flatMap(({ sequence: of, tracker, profile: under, evaluation, scores }) =>
      of === sequence && under === profile && scores ? [{ name: tracker, evaluation, scores }] : [],
    );
    return opposites(compared, profile.name).map((sentence) => `${sequence}: ${sentence}`);
  });
  return shortened(found, 'pairs of trackers on single sequences');
}

function sentenceOn(better: Compared, worse: Compared, against: readonly ScoreName[], profile: string): string {
  const values = against.map((name) => `${printed(name, worse.scores[name])} to ${printed(name, better.scores[name])}`);
  const verb = against.length > 1 ? 'put' : 'puts';
  const distances = `${short(better.evaluation.distance)} to ${short(worse.evaluation.distance)}`;
  const head = `${list(against)} ${verb} ${worse.name} before ${better.name} (${values.join(', ')}); TGOSPA (${profile}) puts ${better.name} first (${distances})`;
  const saved = COMPONENTS.map((name) => ({ name, by: worse.evaluation.cost[name] - better.evaluation.cost[name] }));
  const words = (name: (typeof COMPONENTS)[number]) =>
    `${name} (${short(better.evaluation.cost[name])} to ${short(worse.evaluation.cost[name])})`;
  const less = saved.filter(({ by }) => by > 0).sort((a, b) => b.by - a.by);
  const more = saved.filter(({ by }) => by < 0).sort((a, b) => a.by - b.by);
  const although = more.length > 0 ? `, although it pays more for ${list(more.map(({ name }) => words(name)))}` : '';
  return `${head}: it pays less for ${list(less.map(({ name }) => words(name)))}${although}.`;
}

function list(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}
