/**
 * When streams are snapshotted. A record is dropped from the log only when a snapshot covers it, and recovery replays
 * what came after the last one: so a stream is snapshotted every so many records or so much work, when the log is held
 * back by it, and at the end. A retired stream leaves a mark instead.
 *
 * Where others wait for a recovery, all streams together are to be repeated in a bounded time: while so many records of
 * any stream come, each has its turn, the one whose last snapshot is the oldest first. Turns are evenly spaced: at any
 * moment half of the streams have a snapshot of the second half of those records, and recovery repeats half of them.
 */
import type { DurableLog } from '../store/log-port.js';
import type { RunningStream, StreamSnapshot } from '../stream/running-stream.js';

/** milliseconds of counted work: recovery repeats no more of it than about this much */
const WORK_MS = 3000;
/** records of a stream between two snapshots, at least: one takes as long as some 25 records of 20 objects */
const LEAST_RECORDS = 60;

export interface SnapshotSettings {
  /** a stream is snapshotted after so many records */
  everyRecords: number;
  /** milliseconds between two snapshots, as far as their turn can wait */
  pauseMs: number;
  /** at the end, so much may wait for the disk */
  flushBytes: number;
  /** records of all streams that a recovery may have to repeat; infinite unless others wait for it */
  replayRecords: number;
}

export class Snapshots {
  /** stream: records since its last snapshot */
  readonly #records = new Map<string, number>();
  /** stream: its work when it was last snapshotted */
  readonly #workMs = new Map<string, number>();
  #savedMs = Number.NEGATIVE_INFINITY;
  /** records of all streams so far */
  #applied = 0;
  /** and when the last stream had its turn; infinite while nobody has one */
  #turnAt = Number.POSITIVE_INFINITY;
  /** stream: how many there were when the first came that its snapshot lacks; the oldest first */
  readonly #uncovered = new Map<string, number>();

  constructor(
    readonly log: DurableLog,
    readonly settings: SnapshotSettings,
    /** a stream that is evaluated here and now */
    readonly find: (stream: string) => RunningStream | undefined = () => undefined,
  ) {}

  /** A record of this stream was applied. */
  count(stream: RunningStream): void {
    const records = (this.#records.get(stream.name) ?? 0) + 1;
    this.#records.set(stream.name, records);
    this.#applied++;
    if (!this.#uncovered.has(stream.name)) this.#uncovered.set(stream.name, this.#applied);
    const { everyRecords, pauseMs } = this.settings;
    if (stream.workMs - (this.#workMs.get(stream.name) ?? 0) >= WORK_MS) this.save(stream);
    else if (records < everyRecords) this.#saveOldest();
    else {
      // streams of the same age take turns: a snapshot takes milliseconds
      const soon = performance.now() < this.#savedMs + pauseMs;
      if (!soon || records >= 2 * everyRecords) this.save(stream);
    }
  }

  /** Recovery is over: from now on there is time for turns. */
  beginTurns(): void {
    this.#turnAt = this.#applied;
  }

  /** Saves the stream with the oldest snapshot, when it is its turn. */
  #saveOldest(): void {
    const { replayRecords } = this.settings;
    if (replayRecords === Number.POSITIVE_INFINITY || this.#turnAt > this.#applied) return;
    const [[name, since]] = this.#uncovered;
    // one more than wait: the last of them has its turn in time
    const turns = this.#uncovered.size + 1;
    const most = Math.max(replayRecords, LEAST_RECORDS * turns);
    if (this.#applied - since < most && this.#applied - this.#turnAt < most / turns) return;
    const stream = this.find(name);
    if (stream?.inRecord) return;
    this.#turnAt = this.#applied;
    if (stream) void this.save(stream);
    else this.#uncovered.delete(name);
  }

  save(stream: RunningStream): void | Promise<void> {
    this.#records.set(stream.name, 0);
    this.#uncovered.delete(stream.name);
    if (stream.workMs > 0) this.#workMs.set(stream.name, stream.workMs);
    return stream.snapshot((snapshot) => this.store(stream.name, snapshot));
  }

  store(name: string, { state, position }: StreamSnapshot): void {
    this.#records.set(name, 0);
    this.#uncovered.delete(name);
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
      if (!stream.evaluated || this.#records.get(stream.name) === 0) continue;
      await this.save(stream);
      if (this.log.gauges.queuedBytes > this.settings.flushBytes) await this.log.flush().catch(() => {});
    }
  }

  /** The stream is retired, as of the record at this position. */
  retire(name: string, position: number): void {
    this.#records.delete(name);
    this.#uncovered.delete(name);
    this.#workMs.delete(name);
    this.log.saveSnapshot(name, position, null);
  }
}
