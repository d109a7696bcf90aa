/**
 * The scene at one frame: the reference blue and solid, the tracker red and dashed (points: discs and diamonds), ids,
 * trails, lines between assigned objects, and marks: a cross on what is missed, a ring on what is false, a double arrow
 * where the track of a truth has changed. Everything lies on whole pixels and is drawn in few calls per style, because
 * that is fast without a graphics card.
 */

import { h, setText } from '../kit/dom.js';
import { type Theme, theme } from '../kit/theme.js';
import { Backdrop } from './backdrop.js';
import type { Camera } from './camera.js';
import type { DrawnSide, FrameBuffer, ShownFrame } from './frames.js';
import { bearingOf, type DistanceUnits, lengthOf, placeOf } from './map-units.js';
import { type Chosen, objectAt, pathOf, placesOf } from './picking.js';
import { Atlas, type Word } from './sprites.js';
import { Trails } from './trails.js';

/** A change of track stays marked for this many frames. */
const SWITCH_FRAMES = 12;

export interface SceneOptions {
  trails: boolean;
  ids: boolean;
  lines: boolean;
  marks: boolean;
  regions: boolean;
  rings: boolean;
  units: DistanceUnits;
  /** clicked, and whether all others are hidden */
  chosen: Chosen | null;
  isolated: boolean;
}

/** Somebody's hand on the scene. */
export interface SceneEvents {
  changed(): void;
  /** the object under the pointer; null: none */
  hover(object: Chosen | null): void;
  choose(object: Chosen | null): void;
}

/** a hand that moves less, CSS pixels, clicks */
const CLICK = 4;

export class Scene {
  readonly canvas = h('canvas', { class: 'scene', role: 'img', 'aria-label': 'scene', tabIndex: 0 });
  #context = this.canvas.getContext('2d', { alpha: false })!;
  readonly backdrop = new Backdrop();
  /** where the pointer is, in words */
  readonly cursor = h('output', { class: 'cursor' });
  #trails = new Trails();
  #labels = new Labels();
  #shown: { buffer: FrameBuffer; frame: ShownFrame } | null = null;
  #hovered: Chosen | null = null;
  #pointer: [x: number, y: number] | null = null;
  #only: { truth: number; track: number } | null = null;
  #atlas = new Atlas(1);
  #ratio = 1;
  #theme: Theme | null = null;
  #observer: ResizeObserver;

  constructor(
    readonly camera: Camera,
    readonly options: SceneOptions,
    readonly on: SceneEvents,
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
    this.backdrop.resize(this.canvas.width, this.canvas.height);
    this.#labels.resize(this.canvas.width, this.canvas.height, this.#ratio);
    this.#atlas = new Atlas(this.#ratio);
    this.#theme = null;
    this.on.changed();
  }

  #listen(): void {
    const { canvas, camera } = this;
    const at = (event: MouseEvent) => [event.offsetX * this.#ratio, event.offsetY * this.#ratio] as const;
    canvas.addEventListener(
      'wheel',
      (event) => {
        // without the focus the wheel scrolls the page
        if (document.activeElement !== canvas && !event.ctrlKey) return;
        event.preventDefault();
        camera.zoom(Math.exp(-event.deltaY * 0.0015), ...at(event));
        this.on.changed();
      },
      { passive: false },
    );
    const fingers = new Map<number, [number, number]>();
    const spread = () => {
      const [a, b] = [...fingers.values()];
      return b ? Math.hypot(a[0] - b[0], a[1] - b[1]) : 0;
    };
    let travelled = 0;
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      travelled = 0;
      fingers.set(event.pointerId, [event.offsetX, event.offsetY]);
    });
    canvas.addEventListener('pointermove', (event) => {
      const last = fingers.get(event.pointerId);
      this.#pointAt(...at(event));
      if (!last) return;
      travelled += Math.hypot(event.offsetX - last[0], event.offsetY - last[1]);
      const before = spread();
      fingers.set(event.pointerId, [event.offsetX, event.offsetY]);
      if (fingers.size > 1 && before > 0) camera.zoom(spread() / before, ...at(event));
      else camera.pan((event.offsetX - last[0]) * this.#ratio, (event.offsetY - last[1]) * this.#ratio);
      this.on.changed();
    });
    const lift = (event: PointerEvent) => fingers.delete(event.pointerId);
    canvas.addEventListener('pointerup', (event) => {
      if (fingers.size === 1 && travelled < CLICK) this.on.choose(this.#objectAt(...at(event)));
      lift(event);
    });
    canvas.addEventListener('pointerleave', () => this.#leave());
    canvas.addEventListener('pointercancel', lift);
    canvas.addEventListener('dblclick', () => {
      camera.reset();
      this.on.changed();
    });
  }

  #objectAt(x: number, y: number): Chosen | null {
    return this.#shown && objectAt(this.#shown.frame, this.camera, x, y, this.#ratio);
  }

  /** The pointer is here: who is there, and where is that. */
  #pointAt(x: number, y: number): void {
    const found = this.#objectAt(x, y);
    if (found?.id !== this.#hovered?.id || found?.feed !== this.#hovered?.feed) {
      this.#hovered = found;
      this.canvas.style.cursor = found ? 'pointer' : '';
      this.on.hover(found);
    }
    this.#pointer = [x, y];
    this.#showPlace();
  }

  /** Where the pointer is; again with each picture, because view, rings and units change under it. */
  #showPlace(): void {
    if (!this.#pointer) return;
    const { left, top, scale } = this.camera;
    const [x, y] = this.#pointer;
    setText(this.cursor, this.#placeAt(left + x / scale, top + y / scale));
  }

  #leave(): void {
    this.#pointer = null;
    setText(this.cursor, '');
    if (!this.#hovered) return;
    this.#hovered = null;
    this.on.hover(null);
  }

  /** On Earth with bearing and range from the middle of the rings. */
  #placeAt(x: number, y: number): string {
    if (!this.#shown) return '';
    const { buffer } = this.#shown;
    const place = buffer.unproject(x, y);
    const { rings } = this.backdrop;
    if (!place) return `${Math.round(x)}, ${Math.round(buffer.hasPoints ? -y : y)} ${this.#unit(buffer)}`;
    if (!rings) return placeOf(place);
    const [dx, dy] = [x - rings[0], y - rings[1]];
    return `${placeOf(place)}  ${lengthOf(Math.hypot(dx, dy), this.options.units)}, ${bearingOf(dx, dy)}°`;
  }

  /** Zooms around the middle. */
  zoom(factor: number): void {
    this.camera.zoom(factor, this.canvas.width / 2, this.canvas.height / 2);
    this.on.changed();
  }

  draw(buffer: FrameBuffer, index: number): void {
    const { canvas, camera, options } = this;
    const colours = theme();
    if (colours !== this.#theme) this.#prepare(colours);
    camera.fit(buffer.bounds, canvas.width, canvas.height);
    const frame = buffer.frames[index];
    this.#shown = frame ? { buffer, frame } : null;
    if (!frame) {
      this.clear();
      return;
    }
    const line = Math.max(1, Math.round(this.#ratio));
    this.#only = options.isolated && options.chosen ? placesOf(frame, options.chosen) : null;
    this.#ground(buffer, index, colours, line);
    if (options.lines) this.#lines(frame, colours, line);
    this.#objects(frame.reference, colours, line, false);
    this.#objects(frame.tracker, colours, line, true);
    if (options.chosen) this.#history(buffer, index, options.chosen, colours, line);
    if (options.ids) {
      this.#labels.clear();
      // what is wrong is named first; in a crowd the others wait for room
      this.#falseIds(frame, colours);
      this.#truthIds(buffer, index, colours, true);
      this.#truthIds(buffer, index, colours, false);
    }
    if (options.marks) this.#marks(buffer, index, colours);
    this.#scaleBar(buffer, colours, line);
    this.#showPlace();
  }

  /** Trails, and what lies behind the objects. */
  #ground(buffer: FrameBuffer, index: number, colours: Theme, line: number): void {
    const { backdrop, options, camera } = this;
    const context = this.#context;
    backdrop.regions = options.regions;
    backdrop.rings = options.rings ? this.#ringsAt(buffer, buffer.frames[index]) : null;
    const hasBackdrop = backdrop.update(buffer, camera, colours, this.#ratio, options.units);
    const trails = options.trails && !options.isolated;
    if (trails) this.#trails.update(buffer.frames, index, camera, colours, line);
    if (hasBackdrop && backdrop.isOpaque) {
      context.drawImage(backdrop.canvas, 0, 0);
      if (!trails) return;
      // the layer of the trails has the colour of the page: on paper it darkens, in the dark it lightens
      context.globalCompositeOperation = isDark(colours.back) ? 'lighten' : 'darken';
      context.drawImage(this.#trails.canvas, 0, 0);
      context.globalCompositeOperation = 'source-over';
      return;
    }
    if (trails) context.drawImage(this.#trails.canvas, 0, 0);
    else this.clear();
    if (hasBackdrop) context.drawImage(backdrop.canvas, 0, 0);
  }

  /** Around the chosen object, or else around what everything is measured from, or the middle. */
  #ringsAt(buffer: FrameBuffer, frame: ShownFrame): [number, number] {
    const { chosen } = this.options;
    const place = chosen ? frame[chosen.feed].index.get(chosen.id) : undefined;
    if (chosen && place !== undefined) {
      const { at } = frame[chosen.feed];
      const o = place * 4;
      return [at[o] + at[o + 2] / 2, at[o + 1] + at[o + 3] / 2];
    }
    const { left, top, right, bottom } = buffer.bounds;
    const sensor = this.backdrop.sensor;
    return sensor ? buffer.project(sensor) : [(left + right) / 2, (top + bottom) / 2];
  }

  /** Where the chosen object came from, and a frame around it. */
  #history(buffer: FrameBuffer, index: number, chosen: Chosen, colours: Theme, line: number): void {
    const { scale, left, top } = this.camera;
    const context = this.#context;
    const path = pathOf(buffer, index, chosen);
    context.strokeStyle = chosen.feed === 'reference' ? colours.reference : colours.tracker;
    context.lineWidth = 2 * line;
    context.beginPath();
    for (let n = 0; n < path.length; n += 2) context.lineTo((path[n] - left) * scale, (path[n + 1] - top) * scale);
    context.stroke();
    const side = buffer.frames[index][chosen.feed];
    const place = side.index.get(chosen.id);
    if (place === undefined) return;
    const o = place * 4;
    const room = 6 * this.#ratio;
    context.strokeStyle = colours.ink;
    context.lineWidth = line;
    context.strokeRect(
      Math.round((side.at[o] - left) * scale - room) + 0.5,
      Math.round((side.at[o + 1] - top) * scale - room) + 0.5,
      Math.round(side.at[o + 2] * scale + 2 * room),
      Math.round(side.at[o + 3] * scale + 2 * room),
    );
  }

  /** Whether an object is drawn: all of them, unless one is isolated with its partner. */
  #isHidden(n: number, isTrack: boolean): boolean {
    return this.#only !== null && n !== (isTrack ? this.#only.track : this.#only.truth);
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
  #objects(side: DrawnSide, colours: Theme, line: number, dashed: boolean): void {
    const { scale, left, top } = this.camera;
    const context = this.#context;
    const colour = dashed ? colours.tracker : colours.reference;
    const { at, ids } = side;
    context.strokeStyle = colour;
    context.lineWidth = dashed ? line : 2 * line;
    context.beginPath();
    for (let n = 0, o = 0; n < ids.length; n++, o += 4) {
      if (this.#isHidden(n, dashed)) continue;
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
      if (trackOf[i] < 0 || this.#isHidden(i, false)) continue;
      const [x, y] = this.#middle(reference, i);
      const [toX, toY] = this.#middle(tracker, trackOf[i]);
      // shorter lines cannot be seen
      if (Math.abs(toX - x) + Math.abs(toY - y) < 3) continue;
      context.moveTo(x + 0.5, y + 0.5);
      context.lineTo(toX + 0.5, toY + 0.5);
    }
    context.stroke();
  }

  #middle({ at }: DrawnSide, n: number): [number, number] {
    const { scale, left, top } = this.camera;
    const o = n * 4;
    return [Math.round((at[o] + at[o + 2] / 2 - left) * scale), Math.round((at[o + 1] + at[o + 3] / 2 - top) * scale)];
  }

  /** The id of a truth on top of it, with the id of its track next to it: one picture per pair. */
  #truthIds({ frames }: FrameBuffer, index: number, colours: Theme, wrong: boolean): void {
    const { reference, tracker, trackOf, switched } = frames[index];
    for (let i = 0; i < trackOf.length; i++) {
      if (this.#isHidden(i, false)) continue;
      const isWrong =
        trackOf[i] === -1 || switched.includes(reference.ids[i]) || reference.ids[i] === this.options.chosen?.id;
      if (isWrong !== wrong) continue;
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
      if (!isFalse[j] || this.#isHidden(j, true)) continue;
      const text = tracker.ids[j];
      this.#label(tracker, j, `\n${text}`, () => [{ text, colour: colours.tracker }], colours.back, true);
    }
  }

  #label({ at }: DrawnSide, n: number, key: string, words: () => Word[], halo: string, below: boolean): void {
    const { scale, left, top } = this.camera;
    const o = n * 4;
    const shift = at[o + 2] === 0 && at[o + 3] === 0 ? Math.round(5 * this.#ratio) : 0;
    const lift = below ? Math.round(15 * this.#ratio) : -shift;
    const x = Math.round((at[o] - left) * scale) + shift;
    const y = Math.round((at[o + 1] + (below ? at[o + 3] : 0) - top) * scale) + lift;
    if (x < -60 || y < 0 || x > this.canvas.width || y > this.canvas.height + 20) return;
    this.#atlas.text(this.#context, key, words, halo, x, y, this.#labels.reserve);
  }

  #marks(buffer: FrameBuffer, index: number, colours: Theme): void {
    const { reference, tracker, trackOf, isFalse } = buffer.frames[index];
    for (let i = 0; i < trackOf.length; i++)
      if (trackOf[i] === -1 && !this.#isHidden(i, false)) this.#mark('missed', colours, reference, i);
    for (let j = 0; j < isFalse.length; j++)
      if (isFalse[j] && !this.#isHidden(j, true)) this.#mark('false', colours, tracker, j);
    for (let n = Math.max(0, index - SWITCH_FRAMES + 1); n <= index; n++)
      for (const truth of buffer.frames[n].switched) {
        const i = reference.index.get(truth);
        if (i !== undefined && !this.#isHidden(i, false)) this.#mark('switch', colours, reference, i);
      }
  }

  #mark(kind: 'missed' | 'false' | 'switch', colours: Theme, side: DrawnSide, n: number): void {
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
    const miles = buffer.geodesic && this.options.units === 'nautical miles' ? 1852 : 1;
    const wanted = (90 * this.#ratio) / scale / miles;
    const power = 10 ** Math.floor(Math.log10(wanted));
    const length = [5, 2, 1].map((n) => n * power).find((one) => one <= wanted) ?? power;
    const width = Math.round(length * miles * scale);
    const x = Math.round(12 * this.#ratio);
    const y = this.canvas.height - Math.round(12 * this.#ratio);
    const tick = Math.round(5 * this.#ratio);
    // neither a picture nor a graticule hides it
    this.#context.fillStyle = colours.back;
    this.#context.fillRect(x - tick, y - 4 * tick, width + 2 * tick, 5 * tick);
    this.#context.fillStyle = colours.faint;
    this.#context.fillRect(x, y, width, line);
    this.#context.fillRect(x, y - tick, line, tick);
    this.#context.fillRect(x + width, y - tick, line, tick + line);
    const label = buffer.geodesic
      ? lengthOf(length * miles, this.options.units)
      : `${Number(length.toPrecision(1))} ${this.#unit(buffer)}`;
    const words = () => [{ text: label, colour: colours.faint }];
    this.#atlas.text(this.#context, `scale\n${label}`, words, colours.back, x + 4, y - 2);
  }

  #unit(buffer: FrameBuffer): string {
    const side = buffer.newest?.reference.ids.length ? buffer.newest.reference : buffer.newest?.tracker;
    return side && side.at[2] > 0 ? 'px' : 'units';
  }
}

/** Which parts of the scene have a label: no two overlap. */
class Labels {
  #cells = new Uint8Array(0);
  #columns = 0;
  #size = 8;

  resize(width: number, height: number, ratio: number): void {
    this.#size = Math.max(4, Math.round(8 * ratio));
    this.#columns = Math.ceil(width / this.#size) + 1;
    this.#cells = new Uint8Array(this.#columns * (Math.ceil(height / this.#size) + 1));
  }

  clear(): void {
    this.#cells.fill(0);
  }

  /** Takes the room, unless somebody has it. */
  readonly reserve = (x: number, y: number, width: number, height: number): boolean => {
    const clamp = (value: number, most: number) => Math.max(0, Math.min(most, Math.floor(value / this.#size)));
    const [first, last] = [clamp(x, this.#columns - 1), clamp(x + width - 1, this.#columns - 1)];
    const rows = this.#cells.length / this.#columns - 1;
    const [upper, lower] = [clamp(y + 2, rows), clamp(y + height - 3, rows)];
    for (let row = upper; row <= lower; row++)
      for (let column = first; column <= last; column++) if (this.#cells[row * this.#columns + column]) return false;
    for (let row = upper; row <= lower; row++)
      this.#cells.fill(1, row * this.#columns + first, row * this.#columns + last + 1);
    return true;
  };
}

/** Of a colour as the style sheet has it, #rgb or #rrggbb. */
const isDark = (colour: string) => Number.parseInt(colour[1], 16) < 8;

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
