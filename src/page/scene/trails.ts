/**
 * Where objects came from: an opaque layer of its own that fades a little with every frame and gets only the newest
 * steps drawn. Fading in whole steps of brightness never quite ends, so the layer is redrawn from the frames now and
 * then, and whenever the view has moved or time has jumped.
 */

import type { Theme } from '../kit/theme.js';
import type { Camera } from './camera.js';
import type { DrawnSide, ShownFrame } from './frames.js';

const LENGTH = 42;
const BUCKETS = 6;
const STRENGTH = 0.8;
/** per frame */
const FADE = 0.07;
/** the layer is brought up to date after this many frames at once */
const STEP = 3;
/** and redrawn after this many */
const REDRAW_FRAMES = 90;

export class Trails {
  readonly canvas = document.createElement('canvas');
  #context = this.canvas.getContext('2d', { alpha: false })!;
  #k = -1;
  #version = -1;
  #since = 0;
  #theme: Theme | null = null;

  resize(width: number, height: number): void {
    this.canvas.width = width;
    this.canvas.height = height;
    this.#version = -1;
  }

  /** Brings the layer to frame `index`, or to a few frames before. */
  update(frames: ShownFrame[], index: number, camera: Camera, theme: Theme, width: number): void {
    const still = camera.version === this.#version && theme === this.#theme;
    const behind = still ? this.#behind(frames, index) : -1;
    if (behind >= 0 && behind < STEP) return;
    this.#since += behind;
    this.#context.lineWidth = width;
    if (behind > 0 && behind <= 2 * STEP && this.#since < REDRAW_FRAMES)
      this.#advance(frames, index - behind + 1, index, camera, theme);
    else this.#redraw(frames, index, camera, theme);
    this.#k = frames[index].k;
    this.#version = camera.version;
    this.#theme = theme;
  }

  /** How many frames the layer is behind; -1 when it is ahead, or far away. */
  #behind(frames: ShownFrame[], index: number): number {
    for (let n = 0; n <= 2 * STEP && n <= index; n++) if (frames[index - n].k === this.#k) return n;
    return -1;
  }

  #advance(frames: ShownFrame[], first: number, last: number, camera: Camera, theme: Theme): void {
    const context = this.#context;
    context.globalAlpha = 1 - (1 - FADE) ** (last - first + 1);
    context.fillStyle = theme.back;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    context.globalAlpha = STRENGTH;
    this.#steps(frames, first, last, camera, 'reference', theme.reference);
    this.#steps(frames, first, last, camera, 'tracker', theme.tracker);
    context.globalAlpha = 1;
  }

  #redraw(frames: ShownFrame[], index: number, camera: Camera, theme: Theme): void {
    const context = this.#context;
    this.#since = 0;
    context.globalAlpha = 1;
    context.fillStyle = theme.back;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    const step = Math.ceil(LENGTH / BUCKETS);
    for (let bucket = BUCKETS - 1; bucket >= 0; bucket--) {
      const last = index - bucket * step;
      context.globalAlpha = STRENGTH * (1 - FADE) ** ((bucket + 0.5) * step);
      this.#steps(frames, last - step + 1, last, camera, 'reference', theme.reference);
      this.#steps(frames, last - step + 1, last, camera, 'tracker', theme.tracker);
    }
    context.globalAlpha = 1;
  }

  /** Strokes the steps into the frames from `first` to `last`, all in one path. */
  #steps(
    frames: ShownFrame[],
    first: number,
    last: number,
    camera: Camera,
    feed: 'reference' | 'tracker',
    colour: string,
  ): void {
    const context = this.#context;
    context.strokeStyle = colour;
    context.beginPath();
    for (let n = Math.max(1, first); n <= last; n++) addSteps(context, frames[n - 1][feed], frames[n][feed], camera);
    context.stroke();
  }
}

function addSteps(
  context: CanvasRenderingContext2D,
  from: DrawnSide,
  to: DrawnSide,
  { scale, left, top }: Camera,
): void {
  for (let n = 0; n < to.ids.length; n++) {
    const m = from.index.get(to.ids[n]);
    if (m === undefined) continue;
    const a = m * 4;
    const b = n * 4;
    const x = (from.at[a] + from.at[a + 2] / 2 - left) * scale;
    const y = (from.at[a + 1] + from.at[a + 3] / 2 - top) * scale;
    const newX = (to.at[b] + to.at[b + 2] / 2 - left) * scale;
    const newY = (to.at[b + 1] + to.at[b + 3] / 2 - top) * scale;
    if (Math.abs(newX - x) + Math.abs(newY - y) < 0.25) continue;
    context.moveTo(x, y);
    context.lineTo(newX, newY);
  }
}
