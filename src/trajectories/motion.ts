/**
 * Where an object is between two of its reports: on a straight line, on Earth along a great circle; velocities, where
 * they are given, bend it (cubic Hermite). After its last report it goes on as it went, or stays if it is the only one.
 *
 * Times are milliseconds. Velocities are units per second along each axis; on Earth metres per second east, north, up.
 */
import { dot, unitVector, type Vector } from '../coverage/earth.js';
import { degreesAt } from '../metric/earth.js';

export interface Motion {
  /** epoch milliseconds */
  t: number;
  place: number[];
  velocity?: number[] | null;
}

const RADIANS = Math.PI / 180;

export function between(from: Motion, to: Motion, t: number, onEarth: boolean): number[] {
  const share = (t - from.t) / (to.t - from.t);
  const straight = onEarth ? alongGreatCircle(from.place, to.place, share) : alongLine(from.place, to.place, share);
  return from.velocity || to.velocity ? bent(straight, from, to, share, onEarth) : straight;
}

/** So long after its last report. */
export function onwards({ t: last, place, velocity }: Motion, t: number, onEarth: boolean): number[] {
  if (!velocity) return place;
  const seconds = (t - last) / 1000;
  return moved(
    place,
    velocity.map((speed) => speed * seconds),
    onEarth,
  );
}

/** After the last of two reports without velocities: on as it came from the one to the other. */
export function beyond(from: Motion, to: Motion, t: number, onEarth: boolean): number[] {
  const share = (t - to.t) / (to.t - from.t);
  const way = onEarth ? wayOnEarth(from.place, to.place) : to.place.map((value, d) => value - from.place[d]);
  return moved(
    to.place,
    way.map((length) => length * share),
    onEarth,
  );
}

const alongLine = (from: readonly number[], to: readonly number[], share: number): number[] =>
  from.map((value, d) => value + (to[d] - value) * share);

function alongGreatCircle(from: readonly number[], to: readonly number[], share: number): number[] {
  const [a, b] = [unitVector(from[0], from[1]), unitVector(to[0], to[1])];
  const angle = Math.acos(Math.max(-1, Math.min(1, dot(a, b))));
  // so close together that a line is as good, and opposite places have no way between them
  const [first, second] =
    angle < 1e-6 || angle > Math.PI - 1e-6
      ? [1 - share, share]
      : [Math.sin((1 - share) * angle) / Math.sin(angle), Math.sin(share * angle) / Math.sin(angle)];
  const along: Vector = [first * a[0] + second * b[0], first * a[1] + second * b[1], first * a[2] + second * b[2]];
  const latitude = Math.atan2(along[2], Math.hypot(along[0], along[1])) / RADIANS;
  const longitude = Math.atan2(along[1], along[0]) / RADIANS;
  return [latitude, longitude, ...alongLine(from.slice(2), to.slice(2), share)];
}

function bent(straight: number[], from: Motion, to: Motion, share: number, onEarth: boolean): number[] {
  const seconds = (to.t - from.t) / 1000;
  const way = onEarth ? wayOnEarth(from.place, to.place) : to.place.map((value, d) => value - from.place[d]);
  const start = share * (1 - share) ** 2;
  const end = -(share ** 2) * (1 - share);
  const offset = way.map((length, d) => {
    const more = (velocity: number[] | null | undefined) =>
      velocity?.[d] === undefined ? 0 : velocity[d] * seconds - length;
    return start * more(from.velocity) + end * more(to.velocity);
  });
  return moved(straight, offset, onEarth);
}

/** Metres east, north and up. */
function wayOnEarth(from: readonly number[], to: readonly number[]): number[] {
  const { north, east } = degreesAt((from[0] + to[0]) / 2);
  const turn = ((((to[1] - from[1] + 180) % 360) + 360) % 360) - 180;
  return [turn * east, (to[0] - from[0]) * north, ...to.slice(2).map((value, d) => value - from[2 + d])];
}

function moved(place: readonly number[], offset: readonly number[], onEarth: boolean): number[] {
  if (!onEarth) return place.map((value, d) => value + (offset[d] ?? 0));
  const [east = 0, north = 0, up = 0] = offset;
  const degree = degreesAt(place[0]);
  const latitude = Math.max(-90, Math.min(90, place[0] + north / degree.north));
  const longitude = place[1] + east / Math.max(1e-4, degree.east);
  const turned = longitude > 180 ? longitude - 360 : longitude < -180 ? longitude + 360 : longitude;
  return [latitude, turned, ...place.slice(2).map((value, d) => value + (d === 0 ? up : 0))];
}
