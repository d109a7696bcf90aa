/**
 * One line on the terminal that shows how far long work has got, while the main thread is busy computing.
 * A thread of its own draws it (progress-thread.ts); the main thread only counts, in shared memory.
 * Invariant: after stop() the line is gone and nothing more is drawn.
 */

import { writeSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';

export interface ProgressStep {
  /** what is being worked on */
  label: string;
  /** number of this step and of all steps, from 1 */
  step: number;
  steps: number;
  /** units of work in this step, e.g. frames */
  total: number;
  unit: string;
}

const STDERR = 2;
export const CLEAR_LINE = '\r\x1b[2K';

export class Progress {
  readonly #done = new Int32Array(new SharedArrayBuffer(4));
  #worker: Worker | null;

  /** Shows nothing at all unless `visible`. */
  constructor(visible: boolean) {
    this.#worker = visible ? startThread(this.#done) : null;
    this.#worker?.unref();
  }

  start(step: ProgressStep): void {
    Atomics.store(this.#done, 0, 0);
    this.#worker?.postMessage(step);
  }

  /** One more unit is done; costs nanoseconds. */
  tick(): void {
    Atomics.add(this.#done, 0, 1);
  }

  /** Passes the items on and counts each once it is consumed. */
  *counting<Item>(items: Iterable<Item>): Generator<Item> {
    for (const item of items) {
      yield item;
      this.tick();
    }
  }

  async stop(): Promise<void> {
    if (!this.#worker) return;
    const worker = this.#worker;
    this.#worker = null;
    await worker.terminate();
    writeSync(STDERR, CLEAR_LINE);
  }
}

/** Threads are loaded when there is something to draw: a short clip is judged in less time than that takes. */
function startThread(workerData: Int32Array): Worker {
  const { Worker } = process.getBuiltinModule('node:worker_threads');
  return new Worker(new URL('./progress-thread.js', import.meta.url), { workerData, execArgv: [] });
}

/** Does the work with a line of progress that is gone afterwards, however it ends. */
export async function withProgress<Result>(
  visible: boolean,
  work: (progress: Progress) => Promise<Result> | Result,
): Promise<Result> {
  const progress = new Progress(visible);
  try {
    return await work(progress);
  } finally {
    await progress.stop();
  }
}
