/**
 * Where objects are: the options that formats with boxes in pixels share, and the step from their encodings to
 * [left, top, width, height]. Feeds of one stream must count frames and pixels from the same number and use the same
 * scale; these options bring one in line with another.
 */

import type { Box } from '../../src/metric/evaluation.js';
import type { Problem } from '../../src/metric/input-error.js';
import type { WireObject } from '../../src/wire/objects.js';
import { Mistake, type Stamp } from './adapter.js';
import type { OptionTable } from './options.js';

export const FRAME_OPTIONS = {
  frameOffset: { kind: 'whole', default: 0, help: 'added to every frame number' },
} as const satisfies OptionTable;

export const BOX_OPTIONS = {
  ...FRAME_OPTIONS,
  pixelOffset: { kind: 'number', default: 0, help: 'added to left and top, in pixels of the source' },
  scale: {
    kind: 'numbers',
    length: 2,
    above: 0,
    default: [1, 1],
    help: 'x and y are multiplied by these two numbers, after pixelOffset',
  },
} as const satisfies OptionTable;

/** For formats whose boxes may be in pixels or in shares of the image, which nothing in them tells. */
export const IMAGE_OPTIONS = {
  coordinates: {
    kind: 'choice',
    choices: ['pixels', 'normalized'],
    required: true,
    help: 'pixels, or normalized: shares of width and height from 0 to 1',
  },
  imageWidth: { kind: 'number', above: 0, help: 'width of the image in pixels; needed for normalized coordinates' },
  imageHeight: { kind: 'number', above: 0, help: 'height of the image in pixels; needed for normalized coordinates' },
} as const satisfies OptionTable;

export interface ImageOptions {
  coordinates: 'pixels' | 'normalized';
  imageWidth: number | undefined;
  imageHeight: number | undefined;
}

/** Normalized coordinates become pixels, so the size of the image must be known. */
export function checkImage({ coordinates, imageWidth, imageHeight }: ImageOptions): Problem[] {
  if (coordinates === 'pixels') return [];
  return Object.entries({ imageWidth, imageHeight }).flatMap(([path, value]) =>
    value === undefined ? [{ path, value, message: 'is needed: normalized coordinates are turned into pixels' }] : [],
  );
}

/** Factors from the coordinates of a format to pixels. */
export const imageScale = ({ coordinates, imageWidth, imageHeight }: ImageOptions): [number, number] =>
  coordinates === 'pixels' ? [1, 1] : [imageWidth!, imageHeight!];

export interface PlacementOptions {
  frameOffset: number;
  pixelOffset: number;
  scale: readonly number[];
}

/** Moves and scales boxes as the options say. */
export class Placement {
  readonly #frameOffset: number;
  readonly #pixelOffset: number;
  readonly #unitX: number;
  readonly #unitY: number;
  readonly #scaleX: number;
  readonly #scaleY: number;
  /** boxes come out as they went in */
  readonly isPlain: boolean;

  /** `unit`: pixels in one unit of the format's coordinates, in x and y */
  constructor({ frameOffset, pixelOffset, scale }: PlacementOptions, unit: readonly [number, number] = [1, 1]) {
    this.#frameOffset = frameOffset;
    this.#pixelOffset = pixelOffset;
    [this.#unitX, this.#unitY] = unit;
    [this.#scaleX, this.#scaleY] = scale;
    this.isPlain = pixelOffset === 0 && [...unit, ...scale].every((one) => one === 1);
  }

  /** A box given by its corners. */
  corners(left: number, top: number, right: number, bottom: number, path: string): Box {
    if (!(right > left && bottom > top))
      throw new Mistake(path, [left, top, right, bottom], 'must have right above left and bottom above top');
    return this.box(left, top, right - left, bottom - top);
  }

  /** A box given by its corner and sides, known to be positive. */
  box(left: number, top: number, width: number, height: number): Box {
    const offset = this.#pixelOffset;
    return [
      (left * this.#unitX + offset) * this.#scaleX,
      (top * this.#unitY + offset) * this.#scaleY,
      width * this.#unitX * this.#scaleX,
      height * this.#unitY * this.#scaleY,
    ];
  }

  /** A frame number after the offset, which may make it negative. */
  shifted(k: number): number {
    return k + this.#frameOffset;
  }

  frame(k: number, path: string): number {
    return shiftedFrame(k, this.#frameOffset, path);
  }

  /** A stamp that came beside a message. */
  stamp({ k, t }: Stamp): Stamp {
    const stamp: Stamp = {};
    if (k !== undefined) stamp.k = this.frame(k, 'k');
    if (t !== undefined) stamp.t = t;
    return stamp;
  }
}

/** A frame number after the offset. */
export function shiftedFrame(k: number, offset: number, path: string): number {
  const shifted = k + offset;
  if (shifted < 0) throw new Mistake(path, k, `must be at least ${-offset}: frameOffset is ${offset}`);
  return shifted;
}

/** An object as frames hold it: fields that are absent are left out. */
export function objectOf(id: string, box: Box, kind?: string, confidence?: number): WireObject {
  if (kind === undefined) return confidence === undefined ? { id, box } : { id, box, confidence };
  return confidence === undefined ? { id, box, class: kind } : { id, box, class: kind, confidence };
}

/** For formats without frame numbers, when their messages come from a file. */
export const ORDER_OPTIONS = {
  firstFrame: {
    kind: 'whole',
    min: 0,
    help: 'files: number the messages in their order, beginning with this; else each line is {"k":1,"message":...}',
  },
} as const satisfies OptionTable;

export const UNTRACKED_OPTIONS = {
  untracked: {
    kind: 'choice',
    choices: ['refuse', 'drop', 'detections'],
    default: 'refuse',
    help: 'objects without a track id: refuse the frame, drop them, or take each as a trajectory of one frame',
  },
} as const satisfies OptionTable;

export type Untracked = 'refuse' | 'drop' | 'detections';

/** Of boxes whose track id may be absent. */
export const TRACKED_BOX_OPTIONS = { ...BOX_OPTIONS, ...UNTRACKED_OPTIONS } as const satisfies OptionTable;

export interface TrackedBoxOptions extends PlacementOptions {
  untracked: Untracked;
}

/** The id of an object that has none: null when it is dropped. `place` tells it from all others of the feed. */
export function untrackedId(untracked: Untracked, path: string, value: unknown, place: string): string | null {
  if (untracked === 'refuse')
    throw new Mistake(path, value, 'is missing: the object is not tracked; say untracked=drop or untracked=detections');
  return untracked === 'drop' ? null : `det:${place}`;
}

export const ROTATED_OPTIONS = {
  rotated: {
    kind: 'choice',
    choices: ['refuse', 'enclose'],
    default: 'refuse',
    help: 'rotated boxes: refuse them, or take the upright box around each',
  },
} as const satisfies OptionTable;

/** Corners of the upright box around a box of these sides that is turned about its centre by `angle` radians. */
export function enclosing(
  centerX: number,
  centerY: number,
  width: number,
  height: number,
  angle: number,
): [left: number, top: number, right: number, bottom: number] {
  const cosine = Math.abs(Math.cos(angle));
  const sine = Math.abs(Math.sin(angle));
  const halfWidth = (width * cosine + height * sine) / 2;
  const halfHeight = (width * sine + height * cosine) / 2;
  return [centerX - halfWidth, centerY - halfHeight, centerX + halfWidth, centerY + halfHeight];
}
