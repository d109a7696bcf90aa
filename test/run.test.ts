/** What `npm test -- …` runs: the folders and files named, all that have a source, and nothing else. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const RUN = fileURLToPath(new URL('./run.js', import.meta.url));

function run(...args: string[]): { status: number | null; files: string[]; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, ...args], {
    env: { PATH: process.env.PATH, TGOSPA_TEST_LIST: '1' },
    encoding: 'utf8',
  });
  return { status, files: stdout.trim().split('\n'), stderr };
}

describe('npm test', () => {
  it('runs the folders and files it is given, however they are written', () => {
    const { files } = run('wire', 'test/edge/peers/access.test.ts', 'edge/peers/access', '--grep', 'x');
    assert.ok(files.includes('edge/peers/access') && files.includes('wire/protocol'));
    assert.ok(files.every((name) => name === 'edge/peers/access' || name.startsWith('wire/')));
    assert.equal(new Set(files).size, files.length);
  });

  it('runs everything when it is given nothing, programs first, and leaves them out when it must be fast', () => {
    const all = run().files;
    const fast = run('--fast').files;
    assert.match(all[0], /^system\//);
    assert.ok(all.includes('run') && all.includes('docker/docker') && fast.includes('run'));
    assert.deepEqual(
      all.filter((name) => !fast.includes(name)).filter((name) => !/^(system|docker)\//.test(name)),
      [],
    );
    assert.ok(!fast.some((name) => /^(system|docker)\//.test(name)));
  });

  it('says which folders there are when it is given none of them', () => {
    const { status, stderr } = run('nowhere');
    assert.equal(status, 2);
    assert.match(stderr, /no test is in nowhere; folders of test\/ are: .*adapters .*wire/);
  });
});
