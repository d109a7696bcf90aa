/**
 * `tgospa tune` as its users meet it: files in; summary, profile, report or JSON out, and one clear message when
 * something is wrong.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readTuneJob, tuneHelp, tuneLine } from '../../../src/commands/tune/options.js';
import { drawReport } from '../../../src/commands/tune/report.js';
import { drawSummary, profileYaml } from '../../../src/commands/tune/summary.js';
import { runTune } from '../../../src/commands/tune/tune.js';
import { paramsByName, readConfig } from '../../../src/config/config.js';
import { type Frame, InputError, type Obj, profile, type Tuning, tune } from '../../../src/index.js';
import { crossingScene } from '../../../src/simulation/walkers.js';
import {
  ESCAPES,
  usageMistakes as mistakesOf,
  outputOf,
  PLAIN,
  resultOf,
  rowsOf,
  SceneFolder,
} from '../../kit/system/command-line.js';
import { skipInFastRun, skipUnless } from '../../kit/system/system.js';

const main = fileURLToPath(new URL('../../../src/main.js', import.meta.url));
const data = new URL('../../../../../shared/data/MOT17/', import.meta.url);
const [steady] = crossingScene().trackers;
const quick = ['--no-scores'];

const run = (args: string[]) => resultOf(runTune, args);
const done = (args: string[], screen = PLAIN) => outputOf(runTune, args, screen);

const usageMistakes = (args: string[]) => mistakesOf((words) => readTuneJob(tuneLine(words)), args);

describe('tgospa tune', () => {
  const folder = SceneFolder.ofSuite();
  const files = folder.args('steady', 'faulty');
  const at = (...parts: string[]) => folder.at(...parts);

  describe('the summary', () => {
    it('shows increments, intervals, trackers, the choice, its meaning, scores and the profile', async () => {
      const { out } = await done([...files, '--budget-ms', '600000']);
      assert.match(out, /^2 trackers: 2,662 pairs of boxes, distance iou$/m);
      assert.match(out, /^ +0 ┤█+/m);
      assert.match(out, /^ +g+p+n+$/m);
      assert.match(out, /^rapid growth +0 +0\.2\d* +[\d,]+ +\d+ % {2}correct pairs/m);
      assert.match(out, /^plateau +0\.2/m);
      assert.match(out, /^steady +1,395 +1,374 +1,374/m);
      assert.match(out, /^ {2}cut-off +0\.\d+ {2}middle of the plateau$/m);
      assert.match(out, /^ {2}admissible error +0\.\d+ {2}start of the plateau$/m);
      assert.match(out, /^ {2}- A truth and a track 0\.\d+ apart or more are never paired/m);
      assert.match(out, /^tuned +1 {2}steady .* yes$/m);
      assert.match(out, /^offline-scene-understanding +1 {2}steady .* yes$/m);
      assert.match(
        out,
        /^profiles:\n {2}# plateau 0\.\d+ to 0\.\d+, found in 2,662 pairs; .*\n {2}tuned:\n {4}distance: iou\n/m,
      );
    });

    it('is coloured on a terminal, and the same text without colours elsewhere', async () => {
      const plain = await done([...files, ...quick]);
      const coloured = await done([...files, ...quick], { ...PLAIN, colors: true });
      assert.doesNotMatch(plain.out, ESCAPES);
      assert.match(coloured.out, ESCAPES);
      assert.equal(coloured.out.replace(ESCAPES, ''), plain.out);
    });

    it('fits a terminal of 80 columns, and its columns align', async () => {
      const { out } = await done([...files, '--budget-ms', '600000'], { columns: 80, colors: false });
      const lines = out.split('\n');
      const long = lines.filter((line) => line.length > 80 && !line.startsWith('  #'));
      assert.deepEqual(long, []);
      const rows = lines.slice(lines.findIndex((line) => line.startsWith('tracker ')));
      const end = rows[0].indexOf('truths') + 'truths'.length;
      for (const row of rows.slice(1, 3)) assert.match(row.slice(0, end), /1,395$/);
    });

    it('says what is not proven', () => {
      const tuning = tune([{ tracker: 'steady', frames: steady.frames }], { budgetMs: 600_000 });
      assert.doesNotMatch(drawSummary(tuning, PLAIN), /gap \d|--budget-ms/);
      const open = { ...tuning, scores: tuning.scores.map((score) => ({ ...score, exact: false, gap: 0.032 })) };
      assert.match(drawSummary(open, PLAIN), /gap 3\.2 %$/m);
      assert.match(drawSummary(open, PLAIN), /Raise --budget-ms to prove it/);
      assert.match(drawReport(open, ''), /gap 3\.2 %[\s\S]*Raise --budget-ms to prove it/);
    });

    it('runs on the built-in scene', async () => {
      const { out } = await done(['--demo', ...quick]);
      assert.match(out, /^3 trackers: 4,057 pairs of boxes/m);
    });
  });

  describe('the profile', () => {
    it('is a section that the configuration reads, with the same parameters', async () => {
      await done([...files, ...quick, '--yaml', at('profile.yaml'), '--name', 'gate:7', '--long-switch-frames', '12']);
      const yaml = readFileSync(at('profile.yaml'), 'utf8');
      const { config } = readConfig({ text: yaml });
      const { candidate } = JSON.parse(
        (await done([...files, ...quick, '--json', '--long-switch-frames', '12'])).out,
      ) as Tuning;
      assert.deepEqual(paramsByName(config, 'gate:7'), candidate?.params);
    });

    it('can be printed alone', async () => {
      const { out } = await done([...files, ...quick, '--yaml', '-', '--cutoff', '0.5', '--admissible-error', '0.3']);
      assert.match(out, /^profiles:\n.*\n {2}tuned:\n {4}distance: iou\n {4}cutoff: 0\.5\n {4}admissibleError: 0\.3\n/);
    });

    it('quotes a name that YAML would take for something else', () => {
      const tuning = tune([{ tracker: 'steady', frames: steady.frames }], { scores: false });
      for (const name of ['yes', '007', 'a/b']) {
        const yaml = profileYaml({ ...tuning, candidate: { ...tuning.candidate!, name } });
        assert.ok(name in readConfig({ text: yaml }).config.profiles, yaml);
      }
    });

    it('is the published one from the published plateau', async () => {
      const { out } = await done([...files, ...quick, '--plateau', '0.34,0.66', '--yaml', '-']);
      assert.match(out, /cutoff: 0\.5\n {4}admissibleError: 0\.34\n {4}shortSwitchDistance: 0\.17\n$/);
    });
  });

  describe('several sequences', () => {
    it('are one sample each of the tracker in whose folder they lie', async () => {
      for (const name of ['alpha', 'beta']) {
        mkdirSync(at(name), { recursive: true });
        for (const sequence of ['one', 'two'])
          writeFileSync(at(name, `${sequence}.txt`), rowsOf(steady.frames.slice(0, 60), 'tracker'));
      }
      writeFileSync(at('gt-two.txt'), rowsOf(steady.frames, 'reference'));
      const pairs = [
        ['--reference', at('gt.txt'), '--tracker', at('alpha', 'one.txt'), '--tracker', at('beta', 'one.txt')],
        ['--reference', at('gt-two.txt'), '--tracker', at('alpha', 'two.txt'), '--tracker', at('beta', 'two.txt')],
      ];
      const { out } = await done([...pairs.flat(), ...quick, '--json']);
      const tuning = JSON.parse(out) as Tuning;
      assert.deepEqual(
        tuning.trackers.map(({ tracker, truths }) => [tracker, truths]),
        [
          ['alpha', 2790],
          ['beta', 2790],
        ],
      );
      assert.ok(tuning.examples.every(({ sequence }) => sequence === 'gt' || sequence === 'gt-two'));
    });

    it('are found in folders as benchmarks lay them out', async () => {
      for (const sequence of ['X-01', 'X-02']) {
        mkdirSync(at('train', sequence, 'gt'), { recursive: true });
        writeFileSync(at('train', sequence, 'gt', 'gt.txt'), rowsOf(steady.frames, 'reference'));
      }
      for (const name of ['alpha', 'beta']) {
        mkdirSync(at('results', name), { recursive: true });
        for (const sequence of name === 'alpha' ? ['X-01', 'X-02'] : ['X-01'])
          writeFileSync(at('results', name, `${sequence}.txt`), rowsOf(steady.frames.slice(0, 60), 'tracker'));
      }
      const folders = ['--reference', at('train'), '--tracker', at('results')];
      const { out, err } = await done([...folders, ...quick, '--json']);
      const tuning = JSON.parse(out) as Tuning;
      assert.deepEqual(
        tuning.trackers.map(({ tracker, truths }) => [tracker, truths]),
        [
          ['alpha', 2790],
          ['beta', 1395],
        ],
      );
      assert.ok(tuning.examples.every(({ sequence }) => sequence === 'X-01' || sequence === 'X-02'));
      assert.match(err, /beta has no file for X-02/);
      const { error } = await run([...folders, ...quick, '--format', 'kitti']);
      assert.match(String(error), /is laid out for format motchallenge; say --format motchallenge/);
    });
  });

  describe('other formats', () => {
    const lines = (shift: (index: number) => number) =>
      Array.from({ length: 300 }, (_, index) => {
        const point = [index, shift(index)];
        return `${JSON.stringify({ k: index + 5, objects: [{ id: 'a', point }] })}\n`;
      }).join('');

    it('are read through their adapters: points in their own unit, frames with their own numbers', async () => {
      writeFileSync(
        at('truth.jsonl'),
        lines(() => 0),
      );
      // up to 2 off, and a few far away
      writeFileSync(
        at('radar.jsonl'),
        lines((index) => (index % 100 === 99 ? 15 : (index % 20) / 10)),
      );
      const args = ['--reference', at('truth.jsonl'), '--tracker', at('radar.jsonl'), ...quick, '--json'];
      const { out } = await done([...args, '--format', 'native', '--option', 'shape=point', '--reach', '20']);
      const { distance, kind, pairs, candidate, examples } = JSON.parse(out) as Tuning;
      assert.deepEqual({ distance, kind, pairs }, { distance: 'euclidean', kind: 'point', pairs: 300 });
      assert.ok(
        candidate && candidate.params.cutoff > 2 && candidate.params.cutoff < 15,
        `${candidate?.params.cutoff}`,
      );
      const far = examples.at(-1)!;
      assert.deepEqual([far.distance, far.frame, far.frameNumber], [15, 99, 104]);
    });

    it('must fit the distance', () => {
      const points = ['--reference', 'a', '--tracker', 'b', '--format', 'native', '--option', 'shape=point'];
      assert.deepEqual(usageMistakes([...points, '--distance', 'iou', '--all-rows']), [
        '--all-rows needs a reference in format motchallenge; see --formats for what native has',
        '--distance iou compares boxes, but format native gives points',
      ]);
      assert.match(usageMistakes(['--reference', 'a', '--tracker', 'b', '--distance', 'geodesic'])[0], /gives boxes$/);
      assert.match(
        usageMistakes(['--reference', 'a', '--tracker', 'b', '--format', 'xyz'])[0],
        /--format xyz is unknown/,
      );
    });

    it('are listed', async () => {
      const { out } = await done(['--formats']);
      assert.match(out, /^native: /m);
    });
  });

  describe('--preprocess', () => {
    it('takes tracks on distractors out before pairs are counted', async () => {
      const row = (frame: number, id: number, left: number, tail: string) => `${frame},${id},${left},0,10,20,${tail}\n`;
      const frames = Array.from({ length: 300 }, (_, index) => index + 1);
      writeFileSync(at('gt-two.txt'), frames.map((f) => row(f, 1, 0, '1,1,1') + row(f, 2, 100, '0,8,1')).join(''));
      writeFileSync(
        at('both.txt'),
        frames.map((f) => row(f, 1, f % 3, '1,-1,-1,-1') + row(f, 2, 100, '1,-1,-1,-1')).join(''),
      );
      const args = ['--reference', at('gt-two.txt'), '--tracker', at('both.txt'), ...quick, '--json'];
      const tracks = async (more: string[]) =>
        (JSON.parse((await done([...args, ...more])).out) as Tuning).trackers[0].tracks;
      assert.equal(await tracks([]), 600);
      assert.equal(await tracks(['--preprocess', 'motchallenge']), 300);
    });
  });

  describe('--json', () => {
    it('prints the tuning as the library gives it', async () => {
      const { out } = await done(['--demo', '--json', ...quick]);
      const samples = crossingScene().trackers.map(({ name, frames }) => ({ tracker: name, frames }));
      assert.deepEqual(JSON.parse(out), JSON.parse(JSON.stringify(tune(samples, { scores: false }))));
    });
  });

  describe('mistakes', () => {
    it('of the command line are told together', () => {
      const mistakes = usageMistakes([
        '--tracker',
        'a',
        '--reference',
        'b',
        '--platau',
        '1',
        '--plateau',
        '1',
        '--steps',
        'x',
      ]);
      assert.deepEqual(mistakes, [
        'unknown option --platau; did you mean --plateau?',
        '--tracker a comes before any --reference; put its reference first',
        '--reference b has no --tracker FILE after it; give at least one',
        '--steps must be a number, got "x"',
        '--plateau must be two numbers with a comma between them, e.g. 0.17,0.34, got "1"',
      ]);
      assert.deepEqual(
        usageMistakes(['--demo', '--growth-share', '3', '--window', '0', '--name', '-', '--reach', '2']),
        ['--name "-" is no name: it must be 1 to 64 letters, digits or . _ : / - and begin with a letter or digit'],
      );
      assert.deepEqual(usageMistakes(['--demo', '--growth-share', '3', '--window', '0', '--reach', '2']), [
        '--reach must be above 0 and at most 1, the largest distance of iou, got 2',
        '--growth-share must lie between 0 and 1, got 3',
        '--window must be a whole number of frames, at least 1, got 0',
      ]);
      assert.deepEqual(usageMistakes(['--demo', '--switch-penalty', '1', '--long-switch-frames', '4']), [
        '--switch-penalty excludes --long-switch-frames; give one of them, got 1',
      ]);
    });

    it('of the files are told together, before anything is computed', async () => {
      writeFileSync(at('bad.txt'), '1,1,0,0,-5,5\n');
      const { error, out } = await run(['--reference', at('nowhere.txt'), '--tracker', at('bad.txt')]);
      assert.ok(error instanceof InputError);
      assert.deepEqual(
        error.problems.map(({ path }) => path.slice(folder.path.length + 1)),
        ['nowhere.txt', 'bad.txt:1:9'],
      );
      assert.equal(out, '');
    });

    it('that only the data can show name the option', async () => {
      const { error } = await run([...files, ...quick, '--cutoff', '0.3', '--admissible-error', '0.1']);
      assert.ok(error instanceof InputError);
      assert.match(error.message, /^--admissible-error: .*at least half the/);
    });

    it('end with exit code 1 and what was seen, when nothing can be proposed', function () {
      skipInFastRun(this);
      // every overlap there is, equally often
      const frames = Array.from({ length: 400 }, (_, frame): Frame => {
        const box = (left: number): Obj => ({ id: '1', box: [left, 0, 100, 50] });
        return { reference: [box(0)], tracker: [box(frame / 4)] };
      });
      writeFileSync(at('gt-wild.txt'), rowsOf(frames, 'reference'));
      writeFileSync(at('wild.txt'), rowsOf(frames, 'tracker'));
      const args = ['tune', '--reference', at('gt-wild.txt'), '--tracker', at('wild.txt'), ...quick];
      const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args, '--yaml', at('never.yaml')], {
        encoding: 'utf8',
      });
      assert.equal(status, 1, stderr);
      assert.match(stdout, /^wild +400 +400 +400 .* too loose$/m);
      assert.match(stderr, /^tgospa tune: .*wild is too loose to tell anything/);
      assert.ok(!existsSync(at('never.yaml')));
      assert.equal(spawnSync(process.execPath, [main, ...args, '--plateau', '0.2,0.4']).status, 0);
    });

    it('are easy to get help on', async () => {
      const { out } = await done(['--help']);
      assert.equal(out, `${tuneHelp()}\n`);
      for (const line of out.split('\n')) assert.ok(line.length <= 120, line);
    });
  });

  describe('on real sequences', () => {
    before(function () {
      skipUnless(this, existsSync(data), `${fileURLToPath(data)} is needed here`);
    });

    it('comes close to the published choice for trackers', async function () {
      skipInFastRun(this);
      const path = (name: string) => fileURLToPath(new URL(name, data));
      const trackers = ['BoT-SORT-ReTrack-Botsort_baseline', 'DeepSORT-AxelBogos', 'Lif_T', 'MPNTrack'];
      const args = ['02', '09', '13'].flatMap((sequence) => [
        '--reference',
        path(`train/MOT17-${sequence}/gt/gt.txt`),
        ...trackers.flatMap((name) => ['--tracker', path(`results/${name}/MOT17-${sequence}-FRCNN.txt`)]),
      ]);
      const { out } = await done([...args, ...quick, '--json']);
      const { candidate, trackers: verdicts, plateau } = JSON.parse(out) as Tuning;
      assert.deepEqual(
        verdicts.map(({ tracker, loose: isLoose, detector }) => [tracker, isLoose, detector]),
        trackers.map((name) => [name, false, false]),
      );
      assert.ok(plateau && plateau.from >= 0.25 && plateau.from <= 0.4 && plateau.to >= 0.5, JSON.stringify(plateau));
      const published = profile({ cutoff: 0.5, admissibleError: 0.34, shortSwitchDistance: 0.17 });
      assert.ok(Math.abs(candidate!.params.cutoff - published.cutoff) < 0.07, `${candidate?.params.cutoff}`);
    });
  });
});
