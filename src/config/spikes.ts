/** When a tracker has got worse: what the spike detector looks at, how sure it must be, how fast it learns. */
import { z } from 'zod';
import { SIGNALS } from '../spikes/signals.js';
import { count, type Field, positive } from './fields.js';

export const spikesShape = (filler: Field) => ({
  signals: filler(
    z.array(z.enum(SIGNALS)).max(SIGNALS.length),
    [...SIGNALS],
    'what is watched for spikes; an empty list switches detection off',
  ),
  falseAlarmFrames: filler(
    positive().min(1000),
    5_184_000,
    'mean time between false alarms of a signal, at least; two days at 30 frames per second. Less finds changes sooner',
    'frames',
  ),
  learnFrames: filler(count(), 150, 'a new series is only learned from for so long', 'frames'),
  memoryFrames: filler(
    count(300),
    36_000,
    'what is usual is learned over this time: 20 minutes at 30 frames per second',
    'frames',
  ),
  calmFrames: filler(count(), 30, 'a spike is over when the signal has been back for so long', 'frames'),
  adoptFrames: filler(
    count(300),
    108_000,
    'a spike that lasts this long is over too: from then on its level is what is usual',
    'frames',
  ),
  objectsMax: filler(count(0).max(1000), 20, 'objects named in the event of a spike', 'objects'),
});
