/** The progress line, drawn by its own thread while the main thread is busy. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLEAR_LINE } from '../../../src/commands/console/progress.js';
import { skipInFastRun } from '../../kit/system/system.js';

const module = new URL('../../../src/commands/console/progress.js', import.meta.url).href;

/** What a program draws whose main thread is busy until something is drawn, or for so long at most. */
function drawn(visible: boolean, busyMsMax: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'tgospa-progress-'));
  const file = join(folder, 'stderr');
  const stderr = openSync(file, 'w');
  const program = `
    import { fstatSync } from 'node:fs';
    const { Progress } = await import(${JSON.stringify(module)});
    const progress = new Progress(${visible});
    progress.start({ label: 'the work', step: 2, steps: 3, total: 4, unit: 'frames' });
    for (const frame of progress.counting([1, 2])) frame;
    const end = performance.now() + ${busyMsMax};
    while (fstatSync(2).size === 0 && performance.now() < end);
    await progress.stop();`;
  try {
    const { status } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'ignore', stderr],
    });
    const text = readFileSync(file, 'utf8');
    assert.equal(status, 0, text);
    return text;
  } finally {
    closeSync(stderr);
    rmSync(folder, { recursive: true });
  }
}

describe('progress', () => {
  it('is drawn while the main thread computes, and wiped away at the end', () => {
    const text = drawn(true, 60_000);
    assert.match(text, /\[2\/3\] █{10}░{10} 2\/4 frames, \d+\.\d s {2}the work/);
    assert.ok(text.endsWith(CLEAR_LINE));
  });

  it('shows nothing of short work but the wiping', () => {
    assert.equal(drawn(true, 0), CLEAR_LINE);
  });

  it('shows nothing at all when it is not wanted', function () {
    skipInFastRun(this);
    assert.equal(drawn(false, 600), '');
  });
});
