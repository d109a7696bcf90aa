/**
 * The companion scores of the last T frames, or of a whole sequence (T frames long). A frame that enters or leaves
 * costs what its own objects cost; CLEAR is then a matter of reading sums, Identity and HOTA are worked out when asked
 * for. Promise: after every push `totals()` is what a fresh window over the same frames would give.
 */

import type { Frame } from '../metric/evaluation.js';
import { type PackedFrame, packFrame } from '../metric/frame.js';
import { InputError } from '../metric/input-error.js';
import type { FrameView } from '../metric/window/frame-view.js';
import { Clear, ClearFrame } from './clear.js';
import { Hota } from './hota.js';
import { IdentityScores } from './identity.js';
import { Roster, ScoredFrame } from './roster.js';
import type { SimilarityRule } from './similarity.js';
import { emptyTotals, type Scores, scoresOf, type Totals } from './totals.js';

export class ScoreWindow {
  #oldest = 0;
  #end = 0;
  readonly #scored: ScoredFrame[] = [];
  readonly #clearFrames: ClearFrame[] = [];
  readonly #roster: Roster;
  readonly #clear: Clear;
  readonly #identity = new IdentityScores();
  readonly #hota = new Hota();

  constructor(
    readonly windowFrames: number,
    rule: SimilarityRule = { kind: 'iou' },
  ) {
    if (!(Number.isSafeInteger(windowFrames) && windowFrames >= 1))
      throw new InputError([
        { path: 'windowFrames', value: windowFrames, message: 'must be a whole number of frames, at least 1' },
      ]);
    this.#roster = new Roster(rule);
    const self = this;
    this.#clear = new Clear({
      get oldest() {
        return self.#oldest;
      },
      get end() {
        return self.#end;
      },
      scored: (serial) => self.#scored[serial % windowFrames],
      clear: (serial) => self.#clearFrames[serial % windowFrames],
    });
  }

  /** Frames in the window now. */
  get frames(): number {
    return this.#end - this.#oldest;
  }

  /** Adds the next frame, checked and packed by the kernel; beyond T frames the oldest leaves. */
  push(frame: FrameView): void {
    const at = this.#end % this.windowFrames;
    if (this.frames === this.windowFrames) this.#leave();
    else if (this.#scored.length === at) {
      this.#scored.push(new ScoredFrame());
      this.#clearFrames.push(new ClearFrame());
    }
    this.#roster.enter(frame, this.#scored[at]);
    this.#clear.enter(this.#end++, this.#roster);
  }

  /** As new, with the memory it has. */
  clear(): void {
    this.#oldest = this.#end = 0;
    this.#roster.clear();
    this.#clear.clear();
  }

  #leave(): void {
    const serial = this.#oldest++;
    this.#clear.leave(serial);
    this.#roster.leave(this.#scored[serial % this.windowFrames]);
  }

  totals(): Totals {
    const roster = this.#roster;
    const totals = emptyTotals();
    totals.frames = this.frames;
    totals.truths = roster.truthTotal;
    totals.tracks = roster.trackTotal;
    totals.truthIds = roster.truths.numbers.size;
    totals.trackIds = roster.tracks.numbers.size;
    totals.matched = this.#clear.matched;
    totals.switches = this.#clear.switches;
    totals.fragmentations = this.#clear.fragmentations;
    Object.assign(totals, this.#clear.coverage(roster));
    // in the order of the frames, so that the digits do not depend on what was in the window before
    for (let serial = this.#oldest; serial < this.#end; serial++)
      totals.similarity += this.#clearFrames[serial % this.windowFrames].similarity;
    totals.identityMatched = this.#identity.matched(roster);
    this.#hota.score(this.#inOrder(), roster, totals);
    return totals;
  }

  scores(): Scores {
    return scoresOf(this.totals());
  }

  #inOrder(): ScoredFrame[] {
    const { windowFrames } = this;
    const list = new Array<ScoredFrame>(this.frames);
    for (let n = 0; n < list.length; n++) list[n] = this.#scored[(this.#oldest + n) % windowFrames];
    return list;
  }
}

/** windows up to this length are scored in memory that is kept for the next one */
const KEPT_FRAMES = 2000;
let kept: { window: ScoreWindow; rule: SimilarityRule } | null = null;

/** A cleared window for so many frames, in which all take turns: whoever fills it reads it and clears it at once. */
export function sharedWindow(length: number, rule: SimilarityRule): ScoreWindow {
  if (kept && kept.window.windowFrames >= length && isSame(kept.rule, rule)) return kept.window;
  const window = new ScoreWindow(Math.max(1, length), rule);
  if (length <= KEPT_FRAMES) kept = { window, rule };
  return window;
}

const isSame = (one: SimilarityRule, other: SimilarityRule): boolean =>
  one.kind === other.kind && (one.kind === 'iou' || (other.kind !== 'iou' && one.zeroDistance === other.zeroDistance));

/** What the scores of a finished sequence are made of. Throws InputError. */
export function scoreTotals(frames: Iterable<Frame>, rule: SimilarityRule = { kind: 'iou' }): Totals {
  const list = Array.isArray(frames) ? (frames as Frame[]) : [...frames];
  return totalsOf(packedInTurn(list, rule), list.length, rule);
}

/** The same of frames that are packed. */
export const scorePacked = (packed: readonly PackedFrame[], rule: SimilarityRule): Totals =>
  totalsOf(packed, packed.length, rule);

function totalsOf(frames: Iterable<PackedFrame>, count: number, rule: SimilarityRule): Totals {
  if (count === 0) return emptyTotals();
  const window = sharedWindow(count, rule);
  try {
    for (const frame of frames) window.push(frame);
    return window.totals();
  } finally {
    window.clear();
  }
}

function* packedInTurn(list: readonly Frame[], { kind }: SimilarityRule): Generator<PackedFrame> {
  let packed: PackedFrame | undefined;
  let stride = 0;
  for (let n = 0; n < list.length; n++) {
    // what a window needs of a frame is copied: the next one may use its memory
    packed = packFrame(list[n], kind, stride, `frames[${n}]`, packed);
    stride ||= packed.stride;
    yield packed;
  }
}

/** The companion scores of a finished sequence. Throws InputError. */
export function scoreFrames(frames: Iterable<Frame>, rule: SimilarityRule = { kind: 'iou' }): Scores {
  return scoresOf(scoreTotals(frames, rule));
}
