/** What tests of the pipeline share: feeds, a clock that waits, seeded numbers. */
import { interval } from 'rxjs';
import type { Clock } from '../../src/live/pipeline.js';
import type { FeedId } from '../../src/wire/feed.js';

export const START_MS = 1_763_251_200_000;
export const quiet = { info() {}, warn() {}, error() {} };

export const feed = (stream: string, tracker: string | null = null): FeedId => ({
  stream,
  role: tracker === null ? 'reference' : 'tracker',
  tracker,
});

/** A clock that stands still until it is told; deadlines are looked at all the time. */
export class TestClock implements Clock {
  nowMs = START_MS;
  now = () => this.nowMs;
  ticks = () => interval(2);
}

/** Seeded numbers between 0 and 1. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
