/**
 * One knot: trajectories that pairs of one frame tie together, with the states they may be in. Every state makes every move that
 * earns more now than staying, and what cannot win any more is dropped. The rules and D are in frontier.ts.
 *
 * When the time is up, a knot with more than a few moves goes on with one state only, that which loses least in the worst case: dropping t for t'
 * loses at most V(t) - V(t') + D(t', t). What is lost so adds up over knots and frames to a bound of what the whole assignment loses. Joins that are
 * left out lose what they earn in this frame, because they can be put off.
 */

import type { Budget } from '../window/budget.js';
import type { FrameRecord } from '../window/frame-record.js';
import type { Trajectory } from '../window/trajectory.js';
import { Outlook } from './outlook.js';
import { bitsOf, FREE, FRESH, only, type Part, upTo } from './part.js';
import { compareStates, StateTable, sortFew } from './state-table.js';

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

const NO_PARTS: readonly Part[] = [];
const NONE: readonly number[] = [];

/**
 * Moves the states of one knot through one frame. One of them serves a frontier: what it met in one knot is gone with the next. States
 * are rows of `rows`, of each truth, then each track, its partner.
 */
export class Knot {
  overflow = false;
  /** quanta that the best assignment may lose by what was left out for want of time */
  loss = 0;
  /** rows of the states that can still win, in a fixed order: the first `keptCount` */
  kept = new Int32Array(16);
  keptCount = 0;
  /** quanta that may be added to what the members can still earn before what was dropped might win after all */
  slack = Number.POSITIVE_INFINITY;
  private late = false;
  /** it may be left when the time is up */
  private stoppable = false;
  private moves = 0;
  private statesMax = 0;
  readonly states = new StateTable();
  private n = 0;
  private size = 0;
  private joined = new Uint8Array(16);
  /** of each truth: what its pair in the state that moves earns in this frame */
  private heldEarns = new Float64Array(16);
  /** the state that moves, what it follows from, and the state that is arrived at */
  private origin = new Int16Array(16);
  private originFrom = new Int32Array(16);
  private originValue = 0;
  private next = new Int16Array(16);
  private readonly ways = [new Int16Array(16), new Int16Array(16)];
  /** the joins that are tried, and those of the move that is being made */
  private among: readonly number[] = [];
  private joins = new Int32Array(16);
  private joinCount = 0;
  private inputs: readonly Part[] = NO_PARTS;
  private pairs: readonly number[] = [];
  /** of each pair: truth, track, benefit */
  private pairTruth = new Int32Array(16);
  private pairTrack = new Int32Array(16);
  private benefit = new Float64Array(16);
  private seen = new Uint8Array(16);
  private frame: FrameRecord | null = null;
  private budget: Budget | null = null;
  private lookahead = false;
  private sweeping = false;
  private readonly outlook: Outlook;

  constructor(
    private readonly h: number,
    private readonly keptMax: number,
  ) {
    this.outlook = new Outlook(h);
  }

  /** Takes up another knot: pairs of a frame, the parts that they tie together, and the members of these by their index. */
  begin(
    lookahead: boolean,
    sweeping: boolean,
    budget: Budget,
    frame: FrameRecord,
    pairs: readonly number[],
    inputs: readonly Part[],
    truths: readonly Trajectory[],
    tracks: readonly Trajectory[],
  ): void {
    this.lookahead = lookahead;
    this.sweeping = sweeping;
    this.budget = budget;
    this.frame = frame;
    this.pairs = pairs;
    this.inputs = inputs;
    this.n = truths.length;
    this.size = truths.length + tracks.length;
    this.outlook.begin(truths, tracks);
    this.overflow = this.late = false;
    this.statesMax = this.keptMax;
    this.loss = 0;
    this.slack = Number.POSITIVE_INFINITY;
    this.reserveMembers();
    this.reservePairs();
    for (let p = 0; p < pairs.length; p++) {
      this.pairTruth[p] = frame.truthAt(pairs[p]).knot;
      this.pairTrack[p] = frame.trackAt(pairs[p]).knot;
      this.benefit[p] = frame.benefit(pairs[p]);
    }
    fill(this.joined, 0, this.size);
    this.states.begin(this.size, inputs.length);
    this.moves = 0;
  }

  private reserveMembers(): void {
    if (this.size <= this.joined.length) return;
    const room = 2 * this.size;
    this.joined = new Uint8Array(room);
    this.heldEarns = new Float64Array(room);
    this.origin = new Int16Array(room);
    this.next = new Int16Array(room);
    this.ways[0] = new Int16Array(room);
    this.ways[1] = new Int16Array(room);
    // no more inputs than members
    this.originFrom = new Int32Array(room);
  }

  private reservePairs(): void {
    const { length } = this.pairs;
    if (length > this.pairTruth.length) {
      this.pairTruth = new Int32Array(2 * length);
      this.pairTrack = new Int32Array(2 * length);
      this.benefit = new Float64Array(2 * length);
      this.seen = new Uint8Array(2 * length);
      this.joins = new Int32Array(2 * length);
    }
  }

  /** Of each input the state that a state follows from. */
  fromOf(row: number): readonly number[] {
    const { length } = this.inputs;
    if (length === 0) return NONE;
    if (length === 1) return only(this.states.origin(row, 0));
    const from: number[] = new Array(length);
    for (let input = 0; input < length; input++) from[input] = this.states.origin(row, input);
    return from;
  }

  /** Of each pair 1 where a state holds it. */
  onOf(row: number): readonly number[] {
    const { length } = this.pairs;
    if (length <= 8) {
      let bits = 0;
      for (let p = 0; p < length; p++) if (this.holds(row, p)) bits |= 1 << p;
      return bitsOf(bits, length);
    }
    const on: number[] = new Array(length);
    for (let p = 0; p < length; p++) on[p] = this.holds(row, p) ? 1 : 0;
    return on;
  }

  private holds(row: number, p: number): boolean {
    return this.states.rows[row * this.size + this.pairTruth[p]] === this.pairTrack[p];
  }

  /** Whether it is worked in full even when the time is up. */
  private isSmall(): boolean {
    const { pairs, inputs } = this;
    if (pairs.length > 30) return false;
    let moves = 1 << pairs.length;
    for (let input = 0; input < inputs.length; input++) moves *= inputs[input].states.length;
    return moves <= LATE_MOVES_MAX;
  }

  /** Finds what can still win after this frame; after an overflow nobody reads it. */
  work(): void {
    this.stoppable = !this.isSmall();
    if (this.budget!.spent && this.stoppable) {
      this.hurry();
      return;
    }
    this.among = upTo(this.pairs.length);
    fill(this.origin, FRESH, this.size);
    this.combine(0, 0);
    if (this.late) this.hurry();
    else this.keepBest();
  }

  /** Every combination of the inputs' states, from one input on, moved. */
  private combine(input: number, value: number): void {
    const { inputs } = this;
    if (input === inputs.length) {
      this.moveFrom(value);
      return;
    }
    const part = inputs[input];
    for (let s = 0; s < part.states.length; s++) {
      this.restate(input, s, this.origin);
      this.originFrom[input] = s;
      this.combine(input + 1, value + part.value[s]);
      if (this.overflow || this.late) return;
    }
  }

  /** Writes a state of an input into a state of the knot. */
  private restate(input: number, s: number, state: Int16Array): void {
    const { truths, tracks, states } = this.inputs[input];
    const own = states[s];
    for (let x = 0; x < truths.length; x++) state[truths[x].knot] = own[x] < 0 ? own[x] : tracks[own[x]].knot;
    for (let x = 0; x < tracks.length; x++) {
      const partner = own[truths.length + x];
      state[this.n + tracks[x].knot] = partner < 0 ? partner : truths[partner].knot;
    }
  }

  /** The order of two ways into a state, `originFrom` and that of a row: by the states they come from, whatever inputs these were put together from. */
  private compareWays(row: number): number {
    const { ways, size, inputs, originFrom, states } = this;
    for (const way of ways) fill(way, FRESH, size);
    for (let input = 0; input < inputs.length; input++) {
      this.restate(input, originFrom[input], ways[0]);
      this.restate(input, states.origin(row, input), ways[1]);
    }
    return compareStates(ways[0], 0, ways[1], 0, size);
  }

  /** All sets of the joins in `among`, out of `origin`, that earn more than they break. */
  private moveFrom(value: number): void {
    const { pairTruth, pairTrack, benefit, heldEarns, origin } = this;
    this.originValue = value;
    fill(heldEarns, 0, this.n);
    for (let p = 0; p < this.pairs.length; p++)
      if (origin[pairTruth[p]] === pairTrack[p]) heldEarns[pairTruth[p]] = benefit[p];
    this.joinCount = 0;
    this.join(0);
  }

  /** With the joins chosen so far, every choice among the others, from one on. */
  private join(at: number): void {
    if (this.overflow || this.late) return;
    const { among, joins, joined, n } = this;
    if (at === among.length) {
      if (++this.moves > this.statesMax * MOVES_PER_STATE_MAX) this.overflow = true;
      if (this.budget!.spend(MOVE_WORK) && this.stoppable) this.late = true;
      if (this.joinCount === 0 || !this.hasIdleJoin()) this.arrive();
      return;
    }
    this.join(at + 1);
    const i = this.pairTruth[among[at]];
    const j = this.pairTrack[among[at]];
    if (this.origin[i] === j || joined[i] || joined[n + j]) return;
    joins[this.joinCount++] = among[at];
    joined[i] = joined[n + j] = 1;
    this.join(at + 1);
    this.joinCount--;
    joined[i] = joined[n + j] = 0;
  }

  /**
   * Whether some of the joins can be put off. Joins hang together when one needs the partner of another; those that hang
   * together and earn no more now than what they break can wait, whatever the others do.
   */
  private hasIdleJoin(): boolean {
    const { n, origin, joins, joinCount, pairTruth, pairTrack, benefit, heldEarns, joined, seen } = this;
    let seenCount = 0;
    for (let x = 0; x < joinCount; x++) seen[joins[x]] = 0;
    // chains first: each begins with a join whose track is not held by the truth of another
    for (let x = 0; x < joinCount; x++) {
      const first = joins[x];
      const holder = origin[n + pairTrack[first]];
      if (holder >= 0 && joined[holder]) continue;
      let gain = holder >= 0 ? -heldEarns[holder] : 0;
      for (let p = first; p >= 0; p = this.joinOf(origin[pairTruth[p]])) {
        gain += benefit[p] - heldEarns[pairTruth[p]];
        seen[p] = 1;
        seenCount++;
      }
      if (gain <= 0) return true;
    }
    if (seenCount === joinCount) return false;
    // the others are rings, in which everybody takes the partner of the next
    for (let x = 0; x < joinCount; x++) {
      const first = joins[x];
      if (seen[first]) continue;
      let gain = 0;
      for (let p = first; !seen[p]; p = this.joinOf(origin[pairTruth[p]])) {
        gain += benefit[p] - heldEarns[pairTruth[p]];
        seen[p] = 1;
      }
      if (gain <= 0) return true;
    }
    return false;
  }

  /** The join of a track, or -1. */
  private joinOf(track: number): number {
    if (track >= 0)
      for (let x = 0; x < this.joinCount; x++) if (this.pairTrack[this.joins[x]] === track) return this.joins[x];
    return -1;
  }

  private arrive(): void {
    const { n, size, origin, next, joins, joinCount, pairTruth, pairTrack, benefit } = this;
    for (let x = 0; x < size; x++) next[x] = origin[x];
    let halves = 0;
    for (let x = 0; x < joinCount; x++) {
      const p = joins[x];
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
    for (let x = 0; x < joinCount; x++) {
      const p = joins[x];
      const i = pairTruth[p];
      const j = pairTrack[p];
      if (next[i] !== FRESH || next[n + j] !== FRESH) halves++;
      next[i] = j;
      next[n + j] = i;
    }
    let earned = 0;
    for (let p = 0; p < this.pairs.length; p++) if (next[pairTruth[p]] === pairTrack[p]) earned += benefit[p];
    this.note(this.originValue + earned - halves * this.h, halves);
  }

  /** Notes the state arrived at. */
  private note(value: number, halves: number): void {
    const { states, next, originFrom } = this;
    const known = states.find(next);
    if (known < 0) {
      if (states.count >= this.statesMax) this.overflow = true;
      else states.add(next, value, halves, originFrom);
      return;
    }
    // among equal ways here the one that changes most now, because later is better, then the first in order
    if (value < states.value[known]) return;
    if (
      value > states.value[known] ||
      halves > states.halves[known] ||
      (halves === states.halves[known] && this.compareWays(known) < 0)
    )
      states.set(known, value, halves, originFrom);
  }

  /** Keeps what can still win, in a fixed order. */
  private keepBest(): void {
    const { states, size, budget } = this;
    const { value } = states;
    this.keep(0);
    // after an overflow nobody reads on
    if (this.overflow || states.count === 1) return;
    if (this.lookahead) this.look(this.frame!.number);
    const order = states.byValue();
    if (states.count > this.kept.length) this.kept = new Int32Array(2 * states.count);
    const { kept } = this;
    let count = 1;
    kept[0] = order[0];
    for (let at = 1; at < states.count; at++) {
      const s = order[at];
      let covered = false;
      for (let k = 0; k < count && !covered; k++) covered = this.covers(kept[k], s, value[kept[k]] - value[s]);
      if (!covered) kept[count++] = s;
      if (budget!.spend(count) && this.stoppable) {
        this.keepOne(order, states.count);
        return;
      }
    }
    if (count > 1 && budget!.spent && size > 2) this.keepOne(kept, count);
    else {
      states.inOrder(kept, count);
      this.keptCount = count;
    }
  }

  /**
   * Whether t1, ahead by `lead`, is at least as good as t for every future. Looking ahead, only what is strictly worse goes
   * besides: so every tie is decided as it would be without looking ahead.
   */
  private covers(t1: number, t: number, lead: number): boolean {
    const { outlook, size } = this;
    const { rows } = this.states;
    if (lead >= outlook.follow(rows, t1 * size, t * size)) return true;
    if (!this.lookahead || lead <= outlook.followAhead(rows, t1 * size, t * size, lead)) return false;
    if (!this.sweeping) this.slack = Math.min(this.slack, lead - outlook.followSafely(rows, t1 * size, t * size));
    return true;
  }

  /** When the time is up: goes on with that of some rows, highest value first, which loses least in the worst case. */
  private keepOne(order: Int32Array, count: number): void {
    const { row, loss } = this.leastLoss(order, count);
    this.keep(row);
    this.loss += loss;
  }

  /** Keeps a single row. */
  private keep(row: number): void {
    this.kept[0] = row;
    this.keptCount = 1;
  }

  private leastLoss(order: Int32Array, count: number): { row: number; loss: number } {
    const { value } = this.states;
    // whatever is added may make a loss of it, or more
    if (this.lookahead && !this.sweeping && count > 1) this.slack = 0;
    let least = { row: order[0], loss: Number.POSITIVE_INFINITY };
    for (let at = 0; at < Math.min(count, LATE_CANDIDATES_MAX); at++) {
      const row = order[at];
      let loss = 0;
      for (let n = 0; n < count; n++) {
        const s = order[n];
        if (s === row) continue;
        const behind = value[s] - value[row] + this.follow(row, s);
        // what might be as good counts as lost: another tie may be right
        if (behind >= 0) loss = Math.max(loss, behind, 1);
        if (loss >= least.loss) break;
      }
      if (loss < least.loss) least = { row, loss };
    }
    return least;
  }

  private follow(t1: number, t: number): number {
    const { outlook, size } = this;
    const { rows } = this.states;
    const cost = outlook.follow(rows, t1 * size, t * size);
    return this.lookahead ? Math.min(cost, outlook.followAhead(rows, t1 * size, t * size, cost)) : cost;
  }

  /** When the time is up: one state of each input, and the best of the joins that hang together, one after the other. */
  hurry(): void {
    this.overflow = this.late = this.stoppable = false;
    this.statesMax = Number.POSITIVE_INFINITY;
    fill(this.joined, 0, this.size);
    this.takeOneOfEach();
    const { states } = this;
    const lists = this.fewJoins();
    if (this.lookahead) this.look(this.frame!.number);
    let halves = 0;
    for (const joins of lists) {
      states.clear();
      this.among = joins;
      this.moveFrom(0);
      const { row, loss } = this.leastLoss(states.byValue(), states.count);
      this.loss += loss;
      halves += states.halves[row];
      for (let x = 0; x < this.size; x++) this.origin[x] = states.rows[row * this.size + x];
    }
    states.clear();
    states.add(this.origin, 0, halves, this.originFrom);
    this.keep(0);
  }

  /** The state of each input to go on with, as it is before this frame, as `origin`. */
  private takeOneOfEach(): void {
    const { inputs, lookahead, size, origin, originFrom, states } = this;
    if (lookahead) {
      // what this frame earns is still to come
      if (this.sweeping) this.earn(-1);
      this.look(this.frame!.number - 1);
    }
    for (let input = 0; input < inputs.length; input++) {
      const part = inputs[input];
      originFrom[input] = 0;
      if (part.states.length === 1) continue;
      states.clear();
      for (let s = 0; s < part.states.length; s++) {
        fill(origin, FRESH, size);
        this.restate(input, s, origin);
        states.add(origin, part.value[s], 0, originFrom);
      }
      const { row, loss } = this.leastLoss(states.byValue(), states.count);
      originFrom[input] = row;
      this.loss += loss;
    }
    if (lookahead && this.sweeping) this.earn(1);
    fill(origin, FRESH, size);
    for (let input = 0; input < inputs.length; input++) this.restate(input, originFrom[input], origin);
  }

  private earn(sign: number): void {
    for (let p = 0; p < this.pairs.length; p++) this.frame!.edges[this.pairs[p]].earn(sign * this.benefit[p]);
  }

  /** Sees what can be earned after a frame; in a sweep it is known already. */
  private look(number: number): void {
    if (this.sweeping) this.outlook.look();
    else this.outlook.lookFrom(number);
  }

  /** Joins that hang together out of `origin`, a few in each list; what those that are left out can earn is lost. */
  private fewJoins(): number[][] {
    const { n, size, origin, pairTruth, pairTrack, benefit } = this;
    const root: number[] = [];
    const lists: number[][] = [];
    for (let x = 0; x < size; x++) {
      root.push(x);
      lists.push([]);
    }
    const find = (x: number) => {
      while (root[x] !== x) x = root[x];
      return x;
    };
    for (let i = 0; i < n; i++) if (origin[i] >= 0) root[n + origin[i]] = i;
    const joins: number[] = [];
    for (let p = 0; p < this.pairs.length; p++) if (origin[pairTruth[p]] !== pairTrack[p]) joins.push(p);
    sortFew(joins, joins.length, (a, b) => benefit[b] - benefit[a] || a - b);
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
    for (const each of lost) this.loss += each;
    return lists.filter((list) => list.length > 0);
  }
}

/** Fills the beginning of a list; it is so short that a call of its own method takes longer. */
function fill(list: Uint8Array | Int16Array | Float64Array, value: number, count: number): void {
  for (let n = 0; n < count; n++) list[n] = value;
}
