/**
 * The objects of one part, in one of two forms: one by one, as JSON has them, or packed, ids and coordinates in one list each. Frames from
 * the scanner are packed: nearly all of them go to the log and into the window's flat arrays without anybody looking at single objects.
 * Both forms are plain data and are not changed once they are made.
 */
import type { Box } from '../metric/evaluation.js';
import type { PackedObjects } from '../metric/frame.js';

/** One object as it came over the wire: exactly one of `box` and `point`. */
export interface WireObject {
  id: string;
  box?: Box;
  point?: number[];
  class?: string;
  confidence?: number;
}

/** Whether the objects of a stream are boxes or points. */
export type Shape = 'box' | 'point';

/** Objects of one part, packed; classes and confidences only where an object has one, null for those without. */
export interface PackedList extends PackedObjects {
  classes?: Array<string | null>;
  confidences?: Array<number | null>;
}

export type ObjectList = readonly WireObject[] | PackedList;

/** One feed's objects at one step, validated; at least one of `k` (frame number) and `t` (epoch seconds). */
export interface FramePart {
  /** whole for native frames; frames of a foreign message have fractions before the message's own number */
  seq: number;
  k?: number;
  t?: number;
  objects: WireObject[];
}

/** A part as it travels from the edge on: its objects may be packed. */
export interface FeedPart extends Omit<FramePart, 'objects'> {
  objects: ObjectList;
}

export const isPacked = (list: ObjectList): list is PackedList => !Array.isArray(list);

export const countOf = (list: ObjectList): number => (isPacked(list) ? list.ids.length : list.length);

/** The number of coordinates of points; 0 when there are boxes, or nothing. */
export function dimensionsOf(list: ObjectList): number {
  if (!isPacked(list)) return list[0]?.point?.length ?? 0;
  return list.shape === 'point' && list.ids.length > 0 ? list.stride : 0;
}

/** The objects one by one. */
export function listed(list: ObjectList): readonly WireObject[] {
  if (!isPacked(list)) return list;
  const { ids, shape, stride, coordinates, classes, confidences } = list;
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
