/**
 * Recorded files as commands take them: which format they have and with which options, read from the disk, and laid
 * side by side. All mistakes of all files are told together, before anything is computed.
 */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { adapters, formatByName } from '../../../adapters/index.js';
import type { Format } from '../../../adapters/kit/adapter.js';
import { optionFromText } from '../../../adapters/kit/options.js';
import { type Recording, readRecording, type Source } from '../../../adapters/kit/recording.js';
import { InputError, type Problem } from '../../index.js';
import type { Role } from '../../wire/feed.js';
import type { Option } from '../console/options.js';

export const DEFAULT_FORMAT = 'motchallenge';
/** Files of a folder that are read; a recording of one file per frame has as many as frames. */
const ENTRIES_MAX = 1_000_000;

/** The options on formats that commands with files share. */
export const FORMAT_OPTIONS = {
  format: { value: 'NAME', help: `format of all files (default ${DEFAULT_FORMAT}); --formats lists them` },
  option: { value: 'KEY=VALUE', repeat: true, help: 'an option of the format, such as frameOffset=-1' },
  'reference-format': { value: 'NAME', help: 'format of the reference, when it differs' },
  'reference-option': { value: 'KEY=VALUE', repeat: true, help: 'an option for the reference alone' },
} as const satisfies Record<string, Option>;

/** What a command line says about formats. */
export interface FormatArguments {
  format?: string;
  options: readonly string[];
  referenceFormat?: string;
  referenceOptions: readonly string[];
}

/** The formats of both kinds of files. */
export interface FileFormats {
  reference: Format;
  tracker: Format;
}

/** Finds the formats and checks their options; `wrong` is told every mistake. `reference` are options from elsewhere. */
export function readFormats(
  given: FormatArguments,
  wrong: (message: string) => void,
  reference: Record<string, unknown> = {},
): FileFormats | null {
  const name = given.format ?? DEFAULT_FORMAT;
  const tracker = readFormat('', name, given.options, {}, wrong);
  // what is wrong for all files is told once
  if (!tracker && given.referenceFormat === undefined && given.referenceOptions.length === 0) return null;
  const referenceName = given.referenceFormat ?? name;
  // options for all files are for the reference too, when it has the same format
  const shared = given.referenceFormat === undefined ? given.options : [];
  const known = adapters.get(referenceName);
  const fitting = Object.fromEntries(Object.entries(reference).filter(([key]) => known && key in known.options));
  const options = [...shared, ...given.referenceOptions];
  const believed = readFormat('reference-', referenceName, options, fitting, wrong);
  return tracker && believed ? { reference: believed, tracker } : null;
}

function readFormat(
  prefix: string,
  name: string,
  pairs: readonly string[],
  standard: Record<string, unknown>,
  wrong: (message: string) => void,
): Format | null {
  const adapter = adapters.get(name);
  if (!adapter) {
    wrong(`--${prefix}format ${name} is unknown; there are ${[...adapters.keys()].join(', ')}`);
    return null;
  }
  const options: Record<string, unknown> = { ...standard };
  for (const pair of pairs) {
    const [, key, text] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
    if (key === undefined) wrong(`--${prefix}option must be KEY=VALUE, got "${pair}"`);
    else options[key] = optionFromText(adapter.options, key, text);
  }
  const format = formatByName(name, options);
  if (!Array.isArray(format)) return format;
  for (const { path, value, message } of format) {
    const came = value === undefined ? '' : ` (got ${JSON.stringify(value)})`;
    wrong(`--${prefix}option ${path}: ${message}${came}`);
  }
  return null;
}

/** A table of formats and their options, for people. */
export function formatHelp(): string {
  const lines = ['Formats of files and feeds, with their options (--option KEY=VALUE):'];
  for (const { name, title, options } of adapters.values()) {
    lines.push('', `${name}: ${title}`);
    for (const [key, spec] of Object.entries(options)) {
      const choices = spec.kind === 'choice' ? ` [${spec.choices.join('|')}]` : '';
      const standard = spec.required ? ' (needed)' : spec.default === undefined ? '' : ` (default ${spec.default})`;
      lines.push(`  ${key.padEnd(16)} ${spec.help}${choices}${standard}`);
    }
  }
  return lines.join('\n');
}

/** Reads all files before it complains, so that the mistakes of all of them come together. */
export function readRecordings(files: ReadonlyArray<{ file: string; format: Format; role: Role }>): Recording[] {
  const problems: Problem[] = [];
  const recordings = files.flatMap(({ file, format, role }) => {
    try {
      return [readRecording(file, readSources(file, format), format, role)];
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      problems.push(...error.problems);
      return [];
    }
  });
  if (problems.length > 0) throw new InputError(problems);
  return recordings;
}

function readSources(file: string, { adapter }: Format): Source[] {
  const isFolder = adapter.frameOfFile !== undefined;
  try {
    if (statSync(file).isDirectory() !== isFolder)
      throw new InputError([
        {
          path: file,
          value: adapter.name,
          message: isFolder ? 'must be a folder with one file per frame' : 'is a folder',
        },
      ]);
    if (!isFolder) return [{ file, text: readFileSync(file, 'utf8') }];
    const entries = readdirSync(file).sort().slice(0, ENTRIES_MAX);
    return entries
      .filter((entry) => entry.endsWith('.txt'))
      .map((entry) => ({ file, entry, text: readFileSync(join(file, entry), 'utf8') }));
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw unreadable(file, error);
  }
}

/** The text of a file, or an InputError. */
export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw unreadable(file, error);
  }
}

const UNREADABLE: Record<string, string> = {
  ENOENT: 'does not exist; check the path',
  EISDIR: 'is a folder; name a file in it',
  EACCES: 'may not be read; check its permissions',
};

function unreadable(file: string, error: unknown): InputError {
  const { code } = error as NodeJS.ErrnoException;
  return new InputError([
    {
      path: file,
      value: code,
      message: (code && UNREADABLE[code]) || 'cannot be read; name a file that exists and is readable',
    },
  ]);
}
