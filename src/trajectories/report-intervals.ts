/**
 * How often objects are reported: a histogram of times, as between two reports of one object, in quarters of an octave.
 * Small whatever is counted, plain data, and the same for the same reports.
 */

/** from a millisecond to more than a day */
const BINS = 112;
const PER_OCTAVE = 4;
/** intervals without which nothing is said */
const ENOUGH = 20;
/** older ones count half beyond this many */
const REMEMBERED = 20_000;

export type Intervals = number[];

export const noIntervals = (): Intervals => new Array<number>(BINS).fill(0);

export function addInterval(intervals: Intervals, milliseconds: number): void {
  if (!(milliseconds > 0)) return;
  const bin = Math.max(0, Math.min(BINS - 1, Math.round(PER_OCTAVE * Math.log2(milliseconds))));
  intervals[bin]++;
  if (totalOf(intervals) > REMEMBERED) for (let n = 0; n < BINS; n++) intervals[n] = Math.floor(intervals[n] / 2);
}

const totalOf = (intervals: Intervals): number => intervals.reduce((sum, count) => sum + count, 0);

/** The time that so large a share of them keeps, milliseconds; null while too few are known. */
export function usualInterval(intervals: Intervals, share: number): number | null {
  const bin = binOf(intervals, share);
  return bin === null ? null : 2 ** (bin / PER_OCTAVE);
}

/** Like it, but in no case less, whatever is rounded. */
export function longestInterval(intervals: Intervals, share: number): number | null {
  const bin = binOf(intervals, share);
  return bin === null ? null : 2 ** ((bin + 0.5) / PER_OCTAVE);
}

function binOf(intervals: Intervals, share: number): number | null {
  const total = totalOf(intervals);
  if (total < ENOUGH) return null;
  let sum = 0;
  for (let bin = 0; bin < BINS; bin++) {
    sum += intervals[bin];
    if (sum >= share * total) return bin;
  }
  return null;
}
