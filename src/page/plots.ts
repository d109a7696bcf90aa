/**
 * The score over time: distance of one or two trackers, and under it the four components of the first, stacked, over
 * the window and beyond. Both share range and cursor with the ribbon; the axis shows the time of day. What is usual is
 * a band, a spike a span in its colour, an event a mark on the axis; a click goes to the frame, a drag zooms. This file
 * owns uPlot.
 */
import uPlot from 'uplot';
import { COMPONENTS, type FrameCost } from '../metric/evaluation.js';
import type { EventMessage } from './data/api.js';
import type { Trend } from './data/trend.js';
import { type Span, type UsualBand, usualBand } from './data/usual.js';
import { h } from './kit/dom.js';
import { brief, clock } from './kit/format.js';
import { theme } from './kit/theme.js';
import { type FrameRange, LABEL, MARGIN } from './scene/ribbon.js';

const HEIGHT = 136;
const LABEL_SIZE = 14;
/** half the width of a time of day, pixels */
const TICK_SPARE = 18;
/** pixels: a shorter drag is a click */
const DRAG_MIN = 6;

export interface PlotEvents {
  jump(k: number): void;
  hover(k: number | null): void;
  zoomed(): void;
  resized(): void;
}

/** What is drawn. */
export interface PlotData {
  trend: Trend;
  /** of the tracker it is compared with */
  other: Trend | null;
  events: EventMessage[];
  /** a spike that lasts ends with the newest frame */
  spikes: Span[];
  /** the distance that the detector expects of a window, where it does */
  expected: number | null;
  shown: number;
  windowFrames: number;
  unit: string;
}

export class Plots {
  readonly element = h('div', { class: 'plots' });
  #plots: uPlot[] = [];
  #theme: object | null = null;
  #compared = false;
  #data: PlotData | null = null;
  #usual: UsualBand | null = null;
  #zoom: FrameRange | null = null;
  #width = 0;
  #observer: ResizeObserver;
  #quiet = false;

  constructor(readonly on: PlotEvents) {
    this.#observer = new ResizeObserver(([entry]) => {
      this.#width = Math.floor(entry.contentRect.width);
      this.on.resized();
    });
    this.#observer.observe(this.element);
  }

  close(): void {
    this.#observer.disconnect();
    for (const plot of this.#plots) plot.destroy();
  }

  /** The frames that are shown, here and in the ribbon. */
  get range(): FrameRange {
    if (this.#zoom) return this.#zoom;
    const k = this.#data?.trend.k ?? [];
    return k.length === 0 ? [0, 1] : [k[0], Math.max(k[k.length - 1], k[0] + 1)];
  }

  get zoomed(): boolean {
    return this.#zoom !== null;
  }

  zoom(range: FrameRange | null): void {
    this.#zoom = range;
    this.on.zoomed();
  }

  draw(data: PlotData): void {
    const { trend, other } = data;
    if (this.#width === 0 || trend.k.length === 0) return;
    this.#data = data;
    this.#usual = usualBand(trend, data.spikes, data.expected);
    if (this.#theme !== theme() || this.#compared !== (other !== null)) this.#build(other !== null);
    const [distance, stack] = this.#plots;
    if (distance.width !== this.#width)
      for (const plot of this.#plots) plot.setSize({ width: this.#width, height: HEIGHT });
    distance.setData([trend.k, trend.distance, ...(other ? [aligned(trend, other)] : [])] as uPlot.AlignedData);
    stack.setData([trend.k, ...stacked(trend)]);
    Object.assign(this.element.dataset, { from: this.range[0], to: this.range[1], spikes: data.spikes.length });
    const { low, high, expected } = this.#usual ?? {};
    this.element.dataset.usual = this.#usual ? `${low} ${high}` : '';
    this.element.dataset.expected = expected == null ? '' : String(expected);
  }

  /** Moves the cursor of all plots to a frame that another view points at. */
  point(k: number | null): void {
    this.#quiet = true;
    for (const plot of this.#plots) {
      const left = k === null ? -10 : plot.valToPos(k, 'x');
      plot.setCursor({ left, top: k === null ? -10 : 10 }, false);
    }
    this.#quiet = false;
  }

  #build(compared: boolean): void {
    this.#theme = theme();
    this.#compared = compared;
    for (const plot of this.#plots) plot.destroy();
    const colours = theme();
    const distance = { label: 'distance', stroke: colours.ink, width: 1.5 };
    const other = { label: 'compared', stroke: colours.reference, width: 1.5, dash: [6, 4] };
    // the whole stack first, then what lies lower over it
    const layers = [...COMPONENTS]
      .reverse()
      .map((name) => ({ label: name, fill: colours[name], stroke: colours[name], width: 0.5 }));
    const unit = this.#data?.unit;
    const name = unit ? `distance (${unit})` : 'distance';
    this.#plots = [
      this.#plot(name, compared ? [distance, other] : [distance]),
      this.#plot(unit ? `cost (${unit}^p)` : 'cost', layers),
    ];
  }

  #plot(label: string, series: uPlot.Series[]): uPlot {
    const { faint, line } = theme();
    const font = '11px system-ui, sans-serif';
    const axis = { stroke: faint, grid: { stroke: line, width: 1 }, ticks: { show: false }, font };
    const dots = series.map((one) => ({ ...one, points: { show: false } }));
    const plot = new uPlot(
      {
        width: this.#width,
        height: HEIGHT,
        padding: [8, MARGIN, 0, 0],
        legend: { show: false },
        cursor: {
          y: false,
          drag: { x: true, y: false, setScale: false, dist: DRAG_MIN },
          points: { show: false },
          sync: { key: 'frames' },
        },
        scales: {
          x: { time: false, range: () => [...this.range] },
          y: { range: (_, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
        },
        axes: [
          { ...axis, size: 36, space: 70, values: (u, ticks) => ticks.map((k) => this.#tickAt(u, k)) },
          {
            ...axis,
            size: LABEL - LABEL_SIZE,
            values: (_, ticks) => ticks.map(brief),
            label,
            labelSize: LABEL_SIZE,
            labelGap: 0,
            labelFont: font,
          },
        ],
        series: [{ label: 'frame' }, ...dots],
        hooks: {
          drawClear: [(u) => this.#shade(u)],
          draw: [(u) => this.#annotate(u)],
          setCursor: [(u) => this.#moved(u)],
          setSelect: [(u) => this.#selected(u)],
        },
      },
      [[0], ...series.map(() => [0])] as uPlot.AlignedData,
      this.element,
    );
    plot.over.addEventListener('click', () => {
      const k = this.#data?.trend.k[plot.cursor.idx ?? -1];
      if (k !== undefined) this.on.jump(k);
    });
    plot.over.addEventListener('dblclick', () => this.zoom(null));
    return plot;
  }

  /** What would not fit before the right edge is left out. */
  #tickAt(u: uPlot, k: number): string {
    const right = u.width - MARGIN - LABEL;
    return u.valToPos(k, 'x') > right - TICK_SPARE ? '' : this.#timeAt(k);
  }

  /** The time of day at a frame, and its number below. */
  #timeAt(k: number): string {
    const { trend } = this.#data!;
    if (!Number.isInteger(k)) return '';
    const atMs = trend.atMs[trend.k.findIndex((one) => one >= k)];
    return atMs > 0 ? `${clock(atMs)}\n${k}` : String(k);
  }

  #selected(u: uPlot): void {
    const { left, width } = u.select;
    if (width < DRAG_MIN) return;
    const first = Math.round(u.posToVal(left, 'x'));
    const last = Math.round(u.posToVal(left + width, 'x'));
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (last - first >= 2) this.zoom([first, last]);
  }

  #moved(plot: uPlot): void {
    if (this.#quiet || plot !== this.#plots[0]) return;
    const index = plot.cursor.idx;
    this.on.hover(index == null || (plot.cursor.left ?? -1) < 0 ? null : (this.#data?.trend.k[index] ?? null));
  }

  /** Under the lines: the window that ends at the shown frame, what is usual, spikes, what is not proven. */
  #shade(u: uPlot): void {
    const { shown, windowFrames, trend, spikes } = this.#data!;
    const colours = theme();
    const { ctx, bbox } = u;
    const span = (from: number, to: number, colour: string, alpha: number, top = bbox.top, height = bbox.height) => {
      const left = Math.max(bbox.left, u.valToPos(from, 'x', true));
      const right = Math.min(bbox.left + bbox.width, u.valToPos(to, 'x', true));
      if (right < left) return;
      ctx.globalAlpha = alpha;
      ctx.fillStyle = colour;
      ctx.fillRect(left, top, Math.max(1, right - left), height);
    };
    ctx.save();
    span(Math.max(trend.k[0], shown - windowFrames + 1), shown, colours.line, 0.5);
    if (u === this.#plots[0] && this.#usual) {
      const { low, high, expected } = this.#usual;
      const y = (distance: number) => u.valToPos(distance, 'y', true);
      span(this.range[0], this.range[1], colours.usual, 0.16, y(high), y(low) - y(high));
      if (expected !== null) span(this.range[0], this.range[1], colours.usual, 0.7, y(expected), devicePixelRatio);
    }
    const strip = 4 * devicePixelRatio;
    spikes.forEach(({ signal, from, to }, n) => {
      const colour = signal in colours ? colours[signal as keyof FrameCost] : colours.tracker;
      span(from, to, colour, 0.1);
      span(from, to, colour, 1, bbox.top + (n % 3) * (strip + 1), strip);
    });
    for (const [from, to] of unproven(trend)) span(from, to, colours.faint, 0.25);
    ctx.restore();
  }

  #annotate(u: uPlot): void {
    const { ctx, bbox } = u;
    const colours = theme();
    const [first, last] = this.range;
    const size = 5 * devicePixelRatio;
    ctx.save();
    for (const { type, k } of this.#data!.events) {
      if (k === undefined || k < first || k > last || type === 'spike') continue;
      const x = u.valToPos(k, 'x', true);
      ctx.fillStyle = type === 'switch' ? colours.switch : type === 'incident' ? colours.tracker : colours.missed;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top + bbox.height - size * 1.4);
      ctx.lineTo(x - size, bbox.top + bbox.height);
      ctx.lineTo(x + size, bbox.top + bbox.height);
      ctx.fill();
    }
    const { shown } = this.#data!;
    const x = Math.round(u.valToPos(shown, 'x', true));
    ctx.fillStyle = colours.ink;
    if (shown >= first && shown <= last)
      ctx.fillRect(x, bbox.top, Math.max(1, Math.round(devicePixelRatio)), bbox.height);
    ctx.restore();
  }
}

/** The distances of another series at the frames of this one. */
function aligned(trend: Trend, other: Trend): Array<number | null> {
  let n = 0;
  return trend.k.map((k) => {
    while (n < other.k.length && other.k[n] < k) n++;
    return other.k[n] === k ? other.distance[n] : null;
  });
}

/** Runs of frames whose figures were not proven in time. */
function unproven({ k, exact }: Trend): Array<[number, number]> {
  const runs: Array<[number, number]> = [];
  for (let n = 0; n < k.length; n++) {
    if (exact[n] === 1) continue;
    if (n > 0 && exact[n - 1] !== 1) runs[runs.length - 1][1] = k[n];
    else runs.push([k[n], k[n]]);
  }
  return runs;
}

/** The spikes of one series, from their events, oldest first; those that last end with the newest frame. */
export function spansOf(events: EventMessage[], newest: number): Span[] {
  const spans: Span[] = [];
  const open = new Map<string, Span>();
  for (const { type, signal, phase, k, at } of events) {
    if (type !== 'spike' || k === undefined) continue;
    const name = String(signal);
    if (phase === 'end') {
      const span = open.get(name);
      if (span) span.to = Number(at ?? k);
      open.delete(name);
    } else if (!open.has(name)) {
      const span = { signal: name, from: k, to: newest };
      open.set(name, span);
      spans.push(span);
    }
  }
  return spans;
}

/** Sums from below, the highest first. */
function stacked({ cost, k }: Trend): number[][] {
  const sums: number[][] = [];
  let below: number[] | null = null;
  for (const name of COMPONENTS) {
    const own: number[] = cost[name];
    const layer: number[] = new Array(k.length);
    for (let n = 0; n < layer.length; n++) layer[n] = own[n] + (below ? below[n] : 0);
    sums.unshift(layer);
    below = layer;
  }
  return sums;
}

/** What colours and bands stand for. */
export const legend = (tracker: string, other: string | null): HTMLElement =>
  h(
    'ul',
    { class: 'legend' },
    other !== null && h('li', {}, h('span', { class: 'swatch line' }), tracker),
    other !== null && h('li', {}, h('span', { class: 'swatch line compared' }), other),
    ...COMPONENTS.map((name: keyof FrameCost) =>
      h('li', {}, h('span', { class: `swatch ${name}`, 'aria-hidden': 'true' }), name),
    ),
    h(
      'li',
      {},
      h('span', { class: 'swatch usual-band' }),
      'usual: what the detector expects (line), and where 80 % of calm frames lie (band)',
    ),
    h('li', {}, 'drag to zoom'),
  );
