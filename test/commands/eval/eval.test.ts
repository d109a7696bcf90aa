/** `tgospa eval` as its users meet it: files in, ranking, JSON or series out, and one clear message when something is wrong. */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { adapters } from '../../../adapters/index.js';
import { runEval } from '../../../src/commands/eval/eval.js';
import { evalHelp, evalLine, readJob } from '../../../src/commands/eval/options.js';
import { type Evaluation, evaluate, InputError, type Obj, type Params, presets } from '../../../src/index.js';
import { crossingScene } from '../../../src/simulation/walkers.js';
import { usageMistakes as mistakesOf, rowsOf } from '../../kit/cli-harness.js';

interface Entry extends Evaluation {
  reference: string;
  tracker: string;
  profile: string;
  params: Params;
}

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const main = fileURLToPath(new URL('../../../src/main.js', import.meta.url));
const shared = new URL('../../../../../shared/', import.meta.url);
const [steady, , faulty] = crossingScene().trackers;
const PLAIN = { columns: Number.POSITIVE_INFINITY, colors: false };
const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

async function run(args: string[], screen = PLAIN): Promise<{ out: string; err: string }> {
  const out = new PassThrough();
  const err = new PassThrough();
  const both = Promise.all([text(out), text(err)]);
  await runEval(args, { out, err, screen, progress: false });
  out.end();
  err.end();
  const [outText, errText] = await both;
  return { out: outText, err: errText };
}

async function runJson(args: string[]): Promise<Entry[]> {
  return JSON.parse((await run([...args, '--json'])).out);
}

/** The scene as the benchmark would write it: reference rows of nine columns, tracker rows of ten. */
const usageMistakes = (args: string[]) => mistakesOf((words) => readJob(evalLine(words)), args);

describe('tgospa eval', () => {
  let folder: string;
  let files: string[];

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-eval-'));
    writeFileSync(join(folder, 'gt.txt'), rowsOf(steady.frames, 'reference'));
    writeFileSync(join(folder, 'steady.txt'), rowsOf(steady.frames, 'tracker'));
    writeFileSync(join(folder, 'faulty.txt'), rowsOf(faulty.frames, 'tracker'));
    files = ['--reference', join(folder, 'gt.txt'), '--tracker', join(folder, 'faulty.txt')];
    files.push('--tracker', join(folder, 'steady.txt'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  describe('the ranking', () => {
    it('puts the best tracker first, for each profile', async () => {
      const { out } = await run([...files, '--profile', 'online-surveillance', '--profile', 'detector-training']);
      const ranks = out.split('\n').filter((line) => /^\d {2}/.test(line));
      assert.deepEqual(
        ranks.map((line) => line.split(/ +/).slice(0, 2).join(' ')),
        ['1 steady', '2 faulty', '1 steady', '2 faulty'],
      );
      assert.match(
        out,
        /^online-surveillance, 300 frames\ndistance iou, cut-off 0\.5, exponent 1\.797, switch penalty 0\.3119$/m,
      );
      assert.match(out, /^detector-training, 300 frames\n.*, no switches$/m);
    });

    it('shows distance, costs, counts, mean error and exactness as evaluated', async () => {
      const { out } = await run(files);
      const { distance, cost, count, meanLocalizationError } = evaluate(faulty.frames, presets['online-surveillance']);
      const row = out.split('\n').find((line) => line.startsWith('2  faulty')) ?? '';
      const shown = row.trim().split(/ +/).slice(2);
      const values = [distance, cost.localization, cost.missed, cost.false, cost.switch];
      values.push(count.proper, count.missed, count.false, count.switches, meanLocalizationError);
      values.forEach((value, index) => {
        assert.ok(
          Math.abs(Number(shown[index]) - value) <= 5e-5 * Math.max(1, value) + 5e-4,
          `${shown[index]} is not ${value}`,
        );
      });
      assert.equal(shown.at(-1), 'yes');
    });

    it('says in a sentence where the cost comes from, the dearest first', async () => {
      const { out } = await run(files);
      assert.match(
        out,
        /^steady: 87 % localization \(1,374 pairs lie 0\.0967 apart on average\), 13 % missed \(21 of 1,395/m,
      );
      assert.match(out, /^faulty: 43 % localization/m);
      assert.match(out.replace(/\n +/g, ' '), /1\.1 % switch \(identities change 4 times\)\.$/m);
    });

    it('is coloured on a terminal, and the same text without colours elsewhere', async () => {
      const plain = await run(files);
      const coloured = await run(files, { ...PLAIN, colors: true });
      assert.doesNotMatch(plain.out, ESCAPES);
      assert.match(coloured.out, ESCAPES);
      assert.equal(coloured.out.replace(ESCAPES, ''), plain.out);
    });

    it('fits a terminal of 80 columns', async () => {
      const { out } = await run(files, { columns: 80, colors: false });
      const longest = Math.max(...out.split('\n').map((line) => line.length));
      assert.ok(longest <= 80, `a line has ${longest} characters`);
      assert.match(out, /mean error/);
    });

    it('tells trackers of the same file name apart by their folders', async () => {
      for (const name of ['alpha', 'beta']) {
        mkdirSync(join(folder, name, 'data'), { recursive: true });
        writeFileSync(join(folder, name, 'data', 'seq.txt'), rowsOf(steady.frames.slice(0, 30), 'tracker'));
      }
      const trackers = ['alpha', 'beta'].flatMap((name) => ['--tracker', join(folder, name, 'data', 'seq.txt')]);
      const { out } = await run(['--reference', join(folder, 'gt.txt'), ...trackers]);
      assert.match(out, /^1 {2}alpha /m);
      assert.match(out, /^2 {2}beta /m);
    });
  });

  describe('--json', () => {
    it('prints the evaluation of each tracker under each profile, and whose it is', async () => {
      const entries = await runJson([
        ...files,
        '--profile',
        'online-surveillance',
        '--profile',
        'offline-scene-understanding',
      ]);
      assert.deepEqual(
        entries.map(({ tracker, profile }) => `${tracker.slice(folder.length + 1)} ${profile}`),
        [
          'faulty.txt online-surveillance',
          'steady.txt online-surveillance',
          'faulty.txt offline-scene-understanding',
          'steady.txt offline-scene-understanding',
        ],
      );
      const expected = evaluate(steady.frames, presets['online-surveillance']);
      const { reference, params, ...evaluation } = entries[1];
      assert.equal(reference, join(folder, 'gt.txt'));
      assert.deepEqual(params, presets['online-surveillance']);
      assert.equal(evaluation.perFrame.length, 300);
      assert.deepEqual(evaluation.count, expected.count);
      assert.ok(Math.abs(evaluation.distance - expected.distance) < 1e-9);
    });

    it('takes parameters in words, as numbers, and a miss share', async () => {
      const own = [
        '--cutoff',
        '0.5',
        '--admissible-error',
        '0.34',
        '--short-switch-distance',
        '0.17',
        '--miss-share',
        '0.8',
      ];
      const [{ profile, params }] = await runJson([...files, ...own]);
      assert.equal(profile, 'own');
      assert.deepEqual(params, { ...presets['online-surveillance'], missShare: 0.8 });
      const [{ params: numbers }] = await runJson([
        ...files,
        '--cutoff',
        '0.4',
        '--exponent',
        '2',
        '--switch-penalty',
        '0',
      ]);
      assert.deepEqual(numbers, { distance: 'iou', cutoff: 0.4, exponent: 2, switchPenalty: 0 });
      const [{ params: weighed }] = await runJson([...files, '--profile', 'detector-training', '--miss-share', '0.3']);
      assert.deepEqual(weighed, { ...presets['detector-training'], missShare: 0.3 });
    });

    it('compares the centres of boxes under --distance euclidean, and says so', async () => {
      const own = ['--distance', 'euclidean', '--cutoff', '50', '--exponent', '2', '--switch-penalty', '20'];
      const { err } = await run([...files, ...own]);
      assert.match(err, /^euclidean: boxes are compared by their centres, in pixels$/m);
      const centre = ({ id, box: [left, top, width, height] }: Obj & { box: number[] }) => ({
        id,
        point: [left + width / 2, top + height / 2],
      });
      const frames = faulty.frames.map((frame) => ({
        reference: frame.reference.map((object) => centre(object as Obj & { box: number[] })),
        tracker: frame.tracker.map((object) => centre(object as Obj & { box: number[] })),
      }));
      const [{ params, ...evaluation }] = await runJson([...files, ...own]);
      assert.ok(Math.abs(evaluation.distance - evaluate(frames, params).distance) < 1e-9);
    });

    it('reports the LP metric under --solver lp', async () => {
      const [evaluation] = await runJson([...files, '--solver', 'lp']);
      const exact = evaluate(faulty.frames, presets['online-surveillance']);
      assert.ok(Math.abs(evaluation.distance - exact.distance) < 1e-7);
      assert.ok(evaluation.solver.simplex > 0, JSON.stringify(evaluation.solver));
    });
  });

  describe('--window', () => {
    it('writes one row per frame, each equal to the evaluation of exactly those frames', async () => {
      const { out } = await run([...files, '--window', '40']);
      const [head, ...rows] = out.trimEnd().split('\n');
      assert.equal(rows.length, 600);
      const names = head.split(',');
      const table = rows.map((row) => Object.fromEntries(row.split(',').map((value, index) => [names[index], value])));
      for (const frame of [1, 2, 39, 40, 41, 122, 175, 300]) {
        const row = table[frame - 1];
        const expected = evaluate(faulty.frames.slice(Math.max(0, frame - 40), frame), presets['online-surveillance']);
        assert.deepEqual([row.tracker, row.profile, row.frame], ['faulty', 'online-surveillance', String(frame)]);
        assert.equal(row.frames, String(expected.frames));
        for (const [column, value] of [
          ['distance', expected.distance],
          ['costTotal', expected.cost.total],
          ['costLocalization', expected.cost.localization],
          ['costMissed', expected.cost.missed],
          ['costFalse', expected.cost.false],
          ['costSwitch', expected.cost.switch],
          ['meanLocalizationError', expected.meanLocalizationError],
        ] as const)
          assert.ok(
            Math.abs(Number(row[column]) - value) < 1e-9,
            `frame ${frame}: ${column} ${row[column]} is not ${value}`,
          );
        assert.deepEqual([row.proper, row.missed, row.false, row.switches].map(Number), [
          expected.count.proper,
          expected.count.missed,
          expected.count.false,
          expected.count.switches,
        ]);
        const newest = expected.perFrame.at(-1)?.count;
        assert.deepEqual([row.newestProper, row.newestMissed, row.newestFalse].map(Number), [
          newest?.proper,
          newest?.missed,
          newest?.false,
        ]);
        assert.equal(row.exact, 'true');
      }
    });

    it('writes them to --csv and draws them, with the switches found', async () => {
      const csv = join(folder, 'series.csv');
      const { out, err } = await run([...files, '--window', '60', '--csv', csv]);
      assert.equal(readFileSync(csv, 'utf8'), (await run([...files, '--window', '60'])).out);
      assert.match(out, /^4 changes of identity/m);
      assert.match(out, /^ {2}frame {3}122 {2}switch {2}truth 3: 3 → 4$/m);
      assert.match(err, /^wrote the series to .*series\.csv$/m);
    });

    it('quotes a name with a comma', async () => {
      const odd = join(folder, 'a,b.txt');
      writeFileSync(odd, rowsOf(steady.frames.slice(0, 3), 'tracker'));
      const { out } = await run(['--reference', join(folder, 'gt.txt'), '--tracker', odd, '--window', '2']);
      assert.match(out.split('\n')[1], /^"a,b",online-surveillance,1,/);
    });

    it('warns when the window is too short for the switches of the profile', async () => {
      const args = [...files, '--profile', 'offline-scene-understanding', '--window'];
      assert.match(
        (await run([...args, '21'])).err,
        /a window of 21 frames can never show one; use --window 22 or more/,
      );
      assert.doesNotMatch((await run([...args, '22'])).err, /warning/);
    });
  });

  describe('--demo', () => {
    it('shows rankings, a drawing, the switches found and those built in, and how to go on', async () => {
      const { out } = await run(['--demo'], { columns: 80, colors: false });
      assert.match(out, /^online-surveillance, 300 frames$/m);
      assert.match(out, /^offline-scene-understanding, 300 frames$/m);
      const found = [...out.matchAll(/^ {2}frame +(\d+) {2}switch/gm)].map(([, frame]) => Number(frame));
      assert.deepEqual(found, [122, 122, 170, 230]);
      for (const fault of faulty.faults) assert.ok(out.includes(fault.what));
      assert.match(out, /npx tgospa eval --reference/);
    });

    it('prints what its page shows', async () => {
      const [shown] = readFileSync(join(root, 'src/commands/eval/README.md'), 'utf8').split(/^## Your own files$/m);
      const lines = shown.split('\n').filter((line) => line.startsWith('    '));
      assert.ok(lines.length > 20);
      const printed = new Set((await run(['--demo'])).out.split('\n'));
      for (const line of lines)
        assert.ok(printed.has(line.slice(4)), `the page shows a line that is not printed: ${line}`);
    });
  });

  describe('rows that count', () => {
    it('says how many rows of the reference count, and warns when none does', async () => {
      const odd = join(folder, 'odd.txt');
      writeFileSync(odd, '1,1,1,1,1,1,1,1,1\n1,2,1,1,1,1,0,1,1\n1,3,1,1,1,1,1,7,1\n');
      const args = ['--reference', odd, '--tracker', join(folder, 'steady.txt')];
      assert.match((await run(args)).err, /odd\.txt: 1 of 3 rows count .*--all-rows/);
      assert.match(
        (await run([...args, '--all-rows'])).err,
        /^warning: .*steady\.txt goes on to frame 300, .*odd\.txt ends with frame 1: [^\n]*\n$/,
      );
      assert.match((await run([...args, '--classes', '3'])).err, /^warning: none of the 3 rows/);
    });

    it('warns of files that cannot be meant: ground truth as a tracker, an empty reference', async () => {
      const truth = join(folder, 'crossing-gt.txt');
      writeFileSync(truth, '1,1,0,0,10,10,1,1,1\n1,2,50,0,10,10,0,8,1\n');
      const asTracker = await run(['--reference', truth, '--tracker', truth]);
      assert.match(asTracker.err, /^warning: .*looks like ground truth \(9 columns\).* 2 rows count, 1 of them not/m);
      const empty = join(folder, 'empty.txt');
      writeFileSync(empty, '');
      const { err } = await run(['--reference', empty, '--tracker', join(folder, 'steady.txt')]);
      assert.match(err, /^warning: .*empty\.txt is empty: everything tracked is false\n$/);
      // files as they should be say nothing
      assert.equal((await run(files)).err, '');
    });

    it('takes out distractors under --preprocess, and says how many', async () => {
      const distractors = join(folder, 'distractors.txt');
      writeFileSync(distractors, '1,1,0,0,10,10,1,1,1\n1,2,50,0,10,10,0,8,1\n');
      const tracker = join(folder, 'two.txt');
      writeFileSync(tracker, '1,1,0,0,10,10,1,-1,-1,-1\n1,2,50,1,10,10,1,-1,-1,-1\n');
      const args = ['--reference', distractors, '--tracker', tracker];
      assert.deepEqual((await runJson(args))[0].count, { proper: 1, missed: 0, false: 1, switches: 0 });
      const cleaned = [...args, '--preprocess', 'motchallenge'];
      assert.deepEqual((await runJson(cleaned))[0].count, { proper: 1, missed: 0, false: 0, switches: 0 });
      assert.match((await run(cleaned)).err, /two: preprocessing took out 1 of 2 rows/);
    });
  });

  describe('what is wrong', () => {
    it('is told with file, line, character and what was expected, for all files together', async () => {
      const bad = join(folder, 'bad.txt');
      writeFileSync(bad, '1,1,1,1,1,1\n2,1,1,one,1,1\n');
      const missing = join(folder, 'missing.txt');
      const args = ['--reference', bad, '--tracker', missing];
      await assert.rejects(run(args), (error) => {
        assert.ok(error instanceof InputError);
        assert.deepEqual(error.message.split('\n').slice(1), [
          `  ${bad}:2:7: top (column 4) must be a finite number (got "one")`,
          `  ${missing}: does not exist; check the path (got "ENOENT")`,
        ]);
        return true;
      });
    });

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
        [
          '--preprocess needs a reference in format motchallenge; see --formats for what kitti has',
          '--preprocess needs MOTChallenge files without further options',
        ],
      ],
      [
        'points without a distance for points',
        [...given, '--format', 'autoware'],
        ['format autoware gives points; say --distance euclidean, --cutoff and the others in their unit'],
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
      [
        'no threads',
        [...given, '--threads', '0'],
        ['--threads must be a whole number of threads, at least 1, got "0"'],
      ],
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
      it(`is told once and clearly: ${what}`, () => {
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

  describe('the program', () => {
    const start = (args: string[], env = {}) =>
      spawnSync(process.execPath, [main, ...args], { encoding: 'utf8', env: { ...process.env, ...env } });

    it('ends with 0 when done, 1 for a bad file, 2 for wrong options', () => {
      assert.equal(start(['eval', ...files]).status, 0);
      const bad = start(['eval', '--reference', join(folder, 'nowhere'), '--tracker', join(folder, 'steady.txt')]);
      assert.equal(bad.status, 1);
      assert.match(bad.stderr, /^tgospa eval: .*nowhere: does not exist/);
      const wrong = start(['eval', '--frobnicate']);
      assert.equal(wrong.status, 2);
      assert.match(wrong.stderr, /unknown option --frobnicate/);
      assert.match(wrong.stderr, /Try: tgospa eval --help/);
      assert.equal(start(['evaluate']).status, 2);
    });

    it('cannot write the series where there is no folder, and says so', () => {
      const { status, stderr } = start(['eval', ...files, '--window', '5', '--csv', join(folder, 'no', 'where.csv')]);
      assert.equal(status, 1);
      assert.match(stderr, /^tgospa eval: .*where\.csv: cannot be written; name a file in a folder that exists/m);
    });

    it('finds out before the work that a table cannot be written', () => {
      for (const option of ['--csv', '--html']) {
        const { status, stdout, stderr } = start(['eval', ...files, option, join(folder, 'no', 'where')]);
        assert.deepEqual([status, stdout], [1, '']);
        assert.match(stderr, /no.where: cannot be written; name a file in a folder that exists/);
      }
    });

    it('writes one row for one tracker on one sequence, and lists at most 20 mistakes with the number of all', () => {
      const csv = join(folder, 'one.csv');
      assert.equal(start(['eval', ...files.slice(0, 4), '--csv', csv]).status, 0);
      assert.equal(readFileSync(csv, 'utf8').trimEnd().split('\n').length, 2);
      const bad = join(folder, 'many-mistakes.txt');
      writeFileSync(bad, Array.from({ length: 60 }, (_, n) => `${n + 1},1,${'x,'.repeat(3)}1\n`).join(''));
      const { stderr } = start(['eval', '--reference', bad, '--tracker', bad]);
      const lines = stderr.split('\n').filter((line) => line.includes('many-mistakes'));
      assert.ok(lines.length > 0 && lines.length <= 20, stderr);
      const [, all] = /(\d+) problems/.exec(stderr)!;
      const [, more] = /and (\d+) more like these/.exec(stderr)!;
      assert.equal(stderr.match(/more/g)!.length, 1, stderr);
      assert.equal(lines.length + Number(more), Number(all));
    });

    it('helps: every option is explained', () => {
      const { status, stdout } = start(['eval', '--help']);
      assert.equal(status, 0);
      assert.equal(stdout.trimEnd(), evalHelp());
      for (const line of stdout.split('\n')) assert.ok(line.length <= 100, line);
      // a name never runs into its explanation
      for (const line of stdout.split('\n')) assert.match(line, /^(?! {2}--)| {2}--[\w-]+( [A-Z=]+)?( {2,}\S|$)/);
      assert.match(start(['--help']).stdout, /eval/);
      assert.match(start(['--version']).stdout, /^\d+\.\d+\.\d+\n$/);
    });

    it('prints plain text when it is not on a terminal', () => {
      assert.doesNotMatch(start(['eval', ...files], { NO_COLOR: '' }).stdout, ESCAPES);
    });

    it('ends quietly when the reader of a pipe has seen enough', async () => {
      const child = spawn(process.execPath, [main, 'eval', ...files, '--json'], { stdio: ['ignore', 'pipe', 'pipe'] });
      const err = text(child.stderr);
      child.stdout.once('data', () => child.stdout.destroy());
      const [status] = await once(child, 'exit');
      assert.equal(status, 0);
      assert.equal(await err, '');
    });
  });

  describe('on real sequences', () => {
    before(function () {
      if (!existsSync(new URL('data', shared)) || !existsSync(new URL('reference', shared))) {
        assert.notEqual(
          process.env.TGOSPA_REQUIRE_SYSTEM,
          '1',
          '../shared/data and ../shared/reference are needed here',
        );
        this.skip();
      }
    });
    const data = (path: string) => fileURLToPath(new URL(`data/${path}`, shared));
    const known = (name: string) => JSON.parse(readFileSync(new URL(`reference/${name}`, shared), 'utf8'));

    it('finds the values of the authors for box centres of whole sequences', async () => {
      for (const { reference, tracker, params, expected } of known('tud-tgospa.json')) {
        const own = ['--distance', 'euclidean', '--cutoff', params.cutoff, '--exponent', params.exponent];
        const args = ['--reference', data(reference), '--tracker', data(tracker), '--all-rows', ...own];
        const [evaluation] = await runJson([...args, '--switch-penalty', params.switchPenalty].map(String));
        assert.ok(Math.abs(evaluation.distance / expected.distance - 1) < 1e-9, `${tracker} ${evaluation.distance}`);
        for (const component of ['localization', 'missed', 'false', 'switch'] as const)
          assert.ok(Math.abs(evaluation.cost[component] - expected.cost[component]) < 1e-7 * expected.distance ** 2);
      }
    });

    it('finishes whole sequences in seconds and below 500 MB', function () {
      this.timeout(300_000);
      for (const [sequence, tracker] of [
        ['MOT17-09', 'MPNTrack'],
        ['MOT17-04', 'BoT-SORT-ReTrack-Botsort_baseline'],
      ]) {
        const reference = data(`MOT17/train/${sequence}/gt/gt.txt`);
        const args = [
          'eval',
          '--reference',
          reference,
          '--tracker',
          data(`MOT17/results/${tracker}/${sequence}-FRCNN.txt`),
        ];
        const program = `
          process.argv = [process.execPath, 'tgospa', ...${JSON.stringify(args)}];
          process.on('exit', () => console.error('peak', process.resourceUsage().maxRSS));
          await import(${JSON.stringify(pathToFileURL(main).href)});`;
        const child = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
          encoding: 'utf8',
          timeout: 30_000,
        });
        assert.equal(child.status, 0, `${sequence} with ${tracker} is not done after 30 s, or failed: ${child.stderr}`);
        assert.match(child.stdout, / yes$/m);
        const peakKb = Number(child.stderr.match(/^peak (\d+)$/m)?.[1]);
        assert.ok(peakKb < 500_000, `${sequence} with ${tracker} took ${peakKb} kB`);
      }
    });

    it('finds the published table of detectors, to every printed digit', async () => {
      const { rows } = known('paper-tables.json').detectors;
      const detectors = rows.flatMap(({ detections }: { detections: string }) => ['--tracker', data(detections)]);
      const reference = ['--reference', data('MOT17/train/MOT17-09/gt/gt.txt')];
      const entries = await runJson([...reference, ...detectors, '--profile', 'detector-training']);
      rows.forEach((row: Record<string, number>, index: number) => {
        const { distance, cost, count, meanLocalizationError } = entries[index];
        assert.deepEqual([count.proper, count.missed, count.false], [row.proper, row.missedCount, row.falseCount]);
        // one of the published numbers is cut off, not rounded
        for (const [value, printed] of [
          [distance, row.distance],
          [cost.localization, row.localization],
          [cost.missed, row.missed],
          [cost.false, row.false],
          [meanLocalizationError, row.meanLocalizationError],
        ])
          assert.ok(Math.abs(value - printed) < 0.001, `${value} is not ${printed}`);
      });
    });
  });
});
