/**
 * The one reader of pairs of files: a reference and a tracker become the frames of both, as their formats, the rules of
 * a benchmark and the pairing say.
 * Invariant: both files of a pair are read before anything is reported, and the mistakes of a reference are reported
 * once, however many trackers are compared with it.
 */

import { KITTI_CLASSES, KITTI_HEIGHT_MAX } from '../../../adapters/formats/kitti.js';
import { fileFormat } from '../../../adapters/index.js';
import type { Format, JudgingOptions, Part } from '../../../adapters/kit/adapter.js';
import { type Aside, judgedTracks, type Rules } from '../../../adapters/kit/preprocessing.js';
import type { Recording } from '../../../adapters/kit/recording.js';
import type { Box, Frame, Obj } from '../../metric/evaluation.js';
import { InputError, noting, type Problem, together } from '../../metric/input-error.js';
import type { Role } from '../../wire/feed.js';
import type { WireObject } from '../../wire/objects.js';
import type { CommandLine, Option } from '../console/options.js';
import { examine, examineClosely, type Yardstick } from './doctor.js';
import { type FileFormats, type FormatSpec, specOf } from './formats.js';
import { EXACT_PAIRING, type PairingRules, pairRecordings, readPairing } from './pairing.js';
import { readRecordedFile, readText } from './recordings.js';
import { isReporting, sampleReports } from './sampled-reports.js';

/** How the files of all pairs are read. Plain, so that it can be sent to a thread. */
export interface PairReading {
  formats: {
    reference: FormatSpec;
    tracker: FormatSpec;
    /** trackers that are read otherwise, by their file or the folder it is in */
    others?: Record<string, FormatSpec>;
  };
  preprocess?: Rules;
  /** what these rules set aside is handed on with the frames, instead of taking tracks out */
  setAside?: Rules;
  /** the first file is another tracker's or annotator's, not a benchmark's reference */
  symmetric?: 'trackers' | 'annotations';
  /** only objects of these classes count, by the names that the files have for them */
  classes?: readonly string[];
  /** what the reference calls the classes of trackers, by their own names in lower case */
  classMap?: Readonly<Record<string, string>>;
  /** only this class is judged, in a table of its own */
  class?: string;
  pairing?: PairingRules;
  /** what counts as a match, for whoever wants to know why hardly anything does */
  yardstick?: Yardstick;
}

/** How a command line with FILE_OPTIONS wants its files to be read. */
export function readingOf(line: CommandLine, { reference, tracker, trackers }: FileFormats): PairReading {
  const others = [...trackers].filter(([, format]) => format !== tracker);
  const reading: PairReading = {
    formats: { reference: specOf(reference), tracker: specOf(tracker) },
    preprocess: line.text('preprocess') as Rules | undefined,
    setAside: line.text('ignore-rules') as Rules | undefined,
  };
  if (others.length > 0)
    reading.formats.others = Object.fromEntries(others.map(([file, format]) => [file, specOf(format)]));
  if (line.has('classes') && !('classes' in reference.adapter.options))
    reading.classes = line
      .text('classes')!
      .toLowerCase()
      .split(',')
      .map((kind) => reference.adapter.classNames?.[kind] ?? kind);
  if (rulesOf(reading) === 'kitti' && reading.classes?.length === 1) reading.class = reading.classes[0];
  const classMap = readClassMap(line);
  if (classMap) reading.classMap = classMap;
  const pairing = readPairing(line);
  if (pairing) reading.pairing = pairing;
  return reading;
}

export const CLASS_OPTIONS = {
  'class-map': {
    value: 'THEIRS=OURS',
    repeat: true,
    help: 'rename a class of the trackers to what the reference calls it; several may map to one',
  },
} as const satisfies Record<string, Option>;

function readClassMap(line: CommandLine): Record<string, string> | null {
  const pairs = line.texts('class-map').map((text) => {
    const [theirs, ours, ...more] = text.split('=');
    if (!theirs || !ours || more.length > 0) line.wrong(`--class-map must be THEIRS=OURS, got "${text}"`);
    return [theirs.toLowerCase(), ours];
  });
  return pairs.length > 0 ? Object.fromEntries(pairs) : null;
}

/** The rules of a benchmark that files are read by, whatever is made of what they set aside. */
export const rulesOf = ({ preprocess, setAside }: PairReading): Rules | undefined => preprocess ?? setAside;

/** The classes that are judged one by one because a benchmark does so; null: everything at once. */
export const classesOf = (rules: Rules | undefined): readonly string[] | null =>
  rules === 'kitti' ? KITTI_CLASSES : null;

export interface FilePair {
  reference: string;
  tracker: string;
}

export interface PairFrames {
  frames: Frame[];
  /** what the files call the first of them */
  firstFrame: number;
  /** numbers of all of them, or their times in seconds */
  places: number[];
  /** whether places are times */
  isTimed: boolean;
  /** what a person should know about the files */
  notes: string[];
  /** what the reference sets aside in each of them, where that is asked for */
  asides?: Beside[][];
  /** what preprocessing did: rows of the tracker, and how many of them it removed */
  preprocessed?: { rowCount: number; removedCount: number };
}

/** Beside what is judged at a moment: what a benchmark sets aside, or a truth whose reports leave open where it is. */
export type Beside = Aside | { role: 'gap'; object: Obj };

export class PairReader {
  /** the newest reference; without a recording when it could not be read */
  #known: { file: string; recording?: Recording } | null = null;

  constructor(private readonly reading: PairReading) {}

  /** Reads one pair; the reference is not read again when the pair before had the same. */
  read({ reference, tracker }: FilePair): PairFrames {
    const { formats, symmetric } = this.reading;
    const problems: Problem[] = [];
    const recordings = [
      noting(problems, () => this.#reference(reference)),
      noting(problems, () =>
        this.#file(tracker, this.#specOf(tracker), symmetric === 'annotations' ? 'reference' : 'tracker'),
      ),
    ];
    const [first, second] = recordings;
    if (first === undefined || second === undefined) throw new InputError(withoutRepeats(problems));
    if (first.format.shape !== second.format.shape)
      throw new InputError([
        {
          path: tracker,
          value: second.format.adapter.name,
          message: `holds ${second.format.shape}s, and ${reference} (${formats.reference.name}) ${first.format.shape}s; both need the same`,
        },
      ]);
    return isReporting(first) || isReporting(second) ? this.#sample(first, second) : this.#align(first, second);
  }

  /** What might be wrong with a pair that could be read and matches far less than its neighbours. */
  doubtsOn({ reference, tracker }: FilePair): string[] {
    const { yardstick, pairing = EXACT_PAIRING } = this.reading;
    const first = this.#reference(reference);
    if (!yardstick || !first) return [];
    const second = this.#file(tracker, this.#specOf(tracker), 'tracker');
    return examineClosely(first, second, yardstick, pairing.toleranceMs);
  }

  /** Reads all pairs, or throws one InputError with the mistakes of all files. */
  readAll(pairs: readonly FilePair[]): PairFrames[] {
    return together(pairs, (pair) => this.read(pair));
  }

  /** The classes of references and trackers, in their order: numbers by value, names by the alphabet. */
  classes(pairs: readonly FilePair[]): string[] {
    const { adapter } = formatOf(this.reading.formats.reference);
    // by the name that is not minded to be in capitals; what the reference calls it comes first
    const found = new Map<string, string>();
    const add = (kind: string) => found.has(kind.toLowerCase()) || found.set(kind.toLowerCase(), kind);
    for (const file of new Set(pairs.map(({ reference }) => reference)))
      for (const kind of adapter.classesIn?.(readText(file)) ?? classesIn(this.#reference(file))) add(kind);
    // a reference without classes stands for all of them
    if (found.size > 0)
      for (const { reference, tracker } of pairs)
        for (const kind of this.#trackerClasses(reference, tracker)) add(kind);
    return [...found.values()].sort((a, b) => Number(a) - Number(b) || (a < b ? -1 : 1));
  }

  /** Those of a tracker, by the names that the reference has for them; none where rows are told by number. */
  #trackerClasses(reference: string, tracker: string): Set<string> {
    const { classNames = {} } = this.#reference(reference) ?? {};
    const recording = this.#file(tracker, this.#specOf(tracker), 'tracker');
    if (recording.format.adapter.readsClasses) return new Set();
    return classesIn(recording.classNames ? recording : withNames(recording, classNames));
  }

  #reference(file: string): Recording | undefined {
    if (this.#known?.file !== file) {
      this.#known = { file };
      const { formats, symmetric } = this.reading;
      this.#known.recording = this.#file(file, formats.reference, symmetric === 'trackers' ? 'tracker' : 'reference');
    }
    return this.#known.recording;
  }

  #specOf(tracker: string): FormatSpec {
    const { tracker: standard, others = {} } = this.reading.formats;
    const folder = Object.keys(others).find((path) => tracker === path || tracker.startsWith(`${path}/`));
    return folder === undefined ? standard : others[folder];
  }

  #file(file: string, spec: FormatSpec, role: Role): Recording {
    const { class: kind, symmetric } = this.reading;
    const judging: JudgingOptions = { rules: rulesOf(this.reading), class: kind, symmetric: symmetric !== undefined };
    // those of the reference are among its options
    const { name, options } = this.reading.formats.reference;
    if (role === 'tracker' && name === spec.name && Array.isArray(options.classes)) judging.classes = options.classes;
    const recording = readRecordedFile({ file, format: formatOf(spec), role, judging });
    return this.#ofClass(role === 'tracker' ? this.#renamed(recording) : recording);
  }

  /** With the names that the reference has for its classes, as far as somebody said them. */
  #renamed(recording: Recording): Recording {
    const { classMap } = this.reading;
    if (!classMap) return recording;
    const unused = new Set(Object.keys(classMap));
    const named = (object: WireObject): WireObject => {
      const theirs = object.class?.toLowerCase();
      if (theirs === undefined || classMap[theirs] === undefined) return object;
      unused.delete(theirs);
      return { ...object, class: classMap[theirs] };
    };
    const parts = recording.parts.map((part) => ({ ...part, objects: part.objects.map(named) }));
    const notes = [...unused].map((theirs) => `warning: no object of ${recording.file} is of the class ${theirs}`);
    return { ...recording, parts, notes: [...recording.notes, ...notes] };
  }

  /** Only the classes that count, in formats whose objects have one. */
  #ofClass(given: Recording): Recording {
    const { classes, class: kind } = this.reading;
    const names = given.classNames ?? this.#known?.recording?.classNames ?? {};
    const asked = kind === undefined ? classes : [kind.toLowerCase()];
    if (!asked || given.format.adapter.readsClasses) return given;
    const wanted = asked.map((one) => (names[one] ?? one).toLowerCase());
    const recording = given.classNames ? given : withNames(given, names);
    const isWanted = ({ class: one }: WireObject) => one !== undefined && wanted.includes(one.toLowerCase());
    const objects = recording.parts.flatMap((part) => part.objects);
    if (objects.length > 0 && objects.every((object) => object.class === undefined)) {
      const note = `warning: ${recording.file} has no classes: all its objects count as ${wanted.join(', ')}`;
      return { ...recording, notes: [...recording.notes, note] };
    }
    const parts = recording.parts.map((part) => ({ ...part, objects: part.objects.filter(isWanted) }));
    if (kind !== undefined || objects.length === 0 || parts.some((part) => part.objects.length > 0))
      return { ...recording, parts };
    const there = [...classesIn(recording)].sort().join(', ');
    const note = `warning: no object of ${recording.file} is of the class ${classes?.join(', ')}; it has ${there}`;
    return { ...recording, parts, notes: [...recording.notes, note] };
  }

  /** Reports as frames at the times of the other file. */
  #sample(first: Recording, second: Recording): PairFrames {
    const { pairing = EXACT_PAIRING, yardstick } = this.reading;
    const rules = { ...pairing, onEarth: yardstick?.distance === 'geodesic' };
    const { reference, tracker, unclear, notes } = sampleReports(first, second, rules);
    const read = this.#align(reference, tracker);
    const asides = read.places.map((t) =>
      asObjects(unclear.get(t) ?? []).map((object) => ({ role: 'gap', object }) as const),
    );
    return { ...read, isTimed: true, asides, notes: [...read.notes, ...notes] };
  }

  #align(reference: Recording, tracker: Recording): PairFrames {
    const { preprocess, symmetric, pairing = EXACT_PAIRING } = this.reading;
    const { steps, notes, places } = pairRecordings(reference, tracker, pairing);
    const { yardstick } = this.reading;
    const findings = yardstick && !symmetric ? examine(reference, tracker, yardstick, pairing.toleranceMs) : [];
    const told = symmetric ? [] : [...emptinessOf(reference, tracker), ...notes];
    const all = [...reference.notes, ...tracker.notes, ...told, ...findings];
    const rowCount = steps.reduce((sum, { tracks }) => sum + tracks.length, 0);
    const frames = steps.map(({ truths, tracks, aside }) => ({
      reference: asObjects(truths),
      tracker: asObjects(preprocess ? judged(preprocess, truths, aside, tracks) : tracks),
    }));
    const firstFrame = reference.parts[0]?.k === undefined && tracker.parts[0]?.k === undefined ? 1 : (places[0] ?? 1);
    const isTimed = [reference, tracker].some(({ parts }) => parts.length > 0 && parts[0].k === undefined);
    const read = { frames, firstFrame, places, isTimed, notes: all };
    if (this.reading.setAside) return { ...read, asides: steps.map(({ aside }) => aside) };
    if (!preprocess) return read;
    const keptCount = frames.reduce((sum, frame) => sum + frame.tracker.length, 0);
    const preprocessed = { rowCount, removedCount: rowCount - keptCount };
    return { ...read, preprocessed };
  }
}

/** A file that is given twice is told about once. */
function withoutRepeats(problems: Problem[]): Problem[] {
  return [...new Map(problems.map((problem) => [`${problem.path} ${problem.message}`, problem])).values()];
}

function classesIn(recording: Recording | undefined): Set<string> {
  const found = new Set<string>();
  for (const { objects } of recording?.parts ?? [])
    for (const { class: kind } of objects) if (kind !== undefined) found.add(kind);
  return found;
}

/** The names that the reference has for the classes of a tracker. */
function withNames(recording: Recording, names: Readonly<Record<string, string>>): Recording {
  if (Object.keys(names).length === 0) return recording;
  const named = (object: WireObject) =>
    object.class === undefined ? object : { ...object, class: names[object.class] ?? object.class };
  return {
    ...recording,
    parts: recording.parts.map((part) => ({ ...part, objects: part.objects.map(named) })),
  };
}

/** A tracker's file without an object, where the reference has some. */
function emptinessOf(reference: Recording, tracker: Recording): string[] {
  const isEmpty = ({ parts }: Recording) => parts.every(({ objects }) => objects.length === 0);
  return isEmpty(tracker) && !isEmpty(reference)
    ? [`warning: ${tracker.file} has no objects that count: everything is missed`]
    : [];
}

function judged(
  rules: Rules,
  truths: WireObject[],
  aside: NonNullable<Part['aside']>,
  tracks: WireObject[],
): WireObject[] {
  const boxed = (objects: WireObject[]) => objects as Array<WireObject & { box: Box }>;
  return judgedTracks(boxed(truths), aside, boxed(tracks), rules === 'kitti' ? KITTI_HEIGHT_MAX : 0);
}

function formatOf({ name, options }: FormatSpec): Format {
  const format = fileFormat(name, options);
  if (format === null || Array.isArray(format)) throw new InputError(format ?? []);
  return format;
}

/** The metric looks at id and box or point, and passes over what else an object has. */
const asObjects = (objects: WireObject[]): Obj[] => objects as Obj[];
