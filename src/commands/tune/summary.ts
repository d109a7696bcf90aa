/**
 * A tuning in text: the increments drawn in characters, the intervals, the choice and what it means, the scores, and
 * the profile as a section of the configuration.
 */
import { COMPONENTS } from '../../metric/evaluation.js';
import type { IntervalName } from '../../tuning/intervals.js';
import type { TuningScore } from '../../tuning/profile-scores.js';
import { ADMISSIBLE_SHARE_MAX, type Candidate, type Choice, type Tuning } from '../../tuning/tuning.js';
import { digits, inUnit } from '../../tuning/words.js';
import { exactness, percent, whole } from '../console/numbers.js';
import { bold, type Column, dim, drawTable, type Screen, wrapText } from '../console/table.js';

/** What the four intervals are called and mean. */
export const INTERVAL_WORDS: Record<IntervalName, { title: string; meaning: string }> = {
  growth: { title: 'rapid growth', meaning: 'correct pairs: a cut-off in here would split them' },
  plateau: { title: 'plateau', meaning: 'choose the cut-off here, where it hardly matters' },
  distant: { title: 'occasional distant', meaning: 'few pairs, most of them probably wrong' },
  none: { title: 'none', meaning: 'no pairs' },
};

const LINES = 8;
const AXIS_CHARS = 9;
const PLOT_CHARS_MAX = 80;
const TEXT_CHARS_MAX = 100;
const EIGHTHS = ' ▁▂▃▄▅▆▇█';
const COLORS: Record<IntervalName, number> = { growth: 75, plateau: 114, distant: 221, none: 245 };

/** The summary, ready to print. */
export function drawSummary(tuning: Tuning, screen: Screen): string {
  const { candidate, warnings } = tuning;
  const room = Math.min(screen.columns, TEXT_CHARS_MAX);
  const sections = [
    [headline(tuning, screen)],
    ['Pairs by distance, N(c); heights are square roots of the numbers', ...drawIncrements(tuning, screen)],
    drawTable(intervalColumns(tuning), screen),
    drawTable(trackerColumns(tuning), screen),
  ];
  if (warnings.length > 0)
    sections.push([bold('Warnings', screen), ...warnings.flatMap((text) => wrapText(`  ! ${text}`, room, '    '))]);
  if (candidate) {
    // these columns need no titles
    sections.push([bold('Proposal', screen), ...drawTable(choiceColumns(tuning, candidate), screen).slice(1)]);
    if (tuning.alternatives.length > 0)
      sections.push(
        wrapText(
          `Also inside the plateau: ${tuning.alternatives.map((one) => choiceWords(one, tuning)).join('; ')}.`,
          room,
          '',
        ),
      );
    sections.push([
      bold('What will and will not count', screen),
      ...candidate.explanation.flatMap((text) => wrapText(`  - ${text}`, room, '    ')),
    ]);
  }
  if (tuning.scores.length > 0)
    sections.push([bold('What each tracker would score', screen), ...drawTable(scoreColumns(tuning.scores), screen)]);
  if (tuning.scores.some(({ exact }) => !exact)) sections.push(wrapText(NOT_PROVEN, room, ''));
  if (candidate)
    sections.push([bold('The profile, for the configuration', screen), ...profileYaml(tuning).trimEnd().split('\n')]);
  return `${sections.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

/** What a gap in the table of scores means. */
export const NOT_PROVEN =
  'A gap instead of yes means that time ran out for that score: it is the best found, and the true cost is lower by at most that share. Raise --budget-ms to prove it.';

/** What was looked at, in one line. */
function headline({ pairs, trackers, kind, distance }: Tuning, screen: Screen): string {
  const names = trackers.length === 1 ? trackers[0].tracker : `${trackers.length} trackers`;
  return `${bold(names, screen)}: ${whole(pairs)} pairs of ${kind === 'box' ? 'boxes' : 'points'}, distance ${distance}`;
}

function drawIncrements({ histogram, intervals, reach }: Tuning, screen: Screen): string[] {
  const { pairs, width } = histogram;
  const room = Math.min(PLOT_CHARS_MAX, Math.max(20, screen.columns - AXIS_CHARS - 1));
  // wide plots repeat each step, narrow ones add several up
  const merged = Math.ceil(pairs.length / room);
  const bars = Array.from({ length: Math.ceil(pairs.length / merged) }, (_, index) =>
    pairs.slice(index * merged, (index + 1) * merged).reduce((sum, count) => sum + count, 0),
  );
  const chars = Math.max(1, Math.floor(room / bars.length));
  const top = Math.max(1, ...bars);
  const names = bars.map((_, index) => intervalAt(intervals, (index + 0.5) * merged * width));
  const lines = Array.from({ length: LINES }, (_, index) => {
    const level = LINES - 1 - index;
    const cells = bars.map((count, bar) => ink(blockOf(count, top, level).repeat(chars), names[bar], screen));
    const axis = index === 0 ? whole(top) : index === LINES - 1 ? '0' : '';
    return `${axis.padStart(AXIS_CHARS - 2)} ┤${cells.join('')}`.trimEnd();
  });
  const letters = names.map((name) => ink(name[0].repeat(chars), name, screen)).join('');
  const margin = ' '.repeat(AXIS_CHARS);
  const span = bars.length * chars;
  const legend = Object.entries(INTERVAL_WORDS).map(([name, { title }]) =>
    ink(`${name[0]} ${title}`, name as IntervalName, screen),
  );
  return [
    ...lines,
    margin + letters,
    dim(`${margin}0${digits(reach).padStart(span - 1)}`, screen),
    `${margin}${legend.join('   ')}`,
  ];
}

function blockOf(count: number, top: number, level: number): string {
  const eighths = count > 0 ? Math.max(1, Math.round(Math.sqrt(count / top) * LINES * 8)) : 0;
  return EIGHTHS[Math.max(0, Math.min(8, eighths - level * 8))];
}

function intervalAt(intervals: Tuning['intervals'], distance: number): IntervalName {
  return intervals.find(({ from, to }) => distance >= from && distance < to)?.name ?? 'none';
}

function ink(text: string, name: IntervalName, { colors }: Screen): string {
  return colors && text.trim() !== '' ? `\x1b[38;5;${COLORS[name]}m${text}\x1b[0m` : text;
}

function intervalColumns({ intervals, pairs, distance }: Tuning): Column[] {
  const right = (title: string, cells: string[]): Column => ({ title, align: 'right', cells });
  return [
    { title: 'interval', align: 'left', key: true, cells: intervals.map(({ name }) => INTERVAL_WORDS[name].title) },
    right(
      'from',
      intervals.map(({ from }) => inUnit(from, distance)),
    ),
    right(
      'to',
      intervals.map(({ to }) => inUnit(to, distance)),
    ),
    right(
      'pairs',
      intervals.map((one) => whole(one.pairs)),
    ),
    right(
      'share',
      intervals.map((one) => percent(pairs > 0 ? one.pairs / pairs : 0)),
    ),
    { title: 'what it is', align: 'left', cells: intervals.map(({ name }) => INTERVAL_WORDS[name].meaning) },
  ];
}

function trackerColumns({ trackers, distance }: Tuning): Column[] {
  const right = (title: string, cells: string[]): Column => ({ title, align: 'right', cells });
  return [
    { title: 'tracker', align: 'left', key: true, cells: trackers.map(({ tracker }) => tracker) },
    right(
      'truths',
      trackers.map(({ truths }) => whole(truths)),
    ),
    right(
      'tracks',
      trackers.map(({ tracks }) => whole(tracks)),
    ),
    right(
      'pairs',
      trackers.map(({ pairs }) => whole(pairs)),
    ),
    right(
      'median distance',
      trackers.map(({ medianDistance }) => inUnit(medianDistance, distance)),
    ),
    right(
      'beyond the cut-off',
      trackers.map(({ beyondShare }) => (beyondShare === null ? '-' : percent(beyondShare))),
    ),
    { title: 'remark', align: 'left', cells: trackers.map(remarkOn) },
  ];
}

/** What stands out about a tracker, if anything. */
export function remarkOn({ detector, loose, pairs }: Tuning['trackers'][number]): string {
  const words = [detector && 'detections', loose && 'too loose', pairs === 0 && 'no pairs'];
  return words.filter((word) => word !== false).join(', ');
}

/** Rows of the choice: what, how much, and where it comes from. */
export function choiceRows(
  { distance, plateau }: Tuning,
  { words, params }: Candidate,
): Array<[string, string, string]> {
  const rows: Array<[string, string, string]> = [
    ['cut-off', inUnit(params.cutoff, distance), originOf(params.cutoff, plateau)],
  ];
  if (words.admissibleError !== undefined)
    rows.push([
      'admissible error',
      inUnit(words.admissibleError, distance),
      originOf(words.admissibleError, plateau, params.cutoff),
    ]);
  rows.push([
    'exponent',
    digits(params.exponent),
    words.admissibleError === undefined ? 'as given' : 'follows: ln 2 / (ln cut-off - ln admissible error)',
  ]);
  rows.push(['switch penalty', digits(params.switchPenalty), switchOrigin(words)]);
  if (words.missShare !== undefined) rows.push(['miss share', digits(words.missShare), 'as given']);
  return rows;
}

function originOf(value: number, plateau: Tuning['plateau'], cutoff?: number): string {
  if (plateau && value === plateau.from) return 'start of the plateau';
  if (plateau && value === plateau.to) return 'end of the plateau';
  if (plateau && Math.abs(value - (plateau.from + plateau.to) / 2) < 1e-3 * value) return 'middle of the plateau';
  if (cutoff !== undefined && value === cutoff / 2) return 'half the cut-off, the smallest possible';
  if (cutoff !== undefined && Math.abs(value - cutoff * ADMISSIBLE_SHARE_MAX) < 1e-3 * value)
    return 'three quarters of the cut-off: the plateau is narrow';
  return 'as given';
}

function switchOrigin({ shortSwitchDistance, longSwitchFrames, switchPenalty }: Candidate['words']): string {
  if (shortSwitchDistance !== undefined) return `two tracks ${digits(shortSwitchDistance)} apart are a switch`;
  if (longSwitchFrames !== undefined) return `changes longer than ${digits(longSwitchFrames)} frames are switches`;
  return switchPenalty === 0 ? 'no switches' : 'as given';
}

/** A choice in a phrase. */
export function choiceWords({ cutoff, admissibleError, exponent }: Choice, { distance }: Tuning): string {
  return `cut-off ${inUnit(cutoff, distance)} with admissible error ${inUnit(admissibleError, distance)} (exponent ${digits(exponent)})`;
}

function choiceColumns(tuning: Tuning, candidate: Candidate): Column[] {
  const rows = choiceRows(tuning, candidate);
  return [
    { title: '', align: 'left', key: true, cells: rows.map(([what]) => `  ${what}`) },
    { title: '', align: 'right', cells: rows.map(([, value]) => value) },
    { title: '', align: 'left', cells: rows.map(([, , origin]) => origin) },
  ];
}

/** By profile, the best tracker first. */
export function rankedScores(scores: readonly TuningScore[]): Array<TuningScore & { rank: number }> {
  const profiles = [...new Set(scores.map(({ profile }) => profile))];
  return profiles.flatMap((profile) =>
    scores
      .filter((one) => one.profile === profile)
      .sort((a, b) => a.distance - b.distance)
      .map((one, index) => ({ ...one, rank: index + 1 })),
  );
}

function scoreColumns(scores: TuningScore[]): Column[] {
  const ranked = rankedScores(scores);
  const right = (title: string, cells: string[], group?: string): Column => ({ title, align: 'right', cells, group });
  const last = (index: number) => index > 0 && ranked[index - 1].profile === ranked[index].profile;
  return [
    {
      title: 'profile',
      align: 'left',
      key: true,
      cells: ranked.map(({ profile }, index) => (last(index) ? '' : profile)),
    },
    { title: '#', align: 'right', key: true, cells: ranked.map(({ rank }) => String(rank)) },
    { title: 'tracker', align: 'left', key: true, cells: ranked.map(({ tracker }) => tracker) },
    right(
      'distance',
      ranked.map(({ distance }) => digits5(distance)),
    ),
    ...COMPONENTS.map((component) =>
      right(
        component,
        ranked.map(({ cost }) => percent(cost.total > 0 ? cost[component] / cost.total : 0)),
        'share of the cost',
      ),
    ),
    ...(['proper', 'missed', 'false', 'switches'] as const).map((key) =>
      right(
        key,
        ranked.map(({ count }) => whole(count[key])),
        'count',
      ),
    ),
    right('exact', ranked.map(exactness)),
  ];
}

export function digits5(value: number): string {
  return value === 0 ? '0' : value >= 1e5 ? whole(Math.round(value)) : value.toPrecision(5);
}

/** The candidate as a section of the configuration file, with a comment on where it comes from. */
export function profileYaml({ candidate, distance, plateau, pairs }: Tuning): string {
  if (!candidate) return '';
  const { name, words, params } = candidate;
  const key =
    /^[A-Za-z][A-Za-z0-9_-]*$/.test(name) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(name)
      ? name
      : JSON.stringify(name);
  const from = plateau
    ? `plateau ${inUnit(plateau.from, distance)} to ${inUnit(plateau.to, distance)}, ${plateau.given ? 'as given' : `found in ${whole(pairs)} pairs`}`
    : 'cut-off as given, no plateau was found';
  return [
    'profiles:',
    `  # ${from}; exponent ${digits(params.exponent)}, switch penalty ${digits(params.switchPenalty)}`,
    `  ${key}:`,
    ...Object.entries(words).map(([word, value]) => `    ${word}: ${value}`),
    '',
  ].join('\n');
}
