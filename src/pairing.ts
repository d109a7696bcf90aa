/**
 * Joins the feeds of one stream into steps: what the reference and a tracker say about the same moment (DESIGN 5).
 * A pure state machine: it knows no clock but the times handed to it, and its state is plain JSON.
 *
 * Each tracker is paired with the reference in a lane of its own, so a slow tracker holds up nobody else. A lane works
 * on one axis, frame numbers or times, and closes steps in the order of that axis. A step closes when both feeds have
 * delivered it, or when a feed that has not will not: it has gone past it (by more than latenessFrames of its own
 * parts), it has ended, or latenessMs are over since the other feed delivered it. Any arrival order within these limits
 * gives the same steps. A step without the tracker is judged with no tracks; without the reference it is not judged.
 *
 * Numbers that jump: see Lane.place.
 */
import type { FramePart, Role, WireObject } from './protocol.js';

export interface PairingSettings {
  /** `auto`: by frame number when the first parts of both feeds have one, otherwise by time */
  by: 'auto' | 'frame' | 'time';
  /** by time: parts this close are the same step, milliseconds; keep it below half the time between frames */
  toleranceMs: number;
  /** by time: `exact` needs a reference part at the time; `hold` repeats the last one, `linear` interpolates */
  reference: 'exact' | 'hold' | 'linear';
  /** hold and linear: the reference is not stretched further than this, milliseconds */
  holdMaxMs: number;
  /** how many later parts of the same feed may overtake a part, frames */
  latenessFrames: number;
  /** how long a step waits for a feed, milliseconds */
  latenessMs: number;
  /** a feed without a part for this long is silent, milliseconds */
  silenceMs: number;
  /** parts that may wait in one lane; more close the oldest step, frames */
  bufferFrames: number;
  /** a number that falls back by more than this begins a new numbering, frames */
  restartFrames: number;
  /** by time: a time that falls back by more than this means a clock was set, milliseconds */
  restartMs: number;
}

export const PAIRING_DEFAULTS: PairingSettings = {
  by: 'auto',
  toleranceMs: 20,
  reference: 'exact',
  holdMaxMs: 1000,
  latenessFrames: 0,
  latenessMs: 2000,
  silenceMs: 5000,
  bufferFrames: 1024,
  restartFrames: 100,
  restartMs: 10_000,
};

/** What both feeds say about one moment. */
export interface Step {
  type: 'step';
  tracker: string;
  /** frame number; by time, when no feed has numbers, the number of the step, from 1 */
  k: number;
  /** epoch seconds */
  t?: number;
  reference: WireObject[];
  tracks: WireObject[];
  /** when the last part of the step arrived, epoch milliseconds */
  receivedMs: number;
}

/** Something that is counted. `count` is the number of frames concerned. */
export interface Irregularity {
  type: 'late' | 'duplicate' | 'missing' | 'gap';
  role: Role;
  tracker: string | null;
  k?: number;
  count: number;
  message: string;
}

/** A feed fell silent, or is heard again. */
export interface Silence {
  type: 'silence';
  role: Role;
  tracker: string | null;
  /** when the last part arrived, epoch milliseconds */
  since: number;
  over: boolean;
}

/** A tracker has ended and nothing of it is left to judge. */
export interface Finished {
  type: 'finished';
  tracker: string;
}

export type Outcome = Step | Irregularity | Silence | Finished;

/** A part in a lane; `x` is its place on the axis, after jumps have been straightened out. */
interface Placed {
  x: number;
  part: FramePart;
  receivedMs: number;
  /** came before the tracker was known: judged only when the tracker delivers it */
  optional?: boolean;
}

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

interface LaneState {
  by: 'frame' | 'time' | null;
  reference: Side;
  tracker: Side;
  /** parts that came before it was known what to pair by */
  undecided: Array<{ role: Role; part: FramePart; receivedMs: number; optional?: boolean }>;
  /** what to add to a number of each epoch */
  offsets: Record<number, number>;
  /** by time: reference parts that may still be held or interpolated, the first at or before the frontier */
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
class Lane {
  #out: Outcome[] = [];

  constructor(
    readonly tracker: string,
    readonly settings: PairingSettings,
    readonly geodetic: boolean,
    readonly state: LaneState = newLane(),
  ) {
    if (settings.by !== 'auto') state.by ??= settings.by;
  }

  push(role: Role, part: FramePart, receivedMs: number, optional = false): Outcome[] {
    const { state } = this;
    if (state.finished) return [];
    if (state[role].ended) this.#tell('late', role, part, 1, 'came after the feed had ended; say hello again to go on');
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
  advance(nowMs: number): Outcome[] {
    const { state } = this;
    if (state.by === null && this.#undecidedDeadline() <= nowMs) this.#decide(true);
    this.#drain(nowMs);
    return this.#take();
  }

  end(role: Role, nowMs: number): Outcome[] {
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
    const placed = this.#waiting() ?? this.#silentReference();
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

  #take(): Outcome[] {
    const out = this.#out;
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
    const { reference, tracker } = state;
    this.#startOver();
    state.by = 'time';
    for (const placed of reference.pending) this.#enter('reference', placed.part, placed.receivedMs, !!placed.optional);
    for (const placed of tracker.pending) this.#enter('tracker', placed.part, placed.receivedMs, false);
  }

  get #resampled(): boolean {
    return this.state.by === 'time' && this.settings.reference !== 'exact';
  }

  get #tolerance(): number {
    return this.state.by === 'time' ? this.settings.toleranceMs : 0;
  }

  #enter(role: Role, part: FramePart, receivedMs: number, optional: boolean): void {
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
    if (fault !== 'duplicate') this.#deliver(role, x, part);
    if (fault) this.#tell(fault, role, part, 1, this.#refusal(fault));
    // a late reference part is too late for its own step, but it is the best there is to hold from now on
    if (fault === null || (fault === 'late' && role === 'reference' && this.#resampled)) {
      const placed: Placed = { x, part, receivedMs, ...(optional ? { optional } : {}) };
      insert(role === 'reference' && this.#resampled ? state.history : side.pending, placed);
      if (state.history.length > this.settings.bufferFrames) state.history.shift();
    }
    if (first) this.#skipOptional(x);
    this.#drain(receivedMs);
  }

  /** Reference parts from before the tracker was known, and before what it begins with, are not its business. */
  #skipOptional(x: number): void {
    const { reference } = this.state;
    reference.pending = reference.pending.filter((r) => !r.optional || r.x >= x - this.#tolerance);
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
  #deliver(role: Role, x: number, part: FramePart): void {
    const { state, settings } = this;
    const side = state[role];
    side.delivered = true;
    side.high = Math.max(side.high, x);
    side.recent.push(x);
    if (side.recent.length > RECENT_MAX + settings.latenessFrames) side.recent.shift();
    if (x <= side.horizon) return;
    insertNumber(side.ahead, x);
    const next = () => state.by === 'frame' && side.ahead[0] === side.horizon + 1;
    while (side.ahead.length > settings.latenessFrames || (side.ahead.length > 0 && next())) {
      const place = side.ahead.shift()!;
      const skipped = this.#skipped(side.horizon, place);
      if (skipped > 0) this.#tell('gap', role, part, skipped, this.#gapMessage(skipped));
      side.horizon = place;
    }
  }

  #skipped(from: number, to: number): number {
    if (from === LOWEST) return 0;
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

  #tell(type: Irregularity['type'], role: Role, part: FramePart, count: number, message: string): void {
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
    const r = this.state.reference.pending[0];
    const y = this.state.tracker.pending[0];
    if (!r || !y) return r ?? y;
    if (Math.abs(r.x - y.x) <= this.#tolerance) return r.receivedMs < y.receivedMs ? r : y;
    return y.x < r.x ? y : r;
  }

  #drain(nowMs: number): void {
    const { state } = this;
    if (state.by !== null) while (this.#resampled ? this.#closeResampled(nowMs) : this.#closeExact(nowMs));
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
    this.#step(r.part.objects, y.part.objects, [r, y]);
  }

  /** A reference part that the tracker did not answer: everything in it is missed. */
  #closeWithoutTracker(r: Placed): void {
    const { reference, tracker } = this.state;
    reference.pending.shift();
    reference.frontier = Math.max(reference.frontier, r.x);
    tracker.frontier = Math.max(tracker.frontier, r.x + this.#tolerance);
    if (r.optional && !tracker.delivered) return;
    // an ended tracker is judged up to its last part
    if (tracker.ended && !tracker.reopened && r.x > tracker.high + this.#tolerance) return;
    this.#tell('missing', 'tracker', r.part, 1, 'did not come in time; it is judged with no tracks');
    this.#step(r.part.objects, [], [r]);
  }

  /** A tracker part without a reference: nothing can be said about it. */
  #dropTracks(y: Placed): void {
    const { tracker } = this.state;
    tracker.pending.shift();
    tracker.dropped.push(y.x);
    if (tracker.dropped.length > this.settings.bufferFrames) tracker.dropped.shift();
    this.#tell('missing', 'reference', y.part, 1, 'did not come in time; judgement is suspended');
  }

  #closeResampled(nowMs: number): boolean {
    const { reference, tracker } = this.state;
    const y = tracker.pending[0];
    if (!y) return this.#closeSilent(nowMs);
    const near = this.#nearest(y.x);
    const known = near ? reached(reference, near.x) : passed(reference, y.x + this.#tolerance);
    if (!(known && reached(tracker, y.x)) && !this.#due(y, nowMs)) return false;
    const objects = near ? near.part.objects : this.#resample(y.x);
    if (objects) {
      tracker.pending.shift();
      this.#step(objects, y.part.objects, near ? [y, near] : [y]);
    } else this.#dropTracks(y);
    this.#pass(y.x);
    return true;
  }

  /** Moves the frontier; one reference part at or before it is kept to be held. */
  #pass(x: number): void {
    const { reference, tracker, history } = this.state;
    tracker.frontier = Math.max(tracker.frontier, x);
    reference.frontier = Math.max(reference.frontier, x - this.#tolerance);
    let kept = history.length - 1;
    while (kept > 0 && history[kept].x > tracker.frontier) kept--;
    history.splice(0, Math.max(kept, history.length - this.settings.bufferFrames));
  }

  /** The first reference part that is at this place within the tolerance. */
  #nearest(x: number): Placed | undefined {
    return this.state.history.find((r) => Math.abs(r.x - x) <= this.#tolerance);
  }

  /** The reference at this place: held, or between its neighbours; null when the last one is too old. */
  #resample(x: number): WireObject[] | null {
    const { history } = this.state;
    const next = history.findIndex((r) => r.x > x);
    const before = history[next < 0 ? history.length - 1 : next - 1];
    const after = next < 0 ? undefined : history[next];
    if (!before || x - before.x > this.settings.holdMaxMs) return null;
    if (this.settings.reference === 'hold' || !after) return before.part.objects;
    return interpolate(before.part.objects, after.part.objects, (x - before.x) / (after.x - before.x), this.geodetic);
  }

  /** The oldest reference part that a silent tracker has not answered. */
  #silentReference(): Placed | undefined {
    const { tracker, history, silent } = this.state;
    if (!silent || tracker.ended || !this.#resampled || tracker.pending.length > 0) return undefined;
    return history.find((r) => r.x > tracker.frontier && !r.optional);
  }

  #closeSilent(nowMs: number): boolean {
    const r = this.#silentReference();
    if (!r || nowMs < r.receivedMs + this.settings.latenessMs) return false;
    this.#tell('missing', 'tracker', r.part, 1, 'did not come in time; it is judged with no tracks');
    this.#step(r.part.objects, [], [r]);
    this.#pass(r.x);
    return true;
  }

  #step(reference: WireObject[], tracks: WireObject[], from: Placed[]): void {
    const k = from.map((p) => p.part.k).find((value) => value !== undefined) ?? this.state.steps + 1;
    const t = from.map((p) => p.part.t).find((value) => value !== undefined);
    this.state.steps++;
    this.#out.push({
      type: 'step',
      tracker: this.tracker,
      k,
      ...(t === undefined ? {} : { t }),
      reference,
      tracks,
      receivedMs: Math.max(...from.map((p) => p.receivedMs)),
    });
  }
}

const reached = (side: Side, x: number) => side.ended || side.horizon >= x;
const passed = (side: Side, x: number) => side.ended || side.horizon > x;

function insert(list: Placed[], placed: Placed): void {
  let at = list.length;
  while (at > 0 && list[at - 1].x > placed.x) at--;
  list.splice(at, 0, placed);
}

function insertNumber(list: number[], value: number): void {
  let at = list.length;
  while (at > 0 && list[at - 1] > value) at--;
  list.splice(at, 0, value);
}

const restartMessage = (by: 'frame' | 'time', before: number, now: number) =>
  by === 'frame'
    ? `begins a new numbering (${before} came before it)`
    : `falls back by ${Math.round(before - now)} ms: its clock was set`;

/** Objects of both frames move in a straight line; those that are only in the first stay where they were. */
function interpolate(before: WireObject[], after: WireObject[], share: number, geodetic: boolean): WireObject[] {
  const next = new Map(after.map((object) => [object.id, object]));
  return before.map((object) => {
    const goal = next.get(object.id);
    if (object.box && goal?.box) {
      const from = object.box;
      return { ...object, box: goal.box.map((value, d) => between(from[d], value, share)) as typeof from };
    }
    if (!object.point || goal?.point?.length !== object.point.length) return object;
    const from = object.point;
    const point = goal.point.map((value, d) => between(from[d], value, share));
    if (geodetic) point[1] = longitudeBetween(from[1], goal.point[1], share);
    return { ...object, point };
  });
}

const between = (from: number, to: number, share: number) => from + (to - from) * share;

/** The short way around, also across the 180th meridian. */
function longitudeBetween(from: number, to: number, share: number): number {
  const turn = ((((to - from + 180) % 360) + 360) % 360) - 180;
  const longitude = from + turn * share;
  return longitude > 180 ? longitude - 360 : longitude < -180 ? longitude + 360 : longitude;
}

interface FeedState {
  lastReceivedMs: number;
  silent: boolean;
  ended: boolean;
}

/** Everything a Pairing knows. Plain JSON. */
export interface PairingState {
  nowMs: number;
  /** null until a feed is known */
  reference: FeedState | null;
  trackers: Record<string, FeedState>;
  lanes: Record<string, LaneState>;
  /** reference parts that came when no tracker was known */
  early: Array<{ part: FramePart; receivedMs: number }>;
}

/** The feeds of one stream. All times are epoch milliseconds and are handed in. */
export class Pairing {
  #settings: PairingSettings;
  #nowMs = 0;
  #reference: FeedState | null = null;
  readonly #trackers = new Map<string, FeedState>();
  readonly #lanes = new Map<string, Lane>();
  #early: PairingState['early'] = [];

  constructor(
    settings: Partial<PairingSettings> = {},
    /** points are latitude and longitude */
    readonly geodetic = false,
  ) {
    this.#settings = { ...PAIRING_DEFAULTS, ...settings };
  }

  /** Other settings from now on; what waits is kept. */
  configure(settings: Partial<PairingSettings>): void {
    this.#settings = { ...PAIRING_DEFAULTS, ...settings };
    for (const [name, lane] of this.#lanes)
      this.#lanes.set(name, new Lane(name, this.#settings, this.geodetic, lane.state));
  }

  /** A reference that says hello, for the first time or again. */
  openReference(nowMs: number): Outcome[] {
    const out = this.advance(nowMs);
    this.#expectReference();
    if (this.#reference!.ended) Object.assign(this.#reference!, { ended: false, lastReceivedMs: this.#nowMs });
    for (const lane of this.#lanes.values()) lane.reopenReference();
    return out;
  }

  /** A tracker that says hello: it is judged from now on. After its end it begins anew. */
  openTracker(name: string, nowMs: number): Outcome[] {
    const out = this.advance(nowMs);
    this.#expectReference();
    const known = this.#trackers.get(name);
    if (known && !known.ended) return out;
    if (known && !this.#lanes.get(name)!.state.finished) out.push({ type: 'finished', tracker: name });
    this.#trackers.set(name, { lastReceivedMs: this.#nowMs, silent: false, ended: false });
    const lane = new Lane(name, this.#settings, this.geodetic);
    lane.state.reference.ended = this.#reference!.ended;
    this.#lanes.set(name, lane);
    for (const { part, receivedMs } of this.#early.splice(0))
      out.push(...lane.push('reference', part, receivedMs, true));
    return out;
  }

  /** Forgets a tracker. */
  dropTracker(name: string): void {
    this.#trackers.delete(name);
    this.#lanes.delete(name);
  }

  push(role: Role, tracker: string | null, part: FramePart, receivedMs: number): Outcome[] {
    const out = this.advance(receivedMs);
    const feed = role === 'reference' ? this.#expectReference() : this.#trackers.get(tracker!);
    if (!feed) throw new Error(`tracker ${tracker} has not been opened`);
    this.#heard(role, tracker, feed, out);
    if (role === 'tracker') out.push(...this.#lanes.get(tracker!)!.push(role, part, this.#nowMs));
    else this.#pushReference(part, out);
    return out;
  }

  /** Time passes. */
  advance(nowMs: number): Outcome[] {
    this.#nowMs = Math.max(this.#nowMs, nowMs);
    const out: Outcome[] = [];
    for (const lane of this.#lanes.values()) out.push(...lane.advance(this.#nowMs));
    const reference = this.#reference;
    if (reference && !reference.silent && !reference.ended && this.#isSilent(reference)) {
      reference.silent = true;
      out.push(silence('reference', null, reference, false));
    }
    return out;
  }

  /** The feed is finished: nobody waits for it any longer. */
  end(role: Role, tracker: string | null, nowMs: number): Outcome[] {
    const out = this.advance(nowMs);
    const feed = role === 'reference' ? this.#expectReference() : this.#trackers.get(tracker!);
    if (!feed || feed.ended) return out;
    feed.ended = true;
    feed.silent = false;
    for (const [name, lane] of this.#lanes)
      if (role === 'reference' || name === tracker) out.push(...lane.end(role, this.#nowMs));
    return out;
  }

  /** When `advance` has something to do at the latest; infinity when only new input matters. */
  deadline(): number {
    let earliest = Number.POSITIVE_INFINITY;
    for (const lane of this.#lanes.values()) earliest = Math.min(earliest, lane.deadline());
    const { lastReceivedMs, silent, ended } = this.#reference ?? { lastReceivedMs: 0, silent: true, ended: false };
    return silent || ended ? earliest : Math.min(earliest, lastReceivedMs + this.#settings.silenceMs);
  }

  /** The evaluator was away until now: the time in between counts for nobody. */
  resume(nowMs: number): void {
    const deltaMs = Math.max(0, nowMs - this.#nowMs);
    this.#nowMs += deltaMs;
    for (const lane of this.#lanes.values()) lane.shift(deltaMs);
    for (const feed of [this.#reference, ...this.#trackers.values()]) if (feed) feed.lastReceivedMs += deltaMs;
    for (const early of this.#early) early.receivedMs += deltaMs;
  }

  /** The feeds, as far as anything was heard of them. */
  feeds(): Array<{ role: Role; tracker: string | null } & FeedState> {
    const reference = this.#reference ? [{ role: 'reference' as const, tracker: null, ...this.#reference }] : [];
    const trackers = [...this.#trackers].map(([tracker, feed]) => ({ role: 'tracker' as const, tracker, ...feed }));
    return [...reference, ...trackers];
  }

  toJSON(): PairingState {
    const lanes = Object.fromEntries([...this.#lanes].map(([name, lane]) => [name, lane.state]));
    const trackers = Object.fromEntries(this.#trackers);
    return { nowMs: this.#nowMs, reference: this.#reference, trackers, lanes, early: this.#early };
  }

  /** Goes on exactly where `toJSON` was called; takes the state over. */
  static fromJSON(state: PairingState, settings: Partial<PairingSettings>, geodetic = false): Pairing {
    const pairing = new Pairing(settings, geodetic);
    pairing.#nowMs = state.nowMs;
    pairing.#reference = state.reference;
    pairing.#early = state.early;
    for (const [name, feed] of Object.entries(state.trackers)) pairing.#trackers.set(name, feed);
    for (const [name, lane] of Object.entries(state.lanes))
      pairing.#lanes.set(name, new Lane(name, pairing.#settings, geodetic, lane));
    return pairing;
  }

  /** A stream has a reference from its first hello on, heard or not. */
  #expectReference(): FeedState {
    this.#reference ??= { lastReceivedMs: this.#nowMs, silent: false, ended: false };
    return this.#reference;
  }

  #pushReference(part: FramePart, out: Outcome[]): void {
    const told = new Set<string>();
    for (const [name, lane] of this.#lanes) {
      this.#silenceTracker(name, lane, out);
      for (const outcome of lane.push('reference', part, this.#nowMs)) {
        // what is wrong with the reference is said once, not by every lane
        const own = 'role' in outcome && outcome.role === 'reference' && outcome.type !== 'missing';
        if (own && told.has(outcome.type)) continue;
        if (own) told.add(outcome.type);
        out.push(outcome);
      }
    }
    if (this.#lanes.size > 0) return;
    this.#early.push({ part, receivedMs: this.#nowMs });
    const { bufferFrames, latenessMs } = this.#settings;
    while (this.#early.length > bufferFrames || this.#early[0].receivedMs + latenessMs < this.#nowMs)
      this.#early.shift();
  }

  /** A tracker is silent when the reference has gone on for silenceMs without it. */
  #silenceTracker(name: string, lane: Lane, out: Outcome[]): void {
    const feed = this.#trackers.get(name)!;
    if (feed.silent || feed.ended || !this.#isSilent(feed)) return;
    feed.silent = true;
    lane.state.silent = true;
    out.push(silence('tracker', name, feed, false));
  }

  #isSilent(feed: FeedState): boolean {
    return this.#nowMs - feed.lastReceivedMs >= this.#settings.silenceMs;
  }

  #heard(role: Role, tracker: string | null, feed: FeedState, out: Outcome[]): void {
    if (feed.silent) out.push(silence(role, tracker, feed, true));
    feed.silent = false;
    feed.lastReceivedMs = this.#nowMs;
    if (role === 'tracker') this.#lanes.get(tracker!)!.state.silent = false;
  }
}

const silence = (role: Role, tracker: string | null, feed: FeedState, over: boolean): Silence => ({
  type: 'silence',
  role,
  tracker,
  since: feed.lastReceivedMs,
  over,
});
