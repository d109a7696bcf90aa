/**
 * A study as one HTML file: who is best under each profile and why, what the other scores say, every sequence, and for
 * each tracker its cost over time with the assignment ribbon.
 */
import { COMPONENTS, type Obj } from '../../../metric/evaluation.js';
import { drawChart, legend, stack } from '../../../report/chart.js';
import { drawFilm, type FilmFrame, type FilmObject } from '../../../report/film.js';
import { html, type Markup } from '../../../report/markup.js';
import { drawPage, type PageColumn, section, table, tidy } from '../../../report/page.js';
import { drawRibbon } from '../../../report/ribbon.js';
import { SCORE_NAMES, type ScoreName } from '../../../scores/totals.js';
import { MOMENT_FORMAT, MOMENT_VERSION, type SavedMoment } from '../../../wire/moment.js';
import { sentenceOn } from '../sequence/ranking.js';
import { describeParams, type NamedProfile, type WorstMoment } from '../sequence/verdict.js';
import { disagreements, placesOf, printed, RANKING_SCORES, sequenceDisagreements } from './comparison.js';
import type { CombinedResult, Study } from './study.js';

/** sequences whose charts are unfolded from the start */
const UNFOLDED_MAX = 1;
/** moments of a tracker under a profile that are shown */
const WORST_MAX = 2;

/** The whole file; `command` says how it was made. */
export function drawStudyPage(studies: readonly Study[], command: string): string {
  const [{ trackers, sequences, reference }] = studies;
  const notes = [...new Set(studies.flatMap((study) => study.notes))];
  const counted = (count: number, word: string) => `${count} ${word}${count === 1 ? '' : 's'}`;
  return drawPage({
    title: `TGOSPA: ${trackers.join(', ')}`,
    subtitle: html`${counted(trackers.length, 'tracker')} against ${reference}, ${counted(sequences.length, 'sequence')}. The distance is a metric: 0 is perfect, smaller is better. Its cost is split exactly into localization, missed, false and switch.`,
    body: [
      studies.flatMap((study, n) =>
        study.profiles.map((profile, index) => verdictSection(study, profile, n * study.profiles.length + index)),
      ),
      notes.length > 0 && section('notes', 'Notes', html`<ul>${notes.map((note) => html`<li>${note}</li>`)}</ul>`),
    ],
    footer: html`Made by <code>${command}</code>`,
  });
}

function verdictSection(study: Study, profile: NamedProfile, index: number): Markup {
  const combined = study.combined
    .filter((one) => one.profile === profile)
    .sort((a, b) => a.evaluation.distance - b.evaluation.distance);
  const id = `profile-${index + 1}`;
  const over = study.common.length === study.sequences.length ? 'all sequences' : study.common.join(', ');
  return section(
    id,
    study.class === undefined ? profile.name : `${profile.name}, class ${study.class}`,
    html`<p class="faint">${describeParams(profile.params)}</p>`,
    combined.length > 0 && [
      legend(COMPONENTS.map((name) => ({ name, className: name }))),
      verdictTable(combined, over),
      combined.map(({ tracker, evaluation }) => html`<p>${sentenceOn({ name: tracker, evaluation })}</p>`),
      warningsOf(combined).map((warning) => html`<p class="bad">${warning}</p>`),
      scoresPart(combined, profile),
    ],
    study.sequences.length > 1 && sequenceTable(study, profile),
    worstPart(study, profile, id),
    html`<h3>Over time</h3>`,
    study.sequences.map((sequence, n) => sequencePart(study, profile, sequence, n < UNFOLDED_MAX)),
  );
}

const warningsOf = (combined: CombinedResult[]) => [...new Set(combined.flatMap(({ warnings }) => warnings))];

function verdictTable(combined: CombinedResult[], over: string): Markup {
  const most = Math.max(...combined.map(({ evaluation }) => evaluation.cost.total), 1e-12);
  const columns: Array<PageColumn<CombinedResult>> = [
    { heading: 'tracker', value: ({ tracker }) => tracker, text: true },
    { heading: 'distance', value: ({ evaluation }) => tidy(evaluation.distance, 5), hint: 'smaller is better' },
    { heading: 'cost', value: ({ evaluation }) => costBar(evaluation.cost, most), text: true },
    ...COMPONENTS.map((name) => ({
      heading: `${name} cost`,
      value: ({ evaluation }: CombinedResult) => tidy(evaluation.cost[name]),
    })),
    {
      heading: 'proper pairs',
      value: ({ evaluation }) => evaluation.count.proper,
      hint: 'closer than the cut-off',
    },
    { heading: 'missed truths', value: ({ evaluation }) => evaluation.count.missed },
    { heading: 'false tracks', value: ({ evaluation }) => evaluation.count.false },
    { heading: 'switches', value: ({ evaluation }) => evaluation.count.switches },
    {
      heading: 'exact',
      value: ({ evaluation }) => (evaluation.exact ? 'yes' : `gap ${tidy(evaluation.gap * 100, 2)} %`),
    },
  ];
  return table(combined, columns, { caption: `Combined over ${over}`, best: (row) => row === combined[0] });
}

function costBar(cost: CombinedResult['evaluation']['cost'], most: number): Markup {
  const parts = COMPONENTS.map(
    (name) =>
      html`<i class="${name}" title="${name} ${tidy(cost[name])}" style="width:${tidy((cost[name] / most) * 100, 3)}%"></i>`,
  );
  return html`<span class="bar-cell">${parts}</span>`;
}

function scoresPart(combined: CombinedResult[], profile: NamedProfile): Markup | '' {
  const scored = combined.flatMap((one) => (one.scores ? [{ ...one, name: one.tracker, scores: one.scores }] : []));
  if (scored.length === 0) return '';
  const distancePlaces = placesOf(
    scored.map(({ evaluation }) => evaluation.distance),
    'low',
  );
  const places = new Map<ScoreName, number[]>(
    RANKING_SCORES.map((name) => [
      name,
      placesOf(
        scored.map(({ scores }) => scores[name]),
        'high',
      ),
    ]),
  );
  type Row = (typeof scored)[number];
  const placeCell = (name: ScoreName, row: Row) => {
    const index = scored.indexOf(row);
    const place = places.get(name)![index];
    return place === distancePlaces[index] ? place : html`<strong class="bad">${place}</strong>`;
  };
  const columns: Array<PageColumn<Row>> = [
    { heading: 'tracker', value: ({ name }) => name, text: true },
    { heading: 'by TGOSPA', value: (row) => distancePlaces[scored.indexOf(row)] },
    ...RANKING_SCORES.map((name) => ({ heading: `by ${name}`, value: (row: Row) => placeCell(name, row) })),
    ...SCORE_NAMES.map((name) => ({ heading: name, value: ({ scores }: Row) => printed(name, scores[name]) })),
  ];
  return html`<h3>Beside the other scores</h3>
${table(scored, columns, { caption: 'Places by each score; bold where it differs from TGOSPA' })}
<div class="note">${disagreements(scored, profile.name).map((sentence) => html`<p>${sentence}</p>`)}</div>
`;
}

function sequenceTable(study: Study, profile: NamedProfile): Markup {
  const resultOf = (sequence: string, tracker: string) =>
    study.results.find((one) => one.sequence === sequence && one.tracker === tracker && one.profile === profile);
  const columns: Array<PageColumn<string>> = [
    { heading: 'sequence', value: (sequence) => sequence, text: true },
    ...study.trackers.map((tracker) => ({
      heading: tracker,
      value: (sequence: string) => {
        const result = resultOf(sequence, tracker);
        if (!result) return '–';
        const score = result.scores ? html` <span class="faint">${result.scores.HOTA.toFixed(3)}</span>` : '';
        return html`${result.evaluation.distance.toFixed(3)}${score}`;
      },
    })),
  ];
  const scored = study.results.some(({ scores }) => scores);
  const caption = scored ? 'Distance, and HOTA in grey' : 'Distance';
  const sentences = sequenceDisagreements(study, profile);
  return html`<h3>By sequence</h3>
${table(study.sequences, columns, { caption })}${
  sentences.length > 0 && html`<div class="note">${sentences.map((sentence) => html`<p>${sentence}</p>`)}</div>`
}`;
}

/** The moments of each tracker that cost most, as films, each with a file that the page opens. */
function worstPart(study: Study, profile: NamedProfile, id: string): Markup | '' {
  const parts = study.trackers.flatMap((tracker, row) => {
    const own = study.results.filter((one) => one.tracker === tracker && one.profile === profile);
    const moments = own.flatMap(({ sequence, worst = [] }) => worst.map((moment) => ({ sequence, moment })));
    const worst = moments.sort((a, b) => b.moment.cost - a.moment.cost).slice(0, WORST_MAX);
    if (worst.length === 0) return [];
    const films = worst.map(({ sequence, moment }, n) =>
      momentFigure({ sequence, tracker, profile, moment, id: `${id}-film-${row}-${n}` }),
    );
    return [html`<h4>${tracker}</h4><div class="moments">${films}</div>`];
  });
  if (parts.length === 0) return '';
  return html`<h3>Worst moments</h3>
<p class="faint">The frames that cost most, those around them included: play them, or choose a frame of the strip (arrow keys step; the worst is marked). A saved file opens on the live page (Open file) and with <code>tgospa eval FILE</code> and <code>tgospa replay FILE</code>.</p>
${parts}`;
}

interface ShownMoment {
  sequence: string;
  tracker: string;
  profile: NamedProfile;
  moment: WorstMoment;
  id: string;
}

function momentFigure({ sequence, tracker, profile, moment, id }: ShownMoment): Markup {
  const { first, worst, frames, judged, cost } = moment;
  const { count } = judged[worst - first];
  const place = `${sequence}, frame ${worst + 1}`;
  const counts = `${count.missed} missed, ${count.false} false`;
  const film = drawFilm(
    id,
    filmOf(moment, profile.params.distance === 'geodesic'),
    worst - first,
    `${tracker} at ${place}: ${counts}`,
  );
  const file: SavedMoment = {
    format: MOMENT_FORMAT,
    version: MOMENT_VERSION,
    ...{ stream: sequence, tracker, profile: profile.name, k: worst + 1, lead: 0 },
    params: { ...profile.params, windowFrames: frames.length },
    frames: frames.map((frame, n) => ({ k: first + n + 1, ...frame })),
  };
  const address = `data:application/json;base64,${Buffer.from(JSON.stringify(file)).toString('base64')}`;
  const name = `${sequence}-${tracker}-${worst + 1}.moment.json`.replaceAll('/', '_');
  return html`<figure>
<figcaption>${place}: cost ${tidy(cost, 3)} per frame; ${counts}. <a download="${name}" href="${address}">Save moment</a></figcaption>
${film}</figure>
`;
}

function filmOf({ first, frames, judged }: WorstMoment, onEarth: boolean): FilmFrame[] {
  const degree = onEarth ? degreeOf(frames) : null;
  return frames.map(({ reference, tracker }, n) => {
    const proper = judged[n].assignment.filter(({ distance }) => distance !== null);
    const truths = new Set(proper.map(({ truth }) => truth));
    const tracks = new Set(proper.map(({ track }) => track));
    const shown = (objects: Obj[], paired: Set<string>) =>
      objects.map((object) => ({ id: object.id, at: placeOf(object, degree), alone: !paired.has(object.id) }));
    return { name: `frame ${first + n + 1}`, reference: shown(reference, truths), tracker: shown(tracker, tracks) };
  });
}

/** Points have y upwards; places on Earth are latitude and longitude, and north is up. */
function placeOf(object: Obj, degree: number | null): FilmObject['at'] {
  if ('box' in object) return object.box;
  const [first, second = 0] = object.point;
  return degree === null ? [first, -second, 0, 0] : [second * degree, -first, 0, 0];
}

/** How long a degree of longitude is where these frames are, beside one of latitude. */
function degreeOf(frames: WorstMoment['frames']): number {
  const [some] = frames.flatMap(({ reference, tracker }) => [...reference, ...tracker]);
  return some && 'point' in some ? Math.cos((some.point[0] * Math.PI) / 180) : 1;
}

function sequencePart(study: Study, profile: NamedProfile, sequence: string, open: boolean): Markup {
  const results = study.results.flatMap(({ timeline, ribbon, ...one }) =>
    one.sequence === sequence && one.profile === profile && timeline && ribbon ? [{ ...one, timeline, ribbon }] : [],
  );
  const heights = results.flatMap(({ timeline }) =>
    timeline.cost.missed.map(
      (_, bin) => COMPONENTS.reduce((sum, name) => sum + timeline.cost[name][bin], 0) / timeline.binFrames,
    ),
  );
  const top = heights.reduce((most, value) => Math.max(most, value), 0) || 1;
  return html`<details${open ? html` open` : ''}>
<summary>${sequence}</summary>
${results.map((result) => {
  const { timeline, ribbon, tracker, evaluation } = result;
  const { binFrames, frames } = timeline;
  const layers = COMPONENTS.map((name) => ({
    name,
    className: name,
    values: timeline.cost[name].map((value) => value / binFrames),
  }));
  const mean = binFrames === 1 ? '' : `, mean of ${binFrames} frames`;
  const few =
    ribbon.rows.length < ribbon.truthCount
      ? `the ${ribbon.rows.length} of ${ribbon.truthCount} truths with most changes`
      : 'every truth';
  return html`<h3>${tracker}: distance ${tidy(evaluation.distance, 5)}</h3>
${drawChart({
  caption: `Cost of each frame${mean}`,
  description: `cost over time of ${tracker} on ${sequence}`,
  x: { label: 'frame', from: 1, to: Math.max(2, frames) },
  y: { label: 'cost', from: 0, to: top },
  drawings: stack(layers, (bin) => Math.min(frames, bin * binFrames + 1 + (binFrames - 1) / 2)),
  height: 200,
})}${drawRibbon(ribbon.rows, frames, `Who follows ${few}: one colour per track, a thin line where missed`)}`;
})}
</details>
`;
}
