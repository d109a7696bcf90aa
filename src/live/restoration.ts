/**
 * One stream rebuilt from its last snapshot and the log, in this thread or in another, without the records that were
 * set aside. What it gives equals the stream as it would be had those records never come.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { completeSettings } from '../config/config.js';
import { packSnapshot } from '../store/formats.js';
import type { DurableLog, Snapshot, Stored } from '../store/log-port.js';
import type { LogRecord } from '../store/record.js';
import type { StreamPlan } from '../stream/plan.js';
import { type RunningStream, reasonOf } from '../stream/running-stream.js';
import { Stream, type StreamOptions } from '../stream/stream.js';
import type { Applied } from '../stream/stream-events.js';
import type { Death, PackedSnapshot, ThreadOwner, ThreadResult, ThreadStream, Threads } from '../stream/threads.js';
import type { Quarantine } from './quarantine.js';

/** milliseconds: so often the work so far is kept, so that a start that is cut short is no start from scratch */
const SNAPSHOT_MS = 2000;
/** records that another thread may have ahead of it while a stream is rebuilt there */
const AHEAD_MAX = 8;

/** A record could not be applied. */
export class RecordFailure extends Error {
  override readonly name = 'RecordFailure';

  constructor(
    readonly failed: Stored,
    readonly reason: string,
  ) {
    super(reason);
  }
}

/** The thread died in which a stream was being rebuilt, of no record of it. */
export class ThreadFailure extends Error {
  override readonly name = 'ThreadFailure';

  constructor(
    message: string,
    readonly guilty: boolean,
  ) {
    super(message);
  }
}

export interface RestorationParts {
  log: Pick<DurableLog, 'snapshotOf' | 'recordsOf' | 'saveSnapshot'>;
  threads: Threads;
  quarantine: Quarantine;
  options: StreamOptions;
  /** milliseconds of work after which others have their turn */
  sliceMs: number;
}

/** What has come of a record that was applied again. */
type OnApplied = (position: number, steps: Applied[]) => void;

/** A stream that has been rebuilt. */
export interface Rebuilt {
  readonly stream: RunningStream;
  /** the same where it runs in another thread: results go to its owner; null when it runs in this thread */
  readonly inThread: ThreadStream | null;
}

/** Where a stream is rebuilt. */
interface Target extends Rebuilt {
  /** Resolves when the next record may come; rejects with a RecordFailure, perhaps one of an earlier record. */
  apply(stored: Stored): Promise<void> | void;
  /** Resolves when all records have been applied. */
  finished(): Promise<void>;
}

export class Restoration {
  constructor(readonly parts: RestorationParts) {}

  /** The stream after its records up to a position; null when it does not exist then. */
  async rebuild(name: string, upTo: number, onApplied: OnApplied): Promise<Rebuilt | null> {
    const { log, quarantine, sliceMs } = this.parts;
    const snapshot = await log.snapshotOf(name);
    let target = snapshot && snapshot.state !== null ? await this.#restore(snapshot, onApplied) : null;
    let end = performance.now() + sliceMs;
    let savedMs = performance.now();
    try {
      for await (const stored of log.recordsOf(name, snapshot?.position ?? 0, upTo)) {
        if (quarantine.excludes(stored) || (target && isOutdated(stored.record, target.stream))) continue;
        target ??= this.#open(stored.record, onApplied);
        await target?.apply(completeRecord(stored));
        if (isRetirement(stored.record)) {
          await target?.finished();
          target?.stream.dispose();
          target = null;
        }
        if (performance.now() < end) continue;
        if (target && performance.now() - savedMs > SNAPSHOT_MS) {
          await target.stream.snapshot(({ position, state }) => log.saveSnapshot(name, position, state));
          savedMs = performance.now();
        }
        await turn();
        end = performance.now() + sliceMs;
      }
      await target?.finished();
    } catch (error) {
      target?.stream.dispose();
      throw error;
    }
    return target;
  }

  async #restore({ stream: name, state, position }: Snapshot, onApplied: OnApplied): Promise<Target> {
    const { threads, options } = this.parts;
    const known = completeState(state);
    if (threads.count === 0 || !Stream.isHeavy(known))
      return new LocalTarget(Stream.fromJSON(name, { state: known, position }, options), onApplied);
    const thread = new ThreadTarget(threads, name, { state: packSnapshot(known), position }, onApplied);
    const fault = await thread.stream.ready;
    if (fault !== null) throw thread.failure ?? new Error(fault);
    return thread;
  }

  #open(record: LogRecord, onApplied: OnApplied): Target | null {
    if (record.kind !== 'open' || !record.settings) return null;
    const plan = completePlan(record.settings as StreamPlan);
    return new LocalTarget(new Stream(record.stream, plan, this.parts.options), onApplied);
  }
}

class LocalTarget implements Target {
  readonly inThread = null;

  constructor(
    readonly stream: Stream,
    readonly onApplied: OnApplied,
  ) {}

  apply(stored: Stored): void {
    try {
      this.onApplied(stored.position, [...this.stream.apply(stored.record, stored.position)]);
    } catch (error) {
      throw new RecordFailure(stored, reasonOf(error));
    }
  }

  async finished(): Promise<void> {}
}

class ThreadTarget implements Target, ThreadOwner {
  readonly stream: ThreadStream;
  failure: Error | null = null;
  #wake = () => {};

  constructor(
    threads: Threads,
    name: string,
    snapshot: PackedSnapshot,
    readonly onApplied: OnApplied,
  ) {
    this.stream = threads.adopt(name, snapshot, this);
  }

  get inThread(): ThreadStream {
    return this.stream;
  }

  async apply({ record, position }: Stored): Promise<void> {
    this.stream.apply(record, position);
    await this.#until(AHEAD_MAX);
  }

  finished(): Promise<void> {
    return this.#until(0);
  }

  async #until(pendingMax: number): Promise<void> {
    while (!this.failure && this.stream.pending > pendingMax)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    if (this.failure) throw this.failure;
  }

  received({ position, record, steps, error }: ThreadResult): void {
    if (error) this.failure ??= new RecordFailure({ position, record }, error);
    else this.onApplied(position, steps);
    this.#wake();
  }

  lost(stream: ThreadStream, { reason, guilty, position }: Death): void {
    const failed = stream.unanswered.find((stored) => stored.position === position);
    this.failure ??= failed ? new RecordFailure(failed, reason) : new ThreadFailure(reason, guilty);
    this.#wake();
  }
}

export const isRetirement = (record: LogRecord): boolean => record.kind === 'retire' && record.tracker === null;

/** A retirement that somebody overtook: what it names is not idle any more. */
export const isOutdated = (record: LogRecord, stream: RunningStream): boolean =>
  record.kind === 'retire' && record.ifIdle === true && stream.idle(record.atMs) !== record.tracker;

/** A state or a record of an earlier version, with the settings that came later. */
export function completeState(state: unknown): { plan: StreamPlan } {
  const known = state as { plan: StreamPlan };
  return { ...known, plan: completePlan(known.plan) };
}

export function completeRecord({ position, record }: Stored): Stored {
  if (!('settings' in record) || !record.settings) return { position, record };
  return { position, record: { ...record, settings: completePlan(record.settings as StreamPlan) } };
}

const completePlan = ({ settings, ...plan }: StreamPlan): StreamPlan => ({
  ...plan,
  settings: completeSettings(settings),
});
