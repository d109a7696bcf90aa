/**
 * Four numbers as a box: the orders in which files have them, and boxes without area, which count although they overlap
 * nothing, as TrackEval counts them.
 */

import type { Box } from '../../src/metric/evaluation.js';
import type { Role } from '../../src/wire/feed.js';

/** What four numbers are; the names in x and y are what most people call them. */
export const BOX_ORDERS = ['xywh', 'xyxy', 'cxcywh', 'yxyx', 'yxhw', 'yxwh', 'xyhw'] as const;
export type BoxOrder = (typeof BOX_ORDERS)[number];

/** Four numbers in this order as left, top, width, height; sides may come out as 0 or below. */
export function boxIn(order: BoxOrder, a: number, b: number, c: number, d: number): Box {
  switch (order) {
    case 'xywh':
      return [a, b, c, d];
    case 'xyxy':
      return [a, b, c - a, d - b];
    case 'cxcywh':
      return [a - c / 2, b - d / 2, c, d];
    case 'yxyx':
      return [b, a, d - b, c - a];
    case 'yxhw':
      return [b, a, d, c];
    case 'yxwh':
      return [b, a, c, d];
    case 'xyhw':
      return [a, b, d, c];
  }
}

/** A side in place of 0: what it overlaps is next to nothing. */
const EMPTY_SIDE = 1e-8;
/** Empty boxes of a tracker lie this far from where they are said to be: not even two of them overlap. */
const ASIDE = 1e-6;

/** A box with a side of 0 as one that the metric can hold and that overlaps nothing. */
export function withArea([left, top, width, height]: Box, role: Role): Box {
  if (width > 0 && height > 0) return [left, top, width, height];
  return [role === 'tracker' ? left - ASIDE : left, top, width || EMPTY_SIDE, height || EMPTY_SIDE];
}
