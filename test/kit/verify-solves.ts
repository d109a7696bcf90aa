/**
 * Every solve of every test is checked: each evaluation and each report of a sliding window goes through the verifier before the
 * test sees it. mocha loads this file first (`package.json`); processes and threads that a test starts load it by
 * NODE_OPTIONS and tell in a folder what they have seen. What is wrong is thrown, and kept as well, for code under test may catch it: it
 * fails the run. Not seen: kernels that are not this build's own, in browsers and in packed copies of the package.
 */

import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { type Inspected, seatInspector } from '../../src/metric/inspector.js';
import type { OptimalityCheck } from './optimality.js';
import { verifyContents, verifyFractional, verifySettled } from './verifier.js';

const FOLDER_VARIABLE = 'TGOSPA_TEST_SOLVES';
const FAILURES = 'failures';
const FAILURES_KEPT = 20;

/** Verifies what it is given and counts it. */
export class SolveCheck {
  count = 0;
  readonly failures: string[] = [];

  constructor(
    private readonly onFailure: (message: string) => void = () => {},
    private readonly optimality: OptimalityCheck | null = null,
  ) {}

  readonly inspect = (inspected: Inspected): void => {
    const { evaluation, frames, params, fractional, report } = inspected;
    this.count++;
    const name = report ? `the report of frame ${report.frame}` : `the evaluation of ${frames.length} frames`;
    try {
      if (fractional) verifyFractional(evaluation, frames, params, name);
      else verifyContents(evaluation, frames, params, name);
      if (report) verifySettled(report, params, name);
      this.optimality?.check(inspected, name);
    } catch (error) {
      const { message } = error as Error;
      if (this.failures.length < FAILURES_KEPT) this.failures.push(message);
      this.onFailure(message);
      throw error;
    }
  };
}

const told = (file: string): string[] => {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
};

const folder = process.env[FOLDER_VARIABLE];
if (folder) inspectChild(folder);
const optimality = folder ? null : new (await import('./optimality.js')).OptimalityCheck();
const check = new SolveCheck(undefined, optimality);
if (!folder) seatInspector(check.inspect);

/** A process or thread of a test writes a mark for each solve, so that one that is killed is counted too. */
function inspectChild(folder: string): void {
  let marks = -1;
  const child = new SolveCheck((message) => {
    appendFileSync(join(folder, FAILURES), `${message.replaceAll('\n', ' ')}\n`);
  });
  seatInspector((inspected) => {
    if (marks < 0) marks = openSync(join(folder, `marks-${process.pid}-${threadId}`), 'a');
    child.inspect(inspected);
    writeSync(marks, '.');
  });
}

let root = '';
const findings: string[] = [];

export function mochaGlobalSetup(): void {
  root = mkdtempSync(join(tmpdir(), 'tgospa-solves-'));
  process.env[FOLDER_VARIABLE] = root;
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${import.meta.url}`.trim();
}

export const mochaHooks = {
  /** Remembers what was found during a test, here and in its processes. */
  afterEach(this: Mocha.Context): void {
    const found = [...check.failures.splice(0), ...told(join(root, FAILURES))];
    if (found.length === 0) return;
    rmSync(join(root, FAILURES), { force: true });
    findings.push(...found.map((message) => `${this.currentTest?.fullTitle()}: ${message}`));
  },
  /** A finding that no test has failed with fails the run. */
  afterAll(): void {
    findings.push(...check.failures.splice(0), ...told(join(root, FAILURES)));
    assert.deepEqual(findings, [], 'these solves are not what their frames say');
  },
};

export function mochaGlobalTeardown(): void {
  const elsewhere = readdirSync(root)
    .filter((file) => file.startsWith('marks'))
    .map((file) => statSync(join(root, file)).size);
  const sum = elsewhere.reduce((a, b) => a + b, 0);
  rmSync(root, { recursive: true, force: true });
  console.log(
    `  ${check.count + sum} solves verified from their frames and assignments, ${sum} of them in ${elsewhere.length} processes and threads of the tests; ${optimality?.proven} proven optimal by prices`,
  );
}
