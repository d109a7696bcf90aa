/**
 * Latencies of any size, found from frames whose metric pairs nothing of use: of points in a plane, boxes, and places
 * on Earth at its awkward corners; and none where there is none to find.
 */
import assert from 'node:assert/strict';
import { destination } from '../../src/coverage/earth.js';
import { evaluate } from '../../src/metric/evaluate.js';
import type { Frame } from '../../src/metric/evaluation.js';
import type { Params } from '../../src/metric/params.js';
import { type Fit, LatencyFit } from '../../src/performance/kinematics.js';
import { Performance } from '../../src/performance/performance.js';
import { displacement } from '../../src/performance/place.js';
import { RecentPerformance } from '../../src/performance/recent.js';
import { performanceFrames, performanceOf, searchOf } from '../../src/performance/sequence.js';
import { randomFrom } from '../kit/random.js';
import { skipInFastRun, someOf } from '../kit/system/system.js';

type Place = (t: number) => number[];

const EVERY_S = 2;

/** Movers, and their tracks so late and with noise; some are missed, and some tracks are of nobody. */
function scene(
  places: Place[],
  lateS: number,
  track: (place: number[], draw: () => number) => number[],
  isBox = false,
) {
  const draw = randomFrom(9);
  const object = (id: string, place: number[]) =>
    isBox ? { id, box: place as [number, number, number, number] } : { id, point: place };
  return Array.from({ length: 60 }, (_, k): Frame => {
    const t = EVERY_S * k;
    const seen = places.flatMap((at, n) => (draw() < 0.9 ? [object(`k${n}`, track(at(t - lateS), draw))] : []));
    return { reference: places.map((at, n) => object(`t${n}`, at(t))), tracker: seen };
  });
}

function latencyOf(frames: Frame[], params: Params): number {
  const times = frames.map((_, k) => EVERY_S * k);
  return performanceOf(frames, evaluate(frames, params).perFrame, times, params).latency!.latency;
}

const close = (found: number, wanted: number) =>
  assert.ok(Math.abs(found - wanted) < 0.03 * Math.abs(wanted), `found ${found} where ${wanted} was put in`);

const noisy = (metres: number) => (place: number[], draw: () => number) =>
  place.map((value) => value + metres * (draw() + draw() - 1));

describe('a latency of any size', () => {
  const draw = randomFrom(4);
  const ways = Array.from({ length: 15 }, () => [2000 * draw(), 2000 * draw(), 40 * draw() - 20, 40 * draw() - 20]);
  const params: Params = { distance: 'euclidean', cutoff: 30, exponent: 1, switchPenalty: 10 };

  for (const lateS of [0.4, 1, 3, 8, 18, -5, -30])
    it(`is found of points: ${lateS} s`, () => {
      const places = ways.map(
        ([x, y, vx, vy]): Place =>
          (t) => [x + vx * t, y + vy * t],
      );
      close(latencyOf(scene(places, lateS, noisy(3)), params), lateS);
    });

  for (const lateS of [1, 6, -12])
    it(`is found of boxes: ${lateS} s`, () => {
      const places = ways.map(
        ([x, y, vx, vy]): Place =>
          (t) => [x + vx * t, y + vy * t, 40, 60],
      );
      const boxes: Params = { distance: 'iou', cutoff: 0.7, exponent: 1, switchPenalty: 0.3 };
      const late = scene(places, lateS, ([x, y, w, h], random) => [x + random(), y + random(), w, h], true);
      close(latencyOf(late, boxes), lateS);
    });

  for (const [what, latitude, longitude] of [
    ['at the antimeridian', 10, 179.95],
    ['at the pole', 89.95, 30],
    ['at the other pole', -89.98, 0],
    ['in the north', 60, 10],
  ] as const)
    it(`is found of aircraft ${what}`, () => {
      const earth: Params = { distance: 'geodesic', cutoff: 500, exponent: 1, switchPenalty: 100 };
      const flights = ways.map(([x, , vx, vy]) => {
        const start = destination([latitude, longitude], x, 4000 + 20 * Math.abs(vx));
        const speed = 60 + 8 * Math.abs(vy);
        return (t: number) => destination(start, 17 * vx, speed * (t + 40));
      });
      for (const lateS of [1, 18]) {
        const off = ([lat, lon]: number[], random: () => number) =>
          destination([lat, lon], 360 * random(), 20 * random());
        close(latencyOf(scene(flights, lateS, off), earth), lateS);
      }
    });

  it('is not found among objects that have nothing to do with each other', () => {
    const places = ways.map(
      ([x, y, vx, vy]): Place =>
        (t) => [x + vx * t, y + vy * t],
    );
    const others = ways.map(
      ([x, y, vx, vy]): Place =>
        (t) => [y + 3 * vy * t, x - 2 * vx * t],
    );
    const frames = scene(places, 0, noisy(3)).map((frame, k) => ({
      ...frame,
      tracker: others.map((at, n) => ({ id: `k${n}`, point: at(EVERY_S * k) })),
    }));
    const times = frames.map((_, k) => EVERY_S * k);
    const { latency } = performanceOf(frames, evaluate(frames, params).perFrame, times, params);
    // the few that pass each other by chance
    assert.ok(latency === null || latency.pairs < 60, JSON.stringify(latency));
  });
});

interface Video {
  movers: number;
  framesPerS: number;
  lateS: number;
  /** of reference and tracker, pixels */
  jitter: [reference: number, tracker: number];
  /** how much of its jitter a place has from the one before */
  lasting?: number;
  speed?: number;
  /** radians a second */
  turn?: number;
  standing?: number;
}

const PIXELS: Params = { distance: 'euclidean', cutoff: 100, exponent: 1, switchPenalty: 30 };

/** Twenty seconds of people at video rate, both feeds jittering from frame to frame; each is seen in 19 of 20. */
function video(
  { movers, framesPerS, lateS, jitter, lasting = 0, speed = 100, turn = 0, standing = 0 }: Video,
  seed: number,
) {
  const draw = randomFrom(1 + 7919 * seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
  const jittering = (pixels: number) => {
    let off = [normal(), normal()];
    return (place: number[]) => {
      off = off.map((one) => lasting * one + Math.sqrt(1 - lasting * lasting) * normal());
      return place.map((value, d) => value + pixels * off[d]);
    };
  };
  const people = Array.from({ length: movers + standing }, (_, n) => {
    const [course, own, bend] = [
      6.28 * draw(),
      n < movers ? speed * (0.5 + draw()) : 0,
      turn * (draw() < 0.5 ? -1 : 1),
    ];
    const along = (angle: number) =>
      bend === 0 ? [0, 0] : [Math.sin(course + angle) / bend, -Math.cos(course + angle) / bend];
    const at = (t: number) =>
      bend === 0
        ? [4000 * n + own * Math.cos(course) * t, own * Math.sin(course) * t]
        : along(bend * t).map((value, d) => (d === 0 ? 4000 * n : 0) + own * (value - along(0)[d]));
    return { n, at, seen: jittering(jitter[0]), tracked: jittering(jitter[1]) };
  });
  const times = Array.from({ length: 20 * framesPerS }, (_, k) => k / framesPerS);
  const frames = times.map(
    (t): Frame => ({
      reference: people.map(({ n, at, seen }) => ({ id: `t${n}`, point: seen(at(t)) })),
      tracker: people.flatMap(({ n, at, tracked }) => {
        const object = { id: `k${n}`, point: tracked(at(t - lateS)) };
        return draw() < 0.95 ? [object] : [];
      }),
    }),
  );
  return { frames, times };
}

function videoLatency(terms: Video, seed: number): Fit {
  const { frames, times } = video(terms, seed);
  return performanceOf(frames, evaluate(frames, PIXELS).perFrame, times, PIXELS).latency!;
}

describe('a latency against a reference that jitters', () => {
  const usual: Video = { movers: 8, framesPerS: 30, lateS: 0.1, jitter: [1, 1] };
  const scenes: Record<string, Partial<Video>> = {
    'by a pixel, 30 frames a second': {},
    'by two pixels': { jitter: [2, 1] },
    'by two pixels, 60 frames a second': { framesPerS: 60, jitter: [2, 1] },
    'by two pixels, 10 frames a second': { framesPerS: 10, jitter: [2, 1], lateS: 0.35 },
    'by as much as people walk': { jitter: [3, 2], speed: 60, movers: 16, lateS: 0.2 },
    'and stays off for frames': { jitter: [2, 1], lasting: 0.6, movers: 16 },
    'of people who turn': { jitter: [2, 1], turn: 1, lateS: 0.35 },
    'of a tracker that is early': { jitter: [2, 1], lateS: -0.2 },
    'of a tracker that is too late for the cut-off': { jitter: [2, 1], lateS: 1.2 },
    'of three people among many who stand': { jitter: [1, 1], movers: 3, standing: 12, lateS: 0.3 },
    'too little to matter': { jitter: [0, 1] },
  };
  for (const [what, some] of someOf(Object.entries(scenes)))
    it(`is found within 3 %: ${what}`, () => {
      const terms = { ...usual, ...some };
      for (const seed of [1, 2, 3]) close(videoLatency(terms, seed).latency, terms.lateS);
    });

  it('is as far off as its standard error says', function () {
    skipInFastRun(this);
    const found = Array.from({ length: 8 }, (_, seed) => videoLatency({ ...usual, jitter: [3, 2] }, 10 + seed));
    const off = Math.sqrt(meanOf(found.map(({ latency }) => (latency - usual.lateS) ** 2)));
    const said = Math.sqrt(meanOf(found.map(({ latencyError }) => latencyError ** 2)));
    assert.ok(said > 0.6 * off && said < 1.8 * off, `off by ${off}, and ${said} is said`);
  });

  it('is not told of people who stand', () => {
    const { frames, times } = video({ ...usual, movers: 0, standing: 8 }, 1);
    assert.equal(performanceOf(frames, evaluate(frames, PIXELS).perFrame, times, PIXELS).latency, null);
  });

  it('is found live, where few frames are kept, and is the same after every restart', () => {
    const { frames, times } = video({ ...usual, jitter: [2, 1], turn: 0.5, lateS: 0.35 }, 4);
    const { perFrame } = evaluate(frames, PIXELS);
    const search = searchOf(PIXELS, 60);
    const terms = { plane: 'flat' as const, gapSteps: 3, truthsMax: 100, spanFrames: 3000, strideFrames: 30, search };
    const whole = new RecentPerformance(terms);
    let stored = new RecentPerformance(terms);
    for (const [n, frame] of [...performanceFrames(frames, perFrame, times, PIXELS)].entries()) {
      whole.update(frame, n, true);
      stored.update(frame, n, true);
      if (n % 7 === 0) stored = new RecentPerformance(terms, JSON.parse(JSON.stringify(stored)));
    }
    close(whole.reading!.latency!.latency, 0.35);
    assert.deepEqual(stored.reading, whole.reading);
  });
});

/** Estimates over so many seeds: movers far apart on straight ways, seen with noise and now and then not at all. */
function estimates(movers: number, lateS: number, seeds: number): Fit[] {
  return Array.from({ length: seeds }, (_, seed) => {
    const draw = randomFrom(1 + 7919 * seed);
    const noise = () => 20 * Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
    const ways = Array.from({ length: movers }, (_, n) => ({ n, v: [400 * draw() - 200, 400 * draw() - 200] }));
    const performance = new Performance({ plane: 'flat', gapSteps: 1, truthsMax: movers });
    for (let k = 0; k < 60; k++) {
      const t = EVERY_S * k;
      const seen = ways.filter(() => draw() < 0.85);
      performance.update({
        t,
        truths: ways.map(({ n, v }) => ({ id: `t${n}`, place: v.map((speed) => speed * t) })),
        tracks: seen.map(({ n, v }) => ({ id: `k${n}`, place: v.map((speed) => speed * (t - lateS) + noise()) })),
        pairs: seen.map(({ n }) => ({ truth: `t${n}`, track: `k${n}`, distance: 0 })),
        extras: [],
      });
    }
    return performance.get().latency!;
  });
}

const meanOf = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

describe('the confidence of a latency', () => {
  const LATE_S = 0.1;

  for (const [movers, seeds, within] of [
    [5, 300, 0.86],
    [16, 200, 0.92],
  ])
    it(`is honest: 0.1 s is found without a lean, as far off as its standard error says, of ${movers} movers`, function () {
      skipInFastRun(this);
      const found = estimates(movers, LATE_S, seeds);
      const offs = found.map(({ latency }) => latency - LATE_S);
      const mean = meanOf(offs);
      assert.ok(Math.abs(mean) < 0.03 * LATE_S, `off by ${mean} on average`);
      // chance alone: single estimates are farther off than that
      const off = Math.sqrt(meanOf(offs.map((one) => one * one)));
      assert.ok(off > 0.03 * LATE_S, `${off}`);
      const error = Math.sqrt(meanOf(found.map(({ latencyError }) => latencyError ** 2)));
      assert.ok(error > 0.95 * off && error < 1.5 * off, `off by ${off}, and ${error} is said`);
      // 95 % of many movers; of few, the standard error is itself a matter of chance (Student)
      const share = meanOf(found.map(({ latencyError }, n) => (Math.abs(offs[n]) <= 2 * latencyError ? 1 : 0)));
      assert.ok(share >= within && share < 0.99, `${share} within two standard errors`);
    });

  it('comes from all pairs, however few of ever new movers are remembered', () => {
    const [all, few] = [1000, 50].map((truthsMax) => {
      const draw = randomFrom(5);
      const fit = new LatencyFit(truthsMax);
      for (let n = 0; n < 400; n++) {
        const [v, own] = [400 * draw() - 200, 40 * draw() - 20];
        for (let k = 0; k < 10; k++) fit.add(`t${n}`, { v: [v], w: [v], e: [own - LATE_S * v + draw()] });
      }
      return fit.fit()!;
    });
    assert.deepEqual([few.latency, few.truths, all.truths], [all.latency, 50, 400]);
    for (const [one, other] of [
      [few.latencyError, all.latencyError],
      [few.biasError[0], all.biasError[0]],
    ])
      assert.ok(one > 0.7 * other && one < 1.4 * other, `${one} of few, ${other} of all`);
  });

  it('is not there when one mover alone tells the latency, and neither is the latency', () => {
    const fit = new LatencyFit(10);
    for (const [id, v] of [
      ['a', 0],
      ['b', 0],
      ['c', 10],
      ['c', 12],
    ] as const)
      fit.add(id, { v: [v, 0], w: [v, 0], e: [-v, 0] });
    assert.equal(fit.fit(), null);
    fit.add('b', { v: [5, 1], w: [5, 1], e: [-5, -1] });
    const { latency, latencyError } = fit.fit()!;
    assert.ok(Math.abs(latency - 1) < 1e-9 && latencyError < 1e-9);
  });
});

describe('displacements on Earth', () => {
  it('are as long as geodesics and point the right way, at poles and the antimeridian too', () => {
    const random = randomFrom(2);
    for (let n = 0; n < 2000; n++) {
      const latitude = [0, 45, 79.9, 80.1, 89, 89.999, -89.99, -60][n % 8];
      const longitude = [0, 179.999, -179.999, 33][n % 4];
      const [azimuth, metres] = [360 * random(), 5000 * random()];
      const to = destination([latitude, longitude], azimuth, metres);
      const [north, east] = displacement([latitude, longitude], to, 'earth');
      const angle = (azimuth * Math.PI) / 180;
      const off = Math.hypot(north - metres * Math.cos(angle), east - metres * Math.sin(angle));
      assert.ok(off < 0.02 + 0.006 * metres, `${off} m off at ${latitude} ${longitude}, ${metres} m away`);
      assert.ok(Math.abs(Math.hypot(north, east) - metres) < 0.02 + 1e-4 * metres);
    }
  });
});
