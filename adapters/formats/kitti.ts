/**
 * KITTI tracking labels and results: one object per line, 17 columns separated by blanks, an 18th is the score:
 * frame id type truncated occluded alpha left top right bottom height width length x y z rotation [score].
 * Frames and pixels count from 0; sizes and positions are metres in the camera's frame, at the bottom face's centre.
 */

import type { Box } from '../../src/metric/evaluation.js';
import type { Role } from '../../src/wire/feed.js';
import type { WireObject } from '../../src/wire/objects.js';
import { type Decoded, type Decoder, defineAdapter, type JudgingOptions, type Part } from '../kit/adapter.js';
import { refuseStamp } from '../kit/fields.js';
import { collect, Gathering, linesOf, type Sighting } from '../kit/gathering.js';
import { BOX_OPTIONS, objectOf, Placement, type PlacementOptions } from '../kit/placement.js';
import type { Aside } from '../kit/preprocessing.js';
import { Rows } from '../kit/rows.js';

const EXPECTED =
  'frame id type truncated occluded alpha left top right bottom height width length x y z rotation [score]';
const NAMES = EXPECTED.replace(/[[\]]/g, '').split(' ');
const COLUMNS = 17;
/** Some trackers write one column too many before the score (OC-SORT); the score is always the last. */
const COLUMNS_MAX = 19;
/** What trackers without depth write for a position. */
const NO_POSITION = -1000;
const IGNORED_TYPE = 'DontCare';
/** By class that the benchmark judges: what is so much like it that nobody is punished for tracking it. */
const DISTRACTORS: Record<KittiClass, readonly string[]> = {
  car: ['van'],
  pedestrian: ['person', 'person_sitting'],
};
const OCCLUSION_MAX = 2;
const TRUNCATION_MAX = 0;
/** Tracks that match nothing are not judged up to this height, in pixels. */
export const KITTI_HEIGHT_MAX = 25;
/** The classes that the benchmark judges, each by itself. */
export const KITTI_CLASSES = ['car', 'pedestrian'] as const;
export type KittiClass = (typeof KITTI_CLASSES)[number];

interface KittiOptions extends PlacementOptions {
  objects: 'boxes' | 'positions';
  types: readonly string[] | undefined;
}

class KittiDecoder implements Decoder {
  readonly #placement: Placement;
  readonly #gathering = new Gathering();
  #lines = 0;

  constructor(readonly options: KittiOptions) {
    this.#placement = new Placement(options);
  }

  decode(message: unknown, stamp?: object): Decoded {
    return linesOf(message, this.#gathering, (text) => {
      refuseStamp(stamp);
      const rows = new Rows(text, 'blanks');
      const read = collect(
        () => rows.next(),
        () => this.#sighting(rows),
      );
      if (read.problems.length === 0) this.#lines += rows.line;
      return read;
    });
  }

  flush(): Decoded {
    return this.#gathering.flush();
  }

  #sighting(rows: Rows): Sighting {
    checkColumns(rows);
    const frame = rows.number(0);
    if (!Number.isSafeInteger(frame) || frame < 0) throw rows.mistake(0, 'frame', 'must be a whole number from 0');
    const stamp = { k: this.#placement.shifted(frame) };
    if (stamp.k < 0) throw rows.mistake(0, 'frame', `must be at least ${-this.options.frameOffset}, with frameOffset`);
    const type = rows.text(2);
    const dropped = type === IGNORED_TYPE || (this.options.types !== undefined && !this.options.types.includes(type));
    return { stamp, object: dropped ? null : this.#object(rows, frame, type) };
  }

  #object(rows: Rows, frame: number, type: string): WireObject {
    const id = idOf(rows, frame, this.#lines + rows.line);
    const score = rows.columns > COLUMNS ? rows.finite(rows.columns - 1, 'score') : undefined;
    if (this.options.objects === 'boxes') {
      const left = rows.number(6);
      const top = rows.number(7);
      const right = rows.number(8);
      const bottom = rows.number(9);
      if (!(right > left && bottom > top))
        throw rows.mistake(8, 'right', `and bottom must lie beyond left and top (${left} ${top})`);
      return objectOf(id, this.#placement.corners(left, top, right, bottom, ''), type, score);
    }
    const point = [rows.number(13), rows.number(14), rows.number(15)];
    if (point[0] === NO_POSITION)
      throw rows.mistake(13, 'x', 'is what trackers without depth write; evaluate boxes (objects=boxes)');
    return score === undefined ? { id, point, class: type } : { id, point, class: type, confidence: score };
  }
}

function checkColumns(rows: Rows): void {
  const { columns } = rows;
  if (columns === COLUMNS && Number.isNaN(rows.number(0)) && !Number.isNaN(rows.number(1)))
    throw rows.rowMistake('has the label first, as DeepStream writes it; use format deepstream-kitti');
  if (columns < COLUMNS || columns > COLUMNS_MAX)
    throw rows.rowMistake(
      `has ${columns} columns; expected ${COLUMNS} or ${COLUMNS + 1}, separated by blanks: ${EXPECTED}`,
    );
  for (let column = 3; column < columns; column++)
    if (!Number.isFinite(rows.number(column)))
      throw rows.mistake(column, NAMES[column] ?? 'score', 'must be a finite number');
}

/** -1 is an object without identity: a trajectory of its own. */
function idOf(rows: Rows, frame: number, line: number): string {
  const text = rows.text(1);
  if (text === '-1') return `det:${frame}:${line}`;
  if (!/^\d+$/.test(text))
    throw rows.mistake(1, 'id', 'must be a whole number, or -1 for a detection without identity');
  return text;
}

/** The rows of one class by the rules of the benchmark; objects without identity do not count. */
function readClass(text: string, kind: KittiClass, role: Role): Decoded {
  const frames = new Map<number, Part & { k: number; aside: Aside[] }>();
  const rows = new Rows(text, 'blanks');
  const { problems } = collect(
    () => rows.next(),
    () => addRow(frames, rows, kind, role),
  );
  return { parts: [...frames.values()], problems, held: false };
}

function addRow(
  frames: Map<number, Part & { k: number; aside: Aside[] }>,
  rows: Rows,
  kind: KittiClass,
  role: Role,
): null {
  checkColumns(rows);
  const k = rows.number(0);
  if (!Number.isSafeInteger(k) || k < 0) throw rows.mistake(0, 'frame', 'must be a whole number from 0');
  const frame = frames.get(k) ?? { k, objects: [], aside: [] };
  frames.set(k, frame);
  const type = rows.text(2).toLowerCase();
  const box = boxOf(rows);
  if (type === IGNORED_TYPE.toLowerCase()) {
    if (role === 'reference') frame.aside.push({ box, role: 'region' });
  } else if (rows.number(1) < 0) return null;
  else if (type === kind && (role === 'tracker' || !isHard(rows)))
    frame.objects.push({ id: idOf(rows, k, rows.line), box, class: kind });
  else if (role === 'reference' && (type === kind || DISTRACTORS[kind].includes(type)))
    frame.aside.push({ box, role: 'distractor' });
  return null;
}

/** Hidden or cut off so far that the benchmark asks nobody for it. */
const isHard = (rows: Rows) =>
  Math.trunc(rows.number(4)) > OCCLUSION_MAX || Math.trunc(rows.number(3)) > TRUNCATION_MAX;

function boxOf(rows: Rows): Box {
  const [left, top, right, bottom] = [6, 7, 8, 9].map((column) => rows.number(column));
  return [left, top, right - left, bottom - top];
}

/** A whole file: as message by message, and how many rows only the benchmark's preprocessing understands. */
function readKittiText(
  text: string,
  values: KittiOptions,
  role: Role,
  { rules, class: kind }: JudgingOptions,
): Decoded {
  if (rules === 'kitti') {
    if (kind === 'car' || kind === 'pedestrian') return readClass(text, kind, role);
    const message = 'the benchmark judges cars and pedestrians, each by themselves: say --classes car, or pedestrian';
    return { parts: [], problems: [{ path: '', value: kind, message }], held: false };
  }
  const decoder = new KittiDecoder(values);
  const decoded = decoder.decode(text);
  const parts = [...decoded.parts, ...decoder.flush().parts];
  if (role === 'tracker' || decoded.problems.length > 0) return { ...decoded, parts, held: false };
  const rows = new Rows(text, 'blanks');
  let regions = 0;
  let hard = 0;
  while (rows.next()) {
    if (rows.text(2) === IGNORED_TYPE) regions++;
    else if (isHard(rows) || Object.values(DISTRACTORS).flat().includes(rows.text(2).toLowerCase())) hard++;
  }
  const notes =
    regions + hard === 0
      ? []
      : [
          `warning: {file} has ${regions} DontCare regions and ${hard} rows of what is hidden, cut off, a van or sits: the benchmark judges nobody there, so that its numbers are others; --preprocess kitti gives them`,
        ];
  return { parts, problems: [], held: false, notes };
}

export const kitti = defineAdapter({
  name: 'kitti',
  title: 'KITTI tracking labels and results',
  message: 'text',
  numbering: 'own',
  bases: { frame: 0, pixel: 0 },
  options: {
    ...BOX_OPTIONS,
    objects: {
      kind: 'choice',
      choices: ['boxes', 'positions'],
      default: 'boxes',
      help: 'boxes in the image (pixels), or positions x y z in the camera frame (metres)',
    },
    types: { kind: 'texts', help: 'only rows of these types count, such as Car,Van; all but DontCare unless given' },
  },
  shape: ({ objects }) => (objects === 'boxes' ? 'box' : 'point'),
  create: (values) => new KittiDecoder(values),
  readText: readKittiText,
});
