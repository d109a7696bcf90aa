/** What the scenes of a view show: toggles, the unit of lengths, zoom. All of its scenes have the same options. */
import { h, setChoices, toggle } from '../kit/dom.js';
import type { SceneOptions } from './scene.js';

const TOGGLES = ['trails', 'ids', 'lines', 'marks', 'regions', 'rings'] as const;

export interface SceneControlEvents {
  /** an option; with `whole`, texts beside the scene depend on it */
  changed(whole: boolean): void;
  zoom(factor: number): void;
  fit(): void;
}

export class SceneControls {
  readonly options: SceneOptions = {
    trails: true,
    ids: true,
    lines: true,
    marks: true,
    regions: true,
    rings: false,
    units: 'metres',
    chosen: null,
    isolated: false,
  };
  readonly #units = h('select', {
    'aria-label': 'units of length',
    hidden: true,
    onchange: () => {
      this.options.units = this.#units.value as SceneOptions['units'];
      this.events.changed(true);
    },
  });

  constructor(readonly events: SceneControlEvents) {
    setChoices(this.#units, ['metres', 'nautical miles'], this.options.units);
  }

  /** With what else there is to control. */
  element(...others: Node[]): HTMLElement {
    const { zoom, fit } = this.events;
    const button = (text: string, label: string, onclick: () => void) =>
      h('button', { type: 'button', 'aria-label': label, title: label, onclick }, text);
    return h(
      'div',
      { class: 'toggles' },
      ...TOGGLES.map((name) => this.#toggle(name)),
      this.#units,
      button('+', 'zoom in', () => zoom(1.3)),
      button('−', 'zoom out', () => zoom(1 / 1.3)),
      h('button', { type: 'button', title: 'fit everything (F)', onclick: fit }, 'Fit'),
      ...others,
    );
  }

  #toggle(name: (typeof TOGGLES)[number]): HTMLElement {
    const box = h('input', {
      type: 'checkbox',
      checked: this.options[name],
      onchange: () => {
        this.options[name] = box.checked;
        this.events.changed(false);
      },
    });
    return h('label', {}, box, ` ${name}`);
  }

  /** Lengths have a unit to choose for places on Earth only. */
  offerUnits(onEarth: boolean): void {
    toggle(this.#units, onEarth);
  }
}
