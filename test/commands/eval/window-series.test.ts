/** `tgospa eval --window`: a row for every frame, and a drawing of them. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { runEval } from '../../../src/commands/eval/eval.js';
import { evaluate, presets } from '../../../src/index.js';
import { crossingScene } from '../../../src/simulation/walkers.js';
import { outputOf, PLAIN, rowsOf, SceneFolder } from '../../kit/system/command-line.js';

const [steady, , faulty] = crossingScene().trackers;
const run = (args: string[], screen = PLAIN) => outputOf(runEval, args, screen);

describe('tgospa eval --window', () => {
  const folder = SceneFolder.ofSuite();
  const files = folder.args('faulty', 'steady');

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
    const csv = folder.at('series.csv');
    const { out, err } = await run([...files, '--window', '60', '--csv', csv]);
    assert.equal(readFileSync(csv, 'utf8'), (await run([...files, '--window', '60'])).out);
    assert.match(out, /^4 changes of identity/m);
    assert.match(out, /^ {2}frame {3}122 {2}switch {2}truth 3: 3 → 4$/m);
    assert.match(err, /^wrote the series to .*series\.csv$/m);
  });

  it('quotes a name with a comma', async () => {
    const odd = folder.at('a,b.txt');
    writeFileSync(odd, rowsOf(steady.frames.slice(0, 3), 'tracker'));
    const { out } = await run(['--reference', folder.at('gt.txt'), '--tracker', odd, '--window', '2']);
    assert.match(out.split('\n')[1], /^"a,b",online-surveillance,1,/);
  });

  it('warns when the window is too short for the switches of the profile', async () => {
    const args = [...files, '--profile', 'offline-scene-understanding', '--window'];
    assert.match((await run([...args, '21'])).err, /a window of 21 frames can never show one; use --window 22 or more/);
    assert.doesNotMatch((await run([...args, '22'])).err, /warning/);
  });
});
