/** `tgospa eval` as its users meet it: files in; a ranking or JSON out, and a clear message when something is wrong. */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { runEval } from '../../../src/commands/eval/eval.js';
import { evalHelp } from '../../../src/commands/eval/options.js';
import { type Evaluation, evaluate, type Obj, type Params, presets } from '../../../src/index.js';
import { crossingScene } from '../../../src/simulation/walkers.js';
import { ESCAPES, outputOf, PLAIN, rowsOf, SceneFolder } from '../../kit/system/command-line.js';
import { skipInFastRun } from '../../kit/system/system.js';

interface Entry extends Evaluation {
  reference: string;
  tracker: string;
  profile: string;
  params: Params;
}

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const main = fileURLToPath(new URL('../../../src/main.js', import.meta.url));
const [steady, , faulty] = crossingScene().trackers;
const run = (args: string[], screen = PLAIN) => outputOf(runEval, args, screen);

async function runJson(args: string[]): Promise<Entry[]> {
  return JSON.parse((await run([...args, '--json'])).out);
}

describe('tgospa eval', () => {
  const folder = SceneFolder.ofSuite();
  const files = folder.args('faulty', 'steady');

  describe('a saved moment', () => {
    const params = { ...presets['detector-training'], windowFrames: 20 };
    const frames = faulty.frames.slice(100, 160).map((frame, n) => ({ k: 101 + n, ...frame }));
    const names = { stream: 'gate', tracker: 'sort', profile: 'night' };
    const moment = { format: 'tgospa-moment', version: 1, ...names, k: 140, lead: 19, params, frames };
    const write = () => {
      const file = join(folder.path, 'a.moment.json');
      writeFileSync(file, JSON.stringify(moment));
      return file;
    };

    it('is judged under its own profile: the window that ends with it', async () => {
      const file = write();
      const { out, err } = await run([file]);
      assert.match(out, /^night, 20 frames\n/);
      assert.match(err, /moment of gate \/ sort: the window of frames 121 to 140/);
      const [entry] = await runJson([file]);
      const { distance } = evaluate(faulty.frames.slice(120, 140), presets['detector-training']);
      assert.deepEqual([entry.distance, entry.profile, entry.tracker], [distance, 'night', 'sort']);
    });

    it('is judged under another profile, or by a window that slides over all its frames', async () => {
      const file = write();
      const [entry] = await runJson([file, '--profile', 'online-surveillance']);
      assert.equal(entry.distance, evaluate(faulty.frames.slice(120, 140), presets['online-surveillance']).distance);
      const { out } = await run([file, '--window', '20']);
      assert.equal(out.trim().split('\n').length, 61);
    });

    it('excludes other files', async () => {
      await assert.rejects(run([write(), ...files]), /--reference and a moment exclude each other/);
      await assert.rejects(run(['nothing.json']), /nothing\.json: does not exist/);
      await assert.rejects(run(['gt.txt']), /files are given with --reference and --tracker/);
    });
  });

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

    it('fits 80 columns where it is pasted, with the scores', function () {
      skipInFastRun(this);
      const { status, stdout } = spawnSync(process.execPath, [main, 'eval', ...files, '--scores'], {
        encoding: 'utf8',
      });
      assert.equal(status, 0);
      const longest = Math.max(...stdout.split('\n').map((line) => line.length));
      assert.ok(longest <= 80, `a line has ${longest} characters`);
    });

    it('tells trackers of the same file name apart by their folders', async () => {
      for (const name of ['alpha', 'beta']) {
        mkdirSync(folder.at(name, 'data'), { recursive: true });
        writeFileSync(folder.at(name, 'data', 'seq.txt'), rowsOf(steady.frames.slice(0, 30), 'tracker'));
      }
      const trackers = ['alpha', 'beta'].flatMap((name) => ['--tracker', folder.at(name, 'data', 'seq.txt')]);
      const { out } = await run(['--reference', folder.at('gt.txt'), ...trackers]);
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
        entries.map(({ tracker, profile }) => `${tracker.slice(folder.path.length + 1)} ${profile}`),
        [
          'faulty.txt online-surveillance',
          'steady.txt online-surveillance',
          'faulty.txt offline-scene-understanding',
          'steady.txt offline-scene-understanding',
        ],
      );
      const expected = evaluate(steady.frames, presets['online-surveillance']);
      const { reference, params, ...evaluation } = entries[1];
      assert.equal(reference, folder.at('gt.txt'));
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

  describe('the program', () => {
    const start = (args: string[], env = {}) =>
      spawnSync(process.execPath, [main, ...args], { encoding: 'utf8', env: { ...process.env, ...env } });

    it('ends with 0 when done, 1 for a bad file, 2 for wrong options', function () {
      skipInFastRun(this);
      assert.equal(start(['eval', ...files]).status, 0);
      const bad = start(['eval', '--reference', folder.at('nowhere'), '--tracker', folder.at('steady.txt')]);
      assert.equal(bad.status, 1);
      assert.match(bad.stderr, /^tgospa eval: .*nowhere: does not exist/);
      const wrong = start(['eval', '--frobnicate']);
      assert.equal(wrong.status, 2);
      assert.match(wrong.stderr, /unknown option --frobnicate/);
      assert.match(wrong.stderr, /Try: tgospa eval --help/);
      assert.equal(start(['evaluate']).status, 2);
    });

    it('cannot write the series where there is no folder, and says so', function () {
      skipInFastRun(this);
      const { status, stderr } = start(['eval', ...files, '--window', '5', '--csv', folder.at('no', 'where.csv')]);
      assert.equal(status, 1);
      assert.match(stderr, /^tgospa eval: .*where\.csv: cannot be written; name a file in a folder that exists/m);
    });

    it('finds out before the work that a table cannot be written', function () {
      skipInFastRun(this);
      for (const option of ['--csv', '--html']) {
        const { status, stdout, stderr } = start(['eval', ...files, option, folder.at('no', 'where')]);
        assert.deepEqual([status, stdout], [1, '']);
        assert.match(stderr, /no.where: cannot be written; name a file in a folder that exists/);
      }
    });

    it('writes one row for one tracker on one sequence, and lists at most 20 mistakes with the number of all', function () {
      skipInFastRun(this);
      const csv = folder.at('one.csv');
      assert.equal(start(['eval', ...files.slice(0, 4), '--csv', csv]).status, 0);
      assert.equal(readFileSync(csv, 'utf8').trimEnd().split('\n').length, 2);
      const bad = folder.at('many-mistakes.txt');
      writeFileSync(bad, Array.from({ length: 60 }, (_, n) => `${n + 1},1,${'x,'.repeat(3)}1\n`).join(''));
      const { stderr } = start(['eval', '--reference', bad, '--tracker', bad]);
      const lines = stderr.split('\n').filter((line) => line.includes('many-mistakes'));
      assert.ok(lines.length > 0 && lines.length <= 20, stderr);
      const [, all] = /(\d+) problems/.exec(stderr)!;
      const [, more] = /and (\d+) more like these/.exec(stderr)!;
      assert.equal(stderr.match(/more/g)!.length, 1, stderr);
      assert.equal(lines.length + Number(more), Number(all));
    });

    it('helps: every option is explained', function () {
      skipInFastRun(this);
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

    it('ends quietly when the reader of a pipe has seen enough', async function () {
      skipInFastRun(this);
      const child = spawn(process.execPath, [main, 'eval', ...files, '--json'], { stdio: ['ignore', 'pipe', 'pipe'] });
      const err = text(child.stderr);
      child.stdout.once('data', () => child.stdout.destroy());
      const [status] = await once(child, 'exit');
      assert.equal(status, 0);
      assert.equal(await err, '');
    });
  });
});
