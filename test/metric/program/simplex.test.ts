/**
 * The simplex against the stored reference values, against itself (warm equals cold after every slide) and against its
 * own promises: bounded memory, short errors, silence. Base distances are written out here so that nothing but the LP
 * is under test.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Frame, Obj } from '../../../src/metric/evaluation.js';
import { type Highs, loadHighsSync, type Runtime } from '../../../src/metric/program/highs.js';
import {
  isAssignment,
  type LpProblem,
  loadSimplex,
  loadSimplexSync,
  type Simplex,
  weightsValue,
} from '../../../src/metric/program/simplex.js';
import { WarmProgram } from '../../../src/metric/program/warm-program.js';
import { Ring } from '../../kit/metric/ring.js';
import { randomFrom } from '../../kit/random.js';
import { drawn, skipInFastRun } from '../../kit/system/system.js';

interface Case {
  name: string;
  params: { distance: string; cutoff: number; exponent: number; switchPenalty: number };
  frames: Frame[];
  weights?: { frame: number[]; switch: number[] };
  expected: { distance: number; exactDistance?: number };
}

const read = (file: string): Case[] =>
  JSON.parse(readFileSync(join(process.cwd(), 'test/cases/reference', file), 'utf8'));

const distances: Record<string, (a: Obj, b: Obj) => number> = {
  euclidean: (a, b) => Math.hypot(...pointOf(a).map((x, axis) => x - pointOf(b)[axis])),
  iou: (a, b) => 1 - overlap(boxOf(a), boxOf(b)),
};

const pointOf = (object: Obj): number[] => ('point' in object ? object.point : assert.fail('not a point'));
const boxOf = (object: Obj): number[] => ('box' in object ? object.box : assert.fail('not a box'));

function overlap(a: number[], b: number[]): number {
  const width = Math.min(a[0] + a[2], b[0] + b[2]) - Math.max(a[0], b[0]);
  const height = Math.min(a[1] + a[3], b[1] + b[3]) - Math.max(a[1], b[1]);
  const shared = Math.max(0, width) * Math.max(0, height);
  return shared / (a[2] * a[3] + b[2] * b[3] - shared);
}

/** The LP of a whole case, in units of cutoff^exponent, and the cost of leaving everything unassigned. */
function problemOf({ params, frames, weights }: Case): { problem: LpProblem; unassigned: number } {
  const { cutoff, exponent, switchPenalty } = params;
  const pairs = new Map<string, { truth: string; track: string; benefit: number[] }>();
  let unassigned = 0;
  frames.forEach(({ reference, tracker }, k) => {
    const weight = weights?.frame[k] ?? 1;
    unassigned += (weight * (reference.length + tracker.length)) / 2;
    for (const truth of reference)
      for (const track of tracker) {
        const ratio = distances[params.distance](truth, track) / cutoff;
        if (ratio >= 1) continue;
        const key = `${truth.id} ${track.id}`;
        const fresh = { truth: truth.id, track: track.id, benefit: new Array(frames.length).fill(0) };
        const pair = pairs.get(key) ?? fresh;
        pair.benefit[k] = weight * (1 - ratio ** exponent);
        pairs.set(key, pair);
      }
  });
  const edges = [...pairs.values()];
  const truths = [...new Set(edges.map((edge) => edge.truth))];
  const tracks = [...new Set(edges.map((edge) => edge.track))];
  const halfSwitch = (switchPenalty / cutoff) ** exponent / 2;
  const problem = {
    frameCount: frames.length,
    truthCount: truths.length,
    trackCount: tracks.length,
    edgeTruth: Int32Array.from(edges, (edge) => truths.indexOf(edge.truth)),
    edgeTrack: Int32Array.from(edges, (edge) => tracks.indexOf(edge.track)),
    benefit: Float64Array.from(frames.flatMap((_, k) => edges.map((edge) => edge.benefit[k]))),
    switchCost: Float64Array.from(frames, (_, k) => halfSwitch * (k > 0 ? (weights?.switch[k - 1] ?? 1) : 0)),
  };
  return { problem, unassigned };
}

function distanceOf({ params }: Case, unassigned: number, value: number): number {
  return params.cutoff * Math.max(0, unassigned - value) ** (1 / params.exponent);
}

function assertClose(actual: number, expected: number, what: string): void {
  const error = Math.abs(actual - expected) / Math.max(Math.abs(expected), 1e-9);
  assert.ok(error <= 1e-9, `${what}: got ${actual}, expected ${expected}, relative error ${error}`);
}

let highs: Highs | undefined;

/** One instance for all warm programs of these tests. */
function sharedHighs(): Highs {
  highs ??= loadHighsSync();
  return highs;
}

/** A HiGHS whose every fifth run fails. */
function failingAtTimes(highs: Highs): Runtime {
  let runs = 0;
  const createModel = () => {
    const model = highs.raw.createModel();
    const run = () => (++runs % 5 === 0 ? { status: -1 } : model.run());
    return new Proxy(model, {
      get: (target, key) => {
        const value = key === 'run' ? run : Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  };
  return { highs: { ...highs, raw: { ...highs.raw, createModel } } as unknown as Highs };
}

describe('simplex', () => {
  let simplex: Simplex;
  let warm: WarmProgram;
  before(async () => {
    simplex = await loadSimplex();
  });
  beforeEach(() => {
    warm = new WarmProgram({ highs: sharedHighs() });
  });

  for (const file of [
    'tgospa-cases.json',
    'authors-examples.json',
    'fractional-cases.json',
    'time-weighted-cases.json',
  ]) {
    it(`gives the LP metric of ${file}, in full and reduced`, function () {
      skipInFastRun(this);
      const cases = read(file).filter(({ params }) => params.distance in distances);
      assert.ok(cases.length >= 12);
      for (const item of cases) {
        const { problem, unassigned } = problemOf(item);
        const full = simplex.solveCold(problem);
        assertClose(distanceOf(item, unassigned, full.value), item.expected.distance, item.name);
        const { value, weights } = simplex.solve(problem);
        assertClose(distanceOf(item, unassigned, value), item.expected.distance, `${item.name}, reduced`);
        assertClose(weightsValue(problem, weights), value, `${item.name}, weights`);
      }
    });
  }

  it('gives the exact metric of fractional-cases.json by branch and bound', function () {
    skipInFastRun(this);
    for (const item of read('fractional-cases.json')) {
      const { problem, unassigned } = problemOf(item);
      assert.equal(simplex.solveCold(problem).integral, false, item.name);
      const { status, value, weights, bound } = simplex.solveIntegral(problem);
      assert.equal(status, 'optimal');
      assert.ok(isAssignment(problem, weights), item.name);
      assertClose(value, weightsValue(problem, weights), item.name);
      assertClose(bound, value, `bound of ${item.name}`);
      assertClose(distanceOf(item, unassigned, value), item.expected.exactDistance!, item.name);
    }
  });

  it('gives an assignment and a bound when the time for branch and bound is up at once', () => {
    const { problem } = problemOf(read('fractional-cases.json')[0]);
    const { value } = simplex.solveIntegral(problem);
    const unaided = simplex.solveIntegral(problem, { nodesMax: 0 });
    assert.equal(unaided.status, 'limit');
    assert.ok(isAssignment(problem, unaided.weights));
    assert.ok(unaided.value <= value && unaided.bound >= value);
  });

  it('solves problems without edges or frames', () => {
    const nothing = { ...emptyProblem(), frameCount: 3, switchCost: new Float64Array(3) };
    for (const problem of [emptyProblem(), nothing]) {
      assert.equal(simplex.solveCold(problem).value, 0);
      assert.equal(simplex.solve(problem).value, 0);
      assert.equal(simplex.solveIntegral(problem).value, 0);
    }
  });

  it('never gives a value when the time is up', () => {
    const { problem } = problemOf(read('fractional-cases.json')[0]);
    const ring = new Ring(warm, problem.frameCount);
    ring.load(problem);
    const hurry = { pivotsMax: 0 };
    for (const solution of [simplex.solveCold(problem, hurry), simplex.solve(problem, hurry), ring.solve(hurry)]) {
      assert.equal(solution.status, 'limit');
      assert.ok(Number.isNaN(solution.value));
      assert.equal(solution.integral, false);
    }
    assertClose(ring.solve().value, simplex.solveCold(problem).value, 'after the pause');
    assert.equal(warm.fallbackCount, 0);
  });

  it('answers nonsense with one short line', () => {
    const { problem } = problemOf(read('fractional-cases.json')[0]);
    const broken = { ...problem, benefit: problem.benefit.map(() => Number.NaN) };
    const ring = new Ring(warm, problem.frameCount);
    ring.load(broken);
    const { solve, solveCold, solveIntegral } = simplex;
    for (const attempt of [
      () => solve(broken),
      () => solveCold(broken),
      () => solveIntegral(broken),
      () => ring.solve(),
    ])
      assert.throws(attempt, (error: Error) => /^simplex: .{1,150}$/.test(error.message));
    ring.load(problem);
    assertClose(ring.solve().value, simplex.solveCold(problem).value, 'after the nonsense');
  });

  for (const windowFrames of [1, 2, 5, 16])
    it(`gives the cold optimum after every slide of a window of ${windowFrames}`, function () {
      if (windowFrames > 1) skipInFastRun(this);
      for (const seed of [1, 2, 3]) {
        const next = crowd(seed);
        const ring = new Ring(warm, windowFrames);
        for (let frame = 0; frame < 150; frame++) {
          next(ring);
          assertOptimal(simplex, ring, `seed ${seed}, frame ${frame}`);
          assert.equal(ring.frameCount, Math.min(frame + 1, windowFrames));
        }
        assert.equal(warm.fallbackCount, 0, `seed ${seed}`);
      }
    });

  it('gives the cold optimum of scenes of all kinds', function () {
    skipInFastRun(this);
    let openCount = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const ring = new Ring(warm, 1 + (seed % 12));
      const next = scene(seed);
      for (let frame = 0; frame < 24; frame++) {
        next(ring);
        if (frame % 2 === 0) continue;
        assertOptimal(simplex, ring, `seed ${seed}, frame ${frame}`);
        if (ring.rowCount > 0) openCount++;
      }
      assert.equal(warm.fallbackCount, 0, `seed ${seed}`);
    }
    // neither all of them known beforehand nor none
    assert.ok(openCount > 100 && openCount < 600, `${openCount} of 720 needed rows`);
  });

  it('gives the cold optimum when several slides and removals lie between two solves', () => {
    const random = randomFrom(4);
    const next = crowd(5);
    const ring = new Ring(warm, 8);
    for (let round = 0; round < drawn(100); round++) {
      for (let slides = Math.floor(random() * 12); slides > 0; slides--) next(ring);
      const { problem, truthNames, trackNames } = ring.window();
      if (random() < 0.3 && problem.edgeTruth.length > 0)
        ring.removeEdge(truthNames[problem.edgeTruth[0]], trackNames[problem.edgeTrack[0]]);
      assertOptimal(simplex, ring, `round ${round}`);
    }
    assert.equal(warm.fallbackCount, 0);
  });

  it('needs no rows for pairs that nobody disputes nor for rivals that cannot win, and few for those that may', () => {
    const ring = new Ring(warm, 30);
    // in an encounter: what the pairs earn that were together before, and what the crossed ones
    const next = (frame: number, own = 0.9, crossed = 0) => {
      const pairs = [
        [1, 1, own],
        [2, 2, own - 0.1],
        [3, 3, 0.7],
      ];
      if (crossed > 0) pairs.push([1, 2, crossed], [2, 1, crossed + 0.1]);
      const column = (n: number) => pairs.map((pair) => pair[n]);
      ring.slide(column(0), column(1), column(2), 0.3);
      assertOptimal(simplex, ring, `frame ${frame}`);
    };
    for (let frame = 0; frame < 10; frame++) next(frame);
    assert.equal(ring.rowCount, 0);
    for (let frame = 10; frame < 13; frame++) next(frame, 0.9, 0.5);
    for (let frame = 13; frame < 20; frame++) next(frame);
    assert.equal(ring.rowCount, 0);
    for (let frame = 20; frame < 23; frame++) next(frame, 0.5, 0.85);
    for (let frame = 23; frame < 30; frame++) next(frame);
    // four edges in three frames, and a few to be sure
    assert.ok(ring.rowCount >= 12 && ring.rowCount <= 20, `${ring.rowCount} rows`);
    for (let frame = 30; frame < 55; frame++) next(frame);
    assert.equal(ring.rowCount, 0);
  });

  it('gives the LP metric of the reference cases, loaded into one ring after the other', () => {
    const cases = read('time-weighted-cases.json').concat(read('fractional-cases.json'));
    const ring = new Ring(warm, Math.max(...cases.map(({ frames }) => frames.length)));
    for (const item of cases) {
      const { problem, unassigned } = problemOf(item);
      ring.load(problem);
      assertClose(distanceOf(item, unassigned, ring.solve().value), item.expected.distance, item.name);
    }
    assert.equal(warm.fallbackCount, 0);
  });

  it('repeats a failed warm solve cold and goes on', () => {
    const next = crowd(7);
    warm = new WarmProgram(failingAtTimes(loadHighsSync()));
    const ring = new Ring(warm, 8);
    for (let frame = 0; frame < 40; frame++) {
      next(ring);
      const { value } = ring.solve();
      assertClose(value, simplex.solveCold(ring.window().problem).value, `frame ${frame}`);
    }
    assert.ok(warm.fallbackCount >= 2, `${warm.fallbackCount} failures`);
  });

  it('holds its memory over ten thousand slides with ever new objects', function () {
    skipInFastRun(this);
    const ring = new Ring(warm, 4);
    const random = randomFrom(7);
    let settledBytes = 0;
    for (let frame = 0; frame < 10_000; frame++) {
      const truth = Math.floor(frame / 3);
      ring.slide([truth, truth, truth + 1], [truth, truth + 1, truth + 1], [random(), random(), random()], 0.2);
      ring.solve();
      assert.ok(ring.edgeCount <= 40, `${ring.edgeCount} edges at frame ${frame}`);
      if (frame === 1000) settledBytes = sharedHighs().memoryBytes;
    }
    assert.equal(sharedHighs().memoryBytes, settledBytes);
    assert.equal(warm.fallbackCount, 0);
  });

  it('holds its memory over windows without end: one model serves all of them', () => {
    const next = crowd(8);
    let settledBytes = 0;
    for (let round = 0; round < 300; round++) {
      const ring = new Ring(warm, 16);
      for (let frame = 0; frame < 4; frame++) next(ring);
      ring.solve();
      if (round === 100) settledBytes = sharedHighs().memoryBytes;
    }
    assert.equal(sharedHighs().memoryBytes, settledBytes);
  });

  it('loads synchronously in a fresh process and prints nothing', () => {
    const script = `
      const { loadSimplexSync, loadSimplex } = await import(${JSON.stringify(new URL('../../../src/metric/program/simplex.js', import.meta.url).href)});
      const simplex = loadSimplexSync();
      const one = { frameCount: 2, truthCount: 1, trackCount: 1, edgeTruth: Int32Array.of(0), edgeTrack: Int32Array.of(0),
        benefit: Float64Array.of(0.5, 0.25), switchCost: Float64Array.of(0, 1) };
      const values = [simplex.solveCold(one).value, simplex.solveIntegral(one).value, simplex.solve(one).value];
      process.exitCode = values.every((value) => value === 0.75) && (await loadSimplex()) === simplex ? 0 : 1;`;
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' });
    assert.equal(loadSimplexSync(), simplex);
  });
});

function emptyProblem(): LpProblem {
  const none = new Int32Array(0);
  const counts = { frameCount: 0, truthCount: 0, trackCount: 0 };
  return { ...counts, edgeTruth: none, edgeTrack: none, benefit: new Float64Array(0), switchCost: new Float64Array(0) };
}

/**
 * A small crowd on a line: objects walk, vanish for a while, and come back under a new name; every call slides the ring
 * by one frame.
 */
function crowd(seed: number): (ring: Ring) => void {
  const random = randomFrom(seed);
  let nextName = 0;
  const born = () => ({ name: nextName++, place: random() * 6, absent: random() < 0.3 });
  const feeds = [0, 1].map(() => Array.from({ length: 5 }, born));
  const walk = (object: ReturnType<typeof born>) => {
    if (random() < 0.08) return born();
    return { ...object, place: object.place + random() - 0.5, absent: random() < 0.15 };
  };
  return (ring) => {
    feeds.forEach((feed, side) => {
      feeds[side] = feed.map(walk);
    });
    const pairs = feeds[0].flatMap((truth) => feeds[1].map((track) => ({ truth, track })));
    const close = pairs
      .map(({ truth, track }) => ({ truth, track, benefit: 1 - Math.abs(truth.place - track.place) }))
      .filter(({ truth, track, benefit }) => !truth.absent && !track.absent && benefit > 0);
    ring.slide(
      close.map(({ truth }) => truth.name),
      close.map(({ track }) => track.name),
      close.map(({ benefit }) => benefit),
      [0, 0.1, 0.4][seed % 3],
    );
  };
}

/**
 * The same with objects that are few or many, quick or slow, on a grid where everything ties, and under changes of any
 * cost, even or not.
 */
function scene(seed: number): (ring: Ring) => void {
  const random = randomFrom(1000 + seed);
  const isCoarse = random() < 0.4;
  const cost = [0, 0.05, 0.1, 0.25, 0.5, 1, 2][seed % 7];
  const isUneven = random() < 0.25;
  const [width, speed, absence] = [1 + 5 * random(), random(), 0.4 * random()];
  let nextName = 0;
  const born = () => ({ name: nextName++, place: random() * width, absent: false });
  const feeds = [0, 1].map(() => Array.from({ length: 1 + Math.floor(random() * 5) }, born));
  return (ring) => {
    feeds.forEach((feed, side) => {
      feeds[side] = feed.map((object) => {
        if (random() < 0.05) return born();
        return { ...object, place: object.place + (random() - 0.5) * speed, absent: random() < absence };
      });
    });
    const pairs: { truth: number; track: number; benefit: number }[] = [];
    for (const truth of feeds[0])
      for (const track of feeds[1]) {
        const near = 1 - Math.abs(truth.place - track.place);
        const benefit = isCoarse ? Math.round(near * 4) / 4 : near;
        if (!truth.absent && !track.absent && benefit > 0)
          pairs.push({ truth: truth.name, track: track.name, benefit });
      }
    ring.slide(
      pairs.map(({ truth }) => truth),
      pairs.map(({ track }) => track),
      pairs.map(({ benefit }) => benefit),
      isUneven ? cost * (0.5 + random()) : cost,
    );
  };
}

function assertOptimal(simplex: Simplex, ring: Ring, where: string): void {
  const { problem } = ring.window();
  const warm = ring.solve();
  const cold = simplex.solveCold(problem);
  assert.equal(warm.status, 'optimal');
  assertClose(warm.value, cold.value, where);
  assertClose(weightsValue(problem, warm.weights), warm.value, `weights, ${where}`);
  if (warm.integral) assert.ok(isAssignment(problem, warm.weights), where);
  assertClose(boundOf(ring), warm.value, `bound by prices, ${where}`);
}

/** What the ring's prices say that no weights can exceed: all of them, and what each edge alone can earn above them. */
function boundOf(ring: Ring): number {
  const { problem, truthNames, trackNames } = ring.window();
  const { frameCount, edgeTruth, edgeTrack, benefit, switchCost } = problem;
  let bound = 0;
  for (let k = 0; k < frameCount; k++) {
    for (const name of truthNames) bound += ring.truthPrice(name, k);
    for (const name of trackNames) bound += ring.trackPrice(name, k);
  }
  edgeTruth.forEach((truth, edge) => {
    let [on, off] = [0, 0];
    for (let k = 0; k < frameCount; k++) {
      if (k > 0) [on, off] = [Math.max(on, off - switchCost[k]), Math.max(off, on - switchCost[k])];
      on += benefit[k * edgeTruth.length + edge];
      on -= ring.truthPrice(truthNames[truth], k) + ring.trackPrice(trackNames[edgeTrack[edge]], k);
    }
    bound += Math.max(on, off);
  });
  return bound;
}
