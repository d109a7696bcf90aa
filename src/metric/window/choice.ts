/**
 * What one engine asks of another that is to choose between optima: some pairs of some frames, and what prices say of
 * those who may be assigned.
 */

import type { FrameRecord } from './frame-record.js';
import type { Edge, Trajectory } from './trajectory.js';

/** A frame and some of its pairs, in order. */
export interface FramePairs {
  readonly frame: FrameRecord;
  readonly pairs: Int32Array;
}

/**
 * What can be earned at most in the frames after one, by prices that no assignment exceeds. Assignments that end up
 * more than `slack` below the best of them are no optima.
 */
export interface Prospects {
  readonly slack: number;
  /** how much more an edge may earn when it is assigned in a frame than when it is not */
  held(edge: Edge, number: number): number;
  /** how much more when neither end was assigned so far, who may join for free */
  fresh(edge: Edge, number: number): number;
  /** the prices that an object was not paid so far, and the above for all of its edges, if it is fresh */
  spared(trajectory: Trajectory, number: number): number;
}
