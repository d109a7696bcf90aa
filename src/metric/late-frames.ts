/**
 * Frames that no engine knows, because there was no time: they have no edges, and are assigned as they came. The
 * changes between all frames of the window are counted anew then, and pairs completed that are held and close. What the
 * engines and these frames give together is held against two simple answers, the frames matched alone and the last
 * report carried on; the best of the three stands until the next frame comes or goes.
 */

import type { FrameMatchings } from './frame-matching.js';
import { assignedIn, Changes, listOf } from './window/changes.js';
import type { WindowContents } from './window/contents.js';
import { addUp, type FrameAssignment, type FrameRecord, type PairList } from './window/frame-record.js';

/** What might be assigned in a frame, after what was in those before. */
type Answer = (frame: FrameRecord, changes: Changes) => PairList;

/** pairs that are gone through once more for one unit of work */
const PAIRS_PER_WORK = 4;

export class LateFrames {
  /** by number; of frames that do not have all of their pairs, what they cost at least */
  private readonly least = new Map<number, number | null>();
  /** half-switches by the engines, while those of all frames together stand in the frames */
  private readonly engineHalves: number[] = [];
  /** what was assigned in frames, while something else stands in them; and the list of it, if there was one */
  private readonly assigned = new Map<FrameRecord, [FrameAssignment, PairList | null]>();
  /** what the engines' assignment costs in the frames that they know */
  private engineCost = 0;
  /** by frame number: the pairs of the last report */
  private reported: Map<number, PairList> | null = null;
  /** the same of each frame's own best matching */
  private readonly alone = new Map<number, PairList>();

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
    if (this.least.size === 0) return;
    this.least.delete(number);
    this.alone.delete(number);
    if (this.least.size > 0) return;
    this.alone.clear();
    for (const frame of this.contents.frameList()) frame.assigned = null;
  }

  /** What it takes to choose an answer when the engines are done. */
  get work(): number {
    const { contents } = this;
    if (contents.framewise || this.least.size === 0) return 0;
    let pairs = 0;
    for (let number = contents.oldestNumber; number <= contents.newestNumber; number++)
      pairs += contents.frame(number).pairCount;
    return pairs / PAIRS_PER_WORK;
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
    for (const [frame, [assignment, list]] of assigned) {
      frame.reassign(assignment);
      frame.assigned = list;
    }
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
      this.reported.set(number, assignedIn(contents.frame(number)));
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
    let { worth: most } = this.answerWith(frames, assignedIn);
    let best: readonly PairList[] | null = null;
    for (const answer of this.rivals()) {
      const { worth, lists } = this.answerWith(frames, answer);
      if (worth <= most) continue;
      most = worth;
      best = lists;
    }
    if (best) this.replace(frames, best);
    this.complete(frames);
    this.reported = null;
  }

  /** Counts the changes into each frame, and assigns pairs that are held and close. */
  private complete(frames: readonly FrameRecord[]): void {
    const changes = new Changes();
    for (const frame of frames) {
      frame.halves = changes.into(assignedIn(frame));
      changes.forEachHeld(frame, (pair) => this.assign(frame, pair, 1));
    }
    for (const frame of frames) {
      changes.forEachEarly(frame, (pair) => this.assign(frame, pair, 1));
      if (frame.touched) addUp(frame);
    }
  }

  private assign(frame: FrameRecord, pair: number, on: 0 | 1): void {
    if (!this.assigned.has(frame)) this.assigned.set(frame, [frame.assignment(), frame.assigned]);
    frame.assign(pair, on);
    frame.touched = true;
  }

  private replace(frames: readonly FrameRecord[], lists: readonly PairList[]): void {
    frames.forEach((frame, n) => {
      for (let pair = 0; pair < frame.pairCount; pair++) if (frame.on(pair) !== 0) this.assign(frame, pair, 0);
      for (const pair of lists[n].pairs) this.assign(frame, pair, 1);
      frame.assigned = lists[n];
    });
  }

  /** Each frame matched alone; and the last report, in new frames with those who are held and close. */
  private rivals(): Answer[] {
    const { reported } = this;
    const answers: Answer[] = [(frame) => this.matchedAlone(frame)];
    if (reported && reported.size > 0)
      answers.push((frame, changes) => reported.get(frame.number) ?? listOf(frame, changes.heldIn(frame)));
    return answers;
  }

  /** A frame's own best matching; of frames that lack pairs, what is assigned in them. */
  private matchedAlone(frame: FrameRecord): PairList {
    if (this.leastOf(frame.number) !== null) return assignedIn(frame);
    let list = this.alone.get(frame.number);
    if (list === undefined) {
      const { pairOf } = this.matchings.of(frame);
      list = listOf(
        frame,
        pairOf.filter((pair) => pair >= 0),
      );
      this.alone.set(frame.number, list);
    }
    return list;
  }

  /** An answer for all frames, and what it earns, less what changes cost and what nobody's pair would. */
  private answerWith(frames: readonly FrameRecord[], answer: Answer): { worth: number; lists: PairList[] } {
    const { prices } = this.contents;
    const changes = new Changes();
    let worth = 0;
    const lists = frames.map((frame) => {
      const list = answer(frame, changes);
      const alone = frame.unitsUnder(() => 0) ?? { missed: frame.truths.length, false: frame.tracks.length };
      worth += list.earned - prices.missed * alone.missed - prices.false * alone.false;
      worth -= prices.half * changes.into(list);
      return list;
    });
    return { worth, lists };
  }
}
