/**
 * What is usual, learned: sums over the past with exponential forgetting, taken in block by block, pulled towards a
 * prior while little is known, and read one and a half standard errors high, because a baseline that is too low cries
 * wolf and one a little too high is only a little slower.
 */

/** Frames between two updates of a baseline; what is in force stays the same in between. */
export const BLOCK_FRAMES = 30;

/** Standard errors by which a rate is read too high. */
const CAUTION = 1.5;

/** Events and exposure before anything was seen: so much is believed, and so strongly. */
export interface Prior {
  rate: number;
  /** in units of exposure */
  weight: number;
  /** rates below this are not told apart */
  least: number;
}

/** The rate of events per exposure, a little high. */
export function upperRate(events: number, exposure: number, { rate, weight, least }: Prior): number {
  const counted = events + rate * weight;
  return Math.max(least, (counted + CAUTION * Math.sqrt(counted)) / (exposure + weight));
}

/** The rate itself. */
export const plainRate = (events: number, exposure: number, { rate, weight }: Prior): number =>
  (events + rate * weight) / (exposure + weight);

/** Share of the past that is kept over one block. */
export const keptPerBlock = (memoryFrames: number): number => Math.exp(-BLOCK_FRAMES / memoryFrames);
