/**
 * From a solved scene to the Evaluation: costs in full precision, counted from the assignment.
 */

import { distances } from './distance.js';
import type { Assigned, Cost, Count, Evaluation, FrameEvaluation, Glance, SolverSummary } from './evaluation.js';
import { type FrameRecord, ROUNDING_PARTS } from './window/frame-record.js';
import { priceQuanta, QUANTA } from './window/quanta.js';
import type { Scene } from './window/scene.js';
import type { Trajectory } from './window/trajectory.js';

/** What the cost may lie above the optimum, relatively, and still be called exact. */
const EXACT = 1e-9;

/** Everything but `perFrame`, for the frames in the scene. */
export function readWindow(scene: Scene): Omit<Evaluation, 'perFrame'> {
  const price = scene.prices;
  let proper = 0;
  let missedCount = 0;
  let falseTotal = 0;
  let halves = 0;
  let unweightedLocalization = 0;
  let weightedLocalization = 0;
  let weightedMissed = 0;
  let weightedFalse = 0;
  let weightedHalves = 0;
  for (let number = scene.oldestNumber; number <= scene.newestNumber; number++) {
    const frame = scene.frame(number);
    const missed = frame.truths.length - frame.proper;
    const falseCount = frame.tracks.length - frame.proper;
    proper += frame.proper;
    missedCount += missed;
    falseTotal += falseCount;
    halves += frame.halves;
    unweightedLocalization += frame.localization;
    if (scene.weighted) {
      const weight = scene.frameWeight(number);
      weightedLocalization += weight * frame.localization;
      weightedMissed += weight * missed;
      weightedFalse += weight * falseCount;
      if (frame.halves !== 0) weightedHalves += scene.switchWeight(number) * frame.halves;
    }
  }
  const { weighted } = scene;
  const localization = weighted ? weightedLocalization : unweightedLocalization;
  const missed = price.missed * (weighted ? weightedMissed : missedCount);
  const falseCost = price.false * (weighted ? weightedFalse : falseTotal);
  const switchCost = price.half * (weighted ? weightedHalves : halves);
  const total = localization + missed + falseCost + switchCost;
  const cost: Cost = { total, localization, missed, false: falseCost, switch: switchCost };
  const count: Count = { proper, missed: missedCount, false: falseTotal, switches: halves / 2 };
  const solver = summary(scene);
  // below: the assignment's cost may exceed the optimum by so much; above: the best assignment may exceed the LP metric
  let below = scene.cut.loss;
  let above = 0;
  for (const component of scene.components) {
    if (component.relaxed) above += component.gap;
    else below += component.gap;
  }
  // per-frame matchings, and fractional optima, are not solved in quanta
  if (price.half > 0 && !isFractional(scene)) below += roundingQuanta(scene, halves, total);
  below = Math.min(cost.total, (below / QUANTA) * scene.unit);
  above = (above / QUANTA) * scene.unit;
  const exact = solver.open === 0 && below <= EXACT * cost.total;
  if (exact) below = 0;
  const { exponent } = scene.params;
  return {
    frames: scene.size,
    distance: cost.total ** (1 / exponent),
    cost,
    count,
    meanLocalizationError: count.proper > 0 ? (unweightedLocalization / count.proper) ** (1 / exponent) : 0,
    // nothing costs less than nothing
    exact: exact || cost.total === 0,
    lowerBound: cost.total - below,
    gap: below + above === 0 ? 0 : (below + above) / (cost.total + above),
    solver,
  };
}

/**
 * What the best assignment may gain by what was rounded, in quanta: by pairs that are not assigned here, but for those that alone cost more than everything here
 * does, and by the surcharge on changes.
 */
function roundingQuanta(scene: Scene, halves: number, cost: number): number {
  let rounding = 0;
  let free = 0;
  for (let number = scene.oldestNumber; number <= scene.newestNumber; number++) {
    const frame = scene.frame(number);
    if (frame.rounding === 0) continue;
    const weight = scene.frameWeight(number);
    if (weight * frame.cost(frame.roundedPair) > cost) continue;
    const others = frame.pairCount - frame.proper;
    free += others;
    // weighted, benefits are rounded once more
    rounding += (weight * frame.rounding) / ROUNDING_PARTS + (weight === 1 ? 0 : others);
  }
  // an integral optimum of the linear program is exact by definition
  return scene.byLp ? rounding : rounding + surchargeQuanta(scene, free, halves, cost);
}

/**
 * The same for changes, because they have another price inside. If it is higher, the best assignment may have more of them: no more than its cost
 * allows, and than six for each of the `free` pairs that it may use and that are not assigned here. If it is lower, there may be too many here.
 */
function surchargeQuanta(scene: Scene, free: number, halves: number, cost: number): number {
  let least = 1;
  let most = 1;
  if (scene.weighted)
    for (let number = scene.oldestNumber + 1; number <= scene.newestNumber; number++) {
      const weight = scene.switchWeight(number);
      least = Math.min(least, weight);
      most = Math.max(most, weight);
    }
  const half = scene.prices.half / scene.unit;
  const dearer = (weight: number) => scene.surcharged(priceQuanta(weight * half)) - weight * half * QUANTA;
  if (dearer(most) < 0) return -dearer(most) * halves;
  const byPairs = dearer(most) * 6 * free;
  // where changes are free, any number of them is paid for
  if (least === 0) return byPairs;
  // the lower a price, the larger the share of it that is added
  return Math.min(byPairs, (dearer(least) * cost) / (least * scene.prices.half));
}

/** Whether a part of the scene is solved by a fractional optimum. */
export function isFractional(scene: Scene): boolean {
  for (const component of scene.components) if (component.relaxed) return true;
  return false;
}

function summary(scene: Scene): SolverSummary {
  const solver: SolverSummary = {
    pairs: scene.edgeCount,
    isolated: scene.aloneCount,
    frontier: 0,
    matchings: 0,
    ascent: 0,
    simplex: 0,
    branch: 0,
    open: 0,
  };
  solver.open = scene.cut.edges;
  let solved = solver.isolated + solver.open;
  for (const component of scene.components) {
    solver[component.engine] += component.edges.length;
    solved += component.edges.length;
  }
  solver.frontier = solver.pairs - solved;
  return solver;
}

/** Costs and counts of one frame. */
function readCosts(scene: Scene, frame: FrameRecord): Omit<FrameEvaluation, 'assignment'> {
  const price = scene.prices;
  const weight = scene.frameWeight(frame.number);
  const missed = frame.truths.length - frame.proper;
  const falseCount = frame.tracks.length - frame.proper;
  const switchWeight = frame.halves === 0 ? 0 : scene.switchWeight(frame.number);
  return {
    cost: {
      localization: weight * frame.localization,
      missed: weight * price.missed * missed,
      false: weight * price.false * falseCount,
      switch: switchWeight * price.half * frame.halves,
    },
    count: { proper: frame.proper, missed, false: falseCount, switches: frame.halves / 2 },
  };
}

export function readFrames(scene: Scene): FrameEvaluation[] {
  const assignments = readAssignments(scene);
  return assignments.map((assignment, n) => ({ ...readCosts(scene, scene.frame(scene.oldestNumber + n)), assignment }));
}

/** The newest frame; its assignment is read when it is asked for. */
export function readNewest(scene: Scene, assignment: () => Assigned[]): FrameEvaluation {
  let read: Assigned[] | undefined;
  return {
    ...readCosts(scene, scene.frame(scene.newestNumber)),
    get assignment() {
      read ??= assignment();
      return read;
    },
  };
}

/** Fills a glance with the newest frame; frames from `pending` on are not settled. */
export function readGlance(scene: Scene, glance: Glance, pending: number): void {
  const { properTruths, properTracks, missed, false: falseIds } = glance;
  glance.frame = scene.newestNumber;
  glance.halves = glance.pendingHalves = glance.localization = 0;
  if (scene.size === 0) {
    properTruths.length = properTracks.length = missed.length = falseIds.length = 0;
    return;
  }
  const frame = scene.frame(scene.newestNumber);
  glance.halves = frame.halves;
  for (let number = Math.max(pending, scene.oldestNumber); number <= scene.newestNumber; number++)
    glance.pendingHalves += scene.frame(number).halves;
  glance.localization = frame.localization;
  const { truths, tracks } = frame;
  const objects = truths.length + tracks.length;
  if (objects > taken.length) taken = new Uint8Array(objects * 2);
  taken.fill(0, 0, objects);
  let proper = 0;
  for (let pair = 0; pair < frame.pairCount; pair++) {
    if (frame.on(pair) <= 0.5) continue;
    const i = frame.truthIndex(pair);
    const j = frame.trackIndex(pair);
    properTruths[proper] = truths[i].id;
    properTracks[proper++] = tracks[j].id;
    taken[i] = taken[truths.length + j] = 1;
  }
  cut(properTruths, proper);
  cut(properTracks, proper);
  readRest(truths, 0, missed);
  readRest(tracks, truths.length, falseIds);
}

/** 1 for the truths, then the tracks, of a frame that have a proper pair. */
let taken = new Uint8Array(64);

/** The ids of those who are not taken. */
function readRest(members: Trajectory[], first: number, into: string[]): void {
  let count = 0;
  for (let n = 0; n < members.length; n++) if (taken[first + n] === 0) into[count++] = members[n].id;
  cut(into, count);
}

/** Shortens a list that is filled again and again; emptying it instead would give its memory back each time. */
function cut(list: string[], length: number): void {
  if (list.length !== length) list.length = length;
}

/**
 * Pairs assigned at each frame with at least one end present: proper ones in the frame's order, then held ones by id. Between
 * the frames in which it is proper a pair stays assigned until one of its ends is needed elsewhere; a pair whose ends were
 * never assigned before is so from the beginning.
 */
function readAssignments(scene: Scene): Assigned[][] {
  const frames: FrameRecord[] = [];
  for (let number = scene.oldestNumber; number <= scene.newestNumber; number++) frames.push(scene.frame(number));
  if (scene.params.switchPenalty === 0) return frames.map((frame) => properPairs(scene, frame));
  if (scene.weighted) return frames.map((frame) => properPairs(scene, frame).concat(heldInComponents(scene, frame)));
  const held = new Map<Trajectory, Trajectory>();
  const used = new Set<Trajectory>();
  const early = new Map<Trajectory, { partner: Trajectory; from: number }>();
  const lists = frames.map((frame) => {
    for (let pair = 0; pair < frame.pairCount; pair++) {
      if (frame.on(pair) <= 0.5) continue;
      const truth = frame.truthAt(pair);
      const track = frame.trackAt(pair);
      if (held.get(truth) === track) continue;
      if (!used.has(truth) && !used.has(track))
        early.set(truth, { partner: track, from: frame.number }).set(track, { partner: truth, from: frame.number });
      for (const end of [truth, track]) {
        const other = held.get(end);
        if (other) held.delete(other);
        used.add(end);
      }
      held.set(truth, track).set(track, truth);
    }
    return properPairs(scene, frame).concat(heldPairs(frame, (end) => held.get(end)));
  });
  return lists.map((list, n) => {
    const { number } = frames[n];
    return list.concat(
      heldPairs(frames[n], (end) =>
        early.has(end) && early.get(end)!.from > number ? early.get(end)!.partner : undefined,
      ),
    );
  });
}

function properPairs(scene: Scene, frame: FrameRecord): Assigned[] {
  const { stride } = frame;
  const truths = frame.truthCoordinates();
  const tracks = frame.trackCoordinates();
  const distance = distances[scene.params.distance];
  const pairs: Assigned[] = [];
  for (let pair = 0; pair < frame.pairCount; pair++) {
    if (frame.on(pair) > 0.5)
      pairs.push({
        truth: frame.truthAt(pair).id,
        track: frame.trackAt(pair).id,
        distance: distance(truths, frame.truthIndex(pair), tracks, frame.trackIndex(pair), stride),
      });
  }
  return pairs;
}

/** Pairs that are assigned but not proper at a frame, by id. */
function heldPairs(frame: FrameRecord, partner: (end: Trajectory) => Trajectory | undefined): Assigned[] {
  const { truths, tracks } = frame;
  const pairs: Assigned[] = [];
  const taken = new Uint8Array(truths.length + tracks.length);
  for (let pair = 0; pair < frame.pairCount; pair++) {
    if (frame.on(pair) > 0.5) taken[frame.truthIndex(pair)] = taken[truths.length + frame.trackIndex(pair)] = 1;
  }
  for (let i = 0; i < truths.length; i++) {
    const track = taken[i] ? undefined : partner(truths[i]);
    if (track) pairs.push({ truth: truths[i].id, track: track.id, distance: null });
  }
  for (let j = 0; j < tracks.length; j++) {
    const truth = taken[truths.length + j] ? undefined : partner(tracks[j]);
    if (truth && !truths.includes(truth)) pairs.push({ truth: truth.id, track: tracks[j].id, distance: null });
  }
  return pairs.sort((a, b) => (a.truth < b.truth ? -1 : a.truth > b.truth ? 1 : 0));
}

/** Under time weights a change falls on the cheapest frame: the components know it. */
function heldInComponents(scene: Scene, frame: FrameRecord): Assigned[] {
  const partner = new Map<Trajectory, Trajectory>();
  for (const component of scene.components) {
    component.forEachHeld(frame.number, ({ truth, track }) => {
      partner.set(truth, track).set(track, truth);
    });
  }
  return heldPairs(frame, (end) => partner.get(end));
}
