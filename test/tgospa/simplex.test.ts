/**
 * The simplex against the stored reference values, against itself (warm equals cold after every slide) and against its own promises:
 * bounded memory, short errors, silence. Base distances are written out here so that nothing but the LP is under test.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Frame, Obj } from '../../src/tgospa/evaluation.js';
import {
  isAssignment,
  type LpProblem,
  loadSimplex,
  loadSimplexSync,
  type RingSimplex,
  type Simplex,
  weightsValue,
} from '../../src/tgospa/simplex.js';

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

/** A seeded generator of numbers in [0, 1) (mulberry32). */
function seeded(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe('simplex', () => {
  let simplex: Simplex;
  before(async () => {
    simplex = await loadSimplex();
  });

  for (const file of [
    'tgospa-cases.json',
    'authors-examples.json',
    'fractional-cases.json',
    'time-weighted-cases.json',
  ]) {
    it(`gives the LP metric of ${file}, with and without presolve`, () => {
      const cases = read(file).filter(({ params }) => params.distance in distances);
      assert.ok(cases.length >= 12);
      for (const item of cases) {
        const { problem, unassigned } = problemOf(item);
        for (const presolve of [true, false]) {
          const { value } = simplex.solveCold(problem, { presolve });
          assertClose(distanceOf(item, unassigned, value), item.expected.distance, item.name);
        }
      }
    });
  }

  it('gives the exact metric of fractional-cases.json by branch and bound', () => {
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
});
