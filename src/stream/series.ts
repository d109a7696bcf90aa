/**
 * One series: a stream's tracker judged under one profile. A sliding window, the frame numbers that belong to it, and
 * the newest report. The objects of the frames are kept once, inside the window.
 */

import { type IncidentState, type IncidentTime, IncidentWatch } from '../incidents/incident.js';
import { evaluate } from '../metric/evaluate.js';
import type { Obj, Report } from '../metric/evaluation.js';
import { BOX_DISTANCES, type Params } from '../metric/params.js';
import { type FeedSnapshot, SlidingWindow, type WindowParams, type WindowSnapshot } from '../metric/sliding-window.js';
import type { SolveOptions } from '../metric/solve-options.js';
import type { FrameView } from '../metric/window/frame-record.js';
import type { SpikeKeys } from '../spikes/settings.js';
import type { Signal } from '../spikes/signals.js';
import { type SpikeNews, type SpikeState, SpikeWatch } from '../spikes/watch.js';
import { type FrameMark, type MarkedSwitch, summarize } from '../wire/events.js';
import type { IncidentNews } from '../wire/incidents.js';
import { type PackedList, unpack } from '../wire/objects.js';
import type { Step } from './step.js';

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
  spikes: readonly SpikeNews[];
  incidents: readonly IncidentNews[];
  /** that frames stay unjudged, or do so no longer */
  unjudged: Unjudged | null;
  /** milliseconds spent, and those of work as it is counted */
  solveMs: number;
  workMs: number;
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
  incidents?: IncidentState;
  /** while frames stay unjudged: how many others did before them */
  unjudgedBefore?: number;
}

/** milliseconds: what took longer is not solved again after a restart */
const QUICK_MS = 1;

/** milliseconds of work for the first solve of a window that was stored */
const RESTORE_BUDGET_MS = 60_000;

const NO_SWITCHES: readonly MarkedSwitch[] = [];
const NO_SPIKES: readonly SpikeNews[] = [];
const NO_INCIDENTS: readonly IncidentNews[] = [];

export class Series {
  #window: SlidingWindow;
  /** of the frames in the window, oldest first */
  #marks: FrameMark[] = [];
  #report: Report | null = null;
  #spikes: SpikeWatch | null = null;
  #incidents: IncidentWatch | null = null;
  /** of the newest frame: for a diagnosis */
  #reference: PackedList | null = null;
  #ended = false;
  /** of the newest report */
  #solveMs = 0;
  /** while frames stay unjudged: how many others did before them; null while they are judged */
  #unjudgedBefore: number | null = null;

  constructor(
    readonly tracker: string,
    readonly profile: string,
    readonly params: WindowParams,
    readonly options: SolveOptions = {},
    window = new SlidingWindow(params, options),
  ) {
    this.#window = window;
  }

  get report(): Report | null {
    return this.#report;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Number of the newest frame. */
  get mark(): FrameMark | null {
    return this.#marks.at(-1) ?? null;
  }

  /** Adds a step, with at most so much work. A step that throws InputError leaves no trace. */
  push(step: Step, budgetMs?: number): Pushed {
    const began = performance.now();
    const report = this.#window.push({ reference: step.reference, tracker: step.tracks }, budgetMs);
    const solveMs = performance.now() - began;
    const mark: FrameMark = step.t === undefined ? { k: step.k } : { k: step.k, t: step.t };
    this.#marks.push(mark);
    if (this.#marks.length > this.params.windowFrames) this.#marks.shift();
    const spikes = this.#watch(step, report);
    this.#reference = step.reference;
    const incidents = this.#incidents?.update(spikes, { ...mark, atMs: step.receivedMs }, this.#around) ?? NO_INCIDENTS;
    return this.#pushed(mark, report, spikes, incidents, solveMs);
  }

  /**
   * Nobody is alarmed by what is not proven. Feeds without times have none: when frames came depends on interruptions,
   * and what is found must not.
   */
  #watch({ k, t }: Step, report: Report): readonly SpikeNews[] {
    if (report.exact)
      return this.#spikes?.update(this.#window.glance(), { k, t }, () => switchedLately(report)) ?? NO_SPIKES;
    this.#spikes?.interrupt();
    return NO_SPIKES;
  }

  /** Settles everything left; null when there is nothing to say. */
  end(): Pushed | null {
    const mark = this.mark;
    if (this.#ended || !mark) return null;
    this.#ended = true;
    const began = performance.now();
    const report = this.#window.end();
    const spikes = this.endSpikes();
    const incidents = this.#incidents?.close(mark) ?? NO_INCIDENTS;
    return this.#pushed(mark, report, spikes, incidents, performance.now() - began);
  }

  /** The spike detector; null while it is off. */
  get spikes(): SpikeWatch | null {
    return this.#spikes;
  }

  /** What is wrong with the series; null while nobody watches it. */
  get incidents(): IncidentWatch | null {
    return this.#incidents;
  }

  /** When the newest frame was, for incidents that are told of at this moment. */
  moment(atMs: number): IncidentTime {
    return { ...(this.mark ?? { k: 0 }), atMs };
  }

  /** What a diagnosis looks at. */
  readonly #around = {
    frames: () => this.#window.frames(),
    classes: () => classesOf(this.#reference),
  };

  /** Watches for spikes by these settings from now on, with what `before` has learned; not at all without signals. */
  watchSpikes(settings: SpikeKeys | undefined, before = this.#spikes, incidents = this.#incidents): void {
    const { exponent, cutoff } = this.params;
    const on = settings !== undefined && settings.signals?.length !== 0;
    this.#spikes = on ? SpikeWatch.fromJSON(before?.toJSON(), settings, exponent, cutoff) : null;
    this.#incidents = on ? (incidents ?? new IncidentWatch(this.params)) : null;
  }

  /** Spikes of signals that are not in `kept` are over. */
  endSpikes(kept: readonly Signal[] = []): SpikeNews[] {
    return this.#spikes && this.mark ? this.#spikes.close(this.mark.k, kept) : [];
  }

  /** The tracker is gone while its reference lives: its spikes stay, and say so. */
  retireSpikes(): SpikeNews[] {
    return this.#spikes && this.mark ? this.#spikes.retire(this.mark.k) : [];
  }

  #pushed(
    mark: FrameMark,
    report: Report,
    spikes: readonly SpikeNews[],
    incidents: readonly IncidentNews[],
    solveMs: number,
  ): Pushed {
    const first = report.frame - this.#marks.length + 1;
    const unjudged = this.#unjudged(report, (frame) => this.#marks[frame - first].k);
    const { workMs } = this.#window;
    this.#report = report;
    this.#solveMs = solveMs;
    if (report.events.length === 0)
      return { mark, report, switches: NO_SWITCHES, spikes, incidents, unjudged, solveMs, workMs };
    const switches = report.events.map(({ frame, truth, from, to, switches: count }) => ({
      k: this.#marks[frame - first].k,
      truth,
      from,
      to,
      switches: count,
    }));
    return { mark, report, switches, spikes, incidents, unjudged, solveMs, workMs };
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
    const shape = BOX_DISTANCES.has(this.params.distance) ? 'box' : 'point';
    const objects = ([ids, coordinates]: FeedSnapshot) =>
      unpack({ shape, stride, ids, coordinates: Array.from(coordinates) }) as Obj[];
    return frames.map((frame, n) => ({
      ...this.#marks[n],
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
    const state = { tracker, profile, window: this.#window.snapshot(), marks: this.#marks };
    return {
      ...state,
      report: this.#report && stateOf(this.#report, this.#solveMs <= QUICK_MS),
      ...(this.#spikes ? { spikes: this.#spikes.toJSON() } : {}),
      ...(this.#incidents ? { incidents: this.#incidents.toJSON() } : {}),
      ...(this.#unjudgedBefore === null ? {} : { unjudgedBefore: this.#unjudgedBefore }),
    };
  }

  /** Continues exactly where `toJSON` was called. */
  static fromJSON(state: SeriesState, options: SolveOptions = {}, spikes?: SpikeKeys): Series {
    const { tracker, profile, window, marks, report } = state;
    // solved whatever its past, so that the next frame finds it as ready as one that went on
    const restored = SlidingWindow.fromJSON(window, { ...options, budgetMs: RESTORE_BUDGET_MS });
    const series = new Series(tracker, profile, window.params, options, restored);
    series.#marks = marks;
    series.#ended = window.ended;
    series.#unjudgedBefore = state.unjudgedBefore ?? null;
    series.#report = report && series.#withFrames(report, window);
    if (spikes && spikes.signals?.length !== 0) {
      series.#spikes = SpikeWatch.fromJSON(state.spikes, spikes, window.params.exponent, window.params.cutoff);
      series.#incidents = new IncidentWatch(window.params, state.incidents);
    }
    return series;
  }

  /** A report that works its frames out when they are asked for. */
  #withFrames(report: ReportState, window: WindowSnapshot): Report {
    const { windowFrames: _window, settleFrames: _settle, ...params } = this.params;
    const { options } = this;
    let { perFrame } = report;
    // as it was for the next snapshot
    this.#solveMs = perFrame ? Number.POSITIVE_INFINITY : 0;
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
