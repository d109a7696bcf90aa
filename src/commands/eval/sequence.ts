/** One sequence with the trackers that are judged on it, from files or from the built-in scene. */

import type { Evaluation, Frame } from '../../metric/evaluation.js';
import type { Totals } from '../../scores/totals.js';
import { crossingScene, type Fault } from '../../simulation/walkers.js';
import { shortNames } from '../files/names.js';
import { type PairFrames, PairReader, type PairReading } from '../files/pair-reader.js';
import type { NamedProfile } from './verdict.js';

export interface SequenceTracker {
  name: string;
  /** as given on the command line */
  file: string;
  frames: Frame[];
  /** numbers of the frames, or their times in seconds */
  places: number[];
  /** what a simulated tracker does wrong on purpose */
  faults: Fault[];
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
  evaluation: Evaluation;
  /** of the companion scores; the same under every profile */
  totals: Totals | null;
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
    trackers: pairs.map(({ frames, places, notes: own }, index) => ({
      name: names[index],
      file: files[index],
      frames,
      places,
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

export function simulatedSequence(): Sequence {
  const { name, trackers } = crossingScene();
  return {
    reference: name,
    trackers: trackers.map((tracker) => ({
      ...tracker,
      file: tracker.name,
      places: tracker.frames.map((_, n) => n + 1),
      warnings: [],
      doubts: () => [],
    })),
    notes: [],
  };
}
