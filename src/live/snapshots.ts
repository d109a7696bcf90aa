/**
 * When streams are snapshotted. A record is dropped from the log only when a snapshot covers it, and recovery replays
 * what came after the last one: so a stream is snapshotted every so many records or seconds of work, when it moves,
 * when the log is held back by it, and at the end. A retired stream leaves a mark instead.
 */
import type { DurableLog } from '../store/log-port.js';
import type { RunningStream, StreamSnapshot } from '../stream/running-stream.js';

/** milliseconds of work in a worker: recovery repeats no more of it than about this much */
const WORK_MS = 3000;

export class Snapshots {
  /** stream: records since its last snapshot */
  readonly #records = new Map<string, number>();
  /** stream: milliseconds of work since its last snapshot, in a worker */
  readonly #workMs = new Map<string, number>();
  #savedMs = Number.NEGATIVE_INFINITY;

  constructor(
    readonly log: DurableLog,
    /** a stream is snapshotted after so many records */
    readonly everyRecords: number,
    /** milliseconds between two snapshots of streams in this thread, as far as their turn can wait */
    readonly pauseMs: number,
    /** at the end, so much may wait for the disk */
    readonly flushBytes: number,
  ) {}

  /** A record of this stream was applied; `workMs` is what it took in a worker. */
  count(stream: RunningStream, workMs = 0): void {
    const records = (this.#records.get(stream.name) ?? 0) + 1;
    this.#records.set(stream.name, records);
    if (workMs > 0 && this.#addWork(stream.name, workMs) >= WORK_MS) {
      void this.save(stream);
      return;
    }
    if (records < this.everyRecords) return;
    // streams of the same age take turns: a snapshot takes milliseconds
    const soon = performance.now() < this.#savedMs + this.pauseMs;
    if (!soon || records >= 2 * this.everyRecords) this.save(stream);
  }

  #addWork(name: string, workMs: number): number {
    const sum = (this.#workMs.get(name) ?? 0) + workMs;
    this.#workMs.set(name, sum);
    return sum;
  }

  /** Resolves when the log has it; at once unless the stream runs in a worker. */
  save(stream: RunningStream): void | Promise<void> {
    this.#records.set(stream.name, 0);
    this.#workMs.delete(stream.name);
    return stream.snapshot((snapshot) => this.store(stream.name, snapshot));
  }

  store(name: string, { state, position }: StreamSnapshot): void {
    this.#records.set(name, 0);
    this.log.saveSnapshot(name, position, state);
    this.#savedMs = performance.now();
  }

  /** The log is held back by these streams; one in the middle of a record is asked again. */
  saveHolders(streams: Iterable<RunningStream>): void {
    for (const stream of streams) if (!stream.inRecord) void this.save(stream);
  }

  /** The end: what has changed, one after the other, because a thousand snapshots are a hundred megabytes. */
  async saveLast(streams: Iterable<RunningStream>): Promise<void> {
    for (const stream of streams) {
      // an answer would come too late
      if (stream.queuedAhead > 0 || this.#records.get(stream.name) === 0) continue;
      await this.save(stream);
      if (this.log.gauges.queuedBytes > this.flushBytes) await this.log.flush().catch(() => {});
    }
  }

  /** The stream is retired, as of the record at this position. */
  retire(name: string, position: number): void {
    this.#records.delete(name);
    this.#workMs.delete(name);
    this.log.saveSnapshot(name, position, null);
  }
}
