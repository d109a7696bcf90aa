/**
 * Supervision's JSONSink and CSVSink: rows x_min, y_min, x_max, y_max, class_id, confidence, tracker_id, then the
 * fields of `data` and of custom_data, among them the frame number. Absent values are empty texts, and numbers may be
 * texts. Both sinks give the same rows, so they share this file; JSON comes as a list of rows, CSV with its header
 * line.
 */

import type { WireObject } from '../../src/wire/objects.js';
import {
  type Adapter,
  attempt,
  type Decoded,
  type Decoder,
  defineAdapter,
  Mistake,
  type Stamp,
} from '../kit/adapter.js';
import { decimalOf } from '../kit/decimal.js';
import { each, type Fields, fieldsOf, frameNumber, identity, jsonOf } from '../kit/fields.js';
import { collect, Gathering, linesOf, type Sighting } from '../kit/gathering.js';
import {
  ORDER_OPTIONS,
  objectOf,
  Placement,
  TRACKED_BOX_OPTIONS,
  type TrackedBoxOptions,
  untrackedId,
} from '../kit/placement.js';
import { Rows } from '../kit/rows.js';

interface Options extends TrackedBoxOptions {
  frameField: string;
  classField: string;
}

const OPTIONS = {
  ...TRACKED_BOX_OPTIONS,
  frameField: { kind: 'text', default: 'frame_number', help: 'field of custom_data that holds the frame number' },
  classField: { kind: 'text', default: 'class_name', help: 'field with the class; class_id where it is absent' },
} as const;

const BOX = ['x_min', 'y_min', 'x_max', 'y_max'] as const;

/** A value of a row: absent, null and empty are the same. */
type Get = (field: string) => unknown;
/** Says where a field stands, for mistakes. */
type Place = (field: string) => string;

/** Makes objects of rows, whichever sink wrote them. */
class RowReader {
  readonly #placement: Placement;
  readonly #fields: readonly string[];
  #count = 0;

  constructor(readonly options: Options) {
    this.#placement = new Placement(options);
    this.#fields = ['tracker_id', options.frameField, options.classField];
  }

  /** With a stamp beside the message the rows are that frame, whatever their fields say. */
  sighting(get: Get, place: Place, stamp: Stamp | null): Sighting {
    const [track, frame] = this.#fields;
    const at = stamp ?? { k: this.#frame(get(frame), place(frame)) };
    this.#count++;
    const value = get(track);
    const id = isAbsent(value)
      ? untrackedId(this.options.untracked, place(track), value, `${at.k ?? at.t}:${this.#count}`)
      : trackId(value, place(track));
    const [left, top, right, bottom] = BOX.map((field) => numeric(get(field), place(field)));
    const box = this.#placement.corners(left, top, right, bottom, place(BOX[0]));
    return { stamp: at, object: id === null ? null : this.#object(id, box, get, place) };
  }

  /** The same for a row of CSV, whose columns are known. */
  row(rows: Rows, layout: Layout, stamp: Stamp | null): Sighting {
    const at = stamp ?? { k: this.#frameOf(rows, layout.frame) };
    this.#count++;
    const id = rows.has(layout.track)
      ? withoutFraction(rows.text(layout.track))
      : untrackedId(this.options.untracked, rows.place(layout.track), '', `${at.k ?? at.t}:${this.#count}`);
    const left = rows.finite(layout.box[0], BOX[0]);
    const top = rows.finite(layout.box[1], BOX[1]);
    const right = rows.finite(layout.box[2], BOX[2]);
    const bottom = rows.finite(layout.box[3], BOX[3]);
    if (!(right > left && bottom > top))
      throw rows.mistake(layout.box[2], BOX[2], 'and y_max must lie beyond the others');
    const box = this.#placement.corners(left, top, right, bottom, '');
    if (id === null) return { stamp: at, object: null };
    const kind = rows.has(layout.class) ? layout.class : layout.classId;
    const confidence = rows.has(layout.confidence) ? rows.finite(layout.confidence, 'confidence') : undefined;
    return { stamp: at, object: objectOf(id, box, rows.has(kind) ? rows.text(kind) : undefined, confidence) };
  }

  #frameOf(rows: Rows, column: number): number {
    if (!rows.has(column)) return this.#frame('', rows.place(column));
    const frame = rows.number(column);
    if (!Number.isSafeInteger(frame) || frame < 0)
      throw rows.mistake(column, this.options.frameField, 'must be a frame number: a whole number from 0');
    const k = this.#placement.shifted(frame);
    if (k < 0) throw rows.mistake(column, this.options.frameField, 'is negative after frameOffset');
    return k;
  }

  stampOf(stamp: Stamp | undefined): Stamp | null {
    return stamp?.k === undefined && stamp?.t === undefined ? null : this.#placement.stamp(stamp);
  }

  #object(id: string, box: WireObject['box'], get: Get, place: Place): WireObject {
    const named = get(this.options.classField);
    const kind = isAbsent(named) ? get('class_id') : named;
    const confidence = get('confidence');
    return objectOf(
      id,
      box!,
      isAbsent(kind) ? undefined : identity(kind, place(isAbsent(named) ? 'class_id' : this.options.classField)),
      isAbsent(confidence) ? undefined : numeric(confidence, place('confidence')),
    );
  }

  #frame(value: unknown, path: string): number {
    if (isAbsent(value))
      throw new Mistake(
        path,
        value,
        `is missing: write the frame number into custom_data, as ${this.options.frameField}`,
      );
    return this.#placement.frame(frameNumber(value, path), path);
  }
}

const isAbsent = (value: unknown) => value === undefined || value === null || value === '';

function numeric(value: unknown, path: string): number {
  const number = typeof value === 'string' ? decimalOf(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) throw new Mistake(path, value, 'must be a finite number');
  return number;
}

/** numpy may have written the id as 7.0 */
function trackId(value: unknown, path: string): string {
  return typeof value === 'string' ? withoutFraction(value) : identity(value, path);
}

function withoutFraction(id: string): string {
  return id.includes('.') && /^\d+\.0*$/.test(id) ? id.slice(0, id.indexOf('.')) : id;
}

class JsonDecoder implements Decoder {
  readonly #reader: RowReader;
  readonly #gathering = new Gathering();

  constructor(options: Options) {
    this.#reader = new RowReader(options);
  }

  decode(message: unknown, stamp?: Stamp): Decoded {
    return attempt(
      () => {
        const raw = jsonOf(message);
        const rows = Array.isArray(raw) ? raw : [fieldsOf(raw)];
        const at = this.#reader.stampOf(stamp);
        const sightings: Sighting[] = at && rows.length === 0 ? [{ stamp: at, object: null }] : [];
        each(rows, '', (row) => {
          const fields = fieldsOf(row);
          sightings.push(
            this.#reader.sighting(
              (field) => own(fields, field),
              (field) => field,
              at,
            ),
          );
        });
        const parts = this.#gathering.add(sightings);
        // a frame that is numbered from outside is complete
        return at ? [...parts, ...this.#gathering.flush().parts] : parts;
      },
      () => this.#gathering.held,
    );
  }

  flush(): Decoded {
    return this.#gathering.flush();
  }
}

const own = (fields: Fields, field: string) => (Object.hasOwn(fields, field) ? fields[field] : undefined);

class CsvDecoder implements Decoder {
  readonly #reader: RowReader;
  readonly #gathering = new Gathering();
  #layout: Layout | null;

  constructor(readonly options: Options & { columns: readonly string[] | undefined }) {
    this.#reader = new RowReader(options);
    this.#layout = options.columns ? layoutOf(options.columns, options) : null;
  }

  decode(message: unknown, stamp?: Stamp): Decoded {
    const decoded = linesOf(message, this.#gathering, (text) => {
      const at = this.#reader.stampOf(stamp);
      const rows = new Rows(text, 'commas');
      const read = collect(
        () => rows.next(),
        () => this.#sighting(rows, at),
      );
      if (at && read.items.length === 0) read.items.push({ stamp: at, object: null });
      return read;
    });
    if (decoded.problems.length > 0 || this.#reader.stampOf(stamp) === null) return decoded;
    return { ...decoded, parts: [...decoded.parts, ...this.#gathering.flush().parts], held: false };
  }

  flush(): Decoded {
    return this.#gathering.flush();
  }

  #sighting(rows: Rows, stamp: Stamp | null): Sighting | null {
    if (rows.startsWith(0, 'x') && rows.text(0) === BOX[0]) {
      this.#layout = layoutOf(headerOf(rows), this.options);
      return null;
    }
    const layout = this.#layout;
    if (!layout)
      throw rows.rowMistake('comes before the header line x_min,y_min,...; send it first, or say option columns');
    if (rows.columns !== layout.columns)
      throw rows.rowMistake(`has ${rows.columns} columns; expected ${layout.columns}, as the header says`);
    return this.#reader.row(rows, layout, stamp);
  }
}

/** Which column holds what; -1 where none does. */
interface Layout {
  columns: number;
  box: readonly number[];
  track: number;
  frame: number;
  class: number;
  classId: number;
  confidence: number;
}

function layoutOf(columns: readonly string[], { frameField, classField }: Options): Layout {
  const at = (field: string) => columns.indexOf(field);
  return {
    columns: columns.length,
    box: BOX.map(at),
    track: at('tracker_id'),
    frame: at(frameField),
    class: at(classField),
    classId: at('class_id'),
    confidence: at('confidence'),
  };
}

function headerOf(rows: Rows): string[] {
  const columns = Array.from({ length: rows.columns }, (_, column) => rows.text(column));
  for (const field of BOX)
    if (!columns.includes(field)) throw rows.rowMistake(`has no column ${field}; expected x_min,y_min,x_max,y_max,...`);
  if (new Set(columns).size !== columns.length) throw rows.rowMistake('names a column twice');
  return columns;
}

const COMMON = {
  numbering: 'either',
  bases: { frame: null, pixel: 0 },
  shape: () => 'box',
} as const satisfies Partial<Adapter>;

export const supervisionJson = defineAdapter({
  ...COMMON,
  name: 'supervision-json',
  title: 'Supervision rows as JSONSink writes them',
  message: 'json',
  options: { ...OPTIONS, ...ORDER_OPTIONS },
  isList: () => true,
  create: (values) => new JsonDecoder(values),
});

export const supervisionCsv = defineAdapter({
  ...COMMON,
  name: 'supervision-csv',
  title: 'Supervision rows as CSVSink writes them',
  message: 'text',
  options: {
    ...OPTIONS,
    columns: { kind: 'texts', help: 'names of the columns, where messages come without the header line' },
  },
  create: (values) => new CsvDecoder(values),
});
