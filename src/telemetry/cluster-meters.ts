/** What is counted about this process as one of a cluster. */
import { Histogram } from './histogram.js';

/** How a partition stands, as this process has heard it. */
export interface PartitionReading {
  partition: number;
  /** some process owns it */
  hasOwner: boolean;
  /** this process does */
  isOurs: boolean;
  /** for how long the oldest frames that this process stored wait to be evaluated */
  lagSeconds: number;
}

const PUBLISH_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const TAKEOVER_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export class ClusterMeters {
  /** from the first attempt of a batch to its acknowledgement */
  readonly publish = new Histogram(PUBLISH_SECONDS);
  /** from a lease to the last record of the log */
  readonly takeover = new Histogram(TAKEOVER_SECONDS);
  /** partitions that moved, records that were read again to take them, and attempts to store that failed */
  readonly counts = { taken: 0, lost: 0, released: 0, replayed: 0, retries: 0 };

  /** The rest is read when it is asked for. */
  constructor(
    readonly partitions: () => PartitionReading[],
    readonly members: () => number,
  ) {}
}
