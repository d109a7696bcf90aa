/** One frame as the numbers of surveillance want it: who is where, and who is whose pair. */

export interface Located {
  id: string;
  place: readonly number[];
  /** of a box: the mean of its sides */
  size?: number;
  /** false: counts for nothing unless it is in a pair */
  judged?: boolean;
}

export interface PerformanceFrame {
  /** seconds, or the number of the frame where there are no times */
  t: number;
  truths: readonly Located[];
  tracks: readonly Located[];
  /** proper pairs, with the distance of the metric */
  pairs: ReadonlyArray<{ truth: string; track: string; distance: number }>;
  /** how far tracks without a pair are from a truth that has its track, where that is less than the cut-off */
  extras: readonly number[];
}
