/** What nobody sends to any more: a stream, or one of its trackers, after `idleMinutes`. */
import type { Role } from '../wire/feed.js';
import type { StreamPlan } from './plan.js';

/** A feed, and since when nothing was heard of it: epoch milliseconds, time away not counted. */
interface QuietFeed {
  role: Role;
  tracker: string | null;
  quietMs: number;
}

/** What has been idle for too long: a tracker by name, null for the whole stream, undefined for nothing. */
export function idleAmong(
  feeds: readonly QuietFeed[],
  { settings }: StreamPlan,
  nowMs: number,
): string | null | undefined {
  const oldest = nowMs - settings.idleMinutes * 60_000;
  if (feeds.every((feed) => feed.quietMs < oldest)) return null;
  return feeds.find((feed) => feed.role === 'tracker' && feed.quietMs < oldest)?.tracker ?? undefined;
}
