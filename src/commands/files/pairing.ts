/**
 * Two recordings side by side: what both say about one moment. By frame number when both have them, else by time; as
 * live, parts may be held or joined by straight lines where a feed has none. What hardly meets is told, with the option
 * that would bring it together.
 */

import type { Part } from '../../../adapters/kit/adapter.js';
import { type AlignedStep, alignRecordings, objectsAt } from '../../../adapters/kit/alignment.js';
import type { Recording } from '../../../adapters/kit/recording.js';
import { pack, unpack, type WireObject } from '../../wire/objects.js';
import { median, usualGap } from '../../wiring/agreement.js';
import { interpolate } from '../../wiring/resampling.js';
import type { CommandLine, Option } from '../console/options.js';

/** How moments of both files are brought together. Plain. */
export interface PairingRules {
  toleranceMs: number;
  /** what the reference says between two of its parts */
  reference: 'exact' | 'hold' | 'linear';
  /** what a tracker says between two of its parts */
  tracker: 'exact' | 'hold' | 'linear';
  holdMaxMs: number;
  holdMaxFrames: number;
  /** only moments of which the reference has a part are judged */
  annotatedOnly: boolean;
  /** of reports: between two that are farther apart an object is not judged */
  greatestGapMs: number;
  /** of two files of reports: time between two steps; null: what is usual between two reports of an object */
  gridMs: number | null;
}

/** As live, unless said otherwise. */
export const EXACT_PAIRING: PairingRules = {
  toleranceMs: 20,
  reference: 'exact',
  tracker: 'exact',
  holdMaxMs: 1000,
  holdMaxFrames: 30,
  annotatedOnly: false,
  greatestGapMs: 60_000,
  gridMs: null,
};

export const PAIRING_OPTIONS = {
  'tolerance-ms': { value: 'N', help: 'by time: frames this close are the same moment (default 20)' },
  'between-references': {
    value: 'HOW',
    choices: ['exact', 'hold', 'linear'],
    help: 'between two frames of the reference: exact (default), nothing is there; hold, repeat the last; linear, interpolate',
  },
  'between-tracks': {
    value: 'HOW',
    choices: ['exact', 'hold', 'linear'],
    help: 'the same for trackers, which may publish only changes or every n-th frame',
  },
  'hold-max-ms': { value: 'N', help: 'by time: longest time for which a frame is held or interpolated (default 1000)' },
  'hold-max-frames': {
    value: 'N',
    help: 'by frame number: most frames for which one is held or interpolated (default 30)',
  },
  'annotated-only': { help: 'judge only moments for which the reference has a frame' },
  'greatest-gap-ms': {
    value: 'N',
    help: 'reports: an object is not judged between two that are farther apart (default 60000)',
  },
  'grid-ms': {
    value: 'N',
    help: 'if both files are reports: time between two steps (default: the median of the slower file)',
  },
} as const satisfies Record<string, Option>;

/** What the command line says on pairing; null: nothing. */
export function readPairing(line: CommandLine): PairingRules | null {
  if (!Object.keys(PAIRING_OPTIONS).some((name) => line.has(name))) return null;
  const atLeast0 = (value: number) => value >= 0;
  const number = (name: string, standard: number) => line.numberWhere(name, standard, atLeast0, 'a number from 0');
  const pairing: PairingRules = {
    toleranceMs: number('tolerance-ms', EXACT_PAIRING.toleranceMs),
    reference: (line.text('between-references') ?? 'exact') as PairingRules['reference'],
    tracker: (line.text('between-tracks') ?? 'exact') as PairingRules['tracker'],
    holdMaxMs: number('hold-max-ms', EXACT_PAIRING.holdMaxMs),
    holdMaxFrames: number('hold-max-frames', EXACT_PAIRING.holdMaxFrames),
    annotatedOnly: line.has('annotated-only'),
    greatestGapMs: number('greatest-gap-ms', EXACT_PAIRING.greatestGapMs),
    gridMs: line.has('grid-ms') ? line.numberWhere('grid-ms', 1, (value) => value > 0, 'a number above 0') : null,
  };
  if (pairing.reference !== 'exact' && pairing.tracker !== 'exact')
    line.wrong('--between-references and --between-tracks exclude each other: one feed has to say when');
  return pairing;
}

/** parts of both files from which on rates are compared */
const PARTS_MIN = 4;
/** a feed is sparse whose parts are so many times as far apart as those of the other */
const SPARSE_MIN = 1.8;
/** share of the moments of the sparser file that should meet one of the other */
const MET_MIN = 0.8;

/** What both feeds say about one moment. */
export interface PairedStep {
  truths: WireObject[];
  tracks: WireObject[];
  aside: NonNullable<Part['aside']>;
}

export interface PairedRecordings {
  steps: PairedStep[];
  /** numbers of the steps, or their times in seconds */
  places: number[];
  notes: string[];
}

export function pairRecordings(reference: Recording, tracker: Recording, pairing: PairingRules): PairedRecordings {
  const steps = alignRecordings([reference, tracker], pairing.toleranceMs / 1000);
  const sampled = sampledSteps(steps, pairing);
  const kept = pairing.annotatedOnly ? sampled.filter(({ parts }) => parts[0] !== undefined) : sampled;
  return {
    steps: kept.map((step) => ({
      truths: objectsAt(step, 0),
      tracks: objectsAt(step, 1),
      aside: step.parts[0]?.aside ?? [],
    })),
    places: kept.map(({ k, t }) => k ?? t!),
    notes: [...meetingNotes(reference, tracker, kept, pairing), ...samplingNotes(reference, steps, kept, pairing)],
  };
}

/** Which moments are judged, where the reference has fewer than the tracker. */
function samplingNotes(
  { file }: Recording,
  steps: readonly AlignedStep[],
  kept: readonly AlignedStep[],
  pairing: PairingRules,
): string[] {
  const own = steps.filter(({ parts }) => parts[0] !== undefined).length;
  if (own === steps.length || steps.length === 0) return [];
  if (pairing.annotatedOnly)
    return [
      `${file}: ${kept.length} of ${steps.length} moments are judged, those that it has; the others are left out`,
    ];
  if (pairing.reference === 'exact') return [];
  const filled = kept.filter(({ parts }) => parts[0] !== undefined).length - own;
  const how = pairing.reference === 'hold' ? 'held' : 'interpolated';
  return [`${file}: ${own} of ${steps.length} moments are its own, ${filled} are ${how}, the others have no truth`];
}

/** One feed may be sampled where the other has its moments. */
function sampledSteps(steps: AlignedStep[], pairing: PairingRules): AlignedStep[] {
  const feed = pairing.reference !== 'exact' ? 0 : 1;
  const how = feed === 0 ? pairing.reference : pairing.tracker;
  if (how === 'exact' || steps.length === 0) return steps;
  const byFrame = steps[0].k !== undefined;
  const filled = filledSteps(steps, feed, how, byFrame ? pairing.holdMaxFrames : pairing.holdMaxMs / 1000);
  // a file with frame numbers has every frame, also those in which it has nothing
  return byFrame ? filled : filled.filter(({ parts }) => parts[1 - feed] !== undefined);
}

/** Where a feed has no part, what its neighbours say. */
function filledSteps(
  steps: readonly AlignedStep[],
  feed: number,
  how: 'hold' | 'linear',
  ageMax: number,
): AlignedStep[] {
  const placeOf = ({ k, t }: AlignedStep) => k ?? t!;
  const own = steps.filter(({ parts }) => parts[feed] !== undefined);
  let next = 0;
  return steps.map((step) => {
    while (next < own.length && placeOf(own[next]) <= placeOf(step)) next++;
    const before = own[next - 1];
    if (step.parts[feed] || !before || placeOf(step) - placeOf(before) > ageMax) return step;
    const after = how === 'linear' ? own[next] : undefined;
    const parts = [...step.parts];
    const part = share(placeOf(before), placeOf(step), after && placeOf(after));
    parts[feed] = between(before.parts[feed]!, after?.parts[feed], part);
    return { ...step, parts };
  });
}

const share = (from: number, at: number, to: number | undefined) => (to === undefined ? 0 : (at - from) / (to - from));

function between(before: Part, after: Part | undefined, part: number): Part {
  if (!after) return before;
  return { ...before, objects: unpack(interpolate(pack(before.objects), pack(after.objects), part, false)) };
}

/** What makes most objects missed or false although nobody meant it, and what to do about it. */
function meetingNotes(
  reference: Recording,
  tracker: Recording,
  steps: readonly AlignedStep[],
  pairing: PairingRules,
): string[] {
  if (reference.parts.length === 0 || tracker.parts.length === 0) return [];
  const sparse = sparsenessNotes(reference, tracker, pairing);
  const apart = sparse.length > 0 ? [] : distanceNotes(reference, tracker, steps);
  return [...countingNotes(reference, tracker), ...lengthNotes(reference, tracker, pairing), ...sparse, ...apart];
}

/** One file has a frame 0, which the other cannot have if it counts from 1; both formats allow either. */
function countingNotes(reference: Recording, tracker: Recording): string[] {
  const files = [reference, tracker];
  if (files.some(({ format }) => format.adapter.bases.frame !== 1 || format.given.has('frameOffset'))) return [];
  const [own, other] = files.map(({ parts }) => ({ first: parts[0].k!, last: parts.at(-1)!.k! }));
  const isBehind = other.first === 0 && (own.first === 1 || (own.first > 0 && other.last === own.last - 1));
  const isAhead = own.first === 0 && other.first > 0 && other.last === own.last + 1;
  if (!isBehind && !isAhead) return [];
  const [zero, one] = isBehind ? [tracker, reference] : [reference, tracker];
  return [
    `warning: ${zero.file} has a frame 0 and ${one.file} has none; if that one counts from 1, they are a frame apart: --tracker-option frameOffset=${isBehind ? 1 : -1}`,
  ];
}

function lengthNotes(reference: Recording, tracker: Recording, { annotatedOnly }: PairingRules): string[] {
  const last = reference.parts.at(-1)?.k;
  const end = tracker.parts.at(-1)?.k;
  if (last === undefined || end === undefined || end <= last || annotatedOnly) return [];
  return [
    `warning: ${tracker.file} continues to frame ${end}, ${reference.file} ends with frame ${last}: all that is tracked after it is false`,
  ];
}

/** One of the feeds has parts far less often, and is not asked what it says in between. */
function sparsenessNotes(reference: Recording, tracker: Recording, pairing: PairingRules): string[] {
  if (pairing.annotatedOnly || pairing.reference !== 'exact' || pairing.tracker !== 'exact') return [];
  if (Math.min(reference.parts.length, tracker.parts.length) < PARTS_MIN) return [];
  const byFrame = reference.parts[0].k !== undefined && tracker.parts[0].k !== undefined;
  const gapOf = ({ parts }: Recording) => usualGap(parts.map(({ k, t }) => (byFrame ? k : t)));
  const [own, other] = [gapOf(reference), gapOf(tracker)];
  if (!(Math.max(own, other) >= SPARSE_MIN * Math.min(own, other) && Math.min(own, other) > 0)) return [];
  const isReference = own > other;
  const gap = Math.max(own, other);
  const words = (value: number) => (byFrame ? `${value} frames` : `${seconds(value)} s`);
  const hold = byFrame ? `--hold-max-frames ${Math.ceil(gap)}` : `--hold-max-ms ${Math.ceil(gap * 1000)}`;
  const head = `warning: ${(isReference ? reference : tracker).file} has a part every ${words(gap)}, ${(isReference ? tracker : reference).file} every ${words(Math.min(own, other))}`;
  return [
    isReference
      ? `${head}: all that is tracked in between is false here; --annotated-only judges the annotated moments only, or --between-references linear ${hold}`
      : `${head}: everything is missed in between; --between-tracks hold ${hold}, or linear`,
  ];
}

/** By time, moments that lie farther apart than the tolerance never meet. */
function distanceNotes(reference: Recording, tracker: Recording, steps: readonly AlignedStep[]): string[] {
  if (steps.length === 0 || steps[0].k !== undefined) return [];
  const met = steps.filter(({ parts }) => parts.every((part) => part !== undefined)).length;
  const fewer = Math.min(reference.parts.length, tracker.parts.length);
  if (met >= MET_MIN * fewer) return [];
  const head = `warning: ${met} of ${fewer} moments of ${tracker.file} have one of ${reference.file} beside them, and the others are missed and false`;
  const times = reference.parts.map(({ t }) => t!);
  const apart = tracker.parts.map(({ t }) => t! - nearestTo(times, t!));
  const usual = median(apart);
  const gap = usualGap(times);
  if (Math.abs(usual) > gap && gap > 0)
    return [
      `${head}; the files are about ${seconds(times[0] - tracker.parts[0].t!)} s apart: --tracker-option timeOffset=${seconds(times[0] - tracker.parts[0].t!)}`,
    ];
  const farthest = Math.ceil(Math.max(...apart.map((one) => Math.abs(one) * 1000)) + 1e-6);
  const steady = median(apart.map((one) => Math.abs(one - usual))) < gap / 10;
  const offset = steady ? `, or, if its clock is off, --tracker-option timeOffset=${seconds(-usual)}` : '';
  return [`${head}; they are up to ${farthest} ms apart: --tolerance-ms ${farthest}${offset}`];
}

function nearestTo(times: readonly number[], wanted: number): number {
  let low = 0;
  let high = times.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low > 0 && wanted - times[low - 1] < times[low] - wanted ? times[low - 1] : times[low];
}

const seconds = (value: number) => Math.round(value * 1000) / 1000;
