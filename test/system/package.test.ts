/**
 * The package as a stranger gets it: packed, unpacked into the node_modules of an empty project beside its declared
 * dependencies and nothing else, called, imported, and type-checked with the types of all libraries.
 */
import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));

describe('the package', () => {
  let project: string;
  let installed: string;

  const run = (command: string, args: string[], cwd = project) => {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
    assert.equal(status, 0, `${command} ${args.join(' ')}\n${stdout}${stderr}`);
    return stdout;
  };

  before(() => {
    project = mkdtempSync(join(tmpdir(), 'tgospa-package-'));
    writeFileSync(join(project, 'package.json'), '{"private":true,"type":"module"}');
    const [{ filename }] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', project], root));
    installed = join(project, 'node_modules', 'tgospa-live');
    mkdirSync(installed, { recursive: true });
    run('tar', ['-xzf', filename, '-C', installed, '--strip-components=1']);
    const { dependencies, bin } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    for (const name of Object.keys(dependencies)) {
      const link = join(project, 'node_modules', name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(realpathSync(join(root, 'node_modules', name)), link);
    }
    // as npm does when it installs
    mkdirSync(join(project, 'node_modules', '.bin'));
    chmodSync(join(installed, bin.tgospa), 0o755);
    symlinkSync(join(installed, bin.tgospa), join(project, 'node_modules', '.bin', 'tgospa'));
  });
  after(() => rmSync(project, { recursive: true, force: true }));

  it('runs as npx tgospa', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    assert.equal(run('npx', ['--no-install', 'tgospa', '--version']), `${version}\n`);
    assert.match(run('npx', ['--no-install', 'tgospa', 'serve', '--check']), /is in order/);
    assert.match(run('npx', ['--no-install', 'tgospa', 'eval', '--demo']), /missed/);
  });

  it('runs a study in threads, from its bundle', () => {
    assert.ok(existsSync(join(installed, 'dist/bundle/study-thread.js')));
    for (const path of ['truth/A/gt.txt', 'tracks/mine/A.txt']) {
      mkdirSync(join(project, path, '..'), { recursive: true });
      writeFileSync(join(project, path), '1,1,10,10,20,40,1,1,1\n');
    }
    const args = ['eval', '--reference', 'truth', '--tracker', 'tracks', '--threads', '2'];
    assert.match(run('npx', ['--no-install', 'tgospa', ...args]), /mine +0/);
  });

  it('is imported by its name, the library and the client', () => {
    const program = `import { evaluate } from 'tgospa-live'; import { connect } from 'tgospa-live/client';
      console.log(typeof evaluate, typeof connect);`;
    assert.equal(run(process.execPath, ['--input-type=module', '--eval', program]), 'function function\n');
  });

  it('holds every file that its pages link to', () => {
    const pages = [
      'README.md',
      'docker/README.md',
      'dashboards/README.md',
      'adapters/README.md',
      'src/wire/PROTOCOL.md',
    ];
    for (const page of pages) {
      const text = readFileSync(join(installed, page), 'utf8');
      for (const [, path] of text.matchAll(/\]\((?!https?:)([^)#\s]+)/g))
        assert.ok(existsSync(join(installed, dirname(page), path)), `${page} links to ${path}, which is not packed`);
    }
  });

  it('has types that a strict program checks together with those of all libraries', () => {
    writeFileSync(
      join(project, 'user.ts'),
      `import { evaluate, SlidingWindow, tune, type Evaluation } from 'tgospa-live';
       import { type ClientOptions, connect } from 'tgospa-live/client';
       export const door: unknown[] = [evaluate, SlidingWindow, tune, connect];
       export type Types = [Evaluation, ClientOptions];`,
    );
    const options = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--target', 'es2022', '--module', 'nodenext'];
    run(join(root, 'node_modules', '.bin', 'tsc'), [...options, '--types', '', 'user.ts']);
  });
});
