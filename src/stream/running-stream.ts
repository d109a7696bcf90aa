/**
 * A stream that is evaluated (Stream), or is not for now (DetachedStream of live/). Whoever holds one applies records
 * to it in the order of the log and reads what has become of them; only `apply` tells whether the work is done yet, and
 * nobody asks which of the two it is.
 */
import type { LogRecord } from '../store/record.js';
import type { ReportEvent, SpikeEvent } from '../wire/events.js';
import type { StreamPlan } from './plan.js';
import type { StreamInfo, WindowView } from './status.js';
import type { Applied } from './stream-events.js';

/** The state of a stream after its record at this position. */
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
  /** the share it has of its thread, when its solves need so much that it is heavy; undefined when it is not */
  readonly share: number | undefined;
  /** milliseconds of counted work of its solves, since it was made or rebuilt */
  readonly workMs: number;
  /** position of the oldest record that waits until it is rebuilt; infinity when there is none */
  readonly firstPending: number;
  /** feeds that were cut off are waited for, or have not caught up yet */
  readonly resuming: boolean;
  /** in the middle of a record, where no snapshot can be made */
  readonly inRecord: boolean;

  /**
   * Applies a record. Gives what comes of it, step by step: further steps are worked on while it is read, to its end;
   * UNFINISHED where others may have their turn. Null when the record waits until the stream is rebuilt, and its result
   * comes later.
   */
  apply(record: LogRecord, position: number): Iterable<Applied> | null;

  /** Epoch milliseconds at which a tick has something to do; infinity when only new input matters. */
  deadline(): number;
  /** Whether a feed, null for the reference, must not send more until another one is back. */
  isAhead(tracker: string | null): boolean;
  /** What has been idle for too long: a tracker by name, null for the whole stream, undefined for nothing. */
  idle(nowMs: number): string | null | undefined;
  info(): StreamInfo;
  /** The newest report of every series. */
  reports(): ReportEvent[];
  /** The spikes that last, as they began. */
  spikes(): SpikeEvent[];
  /** The window of a series as it is now; undefined when there is none. */
  window(tracker: string, profile: string): WindowView | undefined;

  /**
   * Hands its snapshot to `save`, before this returns; not while it is being rebuilt. The state must be packed before
   * the next record is applied.
   */
  snapshot(save: (snapshot: StreamSnapshot) => void): void | Promise<void>;
  /** Frees what it holds outside of the heap. */
  dispose(): void;
}

/** Why a record could not be applied, with the place in the program. */
export const reasonOf = (thrown: unknown): string =>
  thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
