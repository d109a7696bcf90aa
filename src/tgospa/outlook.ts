/**
 * What one state of a knot can lose against another in the frames to come (D and D' of frontier.ts).
 *
 * From t' one does what t would do, with these differences. A pair held in t' only is released for h when one of its ends is needed elsewhere;
 * or its ends let the first pair go by that they would form from t, and with it what that pair earns: when they leave it, they pay from t
 * what they pay from t'. A pair held in t only is joined for h, or what it earns is let go. A trajectory that is fresh in t only pays h for
 * its first join, or lets that pair go. Whatever is let go is one pair, so it earns at most what the best pair of the trajectory can still earn.
 */

import { FREE, FRESH } from './part.js';
import type { Trajectory } from './trajectory.js';

// work space of the one knot that is looked at
let left = new Float64Array(64);
let most = new Float64Array(16);
let second = new Float64Array(16);
let mostWith = new Int32Array(16);

/** Of one knot; whatever the last one made says is no longer good. */
export class Outlook {
  private readonly n: number;
  private readonly m: number;

  constructor(
    private readonly h: number,
    private readonly truths: readonly Trajectory[],
    private readonly tracks: readonly Trajectory[],
  ) {
    this.n = truths.length;
    this.m = tracks.length;
  }

  /** Reads what the knot's pairs can still earn; before `followAhead`. */
  look(): void {
    const { n, m, truths, tracks } = this;
    if (left.length < n * m) left = new Float64Array(2 * n * m);
    if (most.length < n + m) {
      most = new Float64Array(2 * (n + m));
      second = new Float64Array(2 * (n + m));
      mostWith = new Int32Array(2 * (n + m));
    }
    left.fill(0, 0, n * m);
    most.fill(0, 0, n + m);
    second.fill(0, 0, n + m);
    mostWith.fill(-1, 0, n + m);
    for (let i = 0; i < n; i++) {
      for (const { track, remaining } of truths[i].edges) {
        if (remaining === 0) continue;
        const j = tracks[track.knot] === track ? track.knot : -1;
        if (j >= 0) left[i * m + j] = remaining;
        note(i, j, remaining);
      }
    }
    for (let j = 0; j < m; j++) {
      for (const { truth, remaining } of tracks[j].edges) {
        if (remaining === 0) continue;
        note(n + j, truths[truth.knot] === truth ? truth.knot : -1, remaining);
      }
    }
  }

  /** D(t', t). */
  follow(t1: Int16Array, t: Int16Array): number {
    const { n } = this;
    let count = 0;
    for (let i = 0; i < n; i++) {
      const a = t1[i];
      const b = t[i];
      if (a === b) continue;
      if (a >= 0) count++;
      if (b >= 0 && !(a === FRESH && t1[n + b] === FRESH)) count++;
      if (b === FRESH) count++;
    }
    for (let x = n; x < t.length; x++) if (t[x] === FRESH && t1[x] !== FRESH) count++;
    return count * this.h;
  }

  /** D'(t', t), or something that is not below `enough`. */
  followAhead(t1: Int16Array, t: Int16Array, enough: number): number {
    const { n, m, h } = this;
    let sum = 0;
    for (let i = 0; i < n; i++) {
      const a = t1[i];
      const b = t[i];
      if (a === b) continue;
      if (a >= 0) sum += this.replace(i, a, t1, t);
      else if (b === FRESH) sum += Math.min(h, most[i]);
      else if (b >= 0 && !(a === FRESH && t1[n + b] === FRESH)) sum += Math.min(h, left[i * m + b]);
      if (sum >= enough) return sum;
    }
    for (let x = n; x < t.length; x++) if (t[x] === FRESH && t1[x] === FREE) sum += Math.min(h, most[x]);
    return sum;
  }

  /** For a pair held in t' and not in t: both ends let their first pair from t go, or it is released. */
  private replace(i: number, a: number, t1: Int16Array, t: Int16Array): number {
    const { n, m, h } = this;
    const b = t[i];
    const x = t[n + a];
    const truthFirst = b >= 0 ? left[i * m + b] : mostBut(i, a);
    // the pair of a and x is joined, or let go, at x
    const truthJoin = b === FREE ? 0 : Math.min(h, truthFirst);
    const trackJoin = x === FRESH ? Math.min(h, mostBut(n + a, i)) : 0;
    return Math.min(truthFirst + this.trackFirst(i, a, t1, t), h + truthJoin + trackJoin);
  }

  /**
   * What track a, held by i in t', lets go. When its first pair from t is with a truth that also holds another in t', the release
   * of that pair makes up for one of the two only: then the track lets everything go.
   */
  private trackFirst(i: number, a: number, t1: Int16Array, t: Int16Array): number {
    const { n, m } = this;
    const x = t[n + a];
    if (x >= 0) {
      const first = left[x * m + a];
      return t1[x] < 0 || this.truths[x].remaining === first ? first : this.tracks[a].remaining - left[i * m + a];
    }
    for (let k = 0; k < n; k++)
      if (k !== i && left[k * m + a] > 0 && t1[k] >= 0 && t1[k] !== t[k])
        return this.tracks[a].remaining - left[i * m + a];
    return mostBut(n + a, i);
  }
}

function note(end: number, partner: number, earns: number): void {
  if (earns > most[end]) {
    second[end] = most[end];
    most[end] = earns;
    mostWith[end] = partner;
  } else if (earns > second[end]) second[end] = earns;
}

/** The most that a pair of an end can still earn, besides that with a partner. */
function mostBut(end: number, partner: number): number {
  return mostWith[end] === partner ? second[end] : most[end];
}
