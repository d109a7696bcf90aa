/**
 * Numbers in few bytes: most of what a window holds are coordinates, and most of these were written with few decimals.
 * Each column of a list is told as whole numbers above its least, in as many bits as the greatest needs, 52 of them in
 * a double. What is read equals what was written, to the last digit; a list in which one number has more decimals is
 * refused.
 */

const POWERS = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7];
/** bits that say how many decimals there are, how many bits a number has, and whether it is below 0 */
const POWER_BITS = 3;
const LENGTH_BITS = 6;
const SIGN = 2 ** LENGTH_BITS;
/** greatest whole number; all below it have room in LENGTH_BITS, and come back from a product with a power of ten */
const WHOLE_MAX = 2 ** 45;
/** added and taken off again it rounds, in half the time of Math.round */
const ROUNDER = 1.5 * 2 ** 52;
/** of a double */
export const BITS = 52;
/** no more are moved at once */
const INT_BITS = 31;
const INTS = 2 ** INT_BITS;
/** powers of two, by their exponents */
export const TWOS = Array.from({ length: BITS + 1 }, (_, bits) => 2 ** bits);
/** one by each of them: to multiply by it is exact, too, and sooner done */
export const INVERSES = TWOS.map((two) => 1 / two);

// scratch: whole numbers, column by column, and the least and the greatest of each
let whole = new Float64Array(256);
const least: number[] = [];
const greatest: number[] = [];

/** bits of the whole numbers below one, at least one */
export const bitsBelow = (end: number): number => 32 - Math.clz32(Math.max(1, end - 1));

/** cut to length it is a new list of fractions, flat in memory */
const blank: number[] = [0.5];

/** A list of numbers that is put together. */
export class NumberDraft {
  /** never holds anything but fractions at first, so that it and its copies are flat in memory */
  private readonly list: number[] = [0.5];
  length = 0;
  /** bits that do not fill a number yet */
  private pending = 0;
  private pendingBits = 0;

  clear(): void {
    this.length = 0;
  }

  push(value: number): void {
    this.list[this.length++] = value;
  }

  pushAll(values: ArrayLike<number>, count: number): void {
    const { list, length } = this;
    for (let n = 0; n < count; n++) list[length + n] = values[n];
    this.length = length + count;
  }

  /** The first `count` of a list in rows of `stride`; false where they would not come back as they are. */
  pushDecimals(values: ArrayLike<number>, count: number, stride: number): boolean {
    const power = toWhole(values, count, stride);
    if (power < 0) return false;
    if (count === 0) return true;
    this.put(power, POWER_BITS);
    const rows = count / stride;
    for (let column = 0; column < stride; column++) {
      const base = least[column];
      const bits = bitsOf(greatest[column] - base);
      const baseBits = bitsOf(Math.abs(base));
      this.put(baseBits + (base < 0 ? SIGN : 0), LENGTH_BITS + 1);
      this.putLong(Math.abs(base), baseBits);
      this.put(bits, LENGTH_BITS);
      const from = column * rows;
      if (bits <= INT_BITS) this.putColumn(base, bits, from, from + rows);
      else for (let n = from; n < from + rows; n++) this.putLong(whole[n] - base, bits);
    }
    if (this.pendingBits > 0) this.push(this.pending);
    this.pending = this.pendingBits = 0;
    return true;
  }

  /** A whole number from 0 on, with so many bits. */
  private put(value: number, bits: number): void {
    const room = BITS - this.pendingBits;
    this.pending += (bits <= room ? value : value & (TWOS[room] - 1)) * TWOS[this.pendingBits];
    this.pendingBits += bits;
    if (bits < room) return;
    this.list[this.length++] = this.pending;
    this.pending = bits === room ? 0 : value >>> room;
    this.pendingBits -= BITS;
  }

  private putLong(value: number, bits: number): void {
    if (bits <= INT_BITS) this.put(value, bits);
    else {
      this.put(value % INTS, INT_BITS);
      this.put(Math.floor(value / INTS), bits - INT_BITS);
    }
  }

  /** As `put` would, in half the time: everything stays in registers. */
  private putColumn(base: number, bits: number, from: number, to: number): void {
    const { list } = this;
    const numbers = whole;
    let { length, pending, pendingBits } = this;
    for (let n = from; n < to; n++) {
      const value = numbers[n] - base;
      const room = BITS - pendingBits;
      if (bits < room) {
        pending += value * TWOS[pendingBits];
        pendingBits += bits;
        continue;
      }
      list[length++] = pending + (value & (TWOS[room] - 1)) * TWOS[pendingBits];
      pending = value >>> room;
      pendingBits = bits - room;
    }
    this.length = length;
    this.pending = pending;
    this.pendingBits = pendingBits;
  }

  /** A copy of what was put together. */
  take(): number[] {
    return this.list.slice(0, this.length);
  }
}

/** Makes whole numbers of the first of a list; the power of ten that it took, or -1 where none is enough. */
function toWhole(list: ArrayLike<number>, count: number, stride: number): number {
  if (whole.length < count) whole = new Float64Array(2 * count);
  let power = 0;
  while (power < POWERS.length && !isWhole(list, count, stride, POWERS[power])) power++;
  return power < POWERS.length ? power : -1;
}

function isWhole(list: ArrayLike<number>, count: number, stride: number, factor: number): boolean {
  const numbers = whole;
  let at = 0;
  for (let column = 0; column < stride; column++) {
    let low = WHOLE_MAX;
    let high = -WHOLE_MAX;
    for (let n = column; n < count; n += stride) {
      const value = list[n];
      const rounded = value * factor + ROUNDER - ROUNDER;
      // -0 would come back as 0
      if (rounded / factor !== value || Object.is(value, -0)) return false;
      numbers[at++] = rounded;
      if (rounded < low) low = rounded;
      if (rounded > high) high = rounded;
    }
    if (low <= -WHOLE_MAX || high >= WHOLE_MAX) return false;
    least[column] = low;
    greatest[column] = high;
  }
  return true;
}

const bitsOf = (value: number): number =>
  value < INTS ? 32 - Math.clz32(value) : INT_BITS + bitsOf(Math.floor(value / INTS));

/** Reads what was put together, from a place on. */
export class DecimalReader {
  private bit = 0;

  constructor(
    private readonly list: readonly number[],
    private place: number,
  ) {}

  /** A list of so many decimals in rows of `stride`. */
  decimals(count: number, stride: number): number[] {
    while (blank.length < count) blank.push(0.5);
    const values = blank.slice(0, count);
    if (count === 0) return values;
    const power = POWERS[this.get(POWER_BITS)];
    for (let column = 0; column < stride; column++) {
      const length = this.get(LENGTH_BITS + 1);
      const base = length < SIGN ? this.getLong(length) : -this.getLong(length - SIGN);
      const bits = this.get(LENGTH_BITS);
      for (let n = column; n < count; n += stride) values[n] = (base + this.getLong(bits)) / power;
    }
    // the next ones begin with a number of their own
    if (this.bit > 0) this.place++;
    this.bit = 0;
    return values;
  }

  private get(bits: number): number {
    const room = BITS - this.bit;
    let value = Math.floor(this.list[this.place] / TWOS[this.bit]);
    this.bit += bits;
    if (bits >= room) {
      this.place++;
      this.bit -= BITS;
      if (bits > room) value += (this.list[this.place] & (TWOS[bits - room] - 1)) * TWOS[room];
    }
    return value & (TWOS[bits] - 1);
  }

  private getLong(bits: number): number {
    return bits <= INT_BITS ? this.get(bits) : this.get(INT_BITS) + INTS * this.get(bits - INT_BITS);
  }
}
