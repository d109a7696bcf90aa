/**
 * Where an object is, and how far and in which direction another lies from it: boxes by their centres, points as they
 * are, latitude and longitude in metres north and east (WGS84, for places that are not far apart).
 */

import { degreesAt } from '../metric/earth.js';
import type { Obj } from '../metric/evaluation.js';

export type Plane = 'flat' | 'earth';

export function placeOf(object: Obj): number[] {
  if (!('box' in object)) return object.point;
  const [left, top, width, height] = object.box;
  return [left + width / 2, top + height / 2];
}

/** From one place to another. */
export function displacement(from: readonly number[], to: readonly number[], plane: Plane): number[] {
  if (plane === 'flat') return from.map((value, d) => to[d] - value);
  const { north, east } = degreesAt((from[0] + to[0]) / 2);
  // the short way around the Earth
  const turn = ((((to[1] - from[1] + 180) % 360) + 360) % 360) - 180;
  const up = from.slice(2).map((value, d) => to[2 + d] - value);
  return [(to[0] - from[0]) * north, turn * east, ...up];
}
