/**
 * The folder `labels` that Ultralytics writes with save_txt: a file NAME_FRAME.txt for each frame with objects, and in
 * it a line for each of them: class, centre x, centre y, width, height as shares of the picture [, confidence] [, id].
 * Frames count from 1. A sixth number is the id when it is whole and the confidence otherwise; without ids nothing is
 * tracked.
 */

import type { WireObject } from '../../src/wire/objects.js';
import { attempt, type Decoded, type Decoder, defineAdapter, Mistake, type Part, type Stamp } from '../kit/adapter.js';
import { needStamp } from '../kit/fields.js';
import {
  BOX_OPTIONS,
  objectOf,
  Placement,
  type PlacementOptions,
  UNTRACKED_OPTIONS,
  type Untracked,
  untrackedId,
} from '../kit/placement.js';
import { Rows } from '../kit/rows.js';

const FILE = /^(.*?)_?(\d+)\.txt$/;
const NAMES = ['class', 'centre x', 'centre y', 'width', 'height'];

interface Options extends PlacementOptions {
  imageWidth: number;
  imageHeight: number;
  untracked: Untracked;
}

class LabelDecoder implements Decoder {
  readonly #placement: Placement;

  constructor(readonly options: Options) {
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
    ...BOX_OPTIONS,
    ...UNTRACKED_OPTIONS,
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
