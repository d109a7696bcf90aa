/** Trackers that match far less than their neighbours, and what is said about them. */

import assert from 'node:assert/strict';
import { runEval } from '../../../../src/commands/eval/eval.js';
import { neighbourWarnings } from '../../../../src/commands/eval/sequence/neighbours.js';
import { outputOf, SceneFolder } from '../../../kit/system/command-line.js';

const matched = (sequence: string, tracker: string, proper: number, doubts: string[] = []) => ({
  ...{ sequence, tracker, warnings: [] as string[] },
  count: { proper, missed: 100 - proper, false: 100 - proper },
  doubts: () => doubts,
});

describe('neighbours of a tracker', () => {
  it('tell by the same sequence, or by its other sequences, that something is wrong', () => {
    const cause = ['warning: shifted'];
    const others = [matched('a', 'one', 40, cause), matched('a', 'two', 90), matched('a', 'three', 85)];
    assert.deepEqual(neighbourWarnings(others), [cause, [], []]);
    const own = [matched('a', 'one', 30, cause), matched('b', 'one', 90), matched('c', 'one', 80)];
    assert.deepEqual(neighbourWarnings(own), [cause, [], []]);
    const alike = [matched('a', 'one', 50, cause), matched('a', 'two', 90), matched('a', 'three', 85)];
    assert.deepEqual(neighbourWarnings(alike), [[], [], []]);
  });

  it('are named when no cause is found, unless one of both sides is as low, or there is one neighbour only', () => {
    const wrongFile = [
      ...[matched('a', 'one', 20), matched('b', 'one', 80), matched('c', 'one', 80)],
      ...[matched('a', 'two', 90), matched('b', 'two', 90), matched('c', 'two', 90)],
    ];
    const [first, ...rest] = neighbourWarnings(wrongFile);
    assert.match(
      first[0],
      /^warning: one matches 20 % of the truths of a, other trackers 90 % of them, and one 80 % on/,
    );
    assert.deepEqual(rest.flat(), []);
    const weak = wrongFile.map((one) =>
      one.tracker === 'one' ? { ...one, count: { proper: 20, missed: 80, false: 80 } } : one,
    );
    assert.deepEqual(neighbourWarnings(weak).flat(), []);
    assert.deepEqual(neighbourWarnings([matched('a', 'one', 20), matched('a', 'two', 90)]).flat(), []);
  });

  it('say nothing about a few truths, or what the doctor of files has told', () => {
    const told = { ...matched('a', 'one', 20, ['again']), warnings: ['warning: x hardly matches as it is; y'] };
    const few = { ...matched('a', 'two', 0, ['chance']), count: { proper: 1, missed: 10, false: 10 } };
    assert.deepEqual(neighbourWarnings([told, few, matched('a', 'three', 90), matched('a', 'four', 90)]).flat(), []);
  });

  it('are not needed where hardly anything matches; a remark about the reference explains nothing', () => {
    const besides = ['warning: gt.txt has 40 rows of distractors; the benchmark takes such tracks out first: --x'];
    const [[alone]] = neighbourWarnings([{ ...matched('a', 'one', 1), warnings: besides }]);
    assert.match(alone, /^warning: one matches 1.0 % of the truths of a, and nothing explains it; .*columns/);
    const explained = ['warning: 2 of 90 moments of one have one of gt beside them, and the others are missed'];
    assert.deepEqual(neighbourWarnings([{ ...matched('a', 'one', 1), warnings: explained }]), [[]]);
  });

  describe('of files', () => {
    const folder = SceneFolder.ofSuite();
    /** Two people who stand and three who run: a wrong frame number leaves the first two where they are. */
    const scene = (tail: string, offset = 0, last = 60) =>
      Array.from({ length: last }, (_, n) =>
        [0, 1, 2, 3, 4].map((id) => {
          const left = id < 2 ? 50 + 300 * id : 20 + 25 * n + 500 * (id - 2);
          return `${n + 1 + offset},${id + 1},${left},${100 + 150 * id},40,80,${tail}\n`;
        }),
      )
        .flat()
        .join('');
    const truth = '1,1,1';
    const track = '1,-1,-1,-1';
    const out = async (args: string[]) => (await outputOf(runEval, args)).out.replaceAll(/\s+/g, ' ');

    it('say nothing more of one that matches in part when the doctor has named the cause', async () => {
      const reference = folder.put('people.txt', scene(truth));
      const good = ['good', 'fine'].flatMap((name) => ['--tracker', folder.put(`${name}.txt`, scene(track))]);
      const shifted = folder.put('shifted.txt', scene(track, 5));
      assert.match(await out(['--reference', reference, '--tracker', shifted]), /frameOffset=-5/);
      const text = await out(['--reference', reference, ...good, '--tracker', shifted]);
      assert.match(text, /warning: \S*shifted\.txt hardly matches as it is; .*: --tracker-option frameOffset=-5/);
      assert.equal(text.split('hardly').length, 2);
    });

    it('leave a wrong number in a study to the doctor, and name a file that ends too early', async () => {
      const names = ['x', 'y', 'z'];
      for (const name of names) {
        folder.put(`truth/${name}/gt/gt.txt`, scene(truth));
        folder.put(`tracks/good/${name}.txt`, scene(track));
        folder.put(`tracks/odd/${name}.txt`, scene(track, name === 'y' ? 5 : 0, name === 'z' ? 15 : 60));
      }
      const text = await out(['--reference', folder.at('truth'), '--tracker', folder.at('tracks'), '--threads', '1']);
      assert.match(text, /warning: \S*odd\/y\.txt hardly matches as it is; .*: --tracker-option frameOffset=-5/);
      assert.match(text, /warning: odd matches 25 % of the truths of z, other trackers 100 % of them, and odd /);
    });
  });
});
