/** Tests that need real programs: a browser, Prometheus, a broker, root, or the recorded sequences. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:net';

/** True when a program is on the path. */
export const hasProgram = (program: string): boolean =>
  spawnSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' }).status === 0;

/**
 * Call it first in a suite's `before` or in a test. Without what is needed the test is skipped with a sentence, or fails
 * where TGOSPA_REQUIRE_SYSTEM=1 says that everything must run.
 */
export function needs(test: Mocha.Context, available: boolean, sentence: string): void {
  if (available) return;
  assert.notEqual(process.env.TGOSPA_REQUIRE_SYSTEM, '1', sentence);
  console.log(`      skipped: ${sentence}`);
  test.skip();
}

/**
 * For suites that drive other processes: how fast those answer is the machine's affair, so a test gets time and,
 * on a machine too busy to keep even that, another try.
 */
export function patient(suite: Mocha.Suite): void {
  suite.timeout(300_000);
  suite.retries(2);
}

/** Waits until `probe` gives something other than undefined or false; `what` goes into the complaint. */
export async function until<T>(
  what: string,
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  withinMs = 60_000,
): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== false) return value;
    if (Date.now() > deadline) assert.fail(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** A port that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
