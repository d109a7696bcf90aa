/**
 * What the processes of a cluster say about themselves, as this one has heard it: who owns which partition and how far
 * it is, and which processes live. Ages go by this process's own monotonic clock, from when it heard something. What
 * others may lose by their silence begins anew after this one could not hear.
 */
import type { Layout } from '../cluster/layout.js';
import { tenureOf } from '../cluster/lease.js';
import type { CellValue } from '../cluster/nats/cell.js';
import { type Followed, follow } from '../cluster/nats/follow.js';
import type { ClusterRole } from '../config/cluster.js';

/** What a process says about itself. */
export interface MemberInfo {
  id: string;
  roles: readonly ClusterRole[];
  /** of its page, for people */
  url: string;
  /** somebody reads reports there */
  readsReports: boolean;
  /** partitions for which it holds frames that the brokers do not store */
  stuck?: readonly number[];
  /** it stops */
  gone?: boolean;
}

interface Heard {
  info: MemberInfo;
  revision: number;
  heardMs: number;
  /** how long it had not been heard before that */
  unheardMs: number;
  /** its silence counts from here */
  sinceMs: number;
  /** nobody listens where it answered, since it was last heard */
  absent: boolean;
}

const NOTHING: CellValue = { revision: 0, bytes: new Uint8Array(0) };

export class Directory {
  readonly #leases = new Map<string, CellValue>();
  readonly #members = new Map<string, Heard>();
  readonly #over = new AbortController();
  #waiting: Array<{ partition: number; position: number; resolve: () => void }> = [];

  constructor(
    readonly layout: Layout,
    readonly expiryMs: number,
  ) {}

  /** Resolves when everything is known that was said before this revision. */
  start(revision: number, failed: (error: unknown) => void): Promise<void> {
    const { timeoutMs, retryMs } = this.layout.settings;
    const settings = { stream: this.layout.leaseStream, subject: '>', from: 'newest' as const, timeoutMs, retryMs };
    return new Promise((resolve) => {
      const hear = async () => {
        for await (const said of follow(this.layout.connection, settings, this.#over.signal)) {
          this.#hear(said);
          if (said.sequence >= revision) resolve();
        }
      };
      hear().catch((error) => {
        if (!this.#over.signal.aborted) failed(error);
      });
    });
  }

  #hear({ subject, sequence: revision, bytes }: Followed): void {
    const [kind, name] = subject.split('.').slice(-2);
    if (kind === 'lease') {
      if (revision <= this.lease(name).revision) return;
      this.#leases.set(name, { revision, bytes });
      this.#release();
    } else this.#hearMember(JSON.parse(Buffer.from(bytes).toString()), revision);
  }

  /** What is read again, from another copy of the stream, is no sign of life. */
  #hearMember(info: MemberInfo, revision: number): void {
    if (revision <= (this.#members.get(info.id)?.revision ?? 0)) return;
    const heardMs = performance.now();
    const unheardMs = heardMs - (this.#members.get(info.id)?.heardMs ?? heardMs);
    if (info.gone) this.#members.delete(info.id);
    else this.#members.set(info.id, { info, revision, heardMs, unheardMs, sinceMs: heardMs, absent: false });
  }

  #release(): void {
    const waiting = this.#waiting;
    this.#waiting = waiting.filter(({ partition, position }) => this.applied(partition) < position);
    for (const one of waiting) if (!this.#waiting.includes(one)) one.resolve();
  }

  lease(what: number | string): CellValue {
    return this.#leases.get(String(what)) ?? NOTHING;
  }

  /**
   * What was heard of a lease is not what the brokers say. It was written since, or they have lost what they had
   * stored and count anew: then nothing newer than what was heard would come for long.
   */
  correct(partition: number, heard: CellValue, value: CellValue): void {
    if (this.lease(partition).revision !== heard.revision) return;
    this.#leases.set(String(partition), value);
    this.#release();
  }

  ownerOf(partition: number): string | null {
    return tenureOf(this.lease(partition).bytes).owner;
  }

  /** Its owner has applied the log of a partition up to this position. */
  applied(partition: number): number {
    return tenureOf(this.lease(partition).bytes).applied;
  }

  /** Resolves when that has reached a position. */
  appliedAtLeast(partition: number, position: number): Promise<void> {
    if (this.applied(partition) >= position) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ partition, position, resolve }));
  }

  /** Those that have said something lately, and are not known to be absent. */
  members(role?: ClusterRole): MemberInfo[] {
    const since = performance.now() - this.expiryMs;
    return [...this.#members.values()].flatMap(({ info, sinceMs, absent }) =>
      sinceMs >= since && !absent && (role === undefined || info.roles.includes(role)) ? [info] : [],
    );
  }

  /** Nobody listens where a process answered that was not heard since this revision. */
  noticeAbsent(id: string, revision: number): void {
    const heard = this.#members.get(id);
    if (heard?.revision === revision) heard.absent = true;
  }

  isAbsent(id: string | null): boolean {
    return (id !== null && this.#members.get(id)?.absent) ?? false;
  }

  /** Those that have said nothing for this long, with the revision under which they last did. */
  silent(ms: number): Array<{ id: string; revision: number }> {
    const since = performance.now() - ms;
    return [...this.#members].flatMap(([id, { sinceMs, revision }]) => (sinceMs < since ? [{ id, revision }] : []));
  }

  forget(id: string): void {
    this.#members.delete(id);
  }

  /** Milliseconds of a process's silence that this one could have heard. */
  silenceMs(id: string): number {
    return performance.now() - (this.#members.get(id)?.sinceMs ?? Number.NEGATIVE_INFINITY);
  }

  /**
   * Milliseconds since a process was heard, even if this one could not hear meanwhile; or, if it was heard once since a
   * longer silence, of that: what arrives first may be old.
   */
  unheardMs(id: string): number {
    const heard = this.#members.get(id);
    return heard ? Math.max(performance.now() - heard.heardMs, heard.unheardMs) : Number.POSITIVE_INFINITY;
  }

  /** Whether frames of a partition wait in a process that cannot store them, as it said when it was last heard. */
  isStuck(id: string, partition: number): boolean {
    return this.#members.get(id)?.info.stuck?.includes(partition) ?? false;
  }

  /** The process with this id did not hear for a while: all others get their whole time again. */
  lookAnew(own: string): void {
    const fresh = { sinceMs: performance.now(), absent: false };
    for (const [id, heard] of this.#members) if (id !== own) Object.assign(heard, fresh);
  }

  close(): void {
    this.#over.abort();
    for (const { resolve } of this.#waiting.splice(0)) resolve();
  }
}
