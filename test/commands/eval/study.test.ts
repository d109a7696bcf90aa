/** Whole benchmarks in folders: what is found, judged, combined, compared and drawn. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Compared, disagreements, placesOf } from '../../../src/commands/eval/comparison.js';
import { runEval } from '../../../src/commands/eval/eval.js';
import { sumOf } from '../../../src/commands/eval/study.js';
import { findStudy } from '../../../src/commands/files/layout.js';
import { evaluate, type Frame, type Obj, presets } from '../../../src/index.js';
import { scoreFrames, scoreTotals } from '../../../src/scores/score-window.js';
import { addTotals, type Scores, scoresOf } from '../../../src/scores/totals.js';
import { crossingScene } from '../../../src/simulation/walkers.js';
import { hasProgram, SYSTEM_TIMEOUT_MS, skipUnless } from '../../kit/system.js';

const shared = new URL('../../../../../shared/', import.meta.url);
const data = (path: string) => fileURLToPath(new URL(`data/${path}`, shared));
const PLAIN = { columns: Number.POSITIVE_INFINITY, colors: false };
const profile = presets['online-surveillance'];
const scene = crossingScene().trackers;

async function run(args: string[]): Promise<{ out: string; err: string }> {
  const out = new PassThrough();
  const err = new PassThrough();
  const both = Promise.all([text(out), text(err)]);
  await runEval(args, { out, err, screen: PLAIN, progress: false });
  out.end();
  err.end();
  const [outText, errText] = await both;
  return { out: outText, err: errText };
}

interface Entry {
  sequence: string | null;
  tracker: string;
  profile: string;
  distance: number;
  cost: Record<string, number>;
  count: Record<string, number>;
  frames: number;
  scores: Scores;
}

const runJson = async (args: string[]): Promise<Entry[]> => JSON.parse((await run([...args, '--json'])).out);

/** A feed as MOTChallenge writes it, its ids as numbers. */
function motRows(frames: Frame[], feed: keyof Frame, tail: string): string {
  const numbers = new Map<string, number>();
  const number = (id: string) => numbers.get(id) ?? numbers.set(id, numbers.size + 1).size;
  const row = (object: Obj, frame: number) =>
    `${frame},${number(object.id)},${(object as { box: number[] }).box},${tail}\n`;
  return frames.map((frame, index) => frame[feed].map((object) => row(object, index + 1)).join('')).join('');
}

function close(actual: number, expected: number, what: string): void {
  assert.ok(
    Math.abs(actual - expected) <= 1e-9 * Math.max(1, Math.abs(expected)),
    `${what}: ${actual}, expected ${expected}`,
  );
}

describe('a study', () => {
  let folder: string;
  const at = (...path: string[]) => join(folder, ...path);
  const put = (path: string, content: string) => {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), content);
  };
  /** the two sequences: the whole scene, and its beginning */
  const parts: Record<string, (frames: Frame[]) => Frame[]> = {
    'SEQ-01': (frames) => frames,
    'SEQ-02': (frames) => frames.slice(0, 120),
  };

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-study-'));
    for (const [sequence, part] of Object.entries(parts)) {
      put(`train/${sequence}/gt/gt.txt`, motRows(part(scene[0].frames), 'reference', '1,1,1'));
      for (const { name, frames } of scene)
        put(`results/${name}/${sequence}-FRCNN.txt`, motRows(part(frames), 'tracker', '0.9,-1,-1,-1'));
    }
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const folders = () => ['--reference', at('train'), '--tracker', at('results')];

  it('judges every tracker on every sequence and combines them, as one by one', async () => {
    const entries = await runJson([
      ...folders(),
      '--scores',
      '--profile',
      'online-surveillance',
      '--profile',
      'detector-training',
    ]);
    assert.equal(entries.length, 2 * 3 * 2 + 3 * 2);
    for (const { name, frames } of scene) {
      const single = Object.entries(parts).map(([sequence, part]) => {
        const [first] = entries.filter((one) => one.sequence === sequence && one.tracker === name);
        const expected = evaluate(part(frames), profile);
        close(first.distance, expected.distance, `${name} on ${sequence}`);
        assert.deepEqual(first.count, { ...expected.count });
        assert.deepEqual(first.scores, scoreFrames(part(frames)));
        return { expected, totals: scoreTotals(part(frames)) };
      });
      const combined = entries.find(
        (one) => one.sequence === null && one.tracker === name && one.profile === 'online-surveillance',
      );
      assert.ok(combined);
      const cost = single.reduce((sum, { expected }) => sum + expected.cost.total, 0);
      close(combined.cost.total, cost, `${name} combined`);
      close(combined.distance, cost ** (1 / profile.exponent), `${name} combined`);
      assert.equal(combined.frames, 420);
      assert.deepEqual(combined.scores, scoresOf(addTotals(single.map(({ totals }) => totals))));
    }
  });

  it('gives the same with one thread as with three', async () => {
    const [one, three] = await Promise.all(
      ['1', '3'].map((threads) => run([...folders(), '--json', '--threads', threads])),
    );
    assert.equal(one.out, three.out);
  });

  it('prints a ranking, the scores, and the distance of every sequence', async () => {
    const { out } = await run([...folders(), '--scores']);
    assert.match(out, /^online-surveillance, 2 sequences combined, 420 frames/);
    assert.match(out, /distance by sequence\nsequence .*\nSEQ-01 .*\nSEQ-02 /);
    assert.match(out, /place by ─/);
    assert.match(out, /HOTA by sequence/);
  });

  it('writes rows for spreadsheets, the combined ones last', async () => {
    const { err } = await run([...folders(), '--scores', '--csv', at('study.csv')]);
    assert.match(err, /wrote .*study\.csv/);
    const [head, ...rows] = readFileSync(at('study.csv'), 'utf8').trim().split('\n');
    assert.match(head, /^sequence,tracker,profile,frames,distance,.*,gap,HOTA,DetA,AssA,LocA,MOTA,.*,IDF1,IDP,IDR$/);
    assert.equal(rows.length, 9);
    for (const row of rows) assert.equal(row.split(',').length, head.split(',').length);
    assert.match(rows[8], /^combined,/);
  });

  it('tells the mistakes of all files together', async () => {
    put('broken/one/SEQ-01.txt', '1,1,0,0,-5,10,1,-1,-1,-1\n');
    put('broken/two/SEQ-02.txt', 'x,1,0,0,5,10,1,-1,-1,-1\n');
    await assert.rejects(run(['--reference', at('train'), '--tracker', at('broken')]), (error: Error) => {
      assert.match(error.message, /SEQ-01\.txt:1.*width/);
      assert.match(error.message, /SEQ-02\.txt:1.*frame/);
      return true;
    });
  });

  it('says when a file cannot be written, and when a window is asked of folders', async () => {
    await assert.rejects(run([...folders(), '--csv', at('no', 'such', 'folder.csv')]), /cannot be written/);
    await assert.rejects(run([...folders(), '--window', '5']), /--window needs files, not folders/);
  });

  describe('in folders', () => {
    it('finds trackers in the folder itself, in data/, and in folders of trackers', () => {
      put('flat/SEQ-01.txt', '');
      put('with-data/T1/data/SEQ-01.txt', '');
      const names = (tracker: string) => findStudy(at('train'), [at(tracker)]).trackers;
      assert.deepEqual(names('flat'), ['flat']);
      assert.deepEqual(names('with-data'), ['T1']);
      assert.deepEqual(names('results'), scene.map(({ name }) => name).sort());
    });

    it('finds the sequences below train/, and leaves out those no tracker has', () => {
      const study = findStudy(folder, [at('flat')]);
      assert.equal(study.layout, 'motchallenge');
      assert.deepEqual(
        study.sequences.map(({ name }) => name),
        ['SEQ-01'],
      );
      assert.deepEqual(study.notes, ['1 of 2 sequences of the reference have no tracker file and are left out']);
    });

    it('combines only what every tracker has, and says so', async () => {
      put('partial/A/SEQ-01.txt', motRows(scene[0].frames, 'tracker', '1,-1,-1,-1'));
      put('partial/B/SEQ-01.txt', motRows(scene[1].frames, 'tracker', '1,-1,-1,-1'));
      put('partial/B/SEQ-02.txt', motRows(parts['SEQ-02'](scene[1].frames), 'tracker', '1,-1,-1,-1'));
      const { out, err } = await run(['--reference', at('train'), '--tracker', at('partial'), '--json']);
      assert.match(err, /A has no file for SEQ-02; combined results are over the sequences all trackers have/);
      const combined = (JSON.parse(out) as Entry[]).filter(({ sequence }) => sequence === null);
      assert.deepEqual(
        combined.map(({ frames }) => frames),
        [300, 300],
      );
    });

    it('takes several public detectors of a sequence apart', () => {
      put('detectors/SEQ-01-FRCNN.txt', '');
      put('detectors/SEQ-01-SDP.txt', '');
      const { sequences } = findStudy(at('train'), [at('detectors')]);
      assert.deepEqual(
        sequences.map(({ name }) => name),
        ['SEQ-01-FRCNN', 'SEQ-01-SDP'],
      );
    });

    it('knows the layout of KITTI', () => {
      put('kitti/label_02/0000.txt', '');
      put('kitti/results/X/0000.txt', '');
      const { layout, sequences } = findStudy(at('kitti'), [at('kitti', 'results')]);
      assert.equal(layout, 'kitti');
      assert.deepEqual(
        sequences.map(({ name }) => name),
        ['0000'],
      );
    });

    it('says what it expected where it found nothing', () => {
      assert.throws(() => findStudy(at('flat'), [at('results')]), /holds no sequences; expected SEQUENCE\/gt\/gt\.txt/);
      assert.throws(
        () => findStudy(at('train'), [at('train')]),
        /holds no result for any sequence; expected a file such as SEQ-01\.txt/,
      );
    });
  });

  describe('without a reference', () => {
    const [first, second] = [scene[1].frames, scene[2].frames];
    before(() => {
      put('a.txt', motRows(first, 'tracker', '1,-1,-1,-1'));
      put('b.txt', motRows(second, 'tracker', '1,-1,-1,-1'));
    });

    interface Pair {
      first: string;
      second: string;
      distance: number;
      count: Entry['count'];
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
      assert.match(self.out, /a and .*a are the same\./);
    });

    it('counts rows of annotators by flag and class', async () => {
      put('annotator.txt', '1,1,0,0,10,10,1,1,1\n1,2,50,0,10,10,0,1,1\n1,3,90,0,10,10,1,7,1\n');
      put('other.txt', '1,1,0,0,10,10,1,1,1\n');
      const both = ['--tracker', at('annotator.txt'), '--tracker', at('other.txt')];
      assert.equal((await compare(...both, '--annotations'))[0].distance, 0);
      assert.equal((await compare(...both))[0].count.missed, 2);
    });
  });

  describe('report', function () {
    this.timeout(SYSTEM_TIMEOUT_MS);

    it('is one file without scripts and links', async () => {
      await run([...folders(), '--scores', '--html', at('study.html')]);
      const html = readFileSync(at('study.html'), 'utf8');
      assert.doesNotMatch(html, /<script|<link|https?:/);
      for (const { name } of scene) assert.ok(html.includes(name));
      assert.equal(html.match(/<details/g)?.length, 2);
      assert.equal(html.match(/who|Who follows/g)?.length, 6);
    });

    it('is drawn for files too, with the evaluations still on standard output', async () => {
      const files = [
        '--reference',
        at('train/SEQ-01/gt/gt.txt'),
        '--tracker',
        at(`results/${scene[1].name}/SEQ-01-FRCNN.txt`),
      ];
      const entries = await runJson([...files, '--html', at('files.html'), '--scores']);
      assert.equal((entries[0] as unknown as { perFrame: unknown[] }).perFrame.length, 300);
      assert.match(readFileSync(at('files.html'), 'utf8'), /Beside the other scores/);
    });

    it('opens in a browser without an error, in light and dark', async function () {
      skipUnless(this, hasProgram('chromium'), 'chromium is needed here');
      await run([...folders(), '--scores', '--html', at('browser.html')]);
      const url = pathToFileURL(at('browser.html')).href;
      const flags = [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        '--enable-logging=stderr',
        `--user-data-dir=${at('chromium')}`,
      ];
      const dump = spawnSync('chromium', [...flags, '--dump-dom', url], { encoding: 'utf8', timeout: 120_000 });
      assert.equal(dump.status, 0, dump.stderr);
      assert.doesNotMatch(dump.stderr, /CONSOLE/);
      assert.match(dump.stdout, /<section id="profile-1">[\s\S]*<table>[\s\S]*<\/section>/);
      // each tracker on each sequence has a chart with four layers, and a ribbon
      assert.equal(dump.stdout.match(/<svg /g)?.length, 12);
      assert.equal(dump.stdout.match(/<path class="area /g)?.length, 24);
      for (const [name, mode] of [
        ['light', []],
        ['dark', ['--force-dark-mode', '--blink-settings=preferredColorScheme=0']],
      ] as const) {
        const picture = at(`${name}.png`);
        const shot = spawnSync(
          'chromium',
          [...flags, ...mode, `--screenshot=${picture}`, '--window-size=1200,1600', url],
          {
            encoding: 'utf8',
            timeout: 120_000,
          },
        );
        assert.equal(shot.status, 0, shot.stderr);
        assert.ok(readFileSync(picture).length > 20_000, `the ${name} page is empty`);
      }
    });
  });

  describe('on real sequences', () => {
    before(function () {
      skipUnless(this, existsSync(data('MOT17')), '../shared/data is needed here');
    });

    it('has the numbers of TrackEval by the command itself, with its preprocessing', async function () {
      this.timeout(300_000);
      const rows: Array<{ tracker: string; sequence: string; preprocessing: boolean; scores: Record<string, number> }> =
        JSON.parse(readFileSync(new URL('reference/trackeval.json', shared), 'utf8'));
      const chosen = rows.filter(({ sequence }) => sequence === 'MOT17-09-FRCNN');
      assert.equal(chosen.length, 8);
      for (const preprocessing of [true, false]) {
        const wanted = chosen.filter((row) => row.preprocessing === preprocessing);
        const files = wanted.flatMap(({ tracker, sequence }) => [
          '--tracker',
          data(`MOT17/results/${tracker}/${sequence}.txt`),
        ]);
        const rules = preprocessing ? ['--preprocess', 'motchallenge'] : [];
        const entries = await runJson([
          '--reference',
          data('MOT17/train/MOT17-09/gt/gt.txt'),
          ...files,
          '--scores',
          ...rules,
        ]);
        wanted.forEach(({ tracker, scores }, index) => {
          for (const [name, value] of Object.entries(entries[index].scores))
            if (name in scores) assert.ok(Math.abs(value - scores[name]) <= 1e-6, `${tracker}: ${name} ${value}`);
        });
      }
    });

    it('judges KITTI trackers by their folders', async function () {
      this.timeout(300_000);
      skipUnless(this, existsSync(data('KITTI')), 'the KITTI sequences are needed here');
      const entries = await runJson([
        ...['--reference', data('KITTI/label_02'), '--tracker', data('KITTI/results')],
        ...['--format', 'kitti', '--option', 'types=Car', '--scores'],
      ]);
      assert.equal(entries.filter(({ sequence }) => sequence !== null).length, 10);
      const combined = entries.filter(({ sequence }) => sequence === null);
      assert.deepEqual(combined.map(({ tracker }) => tracker).sort(), ['CIWT', 'YOLOX-OC-SORT']);
      for (const { scores, count } of combined) {
        assert.ok(scores.HOTA > 0.3 && scores.HOTA < 1, `HOTA ${scores.HOTA}`);
        assert.ok(count.proper > 1000);
      }
    });
  });
});

describe('TGOSPA beside the other scores', () => {
  const NOTHING = scoreFrames([]);
  const compared = (name: string, cost: [number, number, number, number], scores: Partial<Scores>): Compared => {
    const [localization, missed, falses, change] = cost;
    const total = localization + missed + falses + change;
    return {
      name,
      evaluation: { distance: total, cost: { localization, missed, false: falses, switch: change, total } },
      scores: { ...NOTHING, ...scores },
    };
  };

  it('gives equal values one place', () => {
    assert.deepEqual(placesOf([3, 1, 3, 2], 'high'), [1, 4, 1, 3]);
    assert.deepEqual(placesOf([3, 1, 3, 2], 'low'), [3, 1, 3, 2]);
  });

  it('says where they disagree, and what TGOSPA sees there', () => {
    const list = [
      compared('calm', [5, 3, 0, 0], { HOTA: 0.6, MOTA: 0.7, IDF1: 0.5 }),
      compared('wild', [4, 2, 1, 6], { HOTA: 0.65, MOTA: 0.6, IDF1: 0.55 }),
    ];
    assert.deepEqual(disagreements(list, 'p'), [
      'HOTA and IDF1 put wild before calm (0.650 to 0.600, 0.550 to 0.500); TGOSPA (p) puts calm first (8 to 13): ' +
        'it pays less for switch (0 to 6) and false (0 to 1), although it pays more for localization (5 to 4) and missed (3 to 2).',
    ]);
  });

  it('says when they agree, and nothing about a single tracker', () => {
    const best = compared('best', [1, 0, 0, 0], { HOTA: 0.9, MOTA: 0.9, IDF1: 0.9 });
    const worst = compared('worst', [2, 0, 0, 0], { HOTA: 0.8, MOTA: 0.8, IDF1: 0.8 });
    assert.deepEqual(disagreements([worst, best], 'p'), [
      'TGOSPA (p), HOTA, MOTA and IDF1 agree on the order of the trackers.',
    ]);
    assert.deepEqual(disagreements([best], 'p'), []);
  });

  it('combines what is not proven with an honest gap', () => {
    const { perFrame: _, ...exact } = evaluate(scene[2].frames, profile);
    const open = { ...exact, exact: false, lowerBound: exact.cost.total * 0.8, gap: 0.2 };
    const sum = sumOf([exact, open], profile.exponent);
    assert.equal(sum.exact, false);
    close(sum.gap, 0.1, 'gap');
    assert.equal(sum.count.switches, 2 * exact.count.switches);
  });
});
