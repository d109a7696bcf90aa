/**
 * When a tracker has got worse: what the spike detector looks at, how sure it must be, how fast it learns, and what the
 * stream promises whatever is usual. Times are seconds; the keys of versions before, in frames at 30 a second, still
 * count where they are given.
 */
import { z } from 'zod';
import { SPIKE_DEFAULTS } from '../spikes/settings.js';
import { INCIDENT_SIGNALS, SIGNALS } from '../spikes/signals.js';
import { count, type Field, nest, positive } from './fields.js';

export const spikesShape = (filler: Field) => ({
  signals: filler(
    z.array(z.enum(SIGNALS)).max(SIGNALS.length),
    SPIKE_DEFAULTS.signals,
    'what is watched for spikes; an empty list switches detection off',
  ),
  falseAlarmSeconds: filler(
    positive().min(60),
    SPIKE_DEFAULTS.falseAlarmSeconds,
    'mean time between false alarms of a signal, at least: two days. Less finds changes sooner',
    'seconds',
  ),
  learnSeconds: filler(
    positive(),
    SPIKE_DEFAULTS.learnSeconds,
    'a new series is only learned from for so long',
    'seconds',
  ),
  memorySeconds: filler(
    positive().min(10),
    SPIKE_DEFAULTS.memorySeconds,
    'what is usual is learned over this time; longer, up to half a day, for what is rare',
    'seconds',
  ),
  holdSeconds: filler(
    positive().min(1),
    SPIKE_DEFAULTS.holdSeconds,
    'what is new is held back for so long before it is learned, so that a fault is not learned before it is found; longer, up to an hour, for what is rare',
    'seconds',
  ),
  calmSeconds: filler(
    positive(),
    SPIKE_DEFAULTS.calmSeconds,
    'a spike is over when what is usual has been back for so long; a third of it after a short one, 60 times, up to half an hour, when it comes back within an hour',
    'seconds',
  ),
  adoptSeconds: filler(
    positive().min(10),
    SPIKE_DEFAULTS.adoptSeconds,
    'a spike that lasts this long stays open, less urgent, and its level is learned beside what was usual',
    'seconds',
  ),
  floorSeconds: filler(
    positive(),
    SPIKE_DEFAULTS.floorSeconds,
    'more missed than found for so long, or nothing ever matched for half of it, is a spike, usual or not',
    'seconds',
  ),
  newcomerSeconds: filler(
    positive(),
    SPIKE_DEFAULTS.newcomerSeconds,
    'a new object that is not found for so long counts as missed for the detection of spikes; trackers confirm late',
    'seconds',
  ),
  tailSeconds: filler(
    positive(),
    SPIKE_DEFAULTS.tailSeconds,
    'a track that outlives its object by more than this counts as false for the detection of spikes',
    'seconds',
  ),
  youngSeconds: filler(
    z.number().min(0),
    SPIKE_DEFAULTS.youngSeconds,
    'from its second minute until a series is so old, losses that pass within 5 s and showers of clutter within 25 s are not told',
    'seconds',
  ),
  critical: filler(
    z.array(z.enum(INCIDENT_SIGNALS)).max(INCIDENT_SIGNALS.length),
    SPIKE_DEFAULTS.critical,
    'signals that make an incident critical, a spike once it is beyond doubt; with others alone it is a warning',
  ),
  sameIncidentSeconds: filler(
    z.number().min(0),
    SPIKE_DEFAULTS.sameIncidentSeconds,
    'an incident that comes back within so long is the same one again',
    'seconds',
  ),
  lateFrames: filler(
    count(0).max(1000),
    SPIKE_DEFAULTS.lateFrames,
    'tracks that are late by so many frames are an incident even without a spike; 0: that is not looked for',
    'frames',
  ),
  objective: nest(filler, objectiveShape(filler), 'what the stream promises, whatever is usual; worse is a spike'),
  objectsMax: filler(count(0).max(1000), SPIKE_DEFAULTS.objectsMax, 'objects named in the event of a spike', 'objects'),
  falseAlarmFrames: inFrames(filler, 'falseAlarmSeconds', 1000),
  learnFrames: inFrames(filler, 'learnSeconds', 1),
  memoryFrames: inFrames(filler, 'memorySeconds', 300),
  calmFrames: inFrames(filler, 'calmSeconds', 1),
  adoptFrames: inFrames(filler, 'adoptSeconds', 300),
});

const inFrames = (filler: Field, key: string, least: number) =>
  filler(
    positive().min(least).nullable(),
    null,
    `of versions before: ${key} in frames, 30 a second; null: ${key} counts`,
    'frames',
  );

const objectiveShape = (filler: Field) => ({
  missRatio: filler(z.number().gt(0).lt(1).nullable(), null, 'share of the truths that may be missed; null: any'),
  falsePerMinute: filler(positive().nullable(), null, 'false tracks that may begin in a minute; null: any'),
  switchesPerObjectHour: filler(positive().nullable(), null, 'switches an object may have in an hour; null: any'),
});
