/**
 * VisDrone (multi-object tracking, also UAVDT): ten columns as in MOTChallenge, but the eighth is a category and the
 * ninth and tenth are truncation and occlusion: frame, id, left, top, width, height, score, category, truncation,
 * occlusion. In annotations a score of 0 and categories 0 (ignored region) and 11 (others) do not count.
 */

import { InputError } from '../../src/metric/input-error.js';
import type { Role } from '../../src/wire/feed.js';
import type { WireObject } from '../../src/wire/objects.js';
import { type Decoded, defineAdapter, type JudgingOptions, type Part } from '../kit/adapter.js';
import { BOX_OPTIONS, Placement, type PlacementOptions } from '../kit/placement.js';
import type { Aside } from '../kit/preprocessing.js';
import { type MotReading, type MotRow, readMotChallenge } from './motchallenge.js';
import { MotDecoder } from './motchallenge-feed.js';

/** By category; those without a name do not count. */
const NAMES = [
  '',
  'pedestrian',
  'people',
  'bicycle',
  'car',
  'van',
  'truck',
  'tricycle',
  'awning-tricycle',
  'bus',
  'motor',
];
const REGION = 0;
const CLASSES = NAMES.map((_, category) => category).slice(1);

const readingOf = ({ frameOffset }: PlacementOptions, kind: Role): MotReading => ({
  kind,
  file: '',
  classes: CLASSES,
  frameOffset,
});

function objectOf({ object: { id, box }, class: category }: MotRow, placement: Placement): WireObject {
  const object: WireObject = { id, box: placement.box(...box) };
  if (NAMES[category]) object.class = NAMES[category];
  return object;
}

function readText(text: string, options: PlacementOptions, kind: Role, { rules }: JudgingOptions): Decoded {
  try {
    const placement = new Placement(options);
    const feed = readMotChallenge(text, readingOf(options, kind));
    let regions = 0;
    const parts = [...feed.frames].map(([frame, which]): Part => {
      const rows = Array.from(which, (n) => feed.rows.row(n));
      const aside = kind === 'reference' ? rows.flatMap((row) => (row.counted ? [] : [asideOf(row, placement)])) : [];
      regions += aside.length;
      const objects = rows.flatMap((row) => (row.counted ? [objectOf(row, placement)] : []));
      return { k: frame + options.frameOffset, objects, ...(rules === 'visdrone' && { aside }) };
    });
    const notes =
      regions > 0 && rules !== 'visdrone'
        ? [
            `warning: {file} has ${regions} rows of ignored regions and others: what is tracked there is false here; the benchmark takes it out first: --preprocess visdrone`,
          ]
        : [];
    return { parts, problems: [], held: false, notes, checked: true };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return { parts: [], problems: error.problems, held: false };
  }
}

/** Within a region nobody is judged; what is of no named category, or marked with score 0, is a distractor. */
const asideOf = ({ object, class: category }: MotRow, placement: Placement): Aside => ({
  box: placement.box(...object.box),
  role: category === REGION ? 'region' : 'distractor',
});

export const visdrone = defineAdapter({
  name: 'visdrone',
  title: 'VisDrone annotations and results: ten columns with a category',
  message: 'text',
  numbering: 'own',
  bases: { frame: 1, pixel: 1 },
  options: BOX_OPTIONS,
  shape: () => 'box',
  classNames: Object.fromEntries(NAMES.map((name, category) => [String(category), name])),
  create: (values, role) => new MotDecoder(values, readingOf(values, role), objectOf),
  readText,
});
