/**
 * That this process is one of the cluster: it agrees with the others on the number of partitions, says again and again
 * that it lives, and clears the traces of those that have said nothing for long.
 */
import type { Layout } from '../cluster/layout.js';
import { type Cell, FencedError } from '../cluster/nats/cell.js';
import type { ClusterSettings } from '../config/cluster.js';
import { within } from '../edge/sockets.js';
import type { Directory, MemberInfo } from './directory.js';

/** milliseconds after which a process that has said nothing is no longer listed */
const FORGOTTEN_MS = 60_000;

/** Milliseconds of silence after which a process was due to be heard: it says that it lives every `renewMs`. */
export const dueMs = ({ renewMs }: ClusterSettings): number => 1.5 * renewMs;

export class Membership {
  #cell!: Cell;
  #revision = 0;
  #beating = false;
  #over!: AbortSignal;
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(
    readonly layout: Layout,
    readonly directory: Directory,
    readonly settings: ClusterSettings,
    readonly info: () => MemberInfo,
  ) {}

  /** Resolves with the revision under which this process has first said that it lives. */
  async start(signal: AbortSignal): Promise<number> {
    this.#over = signal;
    await this.#agree();
    this.#cell = await this.layout.memberCell(this.info().id);
    const first = await this.#cell.write(0, encode(this.info()), signal);
    this.#revision = first;
    this.#timers.push(setInterval(() => void this.#beat(), this.settings.renewMs));
    this.#timers.push(setInterval(() => this.#forgetSilent(), FORGOTTEN_MS));
    return first;
  }

  /** All processes must have the same number of partitions: streams would be in two places. */
  async #agree(): Promise<void> {
    const { partitions } = this.settings;
    const cell = await this.layout.leaseCell('partitions');
    for (;;) {
      const { revision, bytes } = await cell.read();
      const known = bytes.length === 0 ? partitions : Number(Buffer.from(bytes).toString());
      if (known !== partitions)
        throw new Error(
          `the cluster has ${known} partitions, and cluster.partitions is ${partitions}; they must be equal`,
        );
      if (revision > 0) return;
      try {
        await cell.write(0, Buffer.from(String(partitions)));
      } catch (error) {
        if (!(error instanceof FencedError)) throw error;
      }
    }
  }

  async #beat(): Promise<void> {
    if (this.#beating) return;
    this.#beating = true;
    try {
      this.#revision = await this.#cell.write(this.#revision, encode(this.info()), this.#over);
    } catch (error) {
      // after a long silence others have cleared it
      if (error instanceof FencedError)
        this.#revision = await this.#cell.read(this.#over).then(
          ({ revision }) => revision,
          () => this.#revision,
        );
    }
    this.#beating = false;
  }

  /** A process that has said nothing for long leaves no trace. */
  #forgetSilent(): void {
    for (const { id } of this.directory.silent(FORGOTTEN_MS)) {
      this.directory.forget(id);
      void this.layout.memberCell(id).then((cell) => cell.clear().catch(() => {}));
    }
  }

  /** Says that it is gone. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    const { renewMs } = this.settings;
    // one that is underway holds the revision; without brokers that is for ever
    const patience = performance.now() + renewMs;
    while (this.#beating && performance.now() < patience) await new Promise((resolve) => setTimeout(resolve, 10));
    if (this.#beating) return;
    const written = this.#cell.write(this.#revision, encode({ ...this.info(), gone: true }));
    await within(
      renewMs,
      written.then(
        () => {},
        () => {},
      ),
    );
  }
}

const encode = (info: MemberInfo): Uint8Array => Buffer.from(JSON.stringify(info));
