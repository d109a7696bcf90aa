/**
 * What has become certain (DESIGN 4). A frame settles once it is `settleFrames` old, under the assignment of that
 * moment. The settled pairs, each held until one of its ends is needed elsewhere, are a valid assignment of the whole
 * stream: their cost is an upper bound of the lifetime metric. The windows that end now, T frames ago, 2T frames ago
 * and so on cover the stream without overlap: the sum of their costs is a lower bound. When an id returns that the
 * window has forgotten, it is a new one, unless the other end of its settled pair stayed and has waited.
 *
 * Nothing settles under an assignment that is not proven. A frame whose window is not when its time comes stays
 * unjudged, and is counted as that: what settles is then what an endless budget would have settled, with frames left
 * out. Who was assigned to whom is not known behind such a frame, so everybody begins anew there, without a switch.
 */

import type { Cost, Count, Report, Settled, SwitchEvent } from './evaluation.js';
import type { WindowContents } from './window/contents.js';
import type { FrameRecord } from './window/frame-record.js';
import type { Trajectory } from './window/trajectory.js';

export interface SettlementSnapshot {
  settledNext: number;
  settled: { cost: Cost; count: Count };
  /** of windows with objects that cost less than the full price alone */
  excused?: { missed: number; false: number };
  lower: number[];
  /** the best lower bound of the lifetime so far; 0 in snapshots of earlier versions */
  lifetimeLower?: number;
  held: Held;
  /** of windows of which frames stayed unjudged */
  unjudged?: { frames: number; last: number; lower: number; withheld: number; unknown: string[] };
}

/** Of trajectories in the window that were assigned: id, partner in the window, partner that left it. */
interface Held {
  truths: HeldSnapshot[];
  tracks: HeldSnapshot[];
}
type HeldSnapshot = [id: string, partner: string | null, gone: string | null];

const NO_HALVES = { halves: 0, withheld: 0 };

export class Settlement {
  /** the first frame that has not settled */
  next = 0;
  /** the first that settled with the last push; `next` when none did */
  first = 0;
  /** half-switches of those, as they stand in the window */
  halves = 0;
  private readonly cost: Cost = { total: 0, localization: 0, missed: 0, false: 0, switch: 0 };
  private readonly count: Count = { proper: 0, missed: 0, false: 0, switches: 0 };
  /** settled misses and false objects, in full prices, that were not charged because objects cost less alone */
  private readonly excused = { missed: 0, false: 0 };
  /** [n mod T]: cost of the windows that end at the newest frame with that number, and T, 2T, ... before it */
  private lower: Float64Array;
  private lifetimeLower = 0;
  /** frames whose time came while nothing was proven, the last of them, and the lower bound of what was before it */
  private readonly unjudged = { frames: 0, last: -1, lower: 0 };
  /** half-switches that are not counted, because nobody knows what the truth was assigned to before */
  private withheld = 0;
  /** truths that were there when a frame stayed unjudged, and have not been assigned since */
  private readonly unknown = new WeakSet<Trajectory>();

  constructor(private readonly windowFrames: number) {
    this.lower = new Float64Array(Math.min(windowFrames, 64));
  }

  /** Totals so far, to be kept. */
  totals(): Settled {
    const { frames } = this.unjudged;
    const { total, localization, missed, false: falseCost, switch: switchCost } = this.cost;
    const { proper, missed: missedCount, false: falseCount, switches } = this.count;
    // field by field: spreading takes longer, and this is for every push
    const settled = {
      frames: this.next - frames,
      cost: { total, localization, missed, false: falseCost, switch: switchCost },
      count: { proper, missed: missedCount, false: falseCount, switches },
    };
    return frames > 0 ? { ...settled, uncertified: frames } : settled;
  }

  /** Bounds of the cost of the settled frames, taken as one stream. */
  lifetime(contents: WindowContents): Report['lifetime'] {
    if (contents.weighted) return null;
    // more frames never cost less, so what was a bound remains one
    if (this.next > 0) {
      const sinceUnjudged = this.lower[(this.next - 1) % this.windowFrames];
      this.lifetimeLower = Math.max(this.lifetimeLower, this.unjudged.lower + sinceUnjudged);
    }
    return { lower: this.lifetimeLower, upper: this.cost.total + contents.prices.half * this.withheld };
  }

  /** The window costs at least so much. */
  addLower(contents: WindowContents, cost: number): void {
    // a bound of frames that are not judged says nothing about those that are
    if (contents.oldestNumber <= this.unjudged.last) return;
    const at = contents.newestNumber % this.windowFrames;
    if (at >= this.lower.length) {
      const longer = new Float64Array(Math.min(this.windowFrames, this.lower.length * 2));
      longer.set(this.lower);
      this.lower = longer;
    }
    this.lower[at] += cost;
  }

  /** Settles the frames up to a number, or leaves them unjudged where nothing is certified. */
  settleUpTo(contents: WindowContents, number: number, certified: boolean): SwitchEvent[] {
    const events: SwitchEvent[] = [];
    this.halves = 0;
    this.first = this.next;
    while (this.next <= number) {
      const frame = contents.frame(this.next++);
      if (certified) this.settle(contents, frame, events);
      else this.leaveUnjudged(contents, frame.number);
    }
    if (!certified) this.first = this.next;
    return events;
  }

  /** The time of a frame has come and nothing is proven: from here on nobody knows who was assigned to whom. */
  private leaveUnjudged({ truths, tracks }: WindowContents, number: number): void {
    this.unjudged.frames++;
    this.unjudged.last = number;
    this.unjudged.lower = this.lifetimeLower;
    this.lower.fill(0);
    for (const truth of truths.values()) this.unknown.add(truth);
    for (const side of [truths, tracks])
      for (const trajectory of side.values()) {
        trajectory.used = false;
        trajectory.partner = trajectory.partnerGone = null;
      }
  }

  private settle(contents: WindowContents, frame: FrameRecord, events: SwitchEvent[]): void {
    const { cost, count, excused } = this;
    const { prices } = contents;
    this.halves += frame.halves;
    const { halves, withheld } = contents.framewise ? NO_HALVES : settleSwitches(frame, events, this.unknown);
    this.withheld += withheld;
    // not the frame's own sums: those of a fractional optimum are below the cost of any assignment
    let proper = 0;
    let localization = 0;
    for (let pair = 0; pair < frame.pairCount; pair++) {
      if (!isSettled(frame, pair)) continue;
      proper++;
      localization += frame.distanceCost(pair);
    }
    const units = frame.hasShares ? frame.unitsUnder((pair) => (isSettled(frame, pair) ? 1 : 0)) : null;
    const missed = units ? units.missedJudged : frame.truths.length - proper;
    const falseCount = units ? units.falseJudged : frame.tracks.length - proper;
    count.proper += proper;
    count.missed += missed;
    count.false += falseCount;
    count.switches += halves / 2;
    cost.localization += localization;
    if (units) {
      excused.missed += missed - units.missed;
      excused.false += falseCount - units.false;
    }
    cost.missed = prices.missed * (count.missed - excused.missed);
    cost.false = prices.false * (count.false - excused.false);
    cost.switch = prices.half * count.switches * 2;
    cost.total = cost.localization + cost.missed + cost.false + cost.switch;
  }

  snapshot(contents: WindowContents): SettlementSnapshot {
    const { excused, unjudged, withheld } = this;
    const unknown = [...contents.truths.values()].filter((truth) => this.unknown.has(truth)).map(({ id }) => id);
    return {
      settledNext: this.next,
      settled: { cost: { ...this.cost }, count: { ...this.count } },
      ...(excused.missed + excused.false > 0 ? { excused: { ...excused } } : {}),
      lower: Array.from(this.lower),
      lifetimeLower: this.lifetimeLower,
      held: heldBy(contents),
      ...(unjudged.frames > 0 ? { unjudged: { ...unjudged, withheld, unknown } } : {}),
    };
  }

  /** Goes on where another left off, once the frames are there. */
  restore(snapshot: SettlementSnapshot, contents: WindowContents): void {
    this.next = this.first = snapshot.settledNext;
    Object.assign(this.cost, snapshot.settled.cost);
    Object.assign(this.count, snapshot.settled.count);
    Object.assign(this.excused, snapshot.excused);
    this.lower = Float64Array.from(snapshot.lower);
    this.lifetimeLower = snapshot.lifetimeLower ?? 0;
    restoreHeld(snapshot.held, contents);
    if (!snapshot.unjudged) return;
    const { withheld, unknown, ...unjudged } = snapshot.unjudged;
    Object.assign(this.unjudged, unjudged);
    this.withheld = withheld;
    for (const id of unknown) this.unknown.add(contents.truths.get(id)!);
  }
}

/** Who holds whom in a window. */
export function heldBy({ truths, tracks }: WindowContents): Held {
  const list = (side: Map<string, Trajectory>): HeldSnapshot[] =>
    [...side.values()]
      .filter((t) => t.used)
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map((t) => [t.id, t.partner?.id ?? null, t.partnerGone]);
  return { truths: list(truths), tracks: list(tracks) };
}

export function restoreHeld(held: Held, { truths, tracks }: WindowContents): void {
  const restore = (list: HeldSnapshot[], side: Map<string, Trajectory>, other: Map<string, Trajectory>) => {
    for (const [id, partner, gone] of list) {
      const trajectory = side.get(id);
      if (!trajectory) continue;
      trajectory.used = true;
      trajectory.partner = partner === null ? null : (other.get(partner) ?? null);
      trajectory.partnerGone = gone;
    }
  };
  restore(held.truths, truths, tracks);
  restore(held.tracks, tracks, truths);
}

/** Of a fractional optimum those pairs settle that are assigned for more than half: nobody has two of them. */
export function isSettled(frame: FrameRecord, pair: number): boolean {
  return frame.on(pair) > 0.5;
}

/**
 * Moves the settled pairs on to those of a frame and returns the half-switches it took. A held pair is released only
 * when one of its ends is needed elsewhere; two trajectories that were never assigned join for free. What a truth of
 * `unknown` comes from cannot be told: its switch is withheld.
 */
function settleSwitches(
  frame: FrameRecord,
  events: SwitchEvent[],
  unknown: WeakSet<Trajectory>,
): { halves: number; withheld: number } {
  const joins: [truth: Trajectory, track: Trajectory][] = [];
  for (let pair = 0; pair < frame.pairCount; pair++) {
    if (!isSettled(frame, pair)) continue;
    const truth = frame.truthAt(pair);
    const track = frame.trackAt(pair);
    if (truth.partner === track) continue;
    if (isBack(truth, track) || isBack(track, truth)) pairUp(truth, track);
    else joins.push([truth, track]);
  }
  if (joins.length === 0) return NO_HALVES;
  const changes = new Map<Trajectory, { from: string | null; to: string | null; halves: number }>();
  const change = (truth: Trajectory) => {
    let entry = changes.get(truth);
    if (!entry) {
      entry = { from: null, to: null, halves: 0 };
      changes.set(truth, entry);
    }
    return entry;
  };
  const release = (truth: Trajectory, from: string) => {
    const entry = change(truth);
    entry.from = from;
    entry.halves++;
  };
  // a truth that is gone gives up its track when another truth needs it
  const gone: { truth: string; from: string }[] = [];
  for (const [truth, track] of joins) {
    const held = truth.partner?.id ?? truth.partnerGone;
    if (held !== null) release(truth, held);
    if (truth.partner) truth.partner.partner = null;
    truth.partner = truth.partnerGone = null;
    if (track.partner) {
      release(track.partner, track.id);
      track.partner.partner = null;
    } else if (track.partnerGone !== null) gone.push({ truth: track.partnerGone, from: track.id });
    track.partner = track.partnerGone = null;
  }
  for (const [truth, track] of joins) {
    const entry = change(truth);
    entry.to = track.id;
    if (truth.used || track.used) entry.halves++;
    pairUp(truth, track);
  }
  let halves = gone.length;
  let withheld = 0;
  for (const { truth, from } of gone)
    events.push({ type: 'switch', frame: frame.number, truth, from, to: null, switches: 0.5 });
  for (const [truth, entry] of changes) {
    const isUnknown = unknown.delete(truth);
    if (isUnknown) withheld += entry.halves;
    if (isUnknown || entry.halves === 0) continue;
    halves += entry.halves;
    events.push({
      type: 'switch',
      frame: frame.number,
      truth: truth.id,
      from: entry.from,
      to: entry.to,
      switches: entry.halves / 2,
    });
  }
  return { halves, withheld };
}

/** Whether one that had left the window is back with whom it was paired, who has had nobody else since. */
function isBack(returned: Trajectory, waiting: Trajectory): boolean {
  return !returned.used && !waiting.partner && waiting.partnerGone === returned.id;
}

function pairUp(truth: Trajectory, track: Trajectory): void {
  truth.used = track.used = true;
  truth.partner = track;
  track.partner = truth;
  truth.partnerGone = track.partnerGone = null;
}
