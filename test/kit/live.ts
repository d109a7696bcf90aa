/** What tests of the pipeline share: feeds, and a clock that waits. */
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
