/**
 * All series, the worst first: distance, its recent course, its components, the age of the last frame, active spikes,
 * findings. Rows are kept and filled anew; only what changed is written.
 */
import type { Board, SeriesState } from './board.js';
import { h, setText } from './dom.js';
import { duration, keyOf, number, type Route, seriesLink } from './format.js';
import { theme } from './theme.js';
import { stackBar } from './what-if.js';

const ROWS_MAX = 200;
const REDRAW_MS = 250;
const SPARK = { width: 120, height: 26 };
const ORDERS = { worst: 'worst first', name: 'by name', stale: 'oldest first' } as const;
type Order = keyof typeof ORDERS;

interface Row {
  element: HTMLTableRowElement;
  link: HTMLAnchorElement;
  distance: HTMLElement;
  spark: HTMLCanvasElement;
  stack: HTMLElement;
  fresh: HTMLElement;
  spikes: HTMLElement;
  /** what the row shows at present */
  shown: { cost: object | null; sparked: number | null };
}

export class Overview {
  readonly element: HTMLElement;
  #rows = new Map<string, Row>();
  #body = h('tbody');
  #empty = h('p', { class: 'note' });
  #search: HTMLInputElement;
  #order: HTMLSelectElement;
  #stop: () => void;
  #timer: number;
  #drawnMs = 0;
  #late: number | undefined;

  constructor(
    readonly board: Board,
    route: Extract<Route, { view: 'overview' }>,
  ) {
    this.#search = h('input', {
      type: 'search',
      id: 'search',
      placeholder: 'stream, tracker or profile',
      value: route.query.get('q') ?? '',
      oninput: () => this.#filtered(),
    });
    this.#order = h(
      'select',
      { id: 'order', onchange: () => this.#filtered() },
      ...Object.entries(ORDERS).map(([value, text]) => h('option', { value }, text)),
    );
    this.#order.value = route.query.get('order') ?? 'worst';
    const head = ['Series', 'Distance', 'Recent', 'Components', 'Updated', 'Spikes, findings'].map((text) =>
      h('th', { scope: 'col' }, text),
    );
    this.element = h(
      'section',
      { class: 'overview', 'aria-label': 'all series' },
      h('h1', {}, 'All series'),
      h(
        'form',
        { class: 'filters', role: 'search', onsubmit: (event: Event) => event.preventDefault() },
        h('label', {}, 'Search ', this.#search),
        h('label', {}, 'Order ', this.#order),
      ),
      h(
        'div',
        { class: 'wide', tabIndex: 0, role: 'region', 'aria-label': 'table of series' },
        h('table', { class: 'series' }, h('thead', {}, h('tr', {}, ...head)), this.#body),
      ),
      this.#empty,
    );
    this.#stop = board.listen(() => this.#soon());
    // ages grow without any message
    this.#timer = window.setInterval(() => this.draw(), 1000);
    this.draw();
  }

  close(): void {
    this.#stop();
    clearInterval(this.#timer);
    clearTimeout(this.#late);
  }

  focusSearch(): void {
    this.#search.focus();
  }

  #filtered(): void {
    const query = new URLSearchParams();
    if (this.#search.value) query.set('q', this.#search.value);
    if (this.#order.value !== 'worst') query.set('order', this.#order.value);
    history.replaceState(null, '', `#/${query.size > 0 ? `?${query}` : ''}`);
    this.draw();
  }

  #soon(): void {
    if (this.#late !== undefined) return;
    const waitMs = Math.max(0, this.#drawnMs + REDRAW_MS - performance.now());
    this.#late = window.setTimeout(() => {
      this.#late = undefined;
      this.draw();
    }, waitMs);
  }

  draw(): void {
    this.#drawnMs = performance.now();
    const wanted = this.#search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const found = [...this.board.series.values()]
      .filter((one) =>
        wanted.every((word) => `${one.stream} ${one.tracker} ${one.profile}`.toLowerCase().includes(word)),
      )
      .sort((a, b) => this.#compare(a, b));
    const shown = found.slice(0, ROWS_MAX);
    const present = new Set(shown.map(keyOf));
    for (const [key, row] of this.#rows) if (!present.has(key)) this.#drop(key, row);
    shown.forEach((series, n) => {
      const row = this.#row(series);
      // moving a row costs a layout; most stay where they are
      if (this.#body.children[n] !== row.element) this.#body.insertBefore(row.element, this.#body.children[n] ?? null);
      this.#fill(row, series);
    });
    const more = found.length - shown.length;
    const none = this.board.series.size > 0 && found.length === 0;
    setText(
      this.#empty,
      none ? 'No series matches the search.' : more > 0 ? `and ${more} more; search to see them` : '',
    );
    document.body.dataset.series = String(found.length);
  }

  #compare(a: SeriesState, b: SeriesState): number {
    const byName = keyOf(a).localeCompare(keyOf(b));
    switch (this.#order.value as Order) {
      case 'name':
        return byName;
      case 'stale':
        return a.receivedMs - b.receivedMs || byName;
      default:
        return (b.distance || 0) - (a.distance || 0) || byName;
    }
  }

  #drop(key: string, row: Row): void {
    row.element.remove();
    this.#rows.delete(key);
  }

  #row(series: SeriesState): Row {
    const key = keyOf(series);
    const known = this.#rows.get(key);
    if (known) return known;
    const { stream, tracker, profile } = series;
    const link = h('a', { href: seriesLink(series) }, h('b', {}, stream), ` / ${tracker}`, h('small', {}, profile));
    const spark = h('canvas', { class: 'spark', role: 'img', 'aria-label': 'recent distance' });
    const row: Row = {
      element: h('tr', { 'data-series': `${stream}/${tracker}/${profile}` }),
      link,
      distance: h('td', { class: 'distance' }),
      spark,
      stack: h('td', { class: 'stack-cell' }),
      fresh: h('td', { class: 'fresh' }),
      spikes: h('td', { class: 'spikes' }),
      shown: { cost: null, sparked: null },
    };
    row.element.append(
      h('th', { scope: 'row' }, link),
      row.distance,
      h('td', {}, spark),
      row.stack,
      row.fresh,
      row.spikes,
    );
    this.#rows.set(key, row);
    return row;
  }

  #fill(row: Row, series: SeriesState): void {
    setText(row.distance, `${series.exact ? '' : '≤ '}${number(series.distance)}`);
    row.distance.title = series.exact ? '' : 'not proven in time: the true distance may be smaller; nothing is settled';
    row.element.dataset.certified = String(series.exact);
    row.distance.dataset.value = String(series.distance);
    row.element.dataset.k = String(series.k ?? '');
    if (row.shown.sparked !== series.k || row.shown.cost === null) sparkline(row.spark, series.spark);
    if (row.shown.cost !== series.cost) row.stack.replaceChildren(stackBar(series.cost));
    row.shown = { cost: series.cost, sparked: series.k };
    const { text, stale } = this.#freshness(series);
    setText(row.fresh, text);
    row.fresh.classList.toggle('stale', stale);
    const spikes = this.board.spikesOf(series).map(({ signal }) => signal);
    const findings = this.board.findingsOf(series);
    const said = [...spikes, ...findings.map(({ finding }) => finding)].join(', ');
    if (row.spikes.dataset.spikes === said) return;
    row.spikes.dataset.spikes = said;
    row.spikes.replaceChildren(
      ...spikes.map((signal) => h('span', { class: 'badge' }, `▲ ${signal}`)),
      ...findings.map(({ finding, message, remedy }) =>
        h('span', { class: 'badge', title: `${message}; ${remedy}` }, `⚠ ${finding}`),
      ),
    );
  }

  #freshness(series: SeriesState): { text: string; stale: boolean } {
    const feeds = this.board.streams.get(series.stream)?.feeds ?? [];
    const tracker = feeds.find((feed) => feed.tracker === series.tracker);
    if (feeds.some((feed) => feed.role === 'reference' && feed.silent))
      return { text: 'reference silent', stale: true };
    if (tracker?.silent) return { text: 'tracker silent', stale: true };
    if (series.ended) return { text: 'ended', stale: false };
    if (series.receivedMs === 0) return { text: 'no frame yet', stale: false };
    const ageMs = this.board.ageMs(series.receivedMs);
    return { text: ageMs < 2000 ? 'now' : `${duration(ageMs)} ago`, stale: ageMs > 10_000 };
  }
}

function sparkline(canvas: HTMLCanvasElement, values: number[]): void {
  const ratio = window.devicePixelRatio || 1;
  const width = SPARK.width * ratio;
  const height = SPARK.height * ratio;
  canvas.width = width;
  canvas.height = height;
  if (values.length < 2) return;
  const context = canvas.getContext('2d')!;
  const top = Math.max(...values, 1e-12) * 1.05;
  context.strokeStyle = theme().ink;
  context.lineWidth = 1.25 * ratio;
  context.beginPath();
  values.forEach((value, n) => {
    context.lineTo((n / (values.length - 1)) * width, height - (value / top) * (height - 2) - 1);
  });
  context.stroke();
}
