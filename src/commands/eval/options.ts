/**
 * The command line of `tgospa eval`: one table of options, from which parsing, checking and the help text follow.
 * Invariant: a Job that is returned can be carried out; otherwise one UsageError lists every mistake.
 */

import { RULES } from '../../../adapters/kit/preprocessing.js';
import { InputError } from '../../metric/input-error.js';
import { BOX_DISTANCES, DISTANCES, type DistanceName, type Params, presets, profile } from '../../metric/params.js';
import type { SolveOptions } from '../../metric/solve-options.js';
import type { SavedMoment } from '../../wire/moment.js';
import { CommandLine, type OptionGroup, optionHelp } from '../console/options.js';
import { checkWritable } from '../console/output-file.js';
import type { Yardstick } from '../files/doctor.js';
import { FILE_OPTIONS, type FileFormats, pointRemedy, readFileFormats } from '../files/formats.js';
import { MOMENT_FILE, readMomentFile } from '../files/moments.js';
import { CLASS_OPTIONS, type PairReading, readingOf } from '../files/pair-reader.js';
import { PAIRING_OPTIONS } from '../files/pairing.js';
import { readCoverage } from './sequence/coverage.js';
import type { JudgingTerms, NamedProfile } from './sequence/verdict.js';

/** What is to be done. */
export interface Job {
  /** null: the built-in scene, or a moment */
  files: JobFiles | null;
  /** a file that the page saved */
  moment: SavedMoment | null;
  profiles: NamedProfile[];
  solve: SolveOptions;
  /** the companion scores too */
  scores: boolean;
  /** the numbers of surveillance too, with so many frames in a second; null: not asked for */
  performance: { frameRate: number | null } | null;
  /** a file that says what of the scene is judged */
  coverage: string | null;
  /** null: as many as there are cores */
  threads: number | null;
  /** null: whole sequences */
  windowFrames: number | null;
  csv: string | null;
  html: string | null;
  /** which frames and objects, as rows */
  events: string | null;
  json: boolean;
}

/** Before the work: whether its results can be written. */
export function checkOutputs({ html, csv, events }: Job): void {
  for (const file of [html, csv, events]) if (file !== null) checkWritable(file);
}

/** How a job judges. */
export const termsOf = ({ profiles, solve, scores, events, html, coverage }: Job): JudgingTerms => ({
  profiles,
  coverage: coverage === null ? null : readCoverage(coverage, profiles[0].params.distance),
  solve,
  scores,
  events: events !== null,
  details: html !== null,
});

/** Files, or folders: a study. Without a feed that is believed, the reference may be empty. */
export interface JobFiles {
  reference: string;
  trackers: string[];
  formats: FileFormats;
  reading: PairReading;
  /** a table for every class */
  perClass: boolean;
}

const PROFILES = Object.keys(presets) as Array<keyof typeof presets>;
const DEFAULT_PROFILE = 'online-surveillance';
const DEMO_PROFILES = ['online-surveillance', 'offline-scene-understanding'];

const GROUPS: OptionGroup[] = [
  {
    title: 'What to compare',
    options: {
      reference: {
        value: 'PATH',
        help: 'the feed taken as the truth: ground truth, or another tracker; a folder of sequences (MOTChallenge, KITTI) makes it a study',
      },
      tracker: {
        value: 'PATH',
        repeat: true,
        help: 'a feed to judge; in a study, a folder with one file per sequence, or a folder of such folders',
      },
      symmetric: { help: 'take no feed as the truth: compare the given feeds with each other' },
      annotations: {
        help: 'with --symmetric: the feeds are annotations, so flags and classes decide which rows count',
      },
      ...FILE_OPTIONS,
      ...CLASS_OPTIONS,
      demo: { help: 'judge three simulated trackers in a built-in scene instead of files' },
    },
  },
  {
    title: 'What is not judged',
    options: {
      coverage: {
        value: 'FILE',
        help: 'JSON file: what the reference knows (complete, coverage, transponder), its regions, and regions to ignore',
      },
      'ignore-rules': {
        value: 'NAME',
        choices: RULES,
        help: 'reduce the cost of tracks near objects that this benchmark ignores, the more the closer they are (--preprocess removes them instead)',
      },
    },
  },
  { title: 'How frames are paired', options: PAIRING_OPTIONS },
  {
    title: 'How to judge: by a published profile',
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
    title: 'How to judge: by your own parameters instead',
    options: {
      distance: {
        value: 'NAME',
        choices: DISTANCES,
        help: 'for boxes iou (default), hausdorff or wasserstein; for points or box centres euclidean; for latitude and longitude geodesic, in metres',
      },
      cutoff: { value: 'C', help: 'objects this far apart or farther are never paired' },
      'admissible-error': { value: 'A', help: 'an error above A is worse than no estimate at all (C/2 <= A < C)' },
      exponent: { value: 'P', help: 'or the exponent itself (>= 1)' },
      'short-switch-distance': {
        value: 'G',
        help: 'short changes count: a change between two tracks this close is a switch (G < C)',
      },
      'long-switch-frames': { value: 'N', help: 'only changes that last longer than N frames count as switches' },
      'switch-penalty': {
        value: 'S',
        help: 'or the switch penalty itself; 0: switches cost nothing (per-frame GOSPA)',
      },
    },
  },
  {
    title: 'How to solve',
    options: {
      solver: {
        value: 'NAME',
        choices: ['auto', 'lp'],
        help: 'auto (default): exact; lp: the LP metric, by the simplex method alone',
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
      window: { value: 'T', help: 'evaluate a sliding window of T frames instead, as one CSV row per frame' },
      'per-class': { help: 'a table for every class in the files, or in --classes' },
      scores: { help: 'add HOTA, MOTA, IDF1 and their parts, and say where they disagree with TGOSPA' },
      performance: { help: 'add PD, SIAP, position error, gaps, latency and bias, from the same assignment' },
      'frame-rate': {
        value: 'FPS',
        help: 'frames per second, for rates and times of files that only have frame numbers',
      },
      html: { value: 'FILE', help: 'write a report: tables, cost over time, which track follows which object' },
      csv: {
        value: 'FILE',
        help: 'write the results as rows; with --window, write the series and print a chart of it',
      },
      events: { value: 'FILE', help: 'write which objects are missed, false or switched in which frames, as rows' },
      threads: { value: 'N', help: 'threads for a study (default: by the size of the files, at most one per core)' },
      json: { help: 'print the results as JSON, with every frame and assignment' },
      formats: { help: 'list the formats and their options' },
      help: { help: 'print this text' },
    },
  },
];

// parameters that replace a profile, by the names that the library has for them
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
    'tgospa eval: ranks trackers by TGOSPA distance from a reference, and shows where it comes from.',
    '',
    'Usage: tgospa eval --reference gt.txt --tracker a.txt [--tracker b.txt ...] [options]',
    '       tgospa eval --reference MOT17/train --tracker results [--html FILE] [options]',
    '       tgospa eval --symmetric --tracker a.txt --tracker b.txt [options]',
    '       tgospa eval --demo',
    '       tgospa eval FILE.moment.json',
  ];
  lines.push(...optionHelp(GROUPS));
  lines.push('', 'Exit code: 0 success; 1 a file cannot be read or is malformed; 2 wrong options.');
  return lines.join('\n');
}

export const evalLine = (args: string[]): CommandLine => new CommandLine('eval', GROUPS, args, MOMENT_FILE);

/** Turns a command line into a job, or throws one UsageError that lists every mistake. */
export function readJob(line: CommandLine): Job {
  const moment = readMomentOf(line);
  const profiles = readProfiles(line, moment);
  const job: Job = {
    files: line.has('demo') || line.files.length > 0 ? null : readFiles(line),
    moment,
    profiles,
    solve: {
      solver: line.text('solver') as SolveOptions['solver'],
      exactness: line.text('exactness') as SolveOptions['exactness'],
    },
    scores: line.has('scores'),
    coverage: line.text('coverage') ?? null,
    performance: line.has('performance') ? { frameRate: readRate(line) } : null,
    threads: line.has('threads') ? readWhole(line, 'threads', 'threads') : null,
    html: line.text('html') ?? null,
    windowFrames: line.has('window') ? readWhole(line, 'window', 'frames') : null,
    csv: line.text('csv') ?? null,
    events: line.text('events') ?? null,
    json: line.has('json'),
  };
  line.refuse(
    'demo',
    ['reference', 'tracker', 'symmetric', ...Object.keys({ ...FILE_OPTIONS, ...PAIRING_OPTIONS })],
    'it brings its own scene',
  );
  line.refuse('json', ['window'], 'the window is written as CSV');
  line.refuse('html', ['window'], 'the report is on whole sequences');
  for (const name of ['coverage', 'ignore-rules'])
    line.refuse(name, ['symmetric', 'window', 'scores', 'demo'], 'they know nothing of what is not judged');
  line.refuse('ignore-rules', ['preprocess'], 'tracks that were taken out cannot cost less');
  line.refuse('window', ['events', 'performance'], 'they are of whole sequences');
  if (line.has('frame-rate') && !line.has('performance')) line.wrong('--frame-rate needs --performance');
  line.refuse(
    'symmetric',
    ['window', 'html', 'csv', 'events', 'performance'],
    'the comparison is printed, or given as JSON',
  );
  line.refuse('symmetric', ['per-class'], 'classes belong to a reference');
  line.refuse('window', ['per-class'], 'the series is one; choose a class with --classes');
  line.refuse('symmetric', ['preprocess', 'miss-share'], 'no feed is believed more than another');
  if (line.has('annotations') && !line.has('symmetric')) line.wrong('--annotations needs --symmetric');
  line.refuse('all-rows', ['classes'], 'all rows means all classes');
  if (line.text('preprocess') !== 'kitti' && line.text('preprocess') !== 'visdrone')
    line.refuse('preprocess', ['all-rows', 'classes'], 'the benchmark counts active pedestrians only');
  line.throwMistakes();
  if (job.files) job.files.reading.yardstick = yardstickOf(profiles[0]);
  return job;
}

/** What counts as a match; centres of boxes are not looked at, boxes are. */
function yardstickOf({ params: { distance, cutoff } }: NamedProfile): Yardstick {
  return { distance, cutoff };
}

function readFiles(line: CommandLine): JobFiles | null {
  const reference = line.text('reference');
  const trackers = line.texts('tracker');
  if (line.has('symmetric')) {
    if (trackers.length + (reference === undefined ? 0 : 1) < 2)
      line.wrong('--symmetric compares at least two feeds; give --tracker PATH twice or more');
  } else {
    if (reference === undefined) line.wrong('--reference FILE is missing (or try --demo)');
    if (trackers.length === 0) line.wrong('--tracker FILE is missing; give at least one');
  }
  const twice = trackers.find((file, index) => trackers.indexOf(file) < index);
  if (twice !== undefined) line.wrong(`--tracker ${twice} is given twice`);
  const formats = readFormatsToJudge(line);
  if (!formats) return null;
  const reading = readingOf(line, formats);
  if (line.has('symmetric')) reading.symmetric = line.has('annotations') ? 'annotations' : 'trackers';
  return { reference: reference ?? '', trackers, formats, reading, perClass: line.has('per-class') };
}

function readFormatsToJudge(line: CommandLine): FileFormats | null {
  const formats = readFileFormats(line);
  const distance = (line.text('distance') ?? 'iou') as DistanceName;
  if (formats?.tracker.shape === 'point' && BOX_DISTANCES.has(distance))
    line.wrong(
      `format ${formats.tracker.adapter.name} gives points; say --distance euclidean or geodesic, --cutoff and the others in their unit`,
    );
  if (formats?.tracker.shape === 'box' && distance === 'geodesic')
    line.wrong(
      `--distance geodesic compares latitudes and longitudes, but format ${formats.tracker.adapter.name} gives boxes${pointRemedy(formats.tracker.adapter)}`,
    );
  return formats;
}

function readRate(line: CommandLine): number | null {
  if (!line.has('frame-rate')) return null;
  return line.numberWhere('frame-rate', 1, (value) => value > 0, 'a number above 0');
}

function readWhole(line: CommandLine, name: string, unit: string): number {
  const count = line.number(name) ?? 0;
  if (!Number.isNaN(count) && !(Number.isInteger(count) && count >= 1))
    line.wrong(`--${name} must be a whole number of ${unit}, at least 1, got "${line.text(name)}"`);
  return count;
}

/** The one moment that is named, unless the command line is wrong anyway. */
function readMomentOf(line: CommandLine): SavedMoment | null {
  const [file, ...more] = line.files;
  if (file === undefined) return null;
  if (more.length > 0) line.wrong('only one moment can be judged at a time; name one file');
  for (const name of [
    'demo',
    'reference',
    'tracker',
    'symmetric',
    ...Object.keys({ ...FILE_OPTIONS, ...PAIRING_OPTIONS }),
  ])
    if (line.has(name)) line.wrong(`--${name} and a moment exclude each other: it brings its own frames`);
  return line.mistakes.length > 0 ? null : readMomentFile(file);
}

function readProfiles(line: CommandLine, moment: SavedMoment | null): NamedProfile[] {
  const own = [...Object.keys(WORDS), 'distance'].filter((name) => line.has(name));
  const names = line.texts('profile');
  const missShare = line.number('miss-share');
  if (names.length > 0 && own.length > 0)
    line.wrong(
      `--profile and --${own[0]} exclude each other: a profile has all its parameters; give them all, or a profile`,
    );
  if (own.length > 0) return names.length > 0 ? [] : ownProfile(line, missShare);
  if (moment && names.length === 0 && missShare === undefined) return [profileOf(moment)];
  const unasked = line.has('demo') ? DEMO_PROFILES : [DEFAULT_PROFILE];
  const chosen = names.length > 0 ? [...new Set(names)] : unasked;
  if (!chosen.every((name) => name in presets)) return [];
  return chosen.flatMap((name) => {
    const params: Params = presets[name as keyof typeof presets];
    return missShare === undefined ? [{ name, params }] : checkedProfile(line, name, { ...params, missShare });
  });
}

/** As it was judged; what makes it a window is not part of a profile. */
function profileOf({ profile: name, params }: SavedMoment): NamedProfile {
  const { windowFrames: _, settleFrames: __, ...own } = params as SavedMoment['params'] & { settleFrames?: number };
  return { name, params: own };
}

function ownProfile(line: CommandLine, missShare: number | undefined): NamedProfile[] {
  const words: Record<string, unknown> = { distance: line.text('distance') ?? 'iou' };
  for (const [name, word] of Object.entries(WORDS)) if (line.has(name)) words[word] = line.number(name);
  if (missShare !== undefined) words.missShare = missShare;
  if (line.mistakes.length > 0) return [];
  return checkedProfile(line, 'own', words as unknown as Params);
}

function checkedProfile(line: CommandLine, name: string, words: Params): NamedProfile[] {
  try {
    return [{ name, params: profile(words) }];
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    for (const { path, value, message } of error.problems) {
      const came = typeof value === 'number' ? `, got "${value}"` : '';
      line.wrong(inOptionNames(`${path}: ${message}`) + came);
    }
    return [];
  }
}

/** The library's admissibleError is the command line's --admissible-error. */
function inOptionNames(message: string): string {
  const optionOf = new Map(
    Object.entries({ ...WORDS, 'miss-share': 'missShare' }).map(([option, word]) => [word, option]),
  );
  return message.replace(/\w+/g, (word) => (optionOf.has(word) ? `--${optionOf.get(word)}` : word));
}
