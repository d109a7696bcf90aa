/**
 * A frame as the kernel holds it: ids and coordinates in flat arrays, checked once on the way in.
 * A PackedFrame is not changed after `packFrame` returned it, unless it is given to the next call as `before`.
 */

import type { Box, Frame, Obj } from './evaluation.js';
import { InputError, type Problem } from './input-error.js';
import { BOX_DISTANCES, type DistanceName } from './params.js';
import { placeOf } from './window/contents.js';
import type { PackedFeed, PackedFrame } from './window/frame-record.js';

export type { PackedFeed, PackedFrame } from './window/frame-record.js';

/**
 * Objects of one feed as they may come: ids, unique, and `stride` numbers for each, finite, boxes with sides above 0.
 * Whoever packs them has checked that. Plain data, and not changed here.
 */
export interface PackedObjects {
  shape: 'box' | 'point';
  /** 4 for boxes, the dimension for points; any number when there are none */
  stride: number;
  ids: string[];
  coordinates: number[];
  /** as in `Obj`, of each object; Infinity for the full price */
  alone?: number[];
  /** as in `Obj`, of each object; null for none */
  kinds?: readonly (string | null)[];
}

/** A frame whose feeds are lists of objects, as in `Frame`, or packed. */
export interface LooseFrame {
  reference: readonly Obj[] | PackedObjects;
  tracker: readonly Obj[] | PackedObjects;
}

type Objects = LooseFrame['reference'];

/** Frames as a distance wants them: `euclidean` compares boxes by their centres. */
export function framesFor(distance: DistanceName, frames: Frame[]): Frame[] {
  if (distance !== 'euclidean') return frames;
  return frames.map(({ reference, tracker }) => ({ reference: reference.map(centred), tracker: tracker.map(centred) }));
}

function centred(object: Obj): Obj {
  if (!('box' in object) || !Array.isArray(object.box)) return object;
  const { box, ...rest } = object;
  const [left, top, width, height] = box;
  return { ...rest, point: [left + width / 2, top + height / 2] };
}

/**
 * Packs a frame or throws one InputError with all its mistakes. `stride` is the number of coordinates of the frames
 * before it, 0 when none had objects; `place` names the frame in messages. A feed with the same objects as in the frame
 * `before` shares its list of ids; the coordinates of `before` are overwritten.
 */
export function packFrame(
  frame: LooseFrame,
  distance: DistanceName,
  stride: number,
  place: string,
  before?: PackedFrame,
): PackedFrame {
  const problems: Problem[] = [];
  if (typeof frame !== 'object' || frame === null || !isFeed(frame.reference) || !isFeed(frame.tracker)) {
    throw new InputError([
      { path: place, value: frame, message: 'must be { reference: [...], tracker: [...] }; an empty feed is []' },
    ]);
  }
  const wantsBoxes = BOX_DISTANCES.has(distance);
  const empty = countOf(frame.reference) + countOf(frame.tracker) === 0;
  const expected = wantsBoxes
    ? 4
    : distance === 'geodesic'
      ? earthDimension(stride || pointDimension(frame.reference) || pointDimension(frame.tracker))
      : stride || pointDimension(frame.reference) || pointDimension(frame.tracker) || 1;
  const packed = {
    reference: packFeed(
      frame.reference,
      wantsBoxes,
      expected,
      distance,
      place,
      'reference',
      problems,
      before?.reference,
    ),
    tracker: packFeed(frame.tracker, wantsBoxes, expected, distance, place, 'tracker', problems, before?.tracker),
    stride: empty ? 0 : expected,
  };
  if (problems.length > 0) throw new InputError(problems);
  return packed;
}

const NO_COORDINATES = new Float64Array(0);

/** Packs frames one after the other. Feeds with the same objects as in the frame before share a list of ids. */
export class FramePacker {
  #stride = 0;
  #before: PackedFrame | undefined;

  pack(frame: LooseFrame, distance: DistanceName, place: string): PackedFrame {
    const packed = packFrame(frame, distance, this.#stride, place, this.#before);
    this.#stride ||= packed.stride;
    const { reference, tracker, stride } = packed;
    // nothing to overwrite: all frames are kept
    this.#before = { reference: idsOf(reference), tracker: idsOf(tracker), stride };
    return packed;
  }
}

/** What the next frame is compared with. */
export const idsOf = ({ ids, kinds }: PackedFeed): PackedFeed => ({
  ids,
  coordinates: NO_COORDINATES,
  ...(kinds && { kinds }),
});

const isList = (objects: Objects): objects is readonly Obj[] => Array.isArray(objects);

const isFeed = (objects: Objects | null | undefined): boolean =>
  Array.isArray(objects) ||
  (typeof objects === 'object' && objects !== null && Array.isArray((objects as PackedObjects).coordinates));

const countOf = (objects: Objects): number => (isList(objects) ? objects.length : objects.ids.length);

/** Coordinates of the first point; 0 when there is none. */
function pointDimension(objects: Objects): number {
  if (!isList(objects)) return objects.ids.length > 0 ? objects.stride : 0;
  for (const object of objects as readonly { point?: unknown }[])
    if (Array.isArray(object?.point) && object.point.length > 0) return object.point.length;
  return 0;
}

/** Latitude and longitude, and perhaps an altitude. */
const earthDimension = (stride: number) => (stride === 3 ? 3 : 2);

function packFeed(
  given: Objects,
  wantsBoxes: boolean,
  stride: number,
  distance: DistanceName,
  frame: string,
  side: 'reference' | 'tracker',
  problems: Problem[],
  before?: PackedFeed,
): PackedFeed {
  const count = countOf(given);
  // may be longer than needed
  const room = before?.coordinates;
  const coordinates = room && room.length >= count * stride ? room : new Float64Array(count * stride);
  if (!isList(given) && fits(given, wantsBoxes, stride, distance)) {
    for (let n = 0; n < given.coordinates.length; n++) coordinates[n] = given.coordinates[n];
    // a copy: the list may be filled with other ids for the next frame
    const ids = before && equal(given.ids, before.ids) ? before.ids : given.ids.slice();
    const kinds = given.kinds && sameKinds(given.kinds, before);
    return packed(ids, coordinates, given.alone?.slice(), kinds);
  }
  const objects = isList(given) ? given : unpack(given);
  const ids = packIds(objects, before?.ids);
  const seen = ids === null ? new Set<string>() : null;
  let alone: Float64Array | undefined;
  let kinds: (string | null)[] | undefined;
  for (let n = 0; n < count; n++) {
    const object = objects[n] as { id: string; box?: number[]; point?: number[]; alone?: number; kind?: string };
    if (typeof object !== 'object' || object === null || typeof object.id !== 'string') {
      problems.push({
        path: `${frame}.${side}[${n}].id`,
        value: object?.id,
        message: 'every object needs an id, a string',
      });
      continue;
    }
    if (seen) {
      const size = seen.size;
      if (seen.add(object.id).size === size) {
        problems.push({
          path: `${frame}.${side}[${n}].id`,
          value: object.id,
          message: 'this id stands twice in the frame; ids must be unique within a feed',
        });
      }
    }
    if (object.alone !== undefined) {
      alone ??= new Float64Array(count).fill(Number.POSITIVE_INFINITY);
      alone[n] = aloneOf(object.alone, `${frame}.${side}[${n}].alone`, problems);
    }
    if (object.kind !== undefined) {
      kinds ??= new Array(count).fill(null);
      kinds[n] = kindOf(object.kind, `${frame}.${side}[${n}].kind`, problems);
    }
    const list = wantsBoxes ? object.box : object.point;
    if (Array.isArray(list) && list.length === stride && (wantsBoxes ? object.point : object.box) === undefined) {
      let sum = 0;
      for (let d = 0; d < stride; d++) {
        const value = list[d];
        sum += typeof value === 'number' ? value - value : Number.NaN;
        coordinates[n * stride + d] = value;
      }
      // sum is 0 unless a value is NaN, infinite or no number
      if (
        sum === 0 &&
        !(wantsBoxes && !(list[2] > 0 && list[3] > 0)) &&
        !(distance === 'geodesic' && !onEarth(list[0], list[1]))
      )
        continue;
    }
    objectProblems(object, wantsBoxes, stride, distance, `${frame}.${side}[${n}]`, problems);
  }
  return packed(ids ?? [], coordinates, alone, kinds && sameKinds(kinds, before));
}

const packed = (
  ids: string[],
  coordinates: Float64Array,
  alone?: ArrayLike<number>,
  kinds?: PackedFeed['kinds'],
): PackedFeed => {
  const feed: PackedFeed = { ids, coordinates };
  if (alone) feed.alone = alone;
  if (kinds) feed.kinds = kinds;
  return feed;
};

/** The list of the frame before when it is the same. */
const sameKinds = (kinds: readonly (string | null)[], before: PackedFeed | undefined) =>
  before?.kinds && equal(kinds, before.kinds) ? before.kinds : kinds.slice();

/** so many ids that are new, or stand elsewhere, are compared with all others one by one */
const STRANGERS_MAX = 6;
const strangers = new Int32Array(STRANGERS_MAX);

/**
 * The ids of objects, as the list of the frame before when it is the same; null when one is no string or stands twice.
 * Those that follow each other as in the frame before are as unique as they were there, so only the others have to be
 * looked at.
 */
function packIds(objects: readonly Obj[], before: string[] = []): string[] | null {
  const { length } = objects;
  let same = 0;
  while (same < length && objects[same]?.id === before[same]) same++;
  if (same === length && length === before.length) return before;
  const ids: string[] = new Array(length);
  let strange = 0;
  let next = 0;
  for (let n = 0; n < length; n++) {
    const id = objects[n]?.id;
    if (typeof id !== 'string') return null;
    ids[n] = id;
    const at = placeOf(id, before, next);
    if (at >= 0) next = at + 1;
    else if (strange < STRANGERS_MAX) strangers[strange++] = n;
    else strange = STRANGERS_MAX + 1;
  }
  if (strange > STRANGERS_MAX) return new Set(ids).size === length ? ids : null;
  for (let s = 0; s < strange; s++) {
    const id = ids[strangers[s]];
    for (let n = 0; n < length; n++) if (ids[n] === id && n !== strangers[s]) return null;
  }
  return ids;
}

/** Whether packed objects are what the distance compares; what does not fit is unpacked and explained. */
function fits(
  { shape, ids, coordinates, stride: own }: PackedObjects,
  wantsBoxes: boolean,
  stride: number,
  distance: DistanceName,
): boolean {
  if (ids.length === 0) return true;
  if ((shape === 'box') !== wantsBoxes || own !== stride) return false;
  if (distance !== 'geodesic') return true;
  for (let n = 0; n < coordinates.length; n += stride) if (!onEarth(coordinates[n], coordinates[n + 1])) return false;
  return true;
}

function unpack({ shape, stride, ids, coordinates, alone, kinds }: PackedObjects): Obj[] {
  return ids.map((id, n) => {
    const place = coordinates.slice(n * stride, (n + 1) * stride);
    const kind = kinds?.[n] ?? undefined;
    const own = { ...(alone && { alone: alone[n] }), ...(kind !== undefined && { kind }) };
    return shape === 'box' ? { id, box: place as Box, ...own } : { id, point: place, ...own };
  });
}

function aloneOf(alone: unknown, path: string, problems: Problem[]): number {
  if (typeof alone === 'number' && alone >= 0) return alone;
  problems.push({
    path,
    value: alone,
    message:
      'must be a number, at least 0: what the object costs at most when it is missed or false, in the unit of the distance',
  });
  return 0;
}

function kindOf(kind: unknown, path: string, problems: Problem[]): string | null {
  if (typeof kind === 'string') return kind;
  problems.push({ path, value: kind, message: 'must be a string: only objects of the same kind are pairs' });
  return null;
}

function equal(ids: readonly (string | null)[], others: readonly (string | null)[]): boolean {
  if (ids.length !== others.length) return false;
  for (let n = 0; n < ids.length; n++) if (ids[n] !== others[n]) return false;
  return true;
}

const LATITUDE_MAX = 90;
const LONGITUDE_MAX = 360;

const onEarth = (latitude: number, longitude: number) =>
  Math.abs(latitude) <= LATITUDE_MAX && Math.abs(longitude) <= LONGITUDE_MAX;

/** Says what is wrong with an object that did not pass. */
function objectProblems(
  object: { box?: unknown; point?: unknown },
  wantsBoxes: boolean,
  stride: number,
  distance: DistanceName,
  place: string,
  problems: Problem[],
): void {
  const [key, other] = wantsBoxes ? (['box', 'point'] as const) : (['point', 'box'] as const);
  const list = object[key];
  if (object[other] !== undefined) {
    problems.push({
      path: `${place}.${other}`,
      value: object[other],
      message: `distance ${distance} compares ${wantsBoxes ? 'boxes' : 'points'} and they cannot be mixed; give ${key}, or choose a distance for ${wantsBoxes ? 'points' : 'boxes'}`,
    });
    return;
  }
  if (!Array.isArray(list)) {
    problems.push({
      path: `${place}.${key}`,
      value: list,
      message: wantsBoxes
        ? 'is missing; expected [left, top, width, height]'
        : 'is missing; expected a list of coordinates',
    });
    return;
  }
  if (list.length !== stride) {
    const shape = wantsBoxes
      ? '[left, top, width, height]'
      : distance === 'geodesic'
        ? stride === 3
          ? '[latitude, longitude, altitude], as the first point has'
          : '[latitude, longitude]'
        : list.length === 0
          ? 'at least one coordinate'
          : `${stride} coordinates, as the first point has`;
    problems.push({ path: `${place}.${key}`, value: list, message: `has ${list.length} numbers; expected ${shape}` });
    return;
  }
  for (let d = 0; d < stride; d++) {
    const value = list[d];
    const path = `${place}.${key}[${d}]`;
    if (typeof value !== 'number' || !Number.isFinite(value))
      problems.push({ path, value, message: 'must be a finite number' });
    else if (wantsBoxes && d >= 2 && value <= 0)
      problems.push({
        path,
        value,
        message: `the ${d === 2 ? 'width' : 'height'} of a box must be above 0; drop the object or repair it`,
      });
  }
  if (distance === 'geodesic') earthProblems(list, `${place}.${key}`, problems);
}

/** Says which of latitude and longitude is nowhere on Earth. */
function earthProblems(list: unknown[], path: string, problems: Problem[]): void {
  [LATITUDE_MAX, LONGITUDE_MAX].forEach((most, d) => {
    const degrees = list[d];
    if (!finite(degrees) || Math.abs(degrees) <= most) return;
    const name = d === 0 ? 'latitude' : 'longitude';
    problems.push({
      path,
      value: list,
      message: `must be [latitude, longitude] in degrees, ${name} within -${most} and ${most}`,
    });
  });
}

const finite = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
