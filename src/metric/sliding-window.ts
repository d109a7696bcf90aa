/**
 * TGOSPA of the last T frames after every frame, and what has become certain (DESIGN 4).
 *
 * A frame settles once it is `settleFrames` old, under the assignment of that moment. The settled pairs, each held
 * until one of its ends is needed elsewhere, are a valid assignment of the whole stream: their cost is an upper bound
 * of the lifetime metric. The windows that end now, T frames ago, 2T frames ago and so on cover the stream without
 * overlap: the sum of their costs is a lower bound. A trajectory that was in none of the last T - 1 frames is
 * forgotten; when its id returns, it is a new one, unless the other end of its settled pair stayed and has waited.
 *
 * Nothing settles under an assignment that is not proven. A frame whose window is not when its time comes stays
 * unjudged, and is counted as that: what settles is then what an endless budget would have settled, with frames left
 * out. Who was assigned to whom is not known behind such a frame, so everybody begins anew there, without a switch.
 */

import { auditWindow } from './audit.js';
import type { Account } from './engine-rule.js';
import { checkWeights, evaluatePacked, readAgain } from './evaluate.js';
import {
  type Assigned,
  type Audit,
  type Cost,
  type Count,
  emptyGlance,
  type FrameEvaluation,
  type Glance,
  type Report,
  type Settled,
  type SolverSummary,
  type SwitchEvent,
} from './evaluation.js';
import { type LooseFrame, type PackedFeed, type PackedFrame, packFrame } from './frame.js';
import { InputError, noting, type Problem } from './input-error.js';
import { inspector } from './inspector.js';
import { checkParams, type Params } from './params.js';
import { isFractional, readFrames, readGlance, readNewest, readWindow, type Totals } from './read-out.js';
import { solveWindow } from './refinement.js';
import { budgetOf, type SolveOptions, type SolveSettings, solveSettings } from './solve-options.js';
import { type HandedOver, Solver } from './solver.js';
import { type Budget, WORK_PER_MS } from './window/budget.js';
import type { WindowContents } from './window/contents.js';
import { type FrameRecord, type FrameView, type Kinds, viewFrames } from './window/frame-record.js';
import type { Trajectory } from './window/trajectory.js';

export interface WindowParams extends Params {
  /** T, the length of the window in frames */
  windowFrames: number;
  /** age in frames at which a frame settles; half the window unless given */
  settleFrames?: number;
}

/** Everything needed to go on elsewhere exactly as here. Plain data; `toJSON` gives it with arrays of numbers only. */
export interface WindowSnapshot {
  version: 1;
  params: WindowParams;
  firstNumber: number;
  stride: number;
  frames: { reference: FeedSnapshot; tracker: FeedSnapshot }[];
  settledNext: number;
  settled: { cost: Cost; count: Count };
  /** of windows with objects that cost less than the full price alone */
  excused?: { missed: number; false: number };
  lower: number[];
  /** the best lower bound of the lifetime so far; 0 in snapshots of earlier versions */
  lifetimeLower?: number;
  /** of trajectories in the window that were assigned: id, partner in the window, partner that left it */
  held: { truths: HeldSnapshot[]; tracks: HeldSnapshot[] };
  ended: boolean;
  /** what the frontier could not do; absent in snapshots of earlier versions, and where there is nothing */
  handedOver?: HandedOver[];
  /** what the frontier has worked more than the program would have; absent as above */
  accounts?: Account[];
  /** of windows that are audited */
  audit?: Audit;
  /** of windows of which frames stayed unjudged */
  unjudged?: { frames: number; last: number; lower: number; withheld: number; unknown: string[] };
}
export type FeedSnapshot = [
  ids: string[],
  coordinates: number[] | Float64Array,
  alone?: number[] | null,
  kinds?: Kinds | null,
];
type HeldSnapshot = [id: string, partner: string | null, gone: string | null];

/** A frame that has settled: its objects as they came, and its proper pairs. */
export interface SettledFrame {
  /** 0-based, since the first push */
  number: number;
  objects: PackedFrame;
  pairs: Array<Assigned & { distance: number }>;
}

/** milliseconds of work for the last solve of a stream: nobody waits for a next frame */
const END_BUDGET_MS = 10_000;
const NO_HALVES = { halves: 0, withheld: 0 };

export class SlidingWindow {
  readonly windowFrames: number;
  readonly settleFrames: number;
  private solver: Solver;
  private contents: WindowContents;
  private readonly settings: SolveSettings;
  private readonly params: WindowParams;
  private stride = 0;
  private newest: PackedFrame | null = null;
  private settledNext = 0;
  /** the first frame that settled with the last push; `settledNext` when none did */
  private settledFirst = 0;
  private readonly settledCost: Cost = { total: 0, localization: 0, missed: 0, false: 0, switch: 0 };
  /** settled misses and false objects, in full prices, that were not charged because objects cost less alone */
  private readonly excused = { missed: 0, false: 0 };
  private readonly settledCount: Count = { proper: 0, missed: 0, false: 0, switches: 0 };
  /** [n mod T]: cost of the windows that end at the newest frame with that number, and T, 2T, ... before it */
  private lower: Float64Array;
  private lifetimeLower = 0;
  private readonly audit: Audit = { checked: 0, disagreements: 0, worstDifference: 0 };
  /** frames whose time came while nothing was proven, the last of them, and the lower bound of what was before it */
  private readonly unjudged = { frames: 0, last: -1, lower: 0 };
  /** half-switches that are not counted, because nobody knows what the truth was assigned to before */
  private withheld = 0;
  /** truths that were there when a frame stayed unjudged, and have not been assigned since */
  private unknown = new WeakSet<Trajectory>();
  private ended = false;
  /** of the last push */
  private totals: Totals | null = null;
  private readonly seen: Glance = emptyGlance();
  /** half-switches of the frames that settled with the last push */
  private settledHalves = 0;
  /** changes with every push; tells a report whether it is still the newest */
  private edition = 0;
  private workDone = 0;

  constructor(
    params: WindowParams,
    private readonly options: SolveOptions = {},
  ) {
    const settings = checked(params, options);
    this.params = params;
    this.windowFrames = params.windowFrames;
    this.settleFrames = params.settleFrames ?? Math.floor(params.windowFrames / 2);
    this.settings = settings;
    this.solver = new Solver(params, settings, params.windowFrames);
    this.contents = this.solver.contents;
    this.lower = new Float64Array(Math.min(this.windowFrames, 64));
  }

  /** Number of frames pushed so far. */
  get frameCount(): number {
    return this.contents.newestNumber + 1;
  }

  /**
   * Takes the next frame in and reports on the window that ends with it, after at most so much work. A frame that
   * throws InputError leaves no trace.
   */
  push(frame: LooseFrame, budgetMs = this.options.budgetMs): Report {
    if (this.ended)
      throw new InputError([
        { path: 'push', value: 'frame', message: 'the stream has ended; begin a new SlidingWindow' },
      ]);
    const packed = packFrame(frame, this.params.distance, this.stride, 'frame', this.newest ?? undefined);
    this.newest = packed;
    this.stride ||= packed.stride;
    const window = this.enter(packed, budgetMs);
    this.addLower(window.lowerBound);
    const { auditEvery } = this.options;
    if (auditEvery && (this.contents.newestNumber + 1) % auditEvery === 0) {
      auditWindow(
        this.audit,
        window,
        this.contents.frameList().map((record) => record.packed()),
        metricParams(this.params),
        this.options,
        evaluatePacked,
      );
    }
    return this.report(window, this.settleUpTo(this.contents.newestNumber - this.settleFrames, window));
  }

  /** The stream is over: settles everything left, for which there is more time than for a frame. */
  end(): Report {
    this.ended = true;
    let window = this.totals ?? readWindow(this.solver);
    if (!this.isCertified(window)) window = this.solve(budgetOf({ budgetMs: END_BUDGET_MS }));
    return this.report(window, this.contents.size === 0 ? [] : this.settleUpTo(this.contents.newestNumber, window));
  }

  /** Work of the last solve, in milliseconds of a machine of 2024. */
  get workMs(): number {
    return this.workDone / WORK_PER_MS;
  }

  /** The newest frame by id, at next to no cost; what it returns is good until the next glance. */
  glance(): Glance {
    readGlance(this.contents, this.seen, this.settledNext);
    this.seen.settledHalves = this.settledHalves;
    return this.seen;
  }

  /** The frames of the window as they came, oldest first. */
  frames(): FrameView[] {
    return viewFrames(this.contents.frameList());
  }

  /** The frames that settled with the last push or the end, oldest first; to be read before the next push. */
  settledFrames(): SettledFrame[] {
    const { exponent } = this.params;
    const frames: SettledFrame[] = [];
    for (let number = this.settledFirst; number < this.settledNext; number++) {
      const frame = this.contents.frame(number);
      const pairs: SettledFrame['pairs'] = [];
      for (let pair = 0; pair < frame.pairCount; pair++) {
        if (!isSettled(frame, pair)) continue;
        const distance = frame.distanceCost(pair) ** (1 / exponent);
        pairs.push({ truth: frame.truthAt(pair).id, track: frame.trackAt(pair).id, distance });
      }
      frames.push({ number, objects: frame.packed(), pairs });
    }
    return frames;
  }

  /** There is nothing to free any more that garbage collection would not; windows of earlier versions had to be. */
  dispose(): void {}

  private enter(packed: PackedFrame, budgetMs: number | undefined): Totals {
    const { newestNumber } = this.contents;
    try {
      if (this.contents.size === this.windowFrames) this.solver.dropOldest();
      const budget = budgetOf({ budgetMs });
      this.solver.append(packed, budget);
      return this.solve(budget);
    } catch (error) {
      this.rebuild(newestNumber);
      throw error;
    }
  }

  private solve(budget: Budget): Totals {
    this.totals = solveWindow(this.solver, budget);
    this.workDone = budget.done;
    return this.totals;
  }

  /** Whether what a window says may be final: it is proven, or the linear program's optimum is what was asked for. */
  private isCertified({ exact }: Pick<Totals, 'exact'>): boolean {
    return exact || this.settings.solver === 'lp';
  }

  /** A push failed halfway: the window is built again from the frames it had, and solved with the next. */
  private rebuild(newestNumber: number): void {
    const { contents: before } = this;
    this.edition++;
    this.solver = new Solver(this.params, this.settings, this.windowFrames);
    this.contents = this.solver.contents;
    this.solver.startAt(before.oldestNumber);
    for (const frame of before.frameList())
      if (frame.number <= newestNumber) this.solver.append(frame.packed(), budgetOf(this.options));
    restoreHeld(heldOf(before.truths), this.contents.truths, this.contents.tracks);
    restoreHeld(heldOf(before.tracks), this.contents.tracks, this.contents.truths);
  }

  private report(window: Totals, events: SwitchEvent[]): Report {
    const { solver, contents, params, options } = this;
    const edition = ++this.edition;
    const frames = contents.keepFrames();
    // another solve might find what this one had no time for; under time weights who is held is known now only
    const assigned = window.exact || contents.weighted ? null : frames().map((frame) => frame.assignment());
    const read = !window.exact && contents.weighted ? readFrames(solver) : null;
    const report = new WindowReport(
      window,
      contents.newestNumber,
      this.settled(),
      this.lifetime(),
      events,
      options.auditEvery ? { ...this.audit } : undefined,
      () => (edition === this.edition ? solver : null),
      // read after later pushes, it solves its own frames again: same frames, same answer
      () => {
        if (read) return read;
        const packed = frames().map((frame) => frame.packed());
        const metric = metricParams(params);
        if (assigned) return readAgain(packed, metric, assigned);
        return evaluatePacked(packed, metric, { ...options, budgetMs: Number.POSITIVE_INFINITY }).perFrame;
      },
    );
    // the report's own list is read when somebody asks for it
    inspector?.({
      get evaluation() {
        return { ...window, perFrame: readFrames(solver) };
      },
      get frames() {
        return frames().map((frame) => frame.packed());
      },
      params: metricParams(params),
      fractional: isFractional(solver),
      window: this,
      report,
    });
    return report;
  }

  private settled(): Settled {
    const { frames } = this.unjudged;
    const settled = {
      frames: this.settledNext - frames,
      cost: { ...this.settledCost },
      count: { ...this.settledCount },
    };
    return frames > 0 ? { ...settled, uncertified: frames } : settled;
  }

  /** Bounds of the cost of the settled frames, taken as one stream. */
  private lifetime(): Report['lifetime'] {
    if (this.contents.weighted) return null;
    // more frames never cost less, so what was a bound remains one
    if (this.settledNext > 0) {
      const sinceUnjudged = this.lower[(this.settledNext - 1) % this.windowFrames];
      this.lifetimeLower = Math.max(this.lifetimeLower, this.unjudged.lower + sinceUnjudged);
    }
    return { lower: this.lifetimeLower, upper: this.settledCost.total + this.contents.prices.half * this.withheld };
  }

  private addLower(cost: number): void {
    // a bound of frames that are not judged says nothing about those that are
    if (this.contents.oldestNumber <= this.unjudged.last) return;
    const at = this.contents.newestNumber % this.windowFrames;
    if (at >= this.lower.length) {
      const longer = new Float64Array(Math.min(this.windowFrames, this.lower.length * 2));
      longer.set(this.lower);
      this.lower = longer;
    }
    this.lower[at] += cost;
  }

  private settleUpTo(number: number, window: Pick<Totals, 'exact'>): SwitchEvent[] {
    const events: SwitchEvent[] = [];
    const certified = this.isCertified(window);
    this.settledHalves = 0;
    this.settledFirst = this.settledNext;
    while (this.settledNext <= number) {
      const frame = this.contents.frame(this.settledNext++);
      if (certified) this.settle(frame, events);
      else this.leaveUnjudged(frame.number);
    }
    if (!certified) this.settledFirst = this.settledNext;
    return events;
  }

  /** The time of a frame has come and nothing is proven: from here on nobody knows who was assigned to whom. */
  private leaveUnjudged(number: number): void {
    const { truths, tracks } = this.contents;
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

  private settle(frame: FrameRecord, events: SwitchEvent[]): void {
    const price = this.contents.prices;
    this.settledHalves += frame.halves;
    const { settledCost: cost, settledCount: count } = this;
    const halves = this.contents.framewise ? 0 : this.settleSwitches(frame, events);
    // not the frame's own sums: those of a fractional optimum are below the cost of any assignment
    let proper = 0;
    let localization = 0;
    for (let pair = 0; pair < frame.pairCount; pair++) {
      if (!isSettled(frame, pair)) continue;
      proper++;
      localization += frame.distanceCost(pair);
    }
    const units = frame.unitsUnder((pair) => (isSettled(frame, pair) ? 1 : 0));
    const missed = units ? units.missedJudged : frame.truths.length - proper;
    const falseCount = units ? units.falseJudged : frame.tracks.length - proper;
    count.proper += proper;
    count.missed += missed;
    count.false += falseCount;
    count.switches += halves / 2;
    cost.localization += localization;
    if (units) {
      this.excused.missed += missed - units.missed;
      this.excused.false += falseCount - units.false;
    }
    cost.missed = price.missed * (count.missed - this.excused.missed);
    cost.false = price.false * (count.false - this.excused.false);
    cost.switch = price.half * count.switches * 2;
    cost.total = cost.localization + cost.missed + cost.false + cost.switch;
  }

  private settleSwitches(frame: FrameRecord, events: SwitchEvent[]): number {
    const { halves, withheld } = settleSwitches(frame, events, this.unknown);
    this.withheld += withheld;
    return halves;
  }

  private unjudgedState(): WindowSnapshot['unjudged'] {
    const unknown = [...this.contents.truths.values()].filter((truth) => this.unknown.has(truth));
    return { ...this.unjudged, withheld: this.withheld, unknown: unknown.map(({ id }) => id) };
  }

  private restoreUnjudged({ withheld, unknown, ...unjudged }: NonNullable<WindowSnapshot['unjudged']>): void {
    Object.assign(this.unjudged, unjudged);
    this.withheld = withheld;
    for (const id of unknown) this.unknown.add(this.contents.truths.get(id)!);
  }

  /** Plain JSON from which `fromJSON` goes on exactly as this window would. */
  toJSON(): WindowSnapshot {
    const snapshot = this.snapshot();
    const feed = ([ids, coordinates, ...rest]: FeedSnapshot): FeedSnapshot => [ids, Array.from(coordinates), ...rest];
    const frames = snapshot.frames.map((f) => ({ reference: feed(f.reference), tracker: feed(f.tracker) }));
    return { ...snapshot, frames };
  }

  /** The same without a copy of the coordinates, to be written down or cloned at once; not to be changed. */
  snapshot(): WindowSnapshot {
    const { contents } = this;
    // frames that share their trajectories share their lists of ids
    const lists = new Map<Trajectory[], string[]>();
    const feed = (
      members: Trajectory[],
      coordinates: number[],
      alone: number[] | null,
      kinds: Kinds | null,
    ): FeedSnapshot => {
      let ids = lists.get(members);
      if (!ids) {
        ids = members.map((trajectory) => trajectory.id);
        lists.set(members, ids);
      }
      if (kinds) return [ids, coordinates, alone, kinds];
      return alone ? [ids, coordinates, alone] : [ids, coordinates];
    };
    const handedOver = this.solver.handedOver();
    const accounts = this.solver.accountsOf();
    return {
      version: 1,
      params: this.params,
      firstNumber: contents.oldestNumber,
      stride: this.stride,
      frames: contents.frameList().map((record) => ({
        reference: feed(record.truths, record.truthNumbers(), record.truthAlone(), record.truthKinds),
        tracker: feed(record.tracks, record.trackNumbers(), record.trackAlone(), record.trackKinds),
      })),
      settledNext: this.settledNext,
      settled: { cost: { ...this.settledCost }, count: { ...this.settledCount } },
      ...(this.excused.missed + this.excused.false > 0 ? { excused: { ...this.excused } } : {}),
      lower: Array.from(this.lower),
      lifetimeLower: this.lifetimeLower,
      held: { truths: heldOf(contents.truths), tracks: heldOf(contents.tracks) },
      ended: this.ended,
      ...(handedOver.length > 0 ? { handedOver } : {}),
      ...(accounts.length > 0 ? { accounts } : {}),
      ...(this.options.auditEvery ? { audit: { ...this.audit } } : {}),
      ...(this.unjudged.frames > 0 ? { unjudged: this.unjudgedState() } : {}),
    };
  }

  static fromJSON(snapshot: WindowSnapshot, options: SolveOptions = {}): SlidingWindow {
    if (snapshot?.version !== 1) {
      throw new InputError([
        {
          path: 'version',
          value: snapshot?.version,
          message: 'must be 1; this snapshot was written by another version, start without it',
        },
      ]);
    }
    const window = new SlidingWindow(snapshot.params, options);
    const { solver, contents } = window;
    const { stride } = snapshot;
    window.stride = stride;
    window.settledNext = window.settledFirst = snapshot.settledNext;
    window.ended = snapshot.ended;
    const feed = ([ids, coordinates, alone, kinds]: FeedSnapshot): PackedFeed => ({
      ids,
      coordinates: Float64Array.from(coordinates),
      ...(alone && { alone }),
      ...(kinds && { kinds }),
    });
    solver.startAt(snapshot.firstNumber);
    for (const frame of snapshot.frames) {
      const packed = { reference: feed(frame.reference), tracker: feed(frame.tracker), stride };
      solver.append(packed, budgetOf(options));
    }
    solver.restore(snapshot.handedOver ?? [], snapshot.accounts ?? []);
    window.totals = solveWindow(solver, budgetOf(options));
    Object.assign(window.settledCost, snapshot.settled.cost);
    Object.assign(window.settledCount, snapshot.settled.count);
    Object.assign(window.excused, snapshot.excused);
    Object.assign(window.audit, snapshot.audit);
    window.lower = Float64Array.from(snapshot.lower);
    window.lifetimeLower = snapshot.lifetimeLower ?? 0;
    restoreHeld(snapshot.held.truths, contents.truths, contents.tracks);
    restoreHeld(snapshot.held.tracks, contents.tracks, contents.truths);
    if (snapshot.unjudged) window.restoreUnjudged(snapshot.unjudged);
    return window;
  }
}

/** What depends on single frames is read when it is asked for. */
class WindowReport implements Report {
  readonly frames: number;
  readonly distance: number;
  readonly cost: Cost;
  readonly count: Count;
  readonly meanLocalizationError: number;
  readonly exact: boolean;
  readonly lowerBound: number;
  readonly gap: number;
  readonly solver: SolverSummary;
  declare readonly audit?: Audit;
  readonly #live: () => Solver | null;
  readonly #again: () => FrameEvaluation[];
  #perFrame: FrameEvaluation[] | null = null;
  #newest: FrameEvaluation | null = null;

  constructor(
    window: Totals,
    readonly frame: number,
    readonly settled: Settled,
    readonly lifetime: Report['lifetime'],
    readonly events: SwitchEvent[],
    audit: Audit | undefined,
    live: () => Solver | null,
    again: () => FrameEvaluation[],
  ) {
    this.frames = window.frames;
    this.distance = window.distance;
    this.cost = window.cost;
    this.count = window.count;
    this.meanLocalizationError = window.meanLocalizationError;
    this.exact = window.exact;
    this.lowerBound = window.lowerBound;
    this.gap = window.gap;
    this.solver = window.solver;
    if (audit) this.audit = audit;
    this.#live = live;
    this.#again = again;
  }

  get perFrame(): FrameEvaluation[] {
    if (this.#perFrame === null) {
      const solver = this.#live();
      this.#perFrame = solver ? readFrames(solver) : this.#again();
    }
    return this.#perFrame;
  }

  get newest(): FrameEvaluation {
    if (this.#newest === null) {
      const solver = this.#live();
      if (this.frames === 0) this.#newest = emptyFrame();
      else if (solver) this.#newest = readNewest(solver.contents, () => this.perFrame.at(-1)!.assignment);
      else this.#newest = this.perFrame.at(-1)!;
    }
    return this.#newest;
  }

  toJSON(): Report {
    return { ...this, newest: this.newest, perFrame: this.perFrame };
  }
}

function heldOf(side: Map<string, Trajectory>): HeldSnapshot[] {
  return [...side.values()]
    .filter((t) => t.used)
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map((t) => [t.id, t.partner?.id ?? null, t.partnerGone]);
}

function restoreHeld(list: HeldSnapshot[], side: Map<string, Trajectory>, other: Map<string, Trajectory>): void {
  for (const [id, partner, gone] of list) {
    const trajectory = side.get(id);
    if (!trajectory) continue;
    trajectory.used = true;
    trajectory.partner = partner === null ? null : (other.get(partner) ?? null);
    trajectory.partnerGone = gone;
  }
}

/** Of a fractional optimum those pairs settle that are assigned for more than half: nobody has two of them. */
function isSettled(frame: FrameRecord, pair: number): boolean {
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

function metricParams(params: WindowParams): Params {
  const { windowFrames: _windowFrames, settleFrames: _settleFrames, ...metric } = params;
  return metric;
}

function emptyFrame(): FrameEvaluation {
  return {
    cost: { localization: 0, missed: 0, false: 0, switch: 0 },
    count: { proper: 0, missed: 0, false: 0, switches: 0 },
    assignment: [],
  };
}

/** Proves parameters and options right, or throws one InputError with the mistakes of all of them. */
function checked(params: WindowParams, options: SolveOptions): SolveSettings {
  const problems: Problem[] = [];
  noting(problems, () => checkParams(params, ['windowFrames', 'settleFrames']));
  const weightsWrong = problems.some(({ path }) => path.startsWith('weights'));
  if (typeof params === 'object' && params !== null) {
    const { windowFrames } = params;
    windowProblems(params, problems);
    if (!weightsWrong && wholeFrames(windowFrames)) noting(problems, () => checkWeights(params, windowFrames));
  }
  const settings = noting(problems, () => solveSettings(options));
  if (problems.length > 0) throw new InputError(problems);
  return settings!;
}

const wholeFrames = (frames: number) => Number.isSafeInteger(frames) && frames >= 1;

function windowProblems({ windowFrames, settleFrames }: WindowParams, problems: Problem[]): void {
  const whole = wholeFrames(windowFrames);
  if (!whole)
    problems.push({
      path: 'windowFrames',
      value: windowFrames,
      message: 'must be a whole number of frames, at least 1',
    });
  if (
    settleFrames !== undefined &&
    !(Number.isSafeInteger(settleFrames) && settleFrames >= 0 && !(whole && settleFrames >= windowFrames))
  ) {
    problems.push({
      path: 'settleFrames',
      value: settleFrames,
      message: `must be a whole number, at least 0 and below windowFrames (${windowFrames})`,
    });
  }
}
