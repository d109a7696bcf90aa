/**
 * The pairs that samples hold: every frame assigned on its own (GOSPA, exponent 1) at a cut-off so large that it keeps
 * nearly every pair apart from the absurd. Their distances are the material that parameters are chosen from.
 */

import { distances } from '../metric/distance.js';
import { evaluate } from '../metric/evaluate.js';
import type { Frame, Obj } from '../metric/evaluation.js';
import { framesFor, type PackedFeed, type PackedFrame, packFrame } from '../metric/frame.js';
import { InputError, type Problem } from '../metric/input-error.js';
import type { DistanceName } from '../metric/params.js';
import { addPair, emptyHistogram, type IncrementHistogram } from './intervals.js';

/** One tracker on one sequence. */
export interface TuningSample {
  tracker: string;
  /** where a tracker has several samples, what they are of */
  sequence?: string;
  /** what its first frame is called, for people; 1 unless given */
  firstFrame?: number;
  frames: Frame[];
}

/** Is told how far the work has got; the progress line of a terminal fits. */
export interface TuningWatch {
  start(step: { label: string; step: number; steps: number; total: number; unit: string }): void;
  tick(): void;
}

/** A pair as it lies in a sample, to be looked at. */
export interface ExamplePair {
  tracker: string;
  sequence?: string;
  /** 0-based number of the frame in its sample */
  frame: number;
  /** and as the sample calls it */
  frameNumber: number;
  distance: number;
  truth: Obj;
  track: Obj;
}

/** What one tracker brings, over all its samples. */
export interface TrackerPairs {
  tracker: string;
  /** of its assigned pairs, rising */
  distances: Float64Array;
  histogram: IncrementHistogram;
  truths: number;
  tracks: number;
  /** detections without identities: its tracks live for about one frame */
  detector: boolean;
}

export interface Pairs {
  reach: number;
  /** of all assigned pairs, rising */
  distances: Float64Array;
  histogram: IncrementHistogram;
  trackers: TrackerPairs[];
  /** at most one for each step of the histogram, nearest first */
  examples: ExamplePair[];
}

/** Without another wish, pairs are looked for up to so many times the usual distance. */
const REACH_TIMES = 10;
/** The usual distance is measured in at most so many frames of a sample. */
const REACH_FRAMES_MAX = 500;
/** Tracks that live shorter than this on average are detections. */
const DETECTION_FRAMES_MAX = 1.5;

/** Boxes or points, as the first object has it; null when there is none. */
export function kindOf(samples: readonly TuningSample[]): 'box' | 'point' | null {
  for (const { frames } of samples)
    for (const { reference, tracker } of frames) {
      const first = reference?.[0] ?? tracker?.[0];
      if (first) return typeof first === 'object' && 'point' in first ? 'point' : 'box';
    }
  return null;
}

/** Tracks live so shortly, a frame each, that they are detections without identities. */
export function areDetections(frames: Frame[]): boolean {
  const { tracks, trajectories } = tracksIn(frames);
  return isShortLived(tracks, trajectories);
}

function tracksIn(frames: Frame[]): { tracks: number; trajectories: number } {
  const ids = new Set<string>();
  let tracks = 0;
  for (const { tracker } of frames) {
    tracks += tracker.length;
    for (const { id } of tracker) ids.add(id);
  }
  return { tracks, trajectories: ids.size };
}

function isShortLived(tracks: number, trajectories: number): boolean {
  return tracks > 0 && tracks < DETECTION_FRAMES_MAX * trajectories;
}

/** A sample in messages. */
export function labelOf({ tracker, sequence }: { tracker: string; sequence?: string }): string {
  return sequence === undefined ? tracker : `${tracker}, ${sequence}`;
}

/**
 * Up to where pairs are looked for: 1 for `iou`; else ten times the usual distance of nearest neighbours, rounded up.
 */
export function reachOf(samples: readonly TuningSample[], distance: DistanceName): number {
  if (distance === 'iou') return 1;
  const nearest = overSomeFrames(samples, distance, (frame) => mutualDistances(frame, distance));
  const usual = medianOf(nearest) || nearest.at(-1) || 0;
  return usual > 0 ? roundUp(usual * REACH_TIMES) : 1;
}

/** How far truths usually are from each other; null where there is never more than one. */
export function spacingOf(samples: readonly TuningSample[], distance: DistanceName): number | null {
  const nearest = overSomeFrames(samples, distance, ({ reference, stride }) =>
    nearestOther(reference, stride, distance),
  );
  return nearest.length > 0 ? medianOf(nearest) : null;
}

/** What `measure` finds in frames spread over all samples, rising. */
function overSomeFrames(
  samples: readonly TuningSample[],
  distance: DistanceName,
  measure: (frame: PackedFrame) => number[],
): Float64Array {
  const found: number[] = [];
  eachSample(samples, ({ frames }) => {
    const stride = Math.ceil(frames.length / REACH_FRAMES_MAX);
    const some = framesFor(
      distance,
      frames.filter((_, index) => index % stride === 0),
    );
    let dimension = 0;
    some.forEach((frame, index) => {
      const packed = packFrame(frame, distance, dimension, `frames[${index * stride}]`);
      dimension ||= packed.stride;
      found.push(...measure(packed));
    });
  });
  return rising(found);
}

function nearestOther({ ids, coordinates }: PackedFeed, stride: number, distance: DistanceName): number[] {
  const between = distances[distance];
  if (ids.length < 2) return [];
  return ids.map((_, i) => {
    let least = Number.POSITIVE_INFINITY;
    for (let j = 0; j < ids.length; j++)
      if (j !== i) least = Math.min(least, between(coordinates, i, coordinates, j, stride));
    return least;
  });
}

/**
 * Distances of those that are nearest to each other: most of them are right pairs, even where many objects are missed.
 */
function mutualDistances({ reference, tracker, stride }: PackedFrame, distance: DistanceName): number[] {
  const between = distances[distance];
  const truthCount = reference.ids.length;
  const trackCount = tracker.ids.length;
  const ofTrack = new Int32Array(trackCount).fill(-1);
  const ofTruth = new Int32Array(truthCount).fill(-1);
  const toTrack = new Float64Array(trackCount).fill(Number.POSITIVE_INFINITY);
  const toTruth = new Float64Array(truthCount).fill(Number.POSITIVE_INFINITY);
  for (let i = 0; i < truthCount; i++) {
    for (let j = 0; j < trackCount; j++) {
      const d = between(reference.coordinates, i, tracker.coordinates, j, stride);
      if (d < toTruth[i]) [toTruth[i], ofTruth[i]] = [d, j];
      if (d < toTrack[j]) [toTrack[j], ofTrack[j]] = [d, i];
    }
  }
  return [...toTruth].filter((_, i) => ofTruth[i] >= 0 && ofTrack[ofTruth[i]] === i);
}

/** 1, 2 or 5 times a power of ten. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 5, 10].find((one) => one * power >= value * (1 - 1e-9)) ?? 10;
  return Number((factor * power).toPrecision(6));
}

/** Assigns every frame of every sample. Throws one InputError that names the mistakes of all samples. */
export function findPairs(
  samples: readonly TuningSample[],
  distance: DistanceName,
  reach: number,
  steps: number,
  watch: TuningWatch | undefined,
  position: { step: number; steps: number },
): Pairs {
  const params = { distance, cutoff: reach, exponent: 1, switchPenalty: 0 };
  const tallies = new Map<string, TrackerTally>();
  const examples = new Array<ExamplePair | undefined>(steps);
  eachSample(samples, (sample) => {
    const frames = framesFor(distance, sample.frames);
    watch?.start({
      label: labelOf(sample),
      step: ++position.step,
      steps: position.steps,
      total: frames.length,
      unit: 'frames',
    });
    const tally = tallies.get(sample.tracker) ?? new TrackerTally(sample.tracker, reach, steps);
    tallies.set(sample.tracker, tally);
    tally.addFrames(frames);
    const { perFrame } = evaluate(counting(frames, watch), params);
    perFrame.forEach(({ assignment }, frame) => {
      for (const pair of assignment) {
        if (pair.distance === null) continue;
        const step = tally.add(pair.distance);
        if (!nearerToMiddle(pair.distance, examples[step], step, reach / steps)) continue;
        const { tracker, sequence, firstFrame = 1 } = sample;
        const truth = objectOf(sample.frames[frame].reference, pair.truth);
        const track = objectOf(sample.frames[frame].tracker, pair.track);
        examples[step] = {
          tracker,
          sequence,
          frame,
          frameNumber: firstFrame + frame,
          distance: pair.distance,
          truth,
          track,
        };
      }
    });
  });
  const trackers = [...tallies.values()].map((tally) => tally.finish());
  return {
    reach,
    distances: together(trackers.map((one) => one.distances)).sort(),
    histogram: sumOf(
      reach,
      steps,
      trackers.map(({ histogram }) => histogram),
    ),
    trackers,
    examples: examples.filter((one) => one !== undefined),
  };
}

/** The example of a step is the pair in its middle; among equals, the first. */
function nearerToMiddle(distance: number, best: ExamplePair | undefined, step: number, width: number): boolean {
  const middle = (step + 0.5) * width;
  return best === undefined || Math.abs(distance - middle) < Math.abs(best.distance - middle);
}

function objectOf(objects: Obj[], id: string): Obj {
  return objects.find((object) => object.id === id) as Obj;
}

/** What is known of one tracker while its samples are gone through. */
class TrackerTally {
  readonly #distances: number[] = [];
  readonly #histogram: IncrementHistogram;
  #truths = 0;
  #tracks = 0;
  #trajectories = 0;

  constructor(
    readonly tracker: string,
    reach: number,
    steps: number,
  ) {
    this.#histogram = emptyHistogram(reach, steps);
  }

  addFrames(frames: Frame[]): void {
    const { tracks, trajectories } = tracksIn(frames);
    this.#truths += frames.reduce((sum, { reference }) => sum + reference.length, 0);
    this.#tracks += tracks;
    this.#trajectories += trajectories;
  }

  add(distance: number): number {
    this.#distances.push(distance);
    return addPair(this.#histogram, distance);
  }

  finish(): TrackerPairs {
    return {
      tracker: this.tracker,
      distances: rising(this.#distances),
      histogram: this.#histogram,
      truths: this.#truths,
      tracks: this.#tracks,
      detector: isShortLived(this.#tracks, this.#trajectories),
    };
  }
}

/** The value in the middle of rising ones; 0 without any. */
export function medianOf(values: Float64Array): number {
  return values.length > 0 ? values[values.length >> 1] : 0;
}

function rising(values: number[]): Float64Array {
  return Float64Array.from(values).sort();
}

function together(lists: Float64Array[]): Float64Array {
  const all = new Float64Array(lists.reduce((sum, list) => sum + list.length, 0));
  let at = 0;
  for (const list of lists) {
    all.set(list, at);
    at += list.length;
  }
  return all;
}

function sumOf(reach: number, steps: number, histograms: IncrementHistogram[]): IncrementHistogram {
  const sum = emptyHistogram(reach, steps);
  for (const { pairs, localization } of histograms) {
    for (let step = 0; step < steps; step++) {
      sum.pairs[step] += pairs[step];
      sum.localization[step] += localization[step];
    }
  }
  return sum;
}

/** Calls for every sample; mistakes of all are thrown together, each with the name of its sample. */
function eachSample(samples: readonly TuningSample[], visit: (sample: TuningSample) => void): void {
  const problems: Problem[] = [];
  for (const sample of samples) {
    try {
      visit(sample);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      problems.push(...error.problems.map((one) => ({ ...one, path: `${labelOf(sample)}: ${one.path}` })));
    }
  }
  if (problems.length > 0) throw new InputError(problems);
}

/** Passes frames on and counts each as it is taken. */
export function* counting(frames: Frame[], watch: TuningWatch | undefined): Generator<Frame> {
  for (const frame of frames) {
    yield frame;
    watch?.tick();
  }
}
