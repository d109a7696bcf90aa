/**
 * Frames that no engine knows, because there was no time: they have no edges, and are assigned as they came. The
 * changes between all frames of the window are counted anew then, and pairs completed that are held and close. What the
 * engines and these frames give together is held against two simple answers, the frames matched alone and the last
 * report carried on; the best of the three stands until the next frame comes or goes.
 */

import { Changes } from './crowd.js';
import type { FrameMatchings } from './frame-matching.js';
import type { WindowContents } from './window/contents.js';
import { addUp, type FrameAssignment, type FrameRecord } from './window/frame-record.js';

/** Of each frame the pairs that are assigned in it. */
type PairLists = readonly (readonly number[])[];

export class LateFrames {
  /** by number; of frames that do not have all of their pairs, what they cost at least */
  private readonly least = new Map<number, number | null>();
  /** half-switches by the engines, while those of all frames together stand in the frames */
  private readonly engineHalves: number[] = [];
  /** what was assigned in frames, while something else stands in them */
  private readonly assigned = new Map<FrameRecord, FrameAssignment>();
  /** what the engines' assignment costs in the frames that they know */
  private engineCost = 0;
  /** by frame number: the pairs of the last report */
  private reported: Map<number, readonly number[]> | null = null;

  constructor(
    private readonly contents: WindowContents,
    private readonly matchings: FrameMatchings,
  ) {}

  get count(): number {
    return this.least.size;
  }

  get pairCount(): number {
    let sum = 0;
    for (const number of this.least.keys()) sum += this.contents.frame(number).pairCount;
    return sum;
  }

  add(number: number, least: number | null): void {
    this.least.set(number, least);
  }

  drop(number: number): void {
    if (this.least.size > 0) this.least.delete(number);
  }

  /** What a frame costs at least, if that was known when it came. */
  leastOf(number: number): number | null {
    return this.least.get(number) ?? null;
  }

  /** What the window costs at least: what the engines assigned, less so much, and these frames alone. */
  leastCost(below: number, leastOf: (frame: FrameRecord) => number): number {
    let sum = this.engineCost - below;
    for (const number of this.least.keys()) sum += leastOf(this.contents.frame(number));
    return sum;
  }

  /** Puts back what the engines assigned. */
  restore(): void {
    const { contents, assigned, engineHalves } = this;
    if (engineHalves.length + assigned.size === 0) return;
    if (engineHalves.length > 0) this.remember();
    for (const [frame, assignment] of assigned) frame.reassign(assignment);
    assigned.clear();
    for (let n = 0; n < engineHalves.length; n++) contents.frame(contents.oldestNumber + n).halves = engineHalves[n];
    engineHalves.length = 0;
  }

  /** The engines are about to work: what stands in the frames was reported, but for those that are new. */
  remember(): void {
    if (this.least.size === 0 || this.reported) return;
    const { contents } = this;
    this.reported = new Map();
    for (let number = contents.oldestNumber; number <= contents.solvedNumber; number++)
      this.reported.set(number, pairsOn(contents.frame(number)));
  }

  /** The engines are done: puts the best answer into the frames. */
  conclude(): void {
    const { contents, least } = this;
    if (contents.framewise || least.size === 0) {
      this.reported = null;
      return;
    }
    const { missed, false: falsePrice, half } = contents.prices;
    const frames = contents.frameList();
    this.engineCost = 0;
    for (const frame of frames) {
      this.engineHalves.push(frame.halves);
      this.engineCost += half * frame.halves;
      if (!least.has(frame.number))
        this.engineCost += frame.localization + missed * frame.missedUnits + falsePrice * frame.falseUnits;
    }
    const worth = this.complete(frames);
    const rivals = [this.alone(frames), this.carriedOn(frames)].filter((lists) => lists !== null);
    let best: PairLists | null = null;
    let most = worth;
    for (const lists of rivals) {
      const other = this.worthOf(frames, lists);
      if (other <= most) continue;
      most = other;
      best = lists;
    }
    if (best) this.replace(frames, best);
    this.reported = null;
  }

  /**
   * Counts the changes into each frame, and assigns pairs that are held and close; returns what is earned, less what
   * changes cost.
   */
  private complete(frames: readonly FrameRecord[]): number {
    const { prices } = this.contents;
    const changes = new Changes();
    for (const frame of frames) {
      frame.halves = changes.into(frame);
      changes.forEachHeld(frame, (pair) => this.assign(frame, pair, 1));
    }
    let worth = 0;
    for (const frame of frames) {
      changes.forEachEarly(frame, (pair) => this.assign(frame, pair, 1));
      if (frame.touched) addUp(frame);
      // misses and false objects cost what they cost if nobody is assigned, less what is earned
      worth -= prices.half * frame.halves + frame.localization;
      worth -= prices.missed * frame.missedUnits + prices.false * frame.falseUnits;
    }
    return worth;
  }

  private assign(frame: FrameRecord, pair: number, on: 0 | 1): void {
    if (!this.assigned.has(frame)) this.assigned.set(frame, frame.assignment());
    frame.assign(pair, on);
    frame.touched = true;
  }

  private replace(frames: readonly FrameRecord[], lists: PairLists): void {
    frames.forEach((frame, n) => {
      for (let pair = 0; pair < frame.pairCount; pair++) if (frame.on(pair) !== 0) this.assign(frame, pair, 0);
      for (const pair of lists[n]) this.assign(frame, pair, 1);
    });
    this.complete(frames);
  }

  /** Each frame's own best matching; of frames that lack pairs, what is assigned in them. */
  private alone(frames: readonly FrameRecord[]): PairLists {
    return frames.map((frame) =>
      this.leastOf(frame.number) === null
        ? Array.from(this.matchings.of(frame).pairOf).filter((pair) => pair >= 0)
        : pairsOn(frame),
    );
  }

  /** The last report, and in new frames those who are held and close. */
  private carriedOn(frames: readonly FrameRecord[]): PairLists | null {
    const { reported } = this;
    if (!reported || reported.size === 0) return null;
    const changes = new Changes();
    return frames.map((frame) => {
      const pairs = reported.get(frame.number) ?? changes.heldIn(frame);
      changes.through(frame, pairs);
      return pairs;
    });
  }

  private worthOf(frames: readonly FrameRecord[], lists: PairLists): number {
    const { unit, prices } = this.contents;
    const changes = new Changes();
    let worth = 0;
    frames.forEach((frame, n) => {
      const alone = frame.unitsUnder(() => 0) ?? { missed: frame.truths.length, false: frame.tracks.length };
      worth -=
        prices.half * changes.through(frame, lists[n]) + prices.missed * alone.missed + prices.false * alone.false;
      for (const pair of lists[n]) worth += unit - frame.cost(pair);
    });
    return worth;
  }
}

function pairsOn(frame: FrameRecord): number[] {
  const pairs: number[] = [];
  for (let pair = 0; pair < frame.pairCount; pair++) if (frame.on(pair) > 0.5) pairs.push(pair);
  return pairs;
}
