/**
 * A kernel with faults, for every thread of the process that imports or preloads this: a frame in which a track has
 * one of these ids makes it fail, half way through the change of a window, or ends its thread.
 */
import { isMainThread } from 'node:worker_threads';
import type { LooseFrame } from '../../../src/metric/frame.js';
import { SlidingWindow } from '../../../src/metric/sliding-window.js';

export const POISON = {
  /** the window fails in the middle of its change */
  throws: 'poison-throws',
  /** the thread ends; the main thread is spared */
  exits: 'poison-exits',
  /** the thread runs out of memory; the main thread is spared */
  devours: 'poison-devours',
  /** the process is killed, wherever this is */
  kills: 'poison-kills',
  /** takes long, and much work */
  slow: 'poison-slow',
  /** takes TGOSPA_TEST_SLOW_MS milliseconds, and as much work */
  slowLater: 'poison-slow-later',
} as const;

const SLOW_MS = 80;
const slowLaterMs = () => Number(process.env.TGOSPA_TEST_SLOW_MS ?? 0);

const { push, pushing } = SlidingWindow.prototype;
const workMs = Object.getOwnPropertyDescriptor(SlidingWindow.prototype, 'workMs')!;
/** milliseconds that the last push of a window took on top, and counts as work */
const slowedMs = new WeakMap<SlidingWindow, number>();

SlidingWindow.prototype.push = function (frame: LooseFrame, ...rest) {
  const report = push.call(this, frame, ...rest);
  poison(this, frame);
  return report;
};

SlidingWindow.prototype.pushing = function* (frame: LooseFrame, ...rest) {
  const report = yield* pushing.call(this, frame, ...rest);
  poison(this, frame);
  return report;
};

function poison(window: SlidingWindow, frame: LooseFrame): void {
  const { ids = [] } = frame.tracker as unknown as { ids?: readonly string[] };
  slowedMs.set(window, ids.includes(POISON.slow) ? SLOW_MS : ids.includes(POISON.slowLater) ? slowLaterMs() : 0);
  for (const id of ids) act(id);
}

Object.defineProperty(SlidingWindow.prototype, 'workMs', {
  get(this: SlidingWindow) {
    return workMs.get!.call(this) + (slowedMs.get(this) ?? 0);
  },
});

function act(id: string): void {
  if (id === POISON.throws) throw new RangeError('Maximum call stack size exceeded');
  if (id === POISON.slow) wait(SLOW_MS);
  if (id === POISON.slowLater) wait(slowLaterMs());
  if (id === POISON.kills) process.kill(process.pid, 'SIGKILL');
  if (isMainThread) return;
  if (id === POISON.exits) process.exit(7);
  if (id !== POISON.devours) return;
  const hoard: unknown[] = [];
  for (;;) hoard.push(new Array(100_000).fill(id));
}

/** Keeps its thread, and no processor. */
function wait(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
