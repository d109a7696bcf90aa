/** Files that hardly match: which mistake is named, and that the option it is named with repairs it. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { runEval } from '../../../src/commands/eval/eval.js';
import type { Evaluation, Frame } from '../../../src/index.js';
import { crossingScene } from '../../../src/simulation/walkers.js';
import { outputOf, SceneFolder } from '../../kit/system/command-line.js';
import { skipInFastRun } from '../../kit/system/system.js';

type Entry = Evaluation & { warnings?: string[] };
type Box = [number, number, number, number];
interface Row {
  frame: number;
  id: string;
  box: Box;
}

const runJson = async (args: string[]): Promise<Entry[]> =>
  JSON.parse((await outputOf(runEval, [...args, '--json'])).out);

const numbers = new Map<string, number>();
const numberOf = (id: string) => numbers.get(id) ?? numbers.set(id, numbers.size + 1).get(id)!;

function rowsIn(frames: Frame[], feed: keyof Frame): Row[] {
  return frames.flatMap((frame, n) =>
    frame[feed].map((object) => ({
      frame: n + 1,
      id: String(numberOf(object.id)),
      box: (object as { box: number[] }).box as Box,
    })),
  );
}

const text = (rows: Row[]) => rows.map(({ frame, id, box }) => `${frame},${id},${box},1,-1,-1,-1\n`).join('');
const boxed = (change: (box: Box) => Box) => (row: Row) => ({ ...row, box: change(row.box) });

/** Points with times, one line per frame. */
const points = (rows: Row[], change: (point: [number, number], t: number) => { point: number[]; t: number }) => {
  const lines = new Map<number, string[]>();
  for (const { frame, id, box } of rows) {
    const { point, t } = change([box[0] + box[2] / 2, box[1] + box[3] / 2], frame / 25);
    lines.set(t, [...(lines.get(t) ?? []), JSON.stringify({ id, point })]);
  }
  return [...lines].map(([t, objects]) => `{"t":${t},"objects":[${objects.join(',')}]}\n`).join('');
};

describe('the doctor for files', () => {
  const [steady] = crossingScene().trackers;
  const truths = rowsIn(steady.frames, 'reference');
  const tracks = rowsIn(steady.frames, 'tracker');
  const folder = SceneFolder.ofSuite();
  let reference: string;
  let expected: Evaluation;

  before(async () => {
    reference = folder.put('doctor/gt.txt', text(truths));
    const tracker = folder.put('doctor/right.txt', text(tracks));
    const [entry] = await runJson(['--reference', reference, '--tracker', tracker]);
    assert.equal(entry.warnings, undefined);
    expected = entry;
  });

  const swapped = ([left, top, width, height]: Box): Box => [top, left, height, width];
  for (const [what, change, option] of [
    ['frames counted from 0', (row) => ({ ...row, frame: row.frame - 1 }), /frameOffset=1$/],
    ['frames that are 40 ahead', (row) => ({ ...row, frame: row.frame + 40 }), /frameOffset=-40$/],
    ['corners for sides', boxed(([l, t, w, h]) => [l, t, l + w, t + h]), /box=xyxy$/],
    ['centres for corners', boxed(([l, t, w, h]) => [l + w / 2, t + h / 2, w, h]), /box=cxcywh$/],
    ['a picture of half the size', boxed((box) => box.map((one) => one / 2) as Box), /scale=(2|1\.99\d*|2\.00\d*),/],
    [
      'shares of the picture',
      boxed(([l, t, w, h]) => [l / 1920, t / 1080, w / 1920, h / 1080]),
      /scale=1\d\d\d(\.\d+)?,1\d\d\d/,
    ],
    ['axes that are exchanged', boxed(swapped), /(swapAxes=true|box=yx\w+)$/],
  ] as Array<[string, (row: Row) => Row, RegExp]>) {
    it(`names ${what}, with an option that helps`, async () => {
      const tracker = folder.put('doctor/wrong.txt', text(tracks.map(change)));
      const args = ['--reference', reference, '--tracker', tracker];
      const [{ warnings }] = await runJson(args);
      const found = warnings?.find((warning) => option.test(warning));
      assert.ok(found, `${what}: ${warnings?.join('\n')}`);
      const [, key, value] = /--tracker-option (\w+)=(\S+)$/.exec(found)!;
      const [repaired] = await runJson([...args, '--tracker-option', `${key}=${value}`]);
      assert.ok(repaired.count.proper > 0.95 * expected.count.proper, `${key}=${value}: ${repaired.count.proper}`);
    });
  }

  for (const [what, change, option] of [
    ['times in milliseconds', (point, t) => ({ point, t: t * 1000 }), /timeScale=0\.001$/],
    ['a clock that is 700 ms ahead', (point, t) => ({ point, t: t + 0.7 }), /timeOffset=-0\.(69|70|7|71)\d*$/],
    ['another unit', (point, t) => ({ point: point.map((one) => one / 0.3048), t }), /scale=0\.304\d*$/],
    ['axes of points that are exchanged', ([x, y], t) => ({ point: [y, x], t }), /swapAxes=true$/],
  ] as Array<[string, (point: [number, number], t: number) => { point: number[]; t: number }, RegExp]>) {
    it(`names ${what}, with an option that helps`, async () => {
      const right = folder.put(
        'doctor/gt.ndjson',
        points(truths, (point, t) => ({ point, t })),
      );
      const tracker = folder.put('doctor/wrong.ndjson', points(tracks, change));
      const judged = ['--distance', 'euclidean', '--cutoff', '30', '--exponent', '2', '--switch-penalty', '10'];
      const args = ['--reference', right, '--tracker', tracker, '--option', 'shape=point', ...judged];
      const [{ warnings }] = await runJson(args);
      const found = warnings?.find((warning) => option.test(warning));
      assert.ok(found, `${what}: ${warnings?.join('\n')}`);
      const [, key, value] = /--tracker-option (\w+)=(\S+)$/.exec(found)!;
      const [repaired] = await runJson([...args, '--tracker-option', `${key}=${value}`]);
      assert.ok(repaired.count.proper > 0.95 * expected.count.proper, `${key}=${value}: ${repaired.count.proper}`);
    });
  }

  for (const [what, change, options] of [
    [
      'corners in shares of the picture',
      boxed(([l, t, w, h]) => [l / 1920, t / 1080, (l + w) / 1920, (t + h) / 1080]),
      / --tracker-option (box=xyxy) --tracker-option (scale=1\d\d\d(?:\.\d+)?,1\d\d\d(?:\.\d+)?)$/,
    ],
    [
      'corners of frames that are 40 ahead',
      (row) => ({ ...boxed(([l, t, w, h]) => [l, t, l + w, t + h])(row), frame: row.frame + 40 }),
      / --tracker-option (box=xyxy) --tracker-option (frameOffset=-40)$/,
    ],
  ] as Array<[string, (row: Row) => Row, RegExp]>) {
    it(`names two mistakes at once, ${what}, with options that help together`, async () => {
      const args = ['--reference', reference, '--tracker', folder.put('doctor/twice.txt', text(tracks.map(change)))];
      const [{ warnings }] = await runJson(args);
      const [, ...found] = warnings?.map((warning) => options.exec(warning)).find((match) => match) ?? [];
      assert.equal(found.length, 2, `${what}: ${warnings?.join('\n')}`);
      const [repaired] = await runJson([...args, ...found.flatMap((option) => ['--tracker-option', option])]);
      assert.ok(repaired.count.proper > 0.95 * expected.count.proper, `${found}: ${repaired.count.proper}`);
    });
  }

  it('names nine of ten mistakes in a real tracker, and nothing in it as it is', async function () {
    skipInFastRun(this);
    const data = new URL('../../../../../shared/data/MOT17/', import.meta.url);
    if (!existsSync(data)) this.skip();
    const result = new URL('results/BoT-SORT-ReTrack-Botsort_baseline/MOT17-09-FRCNN.txt', data);
    const rows = readFileSync(result, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(',').map(Number));
    const truth = new URL('train/MOT17-09/gt/gt.txt', data).pathname;
    const rules = ['--reference', truth, '--preprocess', 'motchallenge'];
    const warningsOn = async (change: (row: Row) => Row) => {
      const changed = rows.map(([frame, id, ...box]) => change({ frame, id: String(id), box: box.slice(0, 4) as Box }));
      return (await runJson([...rules, '--tracker', folder.put('doctor/real.txt', text(changed))]))[0].warnings ?? [];
    };
    assert.deepEqual(await warningsOn((row) => row), []);
    const later = (frames: number) => (row: Row) => ({ ...row, frame: row.frame + frames });
    const mistakes: Array<[(row: Row) => Row, RegExp]> = [
      [later(-1), /frameOffset=1$/],
      [later(1), /frameOffset=-1$/],
      [later(5), /frameOffset=-5$/],
      [later(40), /frameOffset=-40$/],
      [boxed(([l, t, w, h]) => [l, t, l + w, t + h]), /box=xyxy$/],
      [boxed(([l, t, w, h]) => [l + w / 2, t + h / 2, w, h]), /box=cxcywh$/],
      [boxed(([l, t, w, h]) => [t, l, t + h, l + w]), /box=yxyx$/],
      [boxed(([l, t, w, h]) => [t, l, w, h]), /box=yxwh$/],
      [boxed((box) => box.map((one) => one / 2) as Box), /scale=/],
      [boxed(([l, t, w, h]) => [l / 1920, t / 1080, w / 1920, h / 1080]), /scale=/],
      [boxed(swapped), /swapAxes=true$/],
    ];
    const named: string[] = [];
    for (const [change, option] of mistakes)
      if ((await warningsOn(change)).some((warning) => option.test(warning))) named.push(String(option));
    assert.ok(named.length >= 10, `${named.length} of ${mistakes.length}: ${named.join(' ')}`);
  });

  it('says so when nothing matches and nothing explains it', async () => {
    const far = tracks.map((row, n) => ({
      ...row,
      box: [9000 + ((n * 7919) % 500), 9000 + ((n * 104729) % 500), 30, 60] as Box,
    }));
    const [{ warnings }] = await runJson([
      '--reference',
      reference,
      '--tracker',
      folder.put('doctor/far.txt', text(far)),
    ]);
    assert.match(
      warnings![0],
      /none of \d+ objects .* closer than the cut-off 0\.5 .*same scene in the same coordinates/,
    );
  });

  it('concerns one of several trackers, and its option is for that one alone', async () => {
    const wrong = folder.put('doctor/off.txt', text(tracks.map((row) => ({ ...row, frame: row.frame + 40 }))));
    const args = ['--reference', reference, '--tracker', folder.at('doctor/right.txt'), '--tracker', wrong];
    const [right, off] = await runJson(args);
    assert.deepEqual([right.warnings, off.warnings?.length], [undefined, 2]);
    const repaired = await runJson([...args, '--tracker-option', 'frameOffset=-40']);
    assert.deepEqual(repaired[0].count, repaired[1].count);
  });
});
