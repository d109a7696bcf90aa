/**
 * Distances on Earth against GeographicLib, which is right to a few nanometres: near and far, at the poles, across the
 * antimeridian and beyond where the formula converges. And that they are a metric.
 */

import assert from 'node:assert/strict';
import geographic from 'geographiclib-geodesic';
import { distances } from '../../src/metric/distance.js';
import { FARTHEST_M, geodesicLength, latitudeReach } from '../../src/metric/earth.js';
import { pick, type Random, randomFrom } from '../kit/random.js';

type Place = [number, number];

const earth = geographic.Geodesic.WGS84;
const judged = (from: Place, to: Place): number => earth.Inverse(...from, ...to).s12 as number;
const length = (from: Place, to: Place): number => geodesicLength(...from, ...to);

/** Anywhere, near a pole, on it, near the equator, near the antimeridian. */
function place(random: Random): Place {
  const latitude = pick(random, [
    180 * random() - 90,
    pick(random, [1, -1]) * (90 - random() ** 4),
    pick(random, [90, -90, 0]),
    (random() - 0.5) / 100,
  ]);
  const longitude = pick(random, [360 * random() - 180, pick(random, [1, -1]) * (180 - random() ** 4), 180, -180, 0]);
  return [latitude, longitude];
}

function awayFrom([latitude, longitude]: Place, metres: number, random: Random): Place {
  const azimuth = pick(random, [360 * random(), 0, 90, 180, 270]);
  const { lat2, lon2 } = earth.Direct(latitude, longitude, azimuth, metres);
  return [lat2 as number, lon2 as number];
}

describe('distances on Earth', () => {
  it('are those of the ellipsoid, from centimetres to the other side', () => {
    const random = randomFrom(21);
    for (const metres of [0.01, 1, 100, 1e4, 9e4, 9.999e4, 1.0001e5, 3e5, 1e6, 1e7, 1.9e7, 1.989e7])
      for (let n = 0; n < 500; n++) {
        const from = place(random);
        const to = awayFrom(from, metres, random);
        const expected = judged(from, to);
        const off = Math.abs(length(from, to) - expected);
        assert.ok(off <= 1e-8 + 1e-11 * expected, `${from} to ${to}: ${expected}, off by ${off}`);
      }
  });

  it('end 100 km before the antipode', () => {
    const random = randomFrom(22);
    for (let n = 0; n < 2000; n++) {
      const from = place(random);
      const to = awayFrom(from, FARTHEST_M + 1 + 200_000 * random(), random);
      const expected = Math.min(FARTHEST_M, judged(from, to));
      assert.ok(Math.abs(length(from, to) - expected) < 1e-3, `${from} to ${to}`);
    }
    assert.equal(length([90, 0], [-90, 0]), FARTHEST_M);
    assert.equal(length([0, 0], [0, 180]), FARTHEST_M);
  });

  it('are a metric: triangles of all sizes, thin ones too', () => {
    const random = randomFrom(23);
    for (let n = 0; n < 4000; n++) {
      const size = 10 ** (1 + 6.3 * random());
      const a = place(random);
      const b = awayFrom(a, size * random(), random);
      const c = pick(random, [() => awayFrom(b, size * random(), random), () => place(random), () => halfway(a, b)])();
      const [ab, bc, ac] = [length(a, b), length(b, c), length(a, c)];
      assert.ok(ac <= ab + bc + 1e-8 + 2e-11 * (ab + bc), `${a}; ${b}; ${c}: ${ac} > ${ab} + ${bc}`);
      assert.ok(ab <= ac + bc + 1e-8 + 2e-11 * (ac + bc), `${a}; ${c}; ${b}: ${ab} > ${ac} + ${bc}`);
      assert.equal(length(b, a), ab, 'symmetric');
      assert.equal(length(a, a), 0);
    }
  });

  it('do not depend on how a longitude or a pole is written', () => {
    assert.equal(length([10, 180], [10.5, 179]), length([10, -180], [10.5, 179]));
    assert.equal(length([0, 180], [0, -180]), 0);
    assert.ok(length([90, 17], [90, -120]) < 1e-8);
    assert.ok(Math.abs(length([89.9, 0], [89.9, 180]) - judged([89.9, 0], [89.9, 180])) < 1e-8);
  });

  it('take an altitude as a third side', () => {
    const across = length([50, 0], [50, 0.01]);
    const distance = distances.geodesic([50, 0, 1000], 0, [50, 0.01, 400], 0, 3);
    assert.ok(Math.abs(distance - Math.hypot(across, 600)) < 1e-9);
    assert.equal(distances.geodesic([50, 0, 1000], 0, [50, 0.01, 1000], 0, 3), across);
  });

  it('are told no better than asked where that is enough, and never as less', () => {
    const random = randomFrom(24);
    for (let n = 0; n < 1000; n++) {
      const [from, to] = [place(random), place(random)];
      const [exact, enough] = [length(from, to), 10 ** (4 + 3.5 * random())];
      const told = geodesicLength(...from, ...to, enough);
      assert.ok(told === exact || (told >= enough && told <= exact), `${from} to ${to}: ${told}, ${exact}, ${enough}`);
    }
  });

  it('are never shorter than the latitudes between them', () => {
    const random = randomFrom(25);
    for (let n = 0; n < 1000; n++) {
      const from = place(random);
      const to = pick(random, [place(random), awayFrom(from, 1e5 * random(), random)]);
      const reach = latitudeReach(length(from, to) * (1 + 1e-12) + 1e-8);
      assert.ok(Math.abs(from[0] - to[0]) <= reach, `${from} to ${to}`);
    }
    assert.ok(latitudeReach(FARTHEST_M * 2) >= 180);
  });
});

function halfway(a: Place, b: Place): Place {
  const { azi1, s12 } = earth.Inverse(...a, ...b);
  const { lat2, lon2 } = earth.Direct(...a, azi1 as number, (s12 as number) / 2);
  return [lat2 as number, lon2 as number];
}
