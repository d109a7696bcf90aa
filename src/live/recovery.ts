/**
 * Recovery from a restart and from a fault of the disk. After a restart the streams are those of the snapshots with the
 * records after them applied: the state of the log, whatever happened to the process. After either, streams resume: the
 * time away counts for nobody.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Config, resolveStream } from '../config/config.js';
import type { DurableLog } from '../store/log-port.js';
import type { StorageFault } from '../store/storage-fault.js';
import type { StreamPlan } from '../stream/plan.js';
import type { RunningStream } from '../stream/running-stream.js';
import type { Deadlines } from './deadlines.js';
import type { LiveLogger } from './logger.js';
import type { OpenFeeds } from './open-feeds.js';
import { completeRecord, completeState } from './restoration.js';
import type { Published, Streams } from './streams.js';
import { costOf } from './turns.js';

/** What streams that are rebuilt make of their records. */
interface Results {
  subscribe(next: (published: Published) => void): { unsubscribe(): void };
}

/** What the streams of a log are told when it is opened. */
export interface Opening {
  /** the evaluator was away, and nobody logged meanwhile; else the time since the last record counts, as ever */
  resumes?: boolean;
  /** streams are judged by the configuration of this start; else by that of before */
  configures?: boolean;
  /** records of all streams that the next one who opens it may have to repeat; as many as come unless given */
  replayRecords?: number;
}

/** objects that are read before they are applied, stream by stream: some ten megabytes */
const GATHERED_OBJECTS = 200_000;

export class Recovery {
  readonly #startedMs = performance.now();
  #position = 0;
  #repeated = 0;
  #sliceEnd = 0;

  constructor(
    readonly config: Config,
    readonly log: DurableLog,
    readonly streams: Streams,
    readonly feeds: OpenFeeds,
    readonly deadlines: Deadlines,
    readonly logger: LiveLogger,
    readonly opening: Required<Opening>,
  ) {}

  /**
   * Restores the streams, and with `complete` waits for those that have to be rebuilt, which else go on by themselves.
   * Returns the events so far that the process before may not have published.
   */
  async replay(results: Results, complete: boolean): Promise<Published[]> {
    const { publishedUpTo } = this.log;
    const unpublished: Published[] = [];
    const keep = (published: Published) => {
      if (published.position > publishedUpTo && published.events.length > 0) unpublished.push(published);
    };
    const subscription = results.subscribe(keep);
    await this.#restoreSnapshots();
    await this.#replayRecords(keep);
    if (complete) await this.streams.restored();
    subscription.unsubscribe();
    // streams were worked off one after the other; the order is that of the log
    return unpublished.sort((a, b) => a.position - b.position);
  }

  async #restoreSnapshots(): Promise<void> {
    for await (const snapshot of this.log.snapshots()) {
      if (snapshot.state === null) continue;
      this.streams.restore({ ...snapshot, state: completeState(snapshot.state) }, this.log.lastPosition);
      await this.#pause();
    }
  }

  async #replayRecords(publish: (published: Published) => void): Promise<void> {
    let gathered = 0;
    for await (const stored of this.log.records()) {
      const { position, record } = completeRecord(stored);
      this.#position = position;
      if (this.streams.readsItself(record.stream, position)) continue;
      this.#repeated++;
      this.streams.enqueue(position, [record]);
      gathered += costOf(record);
      if (gathered < GATHERED_OBJECTS) continue;
      await this.#applyGathered(publish);
      gathered = 0;
    }
    await this.#applyGathered(publish);
    for (const damage of this.log.damage) this.logger.error('data_damaged', { ...damage });
    await this.streams.drained();
  }

  /** Nobody waits for a single record here, so each stream has all of its own at once. */
  async #applyGathered(publish: (published: Published) => void): Promise<void> {
    const { streams } = this;
    for (const events of streams.apply(streams.byStream())) {
      publish({ position: streams.applyingPosition, events });
      await this.#pause();
    }
    for (const { name } of streams) await streams.caughtUp(name);
  }

  /** Others have their turn after each slice: the port is open. */
  async #pause(): Promise<void> {
    if (performance.now() < this.#sliceEnd) return;
    await turn();
    this.#sliceEnd = performance.now() + this.config.evaluation.sliceMs;
  }

  /** How far it is, for people. */
  progress(): string {
    const { restoring, unapplied } = this.streams;
    const last = this.log.lastPosition;
    const done = this.#position - unapplied;
    const records = done < last ? `record ${done} of ${last}` : `all ${last} records read`;
    return `recovering: ${records}${restoring > 0 ? `, ${restoring} streams are being rebuilt` : ''}`;
  }

  /** Recovered streams go on, under the configuration of this start. */
  resume(atMs: number): void {
    for (const stream of this.streams) if (!stream.info().restoring) this.resumeStream(stream, atMs);
  }

  resumeStream(stream: RunningStream, atMs: number): void {
    const { name, plan } = stream;
    const { resumes, configures } = this.opening;
    const next = configures ? this.#planNow(stream) : plan;
    this.feeds.restore(stream.info(), next);
    if (resumes) this.deadlines.append({ kind: 'resume', stream: name, atMs });
    if (!isDeepStrictEqual(plan, JSON.parse(JSON.stringify(next))))
      this.deadlines.append({ kind: 'configure', stream: name, atMs, settings: next });
  }

  /** Every stream is there. */
  finish(): void {
    const ms = Math.round(performance.now() - this.#startedMs);
    if (this.streams.size > 0)
      this.logger.info('recovered', { streams: this.streams.size, records: this.#repeated, ms });
  }

  /** The plan of a stream under the present configuration; the old one where that does not fit the stream. */
  #planNow({ name, plan }: RunningStream): StreamPlan {
    const resolved = resolveStream(this.config, name, plan.patch);
    if (!('message' in resolved)) return { ...resolved, patch: plan.patch };
    this.logger.warn('settings_kept', { stream: name, ...resolved });
    return plan;
  }

  /** The disk takes nothing any more, or with null it does again. */
  faultChanged(fault: StorageFault | null, atMs: number): void {
    this.deadlines.releaseAll();
    if (fault) {
      this.logger.error('storage_fault', { code: fault.code, message: fault.message });
      this.feeds.revert();
      return;
    }
    this.logger.info('storage_recovered', { dir: this.config.data.dir });
    this.resumeAll(atMs);
  }

  /** All streams go on after the evaluator was away: since their last records, or for so long. */
  resumeAll(atMs: number, awayMs?: number): void {
    for (const { name } of this.streams)
      this.deadlines.append({ kind: 'resume', stream: name, atMs, ...(awayMs === undefined ? {} : { awayMs }) });
  }
}
