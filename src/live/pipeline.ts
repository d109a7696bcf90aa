/**
 * The pipeline, put together: durable records, in order and in slices, become events; so does what waited for a stream
 * that was rebuilt; what is due becomes records. State lives in plain classes: OpenFeeds (accepted), Log (durable),
 * Streams (applied), EventHistory (published). This file owns the library rxjs.
 */
import { concatMap, EMPTY, filter, interval, map, merge, mergeMap, Observable, Subject, type Subscription } from 'rxjs';
import type { LogRecord } from '../store/record.js';
import type { RunningStream } from '../stream/running-stream.js';
import type { LiveEvent } from '../wire/events.js';
import type { Deadlines } from './deadlines.js';
import type { OpenFeeds } from './open-feeds.js';
import type { Publication } from './publication.js';
import { OTHERS_FIRST, type Published, type Streams } from './streams.js';

/** Where time comes from. */
export interface Clock {
  /** epoch milliseconds */
  now(): number;
  /** fires regularly; real time unless given */
  ticks?(everyMs: number): Observable<unknown>;
  /** milliseconds since some moment; that the process stood still is noticed by it, and not at all when absent */
  uptime?(): number;
}

/** A moment at which somebody may be late, and the streams for which not everything that came by then was read. */
export interface Look {
  atMs: number;
  unread: ReadonlySet<string>;
}

/** Who handles what flows. */
export interface PipelineParts {
  feeds: Pick<OpenFeeds, 'committed'>;
  streams: Pick<Streams, 'enqueue' | 'apply' | 'applyingPosition'>;
  deadlines: Pick<Deadlines, 'due' | 'append'>;
  /** null where events are told at once */
  publication: Publication | null;
  /** what came of records up to here was told before a restart */
  publishedUpTo: number;
  /** at every tick; null while nobody can be late */
  look(): Promise<Look | null>;
}

/** What flows into the pipeline and out of it. There from the first moment: recovery has results before it. */
export class Channels {
  readonly committed$ = new Subject<{ first: number; records: LogRecord[] }>();
  /** what has come of a record elsewhere, or later */
  readonly results$ = new Subject<Published>();
  /** events that are told as they are */
  readonly told$ = new Subject<LiveEvent>();
  /** streams as they come back after a start, before their next event */
  readonly restored$ = new Subject<RunningStream>();
  /** what happens, as it happens; never fails */
  readonly events$ = new Subject<LiveEvent>();
}

/** The whole topology. Whoever unsubscribes stops it. */
export function connectPipeline(
  channels: Channels,
  parts: PipelineParts,
  clock: Clock,
  { sliceMs, tickMs }: { sliceMs: number; tickMs: number },
): Subscription {
  const { feeds, streams, deadlines, publication, publishedUpTo } = parts;
  const applied$ = channels.committed$.pipe(
    map(({ first, records }) => {
      feeds.committed(records);
      return streams.enqueue(first, records);
    }),
    concatMap((queue) => inSlices(streams.apply(queue), sliceMs)),
  );
  const results$ = channels.results$.pipe(
    filter(({ position }) => position > publishedUpTo),
    mergeMap(({ events }) => events),
  );
  const due$ = (clock.ticks?.(tickMs) ?? interval(tickMs)).pipe(
    mergeMap(() => parts.look()),
    mergeMap((look) => (look ? deadlines.due(look.atMs, look.unread) : EMPTY)),
  );
  const direct$ = publication ? EMPTY : merge(applied$, results$);
  const connections = merge(direct$, channels.told$).subscribe(channels.events$);
  if (publication) {
    connections.add(applied$.subscribe((event) => publication.add(streams.applyingPosition, event)));
    connections.add(channels.results$.subscribe(({ position, events }) => publication.add(position, ...events)));
  }
  connections.add(due$.subscribe((record) => deadlines.append(record)));
  return connections;
}

/**
 * Emits one by one, beginning with the next turn of the event loop, and leaves it to others after each slice, and where
 * they go first.
 */
function inSlices<T>(groups: Iterable<T[]>, sliceMs: number): Observable<T> {
  return new Observable((subscriber) => {
    const iterator = groups[Symbol.iterator]();
    const run = () => {
      const end = performance.now() + sliceMs;
      for (let group = iterator.next(); !group.done; group = iterator.next()) {
        for (const item of group.value) subscriber.next(item);
        if (group.value !== OTHERS_FIRST && performance.now() < end) continue;
        next = setImmediate(run);
        return;
      }
      subscriber.complete();
    };
    let next = setImmediate(run);
    return () => clearImmediate(next);
  });
}
