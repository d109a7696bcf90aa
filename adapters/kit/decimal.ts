/**
 * Numbers in text, read where they stand: no substring is made for the usual ones.
 * Invariant: the value is the one `Number` gives; NaN for everything that is no decimal number.
 */

const PLUS = 43;
const MINUS = 45;
const DOT = 46;
const ZERO = 48;
const NINE = 57;
/** Powers of ten that are exact doubles: a safe integer divided by one of them is the correctly rounded fraction. */
export const POWERS_OF_TEN = Array.from({ length: 23 }, (_, power) => 10 ** power);
/** No digit can belong to two parts of it, so that a text which does not match is left after one pass. */
const DECIMAL = /^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$/;

/** The number that fills text[start, end), or NaN. */
export function readDecimal(text: string, start: number, end: number): number {
  let at = start;
  let code = text.charCodeAt(at);
  const negative = code === MINUS;
  if (negative || code === PLUS) code = text.charCodeAt(++at);
  let mantissa = 0;
  let decimals = 0;
  const first = at;
  for (; at < end && code >= ZERO && code <= NINE; code = text.charCodeAt(++at)) mantissa = mantissa * 10 + code - ZERO;
  let digits = at - first;
  if (at < end && code === DOT) {
    const dot = at;
    for (code = text.charCodeAt(++at); at < end && code >= ZERO && code <= NINE; code = text.charCodeAt(++at))
      mantissa = mantissa * 10 + code - ZERO;
    decimals = at - dot - 1;
    digits += decimals;
  }
  if (at !== end || digits === 0 || mantissa > Number.MAX_SAFE_INTEGER || decimals >= POWERS_OF_TEN.length) {
    const slow = text.slice(start, end);
    return DECIMAL.test(slow) ? Number(slow) : Number.NaN;
  }
  const value = decimals === 0 ? mantissa : mantissa / POWERS_OF_TEN[decimals];
  return negative ? -value : value;
}

/** The number a text is, or NaN. */
export const decimalOf = (text: string): number => readDecimal(text, 0, text.length);
