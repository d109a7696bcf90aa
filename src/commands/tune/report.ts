/**
 * The report on a tuning: one HTML file with the choice and what it means, the two increment plots with the intervals,
 * pairs to look at in order of distance, and what each tracker would score. Needs no script and no network.
 */
import { type Box, COMPONENTS, type FrameCost, type Obj } from '../../metric/evaluation.js';
import { drawChart, legend } from '../../report/chart.js';
import { html, type Markup } from '../../report/markup.js';
import { drawPage, section, table, tidy } from '../../report/page.js';
import type { IntervalName } from '../../tuning/intervals.js';
import type { ExamplePair } from '../../tuning/pairs.js';
import type { Candidate, Tuning } from '../../tuning/tuning.js';
import { digits, inUnit } from '../../tuning/words.js';
import { exactness, percent, whole } from '../console/numbers.js';
import {
  choiceRows,
  choiceWords,
  digits5,
  INTERVAL_WORDS,
  NOT_PROVEN,
  profileYaml,
  rankedScores,
  remarkOn,
} from './summary.js';

const CLASSES: Record<IntervalName, string> = { growth: 's0', plateau: 's2', distant: 's4', none: 's7' };
/** Pairs drawn; one that is not drawn looks much like its neighbours. */
const CARDS_MAX = 32;
const CARD = 120;
const CARD_MARGIN = 8;

/** The whole file. `command` says how it was made. */
export function drawReport(tuning: Tuning, command: string): string {
  const { candidate, trackers, pairs, kind, distance } = tuning;
  const names = trackers.map(({ tracker }) => tracker).join(', ');
  return drawPage({
    title: 'Choosing the parameters',
    subtitle: `${whole(pairs)} pairs of ${kind === 'box' ? 'boxes' : 'points'} from ${names}; distance ${distance}.`,
    body: [
      proposal(tuning, candidate),
      increments(tuning),
      pairsToLookAt(tuning),
      trackerTable(tuning),
      tuning.scores.length > 0 && scoreTables(tuning),
    ],
    footer: html`<p>Made by <code>${command}</code></p>`,
  });
}

function proposal(tuning: Tuning, candidate: Candidate | null): Markup {
  const warnings = tuning.warnings.map((text) => html`<p>${text}</p>`);
  const beware = warnings.length > 0 && html`<div class="note"><p><strong>Beware</strong></p>${warnings}</div>`;
  if (!candidate) return section('proposal', 'No proposal', beware);
  const { alternatives } = tuning;
  return section(
    'proposal',
    'The proposal',
    table(choiceRows(tuning, candidate), [
      { heading: 'parameter', text: true, value: ([what]) => what },
      { heading: 'value', value: ([, value]) => html`<strong>${value}</strong>` },
      { heading: 'where it comes from', text: true, value: ([, , origin]) => origin },
    ]),
    beware,
    html`<h3>What will and will not count</h3><ul>${candidate.explanation.map((text) => html`<li>${text}</li>`)}</ul>`,
    html`<h3>The profile, for the configuration</h3><pre>${profileYaml(tuning)}</pre>`,
    alternatives.length > 0 &&
      html`<p class="faint">Also inside the plateau: ${alternatives.map((one) => choiceWords(one, tuning)).join('; ')}.</p>`,
  );
}

function increments(tuning: Tuning): Markup {
  const { intervals, histogram, distance, pairs } = tuning;
  return section(
    'increments',
    'The increments',
    html`<p>Every frame was assigned on its own at a cut-off of ${inUnit(tuning.reach, distance)}. A bar shows what the cut-off would
gain by moving past it: how many more pairs would be proper, and how much localization error they would bring in.</p>`,
    incrementChart(tuning, 'N(c)', 'pairs', histogram.pairs),
    incrementChart(tuning, 'L(c)', 'sum of distances', histogram.localization),
    table(intervals, [
      { heading: 'interval', text: true, value: ({ name }) => INTERVAL_WORDS[name].title },
      { heading: 'from', value: ({ from }) => inUnit(from, distance) },
      { heading: 'to', value: ({ to }) => inUnit(to, distance) },
      { heading: 'pairs', value: (one) => whole(one.pairs) },
      { heading: 'share', value: (one) => percent(pairs > 0 ? one.pairs / pairs : 0) },
      { heading: 'what it is', text: true, value: ({ name }) => INTERVAL_WORDS[name].meaning },
    ]),
  );
}

function incrementChart(tuning: Tuning, symbol: string, unit: string, values: number[]): Markup {
  const { histogram, intervals, reach, candidate, distance } = tuning;
  const spans = intervals
    .filter(({ from, to }) => to > from)
    .map(({ name, from, to }) => ({
      kind: 'span' as const,
      name: INTERVAL_WORDS[name].title,
      className: CLASSES[name],
      from,
      to,
    }));
  const marks = candidate ? [{ x: candidate.params.cutoff, label: `c = ${digits(candidate.params.cutoff)}` }] : [];
  const admissible = candidate?.words.admissibleError;
  if (admissible !== undefined) marks.unshift({ x: admissible, label: `a = ${digits(admissible)}` });
  return drawChart({
    caption: html`<strong>${symbol}</strong>: ${unit} by distance, in steps of ${inUnit(histogram.width, distance)}${candidate && '; c is the cut-off, a the admissible error'}.`,
    description: `${symbol}, ${unit} in each step of the distance; intervals: ${intervals.map(({ name, from, to }) => `${INTERVAL_WORDS[name].title} ${digits(from)} to ${digits(to)}`).join(', ')}`,
    x: { label: `distance (${distance})`, from: 0, to: reach },
    y: { label: unit, from: 0, to: Math.max(1e-9, ...values) },
    drawings: [
      ...spans,
      {
        kind: 'bars',
        name: '',
        className: 's0',
        width: histogram.width,
        bars: values.map((value, step): [number, number] => [step * histogram.width, value]),
      },
    ],
    marks,
  });
}

function pairsToLookAt(tuning: Tuning): Markup {
  const { examples } = tuning;
  const stride = Math.max(1, examples.length / CARDS_MAX);
  const chosen = Array.from(
    { length: Math.min(examples.length, CARDS_MAX) },
    (_, index) => examples[Math.floor(index * stride)],
  );
  return section(
    'pairs',
    'Pairs to look at',
    html`<p>One pair from each step of the plots, in order of distance. Where do they stop being the same object? A cut-off beyond
that is too large. The edge on top has the colour of the interval.</p>`,
    legend([
      { name: tuning.kind === 'box' ? 'truth' : 'truth (dot, within the cut-off)', className: 's0' },
      { name: tuning.kind === 'box' ? 'track (dashed)' : 'track (cross)', className: 's1' },
    ]),
    html`<ol class="cards">${chosen.map((pair) => card(pair, tuning))}</ol>`,
  );
}

function card(pair: ExamplePair, tuning: Tuning): Markup {
  const { tracker, sequence, frameNumber, truth, track, distance } = pair;
  const { params } = tuning.candidate ?? {};
  const name = tuning.intervals.find(({ from, to }) => distance >= from && distance < to)?.name ?? 'none';
  const verdict = params && (distance < params.cutoff ? 'a pair' : 'no pair');
  return html`<li class="${CLASSES[name]}">${drawPair(pair, tuning)}
<strong>${inUnit(distance, tuning.distance)}</strong> ${verdict}<br>
<span class="faint">${tracker}${sequence && `, ${sequence}`}, frame ${frameNumber}: truth ${truth.id}, track ${track.id}</span></li>
`;
}

function drawPair({ truth, track, distance }: ExamplePair, tuning: Tuning): Markup {
  const label = `distance ${inUnit(distance, tuning.distance)}`;
  if ('box' in truth && 'box' in track) return drawBoxes(truth.box, track.box, label);
  return drawPoints(offsetOf(truth, track, distance, tuning), tuning.candidate?.params.cutoff ?? 0, label);
}

/** Both boxes to scale, the two together as large as the card. */
function drawBoxes(truth: Box, track: Box, label: string): Markup {
  const left = Math.min(truth[0], track[0]);
  const top = Math.min(truth[1], track[1]);
  const width = Math.max(truth[0] + truth[2], track[0] + track[2]) - left;
  const height = Math.max(truth[1] + truth[3], track[1] + track[3]) - top;
  const scale = (CARD - 2 * CARD_MARGIN) / Math.max(width, height);
  const rect = ([x, y, w, h]: Box, className: string) =>
    html`<rect class="outline ${className}" x="${place(x - left, width, scale)}" y="${place(y - top, height, scale)}" width="${one(w * scale)}" height="${one(h * scale)}"/>`;
  return html`<svg viewBox="0 0 ${CARD} ${CARD}" role="img" aria-label="${label}">${rect(truth, 's0')}${rect(track, 's1 dashed')}</svg>`;
}

/** Where a length along an axis falls on the card, the whole extent being centred. */
function place(offset: number, extent: number, scale: number): number {
  return one(CARD / 2 + (offset - extent / 2) * scale);
}

/** The truth in the middle, the cut-off around it, the track where it is. */
function drawPoints([x, y]: [number, number], cutoff: number, label: string): Markup {
  const middle = CARD / 2;
  const scale = (middle - CARD_MARGIN) / Math.max(cutoff, Math.hypot(x, y), 1e-12);
  const at = [one(middle + x * scale), one(middle - y * scale)];
  return html`<svg viewBox="0 0 ${CARD} ${CARD}" role="img" aria-label="${label}"><circle class="grid" cx="${middle}" cy="${middle}" r="${one(cutoff * scale)}"/><path class="axis" d="M${middle} ${middle}L${at[0]} ${at[1]}"/><circle class="dot s0" cx="${middle}" cy="${middle}" r="4"/><path class="outline s1" d="M${at[0] - 4} ${at[1] - 4}l8 8m0 -8l-8 8"/></svg>`;
}

/**
 * From truth to track, right and up, as long as their distance; of more than two coordinates the first two give the
 * direction.
 */
function offsetOf(truth: Obj, track: Obj, distance: number, tuning: Tuning): [number, number] {
  const from = pointOf(truth);
  const to = pointOf(track);
  const [first, second] = [(to[0] ?? 0) - (from[0] ?? 0), (to[1] ?? 0) - (from[1] ?? 0)];
  // latitude first: north is up
  const [x, y] =
    tuning.distance === 'geodesic' ? [second * Math.cos((from[0] * Math.PI) / 180), first] : [first, second];
  const length = Math.hypot(x, y);
  return length > 0 ? [(x / length) * distance, (y / length) * distance] : [distance, 0];
}

function pointOf(object: Obj): number[] {
  if ('point' in object) return object.point;
  const [left, top, width, height] = object.box;
  return [left + width / 2, top + height / 2];
}

/** One decimal is more than a screen shows. */
function one(value: number): number {
  return Math.round(value * 10) / 10;
}

function trackerTable({ trackers, distance }: Tuning): Markup {
  return section(
    'trackers',
    'The trackers',
    table(trackers, [
      { heading: 'tracker', text: true, value: ({ tracker }) => tracker },
      { heading: 'truths', value: ({ truths }) => whole(truths) },
      { heading: 'tracks', value: ({ tracks }) => whole(tracks) },
      { heading: 'pairs', value: ({ pairs }) => whole(pairs) },
      { heading: 'median distance', value: ({ medianDistance }) => inUnit(medianDistance, distance) },
      {
        heading: 'beyond the cut-off',
        hint: 'share of its pairs that the proposed cut-off would not accept',
        value: ({ beyondShare }) => (beyondShare === null ? '–' : percent(beyondShare)),
      },
      { heading: 'remark', text: true, value: remarkOn },
    ]),
  );
}

function scoreTables({ scores, candidate, kind }: Tuning): Markup {
  const ranked = rankedScores(scores);
  const profiles = [...new Set(ranked.map(({ profile }) => profile))];
  return section(
    'scores',
    'What each tracker would score',
    html`<p>TGOSPA over all frames, the smaller the better, and where its cost comes from. Distances of different profiles cannot be
compared; rankings can.${kind === 'point' && ' The published presets are for boxes, so only the candidate is shown.'}</p>`,
    legend(COMPONENTS.map((component) => ({ name: component, className: component }))),
    profiles.map((profile) =>
      table(
        ranked.filter((score) => score.profile === profile),
        [
          { heading: '#', value: ({ rank }) => rank },
          { heading: 'tracker', text: true, value: ({ tracker }) => tracker },
          { heading: 'distance', value: ({ distance }) => html`<strong>${digits5(distance)}</strong>` },
          { heading: 'cost', text: true, value: ({ cost }) => shares(cost) },
          { heading: 'proper', value: ({ count }) => whole(count.proper) },
          { heading: 'missed', value: ({ count }) => whole(count.missed) },
          { heading: 'false', value: ({ count }) => whole(count.false) },
          { heading: 'switches', value: ({ count }) => whole(count.switches) },
          { heading: 'mean error', value: ({ meanLocalizationError }) => tidy(meanLocalizationError, 3) },
          { heading: 'exact', value: exactness },
        ],
        {
          caption: html`<strong>${profile}</strong>${profile === candidate?.name ? ', the proposal' : ', published'}`,
        },
      ),
    ),
    scores.some(({ exact }) => !exact) && html`<p class="faint">${NOT_PROVEN}</p>`,
  );
}

function shares(cost: FrameCost & { total: number }): Markup {
  const words = COMPONENTS.map((name) => `${name} ${percent(cost.total > 0 ? cost[name] / cost.total : 0)}`).join(', ');
  return html`<span class="bar-cell" title="${words}">${COMPONENTS.map(
    (name) =>
      cost[name] > 0 &&
      html`<i class="${name}" style="width:${Math.round((cost[name] / cost.total) * 1000) / 10}%"></i>`,
  )}</span>`;
}
