/**
 * Supervision's JSONSink and CSVSink: rows x_min, y_min, x_max, y_max, class_id, confidence, tracker_id, then the fields of
 * `data` and of custom_data, among them the frame number. Absent values are empty texts, and numbers may be texts.
 * Both sinks give the same rows, so they share this file; JSON comes as a list of rows, CSV with its header line.
 */

import type { WireObject } from '../src/protocol.js';
import { type Adapter, attempt, type Decoded, type Decoder, defineAdapter, Mistake, type Stamp } from './adapter.js';
import { decimalOf } from './decimal.js';
import { each, type Fields, fieldsOf, frameNumber, identity, jsonOf } from './fields.js';
import { collect, Gathering, linesOf, type Sighting } from './gathering.js';
import {
  BOX_OPTIONS,
  ORDER_OPTIONS,
  objectOf,
  Placement,
  type PlacementOptions,
  UNTRACKED_OPTIONS,
  type Untracked,
  untrackedId,
} from './placement.js';
import { Rows } from './rows.js';

interface Options extends PlacementOptions {
  frameField: string;
  classField: string;
  untracked: Untracked;
}

const OPTIONS = {
  ...BOX_OPTIONS,
  ...UNTRACKED_OPTIONS,
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
  if (typeof value === 'string') {
    const whole = /^(\d+)(\.0*)?$/.exec(value);
    if (whole) return whole[1];
  }
  return identity(value, path);
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
  #columns: Map<string, number> | null;

  constructor(options: Options & { columns: readonly string[] | undefined }) {
    this.#reader = new RowReader(options);
    this.#columns = options.columns ? new Map(options.columns.map((name, column) => [name, column])) : null;
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
    if (rows.text(0) === BOX[0]) {
      this.#columns = headerOf(rows);
      return null;
    }
    const columns = this.#columns;
    if (!columns)
      throw rows.rowMistake('comes before the header line x_min,y_min,...; send it first, or say option columns');
    if (rows.columns !== columns.size)
      throw rows.rowMistake(`has ${rows.columns} columns; expected ${columns.size}, as the header says`);
    const get = (field: string) => {
      const column = columns.get(field);
      return column === undefined ? undefined : rows.text(column);
    };
    const place = (field: string) => rows.mistake(columns.get(field) ?? 0, field, '').path;
    return this.#reader.sighting(get, place, stamp);
  }
}

function headerOf(rows: Rows): Map<string, number> {
  const columns = new Map<string, number>();
  for (let column = 0; column < rows.columns; column++) columns.set(rows.text(column), column);
  for (const field of BOX)
    if (!columns.has(field)) throw rows.rowMistake(`has no column ${field}; expected x_min,y_min,x_max,y_max,...`);
  if (columns.size !== rows.columns) throw rows.rowMistake('names a column twice');
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
