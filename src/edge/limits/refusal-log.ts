/**
 * What of a feed is refused or left out, in the log: field, value and remedy, as the sender is told. The same kind of
 * mistake of one feed has one line a minute, with how many came since the last one.
 * Invariant: at most KINDS_MAX kinds are remembered, so that peers who invent feeds cannot fill the memory.
 */
import type { Logger } from '../../telemetry/logger.js';
import type { Fault } from '../../wire/fault.js';
import type { FeedId } from '../../wire/feed.js';

const LOGGED_EVERY_MS = 60_000;
const KINDS_MAX = 10_000;

export class RefusalLog {
  readonly #kinds = new Map<string, { loggedMs: number; unlogged: number }>();

  constructor(
    readonly logger: Logger,
    readonly now: () => number = () => performance.now(),
  ) {}

  /** `code` is that of the fault, or the rule by which an object was left out. */
  report(event: 'rejected' | 'skipped', feed: FeedId, fault: Fault, code: string = fault.code): void {
    const kind = JSON.stringify([event, feed.stream, feed.tracker, code]);
    const known = this.#kinds.get(kind);
    if (known && this.now() - known.loggedMs < LOGGED_EVERY_MS) {
      known.unlogged++;
      return;
    }
    if (this.#kinds.size >= KINDS_MAX) this.#kinds.clear();
    this.#kinds.set(kind, { loggedMs: this.now(), unlogged: 0 });
    const { seq, path, value, message } = fault;
    this.logger.warn(event, { ...feed, code, seq, path, value, message, unlogged: known?.unlogged ?? 0 });
  }
}
