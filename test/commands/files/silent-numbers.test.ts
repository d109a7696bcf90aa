/**
 * Numbers that look right and are not: what is said beside them, why it matters and the option to copy, and that the
 * option helps.
 */

import assert from 'node:assert/strict';
import { runEval } from '../../../src/commands/eval/eval.js';
import type { Evaluation, Scores } from '../../../src/index.js';
import { outputOf, SceneFolder } from '../../kit/system/command-line.js';

interface Entry extends Evaluation {
  class?: string;
  scores: Scores;
  warnings?: string[];
}

const run = (args: string[]) => outputOf(runEval, args);
const runJson = async (args: string[]): Promise<Entry[]> => JSON.parse((await run([...args, '--json'])).out);

/** One row of KITTI; the box by its corners. */
const kitti = (frame: number, id: number, type: string, box: number[], truncated = 0, occluded = 0, score = '') =>
  `${frame} ${id} ${type} ${truncated} ${occluded} 0 ${box.join(' ')} 1 1 1 1 1 1 0${score}\n`;

describe('silent wrong numbers', () => {
  const folder = SceneFolder.ofSuite();

  describe('of KITTI', () => {
    const car = [100, 100, 160, 160];
    const van = [300, 100, 360, 160];
    const hidden = [500, 100, 560, 160];
    const region = [700, 0, 1000, 300];
    const nothing = [1100, 100, 1160, 160];
    let args: string[];

    before(() => {
      const truth = [
        kitti(0, 1, 'Car', car),
        kitti(0, 2, 'Van', van),
        kitti(0, 3, 'Car', hidden, 0, 3),
        kitti(0, 4, 'Car', [1300, 100, 1360, 160], 1),
        kitti(0, -1, 'DontCare', region, -1, -1),
        kitti(0, 5, 'Pedestrian', [10, 10, 30, 60]),
        kitti(0, 6, 'Person_sitting', [50, 10, 70, 60]),
      ];
      const tracks = [
        kitti(0, 11, 'Car', car, -1, -1, ' 0.9'),
        kitti(0, 12, 'Car', van, -1, -1, ' 0.9'),
        kitti(0, 13, 'Car', hidden, -1, -1, ' 0.9'),
        kitti(0, 14, 'Car', [1300, 100, 1360, 160], -1, -1, ' 0.9'),
        // within the region by more than half, and by less
        kitti(0, 15, 'Car', [690, 100, 760, 160], -1, -1, ' 0.9'),
        kitti(0, 16, 'Car', [650, 100, 730, 160], -1, -1, ' 0.9'),
        // nothing is there: too small to be judged, and just large enough
        kitti(0, 17, 'Car', [1100, 10, 1130, 35], -1, -1, ' 0.9'),
        kitti(0, 18, 'Car', [1100, 50, 1130, 76], -1, -1, ' 0.9'),
        kitti(0, 19, 'Car', nothing, -1, -1, ' 0.9'),
        kitti(0, -1, 'Car', nothing, -1, -1, ' 0.9'),
        kitti(0, 20, 'Pedestrian', [10, 10, 30, 60], -1, -1, ' 0.9'),
        kitti(0, 21, 'Pedestrian', [50, 10, 70, 60], -1, -1, ' 0.9'),
      ];
      const reference = folder.put('kitti/gt.txt', truth.join(''));
      args = ['--reference', reference, '--tracker', folder.put('kitti/cars.txt', tracks.join(''))];
    });

    it('judges each class by the rules of the benchmark under --preprocess kitti', async () => {
      const entries = await runJson([...args, '--preprocess', 'kitti', '--scores']);
      assert.deepEqual(
        entries.map(({ class: kind, count }) => [kind, count.proper, count.missed, count.false]),
        [
          ['car', 1, 0, 3],
          ['pedestrian', 1, 0, 0],
        ],
      );
      const [one] = await runJson([...args, '--preprocess', 'kitti', '--classes', 'pedestrian']);
      assert.equal(one.class, 'pedestrian');
    });

    it('says beside the numbers what only the preprocessing understands', async () => {
      const { out } = await run(args);
      assert.match(
        out.replaceAll(/\n +/g, ' '),
        /^warning: .*gt\.txt has 1 DontCare regions and 4 rows .*--preprocess kitti/m,
      );
      const [{ warnings }] = await runJson(args);
      assert.match(warnings![0], /DontCare/);
      assert.equal((await runJson([...args, '--preprocess', 'kitti']))[0].warnings, undefined);
    });
  });

  it('of MOT17 are told when there are distractors and no preprocessing', async () => {
    const reference = folder.put('mot/gt.txt', '1,1,0,0,10,10,1,1,1\n1,2,50,0,10,10,0,8,1\n');
    const args = ['--reference', reference, '--tracker', folder.put('mot/a.txt', '1,1,0,0,10,10,1,-1,-1,-1\n')];
    assert.match(
      (await run(args)).out.replaceAll(/\n +/g, ' '),
      /^warning: .* 1 rows of distractors .*--preprocess motchallenge/m,
    );
    assert.equal((await runJson([...args, '--preprocess', 'motchallenge']))[0].warnings, undefined);
  });

  it('of ten columns heed --classes, or say that there are none', async () => {
    const row = (id: number, kind: number) => `1,${id},${id * 50},0,10,10,1,${kind},0,0\n`;
    const reference = folder.put('ten/gt.txt', [row(1, 1), row(2, 4), row(3, 4)].join(''));
    const none = folder.put('ten/none.txt', '');
    const args = ['--reference', reference, '--tracker', none, '--format', 'motchallenge'];
    assert.equal((await runJson([...args, '--classes', '4']))[0].count.missed, 2);
    assert.equal((await runJson(args))[0].count.missed, 3);
    const world = folder.put('ten/world.txt', '1,1,0,0,10,10,1,-4.2,7.1,0\n');
    await assert.rejects(
      run(['--reference', world, '--tracker', none, '--classes', '1']),
      /column 8 must be a class.*here it is a position: leave out --classes/,
    );
  });

  it('of ten columns heed --classes in the file of a tracker too, where it has any', async () => {
    const row = (id: number, kind: number) => `1,${id},${id * 50},0,10,10,1,${kind},0,0\n`;
    const rows = [row(1, 1), row(2, 4), row(3, 4)].join('');
    const reference = folder.put('ten/both.txt', rows);
    const judged = async (tracker: string) => {
      const args = ['--reference', reference, '--tracker', folder.put('ten/tracks.txt', tracker)];
      const { count } = (await runJson([...args, '--format', 'motchallenge', '--classes', '4']))[0];
      return [count.proper, count.missed, count.false];
    };
    assert.deepEqual(await judged(rows), [2, 0, 0]);
    assert.deepEqual(await judged(rows.replaceAll(/,\d,0,0\n/g, ',-1,-1,-1\n')), [2, 0, 1]);
  });

  it('of files that count frames from 0 and from 1 stand beside a warning, with the option that helps', async () => {
    // people who hardly move match themselves a frame later
    const rows = (first: number, header = '') =>
      header + Array.from({ length: 20 }, (_, n) => `${first + n},1,${100 + n},50,40,80,1\n`).join('');
    const from0 = folder.put('counted/from-0.txt', rows(0).replaceAll(',', ';'));
    const from1 = folder.put('counted/from-1.txt', rows(1, '\ufeffframe,id,left,top,width,height,score\n'));
    for (const [reference, tracker, offset] of [
      [from1, from0, 'frameOffset=1'],
      [from0, from1, 'frameOffset=-1'],
    ]) {
      const args = ['--reference', reference, '--tracker', tracker];
      const [{ warnings }] = await runJson(args);
      assert.match(warnings![0], new RegExp(`has a frame 0 and .* has none; .*--tracker-option ${offset}$`));
      const [{ cost, warnings: none }] = await runJson([...args, '--tracker-option', offset]);
      assert.deepEqual([cost.total, none], [0, undefined]);
    }
    const late = folder.put('counted/late.txt', rows(0).split('\n').slice(1).join('\n'));
    assert.equal((await runJson(['--reference', from0, '--tracker', late]))[0].warnings, undefined);
  });

  describe('of times that do not meet', () => {
    const frame = (t: number, x: number, id = 'a') =>
      `${JSON.stringify({ t, objects: [{ id, box: [x, 0, 40, 40] }] })}\n`;
    const feed = (name: string, times: number[], late = 0) =>
      folder.put(name, times.map((t) => frame(Math.round((t + late) * 1e6) / 1e6, 100 * t)).join(''));
    const at10Hz = Array.from({ length: 41 }, (_, n) => 1 + n / 10);
    const counts = async (...args: string[]) => (await runJson(args))[0].count;

    it('name the tolerance and the offset for a tracker that is 30 ms late', async () => {
      const args = ['--reference', feed('late/gt.ndjson', at10Hz), '--tracker', feed('late/a.ndjson', at10Hz, 0.03)];
      const [{ warnings, count }] = await runJson(args);
      assert.equal(count.proper, 0);
      assert.match(warnings![0], /0 of 41 moments .*--tolerance-ms 3\d, or, .*--tracker-option timeOffset=-0\.03$/);
      assert.equal((await counts(...args, '--tolerance-ms', '31')).proper, 41);
      assert.equal((await counts(...args, '--tracker-option', 'timeOffset=-0.03')).proper, 41);
      assert.equal((await runJson([...args, '--tolerance-ms', '31']))[0].warnings, undefined);
    });

    it('name holding and interpolating for a tracker at 2 Hz', async () => {
      const at2Hz = at10Hz.filter((_, n) => n % 5 === 0);
      const args = ['--reference', feed('slow/gt.ndjson', at10Hz), '--tracker', feed('slow/a.ndjson', at2Hz)];
      const [{ warnings, count }] = await runJson(args);
      assert.equal(count.missed, 32);
      assert.match(
        warnings![0],
        /a\.ndjson has a part every 0\.5 s, .* every 0\.1 s: .*--between-tracks hold --hold-max-ms 500/,
      );
      const { proper, missed } = await counts(...args, '--between-tracks', 'linear', '--hold-max-ms', '500');
      assert.deepEqual([proper, missed], [41, 0]);
      assert.ok((await counts(...args, '--between-tracks', 'hold', '--hold-max-ms', '500')).proper > 8);
    });

    it('name the annotated frames for a reference of every 30th frame', async () => {
      const rows = (every: number) =>
        Array.from({ length: 301 }, (_, n) => (n % every === 0 ? `${n + 1},1,${n},0,40,40,1,-1,-1,-1\n` : '')).join('');
      const reference = folder.put('sparse/gt.txt', rows(30));
      const args = ['--reference', reference, '--tracker', folder.put('sparse/a.txt', rows(1))];
      const [{ warnings, scores }] = await runJson([...args, '--scores']);
      assert.ok(scores.HOTA < 0.2);
      assert.match(
        warnings![0],
        /has a part every 30 frames, .* every 1 frames: .*--annotated-only .*--between-references linear/,
      );
      const [annotated] = await runJson([...args, '--scores', '--annotated-only']);
      assert.ok(annotated.scores.HOTA > 0.999);
      assert.equal(annotated.frames, 11);
      assert.equal((await counts(...args, '--between-references', 'linear')).proper, 301);
    });
  });

  it('of corners read as sides are told by the file alone, and not of scenes near the edge', async () => {
    const corners = (n: number) => [400 + n, 300, 430 + n, 380];
    const rows = (box: (n: number) => number[]) =>
      Array.from({ length: 30 }, (_, n) => `${n + 1},1,${box(n).join(',')},1,-1,-1,-1\n`).join('');
    const empty = folder.put('corners/none.txt', '');
    const isOther = (warning: string) => !warning.includes('has no objects');
    const warningsOf = async (text: string) =>
      (await runJson(['--reference', folder.put('corners/gt.txt', text), '--tracker', empty]))[0].warnings!.filter(
        isOther,
      );
    assert.match((await warningsOf(rows(corners)))[0], /as if columns 5 and 6 were right and bottom; .*box=xyxy/);
    assert.deepEqual(await warningsOf(rows((n) => [n, 0, 300, 380])), []);
    assert.deepEqual(await warningsOf(rows((n) => [400 + n, 300, 30, 80])), []);
  });

  it('of trackers without objects, or with columns exchanged, stand beside a warning', async () => {
    const rows = (row: (k: number, id: number, left: number) => string) =>
      Array.from({ length: 30 }, (_, n) => [1, 2].map((id) => row(n + 1, id, 200 * id + 3 * n))).flat();
    const reference = folder.put('nothing/gt.txt', rows((k, id, x) => `${k},${id},${x},50,40,80,1,1,1\n`).join(''));
    const warningsOf = async (text: string) =>
      (await runJson(['--reference', reference, '--tracker', folder.put('nothing/a.txt', text)]))[0].warnings;
    for (const text of ['', '\n\n', 'frame,id,left,top,width,height\n'])
      assert.match(
        (await warningsOf(text))!.join(),
        /^warning: \S*a\.txt has no objects that count: everything is missed$/,
      );
    assert.match(
      (await warningsOf(rows((k, id, x) => `${id},${k + 20},${x},50,40,80,1,-1,-1,-1\n`).join('')))!.join(),
      /a matches [\d.]+ % of the truths of .*; check .* that its columns are in the order of its format$/,
    );
    assert.equal(await warningsOf(rows((k, id, x) => `${k},${id},${x},50,40,80,1,-1,-1,-1\n`).join('')), undefined);
  });

  it('of classes that no object has stand beside those there are, and classes have names', async () => {
    const boxes = (k: number) =>
      [1, 3].map((kind) => ({ image_id: k, category_id: kind, bbox: [99 * kind, k, 40, 80] }));
    const annotations = [1, 2, 3].flatMap((k) => boxes(k).map((one) => ({ ...one, track_id: one.category_id })));
    const images = [1, 2, 3].map((id) => ({ id, video_id: 1 }));
    const names = [
      { id: 1, name: 'person' },
      { id: 3, name: 'car' },
    ];
    const document = { images, categories: names, annotations };
    const reference = folder.put('named/gt.json', JSON.stringify(document));
    const results = annotations.map((one) => ({ ...one, video_id: 1, score: 0.5 }));
    const args = ['--reference', reference, '--tracker', folder.put('named/a.json', JSON.stringify(results))];
    for (const classes of ['person', '1', 'car'])
      assert.deepEqual((await runJson([...args, '--classes', classes]))[0].count, {
        ...{ proper: 3, missed: 0, false: 0, switches: 0 },
      });
    const [none] = await runJson([...args, '--classes', 'dog']);
    assert.match(none.warnings![0], /^warning: no object of \S*gt\.json is of the class dog; it has car, person$/);
    const perClass = await runJson([...args, '--per-class']);
    assert.deepEqual(
      perClass.map(({ class: kind, count }) => [kind, count.proper]),
      [
        ['car', 3],
        ['person', 3],
      ],
    );
  });

  it('of boxes without area are those of TrackEval: they count, and match nothing, not even each other', async () => {
    const rows = (first: string) => `${first}\n1,2,100,0,10,10,1,1,1\n`;
    const reference = folder.put('empty/gt.txt', rows('1,1,5,5,0,10,1,1,1'));
    const tracker = folder.put('empty/a.txt', '1,7,5,5,0,10,1,-1,-1,-1\n1,8,100,0,10,10,1,-1,-1,-1\n');
    const [{ count, scores }] = await runJson(['--reference', reference, '--tracker', tracker, '--scores']);
    assert.deepEqual(count, { proper: 1, missed: 1, false: 1, switches: 0 });
    // by hand: one of two found, one of two false
    assert.equal(scores.MOTA, 0);
    assert.ok(Math.abs(scores.DetA - 1 / 3) < 1e-9, `DetA ${scores.DetA}`);
    assert.equal(scores.IDF1, 0.5);
  });

  it('of regions that nobody annotated are told, and taken out by the rules of their benchmark', async () => {
    const tracker = folder.put(
      'regions/a.txt',
      '1,1,0,0,10,10,1,4,-1,-1\n1,2,510,10,40,40,1,4,-1,-1\n1,3,900,10,40,40,1,4,-1,-1\n',
    );
    const drone = folder.put('regions/gt.txt', '1,1,0,0,10,10,1,4,0,0\n1,0,500,0,100,100,0,0,0,0\n');
    const detrac = folder.put(
      'regions/gt.xml',
      '<sequence name="a"><ignored_region><box left="500" top="0" width="100" height="100"/></ignored_region>' +
        '<frame num="1"><target_list><target id="1"><box left="0" top="0" width="10" height="10"/></target></target_list></frame></sequence>',
    );
    for (const [reference, rules] of [
      [drone, 'visdrone'],
      [detrac, 'ua-detrac'],
    ]) {
      const args = ['--reference', reference, '--tracker', tracker];
      const [plain] = await runJson(args);
      assert.match(plain.warnings!.join('\n'), new RegExp(`--preprocess ${rules}`));
      assert.deepEqual([plain.count.proper, plain.count.false], [1, 2]);
      const [judged] = await runJson([...args, '--preprocess', rules]);
      assert.deepEqual([judged.count.proper, judged.count.false], [1, 1]);
    }
  });
});
