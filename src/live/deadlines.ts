/**
 * What time brings: ticks for streams whose deadlines have passed, and the retirement of what nobody uses any more. Each
 * becomes a log record like any input, and a stream has at most one of them on its way.
 */
import type { LogRecord } from '../store/record.js';
import type { RunningStream } from '../stream/running-stream.js';

export class Deadlines {
  /** streams with a tick or a retirement on its way through the log */
  readonly #underway = new Set<string>();
  #idleCheckedMs = 0;

  constructor(
    readonly streams: Iterable<RunningStream>,
    /** milliseconds between two searches for idle streams */
    readonly idleCheckMs: number,
  ) {}

  /** The records that are due now. */
  due(nowMs: number): LogRecord[] {
    const checkIdle = nowMs - this.#idleCheckedMs >= this.idleCheckMs;
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
