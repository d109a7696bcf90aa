/**
 * How far owners are behind what this process has stored. While frames have waited for too long to be evaluated, the
 * acks of those behind them wait too: clients run out of credit, and nothing grows without bound.
 */
import { positionOf } from '../cluster/partition-log.js';
import type { Directory } from './directory.js';

interface Stored {
  sequence: number;
  sinceMs: number;
}

export class PartitionLag {
  /** by partition: batches of this process that were not applied when we last looked, oldest first */
  readonly #stored = new Map<number, Stored[]>();

  constructor(
    readonly directory: Pick<Directory, 'applied' | 'appliedAtLeast'>,
    readonly maxMs: number,
    readonly now: () => number = () => performance.now(),
  ) {}

  /** Resolves when a batch that has just been stored may be acked. */
  admit(partition: number, sequence: number): Promise<void> {
    const nowMs = this.now();
    const stored = this.#unapplied(partition);
    if (stored.at(-1)?.sequence !== sequence) stored.push({ sequence, sinceMs: nowMs });
    if (nowMs - stored[0].sinceMs <= this.maxMs) return Promise.resolve();
    return this.directory.appliedAtLeast(partition, positionOf(sequence, 0));
  }

  #unapplied(partition: number): Stored[] {
    const applied = this.directory.applied(partition);
    const stored = this.#stored.get(partition) ?? [];
    const at = stored.findIndex(({ sequence }) => positionOf(sequence, 0) > applied);
    const left = at < 0 ? [] : at === 0 ? stored : stored.slice(at);
    this.#stored.set(partition, left);
    return left;
  }

  /** Seconds for which the oldest batch of this process has waited to be applied. */
  seconds(partition: number): number {
    const [oldest] = this.#unapplied(partition);
    return oldest ? (this.now() - oldest.sinceMs) / 1000 : 0;
  }
}
