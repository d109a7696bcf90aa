/**
 * The cores of an evaluator, as the rest of the program sees them: wherever streams are evaluated, there is one event
 * history, one list of streams, one place to stop. Every answer may come from another thread.
 */
import type { LivePort } from '../edge/live-port.js';
import type { StreamInfo, WindowView } from '../stream/status.js';
import type { LiveEvent, ReportEvent } from '../wire/events.js';

type Awaitable<T> = T | Promise<T>;

export interface Cores extends LivePort {
  readonly events$: { subscribe(next: (event: LiveEvent) => void): { unsubscribe(): void } };
  /** resolves when every stream is there */
  readonly recovered: Promise<void>;
  streams(): Awaitable<StreamInfo[]>;
  window(stream: string, tracker: string, profile: string): Awaitable<WindowView | undefined>;
  /** the newest report of every series */
  reports(): Awaitable<ReportEvent[]>;
  /** names of all streams that are known in this thread */
  names(): string[];
  /** Before a stop: from now on acks wait for the disk only, and no longer for the evaluation. */
  liftBackpressure(): void;
  /** Applies what is durable, snapshots, and closes the stores. */
  stop(): Promise<void>;
}
