/** The command line of `tgospa eval`: every mistake is reported, together with the others, and with a remedy. */

import assert from 'node:assert/strict';
import { adapters } from '../../../adapters/index.js';
import { evalLine, readJob } from '../../../src/commands/eval/options.js';
import { usageMistakes as mistakesOf } from '../../kit/system/command-line.js';

const usageMistakes = (args: string[]) => mistakesOf((words) => readJob(evalLine(words)), args);

describe('the command line of tgospa eval', () => {
  const given = ['--reference', 'a', '--tracker', 'b'];
  for (const [what, args, expected] of [
    ['no files', [], ['--reference FILE is missing (or try --demo)', '--tracker FILE is missing; give at least one']],
    ['an unknown option', [...given, '--cutof', '1'], ['unknown option --cutof; did you mean --cutoff?']],
    ['a short option', [...given, '-x'], ['unknown option -x; tgospa eval --help lists them all']],
    [
      'an option every object has',
      [...given, '--constructor'],
      ['unknown option --constructor; tgospa eval --help lists them all'],
    ],
    [
      'a file without option',
      [...given, 'c.txt'],
      ['"c.txt" is not an option; files are given with --reference and --tracker'],
    ],
    ['a missing value', [...given, '--window'], ['--window needs a value: --window T']],
    ['a value too many', [...given, '--json=yes'], ['--json takes no value, got "yes"']],
    ['an unknown choice', [...given, '--solver', 'cplex'], ['--solver must be one of auto, lp, got "cplex"']],
    [
      'an unknown format',
      [...given, '--format', 'vot'],
      [`--format vot is unknown; there are ${[...adapters.keys()].join(', ')}`],
    ],
    [
      'options of a format that are wrong',
      [...given, '--format', 'kitti', '--option', 'scale=2'],
      [
        '--option scale: must be a list of 2 numbers above 0; it is: x and y are multiplied by these two numbers, after pixelOffset (got [2])',
      ],
    ],
    [
      'an option for the reference that is none',
      [...given, '--format', 'kitti', '--reference-option', 'x'],
      ['--reference-option must be KEY=VALUE, got "x"'],
    ],
    [
      'rules of the benchmark for another format',
      [...given, '--format', 'kitti', '--preprocess', 'mot20'],
      ['--preprocess mot20 is for files in format motchallenge, and these are kitti'],
    ],
    [
      'points without a distance for points',
      [...given, '--format', 'autoware'],
      ['format autoware gives points; say --distance euclidean or geodesic, --cutoff and the others in their unit'],
    ],
    ['a word for a number', [...given, '--window', 'many'], ['--window must be a number, got "many"']],
    [
      'half a frame',
      [...given, '--window', '1.5'],
      ['--window must be a whole number of frames, at least 1, got "1.5"'],
    ],
    [
      'preprocessing with rows that it drops',
      [...given, '--preprocess', 'motchallenge', '--all-rows'],
      ['--preprocess and --all-rows exclude each other: the benchmark counts active pedestrians only'],
    ],
    ['an option given twice', [...given, '--window', '1', '--window', '2'], ['--window is given twice']],
    ['a tracker given twice', [...given, '--tracker', 'b'], ['--tracker b is given twice']],
    [
      '--json with --window',
      [...given, '--json', '--window', '5'],
      ['--json and --window exclude each other: the window is written as CSV'],
    ],
    [
      '--html with --window',
      [...given, '--html', 'x', '--window', '5'],
      ['--html and --window exclude each other: the report is on whole sequences'],
    ],
    [
      '--symmetric with one feed',
      ['--symmetric', '--tracker', 'b'],
      ['--symmetric compares at least two feeds; give --tracker PATH twice or more'],
    ],
    ['--annotations alone', [...given, '--annotations'], ['--annotations needs --symmetric']],
    ['no threads', [...given, '--threads', '0'], ['--threads must be a whole number of threads, at least 1, got "0"']],
    [
      '--demo with files',
      ['--demo', '--tracker', 'b'],
      ['--demo and --tracker exclude each other: it brings its own scene'],
    ],
    [
      '--all-rows with classes',
      [...given, '--all-rows', '--classes', '1'],
      ['--all-rows and --classes exclude each other: all rows means all classes'],
    ],
    [
      'classes that are none',
      [...given, '--classes', '1,x'],
      ['--classes must be whole numbers separated by commas, got "1,x"'],
    ],
    [
      'a profile with parameters',
      [...given, '--profile', 'detector-training', '--cutoff', '1'],
      ['--profile and --cutoff exclude each other: a profile has all its parameters; give them all, or a profile'],
    ],
  ] as Array<[string, string[], string[]]>) {
    it(`reports once and clearly: ${what}`, () => {
      assert.deepEqual(usageMistakes(args), expected);
    });
  }

  it('names the options when parameters contradict each other, all together', () => {
    const both = usageMistakes([...given, '--cutoff', '0.5', '--exponent', '1', '--admissible-error', '0.3']).join(
      '\n',
    );
    assert.match(both, /--exponent/);
    assert.match(both, /--admissible-error/);
    assert.match(both, /--short-switch-distance/);
    const range = usageMistakes([...given, '--cutoff', '0.5', '--admissible-error', '0.1', '--switch-penalty', '0']);
    assert.equal(range.length, 1);
    assert.match(range[0], /^--admissible-error: .*0\.25/);
    assert.match(usageMistakes([...given, '--miss-share', '1'])[0], /^--miss-share: /);
  });
});
