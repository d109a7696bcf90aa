/**
 * The samples of `tgospa tune`, from files of any format: each reference is laid side by side with each of its trackers.
 * Invariant: all files are read before any is complained about, each file once.
 */

import { basename, dirname } from 'node:path';
import { alignMotChallenge, type Preprocessing, readMotChallenge } from '../../../adapters/formats/motchallenge.js';
import { alignRecordings, objectsAt, type Recording } from '../../../adapters/kit/recording.js';
import { type Frame, InputError, type Obj, type TuningSample } from '../../index.js';
import { together } from '../../metric/input-error.js';
import type { WireObject } from '../../wire/objects.js';
import { shortNames } from '../eval/eval.js';
import { findStudy, isFolder } from '../files/layout.js';
import { type FileFormats, readRecordings, readText } from '../files/recordings.js';

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

/** One tracker file beside its reference, and what both are called. */
interface Match {
  reference: string;
  file: string;
  tracker: string;
  sequence?: string;
}

/** Reads everything, or throws one InputError that lists the mistakes of all files. */
export function readSamples(files: SampleFiles): Samples {
  const { matches, notes } = matchesOf(files);
  const read = files.preprocess ? preprocessedPairs(matches, files, files.preprocess) : recordedPairs(matches, files);
  const samples = together(matches, ({ reference, file, tracker, sequence }): TuningSample => {
    const { frames, firstFrame } = read.pair(reference, file);
    return { tracker, ...(sequence !== undefined && { sequence }), firstFrame, frames };
  });
  return { samples, notes: [...notes, ...read.notes] };
}

/** Files as they are given, and folders laid out like a benchmark with all that is in them. */
function matchesOf({ groups, formats }: SampleFiles): { matches: Match[]; notes: string[] } {
  const isStudy = ({ reference }: TuneGroup) => !formats.reference.adapter.frameOfFile && isFolder(reference);
  const named = matchesOfFiles(groups.filter((group) => !isStudy(group)));
  const found = together(groups.filter(isStudy), (group) => matchesOfFolders(group, formats));
  return {
    matches: [...named, ...found.flatMap(({ matches }) => matches)],
    notes: found.flatMap(({ notes }) => notes),
  };
}

function matchesOfFiles(groups: TuneGroup[]): Match[] {
  const names = trackerNames(groups);
  const sequences = groups.length > 1 ? shortNames(groups.map(({ reference }) => reference)) : null;
  return groups.flatMap(({ reference, trackers }, group) =>
    trackers.map((file) => ({ reference, file, tracker: names.get(file)!, sequence: sequences?.[group] })),
  );
}

function matchesOfFolders({ reference, trackers }: TuneGroup, { reference: { adapter } }: FileFormats) {
  const { layout, trackers: names, sequences, notes } = findStudy(reference, trackers);
  if (layout !== adapter.name)
    throw new InputError([
      { path: reference, value: adapter.name, message: `is laid out for format ${layout}; say --format ${layout}` },
    ]);
  const matches = sequences.flatMap((sequence) =>
    names.flatMap((tracker, index): Match[] => {
      const file = sequence.trackers[index];
      return file === null ? [] : [{ reference: sequence.reference, file, tracker, sequence: sequence.name }];
    }),
  );
  return { matches, notes };
}

interface Pairs {
  pair(reference: string, tracker: string): { frames: Frame[]; firstFrame: number };
  notes: string[];
}

function recordedPairs(matches: Match[], { formats }: SampleFiles): Pairs {
  const { references, trackers } = filesOf(matches);
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
function preprocessedPairs(matches: Match[], { formats }: SampleFiles, preprocess: Preprocessing): Pairs {
  const { references, trackers } = filesOf(matches);
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
function filesOf(matches: Match[]): { references: string[]; trackers: string[] } {
  return {
    references: [...new Set(matches.map(({ reference }) => reference))],
    trackers: [...new Set(matches.map(({ file }) => file))],
  };
}

/**
 * A tracker on several sequences is one tracker: when each reference has at most one file in each folder, the folders are the
 * trackers; otherwise each file is one.
 */
function trackerNames(groups: TuneGroup[]): Map<string, string> {
  const files = [...new Set(groups.flatMap(({ trackers }) => trackers))];
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
