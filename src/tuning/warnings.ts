/** What a reader should know before trusting a proposal: samples that say too little, choices that fit them badly. */
import type { DistanceName } from '../metric/params.js';
import type { Boundaries } from './intervals.js';
import type { Pairs } from './pairs.js';
import { inUnit } from './words.js';

/** Fewer pairs than this are too few to trust a histogram of them. */
const PAIRS_MIN = 200;
/** A plateau of overlaps that begins beyond this says that correct pairs hardly overlap. */
const COARSE_IOU = 0.6;

interface Proposed {
  distance: DistanceName;
  reach: number;
  pairs: Pairs;
  boundaries: Boundaries | null;
  /** of the proposal */
  cutoff: number | undefined;
  /**
   * usual distance between two truths; null where it says nothing. Pairs farther apart than that are most likely none:
   * the feeds do not fit together
   */
  spacing: number | null;
}

/** `loose`: trackers whose correct pairs cannot be told from wrong ones. */
export function warningsOn(
  { distance, reach, pairs: { distances, trackers }, boundaries, cutoff, spacing }: Proposed,
  loose: readonly string[],
): string[] {
  const warnings: string[] = [];
  if (distances.length === 0 && trackers.some(({ tracks }) => tracks > 0))
    warnings.push(
      `No pair is closer than ${inUnit(reach, distance)}: check that reference and tracker show the same sequence and use the same unit and frame numbers, or raise the reach.`,
    );
  else if (distances.length > 0 && distances.length < PAIRS_MIN)
    warnings.push(`Only ${distances.length} pairs: too few to trust the intervals; add samples.`);
  for (const { tracker, tracks } of trackers.filter((one) => one.distances.length === 0))
    if (tracks === 0) warnings.push(`${tracker} has no object in any frame.`);
    else if (distances.length > 0)
      warnings.push(`${tracker} has no pair closer than ${inUnit(reach, distance)}: does it show another sequence?`);
  for (const tracker of loose)
    warnings.push(
      `${tracker} is too loose to tell anything: the distances of its pairs do not thin out up to ${inUnit(reach, distance)}, so correct pairs cannot be told from wrong ones. Leave it out, or give the plateau.`,
    );
  if (boundaries === null && distances.length > 0)
    warnings.push(
      'No plateau was found: the increments do not fall below the growth share. Add a better tracker, raise the reach, or give the plateau or the cut-off yourself.',
    );
  if (boundaries && boundaries.plateauTo >= reach && distance !== 'iou')
    warnings.push(
      `The plateau extends to the reach of ${inUnit(reach, distance)}: raise the reach to see where it ends.`,
    );
  if (boundaries && distance === 'iou' && boundaries.plateauFrom > COARSE_IOU)
    warnings.push(
      `The plateau starts only at ${inUnit(boundaries.plateauFrom, distance)}: boxes that hardly overlap would count as correct pairs. Look at the pairs in the report before you trust this, or use a better tracker as a sample.`,
    );
  if (boundaries && cutoff !== undefined && !(cutoff >= boundaries.plateauFrom && cutoff <= boundaries.plateauTo))
    warnings.push(
      `The cut-off of ${inUnit(cutoff, distance)} is outside the plateau (${inUnit(boundaries.plateauFrom, distance)} to ${inUnit(boundaries.plateauTo, distance)}).`,
    );
  if (boundaries && spacing !== null && boundaries.plateauFrom > spacing)
    warnings.push(
      `The plateau starts at ${inUnit(boundaries.plateauFrom, distance)}, but truths are usually only ${inUnit(spacing, distance)} apart: a track could belong to any of them. Check that both feeds use the same unit and coordinates; otherwise give a smaller cut-off.`,
    );
  return warnings;
}
