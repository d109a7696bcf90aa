/**
 * One series: a stream's tracker judged under one profile. A sliding window, the frame numbers that belong to it, and
 * the newest report. The objects of the frames are kept once, inside the window.
 */

import type { StreamSettings } from '../config/schema.js';
import { type DetectorNews, type DetectorSource, SpikeDetector } from '../incidents/detector.js';
import type { IncidentTime, IncidentWatchState } from '../incidents/incident.js';
import { evaluate } from '../metric/evaluate.js';
import type { Obj, Report } from '../metric/evaluation.js';
import { BOX_DISTANCES, type Params } from '../metric/params.js';
import {
  type FeedSnapshot,
  type SettledFrame,
  SlidingWindow,
  type WindowParams,
  type WindowSnapshot,
} from '../metric/sliding-window.js';
import type { SolveOptions } from '../metric/solve-options.js';
import type { FrameView } from '../metric/window/frame-view.js';
import type { PackedFeed, PackedFrame } from '../metric/window/packed-frame.js';
import { type PerformanceReading, RecentPerformance, type RecentState } from '../performance/recent.js';
import { performanceFrame, planeOf, searchOf } from '../performance/sequence.js';
import type { SpikeKeys } from '../spikes/settings.js';
import type { SpikeState } from '../spikes/watch.js';
import {
  type ClassTotals,
  type FrameMark,
  type MarkedSwitch,
  type NotJudgedCounts,
  type Readings,
  type ReportEvent,
  summarize,
} from '../wire/events.js';
import { type PackedList, unpack } from '../wire/objects.js';
import { ClassLedger } from './class-totals.js';
import { FrameMarks } from './frame-marks.js';
import { addNotJudged, addUnpaired, drawnObjects, type JudgedStep, type Judging } from './judging.js';
import type { Step } from './pairing/step.js';

/** Frames that stay unjudged because their window was not proven when they were to settle. */
export interface Unjudged {
  /** of the first of them, or when it is over of the last */
  k: number;
  /** so far */
  count: number;
  over: boolean;
}

export interface Pushed {
  mark: FrameMark;
  report: Report;
  switches: readonly MarkedSwitch[];
  /** spikes and diagnoses */
  news: readonly DetectorNews[];
  /** objects of the newest frame that are not judged; null where everything is */
  notJudged: NotJudgedCounts | null;
  /** PD, SIAP, latency and so on, when they were worked out */
  performance: PerformanceReading | null;
  /** what each class cost and counted so far; null where classes are not kept apart */
  classes: ClassTotals | null;
  /** that frames stay unjudged, or do so no longer */
  unjudged: Unjudged | null;
  /** milliseconds spent, and those of work as it is counted */
  solveMs: number;
  workMs: number;
}

/** A series as it is listed. */
export interface SeriesInfo {
  tracker: string;
  profile: string;
  k: number | null;
  frames: number;
  ended: boolean;
  /** the newest PD, SIAP, latency and so on; absent while they are off, and before the first */
  performance?: PerformanceReading;
  /** what each class cost and counted so far; absent where classes are not kept apart */
  classes?: ClassTotals;
}

/** A frame of the window with its objects. */
export interface RetainedFrame extends FrameMark {
  reference: Obj[];
  tracker: Obj[];
}

/** A report without what its frames tell, where that is quickly worked out again. */
type ReportState = Omit<Report, 'perFrame' | 'newest'> & Partial<Pick<Report, 'perFrame'>>;

/** Everything a Series knows. Plain data. */
export interface SeriesState {
  tracker: string;
  profile: string;
  window: WindowSnapshot;
  marks: FrameMark[];
  /** the newest report; null before the first */
  report: ReportState | null;
  spikes?: SpikeState;
  incidents?: IncidentWatchState;
  /** while frames stay unjudged: how many others did before them */
  unjudgedBefore?: number;
  /** objects that were not judged so far */
  notJudged?: NotJudgedCounts;
  performance?: RecentState;
  /** where classes are kept apart: what each cost and counted so far */
  classes?: ClassTotals;
}

/** A feed of a frame as the window or a snapshot of it has it. */
type LooseFeed = Omit<PackedFeed, 'coordinates'> & { coordinates: ArrayLike<number> };

/** milliseconds of work: what needed more is not solved again after a restart */
const QUICK_MS = 1;

/** milliseconds of work for the first solve of a window that was stored */
const RESTORE_BUDGET_MS = 60_000;

const NO_SWITCHES: readonly MarkedSwitch[] = [];
const NO_NEWS: readonly DetectorNews[] = [];

export class Series {
  #window: SlidingWindow;
  /** of the frames in the window, oldest first */
  #marks: FrameMarks;
  #report: Report | null = null;
  #detector: SpikeDetector | null = null;
  #performance: RecentPerformance | null = null;
  #classes: ClassLedger | null = null;
  /** of the newest frame, where it tells classes: for a diagnosis */
  #reference: PackedList | null = null;
  #ended = false;
  /** that the newest report needed */
  #workMs = 0;
  /** while frames stay unjudged: how many others did before them; null while they are judged */
  #unjudgedBefore: number | null = null;
  #drawn: ReportEvent['objects'] | null = null;
  #notJudged: NotJudgedCounts = { reference: {}, tracker: {} };
  /** what of a step is judged; everything while it is null */
  judging: Judging | null = null;

  constructor(
    readonly tracker: string,
    readonly profile: string,
    readonly params: WindowParams,
    readonly options: SolveOptions = {},
    window = new SlidingWindow(params, options),
  ) {
    this.#window = window;
    this.#marks = new FrameMarks(params.windowFrames);
  }

  get report(): Report | null {
    return this.#report;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** The objects of the newest step, with what each costs alone; null where all of them cost the full price. */
  get drawn(): ReportEvent['objects'] | null {
    return this.#drawn;
  }

  /** Objects that were not judged so far, by reason. */
  get notJudged(): NotJudgedCounts {
    return this.#notJudged;
  }

  /** The newest PD, SIAP, latency and so on; null while they are off, and before the first. */
  get performance(): PerformanceReading | null {
    return this.#performance?.reading ?? null;
  }

  /** Measures by these settings from now on, anew where they have changed; settings of older snapshots have none. */
  measure(settings: StreamSettings['performance'] | undefined): void {
    if (!settings?.enabled) {
      this.#performance = null;
      return;
    }
    const { enabled: _enabled, latencyFrames = 0, ...lengths } = settings;
    const search = latencyFrames > 0 ? { search: searchOf(this.params, latencyFrames) } : {};
    const terms = { plane: planeOf(this.params), ...lengths, ...search };
    if (JSON.stringify(terms) !== JSON.stringify(this.#performance?.terms))
      this.#performance = new RecentPerformance(terms);
  }

  /** Counts by class from now on, where classes are kept apart; settings of older snapshots do not say. */
  divide({ apart = false, namesMax = 0 }: Partial<StreamSettings['classes']> = {}): void {
    if (!apart) this.#classes = null;
    else if (this.#classes?.namesMax !== namesMax)
      this.#classes = new ClassLedger(namesMax, this.params, this.#classes?.reading);
  }

  /** What is known beside the newest report. */
  readings(): Readings {
    const { performance } = this;
    const none: NotJudgedCounts = { reference: {}, tracker: {} };
    return {
      ...(this.#detector ? { spikes: this.#detector } : {}),
      ...(performance ? { performance } : {}),
      ...(isEmpty(this.#notJudged) ? {} : { notJudged: { newest: none, totals: this.#notJudged } }),
      ...(this.#classes ? { classes: this.#classes.reading } : {}),
    };
  }

  info(): SeriesInfo {
    const { tracker, profile, mark, performance } = this;
    const classes = this.#classes?.reading;
    const info = { tracker, profile, k: mark?.k ?? null, frames: this.#report ? this.#report.frame + 1 : 0 };
    return { ...info, ended: this.#ended, ...(performance ? { performance } : {}), ...(classes ? { classes } : {}) };
  }

  /** Number of the newest frame. */
  get mark(): FrameMark | null {
    return this.#marks.newest;
  }

  /** Adds a step, with at most so much work. A step that throws InputError leaves no trace. */
  push(step: Step, budgetMs?: number): Pushed {
    const began = performance.now();
    const judged = this.#judge(step);
    const report = this.#window.push({ reference: judged.reference, tracker: judged.tracks }, budgetMs);
    return this.#took(step, judged, report, performance.now() - began);
  }

  /** The same, piece by piece: yields wherever others may have their turn, and is not to be read until it is done. */
  *pushing(step: Step, budgetMs?: number): Generator<void, Pushed> {
    let began = performance.now();
    let solveMs = 0;
    const judged = this.#judge(step);
    const going = this.#window.pushing({ reference: judged.reference, tracker: judged.tracks }, budgetMs);
    let next = going.next();
    for (; !next.done; next = going.next()) {
      solveMs += performance.now() - began;
      yield;
      began = performance.now();
    }
    return this.#took(step, judged, next.value, solveMs + performance.now() - began);
  }

  #judge(step: Step): JudgedStep {
    return this.judging?.judge(step) ?? { reference: step.reference, tracks: step.tracks, notJudged: null };
  }

  #took(step: Step, judged: JudgedStep, report: Report, solveMs: number): Pushed {
    const notJudged = judged.notJudged && addUnpaired(judged, this.#window.glance().properTracks);
    if (notJudged) addNotJudged(this.#notJudged, notJudged);
    this.#drawn = notJudged && drawnObjects(step, judged);
    const mark: FrameMark = step.t === undefined ? { k: step.k } : { k: step.k, t: step.t };
    this.#marks.push(mark);
    this.#reference = step.reference.classes ? step.reference : null;
    const news = this.#watch({ ...mark, atMs: step.receivedMs }, report);
    return this.#pushed(mark, report, news, solveMs, notJudged);
  }

  /**
   * Nobody is alarmed by what is not proven. Feeds without times have none: when frames came depends on interruptions,
   * and what is found must not.
   */
  #watch(mark: IncidentTime, report: Report): readonly DetectorNews[] {
    if (!this.#detector) return NO_NEWS;
    if (!report.exact) return this.#detector.skip(this.#source, mark);
    return this.#detector.update(this.#source, mark, () => switchedLately(report));
  }

  /** Settles everything left; null when there is nothing to say. */
  end(): Pushed | null {
    const mark = this.mark;
    if (this.#ended || !mark) return null;
    this.#ended = true;
    const began = performance.now();
    const report = this.#window.end();
    const news = this.#detector?.close(mark) ?? NO_NEWS;
    return this.#pushed(mark, report, news, performance.now() - began);
  }

  /** What watches for spikes, and diagnoses them; null while it is off. */
  get detector(): SpikeDetector | null {
    return this.#detector;
  }

  /** When the newest frame was, for incidents that are told of at this moment. */
  moment(atMs: number): IncidentTime {
    return { ...(this.mark ?? { k: 0 }), atMs };
  }

  /** What the detector looks at. */
  readonly #source: DetectorSource = {
    glance: () => this.#window.glance(),
    frames: () => this.#window.frames(),
    classes: () => classesOf(this.#reference),
  };

  /** Watches for spikes by these settings from now on, with what `before` knows; not at all without signals. */
  watchSpikes(settings: SpikeKeys | undefined, before = this.#detector): void {
    const on = settings !== undefined && settings.signals?.length !== 0;
    this.#detector = on ? SpikeDetector.fromJSON(before?.toJSON(), settings, this.params) : null;
  }

  #pushed(
    mark: FrameMark,
    report: Report,
    news: readonly DetectorNews[],
    solveMs: number,
    notJudged: NotJudgedCounts | null = null,
  ): Pushed {
    const first = report.frame - this.#marks.length + 1;
    const unjudged = this.#unjudged(report, (frame) => this.#marks.at(frame - first).k);
    const settled = this.#performance || this.#classes ? this.#window.settledFrames() : [];
    const performance = this.#performance && this.#measured(this.#performance, settled, first);
    this.#classes?.add(settled, report.events);
    const classes = this.#classes?.reading ?? null;
    const { workMs } = this.#window;
    this.#report = report;
    this.#workMs = workMs;
    const pushed = { mark, report, news, notJudged, performance, classes, unjudged, solveMs, workMs };
    if (report.events.length === 0) return { ...pushed, switches: NO_SWITCHES };
    const switches = report.events.map(({ frame, truth, from, to, switches: count }) => ({
      k: this.#marks.at(frame - first).k,
      truth,
      from,
      to,
      switches: count,
    }));
    return { ...pushed, switches };
  }

  /** Adds what has settled; `first` is the number of the oldest frame in the window. */
  #measured(
    performance: RecentPerformance,
    settled: readonly SettledFrame[],
    first: number,
  ): PerformanceReading | null {
    let reading: PerformanceReading | null = null;
    for (const { number, objects, pairs } of settled) {
      const { k, t } = this.#marks.at(number - first);
      const frame = { reference: this.#objects(objects, 'reference'), tracker: this.#objects(objects, 'tracker') };
      const measured = performanceFrame(frame, pairs, t ?? k, this.params);
      reading = performance.update(measured, k, t !== undefined) ?? reading;
    }
    return this.#ended ? performance.read(this.#marks.newest!.k) : reading;
  }

  /** As they were sent: altitudes in a window are weighed. */
  #objects({ stride, ...feeds }: PackedFrame, role: 'reference' | 'tracker'): Obj[] {
    const feed = feeds[role];
    const coordinates = this.judging?.unweighed(feed.coordinates, stride) ?? feed.coordinates;
    return this.#list({ ...feed, coordinates }, stride);
  }

  #list({ ids, coordinates, alone, kinds }: LooseFeed, stride: number): Obj[] {
    const shape = BOX_DISTANCES.has(this.params.distance) ? 'box' : 'point';
    const list = unpack({ shape, stride, ids, coordinates: Array.from(coordinates) }) as Obj[];
    if (!alone && !kinds) return list;
    // who costs the full price does so under other parameters too, whatever that is then
    const full = this.params.cutoff / 2 ** (1 / this.params.exponent);
    return list.map((object, n) => {
      const kind = kinds?.[n] ?? undefined;
      const isCheap = alone && alone[n] < full;
      return { ...object, ...(isCheap && { alone: alone[n] }), ...(kind !== undefined && { kind }) };
    });
  }

  /** Whether frames begin to stay unjudged with this report, or are judged again. */
  #unjudged({ settled }: Report, numberOf: (frame: number) => number): Unjudged | null {
    const { uncertified = 0, frames } = settled;
    const { uncertified: uncertifiedBefore = 0, frames: framesBefore = 0 } = this.#report?.settled ?? {};
    const last = frames + uncertified - 1;
    if (this.#unjudgedBefore === null) {
      if (uncertified === uncertifiedBefore) return null;
      this.#unjudgedBefore = uncertifiedBefore;
      return { k: numberOf(framesBefore + uncertifiedBefore), count: uncertified - uncertifiedBefore, over: false };
    }
    if (frames === framesBefore && !this.#ended) return null;
    const count = uncertified - this.#unjudgedBefore;
    this.#unjudgedBefore = null;
    return { k: numberOf(last - (frames - framesBefore)), count, over: true };
  }

  /** The frames of the window without their numbers and times, oldest first. */
  views(): FrameView[] {
    return this.#window.frames();
  }

  /** The frames of the window with their objects, oldest first; as many as `report.perFrame`. */
  frames(): RetainedFrame[] {
    return this.#unpack(this.#window.snapshot());
  }

  #unpack({ frames, stride }: WindowSnapshot): RetainedFrame[] {
    const objects = ([ids, coordinates, alone, kinds]: FeedSnapshot) =>
      this.#list({ ids, coordinates, alone, kinds }, stride);
    return frames.map((frame, n) => ({
      ...this.#marks.at(n),
      reference: objects(frame.reference),
      tracker: objects(frame.tracker),
    }));
  }

  dispose(): void {
    this.#window.dispose();
  }

  /** Plain data, with typed arrays; to be written down or cloned at once, not to be changed. */
  toJSON(): SeriesState {
    const { tracker, profile } = this;
    const state = { tracker, profile, window: this.#window.snapshot(), marks: this.#marks.toJSON() };
    return {
      ...state,
      report: this.#report && stateOf(this.#report, this.#workMs <= QUICK_MS),
      ...this.#detector?.toJSON(),
      ...(this.#unjudgedBefore === null ? {} : { unjudgedBefore: this.#unjudgedBefore }),
      ...(isEmpty(this.#notJudged) ? {} : { notJudged: this.#notJudged }),
      ...(this.#performance ? { performance: this.#performance.toJSON() } : {}),
      ...(this.#classes ? { classes: this.#classes.reading } : {}),
    };
  }

  /** Continues exactly where `toJSON` was called. */
  static fromJSON(state: SeriesState, options: SolveOptions = {}, spikes?: SpikeKeys): Series {
    const { tracker, profile, window, marks, report } = state;
    // solved whatever its past, so that the next frame finds it as ready as one that went on
    const restored = SlidingWindow.fromJSON(window, { ...options, budgetMs: RESTORE_BUDGET_MS });
    const series = new Series(tracker, profile, window.params, options, restored);
    series.#marks = new FrameMarks(window.params.windowFrames, marks);
    series.#ended = window.ended;
    series.#unjudgedBefore = state.unjudgedBefore ?? null;
    series.#notJudged = state.notJudged ?? series.#notJudged;
    series.#report = report && series.#withFrames(report, window);
    if (state.performance) series.#performance = new RecentPerformance(state.performance.terms, state.performance);
    if (state.classes) series.#classes = new ClassLedger(0, window.params, state.classes);
    if (spikes && spikes.signals?.length !== 0) series.#detector = SpikeDetector.fromJSON(state, spikes, window.params);
    return series;
  }

  /** A report that works its frames out when they are asked for. */
  #withFrames(report: ReportState, window: WindowSnapshot): Report {
    const { windowFrames: _window, settleFrames: _settle, ...params } = this.params;
    const { options } = this;
    let { perFrame } = report;
    // as it was for the next snapshot
    this.#workMs = perFrame ? Number.POSITIVE_INFINITY : 0;
    const read = () => {
      perFrame ??= evaluate(this.#unpack(window), params as Params, options).perFrame;
      return perFrame;
    };
    return Object.defineProperties({ ...report } as Report, {
      perFrame: { enumerable: true, get: read },
      newest: { enumerable: true, get: () => read().at(-1) },
    });
  }
}

const isEmpty = ({ reference, tracker }: NotJudgedCounts): boolean =>
  Object.keys(reference).length + Object.keys(tracker).length === 0;

/** Of the truths that have one. */
function classesOf(reference: PackedList | null): ReadonlyMap<string, string> {
  const classes = new Map<string, string>();
  reference?.classes?.forEach((name, n) => {
    if (name !== null) classes.set(reference.ids[n], name);
  });
  return classes;
}

/** Only the same work leads to the same frames: those of a solve that was cut, or was long, are kept. */
function stateOf(report: Report, quick: boolean): ReportState {
  const { frame, settled, lifetime, events } = report;
  const kept = { ...summarize(report), frame, settled, lifetime, events };
  return report.exact && quick ? kept : { ...kept, perFrame: report.perFrame };
}

/** Truths whose track has changed in the frames of a report, the last first. Worked out only when a spike begins. */
function switchedLately(report: Report): string[] {
  const partner = new Map<string, string>();
  const switched = new Set<string>();
  for (const { assignment } of report.perFrame) {
    for (const { truth, track, distance } of assignment) {
      if (distance === null) continue;
      const before = partner.get(truth);
      if (before !== undefined && before !== track) {
        switched.delete(truth);
        switched.add(truth);
      }
      partner.set(truth, track);
    }
  }
  return [...switched].reverse();
}
