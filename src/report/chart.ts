/**
 * Charts as inline SVG: layers that stand on each other, lines, and bars, over one pair of axes. Colours come from the
 * style sheet by class (`localization`, `s0`, ...). A chart is as wide as the page and scales with it.
 */

import { type Content, html, type Markup } from './markup.js';
import { tidy } from './page.js';

export interface Axis {
  label: string;
  from: number;
  to: number;
}

/** Something drawn over the axes, in their units. `className` gives its colour and `name` its entry in the legend. */
export type Drawing = { name: string; className: string } & (
  | { kind: 'line'; points: ReadonlyArray<readonly [x: number, y: number]> }
  | {
      kind: 'bars' /** left edges and heights; all bars are `width` wide */;
      bars: ReadonlyArray<readonly [x: number, y: number]>;
      width: number;
    }
  /** a filled layer between two heights at each x */
  | { kind: 'layer'; points: ReadonlyArray<readonly [x: number, low: number, high: number]> }
  /** a range of x that is tinted from top to bottom */
  | { kind: 'span'; from: number; to: number }
);

/** A dashed upright with a word at its top, e.g. the chosen cut-off. */
export interface Mark {
  x: number;
  label: string;
}

export interface Chart {
  caption: Content;
  /** what a screen reader reads */
  description: string;
  x: Axis;
  y: Axis;
  drawings: readonly Drawing[];
  marks?: readonly Mark[];
  /** of the drawing in its own units; the page scales it */
  height?: number;
}

const WIDTH = 1000;
const MARGIN = { left: 64, right: 16, top: 20, bottom: 40 };
/** more points than this in one line cannot be distinguished on paper or screen */
const POINTS_MAX = 2000;

/** A chart with caption and legend. */
export function drawChart(chart: Chart): Markup {
  const { x, y, height = 260 } = chart;
  const right = WIDTH - MARGIN.right;
  const bottom = height - MARGIN.bottom;
  const scaleX = scaleOf(x, MARGIN.left, right);
  const scaleY = scaleOf(y, bottom, MARGIN.top);
  const middle = (MARGIN.top + bottom) / 2;
  return html`<figure>
<figcaption>${chart.caption}</figcaption>
${legend(chart.drawings)}
<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${chart.description}">
${ticks(y.from, y.to, Math.max(2, Math.round(height / 60))).map((value) => {
  const at = round(scaleY(value));
  return html`<path class="grid" d="M${MARGIN.left} ${at}H${right}"/><text x="${MARGIN.left - 8}" y="${at + 4}" text-anchor="end">${tidy(value)}</text>
`;
})}${ticks(x.from, x.to, 10).map((value) => {
  const at = round(scaleX(value));
  return html`<path class="axis" d="M${at} ${bottom}v5"/><text x="${at}" y="${bottom + 18}" text-anchor="middle">${tidy(value)}</text>
`;
})}<path class="axis" d="M${MARGIN.left} ${MARGIN.top}V${bottom}H${right}"/>
<text x="${(MARGIN.left + right) / 2}" y="${height - 4}" text-anchor="middle">${x.label}</text>
<text x="14" y="${middle}" text-anchor="middle" transform="rotate(-90 14 ${middle})">${y.label}</text>
${chart.drawings.map((drawing) => draw(drawing, scaleX, scaleY, bottom))}${(chart.marks ?? []).map(
  ({ x: value, label }) => {
    const at = round(scaleX(value));
    const anchor = at > (MARGIN.left + right) / 2 ? 'end' : 'start';
    return html`<path class="mark" d="M${at} ${MARGIN.top}V${bottom}"/><text class="strong" x="${at + (anchor === 'end' ? -4 : 4)}" y="${MARGIN.top - 6}" text-anchor="${anchor}">${label}</text>
`;
  },
)}</svg>
</figure>
`;
}

/** The names of the colours; a name that is empty or was there already gets no second entry. */
export function legend(entries: ReadonlyArray<{ name: string; className: string }>): Markup {
  const named = entries.filter(
    ({ name }, index) => name !== '' && entries.findIndex((other) => other.name === name) === index,
  );
  if (named.length === 0) return html``;
  return html`<ul class="legend">${named.map(({ name, className }) => html`<li><i class="${className}"></i>${name}</li>`)}</ul>`;
}

type Scale = (value: number) => number;

function scaleOf({ from, to }: Axis, start: number, end: number): Scale {
  const span = to - from || 1;
  return (value) => start + ((value - from) / span) * (end - start);
}

function draw(drawing: Drawing, x: Scale, y: Scale, bottom: number): Markup {
  const title = drawing.name ? html`<title>${drawing.name}</title>` : '';
  switch (drawing.kind) {
    case 'line': {
      const points = thin(drawing.points).map(([at, value]) => `${round(x(at))} ${round(y(value))}`);
      return html`<path class="curve ${drawing.className}" d="${points.length > 0 ? `M${points.join('L')}` : ''}">${title}</path>
`;
    }
    case 'layer': {
      const points = thin(drawing.points);
      const upper = points.map(([at, , high]) => `${round(x(at))} ${round(y(high))}`);
      const lower = points.map(([at, low]) => `${round(x(at))} ${round(y(low))}`).reverse();
      return html`<path class="area ${drawing.className}" d="${points.length > 0 ? `M${[...upper, ...lower].join('L')}Z` : ''}">${title}</path>
`;
    }
    case 'bars': {
      const bars = drawing.bars.map(([at, value]) => {
        const left = round(x(at));
        const width = round(Math.max(0.5, x(at + drawing.width) - x(at) - 0.5));
        const top = round(y(value));
        return `M${left} ${bottom}V${top}h${width}V${bottom}Z`;
      });
      return html`<path class="bar ${drawing.className}" d="${bars.join('')}">${title}</path>
`;
    }
    case 'span': {
      const left = round(x(drawing.from));
      return html`<rect class="span ${drawing.className}" x="${left}" y="${MARGIN.top}" width="${round(Math.max(0, x(drawing.to) - left))}" height="${bottom - MARGIN.top}">${title}</rect>
`;
    }
  }
}

/** Keeps every n-th point, and the last. */
function thin<Point>(points: readonly Point[]): readonly Point[] {
  if (points.length <= POINTS_MAX) return points;
  const step = Math.ceil(points.length / POINTS_MAX);
  return points.filter((_, index) => index % step === 0 || index === points.length - 1);
}

/** Layers on top of each other, in the order given: `values[x]` of each are added up. */
export function stack(
  layers: ReadonlyArray<{ name: string; className: string; values: readonly number[] }>,
  xAt: (index: number) => number,
): Drawing[] {
  const base = new Float64Array(layers[0]?.values.length ?? 0);
  return layers.map(({ name, className, values }) => {
    const points = values.map((value, index): [number, number, number] => {
      const low = base[index];
      base[index] += value;
      return [xAt(index), low, base[index]];
    });
    return { kind: 'layer', name, className, points };
  });
}

/** Round numbers from `from` to `to`, about as many as `count`. */
export function ticks(from: number, to: number, count: number): number[] {
  if (!(to > from)) return [from];
  const rough = (to - from) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) ?? 10) * power;
  const list: number[] = [];
  for (let n = Math.ceil(from / step - 1e-9); n * step <= to + step * 1e-9; n++) list.push(n * step + 0);
  return list;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
