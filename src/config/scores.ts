/** The companion scores of a live window: HOTA, MOTA, IDF1 and their parts beside TGOSPA. */
import { z } from 'zod';
import { count, type Field, positive } from './fields.js';

export const scoresShape = (filler: Field) => ({
  enabled: filler(
    z.boolean(),
    false,
    'whether to compute them: HOTA, MOTA, IDF1 and their parts, over the same window',
  ),
  strideFrames: filler(
    count().max(1_000_000),
    300,
    'the scores are recomputed from the frames of the window every so many frames',
    'frames',
  ),
  zeroDistance: filler(
    positive().nullable(),
    null,
    'for points, similarity falls from 1 to 0 over this distance; null: twice the cutoff of the first profile. Boxes are compared by IoU',
    'unit of the distance',
  ),
});
