/**
 * One series, or two trackers of one stream side by side: scene, figures, time, ribbon, events, and what if. It draws
 * only in animation frames and only after a change; text, plots and ribbon are updated at a slower pace.
 */
import type { SeriesId } from '../wire/series-key.js';
import { liveness, type State, seriesState } from './banner.js';
import { IncidentCard } from './controls/incident-controls.js';
import { WhatIf } from './controls/what-if.js';
import { ApiError, type EventMessage } from './data/api.js';
import type { Board } from './data/board.js';
import { LiveSeries } from './data/live-series.js';
import { loadPast, momentText, type Past } from './data/past.js';
import { expectedDistance } from './data/usual.js';
import { EventTable } from './events-view.js';
import { describe, Figures, figureAt, sentence, totalOf } from './figures.js';
import { type Route, seriesLink } from './kit/addresses.js';
import { download, h, setChoices, setText, watchVisible } from './kit/dom.js';
import { duration, keyOf, moment, momentOf, unitOf } from './kit/format.js';
import { onThemeChange } from './kit/theme.js';
import { legend, Plots, spansOf } from './plots.js';
import { BackdropControls } from './scene/backdrop-controls.js';
import { Camera } from './scene/camera.js';
import type { FrameBuffer, ShownFrame } from './scene/frames.js';
import { ObjectCard } from './scene/object-card.js';
import { type Chosen, factsOf } from './scene/picking.js';
import { Player } from './scene/player.js';
import { Ribbon } from './scene/ribbon.js';
import { Scene } from './scene/scene.js';
import { SceneControls } from './scene/scene-controls.js';
import { Transport } from './scene/transport.js';
import { StreamDoctor } from './setup-view.js';

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
  card: ObjectCard;
  /** the object under the pointer */
  pointed: Chosen | null;
  element: HTMLElement;
}

export class SeriesView {
  readonly element: HTMLElement;
  #panels: Panel[] = [];
  #camera = new Camera();
  #controls = new SceneControls({
    changed: (whole) => this.#arrived(whole),
    zoom: (factor) => this.zoom(factor),
    fit: () => this.fit(),
  });
  #player = new Player();
  #transport: Transport;
  #plots: Plots;
  #ribbon: Ribbon;
  #whatIf: WhatIf;
  #events: EventTable;
  #incidents: IncidentCard[];
  #doctor: StreamDoctor;
  #background: BackdropControls;
  #whole = h('button', { type: 'button', hidden: true, onclick: () => this.#plots.zoom(null) }, 'Whole range');
  #readout = h('p', { class: 'note readout' });
  #wanted: number | null;
  /** as this view found or made it */
  #address = location.hash;
  /** the moment of the past that was asked for, and what came of that */
  #asked: number | null = null;
  #lost = '';
  #hovered: number | null = null;
  #closed = false;
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
    /** a moment from a file, instead of the series itself */
    readonly saved: Past | null = null,
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
      goTo: (text) => void this.goToTyped(text),
      save: () => void this.save(),
    });
    if (route.at !== null) void this.goToTyped(route.at);
    const hover = (k: number | null) => this.#hover(k, null);
    const zoomed = () => {
      this.#whole.hidden = !this.#plots.zoomed;
      this.#arrived(true);
    };
    this.#plots = new Plots({ jump: (k) => this.goTo(k), hover, zoomed, resized: changed });
    this.#ribbon = new Ribbon(
      (k) => this.goTo(k),
      (k) => this.#hover(k, this.#plots),
      changed,
    );
    this.#whatIf = new WhatIf(async () => {
      await this.#first.refresh();
      return this.#first.window;
    });
    this.#events = new EventTable(board, 40, true);
    this.#incidents = ids.map((id) => new IncidentCard(board, id));
    this.#doctor = new StreamDoctor(board, route.id.stream, false);
    this.#background = new BackdropControls(
      route.id.stream,
      this.#panels.map(({ scene }) => scene.backdrop),
      changed,
    );
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
    this.#closed = true;
    this.#asked = null;
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
    const scene = new Scene(this.#camera, this.#controls.options, {
      changed: () => this.#schedule(),
      hover: (object) => this.#point(panel, object),
      choose: (object) => this.#choose(object),
    });
    const figures = new Figures();
    const card = new ObjectCard({ isolate: () => this.#isolate(), close: () => this.#choose(null) });
    const title = h('h2', {}, id.tracker);
    const element = h(
      'section',
      { class: 'panel', 'aria-label': `tracker ${id.tracker}`, 'data-tracker': id.tracker },
      title,
      h('div', { class: 'scene-box' }, scene.canvas, scene.cursor),
      h('div', {}, figures.element, card.element),
    );
    const series = new LiveSeries(id, (whole) => this.#arrived(whole), this.saved);
    const panel: Panel = { series, scene, figures, card, pointed: null, element };
    return panel;
  }

  /** The pointer is over an object of a panel, or no longer. */
  #point(panel: Panel, object: Chosen | null): void {
    panel.pointed = object;
    this.#arrived(true);
  }

  #choose(object: Chosen | null): void {
    const { options } = this.#controls;
    options.chosen = object;
    if (!object) options.isolated = false;
    this.#arrived(true);
  }

  #isolate(): void {
    const { options } = this.#controls;
    options.isolated = !options.isolated;
    this.#arrived(true);
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
      // fills the window: whatever stands above it, the scene has the rest
      h(
        'div',
        { class: 'stage' },
        h(
          'header',
          { class: 'title' },
          h('h1', {}, id.stream, h('span', {}, ` / ${id.tracker}`)),
          this.saved ? this.#source() : this.#pickers(),
          this.#controls.element(this.#background.element),
        ),
        ...(this.saved ? [] : this.#incidents.map(({ element }) => element)),
        h(
          'div',
          { class: this.#panels.length > 1 ? 'panels two' : 'panels' },
          ...this.#panels.map(({ element }) => element),
        ),
        this.#transport.element,
      ),
      section('Time', legend(id.tracker, this.route.with), this.#readout, this.#whole, this.#plots.element),
      section('Who is assigned to whom', this.#ribbon.element),
      whatIf,
      ...(this.saved
        ? []
        : [
            h('details', { class: 'card' }, h('summary', {}, h('h2', {}, 'Setup')), this.#doctor.element),
            section('Events of this series', this.#events.element),
          ]),
    );
  }

  /** Where a moment from a file comes from. */
  #source(): HTMLElement {
    const { id } = this.route;
    const live = h('a', { href: seriesLink(id, { k: this.route.k ?? undefined }) }, 'the series itself');
    return h('p', { class: 'note pickers' }, `A saved moment, judged under ${id.profile}. See also `, live, '.');
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
      setChoices(profile, [...new Set([id.profile, ...series.map((one) => one.profile)])], id.profile);
      const trackers = [...new Set(series.map((one) => one.tracker))].filter((one) => one !== id.tracker);
      setChoices(beside, ['', ...trackers], other ?? '');
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

  /** Any stored moment, as somebody typed it. */
  async goToTyped(text: string): Promise<void> {
    const moment = momentOf(text, Date.now());
    if (moment && 'k' in moment) return this.goTo(moment.k);
    if (!moment) {
      this.#lost = `${text} is neither a frame number nor a time`;
      return this.#inspect();
    }
    await this.#lookBack(moment, moment.at);
  }

  /** Opens a moment of the past in all panels; says why when there is none. */
  async #lookBack(moment: { k: number } | { at: number }, asked: number): Promise<void> {
    if (this.#asked === asked) return;
    this.#asked = asked;
    if (this.saved) {
      this.#lost = 'this file does not go that far';
      return this.#schedule();
    }
    this.#lost = 'loading…';
    this.#schedule();
    try {
      const [first, ...others] = this.#panels.map(({ series }) => series);
      const past = await loadPast(first.id, moment);
      const pasts = await Promise.allSettled(others.map(({ id }) => loadPast(id, { k: past.k })));
      // somebody has gone elsewhere meanwhile; until here nothing has changed
      if (this.#asked !== asked) return;
      first.past = past;
      this.#lost = '';
      for (const [n, result] of pasts.entries()) {
        others[n].past = result.status === 'fulfilled' ? result.value : null;
        if (result.status === 'rejected') this.#lost = whyLost(result.reason);
      }
      this.#wanted = past.k;
      this.#player.pauseAt(past.k);
    } catch (error) {
      if (this.#asked !== asked) return;
      this.#lost = whyLost(error);
    }
    this.#dirty = true;
    this.#schedule();
  }

  /** The frames around this moment, their assignment and the profile, as a file. */
  async save(): Promise<void> {
    const { id } = this.route;
    const { k } = this.#player;
    try {
      const past = this.#first.past ?? (await loadPast(id, { k }));
      const name = `${id.stream}-${id.tracker}-${k}.moment.json`.replaceAll('/', '_');
      download(name, 'application/json', momentText(past, k));
    } catch (error) {
      this.#lost = `not saved: ${whyLost(error)}`;
      this.#schedule();
    }
  }

  step(steps: number): void {
    const frames = this.#first.shownFrames?.frames ?? [];
    if (frames.length === 0) return;
    const index = this.#first.shownFrames!.indexOf(this.#player.k) + steps;
    if (this.#first.past && !frames[index] && Number.isFinite(steps)) {
      this.goTo(this.#player.k + steps);
      return;
    }
    this.goTo(frames[Math.max(0, Math.min(frames.length - 1, index))].k);
  }

  toggle(): void {
    if (this.#player.mode === 'paused') this.follow();
    else this.goTo(this.#player.k);
  }

  follow(): void {
    if (this.saved) {
      location.hash = seriesLink(this.route.id);
      return;
    }
    this.#wanted = null;
    this.#asked = null;
    this.#lost = '';
    for (const { series } of this.#panels) series.lookAhead();
    this.#player.mode = 'follow';
    this.#keepAddress(undefined);
    this.#dirty = true;
    this.#schedule();
  }

  play(speed = 1): void {
    const frames = this.#first.shownFrames?.frames ?? [];
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
    // what was under way when the view closed may still arrive
    if (this.#scheduled === 0 && !this.#closed) this.#scheduled = requestAnimationFrame((nowMs) => this.#draw(nowMs));
  }

  #draw(nowMs: number): void {
    this.#scheduled = 0;
    const shown = this.#pick(nowMs);
    // played to the end of what was loaded: what comes next is loaded
    if (this.#first.past && this.#player.mode === 'follow') this.goTo(shown + (this.saved ? 0 : 1));
    for (const { series, scene } of this.#panels) {
      if (series.shownFrames) scene.draw(series.shownFrames, series.shownFrames.indexOf(shown));
      else scene.clear();
    }
    const waitMs = this.#drawDue(shown, nowMs);
    if (this.#player.mode === 'play') this.#schedule();
    else if (waitMs > 0) this.#scheduleIn(waitMs);
  }

  /** The frame to show: the same in all panels, so the newest is the newest that all of them have. */
  #pick(nowMs: number): number {
    const buffers = this.#panels.flatMap(({ series }) => (series.shownFrames?.newest ? [series.shownFrames] : []));
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
    const { atMs } = this.#first.shownTrend;
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
    const buffer = this.#first.shownFrames;
    const most = Math.max(...this.#panels.map(({ series }) => totalOf(figureAt(series, shown))));
    for (const panel of this.#panels) {
      const { series, figures, scene } = panel;
      const frame = this.#frameOf(series, shown);
      figures.show(frame && figureAt(series, frame.k), frame, unitOf(series.window?.params.distance), most);
      scene.canvas.setAttribute('aria-label', frame ? describe(frame) : 'no frame yet');
      this.#showObject(panel, shown);
    }
    const newest = buffer?.newest?.k ?? 0;
    const { latencyMs } = this.#first;
    const latency = Number.isNaN(latencyMs) ? '' : duration(Math.max(0, latencyMs + this.board.clockMs));
    this.#lookFor(buffer);
    const alive = liveness(
      this.board,
      this.#panels.map(({ series }) => series),
    );
    const first = buffer?.frames[0]?.k ?? 0;
    const when = this.#when(shown);
    const past = this.#first.past !== null;
    const { mode } = this.#player;
    this.#transport.show({ mode, alive, first, newest, shown, when, past, latency, lost: this.#lost });
    for (const card of this.#incidents) card.show();
    this.#doctor.show();
    this.showState(this.saved ? null : seriesState(this.board, this.#first, this.route.id));
    if (this.#player.mode === 'paused') this.#keepAddress(this.#wanted ?? shown);
  }

  /** Who is pointed at, or else chosen; and what the settings of the stream say about its scene. */
  #showObject({ series, scene, card, pointed }: Panel, shown: number): void {
    const facts = series.past?.state.scene ?? series.window?.scene ?? {};
    scene.backdrop.facts = facts;
    const onEarth = series.shownFrames?.geodesic === true;
    this.#controls.offerUnits(onEarth);
    if (onEarth) void this.#background.offerCoast();
    if (series === this.#first && series.shownFrames) this.#background.offer(facts.picture);
    const { chosen, isolated } = this.#controls.options;
    const object = pointed ?? chosen;
    const buffer = series.shownFrames;
    const known = object && buffer ? factsOf(buffer, buffer.indexOf(shown), object) : null;
    card.show(known, unitOf(series.window?.params.distance), isSame(object, chosen), isolated);
  }

  /** A frame that somebody wants and that is not here: it may be among the newest, or it is read from the log. */
  #lookFor(buffer: FrameBuffer | null): void {
    const wanted = this.#wanted;
    if (wanted === null || buffer === null || buffer.find(wanted)) return;
    if (this.saved) void this.#lookBack({ k: wanted }, wanted);
    else if (this.#panels.every(({ series }) => series.frames?.find(wanted))) {
      for (const { series } of this.#panels) series.lookAhead();
      this.#lost = '';
      this.#inspect();
    } else if (this.#first.frames?.newest) void this.#lookBack({ k: wanted }, wanted);
  }

  /** When a frame was: as it says itself, or when it came. */
  #when(k: number): string {
    const { shownTrend: trend, shownFrames } = this.#first;
    const t = shownFrames?.find(k)?.t;
    const atMs = t === undefined ? (trend.atMs[trend.k.indexOf(k)] ?? 0) : t * 1000;
    return atMs > 1e11 ? moment(atMs) : '';
  }

  #frameOf({ shownFrames: frames }: LiveSeries, shown: number): ShownFrame | undefined {
    return frames?.frames[frames.indexOf(shown)];
  }

  /** Puts the frame into the address, unless somebody wishes to go elsewhere and the page has not heard of it yet. */
  #keepAddress(k: number | undefined): void {
    if (this.saved) return;
    const hash = seriesLink(this.route.id, { k, with: this.route.with ?? undefined });
    if (location.hash === hash || location.hash !== this.#address) return;
    history.replaceState(null, '', hash);
    this.#address = location.hash;
  }

  #showPlots(shown: number, nowMs: number): void {
    const { shownFrames: frames, shownTrend: trend, window } = this.#first;
    const events = this.#ownEvents();
    const due = (what: 'plots' | 'ribbon') => {
      const isDue = this.#dirty || this.#seen[what].visible || nowMs - this.#drawnMs[what] > HIDDEN_MS;
      if (isDue) this.#drawnMs[what] = nowMs;
      return isDue;
    };
    if (due('plots'))
      this.#plots.draw({
        trend,
        other: this.#panels[1]?.series.shownTrend ?? null,
        events,
        spikes: spansOf(events, trend.k[trend.k.length - 1] ?? 0),
        // of now: what was usual in the past is not kept
        expected: this.#first.past
          ? null
          : expectedDistance(this.board.rates.get(keyOf(this.route.id)), window?.params),
        shown,
        windowFrames: window?.params.windowFrames ?? 60,
        unit: unitOf(window?.params.distance),
      });
    if (frames && due('ribbon')) this.#ribbon.draw(frames, this.#plots.range, shown, this.#hovered);
    this.#events.show(events, 'No events yet.');
    // tests wait for these
    const { dataset } = document.body;
    dataset.newest = String(Math.min(...this.#panels.map(({ series }) => series.frames?.newest?.k ?? -1)));
    dataset.shown = String(shown);
    dataset.mode = this.#player.mode;
    dataset.past = String(this.#first.past !== null);
  }

  #ownEvents(): EventMessage[] {
    const { stream, tracker, profile } = this.route.id;
    return this.board.events.filter(
      (event) =>
        event.stream === stream && (event.tracker ?? tracker) === tracker && (event.profile ?? profile) === profile,
    );
  }
}

const isSame = (a: Chosen | null, b: Chosen | null) => a !== null && a.id === b?.id && a.feed === b.feed;

const whyLost = (error: unknown): string =>
  error instanceof ApiError ? error.message : 'the past could not be loaded';
