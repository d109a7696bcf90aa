/**
 * Where time comes from. Everything that is a duration goes by one clock that never jumps: the wall clock at the start
 * of the process, and the time since then. What the wall clock does later is noticed, and changes nothing. (`Clock` is
 * in pipeline.ts, because its ticks are an Observable and that file owns rxjs.)
 */
import type { Clock } from './pipeline.js';

/** what is less is drift */
const JUMP_MS = 2000;

/** A moment by a clock, and by the machine. */
export interface SharedClock {
  atMs: number;
  monotonicMs: number;
}

/** The same in every thread, as `performance.now()` is not. */
const monotonicMs = () => Number(process.hrtime.bigint()) / 1e6;

export class SteadyClock implements Clock {
  readonly #startedMs: number;
  /** of the wall clock, ahead of this one */
  #offsetMs = 0;

  /** Goes with that of another thread, when it is given. */
  constructor(other?: SharedClock) {
    if (other) this.#startedMs = other.atMs + monotonicMs() - other.monotonicMs - performance.now();
    else this.#startedMs = Date.now() - performance.now();
  }

  /** For the same clock in another thread. */
  share(): SharedClock {
    return { atMs: this.#startedMs + performance.now(), monotonicMs: monotonicMs() };
  }

  now(): number {
    return Math.floor(this.#startedMs + performance.now());
  }

  uptime(): number {
    return performance.now();
  }

  /** Milliseconds by which the wall clock has jumped since this was asked before; what is below 2 s counts as none. */
  jumpMs(): number {
    const offsetMs = Date.now() - this.now();
    const jumpMs = offsetMs - this.#offsetMs;
    if (Math.abs(jumpMs) < JUMP_MS) return 0;
    this.#offsetMs = offsetMs;
    return jumpMs;
  }
}
