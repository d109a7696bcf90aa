/** `tgospa eval` on sequences of the benchmarks, against the values of the authors and of TrackEval. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { runEval } from '../../../src/commands/eval/eval.js';
import type { Evaluation, Params, Scores } from '../../../src/index.js';
import { outputOf } from '../../kit/system/command-line.js';
import { skipInFastRun, skipUnless } from '../../kit/system/system.js';

interface Entry extends Evaluation {
  /** null: all sequences combined; absent for one */
  sequence?: string | null;
  tracker: string;
  class?: string;
  params: Params;
  scores: Scores;
}

const main = fileURLToPath(new URL('../../../src/main.js', import.meta.url));
const shared = new URL('../../../../../shared/', import.meta.url);
const data = (path: string) => fileURLToPath(new URL(`data/${path}`, shared));
const known = (name: string) => JSON.parse(readFileSync(new URL(`reference/${name}`, shared), 'utf8'));
const runJson = async (args: string[]): Promise<Entry[]> =>
  JSON.parse((await outputOf(runEval, [...args, '--json'])).out);

describe('tgospa eval on real sequences', () => {
  before(function () {
    const available = existsSync(data('MOT17')) && existsSync(new URL('reference', shared));
    skipUnless(this, available, '../shared/data and ../shared/reference are needed here');
  });

  it('finds the values of the authors for box centres of whole sequences', async () => {
    for (const { reference, tracker, params, expected } of known('tud-tgospa.json')) {
      const own = ['--distance', 'euclidean', '--cutoff', params.cutoff, '--exponent', params.exponent];
      const args = ['--reference', data(reference), '--tracker', data(tracker), '--all-rows', ...own];
      const [evaluation] = await runJson([...args, '--switch-penalty', params.switchPenalty].map(String));
      assert.ok(Math.abs(evaluation.distance / expected.distance - 1) < 1e-9, `${tracker} ${evaluation.distance}`);
      for (const component of ['localization', 'missed', 'false', 'switch'] as const)
        assert.ok(Math.abs(evaluation.cost[component] - expected.cost[component]) < 1e-7 * expected.distance ** 2);
    }
  });

  it('finishes whole sequences in seconds and below 500 MB', function () {
    skipInFastRun(this);
    for (const [sequence, tracker] of [
      ['MOT17-09', 'MPNTrack'],
      ['MOT17-04', 'BoT-SORT-ReTrack-Botsort_baseline'],
    ]) {
      const reference = data(`MOT17/train/${sequence}/gt/gt.txt`);
      const args = [
        'eval',
        '--reference',
        reference,
        '--tracker',
        data(`MOT17/results/${tracker}/${sequence}-FRCNN.txt`),
      ];
      const program = `
        process.argv = [process.execPath, 'tgospa', ...${JSON.stringify(args)}];
        process.on('exit', () => console.error('peak', process.resourceUsage().maxRSS));
        await import(${JSON.stringify(pathToFileURL(main).href)});`;
      const child = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
        encoding: 'utf8',
        timeout: 30_000,
      });
      assert.equal(child.status, 0, `${sequence} with ${tracker} is not done after 30 s, or failed: ${child.stderr}`);
      assert.match(child.stdout, / yes$/m);
      const peakKb = Number(child.stderr.match(/^peak (\d+)$/m)?.[1]);
      assert.ok(peakKb < 500_000, `${sequence} with ${tracker} took ${peakKb} kB`);
    }
  });

  it('finds the published table of detectors, to every printed digit', async () => {
    const { rows } = known('paper-tables.json').detectors;
    const detectors = rows.flatMap(({ detections }: { detections: string }) => ['--tracker', data(detections)]);
    const reference = ['--reference', data('MOT17/train/MOT17-09/gt/gt.txt')];
    const entries = await runJson([...reference, ...detectors, '--profile', 'detector-training']);
    rows.forEach((row: Record<string, number>, index: number) => {
      const { distance, cost, count, meanLocalizationError } = entries[index];
      assert.deepEqual([count.proper, count.missed, count.false], [row.proper, row.missedCount, row.falseCount]);
      // one of the published numbers is cut off, not rounded
      for (const [value, printed] of [
        [distance, row.distance],
        [cost.localization, row.localization],
        [cost.missed, row.missed],
        [cost.false, row.false],
        [meanLocalizationError, row.meanLocalizationError],
      ])
        assert.ok(Math.abs(value - printed) < 0.001, `${value} is not ${printed}`);
    });
  });

  it('has the numbers of TrackEval by the command itself, with its preprocessing', async function () {
    skipInFastRun(this);
    const rows: Array<{ tracker: string; sequence: string; preprocessing: boolean; scores: Record<string, number> }> =
      known('trackeval.json');
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

  it('has the numbers of TrackEval for KITTI, class by class, with its preprocessing', async function () {
    skipInFastRun(this);
    skipUnless(this, existsSync(data('KITTI')), 'the KITTI sequences are needed here');
    const rows: Array<{ tracker: string; class: string; sequence: string; scores: Record<string, number> }> =
      known('trackeval-kitti.json');
    const folders = ['--reference', data('KITTI/label_02'), '--tracker', data('KITTI/results')];
    const entries = await runJson([...folders, '--preprocess', 'kitti', '--scores']);
    assert.equal(rows.length, 12);
    for (const { tracker, class: kind, sequence, scores } of rows) {
      const found = entries.find((one) => one.tracker === tracker && one.class === kind && one.sequence === sequence);
      assert.ok(found, `${tracker} ${kind} ${sequence}`);
      for (const [name, value] of Object.entries(found.scores))
        if (name in scores)
          assert.ok(Math.abs(value - scores[name]) <= 1e-9, `${tracker} ${kind} ${sequence}: ${name} ${value}`);
    }
  });

  it('judges KITTI trackers by their folders', async function () {
    skipInFastRun(this);
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
