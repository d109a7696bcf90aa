/** Tests that need real programs: a browser, Prometheus, a broker, root, or the recorded sequences. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:net';

/** True when a program is on the path. */
export const hasProgram = (program: string): boolean =>
  spawnSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' }).status === 0;

/**
 * Call it first in a suite's `before` or in a test. Without what is needed the test is skipped with a sentence, or
 * fails where TGOSPA_REQUIRE_SYSTEM=1 says that everything must run.
 */
export function skipUnless(test: Mocha.Context, available: boolean, sentence: string): void {
  if (available) return;
  assert.notEqual(process.env.TGOSPA_REQUIRE_SYSTEM, '1', sentence);
  console.log(`      skipped: ${sentence}`);
  test.skip();
}

const isFastRun = process.env.TGOSPA_TEST_FAST === '1';

/**
 * For tests that take seconds: `npm run test:fast` leaves them out and counts them as pending, `npm test` runs them.
 */
export function skipInFastRun(test: Mocha.Context): void {
  if (isFastRun) test.skip();
}

/** 1 to `all`, for tests that draw their scenes; `npm run test:fast` draws fewer. */
export const seedsTo = (all: number, inFastRun: number): number[] =>
  Array.from({ length: isFastRun ? inFastRun : all }, (_, n) => n + 1);

/** Part of the draws that tests make: `npm test` a third, `test:fast` a quarter, TGOSPA_TEST_DRAWS=all all of them. */
const SHARE = isFastRun ? 1 / 4 : process.env.TGOSPA_TEST_DRAWS === 'all' ? 1 : 1 / 3;

/** How many of `all` draws a test makes. */
export const drawn = (all: number): number => Math.ceil(all * SHARE);

/** Of many cases of one kind, those a test looks at: `npm test` all, `npm run test:fast` every fourth. */
export const someOf = <T>(cases: readonly T[]): readonly T[] =>
  isFastRun ? cases.filter((_, n) => n % 4 === 0) : cases;

/** As long as mocha gives a test (`package.json`): how fast other programs answer is the machine's affair. */
export const SYSTEM_TIMEOUT_MS = 600_000;

/** Longer than this between two looks, and this process stood still: that counts for nobody. */
const PAUSE_MS = 5000;

/** Time between two looks: a twentieth of what has passed, so that a long wait costs few looks and no time. */
const LOOKS_APART = { share: 1 / 20, leastMs: 10, mostMs: 100 };

/** Waits until `probe` gives something other than undefined or false; `what` goes into the complaint. */
export async function until<T>(
  what: string,
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  withinMs = 180_000,
): Promise<T> {
  const { share, leastMs, mostMs } = LOOKS_APART;
  let left = withinMs;
  for (let lookedMs = Date.now(); ; lookedMs = Date.now()) {
    const value = await probe();
    if (value !== undefined && value !== false) return value;
    const pauseMs = Math.min(mostMs, Math.max(leastMs, share * (withinMs - left)));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    left -= Math.min(Date.now() - lookedMs, PAUSE_MS);
    if (left < 0) assert.fail(`not within ${withinMs} ms: ${what}`);
  }
}

/** Below those that Linux gives to whoever names none, so that nobody else is given one between here and its use. */
const PORTS = { first: 20_000, count: 12_000 };
let portsTried = process.pid * 97;

/** A port that is free now, for programs that must be told one. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.first + (portsTried++ % PORTS.count);
    const server = createServer().listen(port, '127.0.0.1');
    const free = await new Promise<boolean>((resolve) => {
      server.once('listening', () => resolve(true));
      server.once('error', () => resolve(false));
    });
    await new Promise((resolve) => server.close(resolve));
    if (free) return port;
  }
}
