/**
 * The main engine: exact dynamic programming that keeps, for every knot of trajectories that is undecided now, only the
 * matchings that can still win (DESIGN 3.4, the frontier).
 *
 * Changes are charged when they happen, as late as possible. A trajectory is fresh until it is first assigned; two
 * fresh ones join for free (they might have been assigned from the beginning), any other join costs h = gamma^p/2; a
 * held pair is released, for h, only when one of its ends is joined elsewhere. A join that earns nothing now can be put
 * off.
 *
 * State t is dropped when some state t' is at least as good for every future: V(t') - D(t', t) >= V(t), where
 *
 *   D(t', t) = h * ( pairs held in t' but not in t  +  pairs held in t but not in t', unless both ends are fresh in t'
 *                    +  trajectories fresh in t but not in t' )
 *
 * bounds what it costs to follow from t' what t would do; of states that are worth the same, the one whose changes come
 * latest wins, then the one of higher rank (`FrameRecord.rank`). In good tracking one state is left after a frame or
 * two, and the knot comes apart into pairs that only earn. All values are whole quanta and D obeys the triangle
 * inequality, so what is left does not depend on the order of work: when the oldest frame leaves, the frames after it
 * are worked again only until candidates come out as they were.
 *
 * A knot with more states than a few dozen is given up at once, with everybody it hangs together with: the program
 * solves those (`overflow`).
 */

import { Basket } from '../window/basket.js';
import type { Budget } from '../window/budget.js';
import type { Prospects } from '../window/choice.js';
import { type FrameRecord, lonePairs } from '../window/frame-record.js';
import type { Edge, Trajectory } from '../window/trajectory.js';
import {
  BEGINS,
  bestState,
  CALM,
  type Calm,
  type Candidates,
  type Decision,
  FrameWork,
  halvesOf,
  heldBy,
  NOBODY,
  originOf,
  type Participant,
  participantOf,
  sameCandidates,
  trackOf,
  truthOf,
} from './candidates.js';
import { ChangedMembers } from './changed.js';
import { Comparison } from './comparison.js';
import { type FrameOf, isForegone } from './foresight.js';
import { Knot } from './knot.js';
import { takeApart } from './outcomes.js';
import { Reach } from './reach.js';
import { Roll } from './roll.js';
import { gather, isCalm, isChanged, knotStart, pairsOf, tied, tieUp } from './ties.js';

const NO_OUTCOMES: Candidates[] = [];

/** a knot with more pairs has more states than can be looked at */
const PAIRS_MAX = 40;
// scratch of whichever frontier of this thread works: each begins anew, and keeps nothing
const knot = new Knot();
const reach = new Reach();
const comparison = new Comparison();

export class Frontier {
  /** candidates with more than one state that no later frame has taken up: the undecided present */
  private readonly open = new Roll<Candidates>();
  /** truths of knots that grew too large; whoever calls solves them otherwise */
  readonly overflow: Trajectory[] = [];
  private readonly changed = new ChangedMembers();
  /** decisions that `advance` has made */
  private readonly made = new Basket<Decision>();
  /** scratch of `choose` */
  private readonly chosen = new Basket<Decision>();
  private readonly chosenStates = new Basket<number>();
  /** scratch: pairs of a frame */
  private found = new Int32Array(32);
  /** of the solve that goes on */
  private budget: Budget | null = null;

  constructor(
    private readonly h: number,
    private readonly statesMax: number,
    /** is told the truths of every knot and how many moves it took */
    private readonly charge: (truths: readonly Participant[], moves: number) => void,
    private readonly touch: (frame: FrameRecord) => void,
    /** whether an edge is solved otherwise */
    private readonly isForeign: (edge: Edge) => boolean,
    /** the window's frames by number */
    private readonly frameOf: FrameOf,
    /** what is known of later frames where an optimum is chosen among several */
    private readonly prospects: Prospects | null = null,
  ) {}

  /** A solve begins. */
  begin(budget: Budget): void {
    this.budget = budget;
  }

  private isForegone(frame: FrameRecord, pair: number): boolean {
    return isForegone(frame.edgeAt(pair), frame.number, Number.POSITIVE_INFINITY, this.frameOf, this.h);
  }

  private workOn(frame: FrameRecord): FrameWork {
    frame.annex ??= new FrameWork(frame, lonePairs(frame));
    return frame.annex as FrameWork;
  }

  /** Works the first of some pairs of the newest frame. */
  enter(frame: FrameRecord, pairs: Int32Array, count: number): void {
    for (let n = 0; n < count; n++) {
      const ends = frame.edgeAt(pairs[n]);
      const truth = participantOf(ends.truth);
      const track = participantOf(ends.track);
      truth.now = truth.candidates;
      track.now = track.candidates;
    }
    this.advance(frame, this.workOn(frame), pairs, count);
    for (let d = 0; d < this.made.size; d++) {
      const { fresh, outcomes } = this.made.at(d);
      for (const participant of fresh) participant.candidates = null;
      for (const outcome of outcomes) {
        for (const participant of outcome.truths) participant.candidates = outcome;
        for (const participant of outcome.tracks) participant.candidates = outcome;
      }
    }
    this.made.clear();
    for (let n = 0; n < count; n++) truthOf(frame, pairs[n]).now = trackOf(frame, pairs[n]).now = null;
  }

  /** Chooses the best state of everything undecided and follows it back. */
  decide(): void {
    for (let n = 0; n < this.open.size; n++) {
      const candidates = this.open.at(n);
      this.choose(candidates.decision!, bestState(candidates));
    }
  }

  /** Says that what is known about a trajectory no longer holds: it begins fresh at the next `rework`. */
  restart(trajectory: Trajectory): void {
    this.changed.mark(participantOf(trajectory), null);
  }

  /** A pair of the oldest frame leaves with it: its ends begin anew where that makes a difference. */
  leave(frame: FrameRecord, pair: number): void {
    const work = this.workOn(frame);
    const ends = frame.edgeAt(pair);
    const truth = participantOf(ends.truth);
    const track = participantOf(ends.track);
    const ofTruth = work.leavesWith(pair, truth, 0);
    const ofTrack = work.leavesWith(pair, track, 1);
    const next = frame.number + 1;
    const truthGoesOn = this.isAsFresh(ofTruth, next);
    const trackGoesOn = ofTrack === ofTruth ? truthGoesOn : this.isAsFresh(ofTrack, next);
    if (!truthGoesOn) this.changed.mark(truth, null);
    if (!trackGoesOn) this.changed.mark(track, null);
  }

  /** Whether who comes into a frame with some candidates may as well come in fresh: see foresight.ts. */
  private isAsFresh(candidates: Candidates | null | undefined, number: number): boolean {
    if (!candidates?.decided) return candidates === null;
    const { truths, tracks } = candidates;
    const edge = truths.length === tracks.length ? truths[0].trajectory.edgeWith(tracks[0].trajectory) : null;
    return !!edge && edge.size > 0 && isForegone(edge, number, Number.POSITIVE_INFINITY, this.frameOf, this.h);
  }

  /** A pair that was alone in all of its frames, and always assigned, gets company: works those before `end`. */
  takeUp(edge: Edge, end: number): void {
    const truth = participantOf(edge.truth);
    const track = participantOf(edge.track);
    if (truth.changed || track.changed || !isForegone(edge, edge.frameAt(0), end, this.frameOf, this.h)) {
      this.changed.mark(truth, null);
      this.changed.mark(track, null);
      return;
    }
    const held = heldBy(edge);
    for (let n = 0; n < edge.size && edge.frameAt(n) < end; n++) {
      const frame = this.frameOf(edge.frameAt(n));
      this.settle(frame, this.workOn(frame), edge.pairAt(n), held, held, n === 0 ? BEGINS : CALM);
    }
    truth.candidates = track.candidates = held;
  }

  /**
   * Works frames again, from number `first` to before `end`, for trajectories that begin anew, until everything comes
   * out as it was. After each of them the caller may release edges.
   */
  rework(first: number, end: number, worked: () => void): void {
    const { changed } = this;
    for (let number = changed.nextFrame(first - 1); number < end; number = changed.nextFrame(number)) {
      this.reworkFrame(this.frameOf(number));
      worked();
    }
    // what has changed up to the newest frame holds from now on
    changed.forEachOut((participant) => {
      const { candidates, changedTo } = participant;
      if (candidates && candidates !== changedTo) this.open.delete(candidates);
      participant.candidates = changedTo;
    });
  }

  /** A trajectory has left the window; those it was tied to begin anew. */
  forget(trajectory: Trajectory): void {
    const participant = participantOf(trajectory);
    if (participant.candidates) this.open.delete(participant.candidates);
  }

  /** An edge has left the window; its ends may still be held, and may get another one. */
  forgetEdge({ annex }: Edge): void {
    if (annex !== null) (annex as Candidates).ofEdge = false;
  }

  /** An edge is solved otherwise from now on: takes back what was decided about its pairs, and forgets its ends. */
  release(edge: Edge): void {
    for (const trajectory of [edge.truth, edge.track]) {
      const participant = participantOf(trajectory);
      if (participant.candidates) this.open.delete(participant.candidates);
      participant.candidates = null;
      this.changed.unmark(participant);
    }
    for (let n = 0; n < edge.size; n++) {
      const work = this.frameOf(edge.frameAt(n)).annex as FrameWork | null;
      if (work === null) continue;
      const decision = work.decision(edge.pairAt(n));
      if (decision) this.discard(decision, work);
      work.decide(edge.pairAt(n), null);
    }
  }

  /** Everybody whom decisions on the pairs of some edges concern. */
  tiedTo(edges: readonly Edge[]): Set<Trajectory> {
    const decisions = new Set<Decision>();
    for (const edge of edges)
      for (let n = 0; n < edge.size; n++) {
        const work = this.frameOf(edge.frameAt(n)).annex as FrameWork | null;
        const decision = work?.decision(edge.pairAt(n));
        if (decision) decisions.add(decision);
      }
    const tied = new Set<Trajectory>();
    for (const { truths, tracks } of decisions)
      for (const { trajectory } of [...truths, ...tracks]) tied.add(trajectory);
    return tied;
  }

  private reworkFrame(frame: FrameRecord): void {
    if (frame.pairCount > this.found.length) this.found = new Int32Array(2 * frame.pairCount);
    const count = this.changed.pairsIn(frame, this.found);
    if (count === 0 && frame.annex === null) return;
    const work = this.workOn(frame);
    reach.begin(frame, this.isForeign);
    for (let n = 0; n < count; n++) reach.addPair(frame, this.found[n]);
    // those who have no pair of their own in this frame; the others are found by their pairs
    for (const decision of work.hidden)
      if (!reach.knows(decision.pairs[0]) && isChanged(decision)) reach.addDecision(decision);
    if (reach.pairCount + reach.decisionCount > 0) this.reworkKnots(frame, work);
    reach.end();
  }

  /** Works again what a change reaches. */
  private reworkKnots(frame: FrameRecord, work: FrameWork): void {
    const { participants } = comparison;
    reach.spread(frame, work);
    const { pairs, pairCount, decisions, decisionCount } = reach;
    comparison.begin();
    comparison.notePairs(frame, work, pairs, pairCount, false);
    for (let n = 0; n < decisionCount; n++) comparison.noteDecision(decisions[n]!);
    comparison.notePairs(frame, work, pairs, pairCount, true);
    for (let n = 0; n < decisionCount; n++) this.discard(decisions[n]!, work);
    // whoever took part before and does not now goes on as it came in
    for (let n = 0; n < participants.size; n++) comparison.comeIn(participants.at(n));
    for (let n = 0; n < pairCount; n++) {
      comparison.comeIn(truthOf(frame, pairs[n]));
      comparison.comeIn(trackOf(frame, pairs[n]));
    }
    this.advance(frame, work, this.found, this.foresee(frame, work, pairs, pairCount));
    for (let d = 0; d < this.made.size; d++) {
      const { fresh, outcomes } = this.made.at(d);
      for (let n = 0; n < fresh.length; n++) comparison.noteMade(fresh[n], null);
      for (let p = 0; p < outcomes.length; p++) {
        const outcome = outcomes[p];
        for (let n = 0; n < outcome.truths.length; n++) comparison.noteMade(outcome.truths[n], outcome);
        for (let n = 0; n < outcome.tracks.length; n++) comparison.noteMade(outcome.tracks[n], outcome);
      }
    }
    this.made.clear();
    for (let n = 0; n < participants.size; n++) this.compareParticipant(participants.at(n));
    comparison.end();
    for (let n = 0; n < pairCount; n++) truthOf(frame, pairs[n]).now = trackOf(frame, pairs[n]).now = null;
  }

  /**
   * Settles the pairs that will be held for certain, whose ends come in fresh or held by each other, and what these
   * have besides; the others are the first of `found`. Returns how many those are. Nobody is settled beside one who is
   * undecided: undecided candidates may be taken for others that say the same, and a frame that has made no decision of
   * them would not hear of it.
   */
  private foresee(frame: FrameRecord, work: FrameWork, pairs: Int32Array, pairCount: number): number {
    const { found } = this;
    const { stamp } = comparison;
    for (let n = 0; n < pairCount; n++) {
      const truth = truthOf(frame, pairs[n]);
      const track = trackOf(frame, pairs[n]);
      if (isUndecided(truth) || isUndecided(track)) truth.besideStamp = track.besideStamp = stamp;
    }
    for (let n = 0; n < pairCount; n++) {
      const pair = pairs[n];
      const ends = frame.edgeAt(pair);
      const truth = participantOf(ends.truth);
      const track = participantOf(ends.track);
      const held = heldBy(frame.edgeAt(pair));
      const { now } = truth;
      if (now !== track.now || (now !== null && now !== held)) continue;
      if (truth.besideStamp === stamp || track.besideStamp === stamp || !this.isForegone(frame, pair)) continue;
      this.settle(frame, work, pair, held, held, now === null ? BEGINS : CALM);
      comparison.noteMade(truth, held);
      comparison.noteMade(track, held);
      truth.foreseenStamp = track.foreseenStamp = stamp;
    }
    let count = 0;
    for (let n = 0; n < pairCount; n++) {
      const pair = pairs[n];
      if (work.calm(pair) === BEGINS) continue;
      const ends = frame.edgeAt(pair);
      const truth = participantOf(ends.truth);
      const track = participantOf(ends.track);
      if (truth.foreseenStamp !== stamp && track.foreseenStamp !== stamp) found[count++] = pair;
      else this.settle(frame, work, pair, truth.now, track.now, CALM);
    }
    return count;
  }

  /** Ends the rework for what came out as it was, and carries on with what did not. */
  private compareParticipant(participant: Participant): void {
    const { stamp } = comparison;
    const { now, after: old } = participant;
    if (now === null) {
      if (old === null) this.changed.unmark(participant);
      else this.changed.mark(participant, null);
      return;
    }
    if (now.reworkStamp === stamp) return;
    now.reworkStamp = stamp;
    const same = old && sameCandidates(old, now) ? old : null;
    if (same && same !== now) this.adopt(same, now);
    this.carry(now.truths, now, same !== null);
    this.carry(now.tracks, now, same !== null);
    const present = same ?? now;
    if (present.taker === null && !present.decided) this.open.add(present);
  }

  private carry(participants: readonly Participant[], candidates: Candidates, same: boolean): void {
    for (let n = 0; n < participants.length; n++) {
      if (same) this.changed.unmark(participants[n]);
      else this.changed.mark(participants[n], candidates);
    }
  }

  /** The old candidates came out again: later frames hold on to them, and they now stem from the new decision. */
  private adopt(old: Candidates, fresh: Candidates): void {
    this.open.delete(fresh);
    const decision = fresh.decision!;
    old.decision = decision;
    const { taker } = old;
    if (taker && taker.choice >= 0) this.choose(decision, originOf(taker, taker.choice, old.takenAs));
    decision.outcomes[decision.outcomes.indexOf(fresh)] = old;
  }

  private discard(decision: Decision, work: FrameWork): void {
    const { frame } = decision;
    for (const outcome of decision.outcomes) this.open.delete(outcome);
    for (const input of decision.inputs) if (input.taker === decision) input.taker = null;
    if (decision.choice >= 0) frame.halves -= halvesOf(decision, decision.choice);
    for (const pair of decision.pairs) work.decide(pair, null);
    const at = work.hidden.indexOf(decision);
    if (at >= 0) work.hidden.splice(at, 1);
  }

  /** Works some pairs of a frame, whose ends come in with `now`; the decisions are in `made`. */
  private advance(frame: FrameRecord, work: FrameWork, pairs: Int32Array, count: number): void {
    const knotCount = tieUp(frame, pairs, count);
    for (let knot = 0; knot < knotCount; knot++) {
      const first = knotStart[knot];
      const end = knotStart[knot + 1];
      if (end - first > PAIRS_MAX) {
        for (let at = first; at < end; at++) this.overflow.push(frame.truthAt(tied[at]));
      } else if (isCalm(frame, knot)) {
        for (let at = first; at < end; at++)
          this.settle(frame, work, tied[at], truthOf(frame, tied[at]).now, trackOf(frame, tied[at]).now, CALM);
      } else this.made.add(this.work(frame, work, pairsOf(knot)));
    }
  }

  /** Nothing is to be decided about a pair: held, it earns. */
  private settle(
    frame: FrameRecord,
    work: FrameWork,
    pair: number,
    truthLeaves: Candidates | null,
    trackLeaves: Candidates | null,
    calm: Calm,
  ): void {
    work.settle(pair, truthLeaves, trackLeaves, calm);
    const on = truthLeaves !== null && truthLeaves === trackLeaves ? 1 : 0;
    if (frame.on(pair) === on) return;
    this.touch(frame);
    frame.assign(pair, on);
  }

  /** One knot: joins its inputs, lets every state move, drops what cannot win, and takes the rest apart. */
  private work(frame: FrameRecord, work: FrameWork, pairs: readonly number[]): Decision {
    const { truths, tracks, inputs, endCount, stamp } = gather(frame, pairs);
    knot.under(this.h, this.statesMax, this.budget!, this.prospects).begin(frame, pairs, inputs, truths, tracks);
    knot.work();
    this.charge(truths, knot.moves);
    if (knot.overflow) for (const { trajectory } of truths) this.overflow.push(trajectory);
    const decision: Decision = {
      frame,
      pairs,
      inputs,
      truths,
      tracks,
      ways: knot.ways(),
      fresh: NOBODY,
      outcomes: NO_OUTCOMES,
      choice: -1,
      reachStamp: 0,
    };
    for (let n = 0; n < pairs.length; n++) work.decide(pairs[n], decision);
    // to be found when it is to be worked again
    if (truths.length + tracks.length > endCount) {
      hide(truths, stamp, frame.number);
      hide(tracks, stamp, frame.number);
      work.hide(decision);
    }
    for (let n = 0; n < inputs.length; n++) {
      const input = inputs[n];
      this.open.delete(input);
      if (input.decided) continue;
      input.taker = decision;
      input.takenAs = n;
    }
    takeApart(decision, knot);
    knot.end();
    let decided = true;
    for (const outcome of decision.outcomes) {
      if (outcome.decided) continue;
      this.open.add(outcome);
      decided = false;
    }
    if (decided) this.choose(decision, 0);
    return decision;
  }

  /** Makes a state the decision's choice, and what it follows from the choice of the decisions before. */
  private choose(decision: Decision, state: number): void {
    if (decision.choice === state) return;
    const { chosen, chosenStates } = this;
    chosen.add(decision);
    chosenStates.add(state);
    for (let at = 0; at < chosen.size; at++) {
      const d = chosen.at(at);
      const s = chosenStates.at(at);
      if (d.choice === s) continue;
      const { frame, pairs, inputs, ways } = d;
      frame.halves += halvesOf(d, s) - (d.choice >= 0 ? halvesOf(d, d.choice) : 0);
      d.choice = s;
      const onAt = s * (1 + inputs.length + pairs.length) + 1 + inputs.length;
      for (let n = 0; n < pairs.length; n++) {
        const on = ways[onAt + n];
        if (frame.on(pairs[n]) === on) continue;
        this.touch(frame);
        frame.assign(pairs[n], on);
      }
      for (let n = 0; n < inputs.length; n++) {
        const input = inputs[n];
        if (!input.decision) continue;
        chosen.add(input.decision);
        chosenStates.add(originOf(d, s, n));
      }
    }
    chosen.clear();
    chosenStates.clear();
  }
}

const isUndecided = ({ now }: Participant) => now !== null && !now.decided;

/** Notes who has no pair in a frame. */
function hide(participants: readonly Participant[], endStamp: number, number: number): void {
  for (let n = 0; n < participants.length; n++) {
    const participant = participants[n];
    if (participant.endStamp !== endStamp && participant.hiddenUntil < number) participant.hiddenUntil = number;
  }
}
