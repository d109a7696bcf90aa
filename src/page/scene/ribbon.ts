/**
 * The assignment ribbon: one row per truth, time to the right, coloured by the track assigned, hatched where the truth
 * is missed, empty where it is absent. Swaps, broken tracks and interim changes are obvious at a glance; a click goes
 * there.
 */
import { TRACK_COLOURS, trackColour } from '../../report/track-colour.js';
import { h, setText } from '../kit/dom.js';
import { theme } from '../kit/theme.js';
import type { FrameBuffer, ShownFrame } from './frames.js';

const ROW = 18;
const HEAD = 4;
/** where the charts begin, and end */
export const LABEL = 64;
export const MARGIN = 8;
const ROWS_MAX = 150;
/** frames from the first to the last, by number: the range of the charts above */
export type FrameRange = readonly [first: number, last: number];

interface Run {
  /** numbers of its first and last frame */
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
  #range: FrameRange = [0, 0];
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
    const [first, last] = this.#range;
    const k = Math.round(first + ((x - LABEL) / this.#room) * (last - first));
    if (k >= first && k <= last) call(k);
  }

  get #room(): number {
    return Math.max(1, this.#width - LABEL - MARGIN);
  }

  /** Where a frame lies; the middle of its column. */
  #x(k: number): number {
    const [first, last] = this.#range;
    return LABEL + ((k - first) / Math.max(1, last - first)) * this.#room;
  }

  /** Draws the frames of the range that are known. */
  draw(buffer: FrameBuffer, range: FrameRange, shown: number, hovered: number | null): void {
    if (this.#width === 0) return;
    this.#range = range;
    const first = buffer.indexOf(range[0] - 1) + 1;
    const last = buffer.indexOf(range[1]);
    const rows = rowsOf(buffer.frames.slice(first, last + 1));
    this.#paint(rows, shown, hovered);
    const left = rows.size - Math.min(rows.size, ROWS_MAX);
    const known = buffer.frames[first]?.k ?? range[0];
    const notes = [
      left > 0 && `and ${left} more truths, not shown`,
      known > range[0] && `frames before ${known} are not loaded; click there to load them`,
    ];
    setText(this.#note, notes.filter(Boolean).join('; '));
  }

  #paint(rows: Map<string, Run[]>, shown: number, hovered: number | null): void {
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
    this.#line(shown, height, colours.ink, 2);
    if (hovered !== null) this.#line(hovered, height, colours.faint, 1);
  }

  #run({ from, to, track }: Run, y: number): void {
    const context = this.#context;
    const half = this.#room / Math.max(1, this.#range[1] - this.#range[0]) / 2;
    const x = Math.max(LABEL, this.#x(from) - half);
    const width = Math.max(0.75, Math.min(LABEL + this.#room, this.#x(to) + half) - x);
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

  #line(k: number, height: number, colour: string, width: number): void {
    const [first, last] = this.#range;
    if (k < first || k > last) return;
    this.#context.fillStyle = colour;
    this.#context.fillRect(Math.round(this.#x(k) - width / 2), 0, width, height);
  }
}

/** The rows that are drawn: each truth with its runs of frames under one track. */
export function rowsOf(frames: ShownFrame[]): Map<string, Run[]> {
  const rows = new Map<string, Run[]>();
  let before = Number.NaN;
  for (const { k, reference, tracker, trackOf } of frames) {
    for (let i = 0; i < trackOf.length; i++) {
      // nobody expects a track of what is not judged
      if (trackOf[i] === -2) continue;
      const truth = reference.ids[i];
      const track = trackOf[i] < 0 ? null : tracker.ids[trackOf[i]];
      let runs = rows.get(truth);
      if (!runs) {
        runs = [];
        rows.set(truth, runs);
      }
      const last = runs[runs.length - 1];
      if (last && last.track === track && last.to === before) last.to = k;
      else runs.push({ from: k, to: k, track });
    }
    before = k;
  }
  return rows;
}

const short = (text: string, length: number) =>
  text.length <= length ? text : length < 2 ? '' : `${text.slice(0, length - 1)}…`;

const hueOf = (track: string) => TRACK_COLOURS[trackColour(track)];
