/**
 * Who is held by whom, frame after frame, and how many half-switches that takes: two who were never assigned join for
 * free, a held pair is released when one of its ends is needed elsewhere. Who is alone in a frame that lacks pairs is
 * taken for assigned before: nobody knows whether he was close to somebody there.
 */

import type { FrameRecord, PairList } from './frame-record.js';
import type { Trajectory } from './trajectory.js';

const NONE = -1;

// scratch
let found = new Int32Array(64);

/** The pairs that are assigned in a frame. */
export function assignedIn(frame: FrameRecord): PairList {
  if (frame.assigned !== null) return frame.assigned;
  if (found.length < frame.pairCount) found = new Int32Array(2 * frame.pairCount);
  let count = 0;
  for (let pair = 0; pair < frame.pairCount; pair++) if (frame.on(pair) > 0.5) found[count++] = pair;
  frame.assigned = listOf(frame, found.slice(0, count));
  return frame.assigned;
}

/** Any pairs of a frame. */
export function listOf(frame: FrameRecord, pairs: Int32Array): PairList {
  const { length } = pairs;
  const truths = new Int32Array(length);
  const tracks = new Int32Array(length);
  let earned = 0;
  for (let n = 0; n < length; n++) {
    truths[n] = frame.truthAt(pairs[n]).slot;
    tracks[n] = frame.trackAt(pairs[n]).slot;
    earned += frame.unit - frame.cost(pairs[n]);
  }
  const seen = frame.thinned ? Int32Array.from([...frame.truths, ...frame.tracks], ({ slot }) => slot) : null;
  return { number: frame.number, pairs, truths, tracks, seen, earned };
}

export class Changes {
  /** by slot: the slot of who is held, and 1 for who was ever assigned */
  private partner = new Int32Array(256).fill(NONE);
  private used = new Uint8Array(256);
  /** by slot: who was joined for free, and in which frame */
  private early = new Int32Array(256).fill(NONE);
  private earlyUntil = new Float64Array(256);

  /** Those of some frames, as they are assigned. */
  static through(frames: readonly FrameRecord[]): Changes {
    const changes = new Changes();
    for (const frame of frames) changes.into(assignedIn(frame));
    return changes;
  }

  partnerOf({ slot }: Trajectory): number {
    return slot < this.partner.length ? this.partner[slot] : NONE;
  }

  /** Moves on to the pairs of a frame; returns the half-switches. */
  into({ number, truths, tracks, seen }: PairList): number {
    this.reserve(truths);
    this.reserve(tracks);
    if (seen) this.reserve(seen);
    const { partner, used } = this;
    const { length } = truths;
    let halves = 0;
    for (let n = 0; n < length; n++)
      if (partner[truths[n]] !== tracks[n]) halves += this.release(truths[n]) + this.release(tracks[n]);
    for (let n = 0; n < length; n++) {
      const truth = truths[n];
      const track = tracks[n];
      if (partner[truth] === track) continue;
      if (used[truth] | used[track]) halves++;
      else {
        this.early[truth] = track;
        this.earlyUntil[truth] = number;
      }
      used[truth] = used[track] = 1;
      partner[truth] = track;
      partner[track] = truth;
    }
    if (seen) for (let n = 0; n < seen.length; n++) used[seen[n]] = 1;
    return halves;
  }

  /** Releases who holds somebody; returns the half-switches. */
  private release(end: number): 0 | 1 {
    const { partner } = this;
    if (partner[end] === NONE) return 0;
    partner[partner[end]] = NONE;
    partner[end] = NONE;
    return 1;
  }

  /** The pairs of a frame that are held after those before it. */
  heldIn(frame: FrameRecord): Int32Array {
    const pairs: number[] = [];
    for (let pair = 0; pair < frame.pairCount; pair++)
      if (this.partnerOf(frame.truthAt(pair)) === frame.trackAt(pair).slot) pairs.push(pair);
    return Int32Array.from(pairs);
  }

  /** Visits the pairs of the frame at hand that are held, but not assigned though they are close. */
  forEachHeld(frame: FrameRecord, visit: (pair: number) => void): void {
    for (let pair = 0; pair < frame.pairCount; pair++)
      if (frame.on(pair) === 0 && this.partnerOf(frame.truthAt(pair)) === frame.trackAt(pair).slot) visit(pair);
  }

  /** Visits those of a frame that join for free in a later one. */
  forEachEarly(frame: FrameRecord, visit: (pair: number) => void): void {
    for (let pair = 0; pair < frame.pairCount; pair++) {
      if (frame.on(pair) !== 0) continue;
      const { slot } = frame.truthAt(pair);
      if (this.early[slot] === frame.trackAt(pair).slot && frame.number < this.earlyUntil[slot]) visit(pair);
    }
  }

  /** Half-switches that one join takes after the frames so far; an end that is new to the window is nobody. */
  ofJoin(truth: Trajectory | undefined, track: Trajectory | undefined): number {
    return this.isHeld(truth) + this.isHeld(track) + (this.wasUsed(truth) || this.wasUsed(track) ? 1 : 0);
  }

  private isHeld(end: Trajectory | undefined): 0 | 1 {
    return end && this.partnerOf(end) !== NONE ? 1 : 0;
  }

  private wasUsed(end: Trajectory | undefined): boolean {
    return end !== undefined && this.used[end.slot] === 1;
  }

  /** The same for the pairs of a whole frame; those that are held already take none. */
  ofJoins(pairs: readonly [truth: Trajectory | undefined, track: Trajectory | undefined][]): number {
    const released = new Set<number>();
    let halves = 0;
    for (const [truth, track] of pairs) {
      const held = truth ? this.partnerOf(truth) : NONE;
      if (track && held !== NONE && held === track.slot) continue;
      // a pair is named by the lower slot of its ends
      if (truth && held !== NONE) released.add(Math.min(truth.slot, held));
      const holder = track ? this.partnerOf(track) : NONE;
      if (track && holder !== NONE) released.add(Math.min(track.slot, holder));
      if (this.wasUsed(truth) || this.wasUsed(track)) halves++;
    }
    return halves + released.size;
  }

  private reserve(slots: Int32Array): void {
    let greatest = 0;
    for (let n = 0; n < slots.length; n++) if (slots[n] > greatest) greatest = slots[n];
    if (greatest < this.partner.length) return;
    const grown = <A extends Int32Array | Uint8Array | Float64Array>(old: A, fresh: A): A => {
      fresh.set(old);
      return fresh;
    };
    this.partner = grown(this.partner, new Int32Array(2 * greatest).fill(NONE));
    this.used = grown(this.used, new Uint8Array(2 * greatest));
    this.early = grown(this.early, new Int32Array(2 * greatest).fill(NONE));
    this.earlyUntil = grown(this.earlyUntil, new Float64Array(2 * greatest));
  }
}
