/** Feeds compared with each other, none of them believed. */

import assert from 'node:assert/strict';
import { runEval } from '../../../src/commands/eval/eval.js';
import { evaluate, presets } from '../../../src/index.js';
import { crossingScene } from '../../../src/simulation/walkers.js';
import { outputOf, rowsOf, SceneFolder } from '../../kit/system/command-line.js';

const profile = presets['online-surveillance'];
const scene = crossingScene().trackers;
const run = (args: string[]) => outputOf(runEval, args);

function close(actual: number, expected: number, what: string): void {
  assert.ok(
    Math.abs(actual - expected) <= 1e-9 * Math.max(1, Math.abs(expected)),
    `${what}: ${actual}, expected ${expected}`,
  );
}

describe('tgospa eval --symmetric', () => {
  const folder = SceneFolder.ofSuite();
  const at = (...path: string[]) => folder.at(...path);
  const put = (path: string, content: string) => folder.put(path, content);
  const [first, second] = [scene[1].frames, scene[2].frames];
  before(() => {
    for (const { name, frames } of scene) put(`results/${name}/SEQ-01.txt`, rowsOf(frames, 'tracker'));
    put('a.txt', rowsOf(first, 'tracker'));
    put('b.txt', rowsOf(second, 'tracker'));
  });

  interface Pair {
    first: string;
    second: string;
    distance: number;
    count: Record<string, number>;
  }
  const compare = async (...args: string[]): Promise<Pair[]> =>
    JSON.parse((await run(['--symmetric', ...args, '--json'])).out);

  it('compares two trackers, the same both ways with missed and false exchanged', async () => {
    const [ab] = await compare('--tracker', at('a.txt'), '--tracker', at('b.txt'));
    const [ba] = await compare('--tracker', at('b.txt'), '--tracker', at('a.txt'));
    const expected = evaluate(
      first.map((frame, k) => ({ reference: frame.tracker, tracker: second[k].tracker })),
      profile,
    );
    close(ab.distance, expected.distance, 'distance');
    close(ba.distance, ab.distance, 'the other way');
    assert.equal(ba.count.missed, ab.count.false);
    assert.ok(ab.distance > 0);
  });

  it('compares every two of several feeds, folders too, and says it in sentences', async () => {
    const three = ['A', 'B', 'C'].map((_, n) => at('results', scene[n].name));
    const { out } = await run(['--symmetric', '--scores', ...three.flatMap((path) => ['--tracker', path])]);
    assert.equal(out.match(/ agree on [\d,]+ objects/g)?.length, 3);
    assert.match(out, /only first/);
    const self = await run(['--symmetric', '--tracker', at('a.txt'), '--reference', at('a.txt')]);
    assert.match(self.out.replace(/\n +/g, ' '), /a and .*a are the same\./);
  });

  it('counts rows of annotators by flag and class', async () => {
    put('annotator.txt', '1,1,0,0,10,10,1,1,1\n1,2,50,0,10,10,0,1,1\n1,3,90,0,10,10,1,7,1\n');
    put('other.txt', '1,1,0,0,10,10,1,1,1\n');
    const both = ['--tracker', at('annotator.txt'), '--tracker', at('other.txt')];
    assert.equal((await compare(...both, '--annotations'))[0].distance, 0);
    assert.equal((await compare(...both))[0].count.missed, 2);
  });
});
