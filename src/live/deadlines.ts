/**
 * What time brings: ticks for streams whose deadlines have passed, and the retirement of what nobody uses any more.
 * Each becomes a log record like any input, and a stream has at most one of them on its way. Nobody waits for such a
 * record: what the disk does not take is due again later.
 */
import type { Config } from '../config/config.js';
import type { Log } from '../store/log.js';
import type { LogRecord } from '../store/record.js';
import { StorageFault } from '../store/storage-fault.js';
import type { RunningStream } from '../stream/running-stream.js';
import type { OpenFeeds } from './open-feeds.js';

/** milliseconds: a process that stood still for longer was suspended, or stuck */
const STALL_MS = 1000;

export class Deadlines {
  /** streams with a tick, a retirement or a resume on its way through the log */
  readonly #underway = new Set<string>();
  #idleCheckedMs = 0;
  /** when the last tick was, by the clock of the process; null before the first */
  #tickedMs: number | null = null;

  constructor(
    readonly streams: Iterable<RunningStream>,
    readonly feeds: OpenFeeds,
    readonly log: Log,
    /** milliseconds between two searches for idle streams, and between two ticks */
    readonly settings: Pick<Config['evaluation'], 'idleCheckMs' | 'tickMs'>,
  ) {}

  /** How long the process has stood still, by its own clock; 0 when it has not. */
  noticeStall(uptimeMs: number, isTick: boolean): number {
    const awayMs = uptimeMs - (this.#tickedMs ?? uptimeMs) - this.settings.tickMs;
    const isStalled = awayMs > STALL_MS;
    if (isTick || isStalled) this.#tickedMs = uptimeMs;
    return isStalled ? awayMs : 0;
  }

  /** The records that are due now. */
  due(nowMs: number): LogRecord[] {
    const checkIdle = nowMs - this.#idleCheckedMs >= this.settings.idleCheckMs;
    if (checkIdle) this.#idleCheckedMs = nowMs;
    const records: LogRecord[] = [];
    for (const stream of this.streams) {
      const record = this.#underway.has(stream.name) ? undefined : dueOf(stream, nowMs, checkIdle);
      if (!record) continue;
      this.#underway.add(stream.name);
      records.push(record);
    }
    return records;
  }

  /** Appends a record that nobody waits for. */
  append(record: LogRecord): void {
    try {
      this.log.append(record).catch(() => {});
    } catch (error) {
      if (!(error instanceof StorageFault)) throw error;
      this.release(record.stream);
      return;
    }
    // nothing is due before the time is right
    if (record.kind === 'resume') this.#underway.add(record.stream);
    // whoever sends from now on opens what is retired anew, behind this record
    if (record.kind === 'retire') this.feeds.retire(record.stream, record.tracker);
  }

  /** Nothing of this stream is on its way any more: it was applied, or not stored. */
  release(stream: string): void {
    this.#underway.delete(stream);
  }

  releaseAll(): void {
    this.#underway.clear();
  }
}

function dueOf(stream: RunningStream, nowMs: number, checkIdle: boolean): LogRecord | undefined {
  const common = { stream: stream.name, atMs: nowMs };
  const tracker = checkIdle ? stream.idle(nowMs) : undefined;
  if (tracker !== undefined) return { kind: 'retire', ...common, tracker };
  return stream.deadline() <= nowMs ? { kind: 'tick', ...common } : undefined;
}
