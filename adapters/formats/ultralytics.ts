/**
 * Ultralytics `Results.to_json()` or `summary()`: a list of {name, class, confidence, box {x1 y1 x2 y2}, track_id} for
 * one image. It has no frame number, so that comes beside the message; and nothing in it tells pixels from normalized
 * coordinates, so that is an option. Oriented boxes have four corners x1..x4, y1..y4.
 *
 * And the folder `labels` that save_txt writes: a file NAME_FRAME.txt for each frame with objects, and in it a line for
 * each of them: class, centre x, centre y, width, height as shares of the picture [, confidence] [, id]. Frames count
 * from 1. A sixth number is the id when it is whole and the confidence otherwise; without ids nothing is tracked.
 */

import type { Box } from '../../src/metric/evaluation.js';
import type { WireObject } from '../../src/wire/objects.js';
import {
  attempt,
  type Decoded,
  type Decoder,
  defineAdapter,
  Mistake,
  type Part,
  type Stamp,
  WholeFrames,
} from '../kit/adapter.js';
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
  checkImage,
  IMAGE_OPTIONS,
  type ImageOptions,
  imageScale,
  ORDER_OPTIONS,
  objectOf,
  Placement,
  ROTATED_OPTIONS,
  TRACKED_BOX_OPTIONS,
  type TrackedBoxOptions,
  untrackedId,
} from '../kit/placement.js';
import { Rows } from '../kit/rows.js';

interface Options extends TrackedBoxOptions, ImageOptions {
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
  options: { ...TRACKED_BOX_OPTIONS, ...IMAGE_OPTIONS, ...ORDER_OPTIONS, ...ROTATED_OPTIONS },
  isList: () => true,
  check: checkImage,
  shape: () => 'box',
  create: (values) => new UltralyticsDecoder(values),
});

const FILE = /^(.*?)_?(\d+)\.txt$/;
const NAMES = ['class', 'centre x', 'centre y', 'width', 'height'];

interface LabelOptions extends TrackedBoxOptions {
  imageWidth: number;
  imageHeight: number;
}

class LabelDecoder implements Decoder {
  readonly #placement: Placement;

  constructor(readonly options: LabelOptions) {
    this.#placement = new Placement(options, [options.imageWidth, options.imageHeight]);
  }

  decode(message: unknown, stamp?: Stamp): Decoded {
    return attempt(
      () => [this.#part(message, stamp)],
      () => false,
    );
  }

  flush(): Decoded {
    return { parts: [], problems: [], held: false };
  }

  #part(message: unknown, stamp: Stamp | undefined): Part {
    if (typeof message !== 'string') throw new Mistake('', message, 'must be text: the lines of one frame');
    const part: Part = { ...this.#placement.stamp(needStamp(stamp)), objects: [] };
    const rows = new Rows(message, 'blanks');
    while (rows.next()) {
      const object = this.#object(rows, `${part.k ?? part.t}:${rows.line}`);
      if (object) part.objects.push(object);
    }
    return part;
  }

  #object(rows: Rows, place: string): WireObject | null {
    const { columns } = rows;
    if (columns > 7)
      throw rows.rowMistake(`has ${columns} numbers, as outlines have; boxes have 5 to 7: run the model for detection`);
    if (columns < 5)
      throw rows.rowMistake(`has ${columns} numbers; expected ${NAMES.join(', ')} [, confidence] [, id]`);
    const [kind, x, y, width, height] = NAMES.map((name, column) => rows.finite(column, name));
    if (!(width > 0 && height > 0)) throw rows.mistake(3, 'width', 'and height must be above 0');
    const last = columns > 5 ? rows.finite(columns - 1, 'id or confidence') : Number.NaN;
    const isId = columns === 7 || (Number.isInteger(last) && last >= 1);
    if (columns === 7 && !Number.isSafeInteger(last)) throw rows.mistake(6, 'id', 'must be a whole number');
    const id = isId ? String(last) : untrackedId(this.options.untracked, rows.place(columns - 1), last, place);
    const confidence = columns === 7 || (columns === 6 && !isId) ? rows.finite(5, 'confidence') : undefined;
    const box = this.#placement.box(x - width / 2, y - height / 2, width, height);
    return id === null ? null : objectOf(id, box, String(kind), confidence);
  }
}

export const ultralyticsTxt = defineAdapter({
  name: 'ultralytics-txt',
  title: 'Ultralytics save_txt: a folder with one file of labels per frame',
  message: 'text',
  numbering: 'stamp',
  bases: { frame: 1, pixel: 0 },
  options: {
    ...TRACKED_BOX_OPTIONS,
    imageWidth: { kind: 'number', above: 0, required: true, help: 'width of the picture in pixels; labels are shares' },
    imageHeight: { kind: 'number', above: 0, required: true, help: 'height of the picture in pixels' },
    video: { kind: 'text', help: 'name before the frame number in the file names; needed when a folder has several' },
  },
  shape: () => 'box',
  create: (values) => new LabelDecoder(values),
  frameOfFile(name, { video }) {
    const match = FILE.exec(name);
    if (!match) return null;
    return video === undefined || match[1] === video ? { k: Number(match[2]), group: match[1] } : null;
  },
});
