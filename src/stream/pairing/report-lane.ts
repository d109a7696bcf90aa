/**
 * The reference and one tracker when at least one of them reports its objects one by one. Steps are judged at the
 * tracker's times, the reference's, or on a grid; where everybody is then is read from trajectories. A step closes when
 * both feeds have gone past it by the allowed lateness, have ended, or latenessMs are over since it was due.
 *
 * The reference's objects that should have been heard of again are unclear: neither they nor the tracks close to them
 * are judged. A track that is not heard of again has ended.
 */
import type { PairingSettings, ReportSettings } from '../../config/config.js';
import { addInterval, noIntervals, usualInterval } from '../../trajectories/report-intervals.js';
import { type Picture, Trajectories, type Untaken } from '../../trajectories/trajectories.js';
import type { Role } from '../../wire/feed.js';
import { type FeedPart, NO_OBJECTS } from '../../wire/objects.js';
import { type Arrived, insert, type Placed } from '../../wiring/resampling.js';
import { ENDED, irregularity, MISSED, refusal, SUSPENDED } from './irregularity.js';
import { closeUpTo, type LaneState, newLane, type ReportingState } from './lane-state.js';
import { awaitFeed, returnFeed, reviewResuming, shiftResuming } from './resuming.js';
import type { Outcome, Step, UntakenReports } from './step.js';

const NOTHING: readonly Outcome[] = [];
/** share of bufferFrames that may wait for a feed that is coming back, before acks wait too */
const AHEAD_SHARE = 0.5;

export class ReportLane {
  #out: Outcome[] = [];
  readonly #own: ReportingState;
  readonly #tracks: Trajectories;
  readonly holding = false;

  constructor(
    readonly tracker: string,
    readonly settings: PairingSettings,
    readonly rules: ReportSettings,
    readonly geodetic: boolean,
    /** of the reference; null while it does not report */
    readonly truths: Trajectories | null,
    readonly state: LaneState = newLane(),
  ) {
    state.by = 'time';
    state.reports ??= {
      reference: false,
      tracker: false,
      clock: null,
      gridMs: null,
      nextMs: null,
      spacing: noIntervals(),
      tracks: null,
    };
    this.#own = state.reports;
    this.#own.reference = truths !== null;
    this.#tracks = new Trajectories(rules, geodetic, this.#own.tracks ?? undefined);
    this.#chooseClock();
  }

  /** What is to be stored. */
  save(): LaneState {
    if (this.#own.tracker) this.#own.tracks = this.#tracks.toJSON();
    return this.state;
  }

  /** A part of this tracker, or of a reference whose parts are frames. */
  push(role: Role, arrived: Arrived): readonly Outcome[] {
    const { state } = this;
    const { part, sinceMs, receivedMs } = arrived;
    if (state.finished) return NOTHING;
    returnFeed(state, role, sinceMs);
    if (state[role].ended) {
      this.#report('late', role, part, ENDED);
      return this.#outcomes();
    }
    const first = !state[role].delivered;
    state[role].delivered = true;
    if (role === 'tracker' && first) this.#own.tracker = isReports(part);
    this.#chooseClock();
    const timeMs = part.t === undefined ? receivedMs : part.t * 1000;
    if (role === 'tracker' && (this.#own.tracker || this.#own.clock === 'grid')) this.#pushTracks(arrived);
    else this.#pushFrame(role, { ...arrived, x: timeMs });
    this.#review(sinceMs);
    this.#drain(Number.NEGATIVE_INFINITY);
    return this.#outcomes();
  }

  /** The reference has reported. */
  heard(timeMs: number, receivedMs: number): readonly Outcome[] {
    const { state } = this;
    if (state.finished) return NOTHING;
    returnFeed(state, 'reference', receivedMs);
    state.reference.delivered = true;
    this.#chooseClock();
    if (this.#own.clock === 'reference') this.#place('reference', timeMs, receivedMs);
    this.#extend(receivedMs);
    this.#drain(Number.NEGATIVE_INFINITY);
    return this.#outcomes();
  }

  #chooseClock(): void {
    const { state, rules } = this;
    const own = this.#own;
    if (own.clock !== null || !state.tracker.delivered) return;
    if (rules.steps !== 'auto') own.clock = rules.steps;
    else if (!own.tracker) own.clock = 'tracker';
    else own.clock = own.reference ? 'grid' : 'reference';
    // without trajectories of the reference its parts are the only times there are
    if (!own.reference && own.clock !== 'reference') own.clock = 'reference';
  }

  #pushTracks({ part, receivedMs, sinceMs }: Arrived): void {
    const before = this.#tracks.newestMs;
    this.#out.push(...untakenReports('tracker', this.tracker, this.#tracks.add('', part, receivedMs)));
    const { newestMs } = this.#tracks;
    if (newestMs <= before) return;
    this.state.tracker.high = newestMs;
    if (before > 0) addInterval(this.#own.spacing, newestMs - before);
    if (this.#own.clock === 'tracker') this.#place('tracker', newestMs, sinceMs);
    this.#extend(sinceMs);
  }

  /** A frame of the feed whose times are judged. */
  #pushFrame(role: Role, placed: Placed): void {
    const side = this.state[role];
    if (side.recent.includes(placed.x)) {
      this.#report('duplicate', role, placed.part, refusal('duplicate', this.settings));
      return;
    }
    if (placed.x <= side.closedUpTo) {
      this.#report('late', role, placed.part, refusal('late', this.settings));
      return;
    }
    side.recent.push(placed.x);
    if (side.recent.length > 256) side.recent.splice(0, 128);
    if (role === 'tracker' && side.high > 0) addInterval(this.#own.spacing, placed.x - side.high);
    side.high = Math.max(side.high, placed.x);
    insert(side.pending, placed);
  }

  #place(role: Role, x: number, sinceMs: number): void {
    const side = this.state[role];
    const newest = side.pending[side.pending.length - 1]?.x ?? side.closedUpTo;
    if (x <= newest) return;
    const part: FeedPart = { seq: 0, t: x / 1000, objects: NO_OBJECTS };
    side.pending.push({ x, part, receivedMs: sinceMs, sinceMs });
  }

  /** Places of the grid, and of a tracker that has fallen silent, up to the newest report. */
  #extend(nowMs: number): void {
    const own = this.#own;
    if (own.clock === 'grid') this.#extendGrid(nowMs);
    else if (own.clock === 'tracker' && this.state.silent && this.truths) this.#extendSilent(nowMs);
  }

  #extendGrid(nowMs: number): void {
    const own = this.#own;
    if (!this.truths) return;
    own.gridMs ??= this.rules.gridMs ?? this.#slowerMedian();
    if (own.gridMs === null) return;
    const { gridMs } = own;
    const begin = Math.max(this.truths.firstMs, this.#tracks.firstMs);
    const newest = Math.max(this.truths.newestMs, this.#tracks.newestMs);
    own.nextMs ??= Math.ceil(begin / gridMs) * gridMs;
    // after a pause nobody wants to be told of every step in it
    const earliest = newest - gridMs * this.settings.bufferFrames;
    if (own.nextMs < earliest) own.nextMs = Math.ceil(earliest / gridMs) * gridMs;
    for (; own.nextMs <= newest; own.nextMs += gridMs) this.#place('tracker', own.nextMs, nowMs);
  }

  #slowerMedian(): number | null {
    const [slow, fast] = [this.truths!.medianIntervalMs, this.#tracks.medianIntervalMs];
    return slow === null || fast === null ? null : Math.max(1, Math.round(Math.max(slow, fast)));
  }

  #extendSilent(nowMs: number): void {
    const spacing = usualInterval(this.#own.spacing, 0.5);
    const { tracker } = this.state;
    if (spacing === null || tracker.closedUpTo <= 0) return;
    const last = tracker.pending[tracker.pending.length - 1]?.x ?? tracker.closedUpTo;
    const from = Math.max(last, this.truths!.newestMs - spacing * this.settings.bufferFrames);
    for (let x = from + spacing; x <= this.truths!.newestMs; x += spacing) this.#place('tracker', x, nowMs);
  }

  advance(nowMs: number): readonly Outcome[] {
    this.#review(nowMs);
    this.#extend(nowMs);
    this.#drain(nowMs);
    return this.#outcomes();
  }

  await(role: Role, nowMs: number): void {
    awaitFeed(this.state, role, nowMs, this.settings);
  }

  isAhead(): boolean {
    return this.state.resuming !== null && this.#pending.length >= this.settings.bufferFrames * AHEAD_SHARE;
  }

  #review(nowMs: number): void {
    if (this.state.resuming) reviewResuming(this.state, this.#pending[0], nowMs, this.settings);
  }

  get #pending(): Placed[] {
    const { reference, tracker } = this.state;
    return this.#own.clock === 'reference' ? reference.pending : tracker.pending;
  }

  #dueMs(sinceMs: number): number {
    const { resuming, countsFromMs } = this.state;
    return resuming ? Number.POSITIVE_INFINITY : Math.max(sinceMs, countsFromMs) + this.settings.latenessMs;
  }

  end(role: Role, nowMs: number): readonly Outcome[] {
    const { state } = this;
    returnFeed(state, role, nowMs);
    state[role].ended = true;
    if (role === 'tracker') state.endedMs = nowMs;
    this.#drain(Number.NEGATIVE_INFINITY);
    return this.#outcomes();
  }

  reopenReference(): void {
    this.state.reference.ended = false;
  }

  deadline(): number {
    const { state } = this;
    if (state.finished) return Number.POSITIVE_INFINITY;
    if (state.resuming) return state.resuming.checkMs;
    const first = this.#pending[0];
    if (first) return this.#dueMs(first.sinceMs);
    return state.tracker.ended ? this.#dueMs(state.endedMs) : Number.POSITIVE_INFINITY;
  }

  shift(deltaMs: number): void {
    for (const { pending } of [this.state.reference, this.state.tracker])
      for (const placed of pending) placed.sinceMs += deltaMs;
    this.state.endedMs += deltaMs;
    shiftResuming(this.state, deltaMs);
  }

  #outcomes(): readonly Outcome[] {
    const out = this.#out;
    if (out.length === 0) return NOTHING;
    this.#out = [];
    return out;
  }

  #report(type: 'late' | 'duplicate' | 'missing', role: Role, part: Pick<FeedPart, 'k' | 't'>, message: string): void {
    this.#out.push(irregularity(type, role, this.tracker, part, 1, message));
  }

  #drain(nowMs: number): void {
    const { state } = this;
    while (this.#close(nowMs));
    if (!state.tracker.ended || state.finished || this.#pending.length > 0) return;
    const isOver =
      state.reference.ended || nowMs >= this.#dueMs(state.endedMs) || this.#hasPassed('reference', state.tracker.high);
    if (!isOver) return;
    state.finished = true;
    state.resuming = null;
    this.#out.push({ type: 'finished', tracker: this.tracker });
  }

  /** Whether nothing of this feed about a place is still to come, unless late. */
  #hasPassed(role: Role, x: number): boolean {
    const side = this.state[role];
    if (side.ended) return true;
    const trajectories = role === 'reference' ? this.truths : this.#own.tracker ? this.#tracks : null;
    if (trajectories) return trajectories.newestMs >= x + this.settings.latenessMs;
    return side.high >= x;
  }

  #close(nowMs: number): boolean {
    const pending = this.#pending;
    const next = pending[0];
    if (!next) return false;
    const known = this.#hasPassed('reference', next.x) && this.#hasPassed('tracker', next.x);
    const isDue = nowMs >= this.#dueMs(next.sinceMs) || pending.length > this.settings.bufferFrames;
    if (!known && !isDue) return false;
    pending.shift();
    closeUpTo(this.state.reference, next.x);
    closeUpTo(this.state.tracker, next.x);
    if (!this.#concerns(next.x)) return true;
    if (this.#speaks(next.x)) this.#step(next);
    else this.#report('missing', 'reference', next.part, SUSPENDED);
    this.#tracks.close(next.x);
    return true;
  }

  /** Whether a place is the tracker's business: not after the last that it said before it ended. */
  #concerns(x: number): boolean {
    const { ended, high } = this.state.tracker;
    return !ended || x <= high;
  }

  /** Whether the reference has anything to say about a place. */
  #speaks(x: number): boolean {
    const { truths } = this;
    if (!truths) return true;
    const { firstMs, newestMs } = truths;
    return x >= firstMs && x <= newestMs + (this.state.reference.ended ? 0 : this.#heldMs(truths));
  }

  /**
   * How long the last report of a truth speaks for it: not at all where the next one is waited for, else until it
   * should have come.
   */
  #heldMs(truths: Trajectories): number {
    const { timelyMs } = truths;
    if (timelyMs === null || timelyMs <= this.settings.latenessMs) return 0;
    return Math.min(this.rules.greatestGapMs, timelyMs);
  }

  #step(next: Placed): void {
    const { x, part } = next;
    const { state, truths } = this;
    const truth: Picture = truths ? truths.at(x, this.#heldMs(truths)) : { objects: part.objects, unclear: NO_OBJECTS };
    const own = this.#own;
    const isSilent = state.silent && own.clock === 'tracker' && part.seq === 0;
    const sampled = own.tracker || own.clock === 'grid';
    const tracks = sampled ? this.#tracks.at(x, this.#trackHeldMs(x)).objects : isSilent ? NO_OBJECTS : part.objects;
    if (isSilent) this.#report('missing', 'tracker', part, MISSED);
    const k = part.k ?? state.steps + 1;
    state.steps++;
    const { receivedMs } = next;
    const step: Step = {
      type: 'step',
      tracker: this.tracker,
      k,
      t: x / 1000,
      reference: truth.objects,
      tracks,
      receivedMs,
    };
    if (truth.unclear.ids.length > 0) step.unclear = truth.unclear;
    if (part.ignore) step.ignore = part.ignore;
    this.#out.push(step);
  }

  /** A track ends with its last report, unless the next one may still be under way. */
  #trackHeldMs(x: number): number {
    const { timelyMs, newestMs } = this.#tracks;
    const waited = newestMs - x >= this.settings.latenessMs || this.state.tracker.ended;
    const isEnough = timelyMs === null || timelyMs <= this.settings.latenessMs;
    return waited && isEnough ? 0 : Math.min(this.rules.greatestGapMs, timelyMs ?? this.rules.greatestGapMs);
  }
}

/** Whether the objects of a part have times of their own: then those that are absent are not gone. */
export const isReports = ({ reports, objects }: FeedPart): boolean => reports === true || objects.times !== undefined;

/** Reports that were not taken, as outcomes. */
export const untakenReports = (role: Role, tracker: string | null, untaken: Untaken): UntakenReports[] =>
  (Object.entries(untaken) as Array<[keyof Untaken, number]>).flatMap(([rule, count]) =>
    count > 0 ? [{ type: 'untaken', role, tracker, rule, count }] : [],
  );
