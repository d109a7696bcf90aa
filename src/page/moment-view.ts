/**
 * A moment that was saved as a file: chosen, or dropped anywhere on the page, and shown like the series it is of. It is
 * judged again in this browser; nothing of it is sent anywhere.
 */
import { readMoment } from '../wire/moment.js';
import type { Board } from './data/board.js';
import { openMoment } from './data/past.js';
import { h, setText } from './kit/dom.js';
import { SeriesView } from './series-view.js';

const BYTES_MAX = 256e6;

export class MomentView {
  readonly element: HTMLElement;
  /** once a file is open */
  series: SeriesView | null = null;
  #fault = h('p', { class: 'fault', role: 'alert' });
  #chooser: HTMLElement;
  #closed = false;

  constructor(readonly board: Board) {
    const input = h('input', {
      type: 'file',
      accept: '.json',
      id: 'moment-file',
      onchange: () => input.files?.[0] && void this.open(input.files[0]),
    });
    this.#chooser = h(
      'section',
      { class: 'card' },
      h('h1', {}, 'Open a saved moment'),
      h('p', {}, 'A file that "Save moment" wrote. Choose it, or drop it anywhere on this page.'),
      h('label', {}, 'File ', input),
      this.#fault,
    );
    this.element = h('div', {}, this.#chooser);
  }

  async open(file: File): Promise<void> {
    try {
      if (file.size > BYTES_MAX) throw new Error(`${file.name} is larger than ${BYTES_MAX / 1e6} MB`);
      const past = await openMoment(readMoment(await file.text(), file.name));
      if (this.#closed) return;
      const { stream, tracker, profile } = past.state;
      const route = { view: 'series', id: { stream, tracker, profile }, k: past.k, at: null, with: null } as const;
      this.series?.close();
      this.series = new SeriesView(this.board, route, () => {}, past);
      this.element.replaceChildren(this.series.element);
    } catch (error) {
      this.series?.close();
      this.series = null;
      setText(this.#fault, (error as Error).message);
      this.element.replaceChildren(this.#chooser);
    }
  }

  close(): void {
    this.#closed = true;
    this.series?.close();
  }
}
