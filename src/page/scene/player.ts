/**
 * Which frame is shown: the newest as it arrives (follow), a fixed one (paused), or one after the other at their
 * original pace (play). Pure: the view passes in the time and the frames there are.
 */

export type Mode = 'follow' | 'paused' | 'play';

const USUAL_MS = 50;

export class Player {
  mode: Mode = 'follow';
  /** relative to the original pace; infinity: one frame per picture */
  speed = 1;
  #k = 0;
  #dueMs = 0;

  /** The frame to show out of `ks`, which are in order and not empty. */
  at(ks: (index: number) => number, count: number, nowMs: number, frameMs = USUAL_MS): number {
    if (this.mode === 'follow') this.#k = ks(count - 1);
    else if (this.mode === 'play') this.#advance(ks, count, nowMs, frameMs);
    return this.#k;
  }

  get k(): number {
    return this.#k;
  }

  pauseAt(k: number): void {
    this.mode = 'paused';
    this.#k = k;
  }

  play(nowMs: number): void {
    this.mode = 'play';
    this.#dueMs = nowMs;
  }

  #advance(ks: (index: number) => number, count: number, nowMs: number, frameMs: number): void {
    if (nowMs < this.#dueMs) return;
    const stepMs = frameMs / this.speed;
    // late pictures skip frames rather than fall behind, but never more than a few
    const steps = stepMs > 0 ? Math.min(8, 1 + Math.floor((nowMs - this.#dueMs) / stepMs)) : 1;
    this.#dueMs = Math.max(this.#dueMs + steps * stepMs, nowMs - stepMs);
    let index = 0;
    while (index < count - 1 && ks(index) <= this.#k) index++;
    index = Math.min(count - 1, index + steps - 1);
    this.#k = ks(index);
    if (index === count - 1) this.mode = 'follow';
  }
}
