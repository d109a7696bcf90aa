/**
 * One series, or two trackers of one stream side by side: scene, figures, time, ribbon, events, and what if. It draws
 * only in animation frames and only after a change; text, plots and ribbon are updated at a slower pace.
 */
import type { EventMessage } from './api.js';
import type { Board } from './board.js';
import { h, setText, watchVisible } from './dom.js';
import { EventTable } from './events-view.js';
import { describe, Figures, figureAt, sentence } from './figures.js';
import { duration, type Route, type SeriesId, seriesLink } from './format.js';
import { LiveSeries } from './live-series.js';
import { legend, Plots } from './plots.js';
import { Camera } from './scene/camera.js';
import type { ShownFrame } from './scene/frames.js';
import { Player } from './scene/player.js';
import { Ribbon } from './scene/ribbon.js';
import { Scene, type SceneOptions } from './scene/scene.js';
import { Transport } from './scene/transport.js';
import { type State, seriesState } from './states.js';
import { onThemeChange } from './theme.js';
import { WhatIf } from './what-if.js';

const TEXT_MS = 100;
const PLOTS_MS = 300;
/** pace of what is not on the screen */
const HIDDEN_MS = 2000;

type SeriesRoute = Extract<Route, { view: 'series' }>;

/** One tracker: its series, its scene and its figures. */
interface Panel {
  series: LiveSeries;
  scene: Scene;
  figures: Figures;
  element: HTMLElement;
}

export class SeriesView {
  readonly element: HTMLElement;
  #panels: Panel[] = [];
  #camera = new Camera();
  #options: SceneOptions = { trails: true, ids: true, lines: true, marks: true };
  #player = new Player();
  #transport: Transport;
  #plots: Plots;
  #ribbon: Ribbon;
  #whatIf: WhatIf;
  #events: EventTable;
  #readout = h('p', { class: 'note readout' });
  #wanted: number | null;
  /** as this view found or made it */
  #address = location.hash;
  #hovered: number | null = null;
  #scheduled = 0;
  #late: number | undefined;
  #textMs = 0;
  #plotsMs = 0;
  #drawnMs = { plots: 0, ribbon: 0 };
  #seen: Record<'plots' | 'ribbon', { visible: boolean; close(): void }>;
  #dirty = true;
  #stops: Array<() => void>;

  constructor(
    readonly board: Board,
    readonly route: SeriesRoute,
    readonly showState: (state: State | null) => void,
  ) {
    this.#wanted = route.k;
    const changed = () => this.#schedule();
    const ids = [route.id, ...(route.with ? [{ ...route.id, tracker: route.with }] : [])];
    this.#panels = ids.map((id) => this.#panel(id));
    this.#transport = new Transport({
      toggle: () => this.toggle(),
      step: (steps) => this.step(steps),
      seek: (k) => this.goTo(k),
      play: (speed) => this.play(speed),
      follow: () => this.follow(),
    });
    const hover = (k: number | null) => this.#hover(k, null);
    this.#plots = new Plots({ jump: (k) => this.goTo(k), hover, resized: changed });
    this.#ribbon = new Ribbon(
      (k) => this.goTo(k),
      (k) => this.#hover(k, this.#plots),
      changed,
    );
    this.#whatIf = new WhatIf(async () => {
      await this.#first.refresh();
      return this.#first.window;
    });
    this.#events = new EventTable(board, 40);
    this.element = this.#layout();
    this.#seen = {
      plots: watchVisible(this.#plots.element, changed),
      ribbon: watchVisible(this.#ribbon.element, changed),
    };
    this.#stops = [board.listen(changed), onThemeChange(changed)];
    // silences and ages grow without any message
    const timer = window.setInterval(changed, 1000);
    this.#stops.push(() => clearInterval(timer));
  }

  get #first(): LiveSeries {
    return this.#panels[0].series;
  }

  close(): void {
    cancelAnimationFrame(this.#scheduled);
    clearTimeout(this.#late);
    for (const stop of this.#stops) stop();
    for (const { series, scene } of this.#panels) {
      series.close();
      scene.close();
    }
    for (const seen of Object.values(this.#seen)) seen.close();
    this.#plots.close();
    this.#ribbon.close();
    this.#whatIf.close();
  }

  #panel(id: SeriesId): Panel {
    const scene = new Scene(this.#camera, this.#options, () => this.#schedule());
    const figures = new Figures();
    const title = h('h2', {}, id.tracker);
    const element = h(
      'section',
      { class: 'panel', 'aria-label': `tracker ${id.tracker}`, 'data-tracker': id.tracker },
      title,
      scene.canvas,
      figures.element,
    );
    return { series: new LiveSeries(id, (whole) => this.#arrived(whole)), scene, figures, element };
  }

  #layout(): HTMLElement {
    const { id } = this.route;
    const section = (title: string, ...children: Node[]) =>
      h('section', { class: 'card' }, h('h2', {}, title), ...children);
    const whatIf = h(
      'details',
      { class: 'card', ontoggle: () => whatIf.open && void this.#whatIf.open() },
      h('summary', {}, h('h2', {}, 'What if')),
      this.#whatIf.element,
    );
    return h(
      'article',
      { class: 'series-view' },
      h(
        'header',
        { class: 'title' },
        h('h1', {}, id.stream, h('span', {}, ` / ${id.tracker}`)),
        this.#pickers(),
        this.#toggles(),
      ),
      h(
        'div',
        { class: this.#panels.length > 1 ? 'panels two' : 'panels' },
        ...this.#panels.map(({ element }) => element),
      ),
      this.#transport.element,
      section('Time', legend(), this.#readout, this.#plots.element),
      section('Who is assigned to whom', this.#ribbon.element),
      whatIf,
      section('Events of this series', this.#events.element),
    );
  }

  #pickers(): HTMLElement {
    const { id, with: other } = this.route;
    const profile = h('select', {
      id: 'profile',
      onchange: () => this.#open({ ...id, profile: profile.value }, other),
    });
    const beside = h('select', { id: 'beside', onchange: () => this.#open(id, beside.value || null) });
    const fill = () => {
      const series = this.board.streams.get(id.stream)?.series ?? [];
      options(profile, [...new Set([id.profile, ...series.map((one) => one.profile)])], id.profile);
      const trackers = [...new Set(series.map((one) => one.tracker))].filter((one) => one !== id.tracker);
      options(beside, ['', ...trackers], other ?? '');
    };
    fill();
    this.#onClose(this.board.listen(fill));
    return h('div', { class: 'pickers' }, h('label', {}, 'Profile ', profile), h('label', {}, 'Compare with ', beside));
  }

  #onClose(stop: () => void): void {
    queueMicrotask(() => this.#stops.push(stop));
  }

  #open(id: SeriesId, other: string | null): void {
    location.hash = seriesLink(id, {
      k: this.#player.mode === 'paused' ? this.#player.k : undefined,
      with: other ?? undefined,
    });
  }

  #toggles(): HTMLElement {
    const boxes = (['trails', 'ids', 'lines', 'marks'] as const).map((name) => {
      const box = h('input', {
        type: 'checkbox',
        checked: true,
        onchange: () => {
          this.#options[name] = box.checked;
          this.#schedule();
        },
      });
      return h('label', {}, box, ` ${name}`);
    });
    const button = (text: string, label: string, onclick: () => void) =>
      h('button', { type: 'button', 'aria-label': label, title: label, onclick }, text);
    return h(
      'div',
      { class: 'toggles' },
      ...boxes,
      button('+', 'zoom in', () => this.zoom(1.3)),
      button('−', 'zoom out', () => this.zoom(1 / 1.3)),
      h('button', { type: 'button', title: 'fit everything (F)', onclick: () => this.fit() }, 'Fit'),
    );
  }

  zoom(factor: number): void {
    this.#panels[0].scene.zoom(factor);
  }

  fit(): void {
    this.#camera.reset();
    this.#schedule();
  }

  /** The address has changed, but not the series. */
  addressChanged(k: number | null): void {
    this.#address = location.hash;
    if (k !== null) this.goTo(k);
  }

  /** Pauses at a frame, and fetches the window, so that every assignment shown is the window's. */
  goTo(k: number): void {
    this.#wanted = k;
    this.#player.pauseAt(k);
    this.#inspect();
  }

  step(steps: number): void {
    const frames = this.#first.frames?.frames ?? [];
    if (frames.length === 0) return;
    const index = this.#first.frames!.indexOf(this.#player.k) + steps;
    this.goTo(frames[Math.max(0, Math.min(frames.length - 1, index))].k);
  }

  toggle(): void {
    if (this.#player.mode === 'paused') this.follow();
    else this.goTo(this.#player.k);
  }

  follow(): void {
    this.#wanted = null;
    this.#player.mode = 'follow';
    this.#keepAddress(undefined);
    this.#dirty = true;
    this.#schedule();
  }

  play(speed = 1): void {
    const frames = this.#first.frames?.frames ?? [];
    if (this.#player.mode === 'follow' && frames.length > 0) this.#player.pauseAt(frames[0].k);
    this.#wanted = null;
    this.#player.speed = speed;
    this.#player.play(performance.now());
    this.#schedule();
  }

  #inspect(): void {
    this.#dirty = true;
    for (const { series } of this.#panels) void series.refresh();
    this.#schedule();
  }

  #hover(k: number | null, plots: Plots | null): void {
    this.#hovered = k;
    plots?.point(k);
    const figure = k === null ? undefined : figureAt(this.#first, k);
    setText(this.#readout, figure ? sentence(figure) : '');
    this.#dirty = true;
    this.#schedule();
  }

  /** A series has changed; a whole window changes everything that is shown. */
  #arrived(whole: boolean): void {
    this.#dirty ||= whole;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled === 0) this.#scheduled = requestAnimationFrame((nowMs) => this.#draw(nowMs));
  }

  #draw(nowMs: number): void {
    this.#scheduled = 0;
    const shown = this.#pick(nowMs);
    for (const { series, scene } of this.#panels) {
      if (series.frames) scene.draw(series.frames, series.frames.indexOf(shown));
      else scene.clear();
    }
    const waitMs = this.#drawDue(shown, nowMs);
    if (this.#player.mode === 'play') this.#schedule();
    else if (waitMs > 0) this.#scheduleIn(waitMs);
  }

  /** The frame to show: the same in all panels, so the newest is the newest that all of them have. */
  #pick(nowMs: number): number {
    const buffers = this.#panels.flatMap(({ series }) => (series.frames?.newest ? [series.frames] : []));
    if (buffers.length === 0) return this.#wanted ?? 0;
    const newest = Math.min(...buffers.map(({ newest }) => newest!.k));
    const { frames } = buffers[0];
    if (this.#wanted !== null)
      this.#player.pauseAt(Math.max(frames[0].k, Math.min(this.#wanted, buffers[0].newest!.k)));
    const count = buffers[0].indexOf(newest) + 1;
    return count === 0 ? newest : this.#player.at((n) => frames[n].k, count, nowMs, this.#frameMs());
  }

  /** Time between frames at their original pace. */
  #frameMs(): number {
    const { atMs } = this.#first.trend;
    const count = Math.min(50, atMs.length - 1);
    const spanMs = count > 0 ? atMs[atMs.length - 1] - atMs[atMs.length - 1 - count] : 0;
    return spanMs > 0 ? Math.min(500, Math.max(5, spanMs / count)) : 50;
  }

  #scheduleIn(waitMs: number): void {
    this.#late ??= window.setTimeout(() => {
      this.#late = undefined;
      this.#schedule();
    }, waitMs);
  }

  /** Updates text, plots and ribbon where they are due; returns the time until the next one is, 0 when none waits. */
  #drawDue(shown: number, nowMs: number): number {
    const textDue = this.#dirty || nowMs - this.#textMs >= TEXT_MS;
    const plotsDue = this.#dirty || nowMs - this.#plotsMs >= PLOTS_MS;
    if (textDue) this.#showText(shown);
    if (textDue) this.#textMs = nowMs;
    if (plotsDue) this.#showPlots(shown, nowMs);
    if (plotsDue) this.#plotsMs = nowMs;
    this.#dirty = false;
    if (plotsDue && this.#player.mode === 'follow') this.#first.refreshSometimes();
    if (textDue && plotsDue) return 0;
    return Math.max(1, Math.min(textDue ? PLOTS_MS : this.#textMs + TEXT_MS - nowMs, this.#plotsMs + PLOTS_MS - nowMs));
  }

  #showText(shown: number): void {
    const buffer = this.#first.frames;
    for (const { series, figures, scene } of this.#panels) {
      const frame = this.#frameOf(series, shown);
      figures.show(frame && figureAt(series, frame.k), frame);
      scene.canvas.setAttribute('aria-label', frame ? describe(frame) : 'no frame yet');
    }
    const newest = buffer?.newest?.k ?? 0;
    const { latencyMs } = this.#first;
    const latency = Number.isNaN(latencyMs) ? '' : duration(Math.max(0, latencyMs + this.board.clockMs));
    const retained = this.#wanted === null || buffer === null || buffer?.find(this.#wanted) !== undefined;
    const lost = retained ? '' : `frame ${this.#wanted} is not retained; this is the nearest`;
    this.#transport.show({ mode: this.#player.mode, first: buffer?.frames[0]?.k ?? 0, newest, shown, latency, lost });
    this.showState(seriesState(this.board, this.#first, this.route.id));
    if (this.#player.mode === 'paused') this.#keepAddress(this.#wanted ?? shown);
  }

  #frameOf({ frames }: LiveSeries, shown: number): ShownFrame | undefined {
    return frames?.frames[frames.indexOf(shown)];
  }

  /** Puts the frame into the address, unless somebody wishes to go elsewhere and the page has not heard of it yet. */
  #keepAddress(k: number | undefined): void {
    const hash = seriesLink(this.route.id, { k, with: this.route.with ?? undefined });
    if (location.hash === hash || location.hash !== this.#address) return;
    history.replaceState(null, '', hash);
    this.#address = location.hash;
  }

  #showPlots(shown: number, nowMs: number): void {
    const { frames, trend, window } = this.#first;
    const events = this.#ownEvents();
    const due = (what: 'plots' | 'ribbon') => {
      const isDue = this.#dirty || this.#seen[what].visible || nowMs - this.#drawnMs[what] > HIDDEN_MS;
      if (isDue) this.#drawnMs[what] = nowMs;
      return isDue;
    };
    if (due('plots')) this.#plots.draw(trend, events, shown, window?.params.windowFrames ?? 60);
    if (frames && due('ribbon')) this.#ribbon.draw(frames, frames.indexOf(shown), this.#hovered);
    this.#events.show(events, 'No events yet.');
    // tests wait for these
    const { dataset } = document.body;
    dataset.newest = String(Math.min(...this.#panels.map(({ series }) => series.frames?.newest?.k ?? -1)));
    dataset.shown = String(shown);
    dataset.mode = this.#player.mode;
  }

  #ownEvents(): EventMessage[] {
    const { stream, tracker, profile } = this.route.id;
    return this.board.events.filter(
      (event) =>
        event.stream === stream && (event.tracker ?? tracker) === tracker && (event.profile ?? profile) === profile,
    );
  }
}

function options(select: HTMLSelectElement, values: string[], chosen: string): void {
  if (chosen && !values.includes(chosen)) values.push(chosen);
  if (select.options.length === values.length && values.every((value, n) => select.options[n].value === value)) return;
  select.replaceChildren(...values.map((value) => h('option', { value }, value || 'none')));
  select.value = chosen;
}
