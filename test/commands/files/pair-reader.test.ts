/** Pairs of files, as the commands read them: which rows count, what is noted about them, and every mistake once. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { runEval } from '../../../src/commands/eval/eval.js';
import { PairReader, type PairReading } from '../../../src/commands/files/pair-reader.js';
import { runTune } from '../../../src/commands/tune/tune.js';
import { type Evaluation, InputError } from '../../../src/index.js';
import { outputOf, SceneFolder } from '../../kit/system/command-line.js';

const run = (args: string[]) => outputOf(runEval, args);
const runJson = async (args: string[]): Promise<Evaluation[]> => JSON.parse((await run([...args, '--json'])).out);

const MOT: PairReading = {
  formats: { reference: { name: 'motchallenge', options: {} }, tracker: { name: 'motchallenge', options: {} } },
};

describe('pairs of files', () => {
  const folder = SceneFolder.ofSuite();
  const files = folder.args('faulty', 'steady');

  describe('rows that count', () => {
    it('says how many rows of the reference count, and warns when none does', async () => {
      const odd = folder.at('odd.txt');
      writeFileSync(odd, '1,1,1,1,1,1,1,1,1\n1,2,1,1,1,1,0,1,1\n1,3,1,1,1,1,1,7,1\n');
      const args = ['--reference', odd, '--tracker', folder.at('steady.txt')];
      assert.match((await run(args)).err, /odd\.txt: 1 of 3 rows count .*--all-rows/);
      assert.match(
        (await run([...args, '--all-rows', '--json'])).err,
        /^warning: .*steady\.txt continues to frame 300, .*odd\.txt ends with frame 1: [^\n]*\n$/,
      );
      assert.match((await run([...args, '--classes', '3', '--json'])).err, /^warning: none of the 3 rows/);
    });

    it('warns once: under the tables for people, on standard error beside what programs read', async () => {
      const reference = folder.put('brief.txt', '1,1,1,1,1,1,1,1,1\n');
      const args = ['--reference', reference, '--tracker', folder.at('steady.txt')];
      const count = (text: string) => text.split('continues to frame 300').length - 1;
      for (const [more, outs, errs] of [
        [[], 1, 0],
        [['--csv', folder.at('rows.csv')], 1, 0],
        [['--json'], 1, 1],
        [['--window', '5'], 0, 1],
      ] as const) {
        const { out, err } = await run([...args, ...more]);
        assert.deepEqual([count(out), count(err)], [outs, errs], more.join(' '));
      }
    });

    it('warns of files that cannot be meant: ground truth as a tracker, an empty reference', async () => {
      const truth = folder.at('crossing-gt.txt');
      writeFileSync(truth, '1,1,0,0,10,10,1,1,1\n1,2,50,0,10,10,0,8,1\n');
      const asTracker = await run(['--reference', truth, '--tracker', truth, '--json']);
      assert.match(asTracker.err, /^warning: .*looks like ground truth \(9 columns\).* 2 rows count, 1 of them not/m);
      const empty = folder.at('empty.txt');
      writeFileSync(empty, '');
      const { err } = await run(['--reference', empty, '--tracker', folder.at('steady.txt'), '--json']);
      assert.match(err, /^warning: .*empty\.txt is empty: everything tracked is false\n$/);
      // files as they should be say nothing
      assert.equal((await run(files)).err, '');
    });

    it('takes out distractors under --preprocess, and says how many', async () => {
      const distractors = folder.at('distractors.txt');
      writeFileSync(distractors, '1,1,0,0,10,10,1,1,1\n1,2,50,0,10,10,0,8,1\n');
      const tracker = folder.at('two.txt');
      writeFileSync(tracker, '1,1,0,0,10,10,1,-1,-1,-1\n1,2,50,1,10,10,1,-1,-1,-1\n');
      const args = ['--reference', distractors, '--tracker', tracker];
      assert.deepEqual((await runJson(args))[0].count, { proper: 1, missed: 0, false: 1, switches: 0 });
      const cleaned = [...args, '--preprocess', 'motchallenge'];
      assert.deepEqual((await runJson(cleaned))[0].count, { proper: 1, missed: 0, false: 0, switches: 0 });
      assert.match((await run(cleaned)).err, /two: preprocessing took out 1 of 2 rows/);
    });
  });

  describe('read by PairReader', () => {
    const truth = '1,1,0,0,10,10,1,1,1\n3,1,5,0,10,10,1,1,1\n';
    const track = '2,7,0,0,10,10,1,-1,-1,-1\n';

    it('have every frame up to the last of both, whatever the format', () => {
      const pair = { reference: folder.put('t.txt', truth), tracker: folder.put('k.txt', track) };
      const plain = new PairReader(MOT).read(pair);
      assert.deepEqual(
        plain.frames.map(({ reference, tracker }) => [reference.length, tracker.length]),
        [
          [1, 0],
          [0, 1],
          [1, 0],
        ],
      );
      // an option of the format: read through the adapter instead, with the same frames
      const spec = { name: 'motchallenge', options: { frameOffset: 0 } };
      const adapted = new PairReader({ formats: { reference: spec, tracker: spec } }).read(pair);
      assert.deepEqual(adapted.frames, plain.frames);
      assert.equal(adapted.firstFrame, plain.firstFrame);
    });

    it('report the mistakes of a reference once, and those of every tracker', () => {
      const reference = folder.put('bad-gt.txt', 'x,1,0,0,1,1\n');
      const bad = folder.put('bad.txt', '1,1,0,0,-1,1\n');
      const pairs = [bad, folder.at('steady.txt'), folder.at('nowhere.txt')].map((tracker) => ({ reference, tracker }));
      assert.throws(
        () => new PairReader(MOT).readAll(pairs),
        (error) => {
          assert.ok(error instanceof InputError);
          assert.deepEqual(
            error.problems.map(({ path }) => path.slice(folder.path.length + 1)),
            ['bad-gt.txt:1:1', 'bad.txt:1:9', 'nowhere.txt'],
          );
          return true;
        },
      );
    });

    it('count rows by the options of the format, however they are given', async () => {
      const reference = folder.put('cars.txt', '1,1,0,0,10,10,1,1,1\n1,2,50,0,10,10,1,3,1\n1,3,90,0,10,10,1,3,1\n');
      const args = ['--reference', reference, '--tracker', folder.put('none.txt', '')];
      const missed = async (...more: string[]) => (await runJson([...args, ...more]))[0].count.missed;
      assert.equal(await missed(), 1);
      assert.equal(await missed('--classes', '3'), 2);
      assert.equal(await missed('--option', 'classes=3'), 2);
      assert.equal(await missed('--reference-option', 'allRows=true'), 3);
    });

    it('are noted alike by every command', async () => {
      const args = ['--reference', folder.put('odd-gt.txt', `${truth}1,2,50,0,10,10,0,8,1\n`)];
      args.push('--tracker', folder.at('steady.txt'));
      const { err } = await run([...args, '--json']);
      assert.match(
        err,
        /odd-gt\.txt: 2 of 3 rows count .*\n(warning: .* distractors .*\n)warning: .*steady\.txt continues to frame 300/,
      );
      assert.equal((await outputOf(runTune, [...args, '--no-scores', '--plateau', '0.2,0.4'])).err, err);
    });
  });

  describe('with mistakes', () => {
    it('are reported with file, line, character and what was expected, for all files together', async () => {
      const bad = folder.at('bad.txt');
      writeFileSync(bad, '1,1,1,1,1,1\n2,1,1,one,1,1\n');
      const missing = folder.at('missing.txt');
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
  });
});
