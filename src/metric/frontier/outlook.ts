/**
 * What one state of a knot can lose against another in the frames to come (D and D' of frontier.ts).
 *
 * From t' one does what t would do, with these differences. A pair held in t' only is released for h when one of its ends is needed elsewhere;
 * or its ends let the first pair go by that they would form from t, and with it what that pair earns: when they leave it, they pay from t
 * what they pay from t'. A pair held in t only is joined for h, or what it earns is let go. A trajectory that is fresh in t only pays h for
 * its first join, or lets that pair go. Whatever is let go is one pair, so it earns at most what the best pair of the trajectory can still earn.
 */

import type { Trajectory } from '../window/trajectory.js';
import { FREE, FRESH, NOBODY } from './part.js';

// work space of the one knot that is looked at: [truth * tracks + track], what a pair can still earn
let left = new Float64Array(64);

/** Of the knot it was begun with last. States are rows of one array, given by where they begin. */
export class Outlook {
  private n = 0;
  private m = 0;
  private truths: readonly Trajectory[] = NOBODY;
  private tracks: readonly Trajectory[] = NOBODY;
  private cautious = false;

  constructor(private readonly h: number) {}

  begin(truths: readonly Trajectory[], tracks: readonly Trajectory[]): void {
    this.truths = truths;
    this.tracks = tracks;
    this.n = truths.length;
    this.m = tracks.length;
  }

  /** Finds out what can still be earned after a frame; before `followAhead`. */
  lookFrom(number: number): void {
    for (let i = 0; i < this.n; i++) this.truths[i].look(number);
    for (let j = 0; j < this.m; j++) this.tracks[j].look(number);
    this.look();
  }

  /** Reads what the knot's pairs can still earn from their edges. */
  look(): void {
    const { n, m, truths, tracks } = this;
    if (left.length < n * m) left = new Float64Array(2 * n * m);
    left.fill(0, 0, n * m);
    let edgeCount = 0;
    for (let i = 0; i < n; i++) edgeCount += truths[i].edges.length;
    for (let j = 0; j < m; j++) edgeCount -= tracks[j].edges.length;
    for (const end of edgeCount > 0 ? tracks : truths) {
      for (const { truth, track, remaining } of end.edges)
        if (remaining > 0 && truths[truth.knot] === truth && tracks[track.knot] === track)
          left[truth.knot * m + track.knot] = remaining;
    }
  }

  /** D(t', t). */
  follow(rows: Int16Array, t1: number, t: number): number {
    const { n, m } = this;
    let count = 0;
    for (let i = 0; i < n; i++) {
      const a = rows[t1 + i];
      const b = rows[t + i];
      if (a === b) continue;
      if (a >= 0) count++;
      if (b >= 0 && !(a === FRESH && rows[t1 + n + b] === FRESH)) count++;
      if (b === FRESH) count++;
    }
    for (let x = n; x < n + m; x++) if (rows[t + x] === FRESH && rows[t1 + x] !== FRESH) count++;
    return count * this.h;
  }

  /** D'(t', t), or something that is not below `enough`. */
  followAhead(rows: Int16Array, t1: number, t: number, enough: number): number {
    const { n, m, h, truths, tracks } = this;
    let sum = 0;
    for (let i = 0; i < n; i++) {
      const a = rows[t1 + i];
      const b = rows[t + i];
      if (a === b) continue;
      if (a >= 0) sum += this.replace(i, a, rows, t1, t);
      else if (b === FRESH) sum += Math.min(h, truths[i].mostBut(null));
      else if (b >= 0 && !(a === FRESH && rows[t1 + n + b] === FRESH)) sum += Math.min(h, left[i * m + b]);
      if (sum >= enough) return sum;
    }
    for (let x = n; x < n + m; x++)
      if (rows[t + x] === FRESH && rows[t1 + x] === FREE) sum += Math.min(h, tracks[x - n].mostBut(null));
    return sum;
  }

  /** The same or more: what grows by no more than what is added to all that can be earned. */
  followSafely(rows: Int16Array, t1: number, t: number): number {
    this.cautious = true;
    const cost = this.followAhead(rows, t1, t, Number.POSITIVE_INFINITY);
    this.cautious = false;
    return cost;
  }

  /** For a pair held in t' and not in t: both ends let their first pair from t go, or it is released. */
  private replace(i: number, a: number, rows: Int16Array, t1: number, t: number): number {
    const { n, m, h, truths, tracks } = this;
    const b = rows[t + i];
    const x = rows[t + n + a];
    const truthFirst = b >= 0 ? left[i * m + b] : truths[i].mostBut(tracks[a]);
    // the pair of a and x is joined, or let go, at x
    const truthJoin = b === FREE ? 0 : Math.min(h, truthFirst);
    const trackJoin = x === FRESH ? Math.min(h, tracks[a].mostBut(truths[i])) : 0;
    return Math.min(truthFirst + this.trackFirst(i, a, rows, t1, t), h + truthJoin + trackJoin);
  }

  /**
   * What track a, held by i in t', lets go. When its first pair from t is with a truth that also holds another in t', the release
   * of that pair makes up for one of the two only: then the track lets everything go.
   */
  private trackFirst(i: number, a: number, rows: Int16Array, t1: number, t: number): number {
    const { n, m, truths, tracks } = this;
    const x = rows[t + n + a];
    const everything = tracks[a].remaining - left[i * m + a];
    // whether one of the cases below is given may change with what is added
    if (this.cautious) return everything;
    if (x >= 0) {
      const first = left[x * m + a];
      return rows[t1 + x] < 0 || truths[x].remaining === first ? first : everything;
    }
    for (let k = 0; k < n; k++)
      if (k !== i && left[k * m + a] > 0 && rows[t1 + k] >= 0 && rows[t1 + k] !== rows[t + k]) return everything;
    return tracks[a].mostBut(truths[i]);
  }
}
