/**
 * Trackers that match far less than their neighbours: than the others on the same sequence, or than themselves on the
 * other sequences. Either makes somebody look for a cause; without one, a weak tracker is not called wrong unless both
 * sides, or several neighbours, say so.
 */

import { percent } from '../../console/numbers.js';

/** A tracker on a sequence, and how much of the truth it matches. */
export interface Matched {
  sequence: string;
  tracker: string;
  count: { proper: number; missed: number; false: number };
  /** what is said about it already */
  warnings: readonly string[];
  /** looks for a cause: warnings with a remedy */
  doubts: () => string[];
}

/** of what is usual next to it */
const FAR_LESS = 0.5;
/** of the truths: whoever matches less is not judging the same scene */
const HARDLY = 0.05;
/** true of trackers that match, too: how much is judged, not why nothing matches */
const BESIDE = / (the benchmark|continues to frame|has no classes) /;
/** the doctor of files has spoken */
const DOCTORED = / (hardly matches|match, but|closer than the cut-off) /;
/** truths on which a share rests */
const TRUTHS_MIN = 20;
/** sequences, or trackers, that say what is usual by themselves */
const NEIGHBOURS_MIN = 2;

/** The warnings on each, in the order given; none where it is like its neighbours. */
export function neighbourWarnings(all: readonly Matched[]): string[][] {
  return all.map((one) => {
    const share = shareOf(one);
    if (share !== null && share < HARDLY && one.count.false > TRUTHS_MIN && !isExplained(one)) {
      const doubts = one.doubts();
      return doubts.length > 0 ? doubts : [nothingOn(one, share)];
    }
    if (share === null || one.warnings.some((warning) => DOCTORED.test(warning))) return [];
    const others = sharesOf(
      all.filter(({ sequence, tracker }) => sequence === one.sequence && tracker !== one.tracker),
    );
    const own = sharesOf(all.filter(({ sequence, tracker }) => sequence !== one.sequence && tracker === one.tracker));
    const isBelow = (shares: number[]) => shares.length > 0 && share < FAR_LESS * median(shares);
    if (!isBelow(others) && !isBelow(own)) return [];
    const doubts = one.doubts();
    if (doubts.length > 0) return doubts;
    const isTold = [others, own].every((shares) => shares.length === 0 || isBelow(shares));
    return isTold && others.length + own.length >= NEIGHBOURS_MIN ? [sentenceOn(one, share, others, own)] : [];
  });
}

const isExplained = ({ warnings }: Matched) => warnings.some((warning) => !BESIDE.test(warning));

const nothingOn = ({ sequence, tracker }: Matched, share: number): string =>
  `warning: ${tracker} matches ${percent(share)} of the truths of ${sequence}, and nothing explains it; check that it is the file of this sequence, and that its columns are in the order of its format`;

function sentenceOn({ sequence, tracker }: Matched, share: number, others: number[], own: number[]): string {
  const usual = [
    ...(others.length > 0 ? [`other trackers ${percent(median(others))} of them`] : []),
    ...(own.length > 0 ? [`${tracker} ${percent(median(own))} on its other sequences`] : []),
  ];
  return `warning: ${tracker} matches ${percent(share)} of the truths of ${sequence}, ${usual.join(', and ')}; no offset, order of boxes or unit explains it: check that it is the file of this sequence`;
}

/** The share of truths that are matched; null where there are too few. */
function shareOf({ count: { proper, missed } }: Matched): number | null {
  return proper + missed < TRUTHS_MIN ? null : proper / (proper + missed);
}

const sharesOf = (list: readonly Matched[]): number[] => list.map(shareOf).filter((share) => share !== null);

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}
