/**
 * Where only objects of one class may be pairs: whether those that lie together have the same class at all. Counted by
 * class of the truth, so that one name that differs is found among many that agree.
 */
import type { Evidence } from '../../wire/findings.js';
import type { PackedList } from '../../wire/objects.js';
import { asItIs, type Judge, pairUp, readAll, TRACKS_MAX, TRUTHS_MAX } from '../../wiring/agreement.js';

/** Of the truths of one class that were close to a track: how many, how many of one class, and the last other one. */
interface ClassCount {
  truthClass: string;
  close: number;
  alike: number;
  trackClass: string;
}

/** Plain data. */
export type ClassCounts = ClassCount[];

/** close pairs without which nothing is said, and beyond which older ones count half */
const ENOUGH = 20;
const REMEMBERED = 400;
/** share of close pairs that have one class: below the first it is said, from the second on it is over */
const NEVER_SHARE = 0.02;

/** Adds a step; classes beyond `namesMax` are not looked at. */
export function countClasses(
  counts: ClassCounts,
  truths: PackedList,
  tracks: PackedList,
  judge: Judge,
  namesMax: number,
): ClassCounts {
  if (truths.stride !== tracks.stride) return counts;
  const [a, b] = [readAll(truths, TRUTHS_MAX, asItIs), readAll(tracks, TRACKS_MAX, asItIs)];
  for (const { i, j } of pairUp(a, b, truths.stride, judge)) {
    const [truthClass, trackClass] = [truths.classes?.[i] ?? '', tracks.classes?.[j] ?? ''];
    let count = counts.find((one) => one.truthClass === truthClass);
    if (!count) {
      if (counts.length >= namesMax) continue;
      count = { truthClass, close: 0, alike: 0, trackClass };
      counts.push(count);
    }
    count.close++;
    if (truthClass === trackClass) count.alike++;
    else count.trackClass = trackClass;
    if (count.close < REMEMBERED) continue;
    count.close >>= 1;
    count.alike >>= 1;
  }
  return counts;
}

/** The class whose truths lie close to tracks of other classes most often; null while there is none. */
export function unlikeClass(counts: ClassCounts): Evidence | null {
  const unlike = counts.filter(({ close, alike }) => close >= ENOUGH && alike <= NEVER_SHARE * close);
  const worst = unlike.reduce<ClassCount | null>((most, one) => (most && most.close >= one.close ? most : one), null);
  return worst && { ...worst };
}
