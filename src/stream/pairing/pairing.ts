/**
 * Joins the feeds of one stream into steps: what the reference and a tracker say about the same moment. A pure state
 * machine: it knows no clock but the times handed to it, and its state is plain JSON.
 *
 * Each tracker is paired with the reference in a lane of its own, so a slow tracker holds up nobody else. A lane works
 * on one axis, frame numbers or times, and closes steps in the order of that axis. A step closes when both feeds have
 * delivered it, or when a feed that has not will not: it has gone past it (by more than latenessFrames of its own
 * parts), it has ended, or latenessMs are over since the other feed delivered it. Any arrival order within these limits
 * gives the same steps. That time is over is said by `advance` alone: a part of one feed proves nothing about another,
 * whose own part may have come and not been read yet. A step without the tracker is judged with no tracks; without the
 * reference it is not judged.
 *
 * A tracker that publishes only on change, or every n-th frame, is held: its last part speaks for every step up to a
 * greatest age, so that its silence between two messages is no miss. The same for a reference, which may also be
 * interpolated.
 */

import type { PairingSettings, ReportSettings } from '../../config/config.js';
import { Trajectories, type TrajectoriesState } from '../../trajectories/trajectories.js';
import type { Silence } from '../../wire/events.js';
import type { Role } from '../../wire/feed.js';
import type { FeedPart, PackedList } from '../../wire/objects.js';
import type { Arrived } from '../../wiring/resampling.js';
import { Lane } from './lane.js';
import type { LaneState } from './lane-state.js';
import { isReports, ReportLane, untakenReports } from './report-lane.js';
import type { Outcome } from './step.js';

interface FeedState {
  /** epoch milliseconds, for people */
  lastReceivedMs: number;
  /** since when nothing was heard of it, by the clock of the pairing, which time away does not move */
  quietMs: number;
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
  /** the newest reference parts, without a hole, while trackers may still come that they concern */
  early: Arrived[];
  /** when the last new tracker came, by the clock of the pairing; absent in states of earlier versions */
  joinedMs?: number;
  /** of references that report their objects one by one */
  truths?: TrajectoriesState;
  /** references by name, and whether they have ended; those that are told apart at all */
  references?: Array<[name: string, ended: boolean]>;
}

/** The feeds of one stream. All times are epoch milliseconds and are handed in. */
export class Pairing {
  #settings: PairingSettings;
  #nowMs = 0;
  #reference: FeedState | null = null;
  readonly #trackers = new Map<string, FeedState>();
  readonly #lanes = new Map<string, Lane | ReportLane>();
  #early: PairingState['early'] = [];
  #joinedMs = Number.NEGATIVE_INFINITY;
  #truths: Trajectories | null = null;
  /** references by name, and whether they have ended */
  readonly #references = new Map<string, boolean>();

  constructor(
    settings: PairingSettings,
    private reports: ReportSettings,
    /** points are latitude and longitude */
    readonly geodetic = false,
  ) {
    this.#settings = settings;
  }

  /** Other settings from now on; what waits is kept. */
  configure(settings: PairingSettings, reports = this.reports): void {
    this.#settings = settings;
    this.reports = reports;
    if (this.#truths) this.#truths = new Trajectories(reports, this.geodetic, this.#truths.toJSON());
    for (const [name, lane] of this.#lanes) this.#lanes.set(name, this.#laneFrom(name, stateOf(lane)));
  }

  #laneFrom(name: string, state?: LaneState): Lane | ReportLane {
    return this.#truths || state?.reports
      ? new ReportLane(name, this.#settings, this.reports, this.geodetic, this.#truths, state)
      : new Lane(name, this.#settings, this.geodetic, state);
  }

  /** The reports of the reference: how often they come, and how long they are waited for; null without any. */
  get timeliness(): { timelyMs: number; latenessMs: number } | null {
    const timelyMs = this.#truths?.timelyMs ?? null;
    return timelyMs === null ? null : { timelyMs, latenessMs: this.#settings.latenessMs };
  }

  /** A reference that says hello, for the first time or again; several of them have names. */
  openReference(nowMs: number, name: string | null = null): Outcome[] {
    this.#reach(nowMs);
    this.#expectReference();
    this.#references.set(nameOf(name), false);
    if (this.#reference!.ended) {
      Object.assign(this.#reference!, this.#newFeed());
      if (!this.#isAsked()) this.#truths?.restart();
    }
    for (const lane of this.#lanes.values()) lane.reopenReference();
    return [];
  }

  /** A tracker that says hello: it is judged from now on. After its end it begins anew. */
  openTracker(name: string, nowMs: number): Outcome[] {
    this.#reach(nowMs);
    const out: Outcome[] = [];
    this.#expectReference();
    const known = this.#trackers.get(name);
    if (known && !known.ended) return out;
    if (known && !this.#lanes.get(name)!.state.finished) out.push({ type: 'finished', tracker: name });
    this.#trackers.set(name, this.#newFeed());
    const lane = this.#laneFrom(name);
    lane.state.reference.ended = this.#reference!.ended;
    for (const other of this.#lanes.values())
      if (other.state.resuming?.absent.includes('reference')) lane.await('reference', this.#nowMs);
    this.#dropEarly();
    this.#lanes.set(name, lane);
    this.#joinedMs = this.#nowMs;
    if (!this.#truths) for (const early of this.#early) out.push(...lane.push('reference', { ...early }));
    return out;
  }

  /** Forgets a tracker. */
  dropTracker(name: string): void {
    this.#trackers.delete(name);
    this.#lanes.delete(name);
  }

  push(role: Role, tracker: string | null, part: FeedPart, receivedMs: number): Outcome[] {
    this.#reach(receivedMs);
    const out: Outcome[] = [];
    const feed = role === 'reference' ? this.#expectReference() : this.#trackers.get(tracker!);
    if (!feed) throw new Error(`tracker ${tracker} has not been opened`);
    const lane = role === 'tracker' ? tracker : null;
    this.#afterPause(role, lane, feed);
    this.#heard(role, lane, feed, out);
    const arrived = { part, receivedMs: this.#nowMs, sinceMs: this.#nowMs };
    if (role === 'tracker') addAll(out, this.#trackerLane(tracker!, part).push(role, arrived));
    else if (this.#truths || isReports(part) || this.#references.size > 1)
      this.#pushReports(nameOf(tracker), arrived, out);
    else this.#pushReference(arrived, out);
    if (this.#truths) this.#truths.close(this.#closedUpTo());
    return out;
  }

  /** The lane of a tracker that turns out to report its objects one by one is another one from then on. */
  #trackerLane(name: string, part: FeedPart): Lane | ReportLane {
    const lane = this.#lanes.get(name)!;
    if (lane instanceof ReportLane || !isReports(part)) return lane;
    return this.#becomeReporting(name, lane, []);
  }

  /** What waits goes along; frames of a reference are still frames. */
  #becomeReporting(name: string, { state }: Lane, out: Outcome[]): ReportLane {
    const lane = new ReportLane(name, this.#settings, this.reports, this.geodetic, this.#truths);
    lane.state.silent = state.silent;
    lane.state.reference.ended = state.reference.ended;
    this.#lanes.set(name, lane);
    const waiting = [
      ...state.undecided,
      ...state.reference.pending.map((placed) => ({ role: 'reference' as const, ...placed })),
      ...state.tracker.pending.map((placed) => ({ role: 'tracker' as const, ...placed })),
    ];
    for (const { role, ...arrived } of waiting)
      if (role === 'tracker' || !this.#truths) addAll(out, lane.push(role, arrived));
    return lane;
  }

  /** Reports of a reference, or frames of one of several, whose objects are read as reports. */
  #pushReports(feed: string, { part, receivedMs }: Arrived, out: Outcome[]): void {
    if (!this.#truths) {
      this.#truths = new Trajectories(this.reports, this.geodetic);
      for (const early of this.#early) this.#truths.add('', early.part, early.receivedMs);
      this.#early = [];
      for (const [name, lane] of this.#lanes)
        if (lane instanceof ReportLane) this.#lanes.set(name, this.#laneFrom(name, lane.save()));
        else this.#becomeReporting(name, lane, out);
    }
    const truths = this.#truths;
    const known = { ...part, objects: commonIds(part.objects, feed.slice(1), this.reports) };
    out.push(...untakenReports('reference', null, truths.add(feed, known, receivedMs)));
    for (const lane of this.#lanes.values())
      if (lane instanceof ReportLane) addAll(out, lane.heard(truths.newestMs, this.#nowMs));
  }

  /** Whether a tracker has been heard of that has not ended: for it the reference goes on. */
  #isAsked(): boolean {
    return [...this.#lanes.values()].some(({ state }) => !state.finished && state.tracker.delivered);
  }

  /** Nobody asks about a time up to this one again. */
  #closedUpTo(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const { state } of this.#lanes.values())
      if (!state.finished) least = Math.min(least, state.tracker.closedUpTo);
    // without trackers only what a tracker may still ask about is kept
    const newest = this.#truths!.newestMs - this.#settings.latenessMs;
    return least === Number.POSITIVE_INFINITY ? newest : least;
  }

  #reach(nowMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, nowMs);
  }

  /** Time passes: everything that came before `nowMs` has been pushed. */
  advance(nowMs: number): Outcome[] {
    this.#reach(nowMs);
    const out: Outcome[] = [];
    for (const [name, lane] of this.#lanes) {
      addAll(out, lane.advance(nowMs));
      if (this.#isSilentTracker(name, lane, nowMs)) this.#silenceTracker(name, lane, out);
    }
    if (this.#early.length > 0) this.#dropEarly();
    const reference = this.#reference;
    if (reference && !reference.silent && !reference.ended && this.#isSilentReference(reference, nowMs)) {
      reference.silent = true;
      out.push(silence('reference', null, reference, false));
    }
    return out;
  }

  /** The feed is finished: nobody waits for it any longer. */
  end(role: Role, tracker: string | null, nowMs: number): Outcome[] {
    this.#reach(nowMs);
    const out: Outcome[] = [];
    const feed = role === 'reference' ? this.#expectReference() : this.#trackers.get(tracker!);
    if (!feed || feed.ended) return out;
    if (role === 'reference') this.#references.set(nameOf(tracker), true);
    // the reference has ended when all of them have
    if (role === 'reference' && [...this.#references.values()].some((ended) => !ended)) return out;
    feed.ended = true;
    feed.silent = false;
    for (const [name, lane] of this.#lanes)
      if (role === 'reference' || name === tracker) out.push(...lane.end(role, this.#nowMs));
    return out;
  }

  /** When `advance` has something to do at the latest; infinity when only new input matters. */
  deadline(): number {
    let earliest = Number.POSITIVE_INFINITY;
    for (const [name, lane] of this.#lanes)
      earliest = Math.min(earliest, this.#isSilentTracker(name, lane) ? this.#nowMs : lane.deadline());
    const reference = this.#reference;
    if (!reference || reference.silent || reference.ended) return earliest;
    return Math.min(earliest, this.#countsFrom('reference', null, reference) + this.#settings.silenceMs);
  }

  /** The connection of a feed is gone, and it did not say that this was the end. */
  cut(role: Role, tracker: string | null, nowMs: number): Outcome[] {
    this.#reach(nowMs);
    const feed = role === 'reference' ? this.#reference : this.#trackers.get(tracker!);
    if (feed) this.#await(role, role === 'tracker' ? tracker : null, feed);
    return [];
  }

  /**
   * The evaluator was away until now: that time counts for nobody, and the feeds have to come back. Unless told how
   * long it was, it was since the last record; the clock may have been set back meanwhile.
   */
  resume(nowMs: number, awayMs = nowMs - this.#nowMs): void {
    this.#nowMs = nowMs;
    for (const lane of this.#lanes.values()) lane.shift(awayMs);
    for (const early of this.#early) early.sinceMs += awayMs;
    this.#joinedMs += awayMs;
    if (this.#reference) this.#resumeFeed('reference', null, this.#reference, awayMs);
    for (const [name, feed] of this.#trackers) this.#resumeFeed('tracker', name, feed, awayMs);
  }

  #resumeFeed(role: Role, tracker: string | null, feed: FeedState, awayMs: number): void {
    feed.quietMs += awayMs;
    this.#await(role, tracker, feed);
  }

  /** Whether somebody is waited for who was cut off, or has not caught up yet. */
  get resuming(): boolean {
    for (const { state } of this.#lanes.values()) if (state.resuming) return true;
    return false;
  }

  /** Whether a feed must not send more until another one is back. */
  isAhead(tracker: string | null): boolean {
    if (tracker !== null && nameOf(tracker) === '') return this.#lanes.get(tracker)?.isAhead('tracker') ?? false;
    for (const lane of this.#lanes.values()) if (lane.isAhead('reference')) return true;
    return false;
  }

  /** The feeds, as far as anything was heard of them; `awaited` while one that was cut off is not back. */
  feeds(): Array<{ role: Role; tracker: string | null; awaited: boolean } & FeedState> {
    const feeds: Array<[Role, string | null, FeedState]> = [];
    if (this.#reference) feeds.push(['reference', null, this.#reference]);
    for (const [name, feed] of this.#trackers) feeds.push(['tracker', name, feed]);
    return feeds.map(([role, tracker, feed]) => {
      const awaited = this.#lanesOf(tracker).some(({ state }) => state.resuming?.absent.includes(role) ?? false);
      return { role, tracker, ...feed, awaited };
    });
  }

  toJSON(): PairingState {
    const lanes = Object.fromEntries([...this.#lanes].map(([name, lane]) => [name, stateOf(lane)]));
    const trackers = Object.fromEntries(this.#trackers);
    const state: PairingState = { nowMs: this.#nowMs, reference: this.#reference, trackers, lanes, early: this.#early };
    if (this.#truths) state.truths = this.#truths.toJSON();
    if (this.#references.size > 0) state.references = [...this.#references];
    if (Number.isFinite(this.#joinedMs)) state.joinedMs = this.#joinedMs;
    return state;
  }

  /** Resumes exactly where `toJSON` was called; owns the state from then on. */
  static fromJSON(state: PairingState, settings: PairingSettings, reports: ReportSettings, geodetic = false): Pairing {
    const pairing = new Pairing(settings, reports, geodetic);
    if (state.truths) pairing.#truths = new Trajectories(pairing.reports, geodetic, state.truths);
    for (const [name, ended] of state.references ?? []) pairing.#references.set(name, ended);
    pairing.#nowMs = state.nowMs;
    pairing.#reference = state.reference;
    pairing.#early = state.early;
    pairing.#joinedMs = state.joinedMs ?? Number.NEGATIVE_INFINITY;
    for (const [name, feed] of Object.entries(state.trackers)) pairing.#trackers.set(name, feed);
    for (const [name, lane] of Object.entries(state.lanes)) pairing.#lanes.set(name, pairing.#laneFrom(name, lane));
    return pairing;
  }

  /** A stream has a reference from its first hello on, heard or not. */
  #expectReference(): FeedState {
    this.#reference ??= this.#newFeed();
    return this.#reference;
  }

  #newFeed(): FeedState {
    return { lastReceivedMs: this.#nowMs, quietMs: this.#nowMs, silent: false, ended: false };
  }

  #pushReference(arrived: Arrived, out: Outcome[]): void {
    const reported: string[] = [];
    for (const lane of this.#lanes.values()) {
      for (const outcome of lane.push('reference', arrived)) {
        // what is wrong with the reference is said once, not by every lane
        const own = 'role' in outcome && outcome.role === 'reference' && outcome.type !== 'missing';
        if (own && reported.includes(outcome.type)) continue;
        if (own) reported.push(outcome.type);
        out.push(outcome);
      }
    }
    // spread, each of them would have a shape of its own, larger than itself
    const { part, receivedMs, sinceMs } = arrived;
    if (this.#othersMayCome) this.#early.push({ part, receivedMs, sinceMs, optional: true });
    if (this.#early.length > 0) this.#dropEarly();
  }

  /** Trackers of a stream come one after the other: those that follow soon begin where the first one did. */
  get #othersMayCome(): boolean {
    return this.#lanes.size === 0 || this.#nowMs - this.#joinedMs <= this.#settings.latenessMs;
  }

  /** What is kept reaches up to the newest part: a tracker would take a hole in it for a gap of the reference. */
  #dropEarly(): void {
    const { bufferFrames, latenessMs } = this.#settings;
    if (!this.#othersMayCome) this.#early = [];
    const early = this.#early;
    let count = Math.max(0, early.length - bufferFrames);
    while (count < early.length && early[count].sinceMs + latenessMs < this.#nowMs) count++;
    if (count > 0) early.splice(0, count);
  }

  /** The lanes that a feed is in. */
  #lanesOf(tracker: string | null): Array<Lane | ReportLane> {
    return tracker === null ? [...this.#lanes.values()] : [this.#lanes.get(tracker)!];
  }

  /** Waits for a feed to come back; not for one that had ended, or was given up before. */
  #await(role: Role, tracker: string | null, { silent, ended }: FeedState): void {
    if (!silent && !ended) for (const lane of this.#lanesOf(tracker)) lane.await(role, this.#nowMs);
  }

  /** A part after both feeds of a lane were quiet, as when a network pauses: the other one gets the time to follow. */
  #afterPause(role: Role, tracker: string | null, feed: FeedState): void {
    const { silenceMs } = this.#settings;
    const isQuiet = ({ quietMs }: FeedState) => this.#nowMs - quietMs >= silenceMs;
    if (!this.#reference!.silent || !isQuiet(feed)) return;
    for (const [name, lane] of this.#lanes) {
      const { reference, tracker: side } = lane.state;
      if (!reference.delivered || !side.delivered) continue;
      if (name === tracker) lane.await('reference', this.#nowMs);
      else if (role === 'reference' && isQuiet(this.#trackers.get(name)!))
        this.#await('tracker', name, this.#trackers.get(name)!);
    }
  }

  /**
   * A tracker is silent when the reference has gone on for silenceMs without it. A tick may be older than what is
   * known, as several processes write one log: it says nothing of what the tracker sent after it was due.
   */
  #isSilentTracker(name: string, lane: Lane | ReportLane, nowMs = this.#nowMs): boolean {
    const feed = this.#trackers.get(name)!;
    if (feed.silent || feed.ended || !this.#reference) return false;
    const aloneMs = Math.min(this.#reference.quietMs, nowMs) - this.#countsFrom('tracker', name, feed);
    return aloneMs >= this.#settings.silenceMs && !lane.holding;
  }

  #silenceTracker(name: string, lane: Lane | ReportLane, out: Outcome[]): void {
    const feed = this.#trackers.get(name)!;
    feed.silent = true;
    lane.state.silent = true;
    out.push(silence('tracker', name, feed, false));
  }

  #isSilentReference(reference: FeedState, nowMs: number): boolean {
    return nowMs - this.#countsFrom('reference', null, reference) >= this.#settings.silenceMs;
  }

  /** From when on silence counts: since the last part, and not while somebody is coming back. */
  #countsFrom(role: Role, tracker: string | null, { quietMs }: FeedState): number {
    let fromMs = quietMs;
    for (const { state } of role === 'reference' ? this.#lanes.values() : [this.#lanes.get(tracker!)!])
      fromMs = Math.max(fromMs, state.resuming ? Number.POSITIVE_INFINITY : state.countsFromMs);
    return fromMs;
  }

  #heard(role: Role, tracker: string | null, feed: FeedState, out: Outcome[]): void {
    if (feed.silent) out.push(silence(role, tracker, feed, true));
    feed.silent = false;
    feed.lastReceivedMs = feed.quietMs = this.#nowMs;
    if (role === 'tracker') this.#lanes.get(tracker!)!.state.silent = false;
  }
}

/** The name of one of several references; empty for the only one. */
const nameOf = (feed: string | null): string => (feed?.startsWith('@') ? feed : '');

/** The objects of a reference under the ids that all references of a stream have in common. */
function commonIds(
  objects: PackedList,
  feed: string,
  { ownIds = [], idMap = {} }: Partial<ReportSettings>,
): PackedList {
  const map = Object.hasOwn(idMap, feed) ? idMap[feed] : {};
  const isOwn = ownIds.includes(feed);
  if (!isOwn && Object.keys(map).length === 0) return objects;
  const common = (id: string) => (Object.hasOwn(map, id) ? map[id] : isOwn ? `${feed}:${id}` : id);
  return { ...objects, ids: objects.ids.map(common) };
}

const stateOf = (lane: Lane | ReportLane): LaneState => (lane instanceof ReportLane ? lane.save() : lane.state);

function addAll(out: Outcome[], more: readonly Outcome[]): void {
  for (const outcome of more) out.push(outcome);
}

const silence = (role: Role, tracker: string | null, feed: FeedState, over: boolean): Silence => ({
  type: 'silence',
  role,
  tracker,
  since: feed.lastReceivedMs,
  over,
});
