/**
 * The streams of a data folder, dealt out to another number of slots: before the evaluator starts, each stream's last
 * snapshot, the records behind it and its events go to the log of the slot that it belongs to from now on. Nothing is
 * evaluated, and what was published stays published: the next start recovers the same streams as it would have before.
 * A crash in the middle leaves the folder as it was.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.js';
import { eventKey } from '../store/commit.js';
import { DataFolder } from '../store/folder.js';
import { removeOtherSlots, slotFolders, slotsOf, writeSlots } from '../store/layout.js';
import { Log } from '../store/log.js';
import type { LogOwner } from '../store/log-port.js';
import { slotOf } from '../store/partition.js';
import { asStorageFault } from '../store/storage-fault.js';
import type { StreamEventsState } from '../stream/stream-events.js';
import { type LiveEvent, timeOf } from '../wire/events.js';
import type { LiveLogger } from './logger.js';
import { Quarantine } from './quarantine.js';

/** The log of a slot as it is being written. */
interface Target {
  log: Log;
  /** records so far, and how many of them were published before */
  records: number;
  published: number;
}

/** An event of the history, and where it was. */
interface Kept {
  key: string;
  source: number;
  event: LiveEvent;
}

/** digits of the position in the key of an event */
const POSITION_DIGITS = 14;

/** The folders of so many slots, once everything that is stored is in its place; or a StorageFault. */
export async function arrangeSlots(data: Config['data'], slots: number, logger: LiveLogger): Promise<string[]> {
  try {
    return await arrange(data, slots, logger);
  } catch (error) {
    throw asStorageFault(error, data.dir);
  }
}

async function arrange(data: Config['data'], slots: number, logger: LiveLogger): Promise<string[]> {
  const before = slotsOf(data.dir);
  const isNew = !slotFolders(data.dir, before).some((folder) => existsSync(join(folder, 'store')));
  if (before !== slots && !isNew) {
    removeOtherSlots(data.dir, before);
    const began = performance.now();
    const streams = await new Rearrangement(data, before, slots, logger).run();
    logger.info('slots_rearranged', { before, slots, streams, ms: Math.round(performance.now() - began) });
  }
  if (before !== slots) {
    // makes the folder where there is none
    for (const folder of slotFolders(data.dir, slots)) await (await new DataFolder(folder).openDatabase()).close();
    writeSlots(data.dir, slots);
  }
  removeOtherSlots(data.dir, slots);
  return slotFolders(data.dir, slots);
}

class Rearrangement {
  readonly #sources: string[];
  readonly #targets: Target[] = [];
  /** by source: position of a record that is still needed, before and now */
  readonly #moved: Array<Map<number, number>>;
  /** by source: key of an event, before and now */
  readonly #keys: Array<Map<string, string>>;
  #streams = 0;

  constructor(
    readonly data: Config['data'],
    before: number,
    readonly slots: number,
    readonly logger: LiveLogger,
  ) {
    this.#sources = slotFolders(data.dir, before);
    this.#moved = this.#sources.map(() => new Map());
    this.#keys = this.#sources.map(() => new Map());
  }

  /** Resolves with the number of streams when everything is durable. */
  async run(): Promise<number> {
    try {
      for (const folder of slotFolders(this.data.dir, this.slots)) this.#targets.push(await this.#openTarget(folder));
      // what was published comes first: a log says only up to which record everything was
      await this.#each((log, source) => this.#moveRecords(log, source, true));
      await this.#each((log, source) => this.#moveRecords(log, source, false));
      await this.#moveEvents();
      await this.#each((log, source) => this.#moveSnapshots(log, source));
      for (const { log } of this.#targets) await log.flush();
    } finally {
      for (const { log } of this.#targets) await log.close();
    }
    return this.#streams;
  }

  async #openTarget(folder: string): Promise<Target> {
    const target = { records: 0, published: 0 } as Target;
    target.log = await Log.open(
      { ...this.data, dir: folder },
      owner(() => target.published),
    );
    return target;
  }

  /** Does something with the log of every source; a log can be read once. */
  async #each(action: (log: Log, source: number) => Promise<void>): Promise<void> {
    for (const [source, dir] of this.#sources.entries()) {
      const settings = { ...this.data, dir };
      const log = await Log.open(
        settings,
        owner(() => log.publishedUpTo),
      );
      try {
        await action(log, source);
      } finally {
        await log.kill();
      }
    }
  }

  #targetOf(stream: string): Target {
    return this.#targets[slotOf(stream, this.slots)];
  }

  async #moveRecords(log: Log, source: number, published: boolean): Promise<void> {
    const quarantine = new Quarantine(log.folder, this.logger);
    for await (const stored of log.records()) {
      if (stored.position <= log.publishedUpTo !== published || quarantine.has(stored)) continue;
      const target = this.#targetOf(stored.record.stream);
      this.#moved[source].set(stored.position, ++target.records);
      if (published) target.published = target.records;
      target.log.append(stored.record).catch(() => {});
      await this.#drain(target);
    }
    if (published) for (const damage of log.damage) this.logger.error('data_damaged', { ...damage });
  }

  /** Waits for the disk when much is on its way there. */
  async #drain({ log }: Target): Promise<void> {
    if (log.gauges.queuedBytes > this.data.commitBytes) await log.flush();
  }

  /** Events of records that are still needed keep their record; those of earlier ones stand before all of them. */
  async #moveEvents(): Promise<void> {
    const kept: Kept[] = [];
    await this.#each(async (log, source) => {
      for (const { key, event } of await log.events()) kept.push({ key, source, event: event as LiveEvent });
    });
    kept.sort((a, b) => timeOf(a.event) - timeOf(b.event) || a.source - b.source || (a.key < b.key ? -1 : 1));
    for (const [n, { key, source, event }] of kept.entries()) {
      const position = this.#moved[source].get(Number.parseInt(key.slice(0, POSITION_DIGITS), 16));
      const place = eventKey(position ?? 0, 0).slice(0, POSITION_DIGITS) + key.slice(POSITION_DIGITS);
      const moved = position === undefined ? eventKey(0, n) : place;
      this.#keys[source].set(key, moved);
      this.#targetOf(event.stream).log.saveEvent(moved, event);
    }
  }

  async #moveSnapshots(log: Log, source: number): Promise<void> {
    for await (const { stream, state } of log.snapshots()) {
      if (state === null) continue;
      const target = this.#targetOf(stream);
      target.log.saveSnapshot(stream, 0, this.#withMovedKey(state as Partial<StreamEventsState>, source));
      this.#streams++;
      await this.#drain(target);
    }
  }

  /** A stream knows the event that the next one may be merged with by its key; one that was forgotten is over. */
  #withMovedKey(state: Partial<StreamEventsState>, source: number): unknown {
    const { lastEntry } = state;
    if (!lastEntry) return state;
    const key = this.#keys[source].get(lastEntry.key);
    return { ...state, lastEntry: key === undefined ? null : { ...lastEntry, key } };
  }
}

const owner = (applied: () => number): LogOwner => ({
  now: () => Date.now(),
  committed() {},
  applied,
  heldBack() {},
  faultChanged() {},
});
