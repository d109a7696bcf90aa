/** What a feed needs of the pipeline, and what the sockets need of a feed. */
import type { ResolvedStream, SettingsPatch } from '../../config/config.js';
import type { Refused } from '../../wire/events.js';
import type { FeedId } from '../../wire/feed.js';
import type { Finding } from '../../wire/findings.js';
import type { FeedPart, Shape } from '../../wire/objects.js';
import type { Conversation } from '../peers/peer.js';

/** A feed that was opened. */
export interface OpenedFeed {
  /** counts what is accepted, durable or not */
  nextSeq: number;
  /** how the stream is judged, whoever decided it first */
  plan: ResolvedStream;
  /** what is wrong with how the feed is wired */
  findings: readonly Finding[];
  /** its stream was not there before */
  isNew: boolean;
}

/** Why a feed is not opened. */
export interface FeedRefusal {
  code: string;
  path: string;
  message: string;
}

/** What the pipeline offers to feeds. */
export interface FeedPort {
  /** whether a stream is open, or about to be */
  hasStream(stream: string): boolean;
  /** `ifNew` is why no stream may be opened that is not there yet; undefined when one may */
  openFeed(
    feed: FeedId,
    settings?: SettingsPatch,
    shape?: Shape,
    ifNew?: FeedRefusal,
  ): Promise<OpenedFeed | FeedRefusal>;
  /**
   * Resolves once the part is durable, also when its number came before; rejects with a StorageFault when it is not
   * going to be. Parts that become durable together get the same promise.
   */
  ingest(feed: FeedId, part: FeedPart, receivedMs: number): Promise<void>;
  end(feed: FeedId): Promise<void>;
  /** its connection is gone, and it did not say that this was the end */
  cut(feed: FeedId): void;
  /** it may have sent frames that are not read yet, by the server's choice; or has not any longer */
  unread(feed: FeedId, unread: boolean): void;
  /** epoch milliseconds, by the clock that everything goes by */
  now(): number;
  reportRefused(feed: FeedId, type: Refused['type'], what: Pick<Refused, 'code' | 'path' | 'message'>): void;
}

/** A connection of a feed. */
export interface FeedConversation extends Conversation {
  /** whether everything that came is stored or was rejected, but for messages that wait for the rest of their frame */
  readonly onlyHeld: boolean;
}
