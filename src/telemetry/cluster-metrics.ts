/** The metrics of a process that is one of a cluster; all are absent where there is none. */
import type { ClusterMeters, PartitionReading } from './cluster-meters.js';
import { type Sample, type Scrape, type Spec, single } from './spec.js';

const inCluster = (value: (cluster: ClusterMeters) => number) =>
  single(({ meters }) => (meters.cluster ? value(meters.cluster) : undefined));

const perPartition = (value: (reading: PartitionReading) => number) =>
  function* ({ meters }: Scrape): Iterable<Sample> {
    for (const reading of meters.cluster?.partitions() ?? [])
      yield [{ partition: String(reading.partition) }, value(reading)];
  };

const MOVES = ['taken', 'lost', 'released'] as const;

export const CLUSTER_METRICS: readonly Spec[] = [
  {
    name: 'tgospa_cluster_processes',
    type: 'gauge',
    labels: [],
    help: 'Processes of the cluster that are alive as far as this process knows, itself included. All metrics of a cluster are absent without one.',
    read: inCluster(({ members }) => members()),
  },
  {
    name: 'tgospa_cluster_partition_owned',
    type: 'gauge',
    labels: ['partition'],
    help: '1 for a partition that this process owns and serves. Summed over all processes it is 1, or 0 while no process serves the partition.',
    read: perPartition(({ isOurs }) => Number(isOurs)),
  },
  {
    name: 'tgospa_cluster_partition_lag_seconds',
    type: 'gauge',
    labels: ['partition'],
    help: 'How long the oldest frames that this process stored in a partition have been waiting for the owner to evaluate them.',
    read: perPartition(({ lagSeconds }) => lagSeconds),
  },
  {
    name: 'tgospa_cluster_partitions_unowned',
    type: 'gauge',
    labels: [],
    help: 'Partitions without an owner, as far as this process knows.',
    read: inCluster(({ partitions }) => partitions().filter(({ hasOwner }) => !hasOwner).length),
  },
  {
    name: 'tgospa_cluster_partitions_moved_total',
    type: 'counter',
    labels: ['move'],
    help: 'Partitions that this process took over, lost to another process or released, by move (taken, lost, released).',
    read: ({ meters: { cluster } }) => (cluster ? MOVES.map((move): Sample => [{ move }, cluster.counts[move]]) : []),
  },
  {
    name: 'tgospa_cluster_takeover_duration_seconds',
    type: 'histogram',
    labels: [],
    help: 'Time from acquiring the lease of a partition until its streams are where the previous owner left them; the time until its death was noticed is not included.',
    histogram: ({ cluster }) => cluster?.takeover,
  },
  {
    name: 'tgospa_cluster_replayed_records_total',
    type: 'counter',
    labels: [],
    help: 'Log records that were read again to take over partitions.',
    read: inCluster(({ counts }) => counts.replayed),
  },
  {
    name: 'tgospa_cluster_publish_duration_seconds',
    type: 'histogram',
    labels: [],
    help: 'Time from the first attempt to store a batch of frames until the brokers acknowledged it.',
    histogram: ({ cluster }) => cluster?.publish,
  },
  {
    name: 'tgospa_cluster_publish_retries_total',
    type: 'counter',
    labels: [],
    help: 'Attempts to store a batch that the brokers did not acknowledge in time.',
    read: inCluster(({ counts }) => counts.retries),
  },
];
