/**
 * What a feed says between two of its parts: the last part held, or both neighbours joined by straight lines. Pure
 * functions on a list of parts in the order of their places.
 */
import { type FeedPart, listed, type ObjectList, type WireObject } from '../wire/objects.js';

/** A part in a lane; `x` is its place on the axis, after jumps have been straightened out. */
export interface Placed {
  x: number;
  part: FeedPart;
  receivedMs: number;
  /** came before the tracker was known: judged only when the tracker delivers it */
  optional?: boolean;
}

/** Puts a part where it belongs; behind others of the same place. */
export function insert(list: Placed[], placed: Placed): void {
  let at = list.length;
  while (at > 0 && list[at - 1].x > placed.x) at--;
  if (at === list.length) list.push(placed);
  else list.splice(at, 0, placed);
}

/** The first part that is at this place within the tolerance. */
export const nearest = (list: Placed[], x: number, tolerance: number): Placed | undefined =>
  list.find((placed) => Math.abs(placed.x - x) <= tolerance);

/** The last part at or before this place; undefined when it is older than `ageMax`. */
export function heldAt(list: Placed[], x: number, ageMax: number): Placed | undefined {
  const before = list.findLast((placed) => placed.x <= x);
  return before && x - before.x <= ageMax ? before : undefined;
}

/** The objects between the part before this place and the one behind it; null when the first is older than `ageMax`. */
export function linearAt(list: Placed[], x: number, ageMax: number, geodetic: boolean): ObjectList | null {
  const before = heldAt(list, x, ageMax);
  if (!before) return null;
  const after = list[list.indexOf(before) + 1];
  if (!after) return before.part.objects;
  return interpolate(before.part.objects, after.part.objects, (x - before.x) / (after.x - before.x), geodetic);
}

/** Objects of both frames move in a straight line; those that are only in the first stay where they were. */
function interpolate(before: ObjectList, after: ObjectList, share: number, geodetic: boolean): WireObject[] {
  const next = new Map(listed(after).map((object) => [object.id, object]));
  return listed(before).map((object) => {
    const goal = next.get(object.id);
    if (object.box && goal?.box) {
      const from = object.box;
      return { ...object, box: goal.box.map((value, d) => between(from[d], value, share)) as typeof from };
    }
    if (!object.point || goal?.point?.length !== object.point.length) return object;
    const from = object.point;
    const point = goal.point.map((value, d) => between(from[d], value, share));
    if (geodetic) point[1] = longitudeBetween(from[1], goal.point[1], share);
    return { ...object, point };
  });
}

const between = (from: number, to: number, share: number) => from + (to - from) * share;

/** The short way around, also across the 180th meridian. */
function longitudeBetween(from: number, to: number, share: number): number {
  const turn = ((((to - from + 180) % 360) + 360) % 360) - 180;
  const longitude = from + turn * share;
  return longitude > 180 ? longitude - 360 : longitude < -180 ? longitude + 360 : longitude;
}
