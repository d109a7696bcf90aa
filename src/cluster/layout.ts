/**
 * Where everything of a cluster is on its brokers: one stream for the log of each partition, one for the chains of
 * events, one for snapshots, one for leases and members. Several clusters may share brokers under different names.
 */
import { Cell } from './nats/cell.js';
import type { NatsConnection } from './nats/connection.js';
import { makeStream, PartitionStream, streamNames } from './nats/partition-stream.js';

export interface LayoutSettings {
  name: string;
  partitions: number;
  /** brokers that keep a copy */
  replicas: number;
  /** most that the log of a partition may hold */
  logMaxBytes: number;
  /** most that snapshots, and events, of all partitions may hold */
  stateMaxBytes: number;
  /** links of the chain of a partition that are kept */
  linksKept: number;
  timeoutMs: number;
  retryMs: number;
}

/** Leases and members are a few hundred bytes each. */
const LEASE_BYTES = 64 * 1024 ** 2;
/** streams that are made at once */
const MADE_AT_ONCE = 8;

export class Layout {
  constructor(
    readonly connection: NatsConnection,
    readonly settings: LayoutSettings,
  ) {}

  get #prefix(): string {
    return this.settings.name.replaceAll('.', '_');
  }

  logStream = (partition: number): string => `${this.#prefix}_LOG_${partition}`;
  logSubject = (partition: number): string => `${this.settings.name}.log.${partition}`;

  get eventStream(): string {
    return `${this.#prefix}_EV`;
  }

  eventSubject = (partition: number | '*'): string => `${this.settings.name}.ev.${partition}`;

  get snapshotStream(): string {
    return `${this.#prefix}_SNAP`;
  }

  /** Names of streams may hold what a subject may not. */
  snapshotSubject = (partition: number, stream: string): string =>
    `${this.settings.name}.snap.${partition}.${Buffer.from(stream).toString('base64url')}`;
  snapshotSubjects = (partition: number): string => `${this.settings.name}.snap.${partition}.*`;
  /** Beside the snapshots, so that reading them up to its last write reads all that were stored before; no name of a
   * stream is encoded like this. */
  floorSubject = (partition: number): string => `${this.settings.name}.snap.${partition}.floor`;

  get leaseStream(): string {
    return `${this.#prefix}_LEASE`;
  }

  leaseSubject = (what: number | string): string => `${this.settings.name}.lease.${what}`;
  memberSubject = (id: string): string => `${this.settings.name}.member.${id}`;
  /** of questions to the owner of a partition, and to a process */
  ownerSubject = (partition: number): string => `${this.settings.name}.owner.${partition}`;
  processSubject = (id: string): string => `${this.settings.name}.process.${id}`;
  /** of what is told and not stored */
  newsSubject = (kind: string): string => `${this.settings.name}.news.${kind}`;

  /** Makes what is not there. */
  async make(): Promise<void> {
    const { name, partitions, replicas, logMaxBytes, stateMaxBytes, linksKept } = this.settings;
    const there = await streamNames(this.connection);
    const logs = Array.from({ length: partitions }, (_, p) => ({
      name: this.logStream(p),
      subjects: [this.logSubject(p)],
      replicas,
      maxBytes: logMaxBytes,
    }));
    const states = [
      { name: this.eventStream, subjects: [`${name}.ev.*`], keepPerSubject: linksKept, maxBytes: stateMaxBytes },
      {
        name: this.snapshotStream,
        subjects: [`${name}.snap.*.*`],
        keepPerSubject: 1,
        maxBytes: stateMaxBytes,
      },
      {
        name: this.leaseStream,
        subjects: [`${name}.lease.*`, `${name}.member.*`],
        keepPerSubject: 1,
        maxBytes: LEASE_BYTES,
      },
    ];
    const missing = [...states.map((state) => ({ ...state, replicas })), ...logs].filter((one) => !there.has(one.name));
    while (missing.length > 0)
      await Promise.all(missing.splice(0, MADE_AT_ONCE).map((one) => makeStream(this.connection, one)));
  }

  /** The chains of all partitions together. */
  chains = (): Promise<PartitionStream> =>
    PartitionStream.open(this.connection, this.eventStream, this.eventSubject('*'), this.settings);

  #cell(stream: string, subject: string): Promise<Cell> {
    const { timeoutMs, retryMs } = this.settings;
    return Cell.open(this.connection, { stream, subject, timeoutMs, retryMs });
  }

  chainCell = (partition: number): Promise<Cell> => this.#cell(this.eventStream, this.eventSubject(partition));
  snapshotCell = (partition: number, stream: string): Promise<Cell> =>
    this.#cell(this.snapshotStream, this.snapshotSubject(partition, stream));
  floorCell = (partition: number): Promise<Cell> => this.#cell(this.snapshotStream, this.floorSubject(partition));
  leaseCell = (what: number | string): Promise<Cell> => this.#cell(this.leaseStream, this.leaseSubject(what));
  deathCell = (partition: number): Promise<Cell> => this.leaseCell(`deaths-${partition}`);
  memberCell = (id: string): Promise<Cell> => this.#cell(this.leaseStream, this.memberSubject(id));
  log = (partition: number): Promise<PartitionStream> =>
    PartitionStream.open(this.connection, this.logStream(partition), this.logSubject(partition), this.settings);
}
