/**
 * The check of a frame against the rules of its session: what leaves it is typed, finite and within its limits, and
 * nothing behind the edge checks it again. Written by hand, because every frame that the scanner leaves alone comes
 * through here.
 */

import { regionProblem } from '../coverage/region.js';
import type { SkipRule } from './codes.js';
import { Fault, fault } from './fault.js';
import { type FeedPart, type ObjectReport, pack, packReports, type Shape, type WireObject } from './objects.js';

/** What a frame of a session must satisfy. */
export interface FrameRules {
  objectsMax: number;
  idLengthMax: number;
  shape: Shape;
  /** coordinates of a point; 0 until the first point of the stream */
  dimensions: number;
  /** points are latitude and longitude in degrees */
  geodesic: boolean;
  /** what a sender of points on a stream of boxes should do */
  pointRemedy: string;
  /** an incomplete object refuses its frame; otherwise only the object is left out */
  strict: boolean;
}

/** An object that was left out of its frame: the rule it breaks, and what was found. */
export interface SkippedObject {
  rule: SkipRule;
  fault: Fault;
}

/** Coordinates beyond this lose their meaning in double precision. */
export const COORDINATE_MAX = 1e12;
/** A box side below this makes areas that vanish. */
export const BOX_SIDE_MIN = 1e-9;
/** Later than the year 5138: certainly milliseconds. */
export const TIME_MAX_SECONDS = 1e11;
export const POINT_DIMENSIONS_MAX = 8;

export const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Checks one frame and packs its objects, or says what is wrong with it first. Unless the rules are strict, objects
 * that lack a value, or have one that cannot be, are left out and added to `skipped`. What is wrong by its kind (a
 * number as id, a field that does not exist, points among boxes) is a mistake of the sender rather than of one object
 * and refuses the frame; so do objects of which none is left, because they are no empty scene.
 */
export function checkFrame(raw: unknown, rules: FrameRules, skipped: SkippedObject[] = []): FeedPart | Fault {
  if (!isPlainObject(raw))
    return fault('frame_invalid', '', raw, 'a frame is an object with seq, k and/or t, and objects');
  const { seq, k, t, objects } = raw;
  const checked: Checked = { kept: [], skipped: [] };
  const wrong = frameFault(raw) ?? ignoreFault(raw.ignore, rules) ?? objectsFault(objects, rules, checked);
  if (wrong)
    return Number.isSafeInteger(seq)
      ? new Fault(wrong.code, wrong.path, wrong.message, wrong.value, seq as number)
      : wrong;
  skipped.push(...checked.skipped);
  const part: FeedPart = { seq: seq as number, objects: pack(checked.kept) };
  if (k !== undefined) part.k = k as number;
  if (t !== undefined) part.t = t as number;
  if (raw.ignore !== undefined) part.ignore = raw.ignore as FeedPart['ignore'];
  return part;
}

/**
 * Checks reports, each of them alone: one that is wrong is left out and counted, the others are taken. Only what is
 * wrong with the message itself, or every report of a strict stream, refuses it.
 */
export function checkReports(
  raw: Record<string, unknown>,
  rules: FrameRules,
  skipped: SkippedObject[] = [],
): FeedPart | Fault {
  const { seq, reports } = raw;
  const wrong = reportsFault(raw, rules);
  if (wrong) return Number.isSafeInteger(seq) ? numbered(wrong, seq as number) : wrong;
  const kept: ObjectReport[] = [];
  const own: SkippedObject[] = [];
  let { dimensions } = rules;
  for (const [n, report] of (reports as unknown[]).entries()) {
    const found = reportFault(report, `reports[${n}]`, rules, dimensions);
    if (found) {
      if (rules.strict) return numbered(found.fault, seq as number);
      own.push(found);
      continue;
    }
    const { point } = report as ObjectReport;
    if (point) dimensions ||= point.length;
    kept.push(report as ObjectReport);
  }
  skipped.push(...own);
  const stride = rules.shape === 'box' ? 4 : dimensions || 1;
  return { seq: seq as number, objects: packReports(kept, rules.shape, stride), reports: true };
}

const numbered = ({ code, path, message, value }: Fault, seq: number) => new Fault(code, path, message, value, seq);

function reportsFault(raw: Record<string, unknown>, { objectsMax }: FrameRules): Fault | undefined {
  const { seq, reports } = raw;
  if (!Number.isSafeInteger(seq) || (seq as number) < 1)
    return fault('frame_invalid', 'seq', seq, 'number your messages 1, 2, 3, ... from nextSeq of the welcome');
  for (const key in raw)
    if (key !== 'type' && key !== 'seq' && key !== 'reports')
      return fault('frame_invalid', key.slice(0, 60), raw[key], 'reports have only the fields type, seq, reports');
  if (!Array.isArray(reports))
    return fault('frame_invalid', 'reports', reports, 'give an array of reports; each has id, t and a box or a point');
  if (reports.length > objectsMax)
    return fault(
      'objects_exceeded',
      'reports',
      reports,
      `at most ${objectsMax} reports per message; raise limits.objects or send them in several messages`,
    );
  return undefined;
}

/** Why a report is left out; null when it is not. */
function reportFault(report: unknown, path: string, rules: FrameRules, dimensions: number): SkippedObject | null {
  const { t, end, box, point } = isPlainObject(report) ? report : ({} as Record<string, unknown>);
  if (isPlainObject(report) && t === undefined) {
    const message = 'give the time of the object itself in seconds';
    return { rule: 'time_missing', fault: new Fault('frame_invalid', `${path}.t`, message) };
  }
  const wrong =
    end === true && box === undefined && point === undefined
      ? fieldsFault(report, path, rules, true)
      : rules.shape === 'box'
        ? boxFault(report, path, rules, true)
        : pointFault(report, path, rules, dimensions, true);
  if (wrong) return { rule: brokenRule(report, rules) ?? 'report_invalid', fault: wrong };
  if (end === undefined || typeof end === 'boolean') return null;
  return { rule: 'report_invalid', fault: fault('frame_invalid', `${path}.end`, end, 'expected true or false') };
}

function frameFault(raw: Record<string, unknown>): Fault | undefined {
  const { type, seq, k, t } = raw;
  if (!Number.isSafeInteger(seq) || (seq as number) < 1)
    return fault('frame_invalid', 'seq', seq, 'number your frames 1, 2, 3, ... from nextSeq of the welcome');
  if (k !== undefined && (!Number.isSafeInteger(k) || (k as number) < 0))
    return fault('frame_invalid', 'k', k, 'a frame number is a whole number from 0');
  if (t !== undefined && !isTime(t))
    return fault('frame_invalid', 't', t, 'a time is in seconds (not milliseconds), from 0');
  if (k === undefined && t === undefined)
    return fault('frame_invalid', 'k', undefined, 'give the frame number k or the time t in seconds, or both');
  if (type !== undefined && type !== 'frame')
    return fault('frame_invalid', 'type', type, 'leave it out, or say "frame"');
  for (const key in raw) {
    if (!FRAME_FIELDS.has(key)) {
      const known = [...FRAME_FIELDS].join(', ');
      return fault('frame_invalid', key.slice(0, 60), raw[key], `a frame has only the fields ${known}`);
    }
  }
  return undefined;
}

const FRAME_FIELDS: ReadonlySet<string> = new Set(['type', 'seq', 'k', 't', 'objects', 'ignore']);
/** regions that a frame may bring along, and corners of one */
const REGIONS_MAX = 64;
const CORNERS_MAX = 256;

function ignoreFault(ignore: unknown, { geodesic }: FrameRules): Fault | undefined {
  if (ignore === undefined) return undefined;
  if (!Array.isArray(ignore) || ignore.length > REGIONS_MAX)
    return fault('frame_invalid', 'ignore', ignore, `give at most ${REGIONS_MAX} regions`);
  for (const [n, region] of ignore.entries()) {
    const wrong = isRegion(region) ? regionProblem(region, geodesic) : { path: '', message: REGION_RULE };
    if (!wrong) continue;
    const path = ['ignore', `[${n}]`, wrong.path && `.${wrong.path}`].join('');
    return fault('frame_invalid', path, region, wrong.message);
  }
  return undefined;
}

const REGION_RULE = `expected {"box":[left,top,width,height]} or {"polygon":[[x,y],...]} of at most ${CORNERS_MAX} corners`;

const isNumbers = (list: unknown, length: number): boolean =>
  Array.isArray(list) && list.length === length && list.every((value) => Number.isFinite(value));

function isRegion(region: unknown): region is { box?: [number, number, number, number]; polygon?: [number, number][] } {
  if (!isPlainObject(region) || Object.keys(region).some((key) => key !== 'box' && key !== 'polygon')) return false;
  const { box, polygon } = region;
  if (box !== undefined && !isNumbers(box, 4)) return false;
  if (polygon === undefined) return true;
  return Array.isArray(polygon) && polygon.length <= CORNERS_MAX && polygon.every((corner) => isNumbers(corner, 2));
}

const seen = new Set<string>();

interface Checked {
  kept: WireObject[];
  skipped: SkippedObject[];
}

function objectsFault(objects: unknown, rules: FrameRules, { kept, skipped }: Checked): Fault | undefined {
  if (!Array.isArray(objects))
    return fault('frame_invalid', 'objects', objects, 'give an array; [] when nothing is there');
  if (objects.length > rules.objectsMax)
    return fault(
      'objects_exceeded',
      'objects',
      objects,
      `at most ${rules.objectsMax} objects per frame; raise limits.objects or filter before sending`,
    );
  seen.clear();
  let dimensions = rules.dimensions;
  for (let n = 0; n < objects.length; n++) {
    const object = objects[n];
    const wrong =
      rules.shape === 'box'
        ? boxFault(object, `objects[${n}]`, rules)
        : pointFault(object, `objects[${n}]`, rules, dimensions);
    if (wrong) {
      const rule = rules.strict ? null : brokenRule(object, rules);
      if (rule === null) return wrong;
      skipped.push({ rule, fault: wrong });
      continue;
    }
    if (rules.shape === 'point') dimensions ||= object.point.length;
    kept.push(object);
    seen.add(object.id);
    if (seen.size < kept.length)
      return fault('id_duplicate', `objects[${n}].id`, object.id, 'ids must be unique within a frame');
  }
  return kept.length === 0 ? skipped[0]?.fault : undefined;
}

/** The rule that an object breaks by what it lacks or by an impossible value; null when it is wrong by its kind. */
function brokenRule(object: unknown, rules: FrameRules): SkipRule | null {
  if (object === null) return 'object_missing';
  if (!isPlainObject(object) || Object.keys(object).some((key) => !OBJECT_FIELDS.has(key))) return null;
  const { id, box, point, class: kind, confidence } = object;
  if (id === undefined || id === null || id === '') return 'id_missing';
  if (typeof id !== 'string') return null;
  if (kind === null || confidence === null) return 'attribute_missing';
  const place = rules.shape === 'box' ? box : point;
  if (box == null && point == null) return 'place_missing';
  return Array.isArray(place) ? brokenPlace(place, rules) : null;
}

function brokenPlace(place: unknown[], { shape, geodesic }: FrameRules): SkipRule | null {
  // JSON has no NaN and no infinity: they come as null
  if (place.some((value) => value === null)) return 'coordinate_missing';
  if (!place.every((value) => typeof value === 'number')) return null;
  if (place.some((value) => Math.abs(value) > COORDINATE_MAX)) return 'coordinate_impossible';
  if (shape === 'box')
    return place.length === 4 && Math.min(place[2], place[3]) < BOX_SIDE_MIN ? 'size_impossible' : null;
  return geodesic && (Math.abs(place[0]) > 90 || Math.abs(place[1]) > 360) ? 'coordinate_impossible' : null;
}

const OBJECT_FIELDS: ReadonlySet<string> = new Set([
  'id',
  'box',
  'point',
  'class',
  'confidence',
  't',
  'velocity',
  'ignore',
]);

function boxFault(object: unknown, path: string, rules: FrameRules, report = false): Fault | undefined {
  const wrong = fieldsFault(object, path, rules, report);
  if (wrong) return wrong;
  const { box, point } = object as WireObject;
  if (point !== undefined)
    return fault(
      'shape_mismatch',
      `${path}.point`,
      point,
      `this stream compares boxes; send "box":[left,top,width,height], or ${rules.pointRemedy}`,
    );
  if (!Array.isArray(box) || box.length !== 4)
    return fault('frame_invalid', `${path}.box`, box, 'expected [left,top,width,height]');
  for (let d = 0; d < 4; d++) {
    const value = box[d];
    if (typeof value !== 'number' || !(value <= COORDINATE_MAX && value >= -COORDINATE_MAX))
      return coordinateFault(`${path}.box[${d}]`, value);
    if (d >= 2 && value < BOX_SIDE_MIN)
      return fault(
        'frame_invalid',
        `${path}.box[${d}]`,
        value,
        `the ${d === 2 ? 'width' : 'height'} of a box must be above 0; leave the object out or repair it`,
      );
  }
  return undefined;
}

function pointFault(
  object: unknown,
  path: string,
  rules: FrameRules,
  dimensions: number,
  report = false,
): Fault | undefined {
  const wrong = fieldsFault(object, path, rules, report);
  if (wrong) return wrong;
  const { box, point } = object as WireObject;
  if (box !== undefined)
    return fault(
      'shape_mismatch',
      `${path}.box`,
      box,
      'this stream compares points; send "point":[...], or configure a profile for boxes',
    );
  if (!Array.isArray(point) || point.length === 0 || point.length > POINT_DIMENSIONS_MAX)
    return fault('frame_invalid', `${path}.point`, point, `expected 1 to ${POINT_DIMENSIONS_MAX} coordinates`);
  for (let d = 0; d < point.length; d++) {
    const value = point[d];
    if (typeof value !== 'number' || !(value <= COORDINATE_MAX && value >= -COORDINATE_MAX))
      return coordinateFault(`${path}.point[${d}]`, value);
  }
  if (rules.geodesic && point.length !== 2 && point.length !== 3)
    return fault('shape_mismatch', `${path}.point`, point, 'expected [latitude,longitude], and perhaps an altitude');
  if (dimensions > 0 && point.length !== dimensions)
    return fault('shape_mismatch', `${path}.point`, point, `the points of this stream have ${dimensions} coordinates`);
  if (rules.geodesic && !(Math.abs(point[0]) <= 90 && Math.abs(point[1]) <= 360))
    return fault(
      'frame_invalid',
      `${path}.point`,
      point,
      `expected [latitude,longitude] in degrees, ${Math.abs(point[0]) <= 90 ? 'longitude within -360 and 360' : 'latitude within -90 and 90'}`,
    );
  return undefined;
}

const coordinateFault = (path: string, value: unknown) =>
  fault('frame_invalid', path, value, `expected a finite number between ${-COORDINATE_MAX} and ${COORDINATE_MAX}`);

/** The fields boxes and points have in common, and that there are no others. */
function fieldsFault(object: unknown, path: string, rules: FrameRules, report = false): Fault | undefined {
  if (!isPlainObject(object)) return fault('frame_invalid', path, object, 'an object has an id and a box or a point');
  for (const key in object) {
    if (!OBJECT_FIELDS.has(key) && !(report && key === 'end')) {
      return fault(
        'frame_invalid',
        `${path}.${key.slice(0, 60)}`,
        object[key],
        `an object has only the fields ${[...OBJECT_FIELDS, ...(report ? ['end'] : [])].join(', ')}`,
      );
    }
  }
  const { id, class: kind, confidence } = object;
  if (typeof id !== 'string' || id.length === 0 || id.length > rules.idLengthMax)
    return fault(
      'frame_invalid',
      `${path}.id`,
      id,
      `expected a string of 1 to ${rules.idLengthMax} characters, such as "7"`,
    );
  if (kind !== undefined && (typeof kind !== 'string' || kind.length > rules.idLengthMax))
    return fault(
      'frame_invalid',
      `${path}.class`,
      kind,
      `expected a string of at most ${rules.idLengthMax} characters`,
    );
  if (confidence !== undefined && (typeof confidence !== 'number' || !Number.isFinite(confidence)))
    return fault('frame_invalid', `${path}.confidence`, confidence, 'expected a finite number');
  return motionFault(object, path);
}

/** What an object may say of its own time and motion, and whether it counts. */
function motionFault(object: Record<string, unknown>, path: string): Fault | undefined {
  const { t, velocity, ignore } = object;
  if (t !== undefined && !isTime(t))
    return fault('frame_invalid', `${path}.t`, t, 'a time is in seconds (not milliseconds), from 0');
  const isVelocity =
    Array.isArray(velocity) &&
    velocity.length > 0 &&
    velocity.length <= POINT_DIMENSIONS_MAX &&
    velocity.every((value) => typeof value === 'number' && Math.abs(value) <= COORDINATE_MAX);
  if (velocity !== undefined && !isVelocity)
    return fault('frame_invalid', `${path}.velocity`, velocity, 'expected a list of finite numbers, one for each axis');
  if (ignore !== undefined && typeof ignore !== 'boolean')
    return fault('frame_invalid', `${path}.ignore`, ignore, 'expected true or false');
  return undefined;
}

const isTime = (t: unknown): boolean => typeof t === 'number' && t >= 0 && t <= TIME_MAX_SECONDS;
