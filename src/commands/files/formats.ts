/**
 * Formats of files on the command line: the options that commands with files share, which format each file has and with
 * which options, and which rows of a benchmark's files count.
 */

import { adapters, formatByName } from '../../../adapters/index.js';
import type { Format } from '../../../adapters/kit/adapter.js';
import { optionFromText } from '../../../adapters/kit/options.js';
import type { CommandLine, Option } from '../console/options.js';

export const DEFAULT_FORMAT = 'motchallenge';

/** The options on formats that commands with files share. */
export const FORMAT_OPTIONS = {
  format: { value: 'NAME', help: `format of all files (default ${DEFAULT_FORMAT}); --formats lists them` },
  option: { value: 'KEY=VALUE', repeat: true, help: 'an option of the format, such as frameOffset=-1' },
  'reference-format': { value: 'NAME', help: 'format of the reference, when it differs' },
  'reference-option': { value: 'KEY=VALUE', repeat: true, help: 'an option for the reference alone' },
} as const satisfies Record<string, Option>;

/** Options of MOTChallenge files only. */
const BENCHMARK_OPTIONS = {
  classes: { value: 'LIST', help: 'classes of the reference that count, e.g. 1,7 (default 1, pedestrian)' },
  'all-rows': { help: 'count all reference rows, whatever their flag and class' },
  preprocess: {
    value: 'RULES',
    choices: ['motchallenge', 'mot20'],
    help: 'first take out tracks that match a distractor, as the benchmark does: motchallenge (MOT16, MOT17) or mot20',
  },
} as const satisfies Record<string, Option>;

export const FILE_OPTIONS = { ...FORMAT_OPTIONS, ...BENCHMARK_OPTIONS };

const SHAPES = { box: 'boxes', point: 'points' };

/** The formats of both kinds of files. */
export interface FileFormats {
  reference: Format;
  tracker: Format;
}

/**
 * Finds the formats and checks their options. `referenceOptions` come from options of their own, such as --all-rows.
 */
export function readFormats(line: CommandLine, referenceOptions: Record<string, unknown> = {}): FileFormats | null {
  const name = line.text('format') ?? DEFAULT_FORMAT;
  const tracker = readFormat(line, '', name, line.texts('option'), {});
  const ownOptions = line.texts('reference-option');
  // what is wrong for all files is reported once
  if (!tracker && !line.has('reference-format') && ownOptions.length === 0) return null;
  const referenceName = line.text('reference-format') ?? name;
  // options for all files are for the reference too, when it has the same format
  const shared = line.has('reference-format') ? [] : line.texts('option');
  const known = adapters.get(referenceName);
  const fitting = Object.fromEntries(Object.entries(referenceOptions).filter(([key]) => known && key in known.options));
  const reference = readFormat(line, 'reference-', referenceName, [...shared, ...ownOptions], fitting);
  return tracker && reference ? { reference, tracker } : null;
}

function readFormat(
  line: CommandLine,
  prefix: string,
  name: string,
  pairs: readonly string[],
  standard: Record<string, unknown>,
): Format | null {
  const adapter = adapters.get(name);
  if (!adapter) {
    line.wrong(`--${prefix}format ${name} is unknown; there are ${[...adapters.keys()].join(', ')}`);
    return null;
  }
  const options: Record<string, unknown> = { ...standard };
  for (const pair of pairs) {
    const [, key, text] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
    if (key === undefined) line.wrong(`--${prefix}option must be KEY=VALUE, got "${pair}"`);
    else options[key] = optionFromText(adapter.options, key, text);
  }
  const format = formatByName(name, options);
  if (!Array.isArray(format)) return format;
  for (const { path, value, message } of format) {
    const came = value === undefined ? '' : ` (got ${JSON.stringify(value)})`;
    line.wrong(`--${prefix}option ${path}: ${message}${came}`);
  }
  return null;
}

/**
 * The same with FILE_OPTIONS: --classes and --all-rows belong to the reference, --preprocess to two MOTChallenge
 * files.
 */
export function readFileFormats(line: CommandLine): FileFormats | null {
  const options: Record<string, unknown> = {};
  if (line.has('classes')) options.classes = readClasses(line);
  if (line.has('all-rows')) options.allRows = true;
  const formats = readFormats(line, options);
  if (!formats) return null;
  const { reference, tracker } = formats;
  for (const name of Object.keys(BENCHMARK_OPTIONS))
    if (line.has(name) && reference.adapter.name !== 'motchallenge')
      line.wrong(
        `--${name} needs a reference in format motchallenge; see --formats for what ${reference.adapter.name} has`,
      );
  if (line.has('preprocess') && !(isPlainMot(specOf(reference)) && isPlainMot(specOf(tracker))))
    line.wrong('--preprocess needs MOTChallenge files without further options');
  if (reference.shape !== tracker.shape)
    line.wrong(
      `the reference holds ${SHAPES[reference.shape]} and the trackers ${SHAPES[tracker.shape]}; both need the same`,
    );
  return formats;
}

/** The numbers after --classes; undefined, and a mistake, when they are none. */
function readClasses(line: CommandLine): number[] | undefined {
  const text = line.text('classes') ?? '';
  const classes = text.split(',').map(Number);
  const sound = classes.every((value) => Number.isInteger(value) && value > 0);
  if (!sound) line.wrong(`--classes must be whole numbers separated by commas, got "${text}"`);
  return sound ? classes : undefined;
}

/** A format and the options it was given: what can be sent to a thread. */
export interface FormatSpec {
  name: string;
  options: Record<string, unknown>;
}

export function specOf({ adapter, values, given }: Format): FormatSpec {
  return { name: adapter.name, options: Object.fromEntries([...given].map((key) => [key, values[key]])) };
}

/** MOTChallenge as the benchmark has it: no option but those on which rows count. */
export const isPlainMot = ({ name, options }: FormatSpec): boolean =>
  name === 'motchallenge' && Object.keys(options).every((key) => key === 'classes' || key === 'allRows');

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
