/**
 * Which partitions this process owns. It takes those that nobody holds, up to its fair share, renews their leases, and
 * gives one up at a time when it has more than its share. A lease is lost when somebody else has written it; a
 * partition also when somebody else has claimed its chain of events.
 *
 * An owner that says nothing is given its whole time, for it may stand still; but when it is due to be heard and nobody
 * listens any more where it answered, the brokers have lost its connection: others need not wait for it.
 */
import type { Layout } from '../cluster/layout.js';
import { Lease } from '../cluster/lease.js';
import { AbsentError, ask } from '../cluster/nats/questions.js';
import type { ClusterSettings } from '../config/cluster.js';
import type { ClusterMeters } from '../telemetry/cluster-meters.js';
import type { Logger } from '../telemetry/logger.js';
import type { Directory } from './directory.js';
import { dueMs } from './membership.js';
import type { OwnedPartition } from './owned-partition.js';

export interface OwnershipParts {
  id: string;
  settings: ClusterSettings;
  layout: Layout;
  directory: Directory;
  logger: Logger;
  meters: ClusterMeters;
  open(partition: number): Promise<OwnedPartition>;
  /** a partition is served here, or no longer */
  gained(owned: OwnedPartition): void;
  lost(owned: OwnedPartition): void;
}

interface Place {
  readonly partition: number;
  readonly lease: Lease;
  /** it is taken or released by one at a time: whoever took it twice would answer for both, one of them out of date */
  state: 'free' | 'taking' | 'owned' | 'leaving';
  owned: OwnedPartition | null;
  /** ends a release early */
  abandon: (() => void) | null;
  renewedMs: number;
  renewing: boolean;
}

/** partitions that are read at once: each needs the processor */
const TAKEN_AT_ONCE = 2;

export class Ownership {
  readonly #places: Place[] = [];
  #timer: NodeJS.Timeout | null = null;
  #lookedMs = performance.now();
  #movedMs = performance.now();
  #stopping = false;
  /** processes that are being asked whether they are there */
  readonly #soughtAfter = new Set<string>();

  private constructor(readonly parts: OwnershipParts) {}

  static async start(parts: OwnershipParts): Promise<Ownership> {
    const ownership = new Ownership(parts);
    const { layout, id, settings } = parts;
    for (let partition = 0; partition < settings.partitions; partition++) {
      const lease = new Lease(await layout.leaseCell(partition), id, settings);
      ownership.#places.push({
        partition,
        lease,
        state: 'free',
        owned: null,
        abandon: null,
        renewedMs: 0,
        renewing: false,
      });
    }
    ownership.#timer = setInterval(() => ownership.#look(), settings.renewMs / 3);
    ownership.#look();
    return ownership;
  }

  get owned(): OwnedPartition[] {
    return this.#places.flatMap(({ state, owned }) => (state === 'owned' && owned ? [owned] : []));
  }

  /** This process did not hear for a while. */
  lookAnew(): void {
    for (const { lease } of this.#places) lease.lookAnew();
    this.parts.directory.lookAnew(this.parts.id);
  }

  #look(): void {
    if (this.#stopping) return;
    const { settings, directory, id } = this.parts;
    const nowMs = performance.now();
    // who does not hear itself hears nobody: the brokers choose a leader, and everybody is silent
    if (nowMs - this.#lookedMs > settings.expiryMs / 2 || directory.silenceMs(id) > settings.expiryMs / 2)
      this.lookAnew();
    this.#lookedMs = nowMs;
    const heardMs = dueMs(settings);
    if (directory.silenceMs(id) < heardMs) for (const silent of directory.silent(heardMs)) void this.#lookFor(silent);
    for (const owned of this.owned) owned.cutAway();
    const held = this.#places.filter(({ state }) => state !== 'free');
    for (const place of held) if (nowMs - place.renewedMs >= settings.renewMs) void this.#renew(place, nowMs);
    const free = this.#places.filter(
      ({ state, lease, partition }) =>
        // asked each time: it must see the lease often
        state === 'free' &&
        (lease.isFree(directory.lease(partition)) || directory.isAbsent(directory.ownerOf(partition))),
    );
    const others = directory.members('evaluator').filter((member) => member.id !== id).length;
    const share = Math.ceil(settings.partitions / (others + 1));
    if (held.length > share) this.#releaseOne(nowMs);
    else this.#takeSome(free, share - held.length);
  }

  async #lookFor({ id, revision }: { id: string; revision: number }): Promise<void> {
    const { directory, layout, settings } = this.parts;
    if (this.#soughtAfter.has(id) || directory.isAbsent(id)) return;
    this.#soughtAfter.add(id);
    await ask(layout.connection, layout.processSubject(id), ['present'], settings.timeoutMs).catch((error) => {
      if (error instanceof AbsentError) directory.noticeAbsent(id, revision);
    });
    this.#soughtAfter.delete(id);
  }

  #takeSome(free: Place[], room: number): void {
    const taking = this.#places.filter(({ state }) => state === 'taking').length;
    // everybody begins elsewhere, so that few want the same
    const from = free.length > 0 ? hash(this.parts.id) % free.length : 0;
    const some = [...free.slice(from), ...free.slice(0, from)].slice(0, Math.min(room, TAKEN_AT_ONCE - taking));
    for (const place of some) void this.#claim(place);
  }

  async #claim(place: Place): Promise<void> {
    const { directory, logger, meters, open, gained } = this.parts;
    const { lease, partition } = place;
    const before = directory.ownerOf(partition);
    const began = performance.now();
    place.state = 'taking';
    try {
      const heard = directory.lease(partition);
      if (!(await lease.claim(heard))) {
        directory.correct(partition, heard, await lease.cell.read());
        place.state = 'free';
        return;
      }
      place.renewedMs = performance.now();
      const owned = await open(partition);
      if (!lease.isHeld || this.#stopping) {
        await owned.kill();
        place.state = 'free';
        return;
      }
      place.owned = owned;
      place.state = 'owned';
      const ms = performance.now() - began;
      meters.counts.taken++;
      meters.counts.replayed += owned.log.replayed;
      meters.takeover.observe(ms / 1000);
      gained(owned);
      const { openMs, replayed } = owned.log;
      const streams = owned.live.streams().length;
      const parts = { ms: Math.round(ms), openMs: Math.round(openMs), streams, replayed };
      logger.info('partition_taken', { partition, before, ...parts });
      void owned.live.fenced.then((reason) => this.#lose(place, owned, reason));
    } catch (error) {
      logger.error('partition_not_taken', { partition, error });
      await lease.release(0).catch(() => {});
      place.state = 'free';
    }
  }

  async #renew(place: Place, nowMs: number): Promise<void> {
    if (place.renewing) return;
    place.renewing = true;
    place.renewedMs = nowMs;
    const { lease, partition } = place;
    try {
      const applied = place.owned?.live.appliedPosition ?? this.parts.directory.applied(partition);
      const isOurs = await lease.renew(applied);
      if (!isOurs && place.owned) this.#lose(place, place.owned, 'another process has its lease');
    } catch (error) {
      // only when the connection is closed
      if (place.owned) this.#lose(place, place.owned, String((error as Error).message ?? error));
    } finally {
      place.renewing = false;
    }
  }

  #lose(place: Place, owned: OwnedPartition, reason: string): void {
    if (place.owned !== owned || this.#stopping) return;
    place.owned = null;
    const { abandon } = place;
    if (!abandon) place.state = 'free';
    place.lease.lose();
    this.parts.meters.counts.lost++;
    this.parts.logger.warn('partition_lost', { partition: place.partition, reason });
    this.parts.lost(owned);
    // one that is being released is free when that is over
    void owned.kill().then(() => abandon?.());
  }

  #releaseOne(nowMs: number): void {
    const { settings, logger } = this.parts;
    if (nowMs - this.#movedMs < settings.moveMs) return;
    const place = this.#places.findLast(({ state }) => state === 'owned');
    if (!place || this.#places.some(({ state }) => state === 'leaving')) return;
    this.#movedMs = nowMs;
    logger.info('partition_released', { partition: place.partition });
    void this.#release(place);
  }

  /** What is stored is applied and snapshotted first, so that the next owner has little to read. */
  async #release(place: Place): Promise<void> {
    const { owned, lease } = place;
    if (!owned) return;
    place.state = 'leaving';
    this.parts.lost(owned);
    const lost = new Promise<void>((resolve) => {
      place.abandon = resolve;
    });
    try {
      await Promise.race([owned.stop(), lost]);
      // its last events have opened its series again, and from now on they may be another process's
      this.parts.lost(owned);
      while (place.renewing) await new Promise((resolve) => setTimeout(resolve, 10));
      // it may have been lost meanwhile
      if (place.owned === owned) {
        await lease.release(owned.live.appliedPosition);
        this.parts.meters.counts.released++;
      }
    } catch (error) {
      this.parts.logger.warn('partition_not_released', { partition: place.partition, error });
      await owned.kill();
      this.parts.lost(owned);
    }
    place.abandon = null;
    place.owned = null;
    lease.lose();
    place.state = 'free';
  }

  /** Gives up everything, in order. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#places.filter(({ state }) => state === 'owned').map((place) => this.#release(place)));
    if (this.#timer) clearInterval(this.#timer);
  }
}

const hash = (text: string): number => [...text].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 65_537, 7);
