/**
 * Points of a plane around an origin, as places on Earth: there and back to a millimetre within 200 km, at poles and
 * the antimeridian too, and as far from the origin as geodesics say.
 */
import assert from 'node:assert/strict';
import { placeOnEarth } from '../../adapters/kit/local-plane.js';
import { destination } from '../../src/coverage/earth.js';
import { geodesicLength } from '../../src/metric/earth.js';
import { randomFrom } from '../kit/random.js';

const RADIANS = Math.PI / 180;
const [A, F] = [6_378_137, 1 / 298.257223563];
const E2 = F * (2 - F);

/** From the centre of the Earth; written for this test alone. */
function cartesian([latitude, longitude, height = 0]: number[]): number[] {
  const [phi, lambda] = [latitude * RADIANS, longitude * RADIANS];
  const n = A / Math.sqrt(1 - E2 * Math.sin(phi) ** 2);
  const out = (n + height) * Math.cos(phi);
  return [out * Math.cos(lambda), out * Math.sin(lambda), (n * (1 - E2) + height) * Math.sin(phi)];
}

/** Metres east, north and up of an origin. */
function inPlane(origin: number[], place: number[]): number[] {
  const [from, to] = [cartesian(origin), cartesian(place)];
  const [x, y, z] = to.map((value, d) => value - from[d]);
  const [phi, lambda] = [origin[0] * RADIANS, origin[1] * RADIANS];
  const out = x * Math.cos(lambda) + y * Math.sin(lambda);
  return [
    -x * Math.sin(lambda) + y * Math.cos(lambda),
    z * Math.cos(phi) - out * Math.sin(phi),
    out * Math.cos(phi) + z * Math.sin(phi),
  ];
}

const apart = (one: number[], other: number[]) =>
  Math.hypot(...cartesian(one).map((value, d) => value - cartesian(other)[d]));

describe('points of a local plane', () => {
  const origins = [
    [50.8, -1.11],
    [0, 0],
    [10, 179.9],
    [-33, -179.99, 120],
    [89.5, 40],
    [-90, 0, 30],
  ];
  const draw = randomFrom(6);
  const around = (origin: number[]) =>
    destination([origin[0], origin[1]], 360 * draw(), 200_000 * Math.sqrt(draw())) as number[];

  it('with a height are the places they were, to a millimetre within 200 km', () => {
    for (const origin of origins)
      for (let n = 0; n < 200; n++) {
        const place = [...around(origin), 12_000 * draw() - 100];
        const found = placeOnEarth(origin, inPlane(origin, place));
        assert.ok(apart(found, place) < 1e-3, `${found} instead of ${place}`);
      }
  });

  it('without one are on the ground, as high as the origin', () => {
    for (const origin of origins)
      for (let n = 0; n < 200; n++) {
        const place = [...around(origin), origin[2] ?? 0];
        const [east, north] = inPlane(origin, place);
        const found = placeOnEarth(origin, [east, north]);
        assert.equal(found.length, 2);
        assert.ok(apart([...found, origin[2] ?? 0], place) < 1e-3, `${found} instead of ${place}`);
      }
  });

  it('are as far from each other as in the plane, to a metre, where a tracker compares them', () => {
    // a kilometre apart, wherever within 200 km the two are seen at the same height above the plane
    for (let n = 0; n < 200; n++) {
      const origin = origins[n % 5];
      const place = [...around(origin), origin[2] ?? 0];
      const other = [...destination([place[0], place[1]], 360 * draw(), 1000), origin[2] ?? 0];
      const [one, two] = [place, other].map((each) => inPlane(origin, each));
      const [back, again] = [one, two].map((each) => placeOnEarth(origin, each));
      const inMetres = Math.hypot(...one.map((value, d) => two[d] - value));
      const length = geodesicLength(back[0], back[1], again[0], again[1]);
      assert.ok(Math.abs(length - 1000) < 1e-3 && Math.abs(inMetres - 1000) < 1, `${length} ${inMetres}`);
    }
  });
});
