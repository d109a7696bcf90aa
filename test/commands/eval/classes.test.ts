/** Classes that are judged one by one in one run, under names that differ, against a reference of key frames. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runEval } from '../../../src/commands/eval/eval.js';
import { outputOf, PLAIN } from '../../kit/system/command-line.js';

const run = (args: string[]) => outputOf(runEval, args, { ...PLAIN, columns: 80 });

describe('classes and key frames in tgospa eval', () => {
  let folder: string;
  let files: string[];
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-classes-'));
    const rows = (numbers: number[], objects: (k: number) => object[]) =>
      numbers.map((k) => JSON.stringify({ k, objects: objects(k) })).join('\n');
    const all = Array.from({ length: 31 }, (_, k) => k);
    // annotated every tenth frame; what is tracked is complete, and calls the car a person
    writeFileSync(
      join(folder, 'reference.jsonl'),
      rows([0, 10, 20, 30], (k) => [
        { id: 'a', class: 'pedestrian', box: [k, 0, 20, 40] },
        { id: 'b', class: 'car', box: [200 + k, 0, 40, 40] },
      ]),
    );
    writeFileSync(
      join(folder, 'tracker.jsonl'),
      rows(all, (k) => [
        { id: '1', class: 'Person', box: [k, 0, 20, 40] },
        { id: '2', class: 'Person', box: [200 + k, 0, 40, 40] },
      ]),
    );
    const named = ['--reference', join(folder, 'reference.jsonl'), '--tracker', join(folder, 'tracker.jsonl')];
    files = [...named, '--format', 'native'];
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const counts = async (...args: string[]) =>
    JSON.parse((await run([...files, ...args, '--json'])).out).map(
      ({ class: kind, count }: { class: string; count: { proper: number; missed: number; false: number } }) =>
        `${kind} ${count.proper} ${count.missed} ${count.false}`,
    );

  it('pairs within a class only, with a table for each and their sum', async () => {
    const mapped = ['--per-class', '--annotated-only', '--class-map', 'person=pedestrian'];
    assert.deepEqual(await counts(...mapped), ['car 0 4 0', 'pedestrian 4 0 4']);
    const { out } = await run([...files, ...mapped]);
    const [, sum] = out.split('all classes together, pairs within a class only');
    assert.match(sum, /^1 {2}tracker +4 +4 +4 +0 /m);
  });

  it('has a table for a class that only the tracker has: all of it is false', async () => {
    const all = ['car 0 4 0', 'pedestrian 0 4 0', 'Person 0 0 8'];
    assert.deepEqual((await counts('--per-class', '--annotated-only')).sort(), all.sort());
    const { out } = await run([...files, '--per-class', '--annotated-only']);
    const [, sum] = out.split('all classes together, pairs within a class only');
    assert.match(sum, /^1 {2}tracker +0 +8 +8 +0 /m);
  });

  it('says when a class that is to be renamed is in no file, and what a name must look like', async () => {
    const { out, err } = await run([...files, '--class-map', 'dog=pedestrian', '--annotated-only']);
    assert.match(`${out}${err}`, /no object of .*tracker\.jsonl is of the class\s+dog/);
    await assert.rejects(run([...files, '--class-map', 'dog']), /--class-map must be THEIRS=OURS, got "dog"/);
  });

  it('judges key frames alone, or the truth in between them, and says which', async () => {
    assert.deepEqual(await counts('--annotated-only'), ['undefined 8 0 0']);
    assert.deepEqual(await counts('--between-references', 'linear'), ['undefined 62 0 0']);
    const alone = await run([...files, '--annotated-only']);
    assert.match(alone.err, /reference\.jsonl: 4 of 31 moments are judged, those that it has; the others are left out/);
    const between = await run([...files, '--between-references', 'linear']);
    assert.match(between.err, /4 of 31 moments are its own, 27 are interpolated, the others have no truth/);
    const held = await run([...files, '--between-references', 'hold', '--hold-max-frames', '5']);
    assert.match(held.err, /4 of 31 moments are its own, 15 are held, the others have no truth/);
  });

  it('checks that ignore rules fit the format', async () => {
    await assert.rejects(
      run([...files, '--ignore-rules', 'kitti']),
      /--ignore-rules kitti is for files in format kitti/,
    );
  });
});
