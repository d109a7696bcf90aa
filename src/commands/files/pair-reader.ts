/**
 * The one reader of pairs of files: a reference and a tracker become the frames of both. MOTChallenge files are read
 * with everything the benchmark knows (classes, flags, distractors), other formats through their adapters.
 * Invariant: both files of a pair are read before anything is reported, and the mistakes of a reference are reported
 * once, however many trackers are compared with it.
 */

import {
  alignMotChallenge,
  type MotFeed,
  type MotReading,
  type Preprocessing,
  readMotChallenge,
} from '../../../adapters/formats/motchallenge.js';
import { formatByName } from '../../../adapters/index.js';
import type { Format } from '../../../adapters/kit/adapter.js';
import { alignRecordings, objectsAt, type Recording } from '../../../adapters/kit/recording.js';
import type { Frame, Obj } from '../../metric/evaluation.js';
import { InputError, noting, type Problem, together } from '../../metric/input-error.js';
import type { WireObject } from '../../wire/objects.js';
import type { CommandLine } from '../console/options.js';
import { type FileFormats, type FormatSpec, isPlainMot, specOf } from './formats.js';
import { readRecordedFile, readText } from './recordings.js';

/** How the files of all pairs are read. Plain, so that it can be sent to a thread. */
export interface PairReading {
  formats: { reference: FormatSpec; tracker: FormatSpec };
  preprocess?: Preprocessing;
  /** the first file is another tracker's or annotator's, not a benchmark's reference */
  symmetric?: 'trackers' | 'annotations';
}

/** How a command line with FILE_OPTIONS wants its files to be read. */
export function readingOf(line: CommandLine, { reference, tracker }: FileFormats): PairReading {
  return {
    formats: { reference: specOf(reference), tracker: specOf(tracker) },
    preprocess: line.text('preprocess') as Preprocessing | undefined,
  };
}

export interface FilePair {
  reference: string;
  tracker: string;
}

export interface PairFrames {
  frames: Frame[];
  /** what the files call the first of them */
  firstFrame: number;
  /** what a person should know about the files */
  notes: string[];
  /** what preprocessing did: rows of the tracker, and how many of them it removed */
  preprocessed?: { rowCount: number; removedCount: number };
}

/** A way to read files: each on its own, then two side by side. */
interface FileReader<Feed> {
  readReference(file: string): Feed;
  readTracker(file: string): Feed;
  align(reference: Feed, tracker: Feed): PairFrames;
}

export class PairReader {
  readonly #readPair: (pair: FilePair) => PairFrames;

  constructor(reading: PairReading) {
    const { reference, tracker } = reading.formats;
    this.#readPair =
      isPlainMot(reference) && isPlainMot(tracker) ? pairsBy(motReader(reading)) : pairsBy(recordingReader(reading));
  }

  /** Reads one pair; the reference is not read again when the pair before had the same. */
  read(pair: FilePair): PairFrames {
    return this.#readPair(pair);
  }

  /** Reads all pairs, or throws one InputError with the mistakes of all files. */
  readAll(pairs: readonly FilePair[]): PairFrames[] {
    return together(pairs, this.#readPair);
  }
}

function pairsBy<Feed>(files: FileReader<Feed>): (pair: FilePair) => PairFrames {
  /** the newest reference; without a feed when it could not be read */
  let known: { file: string; feed?: Feed } | null = null;
  const readReference = (file: string): Feed | undefined => {
    if (known?.file !== file) {
      known = { file };
      known.feed = files.readReference(file);
    }
    return known.feed;
  };
  return ({ reference, tracker }) => {
    const problems: Problem[] = [];
    const feeds = {
      reference: noting(problems, () => readReference(reference)),
      tracker: noting(problems, () => files.readTracker(tracker)),
    };
    if (feeds.reference === undefined || feeds.tracker === undefined) throw new InputError(problems);
    return files.align(feeds.reference, feeds.tracker);
  };
}

/** MOTChallenge files, with the rows that do not count: preprocessing needs those of distractors. */
function motReader({ formats, preprocess, symmetric }: PairReading): FileReader<MotFeed> {
  const { classes, allRows } = formats.reference.options as Pick<MotReading, 'classes' | 'allRows'>;
  const read = (kind: MotReading['kind']) => (file: string) =>
    readMotChallenge(readText(file), { kind, file, classes, allRows });
  return {
    readReference: read(symmetric === 'trackers' ? 'tracker' : 'reference'),
    readTracker: read(symmetric === 'annotations' ? 'reference' : 'tracker'),
    align: (reference, tracker) => {
      const frames = alignMotChallenge(reference, tracker, preprocess);
      const believed = symmetric === 'annotations' ? [reference, tracker] : [reference];
      const notes = believed.flatMap(referenceNotes);
      if (!symmetric) notes.push(...trackerNotes(tracker, reference));
      return { frames, firstFrame: 1, notes, ...(preprocess && { preprocessed: countRemoved(tracker, frames) }) };
    },
  };
}

function countRemoved({ rowCount }: MotFeed, frames: Frame[]): PairFrames['preprocessed'] {
  const keptCount = frames.reduce((sum, frame) => sum + frame.tracker.length, 0);
  return { rowCount, removedCount: rowCount - keptCount };
}

/** Files of any format; frames in which a feed has nothing are empty. */
function recordingReader({ formats }: PairReading): FileReader<Recording> {
  const reference = formatOf(formats.reference);
  const tracker = formatOf(formats.tracker);
  return {
    readReference: (file) => readRecordedFile({ file, format: reference, role: 'reference' }),
    readTracker: (file) => readRecordedFile({ file, format: tracker, role: 'tracker' }),
    align: (...recordings) => {
      const steps = alignRecordings(recordings);
      const frames = steps.map((step) => ({
        reference: objectsAt(step, 0).map(asObj),
        tracker: objectsAt(step, 1).map(asObj),
      }));
      return { frames, firstFrame: steps[0]?.k ?? 1, notes: recordings.flatMap(({ notes }) => notes) };
    },
  };
}

function formatOf({ name, options }: FormatSpec): Format {
  const format = formatByName(name, options);
  if (format === null || Array.isArray(format)) throw new InputError(format ?? []);
  return format;
}

const asObj = ({ id, box, point }: WireObject): Obj => (box ? { id, box } : { id, point: point! });

function referenceNotes({ file, rowCount, countedCount }: MotFeed): string[] {
  if (rowCount === 0) return [`warning: ${file} is empty: everything tracked is false`];
  if (countedCount === 0 && rowCount > 0)
    return [
      `warning: none of the ${rowCount} rows of ${file} counts (flag 0 or other class); see --classes, --all-rows`,
    ];
  if (countedCount < rowCount)
    return [`${file}: ${countedCount} of ${rowCount} rows count (active, chosen class); --all-rows counts all`];
  return [];
}

/** What makes most of a tracker's rows false although nobody meant it. */
function trackerNotes(tracker: MotFeed, reference: MotFeed): string[] {
  const { file, columns, rowCount, lastFrame } = tracker;
  const notes: string[] = [];
  let others = 0;
  for (const rows of tracker.frames.values()) for (const row of rows) if (row.class > 1) others++;
  if (columns < 10 && others > 0)
    notes.push(
      `warning: ${file} looks like ground truth (${columns} columns); as a tracker all its ${rowCount} rows count, ${others} of them not pedestrians`,
    );
  if (reference.rowCount > 0 && lastFrame > reference.lastFrame)
    notes.push(
      `warning: ${file} continues to frame ${lastFrame}, ${reference.file} ends with frame ${reference.lastFrame}: all that is tracked after it is false`,
    );
  return notes;
}
