/** One series in the overview: its verdict, usual beside now, distance and trend. Only what changed is written. */

import { IncidentControls, remarkOf } from '../controls/incident-controls.js';
import { stackBar } from '../controls/what-if.js';
import type { RateState } from '../data/api.js';
import type { Board, BoardSeries } from '../data/board.js';
import type { HealthVerdict } from '../data/health.js';
import { seriesLink } from '../kit/addresses.js';
import { h, setText } from '../kit/dom.js';
import { brief, duration, number, unitOf } from '../kit/format.js';
import { theme } from '../kit/theme.js';

const SPARK = { width: 96, height: 22 };
const STALE_MS = 10_000;

/** The headings; a row has a cell for each, in this order, and style.css a width, by place (`table.series thead`). */
export const COLUMNS: ReadonlyArray<[text: string, title?: string]> = [
  ['Series'],
  ['Since'],
  ['Missed / min', 'missed objects, counted in every frame, settled over the last minute; usual in grey'],
  ['False / min', 'false tracks, counted in every frame, settled over the last minute; usual in grey'],
  ['Switches / object h', 'how often an object changes its track in an hour; usual in grey'],
  ['Distance', 'TGOSPA distance of the window'],
  ['Trend', 'distance over the last frames'],
  ['Components', 'shares of localization, missed, false and switch in the cost'],
  ['Last frame'],
  ['Incident'],
];

export class SeriesRow {
  readonly element: HTMLTableRowElement;
  #sentence = h('span', { class: 'sentence' });
  #since = h('td', { class: 'since' });
  #rates = { missed: rateCell(), false: rateCell(), switch: rateCell() };
  #distance = h('td', { class: 'distance' });
  #spark = h('canvas', { class: 'spark', role: 'img', 'aria-label': 'trend of the distance' });
  #stack = h('td', { class: 'stack-cell' });
  #fresh = h('td', { class: 'fresh' });
  #controls: IncidentControls;
  #shown: { cost: object | null; k: number | null } = { cost: null, k: null };

  constructor(
    readonly board: Board,
    readonly series: BoardSeries,
  ) {
    const { stream, tracker, profile } = series;
    const several = (board.streams.get(stream)?.profiles.length ?? 0) > 1;
    const link = h(
      'a',
      { href: seriesLink(series), title: profile },
      h('b', {}, stream),
      ` / ${tracker}`,
      several && h('small', {}, ` ${profile}`),
    );
    this.#controls = new IncidentControls(board, series);
    this.element = h(
      'tr',
      { 'data-series': `${stream}/${tracker}/${profile}` },
      h(
        'th',
        { scope: 'row' },
        h('div', { class: 'verdict' }, h('span', { class: 'dot', 'aria-hidden': 'true' }), link, this.#sentence),
      ),
      this.#since,
      this.#rates.missed.cell,
      this.#rates.false.cell,
      this.#rates.switch.cell,
      this.#distance,
      h('td', {}, this.#spark),
      this.#stack,
      this.#fresh,
      h('td', {}, this.#controls.element),
    );
  }

  /** `text`: what there is to say of it. */
  fill(verdict: HealthVerdict, text: string, height: number): void {
    const { series, board, element } = this;
    element.style.height = `${height}px`;
    element.dataset.k = String(series.k ?? '');
    element.dataset.certified = String(series.exact);
    if (element.dataset.health !== verdict.health) {
      element.dataset.health = verdict.health;
      element.className = `health-${verdict.health}`;
    }
    setText(this.#sentence, text);
    if (this.#sentence.title !== text) this.#sentence.title = text;
    const ageMs = board.ageMs(verdict.sinceMs);
    // a feed whose own time runs ahead of the clock began in the future
    setText(this.#since, verdict.sinceMs > 0 && ageMs >= 0 ? duration(ageMs) : '');
    this.#fillRates(board.rates.get(series.key));
    this.#fillDistance();
    const fresh = this.#freshness();
    setText(this.#fresh, fresh.text);
    this.#fresh.classList.toggle('stale', fresh.stale);
    this.#controls.show();
  }

  #fillRates(rate: RateState | undefined): void {
    const figures = rate && rate.seconds > 0 ? ratesOf(rate) : null;
    for (const [name, { now, usual }] of Object.entries(this.#rates)) {
      const figure = figures?.[name as keyof Rates];
      setText(now, figure ? brief(figure.now) : '–');
      setText(usual, figure && figure.usual !== null ? brief(figure.usual) : '');
    }
  }

  #fillDistance(): void {
    const { series } = this;
    const unit = unitOf(this.board.distances.get(series.profile));
    setText(this.#distance, `${series.exact ? '' : '≤ '}${number(series.distance)}${unit ? ` ${unit}` : ''}`);
    this.#distance.title = series.exact
      ? ''
      : 'not proven in time: the true distance may be smaller; nothing is settled';
    this.#distance.dataset.value = String(series.distance);
    const shown = this.#shown;
    if (shown.k !== series.k || shown.cost === null) sparkline(this.#spark, series.spark);
    if (shown.cost !== series.cost) this.#stack.replaceChildren(stackBar(series.cost));
    this.#shown = { cost: series.cost, k: series.k };
  }

  #freshness(): { text: string; stale: boolean } {
    const { series, board } = this;
    if (series.ended) return { text: 'ended', stale: false };
    if (series.receivedMs === 0) return { text: series.judged ? '–' : 'none yet', stale: false };
    // what is judged while a tracker is silent are no frames of it
    const feed = board.streams.get(series.stream)?.feeds.find(({ tracker }) => tracker === series.tracker);
    const ageMs = board.ageMs(feed?.silent ? feed.lastReceivedMs : series.receivedMs);
    return { text: ageMs < 2000 ? 'now' : `${duration(ageMs)} ago`, stale: ageMs > STALE_MS };
  }
}

/** What is wrong with a series, and what people said of it; empty when there is nothing to say. */
export function saying(board: Board, series: BoardSeries, { sentence, health }: HealthVerdict): string {
  const remark = remarkOf(board, series);
  const parts = [health === 'fine' ? '' : sentence, series.exact ? '' : 'Not proven in time.', remark && `[${remark}]`];
  return parts.filter(Boolean).join(' ');
}

function rateCell() {
  const now = h('span');
  const usual = h('small', { class: 'usual', title: 'usual' });
  return { cell: h('td', { class: 'rate' }, now, ' ', usual), now, usual };
}

interface Rates {
  missed: Figure;
  false: Figure;
  switch: Figure;
}
interface Figure {
  now: number;
  usual: number | null;
}

/** Per minute, and per object and hour; usual figures are per frame and come at the pace of the last minute. */
function ratesOf({ seconds, frames, missed, false: wrong, switches, proper, usual }: RateState): Rates {
  const perMinute = 60 / seconds;
  const objects = frames > 0 ? (proper + missed) / frames : 0;
  const objectHours = (objects * seconds) / 3600;
  const expected = (signal: string, factor: number) => {
    const value = usual?.[signal];
    return value === undefined || value === null || !Number.isFinite(factor) ? null : value * factor;
  };
  return {
    missed: { now: missed * perMinute, usual: expected('missed', frames * perMinute) },
    false: { now: wrong * perMinute, usual: expected('false', frames * perMinute) },
    switch: {
      now: objectHours > 0 ? switches / objectHours : 0,
      usual: expected('switch', objectHours > 0 ? frames / objectHours : Number.NaN),
    },
  };
}

function sparkline(canvas: HTMLCanvasElement, values: number[]): void {
  const ratio = window.devicePixelRatio || 1;
  const width = SPARK.width * ratio;
  const height = SPARK.height * ratio;
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const context = canvas.getContext('2d')!;
  context.clearRect(0, 0, width, height);
  if (values.length < 2) return;
  const top = Math.max(...values, 1e-12) * 1.05;
  context.strokeStyle = theme().ink;
  context.lineWidth = 1.25 * ratio;
  context.beginPath();
  values.forEach((value, n) => {
    context.lineTo((n / (values.length - 1)) * width, height - (value / top) * (height - 2) - 1);
  });
  context.stroke();
}
