/**
 * The assignment ribbon: one row per truth, time to the right, coloured by the track assigned, hatched where the truth
 * is missed, empty where it is absent. Swaps, broken tracks and interim changes are obvious at a glance; a click goes
 * there.
 */
import { h, setText } from '../dom.js';
import { theme } from '../theme.js';
import type { FrameBuffer, ShownFrame } from './frames.js';

const ROW = 18;
const HEAD = 4;
const LABEL = 64;
const CELL = 5;
const ROWS_MAX = 150;
/** Distinguishable for most eyes, on light and dark; each run also carries the id. */
const HUES = [
  '#4e79a7',
  '#f28e2b',
  '#59a14f',
  '#b07aa1',
  '#76b7b2',
  '#e15759',
  '#9c755f',
  '#edc948',
  '#86bcb6',
  '#d37295',
];

interface Run {
  from: number;
  to: number;
  /** null: missed */
  track: string | null;
}

export class Ribbon {
  readonly element: HTMLElement;
  #canvas = h('canvas', {
    role: 'img',
    height: 1,
    'aria-label': 'assignment ribbon: one row per truth, one column per frame',
  });
  #note = h('p', { class: 'note' });
  #context = this.#canvas.getContext('2d')!;
  #width = 0;
  #cell = CELL;
  #first = 0;
  #frames: ShownFrame[] = [];
  #observer: ResizeObserver;
  #hatch: CanvasPattern | null = null;
  #hatchTheme: object | null = null;

  constructor(
    readonly jump: (k: number) => void,
    readonly hover: (k: number | null) => void,
    changed: () => void,
  ) {
    const box = h(
      'div',
      { class: 'ribbon', tabIndex: 0, role: 'region', 'aria-label': 'assignment ribbon' },
      this.#canvas,
    );
    this.element = h('div', {}, box, this.#note);
    this.#observer = new ResizeObserver(([entry]) => {
      this.#width = Math.floor(entry.contentRect.width);
      changed();
    });
    this.#observer.observe(box);
    this.#canvas.addEventListener('click', (event) => this.#at(event.offsetX, jump));
    this.#canvas.addEventListener('mousemove', (event) => this.#at(event.offsetX, hover));
    this.#canvas.addEventListener('mouseleave', () => hover(null));
  }

  close(): void {
    this.#observer.disconnect();
  }

  #at(x: number, call: (k: number) => void): void {
    const frame = this.#frames[this.#first + Math.floor((x - LABEL) / this.#cell)];
    if (frame && x >= LABEL) call(frame.k);
  }

  /** Draws the frames around `shown`; the newest at the right edge when following. */
  draw(buffer: FrameBuffer, shown: number, hovered: number | null): void {
    if (this.#width === 0) return;
    const room = Math.max(1, this.#width - LABEL);
    const columns = Math.min(buffer.frames.length, Math.floor(room / CELL));
    this.#cell = Math.max(CELL, Math.min(24, Math.floor(room / Math.max(1, columns))));
    const last = buffer.frames.length - columns;
    // do not move while the shown frame is inside
    const inside = shown >= this.#first && shown < this.#first + columns && this.#first <= last;
    if (shown === buffer.frames.length - 1) this.#first = last;
    else if (!inside) this.#first = Math.max(0, Math.min(last, shown - (columns >> 1)));
    this.#frames = buffer.frames;
    const rows = rowsOf(buffer.frames, this.#first, columns);
    this.#paint(rows, columns, shown, hovered);
  }

  #paint(rows: Map<string, Run[]>, columns: number, shown: number, hovered: number | null): void {
    const colours = theme();
    const context = this.#context;
    const ratio = window.devicePixelRatio || 1;
    const count = Math.min(rows.size, ROWS_MAX);
    const height = HEAD + Math.max(1, count) * ROW;
    const [pixelWidth, pixelHeight] = [Math.round(this.#width * ratio), Math.round(height * ratio)];
    if (this.#canvas.width !== pixelWidth || this.#canvas.height !== pixelHeight) {
      this.#canvas.width = pixelWidth;
      this.#canvas.height = pixelHeight;
      this.#canvas.style.height = `${height}px`;
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.#width, height);
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    let y = HEAD;
    for (const [truth, runs] of [...rows].slice(0, ROWS_MAX)) {
      context.fillStyle = colours.ink;
      context.fillText(short(truth, 9), 2, y + ROW / 2);
      for (const run of runs) this.#run(run, y);
      y += ROW;
    }
    this.#line(shown - this.#first, columns, height, colours.ink, 2);
    const at = hovered === null ? -1 : this.#frames.findIndex(({ k }) => k === hovered) - this.#first;
    if (at >= 0) this.#line(at, columns, height, colours.faint, 1);
    const left = rows.size - count;
    setText(this.#note, left > 0 ? `and ${left} more truths, not shown` : '');
  }

  #run({ from, to, track }: Run, y: number): void {
    const context = this.#context;
    const x = LABEL + from * this.#cell;
    const width = (to - from + 1) * this.#cell;
    context.fillStyle = track === null ? this.#hatched() : hueOf(track);
    context.fillRect(x, y + 2, width, ROW - 4);
    if (track === null) return;
    // a change is marked by an edge, not by colour alone
    context.fillStyle = theme().back;
    context.fillRect(x, y + 1, 1.5, ROW - 2);
    const text = short(track, Math.floor((width - 6) / 6.2));
    if (text.length === 0 || (text.length < track.length && text.length < 3)) return;
    context.fillStyle = '#000';
    context.fillText(text, x + 4, y + ROW / 2 + 0.5);
  }

  #hatched(): CanvasPattern {
    const colours = theme();
    if (!this.#hatch || this.#hatchTheme !== colours) {
      const tile = document.createElement('canvas');
      tile.width = tile.height = 6;
      const context = tile.getContext('2d')!;
      context.strokeStyle = colours.missed;
      context.lineWidth = 1.5;
      for (const shift of [-6, 0, 6]) {
        context.moveTo(shift, 6);
        context.lineTo(shift + 6, 0);
      }
      context.stroke();
      this.#hatch = this.#context.createPattern(tile, 'repeat')!;
      this.#hatchTheme = colours;
    }
    return this.#hatch;
  }

  #line(column: number, columns: number, height: number, colour: string, width: number): void {
    if (column < 0 || column >= columns) return;
    this.#context.fillStyle = colour;
    this.#context.fillRect(Math.round(LABEL + (column + 0.5) * this.#cell - width / 2), 0, width, height);
  }
}

/** The rows that are drawn: each truth with its runs of frames under one track. */
export function rowsOf(frames: ShownFrame[], first: number, columns: number): Map<string, Run[]> {
  const rows = new Map<string, Run[]>();
  for (let column = 0; column < columns; column++) {
    const { reference, tracker, trackOf } = frames[first + column];
    for (let i = 0; i < trackOf.length; i++) {
      const truth = reference.ids[i];
      const track = trackOf[i] < 0 ? null : tracker.ids[trackOf[i]];
      let runs = rows.get(truth);
      if (!runs) {
        runs = [];
        rows.set(truth, runs);
      }
      const last = runs[runs.length - 1];
      if (last && last.track === track && last.to === column - 1) last.to = column;
      else runs.push({ from: column, to: column, track });
    }
  }
  return rows;
}

const short = (text: string, length: number) =>
  text.length <= length ? text : length < 2 ? '' : `${text.slice(0, length - 1)}…`;

const hues = new Map<string, string>();

function hueOf(track: string): string {
  let hue = hues.get(track);
  if (!hue) {
    let hash = 0;
    for (let n = 0; n < track.length; n++) hash = (Math.imul(hash, 31) + track.charCodeAt(n)) | 0;
    hue = HUES[(hash >>> 0) % HUES.length];
    if (hues.size > 5000) hues.clear();
    hues.set(track, hue);
  }
  return hue;
}
