/**
 * The page: header, the view named by the address, keyboard, and one banner for what is wrong. Exactly one view exists
 * at a time; it is closed before the next one opens.
 */

import { Banner, boardState, type State } from './banner.js';
import { setToken } from './data/api.js';
import { Board } from './data/board.js';
import { EventsView } from './events-view.js';
import { type Route, routeOf } from './kit/addresses.js';
import { h, setText } from './kit/dom.js';
import { toggleTheme } from './kit/theme.js';
import { MomentView } from './moment-view.js';
import { Overview } from './overview/overview.js';
import { SeriesView } from './series-view.js';
import { SetupView } from './setup-view.js';

const KEYS: Array<[string, string]> = [
  ['space', 'pause, or resume'],
  ['← →', 'one frame back or forward; with shift, ten'],
  ['Home, End', 'oldest retained frame; go live'],
  ['P', 'replay the retained frames'],
  ['+ −, F', 'zoom; fit everything'],
  ['/', 'search'],
  ['O, E, S', 'overview, events, setup'],
  ['T', 'dark or light'],
  ['?', 'this help'],
];

type View = Overview | EventsView | SetupView | SeriesView | MomentView;

const board = new Board();
const banner = new Banner();
const main = h('main', { id: 'main', tabIndex: -1 });
let view: View | null = null;
let route: Route | null = null;
let seriesBanner: State | null = null;

const help = h(
  'dialog',
  { class: 'help', 'aria-label': 'keys' },
  h('h2', {}, 'Keys'),
  h('dl', {}, ...KEYS.flatMap(([key, text]) => [h('dt', {}, key), h('dd', {}, text)])),
  h('button', { type: 'button', onclick: () => help.close() }, 'Close'),
);

const tokenInput = h('input', { type: 'password', autocomplete: 'off', required: true, id: 'token' });
const tokenFault = h('p', { class: 'fault', role: 'alert' });
const tokenForm = h(
  'form',
  {
    class: 'card token',
    hidden: true,
    onsubmit: (event: Event) => {
      event.preventDefault();
      setToken(tokenInput.value.trim());
      tokenInput.value = '';
      board.retry();
    },
  },
  h('h2', {}, 'This evaluator requires a token'),
  h('p', {}, 'Enter one with the role read. It is kept until this tab is closed.'),
  tokenFault,
  h('label', {}, 'Token ', tokenInput),
  h('button', { type: 'submit' }, 'Connect'),
);

const links = {
  overview: h('a', { href: '#/' }, 'Overview'),
  events: h('a', { href: '#/events' }, 'Events'),
  setup: h('a', { href: '#/setup' }, 'Setup'),
  moment: h('a', { href: '#/moment' }, 'Open file'),
};
const bar = h(
  'header',
  { class: 'top' },
  h('span', { class: 'brand' }, 'TGOSPA Live'),
  h('nav', { 'aria-label': 'views' }, ...Object.values(links)),
  h(
    'span',
    { class: 'key' },
    h('span', { class: 'sample reference' }),
    'reference',
    h('span', { class: 'sample tracker' }),
    'tracker',
  ),
  h(
    'button',
    { type: 'button', 'aria-label': 'dark or light (T)', title: 'dark or light (T)', onclick: toggleTheme },
    '◐',
  ),
  h('button', { type: 'button', 'aria-label': 'keys (?)', title: 'keys (?)', onclick: () => help.showModal() }, '?'),
);
document.body.append(
  h(
    'a',
    {
      class: 'skip',
      href: '#main',
      onclick: (event: Event) => {
        event.preventDefault();
        main.focus();
      },
    },
    'Skip to content',
  ),
  bar,
  banner.element,
  tokenForm,
  main,
  help,
);

function showBanner(): void {
  banner.show(boardState(board) ?? (view instanceof SeriesView ? seriesBanner : null));
  if (tokenForm.hidden === board.tokenNeeded) tokenForm.hidden = !board.tokenNeeded;
  setText(tokenFault, board.tokenFault ? `This token was refused: ${board.tokenFault}.` : '');
  document.body.dataset.connection = board.connection === null ? 'connecting' : board.connection.open ? 'open' : 'gone';
}

function open(): void {
  const next = routeOf(location.hash);
  if (view instanceof SeriesView && next.view === 'series' && sameSeries(route, next)) {
    route = next;
    view.addressChanged(next.k);
    return;
  }
  view?.close();
  route = next;
  seriesBanner = null;
  for (const key of ['newest', 'shown', 'mode', 'series', 'events', 'attention', 'streams', 'past'])
    delete document.body.dataset[key];
  view = viewOf(next);
  document.body.dataset.view = next.view;
  document.title = next.view === 'series' ? `${next.id.stream} / ${next.id.tracker} – TGOSPA Live` : 'TGOSPA Live';
  for (const [name, link] of Object.entries(links))
    if (name === next.view) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  main.replaceChildren(view.element);
  // every view starts at its top
  scrollTo(0, 0);
  showBanner();
}

function viewOf(next: Route): View {
  if (next.view === 'overview') return new Overview(board, next);
  if (next.view === 'events') return new EventsView(board, next);
  if (next.view === 'setup') return new SetupView(board, next);
  if (next.view === 'moment') return new MomentView(board);
  return new SeriesView(board, next, (state) => {
    seriesBanner = state;
    showBanner();
  });
}

const sameSeries = (a: Route | null, b: Route) =>
  a?.view === 'series' &&
  b.view === 'series' &&
  a.id.stream === b.id.stream &&
  a.id.tracker === b.id.tracker &&
  a.id.profile === b.id.profile &&
  a.with === b.with;

function pressed(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  const typing = target.matches('input:not([type=range]):not([type=checkbox]):not([type=radio]), select, textarea');
  if (typing || event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (act(event.key, event.shiftKey, target)) event.preventDefault();
}

/** True when the key has a meaning in this view. */
function act(key: string, shift: boolean, target: HTMLElement): boolean {
  switch (key) {
    case '/':
      if (view === null || !('focusSearch' in view)) return false;
      view.focusSearch();
      return true;
    case '?':
      help.showModal();
      return true;
    case 'o':
      location.hash = '#/';
      return true;
    case 'e':
      location.hash = '#/events';
      return true;
    case 's':
      location.hash = '#/setup';
      return true;
    case 't':
      toggleTheme();
      return true;
    default: {
      const series = view instanceof MomentView ? view.series : view;
      return series instanceof SeriesView && actOnSeries(series, key, shift, target);
    }
  }
}

function actOnSeries(series: SeriesView, key: string, shift: boolean, target: HTMLElement): boolean {
  // a focused slider keeps the arrow keys, a button the space bar
  const slider = target.matches('input[type=range]');
  const steps = key === 'ArrowLeft' ? -1 : key === 'ArrowRight' ? 1 : 0;
  if (steps !== 0 && !slider) series.step(steps * (shift ? 10 : 1));
  else if (key === ' ' && !target.matches('button, a, summary, input')) series.toggle();
  else if (key === 'Home' && !slider) series.step(Number.NEGATIVE_INFINITY);
  else if (key === 'End' && !slider) series.follow();
  else if (key === 'f') series.fit();
  else if (key === 'p') series.play();
  else if (key === '+' || key === '=') series.zoom(1.3);
  else if (key === '-') series.zoom(1 / 1.3);
  else return false;
  return true;
}

/** A file that is dropped anywhere is a saved moment. */
function dropped(event: DragEvent): void {
  const file = event.dataTransfer?.files[0];
  if (!file) return;
  event.preventDefault();
  if (!(view instanceof MomentView)) {
    history.pushState(null, '', '#/moment');
    open();
  }
  if (view instanceof MomentView) void view.open(file);
}

// how much of the window is left for a scene
const above = new ResizeObserver(() => main.style.setProperty('--above', `${main.offsetTop}px`));
for (const element of [bar, banner.element]) above.observe(element);
board.listen(showBanner);
addEventListener('dragover', (event) => event.preventDefault());
addEventListener('drop', dropped);
// the countdown to the next attempt
setInterval(showBanner, 1000);
addEventListener('hashchange', open);
addEventListener('keydown', pressed);
open();
