/**
 * Objects that come one by one, gathered into frames: a frame is complete when an object of another one comes. Rows and
 * messages of a message that is refused halfway must leave no trace, so objects are first listed and then added.
 */

import type { WireObject } from '../../src/wire/objects.js';
import type { Decoded, MessageProblem, Part, Stamp } from './adapter.js';
import { Mistake, PROBLEMS_MAX } from './adapter.js';

/** An object, or null for one that only says that its frame was there. */
export interface Sighting {
  stamp: Stamp;
  object: WireObject | null;
}

export class Gathering {
  #stamp: Stamp | null = null;
  #objects: WireObject[] = [];
  readonly #ids = new Set<string>();

  constructor(
    /** times this close to the first one of a frame belong to it */
    readonly toleranceSeconds = 0,
    /** whether an id that comes again begins the next frame */
    readonly isRepeatNext = false,
  ) {}

  get held(): boolean {
    return this.#stamp !== null;
  }

  /** Adds objects in their order and gives out the frames they complete. */
  add(sightings: readonly Sighting[]): Part[] {
    const parts: Part[] = [];
    for (const sighting of sightings) {
      if (this.#stamp === null || !this.#belongs(this.#stamp, sighting)) {
        if (this.#stamp) parts.push(this.#complete());
        this.#stamp = sighting.stamp;
      }
      if (sighting.object === null) continue;
      this.#objects.push(sighting.object);
      if (this.isRepeatNext) this.#ids.add(sighting.object.id);
    }
    return parts;
  }

  flush(): Decoded {
    return { parts: this.#stamp ? [this.#complete()] : [], problems: [], held: false };
  }

  #belongs({ k, t }: Stamp, { stamp, object }: Sighting): boolean {
    if (k !== stamp.k || (object && this.#ids.has(object.id))) return false;
    return t === stamp.t || Math.abs(t! - stamp.t!) <= this.toleranceSeconds;
  }

  #complete(): Part {
    const part: Part = { ...this.#stamp!, objects: this.#objects };
    this.#stamp = null;
    this.#objects = [];
    this.#ids.clear();
    return part;
  }
}

/** Reads rows one after the other; a wrong one does not hide the mistakes of the others. */
export function collect<T>(next: () => boolean, read: () => T | null): { items: T[]; problems: MessageProblem[] } {
  const items: T[] = [];
  const problems: MessageProblem[] = [];
  for (;;) {
    try {
      if (problems.length >= PROBLEMS_MAX || !next()) return { items, problems };
      const item = read();
      if (item !== null) items.push(item);
    } catch (error) {
      if (!(error instanceof Mistake)) throw error;
      problems.push(error.toProblem());
    }
  }
}

/** Reads the rows of a message into the frames of a feed. */
export function linesOf(
  message: unknown,
  gathering: Gathering,
  read: (text: string) => { items: Sighting[]; problems: MessageProblem[] },
): Decoded {
  try {
    if (typeof message !== 'string') throw new Mistake('', message, 'must be text: lines of the format');
    const { items, problems } = read(message);
    const parts = problems.length === 0 ? gathering.add(items) : [];
    return { parts, problems, held: gathering.held };
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    return { parts: [], problems: [error.toProblem()], held: gathering.held };
  }
}
