/** The first impression: what `tgospa` says when it is called for the first time, or wrongly. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { evalHelp } from '../src/commands/eval/options.js';

const main = fileURLToPath(new URL('../src/main.js', import.meta.url));

function tgospa(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' });
}

describe('tgospa', () => {
  it('says what it is, what it can do and where to start', () => {
    const { status, stdout } = tgospa();
    assert.equal(status, 0);
    for (const command of ['eval', 'tune', 'serve', 'demo', 'replay'])
      assert.match(stdout, new RegExp(`^  ${command} +\\w`, 'm'));
    assert.match(stdout, /^Start here:\n {2}tgospa demo /m);
    for (const line of stdout.split('\n')) assert.ok(line.length <= 120, line);
    for (const asked of ['--help', '-h', 'help']) assert.equal(tgospa(asked).stdout, stdout);
  });

  it('names in its help only options that the commands know', () => {
    const examples = [...tgospa('--help').stdout.matchAll(/^ {2}tgospa (\w+)(.*)$/gm)];
    assert.ok(examples.length >= 5);
    for (const [, command, rest] of examples) {
      const { stdout } = tgospa(command, '--help');
      for (const [option] of rest.matchAll(/--[\w-]+/g))
        assert.ok(stdout.includes(option), `tgospa ${command} does not know ${option}`);
    }
  });

  it('explains a command however it is asked', () => {
    for (const args of [
      ['eval', '--help'],
      ['eval', '-h'],
      ['help', 'eval'],
    ])
      assert.equal(tgospa(...args).stdout, `${evalHelp()}\n`);
  });

  it('knows its version', () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    for (const asked of ['--version', '-V']) assert.equal(tgospa(asked).stdout, `${version}\n`);
  });

  it('has a remedy for an unknown command', () => {
    const said = (name: string) => {
      const { status, stderr, stdout } = tgospa(name);
      assert.deepEqual([status, stdout], [2, '']);
      return stderr.split('\n')[0];
    };
    assert.equal(said('evl'), 'tgospa: unknown command "evl"; did you mean eval?');
    assert.match(said('gt.txt'), /a command comes first, e\.g\. tgospa eval --reference gt\.txt/);
    assert.match(said('--reference'), /a command comes first/);
    assert.match(said('frobnicate'), /there are eval, tune, /);
  });

  it('does not repeat the same mistake thousands of times', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tgospa-main-'));
    try {
      const file = join(folder, 'many.txt');
      writeFileSync(file, `1,1,5,5,-1,5\n${'x,1,1,1,1,1\n'.repeat(500)}`);
      const { status, stderr } = tgospa('eval', '--reference', file, '--tracker', file);
      assert.equal(status, 1);
      const lines = stderr.trimEnd().split('\n');
      assert.equal(lines[0], 'tgospa eval: 501 problems');
      assert.match(lines.at(-1) ?? '', /and 497 more like these; if the file is in another format, say --format/);
      assert.equal(lines.filter((line) => line.includes('frame (column 1) must be')).length, 3);
      assert.equal(lines.filter((line) => line.includes('width (column 5) must be')).length, 1);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
