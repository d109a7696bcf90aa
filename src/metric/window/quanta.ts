/**
 * The unit of the engines. Inside, benefits are whole numbers of quanta, 2^-40 of c^p: sums and comparisons are exact,
 * and the same frames give the same assignment whatever was solved before. Half a switch costs 2^-31 of its price more
 * than it should, so that among equal optima the one with the fewest switches wins. Reported costs are computed from
 * the assignment in full precision; what rounding and surcharge may have cost is added up, and where that is more than
 * 1e-9 of the whole, the report is not called exact (read-out.ts).
 */

/** Quanta per c^p. */
export const QUANTA = 2 ** 40;
/** Largest sum that is exact. */
const VALUE_MAX = 2 ** 52;

/**
 * c^p - distance^p of a pair, given distance^p in units of c^p; at least 1. Rounded down, so that nothing costs as
 * little as no distance at all.
 */
export function benefitQuanta(share: number): number {
  return Math.max(1, QUANTA - Math.ceil(share * QUANTA));
}

/** What a benefit has lost by rounding. */
export function roundedOff(share: number): number {
  return QUANTA - share * QUANTA - benefitQuanta(share);
}

/** gamma^p/2, given in units of c^p, as an even number of quanta. */
export function priceQuanta(relative: number): number {
  return Math.min(2 * Math.round((relative * QUANTA) / 2), VALUE_MAX / 8);
}

/** The surcharge on a price, even. */
export function surcharge(price: number): number {
  return 2 * Math.max(1, Math.floor(price * 2 ** -32));
}
