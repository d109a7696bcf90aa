/**
 * From a solved window to the Evaluation: costs in full precision, counted from the assignment.
 */

import { distances } from './distance.js';
import type { Assigned, Cost, Count, Evaluation, FrameEvaluation, Glance, SolverSummary } from './evaluation.js';
import type { DistanceName } from './params.js';
import type { Solver } from './solver.js';
import type { WindowContents } from './window/contents.js';
import { ExactSum } from './window/exact-sum.js';
import { CHANGES_PER_PAIR, type FrameRecord, ROUNDING_PARTS, type Tally } from './window/frame-record.js';
import type { Trajectory } from './window/trajectory.js';

/** What the cost may lie above the optimum, relatively, and still be called exact. */
const EXACT = 1e-9;

/** Where one kind of object costs a smaller share of c^p alone, sums of both lose digits. */
const CHEAP_ALONE = 2 ** -10;
/** what may be lost by rounding: of c^p for one pair of a matching, of the cost of a window for its bound */
const LAST_DIGITS = 2 ** -48;

/** What is said of a window as a whole. */
export type WindowTotals = Omit<Evaluation, 'perFrame'>;

export function readWindow(solver: Solver): WindowTotals {
  const contents = solver.contents;
  const price = contents.prices;
  const tallied = solver.isTallied && !isFractional(solver);
  const {
    proper,
    missed,
    false: falseCount,
    missedUnits,
    falseUnits,
    halves,
    localization,
  } = tallied ? talliedSums(contents.tally) : sumsOf(contents);
  const charged = contents.weighted ? weightedSums(contents) : { localization, missedUnits, falseUnits, halves };
  const cost: Cost = {
    total: 0,
    localization: charged.localization,
    missed: price.missed * charged.missedUnits,
    false: price.false * charged.falseUnits,
    switch: price.half * charged.halves,
  };
  cost.total = cost.localization + cost.missed + cost.false + cost.switch;
  const count: Count = { proper, missed, false: falseCount, switches: halves / 2 };
  const counts = summary(solver);
  // below: the assignment's cost may exceed the optimum by so much; above: the best assignment may exceed the LP metric
  let below = 0;
  let above = 0;
  for (const component of solver.components) {
    if (component.relaxed) above += component.gap * component.scale;
    else below += component.gap * component.scale;
  }
  // per-frame matchings, and fractional optima, are not solved in quanta
  if (!contents.framewise && !isFractional(solver)) below += roundingQuanta(solver, halves, cost.total, tallied);
  const lost = lostDigits(contents);
  below = Math.min(cost.total, below * contents.quantum + (contents.framewise ? lost : 0));
  // the frames alone are a bound too: a simple one
  if (solver.isThinned) below = Math.max(0, cost.total - solver.leastCost(below));
  else if (counts.open > 0 && above === 0) below = Math.min(below, Math.max(0, cost.total - costAlone(solver)));
  above = above * contents.quantum;
  const exact = counts.open === 0 && below <= EXACT * cost.total;
  if (exact) below = 0;
  else {
    // a difference of two costs is only as good as the greater one
    below = Math.min(cost.total, below + LAST_DIGITS * cost.total + lost);
    counts.pairs += solver.crowdPairs;
    counts.open += solver.crowdPairs;
  }
  const { exponent } = contents.terms;
  return {
    frames: contents.size,
    distance: cost.total ** (1 / exponent),
    cost,
    count,
    meanLocalizationError: proper > 0 ? (localization / proper) ** (1 / exponent) : 0,
    // nothing costs less than nothing
    exact: exact || cost.total === 0,
    lowerBound: cost.total - below,
    gap: below + above === 0 ? 0 : (below + above) / (cost.total + above),
    solver: counts,
  };
}

/** What is added up over a window, without weights; units are prices of a full miss or a full false object. */
interface Sums {
  proper: number;
  missed: number;
  false: number;
  missedUnits: number;
  falseUnits: number;
  halves: number;
  localization: number;
}

/** The sums that the window keeps; whole numbers, but for what rounding left of fractional optima before. */
function talliedSums(tally: Tally): Sums {
  const proper = Math.round(tally.proper);
  const missed = tally.truths - proper;
  const falseCount = tally.tracks - proper;
  return {
    proper,
    missed,
    false: falseCount,
    missedUnits: missed,
    falseUnits: falseCount,
    halves: Math.round(tally.halves),
    localization: tally.localization.value,
  };
}

/** The same from all frames. */
function sumsOf(contents: WindowContents): Sums {
  const sums = { proper: 0, missed: 0, false: 0, missedUnits: 0, falseUnits: 0, halves: 0 };
  const localization = new ExactSum();
  for (let number = contents.oldestNumber; number <= contents.newestNumber; number++) {
    const frame = contents.frame(number);
    sums.proper += frame.proper;
    sums.missed += frame.missedCount;
    sums.false += frame.falseCount;
    sums.missedUnits += frame.missedUnits;
    sums.falseUnits += frame.falseUnits;
    sums.halves += frame.halves;
    localization.add(frame.localization);
  }
  return { ...sums, localization: localization.value };
}

function weightedSums(contents: WindowContents): Pick<Sums, 'localization' | 'missedUnits' | 'falseUnits' | 'halves'> {
  const sums = { localization: 0, missedUnits: 0, falseUnits: 0, halves: 0 };
  for (let number = contents.oldestNumber; number <= contents.newestNumber; number++) {
    const frame = contents.frame(number);
    const weight = contents.frameWeight(number);
    sums.localization += weight * frame.localization;
    sums.missedUnits += weight * frame.missedUnits;
    sums.falseUnits += weight * frame.falseUnits;
    if (frame.halves !== 0) sums.halves += contents.switchWeight(number) * frame.halves;
  }
  return sums;
}

/** What the frames of a window cost at least, each alone. */
function costAlone(solver: Solver): number {
  const { contents } = solver;
  let sum = 0;
  for (let number = contents.oldestNumber; number <= contents.newestNumber; number++)
    sum += contents.frameWeight(number) * solver.leastOf(contents.frame(number));
  return sum;
}

/**
 * What the best assignment may gain by what was rounded, in quanta: by pairs that are not assigned here, but for those
 * that alone cost more than everything here does, and by the surcharge on changes.
 */
function roundingQuanta(solver: Solver, halves: number, cost: number, tallied: boolean): number {
  const { contents } = solver;
  // nothing costs less than nothing
  if (cost === 0) return 0;
  if (contents.weighted) return weightedRounding(solver, cost);
  let rounding = 0;
  let free = 0;
  for (const frame of tallied ? contents.tally.rounded : contents.frameList()) {
    // everybody who could be paired is
    if (frame.roundedPair < 0) continue;
    if (frame.distanceCost(frame.roundedPair) > cost) continue;
    free += Math.min(frame.pairCount - frame.proper, frame.truths.length, frame.tracks.length);
    rounding += frame.rounding / ROUNDING_PARTS;
  }
  return contents.size === 1 ? rounding : rounding + surchargeQuanta(contents, free, halves, cost);
}

/**
 * What pairs may cost less than is known of them: nothing to speak of, unless some cost next to nothing alone, and all
 * digits of what they cost are lost beside c^p. Frames alone are not solved in quanta, and gain nothing else.
 */
function lostDigits(contents: WindowContents): number {
  const { unit, prices } = contents;
  const isCheap = Math.min(prices.missed, prices.false) < CHEAP_ALONE * unit;
  let pairs = 0;
  if (isCheap || contents.tally.shared > 0)
    for (const frame of contents.frameList())
      if (isCheap || frame.hasShares)
        pairs += contents.frameWeight(frame.number) * Math.min(frame.truths.length, frame.tracks.length);
  return pairs * unit * LAST_DIGITS;
}

/** The same under time weights: every component has quanta of its own. */
function weightedRounding({ contents, components }: Solver, cost: number): number {
  let pairs = 0;
  let changes = 0;
  let relative = 0;
  for (const component of components) {
    const rounding = component.rounding(cost);
    pairs += rounding.pairs;
    changes += rounding.changes;
    relative = Math.max(relative, rounding.relative);
  }
  // no more changes than the cost allows
  return pairs + Math.min(changes, (relative * cost) / contents.quantum);
}

/**
 * The same for changes, because they have another price inside. If it is higher, the best assignment may have more of
 * them: no more than its cost allows, and than a few for each of the `free` pairs that it may use and that are not
 * assigned here. If it is lower, there may be too many here.
 */
function surchargeQuanta(contents: WindowContents, free: number, halves: number, cost: number): number {
  const { half } = contents.prices;
  const dearer = contents.changeQuanta - half / contents.quantum;
  // a price may be beyond all numbers, in quanta
  if (dearer < 0) return halves === 0 ? 0 : -dearer * halves;
  const byPairs = dearer * CHANGES_PER_PAIR * free;
  // where changes are free, any number of them is paid for
  return half === 0 ? byPairs : Math.min(byPairs, (dearer * cost) / half);
}

/** Whether a part of the window is solved by a fractional optimum. */
export function isFractional({ components }: Solver): boolean {
  for (const component of components) if (component.relaxed) return true;
  return false;
}

function summary({ contents, components, isolatedCount, looseCount }: Solver): SolverSummary {
  const counts: SolverSummary = {
    pairs: contents.edgeCount,
    isolated: isolatedCount,
    frontier: 0,
    simplex: 0,
    branch: 0,
    open: looseCount,
  };
  let solved = isolatedCount + looseCount;
  for (const component of components) {
    counts[component.engine] += component.edges.length;
    solved += component.edges.length;
  }
  counts.frontier = counts.pairs - solved;
  return counts;
}

/** Costs and counts of one frame. */
function readCosts(contents: WindowContents, frame: FrameRecord): Omit<FrameEvaluation, 'assignment'> {
  const price = contents.prices;
  const weight = contents.frameWeight(frame.number);
  const { missedCount: missed, falseCount } = frame;
  const switchWeight = frame.halves === 0 ? 0 : contents.switchWeight(frame.number);
  return {
    cost: {
      localization: weight * frame.localization,
      missed: weight * price.missed * frame.missedUnits,
      false: weight * price.false * frame.falseUnits,
      switch: switchWeight * price.half * frame.halves,
    },
    count: { proper: frame.proper, missed, false: falseCount, switches: frame.halves / 2 },
  };
}

export function readFrames(solver: Solver): FrameEvaluation[] {
  const contents = solver.contents;
  const assignments = readAssignments(solver);
  return assignments.map((assignment, n) => ({
    ...readCosts(contents, contents.frame(contents.oldestNumber + n)),
    assignment,
  }));
}

/** The assignment of the newest frame alone. */
export const readNewestAssignment = (solver: Solver): Assigned[] =>
  readAssignments(solver, solver.contents.newestNumber)[0];

/** The newest frame; its assignment is read when it is asked for. */
export function readNewest(contents: WindowContents, assignment: () => Assigned[]): FrameEvaluation {
  let read: Assigned[] | undefined;
  return {
    ...readCosts(contents, contents.frame(contents.newestNumber)),
    get assignment() {
      read ??= assignment();
      return read;
    },
  };
}

/** Fills a glance with the newest frame; frames from `pending` on are not settled. */
export function readGlance(contents: WindowContents, glance: Glance, pending: number): void {
  const { properTruths, properTracks, errors, missed, false: falseIds } = glance;
  glance.frame = contents.newestNumber;
  glance.halves = glance.pendingHalves = glance.localization = 0;
  if (contents.size === 0) {
    properTruths.length = properTracks.length = errors.length = missed.length = falseIds.length = 0;
    return;
  }
  const frame = contents.frame(contents.newestNumber);
  glance.halves = frame.halves;
  // mostly nobody has switched in the whole window
  if (contents.tally.halves !== 0)
    for (let number = Math.max(pending, contents.oldestNumber); number <= contents.newestNumber; number++)
      glance.pendingHalves += contents.frame(number).halves;
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
    properTracks[proper] = tracks[j].id;
    errors[proper++] = frame.distanceCost(pair);
    taken[i] = taken[truths.length + j] = 1;
  }
  cut(properTruths, proper);
  cut(properTracks, proper);
  cut(errors, proper);
  readRest(frame, truths, 0, missed);
  readRest(frame, tracks, truths.length, falseIds);
}

/** 1 for the truths, then the tracks, of a frame that have a proper pair. */
let taken = new Uint8Array(64);

/** The ids of those who are judged and not taken. */
function readRest(frame: FrameRecord, members: Trajectory[], first: number, into: string[]): void {
  let count = 0;
  for (let n = 0; n < members.length; n++)
    if (taken[first + n] === 0 && frame.isJudged(first + n)) into[count++] = members[n].id;
  cut(into, count);
}

/** Shortens a list that is filled again and again; emptying it instead would give its memory back each time. */
function cut(list: unknown[], length: number): void {
  if (list.length !== length) list.length = length;
}

/**
 * Pairs assigned at each frame with at least one end present: proper ones in the frame's order, then held ones by id.
 * Between the frames in which it is proper a pair stays assigned until one of its ends is needed elsewhere; a pair
 * whose ends were never assigned before is so from the beginning. Of the frames from a number on.
 */
function readAssignments(solver: Solver, from = solver.contents.oldestNumber): Assigned[][] {
  const contents = solver.contents;
  const frames: FrameRecord[] = [];
  for (let number = contents.oldestNumber; number <= contents.newestNumber; number++)
    frames.push(contents.frame(number));
  const { distance } = solver.params;
  const wanted = frames.slice(from - contents.oldestNumber);
  if (contents.framewise) return wanted.map((frame) => properPairs(distance, frame));
  if (contents.weighted)
    return wanted.map((frame) => properPairs(distance, frame).concat(heldInComponents(solver, frame)));
  const held = new Map<Trajectory, Trajectory>();
  const used = new Set<Trajectory>();
  const early = new Map<Trajectory, { partner: Trajectory; from: number }>();
  const lists: Assigned[][] = [];
  for (const frame of frames) {
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
    // of whom nobody knows whether he was close to somebody: see `Changes`
    if (frame.thinned) for (const end of [...frame.truths, ...frame.tracks]) used.add(end);
    if (frame.number < from) continue;
    lists.push(properPairs(distance, frame).concat(heldPairs(frame, (end) => held.get(end))));
  }
  return lists.map((list, n) => {
    const { number } = wanted[n];
    return list.concat(
      heldPairs(wanted[n], (end) =>
        early.has(end) && early.get(end)!.from > number ? early.get(end)!.partner : undefined,
      ),
    );
  });
}

function properPairs(name: DistanceName, frame: FrameRecord): Assigned[] {
  const { stride } = frame;
  const truths = frame.truthCoordinates();
  const tracks = frame.trackCoordinates();
  const distance = distances[name];
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
function heldInComponents({ components }: Solver, frame: FrameRecord): Assigned[] {
  const partner = new Map<Trajectory, Trajectory>();
  for (const component of components) {
    component.forEachHeld(frame.number, ({ truth, track }) => {
      partner.set(truth, track).set(track, truth);
    });
  }
  return heldPairs(frame, (end) => partner.get(end));
}
