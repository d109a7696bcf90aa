/** Decimal numbers as doubles, rounded once, as `Number` rounds them, without making a string of their digits. */

/** A whole number of at most 15 digits and a power of ten up to 22 are exact, so their quotient is rounded once. */
export const EXACT_DIGITS = 15;
/** as many as the shortest text of a double ever needs, and some */
export const LONG_DIGITS = 19;
/** powers of ten that are exact */
export const POWERS = Float64Array.from({ length: 23 }, (_, n) => Number(`1e${n}`));

/**
 * (value * 10^more + rest) / 10^scale, rounded once: worked out in pairs of doubles (Dekker), to about 100 bits. NaN in
 * the rare case that these do not decide to which side to round.
 */
export function longQuotient(value: number, rest: number, more: number, scale: number): number {
  const divisor = POWERS[scale];
  const product = value * POWERS[more];
  const high = product + rest;
  const low = productError(value, POWERS[more], product) + (rest - (high - product));
  const quotient = high / divisor;
  const times = quotient * divisor;
  const correction = (high - times - productError(quotient, divisor, times) + low) / divisor;
  const doubt = Math.abs(correction) * 2 ** -40 + quotient * 2 ** -98;
  const result = quotient + (correction - doubt);
  return result === quotient + (correction + doubt) ? result : Number.NaN;
}

/** What rounding took away: a * b - product, exactly. */
function productError(a: number, b: number, product: number): number {
  const aHigh = a * 134217729 - (a * 134217729 - a);
  const bHigh = b * 134217729 - (b * 134217729 - b);
  const aLow = a - aHigh;
  const bLow = b - bHigh;
  return aHigh * bHigh - product + aHigh * bLow + aLow * bHigh + aLow * bLow;
}
