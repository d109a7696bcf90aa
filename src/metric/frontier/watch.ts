/**
 * What was decided by looking ahead holds as long as not too much comes: a new frame adds to what its trajectories can still earn, and so to what
 * giving a state up may cost. A watch counts down what may still be added before the decision must be made again.
 */

import { Basket } from '../window/basket.js';
import type { FrameRecord } from '../window/frame-record.js';
import type { Edge, Trajectory } from '../window/trajectory.js';
import type { Group } from './part.js';

export interface Watch {
  /** whose decision it is; null when that is over */
  group: Group | null;
  /** what this one earns does not count */
  readonly edge: Edge | null;
  /** quanta that may still be added, all in all, to what the group's members can earn */
  slack: number;
}

/** a list with more is cleared of what is over before it grows */
const FIRST_MAX = 8;

/** The watches on a trajectory. */
export class WatchList {
  private watches: Watch[] = [];
  private max = FIRST_MAX;

  add(watch: Watch): void {
    if (this.watches.length >= this.max) {
      this.watches = this.watches.filter(({ group }) => group !== null);
      this.max = Math.max(FIRST_MAX, 2 * this.watches.length);
    }
    this.watches.push(watch);
  }

  /** Takes off what a new frame adds to a trajectory; groups whose time has come are passed on. */
  count(gain: number, due: (group: Group) => void): void {
    const { watches } = this;
    let kept = 0;
    for (let n = 0; n < watches.length; n++) {
      const watch = watches[n];
      if (watch.group === null) continue;
      const added = watch.edge === null ? gain : gain - watch.edge.gain;
      watch.slack -= added;
      if (added > 0 && watch.slack <= 0) {
        due(watch.group);
        watch.group = null;
      } else watches[kept++] = watch;
    }
    if (kept < watches.length) watches.length = kept;
  }
}

const ends = new Basket<Trajectory>();

/** Calls for every group whose decision a new frame may overthrow. */
export function forEachDue(frame: FrameRecord, due: (group: Group) => void): void {
  for (let pair = 0; pair < frame.edges.length; pair++) {
    const edge = frame.edges[pair];
    if (edge.alone) continue;
    edge.gain = frame.benefit(pair);
    gain(edge.truth, edge.gain);
    gain(edge.track, edge.gain);
  }
  for (let n = 0; n < ends.size; n++) {
    const end = ends.at(n);
    end.watches?.count(end.gain, due);
    end.gain = 0;
  }
  ends.clear();
  for (const edge of frame.edges) edge.gain = 0;
}

function gain(end: Trajectory, quanta: number): void {
  if (end.gain === 0) ends.add(end);
  end.gain += quanta;
}
