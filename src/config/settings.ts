/** The metric's parameters by name, and the settings of a stream: how it is judged, paired, filtered. */
import { z } from 'zod';
import { InputError } from '../metric/input-error.js';
import { DISTANCES, type DistanceName, type Params, presets, profile } from '../metric/params.js';
import { coverageShape } from './coverage.js';
import { type Context, count, type Field, field, nest, positive } from './fields.js';
import { performanceShape } from './performance.js';
import { scoresShape } from './scores.js';
import { spikesShape } from './spikes.js';

export const profileEntry = z
  .strictObject({
    distance: field(
      z.enum(DISTANCES),
      'iou',
      'iou, hausdorff, wasserstein compare boxes; euclidean, geodesic (latitude and longitude, metres) compare points',
    ),
    cutoff: positive().meta({
      description: 'a pair at this distance or more is not proper',
      unit: 'unit of the distance',
    }),
    admissibleError: positive().optional().meta({
      description:
        'an error above this is worse than no estimate at all; half the cutoff up to the cutoff; give this or exponent',
      unit: 'unit of the distance',
    }),
    exponent: z.number().min(1).optional().meta({ description: 'exponent p itself, instead of admissibleError' }),
    shortSwitchDistance: z.number().min(0).optional().meta({
      description:
        'short changes count; two tracks this close are a switch; give this, longSwitchFrames or switchPenalty',
      unit: 'unit of the distance',
    }),
    longSwitchFrames: z
      .number()
      .min(0)
      .optional()
      .meta({ description: 'only changes that last longer than this count', unit: 'frames' }),
    switchPenalty: z.number().min(0).optional().meta({
      description: 'switch penalty gamma itself; 0: no switches, per-frame GOSPA',
      unit: 'unit of the distance',
    }),
    missShare: z
      .number()
      .gt(0)
      .lt(1)
      .optional()
      .meta({ description: 'share of a miss in the cost of a miss plus a false object; 0.5 unless given' }),
    forgetting: z
      .number()
      .gt(0)
      .max(1)
      .optional()
      .meta({ description: 'a frame n frames old weighs this number to the power n' }),
  })
  .superRefine((words, issue) => {
    try {
      paramsOf(words);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      for (const p of error.problems) issue.addIssue({ code: 'custom', path: p.path.split('.'), message: p.message });
    }
  })
  .meta({ description: 'a named set of metric parameters' });

export function paramsOf({
  forgetting,
  ...words
}: {
  forgetting?: number;
  cutoff: number;
  distance: DistanceName;
}): Params {
  return profile(forgetting === undefined ? words : { ...words, weights: { forgetting } });
}

/** The settings of a stream; with `field` as filler every key has its default, with `optional` none is needed. */
export const settingsShape = (filler: Field, context: Context) => ({
  profiles: filler(
    z.array(profileName(context)).min(1).max(16),
    ['online-surveillance'],
    'profiles the stream is judged under: names of the section profiles or presets',
  ),
  windowFrames: filler(count().max(100_000), 60, 'length of the sliding window', 'frames'),
  settleFrames: filler(
    count().nullable(),
    null,
    'age at which a frame is settled and enters the counters; null: half the window',
    'frames',
  ),
  idleMinutes: filler(
    positive(),
    60,
    'a stream without any frame for this long is retired and its series are removed',
    'minutes',
  ),
  picture: filler(
    z
      .string()
      .max(1000)
      .regex(/^$|^\/|^https?:\/\//, 'must be an address that begins with https://, http:// or /'),
    '',
    'address of a picture or floor plan that the page shows behind boxes, one pixel for one unit; pictureOrigins allows other servers',
  ),
  strict: filler(
    z.boolean(),
    false,
    'an object without id, place or a possible value refuses its frame; otherwise only the object is left out and counted',
  ),
  pairing: nest(filler, pairingShape(filler), 'how the feeds of a stream are joined'),
  reports: nest(filler, reportsShape(filler), 'feeds that report their objects one by one, each at its own time'),
  filter: nest(filler, filterShape(filler), 'which objects count'),
  coverage: nest(filler, coverageShape(filler), 'what of the scene is judged; regions never come from a tracker'),
  classes: nest(filler, classesShape(filler), 'what classes are called, and whether they are kept apart'),
  spikes: nest(filler, spikesShape(filler), 'when a tracker counts as having got worse'),
  scores: nest(filler, scoresShape(filler), 'other scores beside TGOSPA'),
  performance: nest(filler, performanceShape(filler), 'the numbers that surveillance people expect'),
});

const pairingShape = (filler: Field) => ({
  by: filler(
    z.enum(['auto', 'frame', 'time']),
    'auto',
    'join by frame number k or by time t; auto: by k when the first parts of both feeds have it',
  ),
  toleranceMs: filler(
    z.number().min(0),
    20,
    'by time: parts this close are the same step; keep it below half the time between frames',
    'milliseconds',
  ),
  reference: filler(
    z.enum(['exact', 'hold', 'linear']),
    'exact',
    'exact needs a reference part for each part of the tracker, hold repeats the last one, linear interpolates',
  ),
  heldTrackers: filler(
    z.array(z.string().regex(/^(?:\*|[A-Za-z0-9][A-Za-z0-9._:/-]*)$/, 'must be the name of a tracker, or *')).max(64),
    [],
    'trackers that publish only on change or every n-th frame, by name, * for all: their last part is held until the next one',
  ),
  holdMaxMs: filler(
    z.number().min(0).max(1e8),
    1000,
    'by time: a part is not held or interpolated for longer',
    'milliseconds',
  ),
  holdMaxFrames: filler(
    count(0).max(100_000),
    30,
    'by frame number: a part is not held or interpolated for longer',
    'frames',
  ),
  latenessFrames: filler(count(0), 0, 'how many later parts of the same feed may overtake a part', 'frames'),
  latenessMs: filler(z.number().min(0), 2000, 'how long a step waits for a feed', 'milliseconds'),
  silenceMs: filler(
    positive(),
    5000,
    'a feed without a part for this long is silent: a silent tracker misses everything, a silent reference suspends judgement',
    'milliseconds',
  ),
  resumeMs: filler(
    z.number().min(0).max(3_600_000),
    20_000,
    'how long a stream waits for a feed whose connection was cut, or for all after a restart, before lateness and silence count; 0: not at all',
    'milliseconds',
  ),
  bufferFrames: filler(count(), 1024, 'parts that may wait for each other; more close the oldest step', 'frames'),
  restartFrames: filler(
    count(),
    100,
    'a frame number that falls back by more than this begins a new numbering; one that jumps by more is believed once the next one confirms it',
    'frames',
  ),
  restartMs: filler(
    positive(),
    10_000,
    'by time: a time that falls back by more than this means a clock was set',
    'milliseconds',
  ),
});

const completePairing = (stored: object) => ({ ...PAIRING_DEFAULTS, ...stored });
const PAIRING_DEFAULTS = z.strictObject(pairingShape(field)).parse({});

const reportsShape = (filler: Field) => ({
  steps: filler(
    z.enum(['auto', 'tracker', 'reference', 'grid']),
    'auto',
    'whose times are judged; auto: those of the feed that sends frames, on a grid where both report',
  ),
  gridMs: filler(
    positive().max(3_600_000).nullable(),
    null,
    'time between two steps of the grid; null: the median time between two reports of an object, of the slower feed',
    'milliseconds',
  ),
  greatestGapMs: filler(
    positive().max(86_400_000),
    60_000,
    'between two reports farther apart an object is not judged; one that comes back later is a new one',
    'milliseconds',
  ),
  idsMax: filler(
    count().max(1_000_000),
    10_000,
    'objects that may be known of a feed; of more, the one not heard of for longest is forgotten',
    'objects',
  ),
  ownIds: filler(
    z.array(z.string().min(1).max(128)).max(64),
    [],
    'named references, by feed, whose ids mean nothing to the others: equal ids are other objects, but for those in idMap',
  ),
  idMap: filler(
    z.record(z.string().min(1).max(128), idMap()),
    {},
    'by feed of a reference, its ids and those that they stand for, as in {mlat: {"17": "4ca1b2"}}; of an object that several know the fresher report counts',
  ),
  reportsPerIdMax: filler(
    count(2).max(100_000),
    512,
    'reports that may wait of one object; of more, the oldest go',
    'reports',
  ),
});

const idMap = () =>
  z
    .record(z.string().min(1).max(256), z.string().min(1).max(256))
    .refine((map) => Object.keys(map).length <= 10_000, 'has more than 10000 ids')
    .meta({ description: 'ids of the feed, and those that they stand for' });

const REPORT_DEFAULTS = z.strictObject(reportsShape(field)).parse({});

const filterShape = (filler: Field) => ({
  classes: filler(
    z.array(z.string().min(1)).min(1).nullable(),
    null,
    'only objects of these classes count; null: all, also those without a class',
  ),
  minConfidence: filler(
    z.number().nullable(),
    null,
    'objects with a lower confidence do not count, objects without one always do; null: all count',
  ),
  reference: filler(feedFilter(), null, 'the same for the reference alone, instead of the two above; null: as above'),
  tracker: filler(feedFilter(), null, 'the same for trackers alone; null: as above'),
});

const feedFilter = () =>
  z
    .strictObject({
      classes: field(
        z.array(z.string().min(1)).min(1).nullable(),
        null,
        'only objects of these classes count; null: all',
      ),
      minConfidence: field(z.number().nullable(), null, 'objects with a lower confidence do not count; null: all do'),
    })
    .nullable();

const classesShape = (filler: Field) => ({
  map: filler(
    z.record(z.string().min(1).max(128), z.string().min(1).max(128)),
    {},
    'other names for classes, as of the tracker: each becomes the class behind it, before anything else is done',
  ),
  apart: filler(
    z.boolean(),
    false,
    'only objects of one class are pairs, those without a class among themselves, and costs are counted by class',
  ),
  namesMax: filler(count().max(256), 16, 'classes that are counted; more are counted together, as other', 'classes'),
});

const FILTER_DEFAULTS = z.strictObject(filterShape(field)).parse({});
const COVERAGE_DEFAULTS = z.strictObject(coverageShape(field)).parse({});
const CLASSES_DEFAULTS = z.strictObject(classesShape(field)).parse({});

/** Settings that an older version stored; sections and keys it did not know have their defaults. */
export const completeSettings = <
  S extends { pairing: object; filter: object; classes?: object; reports?: object; strict?: boolean },
>(
  stored: S,
) => ({
  coverage: COVERAGE_DEFAULTS,
  ...stored,
  reports: { ...REPORT_DEFAULTS, ...stored.reports },
  classes: { ...CLASSES_DEFAULTS, ...stored.classes },
  strict: stored.strict ?? false,
  pairing: completePairing(stored.pairing),
  filter: { ...FILTER_DEFAULTS, ...stored.filter },
});

function profileName(context: Context) {
  return z.string().superRefine((value, issue) => {
    if (Object.hasOwn(presets, value) || context.profileNames.includes(value)) return;
    const known = [...Object.keys(presets), ...context.profileNames].join(', ');
    issue.addIssue({
      code: 'custom',
      message: `no profile has this name; add it under profiles, or use one of ${known}`,
    });
  });
}
