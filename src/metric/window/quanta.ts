/**
 * The unit of the engines. Inside, benefits are whole numbers of quanta, 2^-40 of c^p or a little more: sums and
 * comparisons are exact, and the same frames give the same assignment whatever was solved before. Half a switch costs
 * 2^-31 of its price more than it should, so that among equal optima the one with the fewest switches wins. Reported
 * costs are computed from the assignment in full precision; what rounding and surcharge may have cost is added up, and
 * where that is more than 1e-9 of the whole, the report is not called exact (read-out.ts).
 */

/** Quanta per c^p, unless half a switch costs hundreds of times as much. */
export const QUANTA = 2 ** 40;
/** Highest price of half a switch: sums of several are exact. */
const PRICE_MAX = 2 ** 49;

/**
 * Quanta per c^p where half a switch costs so many c^p and a window has at most so many frames: so few that the price
 * counts in full. One that is above everything a pair can earn in the window is never paid, whatever it is.
 */
export function quantaPerUnit(relative: number, framesMax: number): number {
  let quanta = QUANTA;
  while (Math.min(relative, framesMax + 1) * quanta > PRICE_MAX) quanta /= 2;
  return quanta;
}

/**
 * What a pair saves less what it spends, both in quanta; at least 1. Rounded down, so that nothing costs as little as
 * no distance at all.
 */
export function benefitQuanta(saved: number, spent: number): number {
  return Math.max(1, Math.floor(saved) - Math.ceil(spent));
}

/** What a benefit has lost by rounding, or won where it is next to nothing. */
export function roundedOff(saved: number, spent: number): number {
  const [least, most] = [Math.floor(saved), Math.ceil(spent)];
  // not as one difference: what is far below a quantum would be lost beside the rest
  return least - most >= 1 ? saved - least + (most - spent) : Math.abs(saved - spent - 1);
}

/** gamma^p/2, given in quanta, as an even number of them. */
export function priceQuanta(price: number): number {
  return Math.min(2 * Math.round(price / 2), PRICE_MAX);
}

/** The surcharge on a price, even. */
export function surcharge(price: number): number {
  return 2 * Math.max(1, Math.floor(price * 2 ** -32));
}
