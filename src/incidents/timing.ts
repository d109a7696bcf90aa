/**
 * Whether the tracks are late by a little: looks at the lag come in, one every few seconds, and by how many frames more
 * than usual the tracks are late comes out. A sequential test for each side: with x frames more than usual in a look,
 * and a variance of v, a lag of d frames is exp((x d - d^2 / 2) / v) times as likely as none. One look may be wrong
 * about a few truths, so it counts only so much. What is late is so until the same test says the contrary.
 */
import type { SlightLag } from './motion.js';
import {
  AGED,
  ALIKE_LOOKS,
  BLOCK_LOOKS,
  DOUBT,
  DOUBTED_BLOCKS,
  HELD_LOOKS,
  HELD_LOOKS_MAX,
  KNOWN_LOOKS,
  LOOK_EVIDENCE_MAX,
  PACE_FACTOR,
  PEAK_FACTOR,
  PEAK_KEPT,
  TELLER_EVIDENCE,
  TIMING_FRAMES,
  TIMING_FRAMES_CALM,
  USUAL_LOOKS,
  USUAL_LOOKS_MAX,
  USUAL_PRIOR_LOOKS,
  VARIANCE_FREEDOM,
  VARIANCE_LOOKS,
  VARIANCE_PRIOR,
} from './thresholds.js';

/** What speaks for a lag to one side since it may have begun. Plain data. */
export interface LagEvidence {
  evidence: number;
  /** looks since, and the sum of what they saw more than usual */
  looks: number;
  more: number;
}

/** Plain data. */
export interface Timing {
  /** since it was last looked at */
  frames: number;
  /** frames by which the tracks are late now, with a minus early; 0 when they are not */
  late: number;
  /** frames by which the tracks are late when nothing is wrong, and from how many looks that is known */
  usual: number;
  known: number;
  /** what was seen at the last looks, oldest first: it is learned when nothing came of it */
  seen: number[];
  /** of a look; and as sums of some looks tell, which vary by more where an object lies off in look after look */
  variance: number;
  blockVariance: number;
  blocks: number;
  /** the block that is gathered: looks, and the sum of what they saw more than usual */
  blockLooks: number;
  blockMore: number;
  /** the most evidence of a lag that came to nothing */
  peak: number;
  /** truths that a look rests on, in the mean */
  tellers: number;
  /** epoch seconds of the last look; seconds from frame to frame, and those of that look if they were others; or 0 */
  time: number;
  interval: number;
  otherInterval: number;
  /** for a lag; while there is one, all that has spoken for it, and for its contrary */
  behind: LagEvidence;
  ahead: LagEvidence;
}

const NO_SIDE: LagEvidence = { evidence: 0, looks: 0, more: 0 };

export const NEW_TIMING: Timing = {
  frames: 0,
  late: 0,
  usual: 0,
  known: 0,
  seen: [],
  variance: VARIANCE_PRIOR,
  blockVariance: VARIANCE_PRIOR,
  blocks: 0,
  blockLooks: 0,
  blockMore: 0,
  peak: 0,
  tellers: 0,
  time: 0,
  interval: 0,
  otherInterval: 0,
  behind: NO_SIDE,
  ahead: NO_SIDE,
};

/** How late is too late, and how much evidence it takes: a log likelihood ratio. */
export interface TimingRules {
  lateFrames: number;
  evidence: number;
}

/**
 * One more look; frames by which the tracks are late now, with a minus early, 0 when they are not. `isHealthy`: nothing
 * is wrong with the series, so that what is seen may be learned.
 */
export function lookAt(timing: Timing, seen: SlightLag, rules: TimingRules, isHealthy: boolean): number {
  // what is wrong from the first frame on is no lag before anybody knows the usual one
  if (!isHealthy && timing.late === 0 && timing.known + timing.seen.length < USUAL_LOOKS) return 0;
  if (timing.late > 0) follow(timing, 'ahead', seen, rules);
  else if (timing.late < 0) follow(timing, 'behind', seen, rules);
  else {
    test(timing, 'behind', seen, rules);
    if (timing.late === 0) test(timing, 'ahead', seen, rules);
  }
  if (isHealthy && timing.late === 0) learn(timing, seen);
  return timing.late;
}

/**
 * Frames come at the pace they came at; false when they do not, so that this look counts for nothing. At another pace
 * the same lag is another number of frames, and varies by others: what is usual is learned anew.
 */
export function keepsPace(timing: Timing, t: number | undefined): boolean {
  const seconds = t === undefined || timing.time === 0 ? 0 : (t - timing.time) / timing.frames;
  timing.time = t ?? 0;
  if (seconds <= 0) return true;
  const { interval, otherInterval, late, usual, variance, blockVariance } = timing;
  timing.otherInterval = 0;
  if (interval === 0 || isSamePace(seconds, interval)) {
    timing.interval = seconds;
    return true;
  }
  timing.otherInterval = seconds;
  if (!isSamePace(seconds, otherInterval)) return false;
  const factor = interval / seconds;
  Object.assign(timing, {
    ...structuredClone(NEW_TIMING),
    // nothing is learned while tracks are late: whether they are as usual again is seen by what was usual
    ...{ late, usual: factor * usual, variance: factor ** 2 * variance, blockVariance: factor ** 2 * blockVariance },
    ...{ time: timing.time, interval: seconds },
  });
  return true;
}

const isSamePace = (seconds: number, others: number) =>
  Math.max(seconds, others) < PACE_FACTOR * Math.min(seconds, others);

/** Frames from a look to the next: fewer while little is known, or something speaks for a lag. */
export const lookAfter = ({ known, late, behind, ahead }: Timing): number =>
  late === 0 && known >= KNOWN_LOOKS && Math.max(behind.evidence, ahead.evidence) < DOUBT
    ? TIMING_FRAMES_CALM
    : TIMING_FRAMES;

/** Frames by which the tracks are late when nothing is wrong; null while nobody knows. */
export const usualLag = ({ usual, known, seen }: Timing): number | null =>
  known > 0 ? usual : seen.length > 0 ? seen.reduce((sum, one) => sum + one, 0) / seen.length : null;

/** What is usual, and from how many looks that is known: those held back count that came before what may be a lag. */
function usualBefore(
  { usual, known, seen }: Timing,
  { looks }: LagEvidence,
): { usual: number; looked: number; known: number } {
  const learned = Math.min(known, USUAL_LOOKS_MAX);
  const held = seen.slice(0, Math.max(0, seen.length - looks));
  const all = learned + held.length;
  const believed = all + USUAL_PRIOR_LOOKS;
  return {
    usual: (usual * learned + held.reduce((sum, one) => sum + one, 0)) / believed,
    looked: all,
    known: believed,
  };
}

/**
 * Of a look: more, where it rests on fewer truths than most. A truth that lies off does so in look after look: until
 * blocks of looks tell how much that makes, it is taken to last for some.
 */
function varianceOf({ variance, blockVariance, blocks, tellers }: Timing, lag: SlightLag['lag']): number {
  const doubt = (ALIKE_LOOKS * lag.error ** 2 * DOUBTED_BLOCKS) / (DOUBTED_BLOCKS + blocks);
  return Math.max(Math.max(variance, blockVariance) * Math.max(1, tellers / lag.tellers), doubt);
}

/** log likelihood ratio of a lag to one side, by this look, which saw so much more than usual. */
function evidenceOf(timing: Timing, more: number, lag: SlightLag['lag'], frames: number, side: 1 | -1): number {
  // a few truths hardly know their own error, and none what all have in common: looks before tell more
  const freedom = Math.max(0, lag.tellers - 1);
  const known = varianceOf(timing, lag);
  const own = (freedom * lag.error ** 2 + VARIANCE_FREEDOM * known) / (freedom + VARIANCE_FREEDOM);
  const ratio = ((side * more - frames / 2) * frames) / Math.max(known, own);
  const most = Math.min(LOOK_EVIDENCE_MAX, TELLER_EVIDENCE * lag.tellers);
  return Math.max(-most, Math.min(most, ratio));
}

function add(timing: Timing, name: 'behind' | 'ahead', ratio: number, more: number): LagEvidence {
  const { evidence, looks, more: sum } = timing[name];
  timing[name] = evidence + ratio <= 0 ? NO_SIDE : { evidence: evidence + ratio, looks: looks + 1, more: sum + more };
  return timing[name];
}

/** What is usual is known from a few looks, too: those compared with it, however many, tell no more than it allows. */
function sure({ evidence, looks, more }: LagEvidence, known: number, frames: number, variance: number): number {
  const together = looks / (1 + looks / (known + 1));
  const mean = Math.abs(more) / Math.max(1, looks);
  return Math.min(evidence, (together * (mean - frames / 2) * frames) / variance);
}

function test(timing: Timing, name: 'behind' | 'ahead', { offset, lag }: SlightLag, rules: TimingRules): void {
  const { usual, looked, known } = usualBefore(timing, timing[name]);
  const more = offset - usual;
  const ratio = evidenceOf(timing, more, lag, rules.lateFrames, name === 'behind' ? 1 : -1);
  const before = timing[name].evidence;
  const side = add(timing, name, ratio, more);
  if (side === NO_SIDE) cameToNothing(timing, Math.min(before, rules.evidence));
  if (looked < USUAL_LOOKS) return;
  if (sure(side, known, rules.lateFrames, varianceOf(timing, lag)) < asked(timing, rules)) return;
  const frames = Math.round(side.more / side.looks);
  if (Math.abs(frames) >= rules.lateFrames) set(timing, frames, name);
}

function cameToNothing(timing: Timing, evidence: number): void {
  timing.peak = Math.max(timing.peak * PEAK_KEPT, evidence);
}

/** What is asked for: more in an old series, whose false alarms count by the day, and after some for nothing. */
const asked = ({ known, peak }: Timing, { evidence }: TimingRules): number =>
  Math.max(evidence * (1 + (AGED * Math.min(known, USUAL_LOOKS_MAX)) / USUAL_LOOKS_MAX), PEAK_FACTOR * peak);

/** Whether it is over. What came for a short while may come again: more than that is asked for next. */
function follow(timing: Timing, name: 'behind' | 'ahead', { offset, lag }: SlightLag, rules: TimingRules): void {
  const more = offset - timing.usual;
  const late = name === 'ahead' ? 'behind' : 'ahead';
  const ratio = evidenceOf(timing, more, lag, rules.lateFrames, late === 'behind' ? 1 : -1);
  const { evidence, looks, more: sum } = timing[late];
  timing[late] = { evidence: evidence + Math.max(0, ratio), looks: looks + 1, more: sum + more };
  if (add(timing, name, -ratio, more).evidence < rules.evidence) return;
  cameToNothing(timing, looks > HELD_LOOKS_MAX ? rules.evidence : evidence);
  timing.late = 0;
  timing.behind = timing.ahead = NO_SIDE;
}

function set(timing: Timing, late: number, name: 'behind' | 'ahead'): void {
  // what came before it was as usual
  for (let n = timing.seen.length - timing[name].looks; n > 0; n--) keep(timing);
  timing.late = late;
  timing[name === 'behind' ? 'ahead' : 'behind'] = NO_SIDE;
  timing.seen = [];
}

/** What may be a lag is held back, for a while. */
function learn(timing: Timing, { offset, lag }: SlightLag): void {
  timing.tellers += (lag.tellers - timing.tellers) / (Math.min(timing.known, USUAL_LOOKS_MAX) + 1);
  timing.seen.push(offset);
  const held = Math.max(HELD_LOOKS, timing.behind.looks, timing.ahead.looks);
  while (timing.seen.length > Math.min(held, HELD_LOOKS_MAX)) keep(timing);
}

/** The oldest look that was held back is part of what is usual. */
function keep(timing: Timing): void {
  const more = timing.seen.shift()! - timing.usual;
  const share = 1 / (Math.min(++timing.known, USUAL_LOOKS_MAX) + VARIANCE_LOOKS);
  timing.usual += more / Math.min(timing.known, USUAL_LOOKS_MAX);
  timing.variance += share * (more * more - timing.variance);
  timing.blockMore += more;
  if (++timing.blockLooks < BLOCK_LOOKS) return;
  const spread = timing.blockMore ** 2 / timing.blockLooks;
  const blocks = Math.min(++timing.blocks, USUAL_LOOKS_MAX / BLOCK_LOOKS) + VARIANCE_LOOKS / BLOCK_LOOKS;
  timing.blockVariance += (spread - timing.blockVariance) / blocks;
  timing.blockMore = timing.blockLooks = 0;
}
