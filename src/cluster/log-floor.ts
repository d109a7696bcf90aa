/**
 * Which records of a partition a takeover still needs: for each stream, the batches with records that no snapshot
 * covers. The floor is the first batch that any stream needs.
 */
import { positionOf, sequenceOf } from './partition-log.js';

export class LogFloor {
  /** stream: sequence numbers of batches with records behind its last snapshot, in order */
  readonly #needed = new Map<string, number[]>();

  /** A record of this stream, at this position. */
  add(stream: string, position: number): void {
    const sequence = sequenceOf(position);
    const sequences = this.#needed.get(stream);
    if (!sequences) this.#needed.set(stream, [sequence]);
    else if (sequences.at(-1) !== sequence) sequences.push(sequence);
  }

  /** A snapshot includes every record of the stream up to this position. */
  covered(stream: string, position: number): void {
    const sequences = this.#needed.get(stream);
    if (!sequences) return;
    // the batch of the snapshot itself may have records behind it
    const left = sequences.filter((sequence) => positionOf(sequence + 1, 0) - 1 > position);
    if (left.length > 0) this.#needed.set(stream, left);
    else this.#needed.delete(stream);
  }

  /** The first batch that is needed, when the next one has this number. */
  floor(next: number): number {
    let floor = next;
    for (const [first] of this.#needed.values()) floor = Math.min(floor, first);
    return floor;
  }

  /** Streams that need a batch before this one. */
  holders(sequence: number): string[] {
    return [...this.#needed].flatMap(([stream, [first]]) => (first < sequence ? [stream] : []));
  }
}
