/**
 * Options of a command: one table, from which parsing, checking and the help text follow. Every command has one.
 * Invariant: every mistake of a command line is collected, and reported in one UsageError.
 */

import { parseArgs } from 'node:util';
import { wrapText } from './table.js';

export interface Option {
  /** placeholder of the value; none for a switch */
  value?: string;
  repeat?: boolean;
  choices?: readonly string[];
  help: string;
}

export interface OptionGroup {
  /** heading in the help text; none for the only group of a command */
  title?: string;
  options: Record<string, Option>;
}

/** Something is wrong with the command line itself. */
export class UsageError extends Error {
  override name = 'UsageError';
}

const HELP_CHARS = 100;
const HELP_INDENT_MAX = 30;

/** The options as lines of a help text, group by group. */
export function optionHelp(groups: OptionGroup[]): string[] {
  const entries = groups.flatMap(({ options }) => Object.entries(options));
  const indent = Math.min(HELP_INDENT_MAX, 2 + Math.max(...entries.map((entry) => leftOf(entry).length)));
  return groups.flatMap(({ title, options }) => [
    '',
    ...(title ? [`${title}:`] : []),
    ...Object.entries(options).flatMap((entry) => helpLines(entry, ' '.repeat(indent))),
  ]);
}

const leftOf = ([name, { value }]: [string, Option]) => `  --${name}${value ? ` ${value}` : ''}`;

function helpLines(entry: [string, Option], indent: string): string[] {
  const [, option] = entry;
  const left = leftOf(entry);
  const text = option.help + (option.repeat ? '; may be repeated' : '');
  // a long name has a line of its own
  if (left.length >= indent.length) return [left, ...wrapText(indent + text, HELP_CHARS, indent)];
  return wrapText(left.padEnd(indent.length) + text, HELP_CHARS, indent);
}

/** The options as they were given, and what is wrong with them. */
export class CommandLine {
  readonly mistakes: string[] = [];
  /** every option that is sound, in the order of the command line */
  readonly order: Array<{ name: string; value: string }> = [];
  /** files that are named without an option, where the command opens such */
  readonly files: string[] = [];
  readonly #command: string;
  readonly #options: Record<string, Option>;
  readonly #values = new Map<string, string[]>();

  constructor(command: string, groups: OptionGroup[], args: string[], isFile?: RegExp) {
    this.#command = command;
    this.#options = Object.assign({}, ...groups.map(({ options }) => options));
    const options = Object.fromEntries(
      Object.entries(this.#options).map(([name, { value }]) => [
        name,
        { type: value ? ('string' as const) : ('boolean' as const) },
      ]),
    );
    const { tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
    let afterUnknown = false;
    for (const token of tokens) {
      // what follows an unknown option is most likely its value
      if (token.kind === 'positional' && isFile?.test(token.value)) this.files.push(token.value);
      else if (token.kind === 'positional' && !afterUnknown)
        this.wrong(`"${token.value}" is not an option; ${this.#positionalRemedy()}`);
      if (token.kind === 'option') this.#admit(token.name, token.rawName, token.value);
      afterUnknown = token.kind === 'option' && !Object.hasOwn(this.#options, token.name);
    }
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  texts(name: string): string[] {
    return this.#values.get(name) ?? [];
  }

  text(name: string): string | undefined {
    return this.texts(name)[0];
  }

  number(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (Number.isNaN(value)) this.wrong(`--${name} must be a number, got "${text}"`);
    return value;
  }

  /** The number given, or `standard`; a mistake unless it is sound. */
  numberWhere(name: string, standard: number, isSound: (value: number) => boolean, expected: string): number {
    const text = this.text(name);
    if (text === undefined) return standard;
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (!isSound(value)) this.wrong(`--${name} must be ${expected}, not ${text}`);
    return value;
  }

  /** `name` excludes `others`. */
  refuse(name: string, others: string[], why: string): void {
    if (!this.has(name)) return;
    for (const other of others) if (this.has(other)) this.wrong(`--${name} and --${other} exclude each other: ${why}`);
  }

  wrong(message: string): void {
    if (!this.mistakes.includes(message)) this.mistakes.push(message);
  }

  throwMistakes(): void {
    if (this.mistakes.length > 0) throw new UsageError(this.mistakes.join('\n'));
  }

  #admit(name: string, rawName: string, value: string | undefined): void {
    const mistake = this.#mistakeIn(name, rawName, value);
    if (mistake) this.wrong(mistake);
    else {
      this.#values.set(name, [...this.texts(name), value ?? '']);
      this.order.push({ name, value: value ?? '' });
    }
  }

  #mistakeIn(name: string, rawName: string, value: string | undefined): string | null {
    const option = rawName.startsWith('--') && Object.hasOwn(this.#options, name) ? this.#options[name] : undefined;
    if (!option) return `unknown option ${rawName}${this.#suggestion(name)}`;
    if (option.value && value === undefined) return `--${name} needs a value: --${name} ${option.value}`;
    if (!option.value && value !== undefined) return `--${name} takes no value, got "${value}"`;
    if (option.choices && !option.choices.includes(value ?? ''))
      return `--${name} must be one of ${option.choices.join(', ')}, got "${value}"`;
    if (this.has(name) && option.value && !option.repeat) return `--${name} is given twice`;
    return null;
  }

  #suggestion(name: string): string {
    const near = nearest(name, Object.keys(this.#options));
    return near ? `; did you mean --${near}?` : `; ${this.#helpRemedy()}`;
  }

  #positionalRemedy(): string {
    return 'reference' in this.#options ? 'files are given with --reference and --tracker' : this.#helpRemedy();
  }

  #helpRemedy(): string {
    return `tgospa ${this.#command} --help lists them all`;
  }
}

/** The command as a shell would read it again. */
export function asTyped(command: string, args: readonly string[]): string {
  const quoted = args.map((arg) => (/^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`));
  return ['tgospa', command, ...quoted].join(' ');
}

/** The word that was most likely meant, if any is close. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  return known.find(
    (one) => editDistance(one, word) <= Math.min(2, word.length - 1) || (word.length > 2 && one.startsWith(word)),
  );
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length];
}
