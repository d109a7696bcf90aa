/**
 * The reference and one tracker, joined into steps on one axis: frame numbers or times. Steps close in the order of the
 * axis; when, is said in pairing.ts. One of the feeds may be sampled: its parts are then no steps of their own but
 * speak for the places between them, held or interpolated, up to a greatest age.
 *
 * Numbers that jump: numbering.ts.
 */
import type { PairingSettings } from '../config/config.js';
import type { Irregularity } from '../wire/events.js';
import type { Role } from '../wire/feed.js';
import { type FeedPart, NO_OBJECTS, type PackedList } from '../wire/objects.js';
import { ENDED, gap, irregularity, MISSED, refusal, restart, SUSPENDED, UNNUMBERED } from './irregularity.js';
import {
  closeUpTo,
  hasPassed,
  hasReached,
  type LaneState,
  LOWEST,
  newLane,
  resetPlaces,
  type Side,
} from './lane-state.js';
import { placeOf } from './numbering.js';
import { heldAt, insert, linearAt, nearest, type Placed } from './resampling.js';
import type { Outcome, Step } from './step.js';

/** places remembered to tell a duplicate from a late part, besides latenessFrames */
const RECENT_MAX = 128;
const NOTHING: readonly Outcome[] = [];
/** The reference and one tracker. */
export class Lane {
  #out: Outcome[] = [];

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

  push(role: Role, part: FeedPart, receivedMs: number, optional = false): readonly Outcome[] {
    const { state } = this;
    if (state.finished) return [];
    if (state[role].ended) this.#report('late', role, part, 1, ENDED);
    else if (state.by === null) {
      state.undecided.push({ role, part, receivedMs, ...(optional ? { optional } : {}) });
      this.#chooseAxis(false);
    } else {
      if (state.by === 'frame' && part.k === undefined && this.settings.by === 'auto' && !state[role].delivered)
        this.#pairByTime();
      this.#admit(role, part, receivedMs, optional);
    }
    return this.#outcomes();
  }

  /** Closes what is due at this time. */
  advance(nowMs: number): readonly Outcome[] {
    const { state } = this;
    if (state.by === null && this.#undecidedDeadline() <= nowMs) this.#chooseAxis(true);
    this.#drain(nowMs);
    return this.#outcomes();
  }

  end(role: Role, nowMs: number): readonly Outcome[] {
    const { state } = this;
    state[role].ended = true;
    if (role === 'tracker') state.endedMs = nowMs;
    if (state.by === null && state.reference.ended && state.tracker.ended) this.#chooseAxis(true);
    this.#drain(nowMs);
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
    const { state, settings } = this;
    if (state.finished) return Number.POSITIVE_INFINITY;
    const placed = this.#waiting();
    const earliest = placed ? placed.receivedMs + settings.latenessMs : this.#undecidedDeadline();
    return this.#delivered ? Math.min(earliest, state.endedMs + settings.latenessMs) : earliest;
  }

  /** Whether the tracker has ended and all its parts have been judged or dropped. */
  get #delivered(): boolean {
    const { tracker, undecided } = this.state;
    return tracker.ended && tracker.pending.length === 0 && !undecided.some((u) => u.role === 'tracker');
  }

  /** The clock was away for a while, for nobody's fault. */
  shift(deltaMs: number): void {
    const { state } = this;
    const placed = new Set([
      ...state.reference.pending,
      ...state.tracker.pending,
      ...state.history,
      ...state.undecided,
    ]);
    for (const item of placed) item.receivedMs += deltaMs;
    state.endedMs += deltaMs;
  }

  #outcomes(): readonly Outcome[] {
    const out = this.#out;
    if (out.length === 0) return NOTHING;
    this.#out = [];
    return out;
  }

  #undecidedDeadline(): number {
    const first = this.state.undecided[0];
    return first ? first.receivedMs + this.settings.latenessMs : Number.POSITIVE_INFINITY;
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
    for (const u of undecided) this.#admit(u.role, u.part, u.receivedMs, u.optional ?? false);
  }

  /** A feed has no frame numbers after all: what waits is placed again by time. */
  #pairByTime(): void {
    const { state } = this;
    const { reference, tracker, sampled, history } = state;
    resetPlaces(state);
    state.by = 'time';
    const waiting = (role: Role) =>
      sampled === role ? history : role === 'reference' ? reference.pending : tracker.pending;
    for (const placed of waiting('reference'))
      this.#admit('reference', placed.part, placed.receivedMs, !!placed.optional);
    for (const placed of waiting('tracker')) this.#admit('tracker', placed.part, placed.receivedMs, false);
  }

  get #tolerance(): number {
    return this.state.by === 'time' ? this.settings.toleranceMs : 0;
  }

  #admit(role: Role, part: FeedPart, receivedMs: number, optional: boolean): void {
    const { state } = this;
    const raw = state.by === 'time' ? (part.t === undefined ? receivedMs : part.t * 1000) : part.k;
    if (raw === undefined) {
      this.#report('late', role, part, 1, UNNUMBERED);
      return;
    }
    const first = role === 'tracker' && !state.tracker.delivered;
    const x = this.#place(role, raw);
    const side = state[role];
    const fault = this.#refuse(role, x);
    // a held tracker speaks again when something has changed, also about the same moment
    const update = fault === 'duplicate' && role === 'tracker' && state.sampled === 'tracker';
    if (fault !== 'duplicate') this.#deliver(role, x, part);
    if (fault && !update) this.#report(fault, role, part, 1, refusal(fault, this.settings));
    const placed: Placed = { x, part, receivedMs };
    if (optional) placed.optional = true;
    // a late part is too late for its own step, but it is the best there is to hold from now on
    if (role === state.sampled && (fault !== 'duplicate' || update)) this.#keep(placed);
    else if (fault === null) insert(side.pending, placed);
    if (first) this.#skipOptional(x);
    this.#drain(receivedMs);
  }

  /** Keeps a part to be held; beyond bufferFrames the oldest goes, and with it the steps that would have needed it. */
  #keep(placed: Placed): void {
    const { history, reference, sampled } = this.state;
    insert(history, placed);
    if (history.length <= this.settings.bufferFrames) return;
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

  #refuse(role: Role, x: number): 'late' | 'duplicate' | null {
    const { state } = this;
    const side = state[role];
    if (x <= side.high && side.recent.includes(x)) return 'duplicate';
    if (x <= side.closedUpTo) return 'late';
    // the tracker delivered this step, but the reference let it wait too long
    if (role === 'reference' && state.tracker.dropped.some((y) => Math.abs(y - x) <= this.#tolerance)) return 'late';
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
    // as many again are let in before they are dropped together
    const recentMax = RECENT_MAX + settings.latenessFrames;
    if (recent.length > 2 * recentMax) recent.splice(0, recentMax);
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

  #follows(side: Side, x: number): boolean {
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
    const { state, settings } = this;
    const jump = state.by === 'time' ? settings.restartMs : settings.restartFrames;
    return placeOf(state, role, raw, jump, (before) =>
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
    if (Math.abs(r.x - y.x) <= this.#tolerance) return r.receivedMs < y.receivedMs ? r : y;
    return y.x < r.x ? y : r;
  }

  #drain(nowMs: number): void {
    const { state } = this;
    if (state.by !== null) while (this.#close(nowMs));
    if (this.#delivered && !state.finished) this.#finish(nowMs);
  }

  #finish(nowMs: number): void {
    const { state, settings } = this;
    const { reference, tracker } = state;
    const timeIsUp = nowMs >= state.endedMs + settings.latenessMs;
    if (!reference.ended && reference.horizon < tracker.high && !timeIsUp) return;
    state.finished = true;
    state.undecided = [];
    state.history = [];
    reference.pending = [];
    this.#out.push({ type: 'finished', tracker: this.tracker });
  }

  /** Whether a waiting part has waited long enough. */
  #due(placed: Placed, nowMs: number): boolean {
    const { reference, tracker } = this.state;
    return (
      nowMs >= placed.receivedMs + this.settings.latenessMs ||
      (reference.ended && tracker.ended) ||
      reference.pending.length + tracker.pending.length > this.settings.bufferFrames
    );
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
    const { tracker } = this.state;
    tracker.pending.shift();
    tracker.dropped.push(y.x);
    if (tracker.dropped.length > this.settings.bufferFrames) tracker.dropped.shift();
    this.#report('missing', 'reference', y.part, 1, SUSPENDED);
  }

  /** The tracker is held: every reference part is a step, judged with the tracks it last spoke of. */
  #closeHeld(nowMs: number): boolean {
    const { reference, tracker, history } = this.state;
    const r = reference.pending[0];
    if (!r) return false;
    const near = nearest(history, r.x, this.#tolerance);
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
    const near = nearest(this.state.history, y.x, this.#tolerance);
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
    history.splice(0, Math.max(kept, history.length - this.settings.bufferFrames));
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
    if (!gone && !(by === 'frame' ? this.#due(r, nowMs) : nowMs >= r.receivedMs + this.settings.latenessMs))
      return false;
    this.#judgeMissing(r);
    this.#pass(r.x);
    return true;
  }

  #step(reference: PackedList, tracks: PackedList, one: Placed, other?: Placed): void {
    const k = one.part.k ?? other?.part.k ?? this.state.steps + 1;
    const t = one.part.t ?? other?.part.t;
    const receivedMs = other ? Math.max(one.receivedMs, other.receivedMs) : one.receivedMs;
    this.state.steps++;
    const step: Step = { type: 'step', tracker: this.tracker, k, reference, tracks, receivedMs };
    if (t !== undefined) step.t = t;
    this.#out.push(step);
  }
}

function insertNumber(list: number[], value: number): void {
  let at = list.length;
  while (at > 0 && list[at - 1] > value) at--;
  if (at === list.length) list.push(value);
  else list.splice(at, 0, value);
}
