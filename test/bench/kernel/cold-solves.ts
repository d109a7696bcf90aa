/**
 * Pushes against a cold HiGHS solve of the same windows, and warm simplex against cold, in one run; and how pushes grow
 * with the crowd and the window. Real sequences from ../shared/data when they are there, a seeded crowd of the same
 * density otherwise.
 */

import { existsSync, readFileSync } from 'node:fs';
import { alignMotChallenge, readMotChallenge } from '../../../adapters/formats/motchallenge.js';
import { presets, SlidingWindow } from '../../../src/index.js';
import type { Frame, SolverSummary } from '../../../src/metric/evaluation.js';
import { packFrame } from '../../../src/metric/frame.js';
import { loadHighsSync } from '../../../src/metric/program/highs.js';
import { type LpProblem, loadSimplexSync } from '../../../src/metric/program/simplex.js';
import { WarmProgram } from '../../../src/metric/program/warm-program.js';
import { solveSettings } from '../../../src/metric/solve-options.js';
import { Solver } from '../../../src/metric/solver.js';
import type { FrameRecord } from '../../../src/metric/window/frame-record.js';
import { QUANTA } from '../../../src/metric/window/quanta.js';
import { Ring } from '../../kit/metric/ring.js';
import { crowd } from '../crowd.js';

const DATA = '../shared/data/';
const WINDOW_FRAMES = 60;
const COLD_WINDOWS = 15;
/** an evaluator runs for months: what counts is the pace after the first minutes */
const WARM_PUSHES = 8000;
/** passes over a sequence of each kind; all their times count */
const ROUNDS = 3;
const params = presets['online-surveillance'];
const simplex = loadSimplexSync();
const program = new WarmProgram({ highs: loadHighsSync() });

const SEQUENCES = [
  {
    name: 'MOT17-09',
    tracker: 'BoT-SORT',
    reference: 'MOT17/train/MOT17-09/gt/gt.txt',
    file: 'MOT17/results/BoT-SORT-ReTrack-Botsort_baseline/MOT17-09-FRCNN.txt',
    objects: 10,
    frames: 525,
  },
  {
    name: 'MOT17-04',
    tracker: 'MPNTrack',
    reference: 'MOT17/train/MOT17-04/gt/gt.txt',
    file: 'MOT17/results/MPNTrack/MOT17-04-FRCNN.txt',
    objects: 45,
    frames: 1050,
  },
  {
    name: 'MOT20-01',
    tracker: 'OC-SORT',
    reference: 'MOT20/train/MOT20-01/gt/gt.txt',
    file: 'MOT20/results/OC-SORT-JLJ19/MOT20-01.txt',
    objects: 46,
    frames: 429,
  },
];

function quantile(sorted: number[], p: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))];
}

const edgesOf = (frame: FrameRecord) => Array.from({ length: frame.edgeCount }, (_, pair) => frame.edgeAt(pair));
const ascending = (list: number[]) => [...list].sort((a, b) => a - b);
const round = (value: number, digits = 3) => Number(value.toPrecision(digits));

function loadFrames(sequence: (typeof SEQUENCES)[number]): { frames: Frame[]; source: string } {
  if (!existsSync(DATA + sequence.reference)) {
    return { frames: crowd(sequence.objects, sequence.frames, 7), source: `synthetic crowd of ${sequence.objects}` };
  }
  const read = (file: string, kind: 'reference' | 'tracker') =>
    readMotChallenge(readFileSync(DATA + file, 'utf8'), { kind, file });
  return {
    frames: alignMotChallenge(read(sequence.reference, 'reference'), read(sequence.file, 'tracker')),
    source: `${sequence.name}, ${sequence.tracker}`,
  };
}

/** The whole window as one linear program, without the pairs that are never close. */
function windowProblem(frames: Frame[]): LpProblem {
  const solver = new Solver(params, solveSettings({}), frames.length);
  const { contents: scene } = solver;
  for (const frame of frames) solver.append(packFrame(frame, params.distance, 0, 'frame'));
  const index = <K>(map: Map<K, number>, key: K) => map.get(key) ?? map.set(key, map.size).size - 1;
  const truths = new Map<object, number>();
  const tracks = new Map<object, number>();
  const edges = new Map<object, number>();
  const edgeTruth: number[] = [];
  const edgeTrack: number[] = [];
  for (let k = 0; k < frames.length; k++) {
    for (const edge of edgesOf(scene.frame(k))) {
      if (edges.has(edge)) continue;
      edges.set(edge, edges.size);
      edgeTruth.push(index(truths, edge.truth));
      edgeTrack.push(index(tracks, edge.track));
    }
  }
  const benefit = new Float64Array(frames.length * edges.size);
  for (let k = 0; k < frames.length; k++) {
    const frame = scene.frame(k);
    edgesOf(frame).forEach((edge, pair) => {
      benefit[k * edges.size + edges.get(edge)!] = frame.benefit(pair) / QUANTA;
    });
  }
  return {
    frameCount: frames.length,
    truthCount: truths.size,
    trackCount: tracks.size,
    edgeTruth: Int32Array.from(edgeTruth),
    edgeTrack: Int32Array.from(edgeTrack),
    benefit,
    switchCost: new Float64Array(frames.length).fill(
      params.switchPenalty ** params.exponent / 2 / params.cutoff ** params.exponent,
    ),
  };
}

function timed<T>(work: () => T): { ms: number; result: T } {
  const start = performance.now();
  const result = work();
  return { ms: performance.now() - start, result };
}

/** Slides a window over all frames; every `coldEvery`-th window is also solved cold. */
function slide(frames: Frame[], windowFrames: number, coldWindows: number) {
  const coldEvery =
    coldWindows === 0
      ? Number.POSITIVE_INFINITY
      : Math.max(1, Math.floor((frames.length - windowFrames) / coldWindows));
  const push: number[] = [];
  const cold: number[] = [];
  const solver: Record<string, number> = {};
  let exactCount = 0;
  let worstDifference = 0;
  const instances = (frame: Frame) => frame.reference.length + frame.tracker.length;
  const unit = params.cutoff ** params.exponent;
  const window = new SlidingWindow({ ...params, windowFrames });
  for (let k = 0; k < frames.length; k++) {
    const { ms, result: report } = timed(() => window.push(frames[k]));
    if (k < windowFrames) continue;
    push.push(ms);
    if (report.exact) exactCount++;
    for (const [name, count] of Object.entries(report.solver satisfies SolverSummary))
      solver[name] = (solver[name] ?? 0) + count;
    if (coldWindows === 0 || (k - windowFrames) % coldEvery !== 0) continue;
    const content = frames.slice(k - windowFrames + 1, k + 1);
    const problem = windowProblem(content);
    const solved = timed(() => simplex.solveCold(problem));
    cold.push(solved.ms);
    const total = (unit / 2) * content.reduce((sum, frame) => sum + instances(frame), 0) - unit * solved.result.value;
    if (solved.result.integral)
      worstDifference = Math.max(worstDifference, Math.abs(total - report.cost.total) / total);
  }
  window.dispose();
  return {
    push: ascending(push),
    cold: ascending(cold),
    solver,
    exactShare: exactCount / push.length,
    worstDifference,
  };
}

/**
 * Passes of pushes alone, and of cold solves, take turns, so that neither disturbs the other and both see the same
 * machine.
 */
function measure(frames: Frame[]): ReturnType<typeof slide> {
  const pushes = [];
  const colds = [];
  for (let round = 0; round < ROUNDS; round++) {
    pushes.push(slide(frames, WINDOW_FRAMES, 0));
    colds.push(slide(frames, WINDOW_FRAMES, COLD_WINDOWS));
  }
  return {
    push: ascending(pushes.flatMap(({ push }) => push)),
    cold: ascending(colds.flatMap(({ cold }) => cold)),
    solver: pushes[0].solver,
    exactShare: Math.min(...[...pushes, ...colds].map(({ exactShare }) => exactShare)),
    worstDifference: Math.max(...colds.map(({ worstDifference }) => worstDifference)),
  };
}

/**
 * Warm simplex: a push with solver 'lp' at every frame (`push`), and the ring over the whole window restarted from its
 * last basis, without asking first whether the old prices still prove the optimum (`ring`; `ringSimplex` those of them
 * that left HiGHS something to solve). Against them some of the same windows cold, without presolve: by our own model
 * (`cold`).
 */
function warmSimplex(frames: Frame[]) {
  const ring = new Ring(program, WINDOW_FRAMES);
  const solver = new Solver(params, solveSettings({}), WINDOW_FRAMES);
  const { contents: scene } = solver;
  const window = new SlidingWindow({ ...params, windowFrames: WINDOW_FRAMES }, { solver: 'lp' });
  const half = params.switchPenalty ** params.exponent / 2 / params.cutoff ** params.exponent;
  const times = { push: [] as number[], ring: [] as number[], cold: [] as number[] };
  const simplexTimes: number[] = [];
  let rows = 0;
  let worstDifference = 0;
  for (const [k, frame] of frames.entries()) {
    if (scene.size === WINDOW_FRAMES) solver.dropOldest();
    solver.append(packFrame(frame, params.distance, 0, 'frame'));
    const record = scene.frame(scene.newestNumber);
    const edges = edgesOf(record);
    const pushed = timed(() => window.push(frame)).ms;
    const restarted = timed(() => {
      ring.slide(
        edges.map((e) => e.truth.serial),
        edges.map((e) => e.track.serial),
        edges.map((_, pair) => record.benefit(pair) / QUANTA),
        half,
      );
      return ring.solve().value;
    });
    if (k < WINDOW_FRAMES) continue;
    times.push.push(pushed);
    times.ring.push(restarted.ms);
    rows += ring.rowCount;
    if (ring.rowCount > 0) simplexTimes.push(restarted.ms);
    if (k % 15 !== 0) continue;
    const problem = windowProblem(frames.slice(k - WINDOW_FRAMES + 1, k + 1));
    const solved = timed(() => simplex.solveCold(problem));
    times.cold.push(solved.ms);
    worstDifference = Math.max(worstDifference, Math.abs(solved.result.value - restarted.result));
  }
  window.dispose();
  const median = (list: number[]) => quantile(ascending(list), 0.5);
  const mean = (list: number[]) => list.reduce((sum, ms) => sum + ms, 0) / list.length;
  const [push, restart, cold] = [times.push, times.ring, times.cold].map(median);
  return {
    lpPushMedianMs: round(push),
    lpPushMeanMs: round(mean(times.push)),
    lpPushP99Ms: round(quantile(ascending(times.push), 0.99)),
    ringMedianMs: round(restart),
    ringMeanMs: round(mean(times.ring)),
    ringRows: round(rows / times.ring.length),
    coldNoPresolveMedianMs: round(cold),
    lpPushRatio: round(cold / push),
    ringRatio: round(cold / restart),
    ringMeanRatio: round(mean(times.cold) / mean(times.ring)),
    ringSimplexShare: round(simplexTimes.length / times.ring.length),
    // a handful says nothing
    ringSimplexRatio: simplexTimes.length < 20 ? null : round(cold / median(simplexTimes)),
    ringWorstDifference: round(worstDifference, 2),
  };
}

function sequenceRow(sequence: (typeof SEQUENCES)[number]) {
  const { frames, source } = loadFrames(sequence);
  // the compilers need a few solves and several thousand pushes to settle
  slide(frames, WINDOW_FRAMES, 6);
  for (let pushes = 0; pushes < WARM_PUSHES; pushes += frames.length) slide(frames, WINDOW_FRAMES, 0);
  const run = measure(frames);
  const warm = warmSimplex(frames.slice(0, 300));
  const contested = run.solver.pairs - run.solver.isolated;
  const share = (name: string) => round(run.solver[name] / contested, 2);
  const median = quantile(run.push, 0.5);
  const p99 = quantile(run.push, 0.99);
  const coldMedian = quantile(run.cold, 0.5);
  return {
    source,
    pushMedianMs: round(median),
    pushP99Ms: round(p99),
    coldMedianMs: round(coldMedian),
    medianRatio: Math.round(coldMedian / median),
    p99Ratio: round(coldMedian / p99),
    isolatedShare: round(run.solver.isolated / run.solver.pairs, 2),
    contested: {
      frontier: share('frontier'),
      matchings: share('matchings'),
      ascent: share('ascent'),
      simplex: share('simplex'),
      open: share('open'),
    },
    exactShare: run.exactShare,
    worstDifference: round(run.worstDifference, 2),
    warmSimplex: warm,
  };
}

function scalingRow(objects: number) {
  const row: Record<string, number | string> = { objects };
  for (const windowFrames of [30, 120, 480]) {
    const frames = crowd(objects, windowFrames + 150, 11);
    slide(crowd(objects, windowFrames + 40, 12), windowFrames, 0);
    const { push } = slide(frames, windowFrames, 0);
    row[`T=${windowFrames} median ms`] = round(quantile(push, 0.5));
    row[`T=${windowFrames} p99 ms`] = round(quantile(push, 0.99));
  }
  return row;
}

/** Prints the tables; with `quick` only warm simplex against cold, over fewer frames. */
export function coldTables(quick: boolean) {
  if (quick) {
    const rows = SEQUENCES.map((sequence) => {
      const { frames, source } = loadFrames(sequence);
      warmSimplex(frames.slice(0, 150));
      return { source, ...warmSimplex(frames.slice(0, 200)) };
    });
    console.log('warm simplex against cold, without presolve:');
    console.table(rows);
    return { warmSimplex: rows };
  }
  const rows = SEQUENCES.map(sequenceRow);
  console.log('pushes against cold solves:');
  console.table(rows.map(({ contested, warmSimplex: _, ...row }) => ({ ...row, ...contested })));
  console.log('warm simplex against cold, without presolve:');
  console.table(rows.map(({ source, warmSimplex }) => ({ source, ...warmSimplex })));
  console.log('scaling on a synthetic crowd of the same density:');
  const scaling = [10, 30, 100, 300].map(scalingRow);
  console.table(scaling);
  return { sequences: rows, scaling };
}
