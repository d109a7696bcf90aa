/**
 * What time brings: ticks for streams whose deadlines have passed, and the retirement of what nobody uses any more.
 * Each becomes a log record like any input, and a stream has at most one of them on its way. Nobody waits for such a
 * record: what the disk does not take is due again later.
 *
 * Invariant: a tick says that everything the feeds of its stream sent before its time stands before it in the log. On a
 * busy machine frames wait unread for seconds, and nobody is late for that, unless it takes longer than
 * `evaluation.unreadMaxMs`.
 */
import type { Config } from '../config/config.js';
import type { Log } from '../store/log.js';
import type { LogRecord } from '../store/record.js';
import { StorageFault } from '../store/storage-fault.js';
import type { RunningStream } from '../stream/running-stream.js';
import type { FeedId } from '../wire/feed.js';
import type { OpenFeeds } from './open-feeds.js';

/** milliseconds: a process that stood still for longer was suspended, or stuck */
const STALL_MS = 1000;

export class Deadlines {
  /** streams with a tick, a retirement or a resume on its way through the log */
  readonly #underway = new Set<string>();
  #idleCheckedMs = 0;
  /** by stream: its feeds of which something may be unread */
  readonly #unread = new Map<string, Set<string>>();
  /** streams of which something was unread since they were last looked for */
  #lately = new Set<string>();
  /** when the last tick was, by the clock of the process; null before the first */
  #tickedMs: number | null = null;
  /** by stream: since when its tick has waited for what may be unread */
  readonly #waitingSinceMs = new Map<string, number>();

  constructor(
    readonly streams: Iterable<RunningStream>,
    readonly feeds: OpenFeeds,
    readonly log: Log,
    readonly settings: Pick<Config['evaluation'], 'idleCheckMs' | 'tickMs' | 'unreadMaxMs'>,
  ) {}

  /** How long the process has stood still, by its own clock; 0 when it has not. */
  noticeStall(uptimeMs: number, isTick: boolean): number {
    const awayMs = uptimeMs - (this.#tickedMs ?? uptimeMs) - this.settings.tickMs;
    const isStalled = awayMs > STALL_MS;
    if (isTick || isStalled) this.#tickedMs = uptimeMs;
    return isStalled ? awayMs : 0;
  }

  /** Frames of a feed may have come and not been read, or no longer. */
  setUnread({ stream, tracker }: FeedId, unread: boolean): void {
    const feeds = this.#unread.get(stream) ?? new Set();
    if (unread) {
      this.#unread.set(stream, feeds.add(tracker ?? ''));
      this.#lately.add(stream);
    } else if (feeds.delete(tracker ?? '') && feeds.size === 0) this.#unread.delete(stream);
  }

  /** From now on streams are found of which something is unread, be it for a moment. */
  watchUnread(): ReadonlySet<string> {
    this.#lately = new Set(this.#unread.keys());
    return this.#lately;
  }

  /** The records that were due at this time, but for those streams. */
  due(nowMs: number, unread: ReadonlySet<string>): LogRecord[] {
    const checkIdle = nowMs - this.#idleCheckedMs >= this.settings.idleCheckMs;
    if (checkIdle) this.#idleCheckedMs = nowMs;
    const records: LogRecord[] = [];
    for (const stream of this.streams) {
      if (this.#underway.has(stream.name)) continue;
      const record = dueOf(stream, nowMs, checkIdle);
      if (record?.kind === 'tick' && unread.has(stream.name) && this.#mayWait(stream.name, nowMs)) continue;
      this.#waitingSinceMs.delete(stream.name);
      if (!record) continue;
      this.#underway.add(stream.name);
      records.push(record);
    }
    return records;
  }

  /** A feed that always sends as much as it may must not keep the others of its stream from being missed. */
  #mayWait(stream: string, nowMs: number): boolean {
    const sinceMs = this.#waitingSinceMs.get(stream) ?? nowMs;
    this.#waitingSinceMs.set(stream, sinceMs);
    return nowMs - sinceMs < this.settings.unreadMaxMs;
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
  const { newShare: share } = stream;
  if (share !== undefined) return { kind: 'tick', ...common, share };
  return stream.deadline() <= nowMs ? { kind: 'tick', ...common } : undefined;
}
