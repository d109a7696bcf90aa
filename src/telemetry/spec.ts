/**
 * What a metric of the catalogue is: name, labels and help, and how a scrape reads it. A scrape makes the samples from
 * scratch, so what is gone from the state is gone from /metrics.
 */
import type { FindingName } from '../wire/findings.js';
import type { OpenIncident } from '../wire/incidents.js';
import type { Histogram } from './histogram.js';
import type { Meters } from './meters.js';

export type Labels = Record<string, string>;
export type Sample = [labels: Labels, value: number];

/** Sizes and times of the store. */
export interface StorageGauges {
  bytes: number;
  commits: number;
  faults: number;
  /** places that were found damaged since the start */
  damagedPlaces: number;
  /** waiting for the next commit */
  queuedRecords: number;
  /** durable and not applied yet */
  backlogRecords: number;
  /** streams whose solves need so much that they share their thread */
  heavyStreams: number;
  /** duration of the last commit */
  commitMs: number;
  /** epoch milliseconds of the oldest record; 0 when there is none */
  oldestMs: number;
  /** room on the disk, and how much must stay free */
  freeBytes: number;
  neededBytes: number;
}

/** Alerts to one receiver. */
export interface NotificationCounts {
  sent: number;
  failed: number;
  dropped: number;
  waiting: number;
}

/** What the rest of the program says about itself when it is asked. */
export interface ProgramFacts {
  connections(): { ingest: number; live: number };
  pausedConnections(): number;
  waitingFrames(): number;
  ready(): boolean;
  streams(): string[];
  /** streams that are not evaluated until the next start */
  suspended(): string[];
  /** streams that wait for feeds to come back */
  resuming(): string[];
  /** what is wrong with how feeds are wired */
  findings(): Array<{ stream: string; tracker: string | null; finding: FindingName }>;
  /** what is wrong with trackers, also with those that are gone */
  incidents(): readonly OpenIncident[];
  /** what streams promise, whatever is usual for them */
  objectives(): Array<{ stream: string; objective: string; value: number }>;
  storage(): StorageGauges;
  /** what became of alerts, by receiver */
  notifications(): Array<[receiver: string, counts: NotificationCounts]>;
}

/** Everything that samples are made of. */
export interface Scrape {
  meters: Meters;
  surroundings: ProgramFacts;
  build: Labels;
}

interface Named {
  name: string;
  labels: string[];
  help: string;
  /** of a stream, but counted by each process for itself: where several are one evaluator, rates are added up */
  ofProcess?: true;
}

/** A metric whose samples are made at each scrape. */
export interface Sampled extends Named {
  type: 'gauge' | 'counter';
  read(scrape: Scrape): Iterable<Sample>;
}

/** A metric that is observed as it happens. */
export interface Observed extends Named {
  type: 'histogram';
  /** undefined: absent */
  histogram(meters: Meters): Histogram | undefined;
}

export type Spec = Sampled | Observed;

/** A metric without labels; absent while its value is undefined. */
export const single =
  (value: (scrape: Scrape) => number | undefined) =>
  (scrape: Scrape): Iterable<Sample> => {
    const sample = value(scrape);
    return sample === undefined ? [] : [[{}, sample]];
  };
