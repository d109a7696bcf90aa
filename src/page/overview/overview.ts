/**
 * All series by health: what is broken first, each with its verdict in one sentence, since when, and usual beside now.
 * Only the rows that can be seen exist in the document; a thousand series cost no more than a screenful.
 */
import type { Board, BoardSeries } from '../data/board.js';
import { HEALTH, HEALTH_ORDER, type Health, type HealthVerdict } from '../data/health.js';
import type { Route } from '../kit/addresses.js';
import { h, setText } from '../kit/dom.js';
import { COLUMNS, SeriesRow, saying } from './series-row.js';

const REDRAW_MS = 250;
/** the order changes no more often than this: rows that jump cannot be clicked */
const SORT_MS = 1000;
const SPARE_ROWS = 6;
const GROUPS = { state: 'state', place: 'place', profile: 'profile', tracker: 'tracker', none: 'none' } as const;
type Group = keyof typeof GROUPS;
const ORDERS = { urgent: 'urgent first', name: 'by name', stale: 'oldest first' } as const;
type Order = keyof typeof ORDERS;
/** of a row that has something to say, of one that has nothing, and of a heading */
const HEIGHTS = {
  comfortable: { wrong: 62, fine: 44, group: 36 },
  compact: { wrong: 46, fine: 28, group: 28 },
  /** unless somebody wishes otherwise: what is wrong is read whole, the rest is low */
  many: { wrong: 62, fine: 28, group: 28 },
  narrow: { wrong: 62, fine: 36, group: 36 },
} as const;
type Density = keyof typeof HEIGHTS;
/** from so many series on, rows are low unless somebody wishes otherwise */
const COMPACT_FROM = 60;

interface Judged {
  series: BoardSeries;
  verdict: HealthVerdict;
  /** what its row says; empty when all is well */
  text: string;
}
type Line = { group: string; count: number; health?: Health } | Judged;

const isGroup = (line: Line): line is Extract<Line, { group: string }> => 'group' in line;

export class Overview {
  readonly element: HTMLElement;
  #rows = new Map<string, SeriesRow>();
  #lines: Line[] = [];
  #sortedMs = Number.NEGATIVE_INFINITY;
  #body = h('tbody');
  #table: HTMLTableElement;
  #title = h('h1', { tabIndex: -1 }, 'All series');
  #empty = h('p', { class: 'note' });
  #search: HTMLInputElement;
  #order: HTMLSelectElement;
  #group: HTMLSelectElement;
  #density: HTMLSelectElement;
  #chips = new Map<Health, HTMLButtonElement>();
  #stops: Array<() => void> = [];
  #drawnMs = 0;
  #late: number | undefined;

  constructor(
    readonly board: Board,
    route: Extract<Route, { view: 'overview' }>,
  ) {
    const { query } = route;
    this.#search = h('input', {
      type: 'search',
      id: 'search',
      placeholder: 'stream, tracker, word',
      value: query.get('q') ?? '',
      oninput: () => this.#filtered(),
    });
    const select = <T extends string>(id: string, options: Record<T, string>, chosen: string | null) => {
      const element = h(
        'select',
        { id, onchange: () => this.#filtered() },
        ...Object.entries<string>(options).map(([value, text]) => h('option', { value }, text)),
      );
      if (chosen !== null && chosen in options) element.value = chosen;
      return element;
    };
    this.#order = select<Order>('order', ORDERS, query.get('order'));
    this.#group = select<Group>('group', GROUPS, query.get('group'));
    this.#density = select(
      'density',
      { auto: 'automatic', comfortable: 'comfortable', compact: 'compact' },
      query.get('rows'),
    );
    const wanted = query.get('state')?.split(',') ?? [];
    for (const health of HEALTH_ORDER) this.#chips.set(health, this.#chip(health, wanted.includes(health)));
    const head = COLUMNS.map(([text, title]) => h('th', { scope: 'col', title: title ?? null }, text));
    this.#table = h('table', { class: 'series' }, h('thead', {}, h('tr', {}, ...head)), this.#body);
    this.element = this.#layout();
    this.#listen();
    this.draw();
  }

  #chip(health: Health, pressed: boolean): HTMLButtonElement {
    const chip: HTMLButtonElement = h('button', {
      type: 'button',
      class: `chip health-${health}`,
      'aria-pressed': String(pressed),
      onclick: () => {
        chip.setAttribute('aria-pressed', String(chip.getAttribute('aria-pressed') !== 'true'));
        this.#filtered();
      },
    });
    return chip;
  }

  #layout(): HTMLElement {
    return h(
      'section',
      { class: 'overview', 'aria-label': 'all series' },
      this.#title,
      h('div', { class: 'chips', role: 'group', 'aria-label': 'show only' }, ...this.#chips.values()),
      h(
        'form',
        { class: 'filters', role: 'search', onsubmit: (event: Event) => event.preventDefault() },
        h('label', {}, 'Search ', this.#search),
        h('label', {}, 'Group by ', this.#group),
        h('label', {}, 'Order ', this.#order),
        h('label', {}, 'Rows ', this.#density),
      ),
      h('div', { class: 'wide', tabIndex: 0, role: 'region', 'aria-label': 'table of series' }, this.#table),
      this.#empty,
    );
  }

  #listen(): void {
    this.#stops.push(this.board.listen(() => this.#soon()));
    // ages grow without any message
    const timer = window.setInterval(() => this.draw(), 1000);
    const moved = () => this.#place();
    addEventListener('scroll', moved, { passive: true });
    addEventListener('resize', moved);
    this.#stops.push(() => {
      clearInterval(timer);
      removeEventListener('scroll', moved);
      removeEventListener('resize', moved);
    });
  }

  close(): void {
    for (const stop of this.#stops) stop();
    clearTimeout(this.#late);
  }

  focusSearch(): void {
    this.#search.focus();
  }

  #filtered(): void {
    const query = new URLSearchParams();
    if (this.#search.value) query.set('q', this.#search.value);
    if (this.#order.value !== 'urgent') query.set('order', this.#order.value);
    if (this.#group.value !== 'state') query.set('group', this.#group.value);
    if (this.#density.value !== 'auto') query.set('rows', this.#density.value);
    const states = this.#wantedStates();
    if (states.size > 0) query.set('state', [...states].join(','));
    history.replaceState(null, '', `#/${query.size > 0 ? `?${query}` : ''}`);
    this.#sortedMs = Number.NEGATIVE_INFINITY;
    this.draw();
  }

  #wantedStates(): Set<Health> {
    return new Set(HEALTH_ORDER.filter((one) => this.#chips.get(one)!.getAttribute('aria-pressed') === 'true'));
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
    const known = this.#lines.length > 0 && this.#drawnMs - this.#sortedMs < SORT_MS;
    if (!known) this.#arrange();
    this.#place();
  }

  /** Judges all, and decides which lines there are. */
  #arrange(): void {
    this.#sortedMs = performance.now();
    const words = this.#search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const states = this.#wantedStates();
    const judged = [...this.board.series.values()].map((series) => {
      const verdict = this.board.verdictOf(series);
      return { series, verdict, text: saying(this.board, series, verdict) };
    });
    this.#count(judged);
    const found = judged.filter(
      ({ series, verdict }) =>
        (states.size === 0 || states.has(verdict.health)) &&
        words.every((word) =>
          `${series.stream} ${series.tracker} ${series.profile} ${verdict.sentence}`.toLowerCase().includes(word),
        ),
    );
    this.#lines = this.#grouped(found.sort((a, b) => this.#compare(a, b)));
    const none = this.board.series.size > 0 && found.length === 0;
    setText(this.#empty, none ? 'No series matches the search.' : '');
    document.body.dataset.series = String(found.length);
    const present = new Set(found.map(({ series }) => series));
    for (const [key, row] of this.#rows) if (!present.has(row.series)) this.#drop(key, row);
  }

  /** The verdict on everything: how many series need somebody. */
  #count(judged: Judged[]): void {
    const counts = new Map<Health, number>();
    for (const { verdict } of judged) counts.set(verdict.health, (counts.get(verdict.health) ?? 0) + 1);
    for (const [health, chip] of this.#chips) {
      const count = counts.get(health) ?? 0;
      setText(chip, `${count} ${HEALTH[health]}`);
      chip.hidden = count === 0 && chip.getAttribute('aria-pressed') !== 'true';
    }
    const well = (['fine', 'ended', 'waiting'] as const).reduce((sum, one) => sum + (counts.get(one) ?? 0), 0);
    const total = judged.length;
    const bad = total - well;
    const series = (count: number) => `${count} series`;
    setText(
      this.#title,
      total === 0 || !this.board.loaded
        ? 'All series'
        : bad === 0
          ? `Nothing is wrong with ${series(total)}`
          : `${bad} of ${series(total)} ${bad === 1 ? 'needs' : 'need'} attention`,
    );
    document.body.dataset.attention = this.board.loaded ? String(bad) : '';
  }

  #compare(a: Judged, b: Judged): number {
    const byName = a.series.key < b.series.key ? -1 : 1;
    if (this.#order.value === 'name') return byName;
    if (this.#order.value === 'stale') return a.series.receivedMs - b.series.receivedMs || byName;
    const urgency = ({ verdict }: Judged) => HEALTH_ORDER.indexOf(verdict.health);
    // what somebody has taken on comes after what nobody has
    const known = ({ series }: Judged) => (this.board.incidentOf(series)?.remark || this.board.muteOf(series) ? 1 : 0);
    const since = ({ verdict }: Judged) => verdict.sinceMs || Number.POSITIVE_INFINITY;
    const older = since(a) === since(b) ? 0 : since(a) - since(b);
    return urgency(a) - urgency(b) || known(a) - known(b) || older || byName;
  }

  #grouped(found: Judged[]): Line[] {
    const by = this.#group.value as Group;
    if (by === 'none' || found.length === 0) return found;
    const groups = new Map<string, Judged[]>();
    for (const one of found) {
      const name = groupOf(one, by);
      const members = groups.get(name);
      if (members) members.push(one);
      else groups.set(name, [one]);
    }
    const names = [...groups.keys()];
    if (by === 'state') names.sort((a, b) => HEALTH_ORDER.indexOf(a as Health) - HEALTH_ORDER.indexOf(b as Health));
    return names.flatMap((name): Line[] => {
      const members = groups.get(name)!;
      const head =
        by === 'state'
          ? { group: HEALTH[name as Health], count: members.length, health: name as Health }
          : { group: name, count: members.length };
      return [head, ...members];
    });
  }

  /** How high lines are at present. */
  get #heights(): (typeof HEIGHTS)[Density] {
    const { value } = this.#density;
    const density: Density =
      value === 'auto' ? (this.board.series.size >= COMPACT_FROM ? 'many' : 'comfortable') : (value as Density);
    this.#table.dataset.density = density;
    // a narrow screen has no room for the sentence beside the name
    return HEIGHTS[innerWidth <= 720 ? 'narrow' : density];
  }

  /** Puts the lines that can be seen into the document, and fills them. */
  #place(): void {
    const heights = this.#heights;
    const top = -this.#body.getBoundingClientRect().top;
    const ends = new Float64Array(this.#lines.length);
    this.#lines.forEach((line, n) => {
      ends[n] = (n > 0 ? ends[n - 1] : 0) + heightOf(line, heights);
    });
    const at = (height: number) => ends.findIndex((end) => end > height);
    const from = at(top);
    const to = at(top + innerHeight);
    const first = from < 0 ? Math.max(0, ends.length - SPARE_ROWS) : Math.max(0, from - SPARE_ROWS);
    const last = to < 0 ? ends.length : Math.min(ends.length, to + SPARE_ROWS);
    const shown = this.#lines.slice(first, Math.max(first, last));
    const before = (n: number) => (n > 0 ? ends[n - 1] : 0);
    const elements = [
      ...spacer('above', before(first)),
      ...shown.map((line) => {
        const height = heightOf(line, heights);
        return isGroup(line) ? groupRow(line, height) : this.#row(line, height);
      }),
      ...spacer('below', before(ends.length) - before(first + shown.length)),
    ];
    arrangeChildren(this.#body, elements);
    this.#table.setAttribute('aria-rowcount', String(this.#lines.length + 1));
    const visible = new Set(shown.flatMap((line) => (isGroup(line) ? [] : [line.series.key])));
    for (const [key, row] of this.#rows) if (!visible.has(key)) this.#drop(key, row);
  }

  #row({ series, verdict, text }: Judged, height: number): HTMLElement {
    let row = this.#rows.get(series.key);
    if (!row) {
      row = new SeriesRow(this.board, series);
      this.#rows.set(series.key, row);
    }
    row.fill(verdict, text, height);
    return row.element;
  }

  #drop(key: string, row: SeriesRow): void {
    row.element.remove();
    this.#rows.delete(key);
  }
}

/** A row that has nothing to say needs one line only. */
function heightOf(line: Line, { wrong, fine, group }: (typeof HEIGHTS)[Density]): number {
  if (isGroup(line)) return group;
  return line.text ? wrong : fine;
}

/** Where a stream is, by its name: what stands before a slash, or before the number. */
const placeOf = (stream: string) =>
  stream.includes('/') ? stream.slice(0, stream.lastIndexOf('/')) : stream.replace(/[-_ ]?\d+$/, '');

function groupOf({ series, verdict }: Judged, by: Group): string {
  if (by === 'state') return verdict.health;
  if (by === 'place') return placeOf(series.stream);
  return by === 'profile' ? series.profile : series.tracker;
}

const kept = new Map<string, HTMLElement>();

/** Elements that look the same are the same, so that nothing is laid out anew. */
function keep(key: string, make: () => HTMLElement): HTMLElement {
  let element = kept.get(key);
  if (!element) {
    if (kept.size > 500) kept.clear();
    element = make();
    kept.set(key, element);
  }
  return element;
}

function spacer(name: string, height: number): HTMLElement[] {
  if (height <= 0) return [];
  const row = keep(`spacer ${name}`, () => h('tr', { class: 'spacer', 'aria-hidden': 'true' }, h('td')));
  row.style.height = `${height}px`;
  return [row];
}

function groupRow({ group, count, health }: Extract<Line, { group: string }>, height: number): HTMLElement {
  const row = keep(`group ${group}`, () =>
    h(
      'tr',
      { class: `group${health ? ` health-${health}` : ''}` },
      h('th', { scope: 'rowgroup' }, h('span'), ' ', h('small')),
    ),
  );
  const [name, number] = row.firstElementChild!.children;
  setText(name as HTMLElement, group[0].toUpperCase() + group.slice(1));
  setText(number as HTMLElement, String(count));
  row.style.height = `${height}px`;
  return row;
}

/** Makes these the children, moving as few as possible. */
function arrangeChildren(parent: HTMLElement, wanted: HTMLElement[]): void {
  const present = new Set<Element>(wanted);
  for (const child of [...parent.children]) if (!present.has(child)) child.remove();
  wanted.forEach((element, n) => {
    if (parent.children[n] !== element) parent.insertBefore(element, parent.children[n] ?? null);
  });
}
