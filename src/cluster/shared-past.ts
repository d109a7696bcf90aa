/**
 * The log of a partition for whoever looks back (`store/past.ts`). Its positions are the sequence numbers of batches,
 * each asked of the leader alone: nobody follows it there, and a consumer would cost more than the few that are read.
 */
import type { PastBatch, PastLog, PastPlace } from '../store/past.js';
import { StorageFault } from '../store/storage-fault.js';
import type { PartitionStream, TimedBatch } from './nats/partition-stream.js';

/** batches that are asked for before the one before has come, and their bytes, by the size of that one */
const AHEAD_MAX = 16;
const AHEAD_BYTES = 4 * 1024 ** 2;

export class SharedPast implements PastLog {
  constructor(
    readonly stream: Pick<PartitionStream, 'batchFrom'>,
    /** sequence number of the last batch that the owner has */
    readonly last: () => number,
    /** the log is closed */
    readonly over: AbortSignal,
  ) {}

  get lastPosition(): number {
    return this.last();
  }

  async placeOf(position: number): Promise<PastPlace | null> {
    const batch = await this.#from(position, this.over);
    return batch && { position: batch.sequence, timeMs: batch.timeMs };
  }

  /** More and more are asked for ahead: who looks for one part needs one batch. */
  async *batches(position: number, reverse: boolean): AsyncGenerator<PastBatch> {
    const left = new AbortController();
    const signal = AbortSignal.any([left.signal, this.over]);
    const asked: Array<{ sequence: number; answer: Promise<TimedBatch | null> }> = [];
    let next = reverse ? Math.min(position, this.lastPosition) : Math.max(position, 1);
    let ahead = 1;
    try {
      for (;;) {
        for (; asked.length < ahead && next >= 1 && next <= this.lastPosition; next += reverse ? -1 : 1) {
          const answer = this.#from(next, signal);
          // nobody waits for it when reading ends before
          answer.catch(() => {});
          asked.push({ sequence: next, answer });
        }
        const first = asked.shift();
        const batch = await first?.answer;
        if (!first || !batch) return;
        if (batch.sequence === first.sequence) {
          const { buffer, byteOffset, length } = batch.bytes;
          yield { bytes: length, records: Buffer.from(buffer, byteOffset, length) };
          ahead = Math.max(1, Math.min(AHEAD_MAX, 2 * ahead, Math.floor(AHEAD_BYTES / length)));
        } else if (!reverse) {
          asked.length = 0;
          next = batch.sequence;
        } else if (await this.#isPurged(first.sequence)) return;
      }
    } finally {
      left.abort();
    }
  }

  /** Nothing is before it any more. */
  async #isPurged(sequence: number): Promise<boolean> {
    const oldest = await this.placeOf(1);
    return oldest === null || oldest.position > sequence;
  }

  async #from(sequence: number, signal: AbortSignal): Promise<TimedBatch | null> {
    try {
      return await this.stream.batchFrom(sequence, signal);
    } catch (error) {
      if (this.over.aborted)
        throw new StorageFault('storage_closed', 'the partition has moved to another process; ask again in a moment');
      const { message } = error as Error;
      throw new StorageFault('storage_failed', `the brokers do not answer (${message}); ask again in a moment`);
    }
  }
}
