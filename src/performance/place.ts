/**
 * Where an object is, and how far and in which direction another lies from it: boxes by their centres, points as they
 * are, latitude and longitude in metres north and east (WGS84, for places that are not far apart), poles included.
 */

import { degreesAt, geodesicLength } from '../metric/earth.js';
import type { Obj } from '../metric/evaluation.js';

export type Plane = 'flat' | 'earth';

export function placeOf(object: Obj): number[] {
  if (!('box' in object)) return object.point;
  const [left, top, width, height] = object.box;
  return [left + width / 2, top + height / 2];
}

/** degrees of latitude beyond which directions turn too fast for differences of latitude and longitude */
const POLAR = 80;
const RADIANS = Math.PI / 180;

/** From one place to another; on Earth metres north, east and up as seen from the first. */
export function displacement(from: readonly number[], to: readonly number[], plane: Plane): number[] {
  if (plane === 'flat') return from.map((value, d) => to[d] - value);
  const up = from.slice(2).map((value, d) => to[2 + d] - value);
  if (Math.max(Math.abs(from[0]), Math.abs(to[0])) > POLAR) return [...acrossPole(from, to), ...up];
  const { north, east } = degreesAt((from[0] + to[0]) / 2);
  return [(to[0] - from[0]) * north, turnBetween(from[1], to[1]) * east, ...up];
}

/** The velocity at a place, from one before it and one after it, so much later. */
export function velocityAt(
  at: readonly number[],
  before: readonly number[],
  after: readonly number[],
  time: number,
  plane: Plane,
): number[] {
  // both as seen from there: near a pole north is elsewhere for each of them
  const back = displacement(at, before, plane);
  return displacement(at, after, plane).map((value, d) => (value - back[d]) / time);
}

/** A share of the way from one place to another. */
export function placeBetween(from: readonly number[], to: readonly number[], share: number, plane: Plane): number[] {
  const straight = from.map((value, d) => value + (to[d] - value) * share);
  if (plane === 'flat') return straight;
  if (Math.max(Math.abs(from[0]), Math.abs(to[0])) <= POLAR) {
    straight[1] = from[1] + turnBetween(from[1], to[1]) * share;
    return straight;
  }
  const [a, b] = [direction(from), direction(to)];
  const [x, y, z] = a.map((value, d) => value + (b[d] - value) * share);
  return [Math.atan2(z, Math.hypot(x, y)) / RADIANS, Math.atan2(y, x) / RADIANS, ...straight.slice(2)];
}

/** Degrees east, the short way around the Earth. */
const turnBetween = (from: number, to: number): number => ((((to - from + 180) % 360) + 360) % 360) - 180;

const direction = ([latitude, longitude]: readonly number[]): number[] => {
  const [phi, lambda] = [latitude * RADIANS, longitude * RADIANS];
  return [Math.cos(phi) * Math.cos(lambda), Math.cos(phi) * Math.sin(lambda), Math.sin(phi)];
};

/** North and east: in the direction in which the other place is seen, as far as it is on the ellipsoid. */
function acrossPole(from: readonly number[], to: readonly number[]): [north: number, east: number] {
  const [phi, otherPhi] = [from[0] * RADIANS, to[0] * RADIANS];
  const turn = turnBetween(from[1], to[1]) * RADIANS;
  const east = Math.cos(otherPhi) * Math.sin(turn);
  const north = Math.cos(phi) * Math.sin(otherPhi) - Math.sin(phi) * Math.cos(otherPhi) * Math.cos(turn);
  const length = Math.hypot(north, east);
  if (length === 0) return [0, 0];
  const metres = geodesicLength(from[0], from[1], to[0], to[1]);
  return [(metres * north) / length, (metres * east) / length];
}
