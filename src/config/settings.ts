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
      description: 'an object and a track this far apart or farther cannot be paired',
      unit: 'unit of the distance',
    }),
    admissibleError: positive().optional().meta({
      description:
        'an error above this is worse than no estimate at all; between half the cutoff and the cutoff; give this or exponent',
      unit: 'unit of the distance',
    }),
    exponent: z.number().min(1).optional().meta({ description: 'the exponent p itself, instead of admissibleError' }),
    shortSwitchDistance: z.number().min(0).optional().meta({
      description:
        'short identity changes count too; two tracks this close make a switch; give this, longSwitchFrames or switchPenalty',
      unit: 'unit of the distance',
    }),
    longSwitchFrames: z
      .number()
      .min(0)
      .optional()
      .meta({ description: 'only identity changes that last longer than this count', unit: 'frames' }),
    switchPenalty: z.number().min(0).optional().meta({
      description: 'the switch penalty gamma itself; 0: no switches, per-frame GOSPA',
      unit: 'unit of the distance',
    }),
    missShare: z
      .number()
      .gt(0)
      .lt(1)
      .optional()
      .meta({ description: 'share of a miss in the cost of a miss plus a false object; 0.5 by default' }),
    forgetting: z
      .number()
      .gt(0)
      .max(1)
      .optional()
      .meta({ description: 'a frame that is n frames old is weighted by this number to the power n' }),
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
    'profiles the stream is judged under: names from the section profiles, or presets',
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
    'a stream, or one of its trackers, that sends no frame for this long is retired and its series are removed',
    'minutes',
  ),
  picture: filler(
    z
      .string()
      .max(1000)
      .regex(/^$|^\/|^https?:\/\//, 'must be an address that begins with https://, http:// or /'),
    '',
    'address of a picture or floor plan that the page shows behind boxes, one pixel per unit; allow other servers in pictureOrigins',
  ),
  strict: filler(
    z.boolean(),
    false,
    'true: an object without an id, a position or valid values causes its frame to be rejected; false: only the object is dropped and counted',
  ),
  pairing: nest(filler, pairingShape(filler), 'how the feeds of a stream are joined'),
  reports: nest(filler, reportsShape(filler), 'feeds that report their objects one by one, each at its own time'),
  filter: nest(filler, filterShape(filler), 'which objects count'),
  coverage: nest(filler, coverageShape(filler), 'which part of the scene is judged; regions never come from a tracker'),
  classes: nest(filler, classesShape(filler), 'names of classes, and whether they are kept apart'),
  spikes: nest(filler, spikesShape(filler), 'when a tracker counts as having become worse'),
  scores: nest(filler, scoresShape(filler), 'other scores besides TGOSPA'),
  performance: nest(filler, performanceShape(filler), 'the performance figures customary in surveillance'),
});

const pairingShape = (filler: Field) => ({
  by: filler(
    z.enum(['auto', 'frame', 'time']),
    'auto',
    'join by frame number k or by time t; auto: by k if the first parts of both feeds have it',
  ),
  toleranceMs: filler(
    z.number().min(0),
    20,
    'by time: parts this close in time belong to the same step; keep it below half the time between frames',
    'milliseconds',
  ),
  reference: filler(
    z.enum(['exact', 'hold', 'linear']),
    'exact',
    'exact requires a reference part for each tracker part, hold repeats the last one, linear interpolates',
  ),
  heldTrackers: filler(
    z.array(z.string().regex(/^(?:\*|[A-Za-z0-9][A-Za-z0-9._:/-]*)$/, 'must be the name of a tracker, or *')).max(64),
    [],
    'trackers that publish only on change or every n-th frame, by name, * for all: their last part is held until the next one',
  ),
  holdMaxMs: filler(
    z.number().min(0).max(1e8),
    1000,
    'by time: longest time for which a part is held or interpolated',
    'milliseconds',
  ),
  holdMaxFrames: filler(
    count(0).max(100_000),
    30,
    'by frame number: most frames for which a part is held or interpolated',
    'frames',
  ),
  latenessFrames: filler(count(0), 0, 'how many later parts of the same feed may overtake a part', 'frames'),
  latenessMs: filler(z.number().min(0), 2000, 'how long a step waits for a feed', 'milliseconds'),
  silenceMs: filler(
    positive(),
    5000,
    'a feed that sends nothing for this long is silent: a silent tracker misses everything, a silent reference suspends judgement',
    'milliseconds',
  ),
  resumeMs: filler(
    z.number().min(0).max(3_600_000),
    20_000,
    'how long a stream waits for a feed whose connection was lost, or for all feeds after a restart, before lateness and silence count; 0: not at all',
    'milliseconds',
  ),
  bufferFrames: filler(
    count(),
    1024,
    'parts that may wait for each other; beyond this the oldest step is closed',
    'frames',
  ),
  restartFrames: filler(
    count(),
    100,
    'a frame number that goes back by more than this starts a new numbering; one that jumps ahead by more is accepted once the next one confirms it',
    'frames',
  ),
  restartMs: filler(
    positive(),
    10_000,
    'by time: a time that goes back by more than this means that a clock was set',
    'milliseconds',
  ),
});

const completePairing = (stored: object) => ({ ...PAIRING_DEFAULTS, ...stored });
const PAIRING_DEFAULTS = z.strictObject(pairingShape(field)).parse({});

const reportsShape = (filler: Field) => ({
  steps: filler(
    z.enum(['auto', 'tracker', 'reference', 'grid']),
    'auto',
    "which feed's times are judged; auto: those of the feed that sends frames, or a grid if both send reports",
  ),
  gridMs: filler(
    positive().max(3_600_000).nullable(),
    null,
    'time between two steps of the grid; null: the median time between two reports of an object in the slower feed',
    'milliseconds',
  ),
  greatestGapMs: filler(
    positive().max(86_400_000),
    60_000,
    'an object is not judged between two reports farther apart than this; if it comes back later it counts as a new object',
    'milliseconds',
  ),
  idsMax: filler(
    count().max(1_000_000),
    10_000,
    'objects remembered per feed; beyond this the one with the oldest report is forgotten',
    'objects',
  ),
  ownIds: filler(
    z.array(z.string().min(1).max(128)).max(64),
    [],
    'named references, by feed, whose ids are their own: the same id in another feed is a different object, except for those in idMap',
  ),
  idMap: filler(
    z.record(z.string().min(1).max(128), idMap()),
    {},
    'for each reference feed, its ids and the ids they stand for, as in {mlat: {"17": "4ca1b2"}}; if several feeds report an object, the more recent report counts',
  ),
  reportsPerIdMax: filler(
    count(2).max(100_000),
    512,
    'reports of one object that may wait; beyond this the oldest are dropped',
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
    'objects with a lower confidence do not count; objects without one always do; null: all count',
  ),
  reference: filler(feedFilter(), null, 'the same for the reference only, instead of the two above; null: as above'),
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
    "other names for classes, such as the tracker's: each is replaced by the class it maps to before anything else is done",
  ),
  apart: filler(
    z.boolean(),
    false,
    'true: only objects of the same class are paired (those without a class with each other), and costs are counted by class',
  ),
  namesMax: filler(
    count().max(256),
    16,
    'classes counted separately; all further ones are counted together as other',
    'classes',
  ),
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
