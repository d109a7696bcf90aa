/**
 * CLEAR (Bernardin and Stiefelhagen 2008, as in TrackEval): frame by frame the matching of greatest similarity among
 * pairs from 0.5 on, where pairs of the frame before come first. Frames in which one feed is empty are passed over: the
 * frame "before" is the last with both.
 *
 * Kept for a sliding window by running sums: a frame that enters or leaves costs its own matches and nothing else. When
 * the oldest frame leaves, the next one no longer has a frame before it; where that could change its matching it is
 * matched again, and so are those behind it until one comes out as it was.
 */

import { Matcher } from './matching.js';
import { NO_INTEGERS, NO_NUMBERS, type Roster, type ScoredFrame } from './roster.js';
import { MATCH_MIN } from './totals.js';

const CLOSE_MIN = MATCH_MIN - Number.EPSILON;
/** what a pair of the frame before is worth more than any similarity */
const KEEP_BONUS = 1000;
const NONE = -1;
const NO_BYTES = new Uint8Array(0);

/** What CLEAR keeps of a frame. */
export class ClearFrame {
  /** both feeds have objects */
  counts = false;
  /** no object has a choice: the matching does not depend on the frame before */
  plain = true;
  similarity = 0;
  matchCount = 0;
  truth = NO_INTEGERS;
  track = NO_INTEGERS;
  /** 1 where the truth had another track at its match before */
  switched = NO_BYTES;
  /** the truth's next match: serial of its frame, or -1, and index there */
  nextSerial = NO_NUMBERS;
  nextAt = NO_INTEGERS;

  reserve(count: number): void {
    this.matchCount = count;
    if (count <= this.truth.length) return;
    this.truth = new Int32Array(count);
    this.track = new Int32Array(count);
    this.switched = new Uint8Array(count);
    this.nextSerial = new Float64Array(count);
    this.nextAt = new Int32Array(count);
  }
}

/** The frames of a window by serial number. */
export interface ClearFrames {
  oldest: number;
  /** one more than the newest */
  end: number;
  scored(serial: number): ScoredFrame;
  clear(serial: number): ClearFrame;
}

export class Clear {
  matched = 0;
  switches = 0;
  fragmentations = 0;
  /** by truth: matches in the window; times it began to be tracked; serial, index and track of its last match */
  #matches = new Int32Array(64);
  #starts = new Int32Array(64);
  #lastSerial = new Float64Array(64).fill(NONE);
  #lastAt = new Int32Array(64);
  #lastTrack = new Int32Array(64);
  /** serial of the newest frame that counts */
  #newest = NONE;
  /** what CLEAR keeps of that frame */
  #newestClear: ClearFrame | null = null;
  readonly #matcher = new Matcher();
  /** by truth: its track in the frame before, valid where the stamp is that of the matching being made */
  #kept = new Int32Array(64);
  #keptStamp = new Int32Array(64);
  #stamp = 0;
  // the matching being made: close pairs, then the matched ones among them
  #found = 0;
  #row = new Int32Array(64);
  #column = new Int32Array(64);
  #pair = new Int32Array(64);
  #weight = new Float64Array(64);
  #rowUse = new Uint8Array(64);
  #columnUse = new Uint8Array(64);

  constructor(private readonly frames: ClearFrames) {}

  /** Adds the newest frame. */
  enter(serial: number, roster: Roster): void {
    this.#room(roster.truths.size);
    this.#match(serial, this.#newestClear);
    this.#record(serial);
  }

  /** Removes the oldest frame; `frames.oldest` is already the one after it. */
  leave(serial: number): void {
    const { frames } = this;
    const gone = frames.clear(serial);
    if (!gone.counts) return;
    let next = frames.oldest;
    while (next < frames.end && !frames.clear(next).counts) next++;
    const nextClear = next < frames.end ? frames.clear(next) : null;
    for (let n = 0; n < gone.matchCount; n++) this.#unmatch(gone, n, next, nextClear);
    this.matched -= gone.matchCount;
    if (nextClear === null) {
      this.#newest = NONE;
      this.#newestClear = null;
    } else if (!nextClear.plain && this.#rematch(next)) this.#recount();
  }

  /** Truths that are matched in more than 80 %, at least 20 %, less of their frames. */
  coverage({ truths }: Roster): { mostlyTracked: number; partlyTracked: number; mostlyLost: number } {
    const coverage = { mostlyTracked: 0, partlyTracked: 0, mostlyLost: 0 };
    for (let number = 0; number < truths.size; number++) {
      if (truths.presence[number] === 0) continue;
      const ratio = this.#matches[number] / truths.presence[number];
      if (ratio > 0.8) coverage.mostlyTracked++;
      else if (ratio >= 0.2) coverage.partlyTracked++;
      else coverage.mostlyLost++;
    }
    return coverage;
  }

  #unmatch(gone: ClearFrame, n: number, next: number, nextClear: ClearFrame | null): void {
    const truth = gone.truth[n];
    this.#matches[truth]--;
    const serial = gone.nextSerial[n];
    if (serial === NONE) {
      this.#lastSerial[truth] = NONE;
      this.#starts[truth] = 0;
      return;
    }
    const after = serial === next && nextClear ? nextClear : this.frames.clear(serial);
    const at = gone.nextAt[n];
    if (after.switched[at] === 1) {
      after.switched[at] = 0;
      this.switches--;
    }
    // tracked on without a break, the beginning moves along
    if (serial === next) return;
    this.#starts[truth]--;
    this.fragmentations--;
  }

  /**
   * Matches a frame; pairs of `before`, the last frame that counts, come first. True when it comes out other than it
   * was.
   */
  #match(serial: number, before: ClearFrame | null): boolean {
    const frame = this.frames.scored(serial);
    const clear = this.frames.clear(serial);
    clear.counts = frame.truthCount > 0 && frame.trackCount > 0;
    clear.plain = this.#findClose(frame);
    if (!clear.plain) this.#choose(frame, before);
    const found = this.#found;
    let changed = clear.matchCount !== found;
    clear.reserve(found);
    const { truth, track } = clear;
    const { truths, tracks, truthAt, trackAt, similarity } = frame;
    let sum = 0;
    for (let n = 0; n < found; n++) {
      const pair = this.#pair[n];
      const i = truths[truthAt[pair]];
      const j = tracks[trackAt[pair]];
      if (truth[n] !== i || track[n] !== j) changed = true;
      truth[n] = i;
      track[n] = j;
      sum += similarity[pair];
    }
    clear.similarity = sum;
    return changed;
  }

  /** Collects the close pairs; true when no truth and no track is in two of them. */
  #findClose(frame: ScoredFrame): boolean {
    const { pairCount, similarity, truthAt, trackAt } = frame;
    if (this.#rowUse.length < frame.truthCount) this.#rowUse = new Uint8Array(frame.truthCount * 2);
    if (this.#columnUse.length < frame.trackCount) this.#columnUse = new Uint8Array(frame.trackCount * 2);
    const rowUse = this.#rowUse.fill(0, 0, frame.truthCount);
    const columnUse = this.#columnUse.fill(0, 0, frame.trackCount);
    if (this.#pair.length < pairCount) {
      this.#row = new Int32Array(pairCount * 2);
      this.#column = new Int32Array(pairCount * 2);
      this.#pair = new Int32Array(pairCount * 2);
      this.#weight = new Float64Array(pairCount * 2);
    }
    let found = 0;
    let plain = true;
    for (let pair = 0; pair < pairCount; pair++) {
      if (similarity[pair] < CLOSE_MIN) continue;
      if (rowUse[truthAt[pair]] + columnUse[trackAt[pair]] > 0) plain = false;
      rowUse[truthAt[pair]] = 1;
      columnUse[trackAt[pair]] = 1;
      this.#pair[found++] = pair;
    }
    this.#found = found;
    return plain;
  }

  /** Leaves only the best of the close pairs. */
  #choose(frame: ScoredFrame, before: ClearFrame | null): void {
    const stamp = ++this.#stamp;
    if (before !== null) {
      for (let n = 0; n < before.matchCount; n++) {
        this.#kept[before.truth[n]] = before.track[n];
        this.#keptStamp[before.truth[n]] = stamp;
      }
    }
    for (let n = 0; n < this.#found; n++) {
      const pair = this.#pair[n];
      const truth = frame.truths[frame.truthAt[pair]];
      const kept = this.#keptStamp[truth] === stamp && this.#kept[truth] === frame.tracks[frame.trackAt[pair]];
      this.#row[n] = frame.truthAt[pair];
      this.#column[n] = frame.trackAt[pair];
      this.#weight[n] = frame.similarity[pair] + (kept ? KEEP_BONUS : 0);
    }
    this.#matcher.match(this.#found, this.#row, this.#column, this.#weight, frame.truthCount, frame.trackCount);
    let found = 0;
    for (let row = 0; row < frame.truthCount; row++) {
      const chosen = this.#matcher.pairOfRow[row];
      if (chosen !== NONE) this.#pair[found++] = this.#pair[chosen];
    }
    this.#found = found;
  }

  /** Adds a matched frame, the newest, to the sums and to the chains of its truths. */
  #record(serial: number): void {
    const clear = this.frames.clear(serial);
    const { matchCount, truth: truths, track: tracks, switched, nextSerial } = clear;
    const lastSerial = this.#lastSerial;
    const newest = this.#newest;
    this.matched += matchCount;
    for (let n = 0; n < matchCount; n++) {
      const truth = truths[n];
      const track = tracks[n];
      const last = lastSerial[truth];
      nextSerial[n] = NONE;
      switched[n] = 0;
      this.#matches[truth]++;
      if (last !== NONE) {
        const previous = last === newest ? this.#newestClear! : this.frames.clear(last);
        const at = this.#lastAt[truth];
        previous.nextSerial[at] = serial;
        previous.nextAt[at] = n;
        if (this.#lastTrack[truth] !== track) {
          switched[n] = 1;
          this.switches++;
        }
      }
      if (last === NONE || last !== newest) {
        if (this.#starts[truth]++ > 0) this.fragmentations++;
      }
      lastSerial[truth] = serial;
      this.#lastAt[truth] = n;
      this.#lastTrack[truth] = track;
    }
    if (!clear.counts) return;
    this.#newest = serial;
    this.#newestClear = clear;
  }

  /** Matches from the first frame that counts on, until one comes out as it was; true when any did not. */
  #rematch(first: number): boolean {
    let before: ClearFrame | null = null;
    for (let serial = first; serial < this.frames.end; serial++) {
      const clear = this.frames.clear(serial);
      if (!clear.counts) continue;
      if (clear.plain || !this.#match(serial, before)) return serial > first;
      before = clear;
    }
    return true;
  }

  /** All sums and chains, from the matchings there are. */
  #recount(): void {
    this.clear();
    for (let serial = this.frames.oldest; serial < this.frames.end; serial++) this.#record(serial);
  }

  /** As if there had been no frame. */
  clear(): void {
    this.matched = 0;
    this.switches = 0;
    this.fragmentations = 0;
    this.#matches.fill(0);
    this.#starts.fill(0);
    this.#lastSerial.fill(NONE);
    this.#newest = NONE;
    this.#newestClear = null;
  }

  #room(truths: number): void {
    if (truths <= this.#matches.length) return;
    const size = truths * 2;
    const wider = <A extends Int32Array | Float64Array>(old: A, fresh: A): A => {
      fresh.set(old);
      return fresh;
    };
    this.#matches = wider(this.#matches, new Int32Array(size));
    this.#starts = wider(this.#starts, new Int32Array(size));
    this.#lastSerial = wider(this.#lastSerial, new Float64Array(size).fill(NONE));
    this.#lastAt = wider(this.#lastAt, new Int32Array(size));
    this.#lastTrack = wider(this.#lastTrack, new Int32Array(size));
    this.#kept = wider(this.#kept, new Int32Array(size));
    this.#keptStamp = wider(this.#keptStamp, new Int32Array(size));
  }
}
