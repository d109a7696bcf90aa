/**
 * The pipeline, as wiring: durable records, in order and in slices, become events; those of heavy streams come back
 * from their threads; what is due becomes records. State lives in plain classes: OpenFeeds (accepted), Log (durable),
 * Streams (applied), EventHistory (published). This file owns the library rxjs.
 */
import { concatMap, EMPTY, filter, interval, map, merge, mergeMap, Observable, Subject, type Subscription } from 'rxjs';
import type { LogRecord } from '../store/record.js';
import type { RunningStream } from '../stream/running-stream.js';
import type { LiveEvent } from '../wire/events.js';
import type { Deadlines } from './deadlines.js';
import type { OpenFeeds } from './open-feeds.js';
import type { Publication } from './publication.js';
import type { Published, Streams } from './streams.js';

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

export class Pipeline {
  readonly #committed$ = new Subject<{ first: number; records: LogRecord[] }>();
  readonly #results$ = new Subject<Published>();
  readonly #direct$ = new Subject<LiveEvent>();
  readonly #events$ = new Subject<LiveEvent>();
  readonly #restored$ = new Subject<RunningStream>();
  #wiring: Subscription | null = null;

  /** The whole topology. */
  wire(parts: PipelineParts, clock: Clock, { sliceMs, tickMs }: { sliceMs: number; tickMs: number }): void {
    const { feeds, streams, deadlines, publication, publishedUpTo } = parts;
    const applied$ = this.#committed$.pipe(
      map(({ first, records }) => {
        feeds.committed(records);
        return streams.enqueue(first, records);
      }),
      concatMap((queue) => inSlices(streams.apply(queue), sliceMs)),
    );
    const results$ = this.#results$.pipe(
      filter(({ position }) => position > publishedUpTo),
      mergeMap(({ events }) => events),
    );
    const due$ = (clock.ticks?.(tickMs) ?? interval(tickMs)).pipe(
      mergeMap(() => parts.look()),
      mergeMap((look) => (look ? deadlines.due(look.atMs, look.unread) : EMPTY)),
    );
    const told$ = publication ? EMPTY : merge(applied$, results$);
    const wiring = merge(told$, this.#direct$).subscribe(this.#events$);
    if (publication) {
      wiring.add(applied$.subscribe((event) => publication.add(streams.applyingPosition, event)));
      wiring.add(this.#results$.subscribe(({ position, events }) => publication.add(position, ...events)));
    }
    wiring.add(due$.subscribe((record) => deadlines.append(record)));
    this.#wiring = wiring;
  }

  get isWired(): boolean {
    return this.#wiring !== null;
  }

  /** What happens, as it happens; never fails. */
  get events$(): Observable<LiveEvent> {
    return this.#events$;
  }

  /** Streams as they come back after a start, before their next event. */
  get restored$(): Observable<RunningStream> {
    return this.#restored$;
  }

  committed(first: number, records: LogRecord[]): void {
    this.#committed$.next({ first, records });
  }

  get results$(): Observable<Published> {
    return this.#results$;
  }

  /** What has come of a record elsewhere, or later. */
  result(published: Published): void {
    this.#results$.next(published);
  }

  tell(event: LiveEvent): void {
    this.#direct$.next(event);
  }

  restored(stream: RunningStream): void {
    this.#restored$.next(stream);
  }

  close(): void {
    this.#wiring?.unsubscribe();
    this.#wiring = null;
    this.#events$.complete();
  }
}

/** Emits one by one, beginning with the next turn of the event loop, and leaves it to others after each slice. */
function inSlices<T>(groups: Iterable<T[]>, sliceMs: number): Observable<T> {
  return new Observable((subscriber) => {
    const iterator = groups[Symbol.iterator]();
    const run = () => {
      const end = performance.now() + sliceMs;
      for (let group = iterator.next(); !group.done; group = iterator.next()) {
        for (const item of group.value) subscriber.next(item);
        if (performance.now() < end) continue;
        next = setImmediate(run);
        return;
      }
      subscriber.complete();
    };
    let next = setImmediate(run);
    return () => clearImmediate(next);
  });
}
