/**
 * Durable records that wait to be applied, in fair turns: deficit round robin over streams, where a record costs as
 * much as it has objects, and more once it has shown to be more work than those are. Records of one stream keep their
 * order, so that a stream with a few frames does not wait behind all frames of a busy or heavy one. One that takes long
 * is applied in pieces, and others have their turn in between. Invariant: everything below `firstPosition` has been
 * applied.
 */
import type { LogRecord } from '../store/record.js';

interface Waiting {
  position: number;
  record: LogRecord;
}

interface Line<T> {
  records: T[];
  /** the next one */
  head: number;
  /** what it may still spend; what it has overspent is taken from its next turn */
  deficit: number;
}

/** objects that a stream may have applied in one turn */
const TURN_OBJECTS = 100;
/** objects of light streams that are judged with a millisecond of work */
const OBJECTS_PER_MS = 500;

export class Turns<T extends Waiting> implements Iterable<T> {
  /** by stream; the first one is next */
  readonly #lines = new Map<string, Line<T>>();
  #current: T | null = null;
  /** that of the current record */
  #line: Line<T> | null = null;
  #unfinished = false;

  add(waiting: T): void {
    const { stream } = waiting.record;
    const line = this.#lines.get(stream);
    if (line) line.records.push(waiting);
    else this.#lines.set(stream, { records: [waiting], head: 0, deficit: 0 });
  }

  /** The record that is being applied was so much work, which was counted: others have their turn first. */
  charge(workMs: number): void {
    if (this.#line) this.#line.deficit -= workMs * OBJECTS_PER_MS;
  }

  /** The record that is being applied is not done yet: it comes once more when the others have had their turn. */
  again(): void {
    this.#unfinished = true;
  }

  /** Of the record that is being applied; 0 when none is. */
  get currentPosition(): number {
    return this.#current?.position ?? 0;
  }

  /** Of the first record that is not wholly applied; infinite when there is none. */
  get firstPosition(): number {
    let position = this.#current?.position ?? Number.POSITIVE_INFINITY;
    for (const { records, head } of this.#lines.values())
      if (head < records.length) position = Math.min(position, records[head].position);
    return position;
  }

  /** Whether a record of the stream waits, or is being applied. */
  has(stream: string): boolean {
    return this.#lines.has(stream) || this.#current?.record.stream === stream;
  }

  [Symbol.iterator](): Generator<T> {
    return this.inTurnsOf(TURN_OBJECTS);
  }

  /**
   * Gives out what waits, also what comes meanwhile, so many objects of a stream at a time. Whoever asks for the next
   * one has applied the one before.
   */
  *inTurnsOf(objects: number): Generator<T> {
    for (let next = this.#lines.entries().next(); !next.done; next = this.#lines.entries().next()) {
      const [stream, line] = next.value;
      // who is alone keeps nobody waiting
      line.deficit = objects + (this.#lines.size === 1 ? Math.max(0, line.deficit) : line.deficit);
      this.#line = line;
      while (line.head < line.records.length && line.deficit > 0) {
        this.#current = line.records[line.head++];
        line.deficit -= costOf(this.#current.record);
        yield this.#current;
        this.#current = null;
        if (!this.#unfinished) continue;
        this.#unfinished = false;
        line.head--;
        line.deficit = 0;
      }
      this.#line = null;
      this.#lines.delete(stream);
      if (line.head === line.records.length) continue;
      // what is done is dropped now and then: a long line would be copied with every turn
      if (2 * line.head > line.records.length) {
        line.records = line.records.slice(line.head);
        line.head = 0;
      }
      this.#lines.set(stream, line);
    }
  }
}

/** In objects. Whatever is wrong with a record shows when it is applied, and is dealt with there. */
export const costOf = (record: LogRecord): number =>
  1 + (record.kind === 'part' ? (record.part?.objects?.ids?.length ?? 0) : 0);
