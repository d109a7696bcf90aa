/**
 * Whether the tracks are late by a little: looks at the lag come in, one every few seconds, and by how many frames more
 * than usual the tracks are late comes out. Two tests: two looks that can hardly be chance, and a running mean of many
 * that is farther from the usual than that mean ever strays, which finds a single frame among slow objects. How far it
 * strays is learned from itself: an object that lies off does so in look after look, so looks are not independent.
 */
import { rareErrors } from '../wiring/lag.js';
import type { SlightLag } from './motion.js';
import {
  HELD_LOOKS,
  LAG_STRAYS,
  MEAN_LOOKS,
  STRAY_LOOKS,
  STRAY_LOOKS_MAX,
  TELLERS_FEW,
  TIMING_LOOKS,
  USUAL_LOOKS,
  USUAL_LOOKS_MAX,
} from './thresholds.js';

/** Plain data. */
export interface Timing {
  /** since it was last looked at */
  frames: number;
  /** in a row that agreed, and on how many frames */
  looks: number;
  late: number;
  /** frames by which the tracks are late when nothing is wrong, and from how many looks that is known */
  usual: number;
  known: number;
  /** what was seen at the last looks, oldest first: it is learned when nothing came of it */
  seen: number[];
  /** of the look before this one: offset, squared error and degrees of freedom */
  before: [offset: number, square: number, freedom: number] | null;
  /** the running mean; what is usual for it, and its variance, from so many looks */
  mean: number;
  meanUsual: number;
  meanVariance: number;
  meanKnown: number;
}

export const NEW_TIMING: Timing = {
  frames: 0,
  looks: 0,
  late: 0,
  usual: 0,
  known: 0,
  seen: [],
  before: null,
  mean: 0,
  meanUsual: 0,
  meanVariance: 0,
  meanKnown: 0,
};

/**
 * One more look; frames by which the tracks are late now, with a minus early, 0 when they are not; null while that is
 * not certain. `isHealthy`: nothing is wrong with the series, so that what is seen may be learned.
 */
export function lookAt(timing: Timing, seen: SlightLag, least: number, isHealthy: boolean): number | null {
  const frames = Math.round(atOnce(timing, seen) || atLength(timing, seen.offset));
  const late = Math.abs(frames) >= least ? frames : 0;
  if (isHealthy && late === 0) learn(timing, seen.offset);
  timing.looks = late === timing.late ? timing.looks + 1 : 1;
  timing.late = late;
  return timing.looks < (seen.lag.tellers < TELLERS_FEW ? TIMING_LOOKS : 1) ? null : late;
}

/** By this look and the one before it; 0 when it may be chance. */
function atOnce(timing: Timing, { offset, lag, fits }: SlightLag): number {
  const { before, known, usual } = timing;
  const square = lag.error ** 2;
  timing.before = [offset, square, lag.tellers - 1];
  if (!before || known < USUAL_LOOKS) return 0;
  const more = (offset + before[0]) / 2 - usual;
  const variance = (square + before[1]) / 2;
  // the usual is known from a few looks, too
  const error = Math.sqrt(variance * (1 / 2 + 1 / Math.min(known, USUAL_LOOKS_MAX)));
  // what is late stays so until it is nearer to the usual than to a frame
  const chance = timing.late === 0 ? rareErrors(lag.tellers - 1 + before[2]) * error : 0;
  const isSure = Math.abs(more) >= Math.max(0.5, chance);
  return isSure && fits(Math.round(more)) ? more : 0;
}

/** By the running mean. */
function atLength(timing: Timing, offset: number): number {
  timing.mean += (offset - timing.mean) / Math.min(timing.meanKnown + 1, MEAN_LOOKS);
  if (timing.meanKnown < STRAY_LOOKS) return 0;
  const more = timing.mean - timing.meanUsual;
  const strays = LAG_STRAYS * Math.sqrt(timing.meanVariance);
  return Math.abs(more) > Math.max(0.5, timing.late === 0 ? strays : 0) ? more : 0;
}

function learn(timing: Timing, offset: number): void {
  timing.seen.push(offset);
  if (timing.seen.length > HELD_LOOKS)
    timing.usual += (timing.seen.shift()! - timing.usual) / Math.min(++timing.known, USUAL_LOOKS_MAX);
  const share = 1 / Math.min(++timing.meanKnown, STRAY_LOOKS_MAX);
  const more = timing.mean - timing.meanUsual;
  timing.meanUsual += share * more;
  timing.meanVariance += share * (more * (timing.mean - timing.meanUsual) - timing.meanVariance);
}
