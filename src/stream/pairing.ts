/**
 * Joins the feeds of one stream into steps: what the reference and a tracker say about the same moment (DESIGN 5). A
 * pure state machine: it knows no clock but the times handed to it, and its state is plain JSON.
 *
 * Each tracker is paired with the reference in a lane of its own, so a slow tracker holds up nobody else. A lane works
 * on one axis, frame numbers or times, and closes steps in the order of that axis. A step closes when both feeds have
 * delivered it, or when a feed that has not will not: it has gone past it (by more than latenessFrames of its own
 * parts), it has ended, or latenessMs are over since the other feed delivered it. Any arrival order within these limits
 * gives the same steps. A step without the tracker is judged with no tracks; without the reference it is not judged.
 *
 * A tracker that publishes only on change, or every n-th frame, is held: its last part speaks for every step up to a
 * greatest age, so that its silence between two messages is no miss. The same for a reference, which may also be
 * interpolated.
 */

import type { PairingSettings } from '../config/config.js';
import type { Silence } from '../wire/events.js';
import type { Role } from '../wire/feed.js';
import type { FeedPart } from '../wire/objects.js';
import { Lane } from './lane.js';
import type { LaneState } from './lane-state.js';
import type { Outcome } from './step.js';

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
  early: Array<{ part: FeedPart; receivedMs: number }>;
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
    settings: PairingSettings,
    /** points are latitude and longitude */
    readonly geodetic = false,
  ) {
    this.#settings = settings;
  }

  /** Other settings from now on; what waits is kept. */
  configure(settings: PairingSettings): void {
    this.#settings = settings;
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

  push(role: Role, tracker: string | null, part: FeedPart, receivedMs: number): Outcome[] {
    const out = this.advance(receivedMs);
    const feed = role === 'reference' ? this.#expectReference() : this.#trackers.get(tracker!);
    if (!feed) throw new Error(`tracker ${tracker} has not been opened`);
    this.#heard(role, tracker, feed, out);
    if (role === 'tracker') addAll(out, this.#lanes.get(tracker!)!.push(role, part, this.#nowMs));
    else this.#pushReference(part, out);
    return out;
  }

  /** Time passes. */
  advance(nowMs: number): Outcome[] {
    this.#nowMs = Math.max(this.#nowMs, nowMs);
    const out: Outcome[] = [];
    for (const lane of this.#lanes.values()) addAll(out, lane.advance(this.#nowMs));
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

  /** Resumes exactly where `toJSON` was called; owns the state from then on. */
  static fromJSON(state: PairingState, settings: PairingSettings, geodetic = false): Pairing {
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

  #pushReference(part: FeedPart, out: Outcome[]): void {
    const reported: string[] = [];
    for (const [name, lane] of this.#lanes) {
      this.#silenceTracker(name, lane, out);
      for (const outcome of lane.push('reference', part, this.#nowMs)) {
        // what is wrong with the reference is said once, not by every lane
        const own = 'role' in outcome && outcome.role === 'reference' && outcome.type !== 'missing';
        if (own && reported.includes(outcome.type)) continue;
        if (own) reported.push(outcome.type);
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
    if (feed.silent || feed.ended || !this.#isSilent(feed) || lane.holding) return;
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
