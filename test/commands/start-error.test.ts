/** What stops the evaluator from starting is one sentence and an exit code, over the real process. */
import { strict as assert } from 'node:assert';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { skipInFastRun } from '../kit/system/system.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));

describe('a start that cannot succeed', () => {
  let folder: string;
  let running: ChildProcess | null = null;

  before(function () {
    skipInFastRun(this);
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-start-'));
  });
  afterEach(async () => {
    if (running?.exitCode === null) {
      running.kill('SIGKILL');
      await once(running, 'exit');
    }
    running = null;
    chmodSync(folder, 0o755);
    rmSync(folder, { recursive: true, force: true });
  });

  function serve(options: { port?: number; data?: string; uid?: number; command?: string }): {
    status: number | null;
    stderr: string;
  } {
    const { port = 0, data = join(folder, 'data'), uid, command = 'serve' } = options;
    const args = [main, command, '--port', String(port), '--data', data];
    const { status, stderr } = spawnSync(process.execPath, args, {
      encoding: 'utf8',
      cwd: folder,
      uid,
      timeout: 60_000,
    });
    return { status, stderr };
  }

  function assertSentence({ status, stderr }: { status: number | null; stderr: string }, sentence: RegExp): void {
    assert.equal(status, 1, stderr);
    assert.match(stderr, sentence);
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
  }

  it('names a port that is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const outcome = serve({ port });
    other.close();
    assertSentence(outcome, new RegExp(`^tgospa serve: port ${port} of 127.0.0.1 is in use by another program; `));
  });

  it('names a file where a folder is needed', () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    assertSentence(
      serve({ data: file }),
      /^tgospa serve: data\.dir is .*\/file, but .*\/file is a file; name a folder$/m,
    );
    assertSentence(serve({ data: join(file, 'deeper') }), /\/file is a file; name a folder$/m);
  });

  it('names a folder that cannot be written', () => {
    chmodSync(folder, 0o555);
    // root is refused nothing, so another user must try
    const root = process.getuid?.() === 0;
    assertSentence(
      serve(root ? { uid: 65_534 } : {}),
      /^tgospa serve: .*\/data cannot be written: .*; choose a folder that this user may write with --data$/m,
    );
  });

  it('names a folder where none can be made, and does not wait for it', () => {
    assertSentence(
      serve({ data: '/proc/tgospa' }),
      /^tgospa serve: \/proc\/tgospa cannot be written: .*; choose a folder that this user may write with --data$/m,
    );
  });

  it('is one sentence of the demo too', () => {
    assertSentence(
      serve({ data: '/proc/tgospa', command: 'demo' }),
      /^tgospa demo: \/proc\/tgospa cannot be written: /,
    );
  });

  it('names a folder that another process uses', async () => {
    const data = join(folder, 'data');
    mkdirSync(data);
    running = spawn(process.execPath, [main, 'serve', '--port', '0', '--data', data], { cwd: folder });
    await once(running.stdout!, 'data');
    assertSentence(serve({ data }), /^tgospa serve: .*\/data is in use by another process; stop it, or choose another/);
  });
});
