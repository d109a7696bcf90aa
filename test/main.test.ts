/** The first impression: what `tgospa` says when it is called for the first time, or wrongly. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { evalHelp } from '../src/commands/eval/options.js';
import { skipInFastRun } from './kit/system/system.js';

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

  it('names in its help only options that the commands know', function () {
    skipInFastRun(this);
    const examples = [...tgospa('--help').stdout.matchAll(/^ {2}tgospa (\w+)(.*)$/gm)];
    assert.ok(examples.length >= 5);
    for (const [, command, rest] of examples) {
      const { stdout } = tgospa(command, '--help');
      for (const [option] of rest.matchAll(/--[\w-]+/g))
        assert.ok(stdout.includes(option), `tgospa ${command} does not know ${option}`);
    }
  });

  it('explains a command however it is asked', function () {
    skipInFastRun(this);
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

  it('has a remedy for an unknown command', function () {
    skipInFastRun(this);
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

  it('does not repeat the same mistake thousands of times', function () {
    skipInFastRun(this);
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

describe('the bundles of the command line', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-bundle-'));
    mkdirSync(join(folder, 'dist/src'), { recursive: true });
    for (const name of ['bundle', 'program']) mkdirSync(join(folder, 'dist', name));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    for (const file of ['main.js', 'bundle.js']) copyFileSync(join(main, '..', file), join(folder, 'dist/src', file));
    writeFileSync(join(folder, 'dist/src/command-line.js'), 'console.log("modules")');
    writeFileSync(join(folder, 'dist/bundle/command-line.js'), 'console.log("bundle")');
    writeFileSync(join(folder, 'dist/program/program.js'), 'console.log("program")');
    writeFileSync(join(folder, 'dist/bundle/package.json'), '{"type":"commonjs"}');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const ran = (command: string, options = '', TGOSPA_BUNDLE = '') => {
    const { stdout, stderr } = spawnSync(process.execPath, [join(folder, 'dist/src/main.js'), command], {
      env: { ...process.env, NODE_OPTIONS: options, TGOSPA_BUNDLE },
      encoding: 'utf8',
    });
    assert.equal(stderr, '');
    return stdout.trim();
  };

  it('are what an installed package runs: one for eval and tune, one for everything', function () {
    skipInFastRun(this);
    const names = ['eval', 'tune', 'serve', 'help'];
    assert.deepEqual(
      names.map((name) => ran(name)),
      ['bundle', 'bundle', 'program', 'program'],
    );
  });

  it('are passed over when something is loaded before that looks at modules, unless it says that it does not', () => {
    for (const command of ['eval', 'serve']) assert.equal(ran(command, '--import data:text/javascript,'), 'modules');
    assert.equal(ran('serve', '--import data:text/javascript,', '1'), 'program');
  });

  it('are passed over when the compiler has run since it was made, or when there are none', function () {
    skipInFastRun(this);
    writeFileSync(join(folder, 'dist/.tsbuildinfo'), '');
    const now = Date.now() / 1000;
    utimesSync(join(folder, 'dist/.tsbuildinfo'), now, now);
    const made = (at: number) => {
      for (const file of ['bundle/command-line.js', 'program/program.js'])
        utimesSync(join(folder, 'dist', file), at, at);
    };
    const all = () => ['eval', 'serve'].map((command) => ran(command));
    made(now + 1);
    assert.deepEqual(all(), ['bundle', 'program']);
    made(now - 1);
    assert.deepEqual(all(), ['modules', 'modules']);
    made(now + 1);
    // a build may end between both
    rmSync(join(folder, 'dist/program'), { recursive: true });
    assert.deepEqual(all(), ['bundle', 'modules']);
    rmSync(join(folder, 'dist/bundle'), { recursive: true });
    assert.deepEqual(all(), ['modules', 'modules']);
  });

  it('have every thread beside them that they start', () => {
    for (const [name, threads] of [
      ['bundle', ['progress-thread.js', 'study-thread.js']],
      ['program', ['progress-thread.js', 'study-thread.js', 'worker.js']],
    ] as const) {
      const built = new URL(`../${name}/`, import.meta.url);
      const texts = readdirSync(built).map((file) =>
        file.endsWith('.js') ? readFileSync(new URL(file, built), 'utf8') : '',
      );
      const started = texts.flatMap((text) => [...text.matchAll(/Worker\d*\(new URL\("\.\/([\w-]+\.js)"/g)]);
      assert.deepEqual([...new Set(started.map(([, file]) => file))].sort(), threads, name);
      for (const file of threads) assert.ok(existsSync(new URL(file, built)), `${name}/${file}`);
    }
  });

  it('is compiled as usual when its compiled code is damaged, or made for another engine or other flags', () => {
    for (const code of [Buffer.from('no code'), readFileSync(join(main, '../../bundle/command-line0.code'))]) {
      writeFileSync(join(folder, 'dist/bundle/command-line0.code'), code);
      assert.equal(ran('eval'), 'bundle');
    }
  });

  it('comes with code that the engine of the build takes, for both ways to start it', async function () {
    skipInFastRun(this);
    const { v8 } = JSON.parse(readFileSync(new URL('../bundle/package.json', import.meta.url), 'utf8'));
    if (v8 !== process.versions.v8) this.skip();
    const { codeFile, FLAGS } = await import('../src/bundle.js');
    const url = new URL('../src/bundle.js', import.meta.url);
    for (const flags of FLAGS) {
      const script = `const { compiled, codeFile } = await import('${url}'); const fs = await import('node:fs');
        console.log(compiled(fs.readFileSync(${JSON.stringify(codeFile(flags))})).cachedDataRejected)`;
      const args = [...(flags ? [flags] : []), '--input-type=module', '--eval', script];
      const { stdout } = spawnSync(process.execPath, args, {
        env: { ...process.env, NODE_OPTIONS: '' },
        encoding: 'utf8',
      });
      assert.equal(stdout.trim(), 'false');
    }
  });

  it('says what the modules say, with threads and without', function () {
    skipInFastRun(this);
    const bundle = fileURLToPath(new URL('../bundle/command-line.js', import.meta.url));
    const modules = fileURLToPath(new URL('../src/command-line.js', import.meta.url));
    assert.ok(existsSync(bundle), 'dist/bundle is missing; npm run build makes it');
    for (const [path, columns] of [
      ['truth/A/gt/gt.txt', '1,1,1'],
      ['tracks/mine/A.txt', '1,-1,-1,-1'],
    ]) {
      mkdirSync(join(folder, path, '..'), { recursive: true });
      writeFileSync(join(folder, path), [1, 2, 3].map((k) => `${k},1,${k},10,20,40,${columns}`).join('\n'));
    }
    const files = ['--reference', 'truth/A/gt/gt.txt', '--tracker', 'tracks/mine/A.txt'];
    const one = ['--reference', 'truth', '--tracker', 'tracks', '--scores'];
    const judged = [[], ['--max-semi-space-size=32']].map((flags) => {
      const run = spawnSync(process.execPath, [...flags, main, 'eval', ...one], { cwd: folder, encoding: 'utf8' });
      assert.equal(run.status, 0, run.stderr);
      return run.stdout;
    });
    assert.equal(judged[0], judged[1]);
    const folders = ['--reference', 'truth', '--tracker', 'tracks', '--scores', '--threads', '2'];
    for (const args of [
      ['eval', '--demo'],
      ['eval', ...files, '--json'],
      ['eval', ...folders],
      ['eval', '--box', 'no'],
    ]) {
      const [one, other] = [bundle, modules].map((script) => {
        const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
          cwd: folder,
          encoding: 'utf8',
        });
        return { status, stdout, stderr };
      });
      assert.deepEqual(one, other);
      assert.ok(one.stdout.length + one.stderr.length > 100);
    }
  });
});
