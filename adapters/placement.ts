/**
 * Where objects are: the options that formats with boxes in pixels share, and the step from their encodings to
 * [left, top, width, height]. Feeds of one stream must count frames and pixels from the same number and use the same
 * scale; these options bring one in line with another.
 */

import type { WireObject } from '../src/protocol.js';
import type { Box } from '../src/tgospa/evaluation.js';
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

export interface PlacementOptions {
  frameOffset: number;
  pixelOffset: number;
  scale: readonly number[];
}

/** Moves and scales boxes as the options say. */
export class Placement {
  readonly #frameOffset: number;
  readonly #pixelOffset: number;
  readonly #scaleX: number;
  readonly #scaleY: number;

  constructor({ frameOffset, pixelOffset, scale }: PlacementOptions) {
    this.#frameOffset = frameOffset;
    this.#pixelOffset = pixelOffset;
    [this.#scaleX, this.#scaleY] = scale;
  }

  /** A box given by its corners. */
  corners(left: number, top: number, right: number, bottom: number, path: string): Box {
    if (!(right > left && bottom > top))
      throw new Mistake(path, [left, top, right, bottom], 'must have right above left and bottom above top');
    return this.box(left, top, right - left, bottom - top);
  }

  /** A box given by its corner and sides, known to be positive. */
  box(left: number, top: number, width: number, height: number): Box {
    const x = this.#scaleX;
    const y = this.#scaleY;
    const offset = this.#pixelOffset;
    return [(left + offset) * x, (top + offset) * y, width * x, height * y];
  }

  frame(k: number, path: string): number {
    return shiftedFrame(k, this.#frameOffset, path);
  }

  /** A stamp that came beside a message. */
  stamp(stamp: Stamp): Stamp {
    return stamp.k === undefined ? stamp : { ...stamp, k: this.frame(stamp.k, 'k') };
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
