/**
 * One knot: trajectories that pairs of one frame tie together, with the states they may be in. Every state makes every move that
 * earns more now than staying, and what cannot win any more is dropped. The rules and D are in frontier.ts.
 *
 * When the time is up, a knot with more than a few moves goes on with one state only, that which loses least in the worst case: dropping t for t'
 * loses at most V(t) - V(t') + D(t', t). What is lost so adds up over knots and frames to a bound of what the whole assignment loses. Joins that are
 * left out lose what they earn in this frame, because they can be put off.
 */

import type { Budget } from './budget.js';
import type { FrameRecord } from './frame-record.js';
import { Outlook } from './outlook.js';
import { FREE, FRESH, type Part } from './part.js';
import type { Trajectory } from './trajectory.js';

/** so many states are looked through one by one */
const SCANNED_STATES_MAX = 12;
/** moves tried in one knot, per state that may be kept */
const MOVES_PER_STATE_MAX = 16;
/** work of a move, where that of comparing two states is 1 */
const MOVE_WORK = 4;
/** when the time is up: knots with at most so many moves are worked as ever */
const LATE_MOVES_MAX = 32;
/** when the time is up: so many joins are looked at together */
const LATE_JOINS_MAX = 5;
/** when the time is up: so many states, the highest in value, may be the one that is kept */
const LATE_CANDIDATES_MAX = 4;

/** States of a group while it is worked on. */
export interface Draft {
  states: Int16Array[];
  value: number[];
  from: Int32Array[];
  halves: number[];
  /** quanta that the best assignment may lose by what was left out for want of time */
  loss: number;
}

/** Moves the states of one knot through one frame. */
export class Knot {
  overflow = false;
  /** the time was up before all moves were made */
  private late = false;
  /** it may be left when the time is up */
  private stoppable = false;
  private moves = 0;
  private readonly states: Int16Array[] = [];
  private readonly value: number[] = [];
  private readonly from: Int32Array[] = [];
  private readonly halves: number[] = [];
  /** by hash of a state, once there are many: the last with it, and of each the one before */
  private found: Map<number, number> | null = null;
  private readonly sameHash: number[] = [];
  private readonly n: number;
  /** members */
  private readonly size: number;
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
    private readonly budget: Budget,
    private readonly frame: FrameRecord,
    private readonly pairs: readonly number[],
    truths: readonly Trajectory[],
    tracks: readonly Trajectory[],
  ) {
    this.n = truths.length;
    this.size = truths.length + tracks.length;
    this.outlook = new Outlook(h, truths, tracks);
    this.joined = new Uint8Array(this.size);
    this.heldEarns = new Float64Array(truths.length);
    this.next = new Int16Array(this.size);
    this.pairTruth = pairs.map((pair) => frame.truthAt(pair).knot);
    this.pairTrack = pairs.map((pair) => frame.trackAt(pair).knot);
    this.benefit = pairs.map((pair) => frame.benefit(pair));
  }

  /** Takes the parts that it begins with. */
  take(inputs: readonly Part[]): void {
    this.inputs = inputs;
    this.places = inputs.map((part) => ({
      truth: part.truths.map((t) => t.knot),
      track: part.tracks.map((t) => t.knot),
    }));
  }

  /** Whether it is worked in full even when the time is up. */
  private isSmall(): boolean {
    let moves = 2 ** this.pairs.length;
    for (const part of this.inputs) moves *= part.states.length;
    return moves <= LATE_MOVES_MAX;
  }

  /** What can still win after this frame; after an overflow nobody reads it. */
  work(): Draft {
    if (this.budget.spent && !this.isSmall()) return this.hurry();
    this.combine();
    if (this.late) return this.hurry();
    const draft = this.best();
    const { states, value, from, halves, loss } = draft;
    if (loss > 0 || states.length === 1 || !this.budget.spent || this.size <= 2) return draft;
    return this.onlyOne(states, value, from, halves);
  }

  /** Every combination of the inputs' states, moved. */
  private combine(): void {
    const { inputs } = this;
    this.stoppable = !this.isSmall();
    const everything = this.benefit.map((_, p) => p);
    const state = new Int16Array(this.size).fill(FRESH);
    const from = new Int32Array(inputs.length);
    const visit = (at: number, value: number) => {
      if (at === inputs.length) {
        this.moveFrom(state, value, from, everything);
        return;
      }
      const part = inputs[at];
      for (let s = 0; s < part.states.length; s++) {
        this.restate(at, s, state);
        from[at] = s;
        visit(at + 1, value + part.value[s]);
        if (this.overflow || this.late) return;
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
      const state = new Int16Array(this.size).fill(FRESH);
      for (let input = 0; input < from.length; input++) this.restate(input, from[input], state);
      return state;
    });
    return compare(states[0], states[1]);
  }

  /** All sets of some joins out of one state that earn more than they break. */
  private moveFrom(state: Int16Array, value: number, from: Int32Array, among: readonly number[]): void {
    const { pairTruth, pairTrack, benefit, heldEarns } = this;
    const joins: number[] = [];
    heldEarns.fill(0);
    for (let p = 0; p < benefit.length; p++)
      if (state[pairTruth[p]] === pairTrack[p]) heldEarns[pairTruth[p]] = benefit[p];
    const visit = (at: number) => {
      if (this.overflow || this.late) return;
      if (at === among.length) {
        if (++this.moves > this.statesMax * MOVES_PER_STATE_MAX) this.overflow = true;
        if (this.budget.spend(MOVE_WORK) && this.stoppable) this.late = true;
        if (joins.length === 0 || !this.hasIdleJoin(state, joins)) this.arrive(state, value, from, joins);
        return;
      }
      visit(at + 1);
      const i = pairTruth[among[at]];
      const j = pairTrack[among[at]];
      if (state[i] === j || this.joined[i] || this.joined[this.n + j]) return;
      joins.push(among[at]);
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
  private best(): Draft {
    const { states, value } = this;
    // after an overflow nobody reads on
    if (this.overflow) states.length = 1;
    if (states.length === 1) return { states, value, from: this.from, halves: this.halves, loss: 0 };
    if (this.lookahead) this.outlook.look();
    const order = sortFew(
      states.map((_, s) => s),
      (a, b) => value[b] - value[a] || freshCount(states[b]) - freshCount(states[a]),
    );
    const kept: number[] = [];
    for (const s of order) {
      if (!kept.some((t) => this.covers(states[t], states[s], value[t] - value[s]))) kept.push(s);
      if (this.budget.spend(kept.length) && this.stoppable) {
        return this.onlyOne(states, value, this.from, this.halves);
      }
    }
    sortFew(kept, (a, b) => compare(states[a], states[b]));
    return {
      states: kept.map((s) => states[s]),
      value: kept.map((s) => value[s]),
      from: kept.map((s) => this.from[s]),
      halves: kept.map((s) => this.halves[s]),
      loss: 0,
    };
  }

  /** When the time is up: the one state to go on with. */
  private onlyOne(states: Int16Array[], value: number[], from: Int32Array[], halves: number[]): Draft {
    const { index, loss } = this.leastLoss(states, value);
    return { states: [states[index]], value: [0], from: [from[index]], halves: [halves[index]], loss };
  }

  /** The state that loses least in the worst case when all others are dropped, among those of highest value. */
  private leastLoss(states: readonly Int16Array[], value: readonly number[]): { index: number; loss: number } {
    const order = sortFew(
      states.map((_, s) => s),
      (a, b) => value[b] - value[a] || freshCount(states[b]) - freshCount(states[a]) || a - b,
    );
    let least = { index: order[0], loss: Number.POSITIVE_INFINITY };
    for (const index of order.slice(0, LATE_CANDIDATES_MAX)) {
      let loss = 0;
      for (let s = 0; s < states.length && loss < least.loss; s++) {
        if (s === index) continue;
        const behind = value[s] - value[index] + this.follow(states[index], states[s]);
        // what might be as good counts as lost: another tie may be right
        if (behind >= 0) loss = Math.max(loss, behind, 1);
      }
      if (loss < least.loss) least = { index, loss };
    }
    return least;
  }

  private follow(t1: Int16Array, t: Int16Array): number {
    const cost = this.outlook.follow(t1, t);
    return this.lookahead ? Math.min(cost, this.outlook.followAhead(t1, t, cost)) : cost;
  }

  /** When the time is up: one state of each input, and the best of the joins that hang together, one after the other. */
  private hurry(): Draft {
    this.overflow = this.late = this.stoppable = false;
    const { state, from, loss } = this.oneOfEach();
    const { lists, lost } = this.fewJoins(state);
    const draft = { state, halves: 0, loss: loss + lost };
    if (this.lookahead) this.outlook.look();
    for (const joins of lists) {
      this.states.length = this.value.length = this.from.length = this.halves.length = this.moves = 0;
      this.found = null;
      this.moveFrom(draft.state, 0, from, joins);
      const { index, loss } = this.leastLoss(this.states, this.value);
      draft.state = this.states[index];
      draft.halves += this.halves[index];
      draft.loss += loss;
    }
    return { states: [draft.state], value: [0], from: [from], halves: [draft.halves], loss: draft.loss };
  }

  /** The state of each input to go on with, as it is before this frame. */
  private oneOfEach(): { state: Int16Array; from: Int32Array; loss: number } {
    const { inputs, lookahead } = this;
    const { size } = this;
    const state = new Int16Array(size).fill(FRESH);
    const from = new Int32Array(inputs.length);
    let total = 0;
    if (lookahead) {
      // what this frame earns is still to come
      this.earn(-1);
      this.outlook.look();
    }
    for (let input = 0; input < inputs.length; input++) {
      const { states, value } = inputs[input];
      if (states.length > 1) {
        const own = states.map((_, s) => {
          const restated = new Int16Array(size).fill(FRESH);
          this.restate(input, s, restated);
          return restated;
        });
        const { index, loss } = this.leastLoss(own, value);
        from[input] = index;
        total += loss;
      }
      this.restate(input, from[input], state);
    }
    if (lookahead) this.earn(1);
    return { state, from, loss: total };
  }

  private earn(sign: number): void {
    for (let p = 0; p < this.pairs.length; p++) this.frame.edges[this.pairs[p]].earn(sign * this.benefit[p]);
  }

  /** Joins that hang together out of a state, a few in each list, and what those that are left out can earn. */
  private fewJoins(state: Int16Array): { lists: number[][]; lost: number } {
    const { n, pairTruth, pairTrack, benefit } = this;
    const root = Int32Array.from(state, (_, x) => x);
    const find = (x: number) => {
      while (root[x] !== x) x = root[x];
      return x;
    };
    for (let i = 0; i < n; i++) if (state[i] >= 0) root[n + state[i]] = i;
    const joins: number[] = [];
    for (let p = 0; p < benefit.length; p++) if (state[pairTruth[p]] !== pairTrack[p]) joins.push(p);
    sortFew(joins, (a, b) => benefit[b] - benefit[a] || a - b);
    const lists: number[][] = state.length > 0 ? Array.from(state, () => []) : [];
    const lost = new Float64Array(n);
    for (const p of joins) {
      const a = find(pairTruth[p]);
      const b = find(n + pairTrack[p]);
      if (lists[a].length + (a === b ? 0 : lists[b].length) >= LATE_JOINS_MAX) {
        lost[pairTruth[p]] = Math.max(lost[pairTruth[p]], benefit[p]);
        continue;
      }
      lists[a].push(p);
      if (a === b) continue;
      lists[a].push(...lists[b]);
      lists[b].length = 0;
      root[b] = a;
    }
    return { lists: lists.filter((list) => list.length > 0), lost: lost.reduce((sum, each) => sum + each, 0) };
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
