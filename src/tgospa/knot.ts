/**
 * One knot: trajectories that pairs of one frame tie together, with the states they may be in. Every state makes every move that
 * earns more now than staying, and what cannot win any more is dropped. The rules and D are in frontier.ts.
 */

import type { FrameRecord } from './frame-record.js';
import { Outlook } from './outlook.js';
import { FREE, FRESH, type Part } from './part.js';
import type { Trajectory } from './trajectory.js';

/** so many states are looked through one by one */
const SCANNED_STATES_MAX = 12;
/** moves tried in one knot, per state that may be kept */
const MOVES_PER_STATE_MAX = 16;

/** States of a group while it is worked on. */
export interface Draft {
  states: Int16Array[];
  value: number[];
  from: Int32Array[];
  halves: number[];
}

/** Moves the states of one knot through one frame. */
export class Knot {
  overflow = false;
  private moves = 0;
  private readonly states: Int16Array[] = [];
  private readonly value: number[] = [];
  private readonly from: Int32Array[] = [];
  private readonly halves: number[] = [];
  /** by hash of a state, once there are many: the last with it, and of each the one before */
  private found: Map<number, number> | null = null;
  private readonly sameHash: number[] = [];
  private readonly n: number;
  private readonly joined: Uint8Array;
  /** of each truth: what its pair in the state that moves earns in this frame */
  private readonly heldEarns: Float64Array;
  /** the state that is arrived at; copied when it is new */
  private readonly next: Int16Array;
  private inputs: readonly Part[] = [];
  /** of each input: index in the knot of its truths and tracks */
  private places: { truth: number[]; track: number[] }[] = [];
  /** of each pair: truth, track, benefit */
  private readonly pairTruth: number[];
  private readonly pairTrack: number[];
  private readonly benefit: number[];
  private readonly outlook: Outlook;

  constructor(
    private readonly h: number,
    private readonly statesMax: number,
    private readonly lookahead: boolean,
    frame: FrameRecord,
    pairs: readonly number[],
    truths: readonly Trajectory[],
    private readonly tracks: readonly Trajectory[],
  ) {
    this.n = truths.length;
    this.outlook = new Outlook(h, truths, tracks);
    this.joined = new Uint8Array(truths.length + tracks.length);
    this.heldEarns = new Float64Array(truths.length);
    this.next = new Int16Array(truths.length + tracks.length);
    this.pairTruth = pairs.map((pair) => frame.truthAt(pair).knot);
    this.pairTrack = pairs.map((pair) => frame.trackAt(pair).knot);
    this.benefit = pairs.map((pair) => frame.benefit(pair));
  }

  /** Every combination of the inputs' states, moved. */
  combine(inputs: readonly Part[]): void {
    this.inputs = inputs;
    this.places = inputs.map((part) => ({
      truth: part.truths.map((t) => t.knot),
      track: part.tracks.map((t) => t.knot),
    }));
    const state = new Int16Array(this.n + this.tracks.length).fill(FRESH);
    const from = new Int32Array(inputs.length);
    const visit = (at: number, value: number) => {
      if (at === inputs.length) {
        this.moveFrom(state, value, from);
        return;
      }
      const part = inputs[at];
      for (let s = 0; s < part.states.length; s++) {
        this.restate(at, s, state);
        from[at] = s;
        visit(at + 1, value + part.value[s]);
        if (this.overflow) return;
      }
    };
    visit(0, 0);
  }

  /** Writes a state of an input into a state of the knot. */
  private restate(input: number, s: number, state: Int16Array): void {
    const { truth, track } = this.places[input];
    const own = this.inputs[input].states[s];
    for (let x = 0; x < truth.length; x++) state[truth[x]] = own[x] < 0 ? own[x] : track[own[x]];
    for (let x = 0; x < track.length; x++) {
      const partner = own[truth.length + x];
      state[this.n + track[x]] = partner < 0 ? partner : truth[partner];
    }
  }

  /** The order of two ways into a state: by the states they come from, whatever inputs these were put together from. */
  private compareWays(a: Int32Array, b: Int32Array): number {
    const states = [a, b].map((from) => {
      const state = new Int16Array(this.n + this.tracks.length).fill(FRESH);
      for (let input = 0; input < from.length; input++) this.restate(input, from[input], state);
      return state;
    });
    return compare(states[0], states[1]);
  }

  /** All sets of joins out of one state that earn more than they break. */
  private moveFrom(state: Int16Array, value: number, from: Int32Array): void {
    const { pairTruth, pairTrack, benefit, heldEarns } = this;
    const joins: number[] = [];
    heldEarns.fill(0);
    for (let p = 0; p < benefit.length; p++)
      if (state[pairTruth[p]] === pairTrack[p]) heldEarns[pairTruth[p]] = benefit[p];
    const visit = (at: number) => {
      if (this.overflow) return;
      if (at === benefit.length) {
        if (++this.moves > this.statesMax * MOVES_PER_STATE_MAX) this.overflow = true;
        if (joins.length === 0 || !this.hasIdleJoin(state, joins)) this.arrive(state, value, from, joins);
        return;
      }
      visit(at + 1);
      const i = pairTruth[at];
      const j = pairTrack[at];
      if (state[i] === j || this.joined[i] || this.joined[this.n + j]) return;
      joins.push(at);
      this.joined[i] = this.joined[this.n + j] = 1;
      visit(at + 1);
      joins.pop();
      this.joined[i] = this.joined[this.n + j] = 0;
    };
    visit(0);
  }

  /**
   * Whether some of the joins can be put off. Joins hang together when one needs the partner of another; those that hang
   * together and earn no more now than what they break can wait, whatever the others do.
   */
  private hasIdleJoin(state: Int16Array, joins: readonly number[]): boolean {
    const { n, pairTruth, pairTrack, benefit, heldEarns, joined } = this;
    let seen = 0;
    // chains first: each begins with a join whose track is not held by the truth of another
    for (const first of joins) {
      const holder = state[n + pairTrack[first]];
      if (holder >= 0 && joined[holder]) continue;
      let gain = holder >= 0 ? -heldEarns[holder] : 0;
      for (let p = first; p >= 0; p = this.joinOf(state[pairTruth[p]], joins)) {
        gain += benefit[p] - heldEarns[pairTruth[p]];
        seen++;
      }
      if (gain <= 0) return true;
    }
    if (seen === joins.length) return false;
    // the others are rings, in which everybody takes the partner of the next
    const left = new Set(joins);
    for (const first of joins) {
      const holder = state[n + pairTrack[first]];
      if (holder >= 0 && joined[holder]) continue;
      for (let p = first; p >= 0; p = this.joinOf(state[pairTruth[p]], joins)) left.delete(p);
    }
    for (const first of left) {
      let gain = 0;
      for (let p = first; left.delete(p); p = this.joinOf(state[pairTruth[p]], joins))
        gain += benefit[p] - heldEarns[pairTruth[p]];
      if (gain <= 0) return true;
    }
    return false;
  }

  /** The join of a track, or -1. */
  private joinOf(track: number, joins: readonly number[]): number {
    if (track >= 0) for (const p of joins) if (this.pairTrack[p] === track) return p;
    return -1;
  }

  private arrive(state: Int16Array, value: number, from: Int32Array, joins: readonly number[]): void {
    const { n, next, pairTruth, pairTrack, benefit } = this;
    next.set(state);
    let halves = 0;
    for (const p of joins) {
      const i = pairTruth[p];
      const j = pairTrack[p];
      if (next[i] >= 0) {
        halves++;
        next[n + next[i]] = FREE;
        next[i] = FREE;
      }
      if (next[n + j] >= 0) {
        halves++;
        next[next[n + j]] = FREE;
        next[n + j] = FREE;
      }
    }
    for (const p of joins) {
      const i = pairTruth[p];
      const j = pairTrack[p];
      if (next[i] !== FRESH || next[n + j] !== FRESH) halves++;
      next[i] = j;
      next[n + j] = i;
    }
    let earned = 0;
    for (let p = 0; p < benefit.length; p++) if (next[pairTruth[p]] === pairTrack[p]) earned += benefit[p];
    this.keep(next, value + earned - halves * this.h, from, halves);
  }

  private keep(state: Int16Array, value: number, from: Int32Array, halves: number): void {
    const known = this.find(state);
    if (known < 0) {
      if (this.states.length >= this.statesMax) {
        this.overflow = true;
        return;
      }
      this.states.push(state.slice());
      if (this.found) this.list(this.found, this.states.length - 1);
      else if (this.states.length > SCANNED_STATES_MAX) {
        this.found = new Map();
        for (let s = 0; s < this.states.length; s++) this.list(this.found, s);
      }
      this.value.push(value);
      this.from.push(from.slice());
      this.halves.push(halves);
      return;
    }
    // among equal ways here the one that changes most now, because later is better, then the first in order
    if (value < this.value[known]) return;
    if (
      value > this.value[known] ||
      halves > this.halves[known] ||
      (halves === this.halves[known] && this.compareWays(from, this.from[known]) < 0)
    ) {
      this.value[known] = value;
      this.from[known] = from.slice();
      this.halves[known] = halves;
    }
  }

  /** Index of a state met before, or -1. */
  private find(state: Int16Array): number {
    if (this.found) {
      let s = this.found.get(hash(state)) ?? -1;
      while (s >= 0 && compare(this.states[s], state) !== 0) s = this.sameHash[s];
      return s;
    }
    for (let s = 0; s < this.states.length; s++) if (compare(this.states[s], state) === 0) return s;
    return -1;
  }

  private list(found: Map<number, number>, s: number): void {
    const key = hash(this.states[s]);
    this.sameHash[s] = found.get(key) ?? -1;
    found.set(key, s);
  }

  /** What can still win, in a fixed order. */
  best(): Draft {
    const { states, value } = this;
    // after an overflow nobody reads on
    if (this.overflow) states.length = 1;
    if (states.length === 1) return { states, value, from: this.from, halves: this.halves };
    if (this.lookahead) this.outlook.look();
    const order = sortFew(
      states.map((_, s) => s),
      (a, b) => value[b] - value[a] || freshCount(states[b]) - freshCount(states[a]),
    );
    const kept: number[] = [];
    for (const s of order) {
      if (!kept.some((t) => this.covers(states[t], states[s], value[t] - value[s]))) kept.push(s);
    }
    sortFew(kept, (a, b) => compare(states[a], states[b]));
    return {
      states: kept.map((s) => states[s]),
      value: kept.map((s) => value[s]),
      from: kept.map((s) => this.from[s]),
      halves: kept.map((s) => this.halves[s]),
    };
  }

  /**
   * Whether t1, ahead by `lead`, is at least as good as t for every future. Looking ahead, only what is strictly worse goes
   * besides: so every tie is decided as it would be without looking ahead.
   */
  private covers(t1: Int16Array, t: Int16Array, lead: number): boolean {
    return (
      lead >= this.outlook.follow(t1, t) || (this.lookahead && lead > 0 && lead > this.outlook.followAhead(t1, t, lead))
    );
  }
}

function freshCount(state: Int16Array): number {
  let count = 0;
  for (let x = 0; x < state.length; x++) if (state[x] === FRESH) count++;
  return count;
}

function hash(state: Int16Array): number {
  let h = 0x811c9dc5;
  for (let x = 0; x < state.length; x++) h = Math.imul(h ^ (state[x] + 2), 0x01000193);
  return h;
}

function compare(a: Int16Array, b: Int16Array): number {
  for (let x = 0; x < a.length; x++) if (a[x] !== b[x]) return a[x] - b[x];
  return 0;
}

/** Sorts in place, stably; for a few elements without the cost of a general sort. */
export function sortFew<T>(list: T[], order: (a: T, b: T) => number): T[] {
  if (list.length > 24) return list.sort(order);
  for (let n = 1; n < list.length; n++) {
    const item = list[n];
    let m = n - 1;
    for (; m >= 0 && order(list[m], item) > 0; m--) list[m + 1] = list[m];
    list[m + 1] = item;
  }
  return list;
}
