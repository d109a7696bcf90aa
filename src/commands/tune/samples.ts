/**
 * The samples of `tgospa tune`, from files of any format: each reference beside each of its trackers.
 * Invariant: all files are read before any mistake is reported.
 */

import { basename, dirname } from 'node:path';
import type { TuningSample } from '../../index.js';
import { InputError, together } from '../../metric/input-error.js';
import { findStudy, isFolder } from '../files/layout.js';
import { shortNames } from '../files/names.js';
import { type FilePair, PairReader, type PairReading } from '../files/pair-reader.js';

/** A reference and the trackers that are compared with it. */
export interface TuneGroup {
  reference: string;
  trackers: string[];
}

export interface SampleFiles {
  groups: TuneGroup[];
  reading: PairReading;
  /** in this format a recording is a folder, not a file */
  ofFolders: boolean;
}

export interface Samples {
  samples: TuningSample[];
  /** what a reader should know about the files */
  notes: string[];
}

/** A pair of files, and what they are called. */
interface SamplePair extends FilePair {
  name: string;
  sequence?: string;
}

/** Reads everything, or throws one InputError that lists the mistakes of all files. */
export function readSamples(files: SampleFiles): Samples {
  const { pairs, notes } = pairsOf(files);
  const read = new PairReader(files.reading).readAll(pairs);
  const samples = read.map(({ frames, firstFrame }, index): TuningSample => {
    const { name, sequence } = pairs[index];
    return { tracker: name, ...(sequence !== undefined && { sequence }), firstFrame, frames };
  });
  return { samples, notes: [...new Set([...notes, ...read.flatMap((pair) => pair.notes)])] };
}

/** Files as they are given, and folders laid out like a benchmark with all that is in them. */
function pairsOf({ groups, reading, ofFolders }: SampleFiles): { pairs: SamplePair[]; notes: string[] } {
  const isStudy = ({ reference }: TuneGroup) => !ofFolders && isFolder(reference);
  const named = pairsOfFiles(groups.filter((group) => !isStudy(group)));
  const found = together(groups.filter(isStudy), (group) => pairsInFolders(group, reading.formats.reference.name));
  return {
    pairs: [...named, ...found.flatMap(({ pairs }) => pairs)],
    notes: found.flatMap(({ notes }) => notes),
  };
}

function pairsOfFiles(groups: TuneGroup[]): SamplePair[] {
  const names = trackerNames(groups);
  const sequences = groups.length > 1 ? shortNames(groups.map(({ reference }) => reference)) : null;
  return groups.flatMap(({ reference, trackers }, group) =>
    trackers.map((tracker) => ({ reference, tracker, name: names.get(tracker)!, sequence: sequences?.[group] })),
  );
}

function pairsInFolders({ reference, trackers }: TuneGroup, format: string) {
  const { layout, trackers: names, sequences, notes } = findStudy(reference, trackers);
  if (layout !== format)
    throw new InputError([
      { path: reference, value: format, message: `is laid out for format ${layout}; say --format ${layout}` },
    ]);
  const pairs = sequences.flatMap((sequence) =>
    names.flatMap((name, index): SamplePair[] => {
      const tracker = sequence.trackers[index];
      return tracker === null ? [] : [{ reference: sequence.reference, tracker, name, sequence: sequence.name }];
    }),
  );
  return { pairs, notes };
}

/**
 * A tracker on several sequences is one tracker: when each reference has at most one file in each folder, the folders
 * are the trackers; otherwise each file is one.
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
