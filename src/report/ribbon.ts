/**
 * The assignment ribbon: one row per truth, time from left to right, coloured by the track that follows it; a thin
 * line where it is missed, nothing where it is not there. A track has one colour in all rows, and its id where there is
 * room: where two truths exchange their tracks, two rows exchange colours.
 */

import { ticks } from './chart.js';
import { type Content, html, type Markup } from './markup.js';
import { tidy } from './page.js';
import { trackClass } from './style.js';

/** Who follows a truth, over time. */
export interface RibbonRow {
  truth: string;
  tracks: string[];
  /** from, to (0-based frames, both included), index into `tracks` or -1 for missed; one after the other */
  segments: number[];
  /** times it went from one track to another */
  changes: number;
}

const WIDTH = 1000;
const LEFT = 64;
const RIGHT = 16;
const ROW = 18;
/** width of a letter of an id */
const LETTER = 7;

export function drawRibbon(rows: readonly RibbonRow[], frames: number, caption: Content): Markup {
  const height = rows.length * ROW + 24;
  const scale = (WIDTH - LEFT - RIGHT) / Math.max(1, frames);
  const x = (frame: number) => Math.round((LEFT + frame * scale) * 10) / 10;
  return html`<figure>
<figcaption>${caption}</figcaption>
<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="which track follows which truth, over time">
${rows.map((row, index) => drawRow(row, index * ROW, x))}${swapsOf(rows).map((swap) => drawSwap(swap, rows, x))}${ticks(
  1,
  frames,
  10,
).map(
  (frame) => html`<text x="${x(frame - 1)}" y="${height - 4}" text-anchor="middle">${tidy(frame)}</text>
`,
)}</svg>
</figure>
`;
}

/** Two truths that exchange their tracks, by their rows and the frame (0-based) of the later change. */
export interface Swap {
  rows: [number, number];
  frame: number;
}

/** changes of two rows this close are one exchange */
const SWAP_FRAMES = 10;

/** Every exchange of tracks between two rows. */
export function swapsOf(rows: readonly RibbonRow[]): Swap[] {
  const changes = rows.flatMap((row, index) => changesOf(row).map((change) => ({ ...change, row: index })));
  return changes.flatMap((one, n) =>
    changes.slice(n + 1).flatMap((other): Swap[] => {
      const isSwap = one.row !== other.row && one.from === other.to && one.to === other.from;
      if (!isSwap || Math.abs(one.frame - other.frame) > SWAP_FRAMES) return [];
      return [{ rows: [one.row, other.row], frame: Math.max(one.frame, other.frame) }];
    }),
  );
}

/** Where a row goes from one track to another, whatever it misses between them. */
function changesOf({ tracks, segments }: RibbonRow): Array<{ frame: number; from: string; to: string }> {
  const changes: Array<{ frame: number; from: string; to: string }> = [];
  let from: string | null = null;
  for (let n = 0; n < segments.length; n += 3) {
    if (segments[n + 2] < 0) continue;
    const to = tracks[segments[n + 2]];
    if (from !== null && from !== to) changes.push({ frame: segments[n], from, to });
    from = to;
  }
  return changes;
}

/** A bow between the two rows, with a head at each. */
function drawSwap({ rows: pair, frame }: Swap, rows: readonly RibbonRow[], x: (frame: number) => number): Markup {
  const [upper, lower] = [Math.min(...pair), Math.max(...pair)].map((row) => row * ROW + 8);
  const at = x(frame);
  const head = (y: number, way: number) => `M${at - 3.5} ${y - 4 * way}L${at} ${y}L${at + 3.5} ${y - 4 * way}`;
  const title = `truths ${rows[pair[0]].truth} and ${rows[pair[1]].truth} exchange their tracks at frame ${frame + 1}`;
  return html`<path class="swap" d="M${at} ${upper}V${lower}${head(upper, -1)}${head(lower, 1)}"><title>${title}</title></path>
`;
}

function drawRow({ truth, tracks, segments }: RibbonRow, top: number, x: (frame: number) => number): Markup {
  const parts: Markup[] = [];
  for (let n = 0; n < segments.length; n += 3) {
    const [from, to, track] = segments.slice(n, n + 3);
    const place = { left: x(from), width: Math.max(0.6, Math.round((x(to + 1) - x(from)) * 10) / 10) };
    const name = track < 0 ? 'missed' : `track ${tracks[track]}`;
    const className = track < 0 ? 'missed' : trackClass(tracks[track]);
    const [y, thick] = track < 0 ? [top + 7, 2] : [top + 2, 12];
    const room = Math.floor((place.width - 6) / LETTER);
    parts.push(
      html`<rect class="bar ${className}" x="${place.left}" y="${y}" width="${place.width}" height="${thick}"><title>truth ${truth}: ${name}, frames ${from + 1} to ${to + 1}</title></rect>`,
    );
    if (track < 0) continue;
    // a change is marked by an edge, not by colour alone
    if (n > 0) parts.push(html`<rect class="edge" x="${place.left - 0.75}" y="${top}" width="1.5" height="16"/>`);
    if (tracks[track].length <= room)
      parts.push(html`<text class="track" x="${place.left + 3}" y="${top + 12}">${tracks[track]}</text>`);
  }
  return html`<text x="${LEFT - 8}" y="${top + 12}" text-anchor="end">${truth}</text>${parts}
`;
}
