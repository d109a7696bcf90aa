/**
 * How far a place is from the border of a region, and on which side: in a plane by the Euclidean or the maximum norm,
 * or on Earth along great circles. Each is a distance to a set of places, hence 1-Lipschitz in the distance it is in.
 */
import { LEAST_RADIUS_M } from '../metric/earth.js';
import { centreOf, cross, dot, unit, unitVector, type Vector } from './earth.js';
import type { Ring } from './region.js';

export interface Border {
  contains(x: number, y: number): boolean;
  /** distance to the border, or `most` when it is farther away */
  distance(x: number, y: number, most: number): number;
}

/** How far a corner of a vector is away: the Euclidean or the maximum norm. */
export type Norm = 'euclidean' | 'maximum';

/** Flat: x, y of both ends of every edge. */
function edgesOf(rings: readonly Ring[]): Float64Array {
  const flat = rings.flatMap((ring) =>
    ring.flatMap(([x, y], n) => {
      const [toX, toY] = ring[(n + 1) % ring.length];
      return [x, y, toX, toY];
    }),
  );
  return Float64Array.from(flat);
}

/** Whether a place is inside an odd number of rings. */
export function isInside(edges: Float64Array, x: number, y: number): boolean {
  let inside = false;
  for (let n = 0; n < edges.length; n += 4) {
    const [fromY, toY] = [edges[n + 1], edges[n + 3]];
    if (fromY > y === toY > y) continue;
    const crossing = edges[n] + ((y - fromY) / (toY - fromY)) * (edges[n + 2] - edges[n]);
    if (crossing > x) inside = !inside;
  }
  return inside;
}

export function planeBorder(rings: readonly Ring[], norm: Norm): Border {
  const edges = edgesOf(rings);
  const toSegment = norm === 'euclidean' ? euclideanToSegment : maximumToSegment;
  return {
    contains: (x, y) => isInside(edges, x, y),
    distance(x, y, most) {
      let least = most;
      for (let n = 0; n < edges.length; n += 4) {
        const fromX = edges[n] - x;
        const fromY = edges[n + 1] - y;
        const toX = edges[n + 2] - x;
        const toY = edges[n + 3] - y;
        // too far along one axis
        if (Math.min(fromX, toX) > least || Math.max(fromX, toX) < -least) continue;
        if (Math.min(fromY, toY) > least || Math.max(fromY, toY) < -least) continue;
        least = Math.min(least, toSegment(fromX, fromY, toX - fromX, toY - fromY));
      }
      return least;
    },
  };
}

/** Of the origin to a segment, by where it begins and how far it goes. */
function euclideanToSegment(x: number, y: number, dx: number, dy: number): number {
  const squared = dx * dx + dy * dy;
  const share = squared > 0 ? Math.min(1, Math.max(0, -(x * dx + y * dy) / squared)) : 0;
  return Math.hypot(x + share * dx, y + share * dy);
}

/** The same by the maximum norm: least at an end, where a coordinate is 0, or where both are equally large. */
function maximumToSegment(x: number, y: number, dx: number, dy: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (const share of [0, 1, -x / dx, -y / dy, (y - x) / (dx - dy), -(x + y) / (dx + dy)])
    if (share >= 0 && share <= 1) least = Math.min(least, Math.max(Math.abs(x + share * dx), Math.abs(y + share * dy)));
  return least;
}

interface GreatCircleEdge {
  from: Vector;
  to: Vector;
  /** normal of its great circle */
  normal: Vector;
  middle: Vector;
  /** from the middle to an end, radians */
  half: number;
}

/** Rings of [latitude, longitude], within a hemisphere (`fitsHemisphere`); edges are great circles. */
export function earthBorder(rings: readonly Ring[]): Border {
  const corners = rings.map((ring) => ring.map(([latitude, longitude]) => unitVector(latitude, longitude)));
  const centre = centreOf(corners.flat());
  const edges = corners.flatMap((ring) => ring.map((from, n) => greatCircleEdge(from, ring[(n + 1) % ring.length])));
  // seen from the centre of the Earth, great circles are straight lines
  const flat = flattened(corners, centre);
  return {
    contains(latitude, longitude) {
      const place = flatPlace(unitVector(latitude, longitude), centre);
      return place !== null && isInside(flat, place[0], place[1]);
    },
    distance(latitude, longitude, most) {
      const place = unitVector(latitude, longitude);
      let least = Math.min(Math.PI, most / LEAST_RADIUS_M);
      for (const edge of edges) least = Math.min(least, toEdge(place, edge, least));
      return Math.min(most, least * LEAST_RADIUS_M);
    },
  };
}

/** Two axes across a direction. */
function axesAcross(centre: Vector): [Vector, Vector] {
  const helper: Vector = Math.abs(centre[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0];
  const first = unit(cross(helper, centre));
  return [first, cross(centre, first)];
}

function flatPlace(place: Vector, centre: Vector): [number, number] | null {
  const height = dot(place, centre);
  if (height <= 1e-9) return null;
  const [first, second] = axesAcross(centre);
  return [dot(place, first) / height, dot(place, second) / height];
}

const flattened = (corners: readonly Vector[][], centre: Vector): Float64Array =>
  edgesOf(corners.map((ring) => ring.map((corner) => flatPlace(corner, centre) ?? [0, 0])));

function greatCircleEdge(from: Vector, to: Vector): GreatCircleEdge {
  const middle = unit([from[0] + to[0], from[1] + to[1], from[2] + to[2]]);
  return { from, to, normal: unit(cross(from, to)), middle, half: angle(from, middle) };
}

function angle(a: Vector, b: Vector): number {
  const [x, y, z] = cross(a, b);
  return Math.atan2(Math.hypot(x, y, z), dot(a, b));
}

/** Radians to an edge; `most` when it is certainly no nearer. */
function toEdge(place: Vector, { from, to, normal, middle, half }: GreatCircleEdge, most: number): number {
  const reach = most + half;
  if (reach < Math.PI && dot(place, middle) < Math.cos(reach) - 1e-15) return most;
  if (dot(cross(normal, from), place) >= 0 && dot(cross(to, normal), place) >= 0)
    return Math.abs(Math.asin(Math.max(-1, Math.min(1, dot(place, normal)))));
  return Math.min(angle(place, from), angle(place, to));
}
