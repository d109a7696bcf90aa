/**
 * The reference and one tracker, joined into steps on one axis: frame numbers or times. Steps close in the order of the
 * axis; when, is said in pairing.ts. One of the feeds may be sampled: its parts are then no steps of their own but speak
 * for the places between them, held or interpolated, up to a greatest age.
 *
 * Numbers that jump: see Lane.place.
 */
import type { PairingSettings } from '../config/config.js';
import type { Irregularity } from '../wire/events.js';
import type { Role } from '../wire/feed.js';
import type { FeedPart, ObjectList } from '../wire/objects.js';
import type { Outcome, Step } from './pairing.js';
import { heldAt, insert, linearAt, nearest, type Placed } from './resampling.js';

/** One feed as a lane sees it. */
interface Side {
  pending: Placed[];
  /** numbering the feed is in; grows with restarts of the reference */
  epoch: number;
  /** highest number of this numbering as it came, and its place */
  raw: number;
  high: number;
  /** nothing up to here is still to come, unless late */
  horizon: number;
  /** places above the horizon that have been delivered */
  ahead: number[];
  /** decided up to here: what comes now is late */
  frontier: number;
  /** last places delivered, to tell a duplicate from a late part */
  recent: number[];
  /** last places given up for want of the other feed */
  dropped: number[];
  delivered: boolean;
  ended: boolean;
  /** said hello again after its end: a number at or below the last one is a new numbering */
  reopened: boolean;
}

const LOWEST = -Number.MAX_VALUE;
const RECENT_MAX = 128;
const NOTHING: readonly Outcome[] = [];
/** between two numberings; no feed runs further ahead than this */
const EPOCH_GAP = { frame: 1e6, time: 1e9 };
/** numberings by which a tracker may be behind the reference */
const EPOCHS_MAX = 4;
/** places beyond this lose precision: the lane begins again */
const PLACE_MAX = 2 ** 50;

const newSide = (): Side => ({
  pending: [],
  epoch: 0,
  raw: LOWEST,
  high: LOWEST,
  horizon: LOWEST,
  ahead: [],
  frontier: LOWEST,
  recent: [],
  dropped: [],
  delivered: false,
  ended: false,
  reopened: false,
});

/** Everything a Lane knows. Plain JSON. */
export interface LaneState {
  by: 'frame' | 'time' | null;
  reference: Side;
  tracker: Side;
  /** parts that came before it was known what to pair by */
  undecided: Array<{ role: Role; part: FeedPart; receivedMs: number; optional?: boolean }>;
  /** what to add to a number of each epoch */
  offsets: Record<number, number>;
  /** the feed whose parts are held or interpolated; absent when both are taken as they come */
  sampled?: Role | null;
  /** its parts that may still be needed, the first at or before the frontier */
  history: Placed[];
  silent: boolean;
  steps: number;
  endedMs: number;
  finished: boolean;
}

const newLane = (): LaneState => ({
  by: null,
  reference: newSide(),
  tracker: newSide(),
  undecided: [],
  offsets: { 0: 0 },
  history: [],
  silent: false,
  steps: 0,
  endedMs: 0,
  finished: false,
});

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
    // a state of an earlier version does not say
    const before = state.sampled ?? (state.history.length > 0 ? 'reference' : null);
    const now = this.#held ? 'tracker' : this.settings.reference === 'exact' ? null : 'reference';
    state.sampled = now;
    if (before === now) return;
    if (before)
      for (const placed of state.history) if (placed.x > state[before].frontier) insert(state[before].pending, placed);
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
    if (state[role].ended)
      this.#tell('late', role, part, 1, 'arrived after the feed had ended; say hello again to continue');
    else if (state.by === null) {
      state.undecided.push({ role, part, receivedMs, ...(optional ? { optional } : {}) });
      this.#decide(false);
    } else {
      if (state.by === 'frame' && part.k === undefined && this.settings.by === 'auto' && !state[role].delivered)
        this.#goByTime();
      this.#enter(role, part, receivedMs, optional);
    }
    return this.#take();
  }

  /** Closes what is due at this time. */
  advance(nowMs: number): readonly Outcome[] {
    const { state } = this;
    if (state.by === null && this.#undecidedDeadline() <= nowMs) this.#decide(true);
    this.#drain(nowMs);
    return this.#take();
  }

  end(role: Role, nowMs: number): readonly Outcome[] {
    const { state } = this;
    state[role].ended = true;
    if (role === 'tracker') state.endedMs = nowMs;
    if (state.by === null && state.reference.ended && state.tracker.ended) this.#decide(true);
    this.#drain(nowMs);
    return this.#take();
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

  #take(): readonly Outcome[] {
    const out = this.#out;
    if (out.length === 0) return NOTHING;
    this.#out = [];
    return out;
  }

  #undecidedDeadline(): number {
    const first = this.state.undecided[0];
    return first ? first.receivedMs + this.settings.latenessMs : Number.POSITIVE_INFINITY;
  }

  /** Settles what to pair by, once both feeds have been heard or, with `now`, from what is there. */
  #decide(now: boolean): void {
    const { state } = this;
    const { undecided } = state;
    const first = (role: Role) => undecided.find((u) => u.role === role)?.part;
    const reference = first('reference');
    const tracker = first('tracker');
    const full = undecided.length > this.settings.bufferFrames;
    if (!now && !full && !(reference && tracker)) return;
    state.by = [reference, tracker].every((part) => part === undefined || part.k !== undefined) ? 'frame' : 'time';
    state.undecided = [];
    for (const u of undecided) this.#enter(u.role, u.part, u.receivedMs, u.optional ?? false);
  }

  /** A feed has no frame numbers after all: what waits is placed again by time. */
  #goByTime(): void {
    const { state } = this;
    const { reference, tracker, sampled, history } = state;
    this.#startOver();
    state.by = 'time';
    const waiting = (role: Role) =>
      sampled === role ? history : role === 'reference' ? reference.pending : tracker.pending;
    for (const placed of waiting('reference'))
      this.#enter('reference', placed.part, placed.receivedMs, !!placed.optional);
    for (const placed of waiting('tracker')) this.#enter('tracker', placed.part, placed.receivedMs, false);
  }

  get #tolerance(): number {
    return this.state.by === 'time' ? this.settings.toleranceMs : 0;
  }

  #enter(role: Role, part: FeedPart, receivedMs: number, optional: boolean): void {
    const { state } = this;
    const raw = state.by === 'time' ? (part.t === undefined ? receivedMs : part.t * 1000) : part.k;
    if (raw === undefined) {
      this.#tell(
        'late',
        role,
        part,
        1,
        'has no frame number, but the stream is paired by frame; send k, or set pairing.by to time',
      );
      return;
    }
    const first = role === 'tracker' && !state.tracker.delivered;
    const x = this.#place(role, raw);
    const side = state[role];
    const fault = this.#refuse(role, x);
    // a held tracker speaks again when something has changed, also about the same moment
    const update = fault === 'duplicate' && role === 'tracker' && state.sampled === 'tracker';
    if (fault !== 'duplicate') this.#deliver(role, x, part);
    if (fault && !update) this.#tell(fault, role, part, 1, this.#refusal(fault));
    const placed: Placed = { x, part, receivedMs };
    if (optional) placed.optional = true;
    // a late part is too late for its own step, but it is the best there is to hold from now on
    if (role === state.sampled && (fault !== 'duplicate' || update)) this.#remember(placed);
    else if (fault === null) insert(side.pending, placed);
    if (first) this.#skipOptional(x);
    this.#drain(receivedMs);
  }

  /** Keeps a part to be held; beyond bufferFrames the oldest goes, and with it the steps that would have needed it. */
  #remember(placed: Placed): void {
    const { history, reference, sampled } = this.state;
    insert(history, placed);
    if (history.length <= this.settings.bufferFrames) return;
    const gone = history.shift()!;
    if (sampled === 'reference') return;
    if (gone.x > reference.frontier)
      this.#tell('missing', 'reference', gone.part, 1, 'did not arrive in time; judgement is suspended');
    reference.frontier = Math.max(reference.frontier, history[0].x - (this.#tolerance || 1));
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
    if (x <= side.frontier) return 'late';
    // the tracker delivered this step, but the reference let it wait too long
    if (role === 'reference' && state.tracker.dropped.some((y) => Math.abs(y - x) <= this.#tolerance)) return 'late';
    return null;
  }

  #refusal(fault: 'late' | 'duplicate'): string {
    if (fault === 'duplicate') return 'was delivered before; the first one counts';
    const { latenessMs, latenessFrames } = this.settings;
    return `arrived after its step was closed; raise pairing.latenessMs (now ${latenessMs}) or pairing.latenessFrames (now ${latenessFrames}) to accept it`;
  }

  /** Notes that a place was delivered: moves the horizon and finds gaps in frame numbers. */
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
      if (skipped > 0) this.#tell('gap', role, part, skipped, this.#gapMessage(skipped));
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

  #gapMessage(skipped: number): string {
    return this.state.by === 'frame'
      ? `came after ${skipped} skipped frame number${skipped === 1 ? '' : 's'}`
      : `jumped ahead in time by more than pairing.silenceMs (now ${this.settings.silenceMs})`;
  }

  /**
   * The place of a number on the axis. A feed whose number falls back by more than restartFrames (restartMs by time)
   * begins a new numbering: it is put behind everything so far, and meets the other feed there when that restarts too,
   * whichever comes first. A smaller step back is a late part. A tracker that jumps, in either direction, to where the
   * reference is joins it there; a reference that jumps back to where the tracker is takes the tracker along. So one
   * wrong number costs the frames near it and nothing more.
   */
  #place(role: Role, raw: number): number {
    const { state, settings } = this;
    const side = state[role];
    const other = state[role === 'reference' ? 'tracker' : 'reference'];
    const jump = state.by === 'time' ? settings.restartMs : settings.restartFrames;
    if (!side.delivered) {
      side.epoch = other.epoch;
    } else if (side.reopened ? raw <= side.raw : raw < side.raw - jump) {
      this.#restart(role, raw, jump);
    } else if (role === 'tracker' && raw > side.raw + jump && side.epoch !== other.epoch && this.#near(raw, jump)) {
      this.#join(side, other.epoch, raw);
    }
    const now = state[role];
    now.reopened = false;
    now.raw = Math.max(now.raw, raw);
    return raw + state.offsets[now.epoch];
  }

  /** Whether a tracker's number is where the reference is. */
  #near(raw: number, jump: number): boolean {
    const { reference, offsets } = this.state;
    return reference.delivered && Math.abs(raw + offsets[reference.epoch] - reference.high) <= jump;
  }

  #restart(role: Role, raw: number, jump: number): void {
    const { state } = this;
    const { reference, tracker } = state;
    const side = state[role];
    this.#tell(
      'gap',
      role,
      { seq: 0, objects: [], ...(state.by === 'frame' ? { k: raw } : {}) },
      0,
      restartMessage(state.by!, side.raw, raw),
    );
    if (role === 'tracker') {
      if (this.#near(raw, jump)) this.#join(side, reference.epoch, raw);
      else if (side.epoch < reference.epoch) this.#join(side, side.epoch + 1, raw);
      else this.#begin(side, reference.epoch + 1, raw);
      return;
    }
    const together = tracker.delivered && tracker.epoch === reference.epoch && Math.abs(tracker.raw - raw) <= jump;
    const takeAlong = together && !side.reopened;
    this.#begin(side, reference.epoch + 1, raw);
    if (takeAlong && side.epoch in state.offsets) this.#join(tracker, side.epoch, tracker.raw);
    this.#forgetEpochs();
  }

  /** Drops the offsets of numberings that nobody is in; a tracker too far behind is moved on. */
  #forgetEpochs(): void {
    const { reference, tracker, offsets } = this.state;
    tracker.epoch = Math.max(tracker.epoch, reference.epoch - EPOCHS_MAX);
    for (const epoch of Object.keys(offsets).map(Number))
      if (epoch < Math.min(reference.epoch, tracker.epoch)) delete offsets[epoch];
  }

  /** Enters a numbering that the other feed may already be in. */
  #begin(side: Side, epoch: number, raw: number): void {
    const { state } = this;
    const { reference, tracker } = state;
    const other = side === reference ? tracker : reference;
    if (!(epoch in state.offsets) || other.epoch !== epoch) {
      const above = Math.max(reference.high, tracker.high, 0) + EPOCH_GAP[state.by!];
      if (above > PLACE_MAX) {
        this.#startOver();
        return;
      }
      state.offsets[epoch] = above - raw;
    }
    this.#join(side, epoch, raw);
  }

  /** Forgets what waits and all numbers. */
  #startOver(): void {
    const { state } = this;
    state.reference = { ...newSide(), ended: state.reference.ended };
    state.tracker = { ...newSide(), ended: state.tracker.ended };
    state.history = [];
    state.offsets = { 0: 0 };
  }

  #join(side: Side, epoch: number, raw: number): void {
    const place = raw + this.state.offsets[epoch];
    side.epoch = epoch;
    side.raw = raw;
    side.high = place;
    side.horizon = LOWEST;
    side.ahead = [];
  }

  #tell(type: Irregularity['type'], role: Role, part: FeedPart, count: number, message: string): void {
    const name =
      part.k === undefined ? (part.t === undefined ? 'a part' : `the part at ${part.t} s`) : `frame ${part.k}`;
    this.#out.push({
      type,
      role,
      tracker: role === 'tracker' ? this.tracker : null,
      ...(part.k === undefined ? {} : { k: part.k }),
      count,
      message: `${name} of the ${role === 'tracker' ? `tracker ${this.tracker}` : 'reference'} ${message}`,
    });
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
      const complete = reached(reference, r.x) && reached(tracker, y.x);
      if (!complete && !this.#due(this.#waiting()!, nowMs)) return false;
      this.#closePair(r, y);
    } else if (r && !(y && y.x < r.x)) {
      if (!(reached(reference, r.x) && passed(tracker, r.x + this.#tolerance)) && !this.#due(r, nowMs)) return false;
      this.#closeWithoutTracker(r);
    } else if (y) {
      if (!(reached(tracker, y.x) && passed(reference, y.x + this.#tolerance)) && !this.#due(y, nowMs)) return false;
      this.#dropTracks(y);
    } else return false;
    return true;
  }

  #closePair(r: Placed, y: Placed): void {
    const { reference, tracker } = this.state;
    reference.pending.shift();
    tracker.pending.shift();
    reference.frontier = Math.max(reference.frontier, r.x);
    tracker.frontier = Math.max(tracker.frontier, y.x);
    this.#step(r.part.objects, y.part.objects, r, y);
  }

  /** A reference part that the tracker did not answer: everything in it is missed. */
  #closeWithoutTracker(r: Placed): void {
    const { reference, tracker } = this.state;
    reference.pending.shift();
    reference.frontier = Math.max(reference.frontier, r.x);
    tracker.frontier = Math.max(tracker.frontier, r.x + this.#tolerance);
    if (this.#concerns(r)) this.#judgeMissing(r);
  }

  /** Whether a reference part is the tracker's business: not before it was known, nor after its end. */
  #concerns(r: Placed): boolean {
    const { tracker } = this.state;
    if (r.optional && !tracker.delivered) return false;
    return !tracker.ended || tracker.reopened || r.x <= tracker.high + this.#tolerance;
  }

  #judgeMissing(r: Placed): void {
    this.#tell('missing', 'tracker', r.part, 1, 'did not arrive in time; it is judged with no tracks');
    this.#step(r.part.objects, [], r);
  }

  /** A tracker part without a reference: nothing can be said about it. */
  #dropTracks(y: Placed): void {
    const { tracker } = this.state;
    tracker.pending.shift();
    tracker.dropped.push(y.x);
    if (tracker.dropped.length > this.settings.bufferFrames) tracker.dropped.shift();
    this.#tell('missing', 'reference', y.part, 1, 'did not arrive in time; judgement is suspended');
  }

  /** The tracker is held: every reference part is a step, judged with the tracks it last spoke of. */
  #closeHeld(nowMs: number): boolean {
    const { reference, tracker, history } = this.state;
    const r = reference.pending[0];
    if (!r) return false;
    const near = nearest(history, r.x, this.#tolerance);
    const known = passed(tracker, r.x + this.#tolerance) || (near !== undefined && reached(tracker, near.x));
    if (!(known && reached(reference, r.x)) && !this.#due(r, nowMs)) return false;
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
    const known = near ? reached(reference, near.x) : passed(reference, y.x + this.#tolerance);
    if (!(known && reached(tracker, y.x)) && !this.#due(y, nowMs)) return false;
    const objects = near ? near.part.objects : this.#resample(y.x);
    if (objects) {
      tracker.pending.shift();
      this.#step(objects, y.part.objects, y, near);
    } else this.#dropTracks(y);
    this.#pass(y.x);
    return true;
  }

  /** Moves the frontier; one part of the sampled feed at or before it is kept to be held. */
  #pass(x: number): void {
    const { reference, tracker, history, sampled } = this.state;
    const [clock, other] = sampled === 'tracker' ? [reference, tracker] : [tracker, reference];
    clock.frontier = Math.max(clock.frontier, x);
    other.frontier = Math.max(other.frontier, x - this.#tolerance);
    let kept = history.length - 1;
    while (kept > 0 && history[kept].x > clock.frontier) kept--;
    history.splice(0, Math.max(kept, history.length - this.settings.bufferFrames));
  }

  /** The reference at this place: held, or between its neighbours; null when the last one is too old. */
  #resample(x: number): ObjectList | null {
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
    return history.find((r) => r.x > tracker.frontier && !r.optional && this.#concerns(r));
  }

  #closeUnanswered(r: Placed, nowMs: number): boolean {
    const { reference, tracker, by } = this.state;
    const gone = by === 'frame' && reached(reference, r.x) && passed(tracker, r.x);
    if (!gone && !(by === 'frame' ? this.#due(r, nowMs) : nowMs >= r.receivedMs + this.settings.latenessMs))
      return false;
    this.#judgeMissing(r);
    this.#pass(r.x);
    return true;
  }

  #step(reference: ObjectList, tracks: ObjectList, one: Placed, other?: Placed): void {
    const k = one.part.k ?? other?.part.k ?? this.state.steps + 1;
    const t = one.part.t ?? other?.part.t;
    const receivedMs = other ? Math.max(one.receivedMs, other.receivedMs) : one.receivedMs;
    this.state.steps++;
    const step: Step = { type: 'step', tracker: this.tracker, k, reference, tracks, receivedMs };
    if (t !== undefined) step.t = t;
    this.#out.push(step);
  }
}

const reached = (side: Side, x: number) => side.ended || side.horizon >= x;
const passed = (side: Side, x: number) => side.ended || side.horizon > x;

function insertNumber(list: number[], value: number): void {
  let at = list.length;
  while (at > 0 && list[at - 1] > value) at--;
  if (at === list.length) list.push(value);
  else list.splice(at, 0, value);
}

const restartMessage = (by: 'frame' | 'time', before: number, now: number) =>
  by === 'frame'
    ? `begins a new numbering (${before} came before it)`
    : `falls back by ${Math.round(before - now)} ms: its clock was set`;
