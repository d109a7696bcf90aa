/** What is known of the object that is pointed at or chosen: who it is, its partner and error now, and its history. */
import { h, setText } from '../kit/dom.js';
import { brief } from '../kit/format.js';
import type { ObjectFacts } from './picking.js';

const RUNS_MAX = 6;

export class ObjectCard {
  readonly element: HTMLElement;
  #title = h('strong');
  #now = h('span');
  #history = h('span', { class: 'note' });
  #isolate: HTMLButtonElement;
  #close: HTMLButtonElement;

  constructor(on: { isolate(): void; close(): void }) {
    this.#isolate = h('button', { type: 'button', onclick: () => on.isolate() }, 'Isolate');
    this.#close = h('button', { type: 'button', 'aria-label': 'close object', onclick: () => on.close() }, '×');
    this.element = h(
      'div',
      { class: 'object-card', role: 'group', 'aria-label': 'object' },
      h('p', {}, this.#title, ' ', this.#now),
      h('p', {}, this.#history),
      h('p', { class: 'buttons' }, this.#isolate, this.#close),
    );
  }

  /** `chosen`: it was clicked, not only pointed at. */
  show(facts: ObjectFacts | null, unit: string, chosen: boolean, isolated: boolean): void {
    this.element.classList.toggle('empty', facts === null);
    this.element.dataset.object = facts?.id ?? '';
    this.#isolate.hidden = this.#close.hidden = !chosen;
    setText(this.#isolate, isolated ? 'Show all' : 'Isolate');
    setText(this.#title, facts ? `${facts.feed === 'reference' ? 'Truth' : 'Track'} ${facts.id}` : '');
    setText(this.#now, facts ? nowOf(facts, unit) : 'Point at an object, or click it, for details.');
    setText(this.#history, facts ? historyOf(facts) : '');
  }
}

function nowOf({ feed, present, judged, class: kind, confidence, partner, error }: ObjectFacts, unit: string): string {
  const what = [kind, confidence === undefined ? undefined : `confidence ${brief(confidence)}`]
    .filter(Boolean)
    .join(', ');
  const isTruth = feed === 'reference';
  const state = !present
    ? 'not in this frame'
    : partner === null
      ? aloneAs(isTruth, judged)
      : `${isTruth ? 'tracked as' : 'follows truth'} ${partner}, error ${error === null ? '–' : brief(error)}${unit ? ` ${unit}` : ''}`;
  return what ? `${what}; ${state}` : state;
}

const aloneAs = (isTruth: boolean, judged: boolean) => (!judged ? 'not judged' : isTruth ? 'missed' : 'false');

function historyOf({ feed, seen, paired, runs }: ObjectFacts): string {
  const isTruth = feed === 'reference';
  const shown = runs.slice(-RUNS_MAX).map(({ partner, judged, from, to }) => {
    const range = from === to ? `${from}` : `${from}–${to}`;
    return `${partner ?? aloneAs(isTruth, judged)} ${range}`;
  });
  const more = runs.length > RUNS_MAX ? '… ' : '';
  const share = seen > 0 ? Math.round((paired / seen) * 100) : 0;
  return `In ${seen} loaded frames, ${isTruth ? 'tracked' : 'on a truth'} in ${share} % of them: ${more}${shown.join(', ')}.`;
}
