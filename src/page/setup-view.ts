/**
 * The doctor of the wiring: for each feed of a stream whether it is connected, when it was last heard, what was refused
 * and why, and how much of it was judged; beside that what is wrong with how the feeds fit together, with the remedy
 * to copy.
 */
import type { Finding } from '../wire/findings.js';
import type { EventMessage, FeedSummary, StreamSummary } from './data/api.js';
import type { Board } from './data/board.js';
import type { Route } from './kit/addresses.js';
import { h, setText } from './kit/dom.js';
import { duration } from './kit/format.js';

const REDRAW_MS = 1000;
const STREAMS_MAX = 50;
/** what is counted of a feed, in the words of the table */
const COUNTED = {
  rejected: 'refused',
  skipped: 'objects left out',
  late: 'late',
  duplicate: 'twice',
  missing: 'missing',
};
type Counted = keyof typeof COUNTED;

/** What went wrong with one feed: how often, and the newest example. */
type Complaints = Partial<Record<Counted, { count: number; message: string }>>;

const isOf = (event: EventMessage, stream: string, feed: FeedSummary) =>
  event.stream === stream && (feed.role === 'reference' ? event.role === 'reference' : event.tracker === feed.tracker);

function complaintsOf(events: EventMessage[], stream: string, feed: FeedSummary): Complaints {
  const complaints: Complaints = {};
  for (const event of events) {
    if (!(event.type in COUNTED) || !isOf(event, stream, feed)) continue;
    const known = complaints[event.type as Counted];
    const count = (known?.count ?? 0) + (event.count ?? 1);
    complaints[event.type as Counted] = { count, message: event.message || (event.code ?? '') };
  }
  return complaints;
}

/** The feeds of one stream. */
export class StreamDoctor {
  readonly element: HTMLElement;
  #findings = h('div');
  #body = h('tbody');
  #shown = '';

  constructor(
    readonly board: Board,
    readonly stream: string,
    titled: boolean,
  ) {
    const head = ['Feed', 'State', 'Last frame', 'Stored', 'Judged', 'Complaints'].map((text) =>
      h('th', { scope: 'col' }, text),
    );
    this.element = h(
      'section',
      { class: titled ? 'card doctor' : 'doctor', 'data-stream': stream, 'aria-label': `setup of ${stream}` },
      titled && h('h2', {}, stream),
      this.#findings,
      h(
        'div',
        { class: 'wide', tabIndex: 0, role: 'region', 'aria-label': `feeds of ${stream}` },
        h('table', { class: 'feeds' }, h('thead', {}, h('tr', {}, ...head)), this.#body),
      ),
    );
  }

  show(): void {
    const state = this.board.streams.get(this.stream);
    if (!state) return;
    const rows = state.feeds.map((feed) => this.#facts(state, feed));
    if (!state.feeds.some(({ role }) => role === 'reference')) rows.unshift(NEVER_CONNECTED);
    const shown = JSON.stringify([rows, state.findings]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#body.replaceChildren(...rows.map(feedRow));
    this.#findings.replaceChildren(...state.findings.map(findingCard));
  }

  #facts(state: StreamSummary, feed: FeedSummary): Facts {
    const judged = state.series.filter(({ tracker }) => tracker === feed.tracker);
    const complaints = complaintsOf(this.board.events, this.stream, feed);
    return {
      name: feed.role === 'reference' ? 'reference' : `tracker ${feed.tracker}`,
      state: feed.ended ? 'ended' : feed.awaited ? 'cut off, waited for' : feed.silent ? 'silent' : 'connected',
      last: feed.lastReceivedMs > 0 ? `${duration(this.board.ageMs(feed.lastReceivedMs))} ago` : 'never',
      stored: String(feed.seq),
      judged: feed.role === 'reference' ? '' : String(Math.max(0, ...judged.map(({ frames }) => frames))),
      complaints: Object.entries(complaints).map(
        ([type, { count, message }]) => `${count} ${COUNTED[type as Counted]}, such as: ${message}`,
      ),
    };
  }
}

interface Facts {
  name: string;
  state: string;
  last: string;
  stored: string;
  judged: string;
  complaints: string[];
}

const NEVER_CONNECTED: Facts = {
  name: 'reference',
  state: 'never connected',
  last: 'never',
  stored: '0',
  judged: '',
  complaints: ['Connect what is to be believed with "role":"reference" and the same stream name.'],
};

const feedRow = ({ name, state, last, stored, judged, complaints }: Facts): HTMLElement =>
  h(
    'tr',
    { 'data-feed': name, 'data-state': state },
    h('th', { scope: 'row' }, name),
    h('td', {}, state),
    h('td', {}, last),
    h('td', { class: 'number' }, stored),
    h('td', { class: 'number' }, judged),
    h('td', {}, ...complaints.map((text) => h('p', {}, text))),
  );

function findingCard({ finding, message, remedy }: Finding): HTMLElement {
  const status = h('span', { class: 'note', role: 'status' });
  const remedyText = h('code', {}, remedy);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(remedy);
      setText(status, 'copied');
    } catch {
      // without TLS the clipboard is not available
      getSelection()?.selectAllChildren(remedyText);
      setText(status, 'selected; press Ctrl-C');
    }
  };
  return h(
    'div',
    { class: 'finding', 'data-finding': finding },
    h('strong', {}, finding.replaceAll('_', ' ')),
    ` ${message}. `,
    h('span', {}, 'What to do: ', remedyText, ' '),
    h('button', { type: 'button', onclick: () => void copy() }, 'Copy remedy'),
    status,
  );
}

/** All streams, those with something wrong first. */
export class SetupView {
  readonly element: HTMLElement;
  #doctors = new Map<string, StreamDoctor>();
  #list = h('div');
  #note = h('p', { class: 'note' });
  #search: HTMLInputElement;
  #stop: () => void;
  #timer: number;

  constructor(
    readonly board: Board,
    route: Extract<Route, { view: 'setup' }>,
  ) {
    this.#search = h('input', {
      type: 'search',
      id: 'search',
      placeholder: 'stream',
      value: route.query.get('q') ?? '',
      oninput: () => this.#filtered(),
    });
    this.element = h(
      'section',
      { 'aria-label': 'setup' },
      h('h1', {}, 'Setup'),
      h(
        'form',
        { class: 'filters', role: 'search', onsubmit: (event: Event) => event.preventDefault() },
        h('label', {}, 'Search ', this.#search),
      ),
      this.#list,
      this.#note,
    );
    this.#stop = board.listen(() => {});
    this.#timer = window.setInterval(() => this.#draw(), REDRAW_MS);
    this.#draw();
  }

  close(): void {
    this.#stop();
    clearInterval(this.#timer);
  }

  focusSearch(): void {
    this.#search.focus();
  }

  #filtered(): void {
    const { value } = this.#search;
    history.replaceState(null, '', `#/setup${value ? `?${new URLSearchParams({ q: value })}` : ''}`);
    this.#draw();
  }

  #draw(): void {
    const word = this.#search.value.trim().toLowerCase();
    const found = [...this.board.streams.values()]
      .filter(({ stream }) => stream.toLowerCase().includes(word))
      .sort((a, b) => trouble(b) - trouble(a) || (a.stream < b.stream ? -1 : 1));
    const shown = found.slice(0, STREAMS_MAX);
    const doctors = shown.map(({ stream }) => this.#doctor(stream));
    if (
      doctors.some(({ element }, n) => this.#list.children[n] !== element) ||
      this.#list.children.length > doctors.length
    )
      this.#list.replaceChildren(...doctors.map(({ element }) => element));
    for (const doctor of doctors) doctor.show();
    const more = found.length - shown.length;
    setText(
      this.#note,
      found.length === 0 ? 'No stream yet.' : more > 0 ? `and ${more} more streams; search to see them` : '',
    );
    document.body.dataset.streams = String(found.length);
  }

  #doctor(stream: string): StreamDoctor {
    let doctor = this.#doctors.get(stream);
    if (!doctor) {
      doctor = new StreamDoctor(this.board, stream, true);
      this.#doctors.set(stream, doctor);
    }
    return doctor;
  }
}

/** How much is wrong with the wiring of a stream. */
const trouble = ({ findings, feeds, suspended }: StreamSummary) =>
  findings.length * 4 +
  (suspended === undefined ? 0 : 4) +
  feeds.filter(({ silent, awaited }) => silent || awaited).length +
  (feeds.some(({ role }) => role === 'reference') ? 0 : 2);
