/**
 * MOTChallenge rows as a format of feeds and files: lines as they come, where a frame is complete when the next one
 * begins, or a whole file, whose rows may stand in any order.
 */

import { InputError } from '../../src/metric/input-error.js';
import type { WireObject } from '../../src/wire/objects.js';
import {
  type Decoded,
  type Decoder,
  defineAdapter,
  type JudgingOptions,
  Mistake,
  type Part,
  PROBLEMS_MAX,
} from '../kit/adapter.js';
import { BOX_ORDERS, type BoxOrder } from '../kit/boxes.js';
import { NumberRows } from '../kit/number-rows.js';
import { BOX_OPTIONS, Placement, type PlacementOptions } from '../kit/placement.js';
import type { Rules } from '../kit/preprocessing.js';
import {
  asideOf,
  distractorCount,
  type MotFeed,
  type MotLayout,
  type MotReading,
  type MotRow,
  objectsOf,
  preprocessingProblems,
  RowReader,
  readMotChallenge,
} from './motchallenge.js';

const COLUMNS_READ = 10;

interface MotOptions extends PlacementOptions {
  classes: readonly number[] | undefined;
  allRows: boolean;
  box: BoxOrder | undefined;
  objects: 'boxes' | 'positions';
}

const readingOf = (
  { classes, allRows, box, frameOffset, objects }: MotOptions,
  kind: MotReading['kind'],
): MotReading => ({
  kind,
  file: '',
  classes,
  allRows,
  box,
  positions: objects === 'positions',
  frameOffset,
});

/** Lines as they come: a frame is complete when the next one begins. */
export class MotDecoder implements Decoder {
  readonly #placement: Placement;
  #layout: MotLayout | undefined;
  #lines = 0;
  #frame = 0;
  /** rows of the newest frame; null before the first */
  #objects: WireObject[] | null = null;

  constructor(
    readonly options: PlacementOptions,
    private readonly reading: MotReading,
    private readonly objectOf: (row: MotRow, placement: Placement) => WireObject,
  ) {
    this.#placement = new Placement(options);
  }

  decode(message: unknown, stamp?: object): Decoded {
    if (typeof message !== 'string') return this.#refused(message, 'must be text: lines of a MOTChallenge file');
    if (stamp && Object.values(stamp).some((value) => value !== undefined))
      return this.#refused(stamp, 'the lines have their frame numbers; leave out k and t beside the message');
    const rows = new NumberRows(message, COLUMNS_READ, '', this.#lines, !this.#layout?.count);
    const reader = new RowReader(rows, this.reading, this.#layout);
    const read: Array<{ frame: number; row: MotRow }> = [];
    while (rows.mistakes.length < PROBLEMS_MAX && rows.next()) {
      if (reader.read()) read.push({ frame: rows.values[0], row: reader.row() });
    }
    if (rows.mistakes.length > 0) return { parts: [], problems: rows.mistakes, held: this.#objects !== null };
    this.#layout = { ...reader.layout, header: reader.layout.header ?? rows.header };
    this.#lines += rows.line;
    return attemptToAdd(() => this.#add(read), this.#objects !== null);
  }

  flush(): Decoded {
    const parts = this.#complete();
    this.#objects = null;
    return { parts, problems: [], held: false };
  }

  #add(rows: Array<{ frame: number; row: MotRow }>): Decoded {
    const parts: Part[] = [];
    const placed = rows.map(({ frame, row }) => ({
      frame,
      object: row.counted ? this.objectOf(row, this.#placement) : null,
    }));
    for (const { frame, object } of placed) {
      if (this.#objects === null || frame !== this.#frame) {
        parts.push(...this.#complete());
        this.#frame = frame;
        this.#objects = [];
      }
      if (object) this.#objects.push(object);
    }
    return { parts, problems: [], held: this.#objects !== null };
  }

  #complete(): Part[] {
    return this.#objects === null ? [] : [{ k: this.#frame + this.options.frameOffset, objects: this.#objects }];
  }

  #refused(value: unknown, message: string): Decoded {
    return { parts: [], problems: [{ path: '', value, message }], held: this.#objects !== null };
  }
}

function attemptToAdd(add: () => Decoded, held: boolean): Decoded {
  try {
    return add();
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    return { parts: [], problems: [error.toProblem()], held };
  }
}

function objectOf({ object, position, line }: MotRow, placement: Placement, { objects }: MotOptions): WireObject {
  const { id, box } = object;
  if (objects === 'boxes')
    return placement.isPlain ? object : { id, box: placement.box(box[0], box[1], box[2], box[3]) };
  if (!position)
    throw new Mistake(`${line}:1`, id, 'has no columns 8 to 10, which are the position x, y, z; say objects=boxes');
  return { id, point: position };
}

/** Rows of a file may stand in any order, and an id twice in a frame is told with both lines. */
function readMotText(text: string, options: MotOptions, kind: MotReading['kind'], judging: JudgingOptions): Decoded {
  try {
    const chosen = judging.class !== undefined && kind === 'reference' ? { classes: [Number(judging.class)] } : {};
    const feed = readMotChallenge(text, { ...readingOf(options, kind), ...chosen });
    const classes = judging.class === undefined ? judging.classes : [Number(judging.class)];
    if (classes && kind === 'tracker') keepClasses(feed, classes);
    const isOurs = judging.rules === 'motchallenge' || judging.rules === 'mot20';
    const problems = isOurs ? preprocessingProblems(feed, kind) : [];
    const parts = problems.length > 0 ? [] : partsOf(feed, options, kind === 'reference' ? judging.rules : undefined);
    const notes = kind === 'reference' ? referenceNotes(feed, judging) : trackerNotes(feed, judging);
    return { parts, problems, held: false, notes, checked: options.objects === 'boxes' };
  } catch (error) {
    if (error instanceof InputError) return { parts: [], problems: error.problems, held: false };
    if (error instanceof Mistake) return { parts: [], problems: [error.toProblem()], held: false };
    throw error;
  }
}

function partsOf({ rows, frames }: MotFeed, options: MotOptions, rules: Rules | undefined): Part[] {
  const placement = new Placement(options);
  const isPlain = placement.isPlain && options.objects === 'boxes';
  return [...frames].map(([frame, which]) => {
    const part: Part = { k: frame + options.frameOffset, objects: isPlain ? objectsOf(rows, which) : [] };
    if (!isPlain)
      for (const n of which) if (rows.counted[n] === 1) part.objects.push(objectOf(rows.row(n), placement, options));
    if (rules === 'motchallenge' || rules === 'mot20')
      part.aside = placement.isPlain
        ? asideOf(rows, which, rules)
        : asideOf(rows, which, rules).map(({ box, role }) => ({ role, box: placement.box(...box) }));
    return part;
  });
}

/** Whether column 8 of a tracker's file is a class: others write -1, or a position, there. */
function hasTrackedClasses({ hasClass, columns, rows: { kind, count } }: MotFeed): boolean {
  if (hasClass || columns < 10) return hasClass;
  for (let n = 0; n < count; n++) if (!(Number.isInteger(kind[n]) && kind[n] > 0)) return false;
  return true;
}

/** Classes of rows that count by their flag. */
function classesIn(text: string): Set<string> {
  const found = new Set<string>();
  const rows = new NumberRows(text, COLUMNS_READ);
  while (rows.next()) if (rows.columns >= 8 && rows.values[6] !== 0) found.add(String(rows.values[7]));
  return found;
}

function keepClasses(feed: MotFeed, classes: readonly number[]): void {
  if (!hasTrackedClasses(feed)) return;
  const { rows } = feed;
  feed.countedCount = 0;
  for (let n = 0; n < rows.count; n++) {
    rows.counted[n] = classes.includes(rows.kind[n]) ? 1 : 0;
    feed.countedCount += rows.counted[n];
  }
}

function referenceNotes(feed: MotFeed, { rules, class: kind }: JudgingOptions): string[] {
  const { rowCount, countedCount, emptyCount } = feed;
  const notes: string[] = [];
  if (rowCount === 0) notes.push('warning: {file} is empty: everything tracked is false');
  else if (countedCount === 0)
    notes.push(
      `warning: none of the ${rowCount} rows of {file} counts (flag 0 or other class); see --classes, --all-rows`,
    );
  else if (countedCount < rowCount && kind === undefined)
    notes.push(`{file}: ${countedCount} of ${rowCount} rows count (active, chosen class); --all-rows counts all`);
  const distractors = rules === undefined && kind === undefined ? distractorCount(feed) : 0;
  if (distractors > 0)
    notes.push(
      `warning: {file} has ${distractors} rows of distractors (classes 2, 7, 8, 12), and whoever tracks them is judged wrong here; the benchmark takes such tracks out first: --preprocess motchallenge, or mot20`,
    );
  return [...notes, ...emptyNotes(emptyCount), ...cornerNotes(feed, '--reference-option')];
}

/** What makes most of a tracker's rows false although nobody meant it. */
function trackerNotes(feed: MotFeed, { symmetric, class: kind, classes }: JudgingOptions): string[] {
  const { columns, rowCount, countedCount, emptyCount, rows } = feed;
  const notes: string[] = [];
  let others = 0;
  for (let n = 0; n < rowCount; n++) if (rows.kind[n] > 1) others++;
  if (classes && countedCount < rowCount)
    notes.push(`{file}: ${countedCount} of ${rowCount} rows are of the chosen classes`);
  else if (columns < 10 && others > 0 && !symmetric && kind === undefined)
    notes.push(
      `warning: {file} looks like ground truth (${columns} columns); as a tracker all its ${rowCount} rows count, ${others} of them not pedestrians`,
    );
  if (rowCount > 0 && !symmetric && areDetections(feed))
    notes.push(
      '{file} has no identities (id -1 in all rows): each box is a track of its own; --profile detector-training judges detections, without switches',
    );
  if (kind !== undefined && rowCount > 0 && !hasTrackedClasses(feed))
    notes.push(`warning: {file} has no classes (column 8): all its rows count under each class`);
  return [...notes, ...emptyNotes(emptyCount), ...cornerNotes(feed, '--tracker-option')];
}

const areDetections = ({ rows }: MotFeed): boolean => rows.ids.every((id) => id.startsWith('det:'));

const emptyNotes = (count: number): string[] =>
  count === 0 ? [] : [`{file}: ${count} boxes have no area; they overlap nothing and are missed, or false`];

/** Rows that are looked at to tell sides from corners, and without which nothing is said. */
const CORNER_ROWS_MAX = 2000;
const CORNER_ROWS_MIN = 20;

/**
 * In each row alone, right and bottom pass for a width and a height. But no scene has only boxes that are wider than
 * they are far from the left and higher than they are far from the top, when most of them would be small as corners.
 */
function cornerNotes({ rows, isOrderSaid }: MotFeed, option: string): string[] {
  const count = Math.min(rows.count, CORNER_ROWS_MAX);
  let small = 0;
  if (isOrderSaid) return [];
  for (let n = 0; n < count; n++) {
    const [left, top, width, height] = rows.box(n);
    if (!(width > left && height > top)) return [];
    if (left > width - left && top > 0) small++;
  }
  if (count < CORNER_ROWS_MIN || small < count / 2) return [];
  return [
    `warning: {file}: all boxes reach farther than their left and top, as if columns 5 and 6 were right and bottom; if they are, say ${option} box=xyxy`,
  ];
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
      help: 'classes (column 8) of a reference that count; unless given 1, in files of 8 or 9 columns',
    },
    allRows: { kind: 'switch', default: false, help: 'count every row of a reference, whatever its flag and class' },
    box: {
      kind: 'choice',
      choices: BOX_ORDERS,
      help: 'what columns 3 to 6 are: left top width height (xywh, unless a header says otherwise), corners, or centre and size',
    },
    objects: {
      kind: 'choice',
      choices: ['boxes', 'positions'],
      default: 'boxes',
      help: 'boxes in the image, or positions: x y z in columns 8 to 10, as points',
    },
  },
  shape: ({ objects }) => (objects === 'boxes' ? 'box' : 'point'),
  create: (values, role) =>
    new MotDecoder(values, readingOf(values, role), (row, placement) => objectOf(row, placement, values)),
  readsClasses: true,
  classesIn,
  readText: readMotText,
});
