/**
 * Where time comes from. Everything that is a duration goes by one clock that never jumps: the wall clock at the start
 * of the process, and the time since then. What the wall clock does later is noticed, and changes nothing. (`Clock` is
 * in pipeline.ts, because its ticks are an Observable and that file owns rxjs.)
 */
import type { Clock } from './pipeline.js';

/** what is less is drift */
const JUMP_MS = 2000;

export class SteadyClock implements Clock {
  readonly #startedMs = Date.now() - performance.now();
  /** of the wall clock, ahead of this one */
  #offsetMs = 0;

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
