/**
 * Which cut-offs would make a difference. Of all pairs assigned at a large cut-off, N(c) counts those whose distance
 * falls into the step at c, and L(c) adds up their distances: what a slightly larger cut-off would gain in proper pairs
 * and cost in localization. Along c there are four intervals:
 *
 *   growth    right pairs: most increments are here, a cut-off inside would split good pairs
 *   plateau   few increments, all alike: where the cut-off lies matters little, so it belongs here
 *   distant   an occasional pair, most likely a wrong one
 *   none      no pair at all
 *
 * They follow each other without a gap from 0 to the reach; growth ends where increments fall below a share of the
 * highest one, the plateau where they fall below a smaller share.
 */

/** Increments by step: step n covers distances from n * width up to (n + 1) * width. */
export interface IncrementHistogram {
  /** of one step, in the unit of the distance */
  width: number;
  /** N(c): pairs */
  pairs: number[];
  /** L(c): sum of their distances */
  localization: number[];
}

const INTERVALS = ['growth', 'plateau', 'distant', 'none'] as const;
export type IntervalName = (typeof INTERVALS)[number];

export interface Interval {
  name: IntervalName;
  from: number;
  to: number;
  /** pairs whose distance lies inside */
  pairs: number;
}

/** Shares of the highest increment, below which growth and plateau end. */
export interface IntervalShares {
  growthShare: number;
  distantShare: number;
}

/** Boundaries between the intervals. */
export interface Boundaries {
  plateauFrom: number;
  plateauTo: number;
  /** the step of the farthest pair ends here */
  lastPair: number;
}

/** A plateau is at least so many times as far at its end as at its beginning, where the increments allow it. */
const PLATEAU_RATIO = 2;
/** After growth, increments so many times the share at which it ended are a second hill, not noise. */
const HILL_TIMES = 2;
/** Increments are judged as the mean of a step and its two neighbours, so that one empty step ends nothing. */
const NEIGHBOURS = 1;

/** An empty histogram over distances from 0 to `reach`. */
export function emptyHistogram(reach: number, steps: number): IncrementHistogram {
  const zeros = () => new Array<number>(steps).fill(0);
  return { width: reach / steps, pairs: zeros(), localization: zeros() };
}

/** Adds one assigned pair; returns its step. */
export function addPair({ width, pairs, localization }: IncrementHistogram, distance: number): number {
  const step = Math.min(pairs.length - 1, Math.floor(distance / width));
  pairs[step]++;
  localization[step] += distance;
  return step;
}

/** The boundaries the increments propose; null when growth does not end before the reach: there is no plateau. */
export function proposeBoundaries(histogram: IncrementHistogram, shares: IntervalShares): Boundaries | null {
  const { width, pairs } = histogram;
  const level = smooth(pairs);
  const peak = pairs.indexOf(Math.max(...pairs));
  if (!(pairs[peak] > 0)) return null;
  const high = pairs[peak] * shares.growthShare;
  const low = pairs[peak] * shares.distantShare;
  const from = firstStep(peak + 1, level, (value) => value < high);
  if (from === level.length) return null;
  const faded = firstStep(from, level, (value) => value < low);
  // where hardly anything follows at once, the plateau takes in what is quiet, but no second hill
  const hill = firstStep(from, level, (value) => value >= HILL_TIMES * high);
  const to = Math.min(hill, Math.max(faded, PLATEAU_RATIO * from));
  return { plateauFrom: tidyEdge(from * width), plateauTo: tidyEdge(to * width), lastPair: lastEdge(histogram) };
}

/** The four intervals from 0 to the reach; `distances` of all pairs are in rising order. */
export function intervalsBetween(reach: number, boundaries: Boundaries | null, distances: Float64Array): Interval[] {
  const from = boundaries?.plateauFrom ?? reach;
  const to = boundaries?.plateauTo ?? reach;
  const last = Math.min(reach, Math.max(to, boundaries?.lastPair ?? reach));
  const edges = [0, from, to, last, reach];
  return INTERVALS.map((name, index) => {
    const [low, high] = [edges[index], edges[index + 1]];
    return { name, from: low, to: high, pairs: countBelow(distances, high) - countBelow(distances, low) };
  });
}

/** How many of the rising values are below a limit. */
export function countBelow(rising: Float64Array, limit: number): number {
  let low = 0;
  let high = rising.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rising[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

function smooth(values: number[]): number[] {
  return values.map((_, step) => {
    const near = values.slice(Math.max(0, step - NEIGHBOURS), step + NEIGHBOURS + 1);
    return near.reduce((sum, value) => sum + value, 0) / near.length;
  });
}

/** The first step from `start` on that holds, or the number of steps. */
function firstStep(start: number, values: number[], holds: (value: number) => boolean): number {
  const found = values.findIndex((value, step) => step >= start && holds(value));
  return found < 0 ? values.length : found;
}

export function lastEdge({ width, pairs }: IncrementHistogram): number {
  return tidyEdge((pairs.findLastIndex((count) => count > 0) + 1) * width);
}

/** 0.30000000000000004 is 0.3. */
function tidyEdge(value: number): number {
  return Number(value.toPrecision(9));
}
