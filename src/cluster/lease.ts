/**
 * Who owns a partition. The holder writes its lease again and again; whoever sees the same revision for long enough, on
 * its own monotonic clock, takes it by compare-and-set. No two clocks are ever compared. After a pause of its own a
 * watcher starts to wait anew, for it has not seen what happened meanwhile.
 * Safety does not rest on this: chains of events and snapshots are fenced by themselves. It only keeps two processes
 * from doing the same work.
 */
import { type Cell, type CellValue, FencedError } from './nats/cell.js';

export interface LeaseSettings {
  /** the holder writes this often */
  renewMs: number;
  /** nobody has written for so long: the holder is gone */
  expiryMs: number;
}

/** What a lease says. */
export interface Tenure {
  /** null: released, anybody may take it at once */
  owner: string | null;
  /** position up to which the owner has applied the log: gateways hold their clients back by it */
  applied: number;
}

/** Who holds a lease, as its cell says. */
export const tenureOf = (bytes: Uint8Array): Tenure =>
  bytes.length === 0 ? { owner: null, applied: 0 } : JSON.parse(Buffer.from(bytes).toString());

const encode = (tenure: Tenure): Uint8Array => Buffer.from(JSON.stringify(tenure));

export class Lease {
  /** revision under which we hold it; null while we do not */
  #held: number | null = null;
  #seen: { revision: number; sinceMs: number } | null = null;
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(
    readonly cell: Cell,
    readonly owner: string,
    readonly settings: LeaseSettings,
    readonly now: () => number = () => performance.now(),
  ) {}

  get isHeld(): boolean {
    return this.#held !== null;
  }

  /** Looks at the lease, and takes it when it is free or its holder is gone; true when it is ours afterwards. */
  async acquire(): Promise<boolean> {
    if (this.isHeld) return true;
    const value = await this.cell.read();
    return this.isFree(value) && this.claim(value);
  }

  /** Whether nobody holds it, going by what was read just now; to be asked often. */
  isFree({ revision, bytes }: CellValue): boolean {
    const expired = this.#hasExpired(revision);
    return tenureOf(bytes).owner === null || expired;
  }

  /** Takes it, unless somebody has written it since this was read. */
  claim({ revision, bytes }: CellValue): Promise<boolean> {
    return this.#write(revision, { owner: this.owner, applied: tenureOf(bytes).applied });
  }

  /** What happened meanwhile was not seen: the holder gets its whole time again. */
  lookAnew(): void {
    this.#seen = null;
  }

  #hasExpired(revision: number): boolean {
    const nowMs = this.now();
    const paused = nowMs - this.#lookedMs > this.settings.expiryMs / 2;
    this.#lookedMs = nowMs;
    if (paused || this.#seen?.revision !== revision) this.#seen = { revision, sinceMs: nowMs };
    return nowMs - this.#seen.sinceMs >= this.settings.expiryMs;
  }

  /** Says that the holder lives, and how far it is; false when somebody else has taken the lease. */
  async renew(applied: number): Promise<boolean> {
    return this.#held !== null && this.#write(this.#held, { owner: this.owner, applied });
  }

  /** Lets anybody take it at once. */
  async release(applied: number): Promise<void> {
    if (this.#held === null) return;
    await this.#write(this.#held, { owner: null, applied });
    this.#held = null;
  }

  /** Forgets that we hold it, after a fence elsewhere said that we do not. */
  lose(): void {
    this.#held = null;
    this.#seen = null;
  }

  async #write(revision: number, tenure: Tenure): Promise<boolean> {
    try {
      this.#held = await this.cell.write(revision, encode(tenure));
      return true;
    } catch (error) {
      if (!(error instanceof FencedError)) throw error;
      this.lose();
      return false;
    }
  }
}
