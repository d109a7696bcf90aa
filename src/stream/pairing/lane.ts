/**
 * The reference and one tracker, joined into steps on one axis: frame numbers or times. Steps close in the order of the
 * axis; when, is said in pairing.ts. One of the feeds may be sampled: its parts are then no steps of their own but
 * speak for the places between them, held or interpolated, up to a greatest age.
 *
 * Numbers that jump: numbering.ts.
 */
import type { PairingSettings } from '../../config/config.js';
import type { Irregularity } from '../../wire/events.js';
import type { Role } from '../../wire/feed.js';
import { type FeedPart, NO_OBJECTS, type PackedList } from '../../wire/objects.js';
import { type Arrived, firstAt, heldAt, insert, linearAt, type Placed } from '../../wiring/resampling.js';
import {
  ENDED,
  gap,
  irregularity,
  MISSED,
  type RefusalReason,
  refusal,
  restart,
  SUSPENDED,
  setAside,
  UNNUMBERED,
} from './irregularity.js';
import {
  closeUpTo,
  hasPassed,
  hasReached,
  type LaneSide,
  type LaneState,
  LOWEST,
  newLane,
  resetPlaces,
  type Suspect,
} from './lane-state.js';
import { agreesWithDoubted, isDoubtful, placeOf, refutesDoubted } from './numbering.js';
import { awaitFeed, returnFeed, reviewResuming, shiftResuming } from './resuming.js';
import type { Outcome, Step } from './step.js';

/** places remembered to tell a duplicate from a late part, besides latenessFrames */
const RECENT_MAX = 128;
const DROPPED_TOGETHER = 32;
const NOTHING: readonly Outcome[] = [];
const ROLES = ['reference', 'tracker'] as const;
/** share of bufferFrames that may wait for a feed that is coming back, before acks wait too */
const AHEAD_SHARE = 0.5;

/** The reference and one tracker. */
export class Lane {
  #out: Outcome[] = [];
  /** when what is being closed was decided */
  #closingMs = 0;

  constructor(
    readonly tracker: string,
    readonly settings: PairingSettings,
    readonly geodetic: boolean,
    readonly state: LaneState = newLane(),
  ) {
    if (settings.by !== 'auto') state.by ??= settings.by;
    this.#arrange();
  }

  /** Whether the tracker publishes only now and then, and is held in between. */
  get #held(): boolean {
    const { heldTrackers } = this.settings;
    return heldTrackers.includes(this.tracker) || heldTrackers.includes('*');
  }

  /** Puts what waits where it belongs, when the settings have changed under it. */
  #arrange(): void {
    const { state } = this;
    const before = state.sampled;
    const now = this.#held ? 'tracker' : this.settings.reference === 'exact' ? null : 'reference';
    state.sampled = now;
    if (before === now) return;
    if (before)
      for (const placed of state.history)
        if (placed.x > state[before].closedUpTo) insert(state[before].pending, placed);
    state.history = now ? state[now].pending.splice(0) : [];
  }

  /** How long a part is held, in units of the axis. */
  get #ageMax(): number {
    return this.state.by === 'time' ? this.settings.holdMaxMs : this.settings.holdMaxFrames;
  }

  /** Whether the last part of a held tracker still speaks for the newest reference part. */
  get holding(): boolean {
    const { sampled, history, reference } = this.state;
    return sampled === 'tracker' && heldAt(history, reference.high, this.#ageMax) !== undefined;
  }

  push(role: Role, arrived: Arrived): readonly Outcome[] {
    const { state } = this;
    const { part, sinceMs } = arrived;
    if (state.finished) return [];
    this.#closingMs = arrived.receivedMs;
    returnFeed(state, role, sinceMs);
    if (state[role].ended) this.#report('late', role, part, 1, ENDED);
    else if (state.by === null) {
      state.undecided.push({ role, ...arrived });
      this.#chooseAxis(false);
    } else {
      if (state.by === 'frame' && part.k === undefined && this.settings.by === 'auto' && !state[role].delivered)
        this.#pairByTime();
      this.#admit(role, arrived);
    }
    this.#review(sinceMs);
    return this.#outcomes();
  }

  /** Closes what is due at this time. */
  advance(nowMs: number): readonly Outcome[] {
    const { state } = this;
    this.#closingMs = nowMs;
    this.#review(nowMs);
    for (const role of ROLES) if (this.#suspectDeadline(role) <= nowMs) this.#believe(role, nowMs);
    if (state.by === null && this.#undecidedDeadline() <= nowMs) this.#chooseAxis(true);
    this.#drain(nowMs);
    return this.#outcomes();
  }

  /** The feed is away, for reasons that may not be its own: the lane waits until it is back. */
  await(role: Role, nowMs: number): void {
    awaitFeed(this.state, role, nowMs, this.settings);
  }

  /** Whether so much of this feed waits for one that is coming back that it must not send more. */
  isAhead(role: Role): boolean {
    const { resuming, undecided, sampled, history } = this.state;
    if (!resuming) return false;
    const placed = sampled === role ? history.length : this.state[role].pending.length;
    return Math.max(placed, undecided.length) >= this.settings.bufferFrames * AHEAD_SHARE;
  }

  #review(nowMs: number): void {
    if (this.state.resuming) reviewResuming(this.state, this.#waiting(), nowMs, this.settings);
  }

  /** When something that is due since this time is due at last. */
  #dueMs(sinceMs: number): number {
    const { resuming, countsFromMs } = this.state;
    return resuming ? Number.POSITIVE_INFINITY : Math.max(sinceMs, countsFromMs) + this.settings.latenessMs;
  }

  #suspectDeadline(role: Role): number {
    const { suspect } = this.state[role];
    return suspect ? suspect.sinceMs + this.settings.latenessMs : Number.POSITIVE_INFINITY;
  }

  end(role: Role, nowMs: number): readonly Outcome[] {
    const { state } = this;
    this.#closingMs = nowMs;
    returnFeed(state, role, nowMs);
    if (state[role].suspect) this.#believe(role, nowMs);
    state[role].ended = true;
    if (role === 'tracker') state.endedMs = nowMs;
    if (state.by === null && state.reference.ended && state.tracker.ended) this.#chooseAxis(true);
    this.#drain();
    return this.#outcomes();
  }

  reopenReference(): void {
    const { reference } = this.state;
    if (!reference.ended) return;
    reference.ended = false;
    reference.reopened = true;
  }

  /** When `advance` has something to do at the latest. */
  deadline(): number {
    const { state } = this;
    if (state.finished) return Number.POSITIVE_INFINITY;
    const suspects = Math.min(this.#suspectDeadline('reference'), this.#suspectDeadline('tracker'));
    if (state.resuming) return Math.min(state.resuming.checkMs, suspects);
    const placed = this.#waiting();
    const earliest = Math.min(suspects, placed ? this.#dueMs(placed.sinceMs) : this.#undecidedDeadline());
    return this.#delivered ? Math.min(earliest, this.#dueMs(state.endedMs)) : earliest;
  }

  /** Whether the tracker has ended and all its parts have been judged or dropped. */
  get #delivered(): boolean {
    const { tracker, undecided } = this.state;
    return tracker.ended && tracker.pending.length === 0 && !undecided.some((u) => u.role === 'tracker');
  }

  /** The clock has moved, for nobody's fault. */
  shift(deltaMs: number): void {
    const { state } = this;
    const { reference, tracker, history, undecided } = state;
    const suspects = [reference, tracker].flatMap(({ suspect }) => suspect ?? []);
    const placed = new Set([...reference.pending, ...tracker.pending, ...history, ...undecided, ...suspects]);
    for (const item of placed) item.sinceMs += deltaMs;
    state.endedMs += deltaMs;
    shiftResuming(state, deltaMs);
  }

  #outcomes(): readonly Outcome[] {
    const out = this.#out;
    if (out.length === 0) return NOTHING;
    this.#out = [];
    return out;
  }

  #undecidedDeadline(): number {
    const first = this.state.undecided[0];
    return first ? this.#dueMs(first.sinceMs) : Number.POSITIVE_INFINITY;
  }

  /** Chooses what to pair by, once both feeds have been heard or, with `now`, from what is there. */
  #chooseAxis(now: boolean): void {
    const { state } = this;
    const { undecided } = state;
    const first = (role: Role) => undecided.find((u) => u.role === role)?.part;
    const reference = first('reference');
    const tracker = first('tracker');
    const full = undecided.length > this.settings.bufferFrames;
    if (!now && !full && !(reference && tracker)) return;
    state.by = [reference, tracker].every((part) => part === undefined || part.k !== undefined) ? 'frame' : 'time';
    state.undecided = [];
    for (const { role, ...arrived } of undecided) this.#admit(role, arrived);
  }

  /** A feed has no frame numbers after all: what waits is placed again by time. */
  #pairByTime(): void {
    const { state } = this;
    const { reference, tracker, sampled, history } = state;
    resetPlaces(state);
    state.by = 'time';
    const waiting = (role: Role) =>
      sampled === role ? history : role === 'reference' ? reference.pending : tracker.pending;
    for (const placed of waiting('reference')) this.#admit('reference', placed);
    for (const placed of waiting('tracker')) this.#admit('tracker', placed);
    for (const [role, { suspect }] of [['reference', reference] as const, ['tracker', tracker] as const])
      if (suspect) this.#admit(role, suspect);
  }

  get #tolerance(): number {
    return this.state.by === 'time' ? this.settings.toleranceMs : 0;
  }

  #admit(role: Role, { part, receivedMs, sinceMs, optional }: Arrived): void {
    const { state } = this;
    const raw = state.by === 'time' ? (part.t === undefined ? receivedMs : part.t * 1000) : part.k;
    if (raw === undefined) {
      this.#report('late', role, part, 1, UNNUMBERED);
      return;
    }
    const one: Suspect = { raw, part, receivedMs, sinceMs };
    if (optional) one.optional = true;
    if (!this.#doubt(role, one)) this.#enter(role, one);
  }

  get #jump(): number {
    return this.state.by === 'time' ? this.settings.restartMs : this.settings.restartFrames;
  }

  /** Sets a part apart whose number jumps, and decides about the one that was set apart before it. */
  #doubt(role: Role, one: Suspect): boolean {
    const { state } = this;
    const jump = this.#jump;
    const { suspect } = state[role];
    if (suspect) {
      if (refutesDoubted(state[role], one.raw, jump)) this.#setAside(role);
      else this.#believe(role, suspect.sinceMs);
    }
    if (!isDoubtful(state, role, one.raw, jump, this.#tolerance)) return false;
    if (agreesWithDoubted(state, role, one.raw, jump)) {
      const other = role === 'reference' ? 'tracker' : 'reference';
      this.#believe(other, state[other].suspect!.sinceMs);
      return false;
    }
    state[role].suspect = one;
    return true;
  }

  /** The doubted number of a feed is right after all; others may wait from now on. */
  #believe(role: Role, nowMs: number): void {
    const { suspect } = this.state[role];
    this.state[role].suspect = null;
    this.#enter(role, { ...suspect!, sinceMs: nowMs });
  }

  #setAside(role: Role): void {
    const { raw, suspect } = this.state[role];
    this.state[role].suspect = null;
    this.#report('gap', role, suspect!.part, 1, setAside(this.state.by!, raw));
  }

  /** A part comes to its place. */
  #enter(role: Role, { raw, part, receivedMs, sinceMs, optional }: Suspect): void {
    const { state } = this;
    const first = role === 'tracker' && !state.tracker.delivered;
    const x = this.#place(role, raw);
    const side = state[role];
    const fault = this.#refuse(role, x);
    // a held tracker speaks again when something has changed, also about the same moment
    const update = fault === 'duplicate' && role === 'tracker' && state.sampled === 'tracker';
    if (fault !== 'duplicate') this.#deliver(role, x, part);
    if (fault && !update)
      this.#report(fault === 'awaited' ? 'late' : fault, role, part, 1, refusal(fault, this.settings));
    const placed: Placed = { x, part, receivedMs, sinceMs, epoch: side.epoch };
    if (optional) placed.optional = true;
    // a late part is too late for its own step, but it is the best there is to hold from now on
    if (role === state.sampled && (fault !== 'duplicate' || update)) this.#keep(placed);
    else if (fault === null) insert(side.pending, placed);
    if (first) this.#skipOptional(x);
    this.#drain();
  }

  /** Keeps a part to be held; beyond bufferFrames the oldest goes, and with it the steps that would have needed it. */
  #keep(placed: Placed): void {
    const { history, reference, sampled } = this.state;
    insert(history, placed);
    if (history.length <= this.#bufferMax) return;
    const gone = history.shift()!;
    if (sampled === 'reference') return;
    if (gone.x > reference.closedUpTo) this.#report('missing', 'reference', gone.part, 1, SUSPENDED);
    closeUpTo(reference, history[0].x - (this.#tolerance || 1));
  }

  /** Reference parts from before the tracker was known, and before what it begins with, are not its business. */
  #skipOptional(x: number): void {
    const { reference, history, sampled } = this.state;
    reference.pending = reference.pending.filter((r) => !r.optional || r.x >= x - this.#tolerance);
    if (sampled === 'reference') for (const r of history) if (r.x >= x - this.#tolerance) delete r.optional;
  }

  #refuse(role: Role, x: number): RefusalReason | null {
    const { state } = this;
    const side = state[role];
    if (x <= side.high && side.recent.includes(x)) return 'duplicate';
    if (x <= side.closedUpTo) return 'late';
    // the tracker delivered this step, but the reference let it wait too long
    if (role === 'reference' && x <= (state.givenUpTo[side.epoch] ?? LOWEST) + this.#tolerance) return 'awaited';
    return null;
  }

  /** A place was delivered: moves the horizon and finds gaps in frame numbers. */
  #deliver(role: Role, x: number, part: FeedPart): void {
    const { state, settings } = this;
    const side = state[role];
    side.delivered = true;
    side.high = Math.max(side.high, x);
    const { recent, ahead } = side;
    recent.push(x);
    // some more are let in before they are dropped together
    if (recent.length > RECENT_MAX + settings.latenessFrames + DROPPED_TOGETHER) recent.splice(0, DROPPED_TOGETHER);
    if (x <= side.horizon) return;
    // nearly always the next number, and nothing waits for it
    if (ahead.length === 0 && this.#follows(side, x)) {
      side.horizon = x;
      return;
    }
    insertNumber(ahead, x);
    while (ahead.length > settings.latenessFrames || (ahead.length > 0 && this.#follows(side, ahead[0]))) {
      const place = ahead.shift()!;
      const skipped = this.#skipped(role, side.horizon, place);
      if (skipped > 0) this.#report('gap', role, part, skipped, gap(state.by!, skipped, settings));
      side.horizon = place;
    }
  }

  #follows(side: LaneSide, x: number): boolean {
    return this.state.by === 'frame' && x === side.horizon + 1;
  }

  #skipped(role: Role, from: number, to: number): number {
    if (from === LOWEST) return 0;
    // what is held may be sparse
    if (role === this.state.sampled && to - from <= this.#ageMax) return 0;
    if (this.state.by === 'frame') return to - from - 1;
    return to - from > this.settings.silenceMs ? 1 : 0;
  }

  #place(role: Role, raw: number): number {
    const { state } = this;
    return placeOf(state, role, raw, this.#jump, (before) =>
      this.#report('gap', role, state.by === 'frame' ? { k: raw } : {}, 0, restart(state.by!, before, raw)),
    );
  }

  #report(
    type: Irregularity['type'],
    role: Role,
    part: Pick<FeedPart, 'k' | 't'>,
    count: number,
    message: string,
  ): void {
    this.#out.push(irregularity(type, role, this.tracker, part, count, message));
  }

  /** The part whose time the next step waits for. */
  #waiting(): Placed | undefined {
    const r = this.state.reference.pending[0] ?? this.#unanswered();
    const y = this.state.tracker.pending[0];
    if (!r || !y) return r ?? y;
    // what is sampled is asked about when the other one's part is due
    if (this.state.sampled === 'reference') return y.x <= r.x ? y : r;
    if (Math.abs(r.x - y.x) <= this.#tolerance) return r.sinceMs < y.sinceMs ? r : y;
    return y.x < r.x ? y : r;
  }

  /** Closes what can be closed; by time only what is due at a time that is given. */
  #drain(nowMs = LOWEST): void {
    const { state } = this;
    if (state.by !== null) while (this.#close(nowMs));
    if (this.#delivered && !state.finished) this.#finish(nowMs);
  }

  #finish(nowMs: number): void {
    const { state } = this;
    const { reference, tracker } = state;
    const timeIsUp = nowMs >= this.#dueMs(state.endedMs);
    if (!reference.ended && reference.horizon < tracker.high && !timeIsUp) return;
    state.finished = true;
    state.resuming = null;
    state.undecided = [];
    state.history = [];
    reference.pending = [];
    this.#out.push({ type: 'finished', tracker: this.tracker });
  }

  /** Whether a waiting part has waited long enough. */
  #due(placed: Placed, nowMs: number): boolean {
    const { reference, tracker } = this.state;
    return (
      nowMs >= this.#dueMs(placed.sinceMs) ||
      (reference.ended && tracker.ended) ||
      reference.pending.length + tracker.pending.length > this.#bufferMax
    );
  }

  /** Parts that may wait; more while acks hold back whoever is ahead of a feed that is coming back. */
  get #bufferMax(): number {
    return this.settings.bufferFrames * (this.state.resuming ? 2 : 1);
  }

  /** Closes the next step when it is time; false when it is not. */
  #close(nowMs: number): boolean {
    const { sampled } = this.state;
    if (sampled === 'reference') return this.#closeResampled(nowMs);
    return sampled === 'tracker' ? this.#closeHeld(nowMs) : this.#closeExact(nowMs);
  }

  #closeExact(nowMs: number): boolean {
    const { reference, tracker } = this.state;
    const r = reference.pending[0];
    const y = tracker.pending[0];
    if (r && y && Math.abs(r.x - y.x) <= this.#tolerance) {
      const complete = hasReached(reference, r.x) && hasReached(tracker, y.x);
      if (!complete && !this.#due(this.#waiting()!, nowMs)) return false;
      this.#closePair(r, y);
    } else if (r && !(y && y.x < r.x)) {
      if (!(hasReached(reference, r.x) && hasPassed(tracker, r.x + this.#tolerance)) && !this.#due(r, nowMs))
        return false;
      this.#closeWithoutTracker(r);
    } else if (y) {
      if (!(hasReached(tracker, y.x) && hasPassed(reference, y.x + this.#tolerance)) && !this.#due(y, nowMs))
        return false;
      this.#dropTracks(y);
    } else return false;
    return true;
  }

  #closePair(r: Placed, y: Placed): void {
    const { reference, tracker } = this.state;
    reference.pending.shift();
    tracker.pending.shift();
    closeUpTo(reference, r.x);
    closeUpTo(tracker, y.x);
    this.#step(r.part.objects, y.part.objects, r, y);
  }

  /** A reference part that the tracker did not answer: everything in it is missed. */
  #closeWithoutTracker(r: Placed): void {
    const { reference, tracker } = this.state;
    reference.pending.shift();
    closeUpTo(reference, r.x);
    closeUpTo(tracker, r.x + this.#tolerance);
    if (this.#concerns(r)) this.#judgeMissing(r);
  }

  /** Whether a reference part is the tracker's business: not before it was known, nor after its end. */
  #concerns(r: Placed): boolean {
    const { tracker } = this.state;
    if (r.optional && !tracker.delivered) return false;
    return !tracker.ended || tracker.reopened || r.x <= tracker.high + this.#tolerance;
  }

  #judgeMissing(r: Placed): void {
    this.#report('missing', 'tracker', r.part, 1, MISSED);
    this.#step(r.part.objects, NO_OBJECTS, r);
  }

  /** A tracker part without a reference: nothing can be said about it. */
  #dropTracks(y: Placed): void {
    const { tracker, givenUpTo } = this.state;
    const { epoch = tracker.epoch } = y;
    tracker.pending.shift();
    // beyond the tracker's last number stands only what a wrong one left behind
    if (y.x <= tracker.high) givenUpTo[epoch] = Math.max(givenUpTo[epoch] ?? LOWEST, y.x);
    this.#report('missing', 'reference', y.part, 1, SUSPENDED);
  }

  /** The tracker is held: every reference part is a step, judged with the tracks it last spoke of. */
  #closeHeld(nowMs: number): boolean {
    const { reference, tracker, history } = this.state;
    const r = reference.pending[0];
    if (!r) return false;
    const near = firstAt(history, r.x, this.#tolerance);
    const known = hasPassed(tracker, r.x + this.#tolerance) || (near !== undefined && hasReached(tracker, near.x));
    if (!(known && hasReached(reference, r.x)) && !this.#due(r, nowMs)) return false;
    const held = heldAt(history, r.x + this.#tolerance, this.#ageMax + this.#tolerance);
    reference.pending.shift();
    this.#pass(r.x);
    if (!this.#concerns(r)) return true;
    if (held) this.#step(r.part.objects, held.part.objects, r, near);
    else this.#judgeMissing(r);
    return true;
  }

  /** The reference is held or interpolated: every tracker part is a step; so is what the tracker left unanswered. */
  #closeResampled(nowMs: number): boolean {
    const { reference, tracker } = this.state;
    const y = tracker.pending[0];
    const r = this.#unanswered();
    if (r && !(y && y.x <= r.x)) return this.#closeUnanswered(r, nowMs);
    if (!y) return false;
    const near = firstAt(this.state.history, y.x, this.#tolerance);
    const known = near ? hasReached(reference, near.x) : hasPassed(reference, y.x + this.#tolerance);
    if (!(known && hasReached(tracker, y.x)) && !this.#due(y, nowMs)) return false;
    const objects = near ? near.part.objects : this.#resample(y.x);
    if (objects) {
      tracker.pending.shift();
      this.#step(objects, y.part.objects, y, near);
    } else this.#dropTracks(y);
    this.#pass(y.x);
    return true;
  }

  /** Closes up to a place; one part of the sampled feed at or before it is kept to be held. */
  #pass(x: number): void {
    const { reference, tracker, history, sampled } = this.state;
    const [clock, other] = sampled === 'tracker' ? [reference, tracker] : [tracker, reference];
    closeUpTo(clock, x);
    closeUpTo(other, x - this.#tolerance);
    let kept = history.length - 1;
    while (kept > 0 && history[kept].x > clock.closedUpTo) kept--;
    history.splice(0, Math.max(kept, history.length - this.#bufferMax));
  }

  /** The reference at this place: held, or between its neighbours; null when the last one is too old. */
  #resample(x: number): PackedList | null {
    const { history } = this.state;
    return this.settings.reference === 'hold'
      ? (heldAt(history, x, this.#ageMax)?.part.objects ?? null)
      : linearAt(history, x, this.#ageMax, this.geodetic);
  }

  /** The oldest reference part that a tracker has not answered: by time, one that is silent; by frame, any. */
  #unanswered(): Placed | undefined {
    const { tracker, history, silent, by, sampled } = this.state;
    if (sampled !== 'reference') return undefined;
    if (by === 'time' && (!silent || tracker.ended || tracker.pending.length > 0)) return undefined;
    return history.find((r) => r.x > tracker.closedUpTo && !r.optional && this.#concerns(r));
  }

  #closeUnanswered(r: Placed, nowMs: number): boolean {
    const { reference, tracker, by } = this.state;
    const gone = by === 'frame' && hasReached(reference, r.x) && hasPassed(tracker, r.x);
    if (!gone && !(by === 'frame' ? this.#due(r, nowMs) : nowMs >= this.#dueMs(r.sinceMs))) return false;
    this.#judgeMissing(r);
    this.#pass(r.x);
    return true;
  }

  #step(reference: PackedList, tracks: PackedList, one: Placed, other?: Placed): void {
    const k = one.part.k ?? other?.part.k ?? this.state.steps + 1;
    const t = one.part.t ?? other?.part.t;
    const receivedMs = other ? Math.max(one.receivedMs, other.receivedMs) : this.#closingMs;
    this.state.steps++;
    const step: Step = { type: 'step', tracker: this.tracker, k, reference, tracks, receivedMs };
    if (t !== undefined) step.t = t;
    const ignore = one.part.ignore ?? other?.part.ignore;
    if (ignore) step.ignore = ignore;
    this.#out.push(step);
  }
}

function insertNumber(list: number[], value: number): void {
  let at = list.length;
  while (at > 0 && list[at - 1] > value) at--;
  if (at === list.length) list.push(value);
  else list.splice(at, 0, value);
}
