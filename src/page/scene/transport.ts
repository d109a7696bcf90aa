/** The controls of time (pause, follow, step, scrub, replay) and the position they lead to. */
import { h, setText } from '../kit/dom.js';
import type { Mode } from './player.js';

export interface TransportEvents {
  toggle(): void;
  step(steps: number): void;
  seek(k: number): void;
  play(speed: number): void;
  follow(): void;
  /** a frame, or a time, as somebody typed it */
  goTo(text: string): void;
  save(): void;
}

/** Whether new frames come, or why not. */
export type Liveness =
  | 'live'
  | 'connecting'
  | 'not connected'
  | 'no such series'
  | 'feed ended'
  | 'waiting for feeds'
  | 'silent'
  | 'suspended';

export interface Position {
  mode: Mode;
  /** what following means at present */
  alive: Liveness;
  first: number;
  newest: number;
  shown: number;
  /** when the shown frame was, in words */
  when: string;
  past: boolean;
  latency: string;
  lost: string;
}

const SPEEDS = { '¼x': 0.25, '1x': 1, '4x': 4, 'every frame': Number.POSITIVE_INFINITY };

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
  #when = h('span', { class: 'note when' });
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
    speed.value = '1x';
    const place = h('input', {
      type: 'search',
      id: 'place',
      placeholder: 'frame or time',
      'aria-label': 'frame or time',
    });
    const go = h(
      'form',
      {
        class: 'go',
        onsubmit: (event: Event) => {
          event.preventDefault();
          if (place.value.trim()) on.goTo(place.value.trim());
        },
      },
      place,
      h('button', { type: 'submit', title: 'open any stored moment: 930, 21:03:12, 2026-11-17 21:03' }, 'Go to'),
    );
    this.element = h(
      'div',
      { class: 'transport', role: 'group', 'aria-label': 'time' },
      this.#pause,
      button('◀', 'one frame back (left)', () => on.step(-1)),
      button('▶', 'one frame forward (right)', () => on.step(1)),
      this.#slider,
      this.#where,
      this.#when,
      go,
      button('Replay', 'play the retained frames (P)', () => on.play(SPEEDS[speed.value as keyof typeof SPEEDS])),
      speed,
      button('Go live', 'follow the newest frame (End)', () => on.follow()),
      button('Save moment', 'download these frames, their assignment and the profile', () => on.save()),
      this.#badge,
      this.#latency,
      this.#lost,
    );
  }

  show({ mode, alive, first, newest, shown, when, past, latency, lost }: Position): void {
    const { min, max } = this.#slider;
    if (min !== String(first)) this.#slider.min = String(first);
    if (max !== String(newest)) this.#slider.max = String(newest);
    if (this.#slider.value !== String(shown)) this.#slider.value = String(shown);
    setText(this.#pause, mode === 'paused' ? 'Resume' : 'Pause');
    setText(this.#where, `frame ${shown}${shown === newest ? '' : ` of ${first}–${newest}`}`);
    setText(this.#badge, mode === 'follow' ? alive : mode === 'play' ? 'replay' : past ? 'past' : 'paused');
    this.#badge.dataset.mode = mode;
    this.#badge.dataset.alive = alive;
    setText(this.#latency, mode === 'follow' && alive === 'live' && latency ? `latency ${latency}` : '');
    setText(this.#when, when);
    setText(this.#lost, lost);
  }
}
