/**
 * The unit of the engines. Inside, benefits are whole numbers of quanta, 2^-36 of c^p: sums and comparisons are exact, and the same frames give the
 * same assignment whatever was solved before. A half-switch costs 64 quanta more than it should, about 1e-9 of c^p, so that among
 * equal optima the one with the fewest switches wins. Reported costs are computed from the assignment in full precision.
 */

/** Quanta per c^p. */
export const QUANTA = 2 ** 36;
/** Surcharge on a half-switch, in quanta. */
export const SURCHARGE = 64;
/** Largest sum that is exact. */
const VALUE_MAX = 2 ** 52;

/** gamma^p/2, given in units of c^p, as an even number of quanta, with the surcharge. */
export function changeQuanta(relative: number): number {
  return Math.min(2 * Math.round((relative * QUANTA) / 2) + SURCHARGE, VALUE_MAX / 8);
}
