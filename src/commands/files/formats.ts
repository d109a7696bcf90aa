/**
 * Formats of files on the command line: the options that commands with files share, which format each file has and with
 * which options, and which rows of a benchmark's files count. A file is in the format it looks like, unless one is
 * named.
 */

import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import { adapters, fileFormat } from '../../../adapters/index.js';
import type { Adapter, Format } from '../../../adapters/kit/adapter.js';
import { BOX_ORDERS } from '../../../adapters/kit/boxes.js';
import { type GivenOptions, type OptionTable, optionFromText } from '../../../adapters/kit/options.js';
import { RULES, type Rules } from '../../../adapters/kit/preprocessing.js';
import { REREADING_OPTIONS } from '../../../adapters/kit/rereading.js';
import { HEAD_CHARS, recognize } from '../../../adapters/recognition.js';
import type { CommandLine, Option } from '../console/options.js';
import { firstFile, isFolder } from './layout.js';
import { readText } from './recordings.js';

/** The format of files that look like none of the others. */
const DEFAULT_FORMAT = 'motchallenge';

/** The options on formats that commands with files share. */
export const FORMAT_OPTIONS = {
  format: { value: 'NAME', help: 'format of all files; recognised by default; tgospa eval --formats lists them' },
  option: { value: 'KEY=VALUE', repeat: true, help: 'an option of the format, such as frameOffset=-1' },
  'reference-format': { value: 'NAME', help: 'format of the reference, if it differs' },
  'reference-option': { value: 'KEY=VALUE', repeat: true, help: 'an option for the reference only' },
} as const satisfies Record<string, Option>;

/** Options on how trackers are read, and on which rows count. */
const JUDGING_OPTIONS = {
  'tracker-option': {
    value: 'KEY=VALUE',
    repeat: true,
    help: 'an option for the tracker named before it; before the first --tracker, for all of them',
  },
  box: {
    value: 'ORDER',
    repeat: true,
    choices: BOX_ORDERS,
    help: `the same as --tracker-option box=ORDER: ${BOX_ORDERS.join(', ')}`,
  },
  classes: { value: 'LIST', help: 'only these classes count, such as 1,7 or car,bus (MOTChallenge: 1 by default)' },
  'all-rows': { help: 'MOTChallenge: count all reference rows, regardless of flag and class' },
  preprocess: {
    value: 'RULES',
    choices: RULES,
    help: `first remove tracks that are not judged, as the benchmark does: ${RULES.join(', ')} (motchallenge: MOT16, MOT17)`,
  },
} as const satisfies Record<string, Option>;

export const FILE_OPTIONS = { ...FORMAT_OPTIONS, ...JUDGING_OPTIONS };

const SHAPES = { box: 'boxes', point: 'points' };
/** The format whose files a benchmark's rules are for. */
const RULES_FORMAT: Record<Rules, string> = {
  motchallenge: 'motchallenge',
  mot20: 'motchallenge',
  kitti: 'kitti',
  visdrone: 'visdrone',
  'ua-detrac': 'ua-detrac',
};

/** The formats of both kinds of files. */
export interface FileFormats {
  reference: Format;
  /** of the first tracker, for those who need one answer */
  tracker: Format;
  /** by file or folder of a tracker */
  trackers: ReadonlyMap<string, Format>;
}

/** A format and the options it was given: what can be sent to a thread. */
export interface FormatSpec {
  name: string;
  options: GivenOptions;
}

export function specOf({ adapter, values, given, rereading }: Format): FormatSpec {
  const all: Record<string, unknown> = { ...rereading, ...values };
  return { name: adapter.name, options: Object.fromEntries([...given].map((key) => [key, all[key]])) };
}

/**
 * Finds the formats and checks their options. `referenceOptions` come from options of their own, such as --all-rows.
 */
export function readFormats(line: CommandLine, referenceOptions: Record<string, unknown> = {}): FileFormats | null {
  const ownOptions = line.texts('reference-option');
  const path = line.text('reference');
  const seen = path === undefined ? null : formatOf(path);
  const trackerPaths = line.texts('tracker');
  const trackers = new Map<string, Format>();
  let sound = true;
  for (const tracker of trackerPaths.length > 0 ? new Set(trackerPaths) : ['']) {
    const name = line.text('format') ?? trackerFormat(formatOf(tracker), line.text('reference-format') ?? seen);
    const own = optionsOfTracker(line, tracker);
    const format = readFormat(line, '', name, [...line.texts('option'), ...own], {});
    if (format) trackers.set(tracker, format);
    else sound = false;
  }
  const [first] = trackers.values();
  // what is wrong for all files is reported once
  if (!sound && !line.has('reference-format') && ownOptions.length === 0) return null;
  const name = line.text('reference-format') ?? line.text('format') ?? seen ?? first?.adapter.name ?? DEFAULT_FORMAT;
  // options for all files are for the reference too, when it has the same format
  const isShared = !line.has('reference-format') && (!first || name === first.adapter.name);
  const known = adapters.get(name);
  const fitting = Object.fromEntries(Object.entries(referenceOptions).filter(([key]) => known && key in known.options));
  const shared = isShared ? line.texts('option') : [];
  const reference = readFormat(line, 'reference-', name, [...shared, ...ownOptions], fitting);
  return sound && first && reference ? { reference, tracker: first, trackers } : null;
}

/** A tracker in rows of numbers beside a reference of VisDrone has its columns too. */
function trackerFormat(seen: string | null, reference: string | null): string {
  if (reference === 'visdrone' && (seen === null || seen === 'motchallenge')) return 'visdrone';
  return seen ?? reference ?? DEFAULT_FORMAT;
}

/** What the command line says about one tracker: before the first one about all. */
function optionsOfTracker(line: CommandLine, tracker: string): string[] {
  const options: string[] = [];
  let current: string | null = null;
  for (const { name, value } of line.order) {
    if (name === 'tracker') current = value;
    if (current !== null && current !== tracker) continue;
    if (name === 'tracker-option') options.push(value);
    if (name === 'box') options.push(`box=${value}`);
  }
  return options;
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
  const table: OptionTable = { ...REREADING_OPTIONS, ...adapter.options };
  const options: Record<string, unknown> = { ...standard };
  for (const pair of pairs) {
    const [, key, text] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
    if (key === undefined) line.wrong(`--${prefix}option must be KEY=VALUE, got "${pair}"`);
    else options[key] = optionFromText(table, key, text);
  }
  const format = fileFormat(name, options);
  if (!Array.isArray(format)) return format;
  const seen = line.has(`${prefix}format`) || line.has('format') ? '' : ` (the files look like ${name})`;
  for (const { path, value, message } of format) {
    const came = value === undefined ? '' : ` (got ${JSON.stringify(value)})`;
    line.wrong(`--${prefix}option ${path}: ${message}${came}${seen}`);
  }
  return null;
}

/** The format of a file or folder, by its content; null where nothing tells. */
export function formatOf(path: string): string | null {
  try {
    if (!isFolder(path)) return recognize({ head: headOf(path), entries: null });
    const entries = readdirSync(path).sort();
    const first = firstFile(path);
    const found = recognize({ head: first === null ? '' : headOf(first), entries });
    return found ?? (first === null ? null : recognize({ head: headOf(first), entries: null }));
  } catch {
    // what cannot be read is told by whoever reads it
    return null;
  }
}

function headOf(file: string): string {
  const handle = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(HEAD_CHARS);
    const length = readSync(handle, bytes, 0, HEAD_CHARS, 0);
    // packed, or not in UTF-8
    if (bytes[0] === 0x1f || bytes[0] >= 0xfe) return readText(file).slice(0, HEAD_CHARS);
    return bytes.toString('utf8', 0, length);
  } finally {
    closeSync(handle);
  }
}

/** What to say of a format that gives boxes where points are wanted, if it can give points. */
export const pointRemedy = ({ options }: Adapter): string =>
  'shape' in options ? '; if they are points, say --option shape=point' : '';

/** The same with FILE_OPTIONS: --classes, --all-rows and --preprocess belong to the formats of benchmarks. */
export function readFileFormats(line: CommandLine): FileFormats | null {
  const options: Record<string, unknown> = {};
  const classes = line.text('classes')?.split(',');
  if (classes) options.classes = classes.every((one) => /^\d+$/.test(one)) ? classes.map(Number) : classes;
  if (line.has('all-rows')) options.allRows = true;
  if (line.has('classes') && !checkClasses(line, classes!)) delete options.classes;
  const formats = readFormats(line, options);
  if (!formats) return null;
  const { reference, tracker } = formats;
  const { name } = reference.adapter;
  if (line.has('all-rows') && !('allRows' in reference.adapter.options))
    line.wrong(`--all-rows needs a reference in format motchallenge; see --formats for what ${name} has`);
  checkRules(line, formats);
  if (reference.shape !== tracker.shape)
    line.wrong(
      `the reference holds ${SHAPES[reference.shape]} and the trackers ${SHAPES[tracker.shape]}; both need the same`,
    );
  return formats;
}

/** Classes are numbers where the reference has them as numbers. */
function checkClasses(line: CommandLine, classes: readonly string[]): boolean {
  const path = line.text('reference');
  const name = line.text('reference-format') ?? line.text('format') ?? (path ? formatOf(path) : null) ?? DEFAULT_FORMAT;
  const sound = classes.every((one) => (name === 'motchallenge' ? /^[1-9]\d*$/.test(one) : one !== ''));
  if (!sound) line.wrong(`--classes must be whole numbers separated by commas, got "${line.text('classes')}"`);
  return sound;
}

function checkRules(line: CommandLine, { reference, trackers }: FileFormats): void {
  const option = line.has('preprocess') ? 'preprocess' : 'ignore-rules';
  const rules = line.text(option) as Rules | undefined;
  if (!rules) return;
  const wanted = RULES_FORMAT[rules];
  // regions of a reference concern boxes of any format; the other rules know the rows of both files
  const others = rules === 'visdrone' || rules === 'ua-detrac' ? [] : trackers.values();
  for (const { adapter } of [reference, ...others])
    if (adapter.name !== wanted)
      line.wrong(`--${option} ${rules} is for files in format ${wanted}, and these are ${adapter.name}`);
}

/** A table of formats and their options, for people. */
export function formatHelp(): string {
  const lines = ['Formats of files and feeds, with their options (--option KEY=VALUE):'];
  for (const { name, title, options } of adapters.values())
    lines.push('', `${name}: ${title}`, ...optionLines(options));
  lines.push('', 'files of every format, where it has no option of that name:', ...optionLines(REREADING_OPTIONS));
  return lines.join('\n');
}

function optionLines(options: OptionTable): string[] {
  return Object.entries(options).map(([key, spec]) => {
    const choices = spec.kind === 'choice' ? ` [${spec.choices.join('|')}]` : '';
    const standard = spec.required ? ' (needed)' : spec.default === undefined ? '' : ` (default ${spec.default})`;
    return `  ${key.padEnd(16)} ${spec.help}${choices}${standard}`;
  });
}
