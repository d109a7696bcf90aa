/**
 * What is wrong with two files that hardly match although they show the same scene: the frames of one are numbered
 * otherwise, its boxes are in another order, its coordinates in another unit. The hypotheses are those of live streams
 * (wiring/); the remedy is an option to copy. Looks at a few parts of both files.
 */

import type { Part } from '../../../adapters/kit/adapter.js';
import { type BoxOrder, boxIn } from '../../../adapters/kit/boxes.js';
import type { Recording } from '../../../adapters/kit/recording.js';
import type { DistanceName } from '../../metric/params.js';
import type { Evidence } from '../../wire/findings.js';
import { type PackedList, pack } from '../../wire/objects.js';
import { agreementAsPaired, type FeedSample, type Judge, type ReceivedPart } from '../../wiring/agreement.js';
import { bestFrameShift, type Explanation, explain, explainByTime } from '../../wiring/hypotheses.js';
import { lagOf } from '../../wiring/lag.js';

/** What counts as a match; of points only whoever judges them knows. */
export interface Yardstick {
  distance: DistanceName;
  cutoff: number;
}

/** parts of a tracker that are looked at: so many runs of so many neighbours */
const RUNS = 4;
const RUN_PARTS = 6;
/** parts of the reference around them: offsets up to this are tried */
const AROUND = 64;
/** shares of what could pair: below, a cause is looked for; below, without one, that is said */
const WEAK_SHARE = 0.35;
const NOTHING_SHARE = 0.02;
/** where neighbours match far better, a reading must not explain everything that is missing */
const IDENTITY_SHARE_MAX = 0.75;
const ENOUGH_PAIRS = 20;
/** an offset in time that moving objects tell: intervals, and standard errors beyond which it is no chance */
const LAG_MIN = 0.65;
const LAG_ERRORS = 4;
const LAG_TRUTHS_MIN = 3;
/** offset from which on longer runs are looked at, how long they are, and what they must show, as live */
const LAG_DOUBT = 0.3;
const LAG_RUN_PARTS = 48;
const LATE_MIN = 0.85;
const EARLY_MIN = 0.35;
const LONG_ERRORS = 5;
const LONG_FEW = 30;
const LONG_TRUTHS_MIN = 20;
/** share of what could pair below which frames may be so far off that others pair than those who belong together */
const POOR_SHARE = 0.6;
/** part of a second between two parts in the order of a file, where nothing else is known */
const ORDER_MS = 40;

/** Warnings on a pair of files; none when they match, or when nothing explains why they do not. */
export function examine(reference: Recording, tracker: Recording, yardstick: Yardstick, toleranceMs: number): string[] {
  const near = sampleOf(reference, tracker, 1);
  if (near === null) return [];
  const judge = judgeOf(reference, tracker, yardstick, toleranceMs);
  const paired = agreementAsPaired(near, judge);
  if (paired.share > WEAK_SHARE) {
    const late = lagWarnings(near, judge, reference, tracker);
    if (late.length > 0 || paired.share > POOR_SHARE) return late;
    const shifted = explainByTime(sampleOf(reference, tracker, AROUND)!, judge, POOR_SHARE);
    return shifted ? [warningOn(shifted, reference, tracker)] : [];
  }
  const around = sampleOf(reference, tracker, AROUND)!;
  const cause = explain(around, judge);
  if (cause) return [warningOn(cause, reference, tracker)];
  const twofold = explainInOtherOrder(around, judge);
  if (twofold) return [warningOn(twofold.cause, reference, tracker, [`box=${twofold.order}`])];
  if (paired.possible < ENOUGH_PAIRS || paired.pairs > NOTHING_SHARE * paired.possible) return [];
  return [
    `warning: none of ${paired.possible} objects of ${tracker.file} that were looked at is closer than the cut-off ${judge.cutoff} to one of ${reference.file}; check that both show the same scene in the same coordinates`,
  ];
}

/** orders in which boxes may be besides being something else: shares of the picture, or numbered otherwise */
const ORDERS = ['xyxy', 'cxcywh'] as const;

/** What is wrong with a tracker's file whose boxes are in another order as well. */
function explainInOtherOrder(sample: FeedSample, judge: Judge): { order: BoxOrder; cause: Explanation } | null {
  for (const order of ORDERS) {
    const tracker = sample.tracker.map((part) => ({ ...part, objects: inOrder(part.objects, order) }));
    if (tracker.some(({ objects }) => objects === null)) continue;
    const cause = explain({ ...sample, tracker: tracker as ReceivedPart[] }, judge);
    if (cause && cause.cause !== 'box_order' && cause.feed !== 'reference') return { order, cause };
  }
  return null;
}

/** Boxes read in another order; null where that is no box. */
function inOrder(objects: PackedList, order: BoxOrder): PackedList | null {
  if (objects.shape !== 'box') return null;
  const coordinates: number[] = [];
  for (let at = 0; at < objects.coordinates.length; at += 4) {
    const [a, b, c, d] = objects.coordinates.slice(at, at + 4);
    const box = boxIn(order, a, b, c, d);
    if (!(box[2] > 0 && box[3] > 0)) return null;
    coordinates.push(...box);
  }
  return { ...objects, coordinates };
}

/** Looks for a cause although some of the pair matches, because its neighbours match far more. */
export function examineClosely(
  reference: Recording,
  tracker: Recording,
  yardstick: Yardstick,
  toleranceMs: number,
): string[] {
  const sample = sampleOf(reference, tracker, AROUND);
  if (sample === null) return [];
  const judge = judgeOf(reference, tracker, yardstick, toleranceMs);
  const cause = explain(sample, judge, IDENTITY_SHARE_MAX);
  return cause ? [warningOn(cause, reference, tracker)] : [];
}

function judgeOf(reference: Recording, tracker: Recording, yardstick: Yardstick, toleranceMs: number): Judge {
  const byFrame = [reference, tracker].every(({ parts }) => parts[0].k !== undefined);
  return { ...fitting(yardstick, reference), by: byFrame ? 'frame' : 'time', toleranceMs, exact: true };
}

/** Boxes whose centres are judged are looked at as boxes. */
const fitting = (yardstick: Yardstick, { format }: Recording): Yardstick =>
  format.shape === 'box' && yardstick.distance === 'euclidean' ? { distance: 'iou', cutoff: 0.5 } : yardstick;

/** A few parts of the tracker, spread over the file, and the so many of the reference to both sides of each. */
function sampleOf(
  { parts: truths }: Recording,
  { parts }: Recording,
  around: number,
  runParts = RUN_PARTS,
): FeedSample | null {
  const tracks = parts.filter(({ objects }) => objects.length > 0);
  if (tracks.length === 0 || truths.length === 0) return null;
  const stride = Math.max(runParts, Math.floor(tracks.length / RUNS));
  const chosen = new Set<number>();
  const beside = new Set<number>();
  const add = (middle: number) => {
    for (let at = middle - around; at <= middle + around; at++) if (truths[at]) beside.add(at);
  };
  for (let run = 0; run < RUNS; run++)
    for (let n = run * stride; n < Math.min(run * stride + runParts, tracks.length); n++) {
      chosen.add(n);
      add(placeAmong(truths, tracks[n].k ?? tracks[n].t!));
      // numbers that have nothing in common: the same place in the file
      if (around > 1) add(Math.round((n / tracks.length) * truths.length));
    }
  const sightings = (list: readonly Part[], indexes: Set<number>) =>
    [...indexes].sort((a, b) => a - b).map((n) => sighting(list[n], n));
  return { reference: sightings(truths, beside), tracker: sightings(tracks, chosen) };
}

/** The index of the part at a place, or of the first one after it. */
function placeAmong(parts: readonly Part[], place: number): number {
  let low = 0;
  let high = parts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((parts[middle].k ?? parts[middle].t!) < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

const sighting = ({ k, t, objects }: Part, n: number): ReceivedPart => ({
  ...(k !== undefined && { k }),
  ...(t !== undefined && { t }),
  receivedMs: n * ORDER_MS,
  objects: pack(objects),
});

/** Objects match, but lie off along their own ways, by a frame or more. */
function lagWarnings(sample: FeedSample, judge: Judge, reference: Recording, tracker: Recording): string[] {
  const offset = lagIn(sample, judge, reference, tracker);
  if (offset === null) return [];
  const byFrame = judge.by === 'frame';
  const rounded = byFrame ? framesOff(offset, judge, reference, tracker) : milli(offset);
  const option = byFrame ? `frameOffset=${-rounded}` : `timeOffset=${-rounded}`;
  const words = byFrame ? `${Math.abs(rounded)} frame${Math.abs(rounded) === 1 ? '' : 's'}` : `${Math.abs(rounded)} s`;
  return [
    `warning: the objects of ${tracker.file} match, but where those of ${reference.file} are ${words} ${offset > 0 ? 'later' : 'earlier'}; if that is not how late it is, say --tracker-option ${option}`,
  ];
}

/** Whole frames: far off, others pair than those who belong together, and the shift that agrees best is nearer. */
function framesOff(offset: number, judge: Judge, reference: Recording, tracker: Recording): number {
  const frames = Math.sign(offset) * Math.max(1, Math.round(Math.abs(offset)));
  const best = Math.abs(offset) < 1.25 ? null : bestFrameShift(sampleOf(reference, tracker, AROUND)!, judge);
  return best && Math.sign(best.shift) === Math.sign(frames) ? best.shift : frames;
}

/** By how much a tracker is off in time beyond doubt; null when it is not. */
function lagIn(sample: FeedSample, judge: Judge, reference: Recording, tracker: Recording): number | null {
  const lag = lagOf(sample, judge);
  if (lag === null || lag.truths < LAG_TRUTHS_MIN || Math.abs(lag.offset) < LAG_DOUBT * lag.gap) return null;
  if (Math.abs(lag.offset) - LAG_ERRORS * lag.error > LAG_MIN * lag.gap) return lag.offset;
  const long = lagOf(sampleOf(reference, tracker, 1, LAG_RUN_PARTS)!, judge);
  if (long === null || long.truths < LONG_TRUTHS_MIN) return null;
  // trackers smooth, and lie behind without anybody having numbered anything wrongly; none is ahead
  const min = (long.offset > 0 ? LATE_MIN : EARLY_MIN) * long.gap;
  const doubt = (LONG_ERRORS + LONG_FEW / long.truths) * long.error;
  return Math.abs(long.offset) > Math.max(min, doubt) ? long.offset : null;
}

function warningOn(
  { cause, feed, agreement, evidence }: Explanation,
  reference: Recording,
  tracker: Recording,
  besides: readonly string[] = [],
): string {
  const { file } = feed === 'reference' ? reference : tracker;
  const prefix = feed === 'reference' ? '--reference-option' : '--tracker-option';
  const { what, options } = remedyOf(cause, evidence);
  const found = `${agreement.pairs} of ${agreement.possible} objects that were looked at would match`;
  const copied = [...besides, ...options].map((option) => `${prefix} ${option}`).join(' ');
  return `warning: ${file} hardly matches as it is; ${what}, ${found}: ${copied}`;
}

interface Remedy {
  what: string;
  options: string[];
}

function remedyOf(cause: Explanation['cause'], e: Evidence): Remedy {
  const scale = `scale=${e.factor ?? `${e.x},${e.y}`}`;
  switch (cause) {
    case 'frame_offset':
      return {
        what: `with its frame numbers shifted by ${-Number(e.frames)}`,
        options: [`frameOffset=${-Number(e.frames)}`],
      };
    case 'clock_offset':
      return {
        what: `with its times shifted by ${-Number(e.seconds)} s`,
        options: [`timeOffset=${-Number(e.seconds)}`],
      };
    case 'time_unit':
      return { what: `with its times divided by ${e.factor}`, options: [`timeScale=${1 / Number(e.factor)}`] };
    case 'box_order':
      return { what: `with its boxes read as ${e.order}`, options: [`box=${e.order}`] };
    case 'axis_swapped':
      return { what: 'with its axes exchanged', options: ['swapAxes=true'] };
    case 'normalized_boxes':
      return { what: 'with its shares of the picture turned into pixels', options: [scale] };
    case 'units':
      return { what: `in another unit or scale${e.unit ? ` (${e.unit})` : ''}`, options: [scale] };
  }
}

const milli = (seconds: number) => Math.round(seconds * 1000) / 1000;
