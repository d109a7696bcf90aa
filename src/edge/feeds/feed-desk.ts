/**
 * What the sessions of one server share: the queues of the feeds, who holds each of them, the rules for frames of each
 * stream, and the turns in which connections are served.
 * Invariant: a feed has one queue at most, and a queue one session; only a session that resumes another takes it over.
 */
import { type Config, helloReader, type SettingsPatch } from '../../config/config.js';
import type { Logger } from '../../telemetry/logger.js';
import type { Meters } from '../../telemetry/meters.js';
import type { CloseCode } from '../../wire/codes.js';
import type { FeedId } from '../../wire/feed.js';
import type { Hello, HelloReader } from '../../wire/messages.js';
import { FairTurns } from '../limits/fair-turns.js';
import { RefusalLog } from '../limits/refusal-log.js';
import { StreamShares } from '../limits/stream-shares.js';
import { ServerFaults } from '../peers/server-faults.js';
import type { FeedPort } from './feed-port.js';
import { FeedQueue, type FeedSession, type QueueOwner } from './feed-queue.js';
import { FrameScanner } from './frame-scanner.js';
import { StreamRules } from './stream-rules.js';

/** A session as far as the desk knows it. */
interface DeskSession extends FeedSession {
  readonly paused: boolean;
  readonly behind: boolean;
  freeze(): void;
  close(code: CloseCode, reason: string): void;
}

/** How many streams clients may open. */
export type Shares = Pick<StreamShares, 'refusal' | 'add'>;

const keyOf = (feed: FeedId) => `${feed.stream}\n${feed.tracker ?? ''}`;

export class FeedDesk implements QueueOwner {
  readonly readHello: HelloReader<SettingsPatch>;
  readonly turns: FairTurns;
  readonly rules: StreamRules;
  readonly scanner = new FrameScanner();
  readonly faults: ServerFaults;
  readonly refusals: RefusalLog;
  readonly #queues = new Map<string, FeedQueue>();
  readonly #sessions = new Set<DeskSession>();
  readonly #retries = new Set<NodeJS.Timeout>();
  #stopped = false;

  constructor(
    readonly config: Config,
    readonly port: FeedPort,
    readonly meters: Meters,
    readonly logger: Logger,
    readonly shares: Shares = new StreamShares(config.limits, (stream) => port.hasStream(stream)),
    sliceMs = config.evaluation.sliceMs,
  ) {
    this.readHello = helloReader(config);
    this.faults = new ServerFaults(meters, logger);
    this.refusals = new RefusalLog(logger);
    this.turns = new FairTurns(sliceMs);
    this.rules = new StreamRules(config.limits);
  }

  get sessions(): ReadonlySet<DeskSession> {
    return this.#sessions;
  }

  /** Frames accepted and not stored yet, over all feeds. */
  get waitingFrames(): number {
    let sum = 0;
    for (const queue of this.#queues.values()) sum += queue.waiting;
    return sum;
  }

  /** Sessions that are not read from, for their credit, their rate or the disk. */
  get pausedSessions(): number {
    let count = 0;
    for (const session of this.#sessions) if (session.behind) count++;
    return count;
  }

  join(session: DeskSession): void {
    this.#sessions.add(session);
  }

  leave(session: DeskSession): void {
    this.#sessions.delete(session);
  }

  /** The queue of a feed for this session, or null when another client holds it. */
  claim({ feed, resume }: Hello, session: FeedSession): FeedQueue | null {
    const key = keyOf(feed);
    let queue = this.#queues.get(key);
    // it is back before it was cut: its new connection says what is unread
    if (queue && !queue.session) this.port.unread(feed, false);
    if (queue?.session) {
      if (resume?.session !== queue.session.id) return null;
      const before = queue.session;
      // the feed is not cut: it has another connection
      queue.session = session;
      before.superseded();
    }
    if (!queue) {
      queue = new FeedQueue(feed, this);
      this.#queues.set(key, queue);
    }
    queue.session = session;
    return queue;
  }

  release(queue: FeedQueue, session: FeedSession): void {
    if (queue.session !== session) return;
    queue.session = null;
    if (queue.waiting === 0 || !this.#holds(queue)) this.discard(queue);
    // until it is cut nobody would be waited for, and the disk may take seconds
    else if (!this.#stopped) this.port.unread(queue.feed, true);
  }

  /** The feed is cut behind everything it has sent: what is stored after a cut would count as a return. */
  discard(queue: FeedQueue): void {
    if (this.#holds(queue)) this.#queues.delete(keyOf(queue.feed));
    if (this.#stopped) return;
    this.port.cut(queue.feed);
    this.port.unread(queue.feed, false);
  }

  #holds(queue: FeedQueue): boolean {
    return this.#queues.get(keyOf(queue.feed)) === queue;
  }

  stallChanged(queue: FeedQueue, fault: string | null): void {
    const fields = { ...queue.feed, waitingFrames: queue.waiting };
    if (fault === null) this.logger.info('storage_resumed', fields);
    else this.logger.error('storage_stalled', { ...fields, fault });
    queue.session?.regulate();
  }

  /** The pipeline failed in a way that is not the peer's fault: the client comes back and resends. */
  failed(queue: FeedQueue, error: unknown): void {
    this.logger.error('ingest_failed', { ...queue.feed, error });
    if (this.#holds(queue)) this.#queues.delete(keyOf(queue.feed));
    if (queue.session) queue.session.failed();
    else this.discard(queue);
  }

  retryLater(action: () => void): void {
    if (this.#stopped) return;
    const timer = setTimeout(() => {
      this.#retries.delete(timer);
      action();
    }, this.config.data.storageRetryMs);
    this.#retries.add(timer);
  }

  /** Reads nothing more; what has come is still stored and acked. */
  freeze(): void {
    for (const session of this.#sessions) session.freeze();
  }

  /** Waits until everything accepted is stored; frames held back by a full disk are given up, they were not acked. */
  async drain(): Promise<void> {
    await Promise.all([...this.#queues.values()].filter((queue) => !queue.stalled).map((queue) => queue.drained()));
  }

  /** Closes every session, and tries nothing again. */
  stop(code: CloseCode, reason: string): void {
    this.#stopped = true;
    for (const timer of this.#retries) clearTimeout(timer);
    this.#retries.clear();
    for (const session of [...this.#sessions]) session.close(code, reason);
  }
}
