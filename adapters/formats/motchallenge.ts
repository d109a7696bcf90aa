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
  /** rows by frame number, in the order of the file */
  frames: Map<number, MotRow[]>;
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
    frames: new Map(),
  };
  const read = new RowReader(rows, reading);
  const order = new RowOrder();
  while (rows.mistakes.length < PROBLEMS_MAX && rows.next()) {
    const row = read.row();
    if (row === null) continue;
    order.follow(rows.values[0], rows.values[1]);
    addRow(feed, rows.values[0], row);
  }
  Object.assign(feed, {
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
    const truths = reference.frames.get(index + first) ?? [];
    const tracks = objectsOf(tracker.frames.get(index + first) ?? []);
    const judged = objectsOf(truths);
    if (!preprocess) return { reference: judged, tracker: tracks };
    return { reference: judged, tracker: judgedTracks(judged, asideOf(truths, preprocess), tracks) };
  });
}

function objectsOf(rows: MotRow[]): Array<MotRow['object']> {
  const objects: Array<MotRow['object']> = [];
  for (const row of rows) if (row.counted) objects.push(row.object);
  return objects;
}

/** The rows that do not count, as the rules see them. */
export function asideOf(rows: readonly MotRow[], rules: MotRules): Aside[] {
  const aside: Aside[] = [];
  for (const { counted, object, class: kind } of rows)
    if (!counted) aside.push({ box: object.box, role: DISTRACTORS[rules].includes(kind) ? 'distractor' : 'neutral' });
  return aside;
}

/** How many rows are distractors of any of the benchmarks. */
export function distractorCount({ frames }: MotFeed): number {
  let count = 0;
  for (const rows of frames.values())
    for (const { counted, class: kind } of rows) if (!counted && DISTRACTORS.motchallenge.includes(kind)) count++;
  return count;
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
  emptyCount = 0;
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

  /** The row at hand; null, and mistakes, when something is wrong with it. */
  row(): MotRow | null {
    const { rows, reading } = this;
    if (this.layout.count === 0) this.#readLayout();
    if (!this.#hasSoundColumns()) return null;
    const { values } = rows;
    const before = rows.mistakes.length;
    this.#checkFrame(values[0]);
    const box = this.#box();
    const id = readId(rows);
    if (rows.mistakes.length > before) return null;
    const row: MotRow = {
      object: { id, box },
      line: rows.line,
      counted: true,
      class: this.layout.hasClass || (reading.kind === 'tracker' && rows.columns >= 8) ? values[7] : 0,
    };
    if (reading.positions && rows.columns >= 10) row.position = [values[7], values[8], values[9]];
    row.counted = reading.allRows === true || reading.kind === 'tracker' || this.#isCounted(row);
    return row;
  }

  /** Column 8 is the class; but in a reference of 10 columns (MOT15) a world position, unless classes are asked for. */
  #readLayout(): void {
    const { rows, layout, reading } = this;
    layout.count = layout.columns = rows.columns;
    layout.hasClass =
      rows.columns >= 8 && (rows.columns < 10 || (reading.kind === 'reference' && reading.classes !== undefined));
    layout.header ??= rows.header;
    if (layout.header === null || reading.box) return;
    layout.order = orderOf(layout.header);
    if (layout.order) return;
    const named = namedColumns(layout.header);
    if (named) {
      Object.assign(layout, named, { count: named.places.length, hasClass: named.places.length === 8 });
      return;
    }
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
      rows.lineMistake(`has ${rows.columns} columns; expected ${layout.columns}, as on the first line`);
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

  #box(): Box {
    const { rows, reading } = this;
    const { values } = rows;
    const order = reading.box ?? this.layout.order ?? 'xywh';
    const box = boxIn(order, values[2], values[3], values[4], values[5]);
    const words = order === 'xywh' ? '0 or above' : `read as ${order} so that the sides are 0 or above`;
    if (!(box[2] >= 0)) mistakeIn(rows, 4, `a number ${words}`);
    if (!(box[3] >= 0)) mistakeIn(rows, 5, `a number ${words}`);
    if (box[2] > 0 && box[3] > 0) return box;
    this.emptyCount++;
    return withArea(box, reading.kind);
  }

  /** Column 7 is the active flag. */
  #isCounted(row: MotRow): boolean {
    if (this.rows.columns >= 7 && this.rows.values[6] === 0) return false;
    if (!this.layout.hasClass) return true;
    if (this.rows.columns >= 10 && !(Number.isInteger(row.class) && row.class >= 0))
      mistakeIn(
        this.rows,
        7,
        'a class, a whole number from 0, because classes are asked for; here it is a position: leave out --classes',
      );
    return this.#classes.has(row.class);
  }
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

function addRow(feed: MotFeed, frame: number, row: MotRow): void {
  const rows = feed.frames.get(frame);
  if (rows) rows.push(row);
  else feed.frames.set(frame, [row]);
  feed.rowCount++;
  if (row.counted) feed.countedCount++;
  if (frame > feed.lastFrame) feed.lastFrame = frame;
}

function findDuplicates(feed: MotFeed, scanner: NumberRows): void {
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

/** The benchmark's rules need classes in the reference, and pedestrians only in the results. */
export function preprocessingProblems(
  { file, columns, hasClass, rowCount, frames }: MotFeed,
  kind: MotReading['kind'],
): Problem[] {
  if (kind === 'reference') {
    if (rowCount === 0 || hasClass) return [];
    const message = `preprocessing needs the class in column 8 of 9, but the file has ${columns} columns; evaluate it without preprocessing`;
    return [{ path: file, value: columns, message }];
  }
  const problems: Problem[] = [];
  for (const rows of frames.values())
    for (const { class: other, line } of rows)
      if (other > PEDESTRIAN)
        problems.push({
          path: file === '' ? `${line}` : `${file}:${line}`,
          value: other,
          message: `class ${other}: the benchmark's preprocessing takes pedestrians (class 1) only; remove the row`,
        });
  return problems;
}
