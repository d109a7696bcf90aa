/**
 * The samples of `tgospa tune`, from files of any format: each reference is laid side by side with each of its trackers.
 * Invariant: all files are read before any is complained about, each file once.
 */

import { basename, dirname } from 'node:path';
import { alignMotChallenge, type Preprocessing, readMotChallenge } from '../adapters/motchallenge.js';
import { alignRecordings, objectsAt, type Recording } from '../adapters/recording.js';
import { shortNames } from './eval.js';
import { type Frame, InputError, type Obj, type Problem, type TuningSample } from './index.js';
import type { WireObject } from './protocol.js';
import { type FileFormats, readRecordings, readText } from './recordings.js';

/** A reference and the trackers that are compared with it. */
export interface TuneGroup {
  reference: string;
  trackers: string[];
}

export interface SampleFiles {
  groups: TuneGroup[];
  formats: FileFormats;
  /** takes MOTChallenge files without further options */
  preprocess?: Preprocessing;
}

export interface Samples {
  samples: TuningSample[];
  /** what a reader should know about the files */
  notes: string[];
}

/** Reads everything, or throws one InputError that lists the mistakes of all files. */
export function readSamples(files: SampleFiles): Samples {
  const { groups } = files;
  const read = files.preprocess ? preprocessedPairs(files, files.preprocess) : recordedPairs(files);
  const names = trackerNames(groups);
  const sequences = groups.length > 1 ? shortNames(groups.map(({ reference }) => reference)) : null;
  const pairs = groups.flatMap(({ reference, trackers }, group) =>
    trackers.map((file) => ({ reference, file, sequence: sequences?.[group] })),
  );
  const samples = together(pairs, ({ reference, file, sequence }): TuningSample => {
    const { frames, firstFrame } = read.pair(reference, file);
    return { tracker: names.get(file)!, ...(sequence !== undefined && { sequence }), firstFrame, frames };
  });
  return { samples, notes: read.notes };
}

interface Pairs {
  pair(reference: string, tracker: string): { frames: Frame[]; firstFrame: number };
  notes: string[];
}

function recordedPairs({ groups, formats }: SampleFiles): Pairs {
  const { references, trackers } = filesOf(groups);
  const recordings = readRecordings([
    ...references.map((file) => ({ file, format: formats.reference, role: 'reference' as const })),
    ...trackers.map((file) => ({ file, format: formats.tracker, role: 'tracker' as const })),
  ]);
  const believed = byFile(recordings.slice(0, references.length));
  const judged = byFile(recordings.slice(references.length));
  return {
    pair: (reference, tracker) => {
      const steps = alignRecordings([believed.get(reference)!, judged.get(tracker)!]);
      const frames = steps.map((step) => ({
        reference: objectsAt(step, 0).map(objectOf),
        tracker: objectsAt(step, 1).map(objectOf),
      }));
      return { frames, firstFrame: steps[0]?.k ?? 1 };
    },
    notes: recordings.flatMap(({ notes }) => notes),
  };
}

const byFile = (recordings: Recording[]) => new Map(recordings.map((recording) => [recording.file, recording]));
const objectOf = ({ id, box, point }: WireObject): Obj => (box ? { id, box } : { id, point: point! });

/** The benchmark's own cleaning needs rows that are no objects: those of distractors. */
function preprocessedPairs({ groups, formats }: SampleFiles, preprocess: Preprocessing): Pairs {
  const { references, trackers } = filesOf(groups);
  const { classes, allRows } = formats.reference.values as { classes?: number[]; allRows?: boolean };
  const believed = together(references, (file) =>
    readMotChallenge(readText(file), { kind: 'reference', file, classes, allRows }),
  );
  const judged = together(trackers, (file) => readMotChallenge(readText(file), { kind: 'tracker', file }));
  return {
    pair: (reference, tracker) => {
      const feeds = [believed[references.indexOf(reference)], judged[trackers.indexOf(tracker)]] as const;
      return { frames: alignMotChallenge(...feeds, preprocess), firstFrame: 1 };
    },
    notes: [],
  };
}

/** Each file once. */
function filesOf(groups: TuneGroup[]): { references: string[]; trackers: string[] } {
  return {
    references: [...new Set(groups.map(({ reference }) => reference))],
    trackers: [...new Set(groups.flatMap(({ trackers }) => trackers))],
  };
}

/** Does the same with all items; mistakes of all of them are thrown together. */
function together<Item, Result>(items: readonly Item[], work: (item: Item) => Result): Result[] {
  const problems: Problem[] = [];
  const results = items.flatMap((item) => {
    try {
      return [work(item)];
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      problems.push(...error.problems);
      return [];
    }
  });
  if (problems.length > 0) throw new InputError(problems);
  return results;
}

/**
 * A tracker on several sequences is one tracker: when each reference has at most one file in each folder, the folders are the
 * trackers; otherwise each file is one.
 */
function trackerNames(groups: TuneGroup[]): Map<string, string> {
  const { trackers: files } = filesOf(groups);
  const folders = [...new Set(files.map((file) => dirname(file)))];
  const oneEach = groups.every(
    ({ trackers }) => new Set(trackers.map((file) => dirname(file))).size === trackers.length,
  );
  if (groups.length === 1 || !oneEach || folders.length === files.length) {
    const names = shortNames(files);
    return new Map(files.map((file, index) => [file, names[index]]));
  }
  const names = folders.length === 1 ? [basename(folders[0])] : shortNames(folders);
  return new Map(files.map((file) => [file, names[folders.indexOf(dirname(file))]]));
}
