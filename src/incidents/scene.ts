/**
 * The last frames of a series as a diagnosis looks at them: what both feeds had in each, and who lies on whom. Pairs
 * are found once, frame by frame and the closest first, whatever the metric assigned: a diagnosis asks where things
 * are, not what they cost. The work is bounded: of long windows and large scenes only some frames are looked at.
 */
import { BOX_DISTANCES, type DistanceName } from '../metric/params.js';
import type { FrameView } from '../metric/window/frame-view.js';
import { type FeedSample, type Judge, type Pair, pairUp, type ReceivedPart } from '../wiring/agreement.js';
import { BAD_MAX, COMPARED_MAX, PAIRED_MIN } from './thresholds.js';

/** What a diagnosis needs to know of a series. */
export interface SceneSettings {
  distance: DistanceName;
  cutoff: number;
}

/** Who lies on whom in one frame. */
export interface PairedFrame {
  n: number;
  pairs: Pair[];
  /** numbers of truths and tracks without a partner, of those that are judged */
  missed: number[];
  false: number[];
}

export class IncidentScene {
  /** number of the first frame that is looked at, and of the first that belongs to the trouble */
  readonly first: number;
  readonly began: number;
  readonly judge: Judge;
  readonly #shape: 'box' | 'point';
  #reference: ReceivedPart[] | null = null;
  #tracker: ReceivedPart[] | null = null;
  #paired: PairedFrame[] | null = null;
  #before: PairedFrame[] | null = null;

  /** `badFrames` is how many of the frames, the last ones, belong to the trouble. */
  constructor(
    private readonly views: readonly FrameView[],
    badFrames: number,
    { distance, cutoff }: SceneSettings,
    /** of truths, where they have one */
    readonly classes: ReadonlyMap<string, string> = new Map(),
    /** frames by which tracks are late when nothing is wrong: trackers smooth, boxes have habits; null: unknown */
    readonly usualLag: number | null = null,
  ) {
    this.#shape = BOX_DISTANCES.has(distance) ? 'box' : 'point';
    this.first = views.length - Math.max(1, Math.min(badFrames, views.length, BAD_MAX));
    this.began = Math.max(0, views.length - badFrames);
    this.judge = { distance, cutoff, by: 'frame', toleranceMs: 0, exact: true };
  }

  /** All frames, oldest first. */
  get reference(): readonly ReceivedPart[] {
    this.#reference ??= this.views.map((_, n) => this.#part('reference', n));
    return this.#reference;
  }

  get tracker(): readonly ReceivedPart[] {
    this.#tracker ??= this.views.map((_, n) => this.#part('tracker', n));
    return this.#tracker;
  }

  /** One in so many frames, those of the trouble from its first on: enough for healthy scenes, looked at all day. */
  thinned(stride: number): FeedSample {
    const sample: { reference: ReceivedPart[]; tracker: ReceivedPart[] } = { reference: [], tracker: [] };
    for (let n = this.first % stride; n < this.views.length; n += stride) {
      sample.reference.push(this.#part('reference', n));
      if (n >= this.first) sample.tracker.push(this.#part('tracker', n));
    }
    return sample;
  }

  #part(feed: 'reference' | 'tracker', n: number): ReceivedPart {
    const { stride, [feed]: view } = this.views[n];
    const objects = { shape: this.#shape, stride, ids: view.ids as string[], coordinates: listOf(view.coordinates) };
    return { k: n, receivedMs: n, objects };
  }

  /** Frames of the trouble that are looked at. */
  get span(): number {
    return this.views.length - this.first;
  }

  truths(n: number): ReceivedPart['objects'] {
    return this.reference[n].objects;
  }

  /** Whether an object counts when it has no partner: outside the coverage it does not. */
  isJudged(feed: 'reference' | 'tracker', n: number, at: number): boolean {
    return this.views[n][feed].alone?.[at] !== 0;
  }

  tracks(n: number): ReceivedPart['objects'] {
    return this.tracker[n].objects;
  }

  /** Numbers of the frames of the trouble. */
  *bad(): Iterable<number> {
    for (let n = this.first; n < this.views.length; n++) yield n;
  }

  /** Who lies on whom in frames of the trouble, oldest first. */
  paired(): readonly PairedFrame[] {
    this.#paired ??= this.#pairedFrames(this.first, this.views.length);
    return this.#paired;
  }

  /** The same in as many frames before it, as far as they are there. */
  pairedBefore(): readonly PairedFrame[] {
    this.#before ??= this.#pairedFrames(Math.max(0, this.began - BAD_MAX), this.began);
    return this.#before;
  }

  #pairedFrames(from: number, to: number): PairedFrame[] {
    let compared = 0;
    for (let n = from; n < to; n++) compared += this.truths(n).ids.length * this.tracks(n).ids.length;
    const stride = Math.max(1, Math.min((to - from) / PAIRED_MIN, compared / COMPARED_MAX));
    const frames: PairedFrame[] = [];
    // the newest always
    for (let back = 0; to - 1 - Math.floor(back) >= from; back += stride)
      frames.unshift(this.#pair(to - 1 - Math.floor(back)));
    return frames;
  }

  #pair(n: number): PairedFrame {
    const [truths, tracks] = [this.truths(n), this.tracks(n)];
    const pairs = pairUp(truths.coordinates, tracks.coordinates, truths.stride || tracks.stride || 1, this.judge);
    const found = new Set(pairs.map(({ i }) => i));
    const taken = new Set(pairs.map(({ j }) => j));
    return {
      n,
      pairs,
      missed: truths.ids.flatMap((_, i) => (found.has(i) || !this.isJudged('reference', n, i) ? [] : [i])),
      false: tracks.ids.flatMap((_, j) => (taken.has(j) || !this.isJudged('tracker', n, j) ? [] : [j])),
    };
  }
}

const listOf = (numbers: ArrayLike<number>): number[] => (Array.isArray(numbers) ? numbers : Array.from(numbers));
