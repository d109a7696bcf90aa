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
    'minimum mean time between false alarms of a signal: two days. A shorter time finds changes sooner',
    'seconds',
  ),
  learnSeconds: filler(
    positive(),
    SPIKE_DEFAULTS.learnSeconds,
    'a new series is only learned from, not judged, for this long',
    'seconds',
  ),
  memorySeconds: filler(
    positive().min(10),
    SPIKE_DEFAULTS.memorySeconds,
    'what is usual is learned over this time; longer, up to half a day, for rare events',
    'seconds',
  ),
  holdSeconds: filler(
    positive().min(1),
    SPIKE_DEFAULTS.holdSeconds,
    'new data is held back for this long before it is learned, so that a fault is not learned before it is found; longer, up to an hour, for rare events',
    'seconds',
  ),
  calmSeconds: filler(
    positive(),
    SPIKE_DEFAULTS.calmSeconds,
    'a spike is over once things have been back to usual for this long; a third of this after a short spike; 60 times this, up to half an hour, for one that comes back within an hour',
    'seconds',
  ),
  adoptSeconds: filler(
    positive().min(10),
    SPIKE_DEFAULTS.adoptSeconds,
    'a spike that lasts this long stays open but becomes less urgent, and its level is learned alongside what was usual',
    'seconds',
  ),
  floorSeconds: filler(
    positive(),
    SPIKE_DEFAULTS.floorSeconds,
    'more missed than found for this long, or nothing ever matched for half of it, is a spike even if it is usual',
    'seconds',
  ),
  newcomerSeconds: filler(
    positive(),
    SPIKE_DEFAULTS.newcomerSeconds,
    'spike detection counts a new object as missed only after this long, because trackers confirm late',
    'seconds',
  ),
  tailSeconds: filler(
    positive(),
    SPIKE_DEFAULTS.tailSeconds,
    'spike detection counts a track as false once it outlives its object by more than this',
    'seconds',
  ),
  youngSeconds: filler(
    z.number().min(0),
    SPIKE_DEFAULTS.youngSeconds,
    'from its second minute until a series is this old, losses that pass within 5 s and bursts of clutter that pass within 25 s are not reported',
    'seconds',
  ),
  critical: filler(
    z.array(z.enum(INCIDENT_SIGNALS)).max(INCIDENT_SIGNALS.length),
    SPIKE_DEFAULTS.critical,
    'signals that make an incident critical, a spike only once it is beyond doubt; with any other signals it is a warning',
  ),
  sameIncidentSeconds: filler(
    z.number().min(0),
    SPIKE_DEFAULTS.sameIncidentSeconds,
    'an incident that comes back within this time is the same one',
    'seconds',
  ),
  lateFrames: filler(
    count(0).max(1000),
    SPIKE_DEFAULTS.lateFrames,
    'tracks that are late by this many frames are an incident even without a spike; 0: lateness is not checked',
    'frames',
  ),
  objective: nest(
    filler,
    objectiveShape(filler),
    'service-level objectives of the stream, regardless of what is usual; anything worse is a spike',
  ),
  objectsMax: filler(count(0).max(1000), SPIKE_DEFAULTS.objectsMax, 'objects listed in a spike event', 'objects'),
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
    `from earlier versions: ${key} in frames, 30 a second; null: ${key} counts`,
    'frames',
  );

const objectiveShape = (filler: Field) => ({
  missRatio: filler(z.number().gt(0).lt(1).nullable(), null, 'share of the true objects that may be missed; null: any'),
  falsePerMinute: filler(positive().nullable(), null, 'false tracks that may appear per minute; null: any number'),
  switchesPerObjectHour: filler(positive().nullable(), null, 'switches an object may have per hour; null: any number'),
});
