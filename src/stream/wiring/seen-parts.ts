/**
 * The last parts of a feed, kept while it is examined: of every stream that begins there are 64 of each feed, so they
 * are kept in few bytes, and unpacked to be looked at, which happens now and then.
 */
import { DecimalReader, NumberDraft } from '../../metric/window/decimals.js';
import type { FeedPart, PackedList } from '../../wire/objects.js';
import type { ReceivedPart } from '../../wiring/agreement.js';

const SEEN_MAX = 64;
/** objects of the parts that are kept of a feed, unless they are few parts */
const SEEN_OBJECTS_MAX = 4096;
const SEEN_MIN = 16;

/** Objects without their coordinates; the same for parts with the same ids. */
type Names = Omit<PackedList, 'coordinates'>;

interface Kept {
  k: number | undefined;
  t: number | undefined;
  receivedMs: number;
  names: Names;
  coordinates: readonly number[];
  /** they have few decimals */
  isPacked: boolean;
}

// scratch
const draft = new NumberDraft();

export class SeenParts {
  readonly #parts: Kept[] = [];
  #objectCount = 0;

  constructor(parts: readonly ReceivedPart[] = []) {
    for (const part of parts) this.add(part, part.receivedMs);
  }

  get length(): number {
    return this.#parts.length;
  }

  /** Time of the newest. */
  get newest(): number | undefined {
    return this.#parts.at(-1)?.t;
  }

  add({ k, t, objects }: Pick<FeedPart, 'k' | 't' | 'objects'>, receivedMs: number): void {
    const { coordinates, ...own } = objects;
    const before = this.#parts.at(-1)?.names;
    const names = before && isSame(own, before) ? before : own;
    draft.clear();
    const isPacked = draft.pushDecimals(coordinates, names.ids.length * names.stride, names.stride);
    this.#parts.push({ k, t, receivedMs, names, coordinates: isPacked ? draft.take() : coordinates.slice(), isPacked });
    this.#objectCount += names.ids.length;
    while (this.length > SEEN_MAX || (this.#objectCount > SEEN_OBJECTS_MAX && this.length > SEEN_MIN))
      this.#objectCount -= this.#parts.shift()!.names.ids.length;
  }

  clear(): void {
    this.#parts.length = this.#objectCount = 0;
  }

  /** Copies of the parts, oldest first. */
  list(): ReceivedPart[] {
    return this.#parts.map(({ k, t, receivedMs, names, isPacked, coordinates: kept }) => {
      const { shape, stride, ids, ...more } = names;
      const coordinates = isPacked ? new DecimalReader(kept, 0).decimals(ids.length * stride, stride) : kept.slice();
      const objects = { shape, stride, ids, coordinates, ...more };
      return { receivedMs, objects, ...(k !== undefined && { k }), ...(t !== undefined && { t }) };
    });
  }
}

/** Of those with nothing but ids; what else is known of objects changes all the time. */
function isSame(one: Names, other: Names): boolean {
  if (Object.keys(one).length > 3 || Object.keys(other).length > 3) return false;
  if (one.shape !== other.shape || one.stride !== other.stride || one.ids.length !== other.ids.length) return false;
  return one.ids.every((id, n) => id === other.ids[n]);
}
