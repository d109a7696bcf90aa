/** The controls of time (pause, follow, step, scrub, replay) and the position they lead to. */
import { h, setText } from '../dom.js';
import type { Mode } from './player.js';

export interface TransportEvents {
  toggle(): void;
  step(steps: number): void;
  seek(k: number): void;
  play(speed: number): void;
  follow(): void;
}

export interface Position {
  mode: Mode;
  first: number;
  newest: number;
  shown: number;
  latency: string;
  lost: string;
}

const SPEEDS = { '¼ speed': 0.25, 'normal speed': 1, '4× speed': 4, 'every frame': Number.POSITIVE_INFINITY };

export class Transport {
  readonly element: HTMLElement;
  #pause: HTMLButtonElement;
  #slider: HTMLInputElement;
  #where = h('output', { class: 'where' });
  #badge = h('span', { class: 'badge mode' });
  #latency = h('span', {
    class: 'note',
    title: 'from the arrival of a frame at the evaluator to its report on this page',
  });
  #lost = h('span', { class: 'note', role: 'status' });

  constructor(on: TransportEvents) {
    /** A button with words is its own label; one with a symbol needs one. */
    const button = (text: string, label: string, onclick: () => void) =>
      h('button', { type: 'button', 'aria-label': /\w/.test(text) ? null : label, title: label, onclick }, text);
    this.#pause = button('Pause', 'pause or resume (space)', () => on.toggle());
    this.#slider = h('input', {
      type: 'range',
      min: '0',
      max: '0',
      step: '1',
      id: 'scrub',
      'aria-label': 'frame',
      oninput: () => on.seek(Number(this.#slider.value)),
    });
    const speed = h(
      'select',
      { 'aria-label': 'speed of replay' },
      ...Object.keys(SPEEDS).map((name) => h('option', { value: name }, name)),
    );
    speed.value = 'normal speed';
    this.element = h(
      'div',
      { class: 'transport', role: 'group', 'aria-label': 'time' },
      this.#pause,
      button('◀', 'one frame back (left)', () => on.step(-1)),
      button('▶', 'one frame forward (right)', () => on.step(1)),
      this.#slider,
      this.#where,
      button('Replay', 'play the retained frames (P)', () => on.play(SPEEDS[speed.value as keyof typeof SPEEDS])),
      speed,
      button('Follow', 'follow the newest frame (End)', () => on.follow()),
      this.#badge,
      this.#latency,
      this.#lost,
    );
  }

  show({ mode, first, newest, shown, latency, lost }: Position): void {
    const { min, max } = this.#slider;
    if (min !== String(first)) this.#slider.min = String(first);
    if (max !== String(newest)) this.#slider.max = String(newest);
    if (this.#slider.value !== String(shown)) this.#slider.value = String(shown);
    setText(this.#pause, mode === 'paused' ? 'Resume' : 'Pause');
    setText(this.#where, `frame ${shown}${shown === newest ? '' : ` of ${first}–${newest}`}`);
    setText(this.#badge, mode === 'follow' ? 'live' : mode === 'play' ? 'replay' : 'paused');
    this.#badge.dataset.mode = mode;
    setText(this.#latency, mode === 'follow' && latency ? `latency ${latency}` : '');
    setText(this.#lost, lost);
  }
}
