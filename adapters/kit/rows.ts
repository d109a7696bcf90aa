/**
 * Text in rows and columns, walked once: separated by blanks, or by commas with quotes as spreadsheets write them.
 * Blank lines, a byte order mark and Windows line ends are accepted. Columns are read when asked for.
 */

import { Mistake } from './adapter.js';
import { readDecimal } from './decimal.js';

const NEWLINE = 10;
const RETURN = 13;
const TAB = 9;
const SPACE = 32;
const QUOTE = 34;
const COMMA = 44;

/** A line with more columns than this is none of our formats. */
const COLUMNS_MAX = 256;

const isBlank = (code: number) => code === SPACE || code === TAB || code === RETURN;

export class Rows {
  columns = 0;
  /** 1-based line of the current row */
  line = 0;
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  #at: number;
  #lineStart = 0;
  #newlines = 0;

  constructor(
    readonly source: string,
    readonly separator: 'blanks' | 'commas',
  ) {
    this.#at = source.charCodeAt(0) === 0xfeff ? 1 : 0;
  }

  /** Goes to the next row that is not blank; false at the end of the text. */
  next(): boolean {
    const { source } = this;
    while (this.#at < source.length) {
      this.line = ++this.#newlines;
      this.#lineStart = this.#at;
      this.columns = 0;
      if (this.separator === 'blanks') this.#splitBlanks();
      else this.#splitCommas();
      if (this.columns > 1 || (this.columns === 1 && this.text(0) !== '')) return true;
    }
    return false;
  }

  text(column: number): string {
    const start = this.#starts[column];
    const slice = this.source.slice(start, this.#ends[column]);
    return this.source.charCodeAt(start - 1) === QUOTE && slice.includes('"') ? slice.replaceAll('""', '"') : slice;
  }

  startsWith(column: number, text: string): boolean {
    return this.source.startsWith(text, this.#starts[column]);
  }

  /** Whether there is anything in a column; -1 is a column that is not there. */
  has(column: number): boolean {
    return column >= 0 && this.#starts[column] !== this.#ends[column];
  }

  /** The number in a column; NaN for anything else. */
  number(column: number): number {
    return readDecimal(this.source, this.#starts[column], this.#ends[column]);
  }

  /** The number in a column, or a mistake that names it. */
  finite(column: number, name: string): number {
    const value = this.number(column);
    if (!Number.isFinite(value)) throw this.mistake(column, name, 'must be a finite number');
    return value;
  }

  /** line:character of a column; of the row for a column that is not there */
  place(column: number): string {
    return `${this.line}:${column < 0 ? 1 : this.#starts[column] - this.#lineStart + 1}`;
  }

  /** A mistake in a column. */
  mistake(column: number, name: string, expected: string): Mistake {
    return new Mistake(this.place(column), this.text(column), `${name} (column ${column + 1}) ${expected}`);
  }

  /** A mistake of the row as a whole. */
  rowMistake(message: string): Mistake {
    return new Mistake(`${this.line}:1`, this.source.slice(this.#lineStart, this.#at).trim(), message);
  }

  #splitBlanks(): void {
    const { source } = this;
    const { length } = source;
    let at = this.#at;
    for (;;) {
      let code = source.charCodeAt(at);
      while (isBlank(code)) code = source.charCodeAt(++at);
      if (at >= length || code === NEWLINE) break;
      const start = at;
      while (at < length && code !== NEWLINE && !isBlank(code)) code = source.charCodeAt(++at);
      this.#add(start, at);
    }
    this.#at = at + 1;
  }

  #splitCommas(): void {
    const { source } = this;
    let at = this.#at;
    for (;;) {
      at = source.charCodeAt(at) === QUOTE ? this.#quoted(at) : this.#plain(at);
      if (source.charCodeAt(at) !== COMMA) break;
      at++;
    }
    this.#at = at + 1;
  }

  #plain(start: number): number {
    const { source } = this;
    const { length } = source;
    let at = start;
    let code = source.charCodeAt(at);
    while (at < length && code !== COMMA && code !== NEWLINE) code = source.charCodeAt(++at);
    let from = start;
    let to = at;
    while (to > from && isBlank(source.charCodeAt(to - 1))) to--;
    while (from < to && isBlank(source.charCodeAt(from))) from++;
    this.#add(from, to);
    return at;
  }

  /** A field in quotes may hold commas, line ends and doubled quotes; returns where it ends. */
  #quoted(start: number): number {
    const { source } = this;
    let at = start + 1;
    for (;;) {
      const quote = source.indexOf('"', at);
      if (quote < 0) {
        // nothing after it can be read
        this.#at = source.length;
        throw new Mistake(`${this.line}:${start - this.#lineStart + 1}`, '"', 'a quote is never closed');
      }
      if (source.charCodeAt(quote + 1) !== QUOTE) {
        for (let n = start; n < quote; n++) if (source.charCodeAt(n) === NEWLINE) this.#newlines++;
        this.#add(start + 1, quote);
        at = quote + 1;
        break;
      }
      at = quote + 2;
    }
    let code = source.charCodeAt(at);
    while (at < source.length && code !== COMMA && code !== NEWLINE) code = source.charCodeAt(++at);
    return at;
  }

  #add(start: number, end: number): void {
    if (this.columns >= COLUMNS_MAX) return;
    this.#starts[this.columns] = start;
    this.#ends[this.columns++] = end;
  }
}
