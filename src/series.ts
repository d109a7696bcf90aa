/**
 * One series: a stream's tracker judged under one profile. A sliding window, the frame numbers that belong to it, and
 * the newest report. The objects of the frames are kept once, inside the window.
 */

import { evaluate, SlidingWindow, type WindowParams, type WindowSnapshot } from './index.js';
import type { Step } from './pairing.js';
import type { Box, Obj, Report, SwitchEvent } from './tgospa/evaluation.js';
import type { Params } from './tgospa/params.js';
import type { SolveOptions } from './tgospa/solve-options.js';

/** When a frame was: its number and, where known, epoch seconds. */
export interface Mark {
  k: number;
  t?: number;
}

/** A switch under the number of the frame it happened at. */
export type MarkedSwitch = Omit<SwitchEvent, 'type' | 'frame'> & { k: number };

export interface Pushed {
  mark: Mark;
  report: Report;
  switches: MarkedSwitch[];
  /** milliseconds spent */
  solveMs: number;
}

/** A frame of the window with its objects. */
export interface RetainedFrame extends Mark {
  reference: Obj[];
  tracker: Obj[];
}

/** Everything a Series knows. Plain JSON. */
export interface SeriesState {
  tracker: string;
  profile: string;
  window: WindowSnapshot;
  marks: Mark[];
  /** the newest report without its frames; null before the first */
  report: (Omit<Report, 'perFrame'> & { perFrame?: undefined }) | null;
}

const BOX_DISTANCES: readonly string[] = ['iou', 'hausdorff', 'wasserstein'];

export class Series {
  #window: SlidingWindow;
  /** of the frames in the window, oldest first */
  #marks: Mark[] = [];
  #report: Report | null = null;
  #ended = false;

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
  get mark(): Mark | null {
    return this.#marks.at(-1) ?? null;
  }

  /** Takes a step in. A step that throws InputError leaves no trace. */
  push(step: Step): Pushed {
    const began = performance.now();
    const report = this.#window.push({ reference: step.reference as Obj[], tracker: step.tracks as Obj[] });
    const solveMs = performance.now() - began;
    const mark: Mark = step.t === undefined ? { k: step.k } : { k: step.k, t: step.t };
    this.#marks.push(mark);
    if (this.#marks.length > this.params.windowFrames) this.#marks.shift();
    return this.#pushed(mark, report, solveMs);
  }

  /** Settles everything left; null when there is nothing to say. */
  end(): Pushed | null {
    const mark = this.mark;
    if (this.#ended || !mark) return null;
    this.#ended = true;
    const began = performance.now();
    const report = this.#window.end();
    return this.#pushed(mark, report, performance.now() - began);
  }

  #pushed(mark: Mark, report: Report, solveMs: number): Pushed {
    this.#report = report;
    const first = report.frame - this.#marks.length + 1;
    const switches = report.events.map(({ frame, truth, from, to, switches: count }) => ({
      k: this.#marks[frame - first].k,
      truth,
      from,
      to,
      switches: count,
    }));
    return { mark, report, switches, solveMs };
  }

  /** The frames of the window with their objects, oldest first; as many as `report.perFrame`. */
  frames(): RetainedFrame[] {
    return this.#unpack(this.#window.toJSON());
  }

  #unpack({ frames, stride }: WindowSnapshot): RetainedFrame[] {
    const isBox = BOX_DISTANCES.includes(this.params.distance);
    const object = (id: string, coordinates: number[]): Obj =>
      isBox ? { id, box: coordinates as Box } : { id, point: coordinates };
    const objects = ([ids, coordinates]: [string[], number[]]): Obj[] =>
      ids.map((id, n) => object(id, coordinates.slice(n * stride, (n + 1) * stride)));
    return frames.map((frame, n) => ({
      ...this.#marks[n],
      reference: objects(frame.reference),
      tracker: objects(frame.tracker),
    }));
  }

  dispose(): void {
    this.#window.dispose();
  }

  toJSON(): SeriesState {
    const { tracker, profile } = this;
    return { tracker, profile, window: this.#window.toJSON(), marks: this.#marks, report: withoutFrames(this.#report) };
  }

  /** Goes on exactly where `toJSON` was called. */
  static fromJSON(state: SeriesState, options: SolveOptions = {}): Series {
    const { tracker, profile, window, marks, report } = state;
    const series = new Series(tracker, profile, window.params, options, SlidingWindow.fromJSON(window, options));
    series.#marks = marks;
    series.#ended = window.ended;
    series.#report = report && series.#withFrames(report, window);
    return series;
  }

  /** A report that works its frames out when they are asked for. */
  #withFrames(report: Omit<Report, 'perFrame'>, window: WindowSnapshot): Report {
    const { windowFrames: _window, settleFrames: _settle, ...params } = this.params;
    return Object.defineProperty({ ...report } as Report, 'perFrame', {
      enumerable: true,
      get: () => evaluate(this.#unpack(window), params as Params, this.options).perFrame,
    });
  }
}

function withoutFrames(report: Report | null): SeriesState['report'] {
  if (!report) return null;
  const { frames, distance, cost, count, meanLocalizationError, exact, lowerBound, gap, solver } = report;
  const { frame, newest, settled, lifetime, events } = report;
  const window = { frames, distance, cost, count, meanLocalizationError, exact, lowerBound, gap, solver };
  return { ...window, frame, newest, settled, lifetime, events };
}
