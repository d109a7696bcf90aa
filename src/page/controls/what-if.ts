/**
 * What if: sliders for the parameters, in words. The kernel itself judges the window again in a worker of the browser;
 * old and new figures are shown side by side, and the choice can be copied as a profile.
 * Invariant: at most one question is with the worker; of those asked meanwhile only the last is sent.
 */
import type { Evaluation } from '../../metric/evaluation.js';
import { COMPONENTS } from '../../metric/evaluation.js';
import type { Params } from '../../metric/params.js';
import type { WindowState } from '../data/api.js';
import type { WhatIfAnswer, WhatIfQuestion } from '../data/what-if-worker.js';
import { h, setText, toggle } from '../kit/dom.js';
import { count, number } from '../kit/format.js';
import { paramsOf, type SwitchNotion, tidy, type Wish, wishOf, yamlOf } from './profile-words.js';

declare const WORKER_FILE: string;

type Summary = Omit<Evaluation, 'perFrame'>;
type SliderKey = 'cutoff' | 'admissibleError' | 'shortSwitchDistance' | 'longSwitchFrames' | 'missShare';

interface Slider {
  row: HTMLElement;
  input: HTMLInputElement;
  output: HTMLElement;
  describe: (value: number) => string;
}

const NOTIONS: Record<SwitchNotion, string> = {
  short: 'short, interim changes count',
  long: 'only lasting changes count',
  none: 'identities do not matter',
};

export class WhatIf {
  readonly element: HTMLElement;
  #worker: Worker | null = null;
  #window: WindowState | null = null;
  #wish: Wish | null = null;
  #asked = 0;
  #busy = false;
  /** the last question asked while another was being answered */
  #next: Params | null = null;
  #sliders = new Map<SliderKey, Slider>();
  #notions = h('div', { class: 'choices', role: 'radiogroup', 'aria-label': 'which switches count' });
  #formula = h('p', { class: 'note' });
  #which = h('p', { class: 'note' });
  #table = h('table', { class: 'figures' });
  #bars = h('div', { class: 'bars' });
  #yaml = h('pre', { class: 'yaml', tabIndex: 0, 'aria-label': 'profile as YAML' });
  #status = h('span', { class: 'note', role: 'status' });

  constructor(readonly fetchWindow: () => Promise<WindowState | null>) {
    const controls = h(
      'div',
      { class: 'sliders' },
      this.#slider('cutoff', 'Cut-off', (v) => `objects ${number(v)} or more apart are never the same`),
      this.#slider(
        'admissibleError',
        'Admissible error',
        (v) => `an error above ${number(v)} is worse than no estimate at all`,
      ),
      this.#notions,
      this.#slider('shortSwitchDistance', 'Short-switch distance', (v) => `two tracks ${number(v)} apart are a switch`),
      this.#slider(
        'longSwitchFrames',
        'Long-switch frames',
        (v) => `only changes that last longer than ${number(v)} frames count`,
      ),
      this.#slider('missShare', 'Miss share', (v) =>
        v === 0.5
          ? 'missed and false weigh the same'
          : `missed ${Math.round(v * 100)} %, false ${Math.round(100 - v * 100)} %`,
      ),
      this.#formula,
    );
    const buttons = h(
      'p',
      { class: 'buttons' },
      h('button', { type: 'button', onclick: () => void this.open(true) }, 'Use the newest window'),
      h('button', { type: 'button', onclick: () => this.#reset() }, 'Reset to the profile'),
      h('button', { type: 'button', onclick: () => void this.#copy() }, 'Copy as profile'),
      this.#status,
    );
    const results = h(
      'div',
      {},
      this.#which,
      h('div', { class: 'wide' }, this.#table),
      this.#bars,
      buttons,
      this.#yaml,
    );
    this.element = h('div', { class: 'what-if' }, controls, results);
  }

  /** Fetches the current window, unless there is one already and `anew` is not set. */
  async open(anew = false): Promise<void> {
    if (this.#window && !anew) return;
    const window = await this.fetchWindow();
    if (!window) return;
    const first = this.#window === null;
    this.#window = window;
    if (first) this.#reset();
    this.#start();
    this.#worker!.postMessage({ frames: window.frames } satisfies WhatIfQuestion);
    this.#ask();
  }

  close(): void {
    this.#worker?.terminate();
  }

  #start(): void {
    if (this.#worker) return;
    this.#worker = new Worker(WORKER_FILE, { type: 'module' });
    this.#worker.onmessage = ({ data }: MessageEvent<WhatIfAnswer>) => this.#receive(data);
  }

  #slider(key: SliderKey, label: string, describe: (value: number) => string): HTMLElement {
    const output = h('output', { class: 'note' });
    const input = h('input', { type: 'range', oninput: () => this.#set(key, Number(input.value)) });
    const row = h('label', { class: 'slider' }, h('span', {}, label), input, output);
    this.#sliders.set(key, { row, input, output, describe });
    return row;
  }

  #set(key: SliderKey, value: number): void {
    if (!this.#wish) return;
    const { cutoff } = this.#wish;
    this.#wish[key] = tidy(value);
    // these are relative to the cut-off, and scale with it
    if (key === 'cutoff')
      for (const part of ['admissibleError', 'shortSwitchDistance'] as const)
        this.#wish[part] = tidy((this.#wish[part] * value) / cutoff);
    this.#show();
    this.#ask();
  }

  #reset(): void {
    if (!this.#window) return;
    this.#wish = wishOf(this.#window.params);
    this.#show();
    if (this.#worker) this.#ask();
  }

  /** The sliders' ranges and positions, and the words beside them. */
  #show(): void {
    const wish = this.#wish!;
    const base = this.#window!.params;
    const top = base.distance === 'iou' ? 1 : base.cutoff * 4;
    this.#range('cutoff', top / 200, top, wish.cutoff);
    this.#range('admissibleError', wish.cutoff / 2, wish.cutoff * 0.99, wish.admissibleError);
    this.#range('shortSwitchDistance', 0, wish.cutoff * 0.99, wish.shortSwitchDistance);
    this.#range('longSwitchFrames', 0, Math.max(30, base.windowFrames), wish.longSwitchFrames, 1);
    this.#range('missShare', 0.05, 0.95, wish.missShare, 0.05);
    toggle(this.#sliders.get('shortSwitchDistance')!.row, wish.notion === 'short');
    toggle(this.#sliders.get('longSwitchFrames')!.row, wish.notion === 'long');
    this.#showNotions(wish.notion);
    setText(this.#yaml, yamlOf(wish, this.#window!.stream));
  }

  #range(key: SliderKey, min: number, max: number, value: number, step = (max - min) / 200): void {
    const { input, output, describe } = this.#sliders.get(key)!;
    input.min = String(min);
    input.max = String(max);
    input.step = step === 1 || step === 0.05 ? String(step) : 'any';
    input.value = String(value);
    setText(output, describe(value));
    input.setAttribute('aria-valuetext', describe(value));
  }

  #showNotions(chosen: SwitchNotion): void {
    this.#notions.replaceChildren(
      ...Object.entries(NOTIONS).map(([notion, label]) =>
        h(
          'label',
          {},
          h('input', {
            type: 'radio',
            name: 'notion',
            value: notion,
            checked: notion === chosen,
            onchange: () => {
              this.#wish!.notion = notion as SwitchNotion;
              this.#show();
              this.#ask();
            },
          }),
          label,
        ),
      ),
    );
  }

  #ask(): void {
    // weights by age have no slider and stay as they are
    const { weights } = this.#window!.params;
    let params: Params;
    try {
      params = { ...paramsOf(this.#wish!), ...(weights ? { weights } : {}) };
    } catch (error) {
      setText(this.#which, (error as Error).message);
      return;
    }
    setText(
      this.#formula,
      `This gives exponent p = ${number(params.exponent)}, switch penalty γ = ${number(params.switchPenalty)}.`,
    );
    this.element.dataset.params = JSON.stringify(params);
    this.element.dataset.state = 'working';
    if (this.#busy) this.#next = params;
    else this.#send(params);
  }

  #send(params: Params): void {
    this.#busy = true;
    this.#next = null;
    this.#worker?.postMessage({ number: ++this.#asked, params } satisfies WhatIfQuestion);
  }

  #receive(answer: WhatIfAnswer): void {
    this.#busy = false;
    if (this.#next) {
      this.#send(this.#next);
      return;
    }
    if ('mistake' in answer) {
      setText(this.#which, answer.mistake);
      return;
    }
    this.#compare(this.#window!.evaluation, answer.evaluation, answer.ms);
    this.element.dataset.evaluation = JSON.stringify(answer.evaluation);
    this.element.dataset.state = 'done';
  }

  #compare(old: Summary, now: Summary, ms: number): void {
    const { frames, profile } = this.#window!;
    const first = frames[0]?.k ?? 0;
    const proof = now.exact ? 'exact' : `not proven: the gap is ${number(now.gap * 100)} %`;
    setText(
      this.#which,
      `Frames ${first} to ${this.#window!.k}, judged again in your browser in ${number(ms)} ms (${proof}).`,
    );
    const row = (label: string, of: (one: Summary) => string, name = '') =>
      h(
        'tr',
        {},
        h('th', { scope: 'row' }, name && h('span', { class: `swatch ${name}`, 'aria-hidden': 'true' }), label),
        h('td', {}, of(old)),
        h('td', {}, of(now)),
      );
    const head = ['figure', profile, 'what if'].map((text) => h('th', { scope: 'col' }, text));
    this.#table.replaceChildren(
      h('thead', {}, h('tr', {}, ...head)),
      h(
        'tbody',
        {},
        row('distance', (one) => number(one.distance)),
        ...COMPONENTS.map((name) => row(`${name} cost`, (one) => number(one.cost[name]), name)),
        row('proper', (one) => count(one.count.proper)),
        row('missed', (one) => count(one.count.missed)),
        row('false', (one) => count(one.count.false)),
        row('switches', (one) => count(one.count.switches)),
        row('mean localization error', (one) => number(one.meanLocalizationError)),
      ),
    );
    this.#bars.replaceChildren(stackBar(old.cost, profile), stackBar(now.cost, 'what if'));
  }

  async #copy(): Promise<void> {
    const text = this.#yaml.textContent ?? '';
    try {
      await navigator.clipboard.writeText(text);
      setText(this.#status, 'copied; paste it into tgospa.yaml');
    } catch {
      // without TLS the clipboard is not available
      getSelection()?.selectAllChildren(this.#yaml);
      setText(this.#status, 'selected; press Ctrl-C');
    }
  }
}

/** The shares of the four components as one bar, with the percentages as its text. */
export function stackBar(cost: Summary['cost'] | Record<(typeof COMPONENTS)[number], number>, label = ''): HTMLElement {
  const total = COMPONENTS.reduce((sum, name) => sum + cost[name], 0);
  const said = COMPONENTS.map((name) => `${name} ${total > 0 ? Math.round((cost[name] / total) * 100) : 0} %`).join(
    ', ',
  );
  const bar = h('div', {
    class: 'stack',
    role: 'img',
    'aria-label': `${label ? `${label}: ` : ''}${said}`,
    title: said,
  });
  for (const name of COMPONENTS) {
    const part = h('span', { class: name });
    part.style.flexGrow = String(total > 0 ? cost[name] / total : 0);
    bar.append(part);
  }
  return bar;
}
