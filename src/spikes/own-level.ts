/**
 * The error level of one truth, as a filter knows it: every few seconds the mean of its log errors is compared with
 * what is believed, and taken up by how sure that is. A shift of all errors is taken up too, little by little: how much
 * of it a level has not taken up yet is what still shows, and what a test may count.
 */

/** small shifts that are looked for */
export const SHIFTS_WATCHED = 2;
/** seconds of errors that make a mean */
export const MEAN_SECONDS = 3;

/** Numbers in the places of OWN; a plain list, because there is one for each truth, and it is read with every frame. */
export type OwnLevel = number[];

export const OWN = {
  /** log errors that are gathered: sum, and seconds */
  sum: 0,
  seconds: 1,
  /** means so far, and the last two of them */
  means: 2,
  lastMean: 3,
  meanBefore: 4,
  /** what is believed of the level, and the variance of that */
  believed: 5,
  doubt: 6,
  /** of each shift, counted from this beginning: the share of it that the level has not taken up */
  began0: 7,
  shows0: 8,
  began1: 9,
  shows1: 10,
} as const;

/** The share of shift `n`, if it began the `began`-th time that it might have, that the level has not taken up. */
export function showing(own: OwnLevel, n: number, began: number): number {
  if (n === 0) return own[OWN.began0] === began ? own[OWN.shows0] : 1;
  return own[OWN.began1] === began ? own[OWN.shows1] : 1;
}

/** The mean is taken up by `gain`; shifts have begun so many times. */
export function takeUp(own: OwnLevel, gain: number, began0: number, began1: number): void {
  const mean = own[OWN.sum] / own[OWN.seconds];
  own[OWN.shows0] = showing(own, 0, began0) * (1 - gain);
  own[OWN.shows1] = showing(own, 1, began1) * (1 - gain);
  own[OWN.began0] = began0;
  own[OWN.began1] = began1;
  own[OWN.believed] += gain * (mean - own[OWN.believed]);
  own[OWN.doubt] *= 1 - gain;
  own[OWN.meanBefore] = own[OWN.lastMean];
  own[OWN.lastMean] = mean;
  own[OWN.means]++;
  own[OWN.sum] = own[OWN.seconds] = 0;
}
