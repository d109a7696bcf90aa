/**
 * Who has opened which streams: a client, which is a token, or an address where there are no tokens, may open so many
 * streams in a minute and have so many at once. What was there before the program started belongs to nobody.
 */
import type { Config } from '../../config/config.js';
import { Fault } from '../../wire/fault.js';
import { RateLimit } from './rate-limit.js';

interface Share {
  rate: RateLimit;
  streams: Set<string>;
}

export class StreamShares {
  readonly #shares = new Map<string, Share>();

  constructor(
    readonly limits: Pick<Config['limits'], 'streamsPerClient' | 'newStreamsPerMinute'>,
    readonly exists: (stream: string) => boolean,
    readonly now: () => number = () => performance.now(),
  ) {}

  /** Why this client may not open another stream now; undefined when it may. */
  refusal(client: string): Fault | undefined {
    const { streamsPerClient, newStreamsPerMinute } = this.limits;
    const share = this.#shares.get(client);
    if (!share) return undefined;
    if (share.streams.size >= streamsPerClient) this.#forgetRetired(share);
    if (share.streams.size >= streamsPerClient)
      return exceeded(
        `${client} has opened ${streamsPerClient} streams; raise limits.streamsPerClient, or wait until an idle one is retired`,
      );
    const waitMs = share.rate.spend(0, this.now());
    if (waitMs === 0) return undefined;
    const seconds = Math.ceil(waitMs / 1000);
    return exceeded(
      `${client} has opened ${newStreamsPerMinute} streams within a minute; try again in ${seconds} s, or raise limits.newStreamsPerMinute`,
    );
  }

  /** The client has opened a stream. */
  add(client: string, stream: string): void {
    let share = this.#shares.get(client);
    if (!share) {
      const { newStreamsPerMinute } = this.limits;
      this.#forgetIdle();
      share = {
        rate: new RateLimit(newStreamsPerMinute / 60_000, newStreamsPerMinute, this.now()),
        streams: new Set(),
      };
      this.#shares.set(client, share);
    }
    share.rate.spend(1, this.now());
    share.streams.add(stream);
  }

  #forgetRetired({ streams }: Share): void {
    for (const stream of streams) if (!this.exists(stream)) streams.delete(stream);
  }

  /** Clients come and go; those whose streams are gone have no share. */
  #forgetIdle(): void {
    for (const [client, share] of this.#shares) {
      this.#forgetRetired(share);
      if (share.streams.size === 0 && share.rate.full(this.now())) this.#shares.delete(client);
    }
  }
}

const exceeded = (message: string) => new Fault('streams_exceeded', 'stream', message);
