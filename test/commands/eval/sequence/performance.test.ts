/** The numbers of surveillance in `tgospa eval`, and points on Earth. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runEval } from '../../../../src/commands/eval/eval.js';
import { outputOf, PLAIN } from '../../../kit/system/command-line.js';

const run = (args: string[]) => outputOf(runEval, args, { ...PLAIN, columns: 80 });

describe('tgospa eval --performance', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-performance-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** Five objects, one of them across the antimeridian; what is tracked is so many frames late. */
  function write(name: string, late: number): string {
    const rows = Array.from({ length: 40 }, (_, k) => {
      const objects = [-2, -1, 0, 1, 2].map((v, n) => {
        const longitude = (n === 3 ? 179.99 : -1) + 0.001 * v * (k - late);
        return { id: `${n}`, point: [50 + 0.1 * n + 0.0005 * v * (k - late), ((longitude + 540) % 360) - 180] };
      });
      return JSON.stringify({ k, objects });
    });
    const file = join(folder, name);
    writeFileSync(file, rows.join('\n'));
    return file;
  }

  const judge = (...more: string[]) => [
    '--reference',
    write('reference.jsonl', 0),
    '--tracker',
    write('late.jsonl', 0.5),
    ...['--format', 'native', '--option', 'shape=point'],
    ...['--distance', 'geodesic', '--cutoff', '500', '--exponent', '1', '--switch-penalty', '100'],
    '--performance',
    ...more,
  ];

  it('tells the latency of a tracker on Earth, in seconds where the frame rate is known', async () => {
    const [{ performance, count }] = JSON.parse((await run(judge('--frame-rate', '0.25', '--json'))).out);
    assert.deepEqual(count, { proper: 200, missed: 0, false: 0, switches: 0 });
    assert.ok(Math.abs(performance.latency.latency - 2) < 1e-3);
    assert.equal(performance.siap.completeness, 1);
    assert.equal(performance.siap.longestSegmentShare, 1);
    assert.ok(performance.error.along.mean < -20 && Math.abs(performance.error.across.mean) < 0.1);
    const { out } = await run(judge());
    assert.match(out, /times in frames, position errors in m;/);
    assert.match(out, /late: latency 0\.5 ± .* frames, bias /);
    assert.ok(out.split('\n').every((line) => line.length <= 80));
  });

  it('is refused where it means nothing, and so is Earth for boxes', async () => {
    await assert.rejects(run(judge('--window', '5')), /--performance/);
    for (const [format, remedy] of [
      ['motchallenge', ''],
      ['native', '; if they are points, say --option shape=point'],
    ])
      await assert.rejects(
        run(['--reference', 'a', '--tracker', 'b', '--format', format, '--distance', 'geodesic', '--cutoff', '5']),
        new RegExp(`compares latitudes and longitudes, but format ${format} gives boxes${remedy}$`),
      );
    await assert.rejects(
      run(['--reference', folder, '--tracker', folder, '--format', 'motchallenge', '--performance']),
      /--performance is of one sequence/,
    );
  });
});
