/**
 * Two numbers in one, where both are short: whole thousandths within 33,554, as pixels and local metres mostly are that
 * were written with up to three decimals. Most of what a window holds are coordinates. Nothing is rounded: numbers of
 * which one is not short stay as they are.
 */

const PARTS = 1000;
/** a double has room for two of 26 bits */
const RANGE = 2 ** 26;
const LIMIT = RANGE / 2;

/** Two short numbers as one; NaN where one of them is not short. */
export function joined(first: number, second: number): number {
  const [a, b] = [Math.round(first * PARTS), Math.round(second * PARTS)];
  if (a / PARTS !== first || b / PARTS !== second) return Number.NaN;
  if (a >= LIMIT || a < -LIMIT || b >= LIMIT || b < -LIMIT) return Number.NaN;
  // -0 would come back as 0
  if ((a === 0 && 1 / first < 0) || (b === 0 && 1 / second < 0)) return Number.NaN;
  return a * RANGE + b + LIMIT;
}

export const firstOf = (both: number): number => Math.floor(both / RANGE) / PARTS;

export const secondOf = (both: number): number => (both - Math.floor(both / RANGE) * RANGE - LIMIT) / PARTS;
