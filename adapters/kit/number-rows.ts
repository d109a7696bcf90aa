/**
 * Rows of numbers in text, walked once: after next() the row's numbers are in `values`, with NaN for what is none.
 * Separated by commas, semicolons, tabs or blanks (then a comma may be the decimal point), as the first row tells; a
 * separator at the end of a row, blank lines, comment lines (#, %, //), a header, quotes, a byte order mark and line
 * ends of any system are accepted. Invariant: `line` and characters in mistakes are those of the text as it came.
 */

import type { Problem } from '../../src/metric/input-error.js';
import { POWERS_OF_TEN, readDecimal, readLongDecimal } from './decimal.js';

const COMMA = 44;
const NEWLINE = 10;
const SPACE = 32;
const TAB = 9;
const RETURN = 13;
const DOT = 46;
const PLUS = 43;
const MINUS = 45;
const ZERO = 48;
const COMMENT_MARKS = new Set([35, 37, 47]);
/** A line that is no row of numbers: a comment, or blank. */
const NO_ROW = /^\s*(#|%|\/\/|$)/;
/** Numbers between blanks, some of them with a comma inside. */
const DECIMAL_COMMAS = /^\s*(-?\d+(,\d+)?\s+){5,}-?\d+(,\d+)?\s*$/;
const HEAD_CHARS = 65_536;

export class NumberRows {
  readonly values: Float64Array;
  /** of the row at hand; those beyond `columnsRead` are counted, not read */
  columns = 0;
  /** may be lowered after the first row; as many as `values` has until then */
  columnsRead: number;
  line = 0;
  /** names of the columns, where the first row has names */
  header: string[] | null = null;
  commentCount = 0;
  readonly mistakes: Problem[] = [];
  readonly #starts: Int32Array;
  readonly #text: string;
  #at = 0;
  #lineStart = 0;
  #rowSeen = false;

  constructor(
    text: string,
    columnsMax: number,
    private readonly file = '',
    /** lines that came in earlier messages */
    readonly lineBase = 0,
    /** no row has come yet: a first row of words is a header */
    mayHaveHeader = true,
  ) {
    this.values = new Float64Array(columnsMax);
    this.columnsRead = columnsMax;
    this.#starts = new Int32Array(columnsMax + 1);
    this.#text = withCommas(text);
    this.#rowSeen = !mayHaveHeader;
    if (text.charCodeAt(0) === 0xfeff) this.#at = 1;
  }

  /** Reads the next row; false at the end of the text. */
  next(): boolean {
    while (this.#at < this.#text.length) {
      this.line++;
      this.#lineStart = this.#at;
      if (this.#isComment()) continue;
      this.#readLine();
      if (this.columns <= 1 && this.#lineText().trim() === '') continue;
      if (!this.#rowSeen && this.#isHeader()) continue;
      this.#rowSeen = true;
      return true;
    }
    return false;
  }

  /** Puts the columns of the row at hand into another order; -1: a column that is not there, with the value 1. */
  reorder(order: readonly number[]): void {
    const values = order.map((column) => (column < 0 ? 1 : this.values[column]));
    const starts = order.map((column) => this.#starts[Math.max(0, column)]);
    this.values.set(values);
    this.#starts.set(starts);
    this.columns = order.length;
  }

  /** The text of a column of the row at hand. */
  text(column: number): string {
    const start = this.#starts[column];
    return this.#text.slice(start, fieldEnd(this.#text, start)).trim();
  }

  /** Where a column of any line begins, 1 for its first character; looks for the line from the beginning. */
  characterOf(line: number, column: number): number {
    const text = this.#text;
    let start = text.charCodeAt(0) === 0xfeff ? 1 : 0;
    for (let n = 1; n < line; n++) start = text.indexOf('\n', start) + 1;
    let at = start;
    for (let n = 0; n < column; n++) at = fieldEnd(text, at) + 1;
    return at - start + 1;
  }

  /** A mistake in a column of the row at hand. */
  mistake(column: number, message: string): void {
    const character = this.#starts[column] - this.#lineStart + 1;
    this.addMistake(`${this.line}:${character}`, this.text(column), message);
  }

  lineMistake(message: string): void {
    this.addMistake(`${this.line}:1`, this.#lineText().trim(), message);
  }

  /** `place` is the line, or line:character. */
  addMistake(place: string, value: string, message: string): void {
    this.mistakes.push({ path: this.file === '' ? place : `${this.file}:${place}`, value, message });
  }

  #lineText(): string {
    return this.#text.slice(this.#lineStart, this.#at);
  }

  #isComment(): boolean {
    const text = this.#text;
    let at = this.#at;
    while (text.charCodeAt(at) === SPACE || text.charCodeAt(at) === TAB) at++;
    const code = text.charCodeAt(at);
    if (!COMMENT_MARKS.has(code) || (code === 47 && text.charCodeAt(at + 1) !== 47)) return false;
    const newline = text.indexOf('\n', at);
    this.#at = newline < 0 ? text.length : newline + 1;
    this.commentCount++;
    return true;
  }

  /** A first row of words. */
  #isHeader(): boolean {
    const fields = this.#lineText().trim().replace(/,$/, '').split(',');
    const names = fields.map((field) => field.trim());
    // a first name may be empty: that of the row numbers
    const isName = (name: string, n: number) => (n === 0 && name === '') || /^[A-Za-z_]/.test(name);
    if (names.length < 2 || !names.every((name, n) => isName(name, n) && !/^(nan|inf)/i.test(name))) return false;
    this.header = names;
    this.#rowSeen = true;
    return true;
  }

  #readLine(): void {
    let column = 0;
    let more = true;
    let start = this.#at;
    while (more) {
      start = this.#at;
      if (column < this.columnsRead) {
        this.#starts[column] = start;
        this.values[column] = this.#readNumber();
      } else this.#at = fieldEnd(this.#text, start);
      column++;
      more = this.#text.charCodeAt(this.#at) === COMMA;
      this.#at++;
    }
    if (column > 1 && isBlank(this.#text, start, this.#at - 1)) column--;
    this.columns = column;
  }

  /** Leaves the position at the comma or line end after the number. */
  #readNumber(): number {
    const text = this.#text;
    let at = this.#at;
    let code = text.charCodeAt(at);
    while (code === SPACE || code === TAB) code = text.charCodeAt(++at);
    const negative = code === MINUS;
    if (negative || code === PLUS) code = text.charCodeAt(++at);
    const first = at;
    let mantissa = 0;
    let digits = 0;
    let decimals = 0;
    for (; code >= ZERO && code <= ZERO + 9; code = text.charCodeAt(++at), digits++)
      mantissa = mantissa * 10 + code - ZERO;
    if (code === DOT) {
      code = text.charCodeAt(++at);
      for (; code >= ZERO && code <= ZERO + 9; code = text.charCodeAt(++at), decimals++)
        mantissa = mantissa * 10 + code - ZERO;
      digits += decimals;
    }
    const end = at;
    if (code === RETURN) code = text.charCodeAt(++at);
    const ended = code === COMMA || code === NEWLINE || at >= text.length;
    if (digits === 0 || !ended || decimals >= POWERS_OF_TEN.length) return this.#readAnyNumber();
    let value = decimals === 0 ? mantissa : mantissa / POWERS_OF_TEN[decimals];
    if (mantissa > Number.MAX_SAFE_INTEGER) {
      value = readLongDecimal(text, first, end, decimals);
      if (Number.isNaN(value)) return this.#readAnyNumber();
    }
    this.#at = at;
    return negative ? -value : value;
  }

  /** The slow way, for exponents, long fractions, spaces and everything that is no number. */
  #readAnyNumber(): number {
    const start = this.#at;
    this.#at = fieldEnd(this.#text, start);
    const field = this.#text.slice(start, this.#at).trim();
    return readDecimal(field, 0, field.length);
  }
}

/** The text with commas between its numbers, every character in its place. */
function withCommas(given: string): string {
  const start = given.slice(0, HEAD_CHARS);
  const lined = start.includes('\r') && !start.includes('\n') ? given.replaceAll('\r', '\n') : given;
  const text = start.includes('"') ? lined.replaceAll('"', ' ') : lined;
  const head = text
    .slice(0, HEAD_CHARS)
    .replace(/^\ufeff/, '')
    .split('\n');
  const first =
    head.find((line) => !NO_ROW.test(line) && /\d/.test(line)) ?? head.find((line) => !NO_ROW.test(line)) ?? '';
  if (first.includes(';')) return text.replaceAll(',', '.').replaceAll(';', ',');
  if (first.includes(',') && !DECIMAL_COMMAS.test(first)) return text;
  return text.replaceAll(',', '.').replace(/(?<=\S)[ \t]+(?=\S)/g, (run) => `,${run.slice(1)}`);
}

function isBlank(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at);
    if (code !== SPACE && code !== TAB && code !== RETURN) return false;
  }
  return true;
}

function fieldEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === NEWLINE) return at;
  }
  return text.length;
}
