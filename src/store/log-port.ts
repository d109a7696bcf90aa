/**
 * What the pipeline needs of a log, whichever engine is behind it: records in one order that are durable before they
 * are acked, snapshots of streams, and the events that came of them. The embedded engine is `log.ts`, of a process that
 * has its partitions to itself. An engine that several machines share (`shared`) has one partition, and says by
 * `fenced` when somebody else has become its owner.
 *
 * Invariants: `append` resolves only when its record survives a crash; records have one order, and positions that grow,
 * with gaps or without; `committed` delivers them in that order, whoever appended them, and what is applied is what was
 * delivered; a record is dropped only when a snapshot of its stream covers it. Nobody writes events or snapshots who
 * was fenced.
 */
import type { Damage } from './integrity.js';
import type { PastLog } from './past.js';
import type { LogRecord } from './record.js';
import type { StorageFault } from './storage-fault.js';

/** A record with its place in the log; positions are above 0. */
export interface Stored {
  position: number;
  record: LogRecord;
}

export interface Snapshot {
  stream: string;
  /** the state includes every record of the stream up to this position */
  position: number;
  /** null: the stream was retired */
  state: unknown;
}

/** What identifies a record that is left out for good: a folder whose log began anew counts positions from 1 again. */
export interface SetAside extends Pick<LogRecord, 'stream' | 'kind' | 'atMs'> {
  position: number;
}

/** What the log tells its owner. */
export interface LogOwner {
  now(): number;
  /**
   * Records that have just become durable, in order, at consecutive positions; called before anybody who waits for
   * them. Between two calls positions may be left out.
   */
  committed(first: number, records: LogRecord[]): void;
  /** records up to this position have been applied and their events published */
  applied(): number;
  /** these streams need a snapshot before the log may shrink */
  heldBack(streams: string[]): void;
  /** a stream has no newer snapshot, for this reason: its records are kept; told once, until there is one again */
  unsaved?(stream: string, reason: string): void;
  /** a fault began (or, with null, is over) */
  faultChanged(fault: StorageFault | null): void;
  /** somebody else owns the partition: nothing of what follows here may be published, and nothing is written */
  fenced?(reason: string): void;
}

export interface LogGauges {
  bytes: number;
  commits: number;
  queuedRecords: number;
  queuedBytes: number;
  faults: number;
  /** places that were found damaged */
  damagedPlaces: number;
  /** milliseconds of the last commit, flush included */
  commitMs: number;
  /** epoch milliseconds of the oldest record kept; 0 when there is none */
  oldestMs: number;
  /** room on the disk, and how much must stay free */
  freeBytes: number;
  neededBytes: number;
}

export interface DurableLog {
  /**
   * Others append to it too, and what they append may be stored twice. Records of feeds then carry the epoch of their
   * hello, and are applied once.
   */
  readonly shared?: boolean;
  /** why nothing can be stored at the moment; null when all is well */
  readonly fault: StorageFault | null;
  /** position of the newest durable record; 0 when there is none */
  readonly lastPosition: number;
  /** events of records up to this position were published before the log was opened */
  readonly publishedUpTo: number;
  /** what was found damaged; complete once the records have been read */
  readonly damage: readonly Damage[];
  readonly gauges: LogGauges;
  /** for whoever looks back; absent where nobody can */
  readonly past?: PastLog;
  /**
   * Accepts a record, or throws a StorageFault at once. Resolves when the record is durable; rejects with a
   * StorageFault when it is not going to be.
   */
  append(record: LogRecord): Promise<void>;
  /**
   * Everything up to `lastPosition` has been read and applied: from now on `committed` delivers what comes behind it.
   * An engine that nobody appends to before has nothing to hold back.
   */
  follow?(): void;
  /**
   * Stores the events of records up to a position, in their order, and resolves when nobody else can have published
   * them; they are told to others afterwards, and no call begins before the one before it is over. What fails is tried
   * again by the engine, until it is fenced: then this rejects. Absent: events are told at once.
   */
  publish?(upTo: number, events: readonly unknown[]): Promise<void>;
  /** Records that owners before have set aside; absent where that is known beside the log. */
  readonly setAside?: readonly SetAside[];
  /** Position: how often a process has ended when it applied that record; absent where that is known beside the log. */
  readonly deaths?: ReadonlyMap<number, number>;
  /** The owner leaves a record out: the next one does too. Nothing is published before that is stored. */
  saveSetAside?(one: SetAside): void;
  /**
   * Stores the state of a stream, plain data, soon; null when the stream is retired. Where events are stored by
   * `publish`, a snapshot is written after those of the records it includes.
   */
  saveSnapshot(stream: string, position: number, state: unknown): void;
  /** Stores an event of the history soon, or with null removes it; the key decides its place. */
  saveEvent(key: string, event: unknown): void;
  /** The event history, oldest first. */
  events(): Promise<Array<{ key: string; event: unknown }>>;
  snapshots(): AsyncIterable<Snapshot>;
  /** The last snapshot of a stream, also one that is on its way; undefined when there is none. */
  snapshotOf(stream: string): Promise<Snapshot | undefined>;
  /** Durable records of one stream behind a position, up to another; what is damaged is left out, and named. */
  recordsOf(stream: string, after: number, upTo: number): AsyncIterable<Stored>;
  /** Records after the snapshots of their streams, in order; to be read once, after open. */
  records(): AsyncIterable<Stored>;
  /** Resolves when everything handed over so far is durable, or throws the fault that prevents it. */
  flush(): Promise<void>;
  /** Flushes and closes. */
  close(): Promise<void>;
  /** Closes at once, as a crash would: what waits is not written. */
  kill(): Promise<void>;
}
