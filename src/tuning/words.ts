/**
 * What a set of parameters means, in plain words: what will count and what will not, from how many frames on, how
 * close. Every number follows from the metric: an instance without a partner costs c^p / 2, a pair d^p, a switch
 * gamma^p, and the cheapest way to explain a scene is the one that is charged.
 */

import { type DistanceName, type Params, windowWarning } from '../metric/params.js';

/** What else is known when parameters are explained. */
export interface TuningContext {
  /** of the sliding window they are meant for */
  windowFrames: number;
  /** a usual distance of a right pair */
  usualError: number;
  /** the cut-off of two tracks that short changes are about, when the switch penalty was chosen so */
  shortSwitchDistance?: number;
}

const UNITS: Record<DistanceName, string> = {
  iou: '',
  hausdorff: ' px',
  wasserstein: ' px',
  euclidean: '',
  geodesic: ' m',
};

/** A distance with its unit, where the unit is known. */
export function inUnit(value: number, distance: DistanceName): string {
  return `${digits(value)}${UNITS[distance]}`;
}

/** A number with at most four digits that count. */
export function digits(value: number): string {
  return String(Number(value.toPrecision(4)));
}

/** What one frame of a right pair is worth: what it would cost to leave both ends alone, less what the pair costs. */
function worth({ cutoff, exponent }: Params, error: number): number {
  return cutoff ** exponent - error ** exponent;
}

/**
 * Frames that a truth must be with its new track, and must have been with the old one, for the change to be a switch:
 * the smallest n with n * (c^p - d^p) > gamma^p.
 */
export function lastingFrames(params: Params, error: number): number {
  return moreThan(params.switchPenalty ** params.exponent / worth(params, error));
}

/** The same for a change there and back, which is two switches, while the first track is away. */
export function interimFrames(params: Params, error: number): number {
  return moreThan((2 * params.switchPenalty ** params.exponent) / worth(params, error));
}

/** The smallest whole number above a value; what is a whole number but for rounding is taken as one. */
function moreThan(value: number): number {
  const whole = Math.round(value);
  return (Math.abs(value - whole) < 1e-9 * Math.max(1, whole) ? whole : Math.floor(value)) + 1;
}

/** The farthest at which one single frame with another track is charged as a switch there and back; 0: never. */
export function interimDistance({ cutoff, exponent, switchPenalty }: Params): number {
  return Math.max(0, cutoff ** exponent - 2 * switchPenalty ** exponent) ** (1 / exponent);
}

/** Sentences, in the order: pairs, errors, switches, window. */
export function explain(params: Params, surroundings: TuningContext): string[] {
  return [...pairWords(params), ...switchWords(params, surroundings), ...windowWords(params, surroundings)];
}

function pairWords({ distance, cutoff, exponent, missShare = 0.5 }: Params): string[] {
  const admissible = cutoff * 2 ** (-1 / exponent);
  const words = [
    `A truth and a track ${inUnit(cutoff, distance)} apart or more are never paired: the truth is missed and the track is false.`,
    `An estimate up to ${inUnit(admissible, distance)} off is better than none; from there to ${inUnit(cutoff, distance)} it is still a pair, but it costs more than saying nothing would.`,
  ];
  if (missShare !== 0.5)
    words.push(
      `A miss costs ${digits(missShare / (1 - missShare))} times as much as a false object; this does not affect which pairs are formed.`,
    );
  return words;
}

function switchWords(params: Params, { usualError }: TuningContext): string[] {
  const { distance, cutoff, exponent, switchPenalty } = params;
  if (switchPenalty === 0)
    return ['Identities do not count: every frame is judged on its own, and changes of identity cost nothing.'];
  const price = switchPenalty ** exponent / (cutoff ** exponent / 2);
  const error = Math.min(usualError, cutoff / 2);
  const lasting = lastingFrames(params, error);
  const words = [
    `A switch costs as much as ${times(price)}.`,
    lasting === 1
      ? `A lasting change (one track ends, another continues) counts from the first frame on, at your usual error of ${inUnit(error, distance)}.`
      : `A lasting change (one track ends, another continues) counts as a switch when the truth is ${lasting} frames or more with each of the two, at your usual error of ${inUnit(error, distance)} (${lastingFrames(params, 0)} or more if there were no error). With fewer, those frames count as missed and false instead.`,
  ];
  const reach = interimDistance(params);
  const interim = interimFrames(params, error);
  if (reach > 0)
    words.push(
      `A change for a single frame, to a substitute track and back, counts (as two switches) if the substitute is closer than ${inUnit(reach, distance)}; farther off, that frame counts as a miss and a false object.`,
    );
  else
    words.push(
      `A change to another track and back, while the first is absent, counts (as two switches) from ${interim} frames on; a shorter one counts only as missed and false frames.`,
    );
  words.push('A gap in a track that then continues under the same id is never a switch: it costs only its misses.');
  return words;
}

function times(price: number): string {
  return `${digits(price)} ${price === 1 ? 'miss' : 'misses'}`;
}

function windowWords(params: Params, { windowFrames, usualError }: TuningContext): string[] {
  if (params.switchPenalty === 0) return [];
  const warning = windowWarning(params, windowFrames);
  if (warning) return [`Too short a window: ${warning}.`];
  const needed = 2 * lastingFrames(params, Math.min(usualError, params.cutoff / 2));
  if (windowFrames < needed)
    return [
      `Too short a window: at your usual error a switch shows only where ${needed} frames are in view, and the window has ${windowFrames}; use ${needed} or more.`,
    ];
  return [
    `A window of ${windowFrames} frames can show such switches: it holds the ${needed} frames needed to see one${needed <= 2 ? '' : ', half of them on each side'}.`,
  ];
}
