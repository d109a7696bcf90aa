/**
 * TGOSPA of the last T frames after every frame, and what has become certain (DESIGN 4).
 * What has become certain is in settlement.ts. A trajectory that was in none of the last T - 1 frames is forgotten.
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
import { idsOf, type LooseFrame, type PackedFeed, type PackedFrame, packFrame } from './frame.js';
import { InputError, noting, type Problem } from './input-error.js';
import { inspector } from './inspector.js';
import { checkParams, type Params } from './params.js';
import {
  isFractional,
  readFrames,
  readGlance,
  readNewest,
  readNewestAssignment,
  readWindow,
  type WindowTotals,
} from './read-out.js';
import { refineWindow, solveWindow } from './refinement.js';
import { heldBy, isSettled, restoreHeld, Settlement, type SettlementSnapshot } from './settlement.js';
import { budgetOf, type SolveOptions, type SolveSettings, solveSettings } from './solve-options.js';
import { type HandedOver, Solver } from './solver.js';
import { type Budget, WORK_PER_MS } from './window/budget.js';
import type { WindowContents } from './window/contents.js';
import { type FrameView, viewFrames } from './window/frame-view.js';
import type { Kinds } from './window/packed-frame.js';
import type { Trajectory } from './window/trajectory.js';

export interface WindowParams extends Params {
  /** T, the length of the window in frames */
  windowFrames: number;
  /** age in frames at which a frame settles; half the window unless given */
  settleFrames?: number;
}

/** Everything needed to go on elsewhere exactly as here. Plain data; `toJSON` gives it with arrays of numbers only. */
export interface WindowSnapshot extends SettlementSnapshot {
  version: 1;
  params: WindowParams;
  firstNumber: number;
  stride: number;
  frames: { reference: FeedSnapshot; tracker: FeedSnapshot }[];
  ended: boolean;
  /** what the frontier could not do; absent in snapshots of earlier versions, and where there is nothing */
  handedOver?: HandedOver[];
  /** what the frontier has worked more than the program would have; absent as above */
  accounts?: Account[];
  /** of windows that are audited */
  audit?: Audit;
}
export type FeedSnapshot = [
  ids: string[],
  coordinates: number[] | Float64Array,
  alone?: number[] | null,
  kinds?: Kinds | null,
];
/** A frame that has settled: its objects as they came, and its proper pairs. */
export interface SettledFrame {
  /** 0-based, since the first push */
  number: number;
  objects: PackedFrame;
  pairs: Array<Assigned & { distance: number }>;
}

/** milliseconds of work for the last solve of a stream: nobody waits for a next frame */
const END_BUDGET_MS = 10_000;
const SIDES = ['reference', 'tracker'] as const;
/** scratch of all windows of this thread: coordinates of the frame that enters, which its record copies */
const rooms: Record<(typeof SIDES)[number], Float64Array> = {
  reference: new Float64Array(0),
  tracker: new Float64Array(0),
};

export class SlidingWindow {
  readonly windowFrames: number;
  readonly settleFrames: number;
  private solver: Solver;
  private contents: WindowContents;
  private readonly settings: SolveSettings;
  private readonly params: WindowParams;
  private stride = 0;
  private newest: PackedFrame | null = null;
  private readonly settlement: Settlement;
  private readonly audit: Audit = { checked: 0, disagreements: 0, worstDifference: 0 };
  private ended = false;
  /** of the last push */
  private totals: WindowTotals | null = null;
  private readonly seen: Glance = emptyGlance();
  /** changes with every push; tells a report whether it is still the newest */
  private edition = 0;
  private reported: Report | null = null;
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
    this.settlement = new Settlement(params.windowFrames);
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
    return this.taken(this.enter(this.pack(frame), budgetMs));
  }

  /**
   * The same, piece by piece: yields wherever others may have their turn. Until it has returned nothing of the window
   * is to be asked for; reports on windows before it can be read.
   */
  *pushing(frame: LooseFrame, budgetMs = this.options.budgetMs): Generator<void, Report> {
    const packed = this.pack(frame);
    // while its frames are still there, and as it was
    void this.reported?.newest;
    this.edition++;
    return this.taken(yield* this.entering(packed, budgetMs));
  }

  /** The window has taken a frame in. */
  private taken(window: WindowTotals): Report {
    this.settlement.addLower(this.contents, window.lowerBound);
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
    readGlance(this.contents, this.seen, this.settlement.next);
    this.seen.settledHalves = this.settlement.halves;
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
    for (let number = this.settlement.first; number < this.settlement.next; number++) {
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

  /** Only the ids of the newest frame are kept; its coordinates stand where those of the next one will. */
  private pack(frame: LooseFrame): PackedFrame {
    if (this.ended)
      throw new InputError([
        { path: 'push', value: 'frame', message: 'the stream has ended; begin a new SlidingWindow' },
      ]);
    const { newest } = this;
    if (newest) for (const side of SIDES) newest[side].coordinates = rooms[side];
    const packed = packFrame(frame, this.params.distance, this.stride, 'frame', newest ?? undefined);
    this.stride ||= packed.stride;
    this.newest = { reference: idsOf(packed.reference), tracker: idsOf(packed.tracker), stride: packed.stride };
    for (const side of SIDES) rooms[side] = packed[side].coordinates;
    return packed;
  }

  private enter(packed: PackedFrame, budgetMs: number | undefined): WindowTotals {
    const { newestNumber } = this.contents;
    try {
      return this.solve(this.append(packed, budgetMs));
    } catch (error) {
      this.rebuild(newestNumber);
      throw error;
    }
  }

  private *entering(packed: PackedFrame, budgetMs: number | undefined): Generator<void, WindowTotals> {
    const { solver } = this;
    const { newestNumber } = this.contents;
    try {
      const budget = this.append(packed, budgetMs);
      solver.begin(budget);
      do yield;
      while (solver.solveNext(budget));
      solver.conclude();
      return this.solved(refineWindow(solver, budget), budget);
    } catch (error) {
      this.rebuild(newestNumber);
      throw error;
    }
  }

  private append(packed: PackedFrame, budgetMs: number | undefined): Budget {
    if (this.contents.size === this.windowFrames) this.solver.dropOldest();
    const budget = budgetOf({ budgetMs });
    this.solver.append(packed, budget);
    return budget;
  }

  private solve(budget: Budget): WindowTotals {
    return this.solved(solveWindow(this.solver, budget), budget);
  }

  private solved(totals: WindowTotals, budget: Budget): WindowTotals {
    this.totals = totals;
    this.workDone = budget.done;
    return totals;
  }

  /** Whether what a window says may be final: it is proven, or the linear program's optimum is what was asked for. */
  private isCertified({ exact }: Pick<WindowTotals, 'exact'>): boolean {
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
    restoreHeld(heldBy(before), this.contents);
  }

  private settleUpTo(number: number, window: Pick<WindowTotals, 'exact'>): SwitchEvent[] {
    return this.settlement.settleUpTo(this.contents, number, this.isCertified(window));
  }

  private report(window: WindowTotals, events: SwitchEvent[]): Report {
    const { solver, contents, params, options } = this;
    const edition = ++this.edition;
    const frames = contents.keepFrames();
    // another solve might find what this one had no time for; under time weights who is held is known now only
    const assigned = window.exact || contents.weighted ? null : frames().map((frame) => frame.assignment());
    const read = !window.exact && contents.weighted ? readFrames(solver) : null;
    const report = new WindowReport(
      window,
      contents.newestNumber,
      this.settlement.totals(),
      this.settlement.lifetime(contents),
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
    this.reported = report;
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
      ...this.settlement.snapshot(contents),
      ended: this.ended,
      ...(handedOver.length > 0 ? { handedOver } : {}),
      ...(accounts.length > 0 ? { accounts } : {}),
      ...(this.options.auditEvery ? { audit: { ...this.audit } } : {}),
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
    window.ended = snapshot.ended;
    const feed = ([ids, coordinates, alone, kinds]: FeedSnapshot): PackedFeed => ({
      ids,
      coordinates: new Float64Array(coordinates),
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
    Object.assign(window.audit, snapshot.audit);
    window.settlement.restore(snapshot, contents);
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
    window: WindowTotals,
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
      else if (solver) this.#newest = readNewest(solver.contents, () => this.#newestAssignment());
      else this.#newest = this.perFrame.at(-1)!;
    }
    return this.#newest;
  }

  #newestAssignment(): Assigned[] {
    const solver = this.#perFrame === null ? this.#live() : null;
    return solver ? readNewestAssignment(solver) : this.perFrame.at(-1)!.assignment;
  }

  toJSON(): Report {
    return { ...this, newest: this.newest, perFrame: this.perFrame };
  }
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
