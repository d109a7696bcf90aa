/**
 * Ultralytics `Results.to_json()` or `summary()`: a list of {name, class, confidence, box {x1 y1 x2 y2}, track_id} for
 * one image. It has no frame number, so that comes beside the message; and nothing in it tells pixels from normalized
 * coordinates, so that is an option. Oriented boxes have four corners x1..x4, y1..y4.
 */

import type { Box } from '../../src/metric/evaluation.js';
import type { WireObject } from '../../src/wire/objects.js';
import { defineAdapter, Mistake, type Part, type Stamp, WholeFrames } from '../kit/adapter.js';
import {
  each,
  type Fields,
  fieldsOf,
  identity,
  inner,
  jsonOf,
  needStamp,
  number,
  optionalNumber,
  optionalText,
  under,
} from '../kit/fields.js';
import {
  BOX_OPTIONS,
  checkImage,
  IMAGE_OPTIONS,
  type ImageOptions,
  imageScale,
  ORDER_OPTIONS,
  objectOf,
  Placement,
  type PlacementOptions,
  ROTATED_OPTIONS,
  UNTRACKED_OPTIONS,
  type Untracked,
  untrackedId,
} from '../kit/placement.js';

interface Options extends PlacementOptions, ImageOptions {
  untracked: Untracked;
  rotated: 'refuse' | 'enclose';
}

class UltralyticsDecoder extends WholeFrames {
  readonly #placement: Placement;

  constructor(readonly options: Options) {
    super();
    this.#placement = new Placement(options, imageScale(options));
  }

  protected override read(message: unknown, stamp?: Stamp): Part[] {
    return [this.#part(jsonOf(message), this.#placement.stamp(needStamp(stamp)))];
  }

  #part(results: unknown, stamp: Stamp): Part {
    if (!Array.isArray(results)) throw new Mistake('', results, 'must be a list of results, as to_json() gives it');
    const part: Part = { ...stamp, objects: [] };
    each(results, '', (raw, index) => {
      const object = this.#object(fieldsOf(raw), `${stamp.k ?? stamp.t}:${index + 1}`);
      if (object) part.objects.push(object);
    });
    return part;
  }

  #object(raw: Fields, place: string): WireObject | null {
    const { track_id: track } = raw;
    const id =
      track === undefined || track === null
        ? untrackedId(this.options.untracked, 'track_id', track, place)
        : identity(track, 'track_id');
    const box = under('box', () => this.#box(inner(raw, 'box')));
    return id === null ? null : objectOf(id, box, optionalText(raw, 'name'), optionalNumber(raw, 'confidence'));
  }

  #box(box: Fields): Box {
    const corner = (key: string) => number(box, key);
    if (!('x3' in box)) return this.#placement.corners(corner('x1'), corner('y1'), corner('x2'), corner('y2'), '');
    if (this.options.rotated === 'refuse')
      throw new Mistake('', box, 'is an oriented box; say rotated=enclose to take the upright box around it');
    const x = ['x1', 'x2', 'x3', 'x4'].map(corner);
    const y = ['y1', 'y2', 'y3', 'y4'].map(corner);
    return this.#placement.corners(Math.min(...x), Math.min(...y), Math.max(...x), Math.max(...y), '');
  }
}

export const ultralytics = defineAdapter({
  name: 'ultralytics',
  title: 'Ultralytics results as JSON (to_json, summary), one list per frame',
  message: 'json',
  numbering: 'stamp',
  bases: { frame: null, pixel: 0 },
  options: { ...BOX_OPTIONS, ...IMAGE_OPTIONS, ...ORDER_OPTIONS, ...UNTRACKED_OPTIONS, ...ROTATED_OPTIONS },
  isList: () => true,
  check: checkImage,
  shape: () => 'box',
  create: (values) => new UltralyticsDecoder(values),
});
