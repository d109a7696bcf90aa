/**
 * How a cluster stands, read from its brokers by somebody who is none of its processes: who lives, who owns what, how
 * far behind owners are. Everything is read twice: a process or an owner that has written nothing in between is silent.
 */
import type { Layout } from './layout.js';
import { tenureOf } from './lease.js';
import type { Cell, CellValue } from './nats/cell.js';
import { subjectsOf } from './nats/partition-stream.js';
import { sequenceOf } from './partition-log.js';

export interface PartitionStanding {
  partition: number;
  owner: string | null;
  /** its owner has renewed the lease lately */
  lives: boolean;
  /** batches that are stored and not applied, by the lease */
  behind: number;
}

export interface ProcessStanding {
  id: string;
  lives: boolean;
  roles: string[];
  url: string;
}

export interface ClusterStatus {
  processes: ProcessStanding[];
  partitions: PartitionStanding[];
}

/** `pauseMs`: between the two looks; whoever lives has written in this time. */
export async function readClusterStatus(layout: Layout, pauseMs: number, signal: AbortSignal): Promise<ClusterStatus> {
  const { partitions } = layout.settings;
  const numbers = Array.from({ length: partitions }, (_, partition) => partition);
  const ids = (await subjectsOf(layout.connection, layout.leaseStream, layout.memberSubject('*'))).map(
    (subject) => subject.split('.').at(-1)!,
  );
  const cells = await Promise.all([...numbers.map(layout.leaseCell), ...ids.map(layout.memberCell)]);
  const looks = (): Promise<CellValue[]> => Promise.all(cells.map((cell: Cell) => cell.read(signal)));
  const before = await looks();
  await new Promise((resolve) => setTimeout(resolve, pauseMs));
  const now = await looks();
  const lives = (n: number) => now[n].revision > before[n].revision;
  const lasts = await Promise.all(numbers.map(async (partition) => (await layout.log(partition)).lastSequence()));
  return {
    partitions: numbers.map((partition) => {
      const { owner, applied } = tenureOf(now[partition].bytes);
      const behind = Math.max(0, lasts[partition] - sequenceOf(applied));
      return { partition, owner, lives: owner !== null && lives(partition), behind };
    }),
    processes: ids.flatMap((id, n) => {
      const { bytes } = now[partitions + n];
      if (bytes.length === 0) return [];
      const { roles, url, gone } = JSON.parse(Buffer.from(bytes).toString());
      return gone ? [] : [{ id, lives: lives(partitions + n), roles, url }];
    }),
  };
}
