/**
 * The events as a list: who, when, how much. A click shows the moment in scene and ribbon; the list can be exported.
 */
import type { EventMessage } from './data/api.js';
import type { Board } from './data/board.js';
import { csvOf, KINDS, kindOf, linkOf, sentenceOf } from './event-words.js';
import type { Route } from './kit/addresses.js';
import { download, h, setText } from './kit/dom.js';
import { clock } from './kit/format.js';

const REDRAW_MS = 500;

/** Rows of events, newest first; only new rows are built. */
export class EventTable {
  readonly element: HTMLElement;
  #body = h('tbody');
  #note = h('p', { class: 'note' });
  /** what the rows show, newest first */
  #shown: EventMessage[] = [];

  constructor(
    readonly board: Board,
    readonly rowsMax: number,
    /** all are of one series, which need not be named */
    readonly ofOne = false,
  ) {
    const columns = ['Time', 'Frame', 'Kind', 'What', ...(ofOne ? [] : ['Series'])];
    const head = columns.map((text) => h('th', { scope: 'col' }, text));
    this.element = h(
      'div',
      {},
      h(
        'div',
        { class: 'wide', tabIndex: 0, role: 'region', 'aria-label': 'table of events' },
        h('table', { class: 'events' }, h('thead', {}, h('tr', {}, ...head)), this.#body),
      ),
      this.#note,
    );
  }

  show(events: EventMessage[], none: string): void {
    const newest = events.slice(-this.rowsMax).reverse();
    const known = newest.indexOf(this.#shown[0]);
    const grown = known >= 0 && newest.slice(known).every((event, n) => event === this.#shown[n]);
    if (grown) {
      this.#body.prepend(...newest.slice(0, known).map((event) => this.#row(event)));
      while (this.#body.rows.length > newest.length) this.#body.deleteRow(-1);
    } else this.#body.replaceChildren(...newest.map((event) => this.#row(event)));
    this.#shown = newest;
    const more = events.length - newest.length;
    setText(this.#note, events.length === 0 ? none : more > 0 ? `and ${more} older; the export has them` : '');
  }

  #row(event: EventMessage): HTMLElement {
    const { type, stream, tracker, profile, k, atMs } = event;
    const link = linkOf(event, this.board.series.values());
    const what = sentenceOf(event);
    return h(
      'tr',
      { class: `kind-${kindOf(event)}` },
      h('td', {}, atMs ? clock(atMs) : ''),
      h('td', { class: 'number' }, k === undefined ? '' : String(k)),
      h('td', {}, type),
      h('td', {}, link ? h('a', { href: link }, what) : what),
      !this.ofOne && h('td', {}, [stream, tracker, profile].filter(Boolean).join(' / ')),
    );
  }
}

export class EventsView {
  readonly element: HTMLElement;
  #table: EventTable;
  #search: HTMLInputElement;
  #kinds = new Map<string, HTMLInputElement>();
  #stop: () => void;
  #timer: number | undefined;

  constructor(
    readonly board: Board,
    route: Extract<Route, { view: 'events' }>,
  ) {
    const { query } = route;
    const chosen = query.get('kinds')?.split(',');
    this.#search = h('input', {
      type: 'search',
      id: 'search',
      placeholder: 'stream, id, word',
      value: query.get('q') ?? '',
      oninput: () => this.#filtered(),
    });
    for (const kind of KINDS)
      this.#kinds.set(
        kind,
        h('input', { type: 'checkbox', checked: !chosen || chosen.includes(kind), onchange: () => this.#filtered() }),
      );
    this.#table = new EventTable(board, 300);
    this.element = h(
      'section',
      { 'aria-label': 'events' },
      h('h1', {}, 'Events'),
      h(
        'form',
        { class: 'filters', role: 'search', onsubmit: (event: Event) => event.preventDefault() },
        h('label', {}, 'Search ', this.#search),
        ...[...this.#kinds].map(([kind, box]) => h('label', {}, box, ` ${kind}`)),
        h('button', { type: 'button', onclick: () => this.#export('json') }, 'Export JSON'),
        h('button', { type: 'button', onclick: () => this.#export('csv') }, 'Export CSV'),
      ),
      this.#table.element,
    );
    this.#stop = board.listen(() => this.#soon());
    this.#draw();
  }

  close(): void {
    this.#stop();
    clearTimeout(this.#timer);
  }

  focusSearch(): void {
    this.#search.focus();
  }

  #soon(): void {
    this.#timer ??= window.setTimeout(() => {
      this.#timer = undefined;
      this.#draw();
    }, REDRAW_MS);
  }

  #chosen(): EventMessage[] {
    const words = this.#search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    return this.board.events.filter((event) => {
      if (!this.#kinds.get(kindOf(event))!.checked) return false;
      const text =
        `${event.type} ${event.stream} ${event.tracker ?? ''} ${event.profile ?? ''} ${sentenceOf(event)}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }

  #filtered(): void {
    const query = new URLSearchParams();
    if (this.#search.value) query.set('q', this.#search.value);
    const kinds = KINDS.filter((kind) => this.#kinds.get(kind)!.checked);
    if (kinds.length < KINDS.length) query.set('kinds', kinds.join(','));
    history.replaceState(null, '', `#/events${query.size > 0 ? `?${query}` : ''}`);
    this.#draw();
  }

  #draw(): void {
    const events = this.#chosen();
    this.#table.show(events, 'No events yet: switches, spikes, silences and rejected input are listed here.');
    document.body.dataset.events = String(events.length);
  }

  #export(kind: 'json' | 'csv'): void {
    const events = this.#chosen();
    if (kind === 'json') download('tgospa-events.json', 'application/json', JSON.stringify(events, null, 1));
    else download('tgospa-events.csv', 'text/csv', csvOf(events));
  }
}
