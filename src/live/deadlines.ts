/**
 * What time brings: ticks for streams whose deadlines have passed, and the retirement of what nobody uses any more.
 * Each becomes a log record like any input, and a stream has at most one of them on its way. Nobody waits for such a
 * record: what the disk does not take is due again later.
 *
 * Invariant: a tick says that everything the feeds of its stream sent before its time stands before it in the log. On a
 * busy machine frames wait unread for seconds, and nobody is late for that, unless it takes longer than
 * `evaluation.unreadMaxMs`. Nor is anybody while the disk is slow or the evaluation behind: who waits for an ack may
 * send nothing before it.
 */
import type { Config } from '../config/config.js';
import type { DurableLog } from '../store/log-port.js';
import type { LogRecord } from '../store/record.js';
import { StorageFault } from '../store/storage-fault.js';
import type { RunningStream } from '../stream/running-stream.js';
import type { FeedId } from '../wire/feed.js';
import type { OpenFeeds } from './open-feeds.js';
import type { Streams } from './streams.js';

/** milliseconds: a process that stood still for longer was suspended, or stuck */
const STALL_MS = 1000;
/** milliseconds without a commit although something waits for one: an ack waits for two of them at most */
const SLOW_MS = 1000;
/** milliseconds after which whoever waited for an ack has sent what comes behind it */
const RETURN_MS = 1000;

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
  /** how many commits there were when they were last looked at, when that was, and how long one is awaited since */
  #commits = -1;
  #lookedMs = 0;
  #awaitedMs = 0;
  /** until then senders answer to acks that came late */
  #slowUntilMs = Number.NEGATIVE_INFINITY;
  /** by stream: until then its senders answer to acks that the evaluation held back */
  readonly #heldUntilMs = new Map<string, number>();

  constructor(
    readonly streams: Iterable<RunningStream> & Pick<Streams, 'holdsAcks' | 'heavy'>,
    readonly feeds: OpenFeeds,
    readonly log: DurableLog,
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

  /** Something of this stream was unread just now. */
  noticeUnread(stream: string): void {
    this.#lately.add(stream);
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
    const share = this.#fairShare();
    const isSlow = this.#isDiskSlow(nowMs);
    for (const stream of this.streams) {
      const isHeld = this.#areAcksHeld(stream.name, nowMs);
      if (this.#underway.has(stream.name)) continue;
      const record = dueOf(stream, nowMs, checkIdle, share);
      if (record?.kind === 'retire' && this.log.shared) record.ifIdle = true;
      const waits = isSlow || isHeld || unread.has(stream.name);
      if (record?.kind === 'tick' && waits && this.#mayWait(stream.name, nowMs)) continue;
      this.#waitingSinceMs.delete(stream.name);
      if (!record) continue;
      this.#underway.add(stream.name);
      records.push(record);
    }
    for (const [stream, untilMs] of this.#heldUntilMs) if (untilMs <= nowMs) this.#heldUntilMs.delete(stream);
    return records;
  }

  /** Whether acks are, or were just now, a long time coming; one look alone proves nothing, for clocks jump. */
  #isDiskSlow(nowMs: number): boolean {
    const { commits, queuedRecords } = this.log.gauges;
    const isPrompt = commits !== this.#commits || queuedRecords === 0;
    this.#awaitedMs = isPrompt ? 0 : this.#awaitedMs + Math.min(nowMs - this.#lookedMs, SLOW_MS / 2);
    this.#commits = commits;
    this.#lookedMs = nowMs;
    if (this.#awaitedMs >= SLOW_MS) this.#slowUntilMs = nowMs + RETURN_MS;
    return nowMs < this.#slowUntilMs;
  }

  /** Whether acks of a stream are, or were just now, held back. */
  #areAcksHeld(stream: string, nowMs: number): boolean {
    if (this.streams.holdsAcks(stream)) this.#heldUntilMs.set(stream, nowMs + RETURN_MS);
    return nowMs < (this.#heldUntilMs.get(stream) ?? Number.NEGATIVE_INFINITY);
  }

  /** Heavy streams share this thread equally, in powers of two, so that one more changes little. */
  #fairShare(): number {
    return 2 ** -Math.ceil(Math.log2(Math.max(1, this.streams.heavy)));
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

function dueOf(stream: RunningStream, nowMs: number, checkIdle: boolean, fair: number): LogRecord | undefined {
  const common = { stream: stream.name, atMs: nowMs };
  const tracker = checkIdle ? stream.idle(nowMs) : undefined;
  if (tracker !== undefined) return { kind: 'retire', ...common, tracker };
  const { share = fair } = stream;
  if (share !== fair) return { kind: 'tick', ...common, share: fair };
  return stream.deadline() <= nowMs ? { kind: 'tick', ...common } : undefined;
}
