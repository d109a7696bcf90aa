/**
 * What is wrong with two files that hardly match although they show the same scene: the frames of one are numbered
 * otherwise, its boxes are in another order, its coordinates in another unit. The hypotheses are those of live streams
 * (wiring/); the remedy is an option to copy. Looks at a few parts of both files.
 */

import type { Part } from '../../../adapters/kit/adapter.js';
import type { Recording } from '../../../adapters/kit/recording.js';
import type { DistanceName } from '../../metric/params.js';
import type { Evidence } from '../../wire/findings.js';
import { pack } from '../../wire/objects.js';
import { agreementAsPaired, type Judge, type ReceivedPart, type Sample } from '../../wiring/agreement.js';
import { type Explanation, explain } from '../../wiring/hypotheses.js';
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
/** part of a second between two parts in the order of a file, where nothing else is known */
const ORDER_MS = 40;

/** Warnings on a pair of files; none when they match, or when nothing explains why they do not. */
export function examine(reference: Recording, tracker: Recording, yardstick: Yardstick, toleranceMs: number): string[] {
  const near = sampleOf(reference, tracker, 1);
  if (near === null) return [];
  const judge = judgeOf(reference, tracker, yardstick, toleranceMs);
  const paired = agreementAsPaired(near, judge);
  if (paired.share > WEAK_SHARE) return lagWarnings(near, judge, reference, tracker);
  const cause = explain(sampleOf(reference, tracker, AROUND)!, judge);
  if (cause) return [warningOn(cause, reference, tracker)];
  if (paired.possible < ENOUGH_PAIRS || paired.pairs > NOTHING_SHARE * paired.possible) return [];
  return [
    `warning: none of ${paired.possible} objects of ${tracker.file} that were looked at is closer than the cut-off ${judge.cutoff} to one of ${reference.file}; check that both show the same scene in the same coordinates`,
  ];
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
function sampleOf({ parts: truths }: Recording, { parts }: Recording, around: number): Sample | null {
  const tracks = parts.filter(({ objects }) => objects.length > 0);
  if (tracks.length === 0 || truths.length === 0) return null;
  const stride = Math.max(RUN_PARTS, Math.floor(tracks.length / RUNS));
  const chosen = new Set<number>();
  const beside = new Set<number>();
  const add = (middle: number) => {
    for (let at = middle - around; at <= middle + around; at++) if (truths[at]) beside.add(at);
  };
  for (let run = 0; run < RUNS; run++)
    for (let n = run * stride; n < Math.min(run * stride + RUN_PARTS, tracks.length); n++) {
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
function lagWarnings(sample: Sample, judge: Judge, reference: Recording, tracker: Recording): string[] {
  const lag = lagOf(sample, judge);
  if (lag === null || lag.truths < LAG_TRUTHS_MIN) return [];
  const { offset, error, gap } = lag;
  if (!(Math.abs(offset) - LAG_ERRORS * error > LAG_MIN * gap)) return [];
  const byFrame = judge.by === 'frame';
  const rounded = byFrame ? Math.sign(offset) * Math.max(1, Math.round(Math.abs(offset))) : milli(offset);
  const option = byFrame ? `frameOffset=${-rounded}` : `timeOffset=${-rounded}`;
  const words = byFrame ? `${Math.abs(rounded)} frames` : `${Math.abs(rounded)} s`;
  return [
    `warning: the objects of ${tracker.file} match, but where those of ${reference.file} are ${words} ${offset > 0 ? 'later' : 'earlier'}; if that is not how late it is, say --tracker-option ${option}`,
  ];
}

function warningOn(
  { cause, feed, agreement, evidence }: Explanation,
  reference: Recording,
  tracker: Recording,
): string {
  const { file } = feed === 'reference' ? reference : tracker;
  const prefix = feed === 'reference' ? '--reference-option' : '--tracker-option';
  const { what, options } = remedyOf(cause, evidence);
  const found = `${agreement.pairs} of ${agreement.possible} objects that were looked at would match`;
  const copied = options.map((option) => `${prefix} ${option}`).join(' ');
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
    default:
      return { what: `in another unit or scale${e.unit ? ` (${e.unit})` : ''}`, options: [scale] };
  }
}

const milli = (seconds: number) => Math.round(seconds * 1000) / 1000;
