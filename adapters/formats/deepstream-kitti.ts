/**
 * NVIDIA DeepStream's own dump of tracks (kitti-track-output-dir): one file per frame, named APP_STREAM_FRAME.txt, with
 * lines `label id 0.0 0 0.0 left top right bottom 0.0 x7 confidence`. Unlike KITTI tracking the label comes first and
 * no column is the frame: it comes from the file's name, or beside the message.
 */

import type { WireObject } from '../../src/wire/objects.js';
import { type Decoded, type Decoder, defineAdapter, Mistake, type Stamp } from '../kit/adapter.js';
import { needStamp } from '../kit/fields.js';
import { collect } from '../kit/gathering.js';
import { BOX_OPTIONS, objectOf, Placement, type PlacementOptions } from '../kit/placement.js';
import { Rows } from '../kit/rows.js';
import { UNTRACKED_ID } from './deepstream-minimal.js';

const COLUMNS = 17;
const EXPECTED = 'label id 0.0 0 0.0 left top right bottom, seven zeros, confidence';
const CORNERS = ['left', 'top', 'right', 'bottom'];
const FILE = /^(\d{2,})_(\d{3,})_(\d{6,})\.txt$/;

class DumpDecoder implements Decoder {
  readonly #placement: Placement;

  constructor(options: PlacementOptions) {
    this.#placement = new Placement(options);
  }

  decode(message: unknown, stamp?: Stamp): Decoded {
    try {
      if (typeof message !== 'string') throw new Mistake('', message, 'must be text: the lines of one frame');
      const at = this.#placement.stamp(needStamp(stamp));
      const rows = new Rows(message, 'blanks');
      const { items, problems } = collect(
        () => rows.next(),
        () => this.#object(rows),
      );
      const parts = problems.length > 0 ? [] : [{ ...at, objects: items }];
      return { parts, problems, held: false };
    } catch (error) {
      if (!(error instanceof Mistake)) throw error;
      return { parts: [], problems: [error.toProblem()], held: false };
    }
  }

  flush(): Decoded {
    return { parts: [], problems: [], held: false };
  }

  #object(rows: Rows): WireObject | null {
    const { columns } = rows;
    if (columns >= COLUMNS && Number.isFinite(rows.number(0)) && Number.isNaN(rows.number(2)))
      throw rows.rowMistake('has the frame first, as KITTI tracking has it; use format kitti');
    if (columns !== COLUMNS) throw rows.rowMistake(`has ${columns} columns; expected ${COLUMNS}: ${EXPECTED}`);
    const id = rows.text(1);
    if (!/^\d{1,20}$/.test(id)) throw rows.mistake(1, 'id', 'must be an unsigned whole number');
    for (let column = 2; column < COLUMNS; column++)
      if (!Number.isFinite(rows.number(column)))
        throw rows.mistake(column, CORNERS[column - 5] ?? 'column', 'must be a finite number');
    const left = rows.number(5);
    const top = rows.number(6);
    const right = rows.number(7);
    const bottom = rows.number(8);
    if (!(right > left && bottom > top))
      throw rows.mistake(7, 'right', `and bottom must lie beyond left and top (${left} ${top})`);
    if (id === UNTRACKED_ID) return null;
    const box = this.#placement.corners(left, top, right, bottom, '');
    return objectOf(id, box, rows.text(0), rows.number(16));
  }
}

export const deepstreamKitti = defineAdapter({
  name: 'deepstream-kitti',
  title: "NVIDIA DeepStream's dump of tracks: a folder with one file per frame",
  message: 'text',
  numbering: 'stamp',
  bases: { frame: 0, pixel: 0 },
  options: {
    ...BOX_OPTIONS,
    stream: {
      kind: 'whole',
      min: 0,
      help: 'stream id (second number of the file names); needed when a folder has several',
    },
  },
  shape: () => 'box',
  create: (values) => new DumpDecoder(values),
  frameOfFile(name, { stream }) {
    const match = FILE.exec(name);
    if (!match) return null;
    return stream === undefined || Number(match[2]) === stream ? { k: Number(match[3]), group: match[2] } : null;
  },
});
