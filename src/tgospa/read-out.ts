/**
 * From a solved scene to the Evaluation: costs in full precision, counted from the assignment.
 */

import { QUANTA } from './component.js';
import type { Assigned, Cost, Count, Evaluation, FrameEvaluation, SolverSummary } from './evaluation.js';
import type { FrameRecord, Scene } from './scene.js';

/** Prices of one miss, one false object and half a switch. */
export interface Prices {
  missed: number;
  false: number;
  half: number;
}

export function prices(scene: Scene): Prices {
  const { missShare = 0.5, switchPenalty, exponent } = scene.params;
  return { missed: missShare * scene.unit, false: (1 - missShare) * scene.unit, half: switchPenalty ** exponent / 2 };
}

/** Everything but `perFrame`, for the frames in the scene. */
export function readWindow(scene: Scene): Omit<Evaluation, 'perFrame'> {
  const price = prices(scene);
  const count: Count = { proper: 0, missed: 0, false: 0, switches: 0 };
  const cost: Cost = { total: 0, localization: 0, missed: 0, false: 0, switch: 0 };
  let unweightedLocalization = 0;
  let weightedMissed = 0;
  let weightedFalse = 0;
  let weightedHalves = 0;
  let halves = 0;
  for (let number = scene.oldestNumber; number <= scene.newestNumber; number++) {
    const frame = scene.frame(number);
    const missed = frame.truths.length - frame.proper;
    const falseCount = frame.tracks.length - frame.proper;
    count.proper += frame.proper;
    count.missed += missed;
    count.false += falseCount;
    halves += frame.halves;
    unweightedLocalization += frame.localization;
    if (scene.weighted) {
      const weight = scene.frameWeight(number);
      cost.localization += weight * frame.localization;
      weightedMissed += weight * missed;
      weightedFalse += weight * falseCount;
      if (frame.halves !== 0) weightedHalves += scene.switchWeight(number) * frame.halves;
    }
  }
  count.switches = halves / 2;
  if (!scene.weighted) cost.localization = unweightedLocalization;
  cost.missed = price.missed * (scene.weighted ? weightedMissed : count.missed);
  cost.false = price.false * (scene.weighted ? weightedFalse : count.false);
  cost.switch = price.half * (scene.weighted ? weightedHalves : halves);
  cost.total = cost.localization + cost.missed + cost.false + cost.switch;
  const solver = summary(scene);
  // below: the assignment's cost may exceed the optimum by so much; above: the best assignment may exceed the LP metric
  let below = 0;
  let above = 0;
  for (const component of scene.components) {
    if (component.relaxed) above += component.gap;
    else below += component.gap;
  }
  below = Math.min(cost.total, (below / QUANTA) * scene.unit);
  above = (above / QUANTA) * scene.unit;
  const { exponent } = scene.params;
  return {
    frames: scene.size,
    distance: cost.total ** (1 / exponent),
    cost,
    count,
    meanLocalizationError: count.proper > 0 ? (unweightedLocalization / count.proper) ** (1 / exponent) : 0,
    exact: solver.open === 0,
    lowerBound: cost.total - below,
    gap: below + above === 0 ? 0 : (below + above) / (cost.total + above),
    solver,
  };
}

function summary(scene: Scene): SolverSummary {
  const solver: SolverSummary = {
    components: scene.components.size,
    isolated: 0,
    matchings: 0,
    ascent: 0,
    simplex: 0,
    branch: 0,
    open: 0,
  };
  for (const component of scene.components) solver[component.engine]++;
  return solver;
}

/** Costs and counts of one frame, with the pairs assigned at it. */
export function readFrame(scene: Scene, frame: FrameRecord): FrameEvaluation {
  const price = prices(scene);
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
    assignment: readAssignment(scene, frame),
  };
}

/** Pairs assigned at the frame with at least one end present: proper ones in the frame's order, then held ones by id. */
function readAssignment(scene: Scene, frame: FrameRecord): Assigned[] {
  const pairs: Assigned[] = [];
  const { number } = frame;
  for (const truth of frame.truths) truth.seenAt = number;
  for (const track of frame.tracks) track.seenAt = number;
  for (let pair = 0; pair < frame.on.length; pair++) {
    if (frame.on[pair] <= 0.5) continue;
    if (frame.edges.length > 0) frame.edges[pair].properAt = number;
    pairs.push({
      truth: frame.truths[frame.truth[pair]].id,
      track: frame.tracks[frame.track[pair]].id,
      distance: frame.distance[pair],
    });
  }
  const held: Assigned[] = [];
  for (const component of scene.components) {
    component.forEachHeld(number, ({ truth, track, properAt }) => {
      if (properAt !== number && (truth.seenAt === number || track.seenAt === number))
        held.push({ truth: truth.id, track: track.id, distance: null });
    });
  }
  if (held.length === 0) return pairs;
  held.sort((a, b) => (a.truth < b.truth ? -1 : a.truth > b.truth ? 1 : a.track < b.track ? -1 : 1));
  return pairs.concat(held);
}

export function readFrames(scene: Scene): FrameEvaluation[] {
  const list: FrameEvaluation[] = [];
  for (let number = scene.oldestNumber; number <= scene.newestNumber; number++)
    list.push(readFrame(scene, scene.frame(number)));
  return list;
}
