/**
 * A region as people say it (a polygon, a sector of range and azimuth, a box, each with a band of altitude if they
 * like) and as it is measured: closed rings, of which a place is inside when it is inside an odd number of them.
 *
 * Places are [x, y], or [latitude, longitude] on Earth. Azimuths are degrees clockwise from the second axis, or from
 * north; ranges have the unit of the distance. Arcs become edges of one degree: 4e-5 of the radius off at most.
 */
import { destination, fitsHemisphere } from './earth.js';

export type Place = readonly [number, number];
export type Ring = readonly Place[];

export interface Sector {
  at: Place;
  /** from the first, up to the second */
  range: readonly [number, number];
  /** from the first clockwise to the second, degrees; all around when absent */
  azimuth?: readonly [number, number];
}

/** Exactly one of polygon, sector and box; `altitude` is lowest and highest. */
export interface Region {
  polygon?: readonly Place[];
  sector?: Sector;
  /** left, top, width, height */
  box?: readonly [number, number, number, number];
  altitude?: readonly [number, number];
}

/** What the settings of a stream say about its scene. */
export interface SceneFacts {
  /** address of a picture or floor plan */
  picture?: string;
  /** the reference is complete only inside these */
  regions?: readonly Region[];
  /** the tracker sees only inside these */
  within?: readonly Region[];
  /** nothing is judged inside these */
  ignore?: readonly Region[];
}

/** A place in a direction from another one, so far away. */
type Destination = (from: Place, azimuth: number, range: number) => Place;

const inPlane: Destination = ([x, y], azimuth, range) => {
  const angle = (azimuth * Math.PI) / 180;
  return [x + range * Math.sin(angle), y + range * Math.cos(angle)];
};

/** The rings of a region, on Earth or in a plane. */
export function ringsOf({ polygon, sector, box }: Region, onEarth: boolean): Ring[] {
  if (polygon) return [withoutLast(polygon)];
  if (box) {
    const [left, top, width, height] = box;
    const [right, bottom] = [left + width, top + height];
    return [
      [
        [left, top],
        [right, top],
        [right, bottom],
        [left, bottom],
      ],
    ];
  }
  return sector ? sectorRings(sector, onEarth ? destination : inPlane) : [];
}

/** A polygon may be closed by its first corner or not. */
function withoutLast(polygon: readonly Place[]): Ring {
  const [first, last] = [polygon[0], polygon[polygon.length - 1]];
  return polygon.length > 3 && first[0] === last[0] && first[1] === last[1] ? polygon.slice(0, -1) : polygon;
}

function sectorRings({ at, range: [near, far], azimuth }: Sector, to: Destination): Ring[] {
  const arc = (range: number, from: number, degrees: number, closed: boolean): Place[] => {
    const edges = Math.ceil(degrees);
    const corners = closed ? edges : edges + 1;
    return Array.from({ length: corners }, (_, n) => to(at, from + (degrees * n) / edges, range));
  };
  const width = azimuth ? widthOf(azimuth) : 360;
  if (width === 360) return near > 0 ? [arc(far, 0, 360, true), arc(near, 0, 360, true)] : [arc(far, 0, 360, true)];
  const outer = arc(far, azimuth![0], width, false);
  const inner = near > 0 ? arc(near, azimuth![0], width, false).reverse() : [at];
  return [[...outer, ...inner]];
}

/** Degrees from the first azimuth clockwise to the second; the same twice is all around. */
function widthOf([from, to]: readonly [number, number]): number {
  const width = (((to - from) % 360) + 360) % 360;
  return width === 0 ? 360 : width;
}

const SHAPES = ['polygon', 'sector', 'box'] as const;
export const ONE_SHAPE = 'exactly one of polygon, sector and box';

/** What is wrong with a region, and where; null when nothing is. */
export function regionProblem(region: Region, onEarth: boolean): { path: string; message: string } | null {
  const given = SHAPES.filter((key) => region[key] !== undefined);
  if (given.length !== 1) return { path: '', message: `give ${ONE_SHAPE}` };
  const wrong = region.sector ? sectorProblem(region.sector) : null;
  if (wrong) return wrong;
  if (region.polygon && withoutLast(region.polygon).length < 3)
    return { path: 'polygon', message: 'needs at least three corners' };
  if (region.box && !(region.box[2] > 0 && region.box[3] > 0))
    return { path: 'box', message: 'must be [left, top, width, height] with sides above 0' };
  if (region.altitude && !(region.altitude[0] < region.altitude[1]))
    return { path: 'altitude', message: 'must be the lowest and a higher highest altitude' };
  return onEarth ? earthProblem(region) : null;
}

function sectorProblem({ range: [near, far] }: Sector): { path: string; message: string } | null {
  if (near >= 0 && near < far) return null;
  return { path: 'sector.range', message: 'must be the nearest, at least 0, and a farther farthest range' };
}

function earthProblem(region: Region): { path: string; message: string } | null {
  const key = region.polygon ? 'polygon' : 'sector.at';
  if (region.box) return { path: 'box', message: 'a box is for pictures; give a polygon of [latitude, longitude]' };
  const places = region.polygon ?? [region.sector!.at];
  if (places.some(([latitude, longitude]) => Math.abs(latitude) > 90 || Math.abs(longitude) > 360))
    return { path: key, message: 'must be [latitude, longitude] in degrees' };
  // beyond, inside and outside cannot be told apart
  if (region.polygon && !fitsHemisphere(region.polygon))
    return { path: key, message: 'must lie within a hemisphere; give several regions instead' };
  if (region.sector && region.sector.range[1] > 5e6)
    return { path: 'sector.range', message: 'must be metres, at most 5,000 km' };
  return null;
}
