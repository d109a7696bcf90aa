/**
 * The feeds of a broker: which of them a message is for, by its topic, and when all of them are done with it. Messages
 * that no feed can read are refused and counted here, and count as done.
 */
import type { SourceReject } from '../telemetry/source-meters.js';
import { type FeedSettings, SourceFeed, type SourceParts, textOf } from './source.js';

interface Subscribed {
  filter: string;
  feed: SourceFeed;
}

export class SubscribedFeeds {
  readonly #feeds: Subscribed[];

  constructor(
    name: string,
    feeds: Array<FeedSettings & { filter: string }>,
    readonly parts: SourceParts,
    /** whether a topic is in a filter */
    readonly matches: (filter: string, topic: string) => boolean,
  ) {
    this.#feeds = feeds.map(({ filter, ...settings }) => ({ filter, feed: new SourceFeed(name, settings, parts) }));
    parts.meter.waiting = () => this.waiting;
  }

  /** Messages enqueued and not stored yet. */
  get waiting(): number {
    return this.#feeds.reduce((sum, { feed }) => sum + feed.waiting, 0);
  }

  /** What to subscribe to, each once. */
  get filters(): string[] {
    return [...new Set(this.#feeds.map(({ filter }) => filter))];
  }

  /** Hands a message to its feeds; resolves when there is room for the next one. */
  async dispatch(topic: string, payload: Uint8Array, concluded: () => void = () => {}): Promise<void> {
    const { meter, config } = this.parts;
    meter.messages++;
    meter.bytes += payload.length;
    meter.lastMs = Date.now();
    const text = payload.length > config.sources.payloadBytes ? null : textOf(payload);
    const wanted = this.#wanted(topic);
    if (text === null || wanted.length === 0) {
      this.refuse(topic, ...this.#faultOf(payload));
      concluded();
      return;
    }
    let open = wanted.length;
    const one = () => {
      if (--open === 0) concluded();
    };
    await Promise.all(wanted.map((feed) => feed.enqueue(text, one)));
  }

  #wanted(topic: string): SourceFeed[] {
    return this.#feeds.filter(({ filter }) => this.matches(filter, topic)).map(({ feed }) => feed);
  }

  #faultOf(payload: Uint8Array): [SourceReject, string] {
    const { payloadBytes } = this.parts.config.sources;
    return payload.length > payloadBytes
      ? [
          'payload_too_large',
          `a message of ${payload.length} bytes came; raise sources.payloadBytes (now ${payloadBytes})`,
        ]
      : ['message_invalid', 'came on a topic that was not subscribed to, or is not UTF-8'];
  }

  /** Counts a message that reaches no feed. */
  refuse(topic: string, reason: SourceReject, message: string): void {
    (this.#wanted(topic)[0] ?? this.#feeds[0].feed).refuse(reason, message, '');
  }

  async finish(options: { heldComesAgain: boolean }): Promise<void> {
    await Promise.all(this.#feeds.map(({ feed }) => feed.finish(options)));
  }
}
