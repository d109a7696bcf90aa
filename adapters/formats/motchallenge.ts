/**
 * MOTChallenge text files: ground truth, detections and tracker results, one object per line, comma separated:
 * frame, id, left, top, width, height [, flag or confidence [, class or x [, visibility or y [, z]]]].
 * The number of columns decides what the seventh and later ones mean; the rules are in adapters/README.md.
 * Invariant: a feed that is returned is sound (finite numbers, positive sides, unique ids per frame, frames from 1);
 * otherwise one InputError lists the mistakes of the whole file, each with line, column and remedy.
 */

import { bestMatching } from '../../src/metric/assignment.js';
import { distances } from '../../src/metric/distance.js';
import type { Box, Frame, Obj } from '../../src/metric/evaluation.js';
import { InputError, type Problem } from '../../src/metric/input-error.js';
import { type Decoded, type Decoder, defineAdapter, Mistake, type Part, PROBLEMS_MAX } from '../kit/adapter.js';
import { BOX_OPTIONS, Placement, type PlacementOptions, shiftedFrame } from '../kit/placement.js';

const COLUMNS = ['frame', 'id', 'left', 'top', 'width', 'height', 'column 7', 'column 8', 'column 9', 'column 10'];
const COLUMNS_MIN = 6;
const COLUMNS_MAX = COLUMNS.length;
const EXPECTED = 'frame, id, left, top, width, height and up to four more';
/** Longest sequence taken, in frames: a stray frame number must not ask for a billion empty frames. */
const FRAMES_MAX = 1_000_000;

const PEDESTRIAN = 1;
const IOU_MATCH_MIN = 0.5 - Number.EPSILON;
/**
 * Classes a tracker is neither rewarded nor punished for: on a vehicle, static, distractor, reflection; MOT20 adds
 * vehicles.
 */
const DISTRACTORS = { motchallenge: [2, 7, 8, 12], mot20: [2, 6, 7, 8, 12] };

/** `motchallenge`: distractors of MOT16 and MOT17; `mot20` counts non-motorised vehicles among them too. */
export type Preprocessing = keyof typeof DISTRACTORS;

export interface MotReading {
  /** what the file is believed to be: only reference rows are dropped by flag and class */
  kind: 'reference' | 'tracker';
  /** name of the file, for messages */
  file: string;
  /** classes of the reference that count, where the file has a class column; default 1, pedestrian */
  classes?: number[];
  /** count every row, whatever its flag and class */
  allRows?: boolean;
}

export interface MotRow {
  object: Obj & { box: Box };
  /** 1-based line in the file */
  line: number;
  /** false: dropped by flag or class, kept only for preprocessing */
  counted: boolean;
  /** 0 where the file has no class column */
  class: number;
}

/** One file, read and checked. */
export interface MotFeed {
  file: string;
  /** columns per line; 0 for an empty file */
  columns: number;
  rowCount: number;
  countedCount: number;
  lastFrame: number;
  /** rows by 1-based frame number, in the order of the file */
  frames: Map<number, MotRow[]>;
}

/** Reads a ground truth, detection or result file. Throws one InputError naming every mistake. */
export function readMotChallenge(text: string, reading: MotReading): MotFeed {
  const scanner = new Scanner(text, reading.file);
  const feed: MotFeed = {
    file: reading.file,
    columns: 0,
    rowCount: 0,
    countedCount: 0,
    lastFrame: 0,
    frames: new Map(),
  };
  const classes = new Set(reading.classes ?? [PEDESTRIAN]);
  while (scanner.mistakes.length < PROBLEMS_MAX && scanner.nextLine()) {
    if (feed.columns === 0) feed.columns = scanner.columns;
    const row = readRow(scanner, feed.columns, reading.kind);
    if (row === null) continue;
    row.counted = reading.allRows === true || reading.kind === 'tracker' || isCounted(scanner, row, classes);
    addRow(feed, scanner.values[0], row);
  }
  findDuplicates(feed, scanner);
  if (scanner.mistakes.length > 0) throw new InputError(scanner.mistakes);
  return feed;
}

/** Frames 1 to the last of both files, in order; frame f is at index f - 1. Frames without rows are empty. */
export function alignMotChallenge(reference: MotFeed, tracker: MotFeed, preprocess?: Preprocessing): Frame[] {
  if (preprocess) checkPreprocessable(reference, tracker);
  const length = Math.max(reference.lastFrame, tracker.lastFrame);
  return Array.from({ length }, (_, index) => {
    const truths = reference.frames.get(index + 1) ?? [];
    const tracks = tracker.frames.get(index + 1) ?? [];
    const kept = preprocess ? withoutDistractors(truths, tracks, DISTRACTORS[preprocess]) : tracks;
    return { reference: objectsOf(truths), tracker: objectsOf(kept) };
  });
}

function objectsOf(rows: MotRow[]): Obj[] {
  const objects: Obj[] = [];
  for (const row of rows) if (row.counted) objects.push(row.object);
  return objects;
}

function readRow(scanner: Scanner, columns: number, kind: MotReading['kind']): MotRow | null {
  if (!hasSoundColumns(scanner, columns)) return null;
  const { values } = scanner;
  const frame = values[0];
  const width = values[4];
  const height = values[5];
  const before = scanner.mistakes.length;
  if (!Number.isInteger(frame) || frame < 1 || frame > FRAMES_MAX)
    scanner.mistake(0, `a whole number from 1 to ${FRAMES_MAX}`);
  if (!(width > 0)) scanner.mistake(4, 'a number above 0');
  if (!(height > 0)) scanner.mistake(5, 'a number above 0');
  const id = readId(scanner);
  if (scanner.mistakes.length > before) return null;
  const category = hasClass(columns, kind) ? values[7] : 0;
  return {
    object: { id, box: [values[2], values[3], width, height] },
    line: scanner.line,
    counted: true,
    class: category,
  };
}

function hasSoundColumns(scanner: Scanner, columns: number): boolean {
  const count = scanner.columns;
  if (count < COLUMNS_MIN || count > COLUMNS_MAX) {
    scanner.lineMistake(
      `has ${count} columns; expected ${COLUMNS_MIN} to ${COLUMNS_MAX}, separated by commas: ${EXPECTED}`,
    );
    return false;
  }
  if (count !== columns) {
    scanner.lineMistake(`has ${count} columns; expected ${columns}, as on the first line`);
    return false;
  }
  let sound = true;
  for (let column = 0; column < count; column++) {
    // ids may be wider than a double; readId judges them
    if (column === 1 || Number.isFinite(scanner.values[column])) continue;
    scanner.mistake(column, 'a finite number');
    sound = false;
  }
  return sound;
}

/**
 * Whole numbers of any size, as text; `0.0` is `0`. -1 is a detection: a trajectory of its own, named by frame and
 * line.
 */
function readId(scanner: Scanner): string {
  const value = scanner.values[1];
  if (value >= 0 && Number.isSafeInteger(value)) return String(value);
  if (value === -1) return `det:${scanner.values[0]}:${scanner.lineBase + scanner.line}`;
  const text = scanner.text(1);
  if (!/^\d+$/.test(text)) scanner.mistake(1, 'a whole number, or -1 for a detection without identity');
  return text;
}

/** Column 8 is the class; but in a reference of 10 columns (MOT15) it is a world position. */
function hasClass(columns: number, kind: MotReading['kind']): boolean {
  return columns >= 8 && (kind === 'tracker' || columns < 10);
}

/** Column 7 is the active flag. */
function isCounted(scanner: Scanner, row: MotRow, classes: Set<number>): boolean {
  if (scanner.columns >= 7 && scanner.values[6] === 0) return false;
  return !hasClass(scanner.columns, 'reference') || classes.has(row.class);
}

function addRow(feed: MotFeed, frame: number, row: MotRow): void {
  const rows = feed.frames.get(frame);
  if (rows) rows.push(row);
  else feed.frames.set(frame, [row]);
  feed.rowCount++;
  if (row.counted) feed.countedCount++;
  if (frame > feed.lastFrame) feed.lastFrame = frame;
}

function findDuplicates(feed: MotFeed, scanner: Scanner): void {
  const lineOf = new Map<string, number>();
  for (const [frame, rows] of feed.frames) {
    lineOf.clear();
    for (const { object, line } of rows) {
      const first = lineOf.get(object.id);
      if (first === undefined) lineOf.set(object.id, line);
      else
        scanner.addMistake(
          `${line}:${scanner.characterOf(line, 1)}`,
          object.id,
          `id (column 2) is already in frame ${frame}, on line ${first}; an id may come once per frame`,
        );
    }
  }
}

/** The benchmark's own cleaning: tracks that match a distractor are taken out before anything is counted. */
function withoutDistractors(truths: MotRow[], tracks: MotRow[], distractors: number[]): MotRow[] {
  const partners = matchByOverlap(truths, tracks);
  return tracks.filter((_, index) => {
    const partner = partners[index];
    return partner < 0 || !distractors.includes(truths[partner].class);
  });
}

/**
 * For each track the index of its truth, or -1, in the matching of the greatest total overlap, among pairs with IoU >=
 * 0.5.
 */
function matchByOverlap(truths: MotRow[], tracks: MotRow[]): Int32Array {
  const truthBoxes = packBoxes(truths);
  const trackBoxes = packBoxes(tracks);
  const overlaps = new Float64Array(tracks.length * truths.length);
  for (let track = 0; track < tracks.length; track++) {
    for (let truth = 0; truth < truths.length; truth++) {
      const overlap = 1 - distances.iou(trackBoxes, track, truthBoxes, truth, 4);
      if (overlap >= IOU_MATCH_MIN) overlaps[track * truths.length + truth] = overlap;
    }
  }
  return bestMatching(overlaps, tracks.length, truths.length);
}

function packBoxes(rows: MotRow[]): Float64Array {
  const boxes = new Float64Array(rows.length * 4);
  rows.forEach(({ object }, index) => {
    boxes.set(object.box, index * 4);
  });
  return boxes;
}

function checkPreprocessable(reference: MotFeed, tracker: MotFeed): void {
  const problems: Problem[] = [];
  if (reference.rowCount > 0 && !hasClass(reference.columns, 'reference'))
    problems.push({
      path: reference.file,
      value: reference.columns,
      message: `preprocessing needs the class in column 8 of 9, but the file has ${reference.columns} columns; evaluate it without preprocessing`,
    });
  problems.push(...otherClasses(tracker));
  if (problems.length > 0) throw new InputError(problems);
}

function otherClasses(tracker: MotFeed): Problem[] {
  const problems: Problem[] = [];
  for (const rows of tracker.frames.values())
    for (const row of rows)
      if (row.class > PEDESTRIAN)
        problems.push({
          path: `${tracker.file}:${row.line}`,
          value: row.class,
          message: `class ${row.class}: the benchmark's preprocessing takes pedestrians (class 1) only; remove the row`,
        });
  return problems;
}

interface MotOptions extends PlacementOptions {
  classes: readonly number[];
  allRows: boolean;
}

/** Lines as they come: a frame is complete when the next one begins. */
class MotDecoder implements Decoder {
  readonly #placement: Placement;
  readonly #classes: Set<number>;
  readonly #countAll: boolean;
  #columns = 0;
  #lines = 0;
  #frame = 0;
  /** rows of the newest frame; null before the first */
  #objects: Obj[] | null = null;

  constructor(
    readonly options: MotOptions,
    readonly kind: MotReading['kind'],
  ) {
    this.#placement = new Placement(options);
    this.#classes = new Set(options.classes);
    this.#countAll = options.allRows || kind === 'tracker';
  }

  decode(message: unknown, stamp?: object): Decoded {
    if (typeof message !== 'string') return this.#refused(message, 'must be text: lines of a MOTChallenge file');
    if (stamp && Object.values(stamp).some((value) => value !== undefined))
      return this.#refused(stamp, 'the lines have their frame numbers; leave out k and t beside the message');
    const scanner = new Scanner(message, '', this.#lines);
    const rows: Array<{ frame: number; row: MotRow }> = [];
    let columns = this.#columns;
    while (scanner.mistakes.length < PROBLEMS_MAX && scanner.nextLine()) {
      columns ||= scanner.columns;
      const row = readRow(scanner, columns, this.kind);
      if (row === null) continue;
      row.counted = this.#countAll || isCounted(scanner, row, this.#classes);
      this.#checkFrame(scanner);
      rows.push({ frame: scanner.values[0], row });
    }
    if (scanner.mistakes.length > 0) return { parts: [], problems: scanner.mistakes, held: this.#objects !== null };
    this.#columns = columns;
    this.#lines += scanner.line;
    return this.#add(rows);
  }

  flush(): Decoded {
    const parts = this.#complete();
    this.#objects = null;
    return { parts, problems: [], held: false };
  }

  #add(rows: Array<{ frame: number; row: MotRow }>): Decoded {
    const parts: Part[] = [];
    for (const { frame, row } of rows) {
      if (this.#objects === null || frame !== this.#frame) {
        parts.push(...this.#complete());
        this.#frame = frame;
        this.#objects = [];
      }
      if (row.counted) this.#objects.push(placed(row, this.#placement));
    }
    return { parts, problems: [], held: this.#objects !== null };
  }

  #complete(): Part[] {
    return this.#objects === null
      ? []
      : [{ k: this.#frame + this.options.frameOffset, objects: this.#objects as Part['objects'] }];
  }

  #checkFrame(scanner: Scanner): void {
    if (scanner.values[0] + this.options.frameOffset < 0)
      scanner.mistake(0, `at least ${-this.options.frameOffset}: frameOffset is ${this.options.frameOffset}`);
  }

  #refused(value: unknown, message: string): Decoded {
    return { parts: [], problems: [{ path: '', value, message }], held: this.#objects !== null };
  }
}

function placed({ object: { id, box } }: MotRow, placement: Placement): { id: string; box: Box } {
  return { id, box: placement.box(box[0], box[1], box[2], box[3]) };
}

/** Rows of a file may stand in any order, and an id twice in a frame is told with both lines. */
function readMotText(text: string, options: MotOptions, kind: MotReading['kind']): Decoded {
  const { classes, allRows, frameOffset } = options;
  const placement = new Placement(options);
  try {
    const feed = readMotChallenge(text, { kind, file: '', classes: [...classes], allRows });
    const parts = [...feed.frames].map(([frame, rows]) => ({
      k: shiftedFrame(frame, frameOffset, 'frame'),
      objects: rows.flatMap((row) => (row.counted ? [placed(row, placement)] : [])),
    }));
    const { rowCount, countedCount } = feed;
    const notes = countedCount < rowCount ? [`${countedCount} of ${rowCount} rows count (active, chosen class)`] : [];
    return { parts, problems: [], held: false, notes };
  } catch (error) {
    if (error instanceof InputError) return { parts: [], problems: error.problems, held: false };
    if (error instanceof Mistake) return { parts: [], problems: [error.toProblem()], held: false };
    throw error;
  }
}

export const motchallenge = defineAdapter({
  name: 'motchallenge',
  title: 'MOTChallenge text: ground truth, detections, tracker results',
  message: 'text',
  numbering: 'own',
  bases: { frame: 1, pixel: 1 },
  options: {
    ...BOX_OPTIONS,
    classes: {
      kind: 'numbers',
      default: [PEDESTRIAN],
      help: 'classes of a reference that count, where it has a class column',
    },
    allRows: { kind: 'switch', default: false, help: 'count every row of a reference, whatever its flag and class' },
  },
  shape: () => 'box',
  create: (values, role) => new MotDecoder(values, role),
  readText: readMotText,
});

const COMMA = 44;
const NEWLINE = 10;
const SPACE = 32;
const TAB = 9;
const DOT = 46;
const PLUS = 43;
const MINUS = 45;
const ZERO = 48;
/** Powers of ten that are exact doubles: a safe integer divided by one of them is the correctly rounded fraction. */
const POWERS_OF_TEN = Array.from({ length: 23 }, (_, power) => 10 ** power);

/** Walks the text once; after nextLine() the line's numbers are in `values`, with NaN for what is none. */
class Scanner {
  readonly values = new Float64Array(COLUMNS_MAX);
  columns = 0;
  line = 0;
  readonly #starts = new Int32Array(COLUMNS_MAX + 1);
  readonly #text: string;
  readonly #file: string;
  readonly mistakes: Problem[] = [];
  #at = 0;
  #lineStart = 0;

  constructor(
    text: string,
    file: string,
    /** lines that came in earlier messages */
    readonly lineBase = 0,
  ) {
    this.#text = text;
    this.#file = file;
    if (text.charCodeAt(0) === 0xfeff) this.#at = 1;
  }

  /** Reads the next line that is not blank; false at the end of the text. */
  nextLine(): boolean {
    while (this.#at < this.#text.length) {
      this.line++;
      this.#lineStart = this.#at;
      this.#readLine();
      if (this.columns > 1 || this.#lineText().trim() !== '') return true;
    }
    return false;
  }

  /** The text of a column of the current line. */
  text(column: number): string {
    const start = this.#starts[column];
    return this.#text.slice(start, fieldEnd(this.#text, start)).trim();
  }

  /** Where a column of any line begins, 1 for its first character; looks for the line from the beginning. */
  characterOf(line: number, column: number): number {
    const text = this.#text;
    let start = text.charCodeAt(0) === 0xfeff ? 1 : 0;
    for (let n = 1; n < line; n++) start = text.indexOf('\n', start) + 1;
    let at = start;
    for (let n = 0; n < column; n++) at = fieldEnd(text, at) + 1;
    return at - start + 1;
  }

  mistake(column: number, expected: string): void {
    const name = column < COLUMNS_MIN ? `${COLUMNS[column]} (column ${column + 1})` : COLUMNS[column];
    const character = this.#starts[column] - this.#lineStart + 1;
    this.addMistake(`${this.line}:${character}`, this.text(column), `${name} must be ${expected}`);
  }

  lineMistake(message: string): void {
    this.addMistake(`${this.line}:1`, this.#lineText().trim(), message);
  }

  /** `place` is the line, or line:character. */
  addMistake(place: string, value: string, message: string): void {
    this.mistakes.push({ path: this.#file === '' ? place : `${this.#file}:${place}`, value, message });
  }

  #lineText(): string {
    return this.#text.slice(this.#lineStart, this.#at);
  }

  #readLine(): void {
    let column = 0;
    let more = true;
    while (more) {
      if (column < COLUMNS_MAX) {
        this.#starts[column] = this.#at;
        this.values[column] = this.#readNumber();
      } else this.#at = fieldEnd(this.#text, this.#at);
      column++;
      more = this.#text.charCodeAt(this.#at) === COMMA;
      this.#at++;
    }
    this.columns = column;
  }

  /** Leaves the position at the comma or line end after the number. */
  #readNumber(): number {
    const text = this.#text;
    let at = this.#at;
    let code = text.charCodeAt(at);
    while (code === SPACE || code === TAB) code = text.charCodeAt(++at);
    const negative = code === MINUS;
    if (negative || code === PLUS) code = text.charCodeAt(++at);
    let mantissa = 0;
    let digits = 0;
    let decimals = 0;
    for (; code >= ZERO && code <= ZERO + 9; code = text.charCodeAt(++at), digits++)
      mantissa = mantissa * 10 + code - ZERO;
    if (code === DOT) {
      code = text.charCodeAt(++at);
      for (; code >= ZERO && code <= ZERO + 9; code = text.charCodeAt(++at), decimals++)
        mantissa = mantissa * 10 + code - ZERO;
      digits += decimals;
    }
    const ended = code === COMMA || code === NEWLINE || at === text.length;
    if (digits === 0 || !ended || mantissa > Number.MAX_SAFE_INTEGER || decimals >= POWERS_OF_TEN.length)
      return this.#readAnyNumber();
    this.#at = at;
    const value = decimals === 0 ? mantissa : mantissa / POWERS_OF_TEN[decimals];
    return negative ? -value : value;
  }

  /** The slow way, for exponents, long fractions, spaces and everything that is no number. */
  #readAnyNumber(): number {
    const start = this.#at;
    this.#at = fieldEnd(this.#text, start);
    const field = this.#text.slice(start, this.#at).trim();
    return /^[-+.\deE]+$/.test(field) ? Number(field) : Number.NaN;
  }
}

function fieldEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === NEWLINE) return at;
  }
  return text.length;
}
