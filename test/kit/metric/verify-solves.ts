/**
 * Solves of every test are checked: evaluations and reports of sliding windows go through the verifier before the test
 * sees them, in tests of the kernel all of them but for long windows, elsewhere one report in eight. mocha loads this
 * file first (`package.json`), in each of its processes where it has several; processes and threads that a test starts
 * load it by NODE_OPTIONS and tell in a folder what they have seen. What is wrong is thrown, and kept as well, for code
 * under test may catch it: it fails the run. Not seen: kernels that are not this build's own, in browsers and in packed
 * copies of the package.
 */

import assert from 'node:assert/strict';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { type Inspected, seatInspector } from '../../../src/metric/inspector.js';
import type { OptimalityCheck } from './optimality.js';
import { verifyContents, verifyFractional, verifySettled, windowFramesOf } from './verifier.js';

const FOLDER_VARIABLE = 'TGOSPA_TEST_SOLVES';
const FAILURES = 'failures';
const MARKS = 'marks';
const TALLY = 'tally';
const FAILURES_KEPT = 20;
/** Tests of what is solved: each window is checked. Elsewhere windows that follow each other differ by a frame. */
const OF_THE_KERNEL = /[/\\]test[/\\](metric|scores|coverage|kit)[/\\]/;

/** Elsewhere one report in so many of a window is checked, and one in so many proven optimal. */
const REPORTS_BETWEEN = 8;
const PROOFS_BETWEEN = 32;
/** A longer window is checked less often in tests of the kernel too, for its reports differ by less. */
const KERNEL_FRAMES = 60;

/** Verifies what it is given and counts it. */
export class SolveCheck {
  count = 0;
  /** of tests of the kernel */
  ofKernel = true;
  readonly failures: string[] = [];
  private readonly excused = new WeakSet<object>();

  constructor(
    private readonly onFailure: (message: string) => void = () => {},
    private readonly optimality: OptimalityCheck | null = null,
  ) {}

  /** Whether it was checked: what is wrong is thrown. */
  readonly inspect = (lazy: Inspected): boolean => {
    if (isBetween(lazy, this.ofKernel ? kernelReportsBetween(lazy) : REPORTS_BETWEEN)) return false;
    const inspected = { ...lazy };
    const { evaluation, frames, params, fractional, report } = inspected;
    this.count++;
    const name = report ? `the report of frame ${report.frame}` : `the evaluation of ${frames.length} frames`;
    try {
      if (fractional) verifyFractional(evaluation, frames, params, name);
      else verifyContents(evaluation, frames, params, name);
      if (report) verifySettled(report, params, name, this.isExcused(inspected));
      if (!isBetween(inspected, this.ofKernel ? 1 : PROOFS_BETWEEN)) this.optimality?.check(inspected, name);
      return true;
    } catch (error) {
      const { message } = error as Error;
      if (this.failures.length < FAILURES_KEPT) this.failures.push(message);
      this.onFailure(message);
      throw error;
    }
  };

  /** Whether a window has ever held an object that costs less than the full price alone. */
  private isExcused({ window, frames }: Inspected): boolean {
    if (window && frames.some(({ reference, tracker }) => reference.alone || tracker.alone)) this.excused.add(window);
    return window !== undefined && this.excused.has(window);
  }
}

/** Whether this report of a window is none of one in so many; each frame is in one of those that are. */
function isBetween({ window, report }: Inspected, many: number): boolean {
  return !!window && !!report && report.frame % Math.min(many, windowFramesOf(window)) !== 0;
}

const kernelReportsBetween = ({ window }: Inspected): number =>
  window ? Math.ceil(windowFramesOf(window) / KERNEL_FRAMES) : 1;

const linesOf = (file: string): string[] => {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
};

/** Where processes of the tests write what they have seen; a process that mocha forks has a folder of its own in it. */
let folder = process.env[FOLDER_VARIABLE] ?? '';
const worker = process.env.MOCHA_WORKER_ID;
const runsTests = folder === '' || worker !== undefined;
if (folder && worker !== undefined) {
  folder = join(folder, `worker-${worker}`);
  mkdirSync(folder, { recursive: true });
  process.env[FOLDER_VARIABLE] = folder;
  // what the tests start is not mocha's
  delete process.env.MOCHA_WORKER_ID;
}

/** Proofs that nothing better exists take a quarter of the time: `npm run test:fast` does without. */
const proves = runsTests && process.env.TGOSPA_TEST_FAST !== '1';
const optimality = proves ? new (await import('./optimality.js')).OptimalityCheck() : null;
const check = new SolveCheck(undefined, optimality);
if (runsTests) seatInspector(check.inspect);
else inspectChild(folder);

/** A process or thread of a test writes a mark for each solve, so that one that is killed is counted too. */
function inspectChild(folder: string): void {
  let marks = -1;
  const child = new SolveCheck((message) => {
    appendFileSync(join(folder, FAILURES), `${message.replaceAll('\n', ' ')}\n`);
  });
  child.ofKernel = false;
  seatInspector((inspected) => {
    if (marks < 0) marks = openSync(join(folder, `${MARKS}-${process.pid}-${threadId}`), 'a');
    if (child.inspect(inspected)) writeSync(marks, '.');
  });
}

export function mochaGlobalSetup(): void {
  folder = mkdtempSync(join(tmpdir(), 'tgospa-solves-'));
  process.env[FOLDER_VARIABLE] = folder;
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${import.meta.url}`.trim();
  // it sits where any copy of the kernel looks; who changes modules says 0
  process.env.TGOSPA_BUNDLE ??= '1';
}

const findings: string[] = [];

export const mochaHooks = {
  beforeAll(this: Mocha.Context): void {
    const suites = this.test?.parent?.suites ?? [];
    check.ofKernel = suites.some(({ file }) => OF_THE_KERNEL.test(file ?? ''));
  },
  beforeEach(this: Mocha.Context): void {
    check.ofKernel = OF_THE_KERNEL.test(this.currentTest?.file ?? '');
  },
  /** Remembers what was found during a test, here and in its processes. */
  afterEach(this: Mocha.Context): void {
    const found = [...check.failures.splice(0), ...linesOf(join(folder, FAILURES))];
    if (found.length === 0) return;
    rmSync(join(folder, FAILURES), { force: true });
    findings.push(...found.map((message) => `${this.currentTest?.fullTitle()}: ${message}`));
  },
  /** A finding that no test has failed with fails the run. Called once for each file where files run side by side. */
  afterAll(): void {
    writeFileSync(join(folder, TALLY), `${check.count} ${optimality?.proven ?? 0}`);
    findings.push(...check.failures.splice(0), ...linesOf(join(folder, FAILURES)));
    assert.deepEqual(findings.splice(0), [], 'these solves are not what their frames say');
  },
};

export function mochaGlobalTeardown(): void {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file));
  const tallies = files
    .filter((file) => basename(file) === TALLY)
    .map((file) => linesOf(file)[0].split(' ').map(Number));
  const marks = files.filter((file) => basename(file).startsWith(MARKS)).map((file) => statSync(file).size);
  rmSync(folder, { recursive: true, force: true });
  const sum = (list: number[]) => list.reduce((a, b) => a + b, 0);
  const own = sum(tallies.map(([count]) => count));
  const elsewhere = sum(marks);
  console.log(
    `  ${own + elsewhere} solves verified from their frames and assignments, ${elsewhere} of them in ${marks.length} processes and threads of the tests; ${sum(tallies.map(([, proven]) => proven))} proven optimal by prices`,
  );
}
