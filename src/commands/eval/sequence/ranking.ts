/**
 * Several trackers ranked under one profile: a table, best first, and one sentence per tracker on where its cost comes
 * from. Costs are to the power of the exponent and add up; the distance is the root of their sum.
 */
import { COMPONENTS, type Evaluation, type FrameCost } from '../../../metric/evaluation.js';
import { exactness, percent, whole } from '../../console/numbers.js';
import { type Column, drawTable, type Screen, wrapText } from '../../console/table.js';

export interface Contender {
  name: string;
  evaluation: Omit<Evaluation, 'perFrame'>;
}

/** Table and sentences, best tracker first. */
export function drawRanking(contenders: Contender[], screen: Screen): string[] {
  const ranked = [...contenders].sort((a, b) => a.evaluation.distance - b.evaluation.distance);
  const room = Math.min(screen.columns, 100);
  const sentences = ranked.flatMap((contender) => wrapText(sentenceOn(contender), room, '  '));
  return [...drawTable(columnsOf(ranked), screen), '', ...sentences];
}

/** Warnings as a paragraph to stand beside the numbers; none when there are none. */
export function drawWarnings(warnings: readonly string[], { columns }: Screen): string[] {
  const lines = [...new Set(warnings)].flatMap((warning) => wrapText(warning, Math.min(columns, 100), '  '));
  return lines.length > 0 ? [lines.join('\n')] : [];
}

function columnsOf(ranked: Contender[]): Column[] {
  const all = ranked.map(({ evaluation }) => evaluation);
  return [
    { title: '#', align: 'right', key: true, cells: ranked.map((_, index) => String(index + 1)) },
    { title: 'tracker', align: 'left', key: true, cells: ranked.map(({ name }) => name) },
    measure(
      'distance',
      all.map(({ distance }) => distance),
    ),
    ...COMPONENTS.map((component) => ({
      ...measure(
        component,
        all.map(({ cost }) => cost[component]),
      ),
      group: 'cost',
    })),
    {
      ...count(
        'proper',
        all.map(({ count }) => count.proper),
        'high',
      ),
      group: 'count',
    },
    {
      ...count(
        'missed',
        all.map(({ count }) => count.missed),
      ),
      group: 'count',
    },
    {
      ...count(
        'false',
        all.map(({ count }) => count.false),
      ),
      group: 'count',
    },
    {
      ...count(
        'switches',
        all.map(({ count }) => count.switches),
      ),
      group: 'count',
    },
    measure(
      'mean error',
      all.map(({ meanLocalizationError }) => meanLocalizationError),
    ),
    { title: 'exact', align: 'right', cells: all.map(exactness) },
  ];
}

/** Five digits for the largest, and as many decimals for the others. */
function measure(title: string, values: number[]): Column {
  const largest = Math.max(...values, 1e-9);
  const decimals = Math.max(0, Math.min(4, 4 - Math.floor(Math.log10(largest))));
  return {
    title,
    align: 'right',
    cells: values.map((value) => value.toFixed(decimals)),
    heat: { values, best: 'low' },
  };
}

function count(title: string, values: number[], best: 'low' | 'high' = 'low'): Column {
  const decimals = values.every(Number.isInteger) ? 0 : 1;
  return { title, align: 'right', cells: values.map((value) => value.toFixed(decimals)), heat: { values, best } };
}

/** Where the cost of a tracker comes from, in plain words, the dearest component first. */
export function sentenceOn({ name, evaluation }: Contender): string {
  const { cost, count, meanLocalizationError } = evaluation;
  if (count.proper + count.missed + count.false === 0)
    return `${name}: nothing to judge: neither it nor the reference has an object in any frame.`;
  if (cost.total === 0) return `${name}: no cost at all: every object is tracked, exactly, by one track.`;
  const reasons: Record<keyof FrameCost, string> = {
    localization: `${whole(count.proper)} pairs lie ${meanLocalizationError.toPrecision(3)} apart on average`,
    missed: `${whole(count.missed)} of ${whole(count.missed + count.proper)} true positions have no track`,
    false: `${whole(count.false)} of ${whole(count.false + count.proper)} tracked positions are not there`,
    switch: `identities change ${whole(count.switches)} ${count.switches === 1 ? 'time' : 'times'}`,
  };
  const paid = COMPONENTS.filter((component) => cost[component] > 0).sort((a, b) => cost[b] - cost[a]);
  const parts = paid.map(
    (component) => `${percent(cost[component] / cost.total)} ${component} (${reasons[component]})`,
  );
  const free = COMPONENTS.filter((component) => !(cost[component] > 0));
  const rest = free.length > 0 ? `; nothing for ${free.join(', ')}` : '';
  return `${name}: ${parts.join(', ')}${rest}.`;
}
