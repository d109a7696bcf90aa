/**
 * What people do about an incident: acknowledge it, close it, or mute its series for a while. Each answer is shown
 * where the button is; what was said before is said beside it.
 */
import type { SeriesId } from '../../wire/series-key.js';
import { ApiError, type IncidentState, postIncident, type RateState } from '../data/api.js';
import type { Board } from '../data/board.js';
import { seriesLink } from '../kit/addresses.js';
import { h, setText } from '../kit/dom.js';
import { brief, clock, count, duration, keyOf } from '../kit/format.js';

const MUTES: Array<[text: string, minutes: number]> = [
  ['15 min', 15],
  ['1 h', 60],
  ['8 h', 480],
  ['1 d', 1440],
];

/** The buttons of one series; nothing while it has neither an incident nor a mute. */
export class IncidentControls {
  readonly element = h('span', { class: 'controls', role: 'group', 'aria-label': 'incident' });
  #note = h('span', { class: 'note', role: 'status' });
  #acknowledge = this.#button('Acknowledge', () => this.#say({ action: 'acknowledge', ...this.#incident() }));
  #close = this.#button('Close', () => this.#say({ action: 'close', ...this.#incident() }));
  #mute = h(
    'select',
    { 'aria-label': 'mute for', onchange: () => this.#muteFor(Number(this.#mute.value)) },
    h('option', { value: '' }, 'Mute…'),
    ...MUTES.map(([text, minutes]) => h('option', { value: String(minutes) }, text)),
  );
  #unmute = this.#button('Unmute', () => this.#say({ action: 'unmute', id: this.board.muteOf(this.id)?.id }));

  constructor(
    readonly board: Board,
    readonly id: SeriesId,
  ) {
    this.element.append(this.#acknowledge, this.#close, this.#mute, this.#unmute, this.#note);
    this.show();
  }

  #button(text: string, onclick: () => void): HTMLButtonElement {
    return h('button', { type: 'button', onclick }, text);
  }

  #incident(): Record<string, unknown> {
    const { stream, tracker, profile } = this.id;
    return { stream, tracker, profile, id: this.board.incidentOf(this.id)?.id };
  }

  #muteFor(minutes: number): void {
    this.#mute.value = '';
    const { stream, tracker } = this.id;
    if (minutes > 0) void this.#say({ action: 'mute', stream, tracker, minutes });
  }

  async #say(body: Record<string, unknown>): Promise<void> {
    try {
      await postIncident(body);
      setText(this.#note, '');
      await this.board.refresh();
    } catch (error) {
      const text = error instanceof ApiError ? error.message : 'the evaluator is not responding';
      setText(this.#note, `Not done: ${text}`);
    }
    this.show();
  }

  show(): void {
    const incident = this.board.incidentOf(this.id);
    const mute = this.board.muteOf(this.id);
    const remark = incident?.remark;
    this.#acknowledge.hidden = !incident || remark != null;
    this.#close.hidden = !incident || remark?.action === 'close';
    this.#mute.hidden = !incident || mute !== undefined;
    this.#unmute.hidden = !mute;
    this.element.dataset.remark = remark?.action ?? '';
    this.element.dataset.muted = String(mute !== undefined);
  }
}

/** What was said of an incident, and until when nobody is told; empty when nothing was. */
export function remarkOf(board: Board, id: SeriesId): string {
  const remark = board.incidentOf(id)?.remark;
  const mute = board.muteOf(id);
  const said = remark
    ? `${remark.action === 'close' ? 'closed' : 'acknowledged'} by ${remark.by} at ${clock(remark.atMs)}`
    : '';
  const quiet = mute ? `muted until ${clock(mute.untilMs)}` : '';
  return [said, quiet].filter(Boolean).join(', ');
}

const COLUMNS: Array<[text: string, title: string]> = [
  ['In a frame', 'how many objects, or what error'],
  ['usual', 'before it began'],
  ['in the spike', 'when it was last found to be wrong'],
  ['last minute', 'what has settled since, whether it is over or not'],
  ['objects', 'objects affected'],
];

/** The open incident of one series: what, since when, usual beside now, and the buttons. */
export class IncidentCard {
  readonly element = h('section', { class: 'card incident', hidden: true, 'aria-label': 'open incident' });
  #title = h('h2');
  #text = h('span');
  #begin = h('a');
  #remark = h('span');
  #body = h('tbody');
  #table = h('table', { class: 'figures signals' });
  #controls: IncidentControls;
  #shown = '';

  constructor(
    readonly board: Board,
    readonly id: SeriesId,
  ) {
    this.#controls = new IncidentControls(board, id);
    const head = COLUMNS.map(([text, title]) => h('th', { scope: 'col', title }, text));
    this.#table.append(h('thead', {}, h('tr', {}, ...head)), this.#body);
    this.element.append(
      this.#title,
      h('p', {}, this.#text, ' at ', this.#begin, '. ', this.#remark),
      this.#table,
      this.#controls.element,
    );
  }

  /** A feed whose own time runs ahead of the clock has begun to be wrong in the future. */
  #ago(sinceMs: number): string {
    const ageMs = this.board.ageMs(sinceMs);
    return ageMs >= 0 ? `, ${duration(ageMs)} ago` : '';
  }

  show(): void {
    const incident = this.board.incidentOf(this.id);
    this.element.hidden = !incident;
    this.#controls.show();
    if (!incident) return;
    const { severity, cause, sinceMs, k, message, signals, times } = incident;
    this.element.dataset.severity = severity;
    this.element.dataset.cause = cause;
    setText(this.#title, `Open incident of ${this.id.tracker}: ${cause.replaceAll('_', ' ')}`);
    const since = `Since ${clock(sinceMs)}${this.#ago(sinceMs)}`;
    const again = times === 2 ? 'once' : `${times - 1} times`;
    const began = times > 1 ? `; it came back ${again}, last` : '; it began';
    setText(this.#text, `${sentence(message)} ${since}${began}`);
    setText(this.#begin, `frame ${k}`);
    this.#begin.href = seriesLink(this.id, { k });
    const remark = remarkOf(this.board, this.id);
    setText(this.#remark, remark ? sentence(remark) : '');
    this.#showSignals(signals.filter(({ signal }) => isCounted(signal)));
  }

  #showSignals(signals: IncidentState['signals']): void {
    this.#table.hidden = signals.length === 0;
    const rate = this.board.rates.get(keyOf(this.id));
    const rows = signals.map(({ signal, expected, observed, concerned, of, over }) => [
      over ? `${signal} (over)` : signal,
      brief(expected),
      brief(observed),
      lately(rate, signal),
      of ? `${count(concerned ?? 0)} of ${count(of)}` : '',
    ]);
    const shown = JSON.stringify(rows);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#body.replaceChildren(
      ...rows.map(([name, ...figures], n) =>
        h(
          'tr',
          { class: signals[n].over ? 'over' : '' },
          h('th', { scope: 'row' }, name),
          ...figures.map((figure) => h('td', {}, figure)),
        ),
      ),
    );
  }
}

/** What a frame of the last minute had of a signal; nothing for what is not counted. */
function lately(rate: RateState | undefined, signal: string): string {
  const counts: Record<string, number | undefined> = {
    missed: rate?.missed,
    false: rate?.false,
    switch: rate?.switches,
  };
  const sum = counts[signal];
  return rate && sum !== undefined && rate.frames > 0 ? brief(sum / rate.frames) : '';
}

const sentence = (text: string) => `${text[0].toUpperCase()}${text.slice(1)}.`;

/** Silence and wiring are so or not so. */
const isCounted = (signal: string) => !['silence', 'wiring'].includes(signal);
