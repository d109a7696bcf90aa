/** The report of `tgospa tune`: what it shows, that it is one file, and that a browser opens it. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { drawReport } from '../../../src/commands/tune/report.js';
import { runTune } from '../../../src/commands/tune/tune.js';
import { type Frame, InputError, tune } from '../../../src/index.js';
import { crossingScene } from '../../../src/simulation/walkers.js';
import { outputOf, resultOf, SceneFolder } from '../../kit/system/command-line.js';
import { hasProgram, skipInFastRun, skipUnless } from '../../kit/system/system.js';

const [steady] = crossingScene().trackers;
const done = (args: string[]) => outputOf(runTune, args);

describe('the report of tgospa tune', () => {
  const folder = SceneFolder.ofSuite();
  const files = folder.args('steady', 'faulty');
  const at = (...parts: string[]) => folder.at(...parts);

  it('is one file without scripts and links, with two plots, pairs in order, and every tracker in every profile', async () => {
    const { err } = await done([...files, '--html', at('report.html')]);
    assert.match(err, /wrote the report to .*report\.html/);
    const html = readFileSync(at('report.html'), 'utf8');
    assert.doesNotMatch(html, /<script|<link|https?:|src=/);
    assert.equal([...html.matchAll(/<figure>/g)].length, 2);
    assert.match(html, /N\(c\)[\s\S]*L\(c\)/);
    for (const title of ['rapid growth', 'plateau', 'c = 0.', 'a = 0.']) assert.ok(html.includes(title), title);
    const shown = [...html.matchAll(/<strong>([\d.]+)<\/strong> (?:a|no) pair/g)].map(([, value]) => Number(value));
    assert.ok(shown.length >= 10);
    assert.deepEqual(
      shown,
      [...shown].sort((a, b) => a - b),
    );
    for (const name of ['tuned', 'detector-training', 'online-surveillance', 'offline-scene-understanding'])
      assert.match(html, new RegExp(`<strong>${name}</strong>[\\s\\S]*?steady[\\s\\S]*?</table>`));
    assert.ok(html.includes(`tgospa tune --reference ${at('gt.txt')}`));
  });

  it('draws boxes to scale', () => {
    const frames: Frame[] = [
      { reference: [{ id: 'a', box: [10, 20, 40, 80] }], tracker: [{ id: '1', box: [10, 20, 40, 40] }] },
    ];
    const html = drawReport(tune([{ tracker: 'x', frames }], { scores: false, plateau: [0.2, 0.4] }), '');
    const [truth, track] = [
      ...html.matchAll(/<rect class="outline[^"]*" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"/g),
    ];
    assert.deepEqual(truth.slice(1).map(Number), [34, 8, 52, 104]);
    assert.deepEqual(track.slice(1).map(Number), [34, 8, 52, 52]);
  });

  it('draws points where they lie, north up, with the cut-off around the truth', () => {
    const frames = (to: number[]): Frame[] => [
      { reference: [{ id: 'a', point: [60, 10] }], tracker: [{ id: '1', point: to }] },
    ];
    const draw = (to: number[]) => {
      const options = { scores: false, distance: 'geodesic', reach: 1000, cutoff: 500, exponent: 1 } as const;
      const html = drawReport(tune([{ tracker: 'x', frames: frames(to) }], options), '');
      const [, x, y] = html.match(/<path class="outline s1" d="M([\d.]+) ([\d.]+)l8 8/) ?? assert.fail('no cross');
      return [Math.round(Number(x) + 4), Math.round(Number(y) + 4)];
    };
    const metres = 180 / Math.PI / 6_371_008.8;
    assert.deepEqual(draw([60 + 250 * metres, 10]), [60, 34]);
    assert.deepEqual(draw([60, 10 + 500 * metres]), [86, 60]);
  });

  it('cannot be broken by a name', () => {
    const tuning = tune([{ tracker: '<b>"x"&', frames: steady.frames }], { scores: false });
    assert.ok(!drawReport(tuning, '<script>').includes('<b>"x"'));
    assert.ok(!drawReport(tuning, '<script>').includes('<script>'));
  });

  it('is written where there is a folder for it, and says so where there is none', async () => {
    const { error } = await resultOf(runTune, [...files, '--no-scores', '--html', at('no', 'where.html')]);
    assert.ok(error instanceof InputError);
    assert.match(error.message, /where\.html: cannot be written; name a file in a folder that exists/);
  });

  describe('in a browser', () => {
    before(function () {
      skipUnless(this, hasProgram('chromium'), 'chromium is needed here');
    });

    it('opens without an error and shows plots, pairs and scores', async function () {
      skipInFastRun(this);
      await done([...files, '--html', at('report.html')]);
      const url = pathToFileURL(at('report.html')).href;
      const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--enable-logging=stderr', '--v=0'];
      const profileFolder = `--user-data-dir=${at('chromium')}`;
      const { status, stdout, stderr } = spawnSync('chromium', [...flags, profileFolder, '--dump-dom', url], {
        encoding: 'utf8',
        timeout: 120_000,
      });
      assert.equal(status, 0, stderr);
      assert.doesNotMatch(stderr, /CONSOLE/);
      assert.match(stdout, /<title>Choosing the parameters<\/title>/);
      assert.equal([...stdout.matchAll(/<figure>/g)].length, 2);
      // what the parser did not understand would be missing or moved
      assert.match(stdout, /<section id="scores">[\s\S]*<table>[\s\S]*<\/table>[\s\S]*<\/section>/);
      assert.ok([...stdout.matchAll(/<svg [^>]*role="img"/g)].length > 12);
      const picture = at('report.png');
      const shot = spawnSync(
        'chromium',
        [...flags, profileFolder, `--screenshot=${picture}`, '--window-size=900,1400', url],
        {
          encoding: 'utf8',
          timeout: 120_000,
        },
      );
      assert.equal(shot.status, 0, shot.stderr);
      assert.ok(readFileSync(picture).length > 20_000, 'the page is not empty');
    });
  });
});
