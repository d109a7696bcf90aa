/** What tests of the pipeline share: feeds, and a clock that waits. */
import { filter, interval, type Observable, tap } from 'rxjs';
import type { App } from '../../src/app.js';
import type { LocalCore } from '../../src/cores/local-core.js';
import type { Clock, Live } from '../../src/live/live.js';
import type { LiveEvent } from '../../src/wire/events.js';
import type { FeedId } from '../../src/wire/feed.js';

export const START_MS = 1_763_251_200_000;
export const quiet = { info() {}, warn() {}, error() {} };

export const feed = (stream: string, tracker: string | null = null): FeedId => ({
  stream,
  role: tracker === null ? 'reference' : 'tracker',
  tracker,
});

/** The pipeline of an evaluator that has no workers. */
export const pipelineOf = (app: App): Live => (app.live as LocalCore).live;

/** What a run with an interruption has in common with one without: all events but those that tell of it. */
export const isLasting = ({ type }: LiveEvent) => type !== 'resuming';
export const lastingEvents = ({ events$ }: { events$: Observable<LiveEvent> }): Observable<LiveEvent> =>
  events$.pipe(filter(isLasting));

/** A clock that stands still until it is told; deadlines are looked at all the time. */
export class TestClock implements Clock {
  nowMs = START_MS;
  now = () => this.nowMs;
  /** how often it has ticked */
  ticked = 0;
  ticks = () =>
    interval(2).pipe(
      tap(() => {
        this.ticked++;
      }),
    );
}
