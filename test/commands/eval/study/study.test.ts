/** Whole benchmarks in folders: what is judged, combined and drawn. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { runEval } from '../../../../src/commands/eval/eval.js';
import { sumOf } from '../../../../src/commands/eval/study/study.js';
import { evaluate, type Frame, presets } from '../../../../src/index.js';
import { scoreFrames, scoreTotals } from '../../../../src/scores/score-window.js';
import { addTotals, type Scores, scoresOf } from '../../../../src/scores/totals.js';
import { crossingScene } from '../../../../src/simulation/walkers.js';
import { readMoment } from '../../../../src/wire/moment.js';
import { outputOf, rowsOf, SceneFolder } from '../../../kit/system/command-line.js';
import { hasProgram, skipInFastRun, skipUnless } from '../../../kit/system/system.js';

const profile = presets['online-surveillance'];
const scene = crossingScene().trackers;

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

const run = (args: string[]) => outputOf(runEval, args);
const runJson = async (args: string[]): Promise<Entry[]> => JSON.parse((await run([...args, '--json'])).out);

function close(actual: number, expected: number, what: string): void {
  assert.ok(
    Math.abs(actual - expected) <= 1e-9 * Math.max(1, Math.abs(expected)),
    `${what}: ${actual}, expected ${expected}`,
  );
}

describe('a study', () => {
  const folder = SceneFolder.ofSuite();
  const at = (...path: string[]) => folder.at(...path);
  const put = (path: string, content: string) => folder.put(path, content);
  /** the two sequences: the whole scene, and its beginning */
  const parts: Record<string, (frames: Frame[]) => Frame[]> = {
    'SEQ-01': (frames) => frames,
    'SEQ-02': (frames) => frames.slice(0, 120),
  };

  before(() => {
    for (const [sequence, part] of Object.entries(parts)) {
      put(`train/${sequence}/gt/gt.txt`, rowsOf(part(scene[0].frames), 'reference'));
      for (const { name, frames } of scene)
        put(`results/${name}/${sequence}-FRCNN.txt`, rowsOf(part(frames), 'tracker'));
    }
  });

  const folders = () => ['--reference', at('train'), '--tracker', at('results')];

  it('judges every tracker on every sequence and combines them, as one by one', async function () {
    skipInFastRun(this);
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

  it('gives the same with one thread as with three', async function () {
    skipInFastRun(this);
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

  it('combines only what every tracker has, and says so', async () => {
    put('partial/A/SEQ-01.txt', rowsOf(scene[0].frames, 'tracker'));
    put('partial/B/SEQ-01.txt', rowsOf(scene[1].frames, 'tracker'));
    put('partial/B/SEQ-02.txt', rowsOf(parts['SEQ-02'](scene[1].frames), 'tracker'));
    const { out, err } = await run(['--reference', at('train'), '--tracker', at('partial'), '--json']);
    assert.match(err, /A has no file for SEQ-02; combined results are over the sequences all trackers have/);
    const combined = (JSON.parse(out) as Entry[]).filter(({ sequence }) => sequence === null);
    assert.deepEqual(
      combined.map(({ frames }) => frames),
      [300, 300],
    );
  });

  it('reports the mistakes of a reference once, whichever threads read it', async () => {
    put('bad-train/SEQ-01/gt/gt.txt', 'x,1,0,0,5,10,1,1,1\n');
    for (const name of ['one', 'two', 'three']) put(`of-bad/${name}/SEQ-01.txt`, '1,1,0,0,5,10,1,-1,-1,-1\n');
    await assert.rejects(run(['--reference', at('bad-train'), '--tracker', at('of-bad')]), (error: Error) => {
      assert.equal(error.message.match(/gt\.txt:1/g)?.length, 1, error.message);
      return true;
    });
  });

  it('combines what is not proven with an honest gap', () => {
    const { perFrame: _, ...exact } = evaluate(scene[2].frames, profile);
    const open = { ...exact, exact: false, lowerBound: exact.cost.total * 0.8, gap: 0.2 };
    const sum = sumOf([exact, open], profile.exponent);
    assert.equal(sum.exact, false);
    close(sum.gap, 0.1, 'gap');
    assert.equal(sum.count.switches, 2 * exact.count.switches);
  });

  describe('report', () => {
    it('is one file without scripts and links', async () => {
      await run([...folders(), '--scores', '--html', at('study.html')]);
      const html = readFileSync(at('study.html'), 'utf8');
      assert.doesNotMatch(html, /<script|<link|https?:/);
      for (const { name } of scene) assert.ok(html.includes(name));
      assert.equal(html.match(/<details/g)?.length, 2);
      const [head] = html.match(/<thead>.*?<\/thead>/)!;
      const heads = [...head.matchAll(/<th[^>]*>([^<]*)</g)].map(([, text]) => text);
      assert.equal(new Set(heads).size, heads.length, `column heads differ: ${heads}`);
      const [, moment] = html.match(/href="data:application\/json;base64,([^"]+)"/)!;
      const { frames, k } = readMoment(Buffer.from(moment, 'base64').toString(), 'worst');
      assert.ok(frames.some((frame) => frame.k === k));
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
      skipInFastRun(this);
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
      // each tracker on each sequence has a chart with four layers, and a ribbon; each tracker has two films
      assert.equal(dump.stdout.match(/<svg /g)?.length, 12 + 6);
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
});
