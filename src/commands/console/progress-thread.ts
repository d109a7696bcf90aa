/**
 * The thread behind Progress: draws the line, straight to the file descriptor because the main thread may be busy.
 * Short work is never shown: the first drawing waits.
 */

import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { CLEAR_LINE, type ProgressStep } from './progress.js';

const STDERR = 2;
const FIRST_DRAWING_MS = 400;
const REDRAW_MS = 120;
const BAR_CHARS = 20;
const SPINNER = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';

const done = workerData as Int32Array;
const started = Date.now();
let step: ProgressStep | null = null;
let stepStarted = started;
let turn = 0;

parentPort?.on('message', (next: ProgressStep) => {
  step = next;
  stepStarted = Date.now();
});

setInterval(() => {
  if (step && Date.now() - started > FIRST_DRAWING_MS) writeSync(STDERR, CLEAR_LINE + lineOf(step));
}, REDRAW_MS);

function lineOf({ label, step: number, steps, total, unit }: ProgressStep): string {
  const count = Math.min(total, Atomics.load(done, 0));
  const filled = total === 0 ? BAR_CHARS : Math.floor((count / total) * BAR_CHARS);
  const bar = '█'.repeat(filled) + '░'.repeat(BAR_CHARS - filled);
  // all units read, and still here: the rest is one solve whose length nobody knows
  const state =
    count < total ? `${count}/${total} ${unit}` : `${SPINNER[turn++ % SPINNER.length]} solving ${total} ${unit}`;
  const seconds = ((Date.now() - stepStarted) / 1000).toFixed(1);
  return `[${number}/${steps}] ${bar} ${state}, ${seconds} s  ${label}`.slice(0, 78);
}
