/**
 * Any JSON, by a mapping in the options: paths to the objects, their id, box or point, class and confidence, and to the
 * frame number or time; units and conventions are said, never guessed. A path is keys and indexes, `tracks[0].pos.x`;
 * keys with other characters stand in quotes, `["@id"]`. Without `objects` a message is one object, and objects of one
 * frame or time are gathered until another one begins.
 */

import type { Box } from '../../src/metric/evaluation.js';
import type { Problem } from '../../src/metric/input-error.js';
import type { WireObject } from '../../src/wire/objects.js';
import { attempt, type Decoded, type Decoder, defineAdapter, Mistake, type Part, type Stamp } from '../kit/adapter.js';
import { decimalOf } from '../kit/decimal.js';
import { each, frameNumber, identity, isoSeconds, jsonOf, needStamp, refuseStamp, timeWithin } from '../kit/fields.js';
import { Gathering } from '../kit/gathering.js';
import type { OptionValues } from '../kit/options.js';
import {
  BOX_OPTIONS,
  checkImage,
  imageScale,
  ORDER_OPTIONS,
  objectOf,
  Placement,
  UNTRACKED_OPTIONS,
  untrackedId,
} from '../kit/placement.js';

const OPTIONS = {
  objects: {
    kind: 'text',
    help: 'path to the list of objects; . when the message is the list; absent: a message is one object',
  },
  id: { kind: 'text', required: true, help: 'path to the id, within an object' },
  box: { kind: 'texts', help: 'path to a list of four numbers, or four paths, within an object' },
  boxConvention: {
    kind: 'choice',
    choices: ['ltwh', 'ltrb', 'cxcywh'],
    help: 'what the four numbers are: left top width height, left top right bottom, or centre and size',
  },
  coordinates: {
    kind: 'choice',
    choices: ['pixels', 'normalized'],
    help: 'boxes: pixels, or normalized: shares of width and height from 0 to 1',
  },
  yAxis: {
    kind: 'choice',
    choices: ['down', 'up'],
    default: 'down',
    help: 'boxes: where y grows to; up needs imageHeight',
  },
  imageWidth: { kind: 'number', above: 0, help: 'width of the image in pixels; needed for normalized coordinates' },
  imageHeight: {
    kind: 'number',
    above: 0,
    help: 'height of the image in pixels; for normalized coordinates, and y up',
  },
  point: { kind: 'texts', help: 'path to a list of numbers, or one path for each coordinate, within an object' },
  pointScale: { kind: 'number', above: 0, default: 1, help: 'points: every coordinate is multiplied by this' },
  frame: { kind: 'text', help: 'path to the frame number, within the message' },
  time: { kind: 'text', help: 'path to the time, within the message' },
  timeUnit: {
    kind: 'choice',
    choices: ['s', 'ms', 'us', 'ns', 'iso'],
    help: 'unit of the time, or iso: text such as 2026-04-11T04:59:59.828Z',
  },
  class: { kind: 'text', help: 'path to the class, within an object' },
  confidence: { kind: 'text', help: 'path to the confidence, within an object' },
  ...UNTRACKED_OPTIONS,
  ...ORDER_OPTIONS,
  ...BOX_OPTIONS,
} as const;

type Options = OptionValues<typeof OPTIONS>;

const UNITS = { s: 1, ms: 1e3, us: 1e6, ns: 1e9 };
const STEP = /\.?([A-Za-z_$][\w$-]*)|\[(\d+)\]|\["([^"\\]+)"\]/y;

type Step = string | number;
/** Finds a value; undefined when it is not there. */
type Find = (value: unknown) => unknown;

/** The keys of a path, or null when it is none. */
function stepsOf(path: string): Step[] | null {
  const steps: Step[] = [];
  STEP.lastIndex = 0;
  if (path === '.') return steps;
  while (STEP.lastIndex < path.length) {
    const match = STEP.exec(path);
    if (!match) return null;
    steps.push(match[1] ?? match[3] ?? Number(match[2]));
  }
  return steps.length > 0 ? steps : null;
}

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

function stepInto(value: unknown, key: Step): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<Step, unknown>)[key];
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
  #count = 0;

  constructor(readonly options: Options) {
    const { objects, id, class: kind, confidence, frame, time } = options;
    const unit = options.box ? imageScale({ ...options, coordinates: options.coordinates! }) : ([1, 1] as const);
    this.#placement = new Placement(options, unit);
    this.#gathering = objects === undefined ? new Gathering() : null;
    this.#list = objects === undefined ? null : finder(objects);
    this.#id = finder(id);
    this.#shape = options.box ? this.#boxReader(options.box) : this.#pointReader(options.point!);
    this.#class = kind === undefined ? null : finder(kind);
    this.#confidence = confidence === undefined ? null : finder(confidence);
    this.#frame = frame === undefined ? null : finder(frame);
    this.#time = time === undefined ? null : finder(time);
  }

  decode(message: unknown, stamp?: Stamp): Decoded {
    return attempt(
      () => this.#parts(jsonOf(message), stamp),
      () => this.#gathering?.held ?? false,
    );
  }

  flush(): Decoded {
    return this.#gathering?.flush() ?? { parts: [], problems: [], held: false };
  }

  #parts(message: unknown, beside: Stamp | undefined): Part[] {
    const stamp = this.#stamp(message, beside);
    if (!this.#list) return this.#gathering!.add([{ stamp, object: this.#object(message, stamp) }]);
    const items = this.#list(message);
    const { objects: path } = this.options;
    if (!Array.isArray(items)) throw new Mistake(path === '.' ? '' : path!, items, 'must be the list of objects');
    const part: Part = { ...stamp, objects: [] };
    each(items, path === '.' ? '' : path!, (item) => {
      const object = this.#object(item, stamp);
      if (object) part.objects.push(object);
    });
    return [part];
  }

  #stamp(message: unknown, beside: Stamp | undefined): Stamp {
    const { frame, time, timeUnit } = this.options;
    if (!this.#frame && !this.#time) return this.#placement.stamp(needStamp(beside));
    refuseStamp(beside);
    const stamp: Stamp = {};
    if (this.#frame) stamp.k = this.#placement.frame(frameNumber(this.#frame(message), frame!), frame!);
    if (this.#time) stamp.t = secondsOf(this.#time(message), time!, timeUnit!);
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
    const { pointScale } = this.options;
    return (object) => ({ point: read(object).map((value) => value * pointScale) });
  }
}

function secondsOf(value: unknown, path: string, unit: keyof typeof UNITS | 'iso'): number {
  if (unit === 'iso') return isoSeconds(value, path);
  return timeWithin(numeric(value, path) / UNITS[unit], path, value);
}

function check(options: Options): Problem[] {
  const problems: Problem[] = [];
  const wrong = (path: string, message: string) =>
    problems.push({ path, value: (options as Record<string, unknown>)[path], message });
  for (const key of ['objects', 'id', 'frame', 'time', 'class', 'confidence'] as const)
    if (options[key] !== undefined && !stepsOf(options[key])) wrong(key, PATH_RULE);
  for (const key of ['box', 'point'] as const) if (options[key]?.some((path) => !stepsOf(path))) wrong(key, PATH_RULE);
  if ((options.box === undefined) === (options.point === undefined)) wrong('box', 'or point must be given, not both');
  if (options.time !== undefined && options.timeUnit === undefined)
    wrong('timeUnit', 'is needed: the unit of the time');
  if (options.box) {
    if (options.box.length !== 1 && options.box.length !== 4)
      wrong('box', 'must be one path to four numbers, or four paths');
    if (options.boxConvention === undefined) wrong('boxConvention', 'is needed: what the four numbers are');
    if (options.coordinates === undefined) wrong('coordinates', 'is needed: pixels or normalized');
    else problems.push(...checkImage({ ...options, coordinates: options.coordinates }));
    if (options.yAxis === 'up' && options.coordinates === 'pixels' && options.imageHeight === undefined)
      wrong('imageHeight', 'is needed: y up is turned into y down');
  }
  if (options.objects === undefined && options.frame === undefined && options.time === undefined)
    wrong('frame', 'or time is needed, when a message is one object');
  return problems;
}

const PATH_RULE = 'must be a path such as tracks[0].pos.x, or ["@id"] for other keys';

export const mapping = defineAdapter({
  name: 'mapping',
  title: 'any JSON, by paths to its fields',
  message: 'json',
  numbering: 'either',
  bases: { frame: null, pixel: null },
  options: OPTIONS,
  check,
  isList: ({ objects }) => objects?.startsWith('[') || objects === '.',
  shape: ({ box }) => (box ? 'box' : 'point'),
  create: (values) => new MappingDecoder(values),
});
