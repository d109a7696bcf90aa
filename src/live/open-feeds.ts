/**
 * The feeds that are open: who may open one, what has been accepted from each, and who waits for its end. What is
 * accepted is ahead of what is durable; after a fault of the disk the two are the same again, and the rest must be sent
 * once more.
 */
import { beyondCeiling, type Config, resolveStream, type SettingsPatch } from '../config/config.js';
import type { DurableLog } from '../store/log-port.js';
import type { LogRecord } from '../store/record.js';
import { StorageFault } from '../store/storage-fault.js';
import type { StreamPlan } from '../stream/plan.js';
import type { StreamInfo } from '../stream/status.js';
import type { FeedId } from '../wire/feed.js';
import type { Finding } from '../wire/findings.js';
import type { FeedPart, Shape } from '../wire/objects.js';
import type { HeldAcks } from './held-acks.js';
import { exceeded, type Refusal, refuseSettings, refuseShape } from './refusal.js';
import type { Streams } from './streams.js';

/** A hello that was accepted: the number of the first frame that is not stored, and how the stream is judged. */
export interface Admission {
  nextSeq: number;
  plan: StreamPlan;
  /** what is wrong with how this feed is wired */
  findings: readonly Finding[];
  /** its stream was not there before */
  isNew: boolean;
  /** for whoever appends to a shared log: what its records carry */
  epoch?: number;
}

/** A feed as far as it was accepted. */
interface OpenFeed {
  readonly id: FeedId;
  /** of its last hello, where others append to the log too */
  epoch?: number;
  /** highest number accepted; a fraction within a foreign message */
  acceptedSeq: number;
  durableSeq: number;
  /** its hello is logged, or on its way */
  opened: boolean;
  openDurable: boolean;
  ended: boolean;
  /** resolves when everything accepted so far may be acked */
  admitted: Promise<void>;
  /** resolves when its end has taken effect */
  over: Promise<void>;
}

interface Entry {
  plan: StreamPlan;
  /** the log knows the plan */
  planDurable: boolean;
  feeds: Map<string, OpenFeed>;
}

interface Waiter {
  resolve(): void;
  reject(fault: StorageFault): void;
}

const keyOf = (id: { tracker: string | null }) => id.tracker ?? '';

export class OpenFeeds {
  readonly #entries = new Map<string, Entry>();
  /** feeds that had ended and said hello again */
  readonly #returning = new Set<OpenFeed>();
  /** who waits for the end of a feed to take effect */
  readonly #ends = new Map<string, Waiter>();

  constructor(
    readonly config: Config,
    readonly log: DurableLog,
    readonly streams: Streams,
    readonly heldAcks: HeldAcks,
    /** epoch milliseconds */
    readonly now: () => number,
  ) {}

  has(stream: string): boolean {
    return this.#entries.has(stream);
  }

  /** Opens a feed within the limits. A stream's settings are those of the configuration and of its first hello. */
  open(id: FeedId, patch?: SettingsPatch, shape?: Shape, ifNew?: Refusal): Admission | Refusal {
    const isNew = !this.has(id.stream);
    if (isNew && ifNew) return ifNew;
    const feed = this.#admit(id, patch, shape);
    if ('code' in feed) return feed;
    try {
      this.#ensureOpen(feed);
    } catch (error) {
      // while the disk takes nothing, the feed is opened with its first part
      if (!(error instanceof StorageFault)) throw error;
    }
    const { plan } = this.#entries.get(id.stream)!;
    const all = this.streams.get(id.stream)?.info().findings ?? [];
    const findings =
      id.role === 'reference' ? all : all.filter(({ tracker }) => (tracker ?? id.tracker) === id.tracker);
    const admission: Admission = { nextSeq: Math.floor(feed.acceptedSeq) + 1, plan, findings, isNew };
    if (feed.epoch !== undefined) admission.epoch = feed.epoch;
    return admission;
  }

  /** Resolves when the log has the hello of a feed. */
  opened(id: FeedId): Promise<void> {
    return this.#find(id)?.admitted ?? Promise.resolve();
  }

  hasEnded(id: FeedId): boolean {
    return this.#find(id)?.ended ?? false;
  }

  /** For whoever is about to append a part to a shared log: a feed that had ended, or was retired, is open again. */
  async restart(id: FeedId): Promise<number> {
    const feed = this.#find(id) ?? this.#reopen(id);
    // its hello may have been another owner's
    if (feed.ended) this.#returning.add(feed);
    if (this.#returning.size > 0) this.#restart(id.stream);
    this.#ensureOpen(feed);
    await feed.admitted;
    return feed.epoch!;
  }

  /** Appends a part to the log, or throws a StorageFault. Resolves when it may be acked. */
  append(id: FeedId, part: FeedPart, receivedMs: number): Promise<void> {
    const feed = this.#find(id) ?? this.#reopen(id);
    if (part.seq <= feed.acceptedSeq) return feed.admitted;
    if (this.#returning.size > 0) this.#restart(id.stream);
    this.#ensureOpen(feed);
    const { stream, role, tracker } = id;
    const record: LogRecord = { kind: 'part', stream, atMs: receivedMs, role, tracker, part };
    if (feed.epoch !== undefined) record.epoch = feed.epoch;
    const durable = this.log.append(record);
    feed.admitted = this.heldAcks.admit(id, this.streams.admit(stream, durable));
    feed.acceptedSeq = part.seq;
    return feed.admitted;
  }

  /** The feed is finished. Resolves when that has taken effect. */
  async end(id: FeedId): Promise<void> {
    const feed = this.#find(id);
    if (!feed) return;
    if (feed.ended) {
      // it had nothing more to say
      this.#returning.delete(feed);
      return feed.over;
    }
    this.#ensureOpen(feed);
    const { stream, role, tracker } = id;
    const record: LogRecord = { kind: 'end', stream, atMs: this.now(), role, tracker, ...epochOf(feed) };
    const key = keyOfEnd(record);
    feed.over = new Promise<void>((resolve, reject) => {
      this.#ends.set(key, { resolve, reject });
    });
    // whoever waits for it hears of a fault; nobody has to wait
    feed.over.catch(() => {});
    try {
      await this.log.append(record);
      await feed.over;
    } finally {
      this.#ends.delete(key);
    }
  }

  /** The connection of a feed is gone, and it did not say that this was the end. */
  cut(id: FeedId): void {
    const feed = this.#find(id);
    if (!feed?.opened || feed.ended) return;
    const { stream, role, tracker } = id;
    try {
      const seq = feed.epoch === undefined ? {} : { epoch: feed.epoch, seq: feed.acceptedSeq };
      this.log.append({ kind: 'cut', stream, atMs: this.now(), role, tracker, ...seq }).catch(() => {});
    } catch (error) {
      // once the disk takes something again, all feeds are waited for
      if (!(error instanceof StorageFault)) throw error;
    }
  }

  /** These records have become durable. */
  committed(records: readonly LogRecord[]): void {
    for (const record of records) this.#committed(record);
  }

  #committed(record: LogRecord): void {
    const entry = 'role' in record ? this.#entries.get(record.stream) : undefined;
    const feed = entry?.feeds.get(keyOf(record as { tracker: string | null }));
    if (!entry || !feed) return;
    if (record.kind === 'part') {
      if (record.epoch !== feed.epoch || record.part.seq <= feed.durableSeq) return;
      feed.durableSeq = record.part.seq;
      feed.acceptedSeq = Math.max(feed.acceptedSeq, feed.durableSeq);
    } else if (record.kind === 'open') {
      feed.opened = feed.openDurable = entry.planDurable = true;
    } else if (record.kind === 'end' && record.epoch === feed.epoch) feed.ended = true;
  }

  /** A record has taken effect. */
  applied(record: LogRecord): void {
    if (record.kind === 'end') this.#ends.get(keyOfEnd(record))?.resolve();
  }

  /** What others have opened, or kept from retiring, is known here too. */
  follow(record: LogRecord, stream: { info(): StreamInfo; plan: StreamPlan }): void {
    if (record.kind === 'open' ? !this.#isKnown(record) : record.kind === 'retire' && record.ifIdle === true)
      this.restore(stream.info(), stream.plan);
  }

  #isKnown({ stream, tracker, epoch }: Extract<LogRecord, { kind: 'open' }>): boolean {
    return this.#entries.get(stream)?.feeds.get(keyOf({ tracker }))?.epoch === epoch;
  }

  /** What was accepted and is not durable is forgotten. */
  revert(): void {
    for (const { feeds } of this.#entries.values()) {
      for (const feed of feeds.values()) {
        feed.acceptedSeq = feed.durableSeq;
        feed.opened &&= feed.openDurable;
        // a commit in doubt may turn out to be stored: whoever asks again must not hear of its failure
        feed.admitted = Promise.resolve();
      }
    }
  }

  /** A tracker, or with null the stream, is retired; whoever still sends opens it anew. */
  retire(stream: string, tracker: string | null): void {
    for (const feed of this.#returning)
      if (feed.id.stream === stream && (tracker === null || feed.id.tracker === tracker)) this.#returning.delete(feed);
    if (tracker === null) this.#entries.delete(stream);
    else this.#entries.get(stream)?.feeds.delete(tracker);
  }

  /** The feeds of a recovered stream. */
  restore({ stream, feeds }: StreamInfo, plan: StreamPlan): void {
    const entry: Entry = { plan, planDurable: true, feeds: new Map() };
    for (const { role, tracker, seq, ended, epoch } of feeds) {
      const feed = newFeed({ stream, role, tracker });
      entry.feeds.set(keyOf(feed.id), {
        ...feed,
        acceptedSeq: seq,
        durableSeq: seq,
        opened: true,
        openDurable: true,
        ended,
        ...(epoch === undefined ? {} : { epoch }),
      });
    }
    this.#entries.set(stream, entry);
  }

  /** Nobody waits for an end any longer. */
  close(): void {
    const message = 'the evaluator stopped; what was stored takes effect at its next start';
    for (const { reject } of this.#ends.values()) reject(new StorageFault('storage_closed', message));
  }

  #find(id: FeedId): OpenFeed | undefined {
    return this.#entries.get(id.stream)?.feeds.get(keyOf(id));
  }

  #admit(id: FeedId, patch: SettingsPatch = {}, shape?: Shape): OpenFeed | Refusal {
    const entry = this.#entries.get(id.stream) ?? this.#newEntry(id.stream, patch);
    if ('code' in entry) return entry;
    const refusal = refuseShape(entry.plan, id.stream, shape) ?? refuseSettings(entry.plan.settings, patch);
    if (refusal) return refusal;
    const feed = entry.feeds.get(keyOf(id)) ?? this.#newFeed(entry, id);
    if ('code' in feed) return feed;
    this.#entries.set(id.stream, entry);
    entry.feeds.set(keyOf(id), feed);
    if (feed.ended) this.#returning.add(feed);
    return feed;
  }

  /** A feed that was retired while its client was connected. */
  #reopen(id: FeedId): OpenFeed {
    const feed = this.#admit(id);
    if ('code' in feed) throw new Error(feed.message);
    return feed;
  }

  /**
   * A part of this stream is about to be appended: its feeds that had ended and said hello again start anew. A hello
   * alone starts nothing, because its client may only want to know whether the end was heard.
   */
  #restart(stream: string): void {
    const returning = [...this.#returning].filter(({ id }) => id.stream === stream);
    for (const feed of returning) {
      this.#returning.delete(feed);
      Object.assign(feed, { ended: false, opened: false, openDurable: false });
    }
    for (const feed of returning) this.#ensureOpen(feed);
  }

  /** The hello of a feed is logged once; the first one of a stream brings the settings. */
  #ensureOpen(feed: OpenFeed): void {
    if (feed.opened) return;
    const { stream, role, tracker } = feed.id;
    const { plan, planDurable } = this.#entries.get(stream)!;
    const atMs = this.now();
    // another one with each hello, also after a retirement
    if (this.log.shared) feed.epoch = Math.max(atMs, (feed.epoch ?? 0) + 1);
    const settings = planDurable ? {} : { settings: plan };
    feed.admitted = this.log.append({ kind: 'open', stream, atMs, role, tracker, ...settings, ...epochOf(feed) });
    feed.opened = true;
  }

  #newEntry(stream: string, patch: SettingsPatch): Entry | Refusal {
    const { streams } = this.config.limits;
    if (this.#entries.size >= streams) return exceeded('streams', 'stream', `${streams} streams are open`, streams);
    const resolved = beyondCeiling(this.config, stream, patch) ?? resolveStream(this.config, stream, patch);
    if ('message' in resolved)
      return { code: 'settings_invalid', path: `settings.${resolved.path}`, message: resolved.message };
    return { plan: { ...resolved, patch }, feeds: new Map(), planDurable: false };
  }

  #newFeed(entry: Entry, id: FeedId): OpenFeed | Refusal {
    const { trackersPerStream } = this.config.limits;
    const trackers = [...entry.feeds.values()].filter((feed) => feed.id.role === 'tracker').length;
    return id.role === 'tracker' && trackers >= trackersPerStream
      ? exceeded('trackersPerStream', 'tracker', `stream ${id.stream} has ${trackers} trackers`, trackersPerStream)
      : newFeed(id);
  }
}

const epochOf = ({ epoch }: OpenFeed) => (epoch === undefined ? {} : { epoch });
const keyOfEnd = ({ stream, tracker }: { stream: string; tracker: string | null }) => `${stream}\n${tracker ?? ''}`;

const newFeed = (id: FeedId): OpenFeed => ({
  id,
  acceptedSeq: 0,
  durableSeq: 0,
  opened: false,
  openDurable: false,
  ended: false,
  admitted: Promise.resolve(),
  over: Promise.resolve(),
});
