/** Watches the snapshots of a cluster while it runs: none may be replaced by an older one. */
import { Layout } from '../../../src/cluster/layout.js';
import { connectNats, type NatsConnection } from '../../../src/cluster/nats/connection.js';
import { follow } from '../../../src/cluster/nats/follow.js';
import { decodeSnapshot } from '../../../src/cluster/snapshot-cells.js';
import { readConfig } from '../../../src/config/config.js';

export class SnapshotWatch {
  readonly #over = new AbortController();
  readonly #newest = new Map<string, { sequence: number; position: number }>();
  #seen = 0;
  #wrong: string | null = null;

  private constructor(readonly connection: NatsConnection) {}

  static async start(servers: string[], config: object): Promise<SnapshotWatch> {
    const access = { name: 'watch', servers, connectTimeoutMs: 5000, heartbeatMs: 1000, reconnectMs: 100 };
    const watch = new SnapshotWatch(await connectNats(access));
    const settings = readConfig({ text: JSON.stringify(config), env: {} }).config.cluster!;
    void watch.#follow(new Layout(watch.connection, settings)).catch(() => {});
    return watch;
  }

  async #follow({ snapshotStream, connection }: Layout): Promise<void> {
    const settings = { stream: snapshotStream, subject: '>', from: 'newest' as const };
    for await (const { subject, sequence, bytes } of follow(connection, settings, this.#over.signal))
      if (!subject.endsWith('.floor')) this.#see(subject, sequence, decodeSnapshot(bytes).position);
  }

  #see(subject: string, sequence: number, position: number): void {
    const before = this.#newest.get(subject) ?? { sequence: 0, position: 0 };
    // another copy of the stream may be behind, and is read again
    if (sequence <= before.sequence) return;
    if (position < before.position)
      this.#wrong ??= `${subject}: a snapshot of ${position} replaced one of ${before.position}`;
    this.#newest.set(subject, { sequence, position });
    this.#seen++;
  }

  /** How many were seen; throws when one went back. */
  async close(): Promise<number> {
    this.#over.abort();
    await this.connection.close();
    if (this.#wrong) throw new Error(this.#wrong);
    return this.#seen;
  }
}
