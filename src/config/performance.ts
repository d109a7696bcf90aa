/** The numbers of surveillance of a live series: PD, SIAP, position error, gaps, latency and bias. */
import { z } from 'zod';
import { count, type Field } from './fields.js';

export const performanceShape = (filler: Field) => ({
  enabled: filler(
    z.boolean(),
    false,
    'whether they are computed: PD, SIAP, position error, gaps, latency and bias, from settled frames',
  ),
  spanFrames: filler(
    count().max(10_000_000),
    3000,
    'they are of the last frames that have settled: so many, up to twice as many',
    'frames',
  ),
  strideFrames: filler(count().max(1_000_000), 30, 'they are worked out once in so many frames', 'frames'),
  latencyFrames: filler(
    count(0).max(100_000),
    60,
    'frames that are kept, at least 16, to find a latency that is too large for the pairs of the metric; 0: none is looked for',
    'frames',
  ),
  gapSteps: filler(
    count().max(1_000_000),
    3,
    'an object that is missed in more frames than this in a row is in a gap',
    'frames',
  ),
  truthsMax: filler(
    count().max(100_000),
    2000,
    'objects of which a few numbers are kept; when there are more, the longest unseen counts as gone',
    'objects',
  ),
});
