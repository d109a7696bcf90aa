/**
 * The objects of one feed at one moment, in two forms. Packed, ids and coordinates in one list each, is how they travel
 * from the edge to the log and into the window's flat arrays: nearly nobody on the way looks at a single object. One by
 * one is for people: JSON, files, the page. Both forms are plain data and are not changed once they are made.
 */
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
}

/** Objects packed; classes and confidences only where an object has one, null for those without. */
export interface PackedList extends PackedObjects {
  classes?: Array<string | null>;
  confidences?: Array<number | null>;
}

/** One feed's objects at one moment, checked; at least one of `k` (frame number) and `t` (epoch seconds). */
export interface FeedPart {
  /** whole for native frames; frames of a foreign message have fractions before the message's own number */
  seq: number;
  k?: number;
  t?: number;
  objects: PackedList;
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
    if (object.class !== undefined) {
      list.classes ??= new Array<null>(count).fill(null);
      list.classes[n] = object.class;
    }
    if (object.confidence !== undefined) {
      list.confidences ??= new Array<null>(count).fill(null);
      list.confidences[n] = object.confidence;
    }
  }
  return list;
}

const coordinatesOf = ({ box, point }: WireObject): readonly number[] => box ?? point!;

/** The objects one by one. */
export function unpack({ ids, shape, stride, coordinates, classes, confidences }: PackedList): WireObject[] {
  return ids.map((id, n) => {
    const place = coordinates.slice(n * stride, (n + 1) * stride);
    const object: WireObject = shape === 'box' ? { id, box: place as Box } : { id, point: place };
    const kind = classes?.[n] ?? null;
    if (kind !== null) object.class = kind;
    const confidence = confidences?.[n] ?? null;
    if (confidence !== null) object.confidence = confidence;
    return object;
  });
}

/** The objects whose class and confidence are wanted; null stands for none. */
export function select(
  list: PackedList,
  wanted: (kind: string | null, confidence: number | null) => boolean,
): PackedList {
  const { shape, stride, ids, coordinates, classes, confidences } = list;
  const kept: number[] = [];
  for (let n = 0; n < ids.length; n++) if (wanted(classes?.[n] ?? null, confidences?.[n] ?? null)) kept.push(n);
  if (kept.length === ids.length) return list;
  return {
    shape,
    stride,
    ids: kept.map((n) => ids[n]),
    coordinates: kept.flatMap((n) => coordinates.slice(n * stride, (n + 1) * stride)),
    ...(classes ? { classes: kept.map((n) => classes[n]) } : {}),
    ...(confidences ? { confidences: kept.map((n) => confidences[n]) } : {}),
  };
}
