/**
 * A file read otherwise than its format says: what was decoded is in truth in another order, unit or numbering. The
 * options are there for files of every format; where a format has an option of the same name, its own is used.
 */

import type { Box } from '../../src/metric/evaluation.js';
import type { Role } from '../../src/wire/feed.js';
import type { WireObject } from '../../src/wire/objects.js';
import { BOX_ORDERS, boxIn, withArea } from './boxes.js';
import { ORIGIN_OPTIONS, placeOnEarth } from './local-plane.js';
import type { OptionTable, OptionValues } from './options.js';
import type { Aside } from './preprocessing.js';

export const REREADING_OPTIONS = {
  box: { kind: 'choice', choices: BOX_ORDERS, help: 'what was read as left, top, width, height is in this order' },
  swapAxes: { kind: 'switch', help: 'x and y are exchanged, or latitude and longitude' },
  scale: { kind: 'numbers', above: 0, help: 'coordinates are multiplied by this, or x and y by one of two numbers' },
  ...ORIGIN_OPTIONS,
  frameOffset: { kind: 'whole', help: 'added to every frame number' },
  timeOffset: { kind: 'number', help: 'added to every time, in seconds' },
  timeScale: { kind: 'number', above: 0, help: 'every time is multiplied by this first: 0.001 for milliseconds' },
} as const satisfies OptionTable;

export type Rereading = OptionValues<typeof REREADING_OPTIONS>;

/** One feed's objects at one moment. */
interface Moment {
  k?: number;
  t?: number;
  objects: WireObject[];
  reports?: true;
  aside?: Aside[];
}

/** The same parts, read otherwise. Frame numbers that fall below 0 are left to the checks. */
export function reread(parts: readonly Moment[], rereading: Rereading, role: Role): Moment[] {
  const { frameOffset = 0, timeOffset = 0, timeScale = 1 } = rereading;
  const timed = (object: WireObject) =>
    object.t === undefined ? object : { ...object, t: object.t * timeScale + timeOffset };
  return parts.map(({ k, t, objects, aside, reports }) => {
    const part: Moment = { objects: objects.map((object) => timed(rereadObject(object, rereading, role))) };
    if (reports) part.reports = true;
    if (k !== undefined) part.k = k + frameOffset;
    if (t !== undefined) part.t = t * timeScale + timeOffset;
    if (aside) part.aside = aside.map((one) => rereadObject(one, rereading, role) as Aside);
    return part;
  });
}

function rereadObject<T extends WireObject | Aside>(
  object: T,
  { box: order, swapAxes, scale = [1], origin }: Rereading,
  role: Role,
): T {
  const times = (values: readonly number[]) => values.map((value, d) => value * scale[d % scale.length]);
  if (object.box) {
    const [a, b, c, d] = object.box;
    const [left, top, width, height] = boxIn(order ?? 'xywh', a, b, c, d);
    const box: Box = swapAxes ? [top, left, height, width] : [left, top, width, height];
    return { ...object, box: withArea(times(box) as Box, role) };
  }
  const { point } = object as WireObject;
  // a report may only say that its object is gone
  if (!point) return object;
  const swapped = swapAxes ? [point[1], point[0], ...point.slice(2)] : point;
  const read = times(swapped);
  return { ...object, point: origin ? placeOnEarth(origin, read) : read };
}
