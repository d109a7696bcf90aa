/**
 * Causes that show in space: coordinates that are read otherwise, scaled or moved, and a part of the scene or a class
 * in which nothing is found. Pure functions of a scene; each gives the figures of its cause, or null.
 */
import type { Evidence } from '../wire/findings.js';
import {
  type Agreement,
  AS_THEY_ARE,
  agreement,
  type FeedSample,
  median,
  momentsOf,
  type PartPair,
  type Reading,
} from '../wiring/agreement.js';
import { explainCoordinates, rounded } from '../wiring/hypotheses.js';
import { centreOf } from '../wiring/lag.js';
import type { IncidentScene } from './scene.js';
import {
  AS_IT_IS_MAX,
  CELLS,
  INSIDE_MIN,
  MOMENTS_MIN,
  OUTSIDE_MAX,
  PAIRS_MIN,
  RATIO_MIN,
  SHARE_MIN,
  SHIFT_ERRORS,
  SHIFT_GAIN,
  TRUTHS_MIN,
} from './thresholds.js';

export interface Explained {
  cause: 'box_order' | 'axis_swapped' | 'scaled' | 'shifted';
  share: number;
  evidence: Evidence;
}

/** The reading of the coordinates that explains most of what does not fit as it is. */
export function misread(scene: IncidentScene): Explained | null {
  const sample: FeedSample = { reference: scene.reference, tracker: scene.tracker.slice(scene.first) };
  const moments = momentsOf(sample, scene.judge, AS_THEY_ARE);
  if (moments.length < MOMENTS_MIN) return null;
  const asItIs = agreement(moments, scene.judge).share;
  const found = explainCoordinates(sample, scene.judge).map(
    ({ cause, feed, agreement: agreed, evidence }): Explained & { agreed: Agreement } => ({
      cause: cause === 'box_order' || cause === 'axis_swapped' ? cause : 'scaled',
      share: agreed.share,
      evidence: { ...evidence, ...(feed ? { feed } : {}), pairs: agreed.pairs, possible: agreed.possible },
      agreed,
    }),
  );
  const good = found.filter(
    ({ share, agreed }) => share >= SHARE_MIN && agreed.pairs >= PAIRS_MIN && asItIs <= AS_IT_IS_MAX * share,
  );
  const best = good.reduce<Explained | null>((one, next) => (one && one.share >= next.share ? one : next), null);
  return best && { cause: best.cause, share: best.share, evidence: best.evidence };
}

/** Everything is off by the same distance. */
export function shifted(scene: IncidentScene): Explained | null {
  const sample: FeedSample = { reference: scene.reference, tracker: scene.tracker.slice(scene.first) };
  const moments = momentsOf(sample, scene.judge, AS_THEY_ARE).filter(
    ({ reference, tracker }) => reference.objects.stride === tracker.objects.stride,
  );
  if (moments.length < MOMENTS_MIN || scene.judge.distance === 'geodesic') return null;
  const by = commonShift(scene, moments);
  if (!by) return null;
  const reading: Reading = (c, at, stride) =>
    c.slice(at, at + stride).map((value, d) => (d < by.length ? value - by[d] : value));
  const [asItIs, moved] = [agreement(moments, scene.judge), agreement(moments, scene.judge, reading)];
  if (moved.pairs < PAIRS_MIN || moved.share < SHARE_MIN || moved.share < SHIFT_GAIN * asItIs.share) return null;
  const evidence = { x: rounded(by[0]), y: rounded(by[1] ?? 0), pairs: moved.pairs, possible: moved.possible };
  return { cause: 'shifted', share: moved.share, evidence };
}

/** By how much tracks lie off: as those that pair say, where that is clear, or as most pairs of objects say. */
function commonShift(scene: IncidentScene, moments: readonly PartPair[]): number[] | null {
  const near: number[][] = [];
  for (const { n, pairs } of scene.paired())
    for (const { i, j } of pairs) near.push(difference(centreOf(scene.tracks(n), j), centreOf(scene.truths(n), i)));
  const objects = moments[0].reference.objects.ids.length;
  if (near.length >= 0.5 * objects * scene.paired().length) {
    const clear = near[0].some((_, d) => {
      const values = near.map((one) => one[d]);
      const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
      const square = values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / values.length;
      return Math.abs(mean) > SHIFT_ERRORS * Math.sqrt(square / Math.max(1, objects));
    });
    return clear ? near[0].map((_, d) => median(near.map((one) => one[d]))) : null;
  }
  return votedShift(moments, scene.judge.cutoff);
}

/** The difference that most pairs of a truth and a track of one moment have in common. */
function votedShift(moments: readonly PartPair[], cutoff: number): number[] | null {
  const differences = moments
    .slice(0, 4)
    .flatMap(({ reference: { objects: truths }, tracker: { objects: tracks } }) =>
      truths.ids
        .slice(0, 64)
        .flatMap((_, i) => tracks.ids.slice(0, 64).map((_, j) => difference(centreOf(tracks, j), centreOf(truths, i)))),
    );
  const { shape } = moments[0].reference.objects;
  const widths = moments.flatMap(({ reference: { objects } }) => objects.coordinates.filter((_, n) => n % 4 === 2));
  const cell = shape === 'box' ? median(widths) / 2 : cutoff;
  if (cell <= 0) return null;
  const votes = new Map<string, number[][]>();
  for (const one of differences) {
    const key = one.map((value) => Math.round(value / cell)).join(' ');
    votes.set(key, [...(votes.get(key) ?? []), one]);
  }
  const most = [...votes.values()].reduce((best, list) => (list.length > best.length ? list : best), []);
  return most.length >= PAIRS_MIN ? most[0].map((_, d) => median(most.map((one) => one[d]))) : null;
}

const difference = (a: readonly number[], b: readonly number[]) => a.map((value, d) => value - b[d]);

interface Spot {
  x: number;
  y: number;
  id: string;
  missed: boolean;
}

/** The rectangle in which objects are missed, while others are found: the one that is least likely to be chance. */
export function regionLost(scene: IncidentScene): Evidence | null {
  const spots = spotsOf(scene);
  const truths = new Set(spots.map(({ id }) => id)).size;
  if (truths < TRUTHS_MIN) return null;
  const bounds = [edges(spots.map(({ x }) => x)), edges(spots.map(({ y }) => y))];
  const table = cellTable(spots, bounds);
  // an object counts once, however often it was seen
  const weight = truths / spots.length;
  let best: { beyond: number; box: number[]; inside: [number, number] } | null = null;
  for (let left = 0; left < CELLS; left++)
    for (let right = left; right < CELLS; right++)
      for (let top = 0; top < CELLS; top++)
        for (let bottom = top; bottom < CELLS; bottom++) {
          const inside = sumOf(table, left, top, right, bottom);
          const ratio = likelihoodRatio(inside, sumOf(table, 0, 0, CELLS - 1, CELLS - 1)) * weight;
          const beyond = ratio - chanceOf(left, top, right, bottom);
          if (beyond > (best?.beyond ?? 0)) best = { beyond, box: [left, top, right, bottom], inside };
        }
  if (!best) return null;
  const [left, top, right, bottom] = best.box;
  const [x, y] = bounds;
  return {
    left: rounded(x[left]),
    top: rounded(y[top]),
    right: rounded(x[right + 1]),
    bottom: rounded(y[bottom + 1]),
    missed: Math.round(best.inside[0] / scene.paired().length),
    objects: Math.round(best.inside[1] / scene.paired().length),
    share: rounded(best.inside[0] / best.inside[1]),
    ...(scene.judge.distance === 'geodesic' && { unit: 'degrees' }),
  };
}

/**
 * What the ratio of the best of all rectangles like this one comes to by chance: of those that reach from border to
 * border on three sides there are few, and many that lie anywhere.
 */
function chanceOf(left: number, top: number, right: number, bottom: number): number {
  const last = CELLS - 1;
  const free = Number(left > 0) + Number(top > 0) + Number(right < last) + Number(bottom < last);
  return 2 * Math.log(RECTANGLES[free]);
}

/** How many rectangles have so many sides that are no border of the scene. */
const RECTANGLES = [0, 1, 2, 3, 4].map((free) => {
  const cuts = CELLS - 1;
  const pairs = (cuts * (cuts - 1)) / 2;
  return [1, 4 * cuts, 4 * cuts ** 2 + 2 * pairs, 4 * cuts * pairs, pairs ** 2][free];
});

/** Where each truth was that is judged, and whether it was missed there. */
function spotsOf(scene: IncidentScene): Spot[] {
  return scene.paired().flatMap(({ n, missed }) => {
    const truths = scene.truths(n);
    const lost = new Set(missed);
    return truths.ids.flatMap((id, i) => {
      const [x, y = 0] = centreOf(truths, i);
      return scene.isJudged('reference', n, i) ? [{ x, y, id, missed: lost.has(i) }] : [];
    });
  });
}

/** Borders of cells with about as many spots in each. */
function edges(values: number[]): number[] {
  const sorted = values.sort((a, b) => a - b);
  return Array.from(
    { length: CELLS + 1 },
    (_, n) => sorted[Math.min(sorted.length - 1, Math.floor((n * sorted.length) / CELLS))],
  );
}

type Tally = [missed: number, all: number];

/** Sums over all cells to the left of and above each. */
function cellTable(spots: readonly Spot[], [xs, ys]: number[][]): Tally[][] {
  const table = Array.from({ length: CELLS + 1 }, () => Array.from({ length: CELLS + 1 }, (): Tally => [0, 0]));
  const cellOf = (value: number, borders: number[]) => {
    let cell = 0;
    while (cell < CELLS - 1 && value >= borders[cell + 1]) cell++;
    return cell;
  };
  for (const { x, y, missed } of spots) {
    const tally = table[cellOf(x, xs) + 1][cellOf(y, ys) + 1];
    tally[0] += Number(missed);
    tally[1]++;
  }
  for (let i = 1; i <= CELLS; i++)
    for (let j = 1; j <= CELLS; j++)
      for (const k of [0, 1] as const)
        table[i][j][k] += table[i - 1][j][k] + table[i][j - 1][k] - table[i - 1][j - 1][k];
  return table;
}

function sumOf(table: Tally[][], left: number, top: number, right: number, bottom: number): Tally {
  const at = (k: 0 | 1) =>
    table[right + 1][bottom + 1][k] - table[left][bottom + 1][k] - table[right + 1][top][k] + table[left][top][k];
  return [at(0), at(1)];
}

/** Twice the log likelihood ratio of a share of its own inside, where much is missed there and little outside. */
function likelihoodRatio([missed, all]: Tally, [missedAll, everything]: Tally): number {
  const [missedOutside, outside] = [missedAll - missed, everything - all];
  if (all === 0 || outside === 0 || missed < INSIDE_MIN * all || missedOutside > OUTSIDE_MAX * outside) return 0;
  const part = (hits: number, of: number) => xlogx(hits) + xlogx(of - hits) - xlogx(of);
  return 2 * (part(missed, all) + part(missedOutside, outside) - part(missedAll, everything));
}

const xlogx = (value: number) => (value > 0 ? value * Math.log(value) : 0);

/** A class of which nearly everything is missed, while others are found. */
export function classLost(scene: IncidentScene): Evidence | null {
  const counts = new Map<string, Tally>();
  const all: Tally = [0, 0];
  for (const { id, missed } of spotsOf(scene)) {
    const name = scene.classes.get(id);
    if (name === undefined) continue;
    const tally = counts.get(name) ?? [0, 0];
    counts.set(name, [tally[0] + Number(missed), tally[1] + 1]);
    all[0] += Number(missed);
    all[1]++;
  }
  const weight = 1 / Math.max(1, scene.paired().length);
  let best: { ratio: number; name: string; tally: Tally } | null = null;
  for (const [name, tally] of counts) {
    const ratio = likelihoodRatio(tally, all) * weight;
    if (ratio > (best?.ratio ?? RATIO_MIN)) best = { ratio, name, tally };
  }
  if (!best) return null;
  const [missed, objects] = best.tally.map((count) => Math.round(count * weight));
  return { class: best.name, missed, objects };
}
