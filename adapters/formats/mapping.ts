/**
 * Any JSON, or table with a header, by a mapping in the options: paths to the objects, their id, box or point, class
 * and confidence, and to the frame number or time; units and conventions are said, never guessed. A path is keys and
 * indexes, `tracks[0].pos.x`; keys with other characters stand in quotes, `["@id"]`. Without `objects` a message is one
 * object, and objects of one frame or time are gathered until another one begins. A table is read row by row, each an
 * object whose keys are the names of the columns. What is incomplete or foreign is refused, or by rule left out and
 * counted. With `reports` each object has a time of its own instead, and nothing waits.
 */

import type { Box } from '../../src/metric/evaluation.js';
import type { ObjectReport, WireObject } from '../../src/wire/objects.js';
import {
  attempt,
  type Decoded,
  type Decoder,
  defineAdapter,
  Mistake,
  type Part,
  PROBLEMS_MAX,
  type Stamp,
} from '../kit/adapter.js';
import { decimalOf } from '../kit/decimal.js';
import {
  each,
  frameNumber,
  identity,
  isFields,
  isoSeconds,
  jsonOf,
  needStamp,
  refuseStamp,
  timeWithin,
  under,
} from '../kit/fields.js';
import { Gathering } from '../kit/gathering.js';
import { placeOnEarth } from '../kit/local-plane.js';
import { imageScale, objectOf, Placement, untrackedId } from '../kit/placement.js';
import { Rows } from '../kit/rows.js';
import { checkMapping, MAPPING_OPTIONS, type MappingOptions, type PathStep, stepsOf } from './mapping-options.js';

const UNITS = { s: 1, ms: 1e3, us: 1e6, ns: 1e9 };
/** Finds a value; undefined when it is not there. */
type Find = (value: unknown) => unknown;

function finder(path: string): Find {
  const steps = stepsOf(path)!;
  if (steps.length === 1) {
    const [key] = steps;
    return (value) => stepInto(value, key);
  }
  return (value) => {
    for (const key of steps) value = stepInto(value, key);
    return value;
  };
}

function stepInto(value: unknown, key: PathStep): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<PathStep, unknown>)[key];
}

function numeric(value: unknown, path: string): number {
  const number = typeof value === 'string' ? decimalOf(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) throw new Mistake(path, value, 'must be a finite number');
  return number;
}

/** Reads several numbers: from one path to a list, or from one path each. */
function numbersReader(paths: readonly string[], least: number, most: number): (object: unknown) => number[] {
  const finders = paths.map(finder);
  if (paths.length > 1) return (object) => finders.map((find, n) => numeric(find(object), paths[n]));
  const [path] = paths;
  return (object) => {
    const value = finders[0](object);
    if (!Array.isArray(value) || value.length < least || value.length > most)
      throw new Mistake(path, value, `must be a list of ${least === most ? least : `${least} to ${most}`} numbers`);
    for (let n = 0; n < value.length; n++)
      if (!Number.isFinite(value[n])) return value.map((one, index) => numeric(one, `${path}[${index}]`));
    return value as number[];
  };
}

class MappingDecoder implements Decoder {
  readonly #placement: Placement;
  readonly #gathering: Gathering | null;
  readonly #list: Find | null;
  readonly #id: Find;
  readonly #shape: (object: unknown) => { box: Box } | { point: number[] };
  readonly #class: Find | null;
  readonly #confidence: Find | null;
  readonly #frame: Find | null;
  readonly #time: Find | null;
  readonly #frameKeys: Find | null;
  readonly #velocity: ((object: unknown) => number[] | null) | null;
  readonly #ended: Find | null;
  #count = 0;
  #incompleteCount = 0;
  #foreignCount = 0;

  constructor(readonly options: MappingOptions) {
    const { objects, id, class: kind, confidence, frame, time, frameKeys } = options;
    this.#frameKeys = frameKeys === undefined ? null : finder(frameKeys);
    const unit = options.box ? imageScale({ ...options, coordinates: options.coordinates! }) : ([1, 1] as const);
    this.#placement = new Placement(options, unit);
    this.#gathering = objects === undefined && !options.reports ? new Gathering() : null;
    this.#list = objects === undefined ? null : finder(objects);
    this.#id = finder(id);
    this.#shape = options.box ? this.#boxReader(options.box) : this.#pointReader(options.point!);
    this.#class = kind === undefined ? null : finder(kind);
    this.#confidence = confidence === undefined ? null : finder(confidence);
    this.#frame = frame === undefined ? null : finder(frame);
    this.#time = time === undefined ? null : finder(time);
    this.#velocity = velocityReader(options);
    this.#ended = options.ended === undefined ? null : finder(options.ended);
  }

  decode(message: unknown, stamp?: Stamp): Decoded {
    return attempt(
      () => this.#known(() => this.#parts(jsonOf(message), stamp), []),
      () => this.#gathering?.held ?? false,
    );
  }

  flush(): Decoded {
    const decoded = this.#gathering?.flush() ?? { parts: [], problems: [], held: false };
    const counts = { objects: this.#incompleteCount, lines: this.#foreignCount };
    const notes: string[] = [];
    if (counts.objects > 0)
      notes.push(`${counts.objects} of ${this.#count} objects are incomplete and were left out (incomplete=skip)`);
    if (counts.lines > 0) notes.push(`${counts.lines} lines are foreign and were left out (foreign=skip)`);
    return notes.length > 0 ? { ...decoded, notes } : decoded;
  }

  /** A message that is none of these is left out and counted, where the options say so. */
  #known<R>(read: () => R, otherwise: R): R {
    if (this.options.foreign === 'refuse') return read();
    try {
      return read();
    } catch (error) {
      if (!(error instanceof Mistake)) throw error;
      this.#foreignCount++;
      return otherwise;
    }
  }

  #parts(message: unknown, beside: Stamp | undefined): Part[] {
    if (this.options.reports) return this.#reports(message, beside);
    if (!this.#frameKeys) return this.#message(message, this.#stamp(message, beside));
    const keyed = this.#frameKeys(message);
    const { frameKeys: path } = this.options;
    if (!isFields(keyed)) throw new Mistake(path === '.' ? '' : path!, keyed, 'must be an object of frame numbers');
    return Object.entries(keyed).flatMap(([key, value]) =>
      under(`["${key}"]`, () => this.#message(value, { k: this.#placement.frame(frameNumber(key, ''), '') })),
    );
  }

  #message(message: unknown, stamp: Stamp): Part[] {
    if (!this.#list) {
      const object = this.#complete(() => this.#object(message, stamp));
      return this.#gathering!.add([{ stamp, object }]);
    }
    const part: Part = { ...stamp, objects: [] };
    this.#eachListed(message, (item) => {
      const object = this.#complete(() => this.#object(item, stamp));
      if (object) part.objects.push(object);
    });
    return [part];
  }

  #eachListed(message: unknown, read: (item: unknown) => void): void {
    const { objects, absentList } = this.options;
    const found = this.#list!(message);
    const items = absentList === 'none' && (found === undefined || found === null) ? [] : found;
    const path = objects === '.' ? '' : objects!;
    if (!Array.isArray(items))
      throw new Mistake(path, items, 'must be the list of objects; if none means none, say absentList=none');
    each(items, path, read);
  }

  #reports(message: unknown, beside: Stamp | undefined): Part[] {
    refuseStamp(beside);
    const objects: ObjectReport[] = [];
    const read = (item: unknown) => {
      const report = this.#complete(() => this.#report(item));
      if (report) objects.push(report as ObjectReport);
    };
    if (this.#list) this.#eachListed(message, read);
    else read(message);
    return objects.length === 0 ? [] : [{ t: Math.max(...objects.map(({ t }) => t)), objects, reports: true }];
  }

  #report(item: unknown): ObjectReport | null {
    const { time, timeUnit, timeOffset, id: path } = this.options;
    const t = secondsOf(this.#time!(item), time!, timeUnit!, timeOffset);
    if (isMarked(this.#ended?.(item))) return { id: identity(this.#id(item), path), t, end: true };
    const object = this.#object(item, { t });
    if (!object) return null;
    const velocity = this.#velocity?.(item);
    return { ...object, t, ...(velocity && { velocity }) };
  }

  /** An object that lacks something is left out and counted, where the options say so. */
  #complete(read: () => WireObject | null): WireObject | null {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof Mistake) || !isAbsent(error.value)) throw error;
      if (this.options.incomplete === 'refuse')
        throw new Mistake(error.path, error.value, `${error.message}; incomplete=skip leaves such objects out`);
      this.#incompleteCount++;
      return null;
    }
  }

  #stamp(message: unknown, beside: Stamp | undefined): Stamp {
    const { frame, time, timeUnit } = this.options;
    if (!this.#frame && !this.#time) return this.#placement.stamp(needStamp(beside));
    refuseStamp(beside);
    const stamp: Stamp = {};
    if (this.#frame) stamp.k = this.#placement.frame(frameNumber(this.#frame(message), frame!), frame!);
    if (this.#time) stamp.t = secondsOf(this.#time(message), time!, timeUnit!, this.options.timeOffset);
    return stamp;
  }

  #object(item: unknown, stamp: Stamp): WireObject | null {
    const { id: path, untracked, confidence: confidencePath, class: classPath } = this.options;
    const given = this.#id(item);
    this.#count++;
    const id =
      given === undefined || given === null || given === ''
        ? untrackedId(untracked, path, given, `${stamp.k ?? stamp.t}:${this.#count}`)
        : identity(given, path);
    const shape = this.#shape(item);
    if (id === null) return null;
    const kind = this.#class?.(item);
    const confidence = this.#confidence?.(item);
    const object = 'box' in shape ? objectOf(id, shape.box) : ({ id, ...shape } as WireObject);
    if (kind !== undefined && kind !== null) object.class = identity(kind, classPath!);
    if (confidence !== undefined && confidence !== null) object.confidence = numeric(confidence, confidencePath!);
    return object;
  }

  #boxReader(paths: readonly string[]): (object: unknown) => { box: Box } {
    const read = numbersReader(paths, 4, 4);
    const { boxConvention: convention, yAxis, coordinates, imageHeight } = this.options;
    const height = coordinates === 'normalized' ? 1 : imageHeight!;
    const isPlain = convention === 'ltwh' && yAxis === 'down';
    return (object) => {
      const numbers = read(object);
      const a = numbers[0];
      const b = numbers[1];
      const c = numbers[2];
      const d = numbers[3];
      if (isPlain && c > 0 && d > 0) return { box: this.#placement.box(a, b, c, d) };
      let [left, top, right, bottom] = [a, b, c, d];
      if (convention === 'cxcywh') [left, top, right, bottom] = [a - c / 2, b - d / 2, a + c / 2, b + d / 2];
      // with y up, top is where y is greatest
      else if (convention === 'ltwh') [right, bottom] = [a + c, yAxis === 'up' ? b - d : b + d];
      if (yAxis === 'up') {
        if (convention === 'cxcywh') [top, bottom] = [bottom, top];
        [top, bottom] = [height - top, height - bottom];
      }
      if (convention !== 'ltrb') {
        if (!(c > 0 && d > 0)) throw new Mistake(paths[0], [a, b, c, d], 'must have a width and height above 0');
        // the sides as they came, not as differences of sums
        return { box: this.#placement.box(left, top, c, d) };
      }
      return { box: this.#placement.corners(left, top, right, bottom, paths[0]) };
    };
  }

  #pointReader(paths: readonly string[]): (object: unknown) => { point: number[] } {
    const read = numbersReader(paths, 1, 8);
    const { pointScale, origin } = this.options;
    return (object) => {
      const point = read(object).map((value) => value * pointScale);
      return { point: origin ? placeOnEarth(origin, point) : point };
    };
  }
}

const RADIANS = Math.PI / 180;

/** How a report says that its object moves; null where it does not. */
function velocityReader({ velocity, speed, course, speedScale }: MappingOptions) {
  if (velocity) {
    const [first, read] = [finder(velocity[0]), numbersReader(velocity, 1, 8)];
    return (object: unknown) => (isAbsent(first(object)) ? null : read(object));
  }
  if (speed === undefined || course === undefined) return null;
  const [speedOf, courseOf] = [finder(speed), finder(course)];
  return (object: unknown): number[] | null => {
    const [fast, way] = [speedOf(object), courseOf(object)];
    if (isAbsent(fast) || isAbsent(way)) return null;
    const metres = numeric(fast, speed) * speedScale;
    const angle = numeric(way, course) * RADIANS;
    return [metres * Math.sin(angle), metres * Math.cos(angle)];
  };
}

/** Whether a mark is set: in tables it is text. */
const isMarked = (value: unknown) =>
  value === true ||
  (typeof value === 'number' && value !== 0) ||
  (typeof value === 'string' && /^(?:true|1|yes)$/i.test(value));

const isAbsent = (value: unknown) => value === undefined || value === null || value === '';

function secondsOf(value: unknown, path: string, unit: keyof typeof UNITS | 'iso' | 'utc', offset: number): number {
  const text = unit === 'utc' && typeof value === 'string' ? value.trim().replace(' ', 'T') : value;
  const seconds =
    unit === 'iso' || unit === 'utc'
      ? isoSeconds(text, path, unit === 'utc' ? 'Z' : '')
      : numeric(value, path) / UNITS[unit];
  return timeWithin(seconds + offset, path, value);
}

/** A table by its header: every row is a message that holds one object, or, of a frame without any, none. */
function readTable(text: string, options: MappingOptions): Decoded | undefined {
  const { table } = options;
  if (table === undefined) return undefined;
  const decoder = new MappingDecoder(options);
  const commas = table === 'semicolons' ? text.replaceAll(',', '.').replaceAll(';', ',') : text;
  const rows = new Rows(
    table === 'tabs' ? text.replaceAll('\t', ',') : commas,
    table === 'blanks' ? 'blanks' : 'commas',
  );
  const decoded: Decoded = { parts: [], problems: [], held: false };
  const add = ({ parts, problems, notes }: Decoded) => {
    decoded.parts.push(...parts);
    for (const { path, ...rest } of problems) decoded.problems.push({ ...rest, path: `${rows.line}:1 ${path}` });
    if (notes) decoded.notes = notes;
  };
  if (!rows.next()) return decoded;
  const names = Array.from({ length: rows.columns }, (_, column) => rows.text(column));
  while (decoded.problems.length < PROBLEMS_MAX && rows.next())
    add(
      decoder.decode(
        Object.fromEntries(names.map((name, column) => [name, column < rows.columns ? rows.text(column) : undefined])),
      ),
    );
  add(decoder.flush());
  return decoded;
}

export const mapping = defineAdapter({
  name: 'mapping',
  title: 'any JSON or table with a header, by paths to its fields',
  message: 'json',
  numbering: 'either',
  bases: { frame: null, pixel: null },
  options: MAPPING_OPTIONS,
  check: checkMapping,
  isList: ({ objects }) => objects?.startsWith('[') || objects === '.',
  shape: ({ box }) => (box ? 'box' : 'point'),
  create: (values) => new MappingDecoder(values),
  readText: readTable,
});
