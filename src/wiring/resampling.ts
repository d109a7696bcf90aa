/**
 * What a feed says between two of its parts: the last part held, or both neighbours joined by straight lines. Pure
 * functions on a list of parts in the order of their places.
 */
import type { FeedPart, PackedList } from '../wire/objects.js';

/** A part as it came. */
export interface Arrived {
  part: FeedPart;
  /** epoch milliseconds, for people */
  receivedMs: number;
  /** since when it waits, by the clock of the pairing, which time away does not move */
  sinceMs: number;
  /** came before the tracker was known: judged only when the tracker delivers it */
  optional?: boolean;
}

/** A part in a lane; `x` is its place on the axis, after jumps have been straightened out. */
export interface Placed extends Arrived {
  x: number;
  /** numbering it belongs to */
  epoch?: number;
}

/** Puts a part where it belongs; behind others of the same place. */
export function insert(list: Placed[], placed: Placed): void {
  let at = list.length;
  while (at > 0 && list[at - 1].x > placed.x) at--;
  if (at === list.length) list.push(placed);
  else list.splice(at, 0, placed);
}

/** The first part that is at this place within the tolerance. */
export const firstAt = (list: Placed[], x: number, tolerance: number): Placed | undefined =>
  list.find((placed) => Math.abs(placed.x - x) <= tolerance);

/** The last part at or before this place; undefined when it is older than `ageMax`. */
export function heldAt(list: Placed[], x: number, ageMax: number): Placed | undefined {
  const before = list.findLast((placed) => placed.x <= x);
  return before && x - before.x <= ageMax ? before : undefined;
}

/** The objects between the part before this place and the one behind it; null when the first is older than `ageMax`. */
export function linearAt(list: Placed[], x: number, ageMax: number, geodetic: boolean): PackedList | null {
  const before = heldAt(list, x, ageMax);
  if (!before) return null;
  const after = list[list.indexOf(before) + 1];
  if (!after) return before.part.objects;
  return interpolate(before.part.objects, after.part.objects, (x - before.x) / (after.x - before.x), geodetic);
}

/** Objects of both parts move in a straight line; those that are only in the first stay where they were. */
export function interpolate(before: PackedList, after: PackedList, share: number, geodetic: boolean): PackedList {
  const { ids, shape, stride } = before;
  if (after.shape !== shape || after.stride !== stride) return before;
  const coordinates = before.coordinates.slice();
  const places = new Map(after.ids.map((id, n) => [id, n * stride]));
  for (let n = 0; n < ids.length; n++) {
    const goal = places.get(ids[n]);
    if (goal === undefined) continue;
    const place = n * stride;
    for (let d = 0; d < stride; d++) {
      const along = geodetic && d === 1 ? longitudeBetween : between;
      coordinates[place + d] = along(before.coordinates[place + d], after.coordinates[goal + d], share);
    }
  }
  return { ...before, coordinates };
}

const between = (from: number, to: number, share: number) => from + (to - from) * share;

/** The short way around, also across the 180th meridian. */
function longitudeBetween(from: number, to: number, share: number): number {
  const turn = ((((to - from + 180) % 360) + 360) % 360) - 180;
  const longitude = from + turn * share;
  return longitude > 180 ? longitude - 360 : longitude < -180 ? longitude + 360 : longitude;
}
