/**
 * Directions on Earth for borders of regions: unit vectors by geographic latitude and longitude, and where one gets in
 * a direction (WGS84, Vincenty's direct formula; 0.1 mm within the ranges a sector may have).
 */

import { EQUATOR_M, FLATTENING } from '../metric/earth.js';

const RADIANS = Math.PI / 180;
const POLE_M = EQUATOR_M * (1 - FLATTENING);

export type Vector = readonly [number, number, number];

export function unitVector(latitude: number, longitude: number): Vector {
  const [phi, lambda] = [latitude * RADIANS, longitude * RADIANS];
  return [Math.cos(phi) * Math.cos(lambda), Math.cos(phi) * Math.sin(lambda), Math.sin(phi)];
}

export const dot = (a: Vector, b: Vector): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

export const cross = (a: Vector, b: Vector): Vector => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];

export function unit(a: Vector): Vector {
  const length = Math.hypot(a[0], a[1], a[2]);
  return length > 0 ? [a[0] / length, a[1] / length, a[2] / length] : a;
}

/** The direction of the middle of several; of none when they are all around. */
export function centreOf(corners: readonly Vector[]): Vector {
  const sum: [number, number, number] = [0, 0, 0];
  for (const corner of corners) for (let d = 0; d < 3; d++) sum[d] += corner[d];
  return unit(sum);
}

/** Whether places lie within a hemisphere around their middle, a degree away from its edge. */
export function fitsHemisphere(places: readonly (readonly [number, number])[]): boolean {
  const corners = places.map(([latitude, longitude]) => unitVector(latitude, longitude));
  const centre = centreOf(corners);
  return corners.every((corner) => dot(corner, centre) > Math.sin(RADIANS));
}

/** Where one gets from a place in a direction (degrees clockwise from north) after so many metres. */
export function destination(
  [latitude, longitude]: readonly [number, number],
  azimuth: number,
  metres: number,
): [number, number] {
  const f = FLATTENING;
  const alpha = azimuth * RADIANS;
  const tanU = (1 - f) * Math.tan(latitude * RADIANS);
  const cosU = 1 / Math.hypot(1, tanU);
  const sinU = tanU * cosU;
  const sigma1 = Math.atan2(tanU, Math.cos(alpha));
  const sinAlpha = cosU * Math.sin(alpha);
  const cosSqAlpha = 1 - sinAlpha * sinAlpha;
  const uSq = (cosSqAlpha * (EQUATOR_M ** 2 - POLE_M ** 2)) / POLE_M ** 2;
  const a = 1 + (uSq / 16384) * (4096 + uSq * (-768 + uSq * (320 - 175 * uSq)));
  const b = (uSq / 1024) * (256 + uSq * (-128 + uSq * (74 - 47 * uSq)));
  const straight = metres / (POLE_M * a);
  let sigma = straight;
  let cos2m = 0;
  for (let turn = 0; turn < 20; turn++) {
    cos2m = Math.cos(2 * sigma1 + sigma);
    const sin = Math.sin(sigma);
    const inner = Math.cos(sigma) * (2 * cos2m ** 2 - 1) - (b / 6) * cos2m * (4 * sin ** 2 - 3) * (4 * cos2m ** 2 - 3);
    const next = straight + b * sin * (cos2m + (b / 4) * inner);
    const done = Math.abs(next - sigma) < 1e-13;
    sigma = next;
    if (done) break;
  }
  const [sin, cos] = [Math.sin(sigma), Math.cos(sigma)];
  cos2m = Math.cos(2 * sigma1 + sigma);
  const ahead = sinU * sin - cosU * cos * Math.cos(alpha);
  const phi = Math.atan2(sinU * cos + cosU * sin * Math.cos(alpha), (1 - f) * Math.hypot(sinAlpha, ahead));
  const lambda = Math.atan2(sin * Math.sin(alpha), cosU * cos - sinU * sin * Math.cos(alpha));
  const c = (f / 16) * cosSqAlpha * (4 + f * (4 - 3 * cosSqAlpha));
  const turn = sigma + c * sin * (cos2m + c * cos * (2 * cos2m ** 2 - 1));
  const lon = longitude + (lambda - (1 - c) * f * sinAlpha * turn) / RADIANS;
  return [phi / RADIANS, lon > 180 ? lon - 360 : lon < -180 ? lon + 360 : lon];
}
