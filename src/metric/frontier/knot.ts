/**
 * One knot: trajectories that pairs of one frame tie together, with the states they may be in. Every state makes every
 * move that earns more now than staying, and what cannot win any more is dropped. The rules and D are in frontier.ts.
 *
 * A knot that meets more states or moves than it may, or is met when the time is up, overflows: it goes on with any one
 * state, and whoever calls solves its participants otherwise.
 */

import type { Budget } from '../window/budget.js';
import type { Prospects } from '../window/choice.js';
import type { FrameRecord } from '../window/frame-record.js';
import { type Candidates, FREE, FRESH, NO_INPUTS, type Participant, trackOf, truthOf, WORTH } from './candidates.js';
import { Hopes } from './hopes.js';
import { StateTable } from './state-table.js';

/** moves tried in one knot, per state that may be met */
const MOVES_PER_STATE_MAX = 16;
/** work of a move, where that of comparing two states is 1 */
const MOVE_WORK = 4;
/** states that each is compared with, where those without hope are dropped already */
const HOPEFUL_COMPARED_MAX = 16;
/** knots with at most so many moves are worked even when the time is up */
const SMALL_MOVES_MAX = 32;

/**
 * Moves the states of one knot through one frame. One of them serves all frontiers of a thread: what it met in one knot
 * is gone with the next. States are rows of `rows`, of each truth, then each track, its partner.
 */
export class Knot {
  overflow = false;
  /** rows of the states that can still win, in a fixed order: the first `keptCount` */
  kept = new Int32Array(16);
  keptCount = 0;
  /** it may be left when the time is up */
  private stoppable = false;
  /** moves tried */
  moves = 0;
  readonly states = new StateTable();
  private n = 0;
  private size = 0;
  private joined = new Uint8Array(16);
  /** of each truth: what its pair in the state that moves earns in this frame */
  private heldEarns = new Float64Array(16);
  /** the state that moves, what it follows from, and the state that is arrived at */
  private origin = new Int16Array(16);
  private originFrom = new Int32Array(16);
  private readonly originWorth = new Float64Array(WORTH);
  private readonly nextWorth = new Float64Array(WORTH);
  private number = 0;
  private next = new Int16Array(16);
  /** the joins of the move that is being made */
  private joins = new Int32Array(16);
  private joinCount = 0;
  private inputs: readonly Candidates[] = NO_INPUTS;
  private pairs: readonly number[] = [];
  /** of each pair: truth, track, benefit, rank */
  private pairTruth = new Int32Array(16);
  private pairTrack = new Int32Array(16);
  private benefit = new Float64Array(16);
  private rank = new Float64Array(16);
  private seen = new Uint8Array(16);
  private budget: Budget | null = null;
  private readonly hopes = new Hopes();
  private prospects: Prospects | null = null;
  /** price of half a switch, and the most states that may be met */
  private h = 0.5;
  private statesMax = 0;

  /** Sets what the next knots are worked under. */
  under(h: number, statesMax: number, budget: Budget, prospects: Prospects | null): this {
    this.h = h;
    this.prospects = prospects;
    this.statesMax = statesMax;
    this.budget = budget;
    return this;
  }

  /**
   * Takes up another knot: pairs of a frame, the candidates that they tie together, and the participants of these by
   * their index.
   */
  begin(
    frame: FrameRecord,
    pairs: readonly number[],
    inputs: readonly Candidates[],
    truths: readonly Participant[],
    tracks: readonly Participant[],
  ): void {
    this.pairs = pairs;
    this.inputs = inputs;
    this.n = truths.length;
    this.size = truths.length + tracks.length;
    this.overflow = false;
    this.number = frame.number;
    if (this.prospects !== null) this.hopes.begin(this.prospects, this.number, truths, tracks);
    this.reserveMembers();
    this.reservePairs();
    for (let p = 0; p < pairs.length; p++) {
      this.pairTruth[p] = truthOf(frame, pairs[p]).knot;
      this.pairTrack[p] = trackOf(frame, pairs[p]).knot;
      this.benefit[p] = frame.benefit(pairs[p]);
      this.rank[p] = frame.rank(pairs[p]);
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
    // no more inputs than participants
    this.originFrom = new Int32Array(room);
  }

  private reservePairs(): void {
    const { length } = this.pairs;
    if (length > this.pairTruth.length) {
      this.pairTruth = new Int32Array(2 * length);
      this.pairTrack = new Int32Array(2 * length);
      this.benefit = new Float64Array(2 * length);
      this.rank = new Float64Array(2 * length);
      this.seen = new Uint8Array(2 * length);
      this.joins = new Int32Array(2 * length);
    }
  }

  /** The states it keeps, as a decision has them: see `Decision`. */
  ways(): number[] {
    const { kept, keptCount, states, inputs, pairs } = this;
    const ways: number[] = new Array(keptCount * (1 + inputs.length + pairs.length));
    let at = 0;
    for (let s = 0; s < keptCount; s++) {
      ways[at++] = states.halves[kept[s]];
      for (let input = 0; input < inputs.length; input++) ways[at++] = states.origin(kept[s], input);
      for (let p = 0; p < pairs.length; p++) ways[at++] = this.holds(kept[s], p) ? 1 : 0;
    }
    return ways;
  }

  /** Keeps nothing alive that it was made of. */
  end(): void {
    this.inputs = NO_INPUTS;
    this.budget = this.prospects = null;
  }

  private holds(row: number, p: number): boolean {
    return this.states.rows[row * this.size + this.pairTruth[p]] === this.pairTrack[p];
  }

  /** Whether it is worked even when the time is up. */
  private isSmall(): boolean {
    return this.movesAtMost() <= SMALL_MOVES_MAX;
  }

  /**
   * Sets of pairs, out of every combination of the inputs' states; joins that need one end twice are counted with them.
   */
  private movesAtMost(): number {
    const { pairs, inputs } = this;
    let moves = 2 ** pairs.length;
    for (let input = 0; input < inputs.length; input++) moves *= inputs[input].count;
    return moves;
  }

  /** Finds what can still win after this frame; after an overflow it is any one state. */
  work(): void {
    this.stoppable = !this.isSmall();
    fill(this.origin, FRESH, this.size);
    this.combine();
    if (this.overflow) this.keepAny();
    else this.keepBest();
  }

  /** Every combination of the inputs' states, moved: `originFrom` counts through them, the last input first. */
  private combine(): void {
    const { inputs, originFrom } = this;
    for (let input = 0; input < inputs.length; input++) {
      originFrom[input] = 0;
      this.restate(input, 0, this.origin);
    }
    this.overflow = this.stoppable && this.budget!.spent;
    while (!this.overflow) {
      this.addInputs();
      this.moveFrom();
      let input = inputs.length - 1;
      for (; input >= 0; input--) {
        if (++originFrom[input] < inputs[input].count) break;
        originFrom[input] = 0;
        this.restate(input, 0, this.origin);
      }
      if (input < 0) return;
      this.restate(input, originFrom[input], this.origin);
    }
  }

  /** What the state that moves is worth. */
  private addInputs(): void {
    const { inputs, originFrom, originWorth } = this;
    fill(originWorth, 0, WORTH);
    for (let input = 0; input < inputs.length; input++) {
      const { worth } = inputs[input];
      const at = originFrom[input] * WORTH;
      for (let n = 0; n < WORTH; n++) originWorth[n] += worth[at + n];
    }
  }

  /** Writes a state of an input into a state of the knot. */
  private restate(input: number, s: number, state: Int16Array): void {
    const { truths, tracks, states } = this.inputs[input];
    const own = s * (truths.length + tracks.length);
    for (let x = 0; x < truths.length; x++) {
      const partner = states[own + x];
      state[truths[x].knot] = partner < 0 ? partner : tracks[partner].knot;
    }
    for (let x = 0; x < tracks.length; x++) {
      const partner = states[own + truths.length + x];
      state[this.n + tracks[x].knot] = partner < 0 ? partner : truths[partner].knot;
    }
  }

  /**
   * All sets of joins out of `origin` that earn more than they break: one pair after the other is joined or left out,
   * and taken up again.
   */
  private moveFrom(): void {
    const { pairTruth, pairTrack, benefit, heldEarns, origin, joins, joined, n } = this;
    const { length } = this.pairs;
    fill(heldEarns, 0, n);
    for (let p = 0; p < length; p++) if (origin[pairTruth[p]] === pairTrack[p]) heldEarns[pairTruth[p]] = benefit[p];
    this.joinCount = 0;
    this.move();
    // the sets that begin with those chosen so far, and have another pair from `next` on besides
    for (let next = 0; !this.overflow; ) {
      while (next < length && !this.canJoin(next)) next++;
      if (next < length) {
        joined[pairTruth[next]] = joined[n + pairTrack[next]] = 1;
        joins[this.joinCount++] = next++;
        this.move();
      } else {
        if (this.joinCount === 0) return;
        const last = joins[--this.joinCount];
        joined[pairTruth[last]] = joined[n + pairTrack[last]] = 0;
        next = last + 1;
      }
    }
    while (this.joinCount > 0) {
      const last = joins[--this.joinCount];
      joined[pairTruth[last]] = joined[n + pairTrack[last]] = 0;
    }
  }

  /** Whether a pair that is not held can be joined besides those that are. */
  private canJoin(p: number): boolean {
    const i = this.pairTruth[p];
    const j = this.pairTrack[p];
    return this.origin[i] !== j && this.joined[i] === 0 && this.joined[this.n + j] === 0;
  }

  /** Makes the move of the joins chosen. */
  private move(): void {
    if (++this.moves > this.statesMax * MOVES_PER_STATE_MAX) this.overflow = true;
    if (this.budget!.spend(MOVE_WORK) && this.stoppable) this.overflow = true;
    if (this.joinCount === 0 || !this.hasIdleJoin()) this.arrive();
  }

  /**
   * Whether some of the joins can be put off. Joins hang together when one needs the partner of another; those that
   * hang together and earn no more now than what they break can wait, whatever the others do.
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
    const { originWorth, nextWorth: worth } = this;
    let value = originWorth[0] - halves * this.h;
    let rank = 0;
    for (let p = 0; p < this.pairs.length; p++) {
      if (next[pairTruth[p]] !== pairTrack[p]) continue;
      value += benefit[p];
      rank += this.rank[p];
    }
    if (this.prospects !== null && !this.hopes.hasHope(next, value)) return;
    worth[0] = value;
    worth[1] = originWorth[1] + halves * this.number;
    worth[2] = originWorth[2] + rank;
    worth[3] = originWorth[3] + rank * this.number;
    this.note(halves);
  }

  /** Notes the state arrived at; of several ways into it the one that is worth most. */
  private note(halves: number): void {
    const { states, next, originFrom, nextWorth } = this;
    const known = states.find(next);
    if (known >= 0) {
      if (states.isLess(known, nextWorth)) states.set(known, nextWorth, halves, originFrom);
    } else if (states.count >= this.statesMax) this.overflow = true;
    else states.add(next, nextWorth, halves, originFrom);
  }

  /** Keeps what can still win, in a fixed order. */
  private keepBest(): void {
    const { states, budget } = this;
    this.keep(0);
    if (states.count === 1) return;
    const order = states.byValue();
    const hopeful = this.prospects === null ? states.count : this.hopes.select(states, order);
    if (states.count > this.kept.length) this.kept = new Int32Array(2 * states.count);
    const { kept } = this;
    // those that have hope are worth much the same: hardly one covers another
    const comparedMax = this.prospects === null ? states.count : HOPEFUL_COMPARED_MAX;
    let count = 1;
    kept[0] = order[0];
    for (let at = 1; at < hopeful; at++) {
      const s = order[at];
      let covered = false;
      const compared = Math.min(count, comparedMax);
      for (let k = 0; k < compared && !covered; k++) covered = this.covers(kept[k], s);
      if (!covered) kept[count++] = s;
      if (budget!.spend(compared) && this.stoppable) {
        this.overflow = true;
        this.keep(order[0]);
        return;
      }
    }
    states.inOrder(kept, count);
    this.keptCount = count;
  }

  /** Keeps a single row. */
  private keep(row: number): void {
    this.kept[0] = row;
    this.keptCount = 1;
  }

  /** After an overflow: the first state of each input, as it is. */
  private keepAny(): void {
    const { states, inputs, originFrom, origin } = this;
    fill(this.joined, 0, this.size);
    fill(origin, FRESH, this.size);
    for (let input = 0; input < inputs.length; input++) {
      originFrom[input] = 0;
      this.restate(input, 0, origin);
    }
    states.clear();
    states.add(origin, this.nextWorth, 0, originFrom);
    this.keep(0);
  }

  /**
   * Whether t' is at least as good as t for every future; where they are worth the same, the changes that follow must
   * come later than those of t.
   */
  private covers(t1: number, t: number): boolean {
    const { worth } = this.states;
    const count = this.follow(t1, t);
    const lead = worth[t1 * WORTH] - worth[t * WORTH] - count * this.h;
    if (lead !== 0) return lead > 0;
    return worth[t1 * WORTH + 1] + count * (this.number + 1) > worth[t * WORTH + 1];
  }

  /** D(t', t) / h. */
  private follow(t1Row: number, tRow: number): number {
    const { n, size } = this;
    const { rows } = this.states;
    const t1 = t1Row * size;
    const t = tRow * size;
    let count = 0;
    for (let i = 0; i < n; i++) {
      const a = rows[t1 + i];
      const b = rows[t + i];
      if (a === b) continue;
      if (a >= 0) count++;
      if (b >= 0 && !(a === FRESH && rows[t1 + n + b] === FRESH)) count++;
      if (b === FRESH) count++;
    }
    for (let x = n; x < size; x++) if (rows[t + x] === FRESH && rows[t1 + x] !== FRESH) count++;
    return count;
  }
}

/** Fills the beginning of a list; it is so short that a call of its own method takes longer. */
function fill(list: Uint8Array | Int16Array | Float64Array, value: number, count: number): void {
  for (let n = 0; n < count; n++) list[n] = value;
}
