/**
 * A stream wherever it runs: in this thread (Stream), in another (ThreadStream), or nowhere for now (DetachedStream of
 * live/). Whoever holds one applies records to it in the order of the log and reads what has become of them; only
 * `apply` tells where the work is done, and nobody asks which of the three it is.
 */
import type { Stored } from '../store/log-port.js';
import type { LogRecord } from '../store/record.js';
import type { ReportEvent, SpikeEvent } from '../wire/events.js';
import type { StreamPlan } from './plan.js';
import type { StreamInfo, StreamStatus, WindowView } from './status.js';
import type { Applied } from './stream-events.js';

/** The state of a stream after its record at this position; packed when it comes from another thread. */
export interface StreamSnapshot<State = unknown> {
  state: State;
  position: number;
}

export interface RunningStream {
  readonly name: string;
  readonly plan: StreamPlan;
  /** false while it is being rebuilt, or suspended */
  readonly evaluated: boolean;
  /** up to this position it reads its records from the log by itself, being rebuilt; 0 when it does not */
  readonly readsUpTo: number;
  /** its solves take so long that they should be done in another thread */
  readonly heavy: boolean;
  /** the share it should have of its thread, when no record has told it so; undefined when all is well */
  readonly newShare: number | undefined;
  /** the share it has of this thread, when its solves need so much that it shares it; undefined when they do not */
  readonly shareHere: number | undefined;
  /** position of the oldest record that was sent to another thread and is not back yet; infinity when there is none */
  readonly firstPending: number;
  /** the records that were sent to another thread and are not back yet, oldest first */
  readonly unanswered: readonly Stored[];
  /** records that an answer of this stream has to wait for, those of other streams in the same thread included */
  readonly queuedAhead: number;
  /** feeds that were cut off are waited for, or have not caught up yet */
  readonly resuming: boolean;
  /** in the middle of a record, where no snapshot can be made */
  readonly inRecord: boolean;

  /** A record is about to be applied; one that is too large for this thread makes the stream heavy. */
  expect(record: LogRecord): void;
  /**
   * Applies a record. Gives what comes of it, step by step: further steps are worked on while it is read, to its end.
   * Null when the record was sent to another thread, which gives its result later.
   */
  apply(record: LogRecord, position: number): Iterable<Applied> | null;

  /** Epoch milliseconds at which a tick has something to do; infinity when only new input matters. */
  deadline(): number;
  /** Whether a feed, null for the reference, must not send more until another one is back. */
  isAhead(tracker: string | null): boolean;
  /** What has been idle for too long: a tracker by name, null for the whole stream, undefined for nothing. */
  idle(nowMs: number): string | null | undefined;
  info(): StreamInfo;
  status(): StreamStatus;
  /** The newest report of every series. */
  reports(): ReportEvent[];
  /** The spikes that last, as they began. */
  spikes(): SpikeEvent[];
  /** The window of a series as it is now; undefined when there is none. */
  window(tracker: string, profile: string): WindowView | undefined | Promise<WindowView | undefined>;

  /**
   * Hands its snapshot to `save`, before this returns or, from another thread, before what it returns resolves; not at
   * all when the stream has been retired. The state must be packed before the next record is applied.
   */
  snapshot(save: (snapshot: StreamSnapshot) => void): void | Promise<void>;
  /** Frees what it holds elsewhere: memory outside of the heap, or its place in another thread. */
  dispose(): void;
}

/** Why a record could not be applied, with the place in the program. */
export const reasonOf = (thrown: unknown): string =>
  thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
