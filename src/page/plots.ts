/**
 * The score over time: distance, and under it the four components stacked, over the window and beyond. Both share one
 * cursor; events are marked on the axis; a click goes to the frame. This file owns uPlot.
 */
import uPlot from 'uplot';
import type { EventMessage } from './api.js';
import { h } from './dom.js';
import { COMPONENTS, type Component, number } from './format.js';
import type { Trend } from './live-series.js';
import { theme } from './theme.js';

const HEIGHT = 130;

export interface PlotEvents {
  jump(k: number): void;
  hover(k: number | null): void;
  resized(): void;
}

export class Plots {
  readonly element = h('div', { class: 'plots' });
  #plots: uPlot[] = [];
  #theme: object | null = null;
  #trend: Trend | null = null;
  #events: EventMessage[] = [];
  #shown = -1;
  #windowFrames = 0;
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

  draw(trend: Trend, events: EventMessage[], shown: number, windowFrames: number): void {
    if (this.#width === 0 || trend.k.length === 0) return;
    this.#trend = trend;
    this.#events = events;
    this.#shown = shown;
    this.#windowFrames = windowFrames;
    if (this.#theme !== theme()) this.#build();
    const [distance, stack] = this.#plots;
    if (distance.width !== this.#width)
      for (const plot of this.#plots) plot.setSize({ width: this.#width, height: HEIGHT });
    distance.setData([trend.k, trend.distance]);
    stack.setData([trend.k, ...stacked(trend)]);
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

  #build(): void {
    this.#theme = theme();
    for (const plot of this.#plots) plot.destroy();
    const colours = theme();
    const distance = { label: 'distance', stroke: colours.ink, width: 1.5 };
    // the whole stack first, then what lies lower over it
    const layers = [...COMPONENTS]
      .reverse()
      .map((name) => ({ label: name, fill: colours[name], stroke: colours[name], width: 0.5 }));
    this.#plots = [this.#plot('distance', [distance]), this.#plot('cost', layers)];
  }

  #plot(label: string, series: uPlot.Series[]): uPlot {
    const { faint, line } = theme();
    const axis = {
      stroke: faint,
      grid: { stroke: line, width: 1 },
      ticks: { show: false },
      font: '11px system-ui, sans-serif',
    };
    const dots = series.map((one) => ({ ...one, points: { show: false } }));
    const plot = new uPlot(
      {
        width: this.#width,
        height: HEIGHT,
        padding: [8, 8, 0, 0],
        legend: { show: false },
        cursor: {
          y: false,
          drag: { x: false, y: false, setScale: false },
          points: { show: false },
          sync: { key: 'frames' },
        },
        scales: { x: { time: false }, y: { range: (_, _min, max) => [0, max > 0 ? max * 1.08 : 1] } },
        axes: [
          { ...axis, size: 26, values: (_, ticks) => ticks.map((k) => (Number.isInteger(k) ? String(k) : '')) },
          {
            ...axis,
            size: 52,
            values: (_, ticks) => ticks.map(number),
            label,
            labelSize: 14,
            labelFont: '11px system-ui, sans-serif',
          },
        ],
        series: [{ label: 'frame' }, ...dots],
        hooks: {
          drawClear: [(u) => this.#shade(u)],
          draw: [(u) => this.#annotate(u)],
          setCursor: [(u) => this.#moved(u)],
        },
      },
      [[0], ...series.map(() => [0])] as uPlot.AlignedData,
      this.element,
    );
    plot.over.addEventListener('click', () => {
      const k = this.#trend?.k[plot.cursor.idx ?? -1];
      if (k !== undefined) this.on.jump(k);
    });
    return plot;
  }

  #moved(plot: uPlot): void {
    if (this.#quiet || plot !== this.#plots[0]) return;
    const index = plot.cursor.idx;
    this.on.hover(index == null || (plot.cursor.left ?? -1) < 0 ? null : (this.#trend?.k[index] ?? null));
  }

  /** The window that ends at the shown frame. */
  #shade(u: uPlot): void {
    const from = u.valToPos(Math.max(this.#trend!.k[0], this.#shown - this.#windowFrames + 1), 'x', true);
    const to = u.valToPos(this.#shown, 'x', true);
    u.ctx.save();
    u.ctx.globalAlpha = 0.5;
    u.ctx.fillStyle = theme().line;
    u.ctx.fillRect(from, u.bbox.top, Math.max(1, to - from), u.bbox.height);
    u.ctx.restore();
  }

  #annotate(u: uPlot): void {
    const { ctx, bbox } = u;
    const colours = theme();
    const first = this.#trend!.k[0];
    const size = 5 * devicePixelRatio;
    ctx.save();
    for (const { type, k } of this.#events) {
      if (k === undefined || k < first) continue;
      const x = u.valToPos(k, 'x', true);
      ctx.fillStyle = type === 'switch' ? colours.switch : type === 'spike' ? colours.tracker : colours.missed;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top + bbox.height - size * 1.4);
      ctx.lineTo(x - size, bbox.top + bbox.height);
      ctx.lineTo(x + size, bbox.top + bbox.height);
      ctx.fill();
    }
    ctx.fillStyle = colours.ink;
    ctx.fillRect(
      Math.round(u.valToPos(this.#shown, 'x', true)),
      bbox.top,
      Math.max(1, Math.round(devicePixelRatio)),
      bbox.height,
    );
    ctx.restore();
  }
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

/** What the colours of the stack stand for. */
export const legend = (): HTMLElement =>
  h(
    'ul',
    { class: 'legend' },
    ...COMPONENTS.map((name: Component) =>
      h('li', {}, h('span', { class: `swatch ${name}`, 'aria-hidden': 'true' }), name),
    ),
  );
