/** The figures of one series at one frame: those of the window that ends there, and those of the frame alone. */
import { COMPONENTS, type FrameCost } from '../metric/evaluation.js';
import type { LiveSeries } from './data/live-series.js';
import { pointAt } from './data/trend.js';
import { h, setText } from './kit/dom.js';
import { count, number } from './kit/format.js';
import type { ShownFrame } from './scene/frames.js';

export interface Figure {
  k: number;
  distance: number;
  cost: FrameCost;
  /** proven in time */
  exact: boolean;
}

/** Distance and costs of the window that ends at frame k; undefined when they are no longer retained. */
export function figureAt({ shownTrend: trend }: LiveSeries, k: number): Figure | undefined {
  let low = 0;
  let high = trend.k.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (trend.k[middle] < k) low = middle + 1;
    else high = middle;
  }
  if (trend.k[low] !== k) return undefined;
  return { k, ...pointAt(trend, low), exact: trend.exact[low] === 1 };
}

export const sentence = ({ k, distance, cost, exact }: Figure) =>
  `frame ${k}: distance ${exact ? '' : 'not proven, at most '}${number(distance)}; ${COMPONENTS.map((name) => `${name} ${exact ? '' : '~ '}${number(cost[name])}`).join(', ')}`;

export const totalOf = (figure: Figure | undefined): number =>
  figure ? COMPONENTS.reduce((sum, name) => sum + figure.cost[name], 0) : 0;

export class Figures {
  readonly element: HTMLElement;
  #distance = h('output', { class: 'big', 'data-figure': 'distance' });
  #unit = h('span');
  #costs = new Map(COMPONENTS.map((name) => [name, h('dd', { 'data-figure': name })]));
  #bars = new Map(COMPONENTS.map((name) => [name, h('span', { class: `bar ${name}` })]));
  #frame = h('p', { class: 'note', 'data-figure': 'frame' });

  constructor() {
    const rows = COMPONENTS.map((name) =>
      h(
        'div',
        {},
        h('dt', {}, h('span', { class: `swatch ${name}`, 'aria-hidden': 'true' }), name),
        this.#costs.get(name)!,
        h('dd', { class: 'bar-cell', 'aria-hidden': 'true' }, this.#bars.get(name)!),
      ),
    );
    this.element = h(
      'div',
      { class: 'figures-box' },
      h('p', {}, this.#distance, this.#unit),
      h('dl', { class: 'costs' }, ...rows),
      this.#frame,
    );
  }

  show(figure: Figure | undefined, frame: ShownFrame | undefined, unit = '', most = 0): void {
    this.#distance.dataset.value = figure ? String(figure.distance) : '';
    this.element.dataset.k = String(frame?.k ?? '');
    setText(this.#distance, figure ? `${figure.exact ? '' : '≤ '}${number(figure.distance)}` : '–');
    setText(this.#unit, ` ${unit ? `${unit} ` : ''}distance${figure && !figure.exact ? ', not proven in time' : ''}`);
    // bars of two trackers have one scale
    const total = Math.max(most, totalOf(figure));
    for (const name of COMPONENTS) {
      const cell = this.#costs.get(name)!;
      cell.dataset.value = figure ? String(figure.cost[name]) : '';
      setText(cell, figure ? `${figure.exact ? '' : '~ '}${number(figure.cost[name])}` : '–');
      this.#bars.get(name)!.style.width = `${total > 0 ? Math.round(((figure?.cost[name] ?? 0) / total) * 100) : 0}%`;
    }
    setText(this.#frame, frame ? describe(frame) : '');
  }
}

export function describe({ k, count: counts, reference, tracker, switched }: ShownFrame): string {
  const changed = switched.length > 0 ? `, track changed for ${switched.join(', ')}` : '';
  return `Frame ${k}: ${reference.ids.length} truths, ${tracker.ids.length} tracks; ${counts.proper} proper, ${count(counts.missed)} missed, ${count(counts.false)} false${changed}.`;
}
