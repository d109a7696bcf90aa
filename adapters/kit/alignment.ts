/**
 * Recordings side by side: what each of several files has at the same moment. By frame number where all of them have
 * numbers, else by time. Files that count frames or pixels from different numbers are refused until an option brings
 * them in line.
 */

import { InputError, type Problem } from '../../src/metric/input-error.js';
import type { WireObject } from '../../src/wire/objects.js';
import type { Part } from './adapter.js';
import type { Recording } from './recording.js';

/** Longest span of frames that is laid out: a stray number must not ask for a billion empty ones. */
const FRAMES_MAX = 1_000_000;

/** One step of several recordings: what each has there; absent where it has nothing. */
export interface AlignedStep {
  k?: number;
  t?: number;
  parts: Array<Part | undefined>;
}

/**
 * Lays recordings side by side: by frame number when all have one, with every number from the first to the last; else
 * by time, where times within the tolerance are one step. Throws InputError when they do not fit together.
 */
export function alignRecordings(recordings: readonly Recording[], toleranceSeconds = 0.02): AlignedStep[] {
  const problems = baseProblems(recordings);
  const all = recordings.flatMap(({ parts }) => parts);
  const byFrame = all.every(({ k }) => k !== undefined);
  if (!byFrame && !all.every(({ t }) => t !== undefined))
    for (const { file, parts } of recordings) problems.push(...kindProblem(file, parts));
  if (problems.length > 0) throw new InputError(problems);
  return byFrame ? byNumber(recordings) : byTime(recordings, toleranceSeconds);
}

/** A file that counts from 0 beside one that counts from 1 is a whole frame, or pixel, off. */
function baseProblems(recordings: readonly Recording[]): Problem[] {
  return (['frame', 'pixel'] as const).flatMap((what) => {
    const option = `${what}Offset`;
    const counting = recordings.filter(({ format }) => format.adapter.bases[what] !== null);
    const bases = new Set(counting.map(({ format }) => format.adapter.bases[what]));
    if (bases.size < 2 || counting.some(({ format }) => format.given.has(option))) return [];
    return counting.slice(0, 2).map(({ file, format: { adapter } }) => ({
      path: file,
      value: adapter.name,
      message: `${what}s count from ${adapter.bases[what]} in this format and differently in another; bring them in line with option ${option} (or say ${option}=0)`,
    }));
  });
}

function kindProblem(file: string, parts: readonly Part[]): Problem[] {
  const numbered = parts.filter(({ k }) => k !== undefined).length;
  const timed = parts.filter(({ t }) => t !== undefined).length;
  const message = `has ${numbered} frames with a number and ${timed} with a time; all files need numbers, or all need times`;
  return parts.length === 0 ? [] : [{ path: file, value: parts.length, message }];
}

function byNumber(recordings: readonly Recording[]): AlignedStep[] {
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const { parts, format } of recordings) {
    const base = format.adapter.bases.frame;
    if (parts.length === 0) continue;
    const begin = base === null ? parts[0].k! : base + ((format.values.frameOffset as number | undefined) ?? 0);
    first = Math.min(first, parts[0].k!, Math.max(begin, 0));
    last = Math.max(last, parts[parts.length - 1].k!);
  }
  if (last < first) return [];
  if (recordings.some(({ format }) => format.adapter.isSparse)) return bySameNumber(recordings);
  if (last - first >= FRAMES_MAX) {
    const message = `frames ${first} to ${last} are more than the ${FRAMES_MAX} that are taken; is a frame number wrong?`;
    throw new InputError([{ path: recordings[0].file, value: last - first + 1, message }]);
  }
  const maps = recordings.map(({ parts }) => new Map(parts.map((part) => [part.k!, part])));
  return Array.from({ length: last - first + 1 }, (_, n) => ({
    k: first + n,
    parts: maps.map((frames) => frames.get(first + n)),
  }));
}

/** Only the numbers that are there: they are keys, and those between them mean nothing. */
function bySameNumber(recordings: readonly Recording[]): AlignedStep[] {
  const maps = recordings.map(({ parts }) => new Map(parts.map((part) => [part.k!, part])));
  const numbers = [...new Set(maps.flatMap((frames) => [...frames.keys()]))].sort((a, b) => a - b);
  return numbers.map((k) => ({ k, parts: maps.map((frames) => frames.get(k)) }));
}

function byTime(recordings: readonly Recording[], toleranceSeconds: number): AlignedStep[] {
  const times = recordings.flatMap(({ parts }, feed) => parts.map((part) => ({ t: part.t!, feed, part })));
  times.sort((a, b) => a.t - b.t || a.feed - b.feed);
  const steps: AlignedStep[] = [];
  for (const { t, feed, part } of times) {
    const step = steps.at(-1);
    if (step && t - step.t! <= toleranceSeconds && step.parts[feed] === undefined) step.parts[feed] = part;
    else {
      const parts = new Array<Part | undefined>(recordings.length).fill(undefined);
      parts[feed] = part;
      steps.push({ t, parts });
    }
  }
  return steps;
}

/** What a feed shows at a step. */
export const objectsAt = ({ parts }: AlignedStep, feed: number): WireObject[] => parts[feed]?.objects ?? [];
