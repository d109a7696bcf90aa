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

/** Digits of which two pieces are safe integers, this many of them in the first. */
const LONG_DIGITS_MAX = 19;
const HEAD_DIGITS = 15;
/** Splits a double into two of half its digits, whose products are exact (Dekker). */
const SPLIT = 2 ** 27 + 1;

/**
 * The number text[start, end), digits and perhaps a dot, with more digits than a safe integer has; NaN where it cannot
 * be told which of two doubles is nearer. The quotient of what the digits are and a power of ten is corrected by its
 * remainder, which products without rounding give.
 */
export function readLongDecimal(text: string, start: number, end: number, decimals: number): number {
  let head = 0;
  let tail = 0;
  let digits = 0;
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code === DOT || (code === ZERO && digits === 0)) continue;
    if (digits++ < HEAD_DIGITS) head = head * 10 + code - ZERO;
    else tail = tail * 10 + code - ZERO;
  }
  if (digits <= HEAD_DIGITS || digits > LONG_DIGITS_MAX || decimals >= POWERS_OF_TEN.length) return Number.NaN;
  const shift = POWERS_OF_TEN[digits - HEAD_DIGITS];
  const divisor = POWERS_OF_TEN[decimals];
  const whole = head * shift;
  const quotient = (whole + tail) / divisor;
  const product = quotient * divisor;
  const remainder = whole - product + (tail + roundedOff(head, shift, whole) - roundedOff(quotient, divisor, product));
  const correction = remainder / divisor;
  const doubt = (Math.abs(correction) + quotient * Number.EPSILON) * 1e-9;
  const value = quotient + (correction - doubt);
  return value === quotient + (correction + doubt) ? value : Number.NaN;
}

/** What the product of two numbers lost when it was rounded. */
function roundedOff(a: number, b: number, product: number): number {
  const aHigh = a * SPLIT - (a * SPLIT - a);
  const bHigh = b * SPLIT - (b * SPLIT - b);
  const aLow = a - aHigh;
  const bLow = b - bHigh;
  return aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
}

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
  let value = Number.NaN;
  if (at === end && digits > 0 && decimals < POWERS_OF_TEN.length) {
    if (mantissa > Number.MAX_SAFE_INTEGER) value = readLongDecimal(text, first, end, decimals);
    else value = decimals === 0 ? mantissa : mantissa / POWERS_OF_TEN[decimals];
  }
  if (Number.isNaN(value)) {
    const slow = text.slice(start, end);
    return DECIMAL.test(slow) ? Number(slow) : Number.NaN;
  }
  return negative ? -value : value;
}

/** The number a text is, or NaN. */
export const decimalOf = (text: string): number => readDecimal(text, 0, text.length);
