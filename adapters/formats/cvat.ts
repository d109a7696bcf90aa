/**
 * CVAT XML 1.1 for video: <track id label> with a <box frame xtl ytl xbr ybr outside> for each frame. `outside="1"`
 * says that the object is not to be seen. Frames and pixels count from 0. A message is a whole document: all its
 * frames.
 */

import type { WireObject } from '../../src/wire/objects.js';
import { defineAdapter, Mistake, type Part, type Stamp, WholeFrames } from '../kit/adapter.js';
import { refuseStamp } from '../kit/fields.js';
import {
  BOX_OPTIONS,
  enclosing,
  objectOf,
  Placement,
  type PlacementOptions,
  ROTATED_OPTIONS,
} from '../kit/placement.js';
import { XmlReader } from '../kit/xml.js';

/**
 * Frames between the first and the last that a document may have, so that a stray number does not make a million empty
 * ones.
 */
const FRAMES_MAX = 100_000;
/** Shapes a track may have that are no boxes. */
const OTHER_SHAPES = new Set(['polygon', 'polyline', 'points', 'cuboid', 'skeleton', 'mask', 'ellipse']);

interface Options extends PlacementOptions {
  rotated: 'refuse' | 'enclose';
  labels: readonly string[] | undefined;
}

class CvatDecoder extends WholeFrames {
  readonly #placement: Placement;

  constructor(readonly options: Options) {
    super();
    this.#placement = new Placement(options);
  }

  protected override read(message: unknown, stamp?: Stamp): Part[] {
    refuseStamp(stamp);
    if (typeof message !== 'string') throw new Mistake('', message, 'must be text: a CVAT XML document');
    return this.#parts(message);
  }

  #parts(text: string): Part[] {
    const reader = new XmlReader(text);
    reader.openRoot('annotations', 'as CVAT for video 1.1 exports it');
    const frames = new Map<number, WireObject[]>();
    let label: string | null = null;
    let id = '';
    for (let event = reader.next(); event !== 'end'; event = reader.next()) {
      const { name } = reader;
      if (name === 'track' && event === 'close') label = null;
      if (event !== 'open') continue;
      if (name === 'image' && reader.depth === 2)
        throw reader.tagMistake('is an export for images, which has no identities; export "CVAT for video 1.1"');
      if (name === 'track' && reader.depth === 2) {
        id = needed(reader, 'id');
        label = needed(reader, 'label');
      } else if (label !== null && name === 'box') this.#box(reader, id, label, frames);
      else if (label !== null && OTHER_SHAPES.has(name))
        throw reader.tagMistake(`is a <${name}>; tracks of boxes are read only`);
    }
    return filled(frames);
  }

  #box(reader: XmlReader, id: string, label: string, frames: Map<number, WireObject[]>): void {
    const frame = reader.number('frame');
    if (!Number.isSafeInteger(frame) || frame < 0)
      throw reader.attributeMistake('frame', 'must be a whole number from 0');
    const k = this.#placement.frame(frame, '');
    let objects = frames.get(k);
    if (!objects) {
      objects = [];
      frames.set(k, objects);
    }
    const outside = reader.attribute('outside') ?? '0';
    if (outside !== '0' && outside !== '1') throw reader.attributeMistake('outside', 'must be 0 or 1');
    if (outside === '1' || (this.options.labels && !this.options.labels.includes(label))) return;
    objects.push(objectOf(id, this.#corners(reader), label));
  }

  #corners(reader: XmlReader) {
    const left = reader.number('xtl');
    const top = reader.number('ytl');
    const right = reader.number('xbr');
    const bottom = reader.number('ybr');
    if (!(right > left && bottom > top)) throw reader.attributeMistake('xbr', 'and ybr must lie beyond xtl and ytl');
    const degrees = reader.has('rotation') ? reader.number('rotation') : 0;
    if (degrees === 0) return this.#placement.corners(left, top, right, bottom, '');
    if (this.options.rotated === 'refuse')
      throw reader.attributeMistake('rotation', 'is not 0; say rotated=enclose to take the upright box around it');
    const turned = enclosing(
      (left + right) / 2,
      (top + bottom) / 2,
      right - left,
      bottom - top,
      (degrees * Math.PI) / 180,
    );
    return this.#placement.corners(...turned, '');
  }
}

function needed(reader: XmlReader, name: string): string {
  const value = reader.attribute(name);
  if (!value) throw reader.attributeMistake(name, 'must be there');
  return value;
}

/** All frames from the first to the last: where nothing is annotated, nothing is there. */
function filled(frames: Map<number, WireObject[]>): Part[] {
  if (frames.size === 0) return [];
  const numbers = [...frames.keys()].sort((a, b) => a - b);
  const [first] = numbers;
  const count = numbers[numbers.length - 1] - first + 1;
  if (count > FRAMES_MAX)
    throw new Mistake(
      '',
      count,
      `has frames ${first} to ${numbers.at(-1)}; at most ${FRAMES_MAX} are read from one document`,
    );
  return Array.from({ length: count }, (_, n) => ({ k: first + n, objects: frames.get(first + n) ?? [] }));
}

export const cvat = defineAdapter({
  name: 'cvat',
  title: 'CVAT for video 1.1, XML',
  message: 'text',
  numbering: 'own',
  bases: { frame: 0, pixel: 0 },
  options: {
    ...BOX_OPTIONS,
    ...ROTATED_OPTIONS,
    labels: { kind: 'texts', help: 'only tracks with these labels count; all unless given' },
  },
  shape: () => 'box',
  create: (values) => new CvatDecoder(values),
});
