/**
 * The assignment ribbon: one row per truth, time from left to right, coloured by the track that follows it; a thin
 * line where it is missed, nothing where it is not there. A change of colour is a change of identity.
 */

import { ticks } from './chart.js';
import { type Content, html, type Markup } from './markup.js';
import { tidy } from './page.js';
import { seriesClass } from './style.js';

export interface RibbonRow {
  truth: string;
  tracks: string[];
  /** from, to (0-based frames, both included), index into `tracks` or -1 for missed */
  segments: number[];
  changes: number;
}

const WIDTH = 1000;
const LEFT = 64;
const RIGHT = 16;
const ROW = 18;

export function drawRibbon(rows: readonly RibbonRow[], frames: number, caption: Content): Markup {
  const height = rows.length * ROW + 24;
  const scale = (WIDTH - LEFT - RIGHT) / Math.max(1, frames);
  const x = (frame: number) => Math.round((LEFT + frame * scale) * 10) / 10;
  return html`<figure>
<figcaption>${caption}</figcaption>
<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="which track follows which truth, over time">
${rows.map((row, index) => drawRow(row, index * ROW, x))}${ticks(1, frames, 10).map(
  (frame) => html`<text x="${x(frame - 1)}" y="${height - 4}" text-anchor="middle">${tidy(frame)}</text>
`,
)}</svg>
</figure>
`;
}

function drawRow({ truth, tracks, segments }: RibbonRow, top: number, x: (frame: number) => number): Markup {
  const parts: Markup[] = [];
  for (let n = 0; n < segments.length; n += 3) {
    const [from, to, track] = segments.slice(n, n + 3);
    const place = { left: x(from), width: Math.max(0.6, Math.round((x(to + 1) - x(from)) * 10) / 10) };
    const name = track < 0 ? 'missed' : `track ${tracks[track]}`;
    const className = track < 0 ? 'missed' : seriesClass(track);
    const [y, thick] = track < 0 ? [top + 7, 2] : [top + 2, 12];
    parts.push(
      html`<rect class="bar ${className}" x="${place.left}" y="${y}" width="${place.width}" height="${thick}"><title>truth ${truth}: ${name}, frames ${from + 1} to ${to + 1}</title></rect>`,
    );
  }
  return html`<text x="${LEFT - 8}" y="${top + 12}" text-anchor="end">${truth}</text>${parts}
`;
}
