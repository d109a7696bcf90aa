/**
 * From two files to the frames of both. MOTChallenge files with everything the benchmark knows (classes, flags, distractors); other
 * formats through the table of adapters, by frame number.
 * Invariant: both files are read before anything is complained about, and every mistake is told.
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
import { InputError, together } from '../../metric/input-error.js';
import type { Params } from '../../metric/params.js';
import type { Role } from '../../wire/feed.js';
import type { WireObject } from '../../wire/objects.js';
import { readRecordings, readText } from './recordings.js';

/** A format and the options it was given: what travels to a thread. */
export interface FormatSpec {
  name: string;
  options: Record<string, unknown>;
}

export interface PairReading {
  reference: string;
  tracker: string;
  /** null: MOTChallenge files with everything the benchmark knows */
  formats: { reference: FormatSpec; tracker: FormatSpec } | null;
  classes?: number[];
  allRows: boolean;
  preprocess?: Preprocessing;
  /** the first file is another tracker's or annotator's, not a benchmark's reference */
  symmetric?: 'trackers' | 'annotations';
}

export interface PairFrames {
  frames: Frame[];
  notes: string[];
}

export function specOf({ adapter, values, given }: Format): FormatSpec {
  return { name: adapter.name, options: Object.fromEntries([...given].map((key) => [key, values[key]])) };
}

/** Reads all files before it complains, so that the mistakes of all of them come together. */
export function readFeeds(readings: MotReading[], read = readMotFile): MotFeed[] {
  return together(readings, read);
}

const readMotFile = (reading: MotReading) => readMotChallenge(readText(reading.file), reading);

/** Reads pairs of files; a reference that was just read is not read again. */
export class PairReader {
  #known: { file: string; feed: MotFeed | Recording } | null = null;

  read(pair: PairReading): PairFrames {
    return pair.formats ? this.#readAny(pair, pair.formats) : this.#readMot(pair);
  }

  #readMot(pair: PairReading): PairFrames {
    const { classes, allRows, preprocess, symmetric } = pair;
    const kinds = { trackers: ['tracker', 'tracker'], annotations: ['reference', 'reference'] } as const;
    const [firstKind, secondKind] = symmetric ? kinds[symmetric] : (['reference', 'tracker'] as const);
    const first: MotReading = { kind: firstKind, file: pair.reference, classes, allRows };
    const second: MotReading = { kind: secondKind, file: pair.tracker, classes, allRows };
    const [reference, tracker] = readFeeds([first, second], (reading) =>
      reading === first ? this.#remember(first.file, () => readMotFile(reading)) : readMotFile(reading),
    );
    const frames = alignMotChallenge(reference, tracker, preprocess);
    const notes = [reference, ...(symmetric === 'annotations' ? [tracker] : [])].flatMap(referenceNotes);
    if (!symmetric) notes.push(...trackerNotes(tracker, reference));
    return { frames, notes };
  }

  #readAny(pair: PairReading, formats: NonNullable<PairReading['formats']>): PairFrames {
    const read = (file: string, spec: FormatSpec, role: Role) =>
      readRecordings([{ file, format: formatOf(spec), role }])[0];
    const tasks = [
      () => this.#remember(pair.reference, () => read(pair.reference, formats.reference, 'reference')),
      () => read(pair.tracker, formats.tracker, 'tracker'),
    ];
    const [reference, tracker] = together(tasks, (task) => task());
    return { frames: framesOf(reference, tracker), notes: [...reference.notes, ...tracker.notes] };
  }

  #remember<T extends MotFeed | Recording>(file: string, read: () => T): T {
    if (this.#known?.file !== file) this.#known = { file, feed: read() };
    return this.#known.feed as T;
  }
}

function formatOf({ name, options }: FormatSpec): Format {
  const format = formatByName(name, options);
  if (format === null || Array.isArray(format)) throw new InputError(format ?? []);
  return format;
}

/** Two recordings side by side; frames in which a feed says nothing are empty. */
export function framesOf(reference: Recording, tracker: Recording): Frame[] {
  return alignRecordings([reference, tracker]).map((step) => ({
    reference: objectsAt(step, 0).map(asObj),
    tracker: objectsAt(step, 1).map(asObj),
  }));
}

const asObj = ({ id, box, point }: WireObject): Obj => (box ? { id, box } : { id, point: point! });

export function referenceNotes({ file, rowCount, countedCount }: MotFeed): string[] {
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
export function trackerNotes(tracker: MotFeed, reference: MotFeed): string[] {
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
      `warning: ${file} goes on to frame ${lastFrame}, ${reference.file} ends with frame ${reference.lastFrame}: all that is tracked after it is false`,
    );
  return notes;
}

/** Points are compared where the distance wants points: the centres of the boxes. */
export function framesFor({ distance }: Params, frames: Frame[]): Frame[] {
  if (distance !== 'euclidean') return frames;
  return frames.map(({ reference, tracker }) => ({ reference: reference.map(centred), tracker: tracker.map(centred) }));
}

function centred(object: Obj): Obj {
  if (!('box' in object)) return object;
  const [left, top, width, height] = object.box;
  return { id: object.id, point: [left + width / 2, top + height / 2] };
}
