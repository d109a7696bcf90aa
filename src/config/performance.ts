/** The numbers of surveillance of a live series: PD, SIAP, position error, gaps, latency and bias. */
import { z } from 'zod';
import { count, type Field } from './fields.js';

export const performanceShape = (filler: Field) => ({
  enabled: filler(
    z.boolean(),
    false,
    'whether to compute them: PD, SIAP, position error, gaps, latency and bias, from settled frames',
  ),
  spanFrames: filler(
    count().max(10_000_000),
    3000,
    'number of settled frames they cover: between this and twice as many',
    'frames',
  ),
  strideFrames: filler(count().max(1_000_000), 30, 'they are recomputed every so many frames', 'frames'),
  latencyFrames: filler(
    count(0).max(100_000),
    60,
    'frames kept, at least 16, to find a latency too large for the pairs of the metric; 0: none is looked for',
    'frames',
  ),
  gapSteps: filler(
    count().max(1_000_000),
    3,
    'an object missed in more consecutive frames than this is in a gap',
    'frames',
  ),
  truthsMax: filler(
    count().max(100_000),
    2000,
    'objects for which figures are kept; beyond this, the one not seen for the longest time counts as gone',
    'objects',
  ),
});
