/**
 * The shapes that enter and leave the kernel. They are a contract: other programs are written against them.
 * Costs are to the p-th power and additive; `distance` is the p-th root of `cost.total`.
 * Components always come in the order of `COMPONENTS`.
 */

export type Box = [left: number, top: number, width: number, height: number];

/**
 * One object of a feed at one step; the id persists over frames. Points: any dimension, or [latitude, longitude] in
 * degrees. `alone`: missed or false it costs no more than this, to the power p, in the unit of the distance (0:
 * nothing); unless given, or above c / 2^(1/p), the full price. `kind`: it pairs only with objects of the same kind,
 * and those without one only with each other.
 */
export type Obj = ({ id: string; box: Box } | { id: string; point: number[] }) & { alone?: number; kind?: string };

/** All objects of both feeds at one time step. */
export interface Frame {
  reference: Obj[];
  tracker: Obj[];
}

export const COMPONENTS = ['localization', 'missed', 'false', 'switch'] as const;

export type FrameCost = Record<(typeof COMPONENTS)[number], number>;

export interface Cost extends FrameCost {
  total: number;
}

/**
 * Switches come in halves: from one track to another is one, to or from nothing is a half. Who costs nothing alone
 * (`alone: 0`) is not judged: neither missed nor false.
 */
export interface Count {
  proper: number;
  missed: number;
  false: number;
  switches: number;
}

/** A pair assigned at a frame with at least one end present; `distance` is null when it is not proper there. */
export interface Assigned {
  truth: string;
  track: string;
  distance: number | null;
}

export interface FrameEvaluation {
  cost: FrameCost;
  count: Count;
  assignment: Assigned[];
}

/**
 * How the pairs that come closer than the cut-off were solved. Versions before also counted `matchings` and `ascent`,
 * engines that are gone.
 */
export interface SolverSummary {
  pairs: number;
  /** neither end has another pair: always assigned */
  isolated: number;
  /** dynamic programming over the matchings that can still win */
  frontier: number;
  /** linear program, integral optimum: of HiGHS, or proven by prices where it need not be asked */
  simplex: number;
  /** branch and bound */
  branch: number;
  /** not proven optimal: fractional LP optimum, or the budget was spent (`budgetMs`) */
  open: number;
}

/** Windows solved a second time with the other engine, so far. */
export interface Audit {
  checked: number;
  disagreements: number;
  /** largest relative difference of cost found */
  worstDifference: number;
}

export interface Evaluation {
  frames: number;
  distance: number;
  cost: Cost;
  count: Count;
  meanLocalizationError: number;
  /**
   * true: the cost is proven to be the exact metric's, to 1e-9 of it; an integral optimum of the linear program, to
   * HiGHS's tolerances
   */
  exact: boolean;
  /** a proven lower bound of the exact metric's cost (p-th power) */
  lowerBound: number;
  /** (cost of the best known assignment - lowerBound) / that cost; 0 when exact */
  gap: number;
  solver: SolverSummary;
  /** present when an audit was asked for */
  audit?: Audit;
  perFrame: FrameEvaluation[];
}

/** A truth changed its track between two settled frames; null stands for none. */
export interface SwitchEvent {
  type: 'switch';
  /** 0-based number of the frame since the first push */
  frame: number;
  truth: string;
  from: string | null;
  to: string | null;
  /** 1 for a whole switch, 0.5 for a half */
  switches: number;
}

/** Totals of settled frames; they only grow. */
export interface Settled {
  frames: number;
  cost: Cost;
  count: Count;
  /** frames that were to settle while their window was not proven (`exact`): not judged, and not in the others */
  uncertified?: number;
}

/**
 * Evaluation of the window after one push, and what became certain by it. `perFrame` and `newest` are worked out when
 * they are read, also after later pushes; JSON.stringify has them, a copy by spreading, structuredClone or postMessage
 * has not: `{ ...report, newest: report.newest, perFrame: report.perFrame }`.
 */
export interface Report extends Evaluation {
  /** 0-based number of the newest frame since the first push */
  frame: number;
  newest: FrameEvaluation;
  settled: Settled;
  /**
   * bounds of the cost of the settled frames as one stream, in which an id that was in none of the T - 1 frames before
   * is a new one; null under time weights
   */
  lifetime: { lower: number; upper: number } | null;
  /** what settled with this push */
  events: SwitchEvent[];
}

/**
 * The newest frame under the window's assignment, by id. For those who look at every frame and want no report: the
 * same object and lists are filled again by the next `glance()`.
 */
export interface Glance {
  /** 0-based number of the newest frame since the first push; -1 before it */
  frame: number;
  /** truth, track and distance^p of each proper pair, in the frame's order */
  properTruths: string[];
  properTracks: string[];
  errors: number[];
  missed: string[];
  false: string[];
  /** half-switches on the way into this frame */
  halves: number;
  /** of the frames that are not settled, and of those that settled with this push */
  pendingHalves: number;
  settledHalves: number;
  /** sum of distance^p over the proper pairs, without time weight */
  localization: number;
}

/** What is seen before the first frame, or of a frame in which nobody is. */
export const emptyGlance = (): Glance => ({
  frame: -1,
  properTruths: [],
  properTracks: [],
  errors: [],
  missed: [],
  false: [],
  halves: 0,
  pendingHalves: 0,
  settledHalves: 0,
  localization: 0,
});
