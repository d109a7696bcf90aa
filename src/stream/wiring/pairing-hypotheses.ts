/**
 * Why the parts of two feeds do not meet, as far as their numbers, times and arrivals tell: no common key, rates that
 * differ, settings that are too short for the rate of a feed. Pure functions on a few parts of both feeds; each gives
 * the figures of its finding, or null.
 */
import type { PairingSettings } from '../../config/config.js';
import type { Role } from '../../wire/feed.js';
import type { Evidence } from '../../wire/findings.js';
import {
  type FeedSample,
  gapsOf,
  type Judge,
  median,
  placeOf,
  type ReceivedPart,
  usualGap,
} from '../../wiring/agreement.js';
import { rounded } from '../../wiring/hypotheses.js';

/** parts of each feed without which nothing is said */
const KEYED_MIN = 5;
export const TIMED_MIN = 8;
/** how much slower a feed is that is called so; beyond the largest its times are in another unit */
const SLOWER_MIN = 1.5;
const SLOWER_MAX = 300;
/** share of its intervals that are as long */
const REGULAR_SHARE = 0.8;
/** a setting that is shorter than this share of an interval is too short */
const SHORT = 0.95;
/** objects that come back, and how often all of them do, without which nothing is said of frames that take turns */
const TURNING_MIN = 3;
const RETURNS_MIN = 24;

/** Frames of one feed take turns: whoever is in one of them is not in the next, and comes back after as many. */
export function partialFrames({ reference, tracker }: FeedSample): Evidence | null {
  const frames = turnOf(reference);
  if (frames > 1) return { feed: 'reference', frames };
  const others = turnOf(tracker);
  return others > 1 ? { feed: 'tracker', frames: others } : null;
}

/** After how many frames with objects nearly everybody comes back; 1 where that differs, or nobody knows. */
function turnOf(seen: readonly ReceivedPart[]): number {
  const last = new Map<string, number>();
  const back = new Set<string>();
  const counts = new Map<number, number>();
  let returns = 0;
  for (const [frame, { objects }] of seen.filter(({ objects }) => objects.ids.length > 0).entries())
    for (const id of objects.ids) {
      const before = last.get(id);
      last.set(id, frame);
      if (before === undefined) continue;
      counts.set(frame - before, (counts.get(frame - before) ?? 0) + 1);
      back.add(id);
      returns++;
    }
  if (returns < RETURNS_MIN || back.size < TURNING_MIN) return 1;
  const [[turn]] = [...counts].sort(([a, m], [b, n]) => n - m || a - b);
  const near = (frames: number) => (frames > 1 ? (counts.get(frames) ?? 0) : 0);
  // one who crosses a border comes a frame earlier or later
  return near(turn - 1) + near(turn) + near(turn + 1) >= REGULAR_SHARE * returns ? turn : 1;
}

/** The feeds have no key in common. */
export function mixedKeys({ reference, tracker }: FeedSample): Evidence | null {
  if (Math.min(reference.length, tracker.length) < KEYED_MIN) return null;
  const keys = [onlyKey(reference), onlyKey(tracker)] as const;
  return keys[0] && keys[1] && keys[0] !== keys[1] ? { reference: keys[0], tracker: keys[1] } : null;
}

function onlyKey(seen: readonly ReceivedPart[]): 'k' | 't' | null {
  if (seen.every(({ t }) => t === undefined)) return 'k';
  return seen.every(({ k }) => k === undefined) ? 't' : null;
}

/** One feed is slower than the other, and is not held or interpolated in between. */
export function rateFault(
  sample: FeedSample,
  by: Judge['by'],
  pairing: PairingSettings,
  tracker: string,
): Evidence | null {
  if (sampledOf(pairing, tracker) !== null || isShort(sample)) return null;
  const gap = { reference: gapOf(sample.reference, by), tracker: gapOf(sample.tracker, by) };
  const feed = gap.tracker > gap.reference ? 'tracker' : 'reference';
  const other = feed === 'tracker' ? 'reference' : 'tracker';
  const ratio = gap[feed] / gap[other];
  if (!(ratio >= SLOWER_MIN && ratio <= SLOWER_MAX)) return null;
  // a feed that drops parts now and then is not slow
  const long = SLOWER_MIN * (by === 'time' ? gap[other] / 1000 : gap[other]);
  const gaps = gapsOf(sample[feed].map((one) => placeOf(one, by)));
  if (gaps.filter((one) => one >= long).length < REGULAR_SHARE * gaps.length) return null;
  const { setting, unit } = holdOf(by);
  return {
    feed,
    every: rounded(gap[feed]),
    otherEvery: rounded(gap[other]),
    unit,
    setting,
    wanted: Math.ceil(2 * gap[feed]),
    latenessMs: Math.max(pairing.latenessMs, latenessFor(sample.reference)),
  };
}

/** A feed is held or interpolated, but not for as long as its parts are apart. */
export function interpolationFault(
  sample: FeedSample,
  by: Judge['by'],
  pairing: PairingSettings,
  tracker: string,
): Evidence | null {
  const feed = sampledOf(pairing, tracker);
  if (feed === null || isShort(sample)) return null;
  const method = feed === 'reference' ? pairing.reference : 'hold';
  const gap = gapOf(sample[feed], by);
  const { setting, unit } = holdOf(by);
  if (pairing[setting] < SHORT * gap)
    return { feed, method, every: rounded(gap), unit, setting, value: pairing[setting], wanted: Math.ceil(2 * gap) };
  const arrivalMs = usualGap(sample[feed].map(({ receivedMs }) => receivedMs));
  if (method !== 'linear' || pairing.latenessMs >= SHORT * arrivalMs) return null;
  return {
    feed,
    method,
    every: rounded(arrivalMs),
    unit: 'ms',
    setting: 'latenessMs',
    value: pairing.latenessMs,
    wanted: latenessFor(sample[feed]),
  };
}

/**
 * By how much the reference arrives after the tracker, for the same moment, in milliseconds; 0 when nobody can tell.
 */
export function referenceBehindMs({ reference, tracker }: FeedSample, by: Judge['by']): number {
  const arrived = new Map(reference.map((one) => [placeOf(one, by), one.receivedMs]));
  const behind = tracker.flatMap((one) => {
    const atMs = arrived.get(placeOf(one, by));
    return atMs === undefined ? [] : [atMs - one.receivedMs];
  });
  return Math.max(0, Math.round(median(behind)));
}

/** The feed that is held or interpolated. */
export function sampledOf({ heldTrackers, reference }: PairingSettings, tracker: string): Role | null {
  if (heldTrackers.includes(tracker) || heldTrackers.includes('*')) return 'tracker';
  return reference === 'exact' ? null : 'reference';
}

const isShort = ({ reference, tracker }: FeedSample) => Math.min(reference.length, tracker.length) < TIMED_MIN;

/** Usual distance of two parts: frames, or milliseconds. */
const gapOf = (seen: readonly ReceivedPart[], by: Judge['by']) =>
  usualGap(seen.map((one) => placeOf(one, by))) * (by === 'time' ? 1000 : 1);

const holdOf = (by: Judge['by']) =>
  by === 'time'
    ? ({ setting: 'holdMaxMs', unit: 'ms' } as const)
    : ({ setting: 'holdMaxFrames', unit: 'frames' } as const);

/** How long a step must wait for the next part of a feed. */
const latenessFor = (seen: readonly ReceivedPart[]) =>
  Math.ceil(1.5 * usualGap(seen.map(({ receivedMs }) => receivedMs)));
