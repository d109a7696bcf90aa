/**
 * Everything a lane knows, as plain JSON, so that it can be stored: both feeds on one axis, and what waits. Its version
 * and what became of earlier ones stand in store/formats.ts.
 */
import type { Intervals } from '../../trajectories/report-intervals.js';
import type { TrajectoriesState } from '../../trajectories/trajectories.js';
import type { Role } from '../../wire/feed.js';
import type { Arrived, Placed } from '../../wiring/resampling.js';

/** One feed as a lane sees it. */
export interface LaneSide {
  pending: Placed[];
  /** numbering the feed is in; grows with restarts of the reference */
  epoch: number;
  /** highest number of this numbering as it came, and its place */
  raw: number;
  high: number;
  /** nothing up to here is still to come, unless late */
  horizon: number;
  /** places above the horizon that have been delivered */
  ahead: number[];
  /** steps are closed up to here: what comes now is late */
  closedUpTo: number;
  /** last places delivered, to tell a duplicate from a late part */
  recent: number[];
  /** a part whose number is out of line; the next one tells what to make of it */
  suspect: Suspect | null;
  delivered: boolean;
  ended: boolean;
  /** said hello again after its end: a number at or below the last one is a new numbering */
  reopened: boolean;
}

/** A part whose number jumps, before anybody believes it. */
export interface Suspect extends Arrived {
  raw: number;
}

/** A feed was cut off, or the evaluator was away: nobody is late until all are back. */
export interface Resumption {
  sinceMs: number;
  /** feeds that have not been heard since */
  absent: Role[];
  /** when the last of them was heard again */
  backMs: number;
  /** nothing can change before this but by a part */
  checkMs: number;
  /** steps so far, and when the last of them came, as far as anybody looked; absent in states of earlier versions */
  steps?: number;
  movedMs?: number;
}

export interface LaneState {
  by: 'frame' | 'time' | null;
  reference: LaneSide;
  tracker: LaneSide;
  /** parts that came before it was known what to pair by */
  undecided: Array<Arrived & { role: Role }>;
  /** what to add to a number of each epoch */
  offsets: Record<number, number>;
  /** epoch: the last place at which tracks were given up for want of the reference */
  givenUpTo: Record<number, number>;
  /** the feed whose parts are held or interpolated; null when both are taken as they come */
  sampled: Role | null;
  /** its parts that may still be needed, the first at or before the place up to which steps are closed */
  history: Placed[];
  silent: boolean;
  resuming: Resumption | null;
  /** lateness counts from here at the earliest */
  countsFromMs: number;
  steps: number;
  endedMs: number;
  finished: boolean;
  /** of a lane in which a feed reports its objects one by one */
  reports?: ReportingState;
}

/** What decides when such a lane is judged. */
export interface ReportingState {
  /** which of the feeds report */
  reference: boolean;
  tracker: boolean;
  /** whose times are judged; null while that is not known */
  clock: 'tracker' | 'reference' | 'grid' | null;
  /** milliseconds from one step to the next, on a grid, and the next one */
  gridMs: number | null;
  nextMs: number | null;
  /** of the tracker's parts */
  spacing: Intervals;
  tracks: TrajectoriesState | null;
}

/** before every place */
export const LOWEST = -Number.MAX_VALUE;

const newSide = (): LaneSide => ({
  pending: [],
  epoch: 0,
  raw: LOWEST,
  high: LOWEST,
  horizon: LOWEST,
  ahead: [],
  closedUpTo: LOWEST,
  recent: [],
  suspect: null,
  delivered: false,
  ended: false,
  reopened: false,
});

export const newLane = (): LaneState => ({
  by: null,
  reference: newSide(),
  tracker: newSide(),
  undecided: [],
  offsets: { 0: 0 },
  givenUpTo: {},
  sampled: null,
  history: [],
  silent: false,
  resuming: null,
  countsFromMs: LOWEST,
  steps: 0,
  endedMs: 0,
  finished: false,
});

/** Forgets what waits and all numbers. */
export function resetPlaces(state: LaneState): void {
  state.reference = { ...newSide(), ended: state.reference.ended };
  state.tracker = { ...newSide(), ended: state.tracker.ended };
  state.history = [];
  state.offsets = { 0: 0 };
  state.givenUpTo = {};
}

export function closeUpTo(side: LaneSide, x: number): void {
  side.closedUpTo = Math.max(side.closedUpTo, x);
}

export const hasReached = (side: LaneSide, x: number) => side.ended || side.horizon >= x;
export const hasPassed = (side: LaneSide, x: number) => side.ended || side.horizon > x;
