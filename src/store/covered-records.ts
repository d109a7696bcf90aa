/**
 * Which records are covered by snapshots of their streams, and so are no longer needed to recover. Invariant: every
 * record before `floor()` is covered.
 */

/** streams named at a time */
const OLDEST_MAX = 64;

export class CoveredRecords {
  /** stream: its first record that no snapshot covers */
  readonly #uncovered = new Map<string, number>();
  /** stream: its newest record, when no snapshot covers it */
  readonly #newest = new Map<string, number>();
  readonly #snapshotAt = new Map<string, number>();
  /** stream: the position up to which its records count for nobody */
  readonly #retired = new Map<string, number>();

  /** A snapshot includes every record of its stream up to this position; one of a retired stream is empty. */
  addSnapshot(stream: string, position: number, retired: boolean): void {
    this.#snapshotAt.set(stream, position);
    if (retired) this.#retired.set(stream, position);
    else this.#retired.delete(stream);
    if ((this.#newest.get(stream) ?? 0) > position) this.#uncovered.set(stream, position + 1);
    else {
      this.#uncovered.delete(stream);
      this.#newest.delete(stream);
    }
  }

  addRecord(stream: string, position: number): void {
    if (!this.#uncovered.has(stream)) this.#uncovered.set(stream, position);
    this.#newest.set(stream, position);
  }

  covers(stream: string, position: number): boolean {
    return position <= (this.#snapshotAt.get(stream) ?? 0);
  }

  /** Streams that are not retired, with the position of their snapshots; 0 for those that have none. */
  *snapshots(): Generator<[stream: string, position: number]> {
    for (const [stream, position] of this.#snapshotAt) if (!this.#retired.has(stream)) yield [stream, position];
    for (const stream of this.#uncovered.keys()) if (!this.#snapshotAt.has(stream)) yield [stream, 0];
  }

  /** The first position that is not covered, at most `end`. */
  floor(end: number): number {
    let floor = end;
    for (const position of this.#uncovered.values()) floor = Math.min(floor, position);
    return floor;
  }

  /** The streams whose snapshots are oldest. */
  oldest(): string[] {
    const oldestFirst = [...this.#uncovered].sort(([, a], [, b]) => a - b);
    return oldestFirst.slice(0, OLDEST_MAX).map(([stream]) => stream);
  }

  /** Retired streams of which the log holds nothing from `floor` on; their empty snapshots are not needed any more. */
  dropRetired(floor: number): string[] {
    const dropped: string[] = [];
    for (const [stream, position] of this.#retired) {
      if (position >= floor || this.#uncovered.has(stream)) continue;
      this.#retired.delete(stream);
      this.#snapshotAt.delete(stream);
      dropped.push(stream);
    }
    return dropped;
  }
}
