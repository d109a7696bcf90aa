/**
 * Coverage: what objects cost alone is 1-Lipschitz in every base distance, so the triangle inequality holds, with the
 * linear program as the judge; and the named ways count and price what people expect of them.
 */
import assert from 'node:assert/strict';
import { Coverage, type CoverageRules, countReasons, type Moving } from '../../src/coverage/coverage.js';
import { type Region, regionProblem } from '../../src/coverage/region.js';
import { evaluate, type Frame, type Obj, type Params } from '../../src/index.js';
import { distances } from '../../src/metric/distance.js';
import type { DistanceName } from '../../src/metric/params.js';
import { pack } from '../../src/wire/objects.js';
import { admissibleError, relaxedCostOf } from '../kit/metric/judged-scenes.js';
import { close } from '../kit/metric/verifier.js';
import { pick, type Random, randomFrom } from '../kit/random.js';
import { drawn } from '../kit/system/system.js';

interface World {
  distance: DistanceName;
  cutoff: number;
  /** a random place, all of them within ten units of each other */
  place: (random: Random) => number[];
  region: (random: Random) => Region;
}

const between = (random: Random, low: number, high: number) => low + (high - low) * random();

function polygon(random: Random, scale: number, origin: readonly number[]): Region {
  const corners = 3 + Math.floor(4 * random());
  const [x, y] = [between(random, 1, 9), between(random, 1, 9)];
  // any order of the corners: rings may cross themselves
  return {
    polygon: Array.from(
      { length: corners },
      () =>
        [origin[0] + scale * (x + between(random, -4, 4)), origin[1] + scale * (y + between(random, -4, 4))] as const,
    ),
  };
}

const sector = (random: Random, at: readonly [number, number], unit: number): Region => ({
  sector: {
    at,
    range: [pick(random, [0, unit * random()]), unit * between(random, 2, 6)],
    ...(random() < 0.7 ? { azimuth: [360 * random(), 360 * random()] as const } : {}),
  },
});

const banded = (random: Random, region: Region, unit: number): Region =>
  random() < 0.5 ? region : { ...region, altitude: [unit * random(), unit * between(random, 1.5, 6)] };

const inPlane = (random: Random): number[] => [10 * random(), 10 * random()];
const box = (random: Random): number[] => [...inPlane(random), between(random, 0.3, 3), between(random, 0.3, 3)];
const planeRegion = (random: Random): Region =>
  random() < 0.6 ? polygon(random, 1, [0, 0]) : sector(random, [between(random, 1, 9), between(random, 1, 9)], 1);

/** a hundredth of a degree is about a kilometre: ten of them along each axis, across the antimeridian */
const ON_EARTH = { scale: 0.01, origin: [52, 179.95] };
const earthPlace = (random: Random): number[] => {
  const longitude = ON_EARTH.origin[1] + ON_EARTH.scale * 10 * random();
  return [ON_EARTH.origin[0] + ON_EARTH.scale * 10 * random(), longitude > 180 ? longitude - 360 : longitude];
};

const WORLDS: World[] = [
  { distance: 'euclidean', cutoff: 2, place: inPlane, region: planeRegion },
  {
    distance: 'euclidean',
    cutoff: 2,
    place: (random) => [...inPlane(random), 8 * random()],
    region: (random) => banded(random, planeRegion(random), 1),
  },
  {
    distance: 'geodesic',
    cutoff: 2000,
    place: earthPlace,
    region: (random) =>
      random() < 0.6
        ? polygon(random, ON_EARTH.scale, ON_EARTH.origin)
        : sector(random, earthPlace(random) as [number, number], 1000),
  },
  {
    distance: 'iou',
    cutoff: 0.9,
    place: box,
    region: (random) =>
      random() < 0.5 ? { box: box(random) as [number, number, number, number] } : planeRegion(random),
  },
  { distance: 'hausdorff', cutoff: 2, place: box, region: planeRegion },
  { distance: 'wasserstein', cutoff: 2, place: box, region: planeRegion },
];

const objectOf = (world: World, id: string, place: number[]): Obj =>
  world.distance === 'euclidean' || world.distance === 'geodesic'
    ? { id, point: place }
    : { id, box: place as [number, number, number, number] };

const rulesOf = (world: World, random: Random): CoverageRules => ({
  knows: pick(random, ['complete', 'coverage', 'transponder'] as const),
  regions: Array.from({ length: Math.floor(3 * random()) }, () => world.region(random)),
  ignore: Array.from({ length: Math.floor(3 * random()) }, () => world.region(random)),
  within: random() < 0.7 ? [] : [world.region(random)],
});

/** Regions and don't-care objects that every frame has its own of. */
const movingOf = (world: World, random: Random): Moving => ({
  ...(random() < 0.5 ? { ignore: [world.region(random)] } : {}),
  ...(random() < 0.5 ? { dontCare: pack([objectOf(world, 'other', world.place(random))]) } : {}),
  ...(random() < 0.3 ? { unclear: pack([objectOf(world, 'perhaps', world.place(random))]) } : {}),
});

function judged(
  coverage: Coverage,
  side: 'reference' | 'tracker',
  objects: Obj[],
  most: number,
  moving: Moving,
): Obj[] {
  const { alone } = coverage.judge(side, pack(objects), most, moving);
  return objects.map((object, n) => (alone ? { ...object, alone: alone[n] } : object));
}

const SIDES = ['reference', 'tracker'] as const;

describe('coverage', () => {
  for (const [n, world] of WORLDS.entries()) {
    it(`is 1-Lipschitz in the distance: ${world.distance} (${n})`, () => {
      const random = randomFrom(100 + n);
      let onRamp = 0;
      for (let scene = 0; scene < 25; scene++) {
        const coverage = new Coverage(rulesOf(world, random), world.distance);
        const moving = movingOf(world, random);
        for (let pair = 0; pair < 20; pair++) {
          const x = world.place(random);
          // mostly close together
          const y = random() < 0.3 ? world.place(random) : near(random, x, world);
          const d = distances[world.distance](x, 0, y, 0, x.length);
          for (const side of SIDES) {
            const objects = pack([objectOf(world, 'x', x), objectOf(world, 'y', y)]);
            const { alone } = coverage.judge(side, objects, world.cutoff, moving);
            if (!alone) continue;
            assert.ok(
              Math.abs(alone[0] - alone[1]) <= d * (1 + 1e-9) + 1e-9,
              `scene ${scene}, ${side}: ${alone[0]} and ${alone[1]} at ${x} and ${y}, ${d} apart`,
            );
            if (alone[0] > 0 && alone[0] < world.cutoff) onRamp++;
          }
        }
      }
      assert.ok(onRamp > 50, `only ${onRamp} were on a ramp`);
    });

    it(`obeys the triangle inequality, with moving regions and don't-care objects: ${world.distance} (${n})`, () => {
      const violated: number[] = [];
      for (let seed = 1; seed <= drawn(20); seed++) {
        const random = randomFrom(1000 * (n + 1) + seed);
        const { distance, cutoff } = world;
        const params: Params = { distance, cutoff, exponent: pick(random, [1, 2]), switchPenalty: cutoff * random() };
        const coverage = new Coverage(rulesOf(world, random), distance);
        const moving = Array.from({ length: 3 }, () => movingOf(world, random));
        const feeds = ['a', 'b', 'c'].map((prefix) => feedOf(world, random, prefix));
        const cost = (one: Obj[][], other: Obj[][]): number => {
          const most = admissibleError(params);
          const frames: Frame[] = one.map((objects, k) => ({
            reference: judged(coverage, 'reference', objects, most, moving[k]),
            tracker: judged(coverage, 'tracker', other[k], most, moving[k]),
          }));
          const least = relaxedCostOf(frames, params);
          close(evaluate(frames, params, { solver: 'lp' }).lowerBound, least, 1e-6, `seed ${seed}, the kernel`);
          return least ** (1 / params.exponent);
        };
        const [a, b, c] = feeds;
        if (cost(a, c) > (cost(a, b) + cost(b, c)) * (1 + 1e-7) + 1e-7) violated.push(seed);
      }
      assert.deepEqual(violated, []);
    });
  }
});

function near(random: Random, place: number[], world: World): number[] {
  const scale = world.distance === 'geodesic' ? ON_EARTH.scale : 1;
  return place.map((value, d) => {
    const moved = value + scale * between(random, -0.5, 0.5);
    return d >= 2 && world.distance !== 'euclidean' ? Math.max(0.2, moved) : moved;
  });
}

const feedOf = (world: World, random: Random, prefix: string): Obj[][] => {
  const start = [0, 1].map(() => world.place(random));
  return Array.from({ length: 3 }, () =>
    start.map((place, n) => objectOf(world, `${prefix}${n}`, near(random, place, world))).filter(() => random() < 0.85),
  );
};

const SQUARE: Region = {
  polygon: [
    [0, 0],
    [10, 0],
    [10, 10],
    [0, 10],
  ],
};

const point = (id: string, ...place: number[]) => ({ id, point: place });
const aloneAt = (coverage: Coverage, side: 'reference' | 'tracker', ...places: number[][]) =>
  coverage.judge(side, pack(places.map((place, n) => point(String(n), ...place))), 3);

describe('what is judged', () => {
  it('is everything where the reference is complete, at the full price', () => {
    const complete = new Coverage({ knows: 'complete', regions: [], ignore: [] }, 'euclidean');
    assert.equal(aloneAt(complete, 'reference', [0, 0]).alone, undefined);
  });

  it('lies inside the regions of a coverage, with a ramp at the border', () => {
    const coverage = new Coverage({ knows: 'coverage', regions: [SQUARE], ignore: [] }, 'euclidean');
    for (const side of SIDES) {
      const judgement = aloneAt(coverage, side, [5, 5], [1, 5], [-1, 5], [10, 10]);
      assert.deepEqual(judgement.alone, [3, 1, 0, 0]);
      assert.deepEqual(countReasons(judgement), { outside: 2 });
    }
  });

  it('lies outside of ignored regions, in an annulus and a band of altitude', () => {
    const radar: Region = { sector: { at: [0, 0], range: [2, 20] }, altitude: [100, 200] };
    const coverage = new Coverage({ knows: 'coverage', regions: [radar], ignore: [SQUARE] }, 'euclidean', 0.5);
    const places = [
      [-10, 0, 150],
      [-10, 0, 201],
      [-10, 0, 198],
      [-1, 0, 150],
      [-3, -3, 150],
      [5, 5, 150],
    ];
    const { alone, reasons } = aloneAt(coverage, 'tracker', ...places);
    for (const [n, expected] of [3, 0, 1, 0, Math.sqrt(18) - 2, 0].entries())
      close(alone![n], expected, 1e-3, `place ${n}`);
    assert.deepEqual(reasons, [null, 'outside', null, 'outside', null, 'ignored']);
  });

  it('takes azimuths clockwise from north, also across north', () => {
    const sector: Region = { sector: { at: [50, 8], range: [0, 100_000], azimuth: [300, 60] } };
    const coverage = new Coverage({ knows: 'coverage', regions: [sector], ignore: [] }, 'geodesic');
    const { reasons } = aloneAt(coverage, 'reference', [50.5, 8], [50.2, 8.3], [50, 8.5], [49.5, 8], [50.2, 7.7]);
    assert.deepEqual(reasons, [null, null, 'outside', 'outside', null]);
  });

  it('is measured on Earth in metres, around a pole and across the antimeridian', () => {
    const cap: Region = { polygon: [0, 90, 180, 270].map((longitude) => [80, longitude] as const) };
    const fiji: Region = { sector: { at: [-17, 179.9], range: [0, 50_000] } };
    const coverage = new Coverage({ knows: 'coverage', regions: [cap, fiji], ignore: [] }, 'geodesic');
    const at = (...place: number[]) => coverage.judge('reference', pack([point('a', ...place)]), 1e6).alone![0];
    assert.equal(at(79, 45), 0);
    assert.ok(at(90, 12) > 700_000 && at(90, 12) < 800_000, `${at(90, 12)}`);
    // 0.2 degrees of longitude are 21.3 km there
    close(at(-17, -179.9), 50_000 - 21_300, 0.02, 'across the antimeridian');
    assert.equal(at(-17, -179.4), 0);
  });

  it('is refused beyond a hemisphere of the Earth, where nobody knows which side is inside', () => {
    const world: Region = {
      polygon: [
        [-90, -180],
        [90, -180],
        [90, 180],
        [-90, 180],
      ],
    };
    const belt: Region = { polygon: [0, 120, 240].map((longitude) => [0.5, longitude] as const) };
    const ocean: Region = { polygon: [100, 160, 220, 250].map((longitude) => [-40, longitude] as const) };
    for (const region of [world, belt])
      assert.match(String(regionProblem(region, true)?.message), /must lie within a hemisphere; give several/);
    assert.equal(regionProblem(ocean, true), null);
    assert.equal(regionProblem(world, false), null);
  });

  it('are never tracks where the reference knows only some objects, but inside the regions', () => {
    const never = new Coverage({ knows: 'transponder', regions: [], ignore: [] }, 'euclidean');
    assert.deepEqual(aloneAt(never, 'tracker', [0, 0]).alone, [0]);
    assert.deepEqual(countReasons(aloneAt(never, 'tracker', [0, 0])), { unequipped: 1 });
    assert.deepEqual(aloneAt(never, 'reference', [0, 0]).alone, [3]);
    const inside = new Coverage({ knows: 'transponder', regions: [SQUARE], ignore: [] }, 'euclidean');
    assert.deepEqual(aloneAt(inside, 'tracker', [5, 5], [1, 1], [20, 5]).alone, [3, 1, 0]);
  });

  it('pairs up to the admissible error where tracks are never false', () => {
    const params: Params = { distance: 'euclidean', cutoff: 2, exponent: 1, switchPenalty: 0 };
    const at = (x: number) => ({ reference: [point('a', 0, 0)], tracker: [{ ...point('b', x, 0), alone: 0 }] });
    assert.equal(evaluate([at(0.9)], params).count.proper, 1);
    assert.equal(evaluate([at(1.1)], params).count.proper, 0);
  });

  it('is the share of a box outside of what is ignored, however regions overlap', () => {
    const ignore: Region[] = [{ box: [0, 0, 5, 10] }, { box: [2, 0, 5, 5] }];
    const coverage = new Coverage({ knows: 'complete', regions: [], ignore }, 'iou');
    const boxes = [
      [0, 0, 10, 10],
      [8, 8, 4, 4],
      [1, 1, 2, 2],
      [4, 0, 2, 10],
    ];
    const objects = pack(boxes.map((one, n) => ({ id: String(n), box: one as [number, number, number, number] })));
    const { alone, reasons } = coverage.judge('tracker', objects, 1);
    for (const [n, expected] of [0.4, 1, 0, 0.25].entries()) close(alone![n], expected, 1e-12, `box ${n}`);
    assert.deepEqual(reasons, [null, null, 'ignored', null]);
  });

  it('agrees with counting points, for shares of boxes in any regions', () => {
    const world = WORLDS[3];
    const random = randomFrom(5);
    for (let scene = 0; scene < 25; scene++) {
      const rules = {
        ...rulesOf(world, random),
        knows: 'coverage' as const,
        regions: [world.region(random)],
        within: [],
      };
      const byArea = new Coverage(rules, 'iou');
      const byPoint = new Coverage(rules, 'euclidean');
      const [left, top, width, height] = world.place(random);
      const grid = Array.from({ length: 1600 }, (_, n) =>
        point(String(n), left + (width * ((n % 40) + 0.5)) / 40, top + (height * (Math.floor(n / 40) + 0.5)) / 40),
      );
      const inside = byPoint.judge('tracker', pack(grid), 1).reasons.filter((reason) => reason === null).length;
      const { alone } = byArea.judge('tracker', pack([{ id: 'a', box: [left, top, width, height] }]), 1);
      assert.ok(Math.abs(alone![0] - inside / 1600) < 0.04, `scene ${scene}: ${alone![0]} and ${inside / 1600}`);
    }
  });

  it("spares what is close to a don't-care object", () => {
    const coverage = new Coverage({ knows: 'complete', regions: [], ignore: [] }, 'euclidean');
    const dontCare = pack([point('bin', 5, 5)]);
    const judgement = coverage.judge('tracker', pack([point('a', 5, 5), point('b', 6, 5), point('c', 50, 5)]), 3, {
      dontCare,
    });
    assert.deepEqual(judgement.alone, [0, 1, 3]);
    assert.deepEqual(countReasons(judgement), { dont_care: 1 });
  });
});
