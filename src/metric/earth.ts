/**
 * How far two places on Earth are apart: the length of the geodesic on the ellipsoid WGS84, in metres.
 *
 * Nearby, from the chord, which needs no iteration: an arc is longer by what its curvature halfway makes of it. Farther
 * away by Vincenty's inverse formula. Both agree to 1e-10 of the length where one takes over, so this is a metric up to
 * rounding. Within 100 km of the antipode the formula need not converge: nothing is farther than `FARTHEST_M`, and a
 * metric that is cut off is one.
 */

const RADIANS = Math.PI / 180;
export const EQUATOR_M = 6_378_137;
export const FLATTENING = 1 / 298.257223563;
const POLE_M = EQUATOR_M * (1 - FLATTENING);
const AXES_SQUARED = (1 - FLATTENING) * (1 - FLATTENING);
const ECCENTRICITY_SQUARED = 1 - AXES_SQUARED;
const EQUATOR_SQUARED = EQUATOR_M * EQUATOR_M;
const POLE_SQUARED = POLE_M * POLE_M;

/**
 * The least radius of curvature of the ellipsoid. Geographic coordinates on a sphere of this radius are nowhere farther
 * apart than on Earth.
 */
export const LEAST_RADIUS_M = POLE_SQUARED / EQUATOR_M;
/** nowhere is a degree of latitude shorter */
export const LEAST_DEGREE_M = LEAST_RADIUS_M * RADIANS;
/** What is at least so far away is said to be so far away: half of a meridian is 20,004 km. */
export const FARTHEST_M = 19_900_000;
/** the square of the longest chord that the arc is told from */
const CHORD_SQUARED_MAX = 100_000 ** 2;
const TURNS_MAX = 100;

/** Metres of a degree of latitude there, and of longitude. */
export function degreesAt(latitude: number): { north: number; east: number } {
  const sine = Math.sin(latitude * RADIANS);
  const w = 1 - ECCENTRICITY_SQUARED * sine * sine;
  const normal = (EQUATOR_M * RADIANS) / Math.sqrt(w);
  return { north: (normal * AXES_SQUARED) / w, east: normal * Math.cos(latitude * RADIANS) };
}

/** How many degrees of latitude may lie between places less than so many metres apart. */
export const latitudeReach = (metres: number): number =>
  metres > FARTHEST_M ? 180 : (metres / LEAST_DEGREE_M) * (1 + 1e-9);

/** Latitudes and longitudes in degrees. Where the chord alone is `enough`, it is not asked how long the arc is. */
export function geodesicLength(
  latitude: number,
  longitude: number,
  otherLatitude: number,
  otherLongitude: number,
  enough = Number.POSITIVE_INFINITY,
): number {
  const phi = latitude * RADIANS;
  const otherPhi = otherLatitude * RADIANS;
  const sinPhi = Math.sin(phi);
  const otherSinPhi = Math.sin(otherPhi);
  // reduced latitudes: sin U = (1 - f) sin phi / sqrt(w) and cos U = cos phi / sqrt(w)
  const w = 1 - ECCENTRICITY_SQUARED * sinPhi * sinPhi;
  const otherW = 1 - ECCENTRICITY_SQUARED * otherSinPhi * otherSinPhi;
  const scale = 1 / Math.sqrt(w * otherW);
  const sines = AXES_SQUARED * (sinPhi * otherSinPhi) * scale;
  const cosines = Math.cos(phi) * Math.cos(otherPhi) * scale;
  // of the difference of reduced latitudes, from the difference of latitudes, which keeps its digits
  const sinDelta = (1 - FLATTENING) * scale * Math.sin((otherLatitude - latitude) * RADIANS);
  const onePlusCos = 1 + cosines + sines;
  const half = 0.5 / onePlusCos;
  const latitudeTerm = onePlusCos > 1 ? sinDelta * sinDelta * half : 1 - onePlusCos / 2;
  const turn = turnBetween(longitude, otherLongitude);
  const sinHalf = Math.sin(turn / 2);
  const longitudeTerm = cosines * sinHalf * sinHalf;
  // sine of the reduced latitude halfway, squared
  const squares = AXES_SQUARED * scale * scale * (sinPhi * sinPhi * otherW + otherSinPhi * otherSinPhi * w);
  const sinMiddleSquared = (squares + 2 * sines) * half;
  const slope = POLE_SQUARED + (EQUATOR_SQUARED - POLE_SQUARED) * sinMiddleSquared;
  const across = 4 * EQUATOR_SQUARED * longitudeTerm;
  const squared = 4 * slope * latitudeTerm + across;
  if (squared < CHORD_SQUARED_MAX) return arcOf(squared, across, slope);
  if (squared >= enough * enough) return Math.min(FARTHEST_M, Math.sqrt(squared));
  return vincenty(latitudeTerm, turn, sines, cosines);
}

/** From the chord, its part across the meridian, and the slope of the meridian halfway by reduced latitude, squared. */
function arcOf(squared: number, across: number, slope: number): number {
  if (squared === 0) return 0;
  const share = across / squared;
  const flat = 1 / slope;
  // Euler: along the meridian a b / slope^(3/2), across b / (a slope^(1/2))
  const curvature = (1 - share) * EQUATOR_M * flat + share * (1 / EQUATOR_M);
  const x = squared * curvature * curvature * POLE_SQUARED * flat;
  // 2 asin(sqrt(x) / 2) / sqrt(x)
  return Math.sqrt(squared) * (1 + x * (1 / 24 + x * (3 / 640 + x * (5 / 7168))));
}

/** Between two longitudes, the shorter way around, in radians. */
function turnBetween(longitude: number, other: number): number {
  const degrees = Math.abs(other - longitude);
  return (degrees > 180 ? Math.abs(360 - degrees) : degrees) * RADIANS;
}

/**
 * By the haversine of the difference of reduced latitudes, the difference of longitudes, and the products of sines and
 * of cosines of both reduced latitudes.
 */
function vincenty(latitudeTerm: number, difference: number, sines: number, cosines: number): number {
  let lambda = difference;
  for (let turn = 0; turn < TURNS_MAX && lambda <= Math.PI; turn++) {
    const sinHalf = Math.sin(lambda / 2);
    const haversine = Math.min(1, latitudeTerm + cosines * sinHalf * sinHalf);
    const sigma = 2 * Math.atan2(Math.sqrt(haversine), Math.sqrt(1 - haversine));
    const sinSigma = 2 * Math.sqrt(haversine * (1 - haversine));
    const cosSigma = 1 - 2 * haversine;
    const sinAlpha = (cosines * Math.sin(lambda)) / sinSigma;
    const cosSqAlpha = 1 - sinAlpha * sinAlpha;
    // along the equator there is no highest latitude to count from
    const cos2m = cosSqAlpha > 1e-14 ? cosSigma - (2 * sines) / cosSqAlpha : 0;
    const c = (FLATTENING / 16) * cosSqAlpha * (4 + FLATTENING * (4 - 3 * cosSqAlpha));
    const turned = sigma + c * sinSigma * (cos2m + c * cosSigma * (2 * cos2m * cos2m - 1));
    const next = difference + (1 - c) * FLATTENING * sinAlpha * turned;
    if (Math.abs(next - lambda) < 1e-14)
      return Math.min(FARTHEST_M, lengthOf(sigma, sinSigma, cosSigma, cosSqAlpha, cos2m));
    lambda = next;
  }
  return FARTHEST_M;
}

/** The length of an arc of the auxiliary sphere on the ellipsoid. */
function lengthOf(sigma: number, sinSigma: number, cosSigma: number, cosSqAlpha: number, cos2m: number): number {
  const uSq = (cosSqAlpha * (EQUATOR_SQUARED - POLE_SQUARED)) / POLE_SQUARED;
  const a = 1 + (uSq / 16384) * (4096 + uSq * (-768 + uSq * (320 - 175 * uSq)));
  const b = (uSq / 1024) * (256 + uSq * (-128 + uSq * (74 - 47 * uSq)));
  const twice = 2 * cos2m * cos2m - 1;
  const inner = cosSigma * twice - (b / 6) * cos2m * (4 * sinSigma * sinSigma - 3) * (4 * cos2m * cos2m - 3);
  return POLE_M * a * (sigma - b * sinSigma * (cos2m + (b / 4) * inner));
}
