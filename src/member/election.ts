/**
 * Which process notifies: the one that has a lease of its own for it. Whoever gets it claims the note of what was told
 * before, so that the one before can note nothing any more.
 */
import type { Layout } from '../cluster/layout.js';
import { Lease } from '../cluster/lease.js';
import type { ClusterSettings } from '../config/cluster.js';
import { within } from '../edge/sockets.js';
import { OwnedText } from './owned-text.js';

export class Election {
  #lease!: Lease;
  #timer: NodeJS.Timeout | null = null;
  #looking = false;
  /** this process notifies */
  isOurs = false;

  constructor(
    readonly layout: Layout,
    readonly id: string,
    readonly settings: ClusterSettings,
    /** with the note when this process is to notify, with null when it is not any longer */
    readonly elected: (told: OwnedText | null) => void,
  ) {}

  async start(signal: AbortSignal): Promise<void> {
    this.#lease = new Lease(await this.layout.leaseCell('notifier'), this.id, this.settings);
    this.#timer = setInterval(() => void this.#look(signal).catch(() => {}), this.settings.renewMs);
  }

  async #look(signal: AbortSignal): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const isOurs = this.#lease.isHeld ? await this.#lease.renew(0) : await this.#lease.acquire();
      if (isOurs === this.isOurs) return;
      const told = isOurs ? await OwnedText.claim(await this.layout.leaseCell('notified'), signal) : null;
      this.isOurs = isOurs;
      this.elected(told);
    } finally {
      this.#looking = false;
    }
  }

  /** Lets another process notify at once. */
  async stop(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    await within(
      this.settings.renewMs,
      this.#lease.release(0).catch(() => {}),
    );
  }
}
