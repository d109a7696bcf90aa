/**
 * Feeds of this process on their way into the logs of their partitions. A hello is the owner's to answer: it admits the
 * feed and says from which number on; frames then go into the log without asking anybody, also while the partition has
 * no owner.
 *
 * Invariant: a frame is acked when the log has it. A feed that may have been retired, or has ended, is admitted again
 * before its next frame: the log would drop it as one of a feed that is gone.
 */
import { type ask, UnansweredError } from '../cluster/nats/questions.js';
import type { Config, SettingsPatch } from '../config/config.js';
import type { FeedPort, FeedRefusal, OpenedFeed } from '../edge/feeds/feed-port.js';
import { StorageFault } from '../store/storage-fault.js';
import type { Refused } from '../wire/events.js';
import type { FeedId } from '../wire/feed.js';
import type { FeedPart, Shape } from '../wire/objects.js';
import type { Directory } from './directory.js';
import type { Admitted } from './owned-partition.js';
import type { PartitionLag } from './partition-lag.js';
import type { Writers } from './writers.js';

/** What a gateway asks of the owner of a partition. */
export type AskOwner = <T>(partition: number, question: string, ...about: unknown[]) => ReturnType<typeof ask<T>>;

export interface GatewayParts {
  config: Config;
  writers: Writers;
  directory: Pick<Directory, 'appliedAtLeast'>;
  lag: PartitionLag;
  askOwner: AskOwner;
  partitionOf(stream: string): number;
  now(): number;
  /** a stream that was there before, with points of this dimension */
  restore(stream: string, dimensions: number): void;
}

interface GatewayFeed {
  readonly id: FeedId;
  readonly partition: number;
  epoch: number;
  acceptedSeq: number;
  admitted: Promise<void>;
  /** when it last sent something, by our clock */
  lastMs: number;
  /** silent for so long, it may be retired soon */
  idleMs: number;
  /** must be admitted again before its next frame */
  stale: boolean;
  admitting: Promise<void> | null;
}

const keyOf = ({ stream, tracker }: { stream: string; tracker: string | null }) => `${stream}\n${tracker ?? ''}`;
const NOT_READY = 'no process owns the partition of this stream at the moment; try again soon';

export class Gateway implements FeedPort {
  readonly #feeds = new Map<string, GatewayFeed>();
  /** acks of a batch, by what it becomes durable with */
  readonly #acks = new WeakMap<Promise<number>, Promise<void>>();

  constructor(readonly parts: GatewayParts) {
    const { partitions } = parts.config.cluster!;
    for (let p = 0; p < partitions; p++) parts.writers.of(p).stalled = (ms) => this.#stalled(p, ms);
  }

  now(): number {
    return this.parts.now();
  }

  /** Streams that have a feed here. */
  streams(): Set<string> {
    return new Set([...this.#feeds.values()].map(({ id }) => id.stream));
  }

  hasStream(stream: string): boolean {
    return this.streams().has(stream);
  }

  async openFeed(
    id: FeedId,
    settings?: SettingsPatch,
    shape?: Shape,
    ifNew?: FeedRefusal,
  ): Promise<OpenedFeed | FeedRefusal> {
    const partition = this.parts.partitionOf(id.stream);
    const refusal = ifNew && { code: ifNew.code, path: ifNew.path, message: ifNew.message };
    try {
      const opened = await this.parts.askOwner<Admitted | FeedRefusal>(partition, 'open', id, settings, shape, refusal);
      if (!('nextSeq' in opened)) return opened;
      this.parts.restore(id.stream, opened.dimensions);
      this.#admit(id, partition, opened);
      return opened;
    } catch (error) {
      if (!(error instanceof UnansweredError)) throw error;
      return { code: 'not_ready', path: 'stream', message: NOT_READY };
    }
  }

  #admit(id: FeedId, partition: number, { epoch, nextSeq, ended, plan }: Admitted): void {
    const { idleMinutes } = plan.settings;
    const known = this.#feeds.get(keyOf(id));
    this.#feeds.set(keyOf(id), {
      id,
      partition,
      epoch,
      acceptedSeq: known?.epoch === epoch ? Math.max(known.acceptedSeq, nextSeq - 1) : nextSeq - 1,
      admitted: known?.admitted ?? Promise.resolve(),
      lastMs: this.now(),
      idleMs: idleMinutes * 30_000,
      stale: ended,
      admitting: null,
    });
  }

  ingest(id: FeedId, part: FeedPart, receivedMs: number): Promise<void> {
    const feed = this.#feeds.get(keyOf(id));
    if (!feed) return Promise.reject(new Error(`feed of ${id.stream} was not opened here`));
    if (part.seq <= feed.acceptedSeq) return feed.admitted;
    const nowMs = this.now();
    if (nowMs - feed.lastMs > feed.idleMs) feed.stale = true;
    feed.lastMs = nowMs;
    if (feed.stale || feed.admitting) {
      feed.admitting ??= this.#admitAgain(feed);
      return feed.admitting.then(() => this.#append(feed, part, receivedMs));
    }
    return this.#append(feed, part, receivedMs);
  }

  /** It had ended, or may have been retired: the owner opens it again, or says that it is open. */
  async #admitAgain(feed: GatewayFeed): Promise<void> {
    try {
      feed.epoch = await this.parts.askOwner<number>(feed.partition, 'restart', feed.id);
      feed.stale = false;
    } catch (error) {
      throw new StorageFault('storage_behind', `its feed cannot be opened again: ${(error as Error).message}`);
    } finally {
      // those that wait for it go first
      setImmediate(() => {
        feed.admitting = null;
      });
    }
  }

  #append(feed: GatewayFeed, part: FeedPart, receivedMs: number): Promise<void> {
    const { id, epoch, partition } = feed;
    try {
      const durable = this.parts.writers
        .of(partition)
        .appendBatched({ kind: 'part', ...id, atMs: receivedMs, epoch, part });
      feed.acceptedSeq = part.seq;
      feed.admitted = this.#acked(partition, durable);
      return feed.admitted;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #acked(partition: number, durable: Promise<number>): Promise<void> {
    let acked = this.#acks.get(durable);
    if (!acked) {
      acked = durable.then((sequence) => this.parts.lag.admit(partition, sequence));
      this.#acks.set(durable, acked);
    }
    return acked;
  }

  async end(id: FeedId): Promise<void> {
    const feed = this.#feeds.get(keyOf(id));
    if (!feed) return;
    const { partition, epoch } = feed;
    const position = await this.parts.writers.of(partition).append({ kind: 'end', ...id, atMs: this.now(), epoch });
    feed.stale = true;
    await this.parts.directory.appliedAtLeast(partition, position);
  }

  cut(id: FeedId): void {
    const feed = this.#feeds.get(keyOf(id));
    this.#feeds.delete(keyOf(id));
    if (!feed || feed.stale) return;
    const { partition, epoch, acceptedSeq: seq } = feed;
    try {
      this.parts.writers
        .of(partition)
        .append({ kind: 'cut', ...id, atMs: this.now(), epoch, seq })
        .catch(() => {});
    } catch (error) {
      // it is missed after the usual time, as if its connection had just fallen silent
      if (!(error instanceof StorageFault)) throw error;
    }
  }

  /** The owner does not know what waits here; what comes late by it is made up for by `stalled`. */
  unread(): void {}

  /** The brokers stored nothing for a while: nobody is late by that. */
  #stalled(partition: number, ms: number): void {
    const writer = this.parts.writers.of(partition);
    const streams = [...this.#feeds.values()].filter((feed) => feed.partition === partition);
    for (const stream of new Set(streams.map(({ id }) => id.stream)))
      try {
        writer.append({ kind: 'resume', stream, atMs: this.now(), awayMs: ms }).catch(() => {});
      } catch {
        return;
      }
  }

  /** A stream, or a tracker of it, is gone. */
  retired(stream: string): void {
    for (const feed of this.#feeds.values()) if (feed.id.stream === stream) feed.stale = true;
  }

  reportRefused(feed: FeedId, type: Refused['type'], what: Pick<Refused, 'code' | 'path' | 'message'>): void {
    const { code, path, message } = what;
    const partition = this.parts.partitionOf(feed.stream);
    this.parts.askOwner(partition, 'refused', feed, type, { code, path, message }).catch(() => {});
  }
}
