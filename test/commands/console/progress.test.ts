/** The progress line, drawn by its own thread while the main thread is busy. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { CLEAR_LINE } from '../../../src/commands/console/progress.js';

const module = new URL('../../../src/commands/console/progress.js', import.meta.url).href;

/** What a program draws whose main thread is busy for a while. */
function drawn(visible: boolean, busyMs: number): string {
  const program = `
    const { Progress } = await import(${JSON.stringify(module)});
    const progress = new Progress(${visible});
    progress.begin({ label: 'the work', step: 2, steps: 3, total: 4, unit: 'frames' });
    for (const frame of progress.counting([1, 2])) frame;
    const end = performance.now() + ${busyMs};
    while (performance.now() < end);
    await progress.stop();`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  return stderr;
}

describe('progress', () => {
  it('is drawn while the main thread computes, and wiped away at the end', () => {
    const text = drawn(true, 1500);
    assert.match(text, /\[2\/3\] █{10}░{10} 2\/4 frames, \d+\.\d s {2}the work/);
    assert.ok(text.endsWith(CLEAR_LINE));
  });

  it('shows nothing of short work but the wiping', () => {
    assert.equal(drawn(true, 0), CLEAR_LINE);
  });

  it('shows nothing at all when it is not wanted', () => {
    assert.equal(drawn(false, 600), '');
  });
});
