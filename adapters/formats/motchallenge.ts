/**
 * MOTChallenge text files: ground truth, detections and tracker results, one object per line:
 * frame, id, left, top, width, height [, flag or confidence [, class or x [, visibility or y [, z [, more]]]]].
 * The number of columns decides what the seventh and later ones mean; dialects and rules are in adapters/README.md.
 * Invariant: a feed that is returned is sound (finite numbers, no negative side, unique ids per frame, frames from 0);
 * otherwise one InputError lists the mistakes of the whole file, each with line, column and remedy.
 */

import type { Box, Frame, Obj } from '../../src/metric/evaluation.js';
import { InputError, type Problem } from '../../src/metric/input-error.js';
import { PROBLEMS_MAX } from '../kit/adapter.js';
import { type BoxOrder, boxIn, withArea } from '../kit/boxes.js';
import { NumberRows } from '../kit/number-rows.js';
import { type Aside, judgedTracks } from '../kit/preprocessing.js';

const COLUMNS = ['frame', 'id', 'left', 'top', 'width', 'height', 'column 7', 'column 8', 'column 9', 'column 10'];
const COLUMNS_MIN = 6;
const EXPECTED = 'frame, id, left, top, width, height and, if there are more, flag or confidence, class, visibility';
/** Longest sequence taken, in frames: a stray frame number must not ask for a billion empty frames. */
const FRAMES_MAX = 1_000_000;

/** Room for the rows of a text, which it rarely has more than: none has fewer characters than half of these. */
const ROW_CHARS = 36;
const ROOM_MIN = 16;

/** Ids as texts, made once: the same text is compared fastest. */
const knownIds: string[] = [];
const KNOWN_IDS_MAX = 100_000;

const PEDESTRIAN = 1;
/**
 * Classes a tracker is neither rewarded nor punished for: on a vehicle, static, distractor, reflection; MOT20 adds
 * vehicles.
 */
const DISTRACTORS = { motchallenge: [2, 7, 8, 12], mot20: [2, 6, 7, 8, 12] };

/** `motchallenge`: distractors of MOT16 and MOT17; `mot20` counts non-motorised vehicles among them too. */
export type MotRules = keyof typeof DISTRACTORS;

export interface MotReading {
  /** what the file is believed to be: only reference rows are dropped by flag and class */
  kind: 'reference' | 'tracker';
  /** name of the file, for messages */
  file: string;
  /** classes of the reference that count; unless given 1, pedestrian, where the file has a class column */
  classes?: readonly number[];
  /** count every row, whatever its flag and class */
  allRows?: boolean;
  /** what columns 3 to 6 are; unless given as a header says, else left, top, width, height */
  box?: BoxOrder;
  /** columns 8 to 10 are wanted too */
  positions?: boolean;
  /** how far frame numbers will be shifted: none may fall below 0 */
  frameOffset?: number;
}

export interface MotRow {
  object: Obj & { box: Box };
  /** 1-based line in the file */
  line: number;
  /** false: dropped by flag or class, kept only for preprocessing */
  counted: boolean;
  /** 0 where the file has no class column */
  class: number;
  /** columns 8 to 10, where they are wanted */
  position?: number[];
}

/** One file, read and checked. */
export interface MotFeed {
  file: string;
  /** columns per line; 0 for an empty file */
  columns: number;
  /** column 8 is a class */
  hasClass: boolean;
  rowCount: number;
  countedCount: number;
  /** an option or a header says what columns 3 to 6 are */
  isOrderSaid: boolean;
  /** boxes without area */
  emptyCount: number;
  lastFrame: number;
  rows: MotRows;
  /** by frame number, ascending: which rows, in the order of the file */
  frames: Map<number, Int32Array>;
}

/** All rows of a file, in flat arrays: as many objects took as much time to make and to collect as to read. */
export class MotRows {
  count = 0;
  readonly ids: string[] = [];
  frame: Float64Array;
  /** left, top, width, height of each */
  boxes: Float64Array;
  /** as in MotRow */
  kind: Float64Array;
  line: Int32Array;
  counted: Uint8Array;
  /** columns 8 to 10 of each, where they are wanted */
  readonly positions: number[][] = [];

  constructor(private room: number) {
    this.frame = new Float64Array(room);
    this.boxes = new Float64Array(4 * room);
    this.kind = new Float64Array(room);
    this.line = new Int32Array(room);
    this.counted = new Uint8Array(room);
  }

  /** Appends the row that a reader has at hand. */
  append({ id, box, kind, counted, position }: RowReader, frame: number, line: number): void {
    if (this.count === this.room) this.#grow();
    const n = this.count++;
    this.ids.push(id);
    this.frame[n] = frame;
    this.kind[n] = kind;
    this.line[n] = line;
    this.counted[n] = counted ? 1 : 0;
    for (let d = 0; d < 4; d++) this.boxes[4 * n + d] = box[d];
    if (position) this.positions[n] = position;
  }

  box(n: number): Box {
    const { boxes } = this;
    return [boxes[4 * n], boxes[4 * n + 1], boxes[4 * n + 2], boxes[4 * n + 3]];
  }

  /** One row by itself, for whoever looks at few. */
  row(n: number): MotRow {
    const row: MotRow = {
      object: { id: this.ids[n], box: this.box(n) },
      line: this.line[n],
      counted: this.counted[n] === 1,
      class: this.kind[n],
    };
    if (this.positions[n]) row.position = this.positions[n];
    return row;
  }

  /** Which rows each frame has. */
  byFrame(): Map<number, Int32Array> {
    const { count, frame } = this;
    const order = new Int32Array(count);
    let sorted = true;
    for (let n = 0; n < count; n++) {
      order[n] = n;
      if (n > 0 && frame[n] < frame[n - 1]) sorted = false;
    }
    if (!sorted) sortByFrame(order, frame, count);
    const frames = new Map<number, Int32Array>();
    for (let from = 0, to = 0; from < count; from = to) {
      while (to < count && frame[order[to]] === frame[order[from]]) to++;
      frames.set(frame[order[from]], order.subarray(from, to));
    }
    return frames;
  }

  #grow(): void {
    const { frame, boxes, kind, line, counted } = this;
    this.room *= 2;
    this.frame = new Float64Array(this.room);
    this.boxes = new Float64Array(4 * this.room);
    this.kind = new Float64Array(this.room);
    this.line = new Int32Array(this.room);
    this.counted = new Uint8Array(this.room);
    this.frame.set(frame);
    this.boxes.set(boxes);
    this.kind.set(kind);
    this.line.set(line);
    this.counted.set(counted);
  }
}

/** Puts rows in the order of their frames, those of one frame in the order in which they are; by counting. */
function sortByFrame(order: Int32Array, frame: Float64Array, count: number): void {
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (let n = 0; n < count; n++) {
    if (frame[n] < first) first = frame[n];
    if (frame[n] > last) last = frame[n];
  }
  const next = new Int32Array(last - first + 2);
  for (let n = 0; n < count; n++) next[frame[n] - first + 1]++;
  for (let f = 1; f < next.length; f++) next[f] += next[f - 1];
  for (let n = 0; n < count; n++) order[next[frame[n] - first]++] = n;
}

/** Reads a ground truth, detection or result file. Throws one InputError naming every mistake. */
export function readMotChallenge(text: string, reading: MotReading): MotFeed {
  const rows = new NumberRows(text, COLUMNS.length, reading.file);
  const { file } = reading;
  const feed: MotFeed = {
    file,
    columns: 0,
    hasClass: false,
    rowCount: 0,
    countedCount: 0,
    emptyCount: 0,
    isOrderSaid: reading.box !== undefined,
    lastFrame: 0,
    rows: new MotRows(Math.max(ROOM_MIN, Math.ceil(text.length / ROW_CHARS))),
    frames: new Map(),
  };
  const read = new RowReader(rows, reading);
  const order = new RowOrder();
  while (rows.mistakes.length < PROBLEMS_MAX && rows.next()) {
    if (!read.read()) {
      if (read.isForeign) break;
      continue;
    }
    const frame = rows.values[0];
    order.follow(frame, rows.values[1]);
    feed.rows.append(read, frame, rows.line);
    if (read.counted) feed.countedCount++;
    if (frame > feed.lastFrame) feed.lastFrame = frame;
  }
  Object.assign(feed, {
    rowCount: feed.rows.count,
    frames: feed.rows.byFrame(),
    columns: read.layout.count,
    hasClass: read.layout.hasClass,
    isOrderSaid: feed.isOrderSaid || read.layout.header !== null,
    emptyCount: read.emptyCount,
  });
  if (!order.isSorted) findDuplicates(feed, rows);
  if (rows.mistakes.length > 0) throw new InputError(rows.mistakes);
  return feed;
}

/**
 * Frames to the last of both files, in order, from 1, or from 0 where one has it: frame f is at index f - 1, or f.
 * Frames without rows are empty.
 */
export function alignMotChallenge(reference: MotFeed, tracker: MotFeed, preprocess?: MotRules): Frame[] {
  const problems = [
    ...(preprocess ? preprocessingProblems(reference, 'reference') : []),
    ...(preprocess ? preprocessingProblems(tracker, 'tracker') : []),
  ];
  if (problems.length > 0) throw new InputError(problems);
  const first = reference.frames.has(0) || tracker.frames.has(0) ? 0 : 1;
  const length = Math.max(reference.lastFrame, tracker.lastFrame) + 1 - first;
  return Array.from({ length }, (_, index) => {
    const truths = reference.frames.get(index + first) ?? NO_ROWS;
    const tracks = objectsOf(tracker.rows, tracker.frames.get(index + first) ?? NO_ROWS);
    const judged = objectsOf(reference.rows, truths);
    if (!preprocess) return { reference: judged, tracker: tracks };
    return { reference: judged, tracker: judgedTracks(judged, asideOf(reference.rows, truths, preprocess), tracks) };
  });
}

const NO_ROWS = new Int32Array(0);

/** The objects of rows that count. */
export function objectsOf({ ids, counted, boxes }: MotRows, which: Int32Array): Array<MotRow['object']> {
  const objects: Array<MotRow['object']> = [];
  for (let m = 0; m < which.length; m++) {
    const n = which[m];
    if (counted[n] === 0) continue;
    const at = 4 * n;
    objects.push({ id: ids[n], box: [boxes[at], boxes[at + 1], boxes[at + 2], boxes[at + 3]] });
  }
  return objects;
}

/** The rows that do not count, as the rules see them. */
export function asideOf(rows: MotRows, which: Int32Array, rules: MotRules): Aside[] {
  const aside: Aside[] = [];
  const distractors = DISTRACTORS[rules];
  for (const n of which)
    if (rows.counted[n] === 0)
      aside.push({ box: rows.box(n), role: distractors.includes(rows.kind[n]) ? 'distractor' : 'neutral' });
  return aside;
}

/** How many rows are distractors of any of the benchmarks. */
export function distractorCount({ rows: { count, counted, kind } }: MotFeed): number {
  let found = 0;
  for (let n = 0; n < count; n++) if (counted[n] === 0 && DISTRACTORS.motchallenge.includes(kind[n])) found++;
  return found;
}

/** What the first row of a file, or of a feed, says about the others. */
export interface MotLayout {
  /** columns as they are read; 0 before the first row */
  count: number;
  /** columns as they come, which a header may have in another order */
  columns: number;
  hasClass: boolean;
  header: string[] | null;
  /** what a header says that the box is */
  order?: BoxOrder;
  /** where columns 1 to 8 stand, when a header has them in another order */
  places?: number[];
}

/** Reads the rows of one file, or of one message of a feed. */
export class RowReader {
  /** the row at hand, as in MotRow; the box is the next row's too */
  id = '';
  readonly box: Box = [0, 0, 0, 0];
  counted = true;
  kind = 0;
  position: number[] | undefined = undefined;
  emptyCount = 0;
  /** a header names other columns: no row is worth a word */
  isForeign = false;
  readonly layout: MotLayout;
  readonly #classes: ReadonlySet<number>;

  constructor(
    private readonly rows: NumberRows,
    private readonly reading: MotReading,
    layout: MotLayout = { count: 0, columns: 0, hasClass: false, header: null },
  ) {
    this.layout = { ...layout };
    this.#classes = new Set(reading.classes ?? [PEDESTRIAN]);
  }

  /** Reads the row that is next in the text; false, and mistakes, when something is wrong with it. */
  read(): boolean {
    const { rows, reading } = this;
    if (this.layout.count === 0) this.#readLayout();
    if (this.isForeign || !this.#hasSoundColumns()) return false;
    const { values } = rows;
    const before = rows.mistakes.length;
    this.#checkFrame(values[0]);
    if (!reading.positions) this.#readBox();
    this.id = readId(rows);
    if (rows.mistakes.length > before) return false;
    this.kind = this.layout.hasClass || (reading.kind === 'tracker' && rows.columns >= 8) ? values[7] : 0;
    if (reading.positions) this.position = rows.columns >= 10 ? [values[7], values[8], values[9]] : undefined;
    this.counted = reading.allRows === true || reading.kind === 'tracker' || this.#isCounted();
    return true;
  }

  /** The row at hand by itself. */
  row(): MotRow {
    const { id, box, counted, kind, position } = this;
    const object = { id, box: [box[0], box[1], box[2], box[3]] as Box };
    const row: MotRow = { object, line: this.rows.line, counted, class: kind };
    if (position) row.position = position;
    return row;
  }

  /** Column 8 is the class; but in a reference of 10 columns (MOT15) a world position, unless classes are asked for. */
  #readLayout(): void {
    const { rows, layout, reading } = this;
    layout.count = layout.columns = rows.columns;
    layout.hasClass =
      rows.columns >= 8 && (rows.columns < 10 || (reading.kind === 'reference' && reading.classes !== undefined));
    layout.header ??= rows.header;
    // of a tracker, nobody looks at what comes after the class
    if (reading.kind === 'tracker' && !reading.positions && layout.header === null) rows.columnsRead = 8;
    if (layout.header === null || reading.box) return;
    layout.order = orderOf(layout.header);
    if (layout.order) return;
    const named = namedColumns(layout.header);
    if (named) {
      Object.assign(layout, named, { count: named.places.length, hasClass: named.places.length === 8 });
      return;
    }
    this.isForeign = true;
    const expected = COLUMNS.slice(0, COLUMNS_MIN).join(', ');
    rows.addMistake(
      `${Math.max(1, rows.line - 1)}:1`,
      layout.header.join(','),
      `is a header of other columns than ${expected}; read the table by its header, with --format mapping`,
    );
  }

  #hasSoundColumns(): boolean {
    const { rows } = this;
    if (rows.columns < COLUMNS_MIN) {
      rows.lineMistake(`has ${rows.columns} columns; expected at least ${COLUMNS_MIN}: ${EXPECTED}`);
      return false;
    }
    const { layout, reading } = this;
    if (rows.columns !== layout.columns) {
      const isWide = Math.max(rows.columns, layout.columns) > COLUMNS.length;
      const commas = isWide ? '; if commas are decimal points here, columns need another separator' : '';
      rows.lineMistake(`has ${rows.columns} columns; expected ${layout.columns}, as on the first line${commas}`);
      return false;
    }
    if (layout.places) rows.reorder(layout.places);
    let sound = true;
    // of a tracker, nobody looks at what comes after the box, unless it is a position
    const most = reading.kind === 'tracker' && !reading.positions ? COLUMNS_MIN : COLUMNS.length;
    for (let column = 0; column < Math.min(rows.columns, most); column++) {
      // ids may be wider than a double, or words; readId judges them
      if (column === 1 || Number.isFinite(rows.values[column])) continue;
      mistakeIn(rows, column, 'a finite number');
      sound = false;
    }
    return sound;
  }

  #checkFrame(frame: number): void {
    const { frameOffset = 0 } = this.reading;
    const shifted = frame + frameOffset;
    if (Number.isInteger(frame) && shifted >= 0 && shifted <= FRAMES_MAX) return;
    const least = Math.max(0, -frameOffset);
    const remedy =
      shifted > FRAMES_MAX && Number.isInteger(frame)
        ? `; option frameOffset shifts numbers, and a table with times is read by --format mapping`
        : '';
    const offset = frameOffset === 0 ? '' : `: frameOffset is ${frameOffset}`;
    mistakeIn(this.rows, 0, `a whole number from ${least} to ${FRAMES_MAX - frameOffset}${offset}${remedy}`);
  }

  #readBox(): void {
    const { rows, reading, box } = this;
    const { values } = rows;
    const order = reading.box ?? this.layout.order ?? 'xywh';
    if (order === 'xywh') for (let d = 0; d < 4; d++) box[d] = values[2 + d];
    else setBox(box, boxIn(order, values[2], values[3], values[4], values[5]));
    if (box[2] > 0 && box[3] > 0) return;
    const hasNoBox = rows.columns >= 10 && box.every((value) => value === -1);
    const words = hasNoBox
      ? '0 or above; all four are -1: if columns 8 to 10 are positions, say --option objects=positions'
      : order === 'xywh'
        ? '0 or above'
        : `read as ${order} so that the sides are 0 or above`;
    if (!(box[2] >= 0)) mistakeIn(rows, 4, `a number ${words}`);
    if (!(box[3] >= 0) && !hasNoBox) mistakeIn(rows, 5, `a number ${words}`);
    this.emptyCount++;
    setBox(box, withArea(box, reading.kind));
  }

  /** Column 7 is the active flag. */
  #isCounted(): boolean {
    if (this.rows.columns >= 7 && this.rows.values[6] === 0) return false;
    if (!this.layout.hasClass) return true;
    if (this.rows.columns >= 10 && !(Number.isInteger(this.kind) && this.kind >= 0))
      mistakeIn(
        this.rows,
        7,
        'a class, a whole number from 0, because classes are asked for; here it is a position: leave out --classes',
      );
    return this.#classes.has(this.kind);
  }
}

function setBox(box: Box, values: Box): void {
  for (let d = 0; d < 4; d++) box[d] = values[d];
}

const NAMES: Record<string, RegExp> = {
  frame: /^(frame|frameid|frameindex|frameno|framenumber|framenum|fn|image|imageid)$/,
  id: /^(id|tid|trackid|trackerid|objectid|objid|targetid|identity)$/,
  x: /^(bb|bbox|box)?(left|x|x1|xmin|minx|xtl|l)$/,
  y: /^(bb|bbox|box)?(top|y|y1|ymin|miny|ytl|t)$/,
  x2: /^(bb|bbox|box)?(right|x2|xmax|maxx|xbr|r)$/,
  y2: /^(bb|bbox|box)?(bottom|y2|ymax|maxy|ybr|b)$/,
  w: /^(bb|bbox|box)?(width|w)$/,
  h: /^(bb|bbox|box)?(height|h)$/,
  cx: /^(bb|bbox|box)?(cx|xc|centerx|xcenter|centrex)$/,
  cy: /^(bb|bbox|box)?(cy|yc|centery|ycenter|centrey)$/,
  flag: /^(flag|active|considered|valid|notignored)$/,
  class: /^(class|classid|cls|category|categoryid|label|objectclass)$/,
};
const ORDER_NAMES: Record<string, BoxOrder> = {
  'x y w h': 'xywh',
  'x y x2 y2': 'xyxy',
  'cx cy w h': 'cxcywh',
  'y x y2 x2': 'yxyx',
  'y x h w': 'yxhw',
  'y x w h': 'yxwh',
  'x y h w': 'xyhw',
};

/** What the header says that the box is; undefined when it is no header of this format. */
function orderOf(header: readonly string[]): BoxOrder | undefined {
  const words = wordsIn(header.slice(0, COLUMNS_MIN));
  return words[0] === 'frame' && words[1] === 'id' ? ORDER_NAMES[words.slice(2).join(' ')] : undefined;
}

function wordsIn(header: readonly string[]): string[] {
  return header.map((name) => {
    const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '');
    return Object.keys(NAMES).find((word) => NAMES[word].test(plain)) ?? '';
  });
}

/** Where the columns of a row stand in a table that has them in another order; null when one is not to be found. */
function namedColumns(header: readonly string[]): { order: BoxOrder; places: number[] } | null {
  const words = wordsIn(header);
  const place = (word: string) => (words.indexOf(word) === words.lastIndexOf(word) ? words.indexOf(word) : -1);
  for (const [names, order] of Object.entries(ORDER_NAMES)) {
    const places = ['frame', 'id', ...names.split(' ')].map(place);
    if (places.some((one) => one < 0 || one >= COLUMNS.length)) continue;
    const [flag, kind] = [place('flag'), place('class')];
    return { order, places: kind < 0 || kind >= COLUMNS.length ? [...places, flag] : [...places, flag, kind] };
  }
  return null;
}

function mistakeIn(rows: NumberRows, column: number, expected: string): void {
  const name = column < COLUMNS_MIN ? `${COLUMNS[column]} (column ${column + 1})` : COLUMNS[column];
  rows.mistake(column, `${name} must be ${expected}`);
}

/** An id in words. */
const WORD = /^[A-Za-z_][\w.:/-]*$/;

/**
 * Whole numbers of any size, as text; `0.0` is `0`; or words. -1 is a detection: a trajectory of its own, named by
 * frame and line.
 */
function readId(rows: NumberRows): string {
  const value = rows.values[1];
  if (value >= 0 && value < KNOWN_IDS_MAX && Number.isInteger(value)) {
    knownIds[value] ??= String(value);
    return knownIds[value];
  }
  if (value >= 0 && Number.isSafeInteger(value)) return String(value);
  if (value === -1) return `det:${rows.values[0]}:${rows.lineBase + rows.line}`;
  if (Number.isSafeInteger(value)) return String(value);
  const text = rows.text(1);
  if (!/^\d+$/.test(text) && (!WORD.test(text) || /^(nan|inf)/i.test(text)))
    mistakeIn(rows, 1, 'a whole number, a name, or -1 for a detection without identity');
  return text;
}

/** Whether rows are sorted by frame and id, or by id and frame: then none comes twice. */
class RowOrder {
  #frame = -1;
  #id = -1;
  #byFrame = true;
  #byId = true;

  follow(frame: number, id: number): void {
    if (!(frame > this.#frame || (frame === this.#frame && id > this.#id))) this.#byFrame = false;
    // ids beyond this may be different texts of one number
    if (!(id > this.#id || (id === this.#id && frame > this.#frame)) || id > Number.MAX_SAFE_INTEGER)
      this.#byId = false;
    this.#frame = frame;
    this.#id = id;
  }

  get isSorted(): boolean {
    return this.#byFrame || this.#byId;
  }
}

function findDuplicates({ rows, frames }: MotFeed, scanner: NumberRows): void {
  const lineOf = new Map<string, number>();
  for (const [frame, which] of frames) {
    lineOf.clear();
    for (const n of which) {
      const line = rows.line[n];
      const first = lineOf.get(rows.ids[n]);
      if (first === undefined) lineOf.set(rows.ids[n], line);
      else
        scanner.addMistake(
          `${line}:${scanner.characterOf(line, 1)}`,
          rows.ids[n],
          `id (column 2) is already in frame ${frame}, on line ${first}; an id may come once per frame`,
        );
    }
  }
}

/** The benchmark's rules need classes in the reference, and pedestrians only in the results. */
export function preprocessingProblems(
  { file, columns, hasClass, rowCount, rows }: MotFeed,
  kind: MotReading['kind'],
): Problem[] {
  if (kind === 'reference') {
    if (rowCount === 0 || hasClass) return [];
    const message = `preprocessing needs the class in column 8 of 9, but the file has ${columns} columns; evaluate it without preprocessing`;
    return [{ path: file, value: columns, message }];
  }
  const problems: Problem[] = [];
  for (let n = 0; n < rowCount; n++) {
    const other = rows.kind[n];
    if (!(other > PEDESTRIAN)) continue;
    problems.push({
      path: file === '' ? `${rows.line[n]}` : `${file}:${rows.line[n]}`,
      value: other,
      message: `class ${other}: the benchmark's preprocessing takes pedestrians (class 1) only; remove the row`,
    });
  }
  return problems;
}
