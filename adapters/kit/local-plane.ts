/**
 * Feeds whose points are metres east, north and perhaps up of a place, as radars and simulators have them: where that
 * is on Earth (WGS84). With a height above the plane the point itself; without, the place on the ground straight below
 * or above it, as high above the ellipsoid as the origin. So such a feed is compared with latitudes and longitudes by
 * geodesics, and nothing depends on how far away the origin is.
 */
import { EQUATOR_M, FLATTENING } from '../../src/metric/earth.js';
import type { OptionTable } from './options.js';

export const ORIGIN_OPTIONS = {
  origin: {
    kind: 'numbers',
    help: 'points are metres east, north and perhaps up of this latitude and longitude (and altitude), WGS84: they become latitude, longitude and altitude',
  },
} as const satisfies OptionTable;

const RADIANS = Math.PI / 180;
const ECCENTRICITY_SQUARED = FLATTENING * (2 - FLATTENING);
const TURNS_MAX = 20;
/** metres: heights that differ by less are the same */
const SAME_M = 1e-6;

type Vector = [number, number, number];

/** What is wrong with an origin; null: nothing. */
export function originProblem(origin: readonly number[] | undefined): string | null {
  if (origin === undefined) return null;
  const [latitude, longitude] = origin;
  const isPlace =
    (origin.length === 2 || origin.length === 3) && Math.abs(latitude) <= 90 && Math.abs(longitude) <= 360;
  return isPlace ? null : 'must be a latitude and a longitude in degrees, and perhaps an altitude in metres';
}

/** Where a point of the plane around an origin is: latitude and longitude, with its altitude if it has one. */
export function placeOnEarth(origin: readonly number[], [east, north, up]: readonly number[]): number[] {
  const [latitude, longitude, height = 0] = origin;
  const at = (above: number) => geodetic(fromPlane(latitude, longitude, height, [east, north, above]));
  if (up !== undefined) return at(up);
  // the ground bends away from the plane: go down by what is left above it until nothing is
  let above = -(east * east + north * north) / (2 * EQUATOR_M);
  for (let turn = 0; turn < TURNS_MAX; turn++) {
    const [lat, lon, altitude] = at(above);
    if (Math.abs(altitude - height) < SAME_M) return [lat, lon];
    above -= altitude - height;
  }
  return at(above).slice(0, 2);
}

/** From the centre of the Earth. */
function fromPlane(latitude: number, longitude: number, height: number, [east, north, up]: Vector): Vector {
  const [phi, lambda] = [latitude * RADIANS, longitude * RADIANS];
  const [sinPhi, cosPhi, sin, cos] = [Math.sin(phi), Math.cos(phi), Math.sin(lambda), Math.cos(lambda)];
  const normal = EQUATOR_M / Math.sqrt(1 - ECCENTRICITY_SQUARED * sinPhi * sinPhi);
  const out = (normal + height) * cosPhi + up * cosPhi - north * sinPhi;
  return [
    out * cos - east * sin,
    out * sin + east * cos,
    (normal * (1 - ECCENTRICITY_SQUARED) + height) * sinPhi + north * cosPhi + up * sinPhi,
  ];
}

/** Latitude, longitude and altitude; at the poles too. */
function geodetic([x, y, z]: Vector): Vector {
  const across = Math.hypot(x, y);
  let phi = Math.atan2(z, across * (1 - ECCENTRICITY_SQUARED));
  for (let turn = 0; turn < TURNS_MAX; turn++) {
    const sine = Math.sin(phi);
    const normal = EQUATOR_M / Math.sqrt(1 - ECCENTRICITY_SQUARED * sine * sine);
    const next = Math.atan2(z + ECCENTRICITY_SQUARED * normal * sine, across);
    const done = Math.abs(next - phi) < 1e-15;
    phi = next;
    if (done) break;
  }
  const sine = Math.sin(phi);
  const normal = EQUATOR_M / Math.sqrt(1 - ECCENTRICITY_SQUARED * sine * sine);
  // by whichever of both is long
  const altitude =
    Math.cos(phi) > 0.7 ? across / Math.cos(phi) - normal : z / sine - normal * (1 - ECCENTRICITY_SQUARED);
  return [phi / RADIANS, Math.atan2(y, x) / RADIANS, altitude];
}
