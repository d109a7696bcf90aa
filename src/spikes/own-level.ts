/**
 * The error level of one truth, as a filter knows it: every few seconds the mean of its log errors is compared with
 * what is believed, and taken up by how sure that is. A shift of all errors is taken up too, little by little: how much
 * of it a level has not taken up yet is what still shows, and what a test may count.
 */

/** small shifts that are looked for */
export const SHIFTS_WATCHED = 2;
/** seconds of errors that make a mean */
export const MEAN_SECONDS = 3;

export interface OwnLevel {
  /** log errors that are gathered: sum, and seconds */
  sum: number;
  seconds: number;
  /** means so far, and the last two of them */
  means: number;
  lastMean: number;
  meanBefore: number;
  /** what is believed of the level, and the variance of that */
  believed: number;
  doubt: number;
  /** of each shift, counted from this beginning: the share of it that the level has not taken up */
  began0: number;
  shows0: number;
  began1: number;
  shows1: number;
}

export const OWN_LEVEL: OwnLevel = {
  sum: 0,
  seconds: 0,
  means: 0,
  lastMean: 0,
  meanBefore: 0,
  believed: 0,
  doubt: 0,
  began0: 0,
  shows0: 1,
  began1: 0,
  shows1: 1,
};

/** The share of shift `n`, if it began the `began`-th time that it might have, that the level has not taken up. */
export function showing(own: OwnLevel, n: number, began: number): number {
  if (n === 0) return own.began0 === began ? own.shows0 : 1;
  return own.began1 === began ? own.shows1 : 1;
}

/** The mean is taken up by `gain`; shifts have begun so many times. */
export function takeUp(own: OwnLevel, gain: number, began0: number, began1: number): void {
  const mean = own.sum / own.seconds;
  own.shows0 = showing(own, 0, began0) * (1 - gain);
  own.shows1 = showing(own, 1, began1) * (1 - gain);
  own.began0 = began0;
  own.began1 = began1;
  own.believed += gain * (mean - own.believed);
  own.doubt *= 1 - gain;
  own.meanBefore = own.lastMean;
  own.lastMean = mean;
  own.means++;
  own.sum = own.seconds = 0;
}
