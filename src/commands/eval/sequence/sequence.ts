/** One sequence with the trackers that are judged on it, from files or from the built-in scene. */

import type { Evaluation, Frame } from '../../../metric/evaluation.js';
import type { PerformanceNumbers } from '../../../performance/performance.js';
import type { Totals } from '../../../scores/totals.js';
import type { PlantedFault } from '../../../simulation/planted-fault.js';
import { crossingScene } from '../../../simulation/walkers.js';
import { type SavedMoment, windowFramesOf } from '../../../wire/moment.js';
import { shortNames } from '../../files/names.js';
import { type Beside, type PairFrames, PairReader, type PairReading } from '../../files/pair-reader.js';
import type { NotJudged } from './coverage.js';
import type { NamedProfile } from './verdict.js';

export interface SequenceTracker {
  name: string;
  /** as given on the command line */
  file: string;
  frames: Frame[];
  /** numbers of the frames, or their times in seconds */
  places: number[];
  /** whether those are times */
  isTimed: boolean;
  /** what the reference sets aside in each of them, where that is asked for */
  asides?: Beside[][];
  /** what a simulated tracker does wrong on purpose */
  faults: PlantedFault[];
  /** what makes its numbers doubtful */
  warnings: string[];
  /** looks for a cause when it matches far less than the others */
  doubts: () => string[];
}

export interface Sequence {
  reference: string;
  /** the only class that is judged */
  class?: string;
  trackers: SequenceTracker[];
  notes: string[];
}

/** One tracker under one profile. */
export interface TrackerEvaluation {
  tracker: SequenceTracker;
  profile: NamedProfile;
  evaluation: Evaluation & { notJudged?: NotJudged };
  /** of the companion scores; the same under every profile */
  totals: Totals | null;
  /** where they are asked for */
  numbers?: PerformanceNumbers;
}

/** A sequence with all its trackers under all profiles. */
export interface JudgedSequence {
  sequence: Sequence;
  evaluations: TrackerEvaluation[];
}

/** Reads all files, or throws one InputError with everything that is wrong with them. */
export function readSequence(reference: string, files: readonly string[], reading: PairReading): Sequence {
  const names = shortNames(files);
  const reader = new PairReader(reading);
  const pairs = reader.readAll(files.map((tracker) => ({ reference, tracker })));
  const notes = pairs.flatMap((pair, index) => [...pair.notes, ...preprocessingNotes(names[index], pair)]);
  return {
    reference,
    ...(reading.class !== undefined && { class: reading.class }),
    trackers: pairs.map(({ frames, places, isTimed, asides, notes: own }, index) => ({
      name: names[index],
      file: files[index],
      frames,
      places,
      isTimed,
      asides,
      faults: [],
      warnings: warningsIn(own),
      doubts: () => reader.doubtsOn({ reference, tracker: files[index] }),
    })),
    // notes on the reference come with every tracker
    notes: [...new Set(notes)],
  };
}

const isWarning = (note: string) => note.startsWith('warning: ');

/** The notes that say that a number may be wrong. */
export const warningsIn = (notes: readonly string[]): string[] => [...new Set(notes.filter(isWarning))];

/** What is told beside the result: warnings too, unless they stand under tables for people. */
export const notesBeside = (notes: readonly string[], hasTables: boolean): string[] => [
  ...new Set(notes.filter((note) => !(hasTables && isWarning(note)))),
];

function preprocessingNotes(name: string, { preprocessed }: PairFrames): string[] {
  if (!preprocessed) return [];
  const { removedCount, rowCount } = preprocessed;
  return [`${name}: preprocessing took out ${removedCount} of ${rowCount} rows that are not judged`];
}

/** A saved moment: the window that ends with it, or all its frames for a window that slides. */
export function momentSequence(moment: SavedMoment, whole: boolean): Sequence {
  const { stream, tracker: name, k, lead } = moment;
  const frames = whole ? moment.frames : windowFramesOf(moment);
  const [first] = frames;
  const note = whole
    ? `moment of ${stream} / ${name}: frames ${first.k} to ${frames[frames.length - 1].k}, the first ${lead} fill the window`
    : `moment of ${stream} / ${name}: the window of frames ${first.k} to ${k}`;
  const places = frames.map((frame) => frame.k);
  const tracker = { name, file: name, frames, places, isTimed: false, faults: [], warnings: [], doubts: () => [] };
  return { reference: stream, trackers: [tracker], notes: [note] };
}

export function simulatedSequence(): Sequence {
  const { name, trackers } = crossingScene();
  return {
    reference: name,
    trackers: trackers.map((tracker) => ({
      ...tracker,
      file: tracker.name,
      places: tracker.frames.map((_, n) => n + 1),
      isTimed: false,
      warnings: [],
      doubts: () => [],
    })),
    notes: [],
  };
}
