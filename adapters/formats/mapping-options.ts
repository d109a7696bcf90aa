/** The options of a mapping: paths and conventions, and what they demand of each other. */

import type { Problem } from '../../src/metric/input-error.js';
import { ORIGIN_OPTIONS, originProblem } from '../kit/local-plane.js';
import type { OptionValues } from '../kit/options.js';
import { BOX_OPTIONS, checkImage, ORDER_OPTIONS, UNTRACKED_OPTIONS } from '../kit/placement.js';

export const MAPPING_OPTIONS = {
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
  ...ORIGIN_OPTIONS,
  frame: { kind: 'text', help: 'path to the frame number, within the message' },
  frameKeys: {
    kind: 'text',
    help: 'path to an object whose keys are frame numbers, . when the message is it; the values are messages',
  },
  time: { kind: 'text', help: 'path to the time, within the message' },
  timeUnit: {
    kind: 'choice',
    choices: ['s', 'ms', 'us', 'ns', 'iso', 'utc'],
    help: 'unit of the time, or iso: text such as 2026-04-11T04:59:59.828Z, or utc: the same where no zone is UTC',
  },
  timeOffset: { kind: 'number', default: 0, help: 'added to every time, in seconds' },
  reports: {
    kind: 'switch',
    help: 'each object has a time of its own, a path within it, and one that is absent is not gone: transponders, radars',
  },
  velocity: {
    kind: 'texts',
    help: 'reports: path to a list, or one path for each axis; units per second, on Earth metres east, north and up',
  },
  speed: { kind: 'text', help: 'reports on Earth: path to the speed over ground; with course' },
  speedScale: { kind: 'number', above: 0, default: 1, help: 'what makes metres per second of it: 0.514444 for knots' },
  course: { kind: 'text', help: 'reports on Earth: path to the course, in degrees clockwise from north' },
  ended: { kind: 'text', help: 'reports: path to a mark, such as true, that the object is gone' },
  class: { kind: 'text', help: 'path to the class, within an object' },
  confidence: { kind: 'text', help: 'path to the confidence, within an object' },
  absentList: {
    kind: 'choice',
    choices: ['refuse', 'none'],
    default: 'refuse',
    help: 'a message without the list of objects: refuse it, or take it as one with none',
  },
  incomplete: {
    kind: 'choice',
    choices: ['refuse', 'skip'],
    default: 'refuse',
    help: 'objects that lack an id or a coordinate: refuse their message, or leave them out, counted',
  },
  foreign: {
    kind: 'choice',
    choices: ['refuse', 'skip'],
    default: 'refuse',
    help: 'lines that are no such message: refuse them, or leave them out, counted',
  },
  table: {
    kind: 'choice',
    choices: ['commas', 'semicolons', 'tabs', 'blanks'],
    help: 'files: the text is a table with a header; the paths are names of its columns',
  },
  ...UNTRACKED_OPTIONS,
  ...ORDER_OPTIONS,
  ...BOX_OPTIONS,
} as const;

export type MappingOptions = OptionValues<typeof MAPPING_OPTIONS>;

const STEP = /\.?([A-Za-z_$][\w$-]*)|\[(\d+)\]|\["([^"\\]+)"\]/y;

/** A key, or an index. */
export type PathStep = string | number;

/** The keys of a path, or null when it is none. */
export function stepsOf(path: string): PathStep[] | null {
  const steps: PathStep[] = [];
  STEP.lastIndex = 0;
  if (path === '.') return steps;
  while (STEP.lastIndex < path.length) {
    const match = STEP.exec(path);
    if (!match) return null;
    steps.push(match[1] ?? match[3] ?? Number(match[2]));
  }
  return steps.length > 0 ? steps : null;
}

const PATH_RULE = 'must be a path such as tracks[0].pos.x, or ["@id"] for other keys';

const PATHS = [
  'objects',
  'id',
  'frame',
  'frameKeys',
  'time',
  'speed',
  'course',
  'ended',
  'class',
  'confidence',
] as const;

/** Reports have times of their own, and only they say how objects move. */
function checkReporting(options: MappingOptions): Problem[] {
  const problems: Problem[] = [];
  const wrong = (path: keyof MappingOptions, message: string) => problems.push({ path, value: options[path], message });
  if (options.reports) {
    if (options.time === undefined) wrong('time', 'is needed: the path to the time, within a report');
    for (const key of ['frame', 'frameKeys'] as const)
      if (options[key] !== undefined) wrong(key, 'is not for reports, which have times of their own');
  } else
    for (const key of ['velocity', 'speed', 'course', 'ended'] as const)
      if (options[key] !== undefined) wrong(key, 'is for reports; say reports too');
  if ((options.speed === undefined) !== (options.course === undefined))
    wrong(options.speed === undefined ? 'speed' : 'course', 'is needed too: a speed has a course');
  if (options.speed !== undefined && options.velocity !== undefined)
    wrong('velocity', 'or speed and course may be given, not both');
  return problems;
}

/** What is wrong with options that belong together. */
export function checkMapping(options: MappingOptions): Problem[] {
  const problems: Problem[] = [];
  const wrong = (path: string, message: string) =>
    problems.push({ path, value: (options as Record<string, unknown>)[path], message });
  for (const key of PATHS) if (options[key] !== undefined && !stepsOf(options[key])) wrong(key, PATH_RULE);
  for (const key of ['box', 'point', 'velocity'] as const)
    if (options[key]?.some((path) => !stepsOf(path))) wrong(key, PATH_RULE);
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
  const elsewhere = originProblem(options.origin);
  if (elsewhere) wrong('origin', elsewhere);
  problems.push(...checkReporting(options));
  if (options.frameKeys !== undefined && (options.frame ?? options.time) !== undefined)
    wrong('frameKeys', 'are the frame numbers; leave out frame and time');
  if (options.table !== undefined && options.objects !== undefined)
    wrong('objects', 'is not for a table, whose rows are the objects');
  const isTimed = (options.frame ?? options.time ?? options.frameKeys) !== undefined;
  if (options.objects === undefined && !isTimed) wrong('frame', 'or time is needed, when a message is one object');
  return problems;
}
