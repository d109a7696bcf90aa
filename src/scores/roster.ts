/**
 * Who is in the window: trajectories and the pairs of them that were ever alike, under small numbers that are used
 * again when a trajectory or a pair has left. Frames are kept as flat arrays of these numbers and are recycled.
 */

import type { FrameView } from '../metric/window/frame-view.js';
import { SimilarityFinder, type SimilarityRule } from './similarity.js';
import { MATCH_MIN } from './totals.js';

/** What every frame begins with: a typed array of its own is made when there is something to keep. */
export const NO_INTEGERS = new Int32Array(0);
export const NO_NUMBERS = new Float64Array(0);

/** One frame in numbers. Pairs are ordered by truth; what is beyond the counts is left over from earlier frames. */
export class ScoredFrame {
  truthCount = 0;
  trackCount = 0;
  pairCount = 0;
  /** roster numbers */
  truths = NO_INTEGERS;
  tracks = NO_INTEGERS;
  /** of each pair: place of its truth and of its track in this frame, its number in the roster, similarity */
  truthAt = NO_INTEGERS;
  trackAt = NO_INTEGERS;
  pair = NO_INTEGERS;
  similarity = NO_NUMBERS;
  /** of each pair: similarity as a share of all similarity its two ends have in this frame */
  share = NO_NUMBERS;

  reserve(truths: number, tracks: number, pairs: number): void {
    if (truths > this.truths.length) this.truths = new Int32Array(truths);
    if (tracks > this.tracks.length) this.tracks = new Int32Array(tracks);
    if (pairs > this.pair.length) {
      this.truthAt = new Int32Array(pairs);
      this.trackAt = new Int32Array(pairs);
      this.pair = new Int32Array(pairs);
      this.similarity = new Float64Array(pairs);
      this.share = new Float64Array(pairs);
    }
    this.truthCount = truths;
    this.trackCount = tracks;
    this.pairCount = pairs;
  }
}

/** Stands in the list of ids where a number is free; no id of a feed is this very text. */
const NOBODY = '\u0000free';

/** The trajectories of one feed. */
export class RosterSide {
  /** present in the window now */
  readonly numbers = new Map<string, number>();
  /** numbers ever given out are below this */
  size = 0;
  /** frames of the window with it; 0 where the number is free */
  presence = new Int32Array(64);
  readonly #ids: string[] = [];
  readonly #free: number[] = [];
  /** numbers of the frame before, by place: most ids stand where they stood */
  #lately = new Int32Array(64);
  #latelyCount = 0;
  #latelyIds: readonly string[] | null = null;

  /** Numbers of ids; new ones for those that were not in the window. */
  enter(ids: readonly string[], into: Int32Array): void {
    const count = ids.length;
    if (count > this.#lately.length) this.#lately = new Int32Array(count * 2);
    const lately = this.#lately;
    // the kernel hands on the very same list while a feed shows the same objects
    if (ids === this.#latelyIds) {
      for (let n = 0; n < count; n++) {
        this.presence[lately[n]]++;
        into[n] = lately[n];
      }
      return;
    }
    for (let n = 0; n < count; n++) {
      const id = ids[n];
      let number = lately[n];
      if (n >= this.#latelyCount || this.#ids[number] !== id) {
        number = this.numbers.get(id) ?? this.#add(id);
        lately[n] = number;
      }
      this.presence[number]++;
      into[n] = number;
    }
    this.#latelyCount = count;
    this.#latelyIds = ids;
  }

  clear(): void {
    this.numbers.clear();
    this.presence.fill(0, 0, this.size);
    this.size = 0;
    this.#free.length = 0;
    this.#latelyCount = 0;
    this.#latelyIds = null;
  }

  #add(id: string): number {
    const number = this.#free.pop() ?? this.size++;
    if (number >= this.presence.length) this.presence = grown(this.presence);
    this.numbers.set(id, number);
    this.#ids[number] = id;
    return number;
  }

  /** One frame less; after the last one the number is free. */
  leave(number: number): void {
    if (--this.presence[number] > 0) return;
    this.numbers.delete(this.#ids[number]);
    this.#ids[number] = NOBODY;
    this.#latelyIds = null;
    this.#free.push(number);
  }
}

export class Roster {
  readonly truths = new RosterSide();
  readonly tracks = new RosterSide();
  /** instances in the window */
  truthTotal = 0;
  trackTotal = 0;
  /** numbers of pairs ever given out are below this */
  pairSize = 0;
  /** of each pair: its ends, the frames with it, and those where it is a match for Identity */
  pairTruth = new Int32Array(64);
  pairTrack = new Int32Array(64);
  pairFrames = new Int32Array(64);
  pairMatches = new Int32Array(64);
  /** by truth: the pairs it has */
  readonly #pairsOf: number[][] = [];
  readonly #freePairs: number[] = [];
  readonly #finder: SimilarityFinder;
  #rowSum = new Float64Array(64);
  #columnSum = new Float64Array(64);

  constructor(rule: SimilarityRule) {
    this.#finder = new SimilarityFinder(rule);
  }

  pairsOf(truth: number): readonly number[] {
    return this.#pairsOf[truth];
  }

  /** Adds a frame and writes its numbers into `into`. */
  enter(frame: FrameView, into: ScoredFrame): void {
    this.#finder.find(frame);
    const { count, truth, track, similarity } = this.#finder;
    into.reserve(frame.reference.ids.length, frame.tracker.ids.length, count);
    this.truths.enter(frame.reference.ids, into.truths);
    this.tracks.enter(frame.tracker.ids, into.tracks);
    this.truthTotal += into.truthCount;
    this.trackTotal += into.trackCount;
    this.#shares(into);
    const { truths, tracks, truthAt, trackAt, pair: pairs, similarity: similarities } = into;
    for (let n = 0; n < count; n++) {
      const pair = this.#pair(truths[truth[n]], tracks[track[n]]);
      const value = similarity[n];
      truthAt[n] = truth[n];
      trackAt[n] = track[n];
      pairs[n] = pair;
      similarities[n] = value;
      this.pairFrames[pair]++;
      if (value >= MATCH_MIN) this.pairMatches[pair]++;
    }
  }

  /** Forgets everybody. */
  clear(): void {
    this.#finder.clear();
    this.truths.clear();
    this.tracks.clear();
    this.truthTotal = 0;
    this.trackTotal = 0;
    this.pairFrames.fill(0, 0, this.pairSize);
    this.pairMatches.fill(0, 0, this.pairSize);
    this.pairSize = 0;
    this.#freePairs.length = 0;
    this.#pairsOf.length = 0;
  }

  leave(frame: ScoredFrame): void {
    this.truthTotal -= frame.truthCount;
    this.trackTotal -= frame.trackCount;
    for (let n = 0; n < frame.pairCount; n++) {
      const pair = frame.pair[n];
      if (frame.similarity[n] >= MATCH_MIN) this.pairMatches[pair]--;
      if (--this.pairFrames[pair] === 0) this.#forget(pair);
    }
    for (let n = 0; n < frame.truthCount; n++) this.truths.leave(frame.truths[n]);
    for (let n = 0; n < frame.trackCount; n++) this.tracks.leave(frame.tracks[n]);
  }

  #shares(into: ScoredFrame): void {
    const { count, truth, track, similarity } = this.#finder;
    if (into.truthCount > this.#rowSum.length) this.#rowSum = new Float64Array(into.truthCount * 2);
    if (into.trackCount > this.#columnSum.length) this.#columnSum = new Float64Array(into.trackCount * 2);
    const rows = this.#rowSum.fill(0, 0, into.truthCount);
    const columns = this.#columnSum.fill(0, 0, into.trackCount);
    for (let n = 0; n < count; n++) {
      rows[truth[n]] += similarity[n];
      columns[track[n]] += similarity[n];
    }
    for (let n = 0; n < count; n++)
      into.share[n] = similarity[n] / (rows[truth[n]] + columns[track[n]] - similarity[n]);
  }

  #pair(truth: number, track: number): number {
    this.#pairsOf[truth] ??= [];
    const list = this.#pairsOf[truth];
    for (let n = 0; n < list.length; n++) if (this.pairTrack[list[n]] === track) return list[n];
    const pair = this.#freePairs.pop() ?? this.pairSize++;
    if (pair >= this.pairTruth.length) {
      this.pairTruth = grown(this.pairTruth);
      this.pairTrack = grown(this.pairTrack);
      this.pairFrames = grown(this.pairFrames);
      this.pairMatches = grown(this.pairMatches);
    }
    this.pairTruth[pair] = truth;
    this.pairTrack[pair] = track;
    list.push(pair);
    return pair;
  }

  #forget(pair: number): void {
    const list = this.#pairsOf[this.pairTruth[pair]];
    list[list.indexOf(pair)] = list[list.length - 1];
    list.pop();
    this.#freePairs.push(pair);
  }
}

function grown(old: Int32Array): Int32Array<ArrayBuffer> {
  const fresh = new Int32Array(old.length * 2);
  fresh.set(old);
  return fresh;
}
