/**
 * The command line of `tgospa eval`: one table of options, from which parsing, checking and the help text follow.
 * Invariant: a Job that is returned can be carried out; otherwise one UsageError lists every mistake.
 */

import type { Preprocessing } from '../../../adapters/formats/motchallenge.js';
import { InputError, type Params, presets, profile, type SolveOptions } from '../../index.js';
import { Given, type OptionGroup, optionHelp } from '../console/options.js';
import { FILE_OPTIONS, readClasses, readFileFormats } from '../files/file-options.js';
import type { FileFormats } from '../files/recordings.js';
import type { NamedProfile } from './verdict.js';

export type { NamedProfile };

/** What is to be done. */
export interface Job {
  /** null: the built-in scene; folders: a study; without a believed feed the reference may be empty */
  files: { reference: string; trackers: string[]; formats: FileFormats } | null;
  profiles: NamedProfile[];
  solve: SolveOptions;
  preprocess?: Preprocessing;
  classes?: number[];
  allRows: boolean;
  /** a format was named, not defaulted */
  formatGiven: boolean;
  /** feeds are compared with each other; what they are */
  symmetric: 'trackers' | 'annotations' | null;
  /** the companion scores too */
  scores: boolean;
  /** null: as many as there are cores */
  threads: number | null;
  /** null: whole sequences */
  windowFrames: number | null;
  csv: string | null;
  html: string | null;
  json: boolean;
  help: boolean;
  /** only list the formats */
  listFormats: boolean;
}

const DISTANCES = ['iou', 'hausdorff', 'wasserstein', 'euclidean'] as const;
const PROFILES = Object.keys(presets) as Array<keyof typeof presets>;
const DEFAULT_PROFILE = 'online-surveillance';
const DEMO_PROFILES = ['online-surveillance', 'offline-scene-understanding'];

const GROUPS: OptionGroup[] = [
  {
    title: 'What to compare',
    options: {
      reference: {
        value: 'PATH',
        help: 'the feed that is believed: ground truth, or another tracker; a folder of sequences (MOTChallenge, KITTI) is a study',
      },
      tracker: {
        value: 'PATH',
        repeat: true,
        help: 'a feed that is judged; in a study a folder with a file per sequence, or of such folders',
      },
      symmetric: { help: 'no feed is believed: compare the feeds given with each other' },
      annotations: { help: 'with --symmetric: the feeds are annotations, whose rows count by flag and class' },
      ...FILE_OPTIONS,
      demo: { help: 'judge three simulated trackers in the built-in scene instead of files' },
    },
  },
  {
    title: 'How to judge, by a published profile',
    options: {
      profile: {
        value: 'NAME',
        repeat: true,
        choices: PROFILES,
        help: `${PROFILES.join(', ')} (default ${DEFAULT_PROFILE})`,
      },
      'miss-share': { value: 'R', help: 'a miss costs R c^p, a false object (1-R) c^p (default 0.5)' },
    },
  },
  {
    title: 'How to judge, by your own parameters instead',
    options: {
      distance: { value: 'NAME', choices: DISTANCES, help: `${DISTANCES.join(', ')} of box centres (default iou)` },
      cutoff: { value: 'C', help: 'objects this far apart or farther are never a pair' },
      'admissible-error': { value: 'A', help: 'an error above A is worse than no estimate at all (C/2 <= A < C)' },
      exponent: { value: 'P', help: 'or the exponent itself (>= 1)' },
      'short-switch-distance': { value: 'G', help: 'short changes count: two tracks this close are a switch (G < C)' },
      'long-switch-frames': { value: 'N', help: 'only changes that last longer than N frames count' },
      'switch-penalty': { value: 'S', help: 'or the switch penalty itself; 0: no switches, per-frame GOSPA' },
    },
  },
  {
    title: 'How to solve',
    options: {
      solver: {
        value: 'NAME',
        choices: ['auto', 'lp'],
        help: 'auto: exact (default); lp: the LP metric, by simplex alone',
      },
      exactness: {
        value: 'NAME',
        choices: ['lp', 'force'],
        help: 'force: finish fractional optima by branch and bound',
      },
    },
  },
  {
    title: 'What to print',
    options: {
      window: { value: 'T', help: 'slide a window of T frames instead: one CSV row per frame' },
      scores: { help: 'HOTA, MOTA, IDF1 and their parts beside it, and where they disagree' },
      html: { value: 'FILE', help: 'write a report: tables, cost over time, who follows whom' },
      csv: { value: 'FILE', help: 'write the results as rows; with --window its series, and print a drawing of them' },
      threads: { value: 'N', help: 'of a study (default: all cores)' },
      json: { help: 'print the evaluations as JSON, with every frame and assignment' },
      formats: { help: 'list the formats and their options' },
      help: { help: 'print this text' },
    },
  },
];

// the parameters one may give instead of a profile, by the names the library knows them
const WORDS: Record<string, string> = {
  cutoff: 'cutoff',
  'admissible-error': 'admissibleError',
  exponent: 'exponent',
  'short-switch-distance': 'shortSwitchDistance',
  'long-switch-frames': 'longSwitchFrames',
  'switch-penalty': 'switchPenalty',
};

/** The text of `tgospa eval --help`. */
export function evalHelp(): string {
  const lines = [
    'tgospa eval: ranks trackers by their TGOSPA distance to a reference and says where it comes from.',
    '',
    'Usage: tgospa eval --reference gt.txt --tracker a.txt [--tracker b.txt ...] [options]',
    '       tgospa eval --reference MOT17/train --tracker results [--html FILE] [options]',
    '       tgospa eval --symmetric --tracker a.txt --tracker b.txt [options]',
    '       tgospa eval --demo',
  ];
  lines.push(...optionHelp(GROUPS));
  lines.push('', 'Exit code: 0 done, 1 a file could not be read or is malformed, 2 wrong options.');
  return lines.join('\n');
}

/** Turns arguments into a job, or throws one UsageError that lists every mistake. */
export function parseJob(args: string[]): Job {
  const given = new Given('eval', GROUPS, args);
  if (given.has('help')) return { ...emptyJob(), help: true };
  if (given.has('formats')) return { ...emptyJob(), listFormats: true };
  const job: Job = {
    ...emptyJob(),
    files: given.has('demo') ? null : readFiles(given),
    profiles: readProfiles(given),
    solve: {
      solver: given.text('solver') as SolveOptions['solver'],
      exactness: given.text('exactness') as SolveOptions['exactness'],
    },
    preprocess: given.text('preprocess') as Preprocessing | undefined,
    classes: given.text('classes') === undefined ? undefined : readClasses(given),
    allRows: given.has('all-rows'),
    formatGiven: given.has('format') || given.has('reference-format'),
    symmetric: given.has('symmetric') ? (given.has('annotations') ? 'annotations' : 'trackers') : null,
    scores: given.has('scores'),
    threads: given.has('threads') ? readWhole(given, 'threads', 'threads') : null,
    html: given.text('html') ?? null,
    windowFrames: given.has('window') ? readWhole(given, 'window', 'frames') : null,
    csv: given.text('csv') ?? null,
    json: given.has('json'),
  };
  given.refuse('demo', ['reference', 'tracker', 'symmetric', ...Object.keys(FILE_OPTIONS)], 'it brings its own scene');
  given.refuse('json', ['window'], 'the window is written as CSV');
  given.refuse('html', ['window'], 'the report is on whole sequences');
  given.refuse('symmetric', ['window', 'html', 'csv'], 'the comparison is printed, or given as JSON');
  given.refuse('symmetric', ['preprocess', 'miss-share'], 'no feed is believed more than another');
  if (given.has('annotations') && !given.has('symmetric')) given.wrong('--annotations needs --symmetric');
  given.refuse('all-rows', ['classes'], 'all rows means all classes');
  given.refuse('preprocess', ['all-rows', 'classes'], 'the benchmark counts active pedestrians only');
  given.throwMistakes();
  return job;
}

function emptyJob(): Job {
  const nothing = { files: null, symmetric: null, threads: null, windowFrames: null, csv: null, html: null };
  const switches = { allRows: false, formatGiven: false, scores: false, json: false, help: false, listFormats: false };
  return { ...nothing, ...switches, profiles: [], solve: {} };
}

function readFiles(given: Given): Job['files'] {
  const reference = given.text('reference');
  const trackers = given.texts('tracker');
  if (given.has('symmetric')) {
    if (trackers.length + (reference === undefined ? 0 : 1) < 2)
      given.wrong('--symmetric compares at least two feeds; give --tracker PATH twice or more');
  } else {
    if (reference === undefined) given.wrong('--reference FILE is missing (or try --demo)');
    if (trackers.length === 0) given.wrong('--tracker FILE is missing; give at least one');
  }
  const twice = trackers.find((file, index) => trackers.indexOf(file) < index);
  if (twice !== undefined) given.wrong(`--tracker ${twice} is given twice`);
  const formats = readFormatsToJudge(given);
  return formats && { reference: reference ?? '', trackers, formats };
}

function readFormatsToJudge(given: Given): FileFormats | null {
  const formats = readFileFormats(given);
  if (formats?.tracker.shape === 'point' && (given.text('distance') ?? 'iou') !== 'euclidean')
    given.wrong(
      `format ${formats.tracker.adapter.name} gives points; say --distance euclidean, --cutoff and the others in their unit`,
    );
  return formats;
}

function readWhole(given: Given, name: string, unit: string): number {
  const count = given.number(name) ?? 0;
  if (!Number.isNaN(count) && !(Number.isInteger(count) && count >= 1))
    given.wrong(`--${name} must be a whole number of ${unit}, at least 1, got "${given.text(name)}"`);
  return count;
}

function readProfiles(given: Given): NamedProfile[] {
  const own = [...Object.keys(WORDS), 'distance'].filter((name) => given.has(name));
  const names = given.texts('profile');
  const missShare = given.number('miss-share');
  if (names.length > 0 && own.length > 0)
    given.wrong(
      `--profile and --${own[0]} exclude each other: a profile has all its parameters; give them all, or a profile`,
    );
  if (own.length > 0) return names.length > 0 ? [] : ownProfile(given, missShare);
  const unasked = given.has('demo') ? DEMO_PROFILES : [DEFAULT_PROFILE];
  const chosen = names.length > 0 ? [...new Set(names)] : unasked;
  if (!chosen.every((name) => name in presets)) return [];
  return chosen.flatMap((name) => {
    const params: Params = presets[name as keyof typeof presets];
    return missShare === undefined ? [{ name, params }] : checkedProfile(given, name, { ...params, missShare });
  });
}

function ownProfile(given: Given, missShare: number | undefined): NamedProfile[] {
  const words: Record<string, unknown> = { distance: given.text('distance') ?? 'iou' };
  for (const [name, word] of Object.entries(WORDS)) if (given.has(name)) words[word] = given.number(name);
  if (missShare !== undefined) words.missShare = missShare;
  if (given.mistakes.length > 0) return [];
  return checkedProfile(given, 'own', words as unknown as Params);
}

function checkedProfile(given: Given, name: string, words: Params): NamedProfile[] {
  try {
    return [{ name, params: profile(words) }];
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    for (const { path, value, message } of error.problems) {
      const came = typeof value === 'number' ? `, got "${value}"` : '';
      given.wrong(inOptionNames(`${path}: ${message}`) + came);
    }
    return [];
  }
}

/** The library speaks of admissibleError, the command line of --admissible-error. */
function inOptionNames(message: string): string {
  const optionOf = new Map(
    Object.entries({ ...WORDS, 'miss-share': 'missShare' }).map(([option, word]) => [word, option]),
  );
  return message.replace(/\w+/g, (word) => (optionOf.has(word) ? `--${optionOf.get(word)}` : word));
}
