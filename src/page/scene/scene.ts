/**
 * The scene at one frame: the reference blue and solid, the tracker red and dashed (points: discs and diamonds), ids,
 * trails, lines between assigned objects, and marks: a cross on what is missed, a ring on what is false, a double arrow
 * where the track of a truth has changed. Everything lies on whole pixels and is drawn in few calls per style, because
 * that is fast without a graphics card.
 */

import { h } from '../dom.js';
import { type Theme, theme } from '../theme.js';
import type { Camera } from './camera.js';
import type { FrameBuffer, ShownFrame, Side } from './frames.js';
import { Atlas, type Word } from './sprites.js';
import { Trails } from './trails.js';

/** A change of track stays marked for this many frames. */
const SWITCH_FRAMES = 12;

export interface SceneOptions {
  trails: boolean;
  ids: boolean;
  lines: boolean;
  marks: boolean;
}

export class Scene {
  readonly canvas = h('canvas', { class: 'scene', role: 'img', 'aria-label': 'scene', tabIndex: 0 });
  #context = this.canvas.getContext('2d', { alpha: false })!;
  #trails = new Trails();
  #atlas = new Atlas(1);
  #ratio = 1;
  #theme: Theme | null = null;
  #observer: ResizeObserver;

  constructor(
    readonly camera: Camera,
    readonly options: SceneOptions,
    readonly changed: () => void,
  ) {
    // the observer reports sizes; reading them would make the browser lay out
    this.#observer = new ResizeObserver(([entry]) => this.#resize(entry.contentRect.width, entry.contentRect.height));
    this.#observer.observe(this.canvas);
    this.#listen();
  }

  close(): void {
    this.#observer.disconnect();
  }

  #resize(width: number, height: number): void {
    this.#ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(width * this.#ratio));
    this.canvas.height = Math.max(1, Math.round(height * this.#ratio));
    this.#trails.resize(this.canvas.width, this.canvas.height);
    this.#atlas = new Atlas(this.#ratio);
    this.#theme = null;
    this.changed();
  }

  #listen(): void {
    const { canvas, camera } = this;
    const at = (event: MouseEvent) => [event.offsetX * this.#ratio, event.offsetY * this.#ratio] as const;
    canvas.addEventListener(
      'wheel',
      (event) => {
        event.preventDefault();
        camera.zoom(Math.exp(-event.deltaY * 0.0015), ...at(event));
        this.changed();
      },
      { passive: false },
    );
    const fingers = new Map<number, [number, number]>();
    const spread = () => {
      const [a, b] = [...fingers.values()];
      return b ? Math.hypot(a[0] - b[0], a[1] - b[1]) : 0;
    };
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, [event.offsetX, event.offsetY]);
    });
    canvas.addEventListener('pointermove', (event) => {
      const last = fingers.get(event.pointerId);
      if (!last) return;
      const before = spread();
      fingers.set(event.pointerId, [event.offsetX, event.offsetY]);
      if (fingers.size > 1 && before > 0) camera.zoom(spread() / before, ...at(event));
      else camera.pan((event.offsetX - last[0]) * this.#ratio, (event.offsetY - last[1]) * this.#ratio);
      this.changed();
    });
    const lift = (event: PointerEvent) => fingers.delete(event.pointerId);
    canvas.addEventListener('pointerup', lift);
    canvas.addEventListener('pointercancel', lift);
    canvas.addEventListener('dblclick', () => {
      camera.reset();
      this.changed();
    });
  }

  /** Zooms around the middle. */
  zoom(factor: number): void {
    this.camera.zoom(factor, this.canvas.width / 2, this.canvas.height / 2);
    this.changed();
  }

  draw(buffer: FrameBuffer, index: number): void {
    const { canvas, camera, options } = this;
    const context = this.#context;
    const colours = theme();
    if (colours !== this.#theme) this.#prepare(colours);
    camera.fit(buffer.bounds, canvas.width, canvas.height);
    const frame = buffer.frames[index];
    if (!frame) {
      this.clear();
      return;
    }
    const line = Math.max(1, Math.round(this.#ratio));
    if (options.trails) {
      this.#trails.update(buffer.frames, index, camera, colours, line);
      context.drawImage(this.#trails.canvas, 0, 0);
    } else this.clear();
    if (options.lines) this.#lines(frame, colours, line);
    this.#objects(frame.reference, colours, line, false);
    this.#objects(frame.tracker, colours, line, true);
    if (options.ids) {
      this.#truthIds(frame, colours);
      this.#falseIds(frame, colours);
    }
    if (options.marks) this.#marks(buffer, index, colours);
    this.#scaleBar(buffer, colours, line);
  }

  clear(): void {
    this.#context.fillStyle = theme().back;
    this.#context.fillRect(0, 0, this.canvas.width, this.canvas.height);
  }

  #prepare(colours: Theme): void {
    this.#theme = colours;
    this.#atlas = new Atlas(this.#ratio);
  }

  /** Solid boxes one by one, dashed ones as thin lines in one path: the fastest of each in software rendering. */
  #objects(side: Side, colours: Theme, line: number, dashed: boolean): void {
    const { scale, left, top } = this.camera;
    const context = this.#context;
    const colour = dashed ? colours.tracker : colours.reference;
    const { at, ids } = side;
    context.strokeStyle = colour;
    context.lineWidth = dashed ? line : 2 * line;
    context.beginPath();
    for (let n = 0, o = 0; n < ids.length; n++, o += 4) {
      const x = Math.round((at[o] - left) * scale);
      const y = Math.round((at[o + 1] - top) * scale);
      if (at[o + 2] === 0 && at[o + 3] === 0) {
        this.#point(colour, dashed, x, y);
        continue;
      }
      const width = Math.max(4 * line, Math.round(at[o + 2] * scale));
      const height = Math.max(4 * line, Math.round(at[o + 3] * scale));
      if (!dashed) context.strokeRect(x + line, y + line, width - 2 * line, height - 2 * line);
      else addDashes(context, x, y, width, height, line);
    }
    if (dashed) context.stroke();
  }

  #point(colour: string, hollow: boolean, x: number, y: number): void {
    const size = Math.round((hollow ? 13 : 9) * this.#ratio) | 1;
    this.#atlas.mark(
      this.#context,
      `point${hollow}`,
      size + 2,
      (context, cx, cy) => {
        const r = size / 2 - 1;
        context.beginPath();
        if (hollow) {
          context.moveTo(cx, cy - r);
          context.lineTo(cx + r, cy);
          context.lineTo(cx, cy + r);
          context.lineTo(cx - r, cy);
          context.closePath();
          context.lineWidth = 1.6 * this.#ratio;
          context.strokeStyle = colour;
          context.stroke();
        } else {
          context.arc(cx, cy, r, 0, 2 * Math.PI);
          context.fillStyle = colour;
          context.fill();
        }
      },
      x,
      y,
    );
  }

  #lines({ reference, tracker, trackOf }: ShownFrame, colours: Theme, line: number): void {
    const context = this.#context;
    context.strokeStyle = colours.link;
    context.lineWidth = line;
    context.beginPath();
    for (let i = 0; i < trackOf.length; i++) {
      if (trackOf[i] < 0) continue;
      const [x, y] = this.#middle(reference, i);
      const [toX, toY] = this.#middle(tracker, trackOf[i]);
      // shorter lines cannot be seen
      if (Math.abs(toX - x) + Math.abs(toY - y) < 3) continue;
      context.moveTo(x + 0.5, y + 0.5);
      context.lineTo(toX + 0.5, toY + 0.5);
    }
    context.stroke();
  }

  #middle({ at }: Side, n: number): [number, number] {
    const { scale, left, top } = this.camera;
    const o = n * 4;
    return [Math.round((at[o] + at[o + 2] / 2 - left) * scale), Math.round((at[o + 1] + at[o + 3] / 2 - top) * scale)];
  }

  /** The id of a truth on top of it, with the id of its track next to it: one picture per pair. */
  #truthIds({ reference, tracker, trackOf }: ShownFrame, colours: Theme): void {
    for (let i = 0; i < trackOf.length; i++) {
      const truth = reference.ids[i];
      const track = trackOf[i] < 0 ? '' : tracker.ids[trackOf[i]];
      const words = () => [
        { text: truth, colour: colours.reference },
        ...(track ? [{ text: track, colour: colours.tracker }] : []),
      ];
      this.#label(reference, i, `${truth}\n${track}`, words, colours.back, false);
    }
  }

  /** Ids of false tracks go below. */
  #falseIds({ tracker, isFalse }: ShownFrame, colours: Theme): void {
    for (let j = 0; j < isFalse.length; j++) {
      if (!isFalse[j]) continue;
      const text = tracker.ids[j];
      this.#label(tracker, j, `\n${text}`, () => [{ text, colour: colours.tracker }], colours.back, true);
    }
  }

  #label({ at }: Side, n: number, key: string, words: () => Word[], halo: string, below: boolean): void {
    const { scale, left, top } = this.camera;
    const o = n * 4;
    const shift = at[o + 2] === 0 && at[o + 3] === 0 ? Math.round(5 * this.#ratio) : 0;
    const lift = below ? Math.round(15 * this.#ratio) : -shift;
    const x = Math.round((at[o] - left) * scale) + shift;
    const y = Math.round((at[o + 1] + (below ? at[o + 3] : 0) - top) * scale) + lift;
    if (x < -60 || y < 0 || x > this.canvas.width || y > this.canvas.height + 20) return;
    this.#atlas.text(this.#context, key, words, halo, x, y);
  }

  #marks(buffer: FrameBuffer, index: number, colours: Theme): void {
    const { reference, tracker, trackOf, isFalse } = buffer.frames[index];
    for (let i = 0; i < trackOf.length; i++) if (trackOf[i] < 0) this.#mark('missed', colours, reference, i);
    for (let j = 0; j < isFalse.length; j++) if (isFalse[j]) this.#mark('false', colours, tracker, j);
    for (let n = Math.max(0, index - SWITCH_FRAMES + 1); n <= index; n++)
      for (const truth of buffer.frames[n].switched) {
        const i = reference.index.get(truth);
        if (i !== undefined) this.#mark('switch', colours, reference, i);
      }
  }

  #mark(kind: 'missed' | 'false' | 'switch', colours: Theme, side: Side, n: number): void {
    const [x, y] = this.#middle(side, n);
    const size = Math.round(22 * this.#ratio) | 1;
    this.#atlas.mark(
      this.#context,
      kind,
      size + 2,
      (context, cx, cy) => paintMark(context, kind, colours, cx, cy, size),
      x,
      y,
    );
  }

  #scaleBar(buffer: FrameBuffer, colours: Theme, line: number): void {
    const { scale } = this.camera;
    const wanted = (90 * this.#ratio) / scale;
    const power = 10 ** Math.floor(Math.log10(wanted));
    const length = [5, 2, 1].map((n) => n * power).find((one) => one <= wanted) ?? power;
    const width = Math.round(length * scale);
    const x = Math.round(12 * this.#ratio);
    const y = this.canvas.height - Math.round(12 * this.#ratio);
    const tick = Math.round(5 * this.#ratio);
    this.#context.fillStyle = colours.faint;
    this.#context.fillRect(x, y, width, line);
    this.#context.fillRect(x, y - tick, line, tick);
    this.#context.fillRect(x + width, y - tick, line, tick + line);
    const label = buffer.geodesic ? metres(length) : `${Number(length.toPrecision(1))} ${this.#unit(buffer)}`;
    const words = () => [{ text: label, colour: colours.faint }];
    this.#atlas.text(this.#context, `scale\n${label}`, words, colours.back, x + 4, y - 2);
  }

  #unit(buffer: FrameBuffer): string {
    const side = buffer.newest?.reference.ids.length ? buffer.newest.reference : buffer.newest?.tracker;
    return side && side.at[2] > 0 ? 'px' : 'units';
  }
}

const metres = (length: number) =>
  length >= 1000 ? `${Number((length / 1000).toPrecision(1))} km` : `${Number(length.toPrecision(1))} m`;

/** A dashed box of hairlines, two side by side; large boxes get longer dashes, which bounds their number. */
function addDashes(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  height: number,
  line: number,
): void {
  const step = Math.max(10 * line, Math.ceil(Math.max(width, height) / 16));
  const dash = Math.round(step * 0.6);
  for (const inset of [line / 2, 1.5 * line]) {
    for (let n = 0; n < width; n += step) {
      const end = Math.min(n + dash, width);
      context.moveTo(x + n, y + inset);
      context.lineTo(x + end, y + inset);
      context.moveTo(x + n, y + height - inset);
      context.lineTo(x + end, y + height - inset);
    }
    for (let n = 0; n < height; n += step) {
      const end = Math.min(n + dash, height);
      context.moveTo(x + inset, y + n);
      context.lineTo(x + inset, y + end);
      context.moveTo(x + width - inset, y + n);
      context.lineTo(x + width - inset, y + end);
    }
  }
}

function paintMark(
  context: CanvasRenderingContext2D,
  kind: 'missed' | 'false' | 'switch',
  colours: Theme,
  x: number,
  y: number,
  size: number,
): void {
  const r = size / 2 - 3;
  const path = new Path2D();
  if (kind === 'missed') {
    path.moveTo(x - r * 0.7, y - r * 0.7);
    path.lineTo(x + r * 0.7, y + r * 0.7);
    path.moveTo(x + r * 0.7, y - r * 0.7);
    path.lineTo(x - r * 0.7, y + r * 0.7);
  } else if (kind === 'false') path.arc(x, y, r * 0.75, 0, 2 * Math.PI);
  else {
    for (const [side, up] of [
      [1, -0.35],
      [-1, 0.35],
    ]) {
      path.moveTo(x - side * r, y + up * r);
      path.lineTo(x + side * r, y + up * r);
      path.lineTo(x + side * r * 0.5, y + up * r - r * 0.4);
      path.moveTo(x + side * r, y + up * r);
      path.lineTo(x + side * r * 0.5, y + up * r + r * 0.4);
    }
  }
  context.lineCap = 'round';
  context.strokeStyle = colours.back;
  context.lineWidth = size / 4;
  context.stroke(path);
  context.strokeStyle = colours[kind];
  context.lineWidth = size / 8;
  context.stroke(path);
}
