/**
 * What `demo` and `replay` share: connections of the package's own client, and the pace of frames.
 * Invariant: frames never come faster than the pace, but for catching up at most one second after a delay.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type ClientOptions, connect, type FeedClient } from '../client.js';
import { WebSocket } from '../edge/sockets.js';

/** A longer delay is not made up for: the scene just continues later. */
const CATCH_UP_MAX_MS = 1000;

/** Opens a feed in Node and keeps it open. */
export function openFeed(options: Omit<ClientOptions, 'WebSocket'>): FeedClient {
  return connect({ ...options, WebSocket });
}

/** Schedules frames: waits until the next one is due. */
export class Pace {
  #startMs = performance.now();
  #count = 0;

  /** `fps` may be infinite: as fast as frames are accepted. */
  constructor(
    readonly fps: number,
    readonly signal: AbortSignal,
  ) {}

  /** Resolves when the next frame is due: with true, or with false when it is time to stop. */
  async due(): Promise<boolean> {
    if (this.signal.aborted || this.fps === Number.POSITIVE_INFINITY) return !this.signal.aborted;
    const aheadMs = this.#startMs + (this.#count++ * 1000) / this.fps - performance.now();
    if (aheadMs < -CATCH_UP_MAX_MS) this.#startMs -= aheadMs;
    if (aheadMs > 0) await delay(aheadMs, undefined, { signal: this.signal }).catch(() => {});
    return !this.signal.aborted;
  }
}
