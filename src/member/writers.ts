/**
 * What this process appends to the log of each partition: one writer for each, whoever in the process appends, so that
 * one batch is underway at a time.
 */
import type { Layout } from '../cluster/layout.js';
import { PartitionLog, type PartitionLogSettings } from '../cluster/partition-log.js';

export class Writers {
  readonly #logs: PartitionLog[] = [];

  private constructor() {}

  static async open(layout: Layout, settings: PartitionLogSettings): Promise<Writers> {
    const writers = new Writers();
    for (let p = 0; p < layout.settings.partitions; p++)
      writers.#logs.push(new PartitionLog(await layout.log(p), settings));
    return writers;
  }

  of(partition: number): PartitionLog {
    return this.#logs[partition];
  }

  /** Partitions whose brokers have not answered for this long. */
  stuck(ms: number): number[] {
    return this.#logs.flatMap(({ unacknowledgedMs }, partition) => (unacknowledgedMs > ms ? [partition] : []));
  }

  [Symbol.iterator](): Iterator<PartitionLog> {
    return this.#logs.values();
  }

  async close(patienceMs: number): Promise<void> {
    await Promise.all(this.#logs.map((log) => log.close(patienceMs)));
  }
}
