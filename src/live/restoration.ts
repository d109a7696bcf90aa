/**
 * One stream rebuilt from its last snapshot and the log, without the records that were set aside. What it gives
 * equals the stream as it would be had those records never come.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { completeSettings } from '../config/config.js';
import type { DurableLog, Snapshot, Stored } from '../store/log-port.js';
import type { LogRecord } from '../store/record.js';
import type { StreamPlan } from '../stream/plan.js';
import { type RunningStream, reasonOf } from '../stream/running-stream.js';
import { Stream, type StreamOptions } from '../stream/stream.js';
import type { Applied } from '../stream/stream-events.js';
import type { Quarantine } from './quarantine.js';

/** milliseconds: so often the work so far is kept, so that a start that is cut short is no start from scratch */
const SNAPSHOT_MS = 2000;

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

export interface RestorationParts {
  log: Pick<DurableLog, 'snapshotOf' | 'recordsOf' | 'saveSnapshot'>;
  quarantine: Quarantine;
  options: StreamOptions;
  /** milliseconds of work after which others have their turn */
  sliceMs: number;
}

/** What has come of a record that was applied again. */
type OnApplied = (position: number, steps: Applied[]) => void;

export class Restoration {
  constructor(readonly parts: RestorationParts) {}

  /** The stream after its records up to a position; null when it does not exist then. */
  async rebuild(name: string, upTo: number, onApplied: OnApplied): Promise<Stream | null> {
    const { log, quarantine, sliceMs } = this.parts;
    const snapshot = await log.snapshotOf(name);
    let stream = snapshot && snapshot.state !== null ? this.#restore(snapshot) : null;
    let end = performance.now() + sliceMs;
    let savedMs = performance.now();
    try {
      for await (const stored of log.recordsOf(name, snapshot?.position ?? 0, upTo)) {
        if (quarantine.excludes(stored) || (stream && isOutdated(stored.record, stream))) continue;
        stream ??= this.#open(stored.record);
        if (stream) applyAgain(stream, completeRecord(stored), onApplied);
        if (isRetirement(stored.record)) {
          stream?.dispose();
          stream = null;
        }
        if (performance.now() < end) continue;
        if (stream && performance.now() - savedMs > SNAPSHOT_MS) {
          stream.snapshot(({ position, state }) => log.saveSnapshot(name, position, state));
          savedMs = performance.now();
        }
        await turn();
        end = performance.now() + sliceMs;
      }
    } catch (error) {
      stream?.dispose();
      throw error;
    }
    return stream;
  }

  #restore({ stream: name, state, position }: Snapshot): Stream {
    return Stream.fromJSON(name, { state: completeState(state), position }, this.parts.options);
  }

  #open(record: LogRecord): Stream | null {
    if (record.kind !== 'open' || !record.settings) return null;
    return new Stream(record.stream, completePlan(record.settings as StreamPlan), this.parts.options);
  }
}

function applyAgain(stream: Stream, stored: Stored, onApplied: OnApplied): void {
  let steps: Applied[];
  try {
    steps = [...stream.apply(stored.record, stored.position)];
  } catch (error) {
    throw new RecordFailure(stored, reasonOf(error));
  }
  onApplied(stored.position, steps);
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
