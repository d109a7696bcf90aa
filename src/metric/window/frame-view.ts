/**
 * Frames of a window to be read, as they came. Coordinates are copied when they are asked for, once: whoever looks at a
 * scene all day looks at a few of its frames.
 */
import type { FrameRecord } from './frame-record.js';
import type { Kinds } from './packed-frame.js';
import type { Trajectory } from './trajectory.js';

/** Objects of one feed, to be read: `stride` coordinates for each id. */
export interface FeedView {
  readonly ids: readonly string[];
  readonly coordinates: ArrayLike<number>;
  /** absent where nobody has one */
  readonly kinds?: Kinds | null;
  /** what each costs alone; absent where everybody costs the full price */
  readonly alone?: ArrayLike<number> | null;
}

/** A frame, to be read. */
export interface FrameView {
  readonly reference: FeedView;
  readonly tracker: FeedView;
  readonly stride: number;
}

/** The frames as they came. Feeds that show the same objects as in the frame before share their list of ids. */
export function viewFrames(records: readonly FrameRecord[]): FrameView[] {
  let truths: Trajectory[] | null = null;
  let tracks: Trajectory[] | null = null;
  let truthIds: string[] = [];
  let trackIds: string[] = [];
  return records.map((record) => {
    if (record.truths !== truths) truthIds = record.truths.map((truth) => truth.id);
    if (record.tracks !== tracks) trackIds = record.tracks.map((track) => track.id);
    truths = record.truths;
    tracks = record.tracks;
    return {
      reference: new FeedOf(truthIds, record, true),
      tracker: new FeedOf(trackIds, record, false),
      stride: record.stride,
    };
  });
}

class FeedOf implements FeedView {
  #coordinates: number[] | null = null;
  #alone: number[] | null | undefined;

  readonly #record: FrameRecord;
  readonly #ofTruths: boolean;

  constructor(
    readonly ids: readonly string[],
    record: FrameRecord,
    ofTruths: boolean,
  ) {
    this.#record = record;
    this.#ofTruths = ofTruths;
  }

  get coordinates(): number[] {
    this.#coordinates ??= this.#ofTruths ? this.#record.truthNumbers() : this.#record.trackNumbers();
    return this.#coordinates;
  }

  get kinds(): Kinds | null {
    return this.#ofTruths ? this.#record.truthKinds : this.#record.trackKinds;
  }

  get alone(): number[] | null {
    if (this.#alone === undefined) this.#alone = this.#ofTruths ? this.#record.truthAlone() : this.#record.trackAlone();
    return this.#alone;
  }

  toJSON(): FeedView {
    const { ids, coordinates, kinds, alone } = this;
    return { ids, coordinates, kinds, alone };
  }
}
