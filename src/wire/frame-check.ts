/**
 * The check of a frame against the rules of its session: what leaves it is typed, finite and within its limits, and
 * nothing behind the edge checks it again. Written by hand, because every frame that the scanner leaves alone comes
 * through here.
 */
import type { SkipRule } from './codes.js';
import { Fault, fault } from './fault.js';
import { type FeedPart, pack, type Shape, type WireObject } from './objects.js';

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
export interface Skipped {
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
export function checkFrame(raw: unknown, rules: FrameRules, skipped: Skipped[] = []): FeedPart | Fault {
  if (!isPlainObject(raw))
    return fault('frame_invalid', '', raw, 'a frame is an object with seq, k and/or t, and objects');
  const { seq, k, t, objects } = raw;
  const checked: Checked = { kept: [], skipped: [] };
  const wrong = frameFault(raw) ?? objectsFault(objects, rules, checked);
  if (wrong)
    return Number.isSafeInteger(seq)
      ? new Fault(wrong.code, wrong.path, wrong.message, wrong.value, seq as number)
      : wrong;
  skipped.push(...checked.skipped);
  const part: FeedPart = { seq: seq as number, objects: pack(checked.kept) };
  if (k !== undefined) part.k = k as number;
  if (t !== undefined) part.t = t as number;
  return part;
}

function frameFault(raw: Record<string, unknown>): Fault | undefined {
  const { type, seq, k, t } = raw;
  if (!Number.isSafeInteger(seq) || (seq as number) < 1)
    return fault('frame_invalid', 'seq', seq, 'number your frames 1, 2, 3, ... from nextSeq of the welcome');
  if (k !== undefined && (!Number.isSafeInteger(k) || (k as number) < 0))
    return fault('frame_invalid', 'k', k, 'a frame number is a whole number from 0');
  if (t !== undefined && !(typeof t === 'number' && t >= 0 && t <= TIME_MAX_SECONDS))
    return fault('frame_invalid', 't', t, 'a time is in seconds (not milliseconds), from 0');
  if (k === undefined && t === undefined)
    return fault('frame_invalid', 'k', undefined, 'give the frame number k or the time t in seconds, or both');
  if (type !== undefined && type !== 'frame')
    return fault('frame_invalid', 'type', type, 'leave it out, or say "frame"');
  for (const key in raw) {
    if (key !== 'type' && key !== 'seq' && key !== 'k' && key !== 't' && key !== 'objects') {
      return fault('frame_invalid', key.slice(0, 60), raw[key], 'a frame has only the fields type, seq, k, t, objects');
    }
  }
  return undefined;
}

const seen = new Set<string>();

interface Checked {
  kept: WireObject[];
  skipped: Skipped[];
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
    const wrong = rules.shape === 'box' ? boxFault(object, n, rules) : pointFault(object, n, rules, dimensions);
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
  return geodesic && place.length === 2 ? 'coordinate_impossible' : null;
}

const OBJECT_FIELDS: ReadonlySet<string> = new Set(['id', 'box', 'point', 'class', 'confidence']);

function boxFault(object: unknown, n: number, rules: FrameRules): Fault | undefined {
  const wrong = fieldsFault(object, n, rules);
  if (wrong) return wrong;
  const { box, point } = object as WireObject;
  if (point !== undefined)
    return fault(
      'shape_mismatch',
      `objects[${n}].point`,
      point,
      `this stream compares boxes; send "box":[left,top,width,height], or ${rules.pointRemedy}`,
    );
  if (!Array.isArray(box) || box.length !== 4)
    return fault('frame_invalid', `objects[${n}].box`, box, 'expected [left,top,width,height]');
  for (let d = 0; d < 4; d++) {
    const value = box[d];
    if (typeof value !== 'number' || !(value <= COORDINATE_MAX && value >= -COORDINATE_MAX))
      return coordinateFault(`objects[${n}].box[${d}]`, value);
    if (d >= 2 && value < BOX_SIDE_MIN)
      return fault(
        'frame_invalid',
        `objects[${n}].box[${d}]`,
        value,
        `the ${d === 2 ? 'width' : 'height'} of a box must be above 0; leave the object out or repair it`,
      );
  }
  return undefined;
}

function pointFault(object: unknown, n: number, rules: FrameRules, dimensions: number): Fault | undefined {
  const wrong = fieldsFault(object, n, rules);
  if (wrong) return wrong;
  const { box, point } = object as WireObject;
  if (box !== undefined)
    return fault(
      'shape_mismatch',
      `objects[${n}].box`,
      box,
      'this stream compares points; send "point":[...], or configure a profile for boxes',
    );
  if (!Array.isArray(point) || point.length === 0 || point.length > POINT_DIMENSIONS_MAX)
    return fault('frame_invalid', `objects[${n}].point`, point, `expected 1 to ${POINT_DIMENSIONS_MAX} coordinates`);
  for (let d = 0; d < point.length; d++) {
    const value = point[d];
    if (typeof value !== 'number' || !(value <= COORDINATE_MAX && value >= -COORDINATE_MAX))
      return coordinateFault(`objects[${n}].point[${d}]`, value);
  }
  if (dimensions > 0 && point.length !== dimensions)
    return fault(
      'shape_mismatch',
      `objects[${n}].point`,
      point,
      `the points of this stream have ${dimensions} coordinates`,
    );
  if (rules.geodesic && !(Math.abs(point[0]) <= 90 && Math.abs(point[1]) <= 360))
    return fault(
      'frame_invalid',
      `objects[${n}].point`,
      point,
      `expected [latitude,longitude] in degrees, ${Math.abs(point[0]) <= 90 ? 'longitude within -360 and 360' : 'latitude within -90 and 90'}`,
    );
  return undefined;
}

const coordinateFault = (path: string, value: unknown) =>
  fault('frame_invalid', path, value, `expected a finite number between ${-COORDINATE_MAX} and ${COORDINATE_MAX}`);

/** The fields boxes and points have in common, and that there are no others. */
function fieldsFault(object: unknown, n: number, rules: FrameRules): Fault | undefined {
  if (!isPlainObject(object))
    return fault('frame_invalid', `objects[${n}]`, object, 'an object has an id and a box or a point');
  for (const key in object) {
    if (key !== 'id' && key !== 'box' && key !== 'point' && key !== 'class' && key !== 'confidence') {
      return fault(
        'frame_invalid',
        `objects[${n}].${key.slice(0, 60)}`,
        object[key],
        'an object has only the fields id, box, point, class, confidence',
      );
    }
  }
  const { id, class: kind, confidence } = object;
  if (typeof id !== 'string' || id.length === 0 || id.length > rules.idLengthMax)
    return fault(
      'frame_invalid',
      `objects[${n}].id`,
      id,
      `expected a string of 1 to ${rules.idLengthMax} characters, such as "7"`,
    );
  if (kind !== undefined && (typeof kind !== 'string' || kind.length > rules.idLengthMax))
    return fault(
      'frame_invalid',
      `objects[${n}].class`,
      kind,
      `expected a string of at most ${rules.idLengthMax} characters`,
    );
  if (confidence !== undefined && (typeof confidence !== 'number' || !Number.isFinite(confidence)))
    return fault('frame_invalid', `objects[${n}].confidence`, confidence, 'expected a finite number');
  return undefined;
}
