/**
 * A partition while this process owns it: its pipeline on the shared log, and the answers to what others ask its owner.
 * It is given up when somebody else has claimed it, whatever the lease says.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Layout } from '../cluster/layout.js';
import { answer } from '../cluster/nats/questions.js';
import { SharedLog } from '../cluster/shared-log.js';
import type { Config, SettingsPatch } from '../config/config.js';
import { Core } from '../edge/core.js';
import type { FeedRefusal } from '../edge/feeds/feed-port.js';
import { type Clock, Live } from '../live/live.js';
import { DataFolder } from '../store/folder.js';
import type { StreamPlan } from '../stream/plan.js';
import type { Logger } from '../telemetry/logger.js';
import type { Meters } from '../telemetry/meters.js';
import type { LiveEvent, Refused } from '../wire/events.js';
import type { FeedId } from '../wire/feed.js';
import type { Finding } from '../wire/findings.js';
import type { Shape } from '../wire/objects.js';
import type { MomentQuery } from '../wire/series-key.js';
import { dueMs } from './membership.js';
import type { Writers } from './writers.js';

/** A feed that an owner has admitted. */
export interface Admitted {
  nextSeq: number;
  plan: StreamPlan;
  findings: readonly Finding[];
  isNew: boolean;
  epoch: number;
  /** it must be opened again before its next frame */
  ended: boolean;
  dimensions: number;
}

export interface PartitionParts {
  config: Config;
  clock: Clock;
  logger: Logger;
  meters: Meters;
  layout: Layout;
  writers: Writers;
  /** of this process */
  id: string;
  /** what is told, once it is stored */
  onEvent(event: LiveEvent): void;
  /** milliseconds of a process's silence that this one could have heard; 0 of itself */
  silenceMs(process: string): number;
  /** a process may hold frames of a partition that are not stored, as it was not heard for this long, or said so */
  mayHoldFrames(process: string, partition: number, ms: number): boolean;
}

export class OwnedPartition {
  readonly openedMs = performance.now();
  /** milliseconds until its streams were there */
  replayMs = 0;
  readonly #stopAnswering: () => void;

  private constructor(
    readonly partition: number,
    readonly live: Live,
    readonly log: SharedLog,
    readonly core: Core<Live>,
    readonly parts: PartitionParts,
  ) {
    const { layout } = parts;
    this.#stopAnswering = answer(layout.connection, layout.ownerSubject(partition), (asked) => this.#answer(asked));
  }

  /** Where a process keeps what concerns itself alone. */
  static folder = (config: Config, partition: number): DataFolder =>
    new DataFolder(join(config.data.dir, 'partitions', String(partition)));

  static async open(partition: number, parts: PartitionParts): Promise<OwnedPartition> {
    const { clock, logger, meters, layout, writers, id } = parts;
    const began = performance.now();
    const settings = parts.config.cluster!;
    const folder = OwnedPartition.folder(parts.config, partition);
    const { dir } = folder;
    mkdirSync(dir, { recursive: true });
    const { data } = parts.config;
    const config = { ...parts.config, data: { ...data, dir } };
    let log!: SharedLog;
    let owned: OwnedPartition | null = null;
    const live: Live = await Live.start(config, clock, logger, {
      folder,
      resumes: false,
      replayRecords: settings.replayRecords,
      afterReading: async () => owned?.unheardStreams() ?? live.streams().map(({ stream }) => stream),
      // asked when the log is open; older configurations than that of before change nothing
      get configures() {
        return settings.version > log.chain.configVersion;
      },
      openLog: async (_data, owner) => {
        const opening = { logKeepBytes: settings.logKeepBytes, purgeMs: settings.purgeMs };
        const more = { heldBatches: settings.heldBatches, configVersion: settings.version };
        const writer = writers.of(partition);
        log = await SharedLog.open({ layout, partition, owner: id, writer, settings: { ...opening, ...more } }, owner);
        return log;
      },
    });
    const core = new Core({ config, live, meters, logger });
    core.events$.subscribe((event) => parts.onEvent(event));
    try {
      await live.recovered;
      owned = new OwnedPartition(partition, live, log, core, parts);
      owned.#cutUnknown();
      owned.cutAway();
    } catch (error) {
      await (owned ?? live).kill();
      throw error;
    }
    owned.replayMs = performance.now() - began;
    return owned;
  }

  /**
   * Feeds of a process that is gone have lost their connection, and nobody is left to say so. The log is told before
   * anybody misses their frames: their streams wait until they are back.
   */
  cutAway(): void {
    const { expiryMs } = this.parts.config.cluster!;
    for (const feed of this.log.origins.of((process) => this.parts.silenceMs(process) > expiryMs)) {
      this.log.origins.forget(feed);
      this.live.cut(feed);
    }
  }

  /** Feeds that were there just now, and of which the log does not say any more who brought them. */
  #cutUnknown(): void {
    const sinceMs = this.live.now() - this.parts.config.evaluation.unreadMaxMs;
    for (const { stream, feeds } of this.live.streams())
      for (const { role, tracker, ended, awaited, lastReceivedMs } of feeds) {
        const feed = { stream, role, tracker };
        if (!ended && !awaited && lastReceivedMs > sinceMs && !this.log.origins.has(feed)) this.live.cut(feed);
      }
  }

  /**
   * Streams of which frames may wait in a process that was due to be heard, or do wait in one that cannot store them:
   * nobody is late there meanwhile.
   */
  unheardStreams(): string[] {
    const ms = dueMs(this.parts.config.cluster!);
    const mayHoldFrames = (process: string) => this.parts.mayHoldFrames(process, this.partition, ms);
    return this.log.origins.of(mayHoldFrames).map(({ stream }) => stream);
  }

  readonly #answers = {
    open: (feed: FeedId, settings?: SettingsPatch, shape?: Shape, ifNew?: FeedRefusal) =>
      this.#open(feed, settings, shape, ifNew),
    restart: (feed: FeedId) => this.#restart(feed),
    refused: (feed: FeedId, type: Refused['type'], what: Pick<Refused, 'code' | 'path' | 'message'>) =>
      this.live.reportRefused(feed, type, what),
    window: (stream: string, tracker: string, profile: string) => this.live.window(stream, tracker, profile),
    moment: (wanted: MomentQuery) => this.live.moment(wanted),
    recentEvents: (stream: string) => this.recentEvents(stream),
  };

  /** With those of before this process owned it. */
  async recentEvents(stream?: string): Promise<LiveEvent[]> {
    await this.live.past;
    return this.live.recentEvents(stream);
  }

  #answer(asked: unknown): unknown {
    const [question, ...about] = asked as [string, ...unknown[]];
    const known = this.#answers as unknown as Record<string, (...about: unknown[]) => unknown>;
    if (!Object.hasOwn(known, question)) throw new Error(`nobody here knows the question ${question}`);
    return known[question](...about);
  }

  /** Everything stored by now has been delivered first: what a client was acked is not asked for again. */
  async #open(
    feed: FeedId,
    settings?: SettingsPatch,
    shape?: Shape,
    ifNew?: FeedRefusal,
  ): Promise<Admitted | FeedRefusal> {
    await this.log.catchUp();
    const opened = await this.live.openFeed(feed, settings, shape, ifNew as never);
    if (!('nextSeq' in opened)) return { code: opened.code, path: opened.path, message: opened.message };
    // frames that are stored before the feed is open would be dropped
    await this.live.opened(feed);
    const { dimensions = 0 } = this.live.streams().find(({ stream }) => stream === feed.stream) ?? {};
    const { nextSeq, plan, findings, isNew, epoch } = opened;
    return { nextSeq, plan, findings, isNew, epoch: epoch!, ended: this.live.hasEnded(feed), dimensions };
  }

  async #restart(feed: FeedId): Promise<number> {
    await this.log.catchUp();
    return this.live.restart(feed);
  }

  /** Applies what is stored, snapshots, and lets go. */
  async stop(): Promise<void> {
    this.#stopAnswering();
    await this.live.stop();
  }

  async kill(): Promise<void> {
    this.#stopAnswering();
    await this.live.kill();
  }
}
