/** Which frames and objects a number comes from, and results class by class. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { runEval } from '../../../../src/commands/eval/eval.js';
import { eventsOf } from '../../../../src/commands/eval/sequence/events.js';
import { type Evaluation, evaluate, type Frame, presets } from '../../../../src/index.js';
import { crossingScene } from '../../../../src/simulation/walkers.js';
import { outputOf, SceneFolder } from '../../../kit/system/command-line.js';

const box = (x: number): [number, number, number, number] => [x, 0, 40, 80];
const object = (id: string, x: number) => ({ id, box: box(x) });
const run = (args: string[], columns = Number.POSITIVE_INFINITY) => outputOf(runEval, args, { columns, colors: false });

describe('events', () => {
  it('are stretches of missed and false objects, and changes of track, by the numbers of the files', () => {
    const frames: Frame[] = [
      { reference: [object('a', 0)], tracker: [object('1', 0)] },
      { reference: [object('a', 0)], tracker: [] },
      { reference: [object('a', 0)], tracker: [object('9', 500)] },
      ...Array.from({ length: 5 }, () => ({
        reference: [object('a', 0)],
        tracker: [object('2', 0), object('9', 500)],
      })),
    ];
    const { perFrame } = evaluate(frames, presets['online-surveillance']);
    const events = eventsOf(perFrame, frames, [10, 11, 12, 13, 14, 15, 16, 17]);
    const said = events.map(({ event, from, to, frames: count, truth, track, before }) =>
      [event, from, to, count, truth, track, before].join(' '),
    );
    assert.deepEqual(said, ['missed 11 12 2 a  ', 'false 12 17 6  9 ', 'switch 13 13 1 a 2 1']);
  });

  it('add up to the counts of the evaluation', () => {
    for (const { frames } of crossingScene().trackers) {
      const { perFrame, count } = evaluate(frames, presets['online-surveillance']);
      const places = frames.map((_, n) => n + 1);
      const sum = (what: string) =>
        eventsOf(perFrame, frames, places).reduce((total, one) => total + (one.event === what ? one.frames : 0), 0);
      assert.deepEqual([sum('missed'), sum('false'), sum('switch')], [count.missed, count.false, count.switches]);
    }
  });

  describe('in files', () => {
    const folder = SceneFolder.ofSuite();

    it('are written for one sequence and for a study alike', async () => {
      const csv = folder.at('events.csv');
      await run([...folder.args('faulty'), '--events', csv]);
      const rows = readFileSync(csv, 'utf8').trim().split('\n');
      assert.equal(rows[0], 'class,sequence,tracker,profile,event,from,to,frames,truth,track,before');
      assert.ok(rows.length > 5);
      const switches = rows.filter((row) => row.includes(',switch,'));
      assert.deepEqual(switches.map((row) => row.split(',')[5]).slice(0, 2), ['122', '122']);
      for (const name of ['gt', 'faulty'])
        folder.put(
          name === 'gt' ? 'train/S/gt/gt.txt' : 'results/F/S.txt',
          readFileSync(folder.at(`${name}.txt`), 'utf8'),
        );
      const study = folder.at('study-events.csv');
      await run(['--reference', folder.at('train'), '--tracker', folder.at('results'), '--events', study]);
      const events = (text: string) => text.split('\n').map((row) => row.split(',').slice(4).join(','));
      assert.deepEqual(events(readFileSync(study, 'utf8')), events(readFileSync(csv, 'utf8')));
    });

    it('come class by class, with a table, entries and rows for each', async () => {
      const row = (id: number, x: number, kind: number) => `1,${id},${x},0,10,10,1,${kind},1\n`;
      const reference = folder.put('classes/gt.txt', row(1, 0, 1) + row(2, 50, 3) + row(3, 90, 3));
      const tracker = folder.put('classes/a.txt', row(1, 0, 1) + row(2, 50, 3));
      const args = ['--reference', reference, '--tracker', tracker, '--per-class'];
      const entries = JSON.parse((await run([...args, '--json'])).out) as Array<Evaluation & { class: string }>;
      assert.deepEqual(
        entries.map(({ class: kind, count }) => [kind, count.proper, count.missed, count.false]),
        [
          ['1', 1, 0, 0],
          ['3', 1, 1, 0],
        ],
      );
      const csv = folder.at('classes.csv');
      const { out } = await run([...args, '--csv', csv, '--html', folder.at('classes.html')]);
      assert.match(out, /^online-surveillance, class 1, 1 frames$/m);
      assert.match(out, /^online-surveillance, class 3, 1 frames$/m);
      assert.deepEqual(
        readFileSync(csv, 'utf8')
          .trim()
          .split('\n')
          .map((line) => line.split(',')[0]),
        ['class', '1', '3'],
      );
      assert.match(readFileSync(folder.at('classes.html'), 'utf8'), /class 3/);
      const some = JSON.parse((await run([...args, '--classes', '3', '--json'])).out) as unknown[];
      assert.equal(some.length, 1);
    });
  });
});
