/**
 * Whether an ingest connection is read from. Five things can stop it: too many frames wait to be stored (the credit),
 * the peer sends too fast (the rate), the disk takes nothing, it is somebody else's turn, or its feed is being opened.
 * When none of them holds any longer, reading resumes. Invariant: the peer is paused exactly while `paused` is true,
 * and whoever judges lateness knows while frames of this feed may have come that nobody has read.
 */
import type { Config } from '../../config/config.js';
import type { Holdable } from '../limits/fair-turns.js';
import { RateLimit } from '../limits/rate-limit.js';
import type { Peer } from '../peers/peer.js';

/** milliseconds after which a peer that has credit again has sent what it held back */
const RETURN_MS = 1000;

/** What waits to be stored, as far as reading on depends on it. */
interface UnstoredFrames {
  readonly waiting: number;
  /** the disk takes nothing */
  readonly stalled: boolean;
}

export class FlowControl implements Holdable {
  readonly #rate: RateLimit;
  #rateTimer: NodeJS.Timeout | null = null;
  #unstored: UnstoredFrames | null = null;
  #paused = false;
  #behind = false;
  #full = false;
  #held = false;
  #frozen = false;
  #opening = false;
  #closed = false;
  #unread = false;
  /** runs once there is credit again after there was none */
  #returnTimer: NodeJS.Timeout | null = null;
  #spent = false;

  constructor(
    readonly peer: Pick<Peer, 'pause' | 'resume'>,
    readonly limits: Pick<Config['limits'], 'creditFrames' | 'framesPerSecond'>,
    /** called when the peer has fallen behind its limits */
    readonly fellBehind: () => void,
    /** called when frames may be waiting unread, and when none are any longer */
    readonly unread: (unread: boolean) => void,
  ) {
    const { framesPerSecond } = limits;
    this.#rate = new RateLimit(framesPerSecond / 1000, framesPerSecond, performance.now());
  }

  /** Whether the connection is currently not read from. */
  get paused(): boolean {
    return this.#paused;
  }

  /** Whether that is for its credit, its rate or the disk, and not only to let others have a turn. */
  get behind(): boolean {
    return this.#behind;
  }

  /** From now on the credit counts what waits here. */
  follow(unstored: UnstoredFrames): void {
    this.#unstored = unstored;
  }

  /** Counts frames; when they come too fast, reading resumes once the rate has recovered. */
  spend(frames: number): void {
    const waitMs = this.#rate.spend(frames, performance.now());
    if (this.#rateTimer || waitMs === 0) return;
    this.#rateTimer = setTimeout(() => {
      this.#rateTimer = null;
      // whatever else had already come by then
      this.spend(0);
      this.regulate();
    }, waitMs);
  }

  /** Not read from while it is held. */
  hold(held: boolean): void {
    this.#held = held;
    this.regulate();
  }

  /** Not read from while the pipeline opens its feed. */
  set opening(opening: boolean) {
    this.#opening = opening;
    this.regulate();
  }

  /** Not read from again. */
  freeze(): void {
    this.#frozen = true;
    this.regulate();
  }

  /** The connection is gone. */
  close(): void {
    this.#closed = true;
    if (this.#rateTimer) clearTimeout(this.#rateTimer);
    if (this.#returnTimer) clearTimeout(this.#returnTimer);
    this.#setUnread(false);
  }

  /** Without credit the peer holds back what it has, and sends it soon after there is some again. */
  #followCredit(spent: boolean): void {
    if (this.#spent && !spent && !this.#returnTimer)
      this.#returnTimer = setTimeout(() => {
        this.#returnTimer = null;
        this.regulate();
      }, RETURN_MS);
    this.#spent = spent;
  }

  #setUnread(unread: boolean): void {
    if (unread === this.#unread) return;
    this.#unread = unread;
    this.unread(unread);
  }

  /** Pauses or resumes the peer, when something that this depends on has changed. */
  regulate(): void {
    const { creditFrames } = this.limits;
    const { waiting, stalled } = this.#unstored ?? { waiting: 0, stalled: false };
    this.#full = waiting > creditFrames || (this.#full && waiting > creditFrames / 2);
    const behind = this.#full || this.#rateTimer !== null || stalled;
    if (behind && !this.#behind) this.fellBehind();
    this.#behind = behind;
    const paused = !this.#closed && (behind || this.#held || this.#frozen || this.#opening);
    if (!this.#closed) this.#followCredit(waiting >= creditFrames);
    // that it sends too fast is its own affair
    const unread = this.#full || stalled || this.#held || this.#spent || this.#returnTimer !== null;
    this.#setUnread(!this.#closed && unread);
    if (paused === this.#paused) return;
    this.#paused = paused;
    if (paused) this.peer.pause();
    else this.peer.resume();
  }
}
