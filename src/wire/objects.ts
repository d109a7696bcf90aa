/**
 * The objects of one feed at one moment, in two forms. Packed, ids and coordinates in one list each, is how they travel
 * from the edge to the log and into the window's flat arrays: nearly nobody on the way looks at a single object. One by
 * one is for people: JSON, files, the page. Both forms are plain data and are not changed once they are made.
 */
import type { Region } from '../coverage/region.js';
import type { Box } from '../metric/evaluation.js';
import type { PackedObjects } from '../metric/frame.js';

/** Whether the objects of a stream are boxes or points. */
export type Shape = 'box' | 'point';

/** One object: exactly one of `box` and `point`. */
export interface WireObject {
  id: string;
  box?: Box;
  point?: number[];
  class?: string;
  confidence?: number;
  /** its own time, epoch seconds, where that is not the frame's */
  t?: number;
  /** units per second along each axis; on Earth metres per second east, north and up */
  velocity?: number[];
  /** of the reference: neither it nor what is close to it is judged */
  ignore?: boolean;
}

/** One object at its own time. Without a place it only says that the object has ended. */
export interface ObjectReport extends WireObject {
  t: number;
  end?: boolean;
}

/**
 * Objects packed; what only some objects have is there when one has it, null for those without. An object that has
 * ended without a place has NaN for coordinates.
 */
export interface PackedList extends PackedObjects {
  classes?: Array<string | null>;
  confidences?: Array<number | null>;
  times?: Array<number | null>;
  velocities?: Array<number[] | null>;
  ignored?: Array<boolean | null>;
  ended?: Array<boolean | null>;
}

/** One feed's objects at one moment, checked; at least one of `k` (frame number) and `t` (epoch seconds). */
export interface FeedPart {
  /** whole for native frames; frames of a foreign message have fractions before the message's own number */
  seq: number;
  k?: number;
  t?: number;
  objects: PackedList;
  /** the objects are reports, each at its own time; one that is absent is not gone */
  reports?: true;
  /** regions in which nothing is judged at this moment; of a reference */
  ignore?: Region[];
}

export const NO_OBJECTS: PackedList = { shape: 'box', stride: 0, ids: [], coordinates: [] };

/** The number of coordinates of points; 0 when there are boxes, or nothing. */
export const dimensionsOf = ({ shape, ids, stride }: PackedList): number =>
  shape === 'point' && ids.length > 0 ? stride : 0;

/** Objects of one shape and dimension, which has been checked. */
export function pack(objects: readonly WireObject[]): PackedList {
  const count = objects.length;
  if (count === 0) return NO_OBJECTS;
  const shape = objects[0].box ? 'box' : 'point';
  const stride = coordinatesOf(objects[0]).length;
  const ids: string[] = new Array(count);
  const coordinates: number[] = [];
  const list: PackedList = { shape, stride, ids, coordinates };
  for (let n = 0; n < count; n++) {
    const object = objects[n];
    ids[n] = object.id;
    const place = coordinatesOf(object);
    for (let d = 0; d < stride; d++) coordinates.push(place[d]);
    packExtras(list, n, object);
  }
  return list;
}

function packExtras(list: PackedList, n: number, object: WireObject & { end?: boolean }): void {
  const { class: kind, confidence, t, velocity, ignore, end } = object;
  if (kind !== undefined) putExtra(list, 'classes', n, kind);
  if (confidence !== undefined) putExtra(list, 'confidences', n, confidence);
  if (t !== undefined) putExtra(list, 'times', n, t);
  if (velocity !== undefined) putExtra(list, 'velocities', n, velocity);
  if (ignore) putExtra(list, 'ignored', n, true);
  if (end) putExtra(list, 'ended', n, true);
}

/** Adds what only some objects have. */
export function putExtra<K extends 'classes' | 'confidences' | 'times' | 'velocities' | 'ignored' | 'ended'>(
  list: PackedList,
  key: K,
  n: number,
  value: NonNullable<PackedList[K]>[number],
): void {
  const all = (list[key] ?? new Array<null>(list.ids.length).fill(null)) as Array<typeof value>;
  all[n] = value;
  list[key] = all as PackedList[K];
}

const coordinatesOf = ({ box, point }: WireObject): readonly number[] => box ?? point!;

/** Reports of one shape and dimension; those without a place get NaN. */
export function packReports(reports: readonly ObjectReport[], shape: Shape, stride: number): PackedList {
  const nowhere = new Array<number>(stride).fill(Number.NaN);
  return pack(
    reports.map((report) => (report.box || report.point ? report : { ...report, [shape]: nowhere }) as WireObject),
  );
}

/** The objects one by one. */
export function unpack({ ids, shape, stride, coordinates, classes, confidences, ...extras }: PackedList): WireObject[] {
  return ids.map((id, n) => {
    const place = coordinates.slice(n * stride, (n + 1) * stride);
    const object: WireObject = shape === 'box' ? { id, box: place as Box } : { id, point: place };
    const kind = classes?.[n] ?? null;
    if (kind !== null) object.class = kind;
    const confidence = confidences?.[n] ?? null;
    if (confidence !== null) object.confidence = confidence;
    const t = extras.times?.[n] ?? null;
    if (t !== null) object.t = t;
    const velocity = extras.velocities?.[n] ?? null;
    if (velocity !== null) object.velocity = velocity;
    if (extras.ignored?.[n]) object.ignore = true;
    return object;
  });
}

/** The objects whose class and confidence are wanted; null stands for none. */
export function select(
  list: PackedList,
  wanted: (kind: string | null, confidence: number | null) => boolean,
): PackedList {
  const { ids, classes, confidences } = list;
  const kept: number[] = [];
  for (let n = 0; n < ids.length; n++) if (wanted(classes?.[n] ?? null, confidences?.[n] ?? null)) kept.push(n);
  return kept.length === ids.length ? list : pickFrom(list, kept);
}

/** The objects at these places of the list. */
export function pickFrom(list: PackedList, kept: readonly number[]): PackedList {
  const { shape, stride, ids, coordinates } = list;
  const picked: PackedList = {
    shape,
    stride,
    ids: kept.map((n) => ids[n]),
    coordinates: kept.flatMap((n) => coordinates.slice(n * stride, (n + 1) * stride)),
  };
  for (const key of EXTRAS) {
    const all = list[key];
    if (all) Object.assign(picked, { [key]: kept.map((n) => all[n]) });
  }
  return picked;
}

const EXTRAS = ['classes', 'confidences', 'times', 'velocities', 'ignored', 'ended', 'alone'] as const;
