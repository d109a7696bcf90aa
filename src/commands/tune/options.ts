/**
 * The command line of `tgospa tune`. Invariant: a TuneJob that is returned can be carried out, as far as that can be
 * said before a file is read; otherwise one UsageError lists every mistake.
 */

import { BOX_DISTANCES, DISTANCES, type DistanceName } from '../../metric/params.js';
import { TUNING_DEFAULTS, type TuningOptions, tuningProblems } from '../../tuning/tuning.js';
import { NAME_PATTERN, NAME_RULE } from '../../wire/feed.js';
import { CommandLine, type OptionGroup, optionHelp } from '../console/options.js';
import { FILE_OPTIONS, type FileFormats, pointRemedy, readFileFormats } from '../files/formats.js';
import { readingOf } from '../files/pair-reader.js';
import type { SampleFiles, TuneGroup } from './samples.js';

export interface TuneJob {
  /** null: the built-in scene */
  files: SampleFiles | null;
  tuning: TuningOptions;
  yaml: string | null;
  html: string | null;
  json: boolean;
}

const GROUPS: OptionGroup[] = [
  {
    title: 'What to look at',
    options: {
      reference: {
        value: 'FILE',
        repeat: true,
        help: 'the feed taken as the truth, such as ground truth; or a folder of sequences (MOTChallenge, KITTI)',
      },
      tracker: {
        value: 'FILE',
        repeat: true,
        help: 'output of a tracker, or detections, or a folder of them; belongs to the --reference before it',
      },
      ...FILE_OPTIONS,
      demo: { help: 'use three simulated trackers in a built-in scene instead of files' },
    },
  },
  {
    title: 'How pairs are found',
    options: {
      distance: {
        value: 'NAME',
        choices: DISTANCES,
        help: `${DISTANCES.join(', ')} (default iou for boxes, euclidean for points)`,
      },
      reach: {
        value: 'D',
        help: 'large cut-off up to which pairs are searched (default 1 for iou, otherwise ten times the usual distance)',
      },
      steps: { value: 'N', help: `steps of the histogram (default ${TUNING_DEFAULTS.steps})` },
    },
  },
  {
    title: 'Where the intervals lie',
    options: {
      'growth-share': {
        value: 'S',
        help: `growth ends below this share of the highest increment (default ${TUNING_DEFAULTS.growthShare})`,
      },
      'distant-share': {
        value: 'S',
        help: `the plateau ends below this share (default ${TUNING_DEFAULTS.distantShare})`,
      },
      plateau: { value: 'A,B', help: 'set the plateau from A to B, regardless of the increments' },
    },
  },
  {
    title: 'What to choose yourself',
    options: {
      cutoff: { value: 'C', help: 'cut-off (default: the middle of the plateau)' },
      'admissible-error': {
        value: 'A',
        help: 'admissible error (default: the start of the plateau, but at least C/2)',
      },
      exponent: { value: 'P', help: 'or the exponent itself (>= 1)' },
      'short-switch-distance': {
        value: 'G',
        help: 'short changes count: a change between two tracks this close is a switch (G < C; default A/2; for detections, no switches)',
      },
      'long-switch-frames': { value: 'N', help: 'only changes that last longer than N frames count as switches' },
      'switch-penalty': { value: 'S', help: 'or the switch penalty itself; 0: switches cost nothing' },
      'miss-share': { value: 'R', help: 'a miss costs R c^p, a false object (1-R) c^p (default 0.5)' },
      window: {
        value: 'T',
        help: `length of the sliding window it is meant for, in frames (default ${TUNING_DEFAULTS.windowFrames})`,
      },
      name: { value: 'NAME', help: `name of the profile (default ${TUNING_DEFAULTS.name})` },
    },
  },
  {
    title: 'What to print',
    options: {
      yaml: { value: 'FILE', help: 'write the profile as a section of tgospa.yaml; - prints only that' },
      html: { value: 'FILE', help: 'write a report: plots, pairs to look at, scores' },
      json: { help: 'print everything as JSON instead of the summary' },
      'no-scores': { help: 'do not score the trackers; scoring takes most of the time' },
      'budget-ms': {
        value: 'MS',
        help: `time for each score (default ${TUNING_DEFAULTS.budgetMs}); results not proven by then are marked`,
      },
      formats: { help: 'list the formats and their options' },
      help: { help: 'print this text' },
    },
  },
];

/** Options of the library, by the names of the command line. */
const WORDS: Record<string, keyof TuningOptions> = {
  reach: 'reach',
  steps: 'steps',
  'growth-share': 'growthShare',
  'distant-share': 'distantShare',
  cutoff: 'cutoff',
  'admissible-error': 'admissibleError',
  exponent: 'exponent',
  'short-switch-distance': 'shortSwitchDistance',
  'long-switch-frames': 'longSwitchFrames',
  'switch-penalty': 'switchPenalty',
  'miss-share': 'missShare',
  window: 'windowFrames',
  'budget-ms': 'budgetMs',
};

/** The text of `tgospa tune --help`. */
export function tuneHelp(): string {
  return [
    'tgospa tune: proposes the parameters of a profile from sample data, and says what they mean.',
    '',
    'Usage: tgospa tune --reference gt.txt --tracker a.txt [--tracker b.txt ...] [options]',
    '       tgospa tune --reference gt1.txt --tracker a1.txt --reference gt2.txt --tracker a2.txt ...',
    '       tgospa tune --reference MOT17/train --tracker results/a --tracker results/b',
    '       tgospa tune --demo',
    ...optionHelp(GROUPS),
    '',
    'The method: match every frame on its own with a large cut-off, and see how the result grows with the distance. Correct',
    'pairs make it grow rapidly; then follows a plateau, where the cut-off hardly matters: choose it there.',
    '',
    'Exit code: 0 success; 1 a file is malformed, or nothing can be proposed; 2 wrong options.',
  ].join('\n');
}

export const tuneLine = (args: string[]): CommandLine => new CommandLine('tune', GROUPS, args);

/** Turns a command line into a job, or throws one UsageError that lists every mistake. */
export function readTuneJob(line: CommandLine): TuneJob {
  const job: TuneJob = {
    files: line.has('demo') ? null : readFiles(line),
    tuning: readTuning(line),
    yaml: line.text('yaml') ?? null,
    html: line.text('html') ?? null,
    json: line.has('json'),
  };
  line.refuse('demo', ['reference', 'tracker', ...Object.keys(FILE_OPTIONS)], 'it brings its own scene');
  line.refuse('all-rows', ['classes'], 'all rows means all classes');
  if (job.yaml === '-') line.refuse('json', ['yaml'], 'only one of them can be printed; give --yaml a file');
  line.throwMistakes();
  return job;
}

function readFiles(line: CommandLine): SampleFiles | null {
  const groups = readGroups(line);
  const formats = readFormatsToTune(line);
  if (!formats) return null;
  const ofFolders = formats.reference.adapter.frameOfFile !== undefined;
  return { groups, reading: readingOf(line, formats), ofFolders };
}

function readFormatsToTune(line: CommandLine): FileFormats | null {
  const formats = readFileFormats(line);
  if (!formats) return null;
  const { shape, adapter } = formats.tracker;
  const distance = line.text('distance') as DistanceName | undefined;
  if (shape === 'point' && distance && BOX_DISTANCES.has(distance))
    line.wrong(`--distance ${distance} compares boxes, but format ${adapter.name} gives points`);
  if (shape === 'box' && distance === 'geodesic')
    line.wrong(
      `--distance geodesic compares latitudes and longitudes, but format ${adapter.name} gives boxes${pointRemedy(adapter)}`,
    );
  return formats;
}

/** A tracker belongs to the last reference before it. */
function readGroups(line: CommandLine): TuneGroup[] {
  const groups: TuneGroup[] = [];
  for (const { name, value } of line.order) {
    if (name === 'reference') groups.push({ reference: value, trackers: [] });
    if (name !== 'tracker') continue;
    const group = groups.at(-1);
    if (!group) line.wrong(`--tracker ${value} comes before any --reference; put its reference first`);
    else if (group.trackers.includes(value)) line.wrong(`--tracker ${value} is given twice`);
    else group.trackers.push(value);
  }
  if (groups.length === 0) line.wrong('--reference FILE is missing (or try --demo)');
  for (const { reference, trackers } of groups)
    if (trackers.length === 0) line.wrong(`--reference ${reference} has no --tracker FILE after it; give at least one`);
  return groups;
}

function readTuning(line: CommandLine): TuningOptions {
  const tuning: TuningOptions = { scores: !line.has('no-scores') };
  const distance = line.text('distance');
  if (distance !== undefined) tuning.distance = distance as DistanceName;
  const name = line.text('name');
  if (name !== undefined) tuning.name = name;
  if (name !== undefined && !NAME_PATTERN.test(name)) line.wrong(`--name "${name}" is no name: it ${NAME_RULE}`);
  const numbers = tuning as Record<string, unknown>;
  for (const [option, word] of Object.entries(WORDS)) if (line.has(option)) numbers[word] = line.number(option);
  if (line.has('plateau')) tuning.plateau = readPlateau(line);
  // whether 'iou' is the distance, only the files know
  const known: TuningOptions = { ...tuning, distance: tuning.distance ?? (line.has('demo') ? 'iou' : 'euclidean') };
  if (line.mistakes.length === 0)
    for (const { path, value, message } of tuningProblems(known))
      line.wrong(inOptionNames(`${path} ${message}, got ${Array.isArray(value) ? value.join(',') : String(value)}`));
  return tuning;
}

function readPlateau(line: CommandLine): [number, number] {
  const text = line.text('plateau') ?? '';
  const numbers = text.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  if (numbers.length !== 2 || numbers.some((value) => !Number.isFinite(value)))
    line.wrong(`--plateau must be two numbers with a comma between them, e.g. 0.17,0.34, got "${text}"`);
  return [numbers[0], numbers[1]];
}

/** The library's growthShare is the command line's --growth-share. */
export function inOptionNames(message: string): string {
  const optionOf = new Map(Object.entries({ ...WORDS, plateau: 'plateau' }).map(([option, word]) => [word, option]));
  // of words that are ordinary English too, only the one at the beginning is a name
  return message.replace(/[A-Za-z]+/g, (word, at) =>
    optionOf.has(word) && (at === 0 || /[A-Z]/.test(word)) ? `--${optionOf.get(word)}` : word,
  );
}
