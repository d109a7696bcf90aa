/**
 * Proves an evaluation right as far as one can without solving: recomputes every cost and count from the frames and the reported
 * assignment alone, with distances of its own, and checks that the assignment is one. It shares no code with the kernel.
 *
 * A pair is listed in each frame where one of its ends is present. Where neither is, it keeps its state unless one of
 * its ends is listed with another. Before either was ever present it is in whatever state it is found in first.
 */

import assert from 'node:assert/strict';
import type { Assigned, Evaluation, Frame, Obj, Params } from '../../src/index.js';

const EARTH_RADIUS_M = 6_371_008.8;

const box = (object: Obj) => ('box' in object ? object.box : assert.fail(`${object.id} is no box`));
const point = (object: Obj) => ('point' in object ? object.point : assert.fail(`${object.id} is no point`));
const corners = ([left, top, width, height]: number[]) => [left, top, left + width, top + height];

/** Base distances, written down anew. */
export const baseDistance: Record<Params['distance'], (a: Obj, b: Obj) => number> = {
  iou: (a, b) => {
    const [al, at, ar, ab] = corners(box(a));
    const [bl, bt, br, bb] = corners(box(b));
    const common = Math.max(0, Math.min(ar, br) - Math.max(al, bl)) * Math.max(0, Math.min(ab, bb) - Math.max(at, bt));
    return 1 - common / (box(a)[2] * box(a)[3] + box(b)[2] * box(b)[3] - common);
  },
  hausdorff: (a, b) => {
    const other = corners(box(b));
    return Math.max(...corners(box(a)).map((side, n) => Math.abs(side - other[n])));
  },
  wasserstein: (a, b) => {
    const [al, at, aw, ah] = box(a);
    const [bl, bt, bw, bh] = box(b);
    const centre = (al + aw / 2 - bl - bw / 2) ** 2 + (at + ah / 2 - bt - bh / 2) ** 2;
    return Math.sqrt(centre + ((aw - bw) ** 2 + (ah - bh) ** 2) / 12);
  },
  euclidean: (a, b) => Math.hypot(...point(a).map((x, n) => x - point(b)[n])),
  geodesic: (a, b) => {
    const [u, v] = [a, b].map((object) => {
      const [lat, lon] = point(object).map((degrees) => (degrees * Math.PI) / 180);
      return [Math.cos(lat) * Math.cos(lon), Math.cos(lat) * Math.sin(lon), Math.sin(lat)];
    });
    const chord = Math.hypot(u[0] - v[0], u[1] - v[1], u[2] - v[2]);
    return 2 * EARTH_RADIUS_M * Math.asin(Math.min(1, chord / 2));
  },
};

/** The chord loses digits that the haversine keeps: metres of a small distance agree to fewer digits. */
const DISTANCE_TOLERANCE: Record<Params['distance'], number> = {
  iou: 1e-12,
  hausdorff: 1e-12,
  wasserstein: 1e-12,
  euclidean: 1e-12,
  geodesic: 1e-6,
};

export function close(actual: number, expected: number, tolerance: number, what: string): void {
  assert.ok(
    Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected)),
    `${what}: ${actual} instead of ${expected}`,
  );
}

/** Weight of frame k and of the change into it, among `count` frames. */
function weightsOf({ weights }: Params, count: number) {
  if (!weights) return { frame: () => 1, change: () => 1 };
  if ('forgetting' in weights) {
    const weight = (k: number) => weights.forgetting ** (count - 1 - k);
    return { frame: weight, change: weight };
  }
  return {
    frame: (k: number) => weights.frame[weights.frame.length - count + k],
    change: (k: number) => weights.switch[weights.switch.length - count + k],
  };
}

/** Checks everything an Evaluation says about `frames`; `name` opens the message. */
export function verify(evaluation: Evaluation, frames: Frame[], params: Params, name: string): void {
  verifyBounds(evaluation, params, name);
  const { perFrame, cost, count } = evaluation;
  assert.equal(evaluation.frames, frames.length, `${name}: number of frames`);
  assert.equal(perFrame.length, frames.length, `${name}: length of perFrame`);
  const unit = params.cutoff ** params.exponent;
  const missShare = params.missShare ?? 0.5;
  const half = params.switchPenalty ** params.exponent / 2;
  const weight = weightsOf(params, frames.length);
  const sum = { localization: 0, missed: 0, false: 0, switch: 0, proper: 0, missedCount: 0, falseCount: 0, halves: 0 };
  let localizationUnweighted = 0;
  frames.forEach((frame, k) => {
    const at = `${name}, frame ${k}`;
    const costs = verifyAssignment(perFrame[k].assignment, frame, params, at);
    const proper = costs.length;
    const missed = frame.reference.length - proper;
    const falseCount = frame.tracker.length - proper;
    const localization = costs.reduce((a, b) => a + b, 0);
    localizationUnweighted += localization;
    const own = perFrame[k];
    assert.deepEqual(
      [own.count.proper, own.count.missed, own.count.false],
      [proper, missed, falseCount],
      `${at}: counts of proper, missed, false`,
    );
    const w = weight.frame(k);
    close(own.cost.localization, w * localization, 1e-9 * Math.max(1, unit), `${at}: localization`);
    close(own.cost.missed, w * missShare * unit * missed, 1e-9, `${at}: missed`);
    close(own.cost.false, w * (1 - missShare) * unit * falseCount, 1e-9, `${at}: false`);
    sum.localization += w * localization;
    sum.missed += w * missShare * unit * missed;
    sum.false += w * (1 - missShare) * unit * falseCount;
    sum.proper += proper;
    sum.missedCount += missed;
    sum.falseCount += falseCount;
  });
  if (params.switchPenalty > 0) {
    const changes = changesOf(
      perFrame.map((each) => each.assignment),
      frames,
    );
    const halvesAt = new Array(frames.length).fill(0);
    for (const { after, upTo } of changes) {
      halvesAt[upTo]++;
      let cheapest = Number.POSITIVE_INFINITY;
      for (let k = after + 1; k <= upTo; k++) cheapest = Math.min(cheapest, weight.change(k));
      sum.switch += cheapest * half;
    }
    sum.halves = changes.length;
    if (!params.weights)
      halvesAt.forEach((halves, k) => {
        assert.equal(perFrame[k].count.switches, halves / 2, `${name}, frame ${k}: switches`);
        close(perFrame[k].cost.switch, halves * half, 1e-9, `${name}, frame ${k}: switch`);
      });
  }
  assert.deepEqual(
    count,
    { proper: sum.proper, missed: sum.missedCount, false: sum.falseCount, switches: sum.halves / 2 },
    `${name}: counts`,
  );
  for (const part of ['localization', 'missed', 'false', 'switch'] as const) {
    close(cost[part], sum[part], 1e-9, `${name}: ${part}`);
    const added = perFrame.reduce((total, each) => total + each.cost[part], 0);
    close(added, cost[part], 1e-9, `${name}: ${part} added over the frames`);
  }
  close(
    evaluation.meanLocalizationError,
    sum.proper > 0 ? (localizationUnweighted / sum.proper) ** (1 / params.exponent) : 0,
    1e-6,
    `${name}: mean localization error`,
  );
}

/** What holds even for a fractional optimum: sums, bound and gap agree with each other. */
export function verifyBounds(evaluation: Evaluation, params: Params, name: string): void {
  const { cost, solver } = evaluation;
  close(
    cost.localization + cost.missed + cost.false + cost.switch,
    cost.total,
    1e-12,
    `${name}: sum of the components`,
  );
  close(evaluation.distance, cost.total ** (1 / params.exponent), 1e-12, `${name}: distance`);
  assert.ok(
    evaluation.lowerBound <= cost.total * (1 + 1e-12),
    `${name}: lower bound ${evaluation.lowerBound} above the cost ${cost.total}`,
  );
  assert.ok(evaluation.gap >= 0 && evaluation.gap <= 1, `${name}: gap ${evaluation.gap}`);
  if (evaluation.exact) {
    assert.ok(evaluation.gap <= 1e-9, `${name}: exact with a gap of ${evaluation.gap}`);
    close(evaluation.lowerBound, cost.total, 1e-9, `${name}: lower bound of an exact value`);
  } else assert.ok(evaluation.gap > 0, `${name}: not exact without a gap`);
  const { isolated, frontier, matchings, ascent, simplex, branch, open } = solver;
  const parts = [isolated, frontier, matchings, ascent, simplex, branch, open];
  assert.ok(
    parts.every((n) => n >= 0) && parts.reduce((a, b) => a + b, 0) === solver.pairs,
    `${name}: solver summary does not add up ${JSON.stringify(solver)}`,
  );
}

/** Checks one frame's pairs; returns the localization costs of the proper ones. */
function verifyAssignment(assignment: Assigned[], frame: Frame, params: Params, at: string): number[] {
  const truths = new Map(frame.reference.map((object) => [object.id, object]));
  const tracks = new Map(frame.tracker.map((object) => [object.id, object]));
  const usedTruths = new Set<string>();
  const usedTracks = new Set<string>();
  const costs: number[] = [];
  for (const { truth, track, distance } of assignment) {
    assert.ok(!usedTruths.has(truth), `${at}: truth ${truth} is assigned twice`);
    assert.ok(!usedTracks.has(track), `${at}: track ${track} is assigned twice`);
    usedTruths.add(truth);
    usedTracks.add(track);
    const a = truths.get(truth);
    const b = tracks.get(track);
    assert.ok(a || b, `${at}: ${truth} and ${track} are listed but neither is present`);
    const own = a && b ? baseDistance[params.distance](a, b) : Number.POSITIVE_INFINITY;
    const slack = DISTANCE_TOLERANCE[params.distance] * Math.max(1, params.cutoff);
    if (distance === null) assert.ok(own >= params.cutoff - slack, `${at}: ${truth} and ${track} are proper`);
    else {
      assert.ok(Math.abs(own - distance) <= slack, `${at}: distance of ${truth} and ${track}: ${distance}, not ${own}`);
      assert.ok(distance < params.cutoff, `${at}: ${truth} and ${track} are not proper`);
      costs.push(distance ** params.exponent);
    }
  }
  return costs;
}

/** Every change of a pair's state: it happened after the frame `after`, at `upTo` at the latest. */
function changesOf(assignments: Assigned[][], frames: Frame[]): { after: number; upTo: number }[] {
  const key = ({ truth, track }: Assigned) => JSON.stringify([truth, track]);
  const pairs = new Map(assignments.flat().map((pair) => [key(pair), pair]));
  const changes: { after: number; upTo: number }[] = [];
  const listed = assignments.map((list) => new Set(list.map(key)));
  const busyTruths = assignments.map((list) => new Set(list.map((pair) => pair.truth)));
  const busyTracks = assignments.map((list) => new Set(list.map((pair) => pair.track)));
  const present = frames.map(({ reference, tracker }) => ({
    truths: new Set(reference.map((object) => object.id)),
    tracks: new Set(tracker.map((object) => object.id)),
  }));
  for (const [name, { truth, track }] of pairs) {
    let state: boolean | null = null;
    let known = -1;
    frames.forEach((_, k) => {
      const on = listed[k].has(name);
      const seen = present[k].truths.has(truth) || present[k].tracks.has(track);
      if (!on && !seen && !busyTruths[k].has(truth) && !busyTracks[k].has(track)) return;
      if (state !== null && state !== on) changes.push({ after: known, upTo: k });
      state = on;
      known = k;
    });
  }
  return changes;
}
