/** What of two files is judged: regions, partial references, and what benchmarks set aside. */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runEval } from '../../../../src/commands/eval/eval.js';
import { outputOf, PLAIN } from '../../../kit/system/command-line.js';

const run = (args: string[]) => outputOf(runEval, args, { ...PLAIN, columns: 80 });
const OWN = ['--cutoff', '10', '--exponent', '1', '--switch-penalty', '1', '--distance', 'euclidean'];

describe('tgospa eval --coverage', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-coverage-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  function put(name: string, content: unknown): string {
    const file = join(folder, name);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
    return file;
  }

  const points = (name: string, places: Record<string, number[]>): string =>
    put(
      name,
      [0, 1, 2]
        .map((k) => JSON.stringify({ k, objects: Object.entries(places).map(([id, point]) => ({ id, point })) }))
        .join('\n'),
    );

  /** a is tracked, b is missed inside, c outside; 2 is false inside, 3 outside, 4 two units inside the border. */
  function scene(rules: unknown, ...more: string[]): string[] {
    const reference = points('reference.jsonl', { a: [50, 50], b: [20, 20], c: [200, 20] });
    const tracker = points('tracker.jsonl', { 1: [51, 50], 2: [80, 20], 3: [300, 20], 4: [98, 80] });
    const files = ['--reference', reference, '--tracker', tracker, '--format', 'native', '--option', 'shape=point'];
    return [...files, ...OWN, '--coverage', put('rules.json', rules), ...more];
  }
  const square = { polygon: [[0, 0], [100, 0], [100, 100], [0, 100]] }; // biome-ignore format: one line
  const judged = async (args: string[]) => JSON.parse((await run([...args, '--json'])).out)[0];

  it('judges inside the regions, less near their border, and counts what is outside by reason', async () => {
    const { cost, count, notJudged } = await judged(scene({ knows: 'coverage', regions: [square] }));
    // three frames; alone the full price is 5, that of track 4 its two units to the border
    assert.equal(cost.missed, 15);
    assert.ok(Math.abs(cost.false - 3 * (5 + 2)) < 1e-12);
    assert.equal(cost.localization, 3);
    assert.deepEqual(count, { proper: 3, missed: 3, false: 6, switches: 0 });
    assert.deepEqual(notJudged, { reference: { outside: 3 }, tracker: { outside: 3 } });
    const { out } = await run(scene({ knows: 'coverage', regions: [square] }));
    assert.match(out, /tracker: not judged: 3 true \(3 outside\) and 3 tracked \(3 outside\)\./);
  });

  it('calls nothing false where the reference knows only some', async () => {
    const { count, cost, notJudged } = await judged(scene({ knows: 'transponder' }));
    assert.deepEqual(count, { proper: 3, missed: 6, false: 0, switches: 0 });
    assert.equal(cost.false, 0);
    assert.deepEqual(notJudged.tracker, { unequipped: 9 });
  });

  it('leaves out what lies in regions to ignore, in the numbers of surveillance too', async () => {
    const { notJudged, performance } = await judged(scene({ ignore: [square] }, '--performance'));
    // the pair in the middle of it is still worth having, but not judged when it is none: a pair earns nothing there
    assert.deepEqual(notJudged.reference, { ignored: 6 });
    assert.deepEqual(notJudged.tracker, { ignored: 9 });
    assert.deepEqual(performance.notJudged, { truths: 6, tracks: 9 });
    assert.equal(performance.siap.completeness, 0);
    assert.equal(performance.siap.spuriousness, 1);
  });

  it('expresses what MOTChallenge sets aside: a track on a distractor costs its distance to it', async () => {
    const truths = ['1,1,0,0,10,20,1,1,1', '1,2,100,0,10,20,1,8,1'].join('\n');
    const tracks = ['1,1,0,0,10,20,1,-1,-1,-1', '1,2,100,0,10,20,1,-1,-1,-1', '1,3,101,0,10,20,1,-1,-1,-1'].join('\n');
    const files = ['--reference', put('gt.txt', truths), '--tracker', put('res.txt', tracks)];
    const params = ['--cutoff', '0.5', '--exponent', '1', '--switch-penalty', '0.1'];
    const { cost, notJudged, count } = await judged([...files, ...params, '--ignore-rules', 'motchallenge']);
    // the third overlaps the distractor by 9 of 11 parts
    assert.ok(Math.abs(cost.false - 2 / 11) < 1e-12);
    assert.deepEqual(notJudged, { reference: {}, tracker: { dont_care: 1 } });
    assert.deepEqual(count, { proper: 1, missed: 0, false: 1, switches: 0 });
    const hard = await judged([...files, ...params, '--preprocess', 'motchallenge']);
    assert.equal(hard.count.false, 1);
  });

  it('expresses the regions of KITTI that nobody annotated, by the share of a track that lies in them', async () => {
    const row = (k: number, id: number, kind: string, box: string) => `${k} ${id} ${kind} 0 0 0 ${box} 1 1 1 0 0 0 0`;
    const truths = [row(0, 1, 'Car', '0 0 50 50'), row(0, -1, 'DontCare', '100 0 200 50')].join('\n');
    const tracks = [row(0, 1, 'Car', '0 0 50 50'), row(0, 2, 'Car', '120 0 170 50'), row(0, 3, 'Car', '165 0 215 50')]
      .map((one) => `${one} 1`)
      .join('\n');
    const files = ['--reference', put('k/gt.txt', truths), '--tracker', put('k/res.txt', tracks), '--format', 'kitti'];
    const params = ['--cutoff', '0.8', '--exponent', '1', '--switch-penalty', '0.1', '--classes', 'car'];
    const { cost, notJudged } = await judged([...files, ...params, '--ignore-rules', 'kitti']);
    // the second lies inside, and seven tenths of the third
    assert.deepEqual(notJudged.tracker, { ignored: 1 });
    assert.ok(Math.abs(cost.false - 0.3) < 1e-12);
  });

  it('counts altitude by its weight, at the poles and the antimeridian too, and nothing beyond what can be seen', async () => {
    const files = (truth: number[], track: number[], rules: object) => [
      ...[
        '--reference',
        points('up/reference.jsonl', { a: truth }),
        '--tracker',
        points('up/tracker.jsonl', { 1: track }),
      ],
      ...['--format', 'native', '--option', 'shape=point', '--distance', 'geodesic'],
      ...['--cutoff', '500', '--exponent', '1', '--switch-penalty', '1', '--performance'],
      ...['--coverage', put('up/rules.json', rules)],
    ];
    // metres across, on the ellipsoid
    for (const [truth, track, across] of [
      [[60, 179.9999, 1000], [60, -179.99985, 1100], 13.95],
      [[89.9999, 0, 1000], [89.9999, 180, 1100], 22.34],
      [[-89.9999, 90, 1000], [-89.9999, -90, 1100], 22.34],
    ] as Array<[number[], number[], number]>)
      for (const verticalWeight of [1, 3, 5]) {
        const { cost, count, performance } = await judged(files(truth, track, { verticalWeight }));
        const distance = Math.hypot(across, 100 * verticalWeight);
        const expected = distance < 500 ? 3 * distance : 3 * 500;
        assert.ok(Math.abs(cost.total - expected) < 0.1, `${cost.total} where ${expected} is right`);
        assert.equal(count.proper, distance < 500 ? 3 : 0);
        // errors are metres, whatever they count for
        if (count.proper > 0) assert.ok(Math.abs(performance.error.rms - Math.hypot(across, 100)) < 0.1);
      }
    const near = { sector: { at: [60, 179.9], range: [0, 1000] } };
    const { cost, notJudged } = await judged(files([60, 179.9999, 0], [61, -179.9, 0], { within: [near] }));
    assert.equal(cost.total, 0);
    assert.deepEqual(notJudged, { reference: { outside: 3 }, tracker: { outside: 3 } });
    await assert.rejects(run(files([60, 0, 0], [60, 0, 0], { verticalWeight: 0 })), /verticalWeight.*above 0/);
  });

  it('judges a folder in the same way', async () => {
    put('study/truth/A/gt/gt.txt', '1,1,0,0,10,20,1,1,1\n1,2,100,0,10,20,1,8,1');
    put('study/tracks/mine/A.txt', '1,1,0,0,10,20,1,-1,-1,-1\n1,2,100,0,10,20,1,-1,-1,-1');
    const folders = ['--reference', join(folder, 'study/truth'), '--tracker', join(folder, 'study/tracks')];
    const [first] = JSON.parse((await run([...folders, '--ignore-rules', 'motchallenge', '--json'])).out);
    assert.equal(first.count.false, 0);
    assert.deepEqual(first.notJudged.tracker, { dont_care: 1 });
  });

  it('says what is wrong with a file of regions, all at once', async () => {
    await assert.rejects(
      run(scene({ knows: 'all', region: [], ignore: [{}, { polygon: [[0, 0]] }] })),
      /region.*is not known[\s\S]*must be one of complete, coverage, transponder[\s\S]*exactly one of[\s\S]*three corners/,
    );
    await assert.rejects(run(scene('{')), /must be an object with knows, regions, ignore, within and verticalWeight/);
    await assert.rejects(run(scene({ knows: 'coverage' })), /needs the regions/);
    await assert.rejects(run(scene({}, '--scores')), /--coverage/);
  });
});
